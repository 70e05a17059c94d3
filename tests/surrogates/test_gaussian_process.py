"""The Gaussian process as a surrogate: scaling, chunks and settings; its mathematics is tested in numerics."""

from typing import Any

import numpy as np
import pytest

from headstart.data import TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.gaussian_process import condition, fit_hyperparameters
from headstart.numerics.kernels import Kernel
from headstart.numerics.response import ResponseKind
from headstart.surrogates import GaussianProcess
from headstart.surrogates.gaussian_process import CHUNK_ROWS, WEAK_PRIORS


def data(n: int = 20, d: int = 2, seed: int = 0, **settings: Any) -> TaskData:
    rng = np.random.default_rng(seed)
    x = rng.random((n, d))
    return TaskData(x, 7.0 + 3.0 * np.sin(5 * x[:, 0]) + 0.01 * rng.normal(size=n), **settings)


@pytest.mark.parametrize(("nu", "kind"), [(1.5, "matern32"), (2.5, "matern52")])
def test_it_is_the_most_probable_process_of_standardised_responses(nu: float, kind: Kernel) -> None:
    task, at = data(), np.random.default_rng(1).random((30, 2))
    posterior = GaussianProcess(nu=nu).fit(task, rng=np.random.default_rng(3))
    z = (task.y - task.y.mean()) / task.y.std()
    own = fit_hyperparameters(task.x, z, kind=kind, priors=WEAK_PRIORS, restarts=2, rng=np.random.default_rng(3))
    mean, std = condition(task.x, z, own, kind=kind).predict(at)
    found = posterior.predict(at)
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.std, std, rtol=0, atol=1e-9)
    assert found.noise == pytest.approx(np.sqrt(own.noise), rel=1e-9)
    assert posterior.incumbent == pytest.approx(z.max(), rel=1e-12)


@pytest.mark.parametrize("response", ["none", "minmax", "standardise", "copula"])
def test_it_predicts_what_it_was_not_told_in_every_scaling(response: ResponseKind) -> None:
    task = data(40)
    posterior = GaussianProcess(response=response).fit(task, rng=np.random.default_rng(0))
    at = np.random.default_rng(1).random((50, 2))
    truth = 7.0 + 3.0 * np.sin(5 * at[:, 0])
    assert np.corrcoef(posterior.to_response(posterior.predict(at).mean), truth)[0, 1] > 0.97


def test_bounds_set_the_units_of_minmax() -> None:
    recipe = GaussianProcess(response="minmax")
    task = data(bounds=(0.0, 20.0))
    posterior = recipe.fit(task, rng=np.random.default_rng(0))
    assert posterior.incumbent == pytest.approx(task.y.max() / 20.0, rel=1e-12)
    assert posterior.to_response(np.array([0.5]))[0] == pytest.approx(10.0)


def test_rows_beyond_one_chunk() -> None:
    posterior = GaussianProcess(restarts=0).fit(data(), rng=np.random.default_rng(0))
    at = np.random.default_rng(1).random((2 * CHUNK_ROWS + 3, 2))
    found = posterior.predict(at)
    mean, std = posterior.process.predict(at)
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.std, std, rtol=0, atol=1e-7)


def test_leave_one_out_and_draws_are_in_the_same_units() -> None:
    posterior = GaussianProcess(restarts=0).fit(data(), rng=np.random.default_rng(0))
    left_out = posterior.leave_one_out()
    z = posterior.process.y
    assert np.corrcoef(left_out.mean, z)[0, 1] > 0.95
    at = np.random.default_rng(1).random((4, 2))
    draws = posterior.sample(at, 4000, np.random.default_rng(2))
    prediction = posterior.predict(at)
    np.testing.assert_allclose(draws.mean(axis=0), prediction.mean, atol=5 * prediction.std.max() / np.sqrt(4000))
    np.testing.assert_allclose(draws.std(axis=0), prediction.std, rtol=0.06)


def test_columns_without_influence_get_long_lengths() -> None:
    posterior = GaussianProcess().fit(data(60, 3), rng=np.random.default_rng(0))
    lengths = posterior.process.hyperparameters.lengths
    assert lengths[0] < 0.5 * min(lengths[1], lengths[2])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"nu": 2.0}, r"nu must be 1\.5 or 2\.5, got 2\.0"),
        ({"response": "log"}, r"response must be one of 'none', 'minmax', 'standardise', 'copula', got 'log'"),
        ({"restarts": -1}, r"restarts must be a whole number of at least 0, got -1"),
        ({"restarts": 1.0}, r"restarts must be a whole number"),
        ({"minimum_observations": True}, r"minimum_observations must be a whole number"),
        ({"noise_floor": 0.0}, r"noise_floor must be a positive number, got 0\.0"),
        ({"noise_floor": float("nan")}, r"noise_floor must be a positive number"),
        ({"noise_floor": "small"}, r"noise_floor must be a positive number"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match="GaussianProcess: " + message):
        GaussianProcess(**settings)


def test_rows_of_another_space_are_named() -> None:
    posterior = GaussianProcess(restarts=0).fit(data(), rng=np.random.default_rng(0))
    with pytest.raises(DataError, match="GaussianProcess posterior: x has 4 columns, was fitted on 2"):
        posterior.predict(np.zeros((1, 4)))
