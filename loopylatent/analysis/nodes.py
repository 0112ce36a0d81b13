"""Questions about one node: what is near it, which cycles it lies on, which visit created it.

The hidden nodes of a graph at a glance: what is near each, and whether it lies on loops.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.trace import CleanUpStep, VisitStep


@dataclass(frozen=True, slots=True)
class Near:
    """A node and how far away it is."""

    node: int
    distance: float

    @property
    def strength(self) -> float:
        return math.exp(-self.distance)


@dataclass(frozen=True, slots=True)
class Birth:
    """The visit that created a hidden node."""

    number: int
    """Counted from 1 over all visits."""
    step: int
    """Position of the visit in the trace."""
    visited: int
    """The column at which it happened."""


def neighbours_of(graph: LatentGraph, node: int) -> tuple[Near, ...]:
    """Return the nodes next to ``node``, nearest first."""
    start, stop = graph.adjacency.indptr[node : node + 2]
    ends = graph.adjacency.indices[start:stop].tolist()
    lengths = graph.adjacency.data[start:stop].tolist()
    found = [Near(int(end), float(length)) for end, length in zip(ends, lengths, strict=True)]
    return tuple(sorted(found, key=lambda near: (near.distance, near.node)))


def nearest_columns(
    where: LatentGraph | DistanceMatrix, node: int, most: int = 10
) -> tuple[Near, ...]:
    """Return the columns nearest to a node, along a graph or by the estimated distances."""
    if isinstance(where, LatentGraph):
        lengths = where.path_lengths([node])[0, : where.n_observed]
    else:
        lengths = where.values[node]
    order = np.argsort(lengths, kind="stable").tolist()
    found = [Near(k, float(lengths[k])) for k in order if k != node and np.isfinite(lengths[k])]
    return tuple(found[:most])


def columns_near_hidden(graph: LatentGraph, most: int = 5) -> tuple[tuple[int, ...], ...]:
    """Return for every hidden node the columns nearest to it along the graph, found at once."""
    lengths = graph.path_lengths(graph.hidden_nodes)[:, : graph.n_observed]
    near = zip(np.argsort(lengths, axis=1, kind="stable")[:, :most], lengths, strict=True)
    return tuple(tuple(order[np.isfinite(own[order])].tolist()) for order, own in near)


def cycles_through(graph: LatentGraph, node: int) -> tuple[tuple[int, ...], ...]:
    """Return the cycles of the minimum cycle basis on which a node lies, shortest first."""
    return tuple(cycle for cycle in graph.cycles if node in cycle)


def birth_of(result: LearnResult, node: int) -> Birth | None:
    """Return the visit that created a hidden node; None for a column, or without a trace."""
    if result.trace is None or node < result.graph.n_observed:
        return None
    last = result.trace[-1]
    assert isinstance(last, CleanUpStep)
    working = last.hidden_ids[node - result.graph.n_observed]
    visits = [(k, step) for k, step in enumerate(result.trace) if isinstance(step, VisitStep)]
    for number, (k, step) in enumerate(visits, start=1):
        if any(join.is_new and join.parent == working for join in step.joins):
            return Birth(number, k, step.node)
    return None


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
    """Describe every hidden node, those with most columns next to them first."""
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
    """Return the columns nearest to a node along the graph, looking no farther than needed."""
    walk = nearest_first(edges_beside(graph).__getitem__, node)
    near = (Near(one.node, one.distance) for one in walk if one.node < graph.n_observed)
    return tuple(islice((one for one in near if one.node != node), most))


@dataclass(frozen=True, slots=True)
class Reached:
    """A node, how far it is from the start, and the node before it on the way."""

    distance: float
    node: int
    before: int


def nearest_first(
    beside: Callable[[int], Iterable[tuple[float, int]]], start: int
) -> Iterator[Reached]:
    """Yield the nodes along a graph, nearest first, of equals the lower number; Dijkstra's walk."""
    waiting, done = [(0.0, start, start)], set[int]()
    while waiting:
        so_far, node, before = heapq.heappop(waiting)
        if node in done:
            continue
        done.add(node)
        yield Reached(so_far, node, before)
        for length, other in beside(node):
            if other not in done:
                heapq.heappush(waiting, (so_far + length, other, node))


@lru_cache(maxsize=8)
def edges_beside(graph: LatentGraph) -> tuple[tuple[tuple[float, int], ...], ...]:
    """For each node its neighbours with the lengths of the edges, the nearest first."""
    beside: list[list[tuple[float, int]]] = [[] for _ in range(graph.n_nodes)]
    for (u, v), length in zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True):
        beside[u].append((length, v))
        beside[v].append((length, u))
    return tuple(tuple(sorted(near)) for near in beside)
