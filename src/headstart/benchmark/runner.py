"""Doing the runs of a table that are not there yet, in this process, in several, or on a Ray cluster.

A job is all missing runs of one method on one task; whoever does it keeps the opened suite, what methods learned and
what they say of a pool for the next job. Pre-training that several targets share is a job of its own, whose result is
kept beside the results; then runs follow, space by space.
"""

import json
import os
import platform
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar, cast

import numpy as np

from headstart import artifacts
from headstart.benchmark.curves import RunKey
from headstart.benchmark.methods import Method
from headstart.benchmark.past import PastOf, past_data, past_of, validation_data
from headstart.benchmark.problems import Problem, Suite, SuiteSpace, with_held_out
from headstart.benchmark.run import RunRecord, pool_run, space_run
from headstart.benchmark.settings import RunSettings, named_rng
from headstart.benchmark.store import (
    ABOUT,
    Stamp,
    compile_results,
    difference,
    file_name,
    file_of,
    library_version,
    read_stamp,
    refuse_mixture,
    stamp_of,
    write_run,
)
from headstart.benchmark.suites import open_suite
from headstart.benchmark.suites.hpob import Version
from headstart.data import MetaDataset
from headstart.encoding import Encoding
from headstart.errors import ArtifactError, SettingsError
from headstart.optimizer.preparation import Choices, prepared
from headstart.optimizer.suggestion import PoolDomain, Setup
from headstart.processes import Report, Workers
from headstart.protocols import InitialDesign, SupportsPretraining, Surrogate

T = TypeVar("T", Surrogate, InitialDesign)

Backend: TypeAlias = Literal["processes", "ray"]
OnChange: TypeAlias = Literal["refuse", "keep", "redo"]
"""What becomes of runs that another version, or other settings of a method, made: the command ends with an error, or
they count as done, or they are done again."""

PRETRAINED = "pretrained"


@dataclass(frozen=True)
class SuiteSource:
    """How every process finds the suite."""

    address: str
    version: Version = "v3"
    surrogates: Path | None = None
    cache: Path | None = None
    held_out: int = 0
    """How many past tasks of each space become validation tasks, too."""
    suite: Suite | None = field(default=None, compare=False)
    """The suite itself, where it is at no address; it travels with every job."""

    def open(self) -> Suite:
        """Return the suite; opened once per process."""
        return _opened(self) if self.suite is None else with_held_out(self.suite, self.held_out)


@lru_cache(maxsize=2)
def _opened(source: SuiteSource) -> Suite:
    suite = open_suite(source.address, version=source.version, surrogates=source.surrogates, cache=source.cache)
    return with_held_out(suite, source.held_out)


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


class Silent:
    """Hears nothing."""

    def begin(self, kind: str, total: int) -> None:
        """Nothing."""

    def step(self, kind: str) -> None:
        """Nothing."""

    def space_done(self, space: str) -> None:
        """Nothing."""


