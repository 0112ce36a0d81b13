"""Lessons: every step shows what the trace says, and says it with the trace's numbers."""

from __future__ import annotations

import json
import math
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hostile import HOSTILE_NAMES, hostile_frame
from hypothesis import given
from hypothesis import strategies as st
from strategies import distance_matrices

import loopylatent as ll
from loopylatent import lesson as lessons
from loopylatent._kernels.quartets import list_quartets
from loopylatent._kernels.spanning import union_of_local_trees
from loopylatent.api import provenance
from loopylatent.distances import DistanceMatrix
from loopylatent.errors import DataError
from loopylatent.grouping.quartet import VERDICTS, quartets
from loopylatent.learn import learn
from loopylatent.lesson import Lesson
from loopylatent.lesson.chapter_grouping import Visit
from loopylatent.lesson.drawing import draw
from loopylatent.lesson.frames import Frame
from loopylatent.lesson.markup import caption_html, code_html
from loopylatent.lesson.page import lesson_data, to_page
from loopylatent.lesson.pairs import closest_pair, heatmap_order, pair_view
from loopylatent.lesson.places import Place
from loopylatent.lesson.presets import PRESETS, made_up
from loopylatent.lesson.pseudocode import PSEUDOCODE
from loopylatent.lesson.quartets import MOST_NODES, inspect, quartet_table
from loopylatent.lesson.words import GLOSSARY, Name, Term, say
from loopylatent.nodes import birth_of
from loopylatent.recipe import digest_of, read_distances
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.trace import CleanUpStep, VisitStep, replay

BEFORE = ("look", "quartets", "join", "rest", "contract")
"""Phases of a visit that are over before the graph changes."""


def lesson_on(D: DistanceMatrix, r: float, Lambda: float = 0.0, tau: float = 0.1, **more) -> Lesson:
    result = learn(D, LearnSettings(Thresholds(max(r, D.smallest), Lambda, tau)))
    return lessons.build(result, D, **more)


@cache
def ring() -> Lesson:
    """The lesson on the small ring whose truth is known."""
    sample = ll.load_sample("latent_cycle")
    D = ll.information_distances(sample.observations)
    result = ll.learn(D, r=1.5, tau=0.1)
    return lessons.build(result, D, sample.observations, sample.truth)


@cache
def stuck_lesson() -> Lesson:
    """Few rows and no margin: visits get stuck, and hidden nodes vanish again."""
    rng = np.random.default_rng(3)
    obs = ll.Observations.from_array(rng.normal(size=(60, 12)) + rng.normal(size=(60, 1)))
    D = ll.information_distances(obs)
    return lesson_on(D, D.r_max, 0.0, 0.05, obs=obs)


@st.composite
def small_lessons(draw):
    D = draw(distance_matrices())
    finite = D.values[np.isfinite(D.values) & (D.values > 0)]
    r = float(np.quantile(finite, draw(st.floats(0.1, 1.0))))
    return lesson_on(D, r, draw(st.sampled_from([0.0, 0.02, 0.1])), draw(st.floats(0.0, 0.5)))


def graph_of_the_trace(lesson: Lesson, place: Place) -> dict[tuple[int, int], float]:
    """The graph at a step, from `replay` and the kernels alone, in the numbers of the lesson."""
    m = lesson.material
    if place.phase in ("data", "truth", "pair", "matrix"):
        return {}
    if place.phase in ("ball", "tree"):
        done = np.arange(place.node + (place.phase == "tree"))
        pairs = np.argwhere(union_of_local_trees(m.D.values, m.thresholds.r, done))
        return {(u, v): float(m.D.values[u, v]) for u, v in pairs.tolist()}
    steps = m.trace[: place.step + (place.phase not in BEFORE)]
    graph = replay(steps)
    p = graph.n_observed
    last = steps[-1]
    if isinstance(last, CleanUpStep):
        hidden = list(last.hidden_ids)
    else:
        ends: set[tuple[int, int]] = set(map(tuple, m.trace[0].graph.edges.tolist()))
        for step in steps[1:]:
            ends -= {(e.u, e.v) for e in step.removed}
            ends |= {(e.u, e.v) for e in step.added}
        hidden = sorted({node for edge in ends for node in edge if node >= p})
    number = [*range(p), *(m.cast.number[node] for node in hidden)]
    keys = [tuple(sorted((number[u], number[v]))) for u, v in graph.edges.tolist()]
    return dict(zip(keys, graph.lengths.tolist(), strict=True))


