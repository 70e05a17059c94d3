"""TAF-R: its score against the formula in plain numbers, its limits, its weights."""

import numpy as np
import pytest

from headstart.data import MetaDataset, TaskData
from headstart.errors import SettingsError
from headstart.numerics.expected_improvement import expected_improvement
from headstart.surrogates import RGPE, TAFR, GaussianProcess
from headstart.surrogates.ensemble_weights import EnsembleWeights
from headstart.surrogates.taf_r import TAFRPosterior
from headstart.surrogates.two_stage import ranking_similarity


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


POOL = np.linspace(0, 1, 41)[:, None]
ROWS = [1, 7, 18, 30, 40]


def hill(top: float) -> np.ndarray:
    return 5 - 10 * (POOL[:, 0] - top) ** 2


PAST = MetaDataset(tuple(TaskData(POOL, y, name=f"p{i}") for i, y in enumerate((hill(0.3), hill(0.5), -hill(0.4)))))
DATA = TaskData(POOL[ROWS], hill(0.35)[ROWS], name="new")


def fitted(recipe: TAFR, data: TaskData = DATA) -> TAFRPosterior:
    posterior = recipe.pretrain(PAST, rng=rng()).fit(data, rng=rng())
    assert isinstance(posterior, TAFRPosterior)
    return posterior


@pytest.mark.parametrize("incumbent", ["observed", "predicted"])
@pytest.mark.parametrize("xi", [0.0, 0.05])
def test_score_is_the_logarithm_of_the_formula(incumbent: str, xi: float) -> None:
    recipe = TAFR(bandwidth=0.6, incumbent=incumbent, xi=xi)  # type: ignore[arg-type]
    posterior = fitted(recipe)
    f = recipe.pretrain(PAST, rng=rng()).features(POOL)
    w = ranking_similarity(f[ROWS], DATA.y, bandwidth=0.6, distance="discordance")
    assert 0 < np.sort(w)[1] < 0.75
    own = posterior.predict(POOL)
    best = own.mean[ROWS].max() if incumbent == "predicted" else 1.0  # scaled by the observed extremes
    improvements = np.maximum(f - f[ROWS].max(axis=0), 0.0)
    expected = 0.75 * expected_improvement(own.mean, own.std, float(best), xi) + improvements @ w
    expected /= 0.75 + w.sum()
    np.testing.assert_allclose(np.exp(posterior.score(POOL, rng=rng())), expected, rtol=1e-7, atol=1e-12)


def test_without_improvements_of_the_past_it_is_ei() -> None:
    """Every source's best row was observed."""
    best = [int(np.argmax(y)) for y in (hill(0.3), hill(0.5), -hill(0.4))]
    rows = [*best, 3, 33]
    posterior = fitted(TAFR(bandwidth=1.0), TaskData(POOL[rows], hill(0.35)[rows]))
    own = posterior.predict(POOL)
    share = 0.75 / (0.75 + posterior.weights.sum())
    ei = expected_improvement(own.mean, own.std, posterior.incumbent, 0.0)
    # the sources' models, not the sources, were best there: a little is left
    np.testing.assert_allclose(np.exp(posterior.score(POOL, rng=rng())), share * ei, atol=2e-3)


def test_scores_stay_finite_and_ordered_where_plain_ei_is_nothing() -> None:
    y = hill(0.35)[ROWS].copy()
    y[0] = 1e6
    posterior = fitted(TAFR(bandwidth=0.1), TaskData(POOL[ROWS], y))
    scores = posterior.score(POOL, rng=rng())
    assert np.isfinite(scores).all()
    assert len(np.unique(scores)) > 30


@pytest.mark.parametrize("weights", ["tst-r", "poe", "rgpe"])
def test_first_query_is_the_past_s_favourite(weights: str) -> None:
    recipe = TAFR(weights=weights)  # type: ignore[arg-type]
    past = MetaDataset(PAST.tasks[:2])
    posterior = recipe.pretrain(past, rng=rng()).fit(TaskData(POOL[:0], np.empty(0)), rng=rng())
    assert isinstance(posterior, TAFRPosterior)
    assert abs(POOL[np.argmax(posterior.score(POOL, rng=rng())), 0] - 0.4) < 0.11


