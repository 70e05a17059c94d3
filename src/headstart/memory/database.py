"""Where a memory lies, how it is opened, and what its database says in words.

Everything that knows of a dialect is in this module: how SQLite is connected to, and what its error codes mean.
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, insert, inspect, make_url, select
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, TimeoutError
from sqlalchemy.pool import QueuePool

from headstart._version import __version__
from headstart.errors import MemoryStoreError, MissingDependencyError
from headstart.memory import schema

T = TypeVar("T")

ATTEMPTS = 20
"""How often a write is tried again when another process took the same number or name at the same moment."""

DATABASE_ERRORS = (DBAPIError, TimeoutError, sqlite3.Error, UnicodeDecodeError)
"""What a database raises; text that is not UTF-8 comes from a damaged file."""

_WRITES = "headstart_writes"

# Engines whose connections were inherited by fork(). SQLite forbids to use or even to close them in the child, so they
# are kept from the garbage collector.
_inherited: list[Engine] = []


@dataclass(frozen=True)
class Place:
    """Where a memory lies."""

    url: URL
    shown: str
    """What messages call it; never with a password."""
    path: Path | None = None
    """The file, where it is one."""

    @property
    def is_private(self) -> bool:
        """Whether it lives in this process only."""
        return self.url.get_backend_name() == "sqlite" and self.path is None


def place_of(location: str | Path) -> Place:
    """Return where ``location`` points: a path, a URL of SQLite or PostgreSQL, or ":memory:"."""
    if isinstance(location, Path):
        return _file(location)
    if location in {":memory:", "sqlite://", "sqlite:///:memory:"}:
        return Place(make_url("sqlite://"), ":memory:")
    if "://" not in location:
        if not location or "\0" in location:
            raise MemoryStoreError(f"Memory: location must be a path or a URL, got {location!r}.")
        return _file(Path(location))
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):  # the text may hold a password: not shown
        raise MemoryStoreError("Memory: the URL cannot be read. Write it as postgresql://user@host/database.") from None
    if url.get_backend_name() == "sqlite" and url.database and not url.database.startswith("file:"):
        return _file(Path(url.database))
    if url.drivername == "postgresql":
        url = url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "postgresql":
        raise MemoryStoreError(
            f"Memory: '{url.render_as_string()}' is not supported. Give a path, sqlite:///path or postgresql://host/name."
        )
    return Place(url, url.render_as_string())


def _file(path: Path) -> Place:
    absolute = path.expanduser().absolute()  # a pickled memory must find its file from another folder
    # mode=rw: SQLite must never make a file by itself, or a deleted memory would come back empty.
    url = URL.create("sqlite", database=f"file:{quote(str(absolute))}", query={"mode": "rw", "uri": "true"})
    return Place(url, str(path), absolute)


class Database:
    """The connections to one memory. No transaction outlives a call."""

    def __init__(self, place: Place, *, create: bool, timeout: float) -> None:
        self.place = place
        self.timeout = timeout
        self._process = os.getpid()
        self._closed = False
        self._file = None if place.path is None else _checked_file(place, place.path, create)
        self._engine = _engine(place, timeout)
        try:
            self._open(create)
        except BaseException:
            self._engine.dispose()
            raise

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection that sees one state of the memory (SQLite) and writes nothing."""
        with self._in_words(), self._current().connect() as connection:
            yield connection

    def writing(self, work: Callable[[Connection], T]) -> T:
        """Return ``work(connection)``, committed; called again when another process was faster with a unique value."""
        with self._in_words():
            engine = self._current().execution_options(**{_WRITES: True})
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
        if not self._closed and self._process == os.getpid():
            self._engine.dispose()
        self._closed = True

    def words(self, error: Exception) -> str:
        """Return one line on ``error``."""
        return _words(error, self.place.shown, self.timeout)

    def _current(self) -> Engine:
        if self._closed:
            raise MemoryStoreError(f"{self.place.shown}: this Memory was closed. Open it again with Memory(...).")
        if self.place.path is not None and _identity(self.place.path) != self._file:
            # SQLite would go on writing into the file that is no longer there.
            raise MemoryStoreError(
                f"{self.place.shown} was moved, replaced or deleted while it was open. Nothing was written; put it "
                "back, or open it again."
            )
        if self._process != os.getpid() and not self.place.is_private:
            _inherited.append(self._engine)
            self._engine, self._process = _engine(self.place, self.timeout), os.getpid()
        return self._engine

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except DATABASE_ERRORS as error:
            raise MemoryStoreError(self.words(error)) from error

    def _open(self, create: bool) -> None:
        with self.reading() as connection:
            tables = set(inspect(connection).get_table_names())
        if not tables and not create:
            raise MemoryStoreError(f"{self.place.shown} holds no memory yet: it is empty. Tell a trial first.")
        if not tables:
            self._use_write_ahead_log()
            self.writing(_create_tables)
            tables = set(schema.metadata.tables)
        shown = self.place.shown
        if not tables.issuperset(schema.metadata.tables):
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
        self._use_write_ahead_log()

    def _use_write_ahead_log(self) -> None:
        if self.place.path is None:
            return
        deadline = time.monotonic() + self.timeout
        with self._in_words():
            raw = self._engine.raw_connection()
            try:
                while (mode := _try_write_ahead_log(raw.cursor())) == "busy" and time.monotonic() < deadline:
                    time.sleep(0.01)  # SQLite does not wait by itself here
            finally:
                raw.close()
        if mode not in {"wal", "read-only"}:
            raise MemoryStoreError(
                f"{self.place.shown}: SQLite cannot keep its write-ahead log here ({mode}). Use a folder on this "
                "machine, not a network folder, and try again."
            )


