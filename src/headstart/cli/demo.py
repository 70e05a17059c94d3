"""headstart demo: a minute of real tuning, with a memory and without."""

import shlex
import sys
import time
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headstart.cli.arguments import DebugOption
from headstart.cli.terminal import InterruptedCommandError, counted, note, say, say_json, say_pairs, say_table
from headstart.errors import MissingDependencyError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

    from headstart.demo.results import Comparison
    from headstart.demo.run import DemoSettings

PICTURE = "headstart-demo.png"
MEMORY = "headstart-demo.db"
MOST_WORKERS = 8
SECONDS_BETWEEN_LINES = 5.0

SMOKE: dict[str, Any] = {"past": ("iris", "diabetes", "digits-parity"), "task": "wine", "past_trials": 8, "trials": 5}


def demo_tasks(incomplete: str) -> list[str]:
    """Return the tasks of the demo that begin with ``incomplete``."""
    from headstart.demo.tasks import TASKS

    return [task.name for task in TASKS if task.name.startswith(incomplete)]


def demo(
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="PATH",
            help=f"The memory to fill; complete past tasks in it are used again. [default: {MEMORY} in --out]",
        ),
    ] = None,
    task: Annotated[
        str,
        typer.Option("--task", metavar="NAME", help="The task to hold back and tune.", autocompletion=demo_tasks),
    ] = "digits-ten",
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, metavar="N", help="How often it is tuned, with and without.")
    ] = 5,
    trials: Annotated[int, typer.Option("--trials", min=1, metavar="N", help="Trials of each run.")] = 20,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="The first seed.")] = 0,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of the picture and the memory.")] = Path(),
    plot: Annotated[bool, typer.Option("--plot/--no-plot", help=f"Draw {PICTURE}.")] = True,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs", min=1, metavar="N", help=f"Processes. [default: one per processor, at most {MOST_WORKERS}]"
        ),
    ] = None,
    smoke: Annotated[bool, typer.Option("--smoke", help="A few seconds: three small tasks, few trials.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    debug: DebugOption = False,
) -> None:
    """Tune on real data, with a memory of past tasks and without.

    Tunes a support vector machine on data sets that ship with scikit-learn; no network is needed. First the other
    tasks are tuned by random search, which fills the memory; then the task that was held back is tuned with that
    memory and without it, with the same seeds and the same number of trials. Takes less than a minute on two
    processors.
    """
    from headstart.demo.run import DemoSettings
    from headstart.processes import available_processors

    location = str(out / MEMORY) if memory is None else memory
    settings = DemoSettings(
        memory=location,
        task=task,
        seeds=seeds,
        trials=trials,
        seed=seed,
        workers=jobs or min(MOST_WORKERS, available_processors()),
    )
    if smoke:
        smoke_seeds = min(seeds, 2)
        settings = DemoSettings(memory=location, seeds=smoke_seeds, seed=seed, workers=jobs or 1, **SMOKE)
    if not out.is_dir():
        raise typer.BadParameter(f"--out {out} is no folder. Create it first.")
    comparison = _carried_out(settings)
    picture, remark = _drawn(comparison, out / PICTURE) if plot else (None, None)
    if as_json:
        from headstart.demo.results import as_json as plain

        say_json({**plain(comparison), "memory": location, "picture": None if picture is None else str(picture)})
        if remark:
            note(remark)
        return
    _report(comparison)
    say()
    say_pairs(
        [
            ("Memory", location),
            ("Picture", str(picture) if picture is not None else (remark or "not drawn")),
            ("Next", f"headstart memory list --memory {shlex.quote(location)}"),
        ]
    )


def _carried_out(settings: "DemoSettings") -> "Comparison":
    from headstart.demo.run import run_demo

    with _Progress() as progress:
        try:
            return run_demo(settings, phase=progress.begin, report=progress.step)
        except KeyboardInterrupt:
            raise InterruptedCommandError(
                f"interrupted. {settings.memory} keeps every trial of the past tasks; run the same command to go on."
            ) from None


def _drawn(comparison: "Comparison", path: Path) -> tuple[Path | None, str | None]:
    """Return where the picture is, or why there is none."""
    from headstart.demo.plot import draw

    try:
        return draw(comparison, path), None
    except MissingDependencyError as error:
        return None, str(error)


def _report(comparison: "Comparison") -> None:
    """Print the table, the sentence and what it cost."""
    from headstart.demo.results import percent, seeds_ahead, sentence, trials_to_reach

    past = sum(count for _, count in comparison.past)
    seeds = counted(len(comparison.with_memory), "seed")
    say(
        f"{comparison.task} ({comparison.about}): error in 3-fold cross-validation, best so far, mean and standard "
        f"deviation of {seeds}"
    )
    say()
    with_, without = comparison.curves_with, comparison.curves_without
    end = float(without.mean(axis=0)[-1])
    rows: list[tuple[str, str, str, str]] = []
    for count in comparison.checkpoints:
        better, equal, worse = seeds_ahead(comparison, count)
        rows.append(
            (str(count), _spread(with_[:, count - 1]), _spread(without[:, count - 1]), f"{better} / {equal} / {worse}")
        )
    columns = (
        "after trial",
        f"with the memory ({comparison.with_memory[0].method})",
        f"without ({comparison.without_memory[0].method})",
        "seeds better/equal/worse",
    )
    say_table(columns, rows, right=columns, optional=columns[3:])
    needed = [trials_to_reach(curves.mean(axis=0), end) for curves in (with_, without)]
    say_pairs(
        [
            (
                f"Trials to {percent(end)}",
                f"{needed[0] or f'not in {comparison.trials}'} with the memory, {needed[1]} without "
                "(where the mean without ends)",
            ),
            ("Not tuned at all", f"{percent(comparison.error_of_defaults)} (scikit-learn's defaults)"),
            ("The past", f"{counted(len(comparison.past), 'task')}, {counted(past, 'trial')} of random search"),
            ("Time", _time(comparison)),
        ]
    )
    say()
    say(sentence(comparison))


def _time(comparison: "Comparison") -> str:
    with_ = comparison.suggestion_milliseconds(comparison.with_memory)
    without = comparison.suggestion_milliseconds(comparison.without_memory)
    processes = "1 process" if comparison.workers == 1 else f"{comparison.workers} processes"
    return (
        f"{comparison.wall_seconds:.0f} s with {processes}; all evaluations {comparison.evaluation_seconds:.1f} s; "
        f"a suggestion {with_:.0f} ms with the memory, {without:.0f} ms without"
    )


def _spread(values: Any) -> str:
    return f"{100 * values.mean():.2f} ± {100 * values.std():.2f} %"


class _Progress(AbstractContextManager["_Progress"]):
    """A bar where somebody watches, a line now and then elsewhere; on standard error."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._done = self._total = 0
        self._last = time.monotonic()
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            self._bar = Progress(
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("trials"),
                TimeElapsedColumn(),
                console=Console(stderr=True, markup=False, highlight=False),
            )
            self._bar.start()

    def begin(self, description: str, steps: int) -> None:
        """Show a new phase."""
        self._done, self._total, self._last = 0, steps, time.monotonic()
        if self._bar is None:
            note(description)
            return
        for finished in self._bar.task_ids:
            self._bar.remove_task(finished)
        self._bar.console.print(description)
        self._task = self._bar.add_task("", total=steps) if steps else None

    def step(self, kind: str, best: float | None) -> None:
        """Count a trial."""
        self._done += 1
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, completed=self._done)
        elif self._bar is None and time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            self._last = time.monotonic()
            note(f"  {self._done} of {self._total} trials")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
