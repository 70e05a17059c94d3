"""The figures of a page as plain JSON: what its script hands to Plotly, without plotly's own Python classes.

Names of methods are escaped here: Plotly reads some HTML in texts.
"""

import math
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from headstart.arrays import Array
from headstart.benchmark.reports.layout import CriticalLayout, log_ticks, tick_label
from headstart.benchmark.reports.palette import Style
from headstart.benchmark.reports.pictures import Lines, band_opacity, end_labels

Figure = dict[str, Any]
"""id, data, layout; labels, each with the number of its method; what changes on a narrow screen."""

INK, GRID = "#1c1f23", "#e6e9ec"
LONGEST = 22
"""Letters of a name that are shown beside a figure; the legend and the tables have it whole."""


def lines_figure(
    lines: Lines, looks: Mapping[str, Style], numbered: Mapping[str, int], identity: str, *, is_small: bool = False
) -> Figure:
    """Return a panel of curves."""
    data: list[dict[str, Any]] = []
    if lines.has_diagonal:
        data.append(_line([0, 1], [0, 1], "#8a9199", -1, dash="dash", width=1.2))
    for m, method in enumerate(lines.methods):
        data += _band(lines, m, looks[method], numbered[method])
    for m, method in reversed(list(enumerate(lines.methods))):  # the best, which come first, on top
        data.append(_curve(lines, m, looks[method], numbered[method], is_small=is_small))
    low, high = lines.y_range
    longest = max(_width(method) for method in lines.methods)
    right = 14 if is_small else int(36 + 13 * longest)
    layout = _layout({"l": 48 if is_small else 64, "r": right, "t": 8, "b": 30 if is_small else 48})
    room = 0.012 * float(lines.x[-1] - lines.x[0]) or 0.5
    layout["xaxis"] |= {"range": [float(lines.x[0]) - room, float(lines.x[-1]) + room]}
    layout["yaxis"] |= {"range": [low, high]}
    if not is_small:
        layout["xaxis"] |= {"title": {"text": _plotly_text(lines.x_label)}}
        layout["yaxis"] |= {"title": {"text": _plotly_text(lines.y_label)}}
    if lines.is_log:
        ticks = log_ticks(low, high)
        layout["yaxis"] |= {
            "type": "log",
            "range": [math.log10(low), math.log10(high)],
            "tickvals": ticks,
            "ticktext": [tick_label(tick) for tick in ticks],
        }
    fonts = [11, 10] if is_small else [13, 11]
    narrow = {} if is_small else {"l": 54, "r": int(32 + 11 * longest)}
    labels = [] if is_small else _names(lines, numbered)
    return {"id": identity, "data": data, "layout": layout, "labels": labels, "fonts": fonts, "narrow": narrow}


def _curve(lines: Lines, m: int, look: Style, number_: int, *, is_small: bool) -> dict[str, Any]:
    drawn = lines.drawn(lines.values[m])
    known = np.flatnonzero(np.isfinite(drawn))
    texts = [_hover(lines, m, int(n)) for n in known]
    step = max(1, len(lines.x) // (5 if is_small else 10))
    sizes = [1.0] * len(known)
    for place, n in enumerate(known):
        if (n - int(step * m / len(lines.methods))) % step == 0:
            sizes[place] = 6.5 if is_small else 8.5
    trace = _line(_short(lines.x[known]), _short(drawn[known]), look.colour, number_, dash=look.line)
    trace |= {
        "mode": "lines+markers",
        "name": _plotly_text(lines.methods[m]),
        "text": texts,
        "hovertemplate": "<b>%{fullData.name}</b><br>%{text}<extra></extra>",
        "hoverinfo": "text",
        "marker": {
            "symbol": look.marker,
            "color": "#ffffff" if look.is_hollow else look.colour,
            "size": sizes,
            "opacity": [1 if size > 1 else 0 for size in sizes],
            "line": {"color": look.colour, "width": 1.4 if look.is_hollow else 0},
        },
    }
    trace["line"]["width"] = 1.6 if is_small else 2.1
    return trace


def _hover(lines: Lines, m: int, n: int) -> str:
    """Return what the pointer shows at place ``n`` of curve ``m``: true values, not where they are drawn."""
    where = f"{lines.x[n]:.2f} expected" if lines.has_diagonal else f"trial {lines.x[n]:g}"
    text = f"{where}: {lines.values[m, n]:.4g}"
    if lines.low is not None and lines.high is not None and np.isfinite(lines.low[m, n]):
        text += f" [{lines.low[m, n]:.4g}, {lines.high[m, n]:.4g}]"
    return text


def _band(lines: Lines, m: int, look: Style, number_: int) -> list[dict[str, Any]]:
    if lines.low is None or lines.high is None:
        return []
    low, high = lines.drawn(lines.low[m]), lines.drawn(lines.high[m])
    known = np.flatnonzero(np.isfinite(low) & np.isfinite(high))
    if not known.size:
        return []
    around = np.concatenate([known, known[::-1]])
    edge = np.concatenate([high[known], low[known[::-1]]])
    trace = _line(_short(lines.x[around]), _short(edge), look.colour, number_, width=0)
    red, green, blue = (int(look.colour[place : place + 2], 16) for place in (1, 3, 5))
    trace |= {"fill": "toself", "fillcolor": f"rgba({red},{green},{blue},{band_opacity(lines)})"}
    trace["meta"]["band"] = True
    return [trace]


def _names(lines: Lines, numbered: Mapping[str, int]) -> list[dict[str, Any]]:
    """Return the names at the right ends of the curves, with the lines that lead to them.

    Annotations, as Plotly draws no text of a trace outside its axes. On a logarithmic axis they want logarithms.
    """
    low, high = lines.y_range
    drawn = lines.drawn(lines.values)

    def placed(value: float) -> float:
        inside = min(max(value, low + 1e-3 * (high - low)), high)  # what lies on the edge counts as outside of it
        if lines.is_log:
            inside = min(max(value, low * (high / low) ** 1e-3), high)
        return _five(math.log10(inside) if lines.is_log else inside)

    found: list[dict[str, Any]] = []
    for m, height in end_labels(lines, 0.043):
        y = low * (high / low) ** height if lines.is_log else low + height * (high - low)
        label = _label(lines.methods[m], numbered, float(lines.x[-1]), placed(float(drawn[m, -1])))
        tail = {"ax": 22, "ay": placed(y), "ayref": "y", "arrowhead": 0, "arrowwidth": 0.8, "arrowcolor": "#9aa2aa"}
        found.append(label | tail | {"showarrow": True, "standoff": 3})
    for m, method in enumerate(lines.methods):
        known = np.flatnonzero(np.isfinite(drawn[m]))
        if known.size and known[-1] < len(lines.x) - 1:  # a curve that ends early carries its name where it ends
            last = known[-1]
            label = _label(method, numbered, float(lines.x[last]), placed(float(drawn[m, last])))
            found.append(label | {"xshift": 4, "yshift": 9, "bgcolor": "rgba(255,255,255,0.75)"})
    return found


def _label(method: str, numbered: Mapping[str, int], x: float, y: float, side: str = "left") -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": _plotly_text(_shortened(method)),
        "xanchor": side,
        "showarrow": False,
        "borderpad": 0,
        "method": numbered[method],  # for the page's own script
    }


