"""The initial graph: our kernel compared with one MST per ball from scipy and networkx.

All three use the same balls and the same total order of edges, and must find the same edges.
"""

from __future__ import annotations

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from benchmarks import TIMING_HEAD, Variant, markdown_table, time_variants, timing_rows
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.tables.samples import load_sample

FloatArray = NDArray[np.float64]
Edges = set[tuple[int, int]]


def edge_ranks(distances: FloatArray) -> FloatArray:
    """(p, p) upper triangle: rank of each edge in the order (distance, smaller node, larger node).

    Ranks from 1 avoid ties, and edges of weight 0, which scipy treats as missing. 0 marks an
    infinite distance.
    """
    p = len(distances)
    u, v = np.triu_indices(p, 1)
    finite = np.isfinite(distances[u, v])
    u, v = u[finite], v[finite]
    order = np.lexsort((v, u, distances[u, v]))
    ranks = np.zeros((p, p))
    ranks[u[order], v[order]] = np.arange(1, len(order) + 1)
    return ranks


def with_networkx(distances: FloatArray, ranks: FloatArray, r: float) -> Edges:
    whole = nx.from_numpy_array(ranks)
    found: Edges = set()
    for v in range(len(distances)):
        ball = np.flatnonzero(distances[v] <= r).tolist()
        tree = nx.minimum_spanning_tree(whole.subgraph(ball))
        found.update((min(edge), max(edge)) for edge in tree.edges)
    return found


def with_scipy(distances: FloatArray, ranks: FloatArray, r: float) -> Edges:
    found: Edges = set()
    for v in range(len(distances)):
        ball = np.flatnonzero(distances[v] <= r)
        tree = minimum_spanning_tree(ranks[ball[:, None], ball]).tocoo()
        found.update(zip(ball[tree.row].tolist(), ball[tree.col].tolist(), strict=True))
    return found


def random_table(n_columns: int = 300, n_rows: int = 1000, seed: int = 0) -> DistanceMatrix:
    """Columns attached to 30 correlated hidden variables."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n_rows, 30)) + rng.normal(size=(n_rows, 1))
    owner = np.arange(n_columns) % 30
    return information_distances(hidden[:, owner] + rng.normal(size=(n_rows, n_columns)))


def compare(title: str, D: DistanceMatrix, r: float, repeats: int) -> str:
    """Compare all variants on one matrix at one radius."""
    ranks = edge_ranks(D.values)
    ours = {(int(u), int(v)) for u, v in initial_graph(D, r).edges}
    agree = ours == with_scipy(D.values, ranks, r) == with_networkx(D.values, ranks, r)
    variants: dict[str, Variant] = {"loopylatent": lambda: initial_graph(D, r)}
    variants["scipy, one MST per ball"] = lambda: with_scipy(D.values, ranks, r)
    variants["networkx, one MST per ball"] = lambda: with_networkx(D.values, ranks, r)
    table = markdown_table(
        TIMING_HEAD, timing_rows(time_variants(variants, repeats), "loopylatent")
    )
    size = (D.values <= r).sum(axis=1).mean()
    verdict = "same edges from all three" if agree else "**the edges differ**"
    return (
        f"{title}, r = {r:.4g}: {D.n_columns} balls of {size:.0f} columns on average, "
        f"{len(ours)} edges, {verdict}; {repeats} repeats.\n\n{table}"
    )


def report() -> str:
    D = information_distances(load_sample("newsgroups100_roweislike").observations)
    wide = random_table()
    off_diagonal = wide.values[~np.eye(wide.n_columns, dtype=bool)]
    third = float(np.quantile(off_diagonal, 1 / 3))
    parts = [
        compare("Newsgroup sample", D, 5.0, repeats=5),
        compare("Newsgroup sample, r_max", D, D.r_max, repeats=5),
        compare("Random table", wide, third, repeats=3),
    ]
    return "## Initial graph\n\n" + "\n\n".join(parts)
