"""The same runs on a Ray cluster of this machine, also when a worker dies."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from benchmark.small import numbers, source
from headstart.benchmark.methods import Method
from headstart.benchmark.runner import run
from headstart.benchmark.settings import RunSettings
from headstart.surrogates import GaussianProcess, PriorGP

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'headstart[ray]'")

SETTINGS = RunSettings(trials=6)
METHODS = (Method("gp", GaussianProcess(restarts=0)), Method("prior-gp", PriorGP(trees=5, source="forest", gate=None)))


def workers_of_ray() -> list[int]:
    """Return the processes that carry out tasks at this moment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if words.startswith(b"ray::_records"):
                found.append(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray warns of its own future at every start
def test_all_runs_arrive_once_although_a_worker_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = str(Path(__file__).parents[1])
    steps: list[str] = []
    killed: list[int] = []
    over = threading.Event()

    def kill_one() -> None:
        while not over.is_set() and not killed:
            for process in workers_of_ray():
                os.kill(process, signal.SIGKILL)
                killed.append(process)
                break
            time.sleep(0.01)

    class Heard:
        def begin(self, kind: str, total: int) -> None:
            pass

        def step(self, kind: str) -> None:
            steps.append(kind)

        def space_done(self, space: str) -> None:
            pass

    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": tests}},
    )
    murderer = threading.Thread(target=kill_one)
    murderer.start()
    try:
        run(source(), METHODS, SETTINGS, tmp_path / "ray", seeds=2, backend="ray", listener=Heard())
    finally:
        over.set()
        murderer.join()
        ray.shutdown()
    assert len(killed) == 1
    assert steps.count("run") == 2 * 2 * 2 * 2
    run(source(), METHODS, SETTINGS, tmp_path / "here", seeds=2)
    assert numbers(tmp_path / "ray") == numbers(tmp_path / "here")
