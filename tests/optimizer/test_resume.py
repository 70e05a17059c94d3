"""The same sequence: by seed, in other processes, after pickling, after a crash, and by the name of a task."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import Float, Memory, Observation, Optimizer, Space
from headstart.errors import MemoryStoreError, SettingsError
from headstart.space import Config
from headstart.surrogates import GaussianProcess, PriorGP
from problems import MIXED, PLANE, bowl, mixed, past_of, played

QUICK = GaussianProcess(restarts=0)
TESTS = Path(__file__).resolve().parents[1]


def process(code: str, *arguments: object, wait: bool = True) -> subprocess.Popen[str]:
    """Run Python code in a process of its own; sys.argv[1:] are ``arguments``."""
    started = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"},
    )
    if wait:
        out, error = started.communicate(timeout=60)
        assert started.returncode == 0, error
        started.stdout_text = out  # pyright: ignore
    return started


def until(condition: Callable[[], bool], what: str, seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.02)


def test_the_same_seed_gives_the_same_sequence_whatever_numpy_s_global_state() -> None:
    sequences: list[list[Config]] = []
    for seed, state in ((7, 1), (7, 2), (8, 1)):
        np.random.seed(state)  # noqa: NPY002 - nothing of ours may read it
        sequences.append(played(Optimizer(MIXED, method=QUICK, seed=seed), mixed, 8))
        np.random.random(3)  # noqa: NPY002
    assert sequences[0] == sequences[1]
    assert all(one != other for one, other in zip(sequences[0], sequences[2], strict=True))


def test_without_a_seed_sequences_differ() -> None:
    one, other = (Optimizer(PLANE, method="random") for _ in range(2))
    assert one.seed != other.seed
    assert one.ask().config != other.ask().config
    assert Optimizer(PLANE, method="random", seed=one.seed).ask().config == one.trials[0].config


SEQUENCE = """
import json
from problems import MIXED, mixed, past_of, played
from headstart import Optimizer
from headstart.surrogates import GaussianProcess, PriorGP
quick = GaussianProcess(restarts=0)
plain = played(Optimizer(MIXED, method=quick, seed=7), mixed, 7)
prior = Optimizer(MIXED, method=PriorGP(trees=5, gate=quick), past=past_of(MIXED, mixed, tasks=2, rows=10), seed=7)
print(json.dumps([plain, played(prior, mixed, 3)]))
"""


def test_another_process_gives_the_same_sequence() -> None:
    found = json.loads(process(SEQUENCE).stdout_text)  # pyright: ignore
    past = past_of(MIXED, mixed, tasks=2, rows=10)
    prior = Optimizer(MIXED, method=PriorGP(trees=5, gate=QUICK), past=past, seed=7)
    assert found == [played(Optimizer(MIXED, method=QUICK, seed=7), mixed, 7), played(prior, mixed, 3)]


def test_pickling_in_the_middle_changes_nothing() -> None:
    past = past_of(PLANE, bowl, tasks=2, rows=10)
    for method, given in ((QUICK, None), (PriorGP(trees=5, gate=QUICK), past)):
        optimizer = Optimizer(PLANE, method=method, past=given, seed=1)
        played(optimizer, bowl, 6)
        out = optimizer.ask()
        copy = pickle.loads(pickle.dumps(optimizer))
        for each in (optimizer, copy):
            each.tell(out, 0.5)
        assert played(copy, bowl, 4) == played(optimizer, bowl, 4)
        assert configs(copy.trials) == configs(optimizer.trials)


def test_an_optimizer_with_a_memory_pickles_as_its_file(tmp_path: Path) -> None:
    optimizer = Optimizer(PLANE, task="t", memory=tmp_path / "m.db", method="random", seed=1)
    played(optimizer, bowl, 3)
    copy = pickle.loads(pickle.dumps(optimizer))
    played(copy, bowl, 2)
    assert [one.number for one in optimizer.trials] == [0, 1, 2, 3, 4]
    assert configs(optimizer.trials) == configs(copy.trials)
    with pytest.raises(MemoryStoreError, match="cannot be pickled"):
        pickle.dumps(Optimizer(PLANE, task="t", memory=Memory(":memory:")))


def configs(observations: list[Observation]) -> list[tuple[int, Config, float | None, str]]:
    return [(one.number, one.config, one.value, one.trial.origin) for one in observations]


def remembered(path: Path, **more: Any) -> Optimizer:
    return Optimizer(MIXED, task="now", memory=path, **more)


@pytest.mark.parametrize("with_past", [False, True])
def test_resuming_by_name_gives_the_uninterrupted_sequence(tmp_path: Path, with_past: bool) -> None:
    for name in ("whole", "parts"):
        with Memory(tmp_path / f"{name}.db") as memory:
            for seed in range(2 if with_past else 0):
                played(Optimizer(MIXED, task=f"past {seed}", memory=memory, method="random", seed=seed), mixed, 8)
    whole = played(remembered(tmp_path / "whole.db", seed=3), mixed, 9)
    parts: list[Config] = []
    for n in (2, 4, 3):
        resumed = remembered(tmp_path / "parts.db", **({"seed": 3} if not parts else {}))
        parts += played(resumed, mixed, n)
        assert (resumed.seed, resumed.method) == (3, "prior-gp" if with_past else "gp")
    assert parts == whole


def test_a_resumed_task_keeps_seed_direction_method_metric_and_bounds(tmp_path: Path) -> None:
    first = remembered(
        tmp_path / "m.db", direction="maximize", method="rf", seed=5, metric="accuracy", bounds=(0.0, 1.0)
    )
    for value in (0.2, 0.9, 0.4):
        first.tell(first.ask(), value)
    resumed = Optimizer(task="now", memory=str(tmp_path / "m.db"), seed=99)
    assert (resumed.seed, resumed.direction, resumed.method) == (5, "maximize", "rf")
    assert resumed.space == MIXED
    assert resumed.best.value == 0.9
    with Memory(tmp_path / "m.db") as memory:
        record = memory.task("now")
    assert (record.metric, record.bounds, record.method) == ("accuracy", (0.0, 1.0), "rf")


def test_what_does_not_fit_the_stored_task_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    remembered(path)
    with pytest.raises(MemoryStoreError, match="stored with direction minimize, but came with maximize"):
        remembered(path, direction="maximize")
    with pytest.raises(MemoryStoreError, match="another Space"):
        Optimizer(PLANE, task="now", memory=path)
    with pytest.raises(MemoryStoreError, match="metric None, but came with loss"):
        remembered(path, metric="loss")
    with pytest.raises(SettingsError, match=r"a new task needs a space\. There is no task 'noww'.*'now'"):
        Optimizer(task="noww", memory=path)
    with pytest.raises(SettingsError, match="keeps tasks by name"):
        Optimizer(MIXED, memory=path)


def test_a_method_that_only_the_user_has_must_be_given_again(tmp_path: Path) -> None:
    class Own(GaussianProcess):
        name = "own"

    optimizer = remembered(tmp_path / "m.db", method=Own(restarts=0, minimum_observations=1), seed=0)
    played(optimizer, mixed, 2)
    resumed = remembered(tmp_path / "m.db")
    resumed.add_observation(MIXED.grid(2)[0], 1.0)  # telling needs no method
    with pytest.raises(SettingsError, match="There is no surrogate named 'own'"):
        resumed.ask()
    assert remembered(tmp_path / "m.db", method=Own(restarts=0)).method == "own"


def test_auto_is_decided_when_the_task_begins(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    before = remembered(path)
    played(before, mixed, 3)
    assert before.method == "gp"
    played(Optimizer(MIXED, task="other", memory=path, method="random", metric="loss", seed=0), mixed, 5)
    assert remembered(path).method == "gp"
    assert Optimizer(MIXED, task="later", memory=path).method == "prior-gp"
    assert Optimizer(MIXED, task="also a loss", memory=path, metric="loss").method == "prior-gp"
    # of another metric, and of another Space
    assert Optimizer(MIXED, task="accuracy", memory=path, metric="accuracy").method == "gp"
    assert Optimizer(PLANE, task="plane", memory=path).method == "gp"


def test_tasks_that_say_nothing_and_the_task_itself_are_no_past(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    for name, n, value in (("one value", 1, 0.5), ("constant", 5, 0.5), ("nothing", 0, 0.0)):
        played(Optimizer(MIXED, task=name, memory=path, method="random"), lambda _, kept=value: kept, n)
    own = remembered(path)
    played(own, mixed, 6)
    assert own.method == "gp"
    assert remembered(path, method="prior-gp").explain(0).weights == ()


def test_a_past_that_is_given_takes_the_place_of_the_memory_s(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    played(Optimizer(MIXED, task="stored", memory=path, method="random", seed=0), mixed, 8)
    optimizer = remembered(path, past=past_of(MIXED, mixed, tasks=2, rows=10), seed=0)
    trial = optimizer.ask()
    assert trial.origin == "prior-gp"
    assert {name for name, _ in optimizer.explain(trial).weights} == {"past 0", "past 1"}


LOOP = """
import sys, time
from problems import MIXED, mixed
from headstart import Optimizer
optimizer = Optimizer(MIXED, task="now", memory=sys.argv[1], method="random", seed=3)
for _ in range(int(sys.argv[2])):
    trial = optimizer.ask()
    optimizer.tell(trial, mixed(trial.config))
    print(trial.number, flush=True)
    time.sleep(float(sys.argv[3]))
