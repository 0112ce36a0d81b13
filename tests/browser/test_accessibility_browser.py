"""Accessibility of every page in both themes: axe, keyboard, text descriptions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import AppTab, WatchedPage, visiting
from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.browser

RING = "latent_cycle"
PAGES = ("", "Step_by_step", "Tune", "Compare", "Evaluate", "Laboratory", "Theory", "Help")
PINS = '[["tree",{"sample":"latent_cycle","r":"9","Lambda":"0.01","tau":"0.1"}]]'
GRAPH = ".st-key-graph"
STREAMLIT = ("presentation-role-conflict", 'data-testid="stFileUploaderDropzone"')
"""Streamlit's file uploader is presentational but has a name; axe rates that as minor."""
WITH_FOCUS = """
  let at = document.activeElement;
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
"""
LOOK = """
  const look = (one) => {
    const around = [one, one.nextElementSibling, one.previousElementSibling];
    for (let up = one.parentElement; up && around.length < 7; up = up.parentElement) {
      around.push(up);
    }
    return around.filter(Boolean).map((part) => {
      const s = getComputedStyle(part);
      return [s.outlineStyle, s.outlineColor, s.boxShadow, s.borderColor, s.backgroundColor].join();
    }).join(";");
  };
"""
STEP = f"""async () => {{
  {WITH_FOCUS} {LOOK}
  if (at) look(at); // borders fade in and out: what is seen is seen at the end
  const fading = document.getAnimations().filter((one) => one instanceof CSSTransition);
  await Promise.allSettled(fading.map((one) => one.finished));
  const before = globalThis.stood;
  const stays = before?.at === at; // a table of Streamlit's takes Tab for its cells
  const alike = before && !stays ? look(before.at) === before.look : false;
  globalThis.stood = null;
  if (!at || at === document.body) return {{ alike, place: null }};
  globalThis.stood = {{ at, look: look(at) }};
  const box = at.getBoundingClientRect();
  const name = at.getAttribute("aria-label") || at.textContent.trim().slice(0, 40) || at.type;
  const place = [Math.round(box.x), Math.round(box.y + scrollY), at.tagName, name].join("|");
  return {{ alike, stays, name, place }};
}}"""


def violations(page: Page) -> list[str]:
    """Return all violations that axe finds, except one of Streamlit."""
    return [
        f"{found['impact']} {found['id']}: {found['help']}: {node['html'][:200]}"
        for found in Axe().run(page).response["violations"]
        for node in found["nodes"]
        if not (found["id"] == STREAMLIT[0] and STREAMLIT[1] in node["html"])
    ]


@pytest.fixture
def tab(app_page: WatchedPage, app_address: str) -> Iterator[AppTab]:
    yield from visiting(AppTab(app_page, app_address))


def skip_tour(tab: AppTab) -> None:
    skip = tab.page.get_by_role("button", name="Skip", exact=True)
    if skip.count():
        skip.click()
        skip.wait_for(state="detached")
        tab.rests()


def is_dark(tab: AppTab) -> bool:
    ground = "() => getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    return "16, 21, 28" in str(tab.page.evaluate(ground))


def go_dark(tab: AppTab) -> None:
    tab.page.emulate_media(color_scheme="dark")
    tab.until(lambda: is_dark(tab))
    tab.rests()


@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing_on_any_page_in_either_theme(tab, page):
    tab.go(page, sample=RING, pins=PINS)
    skip_tour(tab)
    assert violations(tab.page) == []
    go_dark(tab)
    assert violations(tab.page) == []


@pytest.mark.long
def test_axe_finds_nothing_in_tabs_dialogs_and_node_details(tab):
    tab.go(sample=RING, scheme="dark")
    tab.page.locator(f"{GRAPH} .stage").focus()
    tab.page.keyboard.press("End")
    tab.page.locator("[class*=st-key-name_] input").wait_for()
    for name in ("Model fit", "Stability", "Tables", "Export", "Code"):
        tab.turn_to(name)
        assert violations(tab.page) == [], name
    tab.page.get_by_role("button", name="Open file").click()
    tab.page.get_by_role("dialog").locator("input[type=file]").wait_for(state="attached")
    assert violations(tab.page) == []
    tab.page.keyboard.press("Escape")
    tab.go("Tune", sample=RING, scheme="dark")
    for name in ("Λ × τ grid", "Barcode", "Table"):
        tab.turn_to(name)
        assert violations(tab.page) == [], name


