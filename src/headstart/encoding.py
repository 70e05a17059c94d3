"""The one bridge between Configs and arrays: rows of the unit cube.

Numbers and ordered choices are one column (min-max, after the logarithm where the scale is one), other choices one-hot.
A parameter with conditions has an indicator column besides (1 = does not apply) and 0 in its other columns then.
Constants, and parameters with a single choice, have no columns: there is nothing to learn about them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from headstart.arrays import Array
from headstart.errors import DataError
from headstart.space import Categorical, Config, Space, units

ColumnKind: TypeAlias = Literal["numeric", "one-hot", "indicator"]


@dataclass(frozen=True)
class Columns:
    """What a surrogate may know of the encoded columns."""

    kinds: tuple[ColumnKind, ...]
    """One per column."""
    groups: tuple[int, ...]
    """Which parameter (its place in the Space) each column belongs to."""

    def __post_init__(self) -> None:
        if len(self.kinds) != len(self.groups):
            raise DataError(
                f"Columns: got {len(self.kinds)} kinds but {len(self.groups)} groups. Give one of each per column."
            )

    @classmethod
    def numeric(cls, d: int) -> "Columns":
        """Return ``d`` plain numeric columns, each its own parameter."""
        return cls(("numeric",) * d, tuple(range(d)))

    def __len__(self) -> int:
        return len(self.kinds)


@dataclass(frozen=True)
class _Part:
    """Which columns belong to one parameter."""

    place: int
    value: slice
    choices: int
    """How many one-hot columns there are; 0 for a number."""
    indicator: int | None


class Encoding:
    """How the Configs of one Space become rows, and rows Configs."""

    def __init__(self, space: Space) -> None:
        """Lay out the columns of ``space``."""
        self.space = space
        self._parts: list[_Part] = []
        kinds: list[ColumnKind] = []
        groups: list[int] = []
        for place, parameter in enumerate(space.parameters):
            if parameter.size == 1:
                continue
            first = len(kinds)
            one_hot = isinstance(parameter, Categorical) and not parameter.ordered
            choices = len(parameter.choices) if isinstance(parameter, Categorical) and one_hot else 0
            value_kinds: list[ColumnKind] = ["one-hot"] * choices if one_hot else ["numeric"]
            kinds.extend(value_kinds)
            value = slice(first, len(kinds))
            indicator = None
            if space.conditions[place]:
                indicator = len(kinds)
                kinds.append("indicator")
            groups.extend([place] * (len(kinds) - first))
            self._parts.append(_Part(place, value, choices, indicator))
        self.columns = Columns(tuple(kinds), tuple(groups))

    def encode(self, configs: Sequence[Config]) -> Array:
        """Return rows [n, d] of ``configs``, each checked.

        Raises:
            ConfigError: One of them does not belong to the Space.
        """
        return self.rows(units.from_configs(self.space, configs))

    def decode(self, x: Array) -> list[Config]:
        """Return a valid Config for every row of ``x`` [n, d], whatever it holds.

        The largest member of a one-hot group wins; a parameter is absent where its condition fails, whatever its
        indicator says. Floats come back exactly if they have at most 10 digits, as all have that a Space makes; others
        to about 1e-10 of their range.
        """
        return units.to_configs(self.space, self.units(x))

    def rows(self, matrix: Array) -> Array:
        """Return rows [n, d] of a matrix of units [n, P]."""
        x = np.zeros((len(matrix), len(self.columns)))
        for part in self._parts:
            column = matrix[:, part.place]
            present = np.isfinite(column)
            if part.choices:
                chosen = np.floor(column[present] * part.choices).astype(np.int64)
                x[np.flatnonzero(present), part.value.start + np.minimum(chosen, part.choices - 1)] = 1.0
            else:
                x[present, part.value.start] = column[present]
            if part.indicator is not None:
                x[~present, part.indicator] = 1.0
        return x

    def units(self, x: Array) -> Array:
        """Return the units [n, P] of the valid configurations nearest to rows ``x`` [n, d]."""
        if x.ndim != 2 or x.shape[1] != len(self.columns):
            raise DataError(
                f"Encoding: x must be rows of {len(self.columns)} columns, got shape {x.shape}. "
                "Encode with the Space that decodes."
            )
        complete = np.full((len(x), len(self.space)), 0.5)
        for part in self._parts:
            values = x[:, part.value]
            complete[:, part.place] = (np.argmax(values, axis=1) + 0.5) / part.choices if part.choices else values[:, 0]
        return units.masked(self.space, complete)
