"""The connections to a memory, transactions, and what happens to them where a process forks.

What only one kind of database knows is in ``sqlite`` and in the engine made here; all other modules of the memory
speak to any of them.
"""

import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext, suppress
from typing import TypeVar

from sqlalchemy import Connection, Engine, create_engine, insert, inspect, select
from sqlalchemy.exc import DBAPIError, IntegrityError, TimeoutError

from headstart._version import __version__
from headstart.errors import MemoryStoreError, MissingDependencyError
from headstart.memory import schema, sqlite
from headstart.memory.place import Place, identity, prepare_file

T = TypeVar("T")

ATTEMPTS = 20
"""How often a write is tried again when another process took the same number or name at the same moment."""

DATABASE_ERRORS = (DBAPIError, TimeoutError, sqlite3.Error, UnicodeDecodeError)
"""What a database raises; text that is not UTF-8 comes from a damaged file."""


class Database:
    """The connections to one memory. No transaction outlives a call."""

    def __init__(self, place: Place, *, create: bool, timeout: float) -> None:
        self.place = place
        self.timeout = timeout
        self._process = os.getpid()
        self._closed = False
        self._turn = threading.RLock()
        if place.path is not None:
            prepare_file(place, place.path, create=create)
        self._file = None if place.path is None else identity(place.path)
        self._made: list[sqlite.Interruptible] = []
        engine = sqlite.engine(place, timeout, self._made) if place.is_sqlite else _server_engine(place, timeout)
        self._engine = engine
        # Closed at the latest when the interpreter ends, so that SQLite leaves one file behind.
        self._let_go = weakref.finalize(self, _close, engine, sqlite.keeper(place) if place.is_private else None)
        self._is_torn = False
        _open_here.add(self)
        try:
            self._open(create)
        except BaseException:
            self.close()
            raise

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """Give a connection that sees one state of the memory and writes nothing."""
        with self._turns(), self._current().connect() as connection:
            if not self.place.is_sqlite:  # SQLite's transactions do so by themselves
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            yield connection

    def writing(self, work: Callable[[Connection], T]) -> T:
        """Return ``work(connection)``, committed; called again when another process was faster with a unique value."""
        with self._turns():
            engine = self._current().execution_options(**{sqlite.WRITES: True})
            for _ in range(ATTEMPTS - 1):
                try:
                    with engine.begin() as connection:
                        return work(connection)
                except IntegrityError:
                    continue
            with engine.begin() as connection:
                return work(connection)

    def close(self) -> None:
        """Close all connections; SQLite then moves its log into the file."""
        with self._turn:
            self._closed = True
            self._let_go()

    def words(self, error: Exception) -> str:
        """Return one line on ``error``."""
        return sqlite.words(error, self.place.shown, self.timeout)

    @contextmanager
    def _turns(self) -> Generator[None]:
        """Let one thread of SQLite's through at a time, and say in words what a database raises."""
        outer = sys.exc_info()[1]  # what the caller is handling already
        with self._turn if self.place.is_sqlite else nullcontext():
            try:
                yield
            except BaseException as error:
                interrupt = _interrupt(error, outer)
                if interrupt is not None:  # it struck inside SQLAlchemy, which may leave a transaction open
                    self._is_torn = True
                    self._mend()
                    raise interrupt from None
                if isinstance(error, DATABASE_ERRORS):
                    raise MemoryStoreError(self.words(error)) from error
                raise

    def _mend(self) -> None:
        """Give back the lock of a transaction that was interrupted, and connect anew."""
        for connection in self._made:
            with suppress(sqlite3.Error):  # it is closed already
                connection.rollback()
        self._engine.dispose()
        self._is_torn = False

    def _current(self) -> Engine:
        if self._closed:
            raise MemoryStoreError(f"{self.place.shown}: this Memory was closed. Open it again with Memory(...).")
        if self.place.is_private and self._process != os.getpid():
            raise MemoryStoreError(
                "A Memory at ':memory:' lives in the process that made it; what a fork tells would be lost. Give it a "
                "file."
            )
        if self.place.path is not None and identity(self.place.path) != self._file:
            # SQLite would go on writing into the file that is no longer there.
            raise MemoryStoreError(
                f"{self.place.shown} was moved, replaced or deleted while it was open. Nothing was written; put it "
                "back, or open it again."
            )
        if self._is_torn:
            self._mend()
        return self._engine

    def _open(self, create: bool) -> None:
        shown = self.place.shown
        with self.reading() as connection:
            tables = set(inspect(connection).get_table_names())
        if not tables:
            if not create:
                raise MemoryStoreError(f"{shown} holds no memory yet: it is empty. Tell a trial first.")
            self._use_write_ahead_log()
            self.writing(_create_tables)
            tables = set(schema.metadata.tables)
        if schema.meta.name not in tables:
            raise MemoryStoreError(
                f"{shown} is a database of something else (tables {', '.join(sorted(tables))[:80]}). Nothing was "
                "changed; give another path."
            )
        with self.reading() as connection:
            version = stored_version(connection)
        if version is None:
            raise MemoryStoreError(f"{shown} does not say its schema version. It is damaged, or of something else.")
        if version > schema.SCHEMA_VERSION:
            raise MemoryStoreError(
                f"{shown} was written by a newer headstart (schema {version}, this version reads up to "
                f"{schema.SCHEMA_VERSION}). Upgrade headstart."
            )
        missing = set(schema.metadata.tables) - tables
        if missing:
            raise MemoryStoreError(f"{shown} is damaged: it has no table {sorted(missing)[0]!r}. Restore a copy.")
        self._use_write_ahead_log()

    def _use_write_ahead_log(self) -> None:
        if self.place.path is None:
            return
        with self._turns():
            mode = sqlite.use_write_ahead_log(self._engine, self.timeout)
        if mode not in {"wal", "read-only"}:
            raise MemoryStoreError(
                f"{self.place.shown}: SQLite cannot keep its write-ahead log here ({mode}). Use a folder on this "
                "machine, not a network folder, and try again."
            )

    def before_fork(self) -> None:
        """Wait for running calls and let none begin; close SQLite's connections."""
        self._turn.acquire()
        if self.place.path is not None:
            self._engine.dispose()

    def after_fork(self, *, child: bool) -> None:
        """Let calls begin again."""
        if child and not self.place.is_sqlite:
            self._engine.dispose(close=False)  # the connections are the parent's
        self._turn.release()


