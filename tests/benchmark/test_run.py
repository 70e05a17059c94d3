"""One run follows the protocol of HPO-B's reference driver."""

from dataclasses import replace

import numpy as np
import pytest

from benchmark.small import problem, suite
from headstart.benchmark.methods import Method, chosen, competitors
from headstart.benchmark.problems import Problem
from headstart.benchmark.run import NOTHING, RunRecord, given_rows, pool_run, space_run
from headstart.benchmark.settings import RunSettings, named_seed, usual_settings
from headstart.encoding import Columns, Encoding
from headstart.errors import SettingsError
from headstart.optimizer.preparation import Choices, prepared
from headstart.optimizer.suggestion import PoolDomain, Setup
from headstart.surrogates import GaussianProcess, Random

SETTINGS = RunSettings(trials=12)


def setup(task: Problem, method: Method, settings: RunSettings = SETTINGS) -> Setup:
    pool = PoolDomain(task.x, Columns.numeric(task.x.shape[1]), np.ones(len(task.y), dtype=bool))
    bounds = task.bounds if settings.scale == "oracle" else None
    design = method.design if method.design is not None else "auto"
    choices = Choices(method.surrogate, design, method.design_trials, None, bounds)
    return prepared(choices, None, encoding=None, pool=pool, rng=np.random.default_rng(0))


def record(task: Problem, settings: RunSettings = SETTINGS, seed: str = "test0", name: str = "random") -> RunRecord:
    (method,) = chosen([name], settings)
    return pool_run(setup(task, method, settings), task, settings, seed)


def test_entry_zero_is_what_the_given_rows_reached_and_entry_t_the_best_of_t_choices() -> None:
    task = problem("s", "t", 0)
    found = record(task)
    low, high = task.y.min(), task.y.max()
    seen = list(task.given["test0"])
    for trial in range(13):
        if trial:
            seen.append(int(found.row[trial]))
            assert found.value[trial] == pytest.approx((task.y[seen[-1]] - low) / (high - low), abs=1e-14)
        best = task.y[seen].max()
        assert found.regret[trial] == pytest.approx((high - best) / (high - low), abs=1e-14)
        assert found.pool_rank[trial] == 1 + (task.y > best).sum()
    assert len(set(seen)) == len(seen) == 17


def test_the_run_ends_at_the_best_of_the_pool_and_is_padded() -> None:
    task = problem("s", "t", 0)
    long = replace(SETTINGS, trials=60)
    found = record(task, long)
    reached = int(np.flatnonzero(found.regret == 0.0)[0])
    assert reached >= 1
    assert (found.regret[reached:] == 0.0).all()
    assert (found.pool_rank[reached:] == 1).all()
    assert len(found.regret) == 61
    assert (found.row[reached + 1 :] == NOTHING).all()
    assert np.isnan(found.cpu_ms[reached + 1 :]).all()


def test_a_choice_is_made_even_where_the_given_rows_hold_the_best() -> None:
    task = problem("s", "t", 0)
    best = int(np.argmax(task.y))
    found = record(replace(task, given={"test0": (best, 0, 1, 2, 3)}))
    assert found.regret[0] == 0.0
    assert found.row[1] != NOTHING
    assert (found.row[2:] == NOTHING).all()


def test_a_constant_pool_has_no_regret() -> None:
    task = problem("s", "t", 0)
    found = record(replace(task, y=np.full(len(task.y), 0.25)), name="gp")
    assert (found.regret == 0.0).all()


def test_a_small_pool_ends_before_the_trials_do() -> None:
    task = problem("s", "t", 0, rows=8)
    found = record(task, replace(SETTINGS, trials=30))
    assert found.regret[-1] == 0.0
    assert (found.row != NOTHING).sum() <= 3


def test_from_nothing_everything_is_chosen() -> None:
    settings = replace(SETTINGS, given=0, trials=5)
    for name in ("random", "gp"):
        found = record(problem("s", "t", 0), settings, name=name)
        assert found.regret[0] == 1.0
        assert np.isnan(found.pool_rank[0])
        assert (found.row[1:] != NOTHING).all()


def test_predictions_are_of_the_choice_in_units_of_the_range() -> None:
    task = problem("s", "t", 0)
    found = record(task, name="gp")
    made = setup(task, chosen(["gp"], SETTINGS)[0])
    assert isinstance(made.domain, PoolDomain)
    low, high = task.bounds
    seen = [*task.given["test0"], *(int(row) for row in found.row[1:2])]
    rng = np.random.default_rng([named_seed("trial", "s", "t", "test0"), 2])
    posterior = GaussianProcess().fit(made.task_data(task.x[seen], task.y[seen]), rng=rng)
    row = int(found.row[2])
    prediction = posterior.predict(task.x[row : row + 1])
    scale = posterior.scale
    mean = scale.inverse(prediction.mean)[0]
    unit = scale.inverse(np.array([1.0]))[0] - scale.inverse(np.array([0.0]))[0]
    assert found.mean[2] == pytest.approx((mean - low) / (high - low), rel=1e-9)
    assert found.std[2] == pytest.approx(unit * prediction.noisy_std[0] / (high - low), rel=1e-9)
    assert found.cpu_ms[2] > 0.0


