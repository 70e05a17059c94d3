"""What is reported of finished runs: regret, ranks, areas, trials needed, calibration. Pure functions over Curves.

Notation: M methods, R runs, T trials, S spaces; entry t is what holds after t trials. "macro" is the mean over spaces
of the mean over a space's runs, "micro" the mean over all runs. A rank says something about the methods it was taken
among and about nothing else: whoever prints one prints their list.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from headstart.arrays import Array, IntArray
from headstart.benchmark.curves import Curves
from headstart.errors import SettingsError

Over: TypeAlias = Literal["macro", "micro"]

DECIMALS = 8
"""Regrets that agree to so many decimals are ties: published files were rounded by whoever wrote them."""
LEAST_STD = 1e-6
"""A predicted deviation of zero would make one trial's density infinite and the mean of all of them worthless."""
LEVELS = (0.5, 0.8, 0.95)
"""Probabilities of the central intervals whose coverage is reported."""


# --- means over runs -------------------------------------------------------------------------------------------------


def places_by_space(curves: Curves) -> dict[str, IntArray]:
    """Return which runs belong to each space, in the order of ``curves.spaces``."""
    names = np.array([run.space for run in curves.runs])
    return {space: np.flatnonzero(names == space) for space in curves.spaces}


def averaged(values: Array, curves: Curves, over: Over) -> Array:
    """Return the means [M, ...] over runs of ``values`` [M, R, ...].

    One unknown (NaN) run makes the mean of its method unknown, of no other: a mean over fewer runs would stand beside
    means it cannot be compared with.
    """
    if over == "micro":
        return values.mean(axis=1)
    return np.mean([values[:, places].mean(axis=1) for places in places_by_space(curves).values()], axis=0)


def averaged_known(values: Array, curves: Curves, over: Over) -> Array:
    """Return the means [M, ...] over those runs of ``values`` [M, R, ...] that are known; NaN where none is.

    For what a run records only while it chooses (predictions, CPU time): a run that has found the best of its pool
    stops. A space without any known run does not count.
    """
    if over == "micro":
        return _known_mean(values, 1)
    spaces = [_known_mean(values[:, places], 1) for places in places_by_space(curves).values()]
    return _known_mean(np.stack(spaces), 0)


def pooled(values: Array, curves: Curves, over: Over, first: int = 1, last: int | None = None) -> Array:
    """Return the mean [M] of ``values`` [M, R, T + 1] over all known trials from ``first`` to ``last`` (included).

    Every choice weighs the same within what is averaged first: a space (macro) or everything (micro).
    """
    last = curves.trials if last is None else last
    if not 0 <= first <= last <= curves.trials:
        raise SettingsError(f"Trials: 0 <= first <= last <= {curves.trials} must hold, got {first} and {last}.")
    chosen = values[:, :, first : last + 1]
    if over == "micro":
        return _known_mean(chosen, (1, 2))
    return _known_mean(np.stack([_known_mean(chosen[:, p], (1, 2)) for p in places_by_space(curves).values()]), 0)


def _known_mean(values: Array, axis: int | tuple[int, ...]) -> Array:
    known = ~np.isnan(values)  # np.nanmean warns where nothing is known
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


# --- regret and ranks ------------------------------------------------------------------------------------------------


def ranks(regret: Array) -> Array:
    """Return the ranks [M, R, ...] of the methods within each run and trial of ``regret`` [M, R, ...].

    1 is the least regret, ties (to 8 decimals) share the mean of their places. A method that is NaN there has no rank,
    and the others are ranked without it.
    """
    rounded = np.round(regret, DECIMALS)
    found = np.empty(rounded.shape)
    for m, own in enumerate(rounded):
        # places are 1 + better + half of the other equals; NaN compares false with everything
        found[m] = 0.5 + (rounded < own).sum(axis=0) + 0.5 * (rounded == own).sum(axis=0)
    found[np.isnan(rounded)] = np.nan
    return found


def mean_regret(curves: Curves, over: Over = "macro") -> Array:
    """Return the mean normalised regret [M, T + 1]."""
    return averaged(curves.regret, curves, over)


def adtm(curves: Curves) -> Array:
    """Return the average distance to the minimum [M, T + 1] of Wistuba et al.: normalised regret, micro mean.

    Theirs has one run per data set; with several seeds each counts.
    """
    return averaged(curves.regret, curves, "micro")


def mean_rank(curves: Curves, over: Over = "macro") -> Array:
    """Return the mean rank [M, T + 1] among the methods of ``curves``."""
    return averaged(ranks(curves.regret), curves, over)


def mean_pool_rank(curves: Curves, over: Over = "macro") -> Array:
    """Return the mean place [M, T + 1] of the found configuration in its pool, 1 being the best of all.

    The figure that the TST program prints. NaN for methods of which only regrets are known.
    """
    return averaged(curves.pool_rank, curves, over)


