"""The tables of experiments on complete grids: ADTM, the mean over data sets of (best - found) / (best - worst)."""

import numpy as np

from headstart.benchmark.curves import Curves
from headstart.benchmark.metrics import adtm, mean_rank
from headstart.benchmark.statistics import bootstrap_interval
from headstart.experiments.frame import CsvTable

REPORTED = (1, 3, 5, 10, 20, 30, 50)


def adtm_table(curves: Curves) -> CsvTable:
    """Return ADTM and average rank of every method after every trial."""
    regret, rank = adtm(curves), mean_rank(curves, "micro")
    rows = [
        (method, trial, float(regret[m, trial]), float(rank[m, trial]))
        for m, method in enumerate(curves.methods)
        for trial in range(1, curves.trials + 1)
    ]
    return CsvTable(("method", "trial", "adtm", "average_rank"), tuple(rows))


def adtm_with_intervals(curves: Curves) -> CsvTable:
    """Return ADTM at some trials with 95 % bootstrap intervals over the data sets."""
    at = [t for t in REPORTED if t <= curves.trials]
    found = bootstrap_interval(curves.regret[:, :, at], curves, "micro", rng=np.random.default_rng(0))
    rows = [
        (
            method,
            *(f"{found.mean[m, k]:.4f} [{found.low[m, k]:.4f}, {found.high[m, k]:.4f}]" for k in range(len(at))),
        )
        for m, method in enumerate(curves.methods)
    ]
    return CsvTable(("method", *(f"@{t}" for t in at)), tuple(rows))
