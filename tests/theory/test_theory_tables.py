"""Theory as tables and curves: against the formulas and plain search, monotone where it must be."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.figures.recovery import (
    FALSE_EDGE,
    MISSED_EDGE,
    bound_figure,
    distortion_figure,
    experiment_figure,
    mark_mistakes,
    place_both,
    recovery_figure,
    shades,
    threshold_figure,
)
from loopylatent.graph import LatentGraph
from loopylatent.settings import Thresholds
from loopylatent.synthetic.experiment import Scored, experiment_table
from loopylatent.synthetic.families import latent_cycle, latent_tree
from loopylatent.synthetic.laboratory import TrialPoint, compare, summary
from loopylatent.theory.assumptions import distortion, ensemble_of
from loopylatent.theory.ensemble import Ensemble, fewest_samples, necessary_samples, pair_distance
from loopylatent.theory.tables import along, applicable_girth, quantities

KIND = Ensemble(0.15, 0.15, 3, 4, girth=100, depth=2, n_observed=200, n_nodes=300)


@st.composite
def ensembles(draw):
    high = draw(st.floats(0.02, 0.4))
    low = high * draw(st.floats(0.5, 1.0))
    girth = draw(st.sampled_from([4, 10, 30, 60, 150, 400, math.inf]))
    depth = draw(st.sampled_from([1, 2, 3, math.inf]))
    p = draw(st.integers(5, 500))
    degrees = draw(st.sampled_from([(3, 3), (3, 4), (4, 6), (1, 3)]))
    return Ensemble(low, high, *degrees, girth, depth, p, p + draw(st.integers(0, 300)))


@given(ensembles())
def test_the_fewest_rows_are_those_of_the_best_radius(e):
    assume(math.isfinite(e.depth))
    need, inside = fewest_samples(e), e.radius
    width = 4 * e.d_max if inside.high == math.inf else inside.high - inside.low
    radii = inside.low + width * np.geomspace(1e-13, 1, 1200)[:-1]
    slow = math.inf if inside.is_empty else min(e.samples(float(r)) for r in radii)
    assert need.n == pytest.approx(slow, rel=1e-9)
    assert e.samples(e.best_radius) == need.n
    if math.isfinite(need.n):
        assert need.r in e.radius
        tried = np.linspace(e.radius.low, min(e.radius.high, e.radius.low + 3), 50)[1:-1]
        assert all(e.samples(float(r)) > 0.98 * need.n for r in tried)


@given(ensembles())
def test_theorem_2_applies_from_the_applicable_girth_on(e):
    girth = applicable_girth(e)
    if girth is None:
        assert (
            e.alpha >= 1
            or math.isinf(e.depth)
            or math.isinf(fewest_samples(replace(e, girth=4096)).n)
        )
        return
    applies = [math.isfinite(fewest_samples(replace(e, girth=g)).n) for g in range(4, girth + 4)]
    assert applies == [False] * (girth - 4) + [True] * 4


@given(ensembles())
def test_every_quantity_has_an_explanation(e):
    rows = quantities(e)
    assert len({one.symbol for one in rows}) == len(rows)
    for one in rows:
        assert one.sentence.endswith(".")
        assert one.value is None or not math.isnan(one.value)


def test_quantities_are_the_formulas():
    found = {one.symbol: one.value for one in quantities(KIND, Thresholds(9.0, 0.1, 0.1))}
    assert found["α"] == pytest.approx(4 * math.tanh(0.15))
    assert found["θ*"] == pytest.approx(math.atanh(0.25))
    assert found["d_min"] == pytest.approx(-math.log(math.tanh(0.15)))
    assert found["δ(η+1)d_max"] == pytest.approx(4 * pair_distance(0.15))
    assert found["(g/4)d_min"] == pytest.approx(25 * pair_distance(0.15))
    assert (found["r"], found["Λ(r)"]) == (9.0, KIND.margin(9.0))
    assert found["n(r)"] == KIND.samples(9.0)
    assert found["n"] <= found["n(r)"]
    assert found["n₃"] is None  # 300 nodes are too few to count graphs of girth 100


def test_curves_rise_with_columns_depth_and_eta():
    for axis, values in (("p", [10, 100, 1000]), ("depth", [1, 2, 3]), ("eta", [1, 1.2, 1.5])):
        points = along(KIND, axis, values)
        for name in ("theorem_1", "theorem_2"):
            rows = [getattr(one, name) for one in points]
            assert rows == sorted(rows)
            assert rows[0] < rows[-1]


def test_the_curve_at_the_values_of_the_model_is_the_model():
    (here,) = along(KIND, "p", [200])
    assert here.theorem_2 == pytest.approx(fewest_samples(KIND).n)
    assert (here.girth, here.theorem_1) == (100, KIND.growth)
    (even,) = along(replace(KIND, theta_min=0.1), "eta", [1.0])
    assert even.theorem_2 == pytest.approx(fewest_samples(KIND).n)
    with pytest.raises(ThresholdError, match=r"eta = 0\.5 is below 1"):
        along(KIND, "eta", [0.5])


def test_a_girth_that_is_too_small_is_replaced_by_the_smallest_applicable_one():
    (point,) = along(replace(KIND, girth=10), "depth", [2])
    assert point.girth == applicable_girth(KIND) > 10
    assert point.theorem_2 == pytest.approx(fewest_samples(replace(KIND, girth=point.girth)).n)
    (none,) = along(replace(KIND, theta_min=0.5, theta_max=0.5), "depth", [2])
    assert none.theorem_2 is None


def test_theorem_3_is_drawn_where_it_applies():
    e = replace(KIND, girth=5, n_observed=1000, n_nodes=20_000)
    (point,) = along(e, "p", [1000])
    assert point.theorem_3 == necessary_samples(20_000, 1000, 3, 4, 5)


def test_node_potentials_shorten_nothing_and_count_in_the_ensemble():
    without_field, tilted = (
        ensemble_of(latent_cycle(6, 2, potentials=(0.1, 0.2), fields=fields, seed=1))
        for fields in (None, (0.2, 0.4))
    )
    assert (without_field.field_max, without_field.theta_max) == (0, tilted.theta_max)
    assert tilted.field_max >= 0.2
    assert tilted.d_min > without_field.d_min


# Figures -----------------------------------------------------------------------------------


def comparison():
    truth = LatentGraph.build("abcd", 2, [(0, 4), (1, 4), (4, 5), (2, 5), (3, 5)])
    learned = LatentGraph.build("abcd", 3, [(0, 4), (1, 4), (4, 5), (2, 5), (5, 6), (3, 6), (0, 6)])
    return compare(truth, learned)


def test_places_are_those_of_the_truth_and_extra_nodes_lie_between():
    found = comparison()
    place = place_both(found)
    assert np.isfinite(place).all()
    same = place_both(compare(found.truth, found.truth))
    np.testing.assert_allclose(place[:6], same)
    extra = place[6]
    around = place[list(found.both.neighbours(6))].mean(axis=0)
    assert np.linalg.norm(extra - around) == pytest.approx(22.0)


def test_hidden_nodes_that_hang_on_other_extra_ones_are_placed_too():
    truth = LatentGraph.build("abc", 0, [(0, 1), (1, 2)])
    learned = LatentGraph.build("abc", 3, [(0, 3), (3, 4), (4, 5), (1, 3), (2, 3)])
    assert np.isfinite(place_both(compare(truth, learned))).all()


def test_false_and_missed_edges_have_their_colours():
    found = comparison()
    for which, paint in (("truth", MISSED_EDGE), ("learned", FALSE_EDGE)):
        status = found.status_of(which)
        drawn = mark_mistakes([{"width": 1.0} for _ in status], status)
        coloured = [edge.get("color", {}).get("color") == paint for edge in drawn]
        assert coloured == [state != 0 for state in status]
        assert any(coloured)


def test_recovery_curves_have_the_means_of_the_repeats():
    points = [TrialPoint(n, k, "loops", 1.0, 0.5 + 0.1 * k, 0.2 * k, 4, 3, 1, k == 1)
              for n in (100, 1000) for k in (0, 1)]  # fmt: skip
    figure = recovery_figure(summary(points, "n"), "n", mark=100.0, theme="dark")
    lines = {trace.name: list(trace.y) for trace in figure.data if trace.name}
    assert lines["precision"] == pytest.approx([0.55, 0.55])
    assert lines["recall"] == pytest.approx([0.1, 0.1])
    assert lines["exact recovery"] == [0.5, 0.5]


def test_the_experiment_has_a_line_for_each_number_of_rows():
    points = [Scored(n, 0, where, 4.0, -1 / n, 3, 9, 1, True)
              for n in (500, 100) for where in (5.0, 4.0, "r_max", "true graph")]  # fmt: skip
    figure = experiment_figure(experiment_table(points))
    assert [trace.name for trace in figure.data] == ["100 rows", "500 rows"]
    assert list(figure.data[0].x) == ["r = 4", "r = 5", "tree (r max)", "true graph"]
    assert len(set(shades(4, "dark"))) == 4


def test_thresholds_are_marked_next_to_the_admissible_ones():
    figure = threshold_figure(KIND, Thresholds(9.0, 0.002, 0.3), 8.0)
    yours = [trace.x[0] for trace in figure.data if trace.name == "yours"]
    theirs = [trace.x[0] for trace in figure.data if trace.name == "the theory"]
    assert yours == [9.0, 0.002, 0.3]
    assert theirs == [None, KIND.margin(9.0), KIND.shortest_edge]
    assert figure.layout.shapes[0].x0 == KIND.radius.low
    empty = threshold_figure(replace(KIND, girth=10), Thresholds(9.0, 0.002, 0.3), 8.0)
    assert len(empty.layout.shapes) == 0


def test_bounds_without_a_number_are_not_drawn():
    points = along(replace(KIND, theta_min=0.5, theta_max=0.5), "depth", [1, 2])
    names = [trace.name for trace in bound_figure(points, "depth", mark=2, found=500.0).data]
    assert names == ["Theorem 1, up to a constant", "recovered in simulation"]


def test_names_of_columns_are_escaped_in_the_distortion_figure():
    values = latent_tree(4, 1, seed=1).distances().values
    names = [f"<img src=x onerror=alert({k})>" for k in range(len(values))]
    D = DistanceMatrix.from_array(values, names)
    figure = distortion_figure(distortion(D, D.r_max), D.names)
    assert "<img" not in figure.to_json().replace("\\u003c", "<")
    assert len(figure.data[1].x) == D.n_columns
