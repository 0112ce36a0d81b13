"""The barcode of r: births and deaths of cycles and hidden nodes."""

from __future__ import annotations

import pytest
from helpers.hostile import HOSTILE_NAMES
from helpers.strategies import distance_matrices
from hypothesis import given, settings

import loopylatent as ll
from loopylatent.analysis.sweep.barcode import Bar, barcode
from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.errors import DataError
from loopylatent.figures.sweep import barcode_figure, longest
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.synthetic.families import latent_cycle


def point(r: float, graph: ll.LatentGraph, Lambda: float = 0.0) -> SweepPoint:
    return SweepPoint(LearnSettings(Thresholds(r, Lambda, 0.1)), graph, 0, 0, 0, 0)


def columns_graph(*edges: tuple[int, int]) -> ll.LatentGraph:
    return ll.LatentGraph.build("abcdef", 0, edges)


TRIANGLE = columns_graph((0, 1), (1, 2), (0, 2))
SQUARE = columns_graph((0, 1), (1, 2), (2, 3), (0, 3))
TWO = columns_graph((0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5))
NONE = columns_graph((0, 1))


def test_a_cycle_lasts_from_its_first_point_to_the_point_after_its_last():
    bars = barcode([point(1, NONE), point(2, TRIANGLE), point(4, TWO), point(7, TRIANGLE)], end=9)
    assert bars == (
        Bar("cycle", ("a", "b", "c"), 2.0, 9.0),
        Bar("cycle", ("d", "e", "f"), 4.0, 7.0),
    )


def test_the_order_of_the_points_does_not_matter():
    points = [point(1, NONE), point(2, TRIANGLE), point(4, TWO)]
    assert barcode(points[::-1]) == barcode(points)


def test_a_cycle_that_reappears_gets_a_new_bar():
    bars = barcode([point(1, TRIANGLE), point(2, NONE), point(4, TRIANGLE)], end=5)
    assert sorted((bar.start, bar.end) for bar in bars) == [(1.0, 2.0), (4.0, 5.0)]


def test_a_cycle_with_other_columns_is_another_one():
    bars = barcode([point(1, TRIANGLE), point(2, SQUARE)], end=3)
    assert {(bar.columns, bar.start, bar.end) for bar in bars} == {
        (("a", "b", "c"), 1.0, 2.0),
        (("a", "b", "c", "d"), 2.0, 3.0),
    }


def test_a_hidden_node_is_followed_by_its_profile():
    star = ll.LatentGraph.build("abcd", 1, [(0, 4), (1, 4), (2, 4)], [1.0, 1.2, 1.4])
    moved = ll.LatentGraph.build("abcd", 1, [(0, 4), (1, 4), (2, 4)], [1.01, 1.19, 1.4])
    other = ll.LatentGraph.build("abcd", 1, [(1, 4), (2, 4), (3, 4)], [3.0, 3.0, 0.1])
    bars = barcode([point(1, star), point(2, moved), point(3, other)], end=4)
    assert bars == (
        Bar("hidden", ("a", "b", "c"), 1.0, 3.0),
        Bar("hidden", ("d", "b", "c"), 3.0, 4.0),
    )


def test_points_with_different_lambda_or_tau_are_rejected():
    with pytest.raises(DataError, match="equal Lambda and tau"):
        barcode([point(1, TRIANGLE), point(2, TRIANGLE, Lambda=0.1)])
    assert barcode([]) == ()


@given(distance_matrices(max_columns=10))
@settings(max_examples=30)
def test_at_every_point_as_many_bars_live_as_the_graph_has_parts(D):
    points = ll.sweep(D, most=12).points
    bars = barcode(points, D.r_max + 1)
    for one in points:
        alive = [bar.kind for bar in bars if bar.start <= one.thresholds.r < bar.end]
        assert alive.count("cycle") == one.n_cycles
        assert alive.count("hidden") == one.n_hidden
    assert [bar.length for bar in bars] == sorted((bar.length for bar in bars), reverse=True)


def test_the_true_ring_is_the_longest_lived_cycle():
    truth = latent_cycle(girth=10, seed=1)
    D = ll.information_distances(truth.sample(5000, seed=1))
    cycles = [bar for bar in barcode(ll.sweep(D).points, D.r_max) if bar.kind == "cycle"]
    assert len(cycles[0].columns) >= 0.8 * len(D.names)
    assert cycles[0].length > 3 * max((bar.length for bar in cycles[1:]), default=0.0)


def test_the_figure_draws_the_longest_bars_and_escapes_names():
    D = ll.DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    bars = [Bar("hidden", (name,), 1.0, 3.0 - k / 100) for k, name in enumerate(HOSTILE_NAMES)]
    bars.append(Bar("hidden", ("x",), 2.0, 2.0))
    figure = barcode_figure(bars, r=1.5, D=D, theme="dark")
    drawn = figure.data[1]
    assert list(drawn.x) == [bar.length for bar in longest(bars, "hidden")]
    assert [row[0] for row in drawn.customdata] == [b.middle for b in longest(bars, "hidden")]
    texts = [*figure.layout.yaxis.ticktext, *(row[3] for row in drawn.customdata)]
    assert not any("<" in text or "\n" in text for text in texts)


def test_bars_at_the_current_radius_are_highlighted():
    D = ll.DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    bars = [Bar("cycle", ("a",), 1.0, 2.0), Bar("cycle", ("b",), 2.0, 2.8)]
    first, second = barcode_figure(bars, r=1.5, D=D).data[0].marker.opacity
    assert first > second
