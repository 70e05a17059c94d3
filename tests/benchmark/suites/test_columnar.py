"""The columnar cache: the numbers of the JSON file bit for bit, read once, and harmless in whatever state it is."""

import json
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.benchmark.problems import Problem
from headstart.benchmark.suites import columnar
from headstart.benchmark.suites.columnar import cache_folder, read_table
from headstart.errors import DataError

TASKS: dict[str, Any] = {"X": [[0.1, 0.25], [1 / 3, 1.0], [0.0, 1e-300]], "y": [[0.1], [-2.5], [1e-17]]}
CONTENT: dict[str, Any] = {
    "svm": {"heart": TASKS, "iris": {"X": [[0, 1]], "y": [7]}},
    "tree": {"heart": {"X": [[0.7], [0.8]], "y": [[0.1], [0.2]]}},
}


def stored(file: Path, content: object = CONTENT) -> Path:
    file.write_text(json.dumps(content))
    return file


def values(table: columnar.Table) -> dict[tuple[str, str], tuple[list[list[float]], list[float]]]:
    return {
        (space, problem.name): (problem.x.tolist(), problem.y.tolist())
        for space, problems in table.spaces.items()
        for problem in problems
    }


EXPECTED = {
    ("svm", "heart"): (TASKS["X"], [0.1, -2.5, 1e-17]),
    ("svm", "iris"): ([[0.0, 1.0]], [7.0]),
    ("tree", "heart"): ([[0.7], [0.8]], [0.1, 0.2]),
}


def folder_of(cache: Path) -> Path:
    (found,) = [path for path in cache.iterdir() if not path.name.startswith(".")]
    return found


def others(cache: Path) -> list[str]:
    """Return what lies beside the table and its lock."""
    kept = folder_of(cache)
    return [path.name for path in cache.iterdir() if path.name not in (kept.name, f".{kept.name}.lock")]


def refused(file: Path, cache: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_table(file, cache)
    message = str(caught.value)
    assert str(file) in message
    assert message.isprintable()
    return message


# --- what is read ----------------------------------------------------------------------------------------------------


def test_a_table(tmp_path: Path) -> None:
    table = read_table(stored(tmp_path / "a.json"), tmp_path / "cache")
    assert list(table.spaces) == ["svm", "tree"]
    assert values(table) == EXPECTED
    for space, problems in table.spaces.items():
        for problem in problems:
            assert isinstance(problem, Problem)
            assert problem.space == space
            assert type(problem.x) is np.ndarray
            assert not problem.x.flags.writeable
            assert not problem.y.flags.writeable


@given(
    x=st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=2), min_size=1, max_size=5),
    y=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5, max_size=5),
    nested=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_bit_for_bit_first_and_second_time(x: list[list[float]], y: list[float], nested: bool) -> None:
    y = y[: len(x)]
    rows = b"".join(struct.pack("<2d", *row) for row in x)
    responses = b"".join(struct.pack("<d", value) for value in y)
    with tempfile.TemporaryDirectory() as made:
        file = stored(Path(made) / "a.json", {"s": {"t": {"X": x, "y": [[value] for value in y] if nested else y}}})
        for _ in range(2):
            (problem,) = read_table(file, Path(made) / "cache").spaces["s"]
            assert problem.x.astype("<f8").tobytes() == rows
            assert problem.y.astype("<f8").tobytes() == responses


