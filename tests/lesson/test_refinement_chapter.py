"""The last chapter: what its steps show is the refinement, move by move."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.lessons import ring

import loopylatent as ll
from loopylatent import lesson as lessons
from loopylatent.learning.learner import learn
from loopylatent.learning.refinement import refine
from loopylatent.lesson.cast import GLOSSARY, Term, pseudocode
from loopylatent.lesson.lesson import Lesson, draw, lesson_data
from loopylatent.lesson.material import MOST_MOVES
from loopylatent.lesson.presets import synthetic_data
from loopylatent.lesson.refinement_chapter import best_pairs
from loopylatent.synthetic.families import latent_cycle


@pytest.fixture(scope="module")
def truth():
    return latent_cycle(girth=6, leaves=2, seed=3)


@pytest.fixture(scope="module")
def rows(truth):
    return truth.sample(300, seed=4)


@pytest.fixture(scope="module")
def refined(truth, rows) -> Lesson:
    """Twelve moves, from a spanning tree without hidden nodes to the true ring."""
    D = ll.information_distances(rows)
    result = ll.learn(D, D.r_max, 0.0, 1.0)
    found = refine(result.graph, rows, evidence=False)
    return lessons.build(result, D, rows, truth.graph, refinement=found)


def in_chapter(lesson: Lesson) -> list[int]:
    return [k for k, place in enumerate(lesson.places) if place.chapter == 6]


def numbers(lesson: Lesson, anchor: str) -> list[float]:
    return [one.value for one in lesson.frame(lesson.find(anchor)).caption.numbers]


def test_the_moves_lead_from_the_learned_graph_to_the_refined_one(refined):
    m = refined.material
    graph = refined.frame(refined.find("refine")).graph_edges
    assert graph.keys() == m.learned.keys()
    for k in in_chapter(refined)[2:-1]:
        frame = refined.frame(k)
        removed = {(e.u, e.v) for e in frame.edges if e.mark == "removed"}
        added = {(e.u, e.v) for e in frame.edges if e.mark == "added"}
        if frame.place.phase in ("move", "moves"):
            assert removed <= graph.keys()
            assert added.isdisjoint(graph)
            graph = frame.graph_edges
            assert removed.isdisjoint(graph)
            assert added <= graph.keys()
    last = refined.frame(refined.find("refined"))
    assert last.graph_edges == graph
    number, steps = m.cast.refined_number, m.refinement.steps
    node = [number[one] for one in (*m.columns, *steps[-1].hidden_ids)]
    edges = {tuple(sorted((node[u], node[v]))) for u, v in m.refinement.graph.edges.tolist()}
    assert edges == graph.keys()


def test_the_gains_of_the_steps_add_up_to_the_rise_of_the_score(refined):
    scores = refined.material.refinement.score_history
    anchors = [refined.places[k].anchor for k in in_chapter(refined)]
    assert anchors == [
        "refine", "pairs", *(f"move-{k}" for k in range(1, MOST_MOVES)), f"moves-{MOST_MOVES}",
        "refined", "judged",
    ]  # fmt: skip
    gains = [numbers(refined, f"move-{k}")[-2] for k in range(1, MOST_MOVES)]
    gains.append(numbers(refined, f"moves-{MOST_MOVES}")[-3])
    assert sum(gains) == pytest.approx(scores[-1] - scores[0])
    n_shown = MOST_MOVES - 1
    assert numbers(refined, f"moves-{MOST_MOVES}")[0] == len(scores) - 1 - n_shown
    assert numbers(refined, "refined")[:2] == [len(scores) - 1, pytest.approx(sum(gains))]


def test_the_score_is_taken_apart_into_likelihood_and_penalties(refined):
    score, likelihood, penalty, n, each = numbers(refined, "refine")
    assert score == likelihood - penalty
    graph = refined.material.result.graph
    assert n == graph.n_nodes + graph.n_edges
    assert penalty == pytest.approx(n * each)
    assert each == pytest.approx(0.5 * np.log(300))


def test_the_pairs_with_the_largest_estimated_gains_are_marked(refined):
    m = refined.material
    gains = m.refinement.misfit.gains
    found = best_pairs(m)
    frame = refined.frame(refined.find("pairs"))
    assert [(e.u, e.v) for e in frame.edges if e.mark == "pair"] == [one.edge for one in found]
    assert [one.gain for one in found] == sorted((one.gain for one in found), reverse=True)
    assert found[0].gain == gains.max()
    assert not {one.edge for one in found} & m.learned.keys()
    assert frame.graph_edges.keys() == m.learned.keys()
    first = draw(refined, frame).edges[-len(found)]
    assert f"estimated gain {found[0].gain:.1f}" in first["title"]


def test_the_refined_graph_is_compared_with_the_truth_next_to_the_learned_one(refined, truth):
    m = refined.material
    n = truth.graph.n_edges
    found, of, missed, wrong, old, old_wrong, before, after = numbers(refined, "judged")
    assert (found, of, missed, wrong, after) == (n, n, 0, 0, 0)
    assert before == ll.structure_error(m.result.graph, truth.graph).value > 0
    learned = numbers(refined, "compared")
    assert (old, old_wrong) == (learned[0], learned[3])


def test_a_missed_hidden_node_is_drawn_where_the_refined_graph_has_none(refined, truth, rows):
    m = refined.material
    stopped = replace(m.refinement, graph=m.refinement.steps[2].graph, steps=m.refinement.steps[:3])
    lesson = lessons.build(m.result, m.D, rows, truth.graph, refinement=stopped)
    frame = lesson.frame(lesson.find("judged"))
    missed = [e for e in frame.edges if e.mark == "removed"]
    assert len(missed) == numbers(lesson, "judged")[2] > 0
    assert len(set(lesson.cast.labels)) == lesson.cast.n_nodes
    assert {lesson.cast.labels[node] for e in missed for node in (e.u, e.v)} & {"true 1", "true 7"}
    for e in frame.edges:
        assert {e.u, e.v} <= {*frame.nodes}


def test_nodes_have_one_name_and_one_position(refined):
    cast = refined.cast
    assert len(set(cast.labels)) == cast.n_nodes == len(cast.places)
    shown = refined.frame(refined.find("refined")).nodes
    places = cast.places[list(shown)]
    apart = np.hypot(*(places[:, None] - places).transpose(2, 0, 1)) + 99 * np.eye(len(places))
    assert apart.min() > 10
    for k in in_chapter(refined):
        frame = refined.frame(k)
        assert 1 <= frame.line <= len(pseudocode("refinement"))
        for part in frame.caption.parts:
            assert not isinstance(part, Term) or GLOSSARY[part.key]
            assert part.__class__.__name__ != "Text" or not re.search(r"\d", part.text)


def test_next_change_stops_at_every_move(refined):
    index, stops = refined.find("compared"), []
    while (index := refined.next_change(index)) is not None:
        stops.append(refined.places[index].phase)
    assert stops == ["move"] * (MOST_MOVES - 1) + ["moves"]


def test_the_chapter_is_one_step_until_it_is_computed_and_then_not_exported():
    lesson = ring()
    assert [lesson.places[k].anchor for k in in_chapter(lesson)] == ["refine"]
    assert "computed on request, from all 5,000 rows" in str(lesson.frame(-1).caption)
    data = lesson_data(lesson)
    assert len(data["chapters"]) == data["steps"][-1]["chapter"] == 5
    assert data["refinement"] is None


def test_without_rows_the_chapter_says_why_it_is_missing():
    m = ring().material
    lesson = lessons.build(m.result, m.D)
    assert "needs the rows of the table" in str(lesson.frame(-1).caption)


def test_the_exported_page_has_the_chapter_once_it_is_computed(refined):
    data = lesson_data(refined)
    assert len(data["chapters"]) == 6
    assert [step["at"] for step in data["steps"]] == [place.anchor for place in refined.places]
    assert {step["code"] for step in data["steps"]} == {"quartet", "refinement"}
    moves = data["refinement"]["moves"]
    scores = refined.material.refinement.score_history
    assert len(moves) == len(scores) - 1
    assert sum(row[2] for row in moves) == pytest.approx(
        scores[-1] - scores[0], abs=0.1 * len(moves)
    )


def test_a_graph_that_no_move_improves_is_kept(truth):
    rows = truth.sample(2000, seed=1)
    D = ll.information_distances(rows)
    result = ll.learn(D, 1.0, tau=0.1)
    assert ll.structure_error(result.graph, truth.graph).value == 0
    found = refine(result.graph, rows, evidence=False)
    lesson = lessons.build(result, D, rows, refinement=found)
    anchors = [lesson.places[k].anchor for k in in_chapter(lesson)]
    assert anchors == ["refine", "pairs", "refined"]
    assert "keeps the learned graph" in str(lesson.frame(lesson.find("refined")).caption)
    assert numbers(lesson, "refine")[-1] == 1  # a cycle is charged


def test_the_noisy_lesson_is_refined_as_the_plan_says():
    data = synthetic_data("noisy")
    obs = ll.read_table(data.content)
    D = ll.information_distances(obs)
    result = learn(D, data.recipe.settings)
    found = refine(result.graph, obs, evidence=False)
    lesson = lessons.build(result, D, obs, data.truth, refinement=found)
    assert numbers(lesson, "refined")[:2] == [3, pytest.approx(13.4, abs=0.05)]
    right, n, missed, wrong, old, old_wrong = numbers(lesson, "judged")[:6]
    assert (right, n, missed, wrong, old, old_wrong) == (20, 24, 4, 3, 17, 7)
    assert "none of them pays" in str(lesson.frame(lesson.find("pairs")).caption)
