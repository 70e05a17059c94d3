"""DKLM, table 1: how good predictions are after 5, 10 and 20 observations, without any fitting beyond the method's own.

For every test task t observations and 100 other configurations are drawn; the mean negative log density of the 100
responses is taken, the noise included, in units of the task's range. Slope is that of ordinary least squares over t: a
method whose density gets worse with more data is too sure of itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.special import ndtri

from headstart.arrays import Array
from headstart.benchmark.job import Job, SuiteSource, setup_of
from headstart.benchmark.methods import Method, chosen
from headstart.benchmark.metrics import LEAST_STD, LEVELS
from headstart.benchmark.parquet import read_columns, write_columns
from headstart.benchmark.runner import is_done
from headstart.benchmark.settings import RunSettings, named_rng, usual_settings
from headstart.benchmark.store import STAMP, Stamp, file_name, stamp_of
from headstart.experiments.frame import CsvTable, Findings, Recipe, Row, Work
from headstart.optimizer.suggestion import PoolDomain
from headstart.processes import Report, Workers
from headstart.protocols import InvertsResponse

METHODS = ("gp", "gp-se", "prior-gp", "tst-r", "rgpe", "scaml-gp")
SIZES = (5, 10, 20)
EVALUATED = 100
REPETITIONS = 100


@dataclass(frozen=True)
class _Density:
    """The repetitions of one method on one task."""

    job: Job
    repetitions: int
    file: Path

    @property
    def stamp(self) -> Stamp:
        """What the file depends on."""
        known = self.job.stamp
        return replace(known, settings={**known.settings, "repetitions": str(self.repetitions)})

    def run(self, report: Report) -> None:
        """Write mean negative log density and coverages for every size and repetition."""
        densities, coverages, sizes = densities_of(self.job, self.repetitions)
        columns = {"size": sizes, "density": densities, **{f"covered{k}": coverages[:, k] for k in range(len(LEVELS))}}
        write_columns(self.file, columns, {STAMP: self.stamp.text})
        report("run", None)


def densities_of(job: Job, repetitions: int) -> tuple[Array, Array, Array]:
    """Return densities [r], coverages [r, levels] and sizes [r] for all sizes and repetitions.

    A posterior in units that are no linear function of the responses counts as normal: its median is the mean, half the
    distance between its mean minus and plus one deviation, as responses, the deviation.
    """
    setup, problem = setup_of(job)
    domain = setup.domain
    assert isinstance(domain, PoolDomain)
    low, high = problem.bounds
    width = high - low if high > low else 1.0
    y = np.asarray(problem.y, dtype=np.float64)
    densities: list[float] = []
    coverages: list[list[float]] = []
    sizes: list[float] = []
    for size in SIZES:
        if len(problem.y) <= size:
            continue
        for repetition in range(repetitions):
            rng = named_rng("density", problem.space, problem.name, size, repetition)
            places = rng.permutation(len(problem.y))
            seen, asked = places[:size], places[size : size + EVALUATED]
            features = domain.features
            data = setup.task_data(problem.x[seen], y[seen], None if features is None else features[seen])
            posterior = setup.surrogate.fit(data, rng=rng)
            prediction = posterior.predict(problem.x[asked], features=None if features is None else features[asked])
            mean, std = prediction.mean, prediction.noisy_std
            if isinstance(posterior, InvertsResponse):
                below, mean, above = map(posterior.to_response, (mean - std, mean, mean + std))
                std = (above - below) / 2
            spread = np.maximum(std / width, LEAST_STD)
            z: Array = np.abs(y[asked] - mean) / (width * spread)
            density: Array = 0.5 * np.square(z) + np.log(spread) + 0.5 * np.log(2 * np.pi)
            densities.append(float(density.mean()))
            coverages.append([float(np.mean(z <= ndtri(0.5 + 0.5 * level))) for level in LEVELS])
            sizes.append(float(size))
    return np.array(densities), np.array(coverages).reshape(-1, len(LEVELS)), np.array(sizes)


def find(work: Work) -> Findings:
    """Return density and coverage per space, method and number of observations."""
    repetitions = 2 if work.smoke else work.seeds or REPETITIONS
    settings = usual_settings(work.suite)
    names = work.methods or (METHODS if not work.smoke else ("gp", "prior-gp"))
    methods = chosen(names, settings)
    spaces = work.suite.spaces[:1] if work.smoke else work.suite.spaces
    jobs = [
        _job(work, method, space.name, problem.name, settings, repetitions)
        for space in spaces
        for method in methods
        for problem in space.targets(settings.tasks)
    ]
    missing = [job for job in jobs if not is_done(job.file, job.stamp, work.on_change, work.out)]
    work.listener.begin("run", len(missing))
    if missing:
        with Workers(work.jobs) as workers:
            workers.run(missing, lambda kind, _: work.listener.step(kind))
    table = _table(jobs, [method.name for method in methods])
    return Findings(
        table=table,
        words=(
            f"Spaces: {len(spaces)}. {repetitions} repetitions of every task, {EVALUATED} responses each, or all that "
            "a pool has. nll: mean negative log density, smaller is better; a slope above 0 says that more data made "
            "predictions worse.",
            _worse(table),
        ),
        shown={"Mean over spaces": _means(table)},
    )


def _job(work: Work, method: Method, space: str, task: str, settings: RunSettings, repetitions: int) -> _Density:
    source: SuiteSource = work.source
    stamp = stamp_of(work.suite, settings, method)
    job = Job(source, settings, method, space, task, (), work.out / "runs", stamp)
    file = work.out / "densities" / file_name(method.name) / file_name(space) / f"{file_name(task)}.parquet"
    return _Density(job, repetitions, file)


COLUMNS = ("method", "space", "observations", "nll", "nll_sd", "slope", "covered_50", "covered_80", "covered_95")


def _table(jobs: Sequence[_Density], methods: Sequence[str]) -> CsvTable:
    rows: list[Row] = []
    for method in methods:
        for space in dict.fromkeys(job.job.space for job in jobs):
            columns = [read_columns(j.file) for j in jobs if (j.job.method.name, j.job.space) == (method, space)]
            size, density = (np.concatenate([part[name] for part in columns]) for name in ("size", "density"))
            covered = [np.concatenate([part[f"covered{k}"] for part in columns]) for k in range(len(LEVELS))]
            known = [t for t in SIZES if (size == t).any()]
            means = [float(density[size == t].mean()) for t in known]
            slope = _slope([(part["size"], part["density"]) for part in columns])
            for t, mean in zip(known, means, strict=True):
                here = size == t
                shares = [float(one[here].mean()) for one in covered]
                rows.append((method, space, t, mean, float(density[here].std()), slope, *shares))
    return CsvTable(COLUMNS, tuple(rows))


def _slope(tasks: Sequence[tuple[Array, Array]]) -> float:
    """Return the slope of density over size; NaN without tasks of all sizes.

    A pool too small for the largest size is left out: else other tasks would stand at the one end than at the other.
    """
    whole = [(size, density) for size, density in tasks if set(SIZES) <= set(size)]
    if not whole:
        return float("nan")
    sizes, densities = (np.concatenate([task[k] for task in whole]) for k in (0, 1))
    return float(np.polyfit(sizes, densities, 1)[0])


def _means(table: CsvTable) -> CsvTable:
    """Return the mean over spaces of every method and size."""
    rows: list[Row] = []
    for method, t in dict.fromkeys((row[0], row[2]) for row in table.rows):
        some = [row for row in table.rows if (row[0], row[2]) == (method, t)]
        numbers = [float(np.mean([float(row[k]) for row in some])) for k in (3, 5, 6, 7, 8)]
        rows.append((method, t, *numbers))
    return CsvTable(("method", "observations", "nll", "slope", *COLUMNS[6:]), tuple(rows))


def _worse(table: CsvTable) -> str:
    found: dict[str, list[str]] = {}
    for row in table.rows:
        if float(row[5]) > 0 and str(row[1]) not in found.setdefault(str(row[0]), []):
            found[str(row[0])].append(str(row[1]))
    words = [f"{method}: {', '.join(spaces)}" for method, spaces in found.items() if spaces]
    return f"Spaces in which more observations made the density worse: {'; '.join(words) or 'none'}."


CALIBRATION = Recipe(
    name="calibration",
    title="DKLM, table 1: density of predictions against the number of observations",
    claim="More observations make predictions better (DKLM, table 1; its own figures get worse in six of 16 spaces).",
    needs="any suite with past tasks",
    find=find,
)
