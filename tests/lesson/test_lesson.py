"""Lessons: every step shows the graph of the trace, and its caption the numbers of the trace."""

from __future__ import annotations

import re

import numpy as np
import pytest
from helpers.lessons import (
    BEFORE,
    REAL,
    graph_of_the_trace,
    joined_lesson,
    lesson_on,
    ring,
    small_lessons,
    stuck_lesson,
    surrogate_lesson,
)
from hypothesis import given

import loopylatent as ll
from loopylatent import lesson as lessons
from loopylatent.compute._kernels.grouping import list_quartets
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.learning.learner import learn
from loopylatent.learning.trace import Family, Round, VisitStep, replay
from loopylatent.lesson.cast import GLOSSARY, Term, pseudocode
from loopylatent.lesson.lesson import Lesson, draw
from loopylatent.lesson.material import Place, Visit
from loopylatent.lesson.presets import synthetic_data

# Drawings ---------------------------------------------------------------------------------


@given(small_lessons())
def test_every_step_shows_the_graph_of_the_trace(lesson):
    for index, place in enumerate(lesson.places):
        for detail in ("fine", "coarse"):
            shown = lesson.frame(index, detail).graph_edges
            assert shown == graph_of_the_trace(lesson, place), place.anchor


@pytest.mark.parametrize("make", REAL)
def test_every_step_of_a_real_lesson_shows_the_graph_of_the_trace(make):
    lesson = make()
    for index, place in enumerate(lesson.places):
        assert lesson.frame(index).graph_edges == graph_of_the_trace(lesson, place), place.anchor


@given(small_lessons())
def test_the_last_step_shows_the_learned_graph_under_its_own_numbers_and_names(lesson):
    graph = lesson.material.result.graph
    frame = lesson.frame(lesson.find("gained"))
    edges = [tuple(edge) for edge in graph.edges.tolist()]
    assert frame.graph_edges == dict(zip(edges, graph.lengths.tolist(), strict=True))
    assert set(frame.nodes) == set(range(graph.n_nodes))
    assert lesson.cast.labels[: graph.n_nodes] == graph.labels


@given(small_lessons())
def test_a_step_draws_only_its_own_nodes(lesson):
    for index in range(len(lesson.places)):
        frame = lesson.frame(index)
        there = set(frame.nodes)
        assert set(lesson.material.columns) <= there
        assert {end for edge in frame.edges for end in (edge.u, edge.v)} <= there
        assert frame.focus <= there
        assert frame.sketched <= there


@given(small_lessons())
def test_the_complete_local_tree_becomes_part_of_the_graph(lesson):
    m = lesson.material
    for place in lesson.places:
        if place.phase == "replace":
            step = m.visit(place.step)
            visit = Visit.of(m, place)
            inside = {*visit.members, *(m.cast.number[join.parent] for join in step.joins)}
            after = m.replays.after(place.step)
            tree = {edge: length for edge, length in after.items() if set(edge) <= inside}
            assert visit.after_contractions(len(step.contractions)) == tree


@given(small_lessons())
def test_added_and_removed_edges_are_the_difference_from_the_previous_step(lesson):
    for place in lesson.places:
        if place.phase == "replace":
            before = graph_of_the_trace(
                lesson, Place("look", place.node, place.visit, 0, place.step)
            )
            frame = lesson.frame(lesson.find(place.anchor))
            after = frame.graph_edges
            marked = {mark: {(e.u, e.v) for e in frame.edges if e.mark == mark}
                      for mark in ("added", "removed", "kept")}  # fmt: skip
            assert marked["added"] == set(after) - set(before)
            assert marked["removed"] == set(before) - set(after)
            assert marked["kept"] == set(after) & set(before)


def test_positions_and_labels_never_change():
    lesson = ring()
    seen: dict[int, tuple[str, int, int]] = {}
    for index in range(len(lesson.places)):
        for node in draw(lesson, lesson.frame(index)).nodes:
            here = (node["label"], node["x"], node["y"])
            assert seen.setdefault(node["id"], here) == here
    places = np.rint(lesson.cast.places).astype(int).tolist()
    assert {node: list(where[1:]) for node, where in seen.items()} == dict(enumerate(places))


