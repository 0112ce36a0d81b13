"""Which parts of one graph another graph has too (not in the paper; see docs/guide/stability.md).

Columns are the same where their names are. Hidden nodes are matched by their profiles; an edge
between a column and a hidden node is found again where the matched ends are adjacent, an edge
between two hidden nodes where its split of the columns occurs again, a cycle where one with nearly
the same columns does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.analysis.matching import (
    SAME_HIDDEN,
    HiddenMatching,
    Split,
    column_order,
    cycle_columns,
    inner_splits,
    match_hidden,
)
from loopylatent.compute.arrays import BoolArray, IntArray, frozen_array
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
    return Found(
        frozen_array(edges, np.bool_),
        frozen_array(counterpart[graph.n_observed :] >= 0, np.bool_),
        frozen_array(_cycles_found(reference.cycles, cycle_columns(other)), np.bool_),
        _agreement(int(edges.sum()), graph.n_edges, other.n_edges),
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


def _cycles_found(
    cycles: tuple[frozenset[str], ...], others: tuple[frozenset[str], ...]
) -> list[bool]:
    return [any(_overlap(cycle, other) >= SAME_CYCLE for other in others) for cycle in cycles]


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    union = len(one | other)
    return len(one & other) / union if union else 0.0


def _agreement(n_found: int, n_edges: int, n_other: int) -> float:
    """Common edges as a share of all; two graphs without edges agree."""
    union = n_edges + n_other - n_found
    return min(1.0, n_found / union) if union else 1.0
