"""Pins, the page Compare and the tab Stability of Explore, run without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.app import TIMEOUT, button, link_of, opened, press, ran, session_of
from helpers.hostile import HOSTILE_NAMES
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.overlay import BOTH, LEFT, RIGHT, overlay
from loopylatent.exporting.project.file import Pin, Recipe
from loopylatent.figures.overlays import COLOURS
from loopylatent.ui.explore.stability import SUPPORT, placed_like
from loopylatent.ui.shell import session
from loopylatent.ui.shell.session import add_pin, rename_pin

ROOT = Path(__file__).resolve().parents[2]
RING = "latent_cycle"


def compare(**params: str) -> AppTest:
    """Open the page Compare cold, by a link."""
    page = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT)
    page = page.switch_page("pages/3_Compare.py")
    for name, value in params.items():
        page.query_params[name] = value
    return ran(page)


def pictures(page: AppTest) -> dict[str, dict[str, Any]]:
    """What the graph components were given, by the ids that their edges have."""
    found = [json.loads(one.proto.json) for one in page.get("bidi_component") if one.proto.json]
    return {one["file_name"]: one for one in found if one and "nodes" in one}


def said(page: AppTest) -> str:
    texts = [*page.markdown, *page.caption, *page.warning, *page.error, *page.info]
    return " ".join(text.value for text in texts)


def graph_of(sample: str, r: float) -> ll.LatentGraph:
    D = ll.information_distances(ll.load_sample(sample).observations)
    opening = ll.load_sample(sample).opening
    return ll.learn(D, r=r, Lambda=opening.get("Lambda"), tau=opening.get("tau")).graph


def test_without_pins_the_page_offers_a_tree_and_a_graph_with_loops():
    page = compare(sample=RING)
    assert "Nothing is pinned yet" in said(page)
    page = press(page, "Compare with tree")
    names = [pin.name for pin in session_of(page).pins]
    assert names == ["tree", "with loops"]
    D = ll.information_distances(ll.load_sample(RING).observations)
    assert [pin.recipe.r for pin in session_of(page).pins] == [D.r_max, ll.loop_radius(D)]
    assert {"tree", "with-loops"} <= set(pictures(page))


def test_both_pictures_share_one_layout_and_mark_differences():
    page = press(compare(sample="bfi25"), "Compare with tree")
    D = ll.information_distances(ll.load_sample("bfi25").observations)
    laid = overlay([graph_of("bfi25", D.r_max), graph_of("bfi25", ll.loop_radius(D))])
    difference = laid.difference(0, 1)
    shown = pictures(page)
    places = [{n["id"]: (n["x"], n["y"]) for n in shown[name]["nodes"]} for name in
              ("tree", "with-loops")]  # fmt: skip
    common = set(places[0]) & set(places[1])
    assert common >= set(range(25))
    assert all(places[0][node] == places[1][node] for node in common)
    for name, own in (("tree", LEFT), ("with-loops", RIGHT)):
        coloured = {
            e["id"] for e in shown[name]["edges"] if e["color"].get("color") == COLOURS[own]
        }
        ends = laid.graph.edges[difference.edges == own].tolist()
        assert coloured == {f"{u}-{v}" for u, v in ends}
    edges, hidden = difference.count(BOTH)
    assert f"In both: **{edges}** edges, **{hidden}** hidden nodes" in said(page)


def test_pins_of_the_link_are_restored_with_their_names():
    page = press(compare(sample=RING), "Compare with tree")
    pins = session_of(page).pins
    again = compare(**link_of(page))
    assert session_of(again).pins == pins
    assert set(pictures(again)) == set(pictures(page))
    elsewhere = opened(**link_of(page))
    assert session_of(elsewhere).pins == pins


def test_the_current_setting_can_be_pinned_on_any_page_and_only_once():
    page = opened(sample=RING)
    page = press(page, "Pin")
    assert [pin.recipe for pin in session_of(page).pins] == [session_of(page).recipe]
    assert button(page, "Pinned").disabled
    assert "pins" in link_of(page)


def test_a_pin_is_compared_with_the_current_settings():
    page = compare(sample=RING, pins='[["mine",{"sample":"latent_cycle","r":"3","Lambda":"0.01",'
                   '"tau":"0.1"}]]')  # fmt: skip
    assert [box.label for box in page.selectbox if box.label in ("Left", "Right")] == [
        "Left",
        "Right",
    ]
    assert {"mine", "current-settings"} <= set(pictures(page))


def test_swapping_changes_the_sides():
    page = press(compare(sample=RING), "Compare with tree")
    before = [box.value for box in page.selectbox if box.label in ("Left", "Right")]
    page = press(page, "Swap")
    after = [box.value for box in page.selectbox if box.label in ("Left", "Right")]
    assert after == before[::-1]


def test_tables_of_other_columns_are_rejected_in_one_line():
    pins = [["a", {"sample": RING, "r": "3", "Lambda": "0.01", "tau": "0.1"}],
            ["b", {"sample": "ability16", "r": "3", "Lambda": "0.01", "tau": "0.1"}]]  # fmt: skip
    page = compare(sample=RING, pins=json.dumps(pins))
    page.selectbox(key="compare_right").set_value("b")
    page = ran(page)
    assert [error.value for error in page.error]
    assert "different columns" in said(page).replace("\\", "")


def test_pins_are_renamed_opened_and_removed():
    page = press(compare(sample=RING), "Compare with tree")
    page.session_state["compare_more"] = "Pins"
    page = ran(page)
    page.text_input(key="pin_name_0").set_value("  the   safe one ")
    page = ran(page)
    assert [pin.name for pin in session_of(page).pins] == ["the safe one", "with loops"]
    page = ran(page.button(key="pin_open_0").click())
    assert session_of(page).recipe == session_of(page).pins[0].recipe
    page = ran(page.button(key="pin_remove_1").click())
    assert [pin.name for pin in session_of(page).pins] == ["the safe one"]


def test_scores_arrive_on_request_and_are_those_of_the_package():
    page = press(compare(sample="ability16"), "Compare with tree")
    page = press(page, "Score graphs")
    job = session_of(page).jobs.current("compare")
    assert job.finished.wait(TIMEOUT)
    assert job.error is None
    page = ran(page)
    frame = next(f.value for f in page.dataframe if "log-likelihood per row" in f.value.columns)
    obs = ll.load_sample("ability16").observations
    for row, pin in zip(frame.to_dict("records"), session_of(page).pins, strict=False):
        graph = graph_of("ability16", pin.recipe.r)
        model = ll.fit_parameters(graph, obs)
        assert row["edges"] == graph.n_edges
        per_row = model.train_log_likelihood / model.n_samples
        assert row["log-likelihood per row"] == pytest.approx(per_row)


@pytest.mark.parametrize(
    "told",
    [
        "nonsense",
        "{}",
        "[1, 2]",
        '[["a"]]',
        '[["a", {"sample": "no such", "r": "1", "Lambda": "0", "tau": "0"}]]',
        '[["a", {"sample": "bfi25", "r": "x", "Lambda": "0", "tau": "0"}]]',
        '[["", {"sample": "bfi25", "r": "1", "Lambda": "0", "tau": "0"}]]',
        '[["a\\ud800", {"sample": "bfi25", "r": "1", "Lambda": "0", "tau": "0"}]]',
        "[" * 5000,
    ],
)
def test_a_link_with_broken_pins_opens_without_them(told):
    assert session.pins_of({"pins": told}) == ()


def test_pins_go_through_a_link_unchanged():
    recipe = Recipe(source="sample:bfi25", source_kind="sample", r=0.1 + 0.2, Lambda=0, tau=1e-17,
                    order="random", seed=7)  # fmt: skip
    own = Recipe(source="mine.csv", source_kind="table", r=1, Lambda=0, tau=0, data_digest="0" * 16)
    pins = (Pin('<b>"x" & ü', recipe), Pin("own", own))
    assert session.pins_of(session.pin_params(pins)) == pins[:1]


def test_names_of_pins_stay_different_and_few():
    page = opened(sample=RING)
    s = session_of(page)
    for k in range(session.MOST_PINS + 3):
        add_pin(s, Recipe(source="sample:bfi25", source_kind="sample", r=2 + k, Lambda=0, tau=0),
                "same")  # fmt: skip
    assert len(s.pins) == session.MOST_PINS == len({pin.name for pin in s.pins})
    rename_pin(s, s.pins[1].name, s.pins[0].name)
    assert len({pin.name for pin in s.pins}) == session.MOST_PINS


@pytest.mark.parametrize("name", [name for name in HOSTILE_NAMES if name.strip()][:8])
def test_a_pin_may_be_called_anything(name):
    told = [[name, {"sample": RING, "r": "3", "Lambda": "0.01", "tau": "0.1"}]]
    page = compare(sample=RING, pins=json.dumps(told))
    kept = session_of(page).pins[0].name
    assert kept == name.strip()[: session.LONGEST_PIN_NAME]
    texts = [text.value for text in page.markdown]
    assert not any(kept in text for text in texts if "<" in kept)


# Stability ---------------------------------------------------------------------------------


def bootstrapped(**params: str) -> AppTest:
    """Open Explore and compute the support of its graph."""
    page = opened(**params)
    page.session_state["more"] = "Stability"
    page.session_state["support_runs"] = 25
    session_of(page).view["sure_runs"] = 25
    page = press(ran(page), "Bootstrap")
    job = session_of(page).jobs.current("support")
    assert job.finished.wait(TIMEOUT)
    assert job.error is None
    return ran(page)


@pytest.fixture(scope="module")
def supported() -> AppTest:
    return bootstrapped(sample=RING)


def test_support_on_the_page_is_that_of_the_package(supported):
    page = supported
    s = session_of(page)
    obs = ll.load_sample(RING).observations
    recipe = s.recipe
    found = ll.stability(obs, recipe.r, recipe.Lambda, recipe.tau, n_resamples=25)
    frame = next(f.value for f in page.dataframe if list(f.value.columns)[-1:] == ["support"])
    assert sorted(frame["support"]) == pytest.approx(sorted(found.edges))
    assert f"instability **{found.instability:.2f}**" in said(page)
    shown = pictures(page)[next(iter(pictures(page)))]
    dashed = {edge["id"] for edge in shown["edges"] if edge["dashes"]}
    weak = found.graph.edges[found.edges < 0.5].tolist()
    assert dashed == {f"{u}-{v}" for u, v in weak}


def test_the_slider_hides_what_has_less_support(supported):
    page = supported
    obs = ll.load_sample(RING).observations
    recipe = session_of(page).recipe
    found = ll.stability(obs, recipe.r, recipe.Lambda, recipe.tau, n_resamples=25)
    page.slider(key="least_support").set_value(0.6)
    page = ran(page)
    shown = pictures(page)[next(iter(pictures(page)))]
    there = {node["id"] for node in shown["nodes"]}
    p = found.graph.n_observed
    assert there == {*range(p), *(p + k for k in np.flatnonzero(found.hidden >= 0.6).tolist())}
    kept = found.graph.edges[found.edges >= 0.6].tolist()
    assert {e["id"] for e in shown["edges"]} == {f"{u}-{v}" for u, v in kept if {u, v} <= there}
    page.slider(key="least_support").set_value(0.0)
    ran(page)


def test_support_belongs_to_its_graph_and_comes_back_with_it():
    page = bootstrapped(sample=RING)
    views = next(one for one in page.get("button_group") if one.label == "View")
    assert SUPPORT in views.options
    n_jobs = session_of(page).jobs.current("support")
    r = session_of(page).recipe.r
    session_of(page).change(r=0.8 * r)
    page = ran(page)
    views = next(one for one in page.get("button_group") if one.label == "View")
    assert SUPPORT not in views.options
    assert session_of(page).jobs.current("support") is n_jobs
    page = press(page, "Undo")
    views = next(one for one in page.get("button_group") if one.label == "View")
    assert SUPPORT in views.options


def test_cancel_keeps_the_runs_that_are_done():
    page = opened(sample="newsgroups100_roweislike")
    session_of(page).view["sure_runs"] = 200
    page.session_state["more"] = "Stability"
    page = press(ran(page), "Bootstrap")
    job = session_of(page).jobs.current("support")
    for _ in range(10_000):
        if job.done >= 2 or job.finished.wait(0.01):
            break
    job.cancelled.set()
    assert job.finished.wait(TIMEOUT)
    page = ran(page)
    assert 0 < job.result.n_used < 200
    assert "stopped; 200 requested" in said(page)
    assert button(page, "Run all resamples")


def test_the_consensus_is_drawn_on_the_places_of_the_graph(supported):
    page = supported
    page.toggle(key="consensus_on").set_value(True)
    page = ran(page)
    main, agreed = (
        next(one for name, one in pictures(page).items() if (name == "consensus") is wanted)
        for wanted in (False, True)
    )
    places = {node["id"]: (node["x"], node["y"]) for node in main["nodes"]}
    for node in agreed["nodes"]:
        if node["id"] < 20:
            assert (node["x"], node["y"]) == places[node["id"]]


def test_hidden_nodes_without_a_counterpart_stand_between_their_neighbours():
    shown = ll.LatentGraph.build("abc", 0, [(0, 1), (1, 2)])
    star = ll.LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    places = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 6.0]])
    place, names = placed_like(star, shown, places, ("a", "b", "c"))
    assert place[3].tolist() == [1.0, 2.0]
    assert names == {3: "c1"}


def test_given_distances_offer_what_they_can():
    D = ll.information_distances(ll.load_sample(RING).observations)
    text = pd.DataFrame(D.values, columns=list(D.names)).to_csv(index=False)
    page = opened(sample=RING)
    s = session_of(page)
    digest = "a" * 16
    s.keep_upload(digest, text.encode())
    s.open(Recipe(source="d.csv", source_kind="distances", r=D.r_max, Lambda=0, tau=0.1,
                  data_digest=digest))  # fmt: skip
    page.session_state["more"] = "Stability"
    page = ran(page)
    assert page.selectbox(key="support_scheme").options == ["random visiting orders only"]
