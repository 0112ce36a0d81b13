"""Where a fit begins: exact on trees, and what a changed graph keeps."""

from __future__ import annotations

from itertools import combinations, pairwise

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import pair_strength, signs_towards_columns
from loopylatent.inference.gaussian import (
    EdgeParts,
    GaussianProblem,
    GaussianRows,
    assembled,
    start_correlations,
)
from loopylatent.inference.optimise import Anchors, DiscreteStart
from loopylatent.inference.problems import Fitted, family_of
from loopylatent.settings import FitSettings
from loopylatent.synthetic.families import latent_tree
from loopylatent.tables.observations import Observations

TRIANGLE = LatentGraph.build(list("abc"), 0, [(0, 1), (0, 2), (1, 2)])
COMPLETE = LatentGraph.build(list("abcd"), 0, list(combinations(range(4), 2)))
PATH = LatentGraph.build(list("abc"), 0, [(0, 1), (1, 2)])
CUT = LatentGraph.build(list("abc"), 0, [(0, 1)])
CHAIN = LatentGraph.build(list("abcd"), 2, [(0, 4), (1, 4), (4, 5), (2, 5), (3, 5)], [0.5] * 5)
"""Two hidden nodes, joined, with two columns each."""


def random_tree(rng: np.random.Generator, n_nodes: int) -> LatentGraph:
    edges = [(int(rng.integers(v)), v) for v in range(1, n_nodes)]
    return LatentGraph.build([f"x{k}" for k in range(n_nodes)], 0, edges)


# Gaussian models ---------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
def test_on_a_tree_correlations_multiply_and_variances_are_kept(seed, n_nodes):
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, n_nodes)
    variance, correlation = rng.uniform(0.3, 3.0, n_nodes), rng.uniform(-0.9, 0.9, n_nodes - 1)
    parts = EdgeParts.of(tree, variance, correlation)
    found = np.linalg.inv(assembled(tree, 1 / variance, parts))
    of_edge = {tuple(edge): rho for edge, rho in zip(tree.edges.tolist(), correlation, strict=True)}
    ways = dict(nx.all_pairs_shortest_path(nx.Graph(list(of_edge))))
    for u in range(n_nodes):
        for v in range(n_nodes):
            way = ways[u][v]
            rho = np.prod([of_edge[min(e), max(e)] for e in pairwise(way)])
            assert found[u, v] == pytest.approx(rho * np.sqrt(variance[u] * variance[v]), rel=1e-6)


@pytest.mark.parametrize("own", [1.0, 0.3])
def test_strong_edges_of_cycles_are_weakened_together_and_no_more_than_needed(own):
    parts = EdgeParts.of(COMPLETE, np.full(4, 1 / own), np.full(6, 0.8))

    def weakened(shrink: float) -> np.ndarray:
        matrix = np.diag(np.full(4, own))
        for k, (u, v) in enumerate(COMPLETE.edges.tolist()):
            matrix[u, u] += shrink**2 * parts.first[k]
            matrix[v, v] += shrink**2 * parts.second[k]
            matrix[u, v] = matrix[v, u] = shrink * parts.between[k]
        return matrix

    tried = [weakened(0.9**k) for k in range(60)]
    expected = next(matrix for matrix in tried if np.linalg.eigvalsh(matrix)[0] > 1e-3)
    assert expected is not tried[0]
    np.testing.assert_allclose(assembled(COMPLETE, np.full(4, own), parts), expected)


def test_correlations_are_those_of_the_rows_with_both_columns():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(40, 3)) + 0.5
    scores[rng.random(scores.shape) < 0.2] = np.nan
    weights = rng.integers(1, 5, 40)
    found = GaussianRows(scores, weights.astype(float)).correlations
    for i in range(3):
        for j in range(3):
            both = np.repeat(scores, weights, axis=0)[:, [i, j]]
            both = both[~np.isnan(both).any(axis=1)]
            assert found[i, j] == pytest.approx(np.corrcoef(both.T)[0, 1])


def test_an_edge_starts_with_the_sign_of_the_columns_that_represent_its_ends():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(200, 1))
    rows = GaussianRows(hidden * [1, 1, -1, -1] + 0.5 * rng.normal(size=(200, 4)), np.ones(200))
    column = np.array([0, 1, 2, 3, 0, 3])
    for sign in (1.0, -1.0):
        anchors = Anchors(column, np.array([1, 1, 1, 1, 1, sign]))
        found = dict(
            zip(map(tuple, CHAIN.edges.tolist()), start_correlations(CHAIN, rows, anchors),
                strict=True)
        )  # fmt: skip
        assert found[0, 4] == found[1, 4] == pytest.approx(np.exp(-0.5))
        assert found[2, 5] == found[3, 5] == pytest.approx(sign * np.exp(-0.5))
        assert found[4, 5] == pytest.approx(-sign * np.exp(-0.5))


def gaussian_family(n_columns: int):
    values = np.random.default_rng(1).normal(size=(50, n_columns)) @ np.triu(
        np.ones((n_columns, n_columns))
    )
    obs = Observations.from_array(values, list("abcd")[:n_columns])
    return family_of(obs, obs.names, FitSettings())


def test_a_removed_edge_leaves_the_variances_of_its_ends():
    family = gaussian_family(3)
    before, after = family.problem(PATH), family.problem(CUT)
    point = np.array([0.4, -0.3, 0.2, 0.5, -0.6])
    covariance = np.linalg.inv(before.precision(point))
    moved = family.continued(Fitted(before, point, 0.0), after, np.arange(3))
    expected = covariance.copy()
    expected[2, :2] = expected[:2, 2] = 0.0
    np.testing.assert_allclose(np.linalg.inv(after.precision(moved)), expected, atol=1e-9)


