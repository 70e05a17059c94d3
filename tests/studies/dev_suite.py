"""Normalised regret on a directory of tasks in HPO-B's layout, by the loop of its reference driver.

Every run starts from five given rows of a task's pool and then evaluates one row per trial. Entry 0 of a regret curve
is the regret after the given rows, entry k after k trials. The regret is (best - found) / (best - worst) over the
whole pool. Figures are macro means: over the runs of each space, then over spaces.

    python tests/studies/dev_suite.py --out ~/results.jsonl --tasks test --seeds 2 --trials 50
    python tests/studies/dev_suite.py --timing

Every finished run is one line of the results file; running again does what is missing and prints the table.
"""

# ruff: noqa: T201 - a script talks on the terminal

import argparse
import hashlib
import json
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import headstart
from headstart.arrays import Array, Rng
from headstart.data import MetaDataset, TaskData
from headstart.protocols import Posterior, ScoresItself, Surrogate
from headstart.surrogates.gaussian_process import GaussianProcess
from headstart.surrogates.prior_gp import PriorGP
from headstart.surrogates.random import Random

REPOSITORY = Path(__file__).resolve().parents[2]
DEFAULT_DATA = REPOSITORY.parent / "shared" / "data" / "dev-suite"
SPLITS = {"test": "meta-test-dataset.json", "validation": "meta-validation-dataset.json"}
METHODS: dict[str, Surrogate] = {
    "random": Random(),
    "gp": GaussianProcess(),
    "prior-gp": PriorGP(),
    "prior-gp-ungated": PriorGP(gate=None),
    "prior-gp-forest": PriorGP(source="forest"),
    "prior-gp-gp": PriorGP(source="gp"),
    "prior-gp-both": PriorGP(source="both"),
}
REPORTED_AT = (1, 5, 10, 25, 50, 100)
REFERENCE = {
    "gp": {1: 0.117, 5: 0.079, 10: 0.054, 25: 0.029, 50: 0.017, 100: 0.008},
    "prior-gp": {1: 0.104, 5: 0.072, 10: 0.053, 25: 0.023, 50: 0.009, 100: 0.005},
    "random": {1: 0.123, 5: 0.094, 10: 0.072, 25: 0.050, 50: 0.036, 100: 0.020},
}
"""Test tasks, oracle scale, 5 seeds, by an independent implementation."""
SPACES = 8
"""How many the reference covers."""
MARGINS = {1: 0.015, 5: 0.015, 10: 0.01, 25: 0.006, 50: 0.006, 100: 0.006}
"""How far two seeds may stay behind the reference."""


@dataclass(frozen=True)
class Setting:
    """What all runs of one table have in common."""

    tasks: str
    """Split that is tuned: "test" or "validation"."""
    trials: int
    scale: str
    """"oracle": lowest and highest response of every pool are known; "observed": nobody knows them."""
    past: str
    """"true", or what was done to the past's responses: "negated", "permuted"."""
    past_rows: int | None = None
    """How many random rows of its own every past task was evaluated at; None: its whole pool."""


@dataclass(frozen=True, eq=False)
class Pool:
    """A finite task."""

    space: str
    name: str
    x: Array
    y: Array

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest response."""
        return float(self.y.min()), float(self.y.max())


def load(file: Path) -> dict[str, list[Pool]]:
    """Return the pools of every space of a file in HPO-B's layout."""
    content: dict[str, dict[str, Any]] = json.loads(file.read_text())
    return {
        space: [Pool(space, name, np.array(task["X"], float), np.ravel(task["y"])) for name, task in tasks.items()]
        for space, tasks in content.items()
    }