# What is shown -----------------------------------------------------------------------------


@given(small_lessons())
def test_every_step_shows_the_graph_of_the_trace(lesson):
    for index, place in enumerate(lesson.places):
        for detail in ("fine", "coarse"):
            shown = lesson.frame(index, detail).graph_edges
            assert shown == graph_of_the_trace(lesson, place), place.anchor


@pytest.mark.parametrize("make", [ring, stuck_lesson])
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
def test_a_step_draws_only_nodes_that_are_there(lesson):
    for index in range(len(lesson.places)):
        frame = lesson.frame(index)
        there = set(frame.nodes)
        assert set(lesson.material.columns) <= there
        assert {end for edge in frame.edges for end in (edge.u, edge.v)} <= there
        assert frame.focus <= there
        assert frame.sketched <= there


@given(small_lessons())
def test_the_finished_local_tree_is_what_comes_into_the_graph(lesson):
    m = lesson.material
    for place in lesson.places:
        if place.phase == "replace":
            step = m.visit(place.step)
            visit = Visit.of(m, place)
            inside = {*visit.members, *(m.cast.number[join.hidden] for join in step.joins)}
            after = m.replays.after(place.step)
            tree = {edge: length for edge, length in after.items() if set(edge) <= inside}
            assert visit.sketch.after_contractions(len(step.contractions)) == tree


@given(small_lessons())
def test_added_and_removed_edges_are_the_difference_to_the_step_before(lesson):
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


def test_places_and_names_never_change():
    lesson = ring()
    seen: dict[int, tuple[str, int, int]] = {}
    for index in range(len(lesson.places)):
        for node in draw(lesson, lesson.frame(index)).nodes:
            here = (node["label"], node["x"], node["y"])
            assert seen.setdefault(node["id"], here) == here
    places = np.rint(lesson.cast.places).astype(int).tolist()
    assert {node: list(where[1:]) for node, where in seen.items()} == dict(enumerate(places))


def test_nodes_of_the_finished_graph_stand_where_they_are_told_to():
    result, D = ring().material.result, ring().material.D
    places = np.arange(2.0 * result.graph.n_nodes).reshape(-1, 2) * 50
    lesson = lessons.build(result, D, places=places, hidden_names={20: "mood"})
    assert np.array_equal(lesson.cast.places[: result.graph.n_nodes], places)
    assert lesson.cast.labels[20] == "mood"
    with pytest.raises(DataError, match="places have shape"):
        lessons.build(result, D, places=places[:-1])


@given(small_lessons())
def test_nodes_that_vanish_again_have_names_of_their_own_and_stand_near_their_children(lesson):
    cast, graph = lesson.cast, lesson.material.result.graph
    assert len(set(cast.labels)) == len(cast.labels)
    for step in lesson.material.trace:
        for join in step.joins if isinstance(step, VisitStep) else ():
            h = cast.number[join.hidden]
            if h >= graph.n_nodes:
                children = cast.places[[cast.number[join.left], cast.number[join.right]]]
                reach = np.hypot(*(children[0] - children[1])) / 2 + 120
                assert np.hypot(*(cast.places[h] - children.mean(axis=0))) <= reach


def test_a_name_that_a_column_has_is_not_given_to_another_node():
    names = ["h1", "h2", "t1", "t2", "true 1", *"abcdefg"]
    D = DistanceMatrix.from_array(stuck_lesson().material.D.values, names)
    labels = lesson_on(D, D.r_max, 0.0, 0.05).cast.labels
    assert len(set(labels)) == len(labels)