def test_rounding_at_the_edge_of_the_cube_is_clipped_and_nothing_more(tmp_path: Path) -> None:
    content = {"s": {"t": {"X": [[-1e-12, 0.5], [1 + 1e-12, 1e-12]], "y": [1, 2]}}}
    (problem,) = read_table(stored(tmp_path / "a.json", content), tmp_path / "cache").spaces["s"]
    assert problem.x.tolist() == [[0.0, 0.5], [1.0, 1e-12]]


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ([1], "must be an object with X and y"),
        ({"X": [[0.5]]}, "must be an object with X and y"),
        ({"X": [[0.5], [0.5, 0.6]], "y": [1, 2]}, "as many in every row"),
        ({"X": [[0.5], [0.6]], "y": [[1], [2, 3]]}, "as many in every row"),
        ({"X": [[0.5], [0.6]], "y": [1]}, r"got \(2, 1\) and \(1,\)"),
        ({"X": [[0.5], [0.6]], "y": [[1, 2], [3, 4]]}, r"got \(2, 1\) and \(2, 2\)"),
        ({"X": [[0.5]], "y": [[1, 2]]}, r"got \(1, 1\) and \(1, 2\)"),
        ({"X": [0.5, 0.6], "y": [1, 2]}, r"got \(2,\) and \(2,\)"),
        ({"X": [[[0.5]]], "y": [1]}, r"got \(1, 1, 1\) and \(1,\)"),
        ({"X": [[0.5]], "y": 1}, r"got \(1, 1\) and \(\)"),
        ({"X": 0.5, "y": [1]}, r"got \(\) and \(1,\)"),
        ({"X": [], "y": []}, r"got \(0,\)"),
        ({"X": [[], []], "y": [1, 2]}, r"there are no configurations, got shape \(2, 0\)"),
        ({"X": [["0.5"]], "y": [1]}, "must hold numbers"),
        ({"X": [[0.5]], "y": ["1"]}, "must hold numbers"),
        ({"X": [[True]], "y": [1]}, "must hold numbers"),
        ({"X": [[0.5]], "y": [None]}, "must hold numbers"),
        ({"X": [[{}]], "y": [1]}, "must hold numbers"),
        ({"X": {"a": 1}, "y": [1]}, "must hold numbers"),
        ({"X": [[0.5]], "y": [10**400]}, "must hold numbers"),
        ({"X": [[0.5]], "y": [float("nan")]}, "contains NaN or infinity"),
        ({"X": [[float("nan")]], "y": [1]}, "contains NaN or infinity"),
        ({"X": [[0.5]], "y": [float("-inf")]}, "contains NaN or infinity"),
        ({"X": [[0.5], [1.01]], "y": [1, 2]}, r"X must lie in \[0, 1\], got values from 0\.5 to 1\.01"),
        ({"X": [[-1e-6], [0.3]], "y": [1, 2]}, r"X must lie in \[0, 1\], got values from -1e-06 to 0\.3"),
        ({"X": [[0.5, 0.5, 0.5]], "y": [1]}, "has 3 columns, the tasks before it 1"),
    ],
)
def test_wrong_tasks_are_refused_in_one_line(task: object, message: str, tmp_path: Path) -> None:
    good = {"X": [[0.5]], "y": [[1]]}
    file = stored(tmp_path / "a.json", {"first": {"good": good}, "svm": {"fine": good, "heart": task}})
    cache = tmp_path / "cache"
    with pytest.raises(DataError, match=message) as caught:
        read_table(file, cache)
    assert str(caught.value).startswith(f"{file}: space 'svm', task 'heart'")
    assert str(caught.value).isprintable()
    assert [path.name for path in cache.iterdir() if path.suffix != ".lock"] == []  # nothing half made stays


def test_missing_and_garbled_files(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "none.json", tmp_path / "cache")
    assert "there is no such file" in refused(tmp_path, tmp_path / "cache")
    file = tmp_path / "a.json"
    text = json.dumps(CONTENT)
    for length in range(0, len(text), 7):
        file.write_text(text[:length])
        refused(file, tmp_path / "cache")


# --- what is kept ----------------------------------------------------------------------------------------------------


def test_the_second_opening_reads_nothing_of_the_json(tmp_path: Path) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    first = read_table(file, cache)
    before = file.stat()
    file.write_bytes(b"x" * before.st_size)  # whoever reads it now fails
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    second = read_table(file, cache)
    assert values(second) == EXPECTED
    assert second.fingerprint == first.fingerprint
    assert others(cache) == []


