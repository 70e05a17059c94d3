r"""Exact Gaussian-process regression: marginal likelihood with its gradient, fitting, and the posterior.

Notation: n observations (x [n, d], y [n]); l [d] length-scales; s^2 variance; \sigma_n^2 noise variance; m constant
mean; K = k(x, x) + \sigma_n^2 I = L L^T; \alpha = K^{-1} (y - m); theta = log(l_1, ..., l_d, s^2, \sigma_n^2).

    -log p(y) = (y - m)^T \alpha / 2 + \log|K| / 2 + n \log(2 \pi) / 2                                          (1)
    d(-log p) / d\vartheta = tr(G dK/d\vartheta),   G = (K^{-1} - \alpha \alpha^T) / 2                          (2)
    m = 1^T K^{-1} y / 1^T K^{-1} 1      (generalised least squares: the m that minimises (1))                  (3)
    \mu(x*) = m + k*^T \alpha,   \sigma^2(x*) = s^2 - |L^{-1} k*|^2                                             (4)
    without point i: mean y_i - \alpha_i / [K^{-1}]_ii, variance 1 / [K^{-1}]_ii of its noisy observation       (5)

With (3) put into (1) the gradient stays (2): at the minimising m the derivative with respect to m is 0.
"""

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeAlias

import numpy as np
from scipy.linalg.blas import dsymm, dsyr, dtrsm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from headstart.arrays import Array, Rng, frozen
from headstart.errors import NumericalError
from headstart.numerics.kernels import Kernel, correlation_and_slope, kernel_matrix, squared_distances

MeanKind: TypeAlias = Literal["constant", "zero"]

JITTERS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4)
"""Shares of the variance added to the diagonal, one after the other, until the factorisation succeeds."""

_LOG_2PI = math.log(2.0 * math.pi)


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """What is learned about a Gaussian process besides its data."""

    lengths: Array
    """[d] length-scales."""
    variance: float
    """s^2 of the function."""
    noise: float
    """Variance of the observation noise."""
    mean: float = 0.0
    """Constant mean."""


@dataclass(frozen=True)
class GammaPrior:
    """Gamma density with ``shape`` and ``rate``."""

    shape: float
    rate: float

    def log_density(self, value: Array) -> Array:
        """Return log p(value), entry by entry."""
        constant = self.shape * math.log(self.rate) - math.lgamma(self.shape)
        return constant + (self.shape - 1.0) * np.log(value) - self.rate * value

    def derivative(self, value: Array) -> Array:
        """Return d log p(value) / d value, entry by entry."""
        return (self.shape - 1.0) / value - self.rate


@dataclass(frozen=True)
class Priors:
    """Independent priors on the natural scale; None is a flat one. Every length-scale has the same."""

    lengths: GammaPrior | None = None
    variance: GammaPrior | None = None
    noise: GammaPrior | None = None


@dataclass(frozen=True)
class Bounds:
    """Lowest and highest value of each hyperparameter; equal ends keep it fixed."""

    lengths: tuple[float, float]
    variance: tuple[float, float]
    noise: tuple[float, float]


def factorise(matrix: Array, scale: float) -> Array:
    """Return the lower Cholesky factor [n, n] of a symmetric ``matrix``, with as little jitter as it takes.

    Raises:
        NumericalError: not even 1e-4 times ``scale`` on the diagonal makes it positive definite.
    """
    for jitter in JITTERS:
        jittered = matrix.T  # in the column order of LAPACK, without a copy
        if jitter:
            jittered = jittered.copy(order="F")
            jittered.flat[:: len(matrix) + 1] += jitter * scale
        factor, info = dpotrf(jittered, lower=1, clean=1, overwrite_a=0)
        if info == 0 and np.isfinite(factor.diagonal()).all():
            return factor
    raise NumericalError(
        f"Gaussian process: the {len(matrix)} x {len(matrix)} covariance matrix cannot be factorised, even with jitter "
        f"{JITTERS[-1]:g} of its variance {scale:g}. Check the responses for extreme values, or raise noise_floor."
    )


def negative_log_posterior(
    theta: Array, x: Array, y: Array, *, kind: Kernel, priors: Priors | None = None, mean: MeanKind = "constant"
) -> tuple[float, Array]:
    """Return minus the log posterior density of ``theta`` up to the evidence, and its gradient [d + 2].

    Without priors it is minus the log marginal likelihood (1). A constant mean is the best one, (3).
    """
    return summed_negative_log_posterior(theta, ((x, y),), kind=kind, priors=priors, mean=mean)


