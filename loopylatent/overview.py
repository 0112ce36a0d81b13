"""The hidden nodes of a graph at a glance: what is near each, and whether it lies on loops."""

from __future__ import annotations

import heapq
from collections import Counter
from dataclasses import dataclass

from loopylatent.graph import LatentGraph
from loopylatent.nodes import Near, neighbours_of

MOST_CYCLES = 400
"""Cycles up to which those of each node are counted; a basis of many more takes too long."""


@dataclass(frozen=True, slots=True)
class HiddenSummary:
    """What a hidden node stands for."""

    node: int
    nearest: tuple[Near, ...]
    """The nearest columns along the graph."""
    n_columns: int
    """Columns next to it."""
    n_cycles: int | None
    """Basic cycles on which it lies; None in a graph of very many."""


def summaries(graph: LatentGraph, most_nearest: int = 5) -> tuple[HiddenSummary, ...]:
    """Describe every hidden node, those with most columns next to them first.

    Examples
    --------
    >>> star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    >>> (star_node,) = summaries(star, most_nearest=2)
    >>> [near.node for near in star_node.nearest], star_node.n_columns, star_node.n_cycles
    ([1, 0], 3, 0)
    """
    counted = graph.n_cycles <= MOST_CYCLES
    on_cycles = Counter(node for cycle in graph.cycles for node in cycle) if counted else Counter()
    found = [
        HiddenSummary(
            node,
            nearest_on_graph(graph, node, most_nearest),
            sum(end < graph.n_observed for end in graph.neighbours(node)),
            on_cycles[node] if counted else None,
        )
        for node in graph.hidden_nodes
    ]
    return tuple(sorted(found, key=lambda one: (-one.n_columns, -(one.n_cycles or 0), one.node)))


def nearest_on_graph(graph: LatentGraph, node: int, most: int) -> tuple[Near, ...]:
    """Return the columns nearest to a node along the graph, looking no farther than needed.

    Examples
    --------
    >>> star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    >>> [(near.node, near.distance) for near in nearest_on_graph(star, 0, 1)]
    [(1, 3.0)]
    """
    waiting, done = [(0.0, node)], set[int]()
    found: list[Near] = []
    while waiting and len(found) < most:
        so_far, here = heapq.heappop(waiting)
        if here in done:
            continue
        done.add(here)
        if here < graph.n_observed and here != node:
            found.append(Near(here, so_far))
        for near in neighbours_of(graph, here):
            if near.node not in done:
                heapq.heappush(waiting, (so_far + near.distance, near.node))
    return tuple(found)
