"""The part of a large graph that is drawn: nothing is lost, and everything can be reached."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import shuffled
from hypothesis import assume, given, strategies as st

from loopylatent.errors import DataError, ThresholdError
from loopylatent.figures.simplify import (
    MOST_DRAWN,
    MOST_OPENED,
    SimplifiedGraph,
    fold,
    neighbourhood,
    nothing_of,
    subgraph,
)
from loopylatent.graph import LatentGraph


def simplify(graph, most_drawn=MOST_DRAWN, opened=(), focus=None):
    """The part of a graph that is drawn."""
    return fold(graph, most_drawn).show(opened, focus)


@st.composite
def graphs(draw, max_components=4):
    """Trees of hidden nodes and columns with some loops and, maybe, several components."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, n_hidden = draw(st.integers(3, 40)), draw(st.integers(0, 12))
    n_roots = draw(st.integers(1, max_components))
    order = rng.permutation(p + n_hidden)
    joined = {
        tuple(sorted((int(order[k]), int(order[rng.integers(max(0, k - 6), k)]))))
        for k in range(n_roots, p + n_hidden)
    }
    for _ in range(draw(st.integers(0, 12))):
        joined.add(tuple(sorted(map(int, rng.choice(p + n_hidden, 2, replace=False)))))
    lengths = rng.uniform(0.1, 2.0, len(joined))
    if draw(st.booleans()):
        lengths = np.round(lengths, 0)  # ties, and edges without length
    return LatentGraph.build([f"c{k}" for k in range(p)], n_hidden, sorted(joined), lengths)


limits = st.integers(1, 30)


def check_nothing_is_lost(part: SimplifiedGraph) -> None:
    drawn, counted = part.drawn_columns, list(part.counted.values())
    everything = [*drawn, *(column for inside in counted for column in inside), *part.not_shown]
    assert sorted(everything) == list(range(part.graph.n_observed))
    assert set(part.counted) <= set(part.nodes)


def check_components_stay_connected(part: SimplifiedGraph) -> None:
    """Drawn nodes of one component of the graph are connected in the picture."""
    components = {int(part.graph.component_of[node]) for node in part.nodes}
    assert part.part.n_components == len(components)


@given(graphs(), limits, st.data())
def test_every_column_is_drawn_or_counted_once_or_not_shown(graph, most_drawn, data):
    opened = data.draw(st.sets(st.integers(0, graph.n_nodes - 1), max_size=6))
    focus = data.draw(st.none() | st.integers(0, graph.n_nodes - 1))
    part = simplify(graph, most_drawn=most_drawn, opened=opened, focus=focus)
    check_nothing_is_lost(part)
    check_components_stay_connected(part)
    assert focus is None or focus in part.nodes


@given(graphs(), limits)
def test_the_first_picture_keeps_to_its_limit(graph, most_drawn):
    part = simplify(graph, most_drawn=most_drawn)
    assert 1 <= len(part.nodes) <= most_drawn
    check_nothing_is_lost(part)
    check_components_stay_connected(part)
    assert not part.opened


@given(graphs(max_components=1), limits)
def test_a_tree_loses_no_column(graph, most_drawn):
    kept = nx.minimum_spanning_edges(graph.to_networkx(), weight="distance", data=True)
    edges = [(u, v, data["distance"]) for u, v, data in kept]
    tree = LatentGraph.build(
        graph.names, graph.n_hidden, [(u, v) for u, v, _ in edges], [d for *_, d in edges]
    )
    assert simplify(tree, most_drawn=most_drawn).not_shown == ()


@given(graphs(), limits, st.data())
def test_opening_takes_out_what_is_folded_there_and_closing_puts_it_back(graph, most_drawn, data):
    folding = fold(graph, most_drawn)
    first = folding.show()
    assume(first.counted)
    node = data.draw(st.sampled_from(sorted(first.counted)))
    opened = folding.show([node])
    assert set(opened.nodes) == set(first.nodes) | set(folding.folded_in[node])
    assert node not in opened.counted
    assert opened.opened == {node}
    assert folding.show().nodes == first.nodes
    assert folding.show().counted == first.counted


