"""Colours that can be told apart and seen, and figures that are put into words."""

from __future__ import annotations

import ast
import itertools
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from helpers.strategies import distance_matrices
from hypothesis import given, settings, strategies as st

from loopylatent.analysis.overlay import LEFT, RIGHT, overlay
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures import overlays as comparison, recovery
from loopylatent.figures.charts import LONGEST, alt_text, density_figure
from loopylatent.figures.network import (
    FAINTEST,
    NEGATIVE,
    THEMES,
    Theme,
    legend,
    network,
    network_data,
    stroke,
    symbol,
)
from loopylatent.figures.overlays import (
    ADDED,
    REMOVED,
    mark_changed_edges as mark_edges,
    mark_cycles,
)
from loopylatent.figures.sweep import grid_figure
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import edge_density
from loopylatent.settings import Thresholds
from loopylatent.ui.evaluate.topics import NEGATIVE_WORD

UI = Path(__file__).resolve().parents[2] / "loopylatent" / "ui"

# Machado, Oliveira and Fernandes (2009), full severity, on linear RGB
VISIONS = {
    "all colours": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
APART = 15.0
"""CIELAB: two colours side by side differ from about 2 on; far apart on a page they need more."""
TEXT, GRAPHICS = 4.5, 3.0
"""Contrast that WCAG 2 asks for at level AA."""


def numbers(colour: str) -> np.ndarray:
    return np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255


def linear(rgb: np.ndarray) -> np.ndarray:
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: np.ndarray) -> np.ndarray:
    """CIELAB under daylight (D65), as somebody with this vision sees it."""
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.0721750],
            [0.0193339, 0.1191920, 0.9503041],
        ]
    )
    seen = np.clip(vision @ linear(numbers(colour)), 0, 1)
    share = to_xyz @ seen / to_xyz.sum(axis=1)
    f = np.where(share > 216 / 24389, np.cbrt(share), (24389 / 27 * share + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def apart(one: str, other: str, vision: np.ndarray) -> float:
    return float(np.linalg.norm(lab(one, vision) - lab(other, vision)))


def contrast(one: np.ndarray, other: np.ndarray) -> float:
    light, dark = sorted(
        (float(np.array([0.2126, 0.7152, 0.0722]) @ linear(c)) for c in (one, other)), reverse=True
    )
    return (light + 0.05) / (dark + 0.05)


def test_the_measures_are_those_of_the_standards():
    black, white = numbers("#000000"), numbers("#FFFFFF")
    assert contrast(black, white) == pytest.approx(21)
    assert contrast(numbers("#767676"), white) == pytest.approx(4.54, abs=0.01)
    np.testing.assert_allclose(lab("#FFFFFF", np.eye(3)), [100, 0, 0], atol=0.01)
    np.testing.assert_allclose(lab("#FF0000", np.eye(3)), [53.24, 80.09, 67.20], atol=0.02)
    for vision in VISIONS.values():
        np.testing.assert_allclose(vision.sum(axis=1), 1, atol=1e-5)  # grey stays grey
    red, green = "#C00000", "#5A7A00"
    assert apart(red, green, VISIONS["deuteranopia"]) < apart(red, green, np.eye(3)) / 2


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", list(THEMES.values()), ids=list(THEMES))
def test_colours_that_carry_a_meaning_stay_apart(theme: Theme, vision: str):
    seen = VISIONS[vision]
    together = [
        (theme.observed, theme.hidden),
        (theme.edge, NEGATIVE),
        (theme.edge, REMOVED, ADDED),
        (theme.edge, *comparison.COLOURS.values()),
        (theme.edge, recovery.FALSE_EDGE, recovery.MISSED_EDGE),
        theme.groups,
    ]
    for colours in together:
        for one, other in itertools.combinations(colours, 2):
            assert apart(one, other, seen) >= APART, (one, other)


@pytest.mark.parametrize("theme", list(THEMES.values()), ids=list(THEMES))
def test_words_and_signs_stand_out_from_the_ground(theme: Theme):
    ground = numbers(theme.background)
    for text in (theme.text, theme.muted, theme.emphasis):
        assert contrast(numbers(text), ground) >= TEXT
    against = NEGATIVE_WORD[theme is THEMES["dark"]]
    for word in (theme.observed, against):  # on the cards of topics
        assert contrast(numbers(word), ground) >= TEXT
    symbols = [symbol(is_hidden, None, False, theme) for is_hidden in (False, True)]
    symbols += [symbol(False, group, True, theme) for group in (None, *range(14))]
    for drawn in symbols:
        assert contrast(numbers(drawn.border), ground) >= GRAPHICS
    for colour in (NEGATIVE, REMOVED, ADDED, *comparison.COLOURS.values(), recovery.MISSED_EDGE):
        assert contrast(numbers(colour), ground) >= GRAPHICS
    weakest = stroke(50.0, 10)
    assert weakest.opacity == FAINTEST
    faded = weakest.opacity * numbers(theme.edge) + (1 - weakest.opacity) * ground
    assert contrast(faded, ground) >= GRAPHICS


RING = LatentGraph.build("abcd", 2, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5), (0, 1)])


