"""A learned graph as a stand-alone SVG picture that looks like the one in the browser.

Labels are drawn twice, first as an outline in the background colour: few programs other than
browsers can draw an outline behind a letter.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopylatent.figures import network
from loopylatent.figures.layout import (
    CHARACTER_WIDTH,
    FONT_SIZE,
    NODE_SIZE,
    label_sizes,
    labels_above,
    shown_label,
)
from loopylatent.figures.network import LegendItem, Symbol, Theme, ThemeName
from loopylatent.graph import (
    Groups,
    LatentGraph,
    checked_signs,
    groups_by_node,
    names_of_groups,
    node_labels,
)

_MARGIN = 20
_BASELINE = NODE_SIZE + FONT_SIZE + 3  # of a label, below the middle of its node
_BASELINE_ABOVE = -NODE_SIZE - 5
_BELOW = NODE_SIZE + FONT_SIZE + 8  # where a label ends
_LEGEND_LINE = 24
_LEGEND_GAP = 26  # between two items
_SAMPLE = 24  # width of a symbol or a line in the legend
_NARROWEST = 320
_DASHED = f'stroke-dasharray="{network.DASHES[0]} {network.DASHES[1]}"'
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True)
class _Frame:
    """The visible area of the picture."""

    left: int
    top: int
    width: int
    height: int


def to_svg(
    graph: LatentGraph,
    positions: NDArray[np.floating],
    *,
    groups: Groups | None = None,
    group_names: Sequence[str] | None = None,
    signs: Sequence[int] | NDArray[np.integer] | None = None,
    hidden_names: Mapping[int, str] | None = None,
    theme: ThemeName = "light",
) -> str:
    """Return a picture with its legend; arguments are as in `figures.network.network`."""
    colours = network.colours_of(theme)
    labels = node_labels(graph, hidden_names)
    group_of = groups_by_node(graph, groups)
    names = names_of_groups(group_of, group_names)
    titles = network.node_titles(graph, labels, group_of, names).values()
    place = network.checked_positions(graph, positions)
    negative = (checked_signs(graph, signs) < 0).tolist()
    symbols = [
        network.symbol(node >= graph.n_observed, group_of.get(node), groups is not None, colours)
        for node in range(graph.n_nodes)
    ]
    items = network.legend(graph, groups=groups, group_names=group_names, signs=signs, theme=theme)
    above = _frame(place, labels)
    rows = _legend_rows(items, above.width)
    frame = _with_legend(above, rows)
    parts = [
        _opening(graph, frame, colours),
        *_edges(graph, place, negative, colours),
        *_nodes(place, symbols, titles),
        *_labels(graph, place, labels, colours),
        *_legend(rows, frame, above.top + above.height, colours),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def escaped_xml(text: str) -> str:
    """Escape text for an XML element or attribute."""
    return html.escape(_FORBIDDEN.sub("\ufffd", text))


def _frame(place: list[list[int]], labels: Sequence[str]) -> _Frame:
    """Return the smallest frame around all symbols and labels, with a margin."""
    if not place:
        return _Frame(0, 0, _NARROWEST, _MARGIN)
    x, y = np.array(place).T
    half = np.maximum(label_sizes(labels)[:, 0] / 2, NODE_SIZE)
    left, right = int((x - half).min()) - _MARGIN, int((x + half).max()) + _MARGIN
    top, bottom = int(y.min()) - _BELOW - _MARGIN, int(y.max()) + _BELOW + _MARGIN
    spare = max(0, _NARROWEST - (right - left))
    return _Frame(left - spare // 2, top, right - left + spare, bottom - top)


def _with_legend(above: _Frame, rows: Sequence[Sequence[LegendItem]]) -> _Frame:
    """Extend the frame by the legend below; widen it if an item needs that."""
    spare = max(0, max(map(_row_width, rows)) + 2 * _MARGIN - above.width)
    height = above.height + _LEGEND_LINE * len(rows) + _MARGIN
    return _Frame(above.left - spare // 2, above.top, above.width + spare, height)


def _opening(graph: LatentGraph, frame: _Frame, colours: Theme) -> str:
    title = (
        f"Graph of {graph.n_observed} observed and {graph.n_hidden} hidden nodes with "
        f"{graph.n_edges} edges"
    )
    box = f"{frame.left} {frame.top} {frame.width} {frame.height}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{frame.width}" height="{frame.height}" '
        f'viewBox="{box}" role="img" font-family="{escaped_xml(network.FACE)}">\n'
        f"<title>{title}</title>\n"
        f'<rect x="{frame.left}" y="{frame.top}" width="{frame.width}" height="{frame.height}" '
        f'fill="{colours.background}"/>'
    )


def _edges(
    graph: LatentGraph, place: list[list[int]], negative: list[bool], colours: Theme
) -> Iterator[str]:
    yield f'<g stroke="{colours.edge}" fill="none">'
    rows = zip(graph.edges.tolist(), graph.lengths.tolist(), negative, strict=True)
    for (u, v), length, is_negative in rows:
        drawn = network.stroke(length, graph.n_nodes)
        look = f'stroke-opacity="{drawn.opacity}"'
        if is_negative:
            look = f'stroke="{network.NEGATIVE}" {_DASHED}'
        (x1, y1), (x2, y2) = place[u], place[v]
        yield (
            f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke-width="{drawn.width}" {look}/>'
        )
    yield "</g>"


def _nodes(
    place: list[list[int]], symbols: Sequence[Symbol], titles: Iterable[str]
) -> Iterator[str]:
    yield f'<g stroke-width="{network.BORDER}">'
    for (x, y), drawn, title in zip(place, symbols, titles, strict=True):
        inside = f"<title>{escaped_xml(title)}</title>"
        yield _shape(drawn.shape, x, y, drawn.fill, drawn.border, inside)
    yield "</g>"


def _shape(shape: str, x: float, y: float, fill: str, border: str, inside: str = "") -> str:
    paint = f'fill="{fill}" stroke="{border}"'
    if shape == "dot":
        return f'<circle cx="{x}" cy="{y}" r="{NODE_SIZE}" {paint}>{inside}</circle>'
    size = NODE_SIZE
    corners = f"{x},{y - size} {x + size},{y} {x},{y + size} {x - size},{y}"
    return f'<polygon points="{corners}" {paint}>{inside}</polygon>'


def _labels(
    graph: LatentGraph, place: list[list[int]], labels: Sequence[str], colours: Theme
) -> Iterator[str]:
    """Draw all outlines, then all letters, so that no outline covers a letter."""
    above = labels_above(place, graph.edges, labels).tolist()
    outline = (
        f'fill="none" stroke="{colours.background}" stroke-width="{network.LABEL_OUTLINE}" '
        'stroke-linejoin="round" aria-hidden="true"'
    )
    letters = (f'fill="{colours.text}"', f' fill="{colours.muted}"')
    for paint, hidden_paint in ((outline, ""), letters):
        yield f'<g font-size="{FONT_SIZE}" text-anchor="middle" pointer-events="none" {paint}>'
        for node, ((x, y), label) in enumerate(zip(place, labels, strict=True)):
            line = y + (_BASELINE_ABOVE if above[node] else _BASELINE)
            own = f' font-size="{FONT_SIZE - 2}"{hidden_paint}' if node >= graph.n_observed else ""
            yield f'<text x="{x}" y="{line}"{own}>{escaped_xml(shown_label(label))}</text>'
        yield "</g>"


# Legend ------------------------------------------------------------------------------------


def _item_width(item: LegendItem) -> int:
    words = item.text.split()  # word by word, because label_sizes cuts long texts
    text = label_sizes(words)[:, 0].sum() + CHARACTER_WIDTH * (len(words) - 1)
    return _SAMPLE + 8 + int(text)


def _row_width(row: Sequence[LegendItem]) -> int:
    return sum(map(_item_width, row)) + _LEGEND_GAP * (len(row) - 1)


def _legend_rows(items: Sequence[LegendItem], width: int) -> list[list[LegendItem]]:
    rows: list[list[LegendItem]] = [[]]
    for item in items:
        if rows[-1] and _row_width([*rows[-1], item]) > width - 2 * _MARGIN:
            rows.append([])
        rows[-1].append(item)
    return rows


def _legend(
    rows: Sequence[Sequence[LegendItem]], frame: _Frame, top: int, colours: Theme
) -> Iterator[str]:
    yield f'<g font-size="{FONT_SIZE}" fill="{colours.text}" stroke-width="{network.BORDER}">'
    for k, row in enumerate(rows):
        x, y = frame.left + (frame.width - _row_width(row)) // 2, top + _LEGEND_LINE * k
        for item in row:
            yield _sample(item, x, y)
            yield f'<text x="{x + _SAMPLE + 8}" y="{y + 5}">{escaped_xml(item.text)}</text>'
            x += _item_width(item) + _LEGEND_GAP
    yield "</g>"


def _sample(item: LegendItem, x: int, y: int) -> str:
    if item.shape in ("dot", "diamond"):
        return _shape(item.shape, x + _SAMPLE // 2, y, item.fill, item.border)
    dashes = f" {_DASHED}" if item.shape == "dashes" else ""
    return (
        f'<line x1="{x}" y1="{y}" x2="{x + _SAMPLE}" y2="{y}" stroke="{item.border}" '
        f'stroke-width="3"{dashes}/>'
    )
