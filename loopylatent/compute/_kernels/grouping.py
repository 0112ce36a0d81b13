"""Grouping the nodes of one neighbourhood: quartet tests, relaxed families, neighbor joining."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.graphs import spanning_tree
from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.values import FloatArray, IntArray

MARGIN = 1.0 + 1e-9
"""Products of an exact metric that are equal but for rounding must not declare a quartet."""
UNKNOWN, YES, NO = 0, 1, 2


@kernel
def declares(s: FloatArray, Lambda: float, a: int, b: int, c: int, d: int) -> bool:
    """Whether the quartet ab|cd is declared with confidence margin Lambda."""
    product = max(s[a, b] - Lambda, 0.0) * max(s[c, d] - Lambda, 0.0)
    rival = max((s[a, c] + Lambda) * (s[b, d] + Lambda), (s[a, d] + Lambda) * (s[b, c] + Lambda))
    return bool(product > rival * MARGIN)


@kernel
def strengths(distances: FloatArray) -> FloatArray:
    """Return exp(-d) of each distance; numpy's own differs in the last digit where interpreted."""
    s = np.empty_like(distances)
    for i in range(len(distances)):
        for j in range(len(distances)):
            s[i, j] = math.exp(-distances[i, j])
    return s


@kernel
def list_quartets(s: FloatArray, Lambda: float) -> IntArray:
    """Rows (a, b, c, d, verdict) over all four leaves; 0 null, 1 ab|cd, 2 ac|bd, 3 ad|bc."""
    m = len(s)
    rows = np.empty((m * (m - 1) * (m - 2) * (m - 3) // 24, 5), np.int64)
    n = 0
    for a in range(m):
        for b in range(a + 1, m):
            for c in range(b + 1, m):
                for d in range(c + 1, m):
                    rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3], rows[n, 4] = a, b, c, d, 0
                    if declares(s, Lambda, a, b, c, d):
                        rows[n, 4] = 1
                    elif declares(s, Lambda, a, c, b, d):
                        rows[n, 4] = 2
                    elif declares(s, Lambda, a, d, b, c):
                        rows[n, 4] = 3
                    n += 1
    return rows


@kernel
def _find_separator(
    s: FloatArray, nearest: IntArray, owner: IntArray, i: int, j: int, Lambda: float, cap: int,
    weakest: float, witness: IntArray,
) -> bool:  # fmt: skip
    """Look for a declared quartet ac|bd with a under i, b under j and c, d under neither.

    Outsiders are tried nearest first: c by its nearness to a, d by its nearness to b. Both lists
    descend in strength, so each search stops where no later outsider can reach the bound.
    """
    m = len(s)
    for a in range(m):
        if owner[a] != i:
            continue
        for b in range(m):
            if owner[b] != j:
                continue
            bound = (s[a, b] + Lambda) * (weakest + Lambda) * MARGIN
            tried_c = 0
            for c in nearest[a]:
                if owner[c] == i or owner[c] == j:
                    continue
                tried_c += 1
                near = s[a, c] - Lambda
                if tried_c > cap or near <= 0.0 or near * (s[b, nearest[b, 0]] - Lambda) <= bound:
                    break
                tried_d = 0
                for d in nearest[b]:
                    if d == c or owner[d] == i or owner[d] == j:
                        continue
                    tried_d += 1
                    if tried_d > cap or near * (s[b, d] - Lambda) <= bound:
                        break
                    if declares(s, Lambda, a, c, b, d):
                        witness[0], witness[1] = c, d
                        return True
    return False


@kernel
def _find_support(
    s: FloatArray, nearest: IntArray, owner: IntArray, i: int, j: int, Lambda: float, cap: int,
    weakest: float, witness: IntArray,
) -> bool:  # fmt: skip
    """Look for a declared quartet ab|cd with a under i, b under j and c, d under neither."""
    m = len(s)
    for a in range(m):
        if owner[a] != i:
            continue
        for b in range(m):
            if owner[b] != j:
                continue
            near = s[a, b] - Lambda
            if near <= 0.0:
                continue
            tried_c = 0
            for c in nearest[a]:
                if owner[c] == i or owner[c] == j:
                    continue
                tried_c += 1
                if tried_c > cap:
                    break
                bound = (s[a, c] + Lambda) * (weakest + Lambda) * MARGIN
                tried_d = 0
                for d in nearest[c]:
                    if owner[d] == i or owner[d] == j:
                        continue
                    tried_d += 1
                    if tried_d > cap or near * (s[c, d] - Lambda) <= bound:
                        break
                    if declares(s, Lambda, a, b, c, d):
                        witness[0], witness[1] = c, d
                        return True
    return False


@kernel
def _inherit(
    state: NDArray[np.int8], witnesses: NDArray[np.int32], owner: IntArray, i: int, j: int,
    h: int, k: int,
) -> None:  # fmt: skip
    """What is known of (h, k) from (i, k) and (j, k), once i and j are children of h.

    ``owner`` already names h as the owner of the leaves of i and j.
    """
    for x in (i, j):
        if state[x, k] == YES:
            c, d = owner[witnesses[x, k, 0]], owner[witnesses[x, k, 1]]
            if c not in (h, k) and d not in (h, k):
                state[h, k] = state[k, h] = YES
                witnesses[h, k] = witnesses[k, h] = witnesses[x, k]
                return
    if state[i, k] == NO and state[j, k] == NO:
        state[h, k] = state[k, h] = NO


@kernel
def _sorted_pairs(d: FloatArray, m: int, pairs: IntArray) -> int:
    """Write the pairs of leaves at finite distance, closest first; return their number."""
    flat = np.empty(m * (m - 1) // 2, np.float64)
    where = np.empty((len(flat), 2), np.int64)
    n = 0
    for i in range(m):
        for j in range(i + 1, m):
            if np.isfinite(d[i, j]):
                flat[n] = d[i, j]
                where[n, 0], where[n, 1] = i, j
                n += 1
    for position, k in enumerate(np.argsort(flat[:n], kind="mergesort")):
        pairs[position] = where[k]
    return n


@kernel
def _replace_pairs(
    d: FloatArray, active: IntArray, pairs: IntArray, n: int, i: int, j: int, h: int
) -> int:
    """Drop the pairs of i and j, merge in those of h, keep the order (distance, node, node)."""
    rest = np.empty(len(active), np.int64)
    n_new = 0
    for k in range(h):
        if active[k] and np.isfinite(d[k, h]):
            rest[n_new] = k
            n_new += 1
    lengths = np.empty(n_new, np.float64)
    for x in range(n_new):
        lengths[x] = d[rest[x], h]
    fresh = np.argsort(lengths, kind="mergesort")
    old = pairs[:n].copy()
    size = taken = 0
    for x in range(n):
        u, v = old[x]
        if u in (i, j) or v in (i, j):
            continue
        while taken < n_new:
            k = rest[fresh[taken]]
            if not (d[k, h] < d[u, v] or (d[k, h] == d[u, v] and k < u)):
                break
            pairs[size, 0], pairs[size, 1] = k, h
            size += 1
            taken += 1
        pairs[size, 0], pairs[size, 1] = u, v
        size += 1
    while taken < n_new:
        pairs[size, 0], pairs[size, 1] = rest[fresh[taken]], h
        size += 1
        taken += 1
    return size


@kernel
def _place_between(d: FloatArray, active: IntArray, i: int, j: int, h: int) -> float:
    """Return the distance from i to a node between i and j, as the other active nodes see it.

    Where none of them is at a finite distance from both, it lies at the end that more of them
    can be reached from, then at the one that is nearer to those.
    """
    total, count = 0.0, 0
    reach_i, reach_j, sum_i, sum_j = 0, 0, 0.0, 0.0
    for k in range(h):
        if not active[k]:
            continue
        from_i, from_j = np.isfinite(d[i, k]), np.isfinite(d[j, k])
        if from_i and from_j:
            total += d[i, k] - d[j, k]
            count += 1
        elif from_i:
            reach_i += 1
            sum_i += d[i, k]
        elif from_j:
            reach_j += 1
            sum_j += d[j, k]
    if count:
        return float(min(max(0.5 * (d[i, j] + total / count), 0.0), d[i, j]))
    if reach_i > reach_j or (reach_i == reach_j and sum_i <= sum_j):
        return 0.0
    return float(d[i, j])


@kernel
def _join(d: FloatArray, active: IntArray, i: int, j: int, h: int, lengths: FloatArray) -> None:
    """Put h between i and j and write its distances to the other active nodes."""
    to_i = _place_between(d, active, i, j, h)
    to_j = d[i, j] - to_i
    lengths[0], lengths[1] = to_i, to_j
    for k in range(h):
        if not active[k]:
            continue
        if np.isfinite(d[i, k]) and np.isfinite(d[j, k]):
            between = max(0.5 * (d[i, k] + d[j, k] - d[i, j]), 0.0)
        else:  # independent of one child: what is known goes through the other
            between = min(d[i, k] + to_i, d[j, k] + to_j)
        d[h, k] = d[k, h] = between


@kernel
def group_by_quartets(
    distances: FloatArray, Lambda: float, cap: int
) -> tuple[IntArray, FloatArray, IntArray, FloatArray]:
    """Recursive grouping of m leaves.

    Returns joins (t, 4): left, right, new node, supported; their lengths (t, 2); the edges (k, 2)
    between the nodes that are left, by their spanning tree, and the lengths of those (k,).
    """
    m = len(distances)
    size = max(2 * m - 2, m)
    d = np.full((size, size), np.inf)
    d[:m, :m] = distances
    s = strengths(distances)
    nearest = np.empty((m, max(m - 1, 1)), np.int64)
    weakest = 1.0
    for a in range(m):
        position = 0
        for b in np.argsort(distances[a], kind="mergesort"):
            if a != b:
                nearest[a, position] = b
                position += 1
                weakest = min(weakest, s[a, b])
    limit = cap if m > cap else m
    owner = np.arange(m)
    active = np.zeros(size, np.int64)
    active[:m] = 1
    separated, supported = np.zeros((size, size), np.int8), np.zeros((size, size), np.int8)
    against, in_favour = np.zeros((size, size, 2), np.int32), np.zeros((size, size, 2), np.int32)
    witness = np.zeros(2, np.int64)
    pairs = np.empty((m * (m - 1) // 2 + 1, 2), np.int64)
    n_pairs = _sorted_pairs(d, m, pairs)
    joins = np.empty((max(m - 2, 0), 4), np.int64)
    join_lengths = np.empty((max(m - 2, 0), 2), np.float64)
    t = 0
    while m - t > 2:
        left, right, backed = -1, -1, 0
        for x in range(n_pairs):
            i, j = pairs[x]
            if separated[i, j] == UNKNOWN:
                found = _find_separator(s, nearest, owner, i, j, Lambda, limit, weakest, witness)
                separated[i, j] = separated[j, i] = YES if found else NO
                against[i, j] = against[j, i] = witness
            if separated[i, j] == YES:
                continue
            if supported[i, j] == UNKNOWN:
                found = _find_support(s, nearest, owner, i, j, Lambda, limit, weakest, witness)
                supported[i, j] = supported[j, i] = YES if found else NO
                in_favour[i, j] = in_favour[j, i] = witness
            if supported[i, j] == YES:
                left, right, backed = i, j, 1
                break
            if left < 0:
                left, right = i, j
        if left < 0:
            break
        h = m + t
        active[left] = active[right] = 0
        _join(d, active, left, right, h, join_lengths[t])
        joins[t, 0], joins[t, 1], joins[t, 2], joins[t, 3] = left, right, h, backed
        for a in range(m):
            if owner[a] == left or owner[a] == right:
                owner[a] = h
        for k in range(h):
            if active[k]:
                _inherit(separated, against, owner, left, right, h, k)
                _inherit(supported, in_favour, owner, left, right, h, k)
        n_pairs = _replace_pairs(d, active, pairs, n_pairs, left, right, h)
        active[h] = 1
        t += 1
    rest = np.flatnonzero(active)
    parent = spanning_tree(d, rest)
    edges = np.empty((len(rest) - 1, 2), np.int64)
    lengths = np.empty(len(rest) - 1, np.float64)
    n = 0
    for x in range(len(rest)):
        if parent[x] >= 0:
            u, v = rest[x], rest[parent[x]]
            edges[n, 0], edges[n, 1] = min(u, v), max(u, v)
            lengths[n] = d[u, v]
            n += 1
    return joins[:t], join_lengths[:t], edges[:n], lengths[:n]


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
