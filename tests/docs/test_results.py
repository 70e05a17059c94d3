"""The pages of results are what their commands make of the results beside them."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from headstart.cli.main import run

DOCS = Path(__file__).resolve().parents[2] / "docs"
RESULTS = DOCS / "results"
PAGES = [DOCS / "results.md", *sorted(RESULTS.glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_what_its_command_writes(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = page.read_text(encoding="utf-8")
    (command,) = [line for line in text.splitlines() if line.startswith("headstart bench report ")]
    words = shlex.split(command)
    shutil.copytree(RESULTS, tmp_path / "docs" / "results", ignore=shutil.ignore_patterns("*.md"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", words)
    assert run(words[1:]) == 0
    written = Path(words[words.index("--out") + 1])
    assert written == page.relative_to(DOCS.parent)
    assert written.read_text(encoding="utf-8") == text


def test_the_results_are_small() -> None:
    size = sum(file.stat().st_size for file in RESULTS.rglob("*") if file.is_file())
    assert size < 2_000_000


def test_no_page_names_a_folder_of_somebodys_machine() -> None:
    for file in (*PAGES, *RESULTS.rglob("about.json")):
        text = file.read_text(encoding="utf-8")
        assert "/home/" not in text
        assert "/root/" not in text
        assert "/work/" not in text
