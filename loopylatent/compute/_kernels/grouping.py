"""Grouping the nodes of one neighbourhood: quartet tests, relaxed families, neighbor joining.

`group` returns the local latent tree of any method in one form, `LocalTree`.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.graphs import spanning_tree
from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.values import BoolArray, FloatArray, IntArray

MARGIN = 1.0 + 1e-9
"""Products of an exact metric that are equal but for rounding must not declare a quartet."""
UNKNOWN, YES, NO = 0, 1, 2
MANY_VALUES = 16
"""Fewer are sorted by insertion, without further arrays."""


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
            for x in range(m - 1):
                c = nearest[a, x]
                if owner[c] == i or owner[c] == j:
                    continue
                tried_c += 1
                near = s[a, c] - Lambda
                if tried_c > cap or near <= 0.0 or near * (s[b, nearest[b, 0]] - Lambda) <= bound:
                    break
                tried_d = 0
                for y in range(m - 1):
                    d = nearest[b, y]
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
            for x in range(m - 1):
                c = nearest[a, x]
                if owner[c] == i or owner[c] == j:
                    continue
                tried_c += 1
                if tried_c > cap:
                    break
                bound = (s[a, c] + Lambda) * (weakest + Lambda) * MARGIN
                tried_d = 0
                for y in range(m - 1):
                    d = nearest[c, y]
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
def _set_pair(witnesses: NDArray[np.int32], i: int, j: int, c: int, d: int) -> None:
    """Set the witnesses of (i, j); entry by entry, because slices of an array are counted."""
    witnesses[i, j, 0] = witnesses[j, i, 0] = c
    witnesses[i, j, 1] = witnesses[j, i, 1] = d


@kernel
def stable_order(values: FloatArray) -> IntArray:
    """Return the positions of the values, ascending; equal ones stay in order."""
    n = len(values)
    if n > MANY_VALUES:
        return np.argsort(values, kind="mergesort")
    order = np.empty(n, np.int64)
    for k in range(n):
        at = k
        while at > 0 and values[order[at - 1]] > values[k]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = k
    return order


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
                _set_pair(witnesses, h, k, witnesses[x, k, 0], witnesses[x, k, 1])
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
    order = stable_order(flat[:n])
    for x in range(n):
        pairs[x, 0], pairs[x, 1] = where[order[x], 0], where[order[x], 1]
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
    fresh = stable_order(lengths)
    old = pairs[:n].copy()
    size = taken = 0
    for x in range(n):
        u, v = old[x, 0], old[x, 1]
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
        for b in stable_order(distances[a]):
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
            i, j = pairs[x, 0], pairs[x, 1]
            if separated[i, j] == UNKNOWN:
                found = _find_separator(s, nearest, owner, i, j, Lambda, limit, weakest, witness)
                separated[i, j] = separated[j, i] = YES if found else NO
                _set_pair(against, i, j, witness[0], witness[1])
            if separated[i, j] == YES:
                continue
            if supported[i, j] == UNKNOWN:
                found = _find_support(s, nearest, owner, i, j, Lambda, limit, weakest, witness)
                supported[i, j] = supported[j, i] = YES if found else NO
                _set_pair(in_favour, i, j, witness[0], witness[1])
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


QUARTET, RELAXED, NEIGHBOR_JOINING = 0, 1, 2
METHODS = ("quartet", "relaxed", "nj")
"""The name of each method, by its number."""


class Rules(NamedTuple):
    """What determines a local latent tree, apart from the neighbourhood."""

    method: int
    Lambda: float
    shortest_edge: float
    """Shorter edges with a hidden end are contracted."""
    cap: int
    """The largest number of outsiders or families."""
    reach: float
    """Relaxed grouping: witnesses are nearer than this."""


class LocalTree(NamedTuple):
    """A latent tree on m nodes before contraction; new hidden nodes are m, m + 1, ..."""

    ends: IntArray
    """(e, 2) child and parent, for each join or family in turn; then the remaining edges."""
    lengths: FloatArray
    n_rest: int
    """The number of remaining edges."""
    n_new: int
    stuck: bool
    capped: bool
    notes: IntArray
    """Quartets: whether each join is supported. Relaxed: rounds and families, see `_note_round`."""
    numbers: FloatArray
    """Neighbor joining: Q of each join. Relaxed: the numbers of rounds and families."""


class Contracted(NamedTuple):
    """A local tree after contraction."""

    ends: IntArray
    """(e, 2) smaller node first."""
    lengths: FloatArray
    survivor: IntArray
    """(nodes,) the node into which each was contracted; -1: it remains."""
    moves: IntArray
    """(c, 2) the contractions in order: the node that goes, the one that stays."""
    at: FloatArray
    """(c,) the length of the contracted edge."""


@kernel
def group(
    distances: FloatArray, surrogates: IntArray, gaps: FloatArray, rules: Rules, record: bool,
    rng: np.random.Generator,
) -> LocalTree:  # fmt: skip
    """Build the local latent tree of a neighbourhood.

    ``surrogates`` and ``gaps`` are read by relaxed grouping only, whose ``distances`` are between
    surrogates. Without ``record``, its notes are left out.
    """
    if rules.method == QUARTET:
        return _quartet_tree(distances, rules.Lambda, rules.cap)
    if rules.method == NEIGHBOR_JOINING:
        return _neighbor_joining_tree(distances)
    return _relaxed_tree(distances, surrogates, gaps, rules, record, rng)


@kernel
def contract(tree: LocalTree, hidden: BoolArray, limit: float) -> Contracted:
    """Contract the shortest edge below ``limit`` with a hidden end, until there is none.

    The observed end survives, else the older hidden node. Moved edges keep their lengths, so one
    pass in ascending order is enough.
    """
    n, m = len(tree.ends), len(hidden)
    survivor = np.full(m + tree.n_new, -1, np.int64)
    kept, n_kept, n_gone = np.empty(n, np.int64), 0, 0
    moves, at = np.empty((n, 2), np.int64), np.empty(n, np.float64)
    for e in stable_order(tree.lengths):
        u, v = _end(survivor, tree.ends[e, 0]), _end(survivor, tree.ends[e, 1])
        u_hidden, v_hidden = u >= m or hidden[u], v >= m or hidden[v]
        if tree.lengths[e] < limit and (u_hidden or v_hidden):
            if (u_hidden and not v_hidden) or (u_hidden == v_hidden and v < u):
                u, v = v, u
            survivor[v] = u
            moves[n_gone, 0], moves[n_gone, 1], at[n_gone] = v, u, tree.lengths[e]
            n_gone += 1
        else:
            kept[n_kept] = e
            n_kept += 1
    ends, lengths = np.empty((n_kept, 2), np.int64), np.empty(n_kept, np.float64)
    for x in range(n_kept):
        e = kept[x]
        u, v = _end(survivor, tree.ends[e, 0]), _end(survivor, tree.ends[e, 1])
        ends[x, 0], ends[x, 1], lengths[x] = min(u, v), max(u, v), tree.lengths[e]
    return Contracted(ends, lengths, survivor, moves[:n_gone], at[:n_gone])


@kernel
def _end(survivor: IntArray, node: int) -> int:
    """Return the node that is left of ``node``."""
    while survivor[node] >= 0:
        node = survivor[node]
    return node


@kernel
def _quartet_tree(distances: FloatArray, Lambda: float, cap: int) -> LocalTree:
    joins, join_lengths, rest, rest_lengths = group_by_quartets(distances, Lambda, cap)
    m, t, k = len(distances), len(joins), len(rest)
    ends, lengths = np.empty((2 * t + k, 2), np.int64), np.empty(2 * t + k, np.float64)
    supported = np.empty(t, np.int64)
    for x in range(t):
        for side in range(2):
            e = 2 * x + side
            ends[e, 0], ends[e, 1], lengths[e] = joins[x, side], joins[x, 2], join_lengths[x, side]
        supported[x] = joins[x, 3]
    for x in range(k):
        e = 2 * t + x
        ends[e, 0], ends[e, 1], lengths[e] = rest[x, 0], rest[x, 1], rest_lengths[x]
    return LocalTree(ends, lengths, k, t, m - t > 2, m > cap, supported, np.empty(0, np.float64))


@kernel
def split_by_finite(distances: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the part of each node, and all distances within parts.

    Nodes connected by finite distances are a part, numbered by first node. Infinite distances
    within a part are replaced by shortest paths (Floyd and Warshall) over distances above 0.
    """
    m = len(distances)
    part, paths = np.zeros(m, np.int64), distances.copy()
    if np.isfinite(distances).all():
        return part, paths
    part[:] = -1
    waiting, n_parts = np.empty(m, np.int64), 0
    for root in range(m):
        if part[root] >= 0:
            continue
        part[root], waiting[0], n = n_parts, root, 1
        while n:
            n -= 1
            x = waiting[n]
            for y in range(m):
                if part[y] < 0 and np.isfinite(distances[x, y]):
                    part[y], waiting[n] = n_parts, y
                    n += 1
        n_parts += 1
    for i in range(m):
        for j in range(m):
            if i != j and paths[i, j] == 0.0:
                paths[i, j] = np.inf
    for k in range(m):
        for i in range(m):
            if np.isfinite(paths[i, k]):
                for j in range(m):
                    paths[i, j] = min(paths[i, j], paths[i, k] + paths[k, j])
    for i in range(m):
        for j in range(m):
            if np.isfinite(distances[i, j]):
                paths[i, j] = distances[i, j]
    return part, paths


