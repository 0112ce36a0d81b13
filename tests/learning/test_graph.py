from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pytest
from helpers.cycle_basis import plain_cycle_basis
from helpers.graphs import cubic_graph
from hypothesis import given, strategies as st

from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph, minimum_cycle_basis


@st.composite
def graphs(draw, max_nodes=12):
    n = draw(st.integers(3, max_nodes))
    p = draw(st.integers(1, n))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=20))
    lengths = draw(st.lists(st.floats(0, 9), min_size=len(edges), max_size=len(edges)))
    return LatentGraph.build([f"x{k}" for k in range(p)], n - p, edges, lengths)


@pytest.fixture
def square_with_tail():
    return LatentGraph.build(list("abc"), 2, [(0, 1), (1, 3), (3, 4), (0, 4), (2, 4)])


@given(graphs())
def test_counts_agree_with_networkx(graph):
    other = graph.to_networkx()
    assert graph.n_components == nx.number_connected_components(other)
    assert graph.n_cycles == len(nx.cycle_basis(other)) == len(graph.cycles)
    assert graph.girth == nx.girth(other)
    assert graph.degrees.tolist() == [degree for _, degree in other.degree]
    for node in range(graph.n_nodes):
        assert graph.neighbours(node) == tuple(sorted(other[node]))
        assert set(graph.neighbourhood(node, 2)) == set(
            nx.single_source_shortest_path_length(other, node, cutoff=2)
        )


@given(graphs())
def test_path_lengths_agree_with_networkx_even_over_edges_of_length_zero(graph):
    lengths = graph.path_lengths()
    for u, found in nx.all_pairs_dijkstra_path_length(graph.to_networkx(), weight="distance"):
        for v in range(graph.n_nodes):
            assert lengths[u, v] == pytest.approx(found.get(v, math.inf))


@given(graphs())
def test_every_cycle_is_closed_and_written_one_way(graph):
    for cycle in graph.cycles:
        assert cycle[0] == min(cycle)
        assert cycle[1] < cycle[-1]
        for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            assert v in graph.neighbours(u)


@given(graphs(max_nodes=10))
def test_the_cycle_basis_is_as_short_as_the_one_of_networkx(graph):
    theirs = sorted(map(len, nx.minimum_cycle_basis(graph.to_networkx())))
    assert [len(cycle) for cycle in graph.cycles] == theirs


@pytest.mark.parametrize("seed", range(5))
def test_the_cycle_basis_of_a_larger_graph_is_as_short_and_independent(seed):
    other = nx.gnm_random_graph(40, 60, seed=seed)
    graph = LatentGraph.build([f"x{k}" for k in range(40)], 0, list(other.edges))
    assert sorted(map(len, nx.minimum_cycle_basis(other))) == [len(c) for c in graph.cycles]
    number = {tuple(edge): k for k, edge in enumerate(graph.edges.tolist())}
    rows = np.zeros((len(graph.cycles), graph.n_edges), dtype=int)
    for row, cycle in zip(rows, graph.cycles, strict=True):
        for u, v in zip(cycle, cycle[1:] + cycle[:1], strict=True):
            row[number[min(u, v), max(u, v)]] = 1
    assert rank_over_two_elements(rows) == graph.n_cycles == len(graph.cycles)


def equal_to_plain(graph: nx.Graph) -> bool:
    ends = sorted(tuple(sorted(edge)) for edge in nx.convert_node_labels_to_integers(graph).edges)
    edges = np.array(ends, dtype=np.int64).reshape(-1, 2)
    found = minimum_cycle_basis(len(graph), edges)
    return found == plain_cycle_basis(len(graph), edges)


@given(st.integers(3, 40), st.floats(0.02, 0.4), st.integers(0, 2**31))
def test_the_cycle_basis_equals_the_one_by_plain_python(n_nodes, density, seed):
    assert equal_to_plain(nx.gnp_random_graph(n_nodes, density, seed=seed))


@pytest.mark.parametrize(
    "graph",
    [
        nx.grid_2d_graph(7, 5),
        nx.grid_2d_graph(9, 3, periodic=True),
        nx.complete_graph(9),
        nx.hypercube_graph(4),
        cubic_graph(8),
        nx.disjoint_union(nx.cycle_graph(9), nx.wheel_graph(12)),
        nx.gnm_random_graph(90, 300, seed=1),
        nx.empty_graph(4),
    ],
    ids=lambda graph: f"{len(graph)} nodes",
)
def test_among_equally_short_cycles_the_same_are_chosen_as_by_plain_python(graph):
    assert equal_to_plain(graph)


def test_eight_threads_find_the_same_cycle_basis():
    graph = LatentGraph.build(
        "", 64, nx.convert_node_labels_to_integers(nx.grid_2d_graph(8, 8)).edges
    )
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: minimum_cycle_basis(64, graph.edges), range(40)))
    assert found == {graph.cycles}


def rank_over_two_elements(rows):
    rows = rows.copy() % 2
    rank = 0
    for column in rows.T:
        candidates = np.flatnonzero(column[rank:])
        if len(candidates):
            at = rank + candidates[0]
            rows[[rank, at]] = rows[[at, rank]]
            others = [k for k in np.flatnonzero(column) if k != rank]
            rows[others] ^= rows[rank]
            rank += 1
    return rank


def test_equality_and_hash_follow_the_content(square_with_tail):
    g = square_with_tail
    same = LatentGraph.build(g.names, 2, g.edges[::-1, ::-1], g.lengths[::-1])
    assert g == same
    assert hash(g) == hash(same)
    assert g != LatentGraph.build(g.names, 2, g.edges, 2 * g.lengths)
    assert g != "a graph"


def test_summary_of_a_loop(square_with_tail):
    assert repr(square_with_tail) == "LatentGraph(3 observed, 2 hidden, 5 edges, 1 cycles)"
    assert square_with_tail.girth == 4
    assert square_with_tail.cycles == ((0, 1, 3, 4),)


def test_networkx_form_has_plain_values(square_with_tail):
    other = square_with_tail.to_networkx()
    assert other.nodes[3] == {"hidden": True, "label": "h1"}
    assert type(other.edges[0, 1]["distance"]) is float
    assert {type(node) for node in other} == {int}


def test_hidden_labels_avoid_the_names_of_columns():
    graph = LatentGraph.build(["h1", "b", "c"], 2, [(0, 3), (1, 3), (2, 4), (3, 4)])
    assert len(set(graph.labels)) == 5
    assert graph.labels[:3] == ("h1", "b", "c")


@pytest.mark.parametrize(
    ("edges", "lengths", "message"),
    [
        ([(0, 0)], [1.0], "to itself"),
        ([(0, 1), (1, 0)], [1.0, 2.0], "occurs twice"),
        ([(0, 9)], [1.0], "outside 0 to 2"),
        ([(0, 1)], [-1.0], "at least 0"),
        ([(0, 1)], [math.nan], "finite"),
        ([(0, 1)], [1.0, 2.0], "one per edge"),
    ],
)
def test_impossible_edges_are_rejected(edges, lengths, message):
    with pytest.raises(DataError, match=message):
        LatentGraph.build(list("abc"), 0, edges, lengths)


def test_unknown_nodes_are_rejected(square_with_tail):
    with pytest.raises(DataError, match="nodes are 0 to 4"):
        square_with_tail.neighbours(5)


def test_a_graph_without_edges_is_fine():
    graph = LatentGraph.build(list("abc"), 0, [])
    assert (graph.n_components, graph.n_cycles, graph.girth) == (3, 0, math.inf)
    assert np.isinf(graph.path_lengths()[0, 1])
