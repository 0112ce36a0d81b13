"""Which parts of a graph are found again, in plain Python, to compare the compiled code with."""

from __future__ import annotations

import numpy as np

from loopylatent.analysis.matching import (
    ROUNDING,
    SAME_HIDDEN,
    column_order,
    cycle_columns,
    match_hidden,
)
from loopylatent.analysis.stability.support import SAME_CYCLE, Found
from loopylatent.graph import LatentGraph


def plain_found_again(graph: LatentGraph, other: LatentGraph) -> Found:
    counterpart = dict(enumerate(column_order(graph, other).tolist()))
    counterpart |= {pair.left: pair.right for pair in match_hidden(graph, other, SAME_HIDDEN).pairs}
    adjacent = {frozenset(edge) for edge in other.edges.tolist()}
    splits, other_splits = inner_splits(graph), set(inner_splits(other).values())
    edges = np.array([
        splits[u, v] in other_splits if (u, v) in splits
        else frozenset((counterpart.get(u), counterpart.get(v))) in adjacent
        for u, v in graph.edges.tolist()
    ], dtype=bool)  # fmt: skip
    hidden = np.array([node in counterpart for node in graph.hidden_nodes], dtype=bool)
    others = cycle_columns(other)
    cycles = np.array([
        any(_jaccard(one, two) >= SAME_CYCLE for two in others) for one in cycle_columns(graph)
    ], dtype=bool)  # fmt: skip
    union = graph.n_edges + other.n_edges - int(edges.sum())
    return Found(edges, hidden, cycles, min(1.0, edges.sum() / union) if union else 1.0)


def _jaccard(one: frozenset[str], two: frozenset[str]) -> float:
    return len(one & two) / len(one | two) if one | two else 0.0


def inner_splits(graph: LatentGraph) -> dict[tuple[int, int], frozenset[frozenset[str]]]:
    """Return the columns on each side of every edge between hidden nodes."""
    p = graph.n_observed
    lengths = graph.path_lengths()[:, :p]
    return {
        (u, w): frozenset(_nearer(graph, lengths[a], lengths[b]) for a, b in ((u, w), (w, u)))
        for u, w in graph.edges.tolist()
        if u >= p
    }


def _nearer(graph: LatentGraph, from_u: np.ndarray, from_w: np.ndarray) -> frozenset[str]:
    nearer = from_u < from_w * (1 - ROUNDING)
    return frozenset(name for name, near in zip(graph.names, nearer, strict=True) if near)