def summed_negative_log_posterior(
    theta: Array,
    tasks: Sequence[tuple[Array, Array]],
    *,
    kind: Kernel,
    priors: Priors | None = None,
    mean: MeanKind = "constant",
) -> tuple[float, Array]:
    """Return the same for several tasks (x, y) that share ``theta``; each has a constant mean of its own."""
    natural = np.exp(theta)
    value, gradient = _negative_log_prior(natural, priors)
    for x, y in tasks:
        if len(y):
            one_value, one_gradient = _negative_log_likelihood(natural, x, y, kind, mean)
            value += one_value
            gradient += one_gradient
    return value, gradient


def _negative_log_prior(natural: Array, priors: Priors | None) -> tuple[float, Array]:
    """Return the prior's part and its gradient with respect to the logarithms; densities are those of the values."""
    value, gradient = 0.0, np.zeros(len(natural))
    if priors is not None:
        d = len(natural) - 2
        parts = ((priors.lengths, slice(0, d)), (priors.variance, slice(d, d + 1)), (priors.noise, slice(d + 1, d + 2)))
        for prior, part in parts:
            if prior is not None:
                value -= float(prior.log_density(natural[part]).sum())
                gradient[part] = -natural[part] * prior.derivative(natural[part])
    return value, gradient


def _negative_log_likelihood(natural: Array, x: Array, y: Array, kind: Kernel, mean: MeanKind) -> tuple[float, Array]:
    n, d = x.shape
    lengths, variance, noise = natural[:d], float(natural[d]), float(natural[d + 1])
    u = x / lengths
    rho, slope = correlation_and_slope(kind, squared_distances(u, u))
    covariance = variance * rho
    covariance.flat[:: n + 1] += noise
    factor = factorise(covariance, variance)
    m, alpha = _mean_and_alpha(factor, y, mean)
    fit = float((y - m) @ alpha)
    value = 0.5 * (fit + n * _LOG_2PI) + float(np.log(factor.diagonal()).sum())

    # 2 G, lower triangle only, in place of the inverse
    weights, _ = dpotri(factor, lower=1, overwrite_c=1)
    weights = dsyr(-1.0, alpha, a=weights, lower=1, overwrite_a=1)
    trace = float(weights.trace())
    gradient = np.empty(d + 2)
    gradient[d + 1] = 0.5 * noise * trace
    gradient[d] = 0.5 * (n - fit - noise * trace)  # tr(G K) without its noise part
    # sum_ab W_ab (u_aj - u_bj)^2 = 2 sum_a u_aj^2 (W 1)_a - 2 sum_a u_aj (W u)_aj,  W = s^2 G slope
    weights *= slope.T
    padded = np.ones((n, d + 1), order="F")
    padded[:, :d] = u
    product = dsymm(variance, weights, padded, lower=1)
    gradient[:d] = np.einsum("nd,nd->d", u, u * product[:, d:] - product[:, :d])
    return value, gradient


def _mean_and_alpha(factor: Array, y: Array, mean: MeanKind) -> tuple[float, Array]:
    """Return m by (3), or 0, and alpha."""
    if mean == "zero":
        return 0.0, dpotrs(factor, y, lower=1)[0]
    sides = np.ones((len(y), 2), order="F")
    sides[:, 0] = y
    solved, _ = dpotrs(factor, sides, lower=1, overwrite_b=1)
    m = float(solved[:, 0].sum() / solved[:, 1].sum())
    return m, solved[:, 0] - m * solved[:, 1]


def best_mean(x: Array, y: Array, hyperparameters: Hyperparameters, *, kind: Kernel) -> float:
    """Return the constant mean that maximises the likelihood given the other hyperparameters, (3)."""
    if len(y) == 0:
        return 0.0
    centre = float(y.mean())  # the sums in (3) then keep the digits of responses far from 0
    return centre + _mean_and_alpha(_factor(x, hyperparameters, kind), y - centre, "constant")[0]


def _factor(x: Array, hyperparameters: Hyperparameters, kind: Kernel) -> Array:
    covariance = kernel_matrix(kind, x, x, hyperparameters.lengths, hyperparameters.variance)
    covariance.flat[:: len(x) + 1] += hyperparameters.noise
    return factorise(covariance, hyperparameters.variance)


def default_bounds(scale: float, noise_floor: float) -> Bounds:
    """Return bounds for inputs in the unit cube and responses whose mean square (around a free mean) is ``scale``.

    A length-scale beyond 100 cannot be told from an absent column, one below 0.01 hardly from white noise.
    """
    scale = max(scale, 1.0)
    noise = (noise_floor, max(noise_floor, 10.0 * scale))
    return Bounds(lengths=(0.01, 100.0), variance=(1e-4, 1e4 * scale), noise=noise)


