r"""Expected improvement for maximisation, in logarithms that never underflow.

Notation: mu, sigma mean and deviation; y^ the incumbent; z = (mu - y^ - xi) / sigma;
h(z) = \phi(z) + z \Phi(z), so that EI = sigma h(z).
Plain EI is exactly 0 for every candidate after one outlier, and "the best of all zeros" is then row 0.
"""

from typing import cast

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from headstart.arrays import Array

SMALLEST_STD = 1e-9
"""Below it a prediction counts as certain."""

_LOG_SQRT_2PI = 0.5 * np.log(2.0 * np.pi)
_FAR = 60.0  # beyond it the subtraction in the Mills ratio loses more digits than the series


def log_h(z: Array) -> Array:
    r"""Return log(\phi(z) + z \Phi(z)) for any z, accurate to about 1e-12 relative."""
    z = np.asarray(z, dtype=np.float64)
    t = -np.minimum(z, -1.0)  # t >= 1 is used only where z < -1
    middle = np.minimum(t, _FAR)
    # h(-t) = phi(t) (1 - t M(t)), M the Mills ratio
    scaled_tail = cast("Array", erfcx(middle / np.sqrt(2.0)))  # the stubs leave its type open
    mills: Array = np.log1p(-middle * np.sqrt(0.5 * np.pi) * scaled_tail)
    far = np.maximum(t, _FAR)
    s = far**-2.0
    # 1 - t M(t) = t^-2 (1 - 3 t^-2 + 15 t^-4 - 105 t^-6 + ...)
    series = np.log(s) + np.log1p(s * (-3.0 + s * (15.0 - s * 105.0)))
    tail: Array = -0.5 * t * t - _LOG_SQRT_2PI + np.where(t < _FAR, mills, series)
    near = np.maximum(z, -1.0)
    below = cast("Array", ndtr(near))
    body: Array = np.log(np.exp(-0.5 * near * near - _LOG_SQRT_2PI) + near * below)
    return np.where(z < -1.0, tail, body)


def log_expected_improvement(mean: Array, std: Array, incumbent: float, xi: float = 0.0) -> Array:
    """Return log EI [k]; a deviation below 1e-9 counts as 1e-9, so that certain points stay ordered by their mean."""
    std = np.maximum(std, SMALLEST_STD)
    return np.log(std) + log_h((mean - incumbent - xi) / std)


def expected_improvement(mean: Array, std: Array, incumbent: float, xi: float = 0.0) -> Array:
    """Return plain EI [k]; the improvement itself where the deviation is below 1e-9."""
    gain = mean - incumbent - xi
    safe = np.maximum(std, SMALLEST_STD)
    z = gain / safe
    value = gain * ndtr(z) + safe * np.exp(-0.5 * z * z - _LOG_SQRT_2PI)
    return np.where(std <= SMALLEST_STD, np.maximum(gain, 0.0), np.maximum(value, 0.0))


def log_probability_of_improvement(mean: Array, std: Array, incumbent: float, xi: float = 0.0) -> Array:
    """Return the logarithm of the probability that the function exceeds incumbent + xi."""
    return log_ndtr((mean - incumbent - xi) / np.maximum(std, SMALLEST_STD))
