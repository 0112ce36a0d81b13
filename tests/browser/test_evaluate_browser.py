"""The Evaluate page in Chromium, on words and stocks: cards, rows, cycles, scores."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import AppTab, WatchedPage, visiting
from playwright.sync_api import Locator, expect

from loopylatent.ui.evaluate.page import OVERLAPS, SCORES

pytestmark = [pytest.mark.browser, pytest.mark.long]

WORDS = {"sample": "newsgroups100_roweislike"}
SHARES = {"sample": "stocks_sp100_daily_2003_2007"}
SMALL = {"sample": "latent_cycle"}


class Tab(AppTab):
    def open(self, **params: str) -> None:
        self.go("Evaluate", **params)
        self.cards.first.wait_for()
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
def tab(app_page: WatchedPage, app_address: str) -> Iterator[Tab]:
    yield from visiting(Tab(app_page, app_address))


def test_cards_of_words_are_accessible_and_stronger_words_are_larger(tab):
    tab.open(**WORDS)
    found = Axe().run(tab.page, context=[[".topic-cards"]])
    assert [one["id"] for one in found.response["violations"]] == []
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
    for width, height in ((1440, 900), (1024, 768)):
        tab.page.set_viewport_size({"width": width, "height": height})
        expect(tab.cards.first).to_be_in_viewport(ratio=1)
        tab.steady(tab.cards.first)
        wide = tab.page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width


def test_a_fit_shows_rows_and_the_card_shows_a_given_name(tab):
    tab.open(**SMALL)
    tab.page.get_by_role("button", name="Fit model").first.click()
    tab.page.get_by_text("Rows that express it most").wait_for()
    tab.rests()
    field = tab.page.get_by_placeholder("what do its neighbours share?")
    field.fill("weather")
    field.press("Enter")
    tab.card("weather").wait_for()
    assert tab.card("weather").get_attribute("class").split()[-1] == "chosen"


def test_stocks_show_the_sectors_on_cycles_and_scores_can_be_saved(tab):
    tab.open(**SHARES)
    assert tab.page.get_by_text("Mean PMI").count() == 0
    tab.turn_to(OVERLAPS)
    tab.page.get_by_text("Connected groups").wait_for()
    assert tab.page.get_by_text("Consumer Staples").first.is_visible()
    tab.turn_to(SCORES)
    radii = tab.page.locator(".st-key-score_radii input")
    radii.fill("4")
    radii.press("Enter")
    expect(tab.button("score_begin")).to_have_text("Score 4 models")
    tab.rests()
    tab.button("score_begin").click()
    tab.page.get_by_text("Learned from").wait_for()
    tab.button("score_cancel").wait_for(state="detached")
    tab.rests()
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
