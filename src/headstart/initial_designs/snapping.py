"""From points of the unit cube to distinct rows of a pool."""

import numpy as np

from headstart.arrays import Array
from headstart.data import Candidates, TaskData
from headstart.numerics.kernels import squared_distances

SAME_ROW = 1e-9
"""Rows nearer than this in every column are the same configuration."""


def unseen_rows(candidates: Candidates, observed: TaskData) -> Array:
    """Return the distinct candidate rows [k, d] in their order, without those that were observed."""
    x = candidates.x
    keys = np.round(np.concatenate([observed.x, x]) / SAME_ROW)
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = np.arange(len(observed), len(keys))
    return x[first[group.ravel()[place]] == place]


def nearest_distinct(points: Array, rows: Array) -> Array:
    """Return, for one point after the other, the nearest row not yet taken; fewer when the rows run out."""
    taken: list[int] = []
    distances = squared_distances(points, rows)
    for distance in distances[: len(rows)]:
        distance[taken] = np.inf
        taken.append(int(np.argmin(distance)))
    return rows[taken]
