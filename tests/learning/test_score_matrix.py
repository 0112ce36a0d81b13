"""The matrix of estimated gains against enumeration and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

import loopylatent as ll
from loopylatent.compute.limits import one_thread
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteProblem, Method
from loopylatent.inference.evidence import Rows
from loopylatent.inference.parameters import contrasts_of
from loopylatent.inference.problems import Fitted, family_of
from loopylatent.learning.moves import SearchGraph
from loopylatent.learning.refits import Price, Trials
from loopylatent.learning.score_matrix import ScoreMatrix
from loopylatent.settings import FitSettings
from loopylatent.synthetic.families import latent_cycle, latent_tree
from tests.helpers.models import SmallModel, small_models


def gains_by_enumeration(model: SmallModel, weights: np.ndarray) -> np.ndarray:
    """n/2 tr(A R B R') with R the difference of moments, A and B the inverse spreads."""
    joint, log_weight = model.enumerate()
    prior = np.exp(log_weight - log_weight.max())
    prior /= prior.sum()
    fits = model.fits(joint)
    posterior = np.where(fits, prior, 0.0)
    posterior /= posterior.sum(axis=1, keepdims=True)
    share = weights / weights.sum()
    values = [contrasts_of(np.full(int(k), 1.0 / k))[joint[:, v]]
              for v, k in enumerate(model.layout.n_states)]  # fmt: skip
    means = [posterior @ value for value in values]
    inverse = []
    for mean in means:
        spread = (mean * share[:, None]).T @ mean - np.outer(share @ mean, share @ mean)
        eigen, vectors = np.linalg.eigh(spread)
        inverse.append((vectors / np.maximum(eigen, 1e-6)) @ vectors.T)
    m, mixed = len(values), share @ posterior
    found = np.zeros((m, m))
    for u in range(m):
        for v in range(m):
            R = (values[u] * (mixed - prior)[:, None]).T @ values[v]
            if u != v:
                found[u, v] = 0.5 * weights.sum() * np.trace(inverse[u] @ R @ inverse[v] @ R.T)
    return found


@settings(max_examples=12)
@given(small_models(max_nodes=6, max_joint=300, max_rows=6))
def test_gains_equal_enumeration_for_any_states_missing_values_and_weights(model):
    assume(np.abs(model.cells).max() < 5)  # beyond that, spreads are near 0
    p = model.graph.n_observed
    rng = np.random.default_rng(0)
    states = model.states[:, :p]
    weights = rng.uniform(0.5, 2.0, len(states))
    problem = DiscreteProblem(model.layout, Rows.of(states, weights), Method.choose(model.layout))
    point = problem.basis.parameters(model.cells)
    found = ScoreMatrix.of(Fitted(problem, point, problem.evaluate(point).value), 1)
    expected = gains_by_enumeration(model, weights)
    scale = 1e-4 * (1 + np.abs(expected).max())
    assert np.allclose(found.gains, expected, rtol=1e-3, atol=scale)


def fitted_on(graph: LatentGraph, rows: ll.Observations):
    trials = Trials(family_of(rows, graph.names, FitSettings()), graph.names, Price(0.0), 20.0)
    with one_thread():
        return trials.fit(SearchGraph.of(graph), 2000).fitted, trials


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_edges_of_a_fitted_model_gain_nothing_and_missing_ones_do(kind):
    truth = latent_cycle(8, 2, seed=3, kind=kind)
    rows = truth.sample(2000, seed=4)
    cut = next(k for k, (u, _) in enumerate(truth.graph.edges.tolist()) if u >= 16)
    keep = np.arange(truth.graph.n_edges) != cut
    graph = LatentGraph.build(
        truth.graph.names, 8, truth.graph.edges[keep], truth.graph.lengths[keep]
    )
    fitted, _ = fitted_on(graph, rows)
    matrix = ScoreMatrix.of(fitted)
    u, v = graph.edges.T
    assert matrix.gains[u, v].max() < 0.01
    missing = tuple(truth.graph.edges[cut].tolist())
    hidden = matrix.gains[16:, 16:]
    a, b = np.unravel_index(hidden.argmax(), hidden.shape)
    assert {16 + int(a), 16 + int(b)} == set(missing)
    assert hidden.max() > 50


def test_a_gaussian_gain_is_the_squared_slope_of_the_likelihood_over_its_variance():
    truth = latent_tree(3, 0, 3, seed=5, kind="gaussian")
    rows = truth.sample(400, seed=6)
    fitted, trials = fitted_on(truth.graph, rows)
    precision, p = fitted.problem.precision(fitted.point), truth.graph.n_observed
    onto = np.vstack([np.eye(p), -np.linalg.solve(precision[p:, p:], precision[p:, :p])])
    means = trials.family.rows.scores @ onto.T  # of each node given each row
    matrix = ScoreMatrix.of(fitted)
    search = SearchGraph.of(truth.graph)
    pairs = [(u, v) for u in range(12) for v in range(u + 1, 12) if not search.has(u, v)]
    for u, v in pairs[::7]:
        wider = search.with_lengths(dict(sorted({**search.lengths, (u, v): 2.5}.items())))
        problem = trials.family.problem(wider.graph(truth.graph.names))
        values = []
        for step in (1e-4, -1e-4):
            changed = precision.copy()
            changed[u, v] = changed[v, u] = step
            values.append(problem.evaluate(problem.point(changed, np.zeros(p))).value)
        slope = (values[0] - values[1]) / 2e-4
        second = means.T @ means / 400
        variance = second[u, u] * second[v, v] + second[u, v] ** 2
        assert matrix.gains[u, v] == pytest.approx(400 * slope**2 / (2 * variance), rel=1e-3)


def test_threads_change_nothing():
    rows = latent_tree(3, 1, 2, seed=1).sample(300, seed=2)
    graph = latent_tree(3, 1, 2, seed=1).graph
    fitted, _ = fitted_on(graph, rows)
    one, four = ScoreMatrix.of(fitted, 1), ScoreMatrix.of(fitted, 4)
    assert (one.gains == four.gains).all()
    assert (one.attraction == four.attraction).all()
