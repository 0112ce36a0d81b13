"""Closed forms: Gaussian models, and Ising models without fields and with at most one cycle.

On a forest the correlation of two spins is the product along their path; on a ring it is
(a + b) / (1 + ab), where a and b are the products along its two arcs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph

Spins = NDArray[np.int8]
START = -1
"""A dummy node connected to all roots, where the search over the trees starts."""


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """A Gaussian model on a graph.

    Examples
    --------
    >>> path = LatentGraph.build(["a", "b", "c"], 0, [(0, 1), (1, 2)])
    >>> GaussianLaw.of(path, np.array([0.5, -0.5])).correlations().round(3)[0].tolist()
    [1.0, 0.5, -0.25]
    """

    graph: LatentGraph
    precision: FloatArray = field(repr=False)

    @classmethod
    def of(cls, graph: LatentGraph, correlations: FloatArray) -> GaussianLaw:
        """Return the model in which each edge, taken alone, has its correlation."""
        u, v = graph.edges.T
        matrix = np.eye(graph.n_nodes)
        odds = correlations**2 / (1 - correlations**2)
        np.add.at(matrix, (u, u), odds)
        np.add.at(matrix, (v, v), odds)
        matrix[u, v] = matrix[v, u] = -correlations / (1 - correlations**2)
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        if lowest < 1e-9:
            raise InferenceError(
                "No Gaussian model has these edges: they are too strong for their cycles (the "
                f"smallest eigenvalue is {lowest:.3g}). Use longer edges."
            )
        return cls(graph, frozen_array(matrix, np.float64))

    @cached_property
    def covariance(self) -> FloatArray:
        """(columns, columns)"""
        p = self.graph.n_observed
        return frozen_array(np.linalg.inv(self.precision)[:p, :p], np.float64)

    def correlations(self) -> FloatArray:
        """(columns, columns), exact."""
        spread = np.sqrt(np.diag(self.covariance))
        found: FloatArray = self.covariance / np.outer(spread, spread)
        return found

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """(n, columns) independent rows."""
        factor = np.linalg.cholesky(self.covariance)
        rows: FloatArray = rng.standard_normal((n, len(factor))) @ factor.T
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A graph with at most one cycle, split into the ring and trees."""

    ring: IntArray
    """Nodes of the ring in order; empty on a forest."""
    ring_weights: FloatArray
    """Correlations of its edges; the last edge leads back to the first node."""
    trees: LatentGraph
    """The graph without the edges of the ring."""
    roots: tuple[int, ...]
    """One node per tree: the one on the ring, else the first."""
    arcs: tuple[tuple[int, int, float], ...]
    """The tree edges with their correlations, breadth first from the roots."""

    @classmethod
    def of(cls, graph: LatentGraph, correlations: FloatArray) -> Parts:
        """Split a graph with at most one cycle; ``correlations`` are those of its edges."""
        if graph.n_cycles > 1:
            raise InferenceError(f"The graph has {graph.n_cycles} cycles; at most one is allowed.")
        ring = [node for cycle in graph.cycles for node in cycle]
        # with one cycle, an edge between two of its nodes lies on it
        kept = ~np.isin(graph.edges, ring).all(axis=1)
        trees = LatentGraph.build(
            graph.names, graph.n_hidden, graph.edges[kept], graph.lengths[kept]
        )
        pairs = zip(graph.edges.tolist(), correlations.tolist(), strict=True)
        weights = {frozenset(ends): weight for ends, weight in pairs}
        around = [weights[frozenset(ends)] for ends in pairwise([*ring, *ring[:1]])]
        of_tree = trees.component_of.tolist()
        root = {of_tree[node]: node for node in reversed(range(trees.n_nodes))}
        roots = tuple((root | {of_tree[node]: node for node in ring}).values())
        walked = trees.to_networkx()
        walked.add_edges_from((START, root) for root in roots)
        steps = [ends for ends in nx.bfs_edges(walked, START) if START not in ends]
        arcs = tuple((*ends, weights[frozenset(ends)]) for ends in steps)
        return cls(np.array(ring, dtype=np.int64), np.array(around), trees, roots, arcs)

    def column_correlations(self, p: int) -> FloatArray:
        """(p, p) exact correlations of the columns."""
        signs = np.ones(self.trees.n_nodes)
        for known, new, correlation in self.arcs:
            signs[new] = signs[known] * np.sign(correlation)
        along_trees = signs[:p, None] * signs * np.exp(-self.trees.path_lengths(range(p)))
        # each column is connected to at most one node of the ring by trees
        to_ring = along_trees[:, self.ring]
        around = to_ring @ _ring_correlations(self.ring_weights) @ to_ring.T
        tree = self.trees.component_of[:p]
        return np.where(tree[:, None] == tree, along_trees[:, :p], around)


def _ring_correlations(weights: FloatArray) -> FloatArray:
    """(k, k) correlations on a ring, from those of its edges: (a + b) / (1 + ab)."""
    k = len(weights)
    one_way = np.ones((k, k))
    for start in range(k):
        along = np.cumprod(np.roll(weights, -start)[:-1])
        one_way[start, (start + 1 + np.arange(k - 1)) % k] = along
    whole = np.prod(weights)
    # the arc from j to i completes that from i to j; on the diagonal it is the whole ring
    other_way = one_way.T - np.diag(np.full(k, 1 - whole))
    correlations: FloatArray = (one_way + other_way) / (1 + whole)
    return correlations


def sample_spins(parts: Parts, n: int, rng: np.random.Generator) -> Spins:
    """(nodes, n) spins: first the roots, then each node given its predecessor."""
    spins = np.empty((parts.trees.n_nodes, n), dtype=np.int8)
    for root in parts.roots:
        if root not in parts.ring[1:]:
            spins[root] = 2 * (rng.random(n) < 0.5) - 1
    _sample_ring(spins, parts, rng)
    for known, new, correlation in parts.arcs:
        stays = rng.random(n) < (1 + correlation) / 2
        spins[new] = np.where(stays, spins[known], -spins[known])
    return spins


def _sample_ring(spins: Spins, parts: Parts, rng: np.random.Generator) -> None:
    """Sample the ring after its first node, each node given its predecessor and the first."""
    # the arc from a node to the first acts like one edge with the product of the correlations
    if len(parts.ring) == 0:
        return
    first = spins[parts.ring[0]]
    onward = np.cumprod(parts.ring_weights[::-1])[::-1]
    for k, (known, new) in enumerate(pairwise(parts.ring)):
        weight = parts.ring_weights[k]
        pull = onward[k + 1] * (spins[known] * first)
        stays = (1 + weight) * (1 + pull) / (2 + 2 * weight * pull)
        same = rng.random(len(first)) < stays
        spins[new] = np.where(same, spins[known], -spins[known])
