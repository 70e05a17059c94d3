"""Checks of what users hand to an Optimizer."""

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args

import numpy as np

from headstart import initial_designs, surrogates
from headstart.data import Direction, State
from headstart.errors import DataError, SettingsError, TaskNotFoundError
from headstart.optimizer.preparation import Choices
from headstart.space import Space
from headstart.space.values import as_integer, is_count, plain, shown

if TYPE_CHECKING:
    from headstart.memory import Memory, TaskRecord

INFINITE = 1e30
"""What an infinite value is told as."""

LARGEST_SEED = 2**63 - 1


def opened(memory: "Memory | str | Path | None") -> "Memory | None":
    """Return the memory, opened where only its path was given."""
    if isinstance(memory, str | Path):
        from headstart.memory import Memory  # SQLAlchemy only where there is a memory

        return Memory(memory)
    return memory


def stored(memory: "Memory | None", task: str | None, space: Space | None, has_pool: bool) -> "TaskRecord | None":
    """Return what the memory knows of the task, None where it is new.

    Raises:
        SettingsError: Task, memory and Space do not fit together.
    """
    record = None
    if memory is not None:
        if task is None:
            raise SettingsError("Optimizer: a memory keeps tasks by name. Give one, such as task='churn-2026-11'.")
        try:
            record = memory.task(task)
        except TaskNotFoundError as error:
            if space is None and not has_pool:
                raise SettingsError(f"Optimizer: a new task needs a space. {error}") from None
    if space is not None and not isinstance(cast("object", space), Space):
        raise SettingsError(
            f"Optimizer: space must be a Space, got {shown(space)}. Use Space.from_dict() or Space.load()."
        )
    if space is None and record is None and not has_pool:
        raise SettingsError("Optimizer: give a space, or a pool, or the name of a task in a memory.")
    if memory is not None and space is None and record is None:
        raise SettingsError("Optimizer: a memory keeps configurations. Give the space that the pool belongs to.")
    return record


def checked_direction(direction: object) -> Direction:
    """Return "minimize" or "maximize"."""
    if direction not in get_args(Direction):
        raise SettingsError(f'Optimizer: direction must be "minimize" or "maximize", got {shown(direction)}.')
    return cast("Direction", direction)


def checked_bounds(bounds: object) -> tuple[float, float] | None:
    """Return two finite numbers in order, or None."""
    if bounds is None:
        return None
    try:
        low, high = (float(bound) for bound in cast("tuple[float, float]", bounds))
    except (TypeError, ValueError):
        low = high = math.nan
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise SettingsError(
            f"Optimizer: bounds must be finite numbers (low, high) with low < high, got {shown(bounds)}."
        )
    return low, high


def checked_seed(seed: object) -> int:
    """Return a seed; a random one for None."""
    if seed is None:
        return int(np.random.default_rng().integers(LARGEST_SEED))
    number = as_integer(seed)
    if number is None or not 0 <= number <= LARGEST_SEED:
        raise SettingsError(f"Optimizer: seed must be a whole number from 0 to 2**63 - 1, got {shown(seed)}.")
    return number


def check_choices(choices: Choices) -> None:
    """Refuse names that nobody has, and objects that are no methods."""
    if isinstance(choices.method, str):
        if choices.method != "auto":
            surrogates.surrogate_named(choices.method)
    elif not callable(getattr(choices.method, "fit", None)) or isinstance(choices.method, type):
        raise SettingsError(
            f"Optimizer: method must be 'auto', a name, or a configured Surrogate, got {shown(choices.method)}."
        )
    if isinstance(choices.initial_design, str):
        if choices.initial_design != "auto":
            initial_designs.initial_design_named(choices.initial_design)
    elif not callable(getattr(choices.initial_design, "propose", None)) or isinstance(choices.initial_design, type):
        raise SettingsError(
            "Optimizer: initial_design must be 'auto', a name, or a configured InitialDesign, got "
            f"{shown(choices.initial_design)}."
        )
    if choices.initial_trials is not None and not is_count(choices.initial_trials, 0):
        raise SettingsError(
            f"Optimizer: initial_trials must be a whole number of at least 0, got {shown(choices.initial_trials)}."
        )
    if choices.acquisition is not None and not callable(choices.acquisition):
        raise SettingsError(
            f"Optimizer: acquisition must be a configured Acquisition, got {shown(choices.acquisition)}."
        )


def outcome_of(value: object, failed: bool, what: str) -> tuple[State, float | None]:
    """Return state and value of a result: NaN and None are failures, infinity is clipped with a warning.

    Raises:
        DataError: The value is no number, or a failed trial has one.
    """
    value = plain(value)
    if failed and value is not None:
        raise DataError(f"{what}: a failed trial has no value, got {shown(value)}. Put it into metadata.")
    if value is None:
        return "failed", None
    try:
        number = None if isinstance(value, bool | str | bytes) else float(cast("float", value))
    except OverflowError:
        number = math.inf if cast("int", value) > 0 else -math.inf
    except (TypeError, ValueError):
        number = None
    if number is None:
        raise DataError(f"{what} must be a number, None or NaN, got {shown(value)}. Return the metric itself.")
    if math.isnan(number):
        return "failed", None
    if abs(number) > INFINITE:
        warnings.warn(
            f"{what} is {number}, kept as {math.copysign(INFINITE, number):g}. Tell it as failed if it means nothing.",
            RuntimeWarning,
            stacklevel=4,
        )
        number = math.copysign(INFINITE, number)
    return "complete", number
