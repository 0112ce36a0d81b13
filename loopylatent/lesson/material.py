"""What every step of a lesson is made from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix
from loopylatent.layout import shown_label
from loopylatent.learn import LearnResult
from loopylatent.lesson.balls import Balls
from loopylatent.lesson.cast import Cast, EdgeKey, checked_trace
from loopylatent.lesson.replaying import Replays
from loopylatent.lesson.words import Name
from loopylatent.settings import Thresholds
from loopylatent.structure_error import StructureError, structure_error
from loopylatent.trace import Step, VisitStep

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

    @cached_property
    def _names(self) -> tuple[Name, ...]:
        return tuple(Name(shown_label(label, LONGEST_NAME)) for label in self.cast.labels)

    def name(self, node: int) -> Name:
        """Return the name of a node of the lesson, short enough for a sentence."""
        return self._names[node]

    @cached_property
    def ball_notes(self) -> dict[EdgeKey, str]:
        """What is said of each edge of the initial graph: which balls put it there."""
        return {edge: self._ball_note(edge) for edge in self.initial}

    def _ball_note(self, edge: EdgeKey) -> str:
        balls = self.balls.owners(edge)
        named = ", ".join(self.name(v).text for v in balls[:MOST_BALLS])
        more = f" and {len(balls) - MOST_BALLS} more" if len(balls) > MOST_BALLS else ""
        word = "tree" if len(balls) == 1 else f"{len(balls)} trees"
        return f"in the {word} of {named}{more}"

    def names(self, nodes: tuple[int, ...] | list[int]) -> tuple[Name, ...]:
        return tuple(self.name(node) for node in nodes)

    def shown(self, edges: dict[EdgeKey, float]) -> tuple[int, ...]:
        """Return all columns, and the hidden nodes that have an edge."""
        hidden = {node for edge in edges for node in edge if self.cast.is_hidden(node)}
        return (*self.columns, *sorted(hidden))
