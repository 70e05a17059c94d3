"""The modular prior's likelihood against SciPy, its gradient against JAX and differences."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import lognorm, multivariate_normal

from headstart.arrays import Array
from headstart.numerics.gaussian_process import GammaPrior
from headstart.numerics.modular_prior import LogNormalPrior, ModularPriors, PastAtRows, most_probable, objective, start

PRIORS = ModularPriors(weights=GammaPrior(1.7, 0.6))


def problem(n: int, d: int, m: int, seed: int) -> tuple[Array, Array, PastAtRows]:
    rng = np.random.default_rng(seed)
    x, z = rng.random((n, d)), rng.normal(size=n)
    roots = rng.normal(size=(m, n, 2)) * 0.3
    return x, z, PastAtRows(rng.normal(size=(n, m)), roots @ roots.transpose(0, 2, 1))


def some_theta(d: int, m: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.uniform(0.05, 1.5, m), rng.uniform(-1, 1, d), [rng.uniform(-2, 1), rng.uniform(-6, -3)]])


def jax_objective(theta: Any, x: Array, z: Array, means: Array, covariances: Array) -> Any:
    """The same function written from the textbook, with JAX's own automatic gradient."""
    n, d = x.shape
    m = means.shape[1]
    w, natural = theta[:m], jnp.exp(theta[m:])
    difference = (x[:, None, :] - x[None, :, :]) / natural[:d]
    k = natural[d] * jnp.exp(-0.5 * (difference**2).sum(axis=2))
    k = k + jnp.tensordot(w**2, covariances, axes=1) + natural[d + 1] * jnp.eye(n)
    value = -jax.scipy.stats.multivariate_normal.logpdf(z, means @ w, k)
    value -= jax.scipy.stats.gamma.logpdf(w, 1.7, scale=1 / 0.6).sum()
    for at, loc, scale in ((natural[:d], 0.5, 1.5), (natural[d], -2.0, 3.0), (natural[d + 1], -8.0, 2.0)):
        value -= (jax.scipy.stats.norm.logpdf(jnp.log(at), loc, scale) - jnp.log(at)).sum()
    return value


def test_gradient_against_jax_and_finite_differences() -> None:
    with jax.enable_x64(True):
        for n, d, m, seed in ((1, 1, 1, 0), (25, 5, 40, 2)):
            x, z, past = problem(n, d, m, seed)
            theta = some_theta(d, m, seed)
            expected_value, expected = jax.jit(jax.value_and_grad(jax_objective))(
                jnp.asarray(theta), x, z, past.means, past.covariances
            )
            assert expected.dtype == jnp.float64
            value, gradient = objective(theta, x, z, past, PRIORS)
            assert value == pytest.approx(float(expected_value), rel=1e-10, abs=1e-9)
            size = float(np.linalg.norm(expected))
            assert np.linalg.norm(gradient - np.asarray(expected)) <= 1e-8 * size
            h = 1e-5
            numerical = [
                (objective(theta + step, x, z, past, PRIORS)[0] - objective(theta - step, x, z, past, PRIORS)[0])
                / 2
                / h
                for step in h * np.eye(len(theta))
            ]
            assert np.linalg.norm(gradient - numerical) <= 1e-5 * size


def test_value_against_scipy_without_any_help() -> None:
    x, z, past = problem(6, 2, 2, 5)
    theta = some_theta(2, 2, 5)
    w, (l1, l2, s2, noise) = theta[:2], np.exp(theta[2:])
    k = s2 * np.exp(-0.5 * (((x[:, None] - x) / np.array([l1, l2])) ** 2).sum(axis=2))
    k += np.tensordot(w**2, past.covariances, 1) + noise * np.eye(6)
    expected = -multivariate_normal.logpdf(z, past.means @ w, k) + w.sum()  # Gamma(1, 1): -log p(w) = w
    for value, location, scale in ((l1, 0.5, 1.5), (l2, 0.5, 1.5), (s2, -2, 3), (noise, -8, 2)):
        expected -= lognorm.logpdf(value, scale, scale=np.exp(location))
    assert objective(theta, x, z, past, ModularPriors())[0] == pytest.approx(expected, rel=1e-10)


def test_log_normal_prior_against_scipy() -> None:
    prior, at = LogNormalPrior(0.5, 1.5), np.array([0.01, 0.7, 3.0, 90.0])
    np.testing.assert_allclose(prior.log_density(at), lognorm.logpdf(at, 1.5, scale=np.exp(0.5)), rtol=1e-12)
    slope = (prior.log_density(at * (1 + 1e-6)) - prior.log_density(at * (1 - 1e-6))) / (2e-6 * at)
    np.testing.assert_allclose(prior.derivative(at), slope, rtol=1e-6)


def test_search_ends_where_no_neighbour_is_better() -> None:
    for seed in range(3):
        x, z, past = problem(20, 2, 5, seed)
        weights, found = most_probable(x, z, past, ModularPriors())
        theta = np.concatenate([weights, np.log([*found.lengths, found.variance, found.noise])])
        value, _ = objective(theta, x, z, past, ModularPriors())
        assert value < objective(start(5, 2, ModularPriors()), x, z, past, ModularPriors())[0]
        rng = np.random.default_rng(seed)
        for _ in range(200):
            near = theta + rng.normal(size=len(theta)) * 0.05
            near[:5] = np.maximum(near[:5], 1e-10)
            near[-1] = np.clip(near[-1], np.log(1e-8), np.log(1e-2))
            assert objective(near, x, z, past, ModularPriors())[0] > value - 1e-3


def test_the_source_that_explains_the_target_gets_the_weight() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((25, 2))
    truth = np.sin(6 * x[:, 0]) + x[:, 1]
    means = np.stack([truth, *rng.normal(size=(4, 25))], axis=1)
    past = PastAtRows(means, np.tile(1e-3 * np.eye(25), (5, 1, 1)))
    weights, _ = most_probable(x, truth, past, ModularPriors())
    assert weights[0] == pytest.approx(1.0, abs=0.1)
    assert weights[1:].max() < 0.05


def test_without_observations_the_start_comes_back() -> None:
    past = PastAtRows(np.empty((0, 4)), np.empty((4, 0, 0)))
    weights, found = most_probable(np.empty((0, 3)), np.empty(0), past, ModularPriors())
    assert weights.tolist() == [0.25] * 4
    assert found.lengths == pytest.approx([np.exp(0.5)] * 3)
    assert found.variance == pytest.approx(np.exp(-2))
    assert found.noise == pytest.approx(np.exp(-8))
