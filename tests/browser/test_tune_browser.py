"""The Tune page in Chromium: clicks on plots set thresholds; Cancel works during a sweep."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import AppTab, WatchedPage, visiting
from playwright.sync_api import Locator

import loopylatent as ll
from loopylatent.ui.tune.page import BARCODE, GRID, SWEEP, TABLE

pytestmark = [pytest.mark.browser, pytest.mark.long]

RING = {"sample": "latent_cycle", "r": "1.5", "tau": "0.1"}
WORDS = {"sample": "newsgroups100_roweislike"}
PLOTS = {SWEEP: "along", GRID: "over", BARCODE: "bars"}


@dataclass
class Tab(AppTab):
    shown: str = SWEEP

    def open(self, **params: Any) -> None:
        self.go("Tune", **params)
        self.page.locator(".st-key-tune_panel").wait_for()
        self.idle()
        self.drawn()

    def idle(self) -> None:
        """Wait until neither the script nor background work is running."""
        self.cancel.wait_for(state="detached")
        self.rests()

    def drawn(self) -> None:
        """Wait for the plot of the open tab; an older one may still be shown."""
        self.until(lambda: self.plot.count() == 1 and self.plot.is_visible())

    @property
    def plot(self) -> Locator:
        """The plot of the tab opened last."""
        return self.page.locator(f'[class*="st-key-tune_{PLOTS[self.shown]}_"] .js-plotly-plot')

    def ask(self, script: str) -> Any:
        """Return the value of a function of the plot, once there is a value."""
        answer = (
            f"plots => plots.length === 1 && plots[0]._fullLayout ? ({script})(plots[0]) : null"
        )
        return self.until(lambda: self.plot.evaluate_all(answer))

    @property
    def cancel(self) -> Locator:
        return self.page.locator(".st-key-tune_cancel button")

    @property
    def suggest(self) -> Locator:
        return self.page.locator(".st-key-tune_suggest button")

    def said(self) -> str:
        found = self.page.locator(".st-key-tune_message")
        return found.inner_text() if found.count() else ""

    def turn_to(self, tab: str) -> None:
        self.shown = tab
        super().turn_to(tab)

    def plot_of(self, tab: str) -> None:
        """Open a tab and wait until its plot is final."""
        self.turn_to(tab)
        self.drawn()
        self.idle()
        self.drawn()

    def click(self, place: str) -> None:
        """Click at a position given by a script, in pixels of the plot, once plotly sees the mouse.

        A redrawn plot needs a new mouse movement.
        """
        seen: list[tuple[float, float]] = [(0.0, 0.0)]

        def pointed() -> bool:
            """Whether plotly sees the mouse and nothing has moved since the last check."""
            self.drawn()
            x, y = self.ask(place)
            left, top = self.ask("plot => (box => [box.x, box.y])(plot.getBoundingClientRect())")
            seen.append((left + x, top + y))
            self.page.mouse.move(seen[-1][0] + 1, seen[-1][1])
            self.page.mouse.move(*seen[-1])
            is_seen = self.ask("plot => ({seen: (plot._hoverdata || []).length > 0})")["seen"]
            return is_seen and seen[-1] == seen[-2]

        self.until(pointed)
        self.page.mouse.click(*seen[-1])

    def click_goes(self, place: str, read: Callable[[], Any], expected: Any) -> None:
        """Click, and wait until the link shows the new settings."""
        self.click(place)
        self.becomes(read, expected)
        self.idle()

    def thresholds(self) -> dict[str, float]:
        link = self.link()
        return {name: float(link[name]) for name in ("r", "Lambda", "tau")}


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[Tab]:
    yield from visiting(Tab(app_page, app_address))


SETTING = """plot => {
  const {xaxis, yaxis} = plot._fullLayout;
  const points = plot.data.find(one => one.name === "settings");
  return [xaxis._offset + xaxis.d2p(points.x[%d]), yaxis._offset + yaxis.d2p(points.y[%d])];
}"""
CELLS = "plot => plot.data.find(one => one.name === 'settings').customdata"
BAR = "plot.data.find(one => one.name === 'cycles')"
IN_BAR = f"""plot => {{
  const {{xaxis, yaxis}} = plot._fullLayout, bar = {BAR};
  const at = xaxis.d2p(bar.base[0] + 0.25 * bar.x[0]);
  return [xaxis._offset + at, yaxis._offset + yaxis.d2p(bar.y[0])];
}}"""


def test_a_click_on_a_point_sets_r_and_confirms_it(tab):
    tab.open(**RING)
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    points = ll.sweep(D, None, tab.thresholds()["Lambda"], 0.1).points
    for k in (4, len(points) - 1, 4):  # also the same point twice
        tab.click_goes(SETTING % (k, k), lambda: tab.thresholds()["r"], points[k].thresholds.r)
        tab.until(lambda k=k: f"{points[k].n_edges} edges" in tab.said())
    assert tab.thresholds()["tau"] == 0.1


def test_a_click_goes_to_a_cell_of_the_grid_and_to_the_middle_of_a_bar(tab):
    tab.open(**RING)
    tab.plot_of(GRID)
    tab.until(lambda: all(row[2] for row in tab.ask(CELLS)))
    margin, tau, *_ = tab.ask(f"{CELLS}[10]")
    tab.click_goes(SETTING % (10, 10), tab.thresholds, {"r": 1.5, "Lambda": margin, "tau": tau})
    tab.plot_of(BARCODE)
    middle = tab.ask(f"plot => {BAR}.customdata[0][0]")
    tab.click_goes(IN_BAR, lambda: tab.thresholds()["r"], middle)


def test_cancel_works_while_a_sweep_runs_and_the_page_stays_usable(tab):
    tab.open(**WORDS)
    tab.suggest.click()
    progress = tab.page.locator(".stProgress")
    told = re.compile(r"Fitting along r: (\d+) of (\d+) done, (\d+) left")
    done = tab.until(
        lambda: (
            (found := told.search(" ".join(progress.all_inner_texts())))
            and int(found[1]) >= 1
            and found
        )
    )
    assert int(done[1]) + int(done[3]) == int(done[2]) > 5
    tab.page.get_by_role("tab", name=TABLE).click()  # the page responds during the fits
    tab.page.locator(".stDataFrame").wait_for()
    assert tab.cancel.count() == 1, "the fits should still go on"
    tab.cancel.click()
    tab.cancel.wait_for(state="detached")
    tab.until(lambda: "Resume" in tab.suggest.inner_text())
    assert tab.suggest.is_enabled()


def test_suggestions_are_applied_with_one_click(tab):
    tab.open(**RING)
    tab.suggest.click()
    card = tab.page.locator(".st-key-tune_card_tree")
    card.wait_for()
    tab.idle()
    card.get_by_role("button", name="Apply").click()
    r_max = ll.information_distances(ll.load_sample("latent_cycle").observations).r_max
    tab.becomes(lambda: tab.thresholds()["r"], r_max)
    tab.until(lambda: "Tree for reference" in tab.said())


@pytest.mark.parametrize(("size", "scheme"), [((1440, 900), "light"), ((1024, 768), "dark")])
def test_the_whole_plot_is_visible_without_scrolling_and_the_page_is_accessible(tab, size, scheme):
    tab.open(size=size, scheme=scheme, **RING)
    box = tab.steady(tab.plot)
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size[1]
    assert box["x"] + box["width"] <= size[0]
    wide = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    found = Axe().run(tab.page, options={"runOnly": ["color-contrast", "label", "button-name"]})
    ours = [one for one in found.response["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in ours] == []
