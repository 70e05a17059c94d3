"""headstart bench and experiment, as commands."""

import csv
import io
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from headstart.benchmark.store import read_results
from headstart.cli.main import run
from headstart.memory import Memory
from headstart.space import Float, Space

Shell = Callable[..., subprocess.CompletedProcess[str]]


def hpob_folder(folder: Path) -> Path:
    """Write a small suite in HPO-B's layout."""
    rng = np.random.default_rng(0)

    def tasks(names: str) -> dict[str, object]:
        found: dict[str, object] = {}
        for name in names.split():
            x = rng.random((30, 2))
            y = -((x[:, 0] - 0.3) ** 2) - (x[:, 1] - 0.6) ** 2
            found[name] = {"X": x.tolist(), "y": [[value] for value in y]}
        return found

    folder.mkdir()
    for part, names in (("train", "a b c d"), ("validation", "e"), ("test", "f g")):
        (folder / f"meta-{part}-dataset.json").write_text(json.dumps({"100": tasks(names), "200": tasks(names)}))
    rows = {task: {f"test{seed}": [seed, 5, 6, 7, 8] for seed in range(5)} for task in "fg"}
    (folder / "bo-initializations.json").write_text(json.dumps({"100": rows, "200": rows}))
    return folder


@pytest.fixture
def results(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    suite = hpob_folder(folder / "suite")
    command = ["bench", "run", "--suite", str(suite), "--methods", "random,gp", "--seeds", "2", "--trials", "4"]
    assert run([*command, "--out", "results"]) == 0
    return folder / "results"


def table(file: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(file.read_text())))


