"""A lesson: steps with random access, their drawings, and the lesson as one HTML page.

The page also plays offline. ``page.html`` is its template, with ``page.css`` and ``page.js``. Each
step is written as its difference from the previous one.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.exporting.graph_files import Provenance, rendered
from loopylatent.figures import network
from loopylatent.figures.layout import FONT_SIZE, NODE_SIZE, positions, shown_label
from loopylatent.figures.network import ThemeName
from loopylatent.figures.overlays import ADDED, REMOVED
from loopylatent.figures.recovery import FALSE_EDGE
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping import VERDICTS
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.refinement import Refinement
from loopylatent.learning.trace import VisitStep
from loopylatent.lesson import chapters
from loopylatent.lesson.cast import (
    GLOSSARY,
    Caption,
    Cast,
    Code,
    Name,
    Number,
    Term,
    cast_of,
    pseudocode,
)
from loopylatent.lesson.grouping_chapter import Guesses, guesses
from loopylatent.lesson.material import (
    CHAPTERS,
    Detail,
    DrawnEdge,
    Frame,
    Mark,
    Material,
    Phase,
    Place,
    Visit,
    nearest,
    places_of,
)
from loopylatent.lesson.refinement_chapter import LAST_CHAPTER, best_pairs, move_words
from loopylatent.settings import Method
from loopylatent.tables.files import xml_text
from loopylatent.tables.observations import Observations


@dataclass(frozen=True, eq=False)
class Lesson:
    """The steps of one learned graph.

    Examples
    --------
    >>> from loopylatent.learning.learner import learn
    >>> from loopylatent.settings import LearnSettings, Thresholds
    >>> D = DistanceMatrix.from_array([[0, 1, 1.2], [1, 0, 1.4], [1.2, 1.4, 0]], names="abc")
    >>> result = learn(D, LearnSettings(Thresholds(r=2, Lambda=0, tau=0.1)))
    >>> lesson = build(result, D)
    >>> lesson.n_steps("fine"), lesson.n_steps("coarse")
    (18, 12)
    >>> print(lesson.frame(lesson.find("visit-1-join-1")).caption)
    a and b become siblings under h1. No quartet test separates them; of such pairs they are \
