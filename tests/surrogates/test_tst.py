"""TST-R, TST-M and what they share: weights and first query by hand, presets, scales, bandwidths, descriptors."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from headstart.data import MetaDataset, TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.gaussian_process import condition
from headstart.surrogates import TSTM, TSTR, GaussianProcess
from headstart.surrogates.bandwidth import GRID, held_out
from headstart.surrogates.tst_m import metafeature_distances
from headstart.surrogates.two_stage import TwoStagePosterior, ranking_similarity, target_units


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


POOL = np.linspace(0, 1, 41)[:, None]
DESCRIBED = np.array([0.2, 0.7])


def hill(top: float) -> np.ndarray:
    return 0.9 - (POOL[:, 0] - top) ** 2


def past_of(*tops: float, sign: float = 1.0) -> MetaDataset:
    tasks = [
        TaskData(POOL, sign * hill(top), name=f"hill-{top}", metafeatures=DESCRIBED + 0.1 * s)
        for s, top in enumerate(tops)
    ]
    return MetaDataset(tuple(tasks))


def target(rows: list[int], y: np.ndarray, **settings: object) -> TaskData:
    return TaskData(POOL[rows], y[rows], name="new", metafeatures=DESCRIBED, **settings)  # type: ignore[arg-type]


def fitted(recipe: TSTR | TSTM, data: TaskData) -> TwoStagePosterior:
    posterior = recipe.fit(data, rng=rng())
    assert isinstance(posterior, TwoStagePosterior)
    return posterior


# ---------------------------------------------------------------- weights


def test_weights_by_hand() -> None:
    y = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    same, opposite, one_wrong = y * 2, -y, np.array([0.1, 0.3, 0.2, 0.4, 0.5])
    features = np.stack([same, opposite, one_wrong], axis=1)
    found = ranking_similarity(features, y, bandwidth=0.2, distance="discordance")
    # one of ten pairs: delta(0.1 / 0.2) = 0.75 (1 - 0.25)
    np.testing.assert_allclose(found, [0.75, 0, 0.5625])
    alike = ranking_similarity(features[:1], y[:1], bandwidth=0.2, distance="discordance")
    np.testing.assert_allclose(alike, 0.75)


def test_printed_distance_forgives_no_pair() -> None:
    y = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    features = np.stack([y, np.array([0.1, 0.3, 0.2, 0.4, 0.5])], axis=1)
    for bandwidth, expected in ((0.1, [0.75, 0.0]), (2.0, [0.75, 0.375])):
        # one swapped pair differs in two of 25 entries: distance sqrt(2), and delta(sqrt(2) / 2) = 0.75 (1 - 0.5)
        found = ranking_similarity(features, y, bandwidth=bandwidth, distance="euclidean", fitted=2 * y)
        np.testing.assert_allclose(found, expected)


def test_a_source_of_the_targets_order_counts_fully_and_a_reversed_one_not_at_all() -> None:
    rows, y = [2, 9, 14, 30, 38], hill(0.3)
    recipe = TSTR(bandwidth=0.1).pretrain(MetaDataset((*past_of(0.3).tasks, *past_of(0.3, sign=-1.0).tasks)), rng=rng())
    np.testing.assert_allclose(fitted(recipe, target(rows, y)).weights, [0.75, 0.0])


@pytest.mark.parametrize("preset", ["reference", "formula"])
def test_first_query_is_the_best_mean_of_the_past(preset: str) -> None:
    recipe = TSTR(preset=preset).pretrain(past_of(0.2, 0.3, 0.7), rng=rng())  # type: ignore[arg-type]
    posterior = fitted(recipe, target([], hill(0.5)))
    prediction = posterior.predict(POOL)
    np.testing.assert_array_equal(prediction.std, 1000.0)
    means = np.stack([(hill(top) - hill(top).min()) / np.ptp(hill(top)) for top in (0.2, 0.3, 0.7)], axis=1)
    expected = means.mean(axis=1)
    assert np.argmax(recipe.acquisition(prediction, posterior.incumbent)) == np.argmax(expected)
    np.testing.assert_allclose(prediction.mean, expected * 3 / 4, atol=0.02)  # three of four equal weights


def test_posterior_is_the_weighted_mean() -> None:
    """Equation by equation, from the parts."""
    rows, y = [1, 12, 25, 40], 0.8 * hill(0.35)
    for preset, own_weight in (("reference", 1.0), ("formula", 0.75)):
        recipe = TSTR(preset=preset, bandwidth=0.5).pretrain(past_of(0.3, 0.5), rng=rng())  # type: ignore[arg-type]
        posterior = fitted(recipe, target(rows, y))
        features = recipe.features(POOL)
        z = y[rows] if preset == "reference" else (y[rows] - y[rows].min()) / np.ptp(y[rows])
        order = np.argsort(z)
        own = condition(
            POOL[rows][order], z[order], recipe.process.learn(POOL[rows][order], z[order], rng=rng()), kind="se"
        )
        kappa = ranking_similarity(features[rows], y[rows], bandwidth=0.5, distance="discordance")
        assert 0 < kappa.min() < 0.75
        mean, std = own.predict(POOL)
        expected = (own_weight * mean + features @ kappa) / (0.75 + kappa.sum())
        prediction = posterior.predict(POOL)
        np.testing.assert_allclose(prediction.mean, expected, atol=1e-9)
        np.testing.assert_allclose(prediction.std, std, atol=1e-9)
        assert posterior.incumbent == pytest.approx(z.max())


# ---------------------------------------------------------------- scales


def test_raw_scores_stay_what_they_are() -> None:
    y = np.array([0.3, 0.8])
    assert target_units("raw", y, None).scale.apply(y).tolist() == [0.3, 0.8]
    # minimising an error rate is maximising an accuracy
    np.testing.assert_allclose(target_units("raw", y - 1.0, None).scale.apply(y - 1.0), y)


@pytest.mark.parametrize("y", [np.array([3.0, 5.0, 4.0]), np.array([-0.5, 0.5, 0.0]), np.array([-2.0, -1.0, -1.5])])
def test_raw_responses_of_another_unit_are_scaled_by_their_extremes(y: np.ndarray) -> None:
    np.testing.assert_allclose(target_units("raw", y, None).scale.apply(y), [0.0, 1.0, 0.5])


@pytest.mark.parametrize("kind", ["raw", "minmax"])
def test_known_bounds_scale_target_and_past_alike(kind: str) -> None:
    y = np.array([0.3, 0.8])
    units = target_units(kind, y, (0.2, 1.2))  # type: ignore[arg-type]
    np.testing.assert_allclose(units.scale.apply(y), [0.1, 0.6])
    np.testing.assert_allclose(units.to_response(np.array([0.1, 0.6])), y)


def test_raw_scores_are_never_believed_beyond_what_a_score_can_be() -> None:
    """The authors' weight 1 over 3/4 + ... overshoots; a believed trial must not change the scale of the others."""
    units = target_units("raw", np.array([0.3, 0.8]), None)
    np.testing.assert_allclose(units.to_response(np.array([-0.2, 0.5, 1.3])), [0.0, 0.5, 1.0])
    errors = target_units("raw", np.array([-0.3, -0.8]), None)
    np.testing.assert_allclose(errors.to_response(np.array([-0.2, 0.5, 1.3])), [-1.0, -0.5, 0.0])


