"""Minimum spanning trees of all balls at once: at one radius, and at every radius.

Pairs of columns are taken in order of (distance, smaller, larger), as Kruskal does. A pair can be
ignored in every ball that holds a column which is nearer to both of its ends: it would close a
triangle as its longest edge. Few balls are left in which a pair has to be tested.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.values import FloatArray, IntArray

Pairs = NDArray[np.int32]
Bits = NDArray[np.uint64]
"""Sets of columns, 64 in a word: column c is bit c % 64 of word c // 64."""

ONE = np.uint64(1)
PLACES = 67
"""The powers of 2 below 2^64 leave different remainders after division by it."""
PLACE = np.zeros(PLACES, np.int64)
PLACE[[2**k % PLACES for k in range(64)]] = np.arange(64)


def rank_pairs(distances: FloatArray, up_to: float = np.inf) -> Pairs:
    """(k, 2) pairs u < v at a finite distance of at most ``up_to``, by (distance, u, v)."""
    near = np.triu(np.isfinite(distances) & (distances <= up_to), 1)
    pairs = np.flatnonzero(near)
    order = np.argsort(distances.reshape(-1)[pairs], kind="stable")
    ranked = np.column_stack(np.divmod(pairs[order], len(distances))).astype(np.int32)
    ranked.setflags(write=False)
    return ranked


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


@kernel
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