def fit_hyperparameters(
    x: Array,
    y: Array,
    *,
    kind: Kernel = "matern52",
    priors: Priors | None = None,
    mean: MeanKind = "constant",
    restarts: int = 2,
    rng: Rng,
    start: Hyperparameters | None = None,
    noise_floor: float = 1e-4,
    bounds: Bounds | None = None,
    max_iterations: int = 100,
) -> Hyperparameters:
    """Return the hyperparameters of largest posterior density: L-BFGS from ``start`` and ``restarts`` random points.

    Where an optimisation breaks down, the best point that it had reached counts. Without observations ``start`` or a
    default comes back.

    Args:
        x: [n, d] rows of the unit cube.
        y: [n] responses, of a scale near 1.
        kind: The kernel.
        priors: None maximises the marginal likelihood.
        mean: "constant" by (3), or "zero".
        restarts: Random starts besides the first one.
        rng: Draws the random starts.
        start: Where the first optimisation begins; a default for responses of any scale when None.
        noise_floor: Smallest noise variance, where ``bounds`` do not say.
        bounds: ``default_bounds`` when None.
        max_iterations: L-BFGS iterations per start.
    """
    found = fit_shared_hyperparameters(
        ((x, y),),
        columns=x.shape[1],
        kind=kind,
        priors=priors,
        mean=mean,
        restarts=restarts,
        rng=rng,
        start=start,
        noise_floor=noise_floor,
        bounds=bounds,
        max_iterations=max_iterations,
    )
    if mean == "zero":
        return found
    return replace(found, mean=best_mean(x, y, found, kind=kind))


def fit_shared_hyperparameters(
    tasks: Sequence[tuple[Array, Array]],
    *,
    columns: int,
    kind: Kernel,
    priors: Priors | None = None,
    mean: MeanKind = "zero",
    restarts: int = 0,
    rng: Rng,
    start: Hyperparameters | None = None,
    noise_floor: float = 1e-4,
    bounds: Bounds | None = None,
    max_iterations: int = 100,
    stop: Callable[[], bool] | None = None,
) -> Hyperparameters:
    """Return the hyperparameters that serve several tasks (x, y) best together; their ``mean`` is 0.

    The arguments are those of ``fit_hyperparameters``; ``columns`` is d, and a constant mean is each task's own.
    ``stop`` is asked after every iteration, and the best point so far is returned once it says True.
    """
    # neither the distances nor, with a free mean, the likelihood notice the shifts; rounding errors do
    shift = 1.0 if mean == "constant" else 0.0
    tasks = tuple((x - x.mean(axis=0), y - shift * y.mean()) for x, y in tasks if len(y))
    scale = _mean_square([y for _, y in tasks])
    limits = default_bounds(scale, noise_floor) if bounds is None else bounds
    low, high = _log_limits(limits, columns, 0), _log_limits(limits, columns, 1)
    first = _default_start(columns, scale) if start is None else _pack(start)
    best = np.clip(first, low, high)
    if tasks:
        objective = partial(summed_negative_log_posterior, tasks=tasks, kind=kind, priors=priors, mean=mean)
        starts = [best, *(_random_start(columns, scale, low, high, rng) for _ in range(restarts))]
        best = _minimise(objective, starts, low, high, max_iterations, stop)
    natural = np.exp(best)
    return Hyperparameters(frozen(natural[:columns]), float(natural[columns]), float(natural[columns + 1]))


def _log_limits(bounds: Bounds, d: int, end: int) -> Array:
    return np.log([bounds.lengths[end]] * d + [bounds.variance[end], bounds.noise[end]])


def _pack(hyperparameters: Hyperparameters) -> Array:
    return np.log([*hyperparameters.lengths, hyperparameters.variance, hyperparameters.noise])


def _default_start(d: int, scale: float) -> Array:
    # Typical distances in the cube grow with sqrt(d), and so must the length-scales for a kernel that is not white.
    # A start with longer ones or less noise is steep, and its first step lands on the flat far end of the bounds:
    # without priors it missed the best optimum of 6 to 16 columns twice as often.
    variance = scale if scale > 0.0 else 1.0
    return np.log([0.3 * math.sqrt(d)] * d + [variance, 0.1 * variance])


def _random_start(d: int, scale: float, low: Array, high: Array, rng: Rng) -> Array:
    spread = np.log([6.0] * d + [4.0, 30.0])
    return np.clip(_default_start(d, scale) + spread * rng.uniform(-1.0, 1.0, d + 2), low, high)


