"""The ``headstart`` command: its groups, and what becomes of errors.

Exit codes: 0 done; 1 an error of headstart, or problems found by a check; 2 the command line was not understood;
70 a defect of headstart; 130 Ctrl-C; 141 nobody reads the output any more.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated, Any, TextIO, cast

import typer

from headstart._version import __version__
from headstart.cli import bench, demo, experiment, memory, space, trials
from headstart.cli.terminal import InterruptedCommandError, ReaderLeftError
from headstart.errors import HeadstartError

ERROR, USAGE, DEFECT, INTERRUPTED, CLOSED_PIPE = 1, 2, 70, 130, 141

# The class differs with the version of Typer; this is what all of its usage errors derive from.
_UsageError = cast("type[Exception]", typer.BadParameter.__mro__[1])


def _group(help_text: str) -> typer.Typer:
    group = typer.Typer(
        help=help_text, rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True
    )
    group.callback()(_help_without_command)
    return group


def _help_without_command(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _example(*lines: str) -> str:
    # \b keeps the lines as they are
    return "\b\n" + "\n".join(["Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])


app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False, invoke_without_command=True)
_memory = _group("See what a memory holds, delete from it, check it.")
_space = _group("Check and show the file of a Space.")
_bench = _group("Measure methods, and look at what came out.")
_experiment = _group("Make published figures and tables again.")


@app.callback(
    epilog=_example("headstart demo", "headstart suggest --task churn --space space.toml", "headstart memory list")
)
def _headstart(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Tune hyperparameters with a memory: past tuning runs make the next one shorter."""
    if version:
        typer.echo(f"headstart {__version__}")
        raise typer.Exit
    _help_without_command(context)


app.command("demo", epilog=_example("headstart demo", "headstart demo --task wine --seeds 10"))(demo.demo)
app.command(
    "suggest",
    epilog=_example(
        "headstart suggest --memory runs.db --task churn --space space.toml",
        "headstart suggest --memory runs.db --task churn -n 3 --json",
    ),
)(trials.suggest)
app.command(
    "tell",
    # so that -0.5 is a value and no option
    context_settings={"ignore_unknown_options": True},
    epilog=_example(
        "headstart tell --memory runs.db --task churn 7 0.312",
        "headstart tell --memory runs.db --task churn 8 --failed",
    ),
)(trials.tell)
app.command("best", epilog=_example("headstart best --memory runs.db --task churn --json"))(trials.best)
app.command("explain", epilog=_example("headstart explain --memory runs.db --task churn 7"))(trials.explain)
app.add_typer(_memory, name="memory", epilog=_example("headstart memory list --memory runs.db"))
app.add_typer(_space, name="space", epilog=_example("headstart space check space.toml"))
_memory.command("list", epilog=_example("headstart memory list --memory runs.db"))(memory.list_tasks)
_memory.command("show", epilog=_example("headstart memory show churn --memory runs.db"))(memory.show_task)
_memory.command("delete", epilog=_example("headstart memory delete churn --memory runs.db --yes"))(memory.delete_task)
_memory.command("check", epilog=_example("headstart memory check --memory runs.db"))(memory.check_memory)
_space.command("check", epilog=_example("headstart space check space.toml"))(space.check_space)
_space.command(
    "show",
    epilog=_example("headstart space show space.toml", "headstart space show --memory runs.db --task churn --toml"),
)(space.show_space)
app.add_typer(_bench, name="bench", epilog=_example("headstart bench run --suite synthetic --out results"))
_bench.command(
    "run",
    epilog=_example(
        "headstart bench run --suite hpob-data --methods random,gp,prior-gp --jobs 2 --out results",
        "headstart bench run --suite runs.db --out which-method-for-my-runs",
    ),
)(bench.bench_run)
_bench.command(
    "report",
    epilog=_example(
        "headstart bench report results --format html --out results.html",
        "headstart bench report results --competitor FSBO=FSBO.json --at 25,50,100",
    ),
)(bench.bench_report)
_bench.command("export", epilog=_example("headstart bench export results --hpob published"))(bench.bench_export)
_bench.command("compare", epilog=_example("headstart bench compare before after"))(bench.bench_compare)
_bench.command("methods", epilog=_example("headstart bench methods"))(bench.bench_methods)
app.add_typer(_experiment, name="experiment", epilog=_example("headstart experiment list"))
_experiment.command("list", epilog=_example("headstart experiment list"))(experiment.list_experiments)
_experiment.command("describe", epilog=_example("headstart experiment describe tst-2"))(experiment.describe_experiment)
_experiment.command(
    "run", epilog=_example("headstart experiment run negative-transfer --suite synthetic --smoke --out smoke")
)(experiment.run_experiment)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that has no letter for it is no reason to fail
    try:
        code = run(given)
        sys.stdout.flush()
    except (ReaderLeftError, BrokenPipeError):
        code = CLOSED_PIPE
        # or Python would try to flush once more at its end, and complain
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Return the exit code of the command line ``arguments``; errors become a line on standard error."""
    debug = "--debug" in arguments
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            returned: Any = app(list(arguments), prog_name="headstart", standalone_mode=False)
        except InterruptedCommandError as error:
            _complain(error, debug)
            return INTERRUPTED
        except HeadstartError as error:
            _complain(error, debug)
            return ERROR
        except (KeyboardInterrupt, typer.Abort) as error:
            _complain(InterruptedCommandError("interrupted."), debug, error)
            return INTERRUPTED
        except ReaderLeftError:
            raise
        except OSError as error:  # a full disk, a folder that may not be written to
            _complain(_os_error(error), debug, error)
            return ERROR
        except Exception as error:
            return _usage(error, debug) if isinstance(error, _UsageError) else _defect(error, debug)
    # Typer returns the code of an Exit, and 130 for Ctrl-C
    code = returned if isinstance(returned, int) else 0
    if code == INTERRUPTED:
        _line("Error: interrupted.")
    return code


def _complain(error: Exception, debug: bool, cause: BaseException | None = None) -> None:
    if debug:
        _traceback(cause or error)
    _line(f"Error: {error}")


def _usage(error: Any, debug: bool) -> int:
    if debug:
        _traceback(error)
    command = error.ctx.command_path if error.ctx is not None else "headstart"
    text = error.format_message().removeprefix("Invalid value: ")
    _line(f"Error: {text.rstrip('.')}. Try '{command} --help'.")
    return USAGE


def _defect(error: Exception, debug: bool) -> int:
    if debug:
        _traceback(error)
        _line("Error: this is a defect of headstart. Please report it with the lines above.")
    else:
        _line(
            f"Error: {type(error).__name__}: {error}. This is a defect of headstart: run the command again with "
            "--debug, and report what it prints."
        )
    return DEFECT


def _os_error(error: OSError) -> HeadstartError:
    where = f"{error.filename}: " if error.filename else ""
    return HeadstartError(
        f"{where}{error.strerror or error}. Check that the place exists, may be written to and has room, then run the "
        "command again."
    )


def _traceback(error: BaseException) -> None:
    typer.echo("".join(traceback.format_exception(error)).rstrip(), err=True)


def _line(text: str) -> None:
    typer.echo(" ".join(text.split("\n")), err=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    _line(f"Warning: {message}")
