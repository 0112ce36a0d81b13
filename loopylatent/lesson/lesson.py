"""A lesson: a sequence of steps that can be entered anywhere."""

from __future__ import annotations

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
from loopylatent.figures.layout import FONT_SIZE, NODE_SIZE, positions, shown_label
from loopylatent.figures.network import (
    LABEL_ABOVE,
    LABEL_BELOW,
    THEMES,
    ThemeName,
    network_options,
    stroke,
    symbol,
)
from loopylatent.figures.overlays import GONE, NEW
from loopylatent.figures.recovery import FALSE_EDGE
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import VisitStep
from loopylatent.lesson.cast import Cast, cast_of
from loopylatent.lesson.chapters import FRAMES, pair_frame
from loopylatent.lesson.grouping_chapter import Guesses, guesses
from loopylatent.lesson.material import (
    Detail,
    DrawnEdge,
    Frame,
    Mark,
    Material,
    Phase,
    Place,
    nearest,
    places_of,
)
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
    (17, 11)
    >>> print(lesson.frame(lesson.find("visit-1-join-1")).caption)
    a and b become siblings under h1. No declared quartet separates them; of such pairs they are \
the closest. Their distance 1.000 is shared out: 0.400 from a to h1, 0.600 from b.
    """

    material: Material
    places: tuple[Place, ...]

    @property
    def cast(self) -> Cast:
        return self.material.cast

    def frame(self, index: int, detail: Detail = "fine") -> Frame:
        """Return a step by its place in the full lesson; ``detail`` decides how much is said."""
        place = self.places[index]
        frame = FRAMES[place.phase](self.material, place)
        if detail == "fine" or frame.overview is None:
            return frame
        return replace(frame, caption=frame.overview)

    def pair(self, i: int, j: int) -> Frame:
        """Return the step on one distance, for two columns of choice."""
        return pair_frame(self.material, self.places[self.find("pair")], (i, j))

    # Walking -------------------------------------------------------------------------------

    @cached_property
    def _coarse(self) -> tuple[int, ...]:
        return tuple(k for k, place in enumerate(self.places) if place.is_coarse)

    def indices(self, detail: Detail) -> tuple[int, ...] | range:
        """Return the steps of a level of detail, as places in the full lesson."""
        return range(len(self.places)) if detail == "fine" else self._coarse

    def n_steps(self, detail: Detail) -> int:
        return len(self.indices(detail))

    def at(self, index: int, detail: Detail) -> int:
        """Return how many steps of a level come before a step; inside a visit, before its end."""
        return min(bisect_left(self.indices(detail), index), self.n_steps(detail) - 1)

    def next_change(self, index: int) -> int | None:
        """Return the next step, of those in both levels, at which edges come or go."""
        return next((k for k in self._coarse if k > index and self._changes(self.places[k])), None)

    def _changes(self, place: Place) -> bool:
        if place.phase == "tree" and place.node is not None:
            return bool(self.material.balls.adds(place.node))
        if place.phase in ("replace", "cleanup"):
            step = self.material.trace[place.step]
            return not isinstance(step, VisitStep) or step.changes_graph
        return False

    def guesses(self, index: int) -> Guesses:
        """Return what a class is asked before a join, and what is right."""
        return guesses(self.material, self.places[index])

    # Finding -------------------------------------------------------------------------------

    @cached_property
    def _anchors(self) -> dict[str, int]:
        return {place.anchor: k for k, place in enumerate(self.places)}

    def find(self, anchor: str) -> int:
        """Return the step that an anchor names."""
        if anchor not in self._anchors:
            raise DataError(f"this lesson has no step {anchor[:40]!r}; it begins with 'data'.")
        return self._anchors[anchor]

    def has(self, anchor: str) -> bool:
        return anchor in self._anchors

    def nearest(self, place: Place) -> int:
        """Return the counterpart of a step of another lesson on the same columns."""
        return nearest(self.places, place)

    def chapter_start(self, chapter: int) -> int:
        return next(k for k, place in enumerate(self.places) if place.chapter == chapter)

    def first(self, phase: Phase, node: int) -> int | None:
        """Return the first step of a phase, such as the ball or the visit, of a column."""
        places = enumerate(self.places)
        return next((k for k, at in places if at.phase == phase and at.node == node), None)

    def why_node(self, node: int) -> int | None:
        """Return the step that made a hidden node of the finished graph."""
        for k, place in enumerate(self.places):
            if place.phase == "join":
                join = self.material.visit(place.step).joins[place.part - 1]
                if join.is_new and self.cast.number[join.parent] == node:
                    return k
        return None

    def why_edge(self, u: int, v: int) -> int | None:
        """Return the step that put an edge of the finished graph where it is."""
        edge = (u, v) if u < v else (v, u)
        for k, place in reversed(list(enumerate(self.places))):
            if place.phase in ("cleanup", "replace"):
                added = getattr(self.material.trace[place.step], "added", ())
                if edge in {self.cast.key(e.u, e.v) for e in added}:
                    return k if place.phase == "cleanup" else self._join_of(edge, place, k)
        owners = self.material.balls.owners(edge)
        return self.find(f"tree-{owners[0] + 1}") if owners else None

    def _join_of(self, edge: tuple[int, int], place: Place, index: int) -> int:
        """Return the join that drew an edge; where it came about otherwise, the replacement."""
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
) -> Lesson:
    """Make a lesson of a traced result and the distances from which it was learned.

    ``obs`` are the rows behind them and ``truth`` the graph that made them, on the same columns.
    The nodes of the finished graph stand at ``places``, (nodes, 2), from the first step on.
    """
    if D.digest != result.data_digest:
        raise DataError("these are not the distances from which the graph was learned.")
    where = positions(result.graph) if places is None else np.asarray(places, dtype=np.float64)
    cast = cast_of(result, where, truth, hidden_names)
    return Lesson(Material(result, D, obs, cast), places_of(result, cast.truth is not None))


LOCAL = "#CC79A7"
"""The local tree that is being built."""
TREE = "#3B9BD9"
"""The local tree of a ball, where the union has it already."""
FADED = 0.3
CENTRE = 1.5
"""How many times as large the node in the middle is."""
MARKED_WIDTH = 3.2
"""The least width of an edge that a step is about."""
_LAYERS: Mapping[Mark, int] = {
    "kept": 0, "truth": 0, "removed": 1, "tree": 2, "added": 3, "wrong": 3, "sketch": 4,
    "sketch-new": 5, "sketch-gone": 6,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class MarkLook:
    """What sets an edge off that something happens to."""

    colour: str
    dashed: bool = False
    wider: float = 0.0


MARKS: Mapping[Mark, MarkLook] = {
    "added": MarkLook(NEW),
    "wrong": MarkLook(FALSE_EDGE),
    "removed": MarkLook(GONE, dashed=True),
    "sketch": MarkLook(LOCAL),
    "sketch-new": MarkLook(LOCAL, wider=1.5),
    "sketch-gone": MarkLook(GONE, dashed=True),
    "tree": MarkLook(TREE),
}


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a page draws; everything is plain JSON."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    looks: dict[str, Any]
    shade: dict[str, Any] | None
    description: str


def draw(lesson: Lesson, frame: Frame, scale: float = 1.0) -> Drawing:
    """Draw a step; ``scale`` enlarges symbols and names, for a projector."""
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
    """Order edges so that what happens comes after what stays."""
    return sorted(edges, key=lambda edge: _LAYERS[edge.mark])


def _node(cast: Cast, frame: Frame, node: int, scale: float) -> dict[str, Any]:
    x, y = cast.places[node]
    size = CENTRE if node == frame.centre else 1.0
    higher = (LABEL_ABOVE - LABEL_BELOW) * scale - 2 * NODE_SIZE * scale * (size - 1)
    return {
        "id": node,
        "label": cast.short_labels[node],
        "title": shown_label(cast.labels[node], 120),
        "shape": "diamond" if cast.is_hidden(node) else "dot",
        "group": _node_group(cast, frame, node),
        "x": round(float(x)),
        "y": round(float(y)),
        "font": {"vadjust": LABEL_BELOW + (round(higher) if node in cast.above else 0)},
    }


def _node_group(cast: Cast, frame: Frame, node: int) -> str:
    kind = "hidden" if cast.is_hidden(node) else "observed"
    if node in frame.sketched:
        return f"{kind}-sketched"
    if node == frame.centre:
        return f"{kind}-centre"
    return kind if not frame.focus or node in frame.focus else f"{kind}-faded"


def _edge(cast: Cast, frame: Frame, edge: DrawnEdge, scale: float) -> dict[str, Any]:
    """An edge whose colour, width and dashes say what happens to it."""
    plain, marked = stroke(edge.length, cast.n_nodes), MARKS.get(edge.mark)
    color: dict[str, Any]
    if marked is None:
        inside = not frame.focus or {edge.u, edge.v} <= frame.focus
        width = plain.width
        color = {"opacity": plain.opacity if inside else round(FADED * plain.opacity, 2)}
    else:
        width = max(plain.width, MARKED_WIDTH) + marked.wider
        color = dict.fromkeys(("color", "highlight", "hover"), marked.colour)
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
    """Say of an edge what it joins, how long it is and, where known, why it is there."""
    names = " – ".join(shown_label(cast.labels[end], 60) for end in (edge.u, edge.v))
    lengths = f"distance {edge.length:.3g}, strength {math.exp(-edge.length):.2f}"
    return "\n".join(line for line in (names, lengths, edge.note) if line)


def edge_id(edge: DrawnEdge) -> str:
    """Return an id; vis draws in the order in which ids came, so each layer has its own."""
    return f"{_LAYERS[edge.mark]}:{edge.u}-{edge.v}"


def _look(lesson: Lesson, frame: Frame, theme: ThemeName, scale: float) -> dict[str, Any]:
    colours = THEMES[theme]
    options = network_options(lesson.material.result.graph, theme=theme)
    options["groups"] = _groups(theme, scale)
    options["nodes"]["font"]["size"] = round(FONT_SIZE * scale)
    return {
        "options": options,
        "background": colours.background,
        "legend": legend_of(lesson.cast, frame, theme),
        "shade": colours.observed,
    }


def _groups(theme: ThemeName, scale: float) -> dict[str, Any]:
    """Looks of nodes: as ever, stepped back, in the middle, not yet part of the graph."""
    colours = THEMES[theme]
    groups: dict[str, Any] = {}
    for kind in ("observed", "hidden"):
        hidden = kind == "hidden"
        plain = symbol(hidden, None, False, colours)
        ink = colours.muted if hidden else colours.text
        font = {"color": ink, "size": round((FONT_SIZE - 2 * hidden) * scale)}
        size = NODE_SIZE * scale
        fill, border, faint = plain.fill, plain.border, font | {"color": _faint(ink)}
        groups[kind] = _group(fill, border, font, size)
        groups[f"{kind}-faded"] = _group(fill, border, faint, size) | {"opacity": FADED}
        groups[f"{kind}-centre"] = _group(fill, colours.emphasis, font, size * CENTRE, 3)
        groups[f"{kind}-sketched"] = _group(colours.background, LOCAL, font, size, 2.5)
    return groups


def _group(
    fill: str, border: str, font: dict[str, Any], size: float, width: float = 1.5
) -> dict[str, Any]:
    same = {"background": fill, "border": border}
    color = same | {"highlight": same, "hover": same}
    return {"color": color, "font": font, "size": size, "opacity": 1, "borderWidth": width}


def _faint(colour: str) -> str:
    r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({r},{g},{b},{FADED + 0.15:.2f})"


def legend_of(cast: Cast, frame: Frame, theme: ThemeName) -> list[dict[str, str]]:
    """Say what the shapes and colours of a step mean."""
    colours = THEMES[theme]
    items: list[tuple[str, ...]] = []
    for hidden in (False, True)[: 1 + any(map(cast.is_hidden, frame.nodes))]:
        drawn = symbol(hidden, None, False, colours)
        items.append((drawn.shape, drawn.fill, drawn.border, ("observed", "hidden")[hidden]))
    if any(map(cast.is_hidden, frame.sketched)):
        items.append(("diamond", colours.background, LOCAL, "not yet in the graph"))
    there = {edge.mark for edge in frame.edges}
    for mark, text in frame.legend.items():
        if mark in there or (mark == "sketch" and "sketch-new" in there):
            look = MARKS.get(mark, MarkLook(colours.edge))
            shape = "dashes" if look.dashed else "line"
            items.append((shape, look.colour, look.colour, text))
    names = ("shape", "fill", "border", "text")
    return [dict(zip(names, item, strict=True)) for item in items]