def test_shapes_and_words_say_what_colours_say():
    net = network_data(network(RING, np.zeros((6, 2)), groups=[0, 0, 1, 1], signs=[1] * 5 + [-1]))
    assert [node["shape"] for node in net["nodes"]] == ["dot"] * 4 + ["diamond"] * 2
    assert "group 1" in net["nodes"][0]["title"]
    assert "group 2" in net["nodes"][2]["title"]
    (negative,) = [edge for edge in net["edges"] if "dashes" in edge]
    assert "negative correlation" in negative["title"]
    said = [item.text for item in legend(RING, groups=[0, 0, 1, 1], signs=[1] * 5 + [-1])]
    assert {"observed", "hidden", "group 1", "group 2", "negative correlation"} <= set(said)
    changed = mark_edges(net["edges"], np.array([-1, 0, 1, 0, 0, 0]))
    assert [bool(edge["dashes"]) for edge in changed] == [True] + [False] * 5
    on = [edge["title"].endswith("on a cycle") for edge in mark_cycles(net["edges"], RING)]
    assert on == RING.on_cycle.tolist()


def test_the_sides_of_a_comparison_differ_in_more_than_colour():
    other = LatentGraph.build("abcd", 2, [(0, 4), (1, 4), (2, 5), (3, 5), (4, 5), (2, 3)])
    laid = overlay((RING, other))
    net = network_data(network(laid.graph, np.zeros((laid.graph.n_nodes, 2))))
    marked = comparison.mark_edges(net["edges"], laid, laid.difference(0, 1))
    said = {edge["title"].rsplit("\n", 1)[1]: bool(edge["dashes"]) for edge in marked}
    assert said == {"in both": False, "only left": True, "only right": False}
    assert comparison.COLOURS.keys() == {LEFT, RIGHT}


# Figures in words --------------------------------------------------------------------------


def test_every_plot_of_the_app_has_words():
    missing = []
    for path in sorted(UI.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                given = {keyword.arg for keyword in node.keywords}
                if node.func.attr in ("plotly_chart", "image", "pyplot") and "alt" not in given:
                    missing.append(f"{path.name}:{node.lineno}")
    assert missing == []


def test_the_words_hold_the_numbers():
    D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    words = alt_text(density_figure(edge_density(D), r=3.0, D=D), "Edges against r")
    assert words.startswith("Edges against r. x-axis: ")
    assert "to 3" in words
    cells = grid_figure(
        [], [], "hidden nodes", Lambdas=(0.0, 0.1), taus=(0.1,), current=Thresholds(3.0, 0.0, 0.1)
    )
    assert "no values yet" in alt_text(cells, "Hidden nodes")


def test_words_instead_of_numbers_are_listed_and_long_ones_are_cut():
    bars = go.Figure(go.Bar(x=[f"<b>{k}</b>" for k in range(10)], y=list(range(10)), name="n"))
    assert alt_text(bars, "Counts") == (
        "Counts. n: 0 0, 1 1, 2 2, 3 3, 4 4, 5 5, 6 6, 7 7, and 2 more."
    )
    many = go.Figure([go.Scatter(x=[1], y=[k], name="x" * 300) for k in range(20)])
    assert len(alt_text(many, "Many")) == LONGEST
    assert alt_text(go.Figure(), "Nothing") == "Nothing."
    unseen = go.Scatter(x=[1, 2], y=[1, 2], mode="markers", marker={"opacity": 0})
    assert alt_text(go.Figure(unseen), "Unseen") == "Unseen."


@given(distance_matrices(max_columns=6))
@settings(max_examples=25, deadline=None)
def test_any_curve_can_be_said(D):
    figure = density_figure(edge_density(D), r=D.r_max, D=D)
    assert 0 < len(alt_text(figure, "Edges")) <= LONGEST


@settings(max_examples=50, deadline=None)
@given(st.lists(st.one_of(st.none(), st.floats(), st.text(), st.integers()), max_size=5))
def test_any_values_can_be_said(values):
    assert alt_text(go.Figure(go.Scatter(x=values, y=values)), "Some").startswith("Some.")