def test_nodes_of_the_learned_graph_are_at_the_given_positions():
    result, D = ring().material.result, ring().material.D
    places = np.arange(2.0 * result.graph.n_nodes).reshape(-1, 2) * 50
    lesson = lessons.build(result, D, places=places, hidden_names={20: "mood"})
    assert np.array_equal(lesson.cast.places[: result.graph.n_nodes], places)
    assert lesson.cast.labels[20] == "mood"
    with pytest.raises(DataError, match="places has shape"):
        lessons.build(result, D, places=places[:-1])


def test_a_hidden_node_with_a_name_in_use_gets_its_number_appended():
    result, D = ring().material.result, ring().material.D
    taken = result.graph.names[0]
    given = {20: taken, 21: taken, 22: "h4", 23: "mood", 24: "mood"}
    lesson = lessons.build(result, D, hidden_names=given)
    assert lesson.cast.labels[20:25] == (
        *(f"{taken} (h1)", f"{taken} (h2)", "h4 (h3)", "mood", "mood (h5)"),
    )
    assert len(set(lesson.cast.labels)) == len(lesson.cast.labels)


@given(small_lessons())
def test_temporary_nodes_have_unique_labels_and_positions_near_their_children(lesson):
    cast, graph = lesson.cast, lesson.material.result.graph
    assert len(set(cast.labels)) == len(cast.labels)
    for step in lesson.material.trace:
        for join in step.joins if isinstance(step, VisitStep) else ():
            h = cast.number[join.parent]
            if h >= graph.n_nodes:
                children = cast.places[[cast.number[child] for child in join.children]]
                middle = children.mean(axis=0)
                reach = np.hypot(*(children - middle).T).max() + 120
                assert np.hypot(*(cast.places[h] - middle)) <= reach


def test_labels_of_columns_are_not_reused_for_other_nodes():
    names = ["h1", "h2", "t1", "t2", "true 1", *"abcdefg"]
    D = DistanceMatrix.from_array(stuck_lesson().material.D.values, names)
    labels = lesson_on(D, D.r_max, 0.0, 0.05).cast.labels
    assert len(set(labels)) == len(labels)


def test_balls_list_the_local_msts_that_contain_an_edge():
    m = ring().material
    for edge in m.initial:
        owners = m.balls.owners(edge)
        assert owners == tuple(v for v in m.columns if edge in m.balls.tree(v))
        assert str(len(owners)) in m.ball_notes[edge] or len(owners) == 1
    for v in m.columns:
        assert set(m.balls.members(v)) == {u for u in m.columns if m.D.values[u, v] <= m.balls.r}


def test_the_caption_says_that_a_column_is_alone_in_its_ball():
    D = DistanceMatrix.from_array([[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 5], [5, 5, 5, 0.0]])
    lesson = lesson_on(D, 1.0)
    said = str(lesson.frame(lesson.find("ball-3")).caption)
    assert "contains only" in said
    assert "5.00 away" in said
    assert lesson.frame(lesson.find("tree-3")).caption.numbers[-1].value == 1


# Captions ---------------------------------------------------------------------------------


