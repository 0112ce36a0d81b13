"""The Step by step page run without a browser: opening, walking, playing, links, why."""

from __future__ import annotations

import pytest
from helpers.lesson_page import (
    PAGE,
    anchor,
    drawn,
    from_explore,
    lesson_of,
    opened,
    params_of,
    press,
    ran,
    said,
    session_of,
    shows,
    walk_of,
)
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.matching import name_node
from loopylatent.lesson.material import Place, Visit
from loopylatent.lesson.presets import PRESETS, synthetic_data
from loopylatent.ui.shell.session import FIRST_SAMPLE

# Opening -----------------------------------------------------------------------------------


def test_a_first_visit_opens_on_the_ring_with_a_known_graph():
    page = opened()
    assert params_of(page)["sample"] == "latent_cycle"
    shows(page, lesson_of(page), "data")
    assert "5,000" in said(page)
    shows(press(page, "next"), lesson_of(page), "truth")


def test_earlier_choices_are_kept():
    page = from_explore()
    assert params_of(page)["sample"] == FIRST_SAMPLE
    page = ran(page.selectbox(key="data").set_value("bfi25"))
    page = ran(page.switch_page(PAGE))
    assert session_of(page).recipe.source == "sample:bfi25"
    shows(page, lesson_of(page), "data")


def test_without_earlier_choices_the_ring_opens_and_can_be_undone():
    page = ran(from_explore().switch_page(PAGE))
    assert session_of(page).recipe.source == "sample:latent_cycle"
    page = ran(next(one for one in page.button if one.label == "Undo").click())
    assert session_of(page).recipe.source == f"sample:{FIRST_SAMPLE}"
    assert walk_of(page).index == 0


@pytest.mark.parametrize("sample", ll.sample_names())
def test_every_sample_has_a_lesson_from_the_first_step_to_the_last(sample):
    page = opened(sample=sample)
    lesson = lesson_of(page)
    for chapter in (2, 3, 5, 4):
        page = ran(page.button_group(key="lesson_chapter").set_value(chapter))
        shows(page, lesson, lesson.places[lesson.chapter_start(chapter)].anchor)
    page = press(page, "last")
    shows(page, lesson, lesson.places[-1].anchor)


@pytest.mark.parametrize("name", list(PRESETS))
def test_presets_open_their_data_and_can_be_linked_to(name):
    page = opened()
    page = ran(page.button_group(key="lesson_preset").set_value(name))
    assert walk_of(page).place.anchor == "data"
    if PRESETS[name].sample is not None:
        assert params_of(page)["sample"] == PRESETS[name].sample
        return
    assert session_of(page).recipe == synthetic_data(name).recipe
    page = press(page, "next")
    assert "truth" in anchor(page)
    params = params_of(page)
    assert params["lesson"] == name
    other = opened(**{**params, "tau": "0.2", "step": "compared"})
    assert session_of(other).recipe.tau == 0.2
    assert walk_of(other).place.anchor == "compared"
    assert "structure error" in said(other)


# Walking -----------------------------------------------------------------------------------


def test_next_back_first_and_last():
    page = opened()
    lesson = lesson_of(page)
    for at in ("truth", "pair", "matrix", "ball-1", "tree-1"):
        page = press(page, "next")
        shows(page, lesson, at)
    shows(press(page, "back"), lesson, "ball-1")
    shows(press(page, "last"), lesson, "refine")
    assert page.button(key="lesson_next").disabled
    shows(press(page, "first"), lesson, "data")
    assert page.button(key="lesson_back").disabled


def test_next_leads_to_a_pair_of_binary_columns_by_ranks():
    page = press(opened(sample="housevotes84", metric="rank"), "next")
    assert anchor(page) == "pair"
    assert "strength" in said(page)


def test_going_back_recomputes_nothing_and_shows_the_same():
    page = opened(sample="latent_cycle", step="visit-1-look", r="1.5", tau="0.1")
    pictures = [drawn(page)["revision"]]
    for _ in range(6):
        page = press(page, "next")
        pictures.append(drawn(page)["revision"])
    before = dict(session_of(page).memo.computed)
    for picture in pictures[-2::-1]:
        page = press(page, "back")
        assert drawn(page)["revision"] == picture
    assert dict(session_of(page).memo.computed) == before


def test_the_scrubber_the_jump_and_the_next_change():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1")
    lesson = lesson_of(page)
    page = ran(page.slider(key="lesson_scrubber").set_value(50))
    shows(page, lesson, lesson.places[49].anchor)
    at = lesson.first("look", lesson.material.D.names.index("g2"))
    page = ran(page.selectbox(key="lesson_jump_look").set_value(at))
    shows(page, lesson, "visit-3-look")
    shows(press(page, "change"), lesson, "visit-3-replace")
    shows(press(page, "change"), lesson, "visit-4-replace")
    page = ran(page.button_group(key="lesson_chapter").set_value(3))
    page = ran(page.selectbox(key="lesson_jump_ball").set_value(lesson.first("ball", 7)))
    shows(page, lesson, "ball-8")


def test_a_click_on_a_column_leads_to_its_ball_or_visit():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="union")
    lesson = lesson_of(page)
    walk = walk_of(page)
    from loopylatent.ui.lesson.page import _clicked

    _clicked(walk, lesson, 4)
    assert walk.place.anchor == "ball-5"
    walk.go(lesson, lesson.find("order"))
    _clicked(walk, lesson, 1)
    assert walk.place.anchor == "visit-1-look"
    _clicked(walk, lesson, 22)
    _clicked(walk, lesson, None)
    assert walk.place.anchor == "visit-1-look"


