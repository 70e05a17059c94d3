import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from headstart.demo.tasks import SPACE, TASKS, DemoTask, task_named
from headstart.errors import SettingsError
from headstart.space import Config


@pytest.mark.parametrize(
    "config",
    [{"kernel": "linear", "C": 1.0}, {"kernel": "poly", "C": 3.0, "gamma": 0.02, "degree": 3}],
)
def test_the_value_is_scikit_learns_cross_validated_error(config: Config) -> None:
    task = task_named("wine")
    rows, classes = task.load()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    sizes = [len(test) for _, test in folds.split(rows, classes)]
    accuracies = cross_val_score(make_pipeline(StandardScaler(), SVC(**config)), rows, classes, cv=folds)
    assert task.objective()(config) == pytest.approx(1 - np.average(accuracies, weights=sizes), abs=1e-12)


def test_the_defaults_are_those_of_scikit_learn() -> None:
    task = task_named("iris")
    rows, classes = task.load()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    accuracies = cross_val_score(make_pipeline(StandardScaler(), SVC()), rows, classes, cv=folds)
    assert task.error_of_defaults() == pytest.approx(1 - accuracies.mean(), abs=1e-12)


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_task_can_be_learned_and_is_the_same_each_time(task: DemoTask) -> None:
    rows, classes = task.load()
    again, _ = task.load()
    np.testing.assert_array_equal(rows, again)
    assert len(rows) == len(classes)
    assert np.isfinite(rows).all()
    guessing = 1 - np.bincount(classes).max() / len(classes)
    assert task.objective()({"kernel": "linear", "C": 0.1}) < 0.7 * guessing


def test_no_image_is_in_two_tasks() -> None:
    parts = [task.load()[0] for task in TASKS if task.name.startswith("digits")]
    assert sum(len(rows) for rows in parts) == 1797
    # the left half of an image is what all of them have
    halves = [{row.reshape(8, -1)[:, :4].tobytes() for row in rows} for rows in parts]
    assert len(parts) == 4
    assert sum(map(len, halves)) == len(set().union(*halves))


def test_the_space_is_conditional_and_every_sample_can_be_evaluated() -> None:
    evaluate = task_named("iris").objective()
    errors = [evaluate(config) for config in SPACE.sample(12, rng=np.random.default_rng(0))]
    assert all(0 <= error <= 1 for error in errors)
    assert len(set(errors)) > 3


def test_an_unknown_task_is_refused_with_the_names() -> None:
    with pytest.raises(SettingsError, match=r"no task 'titanic'.*digits-ten"):
        task_named("titanic")
