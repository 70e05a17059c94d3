r"""The Gaussian process whose mean and covariance are the past, averaged over a grid of hyperparameters.

Notation: S past tasks, n observations, k rows; g_s(x) in [0, 1] the model of past task s; f a response scaled to [0, 1]
by its task's range; W(f) = -ln(1.2 - min(f, 1)) the warp, which spreads the good end; z = W(f); z_s = W(g_s).

    m = mean_s z_s      F_s = z_s - m      C(x, x') = sum_s F_s(x) F_s(x') / (S - 1)                             (1)
    K = k_a C + .3 v k_b H o M_l + .1 v 11' + .01 v k_n I,    H = .1 + .9 C / c                                 (2)

v is the mean of F^2 and c the mean of C(x, x), both over rows that stand for the Space; M_l is a Matern-5/2 kernel with
one length-scale l = .7 lambda for all columns; o is the entrywise product. What the past tasks agree on is the mean, how
they differ is the covariance, and the Matern residual takes what no past task knew.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from headstart.arrays import Array, IntArray
from headstart.errors import NumericalError
from headstart.numerics.kernels import kernel_matrix

PAST_SCALES = np.array([1 / 27, 1 / 9, 1 / 3, 1.0, 3.0])
"""k_a"""
RESIDUAL_SCALES = np.array([1 / 9, 1 / 3, 1.0, 3.0, 9.0])
"""k_b"""
NOISE_SCALES = np.array([1 / 9, 1.0, 9.0])
"""k_n"""
LENGTH_SCALES = np.array([0.5, 1.0, 2.0])
"""lambda"""
GRID_SHAPE = (len(PAST_SCALES), len(RESIDUAL_SCALES), len(NOISE_SCALES), len(LENGTH_SCALES))
GRID_SIZE = int(np.prod(GRID_SHAPE))

BASE_LENGTH = 0.7
RESIDUAL_SHARE, LEVEL_SHARE, NOISE_SHARE = 0.3, 0.1, 0.01

FULL_GRID_LIMIT = 100
"""Beyond this many observations only the models that were best on the first ones are looked at again."""
MODELS_BEYOND_LIMIT = 20

TOP_MARGINS = np.array([0.0, 0.03, 0.1, 0.25, 0.6])
BOTTOM_MARGINS = np.array([0.0, 0.25, 1.0, 3.0])


def warp(f: Array) -> Array:
    """Return W(f)."""
    return -np.log(1.2 - np.minimum(f, 1.0))


def warp_slope(f: Array) -> Array:
    """Return W'(f) = 1 / (1.2 - min(f, 1))."""
    return 1.0 / (1.2 - np.minimum(f, 1.0))


def unwarped_moments(mean: Array, std: Array) -> tuple[Array, Array]:
    """Return mean and deviation of f = 1.2 - exp(-z) for normal z: a shifted log-normal."""
    centre = np.exp(-mean + 0.5 * std**2)
    return 1.2 - centre, centre * np.sqrt(np.expm1(std**2))


@dataclass(frozen=True, eq=False)
class PastPrior:
    """Constants of the prior that the past decides once."""

    spread: float
    """v"""
    diagonal: float
    """c"""

    def split(self, features: Array) -> tuple[Array, Array]:
        """Return m [k] and F / sqrt(S - 1) [k, S] of features g [k, S], so that C is a plain product."""
        z = warp(features)
        mean = z.mean(axis=1)
        # a single past task has no difference to any other: C is 0 and the residual does all the work
        return mean, (z - mean[:, None]) / np.sqrt(max(z.shape[1] - 1, 1))

    def similarity(self, covariance: Array) -> Array:
        """Return H for entries of C."""
        return 0.1 + 0.9 * (covariance / self.diagonal if self.diagonal > 0 else 1.0)


