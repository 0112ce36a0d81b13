"""The moves of the search by likelihood."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st

from loopylatent.graph import LatentGraph
from loopylatent.learning.moves import CHANGES, Detour, Move, SearchGraph, moves_of, splits_of

NAMES = [f"x{k + 1}" for k in range(30)]


@st.composite
def search_graphs(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, hidden = draw(st.integers(3, 7)), draw(st.integers(0, 5))
    density = draw(st.sampled_from([0.2, 0.4, 0.7]))
    pairs = [pair for pair in combinations(range(p + hidden), 2) if rng.random() < density]
    lengths = rng.uniform(0.1, 1.0, len(pairs))
    return SearchGraph.of(LatentGraph.build(NAMES[:p], hidden, pairs, lengths))


def all_moves(graph: SearchGraph, seed: int = 0) -> list[Move]:
    m = len(graph.ids)
    ties = np.random.default_rng(seed).normal(size=(m, m))
    return [*moves_of(graph), *splits_of(graph, ties + ties.T)]


def ring_with_leaves() -> SearchGraph:
    """Four hidden nodes 8 to 11 on a ring, with the columns 0 to 7, two on each."""
    ring = [(8, 9), (9, 10), (10, 11), (8, 11)]
    leaves = [(k, 8 + k // 2) for k in range(8)]
    return SearchGraph.of(LatentGraph.build(NAMES[:8], 4, ring + leaves))


@given(search_graphs())
def test_every_move_keeps_the_invariants_of_a_graph(graph):
    for move in all_moves(graph):
        changed = move(graph)
        if changed is None:
            continue
        assert changed.edges != graph.edges
        assert changed.ids[: graph.n_observed] == tuple(range(graph.n_observed))
        assert all(len(changed.neighbours[h]) >= 3 for h in changed.ids[graph.n_observed :])
        assert all(u < v and 0 < length <= 4 for (u, v), length in changed.lengths.items())
        new = set(changed.ids) - set(graph.ids)
        assert all(node >= graph.next_id for node in new)
        assert len(new) <= 1
        assert changed.next_id > max(changed.ids)


@given(search_graphs())
def test_a_move_leaves_the_graph_it_is_given_unchanged(graph):
    before = dict(graph.lengths)
    for move in all_moves(graph):
        move(graph)
    assert graph.lengths == before


@given(search_graphs())
def test_no_move_is_listed_twice_and_each_can_be_said(graph):
    moves = all_moves(graph)
    assert len(set(moves)) == len(moves)
    for move in moves:
        assert move.kind in CHANGES
        said = move.words(lambda node: f"node{node}")
        assert "{" not in said
        assert all(f"node{node}" in said for node in move.nodes)


@given(search_graphs())
def test_dropping_an_added_edge_gives_the_graph_back(graph):
    for u, v in combinations(graph.ids, 2):
        if not graph.has(u, v):
            wider = Move("add", (u, v))(graph)
            assert wider.edges == graph.edges | {(u, v)}
            assert Move("drop", (u, v))(wider).edges == graph.edges


@given(search_graphs())
def test_contracting_a_split_gives_the_graph_back(graph):
    for move in all_moves(graph):
        if move.kind in ("split", "pair"):
            changed = move(graph)
            new = graph.next_id
            if changed is not None and new in changed.neighbours:
                assert Move("contract", (move.nodes[0], new))(changed).edges == graph.edges


def test_a_slide_moves_one_end_of_an_edge():
    changed = Move("slide", (0, 8, 9))(ring_with_leaves())
    assert changed.has(0, 9)
    assert not changed.has(0, 8)
    assert Move("slide", (0, 8, 9)).words(NAMES.__getitem__) == "moved x1 from x9 to x10"


def test_a_swap_exchanges_neighbours_across_an_edge():
    changed = Move("swap", (8, 9, 0, 2))(ring_with_leaves())
    assert changed.has(0, 9)
    assert changed.has(2, 8)
    assert len(changed.edges) == 12


def test_a_hidden_node_of_degree_2_is_bridged_and_its_neighbour_too():
    graph = ring_with_leaves()
    without = Move("drop", (8, 9))(graph)  # 8 and 9 have three neighbours left
    assert without.n_hidden == 4
    assert Move("drop", (0, 8))(without).ids == (*range(8), 9, 10, 11)


def test_ids_are_not_used_again_after_a_node_is_gone():
    graph = ring_with_leaves()
    first = Move("split", (8, 0, 1))(graph)
    second = Move("contract", (8, 12))(first)
    assert Move("split", (8, 0, 1))(second).ids[-1] == 13


def test_a_triangle_becomes_a_star():
    triangle = SearchGraph.of(LatentGraph.build(NAMES[:3], 0, [(0, 1), (0, 2), (1, 2)]))
    changed = Move("triangle", (0, 1, 2))(triangle)
    assert changed.edges == {(0, 3), (1, 3), (2, 3)}


def test_a_star_takes_the_place_of_a_column():
    graph = SearchGraph.of(LatentGraph.build(NAMES[:4], 0, [(0, 1), (0, 2), (0, 3)]))
    changed = Move("star", (0,))(graph)
    assert changed.edges == {(0, 4), (1, 4), (2, 4), (3, 4)}


def test_a_graft_ends_in_the_middle_of_an_edge():
    changed = Move("graft", (0, 8, 9, 2))(ring_with_leaves())
    assert {(0, 12), (2, 12), (9, 12)} <= changed.edges
    assert not changed.has(9, 2)


@pytest.mark.parametrize("move", [
    Move("drop", (0, 1)), Move("add", (0, 8)), Move("slide", (0, 9, 8)), Move("star", (8,)),
    Move("contract", (8, 0)), Move("triangle", (8, 9, 10)), Move("swap", (8, 9, 2, 0)),
    Move("drop", (0, 99)),
])  # fmt: skip
def test_a_move_that_does_not_apply_gives_none(move):
    assert move(ring_with_leaves()) is None


@given(search_graphs())
def test_graphs_with_gaps_in_their_ids_are_numbered_without(graph):
    names = NAMES[: graph.n_observed]
    for move in all_moves(graph)[:5]:
        changed = move(graph)
        if changed is not None:
            built = changed.graph(names)
            place = {v: k for k, v in enumerate(changed.ids)}
            assert built.n_nodes == len(changed.ids)
            edges = nx.Graph([(place[u], place[v]) for u, v in changed.edges]).edges
            assert {frozenset(e) for e in edges} == {frozenset(e) for e in built.edges.tolist()}


def test_neighbours_that_attract_each_other_are_split_off_together():
    star = SearchGraph.of(LatentGraph.build(NAMES[:12], 1, [(k, 12) for k in range(12)]))
    ties = np.zeros((13, 13))
    ties[:4, 4:] = ties[4:, :4] = -1.0
    ties[:4, :4] = 3.0
    assert Move("split", (12, 0, 1, 2, 3)) in splits_of(star, ties)
    small = SearchGraph.of(LatentGraph.build(NAMES[:6], 1, [(k, 6) for k in range(6)]))
    assert splits_of(small, ties[:7, :7])[0] == Move("split", (6, 0, 1, 2, 3))


def test_a_detour_makes_both_moves_and_names_them():
    graph = ring_with_leaves()
    first, second = Move("add", (0, 1)), Move("drop", (0, 1))
    changed = Detour(first, second)(graph)
    assert changed is not None
    assert changed.edges == graph.edges
    assert Detour(second, first)(graph) is None
    words = Detour(first, second).words(str)
    assert words == "added the edge 0 – 1, then removed the edge 0 – 1"
