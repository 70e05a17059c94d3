"""What the pictures of a report show, before anything draws it: plots.py and html.py read the same numbers.

Notation: M methods, R runs, T trials, N places on the horizontal axis.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.curves import Curves
from headstart.benchmark.metrics import averaged, covered, pooled, ranks
from headstart.benchmark.reports.layout import CriticalLayout, log_range, spread
from headstart.benchmark.statistics import Interval

Bootstrap = Callable[[Array, Curves], Interval | None]
"""Gives the macro mean [M, ...] of values [M, R, ...] with its interval; None where there are no intervals to give."""

ZERO = "A regret of 0 has no place on a logarithmic axis: it is drawn at the lower edge."
BARS = "The best rank is on the left. Methods marked on one bar do not differ significantly from one another."
COST = "Lines: median over runs; bands: from 10 % to 90 % of the runs."
HONEST = "Below the diagonal a method is too sure of itself, above it too cautious."
BANDS = "Bands: 95 % intervals, bootstrap over the tasks of each space."


@dataclass(frozen=True, eq=False)
class Lines:
    """One panel of curves, one per method."""

    title: str
    x_label: str
    y_label: str
    methods: tuple[str, ...]
    x: Array
    """[N]"""
    values: Array
    """[M, N]; NaN where a method has none."""
    low: Array | None = None
    """[M, N]: lower end of the 95 % interval."""
    high: Array | None = None
    is_log: bool = False
    has_diagonal: bool = False
    """Whether a line from (0, 0) to (1, 1) is what an ideal method would follow."""
    note: str = ""

    @property
    def y_range(self) -> tuple[float, float]:
        """Lower and upper end of the vertical axis."""
        if self.has_diagonal:
            return 0.0, 1.0
        bands = np.empty((2, 0)) if self.low is None or self.high is None else np.stack([self.low, self.high])
        if self.is_log:
            return log_range(self.values, bands)
        known = np.concatenate([part[np.isfinite(part)] for part in (self.values, bands)])
        low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        room = 0.04 * (high - low) or 0.5
        return low - room, high + room

    @property
    def shows_zero(self) -> bool:
        """Whether a value lies at or below the lower edge of a logarithmic axis, where it is drawn."""
        return self.is_log and bool((self.values <= self.y_range[0]).any())

    def drawn(self, values: Array) -> Array:
        """Return ``values`` as they are drawn: not below the edge of a logarithmic axis."""
        return np.maximum(values, self.y_range[0]) if self.is_log else values


@dataclass(frozen=True, eq=False)
class Pictures:
    """Everything that a report draws; None or empty where there is nothing to draw."""

    regret: Lines | None
    rank: Lines | None
    spaces: tuple[Lines, ...]
    critical: tuple[CriticalLayout, ...]
    calibration: Lines | None
    cost: Lines | None


def band_opacity(lines: Lines) -> float:
    """Return how opaque the bands are: many of them must not add up to a wall."""
    many = len(lines.methods)
    return 0.16 if many <= 5 else 0.08 if many <= 10 else 0.045


def end_labels(lines: Lines, gap: float) -> list[tuple[int, float]]:
    """Return where at the right edge the name of each curve that reaches it stands: (method, height in 0..1)."""
    low, high = lines.y_range
    last = lines.drawn(lines.values)[:, -1]
    reaching = [m for m in range(len(lines.methods)) if np.isfinite(last[m])]
    heights = [_height(float(last[m]), low, high, lines.is_log) for m in reaching]
    return list(zip(reaching, spread(heights, gap, 0.0, 1.0), strict=True))


def _height(value: float, low: float, high: float, is_log: bool) -> float:
    if is_log:
        value, low, high = np.log(value), np.log(low), np.log(high)
    return (value - low) / (high - low)


# --- from Curves -----------------------------------------------------------------------------------------------------

COVERAGES = tuple(round(0.05 * step, 2) for step in range(1, 20))
"""Probabilities of the intervals in the calibration picture."""


def regret_lines(curves: Curves, bootstrap: Bootstrap) -> Lines:
    """Return mean regret after each trial, mean over spaces."""
    return _over_trials(curves, curves.regret, bootstrap, _regret_title(curves), "mean normalised regret", is_log=True)


def rank_lines(curves: Curves, bootstrap: Bootstrap) -> Lines:
    """Return the mean rank among the methods of ``curves`` after each trial."""
    title = f"Mean rank among {len(curves.methods)} methods"
    return _over_trials(curves, ranks(curves.regret), bootstrap, title, "mean rank (1 = best)", is_log=False)


def space_lines(curves: Curves) -> tuple[Lines, ...]:
    """Return one panel of mean regret for each space."""
    trials = np.arange(curves.trials + 1, dtype=np.float64)
    panels: list[Lines] = []
    for space in curves.spaces:
        own = curves.of_space(space)
        tasks = len({run.task for run in own.runs})
        title = f"{space} ({tasks} task{'' if tasks == 1 else 's'})"
        means = averaged(own.regret, own, "micro")
        panels.append(Lines(title, "trial", "mean normalised regret", curves.methods, trials, means, is_log=True))
    return tuple(panels)


def calibration_lines(curves: Curves) -> Lines | None:
    """Return observed against expected coverage of the methods that predict; None where none does."""
    own = _that_know(curves, curves.std)
    if own is None:
        return None
    observed = np.stack([pooled(covered(own, level), own, "macro") for level in COVERAGES], axis=1)
    labels = "probability of the predicted interval", "share of observations inside"
    return Lines("Calibration", *labels, own.methods, np.array(COVERAGES), observed, has_diagonal=True, note=HONEST)


def cost_lines(curves: Curves) -> Lines | None:
    """Return median CPU time per suggestion at each trial; None where nobody measured it."""
    own = _that_know(curves, curves.cpu_ms)
    if own is None:
        return None
    times = own.cpu_ms[:, :, 1:]
    low, middle, high = (np.full((len(own.methods), own.trials), np.nan) for _ in range(3))
    for m, method in enumerate(times):
        for t in np.flatnonzero(np.isfinite(method).any(axis=0)):
            low[m, t], middle[m, t], high[m, t] = np.nanquantile(method[:, t], [0.1, 0.5, 0.9])
    trials = np.arange(1.0, own.trials + 1)
    title, unit = "Cost of a suggestion", "CPU milliseconds, median"
    return Lines(title, "trial", unit, own.methods, trials, middle, low, high, is_log=True, note=COST)


def _that_know(curves: Curves, values: Array) -> Curves | None:
    known = [m for m, own in zip(curves.methods, values, strict=True) if np.isfinite(own[:, 1:]).any()]
    return curves.of_methods(known) if known else None


def _regret_title(curves: Curves) -> str:
    many = len(curves.spaces)
    return f"Regret, mean over {many} spaces" if many > 1 else f"Regret on {curves.spaces[0]}"


def _over_trials(curves: Curves, values: Array, bootstrap: Bootstrap, title: str, label: str, *, is_log: bool) -> Lines:
    trials = np.arange(curves.trials + 1, dtype=np.float64)
    found = bootstrap(values, curves)
    means = averaged(values, curves, "macro") if found is None else found.mean
    low, high = (None, None) if found is None else (found.low, found.high)
    note = "" if found is None else BANDS
    return Lines(title, "trial", label, curves.methods, trials, means, low, high, is_log, note=note)
