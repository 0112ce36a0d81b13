"""Explore in a browser."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Locator

import loopylatent as ll
from helpers.browser import AppTab


@dataclass
class Explore(AppTab):
    """The page in a tab, with functions to read and use it."""

    dialogs: list[str] = field(default_factory=list)

    def open(self, **params: Any) -> Explore:
        """Go to a link, wait for its graph, and skip the tour."""
        self.page.on("dialog", self._note_dialog)
        self.page.goto(f"{self.address}/?{urlencode(params)}" if params else self.address)
        self.page.locator(".st-key-graph .frame[data-settled=true]").wait_for()
        self.rests()
        skip = self.page.get_by_role("button", name="Skip", exact=True)
        if skip.count():
            skip.click()
            skip.wait_for(state="detached")
            self.rests()
        return self

    def _note_dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def rests(self) -> None:
        """Wait until the script has ended and nothing moves."""
        super().rests()
        self.page.locator(".st-key-graph .frame[data-settled=true]").wait_for()
        seen: list[Any] = []

        def steady() -> bool:
            seen.append(self.ask("root => [root.debug().scale, root.debug().inWindow(0)]"))
            seen.append(self.stage.bounding_box())
            return seen[-4:-2] == seen[-2:]

        self.until(steady)

    # The graph

    @property
    def stage(self) -> Locator:
        return self.page.locator(".st-key-graph .stage")

    @property
    def revision(self) -> str | None:
        return self.page.locator(".st-key-graph .frame").get_attribute("data-revision")

    def ask(self, script: str, argument: Any = None) -> Any:
        """Run a function of the graph's root element in the page."""
        return self.page.locator(".st-key-graph .root").evaluate(script, argument)

    def positions(self) -> dict[str, dict[str, float]]:
        return self.ask("root => root.debug().positions")

    def edges(self) -> list[list[int]]:
        return self.ask(
            "root => root.view.edges.get().map(edge => [edge.from, edge.to].sort((a, b) => a - b))"
            ".sort((a, b) => a[0] - b[0] || a[1] - b[1])"
        )

    def label(self, node: int) -> str:
        return self.ask("(root, id) => root.view.nodes.get(id).label", node)

    def selected(self) -> list[int]:
        return self.ask("root => root.debug().selected")

    def point(self, node: int) -> tuple[float, float]:
        """Return the position of a node in the window."""
        box = self.stage.bounding_box()
        assert box is not None
        at = self.ask("(root, id) => root.debug().inWindow(id)", node)
        return box["x"] + at["x"], box["y"] + at["y"]

    def hover(self, node: int) -> tuple[float, float]:
        """Hover over a node until its tooltip is shown; return its position.

        A redrawn graph ignores the mouse until it moves, so the mouse is moved from time to time,
        and whenever the node has moved.
        """
        tooltip = self.page.locator(".st-key-graph .vis-tooltip").filter(visible=True)
        places: list[tuple[float, float]] = []

        def shown() -> bool:
            places.append(self.point(node))
            if places[-2:-1] != places[-1:] or len(places) % 40 == 0:
                x, y = places[-1]
                self.page.mouse.move(x, y - 40)
                self.page.mouse.move(x, y)
            return tooltip.count() > 0

        self.until(shown)
        return places[-1]

    # The page around it

    def counts(self) -> dict[str, int]:
        """The counts in the summary line."""
        text = self.page.locator(".stMain").inner_text()
        found = re.search(
            r"(\d+) observed · (\d+) hidden · (\d+) edges? · (\d+) cycles?.*?· (\d+) components?",
            text,
        )
        assert found is not None, "there is no summary line"
        names = ("observed", "hidden", "edges", "cycles", "components")
        return dict(zip(names, map(int, found.groups()), strict=True))

    def slider(self, name: str) -> Locator:
        return self.page.locator(f".st-key-slider_{name} input[type=range]")

    def move(self, slider: str, *keys: str) -> ll.LatentGraph:
        """Press keys on a slider; return the package's graph for the new setting."""
        control = self.slider(slider)
        before = float(self.link()[slider])
        control.focus()
        for key in keys:
            self.page.keyboard.press(key)
        self.until(lambda: self._follows(control, slider, before))
        return learned(self.link()).graph

    def _follows(self, control: Locator, slider: str, before: float) -> bool:
        step = float(control.get_attribute("step") or 0)
        now = float(self.link()[slider])
        return now != before and abs(now - float(control.input_value())) < 0.99 * step

    def shows(self, graph: ll.LatentGraph) -> None:
        """Wait until the drawing and the summary line show a graph."""
        self.becomes(self.edges, sorted(graph.edges.tolist()))
        self.becomes(self.counts, counts_of(graph))
        assert len(self.positions()) == graph.n_nodes
        self.rests()

    def find(self, name: str) -> None:
        """Search for a node by its name."""
        self.page.locator(".st-key-find input").fill(name)
        self.page.get_by_role("option", name=name, exact=True).click()

    def describes(self, text: str) -> None:
        self.page.get_by_text(text, exact=True).first.wait_for()

    def toggle_cycles(self) -> None:
        self.page.get_by_role("button", name="Show", exact=True).click()
        self.page.locator(".st-key-cycles label").click()
        self.page.keyboard.press("Escape")

    def tab(self, name: str) -> None:
        self.page.get_by_role("tab", name=name).click()

    def download(self, key: str) -> Path:
        """Press a button of "Export"."""
        self.tab("Export")
        button = self.page.locator(f".st-key-file_{key} button").filter(visible=True)
        with self.page.expect_download() as coming:
            button.click()
        return Path(coming.value.path())

    def code(self) -> tuple[str, str]:
        """The script and the command line."""
        self.tab("Code")
        blocks = self.page.locator("[data-testid=stCode] code").filter(visible=True)
        self.becomes(blocks.count, 2)
        script, line = (block.inner_text() for block in blocks.all())
        return script, line

    def upload(self, file: Path, kind: str = "Table") -> Locator:
        """Upload a file in the dialog, which is opened if needed; return the dialog."""
        dialog = self.page.get_by_role("dialog")
        if not dialog.count():
            self.page.get_by_role("button", name="Open file").click()
            dialog.wait_for()
        choice = dialog.get_by_role("radio", name=kind)
        if choice.get_attribute("aria-checked") != "true":
            choice.click()
        chosen = dialog.locator(f".st-key-open_{kind.replace(' ', '-')} input[type=file]")
        chosen.wait_for(state="attached")
        chosen.set_input_files(file)
        return dialog

    def use(self, file: Path) -> None:
        """Upload a table and use it."""
        dialog = self.upload(file)
        dialog.get_by_role("button", name="Use table").click()
        dialog.wait_for(state="detached")
        self.rests()


@cache
def distances(sample: str) -> ll.DistanceMatrix:
    return ll.information_distances(ll.load_sample(sample).observations)


def learned(link: dict[str, str]) -> ll.LearnResult:
    """Return the result of the package for a link."""
    thresholds = [float(link[name]) for name in ("r", "Lambda", "tau")]
    assert (link["metric"], link["order"]) == ("auto", "degree")
    return ll.learn(distances(link["sample"]), *thresholds)


def counts_of(graph: ll.LatentGraph) -> dict[str, int]:
    return {
        "observed": graph.n_observed,
        "hidden": graph.n_hidden,
        "edges": graph.n_edges,
        "cycles": graph.n_cycles,
        "components": graph.n_components,
    }
