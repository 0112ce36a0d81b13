"""A readable part of a large graph (not in the paper).

Leaves, then nodes attached by a single edge, are folded into their neighbour, which shows a count.
If loops leave too many nodes, the strongest part is kept. Folded nodes can be opened.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from loopylatent.analysis.matching import nearest_first, sorted_edges
from loopylatent.compute.values import BoolArray, IntArray, frozen_array
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph

Neighbours = Sequence[Sequence[tuple[float, int]]]
"""For each node its neighbours with edge lengths, nearest first."""

SIMPLE_FROM = 300
"""Number of columns above which a graph is simplified automatically."""
WHOLE_UP_TO = 2_000
"""Number of columns up to which the whole graph can be drawn."""
MOST_DRAWN = 100
"""Number of nodes drawn initially."""
MOST_OPENED = 60
"""Nearest nodes shown when a node is opened; the others stay in its count."""
FEWEST_FOLDED = 2
"""A single leaf is drawn by its name, not as a count of one."""


@dataclass(frozen=True, eq=False)
class Folding:
    """The nodes ``kept`` in the initial picture, and ``under`` which neighbour each is folded."""

    graph: LatentGraph
    under: IntArray
    kept: BoolArray

    @cached_property
    def neighbours(self) -> Neighbours:
        return sorted_edges(self.graph)

    @cached_property
    def folded_in(self) -> Mapping[int, tuple[int, ...]]:
        """The nodes folded directly into each node, nearest first."""
        return {
            node: inside
            for node, near in enumerate(self.neighbours)
            if (inside := tuple(other for _, other in near if self.under[other] == node))
        }

    def show(
        self, opened: Iterable[int] = (), focus: int | None = None, most_opened: int = MOST_OPENED
    ) -> SimplifiedGraph:
        """Return the picture with some nodes opened and ``focus`` visible."""
        drawn = self.kept.copy()
        to_open = set(opened)
        self._open(drawn, to_open, most_opened)
        if focus is not None:
            self._reach(drawn, focus)
            self._open(drawn, to_open, most_opened)
        drawn.setflags(write=False)
        return SimplifiedGraph(self, drawn)

    def _open(self, drawn: BoolArray, to_open: set[int], most_opened: int) -> None:
        """Draw the nearest nodes folded into every open node, recursively."""
        pending = sorted(node for node in to_open if node in self.folded_in and drawn[node])
        while pending:
            for inside in self.folded_in[pending.pop()][:most_opened]:
                if not drawn[inside]:
                    drawn[inside] = True
                    if inside in to_open and inside in self.folded_in:
                        pending.append(inside)

    def around(self, node: int) -> frozenset[int]:
        """Return the nodes to open so that a node and all its neighbours are drawn."""
        holder = int(self.under[node])
        return frozenset(one for one in (node, holder) if one in self.folded_in)

    def _reach(self, drawn: BoolArray, focus: int) -> None:
        """Draw a node, its nearest neighbours, and a path to them from the drawn nodes."""
        before = _path_back(self.neighbours, drawn, focus)
        near = [other for _, other in self.neighbours[focus] if self.under[other] != focus]
        while not drawn[focus]:
            drawn[focus] = True
            focus = before[focus]
        drawn[near[:MOST_OPENED]] = True


@dataclass(frozen=True, eq=False)
class SimplifiedGraph:
    """The drawn part of a graph; a column is drawn, counted at one drawn node, or neither."""

    folding: Folding
    is_drawn: BoolArray
    """(nodes,) whether each node of the whole graph is drawn."""
    centre: int | None = None
    """The node whose neighbourhood is drawn; None for a folded graph."""

    @property
    def graph(self) -> LatentGraph:
        """The whole graph."""
        return self.folding.graph

    @cached_property
    def nodes(self) -> tuple[int, ...]:
        """The drawn nodes, ascending."""
        return tuple(np.flatnonzero(self.is_drawn).tolist())

    @cached_property
    def _holders(self) -> tuple[int, ...]:
        """The drawn node that shows or counts each column; -1 if there is none."""
        return tuple(self._holder(column) for column in range(self.graph.n_observed))

    def _holder(self, node: int) -> int:
        while node >= 0 and not self.is_drawn[node]:
            node = int(self.folding.under[node])
        return node

    @cached_property
    def counted(self) -> Mapping[int, tuple[int, ...]]:
        """The columns folded into each drawn node."""
        found: dict[int, list[int]] = {}
        for column, holder in enumerate(self._holders):
            if holder >= 0 and not self.is_drawn[column]:
                found.setdefault(holder, []).append(column)
        return {holder: tuple(columns) for holder, columns in sorted(found.items())}

    @cached_property
    def not_shown(self) -> tuple[int, ...]:
        """Columns that are neither drawn nor counted."""
        return tuple(column for column, holder in enumerate(self._holders) if holder < 0)

    @property
    def drawn_columns(self) -> tuple[int, ...]:
        return tuple(node for node in self.nodes if node < self.graph.n_observed)

    @cached_property
    def opened(self) -> frozenset[int]:
        """The nodes that are opened."""
        folded_in = self.folding.folded_in
        return frozenset(
            node for node in self.nodes if self.is_drawn[list(folded_in.get(node, ()))].any()
        )

    @cached_property
    def part(self) -> LatentGraph:
        """The subgraph of the drawn nodes, in the order of ``nodes``."""
        return subgraph(self.graph, self.nodes)


def fold(graph: LatentGraph, most_drawn: int = MOST_DRAWN) -> Folding:
    """Choose the nodes of the initial picture and fold the others."""
    if most_drawn < 1:
        raise ThresholdError(f"most_drawn = {most_drawn} draws nothing; give at least 1.")
    neighbours = sorted_edges(graph)
    under = _unfolded(graph).copy()
    columns = (np.arange(graph.n_nodes) < graph.n_observed).astype(np.int64)
    _fold_leaves(graph, neighbours, under, columns)
    _fold_pendants(neighbours, under, columns, most_drawn)
    kept = _strongest(neighbours, under, columns, most_drawn)
    return Folding(graph, frozen_array(under, np.int64), frozen_array(kept, np.bool_))


def neighbourhood(
    graph: LatentGraph, node: int, steps: int, most_drawn: int = MOST_DRAWN
) -> SimplifiedGraph:
    """Return the nearest nodes within ``steps`` edges; nothing is folded."""
    within = np.zeros(graph.n_nodes, dtype=np.bool_)
    within[list(graph.neighbourhood(node, steps))] = True
    neighbours = sorted_edges(graph)
    walk = nearest_first(lambda here: (one for one in neighbours[here] if within[one[1]]), node)
    drawn = np.zeros(graph.n_nodes, dtype=np.bool_)
    drawn[[one.node for one in islice(walk, most_drawn)]] = True
    kept = frozen_array(drawn, np.bool_)
    return SimplifiedGraph(Folding(graph, _unfolded(graph), kept), kept, centre=node)


def nothing_of(graph: LatentGraph) -> SimplifiedGraph:
    """Return an empty picture of a graph."""
    drawn = frozen_array(np.zeros(graph.n_nodes), np.bool_)
    return SimplifiedGraph(Folding(graph, _unfolded(graph), drawn), drawn)


def subgraph(graph: LatentGraph, nodes: Sequence[int]) -> LatentGraph:
    """Return the subgraph of some nodes, given in ascending order."""
    number = np.full(graph.n_nodes, -1, dtype=np.int64)
    number[list(nodes)] = np.arange(len(nodes))
    ends = number[graph.edges]
    inside = (ends >= 0).all(axis=1)
    names = [graph.names[node] for node in nodes if node < graph.n_observed]
    return LatentGraph.build(names, len(nodes) - len(names), ends[inside], graph.lengths[inside])


def _unfolded(graph: LatentGraph) -> IntArray:
    return frozen_array(np.full(graph.n_nodes, -1), np.int64)


# Folding -----------------------------------------------------------------------------------


def _fold_leaves(
    graph: LatentGraph, neighbours: Neighbours, under: IntArray, columns: IntArray
) -> None:
    """Fold columns of degree 1 into a neighbour that has several of them."""
    leaves = np.flatnonzero(graph.degrees[: graph.n_observed] == 1).tolist()
    inside: dict[int, list[int]] = {}
    for leaf in leaves:
        inside.setdefault(neighbours[leaf][0][1], []).append(leaf)
    for node, found in inside.items():
        if len(found) >= FEWEST_FOLDED:
            under[found] = node
            columns[node] += len(found)


def _fold_pendants(
    neighbours: Neighbours, under: IntArray, columns: IntArray, most_drawn: int
) -> None:
    """Fold nodes attached by a single edge, fewest columns first, until few are left."""
    left = {
        node: {other: length for length, other in neighbours[node] if under[other] < 0}
        for node in np.flatnonzero(under < 0).tolist()
    }
    pending = [_as_pendant(left, columns, node) for node, near in left.items() if len(near) == 1]
    heapq.heapify(pending)
    while pending and len(left) > most_drawn:
        node = heapq.heappop(pending)[2]
        if len(left[node]) != 1:  # the other end of its only edge was folded under it
            continue
        (holder,) = left.pop(node)
        del left[holder][node]
        under[node] = holder
        columns[holder] += columns[node]
        if len(left[holder]) == 1:
            heapq.heappush(pending, _as_pendant(left, columns, holder))


def _as_pendant(
    left: Mapping[int, Mapping[int, float]], columns: IntArray, node: int
) -> tuple[int, float, int]:
    """Return the sort key for folding: fewest columns, then weakest edge, then number."""
    (length,) = left[node].values()
    return int(columns[node]), -length, node


def _strongest(
    neighbours: Neighbours, under: IntArray, columns: IntArray, most_drawn: int
) -> BoolArray:
    """Grow from the node with most columns along the shortest edges, component by component."""
    left = under < 0
    kept = np.zeros(len(under), dtype=np.bool_)
    heaviest = sorted(
        np.flatnonzero(left).tolist(), key=lambda node: (-columns[node], neighbours[node][:1], node)
    )
    starts = iter(heaviest)
    pending: list[tuple[float, int]] = []
    for _ in range(min(most_drawn, len(heaviest))):
        while pending and kept[pending[0][1]]:
            heapq.heappop(pending)
        if pending:
            node = heapq.heappop(pending)[1]
        else:
            node = next(start for start in starts if not kept[start])
        kept[node] = True
        for length, other in neighbours[node]:
            if left[other] and not kept[other]:
                heapq.heappush(pending, (length, other))
    return kept


def _path_back(neighbours: Neighbours, drawn: BoolArray, focus: int) -> dict[int, int]:
    """Return predecessors on the shortest path from the drawn nodes to ``focus``."""
    after: dict[int, int] = {}
    found = focus
    for one in nearest_first(neighbours.__getitem__, focus):
        after[one.node] = one.before
        if drawn[one.node]:
            found = one.node
            break
    before = {focus: focus}
    while found != focus:
        before[after[found]] = found
        found = after[found]
    return before
