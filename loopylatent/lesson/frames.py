"""The steps of a lesson in order, and what each is made of: a picture, words, a line of code.

All steps are listed once, at full detail. The coarse lesson is a selection of them: the last step
of each ball and of each visit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, get_args

from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import CleanUpStep, Family, VisitStep
from loopylatent.lesson.captions import Caption
from loopylatent.lesson.cast import EdgeKey, checked_trace

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
