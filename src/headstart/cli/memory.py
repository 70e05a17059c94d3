"""headstart memory: what is kept, and whether it is sound."""

import sys
from typing import Annotated

import typer

from headstart.cli.arguments import DEFAULT_MEMORY, DebugOption, JsonOption, MemoryOption, TaskArgument
from headstart.cli.terminal import (
    config_words,
    counted,
    moment,
    note,
    number,
    say,
    say_json,
    say_pairs,
    say_table,
)


def list_tasks(memory: MemoryOption = DEFAULT_MEMORY, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """List the tasks."""
    from headstart.cli.records import task_data
    from headstart.memory import Memory

    with Memory(memory, create=False) as opened:
        records = opened.tasks()
    if as_json:
        say_json([task_data(record) for record in records])
        return
    if not records:
        say(f"{memory} has no tasks yet.")
        return
    rows = [
        (
            record.name,
            str(record.trials.complete),
            str(record.trials.failed),
            str(record.trials.running),
            number(record.best),
            record.metric or "",
            record.direction,
            record.source,
            moment(record.changed),
            record.space.fingerprint[:8],
        )
        for record in records
    ]
    say_table(
        ("task", "complete", "failed", "running", "best", "metric", "direction", "source", "changed", "space"),
        rows,
        right=["complete", "failed", "running", "best"],
        optional=["source", "space", "running", "failed", "changed", "direction", "metric"],
    )
    say(_totals(len(records), sum(record.trials.total for record in records)))


def show_task(
    task: TaskArgument,
    memory: MemoryOption = DEFAULT_MEMORY,
    trials: Annotated[
        int, typer.Option("--trials", min=0, metavar="N", help="How many trials to print, best first.")
    ] = 10,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Show a task: its Space and its best trials. JSON has all trials, by number."""
    from headstart.cli.records import PARAMETER_COLUMNS, observation_data, parameter_row, space_data, task_data
    from headstart.memory import Memory

    with Memory(memory, create=False) as opened:
        record, observations = opened.task(task), opened.observations(task)
    if as_json:
        all_trials = [observation_data(one) for one in observations]
        say_json({**task_data(record), "space": space_data(record.space), "observations": all_trials})
        return
    counts = record.trials
    say_pairs(
        [
            ("task", record.name),
            ("best", f"{number(record.best)} ({', '.join(filter(None, (record.metric, record.direction)))})"),
            (
                "trials",
                f"{counts.complete} complete, {counts.failed} failed, {counts.running} running, "
                f"{counts.abandoned} abandoned",
            ),
            ("method", f"{record.method or '-'}, seed {'-' if record.seed is None else record.seed}"),
            ("source", record.source),
            ("changed", moment(record.changed)),
            *((name, str(value)) for name, value in record.metadata.items()),
        ]
    )
    say()
    say_table(PARAMETER_COLUMNS, [parameter_row(parameter) for parameter in record.space])
    sign = 1.0 if record.direction == "minimize" else -1.0
    ranked = sorted((sign * one.value, one.number) for one in observations if one.value is not None)[:trials]
    if ranked:
        say()
        chosen = [observations[place] for _, place in ranked]
        say_table(
            ("trial", "value", "config"),
            [(str(one.number), number(one.value), config_words(one.config)) for one in chosen],
            right=["trial", "value"],
        )


def delete_task(
    task: TaskArgument,
    memory: MemoryOption = DEFAULT_MEMORY,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    debug: DebugOption = False,
) -> None:
    """Delete a task with all its trials."""
    from headstart.memory import Memory

    with Memory(memory, create=False) as opened:
        record = opened.task(task)
        if not yes:
            if not sys.stdin.isatty():
                raise typer.BadParameter("nobody is there to confirm it. Add --yes to delete without asking.")
            question = f"Delete task '{task}' with {counted(record.trials.total, 'trial')} from {opened.location}?"
            if not typer.confirm(question, err=True):
                note("Nothing was deleted.")
                raise typer.Exit(1)
        count = opened.delete_task(task)
    say(f"Deleted task '{task}' with {counted(count, 'trial')}.")


def check_memory(
    memory: MemoryOption = DEFAULT_MEMORY, as_json: JsonOption = False, debug: DebugOption = False
) -> None:
    """Read everything and say what is wrong; exit code 1 if anything is."""
    from headstart.memory import Memory

    with Memory(memory, create=False) as opened:
        problems = opened.check()
        records = [] if problems else opened.tasks()
    if as_json:
        say_json({"ok": not problems, "problems": problems})
    elif problems:
        for problem in problems:
            say(problem)
    else:
        say(f"ok: {_totals(len(records), sum(record.trials.total for record in records))}")
    if problems:
        note(f"{counted(len(problems), 'problem')} in {memory}.")
        raise typer.Exit(1)


def _totals(tasks: int, trials: int) -> str:
    return f"{counted(tasks, 'task')}, {counted(trials, 'trial')}"
