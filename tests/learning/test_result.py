"""What a result says of its run: visits, capped and stuck ones, no short edge left behind."""

from __future__ import annotations

import numpy as np
import pytest

import loopylatent as ll
from loopylatent.learning.trace import VisitStep


@pytest.fixture(scope="module")
def D() -> ll.DistanceMatrix:
    return ll.information_distances(ll.load_sample("bfi25").observations)


@pytest.mark.parametrize("method", ["quartet", "relaxed", "nj"])
def test_counts_are_those_of_the_trace(D, method):
    result = ll.learn(D, method=method)
    visits = [step for step in result.trace if isinstance(step, VisitStep)]
    assert result.n_visits == len(visits) > 0
    assert result.n_stuck == sum(step.stuck for step in visits)
    assert result.n_capped == sum(step.capped for step in visits)


def test_without_a_trace_the_counts_are_the_same(D):
    whole, bare = ll.learn(D), ll.learn(D, trace=False)
    assert (bare.n_visits, bare.n_stuck, bare.n_capped) == (
        whole.n_visits,
        whole.n_stuck,
        whole.n_capped,
    )


def test_a_capped_visit_is_counted():
    near = np.full((200, 200), 1.0)
    near[0, 1:] = near[1:, 0] = 0.5
    near += 1e-3 * np.abs(np.subtract.outer(np.arange(200), np.arange(200)))
    np.fill_diagonal(near, 0.0)
    star = ll.DistanceMatrix.from_array(near, n_samples=100)
    result = ll.learn(star, Lambda=0.2, tau=0.01)
    assert result.n_capped == sum(
        step.capped for step in result.trace if isinstance(step, VisitStep)
    )
    assert result.n_capped > 0


@pytest.mark.parametrize("r", [1.5, 2.0, 2.5])
def test_relaxed_grouping_leaves_no_short_edge_at_a_hidden_node(D, r):
    result = ll.learn(D, r=r, method="relaxed")
    graph = result.graph
    at_hidden = (graph.edges >= graph.n_observed).any(axis=1)
    assert (graph.lengths[at_hidden] >= result.settings.shortest_edge).all()
