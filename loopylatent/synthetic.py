"""Models with a known graph: exact distances, exact samples (the oracle of section 5.1).

The models are Ising models without fields. The strength e^-length of an edge is |tanh(theta)|,
theta its potential. On a forest the correlation of two nodes is the product along their path; on a
ring with a and b the products along its two arcs it is (a + b) / (1 + ab).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from operator import index
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix
from loopylatent.errors import DataError, InferenceError, ThresholdError, quoted
from loopylatent.graph import FloatArray, IntArray, LatentGraph, frozen_array

Spins = NDArray[np.int8]
Range = tuple[float, float]

LENGTHS = (0.2, 0.4)
"""The range from which edge lengths are drawn unless another one is given."""
STRONGEST_POTENTIAL = 10.0
"""Its length is 4e-9: two nodes joined more strongly are one node in any table."""


@dataclass(frozen=True, eq=False)
class SyntheticModel:
    """A graph with edge lengths, and the Ising model without fields that has them.

    Parameters
    ----------
    graph : LatentGraph
        The truth; an edge of length l has the correlation e^-l, up to its sign, on its own.
    signs : (m,) int64 array
        1 or -1 for each edge, in the order of ``graph.edges``.

    Examples
    --------
    >>> model = latent_cycle(girth=6, leaves=1, seed=1)
    >>> model.graph
    LatentGraph(6 observed, 6 hidden, 12 edges, 1 cycles)
    >>> model.sample(100, seed=2).n_rows
    100
    """

    graph: LatentGraph
    signs: IntArray = field(repr=False)

    @cached_property
    def edge_correlations(self) -> FloatArray:
        """(m,) the correlation that each edge would give on its own, tanh(theta)."""
        return frozen_array(self.signs * np.exp(-self.graph.lengths), np.float64)

    def distances(self) -> DistanceMatrix:
        """Return the shortest path lengths between the columns: what the learner hopes for."""
        p = self.graph.n_observed
        values = self.graph.path_lengths(range(p))[:, :p]
        return DistanceMatrix.from_array(values, self.graph.names)

    def ising_distances(self) -> DistanceMatrix:
        """Return -log|correlation| of the columns: what infinitely many rows would give.

        On a forest these are the path lengths; on a ring both arcs count, which brings its columns
        nearer to each other where all signs are positive.
        """
        with np.errstate(divide="ignore"):
            values = -np.log(np.abs(self.correlations()))
        return DistanceMatrix.from_array(np.abs(values), self.graph.names)

    def correlations(self) -> FloatArray:
        """Return the exact (columns, columns) correlations of the Ising model.

        Raises
        ------
        InferenceError
            Where the graph has more than one cycle.
        """
        parts = _Parts.of(self)
        p = self.graph.n_observed
        along_trees = parts.tree_correlations(p)
        # a column hangs on at most one node of the ring
        to_ring = along_trees[:, parts.ring]
        around = to_ring @ _ring_correlations(parts.ring_weights) @ to_ring.T
        tree = parts.trees.component_of[:p]
        return np.where(tree[:, None] == tree, along_trees[:, :p], around)

    def sample(self, n: int, seed: int = 0) -> Observations:
        """Draw ``n`` independent rows of the columns, exactly, with the values 0 and 1.

        Raises
        ------
        InferenceError
            Where the graph has more than one cycle.
        """
        spins = _sample_spins(_Parts.of(self), _count("n", n, 1), _generator(seed))
        columns = (spins[: self.graph.n_observed] + 1) // 2
        return Observations.from_frame(pd.DataFrame(columns.T, columns=list(self.graph.names)))


def latent_cycle(
    girth: int = 10,
    leaves: int = 2,
    *,
    lengths: Range = LENGTHS,
    potentials: Range | None = None,
    random_signs: bool = False,
    seed: int = 0,
) -> SyntheticModel:
    """Return a ring of hidden nodes, each with observed leaves.

    Parameters
    ----------
    girth : int
        Hidden nodes on the ring, at least 3.
    leaves : int
        Columns on each of them, at least 1.
    lengths : pair of float
        Edge lengths are drawn uniformly from this range.
    potentials : pair of float, optional
        Draw the Ising potentials of the edges instead; their lengths are -log tanh(theta). The
        paper takes 0.05 to 0.2.
    random_signs : bool
        Whether the correlation of an edge is negative with probability one half.
    seed : int

    Examples
    --------
    >>> latent_cycle(girth=8, leaves=3).graph
    LatentGraph(24 observed, 8 hidden, 32 edges, 1 cycles)
    """
    ring: nx.Graph[int] = nx.cycle_graph(_count("girth", girth, 3))
    on_each = _count("leaves", leaves, 1)
    plan = _planted(ring, set(ring), dict.fromkeys(ring, on_each))
    return _with_parameters(plan, lengths, potentials, random_signs, _generator(seed))


def latent_tree(
    n_hidden: int = 6,
    n_observed_inner: int = 2,
    leaves: int = 0,
    *,
    lengths: Range = LENGTHS,
    potentials: Range | None = None,
    random_signs: bool = False,
    seed: int = 0,
) -> SyntheticModel:
    """Return a random tree whose inner nodes are hidden or observed.

    The inner nodes form a tree drawn uniformly from all trees. Then observed leaves are added: on
    every hidden node ``leaves``, or more where its degree would be below 3, and on observed inner
    nodes as many as make them inner.

    Parameters
    ----------
    n_hidden, n_observed_inner : int
        How many inner nodes there are, together at least 1.
    leaves : int
        The least number of leaves on every hidden node.
    lengths, potentials, random_signs, seed
        As in `latent_cycle`.

    Examples
    --------
    >>> tree = latent_tree(n_hidden=3, n_observed_inner=1, seed=4).graph
    >>> tree.n_hidden, tree.n_cycles, [len(tree.neighbours(h)) for h in tree.hidden_nodes]
    (3, 0, [3, 3, 3])
    """
    counts = _count("n_hidden", n_hidden, 0), _count("n_observed_inner", n_observed_inner, 0)
    least = _count("leaves", leaves, 0)
    if sum(counts) == 0:
        raise ThresholdError("n_hidden + n_observed_inner = 0; a tree needs an inner node.")
    rng = _generator(seed)
    inner = _random_tree(sum(counts), rng)
    hidden = set(rng.choice(sum(counts), counts[0], replace=False).tolist())
    needed = {
        node: max(least, 3 - degree) if node in hidden else max(0, 2 - degree)
        for node, degree in inner.degree
    }
    plan = _planted(inner, hidden, needed)
    return _with_parameters(plan, lengths, potentials, random_signs, rng)


def from_skeleton(
    nx_graph: nx.Graph[Any],
    leaves: int = 1,
    hidden: Iterable[Hashable] | None = None,
    *,
    lengths: Range = LENGTHS,
    potentials: Range | None = None,
    random_signs: bool = False,
    seed: int = 0,
) -> SyntheticModel:
    """Return the given graph with hidden nodes, each of them with observed leaves.

    Parameters
    ----------
    nx_graph : networkx.Graph
        The skeleton; its own edge attributes are not read.
    leaves : int
        Columns on each hidden node.
    hidden : iterable of nodes, optional
        Which nodes are hidden (default: all). The others are columns, the first ones.
    lengths, potentials, random_signs, seed
        As in `latent_cycle`.

    Raises
    ------
    DataError
        Where the skeleton is no simple graph, or a hidden node has a degree below 3.

    Examples
    --------
    >>> import networkx as nx
    >>> from_skeleton(nx.petersen_graph(), leaves=2).graph
    LatentGraph(20 observed, 10 hidden, 35 edges, 6 cycles)
    """
    on_each = _count("leaves", leaves, 0)
    _check_skeleton(nx_graph)
    chosen = dict.fromkeys(nx_graph if hidden is None else hidden)
    for node in chosen:
        if node not in nx_graph:
            raise DataError(
                f"hidden node {quoted(str(node))} is not in the skeleton; give nodes that it has."
            )
    for node in nx_graph:
        if node in chosen and nx_graph.degree[node] + on_each < 3:
            raise DataError(
                f"hidden node {quoted(str(node))} has {nx_graph.degree[node]} neighbours and "
                f"{on_each} leaves, together below 3; give more leaves or make it observed."
            )
    plan = _planted(nx_graph, set(chosen), dict.fromkeys(chosen, on_each))
    return _with_parameters(plan, lengths, potentials, random_signs, _generator(seed))


def _check_skeleton(skeleton: nx.Graph[Any]) -> None:
    if skeleton.is_directed() or skeleton.is_multigraph():
        raise DataError("the skeleton is directed or has parallel edges; give a networkx.Graph.")
    if len(skeleton) == 0:
        raise DataError("the skeleton has no nodes; give a graph with at least one.")
    loops = list(nx.nodes_with_selfloops(skeleton))
    if loops:
        raise DataError(
            f"node {quoted(str(loops[0]))} of the skeleton has an edge to itself; remove it."
        )


def _planted(
    inner: nx.Graph[Any], hidden: Collection[Hashable], leaves: Mapping[Any, int]
) -> LatentGraph:
    """Number the observed inner nodes, then the leaves, then the hidden nodes; lengths are 1."""
    owners = [node for node in inner for _ in range(leaves.get(node, 0))]
    observed = [node for node in inner if node not in hidden]
    p = len(observed) + len(owners)
    number = {node: k for k, node in enumerate(observed)}
    number.update({node: p + k for k, node in enumerate(n for n in inner if n in hidden)})
    edges = [(number[u], number[v]) for u, v in inner.edges]
    edges += [(len(observed) + k, number[owner]) for k, owner in enumerate(owners)]
    return LatentGraph.build([f"x{k + 1}" for k in range(p)], len(hidden), edges)


def _random_tree(n_nodes: int, rng: np.random.Generator) -> nx.Graph[int]:
    """Draw a tree on ``0..n_nodes-1``, all equally likely, by its Prüfer sequence."""
    tree: nx.Graph[int] = nx.path_graph(n_nodes)
    if n_nodes > 2:
        tree = nx.from_prufer_sequence(rng.integers(n_nodes, size=n_nodes - 2).tolist())
    return tree


def _with_parameters(
    plan: LatentGraph,
    lengths: Range,
    potentials: Range | None,
    random_signs: bool,
    rng: np.random.Generator,
) -> SyntheticModel:
    """Draw a length and a sign for each edge, in the order of the edges."""
    if potentials is None:
        drawn = _uniform("lengths", lengths, np.inf, plan.n_edges, rng)
    else:
        theta = _uniform("potentials", potentials, STRONGEST_POTENTIAL, plan.n_edges, rng)
        drawn = -np.log(np.tanh(theta))
    signs = rng.choice([-1, 1], plan.n_edges) if random_signs else np.ones(plan.n_edges)
    graph = LatentGraph.build(plan.names, plan.n_hidden, plan.edges, drawn)
    return SyntheticModel(graph, frozen_array(signs, np.int64))


def _uniform(
    name: str, limits: Range, largest: float, size: int, rng: np.random.Generator
) -> FloatArray:
    try:
        low, high = (float(limit) for limit in limits)
    except (TypeError, ValueError):
        raise ThresholdError(f"{name} = {limits!r} is no range; give two numbers.") from None
    if not 0 < low <= high <= largest or not np.isfinite(high):
        bound = f" of at most {largest:g}" if np.isfinite(largest) else ""
        raise ThresholdError(
            f"{name} = ({low:g}, {high:g}) is no range above 0; give two numbers{bound}, "
            "the smaller one first."
        )
    return rng.uniform(low, high, size)


def _count(name: str, value: int, least: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise ThresholdError(f"{name} = {value!r} is no whole number.") from None
    if number < least:
        raise ThresholdError(f"{name} = {number} is too few; give at least {least}.")
    return number


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(_count("seed", seed, 0))


@dataclass(frozen=True, slots=True)
class _Arc:
    """An edge, walked from a node whose spin is known to one whose spin is not."""

    known: int
    new: int
    correlation: float


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """A model with at most one cycle, as that ring and the trees that hang on it or lie apart."""

    ring: IntArray
    """Nodes of the ring in order; none on a forest."""
    ring_weights: FloatArray
    """Correlations of its edges; the last one leads back to the first node."""
    trees: LatentGraph
    """The graph without the edges of the ring."""
    roots: tuple[int, ...]
    """One node for each tree: that on the ring, else the first."""
    arcs: tuple[_Arc, ...]
    """The edges of the trees, walked from the roots."""

    @classmethod
    def of(cls, model: SyntheticModel) -> _Parts:
        graph = model.graph
        if graph.n_cycles > 1:
            raise InferenceError(
                f"the graph has {graph.n_cycles} cycles; rows and correlations are exact only up "
                "to one. Use distances(), or a latent_cycle or latent_tree."
            )
        ring = [node for cycle in graph.cycles for node in cycle]
        # with one cycle, an edge between two of its nodes lies on it
        kept = ~np.isin(graph.edges, ring).all(axis=1)
        trees = LatentGraph.build(
            graph.names, graph.n_hidden, graph.edges[kept], graph.lengths[kept]
        )
        pairs = zip(graph.edges.tolist(), model.edge_correlations.tolist(), strict=True)
        weights = {frozenset(ends): weight for ends, weight in pairs}
        around = [weights[frozenset(ends)] for ends in pairwise([*ring, *ring[:1]])]
        roots = _roots(trees, ring)
        arcs = tuple(_Arc(*ends, weights[frozenset(ends)]) for ends in _walk(trees, roots))
        return cls(np.array(ring, dtype=np.int64), np.array(around), trees, roots, arcs)

    def tree_correlations(self, p: int) -> FloatArray:
        """(p, nodes) correlations of columns and nodes of the same tree; 0 for the others."""
        signs = np.ones(self.trees.n_nodes)
        for arc in self.arcs:
            signs[arc.new] = signs[arc.known] * np.sign(arc.correlation)
        strengths: FloatArray = np.exp(-self.trees.path_lengths(range(p)))
        return signs[:p, None] * signs * strengths


def _roots(trees: LatentGraph, ring: list[int]) -> tuple[int, ...]:
    first = {int(trees.component_of[node]): node for node in reversed(range(trees.n_nodes))}
    on_ring = {int(trees.component_of[node]): node for node in ring}
    return tuple((first | on_ring).values())


def _walk(trees: LatentGraph, roots: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Yield each edge from the end nearer to its root, edges near the root first."""
    known = set(roots)
    queue = deque(roots)
    while queue:
        node = queue.popleft()
        for new in trees.neighbours(node):
            if new not in known:
                known.add(new)
                queue.append(new)
                yield node, new


