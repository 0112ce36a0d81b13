"""The learner on sparse distances, which are computed on demand (Algorithm 3)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, Progress
from loopylatent.distances.sparse import SparseDistances
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping import LocalTree, Neighbourhood, group
from loopylatent.learning.trace import CleanUpStep, Contraction, Edge, VisitStep, renumbered
from loopylatent.settings import LearnSettings


class PairTable:
    """A hash table of numbers by pair of nodes."""

    def __init__(self) -> None:
        self.keys = np.full(1024, _kernels.graphs.EMPTY, np.int64)
        self.numbers = np.empty(1024)
        self.n = 0

    def put(self, keys: IntArray, numbers: FloatArray) -> None:
        self.keys, self.numbers, self.n = _kernels.graphs.put_numbers(
            self.keys, self.numbers, self.n, keys, numbers
        )

    def get(self, u: int, v: int) -> float:
        """Return the number of a pair; NaN if there is none."""
        return _kernels.graphs.number_of(self.keys, self.numbers, u, v)


class _Growing:
    """An array with amortised appending."""

    def __init__(self, start: NDArray[Any]) -> None:
        self._room, self._n = start, len(start)

    @property
    def values(self) -> Any:
        return self._room[: self._n]

    def add(self, numbers: NDArray[Any]) -> None:
        end = self._n + len(numbers)
        if end > len(self._room):
            self._room = np.resize(self._room, 2 * end)
        self._room[self._n : end] = numbers
        self._n = end


NEVER = np.iinfo(np.int64).max


class LazyNodeDistances:
    """Distances computed on demand and cached, for sparse distances.

    The distance of two nodes is fixed when the younger one is created. It depends on distances of
    the members of its local tree, which are older. So the required pairs are collected from the
    youngest node down, and computed from the oldest up.
    """

    def __init__(self, D: SparseDistances) -> None:
        self._D = D
        self._p = D.n_columns
        self._known = PairTable()
        self._visit = 0
        whole, real = np.empty(0, np.int64), np.empty(0, np.float64)
        self._start, self._member = _Growing(np.zeros(1, np.int64)), _Growing(whole)
        self._path, self._created_in = _Growing(real), _Growing(whole)
        self._edges = PairTable()
        self._edge_length, self._edge_visit = _Growing(real), _Growing(whole)
        self._fresh: list[tuple[int, int]] = []

    def copy(self) -> LazyNodeDistances:
        other = object.__new__(LazyNodeDistances)
        for name, value in vars(self).items():
            shared = name in ("_D", "_p", "_visit")
            setattr(other, name, value if shared else deepcopy(value))
        return other

    def make_room(self, n_nodes: int) -> None:
        """Nothing to do: the tables grow on demand."""

    def note_edge(self, u: int, v: int, length: float) -> None:
        if math.isfinite(self._known.get(u, v)):
            return
        index = self._edges.get(u, v)
        if math.isnan(index):
            self._edges.put(_keys([u], [v]), np.array([len(self._edge_visit.values)], float))
            self._edge_length.add(np.array([length]))
            self._edge_visit.add(np.array([self._visit]))
            self._fresh.append((u, v))
        elif self._edge_visit.values[int(index)] == NEVER:
            self._edge_length.values[int(index)] = length
            self._edge_visit.values[int(index)] = self._visit

    def place(
        self, members: list[int], new: list[int], paths: FloatArray, _alive: Iterable[int]
    ) -> None:
        m = len(members)
        for x, node in enumerate(new):
            while len(self._created_in.values) < node - self._p:  # contracted at once
                self._record(np.empty(0, np.int64), np.empty(0))
            inside = np.array([*members, *new[:x]])
            self._known.put(_keys([node] * len(inside), inside), paths[m + x, : m + x])
            self._record(np.array(members), paths[m + x, :m])
        for u, v in self._fresh:
            if max(u, v) >= new[0]:  # path lengths take precedence over lengths of first edges
                self._edge_visit.values[int(self._edges.get(u, v))] = NEVER
        self._fresh = []
        self._visit += 1

    def between(self, nodes: Sequence[int]) -> FloatArray:
        kernels, known = _kernels.graphs, self._known
        index = np.asarray(nodes, dtype=np.int64)
        known.keys, known.numbers, known.n, missing = kernels.collect_pairs(
            known.keys, known.numbers, known.n, self._p,
            self._start.values, self._member.values, index,
        )  # fmt: skip
        columns = missing[missing >> 31 < self._p]
        hidden = np.sort(missing[missing >> 31 >= self._p])
        known.put(columns, self._D.pairs(columns & kernels.LOWER, columns >> 31))
        edges = (
            self._edges.keys, self._edges.numbers, self._edge_length.values, self._edge_visit.values
        )  # fmt: skip
        kernels.work_out_pairs(
            known.keys, known.numbers, self._p,
            self._start.values, self._member.values, self._path.values, self._created_in.values,
            *edges, hidden,
        )  # fmt: skip
        return kernels.read_block(known.keys, known.numbers, *edges, index, self._visit)

    def _record(self, members: IntArray, paths: FloatArray) -> None:
        self._member.add(members)
        self._path.add(paths)
        self._start.add(np.array([len(self._member.values)]))
        self._created_in.add(np.array([self._visit]))


def _keys(left: Sequence[int] | IntArray, right: Sequence[int] | IntArray) -> IntArray:
    """Keys of pairs, as the kernel `pair_key`."""
    u, v = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    keys: IntArray = (np.maximum(u, v) << 31) | np.minimum(u, v)
    return keys


@dataclass(frozen=True, slots=True)
class Changes:
    """The edges removed and added by a step; unchanged edges are in neither."""

    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]


class SparseWorkspace:
    """A mutable graph with sparse distances.

    Nodes have working numbers: columns 0..p-1, then hidden nodes in order of creation. Numbers of
    removed nodes are not reused.
    """

    def __init__(self, initial: LatentGraph, distances: LazyNodeDistances) -> None:
        self._names = initial.names
        self.n_observed = initial.n_observed
        self.neighbours: dict[int, dict[int, float]] = {node: {} for node in range(self.n_observed)}
        for (u, v), length in zip(initial.edges.tolist(), initial.lengths.tolist(), strict=True):
            self.neighbours[u][v] = self.neighbours[v][u] = length
        self.surrogates = list(range(self.n_observed))
        """For each working number the column whose visit created it, or itself."""
        self.gaps = [0.0] * self.n_observed
        """Distance to the surrogate at creation, for methods that use surrogates."""
        self._distances = distances
        self._before: dict[tuple[int, int], float | None] = {}

    def copy(self) -> SparseWorkspace:
        other: SparseWorkspace = copy(self)
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
        """Return ``node`` and its neighbours, ascending."""
        return tuple(sorted((node, *self.neighbours[node])))

    def distances_between(self, nodes: Sequence[int]) -> FloatArray:
        """(k, k) a copy of the distances between ``nodes``."""
        return self._distances.between(nodes)

    def distances_between_surrogates(self, nodes: Sequence[int]) -> FloatArray:
        """(k, k) between the surrogates of ``nodes``; 0 for equal surrogates.

        If two surrogates are infinitely far apart, the path through the nodes is used.
        """
        block = self.distances_between([self.surrogates[node] for node in nodes])
        gaps = np.array([self.gaps[node] for node in nodes])
        through = self.distances_between(nodes) + gaps[:, None] + gaps
        return np.where(np.isfinite(block), block, through)

    def graph(self) -> LatentGraph:
        edges = {(u, v): d for u, ends in self.neighbours.items() for v, d in ends.items() if u < v}
        return renumbered(self._names, self.hidden_ids, edges)

    def replace(self, members: tuple[int, ...], tree: LocalTree, surrogate: int) -> tuple[int, ...]:
        """Replace all edges between ``members``; return the working numbers of the tree's nodes."""
        first_new = len(self.surrogates)
        new = range(first_new, first_new + tree.n_new)
        ids = members + tuple(new)
        self.surrogates += [surrogate] * len(new)
        gaps = np.zeros(len(new))
        if tree.by_surrogates:
            gaps = _paths(len(ids), tree.uncontracted)[members.index(surrogate), len(members) :]
        self.gaps += np.where(np.isfinite(gaps), gaps, 0.0).tolist()
        self._distances.make_room(len(self.surrogates))
        self.neighbours.update({node: {} for node in new})
        inside = set(members)
        for u in members:
            for v in [v for v in self.neighbours[u] if u < v and v in inside]:
                self._set(u, v, None)
        for contraction in tree.contractions:
            self._move_edges(ids[contraction.removed], ids[contraction.survivor])
        for edge in tree.edges:
            self._set(ids[edge.u], ids[edge.v], edge.length)
        self._measure(members, ids, tree)
        return ids

    def drop_low_degree_hidden(self) -> tuple[int, ...]:
        """Remove hidden nodes of degree 0 and 1, bridge those of degree 2; return them all."""
        dropped: list[int] = []
        while low := [node for node in self.hidden_ids if len(self.neighbours[node]) <= 2]:
            for node in low:
                ends = sorted(self.neighbours[node].items())
                if len(ends) > 2:
                    continue
                for end, _ in ends:
                    self._set(node, end, None)
                if len(ends) == 2:
                    (u, u_length), (v, v_length) = ends
                    self._add_edge(u, v, u_length + v_length)
                del self.neighbours[node]
                dropped.append(node)
        return tuple(dropped)

    def contract_short_edges(self, limit: float) -> tuple[Contraction, ...]:
        """Contract the shortest edge below ``limit`` with a hidden end, until there is none."""
        contracted = []
        short = [edge for node in self.neighbours for edge in self._short_edges(node, limit)]
        heapq.heapify(short)
        while short:
            length, stays, goes = heapq.heappop(short)
            if self.neighbours.get(goes, {}).get(stays) != length:  # changed by a contraction
                continue
            self._set(stays, goes, None)
            moved = list(self.neighbours[goes])
            self._move_edges(goes, stays)
            for edge in self._short_edges(stays, limit, moved):
                heapq.heappush(short, edge)
            contracted.append(Contraction(goes, stays, length))
        return tuple(contracted)

    def _short_edges(
        self, node: int, limit: float, others: Iterable[int] | None = None
    ) -> Iterator[tuple[float, int, int]]:
        """Edges below ``limit`` with a hidden end, to younger nodes or to ``others``."""
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

    def _add_edge(self, u: int, v: int, length: float) -> None:
        """Add an edge; of parallel edges keep the shorter."""
        known = self.neighbours[u].get(v)
        if known is None or length < known:
            self._set(u, v, length)

    def _move_edges(self, goes: int, stays: int) -> None:
        """Move the edges of a contracted node to the survivor and delete the node."""
        for end, length in list(self.neighbours[goes].items()):
            self._set(goes, end, None)
            self._add_edge(stays, end, length)
        del self.neighbours[goes]

    def _measure(self, members: tuple[int, ...], ids: tuple[int, ...], tree: LocalTree) -> None:
        """Set the distances of the new hidden nodes that survived contraction."""
        position = {node: k for k, node in enumerate(ids)}
        new = [node for node in ids[len(members) :] if node in self.neighbours]
        if not new:
            return
        left = [node for node in members if node in self.neighbours]
        paths = _paths(len(ids), tree.edges)
        kept = np.array([position[node] for node in left + new])
        self._distances.place(left, new, paths[kept[:, None], kept], self.neighbours)


