"""One graph of what many graphs on the same columns have in common.

Each graph is added in turn. Its hidden nodes are matched with those met before, by their profiles,
and the others are new. Then every edge has a count, and those that enough graphs have are kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.analysis.matching import Met
from loopylatent.compute.arrays import FloatArray, IntArray, frozen_array
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph

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
        """Return the graph of the edges that at least ``share`` of the graphs have.

        A hidden node that is left with one neighbour goes; one with two becomes an edge.
        """
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
