r"""How responses are scaled before a model sees them, and back again.

Notation: y [n] responses, larger is better; z [n] what the model is fitted to. Three scalings (methods in the
literature differ in nothing so often as in this): min–max with known or observed extremes, standardising, and the
copula z = \Phi^{-1}(ECDF(y)) with winsorised ends. All are safe for no, one, constant, tied and wildly outlying values.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from scipy.special import ndtri

from headstart.arrays import Array

ResponseKind: TypeAlias = Literal["none", "minmax", "standardise", "copula"]

OUTLIER_FACTOR = 100.0
"""A bad value farther below the median than this many times (best - median) carries no more information."""


@dataclass(frozen=True)
class AffineScale:
    """z = (max(y, floor) - offset) / unit."""

    offset: float = 0.0
    unit: float = 1.0
    floor: float = -np.inf
    """Heavy outliers on the bad side are raised to this value; minus infinity where there are none."""

    def apply(self, y: Array) -> Array:
        """Return z."""
        return (np.maximum(y, self.floor) - self.offset) / self.unit

    def inverse(self, z: Array) -> Array:
        """Return y."""
        return z * self.unit + self.offset


@dataclass(frozen=True, eq=False)
class CopulaScale:
    """Monotone and piecewise linear between the observed values, constant beyond them."""

    y: Array
    """[k] distinct observed values, ascending."""
    z: Array
    """[k] their normal scores, ascending."""

    def apply(self, y: Array) -> Array:
        """Return z."""
        return np.interp(y, self.y, self.z)

    def inverse(self, z: Array) -> Array:
        """Return y."""
        return np.interp(z, self.z, self.y)


Scale: TypeAlias = AffineScale | CopulaScale


def fit_scale(kind: ResponseKind, y: Array, bounds: tuple[float, float] | None = None) -> Scale:
    """Return the scaling of ``kind`` for responses ``y``; only "minmax" looks at ``bounds``."""
    if kind == "minmax":
        return minmax(y, bounds)
    if kind == "standardise":
        return standardise(y)
    if kind == "copula":
        return copula(y)
    return AffineScale()


def outlier_floor(y: Array) -> float:
    """Return the value below which a response is a heavy outlier, minus infinity where there is none.

    One diverged run (1e30) must not press all others onto one point. The good side is never touched.
    """
    if len(y) < 2:
        return -np.inf
    median = float(np.median(y))
    floor = median - OUTLIER_FACTOR * (float(y.max()) - median)
    # with more than half of the values tied at the top there is no spread to measure by, and nothing to protect
    return floor if y.min() < floor < y.max() else -np.inf


def minmax(y: Array, bounds: tuple[float, float] | None = None) -> AffineScale:
    """Return the scaling of [low, high] to [0, 1]; observed extremes where no bounds are known, unit 1 if equal."""
    if bounds is not None:
        low, high, floor = bounds[0], bounds[1], -np.inf
    elif len(y):
        floor = outlier_floor(y)
        low, high = float(max(y.min(), floor)), float(y.max())
    else:
        return AffineScale()
    return AffineScale(offset=low, unit=_unit(high - low, low), floor=floor)


def standardise(y: Array) -> AffineScale:
    """Return the scaling to mean 0 and (population) standard deviation 1; unit 1 for constant values.

    The floor of 1e-3 under the deviation that some programs use is left out: it assumes accuracies, and would hide a
    loss that varies in its sixth digit.
    """
    if len(y) == 0:
        return AffineScale()
    floor = outlier_floor(y)
    raised = np.maximum(y, floor)
    mean = float(raised.mean())
    return AffineScale(offset=mean, unit=_unit(float(raised.std()), mean), floor=floor)


def copula(y: Array) -> Scale:
    """Return the scaling to normal scores of the winsorised empirical distribution (quantile-based transfer, GCP)."""
    n = len(y)
    if n < 2:
        return AffineScale(offset=float(y[0]) if n else 0.0)
    values, counts = np.unique(y, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    delta = 1.0 / (4.0 * n**0.25 * np.sqrt(np.pi * np.log(n)))
    z = ndtri(np.clip(mean_rank / n, delta, 1.0 - delta))
    if len(values) == 1:
        return AffineScale(offset=float(values[0] - z[0]))
    return CopulaScale(y=values, z=z)


def _unit(width: float, level: float) -> float:
    """Return ``width``, or 1 where it is nothing but rounding of values around ``level``."""
    return width if width > 1e-13 * abs(level) and width > 1e-300 else 1.0
