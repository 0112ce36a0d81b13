"""Seconds from the printed address to the first drawn graph, with nothing compiled yet.

Each start has an empty folder for compiled functions. Where an older checkout is given, the two
take turns, so that load affects them equally.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks import markdown_table
from tests.helpers.app_server import ROOT
from tests.helpers.browser import ARGUMENTS, EXECUTABLES

OLDER = "LOOPYLATENT_BEFORE"
STARTS = 3
TIMEOUT = 300
OPTIONS = ("--server.headless=true", "--server.port=0", "--server.address=127.0.0.1")
GRAPH = ".st-key-graph .frame"
HEAD = ("first start", "starts", "median, s", "fastest", "slowest")
COMMAND = ("learn", "sample:bfi25", "-o", "graph.json")


def surroundings(checkout: Path, folder: Path) -> dict[str, str]:
    """Return an environment with an empty cache that imports the package of a checkout."""
    empty = {"NUMBA_CACHE_DIR": str(folder / "kernels"), "HOME": str(folder)}
    kept = {name: value for name, value in os.environ.items() if name != "LOOPYLATENT_COMPILE"}
    return kept | empty | {"PYTHONPATH": str(checkout)}


@contextmanager
def started(checkout: Path, folder: Path) -> Iterator[str]:
    """Start the app, and yield its address when it is printed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app.py", *OPTIONS],
        cwd=checkout,
        env=surroundings(checkout, folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        found = (re.search(r"http://[\d.:]+", line) for line in process.stdout or ())
        yield next(one.group() for one in found if one is not None)
    finally:
        process.terminate()
        process.wait()


def first_graph(checkout: Path, browser: Browser) -> float:
    """Return the seconds until the graph is drawn."""
    viewport: Any = {"width": 1440, "height": 900}
    page = browser.new_page(viewport=viewport)
    page.goto("about:blank")
    with TemporaryDirectory() as folder, started(checkout, Path(folder)) as address:
        began = time.perf_counter()
        page.goto(address)
        page.locator(GRAPH).wait_for(timeout=1000 * TIMEOUT)
        seconds = time.perf_counter() - began
        page.close()
    return seconds


def first_command(checkout: Path) -> float:
    """Return the seconds of a command that learns a small table."""
    with TemporaryDirectory() as folder:
        began = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "loopylatent", *COMMAND],
            cwd=folder,
            env=surroundings(checkout, Path(folder)),
            check=True,
            capture_output=True,
        )
        return time.perf_counter() - began


def measure(checkouts: Mapping[str, Path], browser: Browser) -> dict[str, list[float]]:
    taken: dict[str, list[float]] = {}
    for _ in range(STARTS):
        for name, checkout in checkouts.items():
            taken.setdefault(f"app{name}", []).append(first_graph(checkout, browser))
            taken.setdefault(f"`{' '.join(COMMAND)}`{name}", []).append(first_command(checkout))
    return taken


def row(name: str, seconds: list[float]) -> list[str]:
    figures = statistics.median(seconds), min(seconds), max(seconds)
    return [name, str(len(seconds)), *(f"{one:.1f}" for one in figures)]


def report(against: str | None = None) -> str:
    found = next((path for name in EXECUTABLES if (path := shutil.which(name))), None)
    if found is None:
        return "## First graph\n\nNot measured: Chromium is not on PATH."
    checkouts = {"": ROOT} | ({", before": Path(against)} if against else {})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(ARGUMENTS))
        taken = measure(checkouts, browser)
        browser.close()
    rows = [row(name, times) for name, times in sorted(taken.items())]
    return (
        "## First graph\n\nNothing is compiled when the app or the command starts. The app: from "
        "the printed address to the graph of the newsgroup sample in a browser that is open; the "
        "command: all of it.\n\n" + markdown_table(HEAD, rows)
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", metavar="FOLDER", default=os.environ.get(OLDER))
    print(report(parser.parse_args().against))
