"""The learner: visit neighbourhoods one after the other and add hidden nodes (Algorithm 3)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, Progress, Shown
from loopylatent.distances.sparse import Distances, SparseDistances
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping import BY_SURROGATES, LocalTree, Neighbourhood, group
from loopylatent.learning.initial_graph import check_radius, initial_graph
from loopylatent.learning.trace import (
    CleanUpStep,
    Contraction,
    Edge,
    InitialStep,
    Step,
    VisitStep,
    renumbered,
)
from loopylatent.settings import LearnSettings


class DenseNodeDistances:
    """All distances in one matrix that grows."""

    def __init__(self, values: FloatArray) -> None:
        self._values = np.array(values)

    def copy(self) -> DenseNodeDistances:
        return DenseNodeDistances(self._values)

    def between(self, nodes: Sequence[int]) -> FloatArray:
        """(k, k) a copy of the distances between ``nodes``."""
        index = np.asarray(nodes)
        block: FloatArray = self._values[index[:, None], index]
        return block

    def note_edge(self, u: int, v: int, length: float) -> None:
        """An edge is never infinitely long: where u and v were, ``length`` is their distance."""
        if not np.isfinite(self._values[u, v]):
            self._values[u, v] = self._values[v, u] = length

    def make_room(self, n_nodes: int) -> None:
        """There will be ``n_nodes`` working numbers."""
        size = len(self._values)
        if n_nodes > size:
            larger = np.full((2 * n_nodes, 2 * n_nodes), np.inf)
            larger[:size, :size] = self._values
            self._values = larger

    def place(
        self, members: list[int], born: list[int], paths: FloatArray, alive: Iterable[int]
    ) -> None:
        """Say where new hidden nodes lie.

        ``paths`` holds the lengths between ``members`` (first) and ``born`` (after them) in their
        local tree. To a node k outside of it the distance of h is the largest d(c, k) - d(c, h)
        over the members c, at least 0.
        """
        inside = {*members, *born}
        outside = np.array([node for node in alive if node not in inside], dtype=np.int64)
        known, fresh = np.array(members), np.array(born)
        _kernels.graphs.extend_distances(self._values, known, paths, fresh, outside)


class PairTable:
    """Numbers by pair of nodes; takes as much room as there are pairs."""

    def __init__(self) -> None:
        self.keys = np.full(1024, _kernels.graphs.EMPTY, np.int64)
        self.numbers = np.empty(1024)
        self.n = 0

    def put(self, keys: IntArray, numbers: FloatArray) -> None:
        self.keys, self.numbers, self.n = _kernels.graphs.put_numbers(
            self.keys, self.numbers, self.n, keys, numbers
        )

    def get(self, u: int, v: int) -> float:
        """Return the number of two nodes; NaN where there is none."""
        return _kernels.graphs.number_of(self.keys, self.numbers, u, v)


class _Growing:
    """An array that numbers are added to."""

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
    """Distances worked out when they are asked for, and remembered.

    The distance of two nodes is fixed when the younger one is born. It rests on distances of the
    members of its local tree, which are older; so the pairs that are needed are collected from
    the youngest node down, and worked out from the oldest up.
    """

    def __init__(self, D: SparseDistances) -> None:
        self._D = D
        self._p = D.n_columns
        self._known = PairTable()
        self._visit = 0
        whole, real = np.empty(0, np.int64), np.empty(0, np.float64)
        self._start, self._member = _Growing(np.zeros(1, np.int64)), _Growing(whole)
        self._path, self._born_at = _Growing(real), _Growing(whole)
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
        """Nothing to do: only what is known takes room."""

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
        self, members: list[int], born: list[int], paths: FloatArray, _alive: Iterable[int]
    ) -> None:
        m = len(members)
        for x, node in enumerate(born):
            while len(self._born_at.values) < node - self._p:  # contracted as soon as it was born
                self._begin_birth(np.empty(0, np.int64), np.empty(0))
            inside = np.array([*members, *born[:x]])
            self._known.put(_keys([node] * len(inside), inside), paths[m + x, : m + x])
            self._begin_birth(np.array(members), paths[m + x, :m])
        for u, v in self._fresh:
            if max(u, v) >= born[0]:  # where a node lies counts for more than its first edges
                self._edge_visit.values[int(self._edges.get(u, v))] = NEVER
        self._fresh = []
        self._visit += 1

    def between(self, nodes: Sequence[int]) -> FloatArray:
        kernels, known = _kernels.graphs, self._known
        index = np.asarray(nodes, dtype=np.int64)
        known.keys, known.numbers, known.n, wanted = kernels.collect_pairs(
            known.keys, known.numbers, known.n, self._p,
            self._start.values, self._member.values, index,
        )  # fmt: skip
        columns = wanted[wanted >> 31 < self._p]
        hidden = np.sort(wanted[wanted >> 31 >= self._p])
        known.put(columns, self._D.pairs(columns & kernels.LOWER, columns >> 31))
        edges = (
            self._edges.keys, self._edges.numbers, self._edge_length.values, self._edge_visit.values
        )  # fmt: skip
        kernels.work_out_pairs(
            known.keys, known.numbers, self._p,
            self._start.values, self._member.values, self._path.values, self._born_at.values,
            *edges, hidden,
        )  # fmt: skip
        return kernels.read_block(known.keys, known.numbers, *edges, index, self._visit)

    def _begin_birth(self, members: IntArray, paths: FloatArray) -> None:
        self._member.add(members)
        self._path.add(paths)
        self._start.add(np.array([len(self._member.values)]))
        self._born_at.add(np.array([self._visit]))


NodeDistances = DenseNodeDistances | LazyNodeDistances


def node_distances(D: Distances) -> NodeDistances:
    """Return the distances to begin with: those between the columns."""
    return LazyNodeDistances(D) if isinstance(D, SparseDistances) else DenseNodeDistances(D.values)


def _keys(left: Sequence[int] | IntArray, right: Sequence[int] | IntArray) -> IntArray:
    """Keys of pairs, as `pair_key` makes them."""
    u, v = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    keys: IntArray = (np.maximum(u, v) << 31) | np.minimum(u, v)
    return keys


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
    return _kernels.graphs.tree_path_lengths(n_nodes, ends, lengths)


@dataclass(frozen=True, eq=False, repr=False)
class LearnResult(Shown):
    """A learned graph, where it started from, and how it came about.

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2], [2, 0, 2], [2, 2, 0]])
    >>> learn(D, LearnSettings(ll.Thresholds(r=2, Lambda=0, tau=0.1)))
    LearnResult(LatentGraph(3 observed, 1 hidden, 3 edges, 0 cycles), r=2, Lambda=0, tau=0.1)
    """

    graph: LatentGraph
    """What was learned."""
    initial_graph: LatentGraph
    """The union of the local trees, where it began."""
    settings: LearnSettings
    """With which it was learned."""
    metric: str
    """Of the distances."""
    data_digest: str
    """The digest of the distances."""
    n_visits: int
    """Neighbourhoods that were grouped."""
    n_stuck: int
    """Visits in which no pair could be joined any more; a larger Lambda leaves fewer."""
    n_capped: int
    """Visits to neighbourhoods so large that only the nearest outsiders were asked."""
    trace: tuple[Step, ...] | None = None
    """Every step, or None where the trace was not wanted."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.graph}, {self.settings.thresholds.in_short})"


