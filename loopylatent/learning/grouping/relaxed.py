"""Relaxed recursive grouping: families of small spread, each under a parent.

It is the variant behind the paper's experiments. Siblings differ by a constant in their distances
to all others; on data the differences spread, and nodes are split into families where that spread
is small. The method brings its own thresholds, so Lambda and tau play no part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray, IntArray, frozen_array
from loopylatent.learning.grouping.base import (
    LocalTree,
    Neighbourhood,
    contracted_tree,
    finite_parts,
)
from loopylatent.learning.trace import Edge, Family, Round
from loopylatent.settings import RELAXED_TAU, LearnSettings

LEAST_LENGTH = -math.log(0.95)
FAR = -2 * math.log(0.1)
"""Of a pair farther apart than this the spread is not asked."""
SPREAD_OF_FAR = 10.0
REACH = -math.log(0.05)
REACH_BY_ROWS = 0.1
"""Witnesses are nearer than ``REACH + REACH_BY_ROWS * log(rows)``."""
MISFIT = 2 * RELAXED_TAU
"""A member is the parent of the others if it misses by less than this for each of them."""


def group(neighbourhood: Neighbourhood, settings: LearnSettings) -> LocalTree:
    """Build the local latent tree of a neighbourhood by relaxed grouping."""
    first: dict[int, int] = {}  # the first node that each column stands for
    twins = []  # those that share it with an earlier one
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
    """A family from the next round on: the rows that speak for it, and what they lose."""

    node: int
    rows: IntArray
    total: float
    """The sum of the lengths from the rows to the node."""


@dataclass(slots=True, eq=False)
class _Growth:
    """A local tree while it grows, over rounds and parts."""

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
            spread, mean = _kernels.families.compare_pairs(
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
        """Split the active nodes into families, and record why."""
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
        """Search with nodes in the order of their isolation, which does not hang on names."""
        m = len(spread)
        n_sizes = min(m - 2, self.most_families) - 1
        self.capped |= n_sizes < m - 3
        order = np.argsort(-np.sort(spread, axis=1).sum(axis=1), kind="stable")
        draws = self.neighbourhood.rng.random((n_sizes, 2, m))
        shuffles = np.argsort(draws, axis=2, kind="stable")
        ordered = np.ascontiguousarray(spread[order[:, None], order])
        labels, silhouette = _kernels.families.best_split(ordered, shuffles)
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
        """Take off how far the ends are from the columns that stand for them."""
        gaps = self.neighbourhood.gaps
        return max(length - sum(gaps[end] for end in (u, v) if end < len(gaps)), LEAST_LENGTH)


def _lengths_to_parent(inside: FloatArray, mean_of_two: float) -> FloatArray:
    """Share out the distances inside a family whose parent is a new node."""
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
