"""The part of a large graph that can be read (not in the paper).

Leaves, then nodes that hang on one edge, are folded under their neighbour, which stands for them
with a count; where loops leave too many, the strongest part is kept. What is folded can be opened.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np

from loopylatent.analysis.matching import edges_beside, nearest_first
from loopylatent.compute.values import BoolArray, IntArray, frozen_array
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph

Beside = Sequence[Sequence[tuple[float, int]]]
"""For each node its neighbours with the lengths of the edges, the nearest first."""

SIMPLE_FROM = 300
"""Columns above which a graph is simplified of itself."""
WHOLE_UP_TO = 2_000
"""Columns up to which the whole graph can be asked for."""
MOST_DRAWN = 100
"""Nodes that are drawn at first."""
MOST_OPENED = 60
"""Nodes that come out of one node when it is opened; the farther ones stay in its count."""
FEWEST_FOLDED = 2
"""A single leaf is drawn by its name, not as a count of one."""


@dataclass(frozen=True, eq=False)
class Folding:
    """Which nodes stand in the first picture, and the neighbour ``under`` which each is folded."""

    graph: LatentGraph
    under: IntArray
    kept: BoolArray

    @cached_property
    def beside(self) -> Beside:
        return edges_beside(self.graph)

    @cached_property
    def folded_in(self) -> Mapping[int, tuple[int, ...]]:
        """The nodes folded directly under each node that has some, the nearest first."""
        return {
            node: inside
            for node, near in enumerate(self.beside)
            if (inside := tuple(other for _, other in near if self.under[other] == node))
        }

    def show(
        self, opened: Iterable[int] = (), focus: int | None = None, most_opened: int = MOST_OPENED
    ) -> SimplifiedGraph:
        """Return what is drawn when some nodes are open and ``focus`` is looked at."""
        drawn = self.kept.copy()
        wanted = set(opened)
        self._open(drawn, wanted, most_opened)
        if focus is not None:
            self._reach(drawn, focus)
            self._open(drawn, wanted, most_opened)
        drawn.setflags(write=False)
        return SimplifiedGraph(self, drawn)

    def _open(self, drawn: BoolArray, wanted: set[int], most_opened: int) -> None:
        """Take the nearest nodes out of every open node, also of those that come out of another."""
        waiting = sorted(node for node in wanted if node in self.folded_in and drawn[node])
        while waiting:
            for inside in self.folded_in[waiting.pop()][:most_opened]:
                if not drawn[inside]:
                    drawn[inside] = True
                    if inside in wanted and inside in self.folded_in:
                        waiting.append(inside)

    def around(self, node: int) -> frozenset[int]:
        """Return what has to be open so that a node and all its neighbours are drawn."""
        holder = int(self.under[node])
        return frozenset(one for one in (node, holder) if one in self.folded_in)

    def _reach(self, drawn: BoolArray, focus: int) -> None:
        """Draw a node, its nearest neighbours, and a way to them from what is drawn."""
        before = _way_back(self.beside, drawn, focus)
        beside = [other for _, other in self.beside[focus] if self.under[other] != focus]
        while not drawn[focus]:
            drawn[focus] = True
            focus = before[focus]
        drawn[beside[:MOST_OPENED]] = True


@dataclass(frozen=True, eq=False)
class SimplifiedGraph:
    """What is drawn of a graph; every column is drawn, counted in one drawn node, or neither."""

    folding: Folding
    is_drawn: BoolArray
    """(nodes,) whether each node of the whole graph is drawn."""
    centre: int | None = None
    """The node around which it is drawn, where that is the rule."""

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
        """For each column the drawn node that it is in or under; -1 where it is not shown."""
        return tuple(self._holder(column) for column in range(self.graph.n_observed))

    def _holder(self, node: int) -> int:
        while node >= 0 and not self.is_drawn[node]:
            node = int(self.folding.under[node])
        return node

    @cached_property
    def counted(self) -> Mapping[int, tuple[int, ...]]:
        """The columns that each collapsed node stands for, beside itself."""
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
        """The nodes out of which something has been taken."""
        folded_in = self.folding.folded_in
        return frozenset(
            node for node in self.nodes if self.is_drawn[list(folded_in.get(node, ()))].any()
        )

    @cached_property
    def part(self) -> LatentGraph:
        """The drawn nodes as a graph of their own, in the order of ``nodes``."""
        return subgraph(self.graph, self.nodes)


def fold(graph: LatentGraph, most_drawn: int = MOST_DRAWN) -> Folding:
    """Say what is folded under what, and which nodes make the first picture."""
    if most_drawn < 1:
        raise ThresholdError(f"most_drawn = {most_drawn} draws nothing; give at least 1.")
    beside = edges_beside(graph)
    under = _unfolded(graph).copy()
    columns = (np.arange(graph.n_nodes) < graph.n_observed).astype(np.int64)
    _fold_leaves(graph, beside, under, columns)
    _fold_pendants(beside, under, columns, most_drawn)
    kept = _strongest(beside, under, columns, most_drawn)
    return Folding(graph, frozen_array(under, np.int64), frozen_array(kept, np.bool_))


def neighbourhood(
    graph: LatentGraph, node: int, steps: int, most_drawn: int = MOST_DRAWN
) -> SimplifiedGraph:
    """Return the nodes at most ``steps`` edges away, the nearest first; nothing is folded."""
    within = np.zeros(graph.n_nodes, dtype=np.bool_)
    within[list(graph.neighbourhood(node, steps))] = True
    beside = edges_beside(graph)
    walk = nearest_first(lambda here: (one for one in beside[here] if within[one[1]]), node)
    drawn = np.zeros(graph.n_nodes, dtype=np.bool_)
    drawn[[one.node for one in islice(walk, most_drawn)]] = True
    kept = frozen_array(drawn, np.bool_)
    return SimplifiedGraph(Folding(graph, _unfolded(graph), kept), kept, centre=node)


def nothing_of(graph: LatentGraph) -> SimplifiedGraph:
    """Return a picture of a graph in which nothing is drawn yet."""
    drawn = frozen_array(np.zeros(graph.n_nodes), np.bool_)
    return SimplifiedGraph(Folding(graph, _unfolded(graph), drawn), drawn)


def subgraph(graph: LatentGraph, nodes: Sequence[int]) -> LatentGraph:
    """Return the graph on some nodes, given ascending, and the edges between them."""
    number = np.full(graph.n_nodes, -1, dtype=np.int64)
    number[list(nodes)] = np.arange(len(nodes))
    ends = number[graph.edges]
    inside = (ends >= 0).all(axis=1)
    names = [graph.names[node] for node in nodes if node < graph.n_observed]
    return LatentGraph.build(names, len(nodes) - len(names), ends[inside], graph.lengths[inside])


def _unfolded(graph: LatentGraph) -> IntArray:
    return frozen_array(np.full(graph.n_nodes, -1), np.int64)


# Folding -----------------------------------------------------------------------------------


def _fold_leaves(graph: LatentGraph, beside: Beside, under: IntArray, columns: IntArray) -> None:
    """Fold columns of degree 1 under a neighbour that has several of them."""
    leaves = np.flatnonzero(graph.degrees[: graph.n_observed] == 1).tolist()
    inside: dict[int, list[int]] = {}
    for leaf in leaves:
        inside.setdefault(beside[leaf][0][1], []).append(leaf)
    for node, found in inside.items():
        if len(found) >= FEWEST_FOLDED:
            under[found] = node
            columns[node] += len(found)


def _fold_pendants(beside: Beside, under: IntArray, columns: IntArray, most_drawn: int) -> None:
    """Fold nodes that hang on one edge, those of the fewest columns first, until few are left."""
    left = {
        node: {other: length for length, other in beside[node] if under[other] < 0}
        for node in np.flatnonzero(under < 0).tolist()
    }
    waiting = [_as_pendant(left, columns, node) for node, near in left.items() if len(near) == 1]
    heapq.heapify(waiting)
    while waiting and len(left) > most_drawn:
        node = heapq.heappop(waiting)[2]
        if len(left[node]) != 1:  # the other end of its only edge was folded under it
            continue
        (holder,) = left.pop(node)
        del left[holder][node]
        under[node] = holder
        columns[holder] += columns[node]
        if len(left[holder]) == 1:
            heapq.heappush(waiting, _as_pendant(left, columns, holder))


def _as_pendant(
    left: Mapping[int, Mapping[int, float]], columns: IntArray, node: int
) -> tuple[int, float, int]:
    """What decides which is folded first: few columns, a weak edge, the number."""
    (length,) = left[node].values()
    return int(columns[node]), -length, node


def _strongest(beside: Beside, under: IntArray, columns: IntArray, most_drawn: int) -> BoolArray:
    """Grow from the node of most columns along the shortest edges; then on in other pieces."""
    left = under < 0
    kept = np.zeros(len(under), dtype=np.bool_)
    heaviest = sorted(
        np.flatnonzero(left).tolist(), key=lambda node: (-columns[node], beside[node][:1], node)
    )
    starts = iter(heaviest)
    waiting: list[tuple[float, int]] = []
    for _ in range(min(most_drawn, len(heaviest))):
        while waiting and kept[waiting[0][1]]:
            heapq.heappop(waiting)
        if waiting:
            node = heapq.heappop(waiting)[1]
        else:
            node = next(start for start in starts if not kept[start])
        kept[node] = True
        for length, other in beside[node]:
            if left[other] and not kept[other]:
                heapq.heappush(waiting, (length, other))
    return kept


def _way_back(beside: Beside, drawn: BoolArray, focus: int) -> dict[int, int]:
    """For each node on the shortest way from what is drawn to ``focus`` the one before it."""
    after: dict[int, int] = {}
    found = focus
    for one in nearest_first(beside.__getitem__, focus):
        after[one.node] = one.before
        if drawn[one.node]:
            found = one.node
            break
    before = {focus: focus}
    while found != focus:
        before[after[found]] = found
        found = after[found]
    return before
