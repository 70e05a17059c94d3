r"""The Gaussian process whose mean and covariance are the past, averaged over a grid of hyperparameters.

Notation: S past tasks, n observations, k rows, h hypotheses about the range of the responses; g_s(x) in [0, 1] the
model of past task s; f a response scaled to [0, 1] by its task's range; W(f) = -ln(1.2 - min(f, 1)) the warp, which
spreads the good end; z = W(f); z_s = W(g_s); r = z - m residuals.

    m = mean_s z_s      F_s = z_s - m      C(x, x') = sum_s F_s(x) F_s(x') / (S - 1)                             (1)
    K = k_a C + R_l k_b + .1 v 11' + .01 v k_n I,   R_l = .3 v H o M_l,   H = .1 + .9 C / c                     (2)

v is the mean of F^2 and c the mean of C(x, x), both over rows that stand for the Space; M_l is a Matern-5/2 kernel with
one length-scale l = .7 lambda for all columns; o is the entrywise product. What the past tasks agree on is the mean,
how they differ is the covariance, and the Matern residual takes what no past task knew.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrsm
from scipy.linalg.lapack import dpotri, dpotrs

from headstart.arrays import Array, IntArray
from headstart.errors import NumericalError
from headstart.numerics.kernels import correlation, squared_distances

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
PRIOR_MODE = int(np.ravel_multi_index((3, 2, 1, 1), GRID_SHAPE))
"""Place in the grid where every scale is 1: the most probable one before any observation."""

BASE_LENGTH = 0.7
RESIDUAL_SHARE, LEVEL_SHARE, NOISE_SHARE = 0.3, 0.1, 0.01

FULL_GRID_LIMIT = 100
"""Beyond this many observations only the models that were best on the first ones are looked at again."""
MODELS_BEYOND_LIMIT = 20

_BATCH = 1 << 18  # numbers factorised at once: they stay in the processor's cache

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

    def residual_variance(self, past: Array) -> Array:
        """Return .3 v H for entries of C: what the Matern kernel is multiplied with, and R_l where it is 1."""
        similarity = past / self.diagonal if self.diagonal > 0 else np.ones_like(past)
        return RESIDUAL_SHARE * self.spread * (0.1 + 0.9 * similarity)


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
    """Hypotheses about the range of the responses, with their log prior [h]."""

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

    def log_slope(self, y: Array) -> Array:
        """Return ln(dz / dy) [h, n], which turns densities of z into densities of responses."""
        return np.log(warp_slope(self.scaled(y))) - np.log(self.width)[:, None]


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
    past: Array
    """[n, n] C."""
    residual: Array
    """[3, n, n] R_l for every length-scale of the grid."""

    def first(self, n: int) -> "Observed":
        """Return the first ``n`` observations."""
        return Observed(self.x[:n], self.mean[:n], self.factors[:n], self.past[:n, :n], self.residual[:, :n, :n])


def observe(prior: PastPrior, x: Array, features: Array) -> Observed:
    """Return rows ``x`` [n, d] with what the past says of them, ``features`` [n, S]."""
    mean, factors = prior.split(features)
    past = factors @ factors.T
    squared = _scaled_distances(x, x)
    residual = prior.residual_variance(past) * np.stack([_matern(squared, scale) for scale in LENGTH_SCALES])
    return Observed(x, mean, factors, past, residual)


def _scaled_distances(a: Array, b: Array) -> Array:
    """Return squared distances [k, n] in units of the base length."""
    v = (b - 0.5) / BASE_LENGTH  # around the middle of the cube the expanded square loses fewer digits
    return squared_distances(v if a is b else (a - 0.5) / BASE_LENGTH, v)


def _matern(squared: Array, scale: float) -> Array:
    return correlation("matern52", squared / scale**2)


def grid_log_prior() -> Array:
    """Return [grid] -(ln^2 k_a + ln^2 k_b + 4 ln^2 lambda) / (2 ln^2 9)."""
    a, b, _, scale = np.meshgrid(
        np.log(PAST_SCALES), np.log(RESIDUAL_SCALES), NOISE_SCALES, np.log(LENGTH_SCALES), indexing="ij"
    )
    return (-0.5 * (a**2 + b**2 + 4 * scale**2) / np.log(9.0) ** 2).ravel()


def covariances(prior: PastPrior, observed: Observed, models: IntArray) -> Array:
    """Return K [models, n, n] by (2), for places ``models`` in the grid."""
    a, b, noise, scale = np.unravel_index(models, GRID_SHAPE)
    n = len(observed.x)
    shared = PAST_SCALES[:, None, None] * observed.past + LEVEL_SHARE * prior.spread
    matrix = RESIDUAL_SCALES[b][:, None, None] * observed.residual[scale]
    matrix += shared[a]
    matrix[:, np.arange(n), np.arange(n)] += _noise_variance(prior, noise)[:, None]
    return matrix


def _noise_variance(prior: PastPrior, noise: IntArray) -> Array:
    return NOISE_SHARE * prior.spread * NOISE_SCALES[noise]


def log_evidence(prior: PastPrior, observed: Observed, models: IntArray, residuals: Array) -> Array:
    """Return [models, h]: log density of residuals r = z - m [h, n] under each model.

    One batched factorisation of K bordered by the residuals: the last rows of the factor are L^-1 r.
    """
    h, n = residuals.shape
    evidence = np.empty((len(models), h))
    # any diagonal above r' K^-1 r keeps the bordered matrix positive definite and leaves the wanted rows alone
    smallest = float(_noise_variance(prior, np.zeros(1, dtype=np.int64))[0])
    corner = 1.0 + 2.0 * float((residuals**2).sum()) / smallest
    step = max(1, _BATCH // (n + h) ** 2)
    for start in range(0, len(models), step):
        part = models[start : start + step]
        bordered = np.zeros((len(part), n + h, n + h))  # only the lower triangle is read
        bordered[:, :n, :n] = covariances(prior, observed, part)
        bordered[:, n:, :n] = residuals
        bordered[:, np.arange(n, n + h), np.arange(n, n + h)] = corner
        factor = _cholesky(bordered, n)
        half_log_determinant = np.log(np.diagonal(factor[:, :n, :n], axis1=1, axis2=2)).sum(axis=1)
        quadratic = (factor[:, n:, :n] ** 2).sum(axis=2)
        evidence[start : start + step] = -0.5 * quadratic - half_log_determinant[:, None] - 0.5 * n * np.log(2 * np.pi)
    return evidence


def _cholesky(matrices: Array, n: int) -> Array:
    try:
        return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"PriorGP: the covariance of {n} observations cannot be factorised. Check the responses for extreme values."
        ) from error


@dataclass(frozen=True, eq=False)
class GridWeights:
    """How probable the models of the grid are under each hypothesis about the range."""

    models: IntArray
    """[models] places in the grid."""
    log_weights: Array
    """[models, h] log posterior, not normalised."""


def weigh(prior: PastPrior, observed: Observed, y: Array, ranges: Ranges) -> GridWeights:
    """Return the posterior over models and hypotheses about the range given responses ``y`` [n].

    Beyond ``FULL_GRID_LIMIT`` observations the first ones choose the models.
    """
    residuals = warp(ranges.scaled(y)) - observed.mean
    log_slope = ranges.log_slope(y)
    log_prior = grid_log_prior()
    limit = FULL_GRID_LIMIT

    def log_posterior(models: IntArray, n: int) -> Array:
        # the density of the responses: that of z times dz / dy
        evidence = log_evidence(prior, observed.first(n), models, residuals[:, :n]) + log_slope[:, :n].sum(axis=1)
        return evidence + log_prior[models][:, None] + ranges.log_prior

    models = np.arange(GRID_SIZE)
    if len(y) > limit:
        early = log_posterior(models, limit).max(axis=1)
        models = np.sort(np.argsort(-early, kind="stable")[:MODELS_BEYOND_LIMIT])
    return GridWeights(models, log_posterior(models, len(y)))


@dataclass(frozen=True, eq=False)
class GridModel:
    """One place of the grid, conditioned on the residuals of every hypothesis about the range."""

    place: int
    prior: PastPrior
    observed: Observed
    cholesky: Array
    """[n, n] L."""
    alpha: Array
    """[h, n] K^-1 r."""

    @property
    def scales(self) -> tuple[float, float, float, float]:
        """k_a, k_b, k_n, lambda."""
        a, b, noise, length = np.unravel_index(self.place, GRID_SHAPE)
        return (
            float(PAST_SCALES[a]),
            float(RESIDUAL_SCALES[b]),
            float(NOISE_SCALES[noise]),
            float(LENGTH_SCALES[length]),
        )

    @property
    def noise_variance(self) -> float:
        """Variance of the observation noise."""
        return NOISE_SHARE * self.prior.spread * self.scales[2]

    def leave_one_out(self, z: Array, hypothesis: int) -> tuple[Array, Array]:
        """Return mean [n] and variance [n] of each noisy observation ``z`` [n] given all others."""
        inverse, _ = dpotri(self.cholesky.T, lower=0)
        variance = 1.0 / inverse.diagonal()
        return z - self.alpha[hypothesis] * variance, variance

    def task_weights(self, hypothesis: int) -> Array:
        """Return [S]: how much each z_s weighs in the part of the posterior mean that comes from the past; sums to 1.

        That part is m + sum_s a_s F_s / sqrt(S - 1) with a = k_a (F / sqrt(S - 1))' alpha, and m is the mean of z_s.
        """
        past_tasks = self.observed.factors.shape[1]
        a = self.scales[0] * self.alpha[hypothesis] @ self.observed.factors / np.sqrt(max(past_tasks - 1, 1))
        return 1.0 / past_tasks + a - a.mean()


def condition_models(
    prior: PastPrior, observed: Observed, places: Sequence[int], residuals: Array
) -> tuple[GridModel, ...]:
    """Return the models at ``places`` of the grid given residuals r [h, n]."""
    n = len(observed.x)
    if n == 0:
        return tuple(
            GridModel(place, prior, observed, np.empty((0, 0)), np.empty((len(residuals), 0))) for place in places
        )
    factors = _cholesky(covariances(prior, observed, np.array(places, dtype=np.int64)), n)
    models: list[GridModel] = []
    for place, factor in zip(places, factors, strict=True):
        # L in the order of rows is L' in the order of columns, which LAPACK takes without a copy
        alpha, _ = dpotrs(factor.T, residuals.T, lower=0)
        models.append(GridModel(int(place), prior, observed, factor, alpha.T))
    return tuple(models)


def predict_models(
    models: Sequence[GridModel], hypotheses: Sequence[IntArray], x: Array, features: Array
) -> list[tuple[Array, Array]]:
    """Return, for every model, means [c, k] and noiseless standard deviation [k] of z at rows ``x`` [k, d].

    Args:
        models: Places of the grid, all with the same observations.
        hypotheses: For each model the c hypotheses about the range whose means are wanted.
        x: [k, d] rows.
        features: [k, S] what the past says of them.
    """
    prior, observed = models[0].prior, models[0].observed
    mean, factors = prior.split(features)
    past = factors @ observed.factors.T
    past_variance = np.einsum("ks,ks->k", factors, factors)
    residual_variance = prior.residual_variance(past_variance)
    shape = prior.residual_variance(past)
    squared = _scaled_distances(x, observed.x)
    level = LEVEL_SHARE * prior.spread
    residuals: dict[float, Array] = {}
    moments: list[tuple[Array, Array]] = []
    for model, chosen in zip(models, hypotheses, strict=True):
        k_a, k_b, _, length = model.scales
        if length not in residuals:
            residuals[length] = shape * _matern(squared, length)
        cross = k_a * past
        cross += k_b * residuals[length]
        cross += level
        means = mean + model.alpha[chosen] @ cross.T
        variance = k_a * past_variance + k_b * residual_variance + level
        if cross.size:
            # L^-1 cross', in the place of cross
            whitened = dtrsm(1.0, model.cholesky.T, cross.T, lower=0, trans_a=1, overwrite_b=1).T
            variance -= np.einsum("kn,kn->k", whitened, whitened)
        moments.append((means, np.sqrt(np.maximum(variance, 0.0))))
    return moments