def test_an_error_rate_is_tuned_like_an_accuracy() -> None:
    rows, y = [3, 11, 20, 33], hill(0.4)
    accuracy = fitted(TSTR(bandwidth=0.1).pretrain(past_of(0.3, 0.5), rng=rng()), target(rows, y)).predict(POOL)
    errors = MetaDataset(tuple(replace(task, y=task.y - 1.0) for task in past_of(0.3, 0.5).tasks))
    error = fitted(TSTR(bandwidth=0.1).pretrain(errors, rng=rng()), target(rows, y - 1.0)).predict(POOL)
    np.testing.assert_allclose(error.mean, accuracy.mean, atol=1e-6)
    np.testing.assert_allclose(error.std, accuracy.std, atol=1e-5)


# ---------------------------------------------------------------- switches


def test_switches_override_the_preset() -> None:
    rows, y = [3, 11, 20, 33], 0.5 * hill(0.4)
    past = past_of(0.3, 0.5)
    formula = fitted(TSTR(preset="formula").pretrain(past, rng=rng()), target(rows, y)).predict(POOL)
    spelled = TSTR(target_weight=0.75, target_response="minmax").pretrain(past, rng=rng())
    np.testing.assert_array_equal(fitted(spelled, target(rows, y)).predict(POOL).mean, formula.mean)
    again = replace(TSTR(bandwidth=0.1).pretrain(past, rng=rng()), preset="formula")
    np.testing.assert_array_equal(fitted(again, target(rows, y)).predict(POOL).mean, formula.mean)
    reference = fitted(TSTR(bandwidth=0.1).pretrain(past, rng=rng()), target(rows, y)).predict(POOL)
    assert np.abs(reference.mean - formula.mean).max() > 0.05


