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

LANES = 32
"""Numbers that a compiled loop takes at once."""


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
def breadth_first(first: IntArray, node: IntArray) -> IntArray:
    """All nodes, each after one of its neighbours, component by component."""
    n = len(first) - 1
    order, is_listed, k = np.empty(n, np.int64), np.zeros(n, np.bool_), 0
    for root in range(n):
        if is_listed[root]:
            continue
        order[k], is_listed[root], at = root, True, k
        k += 1
        while at < k:
            for h in range(first[order[at]], first[order[at] + 1]):
                if not is_listed[node[h]]:
                    order[k], is_listed[node[h]] = node[h], True
                    k += 1
            at += 1
    return order


@kernel
def shorten(own: FloatArray, near: FloatArray, length: float) -> bool:
    """Replace lengths by those over a neighbour where these are less; whether any are."""
    some = False
    for k in range(len(own)):
        over = near[k] + length
        some |= over < own[k]
        own[k] = over if over < own[k] else own[k]
    return some


@kernel
def lengths_from_hidden(
    p: int, n_nodes: int, first: IntArray, node: IntArray, length: FloatArray
) -> FloatArray:
    """(nodes, hidden or more) path lengths, from all hidden nodes at once.

    Nodes are visited again whenever they are reached sooner, from the last to the first and back,
    which settles a tree in one round.
    """
    distance = np.full((n_nodes, padded(n_nodes - p)), np.inf)
    order, waits, n_waiting, is_up = (
        breadth_first(first, node),
        np.zeros(n_nodes, np.bool_),
        0,
        False,
    )
    for h in range(n_nodes - p):
        distance[p + h, h], waits[p + h] = 0.0, True
        n_waiting += 1
    while n_waiting:
        is_up = not is_up
        for k in range(n_nodes):
            x = order[n_nodes - 1 - k if is_up else k]
            if not waits[x]:
                continue
            waits[x] = False
            n_waiting -= 1
            for h in range(first[x], first[x + 1]):
                y = node[h]
                if shorten(distance[y], distance[x], length[h]) and not waits[y]:
                    waits[y] = True
                    n_waiting += 1
    return distance


@kernel
def padded(n: int) -> int:
    """Round up to a multiple of LANES, at which loops over an array are fastest."""
    return n + -n % LANES


@kernel
def column_lengths(
    n_nodes: int, start: IntArray, other: IntArray, via: IntArray, lengths: FloatArray,
    column: IntArray,
) -> FloatArray:  # fmt: skip
    """(hidden, columns) path lengths."""
    p = len(column)
    first, node, length = without_leaves(start, other, via, lengths)
    distance = lengths_from_hidden(p, n_nodes, first, node, length)
    found = np.empty((n_nodes - p, p))
    for c in range(p):
        e = start[c]
        is_leaf = start[c + 1] - e == 1
        own, last = distance[other[e] if is_leaf else c], lengths[via[e]] if is_leaf else 0.0
        for h in range(n_nodes - p):
            found[h, column[c]] = own[h] + last
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
    turned = np.zeros((p, padded(n)))
    for j in range(n):
        for c in range(p):
            turned[c, j] = right[j, c]
    cosines = np.zeros((len(left), padded(n)))
    for i in range(len(left)):
        own = cosines[i]
        for c in range(p):
            by, values = left[i, c], turned[c]
            for j in range(len(own)):
                own[j] += by * values[j]
        for j in range(n):
            if own[j] > 1 - rounding:
                own[j] = 1.0
    return cosines[:, :n].copy()


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
    so_far, final, price = np.empty(m), np.empty(m), np.empty(m)
    before, left, place = np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64)
    for row in range(n):
        for j in range(m):
            so_far[j], price[j], left[m - 1 - j], place[j] = np.inf, by_column[j], j, m - 1 - j
        i, free, shortest, n_left = row, -1, 0.0, m
        while free < 0:
            reach_over(i, cost[i], by_row[i], shortest, price, so_far, before)
            j = nearest(so_far, row_of, place)
            shortest = final[j] = so_far[j]
            so_far[j], price[j] = np.inf, -np.inf  # so that it is not reached again
            n_left -= 1
            left[place[j]], place[left[n_left]] = left[n_left], place[j]
            left[n_left] = j  # done columns follow those that are left
            i = row_of[j]
            free = j if i < 0 else -1
        by_row[row] += shortest
        for k in range(n_left, m):
            j = left[k]
            by_column[j] -= shortest - final[j]
            if j != free:
                by_row[row_of[j]] += shortest - final[j]
        j = free
        while True:
            i = before[j]
            row_of[j] = i
            column_of[i], j = j, column_of[i]
            if i == row:
                break
    return column_of