def test_run_prints_a_line_per_space_and_the_table(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    command = ["bench", "run", "--suite", "suite", "--methods", "random,gp", "--seeds", "2", "--trials", "4"]
    assert run([*command, "--out", "results"]) == 0  # nothing is missing
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert lines[0] == "Mean normalised regret over 2 spaces, 8 runs a method"
    assert lines[1].split() == ["method", "@1", "@4", "rank", "@4"]
    assert {line.split()[0] for line in lines[3:]} == {"gp", "random"}
    assert [line.split(",")[0] for line in captured.err.splitlines()] == ["100 done", "200 done"]
    curves = read_results(results).curves()
    regret = dict(zip(curves.methods, curves.regret.mean(axis=1), strict=True))  # spaces are of one size
    for line in lines[3:]:
        assert line.split()[1:3] == [f"{regret[line.split()[0]][t]:.4f}" for t in (1, 4)]


def test_reports_in_every_format(results: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["bench", "report", "results", "--format", "csv", "--at", "1,4"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert {row["method"] for row in rows if row.get("method")} >= {"gp", "random"}
    assert run(["bench", "report", "results", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)
    assert run(["bench", "report", "results", "--format", "markdown", "--out", "table.md"]) == 0
    assert "| gp |" in (folder / "table.md").read_text()
    assert run(["bench", "report", "results", "--format", "html", "--out", "page.html"]) == 0
    assert "<html" in (folder / "page.html").read_text()
    assert run(["bench", "report", "results", "--format", "png", "--out", "pictures"]) == 0
    assert len(list((folder / "pictures").glob("*.png"))) >= 3


def test_exported_results_come_back_as_competitors(
    results: Path, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", "export", "results", "--hpob", "published"]) == 0
    stored = json.loads((folder / "published" / "gp.json").read_text())
    incumbents = stored["100"]["f"]["test0"]
    curves = read_results(results).runs["gp"]
    key = next(key for key in curves if (key.space, key.task, key.seed) == ("100", "f", "test0"))
    assert np.allclose(1.0 - np.array(incumbents), curves[key]["regret"], atol=1e-12)
    capsys.readouterr()
    other = ["--competitor", "theirs=published/gp.json"]
    assert run(["bench", "report", "results", *other, "--format", "json", "--methods", "gp,theirs"]) == 0
    assert run(["bench", "report", *other, "--format", "csv"]) == 0


def test_a_compact_copy_gives_the_same_report(results: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "export", "results", "--compact", "copy"]) == 0
    names = ["about.json", "costs.parquet", "results.parquet"]
    assert sorted(file.name for file in (folder / "copy").iterdir()) == names
    capsys.readouterr()
    texts = []
    for place in ("results", "copy"):
        assert run(["bench", "report", place, "--format", "csv"]) == 0
        rows = csv.DictReader(io.StringIO(capsys.readouterr().out))
        texts.append(
            [
                (*list(row.values())[:-3], *[f"{float(v):.5g}" if v else "" for v in list(row.values())[-3:]])
                for row in rows
            ]
        )
    assert texts[0] == texts[1]
    assert run(["bench", "export", "results"]) == 2
    assert "either --hpob FOLDER or --compact FOLDER" in capsys.readouterr().err


def test_curves_alone_are_smaller(results: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "export", "results", "--compact", "copy"]) == 0
    assert run(["bench", "export", "results", "--compact", "curves", "--curves-only"]) == 0
    size = {name: (folder / name / "results.parquet").stat().st_size for name in ("copy", "curves")}
    assert size["curves"] < size["copy"]
    whole, curves = (read_results(folder / name).curves() for name in ("copy", "curves"))
    assert np.array_equal(whole.regret, curves.regret)
    assert np.isnan(curves.mean).all()
    assert np.isnan(curves.cpu_ms).all()
    assert run(["bench", "report", "curves", "--format", "markdown"]) == 0


def test_legacy_tests_only_by_flag(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = []
    for flags in ([], ["--uncorrected", "--seeds-as-blocks"]):
        capsys.readouterr()
        assert run(["bench", "report", "results", *flags]) == 0
        texts.append(capsys.readouterr().out)
    assert "on 4 tasks (mean of their seeds), p-values adjusted by Holm" in texts[0]
    assert "on 8 runs (seeds taken for independent experiments), p-values not corrected" in texts[1]
    assert "finds too many differences" in texts[1]


def test_compare_of_a_folder_with_itself_is_nothing(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run(["bench", "compare", "results", "results", "--at", "4"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Macro regret of results minus that of results")
    assert sum("+0.0000 [+0.0000, +0.0000]" in line for line in lines) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "--suite", "nowhere", "--out", "o"], "nowhere: there is no such folder or memory"),
        (["run", "--suite", "suite", "--out", "o", "--methods", "gpp"], "There is no method named 'gpp'"),
        (["run", "--suite", "suite", "--out", "o", "--spaces", "300"], "there is no space '300'"),
        (["run", "--suite", "suite", "--out", "results", "--trials", "5"], "holds results with seeds"),
        (["run", "--suite", "suite", "--out", "o", "--methods", ","], "name at least one method"),
        (["run", "--suite", "suite", "--out", "o", "--spaces", "100,100"], "a space is named twice"),
        (["run", "--suite", "nowhere", "--out", "o", "--methods", "gpp"], "There is no method named 'gpp'"),
        (["run", "--suite", "suite", "--out", "results/about.json"], "is no folder. Name another with --out"),
        (["run", "--suite", "suite", "--out", "/proc/o"], "/proc/o: No such file or directory. Check that the place"),
        (["export", "results", "--compact", "results"], "which a copy would replace"),
        (
            ["export", "results", "--hpob", "results/about.json"],
            "results/about.json: File exists. Check that the place",
        ),
        (["report", "empty"], "there are no results"),
        (["report"], "there is no method"),
        (["report", "results", "--at", "7"], "--at 7 must lie in 1..4"),
        (["report", "results", "--competitor", "x"], "must be NAME=FILE"),
        (["report", "results", "--competitor", "x=no.json"], "no.json"),
        (["report", "results", "--competitor", "gp=gp.json"], "--competitor gp has the name of a method of results"),
        (["report", "results", "--methods", "x"], "There are no results of method 'x'"),
        (["compare", "results", "empty"], "there are no results"),
    ],
)
def test_mistakes_get_one_line(
    results: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    message = message.replace("holds results with seeds", "holds results with trials=4 instead of 5")
    if "gp=gp.json" in arguments:
        assert run(["bench", "export", "results", "--hpob", "."]) == 0
        capsys.readouterr()
    assert run(["bench", *arguments]) in (1, 2)
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert error[0].startswith("Error: ")
    assert message in error[0]


def test_methods_that_ran_on_different_spaces_are_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    hpob_folder(folder / "suite")
    for method, space in (("random", "100"), ("gp", "200")):
        capsys.readouterr()
        command = ["--suite", "suite", "--methods", method, "--spaces", space, "--seeds", "1", "--trials", "2"]
        assert run(["bench", "run", *command, "--out", "o"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert lines[0] == "Mean normalised regret over 1 space, 2 runs a method"
        assert [line.split()[0] for line in lines[3:]] == [method]


def test_a_damaged_run_of_another_method_stops_nothing(results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    next((results / "runs" / "random" / "100").rglob("*.parquet")).write_bytes(b"no Parquet")
    capsys.readouterr()
    command = ["--suite", "suite", "--methods", "design-sobol", "--seeds", "1", "--trials", "4", "--out", "results"]
    assert run(["bench", "run", *command]) == 1  # the table of all methods cannot be made
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("100 done; results/runs/random/100/")
    assert said[1].startswith("200 done, 2 runs a method")  # it went on
    assert said[2].startswith("Error: results/runs/random/100/")
    assert len(list((results / "runs" / "design-sobol").rglob("*.parquet"))) == 4


def test_a_full_disk_is_no_defect(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    capsys.readouterr()
    command = ["bench", "run", "--suite", "suite", "--methods", "random,gp", "--seeds", "3", "--trials", "4"]
    assert run([*command, "--out", "results"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("Error: No space left on device. Check that the place exists")
    monkeypatch.undo()
    assert not [file for file in results.rglob("*") if file.name.startswith(".")]
    assert read_results(results).curves().regret.shape[1] == 8


def test_ones_own_memory_ranks_the_methods(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    space = Space(Float("x", 0, 1), Float("y", 0, 1))
    with Memory("runs.db") as memory:
        for task in range(4):
            memory.create_task(f"task {task}", space, direction="minimize")
            for config in space.sample(15, rng=np.random.default_rng(task)):
                value = (float(config["x"] or 0) - 0.4) ** 2 + float(config["y"] or 0)
                memory.add_observation(f"task {task}", config, value)
    command = ["bench", "run", "--suite", "runs.db", "--methods", "random,prior-gp", "--seeds", "2", "--trials", "5"]
    assert run([*command, "--out", "mine"]) == 0
    curves = read_results(folder / "mine").curves().of_methods(["prior-gp", "random"])
    assert len(curves.runs) == 8
    regret = curves.regret.mean(axis=1)
    assert regret[0, 1] < regret[1, 1]  # the tasks are the same function: the past knows the best of them
    assert "prior-gp" in capsys.readouterr().out


def test_bench_methods_lists_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "methods"]) == 0
    assert {"random", "gp", "prior-gp", "design-portfolio"} <= set(capsys.readouterr().out.split())


def test_experiments_are_listed_and_described(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()[2:]]
    assert {"calibration", "negative-transfer", "tst-2"} <= set(names)
    for name in names:
        assert run(["experiment", "describe", name]) == 0
        assert capsys.readouterr().out.startswith(f"name   {name}")
    assert run(["experiment", "describe", "calibrat"]) == 1
    assert "There is no experiment named 'calibrat'. Did you mean 'calibration'" in capsys.readouterr().err


def test_every_experiment_has_a_smoke_size(results: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("calibration", "negative-transfer"):
        assert run(["experiment", "run", name, "--suite", "suite", "--smoke", "--out", name]) == 0
        page = (folder / name / "README.md").read_text()
        assert page.startswith("# ")
        assert "This is a smoke run" in page
        assert f"headstart experiment run {name} --suite suite --smoke --out {name}" in page or "headstart" in page
        rows = table(folder / name / "table.csv")
        assert {row["method"].split(" ")[0] for row in rows} == {"gp", "prior-gp"}
    pictures = sorted(file.name for file in (folder / "negative-transfer").glob("*.png"))
    assert pictures == ["NT.png", "all.png", "critical.png", "negated.png", "permuted.png", "ranks.png"]
    assert run(["experiment", "run", "tst-2", "--suite", "suite", "--smoke", "--out", "t"]) == 1
    assert "needs a suite of complete grids" in capsys.readouterr().err


def test_tst_2_on_a_grid(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    grid = [(a, b) for a in range(1, 7) for b in range(1, 7)]
    (folder / "grid").mkdir()
    for task in range(4):
        lines = [f"{1 - (a - 3 - 0.2 * task) ** 2 / 50 - (b - 4) ** 2 / 50} {a} {b} {task} 0.5" for a, b in grid]
        (folder / "grid" / f"task{task}").write_text("\n".join(lines))
    command = ["experiment", "run", "tst-2", "--suite", "grid", "--smoke", "--methods", "prior-gp,random"]
    assert run([*command, "--out", "t"]) == 0
    rows = table(folder / "t" / "table.csv")
    assert list(rows[0]) == ["method", "trial", "adtm", "average_rank"]
    assert [(row["method"], row["trial"]) for row in rows[:4]] == [
        ("prior-gp", "1"),
        ("prior-gp", "2"),
        ("prior-gp", "3"),
        ("random", "1"),
    ]
    curves = read_results(folder / "t" / "runs").curves()
    place = curves.methods.index("prior-gp")
    assert float(rows[0]["adtm"]) == pytest.approx(curves.regret[place, :, 1].mean(), rel=1e-4)