def stored_version(connection: Connection) -> int | None:
    """Return the schema version that the memory says it has; None when it says none."""
    columns = {column["name"] for column in inspect(connection).get_columns(schema.meta.name)}
    if not columns.issuperset(schema.meta.c.keys()):
        return None
    text = connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == "schema_version")).scalar()
    try:
        version = int(str(text))
    except ValueError:
        return None
    return version if version >= 1 else None


def _create_tables(connection: Connection) -> None:
    if inspect(connection).get_table_names():  # another process was faster
        return
    schema.metadata.create_all(connection, checkfirst=False)
    rows = [
        {"key": "schema_version", "value": str(schema.SCHEMA_VERSION)},
        {"key": "created_by", "value": f"headstart {__version__}"},
    ]
    connection.execute(insert(schema.meta), rows)


def _interrupt(error: BaseException, outer: BaseException | None) -> BaseException | None:
    """Return the Ctrl-C or exit behind ``error``: SQLAlchemy's own clean-up may fail after one and hide it."""
    found: BaseException | None = error
    while found is not None and found is not outer:
        if not isinstance(found, Exception):
            return found
        found = found.__context__
    return None


def _close(engine: Engine, keeper: sqlite3.Connection | None) -> None:
    engine.dispose()
    if keeper is not None:
        keeper.close()


def _server_engine(place: Place, timeout: float) -> Engine:
    try:
        return create_engine(place.url, pool_pre_ping=True, pool_timeout=timeout)
    except ImportError as error:
        raise MissingDependencyError(
            f"A memory at {place.shown} needs 'psycopg', which is not installed. Run: pip install 'psycopg[binary]'."
        ) from error


# SQLite counts a process's locks in memory that a fork copies, while the system's locks stay with the parent: a child
# would believe that it holds them, and what it tells would be lost when the parent closes the file. So no connection
# is open at a fork, and parent and child connect anew.
_open_here: weakref.WeakSet[Database] = weakref.WeakSet()
_forking = threading.RLock()
_waiting: list[Database] = []


def _before_fork() -> None:
    _forking.acquire()
    for database in list(_open_here):
        database.before_fork()
        _waiting.append(database)


def _after_fork(*, child: bool) -> None:
    while _waiting:
        _waiting.pop().after_fork(child=child)
    _forking.release()


if hasattr(os, "register_at_fork"):  # not on Windows, which has no fork
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=lambda: _after_fork(child=False),
        after_in_child=lambda: _after_fork(child=True),
    )
