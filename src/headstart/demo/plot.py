"""The curve of the demo as a PNG; needs matplotlib, which the "plots" extra brings."""

from pathlib import Path
from typing import Any, cast

import numpy as np

from headstart.demo.results import Comparison
from headstart.errors import HeadstartError, MissingDependencyError

COLOURS = ("#0b6e4f", "#b3541e")
"""With the memory, and without it; told apart by every kind of colour vision, and in grey."""


class PlotError(HeadstartError, OSError):
    """The picture cannot be written."""


def draw(comparison: Comparison, path: Path) -> Path:
    """Write the curves of best error so far to ``path`` and return it.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        PlotError: The file cannot be written.
    """
    try:
        from matplotlib.figure import Figure  # without pyplot: no window, no global state
    except ImportError as error:
        raise MissingDependencyError(
            "The curve needs 'matplotlib', which is not installed. Run: pip install 'headstart[plots]'."
        ) from error
    figure: Any = Figure(figsize=(8.0, 4.8), layout="constrained")
    axes: Any = figure.subplots()
    trials = np.arange(1, comparison.trials + 1)
    arms = (
        (comparison.curves_with, comparison.with_memory[0].method, "with the memory", "o", "-"),
        (comparison.curves_without, comparison.without_memory[0].method, "without", "s", "--"),
    )
    for colour, (curves, method, label, marker, line) in zip(COLOURS, arms, strict=True):
        curves = 100 * curves
        axes.fill_between(trials, curves.min(axis=0), curves.max(axis=0), color=colour, alpha=0.13, linewidth=0)
        axes.plot(
            trials,
            curves.mean(axis=0),
            line,
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1.8,
            label=f"{label} ({method})",
        )
    axes.axhline(
        100 * comparison.error_of_defaults,
        color="0.35",
        linestyle=":",
        linewidth=1.2,
        label="scikit-learn's defaults",
        zorder=0,
    )
    _annotate(axes, comparison)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise PlotError(
            f"{path} cannot be written: {error.strerror or error}. Give another folder with --out."
        ) from error
    return path


def _annotate(axes: Any, comparison: Comparison) -> None:
    seeds = len(comparison.with_memory)
    shown = f"mean of {seeds} seeds; bands: lowest to highest" if seeds > 1 else "one seed"
    past = len(comparison.past)
    axes.set_title(f"{comparison.task}: {past} past tasks in the memory", loc="left", fontweight="bold")
    axes.set_xlabel(f"trial ({shown})")
    axes.set_ylabel("best cross-validated error so far (%)")
    axes.set_xlim(0.5, comparison.trials + 0.5)
    axes.set_xticks(_ticks(comparison.trials))
    # one unlucky first trial would press everything else against the bottom
    means = 100 * np.concatenate([comparison.curves_with.mean(axis=0), comparison.curves_without.mean(axis=0)])
    highest = cast("float", max(means.max(), 100 * comparison.error_of_defaults))
    lowest = 100 * float(min(comparison.curves_with.min(), comparison.curves_without.min()))
    margin = 0.06 * max(highest - lowest, 0.1)
    axes.set_ylim(max(0.0, lowest - margin), highest + margin)
    axes.grid(visible=True, color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")


def _ticks(trials: int) -> list[int]:
    step = max(1, trials // 10)
    return [1, *range(step if step > 1 else 2, trials + 1, step)]
