"""CPU milliseconds of one PriorGP suggestion: 40 past tasks of 300 rows, a pool of 1,000, features known.

HEADSTART_SPEED=1 pytest tests/speed -s
"""

import os
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from headstart.data import MetaDataset, TaskData
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.prior_gp import PriorGP

pytestmark = pytest.mark.skipif(
    os.environ.get("HEADSTART_SPEED") != "1", reason="timings are asked for with HEADSTART_SPEED=1"
)

COLUMNS = 6


def a_task(seed: int, n: int) -> TaskData:
    rng = np.random.default_rng(seed)
    x = rng.random((n, COLUMNS))
    return TaskData(x, -((x - rng.uniform(0.2, 0.5, COLUMNS)) ** 2).sum(axis=1) + 0.05 * rng.normal(size=n))


@pytest.fixture(scope="module")
def pretrained() -> PriorGP:
    past = MetaDataset(tuple(a_task(seed, 300) for seed in range(40)))
    return PriorGP(source="forest").pretrain(past, rng=np.random.default_rng(0))


@pytest.mark.parametrize(("n", "limit"), [(10, 10), (50, 25), (105, 50)])
def test_suggestion_without_the_gate(pretrained: PriorGP, n: int, limit: float) -> None:
    cpu = milliseconds(PriorGP(source="forest", gate=None, past=pretrained.past), n)
    print(f"\n{n} observations, without the gate: {cpu:.1f} CPU ms")
    assert cpu < limit


@pytest.mark.parametrize(("n", "limit"), [(10, 30), (50, 80), (105, 250)])
def test_suggestion_with_the_gate(pretrained: PriorGP, n: int, limit: float) -> None:
    cpu = milliseconds(PriorGP(source="forest", gate=GaussianProcess(), past=pretrained.past), n)
    print(f"\n{n} observations, with the gate: {cpu:.1f} CPU ms")
    assert cpu < limit


def milliseconds(surrogate: PriorGP, n: int) -> float:
    data = a_task(100, n)
    data = TaskData(data.x, data.y, features=surrogate.features(data.x))
    pool = a_task(101, 1000).x
    features = surrogate.features(pool)
    spent: list[float] = []
    with threadpool_limits(1):
        for seed in range(7):
            rng = np.random.default_rng(seed)
            began = time.process_time()
            surrogate.fit(data, rng=rng).score(pool, features=features, rng=rng)
            spent.append(1000 * (time.process_time() - began))
    return float(np.median(spent))