def test_the_overview_takes_one_step_per_ball_or_visit():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="visit-2-join-1")
    lesson = lesson_of(page)
    page = ran(page.button_group(key="lesson_detail").set_value("coarse"))
    shows(page, lesson, "visit-2-replace")
    assert "2 joins" in said(page).replace('<b class="number">', "").replace("</b>", "")
    shows(press(page, "next"), lesson, "visit-3-replace")
    assert params_of(page)["detail"] == "coarse"
    again = opened(**params_of(page))
    assert (walk_of(again).detail, anchor(again)) == ("coarse", "visit-3-replace")


# Playing -----------------------------------------------------------------------------------


def test_playback_advances_on_time_and_stops_at_the_end():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="cleanup")
    walk = walk_of(page)
    page = press(page, "play")
    assert walk.playing
    here = walk.place.anchor  # a slow run may already have taken the first step
    walk.ticked += 1000
    page = ran(page)
    assert walk.place.anchor == here, "it is not time yet"
    steps = ["cleanup", "gained", "compared", "refine"]
    for at in steps[steps.index(here) + 1 :]:
        walk.ticked -= 2000
        page = ran(page)
        assert walk.place.anchor == at
    assert not walk.playing
    page = press(page, "play")
    assert walk.playing
    assert walk.place.anchor in ("data", "truth"), "a slow run may already take the next step"
    page = press(page, "play")
    assert not walk.playing


def test_the_speed_is_kept():
    page = opened()
    page = ran(page.selectbox(key="lesson_speed").set_value("fast"))
    assert walk_of(page).speed == "fast"


# Links and thresholds ----------------------------------------------------------------------


def test_a_link_leads_to_its_step():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="visit-4-join-2")
    shows(page, lesson_of(page), "visit-4-join-2")


@pytest.mark.parametrize(
    "params",
    [
        {"step": "visit-99-look"},
        {"step": "<img src=x>"},
        {"step": ""},
        {"lesson": "nothing", "step": "union"},
        {"lesson": "noisy", "r": "nan", "Lambda": "7", "tau": "x"},
        {"lesson": "noisy", "r": "-1"},
        {"detail": "everything", "projector": "yes"},
    ],
)
def test_an_invalid_link_is_ignored(params):
    page = opened(**params)
    assert not page.error
    assert walk_of(page).index >= 0
    assert not walk_of(page).projector


@pytest.mark.parametrize(
    ("slider", "value"), [("r", 1.7), ("Lambda", 0.02), ("tau", 0.25), ("tau", 0.0)]
)
@pytest.mark.parametrize("step", ["matrix", "ball-7", "visit-4-look", "visit-4-replace", "gained"])
def test_a_moved_threshold_recomputes_and_keeps_the_place(slider, value, step):
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step=step)
    before = walk_of(page).place
    page = ran(page.slider(key=f"slider_{slider}").set_value(value))
    lesson = lesson_of(page)
    after = walk_of(page).place
    assert lesson.material.result.settings.thresholds != 0
    assert (after.chapter, after.phase, after.node) == (before.chapter, before.phase, before.node)
    shows(page, lesson, after.anchor)


def test_other_data_begin_at_the_first_step():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="visit-4-look")
    page = ran(page.selectbox(key="data").set_value("bfi25"))
    shows(page, lesson_of(page), "data")


# Why? --------------------------------------------------------------------------------------


def asked_why(selected: int, button: str) -> AppTest:
    page = from_explore(sample="latent_cycle", r="1.5", tau="0.1")
    session_of(page).select(selected)
    page = ran(page)
    page = page.button(key=button).click().run()
    return ran(page.switch_page(PAGE))


def test_why_leads_from_a_hidden_node_to_the_join_that_created_it():
    page = asked_why(22, "origin_node")
    lesson = lesson_of(page)
    place = walk_of(page).place
    assert place.phase == "join"
    assert lesson.why_node(22) == walk_of(page).index
    assert "h3" in said(page)


def test_a_visit_is_shown_if_a_hidden_node_has_the_name_of_a_column():
    page = from_explore(sample="holzinger24")
    lesson = lesson_of(page)
    graph = lesson.material.result.graph

    def hidden_beside(place: Place) -> list[int]:
        members = Visit.of(lesson.material, place).members
        return [n for n in members if graph.n_observed <= n < graph.n_nodes]

    visits = [k for k, place in enumerate(lesson.places) if place.chapter == 4 and place.visit]
    at = next(k for k in visits if hidden_beside(lesson.places[k]))
    node = hidden_beside(lesson.places[at])[0]
    column = min(Visit.of(lesson.material, lesson.places[at]).members)
    session_of(page).name(name_node(graph, node, graph.names[column]), None)
    page = ran(page.switch_page(PAGE))
    walk_of(page).go(lesson, at)
    page = ran(page)
    tables = [table.value.columns.tolist() for table in page.dataframe]
    name = graph.names[column]
    assert any({name, f"{name} ({graph.labels[node]})"} <= set(columns) for columns in tables)


def test_why_leads_from_an_edge_to_the_step_that_added_it():
    page = asked_why(0, "origin_edge_20")
    lesson = lesson_of(page)
    assert walk_of(page).index == lesson.why_edge(0, 20)
    assert walk_of(page).place.phase == "join"


def test_why_also_works_if_the_lesson_is_already_open():
    page = asked_why(22, "origin_node")
    session_of(page).why = (25,)
    page = ran(page)
    assert walk_of(page).index == lesson_of(page).why_node(25)