def test_it_is_converted_again_when_size_or_time_change(tmp_path: Path) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    held = read_table(file, cache)
    before = file.stat()
    # same size, other time
    text = json.dumps(CONTENT).replace("-2.5", "-3.5")
    file.write_text(text)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert len(text) == before.st_size
    changed = read_table(file, cache)
    assert values(changed)["svm", "heart"][1] == [0.1, -3.5, 1e-17]
    assert changed.fingerprint != held.fingerprint
    # same time, other size
    file.write_text(text.replace("-3.5", "-3.25"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    assert values(read_table(file, cache))["svm", "heart"][1] == [0.1, -3.25, 1e-17]
    assert values(held) == EXPECTED  # who has opened it before goes on with what was there
    assert others(cache) == []


def test_another_format_is_converted_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    read_table(file, cache)
    monkeypatch.setattr(columnar, "FORMAT", 2)
    assert values(read_table(file, cache)) == EXPECTED
    assert json.loads((folder_of(cache) / "index.json").read_text())["of"][0] == 2


def test_files_of_one_name_in_two_folders_do_not_meet(tmp_path: Path) -> None:
    for name, response in (("one", 1.0), ("two", 2.0)):
        (tmp_path / name).mkdir()
        stored(tmp_path / name / "a.json", {"s": {"t": {"X": [[0.5]], "y": [response]}}})
    for name, response in (("one", 1.0), ("two", 2.0), ("one", 1.0)):
        table = read_table(tmp_path / name / "a.json", tmp_path / "cache")
        assert table.spaces["s"][0].y.tolist() == [response]


def test_the_fingerprint_is_of_numbers_and_names_only(tmp_path: Path) -> None:
    def fingerprint(name: str, content: object, **style: Any) -> str:
        (tmp_path / name).write_text(json.dumps(content, **style))
        return read_table(tmp_path / name, tmp_path / "cache").fingerprint

    def changed(old: str, new: str) -> object:
        text = json.dumps(CONTENT)
        assert text.count(old) == 1
        return json.loads(text.replace(old, new))

    first = fingerprint("a.json", CONTENT)
    assert fingerprint("b.json", CONTENT) == first
    assert fingerprint("c.json", CONTENT, indent=2) == first
    different = [changed("-2.5", "-2.6"), changed("0.25", "0.26"), changed("iris", "wine"), changed("tree", "free")]
    found = {fingerprint(f"{number}.json", content) for number, content in enumerate(different)}
    assert len(found | {first}) == 5


def test_where_tables_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "headstart" / "tables"
    read_table(stored(tmp_path / "a.json"))
    assert folder_of(cache_folder()).name.startswith("a-")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path.home() / ".cache" / "headstart" / "tables"


# --- in whatever state it is -----------------------------------------------------------------------------------------

FOREIGN = ["", "{", "null", "[]", "7", '"of"', "{}", '{"of": 1}', "[" * 100_000]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_foreign_index_is_made_anew(text: str, tmp_path: Path) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    read_table(file, cache)
    (folder_of(cache) / "index.json").write_text(text)
    assert values(read_table(file, cache)) == EXPECTED
    assert json.loads((folder_of(cache) / "index.json").read_text())["file"] == str(file)


ENTRY = {"space": "s", "columns": 1, "tasks": [["t", 1]]}


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"spaces": []},
        *({"spaces": found, "fingerprint": "f"} for found in (None, 3, "x", [3], [{}], {"a": 1}, [ENTRY] * 3)),
        *({"spaces": [{**ENTRY, "tasks": tasks}], "fingerprint": "f"} for tasks in (None, [], [1], [["t", "1"]])),
        *({"spaces": [{**ENTRY, "columns": columns}], "fingerprint": "f"} for columns in (None, "x", [], 7)),
    ],
)
def test_an_index_of_the_right_moment_with_foreign_content_is_made_anew(
    content: dict[str, object], tmp_path: Path
) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    read_table(file, cache)
    path = folder_of(cache) / "index.json"
    path.write_text(json.dumps({"of": json.loads(path.read_text())["of"], **content}))
    assert values(read_table(file, cache)) == EXPECTED


