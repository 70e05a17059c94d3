"""The bandwidth of TST and TAF, chosen by running the method on past tasks whose responses are known.

A validation task's rows are the pool and its responses the answers; nothing is given, the past are all other tasks.
What counts is the regret, scaled by the task's own extremes, averaged over the first trials.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from headstart.arrays import IntArray, Rng
from headstart.data import MetaDataset, TaskData
from headstart.protocols import Progress, ScoresItself, Surrogate
from headstart.surrogates.sources import Sources

GRID = (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
DEFAULT = 0.1
"""Where a single past task leaves nothing to choose by; the authors' on their SVM data."""
TRIALS = 15
MOST_TASKS = 10
"""Validation tasks that are run: 10 tasks x 8 bandwidths x 15 trials take some seconds."""
MOST_ROWS = 512
"""Of the pool of a run."""
HELD_OUT_SHARE = 0.15
FEW_TASKS = 5
"""Below so many past tasks each of them is a validation task."""

WithBandwidth: TypeAlias = Callable[[Sources, float], Surrogate]
"""Past tasks and a bandwidth to the pre-trained method."""


def chosen_bandwidth(
    method: WithBandwidth,
    sources: Sources,
    tasks: Sequence[TaskData],
    validation: MetaDataset | None,
    grid: Sequence[float],
    *,
    rng: Rng,
    progress: Progress | None,
) -> float:
    """Return the bandwidth of ``grid`` with the smallest mean regret, the smaller one of equals.

    The tasks that are run are those of ``validation``, at most ten, or else held-out past tasks, each with all other
    past tasks as its past.

    Args:
        method: The method with a bandwidth.
        sources: Of ``tasks``.
        tasks: Past tasks.
        validation: Other tasks, whose past are all ``tasks``.
        grid: Ascending.
        rng: Thins out large pools and breaks ties.
        progress: Called after every task.
    """
    runs: list[tuple[Sources, TaskData]] = []
    if validation is not None and validation.informative:
        everything = sources.only(range(len(sources)))
        runs = [(everything, _with_features(task, sources)) for task in validation.informative[:MOST_TASKS]]
    elif len(tasks) > 1:
        for place in held_out(sources.names)[:MOST_TASKS]:
            others = [s for s in range(len(sources)) if s != place]
            task = _with_features(tasks[int(place)], sources)
            assert task.features is not None
            runs.append((sources.only(others), replace(task, features=task.features[:, others])))
    runs = [(past, _thinned(task, rng)) for past, task in runs]
    if not runs:
        return DEFAULT * grid[-1]
    regrets = np.zeros(len(grid))
    for done, (past, task) in enumerate(runs):
        seed: int = int(rng.integers(1 << 31))
        for place, bandwidth in enumerate(grid):
            # the same draws for every bandwidth
            regrets[place] += mean_regret(method(past, bandwidth), task, rng=np.random.default_rng(seed))
        if progress is not None:
            progress(done + 1, len(runs), "chooses its bandwidth on validation tasks")
    return float(grid[int(np.argmin(regrets))])


def held_out(names: Sequence[str]) -> IntArray:
    """Return which past tasks are looked at: 15 % of them, at least one, by a hash of their names, or all of a few."""
    if len(names) < FEW_TASKS:
        return np.arange(len(names))
    keys = [hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest() for name in names]
    order = sorted(range(len(names)), key=lambda place: (keys[place], place))
    return np.sort(np.array(order[: max(1, round(HELD_OUT_SHARE * len(names)))], dtype=np.int64))


def mean_regret(method: Surrogate, task: TaskData, *, rng: Rng) -> float:
    """Return the regret of one run of ``method`` on the rows of ``task``, averaged over the trials."""
    assert task.features is not None
    low, high = float(task.y.min()), float(task.y.max())
    seen: list[int] = []
    regrets: list[float] = []
    for _ in range(min(TRIALS, len(task))):
        known = replace(task, x=task.x[seen], y=task.y[seen], features=task.features[seen])
        posterior = method.fit(known, rng=rng)
        if isinstance(posterior, ScoresItself):
            scores = posterior.score(task.x, features=task.features, rng=rng)
        else:
            prediction = posterior.predict(task.x, features=task.features)
            scores = method.acquisition(prediction, posterior.incumbent)
        scores = np.where(np.isin(np.arange(len(task)), seen), -np.inf, scores)
        seen.append(int(rng.choice(np.flatnonzero(scores == scores.max()))))
        regrets.append((high - float(task.y[seen].max())) / (high - low))
    return float(np.mean(regrets))


def _with_features(task: TaskData, sources: Sources) -> TaskData:
    return replace(task, features=sources.means(task.x))


def _thinned(task: TaskData, rng: Rng) -> TaskData:
    """Return at most ``MOST_ROWS`` rows of ``task``, the best among them: regret counts from there."""
    if len(task) <= MOST_ROWS:
        return task
    assert task.features is not None
    best = int(np.argmax(task.y))
    others = np.delete(np.arange(len(task)), best)
    kept = np.sort(np.append(rng.choice(others, MOST_ROWS - 1, replace=False), best))
    return replace(task, x=task.x[kept], y=task.y[kept], features=task.features[kept])
