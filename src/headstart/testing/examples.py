"""Tasks with known answers for the checks: rows, responses, and past tasks that share an optimum."""

import numpy as np

from headstart.arrays import Array
from headstart.data import MetaDataset, TaskData
from headstart.encoding import Columns

OPTIMUM, PESSIMUM, WIDTH = 0.3, 0.75, 0.2
"""Where the objective is largest and smallest (nearly) in every column, and how wide hill and valley are."""
SEED = 20_250


def objective(x: Array) -> Array:
    """Return [n], from about -1 to 1: a hill and, mirrored, a valley; both inside, so that neither end is easier."""
    hill = np.exp(-0.5 * np.square((x - OPTIMUM) / WIDTH))
    valley = np.exp(-0.5 * np.square((x - PESSIMUM) / WIDTH))
    return (hill - valley).mean(axis=1)


def columns_of(d: int) -> Columns:
    """Return ``d`` columns: numbers; from five on also a choice of three and an indicator."""
    if d < 5:
        return Columns.numeric(d)
    plain = Columns.numeric(d - 4)
    # the indicator says whether the last number applies
    kinds = (*plain.kinds, "one-hot", "one-hot", "one-hot", "indicator")
    return Columns(kinds, (*plain.groups, d - 4, d - 4, d - 4, d - 5))


def rows(n: int, d: int, seed: int = 0) -> Array:
    """Return [n, d] random rows that obey ``columns_of``: one member per choice, absent means 0."""
    rng = np.random.default_rng([SEED, seed, n, d])
    x = rng.random((n, d))
    if d >= 5:
        x[:, d - 4 : d - 1] = np.eye(3)[rng.integers(3, size=n)]
        x[:, d - 1] = rng.integers(2, size=n)
        x[x[:, d - 1] == 1.0, d - 5] = 0.0
    return x


def task(n: int, d: int, seed: int = 0, *, sign: float = 1.0) -> TaskData:
    """Return the target: ``n`` rows with the objective times ``sign``."""
    x = rows(n, d, seed)
    return with_responses(x, sign * objective(x))


def with_responses(x: Array, y: Array, name: str = "target") -> TaskData:
    """Return rows with responses, Columns and three descriptors, for methods that need them."""
    return TaskData(x, y, columns=columns_of(x.shape[1]), name=name, metafeatures=np.array([0.5, 0.1, 0.9]))


def past_tasks(d: int, *, sign: float = 1.0, tasks: int = 6, n: int = 40) -> MetaDataset:
    """Return past tasks whose objective, times ``sign``, has the target's optimum but units of its own."""
    rng = np.random.default_rng([SEED, d, tasks])
    found: list[TaskData] = []
    for t in range(tasks):
        x = rows(n, d, 1000 + t)
        level, unit = rng.normal(), float(rng.uniform(0.5, 2.0))
        y = level + unit * sign * objective(x) * (1.0 + 0.1 * rng.normal())
        found.append(
            TaskData(x, y, columns=columns_of(d), name=f"past-{t}", metafeatures=np.array([0.5, 0.1, 0.9]) + 0.01 * t)
        )
    return MetaDataset(tuple(found), columns=columns_of(d), reference=rows(100, d, 2000))
