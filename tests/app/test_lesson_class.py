"""The Step by step page run without a browser: its numbers, and what it has for a class."""

from __future__ import annotations

import re
from threading import Event

import pandas as pd
import pytest
from helpers.hostile import hostile_frame
from helpers.lesson_page import (
    TIMEOUT,
    anchor,
    drawn,
    html,
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
from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.learning.learner import learn
from loopylatent.learning.refinement import refine
from loopylatent.lesson.lesson import build
from loopylatent.lesson.presets import synthetic_data
from loopylatent.ui.shell.refining import KIND

# Numbers -----------------------------------------------------------------------------------


def test_two_columns_are_chosen_and_their_numbers_shown():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="pair")
    assert "the closest pair" in said(page)
    page = ran(page.selectbox(key="lesson_pair_0").set_value("a1"))
    page = ran(page.selectbox(key="lesson_pair_1").set_value("g1"))
    D = lesson_of(page).material.D
    d = D.values[D.names.index("a1"), D.names.index("g1")]
    assert f">{d:.3f}<" in said(page)
    assert f"<b>{d:.4f}</b>" in html(page)
    page = ran(page.selectbox(key="lesson_pair_1").set_value("a1"))
    assert walk_of(page).pair == ("a1", "g1"), "a column is not paired with itself"


@pytest.mark.parametrize("step", ["pair", "matrix"])
@pytest.mark.parametrize("sample", ["mammals47_dna", "irish_wind12", "bfi25", "housevotes84"])
def test_the_chapter_on_distances_accepts_every_column_type(sample, step):
    page = opened(sample=sample, step=step)
    assert anchor(page) == step


def test_tables_of_a_visit_show_its_numbers():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="visit-1-quartets")
    lesson = lesson_of(page)
    step = lesson.material.visit(1)
    table = page.dataframe[0].value
    assert table.shape == step.distances.shape
    page = ran(page.button_group(key="lesson_view").set_value("Quartets"))
    quartets = page.dataframe[0].value
    assert len(quartets) == 15
    assert (quartets["verdict"] != "⊥").sum() == 12
    page = ran(page.button_group(key="lesson_filter").set_value("⊥"))
    assert len(page.dataframe[0].value) == 3
    page = ran(page.button_group(key="lesson_view").set_value("Local tree"))
    joins = page.dataframe[0].value
    assert joins["distance"].tolist() == [j.left_length + j.right_length for j in step.joins]
    page = ran(page.button_group(key="lesson_view").set_value("Visits"))
    assert page.dataframe[0].value["joins"].sum() == 20


def test_the_inspector_accepts_any_four_columns():
    from loopylatent.lesson.material import inspect

    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="union")
    page = ran(page.button_group(key="lesson_view").set_value("Quartet inspector"))
    for which, name in enumerate(("a1", "g1", "a2", "g2")):
        page = ran(page.selectbox(key=f"lesson_four_{which}").set_value(name))
    D = lesson_of(page).material.D
    at = [D.names.index(name) for name in ("a1", "g1", "a2", "g2")]
    seen = inspect(D.values[at][:, at], session_of(page).recipe.Lambda)
    assert seen.verdict == "ac|bd"
    assert "<b>a1 a2 | g1 g2</b>" in html(page)
    assert f"<b>{seen.turning_point:.4g}</b>" in html(page)
    table = page.dataframe[0].value
    assert table["product"].tolist() == [pairing.product for pairing in seen.pairings]
    page = ran(page.selectbox(key="lesson_four_1").set_value("a1"))
    assert any("four different columns" in caption.value for caption in page.caption)


# For a class -------------------------------------------------------------------------------


def test_the_class_guesses_before_a_join_is_shown():
    page = opened(sample="latent_cycle", r="1.5", tau="0.1", step="visit-1-quartets")
    lesson, walk = lesson_of(page), walk_of(page)
    page = ran(page.toggle(key="lesson_asking").set_value(True))
    before = drawn(page)["edges"]
    page = press(page, "next")
    assert "Which two nodes" in said(page)
    assert drawn(page)["edges"] == before
    index = lesson.find("visit-1-join-1")
    page = ran(page.button_group(key="lesson_guess").set_value(lesson.guesses(index).answer))
    page = press(page, "reveal")
    assert "Right." in said(page)
    shows(page, lesson, "visit-1-join-1")
    page = press(page, "next")
    wrong = next(
        p for p in lesson.guesses(index + 1).options if p != lesson.guesses(index + 1).answer
    )
    page = ran(page.button_group(key="lesson_guess").set_value(wrong))
    page = press(page, "next")
    assert "Wrong." in said(page)
    assert (walk.right, walk.asked, walk.index) == (1, 2, index + 1)
    page = press(press(page, "next"), "next")
    assert walk.asked == 2, "only guesses are counted"


