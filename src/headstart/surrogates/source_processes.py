"""One Gaussian process per past task, side by side in plain arrays: means, deviations, joint covariances.

Notation: S past tasks, N rows of all of them, k rows to predict, n_s rows of task s with covariance K_s = L_s L_s^T;
alpha_s = K_s^{-1} (z_s - m_s); mu_s(x) = m_s + k_s(x, X_s) alpha_s; V_s(x) = L_s^{-1} k_s(X_s, x), so that the
posterior covariance of task s is Sigma_s(x, x') = k_s(x, x') - V_s(x)^T V_s(x').
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dtrsm

from headstart.arrays import Array, IntArray
from headstart.numerics.gaussian_process import ConditionedGP, factorise
from headstart.numerics.kernels import Kernel, kernel_matrix
from headstart.numerics.response import AffineScale

CHUNK_ROWS = 2048
"""Rows predicted at once: [rows, n_s] then stays in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Processes:
    """The posteriors of S Gaussian processes. Predictions loop over tasks; all else is a product of matrices."""

    kind: Kernel
    x: Array
    """[N, d] rows of all tasks, one task after the other."""
    alpha: Array
    """[N] what the kernel is multiplied with, in units of the response."""
    starts: IntArray
    """[S + 1] where each task's rows begin, and N."""
    lengths: Array
    """[S, d]"""
    variance: Array
    """[S] of the kernels."""
    mean: Array
    """[S] constant means, in units of the response."""
    noise: Array
    """[S] variance of the noise."""
    unit: Array
    """[S] what 1 of the scale that a process was fitted on is worth in the response."""
    factors: Array
    """[sum of n_s^2] the L_s, column by column, where they are asked for at every suggestion; else empty."""

    @property
    def tasks(self) -> int:
        """How many there are, S."""
        return len(self.mean)

    def predict(self, x: Array, s: int) -> Array:
        """Return the posterior mean [k] of task ``s``."""
        return self.mean[s] + self._cross(x, s) @ self.alpha[self._part(s)]

    def means(self, x: Array) -> Array:
        """Return mu [k, S]."""
        found = np.empty((self.tasks, len(x)))
        for rows in _chunks(len(x)):
            for s in range(self.tasks):
                found[s, rows] = self.predict(x[rows], s)
        return np.ascontiguousarray(found.T)

    def moments(self, x: Array) -> tuple[Array, Array]:
        """Return mu [k, S] and the variances Sigma_s(x, x) [k, S]."""
        means, variances = np.empty((self.tasks, len(x))), np.empty((self.tasks, len(x)))
        for s in range(self.tasks):
            factor = self._factor(s)
            for rows in _chunks(len(x)):
                means[s, rows], whitened = self._mean_and_whitened(x[rows], s, factor)
                variances[s, rows] = self.variance[s] - np.einsum("kn,kn->k", whitened, whitened)
            variances[s] *= self.unit[s] ** 2
        np.maximum(variances, 0.0, out=variances)
        return np.ascontiguousarray(means.T), np.ascontiguousarray(variances.T)

    def joint(self, x: Array) -> tuple[Array, Array]:
        """Return mu [k, S] and all Sigma_s(x, x') [S, k, k]; for a few rows, such as those observed."""
        means, covariances = np.empty((len(x), self.tasks)), np.empty((self.tasks, len(x), len(x)))
        for s in range(self.tasks):
            means[:, s], whitened = self._mean_and_whitened(x, s, self._factor(s))
            covariances[s] = kernel_matrix(self.kind, x, x, self.lengths[s], float(self.variance[s]))
            covariances[s] -= whitened @ whitened.T
            covariances[s] *= self.unit[s] ** 2
        return means, covariances

    def against(self, x: Array, others: Array, s: int) -> tuple[Array, Array, Array]:
        """Return mu_s [k] and Sigma_s(x, x) [k] at rows ``x``, and Sigma_s(x, x') [k, n] with rows ``others``."""
        factor, unit = self._factor(s), float(self.unit[s])
        mean, a = self._mean_and_whitened(x, s, factor)
        _, b = self._mean_and_whitened(others, s, factor)
        variance = np.maximum(self.variance[s] - np.einsum("kn,kn->k", a, a), 0.0)
        covariance = kernel_matrix(self.kind, x, others, self.lengths[s], float(self.variance[s])) - a @ b.T
        return mean, unit**2 * variance, unit**2 * covariance

    def _part(self, s: int) -> slice:
        return slice(int(self.starts[s]), int(self.starts[s + 1]))

    def _cross(self, x: Array, s: int) -> Array:
        return kernel_matrix(self.kind, x, self.x[self._part(s)], self.lengths[s], float(self.variance[s]))

    def _mean_and_whitened(self, x: Array, s: int, factor: Array) -> tuple[Array, Array]:
        """Return mu_s [k] and V_s^T [k, n_s]."""
        cross = self._cross(x, s)
        mean = self.mean[s] + cross @ self.alpha[self._part(s)]
        if cross.size:
            cross = dtrsm(1.0, factor, cross.T, lower=1, overwrite_b=1).T
        return mean, cross

    def _factor(self, s: int) -> Array:
        rows = self.x[self._part(s)]
        n = len(rows)
        if len(self.factors):
            first = int((np.diff(self.starts[: s + 1]) ** 2).sum())
            return self.factors[first : first + n * n].reshape((n, n), order="F")
        covariance = kernel_matrix(self.kind, rows, rows, self.lengths[s], float(self.variance[s]))
        covariance.flat[:: n + 1] += self.noise[s]
        return factorise(covariance, float(self.variance[s]))


def side_by_side(parts: Sequence[tuple[ConditionedGP, AffineScale]], *, keep_factors: bool = False) -> Processes:
    """Return processes of one kernel as one object, with predictions in units of the responses.

    Args:
        parts: Each task's process, and the scale from responses to what it was fitted to.
        keep_factors: Keep the Cholesky factors, 8 n^2 bytes a task; they are else computed where deviations are asked.
    """
    factors = [np.ravel(process.cholesky, order="F") for process, _ in parts] if keep_factors else []
    return Processes(
        kind=parts[0][0].kind,
        x=np.concatenate([process.x for process, _ in parts]),
        alpha=np.concatenate([process.alpha * scale.unit for process, scale in parts]),
        starts=np.cumsum([0, *(len(process.y) for process, _ in parts)], dtype=np.int64),
        lengths=np.stack([process.hyperparameters.lengths for process, _ in parts]),
        variance=np.array([process.hyperparameters.variance for process, _ in parts]),
        mean=np.array([process.hyperparameters.mean * scale.unit + scale.offset for process, scale in parts]),
        noise=np.array([process.hyperparameters.noise for process, _ in parts]),
        unit=np.array([scale.unit for _, scale in parts]),
        factors=np.concatenate(factors) if factors else np.empty(0),
    )


def _chunks(rows: int) -> list[slice]:
    return [slice(first, first + CHUNK_ROWS) for first in range(0, rows, CHUNK_ROWS)]
