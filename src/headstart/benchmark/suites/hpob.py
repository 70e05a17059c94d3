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
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from headstart.benchmark.problems import Problem, Suite, SuiteSpace
from headstart.benchmark.suites.columnar import Table, read_table
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
    tables = [read_table(folder / name, cache) for name in files]
    given, stamp = _initial_rows(folder / INITIAL)
    digest = hashlib.sha256("".join([version, stamp, *(table.fingerprint for table in tables)]).encode())
    names = list(dict.fromkeys(name for table in tables for name in table.spaces))
    if version.startswith("v3"):
        names = [name for name in tables[2].spaces if name in set(names)]
    spaces = [_space(folder, name, tables, given.get(name, {}), version) for name in names]
    return Suite(folder.resolve().name, tuple(spaces), digest.hexdigest()[:16])


def _space(
    folder: Path, name: str, tables: list[Table], given: dict[str, dict[str, list[int]]], version: Version
) -> SuiteSpace:
    train, validation, test = (
        tuple(_with_rows(folder, problem, given.get(problem.name, {})) for problem in table.spaces.get(name, ()))
        for table in tables
    )
    everything = (*train, *validation, *test)
    columns = Columns.numeric(everything[0].x.shape[1])
    for problem in everything:
        if problem.x.shape[1] != len(columns):
            raise DataError(
                f"{folder}: space '{name}', task '{problem.name}' has {problem.x.shape[1]} columns, others have "
                f"{len(columns)}. All tasks of a space must be encoded alike."
            )
    if version.startswith("v3"):
        return SuiteSpace(name, columns, train, validation, test)
    merged = {problem.name: problem for problem in everything}  # a task of several files is the same task
    return SuiteSpace(name, columns, (), (), tuple(merged.values()), leave_one_out=True)


def _with_rows(folder: Path, problem: Problem, given: dict[str, list[int]]) -> Problem:
    if not given:
        return problem
    rows = {seed: tuple(int(row) for row in chosen) for seed, chosen in given.items()}
    for seed, chosen in rows.items():
        if chosen and not (min(chosen) >= 0 and max(chosen) < len(problem.y)):
            raise DataError(
                f"{folder / INITIAL}: space '{problem.space}', task '{problem.name}', seed '{seed}': rows must lie "
                f"below {len(problem.y)}, got {list(chosen)}."
            )
    return replace(problem, given=rows)


def _initial_rows(file: Path) -> tuple[dict[str, dict[str, dict[str, list[int]]]], str]:
    """Return the given rows and what they depend on; nothing where the file is missing: rows are then drawn."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read ({error}).") from error
    try:
        found: Any = json.loads(text)
        for space, tasks in found.items():
            for task, seeds in tasks.items():
                for seed, rows in seeds.items():
                    if not (isinstance(rows, list) and all(type(row) is int for row in cast("list[Any]", rows))):
                        raise DataError(
                            f"{file}: space '{space}', task '{task}', seed '{seed}': rows must be whole numbers."
                        )
    except (ValueError, AttributeError) as error:
        raise DataError(f"{file}: must be {{space: {{task: {{seed: [rows]}}}}}} ({error}).") from error
    return found, hashlib.sha256(text.encode()).hexdigest()
