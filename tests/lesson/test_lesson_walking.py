"""Navigation in a lesson: anchors, levels of detail, counterparts, origins, guesses."""

from __future__ import annotations

import pytest
from helpers.lessons import ring, small_lessons
from hypothesis import given

import loopylatent as ll
from loopylatent import lesson as lessons
from loopylatent.analysis.matching import origin_of
from loopylatent.errors import DataError
from loopylatent.learning.trace import Family

# Navigation --------------------------------------------------------------------------------


@given(small_lessons())
def test_anchors_are_unique_and_lead_back(lesson):
    for index, place in enumerate(lesson.places):
        assert lesson.find(place.anchor) == index
    chapters = [place.chapter for place in lesson.places]
    assert chapters == sorted(chapters)
    assert set(chapters) == {1, 2, 3, 4, 5, 6}


def test_an_unknown_anchor_raises():
    with pytest.raises(DataError, match="has no step 'visit-999-look'"):
        ring().find("visit-999-look")
    assert not ring().has("visit-999-look")


@given(small_lessons())
def test_the_overview_is_a_subset_of_the_steps_and_keeps_the_place(lesson):
    level = lesson.indices("coarse")
    assert set(level) <= set(lesson.indices("fine"))
    for index, place in enumerate(lesson.places):
        there = lesson.places[level[lesson.at(index, "coarse")]]
        assert there.is_coarse
        assert (there.chapter, there.node, there.visit) == (place.chapter, place.node, place.visit)


@given(small_lessons())
def test_next_change_stops_exactly_where_edges_are_added_or_removed(lesson):
    stops, index = [], 0
    while (index := lesson.next_change(index)) is not None:
        stops.append(index)
    expected = []
    for k in lesson.indices("coarse"):
        place = lesson.places[k]
        if place.phase in ("tree", "replace", "cleanup"):
            marks = {edge.mark for edge in lesson.frame(k).edges}
            if marks & {"added", "removed"} or place.phase == "cleanup":
                expected.append(k)
    assert stops == expected


def test_going_back_shows_the_same_as_going_forward():
    lesson = ring()
    onward = [lesson.frame(k) for k in range(len(lesson.places))]
    for k in reversed(range(len(lesson.places))):
        again = lesson.frame(k)
        assert (again.edges, again.caption, again.nodes) == (
            onward[k].edges, onward[k].caption, onward[k].nodes
        )  # fmt: skip


def test_a_moved_threshold_keeps_the_place():
    lesson = ring()
    m = lesson.material
    moved = lessons.build(ll.learn(m.D, r=1.5, Lambda=0.02, tau=0.3), m.D, m.obs, lesson.cast.truth)
    for anchor in ("data", "truth", "matrix", "ball-7", "tree-20", "union", "order", "compared"):
        assert moved.places[moved.nearest(lesson.places[lesson.find(anchor)])].anchor == anchor
    visited = {place.node for place in moved.places if place.visit}
    for place in lesson.places:
        if place.visit and place.node in visited:
            there = moved.places[moved.nearest(place)]
            assert there.node == place.node
            if place.phase in ("look", "rest", "replace"):
                assert there.phase == place.phase


def test_a_missing_visit_leads_to_the_nearest_one_in_order():
    lesson = ring()
    m = lesson.material
    tree = lessons.build(ll.learn(m.D, r=m.D.r_max, tau=0.1), m.D, m.obs)
    visits = {place.node: place.visit for place in lesson.places if place.visit}
    gone = next(at for at in tree.places if at.phase == "look" and at.node not in visits)
    there = lesson.places[lesson.nearest(gone)]
    assert there.chapter == 4
    assert abs(there.visit - gone.visit) == min(abs(v - gone.visit) for v in visits.values())


@given(small_lessons())
def test_why_leads_to_the_join_that_created_a_hidden_node(lesson):
    m = lesson.material
    for node in m.result.graph.hidden_nodes:
        place = lesson.places[lesson.why_node(node)]
        join = m.visit(place.step).joins[place.part - 1]
        assert join.is_new
        assert m.cast.number[join.parent] == node
        assert origin_of(m.result, node).number == place.visit


@given(small_lessons())
def test_why_leads_to_the_step_that_added_an_edge(lesson):
    m = lesson.material
    for u, v in m.result.graph.edges.tolist():
        index = lesson.why_edge(v, u)
        frame = lesson.frame(index)
        marks = {edge.mark for edge in frame.edges if (edge.u, edge.v) == (u, v)}
        assert marks & {"added", "sketch-new", "kept"}
        if frame.place.phase == "tree":
            assert (u, v) in m.initial
            assert m.balls.owners((u, v))[0] == frame.place.node


# Guessing ----------------------------------------------------------------------------------


@given(small_lessons())
def test_the_right_answer_is_always_among_the_guesses(lesson):
    for index, place in enumerate(lesson.places):
        if place.phase == "join":
            pairs = lesson.guesses(index).options
            assert lesson.guesses(index).answer in pairs
            assert len(set(pairs)) == len(pairs) <= 10
            join = lesson.material.visit(place.step).joins[place.part - 1]
            if isinstance(join, Family):
                parent = lesson.cast.labels[lesson.cast.number[join.parent]]
                assert lesson.guesses(index).answer == (
                    "a new hidden node" if join.is_new else parent
                )
                continue
            names = {lesson.cast.labels[lesson.cast.number[n]] for n in join.children}
            assert set(lesson.guesses(index).answer.split(" – ")) == names