def test_balls_say_which_trees_have_an_edge():
    m = ring().material
    for edge in m.initial:
        owners = m.balls.owners(edge)
        assert owners == tuple(v for v in m.columns if edge in m.balls.tree(v))
        assert str(len(owners)) in m.ball_notes[edge] or len(owners) == 1
    for v in m.columns:
        assert set(m.balls.members(v)) == {u for u in m.columns if m.D.values[u, v] <= m.balls.r}


def test_a_column_alone_in_its_ball_is_said_to_be():
    D = DistanceMatrix.from_array([[0, 1, 5, 5], [1, 0, 5, 5], [5, 5, 0, 5], [5, 5, 5, 0.0]])
    lesson = lesson_on(D, 1.0)
    said = str(lesson.frame(lesson.find("ball-3")).caption)
    assert "alone" in said
    assert "5.00 away" in said
    assert lesson.frame(lesson.find("tree-3")).caption.numbers[-1].value == 1


# What is said ------------------------------------------------------------------------------


def numbers_of_the_trace(lesson: Lesson, place: Place) -> list[float]:
    """The numbers that belong into the caption of a step, in their order, from the trace."""
    m = lesson.material
    step = m.trace[place.step] if place.step > 0 else None
    if place.phase == "look":
        hidden = [sum(step.hidden)] if any(step.hidden) else []
        others = len(step.neighbourhood) - 1
        more = [others - 5] if others > 6 else []
        return [place.visit, m.result.n_visits, others, *more, *hidden]
    if place.phase == "quartets":
        rows = list_quartets(np.exp(-step.distances), m.thresholds.Lambda)
        declared = int((rows[:, 4] > 0).sum())
        return [len(rows), m.thresholds.Lambda, declared, len(rows) - declared]
    if place.phase == "join":
        join = step.joins[place.part - 1]
        return [join.left_length + join.right_length, join.left_length, join.right_length]
    if place.phase == "contract":
        return [step.contractions[place.part - 1].length, m.thresholds.tau]
    if place.phase == "rest":
        left = len(step.neighbourhood) - len(step.joins)
        if step.stuck:
            return [left, *([left - 5] if left > 6 else []), len(step.rest)]
        return [step.rest[0].length] if step.rest else []
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


@given(small_lessons())
def test_the_numbers_of_a_caption_are_those_of_the_trace(lesson):
    for index, place in enumerate(lesson.places):
        if place.phase in (*BEFORE, "replace", "union", "ball"):
            expected = numbers_of_the_trace(lesson, place)
            said = [number.value for number in lesson.frame(index).caption.numbers]
            if place.phase == "join":
                said = said[-3:]  # before them, how many quartets speak for the pair
            if place.phase == "ball" and not expected:
                continue
            assert said == pytest.approx(expected), (place.anchor, expected)


@pytest.mark.parametrize("make", [ring, stuck_lesson])
@pytest.mark.parametrize("detail", ["fine", "coarse"])
def test_every_number_is_written_as_it_is(make, detail):
    lesson = make()
    for index in lesson.indices(detail):
        for number in lesson.frame(index, detail).caption.numbers:
            written = float(number.text.replace(",", ""))
            assert written == pytest.approx(number.value, abs=0.006, rel=0.006)


def test_nothing_but_numbers_is_written_in_digits():
    """Names apart, each digit of a caption belongs to a number that is known as one."""
    for lesson in (ring(), stuck_lesson()):
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


def test_the_result_is_counted_against_the_start_and_the_truth():
    lesson = ring()
    graph, truth = lesson.material.result.graph, lesson.cast.truth
    assert lesson.frame(lesson.find("gained")).caption.numbers[0].value == graph.n_edges
    said = [number.value for number in lesson.frame(lesson.find("compared")).caption.numbers]
    assert said == [truth.n_edges, truth.n_edges, 0, 0, 0]
    assert ll.structure_error(graph, truth).value == 0


