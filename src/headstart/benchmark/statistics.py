"""Whether differences between methods are more than luck: bootstrap intervals, Friedman, Wilcoxon, Holm, cliques.

Notation: M methods, R runs, D tasks, B blocks, N resamples. A task is a data set of one space; its seeds are
repetitions of one experiment and never count as independent unless the legacy switch ``blocks="runs"`` says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import chdtrc, ndtr

from headstart.arrays import Array, BoolArray, IntArray, Rng
from headstart.benchmark.curves import Curves
from headstart.benchmark.metrics import DECIMALS, Over, averaged, ranks
from headstart.errors import DataError, SettingsError

Blocks: TypeAlias = Literal["tasks", "runs"]


# --- bootstrap -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Interval:
    """A mean and how far it could as well lie elsewhere; three arrays of one shape."""

    mean: Array
    low: Array
    high: Array


def bootstrap_interval(
    values: Array,
    curves: Curves,
    over: Over = "macro",
    *,
    rng: Rng,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Interval:
    """Return the means [M, ...] over runs of ``values`` [M, R, ...] with stratified percentile bootstrap intervals.

    Within every space as many tasks as it has are drawn with replacement, each with all its seeds: the spaces of a
    benchmark are chosen, its tasks are a sample. All methods and trials share the resamples, so intervals of
    differences come from differences of values (``bootstrap_difference``).

    Args:
        values: What is averaged, for example ``curves.regret[:, :, [25, 50]]`` or ``ranks(curves.regret)``.
        curves: Says which run belongs to which task and space.
        over: "macro" or "micro".
        rng: Draws the tasks.
        resamples: How often they are drawn.
        level: Probability of the interval.
    """
    if resamples < 1 or not 0.0 < level < 1.0:
        raise SettingsError(f"Bootstrap: resamples >= 1 and 0 < level < 1 must hold, got {resamples} and {level}.")
    weights = [rng.multinomial(len(tasks), np.full(len(tasks), 1.0 / len(tasks)), resamples) for tasks in _by(curves)]
    columns = values.reshape(*values.shape[:2], -1)
    low, high = np.empty((2, len(columns), columns.shape[2]))
    tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
    for m, column in enumerate(columns):  # one at a time: all resamples of all trials are 8 MB a method
        low[m], high[m] = np.quantile(_resampled(column, curves, weights, over), tails, axis=0)
    shape = (len(values), *values.shape[2:])
    return Interval(averaged(values, curves, over), low.reshape(shape), high.reshape(shape))


def bootstrap_difference(
    values: Array,
    curves: Curves,
    method: str,
    baseline: str,
    over: Over = "macro",
    *,
    rng: Rng,
    resamples: int = 10_000,
    level: float = 0.95,
) -> Interval:
    """Return mean ``method`` minus mean ``baseline`` [...] of ``values`` [M, R, ...], both on the same resamples.

    Raises:
        DataError: There is no method of one of the names.
    """
    curves.of_methods([method, baseline])  # says which name is wrong
    one, other = curves.methods.index(method), curves.methods.index(baseline)
    difference = values[one : one + 1] - values[other : other + 1]  # a mean of differences is a difference of means
    found = bootstrap_interval(difference, curves, over, rng=rng, resamples=resamples, level=level)
    return Interval(found.mean[0], found.low[0], found.high[0])


def _by(curves: Curves) -> list[list[IntArray]]:
    """Return for each space the runs of each of its tasks."""
    spaces: dict[str, dict[str, list[int]]] = {}
    for place, run in enumerate(curves.runs):
        spaces.setdefault(run.space, {}).setdefault(run.task, []).append(place)
    return [[np.array(places) for places in tasks.values()] for tasks in spaces.values()]


def _resampled(values: Array, curves: Curves, weights: Sequence[IntArray], over: Over) -> Array:
    """Return the means [N, K] of ``values`` [R, K] when task t of space s counts ``weights[s][:, t]`` times."""
    totals: list[Array] = []
    counts: list[Array] = []
    for tasks, times in zip(_by(curves), weights, strict=True):
        weight = times.astype(np.float64)
        totals.append(weight @ np.stack([values[places].sum(axis=0) for places in tasks]))
        counts.append(weight @ np.array([float(len(places)) for places in tasks]))
    if over == "micro":
        return np.sum(totals, axis=0) / np.sum(counts, axis=0)[:, None]
    return np.mean([total / count[:, None] for total, count in zip(totals, counts, strict=True)], axis=0)


# --- tests -----------------------------------------------------------------------------------------------------------


def friedman(rank: Array) -> float:
    """Return the p-value of Friedman's test on ``rank`` [M, B], corrected for ties; 1 when all methods always tie.

    The statistic is compared with chi squared of M - 1 degrees of freedom.
    """
    if len(rank) < 3:
        raise SettingsError(f"Friedman's test needs at least 3 methods, got {len(rank)}. Compare two with wilcoxon().")
    deviation = rank - 0.5 * (len(rank) + 1)
    spread = float((deviation**2).sum())
    if spread == 0.0:
        return 1.0
    statistic = (len(rank) - 1) * float((deviation.sum(axis=1) ** 2).sum()) / spread
    return float(chdtrc(len(rank) - 1, statistic))


LARGEST_EXACT = 50
"""Up to so many pairs without ties and zeros, the exact distribution; the normal approximation above, as in SciPy."""
LARGEST_EXACT_TIED = 13
"""The same with ties or zeros."""


def wilcoxon(one: Array, other: Array) -> float:
    """Return the two-sided p-value of the signed-rank test on pairs, with Pratt's treatment of zero differences.

    Zeros take part in the ranking and are then left out. Differences are rounded to 8 decimals first. The choice
    between the exact distribution and the normal approximation is that of ``scipy.stats.wilcoxon(one, other,
    zero_method="pratt")`` since SciPy 1.15; it is written here because that choice has changed between versions, and
    because scipy.stats takes seconds to load. 1 when all pairs are equal.
    """
    difference = np.round(one - other, DECIMALS)
    size, given = np.abs(difference), difference != 0.0
    if not given.any():
        return 1.0
    values, place, times = np.unique(size, return_inverse=True, return_counts=True)
    rank: Array = (np.cumsum(times) - 0.5 * (times - 1))[place]  # ties share the mean of their places
    plus = float(np.dot(rank, difference > 0.0))
    n, zeros = len(size), int((~given).sum())
    tied = len(values) < n or zeros > 0
    if n <= (LARGEST_EXACT_TIED if tied else LARGEST_EXACT):
        return _exact_tail(rank[given], plus)
    ties: Array = times[values > 0.0].astype(np.float64)
    mean = 0.25 * (n * (n + 1.0) - zeros * (zeros + 1.0))
    variance = (n * (n + 1.0) * (2.0 * n + 1.0) - zeros * (zeros + 1.0) * (2.0 * zeros + 1.0)) / 24.0
    variance -= float((ties**3 - ties).sum()) / 48.0
    return float(2.0 * ndtr(-abs(plus - mean) / float(np.sqrt(variance))))


def _exact_tail(rank: Array, plus: float) -> float:
    """Return the two-sided p-value of the rank sum ``plus`` when every sign is a fair coin."""
    doubled = np.round(2.0 * rank).astype(np.int64)  # whole numbers, as shared places are halves at most
    chance = np.zeros(int(doubled.sum()) + 1)
    chance[0] = 1.0
    for step in doubled:
        chance *= 0.5
        chance[step:] += chance[: len(chance) - step].copy()
    found = round(2.0 * plus)
    return float(min(1.0, 2.0 * min(chance[: found + 1].sum(), chance[found:].sum())))


def holm_adjusted(p_values: Array) -> Array:
    """Return the p-values [k] adjusted by Holm's step-down: reject where they are at most alpha."""
    order = np.argsort(p_values, kind="stable")
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def maximal_cliques(joined: BoolArray) -> tuple[tuple[int, ...], ...]:
    """Return all maximal cliques of the graph ``joined`` [M, M], each in ascending order, the least members first.

    By the algorithm of Bron and Kerbosch with pivoting.
    """
    neighbours = [{int(n) for n in np.flatnonzero(row)} - {m} for m, row in enumerate(joined)]
    found: list[tuple[int, ...]] = []

    def extend(clique: list[int], possible: set[int], done: set[int]) -> None:
        if not possible and not done:
            found.append(tuple(sorted(clique)))
            return
        pivot = max(possible | done, key=lambda m: len(neighbours[m] & possible))
        for m in sorted(possible - neighbours[pivot]):
            extend([*clique, m], possible & neighbours[m], done & neighbours[m])
            possible = possible - {m}
            done = done | {m}

    if len(joined):
        extend([], set(range(len(joined))), set())
    found.sort()
    return tuple(found)


