import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headstart import Memory, Observation, Optimizer
from headstart.errors import DataError, HeadstartError, NotFittedError, SettingsError
from headstart.space import Config
from problems import PLANE, SMALL, bowl, number

TESTS = Path(__file__).resolve().parents[1]


def random_search(**more: Any) -> Optimizer:
    return Optimizer(PLANE, method="random", seed=0, **more)


def states(optimizer: Optimizer) -> list[str]:
    return [one.state for one in optimizer.trials]


def test_it_asks_evaluates_tells_and_returns_the_best() -> None:
    optimizer = random_search()
    best = optimizer.optimize(bowl, n_trials=12)
    assert states(optimizer) == ["complete"] * 12
    assert best == optimizer.best
    assert best.value == min(bowl(one.config) for one in optimizer.trials)
    assert all(one.value == bowl(one.config) for one in optimizer.trials)
    assert optimizer.optimize(bowl, n_trials=3).number in range(15)
    assert len(optimizer.trials) == 15
    assert optimizer.optimize(bowl, n_trials=0) == optimizer.best


def test_the_same_trials_as_asking_and_telling_by_hand() -> None:
    loop, by_hand = random_search(), random_search()
    loop.optimize(bowl, n_trials=5)
    assert [one.config for one in loop.trials] == [trial.config for trial in by_hand.ask(5)]


def test_a_timeout_begins_no_further_trial() -> None:
    optimizer = random_search()
    began = time.monotonic()
    optimizer.optimize(lambda config: time.sleep(0.05) or 1.0, timeout=0.4)
    assert 0.4 <= time.monotonic() - began < 5.0
    assert 2 <= len(optimizer.trials) <= 8
    assert all(one.duration is not None and 0.05 <= one.duration < 1.0 for one in optimizer.trials)
    with pytest.raises(NotFittedError):
        random_search().optimize(bowl, timeout=0)


