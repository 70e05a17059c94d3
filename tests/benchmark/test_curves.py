"""Curves of several methods on the same runs."""

import numpy as np
import pytest

from headstart.benchmark.curves import MEASURES, Curves, RunKey, side_by_side
from headstart.errors import DataError


def key(space: str, task: str = "a", seed: str = "test0") -> RunKey:
    return RunKey(space, task, seed)


def test_only_runs_that_every_method_has_are_kept_in_the_order_of_the_first() -> None:
    first = {key("svm", seed="test1"): {"regret": np.array([0.4, 0.3])}, key("knn"): {"regret": np.array([0.2, 0.1])}}
    second = {
        key("knn"): {"regret": np.array([0.2, 0.0])},
        key("rf"): {"regret": np.array([0.9, 0.8])},
        key("svm", seed="test1"): {"regret": np.array([0.4, 0.2])},
    }
    curves = side_by_side({"one": first, "two": second})
    assert curves.methods == ("one", "two")
    assert curves.runs == (key("svm", seed="test1"), key("knn"))
    assert curves.spaces == ("svm", "knn")
    assert curves.trials == 1
    np.testing.assert_array_equal(curves.regret, [[[0.4, 0.3], [0.2, 0.1]], [[0.4, 0.2], [0.2, 0.0]]])


def test_what_a_method_does_not_have_is_unknown() -> None:
    long = {key("svm"): {"regret": np.array([0.4, 0.3, 0.2]), "value": np.array([np.nan, 0.5, 0.8])}}
    short = {key("svm"): {"regret": np.array([0.4, 0.1])}}
    curves = side_by_side({"long": long, "short": short})
    np.testing.assert_array_equal(curves.regret, [[[0.4, 0.3, 0.2]], [[0.4, 0.1, np.nan]]])
    np.testing.assert_array_equal(curves.value, [[[np.nan, 0.5, 0.8]], [[np.nan] * 3]])
    for name in MEASURES:
        assert getattr(curves, name).shape == (2, 1, 3)
    assert np.isnan(curves.std).all()


def test_a_run_that_is_left_out_lengthens_nothing() -> None:
    first = {key("svm"): {"regret": np.array([0.4, 0.3])}, key("rf"): {"regret": np.zeros(9)}}
    curves = side_by_side({"one": first, "two": {key("svm"): {"regret": np.array([0.4, 0.1])}}})
    assert curves.trials == 1


def example() -> Curves:
    rng = np.random.default_rng(0)
    runs = [key(space, task, seed) for space in ("b", "a") for task in ("x", "y") for seed in ("test0", "test1")]
    measures = {m: {run: {name: rng.random(4) for name in MEASURES} for run in runs} for m in ("gp", "rf", "random")}
    return side_by_side(measures)


def test_runs_of_a_space_and_chosen_runs_take_all_measures_along() -> None:
    curves = example()
    part = curves.of_space("a")
    assert part.runs == curves.runs[4:]
    assert part.spaces == ("a",)
    for name in MEASURES:
        np.testing.assert_array_equal(getattr(part, name), getattr(curves, name)[:, 4:])
    turned = curves.chosen([3, 0])
    assert turned.runs == (curves.runs[3], curves.runs[0])
    np.testing.assert_array_equal(turned.cpu_ms, curves.cpu_ms[:, [3, 0]])


def test_methods_come_in_the_order_asked_for() -> None:
    curves = example()
    part = curves.of_methods(["random", "gp"])
    assert part.methods == ("random", "gp")
    assert part.runs == curves.runs
    for name in MEASURES:
        np.testing.assert_array_equal(getattr(part, name), getattr(curves, name)[[2, 0]])


def test_messages_say_what_is_there() -> None:
    with pytest.raises(DataError, match=r"no method 'dklm'\. There are gp, rf, random"):
        example().of_methods(["gp", "dklm"])
    with pytest.raises(DataError, match="there is no method"):
        side_by_side({})
    one, other = {key("svm"): {"regret": np.zeros(2)}}, {key("rf"): {"regret": np.zeros(2)}}
    with pytest.raises(DataError, match="in common; runs by method: one 1, two 1"):
        side_by_side({"one": one, "two": other})
    with pytest.raises(DataError, match="in common; runs by method: one 0"):
        side_by_side({"one": {}})


def test_keys_sort_by_space_task_and_seed() -> None:
    keys = [key("b"), key("a", "y"), key("a", "x", "test1"), key("a", "x", "test0")]
    assert sorted(keys) == keys[::-1]
