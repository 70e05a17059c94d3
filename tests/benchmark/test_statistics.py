"""Bootstrap, Friedman, Wilcoxon, Holm and cliques against SciPy, scikit-posthocs and brute force."""

import warnings
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headstart.arrays import Array
from headstart.benchmark.curves import MEASURES, Curves, RunKey
from headstart.benchmark.metrics import Over, averaged
from headstart.benchmark.statistics import (
    bootstrap_difference,
    bootstrap_interval,
    critical_difference,
    friedman,
    holm_adjusted,
    maximal_cliques,
    wilcoxon,
    win_tie_loss,
)
from headstart.errors import DataError, SettingsError

NAN = np.nan


def keys(tasks: dict[str, int], seeds: int) -> tuple[RunKey, ...]:
    """Runs of so many tasks in each space."""
    numbers = [(space, task) for space, count in tasks.items() for task in range(count)]
    return tuple(RunKey(space, str(task), f"test{seed}") for space, task in numbers for seed in range(seeds))


def curves_of(regret: Array, runs: tuple[RunKey, ...] | None = None) -> Curves:
    """Of each run a task of its own where no runs are given."""
    runs = keys({"s": regret.shape[1]}, 1) if runs is None else runs
    unknown = {name: np.full(regret.shape, NAN) for name in MEASURES}
    return Curves(tuple("ABCDEFGHIJKL"[: len(regret)]), runs, **(unknown | {"regret": regret}))


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# --- bootstrap -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("over", ["macro", "micro"])
def test_intervals_are_those_of_a_direct_bootstrap(over: Over) -> None:
    runs = keys({"a": 3, "b": 9, "c": 5}, 3)
    effect = {(run.space, run.task): value for run, value in zip(runs, rng().random(len(runs)), strict=True)}
    regret = rng().normal([[[effect[run.space, run.task]] * 2 for run in runs]], 0.1, (2, len(runs), 2))
    curves = curves_of(regret, runs)
    found = bootstrap_interval(regret, curves, over, rng=rng())

    draws, directly = np.random.default_rng(1), []
    for _ in range(4000):
        spaces = []
        for space in ("a", "b", "c"):
            tasks = sorted({run.task for run in runs if run.space == space})
            chosen = draws.choice(tasks, len(tasks))
            places = [r for task in chosen for r, run in enumerate(runs) if (run.space, run.task) == (space, task)]
            spaces.append(regret[:, places])
        directly.append(
            np.mean([part.mean(1) for part in spaces], axis=0) if over == "macro" else np.concatenate(spaces, 1).mean(1)
        )
    low, high = np.quantile(directly, [0.025, 0.975], axis=0)
    width = (high - low).min()
    np.testing.assert_allclose(found.low, low, atol=0.05 * width)
    np.testing.assert_allclose(found.high, high, atol=0.05 * width)
    np.testing.assert_array_equal(found.mean, averaged(regret, curves, over))
    assert found.low.shape == (2, 2)


def test_a_space_of_two_tasks_has_three_possible_means() -> None:
    """Weights (2, 0), (1, 1), (0, 2) with chances 1/4, 1/2, 1/4."""
    curves = curves_of(np.array([[[0.2], [0.6]]]))
    for level, low, high in [(0.95, 0.2, 0.6), (0.4, 0.4, 0.4)]:
        found = bootstrap_interval(curves.regret, curves, rng=rng(), level=level)
        np.testing.assert_allclose([found.low[0, 0], found.high[0, 0]], [low, high])


def test_spaces_of_one_task_and_seeds_of_a_task_are_not_resampled() -> None:
    seeds = curves_of(rng().random((1, 6, 1)), keys({"a": 1, "b": 1}, 3))
    balanced = np.array([[[0.1], [0.5], [0.5], [0.1], [0.3], [0.3]]])  # every task has the same mean
    for values, curves in [(seeds.regret, seeds), (balanced, curves_of(balanced, keys({"a": 3}, 2)))]:
        for over in ("macro", "micro"):
            found = bootstrap_interval(values, curves, over, rng=rng(), resamples=200)
            np.testing.assert_allclose(found.low, found.mean)
            np.testing.assert_allclose(found.high, found.mean)


def test_a_difference_uses_the_same_resamples_for_both() -> None:
    runs = keys({"a": 4, "b": 6}, 2)
    noise = rng().random((1, len(runs), 3))
    regret = np.concatenate([noise + 0.25, noise, rng().random((1, len(runs), 3))])
    curves = curves_of(regret, runs)
    constant = bootstrap_difference(regret, curves, "A", "B", rng=rng(), resamples=500)
    for values in (constant.mean, constant.low, constant.high):
        np.testing.assert_allclose(values, 0.25)
    one, other = (bootstrap_difference(regret, curves, *pair, rng=rng(), resamples=500) for pair in ("AC", "CA"))
    np.testing.assert_allclose(one.low, -other.high)
    np.testing.assert_allclose(one.mean, averaged(regret, curves, "macro")[0] - averaged(regret, curves, "macro")[2])
    with pytest.raises(DataError, match="no method 'Z'"):
        bootstrap_difference(regret, curves, "A", "Z", rng=rng())


