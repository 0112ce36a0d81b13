"""Distances between columns and hidden nodes, computed on demand from sparse distances."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.distances.sparse import SparseDistances


class PairTable:
    """A hash table of numbers by pair of nodes."""

    def __init__(self) -> None:
        self.keys = np.full(1024, _kernels.graphs.EMPTY, np.int64)
        self.numbers = np.empty(1024)
        self.n = 0

    def put(self, keys: IntArray, numbers: FloatArray) -> None:
        self.keys, self.numbers, self.n = _kernels.graphs.put_numbers(
            self.keys, self.numbers, self.n, keys, numbers
        )

    def get(self, u: int, v: int) -> float:
        """Return the number of a pair; NaN if there is none."""
        return _kernels.graphs.number_of(self.keys, self.numbers, u, v)


class _Growing:
    """An array with amortised appending."""

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
    """Distances computed on demand and cached, for sparse distances.

    The distance of two nodes is fixed when the younger one is created. It depends on distances of
    the members of its local tree, which are older. So the required pairs are collected from the
    youngest node down, and computed from the oldest up.
    """

    def __init__(self, D: SparseDistances) -> None:
        self._D = D
        self._p = D.n_columns
        self._known = PairTable()
        self._visit = 0
        whole, real = np.empty(0, np.int64), np.empty(0, np.float64)
        self._start, self._member = _Growing(np.zeros(1, np.int64)), _Growing(whole)
        self._path, self._created_in = _Growing(real), _Growing(whole)
        self._edges = PairTable()
        self._edge_length, self._edge_visit = _Growing(real), _Growing(whole)
        self._fresh: list[tuple[int, int]] = []

    def note_edge(self, u: int, v: int, length: float) -> None:
        """Use the length of an edge as distance if u and v are infinitely far apart."""
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

    def place(self, members: IntArray, new: IntArray, paths: FloatArray) -> None:
        """Set the distances of the new hidden nodes of a local tree.

        ``paths`` holds the path lengths from the new nodes to the members and to new nodes. The
        distance of h to a node k outside is the largest d(c, k) - d(c, h) over the members c, at
        least 0.
        """
        m = len(members)
        for x, node in enumerate(new.tolist()):
            inside = np.append(members, new[:x])
            self._known.put(_keys([node] * len(inside), inside), paths[x, : m + x])
            self._member.add(members)
            self._path.add(paths[x, :m])
            self._start.add(np.array([len(self._member.values)]))
            self._created_in.add(np.array([self._visit]))
        for u, v in self._fresh:
            if max(u, v) >= new[0]:  # path lengths take precedence over lengths of first edges
                self._edge_visit.values[int(self._edges.get(u, v))] = NEVER
        self._fresh = []
        self._visit += 1

    def between(self, nodes: Sequence[int] | IntArray) -> FloatArray:
        """(k, k) the distances between ``nodes``."""
        kernels, known = _kernels.graphs, self._known
        index = np.asarray(nodes, dtype=np.int64)
        known.keys, known.numbers, known.n, missing = kernels.collect_pairs(
            known.keys, known.numbers, known.n, self._p,
            self._start.values, self._member.values, index,
        )  # fmt: skip
        columns = missing[missing >> 31 < self._p]
        hidden = np.sort(missing[missing >> 31 >= self._p])
        known.put(columns, self._D.pairs(columns & kernels.LOWER, columns >> 31))
        edges = (
            self._edges.keys, self._edges.numbers, self._edge_length.values, self._edge_visit.values
        )  # fmt: skip
        kernels.work_out_pairs(
            known.keys, known.numbers, self._p,
            self._start.values, self._member.values, self._path.values, self._created_in.values,
            *edges, hidden,
        )  # fmt: skip
        return kernels.read_block(known.keys, known.numbers, *edges, index, self._visit)


def _keys(left: Sequence[int] | IntArray, right: Sequence[int] | IntArray) -> IntArray:
    """Keys of pairs, as the kernel `pair_key`."""
    u, v = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
    keys: IntArray = (np.maximum(u, v) << 31) | np.minimum(u, v)
    return keys
