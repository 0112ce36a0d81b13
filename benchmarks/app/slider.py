"""Latency from a key press to the redrawn graph, compared with an empty page.

Keys move the slider of r on the Explore page, and step through the lesson. The pages take turns in
Chromium, so that load affects them equally. Times are measured in the browser, from the key to the
change of the page.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Locator, Page, sync_playwright

from benchmarks import Timing, markdown_table, milliseconds
from tests.helpers.app_server import ROOT, serving
from tests.helpers.browser import ARGUMENTS, EXECUTABLES

SAMPLE = "newsgroups100_roweislike"
MOVES = 60
SLIDER = ".st-key-slider_r input[type=range]"
HEAD = ("from a key press", "moves", "median, ms", "fastest", "slowest", "minus empty page")
EMPTY_PAGE = """import streamlit as st
value = st.slider("value", 0.0, 10.0, 5.0, 0.02, key="slider_r")
with st.container(key="graph"):
    st.write(f"The value is {value}.")
"""
WATCH = """(watched) => {
  const state = () => watched.dataset.revision ?? watched.textContent;
  const before = state();
  const seen = {};
  let pressed;
  addEventListener("keydown", (event) => { pressed = event.timeStamp; },
                   { capture: true, once: true });
  const observer = new MutationObserver(() => {
    if (pressed === undefined || state() === before) return;
    seen["drawn"] ??= performance.now() - pressed;
    if (watched.dataset.settled !== "false") seen["settled"] ??= performance.now() - pressed;
  });
  observer.observe(watched, { attributes: true, childList: true, characterData: true,
                              subtree: true });
  globalThis.takeTimes = () => ("settled" in seen ? (observer.disconnect(), seen) : null);
}"""
"""Records when the watched element changes, and when its nodes have stopped moving."""


def press(page: Page, watched: Locator, key: str, on: str | None = SLIDER) -> dict[str, float]:
    """Press a key, on the slider or the page; return the milliseconds to each event."""
    watched.evaluate(WATCH)
    if on is not None:
        page.locator(on).focus()
    page.keyboard.press(key)
    while (times := page.evaluate("globalThis.takeTimes()")) is None:
        page.wait_for_timeout(20)
    page.locator("[data-test-script-state=notRunning]").wait_for()
    found: dict[str, float] = times
    return found


def edges_of(page: Page) -> Any:
    return page.locator(".st-key-graph .root").evaluate("root => root.view.edges.getIds()")


def open_page(page: Page, address: str, ready: str) -> Locator:
    page.goto(address)
    watched = page.locator(ready)
    watched.wait_for(timeout=120_000)
    page.locator("[data-test-script-state=notRunning]").wait_for()
    return watched


def measure(app: Page, empty: Page, addresses: Sequence[str]) -> dict[str, list[float]]:
    """Press keys on both pages in turn; return lists of seconds by event."""
    graph = open_page(app, f"{addresses[0]}/?sample={SAMPLE}", ".st-key-graph .frame")
    text = open_page(empty, addresses[1], ".st-key-graph")
    taken: dict[str, list[float]] = {"empty": [], "drawn": [], "settled": [], "changed": []}
    for k in range(-3, MOVES):  # the first ones warm up
        key = "ArrowLeft" if k % 4 else "ArrowRight"
        before = edges_of(app)
        times = press(app, graph, key)
        idle = press(empty, text, key)
        if k < 0:
            continue
        taken["empty"].append(idle["drawn"] / 1000)
        taken["drawn"].append(times["drawn"] / 1000)
        taken["settled"].append(times["settled"] / 1000)
        if edges_of(app) != before:
            taken["changed"].append(times["drawn"] / 1000)
    return taken


def walk(lesson: Page, empty: Page, addresses: Sequence[str]) -> dict[str, list[float]]:
    """Step through visits of the lesson and press keys on the empty page, in turn."""
    where = f"{addresses[0]}/Step_by_step?sample={SAMPLE}&r=5&Lambda=0&tau=0.1&step=visit-1-look"
    graph = open_page(lesson, where, ".st-key-lesson_graph .frame")
    text = open_page(empty, addresses[1], ".st-key-graph")
    taken: dict[str, list[float]] = {"empty": [], "drawn": []}
    for k in range(-3, MOVES):
        key = "ArrowRight" if k % 4 else "ArrowLeft"
        times = press(lesson, graph, key, on=None)
        idle = press(empty, text, key)
        if k >= 0:
            taken["empty"].append(idle["drawn"] / 1000)
            taken["drawn"].append(times["drawn"] / 1000)
    return taken


def row(name: str, seconds: list[float], base: float) -> list[str]:
    if not seconds:
        return [name, "0", "", "", "", ""]
    timing = Timing(statistics.median(seconds), min(seconds), max(seconds))
    figures = [milliseconds(t) for t in (timing.median, timing.fastest, timing.slowest)]
    return [name, str(len(seconds)), *figures, milliseconds(timing.median - base)]


def report() -> str:
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        return "## Key to redraw\n\nNot measured: Chromium is not on PATH."
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        script = Path(folder) / "empty.py"
        script.write_text(EMPTY_PAGE, encoding="utf-8")
        homes = [Path(folder) / name for name in ("app", "empty")]
        for home in homes:
            home.mkdir()
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        with serving(ROOT / "app.py", homes[0]) as app, serving(script, homes[1]) as empty:
            viewport: Any = {"width": 1440, "height": 900}
            pages = [browser.new_page(viewport=viewport) for _ in range(2)]
            taken = measure(pages[0], pages[1], (app, empty))
            steps = walk(pages[0], pages[1], (app, empty))
        browser.close()
    base, idle = (statistics.median(times["empty"]) for times in (taken, steps))
    rows = [
        row("empty page: its one line of text", taken["empty"], base),
        row("Explore: the graph is drawn", taken["drawn"], base),
        row("the same, if the graph changed", taken["changed"], base),
        row("Explore: the nodes have stopped moving", taken["settled"], base),
        row("empty page again", steps["empty"], idle),
        row("Step by step: the next step is drawn", steps["drawn"], idle),
    ]
    return (
        "## Key to redraw\n\nNewsgroup sample, 100 columns; steps of r from its initial value; the "
        "two pages take turns in one browser without a graphics card. If the graph changes, its "
        "nodes move for 350 ms. The lesson has r = 5, Λ = 0, τ = 0.1; every fourth step goes "
        "back.\n\n" + markdown_table(HEAD, rows)
    )


if __name__ == "__main__":
    print(report())
