"""Ask and tell from a shell: suggest, tell, best, explain."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from headstart.cli.arguments import (
    DEFAULT_MEMORY,
    DebugOption,
    DirectionChoice,
    JsonOption,
    MemoryOption,
    TaskOption,
    method_names,
)
from headstart.cli.terminal import config_words, note, number, say, say_json, say_pairs, say_table

if TYPE_CHECKING:
    from headstart.memory import Memory, TaskRecord

NumberArgument = Annotated[int, typer.Argument(metavar="NUMBER", help="Number of the trial.", show_default=False)]


def suggest(
    task: TaskOption,
    memory: MemoryOption = DEFAULT_MEMORY,
    space: Annotated[
        Path | None,
        typer.Option("--space", metavar="FILE", help="TOML or JSON file of the Space; needed for a new task."),
    ] = None,
    direction: Annotated[
        DirectionChoice | None,
        typer.Option("--direction", help="Which values are good; minimize for a new task.", show_default=False),
    ] = None,
    metric: Annotated[str | None, typer.Option("--metric", metavar="NAME", help="What the values measure.")] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="How to choose.", autocompletion=method_names)
    ] = "auto",
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, metavar="N", help="Seed of a new task, for a sequence that repeats.")
    ] = None,
    count: Annotated[int, typer.Option("-n", "--count", min=1, metavar="N", help="How many trials.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print a line of JSON for each trial.")] = False,
    debug: DebugOption = False,
) -> None:
    """Hand out trials: a number and a configuration each.

    A task that the memory does not have yet is begun with --space. Tell the value of each trial with 'headstart tell'.
    """
    from headstart.memory import Memory
    from headstart.optimizer import Optimizer
    from headstart.space import Space

    given = None if space is None else Space.load(space)
    with Memory(memory, create=given is not None) as opened:
        record = None if given is not None else _begun(opened, task)
        optimizer = Optimizer(
            given if record is None else record.space,
            task=task,
            memory=opened,
            direction=None if direction is None else cast("Any", direction.value),
            metric=metric,
            method=method,
            seed=seed,
        )
        for _ in range(count):
            trial = optimizer.ask()
            if as_json:
                say(json.dumps({"number": trial.number, "config": trial.config, "origin": trial.origin}))
            else:
                say(f"{trial.number}  {config_words(trial.config)}")
            sys.stdout.flush()  # it is handed out already: whoever reads must see it
    if not as_json and sys.stderr.isatty():
        note(f"Tell what came of it: headstart tell{_where(memory)} --task {shlex.quote(task)} NUMBER VALUE")


def tell(
    task: TaskOption,
    trial: NumberArgument,
    value: Annotated[
        str | None,
        typer.Argument(metavar="[VALUE]", help="Its value; nan says that it failed.", show_default=False),
    ] = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    failed: Annotated[bool, typer.Option("--failed", help="The trial has no value.")] = False,
    duration: Annotated[
        float | None, typer.Option("--duration", min=0.0, metavar="SECONDS", help="How long it took.")
    ] = None,
    metadata: Annotated[
        str | None, typer.Option("--metadata", metavar="JSON", help="A JSON object to keep with it.")
    ] = None,
    debug: DebugOption = False,
) -> None:
    """Say what came of a trial; it is on the disk when this returns."""
    if (value is None) != failed:
        raise typer.BadParameter("give either a VALUE or --failed.")
    found, kept = _number(value), _metadata(metadata)
    from headstart.memory import Memory
    from headstart.optimizer import Optimizer

    with Memory(memory, create=False) as opened:
        optimizer = Optimizer(opened.task(task).space, task=task, memory=opened)
        optimizer.tell(trial, found, failed=failed, duration=duration, metadata=kept)
    if sys.stderr.isatty():
        note(f"Trial {trial} of task '{task}' is told.")


def best(
    task: TaskOption,
    memory: MemoryOption = DEFAULT_MEMORY,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Print the best trial of a task."""
    from headstart.cli.records import observation_data
    from headstart.errors import NotFittedError
    from headstart.memory import Memory

    with Memory(memory, create=False) as opened:
        record, observations = opened.task(task), opened.observations(task)
        gain = _expected_gain(opened, record)
    found = next((one for one in observations if one.value is not None and one.value == record.best), None)
    if found is None:
        raise NotFittedError(f"Task '{task}' has no best trial yet: none has a value. Tell at least one.")
    if as_json:
        rest = {**observation_data(found), "expected_gain": gain}
        say_json({"task": task, "direction": record.direction, "metric": record.metric, **rest})
        return
    rule = ", ".join(word for word in (record.metric, record.direction) if word)
    say_pairs(
        [
            ("value", f"{found.value!r} ({rule})"),
            ("trial", f"{found.number} of {record.trials.total}"),
            ("config", config_words(found.config)),
            ("one more", "no forecast yet" if gain is None else f"is expected to gain {gain:.2g}"),
        ]
    )


