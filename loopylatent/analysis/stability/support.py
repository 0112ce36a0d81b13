"""Which parts of a graph other graphs have too, and what many have in common (not in the paper).

docs/guide/stability.md defines when an edge, a hidden node or a cycle is found again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.analysis.matching import (
    SAME_HIDDEN,
    HiddenMatching,
    Met,
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
"""The least share of common columns, among those of either, with which two cycles count as one."""


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
    """A graph, and what its parts are known by; made once for many comparisons."""

    graph: LatentGraph
    splits: dict[tuple[int, int], Split]
    cycles: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, graph: LatentGraph) -> Reference:
        return cls(graph, inner_splits(graph), cycle_columns(graph))


def found_again(reference: Reference, other: LatentGraph) -> Found:
    """Say which parts of the reference the other graph has."""
    graph = reference.graph
    matching = match_hidden(graph, other, SAME_HIDDEN)
    counterpart = counterparts(graph, other, matching)
    edges = _plain_edges_found(graph, other, counterpart)
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
    """(edges,) which edges of a graph without hidden nodes another one has."""
    counterpart = np.full(graph.n_nodes, -1)
    counterpart[: graph.n_observed] = column_order(graph, other)
    return _plain_edges_found(graph, other, counterpart)


def counterparts(graph: LatentGraph, other: LatentGraph, matching: HiddenMatching) -> IntArray:
    """(nodes,) the node of ``other`` that each node of ``graph`` is, or -1 where there is none."""
    found = np.full(graph.n_nodes, -1, dtype=np.int64)
    found[: graph.n_observed] = column_order(graph, other)
    for pair in matching.pairs:
        found[pair.left] = pair.right
    return found


def _plain_edges_found(graph: LatentGraph, other: LatentGraph, counterpart: IntArray) -> BoolArray:
    """(edges,) whether the counterparts of the ends are adjacent."""
    ends = np.sort(counterpart[graph.edges], axis=1)
    known = other.edges[:, 0] * other.n_nodes + other.edges[:, 1]
    asked = ends[:, 0] * other.n_nodes + ends[:, 1]
    found: BoolArray = np.isin(asked, known) & (ends >= 0).all(axis=1)
    return found


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


MAJORITY = 0.5
"""The share of the graphs that must have an edge, unless another one is asked for."""
FEWEST_NEIGHBOURS = 3
"""A hidden node with fewer is removed, or bridged where it has two, as the learner does."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """How many of the graphs have each edge, and how long it is there on average."""

    names: tuple[str, ...]
    n_graphs: int
    n_hidden: int
    """Hidden nodes met in any of the graphs."""
    edges: IntArray
    """(edges, 2) columns first, then hidden nodes in the order in which they were met."""
    counts: IntArray
    """(edges,) in how many graphs."""
    lengths: FloatArray
    """(edges,) mean over those."""

    def graph(self, share: float = MAJORITY) -> LatentGraph:
        """Return the graph of the edges that at least ``share`` of the graphs have."""
        if not 0 < share <= 1:
            raise ThresholdError(f"share = {share} is not above 0 and at most 1; try 0.5.")
        kept = self.counts >= share * self.n_graphs - 1e-9
        links: dict[int, dict[int, float]] = {}
        rows = zip(self.edges[kept].tolist(), self.lengths[kept].tolist(), strict=True)
        for (u, v), length in rows:
            links.setdefault(u, {})[v] = length
            links.setdefault(v, {})[u] = length
        _drop_idle(links, len(self.names))
        p = len(self.names)
        left = sorted(node for node in links if node >= p)
        number = {node: p + k for k, node in enumerate(left)} | {k: k for k in range(p)}
        pairs = [(u, v) for u in sorted(links) for v in sorted(links[u]) if u < v]
        ends = [(number[u], number[v]) for u, v in pairs]
        return LatentGraph.build(self.names, len(left), ends, [links[u][v] for u, v in pairs])


class Counter:
    """Adds graphs one by one; `tally` says what they have in common so far."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._met = Met(names)
        self._counts: dict[tuple[int, int], tuple[int, float]] = {}
        self._n_graphs = 0

    def add(self, graph: LatentGraph) -> None:
        """Count the edges of one more graph on these columns, in any order."""
        numbers, _ = self._met.meet(graph)
        ends = np.sort(numbers[graph.edges], axis=1).tolist()
        for (u, v), length in zip(ends, graph.lengths.tolist(), strict=True):
            count, total = self._counts.get((u, v), (0, 0.0))
            self._counts[u, v] = (count + 1, total + length)
        self._n_graphs += 1

    def tally(self) -> Tally:
        edges = sorted(self._counts)
        found = [self._counts[edge] for edge in edges]
        return Tally(
            self._met.columns.names,
            self._n_graphs,
            self._met.n_hidden,
            frozen_array(np.array(edges, dtype=np.int64).reshape(-1, 2), np.int64),
            frozen_array([count for count, _ in found], np.int64),
            frozen_array([total / count for count, total in found], np.float64),
        )


def _drop_idle(links: dict[int, dict[int, float]], n_observed: int) -> None:
    """Remove hidden nodes of degree 1 and bridge those of degree 2, until none is left."""
    waiting = sorted(node for node in links if node >= n_observed)
    while waiting:
        node = waiting.pop()
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
        waiting += sorted(other for other in near if other >= n_observed)
