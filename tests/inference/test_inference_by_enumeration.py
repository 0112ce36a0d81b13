"""Likelihoods, marginals, posteriors and gradients compared with sums over all states."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from loopylatent import synthetic
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteModel, Method, layout_of
from loopylatent.inference.evidence import encode
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.gaussian import GaussianModel
from loopylatent.inference.parameters import Basis
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations


@st.composite
def models(draw, max_nodes=9):
    """A random pairwise model with loops and hidden nodes, and rows with missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_states = draw(st.sampled_from([2, 2, 3]))
    m = draw(st.integers(3, max_nodes if n_states == 2 else 6))
    p = draw(st.integers(2, m))
    pairs = list(itertools.combinations(range(m), 2))
    edges = [pairs[k] for k in rng.permutation(len(pairs))[: rng.integers(m - 1, 2 * m)]]
    graph = LatentGraph.build([f"x{k}" for k in range(p)], m - p, edges)
    kind = "binary" if n_states == 2 else "categorical"
    columns = tuple(Column(f"x{k}", kind, tuple("abc"[:n_states])) for k in range(p))
    layout = layout_of(graph, columns)
    values = rng.integers(0, n_states, size=(6, p)).astype(float)
    values[rng.random(values.shape) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    model = DiscreteModel(layout, columns, rng.normal(size=layout.n_cells))
    return model, Observations(values, columns)


def joint_table(model: DiscreteModel):
    """All states of all nodes, and the unnormalised probability of each."""
    layout = model.layout
    states = np.array(list(itertools.product(*(range(k) for k in layout.n_states))))
    energy = np.zeros(len(states))
    for v in range(layout.graph.n_nodes):
        energy += layout.node_table(model.cells, v)[states[:, v]]
    for edge, (u, v) in enumerate(layout.graph.edges.tolist()):
        energy += layout.edge_table(model.cells, edge)[states[:, u], states[:, v]]
    return states, np.exp(energy)


@given(models())
def test_likelihoods_and_posteriors_equal_enumeration(problem):
    model, obs = problem
    states, weight = joint_table(model)
    assert model.log_partition == pytest.approx(np.log(weight.sum()))
    found = model.log_likelihood(obs)
    nodes = np.arange(obs.n_columns, model.layout.graph.n_nodes)
    posteriors = model.posteriors(obs, nodes) if len(nodes) else []
    for r, row in enumerate(obs.values):
        fits = np.ones(len(states), dtype=bool)
        for j, value in enumerate(row):
            fits &= np.isnan(value) | (states[:, j] == value)
        assert found[r] == pytest.approx(np.log(weight[fits].sum() / weight.sum()))
        for k, node in enumerate(nodes):
            for state in range(model.layout.n_states[node]):
                share = weight[fits & (states[:, node] == state)].sum() / weight[fits].sum()
                assert posteriors[k][r, state] == pytest.approx(share, abs=1e-9)


@given(models())
def test_marginals_equal_enumeration(problem):
    model, _ = problem
    states, weight = joint_table(model)
    share = weight / weight.sum()
    for v in range(model.layout.graph.n_nodes):
        expected = [share[states[:, v] == k].sum() for k in range(model.layout.n_states[v])]
        assert np.allclose(model.layout.node_table(model.marginals, v), expected)
    for edge, (u, v) in enumerate(model.layout.graph.edges.tolist()):
        table = model.layout.edge_table(model.marginals, edge)
        for a, b in itertools.product(range(table.shape[0]), range(table.shape[1])):
            both = (states[:, u] == a) & (states[:, v] == b)
            assert table[a, b] == pytest.approx(share[both].sum())


@settings(max_examples=25)
@given(models(max_nodes=7))
def test_the_gradient_equals_differences_of_the_likelihood(problem):
    model, obs = problem
    basis = Basis(model.layout)
    method = Method.choose(model.layout)
    rows, whole = method.rows(encode(obs, model.columns)), method.partition()

    def value(point):
        cells = basis.cells(point)
        return rows.evaluate(cells).value / obs.n_rows - whole.evaluate(cells).value

    point = basis.parameters(model.cells)
    cells = basis.cells(point)
    by_cells = rows.evaluate(cells).by_cells / obs.n_rows - whole.evaluate(cells).by_cells
    gradient = basis.gradient(by_cells)
    step = 1e-5
    for k in range(len(point)):
        move = np.zeros(len(point))
        move[k] = step
        slope = (value(point + move) - value(point - move)) / (2 * step)
        assert gradient[k] == pytest.approx(slope, abs=1e-6)


def test_a_fit_never_falls_ends_flat_and_finds_the_parameters_of_a_known_model():
    truth = synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=4)
    obs = truth.sample(40_000, seed=1)
    model = fit_parameters(truth.graph, obs)
    assert model.is_exact
    assert model.converged
    assert model.largest_slope < 1e-3
    assert (np.diff(model.history) >= -1e-12).all()
    expected = np.abs(truth.edge_correlations)
    assert np.abs(model.edge_strengths) == pytest.approx(expected, abs=0.03)
    assert model.uninformative == ()


def test_belief_propagation_is_exact_on_a_tree_and_not_on_a_loop():
    tree = synthetic.latent_tree(n_hidden=2, n_observed_inner=1, leaves=3, seed=4)
    fitted = fit_parameters(tree.graph, tree.sample(500, seed=1))
    assert fitted.lbp_error().error == pytest.approx(0, abs=1e-6)
    ring = synthetic.latent_cycle(4, 2, lengths=(0.1, 0.2), seed=1)
    looped = fit_parameters(ring.graph, ring.sample(2000, seed=1))
    assert abs(looped.lbp_error().error) > 1e-4


def test_missing_values_and_weights_are_counted():
    truth = synthetic.latent_tree(n_hidden=1, n_observed_inner=0, leaves=4, seed=2)
    obs = truth.sample(300, seed=3)
    weights = np.random.default_rng(0).integers(1, 4, 300)
    weighted = fit_parameters(truth.graph, obs.with_weights(weights))
    repeated = fit_parameters(truth.graph, obs.take(np.repeat(np.arange(300), weights)))
    assert weighted.train_log_likelihood == pytest.approx(repeated.train_log_likelihood, rel=1e-6)
    values = np.array(obs.values)
    values[:, 0] = np.nan
    gone = weighted.log_likelihood(obs.with_values(values))
    both = []
    for state in (0.0, 1.0):
        filled = values.copy()
        filled[:, 0] = state
        both.append(weighted.log_likelihood(obs.with_values(filled)))
    assert gone == pytest.approx(np.logaddexp(*both))


def test_a_gaussian_likelihood_is_that_of_the_marginal_normal():
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(500, 1))
    X = hidden * [1, -1, 0.8, 1.2] + 0.7 * rng.normal(size=(500, 4)) + [0, 1, 2, 3]
    star = LatentGraph.build(["x1", "x2", "x3", "x4"], 1, [(k, 4) for k in range(4)])
    obs = Observations.from_array(X)
    model = fit_parameters(star, obs)
    assert model.kind == "gaussian"
    assert isinstance(model.distribution, GaussianModel)
    assert (np.diff(model.history) >= -1e-12).all()
    signs = np.sign(model.edge_strengths)
    assert signs[0] != signs[1]
    found = model.distribution
    covariance = np.linalg.inv(found.precision)[:4, :4]
    scale = found.scale
    normal = stats.multivariate_normal(
        scale.mean + found.mean * scale.deviation,
        covariance * np.outer(scale.deviation, scale.deviation),
    )
    assert model.log_likelihood(obs) == pytest.approx(normal.logpdf(X), rel=1e-8)
