"""tst-3: algorithm and hyperparameters together, on a made folder of two families."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.benchmark.parquet import write_columns
from headstart.benchmark.runner import SuiteSource
from headstart.benchmark.store import read_results
from headstart.errors import SettingsError
from headstart.experiments import recipe_named
from headstart.experiments.frame import Work, carry_out
from headstart.experiments.tst_3 import METHODS, TST_3, VARIANTS, WIDE
from headstart.surrogates import TSTR

NAMES = [f"t{number}" for number in range(8)]
SPLIT = {"train": NAMES[:5], "validation": NAMES[5:6], "test": NAMES[6:]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A line whose best end is never as good as the best place on the other family's hill."""
    made = tmp_path_factory.mktemp("families")
    (made / "runs").mkdir()
    families: dict[str, Any] = {
        "line": {"x": {"type": "float", "low": 0.0, "high": 1.0, "log": False}},
        "hill": {"a": {"type": "float", "low": 0.0, "high": 1.0}, "b": {"type": "int", "low": 0, "high": 4}},
    }
    described = {name: {"parameters": own, "split": SPLIT, "source": "made"} for name, own in families.items()}
    (made / "spaces.json").write_text(json.dumps(described))
    line: dict[str, list[Any]] = {"task": [], "x": [], "score": []}
    hill: dict[str, list[Any]] = {"task": [], "a": [], "b": [], "score": []}
    for number, task in enumerate(NAMES):
        for x in np.linspace(0, 1, 30):
            for name, value in zip(line, (task, float(x), 0.7 * float(x)), strict=True):
                line[name].append(value)
        for a in np.linspace(0, 1, 9):
            for b in range(5):
                score = 1.0 - (a - 0.5 - 0.01 * number) ** 2 - 0.05 * abs(b - 3)
                for name, value in zip(hill, (task, float(a), b, float(score)), strict=True):
                    hill[name].append(value)
    write_columns(made / "runs" / "line.parquet", line, {})
    write_columns(made / "runs" / "hill.parquet", hill, {})
    return made


def rows_of(file: Path) -> list[dict[str, str]]:
    with file.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_smoke_writes_the_table_and_says_what_came_out(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = carry_out(TST_3, Work(SuiteSource(str(folder)), out, smoke=True), "the command")
    rows = rows_of(out / "table.csv")
    assert list(rows[0]) == ["method", "trial", "adtm", "average_rank"]
    assert [row["trial"] for row in rows] == ["1", "2", "3"] * 4
    assert list(dict.fromkeys(row["method"] for row in rows)) == [WIDE, "prior-gp", "gp-after-portfolio", "random"]
    curves = read_results(out / "runs").curves()
    assert {run.task for run in curves.runs} == {"t6", "t7"}
    for row in rows:
        regret = curves.regret[curves.methods.index(row["method"]), :, int(row["trial"])]
        assert float(row["adtm"]) == pytest.approx(regret.mean(), rel=1e-4)
    for trial in ("1", "2", "3"):  # ranks among four methods, ties shared
        ranks = [float(row["average_rank"]) for row in rows if row["trial"] == trial]
        assert np.mean(ranks) == pytest.approx(2.5, rel=1e-4)
    # the past agrees that the hill is best near its middle: who knows the past begins there
    first = {row["method"]: float(row["adtm"]) for row in rows if row["trial"] == "1"}
    assert max(first[name] for name in (WIDE, "prior-gp", "gp-after-portfolio")) < 0.1
    page = (out / "README.md").read_text()
    assert "This is a smoke run" in page
    assert "RBI and LI" in page
    assert "the greedy portfolio stand in" in page
    assert any(f"{WIDE} ends at" in words for words in found.words)
    assert (out / "regret.png").stat().st_size > 1000


def test_it_goes_on_where_it_stopped_and_takes_other_methods(folder: Path, tmp_path: Path) -> None:
    work = Work(SuiteSource(str(folder)), tmp_path, smoke=True, methods=("random",))
    TST_3.find(work)
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs" / "runs").rglob("*.parquet")}
    table = TST_3.find(work).table.text
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert table == TST_3.find(work).table.text
    with pytest.raises(SettingsError, match=r"There is no method named 'tst-r-0\.8'\. Did you mean 'tst-r-0\.9'"):
        TST_3.find(Work(SuiteSource(str(folder)), tmp_path, smoke=True, methods=("tst-r-0.8",)))


def test_the_recipe_is_listed_and_has_the_methods_of_the_figure() -> None:
    assert recipe_named("tst-3") is TST_3
    assert {"tst-r", "tst-r-formula", "taf-r", "rgpe", "prior-gp", "gp", "rf", "random"} < set(METHODS)
    variants = {method.name: method for method in VARIANTS}
    wide = variants[WIDE].surrogate
    assert isinstance(wide, TSTR)
    assert wide.bandwidth == 0.9
    assert variants["gp-after-portfolio"].design is not None
    assert variants["gp-after-portfolio"].design_trials == 5


def test_a_suite_of_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"tst-3: needs a folder with spaces\.json and runs/.*; synthetic is none"):
        TST_3.find(Work(SuiteSource("synthetic"), tmp_path, smoke=True))
