"""The words of headstart as frozen data: TaskData, MetaDataset, Prediction, Trial, Observation and friends.

Notation: n observations, d encoded columns, k candidates, p features, m meta-features. Inside headstart every response
is *larger is better* and every input row lies in the unit cube; names, ranges and directions end at ``encoding`` and
at the Optimizer.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast

import numpy as np

from headstart.arrays import Array, ArrayLike, frozen
from headstart.encoding import Columns
from headstart.errors import DataError
from headstart.space import Config
from headstart.space.values import shown

State: TypeAlias = Literal["running", "complete", "failed", "abandoned"]
Direction: TypeAlias = Literal["minimize", "maximize"]

UNIT_TOLERANCE = 1e-9
"""How far a row may leave the unit cube by rounding; it is clipped back."""


@dataclass(frozen=True, eq=False)
class TaskData:
    """What is known of one task: rows of the unit cube and their responses, larger is better. ``n`` may be 0."""

    x: Array
    """[n, d] encoded configurations."""
    y: Array
    """[n] responses."""
    columns: Columns | None = None
    """What each column of ``x`` is; plain numbers when None."""
    bounds: tuple[float, float] | None = None
    """Lowest and highest possible response, where somebody knows them."""
    name: str = "task"
    metafeatures: Array | None = None
    """[m] descriptors of the task."""
    features: Array | None = None
    """[n, p] the surrogate's own fixed features of ``x``, where the caller has computed them already."""

    def __post_init__(self) -> None:
        x, y = _matrix(self.x, f"TaskData '{self.name}': x"), _vector(self.y, f"TaskData '{self.name}': y")
        if len(x) != len(y):
            raise DataError(
                f"TaskData '{self.name}': x has {len(x)} rows but y has {len(y)}. Give one value per configuration."
            )
        if x.size and (x.min() < -UNIT_TOLERANCE or x.max() > 1 + UNIT_TOLERANCE):
            raise DataError(
                f"TaskData '{self.name}': x must lie in [0, 1], got values from {x.min():g} to {x.max():g}. "
                "Encode configurations with their Space, or scale the columns."
            )
        columns = Columns.numeric(x.shape[1]) if self.columns is None else self.columns
        if len(columns) != x.shape[1]:
            raise DataError(
                f"TaskData '{self.name}': x has {x.shape[1]} columns, its Columns describe {len(columns)}. "
                "Encode with the Space that the Columns belong to."
            )
        set_ = object.__setattr__
        set_(self, "x", frozen(np.clip(x, 0.0, 1.0)))
        set_(self, "y", frozen(y))
        set_(self, "columns", columns)
        if self.bounds is not None:
            set_(self, "bounds", self._checked_bounds(self.bounds))
        if self.metafeatures is not None:
            set_(self, "metafeatures", frozen(_vector(self.metafeatures, f"TaskData '{self.name}': metafeatures")))
        if self.features is not None:
            features = _matrix(self.features, f"TaskData '{self.name}': features")
            if len(features) != len(x):
                raise DataError(
                    f"TaskData '{self.name}': features has {len(features)} rows but x has {len(x)}. Give one per row."
                )
            set_(self, "features", frozen(features))

    def _checked_bounds(self, bounds: tuple[float, float]) -> tuple[float, float]:
        low, high = float(bounds[0]), float(bounds[1])
        if not (np.isfinite(low) and np.isfinite(high) and low <= high):
            raise DataError(f"TaskData '{self.name}': bounds must be finite and in order, got ({low:g}, {high:g}).")
        if len(self.y) and (self.y.min() < low or self.y.max() > high):
            raise DataError(
                f"TaskData '{self.name}': y runs from {self.y.min():g} to {self.y.max():g}, outside its bounds "
                f"({low:g}, {high:g}). Widen the bounds, or leave them out when the range is not known."
            )
        return low, high

    def __len__(self) -> int:
        return len(self.y)


@dataclass(frozen=True, eq=False)
class MetaDataset:
    """Past tasks of one Space."""

    tasks: tuple[TaskData, ...]
    columns: Columns | None = None
    """What each encoded column is; taken from the first task when None."""
    reference: Array | None = None
    """[k, d] rows that stand for the whole Space (the pool, or a spread-out sample); past rows serve when None."""

    def __post_init__(self) -> None:
        tasks = tuple(self.tasks)
        columns = self.columns
        if columns is None:
            if not tasks:
                raise DataError("MetaDataset: no tasks and no columns. Give at least one of them.")
            columns = tasks[0].columns
        assert columns is not None  # TaskData always sets it
        for task in tasks:
            if task.x.shape[1] != len(columns):
                raise DataError(
                    f"MetaDataset: task '{task.name}' has {task.x.shape[1]} columns, expected {len(columns)} for this "
                    "Space. Encode every task with the same Space."
                )
        object.__setattr__(self, "tasks", tasks)
        object.__setattr__(self, "columns", columns)
        if self.reference is not None:
            reference = _matrix(self.reference, "MetaDataset: reference")
            if reference.shape[1] != len(columns):
                raise DataError(
                    f"MetaDataset: reference has {reference.shape[1]} columns, expected {len(columns)}. "
                    "Encode it with the same Space."
                )
            object.__setattr__(self, "reference", frozen(reference))

    @property
    def informative(self) -> tuple[TaskData, ...]:
        """The tasks with at least two different responses; the others say nothing about what is good."""
        return tuple(task for task in self.tasks if len(task) and task.y.min() < task.y.max())

    def __len__(self) -> int:
        return len(self.tasks)


