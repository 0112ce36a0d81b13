"""The Tune page in Chromium: a click on a plot is a setting, and Cancel works while a sweep runs.

A test waits for a condition, never for a time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import WatchedPage
from playwright.sync_api import Browser, Locator, Page

import loopylatent as ll
from loopylatent.ui.tune import BARS, OVER, TABLE

pytest_plugins = ["browser", "app_server"]
pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("browser")]

PATIENCE = 60.0  # seconds until a condition that does not come true fails the test
COLD = 120.0  # the same for the first page of a server
RING = {"sample": "latent_cycle", "r": "1.5", "tau": "0.1"}
WORDS = {"sample": "newsgroups100_roweislike"}
LOOKED_FOR = ("_stcore/health", "_stcore/host-config")
"""Streamlit looks for these beside a page that is opened directly, before it finds them above."""

PLOTS = {OVER: "over", BARS: "bars"}


@dataclass
class Tab:
    """The page in a tab, and the questions that tests ask it."""

    watched: WatchedPage
    address: str
    missing: list[str] = field(default_factory=list)
    shown: str = "along"

    @property
    def page(self) -> Page:
        return self.watched.page

    def open(self, **params: str) -> Tab:
        self.page.on("response", self._note_missing)
        self.page.goto(f"{self.address}/Tune?{urlencode(params)}")
        self.page.locator(".st-key-tune_panel").wait_for(timeout=1000 * COLD)
        self.idle()
        self.drawn()
        return self

    def _note_missing(self, response: Any) -> None:
        if response.status >= 400:
            self.missing.append(response.url)

    def check(self) -> None:
        """See that nothing went wrong; Streamlit's own search for its server does not count."""
        missing = [url for url in self.missing if "/media/" not in url]  # the icon of a closed page
        assert [url for url in missing if not url.endswith(LOOKED_FOR)] == []
        errors = [error for error in self.watched.errors if "404" not in error]
        assert len(self.watched.errors) - len(errors) <= len(self.missing)
        self.watched.errors[:] = errors
        self.watched.check()

    def until(self, holds: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while not (value := holds()):
            assert time.monotonic() < deadline, "what the test waits for never came true"
            self.page.wait_for_timeout(30)
        return value

    def idle(self) -> None:
        """Wait until nothing runs, neither the script nor anything in the background."""
        self.cancel.wait_for(state="detached", timeout=1000 * COLD)
        self.page.locator("[data-test-script-state=notRunning]").wait_for(timeout=1000 * COLD)

    def drawn(self) -> None:
        """Wait for the plot of the open tab; while the page changes there may be an older one."""
        self.until(lambda: self.plot.count() == 1 and self.plot.is_visible())

    @property
    def plot(self) -> Locator:
        """The plot of the tab that was turned to last."""
        return self.page.locator(f'[class*="st-key-tune_{self.shown}_"] .js-plotly-plot')

    def ask(self, script: str) -> Any:
        """Return what a function of the plot says, once there is one plot and it says something."""
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

    def link(self) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs(urlsplit(self.page.url).query).items()}

    def said(self) -> str:
        found = self.page.locator(".st-key-tune_said")
        return found.inner_text() if found.count() else ""

    def turn_to(self, tab: str) -> None:
        self.shown = PLOTS.get(tab, self.shown)
        self.page.get_by_role("tab", name=tab).click()
        self.page.locator("[data-test-script-state=notRunning]").wait_for()

    def click(self, place: str) -> None:
        """Click where a script says, in pixels of the plot, once plotly has seen the mouse there.

        A plot that is drawn again has to be pointed at again.
        """
        seen: list[tuple[float, float]] = [(0.0, 0.0)]

        def pointed() -> bool:
            """The mouse is seen where it should be, and nothing has moved since the last look."""
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

    def becomes(self, read: Callable[[], Any], wanted: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while read() != wanted and time.monotonic() < deadline:
            self.page.wait_for_timeout(30)
        assert read() == wanted


@pytest.fixture
def tune(chromium: Browser, app_address: str) -> Iterator[Callable[..., Tab]]:
    opened: list[Tab] = []

    def opener(size: tuple[int, int] = (1440, 900), scheme: Any = "light", **params: str) -> Tab:
        viewport: Any = {"width": size[0], "height": size[1]}
        page = chromium.new_page(viewport=viewport, color_scheme=scheme)
        page.set_default_timeout(1000 * PATIENCE)
        tab = Tab(WatchedPage(page), app_address)
        opened.append(tab)
        return tab.open(**params)

    yield opener
    for tab in opened:
        tab.page.close()
    for tab in opened:
        tab.check()


SETTING = """plot => {
  const {xaxis, yaxis} = plot._fullLayout;
  const points = plot.data.find(one => one.name === "settings");
  return [xaxis._offset + xaxis.d2p(points.x[%d]), yaxis._offset + yaxis.d2p(points.y[%d])];
}"""


def test_a_click_on_a_point_goes_there_and_says_so(tune):
    tab = tune(**RING)
    D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    points = ll.sweep(D, None, float(tab.link()["Lambda"]), 0.1).points
    for k in (4, len(points) - 1, 4):  # the same place twice, too
        tab.click(SETTING % (k, k))
        tab.becomes(lambda: float(tab.link()["r"]), points[k].thresholds.r)
        tab.until(lambda k=k: f"{points[k].n_edges} edges" in tab.said())
        tab.idle()
    assert float(tab.link()["tau"]) == 0.1


def test_a_click_on_a_cell_of_the_grid_goes_there(tune):
    tab = tune(**RING)
    tab.turn_to(OVER)
    tab.drawn()
    cells = "plot => plot.data.find(one => one.name === 'settings').customdata"
    tab.until(lambda: all(row[2] for row in tab.ask(cells)))
    tab.idle()
    row = tab.ask(f"{cells}[10]")
    tab.click(SETTING % (10, 10))
    tab.becomes(lambda: [float(tab.link()[name]) for name in ("Lambda", "tau")], row[:2])
    assert float(tab.link()["r"]) == 1.5


def test_a_click_on_a_bar_goes_to_its_middle(tune):
    tab = tune(**RING)
    tab.turn_to(BARS)
    tab.drawn()
    tab.idle()
    bar = "plot.data.find(one => one.name === 'cycles')"
    middle = tab.ask(f"plot => {bar}.customdata[0][0]")
    tab.click(
        f"""plot => {{
          const {{xaxis, yaxis}} = plot._fullLayout, bar = {bar};
          const at = xaxis.d2p(bar.base[0] + 0.25 * bar.x[0]);
          return [xaxis._offset + at, yaxis._offset + yaxis.d2p(bar.y[0])];
        }}"""
    )
    tab.becomes(lambda: float(tab.link()["r"]), middle)


def test_cancel_works_while_a_sweep_runs_and_the_page_stays_usable(tune):
    tab = tune(**WORDS)
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
    tab.turn_to(TABLE)  # the page answers while the fits go on
    tab.page.locator(".stDataFrame").wait_for()
    assert tab.cancel.count() == 1, "the fits should still go on"
    tab.cancel.click()
    tab.cancel.wait_for(state="detached")
    tab.until(lambda: "Go on" in tab.suggest.inner_text())
    assert tab.suggest.is_enabled()


def test_suggestions_are_applied_with_one_click(tune):
    tab = tune(**RING)
    tab.suggest.click()
    tab.idle()
    card = tab.page.locator(".st-key-tune_card_tree")
    card.wait_for()
    card.get_by_role("button", name="Apply").click()
    r_max = ll.information_distances(ll.load_sample("latent_cycle").observations).r_max
    tab.becomes(lambda: float(tab.link()["r"]), r_max)
    tab.until(lambda: "Tree for reference" in tab.said())


@pytest.mark.parametrize(("size", "scheme"), [((1440, 900), "light"), ((1024, 768), "dark")])
def test_the_plot_is_seen_whole_without_scrolling(tune, size, scheme):
    tab = tune(size=size, scheme=scheme, **RING)
    box = tab.until(lambda: tab.plot.bounding_box())
    assert box["y"] >= 0
    assert box["y"] + box["height"] <= size[1]
    assert box["x"] + box["width"] <= size[0]
    wide = tab.page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible(tune, scheme):
    tab = tune(scheme=scheme, **RING)
    found = Axe().run(tab.page, options={"runOnly": ["color-contrast", "label", "button-name"]})
    ours = [one for one in found.response["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in ours] == []