def test_random_choices_are_uniform_and_depend_on_the_seed() -> None:
    task = problem("s", "t", 0, rows=20, given=False)
    settings = replace(SETTINGS, trials=1)
    counts = np.zeros(20)
    for seed in range(800):
        counts[record(task, settings, f"test{seed}").row[1]] += 1
    # the five given rows are drawn, too, so every row is chosen 40 times on average
    assert ((counts - 40) ** 2 / 40).sum() < 43.8  # chi squared of 19 degrees of freedom, 0.1 %


def test_given_rows_are_the_suites_or_drawn_by_name() -> None:
    task = problem("s", "t", 0)
    assert given_rows(task, 5, "test0") == list(task.given["test0"])
    assert given_rows(task, 3, "test0") == list(task.given["test0"])[:3]
    drawn = given_rows(task, 5, "test7")
    assert drawn == given_rows(task, 5, "test7")
    assert len(set(drawn)) == 5
    assert drawn != given_rows(task, 5, "test8")
    assert given_rows(task, 0, "test0") == []
    more = given_rows(task, 9, "test0")
    assert more[:5] == list(task.given["test0"])
    assert len(set(more)) == 9


def test_the_scale_decides_what_the_method_is_told() -> None:
    task = problem("s", "t", 0)
    told: list[tuple[float, float] | None] = []

    class Spy(Random):
        def fit(self, data, *, rng):  # type: ignore[no-untyped-def]
            told.append(data.bounds)
            return super().fit(data, rng=rng)

    for scale in ("oracle", "honest"):
        settings = replace(SETTINGS, scale=scale, trials=1)
        pool_run(setup(task, Method("spy", Spy(minimum_observations=0)), settings), task, settings, "test0")
    assert told == [task.bounds, None]


def test_a_design_alone_gives_every_configuration() -> None:
    task = problem("s", "t", 0)
    settings = replace(SETTINGS, given=0, trials=8)
    found = record(task, settings, name="design-sobol")
    assert (found.row[1:] != NOTHING).sum() == 8
    assert np.isnan(found.mean).all()


def test_in_a_space_the_function_is_asked() -> None:
    task = suite().spaces[0].test[0]
    assert task.objective is not None
    settings = replace(SETTINGS, continuous=True, trials=8)
    choices = Choices(GaussianProcess(restarts=0), "auto", None, None, (task.objective.low, task.objective.high))
    made = prepared(choices, None, encoding=Encoding(task.objective.space), pool=None, rng=np.random.default_rng(0))
    found = space_run(made, task, task.objective, settings, "test0")
    rows = given_rows(task, 5, "test0")
    assert found.regret[0] == pytest.approx((2.0 - task.y[rows].max()) / 1.5)
    assert (np.diff(found.regret) <= 0).all()
    assert found.regret[-1] < 0.01  # a smooth hill of two columns
    assert (found.row == NOTHING).all()
    again = space_run(made, task, task.objective, settings, "test0")
    assert np.array_equal(found.regret, again.regret)


def test_settings_are_checked_and_follow_the_suite() -> None:
    assert usual_settings(suite(), given=None, trials=3) == RunSettings(trials=3)
    for wrong in ({"trials": 0}, {"given": -1}, {"scale": "known"}, {"past": "false"}, {"tasks": "train"}):
        with pytest.raises(SettingsError, match=r"^Benchmark: \w+ must be"):
            RunSettings(**wrong)  # type: ignore[arg-type]


def test_every_surrogate_and_design_competes() -> None:
    import headstart.initial_designs
    import headstart.surrogates

    names = [method.name for method in competitors(SETTINGS)]
    assert {getattr(headstart.surrogates, listed).name for listed in headstart.surrogates.__all__} <= set(names)
    assert {
        f"design-{getattr(headstart.initial_designs, one).name}" for one in headstart.initial_designs.__all__
    } <= set(names)
    assert len(names) == len(set(names))
    with pytest.raises(SettingsError, match=r"no method named 'gp-x'\. Did you mean 'gp"):
        chosen(["gp-x"], SETTINGS)
    with pytest.raises(SettingsError, match="named twice"):
        chosen(["gp", "gp"], SETTINGS)
