"""Neighbor joining: against a brute-force version, on exact trees, and in the learner."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import cubic_graph
from helpers.local_trees import Neighbourhood, group
from helpers.strategies import distance_matrices
from hypothesis import given, strategies as st

import loopylatent as ll
from loopylatent import synthetic
from loopylatent.analysis.structure_error import structure_error
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.learning.grouping import criterion
from loopylatent.learning.learner import learn
from loopylatent.learning.trace import VisitStep, replay
from loopylatent.settings import LearnSettings, Thresholds


def settings(r: float, tau: float = 0.0) -> LearnSettings:
    return LearnSettings(Thresholds(r, 0.0, tau), "nj")


def local_tree(d, tau=0.0):
    m = len(d)
    ids = tuple(range(m))
    at = Neighbourhood(ids, (False,) * m, ids, np.asarray(d, float), None, np.random.default_rng(0))
    return group(at, settings(9.0, tau))


def random_distances(seed: int, m: int) -> np.ndarray:
    d = np.triu(np.random.default_rng(seed).uniform(0.1, 2.0, (m, m)), 1)
    return d + d.T


def brute_force(d):
    """Neighbor joining as it is written down, on dictionaries of pairs."""
    m = len(d)
    apart = {frozenset(p): float(d[p]) for p in itertools.combinations(range(m), 2)}
    active, joins = list(range(m)), []
    while len(active) > 2:
        total = {x: math.fsum(apart[frozenset((x, y))] for y in active if y != x) for x in active}
        a = len(active)
        q = {
            (i, j): (a - 2) * apart[frozenset((i, j))] - total[i] - total[j]
            for i, j in itertools.combinations(active, 2)
        }
        least = min(q.values())
        equal = [pair for pair in q if math.isclose(q[pair], least, rel_tol=1e-9)]
        i, j = min(equal, key=lambda pair: (apart[frozenset(pair)], pair))
        between = apart[frozenset((i, j))]
        to_i = between / 2 + (total[i] - total[j]) / (2 * (a - 2))
        h = m + len(joins)
        joins.append((i, j, q[i, j], to_i, between - to_i))
        active = [x for x in active if x not in (i, j)]
        for x in active:
            left, right = apart[frozenset((i, x))], apart[frozenset((j, x))]
            apart[frozenset((h, x))] = (left + right - between) / 2
        active.append(h)
    return joins, apart[frozenset(active)]


@given(st.integers(0, 10**6), st.integers(3, 12))
def test_joins_are_those_of_the_brute_force(seed, m):
    d = random_distances(seed, m)
    joins, last = brute_force(d)
    tree = local_tree(d)
    assert [(j.left, j.right) for j in tree.joins] == [join[:2] for join in joins]
    assert [j.q for j in tree.joins] == pytest.approx([join[2] for join in joins])
    for join, (*_, to_i, to_j) in zip(tree.joins, joins, strict=True):
        within = max(to_i + to_j, 0.0)
        assert join.left_length == pytest.approx(min(max(to_i, 0.0), within))
        assert join.left_length + join.right_length == pytest.approx(within)
    assert tree.rest[0].length == pytest.approx(max(last, 0.0))


@given(st.integers(0, 10**6), st.integers(3, 10))
def test_the_smallest_Q_of_every_step_is_that_of_the_join(seed, m):
    d = random_distances(seed, m)
    tree = local_tree(d)
    for done, join in enumerate(tree.joins):
        found = criterion(d, done)
        assert len(found.nodes) == m - done
        assert np.nanmin(found.q) == pytest.approx(join.q)
        at = [found.nodes.index(node) for node in (join.left, join.right)]
        assert found.q[at[0], at[1]] == pytest.approx(join.q)
        assert found.distances == pytest.approx(found.distances.T)


@pytest.mark.parametrize("seed", range(40))
def test_path_lengths_of_an_additive_neighbourhood_are_its_distances(seed):
    model = synthetic.latent_tree(1 + seed % 7, seed % 3, leaves=3, seed=seed)
    d = model.distances().values
    tree = local_tree(d)
    graph = nx.Graph()
    graph.add_weighted_edges_from((edge.u, edge.v, edge.length) for edge in tree.edges)
    assert nx.is_tree(graph)
    paths = dict(nx.all_pairs_dijkstra_path_length(graph))
    m = len(d)
    assert np.allclose([[paths[i][j] for j in range(m)] for i in range(m)], d)


@pytest.mark.parametrize("seed", range(60))
def test_exact_latent_trees_are_recovered(seed):
    rng = np.random.default_rng(seed)
    inner = int(rng.integers(2, 13))
    hidden = int(rng.integers(1, inner))
    model = synthetic.latent_tree(hidden, inner - hidden, seed=seed)
    D = model.distances()
    graph = learn(D, settings(D.r_max, tau=0.05)).graph
    error = structure_error(graph, model.graph)
    assert (error.value, error.is_exact) == (0, True)
    assert np.allclose(np.sort(graph.lengths), np.sort(model.graph.lengths))


@pytest.mark.parametrize("girth", [6, 8, 12])
def test_exact_loops_are_recovered(girth):
    ring = synthetic.latent_cycle(girth + 4, 2, lengths=(0.2, 0.4), seed=girth)
    cage = synthetic.from_skeleton(cubic_graph(girth), 2, lengths=(0.3, 0.36), seed=girth)
    for model in (ring, cage):
        found = learn(model.distances(), settings(3.1 * model.graph.lengths.max(), 0.05)).graph
        assert structure_error(found, model.graph).value == 0


def test_three_nodes_make_a_star_and_tau_contracts_it():
    d = np.array([[0, 1.0, 1.2], [1.0, 0, 1.4], [1.2, 1.4, 0]])
    star = local_tree(d)
    assert [edge.length for edge in star.edges] == pytest.approx([0.4, 0.6, 0.8])
    assert len(local_tree(d, tau=0.5).edges) == 2


def test_negative_lengths_are_cut_off_at_0():
    d = np.array([[0, 1.0, 3.0, 3.0], [1.0, 0, 0.5, 0.5], [3, 0.5, 0, 1.0], [3, 0.5, 1.0, 0]])
    joins, _ = brute_force(d)
    assert min(length for join in joins for length in join[3:]) < 0
    assert min(edge.length for edge in local_tree(d).edges) >= 0


def test_equal_distances_give_one_hidden_node_after_contraction():
    tree = local_tree(np.ones((6, 6)) - np.eye(6), tau=0.1)
    assert len(tree.edges) == 6
    assert {edge.v for edge in tree.edges} == {6}


def test_infinite_distances_are_bridged_by_paths():
    lengths = np.array([0.5, 0.6, 0.7, 0.8])
    d = lengths[:, None] + lengths
    np.fill_diagonal(d, 0.0)
    d[0, 1] = d[1, 0] = np.inf
    tree = local_tree(d)
    assert nx.is_tree(nx.Graph((edge.u, edge.v) for edge in tree.edges))
    assert all(np.isfinite(edge.length) for edge in tree.edges)
    assert all({join.left, join.right} != {0, 1} for join in tree.joins)


@given(distance_matrices(), st.floats(0.1, 1.0), st.floats(0.0, 0.4))
def test_any_distances_give_a_proper_graph_that_the_trace_builds_again(D, share, tau):
    finite = D.values[np.isfinite(D.values) & (D.values > 0)]
    r = max(float(np.quantile(finite, share)), D.smallest)
    result = learn(D, settings(r, tau))
    assert replay(result.trace) == result.graph
    assert (result.graph.degrees[result.graph.n_observed :] >= 3).all()
    for step in result.trace:
        if isinstance(step, VisitStep):
            assert len(step.joins) == len(step.neighbourhood) - 2
            assert not step.surrogates


@given(distance_matrices(ties=False, infinities=False), st.integers(0, 10**6))
def test_renamed_columns_give_the_renamed_graph(D, seed):
    order = np.random.default_rng(seed).permutation(D.n_columns)
    names = [D.names[k] for k in order]
    other = DistanceMatrix.from_array(D.values[order[:, None], order], names, D.n_samples)
    graph, renamed = (learn(one, settings(D.r_max, 0.05)).graph for one in (D, other))
    assert structure_error(graph, renamed).lower == 0
    assert graph.n_hidden == renamed.n_hidden


def test_eight_threads_learn_the_same_graph_whatever_Lambda_and_the_seed():
    D = ll.information_distances(ll.load_sample("bfi25").observations)
    expected = ll.learn(D, r=2.0, tau=0.1, method="nj").graph

    def again(k: int):
        return ll.learn(D, r=2.0, tau=0.1, Lambda=k / 10, seed=k, method="nj").graph

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(again, range(8))) == {expected}


def test_hidden_nodes_can_be_penalised():
    obs = synthetic.latent_tree(2, 0, leaves=4, seed=3).sample(1500, seed=3)
    D = ll.information_distances(obs)
    found = ll.learn(D, r=D.r_max, method="nj", obs=obs, regularize="bic")
    assert found.graph.n_hidden == 2
    assert len(found.bic_by_tau) == 3
    assert replay(found.trace) == found.graph
