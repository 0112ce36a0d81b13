"""The Explore page in Chromium: graph, selection, uploads and exports."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import TIMEOUT, WatchedPage
from helpers.explore_page import Explore, distances, learned
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page

import loopylatent as ll
from loopylatent.figures.layout import shown_label
from loopylatent.tables.files import name_from_csv
from loopylatent.ui.explore.scene import CHANGES, INITIAL, LEARNED
from loopylatent.ui.shell.session import FIRST_SAMPLE

pytestmark = pytest.mark.browser

ROOT = Path(__file__).resolve().parents[2]
RING = "latent_cycle"
"""A small sample for tests that do not depend on the data."""
SIZE: Any = {"width": 1440, "height": 900}


# Fixtures ----------------------------------------------------------------------------------


@pytest.fixture
def new_tab(window: BrowserContext, app_address: str) -> Iterator[Callable[..., Explore]]:
    """Open the app in a new tab of this or another window."""
    opened: list[Explore] = []

    def opener(context: BrowserContext | None = None) -> Explore:
        tab = Explore(WatchedPage((context or window).new_page()), app_address)
        opened.append(tab)
        return tab

    yield opener
    for tab in opened:
        tab.page.close()
    for tab in opened:
        tab.watched.check()
        assert tab.dialogs == []


@pytest.fixture
def tab(new_tab: Callable[..., Explore]) -> Explore:
    return new_tab()


@pytest.fixture(scope="module")
def other_window(chromium: Browser) -> Iterator[BrowserContext]:
    """A browser that shares nothing with the first."""
    context = chromium.new_context(viewport=SIZE, accept_downloads=True)
    context.set_default_timeout(1000 * TIMEOUT)
    yield context
    context.close()


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table to upload: numbered rows, two groups of columns, a constant, a text."""
    rng = np.random.default_rng(7)
    shared = rng.normal(size=(200, 2))
    shared[:, 1] += shared[:, 0]
    values = shared[:, [0, 0, 0, 0, 1, 1, 1, 1]] + 0.8 * rng.normal(size=(200, 8))
    frame = pd.DataFrame(values.round(3), columns=[f"answer {k}" for k in range(1, 9)])
    frame.insert(0, "person", range(1, 201))
    frame["always"] = 1
    file = tmp_path_factory.mktemp("answers") / "my answers.csv"
    frame.to_csv(file, index=False)
    return file


def opened_as(script: str, folder: Path) -> ll.LearnResult:
    """Run the displayed script and return its result."""
    body = script.replace("ll.export(", "exported = (")
    names: dict[str, Any] = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        exec(compile(body, "shown", "exec"), names)
    finally:
        os.chdir(before)
    return names["result"]


# Thresholds and the graph ------------------------------------------------------------------


def test_a_cold_start_shows_a_graph(tab):
    tab.open()
    result = learned(tab.link())
    assert tab.link()["sample"] == FIRST_SAMPLE
    tab.shows(result.graph)
    picture = Image.open(io.BytesIO(tab.stage.screenshot())).convert("RGB")
    colours = picture.getcolors(maxcolors=2**24)
    assert colours is not None
    assert len(colours) > 100, "the canvas is blank"
    for node in range(result.graph.n_nodes):
        x, y = tab.point(node)
        assert 0 <= x <= SIZE["width"]
        assert 0 <= y <= SIZE["height"], "the whole graph should be in view"
    assert share_of_overlapping_labels(tab, result.graph) <= 0.05


def share_of_overlapping_labels(tab: Explore, graph: ll.LatentGraph) -> float:
    """Return the share of labels that overlap another, by their boxes in vis."""
    boxes = np.array(
        tab.ask(
            "(root, ids) => ids.map(id => root.view.network.body.nodes[id].shape.labelModule.size)"
            ".map(box => [box.left, box.top, box.left + box.width, box.top + box.height])",
            list(range(graph.n_nodes)),
        )
    )
    left, top, right, bottom = boxes.T
    assert (right - left > 5).all(), "every node has a label"
    meets = (
        (left[:, None] < right) & (left < right[:, None])
        & (top[:, None] < bottom) & (top < bottom[:, None])
    )  # fmt: skip
    np.fill_diagonal(meets, False)
    return float(meets.any(axis=1).mean())


