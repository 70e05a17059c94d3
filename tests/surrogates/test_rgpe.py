"""RGPE: posterior from its parts, weights where the answer is known, harmless where the past is noise."""

import numpy as np
import pytest

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array
from headstart.data import MetaDataset, TaskData
from headstart.errors import SettingsError
from headstart.protocols import Surrogate
from headstart.surrogates import RGPE, GaussianProcess
from headstart.surrogates.ensemble_weights import EnsembleWeights
from headstart.surrogates.rgpe import RGPEPosterior

POOL = np.random.default_rng(1).random((150, 2))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def bumps(seed: int, x: Array) -> Array:
    """A smooth random function."""
    own = rng(1000 + seed)
    centres, heights = own.random((6, 2)), own.normal(size=6)
    return np.exp(-((x[:, None] - centres) ** 2).sum(axis=2) / 0.08) @ heights


def past_of(*seeds: int, n: int = 40) -> MetaDataset:
    tasks: list[TaskData] = []
    for seed in seeds:
        x = rng(2000 + seed).random((n, 2))
        tasks.append(TaskData(x, 3 + 7 * bumps(seed, x), name=f"bumps-{seed}"))
    return MetaDataset(tuple(tasks))


def target(n: int, seed: int = 0) -> TaskData:
    return TaskData(POOL[:n], bumps(seed, POOL[:n]), name="new")


def fitted(recipe: RGPE, past: MetaDataset, data: TaskData) -> RGPEPosterior:
    posterior = recipe.pretrain(past, rng=rng()).fit(data, rng=rng())
    assert isinstance(posterior, RGPEPosterior)
    return posterior


@pytest.mark.parametrize("losses", ["bootstrap", "samples", "simplified"])
@pytest.mark.parametrize("guard", ["percentile", "probabilistic", "none"])
@pytest.mark.parametrize("ties", ["shared", "target"])
def test_the_source_that_is_the_target_weighs_most(losses: str, guard: str, ties: str) -> None:
    ranking = EnsembleWeights(losses=losses, guard=guard, ties=ties)  # type: ignore[arg-type]
    posterior = fitted(RGPE(ranking=ranking), past_of(1, 0, 2, 3), target(10))
    total = np.append(posterior.weights, posterior.target_weight)
    assert total.sum() == pytest.approx(1.0)
    assert np.argmax(total) == 1
    explanation = posterior.explain(POOL[0])
    assert explanation.weights[0][0] == "bumps-0"
    assert "rank the 10 configurations observed best" in explanation.summary


@pytest.mark.parametrize("variance", ["target", "average"])
@pytest.mark.parametrize("response", ["standardise", "copula"])
def test_posterior_is_the_weighted_mean_of_its_parts(variance: str, response: str) -> None:
    recipe = RGPE(variance=variance, response=response, ranking=EnsembleWeights(guard="none"))  # type: ignore[arg-type]
    past, data = past_of(1, 0), target(9)
    posterior = fitted(recipe, past, data)
    own = GaussianProcess(response=response).fit(data, rng=rng()).predict(POOL)  # type: ignore[arg-type]
    parts = [
        GaussianProcess(response=response, restarts=0).fit(task, rng=rng()).predict(POOL)  # type: ignore[arg-type]
        for task in past.tasks
    ]
    w, w0 = posterior.weights, posterior.target_weight
    prediction = posterior.predict(POOL)
    mean = w0 * own.mean + w[0] * parts[0].mean + w[1] * parts[1].mean
    np.testing.assert_allclose(prediction.mean, mean, atol=2e-3)
    std = own.std
    if variance == "average":
        std = np.sqrt((w0 * own.std) ** 2 + (w[0] * parts[0].std) ** 2 + (w[1] * parts[1].std) ** 2)
    np.testing.assert_allclose(prediction.std, std, atol=2e-3)
    if response == "standardise":
        assert posterior.incumbent == pytest.approx((data.y.max() - data.y.mean()) / data.y.std())


