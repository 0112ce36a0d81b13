"""The learned graph: observed and hidden nodes, and edges with lengths (section 2.1)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, Shown, frozen_array, wrong_type
from loopylatent.errors import DataError

if TYPE_CHECKING:
    import networkx as nx


@dataclass(frozen=True, eq=False)
class LatentGraph(Shown):
    """An undirected graph on observed nodes ``0..p-1`` and hidden nodes from ``p`` on.

    Parameters
    ----------
    names : tuple of str
        One name for each observed node (column).
    n_hidden : int
        Hidden nodes are ``p .. p + n_hidden - 1``, in order of creation.
    edges : (m, 2) int64 array
        Each edge once, smaller node first, sorted.
    lengths : (m,) float64 array
        The information distance along each edge.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)], [1.0, 2.0, 3.0])
    >>> star.n_observed, star.n_hidden, star.n_edges, star.n_cycles
    (3, 1, 3, 0)
    >>> star.neighbours(3)
    (0, 1, 2)
    """

    names: tuple[str, ...]
    n_hidden: int
    edges: IntArray = field(repr=False)
    lengths: FloatArray = field(repr=False)

    @classmethod
    def build(
        cls,
        names: Sequence[str],
        n_hidden: int,
        edges: Iterable[Sequence[int]] | IntArray,
        lengths: Iterable[float] | FloatArray | None = None,
    ) -> LatentGraph:
        """Build a graph from edges in any order; lengths default to 1."""
        pairs = np.asarray(edges if isinstance(edges, np.ndarray) else list(edges), dtype=np.int64)
        pairs = np.sort(pairs.reshape(-1, 2), axis=1)
        raw = np.ones(len(pairs)) if lengths is None else lengths
        values = np.asarray(raw if isinstance(raw, np.ndarray) else list(raw), np.float64)
        _check_edges(pairs, values, len(names) + n_hidden)
        order = np.lexsort((pairs[:, 1], pairs[:, 0]))
        graph = cls(
            tuple(str(name) for name in names),
            int(n_hidden),
            frozen_array(pairs[order], np.int64),
            frozen_array(values[order], np.float64),
        )
        repeated = (np.diff(graph.edges, axis=0) == 0).all(axis=1)
        if repeated.any():
            u, v = graph.edges[int(repeated.argmax())]
            raise DataError(f"Edge ({u}, {v}) occurs twice; list each edge once.")
        return graph

    @property
    def n_observed(self) -> int:
        return len(self.names)

    @property
    def n_nodes(self) -> int:
        return self.n_observed + self.n_hidden

    @property
    def n_edges(self) -> int:
        return len(self.edges)

    @property
    def hidden_nodes(self) -> range:
        return range(self.n_observed, self.n_nodes)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Names of all nodes; hidden nodes are h1, h2, ..., unless a column has such a name."""
        taken = set(self.names)
        prefix = "h"
        while any(f"{prefix}{k + 1}" in taken for k in range(self.n_hidden)):
            prefix = "_" + prefix
        return self.names + tuple(f"{prefix}{k + 1}" for k in range(self.n_hidden))

    @cached_property
    def adjacency(self) -> csr_array[np.float64, tuple[int, int]]:
        """Symmetric (nodes, nodes) matrix of edge lengths; zero lengths are stored explicitly."""
        u, v = self.edges.T
        rows, columns = np.concatenate([u, v]), np.concatenate([v, u])
        order = np.lexsort((columns, rows))
        starts = np.searchsorted(rows[order], np.arange(self.n_nodes + 1))
        data = np.concatenate([self.lengths, self.lengths])[order]
        return csr_array((data, columns[order], starts), shape=(self.n_nodes, self.n_nodes))

    @cached_property
    def degrees(self) -> IntArray:
        return frozen_array(np.bincount(self.edges.ravel(), minlength=self.n_nodes), np.int64)

    @cached_property
    def component_of(self) -> IntArray:
        """(nodes,) the connected component of each node, numbered by first node."""
        _, component = connected_components(self.adjacency, directed=False)
        return frozen_array(component, np.int64)

    @property
    def n_components(self) -> int:
        return int(self.component_of.max()) + 1 if self.n_nodes else 0

    @property
    def n_cycles(self) -> int:
        """Number of independent cycles: edges - nodes + components."""
        return self.n_edges - self.n_nodes + self.n_components

    @cached_property
    def girth(self) -> float:
        """Edges on the shortest cycle; infinite for a forest."""
        import networkx as nx

        return math.inf if self.n_cycles == 0 else float(nx.girth(self.to_networkx()))

    @cached_property
    def cycles(self) -> tuple[tuple[int, ...], ...]:
        """A minimum cycle basis, each cycle as its nodes in order, shortest cycles first."""
        return minimum_cycle_basis(self.n_nodes, self.edges)

    @cached_property
    def on_cycle(self) -> NDArray[np.bool_]:
        """(edges,) whether each edge lies on a cycle, that is, is not a bridge."""
        import networkx as nx

        pairs: Any = nx.bridges(self.to_networkx())
        bridges = {frozenset(pair) for pair in pairs}
        return frozen_array([frozenset(e) not in bridges for e in self.edges.tolist()], np.bool_)

    def neighbours(self, node: int) -> tuple[int, ...]:
        """Return the neighbours of ``node``, ascending."""
        self._check_node(node)
        start, stop = self.adjacency.indptr[node : node + 2]
        return tuple(int(other) for other in self.adjacency.indices[start:stop])

    def neighbourhood(self, node: int, steps: int = 1) -> tuple[int, ...]:
        """Return every node at most ``steps`` edges away, ``node`` included, ascending."""
        self._check_node(node)
        found, frontier = {node}, {node}
        for _ in range(steps):
            frontier = {other for near in frontier for other in self.neighbours(near)} - found
            found |= frontier
        return tuple(sorted(found))

    def path_lengths(self, sources: Sequence[int] | range | None = None) -> FloatArray:
        """Shortest path lengths from ``sources`` (default: all nodes) to all nodes."""
        indices = np.arange(self.n_nodes) if sources is None else np.asarray(sources, dtype=int)
        if len(indices) == 0:
            return np.zeros((0, self.n_nodes))
        lengths: FloatArray = dijkstra(self.adjacency, directed=False, indices=indices)
        return lengths

    @cached_property
    def digest(self) -> str:
        """A hash of names, edges and lengths; equal graphs have equal digests."""
        hasher = hashlib.sha256(repr((self.names, self.n_hidden)).encode())
        hasher.update(self.edges.tobytes())
        hasher.update(self.lengths.tobytes())
        return hasher.hexdigest()[:16]

    def to_networkx(self) -> nx.Graph[int]:
        """Return a networkx graph: nodes with ``hidden`` and ``label``, edges with ``distance``."""
        import networkx as nx

        graph: nx.Graph[int] = nx.Graph()
        for node, label in enumerate(self.labels):
            graph.add_node(node, hidden=node >= self.n_observed, label=label)
        for (u, v), length in zip(self.edges.tolist(), self.lengths.tolist(), strict=True):
            graph.add_edge(u, v, distance=length)
        return graph

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LatentGraph) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        return (
            f"LatentGraph({self.n_observed} observed, {self.n_hidden} hidden, "
            f"{self.n_edges} edges, {self.n_cycles} cycles)"
        )

    def _check_node(self, node: int) -> None:
        if not 0 <= node < self.n_nodes:
            raise DataError(f"Node {node} does not exist; nodes are 0 to {self.n_nodes - 1}.")


