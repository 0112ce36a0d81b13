"""Spanning trees of balls, and distances of new hidden nodes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import MANY, kernel, sized_kernel
from loopylatent.compute.values import FloatArray, IntArray


@kernel
def earlier(a: int, b: int, c: int, d: int) -> bool:
    """Whether edge ab comes before edge cd of the same length: smaller node, then larger node."""
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@sized_kernel(MANY)
def spanning_tree(distances: FloatArray, nodes: IntArray) -> IntArray:
    """Parent of each of ``nodes`` in their minimum spanning tree (Prim), -1 for the roots.

    Nodes at infinite distance from all others start a tree of their own.
    """
    k = len(nodes)
    parent = np.full(k, -1, np.int64)
    reach = np.full(k, np.inf)  # length of the edge to the parent
    outside = np.arange(k)
    here = place = 0
    for left in range(k - 1, 0, -1):
        outside[place] = outside[left]  # node ``here`` is in the tree now
        u = nodes[here]
        place = 0
        for q in range(left):
            x, y = outside[q], outside[place]
            v = nodes[x]
            d = distances[u, v]
            if d < reach[x] or (
                d == reach[x] and d < np.inf and earlier(u, v, nodes[parent[x]], v)
            ):
                parent[x], reach[x] = here, d
            if reach[x] < reach[y]:
                place = q
            elif reach[x] == reach[y] and q != place:
                if parent[x] < 0:
                    place = q if x < y else place
                elif earlier(nodes[parent[x]], v, nodes[parent[y]], nodes[y]):
                    place = q
        here = outside[place]
    return parent


def spanning_edges(distances: FloatArray) -> IntArray:
    """(k, 2) edges of the minimum spanning forest of all nodes, sorted."""
    parent = spanning_tree(distances, np.arange(len(distances)))
    child = np.flatnonzero(parent >= 0)
    edges = np.sort(np.column_stack([child, parent[child]]), axis=1)
    return edges[np.lexsort(edges.T[::-1])]


def spanning_lengths(distances: FloatArray) -> FloatArray:
    """Lengths of the edges of the minimum spanning forest of all nodes, ascending."""
    u, v = spanning_edges(distances).T
    return np.sort(distances[u, v])


Indices = NDArray[np.int32]


@kernel
def trees_from_lists(
    start: IntArray, other: Indices, length: FloatArray, r: float, centres: IntArray
) -> IntArray:
    """Rows (u, v), u < v: the edges of the spanning trees of the balls around ``centres``.

    An edge that several trees hold is there several times.
    """
    p = len(start) - 1
    place = np.full(p, -1, np.int64)
    ball, outside = np.empty(p, np.int64), np.empty(p, np.int64)
    parent, reach = np.empty(p, np.int64), np.empty(p, np.float64)
    edges = np.empty((4 * p + 4, 2), np.int64)
    n = 0
    for centre in centres:
        ball[0], place[centre] = centre, 0
        k = 1
        for e in range(start[centre], start[centre + 1]):
            if length[e] <= r:
                ball[k], place[other[e]] = other[e], k
                k += 1
        reach[:k], parent[:k] = np.inf, -1
        for x in range(k):
            outside[x] = x
        here = at = 0
        for left in range(k - 1, 0, -1):
            outside[at] = outside[left]
            u = ball[here]
            place[u] = -1  # in the tree now
            for e in range(start[u], start[u + 1]):
                v = other[e]
                x = place[v]
                if x >= 0 and (
                    length[e] < reach[x]
                    or (length[e] == reach[x] and earlier(u, v, ball[parent[x]], v))
                ):
                    parent[x], reach[x] = here, length[e]
            at = 0
            for q in range(1, left):
                x, y = outside[q], outside[at]
                if reach[x] < reach[y] or (
                    reach[x] == reach[y]
                    and reach[x] < np.inf
                    and earlier(ball[parent[x]], ball[x], ball[parent[y]], ball[y])
                ):
                    at = q
            here = outside[at]
            if n == len(edges):
                edges = np.concatenate((edges, edges))
            edges[n, 0] = min(ball[here], ball[parent[here]])
            edges[n, 1] = max(ball[here], ball[parent[here]])
            n += 1
        place[ball[here]] = -1
    return edges[:n].copy()


@kernel
def forest_from_lists(start: IntArray, other: Indices, length: FloatArray) -> IntArray:
    """Rows (u, v), u < v: the edges of the minimum spanning forest of all columns (Borůvka).

    In each round every tree takes its first edge to another tree, and trees halve in number.
    """
    p = len(start) - 1
    tree = np.arange(p)
    best = np.full(p, -1, np.int64)  # for each tree the list entry of its first edge outwards
    near = np.empty(p, np.int64)  # and the node at its inner end
    edges = np.empty((p, 2), np.int64)
    n = 0
    while True:
        best[:] = -1
        for u in range(p):
            mine = tree[u]
            for e in range(start[u], start[u + 1]):
                v = other[e]
                if tree[v] == mine:
                    continue
                b = best[mine]
                if (
                    b < 0
                    or length[e] < length[b]
                    or (length[e] == length[b] and earlier(u, v, near[mine], other[b]))
                ):
                    best[mine], near[mine] = e, u
        grown = False
        for t in range(p):
            if best[t] < 0:
                continue
            u, v = near[t], other[best[t]]
            a, b = _root(tree, u), _root(tree, v)
            if a != b:
                tree[max(a, b)] = min(a, b)
                edges[n, 0], edges[n, 1] = min(u, v), max(u, v)
                n += 1
                grown = True
        if not grown:
            return edges[:n].copy()
        for u in range(p):
            tree[u] = _root(tree, u)


@kernel
def _root(tree: IntArray, node: int) -> int:
    while tree[node] != node:
        tree[node] = tree[tree[node]]
        node = tree[node]
    return node


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
