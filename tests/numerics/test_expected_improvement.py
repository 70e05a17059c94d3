"""log-EI against 50-digit arithmetic, and its order against plain EI."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.numerics.expected_improvement import (
    expected_improvement,
    log_expected_improvement,
    log_h,
    log_probability_of_improvement,
)


def exact_log_h(z: float) -> float:
    with mpmath.workdps(60):  # both terms keep their relative accuracy; the difference loses 2 log10 |z| digits
        z_ = mpmath.mpf(float(z))
        value = mpmath.npdf(z_) + z_ * mpmath.erfc(-z_ / mpmath.sqrt(2)) / 2
        return float(mpmath.log(value))


@pytest.mark.parametrize(
    "z", [-1e3, -300.0, -61.0, -60.0, -59.9, -30.0, -5.0, -1.0001, -1.0, -0.5, 0.0, 1.0, 8.0, 50.0]
)
def test_log_h_against_multiprecision(z: float) -> None:
    assert log_h(np.array([z]))[0] == pytest.approx(exact_log_h(z), rel=1e-12, abs=1e-12)


def test_log_h_is_finite_and_increasing_everywhere() -> None:
    z = np.concatenate([-np.logspace(8, -8, 4001), [0.0], np.logspace(-8, 8, 4001)])
    values = log_h(z)
    assert np.isfinite(values).all()
    assert (np.diff(values[z < 30]) > 0).all()


@given(
    st.floats(-5, 5),
    st.floats(0.01, 3),
    st.floats(-3, 3),
    st.floats(0, 0.5),
)
@settings(derandomize=True)
def test_log_ei_is_the_logarithm_of_ei(mean: float, std: float, incumbent: float, xi: float) -> None:
    plain = expected_improvement(np.array([mean]), np.array([std]), incumbent, xi)[0]
    if plain > 1e-200:
        logged = log_expected_improvement(np.array([mean]), np.array([std]), incumbent, xi)[0]
        # plain EI itself loses digits by cancellation in its lower tail
        assert logged == pytest.approx(np.log(plain), abs=1e-12 / min(1.0, plain**0.5) + 1e-9)


def test_ei_against_numerical_integration() -> None:
    mean, std, incumbent, xi = 0.3, 0.7, 0.5, 0.01
    draws = np.linspace(mean - 12 * std, mean + 12 * std, 2_000_001)
    density = np.exp(-0.5 * ((draws - mean) / std) ** 2) / (std * np.sqrt(2 * np.pi))
    integral = np.trapezoid(np.maximum(draws - incumbent - xi, 0) * density, draws)
    assert expected_improvement(np.array([mean]), np.array([std]), incumbent, xi)[0] == pytest.approx(
        integral, rel=1e-6
    )


def test_a_certain_prediction_improves_by_its_gain() -> None:
    value = expected_improvement(np.array([0.7, 0.2]), np.array([0.0, 0.0]), 0.5)
    np.testing.assert_allclose(value, [0.2, 0.0], atol=1e-15)


def test_after_an_outlier_log_ei_still_orders_candidates() -> None:
    mean = np.array([0.1, 0.3, 0.2])
    assert (expected_improvement(mean, np.full(3, 0.01), 100.0) == 0).all()
    np.testing.assert_array_equal(np.argsort(log_expected_improvement(mean, np.full(3, 0.01), 100.0)), [0, 2, 1])


def test_probability_of_improvement_is_a_half_at_the_incumbent() -> None:
    assert log_probability_of_improvement(np.array([0.5]), np.array([2.0]), 0.5)[0] == pytest.approx(np.log(0.5))
