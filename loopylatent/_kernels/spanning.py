"""Minimum spanning trees of balls, at one radius and at all of them.

Edges are compared by (distance, smaller node, larger node), so that trees of different balls
agree on ties.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@kernel
def precedes(distances: FloatArray, a: int, b: int, c: int, d: int) -> bool:
    """Whether edge ab comes before edge cd in the total order of edges."""
    if distances[a, b] != distances[c, d]:
        return bool(distances[a, b] < distances[c, d])
    if min(a, b) != min(c, d):
        return min(a, b) < min(c, d)
    return max(a, b) < max(c, d)


@kernel
def spanning_tree(distances: FloatArray, nodes: IntArray) -> IntArray:
    """Parent of each of ``nodes`` in their minimum spanning tree (Prim), -1 for the roots.

    Nodes at infinite distance from all others start a tree of their own.
    """
    k = len(nodes)
    parent = np.full(k, -1, np.int64)
    reached = np.zeros(k, np.bool_)
    current = 0
    for _ in range(k):
        reached[current] = True
        nearest = -1
        for x in range(k):
            if reached[x]:
                continue
            u, v = nodes[current], nodes[x]
            if np.isfinite(distances[u, v]) and (
                parent[x] < 0 or precedes(distances, u, v, nodes[parent[x]], v)
            ):
                parent[x] = current
            if nearest < 0 or (
                parent[x] >= 0
                and (
                    parent[nearest] < 0
                    or precedes(
                        distances, nodes[parent[x]], v, nodes[parent[nearest]], nodes[nearest]
                    )
                )
            ):
                nearest = x
        current = nearest
    return parent


def spanning_lengths(distances: FloatArray) -> FloatArray:
    """Lengths of the edges of the minimum spanning forest of all nodes, ascending."""
    parent = spanning_tree(distances, np.arange(len(distances)))
    child = np.flatnonzero(parent >= 0)
    return np.sort(distances[child, parent[child]])


@kernel
def union_of_local_trees(distances: FloatArray, r: float, centres: IntArray) -> BoolArray:
    """(p, p) upper triangle: the edges of the spanning trees of the balls around ``centres``."""
    p = len(distances)
    present = np.zeros((p, p), np.bool_)
    for v in centres:
        ball = np.flatnonzero(distances[v] <= r)
        parent = spanning_tree(distances, ball)
        for x in range(len(ball)):
            if parent[x] >= 0:
                a, b = ball[x], ball[parent[x]]
                present[min(a, b), max(a, b)] = True
    return present


@kernel
def _append(rows: FloatArray, n: int, a: int, b: int, birth: float, death: float) -> FloatArray:
    if n == len(rows):
        larger = np.empty((2 * n, 4), np.float64)
        larger[:n] = rows
        rows = larger
    rows[n, 0], rows[n, 1] = min(a, b), max(a, b)
    rows[n, 2], rows[n, 3] = birth, death
    return rows


@kernel
def _root_again(
    parent: IntArray, order: IntArray, births: FloatArray, ends: IntArray, ages: FloatArray
) -> None:
    """Write the tree with the edges ``ends`` as parents and an order in which parents come first.

    Node 0 is the root; ``births`` follows the edges from ``ages`` to the lower node of each.
    """
    k = len(ends)
    start = np.zeros(k + 2, np.int64)
    for e in range(k):
        start[ends[e, 0] + 1] += 1
        start[ends[e, 1] + 1] += 1
    for x in range(k + 1):
        start[x + 1] += start[x]
    slot = start[: k + 1].copy()
    other = np.empty(2 * k, np.int64)
    edge = np.empty(2 * k, np.int64)
    for e in range(k):
        a, b = ends[e, 0], ends[e, 1]
        other[slot[a]], edge[slot[a]] = b, e
        slot[a] += 1
        other[slot[b]], edge[slot[b]] = a, e
        slot[b] += 1
    parent[0], order[0] = -1, 0
    done = 1
    for position in range(k + 1):
        x = order[position]
        for s in range(start[x], start[x + 1]):
            y = other[s]
            if y != parent[x]:
                parent[y], births[y] = x, ages[edge[s]]
                order[done] = y
                done += 1


@kernel
def local_tree_intervals(distances: FloatArray, centres: IntArray) -> FloatArray:
    """Rows (u, v, birth, death): edge uv is in the local tree of a centre for birth <= r < death.

    The ball of a centre grows by one node x at a time. The new tree lies inside the old tree plus
    the star of x; walking the old tree from its leaves to its root, each node passes up the best
    edge that could still be needed, and the worst edge of each cycle falls out. One insertion is
    linear in the size of the ball. An edge that has fallen out never comes back.
    """
    p = len(distances)
    rows = np.empty((4 * p + 4, 4), np.float64)
    n_rows = 0
    ball = np.empty(p, np.int64)
    parent, order = np.empty(p, np.int64), np.empty(p, np.int64)
    births = np.empty(p, np.float64)
    best = np.empty((p, 2), np.int64)  # edge that each node passes up, as positions in the ball
    best_birth = np.empty(p, np.float64)
    ends, ages = np.empty((p, 2), np.int64), np.empty(p, np.float64)
    for centre in centres:
        ball[0], parent[0], order[0] = centre, -1, 0
        k = 1
        for x in np.argsort(distances[centre], kind="mergesort"):
            radius = distances[centre, x]
            if x == centre or not np.isfinite(radius):
                continue
            ball[k] = x
            fallen = 0
            for y in range(k):
                best[y, 0], best[y, 1], best_birth[y] = y, k, radius
            for position in range(k - 1, 0, -1):
                w = order[position]
                up = parent[w]
                a, b, age = best[w, 0], best[w, 1], best_birth[w]
                if precedes(distances, ball[a], ball[b], ball[w], ball[up]):
                    ends[position - 1, 0], ends[position - 1, 1] = a, b
                    ages[position - 1] = age
                    a, b, age = w, up, births[w]
                else:
                    ends[position - 1, 0], ends[position - 1, 1] = w, up
                    ages[position - 1] = births[w]
                # edge ab is the worse of the two: it goes on only if it beats the parent's best
                if precedes(distances, ball[a], ball[b], ball[best[up, 0]], ball[best[up, 1]]):
                    a, best[up, 0] = best[up, 0], a
                    b, best[up, 1] = best[up, 1], b
                    age, best_birth[up] = best_birth[up], age
                if b != k:  # an edge of the old tree falls out (star edges end in x)
                    fallen += 1
                    if age < radius:
                        rows = _append(rows, n_rows, ball[a], ball[b], age, radius)
                        n_rows += 1
            ends[k - 1, 0], ends[k - 1, 1] = best[0, 0], best[0, 1]
            ages[k - 1] = best_birth[0]
            if fallen == 0:  # x hangs on as a leaf
                for e in range(k):
                    if ends[e, 1] == k:
                        parent[k] = ends[e, 0]
                births[k] = radius
                order[k] = k
            else:
                _root_again(parent, order, births, ends[:k], ages[:k])
            k += 1
        for y in range(1, k):
            rows = _append(rows, n_rows, ball[y], ball[parent[y]], births[y], np.inf)
            n_rows += 1
    return rows[:n_rows].copy()


@kernel
def merge_intervals(rows: FloatArray) -> FloatArray:
    """Unite the intervals of equal edges; ``rows`` are sorted by edge, then birth."""
    merged = np.empty_like(rows)
    n = 0
    for row in rows:
        last = merged[n - 1]
        if n and last[0] == row[0] and last[1] == row[1] and row[2] <= last[3]:
            last[3] = max(last[3], row[3])
        else:
            merged[n] = row
            n += 1
    return merged[:n].copy()