def test_sliders_change_the_graph_to_that_of_the_package(tab):
    tab.open()
    seen = [learned(tab.link()).graph]
    tab.shows(seen[0])
    for slider, keys in (
        ("r", ["ArrowLeft"] * 6),
        ("r", ["ArrowRight"]),
        ("Lambda", ["ArrowRight"] * 4),
        ("tau", ["ArrowLeft"] * 3),
        ("r", ["Home"]),
        ("r", ["End"]),
        ("tau", ["Home"]),
    ):
        graph = tab.move(slider, *keys)
        tab.shows(graph)
        seen.append(graph)
    assert len({graph.digest for graph in seen}) > 5


RECORD = """root => {
  root.frames = [];
  root.glided = false;
  new MutationObserver(() => { root.glided ||= root.view.frame.dataset.settled === "false"; })
    .observe(root.view.frame, { attributes: true });
  const look = () => {
    root.frames.push(root.debug().positions);
    root.looking = requestAnimationFrame(look);
  };
  look();
}"""


def radius_before_a_change(r: float, step: float) -> float:
    """Return the first radius from r downwards where the next step changes the graph."""

    def graph(r: float) -> ll.LatentGraph:
        opening = ll.load_sample(FIRST_SAMPLE).opening
        return ll.learn(distances(FIRST_SAMPLE), **opening | {"r": r}).graph

    while graph(r) == graph(round(r - step, 6)):
        r = round(r - step, 6)
    return r


def test_nodes_do_not_jump(tab):
    tab.open(sample=FIRST_SAMPLE, r=radius_before_a_change(8.0, 0.02))
    start = tab.positions()
    tab.toggle_cycles()
    tab.page.locator(".st-key-graph").get_by_text("on a cycle").wait_for()
    tab.find("moon")
    tab.describes("moon · observed")
    tab.rests()
    assert tab.positions() == start, "the graph is the same, so nothing moves"

    tab.ask(RECORD)
    tab.shows(tab.move("r", "ArrowLeft"))
    tab.ask("root => cancelAnimationFrame(root.looking)")
    frames, end = tab.ask("root => root.frames"), tab.positions()
    path = np.array([[[f[str(n)]["x"], f[str(n)]["y"]] for n in range(100)] for f in frames])
    first = np.array([[start[str(n)]["x"], start[str(n)]["y"]] for n in range(100)])
    last = np.array([[end[str(n)]["x"], end[str(n)]["y"]] for n in range(100)])
    moved = np.hypot(*(last - first).T)
    assert np.median(moved) < 0.05 * np.ptp(first[:, 0]), "most nodes stay about where they were"
    assert tab.ask("root => root.glided")
    share = ((path - first) * (last - first)).sum(axis=2) / np.maximum(moved, 1e-9) ** 2
    straight = first + share[..., None] * (last - first)
    far = moved > 30  # positions are integers
    assert far.any()
    assert np.abs(path - straight)[:, far].max() < 1.5, "they glide in a straight line"
    assert np.diff(share[:, far], axis=0).min() > -0.05, "and never back"


def test_quick_keys_are_not_lost_and_the_view_stays(tab):
    tab.open()
    scale = tab.ask("root => root.debug().scale")
    tab.stage.focus()
    tab.page.keyboard.press("+")
    tab.until(lambda: tab.ask("root => root.debug().scale") > 1.2 * scale)
    tab.rests()
    view = "root => [root.debug().scale, root.view.network.getViewPosition()]"

    def steady() -> Any:
        first = tab.ask(view)
        tab.page.wait_for_timeout(300)
        return first if first == tab.ask(view) else None

    zoomed = tab.until(steady)

    start = float(tab.link()["r"])
    tab.slider("r").focus()
    for _ in range(10):
        tab.page.keyboard.press("ArrowLeft")
    step = float(tab.slider("r").get_attribute("step") or 0)
    tab.becomes(lambda: round((start - float(tab.link()["r"])) / step), 10)
    tab.shows(learned(tab.link()).graph)
    assert round((start - float(tab.slider("r").input_value())) / step) == 10
    assert tab.ask(view) == zoomed

    tab.stage.focus()
    tab.page.keyboard.press("0")
    tab.until(lambda: tab.ask("root => root.debug().scale") < 1.1 * scale)


