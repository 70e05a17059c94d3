"""Runs every code block of README.md and docs/: what they say happens.

The blocks of one file run in order, in one folder and one namespace. A ``text`` block is what the block before it
prints. Lines of a ``sh`` block run in a shell, except those that set up an environment (see SETUP).
"""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
SETUP = ("pip install", "git clone", "cd ", "python -m venv", "source ", "headstart --install-completion")
"""Lines with these beginnings are run by .ci/run, or by the reader only."""
LANGUAGES = {"python", "text", "sh", "toml", "json", "bibtex", "mermaid", ""}


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```([a-z]*)[^\n]*\n(.*?)^```$", text, flags=re.M | re.S)
    return [Block(match[1], match[2], text[: match.start()].count("\n") + 1) for match in found]


def run_python(block: Block, page: Path, namespace: dict[str, Any]) -> str:
    printed = io.StringIO()
    padded = "\n" * block.line + block.text  # so that a traceback has the page's line numbers
    with contextlib.redirect_stdout(printed):
        exec(compile(padded, str(page), "exec"), namespace)
    return printed.getvalue()


def run_shell(block: Block) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}
    lines = [line for line in block.text.splitlines() if not line.startswith(SETUP)]
    done = subprocess.run(
        ["bash", "-euc", "\n".join(lines)], capture_output=True, text=True, env=environment, check=False
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_blocks_do_what_the_page_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("page")  # a real one, so that what a page defines can be pickled
    monkeypatch.setitem(sys.modules, "page", module)
    namespace = vars(module)
    printed = ""
    for block in blocks(page):
        where = f"{page.name}, line {block.line}"
        assert block.language in LANGUAGES, f"{where}: nobody runs a block of '{block.language}'"
        if block.language == "python":
            printed = run_python(block, page, namespace)
        elif block.language == "sh":
            printed = run_shell(block)
        elif block.language == "text":
            lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
            assert lines == [line.rstrip() for line in block.text.strip("\n").splitlines()], where
        elif block.language in ("toml", "json") and "parameters" in block.text:
            Path(f"space.{block.language}").write_text(block.text)


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name} links to {target}"
