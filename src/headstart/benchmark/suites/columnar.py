"""The columnar cache: JSON tables of gigabytes are converted once and mapped into memory from then on.

One folder per JSON file: ``<k>.x`` and ``<k>.y`` hold the rows of all tasks of the k-th space, one after the other, as
little-endian float64; ``index.json`` says what lies where, and how large and how old the JSON file was. Readers need no
lock: the folder is put in its place whole. Who converts holds a lock, so that others wait instead of doing the same
work, and so that what lies half written beside the folder is known to be nobody's.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Array
from headstart.benchmark.problems import Problem, checked_problem
from headstart.benchmark.suites.json_stream import space_tasks
from headstart.data import UNIT_TOLERANCE
from headstart.errors import DataError

FORMAT = 1
"""Of the cache; another one is made anew."""


@dataclass(frozen=True)
class Table:
    """What one JSON file holds."""

    spaces: dict[str, tuple[Problem, ...]]
    fingerprint: str
    """Of the numbers and names."""


def cache_folder() -> Path:
    """Return where converted tables are kept: below XDG_CACHE_HOME, or else ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "headstart" / "tables"


def read_table(file: Path, cache: Path | None = None) -> Table:
    """Return the tasks of a JSON table, converted when it is new or has changed.

    Args:
        file: {space: {task: {"X": [[...]], "y": [[...]]}}}
        cache: The folder of all converted tables; the user's cache folder when None.

    Raises:
        DataError: The file is not there, or is not such a table; the message names file, space and task.
    """
    if not file.is_file():
        raise DataError(f"{file}: there is no such file. Name the folder that holds the benchmark's files.")
    base = cache_folder() if cache is None else cache
    key = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]
    folder = base / f"{file.stem}-{key}"
    found = _converted(folder, _stamp(file))
    if found is not None:
        return found
    try:
        base.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f".{folder.name}.lock")):
            found = _converted(folder, _stamp(file))  # by somebody else, meanwhile
            return _convert(file, folder) if found is None else found
    except OSError as error:
        raise DataError(
            f"{file}: the converted table cannot be kept in {base} ({error}). Make room there, or set "
            "XDG_CACHE_HOME to a folder that can be written to."
        ) from error


def _stamp(file: Path) -> list[int]:
    found = file.stat()
    return [FORMAT, found.st_size, found.st_mtime_ns]


@contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Wait until nobody else is here. The system opens the lock however a process ends."""
    try:
        import fcntl
    except ImportError:  # Windows: two processes that convert at once may disturb each other
        yield
        return
    with lock.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _converted(folder: Path, stamp: list[int]) -> Table | None:
    """Return the table in ``folder``; None where it is of another file or moment, incomplete, or something else."""
    try:
        index: Any = json.loads((folder / "index.json").read_text(encoding="utf-8"))
        if index["of"] != stamp:
            return None
        spaces = {
            str(entry["space"]): tuple(_mapped(folder, place, entry)) for place, entry in enumerate(index["spaces"])
        }
        return Table(spaces, str(index["fingerprint"]))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _mapped(folder: Path, place: int, entry: dict[str, Any]) -> Iterator[Problem]:
    """Yield the tasks of a space as views of mapped files: nothing is read before it is used."""
    total, d = sum(rows for _, rows in entry["tasks"]), int(entry["columns"])
    # reshape refuses a file of another length; plain arrays, since the class of maps slows small ones down
    x = np.memmap(folder / f"{place}.x", dtype="<f8", mode="r").reshape(total, d).view(np.ndarray)
    y = np.memmap(folder / f"{place}.y", dtype="<f8", mode="r").reshape(total).view(np.ndarray)
    first = 0
    for name, rows in entry["tasks"]:
        yield Problem(str(entry["space"]), str(name), x[first : first + rows], y[first : first + rows])
        first += rows


def _convert(file: Path, folder: Path) -> Table:
    """Write the table beside its place, put it there in one step, and return it."""
    made = folder.with_name(f".{folder.name}.part")
    shutil.rmtree(made, ignore_errors=True)  # of somebody who was killed
    made.mkdir()
    try:
        stamp = _stamp(file)  # before reading: a file that changes meanwhile is converted again next time
        spaces, fingerprint = _write_spaces(file, made)
        index = {"of": stamp, "file": str(file), "fingerprint": fingerprint, "spaces": spaces}
        (made / "index.json").write_text(json.dumps(index), encoding="utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    found = _converted(folder, stamp)
    if found is None:
        raise OSError("what was written there is not what is read")
    return found


def _write_spaces(file: Path, folder: Path) -> tuple[list[dict[str, Any]], str]:
    spaces: list[dict[str, Any]] = []
    digest = hashlib.sha256()
    with ExitStack() as stack:
        streams: tuple[BinaryIO, BinaryIO] | None = None
        for space, task, value in space_tasks(file):
            problem = _problem(file, space, task, value)
            if not spaces or spaces[-1]["space"] != space:
                stack.close()
                place = len(spaces)
                streams = (
                    stack.enter_context((folder / f"{place}.x").open("wb")),
                    stack.enter_context((folder / f"{place}.y").open("wb")),
                )
                spaces.append({"space": space, "columns": problem.x.shape[1], "tasks": []})
            if problem.x.shape[1] != spaces[-1]["columns"]:
                raise DataError(
                    f"{file}: space '{space}', task '{task}' has {problem.x.shape[1]} columns, the tasks before it "
                    f"{spaces[-1]['columns']}. All tasks of a space must be encoded alike."
                )
            spaces[-1]["tasks"].append([task, len(problem.y)])
            digest.update(json.dumps([space, task, *problem.x.shape]).encode())
            for stream, values in zip(cast("tuple[BinaryIO, BinaryIO]", streams), (problem.x, problem.y), strict=True):
                content = np.ascontiguousarray(values, dtype="<f8").tobytes()
                digest.update(content)
                stream.write(content)
    return spaces, digest.hexdigest()


def _problem(file: Path, space: str, task: str, value: Any) -> Problem:
    """Return the checked task."""
    what = f"{file}: space '{space}', task '{task}'"
    if not (isinstance(value, dict) and {"X", "y"} <= set(cast("dict[str, Any]", value))):
        raise DataError(f"{what}: must be an object with X and y.")
    found = cast("dict[str, Any]", value)
    try:
        x, y = (_numbers(found[name]) for name in ("X", "y"))
    except (TypeError, ValueError) as error:
        raise DataError(f"{what}: X and y must hold numbers, as many in every row ({error}).") from error
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]  # the official files hold one-element lists
    x = np.where((x > -UNIT_TOLERANCE) & (x < 1 + UNIT_TOLERANCE), np.clip(x, 0.0, 1.0), x) if x.ndim == 2 else x
    return checked_problem(Problem(space, task, x, y), str(file))


def _numbers(values: Any) -> Array:
    array: NDArray[Any] = np.array(values)
    if array.dtype.kind not in "fiu":  # words like "0.5" would be taken for numbers, and null for NaN
        raise TypeError("there is something else")
    return array.astype(np.float64)
