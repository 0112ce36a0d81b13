"""Structure error and matching of hidden nodes, against plain enumeration."""

from __future__ import annotations

from itertools import combinations, permutations
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from graphs import CUBIC_ORDER, cubic_graph, hidden_skeleton, shuffled
from hypothesis import given, settings
from hypothesis import strategies as st

from loopylatent import matching
from loopylatent.errors import DataError, LoopyLatentError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.matching import inner_splits, match_hidden, split_of, structure_error

STAR = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
TWO_PAIRS = LatentGraph.build("abcd", 2, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5)])


def error_by_enumeration(left: LatentGraph, right: LatentGraph) -> int:
    """Relabel one edge set by every matching and count what differs."""
    p, size = left.n_observed, max(left.n_hidden, right.n_hidden)
    column = {node: left.names.index(name) for node, name in enumerate(right.names)}
    kept = {frozenset(edge) for edge in left.edges.tolist()}
    least = 10**9
    for order in permutations(range(p, p + size)):
        number = column | dict(zip(range(p, p + size), order, strict=True))
        moved = {frozenset(number[node] for node in edge) for edge in right.edges.tolist()}
        least = min(least, 2 * len(kept ^ moved))
    return least


@st.composite
def small_graphs(draw: st.DrawFn, n_observed: int = 3, max_hidden: int = 4) -> LatentGraph:
    names = draw(st.permutations("abcdefgh"[:n_observed]))
    n_hidden = draw(st.integers(0, max_hidden))
    pairs = list(combinations(range(n_observed + n_hidden), 2))
    edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=len(pairs)))
    lengths = draw(st.lists(st.floats(0, 3), min_size=len(edges), max_size=len(edges)))
    return LatentGraph.build(names, n_hidden, edges, lengths)


def without_enumeration(left: LatentGraph, right: LatentGraph) -> matching.StructureError:
    with mock.patch.object(matching, "ENUMERATED_HIDDEN", 0):
        return structure_error(left, right)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(small_graphs(), small_graphs())
def test_error_of_small_graphs_is_the_enumerated_one(left: LatentGraph, right: LatentGraph) -> None:
    result = structure_error(left, right)
    assert result.is_exact
    assert result.lower == result.upper == result.value == error_by_enumeration(left, right)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(small_graphs(), small_graphs())
def test_bounds_enclose_the_enumerated_error(left: LatentGraph, right: LatentGraph) -> None:
    result = without_enumeration(left, right)
    assert result.lower <= error_by_enumeration(left, right) <= result.upper
    assert result.is_exact == (result.lower == result.upper)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(small_graphs(4, 9), st.integers(0, 99))
def test_order_of_columns_and_hidden_nodes_does_not_matter(graph: LatentGraph, seed: int) -> None:
    assert structure_error(graph, shuffled(graph, seed)).value == 0
    assert without_enumeration(graph, shuffled(graph, seed)).is_exact


@settings(max_examples=60, deadline=None, derandomize=True)
@given(small_graphs(), small_graphs(), st.integers(0, 99))
def test_error_is_symmetric_and_blind_to_numbering(
    left: LatentGraph, right: LatentGraph, seed: int
) -> None:
    error = structure_error(left, right)
    assert structure_error(right, left) == error
    assert structure_error(shuffled(left, seed), shuffled(right, seed + 1)) == error


def test_every_edge_of_a_lost_hidden_node_counts_twice() -> None:
    assert structure_error(STAR, LatentGraph.build("abc", 0, [])).value == 6
    assert structure_error(LatentGraph.build("abc", 0, [(0, 1)]), STAR).value == 8


def test_isolated_hidden_nodes_and_lengths_count_nothing() -> None:
    longer = LatentGraph.build("cab", 3, [(0, 4), (1, 4), (2, 4)], [2.0, 3.0, 4.0])
    assert structure_error(STAR, longer).value == 0


def test_graphs_without_nodes_are_equal() -> None:
    empty = LatentGraph.build([], 0, [])
    assert structure_error(empty, empty).value == 0


def test_cubic_graphs_have_their_girth_and_order() -> None:
    for girth, order in CUBIC_ORDER.items():
        graph = cubic_graph(girth)
        assert nx.is_connected(graph)
        assert {degree for _, degree in graph.degree} == {3}
        assert (nx.girth(graph), len(graph)) == (girth, order)


@pytest.mark.parametrize("girth", CUBIC_ORDER)
@pytest.mark.parametrize("leaves", ["two", "one", "every third", "none"])
def test_shuffled_cubic_graphs_are_exactly_equal(girth: int, leaves: str) -> None:
    skeleton = cubic_graph(girth)
    counts = {"two": 2, "one": 1, "every third": 0, "none": 0}[leaves]
    some = {node: int(node % 3 == 0) for node in skeleton}
    graph = hidden_skeleton(skeleton, some if leaves == "every third" else counts)
    result = structure_error(graph, shuffled(graph, girth))
    assert (result.value, result.is_exact) == (0, True)


@pytest.mark.parametrize("leaves", [1, 2])
def test_a_moved_edge_of_the_largest_cage_costs_exactly_four(leaves: int) -> None:
    skeleton = cubic_graph(12)
    graph = hidden_skeleton(skeleton, leaves)
    skeleton.remove_edge(*next(iter(skeleton.edges)))
    skeleton.add_edge(5, 60)
    moved = shuffled(hidden_skeleton(skeleton, leaves))
    assert structure_error(graph, moved) == matching.StructureError(4, 4, is_exact=True)


