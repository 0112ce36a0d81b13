"""What every step of a lesson is made from: the result, its trace, balls and their local trees.

The trees come from the kernel with which the learner builds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.compute._kernels.graphs import spanning_tree
from loopylatent.compute.values import IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.layout import shown_label
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import CleanUpStep, Family, Step, VisitStep
from loopylatent.lesson.cast import Caption, Cast, EdgeKey, Name, Replays, checked_trace
from loopylatent.settings import Thresholds
from loopylatent.tables.observations import Observations

LONGEST_NAME = 40
MOST_BALLS = 6
"""Balls that an edge names."""


@dataclass(frozen=True, eq=False)
class Material:
    """A learned result with its trace, the data behind it and, where known, the truth."""

    result: LearnResult
    D: DistanceMatrix
    obs: Observations | None
    cast: Cast

    @property
    def thresholds(self) -> Thresholds:
        return self.result.settings.thresholds

    @cached_property
    def trace(self) -> tuple[Step, ...]:
        return checked_trace(self.result)

    @cached_property
    def replays(self) -> Replays:
        return Replays(self.trace, self.cast)

    @cached_property
    def balls(self) -> Balls:
        return Balls(self.D, self.thresholds.r)

    @cached_property
    def initial(self) -> dict[EdgeKey, float]:
        """The edges of the initial graph."""
        return self.replays.after(0)

    @cached_property
    def learned(self) -> dict[EdgeKey, float]:
        """The edges of the finished graph."""
        return self.replays.after(len(self.trace) - 1)

    @cached_property
    def structure_error(self) -> StructureError | None:
        if self.cast.truth is None:
            return None
        return structure_error(self.result.graph, self.cast.truth)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(self.cast.n_observed))

    def visit(self, step: int) -> VisitStep:
        found = self.trace[step]
        assert isinstance(found, VisitStep)
        return found

    def name(self, node: int) -> Name:
        """Return the name of a node of the lesson, short enough for a sentence."""
        return Name(shown_label(self.cast.labels[node], LONGEST_NAME))

    @cached_property
    def ball_notes(self) -> dict[EdgeKey, str]:
        """What is said of each edge of the initial graph: which balls put it there."""
        notes = {}
        for edge in self.initial:
            balls = self.balls.owners(edge)
            named = ", ".join(self.name(v).text for v in balls[:MOST_BALLS])
            more = f" and {len(balls) - MOST_BALLS} more" if len(balls) > MOST_BALLS else ""
            word = "tree" if len(balls) == 1 else f"{len(balls)} trees"
            notes[edge] = f"in the {word} of {named}{more}"
        return notes

    def names(self, nodes: tuple[int, ...] | list[int]) -> tuple[Name, ...]:
        return tuple(self.name(node) for node in nodes)

    def shown(self, edges: dict[EdgeKey, float]) -> tuple[int, ...]:
        """Return all columns, and the hidden nodes that have an edge."""
        hidden = {node for edge in edges for node in edge if self.cast.is_hidden(node)}
        return (*self.columns, *sorted(hidden))


class Balls:
    """The balls of all columns at one radius."""

    def __init__(self, D: DistanceMatrix, r: float) -> None:
        self.D = D
        self.r = r
        self._trees: dict[bytes, tuple[EdgeKey, ...]] = {}

    def members(self, v: int) -> IntArray:
        """Return the columns of the ball of ``v``, ascending."""
        return np.flatnonzero(self.D.values[v] <= self.r)

    def tree(self, v: int) -> tuple[EdgeKey, ...]:
        """Return the edges of the local tree of ``v``, sorted; equal balls have one tree."""
        ball = self.members(v)
        key = ball.tobytes()
        if key not in self._trees:
            parent = spanning_tree(self.D.values, ball)
            child = np.flatnonzero(parent >= 0)
            ends = np.sort(np.column_stack([ball[child], ball[parent[child]]]), axis=1)
            self._trees[key] = tuple(sorted((u, w) for u, w in ends.tolist()))
        return self._trees[key]

    @cached_property
    def _owners(self) -> dict[EdgeKey, tuple[int, ...]]:
        found: dict[EdgeKey, list[int]] = {}
        for v in range(self.D.n_columns):
            for edge in self.tree(v):
                found.setdefault(edge, []).append(v)
        return {edge: tuple(balls) for edge, balls in sorted(found.items())}

    def owners(self, edge: EdgeKey) -> tuple[int, ...]:
        """Return the columns in whose local trees an edge is, ascending; none if it is in none."""
        return self._owners.get(edge, ())

    def union(self, upto: int) -> dict[EdgeKey, float]:
        """Return the edges of the local trees of the columns 0 to ``upto`` with their lengths."""
        return {
            edge: float(self.D.values[edge])
            for edge, balls in self._owners.items()
            if balls[0] <= upto
        }

    def adds(self, v: int) -> tuple[EdgeKey, ...]:
        """Return the edges that no local tree before that of ``v`` had."""
        return tuple(edge for edge in self.tree(v) if self._owners[edge][0] == v)


Detail = Literal["coarse", "fine"]
Phase = Literal[
    "data", "truth", "pair", "matrix", "ball", "tree", "union", "order", "look", "quartets",
    "round", "join", "rest", "contract", "replace", "cleanup", "gained", "compared",
]  # fmt: skip
_PHASES: tuple[Phase, ...] = get_args(Phase)
CHAPTERS: Mapping[int, str] = {
    1: "Data", 2: "Distance", 3: "Balls and local trees", 4: "Grouping", 5: "Result",
}  # fmt: skip
_FIRST: tuple[Phase, ...] = ("data", "pair", "ball", "order", "gained")
"""The phases with which the chapters begin."""
_ONLY_FINE = frozenset({"ball", "look", "quartets", "round", "join", "rest", "contract"})


@dataclass(frozen=True, slots=True)
class Place:
    """One step of a lesson."""

    phase: Phase
    node: int | None = None
    """The column whose ball it is, or that is visited."""
    visit: int = 0
    """Counted from 1 over all visits; 0 outside them."""
    part: int = 0
    """Which round, join or contraction of the visit, counted from 1."""
    step: int = -1
    """The step of the trace that this is part of; -1 before the initial graph is complete."""

    @property
    def chapter(self) -> int:
        at = _PHASES.index(self.phase)
        return sum(_PHASES.index(first) <= at for first in _FIRST)

    @property
    def is_coarse(self) -> bool:
        """Whether the step is part of the coarse lesson."""
        return self.phase not in _ONLY_FINE

    @property
    def anchor(self) -> str:
        """A short name for links."""
        if self.visit:
            part = f"-{self.part}" if self.part else ""
            return f"visit-{self.visit}-{self.phase}{part}"
        return self.phase if self.node is None else f"{self.phase}-{self.node + 1}"


def places_of(result: LearnResult, has_truth: bool) -> tuple[Place, ...]:
    """List every step, at full detail."""
    trace = checked_trace(result)
    truth, compared = [Place("truth")], [Place("compared", step=len(trace) - 1)]
    found = [Place("data"), *truth[:has_truth], Place("pair"), Place("matrix")]
    for v in range(result.graph.n_observed):
        found += [Place("ball", v), Place("tree", v)]
    found += [Place("union", step=0), Place("order", step=0)]
    visit = 0
    for at, step in enumerate(trace):
        if isinstance(step, VisitStep):
            visit += 1
            found += _of_visit(step, visit, at, result.settings.method == "quartet")
        elif isinstance(step, CleanUpStep):
            found.append(Place("cleanup", step=at))
    return (*found, Place("gained", step=len(trace) - 1), *compared[:has_truth])


def _of_visit(step: VisitStep, visit: int, at: int, by_quartets: bool) -> list[Place]:
    def place(phase: Phase, part: int = 0) -> Place:
        return Place(phase, step.node, visit, part, at)

    found = [place("look")]
    if by_quartets and len(step.neighbourhood) >= 4:
        found.append(place("quartets"))
    rounds = 0
    for part, join in enumerate(step.joins, start=1):
        if isinstance(join, Family) and join.round > rounds:
            rounds = join.round
            found.append(place("round", rounds))
        found.append(place("join", part))
    found.append(place("rest"))
    found += [place("contract", part) for part in range(1, len(step.contractions) + 1)]
    found.append(place("replace"))
    return found


def nearest(places: tuple[Place, ...], wanted: Place) -> int:
    """Return where a step of another lesson on the same columns has its counterpart.

    The same phase of the same column's ball or visit where there is one; else the same visit or
    ball at the phase before; else the visit of the same number; else the same chapter.
    """

    def unlikeness(k: int) -> tuple[float, ...]:
        place = places[k]
        return (
            abs(place.chapter - wanted.chapter),
            bool(place.visit) != bool(wanted.visit),
            place.node != wanted.node,
            abs(place.visit - wanted.visit),
            abs(_PHASES.index(place.phase) - _PHASES.index(wanted.phase)),
            abs(place.part - wanted.part),
            k,
        )

    return min(range(len(places)), key=unlikeness)


Mark = Literal[
    "kept", "tree", "added", "wrong", "removed", "sketch", "sketch-new", "sketch-gone", "truth"
]
"""What an edge is at a step.

