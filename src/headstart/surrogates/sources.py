"""The first stage of every ensemble of past tasks: one surrogate per past task, fitted once, answering together.

Notation: S past tasks, k rows, d columns; mu_s(x) what the model of past task s says, in units of that task's scaled
responses. ``features`` [k, S] are all mu_s, or [k, 2 S] all mu_s and then all deviations: all that a suggestion from a
pool needs of the past, computed once per row.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.forest import Forest
from headstart.numerics.gaussian_process import (
    Bounds,
    ConditionedGP,
    Hyperparameters,
    MeanKind,
    Priors,
    condition,
    fit_hyperparameters,
)
from headstart.numerics.kernels import Kernel
from headstart.numerics.response import AffineScale, ResponseKind, fit_scale
from headstart.protocols import Progress
from headstart.space.values import shown
from headstart.surrogates.gaussian_process import check_count, check_positive
from headstart.surrogates.gaussian_process_se import adagrad, rows_per_task
from headstart.surrogates.past_models import PastModels, Subsample, kept_rows, learn_past
from headstart.surrogates.source_processes import Processes, side_by_side

SourceKind: TypeAlias = Literal["gp", "forest"]
Learner: TypeAlias = Literal["adagrad", "lbfgs"]

LARGEST_TASK = 256
"""Rows of a past task that its process may have: its cost grows with their cube."""

_SEED = 1802
_REFERENCE_NOISE = 1e-6


@dataclass(frozen=True, kw_only=True)
class ProcessRecipe:
    """How the Gaussian process of one task is learned: that of a past task, and the target's own."""

    kernel: Kernel = "se"
    learner: Learner = "adagrad"
    """ "adagrad": so many steps from the same start, as in the authors' program of TST. "lbfgs": the optimum."""
    mean: MeanKind = "zero"
    """Responses are not centred where it is "zero"."""
    priors: Priors | None = None
    """None maximises the marginal likelihood."""
    epochs: int = 100
    """Steps of AdaGrad."""
    start_length: float = 0.5
    """Length-scale of every column where AdaGrad starts, from where it does not come far. The authors start at 1 with
    numbers that run from about -1 to 1; half of that is the same in the unit cube. From 1 the hills of the conformance
    suite, 0.2 wide, were smoothed away even after 1,000 steps."""
    noise: tuple[float, float] = (1e-4, 10.0)
    """Smallest and largest noise variance that L-BFGS may choose."""
    restarts: int = 0
    """Random starts of L-BFGS besides the default one, for the target; past tasks have none."""

    def __post_init__(self) -> None:
        check_choice("ProcessRecipe", "kernel", self.kernel, get_args(Kernel))
        check_choice("ProcessRecipe", "learner", self.learner, get_args(Learner))
        if self.learner == "adagrad" and (self.kernel != "se" or self.mean != "zero" or self.priors is not None):
            raise SettingsError(
                "ProcessRecipe: 'adagrad' knows the squared-exponential kernel with mean 'zero' and without priors "
                "only. Use 'lbfgs' for others."
            )
        check_count("ProcessRecipe", "epochs", self.epochs, 0)
        check_count("ProcessRecipe", "restarts", self.restarts, 0)
        check_positive("ProcessRecipe", "start_length", self.start_length)
        for bound in self.noise:
            check_positive("ProcessRecipe", "noise", bound)
        if self.noise[0] > self.noise[1]:
            raise SettingsError(f"ProcessRecipe: noise must be in order, got {shown(self.noise)}.")

    def learn(self, x: Array, z: Array, *, rng: Rng) -> Hyperparameters:
        """Return hyperparameters for rows ``x`` [n, d] with scaled responses ``z`` [n]."""
        if self.learner == "adagrad":
            start = Hyperparameters(self.start_length * np.ones(x.shape[1]), variance=1.0, noise=_REFERENCE_NOISE)
            return adagrad([(x, z)], start, epochs=self.epochs) if len(z) else start
        return fit_hyperparameters(
            x,
            z,
            kind=self.kernel,
            priors=self.priors,
            mean=self.mean,
            restarts=self.restarts,
            rng=rng,
            bounds=Bounds(lengths=(0.01, 100.0), variance=(1e-4, 1e4), noise=self.noise),
        )

    def fit(self, x: Array, z: Array, *, rng: Rng) -> ConditionedGP:
        """Return the process given all of its rows."""
        return condition(x, z, self.learn(x, z, rng=rng), kind=self.kernel)