def test_a_hidden_node_is_selected_by_one_click_and_named(tab):
    tab.open(sample=RING)
    result = learned(tab.link())
    node = result.graph.hidden_nodes[1]
    label = result.graph.labels[node]
    before = tab.positions()
    tab.page.mouse.move(*tab.point(node))
    tip = tab.page.locator(".st-key-graph .vis-tooltip").filter(visible=True)
    tip.wait_for()
    said = tip.inner_text()
    assert said.startswith(label)
    assert all(result.graph.labels[near] in said for near in result.graph.neighbours(node))
    tab.page.mouse.click(*tab.point(node))
    tab.describes(f"{label} · hidden")
    tab.becomes(tab.selected, [node])
    tab.rests()
    assert tab.positions() == before
    field = tab.page.locator(f".st-key-name_{node} input")
    field.fill("<i>ring</i> *one*")
    field.press("Enter")
    tab.becomes(lambda: tab.label(node), "<i>ring</i> *one*")
    tab.describes("<i>ring</i> *one* · hidden")
    graph = tab.move("tau", "ArrowRight")
    tab.shows(graph)
    assert "<i>ring</i> *one*" in [tab.label(one) for one in graph.hidden_nodes]
    for _ in range(2):
        tab.page.get_by_role("button", name="Undo").click()
        tab.rests()
    tab.becomes(lambda: tab.label(node), label)


def test_a_column_is_selected_by_one_click_or_by_its_name(tab):
    tab.open()
    graph = learned(tab.link()).graph
    column = graph.names.index("moon")
    tab.page.mouse.click(*tab.point(column))
    tab.describes("moon · observed")
    assert tab.selected() == [column]
    tab.page.get_by_text("Neighbours in the graph").wait_for()
    corner = tab.stage.bounding_box()
    assert corner is not None
    tab.page.mouse.click(corner["x"] + 15, corner["y"] + corner["height"] - 15)
    tab.becomes(tab.selected, [])
    tab.page.get_by_text("moon · observed", exact=True).wait_for(state="detached")

    node = graph.names.index("hockey")
    tab.find("hockey")
    tab.describes("hockey · observed")
    tab.becomes(tab.selected, [node])
    middle = "(root, id) => [root.debug().inWindow(id), root.view.stage.getBoundingClientRect()]"

    def centred() -> bool:
        at, box = tab.ask(middle, node)
        return abs(at["x"] - box["width"] / 2) < 3 and abs(at["y"] - box["height"] / 2) < 3

    tab.until(centred)


def test_finding_a_visible_node_does_not_move_the_others(tab):
    tab.open(sample="bfi25")
    view = "root => [root.debug().scale, root.view.network.getViewPosition()]"
    before = tab.ask(view)
    tab.find("A2")
    tab.describes("A2 · observed")
    tab.becomes(tab.selected, [learned(tab.link()).graph.names.index("A2")])
    tab.rests()
    assert tab.ask(view) == before


def test_there_is_no_empty_space_below_the_graph_on_the_first_visit(tab):
    tab.page.goto(tab.address)
    tab.rests()
    assert tab.page.locator(".st-key-tour").is_visible()
    frame = tab.steady(tab.page.locator(".st-key-graph .frame"))
    row = tab.steady(tab.page.locator(".st-key-stage_row"))
    assert row["y"] + row["height"] - frame["y"] - frame["height"] < 30


@pytest.mark.long
def test_views_switch(tab):
    tab.open()
    result = learned(tab.link())
    start = tab.positions()
    views = tab.page.locator(".st-key-view")
    views.get_by_text(INITIAL).click()
    tab.becomes(tab.edges, sorted(result.initial_graph.edges.tolist()))
    assert len(tab.positions()) == result.graph.n_observed
    views.get_by_text(CHANGES).click()
    tab.page.locator(".st-key-graph").get_by_text("removed by grouping").wait_for()
    both = {tuple(e) for g in (result.graph, result.initial_graph) for e in g.edges.tolist()}
    tab.becomes(tab.edges, sorted(map(list, both)))
    views.get_by_text(LEARNED).click()
    tab.shows(result.graph)
    assert tab.positions() == start


