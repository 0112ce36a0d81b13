"""Files: each is read back equal, says where it came from, and cannot be made to run."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import stat
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from loopylatent.compute.files import __version__, write_atomically
from loopylatent.errors import DataError
from loopylatent.exporting.graph_files import (
    WRITERS,
    Extras,
    Provenance,
    export,
    to_edge_csv,
    to_gexf,
    to_graphml,
    to_html,
    to_json,
    to_node_csv,
)
from loopylatent.figures.layout import positions, shown_label
from loopylatent.graph import LatentGraph
from loopylatent.tables.files import name_from_csv

LENGTHS = [0.1 + 0.2, 1 / 3, 5e-324, 1e-17, 12.269_248_138_573_7]
LOOPY = LatentGraph.build(
    ["god", "jesus", "space", "windows"],
    2,
    [(0, 4), (1, 4), (2, 5), (4, 5), (3, 5)],
    LENGTHS,
)
SETTINGS = {"r": 5.0, "Lambda": 0.0, "tau": 0.1 + 0.2, "method": "quartet", "seed": 0}
ORIGIN = Provenance(SETTINGS, "0123456789abcdef", LOOPY.digest)
EXTRAS = Extras(
    positions=np.array([[0.5, 1], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]),
    groups=[0, 0, 1, 1],
    group_names=["belief", "machines"],
    signs=[1, -1, 0, 1, 1],
    hidden_names={4: "religion"},
)
NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def star_of(names) -> LatentGraph:
    return LatentGraph.build(names, 1, [(k, len(names)) for k in range(len(names))])


def origin_of(graph: LatentGraph) -> Provenance:
    return Provenance(SETTINGS, "0123456789abcdef", graph.digest)


def visible(name: str) -> str:
    return NOT_IN_XML.sub("\ufffd", name)


def in_a_cell(name: str) -> str:
    """In CSV no control character is left that a terminal obeys."""
    return re.sub("[\x7f-\x9f]", "\ufffd", visible(name))


def check_equal(read: nx.Graph, graph: LatentGraph, labels=None) -> None:
    expected = graph.to_networkx()
    assert list(read.nodes) == list(expected.nodes)
    assert {tuple(sorted(edge)) for edge in read.edges} == set(expected.edges)
    for node, label in enumerate(labels or graph.labels):
        assert read.nodes[node]["hidden"] is expected.nodes[node]["hidden"]
        assert read.nodes[node]["label"] == label
    for u, v, distance in expected.edges(data="distance"):
        assert read.edges[u, v]["distance"] == distance
        assert read.edges[u, v]["weight"] == pytest.approx(np.exp(-distance))


def read_graphml(text: str) -> nx.Graph:
    return nx.read_graphml(io.BytesIO(text.encode()), node_type=int)


def read_gexf(text: str) -> nx.Graph:
    return nx.read_gexf(io.BytesIO(text.encode()), node_type=int)


def read_json(text: str) -> nx.Graph:
    return nx.node_link_graph(json.loads(text), edges="edges")


READERS = {to_graphml: read_graphml, to_gexf: read_gexf, to_json: read_json}


def read_csv(text: str) -> pd.DataFrame:
    names = dict.fromkeys(["label", "source_name", "target_name", "version", "data_digest"], str)
    return pd.read_csv(io.BytesIO(text.encode()), keep_default_na=False, dtype=names)


@pytest.mark.parametrize("write", READERS)
def test_a_graph_file_reads_back_equal(write):
    check_equal(READERS[write](write(LOOPY, ORIGIN)), LOOPY)


@pytest.mark.parametrize("write", READERS)
def test_extras_are_written_and_read_back(write):
    read = READERS[write](write(LOOPY, ORIGIN, EXTRAS))
    check_equal(read, LOOPY, ["god", "jesus", "space", "windows", "religion", "h2"])
    assert (read.nodes[0]["x"], read.nodes[5]["y"]) == (0.5, 11)
    assert [read.nodes[k].get("group") for k in (0, 3, 4)] == [0, 1, None]
    assert read.nodes[3]["group_name"] == "machines"
    assert [read.edges[u, v]["sign"] for u, v in LOOPY.edges.tolist()] == [1, -1, 0, 1, 1]


@pytest.mark.parametrize("write", READERS)
def test_hostile_names_read_back(write, hostile_names):
    graph = star_of(hostile_names)
    labels = graph.labels if write is to_json else [visible(label) for label in graph.labels]
    text = write(graph, origin_of(graph))
    text.encode("utf-8")
    check_equal(READERS[write](text), graph, labels)


@given(st.lists(st.text(), min_size=1, max_size=6))
def test_any_names_read_back_from_every_format(names):
    graph = star_of(names)
    labels = [visible(label) for label in graph.labels]
    for write, read in READERS.items():
        content = read(write(graph, origin_of(graph)))
        check_equal(content, graph, graph.labels if write is to_json else labels)
    table = csv.DictReader(io.StringIO(to_node_csv(graph, origin_of(graph)), newline=""))
    assert [name_from_csv(row["label"]) for row in table] == list(map(in_a_cell, graph.labels))


@given(st.lists(st.floats(0, 1e6), min_size=3, max_size=3))
def test_distances_read_back_to_the_last_bit(lengths):
    graph = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], lengths)
    for write, read in READERS.items():
        check_equal(read(write(graph, origin_of(graph))), graph)
    table = csv.DictReader(io.StringIO(to_edge_csv(graph, origin_of(graph)), newline=""))
    assert [float(row["distance"]) for row in table] == lengths


def test_graphml_has_the_provenance():
    origin = read_graphml(to_graphml(LOOPY, ORIGIN)).graph
    assert origin["version"] == __version__
    assert origin["data_digest"] == "0123456789abcdef"
    assert origin["graph_digest"] == LOOPY.digest
    assert json.loads(origin["settings"]) == SETTINGS


def test_gexf_has_the_provenance_without_a_date():
    text = to_gexf(LOOPY, ORIGIN)
    root = ET.fromstring(text)
    space = {"g": root.tag[1:].split("}")[0]}
    meta = root.find("g:meta", space)
    assert meta is not None
    assert meta.attrib == {}
    assert meta.findtext("g:creator", namespaces=space) == f"loopylatent {__version__}"
    origin = json.loads(meta.findtext("g:description", namespaces=space) or "")
    assert origin["settings"] == SETTINGS
    assert origin["data_digest"] == "0123456789abcdef"
    dated = Provenance(SETTINGS, "d", "g", created="2013-01-31")
    assert 'lastmodifieddate="2013-01-31"' in to_gexf(LOOPY, dated)


def test_json_has_the_provenance():
    origin = json.loads(to_json(LOOPY, ORIGIN))["graph"]
    assert origin == ORIGIN.as_dict()
    assert origin["settings"] == SETTINGS


def test_tables_read_back_equal():
    nodes, edges = read_csv(to_node_csv(LOOPY, ORIGIN)), read_csv(to_edge_csv(LOOPY, ORIGIN))
    assert nodes["id"].tolist() == list(range(6))
    assert nodes["label"].tolist() == list(LOOPY.labels)
    assert nodes["hidden"].tolist() == [False] * 4 + [True] * 2
    assert nodes["degree"].tolist() == LOOPY.degrees.tolist()
    assert edges[["source", "target"]].to_numpy().tolist() == LOOPY.edges.tolist()
    assert edges["source_name"].tolist()[0] == "god"
    assert np.allclose(edges["distance"], LOOPY.lengths, rtol=0, atol=0)
    for table in (nodes, edges):
        assert set(table["version"]) == {__version__}
        assert set(table["data_digest"]) == {"0123456789abcdef"}
        assert set(table["graph_digest"]) == {LOOPY.digest}
        assert set(table["settings"]) == {ORIGIN.summary}


def test_tables_contain_extras_only_if_known():
    bare = read_csv(to_node_csv(LOOPY, ORIGIN))
    full = read_csv(to_node_csv(LOOPY, ORIGIN, EXTRAS))
    assert not {"group", "x"} & set(bare.columns)
    assert full["x"].tolist() == EXTRAS.positions[:, 0].tolist()
    assert full["group_name"].tolist() == ["belief"] * 2 + ["machines"] * 2 + [""] * 2
    assert read_csv(to_edge_csv(LOOPY, ORIGIN, EXTRAS))["sign"].tolist() == [1, -1, 0, 1, 1]


def test_no_cell_of_a_table_can_run_in_a_spreadsheet(hostile_names):
    graph = star_of(hostile_names)
    nodes, edges = to_node_csv(graph, origin_of(graph)), to_edge_csv(graph, origin_of(graph))
    for text in (nodes, edges):
        for row in csv.reader(io.StringIO(text, newline="")):
            assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in row)
    cells = read_csv(nodes)["label"]
    assert [name_from_csv(cell) for cell in cells] == [in_a_cell(name) for name in graph.labels]


def test_a_graph_without_edges_can_be_exported(tmp_path):
    graph = LatentGraph.build(["a", "b", "c"], 0, [])
    for ending in WRITERS:
        export(graph, tmp_path / f"lonely.{ending}", provenance=origin_of(graph))
    check_equal(nx.read_graphml(tmp_path / "lonely.graphml", node_type=int), graph)
    assert len(pd.read_csv(tmp_path / "lonely.csv")) == 0
    assert len(pd.read_csv(tmp_path / "lonely.nodes.csv")) == 3


# Files -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", WRITERS)
def test_the_extension_determines_the_format_and_the_file_is_reproducible(tmp_path, ending):
    first = export(LOOPY, tmp_path / f"one.{ending}", provenance=ORIGIN, extras=EXTRAS)
    second = export(
        LOOPY, str(tmp_path / f"TWO.{ending.upper()}"), provenance=ORIGIN, extras=EXTRAS
    )
    other = export(LOOPY, tmp_path / "three.txt", provenance=ORIGIN, format=ending, extras=EXTRAS)
    assert first.read_bytes() == second.read_bytes() == other.read_bytes()
    assert first.read_text(encoding="utf-8") == WRITERS[ending](LOOPY, ORIGIN, EXTRAS)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [f"one.{ending}", f"TWO.{ending.upper()}", "three.txt"]
    )


def test_tables_with_non_ascii_letters_open_in_spreadsheets_and_pandas(tmp_path):
    graph = star_of(["Größe", "漢字", "plain"])
    path = export(graph, tmp_path / "names.nodes.csv", provenance=origin_of(graph))
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert pd.read_csv(path)["id"].tolist() == [0, 1, 2, 3]
    assert pd.read_csv(path)["label"].tolist()[0] == "Größe"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("graph.png", {}, r"'graph.png'.*\.graphml, \.gexf, \.json, \.csv, \.nodes\.csv, \.html"),
        ("graph", {}, "no known extension"),
        ("graph.csv", {"format": "dot"}, "Unknown format 'dot'. Choose one of graphml"),
        ("nowhere/graph.gexf", {}, "folder '.*nowhere' does not exist"),
        ("folder.json", {}, "is a folder"),
        ("x" * 300 + ".json", {}, "Cannot write"),
    ],
)
def test_a_path_that_cannot_be_written_raises_in_one_line(tmp_path, name, arguments, message):
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(DataError, match=message) as caught:
        export(LOOPY, tmp_path / name, provenance=ORIGIN, **arguments)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.json"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    target = tmp_path / "graph.json"
    target.write_bytes(b"old")

    def full_disk(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(DataError, match="No space left on device"):
        write_atomically(target, b"new")
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_written_file_has_ordinary_permissions_and_follows_links(tmp_path):
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    target, link = tmp_path / "graph.json", tmp_path / "link.json"
    target.write_bytes(b"old")
    link.symlink_to(target)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


@pytest.mark.parametrize(
    ("value", "message"),
    [(float("inf"), "not finite"), (float("nan"), "not finite"), ([1], "list")],
)
def test_settings_that_cannot_be_written_raise(value, message):
    with pytest.raises(DataError, match=f"Setting r.*{message}"):
        Provenance({"r": value}, "d", "g")


def test_settings_become_built_in_values_in_a_fixed_order():
    settings = {"tau": np.float64(0.5), "Lambda": np.int64(0)}
    origin = Provenance(settings, "d", "g")
    settings["tau"] = 9
    assert origin.as_dict()["settings"] == {"Lambda": 0, "tau": 0.5}
    assert [type(value) for value in origin.settings.values()] == [int, float]
    assert origin.summary == "Lambda=0; tau=0.5"
    with pytest.raises(TypeError):
        origin.settings["r"] = 1


@pytest.mark.parametrize(
    "extras",
    [
        Extras(positions=np.zeros((2, 2))),
        Extras(signs=[1]),
        Extras(groups=[1]),
        Extras(hidden_names={0: "x"}),
    ],
)
@pytest.mark.parametrize("write", WRITERS.values())
def test_invalid_extras_raise_in_one_line(write, extras):
    with pytest.raises(DataError) as caught:
        write(LOOPY, ORIGIN, extras)
    assert "\n" not in str(caught.value)


# The page ----------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def of(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.found if tag == name]


def test_the_page_holds_no_address_no_handler_and_two_scripts(hostile_names):
    graph = star_of(hostile_names)
    tags = Tags(to_html(graph, origin_of(graph), title=hostile_names[1]))
    assert [script.get("type") for script in tags.of("script")] == ["application/json", None, None]
    for tag, attributes in tags.found:
        assert tag not in ("img", "link", "iframe", "b")
        assert not {"src", "href"} & set(attributes)
        assert not [name for name in attributes if name.startswith("on")]


def test_the_page_has_the_provenance():
    page = to_html(LOOPY, ORIGIN)
    meta = {item.get("name"): item.get("content") for item in Tags(page).of("meta")}
    assert meta["generator"] == f"loopylatent {__version__}"
    assert json.loads(meta["loopylatent-settings"] or "") == SETTINGS
    assert meta["loopylatent-data"] == "0123456789abcdef"
    assert meta["loopylatent-graph"] == LOOPY.digest


def drawn(open_page, page: str, **arguments):
    watched = open_page(page, **arguments)
    watched.wait_until("document.getElementById('stage').dataset.drawn")
    return watched


@pytest.mark.browser
def test_hostile_names_are_shown_and_never_run(open_page, hostile_names):
    graph = star_of(hostile_names)
    extras = Extras(
        groups=[0] * len(hostile_names),
        group_names=[hostile_names[0]],
        hidden_names={len(hostile_names): hostile_names[1]},
    )
    origin = Provenance({"method": hostile_names[1]}, "d", graph.digest)
    watched = drawn(open_page, to_html(graph, origin, extras, title=hostile_names[0]))
    page = watched.page
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("h1").inner_text() == hostile_names[0]
    labels = page.evaluate("loopylatent.nodes.get().map(node => node.label)")
    assert labels[:-1] == [shown_label(name) for name in hostile_names]
    page.get_by_text("Nodes and edges as tables").click()
    rows = page.locator("#nodes tbody th").all_text_contents()
    assert rows[:4] == list(hostile_names[:4])
    assert page.locator("small").inner_text().count(hostile_names[1]) == 1


@pytest.mark.browser
@pytest.mark.parametrize("size", [(1440, 900), (1024, 768), (400, 700)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_whole_graph_is_in_view_without_scrolling(open_page, size, scheme):
    graph = star_of([f"column {k}" for k in range(30)])
    watched = drawn(open_page, to_html(graph, origin_of(graph)), size=size, scheme=scheme)
    page = watched.page
    assert page.evaluate("document.documentElement.scrollHeight <= innerHeight")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    box = page.locator("#stage").bounding_box()
    assert box["height"] > 0.6 * size[1]
    points = page.evaluate(
        "loopylatent.nodes.getIds().map(id => "
        "loopylatent.network.canvasToDOM(loopylatent.network.getPositions([id])[id]))"
    )
    assert all(0 <= point["x"] <= box["width"] for point in points)
    assert all(0 <= point["y"] <= box["height"] for point in points)
    assert page.locator("#summary").inner_text() == "30 observed, 1 hidden, 30 edges, 0 cycles"
    assert page.get_by_text("edge: wider is stronger").is_visible()
    assert f"loopylatent {__version__}" in page.locator("footer small").inner_text()


@pytest.mark.browser
def test_the_page_follows_a_change_of_scheme_and_keeps_the_view(open_page):
    watched = drawn(open_page, to_html(LOOPY, ORIGIN, EXTRAS))
    page = watched.page
    page.locator("#closer").click()
    watched.wait_until("loopylatent.network.getScale() > 1.5")
    page.evaluate("window.last = 0")
    at_rest = """(() => {
      const scale = loopylatent.network.getScale();
      if (scale !== window.last) [window.last, window.since] = [scale, performance.now()];
      return performance.now() - window.since > 600 && scale;
    })()"""
    scale = watched.wait_until(at_rest)
    page.emulate_media(color_scheme="dark")
    watched.wait_until("document.getElementById('stage').dataset.drawn == 'dark'")
    assert page.evaluate("loopylatent.network.getScale()") == pytest.approx(scale)
    assert page.evaluate("loopylatent.network.body.nodes[0].options.font.strokeColor") == "#10151C"
    page.locator("#whole").click()
    watched.wait_until(f"loopylatent.network.getScale() < {scale}")


@pytest.mark.browser
def test_the_tables_list_the_graph(open_page):
    watched = drawn(open_page, to_html(LOOPY, ORIGIN, EXTRAS))
    page = watched.page
    assert not page.locator("#nodes").is_visible()
    page.get_by_text("Nodes and edges as tables").press("Enter")
    assert page.locator("#nodes tbody tr").count() == LOOPY.n_nodes
    first = page.locator("#nodes tbody tr").first.locator("th, td").all_inner_texts()
    assert first == ["god", "observed", "belief", "religion"]
    edges = page.locator("#edges tbody tr")
    assert edges.count() == LOOPY.n_edges
    cells = edges.first.locator("td").all_inner_texts()
    assert cells == ["god", "religion", "0.300", "0.741", "positive"]
    page.locator("#edges tbody tr").last.scroll_into_view_if_needed()
    assert page.locator("#edges tbody tr").last.is_visible()


@pytest.mark.browser
def test_the_policy_stops_a_script_that_got_in(open_page):
    watched = drawn(open_page, to_html(LOOPY, ORIGIN))
    watched.page.evaluate(
        """() => {
          document.addEventListener("securitypolicyviolation", () => { window.stopped = true; });
          document.body.insertAdjacentHTML("beforeend",
            '<button id="bad" onclick="window.hacked = 1">bad</button>');
          document.getElementById("bad").click();
        }"""
    )
    watched.wait_until("window.stopped")
    assert watched.page.evaluate("window.hacked === undefined")
    watched.errors.clear()


@pytest.mark.browser
def test_drawn_labels_hardly_overlap(open_page):
    rng = np.random.default_rng(5)
    letters = list("abcdefghijklmnopqrstuvwxyz")
    names = ["".join(rng.choice(letters, rng.integers(3, 11))) for _ in range(100)]
    edges = {(100 + int(rng.integers(max(0, k - 6), k)), 100 + k) for k in range(1, 45)}
    edges |= {(leaf, 100 + int(rng.integers(45))) for leaf in range(100)}
    while len(edges) < 190:
        u, v = sorted(rng.choice(145, 2, replace=False).tolist())
        edges.add((u, v))
    ordered = sorted(edges)
    graph = LatentGraph.build(names, 45, ordered, rng.uniform(0.2, 2.5, len(ordered)))
    extras = Extras(positions=positions(graph))
    watched = drawn(open_page, to_html(graph, origin_of(graph), extras))
    boxes = np.array(
        watched.page.evaluate(
            "Object.values(loopylatent.network.body.nodes).map(node => node.labelModule.size)"
            ".map(box => [box.left, box.top, box.left + box.width, box.top + box.height])"
        )
    )
    assert boxes.shape == (145, 4)
    low, high = boxes[:, None, :2], boxes[:, None, 2:]
    overlap = ((low < boxes[None, :, 2:]) & (high > boxes[None, :, :2])).all(axis=2)
    np.fill_diagonal(overlap, False)
    assert overlap.any(axis=1).mean() <= 0.05


def test_exporting_a_page_leaves_nothing_in_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    export(LOOPY, "graph.html", provenance=ORIGIN)
    assert [path.name for path in tmp_path.iterdir()] == [
        "graph.html"
    ]  # pyvis by itself copies a folder lib
