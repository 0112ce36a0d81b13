"""Comparison of a graph with resampled graphs, and their consensus (not in the paper).

docs/guide/stability.md defines when an edge, a hidden node or a cycle is found again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.analysis.matching import (
    SAME_HIDDEN,
    HiddenIndex,
    HiddenMatching,
    Split,
    column_order,
    cycle_columns,
    inner_splits,
    match_hidden,
)
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, frozen_array
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph

SAME_CYCLE = 0.8
"""Two cycles are the same if the Jaccard index of their columns is at least this."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Which parts of a graph are found again in another one."""

    edges: BoolArray
    """(edges,) in the order of ``graph.edges``."""
    hidden: BoolArray
    """(hidden,) in the order of ``graph.hidden_nodes``."""
    cycles: BoolArray
    """(cycles,) in the order of ``graph.cycles``."""
    agreement: float
    """Edges found again, as a share of the edges of either graph (the Jaccard index)."""
    matching: HiddenMatching


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A graph with the splits and columns that identify its parts; built once."""

    graph: LatentGraph
    splits: dict[tuple[int, int], Split]
    cycles: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, graph: LatentGraph) -> Reference:
        return cls(graph, inner_splits(graph), cycle_columns(graph))


def found_again(reference: Reference, other: LatentGraph) -> Found:
    """Return which parts of the reference occur in the other graph."""
    graph = reference.graph
    matching = match_hidden(graph, other, SAME_HIDDEN)
    counterpart = counterparts(graph, other, matching)
    edges = _ends_adjacent(graph, other, counterpart)
    splits = set(inner_splits(other).values())
    inner = graph.edges[:, 0] >= graph.n_observed
    edges[inner] = [reference.splits[u, w] in splits for u, w in graph.edges[inner].tolist()]
    others = cycle_columns(other)
    cycles = [any(_overlap(one, two) >= SAME_CYCLE for two in others) for one in reference.cycles]
    n_found = int(edges.sum())
    union = graph.n_edges + other.n_edges - n_found  # two graphs without edges agree
    return Found(
        frozen_array(edges, np.bool_),
        frozen_array(counterpart[graph.n_observed :] >= 0, np.bool_),
        frozen_array(cycles, np.bool_),
        min(1.0, n_found / union) if union else 1.0,
        matching,
    )


def edges_found(graph: LatentGraph, other: LatentGraph) -> BoolArray:
    """(edges,) whether each edge of a graph without hidden nodes is in another one."""
    counterpart = np.full(graph.n_nodes, -1)
    counterpart[: graph.n_observed] = column_order(graph, other)
    return _ends_adjacent(graph, other, counterpart)


def counterparts(graph: LatentGraph, other: LatentGraph, matching: HiddenMatching) -> IntArray:
    """(nodes,) the matching node of ``other``, or -1."""
    found = np.full(graph.n_nodes, -1, dtype=np.int64)
    found[: graph.n_observed] = column_order(graph, other)
    for pair in matching.pairs:
        found[pair.left] = pair.right
    return found


def _ends_adjacent(graph: LatentGraph, other: LatentGraph, counterpart: IntArray) -> BoolArray:
    """(edges,) whether the counterparts of the ends are adjacent."""
    ends = np.sort(counterpart[graph.edges], axis=1)
    known = other.edges[:, 0] * other.n_nodes + other.edges[:, 1]
    queried = ends[:, 0] * other.n_nodes + ends[:, 1]
    found: BoolArray = np.isin(queried, known) & (ends >= 0).all(axis=1)
    return found


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


MAJORITY = 0.5
"""Default share of the graphs that must have an edge."""
FEWEST_NEIGHBOURS = 3
"""Hidden nodes with fewer are removed (or replaced by an edge), as in the learner."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """In how many graphs each edge occurs, and its mean length."""

    names: tuple[str, ...]
    n_graphs: int
    n_hidden: int
    """Different hidden nodes of all graphs."""
    edges: IntArray
    """(edges, 2) columns first, then hidden nodes in order of first occurrence."""
    counts: IntArray
    """(edges,) in how many graphs."""
    lengths: FloatArray
    """(edges,) mean over those."""

    def graph(self, share: float = MAJORITY) -> LatentGraph:
        """Return the graph of the edges that at least ``share`` of the graphs have."""
        if not 0 < share <= 1:
            raise ThresholdError(f"share = {share} must be above 0 and at most 1, such as 0.5.")
        kept = self.counts >= share * self.n_graphs - 1e-9
        links: dict[int, dict[int, float]] = {}
        rows = zip(self.edges[kept].tolist(), self.lengths[kept].tolist(), strict=True)
        for (u, v), length in rows:
            links.setdefault(u, {})[v] = length
            links.setdefault(v, {})[u] = length
        _remove_low_degree(links, len(self.names))
        p = len(self.names)
        left = sorted(node for node in links if node >= p)
        number = {node: p + k for k, node in enumerate(left)} | {k: k for k in range(p)}
        pairs = [(u, v) for u in sorted(links) for v in sorted(links[u]) if u < v]
        ends = [(number[u], number[v]) for u, v in pairs]
        return LatentGraph.build(self.names, len(left), ends, [links[u][v] for u, v in pairs])


class Counter:
    """Counts the edges of graphs, added one by one."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._index = HiddenIndex(names)
        self._counts: dict[tuple[int, int], tuple[int, float]] = {}
        self._n_graphs = 0

    def add(self, graph: LatentGraph) -> None:
        """Add a graph on the same columns, in any order."""
        numbers, _ = self._index.add(graph)
        ends = np.sort(numbers[graph.edges], axis=1).tolist()
        for (u, v), length in zip(ends, graph.lengths.tolist(), strict=True):
            count, total = self._counts.get((u, v), (0, 0.0))
            self._counts[u, v] = (count + 1, total + length)
        self._n_graphs += 1

    def tally(self) -> Tally:
        edges = sorted(self._counts)
        found = [self._counts[edge] for edge in edges]
        return Tally(
            self._index.columns.names,
            self._n_graphs,
            self._index.n_hidden,
            frozen_array(np.array(edges, dtype=np.int64).reshape(-1, 2), np.int64),
            frozen_array([count for count, _ in found], np.int64),
            frozen_array([total / count for count, total in found], np.float64),
        )


def _remove_low_degree(links: dict[int, dict[int, float]], n_observed: int) -> None:
    """Remove hidden nodes of degree 1 and bridge those of degree 2, until none is left."""
    pending = sorted(node for node in links if node >= n_observed)
    while pending:
        node = pending.pop()
        near = links.get(node)
        if near is None or len(near) >= FEWEST_NEIGHBOURS:
            continue
        del links[node]
        for other in near:
            del links[other][node]
        if len(near) == 2:
            (u, first), (v, second) = sorted(near.items())
            length = min(first + second, links[u].get(v, np.inf))
            links[u][v] = links[v][u] = length
        pending += sorted(other for other in near if other >= n_observed)
