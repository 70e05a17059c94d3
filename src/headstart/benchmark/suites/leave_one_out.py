"""Folders of complete grids, one data set left out at a time: the protocol of LI and TST (Wistuba et al.).

Two layouts are read. Parquet: ``<space>.parquet`` with the columns ``task``, one per hyperparameter and ``score``, and
beside it, where there are descriptors, ``<space>_metafeatures.csv`` with ``task`` and one column each. Text, as the
authors published it: one file per data set, one configuration per line, its accuracy first, then the hyperparameters,
then the descriptors, which are the columns that never change within a file.

Columns are scaled to [0, 1] over the whole grid. Of a past task only a coarse grid is known: a configuration is kept
if in every column its value is 0 ("does not apply") or its rank among the column's distinct values, from 0, leaves the
remainder 1 when divided by 3.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headstart.arrays import Array, BoolArray
from headstart.benchmark.parquet import read_columns
from headstart.benchmark.problems import Problem, Suite, SuiteSpace, checked_problem
from headstart.encoding import Columns
from headstart.errors import DataError
from headstart.space.values import shown

TRIALS = 70
"""As many as the authors' program was run for."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """The data of one space, as they stand in the files."""

    name: str
    where: Path
    x: Mapping[str, Array]
    """[N, d] hyperparameters by task."""
    y: Mapping[str, Array]
    metafeatures: Mapping[str, Array]


def is_parquet_folder(folder: Path) -> bool:
    """Return whether ``folder`` holds tables of grids."""
    return any(folder.glob("*.parquet"))


def is_text_folder(folder: Path) -> bool:
    """Return whether ``folder`` holds one text file of numbers per data set."""
    files = [file for file in sorted(folder.iterdir()) if file.is_file() and not file.name.startswith(".")]
    if not files:
        return False
    try:
        with files[0].open(encoding="utf-8") as stream:
            words = stream.readline().split()
        return len([float(word) for word in words]) > 1
    except (OSError, ValueError):  # or UnicodeDecodeError, which is one
        return False


def leave_one_out_suite(folder: Path) -> Suite:
    """Return the suite in ``folder``: every task is a target, and all others are its past.

    Raises:
        DataError: A file is wrong; the message names file, space and task.
    """
    if is_parquet_folder(folder):
        grids = [_read_parquet(file) for file in sorted(folder.glob("*.parquet"))]
    else:
        grids = [_read_text(folder)]
    spaces = tuple(_space(grid) for grid in grids)
    digest = hashlib.sha256()
    for space in spaces:
        for problem in space.test:
            digest.update(f"{space.name}\0{problem.name}\0{problem.x.shape}".encode())
            digest.update(problem.x.tobytes() + problem.y.tobytes())
            digest.update(b"" if problem.metafeatures is None else problem.metafeatures.tobytes())
            digest.update(b"" if problem.past_rows is None else problem.past_rows.tobytes())
    return Suite(folder.resolve().name, spaces, digest.hexdigest()[:16], given=0, scale="honest", trials=TRIALS)


def coarse_grid(x: Array) -> BoolArray:
    """Return [N]: which rows of unscaled hyperparameters ``x`` [N, d] belong to the coarse grid."""
    kept = np.ones(len(x), dtype=np.bool_)
    for column in x.T:
        _, rank = np.unique(column, return_inverse=True)
        kept &= (column == 0.0) | (rank.reshape(-1) % 3 == 1)
    return kept


def _space(grid: _Grid) -> SuiteSpace:
    for task, x in grid.x.items():  # before one task's NaN spreads to all by scaling
        if not np.isfinite(x).all():
            raise DataError(
                f"{grid.where}: space '{grid.name}', task '{task}': hyperparameters contain NaN or infinity. Leave "
                "such configurations out."
            )
    together = np.concatenate(list(grid.x.values()))
    low, high = together.min(axis=0), together.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    problems: list[Problem] = []
    for task, x in grid.x.items():
        coarse = np.flatnonzero(coarse_grid(x))
        if len(coarse) == 0:  # too few distinct values to thin out
            coarse = np.arange(len(x))
        problem = Problem(
            grid.name,
            task,
            (x - low) / width,
            grid.y[task],
            metafeatures=grid.metafeatures.get(task),
            past_rows=coarse,
        )
        problems.append(checked_problem(problem, str(grid.where)))
    return SuiteSpace(grid.name, Columns.numeric(together.shape[1]), (), (), tuple(problems), leave_one_out=True)