The graph at the step is made of the edges marked kept, tree, added and wrong (which the truth does
not have). ``removed`` are edges that this step took away, drawn once more; ``sketch`` is a local
tree that is not part of the graph yet, and ``truth`` what the learner never sees.
"""
IN_GRAPH: frozenset[Mark] = frozenset({"kept", "tree", "added", "wrong"})


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge as it is drawn at a step."""

    u: int
    v: int
    length: float
    mark: Mark
    note: str = ""
    """What is said of it beside its length."""


@dataclass(frozen=True, slots=True)
class Shade:
    """Nodes on a common ground, and the lines along which it runs."""

    nodes: tuple[int, ...]
    lines: tuple[EdgeKey, ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """One step."""

    place: Place
    caption: Caption
    line: int
    """The line of the pseudocode, counted from 1."""
    nodes: tuple[int, ...]
    """The nodes that are there, ascending."""
    edges: tuple[DrawnEdge, ...]
    focus: frozenset[int] = frozenset()
    """The nodes that matter; the others step back. Empty: all of them."""
    centre: int | None = None
    """The column whose ball or neighbourhood it is."""
    sketched: frozenset[int] = frozenset()
    """Hidden nodes that are not part of the graph yet, or no more."""
    shade: Shade | None = None
    legend: Mapping[Mark, str] = field(default_factory=dict)
    """What the edges that are marked are called."""
    overview: Caption | None = None
    """What the coarse lesson says in the place of the caption."""

    @property
    def graph_edges(self) -> dict[EdgeKey, float]:
        """The edges of the graph at this step, with their lengths."""
        return {(e.u, e.v): e.length for e in self.edges if e.mark in IN_GRAPH}


def drawn(
    edges: Mapping[EdgeKey, float],
    mark: Mark = "kept",
    marks: Mapping[EdgeKey, Mark] = MappingProxyType({}),
    notes: Mapping[EdgeKey, str] = MappingProxyType({}),
) -> tuple[DrawnEdge, ...]:
    """Mark edges, all of them alike but those that ``marks`` names."""
    return tuple(
        DrawnEdge(*edge, length, marks.get(edge, mark), notes.get(edge, ""))
        for edge, length in edges.items()
    )


def all_marked(edges: Iterable[EdgeKey], mark: Mark) -> dict[EdgeKey, Mark]:
    """Give every edge the same mark."""
    return dict.fromkeys(edges, mark)


def ends_of(edges: Iterable[EdgeKey]) -> set[int]:
    """Return the nodes at which edges end."""
    return {node for edge in edges for node in edge}
