"""The array types of every signature, and the one way to freeze an array."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
BoolArray: TypeAlias = NDArray[np.bool_]
ArrayLike: TypeAlias = NDArray[np.floating] | NDArray[np.integer] | Sequence[float] | Sequence[Sequence[float]]
Rng: TypeAlias = np.random.Generator


def frozen(values: ArrayLike) -> Array:
    """Return a float64 copy of ``values`` that cannot be written to."""
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array