def learn(
    D: Distances,
    settings: LearnSettings,
    *,
    start: LatentGraph | None = None,
    trace: bool = True,
    progress: Progress | None = None,
) -> LearnResult:
    """Learn a graph; ``start`` is the initial graph at r, where it is already known."""
    workspace = _prepare(D, settings, start)
    initial = workspace.graph()
    steps: list[Step] = []
    n_visits = n_stuck = n_capped = 0
    for step in _steps(workspace, initial, D, settings, progress):
        if trace:
            steps.append(step)
        if isinstance(step, VisitStep):
            n_visits += 1
            n_stuck += step.stuck
            n_capped += step.capped
    known = (workspace.graph(), initial, settings, D.metric, D.digest)
    return LearnResult(*known, n_visits, n_stuck, n_capped, tuple(steps) if trace else None)


def iter_steps(
    D: Distances,
    settings: LearnSettings,
    *,
    start: LatentGraph | None = None,
    progress: Progress | None = None,
) -> Iterator[Step]:
    """Yield the initial graph, each visit, and the clean-up at the end.

    Parameters
    ----------
    D : DistanceMatrix
    settings : LearnSettings
    start : LatentGraph, optional
        The initial graph, where it is already known.
    progress : callable, optional
        Called with the visits done and the visits in all.

    Returns
    -------
    iterator of Step

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2], [2, 0, 2], [2, 2, 0]])
    >>> for step in iter_steps(D, LearnSettings(ll.Thresholds(r=2, Lambda=0, tau=0.1))):
    ...     print(step)
    InitialStep(graph=LatentGraph(3 observed, 0 hidden, 2 edges, 0 cycles))
    VisitStep(node=0, 3 in the neighbourhood, 1 joins, 0 contractions)
    CleanUpStep(0 hidden nodes removed, 1 left)
    """
    workspace = _prepare(D, settings, start)
    return _steps(workspace, workspace.graph(), D, settings, progress)