def test_the_curve_sets_r(tab):
    tab.open(sample=RING)
    before = learned(tab.link()).graph
    plot = tab.page.locator(".st-key-density .js-plotly-plot")
    plot.locator(".nsewdrag").first.wait_for()
    plot.scroll_into_view_if_needed()
    curve = ll.edge_density(distances(RING))
    wanted = float(curve.r[np.argmin(np.abs(curve.r - 2.2))])
    place = "(plot, r) => [plot._fullLayout.xaxis._offset + plot._fullLayout.xaxis.c2p(r)," + (
        "plot._fullLayout.yaxis._offset + 0.5 * plot._fullLayout.yaxis._length]"
    )

    def steady() -> Any:
        first = (plot.bounding_box(), plot.evaluate(place, wanted))
        tab.page.wait_for_timeout(50)
        return first if first == (plot.bounding_box(), plot.evaluate(place, wanted)) else None

    box, (x, y) = tab.until(steady)
    tab.page.mouse.move(box["x"] + x - 5, box["y"] + y)
    tab.page.mouse.move(box["x"] + x, box["y"] + y)
    tab.page.mouse.click(box["x"] + x, box["y"] + y)
    tab.becomes(lambda: float(tab.link()["r"]) in curve.r, True)
    assert float(tab.link()["r"]) == pytest.approx(wanted, abs=0.05)
    graph = learned(tab.link()).graph
    assert graph != before
    tab.shows(graph)


@pytest.mark.long
def test_a_model_is_fitted_drawn_and_exported(tab):
    tab.open(sample="ability16")
    graph = learned(tab.link()).graph
    obs = ll.load_sample("ability16").observations
    plain = tab.ask("root => root.view.edges.get().map(edge => edge.width)")
    tab.tab("Model fit")
    tab.page.get_by_role("button", name="Fit model").click()
    model = ll.fit_parameters(graph, obs)
    tab.page.get_by_text(f"{model.train_bic:,.0f}").filter(visible=True).first.wait_for()
    tab.page.get_by_text("log-likelihood per row (exact)").wait_for()
    tab.until(lambda: tab.ask("root => root.view.edges.get().map(e => e.width)") != plain)
    with tab.page.expect_download() as coming:
        tab.page.locator(".st-key-file_hidden button").click()
    table = pd.read_csv(coming.value.path())
    hidden = table[[name for name in table if name.startswith("hidden ")]]
    np.testing.assert_allclose(hidden, model.hidden_posteriors(obs), atol=1e-6)
    tab.page.locator(".stMain").evaluate("main => main.scrollTo(0, 0)")
    tab.find(graph.labels[graph.n_observed])
    tab.page.get_by_text("Highest rows").wait_for()


# Keyboard, light and dark, screen readers ---------------------------------------------------


def test_the_graph_works_with_the_keyboard(tab):
    tab.open(sample=RING)
    tab.page.get_by_role("button", name="Show", exact=True).focus()
    inside = "root => root.getRootNode().activeElement === root.view.stage"
    for _ in range(6):
        tab.page.keyboard.press("Tab")
        if tab.ask(inside):
            break
    assert tab.ask(inside), "Tab goes from the controls above the graph into it"
    tab.page.keyboard.press("ArrowRight")
    first = tab.until(tab.selected)
    graph = learned(tab.link()).graph
    kind = "hidden" if first[0] >= graph.n_observed else "observed"
    tab.describes(f"{graph.labels[first[0]]} · {kind}")
    tab.page.keyboard.press("ArrowLeft")
    tab.until(lambda: tab.selected() not in ([], first))
    tab.rests()
    tab.page.keyboard.press("Escape")
    tab.becomes(tab.selected, [])
    assert tab.ask(inside)


def brightness(shot: bytes) -> float:
    """Median brightness of a picture, 0 to 255."""
    return float(np.median(np.asarray(Image.open(io.BytesIO(shot)).convert("L"))))


def violations(page: Page) -> list[str]:
    """Return the serious and critical violations that axe finds."""
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:200]}"
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"]
    ]