def test_a_wrong_result_names_what_was_missed_and_what_is_wrong():
    data = made_up("noisy")
    obs = ll.read_table(data.content)
    D = ll.information_distances(obs)
    lesson = lessons.build(learn(D, data.recipe.settings), D, obs, data.truth)
    frame = lesson.frame(lesson.find("compared"))
    found, n, missed, wrong, error = (number.value for number in frame.caption.numbers)
    marks = [edge.mark for edge in frame.edges]
    assert (marks.count("removed"), marks.count("wrong")) == (missed, wrong)
    assert found + missed == n == data.truth.n_edges
    assert error == ll.structure_error(lesson.material.result.graph, data.truth).value > 0


@given(small_lessons())
def test_quartets_that_speak_on_a_join_agree_with_the_learner(lesson):
    m = lesson.material
    for place in lesson.places:
        if place.phase == "join":
            votes = Visit.of(m, place).votes(place.part)
            assert votes.apart == 0
            assert (votes.together > 0) == m.visit(place.step).joins[place.part - 1].supported


def test_every_term_has_a_meaning_and_every_line_exists():
    for lesson in (ring(), stuck_lesson()):
        for index in range(len(lesson.places)):
            frame = lesson.frame(index)
            assert 1 <= frame.line <= len(PSEUDOCODE)
            for part in frame.caption.parts:
                if isinstance(part, Term):
                    assert part.meaning == GLOSSARY[part.key]


def test_lines_of_the_pseudocode_follow_the_steps_of_a_visit():
    lesson = ring()
    lines = [lesson.frame(k).line for k, at in enumerate(lesson.places) if at.visit == 1]
    assert lines == sorted(lines)
    assert (lines[0], lines[-1]) == (7, 13)


# Walking -----------------------------------------------------------------------------------


@given(small_lessons())
def test_anchors_are_unique_and_lead_back(lesson):
    for index, place in enumerate(lesson.places):
        assert lesson.find(place.anchor) == index
    chapters = [place.chapter for place in lesson.places]
    assert chapters == sorted(chapters)
    assert set(chapters) == {1, 2, 3, 4, 5}


def test_an_anchor_that_does_not_exist_is_refused_in_one_line():
    with pytest.raises(DataError, match="has no step 'visit-999-look'"):
        ring().find("visit-999-look")
    assert not ring().has("visit-999-look")


@given(small_lessons())
def test_the_overview_is_part_of_the_whole_and_keeps_the_place(lesson):
    level = lesson.indices("coarse")
    assert set(level) <= set(lesson.indices("fine"))
    for index, place in enumerate(lesson.places):
        there = lesson.places[level[lesson.at(index, "coarse")]]
        assert there.is_coarse
        assert (there.chapter, there.node, there.visit) == (place.chapter, place.node, place.visit)


@given(small_lessons())
def test_next_change_stops_wherever_edges_come_or_go_and_nowhere_else(lesson):
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


def test_going_back_shows_the_same_as_going_on():
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


def test_a_visit_that_is_gone_leads_to_the_one_nearest_in_time():
    lesson = ring()
    m = lesson.material
    tree = lessons.build(ll.learn(m.D, r=m.D.r_max, tau=0.1), m.D, m.obs)
    visits = {place.node: place.visit for place in lesson.places if place.visit}
    gone = next(at for at in tree.places if at.phase == "look" and at.node not in visits)
    there = lesson.places[lesson.nearest(gone)]
    assert there.chapter == 4
    assert abs(there.visit - gone.visit) == min(abs(v - gone.visit) for v in visits.values())


@given(small_lessons())
def test_why_leads_to_the_join_that_made_a_hidden_node(lesson):
    m = lesson.material
    for node in m.result.graph.hidden_nodes:
        place = lesson.places[lesson.why_node(node)]
        join = m.visit(place.step).joins[place.part - 1]
        assert m.cast.number[join.hidden] == node
        assert birth_of(m.result, node).number == place.visit