@pytest.mark.parametrize("over", ["macro", "micro"])
def test_intervals_surround_the_mean_of_uneven_runs_and_know_what_is_unknown(over: Over) -> None:
    runs = keys({"a": 4, "b": 7}, 3)[:-2]  # the last task has one seed
    regret = rng().random((3, len(runs), 4))
    regret[1, 5, 2:] = NAN
    curves = curves_of(regret, runs)
    found = bootstrap_interval(regret, curves, over, rng=rng(), resamples=300)
    known = ~np.isnan(averaged(regret, curves, over))
    for values in (found.mean, found.low, found.high):
        np.testing.assert_array_equal(np.isnan(values), ~known)
    assert ((found.low < found.mean) & (found.mean < found.high))[known].all()
    per_run = bootstrap_interval(regret[:, :, 0], curves, over, rng=rng(), resamples=300)
    np.testing.assert_allclose(per_run.low, found.low[:, 0])  # the same generator, the same resamples
    assert per_run.low.shape == (3,)


def test_bootstrap_settings_are_checked() -> None:
    curves = curves_of(np.zeros((1, 2, 1)))
    for wrong in ({"resamples": 0}, {"level": 1.0}, {"level": 0.0}):
        with pytest.raises(SettingsError, match="resamples >= 1 and 0 < level < 1"):
            bootstrap_interval(curves.regret, curves, rng=rng(), **wrong)


# --- tests -----------------------------------------------------------------------------------------------------------


def rank_table(seed: int) -> Array:
    """Ranks of 3 to 8 methods on 51 to 90 blocks; the fewer levels there were, the more ties."""
    draws = np.random.default_rng(seed)
    methods, blocks = int(draws.integers(3, 9)), int(draws.integers(51, 91))
    quality = draws.normal(0.0, 0.4, (methods, 1)) + draws.normal(size=(methods, blocks))
    return stats.rankdata(np.round(quality * draws.choice([1.0, 2.0, 100.0])), axis=0)


def posthocs(ranks: Array, adjust: str | None) -> Array:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its imports and SciPy's small samples say is not our subject
        import scikit_posthocs

        return scikit_posthocs.posthoc_wilcoxon(list(ranks), zero_method="pratt", p_adjust=adjust).to_numpy()


@pytest.mark.parametrize("seed", range(50))
def test_a_rank_table_has_the_p_values_of_scipy_and_scikit_posthocs(seed: int) -> None:
    table = rank_table(seed)
    found = critical_difference(curves_of(table[:, :, None]), 0)
    np.testing.assert_allclose(found.ranks, table.mean(axis=1))
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*table).pvalue, rel=1e-9)
    np.testing.assert_allclose(found.p_values, posthocs(table, None), rtol=1e-9)
    np.testing.assert_allclose(found.adjusted, posthocs(table, "holm"), rtol=1e-9)
    legacy = critical_difference(curves_of(table[:, :, None]), 0, holm=False)
    np.testing.assert_array_equal(legacy.adjusted, found.p_values)


def test_the_rank_tables_have_ties_and_both_outcomes() -> None:
    tables = [rank_table(seed) for seed in range(50)]
    assert sum(bool((table % 1.0 == 0.5).any()) for table in tables) > 20
    rejected = [critical_difference(curves_of(table[:, :, None]), 0).different.any() for table in tables]
    assert 5 < sum(rejected) < 50


@pytest.mark.parametrize("levels", [3, 8, 10**6])
@pytest.mark.parametrize("n", [1, 2, 5, 9, 13, 14, 30, 50, 51, 86, 430])
def test_wilcoxon_is_scipys(n: int, levels: int) -> None:
    draws = np.random.default_rng(n)
    one, other = draws.integers(0, levels, (2, n)).astype(float)
    other = np.where(draws.random(n) < 0.3, other + levels / 4, other)
    if (one == other).all():
        one[0] += 1.0
    expected = stats.wilcoxon(one, other, zero_method="pratt").pvalue
    assert wilcoxon(one, other) == pytest.approx(expected, rel=1e-9)
    assert wilcoxon(other, one) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8))
def test_small_samples_are_exact(differences: list[int]) -> None:
    """Against all ways to give signs to the differences."""
    values = np.array(differences, dtype=float)
    rank = stats.rankdata(np.abs(values))
    found = rank[values > 0].sum()
    sums = np.array([rank @ (np.array(signs) * (values != 0)) for signs in product([0, 1], repeat=len(values))])
    expected = min(1.0, 2.0 * min((sums <= found + 1e-9).mean(), (sums >= found - 1e-9).mean()))
    assert wilcoxon(values, np.zeros(len(values))) == pytest.approx(expected)


