"""Many columns in Chromium: readable graph, nodes that unfold, a table for very many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import pytest
from helpers.browser import AppTab, WatchedPage, visiting
from helpers.large_tables import many_columns
from playwright.sync_api import Locator

from loopylatent.figures.simplify import MOST_DRAWN

pytestmark = [pytest.mark.browser, pytest.mark.long]

RING = "latent_cycle"
LONG = 240_000
"""Timeout in milliseconds for thousands of columns on a busy machine."""


@dataclass
class Large(AppTab):
    """The Explore page with a large table."""

    def upload(self, file: Path) -> None:
        self.go(sample=RING)
        self.page.get_by_role("button", name="Open file").click()
        dialog = self.page.get_by_role("dialog")
        dialog.locator("input[type=file]").first.set_input_files(file)
        dialog.get_by_role("button", name="Use table").click(timeout=LONG)
        dialog.wait_for(state="detached", timeout=LONG)
        self.sentence.wait_for(timeout=LONG)

    @property
    def sentence(self) -> Locator:
        return self.page.locator(".st-key-shown_part [data-testid=stCaptionContainer]")

    @property
    def graph(self) -> Locator:
        return self.page.locator(".st-key-graph .root")

    def nodes(self) -> dict[str, str]:
        """Return the drawn nodes and their names, whether or not the names are shown."""
        shown: dict[str, str] = self.graph.evaluate(
            "root => Object.fromEntries(root.view.data.nodes"
            ".filter(node => root.view.nodes.get(node.id)).map(node => [node.id, node.label]))"
        )
        return shown

    def labels(self) -> list[dict[str, float]]:
        """Return the positions of the displayed names, in pixels of the layout."""
        places: list[dict[str, float]] = self.graph.evaluate(
            "root => Object.values(root.view.network.body.nodes).filter(node => node.options.label)"
            ".map(node => ({x: node.x, y: node.labelModule.size.yLine + node.options.font.vadjust, "
            "width: node.labelModule.size.width, height: node.labelModule.size.height}))"
        )
        return places

    def n_nodes(self) -> int:
        return len(self.nodes())

    def settles(self) -> None:
        """Wait until nothing moves."""
        self.page.locator(".st-key-graph .frame[data-settled=true]").wait_for()
        seen: list[object] = []

        def still() -> bool:
            first = next(iter(self.nodes()))
            at = self.graph.evaluate("(root, id) => root.debug().inWindow(id)", first)
            seen.append(at)
            seen.append(self.page.locator(".st-key-graph .stage").bounding_box())
            return len(seen) > 2 and seen[-4:-2] == seen[-2:]

        self.until(still)

    def click(self, node: str) -> None:
        self.settles()
        box = self.page.locator(".st-key-graph .stage").bounding_box()
        assert box is not None
        at = self.graph.evaluate("(root, id) => root.debug().inWindow(id)", node)
        self.page.mouse.click(box["x"] + at["x"], box["y"] + at["y"])

    def find(self, name: str) -> None:
        self.page.locator(".st-key-find input").fill(name)
        self.page.get_by_role("option", name=name, exact=True).click()

    def stop(self, key: str) -> None:
        """Stop background work, if it has not ended."""
        button = self.page.locator(f".st-key-{key} button")
        if button.count():
            button.click()
            button.wait_for(state="detached")


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[Large]:
    yield from visiting(Large(app_page, app_address))


@pytest.fixture(scope="module")
def four_hundred(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("large") / "four hundred.parquet"
    many_columns(400).to_parquet(file)
    return file


@pytest.fixture(scope="module")
def thousands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("very large") / "thousands.parquet"
    many_columns(2_500, n_rows=60).to_parquet(file)
    return file


def test_four_hundred_columns_are_readable_and_can_be_unfolded_and_searched(tab, four_hundred):
    tab.upload(four_hundred)
    tab.page.locator(".st-key-graph .frame[data-settled=true]").wait_for(timeout=LONG)
    assert "of 400 columns by name" in tab.sentence.inner_text()
    tab.stop("cancel_curve")
    tab.page.locator(".st-key-cancel_opening button").wait_for()
    tab.stop("cancel_opening")
    tab.page.get_by_text("The loop test was stopped").wait_for()
    first = tab.nodes()
    assert 20 < len(first) <= MOST_DRAWN

    def n_folded(node: str) -> int:
        return int(first[node].rsplit("+", 1)[1]) if "+" in first[node] else 0

    tab.settles()
    names = tab.labels()
    assert 10 < len(names) <= len(first)
    for one, other in combinations(names, 2):
        apart = abs(one["x"] - other["x"]) - (one["width"] + other["width"]) / 2
        above = abs(one["y"] - other["y"]) - (one["height"] + other["height"]) / 2
        assert max(apart, above) > -4, "names do not lie on each other"
    for _ in range(6):
        tab.page.get_by_role("button", name="Zoom in").click()
        tab.page.wait_for_timeout(200)
    tab.until(lambda: len(tab.labels()) > len(names) or len(names) == len(first))
    tab.page.get_by_role("button", name="Show the whole graph").click()
    tab.becomes(lambda: len(tab.labels()), len(names))

    hub = max(first, key=n_folded)
    tab.click(hub)
    tab.until(lambda: tab.n_nodes() > len(first))
    assert "+" not in tab.nodes()[hub]
    tab.rests()
    tab.click(hub)
    tab.becomes(tab.n_nodes, len(first))
    tab.rests()

    tab.settles()
    stage = tab.page.locator(".st-key-graph .stage")
    stage.focus()
    tab.page.keyboard.press("ArrowRight")
    tab.becomes(lambda: tab.graph.evaluate("root => root.debug().selected.length"), 1)
    tab.rests()
    assert tab.n_nodes() >= len(first), "walking closes nothing"

    folded = next(f"column {k}" for k in range(400) if f"column {k}" not in first.values())
    tab.find(folded)
    tab.until(lambda: folded in tab.nodes().values())
    tab.rests()
    tab.page.get_by_role("button", name="Close all").click()
    tab.becomes(tab.nodes, first)
    tab.rests()
    tab.page.get_by_role("button", name="Show all").click()
    tab.until(lambda: tab.n_nodes() > 400)
    tab.page.get_by_text("Showing all 400 columns.").wait_for()
    tab.rests()
    tab.page.get_by_role("button", name="Simplify").click()
    tab.becomes(tab.nodes, first)
    tab.rests()


def test_thousands_of_columns_open_on_a_table_and_show_neighbourhoods(tab, thousands):
    tab.upload(thousands)
    tab.page.locator(".st-key-hidden_table canvas").first.wait_for()
    assert "2,500 columns are too many to draw at once" in tab.sentence.inner_text()
    assert tab.graph.count() == 0
    tab.rests()
    tab.find("column 1234")
    tab.page.locator(".st-key-graph .frame[data-settled=true]").wait_for(timeout=LONG)
    assert "nearest to column 1234" in tab.sentence.inner_text()
    shown = tab.nodes()
    assert "column 1234" in shown.values()
    assert len(shown) <= MOST_DRAWN
    other = next(node for node, label in shown.items() if label != "column 1234")
    tab.rests()
    tab.click(other)
    tab.until(lambda: f"around {shown[other]}" in tab.sentence.inner_text())
    tab.rests()
    tab.page.get_by_role("button", name="Back to table").click()
    tab.page.locator(".st-key-hidden_table canvas").first.wait_for()
    tab.rests()
