import math
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from headstart import Categorical, Constant, Float, Int, Optimizer, Space, Trial
from headstart.encoding import Encoding
from headstart.errors import ConfigError, DataError, NotFittedError, SpaceExhaustedError, TrialError
from headstart.space import Config
from headstart.surrogates import GaussianProcess
from problems import MIXED, PLANE, SMALL, bowl, mixed, number, played

QUICK = GaussianProcess(restarts=0)


def test_the_mirrored_objective_gives_the_mirrored_sequence() -> None:
    down = Optimizer(MIXED, seed=3)
    up = Optimizer(MIXED, seed=3, direction="maximize")
    assert played(down, mixed, 12) == played(up, lambda config: -mixed(config), 12)
    assert down.best.config == up.best.config
    assert down.best.value == -(up.best.value or 0.0)
    assert down.method == up.method == "gp"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_gaussian_process_beats_its_initial_design_in_either_direction(direction: Any) -> None:
    sign = 1.0 if direction == "minimize" else -1.0
    optimizer = Optimizer(PLANE, seed=1, direction=direction)
    configs = played(optimizer, lambda config: sign * bowl(config), 20)
    assert min(map(bowl, configs[5:])) < 0.003 < min(map(bowl, configs[:5]))
    assert optimizer.best.config == min(configs, key=bowl)


def test_best_takes_the_earlier_of_equals_and_needs_a_value() -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    with pytest.raises(NotFittedError, match="no best trial yet"):
        _ = optimizer.best
    trials = optimizer.ask(4)
    optimizer.tell(trials[3], 1.0)
    optimizer.tell(trials[0], failed=True)
    optimizer.tell(trials[2], 1.0)
    optimizer.tell(trials[1], 2.0)
    assert (optimizer.best.number, optimizer.best.value) == (2, 1.0)
    assert optimizer.best.config == trials[2].config


def test_trials_have_all_states_in_the_order_of_their_numbers() -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    trials = optimizer.ask(5)
    assert [trial.number for trial in trials] == [0, 1, 2, 3, 4]
    optimizer.tell(trials[4], 4.5, duration=2.0, metadata={"host": "a", "sizes": (1, np.int64(2))})
    optimizer.tell(1, math.nan)
    optimizer.tell(np.int64(2), None)  # pyright: ignore[reportArgumentType]
    optimizer.abandon(trials[3])
    seen = optimizer.trials
    assert [one.state for one in seen] == ["running", "failed", "failed", "abandoned", "complete"]
    assert [one.value for one in seen] == [None, None, None, None, 4.5]
    assert [one.trial for one in seen] == trials
    assert seen[4].duration == 2.0
    assert seen[4].metadata == {"host": "a", "sizes": [1, 2]}
    assert seen[0].duration is None
    assert seen[1].duration is not None
    assert 0.0 <= seen[1].duration < 5.0


def test_an_abandoned_trial_can_still_be_told_but_not_abandoned_twice() -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    trial = optimizer.ask()
    optimizer.abandon(trial)
    with pytest.raises(TrialError, match="abandoned already"):
        optimizer.abandon(trial)
    optimizer.tell(trial, 3.0)
    assert optimizer.best.value == 3.0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(-3), -3.0),
        (np.array(2.5), 2.5),
        (7, 7.0),
        (Decimal("0.25"), 0.25),
        (Fraction(1, 8), 0.125),
        (-1e29, -1e29),
        (5e-324, 5e-324),
        (-0.0, 0.0),
    ],
)
def test_any_number_is_a_value(given: Any, kept: float) -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    optimizer.tell(optimizer.ask(), given)
    (told,) = optimizer.trials
    assert told.value == kept
    assert type(told.value) is float


