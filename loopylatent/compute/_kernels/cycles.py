"""A minimum cycle basis of a graph, by breadth-first search (Horton 1987).

With unique shortest paths, every cycle of the minimum basis consists of the shortest paths from any
of its nodes to the two ends of one of its edges, and of that edge. So paths are needed from a few
nodes that meet all cycles. Paths with equally many edges are told apart by the sum of random
numbers, one for each edge.
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
def meeting_all_cycles(start: IntArray, other: IntArray) -> IntArray:
    """Nodes without which there is no cycle: those of highest degree among what is then left."""
    n, k = len(start) - 1, 0
    degree, found, stack = start[1:] - start[:n], np.empty(n, np.int64), np.empty(n, np.int64)
    while n:
        best = 0
        for x in range(n):
            if degree[x] > degree[best]:
                best = x
        if degree[best] < 2:
            break
        found[k], stack[0], n_open = best, best, 1
        k += 1
        while n_open:  # remove it, and leaves until there are none
            n_open -= 1
            x = stack[n_open]
            degree[x] = 0
            for h in range(start[x], start[x + 1]):
                y = other[h]
                degree[y] -= degree[y] > 0
                if degree[y] == 1:
                    stack[n_open] = y
                    n_open += 1
    return found[:k].copy()


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
    sources: IntArray, last: Indices,
) -> tuple[IntArray, IntArray]:  # fmt: skip
    """The source and the edge of each cycle that may be in the basis, shortest first.

    A source is given by its position. Of the sources on a cycle it is the first. Row k of ``last``
    is filled with the last edges of the shortest paths from source k.
    """
    n, m = len(start) - 1, len(edges)
    level, total, queue = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    previous, is_done = np.empty(n, np.int64), np.zeros(n, np.bool_)
    branch = np.empty(n, np.int64)  # first node on the path; -1 where it passes an earlier source
    length, source, closing = np.empty(256), np.empty(256, np.int64), np.empty(256, np.int64)
    k = 0
    for i in range(len(sources)):
        s = sources[i]
        reached = shortest_paths(s, start, other, via, tie, level, total, previous, last[i], queue)
        branch[:] = -1
        for q in range(1, reached):
            y = queue[q]
            if not is_done[y]:
                branch[y] = y if previous[y] == s else branch[previous[y]]
        is_done[s] = True
        for e in range(m):
            a, b = edges[e, 0], edges[e, 1]
            if branch[a] < 0 or branch[b] < 0 or branch[a] == branch[b]:
                continue
            if k == len(length):
                length = np.append(length, length)
                source, closing = np.append(source, source), np.append(closing, closing)
            # the random numbers of a cycle add up to less than m
            length[k] = (level[a] + level[b] + 1) * m + (total[a] + total[b] + tie[e])
            source[k], closing[k] = i, e
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
def minimum_basis(n_nodes: int, edges: IntArray, tie: FloatArray) -> tuple[IntArray, IntArray]:
    """The nodes of each cycle of a minimum basis, cycle k at ``first[k] .. first[k + 1]``."""
    start, other, via = half_edges(n_nodes, edges)
    sources = meeting_all_cycles(start, other)
    last = np.empty((len(sources), n_nodes), np.int32)
    source, closing = candidate_cycles(edges, start, other, via, tie, sources, last)
    number = closing_edges(n_nodes, edges)
    n_cycles = number.max() + 1 if len(number) else 0
    n_words = (n_cycles + BITS - 1) // BITS
    known = np.zeros((n_words * BITS, n_words), np.int64)
    has, vector = np.zeros(n_words * BITS, np.int64), np.empty(n_words, np.int64)
    first, nodes, n = np.zeros(n_cycles + 1, np.int64), np.empty(8 * n_nodes, np.int64), 0
    for k in range(len(source)):
        if n == n_cycles:
            break
        path, size = last[source[k]], first[n]
        if size + n_nodes > len(nodes):
            nodes = np.append(nodes, nodes)
        size += cycle_from(sources[source[k]], edges[closing[k]], edges, path, nodes[size:])
        vector[:] = 0
        _flip(vector, number[closing[k]])
        for at in range(first[n], size):
            if nodes[at] != sources[source[k]]:
                _flip(vector, number[path[nodes[at]]])
        if is_independent(vector, known, has):
            n += 1
            first[n] = size
    return first, nodes[: first[n_cycles]].copy()


@kernel
def _flip(vector: IntArray, bit: int) -> None:
    """Flip a bit of a set; -1 is none."""
    if bit >= 0:
        vector[bit // BITS] ^= 1 << (bit % BITS)


@kernel
def cycle_from(source: int, ends: IntArray, edges: IntArray, last: Indices, nodes: IntArray) -> int:
    """Write the nodes from one end of an edge over ``source`` to the other; return their number."""
    n = 0
    for end in range(2):
        x, begin = ends[end], n
        while x != source:
            nodes[n] = x
            n += 1
            x = before(edges, last, x)
        if end == 0:
            nodes[n] = source
            n += 1
        else:
            nodes[begin:n] = nodes[begin:n][::-1].copy()
    return n


@kernel
def cycle_nodes(n_nodes: int, edges: IntArray, tie: FloatArray) -> tuple[IntArray, IntArray]:
    """The nodes of each cycle of a minimum basis, cycle k at ``first[k] .. first[k + 1]``.

    A cycle begins with its smallest node and goes on with the smaller neighbour of that node.
    """
    start, other, _ = half_edges(n_nodes, edges)
    kept = core(start, other)
    first, nodes = minimum_basis(len(kept), edges_among(kept, n_nodes, edges), tie)
    for k in range(len(first) - 1):
        own = nodes[first[k] : first[k + 1]]
        at = np.argmin(own)
        step = 1 if own[(at + 1) % len(own)] < own[at - 1] else -1
        turned = own.copy()
        for x in range(len(own)):
            own[x] = kept[turned[(at + step * x) % len(own)]]
    return first, nodes