def check_graph(graph: object) -> None:
    """Raise an error if ``graph`` is not a LatentGraph."""
    if not isinstance(graph, LatentGraph):
        remedy = "result.graph" if hasattr(graph, "graph") else "learn(D).graph"
        raise DataError(*wrong_type("a LatentGraph", graph, remedy))


def _check_edges(pairs: IntArray, lengths: FloatArray, n_nodes: int) -> None:
    if len(lengths) != len(pairs):
        raise DataError(f"{len(pairs)} edges but {len(lengths)} lengths; give one per edge.")
    if len(pairs) == 0:
        return
    if pairs.min() < 0 or pairs.max() >= n_nodes:
        raise DataError(f"An edge has a node outside 0 to {n_nodes - 1}.")
    loops = pairs[:, 0] == pairs[:, 1]
    if loops.any():
        raise DataError(f"Node {pairs[loops][0, 0]} has an edge to itself; remove it.")
    if not (np.isfinite(lengths) & (lengths >= 0)).all():
        raise DataError("Edge lengths must be finite and at least 0.")


def minimum_cycle_basis(n_nodes: int, edges: IntArray) -> tuple[tuple[int, ...], ...]:
    """Return a minimum cycle basis, each cycle as its nodes in order, shortest cycles first.

    A cycle begins with its smallest node and goes on with the smaller neighbour of that node.
    """
    pairs = np.array(edges, dtype=np.int64).reshape(-1, 2)
    first, nodes = _kernels.cycles.cycle_nodes(n_nodes, pairs, tie_breakers(len(pairs)))
    found = (tuple(one.tolist()) for one in np.split(nodes, first[1:-1]))
    return tuple(sorted((one for one in found if one), key=lambda cycle: (len(cycle), cycle)))


