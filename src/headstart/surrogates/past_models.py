"""What a surrogate keeps of past tasks: one model of each task's response, as plain arrays.

Notation: S past tasks, k rows, d columns; g_s(x) in [0, 1] the model of past task s, of its response scaled to [0, 1].
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array, IntArray, Rng
from headstart.data import TaskData
from headstart.numerics.forest import Forest, grow, join, predict_groups
from headstart.numerics.gaussian_process import ConditionedGP
from headstart.numerics.response import AffineScale, minmax, standardise
from headstart.protocols import Progress
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.source_processes import Processes, side_by_side

Source: TypeAlias = Literal["forest", "gp", "both"]
"""What models a past task: extra-trees, which return what was observed; a Gaussian process, which is smooth; or the
process with trees for what it leaves unexplained."""

Subsample: TypeAlias = Literal["uniform", "best"]
"""Which rows of a large past task are kept."""

COINCIDING_SHARE = 0.5
"""From this share of the Space on that past tasks were evaluated at, what was observed counts more than smoothness."""
PROCESS_ROWS = 128
"""A Gaussian process of a past task sees at most this many of its observations."""
BEST_SHARE = 0.1
"""Share of the rows kept of a large task that is reserved for the best ones, where they are."""

_SAME_ROW = 1e-9


@dataclass(frozen=True, eq=False)
class PastModels:
    """One model per past task: the sum of the parts that are there."""

    tasks: int
    """S"""
    forest: Forest | None
    """As many trees for every task, side by side."""
    processes: Processes | None

    def predict(self, x: Array) -> Array:
        """Return g [k, S]."""
        g = np.zeros((len(x), self.tasks)) if self.forest is None else predict_groups(self.forest, x, self.tasks)
        if self.processes is not None:
            for s in range(self.tasks):
                g[:, s] += self.processes.predict(x, s)
            np.clip(g, 0.0, 1.0, out=g)
        return g


def learn_past(
    tasks: Sequence[TaskData], source: Source, *, trees: int | None, rng: Rng, progress: Progress | None
) -> PastModels:
    """Return models of every task.

    Trees have leaves of one observation, no bootstrap and try 80 % of the columns per split; ``trees`` per task is by
    default 60 up to 100 tasks, then fewer, down to 10 at 600 and more.
    """
    if trees is None:
        trees = int(np.clip(round(6000 / len(tasks)), 10, 60))
    processes: list[tuple[ConditionedGP, AffineScale]] = []
    forests: list[Forest] = []
    for done, task in enumerate(tasks):
        y = scaled_response(task)
        if source != "forest":
            process, scale = _fit_process(task, y, rng)
            processes.append((process, scale))
            y = y - scale.inverse(process.predict(task.x)[0])
        if source != "gp":
            forest = grow(
                task.x,
                y,
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
    return PastModels(len(tasks), join(forests) if forests else None, side_by_side(processes) if processes else None)


def best_source(tasks: Sequence[TaskData], rows: Array) -> Source:
    """Return "gp" for short past tasks that were not evaluated at ``rows`` [k, d], which stand for the Space.

    On a pool that all tasks share, trees repeat what was observed, and any smoothing loses. Between observations trees
    are rough: with 40 or 100 random rows of its own per task a Gaussian process was the better source from the tenth
    trial on, with 250 no longer.
    """
    keys = [np.ascontiguousarray(np.round(x / _SAME_ROW).astype(np.int64)) for x in (rows, *(task.x for task in tasks))]
    whole = [key.view(np.dtype((np.void, key.dtype.itemsize * key.shape[1]))).ravel() for key in keys]
    share = float(np.mean([np.isin(whole[0], of_task).mean() for of_task in whole[1:]]))
    is_short = float(np.median([len(task) for task in tasks])) <= PROCESS_ROWS
    return "gp" if is_short and share < COINCIDING_SHARE else "forest"


def scaled_response(task: TaskData) -> Array:
    """Return the responses of a past task scaled to [0, 1], by its bounds or else by its extremes."""
    return np.clip(minmax(task.y, task.bounds).apply(task.y), 0.0, 1.0)


def _fit_process(task: TaskData, y: Array, rng: Rng) -> tuple[ConditionedGP, AffineScale]:
    """Return the plain Gaussian process of one task, on at most ``PROCESS_ROWS`` rows, and the scale of its mean."""
    kept = kept_rows(y, PROCESS_ROWS, "best", rng)
    scale = standardise(y[kept])
    recipe = GaussianProcess(restarts=0, response="none")
    return recipe.fit(TaskData(task.x[kept], scale.apply(y[kept]), task.columns), rng=rng).process, scale


def kept_rows(y: Array, most: int, subsample: Subsample, rng: Rng) -> IntArray:
    """Return at most ``most`` places in ``y`` [n], in order: a sample, or the best ones and a sample of the rest."""
    if len(y) <= most:
        return np.arange(len(y))
    order = np.argsort(-y, kind="stable")
    best = round(BEST_SHARE * most) if subsample == "best" else 0
    rest = rng.choice(order[best:], most - best, replace=False)
    return np.sort(np.concatenate([order[:best], rest]))