def _paths(n_nodes: int, edges: Sequence[Edge]) -> FloatArray:
    """(nodes, nodes) path lengths in a forest."""
    ends = np.array([(edge.u, edge.v) for edge in edges], dtype=np.int64).reshape(-1, 2)
    lengths = np.array([edge.length for edge in edges], dtype=np.float64)
    return _kernels.graphs.tree_path_lengths(n_nodes, ends, lengths)


Grouping = Callable[[Neighbourhood, LearnSettings], LocalTree]


def sparse_steps(
    workspace: SparseWorkspace,
    order: Sequence[int],
    n_samples: int | None,
    settings: LearnSettings,
    progress: Progress | None = None,
    grouping: Grouping = group,
) -> Iterator[VisitStep | CleanUpStep]:
    """Yield each visit and the clean-up at the end."""
    rng = np.random.default_rng(settings.seed)
    for done, node in enumerate(order):
        if progress is not None:
            progress(done, len(order))
        if len(workspace.neighbours[node]) >= 2:  # with fewer there is nothing to group
            yield _visit(workspace, node, n_samples, rng, settings, grouping)
    if progress is not None:
        progress(len(order), len(order))
    merged: tuple[Contraction, ...] = ()
    if settings.method == "relaxed":
        merged = workspace.contract_short_edges(settings.shortest_edge)
    dropped = workspace.drop_low_degree_hidden()
    changes = workspace.take_changes()
    yield CleanUpStep(dropped, changes.removed, changes.added, workspace.hidden_ids, merged)