REMOVED_WHILE_RESTYLING = """async (root, script) => {
  const parent = document.createElement("div");
  parent.innerHTML = '<div class="root"></div>';
  document.body.append(parent);
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const { default: mount } = await import(address);
  const remove = mount({ parentElement: parent, data: root.view.data, setTriggerValue() {} });
  const { view } = parent.firstChild;
  view.watch.dispatchEvent(new Event("change"));
  remove();
  parent.remove();
  await new Promise((done) => setTimeout(done, 200));
}"""


def test_a_removed_graph_is_not_drawn_when_the_theme_changes(tab):
    tab.open(sample=RING)
    script = (ROOT / "loopylatent/ui/graph_view/graph_view.js").read_text(encoding="utf-8")
    tab.ask(REMOVED_WHILE_RESTYLING, script)
    assert tab.watched.errors == []


@pytest.mark.long
def test_both_themes_have_no_serious_violation_by_axe(tab):
    tab.open(sample=RING)
    node = learned(tab.link()).graph.hidden_nodes[0]
    outline = "root => root.view.network.body.nodes[0].options.font.strokeColor"
    assert brightness(tab.page.screenshot()) > 230
    assert brightness(tab.stage.screenshot()) > 230
    assert violations(tab.page) == []
    tab.page.mouse.click(*tab.point(node))
    tab.page.locator(f".st-key-name_{node} input").wait_for()
    tab.tab("Export")
    tab.rests()
    assert violations(tab.page) == []

    tab.page.emulate_media(color_scheme="dark")
    tab.until(lambda: brightness(tab.stage.screenshot()) < 40)
    tab.until(lambda: brightness(tab.page.screenshot()) < 40)
    tab.until(lambda: int(tab.ask(outline)[1:3], 16) < 40)
    assert violations(tab.page) == []
    tab.page.get_by_role("button", name="Open file").click()
    tab.page.get_by_role("dialog").locator("input[type=file]").wait_for(state="attached")
    assert violations(tab.page) == []


# Uploads -----------------------------------------------------------------------------------


def digest_written(command: list[str], folder: Path) -> str:
    """Run a command and return the digest of the graph that it writes."""
    python = str(Path(sys.executable).parent)
    surroundings = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PATH": python + os.pathsep + os.environ.get("PATH", ""),
    }
    done = subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return nx.read_graphml(folder / "graph.graphml").graph["graph_digest"]


def test_an_uploaded_table_is_previewed_and_learned_alike_by_script_and_command(
    tab, answers, tmp_path
):
    tab.open(sample=RING)
    before = tab.revision
    dialog = tab.upload(answers)
    dialog.get_by_role("button", name="Use table").wait_for()
    said = dialog.inner_text()
    assert "200 rows, 10 columns" in said
    assert tab.revision == before, "nothing changes until the table is used"
    dialog.get_by_role("button", name="Use table").click()
    dialog.wait_for(state="detached")
    script, line = tab.code()
    result = opened_as(script, answers.parent)
    assert result.graph.names == tuple(f"answer {k}" for k in range(1, 9))
    tab.shows(result.graph)
    assert tab.link()["file"] == answers.name
    assert tab.page.locator("[data-testid=stAlert]").count() == 1, "it says why it opens like this"
    folders = tmp_path / "script", tmp_path / "shell"
    for folder in folders:
        folder.mkdir()
        (folder / answers.name).write_bytes(answers.read_bytes())
    (folders[0] / "again.py").write_text(script, encoding="utf-8")
    assert digest_written([sys.executable, "again.py"], folders[0]) == result.graph.digest
    assert shlex.split(line)[:3] == ["python", "-m", "loopylatent"]
    here = line.replace("python", shlex.quote(sys.executable), 1)
    assert digest_written(["sh", "-c", here], folders[1]) == result.graph.digest

    tab.page.get_by_role("button", name="Undo").click()
    tab.shows(learned_ring())


def learned_ring() -> ll.LatentGraph:
    return ll.learn(distances(RING), **ll.load_sample(RING).opening).graph