def test_decaying_epochs_end_in_the_kernel_that_learning_starts_from() -> None:
    rows, y = list(range(0, 41, 2)), hill(0.4)  # 21 observations: 100 - 5 x 20 steps
    recipe = TSTR(epoch_decay=5).pretrain(past_of(0.3), rng=rng())
    own = fitted(recipe, target(rows, y)).target.process.hyperparameters
    assert (own.lengths[0], own.variance, own.noise) == pytest.approx((0.5, 1.0, 1e-6))
    earlier = fitted(recipe, target(rows[:20], y)).target.process.hyperparameters
    assert earlier.variance != pytest.approx(1.0)


def test_without_a_past_it_is_the_plain_process() -> None:
    data = target([3, 11, 20, 33], hill(0.4))
    plain = GaussianProcess().fit(data, rng=rng()).predict(POOL)
    for recipe in (TSTR(bandwidth=0.1), TSTM(bandwidth=3.25)):
        np.testing.assert_array_equal(recipe.fit(data, rng=rng()).predict(POOL).mean, plain.mean)
        assert recipe.minimum_observations == 5
        assert recipe.features(POOL).shape == (41, 0)


def test_forests_can_model_the_past() -> None:
    recipe = TSTR(source="forest", trees=5).pretrain(past_of(0.3, 0.5), rng=rng())
    low, width = hill(0.3).min(), np.ptp(hill(0.3))
    np.testing.assert_allclose(recipe.features(POOL)[:, 0], (hill(0.3) - low) / width, atol=1e-9)


def test_explanation_names_the_past_tasks_that_count() -> None:
    recipe = TSTR(bandwidth=0.3).pretrain(MetaDataset((*past_of(0.3, 0.9).tasks,)), rng=rng())
    explanation = fitted(recipe, target([0, 5, 9, 20, 39], hill(0.3))).explain(POOL[3])
    assert explanation.weights[0] == ("hill-0.3", pytest.approx(0.75 / 1.75))
    assert explanation.weights[1] == ("hill-0.9", 0.0)
    assert explanation.numbers["weight_of_target"] == pytest.approx(1 / 1.75)
    assert "1 of 2 past tasks count" in explanation.summary
    assert "hill-0.3 43%" in explanation.summary


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"preset": "paper"}, "preset must be one of 'reference', 'formula'"),
        ({"bandwidth": 0.0}, "bandwidth must be a positive number"),
        ({"distance": "cosine"}, "distance must be one of"),
        ({"target_weight": -1.0}, "target_weight must be a positive number"),
        ({"target_response": "copula"}, "target_response must be one of"),
        ({"source": "tree"}, "source must be one of 'gp', 'forest'"),
        ({"subsample": "worst"}, "subsample must be one of"),
        ({"epoch_decay": -1}, "epoch_decay must be a whole number"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=f"TSTR: {message}"):
        TSTR(**settings)  # type: ignore[arg-type]


# ---------------------------------------------------------------- bandwidth


def test_a_bandwidth_is_chosen_where_it_matters() -> None:
    """Half of the past is reversed: a narrow bandwidth tells them apart, a wide one averages to nothing."""
    tops = (0.28, 0.3, 0.32)
    mixed = MetaDataset(
        (*past_of(*tops).tasks, *(replace(t, name=t.name + "-") for t in past_of(*tops, sign=-1).tasks))
    )
    validation = past_of(0.29, 0.31)
    chosen = TSTR(bandwidth=None).pretrain(mixed, rng=rng(), validation=validation)
    assert chosen.bandwidth in GRID
    assert chosen.bandwidth is not None
    assert chosen.bandwidth < 0.9
    again = TSTR(bandwidth=None).pretrain(mixed, rng=rng(), validation=validation)
    assert again.bandwidth == chosen.bandwidth
    assert TSTR(bandwidth=None).pretrain(mixed, rng=rng()).bandwidth in GRID


