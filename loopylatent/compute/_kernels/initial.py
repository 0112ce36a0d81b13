"""Minimum spanning trees of all balls at once: at one radius, and at every radius.

Pairs of columns are taken in order of (distance, smaller, larger), as Kruskal does. A pair can be
ignored in every ball that holds a column which is nearer to both of its ends: it would close a
triangle as its longest edge. Few balls are left in which a pair has to be tested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import MANY, kernel, kernel_or, sized_kernel
from loopylatent.compute.values import BoolArray, FloatArray, IntArray

Pairs = NDArray[np.int32]
Bits = NDArray[np.uint64]
"""Sets of columns, 64 in a word: column c is bit c % 64 of word c // 64."""

ONE = np.uint64(1)
PLACES = 67
"""The powers of 2 below 2^64 leave different remainders after division by it."""
PLACE = np.zeros(PLACES, np.int64)
PLACE[[2**k % PLACES for k in range(64)]] = np.arange(64)


DIGIT = 11
"""Bits of a distance by which pairs are sorted at once."""


def _rank_with_numpy(distances: FloatArray, up_to: float) -> Pairs:
    near = np.triu(np.isfinite(distances) & (distances <= up_to), 1)
    pairs = np.flatnonzero(near)
    order = np.argsort(distances.reshape(-1)[pairs], kind="stable")
    return np.column_stack(np.divmod(pairs[order], len(distances))).astype(np.int32)


