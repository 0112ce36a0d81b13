"""One step of a lesson: what is drawn, what is said, which line of the algorithm it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from loopylatent.lesson.cast import EdgeKey
from loopylatent.lesson.places import Place
from loopylatent.lesson.words import Caption

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


@dataclass(frozen=True, slots=True)
class Key:
    """A line of the legend."""

    mark: Mark
    text: str


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
    legend: tuple[Key, ...] = ()

    @property
    def graph_edges(self) -> dict[EdgeKey, float]:
        """The edges of the graph at this step, with their lengths."""
        return {(e.u, e.v): e.length for e in self.edges if e.mark in IN_GRAPH}


def drawn(
    edges: dict[EdgeKey, float],
    mark: Mark = "kept",
    *,
    marks: dict[EdgeKey, Mark] | None = None,
    notes: dict[EdgeKey, str] | None = None,
) -> tuple[DrawnEdge, ...]:
    """Mark edges, all of them alike but those that ``marks`` names."""
    marks, notes = marks or {}, notes or {}
    return tuple(
        DrawnEdge(u, v, length, marks.get((u, v), mark), notes.get((u, v), ""))
        for (u, v), length in edges.items()
    )


def ends_of(edges: dict[EdgeKey, float]) -> set[int]:
    """Return the nodes at which edges end."""
    return {node for edge in edges for node in edge}
