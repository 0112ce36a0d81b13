"""The stand-alone SVG: the looks of the network, names that stay text."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from loopylatent.distances.matrix import information_distances
from loopylatent.errors import DataError, ThresholdError
from loopylatent.figures.layout import positions, shown_label
from loopylatent.figures.network import NEGATIVE, THEMES, legend, network
from loopylatent.figures.svg import escaped_xml, to_svg
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.samples import load_sample

SVG = "{http://www.w3.org/2000/svg}"
STAR = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [0.1, 1.0, 3.0])
PLACE = np.array([[-100, 0], [101, 0], [0, 80], [0, 0]])


def star_of(names: tuple[str, ...]) -> LatentGraph:
    return LatentGraph.build(names, 1, [(k, len(names)) for k in range(len(names))])


def parsed(text: str) -> ET.Element:
    """The picture, also checked to be what a browser reads: UTF-8."""
    return ET.fromstring(text.encode("utf-8"))


def edges_of(root: ET.Element) -> list[ET.Element]:
    return root.findall(SVG + "g")[0].findall(SVG + "line")


def symbols_of(root: ET.Element) -> list[ET.Element]:
    return list(root.findall(SVG + "g")[1])


def labels_of(root: ET.Element) -> list[str]:
    return [text.text or "" for text in root.findall(SVG + "g")[3]]


def legend_of(root: ET.Element) -> list[str]:
    return [text.text or "" for text in root.findall(SVG + "g")[4].findall(SVG + "text")]


def test_nodes_edges_and_labels_are_those_of_the_network():
    root = parsed(to_svg(STAR, PLACE, hidden_names={3: "mood"}))
    net = network(STAR, PLACE, hidden_names={3: "mood"})
    assert labels_of(root) == [node["label"] for node in net.nodes]
    assert [item[0].text for item in symbols_of(root)] == [node["title"] for node in net.nodes]
    assert [float(line.get("stroke-width")) for line in edges_of(root)] == [
        edge["width"] for edge in net.edges
    ]
    assert [float(line.get("stroke-opacity")) for line in edges_of(root)] == [
        edge["color"]["opacity"] for edge in net.edges
    ]
    first = edges_of(root)[0]
    assert [first.get(key) for key in ("x1", "y1", "x2", "y2")] == ["-100", "0", "0", "0"]


def test_observed_nodes_are_dots_and_hidden_ones_diamonds():
    shapes = symbols_of(parsed(to_svg(STAR, PLACE)))
    assert [shape.tag.removeprefix(SVG) for shape in shapes] == ["circle"] * 3 + ["polygon"]
    assert [shape.get("fill") for shape in shapes[2:]] == [
        THEMES["light"].observed,
        THEMES["light"].hidden,
    ]


def test_negative_edges_are_dashed_and_of_another_colour():
    negative, positive, unknown = edges_of(parsed(to_svg(STAR, PLACE, signs=[-1, 1, 0])))
    assert negative.get("stroke") == NEGATIVE
    assert negative.get("stroke-dasharray")
    for edge in (positive, unknown):
        assert edge.get("stroke") is None
        assert edge.get("stroke-dasharray") is None


def test_every_label_has_an_outline_of_the_background_below_all_letters():
    for theme in ("light", "dark"):
        root = parsed(to_svg(STAR, PLACE, theme=theme))
        outlines, letters = root.findall(SVG + "g")[2:4]
        assert outlines.get("stroke") == THEMES[theme].background
        assert outlines.get("aria-hidden") == "true"
        assert letters.get("fill") == THEMES[theme].text
        assert [text.text for text in outlines] == [text.text for text in letters]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legend_is_that_of_the_network(theme):
    arguments = {"groups": [1, 0, -1], "group_names": ["first", "<second>"], "signs": [-1, 1, 1]}
    root = parsed(to_svg(STAR, PLACE, theme=theme, **arguments))
    items = legend(STAR, theme=theme, **arguments)
    assert legend_of(root) == [item.text for item in items]
    fills = [shape.get("fill") for shape in symbols_of(root)]
    assert fills[:2] == [items[3].fill, items[2].fill]
    assert fills[2:] == [THEMES[theme].ungrouped] * 2


def test_the_same_arguments_give_the_same_file():
    arguments = {"groups": {0: 1, 3: 0}, "signs": np.array([-1, 1, 1])}
    assert to_svg(STAR, PLACE, **arguments) == to_svg(STAR, PLACE.copy(), **arguments)


def test_the_view_holds_every_node_and_grows_with_the_legend():
    far = PLACE + np.array([5000, -3000])
    box = [float(part) for part in parsed(to_svg(STAR, far)).get("viewBox").split()]
    assert box[0] < far[:, 0].min() - 10
    assert box[1] < far[:, 1].min() - 10
    assert box[0] + box[2] > far[:, 0].max() + 10
    assert box[1] + box[3] > far[:, 1].max() + 40
    many = to_svg(star_of(tuple("abcdefghijklmn")), np.zeros((15, 2)), groups=range(14))
    assert float(parsed(many).get("height")) > box[3]


def test_a_graph_without_edges_or_without_nodes_is_a_picture_too():
    alone = LatentGraph.build(["a"], 0, [])
    assert labels_of(parsed(to_svg(alone, np.zeros((1, 2))))) == ["a"]
    nothing = LatentGraph.build([], 0, [])
    assert labels_of(parsed(to_svg(nothing, np.zeros((0, 2))))) == []


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"groups": [0, 1]}, DataError, "2 groups for 3 observed"),
        ({"signs": [1]}, DataError, "1 signs for 3 edges"),
        ({"hidden_names": {0: "x"}}, DataError, "Node 0 is not a hidden node"),
        ({"theme": "pink"}, ThresholdError, "light, dark"),
    ],
)
def test_wrong_arguments_are_rejected_in_one_line(arguments, error, message):
    with pytest.raises(error, match=message) as caught:
        to_svg(STAR, PLACE, **arguments)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("place", [np.zeros((3, 2)), np.full((4, 2), np.nan)])
def test_wrong_positions_are_rejected(place):
    with pytest.raises(DataError, match="positions"):
        to_svg(STAR, place)


@given(st.text(st.characters(), max_size=30))
def test_any_text_can_stand_in_the_file_and_comes_back(text):
    root = parsed(f'<a b="{escaped_xml(text)}">{escaped_xml(text)}</a>')
    readable = "".join(character if xml_character(character) else "\ufffd" for character in text)
    # a parser reads line ends in elements as \n and in attributes as spaces
    assert (root.text or "") == readable.replace("\r\n", "\n").replace("\r", "\n")


def xml_character(character: str) -> bool:
    code = ord(character)
    return (
        character in "\t\n\r"
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or code >= 0x10000
    )


@given(st.lists(st.text(st.characters(), max_size=12), min_size=1, max_size=4, unique=True))
def test_any_names_give_a_picture_with_just_our_elements(names):
    graph = star_of(tuple(names))
    root = parsed(
        to_svg(graph, np.zeros((len(names) + 1, 2)), group_names=names, groups=range(len(names)))
    )
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        "svg",
        "title",
        "rect",
        "g",
        "line",
        "circle",
        "polygon",
        "text",
    }
    assert len(labels_of(root)) == len(names) + 1


HOSTILE = ("<script>window.hacked=1</script>", "]]> <!-- &lt; &amp;", "\ufffe\uffff \x00\x1b")


@pytest.mark.browser
def test_hostile_names_are_text_in_a_browser(open_page, hostile_names, tmp_path):
    names = (*hostile_names, *HOSTILE)
    graph = star_of(names)
    text = to_svg(
        graph,
        positions(graph),
        groups=range(len(names)),
        group_names=names,
        hidden_names={len(names): names[0]},
    )
    watched = open_page(saved(tmp_path, text))
    page = watched.page
    assert page.evaluate("document.documentElement.tagName") == "svg"  # no page about an error
    shown = page.evaluate(
        "[...document.querySelectorAll('svg > g:nth-of-type(4) > text')].map(t => t.textContent)"
    )
    expected = [shown_label(name).replace("\ufffe\uffff", "\ufffd" * 2) for name in names]
    assert shown == [*expected, expected[0]]
    assert page.evaluate("window.hacked === undefined")
    assert page.locator("script, img, a, foreignObject, parsererror").count() == 0


@pytest.mark.browser
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_text_of_a_learned_graph_leaves_the_picture(open_page, tmp_path, theme):
    D = information_distances(load_sample("newsgroups100_roweislike").observations)
    graph = learn(D, LearnSettings(Thresholds(5.0, 0.004, 0.4)), trace=False).graph
    text = to_svg(graph, positions(graph), groups=np.arange(100) % 9, theme=theme)
    watched = open_page(saved(tmp_path, text))
    outside = watched.page.evaluate(
        """(() => {
            const frame = document.querySelector('rect').getBoundingClientRect();
            return [...document.querySelectorAll('text')].filter(text => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left || box.right > frame.right
                    || box.top < frame.top || box.bottom > frame.bottom;
            }).map(text => text.textContent);
        })()"""
    )
    assert outside == []
    overlapping = watched.page.evaluate(
        """(() => {
            const boxes = [...document.querySelectorAll('svg > g:last-of-type > text')]
                .map(text => text.getBoundingClientRect());
            return boxes.some((a, i) => boxes.some((b, j) => i < j && a.left < b.right
                && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
        })()"""
    )
    assert not overlapping


def saved(folder: Path, text: str) -> str:
    file = folder / "graph.svg"
    file.write_text(text, encoding="utf-8")
    return file.as_uri()