def test_one_past_task_leaves_the_published_bandwidth() -> None:
    assert TSTR(bandwidth=None).pretrain(past_of(0.3), rng=rng()).bandwidth == 0.1


def test_held_out_tasks_follow_from_their_names() -> None:
    names = [f"task-{i}" for i in range(40)]
    chosen = {names[int(i)] for i in held_out(names)}
    assert len(chosen) == 6
    shuffled = [names[int(i)] for i in rng(1).permutation(40)]
    assert {shuffled[int(i)] for i in held_out(shuffled)} == chosen
    assert held_out(names[:4]).tolist() == [0, 1, 2, 3]
    assert len(held_out(names[:5])) == 1


# ---------------------------------------------------------------- descriptors


def test_descriptor_weights_by_hand() -> None:
    past = np.array([[0.0, 10.0], [1.0, 20.0], [0.5, 10.0]])
    # scaled by the past's extremes: (0, 0), (1, 1), (0.5, 0); the target (0.5, 25) is clipped to (0.5, 1)
    found = metafeature_distances(past, np.array([0.5, 25.0]), "minmax")
    np.testing.assert_allclose(found, [np.sqrt(1.25), 0.5, 1.0])
    np.testing.assert_allclose(metafeature_distances(past, np.array([0.0, 10.0]), "none"), [0.0, np.sqrt(101), 0.5])
    constant = np.array([[3.0, 0.0], [3.0, 1.0]])
    np.testing.assert_allclose(metafeature_distances(constant, np.array([9.0, 1.0]), "minmax"), [1.0, 0.0])


def test_tst_m_weights_do_not_change_over_the_trials() -> None:
    recipe = TSTM(bandwidth=1.0, metafeature_scale="none").pretrain(past_of(0.3, 0.5, 0.7), rng=rng())
    distances = np.array([0.0, 0.1, 0.2]) * np.sqrt(2)
    for rows in ([], [4], [4, 8, 20, 30]):
        posterior = fitted(recipe, target(rows, -hill(0.3)))
        np.testing.assert_allclose(posterior.weights, 0.75 * (1 - distances**2))


def test_past_tasks_without_descriptors_are_named_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    past = past_of(0.3, 0.5, 0.7)
    some = MetaDataset((past.tasks[0], replace(past.tasks[1], metafeatures=None), past.tasks[2]))
    with caplog.at_level(logging.WARNING):
        recipe = TSTM(bandwidth=3.25).pretrain(some, rng=rng())
    assert [record.getMessage() for record in caplog.records] == [
        "TSTM: 1 of 3 past tasks have no metafeatures and are left out: 'hill-0.5'"
    ]
    assert recipe.past is not None
    assert recipe.past.names == ("hill-0.3", "hill-0.7")


def test_missing_descriptors_are_one_clear_line() -> None:
    past = past_of(0.3, 0.5)
    none = MetaDataset(tuple(replace(task, metafeatures=None) for task in past.tasks))
    with pytest.raises(DataError, match=r"none of the 2 past tasks has metafeatures \('hill-0.3', 'hill-0.5'\)"):
        TSTM(bandwidth=3.25).pretrain(none, rng=rng())
    other = MetaDataset((past.tasks[0], replace(past.tasks[1], metafeatures=np.ones(3))))
    with pytest.raises(DataError, match=r"'hill-0\.5' has 3 metafeatures, 'hill-0\.3' has 2"):
        TSTM(bandwidth=3.25).pretrain(other, rng=rng())
    recipe = TSTM(bandwidth=3.25).pretrain(past, rng=rng())
    for given, got in ((None, "none"), (np.ones(5), "5")):
        with pytest.raises(DataError, match=f"TaskData 'new' needs 2 metafeatures like the past tasks, got {got}"):
            recipe.fit(replace(target([3], hill(0.3)), metafeatures=given), rng=rng())


def test_tst_m_chooses_a_bandwidth_in_units_of_the_largest_distance() -> None:
    chosen = TSTM(bandwidth=None).pretrain(past_of(0.2, 0.3, 0.4), rng=rng()).bandwidth
    assert chosen in [pytest.approx(np.sqrt(2) * value) for value in GRID]
