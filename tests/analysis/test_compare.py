"""Two or more graphs laid on top of each other."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import hidden_skeleton, shuffled
from hypothesis import given, strategies as st

import loopylatent as ll
from loopylatent.analysis.matching import match_hidden
from loopylatent.analysis.overlay import BOTH, LEFT, RIGHT, numbers, overlay
from loopylatent.analysis.sweep.scores import ComparedScores, Split, compared_scores
from loopylatent.errors import DataError
from loopylatent.figures.overlays import COLOURS, compared_looks, mark_edges, mark_nodes
from loopylatent.graph import LatentGraph


@pytest.fixture(scope="module")
def two_graphs():
    """The same columns at two radii."""
    D = ll.information_distances(ll.load_sample("bfi25").observations)
    return ll.learn(D).graph, ll.learn(D, r=ll.loop_radius(D)).graph


def edges_by_label(graph, labels):
    return {frozenset((labels[u], labels[v])) for u, v in graph.edges.tolist()}


@pytest.mark.parametrize("seed", range(4))
def test_a_graph_and_the_same_in_another_numbering_share_everything(seed):
    skeleton = nx.disjoint_union(nx.cycle_graph(7), nx.path_graph(3))
    rng = np.random.default_rng(seed)
    skeleton_graph = hidden_skeleton(skeleton, 3)
    lengths = rng.uniform(0.5, 1.5, skeleton_graph.n_edges)
    graph = LatentGraph.build(
        skeleton_graph.names, skeleton_graph.n_hidden, skeleton_graph.edges, lengths
    )
    laid = overlay([graph, shuffled(graph, seed)])
    assert laid.graph == graph
    assert (laid.difference(0, 1).edges == BOTH).all()
    assert (laid.difference(0, 1).hidden == BOTH).all()
    assert laid.cosines.min() == pytest.approx(1)


def test_hidden_nodes_are_shared_exactly_where_the_matching_says_so(two_graphs):
    left, right = two_graphs
    laid = overlay([left, right])
    pairs = {(pair.left, pair.right): pair.cosine for pair in match_hidden(left, right).pairs}
    at = {int(node): k for k, node in enumerate(laid.nodes[0])}
    found = {}
    for node in right.hidden_nodes:
        common = int(laid.nodes[1][node])
        if common in at:
            found[at[common], node] = laid.cosines[common - left.n_observed, 1]
    assert found == pytest.approx(pairs)
    assert laid.graph.n_hidden == left.n_hidden + right.n_hidden - len(pairs)


def test_edges_are_counted_as_by_sets(two_graphs):
    left, right = two_graphs
    laid = overlay([left, right])
    labels = laid.graph.labels
    one = edges_by_label(left, [labels[node] for node in laid.nodes[0]])
    two = edges_by_label(right, [labels[node] for node in laid.nodes[1]])
    difference = laid.difference(0, 1)
    assert difference.count(BOTH)[0] == len(one & two)
    assert difference.count(LEFT)[0] == len(one - two)
    assert difference.count(RIGHT)[0] == len(two - one)
    back = laid.difference(1, 0)
    assert (back.edges == -difference.edges).all()


def test_a_part_is_its_graph_in_the_common_numbering(two_graphs):
    laid = overlay(two_graphs)
    for which, graph in enumerate(two_graphs):
        part = laid.part(which)
        number = laid.nodes[which]
        lengths = {
            tuple(sorted((int(number[u]), int(number[v])))): length
            for (u, v), length in zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True)
        }
        found = zip(map(tuple, part.edges.tolist()), part.lengths.tolist(), strict=True)
        assert dict(found) == lengths


@given(st.lists(st.integers(0, 2**15 - 1), min_size=2, max_size=5))
def test_any_number_of_graphs_without_hidden_nodes_are_compared_by_their_edges(seeds):
    pairs = list(combinations(range(6), 2))
    chosen = [[pair for k, pair in enumerate(pairs) if seed >> k & 1] for seed in seeds]
    laid = overlay([LatentGraph.build("abcdef", 0, edges) for edges in chosen])
    for edge, member in zip(laid.graph.edges.tolist(), laid.edges_in.tolist(), strict=True):
        assert member == [tuple(edge) in edges for edges in chosen]
    assert laid.graph.n_edges == len(set().union(*chosen))


def test_other_columns_and_a_single_graph_are_rejected():
    one = LatentGraph.build("abc", 0, [(0, 1)])
    with pytest.raises(DataError, match=r"different columns \('c', 'd'"):
        overlay([one, LatentGraph.build("abd", 0, [(0, 1)])])
    with pytest.raises(DataError, match="at least two graphs"):
        overlay([one])


def test_the_numbers_are_those_of_the_graphs(two_graphs):
    frame = numbers(two_graphs, ["tree", "loops"]).set_index("graph")
    for name, graph in zip(("tree", "loops"), two_graphs, strict=True):
        assert frame.loc[name, "edges"] == graph.n_edges
        assert frame.loc[name, "hidden nodes"] == graph.n_hidden
        assert frame.loc[name, "cycles"] == graph.n_cycles
    assert frame.loc["tree", "shortest cycle"] == "–"
    assert frame.loc["loops", "shortest cycle"] == str(int(two_graphs[1].girth))


def test_scores_are_those_of_fresh_fits():
    obs = ll.load_sample("ability16").observations
    D = ll.information_distances(obs)
    settings = ll.settings_for(D)
    graph = ll.learn(D).graph
    scores = compared_scores(graph, obs, D, settings)
    assert isinstance(scores, ComparedScores)
    model = ll.fit_parameters(graph, obs)
    assert scores.log_likelihood == pytest.approx(model.train_log_likelihood / model.n_samples)
    assert scores.df == model.df
    split = Split.of(obs, D)
    thresholds = settings.thresholds
    again = ll.learn(split.D, thresholds.r, thresholds.Lambda, thresholds.tau).graph
    held_out = ll.fit_parameters(again, split.train).log_likelihood(split.test).mean()
    assert scores.held_out == pytest.approx(float(held_out))


def test_what_cannot_be_scored_says_why():
    D = ll.load_sample("ability16")
    obs = D.observations
    distances = ll.information_distances(obs)
    settings = ll.settings_for(distances, r=float(distances.smallest))
    precomputed = ll.DistanceMatrix.from_array(distances.values, distances.names, 100)
    reason = compared_scores(ll.learn(distances).graph, obs, precomputed, settings)
    assert isinstance(reason, str)
    assert "precomputed" in reason


def test_pictures_colour_what_only_one_graph_has(two_graphs):
    laid = overlay(two_graphs)
    difference = laid.difference(0, 1)
    edges = [
        {"id": f"{u}-{v}", "title": "", "width": 1.0, "color": {"opacity": 0.5}}
        for u, v in laid.graph.edges.tolist()
    ]
    marked = mark_edges(edges, laid, difference)
    shown = [edge["color"].get("color") for edge in marked]
    assert shown == [COLOURS.get(int(state)) for state in difference.edges]
    nodes = [{"id": k, "title": "", "group": "hidden"} for k in range(laid.graph.n_nodes)]
    only = [node["id"] for node in mark_nodes(nodes, laid, difference) if node["group"] != "hidden"]
    p = laid.graph.n_observed
    assert only == [p + k for k, state in enumerate(difference.hidden) if state != BOTH]
    look = {"options": {"groups": {"hidden": {"size": 5}}}, "legend": []}
    legend = compared_looks({"light": look}, (LEFT,))["light"]["legend"]
    assert [item["text"] for item in legend] == ["in both", "only left"]
