"""Which cycles join which groups."""

from __future__ import annotations

from itertools import pairwise

from loopylatent.analysis.evaluation.topics import cycle_groups, joined_groups
from loopylatent.graph import LatentGraph

SECTORS = {"a": "oil", "b": "oil", "c": "banks", "d": "shops", "e": "banks"}
# a and b close a cycle with hidden 5 and 6; c and d close one with hidden 6 and 7
GRAPH = LatentGraph.build(
    list("abcde"), 3, [(0, 5), (1, 5), (0, 6), (1, 6), (2, 6), (3, 6), (2, 7), (3, 7), (4, 7)]
)


def test_every_cycle_has_its_columns_and_groups():
    found = cycle_groups(GRAPH, SECTORS)
    assert len(found) == GRAPH.n_cycles == 2
    first, second = found
    assert set(first.columns) == {0, 1}
    assert set(first.adjacent) == {2, 3}
    assert first.groups == (("oil", 2), ("banks", 1), ("shops", 1))
    assert set(second.columns) == {2, 3}
    assert set(second.adjacent) == {0, 1, 4}
    graph = GRAPH.to_networkx()
    for one in found:
        ring = [*one.cycle, one.cycle[0]]
        assert all(graph.has_edge(u, v) for u, v in pairwise(ring))


def test_groups_that_meet_are_counted_over_cycles():
    counts = dict(joined_groups(cycle_groups(GRAPH, SECTORS)))
    assert counts == {("banks", "oil"): 2, ("banks", "shops"): 2, ("oil", "shops"): 2}


def test_columns_without_a_group_do_not_count_and_trees_have_no_cycles():
    found = cycle_groups(GRAPH, {"a": "oil"})
    assert [one.groups for one in found] == [(("oil", 1),), (("oil", 1),)]
    tree = LatentGraph.build(list("abc"), 1, [(0, 3), (1, 3), (2, 3)])
    assert cycle_groups(tree, SECTORS) == ()
    assert joined_groups(()) == ()
