"""Structure error and matching of hidden nodes, against plain enumeration."""

from __future__ import annotations

import importlib
from itertools import combinations, permutations
from unittest import mock

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import CUBIC_ORDER, cubic_graph, hidden_skeleton, shuffled
from hypothesis import given, settings, strategies as st

from loopylatent.analysis import matching
from loopylatent.analysis.matching import (
    FollowedNames,
    NamedNode,
    follow_names,
    match_hidden,
    name_node,
)
from loopylatent.analysis.stability.support import Reference, column_marks
from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.errors import DataError, ThresholdError
from loopylatent.graph import LatentGraph

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


def without_enumeration(left: LatentGraph, right: LatentGraph) -> StructureError:
    module = importlib.import_module("loopylatent.analysis.structure_error")
    with mock.patch.object(module, "ENUMERATED_HIDDEN", 0):
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
    assert structure_error(graph, moved) == StructureError(4, 4, is_exact=True)


def test_different_graphs_with_equal_degrees_are_not_equal() -> None:
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


def test_duplicate_column_names_are_rejected() -> None:
    twice = LatentGraph.build("aab", 0, [])
    with pytest.raises(DataError, match="Two columns are named 'a'"):
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


def test_a_hidden_node_without_counterpart_is_unmatched() -> None:
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
def test_a_threshold_outside_0_to_1_is_rejected(threshold: float) -> None:
    with pytest.raises(ThresholdError, match="from 0 to 1"):
        match_hidden(STAR, STAR, threshold)


def key_of(columns: str, names: tuple[str, ...]) -> int:
    """The key of a set of columns."""
    marks = column_marks(len(names))[[names.index(name) for name in columns]]
    return int(np.bitwise_xor.reduce(marks, initial=0))


def assert_split(graph: LatentGraph, *sides: str) -> None:
    """The first edge between hidden nodes has these columns on its sides."""
    expected = sorted(key_of(side, graph.names) for side in sides)
    assert Reference.of(graph).splits[0].tolist() == expected


def test_splits_have_each_column_on_the_nearer_side() -> None:
    assert_split(TWO_PAIRS, "ab", "cd")
    assert Reference.of(STAR).splits.shape == (0, 2)


def test_columns_opposite_an_edge_of_a_ring_are_on_no_side() -> None:
    edges = hidden_skeleton(nx.cycle_graph(5), 1).edges
    for length in (1.0, 0.1):
        assert_split(LatentGraph.build("abcde", 5, edges, np.full(10, length)), "ae", "bc")


def test_columns_that_are_out_of_reach_are_on_no_side() -> None:
    apart = LatentGraph.build("abcd", 2, [(0, 4), (1, 4), (4, 5), (2, 3)])
    assert_split(apart, "ab", "")


def named_everywhere(graph: LatentGraph) -> list[NamedNode]:
    return [name_node(graph, node, f"name of {node}") for node in graph.hidden_nodes]


def test_a_name_keeps_how_near_its_node_was_to_every_column() -> None:
    graph = LatentGraph.build("abc", 2, [(0, 3), (1, 3), (3, 4)], [1.0, 2.0, 0.5])
    named = name_node(graph, 4, "mood")
    assert (named.name, named.columns) == ("mood", ("a", "b", "c"))
    np.testing.assert_allclose(named.profile, [np.exp(-1.5), np.exp(-2.5), 0.0])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 99), st.integers(0, 2))
def test_names_follow_their_nodes_through_any_order(seed: int, noise: int) -> None:
    graph = hidden_skeleton(cubic_graph(7), 2)
    lengths = 1 + 0.05 * noise * np.random.default_rng(seed).normal(size=graph.n_edges)
    other = shuffled(LatentGraph.build(graph.names, graph.n_hidden, graph.edges, lengths), seed)
    expected = {
        pair.right: f"name of {pair.left}" for pair in match_hidden(graph, other, 0.8).pairs
    }
    followed = follow_names(named_everywhere(graph), other)
    assert followed.by_node == expected
    assert list(followed.by_node) == sorted(expected)
    assert len(followed.unmatched) == graph.n_hidden - len(expected)


def test_a_name_without_a_similar_node_is_unmatched() -> None:
    left, right = named_everywhere(TWO_PAIRS)
    one_left = LatentGraph.build("dcba", 1, [(3, 4), (2, 4), (0, 1)])
    assert follow_names([right, left], one_left) == FollowedNames({4: left.name}, (right.name,))
    none_left = LatentGraph.build("abcd", 0, [])
    assert follow_names([left, right], none_left) == FollowedNames({}, (left.name, right.name))
    assert follow_names([], TWO_PAIRS) == FollowedNames({}, ())


