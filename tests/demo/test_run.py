from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.demo.results import Comparison
from headstart.demo.run import DemoSettings, run_demo
from headstart.errors import SettingsError
from headstart.memory import Memory

PAST = ("iris", "wine", "diabetes")


def settings(folder: Path) -> DemoSettings:
    return DemoSettings(memory=folder / "demo.db", task="iris", past=PAST, past_trials=4, seeds=2, trials=3)


def carried_out(chosen: DemoSettings) -> tuple[Comparison, list[str], list[int]]:
    steps: list[str] = []
    phases: list[int] = []
    found = run_demo(chosen, phase=lambda _, count: phases.append(count), report=lambda kind, _: steps.append(kind))
    return found, steps, phases


def curves(found: Comparison) -> np.ndarray:
    return np.concatenate([found.curves_with, found.curves_without])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[DemoSettings, Comparison, list[str], list[int]]:
    chosen = settings(tmp_path_factory.mktemp("demo"))
    return (chosen, *carried_out(chosen))


def test_every_trial_is_reported_and_announced(
    first: tuple[DemoSettings, Comparison, list[str], list[int]],
) -> None:
    _, found, steps, phases = first
    assert phases == [2 * 4, 2 * 2 * 3]
    assert [steps.count(kind) for kind in ("past", "with", "without")] == [8, 6, 6]
    assert [run.method for run in found.with_memory] == ["prior-gp"] * 2
    assert [run.method for run in found.without_memory] == ["gp"] * 2
    assert [run.seed for run in found.with_memory] == [run.seed for run in found.without_memory] == [0, 1]


def test_the_memory_holds_the_past_and_the_first_run(
    first: tuple[DemoSettings, Comparison, list[str], list[int]],
) -> None:
    chosen, found, _, _ = first
    with Memory(chosen.memory, create=False) as memory:
        assert {record.name: record.trials.complete for record in memory.tasks()} == {
            "wine": 4,
            "diabetes": 4,
            "iris-tuned": 3,
        }
        assert {record.source for record in memory.tasks()} == {"demo"}
        assert memory.check() == []
        kept = memory.observations("iris-tuned")
    assert [one.value for one in kept] == [step.value for step in found.with_memory[0].steps]
    assert [one.config for one in kept] == [step.trial.config for step in found.with_memory[0].steps]
    assert {one.trial.origin for one in kept} == {"prior-gp"}


def test_the_same_command_gives_the_same_result_on_two_processes(
    first: tuple[DemoSettings, Comparison, list[str], list[int]], tmp_path: Path
) -> None:
    _, found, steps, _ = first
    again, more, _ = carried_out(replace(settings(tmp_path), workers=2))
    np.testing.assert_array_equal(curves(again), curves(found))
    assert sorted(more) == sorted(steps)


def test_a_second_run_uses_the_past_and_never_the_held_back_task(
    first: tuple[DemoSettings, Comparison, list[str], list[int]],
) -> None:
    chosen, found, _, _ = first
    again, steps, phases = carried_out(chosen)
    assert again.new_past_trials == 0
    assert phases[0] == 0
    assert steps.count("past") == 0
    np.testing.assert_array_equal(curves(again), curves(found))
    # another task held back: now iris is filled, and neither wine nor any tuned run counts
    other, _, _ = carried_out(replace(chosen, task="wine"))
    assert other.past == (("diabetes", 4), ("iris", 4))
    back, _, _ = carried_out(chosen)  # iris is in the memory now, but held back
    assert dict(back.past) == {"wine": 4, "diabetes": 4}
    np.testing.assert_array_equal(curves(back), curves(found))


def test_an_unfinished_past_is_completed(tmp_path: Path) -> None:
    chosen = settings(tmp_path)
    carried_out(replace(chosen, past_trials=2, seeds=1, trials=1))
    found, steps, _ = carried_out(replace(chosen, seeds=1, trials=1))
    assert found.new_past_trials == steps.count("past") == 2 * 2
    assert dict(found.past) == {"wine": 4, "diabetes": 4}


@pytest.mark.parametrize(
    "wrong",
    [{"memory": ":memory:"}, {"task": "titanic"}, {"seeds": 0}, {"trials": 0}, {"past_trials": 1}, {"workers": 0}],
)
def test_wrong_settings_are_refused(tmp_path: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match="Demo"):
        replace(settings(tmp_path), **wrong)
