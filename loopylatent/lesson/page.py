"""A lesson as one HTML page that plays anywhere, also without a network.

``page.html`` is the template, ``page.css`` and ``page.js`` are what it holds. The steps are written
as differences, each from the one before it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from loopylatent.exporting.graph_files import Provenance, rendered
from loopylatent.figures.layout import NODE_SIZE, shown_label
from loopylatent.figures.network import LABEL_ABOVE, LABEL_BELOW, ThemeName, stroke
from loopylatent.learning.grouping import VERDICTS
from loopylatent.lesson.cast import GLOSSARY, Caption, Cast, Name, Number, Term, pseudocode
from loopylatent.lesson.lesson import (
    CENTRE,
    FADED,
    MARKED_WIDTH,
    MARKS,
    Lesson,
    draw,
    edge_id,
    edge_title,
    in_layers,
    legend_of,
)
from loopylatent.lesson.material import CHAPTERS, DrawnEdge, Frame, Place
from loopylatent.lesson.pairs import SHADES, closest_pair, heatmap_order, pair_view
from loopylatent.lesson.visits import Visit
from loopylatent.settings import Method
from loopylatent.tables.files import xml_text

MOST_COLUMNS = 200
"""Columns up to which the matrix of distances is part of the page."""
MOST_NODES = 9
"""Nodes of a neighbourhood up to which its quartets are part of the page."""
MOST_POINTS = 400
ASKS: Mapping[Method, str] = {
    "quartet": "Which two nodes of A become siblings next?",
    "relaxed": "Which nodes are the next family, and who is its parent?",
    "nj": "Which two nodes of A are joined next?",
}


def to_page(lesson: Lesson, provenance: Provenance, *, title: str = "Lesson") -> str:
    """Return one page that plays the lesson; it may run the two scripts inside and ask nobody."""
    data = lesson_data(lesson)
    return rendered("lesson/page", ["lesson/page.js"], title, provenance, lesson=data)


def lesson_data(lesson: Lesson) -> dict[str, Any]:
    """Return everything that the page needs, as plain values."""
    writer = _Writer(lesson)
    steps = [writer.step(k) for k in range(len(lesson.places))]
    first = draw(lesson, lesson.frame(0))
    cast, method = lesson.cast, lesson.material.result.settings.method
    data = {
        "chapters": list(CHAPTERS.values()),
        "code": [[line.indent, line.text, line.meaning] for line in pseudocode(method)],
        "glossary": dict(GLOSSARY),
        "asks": ASKS[method],
        "nodes": [_node(cast, node) for node in range(cast.n_nodes)],
        "n_observed": cast.n_observed,
        "looks": first.looks,
        "marks": {mark: [look.colour, look.dashed, look.wider] for mark, look in MARKS.items()},
        "centre_rise": round(2 * NODE_SIZE * (CENTRE - 1)),
        "faded": FADED,
        "marked_width": MARKED_WIDTH,
        "edges": writer.edges,
        "legends": writer.legends,
        "steps": steps,
        "visits": [_visit(lesson, place) for place in lesson.places if place.phase == "look"],
        "pair": _pair(lesson),
        "matrix": _matrix(lesson),
    }
    plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return plain


def _node(cast: Cast, node: int) -> list[Any]:
    x, y = cast.places[node].tolist()
    below = LABEL_ABOVE if node in cast.above else LABEL_BELOW
    return [xml_text(cast.labels[node]), int(cast.is_hidden(node)), round(x), round(y), below]


class _Writer:
    """Writes steps one after the other, each as what it changes."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.edges: list[list[Any]] = []
        """[u, v, width, opacity, what is said of it] of every edge that a step draws."""
        self.legends: list[dict[str, Any]] = []
        self._number: dict[tuple[Any, ...], int] = {}
        self._drawn: dict[int, str] = {}

    def step(self, index: int) -> dict[str, Any]:
        place = self.lesson.places[index]
        frame = self.lesson.frame(index)
        written: dict[str, Any] = {
            "at": place.anchor,
            "phase": place.phase,
            "chapter": place.chapter,
            "line": frame.line,
            "says": caption_parts(frame.caption),
            "legend": self._legend(frame),
        }
        if place.is_coarse:
            overview = frame.overview
            written["overview"] = True if overview is None else caption_parts(overview)
        if place.visit:
            written["visit"] = place.visit
        return written | self._change(frame) | self._nodes(frame)

    def _change(self, frame: Frame) -> dict[str, Any]:
        now = {self._edge(edge): edge.mark for edge in in_layers(frame.edges)}
        before, self._drawn = self._drawn, dict(now)
        new = [[k, mark] for k, mark in now.items() if before.get(k) != mark]
        return {"draw": new, "drop": [k for k in before if k not in now]}

    def _nodes(self, frame: Frame) -> dict[str, Any]:
        shade = frame.shade
        found = {
            "focus": sorted(frame.focus) or None,
            "centre": frame.centre,
            "sketched": sorted(frame.sketched) or None,
            "shade": shade and [list(shade.nodes), [list(line) for line in shade.lines]],
        }
        hidden = [node for node in frame.nodes if self.lesson.cast.is_hidden(node)]
        return {"hidden": hidden} | {k: v for k, v in found.items() if v is not None}

    def _edge(self, edge: DrawnEdge) -> int:
        key = (edge_id(edge), edge.length, edge.note)
        if key not in self._number:
            self._number[key] = len(self.edges)
            look = stroke(edge.length, self.lesson.cast.n_nodes)
            title = edge_title(self.lesson.cast, edge)
            self.edges.append([edge.u, edge.v, look.width, look.opacity, xml_text(title)])
        return self._number[key]

    def _legend(self, frame: Frame) -> int:
        cast = self.lesson.cast
        legend = {theme: legend_of(cast, frame, theme) for theme in get_args(ThemeName)}
        if legend not in self.legends:
            self.legends.append(legend)
        return self.legends.index(legend)


