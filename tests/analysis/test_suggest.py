"""Suggestions: at most three settings, each best by one criterion, with reason and cost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

import loopylatent as ll
from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.analysis.sweep.scores import Failed, PointScores
from loopylatent.analysis.sweep.suggest import beyond_noise, choose
from loopylatent.inference.scores import Scores
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.synthetic.families import latent_cycle

D = ll.DistanceMatrix.from_array([[0, 1, 9], [1, 0, 4], [9, 4, 0]], n_samples=1000)


def graph_number(k: int) -> ll.LatentGraph:
    """One of many different graphs."""
    return ll.LatentGraph.build("abc", 0, [(0, 1), (1, 2)], [1.0, 2.0 + k])


def point(r: float, k: int) -> SweepPoint:
    return SweepPoint(LearnSettings(Thresholds(r, 0.0, 0.1)), graph_number(k), 0, 0, 0, 0)


def scored(of: SweepPoint, bic: float, test: float) -> PointScores:
    scores = Scores(1.1, 1.1, 1.1, 1.1, 5, 10.0, test, test, bic, "exact", 0)
    return PointScores(of.settings, of.graph, scores, 20.0, converged=True, seconds=0.5)


numbers = st.lists(
    st.tuples(st.floats(-1e4, 0), st.floats(-1e4, 0)), min_size=1, max_size=12, unique=True
)


@given(numbers)
def test_each_is_best_by_its_criterion(values):
    points = [point(1 + k / 2, k) for k in range(len(values))]
    scores = [scored(p, *pair) for p, pair in zip(points, values, strict=True)]
    found = choose(D, points, scores)
    assert 1 <= len(found) <= 3
    assert found[0].thresholds.r == max(p.thresholds.r for p in points)
    titles = " / ".join(f"{one.title} {one.thresholds.r}" for one in found).lower()
    by_r = {one.settings.thresholds.r: one for one in scores}
    for wanted, measure in (("best bic", "bic_row"), ("best on held-out", "test_row")):
        assert titles.count(wanted) == 1
        named = next(one for one in found if wanted in one.title.lower())
        best = max(getattr(one, measure) for one in scores)
        assert getattr(by_r[named.thresholds.r], measure) == best


def test_one_graph_for_all_reasons_is_named_once():
    one = point(9.0, 0)
    (found,) = choose(D, [one], [scored(one, -1.0, -1.0)])
    assert found.title == "Tree for reference, and best BIC, and best on held-out rows"
    assert found.reason.count(".") >= 3


def test_without_scores_the_tree_is_left():
    points = [point(1, 0), point(9, 1)]
    failed = [Failed(p.settings, "mixed") for p in points]
    for scores in ([], [None, None], failed):
        (found,) = choose(D, points, scores)
        assert (found.name, found.thresholds.r, found.seconds) == ("tree", 9.0, None)
    assert choose(D, [], []) == ()


def test_scores_so_far_are_enough():
    points = [point(1, 0), point(2, 1), point(9, 2)]
    found = choose(D, points, [scored(points[1], -5.0, -5.0)])
    assert [one.thresholds.r for one in found] == [9.0, 2.0]


def test_the_cost_is_stated():
    one = point(9.0, 0)
    (found,) = choose(D, [one], [scored(one, -1.0, -1.0)])
    assert found.cost == "2 edges, 0 hidden, 0 cycles, fit 0.5 s"


def test_beyond_the_noise_floor_there_is_a_warning():
    floor = -math.log(2 / math.sqrt(1000))
    assert D.noise_floor == pytest.approx(floor)
    found = choose(D, [point(1, 0), point(9, 1)], [scored(point(1, 0), -1.0, -1.0)])
    warned = {one.thresholds.r: bool(one.warning) for one in found}
    assert warned == {9.0: True, 1.0: False}
    assert "1,000 rows" in found[0].warning
    assert beyond_noise(replace(D, noise_floor=None), 99.0) == ""


def test_loops_are_suggested_where_they_are_true():
    obs = latent_cycle(girth=8, seed=1).sample(3000, seed=1)
    distances = ll.information_distances(obs)
    found = ll.suggest(distances, obs, most=12)
    tree, *others = found
    assert (tree.n_cycles, tree.thresholds.r) == (0, distances.r_max)
    assert others
    assert all(one.n_cycles == 1 for one in others)
    for one in found:
        graph = ll.learn(distances, *vars_of(one.thresholds)).graph
        assert (graph.n_edges, graph.n_hidden) == (one.n_edges, one.n_hidden)


def vars_of(thresholds: Thresholds) -> tuple[float, float, float]:
    return thresholds.r, thresholds.Lambda, thresholds.tau


def test_the_best_bic_is_that_of_fits_made_one_by_one():
    obs = latent_cycle(girth=6, seed=2).sample(400, seed=2)
    distances = ll.information_distances(obs)
    order = np.random.default_rng(0).permutation(obs.n_rows)
    train = obs.take(np.sort(order[round(0.3 * obs.n_rows) :]))
    own = ll.information_distances(train)
    default = ll.default_thresholds(distances)
    bic = {}
    for one in ll.sweep(distances, most=6).points:
        r = one.thresholds.r
        graph = ll.learn(own, r, default.Lambda, default.tau).graph
        bic[r] = ll.fit_parameters(graph, train).train_bic
    found = next(one for one in ll.suggest(distances, obs, most=6) if "est BIC" in one.title)
    assert bic[found.thresholds.r] == pytest.approx(max(bic.values()), rel=1e-12)


def test_distances_alone_leave_the_tree():
    (found,) = ll.suggest(D)
    assert (found.name, found.thresholds.r) == ("tree", D.r_max)
