"""What a memory hands out, and how configurations and metadata become text."""

import json
import math
import operator
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from headstart.data import Direction
from headstart.errors import DataError
from headstart.space import Config, Space
from headstart.space.values import plain, shown

LONGEST_NAME = 200
LONGEST_TEXT = 10_000
LARGEST_SEED = 2**63 - 1


@dataclass(frozen=True)
class TrialCounts:
    """How many trials of a task are in which state."""

    running: int = 0
    complete: int = 0
    failed: int = 0
    abandoned: int = 0

    @property
    def total(self) -> int:
        """All trials."""
        return self.running + self.complete + self.failed + self.abandoned


@dataclass(frozen=True)
class TaskRecord:
    """What a memory knows of a task, without its trials."""

    name: str
    space: Space
    """The Space it was created with."""
    direction: Direction
    metric: str | None
    """What the values measure, where it was said."""
    seed: int | None
    method: str | None
    """What the user chose, for resuming."""
    bounds: tuple[float, float] | None
    """Lowest and highest possible value, where it was said."""
    metadata: Mapping[str, Any]
    source: str
    """Who brought it: "headstart", "demo" or an importer."""
    created: float
    """Seconds since 1970, UTC."""
    changed: float
    """When one of its trials last changed; when it was created, if none did."""
    revision: int
    """Counts the changes of its trials; ``Memory.observations(since=)`` understands it."""
    trials: TrialCounts = field(default_factory=TrialCounts)
    best: float | None = None
    """Best value in its direction."""


def config_text(config: Config) -> str:
    """Return a validated ``config`` as JSON whose floats come back bit by bit."""
    return json.dumps(config, allow_nan=False)


def checked_name(name: str, what: str) -> str:
    """Return ``name`` if every database, table and command line can carry it."""
    if not _is_text(name, LONGEST_NAME) or not name or name != name.strip():
        raise DataError(
            f"{what} must be 1 to {LONGEST_NAME} printable characters without spaces at its ends, got {shown(name)}."
        )
    return str(name)


def checked_text(text: str, what: str) -> str:
    """Return ``text``, such as a method or an origin, if every database can carry it."""
    if not _is_text(text, LONGEST_TEXT):
        raise DataError(f"{what} must be text of up to {LONGEST_TEXT} printable characters, got {shown(text)}.")
    return str(text)


def _is_text(text: object, longest: int) -> bool:
    return isinstance(text, str) and len(text) <= longest and text.isprintable()


def checked_number(value: float, what: str) -> float:
    """Return ``value`` as a finite float; whatever float() takes but text, booleans and NumPy arrays with axes."""
    value = cast("float", plain(value))
    try:
        number = math.nan if isinstance(value, bool | str | bytes | np.ndarray) else float(value)
    except Exception:  # whatever a foreign object raises when it is no number
        number = math.nan
    if not math.isfinite(number):
        raise DataError(f"{what} must be a finite number, got {shown(value)}.")
    return number


def checked_duration(duration: float | None, what: str) -> float | None:
    """Return ``duration`` as seconds, at least 0."""
    if duration is None:
        return None
    seconds = checked_number(duration, f"{what}: duration")
    if seconds < 0:
        raise DataError(f"{what}: duration must not be negative, got {seconds:g}. Leave it out if it is not known.")
    return seconds


def checked_seed(seed: int | None, what: str) -> int | None:
    """Return ``seed`` as a whole number that a database column holds."""
    return None if seed is None else checked_count(seed, f"{what}: seed", largest=LARGEST_SEED)


def checked_bounds(bounds: tuple[float, float] | None, what: str) -> tuple[float, float] | None:
    """Return ``bounds`` as two finite floats in order."""
    if bounds is None:
        return None
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise DataError(f"{what}: bounds must be a pair (low, high), got {shown(bounds)}.") from None
    low, high = checked_number(low, f"{what}: lower bound"), checked_number(high, f"{what}: upper bound")
    if low > high:
        raise DataError(f"{what}: bounds must be in order, got low={low:g}, high={high:g}. Swap them.")
    return low, high


def checked_count(count: int, what: str, *, largest: int = 2**31 - 1) -> int:
    """Return ``count`` as a whole number that a database column holds."""
    try:
        number = -1 if isinstance(count, bool) else operator.index(count)
    except TypeError:
        number = -1
    if not 0 <= number <= largest:
        raise DataError(f"{what} must be a whole number from 0 to {largest}, got {shown(count)}.")
    return number


def checked_direction(direction: Direction, what: str) -> Direction:
    """Return ``direction`` if it is one of the two."""
    if not isinstance(cast("object", direction), str) or direction not in ("minimize", "maximize"):
        raise DataError(f'{what}: direction must be "minimize" or "maximize", got {shown(direction)}.')
    return direction


def checked_names(names: Collection[str], what: str) -> frozenset[str]:
    """Return ``names`` as a set; a single name is one."""
    try:
        found = list([names] if isinstance(names, str) else names)
    except TypeError:
        found = [cast("str", None)]
    if not all(isinstance(cast("object", name), str) for name in found):
        raise DataError(f"{what} must be names of tasks, got {shown(names)}.")
    return frozenset(found)


def checked_space(space: Space, what: str) -> Space:
    """Return ``space`` if it is one."""
    if not isinstance(cast("object", space), Space):
        raise DataError(f"{what}: space must be a Space, got {shown(space)}.")
    return space
