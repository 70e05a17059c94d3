"""Options that several commands share, and what the shell may complete in their place."""

from enum import StrEnum
from typing import Annotated

import typer

from headstart.errors import HeadstartError

DEFAULT_MEMORY = "headstart.db"


class DirectionChoice(StrEnum):
    """Whether small or large values are good."""

    minimize = "minimize"
    maximize = "maximize"


def task_names(context: typer.Context, incomplete: str) -> list[str]:
    """Return the tasks of the memory on the command line that begin with ``incomplete``; nothing when in doubt."""
    from headstart.memory import Memory

    location = context.params.get("memory") or DEFAULT_MEMORY
    try:
        with Memory(location, create=False, timeout=1.0) as memory:
            return [record.name for record in memory.tasks() if record.name.startswith(incomplete)]
    except HeadstartError:
        return []


def method_names(incomplete: str) -> list[str]:
    """Return the methods that begin with ``incomplete``."""
    from headstart import surrogates

    names = ["auto", *(getattr(surrogates, listed).name for listed in surrogates.__all__)]
    return [name for name in names if name.startswith(incomplete)]


MemoryOption = Annotated[
    str,
    # eager: where the shell completes a task's name, the memory must be known
    typer.Option("--memory", metavar="PATH", help="The memory: a file, or the URL of a database.", is_eager=True),
]
TaskOption = Annotated[str, typer.Option("--task", metavar="NAME", help="Name of the task.", autocompletion=task_names)]
TaskArgument = Annotated[
    str, typer.Argument(metavar="TASK", help="Name of the task.", autocompletion=task_names, show_default=False)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
DebugOption = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
