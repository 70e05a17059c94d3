"""Forests as arrays against scikit-learn's own answers."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from headstart.errors import DataError
from headstart.numerics.forest import Forest, grow, join, leaves, predict_groups, predict_moments


def sorted_data(n: int, d: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    x = rng.random((n, d))
    y = np.sin(5 * x[:, 0]) + x.sum(axis=1) + 0.1 * rng.normal(size=n)
    order = np.lexsort((*x.T, y))
    return x[order], y[order]


def grown(
    x: Any, y: Any, *, extremely_random: bool = False, seed: int = 0, trees: int = 12, min_leaf: int = 1
) -> Forest:
    return grow(
        x,
        y,
        trees=trees,
        rng=np.random.default_rng(seed),
        extremely_random=extremely_random,
        bootstrap=not extremely_random,
        max_features=0.8,
        min_leaf=min_leaf,
    )


def of_sklearn(x: Any, y: Any, *, extremely_random: bool, seed: int = 0, trees: int = 12, min_leaf: int = 1) -> Any:
    """Return scikit-learn's forest with the seed that ``grow`` draws; rows must be sorted already."""
    kind = ExtraTreesRegressor if extremely_random else RandomForestRegressor
    state = int(np.random.default_rng(seed).integers(2**31))
    return kind(
        n_estimators=trees,
        bootstrap=not extremely_random,
        max_features=0.8,
        min_samples_leaf=min_leaf,
        random_state=state,
    ).fit(x, y)


@pytest.mark.parametrize("extremely_random", [False, True])
@pytest.mark.parametrize(("n", "d", "min_leaf"), [(1, 1, 1), (2, 3, 1), (40, 1, 1), (40, 5, 3), (200, 17, 1)])
def test_predictions_are_those_of_sklearn(extremely_random: bool, n: int, d: int, min_leaf: int) -> None:
    x, y = sorted_data(n, d, seed=n)
    forest = grown(x, y, extremely_random=extremely_random, min_leaf=min_leaf)
    model = of_sklearn(x, y, extremely_random=extremely_random, min_leaf=min_leaf)
    at = np.concatenate([x, np.random.default_rng(9).random((500, d))])
    trees = np.stack([tree.predict(at) for tree in model.estimators_], axis=1)
    reached = leaves(forest, at)
    np.testing.assert_array_equal(forest.value[reached], trees)
    np.testing.assert_allclose(predict_groups(forest, at, 1)[:, 0], model.predict(at), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        predict_groups(forest, at, 3),
        np.stack([trees[:, i : i + 4].mean(axis=1) for i in (0, 4, 8)], axis=1),
        rtol=1e-13,
    )


def test_moments_are_those_of_the_mixture_of_all_leaves() -> None:
    """Law of total variance, checked on the training rows that each leaf of scikit-learn's trees holds."""
    x, y = sorted_data(60, 3, seed=4)
    forest = grown(x, y, extremely_random=True, min_leaf=4)  # no bootstrap, so a leaf's rows are known
    model = of_sklearn(x, y, extremely_random=True, min_leaf=4)
    at = np.random.default_rng(3).random((40, 3))
    mean, within, between = predict_moments(forest, at)
    homes, reached = model.apply(x), model.apply(at)
    for row in range(len(at)):
        members = [y[homes[:, tree] == reached[row, tree]] for tree in range(12)]
        # every tree weighs the same in the mixture, whatever the size of its leaf
        values = np.concatenate(members)
        weights = np.concatenate([np.full(len(leaf), 1 / len(leaf)) for leaf in members]) / len(members)
        centre = float(weights @ values)
        assert mean[row] == pytest.approx(centre, rel=1e-10)
        assert within[row] + between[row] == pytest.approx(float(weights @ (values - centre) ** 2), rel=1e-9)
        assert between[row] == pytest.approx(np.var([leaf.mean() for leaf in members]), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("extremely_random", [False, True])
@given(seed=st.integers(0, 2**32 - 1))
@settings(derandomize=True, max_examples=10, deadline=None)
def test_the_order_of_rows_does_not_matter(extremely_random: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (20, 3)) / 3  # many ties
    y = rng.integers(0, 5, 20).astype(float)
    order = rng.permutation(20)
    one, other = (
        grown(x, y, extremely_random=extremely_random),
        grown(x[order], y[order], extremely_random=extremely_random),
    )
    for part in ("children", "feature", "threshold", "value", "variance", "roots"):
        np.testing.assert_array_equal(getattr(one, part), getattr(other, part))


def test_join_puts_forests_side_by_side() -> None:
    x, y = sorted_data(30, 4, seed=1)
    parts = [grown(x, y, seed=seed, trees=5) for seed in range(3)]
    joined = join(parts)
    at = np.random.default_rng(2).random((50, 4))
    np.testing.assert_allclose(
        predict_groups(joined, at, 3),
        np.concatenate([predict_groups(part, at, 1) for part in parts], axis=1),
        rtol=1e-14,
    )


def test_chunks_do_not_show() -> None:
    x, y = sorted_data(50, 2, seed=5)
    forest = grown(x, y, trees=100)
    at = np.random.default_rng(0).random((12_000, 2))  # more than one chunk of 2^20 row-tree pairs
    together = predict_moments(forest, at)
    apart = [predict_moments(forest, part) for part in np.array_split(at, 5)]
    for i in range(3):
        np.testing.assert_allclose(together[i], np.concatenate([part[i] for part in apart]), rtol=1e-12, atol=1e-15)


def test_the_generator_decides_and_nothing_else() -> None:
    x, y = sorted_data(30, 3, seed=1)
    np.testing.assert_array_equal(grown(x, y, seed=3).value, grown(x, y, seed=3).value)
    assert not np.array_equal(grown(x, y, seed=3).threshold, grown(x, y, seed=4).threshold)


def test_rows_are_compared_in_single_precision_as_in_sklearn() -> None:
    x = np.array([[0.1], [0.1 + 1e-9], [0.7]])  # the first two are one number in float32
    y = np.array([0.0, 1.0, 5.0])
    forest = grown(x, y, extremely_random=True)
    mean, within, _ = predict_moments(forest, x)
    np.testing.assert_allclose(mean, [0.5, 0.5, 5.0])
    np.testing.assert_allclose(within, [0.25, 0.25, 0.0], atol=1e-15)


def test_no_rows_give_no_predictions() -> None:
    forest = grown(*sorted_data(10, 2, seed=0))
    assert predict_groups(forest, np.empty((0, 2)), 2).shape == (0, 2)
    assert [len(part) for part in predict_moments(forest, np.empty((0, 2)))] == [0, 0, 0]


@pytest.mark.parametrize(
    "children",
    [[[1, 2], [0, 0], [2, 2]], [[1, 0], [1, 1], [2, 2]], [[1, 3], [1, 1], [2, 2]], [[-1, 2], [1, 1], [2, 2]]],
    ids=["back", "to itself", "outside", "negative"],
)
def test_a_forest_that_nobody_gets_out_of_is_refused(children: list[list[int]]) -> None:
    three = np.zeros(3)
    with pytest.raises(DataError, match="Forest: every node must lead to later ones"):
        Forest(np.array(children), np.zeros(3, dtype=np.int64), three, three, three, np.zeros(1, dtype=np.int64))
