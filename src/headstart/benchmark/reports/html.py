"""A report as one HTML page that needs nothing else: no network, no fonts, no files beside it.

Plotly's script is part of the page. Whatever comes from outside (names of methods, spaces, settings) is escaped where
it enters.
"""

import json
import math
from collections.abc import Mapping
from html import escape
from importlib import import_module, resources
from itertools import groupby

from headstart.benchmark.reports.layout import after
from headstart.benchmark.reports.palette import Marker, Style
from headstart.benchmark.reports.pictures import BARS, ZERO, Lines
from headstart.benchmark.reports.plotly_figures import Figure, critical_figure, lines_figure
from headstart.benchmark.reports.renderers import best_cells, cell_text, interval_text, number
from headstart.benchmark.reports.sections import Document, Section
from headstart.benchmark.reports.tables import Cell, Column, Estimate, Table
from headstart.errors import MissingDependencyError


def page(document: Document, looks: Mapping[str, Style]) -> str:
    """Return the page.

    Raises:
        MissingDependencyError: plotly is not installed.
    """
    numbered = {method: place for place, method in enumerate(document.methods)}
    bodies: list[str] = []
    figures: list[Figure] = []
    for place, section in enumerate(document.sections):
        body, drawn = _section(section, place, looks, numbered)
        bodies.append(body)
        figures += drawn
    anchors = [(f"s{place}", section.title) for place, section in enumerate(document.sections)]
    anchors.append(("made", "How this was made"))
    links = "".join(f'<a href="#{anchor}">{escape(title)}</a>' for anchor, title in anchors)
    parts = [
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',  # browsers ask the server for one otherwise
        f"<title>{escape(document.title)}</title>",
        f"<style>\n{_asset('report.css')}</style>\n</head>\n<body>\n<main>",
        f'<h1>{escape(document.title)}</h1>\n<p class="lead">{escape(document.sentence)}</p>',
        *(f'<p class="warning">{escape(warning)}</p>' for warning in document.warnings),
        f"<nav>{links}</nav>",
        *bodies,
        _made(document),
        "</main>",
        f'<script type="application/json" id="figures">{_json(figures)}</script>',
        f"<script>{_plotly()}</script>",
        f"<script>{_asset('report.js')}</script>",
        "</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _json(figures: list[Figure]) -> str:
    """Return JSON that no name can break out of: inside a script element only ``<`` has a meaning."""
    text = json.dumps(figures, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _plotly() -> str:
    try:
        return import_module("plotly.offline").get_plotlyjs()
    except ImportError as error:
        raise MissingDependencyError(
            "The HTML page needs 'plotly', which is not installed. Run: pip install 'headstart[bench]'."
        ) from error


def _asset(name: str) -> str:
    return resources.files("headstart.benchmark.reports").joinpath("page", name).read_text(encoding="utf-8")


# --- sections --------------------------------------------------------------------------------------------------------


def _section(
    section: Section, place: int, looks: Mapping[str, Style], numbered: Mapping[str, int]
) -> tuple[str, list[Figure]]:
    anchor = f"s{place}"
    parts = [f'<section id="{anchor}">\n<h2>{escape(section.title)}</h2>']
    if section.text:
        parts.append(f"<p>{escape(section.text)}</p>")
    figures: list[Figure] = []
    if section.curves or section.panels:
        parts.append(_legend(section, looks, numbered))
    for lines in section.curves:
        figures.append(lines_figure(lines, looks, numbered, f"{anchor}-f{len(figures)}"))
        kind = ' class="one"' if lines.has_diagonal else ""
        parts.append(_figure(figures[-1]["id"], lines.title, _notes(lines), kind))
    if section.panels:
        parts.append('<div class="panels">')
        for lines in section.panels:
            figures.append(lines_figure(lines, looks, numbered, f"{anchor}-f{len(figures)}", is_small=True))
            parts.append(_figure(figures[-1]["id"], lines.title, ""))
        zero = [ZERO] if any(lines.shows_zero for lines in section.panels) else []
        parts.append(f'</div>\n<p class="note">{escape(" ".join([section.panels[0].note, *zero]))}</p>')
    if section.diagrams:
        is_wide = max(len(diagram.labels) for diagram in section.diagrams) > 12
        parts.append(f'<div class="diagrams{" wide" if is_wide else ""}">')
        for diagram in section.diagrams:
            figures.append(critical_figure(diagram, looks, numbered, f"{anchor}-f{len(figures)}"))
            title = f"Average rank {after(diagram.at)}"
            parts.append(_figure(figures[-1]["id"], title, "", height=figures[-1]["layout"]["height"]))
        parts.append(f'</div>\n<p class="note">{escape(BARS)}</p>')
    parts += [table_html(table, looks) for table in section.tables]
    return "\n".join([*parts, "</section>"]), figures


def _notes(lines: Lines) -> str:
    return " ".join(note for note in (lines.note, ZERO if lines.shows_zero else "") if note)


def _figure(identity: str, title: str, note: str, kind: str = "", height: int | None = None) -> str:
    style = f' style="height:{height}px"' if height else ""
    below = f'<p class="note">{escape(note)}</p>' if note else ""
    caption = f"<figcaption>{escape(title)}</figcaption>"
    return f'<figure{kind}>{caption}<div class="plot" id="{identity}"{style}></div>{below}</figure>'


def _legend(section: Section, looks: Mapping[str, Style], numbered: Mapping[str, int]) -> str:
    drawn = {method for lines in (*section.curves, *section.panels) for method in lines.methods}
    buttons = [
        f'<button type="button" data-method="{place}" aria-pressed="true">{look_svg(looks[method])}'
        f"<span>{escape(method)}</span></button>"
        for method, place in numbered.items()
        if method in drawn
    ]
    if len(buttons) > 2:
        buttons.append('<button type="button" class="plain" data-all="">all / none</button>')
    if any(lines.low is not None for lines in section.curves):
        buttons.append('<button type="button" class="plain" data-bands="" aria-pressed="true">bands</button>')
    return f'<div class="legend" role="group" aria-label="Show or hide methods">{"".join(buttons)}</div>'


def _made(document: Document) -> str:
    parts = ['<section id="made">\n<h2>How this was made</h2>']
    if document.command:
        parts.append(f"<p>This command makes this page again:</p>\n<pre><code>{escape(document.command)}</code></pre>")
    for heading, pairs in document.facts:
        rows = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in pairs)
        parts.append(f"<h3>{escape(heading)}</h3>\n<dl>{rows}</dl>")
    return "\n".join([*parts, "</section>"])


# --- tables ----------------------------------------------------------------------------------------------------------


def table_html(table: Table, looks: Mapping[str, Style]) -> str:
    """Return ``table`` in a box of its own that scrolls sideways."""
    best = best_cells(table)
    starts = [c > 0 and column.group != table.columns[c - 1].group for c, column in enumerate(table.columns)]
    rows: list[str] = []
    for r, (name, cells) in enumerate(table.rows):
        look = look_svg(looks[name]) if table.key == "method" and name in looks else ""
        row = [f'<tr><th class="first" scope="row" title="{escape(name)}">{look}{escape(name)}</th>']
        for c, (cell, column) in enumerate(zip(cells, table.columns, strict=True)):
            kinds = " ".join(kind for kind, holds in (("best", (r, c) in best), ("starts", starts[c])) if holds)
            row.append(
                f'<td class="{kinds}">{_cell(cell, column)}</td>' if kinds else f"<td>{_cell(cell, column)}</td>"
            )
        rows.append("".join([*row, "</tr>"]))
    note = f'\n<p class="note">{escape(table.note)}</p>' if table.note else ""
    return (
        f"<h3>{escape(table.title)}</h3>\n"
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(table.title)}"><table>\n'
        f"<thead>{_heads(table)}</thead>\n"
        f"<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>{note}"
    )


