"""The order in which a report is read: sections with their sentences, pictures and tables."""

from dataclasses import dataclass

from headstart.benchmark.reports.layout import CriticalLayout
from headstart.benchmark.reports.pictures import Lines
from headstart.benchmark.reports.tables import Table


@dataclass(frozen=True)
class Section:
    """One section of a report."""

    title: str
    text: str = ""
    curves: tuple[Lines, ...] = ()
    panels: tuple[Lines, ...] = ()
    """Drawn small, side by side."""
    diagrams: tuple[CriticalLayout, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Document:
    """A report that is ready to be written."""

    title: str
    sentence: str
    """What was compared, in one sentence."""
    warnings: tuple[str, ...]
    methods: tuple[str, ...]
    sections: tuple[Section, ...]
    facts: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Headings with names and values: settings, machine, versions."""
    command: str
    """What regenerates it."""