def test_every_node_is_reached_by_keys_and_escape_leaves_the_graph(tab):
    tab.go(sample=RING)
    root = tab.page.locator(f"{GRAPH} .root")
    stage = tab.page.locator(f"{GRAPH} .stage")
    tab.page.locator(f"{GRAPH} .frame[data-settled=true]").wait_for()

    def selected() -> list[int]:
        return root.evaluate("root => root.debug().selected")

    def has_focus() -> bool:
        return stage.evaluate("stage => stage.getRootNode().activeElement === stage")

    n_nodes = root.evaluate("root => root.view.data.nodes.length")
    stage.focus()
    tab.page.keyboard.press("PageUp")
    tab.becomes(selected, [n_nodes - 1])
    tab.rests()
    tab.page.locator(f".st-key-name_{n_nodes - 1} input").wait_for()
    root.evaluate("root => { root.view.told = root.view.reply; root.view.reply = () => {}; }")
    said = []
    for node in reversed(range(n_nodes)):
        assert selected() == [node]
        said.append(tab.page.locator(f"{GRAPH} .note").text_content())
        tab.page.keyboard.press("PageUp")
    assert selected() == [0]
    assert len(set(said)) == n_nodes
    root.evaluate("root => { root.view.reply = root.view.told; }")
    tab.page.keyboard.press("PageDown")
    tab.becomes(selected, [1])
    tab.page.keyboard.press("Home")
    tab.becomes(selected, [0])
    tab.rests()
    assert has_focus()
    tab.page.keyboard.press("Escape")
    tab.becomes(selected, [])
    tab.rests()
    assert has_focus()
    tab.page.keyboard.press("Escape")
    tab.until(lambda: not has_focus())
    label = stage.get_attribute("aria-label")
    assert "20 observed and 10 hidden nodes" in label
    assert "30 edges" in label


def walked(tab: AppTab, most: int = 120) -> list[str]:
    """Press Tab through the whole page; return the names of the focused elements.

    An element must look different while it has the focus.
    """
    names: list[str] = []
    places: set[str] = set()
    for _ in range(most):
        tab.page.keyboard.press("Tab")
        here = tab.page.evaluate(STEP)
        assert not here["alike"], f"no visible focus on {names[-1]}"
        if here["place"] is None:
            break
        if here["stays"]:
            continue
        if here["place"] in places:
            break
        assert here["name"], f"something without a name has the focus after {names[-1]}"
        names.append(here["name"])
        places.add(here["place"])
    return names


@pytest.mark.long
def test_tab_reaches_every_control_of_the_first_page(tab):
    tab.go(sample=RING)
    tab.page.locator(f"{GRAPH} .frame[data-settled=true]").wait_for()
    names = " · ".join(walked(tab))
    for wanted in (
        "Explore", "Help", "Open file", "Columns", "Tree", "Radius r", "Margin Λ",
        "Minimum edge length τ", "Reset", "Pin", "Learned graph", "Graph of 20 observed",
        "Show the whole graph", "Zoom in", "Full screen", "Save the picture", "Density curve",
    ):  # fmt: skip
        assert wanted in names, wanted
    order = [names.index(one) for one in ("Explore", "Open file", "Learned graph", "Graph of 20")]
    assert order == sorted(order)


WANTED = {
    "Step_by_step": ("Open file", "Radius r"),
    "Tune": ("Open file", "Sweep over r", "Suggest thresholds"),
    "Compare": ("Open file", "Left", "Right", "Swap", "Numbers and scores"),
    "Evaluate": ("Open file", "Fit model"),
    "Laboratory": ("Model", "Take to Explore", "Recovery"),
    "Theory": (),
    "Help": (),
}
"""Some controls of each page, in page order."""


@pytest.mark.long
@pytest.mark.parametrize("page", WANTED)
def test_tab_reaches_the_controls_of_every_other_page_in_order(tab, page):
    tab.go(page, sample=RING, pins=PINS)
    skip_tour(tab)
    tab.rests()
    names = " · ".join(walked(tab))
    order = [names.find(one) for one in ("Explore", "Help", *WANTED[page])]
    assert -1 not in order, (names, order)
    assert order == sorted(order), (names, order)


def description_of(chart: Locator) -> str:
    return str(chart.evaluate("one => one.getAttribute('aria-label')"))


def test_plots_have_descriptions_and_reduced_motion_is_respected(tab):
    tab.page.emulate_media(reduced_motion="reduce")
    tab.go(sample=RING)
    chart = tab.page.locator(".st-key-density [aria-label]").first
    chart.wait_for(state="attached")
    assert "Density of the initial graph" in description_of(chart)
    assert "points, x from" in description_of(chart)
    root = tab.page.locator(f"{GRAPH} .root")
    tab.page.locator(f"{GRAPH} .frame[data-settled=true]").wait_for()
    root.evaluate(
        "root => { root.frames = []; "
        "root.view.network.on('afterDrawing', () => root.frames.push(root.debug().scale)); }"
    )
    before = root.evaluate("root => root.debug().scale")
    tab.page.get_by_role("button", name="Zoom in").click()
    tab.until(lambda: root.evaluate("root => root.debug().scale") > before)
    seen = {round(scale, 9) for scale in root.evaluate("root => root.frames")}
    assert len(seen - {round(before, 9)}) == 1  # without animation
    tab.page.emulate_media(reduced_motion="no-preference")