the closest. Their distance 1.000 is divided: 0.400 from a to h1, 0.600 from b.
    """

    material: Material
    places: tuple[Place, ...]

    @property
    def cast(self) -> Cast:
        return self.material.cast

    def code_at(self, place: Place) -> Code:
        """Return which pseudocode a step belongs to."""
        if place.chapter == LAST_CHAPTER:
            return "refinement"
        return self.material.result.settings.method

    @property
    def finished(self) -> range:
        """The steps, without a last chapter that is not computed."""
        is_open = self.material.refinement is None
        return range(len(self.places) - is_open)

    def frame(self, index: int, detail: Detail = "fine") -> Frame:
        """Return a step by its index in the full lesson; ``detail`` selects the caption."""
        place = self.places[index]
        frame = chapters.FRAMES[place.phase](self.material, place)
        if detail == "fine" or frame.overview is None:
            return frame
        return replace(frame, caption=frame.overview)

    def pair(self, i: int, j: int) -> Frame:
        """Return the step on a single distance, for two chosen columns."""
        return chapters.pair_frame(self.material, self.places[self.find("pair")], (i, j))

    # Walking -------------------------------------------------------------------------------

    @cached_property
    def _coarse(self) -> tuple[int, ...]:
        return tuple(k for k, place in enumerate(self.places) if place.is_coarse)

    def indices(self, detail: Detail) -> tuple[int, ...] | range:
        """Return the steps of a level of detail, as indices in the full lesson."""
        return range(len(self.places)) if detail == "fine" else self._coarse

    def n_steps(self, detail: Detail) -> int:
        return len(self.indices(detail))

    def at(self, index: int, detail: Detail) -> int:
        """Return how many steps of a level precede a step; inside a visit, its last step."""
        return min(bisect_left(self.indices(detail), index), self.n_steps(detail) - 1)

    def next_change(self, index: int) -> int | None:
        """Return the next step, of those in both levels, that adds or removes edges."""
        return next((k for k in self._coarse if k > index and self._changes(self.places[k])), None)

    def _changes(self, place: Place) -> bool:
        if place.phase == "tree" and place.node is not None:
            return bool(self.material.balls.adds(place.node))
        if place.phase in ("replace", "cleanup"):
            step = self.material.trace[place.step]
            return not isinstance(step, VisitStep) or step.changes_graph
        return place.phase in ("move", "moves")

    def guesses(self, index: int) -> Guesses:
        """Return the question before a join, and its answer."""
        return guesses(self.material, self.places[index])

    # Finding -------------------------------------------------------------------------------

    @cached_property
    def _anchors(self) -> dict[str, int]:
        return {place.anchor: k for k, place in enumerate(self.places)}

    def find(self, anchor: str) -> int:
        """Return the step with an anchor."""
        if anchor not in self._anchors:
            raise DataError(f"This lesson has no step {anchor[:40]!r}. Its first step is 'data'.")
        return self._anchors[anchor]

    def has(self, anchor: str) -> bool:
        return anchor in self._anchors

    def nearest(self, place: Place) -> int:
        """Return the counterpart of a step of another lesson on the same columns."""
        return nearest(self.places, place)

    def chapter_start(self, chapter: int) -> int:
        return next(k for k, place in enumerate(self.places) if place.chapter == chapter)

    def first(self, phase: Phase, node: int) -> int | None:
        """Return the first step of a phase (such as its ball or visit) of a column."""
        places = enumerate(self.places)
        return next((k for k, at in places if at.phase == phase and at.node == node), None)

    def why_node(self, node: int) -> int | None:
        """Return the step that created a hidden node of the learned graph."""
        for k, place in enumerate(self.places):
            if place.phase == "join":
                join = self.material.visit(place.step).joins[place.part - 1]
                if join.is_new and self.cast.number[join.parent] == node:
                    return k
        return None

    def why_edge(self, u: int, v: int) -> int | None:
        """Return the step that added an edge of the learned graph."""
        edge = (u, v) if u < v else (v, u)
        for k, place in reversed(list(enumerate(self.places))):
            if place.phase in ("cleanup", "replace"):
                added = getattr(self.material.trace[place.step], "added", ())
                if edge in {self.cast.key(e.u, e.v) for e in added}:
                    return k if place.phase == "cleanup" else self._join_of(edge, place, k)
        owners = self.material.balls.owners(edge)
        return self.find(f"tree-{owners[0] + 1}") if owners else None

    def _join_of(self, edge: tuple[int, int], place: Place, index: int) -> int:
        """Return the join that created an edge; if there is none, the given step."""
        for part, join in enumerate(self.material.visit(place.step).joins, start=1):
            if edge in {self.cast.key(child, join.parent) for child in join.children}:
                return self.find(f"visit-{place.visit}-join-{part}")
        return index


def build(
    result: LearnResult,
    D: DistanceMatrix,
    obs: Observations | None = None,
    truth: LatentGraph | None = None,
    *,
    places: NDArray[np.float64] | None = None,
    hidden_names: Mapping[int, str] | None = None,
    refinement: Refinement | None = None,
) -> Lesson:
    """Turn a traced result into a lesson, with its nodes at ``places`` in every step.

    The last chapter has a single step unless the refinement of the learned graph is given.
    """
    if D.digest != result.data_digest:
        raise DataError("The graph was not learned from these distances.")
    where = positions(result.graph) if places is None else np.asarray(places, dtype=np.float64)
    cast = cast_of(result, where, truth, hidden_names, refinement)
    steps = places_of(result, cast.truth is not None, refinement)
    return Lesson(Material(result, D, obs, cast, refinement), steps)


LOCAL = "#CC79A7"
"""Colour of the local tree of a visit."""
TREE = "#3B9BD9"
"""Colour of known edges in the local MST of a ball."""
FADED = 0.3
CENTRE = 1.5
"""Relative size of the central node."""
MARKED_WIDTH = 3.2
"""Smallest width of a marked edge."""
_LAYERS: Mapping[Mark, int] = {
    "kept": 0, "truth": 0, "removed": 1, "tree": 2, "added": 3, "wrong": 3, "sketch": 4,
    "pair": 4, "sketch-new": 5, "sketch-gone": 6,
}  # fmt: skip


GONE: frozenset[Phase] = frozenset({"replace", "cleanup", "move", "moves", "refined"})
"""Phases whose sketched nodes were removed."""


@dataclass(frozen=True, slots=True)
class MarkLook:
    """How a marked edge is drawn."""

    colour: str
    dashed: bool = False
    wider: float = 0.0


MARKS: Mapping[Mark, MarkLook] = {
    "added": MarkLook(ADDED),
    "wrong": MarkLook(FALSE_EDGE),
    "removed": MarkLook(REMOVED, dashed=True),
    "sketch": MarkLook(LOCAL),
    "sketch-new": MarkLook(LOCAL, wider=1.5),
    "sketch-gone": MarkLook(REMOVED, dashed=True),
    "tree": MarkLook(TREE),
    "pair": MarkLook(LOCAL, dashed=True),
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """The drawing of a step, as JSON values."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    looks: dict[str, Any]
    shade: dict[str, Any] | None
    description: str


