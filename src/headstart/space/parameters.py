"""The kinds of parameters: what values they take and how these lie on the unit interval.

Every kind maps its values to *units* in [0, 1] and back. Where units come from outside (a random draw, a row of a
surrogate's search) they are snapped to a value first. Values that a Space makes are short decimals, `DIGITS` long, so
that value -> unit -> value gives exactly the same float back.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np

from headstart.arrays import Array, BoolArray
from headstart.errors import ConfigError, SpaceError
from headstart.space.values import (
    Conditions,
    Value,
    as_integer,
    as_number,
    check_flag,
    check_order,
    checked_conditions,
    checked_name,
    checked_value,
    plain,
    same,
    shown,
)

DIGITS = 10
"""Digits of a float that a Space makes: significant ones on a log scale, else counted from the width of the range."""

SMALLEST_UNIT = 1e-300
"""Where a value lies that is nearer to the low end than rounding can tell."""

LARGEST_INT = 10**12
"""Bounds of an Int beyond it would lose whole numbers on the way through the unit interval."""

LARGEST_GAP = 1e300
"""Widest range of a Float."""

N = TypeVar("N", int, float)

When: TypeAlias = Mapping[str, Value | Sequence[Value]] | Conditions


@dataclass(frozen=True)
class Float:
    """A real number between ``low`` and ``high``, both included."""

    name: str
    low: float
    high: float
    log: bool = field(default=False, kw_only=True)
    """Whether ratios matter rather than differences: learning rates, penalties."""
    default: float | None = field(default=None, kw_only=True)
    """A good value where nothing is known; the first trial without a past uses it."""
    when: When = field(default=(), kw_only=True)
    """Values of other parameters for which this one applies; always when empty."""

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "name", checked_name(self.name))
        what = f"Float '{self.name}'"
        for end in ("low", "high"):
            number = as_number(getattr(self, end))
            if number is None:
                raise SpaceError(f"{what}: {end} must be a finite number, got {shown(getattr(self, end))}.")
            set_(self, end, number)
        check_flag(what, "log", self.log)
        check_order(what, self.low, self.high)
        if self.high - self.low > LARGEST_GAP:
            raise SpaceError(
                f"{what}: high - low must be at most {LARGEST_GAP:g}, got low={self.low:g}, high={self.high:g}. "
                "Narrow the range."
            )
        if self.log and self.low <= 0:
            raise SpaceError(
                f"{what}: a log scale needs low > 0, got low={self.low:g}. Raise low, or leave log=True out."
            )
        low, high = self._ends()
        if not high - low > (1e-9 if self.log else 1e-12 * max(abs(low), abs(high))):
            raise SpaceError(f"{what}: low={self.low!r} and high={self.high!r} are too close to tell values apart.")
        _finish(self)

    @property
    def size(self) -> float:
        """How many values there are."""
        return math.inf

    def check(self, value: object) -> float:
        """Return ``value`` as a float of the range.

        Raises:
            ConfigError: It is none.
        """
        number = as_number(value)
        if number is None:
            raise ConfigError(f"Float '{self.name}' must be a finite number, got {shown(value)}.")
        return _within(self, number)

    def units(self, values: Sequence[Value]) -> Array:
        """Return where ``values`` lie in [0, 1]; NaN for what is no value."""
        numbers = _numbers(values, (float, int))
        if numbers is None:
            return np.full(len(values), np.nan)
        low, high = self._ends()
        inside = (numbers >= self.low) & (numbers <= self.high)
        numbers = np.where(inside, numbers, self.low)
        units = ((np.log(numbers) if self.log else numbers) - low) / (high - low)
        # 0 and 1 mean the ends and nothing else, whatever the logarithm rounds away
        units = np.clip(units, SMALLEST_UNIT, np.nextafter(1.0, 0.0))
        units[numbers == self.high] = 1.0
        units[numbers == self.low] = 0.0
        return np.where(inside, units, np.nan)

    def values(self, units: Array) -> list[Value]:
        """Return the values at ``units``, rounded to ``DIGITS``."""
        low, high = self._ends()
        raw = low + np.asarray(units) * (high - low)
        if self.log:
            numbers = [float(f"{number:.{DIGITS}g}") for number in np.exp(raw).tolist()]
        else:
            places = DIGITS - 1 - math.floor(math.log10(self.high - self.low))
            numbers = [round(number, places) for number in raw.tolist()]
        ends = zip(np.asarray(units).tolist(), numbers, strict=True)
        return [self.low if u <= 0 else self.high if u >= 1 else min(max(v, self.low), self.high) for u, v in ends]

    def from_quantiles(self, quantiles: Array) -> Array:
        """Return units such that uniform ``quantiles`` in [0, 1) give every value the same chance."""
        return quantiles

    def snap(self, units: Array) -> Array:
        """Return the units of the nearest values."""
        return np.clip(units, 0.0, 1.0)

    def spread(self, n: int) -> Array:
        """Return up to ``n`` units that cover the range, both ends included."""
        return np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.5])

    def matches(self, units: Array, values: Sequence[Value]) -> BoolArray:
        """Refuse: a condition on single values of a real number would hold almost never."""
        raise SpaceError(f"Float '{self.name}' cannot decide whether another parameter applies.")

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without its name."""
        return _described(self, "float", {"low": self.low, "high": self.high})

    def _ends(self) -> tuple[float, float]:
        return (float(np.log(self.low)), float(np.log(self.high))) if self.log else (self.low, self.high)


