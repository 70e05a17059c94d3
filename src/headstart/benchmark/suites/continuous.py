"""HPO-B's continuous variant: beside the pool of a task, an XGBoost model of it that any row can be asked of.

A folder holds ``surrogate-<space>-<task>.json`` for each task, and ``summary-stats.json``, which gives the lowest and
highest response that the regret of a task refers to:

    {"surrogate-4796-3549": {"y_min": 0.53, "y_max": 0.99, ...}, ...}

The models are loaded only where they are asked, and run on one thread.
"""

import hashlib
import json
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from headstart.benchmark.problems import Objective, Problem, Suite, SuiteSpace
from headstart.errors import DataError, MissingDependencyError
from headstart.space import Config, Float, Space
from headstart.space.values import as_number, shown

SUMMARY = "summary-stats.json"
KEPT_MODELS = 8
"""How many models a process keeps: a run asks one."""


def with_surrogates(suite: Suite, folder: Path) -> Suite:
    """Return ``suite`` with an Objective for every problem whose model is in ``folder``; the others stay as they are.

    Raises:
        DataError: The folder has no model of any problem, its summary is not well formed, or a Space has columns that
            are no plain numbers.
        MissingDependencyError: XGBoost is not installed.
    """
    _require_xgboost()
    files = {file.stem: file for file in sorted(folder.glob("surrogate-*.json"))} if folder.is_dir() else {}
    ranges, summary = _ranges(folder / SUMMARY)
    used: list[str] = []

    def widened(space: SuiteSpace) -> SuiteSpace:
        train, validation, test = (
            tuple(one(problem, space) for problem in split) for split in (space.train, space.validation, space.test)
        )
        return replace(space, train=train, validation=validation, test=test)

    def one(problem: Problem, space: SuiteSpace) -> Problem:
        name = f"surrogate-{problem.space}-{problem.name}"
        if name not in files:
            return problem
        if any(kind != "numeric" for kind in space.columns.kinds):
            raise DataError(
                f"{files[name]}: space '{space.name}' has columns that are no plain numbers, between which there is "
                "nothing to ask a model. Leave the surrogates out."
            )
        used.append(f"{name} {files[name].stat().st_size}")
        low, high = ranges.get(name, problem.bounds)
        d = problem.x.shape[1]
        return replace(problem, objective=Objective(unit_space(d), Booster(str(files[name]), d), low, high))

    spaces = tuple(widened(space) for space in suite.spaces)
    if not used:
        raise DataError(
            f"{folder}: there is no model of any task of '{suite.name}'. The files must be called "
            "surrogate-<space>-<task>.json."
        )
    digest = hashlib.sha256("\0".join([suite.fingerprint, summary, *used]).encode())
    return replace(suite, spaces=spaces, fingerprint=digest.hexdigest()[:16])


@lru_cache
def unit_space(d: int) -> Space:
    """Return the Space whose encoding is the unit cube of ``d`` columns itself."""
    return Space(*(Float(f"x{j + 1}", 0.0, 1.0) for j in range(d)))


@dataclass(frozen=True)
class Booster:
    """An XGBoost model as a function of a Config of ``unit_space``. It pickles as the place of its file."""

    file: str
    columns: int

    def __call__(self, config: Config) -> float:
        """Return the model's response.

        Raises:
            DataError: The file holds no model, or one of another number of columns.
        """
        row = np.array([[config[name] for name in unit_space(self.columns).names]], dtype=np.float64)
        model = _model(self.file)
        if int(model.num_features()) != self.columns:
            raise DataError(
                f"{self.file}: the model has {model.num_features()} columns, the task {self.columns}. "
                "Give the folder that belongs to this version of the data."
            )
        # the numbers go in without names, as the models were made
        value = float(model.inplace_predict(row, validate_features=False)[0])
        if not math.isfinite(value):
            raise DataError(f"{self.file}: the model gives {value} at {shown(config)}. Fetch it again.")
        return value


@lru_cache(maxsize=KEPT_MODELS)
def _model(file: str) -> Any:
    _require_xgboost()
    import xgboost  # pyright: ignore[reportMissingTypeStubs]

    booster: Any = xgboost.Booster({"nthread": 1})
    try:
        booster.load_model(file)
        booster.set_param({"nthread": 1})  # loading brings the model's own settings
    except (xgboost.core.XGBoostError, OSError) as error:
        reason = " ".join(str(error).split("Stack trace")[0].split())[:200]
        raise DataError(f"{file}: is no XGBoost model ({reason}). Fetch it again.") from None
    return booster


def _require_xgboost() -> None:
    if find_spec("xgboost") is None:  # a second to import, which only a process that asks a model should spend
        raise MissingDependencyError(
            "The continuous variant of HPO-B needs 'xgboost', which is not installed. "
            "Run: pip install 'headstart[xgboost]'."
        )


def _ranges(file: Path) -> tuple[dict[str, tuple[float, float]], str]:
    """Return lowest and highest response by name of the model, and the text they come from; nothing without a file."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: cannot be read ({error}).") from None
    try:
        stored: Any = json.loads(text)
        found = {str(name): (as_number(one["y_min"]), as_number(one["y_max"])) for name, one in stored.items()}
    except (ValueError, AttributeError, TypeError, KeyError, RecursionError) as error:
        raise DataError(
            f'{file}: must give {{"surrogate-<space>-<task>": {{"y_min": ..., "y_max": ...}}}} '
            f"({type(error).__name__}: {str(error)[:100]})."
        ) from None
    ranges: dict[str, tuple[float, float]] = {}
    for name, (low, high) in found.items():
        if low is None or high is None or low > high:
            raise DataError(f"{file}: '{name[:100]}': y_min and y_max must be finite and in order. Fetch it again.")
        ranges[name] = (low, high)
    return ranges, text
