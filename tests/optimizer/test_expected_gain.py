"""What one more trial is expected to gain, and ending a run by it."""

import numpy as np
import pytest
from scipy.stats import norm

from headstart import Float, Memory, Optimizer, Space
from headstart.data import MetaDataset, TaskData
from headstart.encoding import Encoding
from headstart.errors import SettingsError, SpaceExhaustedError
from headstart.optimizer import suggestion
from headstart.space import Config
from headstart.surrogates import GaussianProcess, PriorGP

SPACE = Space(Float("x", 0, 1), Float("y", 0, 1))


def bowl(config: Config) -> float:
    return 3.0 + 10.0 * ((float(config["x"] or 0) - 0.3) ** 2 + (float(config["y"] or 0) - 0.6) ** 2)


def tuned(trials: int, **settings: object) -> Optimizer:
    optimizer = Optimizer(SPACE, seed=1, **settings)  # type: ignore[arg-type]
    optimizer.optimize(bowl, n_trials=trials)
    return optimizer


def test_it_is_the_expected_improvement_of_the_next_proposal() -> None:
    optimizer = tuned(8, method=GaussianProcess(restarts=0))
    gain = optimizer.expected_gain()
    trial = optimizer.ask()
    told = [one for one in optimizer.trials if one.value is not None]
    encoding = Encoding(SPACE)
    x, y = encoding.encode([one.config for one in told]), np.array([-float(one.value or 0) for one in told])
    posterior = GaussianProcess(restarts=0).fit(TaskData(x, y), rng=np.random.default_rng(0))  # no restarts: no draws
    prediction = posterior.predict(encoding.encode([trial.config]))
    unit = np.diff(posterior.to_response(np.array([0.0, 1.0])))[0]
    mean, std = posterior.to_response(prediction.mean)[0], unit * prediction.std[0]
    z = (mean - y.max()) / std
    assert gain == pytest.approx((mean - y.max()) * norm.cdf(z) + std * norm.pdf(z), rel=1e-6)
    assert optimizer.explain(trial).numbers["expected_gain"] == pytest.approx(gain, rel=1e-6)


def test_asking_for_the_gain_hands_nothing_out_and_changes_nothing() -> None:
    curious, plain = tuned(8), tuned(8)
    assert curious.expected_gain() == curious.expected_gain()
    assert len(curious.trials) == 8
    for _ in range(3):
        curious.expected_gain()
        one, other = curious.ask(), plain.ask()
        assert one.config == other.config
        curious.tell(one, bowl(one.config))
        plain.tell(other, bowl(other.config))


def test_on_a_pool_it_is_that_of_the_row_that_comes_next() -> None:
    rng = np.random.default_rng(0)
    pool = rng.random((30, 2))
    y = -((pool[:, 0] - 0.3) ** 2 + (pool[:, 1] - 0.6) ** 2)
    past = MetaDataset(tuple(TaskData(pool, (1 + k) * y, name=str(k)) for k in range(3)), reference=pool)
    optimizer = Optimizer(pool=pool, past=past, method=PriorGP(trees=5), direction="maximize", seed=0)
    for row in (0, 7, 9):
        optimizer.add_observation(row, float(y[row]))
    gain = optimizer.expected_gain()
    trial = optimizer.ask()
    assert gain is not None
    assert gain > 0
    # the past's features are those of the pool's row: of the row by itself they are the same
    assert optimizer.explain(trial).numbers["expected_gain"] == pytest.approx(gain, rel=1e-9)


def test_asking_alone_predicts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    optimizer = tuned(8)
    monkeypatch.setattr(suggestion, "expected_gain", None)  # calling it would be an error
    optimizer.ask()


def test_there_is_no_forecast_without_a_model() -> None:
    assert tuned(2).expected_gain() is None  # the initial design
    assert tuned(8, method="random").expected_gain() is None


def test_the_same_function_promises_the_same_gain_in_either_direction() -> None:
    up, down = (Optimizer(SPACE, direction=direction, seed=1) for direction in ("maximize", "minimize"))
    for optimizer, sign in ((up, -1.0), (down, 1.0)):
        optimizer.optimize(lambda config, sign=sign: sign * bowl(config), n_trials=9)
    first, second = up.expected_gain(), down.expected_gain()
    assert first is not None
    assert first > 0
    assert first == pytest.approx(second, rel=1e-9)


def test_a_run_ends_where_one_more_trial_promises_too_little() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    optimizer.optimize(bowl, n_trials=60, stop_below=0.01)
    assert 6 <= len(optimizer.trials) < 40
    gain = optimizer.expected_gain()
    assert gain is not None
    assert gain < 0.01
    assert bowl(optimizer.best.config) < 3.0 + 0.1
    before = len(optimizer.trials)
    optimizer.optimize(bowl, n_trials=60, stop_below=0.01)  # nothing is left to do
    assert len(optimizer.trials) == before


def test_a_past_lets_a_run_end_earlier() -> None:
    rng = np.random.default_rng(0)
    x = rng.random((60, 2))
    y = -((x[:, 0] - 0.3) ** 2 + (x[:, 1] - 0.6) ** 2)
    past = MetaDataset(tuple(TaskData(x, (1 + k) * y, name=str(k)) for k in range(5)))
    known, unknown = Optimizer(SPACE, past=past, seed=1), Optimizer(SPACE, seed=1)
    for optimizer in (known, unknown):
        optimizer.optimize(bowl, n_trials=40, stop_below=0.02)
    assert known.method == PriorGP.name
    assert len(known.trials) < len(unknown.trials)


def test_several_workers_stop_too() -> None:
    optimizer = Optimizer(SPACE, seed=1)
    optimizer.optimize(bowl, n_trials=60, n_jobs=3, stop_below=0.01)
    assert len(optimizer.trials) < 50
    assert all(one.state == "complete" for one in optimizer.trials)


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), "a little", True])
def test_wrong_gains_are_refused(wrong: object) -> None:
    with pytest.raises(SettingsError, match="stop_below must be a gain in the units of the values"):
        Optimizer(SPACE).optimize(bowl, n_trials=5, stop_below=wrong)  # type: ignore[arg-type]


def test_an_empty_pool_has_no_next_trial() -> None:
    optimizer = Optimizer(pool=np.array([[0.1, 0.2], [0.3, 0.4]]), seed=0)
    for _ in range(2):
        trial = optimizer.ask()
        optimizer.tell(trial, 1.0)
    with pytest.raises(SpaceExhaustedError):
        optimizer.expected_gain()


def test_another_process_changes_the_forecast(tmp_path: object) -> None:
    memory = Memory(f"{tmp_path}/runs.db")
    mine = Optimizer(SPACE, task="t", memory=memory, seed=1)
    mine.optimize(bowl, n_trials=8)
    before = mine.expected_gain()
    Optimizer(SPACE, task="t", memory=memory).add_observation({"x": 0.3, "y": 0.6}, 3.0)
    after = mine.expected_gain()
    assert before is not None
    assert after is not None
    assert after != before
