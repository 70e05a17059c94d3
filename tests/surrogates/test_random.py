"""The surrogate without a model."""

import numpy as np
import pytest
from scipy.stats import kstest

from headstart.data import TaskData
from headstart.errors import SettingsError
from headstart.surrogates import Random


def test_scores_are_uniform_and_follow_the_generator() -> None:
    posterior = Random().fit(TaskData(np.zeros((3, 2)), np.arange(3.0)), rng=np.random.default_rng(0))
    x = np.random.default_rng(1).random((5000, 2))
    scores = posterior.score(x, rng=np.random.default_rng(2))
    assert kstest(scores, "uniform").pvalue > 0.01
    np.testing.assert_array_equal(scores, posterior.score(x, rng=np.random.default_rng(2)))
    assert not np.array_equal(scores, posterior.score(x, rng=np.random.default_rng(3)))


def test_prediction_is_mean_and_deviation_of_what_was_seen() -> None:
    y = np.array([1.0, 5.0, 9.0, -3.0])
    posterior = Random().fit(TaskData(np.zeros((4, 2)), y), rng=np.random.default_rng(0))
    prediction = posterior.predict(np.ones((3, 2)))
    np.testing.assert_allclose(prediction.mean, y.mean(), rtol=1e-14)
    np.testing.assert_allclose(prediction.std, y.std(), rtol=1e-14)
    assert posterior.incumbent == 9.0


def test_nothing_overflows_near_the_largest_float() -> None:
    posterior = Random().fit(TaskData(np.zeros((2, 1)), np.array([1.5e308, 1e308])), rng=np.random.default_rng(0))
    assert np.isfinite(posterior.mean)
    assert np.isfinite(posterior.std)


@pytest.mark.parametrize("value", [-1, 1.5, True, "3"])
def test_bad_settings_are_refused(value: object) -> None:
    with pytest.raises(SettingsError, match="Random: minimum_observations"):
        Random(minimum_observations=value)  # type: ignore[arg-type]
