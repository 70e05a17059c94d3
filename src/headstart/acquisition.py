"""Acquisitions: frozen settings that turn a Prediction and an incumbent into scores, larger is better.

An acquisition never sees the model. Without any observation the incumbent is minus infinity; the mean decides then.
"""

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Array, Rng
from headstart.data import Prediction
from headstart.errors import SettingsError
from headstart.numerics.expected_improvement import (
    expected_improvement,
    log_expected_improvement,
    log_probability_of_improvement,
)


@dataclass(frozen=True, kw_only=True)
class LogExpectedImprovement:
    """Logarithm of expected improvement: the order of EI without its underflow."""

    xi: float = 0.0
    """Improvements smaller than this count for nothing."""
    noisy: bool = False
    """Use the deviation of a new observation instead of the function's."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return scores [k]."""
        if np.isneginf(incumbent):
            return prediction.mean
        return log_expected_improvement(prediction.mean, _std(prediction, self.noisy), incumbent, self.xi)


@dataclass(frozen=True, kw_only=True)
class ExpectedImprovement:
    """Plain expected improvement, for comparisons; it underflows to exact ties."""

    xi: float = 0.0
    """Improvements smaller than this count for nothing."""
    noisy: bool = False
    """Use the deviation of a new observation instead of the function's."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return scores [k]."""
        if np.isneginf(incumbent):
            return prediction.mean
        return expected_improvement(prediction.mean, _std(prediction, self.noisy), incumbent, self.xi)


@dataclass(frozen=True, kw_only=True)
class ProbabilityOfImprovement:
    """Logarithm of the probability of any improvement: greedier than EI."""

    xi: float = 0.0
    """Improvements smaller than this count for nothing."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return scores [k]."""
        if np.isneginf(incumbent):
            return prediction.mean
        return log_probability_of_improvement(prediction.mean, prediction.std, incumbent, self.xi)


@dataclass(frozen=True, kw_only=True)
class UpperConfidenceBound:
    """Mean plus ``beta`` deviations."""

    beta: float = 2.0
    """How much uncertainty is worth."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.beta) and self.beta >= 0):
            raise SettingsError(f"UpperConfidenceBound: beta must be a finite number >= 0, got {self.beta}.")

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return scores [k]."""
        return prediction.mean + self.beta * prediction.std


@dataclass(frozen=True, kw_only=True)
class PosteriorMean:
    """The mean alone: no exploration."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Return scores [k]."""
        return prediction.mean


@dataclass(frozen=True, kw_only=True)
class ThompsonSampling:
    """One draw of the function. The search asks a posterior that can for a joint draw, else draws row by row."""

    def __call__(self, prediction: Prediction, incumbent: float) -> Array:
        """Refuse: a draw needs a generator, see ``draw``."""
        raise SettingsError("ThompsonSampling: a draw needs a generator. Call draw(prediction, rng=...) instead.")

    def draw(self, prediction: Prediction, *, rng: Rng) -> Array:
        """Return one value per row [k], drawn independently from the marginals."""
        return prediction.mean + prediction.std * rng.standard_normal(len(prediction.mean))


def _std(prediction: Prediction, noisy: bool) -> Array:
    return prediction.noisy_std if noisy else prediction.std
