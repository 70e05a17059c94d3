"""Jobs on several processes: order, steps, errors, and Ctrl-C pressed once and twice."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.processes import WorkerDiedError, Workers
from jobs import Dying, Failing, Square


@pytest.mark.parametrize("count", [1, 2])
def test_answers_come_in_order_and_every_step_before_its_answer(count: int) -> None:
    steps: list[float | None] = []
    with Workers(count) as workers:
        for _ in range(3):
            steps.clear()
            jobs = [Square(number) for number in range(20)]
            assert workers.run(jobs, lambda _, best: steps.append(best)) == [number**2 for number in range(20)]
            assert sorted(float(step or 0) for step in steps) == sorted(3 * [float(number) for number in range(20)])


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_of_a_job_is_raised_here(count: int) -> None:
    with pytest.raises(DataError, match="of a job"), Workers(count) as workers:
        workers.run([Square(1), Failing(), Square(2)], lambda *_: None)


def test_a_worker_that_dies_is_an_error() -> None:
    with pytest.raises(WorkerDiedError, match="What was finished is kept"), Workers(2) as workers:
        workers.run([Dying(), Square(1)], lambda *_: None)


PROGRAM = """
import sys, time
from dataclasses import dataclass
from pathlib import Path
from headstart.processes import Report, Workers

@dataclass(frozen=True)
class Slow:
    folder: Path
    name: str
    seconds: float
    def run(self, report: Report) -> None:
        for step in range(1000):
            (self.folder / f"{self.name} began {step}").touch()
            time.sleep(self.seconds)
            (self.folder / f"{self.name} ended {step}").touch()
            report("step", None)

if __name__ == "__main__":
    with Workers(2) as workers:
        workers.run([Slow(Path(sys.argv[1]), str(k), float(sys.argv[2])) for k in range(6)], lambda *_: None)
"""


def interrupted(folder: Path, seconds: float, times: int) -> tuple[set[str], float]:
    """Return what was touched by jobs whose step takes ``seconds``, and how long the end took after Ctrl-C."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    touched = folder / "touched"
    touched.mkdir()
    command = [sys.executable, str(program), str(touched), str(seconds)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 60
    while len(list(touched.iterdir())) < 2 and time.monotonic() < deadline:
        assert process.poll() is None
        time.sleep(0.02)
    began = time.monotonic()
    try:
        for _ in range(times):
            os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
            time.sleep(0.3)
        process.wait(30)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    return {file.name for file in touched.iterdir()}, time.monotonic() - began


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_after_one_interrupt_every_step_that_began_ends(tmp_path: Path) -> None:
    touched, _ = interrupted(tmp_path, 1.0, 1)
    assert {name.replace("began", "ended") for name in touched} == {
        name.replace("began", "ended") for name in touched if "ended" in name
    }
    assert {name.split()[0] for name in touched} == {"0", "1"}  # jobs on their way do not begin


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_after_two_interrupts_nobody_waits(tmp_path: Path) -> None:
    touched, took = interrupted(tmp_path, 40.0, 2)
    assert touched == {"0 began 0", "1 began 0"}
    assert took < 15
