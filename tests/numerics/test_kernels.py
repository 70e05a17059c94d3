"""Kernels against their textbook formulas, scikit-learn's, and finite differences."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF, Matern

from headstart.numerics.kernels import (
    Kernel,
    correlation,
    correlation_and_slope,
    kernel_matrix,
    squared_distances,
)

KINDS: list[Kernel] = ["se", "matern32", "matern52"]


def textbook(kind: Kernel, r: Any) -> Any:
    if kind == "se":
        return np.exp(-(r**2) / 2)
    if kind == "matern32":
        return (1 + np.sqrt(3) * r) * np.exp(-np.sqrt(3) * r)
    return (1 + np.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-np.sqrt(5) * r)


def of_sklearn(kind: Kernel, lengths: Any) -> Any:
    return RBF(lengths) if kind == "se" else Matern(lengths, nu=1.5 if kind == "matern32" else 2.5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [1, 2, 7, 60])
def test_kernel_matrix_against_formula_and_sklearn(kind: Kernel, d: int) -> None:
    rng = np.random.default_rng(d)
    a, b, lengths, variance = rng.random((30, d)), rng.random((20, d)), rng.uniform(0.1, 3.0, d), 1.7
    found = kernel_matrix(kind, a, b, lengths, variance)
    np.testing.assert_allclose(found, variance * textbook(kind, cdist(a / lengths, b / lengths)), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found, variance * of_sklearn(kind, lengths)(a, b), rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_kernel_of_a_matrix_with_itself(kind: Kernel) -> None:
    x = np.random.default_rng(0).random((25, 3))
    found = kernel_matrix(kind, x, x, np.array([0.2, 1.0, 5.0]), 2.5)
    assert (found.diagonal() == 2.5).all()
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(found).min() > -1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_digits_are_kept_far_from_the_origin_and_with_short_lengths(kind: Kernel) -> None:
    a = 0.999 + 1e-3 * np.random.default_rng(1).random((12, 4))
    lengths = np.full(4, 0.01)
    found = kernel_matrix(kind, a, a[:5], lengths, 1.0)
    np.testing.assert_allclose(found, textbook(kind, cdist(a / lengths, a[:5] / lengths)), rtol=0, atol=1e-7)


def test_no_rows_give_empty_matrices() -> None:
    x = np.zeros((3, 2))
    assert kernel_matrix("se", x, np.empty((0, 2)), np.ones(2), 1.0).shape == (3, 0)
    assert kernel_matrix("se", np.empty((0, 2)), x, np.ones(2), 1.0).shape == (0, 3)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 20), d=st.integers(1, 8))
@settings(derandomize=True, max_examples=60, deadline=None)
def test_squared_distances_against_scipy(seed: int, n: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(n, d)), rng.normal(size=(5, d))
    np.testing.assert_allclose(squared_distances(u, v), cdist(u, v, "sqeuclidean"), rtol=0, atol=1e-12)
    own = squared_distances(u, u)
    assert (own.diagonal() == 0.0).all()
    assert (own >= 0.0).all()


@pytest.mark.parametrize("kind", KINDS)
def test_slope_is_minus_twice_the_derivative_by_the_squared_distance(kind: Kernel) -> None:
    squared = np.concatenate([np.logspace(-3, 2, 40)])
    step = 1e-6 * squared
    rho, slope = correlation_and_slope(kind, squared.copy())
    np.testing.assert_allclose(rho, textbook(kind, np.sqrt(squared)), rtol=1e-13)
    np.testing.assert_allclose(correlation(kind, squared.copy()), rho, rtol=1e-14)
    up, down = textbook(kind, np.sqrt(squared + step)), textbook(kind, np.sqrt(squared - step))
    np.testing.assert_allclose(slope, -2 * (up - down) / (2 * step), rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(("kind", "at_zero"), [("se", 1.0), ("matern32", 3.0), ("matern52", 5.0 / 3.0)])
def test_slope_has_its_limit_at_distance_zero(kind: Kernel, at_zero: float) -> None:
    rho, slope = correlation_and_slope(kind, np.zeros(1))
    assert rho[0] == 1.0
    assert slope[0] == pytest.approx(at_zero, rel=1e-15)


@given(st.lists(st.floats(0, 1e4), min_size=2, max_size=20, unique=True))
@settings(derandomize=True, max_examples=60)
def test_correlation_falls_with_distance(squared: list[float]) -> None:
    for kind in KINDS:
        values = correlation(kind, np.sort(np.array(squared)))
        assert (np.diff(values) <= 0.0).all()
        assert ((values >= 0.0) & (values <= 1.0)).all()