def tie_breakers(n_edges: int) -> FloatArray:
    """Return random numbers that choose among shortest paths with equally many edges."""
    return _random_numbers(1 << max(10, n_edges.bit_length()))


@lru_cache(maxsize=8)
def _random_numbers(size: int) -> FloatArray:
    return np.random.default_rng(0).random(size)


# Names and groups of nodes ------------------------------------------------------------------

Groups = Mapping[int, int] | Sequence[int] | NDArray[np.integer]


def node_labels(
    graph: LatentGraph, hidden_names: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """Names of all nodes, with the user's names for hidden nodes."""
    labels = list(graph.labels)
    for node, name in (hidden_names or {}).items():
        if node not in graph.hidden_nodes:
            raise DataError(
                f"Node {node} is not a hidden node; hidden nodes are {graph.n_observed} to "
                f"{graph.n_nodes - 1}."
            )
        labels[node] = str(name)
    return tuple(labels)


def groups_by_node(graph: LatentGraph, groups: Groups | None) -> dict[int, int]:
    """Group of each node that has one, from a mapping or a sequence."""
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        if len(groups) not in (graph.n_observed, graph.n_nodes):
            raise DataError(
                f"{len(groups)} groups for {graph.n_observed} observed and {graph.n_hidden} "
                f"hidden nodes; give one per observed node or one per node."
            )
        groups = dict(enumerate(groups))
    outside = [node for node in groups if not 0 <= node < graph.n_nodes]
    if outside:
        raise DataError(f"Node {outside[0]} has a group but does not exist; remove it.")
    return {int(node): int(group) for node, group in sorted(groups.items()) if group >= 0}


def names_of_groups(group_of: Mapping[int, int], names: Sequence[str] | None) -> dict[int, str]:
    """Name of each group that occurs; by default its number from 1."""
    numbers = sorted(set(group_of.values()))
    if names is None:
        return {group: f"group {group + 1}" for group in numbers}
    if numbers and numbers[-1] >= len(names):
        raise DataError(
            f"Group {numbers[-1]} has no name; {len(names)} names are given, for groups from 0."
        )
    return {group: str(names[group]) for group in numbers}


def checked_signs(
    graph: LatentGraph, signs: Sequence[int] | NDArray[np.integer] | None
) -> IntArray:
    """-1, 0 or 1 for every edge; 0 where the sign is not known."""
    if signs is None:
        return np.zeros(graph.n_edges, dtype=np.int64)
    if len(signs) != graph.n_edges:
        raise DataError(f"{len(signs)} signs for {graph.n_edges} edges; give one per edge.")
    return np.sign(np.asarray(signs, dtype=np.int64))
