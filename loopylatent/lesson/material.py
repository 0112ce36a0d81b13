"""What every step of a lesson is made from: the result, its trace, balls and their local trees.

The trees come from the kernel with which the learner builds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.compute._kernels.spanning import spanning_tree
from loopylatent.compute.arrays import IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.labels import shown_label
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import Step, VisitStep
from loopylatent.lesson.captions import Name
from loopylatent.lesson.cast import Cast, EdgeKey, Replays, checked_trace
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
