"""Hostile names in Chromium: every page of the app, and every exported page."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from helpers.browser import TIMEOUT, AppTab, OpenPage, WatchedPage, visiting
from helpers.hostile import HOSTILE_NAMES, hostile_frame

import loopylatent as ll
from loopylatent.exporting.graph_files import Extras, provenance, to_html
from loopylatent.exporting.project.file import Recipe
from loopylatent.exporting.report.findings import examine
from loopylatent.exporting.report.page import to_report
from loopylatent.lesson.lesson import build, to_page

pytestmark = pytest.mark.browser

TITLE = '</title><img src=x onerror="window.__hacked=1">'
UNTOUCHED = "window.__hacked === undefined && window.hacked === undefined && !window.pwned"
PLANTED = (
    "img[src=x], b:text-is('bold'), a[href^='javascript:'], a[href*='evil.example'], iframe[srcdoc]"
)
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def graph_page(result: ll.LearnResult, _: ll.DistanceMatrix) -> str:
    names = {result.graph.n_observed: HOSTILE_NAMES[0]} if result.graph.n_hidden else {}
    return to_html(result.graph, provenance(result), Extras(hidden_names=names), title=TITLE)


def lesson_page(result: ll.LearnResult, D: ll.DistanceMatrix) -> str:
    return to_page(build(result, D, None), provenance(result), title=TITLE)


def report_page(result: ll.LearnResult, D: ll.DistanceMatrix) -> str:
    chosen = result.settings.thresholds
    recipe = Recipe(
        source="a.csv", source_kind="table", r=chosen.r, Lambda=chosen.Lambda, tau=chosen.tau
    )
    obs = ll.Observations.from_frame(hostile_frame())
    return to_report(examine(recipe, D, result, obs, n_resamples=2), title=TITLE)


MAKERS = {"graph": graph_page, "lesson": lesson_page, "report": report_page}
READY = {
    "graph": "document.getElementById('stage').dataset.drawn",
    "lesson": "document.querySelector('#stage canvas') !== null",
    "report": "document.getElementById('stage').dataset.drawn",
}


KINDS = ["graph", *(pytest.param(kind, marks=pytest.mark.long) for kind in ("lesson", "report"))]


@cache
def exported(kind: str) -> str:
    D = ll.information_distances(ll.Observations.from_frame(hostile_frame()))
    return MAKERS[kind](ll.learn(D), D)


class Dialogs(list[str]):
    """The messages of all dialogs of a page."""

    def watch(self, watched: WatchedPage) -> None:
        watched.page.on("dialog", lambda dialog: (self.append(dialog.message), dialog.dismiss()))


class _Scripts(HTMLParser):
    n_scripts = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.n_scripts += tag == "script" and not attrs


def n_scripts(html: str) -> int:
    """Return the number of scripts of a page; those with a type contain data."""
    parser = _Scripts()
    parser.feed(html)
    return parser.n_scripts


# Exported pages ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_an_exported_page_works_and_executes_no_name(kind: str, open_page: OpenPage) -> None:
    watched, dialogs = open_page(exported(kind)), Dialogs()
    dialogs.watch(watched)
    watched.wait_until(READY[kind])
    page = watched.page
    if kind == "lesson":
        page.click("#next")
        watched.wait_until("location.hash !== '' && location.hash !== '#data'")
        page.click("#last")
    else:
        before = page.evaluate("document.querySelector('#stage canvas').toDataURL().length")
        page.click("#closer")
        watched.wait_until(
            f"document.querySelector('#stage canvas').toDataURL().length !== {before}"
        )
    page.locator("details").evaluate_all("parts => parts.forEach(part => { part.open = true; })")
    for x in range(200, 900, 100):
        page.mouse.move(x, 400)
    assert page.evaluate(UNTOUCHED)
    assert page.locator(PLANTED).count() == 0
    assert dialogs == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_allows_only_the_scripts_of_the_page(
    kind: str,
) -> None:
    found = POLICY.findall(exported(kind))
    assert len(found) == 1
    rules = dict(rule.strip().split(" ", 1) for rule in found[0].replace("&#39;", "'").split(";"))
    assert rules["default-src"] == "'none'"
    assert rules["base-uri"] == rules["form-action"] == "'none'"
    sources = rules["script-src"].split()
    assert len(sources) == n_scripts(exported(kind))
    assert all(re.fullmatch(r"'sha256-[A-Za-z0-9+/=]{44}'", source) for source in sources)
    assert rules["img-src"] == "data:"
    head = exported(kind).partition("<title>")[0]
    assert "Content-Security-Policy" in head
    assert "<script" not in head


class _Listener(BaseHTTPRequestHandler):
    """Records all requests."""

    calls: list[str]

    def do_GET(self) -> None:
        self.calls.append(self.path)
        self.send_response(200)
        self.end_headers()

    do_POST = do_GET

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@pytest.fixture
def listener() -> Iterator[tuple[str, list[str]]]:
    calls: list[str] = []
    handler = type("Listener", (_Listener,), {"calls": calls})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", calls
        server.shutdown()
        thread.join()


def injected(address: str) -> str:
    """Return markup that an attacker would inject."""
    return (
        "<script>window.__hacked=1</script>"
        f'<script src="{address}/script.js"></script>'
        '<img src=x onerror="window.__hacked=1">'
        f'<img src="{address}/picture.png">'
        f'<link rel="stylesheet" href="{address}/style.css">'
        f'<iframe src="{address}/frame"></iframe>'
        f'<object data="{address}/object"></object>'
        f"<style>body {{ background: url({address}/background) }}</style>"
        f'<form id="form" action="{address}/form" method="post"></form>'
        '<svg onload="window.__hacked=1"></svg>'
    )


@pytest.mark.parametrize("kind", KINDS)
def test_markup_injected_into_an_exported_page_neither_runs_nor_requests(
    kind: str, open_page: OpenPage, listener: tuple[str, list[str]]
) -> None:
    address, calls = listener
    html = exported(kind).replace("<body>", f"<body>{injected(address)}", 1)
    assert html != exported(kind)
    watched, dialogs = open_page(html), Dialogs()
    dialogs.watch(watched)
    watched.wait_until(READY[kind])
    watched.page.evaluate("document.getElementById('form').submit()")
    deadline = time.monotonic() + TIMEOUT
    while not any("form-action" in error for error in watched.errors):
        assert time.monotonic() < deadline, "the browser did not report that it blocked the form"
        watched.page.wait_for_timeout(20)
    blocked = [error for error in watched.errors if "Content Security Policy" in error]
    assert len(blocked) >= 5, "the browser reports what it blocked"
    assert watched.page.evaluate(UNTOUCHED)
    assert dialogs == []
    assert calls == []
    watched.forget()


def test_without_the_policy_the_same_markup_runs(
    open_page: OpenPage, listener: tuple[str, list[str]]
) -> None:
    address, calls = listener
    html = POLICY.sub("", exported("graph")).replace("<body>", f"<body>{injected(address)}", 1)
    watched = open_page(html)
    watched.wait_until("window.__hacked === 1")
    assert "/script.js" in calls
    watched.forget()


# The app -----------------------------------------------------------------------------------


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[AppTab]:
    yield from visiting(AppTab(app_page, app_address))


def test_every_page_of_the_app_shows_hostile_names_and_executes_none(
    tab: AppTab, tmp_path: Path
) -> None:
    file, dialogs = tmp_path / "$(touch pwned) <b> *x* www.evil.example.parquet", Dialogs()
    hostile_frame().to_parquet(file)
    dialogs.watch(tab.watched)
    tab.go(sample="latent_cycle")
    page = tab.page
    page.get_by_role("button", name="Open file").click()
    dialog = page.get_by_role("dialog")
    dialog.locator("input[type=file]").set_input_files(file)
    dialog.get_by_role("button", name="Use table").click()
    dialog.wait_for(state="detached")
    tab.rests()
    assert page.get_by_text(f"{len(HOSTILE_NAMES)} observed").count()
    links = page.locator(".st-key-pages a")
    n_pages = links.count()
    assert n_pages >= 7
    for number in range(n_pages):
        link = page.locator(".st-key-pages a").nth(number)
        path = urlsplit(link.evaluate("link => link.href")).path
        link.click()
        page.wait_for_url(lambda url, path=path: urlsplit(url).path == path)
        tab.rests()
        for k in range(page.get_by_role("tab").count()):
            page.get_by_role("tab").nth(k).click()
            tab.rests()
            assert page.evaluate(UNTOUCHED)
            assert page.locator(PLANTED).count() == 0
        assert page.locator("[data-testid=stException]").count() == 0
        assert page.evaluate(UNTOUCHED)
        assert page.locator(PLANTED).count() == 0
    assert dialogs == []


def test_no_table_offers_a_download_with_formulas(tab: AppTab) -> None:
    tab.go(sample="latent_cycle")
    tables = tab.page.get_by_test_id("stDataFrame")
    tables.first.hover()
    toolbar = tables.first.get_by_test_id("stElementToolbar")
    toolbar.get_by_role("button", name="Search").wait_for()
    assert toolbar.get_by_role("button", name="Fullscreen").is_visible()
    hidden = tab.page.locator("button[aria-label^='Download as CSV']")
    assert hidden.count() == tables.count(), "Streamlit calls it so"
    assert not hidden.first.is_visible()
    toolbar.get_by_role("button", name="Fullscreen").click()
    tab.rests()
    assert tab.page.get_by_role("button", name="Search").first.is_visible()
    assert tab.page.get_by_role("button", name="Download as CSV").count() == 0
