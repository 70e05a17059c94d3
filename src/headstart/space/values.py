"""What a parameter's value may be, and how foreign values become Python's own."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np

from headstart.errors import SpaceError

Value: TypeAlias = bool | int | float | str | None
Config: TypeAlias = dict[str, Value]

LONGEST_NAME = 200
SHOWN = 60
"""How many characters of a foreign value a message shows."""


def plain(value: object) -> object:
    """Return ``value`` with a NumPy scalar (or array of no axes) turned into Python's own type; all else as it is."""
    if isinstance(value, np.generic | np.ndarray):
        array = cast("np.ndarray[Any, Any]", value)
        return cast("object", array.item()) if array.ndim == 0 else cast("object", array)
    return value


def shown(value: object) -> str:
    """Return ``value`` for a message, cut short."""
    try:
        text = repr(value)
    except Exception as error:  # a foreign object's own repr must not hide our message
        text = f"<{type(value).__name__}, whose repr fails: {type(error).__name__}>"
    text = " ".join(text.split())  # messages are one line
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def as_number(value: object) -> float | None:
    """Return ``value`` as a finite float; None for bool, text and whatever else is no finite number."""
    value = plain(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:  # an int beyond the largest float
        return None
    return number if math.isfinite(number) else None


def as_integer(value: object) -> int | None:
    """Return ``value`` as an int, also from a float without a fraction; None for bool, text and all else."""
    value = plain(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None


def is_count(value: object, least: int) -> bool:
    """Whether ``value`` is a whole number of at least ``least``; True and 2.0 are none."""
    value = plain(value)
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def same(a: object, b: object) -> bool:
    """Whether two values are equal *and* of one kind: True is not 1, but 1 and 1.0 are one number."""
    try:
        return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)
    except Exception:  # an array, or a foreign object that cannot be compared, equals no value
        return False


def checked_value(value: object, what: str) -> Value:
    """Return ``value`` if it can be a choice or a constant.

    Raises:
        SpaceError: It is no bool, int, finite float, text or None.
    """
    value = plain(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise SpaceError(f"{what} must be finite, got {value}. Give a finite number, or a name such as 'none'.")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise SpaceError(
            f"{what} must be text, a number, True, False or None, got {shown(value)} ({type(value).__name__}). "
            "Give it a name, and look the object up by that name."
        )
    if isinstance(value, str) and not _is_unicode(value):
        raise SpaceError(f"{what} holds a lone surrogate, which no file can keep: {shown(value)}. Use proper Unicode.")
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**300:
        raise SpaceError(f"{what} is too large a whole number. Write it as text.")
    return value


def checked_name(name: object) -> str:
    """Return ``name`` if it can name a parameter."""
    if (
        not isinstance(name, str)
        or not 1 <= len(name) <= LONGEST_NAME
        or name != name.strip()
        or not name.isprintable()
        or not _is_unicode(name)
    ):
        raise SpaceError(
            f"The name of a parameter must be 1 to {LONGEST_NAME} printable characters without spaces at its ends, "
            f"got {shown(name)}."
        )
    return str(name)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


Conditions: TypeAlias = tuple[tuple[str, tuple[Value, ...]], ...]
"""Parents, each with the values for which a parameter applies; all must hold."""


def checked_conditions(when: object, owner: str) -> Conditions:
    """Return ``when`` as pairs (parent, values).

    Args:
        when: None, a mapping of parents to a value or several values, or such pairs already.
        owner: Which parameter it belongs to, for messages.
    """
    if when is None:
        return ()
    foreign = SpaceError(
        f"{owner}: when must map a parent's name to one or several of its values, got {shown(when)}. "
        "Write it as when={'kernel': ['rbf', 'poly']}."
    )
    if isinstance(when, Mapping):
        pairs = tuple(cast("Mapping[object, object]", when).items())
    elif isinstance(when, tuple):
        pairs = cast("tuple[tuple[object, object], ...]", when)
        if not all(isinstance(cast("object", pair), tuple) and len(pair) == 2 for pair in pairs):
            raise foreign
    else:
        raise foreign
    parents = [checked_name(parent) for parent, _ in pairs]
    if len(set(parents)) < len(parents):
        raise SpaceError(
            f"{owner}: when names a parent twice, got {shown(cast('object', when))}. Give its values together."
        )
    return tuple(
        (parent, _alternatives(given, parent, owner)) for parent, (_, given) in zip(parents, pairs, strict=True)
    )


def _alternatives(given: object, parent: str, owner: str) -> tuple[Value, ...]:
    given = plain(given)
    items = [given]
    if isinstance(given, list | tuple | set | frozenset | np.ndarray):
        items = list(cast("Iterable[object]", given))
    if isinstance(given, set | frozenset):
        items.sort(key=repr)  # the order of a set differs from run to run
    values = [checked_value(item, f"{owner}: when, the value of '{parent}'") for item in items]
    if not values:
        raise SpaceError(f"{owner}: when gives no value for '{parent}'. Give at least one, or leave it out.")
    return tuple(value for i, value in enumerate(values) if not any(same(value, other) for other in values[:i]))


def check_flag(what: str, name: str, flag: object) -> None:
    """Refuse anything but True and False."""
    if not isinstance(flag, bool):
        raise SpaceError(f"{what}: {name} must be True or False, got {shown(flag)}.")


def check_order(what: str, low: float, high: float) -> None:
    """Refuse bounds that are not in order; ``what`` names the parameter in quotes."""
    if low == high:
        name = what.split("'")[1]
        raise SpaceError(
            f"{what}: low must be smaller than high, got {low!r} for both. "
            f"A value that never changes is Constant({name!r}, {low!r})."
        )
    if low > high:
        raise SpaceError(f"{what}: low must be smaller than high, got low={low!r}, high={high!r}. Swap them.")
