"""The shortest independent cycles of a graph (Horton's algorithm, 1987).

Every cycle of a shortest basis consists of two shortest paths from one of its nodes and an edge
that joins their ends. So those are listed, and taken greedily, shortest first, while they are
independent of the ones before. Cycles are added over the two-element field: each is a whole number
whose bits are the edges outside a spanning tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

IntArray = NDArray[np.int64]


def minimum_cycle_basis(n_nodes: int, edges: IntArray) -> tuple[tuple[int, ...], ...]:
    """Return independent cycles of the least total number of edges, as nodes in order.

    Examples
    --------
    >>> square_with_diagonal = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    >>> minimum_cycle_basis(4, square_with_diagonal)
    ((0, 1, 2), (0, 2, 3))
    """
    edges = _core(n_nodes, edges)
    if len(edges) == 0:
        return ()
    nodes, ends = np.unique(edges, return_inverse=True)
    ends = ends.reshape(-1, 2)
    found = _greedy(len(nodes), ends)
    named = (_from_smallest([int(nodes[k]) for k in cycle]) for cycle in found)
    return tuple(sorted(named, key=lambda cycle: (len(cycle), cycle)))


def _core(n_nodes: int, edges: IntArray) -> IntArray:
    """Leave out, again and again, the edges of nodes that have no second one."""
    while len(edges):
        degrees = np.bincount(edges.ravel(), minlength=n_nodes)
        kept = (degrees[edges] > 1).all(axis=1)
        if kept.all():
            break
        edges = edges[kept]
    return edges


def _greedy(n_nodes: int, ends: IntArray) -> list[list[int]]:
    # lengths that differ a little make shortest paths unique, as the theorem wants
    lengths = 1 + np.random.default_rng(0).random(len(ends)) / (1000 * len(ends))
    u, v = ends.T
    matrix = csr_array((lengths, (u, v)), shape=(n_nodes, n_nodes))
    distance, before = dijkstra(matrix, directed=False, return_predecessors=True)
    bits = _edge_bits(n_nodes, ends)
    paths = [
        _path_bits(source, distance[source], before[source], bits) for source in range(n_nodes)
    ]
    around = distance[:, u] + distance[:, v] + lengths  # (source, edge)
    reachable = np.argwhere(np.isfinite(around))
    order = np.argsort(around[reachable[:, 0], reachable[:, 1]], kind="stable")
    wanted = len(ends) - n_nodes + connected_components(matrix, directed=False)[0]
    basis: dict[int, int] = {}
    cycles: list[list[int]] = []
    for source, edge in reachable[order].tolist():
        a, b = ends[edge].tolist()
        vector = paths[source][a] ^ paths[source][b] ^ bits.get((a, b), 0)
        if _is_new(vector, basis):
            cycles.append(_closed(before[source], a, b))
            if len(cycles) == wanted:
                break
    return cycles


def _edge_bits(n_nodes: int, ends: IntArray) -> dict[tuple[int, int], int]:
    """A bit for each edge outside a spanning tree; edges of the tree have none."""
    group = list(range(n_nodes))

    def find(node: int) -> int:
        while group[node] != node:
            group[node] = group[group[node]]
            node = group[node]
        return node

    bits: dict[tuple[int, int], int] = {}
    for a, b in ends.tolist():
        one, other = find(a), find(b)
        if one == other:
            bits[a, b] = bits[b, a] = 1 << (len(bits) // 2)
        else:
            group[one] = other
    return bits


def _path_bits(
    source: int,
    distance: NDArray[np.float64],
    before: NDArray[np.int32],
    bits: dict[tuple[int, int], int],
) -> dict[int, int]:
    """The sum of the bits along the shortest path from ``source`` to each node."""
    sums = {source: 0}
    previous = before.tolist()
    for node in np.argsort(distance, kind="stable").tolist():
        if previous[node] >= 0:
            sums[node] = sums[previous[node]] ^ bits.get((previous[node], node), 0)
    return sums


def _is_new(vector: int, basis: dict[int, int]) -> bool:
    """Whether a cycle is no sum of those in ``basis``; if so it is added, under its top bit."""
    while vector:
        top = vector.bit_length()
        if top not in basis:
            basis[top] = vector
            return True
        vector ^= basis[top]
    return False


def _closed(before: NDArray[np.int32], a: int, b: int) -> list[int]:
    """The nodes of the cycle: from a back to the source, and on to b."""

    def walk(node: int) -> list[int]:
        path = [node]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        return path

    return walk(a) + walk(b)[-2::-1]


def _from_smallest(cycle: list[int]) -> tuple[int, ...]:
    """Write a cycle from its smallest node on, towards that node's smaller neighbour."""
    at = cycle.index(min(cycle))
    forward = cycle[at:] + cycle[:at]
    backward = [forward[0], *forward[:0:-1]]
    return tuple(min(forward, backward))