def test_added_and_removed_columns_are_ignored() -> None:
    graph = hidden_skeleton(nx.path_graph(3), 3)
    others = LatentGraph.build(
        ["new", *graph.names[1:]], 3, graph.edges, graph.lengths
    )  # x1 has gone
    followed = follow_names(named_everywhere(graph), others)
    assert followed.by_node == {node: f"name of {node}" for node in graph.hidden_nodes}
    strangers = LatentGraph.build([f"y{k}" for k in range(9)], 3, graph.edges, graph.lengths)
    assert follow_names(named_everywhere(graph), strangers).by_node == {}


def test_two_columns_in_common_are_too_few_to_know_a_node_by() -> None:
    star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    other = LatentGraph.build("abx", 1, [(0, 3), (1, 3), (2, 3)])
    assert follow_names(named_everywhere(star), other).unmatched == ("name of 3",)


def test_a_name_that_cannot_stay_does_not_push_aside_one_that_can() -> None:
    graph = LatentGraph.build("abc", 2, [(0, 3), (1, 3), (2, 3), (0, 4)], [1.0, 1.0, 1.0, 0.1])
    here, there = graph.path_lengths([3, 4])[:, :3]
    near = NamedNode("near", ("a", "b", "c"), np.exp(-here))
    far = NamedNode("far", ("a", "b", "c"), [0.0, 0.0, 1.0])  # like neither, more like node 3
    assert follow_names([near, far], graph, 0.8) == FollowedNames({3: "near"}, ("far",))
    both = follow_names([near, NamedNode("other", ("a", "b", "c"), np.exp(-there))], graph)
    assert both.by_node == {3: "near", 4: "other"}


def test_a_name_stays_from_the_threshold_on() -> None:
    left = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [1.0, 1.0, 1.0])
    right = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [1.0, 1.0, 2.5])
    cosine = match_hidden(left, right, threshold=0).pairs[0].cosine
    assert follow_names(named_everywhere(left), right, cosine).by_node
    assert not follow_names(named_everywhere(left), right, cosine + 1e-6).by_node
    with pytest.raises(ThresholdError, match="from 0 to 1"):
        follow_names([], left, float("nan"))


def test_a_node_that_reaches_no_column_carries_no_name() -> None:
    apart = LatentGraph.build("abc", 3, [(0, 3), (1, 3), (2, 3), (4, 5)])
    followed = follow_names(named_everywhere(apart), apart, threshold=0)
    assert followed == FollowedNames({3: "name of 3"}, ("name of 4", "name of 5"))


@pytest.mark.parametrize("node", [0, 2, 4, -1])
def test_only_hidden_nodes_can_be_named(node: int) -> None:
    with pytest.raises(DataError, match=f"Node {node} is not a hidden node"):
        name_node(STAR, node, "mood")


@pytest.mark.parametrize(
    ("name", "columns", "profile", "message"),
    [
        ("", ("a",), [1.0], "non-empty text"),
        (None, ("a",), [1.0], "non-empty text"),
        ("m", ("a", "a"), [1.0, 1.0], "must differ"),
        ("m", (1,), [1.0], "must be text"),
        ("m", ("a",), [1.0, 1.0], "from 0 to 1"),
        ("m", ("a",), [-0.5], "from 0 to 1"),
        ("m", ("a",), [np.nan], "from 0 to 1"),
        ("m", ("a",), ["much"], "from 0 to 1"),
    ],
)
def test_an_invalid_named_node_is_rejected(name, columns, profile, message) -> None:
    with pytest.raises(DataError, match=message):
        NamedNode(name, columns, profile)


def test_known_hidden_nodes_keep_their_numbers_and_new_ones_continue():
    star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    uneven = LatentGraph.build("cab", 2, [(0, 3), (1, 3), (2, 4), (3, 4)], [0.1, 0.1, 4.0, 4.0])
    index = matching.HiddenIndex(star.names)
    assert [index.add(one)[0].tolist() for one in (star, star)] == [[0, 1, 2, 3]] * 2
    assert index.add(uneven)[0].tolist() == [2, 0, 1, 4, 3]
    assert index.profiles.round(3).tolist()[0] == [0.577, 0.577, 0.577]


def test_a_cycle_is_identified_by_its_columns_and_those_adjacent_to_its_hidden_nodes():
    ring = LatentGraph.build("abc", 2, [(0, 3), (3, 4), (0, 4), (1, 3), (2, 1)])
    assert [sorted(columns) for columns in matching.cycle_columns(ring)] == [["a", "b"]]