def test_projector_mode_shows_few_controls():
    page = opened()
    page = ran(page.toggle(key="lesson_projector").set_value(True))
    keys = {one.key for one in page.button if str(one.key).startswith("lesson_")}
    assert keys == {"lesson_back", "lesson_play", "lesson_next"}
    assert params_of(page)["projector"] == "1"
    assert "1 · Data" in said(page)
    page = press(page, "next")
    assert anchor(page) == "truth"
    page = ran(page.toggle(key="lesson_projector").set_value(False))
    assert "projector" not in page.query_params


def test_hostile_names_are_shown_as_text():
    frame: pd.DataFrame = hostile_frame()
    content = frame.to_csv(index=False).encode("utf-8", "replace")
    D = ll.information_distances(ll.read_table(content))
    page = opened()
    session = session_of(page)
    session.keep_upload(digest_of(content), content)
    session.open(
        Recipe(
            source="hostile.csv", source_kind="table", data_digest=digest_of(content),
            r=D.r_max, Lambda=0.01, tau=0.1,
        )
    )  # fmt: skip
    page = ran(page)
    for _ in range(4):
        page = press(page, "next")
        assert "<img" not in html(page)
        assert "<script" not in html(page)
    for at in ("order", "visit-1-look", "visit-1-rest"):
        walk_of(page).requested = at
        page = ran(page)
        assert anchor(page) == at
        assert "<img" not in html(page)
    page = ran(page.toggle(key="lesson_asking").set_value(True))
    walk_of(page).requested = "visit-1-quartets"
    page = press(ran(page), "next")
    options = page.button_group(key="lesson_guess").options
    assert any(re.search(r"[<*\[`]", option) for option in options)
    assert not [option for option in options if re.search(r"(?<!\\)[<*\[`]", option)]
    lesson = session.memo.items("lesson")[0][1]
    for guess in lesson.guesses(walk_of(page).index).options:
        page = ran(page.button_group(key="lesson_guess").set_value(guess))
        assert walk_of(page).guess == guess


# Refinement --------------------------------------------------------------------------------


def refined(page: AppTest) -> AppTest:
    """Press the button of the last chapter and wait for the search."""
    page = press(page, "refine")
    job = session_of(page).jobs.current(KIND)
    assert job.finished.wait(TIMEOUT)
    return ran(page)


def test_the_last_chapter_is_computed_on_request_and_then_stepped_through():
    page = opened(lesson="noisy", step="refine")
    assert "computed on request" in said(page)
    assert session_of(page).jobs.current(KIND) is None, "opening the lesson computes nothing"
    page = refined(page)
    assert anchor(page) == "refine"
    data = synthetic_data("noisy")
    obs = ll.read_table(data.content)
    D = ll.information_distances(obs)
    result = learn(D, data.recipe.settings)
    found = refine(result.graph, obs)
    lesson = build(result, D, obs, data.truth, refinement=found)
    steps = [place.anchor for place in lesson.places if place.chapter == 6]
    assert len(steps) > 4
    shows(page, lesson, steps[0])
    for at in steps[1:]:
        page = press(page, "next")
        shows(page, lesson, at)
    table = page.dataframe[0].value
    assert table["gain"].sum() == pytest.approx(found.score_history[-1] - found.score_history[0])
    page = ran(page.button_group(key="lesson_view").set_value("Estimated gains"))
    assert len(page.dataframe[0].value) == 5


def test_a_cancelled_refinement_can_be_started_again(monkeypatch):
    page = opened(lesson="noisy", step="refine")
    wait = Event()

    def never(*_, progress, **__):
        while True:
            progress(0, 9)
            wait.wait(0.01)

    with monkeypatch.context() as patched:
        patched.setattr("loopylatent.ui.shell.refining.refine", never)
        page = press(page, "refine")
        job = session_of(page).jobs.running(KIND)
        page = press(page, "cancel")
        assert job.finished.wait(TIMEOUT)
    page = ran(page)
    assert "computed on request" in said(page)
    page = refined(page)
    assert ">score<" in said(page)


def test_distances_alone_have_no_refinement():
    page = opened(lesson="cage", step="refine")
    assert "needs the rows of the table" in said(page)
    assert not [button for button in page.button if button.key == "lesson_refine"]
