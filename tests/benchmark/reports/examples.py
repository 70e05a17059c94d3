"""Curves that the tests of tables, pictures and reports share."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.curves import MEASURES, Curves, RunKey

RUNS = (RunKey("s", "1", "0"), RunKey("s", "2", "0"), RunKey("t", "3", "0"))
ONE = [[0.5, 0.2, 0.0], [0.5, 0.4, 0.2], [0.4, 0.4, 0.4]]
OTHER = [[0.5, 0.5, 0.1], [0.5, 0.3, 0.2], [0.4, 0.2, 0.1]]


def curves_of(methods: Sequence[str], regret: object, runs: Sequence[RunKey] = RUNS, **measures: Array) -> Curves:
    """Return Curves of which nothing is known but what is given."""
    known = np.asarray(regret, dtype=np.float64)
    unknown = {name: np.full(known.shape, np.nan) for name in MEASURES}
    return Curves(tuple(methods), tuple(runs), **(unknown | {"regret": known} | measures))


def by_hand(one: str = "one", other: str = "other") -> Curves:
    """Return two methods on three runs of two spaces, two trials: small enough to compute everything by hand."""
    return curves_of([one, other], [ONE, OTHER])


def drawn(
    methods: Sequence[str], *, spaces: Sequence[str] = ("svm", "rf"), tasks: int = 3, seeds: int = 2, trials: int = 12
) -> Curves:
    """Return random runs with predictions and times; a third of them reaches zero regret."""
    rng = np.random.default_rng(len(methods))
    runs = [RunKey(s, f"task {t}", str(k)) for s in spaces for t in range(tasks) for k in range(seeds)]
    shape = (len(methods), len(runs), trials + 1)
    regret = 0.4 * np.exp(-rng.exponential(0.3, shape).cumsum(axis=2))
    regret[:, :, 0] = 0.4
    regret[:, ::3, trials // 2 :] = 0.0
    value = rng.uniform(size=shape)
    measures = {
        "pool_rank": 1.0 + np.floor(100 * regret),
        "value": value,
        "mean": value + rng.normal(0.0, 0.1, shape),
        "std": np.full(shape, 0.1),
        "cpu_ms": rng.lognormal(1.0, 0.3, shape),
    }
    for name in ("value", "mean", "std", "cpu_ms"):
        measures[name][:, :, 0] = np.nan
    return curves_of(methods, regret, runs, **measures)


def without_predictions(curves: Curves) -> Curves:
    """Return ``curves`` as published files hold them: regrets only."""
    unknown = np.full(curves.regret.shape, np.nan)
    return replace(curves, **{name: unknown for name in MEASURES if name != "regret"})


def cut(curves: Curves, method: int, trials: int) -> Curves:
    """Return ``curves`` with one method that has fewer trials than the others."""
    regret = curves.regret.copy()
    regret[method, :, trials + 1 :] = np.nan
    return replace(curves, regret=regret)
