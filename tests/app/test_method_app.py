"""Grouping methods in the app: chosen, explained, and with their own numbers in the lesson."""

from __future__ import annotations

import pytest
from helpers.lesson_page import (
    from_explore,
    html,
    lesson_of,
    opened,
    press,
    ran,
    session_of,
    walk_of,
)

import loopylatent as ll
from loopylatent.learning.trace import Family
from loopylatent.lesson.cast import pseudocode
from loopylatent.lesson.grouping_chapter import NEW

TIMEOUT = 180.0
LINK = {"sample": "bfi25", "r": "2.0", "tau": "0.1"}


def distances() -> ll.DistanceMatrix:
    return ll.information_distances(ll.load_sample("bfi25").observations)


def captions(page) -> str:
    return " ".join(caption.value for caption in page.caption)


@pytest.mark.parametrize(
    ("method", "off", "words"),
    [
        ("relaxed", {"slider_Lambda", "slider_tau"}, "does not use Λ and τ"),
        ("nj", {"slider_Lambda"}, "does not use Λ"),
    ],
)
def test_a_method_is_chosen_and_unused_thresholds_are_named(method, off, words):
    page = from_explore(**LINK)
    assert not any(slider.disabled for slider in page.slider)
    page = ran(page.selectbox(key="method").set_value(method))
    assert {slider.key for slider in page.slider if slider.disabled} == off
    assert words in captions(page)
    recipe = session_of(page).recipe
    graph = ll.learn(distances(), recipe.r, recipe.Lambda, recipe.tau, method=method).graph
    said = " ".join(one.value for one in page.markdown)
    assert f"**{graph.n_hidden}** hidden" in said
    assert f"**{graph.n_edges}** edges" in said
    assert page.query_params["method"] in (method, [method])


def test_the_seed_can_be_set_and_what_it_moves_is_said():
    page = from_explore(sample="newsgroups100_roweislike", r="5.0", method="relaxed")
    D = ll.information_distances(ll.load_sample("newsgroups100_roweislike").observations)
    page = ran(page.number_input(key="seed").set_value(5))
    assert session_of(page).recipe.seed == 5
    page = ran(page.button(key="seeds").click())
    assert session_of(page).jobs.current("seeds").finished.wait(TIMEOUT)
    page = ran(page)
    effect = ll.over_seeds(D, session_of(page).recipe.settings, 10)
    assert f"{min(effect.n_hidden)} to {max(effect.n_hidden)} hidden nodes" in captions(page)
    assert f"{effect.agreement:.0%} of their edges" in captions(page)
    page = ran(page.selectbox(key="method").set_value("quartet"))
    assert "seeds" not in {button.key for button in page.button}


def test_the_lesson_of_relaxed_grouping_shows_its_rounds_spreads_and_families():
    page = opened(**LINK, method="relaxed", step="visit-2-round-1")
    lesson = lesson_of(page)
    place = lesson.places[walk_of(page).index]
    assert place.anchor == "visit-2-round-1"
    step = lesson.material.visit(place.step)
    assert pseudocode("relaxed")[8].meaning in html(page)
    views = page.button_group(key="lesson_view").options
    assert list(views) == ["Distances in A", "Spreads", "Local tree", "Visits"]
    page = ran(page.button_group(key="lesson_view").set_value("Spreads"))
    table = page.dataframe[0].value
    spreads = step.rounds[0].spreads
    assert [[float(x) for x in row] for row in table.to_numpy()] == pytest.approx(spreads, abs=6e-4)
    families = [f"family {k}" for k in range(1, 1 + len(step.rounds[0].families))]
    assert sorted(set(table.index.get_level_values(0))) == families
    page = ran(page.button_group(key="lesson_view").set_value("Local tree"))
    rows = page.dataframe[0].value
    assert rows["misfit"].tolist() == [family.misfit for family in step.joins]
    assert rows["new"].tolist() == [family.is_new for family in step.joins]


def test_the_lesson_of_neighbor_joining_shows_Q():
    page = opened(**LINK, method="nj", step="visit-1-join-2")
    lesson = lesson_of(page)
    step = lesson.material.visit(lesson.places[walk_of(page).index].step)
    page = ran(page.button_group(key="lesson_view").set_value("Q"))
    table = page.dataframe[0].value
    values = [float(x) for x in table.to_numpy().ravel() if x]
    assert len(table) == len(step.neighbourhood) - 1
    assert min(values) == pytest.approx(step.joins[1].q, abs=6e-4)
    assert f"{step.joins[1].q:.3f}".replace("-", "−") in html(page)
    page = ran(page.button_group(key="lesson_view").set_value("Local tree"))
    assert page.dataframe[0].value["Q"].tolist() == [join.q for join in step.joins]


@pytest.mark.parametrize("method", ["relaxed", "nj"])
def test_other_methods_do_not_mention_quartets(method):
    for step in ("pair", "union", "order", "visit-1-look", "cleanup", "gained"):
        page = opened(**LINK, method=method, step=step)
        views = [group for group in page.button_group if group.key == "lesson_view"]
        shown = [view for group in views for view in group.options]
        assert not [view for view in shown if "uartet" in view]


def test_a_class_guesses_the_parent_of_a_family():
    page = opened(**LINK, method="relaxed", step="visit-1-round-1")
    walk_of(page).asking = True
    page = press(page, "next")
    lesson, walk = lesson_of(page), walk_of(page)
    assert walk.hides(lesson)
    assert "Which node becomes its" in html(page)
    join = lesson.material.visit(lesson.places[walk.index].step).joins[0]
    assert isinstance(join, Family)
    assert NEW in lesson.guesses(walk.index).options
    page = press(page, "reveal")
    assert not walk_of(page).hides(lesson_of(page))


def test_a_link_to_a_synthetic_lesson_keeps_the_method():
    page = opened(lesson="tree", method="nj", step="visit-1-join-1")
    assert session_of(page).recipe.method == "nj"
    assert page.query_params["method"] in ("nj", ["nj"])
    page = opened(lesson="tree", method="magic", step="visit-1-join-1")
    assert session_of(page).recipe.method == "quartet"
