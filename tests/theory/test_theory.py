"""Each formula against a hand-computed case, its limits, and its monotonicity."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, permutations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.settings import Thresholds
from loopylatent.synthetic.families import from_skeleton, latent_cycle, latent_tree
from loopylatent.theory.assumptions import conditions, depth, ensemble_of
from loopylatent.theory.ensemble import (
    Ensemble,
    failure_bound,
    necessary_samples,
    pair_distance,
    sampled_depth,
    sampled_growth,
)

HAND = Ensemble(
    theta_min=math.atanh(math.exp(-2)),
    theta_max=math.atanh(math.exp(-1)),
    degree_min=3,
    degree_max=3,
    girth=80,
    depth=2,
    n_observed=100,
    n_nodes=150,
)
"""Edges of lengths 1 to 2: d_min = 1, d_max = 2, eta = 2, alpha = 3/e, easy by hand."""

potentials = st.floats(0.02, 0.95)
fields = st.floats(0.0, 2.0)


def test_distances_of_the_hand_case():
    assert HAND.d_min == pytest.approx(1)
    assert HAND.d_max == pytest.approx(2)
    assert HAND.eta == pytest.approx(2)
    assert HAND.alpha == pytest.approx(3 / math.e)
    assert HAND.critical_potential == pytest.approx(0.5 * math.log(2))


def test_intervals_and_thresholds_of_the_hand_case():
    # depth (eta + 1) d_max = 2 * 3 * 2, girth / 4 * d_min = 20
    assert (HAND.radius.low, HAND.radius.high) == pytest.approx((12, 20))
    assert 15 in HAND.radius
    assert 12 not in HAND.radius
    assert HAND.slack == pytest.approx(20 - 2 * 2 * 3)
    assert HAND.margin(15) == pytest.approx(math.exp(-17))
    decay = replace(HAND, degree_max=3, theta_max=math.atanh(0.2), theta_min=math.atanh(0.2))
    assert decay.zeta(3) == pytest.approx(0.6**3)
    assert decay.shortest_edge == pytest.approx(math.log(5) / 2 - 4 * 0.6**39)


def test_theorem_2_of_a_tree_by_hand():
    tree = replace(HAND, girth=math.inf, theta_max=HAND.theta_min, degree_max=3)
    # d_min = d_max = 2, eta = 1: r > 2 * 2 * 2 = 8; no distortion by cycles
    assert tree.radius.low == pytest.approx(8)
    r = 8.5
    upsilon = min(2, 0.5 * math.exp(-r) * (math.e**2 - 1), math.exp(-(r / 2 + 2)), 0.5)
    assert tree.upsilon(r) == pytest.approx(upsilon)
    expected = 8 / upsilon**2 * (4 * math.log(100) + 2 * math.log(2) - math.log(0.05 / 7))
    assert tree.samples(r) == pytest.approx(expected)
    assert tree.samples(8) == tree.samples(7) == math.inf


def test_theorem_1_by_hand():
    one = replace(HAND, theta_min=0.1, theta_max=0.1, depth=1)
    assert one.growth == pytest.approx(0.1**-4 * math.log(100))
    assert replace(one, depth=2).growth == pytest.approx(0.1**-6 * math.log(100))


@given(potentials, fields)
def test_the_pair_distance_is_that_of_the_two_by_two_table(theta, field):
    table = np.array(
        [[math.exp(theta * x * y + field * (x + y)) for y in (1, -1)] for x in (1, -1)]
    )
    table /= table.sum()
    marginal = table.sum(axis=1)
    expected = abs(np.linalg.det(table)) / (marginal[0] * marginal[1])
    assert pair_distance(theta, field) == pytest.approx(-math.log(expected), rel=1e-6, abs=1e-9)


@given(potentials, potentials, st.integers(3, 6), st.integers(6, 200), st.integers(1, 4))
def test_directions(first, second, degree, girth, deep):
    low, high = sorted((first, second))
    e = Ensemble(low, high, 3, degree, girth, deep, 50, 80)
    assert e.eta >= 1
    assert replace(e, degree_max=degree + 1).alpha > e.alpha
    assert replace(e, girth=girth + 1).radius.high > e.radius.high
    assert replace(e, depth=deep + 1).radius.low > e.radius.low
    assert replace(e, depth=deep + 1).growth >= e.growth
    assert replace(e, n_observed=60).growth >= e.growth
    r = e.best_radius
    assert replace(e, n_observed=60).samples(r) >= e.samples(r)
    assert e.samples(r, kappa=0.01) >= e.samples(r, kappa=0.1)
    assert e.margin(r) >= e.margin(r + 1)
    assert 1 > e.margin(0.1) > e.margin(0.2)
    assert (e.slack > 0) == (not e.radius.is_empty) or abs(e.slack) < 1e-9


@given(st.floats(0.05, 0.2), st.integers(40, 400))
def test_the_best_radius_requires_the_fewest_rows(theta, girth):
    e = Ensemble(theta, theta, 3, 3, girth, 2, 50, 80)
    inside = e.radius
    if inside.is_empty:
        return
    tried = np.linspace(inside.low, inside.high, 1001)[1:-1]
    fewest = min(e.samples(float(r)) for r in tried)
    assert e.samples(e.best_radius) <= 1.1 * fewest


def brute_depth(graph: LatentGraph) -> float:
    """All fours of columns around each hidden node, on a tree."""
    net = graph.to_networkx()
    worst = 1.0
    for hidden in graph.hidden_nodes:
        rest = net.copy()
        rest.remove_node(hidden)
        part = {node: k for k, nodes in enumerate(nx.connected_components(rest)) for node in nodes}
        steps = nx.single_source_shortest_path_length(net, hidden)
        best = math.inf
        for four in combinations(range(graph.n_observed), 4):
            for a, b, c, d in permutations(four):
                if part[c] == part[d] and len({part[a], part[b], part[c]}) == 3:
                    best = min(best, max(steps[k] for k in four))
        worst = max(worst, best)
    return worst


@pytest.mark.parametrize("seed", range(6))
def test_the_depth_of_small_trees_is_that_of_all_fours(seed):
    graph = latent_tree(n_hidden=3, n_observed_inner=1, seed=seed).graph
    assert depth(graph) == brute_depth(graph)


def test_depths_of_known_graphs():
    assert depth(latent_cycle(girth=8, leaves=1).graph) == 3
    assert depth(latent_cycle(girth=8, leaves=2).graph) == 2
    assert depth(from_skeleton(nx.petersen_graph(), leaves=2).graph) == 2
    star = LatentGraph.build(list("abcd"), 1, [(k, 4) for k in range(4)])
    assert depth(star) == math.inf
    assert depth(LatentGraph.build(list("abc"), 0, [(0, 1), (1, 2)])) == 1


def test_the_numbers_of_a_model():
    model = latent_cycle(girth=10, leaves=2, potentials=(0.05, 0.2), seed=3)
    e = ensemble_of(model)
    assert (e.girth, e.depth, e.degree_min, e.degree_max) == (10, 2, 4, 4)
    assert (e.n_observed, e.n_nodes) == (20, 30)
    assert e.d_min == pytest.approx(model.graph.lengths.min())
    assert e.d_max == pytest.approx(model.graph.lengths.max())
    assert ensemble_of(latent_tree(seed=1)).girth == math.inf


def test_conditions_say_what_holds_and_what_fails():
    good = Ensemble(0.1, 0.1, 3, 3, 4000, 1, 50, 80)
    verdicts = [one.verdict for one in conditions(good)]
    assert "fails" not in verdicts
    bad = Ensemble(0.05, 0.9, 2, 4, 10, 2, 20, 30)
    by_name = {one.name: one for one in conditions(bad)}
    failing = {name for name, one in by_name.items() if one.verdict == "fails"}
    assert len(failing) == 6
    assert all(one.sentence.endswith(".") for one in by_name.values())
    outside = conditions(good, Thresholds(r=1.0, Lambda=0.0, tau=0.1))
    assert any(one.verdict == "fails" and "outside" in one.sentence for one in outside)


def test_lemma_1_by_hand():
    found = sampled_depth(1000, 0.5, 3, 4, girth=20, epsilon=0)
    assert found.depth == pytest.approx(math.log2(math.log(16_000) / math.log(2)))
    assert found.probability == 0
    large = sampled_depth(1000, 0.5, 3, 4, girth=20, epsilon=1)
    assert large.probability == pytest.approx(0.999)
    assert large.depth > found.depth
    with pytest.raises(ThresholdError, match="is not between"):
        sampled_depth(1000, 0.01, 3, 4, girth=6, epsilon=0.5)


@given(st.floats(0.05, 0.9), st.integers(3, 6))
def test_fewer_observed_nodes_lie_deeper_and_need_more_rows(share, degree):
    more = min(0.95, share * 1.05)
    deep = sampled_depth(10_000, share, degree, degree, girth=40).depth
    assert deep >= sampled_depth(10_000, more, degree, degree, girth=40).depth
    assert sampled_growth(100, share, degree, degree) >= sampled_growth(100, more, degree, degree)


def test_rows_under_uniform_sampling_by_hand():
    log = math.log(100)
    expected = 9 * (log / math.log(2)) ** (2 * math.log(3) / math.log(2)) * log
    assert sampled_growth(100, 0.5, 3, 3) == pytest.approx(expected)


def test_theorem_3_by_hand():
    m, p, g, low, high = 10_000, 500, 5, 3, 4
    log_graphs = 1.5 * m * (math.log(m) + math.log(m - 5 * 4**5)) - m * math.log(m)
    needed = necessary_samples(m, p, low, high, g)
    assert needed == pytest.approx(log_graphs / (p * math.log(2)))
    assert failure_bound(0, m, p, low, high, g) == 1
    assert failure_bound(needed + 1, m, p, low, high, g) == 0
    probabilities = [failure_bound(n, m, p, low, high, g) for n in np.linspace(0, 2 * needed, 50)]
    assert (np.diff(probabilities) <= 0).all()
    assert necessary_samples(m, p, low, high, g, epsilon=0.1) < needed
    with pytest.raises(ThresholdError, match="too few"):
        necessary_samples(100, 50, 3, 4, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"theta_min": 0.0}, {"theta_min": 0.5}, {"degree_min": 5}, {"girth": 2}, {"depth": 0},
        {"n_observed": 1}, {"n_observed": 500}, {"field_max": -1.0}, {"decay_constant": 0.0},
    ],
)  # fmt: skip
def test_numbers_outside_their_limits_raise(wrong):
    usual = replace(HAND, theta_min=0.1, theta_max=0.2, degree_max=4)
    with pytest.raises(ThresholdError):
        replace(usual, **wrong)
