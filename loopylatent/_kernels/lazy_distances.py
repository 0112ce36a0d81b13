"""Distances of hidden nodes, worked out from where they were born.

Hidden node h = p, p + 1, ... was born at visit ``birth_visit[h - p]``, at ``birth_path[e]`` from
the member ``birth_member[e]`` of its local tree, for e from ``birth_start[h - p]`` to
``birth_start[h - p + 1]``. Its distance to an older node k outside that tree is the largest
d(c, k) - d(c, h) over the members c, at least 0. Known distances are in a table by pair (``keys``,
``numbers``).

An edge between two nodes at infinite distance makes its length their distance, from its visit on.
``edge_keys`` and ``edge_index`` are a table by pair too; it leads to lengths and visits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel
from loopylatent._kernels.pair_cache import EMPTY, LOWER, enlarged, pair_key, slot_of

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def collect_pairs(
    keys: IntArray, numbers: FloatArray, n: int, p: int,
    birth_start: IntArray, birth_member: IntArray, nodes: IntArray,
) -> tuple[IntArray, FloatArray, int, IntArray]:  # fmt: skip
    """Find the pairs that the distances between ``nodes`` rest on and that are not known.

    Returns the table with places for them, its number of entries, and the keys of the pairs.
    """
    wanted, n_wanted = np.empty(256, np.int64), 0
    for x in range(len(nodes)):
        for y in range(x):
            keys, numbers, n, wanted, n_wanted = _want(
                keys, numbers, n, wanted, n_wanted, nodes[x], nodes[y]
            )
    done = 0
    while done < n_wanted:
        h, k = wanted[done] >> 31, wanted[done] & LOWER
        done += 1
        if h < p:
            continue
        for e in range(birth_start[h - p], birth_start[h - p + 1]):
            keys, numbers, n, wanted, n_wanted = _want(
                keys, numbers, n, wanted, n_wanted, birth_member[e], k
            )
    return keys, numbers, n, wanted[:n_wanted].copy()


@kernel
def _want(
    keys: IntArray, numbers: FloatArray, n: int, wanted: IntArray, n_wanted: int, u: int, v: int
) -> tuple[IntArray, FloatArray, int, IntArray, int]:
    """Make a place for the distance of two nodes and list the pair, unless there is one."""
    if u != v:
        key = pair_key(u, v)
        slot = slot_of(keys, key)
        if keys[slot] == EMPTY:
            keys[slot] = key
            n += 1
            keys, numbers = enlarged(keys, numbers, n)
            if n_wanted == len(wanted):
                longer = np.empty(2 * n_wanted, np.int64)
                longer[:n_wanted] = wanted
                wanted = longer
            wanted[n_wanted] = key
            n_wanted += 1
    return keys, numbers, n, wanted, n_wanted


@kernel
def _length(
    keys: IntArray, numbers: FloatArray, edge_keys: IntArray, edge_index: FloatArray,
    edge_length: FloatArray, edge_visit: IntArray, u: int, v: int, visit: int,
) -> float:  # fmt: skip
    """A known distance as it was at a visit."""
    if u == v:
        return 0.0
    key = pair_key(u, v)
    length = numbers[slot_of(keys, key)]
    if length == np.inf:
        slot = slot_of(edge_keys, key)
        if edge_keys[slot] == key and edge_visit[int(edge_index[slot])] <= visit:
            return float(edge_length[int(edge_index[slot])])
    return float(length)


@kernel
def work_out_pairs(
    keys: IntArray, numbers: FloatArray, p: int,
    birth_start: IntArray, birth_member: IntArray, birth_path: FloatArray, birth_visit: IntArray,
    edge_keys: IntArray, edge_index: FloatArray, edge_length: FloatArray, edge_visit: IntArray,
    pairs: IntArray,
) -> None:  # fmt: skip
    """Write the distances of pairs with a hidden node; ``pairs`` ascend: older nodes first."""
    for key in pairs:
        h, k = key >> 31, key & LOWER
        best = -np.inf
        for e in range(birth_start[h - p], birth_start[h - p + 1]):
            far = _length(
                keys, numbers, edge_keys, edge_index, edge_length, edge_visit,
                birth_member[e], k, birth_visit[h - p],
            )  # fmt: skip
            if far < np.inf:
                best = max(best, far - birth_path[e])
        numbers[slot_of(keys, key)] = np.inf if best == -np.inf else max(best, 0.0)


@kernel
def read_block(
    keys: IntArray, numbers: FloatArray, edge_keys: IntArray, edge_index: FloatArray,
    edge_length: FloatArray, edge_visit: IntArray, nodes: IntArray, visit: int,
) -> FloatArray:  # fmt: skip
    """(k, k) known distances between ``nodes``."""
    block = np.zeros((len(nodes), len(nodes)))
    for x in range(len(nodes)):
        for y in range(x):
            block[x, y] = block[y, x] = _length(
                keys, numbers, edge_keys, edge_index, edge_length, edge_visit,
                nodes[x], nodes[y], visit,
            )  # fmt: skip
    return block