"""


def test_a_killed_process_loses_nothing_that_was_told(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    victim = process(LOOP, path, 10_000, 0.0, wait=False)
    assert victim.stdout is not None
    printed = [int(victim.stdout.readline()) for _ in range(12)]
    victim.send_signal(signal.SIGKILL)
    rest, _ = victim.communicate(timeout=30)
    printed += [int(line) for line in rest.split()]
    resumed = remembered(path)
    complete = [one.number for one in resumed.trials if one.state == "complete"]
    assert set(printed) <= set(complete)
    assert len(resumed.trials) <= len(printed) + 2
    values = {one.number: one.value for one in resumed.trials if one.state == "complete"}
    assert all(values[one.number] == mixed(one.config) for one in resumed.trials if one.state == "complete")
    n = len(resumed.trials)
    played(resumed, mixed, 3)
    # random search does not look back: the sequence is that of a run that was never killed
    whole = played(Optimizer(MIXED, method="random", seed=3), mixed, n + 3)
    assert [one.config for one in resumed.trials] == whole
    with Memory(path) as memory:
        assert memory.check() == []


def test_two_processes_share_one_task(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    remembered(path, method="random", seed=3)
    both = [process(LOOP, path, 15, 0.0, wait=False) for _ in range(2)]
    numbers: list[int] = []
    for each in both:
        out, error = each.communicate(timeout=60)
        assert each.returncode == 0, error
        numbers += [int(line) for line in out.split()]
    assert len(set(numbers)) == 30
    seen = remembered(path).trials
    assert [one.number for one in seen] == list(range(len(seen)))
    told = [one for one in seen if one.state == "complete"]
    assert sorted(one.number for one in told) == sorted(numbers)
    assert len({MIXED.key(one.config) for one in told}) == 30  # none was evaluated twice
    assert {one.state for one in seen} <= {"complete", "abandoned"}


def test_two_that_would_ask_the_same_do_not(tmp_path: Path) -> None:
    """Another process stores the very next trial after we have read, and before we store ours."""
    one, other = (remembered(tmp_path / "m.db", method=QUICK, seed=3) for _ in range(2))
    played(one, mixed, 6)
    ledger = one._ledger  # pyright: ignore[reportPrivateUsage]
    begin = ledger.begin
    overtaken: list[Config] = []

    def late(trial: Any) -> Any:
        if not overtaken:
            overtaken.append(other.ask().config)
        return begin(trial)

    ledger.begin = late
    trial = one.ask()
    assert trial.config != overtaken[0]
    assert [seen.state for seen in one.trials[6:]] == ["running", "abandoned", "running"]
    assert (one.trials[6].config, one.trials[7].config) == (overtaken[0], overtaken[0])
    one.tell(trial, 1.0)
    other.tell(6, 1.0)
    assert one.best.number == other.best.number


def test_trials_of_another_optimizer_are_seen_and_may_be_told(tmp_path: Path) -> None:
    one, other = (remembered(tmp_path / "m.db", method="random", seed=3) for _ in range(2))
    trial = one.ask()
    assert other.trials[0].state == "running"
    other.tell(trial, 4.0, metadata={"by": ["other", 1]})
    other.add_observation(MIXED.grid(2)[3], 3.0)
    assert [(seen.state, seen.value) for seen in one.trials] == [("complete", 4.0), ("complete", 3.0)]
    assert one.trials[0].metadata == {"by": ["other", 1]}
    assert one.best.value == 3.0
    assert one.ask().number == 2
    assert one.ask().told_before == 2


def test_defaults_may_differ_when_resuming(tmp_path: Path) -> None:
    Optimizer(PLANE, task="t", memory=tmp_path / "m.db", seed=0)
    space = Space(Float("y", 0.0, 1.0), Float("x", 0.0, 1.0, default=0.25))
    resumed = Optimizer(space, task="t", memory=tmp_path / "m.db")
    assert resumed.ask().origin == "default"
    played(resumed, bowl, 2)
    assert len(Optimizer(PLANE, task="t", memory=tmp_path / "m.db").trials) == 3