@kernel_or(_rank_with_numpy)
def rank_pairs(distances: FloatArray, up_to: float) -> Pairs:
    """(k, 2) pairs u < v at a finite distance of at most ``up_to``, by (distance, u, v)."""
    p, n = len(distances), 0
    length, pair = np.empty(p * (p - 1) // 2), np.empty(p * (p - 1) // 2, np.int64)
    for u in range(p):
        for v in range(u + 1, p):
            length[n], pair[n] = distances[u, v] + 0.0, u * p + v  # no -0
            n += distances[u, v] <= up_to and distances[u, v] < np.inf
    pair = _sorted_by_digits(length[:n].view(np.uint64), pair[:n])
    ranked = np.empty((n, 2), np.int32)
    for k in range(n):
        ranked[k, 0], ranked[k, 1] = pair[k] // p, pair[k] % p
    return ranked


@kernel
def _sorted_by_digits(key: Bits, item: IntArray) -> IntArray:
    """Return the items by key, those of equal keys in their order, digit by digit from the last.

    The bits of numbers from 0 on are ordered as the numbers are.
    """
    next_key, next_item = np.empty_like(key), np.empty_like(item)
    for low in range(0, 64, DIGIT):
        shift, mask = np.uint64(low), np.uint64((1 << DIGIT) - 1)
        start = np.zeros((1 << DIGIT) + 1, np.int64)
        for k in range(len(key)):
            start[int(key[k] >> shift & mask) + 1] += 1
        if start.max() == len(key):  # all have the same digit
            continue
        for digit in range(1 << DIGIT):
            start[digit + 1] += start[digit]
        for k in range(len(key)):
            digit = int(key[k] >> shift & mask)
            next_key[start[digit]], next_item[start[digit]] = key[k], item[k]
            start[digit] += 1
        key, next_key, item, next_item = next_key, key, next_item, item
    return item


@kernel
def bit_of(column: int) -> np.uint64:
    """Return the bit of a column in its word."""
    return ONE << np.uint64(column & 63)


@kernel
def first_place(word: np.uint64) -> int:
    """Return the place of the lowest bit of a word that is not 0."""
    return int(PLACE[int((word ^ (word & (word - ONE))) % np.uint64(PLACES))])


@kernel
def balls_as_bits(distances: FloatArray, r: float) -> tuple[Bits, IntArray]:
    """Return the columns within r of each column, and their number."""
    p = len(distances)
    balls = np.zeros((p, (p + 63) // 64), np.uint64)
    sizes = np.zeros(p, np.int64)
    for u in range(p):
        for first in range(0, p, 64):
            bits = np.uint64(0)
            for v in range(first, min(first + 64, p)):
                inside = distances[u, v] <= r
                bits |= np.uint64(inside) << np.uint64(v - first)
                sizes[u] += inside
            balls[u, first >> 6] = bits
    return balls, sizes


@kernel
def _equal(balls: Bits, one: int, other: int) -> bool:
    word = 0
    while word < balls.shape[1] and balls[one, word] == balls[other, word]:
        word += 1
    return bool(word == balls.shape[1])


@kernel
def _has_earlier_equal(balls: Bits, sizes: IntArray, centre: int) -> bool:
    for other in range(centre):
        if sizes[other] == sizes[centre] and _equal(balls, other, centre):
            return True
    return False


@kernel
def _centres_with_both(balls: Bits, unfinished: Bits, u: int, v: int, centres: Bits) -> bool:
    """Write the unfinished balls that hold u and v to ``centres``; whether there are any."""
    some = np.uint64(0)
    for word in range(len(centres)):
        centres[word] = balls[u, word] & balls[v, word] & unfinished[word]
        some |= centres[word]
    return bool(some != 0)


@kernel
def _remove_ball(balls: Bits, column: int, centres: Bits) -> bool:
    """Take the balls that hold a column out of ``centres``; whether any are left."""
    some = np.uint64(0)
    for word in range(len(centres)):
        centres[word] &= ~balls[column, word]
        some |= centres[word]
    return bool(some != 0)


@kernel
def _remove_triangles(balls: Bits, joined: Bits, u: int, v: int, centres: Bits) -> bool:
    """Take the balls with a column that is nearer to u and to v out of ``centres``."""
    for word in range(len(centres)):
        nearer = joined[u, word] & joined[v, word]
        while nearer:
            if not _remove_ball(balls, 64 * word + first_place(nearer), centres):
                return False
            nearer &= nearer - ONE
    return True


@kernel
def _root(parent: Pairs, node: int) -> int:
    while parent[node] != node:
        parent[node] = parent[parent[node]]
        node = int(parent[node])
    return node


@kernel
def _grow_trees(
    parent: Pairs, missing: IntArray, unfinished: Bits, u: int, v: int, centres: Bits
) -> bool:
    """Connect u and v in the trees of ``centres``; whether they were apart in any."""
    grown = False
    for word in range(len(centres)):
        left = centres[word]
        while left:
            centre = 64 * word + first_place(left)
            left &= left - ONE
            a, b = _root(parent[centre], u), _root(parent[centre], v)
            if a != b:
                parent[centre, a] = b
                grown = True
                missing[centre] -= 1
                if missing[centre] == 0:
                    unfinished[word] &= ~bit_of(centre)
    return grown


@sized_kernel(MANY)
def local_trees_by_bits(
    distances: FloatArray, pairs: Pairs, r: float
) -> tuple[IntArray, FloatArray]:
    """Edges (u, v), sorted, of the minimum spanning trees of all balls, and their lengths.

    ``pairs`` are ranked and include all at distances up to r. No longer ones are needed, as every
    column of a ball is within r of its centre.
    """
    p = len(distances)
    balls, sizes = balls_as_bits(distances, r)
    missing = sizes - 1  # edges
    unfinished = np.zeros(balls.shape[1], np.uint64)
    parent = np.empty((p, p), np.int32)
    for centre in range(p):
        if missing[centre] > 0 and not _has_earlier_equal(balls, sizes, centre):
            unfinished[centre >> 6] |= bit_of(centre)
            parent[centre] = np.arange(p)
    joined = np.zeros_like(balls)
    centres = np.empty_like(unfinished)
    found = np.zeros(p * p if p < 64 else 32 * p, np.int64)
    n = 0
    for k in range(len(pairs)):
        u, v = int(pairs[k, 0]), int(pairs[k, 1])
        if (
            _centres_with_both(balls, unfinished, u, v, centres)
            and _remove_triangles(balls, joined, u, v, centres)
            and _grow_trees(parent, missing, unfinished, u, v, centres)
        ):
            if n == len(found):
                found = np.append(found, found)
            found[n] = u * p + v
            n += 1
            if not unfinished.any():
                break
        joined[u, v >> 6] |= bit_of(v)
        joined[v, u >> 6] |= bit_of(u)
    found = np.sort(found[:n])
    edges, lengths = np.empty((n, 2), np.int64), np.empty(n)
    for k in range(n):
        u, v = found[k] // p, found[k] % p
        edges[k, 0], edges[k, 1], lengths[k] = u, v, distances[u, v]
    return edges, lengths


WITNESSES = 16
"""Columns nearer to both ends of a pair that are looked for from each end."""


@kernel
def _next_common(
    nearest: Pairs, n_near: IntArray, joined: BoolArray, u: int, v: int, k: int
) -> int:
    """Return the position, from k on, of the next column in the list of u that is joined to v."""
    while k < n_near[u] and not joined[v, nearest[u, k]]:
        k += 1
    return k


@kernel
def _without(distances: FloatArray, u: int, v: int, column: int, centres: IntArray, n: int) -> int:
    """Keep the centres whose smallest ball with u and v does not hold a column."""
    kept = 0
    for k in range(n):
        c = centres[k]
        centres[kept] = c
        kept += max(distances[u, c], distances[v, c]) < distances[column, c]
    return kept


@kernel
def _centres_to_test(
    distances: FloatArray, nearest: Pairs, n_near: IntArray, joined: BoolArray,
    u: int, v: int, centres: IntArray,
) -> int:  # fmt: skip
    """Write the centres in whose balls the pair may be an edge; return their number."""
    n = 0
    i = _next_common(nearest, n_near, joined, u, v, 0)
    if i == n_near[u]:
        for c in range(len(distances)):
            centres[n] = c
            n += max(distances[u, c], distances[v, c]) < np.inf
        return n
    j = _next_common(nearest, n_near, joined, v, u, 0)
    one, other = nearest[u, i], nearest[v, j]
    for c in range(len(distances)):
        centres[n] = c
        n += max(distances[u, c], distances[v, c]) < min(distances[one, c], distances[other, c])
    for a, b, k in ((u, v, i), (v, u, j)):
        for _ in range(WITNESSES):
            k = _next_common(nearest, n_near, joined, a, b, k + 1)
            if n == 0 or k == n_near[a]:
                break
            n = _without(distances, u, v, nearest[a, k], centres, n)
    return n


@kernel
def _meeting(above: Pairs, u: int, v: int, seen: IntArray, stamp: int) -> int:
    """Return the first node on the ways of u and v to the root; -1 if their roots differ."""
    while u >= 0:
        seen[u] = stamp
        u = above[u]
    while v >= 0 and seen[v] != stamp:
        v = above[v]
    return v


@kernel
def _last_edge(above: Pairs, radius: FloatArray, node: int, top: int) -> tuple[int, float]:
    """Return the edge between node and top that needs the largest ball: lower end, radius."""
    last, largest = -1, -1.0
    while node != top:
        needed = max(radius[node], radius[above[node]])
        if needed > largest:
            last, largest = node, needed
        node = above[node]
    return last, largest


@kernel
def _hang(above: Pairs, node: int, last: int, onto: int) -> None:
    """Hang a node onto another: the path up to ``last`` is turned, the edge above it removed."""
    while True:
        following = above[node]
        above[node] = onto
        if node == last or following < 0:
            return
        onto, node = node, following


@kernel
def _insert(above: Pairs, radius: FloatArray, u: int, v: int, seen: IntArray, stamp: int) -> float:
    """Return the radius from which shorter pairs connect u and v; insert the pair if it is less.

    The forest of a centre connects any two columns in the smallest possible ball.
    """
    top = _meeting(above, u, v, seen, stamp)
    if top < 0:
        _hang(above, u, -1, v)
        return np.inf
    a, needed_a = _last_edge(above, radius, u, top)
    b, needed_b = _last_edge(above, radius, v, top)
    end = max(needed_a, needed_b)
    if max(radius[u], radius[v]) < end:
        if needed_a > needed_b:
            _hang(above, u, a, v)
        else:
            _hang(above, v, b, u)
    return end


@kernel
def _append_union(
    rows: FloatArray, n: int, u: int, v: int, start: FloatArray, end: FloatArray
) -> tuple[FloatArray, int]:
    """Append the union of the intervals of a pair."""
    if n + len(start) > len(rows):
        rows = np.concatenate((rows, np.empty((len(rows) + len(start), 4))))
    first = n
    for k in np.argsort(start):
        if n > first and start[k] <= rows[n - 1, 3]:
            rows[n - 1, 3] = max(rows[n - 1, 3], end[k])
        else:
            rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3] = u, v, start[k], end[k]
            n += 1
    return rows, n


@kernel
def curve_by_pairs(
    distances: FloatArray, pairs: Pairs,
    above: Pairs, nearest: Pairs, n_near: IntArray, joined: BoolArray,
) -> FloatArray:  # fmt: skip
    """Rows (u, v, start, end): the pair is an edge of some ball's tree for start <= r < end.

    ``pairs`` follow those of earlier calls. The other arrays carry what is known of these:
    a forest for each centre (``above`` holds parents, -1 for roots), the columns of earlier pairs
    with each column in order, their number, and whether two columns were an earlier pair.
    """
    p = len(distances)
    rows, n = np.empty((4 * p, 4)), 0
    centres, seen = np.empty(p, np.int64), np.zeros(p, np.int64)
    start, end = np.empty(p), np.empty(p)
    stamp = 0
    for k in range(len(pairs)):
        u, v = int(pairs[k, 0]), int(pairs[k, 1])
        found = 0
        for c in centres[: _centres_to_test(distances, nearest, n_near, joined, u, v, centres)]:
            stamp += 1
            start[found] = max(distances[u, c], distances[v, c])
            end[found] = _insert(above[c], distances[c], u, v, seen, stamp)
            found += start[found] < end[found]
        if found:
            rows, n = _append_union(rows, n, u, v, start[:found], end[:found])
        nearest[u, n_near[u]], nearest[v, n_near[v]] = v, u
        n_near[u] += 1
        n_near[v] += 1
        joined[u, v] = joined[v, u] = True
    return rows[:n].copy()
