import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headstart.cli.main import run
from headstart.memory import Memory

Shell = Callable[..., subprocess.CompletedProcess[str]]
SMOKE = ("demo", "--smoke")


def test_the_demo_ends_with_table_sentence_picture_memory_and_next_command(folder: Path, shell: Shell) -> None:
    from matplotlib.image import imread

    done = shell(*SMOKE)
    assert done.returncode == 0
    assert [line for line in done.stderr.splitlines() if not line.startswith("  ")] == [
        "Filling the memory: 3 past tasks, 8 trials of random search each",
        "Tuning wine with the memory and without, 2 seeds",
    ]
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[4:7]] == ["1", "3", "5"]
    assert all(line.count("±") == 2 for line in lines[4:7])
    assert sum(line.startswith("The memory ") for line in lines) == 1
    assert lines[-3:] == [
        "Memory   headstart-demo.db",
        "Picture  headstart-demo.png",
        "Next     headstart memory list --memory headstart-demo.db",
    ]
    picture = imread(folder / "headstart-demo.png")
    assert picture.shape == (720, 1200, 4)
    assert len(np.unique(picture.reshape(-1, 4), axis=0)) > 20
    following = shell("memory", "list", "--memory", "headstart-demo.db")
    assert following.stdout.splitlines()[-1] == "4 tasks, 29 trials"


def test_the_table_is_the_mean_of_the_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*SMOKE, "--json", "--no-plot"]) == 0
    plain = json.loads(capsys.readouterr().out)
    assert (plain["task"], plain["trials"], plain["picture"]) == ("wine", 5, None)
    assert plain["memory"] == "headstart-demo.db"
    assert not (folder / "headstart-demo.png").exists()
    assert run([*SMOKE, "--no-plot"]) == 0  # the past is there: the runs are the same
    lines = capsys.readouterr().out.splitlines()
    for line, count in zip(lines[4:7], (1, 3, 5), strict=True):
        words = line.split()
        for place, arm in ((1, "with_memory"), (5, "without_memory")):
            errors = [100 * one["best_error"][count - 1] for one in plain[arm]["runs"]]
            assert words[place] == f"{sum(errors) / len(errors):.2f}"
    assert plain["result"] in lines


def test_the_demo_leaves_other_tasks_of_a_memory_alone(memory: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Memory(memory, create=False) as opened:
        before = opened.observations("fast")
    assert run([*SMOKE, "--memory", memory, "--seeds", "1", "--no-plot"]) == 0
    with Memory(memory, create=False) as opened:
        assert opened.observations("fast") == before
        assert len(opened.tasks()) == 2 + 4
    assert "headstart memory list --memory runs.db" in capsys.readouterr().out


def test_files_go_where_they_should(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "some where").mkdir()
    assert run([*SMOKE, "--seeds", "1", "--out", "some where"]) == 0
    assert {path.name for path in (folder / "some where").iterdir()} == {"headstart-demo.db", "headstart-demo.png"}
    assert "--memory 'some where/headstart-demo.db'" in capsys.readouterr().out


def test_without_matplotlib_a_line_says_what_to_install(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run([*SMOKE, "--seeds", "1"]) == 0
    out, _ = capsys.readouterr()
    (line,) = (line for line in out.splitlines() if line.startswith("Picture"))
    assert "pip install 'headstart[plots]'" in line
    assert not (folder / "headstart-demo.png").exists()


def test_a_task_of_that_name_with_another_space_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from headstart.space import Float, Space

    with Memory("mine.db") as opened:
        opened.create_task("iris", Space(Float("x", 0, 1)), metric="error")
    assert run([*SMOKE, "--memory", "mine.db", "--no-plot"]) == 1
    (*_, line) = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: Task 'iris' is stored with another Space")


def test_a_picture_that_cannot_be_written_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "headstart-demo.png").mkdir()
    assert run([*SMOKE, "--seeds", "1"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("Error: headstart-demo.png cannot be written")
