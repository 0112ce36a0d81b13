"""What every grouping method takes and gives, and the contraction that all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components, shortest_path

from loopylatent.compute.arrays import FloatArray
from loopylatent.learning.trace import Contraction, Edge, Family, Join, Round
from loopylatent.settings import LearnSettings


@dataclass(frozen=True, slots=True, eq=False)
class Neighbourhood:
    """The closed neighbourhood of a node, as a grouping method sees it."""

    ids: tuple[int, ...]
    """Working numbers, ascending: observed nodes first, then hidden ones from old to young."""
    hidden: tuple[bool, ...]
    surrogates: tuple[int, ...]
    """For each node an observed node that stands for it: itself, or where it was born."""
    distances: FloatArray
    """(m, m) between the nodes."""
    n_samples: int | None
    rng: np.random.Generator
    between_surrogates: FloatArray | None = None
    """(m, m) between the columns that stand for the nodes; None: ``distances``."""
    gaps: tuple[float, ...] = ()
    """How far each node is from its surrogate; empty: not at all."""

    @property
    def size(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class LocalTree:
    """A latent tree on a neighbourhood.

    Nodes are positions: 0..m-1 for those of the neighbourhood, m, m+1, ... for new hidden ones.
    """

    edges: tuple[Edge, ...]
    joins: tuple[Join | Family, ...]
    contractions: tuple[Contraction, ...]
    stuck: bool
    capped: bool
    rest: tuple[Edge, ...] = ()
    """What connected the nodes that no join had taken, before anything was contracted."""
    rounds: tuple[Round, ...] = ()
    by_surrogates: bool = False
    """Whether the distances between the surrogates were used."""

    @property
    def n_new(self) -> int:
        """Hidden nodes that were made, contracted ones included."""
        return sum(join.is_new for join in self.joins)

    @property
    def grown(self) -> list[Edge]:
        """The tree before anything was contracted."""
        return [*edges_of(self.joins), *self.rest]


def edges_of(joins: Iterable[Join | Family]) -> list[Edge]:
    """Return the edges from children to parents."""
    return [
        Edge(child, join.parent, length)
        for join in joins
        for child, length in zip(join.children, join.lengths, strict=True)
    ]


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Nodes that are connected by finite distances, and the distances between all of them."""

    nodes: tuple[int, ...]
    distances: FloatArray


def finite_parts(distances: FloatArray) -> tuple[Part, ...]:
    """Split nodes where no finite distance connects them; complete each part by shortest paths."""
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
    """The edges that are left, and what was contracted."""

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
    """Return the local tree of some joins and of what connects the rest, short edges contracted."""
    edges, limit = [*edges_of(joins), *rest], settings.shortest_edge
    left = contract_short_edges(edges, neighbourhood.hidden, limit)
    return LocalTree(left.edges, tuple(joins), left.contractions, stuck, capped, tuple(rest))


def contract_short_edges(edges: list[Edge], hidden: tuple[bool, ...], tau: float) -> Contracted:
    """Contract the shortest edge below ``tau`` that has a hidden end, until there is none.

    The observed end survives, else the older hidden node (the smaller position). Moved edges keep
    their lengths, so one pass in ascending order does it; of equal edges the earlier one in
    ``edges`` comes first. Positions from ``len(hidden)`` on are new hidden nodes.
    """
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
