"""What past tasks are worth: first proposals, and past tasks that mislead."""

from typing import Any

import numpy as np
import pytest

from headstart import MetaDataset, Optimizer, Space, TaskData
from headstart.space import Config
from headstart.surrogates import GaussianProcess, PriorGP
from problems import MIXED, PLANE, bowl, mixed, past_of, played

FIRST_PROPOSAL = 0.02
"""How much worse than the best the first proposal may be, as a share of the objective's range."""


def range_of(space: Space, objective: Any) -> tuple[float, float]:
    values = [objective(config) for config in space.sample(20_000, rng=np.random.default_rng(0))]
    return min(values), max(values)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize(("space", "objective"), [(PLANE, bowl), (MIXED, mixed)], ids=["smooth", "mixed"])
def test_the_first_proposal_is_near_the_optimum_that_past_tasks_share(
    space: Space, objective: Any, direction: Any
) -> None:
    """Six past tasks of forty random points each."""
    sign = 1.0 if direction == "minimize" else -1.0
    _, worst = range_of(space, objective)
    losses: list[float] = []
    for seed in range(3):
        optimizer = Optimizer(space, past=past_of(space, objective), direction=direction, seed=seed)
        trial = optimizer.ask()
        assert trial.origin == "prior-gp"
        losses.append(objective(trial.config) / worst)  # the best is 0
        optimizer.tell(trial, sign * objective(trial.config))
    assert max(losses) <= FIRST_PROPOSAL


def misled(space: Space, objective: Any, how: str) -> MetaDataset:
    if how == "negated":
        return past_of(space, objective, sign=1.0)
    rng, past = np.random.default_rng(5), past_of(space, objective)
    return MetaDataset(tuple(TaskData(t.x, rng.permutation(t.y), t.columns, name=t.name) for t in past.tasks))


@pytest.mark.parametrize("how", ["negated", "permuted"])
@pytest.mark.parametrize(("space", "objective"), [(PLANE, bowl), (MIXED, mixed)], ids=["smooth", "mixed"])
def test_misleading_past_tasks_do_no_lasting_harm(space: Space, objective: Any, how: str) -> None:
    method = PriorGP(trees=20, gate=GaussianProcess(restarts=0))
    optimizer = Optimizer(space, method=method, past=misled(space, objective, how), seed=0)
    configs = played(optimizer, objective, 20)
    assert len({space.key(config) for config in configs}) == 20
    _, worst = range_of(space, objective)
    assert (optimizer.best.value or 0.0) / worst < 0.05


def test_past_tasks_of_other_columns_are_refused_when_the_optimizer_is_made() -> None:
    from headstart.errors import DataError

    with pytest.raises(DataError, match="the past tasks have 7 columns, this task has 2"):
        Optimizer(PLANE, past=past_of(MIXED, mixed, tasks=1, rows=3))


def test_a_past_without_any_use_is_no_past() -> None:
    flat = TaskData(np.random.default_rng(0).random((5, 2)), np.ones(5))
    optimizer = Optimizer(PLANE, past=MetaDataset((flat,)), seed=0)
    assert optimizer.method == "gp"
    assert optimizer.ask().origin == "sobol"


def test_a_method_without_transfer_ignores_the_past() -> None:
    def sequence(**more: Any) -> list[Config]:
        return played(Optimizer(PLANE, method=GaussianProcess(restarts=0), seed=0, **more), bowl, 7)

    assert sequence(past=past_of(PLANE, bowl, tasks=2))[:5] == sequence()[:5]
