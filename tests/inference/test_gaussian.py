"""Gaussian models against scipy, and their fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.gaussian import (
    EdgeParts,
    GaussianProblem,
    GaussianRows,
    assembled,
    inverse_of,
)
from loopylatent.settings import FitSettings
from loopylatent.tables.observations import Observations


def double_star() -> LatentGraph:
    """Two hidden nodes, joined, with four columns each."""
    edges = [(k, 8) for k in range(4)] + [(k, 9) for k in range(4, 8)] + [(8, 9)]
    return LatentGraph.build([f"x{k + 1}" for k in range(8)], 2, edges, [0.4] * 9)


def sampled(n: int, seed: int = 0, missing: float = 0.0) -> Observations:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=n)
    second = 0.7 * first + np.sqrt(1 - 0.49) * rng.normal(size=n)
    hidden = np.column_stack([first] * 4 + [second] * 4)
    signs = np.array([1, 1, -1, 1, 1, 1, 1, -1])
    X = signs * 0.8 * hidden + 0.6 * rng.normal(size=(n, 8))
    X = 10.0 + np.array([1, 2, 3, 4, 5, 6, 7, 8]) * X
    X[rng.random(X.shape) < missing] = np.nan
    return Observations.from_frame(pd.DataFrame(X, columns=[f"x{k + 1}" for k in range(8)]))


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    p, hidden = draw(st.integers(2, 6)), draw(st.integers(0, 3))
    m = p + hidden
    edges = {(int(rng.integers(v)), v) for v in range(1, m)}
    edges |= {(u, v) for v in range(m) for u in range(v) if rng.random() < 0.2}
    graph = LatentGraph.build([f"x{k}" for k in range(p)], hidden, sorted(edges))
    scores = rng.normal(size=(draw(st.integers(3, 12)), p))
    scores[rng.random(scores.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    rows = GaussianRows(scores, rng.integers(1, 3, len(scores)).astype(float))
    problem = GaussianProblem(graph, rows)
    correlation = rng.uniform(-0.7, 0.7, graph.n_edges)
    precision = assembled(graph, np.ones(m), EdgeParts.of(graph, np.ones(m), correlation))
    return problem, problem.point(precision, rng.normal(scale=0.3, size=p))


def by_scipy(problem: GaussianProblem, point: np.ndarray) -> float:
    p = problem.graph.n_observed
    covariance = np.linalg.inv(problem.precision(point))[:p, :p]
    mean, rows = problem.mean(point), problem.rows
    total = 0.0
    for row, weight in zip(rows.scores, rows.weights, strict=True):
        there = np.flatnonzero(~np.isnan(row))
        if len(there):
            part = covariance[np.ix_(there, there)]
            total += weight * multivariate_normal(mean[there], part).logpdf(row[there])
    return total / rows.total_weight


@given(problems())
def test_likelihood_equals_scipys_normal_distribution(drawn):
    problem, point = drawn
    expected = by_scipy(problem, point)
    assert problem.evaluate(point).value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=30)
@given(problems())
def test_gradient_equals_finite_differences(drawn):
    problem, point = drawn
    found = problem.evaluate(point).gradient
    slope = approx_fprime(point, lambda x: problem.evaluate(x).value, 1e-7)
    np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-4)


def test_a_point_and_its_precision_are_the_same():
    problem = GaussianProblem(double_star(), GaussianRows(np.zeros((3, 8)), np.ones(3)))
    point = np.random.default_rng(0).uniform(-0.3, 0.3, 8 + 9)
    again = problem.point(problem.precision(point), np.zeros(8))
    np.testing.assert_allclose(again, point)


def test_outside_of_the_cone_the_slope_leads_back():
    graph = LatentGraph.build(["a", "b", "c"], 0, [(0, 1), (1, 2), (0, 2)])
    problem = GaussianProblem(graph, GaussianRows(np.eye(3), np.ones(3)))
    point = np.array([0.0, 0.0, 0.0, 0.9, 0.9, 0.9])
    assert inverse_of(problem.precision(point)) is None
    found = problem.evaluate(point)
    inside = problem.evaluate(np.zeros(6))
    assert found.value < inside.value
    nearer = problem.evaluate(point + 0.01 * found.gradient)
    assert nearer.value > found.value


@pytest.mark.parametrize("last", [1e-14, 0.0, -1.0])
def test_a_matrix_with_a_tiny_pivot_is_not_inverted(last):
    assert inverse_of(np.diag([1.0, last, 1.0])) is None


@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_known_parameters_are_recovered(missing):
    model = fit_parameters(double_star(), sampled(20_000, missing=missing))
    assert (model.kind, model.is_exact, model.converged) == ("gaussian", True, True)
    strengths = model.edge_strengths
    assert np.abs(strengths[:8]) == pytest.approx(0.8, abs=0.02)
    # signs are known up to turning a hidden node round
    assert np.sign(strengths[:4] * strengths[0]).tolist() == [1, 1, -1, 1]
    assert np.sign(strengths[4:8] * strengths[4]).tolist() == [1, 1, 1, -1]
    assert abs(strengths[8]) == pytest.approx(0.7, abs=0.03)
    assert (np.diff(model.history) >= 0).all()
    assert model.uninformative == ()


def test_log_likelihood_is_in_the_units_of_the_table():
    obs = sampled(300, missing=0.1)
    model = fit_parameters(double_star(), obs)
    values = obs.dense()
    fitted, spread = model.distribution, model.distribution.scale.deviation
    centre = fitted.scale.mean + spread * fitted.mean
    p = len(spread)
    covariance = fitted.correlation[:p, :p] * np.outer(spread, spread)
    for row, found in zip(values[:20], model.log_likelihood(obs)[:20], strict=True):
        there = np.flatnonzero(~np.isnan(row))
        part = multivariate_normal(centre[there], covariance[np.ix_(there, there)])
        assert found == pytest.approx(part.logpdf(row[there]), rel=1e-8)


def test_scores_do_not_depend_on_the_units():
    obs, other = sampled(400), sampled(300, seed=1)
    scaled = obs.with_values(obs.dense() * 1000), other.with_values(other.dense() * 1000)
    one = fit_parameters(double_star(), obs).scores(other)
    two = fit_parameters(double_star(), scaled[0]).scores(scaled[1])
    assert one.perp_ll == pytest.approx(two.perp_ll, rel=1e-4)
    assert one.train_bic == pytest.approx(two.train_bic, rel=1e-4)


def test_posterior_is_the_expectation_of_the_hidden_node():
    rng = np.random.default_rng(3)
    hidden = rng.normal(size=4000)
    X = hidden[:, None] + 0.5 * rng.normal(size=(4000, 6))
    star = LatentGraph.build([f"x{k + 1}" for k in range(6)], 1, [(k, 6) for k in range(6)])
    model = fit_parameters(star, Observations.from_array(X))
    found = model.hidden_posteriors(Observations.from_array(X))[:, 0]
    assert np.corrcoef(found, hidden)[0, 1] > 0.97
    assert found.std() == pytest.approx(1.0, abs=0.05)


def test_weights_count_as_repeated_rows():
    obs = sampled(150)
    counts = np.random.default_rng(0).integers(1, 4, 150)
    repeated = obs.take(np.repeat(np.arange(150), counts))
    one = fit_parameters(double_star(), obs.with_weights(counts.astype(float)))
    two = fit_parameters(double_star(), repeated)
    assert one.train_log_likelihood == pytest.approx(two.train_log_likelihood, rel=1e-6)
    assert one.train_bic == pytest.approx(two.train_bic, rel=1e-6)


def test_ordinal_columns_are_fitted_as_numbers_and_say_so():
    answers = np.clip(np.round((sampled(400).dense() - 10) / 5) + 3, 1, 5)
    obs = Observations.from_frame(pd.DataFrame(answers, columns=[f"x{k + 1}" for k in range(8)]))
    assert set(obs.kinds) == {"ordinal"}
    model = fit_parameters(double_star(), obs)
    assert model.kind == "gaussian"
    assert "ordinal" in model.note


def test_further_starts_do_not_end_lower():
    obs = sampled(200)
    once = fit_parameters(double_star(), obs)
    more = fit_parameters(double_star(), obs, FitSettings(n_starts=3))
    assert more.history[-1] >= once.history[-1] - 1e-9


def test_gaussian_models_have_no_belief_propagation():
    with pytest.raises(InferenceError, match="likelihood is exact"):
        fit_parameters(double_star(), sampled(100)).lbp_error()
