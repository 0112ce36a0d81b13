"""Neighbor joining on a neighbourhood (Saitou and Nei 1987), behind the paper's loop.

Lambda plays no part: no test asks whether a join is sure. Short edges are contracted as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.compute._kernels.neighbor_joining import join_neighbors
from loopylatent.compute.arrays import FloatArray
from loopylatent.learning.grouping.base import (
    LocalTree,
    Neighbourhood,
    contract_short_edges,
    edges_of,
    finite_parts,
)
from loopylatent.learning.trace import Edge, Join
from loopylatent.settings import LearnSettings


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by neighbor joining.

    Examples
    --------
    >>> d = np.array([[0, 2, 3, 3], [2, 0, 3, 3], [3, 3, 0, 2], [3, 3, 2, 0.0]])
    >>> four = Neighbourhood((0, 1, 2, 3), (False,) * 4, (0, 1, 2, 3), d, None, None)
    >>> from loopylatent.settings import Thresholds
    >>> tree = group(four, LearnSettings(Thresholds(r=3, Lambda=0, tau=0.1), "nj"))
    >>> [(edge.u, edge.v, edge.length) for edge in tree.edges]
    [(0, 4, 1.0), (1, 4, 1.0), (2, 5, 1.0), (3, 5, 1.0), (4, 5, 1.0)]
    """
    joins: list[Join] = []
    rest: list[Edge] = []
    for part in finite_parts(neighbourhood.distances):
        nodes, first = part.nodes, neighbourhood.size + len(joins)
        pairs, numbers, left, between = join_neighbors(part.distances, len(nodes))
        ids = (*nodes, *range(first, first + len(pairs)))
        for step, ((i, j), (to_i, to_j, q)) in enumerate(
            zip(pairs.tolist(), numbers.tolist(), strict=True)
        ):
            joins.append(Join(ids[i], ids[j], first + step, to_i, to_j, supported=False, q=q))
        if len(left) == 2:
            i, j = left.tolist()
            rest.append(Edge(ids[i], ids[j], max(float(between[0, 1]), 0.0)))
    contracted = contract_short_edges(
        [*edges_of(joins), *rest], neighbourhood.hidden, settings.shortest_edge
    )
    return LocalTree(
        contracted.edges,
        tuple(joins),
        contracted.contractions,
        stuck=False,
        capped=False,
        rest=tuple(rest),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """The nodes that some joins have left, and what neighbor joining compares between them."""

    nodes: tuple[int, ...]
    """Positions; joined nodes are counted on from the last one of the neighbourhood."""
    distances: FloatArray
    q: FloatArray
    """(a, a) the criterion of every pair; the diagonal is not a number."""


def criterion(distances: FloatArray, joins: int) -> Criterion:
    """Return what is compared after some joins, from the distances of a neighbourhood.

    Examples
    --------
    >>> d = np.array([[0, 2, 3, 3], [2, 0, 3, 3], [3, 3, 0, 2], [3, 3, 2, 0.0]])
    >>> criterion(d, joins=0).q[0].tolist()
    [nan, -12.0, -10.0, -10.0]
    """
    *_, left, between = join_neighbors(np.ascontiguousarray(distances, np.float64), joins)
    sums = between.sum(axis=1)
    q = (len(left) - 2) * between - sums[:, None] - sums
    np.fill_diagonal(q, np.nan)
    return Criterion(tuple(left.tolist()), between, q)
