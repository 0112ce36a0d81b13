"""Results in a notebook: small, all inside, harmless whatever the columns are called."""

from __future__ import annotations

import base64
import re
from functools import cache
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest
from helpers.hostile import HOSTILE_NAMES, hostile_frame
from nbclient import NotebookClient

import loopylatent as ll
from loopylatent.exporting.notebook import LONGEST_NAME, MAX_DRAWN, view
from loopylatent.figures.layout import shown_label

HARMLESS = {"div", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "img", "code"}
ATTRIBUTES = {"class", "style", "border", "alt", "src"}
LARGEST = 100_000  # characters; thirty-odd columns and their picture are a third of it


class Seen(HTMLParser):
    """What a browser would find: elements, attributes, text and pictures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.sources: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.sources += [value or "" for name, value in attrs if name == "src"]

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def pictures(self) -> list[ElementTree.Element]:
        start = "data:image/svg+xml;base64,"
        assert all(source.startswith(start) for source in self.sources)
        packed = (source.removeprefix(start) for source in self.sources)
        return [ElementTree.fromstring(base64.b64decode(one, validate=True)) for one in packed]


@cache
def hostile_results() -> dict[type, Any]:
    obs = ll.Observations.from_frame(hostile_frame(200))
    D = ll.information_distances(obs)
    result = ll.learn(D)
    model = ll.fit_parameters(result.graph, obs, ll.FitSettings(max_steps=5))
    groups = dict.fromkeys(obs.names, "known")
    sample = ll.Sample("x", "<b>title</b>", "<i>about</i>", obs, groups, None, (), {})
    found = [
        D, ll.edge_density(D), ll.communities(result.graph), result.graph, result, model, obs,
        sample, model.scores(obs), ll.stability(obs, n_resamples=2), ll.sweep(D, r=[D.r_max]),
    ]  # fmt: skip
    return {type(one): one for one in found}


def shown(result: Any) -> Seen:
    return Seen(result._repr_html_())


@pytest.mark.parametrize("kind", [*view.registry][1:], ids=lambda kind: kind.__name__)
def test_hostile_names_are_text_and_nothing_is_loaded_from_outside(kind):
    text = hostile_results()[kind]._repr_html_()
    seen = Seen(text)
    assert seen.tags <= HARMLESS
    assert seen.attributes <= ATTRIBUTES
    assert len(text) < LARGEST
    for picture in seen.pictures():
        tags = {element.tag.rpartition("}")[2] for element in picture.iter()}
        assert not tags & {"script", "foreignObject", "image", "a", "use"}
        named = {name for element in picture.iter() for name in element.attrib}
        assert not [name for name in named if name.startswith("on") or "href" in name]


def test_every_name_is_in_the_picture_of_a_graph():
    (picture,) = shown(hostile_results()[ll.LatentGraph]).pictures()
    written = {"".join(one.itertext()) for one in picture.iter() if one.tag.endswith("}text")}
    assert {shown_label(name) for name in HOSTILE_NAMES} <= written


def test_the_first_names_are_in_the_table_of_observations():
    text = shown(hostile_results()[ll.Observations]).text
    assert {shown_label(name, LONGEST_NAME) for name in HOSTILE_NAMES[:12]} <= set(text)
    assert any("more columns" in words for words in text)


def test_the_numbers_are_those_of_the_result():
    result = hostile_results()[ll.LearnResult]
    graph = result.graph
    said = "".join(shown(result).text)
    assert f"{graph.n_observed} observed, {graph.n_hidden} hidden, {graph.n_edges} edges" in said
    assert f"{result.settings.thresholds.r:.4g}" in said
    D = hostile_results()[ll.DistanceMatrix]
    assert f"{D.r_min:.4g}, {D.r_max:.4g}" in "".join(shown(D).text)


def test_the_histogram_of_distances_has_the_counts_as_heights():
    D = hostile_results()[ll.DistanceMatrix]
    (picture,) = shown(D).pictures()
    heights = [
        int(bar.attrib["height"])
        for bar in picture.iter()
        if bar.tag.endswith("}rect") and "x" in bar.attrib
    ]
    values = D.values[np.triu_indices(D.n_columns, 1)]
    counts, _ = np.histogram(values[np.isfinite(values)], bins=len(heights))
    assert np.argmax(counts) == np.argmax(heights)
    assert [height == 0 for height in heights] == [count == 0 for count in counts]


def test_a_negative_edge_of_a_model_is_dashed():
    rng = np.random.default_rng(0)
    x = rng.normal(size=400)
    table = np.column_stack([x, -x + rng.normal(size=400), x + rng.normal(size=400)])
    obs = ll.Observations.from_array(table, names=["a", "b", "c"])
    model = ll.fit_parameters(ll.LatentGraph.build("abc", 0, [(0, 1), (0, 2)]), obs)
    (picture,) = shown(model).pictures()
    lines = [one for one in picture.iter() if "stroke-dasharray" in one.attrib]
    assert len(lines) == 2  # the edge, and its line in the legend


def test_a_large_graph_is_not_drawn():
    n = MAX_DRAWN + 1
    chain = ll.LatentGraph.build([f"c{k}" for k in range(n)], 0, [(k, k + 1) for k in range(n - 1)])
    seen = shown(chain)
    assert seen.sources == []
    assert "too many for a small picture" in "".join(seen.text)


def test_infinite_distances_are_counted_and_not_in_the_histogram():
    D = ll.DistanceMatrix.from_array([[0, 1, np.inf], [1, 0, 2], [np.inf, 2, 0]])
    assert "1 of 3 pairs" in "".join(shown(D).text)


def test_a_penalised_result_has_its_own_view():
    assert ll.RegularizedResult._repr_html_ is ll.LearnResult._repr_html_


@pytest.mark.long
def test_a_notebook_shows_results_in_its_cells(tmp_path, monkeypatch):
    """In a real kernel, as a notebook would run it."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    book = nbformat.v4.new_notebook()
    lines = """
import loopylatent as ll
D = ll.DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], ["<b>", "b", "c"])
ll.learn(D, r=3)
"""
    book.cells = [nbformat.v4.new_code_cell(lines), nbformat.v4.new_code_cell("D")]
    done = NotebookClient(book, timeout=120, kernel_name="python3").execute()
    (learned,), (distances,) = (cell.outputs for cell in done.cells)
    assert learned.output_type == "execute_result"
    assert "LearnResult" in learned.data["text/html"]
    assert len(Seen(learned.data["text/html"]).pictures()) == 1
    assert re.search(r"3 columns", distances.data["text/html"])