@kernel
def block(values: FloatArray, nodes: IntArray) -> FloatArray:
    """(k, k) the values between ``nodes``."""
    k = len(nodes)
    found = np.empty((k, k), np.float64)
    for x in range(k):
        for y in range(k):
            found[x, y] = values[nodes[x], nodes[y]]
    return found


@kernel
def _neighbor_joining_tree(distances: FloatArray) -> LocalTree:
    m = len(distances)
    part, filled = split_by_finite(distances)
    ends, lengths = np.empty((3 * m, 2), np.int64), np.empty(3 * m, np.float64)
    rest, rest_lengths, q = np.empty((m, 2), np.int64), np.empty(m), np.empty(m, np.float64)
    n_rest = t = 0
    for one in range(part.max() + 1):
        nodes = np.flatnonzero(part == one)
        size, first = len(nodes), m + t
        pairs, numbers, left, between = join_neighbors(block(filled, nodes), size)
        for x in range(len(pairs)):
            for side in range(2):
                i, e = pairs[x, side], 2 * t + side
                ends[e, 0] = nodes[i] if i < size else first + i - size
                ends[e, 1], lengths[e] = m + t, numbers[x, side]
            q[t] = numbers[x, 2]
            t += 1
        if len(left) == 2:
            for side in range(2):
                i = left[side]
                rest[n_rest, side] = nodes[i] if i < size else first + i - size
            rest_lengths[n_rest] = between[0, 1] if between[0, 1] >= 0.0 else 0.0
            n_rest += 1
    n = 2 * t + n_rest
    ends[2 * t : n], lengths[2 * t : n] = rest[:n_rest], rest_lengths[:n_rest]
    none = np.empty(0, np.int64)
    return LocalTree(ends[:n], lengths[:n], n_rest, t, False, False, none, q[:t])


