"""What all recipes share: what they are given, what they find, and the files that say so.

A recipe runs methods through ``benchmark.runner``, so it goes on where it was stopped; then it reads the results and
writes ``table.csv``, pictures and a ``README.md`` that says in words what came out.
"""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from headstart.benchmark.methods import Method, chosen
from headstart.benchmark.problems import Suite
from headstart.benchmark.reports.layout import CriticalLayout
from headstart.benchmark.reports.pictures import Lines
from headstart.benchmark.runner import Listener, OnChange, Silent, SuiteSource, run
from headstart.benchmark.settings import RunSettings
from headstart.benchmark.store import Results, library_version, read_results
from headstart.errors import SettingsError

PAGE, HOW = "README.md", "## How this was made"

Picture: TypeAlias = Lines | CriticalLayout
Row: TypeAlias = tuple[str | int | float, ...]


@dataclass(frozen=True)
class CsvTable:
    """Plain columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def text(self) -> str:
        """The table as CSV."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_shown(cell) for cell in row] for row in self.rows)
        return stream.getvalue()

    @property
    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [self.columns, tuple("---" for _ in self.columns), *(tuple(map(_shown, row)) for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _shown(cell: str | int | float) -> str:
    return f"{cell:.5g}" if isinstance(cell, float) else str(cell)


@dataclass(frozen=True, eq=False)
class Findings:
    """What came out of an experiment."""

    table: CsvTable
    """Written to table.csv."""
    words: tuple[str, ...]
    """Paragraphs: what was done, what came out, whether the claim held."""
    shown: Mapping[str, CsvTable] = field(default_factory=dict[str, CsvTable])
    """Tables for the page, by heading."""
    extra: Mapping[str, CsvTable] = field(default_factory=dict[str, CsvTable])
    """More tables to write, by the name of their file."""
    pictures: Mapping[str, Picture] = field(default_factory=dict[str, Picture])
    """By the name of their file, without its ending."""


@dataclass(frozen=True)
class Work:
    """What a recipe is given."""

    source: SuiteSource
    out: Path
    smoke: bool = False
    """Whether a few seconds must do: the same steps on next to nothing."""
    jobs: int = 1
    methods: tuple[str, ...] = ()
    """Instead of the recipe's own."""
    seeds: int | None = None
    """Instead of the recipe's own number."""
    on_change: OnChange = "refuse"
    listener: Listener = field(default_factory=Silent)

    @property
    def suite(self) -> Suite:
        """The tasks."""
        return self.source.open()

    def results(
        self,
        part: str,
        methods: Sequence[str | Method],
        settings: RunSettings,
        *,
        seeds: int,
        spaces: Sequence[str] | None = None,
    ) -> Results:
        """Do the runs that ``part``, a folder below ``out``, does not hold yet, and return all."""
        folder = self.out / part
        run(
            self.source,
            [chosen([one], settings)[0] if isinstance(one, str) else one for one in methods],
            settings,
            folder,
            seeds=seeds,
            spaces=spaces,
            jobs=self.jobs,
            on_change=self.on_change,
            listener=self.listener,
        )
        return read_results(folder)


@dataclass(frozen=True)
class Recipe:
    """An experiment that can be done again."""

    name: str
    title: str
    """One line."""
    claim: str
    """What the paper says, and where."""
    needs: str
    """Which suite it is for."""
    find: Callable[[Work], Findings]


def carry_out(recipe: Recipe, work: Work, command: str) -> Findings:
    """Do the experiment and write ``table.csv``, pictures and ``README.md`` into ``work.out``.

    Raises:
        SettingsError: There is a README.md that no experiment has written.
    """
    page = work.out / PAGE
    if page.exists() and HOW not in page.read_text(encoding="utf-8", errors="replace"):
        raise SettingsError(f"Experiment {recipe.name}: {page} is somebody else's. Name another folder with --out.")
    work.out.mkdir(parents=True, exist_ok=True)
    found = recipe.find(work)
    (work.out / "table.csv").write_text(found.table.text, encoding="utf-8")
    for name, table in found.extra.items():
        (work.out / name).write_text(table.text, encoding="utf-8")
    for name, lines in found.pictures.items():
        _draw(lines, work.out / f"{name}.png")
    page.write_text(_page(recipe, work, found, command), encoding="utf-8")
    return found


def _draw(picture: Picture, file: Path) -> None:
    from headstart.benchmark.reports.palette import styles
    from headstart.benchmark.reports.plots import figure_of_critical, figure_of_lines, save

    if isinstance(picture, CriticalLayout):
        save(figure_of_critical(picture, styles([label.method for label in picture.labels])), file)
    else:
        save(figure_of_lines(picture, styles(picture.methods)), file)


def _page(recipe: Recipe, work: Work, found: Findings, command: str) -> str:
    parts = [f"# {recipe.title}", "", f"The claim: {recipe.claim}", ""]
    if work.smoke:
        parts += ["**This is a smoke run: it shows that every step works, and its figures mean nothing.**", ""]
    for paragraph in found.words:
        parts += [paragraph, ""]
    for heading, table in found.shown.items():
        parts += [f"## {heading}", "", table.markdown, ""]
    for name, picture in found.pictures.items():
        title = picture.title if isinstance(picture, Lines) else f"Critical differences after {picture.at} trials"
        parts += [f"![{title}]({name}.png)", ""]
    parts += [HOW, "", "```sh", command, "```", "", f"headstart {library_version()}", ""]
    return "\n".join(parts)