def test_without_hidden_nodes_there_is_nothing_to_shake():
    family = gaussian_family(3)
    problem = family.problem(TRIANGLE)
    start = family.start(problem)
    perturbed = family.perturbed(problem, start, np.random.default_rng(0))
    np.testing.assert_allclose(perturbed, start)


def test_a_gaussian_problem_has_a_parameter_for_each_node_and_edge():
    assert GaussianProblem(CHAIN, GaussianRows(np.zeros((2, 4)), np.ones(2))).df == 6 + 5


# Discrete models ---------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["discrete", "gaussian"])
def test_a_start_on_the_same_graph_is_the_same_model(kind):
    if kind == "gaussian":
        family, graph = gaussian_family(4), CHAIN
    else:
        truth = latent_tree(n_hidden=2, n_observed_inner=0, leaves=2, seed=1)
        obs, graph = truth.sample(300), truth.graph
        family = family_of(obs, obs.names, FitSettings())
    problem = family.problem(graph)
    start = family.start(problem)
    point = start + np.random.default_rng(0).normal(scale=0.05, size=len(start))
    value = problem.evaluate(point).value
    order = np.arange(graph.n_nodes)
    order[-2:] = order[-2:][::-1]  # the hidden nodes change their numbers
    other = LatentGraph.build(graph.names, 2, order[graph.edges], graph.lengths)
    for new, origin in ((graph, np.arange(graph.n_nodes)), (other, order)):
        again = family.problem(new)
        moved = family.continued(Fitted(problem, point, value), again, origin)
        assert again.evaluate(moved).value == pytest.approx(value, rel=1e-9)


def test_a_removed_edge_leaves_the_shares_of_its_ends():
    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(size=(80, 3)), axis=1) > 0.3
    obs = Observations.from_array(values.astype(int), list("abc"))
    family = family_of(obs, obs.names, FitSettings())
    before, after = family.problem(PATH), family.problem(CUT)
    point = np.array([0.4, -0.3, 0.2, 0.5, -0.6])
    moved = family.continued(Fitted(before, point, 0.0), after, np.arange(3))
    one, two = before.marginals(point), after.marginals(moved)
    for node in range(3):
        np.testing.assert_allclose(
            after.layout.node_table(two, node), before.layout.node_table(one, node), atol=1e-7
        )
    np.testing.assert_allclose(
        after.layout.edge_table(two, 0), before.layout.edge_table(one, 0), atol=1e-7
    )


def test_with_three_states_an_edge_starts_with_the_root_of_its_strength():
    """A determinant metric multiplies two contrasts; each of them starts with its share."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, 900)
    columns = [np.where(rng.random(900) < 0.8, hidden, rng.integers(0, 3, 900)) for _ in range(3)]
    frame = pd.DataFrame(np.array(list("xyz"))[np.column_stack(columns)], columns=list("abc"))
    star = LatentGraph.build(list("abc"), 1, [(0, 3), (1, 3), (2, 3)], [1.0, 0.8, 1.2])
    obs = Observations.from_frame(frame)
    family = family_of(obs, obs.names, FitSettings())
    start = DiscreteStart.of(family.problem(star).layout, family.rows)
    for edge, (u, v) in enumerate(star.edges.tolist()):
        table = np.exp(start.edge_table(edge, start.shares))
        joint = table * np.outer(start.shares[u], start.shares[v])
        assert pair_strength(joint) == pytest.approx(np.exp(-star.lengths[edge] / 2), rel=1e-6)


@pytest.mark.parametrize("state", [0, 1, 2])
def test_a_hidden_node_with_two_states_follows_what_its_column_shares_with_others(state):
    """Only whether ``a`` is in this state bears on the other columns."""
    rng = np.random.default_rng(0)
    a = rng.choice(3, 2000, p=[0.25, 0.35, 0.4])
    on = a == state
    b, c = (np.where(rng.random(2000) < 0.9, on, ~on) for _ in range(2))
    frame = pd.DataFrame({"a": np.array(list("xyz"))[a], "b": b, "c": c})
    star = LatentGraph.build(list("abc"), 1, [(0, 3), (1, 3), (2, 3)], [0.1, 0.5, 0.5])
    obs = Observations.from_frame(frame)
    family = family_of(obs, obs.names, FitSettings())
    shares = DiscreteStart.of(family.problem(star).layout, family.rows).shares
    assert sorted(shares[3]) == pytest.approx([on.mean(), 1 - on.mean()], abs=1e-3)


def test_signs_follow_the_shortest_way_to_a_column():
    edges = [(0, 3), (3, 4), (4, 5), (1, 5), (2, 3), (2, 4)]
    graph = LatentGraph.build(list("abc"), 3, edges, [0.1, 0.2, 0.3, 2.0, 3.0, 3.0])
    strength = {(0, 3): -0.5, (3, 4): 0.5, (4, 5): -0.5, (1, 5): -0.5, (2, 3): 0.5, (2, 4): 0.5}
    given_strengths = np.array([strength[tuple(edge)] for edge in graph.edges.tolist()])
    found = signs_towards_columns(graph, given_strengths)
    assert found.tolist() == [1.0, 1.0, 1.0, -1.0, -1.0, 1.0]