@dataclass(frozen=True)
class Job:
    """The missing runs of one method on one task, or with no seeds only what the method learns."""

    source: SuiteSource
    settings: RunSettings
    method: Method
    space: str
    task: str
    seeds: tuple[str, ...]
    folder: Path
    stamp: Stamp

    def run(self, report: Report) -> None:
        """Do the runs one after the other; each is on the disk before it is reported."""
        if not self.seeds:
            setup_of(self)
            report("pre-training", None)
        for key, record in self.records():
            write_run(self.folder, self.method.name, key, record, self.stamp)
            report("run", None)

    def records(self) -> Iterable[tuple[RunKey, RunRecord]]:
        """Yield names and record of every run."""
        setup, problem = setup_of(self)
        for seed in self.seeds:
            key = RunKey(self.space, self.task, seed)
            if self.settings.continuous:
                assert problem.objective is not None  # checked before
                yield key, space_run(setup, problem, problem.objective, self.settings, seed)
            else:
                yield key, pool_run(setup, problem, self.settings, seed)


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
    """
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
    listener.begin("run", sum(len(one.seeds) for some in every.values() for one in some))
    folder.mkdir(parents=True, exist_ok=True)
    _describe(folder, suite, settings)

    def report(kind: str, _: float | None) -> None:
        listener.step(kind)

    try:
        with _executor(backend, jobs) as execute:
            for space in chosen:
                wanted = [one for one in every[space.name] if one.seeds]
                learning = _learning(wanted, space)
                if learning:
                    listener.begin("pre-training", len(learning))
                    execute(learning, report)
                execute(wanted, report)
                listener.space_done(space.name)
    finally:
        compile_results(folder)


def is_done(file: Path, stamp: Stamp, on_change: OnChange, folder: Path) -> bool:
    """Return whether a run is there.

    Raises:
        SettingsError: It is, but was made by another version or with other settings of the method.
    """
    if not file.exists():
        return False
    found = difference(read_stamp(file), stamp)
    if not found or on_change == "keep":
        return True
    if on_change == "redo":
        return False
    raise SettingsError(
        f"{folder}: {file.relative_to(folder)} was made with {found}. Add --on-change redo to do such runs again, "
        "--on-change keep to go on beside them, or name another folder with --out."
    )


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
    return [job for job in first.values() if _learns(job.method)]


def _learns(method: Method) -> bool:
    return any(isinstance(part, SupportsPretraining) for part in (method.surrogate, method.design))


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
    (folder / ABOUT).write_text(json.dumps(about, indent=2), encoding="utf-8")


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


# ---- what a process keeps between jobs


def setup_of(job: Job) -> tuple[Setup, Problem]:
    """Return what decides the suggestions of a job, and its problem."""
    space = job.source.open().space(job.space)
    problem = next(one for one in space.targets(job.settings.tasks) if one.name == job.task)
    past = past_of(space, problem, job.settings)
    learned = _learned_by(job, space, past)
    # the past's best configurations are among the candidates of a Space, as for a user
    known = past_data(past, space, job.settings) if job.settings.continuous else None
    return _setup(learned, problem, space, known, job.settings), problem


_kept: dict[tuple[str, str, str], Method] = {}
"""What this process has learned last, by method, past and stamp: jobs of one method follow one another."""


def _learned_by(job: Job, space: SuiteSpace, past: PastOf) -> Method:
    """Return the method with what it has learned from the past: kept, or read, or learned now."""
    if not _learns(job.method):
        return job.method
    key = (job.method.name, past.key, job.stamp.text)
    if key not in _kept:
        _kept.clear()
        file = None if space.leave_one_out else _file(job.folder, job.method.name, past.key)
        _kept[key] = _read_or_learned(file, job, space, past)
    return _kept[key]


def _read_or_learned(file: Path | None, job: Job, space: SuiteSpace, past: PastOf) -> Method:
    method, known = job.method, past_data(past, space, job.settings)
    if known is None:
        return method
    validation = validation_data(past, space, job.settings)
    surrogate = _part(method.surrogate, "surrogate", file, job, known, validation, past.key)
    design = None if method.design is None else _part(method.design, "design", file, job, known, validation, past.key)
    return replace(method, surrogate=surrogate, design=design)


def _part(
    recipe: T, kind: str, file: Path | None, job: Job, past: MetaDataset, validation: MetaDataset | None, key: str
) -> T:
    """Return ``recipe`` with what it learns, where it does."""
    if not isinstance(recipe, SupportsPretraining) or recipe.is_pretrained:
        return recipe
    place = None if file is None else file.with_suffix(f".{kind}.safetensors")
    if place is not None and place.exists():
        with suppress(ArtifactError):  # of other settings or another version: learned anew
            return artifacts.load(place, expected=type(recipe), fingerprint=job.stamp.text)
    learned = cast("T", recipe.pretrain(past, rng=named_rng("pretraining", key), validation=validation))
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        with suppress(ArtifactError):  # a method from elsewhere may have fields that cannot be stored
            artifacts.save(place, learned, fingerprint=job.stamp.text, description={"past": key})
    return learned


def _file(folder: Path, method: str, key: str) -> Path:
    return folder / PRETRAINED / file_name(method) / file_name(key)


def _setup(
    method: Method, problem: Problem, space: SuiteSpace, past: MetaDataset | None, settings: RunSettings
) -> Setup:
    """Return what decides suggestions, decided as for a user who hands in the method."""
    encoding, pool = None, None
    if settings.continuous:
        assert problem.objective is not None  # checked before
        encoding, bounds = Encoding(problem.objective.space), (problem.objective.low, problem.objective.high)
    else:
        # HPO-B's driver tells rows apart by number, also where two hold the same configuration
        pool = PoolDomain(np.asarray(problem.x), space.columns, np.ones(len(problem.y), dtype=np.bool_))
        bounds = problem.bounds
    choices = Choices(
        method=method.surrogate,
        initial_design=method.design if method.design is not None else "auto",
        initial_trials=method.design_trials,
        acquisition=None,
        bounds=bounds if settings.scale == "oracle" else None,
        metafeatures=problem.metafeatures,
    )
    return prepared(choices, past, encoding=encoding, pool=pool, rng=named_rng("setup", problem.space, problem.name))
