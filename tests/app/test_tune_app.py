"""The Tune page run without a browser: what it computes, shows, suggests and keeps."""

from __future__ import annotations

import base64
import threading
from dataclasses import astuple
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.hostile import hostile_frame
from helpers.tune_page import (
    figure,
    opened,
    press,
    ran,
    session_of,
    settled,
    trace,
    tuning_of,
    turn_to,
    words_on,
)

import loopylatent as ll
from loopylatent.analysis.stability.loop_test import loop_test
from loopylatent.analysis.sweep import points as sweep_points, scores as sweep_scores
from loopylatent.analysis.sweep.points import radii
from loopylatent.analysis.sweep.scores import Split
from loopylatent.analysis.sweep.suggest import best_held_out, choose
from loopylatent.compute.cache import ResultCache
from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.synthetic.families import latent_tree
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.session import REFINE
from loopylatent.ui.shell.widgets import progress_line, texts
from loopylatent.ui.tune import state
from loopylatent.ui.tune.page import BARCODE, GRID, TABLE

RING = {"sample": "latent_cycle", "r": "1.5", "tau": "0.1"}


def numbers(values: Any) -> list[float]:
    """Plotly sends numbers as a list or as packed bytes."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), values["dtype"]).tolist()
    return list(values)


def swept(page: Any, **more: Any) -> ll.Sweep:
    """The sweep of the package at the current settings of a page."""
    recipe = session_of(page).recipe
    D = ll.information_distances(ll.load_sample(recipe.sample_name).observations)
    return ll.sweep(D, None, recipe.Lambda, recipe.tau, **more)


# Sweep over r ------------------------------------------------------------------------------


@pytest.mark.parametrize("sample", ["latent_cycle", "bfi25", "newsgroups100_roweislike"])
def test_the_page_opens_cold_with_the_sweep_of_the_package(sample):
    page = opened(sample=sample)
    found = swept(page)
    targets = trace(page, "settings")
    assert numbers(targets["x"]) == [point.thresholds.r for point in found.points]
    assert numbers(targets["y"]) == [point.n_edges for point in found.points]
    assert numbers(trace(page, "hidden")["y"])[:-1] == [p.n_hidden for p in found.points]
    assert numbers(trace(page, "cycles")["y"])[:-1] == [p.n_cycles for p in found.points]


def test_moving_r_learns_nothing_again(monkeypatch):
    page = opened(**RING)
    learned = []
    original = sweep_points.learn
    monkeypatch.setattr(
        sweep_points, "learn", lambda *a, **n: (learned.append(a), original(*a, **n))[1]
    )
    page = settled(ran(page.slider(key="slider_r").set_value(1.8)))
    assert learned == []
    page = settled(ran(page.slider(key="slider_tau").set_value(0.2)))
    n = len(learned)
    assert n > 0
    settled(ran(page.slider(key="slider_tau").set_value(0.1)))
    assert len(learned) == n, "known graphs are not learned again"


def test_the_table_holds_the_same_numbers():
    page = turn_to(opened(**RING), TABLE)
    found = swept(page).to_frame()
    shown = page.dataframe[0].value
    for column in ("r", "edges", "hidden", "cycles", "girth", "components", "stuck"):
        assert shown[column].tolist() == found[column].tolist()


# Suggestions -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def suggested() -> Any:
    page = opened(**RING)
    return settled(press(page, "suggest"))


def test_suggestions_are_those_of_the_package(suggested):
    obs = ll.load_sample("latent_cycle").observations
    found = swept(suggested, obs=obs)
    wanted = choose(ll.information_distances(obs), found.points, found.scores)
    shown = words_on(suggested)
    for one in wanted:
        assert one.title in shown
        assert one.reason in shown
    assert numbers(trace(suggested, "BIC")["y"]) == [one.bic_row for one in found.scores]
    assert numbers(trace(suggested, "held-out rows")["y"]) == [one.test_row for one in found.scores]


def test_one_click_applies_a_suggestion_says_so_and_can_be_undone():
    page = opened(**RING)
    page = settled(press(page, "suggest"))
    before = session_of(page).recipe
    page = press(page, "apply_tree")
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    assert session_of(page).recipe.r == D.r_max
    assert "Now at “Tree for reference" in words_on(page)
    assert page.button(key="tune_apply_tree").disabled
    page = ran(next(one for one in page.button if one.label == "Undo").click())
    assert session_of(page).recipe == before
    assert "Now at" not in words_on(page)


def test_nothing_is_fitted_twice(monkeypatch):
    page = settled(press(opened(**RING), "suggest"))
    fits = []
    original = sweep_scores.fit_parameters
    monkeypatch.setattr(
        sweep_scores, "fit_parameters", lambda *a, **n: (fits.append(a), original(*a, **n))[1]
    )
    page = settled(ran(page.slider(key="slider_tau").set_value(0.2)))
    page = settled(ran(page.slider(key="slider_tau").set_value(0.1)))
    assert "Suggestions" in words_on(page)
    assert fits == []


def test_distances_alone_cannot_be_scored():
    page = opened(**RING)
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    content = D.to_frame().to_csv(index_label="column").encode()
    s = session_of(page)
    s.keep_upload(digest_of(content), content)
    s.open(
        Recipe(
            source="d.csv",
            source_kind="distances",
            data_digest=digest_of(content),
            r=1.5,
            Lambda=0.0,
            tau=0.1,
        )
    )
    page = settled(ran(page))
    assert page.button(key="tune_suggest").disabled
    assert texts("tune").no_rows in words_on(page)
    assert "cannot be tested" in words_on(page)


def test_a_table_that_cannot_be_fitted_says_why():
    page = opened(**RING)
    frame = ll.load_sample("latent_cycle").observations.to_frame().head(400)
    frame["number"] = np.random.default_rng(0).normal(size=400) + frame.iloc[:, 0].astype(float)
    upload(page, frame.to_csv(index=False).encode())
    page = settled(press(settled(ran(page)), "suggest"))
    assert "could not be scored" in words_on(page)
    assert "mixed" in words_on(page)


def upload(page: Any, content: bytes) -> None:
    D = ll.information_distances(ll.read_table(content))
    s = session_of(page)
    s.keep_upload(digest_of(content), content)
    there = ll.default_thresholds(D)
    s.open(
        Recipe(
            source="t.csv",
            source_kind="table",
            data_digest=digest_of(content),
            r=there.r,
            Lambda=there.Lambda,
            tau=there.tau,
        )
    )


def test_hostile_names_break_nothing():
    page = opened(**RING)
    upload(page, hostile_frame().to_csv(index=False).encode())
    page = turn_to(settled(ran(page)), BARCODE)
    assert "<" not in "".join(figure(page)["layout"]["yaxis"].get("ticktext", []))


# Cancel ------------------------------------------------------------------------------------


def test_cancel_stops_the_work_keeps_what_is_done_and_resumes(monkeypatch):
    """The third fit waits until Cancel has been pressed; only two are done then."""
    page = opened(**RING)
    pressed, fits = threading.Event(), []
    original = sweep_scores.fit_parameters
    lock = threading.Lock()

    def slow(graph: Any, obs: Any, settings: Any, check: Any) -> Any:
        with lock:
            fits.append(graph)
            late = len(fits) > 2
        while late and not pressed.is_set():
            check(0, 1)
        return original(graph, obs, settings, check)

    monkeypatch.setattr(sweep_scores, "fit_parameters", slow)
    page = press(page, "suggest")
    job = session_of(page).jobs.current("sweep scores")
    while job.done < 2:
        assert not job.finished.wait(0.02), job.error
    page = ran(page)
    assert "2 of" in page_progress(page)
    page = press(page, "cancel")
    assert job.finished.wait(60)
    assert job.error == "stopped"
    page = ran(page)
    assert page.button(key="tune_suggest").label == "Resume suggestions"
    pressed.set()
    n_before = len(fits)
    page = settled(press(page, "suggest"))
    assert "Suggestions" in words_on(page)
    again = fits[n_before:]
    assert not set(again) & set(fits[:2]), "what was done is not done again"


def page_progress(page: Any) -> str:
    return " ".join(one.proto.text for one in page.get("progress"))


def test_other_settings_stop_outdated_work(monkeypatch):
    page = opened(**RING)
    release = threading.Event()

    def endless(*arguments: Any) -> None:
        while not release.is_set():
            arguments[-1](0, 1)

    monkeypatch.setattr(sweep_scores, "fit_parameters", endless)
    page = press(page, "suggest")
    job = session_of(page).jobs.current("sweep scores")
    assert not job.finished.is_set()
    ran(page.slider(key="slider_tau").set_value(0.2))
    assert job.finished.wait(60)
    assert job.error == "stopped"


# The grid, the barcode, the loop test ------------------------------------------------------


def test_the_grid_holds_the_graphs_of_the_package():
    page = settled(turn_to(opened(**RING), GRID))
    heat = next(one for one in figure(page)["data"] if one["type"] == "heatmap")
    recipe = session_of(page).recipe
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    targets = trace(page, "settings")
    assert len(targets["customdata"]) == np.size(heat["text"])
    for margin, tau, shown in targets["customdata"][::7]:
        graph = ll.learn(D, recipe.r, margin, tau).graph
        assert shown == str(graph.n_hidden)


def test_the_grid_is_scored_on_request():
    page = settled(turn_to(opened(**RING), GRID))
    page = ran(page.selectbox(key="tune_measure").set_value("BIC"))
    assert {row[2] for row in trace(page, "settings")["customdata"]} == {""}
    page = settled(press(page, "score_cells"))
    known = {row[2] for row in trace(page, "settings")["customdata"]}
    assert "" not in known
    assert max(map(float, known)) < 0


def test_a_method_that_does_not_use_the_margin_says_so():
    page = settled(turn_to(opened(**RING, method="nj"), GRID))
    assert "does not use Λ" in words_on(page)


def test_the_barcode_shows_the_ring():
    page = turn_to(opened(**RING), BARCODE)
    bars = trace(page, "cycles")
    found = [bar for bar in ll.barcode(swept(page).points, 99.0) if bar.kind == "cycle"]
    assert numbers(bars["base"])[0] == pytest.approx(found[0].start)


def test_the_loop_test_is_for_the_current_radius():
    page = settled(press(opened(**RING), "loops"))
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    assert state.loops_sentence(loop_test(D, 1.5)) in words_on(page)
    page = ran(page.slider(key="slider_r").set_value(1.8))
    assert page.button(key="tune_loops").label == "Test loops at r = 1.8"
    page = ran(page.slider(key="slider_r").set_value(1.5))
    assert state.loops_sentence(loop_test(D, 1.5)) in words_on(page)


def test_beyond_the_noise_floor_the_page_warns():
    page = opened(sample="bfi25", r="6.5")
    assert "beyond the noise floor" in words_on(page)
    page = ran(page.slider(key="slider_r").set_value(2.5))
    assert "is beyond the noise floor" not in words_on(page)


def test_progress_is_shown_in_numbers_and_time():
    job = Job("x", done=3, total=9, began=0.0)
    line = progress_line("Fitting", job)
    assert line.startswith("Fitting: 3 of 9 done, 6 left, about ")
    job.done = 0
    assert progress_line("Fitting", job) == "Fitting: 0 of 9 done, 9 left"


def test_two_sessions_share_nothing():
    one, other = opened(**RING), opened(**RING)
    assert isinstance(tuning_of(one).known, ResultCache)
    assert tuning_of(one).known is not tuning_of(other).known


def test_the_page_uses_the_radii_of_the_package():
    page = opened(**RING)
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    assert numbers(trace(page, "settings")["x"]) == radii(ll.edge_density(D)).tolist()


# Refinement --------------------------------------------------------------------------------


def test_the_best_graph_is_refined_on_request_and_opens_on_explore():
    rows = latent_tree(2, 0, 3, seed=1).sample(300, seed=2)
    content = pd.DataFrame(rows.dense().astype(int), columns=list(rows.names)).to_csv(index=False)
    page = opened(**RING)
    upload(page, content.encode())
    page = settled(press(settled(ran(page)), "suggest"))
    assert "Refined by likelihood" in words_on(page)
    page = settled(press(page, "refine"))
    obs = ll.read_table(content.encode())
    D = ll.information_distances(obs)
    recipe = session_of(page).recipe
    found = ll.sweep(D, None, recipe.Lambda, recipe.tau, obs=obs)
    best = best_held_out(found.scores)
    assert best.test_row == max(one.test_row for one in found.scores)
    split = Split.of(obs, D)
    graph = ll.learn(split.D, *astuple(best.settings.thresholds)).graph
    model = ll.refine(graph, split.train, evidence=False).model
    test = model.scores(split.test, seed=0)
    assert f"log-likelihood {test.log_likelihood / test.n_samples:.3f} per held-out" in words_on(
        page
    )
    assert f"{model.graph.n_edges} edges, {model.graph.n_hidden} hidden" in words_on(page)
    page = press(page, "open_refined")
    session = session_of(page)
    assert session.view[REFINE] == "structure"
    assert session.recipe.r == best.settings.thresholds.r