def numbers_of_the_trace(lesson: Lesson, place: Place) -> list[float]:
    """The expected numbers in the caption of a step, in order, from the trace."""
    m = lesson.material
    step = m.trace[place.step] if place.step > 0 else None
    if place.phase == "look":
        hidden = [sum(step.hidden)] if any(step.hidden) else []
        if hidden and step.surrogates:
            gaps = [gap for gap, is_hidden in zip(step.gaps, step.hidden, strict=True) if is_hidden]
            hidden += gaps[:3] + ([len(gaps) - 3] if len(gaps) > 3 else [])
        others = len(step.neighbourhood) - 1
        return [place.visit, m.result.n_visits, others, *more_than_named(others), *hidden]
    if place.phase == "round":
        return numbers_of_the_round(step.rounds[place.part - 1], place.part)
    if place.phase == "quartets":
        rows = list_quartets(np.exp(-step.distances), m.thresholds.Lambda)
        declared = int((rows[:, 4] > 0).sum())
        return [len(rows), m.thresholds.Lambda, declared, len(rows) - declared]
    if place.phase == "join":
        join = step.joins[place.part - 1]
        if isinstance(join, Family):
            named = list(join.lengths)
            if len(named) > 4:
                named = [min(named), max(named)]
            return [*more_than_named(len(join.children)), join.misfit, join.limit, *named]
        pair = [join.left_length + join.right_length, join.left_length, join.right_length]
        if join.q is None:
            return pair
        left = len(step.neighbourhood) - place.part + 1
        return [left * (left - 1) / 2, join.q, *pair]
    if place.phase == "contract":
        limit = -np.log(0.9) if m.result.settings.method == "relaxed" else m.thresholds.tau
        return [step.contractions[place.part - 1].length, limit]
    if place.phase == "rest":
        left = len(step.neighbourhood) - len(step.joins)
        if step.stuck:
            return [left, *more_than_named(left), len(step.rest)]
        return [edge.length for edge in step.rest]
    if place.phase == "replace":
        gone, come = ({(e.u, e.v) for e in edges} for edges in (step.removed, step.added))
        if gone == come:
            return []
        graph = replay(m.trace[: place.step + 1])
        return [len(gone - come), len(come - gone), graph.n_edges, graph.n_hidden]
    if place.phase == "union":
        graph = m.result.initial_graph
        cycles = [graph.n_cycles] if graph.n_cycles else []
        return [graph.n_observed, graph.n_edges, *cycles, graph.n_components]
    if place.phase == "ball":
        ball = np.flatnonzero(m.D.values[place.node] <= m.thresholds.r)
        far = m.D.values[place.node, ball].max()
        return [len(ball), m.D.n_columns, m.thresholds.r, far] if len(ball) > 1 else []
    raise KeyError(place.phase)


def more_than_named(count: int) -> list[float]:
    """How many names of a list are not written out."""
    return [count - 5] if count > 6 else []


def numbers_of_the_round(found: Round, number: int) -> list[float]:
    spreads = found.spreads[np.triu_indices(len(found.active), 1)]
    low, high = spreads.min(), spreads.max()
    said = [number, len(found.active), *([low] if low == high else [low, high])]
    if found.silhouette is None or np.isinf(found.least):
        return said
    if len(found.families) == 1:
        assert found.silhouette <= found.least
        return [*said, found.least, found.silhouette]
    assert found.silhouette > found.least == pytest.approx(np.log(2) / high)
    alone = sum(len(family) == 1 for family in found.families)
    families = [len(found.families), *([alone] if alone else [])]
    return [*said, *families, found.silhouette, found.least]


@given(small_lessons())
def test_the_numbers_of_a_caption_are_those_of_the_trace(lesson):
    for index, place in enumerate(lesson.places):
        if place.phase in (*BEFORE, "replace", "union", "ball"):
            expected = numbers_of_the_trace(lesson, place)
            said = [number.value for number in lesson.frame(index).caption.numbers]
            if place.phase == "join" and lesson.material.result.settings.method == "quartet":
                said = said[-3:]  # before them, the number of supporting quartets
            if place.phase == "ball" and not expected:
                continue
            assert said == pytest.approx(expected), (place.anchor, expected)


@pytest.mark.parametrize("make", REAL)
@pytest.mark.parametrize("detail", ["fine", "coarse"])
def test_every_number_is_written_with_its_value(make, detail):
    lesson = make()
    for index in lesson.indices(detail):
        for number in lesson.frame(index, detail).caption.numbers:
            written = float(number.text.replace(",", "").replace("−", "-"))
            assert written == pytest.approx(number.value, abs=0.006, rel=0.006)


