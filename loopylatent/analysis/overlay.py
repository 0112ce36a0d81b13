"""Several graphs on the same columns as one; an edge is shared where both of its ends are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from loopylatent.analysis.matching import Met
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, frozen_array
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph


@dataclass(frozen=True, eq=False)
class Overlay:
    """Several graphs laid on top of each other; the arrays have a column for each graph."""

    graph: LatentGraph
    edges_in: BoolArray = field(repr=False)
    hidden_in: BoolArray = field(repr=False)
    nodes: tuple[IntArray, ...] = field(repr=False)
    """Which node of ``graph`` each node of each graph is."""
    cosines: FloatArray = field(repr=False)
    """Of hidden nodes to what they were first met as; NaN where a graph lacks the node."""
    lengths: FloatArray = field(repr=False)

    @property
    def n_graphs(self) -> int:
        return len(self.nodes)

    def part(self, which: int) -> LatentGraph:
        """Return one of the graphs in the common numbering; nodes that it lacks have no edge."""
        own = self.edges_in[:, which]
        return LatentGraph.build(
            self.graph.names, self.graph.n_hidden, self.graph.edges[own], self.lengths[own, which]
        )

    def difference(self, left: int, right: int) -> Difference:
        """Say what two of the graphs share, and what only one of them has."""
        return Difference(
            _status(self.edges_in[:, left], self.edges_in[:, right]),
            _status(self.hidden_in[:, left], self.hidden_in[:, right]),
        )


BOTH, LEFT, RIGHT, NEITHER = 0, -1, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """For each edge and hidden node of an overlay: in both, only left, only right, in neither."""

    edges: IntArray
    hidden: IntArray

    def count(self, which: int) -> tuple[int, int]:
        """Edges and hidden nodes of one status."""
        return int((self.edges == which).sum()), int((self.hidden == which).sum())


def overlay(graphs: Sequence[LatentGraph]) -> Overlay:
    """Lay two or more graphs on top of each other."""
    if len(graphs) < 2:
        raise DataError(f"{len(graphs)} graphs were given; it takes two to compare.")
    met = Met(graphs[0].names)
    nodes, cosines = zip(*(met.meet(graph) for graph in graphs), strict=True)
    p = graphs[0].n_observed
    by_node = np.full((met.n_hidden, len(graphs)), math.nan)
    for which, (number, cosine) in enumerate(zip(nodes, cosines, strict=True)):
        by_node[number[p:] - p, which] = cosine
    union, lengths = _united(graphs[0].names, met.n_hidden, graphs, nodes)
    return Overlay(
        union,
        frozen_array(np.isfinite(lengths), np.bool_),
        frozen_array(np.isfinite(by_node), np.bool_),
        tuple(frozen_array(one, np.int64) for one in nodes),
        frozen_array(by_node, np.float64),
        frozen_array(lengths, np.float64),
    )


def numbers(graphs: Sequence[LatentGraph], names: Sequence[str]) -> pd.DataFrame:
    """Return a row of counts for each graph."""
    rows = [
        (name, one.n_observed, one.n_hidden, one.n_edges, one.n_cycles,
         "–" if math.isinf(one.girth) else f"{one.girth:.0f}", one.n_components)
        for name, one in zip(names, graphs, strict=True)
    ]  # fmt: skip
    heads = ["graph", "columns", "hidden nodes", "edges", "cycles", "shortest cycle", "pieces"]
    return pd.DataFrame(rows, columns=heads)


def _united(
    names: tuple[str, ...], n_hidden: int, graphs: Sequence[LatentGraph], nodes: Sequence[IntArray]
) -> tuple[LatentGraph, FloatArray]:
    """Return all edges as one graph, and (edges, graphs) their lengths, NaN where there is none."""
    found: dict[tuple[int, int], dict[int, float]] = {}
    for which, (graph, number) in enumerate(zip(graphs, nodes, strict=True)):
        ends = np.sort(number[graph.edges], axis=1).tolist()
        for (u, v), length in zip(ends, graph.lengths.tolist(), strict=True):
            found.setdefault((u, v), {})[which] = length
    edges = sorted(found)
    lengths = np.array(
        [[found[edge].get(which, math.nan) for which in range(len(graphs))] for edge in edges],
        dtype=np.float64,
    ).reshape(len(edges), len(graphs))
    first = [next(iter(found[edge].values())) for edge in edges]
    return LatentGraph.build(names, n_hidden, edges, first), lengths


def _status(left: BoolArray, right: BoolArray) -> IntArray:
    status = right.astype(np.int64) - left.astype(np.int64)
    return frozen_array(np.where(left | right, status, NEITHER), np.int64)
