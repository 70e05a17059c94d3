"""The Gaussian process with a Matérn kernel: the method to use without any past."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, get_args

import numpy as np

from headstart.acquisition import LogExpectedImprovement
from headstart.arrays import Array, Rng
from headstart.data import Prediction, TaskData
from headstart.errors import DataError, SettingsError
from headstart.numerics.gaussian_process import ConditionedGP, GammaPrior, Priors, condition, fit_hyperparameters
from headstart.numerics.response import ResponseKind, Scale, fit_scale
from headstart.protocols import Acquisition
from headstart.space.values import is_count, shown

CHUNK_ROWS = 2048
"""Rows predicted at once: [rows, n] then stays in the processor's cache, whatever the size of the pool."""

WEAK_PRIORS = Priors(lengths=GammaPrior(3.0, 6.0), variance=GammaPrior(2.0, 0.15), noise=GammaPrior(1.1, 0.05))
"""The usual ones for inputs in the unit cube and standardised responses."""


@dataclass(frozen=True, kw_only=True)
class GaussianProcess:
    """Gaussian process with constant mean and a Matérn kernel with one length-scale per column.

    The hyperparameters are the most probable ones given the observations, found anew at every ``fit``. It learns
    nothing from past tasks.
    """

    name: ClassVar[str] = "gp"

    nu: float = 2.5
    """Smoothness of the Matérn kernel, 1.5 or 2.5: functions are once (1.5) or twice (2.5) differentiable."""
    priors: Priors | None = WEAK_PRIORS
    """Priors on length-scales, variance and noise; None maximises the marginal likelihood."""
    response: ResponseKind = "standardise"
    """How responses are scaled."""
    restarts: int = 2
    """Random starts of the optimiser besides the default one."""
    noise_floor: float = 1e-4
    """Smallest noise variance, in scaled units."""
    category_distance: float = 0.3
    """How far apart two choices, or presence and absence, lie before anything is learned about them; the ends of a
    number's range lie 1 apart. At 1 what is good for one choice says next to nothing of another, and each is explored
    from nothing: on conditional spaces that took two to three times as many trials."""
    minimum_observations: int = 5
    """Below this many observations the initial design is asked."""
    acquisition: Acquisition = field(default_factory=LogExpectedImprovement)
    """What it is used with unless told otherwise."""

    def __post_init__(self) -> None:
        if self.nu not in (1.5, 2.5):
            raise SettingsError(f"GaussianProcess: nu must be 1.5 or 2.5, got {shown(self.nu)}.")
        check_response("GaussianProcess", self.response)
        check_count("GaussianProcess", "restarts", self.restarts, 0)
        check_count("GaussianProcess", "minimum_observations", self.minimum_observations, 0)
        check_positive("GaussianProcess", "noise_floor", self.noise_floor)
        check_positive("GaussianProcess", "category_distance", self.category_distance)

    def fit(self, data: TaskData, *, rng: Rng) -> "GaussianProcessPosterior":
        """Return the posterior given ``data``; without any observation it is the prior."""
        kind = "matern52" if self.nu == 2.5 else "matern32"
        scale = fit_scale(self.response, data.y, data.bounds)
        z = scale.apply(data.y)
        # a length-scale belongs to a column's own width: dividing it is the same as widening the column
        widths = self._widths(data)
        found = fit_hyperparameters(
            data.x * widths,
            z,
            kind=kind,
            priors=self.priors,
            mean="constant",
            restarts=self.restarts,
            rng=rng,
            noise_floor=self.noise_floor,
        )
        hyperparameters = replace(found, lengths=found.lengths / widths)
        return GaussianProcessPosterior("GaussianProcess", condition(data.x, z, hyperparameters, kind=kind), scale)

    def _widths(self, data: TaskData) -> Array:
        """Return [d]: how wide each column counts."""
        assert data.columns is not None  # TaskData always sets it
        # two choices differ in two columns of their group
        widths = {"numeric": 1.0, "one-hot": self.category_distance / 2**0.5, "indicator": self.category_distance}
        return np.array([widths[kind] for kind in data.columns.kinds])


@dataclass(frozen=True, eq=False)
class GaussianProcessPosterior:
    """A fitted Gaussian process with the scaling of its responses; its units are the scaled ones."""

    owner: str
    """Class name of the Surrogate, for messages."""
    process: ConditionedGP
    """The process given the scaled responses."""
    scale: Scale
    """From responses to the units of this posterior."""

    @property
    def incumbent(self) -> float:
        """Best observed value, minus infinity without any."""
        return float(self.process.y.max()) if len(self.process.y) else -np.inf

    def predict(self, x: Array, *, features: Array | None = None) -> Prediction:
        """Return mean and deviation of the function at rows ``x`` [k, d], and the deviation of the noise."""
        self._check(x)
        mean, std = np.empty(len(x)), np.empty(len(x))
        for first in range(0, len(x), CHUNK_ROWS):
            part = slice(first, first + CHUNK_ROWS)
            mean[part], std[part] = self.process.predict(x[part])
        return Prediction(mean, std, noise=float(np.sqrt(self.process.hyperparameters.noise)))

    def sample(self, x: Array, n: int, rng: Rng) -> Array:
        """Return ``n`` joint draws [n, k] of the function at rows ``x`` [k, d]; time grows with k cubed."""
        self._check(x)
        return self.process.sample(x, n, rng)

    def leave_one_out(self) -> Prediction:
        """Return the prediction of each observation, noise included, given all others and these hyperparameters."""
        mean, variance = self.process.leave_one_out()
        return Prediction(mean, np.sqrt(variance))

    def to_response(self, values: Array) -> Array:
        """Turn values in the units of ``predict`` into responses."""
        return self.scale.inverse(values)

    def _check(self, x: Array) -> None:
        d = self.process.x.shape[1]
        if x.ndim != 2:
            raise DataError(f"{self.owner} posterior: x must have two axes [rows, columns], got shape {x.shape}.")
        if x.shape[1] != d:
            raise DataError(
                f"{self.owner} posterior: x has {x.shape[1]} columns, was fitted on {d}. "
                "Encode with the Space used for fitting."
            )


def check_response(owner: str, response: str) -> None:
    """Refuse an unknown response scaling."""
    kinds = get_args(ResponseKind)
    if response not in kinds:
        raise SettingsError(f"{owner}: response must be one of {', '.join(map(repr, kinds))}, got {shown(response)}.")


def check_count(owner: str, setting: str, value: object, least: int) -> None:
    """Refuse anything but a whole number of at least ``least``."""
    if not is_count(value, least):
        raise SettingsError(f"{owner}: {setting} must be a whole number of at least {least}, got {shown(value)}.")


def check_positive(owner: str, setting: str, value: float) -> None:
    """Refuse anything but a positive, finite number."""
    try:
        is_positive = not isinstance(value, bool | np.bool_) and bool(np.isfinite(value) and value > 0.0)
    except (TypeError, ValueError):
        is_positive = False
    if not is_positive:
        raise SettingsError(f"{owner}: {setting} must be a positive number, got {shown(value)}.")
