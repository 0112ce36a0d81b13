"""The pyvis network: is_json data, meaningful looks, names that never run."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from loopylatent.errors import DataError, ThresholdError
from loopylatent.figures.layout import positions
from loopylatent.figures.network import (
    NEGATIVE,
    THEMES,
    legend,
    network,
    network_data,
    stretched,
    vis_bundle,
)
from loopylatent.figures.overlays import edge_opacity
from loopylatent.graph import LatentGraph, groups_by_node, names_of_groups, node_labels

STAR = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [0.1, 1.0, 3.0])
PLACE = np.array([[-100.4, 0.0], [100.6, 0.0], [0.0, 80.0], [0.0, 0.0]])


def star_of(names: tuple[str, ...]) -> LatentGraph:
    return LatentGraph.build(names, 1, [(k, len(names)) for k in range(len(names))])


def is_json(value: object) -> bool:
    if isinstance(value, dict):
        return all(type(key) is str and is_json(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(is_json, value))
    return type(value) in (str, int, float, bool)


def test_nodes_and_edges_are_plain_json_with_whole_positions():
    data = network_data(network(STAR, PLACE))
    assert is_json(network(STAR, PLACE).nodes)
    assert is_json(network(STAR, PLACE).edges)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert [(node["x"], node["y"]) for node in data["nodes"]] == [
        (-100, 0),
        (101, 0),
        (0, 80),
        (0, 0),
    ]
    assert [node["id"] for node in data["nodes"]] == [0, 1, 2, 3]
    assert [edge["id"] for edge in data["edges"]] == ["0-3", "1-3", "2-3"]
    assert all(edge["arrows"] == "" for edge in data["edges"])
    assert data["options"]["physics"] == {"enabled": False}


def test_network_data_is_a_copy():
    net = network(STAR, PLACE)
    network_data(net)["nodes"][0]["label"] = "changed"
    assert net.nodes[0]["label"] == "a"


def test_observed_and_hidden_nodes_differ_in_shape_and_colour():
    data = network_data(network(STAR, PLACE))
    observed, hidden = data["nodes"][0], data["nodes"][3]
    looks = data["options"]["groups"]
    assert observed["shape"] != hidden["shape"]
    assert looks[observed["group"]]["color"] != looks[hidden["group"]]["color"]


def test_a_shorter_edge_is_wider_and_darker():
    edges = network(STAR, PLACE).edges
    assert edges[0]["width"] > edges[1]["width"] > edges[2]["width"] > 0
    assert edges[0]["color"]["opacity"] > edges[2]["color"]["opacity"]


def test_negative_edges_are_dashed_and_of_another_colour():
    negative, positive, unknown = network(STAR, PLACE, signs=[-1, 1, 0]).edges
    assert negative["dashes"]
    assert negative["color"]["color"] == NEGATIVE
    assert "negative" in negative["title"]
    for edge in (positive, unknown):
        assert "dashes" not in edge
        assert "color" not in edge["color"]


def test_light_and_dark_differ_in_options_alone():
    arguments = {"groups": [0, 1, 8, 0], "signs": [-1, 1, 1]}
    light = network_data(network(STAR, PLACE, theme="light", **arguments))
    dark = network_data(network(STAR, PLACE, theme="dark", **arguments))
    assert light["nodes"] == dark["nodes"]
    assert light["edges"] == dark["edges"]
    assert light["options"] != dark["options"]


def test_titles_give_name_degree_and_neighbours_by_distance():
    titles = [node["title"] for node in network(STAR, PLACE, hidden_names={3: "mood"}).nodes]
    assert titles[0] == "a\nobserved · 1 neighbour\n0.10  mood"
    assert titles[3] == "mood\nhidden · 3 neighbours\n0.10  a\n1.00  b\n3.00  c"


def test_a_hub_lists_its_nearest_neighbours_only():
    hub = star_of(tuple(f"n{k}" for k in range(40)))
    title = network(hub, positions(hub)).nodes[40]["title"]
    assert title.count("\n") == 14
    assert title.endswith("and 28 more")


@pytest.mark.parametrize(
    "groups", [[1, 0, -1], [1, 0, -1, -1], {0: 1, 1: 0}, np.array([1, 0, -1], dtype=np.int32)]
)
def test_groups_may_be_given_in_any_form(groups):
    net = network(STAR, PLACE, groups=groups, group_names=["first", "second"])
    assert [node["group"] for node in net.nodes] == [
        "observed-1",
        "observed-0",
        "observed-ungrouped",
        "hidden-ungrouped",
    ]
    assert "second" in net.nodes[0]["title"]
    texts = [item.text for item in legend(STAR, groups=groups, group_names=["first", "second"])]
    assert texts[:4] == ["observed", "hidden", "first", "second"]


def test_fourteen_groups_look_different():
    graph = LatentGraph.build([f"n{k}" for k in range(14)], 0, [])
    for theme in ("light", "dark"):
        items = legend(graph, groups=range(14), theme=theme)[1:15]
        assert len({(item.fill, item.border) for item in items}) == 14


def luminance(colour: str) -> float:
    parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_symbols_and_text_stand_out_from_the_background(theme):
    colours = THEMES[theme]

    def contrast(colour: str) -> float:
        bright, dim = sorted([luminance(colour), luminance(colours.background)], reverse=True)
        return (bright + 0.05) / (dim + 0.05)

    graph = LatentGraph.build([f"n{k}" for k in range(14)], 1, [(0, 14)])
    items = (*legend(graph, theme=theme), *legend(graph, groups=range(14), theme=theme))
    assert min(contrast(item.border) for item in items) >= 3
    assert min(contrast(colours.text), contrast(colours.muted)) >= 4.5


def test_what_the_caller_gave_is_unchanged():
    place, signs = PLACE.copy(), np.array([-1, 1, 1])
    groups, names = {0: 1, 3: 0}, {3: "mood"}
    place.setflags(write=False)
    before = STAR.digest
    network(STAR, place, groups=groups, signs=signs, hidden_names=names)
    assert (groups, names, signs.tolist()) == ({0: 1, 3: 0}, {3: "mood"}, [-1, 1, 1])
    assert STAR.digest == before


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"groups": [0, 1]}, DataError, "2 groups for 3 observed"),
        ({"groups": {9: 0}}, DataError, "Node 9 has a group"),
        ({"groups": [0, 1, 2], "group_names": ["x"]}, DataError, "Group 2 has no name"),
        ({"signs": [1]}, DataError, "1 signs for 3 edges"),
        ({"hidden_names": {0: "x"}}, DataError, "Node 0 is not a hidden node"),
        ({"theme": "pink"}, ThresholdError, "light, dark"),
    ],
)
def test_wrong_arguments_are_rejected_in_one_line(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        network(STAR, PLACE, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", [np.zeros((3, 2)), np.full((4, 2), np.nan)])
def test_wrong_positions_are_rejected(place):
    with pytest.raises(DataError, match="positions"):
        network(STAR, place)


def test_hostile_names_become_labels_of_one_line(hostile_names):
    graph = star_of(hostile_names)
    data = network_data(network(graph, positions(graph)))
    for node in data["nodes"]:
        assert "\n" not in node["label"]
        assert 0 < len(node["label"]) <= 24
        json.dumps(node, ensure_ascii=False).encode("utf-8")


def test_no_room_up_to_the_figures_imports_what_only_some_of_its_calls_need():
    code = (
        "import sys; from importlib import import_module; from pkgutil import walk_packages\n"
        "for room in ('analysis', 'synthetic', 'theory', 'figures'):\n"
        "    folder = import_module(f'loopylatent.{room}')\n"
        "    for one in walk_packages(folder.__path__, folder.__name__ + '.'):\n"
        "        import_module(one.name)\n"
        "late = ('pyvis', 'IPython', 'plotly', 'sklearn', 'streamlit')\n"
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_bundle_can_stand_inside_a_script_tag():
    assert "</script" not in vis_bundle().lower()
    assert "\r" not in vis_bundle()


PAGE = """<!doctype html><meta charset="utf-8">
<style>body {{ margin: 0 }} #stage {{ width: 900px; height: 700px; position: relative }}
.vis-tooltip {{ position: absolute; visibility: hidden; white-space: pre; background: white }}
</style><div id="stage"></div><script>{bundle}</script><script>
const data = {data};
const network = new vis.Network(document.getElementById("stage"),
  {{ nodes: new vis.DataSet(data.nodes), edges: new vis.DataSet(data.edges) }}, data.options);