def draw(lesson: Lesson, frame: Frame, scale: float = 1.0) -> Drawing:
    """Draw a step; ``scale`` enlarges symbols and labels for a projector."""
    cast = lesson.cast
    shade = None
    if frame.shade is not None:
        lines = [list(line) for line in frame.shade.lines]
        shade = {"nodes": list(frame.shade.nodes), "lines": lines}
    return Drawing(
        [_node(cast, frame, node, scale) for node in frame.nodes],
        [_edge(cast, frame, edge, scale) for edge in in_layers(frame.edges)],
        {theme: _look(lesson, frame, theme, scale) for theme in get_args(ThemeName)},
        shade,
        f"Step of the lesson: {frame.caption}",
    )


def in_layers(edges: tuple[DrawnEdge, ...]) -> list[DrawnEdge]:
    """Order edges so that marked ones are drawn on top."""
    return sorted(edges, key=lambda edge: _LAYERS[edge.mark])


def _node(cast: Cast, frame: Frame, node: int, scale: float) -> dict[str, Any]:
    x, y = cast.places[node]
    size = CENTRE if node == frame.centre else 1.0
    label_rise = network.LABEL_ABOVE - network.LABEL_BELOW
    higher = label_rise * scale - 2 * NODE_SIZE * scale * (size - 1)
    return {
        "id": node,
        "label": cast.short_labels[node],
        "title": shown_label(cast.labels[node], 120),
        "shape": "diamond" if cast.is_hidden(node) else "dot",
        "group": _node_group(cast, frame, node),
        "x": round(float(x)),
        "y": round(float(y)),
        "font": {"vadjust": network.LABEL_BELOW + (round(higher) if node in cast.above else 0)},
    }


def _node_group(cast: Cast, frame: Frame, node: int) -> str:
    kind = "hidden" if cast.is_hidden(node) else "observed"
    if node in frame.sketched:
        return f"{kind}-sketched"
    if node == frame.centre:
        return f"{kind}-centre"
    return kind if not frame.focus or node in frame.focus else f"{kind}-faded"


def _edge(cast: Cast, frame: Frame, edge: DrawnEdge, scale: float) -> dict[str, Any]:
    unmarked, marked = network.stroke(edge.length, cast.n_nodes), MARKS.get(edge.mark)
    color: dict[str, Any]
    if marked is None:
        inside = not frame.focus or {edge.u, edge.v} <= frame.focus
        width = unmarked.width
        color = {"opacity": unmarked.opacity if inside else round(FADED * unmarked.opacity, 2)}
    else:
        width = max(unmarked.width, MARKED_WIDTH) + marked.wider
        color = network.vis_edge(marked.colour)
    return {
        "from": edge.u,
        "to": edge.v,
        "id": edge_id(edge),
        "arrows": "",
        "width": round(width * scale, 2),
        "color": color,
        "dashes": [6, 5] if marked is not None and marked.dashed else False,
        "title": edge_title(cast, edge),
    }


