"""The past as it is and made to mislead: rank correlation by hand, what is kept, bounds, reference rows."""

import math
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from headstart.arrays import Array
from headstart.benchmark import past
from headstart.benchmark.past import least_correlated, past_data, past_of, rank_correlation, reference_rows
from headstart.benchmark.problems import Problem, SuiteSpace
from headstart.benchmark.settings import RunSettings
from headstart.encoding import Columns

POOL = np.random.default_rng(0).random((40, 2))


def problem(name: str, y: Array, x: Array = POOL, **more: Any) -> Problem:
    return Problem("s", name, x, np.asarray(y, dtype=np.float64), **more)


def random_problem(name: str, seed: int, **more: Any) -> Problem:
    return problem(name, np.random.default_rng(seed).normal(size=len(POOL)), **more)


def tau_b(a: Array, b: Array) -> float:
    """Return Kendall's tau-b from its definition: pairs counted one by one."""
    concordant, untied_a, untied_b = 0.0, 0, 0
    for i, j in combinations(range(len(a)), 2):
        sign_a, sign_b = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
        concordant += sign_a * sign_b
        untied_a += sign_a != 0
        untied_b += sign_b != 0
    return concordant / math.sqrt(untied_a * untied_b)


def test_what_agrees_least_is_found_once_for_all_jobs_on_a_space(monkeypatch: pytest.MonkeyPatch) -> None:
    tasks = tuple(random_problem(f"past {k}", k) for k in range(20))
    targets = (random_problem("one", 30), random_problem("other", 31))
    space = SuiteSpace("s", Columns.numeric(2), tasks, test=targets)
    calls: list[str] = []

    def counting(some: Any, of: Any) -> Any:
        calls.append("")
        return least_correlated(some, of)

    monkeypatch.setattr(past, "least_correlated", counting)
    settings = RunSettings(past="least-correlated")
    first = past_of(space, targets[0], settings).problems
    assert first == past_of(space, targets[1], settings).problems == least_correlated(tasks, targets)
    assert len(calls) == 1
    past_of(space, targets[0], RunSettings(past="least-correlated", past_tasks=10))
    past_of(SuiteSpace("s", Columns.numeric(2), tasks, test=targets), targets[0], settings)  # another suite
    assert len(calls) == 3
    alone = SuiteSpace("s", Columns.numeric(2), (), test=tasks, leave_one_out=True)
    found = [past_of(alone, task, settings).problems for task in tasks[:3] * 2]
    assert len(calls) == 6
    for task, kept in zip(tasks[:3] * 2, found, strict=True):
        assert kept == least_correlated([one for one in tasks if one is not task], (task,))


# --- rank correlation ------------------------------------------------------------------------------------------------


def test_tau_b_with_ties() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 6, 40).astype(float), rng.integers(0, 4, 40).astype(float)
    b[:20] += a[:20]
    found = rank_correlation(problem("a", a), problem("b", b))
    assert found == pytest.approx(tau_b(a, b), abs=1e-12)
    assert found == pytest.approx(kendalltau(a, b).statistic, abs=1e-12)
    assert found != pytest.approx(kendalltau(a, b, variant="c").statistic, abs=1e-3)
    # by hand, on 30 configurations of which one pair in three is tied in the second: blocks 0 < 0 < 1 tenfold
    y = np.arange(30.0)
    blocks = np.repeat([0.0, 0.0, 1.0], 10)
    expected = 200 / math.sqrt((30 * 29 / 2) * 200)
    assert rank_correlation(problem("a", y, POOL[:30]), problem("b", blocks, POOL[:30])) == pytest.approx(expected)


def test_configurations_are_matched_by_what_they_are() -> None:
    x = np.concatenate([np.zeros((1, 2)), POOL])
    y, other = np.random.default_rng(2).normal(size=(2, 41))
    order = np.random.default_rng(3).permutation(41)
    nearly = np.where(x == 0.0, -0.0, np.clip(x + 1e-13, 0, 1))[order]  # written by another program
    one, same = problem("a", y, x), problem("b", other[order], nearly)
    assert rank_correlation(one, same) == pytest.approx(tau_b(y, other), abs=1e-12)
    assert rank_correlation(same, one) == pytest.approx(tau_b(y, other), abs=1e-12)


