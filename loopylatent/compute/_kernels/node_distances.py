"""Distances of new hidden nodes: inside their local tree, and to the rest of the graph.

``extend_distances`` writes them at once; the others work them out from where nodes were born.
Hidden node h = p, p + 1, ... was born at visit ``birth_visit[h - p]``, at ``birth_path[e]`` from
the member ``birth_member[e]`` of its local tree, for e from ``birth_start[h - p]`` to
``birth_start[h - p + 1]``. Its distance to an older node k outside that tree is the largest
d(c, k) - d(c, h) over the members c, at least 0. Known distances are in a table by pair (``keys``,
``numbers``): open addressing, its size a power of two, half empty.

An edge between two nodes at infinite distance makes its length their distance, from its visit on.
``edge_keys`` and ``edge_index`` are a table by pair too; it leads to lengths and visits.
"""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, IntArray


@kernel
def tree_path_lengths(n: int, edges: IntArray, lengths: FloatArray) -> FloatArray:
    """(n, n) path lengths in a forest on n nodes; infinite between its trees."""
    start = np.zeros(n + 1, np.int64)
    for e in range(len(edges)):
        start[edges[e, 0] + 1] += 1
        start[edges[e, 1] + 1] += 1
    start = np.cumsum(start)
    slot = start[:n].copy()
    other = np.empty(2 * len(edges), np.int64)
    cost = np.empty(2 * len(edges), np.float64)
    for e in range(len(edges)):
        for a, b in ((edges[e, 0], edges[e, 1]), (edges[e, 1], edges[e, 0])):
            other[slot[a]], cost[slot[a]] = b, lengths[e]
            slot[a] += 1
    paths = np.full((n, n), np.inf)
    stack = np.empty(n, np.int64)
    for source in range(n):
        paths[source, source] = 0.0
        stack[0] = source
        height = 1
        while height:
            height -= 1
            x = stack[height]
            for k in range(start[x], start[x + 1]):
                y = other[k]
                if paths[source, y] == np.inf:
                    paths[source, y] = paths[source, x] + cost[k]
                    stack[height] = y
                    height += 1
    return paths


@kernel
def extend_distances(
    distances: FloatArray, members: IntArray, paths: FloatArray, born: IntArray, outside: IntArray
) -> None:
    """Write the distances of the nodes ``born`` into ``distances``.

    ``paths`` holds the lengths between ``members`` (first) and ``born`` (after them) inside the
    local tree. To a node k outside: the largest d(c, k) - d(c, h) over the members c, at least 0;
    exact where the metric is additive, whichever side of the tree k is on.
    """
    m = len(members)
    for x in range(len(born)):
        h = born[x]
        distances[h, h] = 0.0
        for y in range(m):
            distances[h, members[y]] = distances[members[y], h] = paths[m + x, y]
        for y in range(x):
            distances[h, born[y]] = distances[born[y], h] = paths[m + x, m + y]
        for k in outside:
            best = -np.inf
            for y in range(m):
                if np.isfinite(distances[members[y], k]):
                    best = max(best, distances[members[y], k] - paths[m + x, y])
            value = np.inf if best == -np.inf else max(best, 0.0)
            distances[h, k] = distances[k, h] = value


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
                wanted = np.append(wanted, wanted)
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


EMPTY = -1
LOWER = 0x7FFFFFFF
"""The bits of a key that hold the smaller node."""


@kernel
def pair_key(u: int, v: int) -> int:
    """One number for two nodes, whichever comes first."""
    return (max(u, v) << 31) | min(u, v)


@kernel
def slot_of(keys: IntArray, key: int) -> int:
    """Where ``key`` is, or where it would go."""
    mask = len(keys) - 1
    mixed = (key ^ (key >> 29)) * 0x9E3779B1
    slot = (mixed ^ (mixed >> 17)) & mask
    while keys[slot] != EMPTY and keys[slot] != key:
        slot = (slot + 1) & mask
    return int(slot)


@kernel
def enlarged(keys: IntArray, numbers: FloatArray, room: int) -> tuple[IntArray, FloatArray]:
    """The same table, at most half full with ``room`` entries."""
    if 2 * room <= len(keys):
        return keys, numbers
    size = len(keys)
    while size < 4 * room:
        size *= 2
    new_keys, new_numbers = np.full(size, EMPTY, np.int64), np.empty(size, np.float64)
    for slot in range(len(keys)):
        if keys[slot] != EMPTY:
            place = slot_of(new_keys, keys[slot])
            new_keys[place], new_numbers[place] = keys[slot], numbers[slot]
    return new_keys, new_numbers


@kernel
def put_numbers(
    keys: IntArray, numbers: FloatArray, n: int, pairs: IntArray, values: FloatArray
) -> tuple[IntArray, FloatArray, int]:
    """Write numbers by key; return the table and how many entries it has now."""
    keys, numbers = enlarged(keys, numbers, n + len(pairs))
    for k in range(len(pairs)):
        slot = slot_of(keys, pairs[k])
        n += keys[slot] == EMPTY
        keys[slot], numbers[slot] = pairs[k], values[k]
    return keys, numbers, n


@kernel
def number_of(keys: IntArray, numbers: FloatArray, u: int, v: int) -> float:
    """The number of two nodes; NaN where there is none."""
    key = pair_key(u, v)
    slot = slot_of(keys, key)
    return float(numbers[slot]) if keys[slot] == key else np.nan
