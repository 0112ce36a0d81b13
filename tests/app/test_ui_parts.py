"""The parts of the app that can be tested without a page."""

from __future__ import annotations

import re
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from helpers.hostile import HOSTILE_NAMES

import loopylatent as ll
from loopylatent.errors import DataError
from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.figures.layout import shown_line
from loopylatent.synthetic.families import latent_cycle
from loopylatent.ui.open.dialog import _kept_columns, propose_columns, reading_of
from loopylatent.ui.page import (
    contraction_range,
    margin_range,
    preset_radii,
    radius_marks,
    radius_range,
)
from loopylatent.ui.shell import background
from loopylatent.ui.shell.results import (
    Memo,
    carried_nodes,
    learned,
    sample_recipe,
    source_of,
    table_of,
    title_of,
)
from loopylatent.ui.shell.session import Moment, Session, opening_of, params_of
from loopylatent.ui.shell.widgets import JOINER, escaped


def distances(name):
    return ll.information_distances(ll.load_sample(name).observations)


# Memory ------------------------------------------------------------------------------------


def test_a_result_is_computed_once_and_the_oldest_is_forgotten():
    memo = Memo(most=2)
    calls = []
    for key in ("a", "b", "a", "c", "a", "b"):
        memo.get("kind", key, lambda key=key: calls.append(key))
    assert calls == ["a", "b", "c", "b"]
    assert memo.computed["kind"] == 4


def test_moving_thresholds_computes_distances_once():
    memo = Memo()
    recipe = sample_recipe(memo, "bfi25")
    for r in np.linspace(2.0, 6.0, 20):
        here = Recipe(**{**recipe.to_dict(), "r": float(r)})
        learned(memo, source_of(memo, {}, here).distances, here)
    assert memo.computed["distances"] == 1
    assert memo.computed["curve"] == 1
    assert memo.computed["learned"] == 20


# Sliders -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ll.sample_names())
def test_slider_ranges_hold_what_matters(name):
    D = distances(name)
    default = ll.default_thresholds(D)
    r = radius_range(D)
    assert D.smallest <= r.low < D.r_min <= D.r_max < r.high
    assert margin_range(D).low <= default.Lambda <= margin_range(D).high
    assert contraction_range(D).low <= default.tau <= contraction_range(D).high
    assert {mark.name for mark in radius_marks(D, r)} >= {"r min", "r max"}
    assert all(0 <= mark.share <= 1 for mark in radius_marks(D, r))
    curve = ll.edge_density(D)
    radii = preset_radii(D, ll.loop_radius(D), curve)
    assert curve.at(radii["Dense"]) == curve.n_edges.max()
    assert radii["Tree"] == D.r_max


# Links -------------------------------------------------------------------------------------


def test_a_link_restores_its_recipe():
    memo = Memo()
    recipe = Recipe(**{**sample_recipe(memo, "bfi25").to_dict(), "r": 2.123456789, "seed": 3})
    opening = opening_of(params_of(recipe), "latent_cycle", memo)
    assert opening.recipe == recipe
    assert opening.notice is None
    assert opening.fresh == sample_recipe(memo, "bfi25")


@pytest.mark.parametrize(
    "params",
    [
        {"sample": "../../etc/passwd"},
        {"sample": "bfi25", "r": "nan"},
        {"sample": "bfi25", "r": "-1"},
        {"sample": "bfi25", "Lambda": "1e999"},
        {"sample": "bfi25", "tau": "<script>"},
        {"sample": "bfi25", "method": "magic"},
        {"sample": "bfi25", "metric": "given"},
        {"sample": "bfi25", "metric": "determinant"},
        {"sample": "bfi25", "seed": "-3"},
    ],
)
def test_a_link_that_cannot_be_used_gives_a_sample_and_one_line(params):
    opening = opening_of(params, "latent_cycle", Memo())
    assert opening.notice
    assert "\n" not in opening.notice
    assert opening.recipe == opening.fresh


def test_a_link_names_an_uploaded_file_by_its_digest():
    recipe = Recipe(
        source="own.csv", source_kind="table", data_digest=digest_of(b"x"), r=1, Lambda=0, tau=0
    )
    told = params_of(recipe)
    assert (told["file"], told["kind"], told["digest"]) == ("own.csv", "table", digest_of(b"x"))


# History -----------------------------------------------------------------------------------


@pytest.fixture
def session():
    memo = Memo()
    recipe = sample_recipe(memo, "latent_cycle")
    return Session(Moment(recipe, recipe), memo=memo)


def test_undo_redo_and_reset_walk_through_the_settings(session):
    first = session.recipe
    session.change(r=1.3)
    session.change(tau=0.2)
    session.step_back()
    assert (session.recipe.r, session.recipe.tau) == (1.3, first.tau)
    session.step_forward()
    assert session.recipe.tau == 0.2
    session.reset()
    assert session.recipe == first
    session.step_back()
    assert session.recipe.tau == 0.2
    session.change(r=1.2)
    assert session.after == []


def test_an_invalid_setting_is_reported_and_changes_nothing(session):
    before = session.now
    session.change(Lambda=3)
    assert session.now is before
    assert "outside [0, 1)" in session.notice


def test_undo_brings_names_and_other_data_back(session):
    from loopylatent.analysis.matching import name_node

    D = source_of(session.memo, {}, session.recipe).distances
    graph = learned(session.memo, D, session.recipe).graph
    session.name(name_node(graph, graph.n_observed, "ring"), None)
    session.open(sample_recipe(session.memo, "bfi25"))
    assert session.now.names == ()
    session.step_back()
    assert [named.name for named in session.now.names] == ["ring"]
    session.name(None, "ring")
    assert session.now.names == ()


