"""The pages Laboratory and Theory in Chromium: what a class sees and does.

A test waits for a condition, never for a time.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import WatchedPage
from playwright.sync_api import Browser, Page

from loopylatent.figures.recovery import FALSE_EDGE, MISSED_EDGE
from loopylatent.laboratory import learn_back
from loopylatent.layout import shown_label
from loopylatent.synthetic import latent_cycle

pytest_plugins = ["browser", "app_server"]
pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("browser")]

PATIENCE = 60.0  # seconds until a condition that does not come true fails the test
COLD = 120.0  # the same for the first page of a server
LOOKED_FOR = ("_stcore/health", "_stcore/host-config")
"""Streamlit looks for these beside a page that is opened directly, before it finds them above."""
WIDE, NARROW = (1440, 900), (1024, 768)


@dataclass
class Tab:
    """A page in a tab, and the questions that tests ask it."""

    watched: WatchedPage
    address: str
    missing: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.watched.page

    def open(self, name: str) -> Tab:
        self.page.on("response", self._note_missing)
        self.page.goto(f"{self.address}/{name}")
        first = ".st-key-lab_tab" if name == "Laboratory" else ".st-key-theory_conditions"
        self.page.locator(first).wait_for(timeout=1000 * COLD)
        self.idle()
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
        cancel = self.page.get_by_role("button", name="Cancel", exact=True)
        cancel.first.wait_for(state="detached", timeout=1000 * COLD)
        self.page.locator("[data-test-script-state=notRunning]").wait_for(timeout=1000 * COLD)

    def both_drawn(self) -> None:
        for which in ("truth", "learned"):
            frame = self.page.locator(f".st-key-lab_{which} .frame[data-settled=true]")
            frame.wait_for(timeout=1000 * COLD)

    def paints(self, which: str) -> list[str]:
        """The colours of the edges of one of the two graphs that have one of their own."""
        return self.page.locator(f".st-key-lab_{which} .root").evaluate(
            "root => root.view.edges.get().map(edge => edge.color && edge.color.color)"
            ".filter(colour => colour)"
        )

    def numbers(self) -> dict[str, str]:
        found = self.page.locator(".st-key-lab_numbers [data-testid=stMetric]")
        return {
            one.locator("[data-testid=stMetricLabel]").inner_text().strip(): one.locator(
                "[data-testid=stMetricValue]"
            )
            .inner_text()
            .strip()
            for one in found.all()
        }

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name, exact=True).click()
        self.page.get_by_role("tab", name=name, exact=True, selected=True).wait_for()
        self.page.locator("[data-test-script-state=notRunning]").wait_for(timeout=1000 * COLD)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def choose(self, key: str, option: str) -> None:
        self.page.locator(f".st-key-{key} [role=combobox]").click()
        self.page.get_by_role("option", name=option).click()
        self.page.locator("[data-test-script-state=notRunning]").wait_for(timeout=1000 * COLD)


@pytest.fixture
def tabs(chromium: Browser, app_address: str) -> Iterator[Callable[..., Tab]]:
    """Open new tabs; each is checked at the end."""
    opened: list[Tab] = []

    def opener(size: tuple[int, int] = WIDE, scheme: Any = "light") -> Tab:
        viewport: Any = {"width": size[0], "height": size[1]}
        page = chromium.new_page(viewport=viewport, color_scheme=scheme)
        opened.append(Tab(WatchedPage(page), app_address))
        return opened[-1]

    yield opener
    for one in opened:
        one.page.close()
    for one in opened:
        one.check()


def test_fewer_rows_bring_coloured_mistakes_and_the_table_goes_to_explore(tabs):
    tab = tabs().open("Laboratory")
    tab.both_drawn()
    tab.page.locator(".st-key-lab_rows input[type=range]").focus()
    tab.page.keyboard.press("Home")
    found = learn_back(latent_cycle(10, 2), 100).comparison
    tab.until(lambda: tab.numbers().get("Precision") == f"{found.precision:.0%}")
    tab.both_drawn()
    assert tab.numbers()["Recall"] == f"{found.recall:.0%}"
    tab.until(lambda: tab.paints("learned").count(FALSE_EDGE) == found.n_false)
    tab.until(lambda: tab.paints("truth").count(MISSED_EDGE) == found.n_missed)
    tab.press("Take to Explore")
    tab.page.locator(".st-key-graph .frame[data-settled=true]").wait_for(timeout=1000 * COLD)
    drawn = tab.page.locator(".st-key-graph .root")
    tab.until(lambda: drawn.evaluate("root => root.view.edges.length") == found.learned.n_edges)


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "dark"), (NARROW, "light")])
def test_both_graphs_are_in_view_without_scrolling_and_the_links_fit(tabs, size, scheme):
    tab = tabs(size, scheme).open("Laboratory")
    tab.both_drawn()
    for which in ("truth", "learned"):
        box = tab.page.locator(f".st-key-lab_{which} .stage").bounding_box()
        assert box["y"] + box["height"] <= size[1]
        assert box["x"] + box["width"] <= size[0]
    side = tab.page.locator("[data-testid=stSidebar]").bounding_box()
    links = tab.page.locator(".st-key-pages a")
    assert links.count() >= 7
    for link in links.all():
        box = link.bounding_box()
        assert box["x"] >= side["x"]
        assert box["x"] + box["width"] <= side["x"] + side["width"]
        assert link.evaluate("link => link.scrollWidth <= link.clientWidth + 1")


def test_a_curve_shows_its_progress_and_can_be_cancelled(tabs):
    tab = tabs().open("Laboratory")
    tab.tab("Against rows")
    repeats = tab.page.locator(".st-key-lab_repeats-lab-curve-n input")
    repeats.fill("50")
    repeats.press("Enter")
    tab.page.locator("[data-test-script-state=notRunning]").wait_for()
    tab.press("Run")
    tab.page.get_by_text(re.compile(r"\d+ of 300 done")).wait_for()
    tab.until(lambda: tab.page.locator(".js-plotly-plot .scatterlayer .trace").count() > 0)
    tab.press("Cancel")
    tab.idle()
    assert tab.page.get_by_role("button", name="Run again", exact=True).is_enabled()
    repeats.fill("1")
    repeats.press("Enter")
    tab.page.get_by_role("button", name="Run", exact=True).click()
    tab.idle()
    tab.until(lambda: tab.page.locator(".js-plotly-plot .legendtext").count() == 3)
    legend = tab.page.locator(".js-plotly-plot .legendtext").all_text_contents()
    assert legend == ["recall", "precision", "exactly right"]


def test_names_in_an_edge_list_are_text_and_nothing_else(tabs):
    tab = tabs().open("Laboratory")
    tab.choose("lab_family", "Edges of your own")
    box = tab.page.locator(".st-key-lab_edges textarea")
    bad = "<img/src=x/onerror=window.hacked=1>"
    box.fill(f"h {bad}\nh *b*\nh [c](javascript:window.hacked=1)")
    box.press("Control+Enter")
    tab.page.get_by_text("'h1' is not in the skeleton").wait_for()
    hidden = tab.page.locator(".st-key-lab_hidden input")
    hidden.fill("h")
    hidden.press("Enter")
    tab.page.get_by_text("5 columns, 1 hidden").wait_for()
    tab.both_drawn()
    labels = tab.page.locator(".st-key-lab_truth .root").evaluate(
        "root => root.view.nodes.get().map(node => node.label)"
    )
    assert shown_label(bad) in labels
    assert tab.page.evaluate("window.hacked") is None


def test_the_theory_of_the_model_of_numbers_and_of_data(tabs):
    tab = tabs().open("Theory")
    tab.page.get_by_text("Theorem 2 is silent").wait_for()
    tab.press("Ask the laboratory")
    tab.page.get_by_text("in every repeat from").wait_for(timeout=1000 * COLD)
    tab.page.get_by_text("Numbers of my own").click()
    tab.page.get_by_text("Theorem 2 asks for").wait_for()
    tab.tab("n against δ")
    tab.until(
        lambda: "Theorem 2" in tab.page.locator(".js-plotly-plot .legendtext").all_text_contents()
    )
    girth = tab.page.locator(".st-key-theory_girth input")
    girth.fill("12")
    girth.press("Enter")
    tab.page.get_by_text("Theorem 2 is silent").wait_for()
    tab.page.get_by_text("The data on Explore").click()
    tab.page.get_by_text("What cannot be checked").wait_for(timeout=1000 * COLD)
    tab.page.get_by_text("Four-point distortion").wait_for()


def faults(page: Page) -> list[str]:
    return [
        f"{violation['id']}: {node['html'][:120]}"
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize(("name", "scheme"), [("Laboratory", "light"), ("Theory", "dark")])
def test_no_serious_fault_for_axe(tabs, name, scheme):
    tab = tabs(WIDE, scheme).open(name)
    if name == "Laboratory":
        tab.both_drawn()
    assert faults(tab.page) == []