@given(graphs(), limits, st.data())
def test_whatever_is_opened_everything_drawn_before_stays(graph, most_drawn, data):
    nodes = st.sets(st.integers(0, graph.n_nodes - 1))
    few = data.draw(nodes)
    more = few | data.draw(nodes)
    folding = fold(graph, most_drawn)
    assert set(folding.show(few).nodes) <= set(folding.show(more).nodes)


@given(graphs(), limits)
def test_opening_everything_shows_every_folded_node(graph, most_drawn):
    folding = fold(graph, most_drawn)
    part = folding.show(range(graph.n_nodes))
    assert not part.counted
    shown = {node for node in range(graph.n_nodes) if folding.kept[node]}
    for node in range(graph.n_nodes):
        holder = node
        while folding.under[holder] >= 0:
            holder = int(folding.under[holder])
        if holder in shown:
            assert part.is_drawn[node]


@given(graphs(), limits, st.data())
def test_a_node_searched_for_is_drawn_with_its_neighbours(graph, most_drawn, data):
    focus = data.draw(st.integers(0, graph.n_nodes - 1))
    folding = fold(graph, most_drawn)
    part = folding.show(folding.around(focus), focus)
    assert {focus, *graph.neighbours(focus)} <= set(part.nodes)
    check_nothing_is_lost(part)
    check_components_stay_connected(part)


@given(graphs(), limits)
def test_names_change_nothing(graph, most_drawn):
    names = [f"{hash(name)} other" for name in reversed(graph.names)]
    other = LatentGraph.build(names, graph.n_hidden, graph.edges, graph.lengths)
    one, two = simplify(graph, most_drawn=most_drawn), simplify(other, most_drawn=most_drawn)
    assert one.nodes == two.nodes
    assert one.counted == two.counted
    assert one.not_shown == two.not_shown


@given(graphs(max_components=1), st.integers(2, 30), st.integers(0, 99))
def test_the_order_of_columns_changes_nothing(graph, most_drawn, seed):
    assume(len(np.unique(graph.lengths)) == graph.n_edges)
    parts = [simplify(one, most_drawn=most_drawn) for one in (graph, shuffled(graph, seed))]
    named = [
        (
            {part.graph.names[column] for column in part.drawn_columns},
            {frozenset(part.graph.names[c] for c in inside) for inside in part.counted.values()},
            {part.graph.names[column] for column in part.not_shown},
        )
        for part in parts
    ]
    assert named[0] == named[1]


# Examples ----------------------------------------------------------------------------------


@pytest.fixture
def two_hubs() -> LatentGraph:
    """h1 with columns a to d, h2 with e and f; g between them, i alone at h2 by another edge."""
    edges = [(k, 8) for k in range(4)] + [(4, 9), (5, 9), (6, 8), (6, 9), (7, 6)]
    return LatentGraph.build("abcdefgi", 2, edges, [1, 2, 3, 4, 1, 2, 1, 1, 5])


def test_leaves_fold_under_a_node_that_has_several(two_hubs):
    part = simplify(two_hubs)
    assert part.nodes == (6, 7, 8, 9), "i hangs alone at g and is drawn by its name"
    assert part.counted == {8: (0, 1, 2, 3), 9: (4, 5)}
    assert part.not_shown == ()
    assert part.part.names == ("g", "i")
    assert part.part.n_hidden == 2


def test_the_lightest_nodes_fold_first_and_their_columns_count_on(two_hubs):
    assert simplify(two_hubs, most_drawn=3).counted == {6: (7,), 8: (0, 1, 2, 3), 9: (4, 5)}
    assert simplify(two_hubs, most_drawn=2).counted == {6: (4, 5, 7), 8: (0, 1, 2, 3)}
    everything = simplify(two_hubs, most_drawn=1)
    assert everything.nodes == (8,)
    assert everything.counted == {8: (0, 1, 2, 3, 4, 5, 6, 7)}


