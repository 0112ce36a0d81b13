"""Graphs to build models on: cages by name, random regular graphs, edge lists, hidden by chance."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import networkx as nx
import numpy as np

from loopylatent.compute.checks import count
from loopylatent.errors import DataError, ThresholdError, did_you_mean, quoted

MOST_NODES = 2000
"""Of a graph that is read from text or drawn at random."""
BALABAN_11 = """
44 26 -47 -15 35 -39 11 -27 38 -37 43 14 28 51 -29 -16 41 -11 -26 15 22 -51 -35 36 52 -14 -33
-26 -46 52 26 16 43 33 -15 17 -53 23 -42 -35 -28 30 -22 45 -44 16 -38 -16 50 -55 20 28 -17 -43
47 34 -26 -41 11 -36 -23 -16 41 17 -51 26 -33 47 17 -11 -20 -30 21 29 36 -43 -52 10 39 -28 -17
-52 51 26 37 -17 10 -10 -45 -34 17 -26 27 -21 46 53 -10 29 -50 35 15 -47 -29 -41 26 33 55 -17
42 -26 -36 16
"""


def _by_shifts(shifts: list[int], repeats: int) -> Callable[[], nx.Graph[Any]]:
    return lambda: nx.LCF_graph(len(shifts) * repeats, shifts, repeats)


CAGES: Mapping[str, Callable[[], nx.Graph[Any]]] = {
    "petersen": nx.petersen_graph,
    "heawood": nx.heawood_graph,
    "mcgee": _by_shifts([12, 7, -7], 8),
    "tutte-coxeter": _by_shifts([-13, -9, 7, -7, 9, 13], 5),
    "harries": _by_shifts([-29, -19, -13, 13, 21, -27, 27, 33, -13, 13, 19, -21, -33, 29], 5),
    "balaban 11": _by_shifts([int(shift) for shift in BALABAN_11.split()], 1),
    "tutte 12": _by_shifts(
        [17, 27, -13, -59, -35, 35, -11, 13, -53, 53, -27, 21, 57, 11, -21, -57, 59, -17], 7
    ),
    "hoffman-singleton": nx.hoffman_singleton_graph,
}
"""The smallest graphs of their degree and girth; all cubic, the last one of degree 7."""


def cage(name: str) -> nx.Graph[Any]:
    """Return a smallest regular graph of a girth, by its name (``CAGES`` has them).

    Examples
    --------
    >>> [(name, len(cage(name)), nx.girth(cage(name))) for name in ("petersen", "mcgee")]
    [('petersen', 10, 5), ('mcgee', 24, 7)]
    """
    if name not in CAGES:
        raise DataError(f"no cage is called {quoted(name)}; {did_you_mean(name, list(CAGES))}")
    return CAGES[name]()


def regular_skeleton(
    n_nodes: int = 30, degree: int = 3, girth: int = 5, *, seed: int = 0
) -> nx.Graph[int]:
    """Return a random regular graph without the short cycles.

    A graph is drawn uniformly from the regular ones; then its edges are gone through in random
    order, and each is removed that lies on a cycle shorter than ``girth``; those that would not
    close one in the end are put back. The ends of removed edges have a smaller degree; no removal
    parts the graph.

    Parameters
    ----------
    n_nodes, degree : int
        Their product is even.
    girth : int
        Edges on the shortest cycle that may remain.
    seed : int

    Examples
    --------
    >>> graph = regular_skeleton(40, 3, girth=7, seed=1)
    >>> len(graph), nx.girth(graph) >= 7, max(d for _, d in graph.degree)
    (40, True, 3)
    """
    size, each = count("n_nodes", n_nodes, 4), count("degree", degree, 2)
    shortest = count("girth", girth, 3)
    if size > MOST_NODES or each >= size or size * each % 2:
        raise ThresholdError(
            f"no graph has {size} nodes of degree {each}; the degree is below the number of "
            f"nodes, their product is even, and at most {MOST_NODES:,} nodes are drawn."
        )
    rng = np.random.default_rng(count("seed", seed, 0))
    drawn: nx.Graph[int] = nx.random_regular_graph(each, size, seed=int(rng.integers(2**31)))
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(size))
    edges = sorted((min(edge), max(edge)) for edge in drawn.edges)
    graph.add_edges_from(edges)
    shuffled = [edges[k] for k in rng.permutation(len(edges)).tolist()]

    def closes(u: int, v: int) -> bool:
        return v in nx.single_source_shortest_path_length(graph, u, cutoff=shortest - 2)

    for u, v in shuffled:
        graph.remove_edge(u, v)
        if not closes(u, v):
            graph.add_edge(u, v)
    for u, v in shuffled:  # other removals may have made room for an edge again
        if not graph.has_edge(u, v) and not closes(u, v):
            graph.add_edge(u, v)
    return graph


def hidden_by_chance(skeleton: nx.Graph[Any], share: float, *, seed: int = 0) -> list[Hashable]:
    """Return the nodes left hidden where each one is observed with probability ``share``.

    Nodes with fewer than three neighbours are always observed: no column could show them.

    Examples
    --------
    >>> len(hidden_by_chance(cage("tutte 12"), 0.5, seed=1))
    65
    """
    if not 0 < share < 1:
        raise ThresholdError(f"share = {share:g} is no probability between 0 and 1.")
    seen = np.random.default_rng(count("seed", seed, 0)).random(len(skeleton)) < share
    chances = zip(skeleton.degree, seen.tolist(), strict=True)
    return [node for (node, degree), observed in chances if not observed and degree >= 3]


def read_edges(text: str) -> nx.Graph[str]:
    """Read a graph from lines that name the two ends of an edge, apart by a comma or space.

    Empty lines and those that begin with # are skipped.

    Examples
    --------
    >>> sorted(read_edges("a, b\\nb c\\n# that was all").edges)
    [('a', 'b'), ('b', 'c')]
    """
    graph: nx.Graph[str] = nx.Graph()
    for number, line in enumerate(text.splitlines(), start=1):
        words = re.findall(r"[^,;\s]+", line)
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2:
            raise DataError(
                f"line {number} of the edge list names {len(words)} nodes ({quoted(line.strip())})"
                "; name two, with a comma or a space between them."
            )
        if words[0] == words[1]:
            raise DataError(f"line {number} joins {quoted(words[0])} to itself; leave it out.")
        graph.add_edge(*words)
        if len(graph) > MOST_NODES:
            raise DataError(f"the edge list has more than {MOST_NODES:,} nodes; give fewer.")
    if len(graph) == 0:
        raise DataError("the edge list is empty; give one edge a line, such as: a b")
    return graph
