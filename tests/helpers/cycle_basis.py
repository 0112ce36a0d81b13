"""A minimum cycle basis in plain Python, to compare the compiled one with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, dijkstra

from loopylatent.compute.values import FloatArray, IntArray


def plain_cycle_basis(n_nodes: int, edges: IntArray) -> tuple[tuple[int, ...], ...]:
    """Return a minimum cycle basis, each cycle as its nodes in order.

    Horton (1987): every cycle of a minimum basis consists of two shortest paths from one of its
    nodes and an edge between their ends. These candidates are taken shortest first if independent
    of the ones before. A cycle is an integer whose bits are its edges; cycles add modulo 2.
    """
    edges = _core(n_nodes, edges)
    if len(edges) == 0:
        return ()
    nodes, ends = np.unique(edges, return_inverse=True)
    found = _greedy(len(nodes), ends.reshape(-1, 2))
    named = (_from_smallest([int(nodes[k]) for k in cycle]) for cycle in found)
    return tuple(sorted(named, key=lambda cycle: (len(cycle), cycle)))


def _core(n_nodes: int, edges: IntArray) -> IntArray:
    """Remove leaves until none is left."""
    while len(edges):
        degrees = np.bincount(edges.ravel(), minlength=n_nodes)
        kept = (degrees[edges] > 1).all(axis=1)
        if kept.all():
            break
        edges = edges[kept]
    return edges


def _greedy(n_nodes: int, ends: IntArray) -> list[list[int]]:
    # slightly perturbed lengths make shortest paths unique, as the theorem requires
    lengths = 1 + np.random.default_rng(0).random(len(ends)) / (1000 * len(ends))
    u, v = ends.T
    matrix = csr_array((lengths, (u, v)), shape=(n_nodes, n_nodes))
    distance, before = dijkstra(matrix, directed=False, return_predecessors=True)
    bit = {pair: 1 << k for k, (a, b) in enumerate(ends.tolist()) for pair in ((a, b), (b, a))}
    paths = [_path_bits(k, distance[k], before[k].tolist(), bit) for k in range(n_nodes)]
    around = distance[:, u] + distance[:, v] + lengths  # (source, edge)
    reachable = np.argwhere(np.isfinite(around))
    order = np.argsort(around[reachable[:, 0], reachable[:, 1]], kind="stable")
    n_cycles = len(ends) - n_nodes + connected_components(matrix, directed=False)[0]
    basis: dict[int, int] = {}
    cycles: list[list[int]] = []
    for source, edge in reachable[order].tolist():
        a, b = ends[edge].tolist()
        if _is_new(paths[source][a] ^ paths[source][b] ^ bit[a, b], basis):
            cycles.append(_closed(before[source], a, b))
            if len(cycles) == n_cycles:
                break
    return cycles


def _path_bits(
    source: int, distance: FloatArray, before: list[int], bit: dict[tuple[int, int], int]
) -> dict[int, int]:
    """The edges of the shortest path from ``source`` to each node."""
    found = {source: 0}
    for node in np.argsort(distance, kind="stable").tolist():
        if before[node] >= 0:
            found[node] = found[before[node]] | bit[before[node], node]
    return found


def _is_new(vector: int, basis: dict[int, int]) -> bool:
    """Whether a cycle is independent of ``basis``; if so it is added, under its top bit."""
    while vector:
        top = vector.bit_length()
        if top not in basis:
            basis[top] = vector
            return True
        vector ^= basis[top]
    return False


def _closed(before: NDArray[np.int32], a: int, b: int) -> list[int]:
    """The nodes of a cycle: from a to the source and on to b."""

    def walk(node: int) -> list[int]:
        path = [node]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        return path

    return walk(a) + walk(b)[-2::-1]


def _from_smallest(cycle: list[int]) -> tuple[int, ...]:
    """Rotate a cycle to start at its smallest node, towards that node's smaller neighbour."""
    at = cycle.index(min(cycle))
    forward = cycle[at:] + cycle[:at]
    return tuple(min(forward, [forward[0], *forward[:0:-1]]))
