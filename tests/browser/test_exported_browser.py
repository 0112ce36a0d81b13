"""Accessibility of exported pages: axe finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.lessons import lesson_on
from helpers.reports import findings_of

import loopylatent as ll
from loopylatent.exporting.graph_files import provenance, render
from loopylatent.exporting.report.page import to_report
from loopylatent.lesson.lesson import to_page

pytestmark = pytest.mark.browser
RING = "latent_cycle"


@cache
def distances() -> ll.DistanceMatrix:
    return ll.information_distances(ll.load_sample(RING).observations)


@cache
def result() -> ll.LearnResult:
    return ll.learn(distances(), 1.5, 0.01, 0.1)


@cache
def report() -> str:
    obs = ll.load_sample(RING).observations
    return to_report(findings_of(obs, f"sample:{RING}", 1.5), title="A ring", created="2026-01-02")


PAGES: dict[str, Callable[[], str]] = {
    "graph": lambda: render("html", result().graph, provenance(result())).decode(),
    "lesson": lambda: to_page(
        lesson_on(distances(), 1.5, 0.01), provenance(result()), title="A ring"
    ),
    "report": report,
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing_on_a_saved_page(name, scheme, open_page):
    page = open_page(PAGES[name](), scheme=scheme).page
    page.wait_for_load_state("networkidle")
    assert [
        f"{found['impact']} {found['id']}: {found['help']}: {node['html'][:200]}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
    ] == []
