"""Neighbor joining on a neighbourhood (Saitou and Nei 1987), behind the paper's loop.

Lambda plays no part: no test asks whether a join is sure. Short edges are contracted as everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray
from loopylatent.learning.grouping.base import (
    LocalTree,
    Neighbourhood,
    contracted_tree,
    finite_parts,
)
from loopylatent.learning.trace import Edge, Join
from loopylatent.settings import LearnSettings


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by neighbor joining."""
    joins: list[Join] = []
    rest: list[Edge] = []
    for part in finite_parts(neighbourhood.distances):
        nodes, first = part.nodes, neighbourhood.size + len(joins)
        pairs, numbers, left, between = _kernels.neighbor_joining.join_neighbors(
            part.distances, len(nodes)
        )
        ids = (*nodes, *range(first, first + len(pairs)))
        for step, ((i, j), (to_i, to_j, q)) in enumerate(
            zip(pairs.tolist(), numbers.tolist(), strict=True)
        ):
            joins.append(Join(ids[i], ids[j], first + step, to_i, to_j, supported=False, q=q))
        if len(left) == 2:
            i, j = left.tolist()
            rest.append(Edge(ids[i], ids[j], max(float(between[0, 1]), 0.0)))
    return contracted_tree(neighbourhood, settings, joins, rest)


@dataclass(frozen=True, slots=True, eq=False)
class Criterion:
    """The nodes that some joins have left, and what neighbor joining compares between them."""

    nodes: tuple[int, ...]
    """Positions; joined nodes are counted on from the last one of the neighbourhood."""
    distances: FloatArray
    q: FloatArray
    """(a, a) the criterion of every pair; the diagonal is not a number."""


def criterion(distances: FloatArray, joins: int) -> Criterion:
    """Return what is compared after some joins, from the distances of a neighbourhood."""
    given = np.ascontiguousarray(distances, np.float64)
    *_, left, between = _kernels.neighbor_joining.join_neighbors(given, joins)
    sums = between.sum(axis=1)
    q = (len(left) - 2) * between - sums[:, None] - sums
    np.fill_diagonal(q, np.nan)
    return Criterion(tuple(left.tolist()), between, q)