def _read_parquet(file: Path) -> _Grid:
    columns = read_columns(file)
    missing = {"task", "score"} - set(columns)
    if missing or len(columns) < 3:
        raise DataError(f"{file}: needs the columns task, score and one per hyperparameter, got {', '.join(columns)}.")
    names = np.array([str(task) for task in columns["task"]])
    inputs = [name for name in columns if name not in ("task", "score")]
    try:
        x = np.stack([np.asarray(columns[name], dtype=np.float64) for name in inputs], axis=1)
        y = np.asarray(columns["score"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{file}: hyperparameters and score must be numbers ({error}).") from error
    tasks = list(dict.fromkeys(names.tolist()))
    if not tasks:
        raise DataError(f"{file}: there are no rows. Leave the file out.")
    described = _read_metafeatures(file.with_name(f"{file.stem}_metafeatures.csv"), tasks)
    rows = {task: names == task for task in tasks}
    return _Grid(file.stem, file, {t: x[rows[t]] for t in tasks}, {t: y[rows[t]] for t in tasks}, described)


def _read_metafeatures(file: Path, tasks: Sequence[str]) -> dict[str, Array]:
    """Return the descriptors by task; nothing where there is no such file."""
    import csv

    if not file.is_file():
        return {}
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            lines = list(csv.DictReader(stream))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{file}: cannot be read ({error}).") from error
    found: dict[str, Array] = {}
    for line in lines:
        task = line.pop("task", None)
        if task is None:
            raise DataError(f"{file}: needs a column task.")
        if task in found:
            raise DataError(f"{file}: task {shown(task)} is there twice. Leave one line out.")
        try:
            found[task] = np.array([float(value) for value in line.values()])
        except (TypeError, ValueError) as error:
            raise DataError(f"{file}: task {shown(task)}: descriptors must be numbers ({error}).") from error
        if not np.isfinite(found[task]).all():
            raise DataError(f"{file}: task {shown(task)}: descriptors must be finite. Leave the column out.")
    for task in tasks:
        if task not in found:
            raise DataError(f"{file}: there is no line for task {shown(task)}. Describe all tasks, or none.")
    return found


def _read_text(folder: Path) -> _Grid:
    tables: dict[str, Array] = {}
    for file in sorted(folder.iterdir()):
        if file.is_file() and not file.name.startswith("."):
            tables[file.name] = _read_numbers(file)
    widths = {file: len(table.T) for file, table in tables.items()}
    usual = next(iter(widths.values()))
    for file, width in widths.items():
        if width != usual:
            raise DataError(
                f"{folder / file}: has {width} columns, the files before it {usual}. All files must be made alike."
            )
    constant = np.all([(table == table[0]).all(axis=0) for table in tables.values()], axis=0)
    constant[0] = False  # the accuracy
    inputs = ~constant
    inputs[0] = False
    return _Grid(
        folder.resolve().name,
        folder,
        {task: table[:, inputs] for task, table in tables.items()},
        {task: table[:, 0] for task, table in tables.items()},
        {task: table[0, constant] for task, table in tables.items()} if constant.any() else {},
    )


def _read_numbers(file: Path) -> Array:
    """Return [rows, columns] of a text file."""
    try:
        lines = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
        table = np.array([words for words in lines if words], dtype=np.float64)
    except (OSError, ValueError) as error:
        raise DataError(f"{file}: must hold as many numbers in every line ({error}).") from error
    if table.size == 0:
        raise DataError(f"{file}: there are no configurations. Leave the file out.")
    return table
