"""headstart experiment: published figures and tables, made again."""

from pathlib import Path
from typing import Annotated

import typer

from headstart.cli.arguments import DebugOption
from headstart.cli.bench import ChangeChoice, Listening, evaluate_once, names_in
from headstart.cli.terminal import InterruptedCommandError, say, say_pairs, say_table


def recipe_names(incomplete: str) -> list[str]:
    """Return the experiments that begin with ``incomplete``."""
    from headstart.experiments import RECIPES

    return [recipe.name for recipe in RECIPES if recipe.name.startswith(incomplete)]


NameArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the experiment.", autocompletion=recipe_names)
]


def list_experiments(debug: DebugOption = False) -> None:
    """List the experiments."""
    from headstart.experiments import RECIPES

    say_table(("name", "what it makes again"), [(recipe.name, recipe.title) for recipe in RECIPES])


def describe_experiment(name: NameArgument, debug: DebugOption = False) -> None:
    """Say what an experiment makes again, and what it needs."""
    from headstart.experiments import recipe_named

    recipe = recipe_named(name)
    say_pairs([("name", recipe.name), ("title", recipe.title), ("claim", recipe.claim), ("suite", recipe.needs)])


def run_experiment(
    name: NameArgument,
    suite: Annotated[
        str, typer.Option("--suite", metavar="SUITE", help="A folder, a memory, 'synthetic' or 'sklearn'.")
    ] = "synthetic",
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Where results are kept. [default: results/NAME]")
    ] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="A few seconds: all steps, on next to nothing.")] = False,
    methods: Annotated[str, typer.Option("--methods", metavar="A,B", help="Instead of the recipe's own.")] = "",
    seeds: Annotated[int | None, typer.Option("--seeds", min=1, metavar="N", help="Instead of the recipe's.")] = None,
    held_out: Annotated[
        int,
        typer.Option("--held-out", min=0, metavar="N", help="Past tasks of a space that become validation tasks."),
    ] = 0,
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Processes.")] = 1,
    on_change: Annotated[
        ChangeChoice, typer.Option("--on-change", help="What to do about runs that another version made.")
    ] = ChangeChoice.refuse,
    debug: DebugOption = False,
) -> None:
    """Do an experiment: table.csv, pictures and a README.md that says in words what came out."""
    from headstart.benchmark.runner import SuiteSource, command_line
    from headstart.experiments import recipe_named
    from headstart.experiments.frame import Work, carry_out

    recipe = recipe_named(name)
    evaluate_once(suite)
    folder = Path("results") / name if out is None else out
    listener = Listening(None)
    work = Work(
        source=SuiteSource(suite, held_out=held_out),
        out=folder,
        smoke=smoke,
        jobs=jobs,
        methods=tuple(names_in(methods)),
        seeds=seeds,
        on_change=on_change.value,
        listener=listener,
    )
    with listener:
        try:
            found = carry_out(recipe, work, command_line())
        except KeyboardInterrupt:
            raise InterruptedCommandError(
                f"interrupted. {folder} keeps every finished run; run the same command to go on."
            ) from None
    for paragraph in found.words:
        say(paragraph)
        say()
    for heading, table in found.shown.items():
        say(heading)
        say_table(table.columns, [tuple(f"{c:.4f}" if isinstance(c, float) else str(c) for c in r) for r in table.rows])
        say()
    say_pairs([("Written", str(folder / "README.md"))])
