"""past-weights: what methods explain from trial to trial, and the picture of it."""

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from benchmark.small import source, suite
from headstart.benchmark.job import Job, setup_of
from headstart.benchmark.methods import chosen
from headstart.benchmark.run import given_rows, pool_run
from headstart.benchmark.settings import named_seed, usual_settings
from headstart.benchmark.store import stamp_of
from headstart.data import Explanation
from headstart.errors import SettingsError
from headstart.experiments import recipe_named
from headstart.experiments.frame import Work, carry_out
from headstart.experiments.weights import OWN, PAST_WEIGHTS, SEED, Weights, draw, explained_run, rows_shown, weights_of
from headstart.optimizer.suggestion import PoolDomain
from headstart.protocols import Explains


@pytest.mark.parametrize("name", ["rgpe", "prior-gp"])
def test_the_weights_are_those_of_the_run_that_the_benchmark_records(name: str, tmp_path: Path) -> None:
    tasks = suite()
    settings = usual_settings(tasks, trials=4, given=2)
    (method,) = chosen([name], settings)
    stamp = stamp_of(tasks, settings, method)
    compared = 0
    for space, task in product(("plain", "other & <odd>"), ("first", "second/../..")):
        setup, problem = setup_of(Job(source(), settings, method, space, task, (SEED,), tmp_path, stamp))
        given = given_rows(problem, 2, SEED)
        explanations = explained_run(setup, problem, given, 4)
        recorded = pool_run(setup, problem, settings, SEED).row
        assert isinstance(setup.domain, PoolDomain)
        assert setup.domain.features is not None
        for trial in range(1, 5):
            if recorded[trial] < 0:
                break  # the benchmark stops at the best of the pool, this does not
            seen = [*given, *recorded[1:trial]]
            rng = np.random.default_rng([named_seed("trial", space, task, SEED), trial])
            data = setup.task_data(problem.x[seen], problem.y[seen], setup.domain.features[seen])
            posterior = setup.surrogate.fit(data, rng=rng)
            assert isinstance(posterior, Explains)
            assert explanations[trial - 1].weights == posterior.explain(problem.x[recorded[trial]]).weights
            compared += trial > 1
    assert compared >= 2


def test_smoke_writes_table_and_picture(tmp_path: Path) -> None:
    found = carry_out(PAST_WEIGHTS, Work(source(), tmp_path, smoke=True), "the command")
    with (tmp_path / "table.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["method", "trial", "past_task", "weight"]
    past = [f"past {k}" for k in range(4)]
    for method, names in (("rgpe", [*past, OWN]), ("prior-gp", past)):
        for trial in "1234":
            own = [row for row in rows if (row["method"], row["trial"]) == (method, trial)]
            assert [row["past_task"] for row in own] == names
            if method == "rgpe":  # shares of one ensemble
                assert sum(float(row["weight"]) for row in own) == pytest.approx(1.0, abs=1e-3)
    assert (tmp_path / "weights.png").read_bytes().startswith(b"\x89PNG")
    assert "task first of plain" in found.words[0]
    assert "This is a smoke run" in (tmp_path / "README.md").read_text()


def test_methods_without_weights_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="past-weights: 'gp' gives no weights of past tasks"):
        PAST_WEIGHTS.find(Work(source(), tmp_path, smoke=True, methods=("gp",)))
    with pytest.raises(SettingsError, match="past-weights: 'random' begins with a design"):
        PAST_WEIGHTS.find(Work(source(), tmp_path, smoke=True, methods=("design-sobol",)))


def explanation(own: float | None, **weights: float) -> Explanation:
    numbers = {} if own is None else {"weight_of_target": own}
    return Explanation("", tuple(sorted(weights.items(), key=lambda pair: -pair[1])), numbers)


def test_weights_stand_in_one_order_whatever_explain_puts_first() -> None:
    found = weights_of("m", [explanation(0.1, a=0.2, b=0.7), explanation(None, a=0.6, b=-0.4)])
    assert found.tasks == ("a", "b")
    np.testing.assert_array_equal(found.values, [[0.2, 0.6], [0.7, -0.4]])
    np.testing.assert_array_equal(found.own, [0.1, np.nan])


def test_the_picture_shows_the_heaviest_tasks_first() -> None:
    one = Weights("one", ("a", "b", "c"), np.array([[0.1, 0.1], [-0.9, -0.9], [0.2, 0.2]]), np.full(2, np.nan))
    other = Weights("other", ("a", "b", "c"), np.array([[0.0, 0.0], [0.0, 0.0], [0.9, 0.9]]), np.full(2, np.nan))
    assert rows_shown([one, other]) == ("c", "b", "a")  # .55, .45, .05 on average
    many = tuple(f"task {k:02d}" for k in range(40))
    assert len(rows_shown([Weights("m", many, np.ones((40, 3)), np.ones(3))])) == 12


def test_a_picture_of_one_method_without_a_model_of_its_own(tmp_path: Path) -> None:
    one = Weights("one", ("a", "b"), np.array([[0.1], [0.9]]), np.array([np.nan]))
    draw([one], "title", 0, tmp_path / "weights.png")
    assert (tmp_path / "weights.png").stat().st_size > 1000


def test_it_is_listed() -> None:
    assert recipe_named("past-weights") is PAST_WEIGHTS
