"""Checks of what users hand to an Optimizer."""

import json
import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

import numpy as np

from headstart import initial_designs, surrogates
from headstart.arrays import Array, frozen
from headstart.data import Direction, MetaDataset, State, metadata_text
from headstart.errors import DataError, SettingsError, TaskNotFoundError
from headstart.optimizer.preparation import Choices
from headstart.space import Space
from headstart.space.values import as_integer, as_number, is_count, plain, shown

if TYPE_CHECKING:
    from headstart.memory import Memory, TaskRecord

INFINITE = 1e30
"""The largest value that is kept; what an infinite one is told as."""

LARGEST_SEED = 2**63 - 1


def opened(memory: "Memory | str | Path | None") -> "Memory | None":
    """Return the memory, opened where only its path was given."""
    if memory is None:
        return None
    from headstart.memory import Memory  # SQLAlchemy only where there is a memory

    if isinstance(memory, str | Path):
        return Memory(memory)
    if not isinstance(cast("object", memory), Memory):
        raise SettingsError(f"Optimizer: memory must be a Memory or the path of one, got {shown(memory)}.")
    return memory


def stored(memory: "Memory | None", task: str | None, space: Space | None, has_pool: bool) -> "TaskRecord | None":
    """Return what the memory knows of the task, None where it is new.

    Raises:
        SettingsError: Task, memory and Space do not fit together.
    """
    check_text("task", task)
    if space is not None and not isinstance(cast("object", space), Space):
        raise SettingsError(
            f"Optimizer: space must be a Space, got {shown(space)}. Use Space.from_dict() or Space.load()."
        )
    record = None
    if memory is not None:
        if task is None:
            raise SettingsError("Optimizer: a memory keeps tasks by name. Give one, such as task='churn-2026-11'.")
        try:
            record = memory.task(task)
        except TaskNotFoundError as error:
            if space is None and not has_pool:
                raise SettingsError(f"Optimizer: a new task needs a space. {error}") from None
    if space is None and record is None and not has_pool:
        raise SettingsError("Optimizer: give a space, or a pool, or the name of a task in a memory.")
    if memory is not None and space is None and record is None:
        raise SettingsError("Optimizer: a memory keeps configurations. Give the space that the pool belongs to.")
    return record


def check_text(what: str, text: object) -> None:
    """Refuse what is neither text nor None."""
    if text is not None and (not isinstance(text, str) or not text):
        raise SettingsError(f"Optimizer: {what} must be a name or None, got {shown(text)}.")


def checked_direction(direction: object) -> Direction:
    """Return "minimize" or "maximize"."""
    if not isinstance(direction, str) or direction not in get_args(Direction):
        raise SettingsError(f'Optimizer: direction must be "minimize" or "maximize", got {shown(direction)}.')
    return cast("Direction", direction)


def checked_bounds(bounds: object) -> tuple[float, float] | None:
    """Return two finite numbers in order, or None."""
    if bounds is None:
        return None
    try:
        low, high = (as_number(bound) for bound in cast("Sequence[object]", bounds))
    except (TypeError, ValueError):
        low = high = None
    if low is not None and high is not None and low < high:
        return low, high
    raise SettingsError(f"Optimizer: bounds must be finite numbers (low, high) with low < high, got {shown(bounds)}.")


def checked_metafeatures(metafeatures: object) -> Array | None:
    """Return descriptors [m], or None."""
    if metafeatures is None:
        return None
    try:
        found = np.asarray(metafeatures, dtype=np.float64)
    except Exception:  # foreign objects raise what they like
        found = np.empty(0)
    if found.ndim != 1 or len(found) == 0 or not np.isfinite(found).all():
        raise SettingsError(
            f"Optimizer: metafeatures must be finite numbers, the same ones as of the past tasks, got "
            f"{shown(metafeatures)}."
        )
    return frozen(found)


def checked_seed(seed: object) -> int:
    """Return a seed; a random one for None."""
    if seed is None:
        return int(np.random.default_rng().integers(LARGEST_SEED))
    number = as_integer(seed)
    if number is None or not 0 <= number <= LARGEST_SEED:
        raise SettingsError(f"Optimizer: seed must be a whole number from 0 to 2**63 - 1, got {shown(seed)}.")
    return number


