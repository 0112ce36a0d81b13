"""Known values of many rows: which rows are equal, and the log-potentials between known values.

The order in which nodes are summed out: greedy, by the fewest edges to be filled in.
"""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.circuit import mixed
from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import BoolArray, FloatArray, IntArray, StateArray


@kernel
def group_rows(states: StateArray, columns: IntArray) -> tuple[IntArray, IntArray]:
    """Group the rows that are equal in ``columns``.

    Returns the group of each row, numbered by first appearance, and the first row of each group.
    """
    n = len(states)
    size = 2
    while size < 2 * n:
        size *= 2
    slots, group, first = np.full(size, -1), np.empty(n, np.int64), np.empty(n, np.int64)
    found = 0
    for row in range(n):
        hashed = 17
        for j in columns:
            hashed = mixed(hashed, states[row, j] + 2)
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


@kernel
def _missing_pairs(linked: BoolArray, nodes: IntArray, limit: int) -> int:
    """Count the pairs of ``nodes`` that are not linked; stop counting beyond ``limit``."""
    missing = 0
    for a in range(len(nodes)):
        for b in range(a):
            if not linked[nodes[a], nodes[b]]:
                missing += 1
        if missing > limit:
            break
    return missing


@kernel
def _cheapest_node(
    linked: BoolArray, active: BoolArray, log_states: FloatArray, burden: FloatArray
) -> int:
    """Return the node with the fewest missing pairs, then the smallest table, then burden."""
    n = len(active)
    best, best_fill, best_size, best_burden = -1, n * n, np.inf, np.inf
    for v in range(n):
        if not active[v]:
            continue
        around = np.flatnonzero(linked[v] & active)
        fill = _missing_pairs(linked, around, best_fill)
        if fill > best_fill:
            continue
        size = log_states[v] + log_states[around].sum()
        if (
            fill < best_fill
            or size < best_size - 1e-9
            or (size < best_size + 1e-9 and burden[v] < best_burden)
        ):
            best, best_fill, best_size, best_burden = v, fill, size, burden[v]
    return best


@kernel
def eliminate_by_fill(
    linked: BoolArray, active: BoolArray, log_states: FloatArray, burden: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Eliminate the active nodes one by one.

    Returns their order and, for each of them, how many nodes it still had beside it and the
    logarithm of the table over it and those. ``linked`` and ``active`` are used up. ``burden``
    breaks ties: small burdens go first and are handed on to the nodes beside them.
    """
    total = int(active.sum())
    order, width, log_table = np.empty(total, np.int64), np.empty(total, np.int64), np.empty(total)
    load = burden.copy()
    for step in range(total):
        v = _cheapest_node(linked, active, log_states, load)
        active[v] = False
        around = np.flatnonzero(linked[v] & active)
        order[step], width[step] = v, len(around)
        log_table[step] = log_states[v] + log_states[around].sum()
        for a in around:
            load[a] += load[v]
            for b in around:
                if a != b:
                    linked[a, b] = True
    return order, width, log_table