@dataclass(frozen=True)
class Int:
    """A whole number between ``low`` and ``high``, both included."""

    name: str
    low: int
    high: int
    log: bool = field(default=False, kw_only=True)
    """Whether ratios matter rather than differences: numbers of trees or units."""
    default: int | None = field(default=None, kw_only=True)
    """A good value where nothing is known; the first trial without a past uses it."""
    when: When = field(default=(), kw_only=True)
    """Values of other parameters for which this one applies; always when empty."""

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "name", checked_name(self.name))
        what = f"Int '{self.name}'"
        for end in ("low", "high"):
            number = as_integer(getattr(self, end))
            if number is None:
                raise SpaceError(f"{what}: {end} must be a whole number, got {shown(getattr(self, end))}.")
            if abs(number) > LARGEST_INT:
                raise SpaceError(
                    f"{what}: {end} must lie within +-{LARGEST_INT:.0e}, got {shown(number)}. Use a Float, and round "
                    "it in your own code."
                )
            set_(self, end, number)
        check_flag(what, "log", self.log)
        check_order(what, self.low, self.high)
        if self.log and self.low < 1:
            raise SpaceError(
                f"{what}: a log scale needs low >= 1, got low={self.low}. Raise low, or leave log=True out."
            )
        _finish(self)

    @property
    def size(self) -> float:
        """How many values there are."""
        return self.high - self.low + 1

    def check(self, value: object) -> int:
        """Return ``value`` as an int of the range; a float without a fraction counts as one.

        Raises:
            ConfigError: It is none.
        """
        number = as_integer(value)
        if number is None:
            raise ConfigError(f"Int '{self.name}' must be a whole number, got {shown(value)}.")
        return _within(self, number)

    def units(self, values: Sequence[Value]) -> Array:
        """Return where ``values`` lie in [0, 1]; NaN for what is no value."""
        numbers = _numbers(values, (int,))
        if numbers is None:
            return np.full(len(values), np.nan)
        inside = (numbers >= self.low) & (numbers <= self.high)
        return np.where(inside, self._units_of(np.where(inside, numbers, self.low)), np.nan)

    def values(self, units: Array) -> list[Value]:
        """Return the whole numbers nearest to ``units``."""
        return [int(number) for number in self._numbers_at(units).tolist()]

    def from_quantiles(self, quantiles: Array) -> Array:
        """Return units such that uniform ``quantiles`` in [0, 1) give every value (every ratio, in logs) its chance."""
        first, last = self.low - 0.5, self.high + 0.5
        if self.log:
            raw = np.exp(np.log(first) + quantiles * (np.log(last) - np.log(first)))
        else:
            raw = first + quantiles * (last - first)
        return self._units_of(np.clip(np.rint(raw), self.low, self.high))

    def snap(self, units: Array) -> Array:
        """Return the units of the nearest values."""
        return self._units_of(self._numbers_at(units))

    def spread(self, n: int) -> Array:
        """Return up to ``n`` different units that cover the range, both ends included."""
        if n >= self.size:
            return self._units_of(np.arange(self.low, self.high + 1, dtype=np.float64))
        return np.unique(self.snap(np.linspace(0.0, 1.0, n) if n > 1 else np.array([0.5])))

    def matches(self, units: Array, values: Sequence[Value]) -> BoolArray:
        """Return where the value at ``units`` is one of ``values``."""
        return np.isin(self._numbers_at(units), np.array(values, dtype=np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without its name."""
        return _described(self, "int", {"low": self.low, "high": self.high})

    def _ends(self) -> tuple[float, float]:
        return (float(np.log(self.low)), float(np.log(self.high))) if self.log else (self.low, self.high)

    def _units_of(self, numbers: Array) -> Array:
        low, high = self._ends()
        units = np.clip(((np.log(numbers) if self.log else numbers) - low) / (high - low), 0.0, 1.0)
        units[numbers == self.high] = 1.0
        return units

    def _numbers_at(self, units: Array) -> Array:
        low, high = self._ends()
        raw = low + np.clip(units, 0.0, 1.0) * (high - low)
        return np.clip(np.rint(np.exp(raw) if self.log else raw), self.low, self.high)


@dataclass(frozen=True)
class Categorical:
    """One of several choices: text, numbers, True, False or None."""

    name: str
    choices: tuple[Value, ...]
    ordered: bool = field(default=False, kw_only=True)
    """Whether their order means something ("small", "medium", "large"); models then see one number."""
    default: Value = field(default=None, kw_only=True)
    """A good choice where nothing is known; None says that there is none, unless None is a choice."""
    when: When = field(default=(), kw_only=True)
    """Values of other parameters for which this one applies; always when empty."""

    def __init__(
        self,
        name: str,
        choices: Sequence[Value],
        *,
        ordered: bool = False,
        default: Value = None,
        when: When = (),
    ) -> None:
        set_ = object.__setattr__  # written out so that a list of choices is welcome to type checkers, too
        set_(self, "name", checked_name(name))
        what = f"Categorical '{self.name}'"
        if isinstance(choices, str) or not isinstance(cast("object", choices), Sequence | np.ndarray):
            raise SpaceError(f"{what}: choices must be a list, got {shown(choices)}.")
        set_(self, "choices", tuple(checked_value(choice, f"{what}: a choice") for choice in choices))
        if not self.choices:
            raise SpaceError(f"{what}: choices must not be empty. Give at least one.")
        for i, choice in enumerate(self.choices):
            if choice in self.choices[:i]:
                twin = self.choices[self.choices.index(choice)]
                raise SpaceError(
                    f"{what}: choices must differ, got {shown(twin)} and {shown(choice)}. Leave one out, or use text."
                )
        set_(self, "ordered", ordered)
        check_flag(what, "ordered", ordered)
        set_(self, "default", default)
        set_(self, "when", when)
        _finish(self)

    @property
    def size(self) -> float:
        """How many values there are."""
        return len(self.choices)

    @property
    def has_default(self) -> bool:
        """Whether ``default`` says something: None does only where it is a choice."""
        return self.default is not None or any(choice is None for choice in self.choices)

    def check(self, value: object) -> Value:
        """Return the choice that equals ``value``; True is not 1.

        Raises:
            ConfigError: There is none.
        """
        value = plain(value)
        for choice in self.choices:
            if same(value, choice):
                return choice
        raise ConfigError(f"Categorical '{self.name}' must be one of {shown(list(self.choices))}, got {shown(value)}.")

    def units(self, values: Sequence[Value]) -> Array:
        """Return where ``values`` lie in [0, 1]; NaN for what is no value."""
        places = {(isinstance(choice, bool), choice): float(i) for i, choice in enumerate(self.choices)}
        try:
            found = [places.get((isinstance(value, bool), value), math.nan) for value in values]
        except TypeError:  # something that cannot be looked up is no choice
            return np.full(len(values), np.nan)
        return self._units_of(np.array(found, dtype=np.float64))

    def values(self, units: Array) -> list[Value]:
        """Return the choices at ``units``."""
        return [self.choices[int(place)] for place in self.places(units).tolist()]

    def places(self, units: Array) -> Array:
        """Return the places of the choices at ``units``, as floats."""
        last = len(self.choices) - 1
        raw = np.rint(units * last) if self.ordered else np.floor(units * len(self.choices))
        return np.clip(raw, 0, last)

    def from_quantiles(self, quantiles: Array) -> Array:
        """Return units such that uniform ``quantiles`` in [0, 1) give every choice the same chance."""
        last = len(self.choices) - 1
        return self._units_of(np.clip(np.floor(quantiles * len(self.choices)), 0, last))

    def snap(self, units: Array) -> Array:
        """Return the units of the nearest choices."""
        return self._units_of(self.places(units))

    def spread(self, n: int) -> Array:
        """Return the units of all choices, whatever ``n``."""
        return self._units_of(np.arange(len(self.choices), dtype=np.float64))

    def matches(self, units: Array, values: Sequence[Value]) -> BoolArray:
        """Return where the choice at ``units`` is one of ``values``."""
        wanted = [i for i, choice in enumerate(self.choices) if any(same(choice, value) for value in values)]
        return np.isin(self.places(units), np.array(wanted, dtype=np.float64))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without its name."""
        described = _described(self, "categorical", {"choices": list(self.choices)})
        if self.default is None and any(choice is None for choice in self.choices):
            described["default"] = None
        return described

    def _units_of(self, places: Array) -> Array:
        k = len(self.choices)
        if self.ordered:
            return places / (k - 1) if k > 1 else 0.5 + 0.0 * places
        return (places + 0.5) / k


@dataclass(frozen=True)
class Constant:
    """A value that never changes but belongs to every configuration. Models do not see it."""

    name: str
    value: Value
    when: When = field(default=(), kw_only=True)
    """Values of other parameters for which this one applies; always when empty."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", checked_name(self.name))
        what = f"Constant '{self.name}'"
        object.__setattr__(self, "value", checked_value(self.value, f"{what}: value"))
        object.__setattr__(self, "when", checked_conditions(self.when, what))

    @property
    def size(self) -> float:
        """How many values there are."""
        return 1

    def check(self, value: object) -> Value:
        """Return the constant if ``value`` equals it.

        Raises:
            ConfigError: It does not.
        """
        if not same(plain(value), self.value):
            raise ConfigError(f"Constant '{self.name}' must be {shown(self.value)}, got {shown(value)}.")
        return self.value

    def units(self, values: Sequence[Value]) -> Array:
        """Return 0.5 for the value; NaN for what is another."""
        return np.array([0.5 if same(value, self.value) else math.nan for value in values])

    def values(self, units: Array) -> list[Value]:
        """Return the constant for each of ``units``."""
        return [self.value] * len(units)

    def from_quantiles(self, quantiles: Array) -> Array:
        """Return 0.5 everywhere."""
        return np.full(len(quantiles), 0.5)

    def snap(self, units: Array) -> Array:
        """Return 0.5 everywhere."""
        return np.full(len(units), 0.5)

    def spread(self, n: int) -> Array:
        """Return its one unit."""
        return np.array([0.5])

    def matches(self, units: Array, values: Sequence[Value]) -> BoolArray:
        """Return whether the constant is one of ``values``, for each of ``units``."""
        return np.full(len(units), any(same(self.value, value) for value in values))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, without its name."""
        return {"type": "constant", "value": self.value, **_when_dict(self)}


Parameter: TypeAlias = Float | Int | Categorical | Constant


def default_of(parameter: Parameter) -> tuple[bool, Value]:
    """Return whether a default was stated, and it; else the middle of the range or the first choice."""
    if isinstance(parameter, Constant):
        return False, parameter.value
    if isinstance(parameter, Categorical):
        return (True, parameter.default) if parameter.has_default else (False, parameter.choices[0])
    if parameter.default is not None:
        return True, parameter.default
    return False, parameter.values(np.array([0.5]))[0]


def conditions_of(parameter: Parameter) -> Conditions:
    """Return ``when`` in the form in which every parameter keeps it."""
    return checked_conditions(parameter.when, f"'{parameter.name}'")


def _finish(parameter: Float | Int | Categorical) -> None:
    """Check what all kinds have in common: conditions and default."""
    what = f"{type(parameter).__name__} '{parameter.name}'"
    object.__setattr__(parameter, "when", checked_conditions(parameter.when, what))
    if parameter.default is not None:
        try:
            object.__setattr__(parameter, "default", parameter.check(parameter.default))
        except ConfigError as error:
            raise SpaceError(f"{what}: its default does not fit. {error}") from None


def _within(parameter: Float | Int, number: N) -> N:
    if not parameter.low <= number <= parameter.high:
        raise ConfigError(
            f"{type(parameter).__name__} '{parameter.name}' must lie in [{parameter.low!r}, {parameter.high!r}], "
            f"got {shown(number)}."
        )
    return number


def _numbers(values: Sequence[Value], kinds: tuple[type, ...]) -> Array | None:
    """Return ``values`` as an array if all are exactly of ``kinds``; bool, NumPy scalars and text are not."""
    if any(type(value) not in kinds for value in values):
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        return None


def _described(parameter: Float | Int | Categorical, kind: str, range_: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {"type": kind, **range_}
    if isinstance(parameter, Categorical):
        described |= {"ordered": True} if parameter.ordered else {}
    elif parameter.log:
        described["log"] = True
    if parameter.default is not None:
        described["default"] = parameter.default
    return described | _when_dict(parameter)


def _when_dict(parameter: Parameter) -> dict[str, Any]:
    conditions = conditions_of(parameter)
    return {"when": {parent: list(values) for parent, values in conditions}} if conditions else {}
