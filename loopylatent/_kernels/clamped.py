"""Known values of many rows: which rows are equal, and the log-potentials between known values."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
StateArray = NDArray[np.int16]


HASH_FACTOR = -7046029254386353131


@kernel
def group_rows(states: StateArray, columns: IntArray) -> tuple[IntArray, IntArray]:
    """Group the rows that are equal in ``columns``.

    Returns the group of each row, numbered by first appearance, and the first row of each group.
    """
    n = len(states)
    size = 2
    while size < 2 * n:
        size *= 2
    slots = np.full(size, -1, np.int64)
    group = np.empty(n, np.int64)
    first = np.empty(n, np.int64)
    found = 0
    for row in range(n):
        hashed = 17
        for j in columns:
            hashed = int((hashed ^ (np.int64(states[row, j]) + 2)) * HASH_FACTOR)
            hashed ^= hashed >> 29
        slot = hashed & (size - 1)
        while slots[slot] >= 0:
            other = first[slots[slot]]
            same = True
            for j in columns:
                if states[row, j] != states[other, j]:
                    same = False
                    break
            if same:
                break
            slot = (slot + 1) & (size - 1)
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = row
            found += 1
        group[row] = slots[slot]
    return group, first[:found].copy()


@kernel
def sum_clamped(
    states: StateArray, tables: FloatArray, node_cell: IntArray, edges: IntArray,
    edge_cell: IntArray, n_states: IntArray,
) -> FloatArray:  # fmt: skip
    """(rows,) the log-potentials of known nodes and of edges between known nodes, summed."""
    sums = np.zeros(len(states))
    for row in range(len(states)):
        for v in range(states.shape[1]):
            if states[row, v] >= 0:
                sums[row] += tables[node_cell[v] + states[row, v]]
        for e in range(len(edges)):
            u, v = edges[e, 0], edges[e, 1]
            if states[row, u] >= 0 and states[row, v] >= 0:
                cell = edge_cell[e] + states[row, u] * n_states[v] + states[row, v]
                sums[row] += tables[cell]
    return sums
