"""The computing parts of the benchmarks: exponents, chains, sections, the plot."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import loopylatent as ll
from benchmarks.log_plot import Line, Panel, log_plot
from benchmarks.paper import newsgroup_texts
from benchmarks.paper.words import DOCUMENT, topic_words
from benchmarks.results import put, sections, write_section
from benchmarks.speed import kernels
from benchmarks.speed.kernel_cases import CASES
from benchmarks.speed.scale import Growth, at_balls, grow, ring_graph, ring_rows
from benchmarks.speed.side_by_side import _longest_chain
from loopylatent.compute import _kernels
from loopylatent.learning.trace import Edge, VisitStep


def test_exponent_is_the_power_of_the_largest_sizes():
    sizes = (1, 10, 100, 1000)
    growth = Growth("", sizes, (5.0, *(2e-6 * size**2.5 for size in sizes[1:])))
    assert growth.exponent == pytest.approx(2.5)


def test_growth_measures_every_size_of_short_tasks():
    (growth,) = grow((10, 20, 40), lambda size: {"sum": lambda: sum(range(1000 * size))})
    assert growth.sizes == (10, 20, 40)
    assert all(seconds > 0 for seconds in growth.seconds)


def visit(members, *added):
    edges = tuple(Edge(u, v, 1.0) for u, v in added)
    return VisitStep(
        members[0],
        members,
        (False,) * len(members),
        np.zeros((1, 1)),
        (),
        (),
        (),
        edges,
        False,
        False,
    )


def test_disjoint_visits_form_no_chain():
    assert _longest_chain([visit((0, 1, 2)), visit((3, 4)), visit((5, 6))]) == 1
    assert (
        _longest_chain([visit((0, 1, 2), (2, 9)), visit((3, 4)), visit((9, 3)), visit((4,))]) == 2
    )
    assert _longest_chain([visit((0, 1)), visit((1, 2)), visit((2, 3))]) == 3


def test_replacing_a_section_keeps_the_others(tmp_path):
    path = tmp_path / "results.md"
    order = ("first", "second")
    write_section("second", "two", order, path)
    write_section("first", "one", order, path)
    write_section("second", "three", order, path)
    text = path.read_text()
    assert sections(text) == {"first": "one", "second": "three"}
    assert text.index("one") < text.index("three")
    put(path, "first", "four\n\nfive")
    assert sections(path.read_text()) == {"first": "four\n\nfive", "second": "three"}


def test_the_plot_has_a_line_for_every_curve_at_its_values():
    lines = [Line("a < b", (10, 100), (0.01, 1.0)), Line("c", (10, 1000), (0.1, 0.1))]
    tree = ElementTree.fromstring(log_plot([Panel("title", "size", "seconds", lines)]))
    drawn = tree.findall(".//{*}polyline")
    assert len(drawn) == 2
    points = [[tuple(map(float, p.split(","))) for p in one.get("points").split()] for one in drawn]
    assert points[0][0][1] > points[0][1][1]
    assert points[1][0][1] == points[1][1][1]
    middle = (points[0][0][1] + points[0][1][1]) / 2
    assert points[1][0][1] == pytest.approx(middle, abs=0.2)
    assert "a < b" in [text.text for text in tree.findall(".//{*}text")]


def test_words_of_synthetic_documents_are_correlated_within_topics():
    matrix = topic_words(3_000, 500)
    assert set(matrix.data) == {1.0}
    assert matrix.sum(axis=1).max() <= DOCUMENT
    correlations = np.corrcoef(matrix.toarray(), rowvar=False)
    inside = correlations[:5, :5][np.triu_indices(5, 1)].mean()
    outside = correlations[:5, 50:55].mean()
    assert inside > outside + 0.1


def test_the_columns_of_the_ring_are_attached_to_hidden_variables():
    obs = ring_rows(500, 40)
    graph = ring_graph(obs.names)
    assert (graph.n_hidden, graph.n_edges, graph.n_cycles) == (4, 44, 1)
    assert set(np.unique(obs.dense())) == {0.0, 1.0}


def test_balls_have_the_requested_mean_size():
    D = ll.information_distances(ring_rows(2_000, 100))
    for size in (10, 40):
        graph = at_balls(size, 100)["initial graph"]()
        r = np.sort(D.values, axis=None)[size * 100 - 1]
        assert (D.values <= r).sum(axis=1).mean() == pytest.approx(size, abs=0.02)
        assert graph.edges.tolist() == ll.initial_graph(D, r).edges.tolist()


def test_words_of_posts_are_counted_once_in_each_post(monkeypatch):
    posts = ["space the shuttle space ab", "shuttle orbit", "orbit shuttle and", "moon"]
    monkeypatch.setattr(newsgroup_texts, "texts", lambda: iter(posts))
    found = newsgroup_texts.posts(3)
    assert found.words == ("shuttle", "orbit", "moon")
    assert found.matrix.toarray().tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1]]


def test_every_kernel_has_a_row_in_the_table():
    (folder,) = _kernels.__path__
    there = {path.stem for path in Path(folder).glob("*.py")} - {"__init__", "jit"}
    assert {kernel for case in CASES for kernel in case.kernels} == there
    assert len({case.name for case in CASES}) == len(CASES)


def test_results_are_compared_by_their_numbers():
    def found(*result):
        case = kernels.Case("", (), lambda _: lambda: result, "", 1, 1)
        return kernels.measured(case, 1)

    first = found("text", [np.array([1.0, np.inf])], 2.0)
    assert kernels.same(first, found(np.array([1.0, np.inf, 2.0]))) == "same"
    assert kernels.same(first, found(1.0 + 1e-12, np.inf, 2.0)) == "same up to rounding"
    assert kernels.same(first, found(2.0, np.inf, 1.0)) == "**differs**"
    assert kernels.same(first, found(1.0, np.inf, 2.0, 0.0)) == "**differs**"


def test_a_case_missing_in_an_older_checkout_is_new():
    def prepare(_):
        raise ImportError

    case = kernels.Case("", (), prepare, "", 1, 1)
    assert kernels.measured(case, 1) is None
    assert kernels.cells(kernels.Found(0.002, "", 0, (0.0, 0.0)), None)[:2] == ["2", "new"]