def visiting_order(initial: LatentGraph, settings: LearnSettings) -> tuple[int, ...]:
    """Return the nodes of the initial graph that are no leaves, in the order of their visits.

    By descending degree, then by the smaller sum of distances to the neighbours, then by index:
    renaming the columns does not change it.
    """
    inner = [node for node in range(initial.n_observed) if initial.degrees[node] >= 2]
    if settings.order == "degree":
        reach: list[float] = initial.adjacency.sum(axis=1).tolist()
        inner.sort(key=lambda node: (-initial.degrees[node], reach[node], node))
    elif settings.order == "random":
        np.random.default_rng(settings.seed).shuffle(inner)
    return tuple(inner)


def _prepare(D: Distances, settings: LearnSettings, start: LatentGraph | None) -> Workspace:
    return Workspace(start_graph(D, settings.thresholds.r, start), node_distances(D))


def start_graph(D: Distances, r: float, known: LatentGraph | None) -> LatentGraph:
    """Return the initial graph at r, or check the one that is known."""
    check_radius(D, r)
    initial = initial_graph(D, r) if known is None else known
    if initial.names != D.names or initial.n_hidden:
        raise DataError("the initial graph does not belong to these distances; leave it out.")
    return initial


def _steps(
    workspace: Workspace,
    initial: LatentGraph,
    D: Distances,
    settings: LearnSettings,
    progress: Progress | None,
) -> Iterator[Step]:
    yield InitialStep(initial)
    rng = np.random.default_rng(settings.seed)
    order = visiting_order(initial, settings)
    for done, node in enumerate(order):
        if progress is not None:
            progress(done, len(order))
        if len(workspace.neighbours[node]) >= 2:  # fewer leave nothing to group
            yield visit(workspace, node, D.n_samples, rng, settings)
    if progress is not None:
        progress(len(order), len(order))
    merged: tuple[Contraction, ...] = ()
    if settings.method == "relaxed":
        merged = workspace.contract_short_edges(settings.shortest_edge)
    gone = workspace.drop_idle_hidden()
    changes = workspace.take_changes()
    yield CleanUpStep(gone, changes.removed, changes.added, workspace.hidden_ids, merged)


def visit(
    workspace: Workspace,
    node: int,
    n_samples: int | None,
    rng: np.random.Generator,
    settings: LearnSettings,
) -> VisitStep:
    """Replace the neighbourhood of ``node`` by its local latent tree."""
    members = workspace.closed_neighbourhood(node)
    hidden = tuple(workspace.is_hidden(member) for member in members)
    surrogates = tuple(workspace.surrogates[member] for member in members)
    gaps = tuple(workspace.gaps[member] for member in members)
    distances = workspace.distances_between(members)
    distances.setflags(write=False)
    by_surrogates = settings.method in BY_SURROGATES
    between = workspace.distances_between_surrogates(members) if by_surrogates else distances
    between.setflags(write=False)
    around = Neighbourhood(members, hidden, surrogates, distances, n_samples, rng, between, gaps)
    tree = group(around, settings)
    ids = workspace.replace(members, tree, surrogate=node)
    changes = workspace.take_changes()
    joins = tuple(join.renamed(ids) for join in tree.joins)
    contractions = tuple(one.renamed(ids) for one in tree.contractions)
    rest = tuple(edge.renamed(ids) for edge in tree.rest)
    rounds = tuple(one.renamed(ids) for one in tree.rounds)
    stood_for = (surrogates, gaps) if by_surrogates else ((), ())
    return VisitStep(
        node, members, hidden, between, joins, contractions, changes.removed, changes.added,
        tree.stuck, tree.capped, rest, rounds, *stood_for,
    )  # fmt: skip
