import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from headstart.memory import Memory
from headstart.space import Categorical, Float, Int, Space

SPACE = Space(
    Categorical("kernel", ["rbf", "poly"]),
    Float("C", 1e-3, 1e3, log=True, default=1.0),
    Int("degree", 2, 5, when={"kernel": "poly"}),
)

Shell = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.fixture
def memory(folder: Path) -> str:
    """A memory with two tasks: "fast" with three complete trials, a failed and a running one; "empty" with none."""
    with Memory("runs.db") as opened:
        opened.create_task("fast", SPACE, direction="maximize", metric="accuracy", seed=3, metadata={"who": "me"})
        for value in (0.25, 0.75, 0.5):
            opened.add_observation("fast", {"kernel": "rbf", "C": 10 * value}, value, duration=1.5)
        opened.add_observation("fast", {"kernel": "poly", "C": 1.0, "degree": 3}, failed=True)
        opened.add_trial("fast", {"kernel": "poly", "C": 2.0, "degree": 4}, origin="gp", told_before=4)
        opened.create_task("empty", SPACE)
    return "runs.db"


@pytest.fixture
def shell(folder: Path) -> Shell:
    """Runs the command line as a process of its own."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headstart", *arguments]
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60, check=False)

    return run
