"""CPU milliseconds of one ``ask()`` with 40 past tasks of 300 observations and 20 told trials.

    python tests/speed/ask.py

Medians of several asks; a pool of 1,000 rows, and a Space of six parameters. The plain Gaussian process is beside it.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from headstart import Categorical, Float, Int, Optimizer, Space, Trial
from headstart.arrays import Array
from headstart.data import MetaDataset, TaskData
from headstart.encoding import Encoding

SPACE = Space(
    Float("a", 1e-4, 1.0, log=True),
    Float("b", 0.0, 1.0),
    Float("c", 0.0, 1.0),
    Int("d", 1, 64, log=True),
    Int("e", 1, 10),
    Categorical("f", ["x", "y", "z"]),
)


def response(x: Array, task: int) -> Array:
    centre = 0.5 + 0.2 * np.sin(task + np.arange(x.shape[1]))
    return -((x - centre) ** 2).sum(axis=1)


def milliseconds(optimizer: Optimizer, value: Callable[[Trial], float], asks: int) -> tuple[float, float]:
    """Return the median of one ask, and what the first one cost, which learns from the past."""
    began = time.process_time()
    trial = optimizer.ask()
    first = time.process_time() - began
    optimizer.tell(trial, value(trial))
    while len(optimizer.trials) < 20:
        trial = optimizer.ask()
        optimizer.tell(trial, value(trial))
    costs: list[float] = []
    for _ in range(asks):
        began = time.process_time()
        trial = optimizer.ask()
        costs.append(time.process_time() - began)
        optimizer.abandon(trial)
    return 1000 * float(np.median(costs)), 1000 * first


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--asks", type=int, default=9)
    asks = parser.parse_args().asks
    rng = np.random.default_rng(0)
    encoding = Encoding(SPACE)
    x = [encoding.encode(SPACE.sample(300, rng=rng)) for _ in range(40)]
    past = MetaDataset(
        tuple(TaskData(rows, response(rows, t), encoding.columns, name=f"{t}") for t, rows in enumerate(x))
    )
    pool = rng.random((1000, 6))
    pool_rows = [pool[rng.choice(1000, 300, replace=False)] for _ in range(40)]
    pool_past = MetaDataset(tuple(TaskData(rows, response(rows, t)) for t, rows in enumerate(pool_rows)))

    def in_pool(trial: Trial) -> float:
        return -float(response(pool[[trial.row or 0]], 40)[0])

    def in_space(trial: Trial) -> float:
        return -float(response(encoding.encode([trial.config]), 40)[0])

    print(f"{'':<32}{'one ask':>10}{'the first':>12}   CPU ms")
    for name, optimizer in {
        "pool of 1,000, prior-gp": Optimizer(pool=pool, past=pool_past, seed=0),
        "pool of 1,000, gp": Optimizer(pool=pool, method="gp", seed=0),
        "Space of six, prior-gp": Optimizer(SPACE, past=past, seed=0),
        "Space of six, gp": Optimizer(SPACE, method="gp", seed=0),
    }.items():
        one, first = milliseconds(optimizer, in_pool if name.startswith("pool") else in_space, asks)
        print(f"{name:<32}{one:>10.1f}{first:>12.0f}")


if __name__ == "__main__":
    main()
