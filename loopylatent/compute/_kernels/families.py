"""Spreads of pairs and splits into families, for relaxed grouping."""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, IntArray

FEW = 5
"""With so many nodes or fewer all are witnesses; of more, more than so many are wanted."""
RAISE = float(np.log(2.0))
ROUNDS = 5


@kernel
def compare_pairs(
    d: FloatArray, reach: float, far: float, spread_of_far: float
) -> tuple[FloatArray, FloatArray]:
    """Return for every pair (i, j) the range and the mean of d_ik - d_jk over its witnesses k.

    Witnesses are nearer than ``reach`` to both, which is raised until more than ``FEW`` nodes are
    (i and j count, but do not testify). Distances are finite, nodes at least three.
    """
    m = len(d)
    spread, mean = np.zeros((m, m)), np.zeros((m, m))
    for i in range(m):
        for j in range(i + 1, m):
            limit = np.inf if m <= FEW else reach
            while True:
                count = 0
                for k in range(m):
                    if d[i, k] < limit and d[j, k] < limit:
                        count += 1
                if count > FEW or limit == np.inf:
                    break
                limit += RAISE
            low, high, total, witnesses = np.inf, -np.inf, 0.0, 0
            for k in range(m):
                if k != i and k != j and d[i, k] < limit and d[j, k] < limit:
                    difference = d[i, k] - d[j, k]
                    low, high = min(low, difference), max(high, difference)
                    total += difference
                    witnesses += 1
            mean[i, j] = total / witnesses
            mean[j, i] = -mean[i, j]
            spread[i, j] = spread[j, i] = spread_of_far if d[i, j] > far else high - low
    return spread, mean


@kernel
def assign(spread: FloatArray, medoids: IntArray, labels: IntArray) -> None:
    """Give each node to its nearest medoid, the first of equal ones; medoids to themselves."""
    for i in range(len(spread)):
        best = 0
        for c in range(1, len(medoids)):
            if spread[i, medoids[c]] < spread[i, medoids[best]]:
                best = c
        labels[i] = best
    for c in range(len(medoids)):
        labels[medoids[c]] = c


@kernel
def recentre(spread: FloatArray, labels: IntArray, medoids: IntArray) -> bool:
    """Move each medoid to the member nearest to the others; say whether any moved.

    Of equally near ones the least isolated, that is the last: two members are always equally near.
    """
    least = np.full(len(medoids), np.inf)
    centre = np.zeros(len(medoids), np.int64)
    for i in range(len(spread)):
        total = 0.0
        for j in range(len(spread)):
            if labels[j] == labels[i]:
                total += spread[i, j]
        if total <= least[labels[i]]:
            least[labels[i]] = total
            centre[labels[i]] = i
    moved = False
    for c in range(len(medoids)):
        moved |= medoids[c] != centre[c]
        medoids[c] = centre[c]
    return moved


@kernel
def mean_silhouette(spread: FloatArray, labels: IntArray, k: int) -> float:
    """Return the mean silhouette of a split into k families; that of a single node is 0."""
    m = len(spread)
    size = np.zeros(k)
    for i in range(m):
        size[labels[i]] += 1
    total = 0.0
    for i in range(m):
        own = labels[i]
        if size[own] == 1:
            continue
        to = np.zeros(k)
        for j in range(m):
            to[labels[j]] += spread[i, j]
        inside, outside = to[own] / (size[own] - 1), np.inf
        for c in range(k):
            if c != own:
                outside = min(outside, to[c] / size[c])
        larger = max(inside, outside)
        if larger > 0:
            total += (outside - inside) / larger
    return total / m


@kernel
def best_split(spread: FloatArray, shuffles: IntArray) -> tuple[IntArray, float]:
    """Return the split of best mean silhouette that k-medoids finds, and that silhouette.

    Nodes come in the order of their isolation, the most isolated first. ``shuffles`` (s, 2, m) are
    random orders: for k = 2, ..., s + 1 families the starts are the k - 1 first nodes and the last,
    the k first, and the k first of either shuffle.
    """
    m = len(spread)
    best, found = -np.inf, np.zeros(m, np.int64)
    labels = np.zeros(m, np.int64)
    for k in range(2, len(shuffles) + 2):
        for start in range(4):
            medoids = np.arange(k)
            if start == 0:
                medoids[k - 1] = m - 1
            elif start >= 2:
                medoids[:] = shuffles[k - 2, start - 2, :k]
            for _ in range(ROUNDS):
                assign(spread, medoids, labels)
                if not recentre(spread, labels, medoids):
                    break
            assign(spread, medoids, labels)
            silhouette = mean_silhouette(spread, labels, k)
            if silhouette > best:
                best = silhouette
                found[:] = labels
    return found, best
