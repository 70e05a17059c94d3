"""Where a memory lies: a path, a URL or ":memory:", made into what can be opened."""

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import cast
from uuid import uuid4

from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from headstart.errors import MemoryStoreError
from headstart.space.values import shown as cut

SQLITE_HEADER = b"SQLite format 3\0"
SMALLEST_DATABASE = 512
"""Bytes of SQLite's smallest page."""


@dataclass(frozen=True)
class Place:
    """Where a memory lies."""

    url: URL
    shown: str
    """What messages call it; never with a password."""
    path: Path | None = None
    """The file, where it is one."""

    @property
    def is_sqlite(self) -> bool:
        """Whether SQLite keeps it, rather than a server."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def is_private(self) -> bool:
        """Whether it lives in one process only."""
        return self.is_sqlite and self.path is None


def place_of(location: str | Path) -> Place:
    """Return where ``location`` points: a path, a URL of SQLite or PostgreSQL, or ":memory:"."""
    if not isinstance(cast("object", location), str | os.PathLike) or not str(location) or "\0" in str(location):
        raise MemoryStoreError(f"Memory: location must be a path or a URL, got {cut(location)}.")
    if location in {":memory:", "sqlite://", "sqlite:///:memory:"}:
        # by a name of its own, so that it outlives each of its connections
        query = {"mode": "memory", "cache": "shared", "uri": "true"}
        return Place(URL.create("sqlite", database=f"file:headstart-{uuid4().hex}", query=query), ":memory:")
    if isinstance(location, str) and "://" in location:
        return _from_url(location)
    return _file(location)


def _from_url(location: str) -> Place:
    try:
        url = make_url(location)
    except (ArgumentError, ValueError):  # the text may hold a password: not shown
        raise MemoryStoreError("Memory: the URL cannot be read. Write it as postgresql://user@host/database.") from None
    plain = url.set(query={}).render_as_string()  # stars for the password; PostgreSQL also takes one as a query
    if url.drivername == "sqlite" and url.database and not url.query and not url.database.startswith("file:"):
        return _file(url.database)
    if url.drivername in {"postgresql", "postgres", "postgresql+psycopg"}:
        return Place(url.set(drivername="postgresql+psycopg"), plain)
    raise MemoryStoreError(
        f"Memory: the URL {plain}{' with a query' if url.query else ''} is not supported. Give a path, "
        "sqlite:///path or postgresql://user@host/database."
    )


def _file(location: str | Path) -> Place:
    try:
        path = Path(location).expanduser().absolute()  # a pickled memory must find its file from another folder
    except (OSError, RuntimeError) as error:
        raise MemoryStoreError(f"Memory: {cut(str(location))} is no path ({error}). Give an absolute one.") from error
    # mode=rw: SQLite must never make a file by itself, or a deleted memory would come back empty.
    url = URL.create("sqlite", database=path.as_uri(), query={"mode": "rw", "uri": "true"})
    return Place(url, str(location), path)


def prepare_file(place: Place, path: Path, *, create: bool) -> None:
    """Make an empty file at ``path`` if there is none and ``create`` allows it.

    Raises:
        MemoryStoreError: There can be no memory.
    """
    shown = place.shown
    try:
        if path.is_dir():
            raise MemoryStoreError(
                f"{shown} is a folder. Give the path of a file in it, such as {Path(shown) / 'runs.db'}."
            )
        if path.exists():
            _refuse_another_format(shown, path)
            return
        if not path.parent.is_dir():
            raise MemoryStoreError(
                f"{shown}: the folder {path.parent} is not there. Create it, or give a path in a folder that is."
            )
        if not create:
            raise MemoryStoreError(f"{shown} is not there. Give the path of a memory, or tell a trial to make one.")
        with suppress(FileExistsError):  # another thread or process was faster
            path.touch(exist_ok=False)  # never opens a file that is there: see _refuse_another_format
    except OSError as error:
        reason = error.strerror or str(error)
        raise MemoryStoreError(
            f"{shown[:200]} cannot be read or made: {reason}. Give another path, or change the folder's rights."
        ) from error


def _refuse_another_format(shown: str, path: Path) -> None:
    """Refuse a file of a few bytes that is not SQLite's: SQLite itself takes it for an empty one and overwrites it.

    A larger one is never opened here: on POSIX, closing any handle of a file drops all locks that this process has on
    it, those of SQLite included, and another process would then delete the log that it still needs. SQLite refuses
    larger foreign files by itself.
    """
    if not 0 < path.stat().st_size < SMALLEST_DATABASE:
        return
    with path.open("rb") as file:
        start = file.read(len(SQLITE_HEADER))
    if start != SQLITE_HEADER:
        raise MemoryStoreError(f"{shown} is not a memory: the file is no SQLite database. Give another path.")


def identity(path: Path) -> tuple[int, int] | None:
    """Return what tells the file at ``path`` from another one at the same path; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
