"""What finished runs recorded, side by side: the one form that metrics, statistics, plots and reports read.

Notation: M methods, R runs that all of them finished, T trials. Entry 0 of a curve is what the given configurations
had reached before the first trial, entry t what had been reached after t trials. All responses are normalised by the
task: 0 is the worst configuration of its pool and 1 the best, so regret = 1 - (best response so far).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from headstart.arrays import Array
from headstart.errors import DataError


@dataclass(frozen=True, order=True)
class RunKey:
    """What one run tuned: everything that methods are compared within."""

    space: str
    task: str
    seed: str


@dataclass(frozen=True, eq=False)
class Curves:
    """Curves of several methods on the same runs, [M, R, T + 1] each; NaN where nothing is known."""

    methods: tuple[str, ...]
    runs: tuple[RunKey, ...]
    regret: Array
    """Normalised regret; NaN beyond the trials that a method has."""
    pool_rank: Array
    """Place of the best configuration so far within the pool: 1 is the best of all, ties share the best place."""
    value: Array
    """Normalised response of the configuration that was chosen at each trial."""
    mean: Array
    """What was predicted for it, in the same units."""
    std: Array
    """Predicted standard deviation of its observation, in the same units."""
    cpu_ms: Array
    """CPU milliseconds that the choice took."""

    @property
    def trials(self) -> int:
        """T."""
        return self.regret.shape[2] - 1

    @property
    def spaces(self) -> tuple[str, ...]:
        """All spaces, in order of first appearance."""
        return tuple(dict.fromkeys(run.space for run in self.runs))

    def of_space(self, space: str) -> "Curves":
        """Return the runs of one space."""
        return self.chosen([place for place, run in enumerate(self.runs) if run.space == space])

    def chosen(self, places: Sequence[int]) -> "Curves":
        """Return some of the runs."""
        found = replace(self, runs=tuple(self.runs[place] for place in places))
        return found._mapped(lambda values: values[:, list(places)])

    def of_methods(self, methods: Sequence[str]) -> "Curves":
        """Return some of the methods, in the order given.

        Raises:
            DataError: One is not there.
        """
        missing = [name for name in methods if name not in self.methods]
        if missing:
            raise DataError(f"Results: there is no method {missing[0]!r}. There are {', '.join(self.methods)}.")
        places = [self.methods.index(name) for name in methods]
        return replace(self, methods=tuple(methods))._mapped(lambda values: values[places])

    def _mapped(self, change: Callable[[Array], Array]) -> "Curves":
        return replace(self, **{name: change(getattr(self, name)) for name in MEASURES})


MEASURES = tuple(field.name for field in fields(Curves))[2:]
"""The names of all arrays of Curves."""


def side_by_side(curves: Mapping[str, Mapping[RunKey, Mapping[str, Array]]]) -> Curves:
    """Return the runs that every method has.

    Args:
        curves: For every method and run the measures [t + 1] that are known; regret must be. Curves may differ in
            length.

    Raises:
        DataError: The methods have no run in common.
    """
    methods = tuple(curves)
    if not methods:
        raise DataError("Results: there is no method. Run some first, or name --competitor files.")
    common = {key for key in curves[methods[0]] if all(key in runs for runs in curves.values())}
    if not common:
        counts = ", ".join(f"{method} {len(runs)}" for method, runs in curves.items())
        raise DataError(f"Results: the methods have no run (space, task, seed) in common; runs by method: {counts}.")
    runs = tuple(key for key in curves[methods[0]] if key in common)
    longest = max(len(curves[method][key]["regret"]) for method in methods for key in runs)
    arrays = {name: np.full((len(methods), len(runs), longest), np.nan) for name in MEASURES}
    for m, method in enumerate(methods):
        for r, key in enumerate(runs):
            for name, values in curves[method][key].items():
                arrays[name][m, r, : len(values)] = values
    return Curves(methods, runs, **arrays)
