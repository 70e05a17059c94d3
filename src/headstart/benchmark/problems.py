"""The words of a benchmark: Problem, SuiteSpace, Suite. Who evaluates knows nothing of methods.

Notation: N rows of a pool, d encoded columns. Responses are larger is better.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array, IntArray
from headstart.encoding import Columns
from headstart.errors import DataError, SettingsError
from headstart.space import Config, Space
from headstart.space.values import shown

Split: TypeAlias = Literal["validation", "test"]
Scale: TypeAlias = Literal["oracle", "honest"]


@dataclass(frozen=True, eq=False)
class Objective:
    """A function of all configurations of a Space, for the continuous variant of a Problem."""

    space: Space
    evaluate: Callable[[Config], float]
    low: float
    """Its lowest value, or what counts as that."""
    high: float
    """Its highest value, or what counts as that."""


@dataclass(frozen=True, eq=False)
class Problem:
    """One task of a benchmark: a pool of configurations whose responses are known."""

    space: str
    name: str
    x: Array
    """[N, d] rows of the unit cube."""
    y: Array
    """[N] responses, larger is better."""
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """The rows that are evaluated before the first trial, by the name of the seed."""
    metafeatures: Array | None = None
    """[m] descriptors of the task."""
    past_rows: IntArray | None = None
    """The rows that are known of it where it is a past task; all when None."""
    objective: Objective | None = None
    """The function behind the pool, where there is one."""

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest response of the pool."""
        return float(self.y.min()), float(self.y.max())


@dataclass(frozen=True, eq=False)
class SuiteSpace:
    """The problems of one Space."""

    name: str
    columns: Columns
    train: tuple[Problem, ...]
    """Past tasks of every target."""
    validation: tuple[Problem, ...] = ()
    """Targets on which choices are made."""
    test: tuple[Problem, ...] = ()
    """Targets of the tables."""
    leave_one_out: bool = False
    """Whether the other targets of a split are past tasks, too."""

    def targets(self, split: Split) -> tuple[Problem, ...]:
        """Return the problems that are tuned."""
        return self.test if split == "test" else self.validation

    def past_of(self, target: Problem, split: Split) -> tuple[Problem, ...]:
        """Return the past tasks of ``target``: never itself."""
        others = self.targets(split) if self.leave_one_out else ()
        return (*self.train, *(problem for problem in others if problem is not target))


@dataclass(frozen=True, eq=False)
class Suite:
    """Spaces with past tasks and targets, and how it is usual to run them."""

    name: str
    spaces: tuple[SuiteSpace, ...]
    fingerprint: str
    """Changes with anything that results depend on."""
    given: int = 5
    """How many configurations are given before the first trial."""
    scale: Scale = "oracle"
    """Whether methods know the lowest and highest response of a pool."""
    trials: int = 100

    def space(self, name: str) -> SuiteSpace:
        """Return the Space of that name.

        Raises:
            SettingsError: There is none.
        """
        for space in self.spaces:
            if space.name == name:
                return space
        names = ", ".join(space.name for space in self.spaces)
        raise SettingsError(f"Suite '{self.name}': there is no space {shown(name)}. The spaces are {names}.")


def with_held_out(suite: Suite, count: int) -> Suite:
    """Return the suite with ``count`` past tasks of each space, but at most a third, as further validation tasks.

    A split has few validation tasks, and choices made on few are chance. A hash of their names chooses.
    """
    if count == 0:
        return suite
    spaces = tuple(_held_out(space, count) for space in suite.spaces)
    return replace(suite, spaces=spaces, fingerprint=f"{suite.fingerprint}-{count}")


def _held_out(space: SuiteSpace, count: int) -> SuiteSpace:
    by_hash = sorted(space.train, key=lambda one: hashlib.sha256(f"{space.name}\0{one.name}".encode()).digest())
    held = {one.name for one in by_hash[: min(count, len(by_hash) // 3)]}
    train = tuple(one for one in space.train if one.name not in held)
    further = tuple(one for one in space.train if one.name in held)
    return replace(space, train=train, validation=(*space.validation, *further))


def checked_problem(problem: Problem, where: str) -> Problem:
    """Return ``problem``, or say what is wrong with it.

    Args:
        problem: To check.
        where: The file it comes from, for the message.

    Raises:
        DataError: The message names file, space and task.
    """
    what = f"{where}: space '{problem.space}', task '{problem.name}'"
    x, y = problem.x, problem.y
    if not (problem.name and problem.name.isprintable()):  # it stands in tables and in names of files
        raise DataError(f"{where}: task {problem.name!a} has characters that cannot be printed, or none. Rename it.")
    if x.ndim != 2 or y.ndim != 1 or len(x) != len(y):
        raise DataError(f"{what}: X must be [N, d] and y [N], got {x.shape} and {y.shape}.")
    if x.size == 0:
        raise DataError(f"{what}: there are no configurations, got shape {x.shape}. Leave the task out.")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise DataError(f"{what}: X or y contains NaN or infinity. Leave such configurations out.")
    if x.min() < 0.0 or x.max() > 1.0:
        raise DataError(f"{what}: X must lie in [0, 1], got values from {x.min():g} to {x.max():g}. Scale the columns.")
    for seed, rows in problem.given.items():
        if rows and not (min(rows) >= 0 and max(rows) < len(y)):
            raise DataError(f"{what}: the initial rows of seed '{seed}' must lie below {len(y)}, got {list(rows)}.")
    return problem
