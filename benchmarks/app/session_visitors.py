"""Concurrent users of the app, in Chromium or without a browser, each with a table of their own."""

from __future__ import annotations

import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from playwright.sync_api import Page

import loopylatent as ll
from benchmarks.app.session_line import Line
from loopylatent.exporting.project.file import digest_of
from tests.helpers.browser import AppTab

SLIDER = ".st-key-slider_r input[type=range]"
COUNTS = r"(\d+) observed · (\d+) hidden · (\d+) edges? · (\d+) cycles?.*?· (\d+) components?"
SEEN = """([root]) => {
  const main = document.querySelector(".stMain");
  if (!root?.view?.edges || !main) return null;
  const edges = root.view.edges.get().map(edge => [edge.from, edge.to].sort((a, b) => a - b));
  return {text: main.innerText, edges: edges.sort((a, b) => a[0] - b[0] || a[1] - b[1]),
          errors: document.querySelectorAll("[data-testid=stException]").length};
}"""


@dataclass(frozen=True, eq=False)
class Table:
    """The table of one session: a bundled one, or a file of its own."""

    distances: ll.DistanceMatrix
    sample: str | None
    file: Path | None

    @cache  # noqa: B019  (tables live as long as the process)
    def graph(self, r: float, Lambda: float, tau: float) -> ll.LatentGraph:
        """Return the expected graph at these thresholds."""
        return ll.learn(self.distances, r, Lambda, tau).graph

    @cached_property
    def link(self) -> Mapping[str, str]:
        """The link parameters of a page that shows this table."""
        if self.file is None:
            return {"sample": str(self.sample)}
        return {"file": self.file.name, "digest": digest_of(self.file.read_bytes())}


@dataclass(frozen=True)
class Seen:
    """The state of a page."""

    link: dict[str, str]
    counts: list[int]
    edges: list[list[int]]


@dataclass
class Visitor(ABC):
    """One session, and the time of its last action."""

    address: str
    table: Table
    acted: float = 0.0
    link_before: dict[str, str] = field(default_factory=dict)

    @abstractmethod
    def arrive(self) -> None:
        """Open the page without waiting for it."""

    @abstractmethod
    def step(self, direction: int) -> None:
        """Move r by one step without waiting for the result."""

    @abstractmethod
    def seen(self) -> Seen | None:
        """Return the state of the page, or None while it loads. Raise if it shows an error."""

    @abstractmethod
    def leave(self) -> None:
        """Close the page."""

    def move(self, direction: int) -> None:
        """Move r, and remember the previous link."""
        seen = self.seen()
        assert seen is not None, "the page is loaded"
        self.link_before = seen.link
        self.step(direction)

    def is_right(self) -> bool:
        """Return whether the page shows the expected graph."""
        seen = self.seen()
        if seen is None or seen.link == self.link_before or "r" not in seen.link:
            return False
        if not self.table.link.items() <= seen.link.items():
            return False
        graph = self.table.graph(*(float(seen.link[name]) for name in ("r", "Lambda", "tau")))
        counts = [graph.n_observed, graph.n_hidden, graph.n_edges, graph.n_cycles]
        expected = [*counts, graph.n_components]
        return seen.counts == expected and seen.edges == sorted(graph.edges.tolist())


@dataclass
class WithoutBrowser(Visitor):
    """A session over the WebSocket protocol."""

    line: Line | None = None

    def arrive(self) -> None:
        self.acted = time.perf_counter()
        self.line = Line(self.address, f"sample={self.table.sample}")

    def step(self, direction: int) -> None:
        assert self.line is not None, "arrive() comes first"
        self.acted = time.perf_counter()
        self.line.step_r(direction)

    def seen(self) -> Seen | None:
        line = self.line
        if line is None or not line.runs:
            return None
        if line.errors:
            raise RuntimeError(f"a page shows an error: {line.errors}")
        return Seen(line.link, list(line.counts.values()), line.edges)

    def leave(self) -> None:
        if self.line is not None:
            self.line.close()


@dataclass
class InChromium(Visitor):
    """A session in Chromium, with a file of its own."""

    tab: AppTab | None = None

    @property
    def page(self) -> Page:
        assert self.tab is not None, "a tab is assigned"
        return self.tab.page

    def arrive(self) -> None:
        self.acted = time.perf_counter()
        self.page.goto(f"{self.address}/?sample=latent_cycle", wait_until="commit")

    def upload(self) -> None:
        """Open the file of this session in the dialog."""
        page = self.page
        assert self.tab is not None
        self.tab.rests()
        page.get_by_role("button", name="Open file").click()
        dialog = page.get_by_role("dialog")
        chosen = dialog.locator(".st-key-open_Table input[type=file]")
        chosen.wait_for(state="attached")
        chosen.set_input_files(str(self.table.file))
        dialog.get_by_role("button", name="Use table").wait_for()
        self.acted = time.perf_counter()
        dialog.get_by_role("button", name="Use table").click()

    def step(self, direction: int) -> None:
        assert self.tab is not None, "a tab is assigned"
        self.tab.rests()  # until then the slider may still be that of the previous table
        self.page.locator(SLIDER).focus()
        self.acted = time.perf_counter()
        self.page.keyboard.press("ArrowRight" if direction > 0 else "ArrowLeft")

    def seen(self) -> Seen | None:
        assert self.tab is not None
        shown = self.page.locator(".st-key-graph .root").evaluate_all(SEEN)
        found = None if shown is None else re.search(COUNTS, shown["text"])
        if shown is None or found is None:
            return None
        if shown["errors"]:
            raise RuntimeError(f"a page shows an error:\n{shown['text'][:500]}")
        return Seen(self.tab.link(), [int(text) for text in found.groups()], shown["edges"])

    def leave(self) -> None:
        self.page.close()
        assert self.tab is not None
        self.tab.check()
