"""The learner, its grouping methods, the exact curve and the distances."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import TIMING_HEAD, markdown_table, time_variants, timing_rows
from benchmarks.speed.kernel_cases import local_tree
from loopylatent.api import learn
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import edge_density, initial_graph
from loopylatent.settings import Method
from loopylatent.synthetic.families import latent_tree
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

METHODS: Mapping[Method, str] = {
    "quartet": "quartet grouping",
    "relaxed": "relaxed grouping",
    "nj": "neighbor joining",
}


def compare_learning(D: DistanceMatrix, repeats: int = 15) -> str:
    """Learn with and without trace at r = 5, where the graph has loops."""
    result = learn(D, r=5.0, Lambda=0.0, tau=0.1)
    start = edge_density(D).graph_at(5.0)
    timings = time_variants(
        {
            "without trace": lambda: learn(D, r=5.0, Lambda=0.0, tau=0.1, trace=False),
            "with trace": lambda: learn(D, r=5.0, Lambda=0.0, tau=0.1),
            "without trace, initial graph given": lambda: learn(
                D, r=5.0, Lambda=0.0, tau=0.1, start=start, trace=False
            ),
        },
        repeats,
    )
    graph = result.graph
    return (
        f"Newsgroup sample, r = 5, Λ = 0, τ = 0.1: {result.n_visits} visits, {graph.n_hidden} "
        f"hidden nodes, {graph.n_edges} edges, {graph.n_cycles} cycles; {repeats} repeats.\n\n"
        + markdown_table(TIMING_HEAD, timing_rows(timings, "without trace"))
    )


def compare_methods(D: DistanceMatrix, repeats: int = 9) -> str:
    """Compare the grouping methods at r = 5."""
    variants = {
        name: partial(learn, D, r=5.0, Lambda=0.0, tau=0.1, method=method, trace=False)
        for method, name in METHODS.items()
    }
    graphs = [f"{name} {variant().graph.n_hidden}" for name, variant in variants.items()]
    timings = time_variants(variants, repeats)
    return (
        f"Newsgroup sample, r = 5, Λ = 0, τ = 0.1; hidden nodes: {', '.join(graphs)}; {repeats} "
        "repeats.\n\n" + markdown_table(TIMING_HEAD, timing_rows(timings, "quartet grouping"))
    )


def compare_hubs(size: int = 300, repeats: int = 3) -> str:
    """Group one large neighbourhood: the leaves of a tree, with noise."""
    model = latent_tree(size // 15, 0, leaves=15, lengths=(0.3, 0.8), seed=0)
    rng = np.random.default_rng(0)
    noise = np.triu(rng.normal(scale=0.02, size=(size, size)), 1)
    distances = np.maximum(model.distances().values + noise + noise.T, 0.01)
    np.fill_diagonal(distances, 0.0)
    timings = time_variants(
        {name: local_tree(distances, m) for m, name in METHODS.items()}, repeats
    )
    return (
        f"One neighbourhood of {size} nodes, {size // 15} true hidden nodes; {repeats} "
        "repeats.\n\n" + markdown_table(TIMING_HEAD, timing_rows(timings, "quartet grouping"))
    )


def compare_curves(D: DistanceMatrix, repeats: int = 3) -> str:
    """Compare the exact curve with building the initial graph at every breakpoint."""
    curve = edge_density(D)
    radii = curve.r.tolist()
    built = [initial_graph(D, r) for r in radii]

    def read_all() -> list[LatentGraph]:
        fresh = edge_density(D)
        return [fresh.graph_at(r) for r in radii]

    agree = all(curve.graph_at(r) == graph for r, graph in zip(radii, built, strict=True))
    timings = time_variants(
        {
            "exact curve": lambda: edge_density(D),
            "exact curve, and its graph at every breakpoint": read_all,
            "graph built at every breakpoint": lambda: [initial_graph(D, r) for r in radii],
        },
        repeats,
    )
    verdict = "equal graphs at all of them" if agree else "**the graphs differ**"
    return (
        f"Newsgroup sample, {len(radii):,} breakpoints, {verdict}; {repeats} repeats.\n\n"
        + markdown_table(TIMING_HEAD, timing_rows(timings, "exact curve"))
    )


def compare_distances(obs: Observations, repeats: int = 9) -> str:
    """Compare the distances of a complete table with numpy's correlations.

    Matrix products are timed on one thread: on busy cores their threads wait for each other, and
    times vary by a factor of ten.
    """
    values = obs.dense()
    ours = information_distances(obs).values
    theirs = -np.log(np.abs(np.corrcoef(values, rowvar=False)))
    gap = np.abs(ours - theirs).max()
    with threadpool_limits(1, user_api="blas"):
        timings = time_variants(
            {
                "information_distances": lambda: information_distances(obs),
                "numpy.corrcoef": lambda: np.corrcoef(values, rowvar=False),
            },
            repeats,
        )
    return (
        f"Newsgroup sample, {obs.n_rows:,} rows, {obs.n_columns} columns, no missing values; "
        f"matrix products on one thread; largest difference between the two {gap:.0e}; "
        f"{repeats} repeats.\n\n"
        + markdown_table(TIMING_HEAD, timing_rows(timings, "information_distances"))
    )


def report() -> str:
    obs = load_sample("newsgroups100_roweislike").observations
    D = information_distances(obs)
    return "\n\n".join(
        [
            "## Learner",
            compare_learning(D),
            "## Grouping methods",
            compare_methods(D),
            compare_hubs(),
            "## Exact curve",
            compare_curves(D),
            "## Distances",
            compare_distances(obs),
        ]
    )
