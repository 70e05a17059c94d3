"""headstart bench: measure methods, and look at what came out."""

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headstart.cli.arguments import DebugOption
from headstart.cli.progress import Bars
from headstart.cli.terminal import InterruptedCommandError, counted, note, say, say_table

if TYPE_CHECKING:
    from headstart.benchmark.curves import Curves
    from headstart.benchmark.published import Runs
    from headstart.benchmark.reports.report import Report
    from headstart.benchmark.store import Results

USUAL_METHODS = "random,gp,prior-gp"
USUAL_AT = (1, 5, 10, 25, 50, 100)


class TasksChoice(StrEnum):
    """Which tasks are tuned."""

    test = "test"
    validation = "validation"


class ScaleChoice(StrEnum):
    """Whether methods know the range of the responses."""

    oracle = "oracle"
    honest = "honest"


class PastChoice(StrEnum):
    """What is done to the past."""

    true = "true"
    permuted = "permuted"
    negated = "negated"
    least_correlated = "least-correlated"


class VersionChoice(StrEnum):
    """Of HPO-B's files."""

    v1 = "v1"
    v2 = "v2"
    v3 = "v3"
    v3_augmented = "v3-augmented"


class ChangeChoice(StrEnum):
    """What becomes of runs that other code made."""

    refuse = "refuse"
    keep = "keep"
    redo = "redo"


class BackendChoice(StrEnum):
    """Where jobs run."""

    processes = "processes"
    ray = "ray"


class FormatChoice(StrEnum):
    """Of a report."""

    html = "html"
    png = "png"
    svg = "svg"
    csv = "csv"
    json = "json"
    markdown = "markdown"


def methods_completed(incomplete: str) -> list[str]:
    """Return the methods that begin with the last name of ``incomplete``."""
    from headstart.benchmark.methods import competitors
    from headstart.benchmark.settings import RunSettings

    before, _, last = incomplete.rpartition(",")
    names = [method.name for method in competitors(RunSettings())]
    return [f"{before},{name}" if before else name for name in names if name.startswith(last)]


MethodsOption = Annotated[
    str,
    typer.Option(
        "--methods", metavar="A,B", help="What competes; 'bench methods' lists all.", autocompletion=methods_completed
    ),
]
SpacesOption = Annotated[str | None, typer.Option("--spaces", metavar="A,B", help="Some of the spaces.")]
AtOption = Annotated[str | None, typer.Option("--at", metavar="T,T", help="The trials that tables report.")]
ResultsArgument = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of results.")]


