"""HPO-B's XGBoost models become Objectives; the models of these tests are trained here."""

import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart.benchmark.problems import Problem, Suite, SuiteSpace
from headstart.benchmark.suites.continuous import SUMMARY, unit_space, with_surrogates
from headstart.encoding import Columns, Encoding
from headstart.errors import DataError, MissingDependencyError

D = 3
X = np.random.default_rng(0).random((60, D))
Y = 0.5 + 0.3 * X[:, 0] - 0.2 * (X[:, 1] - 0.4) ** 2


def suite(columns: Columns | None = None) -> Suite:
    problems = [Problem("4796", name, X, Y) for name in ("3", "5")]
    space = SuiteSpace("4796", columns or Columns.numeric(D), (problems[0],), (), (problems[1],))
    return Suite("hpob", (space,), "fingerprint")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    xgboost = pytest.importorskip("xgboost", reason="needs XGBoost: pip install 'headstart[xgboost]'")
    train(xgboost, X, tmp_path / "surrogate-4796-5.json")
    (tmp_path / SUMMARY).write_text(json.dumps({"surrogate-4796-5": {"y_min": 0.25, "y_max": 0.875, "more": "x"}}))
    return tmp_path


def train(xgboost: Any, x: Any, file: Path) -> Any:
    settings = {"max_depth": 3, "nthread": 1, "base_score": 0.5}
    booster = xgboost.train(settings, xgboost.DMatrix(x, Y), num_boost_round=8)
    booster.save_model(file)
    return booster


def test_the_objective_is_the_model(folder: Path) -> None:
    import xgboost

    (space,) = with_surrogates(suite(), folder).spaces
    objective = space.test[0].objective
    assert objective is not None
    assert (objective.low, objective.high) == (0.25, 0.875)
    encoding = Encoding(objective.space)
    assert encoding.columns == Columns.numeric(D)
    booster = xgboost.Booster()
    booster.load_model(folder / "surrogate-4796-5.json")
    rows = np.random.default_rng(1).random((20, D))
    expected = booster.predict(xgboost.DMatrix(rows))
    values = [objective.evaluate(config) for config in encoding.decode(rows)]
    assert len(set(values)) > 5
    assert np.allclose(values, expected, atol=1e-6)
    # configurations reach the model in the order of the columns, whatever their own
    config = dict(reversed(encoding.decode(rows[:1])[0].items()))
    assert objective.evaluate(config) == values[0]


def test_tasks_without_a_model_stay(folder: Path) -> None:
    (space,) = with_surrogates(suite(), folder).spaces
    assert space.train[0].objective is None
    assert space.test[0].x is X


def test_without_a_summary_the_pool_gives_the_range(folder: Path) -> None:
    (folder / SUMMARY).unlink()
    objective = with_surrogates(suite(), folder).spaces[0].test[0].objective
    assert objective is not None
    assert (objective.low, objective.high) == (Y.min(), Y.max())


def test_the_fingerprint_changes_with_the_models(folder: Path) -> None:
    first = with_surrogates(suite(), folder).fingerprint
    assert first != suite().fingerprint
    assert with_surrogates(suite(), folder).fingerprint == first
    (folder / SUMMARY).unlink()
    assert with_surrogates(suite(), folder).fingerprint != first


def test_an_objective_travels_to_other_processes(folder: Path) -> None:
    objective = with_surrogates(suite(), folder).spaces[0].test[0].objective
    assert objective is not None
    config = {"x1": 0.1, "x2": 0.2, "x3": 0.3}
    assert pickle.loads(pickle.dumps(objective.evaluate))(config) == objective.evaluate(config)


def test_what_is_wrong_is_said(folder: Path) -> None:
    import xgboost

    with pytest.raises(DataError, match="no model of any task of 'hpob'"):
        with_surrogates(suite(), folder / "nowhere")
    with pytest.raises(DataError, match="columns that are no plain numbers"):
        with_surrogates(suite(Columns(("numeric", "one-hot", "one-hot"), (0, 1, 1))), folder)
    config = {f"x{j + 1}": 0.5 for j in range(D)}
    file = folder / "surrogate-4796-3.json"
    for content in ("", "{}", "hello", "[" * 10_000):
        file.write_text(content)
        past = with_surrogates(suite(), folder).spaces[0].train[0].objective
        assert past is not None
        with pytest.raises(DataError, match="is no XGBoost model") as caught:
            past.evaluate(config)
        assert "\n" not in str(caught.value)
    train(xgboost, X[:, :2], file)
    with pytest.raises(DataError, match="has 2 columns, the task 3"):
        past.evaluate(config)


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a": 1}', '{"a": {"y_min": 1}}', '{"a": {"y_min": NaN, "y_max": 1}}', "[" * 100_000]
)
def test_a_summary_that_is_wrong(folder: Path, text: str) -> None:
    (folder / SUMMARY).write_text(text)
    with pytest.raises(DataError, match=SUMMARY) as caught:
        with_surrogates(suite(), folder)
    assert "\n" not in str(caught.value)


def test_without_xgboost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'headstart\[xgboost\]'"):
        with_surrogates(suite(), tmp_path)


def test_the_unit_space_is_the_cube() -> None:
    encoding = Encoding(unit_space(4))
    rows = np.round(np.random.default_rng(2).random((10, 4)), 6)
    assert np.allclose(encoding.encode(encoding.decode(rows)), rows, atol=1e-10)
