"""Spaces, objectives and past tasks that the tests of the Optimizer share."""

from collections.abc import Callable
from typing import Any

import numpy as np

from headstart import MetaDataset, Optimizer, Space, TaskData, Trial
from headstart.encoding import Encoding
from headstart.space import Categorical, Config, Float, Int

PLANE = Space(Float("x", 0.0, 1.0), Float("y", 0.0, 1.0))

MIXED = Space(
    Categorical("kernel", ["linear", "rbf", "poly"]),
    Float("C", 1e-3, 1e3, log=True),
    Float("gamma", 1e-4, 1e1, log=True, when={"kernel": ["rbf", "poly"]}),
    Int("depth", 1, 10),
)

SMALL = Space(Int("a", 0, 3), Categorical("b", ["u", "v", "w"]))


def bowl(config: Config) -> float:
    """Smallest, 0, at x = 0.3, y = 0.6; at most 0.85."""
    return (number(config, "x") - 0.3) ** 2 + (number(config, "y") - 0.6) ** 2


def mixed(config: Config) -> float:
    """Smallest, 0, for kernel = rbf, C = 10, gamma = 0.01, depth = 6; at most about 5."""
    loss = {"rbf": 0.0, "poly": 0.5, "linear": 1.0}[str(config["kernel"])]
    loss += ((np.log10(number(config, "C")) - 1.0) / 4.0) ** 2 + ((number(config, "depth") - 6) / 5.0) ** 2
    return loss + (((np.log10(number(config, "gamma")) + 2.0) / 3.0) ** 2 if "gamma" in config else 1.0)


def number(config: Config, name: str) -> float:
    value = config[name]
    assert isinstance(value, int | float)
    return float(value)


def played(optimizer: Optimizer, objective: Callable[[Config], Any], n: int) -> list[Config]:
    """Ask, evaluate and tell ``n`` times; return the configurations."""
    configs: list[Config] = []
    for _ in range(n):
        trial = optimizer.ask()
        optimizer.tell(trial, objective(trial.config))
        configs.append(trial.config)
    return configs


def past_of(
    space: Space, objective: Callable[[Config], float], *, tasks: int = 6, rows: int = 40, sign: float = -1.0
) -> MetaDataset:
    """Return past tasks of ``rows`` random points each, of shifted and scaled copies of one objective.

    Args:
        space: Theirs.
        objective: Smaller is better.
        tasks: How many.
        rows: Observations of each.
        sign: -1 turns values into larger is better; 1 gives tasks whose best is the objective's worst.
    """
    rng, encoding = np.random.default_rng(11), Encoding(space)
    past: list[TaskData] = []
    for t in range(tasks):
        configs = space.sample(rows, rng=rng)
        values = np.array([objective(config) for config in configs])
        scale, shift = rng.uniform(0.5, 2.0), rng.normal()
        past.append(
            TaskData(encoding.encode(configs), sign * (shift + scale * values), encoding.columns, name=f"past {t}")
        )
    return MetaDataset(tuple(past), encoding.columns)


def configs_of(trials: list[Trial]) -> list[Config]:
    return [trial.config for trial in trials]
