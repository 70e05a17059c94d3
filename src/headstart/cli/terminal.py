"""What commands print: results on standard output, everything else on standard error."""

import json
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import typer

from headstart.errors import HeadstartError

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod
    from rich.table import Table

WIDE = 10_000
"""Columns where nobody looks: a pipe gets its lines whole."""


class InterruptedCommandError(HeadstartError, RuntimeError):
    """Ctrl-C, with what to tell the user."""


def say(text: str = "") -> None:
    """Print a line of the result."""
    typer.echo(text)


def note(text: str) -> None:
    """Print a line beside the result."""
    typer.echo(text, err=True)


def say_json(value: object) -> None:
    """Print ``value`` as JSON: on one line each where another program reads, indented for people."""
    indent = 2 if sys.stdout.isatty() else None
    typer.echo(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False))


def console(*, stderr: bool = False) -> "Console":
    """Return a console that prints text as it is: names may hold brackets and colons."""
    from rich.console import Console  # a tenth of a second that only tables need

    found = Console(stderr=stderr, markup=False, highlight=False, emoji=False)
    if not found.is_terminal and not stderr:
        found.width = WIDE
    return found


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> "Table":
    """Return a table; the columns named in ``right`` are numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    found = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)
    numbers = set(right)
    for column in columns:
        justify: JustifyMethod = "right" if column in numbers else "left"
        found.add_column(column, justify=justify, overflow="fold", no_wrap=column in numbers)
    for row in rows:
        found.add_row(*row)
    return found


def say_table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[str] = ()) -> None:
    """Print a table as wide as the terminal allows."""
    console().print(table(columns, rows, right=right))


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
