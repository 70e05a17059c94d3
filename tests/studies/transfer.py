"""What a helpful past gives to the very first proposal, and what a misleading one costs.

    python tests/studies/transfer.py
    python tests/studies/transfer.py --smoke

Six past tasks of 40 random configurations share their optimum with the task at hand, but not level, scale or the rest
of their shape. First table: how far the first proposal's value is from the best one, as a share of the range of values.
Second table: the past's values negated, or permuted among its configurations; regret after 25 trials as a share of the
range, beside the plain Gaussian process without any past.
"""

# ruff: noqa: T201 - a script talks on the terminal

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import headstart
from headstart import Categorical, Config, Float, Int, Optimizer, Space
from headstart.arrays import Rng
from headstart.data import Direction, MetaDataset, TaskData
from headstart.encoding import Encoding

PAST_TASKS, PAST_ROWS = 6, 40


@dataclass(frozen=True)
class Objective:
    """Larger is better; the best value is 1."""

    space: Space
    value: Callable[[Config, np.ndarray], float]
    """Of a configuration and the weights of a task; every weight leaves the optimum where it is."""
    weights: int


def _bowl(far: float) -> float:
    return 1.0 - far


def _peak(far: float) -> float:
    """Return a value that is near 0 nearly everywhere: what is far from the best says nothing about where it is."""
    return float(np.exp(-8.0 * far))


def _smooth(shape: Callable[[float], float]) -> Objective:
    def value(config: Config, weights: np.ndarray) -> float:
        a, b = float(config["a"] or 0.0), float(config["b"] or 0.0)
        return shape(weights[0] * (a - 0.3) ** 2 + weights[1] * (b - 0.6) ** 2)

    return Objective(Space(Float("a", 0, 1), Float("b", 0, 1)), value, 2)


def _mixed(shape: Callable[[float], float]) -> Objective:
    """Return an objective of which a choice takes three parameters away; it is never best."""
    space = Space(
        Categorical("kernel", ["rbf", "linear"]),
        Float("C", 1e-3, 1e3, log=True),
        Float("gamma", 1e-5, 1e1, log=True, when={"kernel": "rbf"}),
        Int("depth", 1, 10, when={"kernel": "rbf"}),
    )

    def value(config: Config, weights: np.ndarray) -> float:
        c = (np.log10(float(config["C"] or 1.0)) - 1.0) / 6
        if config["kernel"] == "linear":
            return shape(0.15 + weights[0] * c**2)
        gamma, depth = (np.log10(float(config["gamma"] or 1.0)) + 2.0) / 6, (int(config["depth"] or 0) - 4) / 9
        return shape(weights[0] * c**2 + weights[1] * gamma**2 + weights[2] * depth**2)

    return Objective(space, value, 3)


OBJECTIVES = {
    "bowl, 2 parameters": _smooth(_bowl),
    "bowl, 4 mixed": _mixed(_bowl),
    "peak, 2 parameters": _smooth(_peak),
    "peak, 4 mixed": _mixed(_peak),
}


def past_of(objective: Objective, kind: str, rng: Rng) -> MetaDataset:
    """Return past tasks, larger is better."""
    encoding = Encoding(objective.space)
    tasks: list[TaskData] = []
    for place in range(PAST_TASKS):
        configs = objective.space.sample(PAST_ROWS, rng=rng)
        weights = rng.uniform(0.5, 2.0, objective.weights)
        level, scale = rng.normal(), rng.uniform(0.5, 3.0)
        y = np.array([level + scale * objective.value(config, weights) for config in configs])
        y = -y if kind == "negated" else rng.permutation(y) if kind == "permuted" else y
        tasks.append(TaskData(encoding.encode(configs), y, encoding.columns, name=f"past {place}"))
    return MetaDataset(tuple(tasks))


def regret_after(
    trials: int, objective: Objective, direction: Direction, kind: str | None, seed: int
) -> tuple[float, float]:
    """Return regret as a share of the range, and CPU seconds."""
    rng = np.random.default_rng([seed, 99])
    weights = rng.uniform(0.5, 2.0, objective.weights)
    past = None if kind is None else past_of(objective, kind, rng)
    sign = 1.0 if direction == "maximize" else -1.0
    optimizer = Optimizer(objective.space, direction=direction, past=past, seed=seed)
    began = time.process_time()
    best = optimizer.optimize(lambda config: sign * objective.value(config, weights), n_trials=trials)
    assert best.value is not None
    spread = objective.space.sample(4000, rng=np.random.default_rng(0))
    worst = min(objective.value(config, weights) for config in spread)
    return (1.0 - sign * best.value) / (1.0 - worst), time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=25)
    parser.add_argument("--smoke", action="store_true", help="two seeds, ten trials")
    arguments = parser.parse_args()
    seeds, trials = (2, 10) if arguments.smoke else (arguments.seeds, arguments.trials)
    print(f"headstart {headstart.__version__}, {seeds} seeds")
    print("\nFirst proposal: distance to the best value, share of the range (median, worst)")
    for name, objective in OBJECTIVES.items():
        for direction in ("minimize", "maximize"):
            found = [regret_after(1, objective, direction, "helpful", seed)[0] for seed in range(seeds)]
            print(f"{name:<22} {direction:<10} {np.median(found):>8.4f} {max(found):>8.4f}", flush=True)
    print(f"\nRegret after {trials} trials, share of the range (median; CPU ms a trial)")
    for name, objective in OBJECTIVES.items():
        for kind in (None, "helpful", "negated", "permuted"):
            runs = [regret_after(trials, objective, "minimize", kind, seed) for seed in range(seeds)]
            median = np.median([regret for regret, _ in runs])
            cost = 1000 * sum(seconds for _, seconds in runs) / (len(runs) * trials)
            print(f"{name:<22} {kind or 'no past (gp)':<14} {median:>8.4f} {cost:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
