"""Questions about one node: what is near it, which cycles it lies on, which visit created it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from loopylatent.distances import DistanceMatrix
from loopylatent.graph import LatentGraph
from loopylatent.learn import LearnResult
from loopylatent.trace import CleanUpStep, VisitStep


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
    """Return the nodes next to ``node``, nearest first.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    >>> [near.node for near in neighbours_of(star, 3)]
    [1, 0, 2]
    """
    start, stop = graph.adjacency.indptr[node : node + 2]
    ends = graph.adjacency.indices[start:stop].tolist()
    lengths = graph.adjacency.data[start:stop].tolist()
    found = [Near(int(end), float(length)) for end, length in zip(ends, lengths, strict=True)]
    return tuple(sorted(found, key=lambda near: (near.distance, near.node)))


def nearest_columns(
    where: LatentGraph | DistanceMatrix, node: int, most: int = 10
) -> tuple[Near, ...]:
    """Return the columns nearest to a node, along a graph or by the estimated distances.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    >>> [(near.node, near.distance) for near in nearest_columns(star, 0)]
    [(1, 3.0), (2, 5.0)]
    """
    if isinstance(where, LatentGraph):
        lengths = where.path_lengths([node])[0, : where.n_observed]
    else:
        lengths = where.values[node]
    order = np.argsort(lengths, kind="stable").tolist()
    found = [Near(k, float(lengths[k])) for k in order if k != node and np.isfinite(lengths[k])]
    return tuple(found[:most])


def columns_near_hidden(graph: LatentGraph, most: int = 5) -> tuple[tuple[int, ...], ...]:
    """Return for every hidden node the columns nearest to it along the graph, found at once.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    >>> columns_near_hidden(star, most=2)
    ((1, 0),)
    """
    lengths = graph.path_lengths(graph.hidden_nodes)[:, : graph.n_observed]
    order = np.argsort(lengths, axis=1, kind="stable")[:, :most]
    reached = np.isfinite(np.take_along_axis(lengths, order, axis=1))
    return tuple(
        tuple(columns[there].tolist()) for columns, there in zip(order, reached, strict=True)
    )


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
