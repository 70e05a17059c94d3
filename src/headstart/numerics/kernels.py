r"""Stationary kernels with one length-scale per column, and the slopes that their gradients need.

Notation: a [k, d] and b [n, d] rows; l [d] length-scales; s^2 variance (the kernel at distance 0);
r^2 = \sum_j (a_j - b_j)^2 / l_j^2; rho(r) the correlation, so that k(a, b) = s^2 rho(r).

    se        rho = exp(-r^2 / 2)
    matern32  rho = (1 + t) exp(-t),             t = \sqrt{3} r
    matern52  rho = (1 + t + t^2 / 3) exp(-t),   t = \sqrt{5} r

All three are smooth functions of r^2, so one slope w = -2 d rho / d r^2 serves every length-scale:
d rho / d log l_j = w (a_j - b_j)^2 / l_j^2, without any division by r.
"""

from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array

Kernel: TypeAlias = Literal["se", "matern32", "matern52"]

_SQRT3 = 3.0**0.5
_SQRT5 = 5.0**0.5


def kernel_matrix(kind: Kernel, a: Array, b: Array, lengths: Array, variance: float) -> Array:
    """Return k(a, b) [k, n]."""
    if len(a) == 0 or len(b) == 0:
        return np.zeros((len(a), len(b)))
    # distances do not change when all rows move; near the origin the expanded square loses fewer digits
    centre = b.mean(axis=0)
    v = (b - centre) / lengths
    u = v if a is b else (a - centre) / lengths
    rho = correlation(kind, squared_distances(u, v))
    rho *= variance
    return rho


def squared_distances(u: Array, v: Array) -> Array:
    """Return the squared Euclidean distances [k, n] between rows of ``u`` [k, d] and ``v`` [n, d].

    One matrix product, |u|^2 + |v|^2 - 2 u.v; rounding below 0 is cut off, and between a matrix and itself (the same
    object) the diagonal is exactly 0.
    """
    squared = u @ v.T
    squared *= -2.0
    squared += np.einsum("kd,kd->k", u, u)[:, None]
    squared += np.einsum("nd,nd->n", v, v)
    np.maximum(squared, 0.0, out=squared)
    if u is v:
        squared.flat[:: len(u) + 1] = 0.0
    return squared


def correlation(kind: Kernel, squared: Array) -> Array:
    """Return rho for squared scaled distances of any shape; ``squared`` is overwritten."""
    if kind == "se":
        squared *= -0.5
        return np.exp(squared, out=squared)
    t = np.sqrt(squared, out=squared)
    t *= _SQRT3 if kind == "matern32" else _SQRT5
    decay = np.exp(-t)
    if kind == "matern32":
        t += 1.0
    else:
        t *= t / 3.0 + 1.0  # t + t^2 / 3
        t += 1.0
    t *= decay
    return t


def correlation_and_slope(kind: Kernel, squared: Array) -> tuple[Array, Array]:
    """Return rho and w = -2 d rho / d r^2 for squared scaled distances of any shape; ``squared`` is overwritten."""
    if kind == "se":
        squared *= -0.5
        rho = np.exp(squared, out=squared)
        return rho, rho
    t = np.sqrt(squared, out=squared)
    t *= _SQRT3 if kind == "matern32" else _SQRT5
    decay = np.exp(-t)
    if kind == "matern32":
        t += 1.0
        t *= decay
        decay *= 3.0
        return t, decay
    # with e = exp(-t): w = 5/3 (1 + t) e and rho = (1 + t) e + t^2 e / 3
    squares = t * t
    squares *= decay
    squares /= 3.0
    t += 1.0
    t *= decay
    squares += t
    t *= 5.0 / 3.0
    return squares, t