# --- critical-difference diagrams ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CriticalDifference:
    """Everything that a critical-difference diagram shows."""

    methods: tuple[str, ...]
    at: int
    """The trial."""
    blocks: int
    """How many tasks (or runs) the tests rest on: those where all methods have a regret."""
    alpha: float
    ranks: Array
    """[M] average rank over the blocks."""
    friedman: float | None
    """p-value of Friedman's test; None for two methods, where the pair's own test says it all."""
    p_values: Array
    """[M, M] of the pairwise Wilcoxon tests; 1 on the diagonal."""
    adjusted: Array
    """[M, M] after Holm's step-down, or the same without it: compare with alpha."""
    different: BoolArray
    """[M, M] which pairs count as different: none where Friedman's test does not reject."""
    cliques: tuple[tuple[str, ...], ...]
    """Maximal sets of two and more methods of which no pair is different, best average rank first in each.

    A signed-rank test may part two methods and join others on both sides of them, so a clique need not be a stretch of
    the axis: a picture has to mark the members of a bar, not only its ends.
    """
    holm: bool = True
    """Whether pairs were corrected for being many."""
    kind: Blocks = "tasks"
    """What the blocks are."""

    @property
    def order(self) -> tuple[str, ...]:
        """The methods by average rank, the best first."""
        return tuple(self.methods[m] for m in _best_first(self.ranks))