def test_nodes_that_stay_keep_their_places(session):
    D = source_of(session.memo, {}, session.recipe).distances
    graph = learned(session.memo, D, session.recipe).graph
    first = session.place(graph, graph.labels)
    assert session.place(graph, graph.labels) is not None
    session.select(graph.n_observed)
    other = learned(session.memo, D, Recipe(**{**session.recipe.to_dict(), "r": 1.3})).graph
    again = session.place(other, other.labels)
    p = graph.n_observed
    assert np.median(np.linalg.norm(first[:p] - again[:p], axis=1)) < 150
    carried = carried_nodes(graph, other)
    assert session.selected == carried.get(p)
    assert all(carried[k] == k for k in range(p))


def test_only_the_last_uploads_are_kept(session):
    for k in range(6):
        session.keep_upload(str(k), b"x")
    assert list(session.uploads) == ["2", "3", "4", "5"]


# Background --------------------------------------------------------------------------------


def test_a_job_reports_finishes_and_is_replaced_by_a_newer_one():
    jobs = background.Jobs()
    go, seen = threading.Event(), []

    def work(report):
        report(1, 2)
        go.wait(10)
        report(2, 2)
        seen.append("finished")
        return 42

    first = jobs.get("groups", "a", work)
    assert jobs.get("groups", "a", work) is first
    second = jobs.get("groups", "b", lambda report: report(0, 1) or "other")
    go.set()
    assert first.finished.wait(10)
    assert second.finished.wait(10)
    assert second.result == "other"
    assert first.error == "stopped"
    assert seen == []


def test_a_job_that_fails_keeps_the_reason():
    def work(_report):
        raise DataError("too few rows.")

    job = background.start("k", work)
    assert job.finished.wait(10)
    assert job.error == "too few rows."


# Tables ------------------------------------------------------------------------------------


def test_columns_of_a_new_table_get_a_role_with_a_reason():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": range(1, 101),
            "vote": rng.choice(["yes", "no"], 100),
            "mood": rng.integers(1, 6, 100),
            "height": rng.normal(size=100),
            "one": 1,
            "comment": [f"text {k}" for k in range(100)],
            "weight": rng.integers(1, 4, 100),
        }
    )
    frame.loc[:9, "height"] = np.nan
    found = {p.name: p for p in propose_columns(frame)}
    assert (found["id"].role, found["comment"].role) == ("label", "label")
    assert found["one"].role == "drop"
    assert found["vote"].kind == "binary"
    assert found["mood"].kind == "ordinal"
    assert "10 missing" in found["height"].note
    proposals = propose_columns(frame)
    roles = ["weights" if p.name == "weight" else p.role for p in proposals]
    kinds = ["continuous" if p.name == "mood" else p.kind for p in proposals]
    reading = reading_of(proposals, roles, kinds)
    assert reading.weights == "weight"
    assert reading.kinds == (("mood", "continuous"),)
    assert reading.labels == ("comment", "id")  # a recipe sorts them
    obs = ll.Observations.from_frame(
        frame,
        drop=reading.drop,
        labels=reading.labels,
        kinds=dict(reading.kinds),
        weights=reading.weights,
    )
    assert obs.names == ("vote", "mood", "height")
    with pytest.raises(DataError, match="Two columns are marked"):
        reading_of(proposals, ["weights"] * len(proposals), kinds)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_names_are_shown_by_markdown_as_they_are(name):
    shown = escaped(name)
    assert "\n" not in shown
    assert "<" not in shown.replace("\\<", "")
    assert "`" not in shown.replace("\\`", "")


FOUND_IN_TEXT = (
    r"(?i)https?://|www\.",
    r"[-.\w+]+@[-\w]+(\.[-\w]+)+",
    r":streamlit:",
    r"(^|\s)(<-|->|<->|--|>=|<=|~=)(\s|$)",
    "[\u202a-\u202e\u2066-\u2069]",
)
"""What Streamlit looks for after it has resolved escapes, and what turns the line around."""


@pytest.mark.parametrize(
    "name",
    [
        *HOSTILE_NAMES,
        *("HTTPS://a.b", "(http://a.b)", "WWW.a.b", "mailto:a@b.c", "a.b+c@d-e.f", "ahttp://b.c"),
        *("a -> b", "<-", "x -- y", ">= 3 <= 4", "~=", "-> -> ->", "a <-> b"),
    ],
)
def test_no_name_becomes_a_link_or_another_sign(name):
    resolved = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", escaped(name))
    assert [found for found in FOUND_IN_TEXT if re.search(found, resolved)] == []
    assert resolved.replace(JOINER, "") == shown_line(name)


def test_the_data_are_called_by_their_title():
    memo = Memo()
    recipe = sample_recipe(memo, "latent_cycle")
    assert title_of(memo, recipe) == ll.load_sample("latent_cycle").title
    own = replace(recipe, source="mine.csv", source_kind="table")
    assert title_of(memo, own) == "mine.csv"


def test_a_look_at_a_table_counts_no_column_that_repeats_another():
    frame = latent_cycle(4, 2).sample(200).to_frame()
    frame["again"] = frame.iloc[:, 0]
    content = frame.to_csv(index=False).encode()
    recipe = Recipe(
        source="t.csv", source_kind="table", data_digest=digest_of(content), r=0.0, Lambda=0.0,
        tau=0.0, drop_degenerate=True,
    )  # fmt: skip
    s = Session(Moment(recipe, recipe))
    obs = table_of(s.memo, content, recipe)
    assert obs.n_columns == 9
    assert _kept_columns(s, recipe, content, obs) == tuple(frame.columns[:-1])
    assert s.uploads == {}
    as_it_is = replace(recipe, drop_degenerate=False)
    assert _kept_columns(s, as_it_is, content, obs) == obs.names
