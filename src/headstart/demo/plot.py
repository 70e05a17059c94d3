"""The curve of the demo as a PNG; needs matplotlib, which the "plots" extra brings."""

from pathlib import Path
from typing import Any

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
    axes.set_ylabel("best error so far (%)")
    axes.set_xlim(0.5, comparison.trials + 0.5)
    axes.set_xticks(_ticks(comparison.trials))
    _scale(axes, comparison)
    axes.grid(visible=True, color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")


def _scale(axes: Any, comparison: Comparison) -> None:
    """Use a logarithmic scale where there is no zero: first trials are many times worse than last ones."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    everything = [comparison.curves_with.ravel(), comparison.curves_without.ravel(), [comparison.error_of_defaults]]
    errors = 100 * np.concatenate(everything)
    low, high = float(errors.min()), float(errors.max())
    if low <= 0.0:
        axes.set_ylim(bottom=0.0)
        return
    axes.set_yscale("log")
    axes.set_ylabel(f"{axes.get_ylabel()}, logarithmic scale")
    axes.set_ylim(low / 1.15, high * 1.15)
    few = high / low < 12  # then every whole number of a decade has room for its label
    axes.yaxis.set_major_locator(LogLocator(subs=range(1, 10) if few else (1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _ticks(trials: int) -> list[int]:
    step = max(1, trials // 10)
    return [1, *range(step if step > 1 else 2, trials + 1, step)]