def critical_difference(
    curves: Curves, at: int, *, alpha: float = 0.05, holm: bool = True, blocks: Blocks = "tasks"
) -> CriticalDifference:
    """Return the tests behind the critical-difference diagram of the regrets after ``at`` trials.

    Args:
        curves: At least two methods.
        at: The trial.
        alpha: Level of all tests.
        holm: Whether pairs are corrected for being many. False is what one distributed copy of the field's code does;
            it finds too many differences.
        blocks: "tasks" averages the regrets of a task's seeds first. "runs" takes seeds for independent experiments,
            as HPO-B's code does; it finds too many differences.

    Raises:
        DataError: No block has a regret of every method at that trial.
        SettingsError: There is one method only, or no such trial.
    """
    if len(curves.methods) < 2:
        raise SettingsError(f"Critical differences need at least 2 methods, got {', '.join(curves.methods)}.")
    regret = block_regrets(curves, at, blocks)
    regret = regret[:, ~np.isnan(regret).any(axis=0)]
    if regret.shape[1] == 0:
        without = [m for m, own in zip(curves.methods, curves.regret[:, :, at], strict=True) if np.isnan(own).any()]
        raise DataError(
            f"Critical differences after {at} trials: not one of the {blocks} has a regret of every method. "
            f"Leave out {', '.join(without)}, or choose an earlier trial."
        )
    count = len(curves.methods)
    pairs = list(combinations(range(count), 2))
    raw = np.array([wilcoxon(regret[i], regret[j]) for i, j in pairs])
    p_values, adjusted = np.ones((2, count, count))
    for (i, j), p, corrected in zip(pairs, raw, holm_adjusted(raw) if holm else raw, strict=True):
        p_values[i, j] = p_values[j, i] = p
        adjusted[i, j] = adjusted[j, i] = corrected
    rank = ranks(regret)
    overall = friedman(rank) if count > 2 else None
    different = (adjusted <= alpha) & (overall is None or overall <= alpha)
    order = _best_first(rank.mean(axis=1))
    cliques = maximal_cliques(~different[np.ix_(order, order)])
    named = tuple(tuple(curves.methods[order[m]] for m in clique) for clique in cliques if len(clique) > 1)
    means = rank.mean(axis=1)
    return CriticalDifference(
        curves.methods, at, regret.shape[1], alpha, means, overall, p_values, adjusted, different, named, holm, blocks
    )


def _best_first(rank: Array) -> list[int]:
    return sorted(range(len(rank)), key=lambda m: float(rank[m]))


def block_regrets(curves: Curves, at: int, blocks: Blocks) -> Array:
    """Return the regrets [M, B] after ``at`` trials, to 8 decimals: of each run, or the mean over each task's seeds."""
    if not 0 <= at <= curves.trials:
        raise SettingsError(f"Trial: must lie in 0..{curves.trials}, got {at}.")
    regret = curves.regret[:, :, at]
    if blocks == "tasks":
        regret = np.stack([regret[:, places].mean(axis=1) for tasks in _by(curves) for places in tasks], axis=1)
    return np.round(regret, DECIMALS)


@dataclass(frozen=True, eq=False)
class WinTieLoss:
    """How often the method of a row has less regret than that of a column; entry [i, j] of losses is wins [j, i]."""

    methods: tuple[str, ...]
    at: int
    wins: IntArray
    """[M, M]"""
    ties: IntArray
    """[M, M], 0 on the diagonal."""
    losses: IntArray
    """[M, M]"""


def win_tie_loss(curves: Curves, at: int, *, blocks: Blocks = "runs") -> WinTieLoss:
    """Return the counts for all pairs after ``at`` trials; a block that one of a pair lacks does not count for it."""
    regret = block_regrets(curves, at, blocks)
    wins = np.asarray((regret[:, None] < regret[None]).sum(axis=2), dtype=np.int64)
    ties = np.asarray((regret[:, None] == regret[None]).sum(axis=2), dtype=np.int64)
    np.fill_diagonal(ties, 0)
    return WinTieLoss(curves.methods, at, wins, ties, wins.T.copy())
