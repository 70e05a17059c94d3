"""Scalings: formulas, inverses, and the inputs that break naive ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from headstart.numerics.response import ResponseKind, copula, fit_scale, minmax, outlier_floor, standardise

KINDS: list[ResponseKind] = ["none", "minmax", "standardise", "copula"]
values = st.lists(st.floats(-1e30, 1e30, allow_nan=False), min_size=0, max_size=30)


@pytest.mark.parametrize("kind", KINDS)
@given(y=values)
@settings(max_examples=150, derandomize=True)
def test_always_finite_and_never_reverses_an_order(kind: ResponseKind, y: list[float]) -> None:
    array = np.array(y)
    z = fit_scale(kind, array).apply(array)
    assert np.isfinite(z).all()
    assert (np.diff(z[np.argsort(array, kind="stable")]) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_inverse_undoes_apply(kind: ResponseKind) -> None:
    y = np.random.default_rng(0).normal(3, 0.01, 25)
    scale = fit_scale(kind, y)
    # the copula is flat where its ends are winsorised, so only interior values come back
    inside = np.abs(scale.apply(y)) < scale.apply(y).max() if kind == "copula" else np.ones(25, bool)
    np.testing.assert_allclose(scale.inverse(scale.apply(y))[inside], y[inside], rtol=1e-12)


def test_minmax_uses_bounds_where_they_are_known() -> None:
    np.testing.assert_allclose(minmax(np.array([0.2, 0.6]), (0.0, 1.0)).apply(np.array([0.2, 0.6])), [0.2, 0.6])
    np.testing.assert_allclose(minmax(np.array([0.2, 0.6])).apply(np.array([0.2, 0.4, 0.6])), [0, 0.5, 1], atol=1e-15)


def test_standardise_has_mean_0_and_deviation_1_at_any_level_and_unit() -> None:
    rng = np.random.default_rng(1)
    for level, unit in [(0.0, 1.0), (1e6, 1e-3), (0.0, 1e-9), (-5.0, 1e20)]:
        y = level + unit * rng.normal(size=50)
        z = standardise(y).apply(y)
        assert abs(z.mean()) < 1e-6
        assert z.std() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_constant_values_stay_constant(kind: ResponseKind) -> None:
    for n in (1, 2, 7):
        y = np.full(n, 0.1) * 3  # not representable exactly
        z = fit_scale(kind, y).apply(y)
        assert np.ptp(z) == 0
        np.testing.assert_allclose(fit_scale(kind, y).inverse(z), y)


def test_one_diverged_run_leaves_the_others_apart() -> None:
    y = np.array([0.71, 0.74, 0.78, 0.8, -1e30])
    for kind in ("minmax", "standardise"):
        z = fit_scale(kind, y).apply(y)
        assert z[3] - z[0] > 0.005
        assert z.argmin() == 4
    assert outlier_floor(np.array([0.1, 0.9, 0.91])) == -np.inf


def test_copula_is_the_winsorised_normal_score() -> None:
    y = np.array([3.0, 1.0, 2.0, 2.0, 5.0, 9.0])
    n = len(y)
    delta = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    expected = norm.ppf(np.clip(rankdata(y) / n, delta, 1 - delta))
    np.testing.assert_allclose(copula(y).apply(y), expected, rtol=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=40, unique=True))
@settings(derandomize=True)
def test_copula_is_strictly_monotone_on_distinct_interior_values(y: list[float]) -> None:
    array = np.sort(np.array(y))
    n = len(array)
    delta = 1 / (4 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    share = np.arange(1, n + 1) / n
    z = copula(array).apply(array)[(share > delta) & (share < 1 - delta)]
    assert (np.diff(z) > 0).all()


def test_copula_of_one_and_two_values_is_finite() -> None:
    assert copula(np.array([4.0])).apply(np.array([4.0]))[0] == 0
    assert np.isfinite(copula(np.array([4.0, 5.0])).apply(np.array([4.0, 5.0]))).all()