def meta_dataset(past: list[Pool], target: Pool, setting: Setting) -> MetaDataset:
    """Return the past of one space; the target's pool stands for the Space."""
    rng = np.random.default_rng(zlib.crc32(target.space.encode()))
    tasks: list[TaskData] = []
    for pool in past:
        y = {"true": pool.y, "negated": -pool.y, "permuted": rng.permutation(pool.y)}[setting.past]
        bounds = (float(y.min()), float(y.max())) if setting.scale == "oracle" else None
        kept = rng.permutation(len(y))[: setting.past_rows]
        tasks.append(TaskData(pool.x[kept], y[kept], bounds=bounds, name=pool.name))
    return MetaDataset(tuple(tasks), reference=target.x)


def scores(surrogate: Surrogate, posterior: Posterior, x: Array, features: Array | None, rng: Rng) -> Array:
    """Return what the method thinks of every row, by its own acquisition."""
    if isinstance(posterior, ScoresItself):
        return posterior.score(x, features=features, rng=rng)
    return surrogate.acquisition(posterior.predict(x, features=features), posterior.incumbent)


def regret_curve(
    surrogate: Surrogate, target: Pool, start: list[int], setting: Setting, features: Array | None, rng: Rng
) -> list[float]:
    """Return the regret after the given rows and after each trial; ties are broken at random."""
    low, high = target.bounds
    width = high - low if high > low else 1.0
    seen = list(start)
    curve = [float(high - target.y[seen].max()) / width]
    while len(curve) <= setting.trials and curve[-1] > 0.0 and len(seen) < len(target.y):
        data = TaskData(
            target.x[seen],
            target.y[seen],
            bounds=target.bounds if setting.scale == "oracle" else None,
            name=target.name,
            features=None if features is None else features[seen],
        )
        left = np.setdiff1d(np.arange(len(target.y)), seen)
        posterior = surrogate.fit(data, rng=rng)
        score = scores(surrogate, posterior, target.x[left], None if features is None else features[left], rng)
        seen.append(int(rng.choice(left[score == score.max()])))
        curve.append(float(high - target.y[seen].max()) / width)
    return curve + [curve[-1]] * (setting.trials + 1 - len(curve))


@dataclass(frozen=True)
class Run:
    """One line of the results file, without its results."""

    method: str
    space: str
    task: str
    seed: str


class Suite:
    """The data of one directory, with pre-trained methods kept for as long as the space stays the same."""

    def __init__(self, data: Path, setting: Setting) -> None:
        self.setting = setting
        self.targets = load(data / SPLITS[setting.tasks])
        self.past = load(data / "meta-train-dataset.json")
        self.starts: dict[str, dict[str, Any]] = json.loads((data / "bo-initializations.json").read_text())
        self._prepared = lru_cache(maxsize=2 * len(METHODS))(self._prepare)

    def runs(self, methods: list[str], seeds: int, spaces: list[str] | None) -> Iterator[tuple[Run, Pool]]:
        """Yield all runs, space by space."""
        for space, targets in self.targets.items():
            if spaces is None or space in spaces:
                for target in targets:
                    for seed in range(seeds):
                        for method in methods:
                            yield Run(method, space, target.name, f"test{seed}"), target

    def execute(self, run: Run, target: Pool) -> dict[str, Any]:
        """Return the results of one run."""
        first = next(pool for pool in self.targets[run.space] if np.array_equal(pool.x, target.x))
        began = time.process_time()
        surrogate, features = self._prepared(run.method, run.space, first.name)
        prepared = time.process_time()
        rng = np.random.default_rng([zlib.crc32(part.encode()) for part in (run.space, run.task, run.seed)])
        curve = regret_curve(surrogate, target, self._start(run, target), self.setting, features, rng)
        return {
            "regret": [round(value, 10) for value in curve],
            "cpu_prepare": round(prepared - began, 3),
            "cpu_run": round(time.process_time() - prepared, 3),
        }

    def _prepare(self, method: str, space: str, task: str) -> tuple[Surrogate, Array | None]:
        surrogate = METHODS[method]
        if not isinstance(surrogate, PriorGP):
            return surrogate, None
        target = next(pool for pool in self.targets[space] if pool.name == task)
        rng = np.random.default_rng(zlib.crc32(space.encode()))
        trained = surrogate.pretrain(meta_dataset(self.past[space], target, self.setting), rng=rng)
        return trained, trained.features(target.x)

    def _start(self, run: Run, target: Pool) -> list[int]:
        given = self.starts.get(run.space, {}).get(run.seed)
        if given is None or self.setting.tasks != "test":
            rng = np.random.default_rng(zlib.crc32(f"{run.space} {run.task} {run.seed}".encode()))
            return [int(row) for row in rng.choice(len(target.y), 5, replace=False)]
        return list(given)


