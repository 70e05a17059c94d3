import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import Memory, MetaDataset, Optimizer, TaskData
from headstart.acquisition import LogExpectedImprovement
from headstart.errors import HeadstartError, MemoryStoreError, SettingsError
from headstart.initial_designs import Sobol
from headstart.optimizer.arguments import (
    LARGEST_SEED,
    checked_bounds,
    checked_duration,
    checked_metadata,
    checked_seed,
    outcome_of,
)
from headstart.surrogates import GaussianProcess
from problems import MIXED, PLANE, past_of


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"space": None}, "give a space, or a pool, or the name of a task"),
        ({"space": {"x": (0, 1)}}, r"space must be a Space, got .* Use Space.from_dict\(\)"),
        ({"space": None, "task": "t"}, "give a space"),
        ({"direction": "min"}, 'direction must be "minimize" or "maximize", got \'min\''),
        ({"direction": ""}, "direction must be"),
        ({"direction": 1}, "direction must be"),
        ({"direction": ["minimize"]}, "direction must be"),
        ({"direction": np.array(["minimize", "maximize"])}, "direction must be"),
        ({"bounds": (1.0, 0.0)}, r"bounds must be finite numbers \(low, high\) with low < high, got \(1.0, 0.0\)"),
        ({"bounds": (0.5, 0.5)}, "bounds must be"),
        ({"bounds": (0.0, float("inf"))}, "bounds must be"),
        ({"bounds": "01"}, "bounds must be"),
        ({"bounds": ("0", "1")}, "bounds must be"),
        ({"bounds": (0.0, 0.5, 1.0)}, "bounds must be"),
        ({"bounds": 3}, "bounds must be"),
        ({"bounds": (False, True)}, "bounds must be"),
        ({"method": "gaussian"}, r"There is no surrogate named 'gaussian'"),
        ({"method": "Random"}, r"Did you mean 'random'"),
        ({"method": GaussianProcess}, "method must be 'auto', a name, or a configured Surrogate"),
        ({"method": None}, "method must be"),
        ({"method": ["gp"]}, "method must be"),
        ({"initial_design": "sobl"}, "Did you mean 'sobol'"),
        ({"initial_design": Sobol}, "initial_design must be 'auto', a name, or a configured InitialDesign"),
        ({"initial_design": 3}, "initial_design must be"),
        ({"initial_trials": -1}, "initial_trials must be a whole number of at least 0, got -1"),
        ({"initial_trials": 2.5}, "initial_trials must be"),
        ({"initial_trials": True}, "initial_trials must be"),
        ({"acquisition": "ei"}, "acquisition must be a configured Acquisition, got 'ei'"),
        ({"acquisition": LogExpectedImprovement}, "acquisition must be a configured"),
        ({"past": [1]}, r"past must be a MetaDataset, got \[1\]"),
        ({"past": TaskData(np.zeros((1, 2)), np.zeros(1))}, "past must be a MetaDataset"),
        ({"past": past_of(MIXED, lambda config: 1.0, tasks=1, rows=2)}, "have 7 columns, this task has 2"),
        ({"seed": -1}, r"seed must be a whole number from 0 to 2\*\*63 - 1, got -1"),
        ({"seed": 2**63}, "seed must be"),
        ({"seed": 0.5}, "seed must be"),
        ({"seed": "0"}, "seed must be"),
        ({"seed": True}, "seed must be"),
        ({"task": 5}, "task must be a name or None, got 5"),
        ({"task": ""}, "task must be a name"),
        ({"metric": 5}, "metric must be a name or None, got 5"),
        ({"memory": 5, "task": "t"}, "memory must be a Memory or the path of one, got 5"),
        ({"memory": ":memory:"}, "a memory keeps tasks by name"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(arguments: dict[str, Any], words: str) -> None:
    if arguments.get("memory") == ":memory:":
        arguments = {**arguments, "memory": Memory(":memory:")}
    with pytest.raises(HeadstartError, match=words) as caught:
        Optimizer(**{"space": PLANE, **arguments})
    assert "\n" not in str(caught.value)


def test_a_memory_may_be_given_as_a_path(tmp_path: Path) -> None:
    for memory in (tmp_path / "m.db", str(tmp_path / "m.db"), Memory(tmp_path / "m.db")):
        Optimizer(PLANE, task="t", memory=memory).add_observation({"x": 0.5, "y": 0.5}, 1.0)
    assert len(Memory(tmp_path / "m.db").observations("t")) == 3
    with pytest.raises(MemoryStoreError, match=r"the folder .* is not there"):
        Optimizer(PLANE, task="t", memory=tmp_path / "no" / "m.db")


def test_arguments_that_do_not_fit_leave_no_task_behind(tmp_path: Path) -> None:
    memory = Memory(tmp_path / "m.db")
    for arguments in ({"method": "gaussian"}, {"seed": -1}, {"pool": []}, {"past": past_of(MIXED, lambda _: 1.0)}):
        with pytest.raises(HeadstartError):
            Optimizer(PLANE, task="t", memory=memory, **arguments)
    assert memory.tasks() == []


def test_numpy_s_numbers_are_welcome() -> None:
    optimizer = Optimizer(
        PLANE,
        seed=np.int64(3),  # pyright: ignore[reportArgumentType]
        bounds=np.array([0.0, 2.0]),  # pyright: ignore[reportArgumentType]
        initial_trials=np.int32(2),  # pyright: ignore[reportArgumentType]
    )
    assert (optimizer.seed, type(optimizer.seed)) == (3, int)
    assert checked_bounds(np.array([0, 2])) == (0.0, 2.0)


def test_seeds() -> None:
    assert checked_seed(LARGEST_SEED) == LARGEST_SEED
    assert checked_seed(7.0) == 7
    drawn = {checked_seed(None) for _ in range(20)}
    assert len(drawn) == 20
    assert all(0 <= seed <= LARGEST_SEED for seed in drawn)
    Optimizer(PLANE, seed=LARGEST_SEED, method="random").ask()


def test_outcomes() -> None:
    assert outcome_of(None, False, "It") == ("failed", None)
    assert outcome_of(float("nan"), False, "It") == ("failed", None)
    assert outcome_of(np.float32("nan"), True, "It") == ("failed", None)
    assert outcome_of(None, np.True_, "It") == ("failed", None)
    assert outcome_of(np.float32(1.5), np.False_, "It") == ("complete", 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert outcome_of(-1e30, False, "It") == ("complete", -1e30)


def test_durations() -> None:
    assert checked_duration(None) is None
    assert checked_duration(0) == 0.0
    assert checked_duration(np.float32(1.5)) == 1.5
    for junk in (-1.0, float("nan"), float("inf"), "1", True, [1]):
        with pytest.raises(HeadstartError, match="duration must be a number of seconds"):
            checked_duration(junk)


def test_metadata_are_copied_as_json_values() -> None:
    given = {"a": (1, 2), "b": {"c": np.float64(0.5)}, "d": np.arange(3), "e": None, "f": "é"}
    kept = checked_metadata(given)
    assert kept == {"a": [1, 2], "b": {"c": 0.5}, "d": [0, 1, 2], "e": None, "f": "é"}
    assert checked_metadata(None) == {}
    circle: dict[str, Any] = {}
    circle["self"] = circle
    for junk in (5, "ab", [("a", 1)], {1: "a"}, {"a": object()}, {"a": float("nan")}, {"a": {1, 2}}, circle):
        with pytest.raises(HeadstartError, match="metadata must map names to JSON values") as caught:
            checked_metadata(junk)
        assert len(str(caught.value)) < 400


def test_metadata_and_duration_are_checked_before_anything_is_kept(tmp_path: Path) -> None:
    for more in ({}, {"task": "t", "memory": tmp_path / "m.db"}):
        optimizer = Optimizer(PLANE, method="random", seed=0, **more)
        trial = optimizer.ask()
        for junk in ({"metadata": {"a": object()}}, {"duration": -1.0}):
            with pytest.raises(HeadstartError):
                optimizer.tell(trial, 1.0, **junk)
            with pytest.raises(HeadstartError):
                optimizer.add_observation(trial.config, 1.0, **junk)
        assert [one.state for one in optimizer.trials] == ["running"]
        optimizer.tell(trial, 1.0)


def test_what_is_not_known_is_refused_by_python_itself() -> None:
    with pytest.raises(TypeError):
        Optimizer(PLANE, surrogate="gp")  # pyright: ignore[reportCallIssue]


def test_errors_are_also_what_a_caller_expects() -> None:
    with pytest.raises(ValueError, match="direction"):
        Optimizer(PLANE, direction="up")  # pyright: ignore[reportArgumentType]
    assert issubclass(SettingsError, HeadstartError)


def test_an_empty_past_may_be_given() -> None:
    assert Optimizer(PLANE, past=MetaDataset((TaskData(np.empty((0, 2)), np.empty(0)),))).method == "gp"
