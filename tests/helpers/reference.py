"""The learner in plain Python: what the compiled one is compared with, bit for bit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.sparse.csgraph import connected_components, shortest_path

from helpers.local_trees import LocalTree, Neighbourhood, edges_of
from helpers.plain_learner import DenseNodeDistances, PlainWorkspace, plain_steps
from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.learning.trace import Contraction, Edge, Family, InitialStep, Join, Round, Step
from loopylatent.settings import RELAXED_TAU, LearnSettings


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Nodes connected by finite distances, and all distances between them."""

    nodes: tuple[int, ...]
    distances: FloatArray


def finite_parts(distances: FloatArray) -> tuple[Part, ...]:
    """Split nodes by finite distances; replace infinite ones within a part by shortest paths."""
    known = np.isfinite(distances)
    if known.all():
        return (Part(tuple(range(len(distances))), distances),)
    n_parts, label = connected_components(known, directed=False)
    parts = []
    for k in range(n_parts):
        nodes = np.flatnonzero(label == k)
        inside = distances[nodes[:, None], nodes]
        paths = shortest_path(np.ma.masked_invalid(inside), method="FW", directed=False)
        filled = np.where(np.isfinite(inside), inside, paths)
        parts.append(Part(tuple(nodes.tolist()), filled))
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class Contracted:
    """The edges after contraction, and the contractions."""

    edges: tuple[Edge, ...]
    contractions: tuple[Contraction, ...]


def contracted_tree(
    neighbourhood: Neighbourhood,
    settings: LearnSettings,
    joins: Sequence[Join | Family],
    rest: Sequence[Edge],
    *,
    stuck: bool = False,
    capped: bool = False,
) -> LocalTree:
    """Return the local tree of the joins and the remaining edges, with short edges contracted."""
    edges, limit = [*edges_of(joins), *rest], settings.shortest_edge
    left = contract_short_edges(edges, neighbourhood.hidden, limit)
    return LocalTree(left.edges, tuple(joins), left.contractions, stuck, capped, tuple(rest))


def contract_short_edges(edges: list[Edge], hidden: tuple[bool, ...], tau: float) -> Contracted:
    """Contract the shortest edge below ``tau`` that has a hidden end, until there is none."""
    # the observed end survives, else the older hidden node; moved edges keep their lengths, so one
    # pass in ascending order is enough
    m = len(hidden)
    survivor: dict[int, int] = {}

    def find(node: int) -> int:
        while node in survivor:
            node = survivor[node]
        return node

    contractions = []
    kept = []
    for edge in sorted(edges, key=lambda e: e.length):
        u, v = find(edge.u), find(edge.v)
        u_hidden, v_hidden = u >= m or hidden[u], v >= m or hidden[v]
        if edge.length < tau and (u_hidden or v_hidden):
            stays, goes = sorted((u, v), key=lambda node: (node >= m or hidden[node], node))
            survivor[goes] = stays
            contractions.append(Contraction(goes, stays, edge.length))
        else:
            kept.append(edge)
    ends = [(find(edge.u), find(edge.v), edge.length) for edge in kept]
    moved = [Edge(min(u, v), max(u, v), length) for u, v, length in ends]
    return Contracted(tuple(sorted(moved, key=lambda e: (e.u, e.v))), tuple(contractions))


