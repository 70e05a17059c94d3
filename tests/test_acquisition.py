"""Acquisitions against direct formulas and high-precision arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from headstart.acquisition import (
    ExpectedImprovement,
    LogExpectedImprovement,
    PosteriorMean,
    ProbabilityOfImprovement,
    ThompsonSampling,
    UpperConfidenceBound,
)
from headstart.data import Prediction
from headstart.errors import SettingsError

MEAN, STD = np.array([0.1, 0.5, 0.9, -3.0]), np.array([0.3, 0.2, 0.05, 1.0])
PREDICTION = Prediction(MEAN, STD, noise=0.4)


def direct_ei(mean: np.ndarray, std: np.ndarray, incumbent: float, xi: float) -> np.ndarray:
    z = (mean - incumbent - xi) / std
    return (mean - incumbent - xi) * norm.cdf(z) + std * norm.pdf(z)


def exact_log_ei(mean: float, std: float, incumbent: float) -> float:
    with mpmath.workdps(80):
        gain, sigma = mpmath.mpf(mean) - mpmath.mpf(incumbent), mpmath.mpf(std)
        z = gain / sigma
        return float(mpmath.log(gain * mpmath.erfc(-z / mpmath.sqrt(2)) / 2 + sigma * mpmath.npdf(z)))


@pytest.mark.parametrize("xi", [0.0, 0.01, 0.3])
@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("incumbent", [0.0, 0.6, -1.0])
def test_expected_improvement_against_formula(xi: float, noisy: bool, incumbent: float) -> None:
    std = np.sqrt(STD**2 + 0.4**2) if noisy else STD
    expected = direct_ei(MEAN, std, incumbent, xi)
    plain = ExpectedImprovement(xi=xi, noisy=noisy)(PREDICTION, incumbent)
    np.testing.assert_allclose(plain, expected, rtol=1e-9, atol=1e-15)
    logged = LogExpectedImprovement(xi=xi, noisy=noisy)(PREDICTION, incumbent)
    np.testing.assert_allclose(logged, np.log(expected), rtol=1e-7)


@given(mean=st.floats(-50, 50), std=st.floats(1e-6, 10), incumbent=st.floats(-50, 50))
@settings(derandomize=True, max_examples=200, deadline=None)
def test_log_expected_improvement_against_multiprecision(mean: float, std: float, incumbent: float) -> None:
    if abs(mean - incumbent) / std > 1e6:
        return  # 80 digits are too few there
    found = LogExpectedImprovement()(Prediction(np.array([mean]), np.array([std])), incumbent)[0]
    assert found == pytest.approx(exact_log_ei(mean, std, incumbent), rel=1e-9, abs=1e-9)


def test_log_expected_improvement_orders_what_underflows() -> None:
    prediction = Prediction(np.array([0.1, 0.3, 0.2]), np.full(3, 1e-3))
    assert (ExpectedImprovement()(prediction, 50.0) == 0.0).all()
    scores = LogExpectedImprovement()(prediction, 50.0)
    assert np.isfinite(scores).all()
    assert list(np.argsort(scores)) == [0, 2, 1]


def test_probability_of_improvement_is_the_logarithm_of_the_tail() -> None:
    for xi in (0.0, 0.2):
        found = ProbabilityOfImprovement(xi=xi)(PREDICTION, 0.6)
        np.testing.assert_allclose(found, norm.logsf(0.6 + xi, MEAN, STD), rtol=1e-12)
    assert np.isfinite(ProbabilityOfImprovement()(PREDICTION, 1e4)).all()


def test_upper_confidence_bound_and_mean() -> None:
    np.testing.assert_allclose(UpperConfidenceBound(beta=1.5)(PREDICTION, 0.0), MEAN + 1.5 * STD, rtol=1e-15)
    np.testing.assert_array_equal(UpperConfidenceBound(beta=0.0)(PREDICTION, 0.0), MEAN)
    np.testing.assert_array_equal(PosteriorMean()(PREDICTION, 123.0), MEAN)


@pytest.mark.parametrize("beta", [-0.1, np.nan, np.inf])
def test_bad_beta_is_refused(beta: float) -> None:
    with pytest.raises(SettingsError, match="UpperConfidenceBound: beta must be"):
        UpperConfidenceBound(beta=beta)


@pytest.mark.parametrize("acquisition", [LogExpectedImprovement(), ExpectedImprovement(), ProbabilityOfImprovement()])
def test_without_incumbent_the_mean_decides(acquisition: LogExpectedImprovement) -> None:
    np.testing.assert_array_equal(acquisition(PREDICTION, -np.inf), MEAN)


@pytest.mark.parametrize(
    "acquisition",
    [
        LogExpectedImprovement(),
        LogExpectedImprovement(noisy=True),
        ExpectedImprovement(),
        ProbabilityOfImprovement(),
        UpperConfidenceBound(),
        PosteriorMean(),
    ],
)
@given(low=st.floats(-3, 3), gain=st.floats(0, 3), std=st.floats(0, 2), incumbent=st.floats(-2, 2))
@settings(derandomize=True, max_examples=50)
def test_a_larger_mean_never_scores_less(
    acquisition: LogExpectedImprovement, low: float, gain: float, std: float, incumbent: float
) -> None:
    prediction = Prediction(np.array([low, low + gain]), np.full(2, std), noise=0.1)
    scores = acquisition(prediction, incumbent)
    assert np.isfinite(scores).all()
    assert scores[1] >= scores[0] - 1e-12 * abs(scores[0])


def test_thompson_draws_have_the_marginals() -> None:
    rng = np.random.default_rng(0)
    draws = np.stack([ThompsonSampling().draw(PREDICTION, rng=rng) for _ in range(20_000)])
    np.testing.assert_allclose(draws.mean(axis=0), MEAN, atol=4 * STD.max() / np.sqrt(20_000))
    np.testing.assert_allclose(draws.std(axis=0), STD, rtol=4 / np.sqrt(2 * 20_000))
    np.testing.assert_allclose(np.corrcoef(draws.T), np.eye(4), atol=4 / np.sqrt(20_000))


def test_thompson_needs_a_generator() -> None:
    with pytest.raises(SettingsError, match="needs a generator"):
        ThompsonSampling()(PREDICTION, 0.0)
    one, other = (ThompsonSampling().draw(PREDICTION, rng=np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(one, other)
