"""The pages Laboratory and Theory in Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import AppTab, WatchedPage, visiting

from loopylatent.figures.layout import shown_label
from loopylatent.figures.recovery import FALSE_EDGE, MISSED_EDGE
from loopylatent.synthetic.families import latent_cycle
from loopylatent.synthetic.laboratory import learn_back

pytestmark = [pytest.mark.browser, pytest.mark.long]

WIDE, NARROW = (1440, 900), (1024, 768)
FIRST = {"Laboratory": ".st-key-lab_tab", "Theory": ".st-key-theory_conditions"}


class Tab(AppTab):
    def open(self, name: str, **how: Any) -> None:
        self.go(name, **how)
        self.page.locator(FIRST[name]).wait_for()
        self.idle()

    def idle(self) -> None:
        """Wait until neither the script nor background work is running."""
        cancel = self.page.get_by_role("button", name="Cancel", exact=True)
        cancel.first.wait_for(state="detached")
        self.rests()

    def both_drawn(self) -> None:
        for which in ("truth", "learned"):
            self.page.locator(f".st-key-lab_{which} .frame[data-settled=true]").wait_for()

    def colours(self, which: str) -> list[str]:
        """Return the colours of the highlighted edges of a graph."""
        return self.page.locator(f".st-key-lab_{which} .root").evaluate(
            "root => root.view.edges.get().map(edge => edge.color && edge.color.color)"
            ".filter(colour => colour)"
        )

    def numbers(self) -> dict[str, str]:
        found = self.page.locator(".st-key-lab_numbers [data-testid=stMetric]")
        parts = ("[data-testid=stMetricLabel]", "[data-testid=stMetricValue]")
        pairs = found.evaluate_all(
            "(all, parts) => all.map(one => parts.map(part => one.querySelector(part)?.innerText))",
            parts,
        )
        return {name.strip(): value.strip() for name, value in pairs if name and value}

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def choose(self, key: str, option: str) -> None:
        self.page.locator(f".st-key-{key} [role=combobox]").click()
        self.page.get_by_role("option", name=option).click()
        self.rests()

    def violations(self) -> list[str]:
        """Serious accessibility violations."""
        return [
            f"{violation['id']}: {node['html'][:120]}"
            for violation in Axe().run(self.page).response["violations"]
            if violation["impact"] in ("serious", "critical")
            for node in violation["nodes"]
        ]


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[Tab]:
    yield from visiting(Tab(app_page, app_address))


def test_fewer_rows_give_coloured_errors_and_the_table_opens_on_explore(tab):
    tab.open("Laboratory")
    tab.both_drawn()
    tab.page.locator(".st-key-lab_rows input[type=range]").focus()
    tab.page.keyboard.press("Home")
    found = learn_back(latent_cycle(10, 2), 100).comparison
    tab.until(lambda: tab.numbers().get("Precision") == f"{found.precision:.0%}")
    tab.both_drawn()
    assert tab.numbers()["Recall"] == f"{found.recall:.0%}"
    tab.until(lambda: tab.colours("learned").count(FALSE_EDGE) == found.n_false)
    tab.until(lambda: tab.colours("truth").count(MISSED_EDGE) == found.n_missed)
    tab.press("Take to Explore")
    tab.page.locator(".st-key-graph .frame[data-settled=true]").wait_for()
    drawn = tab.page.locator(".st-key-graph .root")
    tab.until(lambda: drawn.evaluate("root => root.view.edges.length") == found.learned.n_edges)


@pytest.mark.parametrize(("size", "scheme"), [(WIDE, "dark"), (NARROW, "light")])
def test_both_graphs_are_in_view_without_scrolling_and_the_links_fit(tab, size, scheme):
    tab.open("Laboratory", size=size, scheme=scheme)
    tab.both_drawn()
    for which in ("truth", "learned"):
        box = tab.steady(tab.page.locator(f".st-key-lab_{which} .stage"))
        assert box["y"] + box["height"] <= size[1]
        assert box["x"] + box["width"] <= size[0]
    side = tab.page.locator("[data-testid=stSidebar]").bounding_box()
    links = tab.page.locator(".st-key-pages a")
    assert links.count() >= 7
    for link in links.all():
        box = link.bounding_box()
        assert box["x"] >= side["x"]
        assert box["x"] + box["width"] <= side["x"] + side["width"]
        assert link.evaluate("link => link.scrollWidth <= link.clientWidth + 1")
    if scheme == "light":
        tab.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
        tab.steady(tab.page.locator(".st-key-lab_learned .stage"))
        assert tab.violations() == []


WHOLE = """root => {
  const { width, height } = root.view.stage.getBoundingClientRect();
  return root.view.nodes.getIds().map(root.debug().inWindow)
    .every(({ x, y }) => x > 0 && x < width && y > 0 && y < height);
}"""


def test_all_nodes_stay_in_view_in_another_window_unless_zoomed_in(tab):
    tab.open("Laboratory", size=WIDE)
    tab.both_drawn()
    truth = tab.page.locator(".st-key-lab_truth .root")
    tab.page.set_viewport_size({"width": NARROW[0], "height": NARROW[1]})
    tab.until(lambda: truth.evaluate(WHOLE))
    frame = tab.steady(tab.page.locator(".st-key-lab_truth .frame"))
    assert frame["height"] < 1.2 * frame["width"]
    before = truth.evaluate("root => root.debug().scale")
    zoom = tab.page.locator(".st-key-lab_truth").get_by_role("button", name="Zoom in")
    while truth.evaluate(WHOLE):
        zoom.click()
        tab.rests()
    tab.page.set_viewport_size({"width": WIDE[0], "height": WIDE[1]})
    learned = tab.page.locator(".st-key-lab_learned .root")
    tab.until(lambda: learned.evaluate("root => root.debug().scale") > before)
    assert not truth.evaluate(WHOLE)


def test_a_curve_shows_its_progress_and_can_be_cancelled(tab):
    tab.open("Laboratory")
    tab.turn_to("Error vs rows")
    repeats = tab.page.locator(".st-key-lab_repeats-lab-curve-n input")
    repeats.fill("50")
    repeats.press("Enter")
    tab.rests()
    tab.press("Run")
    tab.page.get_by_text(re.compile(r"\d+ of 300 done")).wait_for()
    tab.until(lambda: tab.page.locator(".js-plotly-plot .scatterlayer .trace").count() > 0)
    tab.press("Cancel")
    tab.idle()
    assert tab.page.get_by_role("button", name="Run again", exact=True).is_enabled()
    repeats.fill("1")
    repeats.press("Enter")
    tab.rests()
    tab.press("Run")
    legend = tab.page.locator(".js-plotly-plot .legendtext")
    tab.becomes(legend.all_text_contents, ["recall", "precision", "exact recovery"])
    tab.idle()
    tab.becomes(legend.all_text_contents, ["recall", "precision", "exact recovery"])


def test_names_in_an_edge_list_are_plain_text(tab):
    tab.open("Laboratory")
    tab.choose("lab_family", "Custom edges")
    box = tab.page.locator(".st-key-lab_edges textarea")
    bad = "<img/src=x/onerror=window.hacked=1>"
    box.fill(f"h {bad}\nh *b*\nh [c](javascript:window.hacked=1)")
    box.press("Control+Enter")
    tab.page.get_by_text("'h1' is not in the skeleton").wait_for()
    hidden = tab.page.locator(".st-key-lab_hidden input")
    hidden.fill("h")
    hidden.press("Enter")
    tab.page.get_by_text("5 columns · 1 hidden").wait_for()
    tab.both_drawn()
    labels = tab.page.locator(".st-key-lab_truth .root").evaluate(
        "root => root.view.nodes.get().map(node => node.label)"
    )
    assert shown_label(bad) in labels
    assert tab.page.evaluate("window.hacked") is None


def test_the_theory_of_a_model_of_custom_values_and_of_data(tab):
    tab.open("Theory", scheme="dark")
    assert tab.violations() == []
    tab.page.get_by_text("Theorem 2 does not apply").wait_for()
    tab.press("Simulate")
    tab.page.get_by_text("in every repeat from").wait_for()
    tab.page.get_by_text("Custom values").click()
    tab.page.get_by_text("Theorem 2 requires").wait_for()
    tab.turn_to("n against δ")
    tab.until(
        lambda: "Theorem 2" in tab.page.locator(".js-plotly-plot .legendtext").all_text_contents()
    )
    girth = tab.page.locator(".st-key-theory_girth input")
    girth.fill("12")
    girth.press("Enter")
    tab.page.get_by_text("Theorem 2 does not apply").wait_for()
    tab.page.get_by_text("Explore data").click()
    tab.page.get_by_text("What cannot be checked").wait_for()
    tab.page.get_by_text("Four-point distortion").wait_for()
