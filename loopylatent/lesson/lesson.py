"""A lesson: a sequence of steps that can be entered anywhere."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.figures.layout import positions
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import VisitStep
from loopylatent.lesson.cast import Cast, cast_of
from loopylatent.lesson.chapters import FRAMES, pair_frame
from loopylatent.lesson.frames import Detail, Frame, Phase, Place, nearest, places_of
from loopylatent.lesson.grouping_chapter import Guesses, guesses
from loopylatent.lesson.material import Material
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
