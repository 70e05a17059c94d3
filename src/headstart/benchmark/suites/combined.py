"""Several families of one folder as one conditional Space: choosing an algorithm and tuning it together.

A folder of that layout has ``spaces.json``, which describes every space by its parameters (type, range, scale, and
under ``only_if`` the values of other parameters for which one applies) and by its split of the tasks, and for every
space ``runs/<space>.parquet`` with the columns ``task``, one per parameter (empty where it does not apply) and
``score``, larger is better.

The combined Space has a choice "algorithm", and each family's parameters below it: ``family.parameter`` applies where
the algorithm is ``family``. Rows are encoded as a user's are. A task's pool is all that was run of it, family after
family.

**Tasks** are those that all families share. **Split**: a task is a test task if any family says so, else a validation
task if any says so, else a past task. So what is tuned is never learned from, whatever the families disagree on.
"""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from headstart.arrays import Array, IntArray
from headstart.benchmark.parquet import read_columns
from headstart.benchmark.problems import Problem, Suite, SuiteSpace, checked_problem
from headstart.encoding import Encoding
from headstart.errors import ConfigError, DataError, SettingsError, SpaceError
from headstart.space import Config, Space
from headstart.space.values import is_count, plain, shown

NAME = "algorithms"
"""Of the one Space that is made."""
ALGORITHM = "algorithm"
"""The parameter that says which family a configuration is of."""
SPLITS = ("train", "validation", "test")
"""From the weakest claim on a task to the strongest."""
TRIALS = 50

_DESCRIPTION, _RUNS = "spaces.json", "runs"
_GOLDEN = (5.0**0.5 - 1.0) / 2.0

Described: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class _Family:
    """What was run of one family."""

    configs: tuple[Config, ...]
    """The different configurations, of the combined Space, in the order in which the file has them."""
    places: Mapping[str, IntArray]
    """By task: which of ``configs`` were run, in order."""
    scores: Mapping[str, Array]
    """By task: how good they were."""


def is_described_folder(folder: Path) -> bool:
    """Return whether ``folder`` has this layout."""
    return (folder / _DESCRIPTION).is_file() and (folder / _RUNS).is_dir()


def combined_suite(folder: Path, *, families: Collection[str] | None = None, most: int | None = None) -> Suite:
    """Return a suite of one Space made of several families.

    Args:
        folder: Holds ``spaces.json`` and ``runs``.
        families: Names of the spaces to combine; when None, those of the ``source`` that most spaces come from.
        most: How many configurations there are at most; all when None. Of every family the same share is kept, spread
            evenly over its configurations: those numbers i for which the fractional part of i times the golden ratio
            is smallest. Every k-th one would leave out whole values of a grid.

    Raises:
        DataError: A file is missing or wrong; the message names file, space and task.
        SettingsError: A family is unknown, or there are fewer than two.
    """
    if most is not None and not is_count(most, 2):
        raise SettingsError(f"Combined suite: most must be a whole number of at least 2, got {shown(most)}.")
    file = folder / _DESCRIPTION
    described = _read_description(file)
    names = _families(file, described, families)
    space = _combined_space(file, described, names)
    splits = {name: _split(file, name, described[name]) for name in names}
    tasks = _shared_tasks(file, splits)
    known = {name: _read_family(folder / _RUNS / f"{name}.parquet", name, space, tasks) for name in names}
    kept = {name: _kept(len(known[name].configs), _share(known, most)) for name in names}
    encoding = Encoding(space)
    problems = _problems(tasks, known, kept, encoding, folder / _RUNS)
    by_split = {split: tuple(problems[task] for task in tasks if tasks[task] == split) for split in SPLITS}
    made = SuiteSpace(NAME, encoding.columns, by_split["train"], by_split["validation"], by_split["test"])
    digest = hashlib.sha256(json.dumps([space.to_dict(), tasks]).encode())
    for problem in problems.values():
        digest.update(problem.x.tobytes() + problem.y.tobytes())
    name = f"{folder.resolve().name}, {len(names)} families combined"
    return Suite(name, (made,), digest.hexdigest()[:16], given=0, scale="honest", trials=TRIALS)