def edge_title(cast: Cast, edge: DrawnEdge) -> str:
    """Describe an edge: its ends, its length and, if known, its origin."""
    names = " – ".join(shown_label(cast.labels[end], 60) for end in (edge.u, edge.v))
    if edge.mark == "pair":
        return f"{names}\n{edge.note}"
    lengths = f"distance {edge.length:.3g}, strength {math.exp(-edge.length):.2f}"
    return "\n".join(line for line in (names, lengths, edge.note) if line)


def edge_id(edge: DrawnEdge) -> str:
    """Return an id per layer, because vis draws in the order in which ids were added."""
    return f"{_LAYERS[edge.mark]}:{edge.u}-{edge.v}"


def _look(lesson: Lesson, frame: Frame, theme: ThemeName, scale: float) -> dict[str, Any]:
    colours = network.THEMES[theme]
    options = network.network_options(lesson.material.result.graph, theme=theme)
    options["groups"] = _groups(theme, scale)
    options["nodes"]["font"]["size"] = round(FONT_SIZE * scale)
    return {
        "options": options,
        "background": colours.background,
        "legend": legend_of(lesson.cast, frame, theme),
        "shade": colours.observed,
    }


def _groups(theme: ThemeName, scale: float) -> dict[str, Any]:
    colours = network.THEMES[theme]
    groups: dict[str, Any] = {}
    for kind in ("observed", "hidden"):
        hidden = kind == "hidden"
        symbol = network.symbol(hidden, None, False, colours)
        ink = colours.muted if hidden else colours.text
        font = {"color": ink, "size": round((FONT_SIZE - 2 * hidden) * scale)}
        size = NODE_SIZE * scale
        fill, border = symbol.fill, symbol.border
        faint = font | {"color": network.with_opacity(ink, FADED + 0.15)}
        groups[kind] = _group(fill, border, font, size)
        groups[f"{kind}-faded"] = _group(fill, border, faint, size) | {"opacity": FADED}
        groups[f"{kind}-centre"] = _group(fill, colours.emphasis, font, size * CENTRE, 3)
        groups[f"{kind}-sketched"] = _group(colours.background, LOCAL, font, size, 2.5)
    return groups


def _group(
    fill: str, border: str, font: dict[str, Any], size: float, width: float = 1.5
) -> dict[str, Any]:
    color = network.vis_node(fill, border, border)
    return {"color": color, "font": font, "size": size, "opacity": 1, "borderWidth": width}


def legend_of(cast: Cast, frame: Frame, theme: ThemeName) -> list[dict[str, str]]:
    """Return the legend of a step."""
    colours = network.THEMES[theme]
    items: list[tuple[str, ...]] = []
    for hidden in (False, True)[: 1 + any(map(cast.is_hidden, frame.nodes))]:
        drawn = network.symbol(hidden, None, False, colours)
        items.append((drawn.shape, drawn.fill, drawn.border, ("observed", "hidden")[hidden]))
    if any(map(cast.is_hidden, frame.sketched)):
        when = "no longer" if frame.place.phase in GONE else "not yet"
        items.append(("diamond", colours.background, LOCAL, f"{when} in the graph"))
    there = {edge.mark for edge in frame.edges}
    for mark, text in frame.legend.items():
        if mark in there or (mark == "sketch" and "sketch-new" in there):
            look = MARKS.get(mark, MarkLook(colours.edge))
            shape = "dashes" if look.dashed else "line"
            items.append((shape, look.colour, look.colour, text))
    names = ("shape", "fill", "border", "text")
    return [dict(zip(names, item, strict=True)) for item in items]


MAX_COLUMNS = 200
"""Largest number of columns for which the page includes the distance matrix."""
MAX_NODES = 9
"""Largest neighbourhood for which the page includes the quartets."""
MAX_POINTS = 400
QUESTIONS: Mapping[Method, str] = {
    "quartet": "Which two nodes of A become siblings next?",
    "relaxed": "Which nodes are the next family, and which is its parent?",
    "nj": "Which two nodes of A are joined next?",
}


