"""The Gaussian process against scikit-learn, SciPy, JAX in double precision and finite differences."""

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, multivariate_normal
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern, WhiteKernel

from headstart.arrays import Array
from headstart.errors import NumericalError
from headstart.numerics.gaussian_process import (
    JITTERS,
    Bounds,
    GammaPrior,
    Hyperparameters,
    MeanKind,
    Priors,
    best_mean,
    condition,
    default_bounds,
    factorise,
    fit_hyperparameters,
    fit_shared_hyperparameters,
    negative_log_posterior,
    summed_negative_log_posterior,
)
from headstart.numerics.kernels import Kernel, kernel_matrix

KINDS: list[Kernel] = ["se", "matern32", "matern52"]
MEANS: list[MeanKind] = ["constant", "zero"]
PRIORS = Priors(lengths=GammaPrior(3.0, 6.0), variance=GammaPrior(2.0, 0.15), noise=GammaPrior(1.1, 0.05))


def problem(n: int, d: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng([n, d, seed])
    x = rng.random((n, d))
    return x, np.sin(6 * x[:, 0]) + (x @ rng.normal(size=d)) / np.sqrt(d) + 0.05 * rng.normal(size=n)


def random_theta(d: int, seed: int) -> Array:
    rng = np.random.default_rng([d, seed])
    return np.concatenate([rng.normal(np.log(0.5), 0.5, d), [rng.normal(0, 0.7)], [rng.normal(np.log(0.02), 1.0)]])


def hyperparameters(theta: Array, mean: float = 0.0) -> Hyperparameters:
    natural = np.exp(theta)
    return Hyperparameters(natural[:-2], float(natural[-2]), float(natural[-1]), mean)


def of_sklearn(kind: Kernel, theta: Array) -> Any:
    natural = np.exp(theta)
    lengths, variance, noise = natural[:-2], natural[-2], natural[-1]
    shape = RBF(lengths) if kind == "se" else Matern(lengths, nu=1.5 if kind == "matern32" else 2.5)
    return ConstantKernel(variance) * shape + WhiteKernel(noise)


# ---------------------------------------------------------------- posterior


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (5, 2), (30, 6), (80, 17), (150, 60)])
@pytest.mark.parametrize("noise", [1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("seed", [0, 1])
def test_posterior_against_sklearn(kind: Kernel, n: int, d: int, noise: float, seed: int) -> None:
    x, y = problem(n, d, seed)
    theta = random_theta(d, seed)
    theta[-1] = np.log(noise)
    at = np.random.default_rng(seed).random((60, d))
    model = GaussianProcessRegressor(of_sklearn(kind, theta), alpha=0.0, optimizer=None).fit(x, y)
    mean, std = model.predict(at, return_std=True)
    found_mean, found_std = condition(x, y, hyperparameters(theta), kind=kind).predict(at)
    np.testing.assert_allclose(found_mean, mean, rtol=0, atol=1e-8)
    # scikit-learn's deviation is that of a new observation
    np.testing.assert_allclose(np.hypot(found_std, np.sqrt(noise)), std, rtol=0, atol=1e-8)


def test_posterior_with_a_mean_is_that_of_shifted_responses() -> None:
    x, y = problem(20, 3, 0)
    theta = random_theta(3, 0)
    at = np.random.default_rng(1).random((10, 3))
    with_mean = condition(x, y, hyperparameters(theta, mean=4.2), kind="matern52").predict(at)
    shifted = condition(x, y - 4.2, hyperparameters(theta), kind="matern52").predict(at)
    np.testing.assert_allclose(with_mean[0], shifted[0] + 4.2, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(with_mean[1], shifted[1])


def test_without_observations_it_is_the_prior() -> None:
    process = condition(np.empty((0, 2)), np.empty(0), hyperparameters(np.log([1, 1, 4.0, 0.1]), 3.0), kind="se")
    mean, std = process.predict(np.random.default_rng(0).random((5, 2)))
    np.testing.assert_array_equal(mean, np.full(5, 3.0))
    np.testing.assert_allclose(std, 2.0, rtol=1e-15)
    assert [len(part) for part in process.leave_one_out()] == [0, 0]


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(2, 15), d=st.integers(1, 5), kind=st.sampled_from(KINDS))
@settings(derandomize=True, max_examples=50, deadline=None)
def test_order_of_observations_does_not_matter(seed: int, n: int, d: int, kind: Kernel) -> None:
    rng = np.random.default_rng(seed)
    x, y = problem(n, d, seed)
    theta = random_theta(d, seed)
    order = rng.permutation(n)
    at = rng.random((8, d))
    one = condition(x, y, hyperparameters(theta), kind=kind).predict(at)
    other = condition(x[order], y[order], hyperparameters(theta), kind=kind).predict(at)
    np.testing.assert_allclose(one[0], other[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(one[1], other[1], rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_leave_one_out_against_leaving_out(kind: Kernel) -> None:
    x, y = problem(14, 3, 2)
    own = hyperparameters(random_theta(3, 2), mean=0.7)
    mean, variance = condition(x, y, own, kind=kind).leave_one_out()
    for i in range(14):
        rest = np.arange(14) != i
        left_mean, left_std = condition(x[rest], y[rest], own, kind=kind).predict(x[i : i + 1])
        assert mean[i] == pytest.approx(left_mean[0], abs=1e-9)
        assert variance[i] == pytest.approx(left_std[0] ** 2 + own.noise, rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_posterior_mean_and_covariance(kind: Kernel) -> None:
    x, y = problem(6, 2, 1)
    own = Hyperparameters(np.array([0.4, 0.8]), 1.5, 0.05, 0.3)
    at = np.random.default_rng(5).random((7, 2))
    draws = condition(x, y, own, kind=kind).sample(at, 40_000, np.random.default_rng(6))
    model = GaussianProcessRegressor(
        of_sklearn(kind, np.log([*own.lengths, own.variance, own.noise])), alpha=0.0, optimizer=None
    ).fit(x, y - 0.3)
    mean, covariance = model.predict(at, return_cov=True)
    covariance = covariance - own.noise * np.eye(7)  # draws are of the noiseless function
    # four standard errors of a mean and of a covariance
    largest = covariance.diagonal().max()
    np.testing.assert_allclose(draws.mean(axis=0), mean + 0.3, rtol=0, atol=4 * np.sqrt(largest / 40_000))
    np.testing.assert_allclose(np.cov(draws.T), covariance, rtol=0, atol=4 * largest * np.sqrt(2 / 40_000))


def test_draws_at_equal_rows_and_at_observations_are_possible() -> None:
    x, y = problem(5, 2, 3)
    own = Hyperparameters(np.array([0.5, 0.5]), 1.0, 1e-6)
    at = np.concatenate([x, x])
    draws = condition(x, y, own, kind="se").sample(at, 50, np.random.default_rng(0))
    np.testing.assert_allclose(draws[:, :5], draws[:, 5:], rtol=0, atol=0.01)
    np.testing.assert_allclose(draws[:, :5], np.tile(y, (50, 1)), rtol=0, atol=0.02)


# ---------------------------------------------------------------- factorisation


def test_factor_is_exact_where_no_jitter_is_needed() -> None:
    x, _ = problem(30, 3, 0)
    matrix = kernel_matrix("matern32", x, x, np.full(3, 0.3), 2.0) + 0.1 * np.eye(30)
    given_matrix = matrix.copy()
    np.testing.assert_allclose(factorise(matrix, 2.0), np.linalg.cholesky(matrix), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(matrix, given_matrix)


def test_smallest_sufficient_jitter_is_added() -> None:
    x = np.repeat(np.random.default_rng(0).random((4, 2)), 5, axis=0)
    singular = kernel_matrix("se", x, x, np.ones(2), 3.0)
    singular -= 1e-7 * np.eye(20)  # the first two jitters, 0 and 1e-8 of 3, are too little
    factor = factorise(singular, 3.0)
    added = (factor @ factor.T - singular).diagonal()
    np.testing.assert_allclose(added, 3.0 * 1e-7, rtol=1e-6)


def test_matrix_beyond_repair_is_a_numerical_error() -> None:
    with pytest.raises(NumericalError, match=r"3 x 3 .* even with jitter 0\.0001"):
        factorise(-np.eye(3), 1.0)
    with pytest.raises(NumericalError):
        factorise(np.full((2, 2), np.nan), 1.0)
    assert JITTERS == (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_duplicates_almost_without_noise_are_survived(kind: Kernel) -> None:
    x = np.repeat(np.random.default_rng(0).random((5, 3)), 4, axis=0)
    y = np.repeat(np.arange(5.0), 4)
    own = Hyperparameters(np.full(3, 5.0), 100.0, 1e-300)
    mean, std = condition(x, y, own, kind=kind).predict(x)
    assert np.isfinite(mean).all()
    assert np.isfinite(std).all()


# ---------------------------------------------------------------- marginal likelihood


def dense_negative_log_likelihood(kind: Kernel, theta: Array, x: Array, y: Array, mean: MeanKind) -> float:
    kernel = of_sklearn(kind, theta)
    covariance = kernel(x)
    inverse = np.linalg.inv(covariance)
    m = inverse.sum(axis=0) @ y / inverse.sum() if mean == "constant" else 0.0
    return -float(multivariate_normal.logpdf(y, np.full(len(y), m), covariance))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize(("n", "d"), [(1, 1), (12, 2), (40, 7)])
def test_marginal_likelihood_against_scipy(kind: Kernel, mean: MeanKind, n: int, d: int) -> None:
    x, y = problem(n, d, 3)
    theta = random_theta(d, 3)
    value, _ = negative_log_posterior(theta, x, y, kind=kind, mean=mean)
    assert value == pytest.approx(dense_negative_log_likelihood(kind, theta, x, y, mean), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_marginal_likelihood_and_gradient_against_sklearn(kind: Kernel) -> None:
    x, y = problem(35, 4, 1)
    theta = random_theta(4, 1)
    model = GaussianProcessRegressor(of_sklearn(kind, theta), alpha=0.0, optimizer=None).fit(x, y)
    # scikit-learn's order is variance, lengths, noise
    order = [4, 0, 1, 2, 3, 5]
    likelihood, slope = model.log_marginal_likelihood(theta[order], eval_gradient=True)
    value, gradient = negative_log_posterior(theta, x, y, kind=kind, mean="zero")
    assert value == pytest.approx(-likelihood, rel=1e-10)
    np.testing.assert_allclose(gradient[order], -slope, rtol=1e-8, atol=1e-8)


def test_best_mean_maximises_the_likelihood() -> None:
    x, y = problem(20, 2, 0)
    y = y + 1e6
    own = hyperparameters(random_theta(2, 0))
    found = best_mean(x, y, own, kind="se")
    covariance = kernel_matrix("se", x, x, own.lengths, own.variance) + own.noise * np.eye(20)

    def likelihood(m: float) -> float:
        return float(multivariate_normal.logpdf(y - m, np.zeros(20), covariance))

    assert found == pytest.approx(1e6, abs=5)
    assert likelihood(found) > max(likelihood(found - 1e-2), likelihood(found + 1e-2))
    assert best_mean(np.empty((0, 2)), np.empty(0), own, kind="se") == 0.0


# ---------------------------------------------------------------- gradients


def jax_negative_log_posterior(
    theta: Any, x: Array, y: Array, kind: Kernel, priors: Priors | None, mean: MeanKind
) -> Any:
    """The same function written from the textbook, with JAX's own automatic gradient."""
    d = x.shape[1]
    natural = jnp.exp(theta)
    lengths, variance, noise = natural[:d], natural[d], natural[d + 1]
    difference = (x[:, None, :] - x[None, :, :]) / lengths
    squared = (difference**2).sum(axis=2)
    if kind == "se":
        rho = jnp.exp(-squared / 2)
    else:
        # the root has no derivative at 0, and the kernel's there is 0
        r = jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)
        t = jnp.sqrt(3.0 if kind == "matern32" else 5.0) * r
        rho = (1 + t + (t**2 / 3 if kind == "matern52" else 0.0)) * jnp.exp(-t)
    covariance = variance * rho + noise * jnp.eye(len(x))
    factor = jnp.linalg.cholesky(covariance)

    def solve(side: Any) -> Any:
        return jax.scipy.linalg.cho_solve((factor, True), side)

    ones = jnp.ones(len(x))
    m = (ones @ solve(y)) / (ones @ solve(ones)) if mean == "constant" else 0.0
    value = 0.5 * (y - m) @ solve(y - m) + jnp.log(jnp.diag(factor)).sum() + 0.5 * len(x) * jnp.log(2 * jnp.pi)
    if priors is not None:
        for prior, part in ((priors.lengths, lengths), (priors.variance, variance), (priors.noise, noise)):
            if prior is not None:
                value -= jax.scipy.stats.gamma.logpdf(part, prior.shape, scale=1.0 / prior.rate).sum()
    return value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mean", MEANS)
@pytest.mark.parametrize("priors", [None, PRIORS, Priors(noise=GammaPrior(1.1, 0.05))], ids=["flat", "all", "noise"])
def test_gradient_against_jax_and_finite_differences(kind: Kernel, mean: MeanKind, priors: Priors | None) -> None:
    with jax.enable_x64(True):
        oracle: Callable[..., Any] = jax.value_and_grad(jax_negative_log_posterior)
        for n, d, seed in ((1, 1, 0), (8, 2, 1), (30, 5, 2), (25, 17, 3)):
            x, y = problem(n, d, seed)
            theta = random_theta(d, seed)
            expected_value, expected = oracle(jnp.asarray(theta), x, y, kind, priors, mean)
            value, gradient = negative_log_posterior(theta, x, y, kind=kind, priors=priors, mean=mean)
            assert expected.dtype == jnp.float64
            assert value == pytest.approx(float(expected_value), rel=1e-10, abs=1e-10)
            size = float(np.linalg.norm(expected))
            assert np.linalg.norm(gradient - np.asarray(expected)) <= 1e-8 * size

            def at(point: Array, x: Array = x, y: Array = y) -> float:
                return negative_log_posterior(point, x, y, kind=kind, priors=priors, mean=mean)[0]

            numerical = central_differences(at, theta)
            assert np.linalg.norm(gradient - numerical) <= 1e-6 * size


def central_differences(function: Callable[[Array], float], at: Array) -> Array:
    """Fourth-order differences: their error is about 1e-9 of the function's size."""
    steps = 1e-3 * np.eye(len(at))
    return np.array(
        [
            (8 * (function(at + h) - function(at - h)) - (function(at + 2 * h) - function(at - 2 * h))) / (12 * h.max())
            for h in steps
        ]
    )


def test_summed_posterior_is_the_sum_with_the_prior_once() -> None:
    tasks = [problem(n, 3, n) for n in (5, 12, 20)]
    tasks.append((np.empty((0, 3)), np.empty(0)))
    theta = random_theta(3, 0)
    value, gradient = summed_negative_log_posterior(theta, tasks, kind="matern52", priors=PRIORS, mean="zero")
    parts = [negative_log_posterior(theta, x, y, kind="matern52", mean="zero") for x, y in tasks]
    prior = negative_log_posterior(theta, *tasks[-1], kind="matern52", priors=PRIORS)
    assert value == pytest.approx(sum(part[0] for part in parts) + prior[0], rel=1e-12)
    np.testing.assert_allclose(gradient, sum(part[1] for part in parts) + prior[1], rtol=1e-12)


@given(shape=st.floats(0.5, 10), rate=st.floats(0.01, 20), value=st.floats(1e-3, 50))
@settings(derandomize=True)
def test_gamma_prior_against_scipy(shape: float, rate: float, value: float) -> None:
    prior = GammaPrior(shape, rate)
    distribution = gamma(shape, scale=1 / rate)
    assert prior.log_density(np.array([value]))[0] == pytest.approx(distribution.logpdf(value), rel=1e-9, abs=1e-9)
    step = 1e-5 * value
    slope = (distribution.logpdf(value + step) - distribution.logpdf(value - step)) / (2 * step)
    assert prior.derivative(np.array([value]))[0] == pytest.approx(slope, rel=1e-4, abs=1e-4 * (1 + rate))


# ---------------------------------------------------------------- fitting


def test_recovers_the_hyperparameters_that_made_the_data() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((250, 2))
    truth = Hyperparameters(np.array([0.2, 0.6]), 2.0, 0.01)
    covariance = kernel_matrix("matern52", x, x, truth.lengths, truth.variance) + truth.noise * np.eye(250)
    y = 5.0 + np.linalg.cholesky(covariance) @ rng.standard_normal(250)
    found = fit_hyperparameters(x, y, rng=rng, noise_floor=1e-6)
    np.testing.assert_allclose(np.log(found.lengths), np.log(truth.lengths), atol=0.4)
    assert np.log(found.noise) == pytest.approx(np.log(truth.noise), abs=0.4)
    assert np.log(found.variance) == pytest.approx(np.log(truth.variance), abs=1.0)


BOX = Bounds(lengths=(0.01, 100.0), variance=(1e-3, 1e3), noise=(1e-4, 10.0))


def drawn_problem(seed: int) -> tuple[Array, Array]:
    """A draw from a Gaussian process: 2 to 8 columns, 12 to 45 observations, one column in four without influence."""
    rng = np.random.default_rng([2025, seed])
    d, n = int(rng.integers(2, 9)), int(rng.integers(12, 46))
    x = rng.random((n, d))
    lengths = np.where(rng.random(d) < 0.25, 100.0, np.exp(rng.normal(np.log(0.5), 0.5, d)))
    covariance = kernel_matrix("matern52", x, x, lengths, 1.0) + 10.0 ** rng.uniform(-4, -1) * np.eye(n)
    y = np.linalg.cholesky(covariance) @ rng.standard_normal(n)
    return x, (y - y.mean()) / y.std()


def rough_problem(seed: int) -> tuple[Array, Array]:
    """A wave, a step or almost nothing but noise, unlike any draw: the likelihood has many tops."""
    rng = np.random.default_rng([2025, seed])
    d, n = int(rng.integers(2, 9)), int(rng.integers(12, 46))
    x = rng.random((n, d))
    weights = rng.normal(size=d)
    function = (np.sin(4 * x @ weights), np.sign(x @ weights - weights.sum() / 2), np.cos(9 * x[:, 0]))[seed % 3]
    y = function + (0.01, 0.1, 1.0)[seed % 3] * rng.normal(size=n)
    return x, (y - y.mean()) / y.std()


def sklearn_likelihood(x: Array, y: Array, restarts: int, seed: int, start: Array | None = None) -> float:
    """Return the largest log marginal likelihood that scikit-learn finds in BOX with a zero mean."""
    theta = np.log([1.0] * x.shape[1] + [1.0, 0.1]) if start is None else start
    natural = np.exp(theta)
    kernel = ConstantKernel(natural[-2], BOX.variance) * Matern(natural[:-2], BOX.lengths, nu=2.5)
    model = GaussianProcessRegressor(
        kernel + WhiteKernel(natural[-1], BOX.noise), alpha=0.0, n_restarts_optimizer=restarts, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns of every hyperparameter at its bound
        model.fit(x, y)
    return float(model.log_marginal_likelihood_value_)


def fitted_theta(x: Array, y: Array, seed: int) -> Array:
    found = fit_hyperparameters(x, y, mean="zero", restarts=5, rng=np.random.default_rng(seed), bounds=BOX)
    return np.log([*found.lengths, found.variance, found.noise])


def test_fitted_likelihood_is_not_worse_than_sklearns() -> None:
    """Same kernel, bounds, zero mean and number of restarts on twenty random problems."""
    shortfalls: list[float] = []
    for seed in range(20):
        x, y = drawn_problem(seed)
        ours = -dense_negative_log_likelihood("matern52", fitted_theta(x, y, seed), x, y, "zero")
        shortfalls.append(sklearn_likelihood(x, y, 5, seed) - ours)
    assert max(shortfalls) <= 1e-3, np.round(shortfalls, 4)


def test_fitted_likelihood_is_a_top_that_sklearn_cannot_climb_further() -> None:
    """Among many tops the luck of the starts decides, for us as for scikit-learn; but a top it must be."""
    gains: list[float] = []
    totals = np.zeros(2)
    for seed in range(20):
        x, y = rough_problem(seed)
        theta = fitted_theta(x, y, seed)
        ours = -dense_negative_log_likelihood("matern52", theta, x, y, "zero")
        gains.append(sklearn_likelihood(x, y, 0, seed, start=theta) - ours)
        totals += ours, sklearn_likelihood(x, y, 5, seed)
    assert max(gains) <= 1e-3, np.round(gains, 5)
    assert totals[0] >= totals[1] - 0.5, totals


def test_bounds_and_floor_are_kept() -> None:
    x, y = problem(15, 3, 0)
    box = Bounds(lengths=(0.5, 0.5), variance=(0.2, 0.3), noise=(0.05, 0.06))
    found = fit_hyperparameters(x, y, rng=np.random.default_rng(0), bounds=box)
    np.testing.assert_allclose(found.lengths, 0.5, rtol=1e-12)
    assert found.variance * (1 + 1e-12) >= 0.2
    assert found.variance <= 0.3 * (1 + 1e-12)
    assert found.noise * (1 + 1e-12) >= 0.05
    assert found.noise <= 0.06 * (1 + 1e-12)
    smooth = fit_hyperparameters(x, x.sum(axis=1), rng=np.random.default_rng(0), noise_floor=1e-3)
    assert smooth.noise >= 1e-3 * (1 - 1e-12)


def test_default_bounds_follow_the_scale_of_the_responses() -> None:
    assert default_bounds(0.5, 1e-4) == default_bounds(1.0, 1e-4)
    assert default_bounds(100.0, 1e-4).variance[1] == pytest.approx(1e6)
    assert default_bounds(1.0, 50.0).noise == (50.0, 50.0)


def test_found_point_is_stationary_and_better_than_its_start() -> None:
    x, y = problem(40, 3, 5)
    start = Hyperparameters(np.ones(3), 1.0, 0.1)
    found = fit_hyperparameters(x, y, priors=PRIORS, restarts=0, start=start, rng=np.random.default_rng(0))
    theta = np.log([*found.lengths, found.variance, found.noise])
    value, gradient = negative_log_posterior(theta, x, y, kind="matern52", priors=PRIORS)
    first, _ = negative_log_posterior(np.log([1, 1, 1, 1, 0.1]), x, y, kind="matern52", priors=PRIORS)
    assert value < first
    inside = theta > np.log([0.01, 0.01, 0.01, 1e-4, 1e-4]) + 1e-9  # at a bound the gradient need not vanish
    assert np.abs(gradient[inside]).max() < 0.05


def test_no_observations_give_the_start_back() -> None:
    start = Hyperparameters(np.array([0.3, 0.4]), 2.0, 0.1)
    empty = np.empty((0, 2)), np.empty(0)
    found = fit_hyperparameters(*empty, start=start, rng=np.random.default_rng(0))
    np.testing.assert_allclose([*found.lengths, found.variance, found.noise], [0.3, 0.4, 2.0, 0.1], rtol=1e-12)
    default = fit_hyperparameters(*empty, rng=np.random.default_rng(0))
    assert default.mean == 0.0
    assert np.isfinite([*default.lengths, default.variance, default.noise]).all()


def test_stop_ends_the_search_and_keeps_the_best_point() -> None:
    x, y = problem(30, 2, 1)
    calls: list[int] = []

    def stop() -> bool:
        calls.append(1)
        return len(calls) == 3

    found = fit_shared_hyperparameters(
        [(x, y)], columns=2, kind="se", restarts=4, rng=np.random.default_rng(0), stop=stop
    )
    assert len(calls) == 3
    theta = np.log([*found.lengths, found.variance, found.noise])
    start = np.log([0.3 * np.sqrt(2)] * 2 + [np.mean(y**2), 0.1 * np.mean(y**2)])
    values = [negative_log_posterior(point, x, y, kind="se", mean="zero")[0] for point in (theta, start)]
    assert values[0] < values[1]


def test_responses_of_any_level_and_unit_give_the_same_lengths() -> None:
    x, y = problem(25, 2, 4)
    own = [
        fit_hyperparameters(x, level + unit * y, restarts=0, rng=np.random.default_rng(0), noise_floor=1e-8 * unit**2)
        for level, unit in ((0.0, 1.0), (1e5, 1.0), (0.0, 30.0))
    ]
    for other in own[1:]:
        np.testing.assert_allclose(np.log(other.lengths), np.log(own[0].lengths), atol=0.02)
    assert own[2].variance == pytest.approx(900 * own[0].variance, rel=0.05)


def test_overflowing_responses_are_a_numerical_error() -> None:
    with pytest.raises(NumericalError, match="overflow"):
        fit_hyperparameters(np.zeros((2, 1)), np.array([1e200, -1e200]), rng=np.random.default_rng(0))


def test_equal_generators_give_equal_hyperparameters() -> None:
    x, y = problem(20, 4, 0)
    one, other = (fit_hyperparameters(x, y, rng=np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.lengths, other.lengths)
    assert (one.variance, one.noise, one.mean) == (other.variance, other.noise, other.mean)