@given(small_lessons())
def test_why_leads_to_the_step_that_put_an_edge_where_it_is(lesson):
    m = lesson.material
    for u, v in m.result.graph.edges.tolist():
        index = lesson.why_edge(v, u)
        frame = lesson.frame(index)
        marks = {edge.mark for edge in frame.edges if (edge.u, edge.v) == (u, v)}
        assert marks & {"added", "sketch-new", "kept"}
        if frame.place.phase == "tree":
            assert (u, v) in m.initial
            assert m.balls.owners((u, v))[0] == frame.place.node


# Quartets ----------------------------------------------------------------------------------


@st.composite
def four_distances(draw):
    lengths = [draw(st.floats(0.01, 4.0)) for _ in range(6)]
    values = np.zeros((4, 4))
    values[np.triu_indices(4, 1)] = lengths
    return values + values.T


@given(four_distances(), st.floats(0.0, 0.9))
def test_the_inspector_agrees_with_the_kernel(d, Lambda):
    seen = inspect(d, Lambda)
    (row,) = list_quartets(np.exp(-d), Lambda).tolist()
    assert seen.verdict == VERDICTS[row[4]]
    products = quartets(d, Lambda)[0].products
    assert [pairing.product for pairing in seen.pairings] == pytest.approx(products)
    for pairing in seen.pairings:
        assert pairing.product == pytest.approx(math.exp(-pairing.total))


@given(four_distances())
def test_the_verdict_changes_at_the_turning_point_and_nowhere_else(d):
    seen = inspect(d, 0.0)
    turn = seen.turning_point
    for Lambda in np.linspace(0.0, 0.99, 60):
        declared = inspect(d, float(Lambda)).verdict
        if abs(Lambda - turn) > 1e-9:
            assert declared == (seen.winner if Lambda < turn else "⊥")
    if turn > 1e-6:
        assert inspect(d, turn * (1 - 1e-7)).verdict == seen.winner
    if turn < 0.99:
        assert inspect(d, turn * (1 + 1e-7) + 1e-12).verdict == "⊥"


def test_equal_products_of_an_exact_metric_never_declare():
    star = np.full((4, 4), 2.0)
    np.fill_diagonal(star, 0.0)
    seen = inspect(star, 0.0)
    assert (seen.verdict, seen.turning_point) == ("⊥", 0.0)


@given(small_lessons())
def test_the_table_of_quartets_is_that_of_the_learner(lesson):
    for step in lesson.material.trace:
        if isinstance(step, VisitStep) and len(step.neighbourhood) >= 4:
            Lambda = lesson.material.thresholds.Lambda
            table = quartet_table(step.distances, Lambda)
            listed = quartets(step.distances, Lambda)
            assert [tuple(row) for row in table.nodes.tolist()] == [q.nodes for q in listed]
            assert [VERDICTS[k] for k in table.verdicts] == [q.verdict for q in listed]
            assert table.products == pytest.approx(np.array([q.products for q in listed]))
            declared = table.verdicts > 0
            assert ((table.lead > 0) | ~declared).all()
            assert (table.lead[~declared] <= 1e-9).all()


def test_a_neighbourhood_with_too_many_quartets_is_said_to_be():
    p = MOST_NODES + 2
    values = np.full((p, p), 2.0)
    values[0] = values[:, 0] = 1.0
    np.fill_diagonal(values, 0.0)
    lesson = lesson_on(DistanceMatrix.from_array(values), 2.0, 0.05, 0.1)
    frame = lesson.frame(lesson.find("visit-1-quartets"))
    assert "too many" in str(frame.caption)
    assert frame.caption.numbers[1].value == math.comb(p, 4)
    lesson.frame(lesson.find("visit-1-join-1"))


# Guessing ----------------------------------------------------------------------------------


@given(small_lessons())
def test_the_right_pair_is_always_among_the_guesses(lesson):
    for index, place in enumerate(lesson.places):
        if place.phase == "join":
            pairs = lesson.candidates(index)
            assert lesson.answer(index) in pairs
            assert len(set(pairs)) == len(pairs) <= 10
            join = lesson.material.visit(place.step).joins[place.part - 1]
            names = {lesson.cast.labels[lesson.cast.number[n]] for n in (join.left, join.right)}
            assert set(lesson.answer(index).split(" – ")) == names


