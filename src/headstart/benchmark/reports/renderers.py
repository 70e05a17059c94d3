"""Tables as text: Markdown for people, csv and json for programs."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from headstart.benchmark.reports.tables import Cell, Column, Counts, Estimate, Table

Record: TypeAlias = dict[str, str | int | float | None]
"""One number with everything that says what it is."""

FIELDS: tuple[str, ...] = ("table", "space", "method", "against", "measure", "trial", "value", "low", "high")
WIDEST = 5
"""Columns with intervals that fit side by side on a page of Markdown."""


# --- cells -----------------------------------------------------------------------------------------------------------


def cell_text(cell: Cell, column: Column) -> str:
    """Return ``cell`` as people read it."""
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    if isinstance(cell, Counts):
        return f"{cell.wins}/{cell.ties}/{cell.losses}"
    if isinstance(cell, Estimate):
        return f"{number(cell.value, column)} {interval_text(cell, column)}"
    return number(cell, column)


def interval_text(cell: Estimate, column: Column) -> str:
    """Return the interval of ``cell``."""
    return f"[{number(cell.low, column)}, {number(cell.high, column)}]"


def number(value: float, column: Column) -> str:
    """Return ``value`` with the digits of its column; one that they would hide is told to be below them."""
    if math.isinf(value):
        return column.infinite
    least = 0.5 * 10.0**-column.digits
    if column.measure.startswith("p_") and 0.0 <= value < least:
        return f"<{10.0**-column.digits:.{column.digits}f}"
    text = f"{value:,.{column.digits}f}"
    return text[1:] if float(text.replace(",", "")) == 0.0 and text.startswith("-") else text


def best_cells(table: Table) -> set[tuple[int, int]]:
    """Return (row, column) of the cells that are best among those they compete with, as they are written."""
    texts = [[cell_text(cell, c) for cell, c in zip(cells, table.columns, strict=True)] for _, cells in table.rows]
    shown = [[_shown(cell, c) for cell, c in zip(cells, table.columns, strict=True)] for _, cells in table.rows]
    several = range(len(table.rows))
    if table.best_in == "row":
        groups = [[(r, c) for c, column in enumerate(table.columns) if column.best] for r in several]
    else:
        groups = [[(r, c) for r in several] for c, column in enumerate(table.columns) if column.best]
    found: set[tuple[int, int]] = set()
    for group in groups:
        known = [(place, value) for place in group if (value := shown[place[0]][place[1]]) is not None]
        if len(known) < 2:
            continue
        wanted = max if table.columns[group[0][1]].best == "high" else min
        best = wanted(value for _, value in known)
        winners = {place for place, value in known if value == best}
        if len(winners) < len(known):  # where all are equal none is best
            found |= winners
    return {place for place in found if texts[place[0]][place[1]] != "–"}


def _shown(cell: Cell, column: Column) -> float | None:
    """Return the value of ``cell`` rounded as it is written: what looks equal is equally good."""
    value = cell.value if isinstance(cell, Estimate) else cell
    return round(value, column.digits) if isinstance(value, int | float) else None


# --- Markdown --------------------------------------------------------------------------------------------------------


def markdown(table: Table, level: int = 3) -> str:
    """Return ``table`` as GitHub writes tables, below a heading; wide ones in parts, one per measure."""
    best = best_cells(table)
    text = [f"{'#' * level} {escaped(table.title)}", ""]
    for part in _parts(table):
        heads = [table.key, *(escaped(table.columns[c].full_head) for c in part)]
        text.append(f"| {' | '.join(heads)} |")
        text.append(f"|---|{'---:|' * len(part)}")
        for r, (name, cells) in enumerate(table.rows):
            texts = [escaped(name)]
            for c in part:
                shown = escaped(cell_text(cells[c], table.columns[c]))
                texts.append(f"**{shown}**" if (r, c) in best else shown)
            text.append(f"| {' | '.join(texts)} |")
        text.append("")
    if table.note:
        text += [escaped(table.note), ""]
    return "\n".join(text)


def escaped(text: str) -> str:
    """Return ``text`` with nothing in it that Markdown or HTML would take for markup."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for mark in "\\`*_|#$":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("\n", " ")


def _parts(table: Table) -> list[list[int]]:
    """Return the columns of each part."""
    everything = list(range(len(table.columns)))
    has_intervals = any(isinstance(cell, Estimate) for _, cells in table.rows for cell in cells)
    if len(everything) <= WIDEST or not has_intervals:
        return [everything]
    measures = dict.fromkeys(column.measure for column in table.columns)
    return [[c for c in everything if table.columns[c].measure == measure] for measure in measures]


# --- csv and json ----------------------------------------------------------------------------------------------------


def records(table: Table) -> Iterator[Record]:
    """Return every known number of ``table`` with what it is: the same fields for all tables."""
    for name, cells in table.rows:
        for column, cell in zip(table.columns, cells, strict=True):
            row: Record = dict.fromkeys(FIELDS)
            row |= {"table": table.name, "measure": column.measure, "trial": column.trial, "against": column.against}
            row["method"] = column.method
            row[table.key] = name
            if isinstance(cell, Counts):
                for what, count in vars(cell).items():
                    yield {**row, "measure": f"{column.measure}_{what}", "value": count}
            elif isinstance(cell, Estimate):
                yield {**row, "value": _six(cell.value), "low": _six(cell.low), "high": _six(cell.high)}
            elif cell is not None:
                yield {**row, "value": _six(cell) if isinstance(cell, float) else cell}


def csv_text(tables: Sequence[Table]) -> str:
    """Return all numbers of ``tables`` as one csv, one number a line."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
    writer.writeheader()
    for table in tables:
        writer.writerows(records(table))
    return stream.getvalue()


def json_text(tables: Sequence[Table], about: Mapping[str, object]) -> str:
    """Return one object: what the report is about, and every table with its title, note and numbers.

    Unknown numbers are left out; JSON has no infinity, so that is the text "inf".
    """
    found = {
        table.name: {
            "title": table.title,
            "note": table.note,
            "numbers": [
                {name: _finite(value) for name, value in record.items() if name != "table" and value is not None}
                for record in records(table)
            ],
        }
        for table in tables
    }
    return json.dumps({**about, "tables": found}, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _six(value: float) -> float:
    return float(f"{value:.6g}")


def _finite(value: str | float) -> str | float:
    return str(value) if isinstance(value, float) and math.isinf(value) else value