def test_a_space_without_end_needs_a_limit_and_a_finite_one_does_not(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(SettingsError, match="a Space without end needs n_trials, timeout, or both"):
        random_search().optimize(bowl)
    optimizer = Optimizer(SMALL, method="random", seed=0)
    best = optimizer.optimize(lambda config: number(config, "a"))
    assert best.value == 0.0
    assert states(optimizer) == ["complete"] * 12
    assert "All 12 configurations of the Space have been handed out" in caplog.text


def test_several_jobs_run_at_the_same_time_and_never_more() -> None:
    together = threading.Barrier(2, timeout=20)
    running: set[int] = set()
    most: list[int] = []

    def objective(config: Config) -> float:
        running.add(threading.get_ident())
        most.append(len(running))
        together.wait()  # comes to an end only with another evaluation at the same time
        running.discard(threading.get_ident())
        together.wait()
        return bowl(config)

    optimizer = random_search()
    optimizer.optimize(objective, n_trials=6, n_jobs=2)
    assert states(optimizer) == ["complete"] * 6
    assert max(most) == 2
    assert all(one.value == bowl(one.config) for one in optimizer.trials)


def test_caught_exceptions_are_failures(caplog: pytest.LogCaptureFixture) -> None:
    def objective(config: Config) -> float:
        if number(config, "x") > 0.5:
            raise MemoryError("too large")
        if number(config, "y") > 0.7:
            raise ZeroDivisionError
        return 1.0

    for n_jobs in (1, 2):
        optimizer = random_search()
        optimizer.optimize(objective, n_trials=20, n_jobs=n_jobs, catch=(MemoryError, ArithmeticError))
        assert set(states(optimizer)) == {"complete", "failed"}
        for one in optimizer.trials:
            failed = number(one.config, "x") > 0.5 or number(one.config, "y") > 0.7
            assert one.state == ("failed" if failed else "complete")
        errors = {one.metadata.get("error") for one in optimizer.trials}
        assert errors == {None, "MemoryError: too large", "ZeroDivisionError: "}
    assert "failed: MemoryError: too large" in caplog.text


def test_other_exceptions_are_told_and_raised() -> None:
    def objective(config: Config) -> float:
        if len(optimizer.trials) == 4:
            raise LookupError("gone")
        return 1.0

    optimizer = random_search()
    with pytest.raises(LookupError, match="gone"):
        optimizer.optimize(objective, n_trials=10, catch=ValueError)
    assert states(optimizer) == ["complete"] * 3 + ["failed"]
    assert optimizer.trials[3].metadata == {"error": "LookupError: gone"}


def test_with_several_jobs_an_exception_waits_for_the_results_of_the_others() -> None:
    entered, failed = threading.Event(), threading.Event()

    def objective(config: Config) -> float:
        if not entered.is_set():
            entered.set()
            failed.wait(20)
            time.sleep(0.05)
            return 5.0
        entered.wait(20)
        failed.set()
        raise LookupError("gone")

    optimizer = random_search()
    with pytest.raises(LookupError, match="gone"):
        optimizer.optimize(objective, n_trials=50, n_jobs=2)
    assert sorted(states(optimizer)) == ["complete", "failed"]
    assert optimizer.best.value == 5.0


@pytest.mark.parametrize("junk", ["0.5", object(), [1.0], 1j, {"loss": 1.0}, True])
def test_an_objective_that_returns_junk_is_told_as_failed_and_refused(junk: Any) -> None:
    optimizer = random_search()
    with pytest.raises(DataError, match="The value of trial 0 must be a number"):
        optimizer.optimize(lambda config: junk, n_trials=5)
    assert states(optimizer) == ["failed"]
    optimizer = random_search()
    with pytest.raises(NotFittedError):
        optimizer.optimize(lambda config: junk, n_trials=5, catch=DataError)
    assert states(optimizer) == ["failed"] * 5


def test_none_and_nan_are_failures_and_not_errors() -> None:
    optimizer = random_search()
    values = iter([None, float("nan"), 3.0])
    assert optimizer.optimize(lambda config: next(values), n_trials=3).number == 2
    assert states(optimizer) == ["failed", "failed", "complete"]


def test_the_objective_may_take_its_configuration_apart() -> None:
    optimizer = random_search()
    optimizer.optimize(lambda config: config.pop("x") and 1.0, n_trials=3)  # pyright: ignore
    assert all(PLANE.contains(one.config) for one in optimizer.trials)


def test_callbacks_see_each_observation_and_may_end_the_loop() -> None:
    seen: list[tuple[int, Observation]] = []

    def watch(optimizer: Optimizer, observation: Observation) -> None:
        seen.append((len(optimizer.trials), observation))
        observation.config.clear()

    def stop(optimizer: Optimizer, observation: Observation) -> None:
        if observation.number == 3:
            raise StopIteration

    optimizer = random_search()
    optimizer.optimize(bowl, n_trials=10, callbacks=(each for each in (watch, stop)))
    assert [(count, one.number, one.state) for count, one in seen] == [(i + 1, i, "complete") for i in range(4)]
    assert [one.value for _, one in seen] == [one.value for one in optimizer.trials]


def test_a_callback_that_raises_ends_the_loop_and_abandons_what_runs() -> None:
    def fail(optimizer: Optimizer, observation: Observation) -> None:
        raise LookupError("callback")

    for n_jobs in (1, 2):
        optimizer = random_search()
        with pytest.raises(LookupError, match="callback"):
            optimizer.optimize(bowl, n_trials=10, n_jobs=n_jobs, callbacks=[fail])
        assert states(optimizer)[0] == "complete"
        assert "running" not in states(optimizer)


def test_the_progress_bar_goes_to_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    random_search().optimize(bowl, n_trials=4, progress=True)
    shown = capfd.readouterr()
    assert shown.out == ""
    assert "4/4" in shown.err
    assert "best 0." in shown.err
    random_search().optimize(bowl, n_trials=4)
    assert capfd.readouterr() == ("", "")


def test_keyboard_interrupt_in_the_objective() -> None:
    def objective(config: Config) -> float:
        if len(optimizer.trials) == 4:
            raise KeyboardInterrupt
        return 1.0

    for n_jobs in (1, 2):
        optimizer = random_search()
        with pytest.raises(KeyboardInterrupt):
            optimizer.optimize(objective, n_trials=10, n_jobs=n_jobs, catch=Exception)
        assert states(optimizer).count("complete") >= 2
        assert "abandoned" in states(optimizer)
        assert not {"running", "failed"} & set(states(optimizer))


@pytest.mark.parametrize("before", [True, False])
def test_an_interruption_while_telling_loses_no_result(before: bool) -> None:
    class Interrupted(Optimizer):
        interrupted = False

        def tell(self, *given: Any, **named: Any) -> None:
            if before and len(self.trials) == 3 and not self.interrupted:
                self.interrupted = True
                raise KeyboardInterrupt
            super().tell(*given, **named)
            if not before and len(self.trials) == 3:
                raise KeyboardInterrupt

    optimizer = Interrupted(PLANE, method="random", seed=0)
    with pytest.raises(KeyboardInterrupt):
        optimizer.optimize(bowl, n_trials=10)
    assert states(optimizer) == ["complete"] * 3


def test_finished_results_are_kept_when_something_interrupts() -> None:
    finished = threading.Semaphore(0)

    def objective(config: Config) -> float:
        finished.release()
        return 1.0

    def interrupt(optimizer: Optimizer, observation: Observation) -> None:
        for _ in range(3):
            finished.acquire(timeout=20)
        time.sleep(0.2)  # the other two are in the queue by now
        raise KeyboardInterrupt

    optimizer = random_search()
    with pytest.raises(KeyboardInterrupt):
        optimizer.optimize(objective, n_trials=3, n_jobs=3, callbacks=[interrupt])
    assert states(optimizer) == ["complete"] * 3


def test_a_memory_that_fails_while_giving_back_does_not_hide_the_cause() -> None:
    class Broken(Optimizer):
        def abandon(self, trial: Any) -> None:
            raise HeadstartError("disk full")

    def objective(config: Config) -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Broken(PLANE, method="random", seed=0).optimize(objective, n_trials=2)


INTERRUPTED = """
import sys, time
from problems import PLANE, bowl
from headstart import Optimizer
optimizer = Optimizer(PLANE, task="now", memory=sys.argv[1], method="random", seed=3)

def objective(config):
    told = sum(one.state == "complete" for one in optimizer.trials)
    print(told, flush=True)
    time.sleep(0.05 if told < 4 else 60.0)
    return bowl(config)

optimizer.optimize(objective, n_trials=1000, n_jobs=int(sys.argv[2]))
"""


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_keeps_what_was_told_abandons_the_rest_and_ends_at_once(tmp_path: Path, n_jobs: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path / "m.db"), str(n_jobs)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TESTS), "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    printed: list[int] = []
    while not printed or printed[-1] < 4:
        printed.append(int(process.stdout.readline()))
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, error = process.communicate(timeout=30)
    assert time.monotonic() - began < 10.0
    assert process.returncode == -signal.SIGINT
    assert error.rstrip().endswith("KeyboardInterrupt")
    with Memory(tmp_path / "m.db") as memory:
        found = memory.observations("now")
    counts = {state: sum(one.state == state for one in found) for state in {one.state for one in found}}
    assert set(counts) == {"complete", "abandoned"}
    assert counts["complete"] >= 4
    assert counts["abandoned"] <= n_jobs
    assert all(one.value == bowl(one.config) for one in found if one.state == "complete")