BAD_FILES: dict[str, bytes] = {
    "empty.csv": b"",
    "one column.csv": b"a\n1\n2\n3\n4\n",
    "junk.csv": bytes(range(256)) * 20,
    "junk.xlsx": b"PK\x03\x04" + bytes(range(256)) * 4,
    "junk.parquet": b"PAR1" + bytes(300) + b"PAR1",
    "ragged.csv": b"a,b,c,d\n1,2,3,4\n1,2\n1,2,3,4,5,6,7\n",
    "twice.csv": b"a,a,b,c\n1,2,3,4\n2,3,4,5\n5,4,3,1\n",
    "no rows.csv": b"a,b,c,d\n",
    "<b> *x* ![](x).csv": b"only\n1\n2\n",
}


@pytest.mark.long
def test_invalid_files_give_one_line_and_keep_the_graph(tab, tmp_path):
    tab.open(sample=RING)
    before = tab.revision
    alert = tab.page.get_by_role("dialog").locator("[data-testid=stAlert]")
    said = [""]

    def says_something_new() -> bool:
        lines = alert.locator("p").all_inner_texts()
        return len(lines) == 1 and lines != said[-1:]

    for name, content in BAD_FILES.items():
        (tmp_path / name).write_bytes(content)
        dialog = tab.upload(tmp_path / name)
        tab.until(says_something_new)
        said += alert.locator("p").all_inner_texts()
        assert dialog.get_by_role("button", name="Use table").count() == 0, name
        assert tab.revision == before, "the graph stays"
    assert not any("\n" in line for line in said), "one line each"
    tab.page.keyboard.press("Escape")
    tab.page.get_by_role("dialog").wait_for(state="detached")
    tab.shows(learned_ring())


@pytest.mark.long
def test_unusable_columns_are_dropped_or_rejected(tab, answers, tmp_path):
    frame = pd.read_csv(answers)
    frame["answer 1 again"] = frame["answer 1"]
    file = tmp_path / "repeated.csv"
    frame.to_csv(file, index=False)
    tab.open(sample=RING)
    before = tab.revision
    dialog = tab.upload(file)
    use = dialog.get_by_role("button", name="Use table")
    use.wait_for()
    dialog.locator(".stCheckbox label").click()
    dialog.locator(".stCheckbox input:not(:checked)").wait_for(state="attached")
    tab.page.locator("[data-test-script-state=notRunning]").wait_for()
    use.click()
    alert = dialog.locator("[data-testid=stAlert] p")
    alert.wait_for()
    assert "answer 1 again" in alert.inner_text()
    assert tab.revision == before, "the graph stays"
    dialog.locator(".stCheckbox label").click()
    alert.wait_for(state="detached")
    use.click()
    dialog.wait_for(state="detached")
    tab.becomes(lambda: tab.counts()["observed"], 8)


@pytest.mark.long
def test_hostile_names_are_never_executed(tab, tmp_path):
    file = tmp_path / "$(touch pwned) <b> *x*.parquet"
    hostile_frame().to_parquet(file)
    tab.open(sample=RING)
    tab.use(file)
    tab.becomes(lambda: tab.counts()["observed"], len(HOSTILE_NAMES))
    tab.rests()
    for node in range(len(HOSTILE_NAMES)):
        assert tab.label(node) == shown_label(HOSTILE_NAMES[node])
    for node in (0, 1, 2, 6, 9):
        tab.page.mouse.click(*tab.hover(node))
        tab.becomes(tab.selected, [node])
        tab.page.get_by_text(" · observed").last.wait_for()
        tab.rests()
    for name in ("Tables", "Export", "Code"):
        tab.tab(name)
        tab.rests()
    for view in (INITIAL, CHANGES, LEARNED):
        tab.page.locator(".st-key-view").get_by_text(view).click()
        tab.rests()
    assert tab.page.locator("img[src=x], b:text-is('bold'), a[href^=javascript]").count() == 0
    assert tab.page.evaluate("window.hacked === undefined && window.pwned === undefined")


# Export ------------------------------------------------------------------------------------


def pairs(table: Any) -> dict[tuple[int, int], float]:
    return {(min(int(u), int(v)), max(int(u), int(v))): float(d) for u, v, d in table}