def test_pairs_that_all_tie_do_not_differ() -> None:
    assert wilcoxon(np.full(60, 0.3), np.full(60, 0.3)) == 1.0
    assert wilcoxon(np.full(60, 0.3), np.full(60, 0.3 + 1e-10)) == 1.0  # equal to 8 decimals


def test_friedman_of_ties_only_and_of_two() -> None:
    assert friedman(np.full((4, 20), 2.5)) == 1.0
    with pytest.raises(SettingsError, match="at least 3 methods, got 2"):
        friedman(np.array([[1.0, 1.0], [2.0, 2.0]]))


def test_holm_by_hand() -> None:
    np.testing.assert_allclose(holm_adjusted(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm_adjusted(np.array([0.9, 0.6])), [1.0, 1.0])
    assert holm_adjusted(np.array([])).shape == (0,)


@given(st.lists(st.sampled_from([0.001, 0.01, 0.0125, 0.02, 0.025, 0.05, 0.3]), min_size=1, max_size=8))
def test_holm_rejects_what_stepping_down_rejects(p_values: list[float]) -> None:
    """Ascending p against alpha / (m - i), until the first that is not rejected."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    rejected = set()
    for step, i in enumerate(order):
        if p_values[i] * (len(p_values) - step) > 0.05:
            break
        rejected.add(i)
    assert set(np.flatnonzero(holm_adjusted(np.array(p_values)) <= 0.05)) == rejected


# --- cliques ---------------------------------------------------------------------------------------------------------


def cliques_by_definition(joined: Array) -> set[tuple[int, ...]]:
    """All sets of which every pair is joined and to which nothing can be added."""
    vertices = range(len(joined))
    cliques = [
        set(chosen)
        for size in range(1, len(joined) + 1)
        for chosen in combinations(vertices, size)
        if all(joined[i, j] for i, j in combinations(chosen, 2))
    ]
    return {tuple(sorted(clique)) for clique in cliques if not any(clique < other for other in cliques)}


@given(st.integers(1, 7).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.booleans(), min_size=21, max_size=21))))
def test_cliques_are_those_of_the_definition(drawn: tuple[int, list[bool]]) -> None:
    n, edges = drawn
    joined = np.eye(n, dtype=bool)
    for (i, j), edge in zip(combinations(range(n), 2), edges, strict=False):
        joined[i, j] = joined[j, i] = edge
    found = maximal_cliques(joined)
    assert set(found) == cliques_by_definition(joined)
    assert len(set(found)) == len(found)
    assert list(found) == sorted(found)


def test_no_vertex_no_clique() -> None:
    assert maximal_cliques(np.zeros((0, 0), dtype=bool)) == ()


@pytest.mark.parametrize("seed", range(20))
def test_cliques_of_a_diagram_join_what_no_test_parts(seed: int) -> None:
    table = rank_table(seed)
    found = critical_difference(curves_of(table[:, :, None]), 0)
    rejected = (found.adjusted <= 0.05) & (found.friedman is not None and found.friedman <= 0.05)
    np.testing.assert_array_equal(found.different, rejected)
    named = {tuple(sorted(found.methods.index(name) for name in clique)) for clique in found.cliques}
    assert named == {clique for clique in cliques_by_definition(~rejected) if len(clique) > 1}
    for clique in found.cliques:
        places = [found.order.index(name) for name in clique]
        assert places == sorted(places)
    assert list(found.ranks[[found.methods.index(name) for name in found.order]]) == sorted(found.ranks)


def test_a_clique_need_not_be_a_stretch_of_the_axis() -> None:
    """With heavy tails a method between two others can differ from one of them while those two do not differ."""
    draws = np.random.default_rng(13)
    regret = np.round(draws.standard_t(1.2, (5, 60)) + draws.normal(0.0, 0.5, (5, 1)), 2)
    found = critical_difference(curves_of(regret[:, :, None]), 0)
    expected = cliques_by_definition(posthocs(regret, "holm") > 0.05)
    assert {tuple(sorted(found.methods.index(name) for name in clique)) for clique in found.cliques} == expected
    assert found.order == ("E", "C", "B", "A", "D")
    assert ("C", "A", "D") in found.cliques
    assert found.different[found.methods.index("B"), found.methods.index("D")]


# --- critical differences --------------------------------------------------------------------------------------------


def test_seeds_are_averaged_first_unless_asked_for() -> None:
    runs = keys({"a": 12, "b": 8}, 5)
    regret = rng().random((3, len(runs), 2)) + np.array([0.0, 0.05, 0.1])[:, None, None]
    curves = curves_of(regret, runs)
    means = regret[:, :, 1].reshape(3, 20, 5).mean(axis=2)
    found = critical_difference(curves, 1)
    assert (found.blocks, found.at, found.alpha) == (20, 1, 0.05)
    np.testing.assert_allclose(found.ranks, stats.rankdata(means, axis=0).mean(axis=1))
    assert found.friedman == pytest.approx(stats.friedmanchisquare(*means).pvalue)
    assert found.p_values[0, 2] == pytest.approx(stats.wilcoxon(means[0], means[2], zero_method="pratt").pvalue)
    legacy = critical_difference(curves, 1, blocks="runs", holm=False)
    assert legacy.blocks == 100
    assert legacy.friedman == pytest.approx(stats.friedmanchisquare(*regret[:, :, 1]).pvalue)
    whole = stats.wilcoxon(regret[0, :, 1], regret[1, :, 1], zero_method="pratt").pvalue
    assert legacy.adjusted[0, 1] == pytest.approx(whole)


def test_methods_that_are_all_equal() -> None:
    found = critical_difference(curves_of(np.full((4, 10, 1), 0.3)), 0)
    np.testing.assert_array_equal(found.ranks, 2.5)
    np.testing.assert_array_equal(found.adjusted, 1.0)
    assert found.friedman == 1.0
    assert found.cliques == (("A", "B", "C", "D"),)


def test_two_methods_need_no_friedman() -> None:
    better = rng().random(30)
    for worse, cliques in [(better + 0.1, ()), (better[::-1], (("A", "B"),))]:
        found = critical_difference(curves_of(np.stack([better, worse])[:, :, None]), 0)
        assert found.friedman is None
        assert found.adjusted[0, 1] == found.p_values[0, 1]
        if not cliques:
            assert found.cliques == ()
            assert found.different.tolist() == [[False, True], [True, False]]
        else:
            assert {frozenset(clique) for clique in found.cliques} == {frozenset("AB")}


def test_without_a_significant_friedman_nobody_differs() -> None:
    for seed in range(200):
        table = np.random.default_rng(seed).normal(size=(5, 60, 1))
        found = critical_difference(curves_of(table), 0, holm=False)
        if found.friedman is not None and found.friedman > 0.05 and (found.adjusted < 0.05).any():
            break
    else:
        pytest.fail("no example was found")
    assert not found.different.any()
    assert len(found.cliques) == 1


def test_blocks_that_one_method_lacks_are_left_out() -> None:
    regret = rng().random((3, 20, 2))
    short = regret.copy()
    short[1, 5:8, 1] = NAN
    found = critical_difference(curves_of(short), 1)
    kept = [block for block in range(20) if block not in (5, 6, 7)]
    assert found.blocks == 17
    np.testing.assert_array_equal(found.p_values, critical_difference(curves_of(regret[:, kept]), 1).p_values)
    short[1, :, 1] = NAN
    with pytest.raises(DataError, match=r"not one of the tasks has a regret of every method\. Leave out B, or choose"):
        critical_difference(curves_of(short), 1)


def test_few_blocks_part_nobody() -> None:
    found = critical_difference(curves_of(np.array([[[0.1]], [[0.2]], [[0.3]]])), 0)
    assert found.blocks == 1
    np.testing.assert_array_equal(found.adjusted, 1.0)
    assert not found.different.any()


def test_doors_of_critical_difference() -> None:
    with pytest.raises(SettingsError, match="at least 2 methods, got A"):
        critical_difference(curves_of(np.zeros((1, 3, 1))), 0)
    for at in (-1, 2):
        with pytest.raises(SettingsError, match=r"must lie in 0\.\.1"):
            critical_difference(curves_of(np.zeros((2, 3, 2))), at)


# --- wins, ties, losses ----------------------------------------------------------------------------------------------


def test_wins_ties_and_losses_by_hand() -> None:
    regret = np.array([[0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, NAN], [0.0, 0.3, 0.4, 0.1]])[:, :, None]
    found = win_tie_loss(curves_of(regret, keys({"a": 2}, 2)), 0)
    assert found.wins.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert found.ties.tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    np.testing.assert_array_equal(found.losses, found.wins.T)
    tasks = win_tie_loss(curves_of(regret, keys({"a": 2}, 2)), 0, blocks="tasks")  # means .15 .2 .15 and .35 - .25
    assert tasks.wins.tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    assert tasks.ties.tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 0]]


def test_wins_ties_and_losses_of_known_methods_add_up() -> None:
    regret = rng().integers(0, 3, (4, 30, 1)) / 10
    found = win_tie_loss(curves_of(regret), 0)
    total = found.wins + found.ties + found.losses
    np.testing.assert_array_equal(total, 30 * (1 - np.eye(4)))
    assert found.wins[1, 2] == sum(one < other for one, other in zip(regret[1, :, 0], regret[2, :, 0], strict=True))
