"""HPO-B's directory layout: three JSON tables, and a file with the rows that every run is given.

    meta-train-dataset.json             past tasks            {space: {task: {"X": [[...]], "y": [[...]]}}}
    meta-train-dataset-augmented.json   more of them
    meta-validation-dataset.json        tasks to choose settings on
    meta-test-dataset.json              tasks of the tables
    bo-initializations.json             {space: {task: {seed: [rows]}}}

Version 3 has the split. Versions 1 and 2 have none: all tasks of all files are targets, and each is past for the others
(version 1 with the augmented file, which also holds the spaces that version 3 leaves out).
"""

import hashlib
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from headstart.benchmark.problems import Problem, Suite, SuiteSpace
from headstart.benchmark.suites.columnar import Table, read_table
from headstart.benchmark.suites.json_stream import space_tasks
from headstart.encoding import Columns
from headstart.errors import DataError, SettingsError
from headstart.space.values import shown

Version: TypeAlias = Literal["v1", "v2", "v3", "v3-augmented"]

TRAIN, AUGMENTED = "meta-train-dataset.json", "meta-train-dataset-augmented.json"
VALIDATION, TEST = "meta-validation-dataset.json", "meta-test-dataset.json"
INITIAL = "bo-initializations.json"


def is_hpob(folder: Path) -> bool:
    """Return whether ``folder`` has this layout."""
    return (folder / TEST).is_file()


def hpob_suite(folder: Path, *, version: Version = "v3", cache: Path | None = None) -> Suite:
    """Return the suite in ``folder``.

    Args:
        folder: Holds the JSON files.
        version: Which of the files are past, validation and test.
        cache: Where converted tables are kept; the user's cache folder when None.

    Raises:
        DataError: A file is missing or wrong; the message names file, space and task.
    """
    if version not in get_args(Version):
        raise SettingsError(f"HPO-B: version must be one of {', '.join(get_args(Version))}, got {shown(version)}.")
    files = {
        "v3": (TRAIN, VALIDATION, TEST),
        "v3-augmented": (AUGMENTED, VALIDATION, TEST),
        "v2": (TRAIN, VALIDATION, TEST),
        "v1": (AUGMENTED, VALIDATION, TEST),
    }[version]
    tables = {folder / name: read_table(folder / name, cache) for name in files}
    given, stamp = _initial_rows(folder / INITIAL)
    digest = hashlib.sha256("".join([version, stamp, *(table.fingerprint for table in tables.values())]).encode())
    if version.startswith("v3"):
        names = list(tables[folder / TEST].spaces)
    else:
        names = list(dict.fromkeys(name for table in tables.values() for name in table.spaces))
    spaces = [_space(name, tables, folder / INITIAL, given.get(name, {}), version) for name in names]
    return Suite(folder.resolve().name, tuple(spaces), digest.hexdigest()[:16])


def _space(
    name: str, tables: dict[Path, Table], initial: Path, given: dict[str, dict[str, tuple[int, ...]]], version: Version
) -> SuiteSpace:
    problems = {file: table.spaces.get(name, ()) for file, table in tables.items()}
    d = next(some[0].x.shape[1] for some in problems.values() if some)
    for file, some in problems.items():
        for problem in some:
            if problem.x.shape[1] != d:
                raise DataError(
                    f"{file}: space '{name}', task '{problem.name}' has {problem.x.shape[1]} columns, tasks of other "
                    f"files {d}. All tasks of a space must be encoded alike."
                )
    train, validation, test = (
        tuple(_with_rows(initial, problem, given.get(problem.name, {})) for problem in some)
        for some in problems.values()
    )
    columns = Columns.numeric(d)
    if version.startswith("v3"):
        past_file, validation_file, _ = problems
        train = _without(past_file, train, (*validation, *test))
        return SuiteSpace(name, columns, train, _without(validation_file, validation, test), test)
    merged = {problem.name: problem for problem in (*train, *validation, *test)}  # of several files: the same task
    return SuiteSpace(name, columns, (), (), tuple(merged.values()), leave_one_out=True)


def _without(file: Path, tasks: tuple[Problem, ...], targets: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return ``tasks`` without those that are targets as well: nobody may learn from what is to be found."""
    names = {problem.name for problem in targets}
    for problem in tasks:
        if problem.name in names:
            warnings.warn(
                f"{file}: space '{problem.space}', task '{problem.name}' is a target in another file, too. It is left "
                "out of this one, so that no method learns from what it has to find.",
                stacklevel=2,
            )
    return tuple(problem for problem in tasks if problem.name not in names)


def _with_rows(file: Path, problem: Problem, given: dict[str, tuple[int, ...]]) -> Problem:
    for seed, rows in given.items():
        if rows and not (min(rows) >= 0 and max(rows) < len(problem.y) and len(set(rows)) == len(rows)):
            raise DataError(
                f"{file}: space '{problem.space}', task '{problem.name}', seed {shown(seed)}: initial rows must be "
                f"different numbers from 0 to {len(problem.y) - 1}, got {shown(list(rows))}."
            )
    return replace(problem, given=given) if given else problem


def _initial_rows(file: Path) -> tuple[dict[str, dict[str, dict[str, tuple[int, ...]]]], str]:
    """Return the given rows and what they depend on; nothing where the file is missing: rows are then drawn."""
    if not file.exists():
        return {}, ""
    found: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {}
    for space, task, seeds in space_tasks(file):
        if not (isinstance(seeds, dict) and all(_are_rows(rows) for rows in cast("dict[str, Any]", seeds).values())):
            raise DataError(
                f"{file}: space '{space}', task '{task}': must map every seed to a list of whole numbers, got "
                f"{shown(cast('object', seeds))}."
            )
        rows = {seed: tuple(rows) for seed, rows in cast("dict[str, list[int]]", seeds).items()}
        found.setdefault(space, {})[task] = rows
    return found, hashlib.sha256(json.dumps(found).encode()).hexdigest()


def _are_rows(value: object) -> bool:
    return isinstance(value, list) and all(type(row) is int for row in cast("list[object]", value))
