"""The learner in plain Python: the graph with dense distances, visits and the clean-up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from helpers.local_trees import LocalTree, Neighbourhood, renamed
from loopylatent.compute.values import FloatArray
from loopylatent.graph import LatentGraph
from loopylatent.learning.trace import CleanUpStep, Contraction, Edge, VisitStep, renumbered
from loopylatent.settings import LearnSettings


class DenseNodeDistances:
    """All distances between columns and hidden nodes, in a growing matrix."""

    def __init__(self, values: FloatArray) -> None:
        self._values = np.array(values)

    def between(self, nodes: Sequence[int]) -> FloatArray:
        """(k, k) a copy of the distances between ``nodes``."""
        index = np.asarray(nodes)
        block: FloatArray = self._values[index[:, None], index]
        return block

    def note_edge(self, u: int, v: int, length: float) -> None:
        """Set the distance of u and v to ``length`` if it was infinite."""
        if not np.isfinite(self._values[u, v]):
            self._values[u, v] = self._values[v, u] = length

    def make_room(self, n_nodes: int) -> None:
        """Allocate for ``n_nodes`` working numbers."""
        size = len(self._values)
        if n_nodes > size:
            larger = np.full((2 * n_nodes, 2 * n_nodes), np.inf)
            larger[:size, :size] = self._values
            self._values = larger

    def place(
        self, members: list[int], new: list[int], paths: FloatArray, alive: Iterable[int]
    ) -> None:
        """Set the distances of new hidden nodes.

        ``paths`` holds the path lengths between ``members`` and then ``new`` in their local tree.
        The distance of h to a node k outside is the largest d(c, k) - d(c, h) over the members c,
        at least 0.
        """
        for x, node in enumerate(new):
            row = len(members) + x
            inside = [*members, *new[:x]]
            self._set(node, [*inside, node], [*paths[row, :row], 0.0])
            outside = [k for k in alive if k not in members and k not in new]
            through = self._values[np.ix_(members, outside)] - paths[row, : len(members), None]
            through[~np.isfinite(through)] = -np.inf
            far = through.max(axis=0, initial=-np.inf)
            self._set(node, outside, np.where(far == -np.inf, np.inf, np.maximum(far, 0.0)))

    def _set(self, node: int, others: list[int], values: Sequence[float] | FloatArray) -> None:
        self._values[node, others] = self._values[others, node] = values


@dataclass(frozen=True, slots=True)
class Changes:
    """The edges removed and added by a step; unchanged edges are in neither."""

    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]


class PlainWorkspace:
    """A mutable graph with distances.

    Nodes have working numbers: columns 0..p-1, then hidden nodes in order of creation. Numbers of
    removed nodes are not reused.
    """

    def __init__(self, initial: LatentGraph, distances: DenseNodeDistances) -> None:
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
        while short := [
            (length, u, v)
            for u, ends in self.neighbours.items()
            for v, length in ends.items()
            if u < v and length < limit and self.is_hidden(v)
        ]:
            length, stays, goes = min(short)
            self._set(stays, goes, None)
            self._move_edges(goes, stays)
            contracted.append(Contraction(goes, stays, length))
        return tuple(contracted)

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
    """(nodes, nodes) path lengths in a forest, added from each source outwards."""
    around: dict[int, list[tuple[int, float]]] = {node: [] for node in range(n_nodes)}
    for edge in edges:
        around[edge.u].append((edge.v, edge.length))
        around[edge.v].append((edge.u, edge.length))
    paths = np.full((n_nodes, n_nodes), np.inf)
    for source in range(n_nodes):
        paths[source, source], pending = 0.0, [source]
        while pending:
            node = pending.pop()
            for end, length in around[node]:
                if paths[source, end] == np.inf:
                    paths[source, end] = paths[source, node] + length
                    pending.append(end)
    return paths


Grouping = Callable[[Neighbourhood, LearnSettings], LocalTree]


def plain_steps(
    workspace: PlainWorkspace,
    order: Sequence[int],
    n_samples: int | None,
    settings: LearnSettings,
    grouping: Grouping,
) -> Iterator[VisitStep | CleanUpStep]:
    """Yield each visit and the clean-up at the end."""
    rng = np.random.default_rng(settings.seed)
    for node in order:
        if len(workspace.neighbours[node]) >= 2:  # with fewer there is nothing to group
            yield _visit(workspace, node, n_samples, rng, settings, grouping)
    merged: tuple[Contraction, ...] = ()
    if settings.method == "relaxed":
        merged = workspace.contract_short_edges(settings.shortest_edge)
    dropped = workspace.drop_low_degree_hidden()
    changes = workspace.take_changes()
    yield CleanUpStep(dropped, changes.removed, changes.added, workspace.hidden_ids, merged)


def _visit(
    workspace: PlainWorkspace,
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
    joins, contractions, rest, rounds = (
        tuple(renamed(one, ids) for one in parts)
        for parts in (tree.joins, tree.contractions, tree.rest, tree.rounds)
    )
    represented = (surrogates, gaps) if by_surrogates else ((), ())
    return VisitStep(
        node, members, hidden, between, joins, contractions, changes.removed, changes.added,
        tree.stuck, tree.capped, rest, rounds, *represented,
    )  # fmt: skip
