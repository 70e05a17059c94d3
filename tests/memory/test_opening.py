"""Which places can be opened, and what is said of those that cannot."""

import os
import shutil
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from headstart.errors import HeadstartError, MemoryStoreError, MissingDependencyError
from headstart.memory import Memory
from headstart.space import Float, Space

SPACE = Space(Float("x", 0.0, 1.0))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of a memory with one observation."""
    found = tmp_path / "runs.db"
    with Memory(found) as memory:
        memory.create_task("t", SPACE)
        memory.add_observation("t", {"x": 0.5}, 1.0)
    return found


def _execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def _values(memory: Memory) -> list[float | None]:
    return [seen.value for seen in memory.observations("t")]


def test_path_text_and_urls_open_the_same_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    locations: list[str | Path] = [path, str(path), "runs.db", f"sqlite:///{path}", "sqlite:///runs.db", "./runs.db"]
    for location in locations:
        with Memory(location, create=False) as memory:
            assert _values(memory) == [1.0]
    with Memory("runs.db") as memory:
        assert memory.location == "runs.db"
        assert repr(memory) == "Memory('runs.db')"


@pytest.mark.parametrize("name", ["a b.db", "50%20?.db", "#1&x=y.db", "größe-名前.db", "no-ending", "'quoted\".db"])
def test_odd_file_names(tmp_path: Path, name: str) -> None:
    with Memory(tmp_path / name) as memory:
        memory.create_task("t", SPACE)
    assert [found.name for found in tmp_path.iterdir()] == [name]
    with Memory(str(tmp_path / name), create=False) as memory:
        assert len(memory.tasks()) == 1


@pytest.mark.parametrize("location", [":memory:", "sqlite://", "sqlite:///:memory:"])
def test_private_memories_are_each_their_own(location: str) -> None:
    with Memory(location) as first, Memory(location) as second:
        first.create_task("t", SPACE)
        assert second.tasks() == []
        assert first.location == ":memory:"


def test_a_link_is_followed(path: Path) -> None:
    link = path.with_name("link.db")
    link.symlink_to(path)
    with Memory(link) as memory:
        memory.add_observation("t", {"x": 0.1}, 2.0)
    with Memory(path) as memory:
        assert _values(memory) == [1.0, 2.0]


@pytest.mark.parametrize(
    "location", ["", None, 3, b"runs.db", "a\0b", Path("a\0b"), [], "~nobody-of-that-name/runs.db"]
)
def test_what_is_no_location_is_refused(location: Any) -> None:
    with pytest.raises(MemoryStoreError, match=r"^Memory: "):
        Memory(location)


def test_a_name_too_long_for_the_system(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError, match="Give another path"):
        Memory(tmp_path / ("a" * 300))


@pytest.mark.parametrize("timeout", [-1, float("nan"), "10", True])
def test_bad_timeouts(tmp_path: Path, timeout: Any) -> None:
    with pytest.raises(HeadstartError, match="timeout"):
        Memory(tmp_path / "runs.db", timeout=timeout)


def test_huge_timeout_is_no_overflow(tmp_path: Path) -> None:
    with Memory(tmp_path / "runs.db", timeout=1e300) as memory:
        memory.create_task("t", SPACE)


@pytest.mark.parametrize(
    "url",
    [
        "mysql://user:hush@host/db",
        "mysql://host/db?password=hush",
        "postgresql+asyncpg://user:hush@host/db",
        "postgresql+nonsense://user:hush@host/db",
        "nonsense://user:hush@host/db",
        "sqlite:///runs.db?password=hush",
        "sqlite:///file:runs.db?password=hush",
        "sqlite:///",
        "postgresql://user:hush@host:port/db",
        "://hush",
    ],
)
def test_unsupported_urls_are_refused_without_their_password(url: str) -> None:
    with pytest.raises(MemoryStoreError, match="URL") as caught:
        Memory(url)
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["postgresql", "postgres", "postgresql+psycopg"])
def test_postgresql_without_psycopg_says_what_to_install(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed, also where it is
    with pytest.raises(MissingDependencyError, match=r"Run: pip install 'psycopg\[binary\]'") as caught:
        Memory(f"{scheme}://user:hush@localhost/db?sslpassword=hush")
    assert "hush" not in str(caught.value)
    assert "user" in str(caught.value)


def test_missing_file_folder_and_a_folder_instead(tmp_path: Path) -> None:
    with pytest.raises(MemoryStoreError, match=r"runs\.db is not there"):
        Memory(tmp_path / "runs.db", create=False)
    with pytest.raises(MemoryStoreError, match=r"the folder .*missing is not there\. Create it"):
        Memory(tmp_path / "missing" / "runs.db")
    with pytest.raises(MemoryStoreError, match=r"is a folder\. Give the path of a file in it, such as .*runs\.db"):
        Memory(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(MemoryStoreError, match="is not there"):
        Memory(tmp_path / "file" / "runs.db")
    assert [found.name for found in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "content",
    [b"x", b"rate,loss\n0.1,0.5\n", b"rate,loss\n" * 1000, b"\0" * 5000, b"SQLite format 3\0" + b"\xff" * 5000],
)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "runs.db").write_bytes(content)
    with pytest.raises(MemoryStoreError, match=r"runs\.db is (not a memory|damaged)"):
        Memory(tmp_path / "runs.db")
    assert (tmp_path / "runs.db").read_bytes() == content


def test_an_empty_file_becomes_a_memory_only_where_one_may_be_made(tmp_path: Path) -> None:
    (tmp_path / "runs.db").touch()
    with pytest.raises(MemoryStoreError, match="holds no memory yet"):
        Memory(tmp_path / "runs.db", create=False)
    assert (tmp_path / "runs.db").stat().st_size == 0
    with Memory(tmp_path / "runs.db") as memory:
        assert memory.check() == []


def test_a_database_of_something_else_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    for i, table in enumerate(("studies", "meta")):
        path = tmp_path / f"{i}.db"
        _execute(path, f"CREATE TABLE {table} (id INTEGER)", f"INSERT INTO {table} VALUES (3)")
        before = path.read_bytes()
        with pytest.raises(MemoryStoreError, match="of something else"):
            Memory(path)
        assert path.read_bytes() == before


def test_a_newer_schema_is_refused_whatever_its_tables(path: Path) -> None:
    _execute(path, "UPDATE meta SET value = '2' WHERE key = 'schema_version'", "ALTER TABLE trials RENAME TO runs")
    with pytest.raises(MemoryStoreError, match=r"newer headstart \(schema 2, this version reads up to 1\)\. Upgrade"):
        Memory(path)
    _execute(path, "UPDATE meta SET value = 'x' WHERE key = 'schema_version'")
    with pytest.raises(MemoryStoreError, match="does not say its schema version"):
        Memory(path)


def test_a_missing_table_is_damage(path: Path) -> None:
    _execute(path, "DROP TABLE trials")
    with pytest.raises(MemoryStoreError, match="is damaged: it has no table 'trials'"):
        Memory(path)


def test_a_damaged_file_says_so(path: Path) -> None:
    with Memory(path) as memory:
        for i in range(300):
            memory.add_observation("t", {"x": 0.5}, float(i), metadata={"text": "m" * 200})
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xab" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(MemoryStoreError, match=r"is damaged .*Restore a copy"), Memory(path) as memory:
        memory.observations("t")


@pytest.mark.parametrize("how", ["deleted", "replaced", "moved"])
def test_a_file_that_is_no_longer_there_is_noticed(path: Path, how: str) -> None:
    memory = Memory(path)
    memory.add_observation("t", {"x": 0.5}, 2.0)
    if how == "deleted":
        path.unlink()
    else:
        path.rename(path.with_name("elsewhere.db"))
    if how == "replaced":
        shutil.copy(path.with_name("elsewhere.db"), path)
    for use in (lambda: memory.add_observation("t", {"x": 0.5}, 3.0), memory.tasks, memory.check):
        with pytest.raises(MemoryStoreError, match="was moved, replaced or deleted while it was open"):
            use()
    if how == "moved":
        path.with_name("elsewhere.db").rename(path)
        memory.add_observation("t", {"x": 0.5}, 3.0)
        assert _values(memory) == [1.0, 2.0, 3.0]
    memory.close()


def test_locked_by_another_process(path: Path) -> None:
    with Memory(path, timeout=0.1) as memory:
        writer = sqlite3.connect(path)
        writer.execute("BEGIN IMMEDIATE")
        assert _values(memory) == [1.0]  # readers do not wait
        with pytest.raises(MemoryStoreError, match=r"locked by another process for longer than 0\.1 s"):
            memory.add_observation("t", {"x": 0.5}, 2.0)
        writer.rollback()
        writer.close()
        memory.add_observation("t", {"x": 0.5}, 3.0)
        assert _values(memory) == [1.0, 3.0]


def test_every_commit_is_synchronised(path: Path) -> None:
    # private on purpose: nothing public shows whether a commit waits for the disk
    with Memory(path) as memory, memory._database.reading() as connection:  # type: ignore[reportPrivateUsage]
        settings = {
            name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
            for name in ("journal_mode", "synchronous", "fullfsync", "foreign_keys")
        }
    assert settings == {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1, "foreign_keys": 1}


def _without_roots_rights(code: str, *arguments: Path) -> str:
    """Return what ``code`` prints, run by somebody whom the rights of files bind."""
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    if os.getuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere; install util-linux (setpriv), or run the tests as another user")
        command = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights of files are another matter on Windows")
def test_read_only_files_and_folders(path: Path) -> None:
    folder = path.parent
    path.chmod(0o444)
    code = """
        import sys
        from headstart.errors import MemoryStoreError
        from headstart.memory import Memory

        def read(): return [seen.value for seen in Memory(sys.argv[1], create=False).observations("t")]
        def write(): return Memory(sys.argv[1]).add_observation("t", {"x": 0.5}, 2.0)
        def make(): return Memory(sys.argv[2])

        for attempt in (read, write, make):
            try:
                print(attempt())
            except MemoryStoreError as error:
                print(error)
    """
    read, write, _ = _without_roots_rights(code, path, folder / "new.db").splitlines()
    assert read == "[1.0]"  # a read-only file can be read where SQLite may keep its log beside it
    assert "runs.db cannot be used: the file, or its folder, where SQLite keeps its log, is read-only." in write
    for beside in folder.iterdir():
        if beside != path:  # "new.db", and the log, which a reader who may not write cannot clear away
            beside.unlink()
    folder.chmod(0o555)
    read, write, new = _without_roots_rights(code, path, folder / "new.db").splitlines()
    assert "is read-only. Change that, or copy the file to another folder." in read
    assert "is read-only. Change that, or copy the file to another folder." in write
    assert "new.db cannot be read or made: Permission denied." in new
    folder.chmod(0o755)
    assert [found.name for found in folder.iterdir()] == ["runs.db"]
    path.chmod(0o000)
    assert "may not be read or written" in _without_roots_rights(code, path, folder / "new.db").splitlines()[0]
    path.chmod(0o644)
    with Memory(path) as memory:
        assert _values(memory) == [1.0]


def test_a_full_disk_leaves_nothing_half_written(path: Path) -> None:
    with Memory(path) as memory:
        # private on purpose: SQLite's own limit stands for the disk's
        with memory._database.reading() as connection:  # type: ignore[reportPrivateUsage]
            connection.exec_driver_sql("PRAGMA max_page_count=1")  # it takes the current size for the least
        with pytest.raises(MemoryStoreError, match=r"the disk is full\. Nothing was written; make room"):
            memory.add_observation("t", {"x": 0.5}, 2.0, metadata={"text": "m" * 20_000})
        assert _values(memory) == [1.0]
        assert memory.check() == []
    with Memory(path) as memory:
        memory.add_observation("t", {"x": 0.5}, 3.0, metadata={"text": "m" * 20_000})
        assert _values(memory) == [1.0, 3.0]
