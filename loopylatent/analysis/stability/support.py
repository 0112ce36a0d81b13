"""Comparison of a graph with resampled graphs, and their consensus (not in the paper).

docs/guide/stability.md defines when an edge, a hidden node or a cycle is found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

from loopylatent.analysis.matching import ROUNDING, SAME_HIDDEN, HiddenIndex, column_order
from loopylatent.compute import _kernels
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, frozen_array
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph, tie_breakers

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


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """A graph with what identifies its parts; built once."""

    graph: LatentGraph
    profiles: FloatArray
    """(hidden, columns) of norm 1."""
    splits: IntArray
    """(edges between hidden nodes, 2) keys of the columns nearer to each end."""
    cycles: IntArray
    """(cycles, 1 + words) the number of columns of each cycle, and these as a set of bits."""
    same_columns: IntArray
    """(columns,) for graphs with the same columns in the same order."""

    @classmethod
    def of(cls, graph: LatentGraph) -> Reference:
        same = np.arange(graph.n_observed)
        profiles, splits = _kernels.support.described(
            graph.n_nodes, graph.edges, graph.lengths, same, column_marks(len(same)), ROUNDING
        )
        start, other, _ = _kernels.cycles.half_edges(graph.n_nodes, graph.edges)
        first = np.cumsum([0, *map(len, graph.cycles)])
        nodes = np.array([node for cycle in graph.cycles for node in cycle], dtype=np.int64)
        cycles = _kernels.support.cycle_sets(first, nodes, start, other, same)
        return cls(graph, profiles, splits, cycles, same)


def found_again(reference: Reference, other: LatentGraph) -> Found:
    """Return which parts of the reference occur in the other graph."""
    graph, node = reference.graph, reference.same_columns
    if other.names != graph.names:
        node = column_order(graph, other)
    edges, hidden, cycles = _kernels.support.parts_again(
        graph.edges, reference.profiles, reference.splits, reference.cycles, node,
        other.n_nodes, other.edges, other.lengths, column_marks(len(node)),
        tie_breakers(other.n_edges), SAME_HIDDEN, SAME_CYCLE, ROUNDING,
    )  # fmt: skip
    n_found = int(edges.sum())
    union = graph.n_edges + other.n_edges - n_found  # two graphs without edges agree
    return Found(edges, hidden, cycles, min(1.0, n_found / union) if union else 1.0)


@lru_cache(maxsize=8)
def column_marks(n_columns: int) -> IntArray:
    """Return a random number for each column; their exclusive or identifies a set of columns."""
    return np.random.default_rng(0).integers(2**62, size=n_columns)


def edges_found(graph: LatentGraph, other: LatentGraph) -> BoolArray:
    """(edges,) whether each edge of a graph without hidden nodes is in another one."""
    ends = graph.edges
    if other.names != graph.names:
        ends = np.sort(column_order(graph, other)[ends], axis=1)
    return _kernels.support.pairs_again(ends, other.edges)


MAJORITY = 0.5
"""Default share of the graphs that must have an edge."""
FEWEST_NEIGHBOURS = 3
"""Hidden nodes with fewer are removed (or replaced by an edge), as in the learner."""


@dataclass(frozen=True, eq=False)
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

    @classmethod
    def of(cls, graphs: Sequence[LatentGraph]) -> Tally:
        """Return the tally of graphs on the same columns; it is counted when it is first read."""
        tally = cls.__new__(cls)
        vars(tally)["_graphs"] = tuple(graphs)
        return tally

    def __getattr__(self, name: str) -> Any:
        with _counting:
            if "_graphs" in vars(self):
                vars(self).update(vars(_counted(vars(self)["_graphs"])))
                del vars(self)["_graphs"]
        return object.__getattribute__(self, name)

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


_counting = Lock()


def _counted(graphs: Sequence[LatentGraph]) -> Tally:
    index = HiddenIndex(graphs[0].names)
    counts: dict[tuple[int, int], tuple[int, float]] = {}
    for graph in graphs:
        numbers, _ = index.add(graph)
        ends = np.sort(numbers[graph.edges], axis=1).tolist()
        for (u, v), length in zip(ends, graph.lengths.tolist(), strict=True):
            count, total = counts.get((u, v), (0, 0.0))
            counts[u, v] = (count + 1, total + length)
    edges = sorted(counts)
    found = [counts[edge] for edge in edges]
    return Tally(
        index.columns.names,
        len(graphs),
        index.n_hidden,
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
