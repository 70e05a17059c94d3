"""No model at all: every candidate is as good as any other. The baseline that any method must beat."""

import sys
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Prediction, TaskData
from headstart.errors import DataError
from headstart.protocols import Acquisition
from headstart.surrogates.gaussian_process import check_count


@dataclass(frozen=True, kw_only=True)
class Random:
    """Search without a model: its posterior scores candidates by uniform random numbers."""

    name: ClassVar[str] = "random"

    minimum_observations: int = sys.maxsize
    """Below this many observations the initial design is asked: always, so that a Space is searched uniformly, too."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """Never asked, since the posterior brings its own scores."""

    def __post_init__(self) -> None:
        check_count("Random", "minimum_observations", self.minimum_observations, 0)

    def fit(self, data: TaskData, *, rng: Rng) -> "RandomPosterior":
        """Return a posterior that remembers the level and spread of ``data`` and nothing else."""
        if len(data) == 0:
            return RandomPosterior(columns=data.x.shape[1], incumbent=-np.inf, mean=0.0, std=1.0)
        # halving first keeps responses near the largest floats from overflowing
        mean = 2.0 * float((data.y / (2.0 * len(data))).sum())
        spread = data.y - mean
        largest = float(np.abs(spread).max())
        std = largest * float(np.sqrt(np.mean((spread / largest) ** 2))) if largest > 0.0 else 0.0
        return RandomPosterior(columns=data.x.shape[1], incumbent=float(data.y.max()), mean=mean, std=std)


@dataclass(frozen=True, kw_only=True)
class RandomPosterior:
    """Uniform scores; the prediction is the mean and deviation of what was seen, everywhere."""

    columns: int
    """How many columns the rows have."""
    incumbent: float
    """Best observed response, minus infinity without any."""
    mean: float
    """Mean response."""
    std: float
    """Standard deviation of the responses."""

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return the same mean and deviation for every row."""
        self._check(x)
        return Prediction(np.full(len(x), self.mean), np.full(len(x), self.std))

    def score(self, x: Array, *, features: Array | None = None, rng: Rng) -> Array:
        """Return uniform random numbers [k]."""
        self._check(x)
        return rng.random(len(x))

    def to_response(self, values: Array) -> Array:
        """Return ``values``: the units are those of the data."""
        return values

    def _check(self, x: Array) -> None:
        if x.ndim != 2 or x.shape[1] != self.columns:
            raise DataError(
                f"Random posterior: x must be rows of {self.columns} columns, got shape {x.shape}. "
                "Encode with the Space used for fitting."
            )
