"""What identifies the parts of a graph, and which parts of one graph are found again in another.

Columns are numbered as in the first of the two graphs: ``column[c]`` is the number that column c of
the graph at hand has there.
"""

from __future__ import annotations

import math

import numpy as np

from loopylatent.compute._kernels.cycles import BITS, cycle_nodes, half_edges
from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.values import BoolArray, FloatArray, IntArray


@kernel
def without_leaves(
    start: IntArray, other: IntArray, via: IntArray, lengths: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Neighbours that have other neighbours, and the lengths of the edges to them."""
    n = len(start) - 1
    first, node, length = np.zeros(n + 1, np.int64), np.empty_like(other), np.empty(len(other))
    k = 0
    for x in range(n):
        for h in range(start[x], start[x + 1]):
            y = other[h]
            if start[y + 1] - start[y] > 1:
                node[k], length[k] = y, lengths[via[h]]
                k += 1
        first[x + 1] = k
    return first, node, length


@kernel
def reach(
    source: int, first: IntArray, node: IntArray, length: FloatArray,
    distance: FloatArray, queue: IntArray, waits: BoolArray,
) -> None:  # fmt: skip
    """Path lengths from ``source``: nodes are visited again whenever they are reached sooner."""
    n = len(distance)
    distance[:] = np.inf
    distance[source] = 0.0
    queue[0] = source
    at, n_waiting = 0, 1
    while n_waiting:
        x = queue[at]
        at = at + 1 if at + 1 < n else 0
        n_waiting -= 1
        waits[x] = False
        here = distance[x]
        for h in range(first[x], first[x + 1]):
            y, there = node[h], here + length[h]
            if there < distance[y]:
                distance[y] = there
                if not waits[y]:
                    waits[y] = True
                    end = at + n_waiting
                    queue[end if end < n else end - n] = y
                    n_waiting += 1


@kernel
def column_lengths(
    n_nodes: int, start: IntArray, other: IntArray, via: IntArray, lengths: FloatArray,
    column: IntArray,
) -> FloatArray:  # fmt: skip
    """(hidden, columns) path lengths."""
    p = len(column)
    first, node, length = without_leaves(start, other, via, lengths)
    found = np.empty((n_nodes - p, p))
    distance, queue = np.empty(n_nodes), np.empty(n_nodes, np.int64)
    waits = np.zeros(n_nodes, np.bool_)
    for h in range(n_nodes - p):
        reach(p + h, first, node, length, distance, queue, waits)
        for c in range(p):
            e = start[c]
            if start[c + 1] - e == 1:
                found[h, column[c]] = distance[other[e]] + lengths[via[e]]
            else:
                found[h, column[c]] = distance[c]
    return found


@kernel
def to_unit_profiles(lengths: FloatArray) -> None:
    """Replace (hidden, columns) lengths by e^-length, each row of norm 1, or 0 without any path."""
    for own in lengths:
        nearest = np.inf
        for c in range(len(own)):
            nearest = min(nearest, own[c])
        # cosines do not depend on scale; subtracting the smallest length avoids underflow
        base = nearest if nearest < np.inf else 0.0
        total = 0.0
        for c in range(len(own)):
            own[c] = math.exp(base - own[c])
            total += own[c] * own[c]
        if total > 0.0:
            norm = math.sqrt(total)
            for c in range(len(own)):
                own[c] /= norm


@kernel
def split_keys(edges: IntArray, lengths: FloatArray, mark: IntArray, rounding: float) -> IntArray:
    """(inner edges, 2) the columns nearer to each end of an edge between hidden nodes.

    A set of columns is the exclusive or of their random marks; the smaller of the two comes first.
    """
    p = lengths.shape[1]
    keys = np.empty((len(edges), 2), np.int64)
    n = 0
    for e in range(len(edges)):
        if edges[e, 0] < p:
            continue
        left = right = 0
        for c in range(p):
            a, b = lengths[edges[e, 0] - p, c], lengths[edges[e, 1] - p, c]
            if a < b * (1 - rounding):
                left ^= mark[c]
            elif b < a * (1 - rounding):
                right ^= mark[c]
        keys[n, 0], keys[n, 1] = min(left, right), max(left, right)
        n += 1
    return keys[:n].copy()


@kernel
def cycle_sets(
    first: IntArray, nodes: IntArray, start: IntArray, other: IntArray, column: IntArray
) -> IntArray:
    """(cycles, 1 + words) for each cycle the number of columns on it and next to its hidden nodes.

    These columns follow, as a set of bits.
    """
    p, n = len(column), len(first) - 1
    found = np.zeros((n, 1 + (p + BITS - 1) // BITS), np.int64)
    for k in range(n):
        for at in range(first[k], first[k + 1]):
            x = nodes[at]
            if x < p:
                add_column(found[k], column[x])
                continue
            for h in range(start[x], start[x + 1]):
                if other[h] < p:
                    add_column(found[k], column[other[h]])
    return found


@kernel
def add_column(found: IntArray, c: int) -> None:
    """Add a column to a set, and count it where it is new."""
    word, bit = 1 + c // BITS, 1 << (c % BITS)
    if not found[word] & bit:
        found[word] |= bit
        found[0] += 1


@kernel
def is_same_cycle(one: IntArray, two: IntArray, least: float) -> bool:
    """Whether the Jaccard index of two sets of columns is at least ``least``."""
    if max(one[0], two[0]) == 0 or min(one[0], two[0]) / max(one[0], two[0]) < least:
        return False
    both = 0
    for w in range(1, len(one)):
        common = one[w] & two[w]
        while common:
            common &= common - 1
            both += 1
    return bool(both / (one[0] + two[0] - both) >= least)


@kernel
def cosines_of(left: FloatArray, right: FloatArray, rounding: float) -> FloatArray:
    """(left, right) cosines of profiles of norm 1; 1 up to rounding is 1."""
    n, p = right.shape
    turned = np.empty((p, n))
    for j in range(n):
        for c in range(p):
            turned[c, j] = right[j, c]
    cosines = np.zeros((len(left), n))
    for i in range(len(left)):
        for c in range(p):
            own = left[i, c]
            for j in range(n):
                cosines[i, j] += own * turned[c, j]
        for j in range(n):
            if cosines[i, j] > 1 - rounding:
                cosines[i, j] = 1.0
    return cosines


@kernel
def best_assignment(gains: FloatArray) -> IntArray:
    """(rows,) the column of each row so that the sum is largest, -1 for rows that get none.

    Shortest augmenting paths (Jonker and Volgenant), with ties as in scipy's solver.
    """
    if gains.shape[0] <= gains.shape[1]:
        return assign_rows(-gains)
    row_of = assign_rows(-gains.T.copy())
    found = np.full(len(gains), -1, np.int64)
    for j in range(len(row_of)):
        found[row_of[j]] = j
    return found


@kernel
def assign_rows(cost: FloatArray) -> IntArray:
    """The column of each row so that the sum is smallest; there are at least as many columns."""
    n, m = cost.shape
    by_row, by_column = np.zeros(n), np.zeros(m)  # prices
    column_of, row_of = np.full(n, -1, np.int64), np.full(m, -1, np.int64)
    so_far, before = np.empty(m), np.empty(m, np.int64)
    left, on_path = np.empty(m, np.int64), np.empty(n, np.int64)
    for row in range(n):
        n_left, n_path = m, 0
        for k in range(m):
            left[k] = m - 1 - k
            so_far[k] = np.inf
        i, free, shortest = row, -1, 0.0
        while free < 0:
            on_path[n_path] = i
            n_path += 1
            lowest, at = np.inf, -1
            for k in range(n_left):
                j = left[k]
                there = shortest + cost[i, j] - by_row[i] - by_column[j]
                if there < so_far[j]:
                    so_far[j], before[j] = there, i
                if so_far[j] < lowest or (so_far[j] == lowest and row_of[j] < 0):
                    lowest, at = so_far[j], k
            shortest = lowest
            j = left[at]
            if row_of[j] < 0:
                free = j
            else:
                i = row_of[j]
            n_left -= 1
            left[at], left[n_left] = left[n_left], j  # done columns follow those that are left
        by_row[row] += shortest
        for k in range(1, n_path):
            by_row[on_path[k]] += shortest - so_far[column_of[on_path[k]]]
        for k in range(n_left, m):
            by_column[left[k]] -= shortest - so_far[left[k]]
        j = free
        while True:
            i = before[j]
            row_of[j] = i
            column_of[i], j = j, column_of[i]
            if i == row:
                break
    return column_of


@kernel
def described(
    n_nodes: int, edges: IntArray, lengths: FloatArray, column: IntArray, mark: IntArray,
    rounding: float,
) -> tuple[FloatArray, IntArray]:  # fmt: skip
    """The profiles of the hidden nodes and the splits of the edges between them."""
    start, other, via = half_edges(n_nodes, edges)
    profiles = column_lengths(n_nodes, start, other, via, lengths, column)
    splits = split_keys(edges, profiles, mark, rounding)
    to_unit_profiles(profiles)
    return profiles, splits


@kernel
def matched(left: FloatArray, right: FloatArray, least: float, rounding: float) -> IntArray:
    """(left,) the profile on the right with the same hidden node, -1 where the cosine is less."""
    if len(left) == 0 or len(right) == 0:
        return np.full(len(left), -1, np.int64)
    cosines = cosines_of(left, right, rounding)
    found = best_assignment(cosines)
    for i in range(len(left)):
        if found[i] >= 0 and cosines[i, found[i]] < least:
            found[i] = -1
    return found


@kernel
def cycle_columns(n_nodes: int, edges: IntArray, column: IntArray, tie: FloatArray) -> IntArray:
    """The sets of columns of the cycles of a minimum basis, as in ``cycle_sets``."""
    start, other, _ = half_edges(n_nodes, edges)
    first, nodes = cycle_nodes(n_nodes, edges, tie)
    return cycle_sets(first, nodes, start, other, column)


@kernel
def cycles_again(cycles: IntArray, others: IntArray, least: float) -> BoolArray:
    """Whether each cycle is the same as one of the others."""
    found = np.zeros(len(cycles), np.bool_)
    for k in range(len(cycles)):
        for q in range(len(others)):
            if is_same_cycle(cycles[k], others[q], least):
                found[k] = True
                break
    return found


@kernel
def edges_again(
    edges: IntArray, n_columns: int, splits: IntArray, counterpart: IntArray, n_nodes: int,
    other_edges: IntArray, other_splits: IntArray,
) -> BoolArray:  # fmt: skip
    """Whether ends have adjacent counterparts or, between hidden nodes, the split occurs."""
    start, other, _ = half_edges(n_nodes, other_edges)
    found = np.zeros(len(edges), np.bool_)
    n_inner = 0
    for e in range(len(edges)):
        if edges[e, 0] >= n_columns:
            for k in range(len(other_splits)):
                if (
                    splits[n_inner, 0] == other_splits[k, 0]
                    and splits[n_inner, 1] == other_splits[k, 1]
                ):
                    found[e] = True
                    break
            n_inner += 1
            continue
        u, v = counterpart[edges[e, 0]], counterpart[edges[e, 1]]
        if u >= 0 and v >= 0:
            for h in range(start[u], start[u + 1]):
                if other[h] == v:
                    found[e] = True
                    break
    return found