def stored_version(connection: Connection) -> int | None:
    """Return the schema version that the memory says it has; None when it says none."""
    text = connection.execute(select(schema.meta.c.value).where(schema.meta.c.key == "schema_version")).scalar()
    try:
        version = int(str(text))
    except ValueError:
        return None
    return version if version >= 1 else None


def _try_write_ahead_log(cursor: Any) -> str:
    try:
        if cursor.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            return "wal"
        return str(cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0])
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            return "busy"
        if error.sqlite_errorname.startswith("SQLITE_READONLY"):
            return "read-only"
        raise


def _create_tables(connection: Connection) -> None:
    if inspect(connection).get_table_names():  # another process was faster
        return
    schema.metadata.create_all(connection, checkfirst=False)
    rows = [
        {"key": "schema_version", "value": str(schema.SCHEMA_VERSION)},
        {"key": "created_by", "value": f"headstart {__version__}"},
    ]
    connection.execute(insert(schema.meta), rows)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _checked_file(place: Place, path: Path, create: bool) -> tuple[int, int] | None:
    """Return the identity of the file, made if it may be."""
    shown = place.shown
    if not path.parent.is_dir():
        raise MemoryStoreError(
            f"{shown}: the folder {path.parent} is not there. Create it, or give a path in a folder that is."
        )
    if path.is_dir():
        raise MemoryStoreError(f"{shown} is a folder. Give the path of a file in it, such as {Path(shown) / 'runs.db'}.")
    if not path.exists():
        if not create:
            raise MemoryStoreError(f"{shown} is not there. Give the path of a memory, or tell a trial to make one.")
        try:
            path.touch()
        except OSError as error:
            reason = error.strerror or str(error)
            raise MemoryStoreError(
                f"{shown} cannot be made in {path.parent}: {reason}. Give another folder."
            ) from error
    return _identity(path)


def _engine(place: Place, timeout: float) -> Engine:
    try:
        if place.url.get_backend_name() != "sqlite":
            return create_engine(place.url, pool_pre_ping=True, pool_timeout=timeout)
        # A private memory is one connection, which threads take in turns.
        size = {"pool_size": 1, "max_overflow": 0} if place.is_private else {"pool_size": 5, "max_overflow": 10}
        arguments = {"timeout": timeout, "check_same_thread": False}
        engine = create_engine(
            place.url, poolclass=QueuePool, pool_timeout=timeout, connect_args=arguments, **size
        )
    except ModuleNotFoundError as error:
        raise MissingDependencyError(
            f"A memory at {place.shown} needs '{error.name}', which is not installed. Run: pip install "
            "'psycopg[binary]'"
        ) from error
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not where sqlite3 guesses
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")  # the log is on the disk before a commit returns
    connection.execute("PRAGMA fullfsync=ON")  # macOS: through the disk's own cache; no effect elsewhere


def _begin_sqlite(connection: Connection) -> None:
    # A write transaction takes the lock at once: one that begins by reading cannot be upgraded while another writes.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _words(error: Exception, shown: str, timeout: float) -> str:
    original = error.orig if isinstance(error, DBAPIError) else error
    text = next((line.strip() for line in str(original).splitlines() if line.strip()), type(original).__name__)
    code = "SQLITE_CORRUPT" if isinstance(original, UnicodeError) else str(getattr(original, "sqlite_errorname", ""))
    for start, words in (
        ("SQLITE_BUSY", f"was locked by another process for longer than {timeout:g} s. Nothing was written; try again"),
        ("SQLITE_LOCKED", "is locked by another connection. Nothing was written; try again"),
        (
            "SQLITE_READONLY",
            "cannot be used: the file, or its folder, where SQLite keeps its log, is read-only. Change that, or copy "
            "the file to another folder",
        ),
        ("SQLITE_CANTOPEN", "cannot be opened: the file or its folder may not be read or written. Check their rights"),
        ("SQLITE_NOTADB", "is not a memory: the file is no SQLite database. Give another path"),
        ("SQLITE_CORRUPT", f"is damaged ({text}). Restore a copy, or save what is left with: sqlite3 FILE .recover"),
        ("SQLITE_FULL", "could not be written: the disk is full. Nothing was written; make room and try again"),
        ("SQLITE_IOERR", f"could not be read or written ({text}). Nothing was written; check the disk"),
    ):
        if code.startswith(start):
            return f"{shown} {words}."
    return f"{shown}: the database refused ({text})."