def library_version() -> str:
    """Return the version of headstart, with a fingerprint of its source."""
    digest = hashlib.sha256()
    for file in sorted(Path(headstart.__file__).parent.rglob("*.py")):
        digest.update(file.read_bytes())
    return f"{headstart.__version__}+{digest.hexdigest()[:8]}"


def stored(file: Path, setting: Setting) -> dict[Run, dict[str, Any]]:
    """Return the finished runs of ``setting``; a line that a crash cut short is passed over."""
    found: dict[Run, dict[str, Any]] = {}
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if {"past_rows": None, **row["setting"]} == vars(setting):
            found[Run(**row["run"])] = row
    return found


def macro(rows: list[dict[str, Any]]) -> Array:
    """Return the mean over spaces of the mean regret curve over the runs of each."""
    spaces = sorted({row["run"]["space"] for row in rows})
    return np.mean([np.mean([r["regret"] for r in rows if r["run"]["space"] == s], axis=0) for s in spaces], axis=0)


def print_table(found: dict[Run, dict[str, Any]], methods: list[str], setting: Setting) -> None:
    """Print macro regret beside the reference, over the runs that every method has finished."""
    done = {method: {replace(run, method="") for run in found if run.method == method} for method in methods}
    common = set.intersection(*done.values())
    at = [k for k in REPORTED_AT if k <= setting.trials]
    print(f"\n{len(common)} runs per method; {setting}")
    if not common:
        return
    complete = len({run.space for run in common}) == SPACES
    is_reference = complete and setting.scale == "oracle" and setting.past == "true" and setting.tasks == "test"
    is_reference = is_reference and setting.past_rows is None
    print(f"{'macro regret @':22}" + "".join(f"{k:>9}" for k in (0, *at)) + "   CPU-s per run")
    for method in methods:
        rows = [row for run, row in found.items() if run.method == method and replace(run, method="") in common]
        curve = macro(rows)
        seconds = np.mean([row["cpu_run"] for row in rows])
        print(f"{method:22}" + "".join(f"{curve[k]:9.4f}" for k in (0, *at)) + f"{seconds:10.2f}")
        if is_reference and method in REFERENCE:
            reference = REFERENCE[method]
            print(f"{'  reference':22}{'':9}" + "".join(f"{reference[k]:9.3f}" for k in at))
            if method == "prior-gp":
                verdicts = ["ok" if curve[k] <= reference[k] + MARGINS[k] else "WORSE" for k in at]
                print(f"{'  within the margin':22}{'':9}" + "".join(f"{verdict:>9}" for verdict in verdicts))
    versions = sorted({row["version"] for row in found.values()})
    print("library:", ", ".join(versions))


def per_space_table(found: dict[Run, dict[str, Any]], methods: list[str], setting: Setting) -> None:
    """Print every space's mean regret."""
    at = [k for k in REPORTED_AT if k <= setting.trials]
    for space in sorted({run.space for run in found}):
        for method in methods:
            rows = [row for run, row in found.items() if run.method == method and run.space == space]
            if rows:
                curve = macro(rows)
                print(f"{space:11}{method:18}" + "".join(f"{curve[k]:9.4f}" for k in (0, *at)) + f"  {len(rows)} runs")