@kernel
def reach_over(
    row: int, cost: FloatArray, own: float, shortest: float, price: FloatArray,
    so_far: FloatArray, before: IntArray,
) -> None:  # fmt: skip
    """Shorten the paths to columns that are shorter over a row."""
    for j in range(len(so_far)):
        there = shortest + cost[j] - own - price[j]
        is_shorter = there < so_far[j]
        so_far[j] = there if is_shorter else so_far[j]
        before[j] = row if is_shorter else before[j]


@kernel
def nearest(so_far: FloatArray, row_of: IntArray, place: IntArray) -> int:
    """The column with the shortest path; of equal ones the last without a row, else the first."""
    best = 0
    for j in range(1, len(so_far)):
        if so_far[j] > so_far[best]:
            continue
        is_free, was_free = row_of[j] < 0, row_of[best] < 0
        if (
            so_far[j] < so_far[best]
            or is_free > was_free
            or (is_free == was_free and (place[j] > place[best]) == is_free)
        ):
            best = j
    return best


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
    edges: IntArray, n_columns: int, splits: IntArray, counterpart: IntArray, start: IntArray,
    other: IntArray, other_splits: IntArray,
) -> BoolArray:  # fmt: skip
    """Whether ends have adjacent counterparts or, between hidden nodes, the split occurs."""
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


@kernel
def parts_again(
    edges: IntArray, profiles: FloatArray, splits: IntArray, cycles: IntArray, node: IntArray,
    n_nodes: int, other_edges: IntArray, lengths: FloatArray, mark: IntArray, tie: FloatArray,
    same_hidden: float, same_cycle: float, rounding: float,
) -> tuple[BoolArray, BoolArray, BoolArray]:  # fmt: skip
    """Which edges, hidden nodes and cycles of a graph are in another one.

    The first graph is given by its edges and what identifies its parts, as in `described` and
    `cycle_sets`; ``node`` is the number of each of its columns in the other graph.
    """
    p = len(node)
    column = np.empty(p, np.int64)
    for c in range(p):
        column[node[c]] = c
    start, other, _ = half_edges(n_nodes, other_edges)
    found = described(n_nodes, other_edges, lengths, column, mark, rounding)
    counterpart = np.concatenate((node, matched(profiles, found[0], same_hidden, rounding)))
    for h in range(p, len(counterpart)):
        if counterpart[h] >= 0:
            counterpart[h] += p
    first, nodes = cycle_nodes(n_nodes, other_edges, tie)
    sets = cycle_sets(first, nodes, start, other, column)
    return (
        edges_again(edges, p, splits, counterpart, start, other, found[1]),
        counterpart[p:] >= 0,
        cycles_again(cycles, sets, same_cycle),
    )


@kernel
def pairs_again(edges: IntArray, others: IntArray) -> BoolArray:
    """Whether each pair is one of the others, which are sorted."""
    found = np.zeros(len(edges), np.bool_)
    for e in range(len(edges)):
        low, high = 0, len(others)
        while low < high:
            k = (low + high) // 2
            is_before = others[k, 0] < edges[e, 0] or (
                others[k, 0] == edges[e, 0] and others[k, 1] < edges[e, 1]
            )
            low, high = (k + 1, high) if is_before else (low, k)
        found[e] = (
            low < len(others) and others[low, 0] == edges[e, 0] and others[low, 1] == edges[e, 1]
        )
    return found
