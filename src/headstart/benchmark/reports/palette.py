"""One look per method: its colour, marker and line are the same in every picture, on paper and in the browser.

Colours are those of Okabe & Ito and of Tol's muted scheme, darkened where they would fade on white. No reader has to
tell twenty colours apart: markers and lines are a second cue, and curves carry their names at the end. Published result
files take the colour of their family, with hollow markers, so that "GP" of a file and our "gp" can share a picture.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Literal, TypeAlias, TypeVar

Item = TypeVar("Item")
Line: TypeAlias = Literal["solid", "dash", "dot", "dashdot"]
Marker: TypeAlias = Literal[
    "circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star", "pentagon", "hexagon"
]

GREY, BLUE, BROWN, VERMILLION = "#767676", "#0072b2", "#7f4a1e", "#d55e00"
GREEN, OLIVE, PINK, INDIGO = "#009e73", "#8f8f1f", "#cc79a7", "#332288"
SKY, ORANGE, BLACK, WINE = "#56b4e9", "#e69f00", "#111111", "#882255"
TEAL, ROSE, FOREST, PURPLE = "#44aa99", "#cc6677", "#117733", "#aa4499"

MARKERS: tuple[Marker, ...] = (
    "circle",
    "square",
    "diamond",
    "triangle-up",
    "triangle-down",
    "cross",
    "x",
    "star",
    "pentagon",
    "hexagon",
)
LINES: tuple[Line, ...] = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True)
class Style:
    """How one method is drawn."""

    colour: str
    marker: Marker = "circle"
    line: Line = "solid"
    is_hollow: bool = False


_OURS = {
    "random": Style(GREY, "x", "dot"),
    "gp": Style(BLUE, "square"),
    "gp-se": Style(BLUE, "diamond", "dash"),
    "rf": Style(BROWN, "triangle-up"),
    "prior-gp": Style(VERMILLION, "circle"),
    "tst-r": Style(GREEN, "diamond"),
    "tst-r-formula": Style(GREEN, "hexagon", "dot"),
    "tst-m": Style(GREEN, "triangle-down", "dash"),
    "taf-r": Style(OLIVE, "pentagon"),
    "rgpe": Style(PINK, "triangle-up"),
    "scaml-gp": Style(INDIGO, "hexagon"),
    "dgp": Style(SKY, "square"),
    "fsbo": Style(ORANGE, "triangle-down"),
    "dklm": Style(BLACK, "star"),
    "dklm-ri": Style(BLACK, "cross", "dash"),
    "ablr": Style(TEAL, "cross"),
    "dngo": Style(WINE, "pentagon"),
    "bohamiann": Style(ROSE, "hexagon"),
    "deep-ensemble": Style(SKY, "hexagon", "dash"),
    "ranking-ensemble": Style(FOREST, "star"),
    "copula-prior": Style(PURPLE, "x"),
    "scot": Style(PURPLE, "circle", "dash"),
    "mklgp": Style(INDIGO, "x", "dash"),
}
_PUBLISHED = {
    "Random": "random",
    "GP": "gp",
    "RF": "rf",
    "DNGO": "dngo",
    "BOHAMIANN": "bohamiann",
    "DGP": "dgp",
    "TST": "tst-r",
    "TST-M": "tst-m",
    "TAF": "taf-r",
    "RGPE": "rgpe",
    "FSBO": "fsbo",
    "DKLM": "dklm",
    "ABLR": "ablr",
    "DRE": "ranking-ensemble",
}
KNOWN: dict[str, Style] = {
    **_OURS,
    **{name: replace(_OURS[ours], is_hollow=True) for name, ours in _PUBLISHED.items()},
    # two files of one method, its continuous variants, and two methods that exist as files only
    "RS": Style(GREY, "cross", "dot", is_hollow=True),
    "RS-C": Style(GREY, "square", "dot", is_hollow=True),
    "TST-R": Style(GREEN, "diamond", "dashdot", is_hollow=True),
    "TAF-R": Style(OLIVE, "pentagon", "dashdot", is_hollow=True),
    "GP-C": Style(BLUE, "square", "dashdot", is_hollow=True),
    "DGP-C": Style(SKY, "square", "dashdot", is_hollow=True),
    "FSBO2": Style(ORANGE, "circle", "dash", is_hollow=True),
    "NAP": Style(INDIGO, "star", is_hollow=True),
    "OptFormer": Style(FOREST, "hexagon", is_hollow=True),
}
"""Methods with a look of their own: ours by the names of architecture.md, published files by their usual names."""

_COLOURS = tuple(dict.fromkeys(style.colour for style in _OURS.values()))


def styles(methods: Sequence[str]) -> dict[str, Style]:
    """Return the look of each method; no two are alike.

    Known methods keep theirs whatever else is in the picture. Any other starts at a colour and marker made of its name
    and moves on to the next only where those are taken, colours that nobody has first: so it keeps its look from
    report to report unless a competitor holds it.
    """
    found = {name: KNOWN[name] for name in methods if name in KNOWN}
    for name in sorted(set(methods) - set(KNOWN)):
        found[name] = _unused(name, set(found.values()))
    return {name: found[name] for name in methods}


def _unused(name: str, taken: set[Style]) -> Style:
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
    colours = _turned(_COLOURS, start)
    markers = _turned(MARKERS, start // len(_COLOURS))
    colours_taken = {style.colour for style in taken}
    looks = {(style.colour, style.marker, style.is_hollow) for style in taken}
    for colour in colours:
        if colour not in colours_taken:
            return Style(colour, markers[0])
    for hollow, line, marker, colour in product((False, True), LINES, markers, colours):
        # another line is too weak a difference alone: the marker must differ too while there are markers
        if (colour, marker, hollow) not in looks:
            return Style(colour, marker, line, hollow)
    free = (Style(c, m, line, h) for h, line, m, c in product((False, True), LINES, markers, colours))
    return next((style for style in free if style not in taken), Style(colours[0], markers[0]))


def _turned(values: Sequence[Item], start: int) -> tuple[Item, ...]:
    shift = start % len(values)
    return (*values[shift:], *values[:shift])
