"""headstart space: check and show the file of a Space."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headstart.cli.arguments import DEFAULT_MEMORY, DebugOption, JsonOption, task_names
from headstart.cli.terminal import counted, say, say_json, say_table

if TYPE_CHECKING:
    from headstart.space import Space


def check_space(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="TOML or JSON file.", show_default=False)],
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say whether a file describes a Space, or what is wrong with it."""
    from headstart.cli.records import space_data
    from headstart.space import Space

    space = Space.load(file)
    if as_json:
        say_json({"ok": True, **space_data(space)})
    else:
        say(f"ok: {_summary(space)}")


def show_space(
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="TOML or JSON file.", show_default=False)
    ] = None,
    memory: Annotated[
        str,
        typer.Option("--memory", metavar="PATH", help="The memory of --task.", is_eager=True),
    ] = DEFAULT_MEMORY,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="NAME", help="Show the Space of a task.", autocompletion=task_names),
    ] = None,
    toml: Annotated[bool, typer.Option("--toml", help="Print it as the TOML file that makes it.")] = False,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show the parameters of a Space, from a file or from a task of a memory."""
    if (file is None) == (task is None):
        raise typer.BadParameter("give either a FILE or --task.")
    from headstart.cli.records import PARAMETER_COLUMNS, parameter_row, space_data

    space = _of_task(memory, task) if task is not None else _of_file(file)
    if toml:
        say(space.to_toml().rstrip())
    elif as_json:
        say_json(space_data(space))
    else:
        say_table(PARAMETER_COLUMNS, [parameter_row(parameter) for parameter in space])
        say(_summary(space))


def _of_file(file: Path | None) -> "Space":
    from headstart.space import Space

    assert file is not None  # the caller has seen to it
    return Space.load(file)


def _of_task(memory: str, task: str) -> "Space":
    from headstart.memory import Memory

    with Memory(memory, create=False) as opened:
        return opened.task(task).space


def _summary(space: "Space") -> str:
    conditional = sum(bool(conditions) for conditions in space.conditions)
    size = f"{space.size:,.0f} configurations" if space.size < 1e15 else "no end of configurations"
    return (
        f"{counted(len(space), 'parameter')}, {conditional} of them conditional, {size}, "
        f"fingerprint {space.fingerprint[:8]}"
    )
