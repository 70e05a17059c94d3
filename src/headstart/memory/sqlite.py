"""All that is SQLite's own: how it is connected to, its write-ahead log, and what its error codes mean."""

import sqlite3
import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from headstart.memory.place import Place

WRITES = "headstart_writes"
"""Execution option of engines whose transactions write."""


class _Kept(sqlite3.Connection):
    """The only connection to a private memory: whoever closes it after an interrupted call must not lose it."""

    def close(self) -> None:
        """Keep it open, without what was left of a transaction."""
        self.rollback()


def engine(place: Place, timeout: float) -> Engine:
    """Return an engine with one connection; threads take turns."""
    arguments: dict[str, Any] = {"timeout": timeout, "check_same_thread": False}
    pool: dict[str, Any] = {"poolclass": QueuePool, "pool_size": 1, "max_overflow": 0}
    if place.is_private:
        kept = sqlite3.connect(":memory:", factory=_Kept, **arguments)
        made = create_engine(place.url, creator=lambda: kept, **pool)

        def close(_: Engine) -> None:
            sqlite3.Connection.close(kept)

        event.listen(made, "engine_disposed", close)
    else:
        made = create_engine(place.url, connect_args=arguments, **pool)
    event.listen(made, "connect", _prepare)
    event.listen(made, "begin", _begin)
    return made


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
