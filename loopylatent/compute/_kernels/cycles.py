"""A minimum cycle basis of a graph, by breadth-first search (Horton 1987).

With unique shortest paths, every cycle of the minimum basis consists of the shortest paths from its
smallest node to the two ends of one of its edges, and of that edge. Paths with equally many edges
are told apart by the sum of random numbers, one for each edge.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.values import FloatArray, IntArray

Indices = NDArray[np.int32]
BITS = 62
"""Of a word in a set of bits; so a word is never negative."""


@kernel
def half_edges(n_nodes: int, edges: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """The neighbours of node x at ``start[x] .. start[x + 1]``, and the edges that lead to them."""
    start = np.zeros(n_nodes + 1, np.int64)
    for e in range(len(edges)):
        start[edges[e, 0] + 1] += 1
        start[edges[e, 1] + 1] += 1
    for x in range(n_nodes):
        start[x + 1] += start[x]
    slot = start[:n_nodes].copy()
    other, via = np.empty(2 * len(edges), np.int64), np.empty(2 * len(edges), np.int64)
    for e in range(len(edges)):
        for end in range(2):
            x = edges[e, end]
            other[slot[x]] = edges[e, 1 - end]
            via[slot[x]] = e
            slot[x] += 1
    return start, other, via


@kernel
def core(start: IntArray, other: IntArray) -> IntArray:
    """The nodes that are left, ascending, when leaves are removed until there are none."""
    n = len(start) - 1
    degree = start[1:] - start[:n]
    stack = np.empty(n, np.int64)
    n_open = 0
    for x in range(n):
        if degree[x] <= 1:
            stack[n_open] = x
            n_open += 1
    while n_open:
        n_open -= 1
        x = stack[n_open]
        degree[x] = 0
        for h in range(start[x], start[x + 1]):
            y = other[h]
            degree[y] -= 1
            if degree[y] == 1:
                stack[n_open] = y
                n_open += 1
    return np.flatnonzero(degree > 0)


@kernel
def edges_among(nodes: IntArray, n_nodes: int, edges: IntArray) -> IntArray:
    """The edges between some nodes, which are numbered by their position."""
    number = np.full(n_nodes, -1, np.int64)
    for k in range(len(nodes)):
        number[nodes[k]] = k
    found = np.empty((len(edges), 2), np.int64)
    n = 0
    for e in range(len(edges)):
        u, v = number[edges[e, 0]], number[edges[e, 1]]
        if u >= 0 and v >= 0:
            found[n, 0], found[n, 1] = u, v
            n += 1
    return found[:n].copy()


@kernel
def closing_edges(n_nodes: int, edges: IntArray) -> IntArray:
    """The number of each edge that closes a cycle with edges before it, -1 for the others."""
    root, number = np.arange(n_nodes), np.full(len(edges), -1, np.int64)
    n = 0
    for e in range(len(edges)):
        u, v = edges[e, 0], edges[e, 1]
        while root[u] != u:
            root[u] = root[root[u]]
            u = root[u]
        while root[v] != v:
            root[v] = root[root[v]]
            v = root[v]
        if u == v:
            number[e] = n
            n += 1
        root[u] = v
    return number


@kernel
def shortest_paths(
    source: int, start: IntArray, other: IntArray, via: IntArray, tie: FloatArray,
    level: IntArray, total: FloatArray, previous: IntArray, last: Indices, queue: IntArray,
) -> int:  # fmt: skip
    """Number of nodes that ``source`` reaches; ``queue`` lists them, nearest first.

    ``level`` counts the edges of the shortest path to each node, ``total`` adds up their random
    numbers, ``previous`` and ``last`` are the node before it and the last edge.
    """
    level[:] = -1
    level[source], total[source], previous[source], queue[0] = 0, 0.0, -1, source
    at, n = 0, 1
    while at < n:
        x = queue[at]
        at += 1
        for h in range(start[x], start[x + 1]):
            y, there = other[h], total[x] + tie[via[h]]
            if level[y] < 0:
                level[y] = level[x] + 1
                queue[n] = y
                n += 1
            elif level[y] != level[x] + 1 or there >= total[y]:
                continue
            total[y], previous[y], last[y] = there, x, via[h]
    return n


@kernel
def candidate_cycles(
    edges: IntArray, start: IntArray, other: IntArray, via: IntArray, tie: FloatArray,
    last: Indices,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """The smallest node and the edge of each cycle that may be in the basis, shortest first.

    Row s of ``last`` is filled with the last edges of the shortest paths from s.
    """
    n, m = len(start) - 1, len(edges)
    level, total, queue = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    previous = np.empty(n, np.int64)
    branch = np.empty(n, np.int64)  # first node on the path; -1 where it passes a smaller node
    length, source, closing = np.empty(256), np.empty(256, np.int64), np.empty(256, np.int64)
    k = 0
    for s in range(n):
        reached = shortest_paths(s, start, other, via, tie, level, total, previous, last[s], queue)
        branch[:] = -1
        for q in range(1, reached):
            y = queue[q]
            if y > s:
                branch[y] = y if previous[y] == s else branch[previous[y]]
        for e in range(m):
            a, b = edges[e, 0], edges[e, 1]
            if branch[a] < 0 or branch[b] < 0 or branch[a] == branch[b]:
                continue
            if k == len(length):
                length = np.append(length, length)
                source, closing = np.append(source, source), np.append(closing, closing)
            # the random numbers of a cycle add up to less than m
            length[k] = (level[a] + level[b] + 1) * m + (total[a] + total[b] + tie[e])
            source[k], closing[k] = s, e
            k += 1
    order = np.argsort(length[:k], kind="mergesort")
    return source[order], closing[order]


@kernel
def is_independent(vector: IntArray, known: IntArray, has: IntArray) -> bool:
    """Whether a set of bits is no sum of known ones; then it is kept under its last bit."""
    for w in range(len(vector) - 1, -1, -1):
        bit = BITS - 1
        while vector[w]:
            while not vector[w] >> bit & 1:
                bit -= 1
            top = w * BITS + bit
            if not has[top]:
                has[top] = 1
                known[top, :] = vector
                return True
            for q in range(w + 1):
                vector[q] ^= known[top, q]
    return False


@kernel
def before(edges: IntArray, last: Indices, x: int) -> int:
    """The node before x on a path with these last edges."""
    return edges[last[x], 0] + edges[last[x], 1] - x  # type: ignore[no-any-return]


@kernel
def minimum_basis(
    n_nodes: int, edges: IntArray, tie: FloatArray
) -> tuple[IntArray, IntArray, Indices]:
    """Smallest node, closing edge and (nodes, nodes) paths of each cycle of the minimum basis.

    Entry (s, x) of the third array is the last edge of the shortest path from s to x.
    """
    start, other, via = half_edges(n_nodes, edges)
    last = np.empty((n_nodes, n_nodes), np.int32)
    source, closing = candidate_cycles(edges, start, other, via, tie, last)
    number = closing_edges(n_nodes, edges)
    n_cycles = number.max() + 1 if len(number) else 0
    n_words = (n_cycles + BITS - 1) // BITS
    known = np.zeros((n_words * BITS, n_words), np.int64)
    has, vector = np.zeros(n_words * BITS, np.int64), np.empty(n_words, np.int64)
    n = 0
    for k in range(len(source)):
        s, e = source[k], closing[k]
        vector[:] = 0
        for end in range(2):
            x = edges[e, end]
            while x != s:
                bit = number[last[s, x]]
                if bit >= 0:
                    vector[bit // BITS] ^= 1 << (bit % BITS)
                x = before(edges, last[s], x)
        if number[e] >= 0:
            vector[number[e] // BITS] ^= 1 << (number[e] % BITS)
        if is_independent(vector, known, has):
            source[n], closing[n] = s, e
            n += 1
            if n == n_cycles:
                break
    return source[:n].copy(), closing[:n].copy(), last


@kernel
def n_before(edges: IntArray, last: Indices, source: int, x: int) -> int:
    """Edges on the path from ``source`` to x."""
    n = 0
    while x != source:
        x = before(edges, last, x)
        n += 1
    return n


@kernel
def cycle_nodes(n_nodes: int, edges: IntArray, tie: FloatArray) -> tuple[IntArray, IntArray]:
    """The nodes of each cycle of a minimum basis, cycle k at ``first[k] .. first[k + 1]``.

    A cycle begins with its smallest node and goes on with the smaller neighbour of that node.
    """
    start, other, _ = half_edges(n_nodes, edges)
    kept = core(start, other)
    inner = edges_among(kept, n_nodes, edges)
    source, closing, last = minimum_basis(len(kept), inner, tie)
    first = np.zeros(len(source) + 1, np.int64)
    ends = np.empty(len(source), np.int64)  # where the path to the first end of the edge ends
    for k in range(len(source)):
        s, e = source[k], closing[k]
        ends[k] = first[k] + n_before(inner, last[s], s, inner[e, 0])
        first[k + 1] = ends[k] + n_before(inner, last[s], s, inner[e, 1]) + 1
    nodes = np.empty(first[-1], np.int64)
    for k in range(len(source)):
        s, low, high = source[k], first[k], first[k + 1]
        for end in range(2):  # up to the edge, then on from it
            x, at = inner[closing[k], end], ends[k] + end
            while x != s:
                nodes[at] = kept[x]
                x, at = before(inner, last[s], x), at - 1 + 2 * end
        nodes[low] = kept[s]
        if nodes[low + 1] > nodes[high - 1]:
            nodes[low + 1 : high] = nodes[low + 1 : high][::-1].copy()
    return first, nodes
