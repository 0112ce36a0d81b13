"""The figures of a sweep hold the numbers of its points."""

from __future__ import annotations

import math

import pytest

import loopylatent as ll
from loopylatent.figures.sweep import MEASURES, grid_figure, sweep_figure
from loopylatent.synthetic.families import latent_cycle


@pytest.fixture(scope="module")
def ring() -> ll.Observations:
    return latent_cycle(girth=8, seed=1).sample(600, seed=1)


@pytest.fixture(scope="module")
def D(ring) -> ll.DistanceMatrix:
    return ll.information_distances(ring)


def trace(figure, name):
    return next(one for one in figure.data if one.name == name)


def test_lines_and_targets_hold_the_counts(D):
    points = ll.sweep(D, most=8).points
    figure = sweep_figure(points[::-1], (), r=D.r_min, D=D)
    radii = [point.thresholds.r for point in points]
    targets = trace(figure, "settings")
    assert list(targets.x) == radii
    for name, attribute in (("edges", "n_edges"), ("hidden", "n_hidden"), ("cycles", "n_cycles")):
        line = trace(figure, name)
        assert list(line.x)[:-1] == radii
        assert list(line.y)[:-1] == [getattr(point, attribute) for point in points]
        assert line.line.shape == "hv"
    sampled = sweep_figure(points, (), r=D.r_min, D=D, stepwise=False)
    assert trace(sampled, "edges").line.shape == "linear"


def test_scores_get_a_panel_once_there_are_some_and_the_best_a_star(D, ring):
    found = ll.sweep(D, most=5, obs=ring)
    without = sweep_figure(found.points, (), r=D.r_max, D=D, theme="dark")
    assert "BIC" not in [one.name for one in without.data]
    assert without.layout.yaxis.domain[0] == 0
    figure = sweep_figure(found.points, found.scores, r=D.r_max, D=D)
    assert figure.layout.yaxis.domain[0] > figure.layout.yaxis2.domain[1]
    for name, measure in (("held-out rows", "test_row"), ("BIC", "bic_row")):
        line = trace(figure, name)
        values = [getattr(one, measure) for one in found.scores]
        assert list(line.y) == values
        stars = [k for k, symbol in enumerate(line.marker.symbol) if symbol == "star"]
        assert stars == [max(k for k, value in enumerate(values) if value == max(values))]


def test_nothing_there_yet_is_an_empty_figure(D):
    figure = sweep_figure((), (), r=D.r_max, D=D)
    assert all(len(one.x) == 0 for one in figure.data)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_cell_holds_the_value_of_its_setting(D, ring, measure):
    margins, lengths = (0.0, 0.02, 0.04), (0.0, 0.2)
    r = (D.r_min + D.r_max) / 2
    found = ll.sweep(D, r, margins, lengths, obs=ring)
    here = found.points[3].thresholds
    figure = grid_figure(
        found.points, found.scores, measure, Lambdas=margins, taus=lengths, current=here
    )
    known = found.points if hasattr(found.points[0], MEASURES[measure]) else found.scores
    for one in known:
        there = one.settings.thresholds
        i, j = margins.index(there.Lambda), lengths.index(there.tau)
        assert figure.data[0].z[j][i] == getattr(one, MEASURES[measure])
    targets = trace(figure, "settings")
    for x, y, row in zip(targets.x, targets.y, targets.customdata, strict=True):
        assert (margins[x], lengths[y]) == tuple(row[:2])
    (frame,) = figure.layout.shapes
    middle = (frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2
    assert middle == (margins.index(here.Lambda), lengths.index(here.tau))


def test_cells_that_are_not_there_yet_are_empty(D):
    found = ll.sweep(D, D.r_max, [0.0], [0.1])
    figure = grid_figure(
        found.points,
        (),
        "edges",
        Lambdas=(0.0, 0.1),
        taus=(0.1,),
        current=found.points[0].thresholds,
    )
    ((first, second),) = figure.data[0].z
    assert first == found.points[0].n_edges
    assert math.isnan(second)
