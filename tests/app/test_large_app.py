"""The Explore page with many columns, without a browser: what is drawn, said and computed when."""

from __future__ import annotations

import threading
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from helpers.app import (
    RING,
    TIMEOUT,
    button,
    counts_of,
    counts_on,
    drawn,
    drawn_edges,
    opened,
    press,
    ran,
    session_of,
    turn_to,
)
from helpers.large_tables import many_columns, packed
from streamlit.testing.v1 import AppTest

import loopylatent as ll
from loopylatent.analysis.stability.loop_test import Opening, opening_radius
from loopylatent.exporting.project.file import digest_of
from loopylatent.figures.simplify import MOST_DRAWN, SIMPLE_FROM, fold
from loopylatent.ui.explore import page as large
from loopylatent.ui.explore.scene import CHANGES, INITIAL
from loopylatent.ui.open import dialog
from loopylatent.ui.shell import background, results

P = 320


@pytest.fixture(scope="module")
def table() -> bytes:
    return packed(many_columns(P))


@pytest.fixture(scope="module")
def D(table) -> ll.DistanceMatrix:
    return ll.information_distances(ll.read_table(table))


@pytest.fixture(scope="module")
def tree(D) -> ll.LearnResult:
    return ll.learn(D)


def open_table(table: bytes, D: ll.DistanceMatrix, *, tested: bool = False) -> AppTest:
    """Open the table as the dialog does once its button is pressed."""
    page = opened(sample=RING)
    session, digest = session_of(page), digest_of(table)
    session.keep_upload(digest, table)
    recipe = ll.Recipe(
        source="many.parquet", source_kind="table", data_digest=digest, r=0.0, Lambda=0.0, tau=0.0
    )
    assert D.n_columns > SIMPLE_FROM
    dialog.open_at(session, D, recipe, None)
    if tested:
        session.untested = None
    return ran(page)


@pytest.fixture
def page(table, D) -> AppTest:
    return open_table(table, D, tested=True)


def sentence(page: AppTest) -> str:
    """What is said above the graph."""
    begins = ("Showing", f"{P} columns are too many")
    return next(text.value for text in page.caption if text.value.startswith(begins))


def nodes(page: AppTest) -> set[int]:
    return {node["id"] for node in drawn(page)["nodes"]}


def find(page: AppTest, node: int) -> AppTest:
    return ran(page.selectbox(key="find").set_value(node))


def curve_of(page: AppTest) -> Any:
    job = session_of(page).jobs.current("curve")
    assert job is not None
    return job


# What is drawn -----------------------------------------------------------------------------


def test_a_large_graph_opens_simplified(page, tree):
    graph = tree.graph
    assert counts_on(page) == counts_of(graph), "the numbers are those of the whole graph"
    part = fold(graph).show()
    assert nodes(page) == set(part.nodes)
    assert len(part.nodes) <= MOST_DRAWN
    assert drawn_edges(page) == {
        (u, v) for u, v in graph.edges.tolist() if part.is_drawn[u] and part.is_drawn[v]
    }
    assert sentence(page).startswith(f"Showing {len(part.drawn_columns)} of {P} columns by name")
    assert f"{sum(map(len, part.counted.values()))} are folded" in sentence(page)
    places = [(node["x"], node["y"]) for node in drawn(page)["nodes"]]
    assert len(set(places)) == len(places)


def test_a_collapsed_node_says_how_many_nodes_it_contains(page, tree):
    graph = tree.graph
    part = fold(graph).show()
    shown = {node["id"]: node for node in drawn(page)["nodes"]}
    for node, inside in part.counted.items():
        label = shown[node]["label"]
        name, count = label.rsplit(" +", 1)
        assert name in {graph.labels[node], *(graph.names[column] for column in inside)}
        assert int(count) == len(inside) - (name != graph.labels[node])
        assert f"{len(inside)} columns folded into it" in shown[node]["title"]
    plain = [node for node in part.nodes if node not in part.counted]
    assert [shown[node]["label"] for node in plain] == [graph.labels[node] for node in plain]


def test_a_node_opens_and_closes(page, tree):
    folding = fold(tree.graph)
    first = folding.show()
    hub = max(first.counted, key=lambda node: len(first.counted[node]))
    before = {node["id"]: (node["x"], node["y"]) for node in drawn(page)["nodes"]}
    session = session_of(page)
    large.toggle(session, first, hub)
    session.select(hub)
    page = ran(page)
    assert nodes(page) == set(folding.show([hub], hub).nodes) > set(first.nodes)
    assert drawn(page)["selected"] == hub
    large.toggle(session, folding.show([hub], hub), hub)
    page = ran(page)
    assert nodes(page) == set(first.nodes)
    assert {n["id"]: (n["x"], n["y"]) for n in drawn(page)["nodes"]} == before
    large.toggle(session, first, hub)
    page = press(ran(page), "Close all")
    assert nodes(page) == set(first.nodes)


