"""Balls and their shortest trees, one after the other, and the union as it grows.

The trees come from the kernel with which the learner builds them.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.spanning import spanning_tree
from loopylatent.distances import DistanceMatrix

IntArray = NDArray[np.int64]
Edge = tuple[int, int]


class Balls:
    """The balls of all columns at one radius."""

    def __init__(self, D: DistanceMatrix, r: float) -> None:
        self.D = D
        self.r = r
        self._trees: dict[bytes, IntArray] = {}

    def members(self, v: int) -> IntArray:
        """Return the columns of the ball of ``v``, ascending."""
        return np.flatnonzero(self.D.values[v] <= self.r)

    def tree(self, v: int) -> tuple[Edge, ...]:
        """Return the edges of the local tree of ``v``, sorted."""
        return tuple(divmod(code, self.D.n_columns) for code in self._codes(v).tolist())

    def _codes(self, v: int) -> IntArray:
        """Edges as smaller * p + larger; equal balls have equal trees, built once."""
        ball = self.members(v)
        key = ball.tobytes()
        if key not in self._trees:
            parent = spanning_tree(self.D.values, ball)
            child = np.flatnonzero(parent >= 0)
            ends = np.sort(np.column_stack([ball[child], ball[parent[child]]]), axis=1)
            self._trees[key] = np.sort(ends[:, 0] * self.D.n_columns + ends[:, 1])
        return self._trees[key]

    @cached_property
    def _owners(self) -> dict[Edge, tuple[int, ...]]:
        found: dict[Edge, list[int]] = {}
        for v in range(self.D.n_columns):
            for edge in self.tree(v):
                found.setdefault(edge, []).append(v)
        return {edge: tuple(balls) for edge, balls in sorted(found.items())}

    def owners(self, edge: Edge) -> tuple[int, ...]:
        """Return the columns in whose local trees an edge is, ascending; none if it is in none."""
        return self._owners.get(edge, ())

    def union(self, upto: int) -> dict[Edge, float]:
        """Return the edges of the local trees of the columns 0 to ``upto`` with their lengths."""
        return {
            edge: float(self.D.values[edge])
            for edge, balls in self._owners.items()
            if balls[0] <= upto
        }

    def adds(self, v: int) -> tuple[Edge, ...]:
        """Return the edges that no local tree before that of ``v`` had."""
        return tuple(edge for edge in self.tree(v) if self._owners[edge][0] == v)
