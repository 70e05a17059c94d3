"""Where things stand in a picture: ends and ticks of logarithmic axes, labels that would overlap, rank diagrams."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.statistics import CriticalDifference

LEAST_SHOWN = 1e-6
"""Normalised regrets below this are no finding but rounding: on a logarithmic axis they count as zero."""


LEADING = (
    (1,),
    (1, 2, 5),
    (1, 1.5, 2, 3, 5, 7),
    (1, 1.2, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8),
    (*(0.1 * n for n in range(10, 20)), *(0.25 * n for n in range(8, 20)), *(0.5 * n for n in range(10, 20))),
)
"""Digits that get a label on a logarithmic axis: the first of these that gives three labels."""


def after(trials: int) -> str:
    """Return when that was, in words."""
    return f"after {trials} trial{'' if trials == 1 else 's'}"


def log_range(values: Array, bands: Array) -> tuple[float, float]:
    """Return the ends of a logarithmic axis for ``values``: just below the least that is not zero, just above all.

    Bands [2, ...] around them are shown too, but down to a third of the least value only: their lower ends near zero
    would press everything else together.
    """
    shown = values[np.isfinite(values) & (values >= LEAST_SHOWN)]
    if not shown.size:
        return LEAST_SHOWN, 1.0
    low, high = float(shown.min()), float(shown.max())
    around = bands[np.isfinite(bands)]
    if around.size:
        low, high = max(min(low, float(around.min())), low / 3), max(high, float(around.max()))
    low /= 1.25
    if (values < LEAST_SHOWN).any():
        low /= 1.6  # zeros are drawn at the edge, which must be visibly apart from the least value
    return low, high * 1.15


def log_ticks(low: float, high: float) -> list[float]:
    """Return places for labels on a logarithmic axis: decades where there are many, else as many as needed."""
    decades = np.log10(high / low)
    step = 1 if decades < 7 else 2
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1, step)
    found: list[float] = []
    for leading in LEADING:
        found = [
            float(f"{lead:g}e{power}") for power in powers for lead in leading if low <= lead * 10.0**power <= high
        ]
        if len(found) >= 3:
            break
    return found


def tick_label(value: float) -> str:
    """Return a tick as it is written: small ones as powers."""
    return f"{value:.10g}" if value >= 1e-4 else f"{value:.0e}"


def spread(places: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Return ``places`` moved as little as possible (least squares) so that neighbours are ``gap`` apart.

    They keep their order and stay within [low, high]; the gap shrinks where there is not room enough.
    """
    if not len(places):
        return []
    gap = min(gap, (high - low) / max(len(places) - 1, 1))
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    target = np.asarray(places, dtype=np.float64)[order] - steps
    blocks: list[tuple[float, int]] = []  # pool adjacent violators: isotonic regression of what is left of the gaps
    for value in target:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            other, many = blocks.pop()
            mean, size = (mean * size + other * many) / (size + many), size + many
        blocks.append((mean, size))
    moved = np.concatenate([np.full(size, mean) for mean, size in blocks])
    moved = np.clip(moved, low, high - steps[-1]) + steps
    found = np.empty(len(places))
    found[order] = moved
    return found.tolist()


# --- critical-difference diagrams ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Label:
    """The name of one method beside the axis of ranks, and the line that leads to it."""

    method: str
    rank: float
    is_left: bool
    y: float


@dataclass(frozen=True)
class Bar:
    """Methods between which no difference is significant."""

    ranks: tuple[float, ...]
    """Of the members, ascending: a bar may pass a method that does not belong to it."""
    y: float


@dataclass(frozen=True)
class CriticalLayout:
    """A critical-difference diagram in units of ranks (across) and text lines (downwards from the axis at 0)."""

    at: int
    """The trial."""
    first: float
    last: float
    labels: tuple[Label, ...]
    bars: tuple[Bar, ...]
    depth: float
    """Lines of text below the axis."""
    note: str


def critical_layout(found: CriticalDifference, note: str = "") -> CriticalLayout:
    """Return where everything of a critical-difference diagram stands; the best rank is on the left."""
    rank_of = dict(zip(found.methods, found.ranks.tolist(), strict=True))
    bars: list[Bar] = []
    right_ends: list[float] = []  # of the last bar on each level: bars that do not meet share a level
    apart = 0.02 * len(found.methods)
    for inside in sorted(tuple(sorted(rank_of[name] for name in clique)) for clique in found.cliques):
        level = next((n for n, end in enumerate(right_ends) if end + apart < inside[0]), len(right_ends))
        right_ends[level : level + 1] = [inside[-1]]
        bars.append(Bar(inside, 0.7 + 0.55 * level))
    top = 1.2 + 0.55 * len(right_ends)
    half = (len(found.methods) + 1) // 2
    labels: list[Label] = []
    for place, method in enumerate(found.order):
        is_left = place < half
        line = place if is_left else len(found.methods) - 1 - place
        labels.append(Label(method, rank_of[method], is_left, top + line))
    # the whole axis from 1 to M would press methods of similar rank together
    first, last = float(np.floor(found.ranks.min())), float(np.ceil(found.ranks.max()))
    depth = top + half - 0.5
    return CriticalLayout(found.at, first, max(last, first + 1.0), tuple(labels), tuple(bars), depth, note)
