"""Pins, Compare and support in Chromium, also after a reload."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from helpers.browser import AppTab, WatchedPage, visiting
from playwright.sync_api import Locator, TimeoutError as LateError

import loopylatent as ll
from loopylatent.analysis.overlay import LEFT, RIGHT, overlay
from loopylatent.figures.overlays import COLOURS
from loopylatent.ui.shell.session import pins_of

pytestmark = [pytest.mark.browser, pytest.mark.long]

RING = "latent_cycle"


class Tab(AppTab):
    def picture(self, key: str) -> Locator:
        return self.page.locator(f".st-key-{key} .root")

    def drawn(self, key: str) -> list[dict[str, Any]]:
        """Return the edges of a graph in the browser, once nothing moves."""
        self.page.locator(f".st-key-{key} .frame").wait_for()
        self.rests()
        self.page.locator(f".st-key-{key} .frame[data-settled=true]").wait_for()
        return self.picture(key).evaluate(
            "root => root.view.edges.get().map(e => ({id: e.id, color: e.color, dashes: e.dashes}))"
        )

    def pins(self) -> tuple[Any, ...]:
        return pins_of(self.link())

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def pin(self) -> None:
        before = len(self.pins())
        self.press("Pin")
        self.until(lambda: len(self.pins()) == before + 1)
        self.rests()

    def choose_runs(self, number: str) -> None:
        """Choose from the list, which closes if the page moves."""
        box = self.page.locator(".st-key-support_runs input")
        option = self.page.get_by_role("option", name=number, exact=True)

        def chosen() -> bool:
            if box.input_value() == number:
                return True
            if option.is_visible():
                with suppress(LateError):  # it has closed
                    option.click(timeout=2000)
            else:
                box.press("ArrowDown")
            return False

        self.until(chosen)
        self.rests()

    def shades(self) -> set[float]:
        """Return the opacities of the edges, once some are dashed."""
        edges = self.drawn("graph")
        return {e["color"]["opacity"] for e in edges} if any(e["dashes"] for e in edges) else set()


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[Tab]:
    yield from visiting(Tab(app_page, app_address))


def test_two_pins_are_compared_and_survive_a_reload(tab):
    tab.go(sample=RING)
    tab.pin()
    before = tab.link()["r"]
    tab.page.get_by_text("Dense", exact=True).click()
    tab.until(lambda: tab.link()["r"] != before)
    tab.rests()
    tab.pin()
    kept = tab.pins()
    tab.page.get_by_role("link", name="Compare").click()
    seen = [tab.drawn(f"compare_{side}") for side in (0, 1)]
    D = ll.information_distances(ll.load_sample(RING).observations)
    graphs = [
        ll.learn(D, r=pin.recipe.r, Lambda=pin.recipe.Lambda, tau=pin.recipe.tau).graph
        for pin in kept
    ]
    laid = overlay(graphs)
    difference = laid.difference(0, 1)
    for which, own in ((0, LEFT), (1, RIGHT)):
        ends = laid.graph.edges[laid.edges_in[:, which]].tolist()
        assert {edge["id"] for edge in seen[which]} == {f"{u}-{v}" for u, v in ends}
        marked = {e["id"] for e in seen[which] if e["color"].get("color") == COLOURS[own]}
        only = laid.graph.edges[difference.edges == own].tolist()
        assert marked == {f"{u}-{v}" for u, v in only}
    tab.becomes(tab.pins, kept)
    tab.page.reload()
    assert [tab.drawn(f"compare_{side}") for side in (0, 1)] == seen
    assert tab.pins() == kept


def test_one_click_offers_two_pins_and_both_sides_share_a_layout(tab):
    tab.go("Compare", sample="bfi25")
    tab.press("Compare with tree")
    for side in (0, 1):
        tab.drawn(f"compare_{side}")
    left, right = (
        tab.picture(f"compare_{side}").evaluate("root => root.debug().positions") for side in (0, 1)
    )
    columns = [str(k) for k in range(25)]
    assert [left[k] for k in columns] == [right[k] for k in columns]
    boxes = [tab.steady(tab.page.locator(f".st-key-compare_{side} .frame")) for side in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[1]["y"] + boxes[1]["height"] <= 900


def test_support_is_drawn_on_the_graph_and_the_slider_hides_parts_with_little(tab):
    tab.go(sample="bfi25")
    tab.turn_to("Stability")
    tab.press("Bootstrap")
    tab.page.locator(".st-key-view").get_by_text("Support", exact=True).wait_for()
    tab.page.get_by_text("on average a resample agrees").wait_for()
    shades = tab.until(tab.shades)
    assert len(shades) > 3
    assert any(edge["dashes"] for edge in tab.drawn("graph"))
    before = len(tab.drawn("graph"))
    slider = tab.page.locator(".st-key-least_support input[type=range]")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    tab.until(lambda: len(tab.drawn("graph")) < before)
    tab.until(lambda: not any(edge["dashes"] for edge in tab.drawn("graph")))


def test_cancel_stops_resampling_and_keeps_the_finished_resamples(tab):
    tab.go(sample="newsgroups100_roweislike")
    tab.turn_to("Stability")
    tab.choose_runs("200")
    tab.press("Bootstrap")
    line = tab.page.get_by_text(re.compile(r"Resamples: [1-9]\d* of 200 done, \d+ left"))
    line.wait_for()
    tab.press("Cancel")
    tab.page.get_by_text("stopped; 200 requested").wait_for()
    tab.page.get_by_role("button", name="Run all resamples").wait_for()
