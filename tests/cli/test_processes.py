"""The command line as a process of its own: streams, pipes, signals, completion, and what it costs to start."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headstart._version import __version__
from headstart.memory import Memory

Shell = Callable[..., subprocess.CompletedProcess[str]]
SCRIPT = Path(sys.executable).with_name("headstart")
needs_script = pytest.mark.skipif(not SCRIPT.exists(), reason="the headstart script is not beside this Python")


@needs_script
def test_the_script_is_python_dash_m(shell: Shell, folder: Path) -> None:
    script = subprocess.run([SCRIPT, "--help"], cwd=folder, capture_output=True, text=True, timeout=60, check=True)
    assert script.stdout == shell("--help").stdout
    assert shell("--version").stdout == f"headstart {__version__}\n"


def test_results_and_complaints_go_separate_ways(memory: str, shell: Shell) -> None:
    done = shell("suggest", "--task", "fast", "--memory", memory, "-n", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert [json.loads(line)["number"] for line in done.stdout.splitlines()] == [5, 6]
    done = shell("tell", "--task", "fast", "5", "-inf", "--memory", memory)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("Warning: ")
    assert done.stderr.count("\n") == 1
    done = shell("best", "--task", "slow", "--memory", memory)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert shell("best").returncode == 2


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_write_permission(memory: str, shell: Shell, folder: Path) -> None:
    folder.chmod(0o500)
    try:
        done = shell("demo", "--smoke", "--memory", "new.db")
    finally:
        folder.chmod(0o700)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "Permission denied" in done.stderr


def test_a_memory_that_cannot_be_made(shell: Shell, folder: Path) -> None:
    (folder / "space.json").write_text('{"parameters": {"x": {"type": "float", "low": 0, "high": 1}}}')
    done = shell("suggest", "--task", "a", "--space", "space.json", "--memory", "/proc/runs.db")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert done.stderr.startswith("Error: /proc/runs.db")


def test_a_reader_that_leaves_early_is_no_error(memory: str, folder: Path) -> None:
    with Memory(memory) as opened:
        space = opened.task("fast").space
        for place in range(400):
            opened.create_task(f"a task with a long name, number {place:0150}", space)
    command = [sys.executable, "-m", "headstart", "memory", "list", "--memory", memory]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    complaints = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), complaints) == (141, b"")


def test_a_terminal_without_the_letters(memory: str, folder: Path) -> None:
    with Memory(memory) as opened:
        opened.create_task("größe 名", opened.task("fast").space)
    command = [sys.executable, "-m", "headstart", "memory", "list", "--memory", memory]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=60, check=True)
    assert "größe \\u540d" in done.stdout.decode("latin-1")


# ---- completion


@needs_script
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("headstart ", {"demo", "suggest", "tell", "best", "explain", "memory", "space", "bench", "experiment"}),
        ("headstart memory d", {"delete"}),
        ("headstart memory show --memory runs.db f", {"fast"}),
        ("headstart best --memory runs.db --task ", {"fast", "empty"}),
        ("headstart best --memory none.db --task ", set()),
        ("headstart suggest --method prior", {"prior-gp"}),
        ("headstart suggest --direction ma", {"maximize"}),
        ("headstart demo --task w", {"wine"}),
        ("headstart tell --du", {"--duration"}),
    ],
)
def test_completion(memory: str, folder: Path, words: str, expected: set[str]) -> None:
    environment = {
        **os.environ,
        "_HEADSTART_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    done = subprocess.run([SCRIPT], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert set(done.stdout.split()) == expected


# ---- the demo and Ctrl-C


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_stops_the_demo_and_keeps_the_memory(folder: Path, jobs: str) -> None:
    process = _demo(folder, jobs)
    _wait_for_trials(folder, 12)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, complaints = process.communicate(timeout=60)
    assert process.returncode == 130
    assert out == ""
    assert complaints.splitlines()[-1].startswith("Error: interrupted. headstart-demo.db keeps")
    assert "Traceback" not in complaints
    _wait_until_gone(process.pid)
    with Memory(folder / "headstart-demo.db", create=False) as memory:
        assert memory.check() == []
        assert sum(record.trials.complete for record in memory.tasks()) >= 12
        assert sum(record.trials.running for record in memory.tasks()) == 0


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_workers_do_not_outlive_the_demo(folder: Path) -> None:
    process = _demo(folder, "2")
    _wait_for_trials(folder, 2)
    process.kill()
    process.communicate(timeout=60)
    _wait_until_gone(process.pid)


def _demo(folder: Path, jobs: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "headstart", "demo", "--jobs", jobs, "--no-plot"]
    return subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def _wait_for_trials(folder: Path, count: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        time.sleep(0.05)
        path = folder / "headstart-demo.db"
        if path.exists() and path.stat().st_size:
            with Memory(path) as memory:
                if sum(record.trials.complete for record in memory.tasks()) >= count:
                    return
    raise AssertionError("the demo did not get to work")


def _wait_until_gone(group: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    os.killpg(group, signal.SIGKILL)
    raise AssertionError("a worker outlived the demo")


# ---- lightness


def _cpu_seconds(*command: str) -> float:
    """Return the least of three measurements: other processes only add to them."""
    found: list[float] = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, timeout=60, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def test_help_is_light() -> None:
    assert _cpu_seconds(sys.executable, "-m", "headstart", "--help") <= 0.6
    code = "import sys, headstart.cli.main; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    heavy = {"numpy", "scipy", "sklearn", "sqlalchemy", "matplotlib", "pandas", "rich.table", "headstart.optimizer"}
    assert heavy.isdisjoint(loaded.stdout.split())
