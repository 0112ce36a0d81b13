"""Benchmark cases for the compiled kernels, called as in the package, at two sizes.

Inputs come from numpy alone, so that every checkout of the package gets the same. The measured
functions are imported inside the cases: an older checkout may not have them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks import Variant
from benchmarks.paper.words import topic_words

# Inputs ------------------------------------------------------------------------------------


def distances(size: int) -> Any:
    """(size, size) distances of columns, ten on each hidden variable of a chain, with noise."""
    rng = np.random.default_rng(0)
    owner, leaf = np.arange(size) // 10, rng.uniform(0.3, 0.6, size)
    noise = np.triu(rng.normal(scale=0.03, size=(size, size)), 1)
    found = leaf[:, None] + leaf + 0.4 * np.abs(owner[:, None] - owner) + noise + noise.T
    np.fill_diagonal(found, 0.0)
    return found


def names(size: int) -> tuple[str, ...]:
    return tuple(f"x{k}" for k in range(size))


def ring(size: int) -> Any:
    """A ring of hidden variables with ten columns on each."""
    from loopylatent.graph import LatentGraph

    hidden = size // 10
    edges = [(k, size + k // 10) for k in range(size)]
    edges += [(size + k, size + (k + 1) % hidden) for k in range(hidden)]
    return LatentGraph.build(names(size), hidden, edges)


def ising(size: int) -> Any:
    """A square grid of about ``size`` nodes with weak potentials."""
    from loopylatent.graph import LatentGraph
    from loopylatent.synthetic.discrete import DiscreteLaw

    side = round(size**0.5)
    at = np.arange(side * side).reshape(side, side)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    down = np.column_stack([at[:-1].ravel(), at[1:].ravel()])
    graph = LatentGraph.build(names(side * side), 0, np.vstack([across, down]))
    return DiscreteLaw.ising(graph, np.random.default_rng(0).uniform(0, 0.3, graph.n_edges))


def states(size: int, n_rows: int) -> Any:
    """(rows, size) binary values, five columns per hidden variable, so that many rows are equal."""
    rng = np.random.default_rng(0)
    hidden = np.repeat(rng.random((n_rows, size // 5)) < 0.5, 5, axis=1)
    return (hidden ^ (rng.random((n_rows, size)) < 0.1)).astype(np.int16)


# Cases -------------------------------------------------------------------------------------


def spanning_tree(size: int) -> Variant:
    from loopylatent.compute._kernels.graphs import spanning_lengths

    return partial(spanning_lengths, distances(size))


def initial_graph(size: int, share: float) -> Variant:
    from loopylatent import DistanceMatrix, initial_graph

    D = DistanceMatrix.from_array(distances(size))
    return partial(initial_graph, D, float(np.quantile(D.values, share)))


def exact_curve(size: int) -> Variant:
    from loopylatent import DistanceMatrix, edge_density

    return partial(edge_density, DistanceMatrix.from_array(distances(size)))


def near_pairs(size: int) -> Variant:
    from loopylatent import sparse_distances

    return partial(sparse_distances, topic_words(2 * size, size), 3.5)


def list_trees(size: int) -> Variant:
    from loopylatent import initial_graph, sparse_distances

    D = sparse_distances(topic_words(2 * size, size), 3.5)
    return partial(initial_graph, D, 3.0)


def whole_learner(size: int) -> Variant:
    import loopylatent as ll

    D = ll.DistanceMatrix.from_array(distances(size), n_samples=1000)
    return lambda: ll.learn(D).graph


def cycle_basis(size: int) -> Variant:
    from loopylatent.graph import minimum_cycle_basis

    graph = ising(size).graph
    return partial(minimum_cycle_basis, graph.n_nodes, graph.edges)


def resampled_distances(size: int) -> Variant:
    from loopylatent.analysis.stability.resampling import bootstrapped_rows

    draw = bootstrapped_rows(topic_table(20 * size, size), "correlation")
    return lambda: [draw(np.random.default_rng(k)).values for k in range(8)]


def topic_table(n_rows: int, n_columns: int) -> Any:
    from loopylatent import Observations

    return Observations.from_array(topic_words(n_rows, n_columns), on_degenerate="drop")


def support(size: int) -> Variant:
    """Find the parts of a ring again in a ring that lacks one column."""
    from loopylatent.analysis.stability.support import Reference, found_again
    from loopylatent.graph import LatentGraph

    graph = ring(size)
    other = LatentGraph.build(graph.names, graph.n_hidden, graph.edges[1:], graph.lengths[1:])
    reference = Reference.of(graph)

    def once() -> object:
        found = found_again(reference, LatentGraph.build(other.names, other.n_hidden, other.edges))
        return found.edges, found.hidden, found.cycles, found.agreement

    return once


def lazy_distances(size: int, each: int = 5, asked: int = 20) -> Variant:
    from loopylatent import sparse_distances
    from loopylatent.learning.node_distances import LazyNodeDistances

    lists, paths = sparse_distances(topic_words(2 * size, size), 3.5), np.full((1, each + 1), 0.5)
    created = np.arange(size, size + size // each)

    def once() -> object:
        known = LazyNodeDistances(lists)
        for k in range(len(created)):
            known.place(np.arange(k * each, (k + 1) * each), created[k : k + 1], paths)
        return [known.between(created[k : k + asked]) for k in range(0, len(created), asked)]

    return once


def pair_table(size: int) -> Variant:
    from loopylatent.learning.node_distances import PairTable

    rng = np.random.default_rng(0)
    low = rng.integers(0, size, size)
    high = low + rng.integers(1, size, size)

    def once() -> object:
        table = PairTable()
        table.put((high << 31) | low, np.arange(size, dtype=np.float64))
        return [table.get(int(u), int(v)) for u, v in zip(low[:50], high[:50], strict=True)]

    return once


def local_tree(values: Any, method: Any) -> Variant:
    """Group one neighbourhood of columns."""
    from loopylatent.compute import _kernels
    from loopylatent.learning.grouping import grouping_rules
    from loopylatent.settings import LearnSettings, Thresholds

    rules = grouping_rules(LearnSettings(Thresholds(9.0, 0.02, 0.1), method), 1000)
    columns, gaps, hidden = (
        np.arange(len(values)),
        np.zeros(len(values)),
        np.zeros(len(values), bool),
    )

    def once() -> object:
        rng = np.random.default_rng(0)
        tree = _kernels.grouping.group(values, columns, gaps, rules, True, rng)
        return _kernels.grouping.contract(tree, hidden, rules.shortest_edge)

    return once


def grouping(size: int, method: Any) -> Variant:
    return local_tree(distances(size), method)


def elimination(size: int) -> Variant:
    from loopylatent.inference.circuit import eliminate

    return partial(eliminate, ising(size).graph)


def propagation(size: int) -> Variant:
    from loopylatent.inference.belief_propagation import Propagation

    law = ising(size)
    return partial(Propagation(law.layout, law.elimination).evaluate, law.cells)


def gibbs(size: int, sweeps: int = 20) -> Variant:
    from loopylatent.synthetic.discrete import gibbs

    law = ising(size)
    return lambda: gibbs(law, 80, np.random.default_rng(0), burn_in=sweeps, thinning=1).states


def junction_tree(size: int, what: str) -> Variant:
    """Likelihoods of all rows, or sum and gradient of a recorded circuit, on a ring."""
    from loopylatent.inference.evidence import Rows
    from loopylatent.inference.exact import ExactRows
    from loopylatent.inference.parameters import Layout

    layout = Layout(ring(size), np.full(size + size // 10, 2))
    tables = np.random.default_rng(1).normal(scale=0.3, size=layout.n_cells)
    found = ExactRows.of(layout, Rows.of(states(size, 5 * size)))
    return partial(getattr(found, what), tables)


def trial(size: int) -> Variant:
    """Five steps of a fit on a ring."""
    from loopylatent.inference.discrete import DiscreteProblem, Method
    from loopylatent.inference.evidence import Rows
    from loopylatent.inference.parameters import Layout
    from loopylatent.inference.trials import Effort, climb

    layout = Layout(ring(size), np.full(size + size // 10, 2))
    problem = DiscreteProblem(layout, Rows.of(states(size, 5 * size)), Method.choose(layout))
    start = np.full(layout.n_parameters, 0.1)
    return lambda: climb(problem, start, Effort(5)).point


def partition(size: int) -> Variant:
    from loopylatent.inference.exact import ExactPartition

    law = ising(size)
    return partial(ExactPartition(law.layout, law.elimination).evaluate, law.cells)


def equal_rows(size: int) -> Variant:
    from loopylatent.inference.evidence import Rows

    rows = Rows.of(states(20, size))
    return partial(rows.pattern_of_rows, tuple(range(20)))


def missing_values(size: int) -> Variant:
    from loopylatent.inference.gaussian import GaussianProblem, GaussianRows

    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5 * size, size))
    scores[rng.random(scores.shape) < 0.05] = np.nan
    graph = ring(size)
    point = np.concatenate([np.zeros(size), np.full(graph.n_edges, 0.15), np.zeros(size)])
    problem = GaussianProblem(graph, GaussianRows(scores, np.ones(len(scores))))
    return partial(problem.evaluate, point)


def layout(size: int) -> Variant:
    from loopylatent.figures.layout import positions

    return partial(positions, ring(size))


@dataclass(frozen=True, slots=True)
class Case:
    """A task, the modules of ``_kernels`` that it uses, and its two sizes."""

    name: str
    kernels: tuple[str, ...]
    prepare: Callable[[int], Variant]
    unit: str
    small: int
    large: int


CASES = (
    Case("spanning tree of all columns", ("graphs",), spanning_tree, "columns", 100, 1_000),
    Case("initial graph, balls of a tenth of the columns", ("initial",),
         partial(initial_graph, share=0.1), "columns", 100, 1_000),
    Case("initial graph, balls of half of the columns", ("initial",),
         partial(initial_graph, share=0.5), "columns", 50, 1_000),
    Case("initial graph, all columns in every ball", ("graphs",),
         partial(initial_graph, share=1.0), "columns", 50, 1_000),
    Case("exact curve", ("initial",), exact_curve, "columns", 40, 500),
    Case("near pairs of sparse columns", ("columns",), near_pairs, "columns", 200, 5_000),
    Case("initial graph from lists of neighbours", ("graphs",), list_trees,
         "columns", 200, 5_000),
    Case("minimum cycle basis, a grid", ("cycles",), cycle_basis, "nodes", 36, 144),
    Case("distances of a resample, sparse binary", ("columns", "draws"), resampled_distances,
         "columns", 20, 100),
    Case("parts found again in another graph, a ring", ("support", "cycles"), support,
         "columns", 50, 300),
    Case("the same, computed on demand", ("graphs", "columns"),
         lazy_distances, "columns", 200, 2_000),
    Case("table of pairs", ("graphs",), pair_table, "pairs", 5_000, 200_000),
    Case("the whole learner", ("learner", "grouping"), whole_learner, "columns", 40, 300),
    Case("quartet tests", ("grouping",), partial(grouping, method="quartet"), "nodes", 30, 150),
    Case("relaxed grouping", ("grouping",), partial(grouping, method="relaxed"),
         "nodes", 30, 200),
    Case("neighbor joining", ("grouping",), partial(grouping, method="nj"),
         "nodes", 40, 300),
    Case("elimination order, a grid", ("pairwise",), elimination, "nodes", 49, 400),
    Case("junction tree, a ring: likelihoods of rows", ("circuit", "pairwise"),
         partial(junction_tree, what="row_values"), "columns", 50, 300),
    Case("junction tree, a ring: sum and gradient", ("circuit",),
         partial(junction_tree, what="evaluate"), "columns", 50, 300),
    Case("junction tree, a grid: log Z and marginals", ("circuit",), partition,
         "nodes", 25, 144),
    Case("five steps of a fit, a ring", ("climb", "products"), trial, "columns", 30, 300),
    Case("equal rows", ("pairwise",), equal_rows, "rows", 2_000, 100_000),
    Case("belief propagation, a grid", ("pairwise",), propagation, "nodes", 49, 400),
    Case("Gibbs sampling, a grid", ("pairwise",), gibbs, "nodes", 49, 900),
    Case("Gaussian rows with missing values: value and gradient", ("columns",), missing_values,
         "columns", 30, 100),
    Case("layout of a graph", ("graphs",), layout, "columns", 50, 300),
)  # fmt: skip
