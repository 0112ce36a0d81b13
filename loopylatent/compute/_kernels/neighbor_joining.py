"""Neighbor joining: the pair of smallest Q becomes siblings, until two nodes are left."""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, IntArray

EQUAL = 1e-9
"""Criteria that differ by less than this share are equal."""


@kernel
def join_neighbors(
    distances: FloatArray, most: int
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Join pairs at most ``most`` times, while three nodes or more are left.

    Returns (n, 2) the pairs; the n-th join makes node m + n; (n, 3) the lengths from both to it
    and Q; the nodes that are left; (a, a) the distances between those.

    Q_ij = (a - 2) d_ij - R_i - R_j with R the sums over the a nodes that are left; of equal ones
    (those of three nodes always are) the closer pair, then the earlier.
    d(i, h) = (d_ij + (R_i - R_j) / (a - 2)) / 2, within [0, d_ij];
    d(h, k) = (d_ik + d_jk - d_ij) / 2, which may be negative.
    """
    m = len(distances)
    n = max(0, min(most, m - 2))
    d = np.zeros((m + n, m + n))
    d[:m, :m] = distances
    left = np.arange(m)
    pairs, numbers = np.empty((n, 2), np.int64), np.empty((n, 3))
    for step in range(n):
        a = len(left)
        sums = np.zeros(a)
        for x in range(a):
            for y in range(a):
                sums[x] += d[left[x], left[y]]
        best = np.inf
        for x in range(a):
            for y in range(x + 1, a):
                best = min(best, (a - 2) * d[left[x], left[y]] - sums[x] - sums[y])
        closest, at_x, at_y = np.inf, 0, 1
        for x in range(a):
            for y in range(x + 1, a):
                apart = d[left[x], left[y]]
                q = (a - 2) * apart - sums[x] - sums[y]
                if q <= best + EQUAL * abs(best) and apart < closest:
                    closest, at_x, at_y = apart, x, y
        i, j, h = left[at_x], left[at_y], m + step
        apart = max(d[i, j], 0.0)
        to_i = (d[i, j] + (sums[at_x] - sums[at_y]) / (a - 2)) / 2
        to_i = min(max(to_i, 0.0), apart)
        pairs[step, 0], pairs[step, 1] = i, j
        numbers[step, 0], numbers[step, 1], numbers[step, 2] = to_i, apart - to_i, best
        for k in left:
            d[h, k] = d[k, h] = (d[i, k] + d[j, k] - d[i, j]) / 2
        kept = np.empty(a - 1, np.int64)
        at = 0
        for x in range(a):
            if x not in (at_x, at_y):
                kept[at] = left[x]
                at += 1
        kept[at] = h
        left = kept
    between = np.empty((len(left), len(left)))
    for x in range(len(left)):
        for y in range(len(left)):
            between[x, y] = d[left[x], left[y]]
    return pairs, numbers, left, between
