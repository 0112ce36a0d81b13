from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from loopylatent import synthetic
from loopylatent.analysis.matching import (
    columns_near_hidden,
    cycles_through,
    nearest_columns,
    neighbours_of,
    origin_of,
)
from loopylatent.figures.charts import distribution_figure, value_counts
from loopylatent.figures.overlays import difference, mark_changed_edges as mark_edges, mark_cycles
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import learn
from loopylatent.learning.trace import VisitStep
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.observations import Observations


@pytest.fixture(scope="module")
def learned():
    model = synthetic.latent_cycle(8, 2, seed=1)
    r = 3.1 * float(model.graph.lengths.max())
    return learn(model.distances(), LearnSettings(Thresholds(r, 0.0, 0.05)))


def test_neighbours_come_nearest_first_with_their_edge_lengths(learned):
    graph = learned.graph
    for node in range(graph.n_nodes):
        near = neighbours_of(graph, node)
        assert {one.node for one in near} == set(graph.neighbours(node))
        assert [one.distance for one in near] == sorted(one.distance for one in near)
        assert all(one.strength == pytest.approx(np.exp(-one.distance)) for one in near)


def test_columns_near_hidden_nodes_are_those_of_each_node(learned):
    graph = learned.graph
    assert columns_near_hidden(graph, most=4) == tuple(
        tuple(near.node for near in nearest_columns(graph, node, most=4))
        for node in graph.hidden_nodes
    )
    apart = LatentGraph.build("abcd", 1, [(0, 4), (1, 4), (2, 4)], [3.0, 1.0, 2.0])
    assert columns_near_hidden(apart) == ((1, 2, 0),), "d is not reached"
    assert columns_near_hidden(LatentGraph.build("ab", 0, [(0, 1)])) == ()


def test_nearest_columns_follow_path_lengths_and_leave_the_node_itself_out(learned):
    graph = learned.graph
    hidden = graph.n_observed
    lengths = graph.path_lengths([hidden])[0, : graph.n_observed]
    near = nearest_columns(graph, hidden, most=4)
    assert [one.distance for one in near] == pytest.approx(sorted(lengths)[:4])
    assert 0 not in {one.node for one in nearest_columns(graph, 0, most=99)}


def test_every_hidden_node_has_a_birth_at_the_visit_that_joined_it(learned):
    for node in learned.graph.hidden_nodes:
        origin = origin_of(learned, node)
        step = learned.trace[origin.step]
        assert isinstance(step, VisitStep)
        assert step.node == origin.visited
        working = learned.trace[-1].hidden_ids[node - learned.graph.n_observed]
        assert working in {join.hidden for join in step.joins}
    assert origin_of(learned, 0) is None


def test_cycles_through_a_node_of_the_ring_and_none_through_a_leaf(learned):
    assert len(cycles_through(learned.graph, learned.graph.n_observed)) == 1
    assert cycles_through(learned.graph, 0) == ()


def test_difference_marks_every_edge_as_gone_kept_or_new(learned):
    both = difference(learned.initial_graph, learned.graph)
    before = {tuple(edge) for edge in learned.initial_graph.edges.tolist()}
    after = {tuple(edge) for edge in learned.graph.edges.tolist()}
    for edge, status in zip(map(tuple, both.graph.edges.tolist()), both.status, strict=True):
        assert status == (edge in after) - (edge in before)
    assert both.graph.n_edges == len(before | after)
    drawn = mark_edges([{"id": k} for k in range(both.graph.n_edges)], both.status)
    assert [bool(edge["dashes"]) for edge in drawn] == (both.status == -1).tolist()


def test_edges_on_a_cycle_are_those_that_are_not_bridges(learned):
    graph = learned.graph
    ring = set(graph.cycles[0])
    expected = [{u, v} <= ring for u, v in graph.edges.tolist()]
    assert graph.on_cycle.tolist() == expected
    drawn = mark_cycles([{"title": "an edge"} for _ in expected], graph)
    assert ["opacity" not in edge["color"] for edge in drawn] == expected


def test_a_tree_has_no_edge_on_a_cycle():
    star = LatentGraph.build(list("abc"), 1, [(0, 3), (1, 3), (2, 3)])
    assert not star.on_cycle.any()


def test_values_are_counted_by_state_by_number_or_by_range():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 2, 500), rng.integers(1, 6, 500), rng.normal(size=500)])
    X[:50, 1] = np.nan
    obs = Observations.from_array(X, names=["flag", "mood", "height"])
    assert value_counts(obs, "flag").labels == ("0", "1")
    assert value_counts(obs, "mood").labels == ("1", "2", "3", "4", "5")
    heights = value_counts(obs, "height")
    assert len(heights.labels) == 20
    for name in obs.names:
        assert sum(value_counts(obs, name).shares) == pytest.approx(1)
        assert distribution_figure(value_counts(obs, name)).data[0].y


def test_values_that_look_like_markup_are_drawn_as_text():
    cells = ['<a href="https://evil.example">x</a>', "<b>"] * 9
    obs = Observations.from_frame(pd.DataFrame({"a": cells, "b": range(18), "c": range(0, 36, 2)}))
    figure = distribution_figure(value_counts(obs, "a"))
    drawn = [*figure.layout.xaxis.ticktext, *figure.data[0].customdata]
    assert "&lt;b&gt;" in drawn
    assert not [text for text in drawn if "<" in text]


def test_weights_count_in_the_distribution():
    obs = Observations.from_array([[0, 1, 2.5], [1, 0, 0.5], [0, 0, 1.5]], weights=[1, 2, 1])
    assert value_counts(obs, "x1").shares == (0.5, 0.5)
