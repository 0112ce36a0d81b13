"""Graphs that several tests use."""

from __future__ import annotations

import networkx as nx
import numpy as np

from loopylatent.graph import LatentGraph

BALABAN_11 = """
44 26 -47 -15 35 -39 11 -27 38 -37 43 14 28 51 -29 -16 41 -11 -26 15 22 -51 -35 36 52 -14 -33
-26 -46 52 26 16 43 33 -15 17 -53 23 -42 -35 -28 30 -22 45 -44 16 -38 -16 50 -55 20 28 -17 -43
47 34 -26 -41 11 -36 -23 -16 41 17 -51 26 -33 47 17 -11 -20 -30 21 29 36 -43 -52 10 39 -28 -17
-52 51 26 37 -17 10 -10 -45 -34 17 -26 27 -21 46 53 -10 29 -50 35 15 -47 -29 -41 26 33 55 -17
42 -26 -36 16
"""

CUBIC_LCF: dict[int, tuple[list[int], int]] = {
    7: ([12, 7, -7], 8),  # McGee
    8: ([-13, -9, 7, -7, 9, 13], 5),  # Tutte-Coxeter
    9: ([-14, -22, 14, 22], 16),  # not a cage, but small
    10: ([-29, -19, -13, 13, 21, -27, 27, 33, -13, 13, 19, -21, -33, 29], 5),  # Harries
    11: ([int(shift) for shift in BALABAN_11.split()], 1),
    # Tutte
    12: ([17, 27, -13, -59, -35, 35, -11, 13, -53, 53, -27, 21, 57, 11, -21, -57, 59, -17], 7),
}
CUBIC_ORDER = {5: 10, 6: 14, 7: 24, 8: 30, 9: 64, 10: 70, 11: 112, 12: 126}
"""Number of nodes of the cubic graph of each girth; the least possible, except for girth 9."""


def cubic_graph(girth: int) -> nx.Graph:
    """Return a smallest cubic graph of this girth (5 to 12; for 9, one with six more nodes)."""
    if girth == 5:
        return nx.petersen_graph()
    if girth == 6:
        return nx.heawood_graph()
    shifts, repeats = CUBIC_LCF[girth]
    return nx.LCF_graph(len(shifts) * repeats, shifts, repeats)


def hidden_skeleton(skeleton: nx.Graph, leaves: dict[int, int] | int) -> LatentGraph:
    """Return the graph with every skeleton node hidden and with unit-length observed leaves."""
    if isinstance(leaves, int):
        leaves = dict.fromkeys(skeleton, leaves)
    p = sum(leaves.values())
    edges = [(p + u, p + v) for u, v in skeleton.edges]
    owners = [node for node, count in leaves.items() for _ in range(count)]
    edges += [(leaf, p + owner) for leaf, owner in enumerate(owners)]
    return LatentGraph.build([f"x{k + 1}" for k in range(p)], len(skeleton), edges)


def shuffled(graph: LatentGraph, seed: int = 0) -> LatentGraph:
    """Return the same graph with its columns and its hidden nodes in another order."""
    rng = np.random.default_rng(seed)
    p = graph.n_observed
    columns, hidden = rng.permutation(p), rng.permutation(graph.n_hidden)
    number = np.concatenate([np.argsort(columns), p + hidden])
    names = [graph.names[column] for column in columns]
    return LatentGraph.build(names, graph.n_hidden, number[graph.edges], graph.lengths)