@kernel
def pairwise_sum(values: FloatArray, first: int, n: int) -> float:
    """Sum n values by halves, in runs of up to 128, as numpy does.

    The order of additions is fixed here, so that no result depends on a library. There is no
    recursion, because compiled functions with recursion crash when they are loaded from disk.
    """
    if n <= 128:
        return _sum_run(values, first, n)
    todo, sums, n_sums = np.empty((128, 2), np.int64), np.empty(64, np.float64), 0
    todo[0, 0], todo[0, 1], n_todo = first, n, 1
    while n_todo:
        n_todo -= 1
        at, size = todo[n_todo, 0], todo[n_todo, 1]
        if size < 0:  # both halves are done
            n_sums -= 1
            sums[n_sums - 1] += sums[n_sums]
        elif size <= 128:
            sums[n_sums] = _sum_run(values, at, size)
            n_sums += 1
        else:
            half = size // 2
            half -= half % 8
            todo[n_todo, 1] = -1
            todo[n_todo + 1, 0], todo[n_todo + 1, 1] = at + half, size - half
            todo[n_todo + 2, 0], todo[n_todo + 2, 1] = at, half
            n_todo += 3
    return float(sums[0])


@kernel
def _sum_run(values: FloatArray, first: int, n: int) -> float:
    """Sum at most 128 values with eight partial sums."""
    total = -0.0
    if n < 8:
        for k in range(first, first + n):
            total += values[k]
        return float(total)
    part = values[first : first + 8].copy()
    whole = n - n % 8
    for k in range(8, whole, 8):
        for lane in range(8):
            part[lane] += values[first + k + lane]
    total = (part[0] + part[1]) + (part[2] + part[3])
    total += (part[4] + part[5]) + (part[6] + part[7])
    for k in range(whole, n):
        total += values[first + k]
    return float(total)