def bench_run(
    suite: Annotated[
        str,
        typer.Option(
            "--suite",
            metavar="SUITE",
            help="A folder (HPO-B's layout, or grids), a memory, 'synthetic', 'synthetic:-1' or 'sklearn'.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder of results; what it has is not repeated.")],
    methods: MethodsOption = USUAL_METHODS,
    spaces: SpacesOption = None,
    tasks: Annotated[TasksChoice, typer.Option("--tasks", help="Which tasks are tuned.")] = TasksChoice.test,
    seeds: Annotated[int, typer.Option("--seeds", min=1, metavar="N", help="How often each task is tuned.")] = 5,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, metavar="N", help="Trials of a run. [default: the suite's]")
    ] = None,
    given: Annotated[
        int | None,
        typer.Option(
            "--given", min=0, metavar="N", help="Configurations given before the first trial. [default: the suite's]"
        ),
    ] = None,
    scale: Annotated[
        ScaleChoice | None,
        typer.Option("--scale", help="Whether methods know the range of the responses. [default: the suite's]"),
    ] = None,
    continuous: Annotated[
        bool, typer.Option("--continuous", help="Try any configuration, not only the pool's.")
    ] = False,
    past: Annotated[PastChoice, typer.Option("--past", help="Make the past mislead.")] = PastChoice.true,
    past_tasks: Annotated[
        int | None, typer.Option("--past-tasks", min=1, metavar="N", help="Keep at most so many past tasks.")
    ] = None,
    past_rows: Annotated[
        int | None,
        typer.Option("--past-rows", min=2, metavar="N", help="Keep at most so many random rows of every past task."),
    ] = None,
    held_out: Annotated[
        int,
        typer.Option("--held-out", min=0, metavar="N", help="Past tasks of a space that become validation tasks."),
    ] = 0,
    hpob_version: Annotated[VersionChoice, typer.Option("--hpob-version", help="Which of HPO-B's files are past.")] = (
        VersionChoice.v3
    ),
    surrogates: Annotated[
        Path | None, typer.Option("--surrogates", metavar="DIR", help="XGBoost files for --continuous.")
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Processes.")] = 1,
    backend: Annotated[BackendChoice, typer.Option("--backend", help="Where jobs run.")] = BackendChoice.processes,
    on_change: Annotated[
        ChangeChoice, typer.Option("--on-change", help="What to do about runs that another version made.")
    ] = ChangeChoice.refuse,
    debug: DebugOption = False,
) -> None:
    """Run methods on the tasks of a suite. Stop it and start it again as you like: finished runs are kept."""
    from headstart.benchmark.methods import chosen
    from headstart.benchmark.runner import SuiteSource, run
    from headstart.benchmark.settings import RunSettings, usual_settings

    names = names_in(methods)
    chosen(names, RunSettings())  # a wrong name is told before a suite of gigabytes is opened
    source = SuiteSource(suite, hpob_version.value, surrogates, held_out=held_out)
    evaluate_once(suite)
    settings = usual_settings(
        source.open(),
        tasks=tasks.value,
        trials=trials,
        given=given,
        scale=None if scale is None else scale.value,
        continuous=continuous,
        past=past.value,
        past_tasks=past_tasks,
        past_rows=past_rows,
    )
    listener = Listening(out)
    with listener:
        try:
            run(
                source,
                chosen(names, settings),
                settings,
                out,
                seeds=seeds,
                spaces=None if spaces is None else names_in(spaces),
                jobs=jobs,
                backend=backend.value,
                on_change=on_change.value,
                listener=listener,
            )
        except KeyboardInterrupt:
            raise InterruptedCommandError(
                f"interrupted. {out} keeps every finished run; run the same command to go on."
            ) from None
    bench_table(out, names)


def evaluate_once(suite: str) -> None:
    """Evaluate the tasks of scikit-learn where that was not done yet, with a bar."""
    if suite != "sklearn":
        return
    from headstart.benchmark.suites import open_suite

    with Bars() as bars:
        begun: list[int] = []

        def step(done: int, total: int, message: str) -> None:
            if not begun:
                begun.append(done)
                bars.begin("evaluation", total - done + 1)
            bars.step("evaluation")

        open_suite(suite, progress=step)


class Listening(Bars):
    """Bars, and a line for every finished space."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._folder = folder
        """Of the results; None where nobody wants their tables."""

    def space_done(self, space: str) -> None:
        """Print the present table of a space."""
        if self._folder is None:
            self.line(f"{space} done")
            return
        from headstart.benchmark.curves import side_by_side
        from headstart.benchmark.metrics import mean_regret
        from headstart.benchmark.store import runs_of_space
        from headstart.errors import DataError

        try:
            curves = side_by_side(runs_of_space(self._folder, space))
        except DataError as error:  # older runs of another method cannot be read: no reason to stop
            self.line(f"{space} done; {error}")
            return
        last = mean_regret(curves)[:, -1]
        order = sorted(range(len(curves.methods)), key=lambda m: float(last[m]))
        words = "  ".join(f"{curves.methods[m]} {last[m]:.4f}" for m in order)
        self.line(f"{space} done, {counted(len(curves.runs), 'run')} a method; regret @{curves.trials}: {words}")

    def stopping(self) -> None:
        """Say why it takes a moment."""
        self.line("Stopping after the runs in hand. Ctrl-C again stops at once; they are done again the next time.")


def bench_table(folder: Path, names: list[str]) -> None:
    """Print the macro regret of every method; of ``names`` alone, where the folder's others have none of their runs."""
    from headstart.benchmark.curves import side_by_side
    from headstart.benchmark.metrics import mean_rank, mean_regret
    from headstart.benchmark.store import read_results
    from headstart.errors import DataError

    results = read_results(folder)
    try:
        curves = results.curves()
    except DataError:
        curves = side_by_side({name: results.runs[name] for name in names})
    at = _trials(None, curves.trials)
    regret, rank = mean_regret(curves), mean_rank(curves)
    order = sorted(range(len(curves.methods)), key=lambda m: float(regret[m, -1]))
    columns = ("method", *(f"@{t}" for t in at), f"rank @{at[-1]}")
    rows = [(curves.methods[m], *(f"{regret[m, t]:.4f}" for t in at), f"{rank[m, at[-1]]:.2f}") for m in order]
    where = f"{counted(len(curves.spaces), 'space')}, {counted(len(curves.runs), 'run')} a method"
    say(f"Mean normalised regret over {where}")
    say_table(columns, rows, right=columns[1:])


