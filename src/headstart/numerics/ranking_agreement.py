r"""How far predictions and observations agree about which of two configurations is better.

Notation: y [n] observed; f [n, S] what S models say at the same rows. An ordered pair (i, j), i != j, is misranked by a
model if [y_i < y_j] xor [f_i < f_j]. An unordered pair then counts 0, 1 or 2: 2 where both orders are wrong, 1 where
exactly one of y and f has a tie there, so that neither agreement nor the opposite is claimed.
P = n (n - 1) / 2 unordered pairs.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Array, IntArray

Counts: TypeAlias = NDArray[np.float32]
"""0, 1 and 2 in single precision, whose products are twice as fast and exact for whole numbers below 2^24."""

_CHUNK = 1 << 21
"""Numbers compared at once."""


def pairs(n: int) -> tuple[IntArray, IntArray]:
    """Return i [P] and j [P] of all pairs with i < j."""
    i, j = np.triu_indices(n, 1)
    return i.astype(np.int64), j.astype(np.int64)


def misranked_pairs(f: Array, y: Array) -> Counts:
    """Return [P, S]: 0, 1 or 2 for each pair of observations and each model."""
    i, j = pairs(len(y))
    f_i, f_j, y_i, y_j = f[i], f[j], y[i][:, None], y[j][:, None]
    wrong = ((y_i < y_j) ^ (f_i < f_j)).astype(np.float32)
    wrong += (y_i > y_j) ^ (f_i > f_j)
    return wrong


def misranked_left_out(f: Array, y: Array) -> Counts:
    """Return [P, S] for predictions ``f`` [n, S] that are each compared with the *observed* others.

    Row i holds what is said of observation i without having seen it, so the ordered pair (i, j) is misranked if
    [y_i < y_j] xor [f_i < y_j].
    """
    i, j = pairs(len(y))
    y_i, y_j = y[i][:, None], y[j][:, None]
    wrong = ((y_i < y_j) ^ (f[i] < y_j)).astype(np.float32)
    wrong += (y_j < y_i) ^ (f[j] < y_i)
    return wrong


def discordance(f: Array, y: Array) -> Array:
    """Return [S]: the share of misranked ordered pairs, 0 with fewer than two observations.

    Over ordered pairs, because a tie in only one of y and f makes a pair's verdict depend on which of the two comes
    first; both orders together do not know who was observed first.
    """
    n, models = f.shape
    found = np.zeros(models)
    if n < 2:
        return found
    step = max(1, _CHUNK // (n * n))
    for first in range(0, models, step):
        found[first : first + step] = misranked_pairs(f[:, first : first + step], y).sum(axis=0, dtype=np.float64)
    return found / (n * (n - 1))


def ranking_distance(f: Array, target: Array) -> Array:
    r"""Return [S]: Euclidean distances of 0/1 vectors with the n^2 entries [f_i > f_j], from that of ``target`` [n]."""
    n = len(target)
    return np.sqrt(discordance(f, target) * (n * (n - 1)))


def epanechnikov(t: Array) -> Array:
    r"""Return \delta(t) = 3/4 (1 - t^2) for t <= 1, else 0."""
    return np.where(t <= 1.0, 0.75 * (1.0 - t * t), 0.0)
