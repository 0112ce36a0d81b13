"""Minimum spanning trees of balls: at one radius, at all of them, and on lists of neighbours.

Edges are compared by (distance, smaller node, larger node), so that trees of different balls
agree on ties. All edges of the tree of a ball are at most as long as its radius: each of its
columns is that near to the centre. So the pairs beyond the cut-off of lists are never missed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import BoolArray, FloatArray, IntArray


@kernel
def earlier(a: int, b: int, c: int, d: int) -> bool:
    """Whether edge ab comes before edge cd of the same length: smaller node, then larger node."""
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
    reach = np.full(k, np.inf)  # length of the edge to the parent
    waiting = np.arange(k)
    here = place = 0
    for left in range(k - 1, 0, -1):
        waiting[place] = waiting[left]  # node ``here`` is in the tree now
        u = nodes[here]
        place = 0
        for q in range(left):
            x, y = waiting[q], waiting[place]
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
        here = waiting[place]
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
    all_done = False
    for v in centres:
        ball = np.flatnonzero(distances[v] <= r)
        if len(ball) == p:  # many balls hold all columns when r is large: one tree serves them
            if all_done:
                continue
            all_done = True
        parent = spanning_tree(distances, ball)
        for x in range(len(ball)):
            if parent[x] >= 0:
                a, b = ball[x], ball[parent[x]]
                present[min(a, b), max(a, b)] = True
    return present


@kernel
def _append(rows: FloatArray, n: int, a: int, b: int, birth: float, death: float) -> FloatArray:
    if n == len(rows):
        rows = np.concatenate((rows, rows))
    rows[n, 0], rows[n, 1] = min(a, b), max(a, b)
    rows[n, 2], rows[n, 3] = birth, death
    return rows


@kernel
def _edge_precedes(ball: IntArray, parent: IntArray, k: int, e: int, f: int) -> bool:
    """Whether edge e comes before edge f of the same length.

    Edges have numbers while node k is inserted: y < k is the edge from y to k, and -1 - w is the
    edge from w to its parent.
    """
    a, b = (e, k) if e >= 0 else (-1 - e, parent[-1 - e])
    c, d = (f, k) if f >= 0 else (-1 - f, parent[-1 - f])
    return earlier(ball[a], ball[b], ball[c], ball[d])


@kernel
def _turn_towards(
    parent: IntArray, length: FloatArray, birth: FloatArray, y: int, k: int, reach: float, r: float
) -> None:
    """Hang the part of the tree that holds ``y`` onto node k: the path above y is reversed."""
    above, edge, age = k, reach, r
    node = y
    while node >= 0:
        following = parent[node]
        parent[node], above = above, node
        length[node], edge = edge, length[node]
        birth[node], age = age, birth[node]
        node = following


@kernel
def _order_from_root(parent: IntArray, order: IntArray, head: IntArray, after: IntArray) -> None:
    """Write the nodes of a tree with root 0 into ``order``, parents first."""
    k = len(parent)
    head[:k] = -1
    for node in range(1, k):
        after[node] = head[parent[node]]
        head[parent[node]] = node
    order[0] = 0
    done = 1
    for position in range(k):
        child = head[order[position]]
        while child >= 0:
            order[done] = child
            done += 1
            child = after[child]


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
    length, birth = np.empty(p, np.float64), np.empty(p, np.float64)  # of the edge to the parent
    star = np.empty(p, np.float64)
    best, best_length = np.empty(p, np.int64), np.empty(p, np.float64)  # what each node passes up
    fallen, joined = np.empty(p, np.int64), np.empty(p, np.int64)
    head, after = np.empty(p, np.int64), np.empty(p, np.int64)
    for centre in centres:
        ball[0], parent[0], order[0] = centre, -1, 0
        k = 1
        for x in np.argsort(distances[centre], kind="mergesort"):
            radius = distances[centre, x]
            if x == centre or not np.isfinite(radius):
                continue
            ball[k] = x
            n_fallen = n_joined = 0
            for y in range(k):
                star[y] = best_length[y] = distances[x, ball[y]]
                best[y] = y
            for position in range(k - 1, 0, -1):
                w = order[position]
                up = parent[w]
                worse, worse_length = best[w], best_length[w]
                if worse_length < length[w] or (
                    worse_length == length[w] and _edge_precedes(ball, parent, k, worse, -1 - w)
                ):
                    if worse >= 0:
                        joined[n_joined] = worse
                        n_joined += 1
                    worse, worse_length = -1 - w, length[w]
                if worse_length < best_length[up] or (
                    worse_length == best_length[up]
                    and _edge_precedes(ball, parent, k, worse, best[up])
                ):
                    worse, best[up] = best[up], worse
                    best_length[up] = worse_length
                if worse < 0:  # an edge of the old tree falls out
                    fallen[n_fallen] = -1 - worse
                    n_fallen += 1
            if best[0] >= 0:
                joined[n_joined] = best[0]
                n_joined += 1
            for f in range(n_fallen):
                w = fallen[f]
                if birth[w] < radius:
                    rows = _append(rows, n_rows, ball[w], ball[parent[w]], birth[w], radius)
                    n_rows += 1
                parent[w] = -2
            for j in range(n_joined):
                y = joined[j]
                top = y
                while parent[top] >= 0:
                    top = parent[top]
                if top == 0:
                    parent[k], length[k], birth[k] = y, star[y], radius
                else:
                    _turn_towards(parent, length, birth, y, k, star[y], radius)
            order[k] = k
            k += 1
            if n_fallen:
                _order_from_root(parent[:k], order, head, after)
        for y in range(1, k):
            rows = _append(rows, n_rows, ball[y], ball[parent[y]], birth[y], np.inf)
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
