"""Doing the runs of a table that are not there yet, in this process, in several, or on a Ray cluster.

Space by space: first what methods learn from a past that several targets share, then the runs.
"""

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

import numpy as np

from headstart.benchmark.curves import RunKey
from headstart.benchmark.job import Job, SuiteSource, learns
from headstart.benchmark.methods import Method
from headstart.benchmark.problems import Problem, Suite, SuiteSpace
from headstart.benchmark.settings import RunSettings
from headstart.benchmark.store import (
    ABOUT,
    Stamp,
    compile_results,
    difference,
    file_of,
    library_version,
    read_stamp,
    refuse_mixture,
    stamp_of,
)
from headstart.errors import HeadstartError, SettingsError
from headstart.processes import Report, Workers
from headstart.whole_files import written_whole

__all__ = ["Job", "Listener", "Silent", "SuiteSource", "command_line", "is_done", "run"]

Backend: TypeAlias = Literal["processes", "ray"]
OnChange: TypeAlias = Literal["refuse", "keep", "redo"]
"""What becomes of runs that another version, or other settings of a method, made: the command ends with an error, or
they count as done, or they are done again."""


class Listener(Protocol):
    """Hears how far the work is."""

    def begin(self, kind: str, total: int) -> None:
        """``total`` steps of a kind, "pre-training" or "run", are to come."""
        ...

    def step(self, kind: str) -> None:
        """One of them is done."""
        ...

    def space_done(self, space: str) -> None:
        """All runs of a space are there."""
        ...

    def stopping(self) -> None:
        """Ctrl-C was heard; other processes finish the runs they are at."""
        ...


class Silent:
    """Hears nothing."""

    def begin(self, kind: str, total: int) -> None:
        """Nothing."""

    def step(self, kind: str) -> None:
        """Nothing."""

    def space_done(self, space: str) -> None:
        """Nothing."""

    def stopping(self) -> None:
        """Nothing."""


Executor: TypeAlias = Callable[[Sequence[Job], Report], None]
"""Carries jobs out, and reports every step."""


def run(
    source: SuiteSource,
    methods: Sequence[Method],
    settings: RunSettings,
    folder: Path,
    *,
    seeds: int = 5,
    spaces: Sequence[str] | None = None,
    jobs: int = 1,
    backend: Backend = "processes",
    on_change: OnChange = "refuse",
    listener: Listener | None = None,
) -> None:
    """Do all runs that ``folder`` does not hold yet, and make its tables.

    Neither the number of jobs nor the other methods change the numbers of a run. Ctrl-C keeps what is finished.

    Args:
        source: Where the tasks are.
        methods: What competes.
        settings: What all runs have in common.
        folder: Where results are kept.
        seeds: How often every task is tuned.
        spaces: Names of the spaces; all when None.
        jobs: How many processes work.
        backend: Processes of this machine, or a Ray cluster.
        on_change: What to do about runs of another version or of other settings of a method.
        listener: Hears how far it is.

    Raises:
        SettingsError: The folder holds results of other data or settings, or by another version.
        OSError: Nothing can be written there.
    """
    if not methods or (spaces is not None and not spaces):
        raise SettingsError("Benchmark: name at least one method and one space.")
    if spaces is not None and len(set(spaces)) < len(spaces):
        raise SettingsError(f"Benchmark: a space is named twice in {', '.join(spaces)}. Name each once.")
    suite = source.open()
    listener = Silent() if listener is None else listener
    chosen = [suite.space(name) for name in spaces] if spaces is not None else list(suite.spaces)
    _check_objectives(suite, chosen, settings)
    refuse_mixture(folder, suite, settings)
    stamps = {method.name: stamp_of(suite, settings, method) for method in methods}
    names = [f"test{number}" for number in range(seeds)]

    def job(method: Method, space: SuiteSpace, problem: Problem) -> Job:
        stamp = stamps[method.name]
        keys = [RunKey(space.name, problem.name, seed) for seed in names]
        missing = [key.seed for key in keys if not is_done(file_of(folder, method.name, key), stamp, on_change, folder)]
        return Job(source, settings, method, space.name, problem.name, tuple(missing), folder, stamp)

    every = {
        space.name: [job(method, space, problem) for method in methods for problem in space.targets(settings.tasks)]
        for space in chosen
    }
    missing = sum(len(one.seeds) for some in every.values() for one in some)
    listener.begin("run", missing)
    if missing:
        folder.mkdir(parents=True, exist_ok=True)
        _describe(folder, suite, settings)

    def report(kind: str, _: float | None) -> None:
        listener.step(kind)

    def carry_out(execute: Executor) -> None:
        for space in chosen:
            wanted = [one for one in every[space.name] if one.seeds]
            learning = _learning(wanted, space)
            if learning:
                listener.begin("pre-training", len(learning))
                execute(learning, report)
            execute(wanted, report)
            listener.space_done(space.name)

    try:
        with _executor(backend, jobs) as execute:
            try:
                carry_out(execute)
            except KeyboardInterrupt:
                if jobs > 1:
                    listener.stopping()
                raise
    except BaseException:
        with suppress(HeadstartError, OSError):  # what went wrong first is what the user must hear
            compile_results(folder)
        raise
    compile_results(folder)