# Constants of the toolbox of Choi, Tan, Anandkumar and Willsky (2011); see docs/references.md.
LEAST_LENGTH = -math.log(0.95)
FAR = -2 * math.log(0.1)
"""The spread of a pair farther apart than this is not computed."""
SPREAD_OF_FAR = 10.0
MISFIT = -2 * math.log(0.9)
"""A member is the parent of its family below this misfit per other member."""
LOG_2 = math.log(2)
N_EDGES, N_NEW, N_REST, CAPPED, N_NOTES, N_NUMBERS = 0, 1, 2, 3, 4, 5


class _Growth(NamedTuple):
    """A local tree under construction, over rounds and parts."""

    counts: IntArray
    """(6,) indexed by N_EDGES, ..., N_NUMBERS."""
    ends: IntArray
    """(4 m, 2) the edges from children to parents; from 3 m on, the remaining edges."""
    lengths: FloatArray
    gaps: FloatArray
    notes: IntArray
    numbers: FloatArray


class _Families(NamedTuple):
    """The families of a round: rows of the distances, one family after the other."""

    start: IntArray
    """(f + 1,) where the rows of each family start."""
    row: IntArray


@kernel
def _relaxed_tree(
    distances: FloatArray, surrogates: IntArray, gaps: FloatArray, rules: Rules, record: bool,
    rng: np.random.Generator,
) -> LocalTree:  # fmt: skip
    """Group the first node of each surrogate; connect its further nodes to it with length 0."""
    m = len(distances)
    first_of, n_first = np.empty(m, np.int64), 0
    twin_of = np.full(m, -1, np.int64)
    for node in range(m):
        for x in range(n_first):
            if surrogates[first_of[x]] == surrogates[node]:
                twin_of[node] = first_of[x]
        if twin_of[node] < 0:
            first_of[n_first] = node
            n_first += 1
    nodes = first_of[:n_first]
    growth = _Growth(
        np.zeros(6, np.int64), np.empty((4 * m, 2), np.int64), np.empty(4 * m, np.float64), gaps,
        np.empty(64, np.int64), np.empty(64, np.float64),
    )  # fmt: skip
    part, filled = split_by_finite(block(distances, nodes))
    for one in range(part.max() + 1):
        inside = np.flatnonzero(part == one)
        growth = _grow(growth, nodes[inside], block(filled, inside), rules, record, rng)
    for node in range(m):
        if twin_of[node] >= 0:
            _rest_edge(growth, twin_of[node], node, 0.0)
    count, n, k = growth.counts, growth.counts[N_EDGES], growth.counts[N_REST]
    growth.ends[n : n + k] = growth.ends[3 * m : 3 * m + k].copy()
    growth.lengths[n : n + k] = growth.lengths[3 * m : 3 * m + k].copy()
    return LocalTree(
        growth.ends[: n + k], growth.lengths[: n + k], k, count[N_NEW], False, count[CAPPED] > 0,
        growth.notes[: count[N_NOTES]], growth.numbers[: count[N_NUMBERS]],
    )  # fmt: skip


@kernel
def _rest_edge(growth: _Growth, u: int, v: int, length: float) -> None:
    e = 3 * len(growth.gaps) + growth.counts[N_REST]
    growth.ends[e, 0], growth.ends[e, 1], growth.lengths[e] = u, v, length
    growth.counts[N_REST] += 1


@kernel
def _grow(
    growth: _Growth, active: IntArray, d: FloatArray, rules: Rules, record: bool,
    rng: np.random.Generator,
) -> _Growth:  # fmt: skip
    """Group nodes until one or two are left, and connect those."""
    while len(active) > 2:
        spread, mean = compare_pairs(d, rules.reach, FAR, SPREAD_OF_FAR)
        widest = spread.max()
        least = LOG_2 / widest if widest > 0 else np.inf
        labels, silhouette = np.zeros(len(active), np.int64), np.nan
        if len(active) > 3:
            split, silhouette = _search_split(growth.counts, spread, rules.cap, rng)
            if silhouette > least:
                labels = split
        families = _families(labels)
        if record:
            growth = _with_room(growth, len(active))
            _note_round(growth, active, spread, families, silhouette, least)
        active, d = _represent_all(growth, families, active, d, mean, record)
    if len(active) == 2:
        u, v = active
        _rest_edge(growth, u, v, _net_length(growth.gaps, u, v, d[0, 1]))
    return growth


