"""The constructors' checks, and that nothing can be written to afterwards."""

from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest

from headstart.arrays import frozen
from headstart.data import (
    Budget,
    MetaDataset,
    Observation,
    Prediction,
    TaskData,
    Trial,
    best_row,
)
from headstart.encoding import Columns
from headstart.errors import DataError, HeadstartError

X, Y = np.array([[0.0, 1.0], [0.5, 0.25], [1.0, 0.0]]), np.array([1.0, 3.0, 2.0])


def test_task_data_keeps_read_only_copies() -> None:
    x, y, features = X.copy(), Y.copy(), np.ones((3, 4))
    task = TaskData(x, y, metafeatures=np.arange(5), features=features)
    x[:], y[:], features[:] = 9.0, 9.0, 9.0
    np.testing.assert_array_equal(task.x, X)
    np.testing.assert_array_equal(task.y, Y)
    assert task.features is not None
    assert task.metafeatures is not None
    np.testing.assert_array_equal(task.features, 1.0)
    assert task.metafeatures.dtype == np.float64
    for array in (task.x, task.y, task.features, task.metafeatures):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
    with pytest.raises(FrozenInstanceError):
        task.name = "other"  # type: ignore[misc]


def test_task_data_accepts_lists_integers_and_nothing() -> None:
    assert TaskData([[0, 1], [1, 0]], [3, 4]).x.dtype == np.float64  # type: ignore[arg-type]
    empty = TaskData(np.empty((0, 4)), np.empty(0))
    assert len(empty) == 0
    assert empty.columns == Columns.numeric(4)


def test_rounding_outside_the_cube_is_clipped() -> None:
    task = TaskData(np.array([[1 + 1e-12, -1e-12]]), np.zeros(1))
    np.testing.assert_array_equal(task.x, [[1.0, 0.0]])


BAD: list[tuple[dict[str, Any], str]] = [
    ({"y": Y[:2]}, r"TaskData 'svm-42': x has 3 rows but y has 2\. Give one value per configuration\."),
    ({"x": X[0]}, r"x must have two axes \[rows, columns\], got shape \(2,\)"),
    ({"x": X[None]}, r"x must have two axes"),
    ({"y": Y[:, None]}, r"y must have one axis, got shape \(3, 1\)"),
    ({"x": X + 0.1}, r"x must lie in \[0, 1\], got values from 0\.1 to 1\.1"),
    ({"x": X - 1e-6}, r"x must lie in \[0, 1\]"),
    ({"x": np.where(X == 0.5, np.nan, X)}, r"x contains NaN or infinity"),
    ({"y": np.array([1.0, np.inf, 2.0])}, r"y contains NaN or infinity"),
    ({"y": np.array([1.0, -np.inf, np.nan])}, r"y contains NaN or infinity"),
    ({"y": ["a", "b", "c"]}, r"y must be numbers, got list"),
    ({"x": [[0.0, 1.0], [0.5], [1.0, 0.0]]}, r"x must be numbers, got list"),
    ({"y": None}, r"y "),
    ({"columns": Columns.numeric(3)}, r"x has 2 columns, its Columns describe 3"),
    ({"bounds": (3.0, 1.0)}, r"bounds must be finite and in order, got \(3, 1\)"),
    ({"bounds": (0.0, np.inf)}, r"bounds must be finite and in order"),
    ({"bounds": (np.nan, 1.0)}, r"bounds must be finite and in order"),
    ({"bounds": (0.0, 2.5)}, r"y runs from 1 to 3, outside its bounds \(0, 2\.5\)"),
    ({"bounds": (1.5, 3.0)}, r"outside its bounds"),
    ({"metafeatures": np.array([[1.0]])}, r"metafeatures must have one axis"),
    ({"metafeatures": np.array([np.nan])}, r"metafeatures contains NaN"),
    ({"features": np.ones((2, 4))}, r"features has 2 rows but x has 3"),
    ({"features": np.ones(3)}, r"features must have two axes"),
    ({"features": np.full((3, 1), np.inf)}, r"features contains NaN or infinity"),
]