def bench_methods(debug: DebugOption = False) -> None:
    """List the methods that may compete."""
    from headstart.benchmark.methods import competitors
    from headstart.benchmark.settings import RunSettings

    for method in competitors(RunSettings()):
        say(method.name)


def bench_report(
    folder: Annotated[Path | None, typer.Argument(metavar="DIR", help="Folder of results.")] = None,
    competitor: Annotated[
        list[str] | None,
        typer.Option(
            "--competitor", metavar="NAME=FILE", help="A published result file in HPO-B's format; repeatable."
        ),
    ] = None,
    form: Annotated[FormatChoice, typer.Option("--format", help="What to write.")] = FormatChoice.markdown,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="PATH", help="File, or folder of pictures. [default: see --help]")
    ] = None,
    methods: Annotated[str | None, typer.Option("--methods", metavar="A,B", help="Some of the methods.")] = None,
    spaces: SpacesOption = None,
    at: AtOption = None,
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Of the report.")] = None,
    uncorrected: Annotated[
        bool, typer.Option("--uncorrected", help="Test pairs without Holm's correction, as older tables did.")
    ] = False,
    seeds_as_blocks: Annotated[
        bool, typer.Option("--seeds-as-blocks", help="Take seeds for independent experiments, as older tables did.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Make tables and pictures of results, beside published ones if you like.

    csv, json and markdown are printed unless --out names a file. A page goes to report.html, pictures to the folder
    report, if it names none.
    """
    from headstart.benchmark.reports.report import write

    report = replace(
        _report(folder, competitor or [], methods, spaces, at, title),
        holm=not uncorrected,
        blocks="runs" if seeds_as_blocks else "tasks",
    )
    written = write(report, form.value, out)
    if written.text:
        say(written.text.rstrip("\n"))
    for file in written.files:
        note(f"Wrote {file}")


def bench_export(
    folder: ResultsArgument,
    hpob: Annotated[
        Path | None, typer.Option("--hpob", metavar="FOLDER", help="Where one <method>.json each is written.")
    ] = None,
    compact: Annotated[
        Path | None,
        typer.Option("--compact", metavar="FOLDER", help="Where the two tables are written with seven digits."),
    ] = None,
    curves_only: Annotated[
        bool, typer.Option("--curves-only", help="Leave predictions and times out of a compact copy.")
    ] = False,
    debug: DebugOption = False,
) -> None:
    """Write results in the format of HPO-B's published files, or small enough to keep beside a paper.

    'bench report' reads a compact copy like any folder of results.
    """
    from headstart.benchmark.published import write_hpob
    from headstart.benchmark.store import read_results, write_compact

    if (hpob is None) == (compact is None):
        raise typer.BadParameter("give either --hpob FOLDER or --compact FOLDER.")
    if hpob is not None:
        for file in write_hpob(hpob, read_results(folder).runs):
            say(str(file))
    if compact is not None:
        size = write_compact(folder, compact, curves_only=curves_only)
        say(f"{compact}: {size / 1e6:.2f} MB")


def bench_compare(
    before: Annotated[Path, typer.Argument(metavar="DIR_A", help="Results of one state of the code.")],
    after: Annotated[Path, typer.Argument(metavar="DIR_B", help="Results of another.")],
    at: AtOption = None,
    debug: DebugOption = False,
) -> None:
    """Say what a change bought: the difference in macro regret of every method that both folders have."""
    import numpy as np

    from headstart.benchmark.curves import side_by_side
    from headstart.benchmark.statistics import bootstrap_difference
    from headstart.benchmark.store import read_results
    from headstart.errors import DataError

    first, second = read_results(before), read_results(after)
    common = [method for method in first.runs if method in second.runs]
    if not common:
        raise DataError(
            f"{before} and {after} have no method in common: {', '.join(first.runs)} and {', '.join(second.runs)}."
        )
    rows: list[tuple[str, ...]] = []
    trials: list[int] = []
    for method in common:
        curves = side_by_side({"before": first.runs[method], "after": second.runs[method]})
        trials = _trials(at, curves.trials)
        found = bootstrap_difference(
            curves.regret[:, :, trials], curves, "after", "before", rng=np.random.default_rng(0)
        )
        cells = [
            f"{mean:+.4f} [{low:+.4f}, {high:+.4f}]"
            for mean, low, high in zip(found.mean, found.low, found.high, strict=True)
        ]
        rows.append((method, *cells))
    say(f"Macro regret of {after} minus that of {before}: below 0 is better; 95 % bootstrap intervals over tasks")
    say_table(("method", *(f"@{t}" for t in trials)), rows)
    for what, one, other in (("settings", first.settings, second.settings), ("data", first.suite, second.suite)):
        if one != other:
            note(f"Warning: the two folders differ in their {what}, so the difference is not that of the code alone.")


def _report(
    folder: Path | None,
    competitors: list[str],
    methods: str | None,
    spaces: str | None,
    at: str | None,
    title: str | None,
) -> "Report":
    from headstart.benchmark.reports.report import Report, machine, versions
    from headstart.benchmark.runner import command_line

    results, runs = _results(folder)
    published = _published(competitors)
    for name in published:
        if name in runs:
            raise typer.BadParameter(f"--competitor {name} has the name of a method of {folder}. Give it another one.")
    runs.update(published)
    curves = _chosen_curves(runs, methods, spaces)
    made: Mapping[str, str] = {} if results is None else results.about
    known = {name: made[name] for name in ("python", "numpy") if name in made} or versions()
    if results is not None:
        known["headstart"] = ", ".join(results.versions)
    return Report(
        curves=curves,
        title=title or ("Benchmark" if folder is None else f"Benchmark {folder.resolve().name}"),
        command=command_line(),
        settings={} if results is None else {**_origin(made), **results.settings},
        machine=made.get("machine", machine()),
        versions=known,
        at=tuple(_trials(at, curves.trials)) if at is not None else (),
    )


def _origin(made: "Mapping[str, str]") -> dict[str, str]:
    """Return suite and command of the last runs, for the settings of a page."""
    return {name: made[name] for name in ("suite", "command") if name in made}


def _results(folder: Path | None) -> "tuple[Results | None, dict[str, Runs]]":
    from headstart.benchmark.store import read_results

    if folder is None:
        return None, {}
    found = read_results(folder)
    return found, dict(found.runs)


def _published(competitors: list[str]) -> "dict[str, Runs]":
    from headstart.benchmark.published import read_hpob

    found: dict[str, Runs] = {}
    for given in competitors:
        name, sign, file = given.partition("=")
        if not (name and sign and file):
            raise typer.BadParameter(f"--competitor {given} must be NAME=FILE.")
        if name in found:
            raise typer.BadParameter(f"--competitor {name} is named twice.")
        found[name] = read_hpob(Path(file))
    return found


def _chosen_curves(runs: "dict[str, Runs]", methods: str | None, spaces: str | None) -> "Curves":
    from headstart.benchmark.curves import side_by_side
    from headstart.benchmark.published import check_same_start
    from headstart.errors import DataError

    if methods is not None:
        missing = [name for name in names_in(methods) if name not in runs]
        if missing:
            raise DataError(f"There are no results of method '{missing[0]}'. There are {', '.join(runs)}.")
        runs = {name: runs[name] for name in names_in(methods)}
    check_same_start(runs)
    curves = side_by_side(runs)
    if spaces is None:
        return curves
    missing = [name for name in names_in(spaces) if name not in curves.spaces]
    if missing:
        raise DataError(f"There are no results of space '{missing[0]}'. There are {', '.join(curves.spaces)}.")
    return curves.chosen([place for place, run in enumerate(curves.runs) if run.space in names_in(spaces)])


def names_in(text: str) -> list[str]:
    """Return the names in a list with commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def _trials(at: str | None, last: int) -> list[int]:
    if at is None:
        return sorted({last, *(t for t in USUAL_AT if t <= last)})
    try:
        found = sorted({int(word) for word in names_in(at)})
    except ValueError:
        raise typer.BadParameter(f"--at {at} must be whole numbers with commas between them.") from None
    if not found or not 1 <= found[0] <= found[-1] <= last:
        raise typer.BadParameter(f"--at {at} must lie in 1..{last}.")
    return found