@dataclass(frozen=True, eq=False)
class Sources:
    """What ``pretrain`` keeps of the past."""

    names: tuple[str, ...]
    """Past tasks, in the order of their models."""
    columns: int
    """d"""
    processes: Processes | None
    forest: Forest | None
    """As many trees for every task, side by side, where there are no processes."""
    offset: Array
    """[S] where the forests' 0 lies in scaled responses."""
    unit: Array
    """[S] and what their 1 is worth."""
    metafeatures: Array
    """[S, m] descriptors; no columns where the method does not look at them."""

    def __len__(self) -> int:
        return len(self.names)

    def only(self, places: Sequence[int]) -> "Sources":
        """Return the past tasks at ``places`` for callers that hand in their features: without models."""
        some = np.array(places, dtype=np.int64)
        names = tuple(self.names[int(place)] for place in some)
        return Sources(names, self.columns, None, None, self.offset[some], self.unit[some], self.metafeatures[some])

    def means(self, x: Array) -> Array:
        """Return mu [k, S]."""
        self.check_rows(x)
        if self.processes is not None:
            return self.processes.means(x)
        return self.offset + self.unit * PastModels(len(self), self.forest, None).predict(x)

    def features(self, x: Array, *, deviations: bool) -> Array:
        """Return mu [k, S] or, with ``deviations``, mu and then all deviations [k, 2 S]."""
        if not deviations:
            return self.means(x)
        self.check_rows(x)
        means, variances = self.known_processes.moments(x)
        return np.concatenate([means, np.sqrt(variances)], axis=1)

    @property
    def known_processes(self) -> Processes:
        """The processes, for methods that need deviations; their settings refuse forests."""
        if self.processes is None:
            raise SettingsError("Sources: a forest has no deviations. Use source='gp'.")
        return self.processes

    def check_rows(self, x: Array, owner: str = "Surrogate") -> None:
        """Refuse rows of another Space."""
        if x.ndim != 2 or x.shape[1] != self.columns:
            raise DataError(
                f"{owner}: x must be rows of {self.columns} columns like those of the past tasks, got shape {x.shape}. "
                "Encode with the same Space."
            )

    def features_or(self, features: Array | None, x: Array, owner: str, *, deviations: bool = False) -> Array:
        """Return ``features`` if they can be those of rows ``x``, or compute them."""
        self.check_rows(x, owner)
        if features is None:
            return self.features(x, deviations=deviations)
        expected = (len(x), len(self) * (2 if deviations else 1))
        if features.shape != expected:
            raise DataError(
                f"{owner}: features must have the shape {expected}, got {features.shape}. "
                "Compute them with this surrogate's features()."
            )
        return features


def learn_sources(
    tasks: Sequence[TaskData],
    *,
    source: SourceKind,
    response: ResponseKind,
    recipe: ProcessRecipe,
    subsample: Subsample = "uniform",
    trees: int | None = None,
    keep_factors: bool = False,
    rng: Rng,
    progress: Progress | None = None,
) -> Sources:
    """Return one model per task, each of that task's own scaled responses.

    A process has at most 256 rows of its task, drawn by a generator of the task's own, so that a task's model does not
    depend on the others. Up to 60 tasks its kernel is learned from at most 128 of them, of more from fewer (50 at
    1,000), which keeps the work of a thousand tasks near that of two hundred. With ``keep_factors`` the rows, too, are
    fewer beyond 60 tasks (100 at 1,000).

    Args:
        tasks: Past tasks with at least two different responses each.
        source: What models a task.
        response: How its responses are scaled.
        recipe: How a process is learned.
        subsample: Which rows of a large task are kept: drawn uniformly, or the best tenth and the rest drawn.
        trees: Per task, of forests.
        keep_factors: For methods that need covariances at every suggestion.
        rng: For whatever else is drawn.
        progress: Called after every task.
    """
    scales = [fit_scale(response, task.y, task.bounds) for task in tasks]
    scaled = [scale.apply(task.y) for scale, task in zip(scales, tasks, strict=True)]
    names, columns, none = tuple(task.name for task in tasks), tasks[0].x.shape[1], np.empty((len(tasks), 0))
    if source == "forest":
        plain = [TaskData(task.x, z, task.columns, name=task.name) for task, z in zip(tasks, scaled, strict=True)]
        forest = learn_past(plain, "forest", trees=trees, rng=rng, progress=progress).forest
        offset = np.array([z.min() for z in scaled])
        return Sources(names, columns, None, forest, offset, np.array([np.ptp(z) for z in scaled]), none)
    one_start = replace(recipe, restarts=0)
    per_task = rows_per_task(len(tasks))
    most, learning = per_task if keep_factors else LARGEST_TASK, max(16, per_task // 2)
    parts: list[tuple[ConditionedGP, AffineScale]] = []
    for done, (task, z) in enumerate(zip(tasks, scaled, strict=True)):
        own = np.random.default_rng([_SEED, zlib.crc32(task.name.encode()), len(z)])
        kept = kept_rows(z, most, subsample, own)
        x, z = task.x[kept], z[kept]
        few = np.arange(len(z)) if len(z) <= learning else np.sort(own.choice(len(z), learning, replace=False))
        hyperparameters = one_start.learn(x[few], z[few], rng=rng)
        parts.append((condition(x, z, hyperparameters, kind=recipe.kernel), AffineScale()))
        if progress is not None:
            progress(done + 1, len(tasks), f"learned from past task '{task.name}'")
    processes = side_by_side(parts, keep_factors=keep_factors)
    return Sources(names, columns, processes, None, np.zeros(len(tasks)), np.ones(len(tasks)), none)


def with_metafeatures(sources: Sources, tasks: Sequence[TaskData]) -> Sources:
    """Return the sources with the descriptors of their tasks, which all have some."""
    described = [task.metafeatures for task in tasks if task.metafeatures is not None]
    return replace(sources, metafeatures=np.stack(described))


def in_own_order(data: TaskData) -> TaskData:
    """Return the same observations sorted, so that neither rounding nor draws depend on the order they came in."""
    order = np.lexsort((*data.x.T, data.y))
    features = None if data.features is None else data.features[order]
    return replace(data, x=data.x[order], y=data.y[order], features=features)


def check_source(owner: str, source: str, subsample: str, trees: int | None) -> None:
    """Refuse unknown kinds of source models."""
    check_choice(owner, "source", source, get_args(SourceKind))
    check_choice(owner, "subsample", subsample, get_args(Subsample))
    if trees is not None:
        check_count(owner, "trees", trees, 1)


def check_choice(owner: str, setting: str, value: str, choices: Sequence[str]) -> None:
    """Refuse a value that is none of ``choices``."""
    if value not in choices:
        raise SettingsError(f"{owner}: {setting} must be one of {', '.join(map(repr, choices))}, got {shown(value)}.")
