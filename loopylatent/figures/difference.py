"""What grouping did: the initial graph and the learned one in one picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.graph import LatentGraph

GONE, NEW = "#D55E00", "#009E73"


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Both graphs as one, and what became of each edge."""

    graph: LatentGraph
    """All edges of either graph, on the nodes of the learned one."""
    status: NDArray[np.int64]
    """(edges,) -1 gone, 0 kept, 1 new."""


def difference(initial: LatentGraph, learned: LatentGraph) -> Difference:
    """Unite two graphs on the same columns.

    Examples
    --------
    >>> before = LatentGraph.build(["a", "b", "c"], 0, [(0, 1), (1, 2)])
    >>> after = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    >>> difference(before, after).status.tolist()
    [-1, 1, -1, 1, 1]
    """
    start, end = _lengths(initial), _lengths(learned)
    both = LatentGraph.build(
        learned.names, learned.n_hidden, list(start | end), list((start | end).values())
    )
    status = [(edge in end) - (edge in start) for edge in map(tuple, both.edges.tolist())]
    return Difference(both, np.array(status, dtype=np.int64))


def _lengths(graph: LatentGraph) -> dict[tuple[int, int], float]:
    pairs = [(u, v) for u, v in graph.edges.tolist()]
    return dict(zip(pairs, graph.lengths.tolist(), strict=True))


def mark_edges(edges: list[dict[str, Any]], status: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Colour the edges of a picture by what became of them; those that went are dashed."""
    looks: dict[int, dict[str, Any]] = {
        -1: {"color": {"color": GONE, "highlight": GONE, "hover": GONE}, "dashes": [6, 5]},
        0: {"dashes": False},
        1: {"color": {"color": NEW, "highlight": NEW, "hover": NEW}, "dashes": False},
    }
    return [edge | looks[int(state)] for edge, state in zip(edges, status, strict=True)]


def mark_cycles(edges: list[dict[str, Any]], graph: LatentGraph) -> list[dict[str, Any]]:
    """Emphasise the edges that lie on a cycle and let the others step back."""
    looks: tuple[dict[str, Any], ...] = (
        {"color": {"opacity": 0.25}},
        {"color": {"color": NEW, "highlight": NEW, "hover": NEW}},
    )
    return [
        edge | looks[on_cycle] | ({"title": f"{edge['title']}\non a cycle"} if on_cycle else {})
        for edge, on_cycle in zip(edges, graph.on_cycle.tolist(), strict=True)
    ]
