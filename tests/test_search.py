"""Where candidates come from, and which of them is chosen."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.spatial.distance import cdist

from headstart import Categorical, Constant, Float, Int, Optimizer, Space, TaskData, search
from headstart.acquisition import LogExpectedImprovement, ThompsonSampling, UpperConfidenceBound
from headstart.arrays import Array, Rng
from headstart.data import Prediction
from headstart.encoding import Encoding
from headstart.errors import SpaceExhaustedError
from headstart.numerics.low_discrepancy import sobol
from headstart.space import units
from headstart.surrogates import GaussianProcess, Random, RandomForest
from problems import MIXED, PLANE, SMALL, bowl, mixed, number
from strategies import SEEDS, spaces

QUICK = search.Effort(fresh=60, mutations=4, starts=2, rounds=3, tries=3)


def rng(seed: int = 0) -> Rng:
    return np.random.default_rng(seed)


def reference_of(space: Space, n: int = 32) -> search.Reference:
    rows = units.from_quantiles(space, sobol(n, len(space), rng=rng()))
    return search.Reference(rows, Encoding(space).rows(rows), None, np.empty((0, len(space))))


def seen_of(space: Space, configs: list[Any], failed: list[Any] | None = None, pending: list[Any] | None = None) -> Any:
    encoding = Encoding(space)
    everything = [*configs, *(failed or []), *(pending or [])]
    return search.Seen(
        frozenset(map(space.key, everything)),
        units.from_configs(space, configs),
        encoding.encode(failed or []),
        encoding.encode(configs),
        encoding.encode(pending or []),
    )


def best_in(space: Space, scores: search.Scores, seen: Any, *, seed: int = 0, effort: Any = QUICK) -> Any:
    return search.best_in_space(
        scores, Encoding(space), reference_of(space), seen, effort=effort, joint=False, rng=rng(seed)
    )


def test_best_first_orders_by_score_and_puts_what_is_no_number_last() -> None:
    scores = np.array([1.0, np.nan, 3.0, -np.inf, np.inf, 2.0])
    order = search.best_first(scores, rng())
    assert order[:4].tolist() == [4, 2, 5, 0]
    assert set(order[4:].tolist()) == {1, 3}


def test_ties_are_broken_at_random_by_the_generator() -> None:
    scores = np.array([0.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    first = Counter(int(search.best_first(scores, rng(seed))[0]) for seed in range(400))
    assert set(first) == {1, 2, 3, 4}
    assert min(first.values()) > 60
    assert search.best_first(scores, rng(5)).tolist() == search.best_first(scores, rng(5)).tolist()


@pytest.mark.parametrize("n", [1, search.CHUNK_ROWS, 2 * search.CHUNK_ROWS + 17])
def test_chunks_give_the_scores_of_all_rows(n: int) -> None:
    x, features = rng().random((n, 3)), rng(1).random((n, 2))
    sizes: list[int] = []

    def scores(rows: Array, some: Array | None) -> Array:
        sizes.append(len(rows))
        return rows.sum(axis=1) + (0.0 if some is None else some[:, 0])

    assert np.array_equal(search.in_chunks(scores, x, None), x.sum(axis=1))
    assert np.array_equal(search.in_chunks(scores, x, features), x.sum(axis=1) + features[:, 0])
    assert max(sizes) <= search.CHUNK_ROWS


@pytest.mark.parametrize("worked", [0, 1, 15])
def test_what_lies_near_failures_agrees_with_brute_force(worked: int) -> None:
    x, failed, complete = rng(0).random((300, 3)), rng(1).random((12, 3)), rng(2).random((worked, 3))
    limit = np.full(300, 0.5)
    if worked:
        limit = np.minimum(limit, 2.0 * cdist(x, complete).min(axis=1))
    expected = cdist(x, failed).min(axis=1) < limit
    found = search.near_failures(x, failed, complete)
    assert np.array_equal(found, expected)
    assert 0 < found.sum() < 300
    assert not search.near_failures(x, failed[:0], complete).any()
    assert search.near_failures(failed, failed, complete).all()


def test_what_lies_near_trials_that_are_out_agrees_with_brute_force() -> None:
    x = rng(0).random((2000, 2))
    pending = x[:5] + 0.003
    found = search.near_pending(x, pending)
    assert np.array_equal(found, cdist(x, pending).min(axis=1) < 0.01)
    assert found[:5].all()
    assert not search.near_pending(x, pending[:0]).any()


def test_the_local_search_finds_a_narrow_optimum() -> None:
    space = Space(*(Float(f"x{j}", 0.0, 1.0) for j in range(4)), Int("n", 1, 100_000, log=True))
    target = rng(3).random(5)
    target[4] = 0.5

    def scores(x: Array, features: Array | None) -> Array:
        return -((x - target) ** 2).sum(axis=1)

    found = best_in(space, scores, seen_of(space, []), effort=search.THOROUGH)
    assert np.abs(Encoding(space).encode([found])[0] - target).max() < 0.02


def test_the_past_s_best_is_a_candidate() -> None:
    """Where the scores are a needle at a past best, only a candidate that is exactly there finds it."""
    past = [{"x": 0.123456, "y": 0.654321}]
    encoding = Encoding(PLANE)
    best = units.from_configs(PLANE, past)
    plain = reference_of(PLANE)
    reference = search.Reference(
        np.concatenate([plain.units, best]), np.concatenate([plain.x, encoding.encode(past)]), None, best
    )

    def needle(x: Array, features: Array | None) -> Array:
        return (np.abs(x - encoding.encode(past)).max(axis=1) < 1e-12).astype(float)

    found = search.best_in_space(needle, encoding, reference, seen_of(PLANE, []), effort=QUICK, joint=False, rng=rng())
    assert found == past[0]
    again = search.best_in_space(
        needle, encoding, reference, seen_of(PLANE, past), effort=QUICK, joint=False, rng=rng()
    )
    assert again != past[0]


def test_the_size_of_a_space_is_known_at_once() -> None:
    """Each ask needs it: neither many switches nor a branch without values may get in its way."""
    switches = [Categorical(f"use {i}", [True, False]) for i in range(40)]
    amounts = [Int(f"n {i}", 1, 4, when={f"use {i}": True}) for i in range(40)]
    assert Space(*switches, *amounts).size == 5**40
    empty = Space(Float("x", 0.0, 1.0), Constant("c", None), Constant("d", "", when={"c": [None]}))
    assert empty.size == math.inf
    unreachable = Space(Constant("c", 1), Categorical("a", ["u", "v"]), Int("n", 1, 3, when={"c": 1, "a": "u"}))
    assert unreachable.size == 4


@settings(max_examples=25, deadline=None)
@given(space=spaces(max_parameters=5), seed=SEEDS)
def test_every_choice_is_valid_and_new_until_the_space_is_exhausted(space: Space, seed: int) -> None:
    generator, taken = rng(seed), list[Any]()
    encoding, reference = Encoding(space), reference_of(space)

    def scores(x: Array, features: Array | None) -> Array:
        assert x.shape[1] == len(encoding.columns)
        return np.where(generator.random(len(x)) < 0.1, np.nan, x.sum(axis=1))

    for _ in range(6):
        seen = seen_of(space, taken[1:], taken[:1])
        try:
            config = search.best_in_space(scores, encoding, reference, seen, effort=QUICK, joint=False, rng=generator)
        except SpaceExhaustedError:
            assert len(taken) == space.size
            return
        assert space.validate(config) == config
        assert space.key(config) not in seen.keys
        taken.append(config)
    assert space.size >= 6


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf, 0.0])
def test_scores_without_any_order_still_give_something_new(value: float) -> None:
    taken = PLANE.sample(5, rng=rng())
    for space in (PLANE, SMALL):
        seen = seen_of(space, [] if space is SMALL else taken)
        found = best_in(space, lambda x, features: np.full(len(x), value), seen)
        assert space.contains(found)
        assert space.key(found) not in seen.keys


def test_where_everything_failed_something_is_still_proposed() -> None:
    failed = PLANE.grid(9)
    found = best_in(PLANE, lambda x, features: x.sum(axis=1), seen_of(PLANE, [], failed))
    assert PLANE.contains(found)


def test_a_free_row_of_a_pool_with_the_largest_score_is_chosen() -> None:
    x = rng().random((50, 2))
    free, avoided = np.ones(50, dtype=np.bool_), np.zeros(50, dtype=np.bool_)

    def chosen() -> int:
        return search.best_of_pool(lambda rows, _: rows[:, 0], x, None, free, avoided, joint=False, rng=rng())

    order = np.argsort(-x[:, 0])
    assert chosen() == order[0]
    free[order[0]] = False
    avoided[order[1]] = True
    assert chosen() == order[2]
    avoided[:] = True
    assert chosen() == order[1]
    free[:] = False
    with pytest.raises(SpaceExhaustedError):
        chosen()


def test_features_reach_the_scores_of_a_pool() -> None:
    x, features = rng().random((5000, 2)), rng(1).random((5000, 1))
    everything = np.ones(5000, dtype=np.bool_)

    def scores(rows: Array, some: Array | None) -> Array:
        assert some is not None
        return some[:, 0]

    found = search.best_of_pool(scores, x, features, everything, ~everything, joint=False, rng=rng())
    assert found == int(np.argmax(features))


def test_any_new_looks_everywhere() -> None:
    keys = {SMALL.key(config) for config in SMALL.grid(9)[:-1]}
    assert search.any_new(SMALL, keys, rng()) == SMALL.grid(9)[-1]
    with pytest.raises(SpaceExhaustedError, match="All 12 configurations"):
        search.any_new(SMALL, {SMALL.key(config) for config in SMALL.grid(9)}, rng())


def fitted(surrogate: Any) -> Any:
    x = rng(4).random((12, 2))
    return surrogate.fit(TaskData(x, -((x - 0.5) ** 2).sum(axis=1)), rng=rng())


def test_scores_come_from_the_acquisition_or_from_the_posterior_itself() -> None:
    x = rng(1).random((40, 2))
    posterior = fitted(GaussianProcess(restarts=0))
    acquisition = UpperConfidenceBound(beta=1.5)
    found = search.scores_of(posterior, acquisition, rng=rng())(x, None)
    prediction = posterior.predict(x)
    assert np.array_equal(found, prediction.mean + 1.5 * prediction.std)
    own = search.scores_of(fitted(Random()), acquisition, rng=rng(9))(x, None)
    assert np.array_equal(own, rng(9).random(40))


def test_thompson_sampling_draws_jointly_where_the_posterior_can_and_row_by_row_where_not() -> None:
    x = np.repeat(rng(1).random((1, 2)), 30, axis=0) + 1e-9 * np.arange(30)[:, None]
    joint = search.scores_of(fitted(GaussianProcess(restarts=0)), ThompsonSampling(), rng=rng())(x, None)
    assert np.ptp(joint) < 1e-2 * max(1.0, abs(joint[0]))  # one function: neighbours agree

    class Marginal:
        incumbent = 0.0

        def predict(self, rows: Array, *, features: Array | None = None) -> Prediction:
            return Prediction(np.zeros(len(rows)), np.ones(len(rows)))

    alone = search.scores_of(Marginal(), ThompsonSampling(), rng=rng())(x, None)
    assert alone.std() > 0.5
    assert np.array_equal(alone, rng().standard_normal(30))


@pytest.mark.parametrize("surrogate", [GaussianProcess(restarts=0), RandomForest(trees=10)], ids=["gp", "rf"])
def test_thompson_sampling_works_in_a_space_and_on_a_pool(surrogate: Any) -> None:
    pool = MIXED.sample(700, rng=rng())
    for arguments in ({}, {"pool": pool}):
        optimizer = Optimizer(MIXED, method=surrogate, acquisition=ThompsonSampling(), seed=0, **arguments)
        for _ in range(25):
            trial = optimizer.ask()
            optimizer.tell(trial, mixed(trial.config))
        assert len({MIXED.key(one.config) for one in optimizer.trials}) == 25
        late = [one.value or 0.0 for one in optimizer.trials[15:]]
        early = [one.value or 0.0 for one in optimizer.trials[:5]]
        assert np.mean(late) < np.mean(early)


def test_other_acquisitions_are_used_where_they_are_given() -> None:
    explore = Optimizer(PLANE, method=GaussianProcess(restarts=0), acquisition=UpperConfidenceBound(beta=100.0), seed=0)
    exploit = Optimizer(PLANE, method=GaussianProcess(restarts=0), acquisition=LogExpectedImprovement(), seed=0)
    for optimizer in (explore, exploit):
        for config in PLANE.sample(20, rng=rng()):
            optimizer.add_observation(config, bowl(config))
    assert bowl(exploit.ask().config) < 0.01 < bowl(explore.ask().config)


def test_chances_are_fair_in_a_small_space() -> None:
    counts = Counter(
        number(best_in(SMALL, lambda x, features: np.zeros(len(x)), seen_of(SMALL, []), seed=seed), "a")
        for seed in range(300)
    )
    assert set(counts) == {0.0, 1.0, 2.0, 3.0}
    assert min(counts.values()) > 45