def to_page(lesson: Lesson, provenance: Provenance, *, title: str = "Lesson") -> str:
    """Return the lesson as one page that loads nothing from outside."""
    data = lesson_data(lesson)
    return rendered("lesson/page", ["lesson/page.js"], title, provenance, lesson=data)


def lesson_data(lesson: Lesson) -> dict[str, Any]:
    """Return the data of the page, as JSON values."""
    writer = _Writer(lesson)
    steps = [writer.step(k) for k in lesson.finished]
    first = draw(lesson, lesson.frame(0))
    cast, method = lesson.cast, lesson.material.result.settings.method
    data = {
        "chapters": list(CHAPTERS.values())[: steps[-1]["chapter"]],
        "codes": {of: _written_code(of) for of in (method, "refinement")},
        "glossary": dict(GLOSSARY),
        "question": QUESTIONS[method],
        "nodes": [_written_node(cast, node) for node in range(cast.n_nodes)],
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
        "refinement": _refinement(lesson),
    }
    return dict(json.loads(json.dumps(data, allow_nan=False)))


def _written_code(of: Code) -> list[list[Any]]:
    return [[line.indent, line.text, line.meaning] for line in pseudocode(of)]


def _written_node(cast: Cast, node: int) -> list[Any]:
    place = [round(one) for one in cast.places[node].tolist()]
    below = network.LABEL_ABOVE if node in cast.above else network.LABEL_BELOW
    return [xml_text(cast.labels[node]), int(cast.is_hidden(node)), *place, below]


class _Writer:
    """Writes steps in turn, each as its difference from the previous one."""

    def __init__(self, lesson: Lesson) -> None:
        self.lesson = lesson
        self.edges: list[list[Any]] = []
        """[u, v, width, opacity, title] of every edge that a step draws."""
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
            "code": self.lesson.code_at(place),
            "line": frame.line,
            "caption": caption_parts(frame.caption),
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
            look = network.stroke(edge.length, self.lesson.cast.n_nodes)
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
    visit = Visit.of(lesson.material, place)
    names = [xml_text(shown_label(lesson.cast.labels[node])) for node in visit.members]
    found: dict[str, Any] = {"names": names, "distances": _finite(visit.step.distances)}
    by_quartets = lesson.material.result.settings.method == "quartet"
    table = visit.quartets if by_quartets else None
    if table is not None and len(names) <= MAX_NODES:
        columns = (table.nodes, table.products, table.lead, table.verdicts)
        found["quartets"] = [
            [*nodes, *(round(x, 5) for x in products), round(lead, 5), VERDICTS[verdict]]
            for nodes, products, lead, verdict in zip(*(c.tolist() for c in columns), strict=True)
        ]
    return found


def _pair(lesson: Lesson) -> dict[str, Any]:
    m = lesson.material
    view = chapters.pair_view(m.D, m.obs, *chapters.closest_pair(m.D))
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
        found["points"] = view.points[:: max(1, len(view.points) // MAX_POINTS)].tolist()
    return found


def _matrix(lesson: Lesson) -> dict[str, Any] | None:
    m = lesson.material
    if m.D.n_columns > MAX_COLUMNS:
        return None
    order = np.asarray(chapters.heatmap_order(m.result.graph))
    return {
        "names": [xml_text(shown_label(m.D.names[k], 18)) for k in order],
        "values": _finite(m.D.values[order[:, None], order]),
        "shades": chapters.SHADES,
    }


def _refinement(lesson: Lesson) -> dict[str, Any] | None:
    """Return the tables of the last chapter."""
    m = lesson.material
    if m.refinement is None:
        return None
    history = m.refinement.score_history
    moves = [
        [k, xml_text(move_words(m, k)), round(history[k] - history[k - 1], 1), round(history[k], 1)]
        for k in range(1, len(history))
    ]
    pairs = [[xml_text(pair.words), round(pair.gain, 1)] for pair in best_pairs(m)]
    return {"moves": moves, "pairs": pairs}


def _finite(values: Any) -> list[list[float | None]]:
    return [[round(x, 3) if np.isfinite(x) else None for x in row] for row in values.tolist()]
