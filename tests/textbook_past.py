"""The prior that past tasks make, written out entry by entry: slow, and independent of the library."""

import math

import numpy as np
from numpy.typing import NDArray

ROWS, PAST_TASKS, COLUMNS = 14, 5, 3


def a_past(seed: int = 0, rows: int = ROWS, past_tasks: int = PAST_TASKS) -> tuple[NDArray, NDArray]:
    """Return rows x [rows, d] and features g [rows, S] that share a trend."""
    rng = np.random.default_rng(seed)
    x = rng.random((rows, COLUMNS))
    return x, np.clip(0.4 * rng.random((rows, past_tasks)) + 0.6 * x[:, :1], 0.0, 1.0)


def written_out(
    x: NDArray, g: NDArray, reference: NDArray, scales: tuple[float, float, float, float]
) -> tuple[NDArray, NDArray, float]:
    """Return mean [n], noiseless covariance [n, n] and noise variance, by loops over the definition.

    ``reference`` [k, S] are the features over which v and c are taken.
    """
    k_a, k_b, k_n, scale = scales
    tasks = g.shape[1]
    w = [[-math.log(1.2 - value) for value in row] for row in g]
    w_reference = [[-math.log(1.2 - value) for value in row] for row in reference]

    def mean_of(row: list[float]) -> float:
        return sum(row) / tasks

    def covariance_of(a: list[float], b: list[float]) -> float:
        return sum((a[s] - mean_of(a)) * (b[s] - mean_of(b)) for s in range(tasks)) / (tasks - 1)

    v = sum((value - mean_of(row)) ** 2 for row in w_reference for value in row) / (len(w_reference) * tasks)
    means = [mean_of(row) for row in w_reference]
    level = sum(means) / len(means)
    # past tasks that all but agree: v is at least a tenth of the variance of their mean
    v = max(v, 0.1 * sum((value - level) ** 2 for value in means) / len(means))
    c = sum(covariance_of(row, row) for row in w_reference) / len(w_reference)
    covariance = np.empty((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            r = math.sqrt(sum((x[i, a] - x[j, a]) ** 2 for a in range(x.shape[1]))) / (0.7 * scale)
            matern = (1 + math.sqrt(5) * r + 5 / 3 * r * r) * math.exp(-math.sqrt(5) * r)
            past = covariance_of(w[i], w[j])
            covariance[i, j] = k_a * past + 0.3 * v * k_b * (0.1 + 0.9 * past / c) * matern + 0.1 * v
    return np.array([mean_of(row) for row in w]), covariance, 0.01 * v * k_n


def scales_of(place: int) -> tuple[float, float, float, float]:
    """Return k_a, k_b, k_n, lambda at a place of the grid, counted by hand: lambda runs fastest, k_a slowest."""
    a, rest = divmod(place, 45)
    b, rest = divmod(rest, 9)
    noise, scale = divmod(rest, 3)
    return [1 / 27, 1 / 9, 1 / 3, 1, 3][a], [1 / 9, 1 / 3, 1, 3, 9][b], [1 / 9, 1, 9][noise], [0.5, 1, 2][scale]
