r"""A Gaussian process whose prior is made of past posteriors: marginal likelihood with gradient, and its maximum.

Notation: m past tasks with posterior means \mu_i and covariances \Sigma_i; n observations (x [n, d], z [n]);
w_i >= 0 weights; k a squared-exponential kernel of its own with length-scales l_j and variance s^2;
\sigma_n^2 variance of the noise; theta = (w_1, ..., w_m, log l_1, ..., log l_d, log s^2, log \sigma_n^2).

    mean(x) = \sum_i w_i \mu_i(x),   cov(x, x') = \sum_i w_i^2 \Sigma_i(x, x') + k(x, x')                        (1)

With r = z - mean(X), K = cov(X, X) + \sigma_n^2 I, \alpha = K^{-1} r and G = (K^{-1} - \alpha \alpha^T) / 2, minus the
log likelihood L has

    dL / d w_i = -\mu_i(X)^T \alpha + 2 w_i tr(G \Sigma_i),   dL / d\vartheta = tr(G dK / d\vartheta) else.      (2)

The objective is L minus the log prior densities of the *natural* values w, l, s^2, \sigma_n^2.
"""

import contextlib
import math
from dataclasses import dataclass, field

import numpy as np
from scipy.linalg.lapack import dpotri, dpotrs

from headstart.arrays import Array, frozen
from headstart.errors import NumericalError
from headstart.numerics.gaussian_process import GammaPrior, Hyperparameters, factorise
from headstart.numerics.kernels import correlation, squared_distances


@dataclass(frozen=True)
class LogNormalPrior:
    """Density of a positive value whose logarithm is normal."""

    location: float
    scale: float

    def log_density(self, value: Array) -> Array:
        """Return log p(value), entry by entry."""
        t = (np.log(value) - self.location) / self.scale
        return -0.5 * t * t - np.log(value) - math.log(self.scale) - 0.5 * math.log(2.0 * math.pi)

    def derivative(self, value: Array) -> Array:
        """Return d log p(value) / d value, entry by entry."""
        return -(1.0 + (np.log(value) - self.location) / self.scale**2) / value


@dataclass(frozen=True)
class ModularPriors:
    """Priors and bounds; the defaults are the reference's."""

    weights: GammaPrior = field(default_factory=lambda: GammaPrior(1.0, 1.0))
    lengths: LogNormalPrior = field(default_factory=lambda: LogNormalPrior(0.5, 1.5))
    variance: LogNormalPrior = field(default_factory=lambda: LogNormalPrior(-2.0, 3.0))
    noise: LogNormalPrior = field(default_factory=lambda: LogNormalPrior(-8.0, 2.0))
    noise_bounds: tuple[float, float] = (1e-8, 1e-2)


SMALLEST_WEIGHT = 1e-10
"""Weights are positive; a prior of another shape than 1 has no density at 0."""
LENGTH_BOUNDS = (0.01, 100.0)
VARIANCE_BOUNDS = (1e-6, 1e4)


@dataclass(frozen=True, eq=False)
class PastAtRows:
    """What the past says of n rows."""

    means: Array
    r"""[n, m] \mu_i"""
    covariances: Array
    r"""[m, n, n] \Sigma_i"""


def objective(theta: Array, x: Array, z: Array, past: PastAtRows, priors: ModularPriors) -> tuple[float, Array]:
    """Return minus the log posterior density of ``theta`` up to the evidence, and its gradient [m + d + 2]."""
    n, d = x.shape
    m = past.means.shape[1]
    w, natural = theta[:m], np.exp(theta[m:])
    variance, noise = float(natural[d]), float(natural[d + 1])
    u = x / natural[:d]
    own = variance * correlation("se", squared_distances(u, u))
    flat = past.covariances.reshape(m, n * n)
    covariance = own + ((w * w) @ flat).reshape(n, n)
    covariance.flat[:: n + 1] += noise
    factor = factorise(covariance, float(covariance.diagonal().mean()))
    r = z - past.means @ w
    alpha = dpotrs(factor, r, lower=1)[0]
    value = 0.5 * (float(r @ alpha) + n * math.log(2.0 * math.pi)) + float(np.log(factor.diagonal()).sum())

    inverse, _ = dpotri(factor, lower=1)
    inverse = np.tril(inverse) + np.tril(inverse, -1).T
    g = 0.5 * (inverse - np.outer(alpha, alpha))
    gradient = np.empty(m + d + 2)
    gradient[:m] = -(alpha @ past.means) + 2.0 * w * (flat @ g.ravel())
    gradient[m + d] = float((g * own).sum())
    gradient[m + d + 1] = noise * float(g.trace())
    # d k / d log l_j = k (u_aj - u_bj)^2, and sum_ab W_ab (u_a - u_b)^2 = 2 (sum_a u_a^2 (W 1)_a - u_a (W u)_a)
    weights = g * own
    gradient[m : m + d] = 2.0 * (u * (weights.sum(axis=1)[:, None] * u - weights @ u)).sum(axis=0)

    value -= float(priors.weights.log_density(w).sum())
    gradient[:m] -= priors.weights.derivative(w)
    for prior, part in (
        (priors.lengths, slice(0, d)),
        (priors.variance, slice(d, d + 1)),
        (priors.noise, slice(d + 1, d + 2)),
    ):
        value -= float(prior.log_density(natural[part]).sum())
        gradient[m:][part] -= natural[part] * prior.derivative(natural[part])
    return value, gradient


def start(m: int, d: int, priors: ModularPriors) -> Array:
    """Return theta where the search begins: equal weights 1 / m, all else at the median of its prior."""
    medians = [priors.lengths.location] * d + [priors.variance.location, priors.noise.location]
    return np.concatenate([np.full(m, 1.0 / m), medians])


def most_probable(
    x: Array, z: Array, past: PastAtRows, priors: ModularPriors, *, max_iterations: int = 200
) -> tuple[Array, Hyperparameters]:
    """Return the weights [m] and the hyperparameters of k and noise that minimise ``objective``.

    One L-BFGS search from ``start``; where it breaks down, the best point that it had reached counts. Without
    observations, the start.
    """
    n, d = x.shape
    m = past.means.shape[1]
    best, smallest = start(m, d, priors), math.inf
    if n:
        from scipy.optimize import Bounds, minimize  # slow to import, and prediction alone does not need it

        limits = [LENGTH_BOUNDS] * d + [VARIANCE_BOUNDS, priors.noise_bounds]
        low = np.concatenate([np.full(m, SMALLEST_WEIGHT), np.log([bound[0] for bound in limits])])
        high = np.concatenate([np.full(m, np.inf), np.log([bound[1] for bound in limits])])

        def keep_best(theta: Array) -> tuple[float, Array]:
            nonlocal best, smallest
            value, gradient = objective(theta, x, z, past, priors)
            if not (math.isfinite(value) and np.isfinite(gradient).all()):
                raise NumericalError("ScaMLGP: the marginal likelihood is not finite. Scale the responses.")
            if value < smallest:
                best, smallest = theta.copy(), value
            return value, gradient

        with contextlib.suppress(NumericalError):
            minimize(
                keep_best,
                np.clip(best, low, high),
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(low, high),
                options={"maxiter": max_iterations, "ftol": 1e-7, "gtol": 1e-4},
            )
    natural = np.exp(best[m:])
    return frozen(best[:m]), Hyperparameters(frozen(natural[:d]), float(natural[d]), float(natural[d + 1]))