@dataclass(frozen=True, eq=False)
class Prediction:
    """Mean and standard deviation of the function at k rows, in the posterior's own units."""

    mean: Array
    """[k]"""
    std: Array
    """[k] of the function, without observation noise."""
    noise: float = 0.0
    """Standard deviation of the observation noise."""

    @property
    def noisy_std(self) -> Array:
        """[k] standard deviation of a new observation."""
        return np.hypot(self.std, self.noise)


@dataclass(frozen=True)
class Trial:
    """What ``ask()`` hands out: a number and a Config."""

    number: int
    config: Config
    row: int | None = None
    """Which row of the pool this is, where the Optimizer works on a pool."""
    origin: str = ""
    """Who proposed it: the name of a surrogate, of an initial design, or "added"."""
    told_before: int = 0
    """How many trials had been told when this one was handed out: what its proposer knew."""


@dataclass(frozen=True)
class Observation:
    """A Trial with what came of it, in the user's own direction. ``value`` is None unless the state is complete."""

    trial: Trial
    state: State
    value: float | None = None
    duration: float | None = None
    """Seconds from ask to tell, where known."""
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Whatever the user wants to keep with it (JSON values)."""

    @property
    def config(self) -> Config:
        """The trial's configuration."""
        return self.trial.config

    @property
    def number(self) -> int:
        """The trial's number."""
        return self.trial.number


@dataclass(frozen=True)
class Explanation:
    """Why a configuration was proposed, in words and numbers."""

    summary: str
    weights: tuple[tuple[str, float], ...] = ()
    """Past tasks and how much each weighs, largest first."""
    numbers: Mapping[str, float] = field(default_factory=dict[str, float])
    """Named quantities behind the summary."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What an InitialDesign may propose from."""

    x: Array
    """[k, d] rows that may be proposed: what is left of the pool, or a sample of the Space whose first
    rows cover it evenly."""
    is_pool: bool
    """True: only these rows exist. False: any row; it is decoded through the Space."""


@dataclass(frozen=True)
class Budget:
    """How long pre-training may take. Steps decide by default, which keeps results reproducible."""

    max_steps: int | None = None
    max_seconds: float | None = None


def _matrix(values: ArrayLike, what: str) -> Array:
    array = _floats(values, what)
    if array.ndim != 2:
        raise DataError(f"{what} must have two axes [rows, columns], got shape {array.shape}.")
    return array


def _vector(values: ArrayLike, what: str) -> Array:
    array = _floats(values, what)
    if array.ndim != 1:
        raise DataError(f"{what} must have one axis, got shape {array.shape}.")
    return array


def _floats(values: ArrayLike, what: str) -> Array:
    try:
        array = np.asarray(values, dtype=np.float64)
    except Exception as error:  # foreign objects raise what they like
        raise DataError(f"{what} must be numbers, got {type(values).__name__} that NumPy cannot convert.") from error
    if not np.isfinite(array).all():
        raise DataError(f"{what} contains NaN or infinity. Leave failed trials out; headstart keeps them elsewhere.")
    return array


def best_row(tasks: Sequence[TaskData]) -> Array:
    """Return [t, d]: the best configuration of every task that has any."""
    rows = [task.x[int(np.argmax(task.y))] for task in tasks if len(task)]
    return np.array(rows, dtype=np.float64) if rows else np.empty((0, 0))


def metadata_text(metadata: Mapping[str, Any] | None, what: str) -> str:
    """Return ``metadata`` as JSON; NumPy scalars and arrays become numbers and lists, tuples lists."""
    got = shown(metadata)  # before anything is tried: what is foreign may change, or raise, when it is looked at
    try:
        if metadata is not None and not isinstance(cast("object", metadata), Mapping):
            raise TypeError(f"{type(metadata).__name__} is not a mapping")
        if not all(isinstance(cast("object", key), str) for key in metadata or ()):
            raise TypeError("a key is not a string")
        return json.dumps(dict(metadata or {}), allow_nan=False, default=plain_json)
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"{what}: metadata must map names to JSON values without NaN or infinity, got {got} ({error}). "
            "Convert what is not, or leave it out."
        ) from error


def plain_json(value: object) -> object:
    """Return NumPy's scalars and arrays as numbers and lists; for ``json.dumps(default=)``."""
    if isinstance(value, np.generic | np.ndarray):
        return cast("object", value.tolist())
    raise TypeError(f"{type(value).__name__} is not a JSON value")