def test_only_numbers_and_names_contain_digits():
    """Apart from names, every digit of a caption belongs to a Number."""
    for lesson in (make() for make in REAL):
        for index in range(len(lesson.places)):
            caption = lesson.frame(index, "coarse").caption
            loose = [part.text for part in caption.parts if part.__class__ in (str, Term)]
            words = [p.text for p in caption.parts if p.__class__.__name__ == "Text"]
            assert not re.search(r"\d", "".join(loose + words)), str(caption)


def test_the_overview_of_a_visit_counts_its_joins_and_contractions():
    lesson = ring()
    for place in lesson.places:
        if place.phase == "replace":
            step = lesson.material.visit(place.step)
            said = lesson.frame(lesson.find(place.anchor), "coarse").caption.numbers
            counts = [place.visit, 9, len(step.neighbourhood)]
            assert [n.value for n in said][:5] == [
                *counts, len(step.joins), len(step.contractions)
            ]  # fmt: skip


def test_the_result_is_compared_with_the_initial_and_the_true_graph():
    lesson = ring()
    graph, truth = lesson.material.result.graph, lesson.cast.truth
    assert lesson.frame(lesson.find("gained")).caption.numbers[0].value == graph.n_edges
    said = [number.value for number in lesson.frame(lesson.find("compared")).caption.numbers]
    assert said == [truth.n_edges, truth.n_edges, 0, 0, 0]
    assert ll.structure_error(graph, truth).value == 0


def test_a_wrong_result_counts_missed_and_false_edges():
    data = synthetic_data("noisy")
    obs = ll.read_table(data.content)
    D = ll.information_distances(obs)
    lesson = lessons.build(learn(D, data.recipe.settings), D, obs, data.truth)
    frame = lesson.frame(lesson.find("compared"))
    found, n, missed, wrong, error = (number.value for number in frame.caption.numbers)
    marks = [edge.mark for edge in frame.edges]
    assert (marks.count("removed"), marks.count("wrong")) == (missed, wrong)
    assert found + missed == n == data.truth.n_edges
    assert error == ll.structure_error(lesson.material.result.graph, data.truth).value > 0


@given(small_lessons(("quartet",)))
def test_quartets_that_support_a_join_agree_with_the_learner(lesson):
    m = lesson.material
    for place in lesson.places:
        if place.phase == "join":
            found = Visit.of(m, place).declared_quartets(place.part)
            assert found.apart == 0
            assert (found.together > 0) == m.visit(place.step).joins[place.part - 1].supported


def test_every_term_has_a_definition_and_every_line_exists():
    for lesson in (make() for make in REAL):
        for index in range(len(lesson.places)):
            frame = lesson.frame(index)
            assert 1 <= frame.line <= len(pseudocode(lesson.code_at(frame.place)))
            for part in frame.caption.parts:
                if isinstance(part, Term):
                    assert GLOSSARY[part.key]


def test_lines_of_the_pseudocode_follow_the_steps_of_a_visit():
    lesson = ring()
    lines = [lesson.frame(k).line for k, at in enumerate(lesson.places) if at.visit == 1]
    assert lines == sorted(lines)
    assert (lines[0], lines[-1]) == (7, 13)


@pytest.mark.parametrize("method", ["relaxed", "nj"])
def test_lines_of_the_other_methods_are_those_of_their_steps(method):
    lesson = surrogate_lesson() if method == "relaxed" else joined_lesson()
    code = pseudocode(method)
    said = {"look": "A ← v", "round": "split them", "join": "Q" if method == "nj" else "parent",
            "rest": "connect the last two", "contract": "contract", "replace": "by this tree",
            "cleanup": "drop hidden"}  # fmt: skip
    seen = set()
    for index, place in enumerate(lesson.places):
        if place.phase in said:
            seen.add(place.phase)
            assert said[place.phase] in code[lesson.frame(index).line - 1].text
    assert seen == set(said) - ({"round"} if method == "nj" else set())
    assert not any("quartet" in line.text or "Λ" in line.text for line in code)
