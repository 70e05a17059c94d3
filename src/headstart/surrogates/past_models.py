"""What a surrogate keeps of past tasks: one model of each task's response, as plain arrays.

Notation: S past tasks, k rows, d columns; g_s(x) in [0, 1] the model of past task s, of its response scaled to [0, 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Array, IntArray, Rng
from headstart.data import TaskData
from headstart.errors import SettingsError
from headstart.numerics.forest import Forest, grow, join, predict_groups
from headstart.numerics.kernels import kernel_matrix
from headstart.numerics.response import AffineScale, minmax
from headstart.protocols import Progress
from headstart.surrogates.gaussian_process import GaussianProcess

PROCESS_ROWS = 256
"""An exact Gaussian process of a past task sees at most this many of its observations."""
BEST_SHARE = 0.1
"""Share of them that is reserved for the best ones."""


@dataclass(frozen=True, eq=False)
class ForestModels:
    """One forest per past task, side by side."""

    forest: Forest
    tasks: int
    """S"""

    def predict(self, x: Array) -> Array:
        """Return g [k, S]."""
        return predict_groups(self.forest, x, self.tasks)


@dataclass(frozen=True, eq=False)
class ProcessModels:
    """The posterior mean of one Matern-5/2 Gaussian process per past task."""

    x: Array
    """[N, d] rows of all tasks, one task after the other."""
    alpha: Array
    """[N] what the kernel is multiplied with, in units of the scaled response."""
    starts: IntArray
    """[S + 1] where each task's rows begin, and N."""
    lengths: Array
    """[S, d]"""
    variance: Array
    """[S]"""
    mean: Array
    """[S] constant means."""

    def predict(self, x: Array) -> Array:
        """Return g [k, S], cut off at 0 and 1."""
        g = np.empty((len(x), len(self.mean)))
        for s, (start, end) in enumerate(zip(self.starts[:-1], self.starts[1:], strict=True)):
            kernel = kernel_matrix("matern52", x, self.x[start:end], self.lengths[s], float(self.variance[s]))
            g[:, s] = self.mean[s] + kernel @ self.alpha[start:end]
        return np.clip(g, 0.0, 1.0, out=g)


def scaled_response(task: TaskData) -> Array:
    """Return the responses of a past task scaled to [0, 1], by its bounds or else by its extremes."""
    return np.clip(minmax(task.y, task.bounds).apply(task.y), 0.0, 1.0)


def grow_forests(tasks: Sequence[TaskData], *, trees: int | None, rng: Rng, progress: Progress | None) -> ForestModels:
    """Return extra-trees of every task: leaves of one observation, no bootstrap, 80 % of the columns per split.

    ``trees`` per task is by default 60 up to 100 tasks, then fewer, down to 10 at 600 and more.
    """
    if trees is None:
        trees = int(np.clip(round(6000 / len(tasks)), 10, 60))
    forests: list[Forest] = []
    for done, task in enumerate(tasks):
        forest = grow(
            task.x,
            scaled_response(task),
            trees=trees,
            rng=rng,
            extremely_random=True,
            bootstrap=False,
            max_features=0.8,
            min_leaf=1,
        )
        forests.append(forest)
        if progress is not None:
            progress(done + 1, len(tasks), f"learned from past task '{task.name}'")
    return ForestModels(join(forests), len(tasks))


def fit_processes(tasks: Sequence[TaskData], *, rng: Rng, progress: Progress | None) -> ProcessModels:
    """Return the plain Gaussian process of every task, on at most ``PROCESS_ROWS`` of its rows."""
    recipe = GaussianProcess(restarts=0)
    rows: list[Array] = []
    alphas: list[Array] = []
    lengths: list[Array] = []
    variances: list[float] = []
    means: list[float] = []
    for done, task in enumerate(tasks):
        y = scaled_response(task)
        kept = _spread_and_best(y, rng)
        posterior = recipe.fit(TaskData(task.x[kept], y[kept]), rng=rng)
        if not isinstance(posterior.scale, AffineScale):
            raise SettingsError("ProcessModels: the response of a past task must be scaled by an offset and a unit.")
        process, scale = posterior.process, posterior.scale
        rows.append(process.x)
        alphas.append(process.alpha * scale.unit)
        lengths.append(process.hyperparameters.lengths)
        variances.append(process.hyperparameters.variance)
        means.append(float(scale.inverse(np.array([process.hyperparameters.mean]))[0]))
        if progress is not None:
            progress(done + 1, len(tasks), f"learned from past task '{task.name}'")
    return ProcessModels(
        x=np.concatenate(rows),
        alpha=np.concatenate(alphas),
        starts=np.cumsum([0, *(len(part) for part in rows)], dtype=np.int64),
        lengths=np.stack(lengths),
        variance=np.array(variances),
        mean=np.array(means),
    )


def _spread_and_best(y: Array, rng: Rng) -> IntArray:
    """Return at most ``PROCESS_ROWS`` places: the best ones and a sample of the rest."""
    if len(y) <= PROCESS_ROWS:
        return np.arange(len(y))
    order = np.argsort(-y, kind="stable")
    best = round(BEST_SHARE * PROCESS_ROWS)
    rest = rng.choice(order[best:], PROCESS_ROWS - best, replace=False)
    return np.sort(np.concatenate([order[:best], rest]))
