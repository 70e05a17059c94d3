"""Results as HPO-B's repository keeps them: one JSON file per method, ``{space: {task: {seed: [incumbents]}}}``.

Such a file holds the best normalised response so far, entry 0 after the given configurations and entry t after t
trials, so regret = 1 - entry. Files of other people are read as they are: some are not monotone, some have 5 trials
or one seed. Whoever ranks several first asks ``check_same_start``: files of the continuous variant look the same.
"""

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.curves import RunKey
from headstart.benchmark.metrics import DECIMALS
from headstart.errors import DataError
from headstart.space.values import shown
from headstart.whole_files import written_whole

Measures: TypeAlias = Mapping[str, Array]
"""Curves of one run by the names of ``MEASURES``."""
Runs: TypeAlias = Mapping[RunKey, Measures]
"""All runs of one method."""

SAME_START = 1e-6
"""How far first entries may lie apart in one run. Those of the published discrete files agree to 1e-14."""


FORM = "The form is {space: {task: {seed: [incumbents]}}}."


class NotMonotoneWarning(UserWarning):
    """Incumbents of a file fall somewhere, so they are not the best so far."""


# --- reading ---------------------------------------------------------------------------------------------------------


def read_hpob(path: Path, *, running_maximum: bool = True) -> dict[RunKey, dict[str, Array]]:
    """Return the regret curve of every run of the file, to be put beside others by ``side_by_side``.

    Runs shorter than the longest of the file are padded with 1 where they end with 1, the best of the pool: the
    reference driver stops there. Others stay short. Seeds "0" and 0 are "test0", as HPO-B's initial points call it.

    Args:
        path: The file.
        running_maximum: False leaves incumbents that fall as they are, without a warning: older tables of the field
            were made so.

    Raises:
        DataError: It is missing, not JSON, or not of this form; the message names file, space and task.

    Warns:
        NotMonotoneWarning: Incumbents fall in some runs. Their running maximum is taken.
    """
    runs = {key: _incumbents(values, _where(path, key)) for key, values in _entries(path)}
    if not runs:
        raise DataError(f"{path}: there are no runs. {FORM}")
    falling = sum(bool((np.diff(values) < -(10.0**-DECIMALS)).any()) for values in runs.values())
    if falling and not any(bool((np.diff(values) > 0.0).any()) for values in runs.values()):
        raise DataError(f"{path}: the values fall and never rise, like regrets. Store incumbents, 1 - regret.")
    if falling and running_maximum:
        message = f"{path}: in {falling} of {len(runs)} runs the incumbent falls; its running maximum is taken."
        warnings.warn(message, NotMonotoneWarning, stacklevel=2)
    if running_maximum:
        runs = {key: np.maximum.accumulate(values) for key, values in runs.items()}
    longest = max(len(values) for values in runs.values())
    return {key: {"regret": _regret(values, longest)} for key, values in runs.items()}


def _regret(incumbents: Array, longest: int) -> Array:
    missing = longest - len(incumbents) if incumbents[-1] >= 1.0 - 10.0**-DECIMALS else 0
    return 1.0 - np.concatenate([incumbents, np.ones(missing)])


def _entries(path: Path) -> list[tuple[RunKey, object]]:
    """Return what the file holds for each run, whatever that is."""
    found: dict[RunKey, object] = {}
    for space, tasks in _mapping(_content(path), str(path), "spaces").items():
        for task, seeds in _mapping(tasks, f"{path}: space '{space}'", "tasks").items():
            where = f"{path}: space '{space}', task '{task}'"
            for seed, values in _mapping(seeds, where, "seeds").items():
                key = RunKey(space, task, f"test{seed}" if seed.isdecimal() else seed)
                if key in found:
                    raise DataError(f"{where}: seed '{key.seed}' is there twice, as '{seed}' too. Keep one.")
                found[key] = values
    return list(found.items())


