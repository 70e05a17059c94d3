from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import cdist, pdist

from headstart import Memory, Optimizer
from headstart.acquisition import ThompsonSampling
from headstart.data import MetaDataset, TaskData
from headstart.encoding import Encoding
from headstart.errors import ConfigError, DataError, HeadstartError, SettingsError, SpaceExhaustedError
from headstart.initial_designs import GreedyPortfolio
from headstart.space import Config
from headstart.surrogates import GaussianProcess, PriorGP
from headstart.surrogates.past_models import PastModels
from problems import MIXED, PLANE, bowl, mixed, number, past_of, played

QUICK = GaussianProcess(restarts=0)


def mixed_pool(n: int = 60) -> list[Config]:
    return MIXED.sample(n, rng=np.random.default_rng(0))


def rows_pool(n: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.random.default_rng(seed).random((n, 2))


def test_only_configurations_of_the_pool_are_asked_and_each_once() -> None:
    pool = mixed_pool(14)
    optimizer = Optimizer(MIXED, pool=pool, method=QUICK, seed=0)
    trials = [optimizer.ask() for _ in range(4)]
    for trial in trials:
        optimizer.tell(trial, mixed(trial.config))
    for _ in range(10):
        trial = optimizer.ask()
        trials.append(trial)
        optimizer.tell(trial, mixed(trial.config))
    assert sorted(trial.row for trial in trials if trial.row is not None) == list(range(14))
    assert all(trial.config == pool[trial.row] for trial in trials if trial.row is not None)
    with pytest.raises(SpaceExhaustedError, match="All 14 configurations of the pool have been handed out"):
        optimizer.ask()
    assert optimizer.best.config == min(pool, key=mixed)


def test_a_pool_of_rows_needs_no_space() -> None:
    x = rows_pool(200)
    optimizer = Optimizer(pool=x, method=QUICK, direction="maximize", seed=0)
    assert optimizer.space is None
    for _ in range(20):
        trial = optimizer.ask()
        assert trial.row is not None
        assert trial.config == {"x0": x[trial.row, 0], "x1": x[trial.row, 1]}
        optimizer.tell(trial, -((x[trial.row] - 0.5) ** 2).sum())
    best = int(np.argmin(((x - 0.5) ** 2).sum(axis=1)))
    assert optimizer.best.trial.row == best
    found = optimizer.explain(19)
    assert "gp" in found.summary
    assert all(np.isfinite(list(found.numbers.values())))


def test_observations_of_a_pool_are_added_by_row_or_by_configuration() -> None:
    optimizer = Optimizer(pool=rows_pool(5), method="random", seed=0)
    first = optimizer.add_observation(np.int64(3), 1.0)  # pyright: ignore[reportArgumentType]
    config = {"x1": rows_pool(5)[1, 1], "x0": rows_pool(5)[1, 0]}
    second = optimizer.add_observation(config, 2.0)
    assert (first.row, second.row) == (3, 1)
    assert {trial.row for trial in optimizer.ask(5)} == {0, 2, 4}
    for unknown in (5, -1, True, 1.0, "a", None, {"x0": 0.5, "x1": 0.5}, {"x0": [1], "x1": 1}, {0: 1, "x0": 2}, {}):
        with pytest.raises(ConfigError):
            optimizer.add_observation(unknown, 1.0)  # pyright: ignore[reportArgumentType]
    assert len(optimizer.trials) == 5


@pytest.mark.parametrize("method", [QUICK, "random"])
def test_equal_rows_are_one_configuration(method: Any) -> None:
    x = rows_pool(9)
    x[4] = x[1]
    x[8] = x[1]
    optimizer = Optimizer(pool=x, method=method, seed=0)
    rows = [optimizer.ask().row for _ in range(3)]
    for row, trial in zip(rows, range(3), strict=True):
        optimizer.tell(trial, float(row or 0))
    for _ in range(4):
        trial = optimizer.ask()
        rows.append(trial.row)
        optimizer.tell(trial, 0.5 * trial.number)
    with pytest.raises(SpaceExhaustedError, match="All 7 configurations"):
        optimizer.ask()
    assert sorted(row for row in rows if row is not None) == [0, 1, 2, 3, 5, 6, 7]
    assert Optimizer(pool=x, method=method).add_observation(8, 0.0).row == 1


def test_equal_configurations_of_a_remembered_pool_come_once(tmp_path: Path) -> None:
    pool = mixed_pool(4)
    pool = [*pool, dict(pool[2]), dict(pool[0])]
    optimizer = Optimizer(MIXED, pool=pool, task="t", memory=tmp_path / "m.db", method="random", seed=0)
    assert sorted(trial.row for trial in optimizer.ask(9) if trial.row is not None) == [0, 1, 2, 3]
    again = Optimizer(MIXED, pool=pool, task="t", memory=tmp_path / "m.db")
    with pytest.raises(SpaceExhaustedError):
        again.ask()


def test_a_remembered_task_may_have_trials_outside_the_pool(tmp_path: Path) -> None:
    free = Optimizer(MIXED, task="t", memory=tmp_path / "m.db", method="gp", seed=0)
    played(free, mixed, 6)
    pool = mixed_pool(8)
    resumed = Optimizer(MIXED, pool=pool, task="t", memory=tmp_path / "m.db")
    assert all(config in pool for config in played(resumed, mixed, 8))
    with pytest.raises(ConfigError, match="does not have"):
        resumed.add_observation(free.trials[0].config, 1.0)


def test_the_initial_design_covers_the_pool() -> None:
    """Not a heap of neighbours around one point: nearly as spread as the same design on the whole square."""
    x = rows_pool(400)
    for seed in range(5):
        optimizer = Optimizer(pool=x, seed=seed)
        rows = [int(trial.row or 0) for trial in optimizer.ask(5)]
        assert {one.trial.origin for one in optimizer.trials} == {"sobol"}
        assert len(set(rows)) == 5
        told = Optimizer(pool=x, seed=seed)
        one_by_one: list[int] = []
        for _ in range(5):
            trial = told.ask()
            told.tell(trial, 1.0)
            one_by_one.append(int(trial.row or 0))
        assert rows == one_by_one
        assert pdist(x[rows]).min() > 0.1
        assert cdist(x, x[rows]).min(axis=1).max() < 0.75


def test_a_portfolio_is_chosen_from_the_pool_and_goes_on_where_it_was() -> None:
    past = past_of(PLANE, bowl)
    pool = PLANE.sample(50, rng=np.random.default_rng(1))
    optimizer = Optimizer(PLANE, pool=pool, method=QUICK, initial_design=GreedyPortfolio(trees=10), past=past, seed=0)
    first = optimizer.ask()
    assert first.origin == "portfolio"
    assert sorted(map(bowl, pool)).index(bowl(first.config)) < 5
    optimizer.tell(first, bowl(first.config))
    batch = optimizer.ask(4)
    assert len({trial.row for trial in [first, *batch]}) == 5


def test_optimize_ends_quietly_when_the_pool_does(caplog: pytest.LogCaptureFixture) -> None:
    optimizer = Optimizer(pool=rows_pool(6), method="random", seed=0)
    best = optimizer.optimize(lambda config: number(config, "x0"), n_trials=50)
    assert len(optimizer.trials) == 6
    assert best.value == rows_pool(6)[:, 0].min()
    assert "All 6 configurations of the pool have been handed out" in caplog.text
    assert Counter(one.state for one in optimizer.trials) == {"complete": 6}


def test_a_pool_ends_the_loop_without_any_limit() -> None:
    optimizer = Optimizer(pool=rows_pool(4), method="random", seed=0)
    optimizer.optimize(lambda config: 1.0, n_jobs=2)
    assert len(optimizer.trials) == 4


def test_the_prior_gp_starts_with_the_best_row_of_a_pool() -> None:
    pool = PLANE.sample(300, rng=np.random.default_rng(2))
    optimizer = Optimizer(PLANE, pool=pool, method=PriorGP(trees=20, gate=QUICK), past=past_of(PLANE, bowl), seed=0)
    first = optimizer.ask()
    assert (first.origin, bowl(first.config) < 0.02) == ("prior-gp", True)
    rows = {first.row} | {trial.row for trial in optimizer.ask(3)}
    assert len(rows) == 4


def test_a_big_pool() -> None:
    x = rows_pool(30_000)
    for acquisition in (None, ThompsonSampling()):
        optimizer = Optimizer(pool=x, method=QUICK, acquisition=acquisition, seed=0)
        for _ in range(8):
            trial = optimizer.ask()
            optimizer.tell(trial, float(((x[int(trial.row or 0)] - 0.4) ** 2).sum()))
        assert len({one.trial.row for one in optimizer.trials}) == 8


def test_failed_rows_and_their_neighbours_come_last() -> None:
    x = np.array([[0.1], [0.12], [0.9], [0.88], [0.85]])
    optimizer = Optimizer(pool=x, method=QUICK, initial_trials=1, seed=0)
    optimizer.add_observation(0, failed=True)
    optimizer.add_observation(2, 1.0)
    assert [optimizer.ask().row for _ in range(3)][-1] == 1


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"pool": []}, SettingsError),
        ({"pool": "abc"}, SettingsError),
        ({"pool": b"abc"}, SettingsError),
        ({"pool": 5}, SettingsError),
        ({"pool": np.array(5)}, SettingsError),
        ({"pool": np.zeros((0, 2))}, SettingsError),
        ({"pool": {"x": 1}}, SettingsError),
        ({"pool": np.zeros(3)}, DataError),
        ({"pool": [[0.5, 2.0]]}, DataError),
        ({"pool": [[0.5], [0.5, 0.5]]}, DataError),
        ({"pool": [[np.nan]]}, DataError),
        ({"pool": ["ab"]}, DataError),
        ({"pool": [{"x": 1}]}, SettingsError),
        ({"pool": [{"x": 0.5}], "space": PLANE}, ConfigError),
        ({"pool": [{"x": 0.5, "y": 0.5}, 3], "space": PLANE}, ConfigError),
        ({"pool": np.zeros((3, 2)), "space": PLANE}, SettingsError),
        ({"pool": np.zeros((3, 2)), "task": "t", "memory": ":memory:"}, SettingsError),
    ],
)
def test_what_is_no_pool_is_refused(arguments: dict[str, Any], error: type[HeadstartError]) -> None:
    if arguments.get("memory") == ":memory:":
        arguments = {**arguments, "memory": Memory(":memory:")}
    with pytest.raises(error):
        Optimizer(**arguments)


def test_a_pool_is_encoded_as_its_space_does() -> None:
    pool = mixed_pool(5)
    optimizer = Optimizer(MIXED, pool=pool, method="random", seed=0)
    (trial,) = optimizer.ask(1)
    assert np.array_equal(Encoding(MIXED).encode([trial.config]), Encoding(MIXED).encode([pool[int(trial.row or 0)]]))


def test_a_suggestion_from_a_pool_never_touches_the_past_tasks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = np.random.default_rng(3).random((60, 2))
    past = MetaDataset(tuple(TaskData(pool, -((pool - 0.1 * t) ** 2).sum(axis=1), name=f"{t}") for t in range(3)))
    optimizer = Optimizer(pool=pool, past=past, direction="maximize", seed=0)
    optimizer.tell(optimizer.ask(), 0.5)

    def refuse(self: PastModels, x: Any) -> None:
        raise AssertionError("the past tasks were evaluated again")

    monkeypatch.setattr(PastModels, "predict", refuse)
    for value in (0.1, 0.7, 0.3):
        batch = optimizer.ask(2)  # the second is asked while the first is out
        assert {trial.origin for trial in batch} == {"prior-gp"}
        for trial in batch:
            optimizer.tell(trial, value)
