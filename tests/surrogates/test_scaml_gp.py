"""ScaML-GP: its posterior against a dense textbook process with the same prior, its weights, its pruning."""

import numpy as np
import pytest

from headstart.arrays import Array
from headstart.data import MetaDataset, TaskData
from headstart.errors import SettingsError
from headstart.surrogates import GaussianProcess, ScaMLGP
from headstart.surrogates.scaml_gp import ScaMLGPPosterior

POOL = np.random.default_rng(1).random((60, 2))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def wave(x: Array, shift: float) -> Array:
    return np.sin(5 * x[:, 0] + shift) + 0.5 * np.cos(4 * x[:, 1])


def past_of(*shifts: float) -> MetaDataset:
    tasks: list[TaskData] = []
    for s, shift in enumerate(shifts):
        x = rng(50 + s).random((25, 2))
        tasks.append(TaskData(x, 10 + 3 * wave(x, shift), name=f"wave-{shift}"))
    return MetaDataset(tuple(tasks))


def target(n: int, shift: float = 0.0) -> TaskData:
    return TaskData(POOL[:n], wave(POOL[:n], shift), name="new")


def fitted(recipe: ScaMLGP, past: MetaDataset, data: TaskData) -> ScaMLGPPosterior:
    posterior = recipe.pretrain(past, rng=rng()).fit(data, rng=rng())
    assert isinstance(posterior, ScaMLGPPosterior)
    return posterior


def se(a: Array, b: Array, lengths: Array, variance: float) -> Array:
    return variance * np.exp(-0.5 * (((a[:, None] - b) / lengths) ** 2).sum(axis=2))


def textbook(posterior: ScaMLGPPosterior, past: MetaDataset, data: TaskData, x: Array) -> tuple[Array, Array]:
    """Mean and covariance at ``x`` of the process that is conditioned on past and target by dense inverses only."""
    processes = posterior.sources.known_processes
    everything = np.concatenate([data.x, x])
    n = len(data.x)
    own = posterior.hyperparameters
    mean, covariance = np.zeros(len(everything)), se(everything, everything, own.lengths, own.variance)
    for s, task in enumerate(past.tasks):
        z = (task.y - task.y.mean()) / task.y.std()
        lengths, variance, noise = processes.lengths[s], processes.variance[s], processes.noise[s]
        inverse = np.linalg.inv(se(task.x, task.x, lengths, variance) + noise * np.eye(len(z)))
        cross = se(everything, task.x, lengths, variance)
        w = posterior.weights[s]
        mean += w * cross @ inverse @ z
        covariance += w**2 * (se(everything, everything, lengths, variance) - cross @ inverse @ cross.T)
    z = (data.y - data.y.mean()) / data.y.std()
    gain = covariance[n:, :n] @ np.linalg.inv(covariance[:n, :n] + own.noise * np.eye(n))
    return mean[n:] + gain @ (z - mean[:n]), covariance[n:, n:] - gain @ covariance[:n, n:]


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_posterior_against_a_dense_textbook_process(n: int) -> None:
    past, data = past_of(0.3, 1.5, 3.0), target(n) if n > 1 else TaskData(POOL[:2], np.array([1.0, 2.0]))
    posterior = fitted(ScaMLGP(prune=0.0), past, data)
    assert (posterior.weights > 0).all()
    mean, covariance = textbook(posterior, past, data, POOL[20:])
    prediction = posterior.predict(POOL[20:])
    np.testing.assert_allclose(prediction.mean, mean, atol=1e-6)
    np.testing.assert_allclose(prediction.std**2, np.diag(covariance), atol=1e-6)
    assert prediction.noise == pytest.approx(posterior.hyperparameters.noise**0.5)


def test_the_past_task_that_is_the_target_gets_the_weight() -> None:
    posterior = fitted(ScaMLGP(), past_of(1.5, 0.0, 3.0), target(12))
    assert np.argmax(posterior.weights) == 1
    assert posterior.weights[1] > 0.7
    explanation = posterior.explain(POOL[0])
    assert explanation.weights[0] == ("wave-0.0", pytest.approx(posterior.weights[1]))
    assert "Largest factors: wave-0.0" in explanation.summary
    # what twelve observations alone do not tell
    truth = (wave(POOL, 0.0) - target(12).y.mean()) / target(12).y.std()
    error = np.abs(posterior.predict(POOL).mean - truth).mean()
    alone = np.abs(GaussianProcess().fit(target(12), rng=rng()).predict(POOL).mean - truth).mean()
    assert error < 0.5 * alone


def test_small_weights_are_left_out_without_a_difference() -> None:
    past = past_of(0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
    all_of_them = fitted(ScaMLGP(prune=0.0), past, target(15))
    some = fitted(ScaMLGP(), past, target(15))
    assert len(some.kept) < 6 == len(all_of_them.kept)
    np.testing.assert_allclose(some.predict(POOL).mean, all_of_them.predict(POOL).mean, atol=1e-3)
    np.testing.assert_allclose(some.predict(POOL).std, all_of_them.predict(POOL).std, atol=1e-3)


def test_without_observations_the_mean_of_the_past_decides() -> None:
    posterior = fitted(ScaMLGP(), past_of(0.2, 0.4), target(0))
    np.testing.assert_allclose(posterior.weights, 0.5)
    means = posterior.sources.means(POOL)
    np.testing.assert_allclose(posterior.predict(POOL).mean, means.mean(axis=1), atol=1e-9)
    assert "Nothing is observed yet" in posterior.explain(POOL[0]).summary


def test_sources_have_the_references_noise_and_settings_are_checked() -> None:
    recipe = ScaMLGP().pretrain(past_of(0.3, 1.5), rng=rng())
    assert recipe.past is not None
    noise = recipe.past.known_processes.noise
    assert ((noise >= 1e-6) & (noise <= 1e-2)).all()
    for prune in (-0.1, 1.0):
        with pytest.raises(SettingsError, match="ScaMLGP: prune must be at least 0 and below 1"):
            ScaMLGP(prune=prune)
    plain = GaussianProcess().fit(target(9), rng=rng()).predict(POOL)
    np.testing.assert_array_equal(ScaMLGP().fit(target(9), rng=rng()).predict(POOL).mean, plain.mean)
