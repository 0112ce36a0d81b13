"""The order in which nodes are summed out: greedy, by the fewest edges to be filled in."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


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
    order = np.empty(total, np.int64)
    width = np.empty(total, np.int64)
    log_table = np.empty(total, np.float64)
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
