"""Means over runs, ranks, areas, trials needed and calibration, against direct formulas."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from headstart.arrays import Array
from headstart.benchmark.curves import MEASURES, Curves, RunKey
from headstart.benchmark.metrics import (
    LEVELS,
    Over,
    adtm,
    area_under_regret,
    averaged,
    averaged_known,
    calibration,
    covered,
    equal_random_trials,
    mean_pool_rank,
    mean_rank,
    mean_regret,
    negative_log_density,
    places_by_space,
    pooled,
    ranks,
    trials_to_reach,
)
from headstart.errors import DataError, SettingsError

NAN = np.nan
UNEVEN = tuple(RunKey(space, task, "test0") for space, task in [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")])
"""Three runs of space a, one of space b in between."""


def curves_of(regret: Array | list[list[list[float]]], runs: tuple[RunKey, ...] = UNEVEN, **measures: Array) -> Curves:
    regret = np.asarray(regret)
    unknown = {name: np.full(regret.shape, NAN) for name in MEASURES}
    methods = tuple(f"m{m}" for m in range(len(regret)))
    return Curves(methods, runs[: regret.shape[1]], **(unknown | {"regret": regret} | measures))


# --- means over runs -------------------------------------------------------------------------------------------------


def test_macro_weighs_spaces_and_micro_runs() -> None:
    curves = curves_of([[[3.0, 0.3], [8.0, 0.8], [6.0, 0.6], [9.0, 0.9]]])
    np.testing.assert_allclose(averaged(curves.regret, curves, "macro"), [[7.0, 0.7]])  # (6 + 8) / 2
    np.testing.assert_allclose(averaged(curves.regret, curves, "micro"), [[6.5, 0.65]])
    np.testing.assert_allclose(averaged(curves.regret[:, :, 0], curves, "macro"), [7.0])  # one number per run
    assert {space: places.tolist() for space, places in places_by_space(curves).items()} == {"a": [0, 2, 3], "b": [1]}


@pytest.mark.parametrize("over", ["macro", "micro"])
def test_an_unknown_run_makes_only_its_own_method_unknown(over: Over) -> None:
    regret = np.full((2, 4, 2), 0.5)
    regret[1, 2, 1] = NAN
    np.testing.assert_array_equal(averaged(regret, curves_of(regret), over), [[0.5, 0.5], [0.5, NAN]])


def test_means_over_known_runs_leave_out_the_others() -> None:
    values = np.array([[1.0, 10.0, 2.0, NAN], [1.0, NAN, 4.0, 7.0], [NAN, NAN, NAN, NAN]])
    curves = curves_of(values[:, :, None])
    np.testing.assert_allclose(averaged_known(values, curves, "micro"), [13 / 3, 4.0, NAN])
    np.testing.assert_allclose(averaged_known(values, curves, "macro"), [5.75, 4.0, NAN])


def test_pooled_weighs_every_known_trial_of_the_range() -> None:
    values = np.array([[[9.0, 1.0, 3.0], [9.0, 7.0, NAN], [9.0, 5.0, NAN], [9.0, NAN, NAN]]])
    curves = curves_of(values)
    np.testing.assert_allclose(pooled(values, curves, "micro"), [4.0])
    np.testing.assert_allclose(pooled(values, curves, "macro"), [5.0])  # (1 + 3 + 5) / 3 and 7
    np.testing.assert_allclose(pooled(values, curves, "macro", 2), [3.0])
    np.testing.assert_allclose(pooled(values, curves, "micro", 0, 0), [9.0])
    for first, last in [(2, 1), (-1, 2), (1, 3)]:
        with pytest.raises(SettingsError, match="0 <= first <= last <= 2 must hold"):
            pooled(values, curves, "micro", first, last)


# --- regret and ranks ------------------------------------------------------------------------------------------------

few_levels = st.sampled_from([0.0, 0.1, 0.2, 0.5, NAN])


@given(arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 4), st.integers(1, 4)), elements=few_levels))
def test_ranks_are_scipys_among_the_known(regret: Array) -> None:
    np.testing.assert_array_equal(ranks(regret), stats.rankdata(regret, axis=0, nan_policy="omit"))


def test_ranks_of_a_run_by_hand() -> None:
    regret = np.array([0.2, 0.1, NAN, 0.2, 0.0, 0.2])[:, None]
    np.testing.assert_array_equal(ranks(regret)[:, 0], [4.0, 2.0, NAN, 4.0, 1.0, 4.0])


def test_regrets_that_agree_to_eight_decimals_are_ties() -> None:
    regret = np.array([0.1, 0.1 + 4e-9, 0.1 + 2e-8])[:, None]
    np.testing.assert_array_equal(ranks(regret)[:, 0], [1.5, 1.5, 3.0])


def test_ranks_add_up_and_follow_their_methods() -> None:
    rng = np.random.default_rng(0)
    regret = rng.integers(0, 5, (7, 30, 11)) / 10
    found = ranks(regret)
    np.testing.assert_allclose(found.sum(axis=0), 28.0)
    order = rng.permutation(7)
    np.testing.assert_array_equal(ranks(regret[order]), found[order])


def test_ranks_of_the_whole_benchmark_take_well_below_a_second() -> None:
    regret = np.random.default_rng(0).random((10, 430, 101))
    start = time.process_time()
    ranks(regret)
    assert time.process_time() - start < 0.5


def test_named_means_are_means_of_what_they_say() -> None:
    regret = np.random.default_rng(1).random((3, 4, 5))
    curves = curves_of(regret, pool_rank=np.arange(60.0).reshape(3, 4, 5))
    a, b = [0, 2, 3], [1]
    np.testing.assert_allclose(mean_regret(curves), (regret[:, a].mean(1) + regret[:, b].mean(1)) / 2)
    np.testing.assert_allclose(mean_regret(curves, "micro"), regret.mean(1))
    np.testing.assert_allclose(adtm(curves), regret.mean(1))
    rank = stats.rankdata(regret, axis=0)
    np.testing.assert_allclose(mean_rank(curves), (rank[:, a].mean(1) + rank[:, b].mean(1)) / 2)
    np.testing.assert_allclose(mean_rank(curves, "micro"), rank.mean(1))
    np.testing.assert_allclose(mean_pool_rank(curves, "micro")[1], [27.5, 28.5, 29.5, 30.5, 31.5])


def test_a_method_of_few_trials_is_unknown_afterwards_and_not_ranked() -> None:
    regret = np.array([[[0.4, 0.1, 0.1]], [[0.4, 0.2, NAN]], [[0.4, 0.3, 0.0]]])
    np.testing.assert_array_equal(mean_rank(curves_of(regret)), [[2.0, 1.0, 2.0], [2.0, 2.0, NAN], [2.0, 3.0, 1.0]])


# --- one number per run ----------------------------------------------------------------------------------------------


def test_area_is_the_trapezoidal_rule_per_trial() -> None:
    regret = np.sort(np.random.default_rng(2).random((2, 4, 9)))[:, :, ::-1]
    regret[1, 0, 7:] = NAN
    curves = curves_of(regret)
    for until in (1, 5, 8):
        expected = np.trapezoid(regret[:, :, : until + 1], axis=2) / until
        np.testing.assert_allclose(area_under_regret(curves, until), expected)
    np.testing.assert_array_equal(area_under_regret(curves), area_under_regret(curves, 8))
    assert np.isnan(area_under_regret(curves)[1, 0])
    assert not np.isnan(area_under_regret(curves, 6)).any()
    for until in (0, 9):
        with pytest.raises(SettingsError, match=r"until must lie in 1\.\.8"):
            area_under_regret(curves, until)


def test_trials_needed_to_reach_a_regret() -> None:
    regret = [[[0.5, 0.3, 0.1], [0.05, 0.0, 0.0], [0.5, 0.5, 0.3]], [[0.5, 0.2, NAN], [0.5, 0.05, NAN], [0.5] * 3]]
    found = trials_to_reach(curves_of(regret), 0.1)
    np.testing.assert_array_equal(found, [[2.0, 0.0, np.inf], [NAN, 1.0, np.inf]])
    within_rounding = curves_of([[[0.5, 0.1 + 1e-12, 0.0]]])
    assert trials_to_reach(within_rounding, 0.1)[0, 0] == 1.0


def test_equal_random_trials_by_hand() -> None:
    random = [0.8, 0.4, 0.2, 0.2, 0.1]
    method = [0.8, 0.3, 0.2, 0.15, 0.05]
    worse = [0.9, 0.8, 0.7, 0.6, NAN]
    curves = replace(curves_of([[random], [method], [worse]]), methods=("random", "m", "w"))
    found = equal_random_trials(curves)
    np.testing.assert_allclose(found[0], [0.0, 1.0, 2.0, 2.0, 4.0])  # on a plateau the earliest trial counts
    np.testing.assert_allclose(found[1], [0.0, 1.5, 2.0, 3.5, np.inf])
    np.testing.assert_allclose(found[2], [0.0, 0.0, 0.25, 0.5, NAN])


@pytest.mark.parametrize("over", ["macro", "micro"])
def test_equal_random_trials_inverts_the_curve_of_random_search(over: Over) -> None:
    rng = np.random.default_rng(3)
    regret = np.sort(rng.random((3, 4, 20)))[:, :, ::-1]
    regret[0, :, 15:] = NAN  # random search was recorded less long
    curves = replace(curves_of(regret), methods=("Random", "a", "b"))
    means = averaged(regret, curves, over)
    inside = (means <= means[0, 0]) & (means >= means[0, 14])
    expected = np.interp(-means, -means[0, :15], np.arange(15.0))
    found = equal_random_trials(curves, "Random", over)
    np.testing.assert_allclose(found[inside], expected[inside], atol=1e-5)
    assert np.isinf(found[1:][means[1:] < means[0, 14] - 1e-7]).all()
    assert inside.sum() > 20
    assert np.isinf(found).any()
    with pytest.raises(DataError, match="no method 'random'"):
        equal_random_trials(curves)


# --- calibration -----------------------------------------------------------------------------------------------------


def predictions(shape: tuple[int, int, int], seed: int) -> Curves:
    """A method whose predictions are right: values are drawn from them."""
    rng = np.random.default_rng(seed)
    mean, std = rng.random(shape), rng.uniform(0.01, 0.3, shape)
    value = rng.normal(mean, std)
    for measure in (mean, std, value):
        measure[:, :, 0] = NAN  # nothing is chosen before the first trial
    runs = tuple(RunKey("ab"[r % 2], str(r), "test0") for r in range(shape[1]))
    return curves_of(np.zeros(shape), runs, mean=mean, std=std, value=value)


def test_density_and_intervals_are_scipys() -> None:
    curves = predictions((2, 6, 8), 0)
    law = stats.norm(curves.mean, curves.std)
    np.testing.assert_allclose(negative_log_density(curves), -law.logpdf(curves.value))
    for level in LEVELS:
        low, high = law.interval(level)
        inside = np.where(np.isnan(curves.mean), NAN, (low <= curves.value) & (curves.value <= high))
        np.testing.assert_array_equal(covered(curves, level), inside)
    for level in (0.0, 1.0):
        with pytest.raises(SettingsError, match="level must lie between 0 and 1"):
            covered(curves, level)


@pytest.mark.parametrize("over", ["macro", "micro"])
def test_right_predictions_cover_what_they_promise(over: Over) -> None:
    found = calibration(predictions((1, 200, 41), 1), over)
    for level, share in found.coverage.items():
        assert abs(share[0] - level) < 4.0 * np.sqrt(level * (1.0 - level) / 8000)
    assert found.predictions.tolist() == [8000]


def test_wrong_predictions_show() -> None:
    curves = predictions((1, 100, 21), 2)
    right = calibration(curves)
    hopeful = calibration(replace(curves, mean=curves.mean + 0.3))
    too_sure = calibration(replace(curves, std=curves.std / 4.0))
    for wrong in (hopeful, too_sure):
        assert wrong.density[0] > right.density[0]
        assert wrong.coverage[0.95][0] < right.coverage[0.95][0] - 0.1


def test_calibration_of_a_range_of_trials_and_of_one_space() -> None:
    curves = predictions((2, 5, 9), 3)
    curves.mean[0, 2, 4:] = NAN  # that run found the best of its pool and stopped
    curves.mean[1] = NAN  # a method without predictions
    law = -stats.norm(curves.mean, curves.std).logpdf(curves.value)
    a, b = law[0, [0, 2, 4], 3:7], law[0, [1, 3], 3:7]
    found = calibration(curves, "macro", 3, 6)
    assert found.density[0] == pytest.approx((np.nanmean(a) + b.mean()) / 2.0)
    assert calibration(curves, "micro", 3, 6).density[0] == pytest.approx(np.nanmean(law[0, :, 3:7]))
    assert calibration(curves.of_space("a"), "macro", 3, 6).density[0] == pytest.approx(np.nanmean(a))
    assert found.predictions.tolist() == [5 * 4 - 3, 0]
    assert (found.methods, found.first, found.last) == (("m0", "m1"), 3, 6)
    assert np.isnan(found.density[1])
    assert all(np.isnan(found.coverage[level][1]) for level in LEVELS)
    assert calibration(curves).last == 8


def test_a_deviation_of_zero_keeps_densities_finite() -> None:
    shape = (1, 1, 2)
    curves = curves_of(
        np.zeros(shape), value=np.array([[[0.5, 0.5]]]), mean=np.array([[[0.5, 0.6]]]), std=np.zeros(shape)
    )
    assert np.isfinite(negative_log_density(curves)).all()
    np.testing.assert_array_equal(covered(curves, 0.5), [[[1.0, 0.0]]])