class Stubborn:
    def __float__(self) -> float:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    "junk",
    [
        "0.5",
        b"1",
        bytearray(b"1"),
        True,
        np.True_,
        1j,
        np.complex128(1),
        [1.0],
        (1.0,),
        {},
        np.ones(1),
        object(),
        Stubborn(),
    ],
)
def test_what_is_no_number_is_refused_and_the_trial_stays_open(junk: Any) -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    trial = optimizer.ask()
    with pytest.raises(
        DataError, match=r"^The value of trial 0 must be a number, None or NaN, got .* Return the metric"
    ):
        optimizer.tell(trial, junk)
    with pytest.raises(DataError, match="must be a number"):
        optimizer.add_observation(trial.config, junk)
    assert [one.state for one in optimizer.trials] == ["running"]
    optimizer.tell(trial, 1.0)


def test_a_failed_trial_has_no_value() -> None:
    optimizer = Optimizer(SMALL, method="random", seed=0)
    trial = optimizer.ask()
    with pytest.raises(DataError, match=r"a failed trial has no value, got 0\.5"):
        optimizer.tell(trial, 0.5, failed=True)
    with pytest.raises(DataError, match="failed must be True or False, got 'no'"):
        optimizer.tell(trial, failed="no")  # pyright: ignore[reportArgumentType]
    optimizer.tell(trial, math.nan, failed=True)
    assert optimizer.trials[0].state == "failed"


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
@pytest.mark.parametrize("wild", [math.inf, -math.inf, 1e300, Decimal("-1e400")], ids=str)
def test_infinite_values_are_clipped_with_a_warning_that_points_at_the_caller(wild: Any, direction: Any) -> None:
    optimizer = Optimizer(PLANE, method=QUICK, direction=direction, seed=2)
    played(optimizer, bowl, 6)
    with pytest.warns(RuntimeWarning, match=r"The value of trial 6 is .*, kept as -?1e\+30\.") as caught:
        optimizer.tell(optimizer.ask(), wild)
    assert Path(caught[0].filename) == Path(__file__)
    assert optimizer.trials[6].value == (1e30 if wild > 0 else -1e30)
    is_good = (wild > 0) == (direction == "maximize")
    assert (optimizer.best.number == 6) == is_good
    configs = played(optimizer, bowl, 5)
    assert all(PLANE.contains(config) for config in configs)
    assert len({(config["x"], config["y"]) for config in configs}) == 5


def test_large_values_leave_later_asks_sane() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, seed=2)
    configs = played(optimizer, lambda config: 1e29 * bowl(config), 15)
    assert min(map(bowl, configs)) < 0.01


def test_what_cannot_be_told() -> None:
    optimizer, other = (Optimizer(PLANE, method="random", seed=seed) for seed in (0, 1))
    trial = optimizer.ask()
    other.ask()
    with pytest.raises(TrialError) as caught:
        optimizer.tell(7, 0.5)
    assert str(caught.value) == (
        "tell() got trial 7, which ask() never handed out. Use add_observation() for results from elsewhere."
    )
    with pytest.raises(TrialError, match="another configuration than"):
        other.tell(trial, 0.5)
    for unknown in (-1, True, "0", None, [0], 0.0, Trial(3, trial.config)):
        with pytest.raises(TrialError, match="never handed out"):
            optimizer.tell(unknown, 0.5)  # pyright: ignore[reportArgumentType]
        with pytest.raises(TrialError, match=r"explain\(\) got trial"):
            optimizer.explain(unknown)  # pyright: ignore[reportArgumentType]
    optimizer.tell(trial, 0.5)
    for again in (trial, 0):
        with pytest.raises(TrialError, match=r"^Trial 0 was told before: it is complete\. Use add_observation\(\)"):
            optimizer.tell(again, 0.6)
    assert optimizer.best.value == 0.5


def test_users_may_take_their_configurations_apart() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, seed=0)
    played(optimizer, bowl, 5)
    trial = optimizer.ask()
    taken = optimizer.best.config
    taken.clear()
    optimizer.trials[0].config.clear()
    trial.config.pop("x")
    with pytest.raises(TrialError, match="change only copies of its config"):
        optimizer.tell(trial, 1.0)
    optimizer.tell(trial.number, 1.0)
    optimizer.ask()
    assert all(PLANE.contains(one.config) for one in optimizer.trials)