def caption_parts(caption: Caption) -> list[Any]:
    """Write a caption as text, ["name", text], ["number", text] and ["term", text, key]."""
    parts: list[Any] = []
    for part in caption.parts:
        match part:
            case Name(text):
                parts.append(["name", xml_text(text)])
            case Number(text):
                parts.append(["number", text])
            case Term(text, key):
                parts.append(["term", text, key])
            case _:
                parts.append(part.text)
    return parts


def _visit(lesson: Lesson, place: Place) -> dict[str, Any]:
    """The distances and the quartets of a neighbourhood."""
    visit = Visit.of(lesson.material, place)
    names = [xml_text(shown_label(lesson.cast.labels[node])) for node in visit.members]
    found: dict[str, Any] = {"names": names, "distances": _finite(visit.step.distances)}
    asked = lesson.material.result.settings.method == "quartet"
    table = visit.quartets if asked else None
    if table is not None and len(names) <= MOST_NODES:
        columns = (table.nodes, table.products, table.lead, table.verdicts)
        found["quartets"] = [
            [*nodes, *(round(x, 5) for x in products), round(lead, 5), VERDICTS[verdict]]
            for nodes, products, lead, verdict in zip(*(c.tolist() for c in columns), strict=True)
        ]
    return found


def _pair(lesson: Lesson) -> dict[str, Any]:
    """The closest pair, as chapter 2 shows it."""
    m = lesson.material
    view = pair_view(m.D, m.obs, *closest_pair(m.D))
    found: dict[str, Any] = {
        "names": [xml_text(shown_label(name)) for name in view.names],
        "quantities": [[q.name, q.shown, q.meaning] for q in view.quantities],
    }
    if view.table is not None:
        found["table"] = {
            "rows": [xml_text(row) for row in view.table.index],
            "columns": [xml_text(column) for column in view.table.columns],
            "counts": view.table.to_numpy().tolist(),
        }
    elif view.points is not None:
        found["points"] = view.points[:: max(1, len(view.points) // MOST_POINTS)].tolist()
    return found


def _matrix(lesson: Lesson) -> dict[str, Any] | None:
    m = lesson.material
    if m.D.n_columns > MOST_COLUMNS:
        return None
    order = np.asarray(heatmap_order(m.result.graph))
    return {
        "names": [xml_text(shown_label(m.D.names[k], 18)) for k in order],
        "values": _finite(m.D.values[order[:, None], order]),
        "shades": SHADES,
    }


def _finite(values: Any) -> list[list[float | None]]:
    return [[round(x, 3) if np.isfinite(x) else None for x in row] for row in values.tolist()]
