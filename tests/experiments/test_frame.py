"""The frame of experiments: what is written, and what is not overwritten."""

import csv
from pathlib import Path

import pytest

from benchmark.small import source
from headstart.benchmark.settings import RunSettings
from headstart.errors import SettingsError
from headstart.experiments import RECIPES, recipe_named
from headstart.experiments.frame import CsvTable, Findings, Recipe, Work, carry_out

TABLE = CsvTable(("method", "trial", "regret"), (("gp, plain", 1, 0.123456789), ('a "b"', 10, 1e-9)))


def recipe() -> Recipe:
    def find(work: Work) -> Findings:
        return Findings(TABLE, ("What was done.", "What came out."), {"A heading": TABLE}, {"more.csv": TABLE})

    return Recipe("name", "A title", "That it works.", "any suite", find)


def test_a_table_is_plain_csv_and_markdown() -> None:
    rows = list(csv.reader(TABLE.text.splitlines()))
    assert rows == [["method", "trial", "regret"], ["gp, plain", "1", "0.12346"], ['a "b"', "10", "1e-09"]]
    assert TABLE.markdown.splitlines() == [
        "| method | trial | regret |",
        "| --- | --- | --- |",
        "| gp, plain | 1 | 0.12346 |",
        '| a "b" | 10 | 1e-09 |',
    ]


def test_everything_is_written_and_the_page_says_how(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "down"
    carry_out(recipe(), Work(source(), out, smoke=True), "headstart experiment run name")
    assert (out / "table.csv").read_text() == (out / "more.csv").read_text() == TABLE.text
    page = (out / "README.md").read_text()
    parts = ["# A title", "That it works.", "smoke run", "What was done.", "## A heading", "| gp, plain |"]
    places = [page.index(part) for part in [*parts, "## How this was made", "headstart experiment run name"]]
    assert places == sorted(places)
    carry_out(recipe(), Work(source(), out), "again")
    assert "smoke run" not in (out / "README.md").read_text()


def test_a_page_of_somebody_else_is_kept(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# My thesis")
    with pytest.raises(SettingsError, match=r"README\.md is somebody else's\. Name another folder with --out"):
        carry_out(recipe(), Work(source(), tmp_path), "headstart")
    assert [file.name for file in tmp_path.iterdir()] == ["README.md"]
    assert (tmp_path / "README.md").read_text() == "# My thesis"


def test_runs_are_those_of_the_runner_and_are_kept(tmp_path: Path) -> None:
    work = Work(source(), tmp_path)
    settings = RunSettings(trials=2)
    found = work.results("part", ["random"], settings, seeds=1, spaces=["plain"])
    assert set(found.runs) == {"random"}
    assert {key.space for key in found.runs["random"]} == {"plain"}
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "part" / "runs").rglob("*.parquet")}
    work.results("part", ["random"], settings, seeds=1, spaces=["plain"])
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_recipes_have_names_of_their_own() -> None:
    names = [one.name for one in RECIPES]
    assert len(names) == len(set(names))
    for one in RECIPES:
        assert recipe_named(one.name) is one
        assert one.title
        assert one.claim
        assert "\n" not in one.title
