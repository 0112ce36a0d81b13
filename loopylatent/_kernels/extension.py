"""Distances of new hidden nodes: inside their local tree, and to the rest of the graph."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent._kernels.jit import kernel

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@kernel
def tree_path_lengths(n: int, edges: IntArray, lengths: FloatArray) -> FloatArray:
    """(n, n) path lengths in a forest on n nodes; infinite between its trees."""
    start = np.zeros(n + 1, np.int64)
    for e in range(len(edges)):
        start[edges[e, 0] + 1] += 1
        start[edges[e, 1] + 1] += 1
    for x in range(n):
        start[x + 1] += start[x]
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
