"""What commands print: results on standard output, everything else on standard error."""

import json
import os
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from headstart.errors import HeadstartError

if TYPE_CHECKING:
    from rich.console import JustifyMethod

WIDE = 10_000
"""Columns where nobody looks: a pipe gets its lines whole."""


class InterruptedCommandError(HeadstartError, RuntimeError):
    """Ctrl-C, with what to tell the user."""


class ReaderLeftError(Exception):
    """Nobody reads standard output any more; not an OSError, which Typer would answer itself."""


def say(text: str = "") -> None:
    """Print a line of the result."""
    try:
        typer.echo(text)
    except BrokenPipeError as error:
        raise ReaderLeftError from error


def note(text: str) -> None:
    """Print a line beside the result."""
    typer.echo(text, err=True)


def say_json(value: object) -> None:
    """Print ``value`` as JSON: on one line each where another program reads, indented for people."""
    indent = 2 if sys.stdout.isatty() else None
    say(json.dumps(value, indent=indent, allow_nan=False))


def say_table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = (), optional: Iterable[str] = ()
) -> None:
    """Print a table as wide as the terminal allows; a pipe gets its lines whole.

    Args:
        columns: Headings.
        rows: Cells.
        right: Headings of numbers.
        optional: Headings of columns to leave out, one after the other, where the terminal is too narrow for all.
    """
    from rich.box import SIMPLE_HEAD  # a tenth of a second that only tables need
    from rich.console import Console
    from rich.table import Table

    # names may hold brackets and colons, which are text
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    cells = [list(row) for row in rows]
    shown = _fitting(columns, cells, list(optional), console.width)
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    numbers = set(right)
    for place in shown:
        justify: JustifyMethod = "right" if columns[place] in numbers else "left"
        table.add_column(columns[place], justify=justify, overflow="fold", no_wrap=columns[place] in numbers)
    for row in cells:
        table.add_row(*(row[place] for place in shown))
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        say(line.rstrip())


def _fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Sequence[str], width: int) -> list[int]:
    """Return the places of the columns that are shown."""
    widths = [max(len(cell) for cell in (column, *(row[i] for row in rows))) for i, column in enumerate(columns)]
    shown = list(range(len(columns)))
    for name in optional:
        if sum(widths[place] + 3 for place in shown) - 3 <= width:
            break
        shown.remove(columns.index(name))
    return shown


def say_pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and values, aligned."""
    known = list(pairs)
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        say(f"{name:<{width}}  {value}".rstrip())


def number(value: float | None) -> str:
    """Return a value for a table; a dash where there is none."""
    return "-" if value is None else f"{value:.6g}"


def config_words(config: dict[str, Any]) -> str:
    """Return a configuration on one line, with all its digits."""
    return "  ".join(f"{name}={_word(value)}" for name, value in config.items())


def _word(value: object) -> str:
    if isinstance(value, str) and value.isprintable() and value and not set(value) & set(" '\"="):
        return value
    return json.dumps(value, ensure_ascii=False)


def moment(seconds: float) -> str:
    """Return a time for a table, in the local zone."""
    return datetime.fromtimestamp(seconds).strftime("%Y-%m-%d %H:%M")


def iso(seconds: float) -> str:
    """Return a time for a program."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="seconds")


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural where it must be."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