@kernel
def _with_room(growth: _Growth, a: int) -> _Growth:
    """Make room for the notes of a round of ``a`` nodes."""
    notes, numbers = growth.notes, growth.numbers
    n, k = growth.counts[N_NOTES] + 5 * a + 2, growth.counts[N_NUMBERS] + a * (a + 2) + 2
    if n > len(notes):
        notes = np.empty(2 * n, np.int64)
        notes[: len(growth.notes)] = growth.notes
    if k > len(numbers):
        numbers = np.empty(2 * k, np.float64)
        numbers[: len(growth.numbers)] = growth.numbers
    return _Growth(growth.counts, growth.ends, growth.lengths, growth.gaps, notes, numbers)


@kernel
def _note_round(
    growth: _Growth, active: IntArray, spread: FloatArray, families: _Families, silhouette: float,
    least: float,
) -> None:  # fmt: skip
    """Write a round: nodes, families, their sizes, the nodes by family; silhouette, least, spreads.

    Each family of two nodes or more adds its number of children, whether its parent is new, and
    the candidate; misfit and limit.
    """
    a, f = len(active), len(families.start) - 1
    n, k = growth.counts[N_NOTES], growth.counts[N_NUMBERS]
    growth.notes[n], growth.notes[n + 1] = a, f
    n += 2
    growth.notes[n : n + a] = active
    growth.notes[n + a : n + a + f] = families.start[1:] - families.start[:-1]
    for x in range(a):
        growth.notes[n + a + f + x] = active[families.row[x]]
    growth.numbers[k], growth.numbers[k + 1] = silhouette, least
    growth.numbers[k + 2 : k + 2 + a * a] = spread.ravel()
    growth.counts[N_NOTES] = n + 2 * a + f
    growth.counts[N_NUMBERS] = k + 2 + a * a


@kernel
def _families(labels: IntArray) -> _Families:
    """The rows of each label, labels in order of their first row."""
    a = len(labels)
    start, row = np.zeros(a + 1, np.int64), np.empty(a, np.int64)
    seen = np.zeros(a, np.bool_)
    n = f = 0
    for x in range(a):
        if seen[x]:
            continue
        for y in range(x, a):
            if labels[y] == labels[x]:
                row[n], seen[y] = y, True
                n += 1
        f += 1
        start[f] = n
    return _Families(start[: f + 1], row)


@kernel
def _search_split(
    count: IntArray, spread: FloatArray, cap: int, rng: np.random.Generator
) -> tuple[IntArray, float]:
    """Search with nodes ordered by isolation, so that column order has no effect."""
    m = len(spread)
    n_sizes = min(m - 2, cap) - 1
    if n_sizes < m - 3:
        count[CAPPED] = 1
    isolation = np.empty(m, np.float64)
    for x in range(m):
        isolation[x] = -pairwise_sum(np.sort(spread[x]), 0, m)
    order = np.argsort(isolation, kind="mergesort")
    draws, shuffles = np.empty(m, np.float64), np.empty((n_sizes, 2, m), np.int64)
    for x in range(n_sizes):
        for side in range(2):
            for y in range(m):
                draws[y] = rng.random()
            shuffles[x, side] = np.argsort(draws, kind="mergesort")
    labels, silhouette = best_split(block(spread, order), shuffles)
    split = np.empty(m, np.int64)
    for x in range(m):
        split[order[x]] = labels[x]
    return split, silhouette


@kernel
def _represent_all(
    growth: _Growth, families: _Families, active: IntArray, d: FloatArray, mean: FloatArray,
    record: bool,
) -> tuple[IntArray, FloatArray]:  # fmt: skip
    """Give each family a parent; return the parents and the distances between them."""
    f = len(families.start) - 1
    parents, totals = np.empty(f, np.int64), np.zeros(f, np.float64)
    start, row = np.zeros(f + 1, np.int64), np.empty(len(active), np.int64)
    for x in range(f):
        rows = families.row[families.start[x] : families.start[x + 1]]
        parents[x], n = active[rows[0]], len(rows)
        row[start[x] : start[x] + n] = rows
        if n > 1:
            best = _add_family(growth, active, rows, d, mean, record)
            if best < 0:
                parents[x] = len(growth.gaps) + growth.counts[N_NEW] - 1
                totals[x] = pairwise_sum(block(d, rows).ravel(), 0, n * n) / (2 * (n - 1))
            else:
                parents[x], row[start[x]], n = active[rows[best]], rows[best], 1
        start[x + 1] = start[x] + n
    return parents, _between_parents(d, start, row, totals)