def _heads(table: Table) -> str:
    """Return the head of ``table``: in two lines where columns form groups."""
    first = f'<th class="first" scope="col"{{}}>{escape(table.key)}</th>'
    names = "".join(f'<th scope="col">{escape(column.head)}</th>' for column in table.columns)
    groups = [(group, len(list(columns))) for group, columns in groupby(table.columns, lambda column: column.group)]
    if all(not group for group, _ in groups):
        return f"<tr>{first.format('')}{names}</tr>"
    two_lines = first.format(' rowspan="2"')
    above = "".join(f'<th colspan="{many}" scope="colgroup">{escape(group)}</th>' for group, many in groups)
    return f'<tr class="groups">{two_lines}{above}</tr><tr>{names}</tr>'


def _cell(cell: Cell, column: Column) -> str:
    if isinstance(cell, Estimate):
        return f'{number(cell.value, column)}<span class="interval">{interval_text(cell, column)}</span>'
    return escape(cell_text(cell, column))


# --- looks -----------------------------------------------------------------------------------------------------------

_DASHES = {"solid": "", "dash": "6 3", "dot": "1.6 2.2", "dashdot": "6 2 1.6 2"}
_SIDES: dict[Marker, tuple[int, float, float]] = {  # corners, turn in degrees, depth of the dents between them
    "square": (4, 45, 1),
    "diamond": (4, 0, 1),
    "triangle-up": (3, 0, 1),
    "triangle-down": (3, 180, 1),
    "cross": (4, 0, 0.4),
    "x": (4, 45, 0.4),
    "star": (5, 0, 0.42),
    "pentagon": (5, 0, 1),
    "hexagon": (6, 0, 1),
}


def look_svg(look: Style) -> str:
    """Return a small sample of a method's line and marker."""
    dash = f' stroke-dasharray="{_DASHES[look.line]}"' if _DASHES[look.line] else ""
    fill = "#fff" if look.is_hollow else look.colour
    outline = f'fill="{fill}" stroke="{look.colour}" stroke-width="1.4"'
    if look.marker == "circle":
        shape = f'<circle cx="17" cy="6" r="3.9" {outline}/>'
    else:
        corners, turn, dent = _SIDES[look.marker]
        steps = corners if dent == 1 else 2 * corners
        points: list[str] = []
        for step in range(steps):
            radius = 4.9 if dent == 1 or step % 2 == 0 else 4.9 * dent
            angle = math.radians(turn + 360 * step / steps)
            points.append(f"{17 + radius * math.sin(angle):.2f},{6 - radius * math.cos(angle):.2f}")
        shape = f'<polygon points="{" ".join(points)}" {outline}/>'
    line = f'<line x1="1" y1="6" x2="33" y2="6" stroke="{look.colour}" stroke-width="2.2"{dash}/>'
    return f'<svg class="look" viewBox="0 0 34 12" aria-hidden="true">{line}{shape}</svg>'
