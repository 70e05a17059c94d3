"""A finite set of configurations, the only ones that may be asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from headstart.arrays import Array, frozen
from headstart.data import TaskData
from headstart.encoding import Columns, Encoding
from headstart.errors import ConfigError, SettingsError
from headstart.optimizer.suggestion import PoolDomain
from headstart.space import Config, Space


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows that may be asked, with their configurations. Equal rows are one configuration: the first stands for all."""

    x: Array
    """[N, d]"""
    columns: Columns
    configs: tuple[Config, ...]
    """Of each row; column names with numbers where there is no Space."""
    rows: Mapping[tuple[object, ...], int]
    """The first row of each configuration."""
    space: Space | None

    @property
    def domain(self) -> PoolDomain:
        """The pool as a suggestion sees it."""
        first = np.zeros(len(self.x), dtype=np.bool_)
        first[list(self.rows.values())] = True
        return PoolDomain(self.x, self.columns, first)

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
        config = self.configs[int(chosen)]
        return dict(config), self.rows[_key(config, self.space)]

    def row_of(self, config: Config) -> int | None:
        """Return the row of a configuration, None where the pool does not have it."""
        try:
            return self.rows.get(_key(config if self.space is None else self.space.validate(config), self.space))
        except TypeError:  # values that cannot be looked up are nobody's
            return None


def _key(config: Config, space: Space | None) -> tuple[object, ...]:
    return tuple(sorted(config.items())) if space is None else space.key(config)


def pool_of(given: Sequence[Config] | Array, encoding: Encoding | None) -> Pool:
    """Return the pool that a user gave: configurations of a Space, or rows of the unit cube without one.

    Raises:
        SettingsError: It is empty, or neither.
        ConfigError: A configuration does not belong to the Space.
        DataError: Rows leave the unit cube.
    """
    is_list = isinstance(cast("object", given), Sequence) and not isinstance(given, str | bytes)
    if not (is_list or (isinstance(given, np.ndarray) and given.ndim)) or len(given) == 0:
        raise SettingsError("Optimizer: pool must be a list of configurations or rows, at least one.")
    if not isinstance(given[0], Mapping):
        if encoding is not None:
            raise SettingsError("Optimizer: the pool of a Space must hold its configurations, not rows of numbers.")
        data = TaskData(cast("Array", given), np.zeros(len(given)), name="pool")
        assert data.columns is not None  # TaskData always sets it
        rows: list[Config] = [{f"x{j}": value for j, value in enumerate(row)} for row in data.x.tolist()]
        return _pool(data.x, data.columns, rows, None)
    if encoding is None:
        raise SettingsError("Optimizer: a pool of configurations needs their space. Give it first.")
    configs = [encoding.space.validate(config) for config in cast("Sequence[Config]", given)]
    return _pool(frozen(encoding.encode(configs)), encoding.columns, configs, encoding.space)


def _pool(x: Array, columns: Columns, configs: Sequence[Config], space: Space | None) -> Pool:
    rows = {_key(config, space): row for row, config in reversed(list(enumerate(configs)))}
    return Pool(x, columns, tuple(configs), rows, space)
