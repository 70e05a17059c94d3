"""From Curves to a report: what is computed, in which order it is read, and how it is written.

Nothing here runs a method; a report can be made again from results for ever.
"""

import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from headstart.benchmark.curves import Curves
from headstart.benchmark.metrics import mean_regret
from headstart.benchmark.reports import pictures, plots, renderers, tables
from headstart.benchmark.reports.html import page
from headstart.benchmark.reports.layout import critical_layout
from headstart.benchmark.reports.palette import styles
from headstart.benchmark.reports.pictures import Pictures
from headstart.benchmark.reports.sections import Document, Section
from headstart.benchmark.reports.tables import Resampling, Table
from headstart.benchmark.statistics import Blocks, CriticalDifference, critical_difference
from headstart.errors import HeadstartError, SettingsError

Item = TypeVar("Item")
Format: TypeAlias = Literal["html", "png", "svg", "csv", "json", "markdown"]

USUAL = (25, 50, 100)
"""The trials that papers report."""
NO_PICTURES = Pictures(None, None, (), (), None, None)
EARLY = (5, 10)
"""Trials that are worth countable trials of random search where the reported ones are not."""
REGRETS = (0.1, 0.05, 0.02, 0.01)


class ReportError(HeadstartError, OSError):
    """A report cannot be written."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """What was found, and everything a reader needs to judge it and to make it again."""

    curves: Curves
    title: str = "Benchmark"
    command: str = ""
    """What regenerates it."""
    settings: Mapping[str, str] = field(default_factory=dict[str, str])
    machine: str = ""
    versions: Mapping[str, str] = field(default_factory=dict[str, str])
    warnings: tuple[str, ...] = ()
    at: tuple[int, ...] = ()
    """The trials that tables report, ascending; empty: 25, 50 and 100 as far as there are so many, or the last."""
    resampling: Resampling = field(default_factory=Resampling)
    holm: bool = True
    """Whether tests of pairs are corrected for being many; older tables of the field did without."""
    blocks: Blocks = "tasks"
    """What tests take for independent; "runs" as in older tables of the field."""
    regrets: tuple[float, ...] = REGRETS
    """The regrets for which the trials needed are counted."""

    def __post_init__(self) -> None:
        """Check the trials."""
        last = self.curves.trials
        if last < 1:
            raise SettingsError("Report: there are no trials, only what the given configurations had reached.")
        at = self.at or tuple(t for t in USUAL if t <= last) or (last,)
        if list(at) != sorted(set(at)) or not 1 <= at[0] <= at[-1] <= last:
            raise SettingsError(f"Report: trials must ascend and lie in 1..{last}, got {', '.join(map(str, at))}.")
        object.__setattr__(self, "at", at)

    @cached_property
    def sorted_curves(self) -> Curves:
        """The curves with the methods in the order of all tables: least macro regret at the last trial first.

        A method that ends before is placed by its last known regret, after the others.
        """
        regret = mean_regret(self.curves)[:, : self.at[-1] + 1]
        known = np.isfinite(regret)
        last = np.where(known.any(axis=1), known.shape[1] - 1 - known[:, ::-1].argmax(axis=1), 0)
        final = regret[np.arange(len(regret)), last]
        order = np.lexsort([final, -last])
        return self.curves.of_methods([self.curves.methods[m] for m in map(int, order)])

    @property
    def ranked(self) -> Curves | None:
        """The methods that are ranked: two or more that have all runs up to the last reported trial."""
        return tables.compared(self.sorted_curves, self.at[-1])


@dataclass(frozen=True)
class Written:
    """What writing a report left."""

    text: str = ""
    """csv, json or Markdown when no file was named."""
    files: tuple[Path, ...] = ()


def machine() -> str:
    """Return what a reader should know of this machine to judge times."""
    names = (platform.system(), platform.release(), platform.machine())
    return f"{' '.join(name for name in names if name)}, {os.cpu_count()} logical cores"


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    found = {"Python": platform.python_version()}
    for package in ("headstart", "numpy", "scipy", "scikit-learn"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # a source tree on the path, not installed
            continue
    return found


# --- writing ---------------------------------------------------------------------------------------------------------


def write(report: Report, form: Format, out: Path | None = None) -> Written:
    """Write ``report``.

    Args:
        report: What is written.
        form: "csv", "json" and "markdown" are text; "html" is one page; "png" and "svg" are a folder of pictures.
        out: The file, or the folder for pictures. None: text is returned instead of written, a page goes to
            report.html and pictures to the folder report.

    Raises:
        MissingDependencyError: matplotlib (pictures) or plotly (page) is not installed.
        ReportError: A file cannot be written.
        PlotError: A picture cannot be written.
    """
    if form in ("png", "svg"):
        looks = styles(report.sorted_curves.methods)
        return Written(files=plots.write(all_pictures(report), looks, out or Path("report"), form))
    if form == "html":
        out = out or Path("report.html")
        text = page(document(report, has_pictures=True), styles(report.sorted_curves.methods))
    elif form == "csv":
        text = renderers.csv_text(all_tables(document(report)))
    elif form == "json":
        text = renderers.json_text(all_tables(document(report)), about(report))
    else:
        text = markdown(document(report))
    if out is None:
        return Written(text)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportError(
            f"{out} cannot be written: {error.strerror or error}. Name another file with --out."
        ) from error
    return Written(files=(out,))


def about(report: Report) -> dict[str, object]:
    """Return what the report is about, for programs."""
    curves = report.sorted_curves
    return {
        "title": report.title,
        "command": report.command,
        "methods": list(curves.methods),
        "ranked": list(report.ranked.methods) if report.ranked else [],
        "spaces": list(curves.spaces),
        "tasks": len({(run.space, run.task) for run in curves.runs}),
        "runs": len(curves.runs),
        "trials": curves.trials,
        "at": list(report.at),
        "bootstrap": {"resamples": report.resampling.resamples, "seed": report.resampling.seed, "level": 0.95},
        "settings": dict(report.settings),
        "machine": report.machine,
        "versions": dict(report.versions),
        "warnings": list(report.warnings),
    }


def markdown(found: Document) -> str:
    """Return ``found`` as Markdown: its tables, and how it was made."""
    parts = [f"# {renderers.escaped(found.title)}", "", renderers.escaped(found.sentence), ""]
    for warning in found.warnings:
        parts += [f"> {renderers.escaped(warning)}", ""]
    for section in found.sections:
        if not section.text and not section.tables:
            continue
        parts += [f"## {renderers.escaped(section.title)}", ""]
        if section.text:
            parts += [renderers.escaped(section.text), ""]
        parts += [renderers.markdown(table) for table in section.tables]
    parts += ["## How this was made", ""]
    if found.command:
        fence = "````" if "```" in found.command else "```"
        parts += [fence, found.command, fence, ""]
    for heading, pairs in found.facts:
        parts += [f"{renderers.escaped(heading)}:", ""]
        parts += [f"- {renderers.escaped(name)}: {renderers.escaped(value)}" for name, value in pairs]
        parts.append("")
    return "\n".join(parts).rstrip() + "\n"


# --- what there is to read -------------------------------------------------------------------------------------------


def document(report: Report, *, has_pictures: bool = False) -> Document:
    """Return everything that is read, in the order in which it is read."""
    curves, at = report.sorted_curves, report.at
    drawn = all_pictures(report) if has_pictures else NO_PICTURES
    spaces = tables.per_space(curves, at)
    ranks = tables.average_rank(curves, at, report.resampling)
    speed = (
        tables.area(curves, at, report.resampling),
        tables.to_reach(curves, report.regrets),
        tables.equals_random(curves, sorted({*at, *(t for t in EARLY if t <= at[-1])})),
    )
    sections = (
        Section("Result", tables=(tables.overview(curves, at, report.resampling),)),
        Section("Curves", curves=_there(drawn.regret, drawn.rank)) if has_pictures else None,
        _comparisons(report, drawn),
        Section("Spaces", panels=drawn.spaces, tables=spaces) if spaces else None,
        Section("Ranks", tables=_there(ranks)) if ranks else None,
        Section("How fast", tables=_there(*speed)),
        _calibration(curves, drawn),
        _cost(curves, drawn),
    )
    return Document(
        title=report.title,
        sentence=_sentence(curves),
        warnings=report.warnings,
        methods=curves.methods,
        sections=_there(*sections),
        facts=_facts(report),
        command=report.command,
    )


def all_tables(found: Document) -> tuple[Table, ...]:
    """Return the tables of all sections."""
    return tuple(table for section in found.sections for table in section.tables)


def all_pictures(report: Report) -> Pictures:
    """Return everything that is drawn."""
    curves, ranked = report.sorted_curves, report.ranked
    # no eye sees the difference in a band, and there is one at every trial
    interval = replace(report.resampling, resamples=min(report.resampling.resamples, 2_000)).interval
    return Pictures(
        regret=pictures.regret_lines(curves, interval),
        rank=pictures.rank_lines(ranked, interval) if ranked else None,
        spaces=pictures.space_lines(curves) if len(curves.spaces) > 1 else (),
        critical=tuple(critical_layout(found, tables.critical_note(found)) for found in differences(report)),
        calibration=pictures.calibration_lines(curves),
        cost=pictures.cost_lines(curves),
    )


def differences(report: Report) -> tuple[CriticalDifference, ...]:
    """Return the tests at each reported trial among the methods that reach it."""
    found: list[CriticalDifference] = []
    for t in report.at:
        there = tables.compared(report.sorted_curves, t)
        if there is not None:
            found.append(critical_difference(there, t, holm=report.holm, blocks=report.blocks))
    return tuple(found)


def _comparisons(report: Report, drawn: Pictures) -> Section:
    if tables.compared(report.sorted_curves, report.at[0]) is None:
        return Section("Comparisons", "Fewer than two methods have all runs, so there is nothing to compare.")
    tests = tuple(tables.critical(found) for found in differences(report))
    counts = tuple(tables.win_tie_loss(report.sorted_curves, t) for t in report.at[-1:])
    return Section("Comparisons", diagrams=drawn.critical, tables=(*tests, *_there(*counts)))


def _calibration(curves: Curves, drawn: Pictures) -> Section:
    table = tables.calibration(curves)
    if table is None:
        return Section("Calibration", "The results hold no predictions, so there is nothing to say of calibration.")
    return Section("Calibration", curves=_there(drawn.calibration), tables=(table,))


def _cost(curves: Curves, drawn: Pictures) -> Section:
    table = tables.cost(curves)
    if table is None:
        return Section("Cost", "The results hold no CPU times, so there is nothing to say of cost.")
    return Section("Cost", curves=_there(drawn.cost), tables=(table,))


def _sentence(curves: Curves) -> str:
    many = len(curves.methods)
    what = f"{many} methods" if many > 1 else "One method"
    return f"{what} on {tables.size(curves)}, up to {curves.trials} trials: {', '.join(curves.methods)}."


def _facts(report: Report) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    facts = [
        ("Settings", tuple(report.settings.items())),
        ("Machine", (("Machine", report.machine),) if report.machine else ()),
        ("Versions", tuple(report.versions.items())),
    ]
    return tuple((heading, pairs) for heading, pairs in facts if pairs)


def _there(*values: Item | None) -> tuple[Item, ...]:
    return tuple(value for value in values if value is not None)
