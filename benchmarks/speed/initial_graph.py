"""The initial graph: our kernel compared with one MST per ball from scipy and networkx.

All three use the same balls and the same total order of edges, and must find the same edges. The
initial graph and the exact curve are also compared with those of an older checkout.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import minimum_spanning_tree

from benchmarks import TIMING_HEAD, Variant, markdown_table, time_variants, timing_rows
from benchmarks.speed.kernels import ONE_THREAD, ROOT, Case, Found, cells, commit, measured
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.learning.initial_graph import edge_density, initial_graph
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


# An older checkout --------------------------------------------------------------------------

WORKER = (
    "import sys, loopylatent; sys.path.insert(0, sys.argv[1]); "
    "from benchmarks.speed.initial_graph import work; work(sys.argv[2])"
)
"""The package comes from the working directory, this module from the folder named."""


def matrices() -> dict[str, FloatArray]:
    """Return the distances of the newsgroup sample and of two synthetic tables."""
    from benchmarks.speed.scale import ring_rows

    sample = load_sample("newsgroups100_roweislike").observations
    tables = {
        "newsgroups": sample,
        "ring300": ring_rows(2000, 300),
        "ring1000": ring_rows(2000, 1000),
    }
    return {name: information_distances(obs).values for name, obs in tables.items()}


def cases(values: Mapping[str, FloatArray]) -> Iterator[tuple[str, Variant]]:
    """Yield what is measured in both checkouts."""
    given = {name: DistanceMatrix.from_array(one) for name, one in values.items()}
    for title, name, r in (
        ("newsgroups", "newsgroups", 5.0),
        ("300 columns", "ring300", 1.43),
        ("300 columns", "ring300", 7.5),
        ("1,000 columns", "ring1000", 1.54),
    ):
        D = given[name]
        yield f"{title}, r = {r:g}", partial(initial_graph, D, r)
        yield (
            f"{title}, r = {r:g}, distances not seen before",
            lambda D=D, r=r: initial_graph(dataclasses.replace(D), r),
        )
    for title, name in (
        ("newsgroups", "newsgroups"),
        ("300 columns", "ring300"),
        ("1,000 columns", "ring1000"),
    ):
        yield f"{title}, exact curve", partial(edge_density, given[name])


def work(path: str) -> None:
    """Measure all cases with the package of the working directory and print them as JSON."""
    with np.load(path, allow_pickle=False) as values:
        found = {
            name: measured(Case(name, (), lambda _, once=once: once, "", 0, 0), 0)
            for name, once in cases(values)
        }
    print(json.dumps({name: one and dataclasses.asdict(one) for name, one in found.items()}))


def in_checkout(folder: Path, path: Path) -> dict[str, Found]:
    """Measure all cases with the package of a folder."""
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(ROOT), str(path)],
        cwd=folder,
        env=os.environ | ONE_THREAD | {"PYTHONPATH": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return {name: Found(**one) for name, one in json.loads(done.stdout).items()}


def against(older: str) -> str:
    """Compare with the package of an older checkout."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "distances.npz"
        np.savez(path, **matrices())
        now, before = (in_checkout(one, path) for one in (ROOT, Path(older).resolve()))
    table = markdown_table(
        ["task", "now", "before", "speed-up", "results"],
        [[name, *cells(one, before[name])] for name, one in now.items()],
    )
    return (
        "CPU milliseconds, minimum of a few runs, each checkout in a process of its own. Before: "
        f"commit {commit(Path(older))}. Pairs are ranked once for each matrix; where the distances "
        f"were not seen before, that is included.\n\n{table}"
    )


def report(older: str | None = None) -> str:
    D = information_distances(load_sample("newsgroups100_roweislike").observations)
    wide = random_table()
    off_diagonal = wide.values[~np.eye(wide.n_columns, dtype=bool)]
    third = float(np.quantile(off_diagonal, 1 / 3))
    parts = [
        compare("Newsgroup sample", D, 5.0, repeats=5),
        compare("Newsgroup sample, r_max", D, D.r_max, repeats=5),
        compare("Random table", wide, third, repeats=3),
        *([against(older)] if older else []),
    ]
    return "## Initial graph\n\n" + "\n\n".join(parts)