def is_done(file: Path, stamp: Stamp, on_change: OnChange, folder: Path) -> bool:
    """Return whether a run is there.

    Raises:
        SettingsError: It is, but was made of other data, with other settings or by another version.
    """
    if not file.exists():
        return False
    stored = read_stamp(file)
    found = difference(stored, stamp)
    if not found:
        return True
    what = f"{folder}: {file.relative_to(folder)} was made with {found}."
    if stored.suite != stamp.suite or stored.settings != stamp.settings:  # never in one table
        raise SettingsError(f"{what} Name another folder with --out.")
    if on_change == "refuse":
        raise SettingsError(
            f"{what} Add --on-change redo to do such runs again, --on-change keep to go on beside them, or name "
            "another folder with --out."
        )
    return on_change == "keep"


def _check_objectives(suite: Suite, spaces: Sequence[SuiteSpace], settings: RunSettings) -> None:
    for space in spaces:
        targets = space.targets(settings.tasks)
        if not targets:
            raise SettingsError(f"Suite '{suite.name}': space '{space.name}' has no {settings.tasks} tasks.")
        for problem in targets:
            if settings.continuous and problem.objective is None:
                raise SettingsError(
                    f"Suite '{suite.name}': space '{space.name}', task '{problem.name}' has no function behind its "
                    "pool, which the continuous variant needs. Give its surrogates with --surrogates, or leave "
                    "--continuous out."
                )


def _learning(jobs: Sequence[Job], space: SuiteSpace) -> list[Job]:
    """Return one job for every method that learns what all targets share."""
    if space.leave_one_out:
        return []  # every target has a past of its own
    first = {job.method.name: replace(job, seeds=()) for job in reversed(jobs)}
    return [job for job in first.values() if learns(job.method)]


def _describe(folder: Path, suite: Suite, settings: RunSettings) -> None:
    """Write down where the results come from; for people, and for the pages made of them."""
    about = {
        "suite": suite.name,
        "command": command_line(),
        "headstart": library_version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} logical cores",
        "settings": settings.words(),
    }
    with written_whole(folder / ABOUT) as stream:
        stream.write(json.dumps(about, indent=2).encode())


def command_line() -> str:
    """Return the command that is running, as it may be typed again, without passwords in addresses."""
    words = shlex.join(["headstart", *sys.argv[1:]])
    return re.sub(r"(://[^/:@\s]*):[^@\s]*@", r"\1:***@", words)


@contextmanager
def _executor(backend: Backend, jobs: int) -> Generator[Executor]:
    """Give what carries jobs out."""
    if backend == "ray":
        from headstart.benchmark.ray_backend import ray_executor

        with ray_executor() as execute:
            yield execute
        return
    with Workers(jobs) as pool:

        def execute(some: Sequence[Job], report: Report, /) -> None:
            if some:
                pool.run(some, report)

        yield execute