def test_added_observations_are_known_to_the_model() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, seed=0)
    rng = np.random.default_rng(0)
    for config in PLANE.sample(30, rng=rng):
        trial = optimizer.add_observation(config, bowl(config))
        assert trial.origin == "added"
    first = optimizer.ask()
    assert (first.number, first.origin, first.told_before) == (30, "gp", 30)
    assert bowl(first.config) < 0.01
    seen = optimizer.add_observation({"x": 1, "y": np.float64(0.5)}, failed=True, metadata={"from": "a paper"})
    assert seen.config == {"x": 1.0, "y": 0.5}
    assert [(one.state, dict(one.metadata)) for one in optimizer.trials[30:]] == [
        ("running", {}),
        ("failed", {"from": "a paper"}),
    ]
    with pytest.raises(ConfigError, match="'y' is missing"):
        optimizer.add_observation({"x": 0.5}, 1.0)
    assert len(optimizer.trials) == 32
    for _ in range(20):
        assert optimizer.ask().config != seen.config


@pytest.mark.parametrize(("objective", "most"), [(bowl, 1), (lambda config: -number(config, "x"), 10)])
def test_the_region_where_trials_fail_is_avoided(objective: Any, most: int) -> None:
    """Half the Space fails; in the second case values improve up to its edge, and the model alone would go there."""
    optimizer = Optimizer(PLANE, method=QUICK, seed=4)
    configs = played(optimizer, lambda config: None if number(config, "x") > 0.5 else objective(config), 40)
    failures = [number(config, "x") > 0.5 for config in configs]
    assert sum(failures[:8]) >= 3
    assert sum(failures[20:]) <= most
    assert sum(failures[20:]) < sum(failures[:20])
    assert len({(config["x"], config["y"]) for config in configs}) == 40
    lowest = 0.0 if objective is bowl else -0.5
    assert optimizer.best.value == pytest.approx(lowest, abs=0.005)


def test_everything_may_fail() -> None:
    optimizer = Optimizer(SMALL, seed=0)
    assert len({tuple(config.items()) for config in played(optimizer, lambda config: None, 12)}) == 12
    with pytest.raises(NotFittedError):
        _ = optimizer.best


@pytest.mark.parametrize("method", ["gp", "rf", "gp-se", "prior-gp"])
def test_a_constant_objective_and_a_single_observation_still_yield_new_configurations(method: str) -> None:
    optimizer = Optimizer(PLANE, method=method, initial_trials=1, seed=0)
    configs = played(optimizer, lambda config: 0.25, 5)
    assert len({(config["x"], config["y"]) for config in configs}) == 5
    assert optimizer.best.number == 0


def test_every_configuration_of_a_finite_space_comes_exactly_once() -> None:
    for method in ("gp", "random", QUICK):
        optimizer = Optimizer(SMALL, method=method, seed=5)
        configs = played(optimizer, lambda config: number(config, "a"), 12)
        assert sorted(map(SMALL.key, configs)) == sorted(map(SMALL.key, SMALL.grid(10)))
        with pytest.raises(SpaceExhaustedError, match="All 12 configurations of the Space have been handed out"):
            optimizer.ask()
        assert len(optimizer.trials) == 12


def test_a_space_of_constants_has_one_configuration() -> None:
    for method in ("gp", "random", "prior-gp"):
        optimizer = Optimizer(Space(Constant("c", 3), Categorical("only", ["a"])), method=method, seed=0)
        assert played(optimizer, lambda config: 1.0, 1) == [{"c": 3, "only": "a"}]
        with pytest.raises(SpaceExhaustedError):
            optimizer.ask()
        assert optimizer.best.value == 1.0


