"""How runs are made, and where their random numbers come from."""

import hashlib
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from headstart.arrays import Rng
from headstart.benchmark.problems import Scale, Split, Suite
from headstart.errors import SettingsError
from headstart.space.values import is_count, shown

PastKind: TypeAlias = Literal["true", "permuted", "negated", "least-correlated"]


@dataclass(frozen=True, kw_only=True)
class RunSettings:
    """What all runs of one table have in common."""

    tasks: Split = "test"
    """Which tasks are tuned. Choices are made on validation tasks; test tasks are for the table only."""
    trials: int = 100
    """Trials after the given configurations."""
    given: int = 5
    """Configurations that are evaluated before the first trial; 0 begins from nothing."""
    scale: Scale = "oracle"
    """Whether the method knows the lowest and highest response ("oracle") or nobody does ("honest")."""
    continuous: bool = False
    """Whether any configuration of the Space may be tried, instead of those of the pool."""
    past: PastKind = "true"
    """What was done to the past: nothing, responses permuted or negated, or only the tenth of the tasks kept that
    agrees least with the targets. The last three show what a misleading past costs."""
    past_tasks: int | None = None
    """How many past tasks, chosen at random, there are at most."""
    past_rows: int | None = None
    """At how many configurations of its own, chosen at random, every past task was evaluated at most: pools that all
    tasks share are a convenience of benchmarks."""

    def __post_init__(self) -> None:
        for name, kinds in (("tasks", Split), ("scale", Scale), ("past", PastKind)):
            if getattr(self, name) not in get_args(kinds):
                words = ", ".join(map(repr, get_args(kinds)))
                raise SettingsError(f"Benchmark: {name} must be one of {words}, got {shown(getattr(self, name))}.")
        for name, least in (("trials", 1), ("given", 0), ("past_tasks", 1), ("past_rows", 2)):
            value = getattr(self, name)
            if not (is_count(value, least) or (value is None and name.startswith("past"))):
                raise SettingsError(
                    f"Benchmark: {name} must be a whole number of at least {least}, got {shown(getattr(self, name))}."
                )

    def words(self) -> dict[str, str]:
        """Return the settings by name, for tables and files."""
        return {name: str(value) for name, value in asdict(self).items()}


def usual_settings(suite: Suite, **changes: object) -> RunSettings:
    """Return the settings that are usual for ``suite``, with those ``changes`` that are not None."""
    usual = {"trials": suite.trials, "given": suite.given, "scale": suite.scale}
    return RunSettings(**{**usual, **{name: value for name, value in changes.items() if value is not None}})  # pyright: ignore[reportArgumentType]


def named_rng(*names: object) -> Rng:
    """Return a generator that depends on the names only: what else is run, and in which order, changes nothing."""
    return np.random.default_rng(named_seed(*names))


def named_seed(*names: object) -> int:
    """Return the seed that belongs to the names."""
    digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:16], "big")
