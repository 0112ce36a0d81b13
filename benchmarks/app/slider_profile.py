"""Profile of the time between a key press on the slider of r and the redrawn graph.

The Explore page runs unchanged, with timers around the parts of its script. The browser records
when the key was pressed, when messages were sent and received, and when the graph was drawn and
painted. Server and browser share one clock.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Page, sync_playwright

from benchmarks import markdown_table, milliseconds
from tests.helpers.app_server import ROOT, serving
from tests.helpers.browser import ARGUMENTS, EXECUTABLES

SAMPLE = "newsgroups100_roweislike"
TITLE = "## Time of a slider move by part"
MOVES = 40
WARM_UP = 4
SLIDER = ".st-key-slider_r input[type=range]"
LOG = "LOOPYLATENT_PROFILE"
"""Names the file to which the server writes the times of each script run."""
WATCHED: dict[str, tuple[str, str]] = {
    "curve lookup": ("loopylatent.ui.shell.results", "start_of"),
    "learn": ("loopylatent.ui.shell.results", "learn"),
    "sidebar and learn": ("loopylatent.ui.page", "learned"),
    "nodes matched": ("loopylatent.ui.shell.session", "carried_nodes"),
    "layout": ("loopylatent.ui.shell.session", "positions"),
    "scene": ("loopylatent.ui.explore.page", "draw"),
    "sent": ("loopylatent.ui.explore.page", "graph_view"),
}
"""The timed parts of the script: module and function."""
NOTES = """(() => {
  const now = () => performance.timeOrigin + performance.now();
  const marks = { sent: [], received: [] };
  globalThis.slider = marks;
  const Original = globalThis.WebSocket;
  globalThis.WebSocket = class extends Original {
    constructor(...args) {
      super(...args);
      this.addEventListener("message", (event) =>
        marks.received.push([now(), event.data.byteLength ?? event.data.size]));
    }
    send(data) { marks.sent.push(now()); super.send(data); }
  };
  addEventListener("keydown", (event) => {
    marks.key = performance.timeOrigin + event.timeStamp; }, { capture: true });
  globalThis.watchGraph = (frame) => {
    Object.assign(marks, { sent: [], received: [], drawn: null, painted: null });
    const before = frame.dataset.revision;
    const observer = new MutationObserver(() => {
      if (frame.dataset.revision === before || marks.drawn) return;
      marks.drawn = now();
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => { marks.painted = now(); }));
    });
    observer.observe(frame, { attributes: true });
  };
})()"""


# In the server -----------------------------------------------------------------------------


@dataclass
class Stopwatch:
    """Start and end of each part of one script run."""

    parts: dict[str, tuple[float, float]] = field(default_factory=dict)

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(work)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.time()
            try:
                return work(*args, **kwargs)
            finally:
                self.parts[name] = (start, time.time())

        return timed


@functools.cache
def stopwatch() -> Stopwatch:
    """Wrap the parts of the page in timers, once per server."""
    watch = Stopwatch()
    for name, (module, function) in WATCHED.items():
        place = import_module(module)
        setattr(place, function, watch.around(name, getattr(place, function)))
    return watch


def begin_run() -> None:
    """Start timing a script run."""
    watch = stopwatch()
    watch.parts.clear()
    watch.parts["script"] = (time.time(), 0.0)


def end_run() -> None:
    """Write the times of the run as one line."""
    watch = stopwatch()
    watch.parts["script"] = (watch.parts["script"][0], time.time())
    with Path(os.environ[LOG]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(watch.parts) + "\n")


def watched_app(folder: Path) -> Path:
    """Write a timed copy of the app; its pages are the real ones."""
    (folder / "pages").symlink_to(ROOT / "pages")
    script = folder / "app.py"
    head = "from benchmarks.app.slider_profile import begin_run, end_run\nbegin_run()\n"
    body = (ROOT / "app.py").read_text(encoding="utf-8")
    script.write_text(f"{head}{body}end_run()\n", encoding="utf-8")
    return script


# In the browser ----------------------------------------------------------------------------


def move(page: Page, key: str, log: Path) -> dict[str, float] | None:
    """Press a key on the slider; return seconds by part, None if the graph did not change."""
    lines = len(log.read_text(encoding="utf-8").splitlines())
    page.locator(".st-key-graph .frame").evaluate("frame => globalThis.watchGraph(frame)")
    page.locator(SLIDER).focus()
    page.keyboard.press(key)
    runs: list[str] = []
    while len(runs) <= lines:
        page.wait_for_timeout(20)
        runs = log.read_text(encoding="utf-8").splitlines()
    page.locator("[data-test-script-state=notRunning]").wait_for()
    parts = json.loads(runs[lines])
    if "learn" not in parts:
        return None
    while not (marks := page.evaluate("globalThis.slider"))["painted"]:
        page.wait_for_timeout(20)
    return _split(parts, marks)


def _split(parts: dict[str, tuple[float, float]], marks: dict[str, Any]) -> dict[str, float]:
    """Return the consecutive parts between the key and the painted graph."""
    start, end = parts["script"]
    sent = marks["sent"][0] / 1000
    received = max((size, at) for at, size in marks["received"] if at <= marks["drawn"])[1] / 1000
    took = {name: stop - begin for name, (begin, stop) in parts.items()}
    sent_at = parts["sent"][1]
    timed = ("curve lookup", "learn", "nodes matched", "layout", "scene", "sent")
    known = sum(took.get(name, 0.0) for name in timed)
    return {
        "browser: key to message": sent - marks["key"] / 1000,
        "message to script": start - sent,
        **{name: took.get(name, 0.0) for name in timed},
        "other widgets above the graph": sent_at - start - known,
        "graph received": received - sent_at,
        "browser: message to drawing": marks["drawn"] / 1000 - received,
        "browser: drawing to paint": (marks["painted"] - marks["drawn"]) / 1000,
        "key to paint": (marks["painted"] - marks["key"]) / 1000,
        "script below the graph": end - sent_at,
    }


def measure(page: Page, address: str, log: Path) -> list[dict[str, float]]:
    """Move r step by step; count only moves that change the learned graph."""
    page.add_init_script(NOTES)
    page.goto(f"{address}/?sample={SAMPLE}")
    page.locator(".st-key-graph .frame[data-settled=true]").wait_for(timeout=120_000)
    page.locator("[data-test-script-state=notRunning]").wait_for()
    taken: list[dict[str, float]] = []
    k = 0
    while len(taken) < MOVES + WARM_UP and k < 4 * MOVES:
        found = move(page, "ArrowLeft", log)
        k += 1
        if found is not None:
            taken.append(found)
    return taken[WARM_UP:]


def report() -> str:
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        return f"{TITLE}\n\nNot measured: Chromium is not on PATH."
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        home = Path(folder) / "home"
        home.mkdir()
        log = Path(folder) / "runs.jsonl"
        log.touch()
        os.environ[LOG] = str(log)
        os.environ["PYTHONPATH"] = str(ROOT)
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        with serving(watched_app(Path(folder)), home) as address:
            viewport: Any = {"width": 1440, "height": 900}
            taken = measure(browser.new_page(viewport=viewport), address, log)
        browser.close()
    picks: tuple[Callable[[list[float]], float], ...] = (statistics.median, min, max)
    rows = [
        [name, *(milliseconds(pick([one[name] for one in taken])) for pick in picks)]
        for name in taken[0]
    ]
    return (
        f"{TITLE}\n\nNewsgroup sample, 100 columns; {len(taken)} steps of r downwards that change "
        f"the learned graph; 1-minute load average {os.getloadavg()[0]:.2f} at the end.\n\n"
        + markdown_table(("part", "median, ms", "fastest", "slowest"), rows)
    )


if __name__ == "__main__":
    print(report())