def combined_split(splits: Collection[str]) -> str:
    """Return what a task is that the families count among ``splits``: the strongest claim holds."""
    return max(splits, key=SPLITS.index)


# ---- spaces.json


def _read_description(file: Path) -> Described:
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise DataError(f"{file}: there is no such file. Name the folder that holds spaces.json and runs.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file}: cannot be read ({error}).") from error
    if not isinstance(found, dict):
        raise DataError(f"{file}: must map names of spaces to descriptions, got {shown(found)}.")
    described = cast("dict[str, Any]", found)
    for name, one in described.items():
        parts = cast("dict[str, Any]", one) if isinstance(one, dict) else {}
        if not (isinstance(parts.get("parameters"), dict) and isinstance(parts.get("split"), dict)):
            raise DataError(f"{file}: space '{name}': must be an object with parameters and split.")
    return described


def _families(file: Path, described: Described, wanted: Collection[str] | None) -> tuple[str, ...]:
    if wanted is None:
        sources = [str(one.get("source", "")) for one in described.values()]
        most = max(sources, key=sources.count, default="")
        wanted = [name for name, source in zip(described, sources, strict=True) if source == most]
    for name in wanted:
        if name not in described:
            raise SettingsError(f"{file}: there is no space {shown(name)}. The spaces are {', '.join(described)}.")
    names = tuple(dict.fromkeys(wanted))
    if len(names) < 2:
        raise SettingsError(
            f"{file}: at least two families are needed to choose among, got {', '.join(names) or 'none'}. "
            f"The spaces are {', '.join(described)}."
        )
    return names


def _combined_space(file: Path, described: Described, names: Sequence[str]) -> Space:
    parameters: dict[str, Any] = {ALGORITHM: {"type": "categorical", "choices": list(names)}}
    for family in names:
        for name, given in described[family]["parameters"].items():
            if not isinstance(given, dict):
                raise DataError(f"{file}: space '{family}', parameter '{name}': must be an object, got {shown(given)}.")
            one = dict(cast("dict[str, Any]", given))
            own = cast("dict[str, Any]", one.pop("only_if", None) or {})
            one["when"] = {ALGORITHM: family, **{_full(family, parent): values for parent, values in own.items()}}
            if _full(family, name) in parameters:
                raise DataError(f"{file}: space '{family}': '{_full(family, name)}' names two parameters. Rename one.")
            parameters[_full(family, name)] = one
    try:
        return Space.from_dict({"parameters": parameters})
    except (SpaceError, AttributeError, TypeError) as error:
        raise DataError(f"{file}: the parameters of {', '.join(names)} make no Space. {error}") from error


def _full(family: str, parameter: str) -> str:
    return f"{family}.{parameter}"


def _split(file: Path, family: str, described: Described) -> dict[str, str]:
    """Return the part that every task of a family belongs to."""
    found: dict[str, str] = {}
    for part, tasks in cast("dict[str, Any]", described["split"]).items():
        if part not in SPLITS or not isinstance(tasks, list):
            raise DataError(
                f"{file}: space '{family}': split must hold lists of tasks under {', '.join(SPLITS)}, "
                f"got {shown(part)}."
            )
        for task in map(str, cast("list[object]", tasks)):
            if task in found:
                raise DataError(f"{file}: space '{family}', task '{task}' is in its split twice. Leave one out.")
            found[task] = part
    return found


