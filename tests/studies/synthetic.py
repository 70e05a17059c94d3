"""Regret on Branin, Hartmann-6 and a conditional mixed toy, beside Optuna's samplers in the same run.

    python tests/studies/synthetic.py --optuna PATH/TO/AN/ENVIRONMENT/bin/python
    python tests/studies/synthetic.py --smoke

Optuna (and the torch that its GPSampler needs) live in an environment of their own; without ``--optuna`` its rows are
left out. Printed is the median over seeds of the regret after the last trial, with the quartiles.
"""

# ruff: noqa: T201 - a script talks on the terminal

import argparse
import json
import subprocess
import time
from pathlib import Path
from statistics import quantiles

from objectives import OBJECTIVES

import headstart
from headstart import Categorical, Float, Int, Optimizer, Space

SPACES = {
    "branin": Space(Float("x", -5, 10), Float("y", 0, 15)),
    "hartmann6": Space(*(Float(f"x{j}", 0, 1) for j in range(6))),
    "mixed": Space(
        Categorical("family", ["svm", "forest", "linear"]),
        Categorical("scaling", ["none", "standard"]),
        Float("C", 1e-3, 1e3, log=True, when={"family": "svm"}),
        Float("gamma", 1e-4, 1e1, log=True, when={"family": "svm"}),
        Int("depth", 1, 64, log=True, when={"family": "forest"}),
        Float("features", 0.1, 1.0, when={"family": "forest"}),
        Float("penalty", 1e-4, 1e2, log=True, when={"family": "linear"}),
    ),
}
OURS = ("gp", "rf", "random")
OPTUNAS = ("gp-sampler", "tpe")


def our_regrets(objective: str, method: str, seeds: int, trials: int) -> tuple[list[float], float]:
    function, optimum = OBJECTIVES[objective]
    began, regrets = time.process_time(), []
    for seed in range(seeds):
        best = Optimizer(SPACES[objective], method=method, seed=seed).optimize(function, n_trials=trials)
        assert best.value is not None
        regrets.append(best.value - optimum)
    return regrets, (time.process_time() - began) / (seeds * trials)


def optunas_regrets(python: str, objective: str, method: str, seeds: int, trials: int) -> tuple[list[float], float]:
    worker = Path(__file__).with_name("optuna_worker.py")
    command = [python, str(worker), method, objective, str(seeds), str(trials)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    runs = [json.loads(line) for line in printed.splitlines()]
    optimum = OBJECTIVES[objective][1]
    regrets = [min(run["values"]) - optimum for run in runs]
    return regrets, sum(run["cpu_seconds"] for run in runs) / (seeds * trials)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--optuna", help="Python of an environment with optuna, scipy and torch")
    parser.add_argument("--objectives", nargs="+", choices=list(OBJECTIVES), default=list(OBJECTIVES))
    parser.add_argument("--methods", nargs="+", choices=OURS, default=OURS)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--smoke", action="store_true", help="two seeds, eight trials")
    arguments = parser.parse_args()
    seeds, trials = (2, 8) if arguments.smoke else (arguments.seeds, arguments.trials)
    print(f"headstart {headstart.__version__}: regret after {trials} trials, {seeds} seeds")
    print(f"{'objective':<10} {'method':<11} {'median':>10} {'quartiles':>23} {'CPU ms/trial':>13}")
    for objective in arguments.objectives:
        for method in (*arguments.methods, *(OPTUNAS if arguments.optuna else ())):
            if method in OURS:
                regrets, seconds = our_regrets(objective, method, seeds, trials)
            else:
                regrets, seconds = optunas_regrets(arguments.optuna, objective, method, seeds, trials)
            low, middle, high = quantiles(regrets, n=4, method="inclusive")
            spread, cost = f"{low:.3g} to {high:.3g}", 1000 * seconds
            print(f"{objective:<10} {method:<11} {middle:>10.4g} {spread:>23} {cost:>13.1f}", flush=True)


if __name__ == "__main__":
    main()
