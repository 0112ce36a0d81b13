"""The curve of the initial graph: exact points, few enough of them, labels that stay apart."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from helpers.strategies import distance_matrices
from hypothesis import given

from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import ThresholdError
from loopylatent.figures.charts import MOST_POINTS, _placed, density_figure
from loopylatent.figures.network import THEMES
from loopylatent.learning.initial_graph import EdgeDensity, edge_density
from loopylatent.tables.samples import load_sample


@pytest.fixture(scope="module")
def small() -> EdgeDensity:
    points = np.random.default_rng(0).normal(size=(12, 3))
    values = np.linalg.norm(points[:, None] - points, axis=2)
    return edge_density(DistanceMatrix.from_array(values, n_samples=200))


@pytest.fixture(scope="module")
def newsgroups() -> EdgeDensity:
    return edge_density(information_distances(load_sample("newsgroups100_roweislike").observations))


def points(figure) -> np.ndarray:
    """Rows (r, edges, cycles, components) of the points that can be clicked."""
    return np.asarray(named(figure, "breakpoints").customdata)


def named(figure, name: str):
    return next(trace for trace in figure.data if trace.name == name)


@given(distance_matrices())
def test_every_point_is_a_breakpoint_with_its_exact_counts(D):
    curve = edge_density(D)
    figure = density_figure(curve, r=D.r_min, D=D)
    expected = [curve.r, curve.n_edges, curve.n_cycles, curve.n_components]
    assert np.array_equal(points(figure), np.column_stack(expected))
    targets = named(figure, "breakpoints")
    assert np.array_equal(targets.x, curve.r)
    assert np.array_equal(targets.y, curve.n_edges)


def test_the_steps_begin_with_single_columns_and_go_on_past_r_max(small):
    figure = density_figure(small, r=1.0)
    for trace, first, counts in zip(
        figure.data[:3],
        (0, 0, 12),
        (small.n_edges, small.n_cycles, small.n_components),
        strict=True,
    ):
        assert trace.line.shape == "hv"
        assert trace.x[0] < small.r[0]
        assert trace.x[-1] > small.D.r_max
        assert list(trace.y) == [first, *counts, counts[-1]]
    assert figure.data[0].line.width > figure.data[1].line.width


@pytest.mark.parametrize("r", [0.0, 1.3, 99.0])
def test_names_and_dots_give_the_counts_at_the_current_radius(small, r):
    figure = density_figure(small, r=r)
    k = int(np.searchsorted(small.r, r, "right")) - 1
    counts = (
        [small.at(r), 0, 12]
        if k < 0
        else [small.n_edges[k], small.n_cycles[k], small.n_components[k]]
    )
    assert [int(trace.name.split()[0]) for trace in figure.data[:3]] == counts
    dots = named(figure, "current r")
    assert list(dots.y) == counts
    assert set(dots.x) == {r}
    low, high = figure.layout.xaxis.range
    assert low <= r <= high


def test_many_breakpoints_are_thinned_without_losing_extremes(newsgroups):
    assert len(newsgroups.r) > MOST_POINTS
    figure = density_figure(newsgroups, r=3.5)
    drawn = points(figure)
    assert 200 <= len(drawn) <= MOST_POINTS
    where = np.searchsorted(newsgroups.r, drawn[:, 0])
    for column, counts in enumerate(
        (newsgroups.r, newsgroups.n_edges, newsgroups.n_cycles, newsgroups.n_components)
    ):
        assert np.array_equal(drawn[:, column], counts[where])
        assert drawn[:, column].min() == counts.min()
        assert drawn[:, column].max() == counts.max()


def test_thinned_steps_stay_within_a_few_pixels_of_the_exact_ones(newsgroups):
    drawn = points(density_figure(newsgroups, r=3.5))
    near = 0.012 * (newsgroups.r[-1] - newsgroups.r[0])
    for r, exact in zip(newsgroups.r, newsgroups.n_edges, strict=True):
        around = drawn[(drawn[:, 0] >= r - near) & (drawn[:, 0] <= r + near), 1]
        assert around.min() <= exact <= around.max(), r


def test_the_breakpoint_in_force_is_always_drawn(newsgroups):
    for r in newsgroups.r[::173].tolist():
        assert r in points(density_figure(newsgroups, r=r))[:, 0]


def test_a_thousand_columns_are_thinned_too(rng):
    r = np.sort(rng.uniform(1, 5, 40_000))
    intervals = np.column_stack(
        [np.zeros_like(r), np.ones_like(r), r, r + rng.exponential(1, len(r))]
    )
    values = np.array([[0, 1, 5.0], [1, 0, 5], [5, 5, 0]])
    curve = EdgeDensity(DistanceMatrix.from_array(values), intervals)
    assert len(points(density_figure(curve, r=2.0))) <= MOST_POINTS


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_come_from_the_theme_and_the_background_is_clear(small, theme):
    layout = density_figure(small, r=1.0, theme=theme).layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"
    assert layout.font.color == THEMES[theme].text
    assert layout.xaxis.title.text == "radius r"


def test_a_noise_floor_beyond_the_range_or_unknown_is_not_drawn(small):
    def labels(D: DistanceMatrix) -> list[str]:
        return [note.text for note in density_figure(small, r=1.0, D=D).layout.annotations]

    assert "noise floor" in labels(small.D)
    assert "noise floor" not in labels(replace(small.D, noise_floor=None))
    assert "noise floor" not in labels(replace(small.D, noise_floor=50.0))


def test_the_figure_does_not_move_with_r_inside_the_range(small):
    first, second = (density_figure(small, r=r).layout for r in (0.9, 1.9))
    assert first.xaxis.range == second.xaxis.range
    assert first.margin == second.margin
    assert first.uirevision == second.uirevision


def test_labels_of_close_marks_stand_in_rows_of_their_own():
    apart = _placed([(1.0, "a", 4), (2.0, "b", 4), (3.0, "c", 11)], 0.0, 4.0)
    assert [mark.row for mark in apart] == [1, 1, 1]
    close = _placed([(2.0, "a", 4), (2.0, "b", 4), (2.1, "c", 11)], 0.0, 4.0)
    assert [mark.row for mark in close] == [1, 2, 3]
    at_the_edge = _placed([(0.0, "floor", 11), (0.1, "b", 4), (3.0, "c", 4)], 0.0, 4.0)
    assert [(mark.row, mark.to_the_right) for mark in at_the_edge] == [
        (3, True),
        (1, False),
        (1, False),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"r": -1.0}, "r = -1.0 is not a radius"),
        ({"r": float("nan")}, "r = nan is not a radius"),
        ({"r": float("inf")}, "r = inf is not a radius"),
        ({"r": 1.0, "height": 100}, "height = 100 is too low"),
        ({"r": 1.0, "theme": "pink"}, "light, dark"),
    ],
)
def test_wrong_arguments_are_rejected_in_one_line(small, arguments, message):
    with pytest.raises(ThresholdError, match=message) as caught:
        density_figure(small, **arguments)
    assert "\n" not in str(caught.value)


def page_with(figure, width: int) -> str:
    script = (files("plotly") / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return f"""<!doctype html><meta charset="utf-8"><style>body {{ margin: 0 }}</style>
