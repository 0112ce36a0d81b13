"""Hidden nodes as topics."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
from helpers.models import SmallModel, small_models
from hypothesis import given, settings

from loopylatent.analysis.evaluation.topics import _discrete_strengths, shared_columns, topics
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteModel
from loopylatent.inference.fit import fit_parameters
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations

TREE = LatentGraph.build(
    list("abcdef"),
    2,
    [(0, 6), (1, 6), (2, 6), (6, 7), (3, 7), (4, 7), (4, 5)],
    [0.2, 0.5, 0.4, 0.3, 0.6, 0.25, 0.35],
)


def rows_of_a_tree(n: int = 400, seed: int = 0) -> np.ndarray:
    """Two factors that go together; column b runs against its own."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    second = 0.7 * first + 0.7 * rng.normal(size=n)
    own = rng.normal(size=(n, 6))
    loads = np.array([0.9, -0.7, 0.7, 0.6, 0.9, 0.8])
    factors = np.stack([first, first, first, second, second, second], axis=1)
    return factors * loads + 0.5 * own


def as_continuous(values: np.ndarray) -> Observations:
    kinds = dict.fromkeys("abcdef", "continuous")
    return Observations.from_array(values, list("abcdef"), kinds=kinds)


def edge_products(model, node: int) -> list[float]:
    """The product of the fitted edges on the way from a node to each column of a tree."""
    strength = {
        frozenset(edge): value
        for edge, value in zip(model.graph.edges.tolist(), model.edge_strengths, strict=True)
    }
    graph = model.graph.to_networkx()
    products = []
    for column in range(model.graph.n_observed):
        way = nx.shortest_path(graph, node, column)
        steps = pairwise(way)
        products.append(float(np.prod([strength[frozenset(step)] for step in steps])))
    return products


def test_words_are_the_nearest_columns_along_the_graph():
    graph = TREE.to_networkx()
    for topic in topics(TREE, most=4):
        lengths = nx.single_source_dijkstra_path_length(graph, topic.node, weight="distance")
        nearest = sorted(range(6), key=lambda column: (lengths[column], column))[:4]
        assert list(topic.columns) == nearest
        for word in topic.words:
            assert word.distance == pytest.approx(lengths[word.column])
            assert word.strength == pytest.approx(np.exp(-word.distance))


def test_columns_that_cannot_be_reached_are_in_no_topic():
    graph = LatentGraph.build(list("abcd"), 1, [(0, 4), (1, 4), (2, 4)])
    (topic,) = topics(graph)
    assert topic.columns == (0, 1, 2)


def test_a_graph_without_hidden_nodes_has_no_topics():
    path = LatentGraph.build(list("abc"), 0, [(0, 1), (1, 2)])
    assert topics(path) == ()


@pytest.mark.parametrize("binary", [True, False])
def test_strengths_on_a_tree_multiply_along_the_way(binary):
    values = rows_of_a_tree()
    if binary:
        obs = Observations.from_array((values > 0).astype(int), list("abcdef"))
    else:
        obs = as_continuous(values)
    model = fit_parameters(TREE, obs)
    for topic in topics(TREE, model):
        expected = edge_products(model, topic.node)
        for word in topic.words:
            assert word.strength == pytest.approx(expected[word.column], abs=1e-6)


def test_the_column_that_runs_against_its_factor_has_another_sign():
    model = fit_parameters(TREE, as_continuous(rows_of_a_tree(2000)))
    first = topics(TREE, model)[0]
    strength = {word.column: word.strength for word in first.words}
    assert strength[0] > 0 > strength[1]
    assert abs(strength[1]) > 0.5


def pair_by_enumeration(model: SmallModel, h: int, j: int) -> np.ndarray:
    joint, log_weight = model.enumerate()
    weight = np.exp(log_weight - log_weight.max())
    table = np.zeros((model.layout.n_states[h], model.layout.n_states[j]))
    np.add.at(table, (joint[:, h], joint[:, j]), weight)
    return table / table.sum()


@settings(max_examples=25)
@given(small_models(max_nodes=7, max_joint=500, most_states=2))
def test_strengths_on_loopy_graphs_are_those_of_enumeration(small):
    if small.graph.n_hidden == 0:
        return
    columns = tuple(Column(name, "binary", ("0", "1")) for name in small.graph.names)
    model = DiscreteModel(small.layout, columns, small.cells)
    for h in small.graph.hidden_nodes:
        found = _discrete_strengths(model, h)
        for j in range(small.graph.n_observed):
            table = pair_by_enumeration(small, h, j)
            one, other = table.sum(axis=1)[1], table.sum(axis=0)[1]
            spread = np.sqrt(one * (1 - one) * other * (1 - other))
            if spread > 1e-6:
                assert found[j] == pytest.approx((table[1, 1] - one * other) / spread, abs=1e-5)


def test_a_model_of_another_graph_is_rejected():
    other = LatentGraph.build(list("abcdef"), 1, [(k, 6) for k in range(6)])
    model = fit_parameters(other, as_continuous(rows_of_a_tree()))
    with pytest.raises(InferenceError, match="another graph"):
        topics(TREE, model)


def test_shared_columns_on_cycles_come_first():
    # a and b close a cycle through both hidden nodes; c is near both, but on no cycle
    edges = [(0, 6), (0, 7), (1, 6), (1, 7), (2, 6), (3, 7), (4, 7), (4, 5)]
    lengths = [0.2, 0.2, 0.2, 0.2, 0.1, 0.9, 0.9, 0.5]
    graph = LatentGraph.build(list("abcdef"), 2, edges, lengths)
    found = shared_columns(graph, topics(graph, most=3))
    assert [one.n_cycles > 0 for one in found] == sorted(
        [one.n_cycles > 0 for one in found], reverse=True
    )
    by_name = {graph.names[one.column]: one for one in found}
    assert by_name["a"].n_cycles == by_name["b"].n_cycles == 1
    assert by_name["a"].others == (1,)
    assert by_name["a"].topics == by_name["a"].between == (6, 7)
    assert (by_name["c"].n_cycles, by_name["c"].between) == (0, ())