def test_units_of_past_tasks_do_not_matter() -> None:
    past = past_of(1, 0)
    other = MetaDataset(tuple(TaskData(t.x, 1e4 * t.y - 1e6, name=t.name) for t in past.tasks))
    a, b = (fitted(RGPE(), each, target(9)).predict(POOL) for each in (past, other))
    np.testing.assert_allclose(a.mean, b.mean, atol=1e-6)


def test_few_observations_weigh_all_alike() -> None:
    for n in (0, 1, 2):
        posterior = fitted(RGPE(), past_of(1, 2, 3), target(n))
        np.testing.assert_allclose(posterior.weights, 0.25)
        assert posterior.target_weight == 0.25
        assert "nothing yet" in posterior.explain(POOL[0]).summary
    first_version = EnsembleWeights(equal_below=0, ties="target", losses="simplified")
    posterior = fitted(RGPE(ranking=first_version), past_of(1, 2, 3), target(1))
    assert posterior.target_weight == 1.0  # one observation has no pairs: all tie


def test_the_probabilistic_guard_leaves_the_target_alone_at_the_horizon() -> None:
    posterior = fitted(RGPE(ranking=EnsembleWeights(guard="probabilistic", horizon=10)), past_of(0, 1), target(10))
    assert posterior.target_weight == 1.0


def regrets(recipe: Surrogate, y: Array, seed: int, trials: int) -> list[float]:
    own, seen = rng(seed), rng(500 + seed).choice(len(POOL), 5, replace=False).tolist()
    found: list[float] = []
    for _ in range(trials):
        posterior = recipe.fit(TaskData(POOL[seen], y[seen]), rng=own)
        scores = LogExpectedImprovement()(posterior.predict(POOL), posterior.incumbent)
        scores[seen] = -np.inf
        seen.append(int(np.argmax(scores)))
        found.append(float((y.max() - y[seen].max()) / np.ptp(y)))
    return found


def test_twenty_random_sources_do_no_harm() -> None:
    """Mean regret over fifteen trials of ten tasks, against the plain process with the same five given points."""
    plain, ensemble = [], []
    for seed in range(10):
        y = bumps(5000 + seed, POOL)
        recipe = RGPE().pretrain(past_of(*range(100 * seed, 100 * seed + 20)), rng=rng(seed))
        ensemble.append(regrets(recipe, y, seed, 15))
        plain.append(regrets(GaussianProcess(), y, seed, 15))
    assert np.mean(plain) > 0.02  # there is something to lose
    assert np.mean(ensemble) <= np.mean(plain) + 0.01


def test_forests_have_means_only() -> None:
    for settings in ({"variance": "average"}, {"ranking": EnsembleWeights(losses="simplified")}):
        with pytest.raises(SettingsError, match="RGPE: a forest has means only"):
            RGPE(source="forest", **settings)  # type: ignore[arg-type]
    same_rows = MetaDataset(tuple(TaskData(POOL, 3 + 7 * bumps(seed, POOL), name=f"bumps-{seed}") for seed in (1, 0)))
    posterior = fitted(RGPE(source="forest", trees=10), same_rows, target(12))
    assert posterior.weights[1] > 0.9
    z = 3 + 7 * bumps(0, POOL)
    np.testing.assert_allclose(posterior.sources.means(POOL)[:, 1], (z - z.mean()) / z.std(), atol=1e-9)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"losses": "mcmc"}, "losses must be one of"),
        ({"guard": "all"}, "guard must be one of"),
        ({"ties": "first"}, "ties must be one of"),
        ({"draws": 0}, "draws must be a whole number of at least 1"),
        ({"horizon": 0}, "horizon must be a whole number of at least 1"),
        ({"equal_below": -1}, "equal_below must be a whole number"),
    ],
)
def test_settings_of_weights_are_checked(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SettingsError, match=f"EnsembleWeights: {message}"):
        EnsembleWeights(**settings)  # type: ignore[arg-type]
