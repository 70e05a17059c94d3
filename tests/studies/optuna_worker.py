"""Runs one sampler of Optuna on one objective; needs Optuna's own environment. Prints one curve per seed as JSON."""

# ruff: noqa: T201 - a script talks on the terminal

import argparse
import json
import time
import warnings
from typing import Any

import optuna
from objectives import OBJECTIVES


def suggested(name: str, trial: "optuna.Trial") -> dict[str, Any]:
    if name == "branin":
        return {"x": trial.suggest_float("x", -5, 10), "y": trial.suggest_float("y", 0, 15)}
    if name == "hartmann6":
        return {f"x{j}": trial.suggest_float(f"x{j}", 0, 1) for j in range(6)}
    family = trial.suggest_categorical("family", ["svm", "forest", "linear"])
    config: dict[str, Any] = {"family": family, "scaling": trial.suggest_categorical("scaling", ["none", "standard"])}
    if family == "svm":
        config["C"] = trial.suggest_float("C", 1e-3, 1e3, log=True)
        config["gamma"] = trial.suggest_float("gamma", 1e-4, 1e1, log=True)
    elif family == "forest":
        config["depth"] = trial.suggest_int("depth", 1, 64, log=True)
        config["features"] = trial.suggest_float("features", 0.1, 1.0)
    else:
        config["penalty"] = trial.suggest_float("penalty", 1e-4, 1e2, log=True)
    return config


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("sampler", choices=["tpe", "gp-sampler"])
    parser.add_argument("objective", choices=list(OBJECTIVES))
    parser.add_argument("seeds", type=int)
    parser.add_argument("trials", type=int)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    function, _ = OBJECTIVES[arguments.objective]
    samplers = {"tpe": optuna.samplers.TPESampler, "gp-sampler": optuna.samplers.GPSampler}
    for seed in range(arguments.seeds):
        study = optuna.create_study(sampler=samplers[arguments.sampler](seed=seed))
        began = time.process_time()
        study.optimize(lambda trial: function(suggested(arguments.objective, trial)), n_trials=arguments.trials)
        values = [trial.value for trial in study.trials]
        print(json.dumps({"seed": seed, "values": values, "cpu_seconds": time.process_time() - began}), flush=True)


if __name__ == "__main__":
    main()
