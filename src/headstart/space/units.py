"""Many configurations at once: a matrix of units, one row each, one column per parameter.

Notation: P parameters, n configurations; units [n, P] where each value lies in [0, 1], NaN where a parameter does not
apply. A *complete* matrix has no NaN: it keeps a place for every parameter, and ``masked`` takes out what does not
apply. Search draws, mutates and scores such matrices; Configs are made only of the few rows that leave.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart.arrays import Array, BoolArray, Rng
from headstart.space.parameters import Categorical, Constant, Float, Int
from headstart.space.values import Config

if TYPE_CHECKING:
    from headstart.space.space import Space

_ABSENT: Any = object()


def activity(space: "Space", units: Array) -> BoolArray:
    """Return [n, P]: where each parameter applies, given complete ``units``."""
    active = np.ones(units.shape, dtype=np.bool_)
    for place in space.order:
        for parent, values in space.conditions[place]:
            matching = space.parameters[parent].matches(units[:, parent], values)
            active[:, place] &= active[:, parent] & matching
    return active


def masked(space: "Space", units: Array) -> Array:
    """Return ``units`` snapped to values, with NaN where a parameter does not apply."""
    snapped = np.empty(units.shape)
    for place, parameter in enumerate(space.parameters):
        snapped[:, place] = parameter.snap(units[:, place])
    return np.where(activity(space, snapped), snapped, np.nan)


def from_quantiles(space: "Space", quantiles: Array) -> Array:
    """Return units of configurations; uniform ``quantiles`` [n, P] give every value its fair chance."""
    units = np.empty(quantiles.shape)
    for place, parameter in enumerate(space.parameters):
        units[:, place] = parameter.from_quantiles(quantiles[:, place])
    return masked(space, units)


def to_configs(space: "Space", units: Array) -> list[Config]:
    """Return the configurations at ``units``."""
    columns: list[list[Any]] = []
    for place, parameter in enumerate(space.parameters):
        column = units[:, place]
        present = np.isfinite(column)
        values = iter(parameter.values(column[present]))
        columns.append([next(values) if there else _ABSENT for there in present.tolist()])
    names = space.names
    return [
        {name: value for name, value in zip(names, row, strict=True) if value is not _ABSENT}
        for row in zip(*columns, strict=True)
    ]


def from_configs(space: "Space", configs: Sequence[Config]) -> Array:
    """Return the units of ``configs``, each checked.

    Raises:
        ConfigError: One of them does not belong to ``space``.
    """
    units = _fast_units(space, configs)
    if units is None:  # something is foreign: either it can be coerced, or the message must name it
        units = _fast_units(space, [space.validate(config) for config in configs])
        assert units is not None  # valid configurations have units
    return units


def _fast_units(space: "Space", configs: Sequence[Config]) -> Array | None:
    """Return the units of ``configs``, None where any is not exactly in the form that the Space itself makes."""
    units = np.empty((len(configs), len(space.parameters)))
    if any(type(config) is not dict for config in configs):
        return None
    for place, (name, parameter) in enumerate(zip(space.names, space.parameters, strict=True)):
        values = [config.get(name, _ABSENT) for config in configs]
        rows = [row for row, value in enumerate(values) if value is not _ABSENT]
        units[:, place] = np.nan
        if rows:
            found = parameter.units([values[row] for row in rows])
            if np.isnan(found).any():
                return None
            units[rows, place] = found
    present = np.isfinite(units)
    if not np.array_equal(present, activity(space, np.where(present, units, 0.5))):
        return None
    counts = np.array([len(config) for config in configs])
    return units if np.array_equal(present.sum(axis=1), counts) else None


def mutations(space: "Space", units: Array, *, rng: Rng, step: float | Array = 0.2, share: float = 0.4) -> Array:
    """Return one variation of each row of ``units`` [n, P]; at least one value differs where one can.

    A changed number moves by a normal step of deviation ``step`` of its range (an integer by at least one), a changed
    category is drawn anew. Values of parameters that begin to apply are drawn anew, too.

    Args:
        space: The Space of the rows.
        units: [n, P]
        rng: Draws the changes.
        step: How far numbers move; for all, or for each row [n].
        share: Chance of each parameter to change, besides the one that always does.
    """
    n, p = units.shape
    steps = np.broadcast_to(np.asarray(step, dtype=np.float64), (n,))
    present = np.isfinite(units)
    complete = np.where(present, units, rng.random((n, p)))
    can_change = np.array([parameter.size > 1 for parameter in space.parameters])
    eligible = present & can_change
    changes = eligible & (rng.random((n, p)) < share)
    chosen = np.argmax(np.where(eligible, rng.random((n, p)), -1.0), axis=1)
    changes[np.arange(n), chosen] = eligible[np.arange(n), chosen]
    for place, parameter in enumerate(space.parameters):
        rows = np.flatnonzero(changes[:, place])
        if len(rows):
            complete[rows, place] = _moved(parameter, complete[rows, place], steps[rows], rng)
    return masked(space, complete)


def _moved(parameter: Float | Int | Categorical | Constant, units: Array, step: Array, rng: Rng) -> Array:
    """Return other units of the same parameter, one for each of ``units``."""
    if isinstance(parameter, Constant):
        return units
    if isinstance(parameter, Categorical) and not parameter.ordered:
        k = len(parameter.choices)
        shifted = (parameter.places(units) + rng.integers(1, k, len(units))) % k
        return (shifted + 0.5) / k
    moved = units + step * rng.standard_normal(len(units))
    # reflected at the ends, so that they are not hit more often than the middle
    moved = np.abs(moved)
    moved = np.clip(np.where(moved > 1.0, 2.0 - moved, moved), 0.0, 1.0)
    if isinstance(parameter, Float):
        return moved
    snapped = parameter.snap(moved)
    stuck = snapped == parameter.snap(units)
    if stuck.any():
        snapped[stuck] = _next_value(parameter, units[stuck], rng)
    return snapped


def _next_value(parameter: Int | Categorical, units: Array, rng: Rng) -> Array:
    """Return the value above or below each of ``units``, at random where both exist."""
    last = int(parameter.size) - 1
    if isinstance(parameter, Categorical):
        places = parameter.places(units)
    else:
        places = np.array(parameter.values(units), dtype=np.float64) - parameter.low
    up = (rng.random(len(units)) < 0.5) & (places < last) | (places == 0)
    moved = places + np.where(up, 1.0, -1.0)
    if isinstance(parameter, Categorical):
        return moved / last
    return parameter.units([int(parameter.low + place) for place in moved])