@pytest.mark.long
def test_every_download_contains_the_graph_of_the_package(tab, new_tab, tmp_path):
    tab.open(sample="bfi25")
    result = learned(tab.link())
    graph = result.graph
    lengths = pairs(zip(*graph.edges.T.tolist(), graph.lengths.tolist(), strict=True))
    labels = list(graph.labels)

    read = {
        "graphml": nx.read_graphml(tab.download("graphml"), node_type=int),
        "gexf": nx.read_gexf(tab.download("gexf"), node_type=int),
        "json": nx.node_link_graph(
            json.loads(tab.download("json").read_text(encoding="utf-8")), edges="edges"
        ),
    }
    for ending, found in read.items():
        assert pairs(found.edges(data="distance")) == lengths, ending
        assert [found.nodes[node]["label"] for node in sorted(found)] == labels, ending
    assert read["graphml"].graph["graph_digest"] == graph.digest
    assert read["json"].graph["graph_digest"] == graph.digest

    edges = pd.read_csv(tab.download("csv"))
    assert pairs(edges[["source", "target", "distance"]].to_numpy()) == lengths
    assert set(edges["graph_digest"]) == {graph.digest}
    nodes = pd.read_csv(tab.download("nodes-csv"), keep_default_na=False)
    assert [name_from_csv(label) for label in nodes["label"]] == labels
    assert nodes["degree"].tolist() == graph.degrees.tolist()

    svg = ET.fromstring(tab.download("svg").read_bytes())
    texts = {text.text for text in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert set(labels) <= texts

    project = ll.open_project(tab.download("project"))
    assert project.recipe.settings == result.settings
    assert project.recipe.source == "sample:bfi25"

    saved = tmp_path / "saved.html"
    saved.write_bytes(tab.download("html").read_bytes())
    page = new_tab()
    page.page.goto(saved.as_uri())
    page.watched.wait_until("document.getElementById('stage').dataset.drawn")
    drawn = page.page.evaluate("loopylatent.edges.get().map(edge => [edge.from, edge.to, 0])")
    assert pairs(drawn).keys() == lengths.keys()

    with tab.page.expect_download() as coming:
        tab.page.get_by_role("button", name="Save the picture (PNG)").click()
    assert coming.value.suggested_filename.endswith(".png")
    with Image.open(coming.value.path()) as picture:
        assert picture.format == "PNG"
        colours = picture.convert("RGB").getcolors(maxcolors=2**24)
    assert colours is not None
    assert len(colours) > 50, "the picture is blank"


@pytest.mark.long
def test_a_link_restores_the_graph_in_another_browser(tab, new_tab, other_window):
    tab.open()
    tab.shows(tab.move("r", "ArrowLeft", "ArrowLeft"))
    graph = tab.move("tau", "ArrowRight", "ArrowRight")
    tab.shows(graph)
    again = new_tab(other_window).open(**tab.link())
    again.shows(graph)
    assert again.link() == tab.link()
    assert again.page.locator("[data-testid=stAlert]").count() == 0


@pytest.mark.long
def test_a_project_restores_data_settings_and_names_in_another_browser(
    tab, new_tab, other_window, answers, tmp_path
):
    tab.open(sample=RING)
    tab.use(answers)
    tab.slider("tau").focus()
    revision = tab.revision
    tab.page.keyboard.press("Home")
    tab.until(lambda: tab.revision != revision)
    tab.rests()
    result = opened_as(tab.code()[0], answers.parent)
    tab.shows(result.graph)
    node = result.graph.hidden_nodes[0]
    tab.find(result.graph.labels[node])
    field = tab.page.locator(f".st-key-name_{node} input")
    field.fill("what they share")
    field.press("Enter")
    tab.becomes(lambda: tab.label(node), "what they share")
    file = tmp_path / "mine.loopylatent"
    file.write_bytes(tab.download("project").read_bytes())

    again = new_tab(other_window).open(sample="irish_wind12")
    dialog = again.upload(file, "Project")
    dialog.get_by_role("button", name="Open project").click()
    dialog.wait_for(state="detached")
    again.shows(result.graph)
    assert again.label(node) == "what they share"
    assert again.code() == tab.code()


def test_a_link_cannot_fetch_anything(tab):
    tab.open(sample=RING, order="![x](http://example.com/p.png)")
    assert (
        tab.page.locator("[data-testid=stAlert] img").count() == 0
    )  # requests are recorded by the fixture
