"""The scikit-learn suite: right values, nothing evaluated twice, nothing lost when it is interrupted."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import Memory
from headstart.benchmark.suites import real
from headstart.benchmark.suites.real import CLASSIFIERS, Accuracy, sklearn_suite
from headstart.demo import tasks as demo
from headstart.encoding import Encoding
from headstart.errors import SettingsError

SMALL: dict[str, Any] = {"tasks": ["iris", "wine"], "configurations": 6}


class Counter:
    """Counts evaluations; interrupts after some."""

    def __init__(self, stop_after: int | None = None) -> None:
        self.calls: list[tuple[int, int, str]] = []
        self.stop_after = stop_after

    def __call__(self, done: int, total: int, message: str) -> None:
        self.calls.append((done, total, message))
        if len(self.calls) == self.stop_after:
            raise KeyboardInterrupt


def test_a_small_suite(tmp_path: Path) -> None:
    counter = Counter()
    suite = sklearn_suite(tmp_path / "cache.db", progress=counter, **SMALL)
    assert [space.name for space in suite.spaces] == ["svc", "forest", "neighbours"]
    assert counter.calls[0] == (1, 36, "evaluated svc on iris")
    assert [done for done, _, _ in counter.calls] == list(range(1, 37))
    for space in suite.spaces:
        assert space.leave_one_out
        assert [problem.name for problem in space.test] == ["iris", "wine"]
        assert space.past_of(space.test[0], "test") == (space.test[1],)
        encoding = Encoding(CLASSIFIERS[space.name].space)
        assert encoding.columns == space.columns
        for problem in space.test:
            assert problem.x is space.test[0].x or np.array_equal(problem.x, space.test[0].x)
            assert len(np.unique(problem.x, axis=0)) == 6
            assert problem.y.min() >= 0.0
            assert problem.y.max() <= 1.0
            assert problem.objective is not None
            assert problem.bounds == (problem.objective.low, problem.objective.high)
            assert sorted(problem.given) == [f"test{seed}" for seed in range(5)]
            assert all(len(set(rows)) == 5 and max(rows) < 6 for rows in problem.given.values())
            # the pool's values are those of the objective
            config = encoding.decode(problem.x[:1])[0]
            assert problem.objective.evaluate(config) == problem.y[0]
    again = Counter()
    repeated = sklearn_suite(tmp_path / "cache.db", progress=again, **SMALL)
    assert again.calls == []
    assert repeated.fingerprint == suite.fingerprint
    for one, other in zip(suite.spaces, repeated.spaces, strict=True):
        for problem, same in zip(one.test, other.test, strict=True):
            assert np.array_equal(problem.y, same.y)


def test_support_vector_machines_are_those_of_the_demo() -> None:
    rows, classes = demo.task_named("wine").load()
    for config in (
        {"kernel": "rbf", "C": 3.0, "gamma": 0.02},
        {"kernel": "poly", "C": 0.5, "gamma": 0.1, "degree": 3},
        {"kernel": "linear", "C": 0.01},
    ):
        error = demo.cross_validated_error(rows, classes, config)
        assert Accuracy("svc", "wine")(config) == pytest.approx(1.0 - error, abs=1e-12)


def test_settings_reach_the_estimators() -> None:
    forest = CLASSIFIERS["forest"].make({"criterion": "entropy", "max_depth": 3, "bootstrap": False})
    assert (forest.criterion, forest.max_depth, forest.bootstrap, forest.max_samples) == ("entropy", 3, False, None)
    config = {"n_neighbors": 7, "weights": "distance", "metric": "chebyshev", "scaling": "minmax", "projection": "pca"}
    steps = dict(CLASSIFIERS["neighbours"].make({**config, "variance": 0.5}).steps)
    assert type(steps["scaler"]).__name__ == "MinMaxScaler"
    assert steps["projection"].n_components == 0.5
    assert (steps["neighbours"].n_neighbors, steps["neighbours"].metric) == (7, "chebyshev")


def test_corners_of_the_spaces_can_be_evaluated() -> None:
    """Warnings are errors, so that no estimator complains of its settings on the smallest task."""
    for name, classifier in CLASSIFIERS.items():
        for config in classifier.space.grid(2)[:: 5 if name == "forest" else 2]:
            assert 0.0 <= Accuracy(name, "iris")(config) <= 1.0


def test_an_interrupt_keeps_what_was_told(tmp_path: Path) -> None:
    cache = tmp_path / "cache.db"
    with pytest.raises(KeyboardInterrupt):
        sklearn_suite(cache, spaces=["neighbours"], progress=Counter(stop_after=5), **SMALL)
    with Memory(cache) as memory:
        assert sum(task.trials.complete for task in memory.tasks()) == 5
    rest = Counter()
    suite = sklearn_suite(cache, spaces=["neighbours"], progress=rest, **SMALL)
    assert len(rest.calls) == 12 - 5
    fresh = sklearn_suite(tmp_path / "other.db", spaces=["neighbours"], **SMALL)
    assert suite.fingerprint == fresh.fingerprint


def test_more_configurations_contain_fewer(tmp_path: Path) -> None:
    few = sklearn_suite(tmp_path / "cache.db", spaces=["neighbours"], **SMALL)
    counter = Counter()
    more = sklearn_suite(
        tmp_path / "cache.db", spaces=["neighbours"], tasks=["wine"], configurations=9, progress=counter
    )
    assert len(counter.calls) == 3
    assert np.array_equal(more.spaces[0].test[0].y[:6], few.spaces[0].test[1].y)
    assert more.fingerprint != few.fingerprint


def test_values_of_another_scikit_learn_are_not_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = {"spaces": ["neighbours"], "tasks": ["iris"], "configurations": 3}
    first = sklearn_suite(tmp_path / "cache.db", **settings)
    monkeypatch.setattr(real, "version", lambda name: "99.0")
    counter = Counter()
    second = sklearn_suite(tmp_path / "cache.db", progress=counter, **settings)
    assert len(counter.calls) == 3
    assert second.fingerprint != first.fingerprint


def test_the_whole_pools_are_made_as_announced() -> None:
    for name, classifier in CLASSIFIERS.items():
        pool = real._pool(name, real.CONFIGURATIONS)
        assert len({classifier.space.key(config) for config in pool}) == real.CONFIGURATIONS == 200


def test_objectives_travel_to_other_processes() -> None:
    evaluate = Accuracy("neighbours", "iris")
    assert pickle.loads(pickle.dumps(evaluate)) == evaluate


def test_arguments_are_checked(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no space 'xgboost'"):
        sklearn_suite(tmp_path / "it", spaces=["xgboost"])
    with pytest.raises(SettingsError, match="there is no task 'mnist'"):
        sklearn_suite(tmp_path / "it", tasks=["mnist"])
    with pytest.raises(SettingsError, match="configurations must be"):
        sklearn_suite(tmp_path / "it", configurations=1)