def past_prior(reference_features: Array) -> PastPrior:
    """Return the constants over ``reference_features`` [k, S], rows that stand for the Space.

    With one past task, or with identical ones, F vanishes and would take residual and noise with it; a tenth of the
    variance of the mean over the Space is then the smallest v.
    """
    z = warp(reference_features)
    mean = z.mean(axis=1)
    differences = z - mean[:, None]
    spread = float((differences**2).mean())
    floor = max(0.1 * float(mean.var()), 1e-3)
    past_tasks = z.shape[1]
    diagonal = spread * past_tasks / max(past_tasks - 1, 1)
    return PastPrior(spread=max(spread, floor), diagonal=diagonal if spread > 1e-12 else 0.0)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Hypotheses about the range of the responses: with each, responses f [h, n] and log prior [h]."""

    top: Array
    bottom: Array
    log_prior: Array

    @property
    def width(self) -> Array:
        """[h] top - bottom."""
        return self.top - self.bottom

    def scaled(self, y: Array) -> Array:
        """Return f [h, n]."""
        return (y - self.bottom[:, None]) / self.width[:, None]


def known_range(bounds: tuple[float, float]) -> Ranges:
    """Return the one hypothesis that is true."""
    low, high = bounds
    return Ranges(np.array([high if high > low else low + 1.0]), np.array([low]), np.zeros(1))


def range_hypotheses(y: Array) -> Ranges:
    """Return the 20 hypotheses about the range of responses ``y`` [n >= 1] whose best possible value nobody knows."""
    low, high = float(y.min()), float(y.max())
    observed = high - low if high - low > 1e-13 * max(abs(low), abs(high)) else max(1.0, abs(high) * 1e-9)
    u, below = (axis.ravel() for axis in np.meshgrid(TOP_MARGINS, BOTTOM_MARGINS, indexing="ij"))
    top, bottom = high + u * observed, low - below * observed
    possible = top > bottom  # a constant history with no margins at all has no width
    return Ranges(top[possible], bottom[possible], np.full(int(possible.sum()), -np.log(possible.sum())))


@dataclass(frozen=True, eq=False)
class Observed:
    """The observations as the grid sees them."""

    x: Array
    """[n, d]"""
    mean: Array
    """[n] m."""
    factors: Array
    """[n, S] F / sqrt(S - 1)."""


def grid_log_prior() -> Array:
    """Return [grid] -(ln^2 k_a + ln^2 k_b + 4 ln^2 lambda) / (2 ln^2 9)."""
    a, b, _, scale = np.meshgrid(
        np.log(PAST_SCALES), np.log(RESIDUAL_SCALES), NOISE_SCALES, np.log(LENGTH_SCALES), indexing="ij"
    )
    return (-0.5 * (a**2 + b**2 + 4 * scale**2) / np.log(9.0) ** 2).ravel()


def residual_kernels(a: Array, b: Array) -> Array:
    """Return [3, k, n]: M_l for every length-scale of the grid."""
    lengths = np.ones(a.shape[1])
    return np.stack([kernel_matrix("matern52", a, b, BASE_LENGTH * scale * lengths, 1.0) for scale in LENGTH_SCALES])


def covariances(prior: PastPrior, observed: Observed, models: IntArray) -> Array:
    """Return K [models, n, n] by (2), for places ``models`` in the grid."""
    a, b, noise, scale = np.unravel_index(models, GRID_SHAPE)
    past = observed.factors @ observed.factors.T
    residual = RESIDUAL_SHARE * prior.spread * prior.similarity(past) * residual_kernels(observed.x, observed.x)
    n = len(observed.x)
    matrix = PAST_SCALES[a][:, None, None] * past + RESIDUAL_SCALES[b][:, None, None] * residual[scale]
    matrix += LEVEL_SHARE * prior.spread
    matrix[:, np.arange(n), np.arange(n)] += NOISE_SHARE * prior.spread * NOISE_SCALES[noise][:, None]
    return matrix


def log_evidence(prior: PastPrior, observed: Observed, models: IntArray, residuals: Array) -> Array:
    """Return [models, h]: log density of residuals r = z - m [h, n] under each model.

    One batched factorisation of K bordered by the residuals: the last rows of the factor are L^-1 r.
    """
    n, h = len(observed.x), len(residuals)
    matrix = covariances(prior, observed, models)
    smallest = NOISE_SHARE * prior.spread * NOISE_SCALES[0]
    bordered = np.zeros((len(models), n + h, n + h))
    bordered[:, :n, :n] = matrix
    bordered[:, n:, :n] = residuals
    # any diagonal above r' K^-1 r keeps the bordered matrix positive definite and leaves the wanted rows alone
    bordered[:, np.arange(n, n + h), np.arange(n, n + h)] = 1.0 + 2.0 * float((residuals**2).sum()) / smallest
    try:
        factor = np.linalg.cholesky(bordered)
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"PriorGP: the covariance of {n} observations cannot be factorised. Check the responses for extreme values."
        ) from error
    half_log_determinant = np.log(np.diagonal(factor[:, :n, :n], axis1=1, axis2=2)).sum(axis=1)
    quadratic = (factor[:, n:, :n] ** 2).sum(axis=2)
    return -0.5 * quadratic - half_log_determinant[:, None] - 0.5 * n * np.log(2 * np.pi)


def log_weights(prior: PastPrior, observed: Observed, residuals: Array, log_offset: Array) -> tuple[IntArray, Array]:
    """Return places in the grid [models] and log posterior weights [models, h], not normalised.

    ``log_offset`` [h] is what each hypothesis about the range gains besides the density of its residuals.
    """
    n = len(observed.x)
    models = np.arange(GRID_SIZE)
    if n > FULL_GRID_LIMIT:
        first = Observed(
            observed.x[:FULL_GRID_LIMIT], observed.mean[:FULL_GRID_LIMIT], observed.factors[:FULL_GRID_LIMIT]
        )
        early = log_evidence(prior, first, models, residuals[:, :FULL_GRID_LIMIT]) + grid_log_prior()[:, None]
        models = np.sort(np.argsort(-early.max(axis=1), kind="stable")[:MODELS_BEYOND_LIMIT])
    evidence = log_evidence(prior, observed, models, residuals)
    return models, evidence + grid_log_prior()[models][:, None] + log_offset


@dataclass(frozen=True, eq=False)
class GridModel:
    """One place of the grid, conditioned on residuals r = z - m."""

    place: int
    prior: PastPrior
    observed: Observed
    cholesky: Array
    """[n, n] L."""
    alpha: Array
    """[n] K^-1 r."""

    @property
    def noise_variance(self) -> float:
        """Variance of the observation noise."""
        return float(NOISE_SHARE * self.prior.spread * NOISE_SCALES[np.unravel_index(self.place, GRID_SHAPE)[2]])

    def predict(self, mean: Array, factors: Array, residual: Array) -> tuple[Array, Array]:
        """Return mean [k] and noiseless standard deviation [k] of z.

        Args:
            mean: [k] m at the rows.
            factors: [k, S] F / sqrt(S - 1) at the rows.
            residual: [3, k, n] ``residual_kernels`` between the rows and the observations.
        """
        place_a, place_b, _, place_l = np.unravel_index(self.place, GRID_SHAPE)
        k_a, k_b = PAST_SCALES[place_a], RESIDUAL_SCALES[place_b]
        prior, v = self.prior, self.prior.spread
        past = factors @ self.observed.factors.T
        cross = k_a * past + RESIDUAL_SHARE * v * k_b * prior.similarity(past) * residual[place_l] + LEVEL_SHARE * v
        past_diagonal = (factors**2).sum(axis=1)
        variance = k_a * past_diagonal + RESIDUAL_SHARE * v * k_b * prior.similarity(past_diagonal) + LEVEL_SHARE * v
        whitened = solve_triangular(self.cholesky, cross.T, lower=True, check_finite=False)
        variance = np.maximum(variance - (whitened**2).sum(axis=0), 0.0)
        return mean + cross @ self.alpha, np.sqrt(variance)

    def leave_one_out(self, z: Array) -> tuple[Array, Array]:
        """Return mean [n] and variance [n] of each noisy observation given all others."""
        inverse = solve_triangular(self.cholesky, np.eye(len(z)), lower=True, check_finite=False)
        diagonal = (inverse**2).sum(axis=0)
        return z - self.alpha / diagonal, 1.0 / diagonal

    def task_weights(self) -> Array:
        """Return [S]: how much each z_s weighs in the part of the posterior mean that comes from the past; sums to 1.

        That part is m + sum_s a_s F_s / sqrt(S - 1) with a = k_a (F / sqrt(S - 1))' alpha, and m is the mean of z_s.
        """
        past_tasks = self.observed.factors.shape[1]
        k_a = PAST_SCALES[np.unravel_index(self.place, GRID_SHAPE)[0]]
        a = k_a * self.observed.factors.T @ self.alpha / np.sqrt(max(past_tasks - 1, 1))
        return 1.0 / past_tasks + a - a.mean()


def condition_model(prior: PastPrior, observed: Observed, place: int, residuals: Array) -> GridModel:
    """Return the model at ``place`` of the grid given residuals r [n]."""
    matrix = covariances(prior, observed, np.array([place]))[0]
    cholesky = np.linalg.cholesky(matrix)
    half = solve_triangular(cholesky, residuals, lower=True, check_finite=False)
    alpha = solve_triangular(cholesky, half, lower=True, trans=1, check_finite=False)
    return GridModel(int(place), prior, observed, cholesky, alpha)
