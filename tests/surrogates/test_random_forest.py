"""The random forest as a surrogate: against scikit-learn's own forest, and its settings."""

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor

from headstart.data import TaskData
from headstart.errors import DataError, SettingsError
from headstart.surrogates import RandomForest
from headstart.testing.surrogates import check_row_order


def data(n: int, d: int = 4, seed: int = 0) -> TaskData:
    rng = np.random.default_rng([seed, n, d])
    x = rng.random((n, d))
    return TaskData(x, 5.0 + 2.0 * (x[:, 0] > 0.5) + x[:, 1] + 0.05 * rng.normal(size=n))


def of_sklearn(task: TaskData, trees: int, leaf: int, seed: int, *, bootstrap: bool = True) -> tuple[Any, Any, Any]:
    """Return scikit-learn's forest with the settings of the specification, on standardised rows in sorted order."""
    order = np.lexsort((*task.x.T, task.y))
    x, y = task.x[order], task.y[order]
    z = (y - y.mean()) / y.std()  # sorted first: of equally good splits, rounding decides
    model = RandomForestRegressor(
        n_estimators=trees,
        bootstrap=bootstrap,
        max_features=5 / 6,
        min_samples_leaf=leaf,
        random_state=int(np.random.default_rng(seed).integers(2**31)),
    )
    return model.fit(x, z), x, z


@pytest.mark.parametrize(("n", "leaf"), [(20, 1), (21, 3), (60, 3)])
def test_mean_and_between_tree_deviation_are_those_of_sklearn(n: int, leaf: int) -> None:
    task, at = data(n), np.random.default_rng(1).random((200, 4))
    model, _, _ = of_sklearn(task, 100, leaf, seed=3)
    trees = np.stack([tree.predict(at) for tree in model.estimators_])
    for variance in ("total", "between-trees"):
        found = RandomForest(variance=variance).fit(task, rng=np.random.default_rng(3)).predict(at)
        np.testing.assert_allclose(found.mean, trees.mean(axis=0), rtol=0, atol=1e-10)
    np.testing.assert_allclose(found.std, np.sqrt(np.maximum(trees.var(axis=0), 1e-6)), rtol=1e-9)
    assert found.noise == 0.0


def test_total_variance_adds_the_variance_within_leaves() -> None:
    task, at = data(60), np.random.default_rng(1).random((50, 4))
    model, x, z = of_sklearn(task, 10, 3, seed=3, bootstrap=False)  # a leaf's rows are then all that fall into it
    found = RandomForest(trees=10, bootstrap=False).fit(task, rng=np.random.default_rng(3)).predict(at)
    homes, reached = model.apply(x), model.apply(at)
    within = np.array(
        [np.mean([z[homes[:, tree] == reached[row, tree]].var() for tree in range(10)]) for row in range(50)]
    )
    between = np.stack([tree.predict(at) for tree in model.estimators_]).var(axis=0)
    np.testing.assert_allclose(found.std, np.sqrt(within + between), rtol=1e-9)
    assert within.min() > 0.0


def test_the_order_of_rows_does_not_matter_at_all() -> None:
    check_row_order(RandomForest(trees=20), tolerance=0.0)
    check_row_order(RandomForest(trees=20, bootstrap=False, response="copula"), tolerance=0.0)


def test_variance_has_its_floor() -> None:
    task = TaskData(np.linspace(0, 1, 6)[:, None], np.full(6, 3.0))
    at = np.linspace(0, 1, 11)[:, None]
    for floor in (1e-6, 0.04):
        found = RandomForest(trees=5, variance_floor=floor).fit(task, rng=np.random.default_rng(0)).predict(at)
        np.testing.assert_allclose(found.std, np.sqrt(floor), rtol=1e-12)


def test_leaf_size_may_be_set() -> None:
    task = data(30)
    found = RandomForest(trees=5, min_leaf=30, bootstrap=False).fit(task, rng=np.random.default_rng(0))
    prediction = found.predict(task.x)
    np.testing.assert_allclose(prediction.mean, 0.0, atol=1e-12)  # one leaf holds all
    np.testing.assert_allclose(prediction.std, 1.0, rtol=1e-9)


def test_without_observations_nothing_is_known() -> None:
    for variance in ("total", "between-trees"):
        empty = TaskData(np.empty((0, 3)), np.empty(0))
        posterior = RandomForest(variance=variance).fit(empty, rng=np.random.default_rng(0))
        prediction = posterior.predict(np.random.default_rng(0).random((5, 3)))
        np.testing.assert_array_equal(prediction.mean, np.zeros(5))
        np.testing.assert_array_equal(prediction.std, np.ones(5))
        assert posterior.incumbent == -np.inf


def test_it_learns_jumps_and_categories() -> None:
    task, at = data(200), np.random.default_rng(1).random((300, 4))
    posterior = RandomForest().fit(task, rng=np.random.default_rng(0))
    truth = 5.0 + 2.0 * (at[:, 0] > 0.5) + at[:, 1]
    assert np.corrcoef(posterior.to_response(posterior.predict(at).mean), truth)[0, 1] > 0.97
    assert posterior.to_response(np.array([posterior.incumbent]))[0] == pytest.approx(task.y.max(), rel=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trees": 0}, "trees must be a whole number of at least 1, got 0"),
        ({"trees": 10.0}, "trees must be a whole number"),
        ({"max_features": 0.0}, "max_features must be a positive number"),
        ({"max_features": 1.5}, r"max_features is a share of the columns, at most 1, got 1\.5"),
        ({"min_leaf": 0}, "min_leaf must be a whole number of at least 1"),
        ({"variance": "leaves"}, "variance must be 'total' or 'between-trees', got 'leaves'"),
        ({"variance_floor": 0.0}, "variance_floor must be a positive number"),
        ({"response": "log"}, "response must be one of"),
        ({"minimum_observations": -1}, "minimum_observations must be"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match="RandomForest: " + message):
        RandomForest(**settings)


def test_rows_of_another_space_are_named() -> None:
    posterior = RandomForest(trees=2).fit(data(5), rng=np.random.default_rng(0))
    with pytest.raises(DataError, match=r"RandomForest posterior: x must be rows of 4 columns, got shape \(1, 2\)"):
        posterior.predict(np.zeros((1, 2)))