def timing(data: Path) -> None:
    """Print the CPU milliseconds of one suggestion: 40 past tasks, a pool of 960, features computed beforehand."""
    setting = Setting("test", 50, "oracle", "true")
    suite = Suite(data, setting)
    target = suite.targets["oboe-rf"][0]
    print(f"CPU ms per suggestion (fit + score {len(target.y)} rows), median of 9")
    print(f"{'observations':34}" + "".join(f"{n:>9}" for n in (10, 50, 105)))
    for scale in ("oracle", "observed"):
        for label, method in (("without the gate", PriorGP(gate=None)), ("with the gate", PriorGP())):
            past = meta_dataset(suite.past["oboe-rf"], target, replace(setting, scale=scale))
            surrogate = method.pretrain(past, rng=np.random.default_rng(0))
            features = surrogate.features(target.x)
            cells: list[str] = []
            for n in (10, 50, 105):
                rows = np.random.default_rng(1).permutation(len(target.y))
                seen, left = rows[:n], rows[n:]
                bounds = target.bounds if scale == "oracle" else None
                task = TaskData(target.x[seen], target.y[seen], bounds=bounds, features=features[seen])
                spent: list[float] = []
                for repeat in range(9):
                    rng = np.random.default_rng(repeat)
                    began = time.process_time()
                    posterior = surrogate.fit(task, rng=rng)
                    scores(surrogate, posterior, target.x[left], features[left], rng)
                    spent.append(1000 * (time.process_time() - began))
                cells.append(f"{np.median(spent):9.1f}")
            print(f"{f'prior-gp, {scale} scale, {label}':34}" + "".join(cells))


def main(arguments: list[str] | None = None) -> int:
    """Do the missing runs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="directory in HPO-B's layout")
    parser.add_argument("--out", type=Path, help="results file (JSON lines), outside the repository")
    parser.add_argument("--tasks", choices=sorted(SPLITS), default="test")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--trials", type=int, default=50)
    parser.add_argument("--methods", default="random,gp,prior-gp", help=f"of {', '.join(METHODS)}")
    parser.add_argument("--spaces", help="comma-separated; all by default")
    parser.add_argument("--scale", choices=("oracle", "observed"), default="oracle")
    parser.add_argument("--past", choices=("true", "negated", "permuted"), default="true")
    parser.add_argument("--past-rows", type=int, help="random rows of its own per past task; its whole pool by default")
    parser.add_argument("--per-space", action="store_true", help="print every space's figures too")
    parser.add_argument("--smoke", action="store_true", help="one space, one seed, three trials")
    parser.add_argument("--timing", action="store_true", help="print CPU milliseconds per suggestion instead")
    asked = parser.parse_args(arguments)
    if not (asked.data / "meta-train-dataset.json").exists():
        parser.error(f"no meta-train-dataset.json in {asked.data}. Give the suite's directory with --data.")
    methods = asked.methods.split(",")
    if unknown := [method for method in methods if method not in METHODS]:
        parser.error(f"unknown method {unknown[0]!r}; choose from {', '.join(METHODS)}.")
    with threadpool_limits(1):
        if asked.timing:
            timing(asked.data)
            return 0
        if asked.out is None or REPOSITORY in asked.out.resolve().parents:
            parser.error("give --out a file outside the repository.")
        if asked.smoke:
            asked.seeds, asked.trials, asked.spaces = 1, 3, "rbv2-svm"
        setting = Setting(asked.tasks, asked.trials, asked.scale, asked.past, asked.past_rows)
        suite = Suite(asked.data, setting)
        spaces = asked.spaces.split(",") if asked.spaces else None
        found, version = stored(asked.out, setting), library_version()
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        for run, target in suite.runs(methods, asked.seeds, spaces):
            if run not in found:
                row = {"run": vars(run), "setting": vars(setting), "version": version, **suite.execute(run, target)}
                with asked.out.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                found[run] = row
        print_table(found, methods, setting)
        if asked.per_space:
            per_space_table(found, methods, setting)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