@pytest.mark.parametrize(("change", "message"), BAD)
def test_bad_task_data_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        TaskData(**{"x": X, "y": Y, "name": "svm-42", **change})
    assert isinstance(caught.value, HeadstartError)
    assert isinstance(caught.value, ValueError)
    assert "svm-42" in str(caught.value)


def test_bounds_may_touch_the_responses() -> None:
    assert TaskData(X, Y, bounds=(1, 3)).bounds == (1.0, 3.0)
    assert TaskData(X[:1], Y[:1], bounds=(1.0, 1.0)).bounds == (1.0, 1.0)


def test_meta_dataset_takes_its_columns_from_the_first_task() -> None:
    columns = Columns(("one-hot", "one-hot"), (0, 0))
    past = MetaDataset((TaskData(X, Y, columns=columns), TaskData(X[:0], Y[:0], columns=columns)))
    assert past.columns == columns
    assert len(past) == 2
    assert isinstance(MetaDataset([TaskData(X, Y)]).tasks, tuple)  # type: ignore[arg-type]
    assert len(MetaDataset((), columns=columns)) == 0


def test_meta_dataset_reference_is_a_read_only_copy() -> None:
    reference = X.copy()
    past = MetaDataset((TaskData(X, Y),), reference=reference)
    reference[:] = 7.0
    assert past.reference is not None
    np.testing.assert_array_equal(past.reference, X)
    assert not past.reference.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tasks": ()}, r"no tasks and no columns"),
        (
            {"tasks": (TaskData(X, Y), TaskData(np.zeros((1, 5)), np.zeros(1), name="a"))},
            r"task 'a' has 5 columns, expected 2 for this Space\. Encode every task with the same Space\.",
        ),
        ({"tasks": (TaskData(X, Y),), "columns": Columns.numeric(3)}, r"task 'task' has 2 columns, expected 3"),
        ({"tasks": (TaskData(X, Y),), "reference": np.zeros((4, 3))}, r"reference has 3 columns, expected 2"),
        ({"tasks": (TaskData(X, Y),), "reference": np.zeros(2)}, r"reference must have two axes"),
        ({"tasks": (TaskData(X, Y),), "reference": np.full((1, 2), np.nan)}, r"reference contains NaN"),
    ],
)
def test_bad_meta_datasets_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match="MetaDataset: .*" + message):
        MetaDataset(**arguments)


def test_columns_need_one_group_per_kind() -> None:
    with pytest.raises(DataError, match="2 kinds but 1 groups"):
        Columns(("numeric", "numeric"), (0,))
    assert len(Columns.numeric(0)) == 0


def test_noisy_deviation_adds_variances() -> None:
    found = Prediction(np.zeros(2), np.array([3.0, 0.0]), noise=4.0).noisy_std
    np.testing.assert_allclose(found, [5.0, 4.0], rtol=1e-15)
    np.testing.assert_array_equal(Prediction(np.zeros(1), np.array([0.7])).noisy_std, [0.7])


def test_best_row_of_every_task_that_has_one() -> None:
    tasks = [TaskData(X, Y), TaskData(X[:0], Y[:0]), TaskData(X, -Y)]
    np.testing.assert_array_equal(best_row(tasks), X[[1, 0]])
    assert len(best_row([])) == 0
    assert len(best_row(tasks[1:2])) == 0


def test_an_observation_speaks_for_its_trial() -> None:
    observation = Observation(Trial(4, {"lr": 0.1}), "complete", 0.9)
    assert (observation.number, observation.config, dict(observation.metadata)) == (4, {"lr": 0.1}, {})
    with pytest.raises(FrozenInstanceError):
        observation.value = 1.0  # type: ignore[misc]


def test_budget_is_unlimited_by_default() -> None:
    assert Budget() == Budget(max_steps=None, max_seconds=None)


def test_frozen_copies_and_locks() -> None:
    source = np.arange(6, dtype=np.int64).reshape(2, 3).T
    found = frozen(source)
    source[:] = 0
    assert found.dtype == np.float64
    assert found.flags.c_contiguous
    assert found[2, 1] == 5.0
    assert not found.flags.writeable