def _ring_correlations(weights: FloatArray) -> FloatArray:
    """(k, k) correlations on a ring, from those of its edges: (a + b) / (1 + ab)."""
    k = len(weights)
    one_way = np.ones((k, k))
    for start in range(k):
        along = np.cumprod(np.roll(weights, -start)[:-1])
        one_way[start, (start + 1 + np.arange(k - 1)) % k] = along
    whole = np.prod(weights)
    # the way from j to i goes on where that from i to j ends; on the diagonal it is the whole ring
    other_way = one_way.T - np.diag(np.full(k, 1 - whole))
    correlations: FloatArray = (one_way + other_way) / (1 + whole)
    return correlations


def _sample_spins(parts: _Parts, n: int, rng: np.random.Generator) -> Spins:
    """(nodes, n) spins: first the roots, then each other node given the one before it."""
    spins = np.empty((parts.trees.n_nodes, n), dtype=np.int8)
    for root in parts.roots:
        if root not in parts.ring[1:]:
            spins[root] = 2 * (rng.random(n) < 0.5) - 1
    _sample_ring(spins, parts, rng)
    for arc in parts.arcs:
        stays = rng.random(n) < (1 + arc.correlation) / 2
        spins[arc.new] = np.where(stays, spins[arc.known], -spins[arc.known])
    return spins


def _sample_ring(spins: Spins, parts: _Parts, rng: np.random.Generator) -> None:
    """Draw the ring after its first node, each node given the one before it and the first.

    The way from a node on to the first acts like one edge whose correlation is the product.
    """
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
