"""Pins, Compare and support in Chromium: what an analyst clicks, sees, and finds after a reload."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect
from playwright.sync_api import TimeoutError as LateError

import loopylatent as ll
from loopylatent.compare import LEFT, RIGHT, overlay
from loopylatent.figures.comparison import COLOURS
from loopylatent.ui.link import pins_of

if TYPE_CHECKING:
    from browser import WatchedPage

pytest_plugins = ["browser", "app_server"]
pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("browser")]

RING = "latent_cycle"
PATIENCE = 30.0
COLD = 90.0
LOOKED_FOR = ("_stcore/health", "_stcore/host-config")
"""Streamlit looks for these beside a page that is opened directly, before it finds them above."""


Visit = Callable[..., Page]


@pytest.fixture
def visit(open_page: Callable[..., WatchedPage], app_address: str) -> Iterator[Visit]:
    """Go to a page of the app and wait until it rests; every page is checked at the end."""
    seen: list[tuple[WatchedPage, list[str]]] = []

    def go(path: str = "", **params: str) -> Page:
        watched = open_page("about:blank")
        missing: list[str] = []
        page = watched.page
        page.on("response", lambda r: missing.append(r.url) if r.status >= 400 else None)
        page.set_default_timeout(1000 * PATIENCE)
        page.goto(f"{app_address}/{path}?{urlencode(params)}")
        page.locator("[data-test-script-state=notRunning]").wait_for(timeout=1000 * COLD)
        seen.append((watched, missing))
        return page

    yield go
    for watched, missing in seen:
        assert [url for url in missing if not url.endswith(LOOKED_FOR)] == []
        errors = [error for error in watched.errors if "404" not in error]
        assert len(watched.errors) - len(errors) <= len(missing)
        watched.errors[:] = errors


def rests(page: Page) -> None:
    page.locator("[data-test-script-state=notRunning]").wait_for()


def until(page: Page, holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (value := holds()):
        assert time.monotonic() < deadline, "what the test waits for never came true"
        page.wait_for_timeout(30)
    return value


def frame(page: Page, key: str) -> Locator:
    return page.locator(f".st-key-{key} .root")


def drawn(page: Page, key: str) -> list[dict[str, Any]]:
    """The edges of a picture as the browser has them."""
    page.locator(f".st-key-{key} .frame[data-settled=true]").wait_for(timeout=1000 * COLD)
    return frame(page, key).evaluate(
        "root => root.view.edges.get().map(e => ({id: e.id, color: e.color, dashes: e.dashes}))"
    )


def pins(page: Page) -> tuple[Any, ...]:
    params = {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items()}
    return pins_of(params)


def test_two_pins_are_compared_and_survive_a_reload(visit):
    page = visit(sample=RING)
    page.get_by_role("button", name="Pin", exact=True).click()
    until(page, lambda: len(pins(page)) == 1)
    page.get_by_text("Dense", exact=True).click()
    page.get_by_role("button", name="Pin", exact=True).click()
    until(page, lambda: len(pins(page)) == 2)
    kept = pins(page)
    page.get_by_role("link", name="Compare").click()
    seen = [drawn(page, f"compare_{side}") for side in (0, 1)]
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
    until(page, lambda: pins(page) == kept)
    page.reload()
    assert [drawn(page, f"compare_{side}") for side in (0, 1)] == seen
    assert pins(page) == kept


def test_one_click_offers_two_pins_and_both_sides_share_a_layout(visit):
    page = visit("Compare", sample="bfi25")
    page.get_by_role("button", name="Compare the tree with the loops").click()
    for side in (0, 1):
        drawn(page, f"compare_{side}")
    left, right = (
        frame(page, f"compare_{side}").evaluate("root => root.debug().positions") for side in (0, 1)
    )
    columns = [str(k) for k in range(25)]
    assert [left[k] for k in columns] == [right[k] for k in columns]
    boxes = [page.locator(f".st-key-compare_{side} .frame").bounding_box() for side in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[1]["y"] + boxes[1]["height"] <= 900


def test_support_is_drawn_on_the_graph_and_the_slider_hides_what_has_little(visit):
    page = visit(sample="bfi25")
    page.get_by_role("tab", name="How sure?").click()
    page.get_by_role("button", name="How sure?").click()
    support = page.locator(".st-key-view").get_by_text("Support", exact=True)
    support.wait_for()
    page.get_by_text("a run agrees with this graph").wait_for()
    shades = until(page, lambda: _shades(page))
    assert len(shades) > 3
    assert any(edge["dashes"] for edge in drawn(page, "graph"))
    before = len(drawn(page, "graph"))
    slider = page.locator(".st-key-least_support input[type=range]")
    slider.focus()
    for _ in range(10):
        slider.press("ArrowRight")
    until(page, lambda: len(drawn(page, "graph")) < before)
    until(page, lambda: not any(edge["dashes"] for edge in drawn(page, "graph")))


def _shades(page: Page) -> set[float]:
    """How dark the edges are, once some of them are dashed."""
    edges = drawn(page, "graph")
    return {e["color"]["opacity"] for e in edges} if any(e["dashes"] for e in edges) else set()


def test_cancel_stops_the_runs_and_keeps_those_that_are_done(visit):
    page = visit(sample="newsgroups100_roweislike")
    page.get_by_role("tab", name="How sure?").click()
    _choose_runs(page, "200")
    page.get_by_role("button", name="How sure?").click()
    line = page.get_by_text(re.compile(r"Learning again: [1-9]\d* of 200 done, \d+ left"))
    line.wait_for()
    page.get_by_role("button", name="Cancel").click()
    page.get_by_text("stopped; 200 were asked for").wait_for()
    expect(page.get_by_role("button", name="Run all of them")).to_be_visible()


def _choose_runs(page: Page, number: str) -> None:
    """Choose from the list, which closes again where the page moves under it."""
    box = page.locator(".st-key-sure_runs input")
    option = page.get_by_role("option", name=number, exact=True)

    def chosen() -> bool:
        if box.input_value() == number:
            return True
        if option.is_visible():
            with suppress(LateError):  # it closed meanwhile
                option.click(timeout=2000)
        else:
            box.press("ArrowDown")
        return False

    until(page, chosen)
    rests(page)
