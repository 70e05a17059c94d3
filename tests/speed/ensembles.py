"""CPU milliseconds and memory of a suggestion, by the number of past tasks, for every method that keeps one model each.

    python tests/speed/ensembles.py [--tasks 10,100,1000] [--methods tst-r,rgpe] [--repeats 9]

Past tasks of 100 observations each, 20 observations of the new one, a pool of 1,000 rows of six columns. "learning" is
pre-training; "pool" what past tasks say of all rows of the pool, computed once; "first" the first suggestion, that
included; "later" the median of the others: fit and score. "MB" is the peak memory of a process that does nothing else,
"past" what it grew by since it had the past tasks and everything was imported. Every cell is a process of its own,
after one suggestion with two past tasks that is not counted; BLAS on one thread.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from headstart.arrays import Array, Rng
from headstart.benchmark.methods import chosen
from headstart.benchmark.settings import RunSettings
from headstart.data import MetaDataset, TaskData
from headstart.encoding import Columns
from headstart.initial_designs import Sobol
from headstart.optimizer.loop import one_thread
from headstart.optimizer.suggestion import History, PoolDomain, Setup, fitted, next_by_model
from headstart.protocols import SupportsFeatures, SupportsPretraining, Surrogate

METHODS = ("tst-r", "tst-m", "taf-r", "rgpe", "scaml-gp", "prior-gp", "gp")
TASKS = (10, 100, 1000)
ROWS, OBSERVED, POOL, COLUMNS = 100, 20, 1000, 6


@dataclass(frozen=True)
class Cell:
    """What one process found."""

    method: str
    tasks: int
    learning: float
    """CPU milliseconds, as the three below."""
    pool: float
    first: float
    later: float
    megabytes: float
    growth: float
    """Megabytes."""


def centre(task: int) -> Array:
    """Return where the hill of a task lies; it also describes the task."""
    return 0.5 + 0.2 * np.sin(task + np.arange(COLUMNS))


def response(x: Array, task: int) -> Array:
    return 1.0 - ((x - centre(task)) ** 2).sum(axis=1) / COLUMNS


def past_tasks(count: int, pool: Array, rng: Rng) -> MetaDataset:
    x = [rng.random((ROWS, COLUMNS)) for _ in range(count)]
    tasks = [TaskData(rows, response(rows, t), name=f"past {t}", metafeatures=centre(t)) for t, rows in enumerate(x)]
    return MetaDataset(tuple(tasks), reference=pool)


def costs_of(surrogate: Surrogate, past: MetaDataset, pool: Array, repeats: int) -> tuple[float, float, list[float]]:
    """Return the CPU milliseconds of learning, of the pool, and of every suggestion."""
    new, seen = len(past), tuple(range(OBSERVED))
    nothing = np.empty((0, COLUMNS))
    history = History(pool[:OBSERVED], response(pool[:OBSERVED], new), nothing, seen, (), nothing, frozenset(), seen)
    times = [time.process_time()]
    if isinstance(surrogate, SupportsPretraining):
        surrogate = surrogate.pretrain(past, rng=np.random.default_rng(0))
    times.append(time.process_time())
    features = surrogate.features(pool) if isinstance(surrogate, SupportsFeatures) else None
    times.append(time.process_time())
    domain = PoolDomain(pool, Columns.numeric(COLUMNS), np.ones(len(pool), dtype=np.bool_), features)
    setup = Setup(surrogate, surrogate.acquisition, Sobol(), 0, domain, None, centre(new))
    for call in range(repeats + 1):
        own = np.random.default_rng(call)
        next_by_model(setup, fitted(setup, history, rng=own), history, rng=own)
        times.append(time.process_time())
    learning, features_cost, *suggestions = (1000 * np.diff(times)).tolist()
    return learning, features_cost, suggestions


def measured(name: str, tasks: int, repeats: int) -> Cell:
    """Return what a method costs, in this process."""
    rng = np.random.default_rng(0)
    (method,) = chosen([name], RunSettings())
    pool = rng.random((POOL, COLUMNS))
    past = past_tasks(tasks, pool, rng)
    costs_of(method.surrogate, past_tasks(2, pool[:50], rng), pool[:50], 0)  # imports, and what is set up once
    before = peak_megabytes()
    learning, features, (first, *later) = costs_of(method.surrogate, past, pool, repeats)
    peak = peak_megabytes()
    return Cell(name, tasks, learning, features, features + first, float(np.median(later)), peak, peak - before)


def peak_megabytes() -> float:
    """Return the most memory that this process ever had."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike getrusage, it does not count what the parent held
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def of_fresh_process(name: str, tasks: int, repeats: int) -> Cell:
    command = [sys.executable, __file__, "--cell", "--methods", name, "--tasks", str(tasks), "--repeats", str(repeats)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return Cell(**json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tasks", default=",".join(map(str, TASKS)), help="numbers of past tasks")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--repeats", type=int, default=9, help="later calls of each cell")
    parser.add_argument("--cell", action="store_true", help="measure one cell in this process and print it as JSON")
    arguments = parser.parse_args()
    tasks = [int(number) for number in arguments.tasks.split(",")]
    methods = arguments.methods.split(",")
    chosen(methods, RunSettings())  # says which name is wrong before anything is measured
    if arguments.cell:
        with one_thread():
            print(json.dumps(asdict(measured(methods[0], tasks[0], arguments.repeats))))
        return
    print(f"{'':<14}{'tasks':>6}{'learning':>11}{'pool':>8}{'first':>8}{'later':>8}{'MB':>7}{'past':>6}")
    for number in tasks:
        for name in methods:
            cell = of_fresh_process(name, number, arguments.repeats)
            times = f"{cell.learning:>11.0f}{cell.pool:>8.1f}{cell.first:>8.1f}{cell.later:>8.1f}"
            print(f"{name:<14}{number:>6}{times}{cell.megabytes:>7.0f}{cell.growth:>6.0f}", flush=True)


if __name__ == "__main__":
    main()
