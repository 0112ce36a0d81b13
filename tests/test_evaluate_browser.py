"""The Evaluate page in Chromium, on words and on shares: cards, rows, cycles, arriving scores.

A test waits for a condition, never for a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from browser import WatchedPage
from playwright.sync_api import Browser, Locator, Page, expect

from loopylatent.ui.evaluate import MEETING, SCORES

pytest_plugins = ["browser", "app_server"]
pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("browser")]

PATIENCE = 1000 * 90.0  # milliseconds until a condition that does not come true fails the test
COLD = 1000 * 150.0  # the same for the first page of a server
WORDS = {"sample": "newsgroups100_roweislike"}
SHARES = {"sample": "stocks_sp100_daily_2003_2007"}
SMALL = {"sample": "latent_cycle"}
LOOKED_FOR = ("_stcore/health", "_stcore/host-config")
"""Streamlit looks for these beside a page that is opened directly, before it finds them above."""


@dataclass
class Tab:
    """The page in a tab, and the questions that tests ask it."""

    watched: WatchedPage
    address: str
    missing: list[str] = field(default_factory=list)

    @property
    def page(self) -> Page:
        return self.watched.page

    def open(self, **params: str) -> Tab:
        self.page.on("response", self._note_missing)
        self.page.goto(f"{self.address}/Evaluate?{urlencode(params)}")
        self.cards.first.wait_for(timeout=COLD)
        self.rests()
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

    def rests(self) -> None:
        self.page.locator("[data-test-script-state=notRunning]").wait_for(timeout=PATIENCE)

    def turn_to(self, tab: str) -> None:
        self.page.get_by_role("tab", name=tab).click()
        self.rests()

    @property
    def cards(self) -> Locator:
        return self.page.locator(".topic-card")

    def card(self, label: str) -> Locator:
        return self.cards.filter(
            has=self.page.locator("header b", has_text=re.compile(f"^{label}$"))
        )

    def button(self, key: str) -> Locator:
        return self.page.locator(f".st-key-{key} button")


@pytest.fixture
def tab(chromium: Browser, app_address: str) -> Iterator[Tab]:
    size: Any = {"width": 1440, "height": 900}
    found = Tab(WatchedPage(chromium.new_page(viewport=size)), app_address)
    found.page.set_default_timeout(PATIENCE)
    yield found
    found.page.close()
    found.check()


def test_words_on_cards_are_larger_where_they_are_stronger(tab):
    tab.open(**WORDS)
    sizes = tab.cards.first.locator("p span").evaluate_all(
        """spans => spans.map(span => [parseFloat(span.title.split(": ").pop()),
                                       parseFloat(getComputedStyle(span).fontSize)])"""
    )
    assert len(sizes) == 10
    by_strength = sorted(sizes, key=lambda one: abs(one[0]))
    widths = [size for _, size in by_strength]
    assert widths == sorted(widths)
    assert widths[-1] > widths[0]
    assert tab.page.get_by_text("Mean PMI").is_visible()


def test_the_cards_are_in_view_without_scrolling(tab):
    tab.open(**WORDS)
    for width, height in ((1440, 900), (1024, 768)):
        tab.page.set_viewport_size({"width": width, "height": height})
        expect(tab.cards.first).to_be_in_viewport(ratio=1)
        wide = tab.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


def test_a_fit_shows_rows_and_a_name_goes_to_the_card(tab):
    tab.open(**SMALL)
    tab.page.get_by_role("button", name="Fit probabilities").first.click()
    tab.page.get_by_text("Rows that express it most").wait_for()
    tab.rests()
    field = tab.page.get_by_placeholder("what do its neighbours share?")
    field.fill("weather")
    field.press("Enter")
    tab.card("weather").wait_for()
    assert tab.card("weather").get_attribute("class").split()[-1] == "chosen"


def test_shares_show_which_sectors_their_cycles_join(tab):
    tab.open(**SHARES)
    assert tab.page.get_by_text("Mean PMI").count() == 0
    tab.turn_to(MEETING)
    tab.page.get_by_text("Groups that meet").wait_for()
    assert tab.page.get_by_text("Consumer Staples").first.is_visible()


def test_scores_of_shares_arrive_and_can_be_taken_away(tab):
    tab.open(**SHARES)
    tab.turn_to(SCORES)
    radii = tab.page.locator(".st-key-score_radii input")
    radii.fill("4")
    radii.press("Enter")
    expect(tab.button("score_begin")).to_have_text("Score 4 models")
    tab.button("score_begin").click()
    tab.page.get_by_text("Learned from").wait_for()
    tab.button("score_cancel").wait_for(state="detached")
    with tab.page.expect_download() as download:
        tab.button("file_scores").click()
    lines = download.value.path().read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("model,r,hidden,edges,cycles,df,Perp-LL")
    assert len(lines) == 5
    assert any("latent" in line for line in lines)


def test_scoring_words_can_be_cancelled_while_it_runs(tab):
    tab.open(**WORDS)
    tab.turn_to(SCORES)
    tab.button("score_begin").click()
    tab.button("score_cancel").click()
    tab.button("score_cancel").wait_for(state="detached")
    tab.rests()
    assert tab.button("score_begin").is_enabled()


def test_the_page_is_accessible(tab):
    tab.open(**WORDS)
    found = Axe().run(tab.page, context=[[".topic-cards"]])
    assert [one["id"] for one in found.response["violations"]] == []