def test_nodes_open_one_inside_the_other(two_hubs):
    folding = fold(two_hubs, 1)
    assert folding.show([8]).nodes == (0, 1, 2, 3, 6, 8)
    assert folding.show([8]).counted == {6: (4, 5, 7)}
    assert folding.show([8, 6]).nodes == (0, 1, 2, 3, 6, 7, 8, 9)
    assert folding.show([6]).nodes == (8,), "what is not drawn cannot be open"


def test_of_a_ring_the_strongest_part_is_kept():
    ring = [(k, (k + 1) % 6) for k in range(6)]
    graph = LatentGraph.build("abcdef", 0, ring, [3, 1, 2, 5, 9, 8])
    part = simplify(graph, most_drawn=3)
    assert part.nodes == (1, 2, 3)
    assert part.not_shown == (0, 4, 5)
    searched = simplify(graph, most_drawn=3, focus=5)
    assert searched.nodes == (0, 1, 2, 3, 4, 5), "the way to it and its neighbours"


def test_a_hub_opens_its_nearest_columns_and_counts_the_rest():
    p = MOST_OPENED + 20
    rng = np.random.default_rng(0)
    lengths = rng.uniform(0.1, 1.0, p)
    star = LatentGraph.build([f"c{k}" for k in range(p)], 1, [(k, p) for k in range(p)], lengths)
    part = simplify(star, opened=[p])
    nearest = np.argsort(lengths)
    assert set(part.drawn_columns) == set(nearest[:MOST_OPENED].tolist())
    assert set(part.counted[p]) == set(nearest[MOST_OPENED:].tolist())
    far = int(nearest[-1])
    assert far in simplify(star, opened=[p], focus=far).nodes


def test_a_limit_below_one_is_rejected(two_hubs):
    with pytest.raises(ThresholdError, match="most_drawn = 0"):
        fold(two_hubs, 0)


# Surroundings ------------------------------------------------------------------------------


@given(graphs(), st.integers(0, 4), st.data())
def test_surroundings_are_those_of_the_graph(graph, steps, data):
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    part = neighbourhood(graph, node, steps, most_drawn=1000)
    assert part.nodes == graph.neighbourhood(node, steps)
    assert part.centre == node
    check_nothing_is_lost(part)
    assert part.part.n_components == 1


@given(graphs(), st.integers(1, 8), st.data())
def test_of_large_surroundings_the_nearest_are_drawn(graph, most_drawn, data):
    node = data.draw(st.integers(0, graph.n_nodes - 1))
    part = neighbourhood(graph, node, 3, most_drawn)
    within = graph.to_networkx().subgraph(graph.neighbourhood(node, 3))
    far = nx.single_source_dijkstra_path_length(within, node, weight="distance")
    assert len(part.nodes) == min(most_drawn, len(far))
    left = [length for other, length in far.items() if other not in part.nodes]
    assert max(far[other] for other in part.nodes) <= min(left, default=np.inf) + 1e-12
    assert part.part.n_components == 1


def test_nothing_drawn_yet(two_hubs):
    part = nothing_of(two_hubs)
    assert part.nodes == ()
    assert part.not_shown == tuple(range(8))


def test_surroundings_of_no_node_are_rejected(two_hubs):
    with pytest.raises(DataError, match="Node 10 does not exist"):
        neighbourhood(two_hubs, 10, 1)


@given(graphs(), st.data())
def test_a_subgraph_is_that_of_networkx(graph, data):
    nodes = sorted(data.draw(st.sets(st.integers(0, graph.n_nodes - 1), min_size=1)))
    part = subgraph(graph, nodes)
    expected = nx.relabel_nodes(
        graph.to_networkx().subgraph(nodes), {node: k for k, node in enumerate(nodes)}
    )
    assert {tuple(edge) for edge in part.edges.tolist()} == {
        tuple(sorted(edge)) for edge in expected.edges
    }
    assert part.names == tuple(graph.names[node] for node in nodes if node < graph.n_observed)
    for (u, v), length in zip(part.edges.tolist(), part.lengths.tolist(), strict=True):
        assert expected[u][v]["distance"] == length