def test_only_what_both_have_is_compared() -> None:
    rng = np.random.default_rng(4)
    one, other = rng.random((45, 2)), rng.random((60, 2))
    other[10:45] = one[:35]
    a, b = rng.normal(size=45), rng.normal(size=60)
    expected = tau_b(a[:35], b[10:45])
    assert rank_correlation(problem("a", a, one), problem("b", b, other)) == pytest.approx(expected, abs=1e-12)


def test_at_most_a_hundred_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).random((300, 2))
    a, b = np.random.default_rng(6).normal(size=(2, 300))
    sizes: list[int] = []
    known = set(zip(a, b, strict=True))

    def recorded(one: Array, two: Array, **how: str) -> Any:
        sizes.append(len(set(zip(one, two, strict=True))))
        assert set(zip(one, two, strict=True)) <= known
        assert how == {"variant": "b"}
        return kendalltau(one, two, variant="b")

    monkeypatch.setattr("scipy.stats.kendalltau", recorded)
    first = rank_correlation(problem("a", a, x), problem("b", b, x))
    assert sizes == [100]
    assert rank_correlation(problem("a", a, x), problem("b", b, x)) == first
    assert rank_correlation(problem("a", a, x), problem("c", b, x)) != first  # other names, other configurations


@pytest.mark.parametrize("rows", [29, 30])
def test_below_thirty_a_forest_answers(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    original = past._predicted

    def predicted(task: Problem, *rest: Any) -> Array:
        asked.append(task.name)
        return original(task, *rest)

    monkeypatch.setattr(past, "_predicted", predicted)
    a, b = np.random.default_rng(7).normal(size=(2, rows))
    found = rank_correlation(problem("a", a, POOL[:rows]), problem("b", b, POOL[:rows]))
    assert asked == (["a", "b"] if rows == 29 else [])
    assert -1.0 <= found <= 1.0


def test_tasks_that_share_nothing_are_compared_by_what_forests_predict() -> None:
    rng = np.random.default_rng(8)
    one, other = rng.random((150, 2)), rng.random((120, 2))

    def hill(x: Array) -> Array:
        return -np.square(x - 0.3).sum(axis=1)

    a, b = problem("a", hill(one), one), problem("b", hill(other), other)
    against = problem("c", -hill(other), other)
    assert rank_correlation(a, b) > 0.8
    assert rank_correlation(a, against) < -0.8
    assert rank_correlation(a, b) == rank_correlation(a, b)


def test_a_constant_task_agrees_with_nothing() -> None:
    flat, other = problem("flat", np.ones(40)), random_problem("a", 0)
    assert rank_correlation(flat, other) == rank_correlation(other, flat) == 0.0
    apart = problem("flat", np.ones(40), np.random.default_rng(1).random((40, 2)))
    assert rank_correlation(apart, other) == 0.0


# --- the tenth that agrees least -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "kept"), [(1, 1), (2, 1), (9, 1), (10, 1), (11, 2), (20, 2), (21, 3), (30, 3), (34, 4), (49, 5), (70, 7)]
)
def test_how_many_are_kept(count: int, kept: int) -> None:
    tasks = [random_problem(f"t{seed}", seed) for seed in range(count)]
    assert len(least_correlated(tasks, [random_problem("target", 1000)])) == kept


def test_the_smallest_is_signed_and_averaged_over_targets() -> None:
    rng = np.random.default_rng(9)
    first, second = rng.normal(size=(2, 40))
    tasks = [random_problem(f"t{seed}", 100 + seed) for seed in range(28)]
    tasks[5] = problem("against the first", -first)
    tasks[17] = problem("against both", -(first + second))
    tasks[23] = problem("for both", first + second)
    targets = [problem("one", first), problem("two", second)]
    means = {task.name: (tau_b(task.y, first) + tau_b(task.y, second)) / 2 for task in tasks}
    expected = sorted(means, key=lambda name: means[name])[:3]
    found = [task.name for task in least_correlated(tasks, targets)]
    assert sorted(found) == sorted(expected)
    assert "against both" in found
    assert "for both" not in found
    assert found == [task.name for task in tasks if task.name in found]  # in their order
    assert [task.name for task in least_correlated(tasks[5:6] + tasks[23:24], targets[:1])] == ["against the first"]