def test_a_column_that_is_sought_comes_with_its_neighbours(page, tree):
    graph = tree.graph
    part = fold(graph).show()
    column = next(iter(part.counted.values()))[0]
    page = find(page, column)
    assert {column, *graph.neighbours(column)} <= nodes(page)
    assert drawn(page)["centre"]["node"] == column
    page = find(page, graph.n_observed)
    assert {graph.n_observed, *graph.neighbours(graph.n_observed)} <= nodes(page)


def test_everything_can_be_shown_and_simplified_again(page, tree):
    few = nodes(page)
    page = press(page, "Show all")
    assert nodes(page) == set(range(tree.graph.n_nodes))
    assert sentence(page) == f"Showing all {P} columns."
    assert nodes(press(page, "Simplify")) == few


def test_the_other_views_are_simplified_too(page, tree):
    page = ran(page.button_group(key="view").set_value(INITIAL))
    assert nodes(page) == set(fold(tree.initial_graph).show().nodes)
    page = ran(page.button_group(key="view").set_value(CHANGES))
    assert len(nodes(page)) <= MOST_DRAWN
    assert "not drawn" in sentence(page) or "folded" in sentence(page)
    page = ran(page.toggle(key="cycles").set_value(True))
    assert len(nodes(page)) <= MOST_DRAWN


def test_neighbourhood_of_the_selected_node(page, tree):
    graph = tree.graph
    page = find(page, 5)
    page = ran(page.selectbox(key="part").set_value("within 2 steps"))
    assert nodes(page) == set(graph.neighbourhood(5, 2))
    assert "nearest to **column 5**" in sentence(page)
    page = press(page, "Back to overview")
    assert drawn(page)["selected"] is None
    assert len(nodes(page)) > 20


def test_the_picture_follows_a_threshold(page, D):
    before = nodes(page)
    page = ran(page.button_group(key="preset").set_value("Few loops"))
    graph = ll.learn(D, r=ll.loop_radius(D)).graph
    assert counts_on(page) == counts_of(graph)
    assert nodes(page) == set(fold(graph).show().nodes)
    assert nodes(press(page, "Undo")) == before


def test_everything_below_the_graph_works(page):
    for tab in page.tabs:
        page = turn_to(page, tab.label)
    assert any(one.label == "Picture (SVG)" for one in turn_to(page, "Export").get(
        "download_button"
    ))  # fmt: skip


# What comes later --------------------------------------------------------------------------


def test_the_curve_comes_from_the_background(page, D):
    job = curve_of(page)
    assert job.finished.wait(TIMEOUT)
    assert job.error is None
    page = ran(page)
    assert page.button_group(key="preset").options == ["Tree", "Few loops", "Dense"]
    session = session_of(page)
    found = session.memo.known("curve", D.digest)
    assert (found.intervals == ll.edge_density(D).intervals).all()
    assert session.memo.computed["curve"] == 1, "that of the small sample before"


def test_the_curve_can_be_stopped_and_begun_again(table, D, monkeypatch):
    monkeypatch.setattr(results, "curve_with_progress", _never_done)
    page = open_table(table, D, tested=True)
    job = curve_of(page)
    assert page.button_group(key="preset").options == ["Tree", "Few loops"]
    page = ran(page.button(key="cancel_curve").click())
    assert job.finished.wait(TIMEOUT)
    page = ran(page)
    assert curve_of(page) is job, "it does not restart automatically"
    assert any("sidebar" in text.value for text in page.info)
    monkeypatch.undo()
    page = ran(page.button(key="follow_curve").click())
    assert curve_of(page) is not job
    assert curve_of(page).finished.wait(TIMEOUT)
    assert curve_of(page).error is None


def _never_done(D: ll.DistanceMatrix, progress: Any) -> None:
    """A task that ends only when it is stopped."""
    while not threading.Event().wait(0.01):
        progress(1, D.n_columns)


def after_test(page: AppTest) -> AppTest:
    """Run the page until it has taken note of the test of loops."""
    assert curve_of(page).finished.wait(TIMEOUT)
    page = ran(page)
    job = session_of(page).jobs.current(large.TEST)
    if job is not None:
        assert job.finished.wait(TIMEOUT)
        page = ran(page)
    assert session_of(page).untested is None
    return page