@kernel
def _add_family(
    growth: _Growth, active: IntArray, rows: IntArray, d: FloatArray, mean: FloatArray,
    record: bool,
) -> int:  # fmt: skip
    """Add the edges of a family; return which member is the parent, -1 for a new hidden node."""
    count, c, inside = growth.counts, len(rows), block(d, rows)
    misfits = np.empty(c, np.float64)
    for x in range(c):
        misfits[x] = pairwise_sum(np.abs(block(mean, rows)[x] + inside[x]), 0, c)
    best, limit = np.argmin(misfits), MISFIT * (c - 1)
    is_new = not misfits[best] < limit
    if is_new:
        lengths = _lengths_to_parent(inside, mean[rows[0], rows[1]])
        parent = len(growth.gaps) + count[N_NEW]
        count[N_NEW] += 1
    else:
        lengths, parent = inside[best].copy(), active[rows[best]]
    for x in range(c):
        if is_new or x != best:
            child, n = active[rows[x]], count[N_EDGES]
            growth.ends[n, 0], growth.ends[n, 1] = child, parent
            growth.lengths[n] = _net_length(growth.gaps, child, parent, lengths[x])
            count[N_EDGES] += 1
    if record:
        n, k = count[N_NOTES], count[N_NUMBERS]
        growth.notes[n] = c if is_new else c - 1
        growth.notes[n + 1], growth.notes[n + 2] = int(is_new), active[rows[best]]
        growth.numbers[k], growth.numbers[k + 1] = misfits[best], limit
        count[N_NOTES], count[N_NUMBERS] = n + 3, k + 2
    return -1 if is_new else int(best)


@kernel
def _net_length(gaps: FloatArray, u: int, v: int, length: float) -> float:
    """Subtract the distances of the ends from their surrogates."""
    gap = 0.0
    if u < len(gaps):
        gap += gaps[u]
    if v < len(gaps):
        gap += gaps[v]
    return max(length - gap, LEAST_LENGTH)


@kernel
def _lengths_to_parent(inside: FloatArray, mean_of_two: float) -> FloatArray:
    """Return the distances of the members of a family from a new parent."""
    c = len(inside)
    lengths = np.empty(c, np.float64)
    if c == 2:
        apart = inside[0, 1]
        lengths[0], lengths[1] = (apart + mean_of_two) / 2, (apart - mean_of_two) / 2
        return lengths
    reach = np.empty(c, np.float64)
    for x in range(c):
        reach[x] = pairwise_sum(inside[x], 0, c)
    total = pairwise_sum(reach, 0, c)
    for x in range(c):
        lengths[x] = (reach[x] - total / (2 * (c - 1))) / (c - 2)
    return lengths


@kernel
def _sum_from_first(values: FloatArray, first: int, end: int) -> float:
    """Add the first value and the sum of the others."""
    if end - first == 1:
        return float(values[first])
    return float(values[first] + pairwise_sum(values, first + 1, end - first - 1))


@kernel
def _between_parents(
    d: FloatArray, start: IntArray, row: IntArray, totals: FloatArray
) -> FloatArray:
    """(f, f) the distances between the parents of families."""
    f, k = len(start) - 1, start[-1]
    sums, column = np.empty((f, k), np.float64), np.empty(k, np.float64)
    for y in range(k):
        for x in range(k):
            column[x] = d[row[x], row[y]]
        for one in range(f):
            sums[one, y] = _sum_from_first(column, start[one], start[one + 1])
    found = np.zeros((f, f), np.float64)
    for one in range(f):
        n = start[one + 1] - start[one]
        for two in range(f):
            k = start[two + 1] - start[two]
            apart = _sum_from_first(sums[one], start[two], start[two + 1])
            apart = (apart - totals[one] * k - n * totals[two]) / (n * k)
            found[one, two] = apart if n == 1 and k == 1 else max(apart, LEAST_LENGTH)
    between = np.zeros((f, f), np.float64)
    for one in range(f):
        for two in range(f):
            if one != two:
                between[one, two] = (found[one, two] + found[two, one]) / 2
    return between
