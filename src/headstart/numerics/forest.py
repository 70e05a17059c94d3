"""Regression forests as plain arrays: grown by scikit-learn, kept and evaluated here.

Arrays go into safetensors like any other, and one call evaluates the forests of all past tasks side by side.

Notation: k rows, T trees. A node is an index into the arrays; a leaf is its own child. Inputs are compared in float32,
as scikit-learn does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart.arrays import Array, IntArray, Rng
from headstart.errors import DataError

_CHUNK = 1 << 16  # rows x trees walked at once: small enough for the second-level cache


@dataclass(frozen=True, eq=False)
class Forest:
    """T trees side by side."""

    children: IntArray
    """[nodes, 2] where to go when the feature is at most / above the threshold; a leaf points to itself."""
    feature: IntArray
    """[nodes] column to compare; 0 at leaves."""
    threshold: Array
    """[nodes] value to compare with."""
    value: Array
    """[nodes] mean of the training responses in the node."""
    variance: Array
    """[nodes] their variance."""
    roots: IntArray
    """[T] first node of each tree."""

    def __post_init__(self) -> None:
        """Refuse what would be walked through for ever: a forest may come from a file."""
        nodes = np.arange(len(self.value))
        first, second = self.children.T
        forward = (np.minimum(first, second) > nodes) | ((first == nodes) & (second == nodes))
        sizes = {len(part) for part in (self.children, self.feature, self.threshold, self.value, self.variance)}
        within = len(nodes) > max(self.children.max(initial=-1), self.roots.max(initial=-1))
        if len(sizes) != 1 or not forward.all() or not within or self.roots.min(initial=0) < 0:
            raise DataError("Forest: every node must lead to later ones or be a leaf. Grow it with headstart.")


def grow(
    x: Array,
    y: Array,
    *,
    trees: int,
    rng: Rng,
    extremely_random: bool,
    bootstrap: bool,
    max_features: float,
    min_leaf: int,
) -> Forest:
    """Return a forest fitted to ``x`` [n, d] and ``y`` [n]; the order of the rows does not matter.

    Settings are scikit-learn's: ``max_features`` is the share of columns tried per split, ``min_leaf`` the smallest
    leaf, ``extremely_random`` draws thresholds at random.
    """
    # 4 CPU-seconds, so only where a forest grows; scikit-learn ships no types
    from sklearn.ensemble import (  # pyright: ignore[reportMissingTypeStubs]
        ExtraTreesRegressor,
        RandomForestRegressor,
    )

    order = np.lexsort((*x.T, y))
    settings: dict[str, Any] = {
        "n_estimators": trees,
        "bootstrap": bootstrap,
        "max_features": max_features,
        "min_samples_leaf": min_leaf,
        "random_state": int(rng.integers(2**31)),
    }
    model: Any = (ExtraTreesRegressor if extremely_random else RandomForestRegressor)(**settings)
    model.fit(x[order], y[order])
    return join([_from_sklearn(estimator.tree_) for estimator in model.estimators_])


def _from_sklearn(tree: Any) -> Forest:
    nodes: IntArray = np.arange(int(tree.node_count))
    left: IntArray = np.asarray(tree.children_left)
    right: IntArray = np.asarray(tree.children_right)
    leaf = left < 0
    children = np.stack([np.where(leaf, nodes, left), np.where(leaf, nodes, right)], axis=1)
    return Forest(
        children=children.astype(np.int64),
        feature=np.where(leaf, 0, tree.feature).astype(np.int64),
        threshold=np.where(leaf, np.inf, tree.threshold),
        value=np.asarray(tree.value, dtype=np.float64).reshape(-1),
        variance=np.asarray(tree.impurity, dtype=np.float64),
        roots=np.zeros(1, dtype=np.int64),
    )


def join(forests: Sequence[Forest]) -> Forest:
    """Return one forest with the trees of all, in order."""
    offsets = np.cumsum([0, *(len(forest.value) for forest in forests)])
    return Forest(
        children=np.concatenate([f.children + o for f, o in zip(forests, offsets, strict=False)]),
        feature=np.concatenate([f.feature for f in forests]),
        threshold=np.concatenate([f.threshold for f in forests]),
        value=np.concatenate([f.value for f in forests]),
        variance=np.concatenate([f.variance for f in forests]),
        roots=np.concatenate([f.roots + o for f, o in zip(forests, offsets, strict=False)]),
    )


def leaves(forest: Forest, x: Array) -> IntArray:
    """Return [k, T]: the leaf that each row reaches in each tree."""
    rows, trees = len(x), len(forest.roots)
    x32 = np.asarray(x, dtype=np.float32)
    reached = np.empty((trees, rows), dtype=np.int64)
    # whole trees stay together in a chunk, so that their nodes stay in the cache while all rows pass
    step = max(1, _CHUNK // max(rows, 1))
    children = forest.children.reshape(-1)
    for first in range(0, trees, step):
        roots = forest.roots[first : first + step]
        node = np.repeat(roots, rows)
        row = np.tile(np.arange(rows), len(roots))
        walking = np.arange(len(node))
        while len(walking):
            here = node[walking]
            above = x32[row[walking], forest.feature[here]] > forest.threshold[here]
            there = children[2 * here + above]
            node[walking] = there
            walking = walking[there != here]
        reached[first : first + step] = node.reshape(len(roots), rows)
    return reached.T


def predict_groups(forest: Forest, x: Array, groups: int) -> Array:
    """Return [k, groups]: mean prediction of each of ``groups`` equally many consecutive trees."""
    values = np.empty((len(x), groups))
    step = max(1, (1 << 22) // max(len(forest.roots), 1))
    for first in range(0, len(x), step):
        rows = leaves(forest, x[first : first + step])
        values[first : first + step] = forest.value[rows].reshape(len(rows), groups, -1).mean(axis=2)
    return values


def predict_moments(forest: Forest, x: Array) -> tuple[Array, Array, Array]:
    """Return three arrays [k]: mean over the trees, mean of the leaf variances, variance of the tree means.

    The two variances add up to that of the mixture of all leaves (law of total variance).
    """
    mean, within, between = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    step = max(1, (1 << 20) // max(len(forest.roots), 1))
    for first in range(0, len(x), step):
        part = slice(first, first + step)
        reached = leaves(forest, x[part])
        means = forest.value[reached]
        mean[part] = means.mean(axis=1)
        within[part] = np.maximum(forest.variance[reached], 0.0).mean(axis=1)  # an impurity may round to -1e-17
        between[part] = means.var(axis=1)
    return mean, within, between
