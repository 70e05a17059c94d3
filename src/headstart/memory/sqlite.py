"""All that is SQLite's own: how it is connected to, its write-ahead log, and what its error codes mean."""

import sqlite3
import time
import weakref
from contextlib import suppress
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from headstart.memory.place import Place

WRITES = "headstart_writes"
"""Execution option of engines whose transactions write."""


class Interruptible(sqlite3.Connection):
    """A connection whose ``rollback`` ends its statements, too.

    One that was interrupted before its end would hold a lock beyond the transaction for as long as its cursor lives,
    which may be in a traceback.
    """

    _cursors: tuple[weakref.ref[sqlite3.Cursor], ...] = ()

    def cursor(self, factory: Any = sqlite3.Cursor) -> Any:
        """Return a new cursor, and remember it until the transaction ends."""
        made: sqlite3.Cursor = super().cursor(factory)
        living = [reference for reference in self._cursors if reference() is not None]
        self._cursors = (*living, weakref.ref(made))
        return made

    def rollback(self) -> None:
        """Close all cursors, and roll back; the pool calls it at the end of every call."""
        for reference in self._cursors:
            cursor = reference()
            if cursor is not None:
                with suppress(sqlite3.Error):
                    cursor.close()
        super().rollback()
        self._cursors = ()

    def close(self) -> None:
        """Give up all locks, and close."""
        with suppress(sqlite3.Error):
            self.rollback()
        super().close()


def engine(place: Place, timeout: float, made: list[Interruptible]) -> Engine:
    """Return an engine of one connection, which threads take in turns.

    Args:
        place: Where the memory lies.
        timeout: Seconds to wait for other processes that write.
        made: Filled with the connection that was made last.
    """
    arguments: dict[str, Any] = {"timeout": timeout, "check_same_thread": False, "factory": Interruptible}
    one = create_engine(place.url, poolclass=QueuePool, pool_size=1, max_overflow=0, connect_args=arguments)

    def remember(connection: Interruptible, _: object) -> None:
        made[:] = [connection]

    event.listen(one, "connect", remember)
    event.listen(one, "connect", _prepare)
    event.listen(one, "begin", _begin)
    return one


def keeper(place: Place) -> sqlite3.Connection:
    """Return a connection that keeps a private memory alive when others to it are closed."""
    arguments = f"mode={place.url.query['mode']}&cache={place.url.query['cache']}"
    return sqlite3.connect(f"{place.url.database}?{arguments}", uri=True, check_same_thread=False)


def _prepare(connection: sqlite3.Connection, _: object) -> None:
    connection.isolation_level = None  # transactions begin where we say so, not where sqlite3 guesses
    connection.execute("PRAGMA foreign_keys=ON")
    connection.execute("PRAGMA synchronous=FULL")  # the log is on the disk before a commit returns
    connection.execute("PRAGMA fullfsync=ON")  # macOS: through the disk's own cache; no effect elsewhere


def _begin(connection: Connection) -> None:
    # A write transaction takes the lock at once: one that begins by reading cannot be upgraded while another writes.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def use_write_ahead_log(engine: Engine, timeout: float) -> str:
    """Return the journal mode after asking for the write-ahead log; "read-only" where it cannot be changed."""
    deadline = time.monotonic() + timeout
    raw = engine.raw_connection()
    try:
        while (mode := _try_write_ahead_log(raw.cursor())) == "busy" and time.monotonic() < deadline:
            time.sleep(0.01)  # SQLite does not wait by itself here
    finally:
        raw.close()
    return mode


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


def words(error: Exception, shown: str, timeout: float) -> str:
    """Return one line on what SQLite, or another database, says."""
    original = error.orig if isinstance(error, DBAPIError) else error
    text = next((line.strip() for line in str(original).splitlines() if line.strip()), type(original).__name__)
    is_no_text = isinstance(original, UnicodeError) or text.startswith("Could not decode to UTF-8")
    code = "SQLITE_CORRUPT" if is_no_text else str(getattr(original, "sqlite_errorname", ""))
    locked = f"was locked by another process for longer than {timeout:g} s. Nothing was written; try again"
    for start, line in (
        ("SQLITE_BUSY", locked),
        ("SQLITE_LOCKED", locked),
        ("SQLITE_PROTOCOL", locked),
        (
            "SQLITE_READONLY",
            "cannot be used: the file, or its folder, where SQLite keeps its log, is read-only. Change that, or copy "
            "the file to another folder",
        ),
        ("SQLITE_CANTOPEN", "cannot be opened: the file or its folder may not be read or written. Check their rights"),
        ("SQLITE_NOTADB", "is not a memory: the file is no SQLite database. Give another path"),
        ("SQLITE_CORRUPT", f"is damaged ({text}). Restore a copy, or save what is left with: sqlite3 FILE .recover"),
        ("SQLITE_FULL", "could not be written: the disk is full. Nothing was written; make room and try again"),
        ("SQLITE_IOERR", f"could not be read or written ({text}). Check the disk"),
    ):
        if code.startswith(start):
            return f"{shown} {line}."
    return f"{shown}: the database refused ({text.rstrip('.')})."
