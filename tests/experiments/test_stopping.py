"""Forecasts of improvement and what thresholds cost, on curves made by hand."""

import numpy as np
import pytest
from scipy.stats import norm

from headstart.benchmark.curves import Curves, RunKey
from headstart.experiments.stopping import _classes, _saved, forecasts


def curves(regret: list[list[float]], mean: list[list[float]], std: list[list[float]]) -> Curves:
    shape = (1, len(regret), len(regret[0]))
    nothing = np.full(shape, np.nan)
    runs = tuple(RunKey("s", str(k), "test0") for k in range(len(regret)))
    return Curves(("m",), runs, np.array([regret]), nothing, nothing, np.array([mean]), np.array([std]), nothing)


def test_a_forecast_is_the_expected_improvement_on_the_best_before() -> None:
    nan = float("nan")
    found = forecasts(curves([[0.5, 0.3, 0.3]], [[nan, 0.6, 0.8]], [[nan, 0.2, 0.1]]))
    for trial, (gap, std) in enumerate([(0.1, 0.2), (0.1, 0.1)]):  # best before: 0.5, then 0.7
        z = gap / std
        assert found[0, 0, trial] == pytest.approx(gap * norm.cdf(z) + std * norm.pdf(z), rel=1e-9)


def test_a_run_ends_before_the_first_trial_that_promises_too_little() -> None:
    forecast = np.array([[[0.1, 0.03, 0.001, 0.2], [0.04, 0.04, 0.04, 0.04], [0.1, np.nan, np.nan, np.nan]]])
    regret = [[0.5, 0.4, 0.3, 0.2, 0.1], [0.9, 0.8, 0.7, 0.6, 0.5], [0.4, 0.0, 0.0, 0.0, 0.0]]
    table = _saved(curves(regret, regret, regret), forecast)
    rows = {row[1]: row[2:] for row in table.rows}
    assert rows[0.0] == (4.0, pytest.approx(0.2))
    # 0.02: the first run ends after two trials, the second never, the third when it found the best
    assert rows[0.02] == (pytest.approx((2 + 4 + 1) / 3), pytest.approx((0.3 + 0.5 + 0.0) / 3))
    assert rows[0.05] == (pytest.approx((1 + 0 + 1) / 3), pytest.approx((0.4 + 0.9 + 0.0) / 3))


def test_classes_average_trials_of_like_forecasts() -> None:
    forecast = np.full((1, 1, 40), 0.02)
    forecast[0, 0, 20:] = 0.0002
    came = np.zeros((1, 1, 40))
    came[0, 0, :20:2] = 0.03
    regret = [[0.5] * 41]
    table = _classes(curves(regret, regret, regret), forecast, came)
    assert [(row[1], row[2]) for row in table.rows] == [(20, pytest.approx(0.0002)), (20, pytest.approx(0.02))]
    assert table.rows[0][3] == 0.0
    assert table.rows[1][3] == pytest.approx(0.015)
    assert table.rows[1][5] == pytest.approx(0.75)