def test_graphs_told_apart_by_no_degree_are_not_equal() -> None:
    one_ring = LatentGraph.build([], 8, nx.cycle_graph(8).edges)
    two_rings = nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))
    result = structure_error(one_ring, LatentGraph.build([], 8, two_rings.edges))
    assert result.lower == 4
    assert result.upper == 8  # two edges cut, two added


def test_different_columns_are_named_in_one_line() -> None:
    other = LatentGraph.build(["a", "b", "x\ny"], 0, [])
    for compare in (structure_error, match_hidden):
        with pytest.raises(DataError, match=r"'c', 'x\\ny' in only one of them") as caught:
            compare(STAR, other)
        assert "\n" not in str(caught.value)
    many = LatentGraph.build([f"c{k}" for k in range(9)], 0, [])
    with pytest.raises(DataError, match="and 7 more"):
        structure_error(STAR, many)


def test_columns_of_one_name_are_refused() -> None:
    twice = LatentGraph.build("aab", 0, [])
    with pytest.raises(DataError, match="two columns are called 'a'"):
        structure_error(twice, LatentGraph.build("ab", 0, []))


def test_hidden_nodes_of_a_shuffled_graph_find_themselves() -> None:
    graph = hidden_skeleton(cubic_graph(7), 2)
    result = match_hidden(graph, shuffled(graph, 3))
    hidden = np.random.default_rng(3)
    hidden.permutation(graph.n_observed)
    expected = graph.n_observed + hidden.permutation(graph.n_hidden)
    assert [pair.left for pair in result.pairs] == list(graph.hidden_nodes)
    assert [pair.right for pair in result.pairs] == expected.tolist()
    assert {pair.cosine for pair in result.pairs} == {1.0}
    assert result.unmatched_left == result.unmatched_right == ()


def test_a_hidden_node_without_counterpart_is_said_to_be_unmatched() -> None:
    result = match_hidden(TWO_PAIRS, LatentGraph.build("abcd", 1, [(0, 4), (1, 4)]), 0.9)
    assert [(pair.left, pair.right) for pair in result.pairs] == [(4, 4)]
    assert result.unmatched_left == (5,)
    assert result.unmatched_right == ()


def test_the_threshold_decides_what_counts_as_a_match() -> None:
    left = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [1.0, 1.0, 1.0])
    right = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [1.0, 1.0, 2.5])
    cosine = match_hidden(left, right, threshold=0).pairs[0].cosine
    profile = np.exp([-1.0, -1.0, -2.5])
    assert cosine == pytest.approx(profile.sum() / np.linalg.norm(profile) / np.sqrt(3))
    assert match_hidden(left, right, threshold=cosine).pairs
    assert match_hidden(left, right, threshold=cosine + 1e-6).pairs == ()
    assert match_hidden(left, left, threshold=1).pairs


def test_hidden_nodes_that_reach_no_column_are_never_matched() -> None:
    apart = LatentGraph.build("abc", 3, [(0, 3), (1, 3), (2, 3), (4, 5)])
    result = match_hidden(apart, apart, threshold=0)
    assert [(pair.left, pair.right) for pair in result.pairs] == [(3, 3)]
    assert result.unmatched_left == (4, 5)


def test_very_long_edges_still_match() -> None:
    far = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [900.0, 901.0, 902.0])
    assert match_hidden(far, far).pairs[0].cosine == 1.0


def test_graphs_without_hidden_nodes_have_nothing_to_match() -> None:
    empty = match_hidden(STAR, LatentGraph.build("abc", 0, []))
    assert (empty.pairs, empty.unmatched_left, empty.unmatched_right) == ((), (3,), ())


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_that_is_no_cosine_is_refused(threshold: float) -> None:
    with pytest.raises(ThresholdError, match="from 0 to 1"):
        match_hidden(STAR, STAR, threshold)


def test_splits_have_each_column_on_the_nearer_side() -> None:
    assert split_of(TWO_PAIRS, 4, 5) == {"a", "b"}
    assert split_of(TWO_PAIRS, 0, 5) == {"a"}  # b is two steps from either
    assert inner_splits(TWO_PAIRS) == {(4, 5): {frozenset("ab"), frozenset("cd")}}
    assert inner_splits(STAR) == {}


def test_columns_opposite_an_edge_of_a_ring_are_on_no_side() -> None:
    ring = hidden_skeleton(nx.cycle_graph(5), 1)
    assert split_of(ring, 5, 6) == {"x1", "x5"}
    assert split_of(ring, 6, 5) == {"x2", "x3"}
    uneven = LatentGraph.build(ring.names, 5, ring.edges, np.full(10, 0.1))
    assert inner_splits(uneven) == inner_splits(ring)


def test_columns_that_are_out_of_reach_are_on_no_side() -> None:
    apart = LatentGraph.build("abcd", 2, [(0, 4), (1, 4), (4, 5), (2, 3)])
    assert split_of(apart, 4, 5) == {"a", "b"}
    assert split_of(apart, 5, 4) == frozenset()


def test_splits_of_a_node_that_does_not_exist_are_refused() -> None:
    with pytest.raises(LoopyLatentError, match="nodes are 0 to 5"):
        split_of(TWO_PAIRS, 4, 6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(small_graphs(), st.integers(0, 99))
def test_splits_are_the_same_after_shuffling(graph: LatentGraph, seed: int) -> None:
    found = sorted(map(repr, map(sorted_sides, inner_splits(graph).values())))
    again = sorted(map(repr, map(sorted_sides, inner_splits(shuffled(graph, seed)).values())))
    assert found == again


def sorted_sides(split: matching.Split) -> list[list[str]]:
    return sorted(sorted(side) for side in split)