def _visit(
    workspace: SparseWorkspace,
    node: int,
    n_samples: int | None,
    rng: np.random.Generator,
    settings: LearnSettings,
    grouping: Grouping,
) -> VisitStep:
    """Replace the neighbourhood of ``node`` by its local latent tree."""
    members = workspace.closed_neighbourhood(node)
    hidden = tuple(workspace.is_hidden(member) for member in members)
    surrogates = tuple(workspace.surrogates[member] for member in members)
    gaps = tuple(workspace.gaps[member] for member in members)
    distances = workspace.distances_between(members)
    distances.setflags(write=False)
    by_surrogates = settings.method == "relaxed"
    between = workspace.distances_between_surrogates(members) if by_surrogates else distances
    between.setflags(write=False)
    around = Neighbourhood(members, hidden, surrogates, distances, n_samples, rng, between, gaps)
    tree = grouping(around, settings)
    ids = workspace.replace(members, tree, surrogate=node)
    changes = workspace.take_changes()
    joins = tuple(join.renamed(ids) for join in tree.joins)
    contractions = tuple(one.renamed(ids) for one in tree.contractions)
    rest = tuple(edge.renamed(ids) for edge in tree.rest)
    rounds = tuple(one.renamed(ids) for one in tree.rounds)
    represented = (surrogates, gaps) if by_surrogates else ((), ())
    return VisitStep(
        node, members, hidden, between, joins, contractions, changes.removed, changes.added,
        tree.stuck, tree.capped, rest, rounds, *represented,
    )  # fmt: skip
