"""The graph while the learner changes it, with the distances between all its nodes."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping.base import LocalTree
from loopylatent.learning.node_distances import NodeDistances
from loopylatent.learning.trace import Contraction, Edge, renumbered


@dataclass(frozen=True, slots=True)
class Changes:
    """The edges that a step took away and those that it put in; equal ones are in neither."""

    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]


class Workspace:
    """A graph that can be changed.

    Nodes carry working numbers: 0..p-1 observed, then hidden ones as they are created. Numbers of
    nodes that have gone are not used again.
    """

    def __init__(self, initial: LatentGraph, distances: NodeDistances) -> None:
        self._names = initial.names
        self.n_observed = initial.n_observed
        self.neighbours: dict[int, dict[int, float]] = {node: {} for node in range(self.n_observed)}
        for (u, v), length in zip(initial.edges.tolist(), initial.lengths.tolist(), strict=True):
            self.neighbours[u][v] = self.neighbours[v][u] = length
        self.surrogates = list(range(self.n_observed))
        """For each working number the observed node at whose visit it was created, or itself."""
        self.gaps = [0.0] * self.n_observed
        """How far each was from its surrogate at birth, where trees are built by surrogates."""
        self._distances = distances
        self._before: dict[tuple[int, int], float | None] = {}

    def copy(self) -> Workspace:
        other: Workspace = copy(self)
        other.neighbours = {node: dict(ends) for node, ends in self.neighbours.items()}
        other.surrogates, other.gaps = list(self.surrogates), list(self.gaps)
        other._distances, other._before = self._distances.copy(), dict(self._before)
        return other

    def is_hidden(self, node: int) -> bool:
        return node >= self.n_observed

    @property
    def hidden_ids(self) -> tuple[int, ...]:
        return tuple(sorted(node for node in self.neighbours if self.is_hidden(node)))

    def closed_neighbourhood(self, node: int) -> tuple[int, ...]:
        """Return ``node`` and the nodes next to it, ascending."""
        return tuple(sorted((node, *self.neighbours[node])))

    def distances_between(self, nodes: Sequence[int]) -> FloatArray:
        """(k, k) a copy of the distances between ``nodes``."""
        return self._distances.between(nodes)

    def distances_between_surrogates(self, nodes: Sequence[int]) -> FloatArray:
        """(k, k) between the columns that stand for ``nodes``; 0 where two have the same one.

        Where those columns are infinitely far apart, the way through the nodes counts.
        """
        block = self.distances_between([self.surrogates[node] for node in nodes])
        gaps = np.array([self.gaps[node] for node in nodes])
        through = self.distances_between(nodes) + gaps[:, None] + gaps
        return np.where(np.isfinite(block), block, through)

    def graph(self) -> LatentGraph:
        edges = {(u, v): d for u, ends in self.neighbours.items() for v, d in ends.items() if u < v}
        return renumbered(self._names, self.hidden_ids, edges)

    def replace(self, members: tuple[int, ...], tree: LocalTree, surrogate: int) -> tuple[int, ...]:
        """Replace all edges between ``members``; return the number of each position of the tree."""
        first_new = len(self.surrogates)
        born = range(first_new, first_new + tree.n_new)
        ids = members + tuple(born)
        self.surrogates += [surrogate] * len(born)
        gaps = np.zeros(len(born))
        if tree.by_surrogates:
            gaps = _paths(len(ids), tree.grown)[members.index(surrogate), len(members) :]
        self.gaps += np.where(np.isfinite(gaps), gaps, 0.0).tolist()
        self._distances.make_room(len(self.surrogates))
        self.neighbours.update({node: {} for node in born})
        inside = set(members)
        for u in members:
            for v in [v for v in self.neighbours[u] if u < v and v in inside]:
                self._set(u, v, None)
        for contraction in tree.contractions:
            self._hand_over(ids[contraction.removed], ids[contraction.survivor])
        for edge in tree.edges:
            self._set(ids[edge.u], ids[edge.v], edge.length)
        self._measure(members, ids, tree)
        return ids

    def drop_idle_hidden(self) -> tuple[int, ...]:
        """Remove hidden nodes of degree 0 and 1, bridge those of degree 2; return what went."""
        gone: list[int] = []
        while idle := [node for node in self.hidden_ids if len(self.neighbours[node]) <= 2]:
            for node in idle:
                ends = sorted(self.neighbours[node].items())
                if len(ends) > 2:
                    continue
                for end, _ in ends:
                    self._set(node, end, None)
                if len(ends) == 2:
                    (u, u_length), (v, v_length) = ends
                    self._offer(u, v, u_length + v_length)
                del self.neighbours[node]
                gone.append(node)
        return tuple(gone)

    def contract_short_edges(self, limit: float) -> tuple[Contraction, ...]:
        """Contract the shortest edge below ``limit`` with a hidden end, until there is none."""
        contracted = []
        short = [edge for node in self.neighbours for edge in self._short_edges(node, limit)]
        heapq.heapify(short)
        while short:
            length, stays, goes = heapq.heappop(short)
            if self.neighbours.get(goes, {}).get(stays) != length:  # it went with another edge
                continue
            self._set(stays, goes, None)
            moved = list(self.neighbours[goes])
            self._hand_over(goes, stays)
            for edge in self._short_edges(stays, limit, moved):
                heapq.heappush(short, edge)
            contracted.append(Contraction(goes, stays, length))
        return tuple(contracted)

    def _short_edges(
        self, node: int, limit: float, others: Iterable[int] | None = None
    ) -> Iterator[tuple[float, int, int]]:
        """Edges below ``limit`` with a hidden end; all to younger nodes, or those to ``others``."""
        ends = self.neighbours[node]
        for other in [v for v in ends if node < v] if others is None else others:
            u, v = (node, other) if node < other else (other, node)
            if ends[other] < limit and self.is_hidden(v):
                yield ends[other], u, v

    def take_changes(self) -> Changes:
        removed, added = [], []
        for (u, v), before in sorted(self._before.items()):
            now = self.neighbours.get(u, {}).get(v)
            if before is not None and now != before:
                removed.append(Edge(u, v, before))
            if now is not None and now != before:
                added.append(Edge(u, v, now))
        self._before = {}
        return Changes(tuple(removed), tuple(added))

    def _set(self, u: int, v: int, length: float | None) -> None:
        pair = (u, v) if u < v else (v, u)
        self._before.setdefault(pair, self.neighbours[u].get(v))
        if length is None:
            del self.neighbours[u][v], self.neighbours[v][u]
            return
        self.neighbours[u][v] = self.neighbours[v][u] = length
        self._distances.note_edge(u, v, length)

    def _offer(self, u: int, v: int, length: float) -> None:
        """Add an edge; of two parallel ones the shorter stays."""
        known = self.neighbours[u].get(v)
        if known is None or length < known:
            self._set(u, v, length)

    def _hand_over(self, goes: int, stays: int) -> None:
        """Give the edges of a contracted node to the survivor, and forget the node."""
        for end, length in list(self.neighbours[goes].items()):
            self._set(goes, end, None)
            self._offer(stays, end, length)
        del self.neighbours[goes]

    def _measure(self, members: tuple[int, ...], ids: tuple[int, ...], tree: LocalTree) -> None:
        """Write the distances of the new hidden nodes that survived."""
        position = {node: k for k, node in enumerate(ids)}
        born = [node for node in ids[len(members) :] if node in self.neighbours]
        if not born:
            return
        there = [node for node in members if node in self.neighbours]
        paths = _paths(len(ids), tree.edges)
        kept = np.array([position[node] for node in there + born])
        self._distances.place(there, born, paths[kept[:, None], kept], self.neighbours)


def _paths(n_nodes: int, edges: Sequence[Edge]) -> FloatArray:
    """(nodes, nodes) path lengths in a forest."""
    ends = np.array([(edge.u, edge.v) for edge in edges], dtype=np.int64).reshape(-1, 2)
    lengths = np.array([edge.length for edge in edges], dtype=np.float64)
    return _kernels.node_distances.tree_path_lengths(n_nodes, ends, lengths)