def check_past(past: object) -> None:
    """Refuse what is neither past tasks nor None."""
    if past is not None and not isinstance(past, MetaDataset):
        raise SettingsError(
            f"Optimizer: past must be a MetaDataset, got {shown(past)}. Memory.meta_dataset(space) makes one."
        )


def check_choices(choices: Choices) -> None:
    """Refuse names that nobody has, and objects that are no methods."""
    method, design = choices.method, choices.initial_design
    if isinstance(method, str):
        if method != "auto":
            surrogates.surrogate_named(method)
    elif not _has(method, "fit", "name", "minimum_observations", "acquisition"):
        raise SettingsError(
            f"Optimizer: method must be 'auto', a name, or a configured Surrogate, got {shown(method)}."
        )
    if isinstance(design, str):
        if design != "auto":
            initial_designs.initial_design_named(design)
    elif not _has(design, "propose", "name"):
        raise SettingsError(
            f"Optimizer: initial_design must be 'auto', a name, or a configured InitialDesign, got {shown(design)}."
        )
    if choices.initial_trials is not None and not is_count(choices.initial_trials, 0):
        raise SettingsError(
            f"Optimizer: initial_trials must be a whole number of at least 0, got {shown(choices.initial_trials)}."
        )
    if choices.acquisition is not None and (not callable(choices.acquisition) or isinstance(choices.acquisition, type)):
        raise SettingsError(
            f"Optimizer: acquisition must be a configured Acquisition, got {shown(choices.acquisition)}."
        )


def _has(given: object, *attributes: str) -> bool:
    """Whether ``given`` is an object, no class, with these attributes."""
    return not isinstance(given, type) and all(hasattr(given, attribute) for attribute in attributes)


def outcome_of(value: object, failed: object, what: str) -> tuple[State, float | None]:
    """Return state and value of a result: NaN and None are failures, infinity is clipped with a warning.

    Raises:
        DataError: The value is no number, or a failed trial has one.
    """
    value, failed = plain(value), plain(failed)
    if not isinstance(failed, bool):
        raise DataError(f"{what}: failed must be True or False, got {shown(failed)}.")
    number = math.nan if value is None else _number(value)
    if number is None:
        raise DataError(f"{what} must be a number, None or NaN, got {shown(value)}. Return the metric itself.")
    if math.isnan(number):
        return "failed", None
    if failed:
        raise DataError(f"{what}: a failed trial has no value, got {shown(value)}. Put it into metadata.")
    if abs(number) > INFINITE:
        clipped = math.copysign(INFINITE, number)
        message = f"{what} is {number:g}, kept as {clipped:g}. Tell it as failed if it means nothing."
        warnings.warn(message, RuntimeWarning, stacklevel=3)
        number = clipped
    return "complete", number


def _number(value: object) -> float | None:
    """Return ``value`` as a float, infinity where it is too large for one; None where it is no number."""
    if isinstance(value, bool | str | bytes | bytearray | memoryview | np.ndarray):
        return None
    try:
        return float(cast("float", value))
    except OverflowError:
        return math.inf if cast("int", value) > 0 else -math.inf
    except Exception:  # whatever a foreign object raises when it is no number
        return None


def checked_duration(duration: object) -> float | None:
    """Return seconds, at least 0, or None.

    Raises:
        DataError: It is neither.
    """
    if duration is None:
        return None
    seconds = as_number(duration)
    if seconds is None or seconds < 0:
        raise DataError(f"duration must be a number of seconds, at least 0, or None, got {shown(duration)}.")
    return seconds


def checked_metadata(metadata: object) -> dict[str, Any]:
    """Return metadata as a memory gives it back: a copy of JSON values.

    Raises:
        DataError: It is no mapping of names to such values.
    """
    return json.loads(metadata_text(cast("Mapping[str, Any] | None", metadata), "Optimizer"))


def check_loop(function: object, catch: object, callbacks: Sequence[object]) -> None:
    """Refuse what ``optimize`` cannot call or catch."""
    if not callable(function):
        raise SettingsError(f"optimize: the function must be callable, got {shown(function)}.")
    kinds = cast("tuple[object, ...]", catch) if isinstance(catch, tuple) else (catch,)
    if not all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        raise SettingsError(
            f"optimize: catch must be one or several kinds of Exception, got {shown(cast('object', catch))}."
        )
    for callback in callbacks:
        if not callable(callback):
            raise SettingsError(
                f"optimize: callbacks must be functions (optimizer, observation), got {shown(callback)}."
            )
