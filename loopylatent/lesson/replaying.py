"""The graph after any step of a trace, from checkpoints and the changes after them."""

from __future__ import annotations

from dataclasses import dataclass

from loopylatent.lesson.cast import Cast, EdgeKey
from loopylatent.trace import CleanUpStep, Edge, InitialStep, Step, VisitStep

SPACING = 16
"""Steps between two checkpoints."""


class Replays:
    """Edges of the graph after each step, in the numbers of the lesson."""

    def __init__(self, trace: tuple[Step, ...], cast: Cast) -> None:
        self._trace = trace
        self._cast = cast
        self._checkpoints: list[dict[EdgeKey, float]] = []
        edges: dict[EdgeKey, float] = {}
        for at, step in enumerate(trace):
            self._apply(edges, step)
            if at % SPACING == 0:
                self._checkpoints.append(dict(edges))

    def after(self, step: int) -> dict[EdgeKey, float]:
        """Return the edges after a step of the trace; before the first there are none."""
        if step < 0:
            return {}
        edges = dict(self._checkpoints[step // SPACING])
        for later in self._trace[step - step % SPACING + 1 : step + 1]:
            self._apply(edges, later)
        return edges

    def _apply(self, edges: dict[EdgeKey, float], step: Step) -> None:
        if isinstance(step, InitialStep):
            pairs = zip(step.graph.edges.tolist(), step.graph.lengths.tolist(), strict=True)
            edges.update({(u, v): length for (u, v), length in pairs})
            return
        for edge in step.removed:
            del edges[self._cast.key(edge.u, edge.v)]
        for edge in step.added:
            edges[self._cast.key(edge.u, edge.v)] = edge.length


@dataclass(frozen=True, slots=True)
class Change:
    """What a step did to the edges; one whose length alone changed counts as kept."""

    removed: dict[EdgeKey, float]
    added: dict[EdgeKey, float]
    relengthened: dict[EdgeKey, float]
    """Edges that stay, with the lengths that they had before."""


def change_of(step: VisitStep | CleanUpStep, cast: Cast) -> Change:
    """Read off a step which edges went, came, and only changed their lengths."""
    gone, new = _lengths(step.removed, cast), _lengths(step.added, cast)
    return Change(
        {edge: length for edge, length in gone.items() if edge not in new},
        {edge: length for edge, length in new.items() if edge not in gone},
        {edge: length for edge, length in gone.items() if edge in new},
    )


def _lengths(edges: tuple[Edge, ...], cast: Cast) -> dict[EdgeKey, float]:
    return {cast.key(edge.u, edge.v): edge.length for edge in edges}


class LocalTreeSketch:
    """The local tree of a visit while it is built: joins, the rest, contractions."""

    def __init__(self, step: VisitStep, cast: Cast) -> None:
        self._step = step
        self._cast = cast

    def after_joins(self, count: int) -> dict[EdgeKey, float]:
        """Return the edges that the first ``count`` joins have made."""
        edges = {}
        for join in self._step.joins[:count]:
            for child, length in zip(join.children, join.lengths, strict=True):
                edges[self._cast.key(child, join.parent)] = length
        return edges

    @property
    def complete(self) -> dict[EdgeKey, float]:
        """All joins, and the edges that connect what was left."""
        joined = self.after_joins(len(self._step.joins))
        return joined | _lengths(self._step.rest, self._cast)

    def after_contractions(self, count: int) -> dict[EdgeKey, float]:
        """Return the tree after the first ``count`` contractions."""
        number = self._cast.number
        merged: dict[int, int] = {}

        def find(node: int) -> int:
            while node in merged:
                node = merged[node]
            return node

        for contraction in self._step.contractions[:count]:
            merged[number[contraction.removed]] = number[contraction.survivor]
        edges: dict[EdgeKey, float] = {}
        for (u, v), length in self.complete.items():
            a, b = sorted((find(u), find(v)))
            if a != b:
                edges[a, b] = length
        return edges