def _mean_square(responses: Sequence[Array]) -> float:
    """Return the mean square of all responses, 1 where there are none."""
    count = sum(len(y) for y in responses)
    with np.errstate(over="ignore"):
        scale = sum(float(np.square(y).sum()) for y in responses) / count if count else 1.0
    if not math.isfinite(scale):
        raise NumericalError("Gaussian process: the squares of the responses overflow. Scale them to near 1 first.")
    return scale


def _minimise(
    objective: Callable[[Array], tuple[float, Array]],
    starts: Sequence[Array],
    low: Array,
    high: Array,
    max_iterations: int,
    stop: Callable[[], bool] | None,
) -> Array:
    """Return the best point that L-BFGS-B sees from any start; an evaluation that fails ends the search from there."""
    from scipy.optimize import Bounds as Box  # slow to import, and prediction alone does not need it
    from scipy.optimize import minimize

    best, smallest, stopped = starts[0], math.inf, False

    def keep_best(theta: Array) -> tuple[float, Array]:
        nonlocal best, smallest
        value, gradient = objective(theta)
        if not (math.isfinite(value) and np.isfinite(gradient).all()):
            raise NumericalError("Gaussian process: the marginal likelihood is not finite. Scale the responses.")
        if value < smallest:
            best, smallest = theta.copy(), value
        return value, gradient

    def after_iteration(xk: Array) -> None:  # SciPy looks at the name of the argument
        nonlocal stopped
        stopped = stop is not None and stop()
        if stopped:
            raise StopIteration  # SciPy's way to be told

    for start in starts:
        if not stopped:
            with contextlib.suppress(NumericalError):
                minimize(
                    keep_best,
                    start,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=Box(low, high),
                    callback=after_iteration,
                    options={"maxiter": max_iterations, "ftol": 1e-7, "gtol": 1e-4},
                )
    return best


@dataclass(frozen=True, eq=False)
class ConditionedGP:
    """A Gaussian process given its hyperparameters and n >= 0 observations."""

    x: Array
    """[n, d]"""
    y: Array
    """[n]"""
    cholesky: Array
    """[n, n] L."""
    alpha: Array
    """[n]"""
    hyperparameters: Hyperparameters
    kind: Kernel

    def predict(self, x: Array) -> tuple[Array, Array]:
        """Return mean [k] and standard deviation [k] of the noiseless function at rows ``x`` [k, d], (4)."""
        mean, whitened = self._mean_and_whitened(x)
        variance = self.hyperparameters.variance - np.einsum("kn,kn->k", whitened, whitened)
        return mean, np.sqrt(np.maximum(variance, 0.0))

    def leave_one_out(self) -> tuple[Array, Array]:
        """Return mean [n] and variance [n] of each noisy observation given all others, (5); nothing is fitted again."""
        if len(self.y) == 0:
            return np.empty(0), np.empty(0)
        inverse, _ = dpotri(self.cholesky, lower=1)
        variance = 1.0 / inverse.diagonal()
        return self.y - self.alpha * variance, variance

    def sample(self, x: Array, n: int, rng: Rng) -> Array:
        """Return ``n`` joint draws [n, k] of the noiseless function at rows ``x`` [k, d]; costs O(k^3)."""
        mean, whitened = self._mean_and_whitened(x)
        own = self.hyperparameters
        covariance = kernel_matrix(self.kind, x, x, own.lengths, own.variance) - whitened @ whitened.T
        return mean + rng.standard_normal((n, len(x))) @ factorise(covariance, own.variance).T

    def _mean_and_whitened(self, x: Array) -> tuple[Array, Array]:
        """Return the mean [k] and (L^{-1} k*)^T [k, n]."""
        own = self.hyperparameters
        cross = kernel_matrix(self.kind, x, self.x, own.lengths, own.variance)
        mean = own.mean + cross @ self.alpha
        if cross.size:
            cross = dtrsm(1.0, self.cholesky, cross.T, lower=1, overwrite_b=1).T
        return mean, cross


def condition(x: Array, y: Array, hyperparameters: Hyperparameters, *, kind: Kernel) -> ConditionedGP:
    """Return the posterior given observations ``x`` [n, d], ``y`` [n]; the prior itself for n = 0.

    Raises:
        NumericalError: the covariance matrix cannot be factorised.
    """
    if len(y) == 0:
        return ConditionedGP(x, y, np.empty((0, 0)), np.empty(0), hyperparameters, kind)
    factor = _factor(x, hyperparameters, kind)
    alpha, _ = dpotrs(factor, y - hyperparameters.mean, lower=1)
    return ConditionedGP(x, y, factor, alpha, hyperparameters, kind)