@pytest.mark.parametrize("parameter", [Float("x", 0.0, 1.0), Int("x", 0, 10**6), Float("x", 1e-9, 1.0, log=True)])
def test_a_single_parameter(parameter: Any) -> None:
    optimizer = Optimizer(Space(parameter), method=QUICK, seed=0)

    def distance(config: Config) -> float:
        return abs(float(parameter.units([config["x"]])[0]) - 0.7)

    assert min(map(distance, played(optimizer, distance, 15))) < 0.01


def test_the_first_trial_is_the_default_where_one_is_stated_and_nobody_wishes_otherwise() -> None:
    space = Space(Float("x", 0.0, 1.0, default=0.125), Int("n", 1, 9))
    first = Optimizer(space, seed=0).ask()
    assert (first.config, first.origin) == ({"x": 0.125, "n": 5}, "default")
    assert Optimizer(space, seed=0, initial_design="sobol").ask().origin == "sobol"
    assert Optimizer(PLANE, seed=0).ask().origin == "sobol"
    added = Optimizer(space, seed=0)
    added.add_observation({"x": 0.5, "n": 2}, 1.0)
    assert added.ask().origin == "sobol"


def test_initial_design_and_its_length_can_be_chosen() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, initial_design="uniform", initial_trials=2, seed=0)
    played(optimizer, bowl, 3)
    assert [one.trial.origin for one in optimizer.trials] == ["uniform", "uniform", "gp"]
    eager = GaussianProcess(restarts=0, minimum_observations=0)
    chosen = Optimizer(PLANE, method=eager, initial_design="sobol", seed=0)
    played(chosen, bowl, 6)
    assert [one.trial.origin for one in chosen.trials] == ["sobol"] * 5 + ["gp"]
    assert Optimizer(PLANE, method=eager, seed=0).ask().origin == "gp"
    random = Optimizer(PLANE, method="random", seed=0)
    played(random, bowl, 8)
    assert {one.trial.origin for one in random.trials} == {"uniform"}


def test_known_bounds_clip_what_the_model_sees_and_not_what_is_kept() -> None:
    optimizer = Optimizer(PLANE, method=QUICK, bounds=(0.0, 0.5), seed=0)
    played(optimizer, bowl, 8)
    optimizer.tell(optimizer.ask(), 99.0)
    assert optimizer.trials[8].value == 99.0
    played(optimizer, bowl, 3)


def test_blas_threads_are_limited_inside_and_restored_after_ask_even_where_it_raises() -> None:
    inside: list[int] = []

    class Watching:
        name = "watching"
        minimum_observations = 0
        acquisition = QUICK.acquisition

        def fit(self, data: Any, *, rng: Any) -> Any:
            inside.extend(threads())
            if len(data) > 0:
                raise ZeroDivisionError
            return GaussianProcess(restarts=0).fit(data, rng=rng)

    optimizer = Optimizer(PLANE, method=Watching(), seed=0)  # pyright: ignore[reportArgumentType]
    with threadpool_limits(limits=2, user_api="blas"):
        before = threads()
        optimizer.tell(optimizer.ask(), 1.0)
        assert threads() == before
        with pytest.raises(ZeroDivisionError):
            optimizer.ask()
        assert threads() == before
    assert set(inside) == {1}
    assert [one.state for one in optimizer.trials] == ["complete"]


def threads() -> list[int]:
    return [int(pool["num_threads"]) for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_nothing_is_printed_and_no_warning_is_given(capfd: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        played(Optimizer(MIXED, seed=0), mixed, 8)
    assert caught == []
    assert capfd.readouterr() == ("", "")


def test_candidates_of_a_conditional_space_are_valid() -> None:
    optimizer = Optimizer(MIXED, method=QUICK, seed=0)
    configs = played(optimizer, mixed, 12)
    assert all(MIXED.validate(config) == config for config in configs)
    assert Encoding(MIXED).encode(configs).shape == (12, len(Encoding(MIXED).columns))