def test_precisions_weigh_row_by_row() -> None:
    recipe = TAFR(weights="poe").pretrain(PAST, rng=rng())
    posterior = recipe.fit(DATA, rng=rng())
    assert isinstance(posterior, TAFRPosterior)
    features = recipe.features(POOL)
    means, deviations = features[:, :3], features[:, 3:]
    own = posterior.predict(POOL)
    w = 1 / np.maximum(deviations**2, 1e-6)
    w0 = 1 / np.maximum(own.std**2, 1e-6)
    expected = w0 * expected_improvement(own.mean, own.std, 1.0) + (
        w * np.maximum(means - means[ROWS].max(axis=0), 0)
    ).sum(axis=1)
    found = posterior.score(POOL, features=features, rng=rng())
    np.testing.assert_allclose(np.exp(found), expected / (w0 + w.sum(axis=1)), rtol=1e-6, atol=1e-12)


def test_rgpe_weights_are_those_of_its_ranking() -> None:
    posterior = fitted(TAFR(weights="rgpe", ranking=EnsembleWeights(guard="none", ties="shared")))
    assert posterior.weights.sum() + posterior.target_weight == pytest.approx(1.0)
    # it is upside down; only a draw of one observation again and again has no pairs, and all tie
    assert posterior.weights[2] < 0.02
    assert posterior.weights[:2].max() > 0.2
    few = fitted(TAFR(weights="rgpe"), TaskData(POOL[:2], hill(0.35)[:2]))
    np.testing.assert_allclose(few.weights, 0.25)
    assert few.target_weight == 0.25


def test_target_and_past_share_their_scale() -> None:
    bounded = MetaDataset(tuple(TaskData(POOL, t.y, bounds=(-10.0, 10.0), name=t.name) for t in PAST.tasks))
    recipe = TAFR(bandwidth=0.1).pretrain(bounded, rng=rng())
    posterior = recipe.fit(TaskData(DATA.x, DATA.y, bounds=(-10.0, 10.0)), rng=rng())
    assert posterior.incumbent == pytest.approx((DATA.y.max() + 10) / 20)
    np.testing.assert_allclose(recipe.features(POOL)[:, 0], (hill(0.3) + 10) / 20, atol=0.03)
    standardised = TAFR(response="standardise").pretrain(PAST, rng=rng())
    np.testing.assert_allclose(standardised.features(POOL)[:, 1].std(), 1.0, atol=0.02)
    assert standardised.fit(DATA, rng=rng()).incumbent == pytest.approx((DATA.y.max() - DATA.y.mean()) / DATA.y.std())


def test_explanation_and_plain_process() -> None:
    explanation = fitted(TAFR(bandwidth=0.1)).explain(POOL[12])
    assert sum(weight for _, weight in explanation.weights) + explanation.numbers["weight_of_target"] == pytest.approx(
        1
    )
    assert explanation.numbers["improvement_past_promises"] >= 0
    plain = GaussianProcess().fit(DATA, rng=rng()).predict(POOL)
    np.testing.assert_array_equal(TAFR(bandwidth=0.1).fit(DATA, rng=rng()).predict(POOL).mean, plain.mean)


def test_settings_are_checked() -> None:
    for settings, message in (
        ({"weights": "tst"}, "weights must be one of 'tst-r', 'poe', 'rgpe'"),
        ({"incumbent": "best"}, "incumbent must be one of"),
        ({"response": "raw"}, "response must be one of 'minmax', 'standardise'"),
        ({"weights": "poe", "source": "forest"}, "a forest has none"),
        ({"ranking": EnsembleWeights(losses="samples")}, "only way without covariances"),
        ({"bandwidth": -1.0}, "bandwidth must be a positive"),
    ):
        with pytest.raises(SettingsError, match=f"TAFR: .*{message}"):
            TAFR(**settings)  # type: ignore[arg-type]
    assert RGPE().ranking == TAFR().ranking


def test_a_bandwidth_is_chosen() -> None:
    assert TAFR(bandwidth=None).pretrain(PAST, rng=rng()).bandwidth in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)
    assert TAFR(bandwidth=None, weights="rgpe").pretrain(PAST, rng=rng()).bandwidth is None
