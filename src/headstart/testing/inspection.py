"""What the checks need to look into objects: snapshots, storable fields, and a condition with its message."""

import re
from dataclasses import fields, is_dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Array

KEBAB_CASE = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def require(condition: object, message: str) -> None:
    """Raise an AssertionError with ``message`` unless ``condition`` holds; unlike assert, also under ``python -O``."""
    if not condition:
        raise AssertionError(message)


def title(thing: Any) -> str:
    """Return the class name of ``thing``, for messages."""
    return str(type(thing).__name__)


def snapshot(value: Any) -> Any:
    """Return nested tuples that equal another snapshot exactly if the two objects hold the same, arrays by bytes."""
    if isinstance(value, np.ndarray):
        array = cast(NDArray[Any], value)
        return ("array", array.dtype.str, array.shape, array.tobytes())
    if isinstance(value, np.random.Generator):
        return ("generator", repr(value.bit_generator.state))
    if is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: snapshot(getattr(value, field.name)) for field in fields(value)}
        # what a method smuggled in beside its fields counts as a change too
        extra = {name: snapshot(held) for name, held in getattr(value, "__dict__", {}).items() if name not in parts}
        return (title(value), tuple({**parts, **extra}.items()))
    if isinstance(value, tuple | list):
        return (title(value), tuple(snapshot(item) for item in cast(tuple[Any, ...] | list[Any], value)))
    if isinstance(value, dict):
        return ("dict", tuple((repr(key), snapshot(held)) for key, held in cast(dict[Any, Any], value).items()))
    return (title(value), repr(value))


def unstorable_fields(value: Any, path: str) -> list[str]:
    """Return the places below ``value`` that cannot be written as arrays and plain text, with their types."""
    if value is None or isinstance(value, bool | int | float | str | np.integer | np.floating):
        return []
    if isinstance(value, np.ndarray):
        dtype = cast(NDArray[Any], value).dtype
        return [] if dtype.kind in "biuf" else [f"{path}: array of {dtype}"]
    if isinstance(value, tuple):
        items = cast(tuple[Any, ...], value)
        return [found for i, item in enumerate(items) for found in unstorable_fields(item, f"{path}[{i}]")]
    if is_dataclass(value) and not isinstance(value, type):
        places = [] if _is_frozen(value) else [f"{path}: {title(value)} is not frozen"]
        for field in fields(value):
            places += unstorable_fields(getattr(value, field.name), f"{path}.{field.name}")
        return places
    return [f"{path}: {title(value)}"]


def _is_frozen(value: Any) -> bool:
    return bool(value.__dataclass_params__.frozen)


def require_equal(first: Array, second: Array, message: str) -> None:
    """Require the same shape and the same numbers, to the last bit."""
    require(first.shape == second.shape and np.array_equal(first, second), f"{message}{_difference(first, second)}")


def require_close(first: Array, second: Array, tolerance: float, message: str) -> None:
    """Require the same shape and numbers that differ by at most ``tolerance``."""
    close = first.shape == second.shape and bool(np.allclose(first, second, rtol=0.0, atol=tolerance))
    require(close, f"{message}{_difference(first, second)} The tolerance is {tolerance:g}.")


def _difference(first: Array, second: Array) -> str:
    if first.shape != second.shape:
        return f" The shapes are {first.shape} and {second.shape}."
    return f" The largest difference is {float(np.abs(first - second).max(initial=0.0)):g}."


def require_name(thing: Any) -> None:
    """Require a class attribute ``name`` in kebab-case."""
    name: object = getattr(thing.__class__, "name", None)
    require(
        isinstance(name, str) and KEBAB_CASE.fullmatch(name) is not None,
        f"{title(thing)}: name must be a class attribute in kebab-case such as 'my-method', got {name!r}.",
    )


def require_storable(thing: Any) -> None:
    """Require a frozen dataclass of arrays, numbers, strings, None, tuples and such dataclasses."""
    require(is_dataclass(thing), f"{title(thing)}: must be a frozen dataclass, is not a dataclass.")
    places = unstorable_fields(thing, title(thing))
    require(
        not places,
        f"{title(thing)}: fields may hold arrays, numbers, strings, booleans, None, tuples and frozen dataclasses of "
        f"these, so that they can be stored without pickle; found {'; '.join(places)}.",
    )


def require_same_settings(before: Any, thing: Any, what: str) -> None:
    """Require that ``thing`` still is what its snapshot ``before`` says."""
    require(snapshot(thing) == before, f"{title(thing)}: {what} changed it. Return a new object instead.")