<div id="stage" style="width: {width}px; height: 300px"></div><script>{script}</script><script>
window.clicked = [];
Plotly.newPlot("stage", {json.dumps(json.loads(figure.to_json()))}).then(stage => {{
  for (const kind of ["plotly_click", "plotly_selected"])
    stage.on(kind, event => window.clicked.push([kind, ...event.points.map(p => p.customdata[0])]));
  window.drawn = true;
}});
</script>"""


@pytest.mark.browser
def test_a_click_anywhere_between_the_axes_gives_the_nearest_drawn_radius(open_page, newsgroups):
    figure = density_figure(newsgroups, r=3.5)
    watched = open_page(page_with(figure, 900), size=(920, 320))
    watched.wait_until("window.drawn")
    x = watched.page.evaluate("document.getElementById('stage')._fullLayout.xaxis.l2p(8.05)")
    margin = figure.layout.margin
    watched.page.mouse.move(margin.l + x - 5, margin.t + 20)
    watched.page.mouse.move(margin.l + x, margin.t + 20)
    drawn = points(figure)[:, 0]
    nearest = drawn[np.abs(drawn - 8.05).argmin()]
    hover = "document.querySelector('.hoverlayer .hovertext')?.textContent"
    watched.wait_until(f"{hover}?.includes('r = {nearest:.4f}edges')")
    watched.page.mouse.click(margin.l + x, margin.t + 20)
    events = dict(watched.wait_until("window.clicked.length == 2 && window.clicked"))
    assert events == {"plotly_click": nearest, "plotly_selected": nearest}


@pytest.mark.browser
@pytest.mark.parametrize("width", [400, 900])
@pytest.mark.parametrize("sample", ["bfi25", "holzinger24"])
def test_no_label_meets_another_or_leaves_the_figure(open_page, sample, width):
    D = information_distances(load_sample(sample).observations)
    figure = density_figure(edge_density(D), r=D.r_max, D=D)
    watched = open_page(page_with(figure, width), size=(width + 20, 320))
    watched.wait_until("window.drawn")
    boxes = watched.page.evaluate(
        """[...document.querySelectorAll('.annotation text, .xtitle')].map(text => {
            const box = text.getBoundingClientRect();
            return [box.left, box.top, box.right, box.bottom];
        })"""
    )
    assert len(boxes) == 6
    for k, (left, top, right, bottom) in enumerate(boxes):
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= 300
        for other in boxes[:k]:
            apart = left >= other[2] or other[0] >= right or top >= other[3] or other[1] >= bottom
            assert apart, (boxes[k], other)
