from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headstart import Explanation, Float, Int, Memory, Optimizer, Space, TaskData
from headstart.encoding import Encoding
from headstart.surrogates import GaussianProcess, PriorGP, RandomForest
from problems import PLANE, bowl, past_of, played

QUICK = GaussianProcess(restarts=0)


def check_numbers(found: Explanation) -> None:
    assert all(np.isfinite(list(found.numbers.values())))
    assert "\n" not in found.summary


def test_trials_that_no_model_proposed() -> None:
    space = Space(Float("x", 0.0, 1.0, default=0.5), Int("n", 1, 5))
    optimizer = Optimizer(space, seed=0)
    added = optimizer.add_observation({"x": 0.1, "n": 2}, 1.0)
    assert optimizer.explain(added).summary == "Added from elsewhere, not proposed."
    optimizer = Optimizer(space, seed=0)
    first, second = optimizer.ask(2)
    assert "default" in optimizer.explain(first).summary
    assert "initial design or method 'sobol'" in optimizer.explain(second.number).summary
    assert optimizer.explain(second).numbers == {}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gaussian_process_explains_in_the_user_s_units_and_direction(sign: float) -> None:
    direction = "minimize" if sign > 0 else "maximize"
    optimizer = Optimizer(PLANE, method=QUICK, direction=direction, seed=0)
    played(optimizer, lambda config: sign * (1000.0 + 50.0 * bowl(config)), 14)
    trial = optimizer.ask()
    found = optimizer.explain(trial)
    check_numbers(found)
    assert found.summary.startswith("Proposed by gp after 14 told trials. It expected ")
    assert sign * found.numbers["predicted_mean"] == pytest.approx(1000.0 + 50.0 * bowl(trial.config), abs=1.0)
    assert 0.0 < found.numbers["predicted_std"] < 10.0
    assert found.numbers["best_before"] == pytest.approx(optimizer.best.value, rel=1e-9)


def test_it_says_what_was_known_then() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, seed=0)
    played(optimizer, bowl, 7)
    trial = optimizer.ask()
    before = optimizer.explain(trial)
    optimizer.tell(trial, 3.0)
    played(optimizer, bowl, 4)
    assert optimizer.explain(trial) == before
    later = optimizer.explain(11)
    assert "after 11 told trials" in later.summary
    assert later.numbers["best_before"] <= before.numbers["best_before"] + 1e-12


def test_it_counts_what_was_out_then() -> None:
    """Told or not in the meantime: two trials of one batch are explained as they were chosen."""
    optimizer = Optimizer(PLANE, method=QUICK, seed=0)
    played(optimizer, bowl, 7)
    first, second = optimizer.ask(2)
    before = optimizer.explain(second)
    optimizer.tell(first, 9.0)
    assert optimizer.explain(second) == before
    # the second counts the first with the value that was expected of it
    encoding, told = Encoding(PLANE), optimizer.trials[:7]
    x = encoding.encode([*(one.config for one in told), first.config])
    believed = optimizer.explain(first).numbers["predicted_mean"]
    y = -np.array([*(one.value or 0.0 for one in told), believed])
    posterior = QUICK.fit(TaskData(x, y, encoding.columns), rng=np.random.default_rng(0))
    prediction = posterior.predict(encoding.encode([second.config]))
    assert before.numbers["predicted_std"] == pytest.approx(float(prediction.std[0]) * y.std(), rel=1e-6)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_prior_gp_names_the_past_tasks(direction: Any) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    past = past_of(PLANE, bowl)
    optimizer = Optimizer(PLANE, method=PriorGP(trees=10, gate=QUICK), past=past, direction=direction, seed=0)
    first = optimizer.ask()
    found = optimizer.explain(first)
    check_numbers(found)
    assert "Nothing is observed yet" in found.summary
    assert {name for name, _ in found.weights} == {f"past {t}" for t in range(6)}
    optimizer.tell(first, sign * bowl(first.config))
    played(optimizer, lambda config: sign * bowl(config), 9)
    found = optimizer.explain(9)
    check_numbers(found)
    assert {name for name, _ in found.weights} == {f"past {t}" for t in range(6)}
    weights = [weight for _, weight in found.weights]
    assert weights == sorted(weights, reverse=True)
    assert np.isfinite(weights).all()
    assert found.numbers["best_before"] == min(
        (one.value or 0.0 for one in optimizer.trials[:9]), key=lambda value: sign * value
    )
    assert 0.0 <= found.numbers["probability_of_past"] <= 1.0


@pytest.mark.parametrize("method", ["random", RandomForest(trees=10, minimum_observations=3), "gp-se"])
def test_every_method_explains_something(method: Any) -> None:
    optimizer = Optimizer(PLANE, method=method, seed=0)
    played(optimizer, bowl, 7)
    for trial in optimizer.trials:
        found = optimizer.explain(trial.trial)
        check_numbers(found)
        assert found.summary


def test_another_process_explains_the_same(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    for t in range(2):
        played(Optimizer(PLANE, task=f"past {t}", memory=path, method="random", seed=t), bowl, 10)
    optimizer = Optimizer(PLANE, task="now", memory=path, seed=0)
    played(optimizer, bowl, 3)
    trial = optimizer.ask()
    resumed = Optimizer(PLANE, task="now", memory=Memory(path))
    assert resumed.explain(trial) == optimizer.explain(trial)
    assert {name for name, _ in resumed.explain(3).weights} == {"past 0", "past 1"}


def test_predictions_are_those_of_the_model_itself() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, direction="maximize", seed=0)
    configs = played(optimizer, bowl, 8)
    trial = optimizer.ask()
    encoding = Encoding(PLANE)
    data = TaskData(encoding.encode(configs), np.array([bowl(config) for config in configs]), encoding.columns)
    posterior = QUICK.fit(data, rng=np.random.default_rng(0))
    prediction = posterior.predict(encoding.encode([trial.config]))
    spread = data.y.std()
    numbers = optimizer.explain(trial).numbers
    assert numbers["predicted_mean"] == pytest.approx(float(prediction.mean[0]) * spread + data.y.mean(), rel=1e-6)
    assert numbers["predicted_std"] == pytest.approx(float(prediction.std[0]) * spread, rel=1e-6)