def junk_calls() -> list[tuple[str, Callable[[Optimizer], object]]]:
    anything: Any = None
    return [
        ("n_trials", lambda o: o.optimize(bowl, n_trials=-1)),
        ("n_trials", lambda o: o.optimize(bowl, n_trials=1.5)),  # pyright: ignore[reportArgumentType]
        ("n_trials", lambda o: o.optimize(bowl, n_trials=True)),
        ("timeout", lambda o: o.optimize(bowl, timeout=-1.0)),
        ("timeout", lambda o: o.optimize(bowl, timeout=float("nan"))),
        ("timeout", lambda o: o.optimize(bowl, timeout="1")),  # pyright: ignore[reportArgumentType]
        ("n_jobs", lambda o: o.optimize(bowl, n_trials=1, n_jobs=0)),
        ("n_jobs", lambda o: o.optimize(bowl, n_trials=1, n_jobs=-1)),
        ("function", lambda o: o.optimize(anything, n_trials=1)),
        ("catch", lambda o: o.optimize(bowl, n_trials=1, catch="ValueError")),  # pyright: ignore[reportArgumentType]
        ("catch", lambda o: o.optimize(bowl, n_trials=1, catch=KeyboardInterrupt)),  # pyright: ignore
        ("catch", lambda o: o.optimize(bowl, n_trials=1, catch=(ValueError, 3))),  # pyright: ignore
        ("callbacks", lambda o: o.optimize(bowl, n_trials=1, callbacks=5)),  # pyright: ignore[reportArgumentType]
        ("callbacks", lambda o: o.optimize(bowl, n_trials=1, callbacks=[5])),  # pyright: ignore[reportArgumentType]
        ("callbacks", lambda o: o.optimize(bowl, n_trials=1, callbacks="ab")),  # pyright: ignore[reportArgumentType]
    ]


@pytest.mark.parametrize(("what", "call"), junk_calls())
def test_what_optimize_cannot_do_is_refused_before_anything_is_asked(what: str, call: Any) -> None:
    optimizer = random_search()
    with pytest.raises(SettingsError, match=f"optimize: .*{what}"):
        call(optimizer)
    assert optimizer.trials == []