# --- one number per run ----------------------------------------------------------------------------------------------


def area_under_regret(curves: Curves, until: int | None = None) -> Array:
    """Return the area [M, R] under each regret curve from trial 0 to ``until`` (the last when None), per trial.

    By the trapezoidal rule and divided by ``until``, so that it is a mean regret whatever the number of trials.
    """
    until = curves.trials if until is None else until
    if not 1 <= until <= curves.trials:
        raise SettingsError(f"Area under the regret curve: until must lie in 1..{curves.trials}, got {until}.")
    part = curves.regret[:, :, : until + 1]
    return 0.5 * (part[:, :, 1:] + part[:, :, :-1]).mean(axis=2)


def trials_to_reach(curves: Curves, regret: float) -> Array:
    """Return how many trials [M, R] each run needed to come down to ``regret``.

    Infinite for a run that never did; NaN for one whose curve ends before it did, as nobody knows.
    """
    reached = np.round(curves.regret, DECIMALS) <= np.round(regret, DECIMALS)
    never = np.where(np.isnan(curves.regret).any(axis=2), np.nan, np.inf)
    return np.where(reached.any(axis=2), reached.argmax(axis=2), never)


def equal_random_trials(curves: Curves, random: str = "random", over: Over = "macro") -> Array:
    """Return after how many trials [M, T + 1] random search has the mean regret that each method has after t.

    40 at t = 10 reads: ten trials of the method are worth forty random ones. The curve of random search is
    interpolated linearly between trials and the earliest crossing counts. 0 where the method is no better than random
    search was before its first trial, infinite where it is better than random search was after its last.

    Args:
        curves: With random search among them.
        random: Its name there.
        over: How regrets are averaged before they are compared.

    Raises:
        DataError: There is no method of that name.
    """
    searching = curves.of_methods([random])
    baseline: Array = np.round(averaged(searching.regret, curves, over), DECIMALS)[0]
    baseline = np.minimum.accumulate(baseline[~np.isnan(baseline)])
    means = np.round(averaged(curves.regret, curves, over), DECIMALS)
    # NaN as the target finds no place below: it is put back at the end
    after = np.searchsorted(-baseline, -np.nan_to_num(means), side="left")  # the first trial that is as good
    right = np.clip(after, 1, len(baseline) - 1)
    step = baseline[right - 1] - baseline[right]
    part = (baseline[right - 1] - means) / np.where(step > 0.0, step, 1.0)
    found = np.where(after == 0, 0.0, np.where(after == len(baseline), np.inf, right - 1 + part))
    return np.where(np.isnan(means), np.nan, found)


# --- calibration -----------------------------------------------------------------------------------------------------


def negative_log_density(curves: Curves) -> Array:
    """Return the negative log of the Gaussian predictive density [M, R, T + 1] at the value that was observed."""
    std = np.maximum(curves.std, LEAST_STD)
    return 0.5 * np.log(2.0 * np.pi) + np.log(std) + 0.5 * ((curves.value - curves.mean) / std) ** 2


def covered(curves: Curves, level: float) -> Array:
    """Return whether each value lies in the central interval of probability ``level``: 1, 0, or NaN where unknown."""
    if not 0.0 < level < 1.0:
        raise SettingsError(f"Coverage: level must lie between 0 and 1, got {level}.")
    std = np.maximum(curves.std, LEAST_STD)
    distance = np.abs(curves.value - curves.mean) / std
    return np.where(np.isnan(distance), np.nan, distance <= ndtri(0.5 + 0.5 * level))


@dataclass(frozen=True, eq=False)
class Calibration:
    """How well the predictions of M methods fit what was observed at the points they chose."""

    methods: tuple[str, ...]
    first: int
    """The first trial that counts."""
    last: int
    """The last trial that counts."""
    density: Array
    """[M] mean negative log predictive density, normalised units; less is better. NaN without predictions."""
    coverage: Mapping[float, Array]
    """For every level the share [M] of observations within the central interval; it should be the level."""
    predictions: IntArray
    """[M] how many predictions were looked at."""


def calibration(curves: Curves, over: Over = "macro", first: int = 1, last: int | None = None) -> Calibration:
    """Return the calibration of all methods over the trials ``first`` to ``last`` (included).

    Chosen points are no random sample: a method that seeks high values is caught where it is too hopeful, so less
    coverage than the level is to be expected of an honest model as well. Methods compare, levels only roughly.
    For one space pass ``curves.of_space(name)``.
    """
    last = curves.trials if last is None else last
    density = negative_log_density(curves)
    return Calibration(
        methods=curves.methods,
        first=first,
        last=last,
        density=pooled(density, curves, over, first, last),
        coverage={level: pooled(covered(curves, level), curves, over, first, last) for level in LEVELS},
        predictions=np.asarray((~np.isnan(density[:, :, first : last + 1])).sum(axis=(1, 2)), dtype=np.int64),
    )