network.once("afterDrawing", () => {{ window.drawn = true; }});
</script>"""


@pytest.mark.browser
def test_tooltips_show_hostile_names_as_text(open_page, hostile_names):
    graph = star_of(hostile_names)
    hub = len(hostile_names)
    net = network(graph, positions(graph), hidden_names={hub: hostile_names[0]})
    data = json.dumps(network_data(net)).replace("<", "\\u003c")
    watched = open_page(PAGE.format(bundle=vis_bundle(), data=data), size=(900, 700))
    watched.wait_until("window.drawn")
    tooltip = watched.page.locator(".vis-tooltip")
    for node in (0, 1, 2, 3, 6, hub):
        point = watched.page.evaluate(
            f"network.canvasToDOM(network.getPositions([{node}])[{node}])"
        )
        watched.page.mouse.move(1, 1)
        watched.page.mouse.move(point["x"], point["y"])
        first_line = net.nodes[node]["title"].split("\n")[0]
        watched.wait_until(
            "document.querySelector('.vis-tooltip')?.innerText.startsWith("
            f"{json.dumps(first_line)}) && "
            "getComputedStyle(document.querySelector('.vis-tooltip')).visibility == 'visible'"
        )
        assert tooltip.inner_text() == net.nodes[node]["title"]
        assert tooltip.locator(":not(br)").count() == 0
    assert watched.page.evaluate("window.hacked === undefined")


@pytest.mark.browser
def test_the_drawing_has_the_positions_and_widths_of_the_data(open_page):
    net = network(STAR, PLACE, signs=[-1, 1, 1])
    page = PAGE.format(bundle=vis_bundle(), data=json.dumps(network_data(net)))
    watched = open_page(page, size=(900, 700))
    watched.wait_until("window.drawn")
    drawn = watched.page.evaluate("network.getPositions()")
    assert drawn == {str(node["id"]): {"x": node["x"], "y": node["y"]} for node in net.nodes}
    edge = "network.body.edges['{}'].options"
    assert watched.page.evaluate(edge.format("0-3") + ".color.color") == NEGATIVE
    assert watched.page.evaluate(edge.format("1-3") + ".color.color") == THEMES["light"].edge
    assert watched.page.evaluate(edge.format("1-3") + ".width") == net.edges[1]["width"]


def test_names_and_groups_are_those_given_or_numbered():
    assert node_labels(STAR, {3: "mood"}) == ("a", "b", "c", "mood")
    assert groups_by_node(STAR, [0, 0, 1]) == {0: 0, 1: 0, 2: 1}
    assert names_of_groups({0: 0, 1: 2}, None) == {0: "group 1", 2: "group 3"}


def test_an_edge_is_never_invisible_and_opaque_only_at_full_support():
    assert [edge_opacity(support) for support in (0.0, 1.0)] == [0.12, 1.0]


def test_a_layout_is_stretched_towards_an_aspect_ratio():
    wide = stretched(np.array([[0.0, 0.0], [300.0, 100.0]]), aspect=2.0)
    assert wide.round(3).tolist() == [[0.0, 0.0], [300.0, 150.0]]
