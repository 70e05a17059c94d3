"""The pictures of a report as PNG or SVG files; needs matplotlib, which the "plots" extra brings."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from headstart.benchmark.reports.layout import CriticalLayout, after, log_ticks, tick_label
from headstart.benchmark.reports.palette import Style
from headstart.benchmark.reports.pictures import BARS, ZERO, Lines, Pictures, band_opacity, end_labels
from headstart.errors import HeadstartError, MissingDependencyError

ImageFormat: TypeAlias = Literal["png", "svg"]
Looks: TypeAlias = Mapping[str, Style]

_MARKERS = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle-up": "^",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
    "pentagon": "p",
    "hexagon": "h",
}
_LINES: dict[str, Any] = {"solid": "-", "dash": (0, (5, 2)), "dot": (0, (1.2, 1.4)), "dashdot": (0, (6, 2, 1.2, 2))}
_FONTS = {
    "font.size": 10,
    "svg.fonttype": "none",  # text stays text: it can be searched and restyled
    "svg.hashsalt": "headstart",  # the same report gives the same file
}
_LABEL_POINTS = 9.0


class PlotError(HeadstartError, OSError):
    """A picture cannot be written."""


# --- files -----------------------------------------------------------------------------------------------------------


def write(pictures: Pictures, looks: Looks, folder: Path, image: ImageFormat) -> tuple[Path, ...]:
    """Write all pictures to ``folder`` under fixed names, and return their paths.

    Raises:
        MissingDependencyError: matplotlib is not installed.
        PlotError: A file cannot be written.
    """
    single = ("regret", "rank", "calibration", "cost")
    lines = {name: getattr(pictures, name) for name in single}
    figures = {name: figure_of_lines(found, looks) for name, found in lines.items() if found is not None}
    if pictures.spaces:
        figures["spaces"] = figure_of_panels(pictures.spaces, looks, title="Regret per space")
    figures |= {f"critical-{diagram.at}": figure_of_critical(diagram, looks) for diagram in pictures.critical}
    return tuple(save(figure, folder / f"{name}.{image}") for name, figure in figures.items())


def save(figure: Any, path: Path) -> Path:
    """Write ``figure`` in the format that the name of ``path`` ends in, and return ``path``.

    Raises:
        PlotError: The file cannot be written.
    """
    # no date in the file, for the same reason as the salt
    metadata = {"Date": None} if path.suffix == ".svg" else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _fonts():
            figure.savefig(path, dpi=150, metadata=metadata, facecolor="white")
    except OSError as error:
        raise PlotError(
            f"{path} cannot be written: {error.strerror or error}. Give another folder with --out."
        ) from error
    return path


# --- figures ---------------------------------------------------------------------------------------------------------


def figure_of_lines(lines: Lines, looks: Looks) -> Any:
    """Return a figure with one panel; the name of each method stands at the end of its curve."""
    many = len(lines.methods)
    figure = _figure(8.6, max(4.8, 0.19 * many + 1.2))
    axes = figure.subplots()
    draw_lines(axes, lines, looks)
    _label_ends(figure, axes, lines, looks)
    axes.set_title(_plain(lines.title), loc="left", fontsize=11, fontweight="bold")
    axes.set_xlabel(lines.x_label)
    axes.set_ylabel(lines.y_label)
    _note(figure, [lines.note, ZERO if lines.shows_zero else ""])
    return figure


def figure_of_panels(panels: Sequence[Lines], looks: Looks, *, title: str) -> Any:
    """Return a figure with one small panel each, and one legend below all of them."""
    columns = min(4, len(panels)) if len(panels) != 4 else 2
    rows = math.ceil(len(panels) / columns)
    width = max(3.0 * columns, 6.0)
    methods = panels[0].methods
    per_row = max(1, int(width / (0.62 + 0.085 * max(len(name) for name in methods))))
    heights = [2.3 * rows + 0.6, 0.2 * math.ceil(len(methods) / per_row) + 0.25]
    figure = _figure(width, sum(heights))
    upper, lower = figure.subfigures(2, 1, height_ratios=heights)  # a legend of the whole would cover the notes
    grid = np.atleast_1d(upper.subplots(rows, columns, sharex=True)).ravel()
    for place, axes in enumerate(grid):
        if place >= len(panels):
            axes.set_visible(False)
            continue
        lines = panels[place]
        draw_lines(axes, lines, looks, width=1.3, markers=4, size=3.6)
        axes.set_title(_plain(_shortened(lines.title, 34)), loc="left", fontsize=9.5)
        is_lowest = place + columns >= len(panels)
        axes.tick_params(labelsize=8, labelbottom=is_lowest)
        axes.set_xlabel(lines.x_label if is_lowest else "", fontsize=9)
    upper.suptitle(title, x=0.01, ha="left", fontsize=11.5, fontweight="bold")
    upper.supylabel(panels[0].y_label, fontsize=9.5)
    handles, names = [_handle(looks[method]) for method in methods], [_plain(method) for method in methods]
    lower.legend(handles, names, loc="center", ncols=per_row, frameon=False, fontsize=9)
    _note(figure, [panels[0].note, ZERO if any(lines.shows_zero for lines in panels) else ""])
    return figure


def figure_of_critical(layout: CriticalLayout, looks: Looks) -> Any:
    """Return a critical-difference diagram."""
    line_inches = 0.27
    longest = max(len(label.method) for label in layout.labels)
    figure = _figure(5.6 + 0.17 * longest, line_inches * (layout.depth + 1.0) + 1.0)
    axes = figure.subplots()
    axes.set_ylim(layout.depth, -1.3)
    axes.set_xlim(layout.first, layout.last)
    axes.axis("off")
    axes.plot([layout.first, layout.last], [0, 0], color="0.2", linewidth=1.2, clip_on=False)
    for tick in range(math.ceil(layout.first), math.floor(layout.last) + 1):
        axes.plot([tick, tick], [0, -0.25], color="0.2", linewidth=1.2, clip_on=False)
        axes.text(tick, -0.4, f"{tick}", ha="center", va="bottom", fontsize=9)
    edge = 0.03 * (layout.last - layout.first)
    for label in layout.labels:
        look = looks[label.method]
        side = layout.first - edge if label.is_left else layout.last + edge
        axes.plot(
            [label.rank, label.rank, side], [0, label.y, label.y], color=look.colour, linewidth=1.3, clip_on=False
        )
        axes.plot([label.rank], [0], clip_on=False, zorder=4, **_marker(look, 6.5))
        text = (
            f"{_plain(label.method)}  {label.rank:.2f}"
            if label.is_left
            else f"{label.rank:.2f}  {_plain(label.method)}"
        )
        space = -0.008 if label.is_left else 0.008
        axes.text(
            side + space * (layout.last - layout.first),
            label.y,
            text,
            ha="right" if label.is_left else "left",
            va="center",
            fontsize=9.5,
        )
    for bar in layout.bars:
        axes.plot([bar.ranks[0], bar.ranks[-1]], [bar.y, bar.y], color="0.15", linewidth=3.2, clip_on=False)
        axes.plot(
            bar.ranks,
            [bar.y] * len(bar.ranks),
            "o",
            color="white",
            markeredgecolor="0.15",
            markersize=4.2,
            clip_on=False,
        )
    axes.set_title(f"Average rank {after(layout.at)}", loc="left", fontsize=11, fontweight="bold")
    _note(figure, [BARS, layout.note])
    return figure


# --- one panel -------------------------------------------------------------------------------------------------------


def draw_lines(
    axes: Any, lines: Lines, looks: Looks, *, width: float = 1.7, markers: int = 8, size: float = 5.0
) -> None:
    """Draw the curves of one panel, their bands, the grid and the ticks."""
    low, high = lines.y_range
    if lines.is_log:
        _log_axis(axes, low, high)
    axes.set_ylim(low, high)
    room = 0.01 * (lines.x[-1] - lines.x[0]) or 0.5
    axes.set_xlim(lines.x[0] - room, lines.x[-1] + room)
    if lines.has_diagonal:
        axes.plot([0, 1], [0, 1], color="0.55", linewidth=1.0, linestyle="--", zorder=1)
    opacity = band_opacity(lines)
    for m, method in enumerate(lines.methods):
        look = looks[method]
        if lines.low is not None and lines.high is not None:
            axes.fill_between(
                lines.x,
                lines.drawn(lines.low[m]),
                lines.drawn(lines.high[m]),
                color=look.colour,
                alpha=opacity,
                linewidth=0,
                zorder=1,
            )
        axes.plot(
            lines.x,
            lines.drawn(lines.values[m]),
            color=look.colour,
            linestyle=_LINES[look.line],
            linewidth=width,
            zorder=3 - 0.5 * m / len(lines.methods),  # the best, which come first, on top
            markevery=_marker_places(lines, m, markers),
            clip_on=False,
            **_marker(look, size, line=True),
        )
    axes.grid(visible=True, color="0.9", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def _marker_places(lines: Lines, m: int, many: int) -> list[int]:
    """Return where curve ``m`` carries markers: in steps, and shifted from method to method so that they part."""
    known = np.flatnonzero(np.isfinite(lines.values[m]))
    if len(lines.x) <= 2 * many:
        return known.tolist()
    step = max(1, len(lines.x) // many)
    places = range(int(step * m / len(lines.methods)), len(lines.x), step)
    return [place for place in places if place in known]


def _label_ends(figure: Any, axes: Any, lines: Lines, looks: Looks) -> None:
    """Write the names beside the right edge, or where a curve ends before it."""
    height = figure.get_size_inches()[1] * 0.78
    for m, place in end_labels(lines, 1.2 * _LABEL_POINTS / 72.0 / height):
        colour = looks[lines.methods[m]].colour
        value = float(lines.drawn(lines.values)[m, -1])
        axes.annotate(
            _plain(_shortened(lines.methods[m], 30)),
            xy=(lines.x[-1], value),
            xytext=(1.035, place),
            textcoords=axes.transAxes,
            fontsize=_LABEL_POINTS,
            color=_readable(colour),
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.8,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )
    for m, method in enumerate(lines.methods):
        known = np.flatnonzero(np.isfinite(lines.values[m]))
        if known.size and known[-1] < len(lines.x) - 1:
            last = known[-1]
            axes.annotate(
                f"{_plain(_shortened(method, 30))} (ends at {lines.x[last]:g})",
                xy=(lines.x[last], float(lines.drawn(lines.values)[m, last])),
                xytext=(7, 5),
                textcoords="offset points",
                fontsize=_LABEL_POINTS,
                color=_readable(looks[method].colour),
                zorder=6,
                bbox={"facecolor": "white", "alpha": 0.75, "linewidth": 0, "pad": 0.8},
            )


def _log_axis(axes: Any, low: float, high: float) -> None:
    ticks = log_ticks(low, high)
    axes.set_yscale("log")
    axes.set_yticks(ticks, [tick_label(tick) for tick in ticks])
    axes.minorticks_off()


def _marker(look: Style, size: float, *, line: bool = False) -> dict[str, Any]:
    larger = {"star": 1.45, "x": 1.1, "cross": 1.1, "diamond": 0.9}
    marker = {
        "marker": _MARKERS[look.marker],
        "markersize": size * larger.get(look.marker, 1.0),
        "markerfacecolor": "white" if look.is_hollow else look.colour,
        "markeredgecolor": look.colour if look.is_hollow else "white",
        "markeredgewidth": 1.1 if look.is_hollow else 0.5,
    }
    return marker if line else {**marker, "linestyle": "none"}


def _handle(look: Style) -> Any:
    return _matplotlib("lines").Line2D(
        [], [], color=look.colour, linestyle=_LINES[look.line], linewidth=1.6, **_marker(look, 5.0, line=True)
    )


def _figure(width: float, height: float) -> Any:
    with _fonts():
        return _matplotlib("figure").Figure(figsize=(width, height), layout="constrained")


def _fonts() -> Any:
    return _matplotlib("").rc_context(_FONTS)


def _matplotlib(module: str) -> Any:
    """Return a module of matplotlib, never pyplot: no window, no global state. Its types are too loose to check."""
    try:
        return import_module(f"matplotlib.{module}".rstrip("."))
    except ImportError as error:
        raise MissingDependencyError(
            "The pictures need 'matplotlib', which is not installed. Run: pip install 'headstart[bench]'."
        ) from error


def _note(figure: Any, notes: Sequence[str]) -> None:
    """Write the sentences that belong to a picture below it."""
    width, height = figure.get_size_inches()
    written = [line for note in notes for line in textwrap.wrap(_plain(note), int(width * 15))]
    if not written:
        return
    part = (0.155 * len(written) + 0.08) / height
    figure.get_layout_engine().set(rect=(0.0, part, 1.0, 1.0 - part))
    figure.text(0.012, part - 0.02 / height, "\n".join(written), fontsize=8, color="0.35", va="top")


def _readable(colour: str) -> str:
    """Return a darker tone of a light colour: what is enough for a line is not enough for letters."""
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    factor = 0.72 if 0.299 * red + 0.587 * green + 0.114 * blue > 120 else 1.0
    return "#" + "".join(f"{int(part * factor):02x}" for part in (red, green, blue))


def _plain(text: str) -> str:
    """Return ``text`` without meaning for matplotlib, which reads what stands between two dollars as mathematics."""
    return text.replace("$", r"\$")


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