def critical_figure(
    layout: CriticalLayout, looks: Mapping[str, Style], numbered: Mapping[str, int], identity: str
) -> Figure:
    """Return a critical-difference diagram."""
    data: list[dict[str, Any]] = []
    labels: list[dict[str, Any]] = []
    width = layout.last - layout.first
    ends = layout.first - 0.02 * width, layout.last + 0.02 * width
    for label in layout.labels:
        look, method = looks[label.method], numbered[label.method]
        side = ends[0 if label.is_left else 1]
        trace = _line([label.rank, label.rank, side], [0, label.y, label.y], look.colour, method, width=1.6)
        text = _label(label.method, numbered, side, label.y, "right" if label.is_left else "left")
        name, rank = text["text"], f"<b>{label.rank:.2f}</b>"
        labels.append(text | {"text": f"{name}  {rank} " if label.is_left else f" {rank}  {name}"})
        trace |= {
            "mode": "lines+markers",
            "cliponaxis": False,
            "marker": {
                "symbol": look.marker,
                "color": "#ffffff" if look.is_hollow else look.colour,
                "size": [10, 1, 1],
                "opacity": [1, 0, 0],
                "line": {"color": look.colour, "width": 1.4 if look.is_hollow else 0},
            },
        }
        data.append(trace)
    for bar in layout.bars:
        trace = _line(list(bar.ranks), [bar.y] * len(bar.ranks), "#22262b", -1, width=4)
        trace |= {"mode": "lines+markers"}
        data.append(trace | {"marker": {"color": "#ffffff", "size": 7, "line": {"color": "#22262b", "width": 1.4}}})
    longest = max(_width(label.method) for label in layout.labels)
    side = int(50 + 13 * longest)
    found = _layout({"l": side, "r": side, "t": 30, "b": 6})
    found["height"] = int(24 * (layout.depth + 0.6) + 48)
    found["xaxis"] |= {
        "range": list(ends),
        "side": "top",
        "dtick": 1 if width <= 12 else 2,
        "showgrid": False,
        "ticks": "outside",
        "fixedrange": True,
    }
    found["yaxis"] |= {"range": [layout.depth + 0.1, 0], "visible": False, "fixedrange": True}
    narrow = {"l": int(44 + 11 * longest), "r": int(44 + 11 * longest)}
    return {"id": identity, "data": data, "layout": found, "labels": labels, "fonts": [13, 11], "narrow": narrow}


def _line(x: list[float], y: list[float], colour: str, method: int, *, dash: str = "solid", width: float = 2) -> Figure:
    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"color": colour, "width": width, "dash": dash},
        "meta": {"method": method},
        "hoverinfo": "skip",
    }


def _layout(margin: dict[str, int]) -> dict[str, Any]:
    axis = {"showgrid": True, "gridcolor": GRID, "zeroline": False, "linecolor": "#9aa2aa", "showline": True}
    return {
        "autosize": True,
        "margin": margin,
        "paper_bgcolor": "#ffffff",
        "plot_bgcolor": "#ffffff",
        "font": {"family": "system-ui, -apple-system, Segoe UI, Roboto, Arial, sans-serif", "color": INK, "size": 13},
        "showlegend": False,
        "hovermode": "closest",
        "hoverlabel": {"bgcolor": "#ffffff", "font": {"color": INK}},
        "xaxis": dict(axis),
        "yaxis": dict(axis),
    }


def _plotly_text(text: str) -> str:
    """Return ``text`` for Plotly, which reads some HTML in texts but does not know ``&quot;``."""
    return escape(text, quote=False)


def _shortened(method: str) -> str:
    return method if len(method) <= LONGEST else f"{method[: LONGEST - 1]}…"


def _width(method: str) -> float:
    """Return about how wide the label of ``method`` is, in sizes of its font."""
    return sum(0.35 if letter in "iljt.,:|-_ " else 0.58 if letter.islower() else 0.73 for letter in _shortened(method))


def _short(values: Array) -> list[float]:
    return [_five(float(value)) for value in values]


def _five(value: float) -> float:
    return float(f"{value:.5g}")