def _shared_tasks(file: Path, splits: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the tasks of all families, each with its part."""
    first, *others = splits.values()
    shared = [task for task in first if all(task in one for one in others)]
    tasks = {task: combined_split([one[task] for one in splits.values()]) for task in shared}
    if "test" not in tasks.values():
        raise DataError(
            f"{file}: the families {', '.join(splits)} share {len(tasks)} tasks, none of them a test task. Combine "
            "families that were run on the same tasks."
        )
    return tasks


# ---- runs


def _read_family(file: Path, family: str, space: Space, tasks: Collection[str]) -> _Family:
    columns = read_columns(file)
    names = [name.removeprefix(f"{family}.") for name in space.names if name.startswith(f"{family}.")]
    for needed in ("task", "score", *names):
        if needed not in columns:
            raise DataError(f"{file}: space '{family}' needs the column '{needed}', got {', '.join(columns)}.")
    values = [[_plain_value(value) for value in columns[name].tolist()] for name in names]
    try:
        scores = np.asarray(columns["score"], dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{file}: space '{family}': score must be numbers ({error}).") from error
    rows: dict[str, list[int]] = {task: [] for task in tasks}
    places: dict[str, list[int]] = {task: [] for task in tasks}
    numbers: dict[tuple[object, ...], int] = {}
    configs: list[Config] = []
    for row, (task, key) in enumerate(zip(map(str, columns["task"]), zip(*values, strict=True), strict=True)):
        if task not in rows:
            continue  # not of all families
        if key not in numbers:
            numbers[key] = len(configs)
            configs.append(_config(file, family, task, names, key, space))
        rows[task].append(row)
        places[task].append(numbers[key])
    for task in tasks:
        if not rows[task]:
            raise DataError(
                f"{file}: space '{family}', task '{task}' has no rows, but is in the split. Leave it out there."
            )
        if not np.isfinite(scores[rows[task]]).all():
            raise DataError(
                f"{file}: space '{family}', task '{task}': score contains NaN or infinity. Leave such rows out."
            )
    order = {task: np.argsort(places[task], kind="stable") for task in tasks}
    return _Family(
        tuple(configs),
        {task: np.array(places[task], dtype=np.int64)[order[task]] for task in tasks},
        {task: scores[rows[task]][order[task]] for task in tasks},
    )


def _plain_value(value: object) -> object:
    """Return ``value``, None for what stands for no value."""
    value = plain(value)
    return None if value is None or value != value else value  # NaN differs from itself


def _config(
    file: Path, family: str, task: str, names: Sequence[str], values: tuple[object, ...], space: Space
) -> Config:
    given = {_full(family, name): value for name, value in zip(names, values, strict=True) if value is not None}
    try:
        return space.validate({ALGORITHM: family, **given})
    except ConfigError as error:
        raise DataError(f"{file}: space '{family}', task '{task}': {error}") from error


# ---- pools


def _share(known: Mapping[str, _Family], most: int | None) -> float:
    total = sum(len(one.configs) for one in known.values())
    return 1.0 if most is None else min(1.0, most / total)


def _kept(count: int, share: float) -> IntArray:
    """Return which of ``count`` configurations stay."""
    order = np.argsort((np.arange(count) * _GOLDEN) % 1.0, kind="stable")
    return np.sort(order[: max(1, int(share * count))])


def _problems(
    tasks: Collection[str],
    known: Mapping[str, _Family],
    kept: Mapping[str, IntArray],
    encoding: Encoding,
    where: Path,
) -> dict[str, Problem]:
    """Return the problem of every task; those with the same pool share its rows."""
    x = encoding.encode([config for one in known.values() for config in one.configs])
    pools: dict[bytes, Array] = {}
    found: dict[str, Problem] = {}
    for task in tasks:
        places: list[IntArray] = []
        scores: list[Array] = []
        first = 0
        for name, family in known.items():
            stays = np.isin(family.places[task], kept[name])
            places.append(first + family.places[task][stays])
            scores.append(family.scores[task][stays])
            first += len(family.configs)
        together = np.concatenate(places)
        key = together.tobytes()
        if key not in pools:
            pools[key] = x[together]
            pools[key].setflags(write=False)
        found[task] = checked_problem(Problem(NAME, task, pools[key], np.concatenate(scores)), str(where))
    return found