# --- the past of a target --------------------------------------------------------------------------------------------


@pytest.fixture
def space() -> SuiteSpace:
    tasks = [random_problem(f"t{seed}", seed) for seed in range(12)]
    return SuiteSpace("s", Columns.numeric(2), tuple(tasks[:6]), tuple(tasks[6:8]), tuple(tasks[8:]))


def names(problems: tuple[Problem, ...]) -> list[str]:
    return [task.name for task in problems]


def test_targets_share_their_past_unless_they_are_one_anothers(space: SuiteSpace) -> None:
    settings = RunSettings()
    shared = [past_of(space, target, settings) for target in space.test]
    assert {one.key for one in shared} == {"s"}
    assert all(one.problems == space.train and one.targets == space.test for one in shared)
    apart = SuiteSpace("s", space.columns, (), (), space.test, leave_one_out=True)
    own = [past_of(apart, target, settings) for target in apart.test]
    assert len({one.key for one in own}) == 4
    for target, one in zip(apart.test, own, strict=True):
        assert one.targets == (target,)
        assert names(one.problems) == [task.name for task in apart.test if task is not target]


def test_the_least_correlated_are_those_of_the_split(space: SuiteSpace) -> None:
    for split in ("test", "validation"):
        settings = RunSettings(tasks=split, past="least-correlated")
        targets = space.targets(split)
        one = past_of(space, targets[0], settings)
        means = [np.mean([tau_b(task.y, target.y) for target in targets]) for task in space.train]
        assert names(one.problems) == [space.train[int(np.argmin(means))].name]
    alone = SuiteSpace("s", space.columns, (), (), space.test, leave_one_out=True)
    target = alone.test[1]
    (kept,) = past_of(alone, target, RunSettings(past="least-correlated")).problems
    others = [task for task in alone.test if task is not target]
    assert kept is min(others, key=lambda task: tau_b(task.y, target.y))
    nothing = SuiteSpace("s", space.columns, (), (), space.test)
    assert past_of(nothing, space.test[0], RunSettings(past="least-correlated")).problems == ()


def test_without_a_past_there_are_no_data(space: SuiteSpace) -> None:
    nothing = SuiteSpace("s", space.columns, (), (), space.test)
    assert past_data(past_of(nothing, space.test[0], RunSettings()), nothing, RunSettings()) is None


@pytest.fixture
def coarse() -> SuiteSpace:
    task = random_problem("a", 1, past_rows=np.array([3, 1, 30]), metafeatures=np.array([1.0, 2.0]))
    return SuiteSpace("s", Columns.numeric(2), (task, random_problem("b", 2)), (), (random_problem("target", 3),))


def data(space: SuiteSpace, **settings: Any) -> Any:
    chosen = RunSettings(**settings)
    return past_data(past_of(space, space.test[0], chosen), space, chosen)


def test_a_past_task_is_what_is_known_of_it(coarse: SuiteSpace) -> None:
    full, (a, b) = coarse.train[0], data(coarse).tasks
    assert (a.name, b.name, len(a), len(b)) == ("a", "b", 3, 40)
    assert np.array_equal(a.x, full.x[[3, 1, 30]])
    assert np.array_equal(a.y, full.y[[3, 1, 30]])
    assert a.metafeatures.tolist() == [1.0, 2.0]
    assert b.metafeatures is None
    assert a.bounds == (full.y.min(), full.y.max())  # the oracle knows the whole pool
    assert [task.bounds for task in data(coarse, scale="honest").tasks] == [None, None]
    assert data(coarse).columns == coarse.columns
    assert np.array_equal(data(coarse).reference, POOL)


