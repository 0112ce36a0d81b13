"""Twenty people at once: each on a table and thresholds of their own.

Those with a file of their own sit at tabs in Chromium, the others at lines that speak as a tab
does, so that what is measured is the server more than the drawing of twenty pages. Every session
moves r several times. A page is right when its link, its counts and every edge are those that
`learn` gives here for that session's own table; anything else, or an error on a page, ends the
run. Then all leave, and the memory of the server is read again.
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
from benchmarks.app.session_visitors import AtLine, AtTab, Table, Visitor
from loopylatent.synthetic.families import latent_cycle
from loopylatent.ui.shell.background import LOOK as LOOK_FOR_ENDED
from tests.helpers.app_server import ROOT, Server, started
from tests.helpers.browser import ARGUMENTS, EXECUTABLES, AppTab, WatchedPage

PAGE = ROOT / "docs" / "development" / "sessions.md"
SESSIONS = 20
TABS = 4
"""Sessions in one window, which share its cookies."""
MOVES = 3
ROUNDS = 3
STILL = 8
"""Seconds in which the memory changes by less than 1 MB before it is read."""
KEPT = 20
"""Seconds for which the server keeps a session whose browser is gone (usually 120)."""
PATIENCE = 300.0
LOOK = 0.1
"""Seconds between two looks at all pages: times are not finer than that."""


def tables(n: int, folder: Path) -> list[Table]:
    """Files of their own for a few sessions, bundled tables for the others, in turn."""
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
    """Return the seconds that each session waited until its page was right."""
    taken: dict[int, float] = {}
    deadline = time.perf_counter() + PATIENCE
    while len(taken) < len(visitors):
        for k, visitor in enumerate(visitors):
            if k not in taken and visitor.is_right():
                taken[k] = time.perf_counter() - visitor.asked
        time.sleep(LOOK)
        if time.perf_counter() > deadline:
            late = [dict(one.table.named) for k, one in enumerate(visitors) if k not in taken]
            raise RuntimeError(f"these pages never showed the right graph: {late}")
    return list(taken.values())


def memory(server: Server) -> float:
    """Return the memory that the server has, in MB."""
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def visitors_in(browser: Browser, address: str, own: Sequence[Table]) -> Iterator[list[Visitor]]:
    """Everybody at a line or a tab; all of them leave at the end."""
    viewport: Any = {"width": 1280, "height": 800}
    window = browser.new_context(viewport=viewport)
    window.set_default_timeout(1000 * PATIENCE)
    found: list[Visitor] = [
        AtLine(address, table)
        if table.file is None
        else AtTab(address, table, tab=AppTab(WatchedPage(window.new_page()), address))
        for table in own
    ]
    yield found
    for visitor in found:
        visitor.leave()
    window.close()


@dataclass(frozen=True)
class Round:
    """What one round of sessions waited for and needed."""

    opening: list[float]
    moving: list[float]
    with_all: float
    after: float


def visit(browser: Browser, server: Server, own: Sequence[Table]) -> Round:
    """Open all sessions, move r in all of them, let them leave, and read the memory."""
    with visitors_in(browser, server.address, own) as visitors:
        for visitor in visitors:
            visitor.arrive()
        brought = [visitor for visitor in visitors if isinstance(visitor, AtTab)]
        opening = wait_for_all([one for one in visitors if isinstance(one, AtLine)])
        for visitor in brought:
            visitor.bring_file()
        opening += wait_for_all(brought)
        moving: list[float] = []
        for k in range(MOVES):
            for n, visitor in enumerate(visitors):
                visitor.move(-1 if (k + n) % 3 else 1)
            moving += wait_for_all(visitors)
        with_all = memory_at_rest(server)
    return Round(opening, moving, with_all, memory_after(server))


def memory_after(server: Server) -> float:
    """Return the memory when the time for which sessions are kept is over; nobody else comes."""
    time.sleep(KEPT + LOOK_FOR_ENDED)
    return memory_at_rest(server)


def come_and_go(browser: Browser, server: Server, table: Table) -> None:
    """One visitor, who stays until everything is compiled or loaded."""
    with visitors_in(browser, server.address, [table]) as visitors:
        visitors[0].arrive()
        wait_for_all(visitors)
        memory_at_rest(server)


def memory_at_rest(server: Server) -> float:
    """Return the memory once it stands still: work in the background goes on for a while."""
    seen = [memory(server)]
    deadline = time.monotonic() + PATIENCE
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
        return "Not measured: there is no Chromium on PATH."
    load = os.getloadavg()[0]
    with TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        own = tables(n, Path(folder))
        server = started(ROOT / "app.py", Path(folder), disconnectedSessionTTL=KEPT)
        try:
            say("one comes, stays until everything is compiled, and goes")
            come_and_go(browser, server, own[0])
            at_rest = memory_after(server)
            seen = []
            for k in range(rounds):
                say(f"round {k + 1} of {rounds}: {n} come, move r {MOVES} times, and go")
                seen.append(visit(browser, server, own))
        finally:
            server.stop()
            browser.close()
    return written(n, at_rest, seen, load)


def say(what: str) -> None:
    """Say on standard error how far it is: all of it takes minutes."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def written(n: int, at_rest: float, seen: Sequence[Round], load: float) -> str:
    """Return the tables of what was seen."""
    times = [
        [f"{what}, round {k}", str(len(taken)), f"{statistics.median(taken):.1f}",
         f"{max(taken):.1f}"]
        for k, one in enumerate(seen, 1)
        for what, taken in (("a table is opened", one.opening), ("r is moved", one.moving))
    ]  # fmt: skip
    sizes = [["one has come and gone", f"{at_rest:.0f}"]]
    for k, one in enumerate(seen, 1):
        sizes.append([f"{n} sessions, round {k}", f"{one.with_all:.0f}"])
        sizes.append([f"after they left, round {k}", f"{one.after:.0f}"])
    return (
        f"{n} sessions at once, {min(TABS, n // 2)} of them in Chromium on files of their own: "
        "every page showed exactly the graph of its own table and thresholds, and none an error. "
        f"Load average {load:.1f} before and {os.getloadavg()[0]:.1f} after on {os.cpu_count()} "
        "cores; times hold for such a load.\n\n"
        + markdown_table(("until the page is right", "times", "median, s", "worst, s"), times)
        + "\n\n"
        + markdown_table(("the server's memory", "MB"), sizes)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--dry", action="store_true", help="print, and leave the page as it is")
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