# Distances ---------------------------------------------------------------------------------


def table_with(metric: str, missing: bool, weighted: bool):
    rng = np.random.default_rng(5)
    level = rng.normal(size=(200, 1))
    if metric.startswith("determinant") or metric == "canonical":
        codes = np.digitize(level + rng.normal(size=(200, 3)), [-0.7, 0.7])
        frame = pd.DataFrame(np.array(list("abc"))[codes], columns=["x", "y", "z"])
    else:
        frame = pd.DataFrame((level + rng.normal(size=(200, 3))).round(1), columns=["x", "y", "z"])
    if missing:
        frame.iloc[::7, 0] = None
        frame.iloc[3::11, 1] = None
    weights = None
    if weighted:
        frame["w"] = 1 + np.arange(200) % 3
        weights = "w"
    return ll.Observations.from_frame(frame, weights=weights)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["correlation", "rank", "determinant", "canonical"])
def test_the_numbers_behind_a_distance_give_that_distance(metric, missing, weighted):
    obs = table_with(metric, missing, weighted)
    D = ll.information_distances(obs, metric=metric)
    view = pair_view(D, obs, 0, 1)
    assert view.distance == D.values[0, 1]
    last = view.quantities[-1].value
    assert abs(last) == pytest.approx(view.strength, rel=1e-9)
    assert view.strength == pytest.approx(math.exp(-view.distance))
    rows = obs.n_samples if D.pair_counts is None else D.pair_counts[0, 1]
    if metric != "canonical":
        assert view.quantities[0].value == pytest.approx(rows)
    if view.table is not None:
        assert view.table.counts.sum() == pytest.approx(rows)


def test_a_table_of_two_binary_columns_counts_their_rows():
    obs = ll.load_sample("latent_cycle").observations
    D = ll.information_distances(obs)
    view = pair_view(D, obs, 0, 1)
    frame = obs.to_frame()
    crossed = pd.crosstab(frame["a1"], frame["a2"])
    assert view.table.counts.tolist() == crossed.to_numpy().tolist()
    assert view.points is None


def test_numbers_are_shown_as_points_and_given_distances_as_nothing():
    obs = ll.load_sample("irish_wind12").observations
    D = ll.information_distances(obs)
    view = pair_view(D, obs, 0, 1)
    assert view.table is None
    assert 500 < len(view.points.x) == len(view.points.y) <= 1500
    given = DistanceMatrix.from_array(D.values, D.names)
    assert pair_view(given, None, 0, 1).quantities == ()


def test_columns_of_the_matrix_stand_in_the_order_of_the_graph():
    graph = ring().material.result.graph
    order = heatmap_order(graph)
    assert sorted(order) == list(range(20))
    letters = [graph.names[column][0] for column in order]
    assert sum(a == b for a, b in pairwise(letters)) == 10
    apart = ll.LatentGraph.build("abcd", 0, [(0, 2), (1, 3)])
    a, b, c, d = (apart.names[column] for column in heatmap_order(apart))
    assert {frozenset((a, b)), frozenset((c, d))} == {frozenset("ac"), frozenset("bd")}


@given(distance_matrices())
def test_the_closest_pair_is_the_closest(D):
    i, j = closest_pair(D)
    assert i < j
    assert D.values[i, j] == D.smallest


# Presets -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, one in PRESETS.items() if one.sample is None])
def test_made_up_lessons_open_with_their_truth(name):
    data = made_up(name)
    assert data.recipe.data_digest == digest_of(data.content)
    if data.recipe.source_kind == "distances":
        D = read_distances(data.content)
    else:
        D = ll.information_distances(ll.read_table(data.content))
    result = learn(D, data.recipe.settings)
    error = ll.structure_error(result.graph, data.truth)
    if name == "noisy":
        assert result.n_stuck > 0
        assert error.lower > 0
        surer = ll.learn(D, r=data.recipe.r, Lambda=0.035, tau=data.recipe.tau)
        assert surer.n_stuck == 0
        assert ll.structure_error(surer.graph, data.truth).upper < error.upper
    else:
        assert error.value == 0
        assert result.n_stuck == 0


