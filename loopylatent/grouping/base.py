"""What every grouping method takes and gives, and the contraction that all of them share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopylatent.trace import Contraction, Edge, Join

FloatArray = NDArray[np.float64]


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

    @property
    def size(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class LocalTree:
    """A latent tree on a neighbourhood.

    Nodes are positions: 0..m-1 for those of the neighbourhood, m, m+1, ... for new hidden ones.
    """

    edges: tuple[Edge, ...]
    joins: tuple[Join, ...]
    contractions: tuple[Contraction, ...]
    stuck: bool
    capped: bool
    rest: tuple[Edge, ...] = ()
    """What connected the nodes that no join had taken, before anything was contracted."""


@dataclass(frozen=True, slots=True)
class Contracted:
    """The edges that are left, and what was contracted."""

    edges: tuple[Edge, ...]
    contractions: tuple[Contraction, ...]


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
    moved = []
    for edge in kept:
        u, v = sorted((find(edge.u), find(edge.v)))
        moved.append(Edge(u, v, edge.length))
    return Contracted(tuple(sorted(moved, key=lambda e: (e.u, e.v))), tuple(contractions))
