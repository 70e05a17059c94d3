"""A finite set of configurations, the only ones that may be asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from headstart.arrays import Array, frozen
from headstart.data import TaskData
from headstart.encoding import Columns, Encoding
from headstart.errors import ConfigError, SettingsError
from headstart.space import Config, Space


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows that may be asked, with their configurations."""

    x: Array
    """[N, d]"""
    columns: Columns
    configs: tuple[Config, ...]
    """Of each row; column names with numbers where there is no Space."""
    rows: Mapping[tuple[object, ...], int]
    """The row of each configuration."""
    space: Space | None

    def placed(self, chosen: Config | int) -> tuple[Config, int]:
        """Return configuration and row of either.

        Raises:
            ConfigError: The pool does not have it.
        """
        if isinstance(cast("object", chosen), Mapping):
            row = self.row_of(cast("Config", chosen))
            if row is None:
                raise ConfigError(f"The pool of {len(self.x)} configurations does not have {chosen!r:.200}.")
            return dict(self.configs[row]), row
        if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer) or not 0 <= chosen < len(self.x):
            raise ConfigError(f"A row of the pool must be a whole number below {len(self.x)}, got {chosen!r:.80}.")
        return dict(self.configs[int(chosen)]), int(chosen)

    def row_of(self, config: Config) -> int | None:
        """Return the row of a configuration, None where the pool does not have it."""
        if self.space is not None:
            return self.rows.get(self.space.key(self.space.validate(config)))
        return self.rows.get(tuple(config.items()))


def pool_of(given: Sequence[Config] | Array, encoding: Encoding | None) -> Pool:
    """Return the pool that a user gave: configurations of a Space, or rows of the unit cube without one.

    Raises:
        SettingsError: It is empty, or neither.
        ConfigError: A configuration does not belong to the Space.
        DataError: Rows leave the unit cube.
    """
    if not isinstance(cast("object", given), Sequence | np.ndarray) or isinstance(given, str) or len(given) == 0:
        raise SettingsError("Optimizer: pool must be a list of configurations or rows, at least one.")
    if not isinstance(given[0], Mapping):
        if encoding is not None:
            raise SettingsError("Optimizer: the pool of a Space must hold its configurations, not rows of numbers.")
        data = TaskData(cast("Array", given), np.zeros(len(given)), name="pool")
        configs: tuple[Config, ...] = tuple({f"x{j}": value for j, value in enumerate(row)} for row in data.x.tolist())
        keys: dict[tuple[object, ...], int] = {
            tuple(config.items()): row for row, config in reversed(list(enumerate(configs)))
        }
        assert data.columns is not None  # TaskData always sets it
        return Pool(data.x, data.columns, configs, keys, None)
    if encoding is None:
        raise SettingsError("Optimizer: a pool of configurations needs their space. Give it first.")
    space = encoding.space
    configs = tuple(space.validate(config) for config in cast("Sequence[Config]", given))
    keys = {space.key(config): row for row, config in reversed(list(enumerate(configs)))}
    return Pool(frozen(encoding.encode(configs)), encoding.columns, configs, keys, space)