def group_by_quartet(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by quartet tests."""
    m = neighbourhood.size
    joins, join_lengths, rest, rest_lengths = _kernels.grouping.group_by_quartets(
        neighbourhood.distances, settings.thresholds.Lambda, settings.max_outsiders
    )
    records = tuple(
        Join(left, right, new, left_length, right_length, bool(supported))
        for (left, right, new, supported), (left_length, right_length) in zip(
            joins.tolist(), join_lengths.tolist(), strict=True
        )
    )
    left_over = tuple(
        Edge(u, v, d) for (u, v), d in zip(rest.tolist(), rest_lengths.tolist(), strict=True)
    )
    stuck, capped = m - len(records) > 2, m > settings.max_outsiders
    return contracted_tree(neighbourhood, settings, records, left_over, stuck=stuck, capped=capped)


def group_by_neighbor_joining(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by neighbor joining (Saitou and Nei, 1987)."""
    joins: list[Join] = []
    rest: list[Edge] = []
    for part in finite_parts(neighbourhood.distances):
        nodes, first = part.nodes, neighbourhood.size + len(joins)
        pairs, numbers, left, between = _kernels.grouping.join_neighbors(part.distances, len(nodes))
        ids = (*nodes, *range(first, first + len(pairs)))
        for step, ((i, j), (to_i, to_j, q)) in enumerate(
            zip(pairs.tolist(), numbers.tolist(), strict=True)
        ):
            joins.append(Join(ids[i], ids[j], first + step, to_i, to_j, supported=False, q=q))
        if len(left) == 2:
            i, j = left.tolist()
            rest.append(Edge(ids[i], ids[j], max(float(between[0, 1]), 0.0)))
    return contracted_tree(neighbourhood, settings, joins, rest)


# Constants of the toolbox of Choi, Tan, Anandkumar and Willsky (2011); see docs/references.md.
LEAST_LENGTH = -math.log(0.95)
FAR = -2 * math.log(0.1)
"""The spread of a pair farther apart than this is not computed."""
SPREAD_OF_FAR = 10.0
REACH = -math.log(0.05)
REACH_BY_ROWS = 0.1
"""Witnesses are nearer than ``REACH + REACH_BY_ROWS * log(rows)``."""
MISFIT = 2 * RELAXED_TAU
"""A member is the parent of its family below this misfit per other member."""


def group_relaxed(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by relaxed grouping."""
    first: dict[int, int] = {}  # the first node of each surrogate
    twins = []  # edges to further nodes of the same surrogate
    for position, column in enumerate(neighbourhood.surrogates):
        if first.setdefault(column, position) != position:
            twins.append(Edge(first[column], position, 0.0))
    between = neighbourhood.between_surrogates
    distances = neighbourhood.distances if between is None else between
    at = np.array(list(first.values()))
    growth = _Growth(neighbourhood, settings.max_outsiders)
    for part in finite_parts(distances[at[:, None], at]):
        growth.grow(tuple(int(at[k]) for k in part.nodes), part.distances)
    rest = (*growth.rest, *twins)
    tree = contracted_tree(neighbourhood, settings, growth.families, rest, capped=growth.capped)
    return replace(tree, rounds=tuple(growth.rounds), by_surrogates=True)


@dataclass(frozen=True, slots=True, eq=False)
class _Represented:
    """A family in the next round: its node and the rows of the distances that represent it."""

    node: int
    rows: IntArray
    total: float
    """The sum of the lengths from the rows to the node."""


@dataclass(slots=True, eq=False)
class _Growth:
    """A local tree under construction, over rounds and parts."""

    neighbourhood: Neighbourhood
    most_families: int
    families: list[Family] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    rest: list[Edge] = field(default_factory=list)
    capped: bool = False
    _n_new: int = 0

    def grow(self, active: tuple[int, ...], d: FloatArray) -> None:
        """Group nodes until one or two are left, and connect those."""
        while len(active) > 2:
            spread, mean = _kernels.grouping.compare_pairs(
                np.ascontiguousarray(d), self._reach, FAR, SPREAD_OF_FAR
            )
            groups = self._split(active, spread)
            found = [self._represent(active, rows, d, mean) for rows in groups]
            active, d = tuple(one.node for one in found), _between(found, d)
        if len(active) == 2:
            self.rest.append(Edge(*active, self._length(*active, float(d[0, 1]))))

    @property
    def _reach(self) -> float:
        return REACH + REACH_BY_ROWS * math.log(max(self.neighbourhood.n_samples or 1, 1))

    def _split(self, active: tuple[int, ...], spread: FloatArray) -> list[IntArray]:
        """Split the active nodes into families, and record the round."""
        m, widest = len(spread), float(spread.max())
        least = math.log(2) / widest if widest > 0 else math.inf
        silhouette = None
        labels = np.zeros(m, np.int64)
        if m > 3:
            split, silhouette = self._best_split(spread)
            labels = split if silhouette > least else labels
        _, first = np.unique(labels, return_index=True)
        groups = [np.flatnonzero(labels == labels[k]) for k in sorted(first.tolist())]
        named = tuple(tuple(active[k] for k in rows.tolist()) for rows in groups)
        self.rounds.append(
            Round(active, frozen_array(spread, np.float64), named, silhouette, least)
        )
        return groups

    def _best_split(self, spread: FloatArray) -> tuple[IntArray, float]:
        """Search with nodes ordered by isolation, so that column order has no effect."""
        m = len(spread)
        n_sizes = min(m - 2, self.most_families) - 1
        self.capped |= n_sizes < m - 3
        order = np.argsort(-np.sort(spread, axis=1).sum(axis=1), kind="stable")
        draws = self.neighbourhood.rng.random((n_sizes, 2, m))
        shuffles = np.argsort(draws, axis=2, kind="stable")
        ordered = np.ascontiguousarray(spread[order[:, None], order])
        labels, silhouette = _kernels.grouping.best_split(ordered, shuffles)
        split = np.empty(m, np.int64)
        split[order] = labels
        return split, float(silhouette)

    def _represent(
        self, active: tuple[int, ...], rows: IntArray, d: FloatArray, mean: FloatArray
    ) -> _Represented:
        if len(rows) == 1:
            return _Represented(active[rows[0]], rows, 0.0)
        inside = d[rows[:, None], rows]
        misfits = np.abs(mean[rows[:, None], rows] + inside).sum(axis=1)
        best, limit = int(misfits.argmin()), MISFIT * (len(rows) - 1)
        members = [active[k] for k in rows.tolist()]
        is_new = not misfits[best] < limit
        if is_new:
            lengths = _lengths_to_parent(inside, mean[rows[0], rows[1]])
            parent, children = self.neighbourhood.size + self._n_new, members
            self._n_new += 1
            represented = _Represented(parent, rows, float(inside.sum()) / (2 * (len(rows) - 1)))
        else:
            lengths = np.delete(inside[best], best)
            parent, children = members[best], members[:best] + members[best + 1 :]
            represented = _Represented(parent, rows[best : best + 1], 0.0)
        known = tuple(
            self._length(child, parent, length)
            for child, length in zip(children, lengths.tolist(), strict=True)
        )
        misfit = (members[best], float(misfits[best]), limit)
        family = Family(parent, tuple(children), known, is_new, *misfit, len(self.rounds))
        self.families.append(family)
        return represented

    def _length(self, u: int, v: int, length: float) -> float:
        """Subtract the distances of the ends from their surrogates."""
        gaps = self.neighbourhood.gaps
        return max(length - sum(gaps[end] for end in (u, v) if end < len(gaps)), LEAST_LENGTH)


def _lengths_to_parent(inside: FloatArray, mean_of_two: float) -> FloatArray:
    """Return the distances of the members of a family from a new parent."""
    c = len(inside)
    if c == 2:
        apart = inside[0, 1]
        return np.array([(apart + mean_of_two) / 2, (apart - mean_of_two) / 2])
    reach = inside.sum(axis=1)
    lengths: FloatArray = (reach - reach.sum() / (2 * (c - 1))) / (c - 2)
    return lengths


def _between(families: list[_Represented], d: FloatArray) -> FloatArray:
    """(f, f) the distances between the parents of families."""
    size = np.array([len(family.rows) for family in families])
    total = np.array([family.total for family in families])
    rows = np.concatenate([family.rows for family in families])
    starts = np.cumsum(size) - size
    sums = np.add.reduceat(np.add.reduceat(d[rows[:, None], rows], starts), starts, axis=1)
    sums = sums - np.outer(total, size) - np.outer(size, total)
    between = sums / np.outer(size, size)
    alone = np.outer(size == 1, size == 1)
    between = np.where(alone, between, np.maximum(between, LEAST_LENGTH))
    between = (between + between.T) / 2
    np.fill_diagonal(between, 0.0)
    return between


METHODS = {
    "quartet": group_by_quartet,
    "relaxed": group_relaxed,
    "nj": group_by_neighbor_joining,
}


def group(neighbourhood, settings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by the method of the settings."""
    return METHODS[settings.method](neighbourhood, settings)


def visiting_order(initial, settings) -> tuple[int, ...]:
    """Return the nodes of the initial graph that are not leaves, in the order of their visits."""
    inner = [node for node in range(initial.n_observed) if initial.degrees[node] >= 2]
    if settings.order == "degree":
        reach: list[float] = initial.adjacency.sum(axis=1).tolist()
        inner.sort(key=lambda node: (-initial.degrees[node], reach[node], node))
    elif settings.order == "random":
        np.random.default_rng(settings.seed).shuffle(inner)
    return tuple(inner)


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """What the reference learner found."""

    graph: LatentGraph
    trace: tuple[Step, ...]


def learn_plainly(D, settings, start=None) -> Learned:
    """Learn a graph from dense distances in plain Python."""
    initial = initial_graph(D, settings.thresholds.r) if start is None else start
    workspace = PlainWorkspace(initial, DenseNodeDistances(D.values))
    order = visiting_order(initial, settings)
    steps = plain_steps(workspace, order, D.n_samples, settings, group)
    trace = (InitialStep(initial), *steps)
    return Learned(workspace.graph(), trace)