def _expected_gain(memory: "Memory", record: "TaskRecord") -> float | None:
    """Return what one more trial is expected to gain; None where nobody can say."""
    from headstart.errors import HeadstartError
    from headstart.optimizer import Optimizer

    try:
        return Optimizer(record.space, task=record.name, memory=memory).expected_gain()
    except HeadstartError:  # every configuration was tried, or a method of the user's own is not here
        return None


def explain(
    task: TaskOption,
    trial: Annotated[
        int | None,
        typer.Argument(metavar="[NUMBER]", help="Number of the trial; the latest if left out.", show_default=False),
    ] = None,
    memory: MemoryOption = DEFAULT_MEMORY,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Say why a trial was proposed.

    That is: what was expected of it, and which past tasks weighed most. The answer is computed from what the memory
    holds now: past tasks that came later weigh, too.
    """
    from headstart.errors import TrialError
    from headstart.memory import Memory
    from headstart.optimizer import Optimizer

    with Memory(memory, create=False) as opened:
        optimizer = Optimizer(opened.task(task).space, task=task, memory=opened)
        known = optimizer.trials
        if not known:
            raise TrialError(f"Task '{task}' has no trials yet. Ask for one with 'headstart suggest'.")
        wanted = known[-1].number if trial is None else trial
        explanation = optimizer.explain(wanted)
    if as_json:
        say_json(
            {
                "task": task,
                "number": wanted,
                "summary": explanation.summary,
                "weights": [{"task": name, "weight": weight} for name, weight in explanation.weights],
                "numbers": dict(explanation.numbers),
            }
        )
        return
    say(f"Trial {wanted}: {config_words(known[wanted].config)}")
    say(explanation.summary)
    if explanation.weights:
        say()
        say_table(
            ("past task", "weight"),
            [(name, f"{weight:+.3f}") for name, weight in explanation.weights],
            right=["weight"],
        )
    if explanation.numbers:
        say()
        say_pairs((name.replace("_", " "), number(found)) for name, found in explanation.numbers.items())


def _begun(memory: "Memory", task: str) -> "TaskRecord":
    """Return a task that must be there, since no Space came with the command."""
    from headstart.errors import TaskNotFoundError

    try:
        return memory.task(task)
    except TaskNotFoundError as error:
        raise TaskNotFoundError(f"{error} Add --space FILE to begin it.") from None


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(
            f"VALUE must be a number, got {text!r:.60}. Give --failed where there is none."
        ) from None


def _metadata(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        found = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise typer.BadParameter(f"--metadata must be JSON, got {text!r:.60}: {error}.") from None
    if not isinstance(found, dict):
        raise typer.BadParameter(f'--metadata must be a JSON object such as {{"host": "a"}}, got {text!r:.60}.')
    return cast("dict[str, Any]", found)


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is no JSON")


def _where(memory: str) -> str:
    return "" if memory == DEFAULT_MEMORY else f" --memory {shlex.quote(memory)}"
