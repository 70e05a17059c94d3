"""One job: all missing runs of one method on one task. What decides their numbers, besides the run itself, is here.

Whoever does it keeps the opened suite and what the method learned for the next job. Pre-training that several targets
share is a job of its own, one without runs, whose result is kept beside the results.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TypeVar, cast

import numpy as np

from headstart import artifacts
from headstart.benchmark import store
from headstart.benchmark.curves import RunKey
from headstart.benchmark.methods import Method
from headstart.benchmark.past import PastOf, past_data, past_of, validation_data
from headstart.benchmark.problems import Problem, Suite, SuiteSpace, with_held_out
from headstart.benchmark.run import RunRecord, pool_run, space_run
from headstart.benchmark.settings import RunSettings, named_rng
from headstart.benchmark.store import Stamp, file_name, write_run
from headstart.benchmark.suites import open_suite
from headstart.benchmark.suites.hpob import Version
from headstart.data import MetaDataset
from headstart.encoding import Encoding
from headstart.errors import ArtifactError, DataError
from headstart.optimizer.preparation import Choices, prepared
from headstart.optimizer.suggestion import PoolDomain, Setup
from headstart.processes import Report
from headstart.protocols import InitialDesign, SupportsPretraining, Surrogate

T = TypeVar("T", Surrogate, InitialDesign)

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
        for key, record in self.records():
            write_run(self.folder, self.method.name, key, record, self.stamp)
            report("run", None)
        if not self.seeds:
            report("pre-training", None)

    def records(self) -> Iterable[tuple[RunKey, RunRecord]]:
        """Yield names and record of every run; without any, only learn."""
        if not self.seeds:
            _learned_by(self, *_found(self))
            return
        setup, problem = setup_of(self)
        for seed in self.seeds:
            key = RunKey(self.space, self.task, seed)
            if self.settings.continuous:
                assert problem.objective is not None  # checked before
                yield key, space_run(setup, problem, problem.objective, self.settings, seed)
            else:
                yield key, pool_run(setup, problem, self.settings, seed)


def learns(method: Method) -> bool:
    """Return whether any part of a method learns from the past."""
    return any(isinstance(part, SupportsPretraining) for part in (method.surrogate, method.design))


def setup_of(job: Job) -> tuple[Setup, Problem]:
    """Return what decides the suggestions of a job, and its problem.

    Raises:
        DataError: The data, or headstart itself, are no longer those that the job was made for.
    """
    space, problem = _found(job)
    learned = _learned_by(job, space, problem)
    # the past's best configurations are among the candidates of a Space, as for a user
    known = past_data(past_of(space, problem, job.settings), space, job.settings) if job.settings.continuous else None
    return _setup(learned, problem, space, known, job.settings), problem


def _found(job: Job) -> tuple[SuiteSpace, Problem]:
    suite = job.source.open()
    if suite.fingerprint != job.stamp.suite:  # every process opens it by itself, and a memory may grow meanwhile
        raise DataError(
            f"Suite '{suite.name}': its data changed while runs were made. Finished runs are kept; run again with a "
            "copy of the data that nobody writes to."
        )
    if store.library_version() != job.stamp.version:  # a process that began later than the first one
        raise DataError(
            f"Benchmark: headstart changed from {job.stamp.version} to {store.library_version()} while runs were made. "
            "Finished runs are kept; run again, with --on-change redo if they are to be made by the same version."
        )
    space = suite.space(job.space)
    return space, next(one for one in space.targets(job.settings.tasks) if one.name == job.task)


_kept: dict[tuple[str, str, str], Method] = {}
"""What this process has learned last, by method, past and stamp: jobs of one method follow one another."""


def _learned_by(job: Job, space: SuiteSpace, problem: Problem) -> Method:
    """Return the method with what it has learned from the past: kept, or read, or learned now."""
    if not learns(job.method):
        return job.method
    past = past_of(space, problem, job.settings)
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
    # not with_suffix: "a.b" would lose its "b", and be mistaken for "a.c"
    place = None if file is None else file.with_name(f"{file.name}.{kind}.safetensors")
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