def _content(path: Path) -> object:
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError as error:
        raise DataError(f"{path}: there is no such file.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    except (ValueError, RecursionError) as error:
        # ValueError is bad JSON as well as bad UTF-8
        raise DataError(f"{path}: is not JSON ({shown(str(error))}). Fetch or write it again.") from error


def _mapping(value: object, where: str, of: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise DataError(f"{where}: expected a mapping of {of}, got {shown(value)}. {FORM}")
    return cast("dict[str, object]", value)  # JSON has no other keys


def _incumbents(values: object, where: str) -> Array:
    try:
        found = np.asarray(values)
    except ValueError:  # lists of different lengths
        found = np.empty((0, 0))
    if not isinstance(values, list) or found.ndim != 1 or found.dtype.kind not in "fiu" or len(found) == 0:
        raise DataError(f"{where}: expected a list of numbers, got {shown(cast('object', values))}.")
    found = found.astype(np.float64)
    if not (found.min() >= -SAME_START and found.max() <= 1.0 + SAME_START):  # NaN, too
        raise DataError(
            f"{where}: incumbents must lie in [0, 1], got {found.min():g} to {found.max():g}. Normalise them."
        )
    return np.clip(found, 0.0, 1.0)


def _where(path: Path, key: RunKey) -> str:
    return f"{path}: space '{key.space}', task '{key.task}', seed '{key.seed}'"


# --- one protocol ----------------------------------------------------------------------------------------------------


def check_same_start(curves: Mapping[str, Runs], tolerance: float = SAME_START) -> None:
    """Refuse methods that did not start from the same given configurations.

    Before its first trial every method has the same regret in a run, unless it was run under another protocol. The
    continuous variant of HPO-B is such a one, and nothing but its first entries tells its files from discrete ones.

    Args:
        curves: Runs of every method.
        tolerance: How far first entries may lie apart.

    Raises:
        DataError: Two methods differ; the message names the one that fewest others agree with.
    """
    starts = {name: {key: float(run["regret"][0]) for key, run in runs.items()} for name, runs in curves.items()}
    apart: dict[str, dict[str, list[RunKey]]] = {name: {} for name in starts}
    for name, own in starts.items():
        for other, theirs in starts.items():
            differing = [key for key in own if key in theirs and not abs(own[key] - theirs[key]) <= tolerance]
            if differing:
                apart[name][other] = differing
    odd = max(apart, key=lambda name: len(apart[name]), default=None)
    if odd is None or not apart[odd]:
        return
    # of two methods that disagree nobody can say which is odd: the one named later is taken
    odd = [name for name in apart if len(apart[name]) == len(apart[odd])][-1]
    other, differing = next(iter(apart[odd].items()))
    common = sum(key in starts[other] for key in starts[odd])
    key = differing[0]
    raise DataError(
        f"Competitor '{odd}' does not start where '{other}' does in {len(differing)} of {common} common runs (space "
        f"'{key.space}', task '{key.task}', seed '{key.seed}': regret {starts[odd][key]:.4g} against "
        f"{starts[other][key]:.4g} before the first trial). Leave out files of the continuous variant (HPO-B's '-C') "
        "and of other given points."
    )


# --- writing ---------------------------------------------------------------------------------------------------------


def write_hpob(folder: Path, curves: Mapping[str, Runs]) -> list[Path]:
    """Write ``<method>.json`` for every method into ``folder``, which is made, and return the files.

    A file is there in full or not at all; one of that name is replaced.

    Args:
        folder: Where to.
        curves: Runs of every method, as ``side_by_side`` takes them.

    Raises:
        DataError: A method cannot be the name of a file, or has a run without regrets.
    """
    contents = {_file_of(folder, method): _nested(method, runs) for method, runs in curves.items()}
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in contents.items():
        with written_whole(path) as stream:
            stream.write(json.dumps(content).encode())
    return list(contents)


def _file_of(folder: Path, method: str) -> Path:
    if not method or method.startswith(".") or any(sign in method for sign in '/\\:*?"<>|\0'):
        raise DataError(f"Method {shown(method)} cannot be the name of a file. Rename it.")
    return folder / f"{method}.json"


def _nested(method: str, runs: Runs) -> dict[str, dict[str, dict[str, list[float]]]]:
    nested: dict[str, dict[str, dict[str, list[float]]]] = {}
    for key, measures in runs.items():
        regret = measures["regret"]
        known = regret[: int((~np.isnan(regret)).sum())]
        if np.isnan(known).any() or len(known) == 0:  # unknown trials are fine at the end only
            raise DataError(
                f"Method '{method}', space '{key.space}', task '{key.task}', seed '{key.seed}': a regret is unknown. "
                "Export runs that are complete."
            )
        nested.setdefault(key.space, {}).setdefault(key.task, {})[key.seed] = (1.0 - known).tolist()
    return nested