@pytest.mark.parametrize("name", ["0.x", "0.y", "1.x", "1.y", "index.json"])
@pytest.mark.parametrize("damage", ["gone", "empty", "short", "long", "odd", "folder"])
def test_damaged_files_are_made_anew(name: str, damage: str, tmp_path: Path) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    read_table(file, cache)
    path = folder_of(cache) / name
    content = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "gone":
        path.write_bytes({"empty": b"", "short": content[:-8], "long": content * 2, "odd": content[:-1]}[damage])
    assert values(read_table(file, cache)) == EXPECTED
    assert sorted(path.name for path in folder_of(cache).iterdir()) == ["0.x", "0.y", "1.x", "1.y", "index.json"]
    assert path.read_bytes() == content


def test_a_cache_that_cannot_be_written_is_said_in_one_line(tmp_path: Path) -> None:
    file = stored(tmp_path / "a.json")
    (tmp_path / "taken").write_text("a file")
    for cache in (tmp_path / "taken", tmp_path / "taken" / "below"):
        message = refused(file, cache)
        assert "cannot be kept" in message
        assert "XDG_CACHE_HOME" in message
    # a file where the table should be is somebody's
    read_table(file, tmp_path / "cache")
    folder = folder_of(tmp_path / "cache")
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("mine")
    assert "cannot be kept" in refused(file, tmp_path / "cache")
    assert folder.read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="rights of files do not bind this user")
def test_rights_are_said_in_one_line(tmp_path: Path) -> None:
    file = stored(tmp_path / "a.json")
    (tmp_path / "cache").mkdir(mode=0o500)
    assert "cannot be kept" in refused(file, tmp_path / "cache")
    file.chmod(0)
    assert "cannot be read" in refused(file, tmp_path / "other")


def test_a_full_disk_is_said_in_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(columnar, "_write_spaces", full)
        assert "No space left on device" in refused(file, cache)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    assert values(read_table(file, cache)) == EXPECTED


def test_a_valid_cache_needs_no_right_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    read_table(file, cache)

    def forbidden(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(columnar, "_alone", forbidden)
    monkeypatch.setattr(Path, "mkdir", forbidden)
    assert values(read_table(file, cache)) == EXPECTED


# --- several processes -----------------------------------------------------------------------------------------------

KILLED = """
import os, signal, sys
from pathlib import Path
from headstart.benchmark.suites import columnar
def tasks(file, given=columnar.space_tasks):
    for number, task in enumerate(given(file)):
        if number == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield task
columnar.space_tasks = tasks
columnar.read_table(Path(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_what_a_killed_process_leaves_does_no_harm_and_goes(tmp_path: Path) -> None:
    file, cache = stored(tmp_path / "a.json"), tmp_path / "cache"
    for tasks in ("0", "2"):
        command = [sys.executable, "-c", KILLED, str(file), str(cache), tasks]
        assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert [path.name for path in cache.iterdir() if path.suffix == ".part"] != []
    assert values(read_table(file, cache)) == EXPECTED
    assert others(cache) == []


def _open(file: Path, cache: Path, barrier: Any, results: Any) -> None:
    count = 0
    original = columnar.space_tasks

    def counted(path: Path) -> Any:
        nonlocal count
        count += 1
        return original(path)

    columnar.space_tasks = counted
    barrier.wait()
    results.put((values(read_table(file, cache)), count))


def test_two_processes_at_once_convert_once(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")
    context = multiprocessing.get_context("fork")
    for attempt in range(3):
        file = stored(tmp_path / f"{attempt}.json")
        barrier, results = context.Barrier(4), context.Queue()
        workers = [
            context.Process(target=_open, args=(file, tmp_path / f"cache-{attempt}", barrier, results))
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        found = [results.get(timeout=60) for _ in workers]
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
        assert all(content == EXPECTED for content, _ in found)
        assert sum(count for _, count in found) == 1
        assert others(tmp_path / f"cache-{attempt}") == []