def test_presets_on_bundled_tables_name_tables_that_exist():
    samples = {one.sample for one in PRESETS.values() if one.sample is not None}
    assert samples <= set(ll.sample_names())


# Words and markup --------------------------------------------------------------------------


def test_names_are_never_read_as_markup():
    for name in HOSTILE_NAMES:
        html = caption_html(say("{v} has {k}.", v=Name(name), k=2))
        assert not re.search(r"<(?!/?b[ >]|b>)", html)
        assert "<img" not in html
        assert "<script" not in html
    for line in range(1, len(PSEUDOCODE) + 1):
        assert code_html(line).count("aria-current") == 1


def test_long_lists_of_names_are_cut_and_say_how_many_more():
    names = [Name(letter) for letter in "abcdefgh"]
    assert str(say("{names}", names=names)) == "a, b, c, d, e and 3 more"
    assert str(say("{names}", names=names[:3])) == "a, b and c"


def test_a_result_without_a_trace_or_with_other_distances_is_refused():
    m = ring().material
    bare = learn(m.D, m.result.settings, trace=False)
    with pytest.raises(DataError, match="no trace"):
        lessons.build(bare, m.D)
    other = DistanceMatrix.from_array(m.D.values * 2, m.D.names)
    with pytest.raises(DataError, match="not the distances"):
        lessons.build(m.result, other)


def test_a_truth_on_other_columns_is_left_out():
    m = ring().material
    truth = ll.LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    assert lessons.build(m.result, m.D, truth=truth).cast.truth is None


# The page ----------------------------------------------------------------------------------


def drawn_by_the_page(data) -> list[dict[tuple[int, int], set[str]]]:
    """The edges of each step, put together from the differences as the page does it."""
    state: dict[int, str] = {}
    found = []
    for step in data["steps"]:
        for edge in step["drop"]:
            del state[edge]
        state.update(dict(step["draw"]))
        shown: dict[tuple[int, int], set[str]] = {}
        for edge, mark in state.items():
            shown.setdefault(tuple(data["edges"][edge][:2]), set()).add(mark)
        found.append(shown)
    return found


def shown_by(frame: Frame) -> dict[tuple[int, int], set[str]]:
    shown: dict[tuple[int, int], set[str]] = {}
    for edge in frame.edges:
        shown.setdefault((edge.u, edge.v), set()).add(edge.mark)
    return shown


@given(small_lessons())
def test_the_page_draws_the_edges_and_says_the_words_of_every_step(lesson):
    data = lesson_data(lesson)
    assert [step["at"] for step in data["steps"]] == [place.anchor for place in lesson.places]
    for index, drawn in enumerate(drawn_by_the_page(data)):
        frame = lesson.frame(index)
        assert drawn == shown_by(frame)
        step = data["steps"][index]
        said = "".join(part if isinstance(part, str) else part[1] for part in step["says"])
        assert said == str(frame.caption)
        assert ("overview" in step) == lesson.places[index].is_coarse
        assert step["line"] == frame.line


def test_the_page_is_whole_and_its_names_cannot_break_out():
    frame = hostile_frame()
    D = ll.information_distances(ll.Observations.from_frame(frame))
    result = ll.learn(D)
    page = to_page(lessons.build(result, D), provenance(result), title="</title><b>")
    assert "<b>" not in page.split("<script")[0].split("</style>")[1].replace("&lt;b&gt;", "")
    assert page.count("</script>") == 3
    assert "<img" not in page
    assert "<script>window" not in page
    text = re.search(r'id="lesson">(.*?)</script>', page, re.S).group(1)
    names = [row[0] for row in json.loads(text)["nodes"][: D.n_columns]]
    assert len(names) == D.n_columns
    assert "default-src &#39;none&#39;" in page


def test_the_page_is_the_same_whenever_it_is_made():
    m = ring().material
    pages = [to_page(ring(), provenance(m.result)) for _ in range(2)]
    assert pages[0] == pages[1]
