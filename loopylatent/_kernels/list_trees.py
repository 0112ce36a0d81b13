"""Minimum spanning trees of balls, on lists of neighbours instead of a full matrix.

All edges of the tree of a ball are at most as long as its radius: each of its columns is that
near to the centre. So the pairs beyond the cut-off of the lists are never missed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel
from loopylatent._kernels.spanning import earlier

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
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
    ball, waiting = np.empty(p, np.int64), np.empty(p, np.int64)
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
            waiting[x] = x
        here = at = 0
        for left in range(k - 1, 0, -1):
            waiting[at] = waiting[left]
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
                x, y = waiting[q], waiting[at]
                if reach[x] < reach[y] or (
                    reach[x] == reach[y]
                    and reach[x] < np.inf
                    and earlier(ball[parent[x]], ball[x], ball[parent[y]], ball[y])
                ):
                    at = q
            here = waiting[at]
            if n == len(edges):
                longer = np.empty((2 * n, 2), np.int64)
                longer[:n] = edges
                edges = longer
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
