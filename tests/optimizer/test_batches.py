from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from headstart import Optimizer, Space, Trial
from headstart.acquisition import UpperConfidenceBound
from headstart.encoding import Encoding
from headstart.errors import SettingsError, SpaceExhaustedError
from headstart.space import Config
from headstart.surrogates import GaussianProcess, PriorGP, RandomForest
from problems import MIXED, PLANE, SMALL, bowl, configs_of, mixed, number, past_of, played

QUICK = GaussianProcess(restarts=0)
QUICK_PRIOR = PriorGP(trees=10, gate=QUICK)


def nearest_pair(space: Space, trials: list[Trial]) -> float:
    return float(pdist(Encoding(space).encode(configs_of(trials))).min())


def rough(config: Config) -> float:
    x, y = number(config, "x"), number(config, "y")
    return float(np.sin(9 * x) + np.cos(7 * y) * x)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_batch_of_the_gaussian_process_is_spread(seed: int) -> None:
    optimizer = Optimizer(PLANE, method=QUICK, seed=seed)
    played(optimizer, rough, 10)
    batch = optimizer.ask(6)
    assert [trial.origin for trial in batch] == ["gp"] * 6
    assert nearest_pair(PLANE, batch) > 0.0099
    # not all of them refine the best: pending trials leave less to gain there
    best = optimizer.best.config
    away = [abs(number(trial.config, "x") - number(best, "x")) for trial in batch]
    assert max(away) > 0.2


@pytest.mark.parametrize("objective", [bowl, rough])
def test_a_batch_of_the_prior_gp_is_spread_with_and_without_observations(objective: Any) -> None:
    optimizer = Optimizer(PLANE, method=QUICK_PRIOR, past=past_of(PLANE, bowl), seed=0)
    first = optimizer.ask(5)
    assert [trial.origin for trial in first] == ["prior-gp"] * 5
    assert nearest_pair(PLANE, first) > 0.0099
    for trial in first:
        optimizer.tell(trial, objective(trial.config))
    assert nearest_pair(PLANE, optimizer.ask(5)) > 0.0099


def test_pending_trials_count() -> None:
    def prepared() -> Optimizer:
        optimizer = Optimizer(PLANE, method=QUICK, seed=0)
        played(optimizer, bowl, 8)
        return optimizer

    one, other = prepared(), prepared()
    first, second = one.ask(), one.ask()
    assert second.config != first.config
    other.tell(other.ask(), 0.7)
    assert other.ask().config != second.config


def test_what_is_out_counts_as_known_where_it_lies() -> None:
    """Pure exploration asks where least is known: never twice in one corner, though no value has come back."""
    optimizer = Optimizer(PLANE, method=QUICK, acquisition=UpperConfidenceBound(beta=1000.0), seed=0)
    for config in PLANE.sample(6, rng=np.random.default_rng(1)):
        optimizer.add_observation(config, rough(config))
    assert nearest_pair(PLANE, optimizer.ask(5)) > 0.2


def test_asking_in_a_row_is_asking_for_a_batch() -> None:
    one, other = (Optimizer(MIXED, method=QUICK, seed=3) for _ in range(2))
    played(one, mixed, 7)
    played(other, mixed, 7)
    assert one.ask(4) == [other.ask() for _ in range(4)]


@pytest.mark.parametrize("method", [QUICK, RandomForest(trees=10), "random"], ids=["gp", "rf", "random"])
def test_thirty_pending_trials_are_all_different(method: Any) -> None:
    optimizer = Optimizer(PLANE, method=method, seed=0)
    played(optimizer, bowl, 6)
    batch = optimizer.ask(30)
    assert len({PLANE.key(trial.config) for trial in batch}) == 30
    assert nearest_pair(PLANE, batch) > (1e-4 if method == "random" else 0.0099)
    for trial in reversed(batch):
        optimizer.tell(trial, bowl(trial.config))
    assert [one.state for one in optimizer.trials] == ["complete"] * 36


def test_many_trials_may_be_out_before_the_first_is_told() -> None:
    optimizer = Optimizer(PLANE, seed=0)
    batch = optimizer.ask(16)
    assert {trial.origin for trial in batch} == {"sobol"}
    x = Encoding(PLANE).encode(configs_of(batch))
    # sixteen points of a Sobol' sequence: one in each sixteenth of every axis
    for column in x.T:
        assert sorted(np.floor(column * 16)) == list(range(16))


def test_a_batch_is_shorter_where_the_space_ends() -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    batch = optimizer.ask(20)
    assert sorted(SMALL.key(trial.config) for trial in batch) == sorted(map(SMALL.key, SMALL.grid(9)))
    with pytest.raises(SpaceExhaustedError):
        optimizer.ask(2)


@pytest.mark.parametrize("n", [0, -1, 1.5, 2.0, True, "2", [2]])
def test_the_size_of_a_batch_is_a_whole_number(n: Any) -> None:
    with pytest.raises(SettingsError, match="ask: n must be a whole number of at least 1"):
        Optimizer(SMALL).ask(n)


def test_numbers_go_up() -> None:
    optimizer = Optimizer(PLANE, method="random", seed=0)
    trials = [*optimizer.ask(np.int64(3)), optimizer.ask(), *optimizer.ask(1)]  # pyright: ignore
    assert all(later.number == earlier.number + 1 for earlier, later in pairwise(trials))
