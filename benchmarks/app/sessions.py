"""Load test: twenty concurrent sessions, each on a table and thresholds of its own.

Sessions with a file of their own run in Chromium, the others without a browser, so that the server
is measured and not the drawing of twenty pages. Every session moves r several times. A page is
correct if its link, its counts and every edge equal the result of `learn` on that session's table.
A wrong page or an error stops the run. At the end all sessions close, and the memory of the server
is measured again.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, sync_playwright

import loopylatent as ll
from benchmarks import markdown_table
from benchmarks.app.session_visitors import InChromium, Table, Visitor, WithoutBrowser
from loopylatent.synthetic.families import latent_cycle
from loopylatent.ui.shell.background import LOOK as ENDED_CHECK
from tests.helpers.app_server import ROOT, Server, started
from tests.helpers.browser import ARGUMENTS, EXECUTABLES, AppTab, WatchedPage

PAGE = ROOT / "docs" / "development" / "sessions.md"
SESSIONS = 20
TABS = 4
"""Sessions in Chromium; they share one window and its cookies."""
MOVES = 3
ROUNDS = 3
STILL = 8
"""Seconds for which the memory must change by less than 1 MB before it is read."""
KEPT = 20
"""Seconds for which the server keeps a disconnected session (120 by default)."""
TIMEOUT = 300.0
POLL = 0.1
"""Seconds between two checks of all pages: the resolution of the times."""


def tables(n: int, folder: Path) -> list[Table]:
    """Return ``n`` tables: bundled ones in turn, and synthetic files for the last few."""
    names = ll.sample_names()
    bundled = [names[k % len(names)] for k in range(n - min(TABS, n // 2))]
    distances = {
        name: ll.information_distances(ll.load_sample(name).observations) for name in set(bundled)
    }
    found = [Table(distances[name], name, None) for name in bundled]
    for k in range(n - len(found)):
        frame = latent_cycle(5 + k, 2, seed=k).sample(400 + 50 * k, seed=k).to_frame()
        file = folder / f"answers of person {k}.csv"
        file.write_text(frame.to_csv(index=False), encoding="utf-8")
        found.append(Table(ll.information_distances(ll.read_table(file)), None, file))
    return found


def wait_for_all(visitors: Sequence[Visitor]) -> list[float]:
    """Return the seconds that each session waited until its page was correct."""
    taken: dict[int, float] = {}
    deadline = time.perf_counter() + TIMEOUT
    while len(taken) < len(visitors):
        for k, visitor in enumerate(visitors):
            if k not in taken and visitor.is_right():
                taken[k] = time.perf_counter() - visitor.acted
        time.sleep(POLL)
        if time.perf_counter() > deadline:
            late = [dict(one.table.link) for k, one in enumerate(visitors) if k not in taken]
            raise RuntimeError(f"these pages never showed the right graph: {late}")
    return list(taken.values())


def memory(server: Server) -> float:
    """Return the resident memory of the server in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def visitors_in(browser: Browser, address: str, own: Sequence[Table]) -> Iterator[list[Visitor]]:
    """Create a session per table; all of them close at the end."""
    viewport: Any = {"width": 1280, "height": 800}
    window = browser.new_context(viewport=viewport)
    window.set_default_timeout(1000 * TIMEOUT)
    found: list[Visitor] = [
        WithoutBrowser(address, table)
        if table.file is None
        else InChromium(address, table, tab=AppTab(WatchedPage(window.new_page()), address))
        for table in own
    ]
    yield found
    for visitor in found:
        visitor.leave()
    window.close()


@dataclass(frozen=True)
class Round:
    """Waiting times and memory of one round."""

    opening: list[float]
    moving: list[float]
    with_all: float
    after: float


def visit(browser: Browser, server: Server, own: Sequence[Table]) -> Round:
    """Open all sessions, move r in each, close them, and measure the memory."""
    with visitors_in(browser, server.address, own) as visitors:
        for visitor in visitors:
            visitor.arrive()
        with_files = [visitor for visitor in visitors if isinstance(visitor, InChromium)]
        opening = wait_for_all([one for one in visitors if isinstance(one, WithoutBrowser)])
        for visitor in with_files:
            visitor.upload()
        opening += wait_for_all(with_files)
        moving: list[float] = []
        for k in range(MOVES):
            for n, visitor in enumerate(visitors):
                visitor.move(-1 if (k + n) % 3 else 1)
            moving += wait_for_all(visitors)
        with_all = memory_at_rest(server)
    return Round(opening, moving, with_all, memory_after(server))


def memory_after(server: Server) -> float:
    """Return the memory after the closed sessions have been dropped."""
    time.sleep(KEPT + ENDED_CHECK)
    return memory_at_rest(server)


def single_session(browser: Browser, server: Server, table: Table) -> None:
    """Run one session until everything is compiled or loaded."""
    with visitors_in(browser, server.address, [table]) as visitors:
        visitors[0].arrive()
        wait_for_all(visitors)
        memory_at_rest(server)


def memory_at_rest(server: Server) -> float:
    """Return the memory once it is stable: background work continues for a while."""
    seen = [memory(server)]
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        time.sleep(1)
        seen.append(memory(server))
        if len(seen) > STILL and max(seen[-STILL:]) - min(seen[-STILL:]) < 1:
            break
    return seen[-1]


def measure(n: int, rounds: int) -> str:
    """Run all rounds; return the tables for the page."""
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        return "Not measured: Chromium is not on PATH."
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        own = tables(n, Path(folder))
        server = started(ROOT / "app.py", Path(folder), disconnectedSessionTTL=KEPT)
        try:
            log("one session, until everything is compiled")
            single_session(browser, server, own[0])
            at_rest = memory_after(server)
            seen = []
            for k in range(rounds):
                log(f"round {k + 1} of {rounds}: {n} sessions, {MOVES} moves of r each")
                seen.append(visit(browser, server, own))
        finally:
            server.stop()
            browser.close()
    return tables_of(n, at_rest, seen, load)


def log(what: str) -> None:
    """Report progress on standard error."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def tables_of(n: int, at_rest: float, seen: Sequence[Round], load: float) -> str:
    times = [
        [f"{what}, round {k}", str(len(taken)), f"{statistics.median(taken):.1f}",
         f"{max(taken):.1f}"]
        for k, one in enumerate(seen, 1)
        for what, taken in (("open a table", one.opening), ("move r", one.moving))
    ]  # fmt: skip
    sizes = [["after a single session", f"{at_rest:.0f}"]]
    for k, one in enumerate(seen, 1):
        sizes.append([f"{n} sessions, round {k}", f"{one.with_all:.0f}"])
        sizes.append([f"after closing, round {k}", f"{one.after:.0f}"])
    return (
        f"{n} concurrent sessions, {min(TABS, n // 2)} of them in Chromium with their own files: "
        "every page showed exactly the graph of its table and thresholds, without errors. "
        f"Load average {load:.1f} before and {os.getloadavg()[0]:.1f} after on {os.cpu_count()} "
        "cores.\n\n"
        + markdown_table(("until the page is correct", "count", "median, s", "maximum, s"), times)
        + "\n\n"
        + markdown_table(("server memory", "MB"), sizes)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument(
        "--dry", action="store_true", help="print the tables; do not write the page"
    )
    options = parser.parse_args()
    found = measure(options.sessions, options.rounds)
    print(found)
    if not options.dry:
        start, end = "<!-- measured -->", "<!-- end -->"
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(start)
        after = rest.partition(end)[2]
        PAGE.write_text(f"{before}{start}\n{found}\n{end}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
