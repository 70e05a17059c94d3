"""The Space: ordered parameters, the conditions between them, and everything that makes or checks a Config."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np

from headstart.arrays import Array, Rng
from headstart.errors import ConfigError, SpaceError
from headstart.space import files, units
from headstart.space.parameters import Categorical, Constant, Float, Int, Parameter, conditions_of, default_of
from headstart.space.values import Config, Value, shown

LARGEST_GRID = 1_000_000

PlacedConditions: TypeAlias = tuple[tuple[int, tuple[Value, ...]], ...]
"""Parents by their place in the Space, each with the values for which a parameter applies."""


class Space:
    """Named parameters with their ranges and scales, and the conditions under which each applies. It never changes.

    A Config of a Space has exactly the parameters that apply: no ``gamma`` where the kernel is linear.
    """

    def __init__(self, *parameters: Parameter) -> None:
        """Make a Space of ``parameters``; their order is that of its columns.

        Raises:
            SpaceError: Names repeat, or a condition names a parent or a value that is not there, or goes in a circle.
        """
        for parameter in parameters:
            if not isinstance(cast("object", parameter), Float | Int | Categorical | Constant):
                raise SpaceError(
                    f"Space: a parameter must be a Float, Int, Categorical or Constant, got {shown(parameter)}. "
                    "Unpack a list with Space(*parameters); a mapping goes through Space.from_dict()."
                )
        if not parameters:
            raise SpaceError("Space: it has no parameters. Give at least one.")
        self._names = tuple(parameter.name for parameter in parameters)
        self._places = {name: place for place, name in enumerate(self._names)}
        if len(self._places) < len(self._names):
            twice = next(name for name in self._names if self._names.count(name) > 1)
            raise SpaceError(f"Space: two parameters are called '{twice}'. Names must differ.")
        self._parameters = parameters
        self._conditions = tuple(self._placed(parameter) for parameter in parameters)
        self._order = _sorted_by_parents(self._names, self._conditions)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters, in order."""
        return self._parameters

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in order."""
        return self._names

    @property
    def conditions(self) -> tuple[PlacedConditions, ...]:
        """The conditions of each parameter."""
        return self._conditions

    @property
    def order(self) -> tuple[int, ...]:
        """Places of the parameters, parents before those that depend on them."""
        return self._order

    @property
    def fingerprint(self) -> str:
        """Which Space this is, whatever the order of its parameters and of unordered choices, and the defaults."""
        return files.fingerprint(self._parameters)

    @property
    def size(self) -> float:
        """How many different configurations there are; infinite with any Float that can apply."""
        return _count(self)

    @property
    def default(self) -> Config | None:
        """The configuration of the stated defaults (elsewhere the middle, or the first choice); None without any."""
        found = [default_of(parameter) for parameter in self._parameters]
        if not any(stated for stated, _ in found):
            return None
        row = [parameter.units([value])[0] for parameter, (_, value) in zip(self._parameters, found, strict=True)]
        return units.to_configs(self, units.masked(self, np.array([row])))[0]

    def validate(self, config: Mapping[str, object]) -> Config:
        """Return ``config`` in this Space's order and with Python's own types.

        NumPy scalars become Python's; an Int takes a float without a fraction; None for a parameter that does not apply
        counts as absent.

        Raises:
            ConfigError: A parameter is missing, unknown, out of range, or does not apply.
        """
        if not isinstance(cast("object", config), Mapping):
            raise ConfigError(f"A Config must map names to values, got {shown(config)}.")
        for name in config:
            if name not in self._places:
                close = get_close_matches(str(name), self._names, n=1)
                advice = f"Did you mean '{close[0]}'?" if close else f"It has {', '.join(self._names)[:200]}."
                raise ConfigError(f"Config: this Space has no parameter {shown(name)}. {advice}")
        checked: Config = {}
        for place in self._order:
            name, parameter = self._names[place], self._parameters[place]
            failing = self._failing_condition(place, checked)
            if failing is not None:
                if config.get(name) is not None:
                    raise ConfigError(
                        f"Config: '{name}' applies only where {failing}, got {shown(config[name])}. Leave it out."
                    )
            elif name not in config:
                raise ConfigError(f"Config: '{name}' is missing. Give it a value; see: {_hint(parameter)}.")
            else:
                checked[name] = parameter.check(config[name])
        return {name: checked[name] for name in self._names if name in checked}

    def contains(self, config: Mapping[str, object]) -> bool:
        """Return whether ``config`` is one of this Space."""
        try:
            self.validate(config)
        except ConfigError:
            return False
        return True

    def key(self, config: Config) -> tuple[object, ...]:
        """Return a hashable form of a valid ``config``: equal for equal configurations only."""
        return tuple((name, config[name]) for name in self._names if name in config)

    def sample(self, n: int, *, rng: Rng) -> list[Config]:
        """Return ``n`` independent random configurations: uniform in every range, in its own scale."""
        return units.to_configs(self, units.from_quantiles(self, rng.random((n, len(self._parameters)))))

    def grid(self, points: int | Mapping[str, int] = 5) -> list[Config]:
        """Return all combinations, without repetition.

        Args:
            points: How many values of each number, ends included (all where there are fewer); for all or by name.
                Choices always appear all.

        Raises:
            SpaceError: There would be more than a million.
        """
        axes = [self._axis(parameter, points) for parameter in self._parameters]
        found: list[Array] = []
        row = np.full(len(self._parameters), np.nan)

        def extend(depth: int) -> None:
            if depth == len(self._order):
                if len(found) >= LARGEST_GRID:
                    raise SpaceError(f"Space: the grid has more than {LARGEST_GRID} configurations. Use fewer points.")
                found.append(row.copy())
                return
            place = self._order[depth]
            applies = all(
                np.isfinite(row[parent]) and self._parameters[parent].matches(row[parent : parent + 1], values)[0]
                for parent, values in self._conditions[place]
            )
            for unit in axes[place] if applies else (np.nan,):
                row[place] = unit
                extend(depth + 1)
            row[place] = np.nan

        extend(0)
        return units.to_configs(self, np.array(found))

    def neighbours(self, config: Mapping[str, object], n: int = 10, *, rng: Rng, step: float = 0.2) -> list[Config]:
        """Return up to ``n`` different configurations that differ from ``config`` in one value (and what hangs on it).

        Args:
            config: Where they lie around.
            n: How many at most; a small Space has fewer.
            rng: Draws them.
            step: Standard deviation of a number's move, as a share of its range.
        """
        start = units.from_configs(self, [self.validate(config)])
        rows = units.mutations(self, np.repeat(start, 4 * n, axis=0), rng=rng, step=step, share=0.0)
        seen = {self.key(self.validate(config))}
        found: list[Config] = []
        for candidate in units.to_configs(self, rows):
            if len(found) < n and self.key(candidate) not in seen:
                seen.add(self.key(candidate))
                found.append(candidate)
        return found

    @classmethod
    def from_dict(cls, described: Mapping[str, Any]) -> "Space":
        """Return the Space that plain data describes: ``{"parameters": {name: {"type": "float", "low": ...}}}``.

        Raises:
            SpaceError: It does not follow the schema of docs/spaces.md.
        """
        return cls(*files.parameters_from_dict(described))

    def to_dict(self) -> dict[str, Any]:
        """Return this Space as plain data, defaults and order included."""
        return {"parameters": {parameter.name: parameter.to_dict() for parameter in self._parameters}}

    @classmethod
    def load(cls, path: str | Path) -> "Space":
        """Return the Space in a TOML or JSON file, told apart by its ending.

        Raises:
            SpaceError: The file cannot be read, or does not describe a Space.
        """
        return cls.from_dict(files.read(Path(path)))

    def save(self, path: str | Path) -> None:
        """Write this Space to a TOML or JSON file, told apart by its ending; nothing is lost."""
        files.write(Path(path), self.to_dict())

    def to_toml(self) -> str:
        """Return this Space as TOML."""
        return files.to_toml(self.to_dict())

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self._parameters)

    def __getitem__(self, name: str) -> Parameter:
        if name not in self._places:
            raise SpaceError(f"Space: there is no parameter {shown(name)}. It has {', '.join(self._names)[:200]}.")
        return self._parameters[self._places[name]]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.to_dict() == other.to_dict() and self._names == other._names

    def __hash__(self) -> int:
        return hash(self._names)

    def __repr__(self) -> str:
        return f"Space({', '.join(repr(parameter) for parameter in self._parameters)})"

    def _placed(self, parameter: Parameter) -> PlacedConditions:
        """Return the conditions of ``parameter`` with places and values of its parents, checked."""
        what = f"{type(parameter).__name__} '{parameter.name}'"
        placed: list[tuple[int, tuple[Value, ...]]] = []
        for name, values in conditions_of(parameter):
            if name not in self._places:
                close = get_close_matches(name, self._names, n=1)
                advice = f"Did you mean '{close[0]}'?" if close else "Add it to the Space."
                raise SpaceError(f"{what}: when names '{name}', which this Space does not have. {advice}")
            parent = self._parameters[self._places[name]]
            if isinstance(parent, Float):
                raise SpaceError(
                    f"{what}: when names Float '{name}', but single values of a real number decide nothing. "
                    "Use a Categorical or an Int as parent."
                )
            try:
                placed.append((self._places[name], tuple(parent.check(value) for value in values)))
            except ConfigError as error:
                raise SpaceError(f"{what}: when can never hold. {error}") from None
        return tuple(placed)

    def _failing_condition(self, place: int, checked: Config) -> str | None:
        """Return the condition of a parameter that does not hold, in words; None where it applies."""
        for parent, values in self._conditions[place]:
            name = self._names[parent]
            if name not in checked or checked[name] not in values:
                return f"{name} is {' or '.join(shown(value) for value in values)}"
        return None

    def _axis(self, parameter: Parameter, points: int | Mapping[str, int]) -> list[float]:
        wanted = points.get(parameter.name, 5) if isinstance(points, Mapping) else points
        if isinstance(cast("object", wanted), bool) or not isinstance(cast("object", wanted), int) or wanted < 1:
            raise SpaceError(
                f"Space: points of '{parameter.name}' must be a whole number of at least 1, got {shown(wanted)}."
            )
        return parameter.spread(min(wanted, LARGEST_GRID)).tolist()


def _sorted_by_parents(names: tuple[str, ...], conditions: tuple[PlacedConditions, ...]) -> tuple[int, ...]:
    done: list[int] = []
    waiting = list(range(len(names)))
    while waiting:
        ready = [place for place in waiting if all(parent in done for parent, _ in conditions[place])]
        if not ready:
            circle = " and ".join(f"'{names[place]}'" for place in waiting)
            raise SpaceError(f"Space: the conditions of {circle} go in a circle. Let one of them always apply.")
        done.extend(ready)
        waiting = [place for place in waiting if place not in ready]
    return tuple(done)


def _hint(parameter: Parameter) -> str:
    if isinstance(parameter, Float | Int):
        return f"{parameter.low!r} to {parameter.high!r}"
    return shown(list(parameter.choices) if isinstance(parameter, Categorical) else parameter.value)


def _count(space: Space) -> float:
    """Return the number of configurations: a product over groups of parameters that no condition ties together."""
    group = list(range(len(space)))
    for place, conditions in enumerate(space.conditions):
        for parent, _ in conditions:
            joined, gone = group[place], group[parent]
            group = [joined if which == gone else which for which in group]
    total: float = 1
    for which in set(group):
        total *= _count_group(space, [place for place in space.order if group[place] == which])
    return total


def _count_group(space: Space, places: Sequence[int]) -> float:
    """Return in how many ways ``places``, parents first, can be filled: at least 1.

    Parents are tried with each value that a condition names and, all at once, with the others.
    """
    named: dict[int, list[Value]] = {}
    for place in places:
        for parent, values in space.conditions[place]:
            known = named.setdefault(parent, [])
            known.extend(value for value in values if value not in known)
    chosen: dict[int, Value] = {}  # of the parents that apply; without those whose value no condition names

    def ways(depth: int) -> float:
        if depth == len(places):
            return 1
        place = places[depth]
        if not all(parent in chosen and chosen[parent] in values for parent, values in space.conditions[place]):
            return ways(depth + 1)
        size = space.parameters[place].size
        if place not in named:
            return size * ways(depth + 1)
        others = size - len(named[place])
        found = others * ways(depth + 1) if others else 0  # none of them times a Float's infinity is none
        for value in named[place]:
            chosen[place] = value
            found += ways(depth + 1)
        del chosen[place]
        return found

    return ways(0)
