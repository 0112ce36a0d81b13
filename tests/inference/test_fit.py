"""Fits of discrete models and what the fitted model says."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from loopylatent.errors import InferenceError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.inference.discrete import DiscreteModel
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.optimise import DiscreteStart, representatives
from loopylatent.inference.parameters import Basis, Layout
from loopylatent.settings import FitSettings
from loopylatent.synthetic.families import from_skeleton, latent_cycle, latent_tree
from loopylatent.tables.observations import Observations


@pytest.fixture(scope="module")
def ring():
    """A ring of six hidden nodes with two columns each, all edges positive."""
    return latent_cycle(girth=6, leaves=2, lengths=(0.15, 0.4), seed=3)


@pytest.fixture(scope="module")
def ring_rows(ring):
    return ring.sample(20_000, seed=5)


@pytest.fixture(scope="module")
def ring_model(ring, ring_rows):
    return fit_parameters(ring.graph, ring_rows)


def with_missing(obs: Observations, share: float, seed: int = 0) -> Observations:
    values = obs.dense().copy()
    values[np.random.default_rng(seed).random(values.shape) < share] = np.nan
    return obs.with_values(values)


def k_state_star(n: int = 8000, seed: int = 0) -> tuple[LatentGraph, Observations, np.ndarray]:
    """Six columns that copy a hidden node with three states in four of five rows."""
    rng = np.random.default_rng(seed)
    hidden = rng.choice(3, size=n, p=[0.5, 0.3, 0.2])
    columns = [np.where(rng.random(n) < 0.8, hidden, rng.integers(0, 3, n)) for _ in range(6)]
    frame = pd.DataFrame(np.array(["red", "green", "blue"])[np.column_stack(columns)])
    frame.columns = [f"x{k + 1}" for k in range(6)]
    graph = LatentGraph.build(list(frame.columns), 1, [(k, 6) for k in range(6)], [0.5] * 6)
    return graph, Observations.from_frame(frame), hidden


def test_a_fit_converges_and_never_falls(ring_model):
    assert ring_model.kind == "binary"
    assert ring_model.is_exact
    assert ring_model.converged
    assert ring_model.largest_slope <= 1e-4
    assert (np.diff(ring_model.history) >= 0).all()
    assert len(ring_model.history) > 5


def test_known_couplings_are_recovered(ring, ring_rows):
    model = fit_parameters(ring.graph, ring_rows, FitSettings(tolerance=1e-5))
    found = model.distribution
    couplings = Basis(found.layout).parameters(found.cells)[ring.graph.n_nodes :]
    truth = np.arctanh(ring.edge_correlations)
    np.testing.assert_allclose(np.abs(couplings), truth, atol=0.25)
    truth_correlation = np.abs(np.tanh(couplings)) - ring.edge_correlations
    assert np.abs(truth_correlation).mean() < 0.03


def test_the_fit_is_as_good_as_the_true_model(ring, ring_rows, ring_model):
    layout = Layout(ring.graph, np.full(ring.graph.n_nodes, 2))
    cells = np.zeros(layout.n_cells)
    for edge, rho in enumerate(ring.edge_correlations.tolist()):
        theta = np.arctanh(rho)
        layout.edge_table(cells, edge)[:] = [[theta, -theta], [-theta, theta]]
    truth = DiscreteModel(layout, ring_rows.columns, cells)
    assert ring_model.log_likelihood(ring_rows).sum() >= truth.log_likelihood(ring_rows).sum()
    fresh = ring.sample(20_000, seed=77)
    gap = truth.log_likelihood(fresh).mean() - ring_model.log_likelihood(fresh).mean()
    assert 0 < gap < 0.003


def test_hidden_posteriors_find_the_hidden_states():
    graph, obs, hidden = k_state_star()
    model = fit_parameters(graph, obs)
    assert model.kind == "discrete"
    assert model.df == 7 * 2 + 6 * 4
    posterior = model.hidden_posteriors(obs)
    assert posterior.shape == (8000, 1, 3)
    np.testing.assert_allclose(posterior.sum(axis=2), 1.0)
    codes = {state: k for k, state in enumerate(obs.columns[0].states)}
    named = np.array([codes["red"], codes["green"], codes["blue"]])[hidden]
    # the hidden states carry the names of the columns' states
    assert (posterior[:, 0].argmax(axis=1) == named).mean() > 0.97


def test_columns_with_different_states_have_two_state_hidden_nodes():
    rng = np.random.default_rng(0)
    hidden = rng.random(4000) < 0.4
    three = np.where(hidden, rng.choice(3, 4000, p=[0.8, 0.1, 0.1]), rng.choice(3, 4000))
    frame = pd.DataFrame({
        "a": np.array(list("xyz"))[three],
        "b": np.array(list("pqrs"))[np.where(hidden, rng.integers(0, 2, 4000),
                                             rng.integers(2, 4, 4000))],
        "c": np.where(rng.random(4000) < 0.85, hidden, ~hidden),
        "d": np.where(rng.random(4000) < 0.8, hidden, ~hidden),
    })  # fmt: skip
    obs = Observations.from_frame(frame)
    graph = LatentGraph.build(list("abcd"), 1, [(k, 4) for k in range(4)], [0.5] * 4)
    model = fit_parameters(graph, obs)
    assert model.kind == "discrete"
    assert model.converged
    posterior = model.hidden_posteriors(obs)
    assert posterior.shape == (4000, 1)
    assert abs(np.corrcoef(posterior[:, 0], hidden)[0, 1]) > 0.9


def test_missing_values_are_summed_out(ring, ring_rows):
    some = ring_rows.take(np.arange(3000))
    holes = with_missing(some, 0.3)
    model = fit_parameters(ring.graph, holes)
    assert model.converged
    fresh = ring.sample(5000, seed=8)
    complete = fit_parameters(ring.graph, some).log_likelihood(fresh).mean()
    assert model.log_likelihood(fresh).mean() > complete - 0.05
    nothing = holes.with_values(np.full((2, ring.graph.n_observed), np.nan))
    np.testing.assert_allclose(model.log_likelihood(nothing.take([0])), 0.0, atol=1e-9)


def test_weights_count_as_repeated_rows(ring, ring_rows):
    some = ring_rows.take(np.arange(300))
    counts = np.random.default_rng(0).integers(0, 4, 300)
    repeated = some.take(np.repeat(np.arange(300), counts))
    one = fit_parameters(ring.graph, some.with_weights(counts.astype(float)))
    two = fit_parameters(ring.graph, repeated)
    assert one.train_log_likelihood == pytest.approx(two.train_log_likelihood, rel=1e-7)
    assert one.n_samples == two.n_samples == counts.sum()


def test_hidden_nodes_start_as_their_nearest_column():
    tree = latent_tree(n_hidden=3, n_observed_inner=1, lengths=(0.2, 0.6), seed=2)
    near = representatives(tree.graph)
    paths = tree.graph.path_lengths(tree.graph.hidden_nodes)[:, : tree.graph.n_observed]
    assert near[tree.graph.n_observed :].tolist() == paths.argmin(axis=1).tolist()
    obs = tree.sample(5000)
    first = fit_parameters(tree.graph, obs, FitSettings(max_steps=0))
    last = fit_parameters(tree.graph, obs)
    # the start from lengths and signs is already close to the best point
    assert len(first.history) == 1
    assert last.history[-1] - first.history[0] < 0.02


def test_signs_of_edges_are_found():
    tree = latent_tree(n_hidden=4, n_observed_inner=0, leaves=3, random_signs=True, seed=6)
    model = fit_parameters(tree.graph, tree.sample(20_000))
    rho, found = tree.correlations(), model.distribution
    p = tree.graph.n_observed
    marginals = found.marginals
    assert np.abs(model.edge_strengths) == pytest.approx(np.exp(-tree.graph.lengths), abs=0.03)
    # two columns of one hidden node: the product of their signs is that of their correlation
    for h in tree.graph.hidden_nodes:
        ends = [w for w in tree.graph.neighbours(h) if w < p]
        strength = {
            tuple(edge): s
            for edge, s in zip(tree.graph.edges.tolist(), model.edge_strengths, strict=True)
        }
        product = strength[ends[0], h] * strength[ends[1], h]
        assert np.sign(product) == np.sign(rho[ends[0], ends[1]])
        # a hidden node runs with the column nearest to it
        assert strength[int(representatives(tree.graph)[h]), h] > 0
    assert len(marginals) == found.layout.n_cells


def test_first_tables_have_the_lengths_of_a_tree():
    tree = latent_tree(n_hidden=3, n_observed_inner=0, leaves=2, seed=1)
    obs = tree.sample(200_000)
    model = fit_parameters(tree.graph, obs, FitSettings(max_steps=0))
    hidden_edge = tree.graph.edges[:, 1] >= tree.graph.n_observed
    expected = np.exp(-tree.graph.lengths[hidden_edge])
    np.testing.assert_allclose(model.edge_strengths[hidden_edge], expected, atol=0.03)
    start = DiscreteStart.of(model.distribution.layout, model.distribution.rows(obs))
    assert len(start.shares) == tree.graph.n_nodes


def test_a_hidden_node_that_ties_nothing_together_is_flagged(rng):
    X = (rng.random((2000, 6)) < 0.5).astype(float)
    X[:, 3:] = np.where(rng.random((2000, 3)) < 0.85, X[:, 3:4], 1 - X[:, 3:4])
    graph = LatentGraph.build(
        [f"x{k + 1}" for k in range(6)], 2, [(k, 6 if k < 3 else 7) for k in range(6)]
    )
    model = fit_parameters(graph, Observations.from_array(X))
    assert model.uninformative == (6,)


def test_more_starts_do_not_end_lower(ring, ring_rows):
    some = ring_rows.take(np.arange(400))
    once = fit_parameters(ring.graph, some)
    more = fit_parameters(ring.graph, some, FitSettings(n_starts=4, seed=1))
    assert more.history[-1] >= once.history[-1] - 1e-9


def test_equal_settings_give_equal_models(ring, ring_rows):
    some = ring_rows.take(np.arange(500))
    settings = FitSettings(n_starts=2, seed=3)
    one = fit_parameters(ring.graph, some, settings)
    two = fit_parameters(ring.graph, some, settings)
    assert one.digest == two.digest
    assert one.digest != fit_parameters(ring.graph, some, FitSettings(max_steps=3)).digest


def test_eight_threads_fit_alike(ring, ring_rows):
    some = ring_rows.take(np.arange(300))
    expected = fit_parameters(ring.graph, some).digest
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: fit_parameters(ring.graph, some).digest, range(8)))
    assert found == [expected] * 8


def test_progress_counts_up_and_can_stop_the_fit(ring, ring_rows):
    some = ring_rows.take(np.arange(500))
    seen = []
    fit_parameters(ring.graph, some, progress=lambda done, most: seen.append((done, most)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1][0] == seen[-1][1]

    class Enough(Exception):
        pass

    def stop(done: int, _: int) -> None:
        if done == 3:
            raise Enough

    with pytest.raises(Enough):
        fit_parameters(ring.graph, some, progress=stop)


def test_a_graph_without_hidden_nodes_can_be_fitted(rng):
    X = (rng.random((500, 4)) < 0.5).astype(float)
    X[:, 1:] = np.where(rng.random((500, 3)) < 0.8, X[:, :1], 1 - X[:, :1])
    loop = LatentGraph.build(["x1", "x2", "x3", "x4"], 0, [(0, 1), (1, 2), (2, 3), (0, 3)])
    obs = Observations.from_array(X)
    model = fit_parameters(loop, obs)
    assert model.converged
    assert model.hidden_posteriors(obs).shape == (500, 0)
    assert model.df == 8
    assert model.scores(obs).perp_ll < 2


def test_pair_marginals_of_a_fit_are_those_of_the_data(rng):
    X = (rng.random((500, 3)) < 0.3).astype(float)
    X[:, 1] = np.where(rng.random(500) < 0.8, X[:, 0], X[:, 1])
    obs = Observations.from_array(X)
    chain = LatentGraph.build(["x1", "x2", "x3"], 0, [(0, 1), (1, 2)])
    model = fit_parameters(chain, obs, FitSettings(tolerance=1e-8))
    found = model.distribution.layout.edge_table(model.distribution.marginals, 0)
    expected = np.histogram2d(X[:, 0], X[:, 1], bins=2)[0] / 500
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_beyond_the_limit_belief_propagation_takes_over(ring, ring_rows):
    some = ring_rows.take(np.arange(1000))
    exact = fit_parameters(ring.graph, some)
    loose = fit_parameters(ring.graph, some, FitSettings(largest_table=4))
    assert (exact.is_exact, exact.fitted_by) == (True, "exact")
    assert (loose.is_exact, loose.fitted_by) == (False, "lbp")
    assert loose.scores(some).method == "lbp"
    assert exact.scores(some).method == "exact"
    assert (np.diff(loose.history) >= 0).all()
    assert loose.train_log_likelihood == pytest.approx(exact.train_log_likelihood, rel=0.1)
    with pytest.raises(InferenceError, match="cannot be computed"):
        loose.lbp_error()
    with pytest.raises(InferenceError, match="treewidth"):
        fit_parameters(ring.graph, some, FitSettings(inference="exact", largest_table=4))


def test_hidden_parts_beyond_the_limit_are_propagated_too():
    model = from_skeleton(nx.complete_graph(5), leaves=1, lengths=(0.8, 1.2), seed=0)
    tree = latent_tree(n_hidden=1, n_observed_inner=0, leaves=5, lengths=(0.3, 0.5), seed=1)
    obs = tree.sample(60)
    fitted = fit_parameters(
        LatentGraph.build(obs.names, 5, model.graph.edges, model.graph.lengths), obs,
        FitSettings(largest_table=8, max_steps=5),
    )  # fmt: skip
    assert not fitted.is_exact
    assert fitted.hidden_posteriors(obs).shape == (60, 5)
    assert np.isfinite(fitted.log_likelihood(obs)).all()


def test_a_fit_by_belief_propagation_reports_exact_likelihoods(ring, ring_rows):
    some = ring_rows.take(np.arange(1000))
    model = fit_parameters(ring.graph, some, FitSettings(inference="lbp"))
    assert model.fitted_by == "lbp"
    assert model.is_exact
    gap = model.lbp_error(some)
    assert gap.exact == pytest.approx(model.log_likelihood(some).mean())
    assert gap.lbp == pytest.approx(model.history[-1], abs=1e-6)
    assert gap.error == pytest.approx(-model.lbp_error().error)


def test_extreme_rows_have_the_largest_and_smallest_posterior(ring, ring_rows, ring_model):
    some = ring_rows.take(np.arange(200))
    node = ring.graph.n_observed
    posterior = ring_model.hidden_posteriors(some)[:, 0]
    found = ring_model.extreme_rows(some, node, most=3)
    assert posterior[found.most].min() >= np.sort(posterior)[-3]
    assert posterior[found.least].max() <= np.sort(posterior)[2]
    with pytest.raises(InferenceError, match="not a hidden node"):
        ring_model.extreme_rows(some, 0)


def test_tables_are_matched_by_name_and_state():
    graph, obs, _ = k_state_star(300)
    model = fit_parameters(graph, obs)
    frame = obs.to_frame()
    without_blue = frame[(frame != "blue").all(axis=1)]
    turned = Observations.from_frame(without_blue[without_blue.columns[::-1]])
    expected = model.log_likelihood(obs)[(frame != "blue").all(axis=1).to_numpy()]
    np.testing.assert_allclose(model.log_likelihood(turned), expected)
    with pytest.raises(InferenceError, match="'black', which is not in the model"):
        model.log_likelihood(Observations.from_frame(frame.replace("blue", "black")))
    with pytest.raises(InferenceError, match="lacks columns 'x6'"):
        model.log_likelihood(obs.select(["x1", "x2", "x3", "x4", "x5"]))


def test_mixed_tables_are_rejected_with_the_remedy(rng):
    frame = pd.DataFrame(rng.normal(size=(50, 3)), columns=list("abc"))
    frame["d"] = rng.choice(["x", "y", "z"], 50)
    graph = LatentGraph.build(list("abcd"), 1, [(k, 4) for k in range(4)])
    with pytest.raises(
        InferenceError, match=r"mixed in one fit \(3 continuous, 1 categorical\).*select"
    ):
        fit_parameters(graph, Observations.from_frame(frame))


@pytest.mark.parametrize(
    "wrong",
    [
        {"n_starts": 0},
        {"max_steps": -1},
        {"tolerance": 0.0},
        {"seed": -1},
        {"inference": "guess"},
        {"spread": float("nan")},
        {"largest_table": 1},
    ],
)
def test_settings_outside_their_limits_are_rejected(wrong):
    with pytest.raises(ThresholdError):
        FitSettings(**wrong)