def test_a_negated_past(coarse: SuiteSpace) -> None:
    for task, full, true in zip(data(coarse, past="negated").tasks, coarse.train, data(coarse).tasks, strict=True):
        assert np.array_equal(task.y, -true.y)
        assert np.array_equal(task.x, true.x)
        assert task.bounds == (-full.y.max(), -full.y.min())
        assert tau_b(task.y, true.y) == -1.0
    assert data(coarse, past="negated", scale="honest").tasks[0].bounds is None


def test_a_permuted_past(coarse: SuiteSpace) -> None:
    found, again = data(coarse, past="permuted").tasks, data(coarse, past="permuted").tasks
    for task, same, true in zip(found, again, data(coarse).tasks, strict=True):
        assert np.array_equal(task.x, true.x)
        assert np.array_equal(task.y, same.y)
        assert sorted(task.y) == sorted(true.y)
        assert task.bounds == true.bounds
    assert not np.array_equal(found[1].y, data(coarse).tasks[1].y)
    assert abs(tau_b(found[1].y, data(coarse).tasks[1].y)) < 0.35  # three deviations of 40 unrelated pairs


def test_fewer_past_tasks_are_a_part_of_more(space: SuiteSpace) -> None:
    found = [names(past_of(space, space.test[0], RunSettings(past_tasks=count)).problems) for count in range(1, 8)]
    everything = names(space.train)
    assert [len(some) for some in found] == [1, 2, 3, 4, 5, 6, 6]
    for fewer, more in pairwise(found):
        assert set(fewer) <= set(more)
        assert more == [name for name in everything if name in more]  # in their order
    assert found[2] != everything[:3]  # chosen by chance
    assert names(past_of(space, space.test[3], RunSettings(past_tasks=3)).problems) == found[2]  # the same for all


def test_fewer_past_rows_are_a_part_of_what_is_known(coarse: SuiteSpace) -> None:
    full = data(coarse).tasks
    known = [set(zip(task.x[:, 0], task.y, strict=True)) for task in full]
    previous: list[set[tuple[float, float]]] = [set(), set()]
    for count in (2, 3, 10):
        tasks = data(coarse, past_rows=count).tasks
        assert [len(task) for task in tasks] == [min(count, 3), count]
        found = [set(zip(task.x[:, 0], task.y, strict=True)) for task in tasks]
        for more, fewer, everything in zip(found, previous, known, strict=True):
            assert fewer <= more <= everything
        previous = found
        assert [task.bounds for task in tasks] == [task.bounds for task in full]


# --- rows that stand for the Space -----------------------------------------------------------------------------------


def test_one_pool_stands_for_itself() -> None:
    targets = [random_problem("a", 1), random_problem("b", 2, x=POOL.copy())]
    assert np.array_equal(reference_rows(targets), POOL)
    assert np.array_equal(reference_rows(targets[:1]), POOL)
    large = np.random.default_rng(0).random((3000, 2))
    assert np.array_equal(reference_rows([problem("a", np.zeros(3000), large)]), large)


@given(first=st.integers(1, 30), second=st.integers(1, 30), seed=st.integers(0, 5))
def test_different_pools_give_every_row_once(first: int, second: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    one, other = rng.integers(0, 4, (first, 2)) / 4, rng.integers(0, 4, (second, 2)) / 4
    if one.shape == other.shape and np.array_equal(one, other):
        return
    rows = reference_rows([problem("a", np.zeros(first), one), problem("b", np.zeros(second), other)])
    assert sorted(map(tuple, rows.tolist())) == sorted({tuple(row) for row in [*one.tolist(), *other.tolist()]})


def test_many_rows_are_thinned_out() -> None:
    rng = np.random.default_rng(1)
    pools = [rng.random((1500, 2)), rng.random((1400, 2))]
    targets = [problem(str(number), np.zeros(len(pool)), pool) for number, pool in enumerate(pools)]
    rows = reference_rows(targets)
    assert rows.shape == (2048, 2)
    found = set(map(tuple, rows.tolist()))
    assert len(found) == 2048
    assert found <= set(map(tuple, np.concatenate(pools).tolist()))
    assert np.array_equal(rows, reference_rows(targets))
    assert np.allclose(rows.mean(axis=0), 0.5, atol=0.03)  # 0.5 +- 0.0064: spread over the cube
