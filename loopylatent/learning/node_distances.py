"""Distances between all nodes of the graph while the learner changes it.

`DenseNodeDistances` writes every distance of a new hidden node at once. `LazyNodeDistances` notes
only where the node was born, and works a distance out when it is asked for: with very many
columns few of them ever are. Both give the same numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray, IntArray
from loopylatent.distances.sparse import Distances, SparseDistances


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
        _kernels.node_distances.extend_distances(self._values, known, paths, fresh, outside)


class PairTable:
    """Numbers by pair of nodes; takes as much room as there are pairs."""

    def __init__(self) -> None:
        self.keys = np.full(1024, _kernels.node_distances.EMPTY, np.int64)
        self.numbers = np.empty(1024)
        self.n = 0

    def put(self, keys: IntArray, numbers: FloatArray) -> None:
        self.keys, self.numbers, self.n = _kernels.node_distances.put_numbers(
            self.keys, self.numbers, self.n, keys, numbers
        )

    def get(self, u: int, v: int) -> float:
        """Return the number of two nodes; NaN where there is none."""
        return _kernels.node_distances.number_of(self.keys, self.numbers, u, v)


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
        kernels, known = _kernels.node_distances, self._known
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