def test_loops_are_tested_after_the_table_is_shown(table, D, monkeypatch):
    quicker = partial(opening_radius, n_simulations=19)
    monkeypatch.setattr(large, "opening_radius", quicker)
    page = open_table(table, D)
    session = session_of(page)
    assert session.recipe.r == D.r_max
    page = after_test(page)
    expected = quicker(D)
    assert session.recipe.r == expected.r
    assert session.notice is not None
    assert session.notice.startswith(expected.reason)
    if expected.r != D.r_max:
        assert session_of(press(page, "Undo")).recipe.r == D.r_max


def test_the_test_of_loops_can_be_stopped(table, D, monkeypatch):
    monkeypatch.setattr(large, "opening_radius", _never_done)
    page = open_table(table, D)
    session = session_of(page)
    assert curve_of(page).finished.wait(TIMEOUT)
    page = ran(page)
    job = session.jobs.current(large.TEST)
    assert job is not None
    page = ran(page.button(key="cancel_opening").click())
    assert job.finished.wait(TIMEOUT)
    ran(page)
    assert session.jobs.current(large.TEST) is None, "it is not begun again"
    assert session.notice == large.words.stopped
    assert session.recipe.r == D.r_max


def test_a_table_that_was_changed_meanwhile_is_left_alone(table, D, monkeypatch):
    found = Opening(ll.loop_radius(D), None, "Loops are real.")
    monkeypatch.setattr(large, "opening_radius", lambda *_, **__: found)
    page = open_table(table, D)
    session = session_of(page)
    session.change(tau=0.5)
    page = after_test(page)
    assert session.recipe.r == D.r_max
    assert "Set r to" in page.info[0].value


# Very many columns -------------------------------------------------------------------------


@pytest.fixture
def very_large(table, D, monkeypatch) -> AppTest:
    """The same table, in an app that takes it for a very large one."""
    for module in (large, dialog, results):
        monkeypatch.setattr(module, "WHOLE_UP_TO", P - 1)
    return open_table(table, D)


def test_very_many_columns_open_on_a_table(very_large, tree):
    page, graph = very_large, tree.graph
    assert not [one for one in page.get("bidi_component") if one.key == "graph"]
    frame = next(one.value for one in page.dataframe if "hidden" in one.value.columns)
    assert sorted(frame["hidden"]) == sorted(graph.labels[graph.n_observed :])
    assert "too many to draw at once" in sentence(page)
    session = session_of(page)
    assert session.jobs.current("curve") is None, "no long task starts automatically"
    assert session.untested is None
    assert session.memo.computed["positions"] == 1, "only the small sample before was laid out"


def test_a_search_draws_the_neighbourhood(very_large, tree):
    graph = tree.graph
    page = find(very_large, 7)
    assert nodes(page) == set(graph.neighbourhood(7, large.NEAR_STEPS))
    assert "nearest to **column 7**" in sentence(page)
    page = press(page, "Back to table")
    assert "too many to draw at once" in sentence(page)


def test_what_needs_the_whole_graph_says_so(very_large):
    page = very_large
    for tab in page.tabs:
        page = turn_to(page, tab.label)
    page = ran(page.button(key="follow_curve").click())
    assert curve_of(page).finished.wait(TIMEOUT)
    page = ran(page)
    assert not [one for one in page.button if one.key == "follow_curve"]
    assert button(page, "Undo")


@pytest.mark.parametrize(
    ("p", "is_large", "is_never_whole"),
    [(300, False, False), (301, True, False), (2_000, True, False), (2_001, True, True)],
)
def test_what_is_drawn_is_decided_at_300_and_2000_columns(p, is_large, is_never_whole):
    names = tuple(f"c{k}" for k in range(p))
    edges = [(k, k + 1) for k in range(p - 1)]
    chain = ll.LatentGraph.build(names, 0, edges, np.ones(p - 1))
    assert (large.is_large(chain), large.is_never_whole(chain)) == (is_large, is_never_whole)
    kept = SimpleNamespace(get=lambda _kind, _key, make: make())
    s = SimpleNamespace(selected=None, view={}, memo=kept, searched=None, opened=frozenset())
    part = large.part_of(s, chain, None)
    assert (part is not None) == is_large
    if part is not None:
        assert bool(part.nodes) == (not is_never_whole)


def test_the_page_can_be_used_while_the_warm_up_runs(monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slow_warm_up():
        begun.set()
        go_on.wait(TIMEOUT)

    background.warm_up_once.clear()
    monkeypatch.setattr(background, "warm_up", slow_warm_up)
    try:
        page = opened(sample=RING)
        assert begun.wait(TIMEOUT)
        n_edges = len(drawn_edges(page))
        assert n_edges > 0
        page = opened(sample="bfi25")
        assert len(drawn_edges(page)) > 0
        assert background.warm_up_once().is_alive()
    finally:
        go_on.set()
        background.warm_up_once.clear()
