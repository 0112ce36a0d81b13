"""The union of several graphs on the same columns, with hidden nodes matched."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from loopylatent.analysis.matching import HiddenIndex
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, frozen_array
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph


@dataclass(frozen=True, eq=False)
class Overlay:
    """The union of several graphs; the arrays have one column per graph."""

    graph: LatentGraph
    edges_in: BoolArray = field(repr=False)
    hidden_in: BoolArray = field(repr=False)
    nodes: tuple[IntArray, ...] = field(repr=False)
    """For each graph, the numbers of its nodes in ``graph``."""
    cosines: FloatArray = field(repr=False)
    """Of each hidden node with its first occurrence; NaN if a graph lacks the node."""
    lengths: FloatArray = field(repr=False)

    @property
    def n_graphs(self) -> int:
        return len(self.nodes)

    def part(self, which: int) -> LatentGraph:
        """Return one of the graphs in the common numbering; nodes that it lacks are isolated."""
        own = self.edges_in[:, which]
        return LatentGraph.build(
            self.graph.names, self.graph.n_hidden, self.graph.edges[own], self.lengths[own, which]
        )

    def difference(self, left: int, right: int) -> Difference:
        """Return which edges and hidden nodes are in both, or only one, of two graphs."""
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
        """The number of edges and hidden nodes of one status."""
        return int((self.edges == which).sum()), int((self.hidden == which).sum())


def overlay(graphs: Sequence[LatentGraph]) -> Overlay:
    """Return the union of two or more graphs."""
    if len(graphs) < 2:
        raise DataError(f"A comparison needs at least two graphs, not {len(graphs)}.")
    index = HiddenIndex(graphs[0].names)
    nodes, cosines = zip(*(index.add(graph) for graph in graphs), strict=True)
    p = graphs[0].n_observed
    by_node = np.full((index.n_hidden, len(graphs)), math.nan)
    for which, (number, cosine) in enumerate(zip(nodes, cosines, strict=True)):
        by_node[number[p:] - p, which] = cosine
    union, lengths = _united(graphs[0].names, index.n_hidden, graphs, nodes)
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
    heads = ["graph", "columns", "hidden nodes", "edges", "cycles", "shortest cycle", "components"]
    return pd.DataFrame(rows, columns=heads)


def _united(
    names: tuple[str, ...], n_hidden: int, graphs: Sequence[LatentGraph], nodes: Sequence[IntArray]
) -> tuple[LatentGraph, FloatArray]:
    """Return the union of the edges, and (edges, graphs) their lengths, NaN where absent."""
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
