"""The four perplexities."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.scores import bic, perplexity, score, with_half_hidden
from loopylatent.synthetic.families import latent_cycle
from loopylatent.tables.observations import Observations


@pytest.fixture(scope="module")
def ring():
    truth = latent_cycle(girth=5, leaves=2, seed=1)
    return fit_parameters(truth.graph, truth.sample(2000)), truth.sample(500, seed=9)


def test_scores_are_the_papers_equations(ring):
    model, test = ring
    found = model.scores(test, seed=4)
    n, p = test.n_rows, test.n_columns
    total = model.log_likelihood(test).sum()
    kept = model.log_likelihood(with_half_hidden(test, seed=4)).sum()
    penalty = 0.5 * found.df * math.log(n)
    assert found.df == model.graph.n_nodes + model.graph.n_edges
    assert found.perp_ll == pytest.approx(math.exp(-total / (n * p)))
    assert found.perp_bic == pytest.approx(math.exp(-(total - penalty) / (n * p)))
    assert found.pred_perp_ll == pytest.approx(math.exp(-(total - kept) / (n * p)))
    assert found.pred_perp_bic == pytest.approx(math.exp(-(total - kept - penalty) / (n * p)))
    assert (found.method, found.seed, found.n_samples) == ("exact", 4, n)
    assert found.bic == pytest.approx(bic(total, found.df, n))
    assert found.train_bic == model.train_bic


def test_predictive_likelihood_is_conditional(ring):
    model, test = ring
    row = test.take([0])
    half = with_half_hidden(row, seed=2)
    hidden = np.flatnonzero(np.isnan(half.values[0]))
    # the probabilities of all ways to fill in the hidden columns sum to one
    ways = np.array(list(product([0.0, 1.0], repeat=len(hidden))))
    filled = np.repeat(half.values, len(ways), axis=0)
    filled[:, hidden] = ways
    table = Observations(filled, test.columns)
    conditional = np.exp(model.log_likelihood(table) - model.log_likelihood(half))
    assert conditional.sum() == pytest.approx(1.0)


def test_half_of_the_columns_are_hidden_by_seed(ring):
    _, test = ring
    half = with_half_hidden(test, seed=1)
    assert (np.isnan(half.values).sum(axis=1) == test.n_columns // 2).all()
    assert half.digest == with_half_hidden(test, seed=1).digest
    assert half.digest != with_half_hidden(test, seed=2).digest
    there = ~np.isnan(half.values)
    assert (half.values[there] == test.dense()[there]).all()


def test_independent_fair_coins_have_perplexity_two():
    rng = np.random.default_rng(0)
    X = (rng.random((5000, 4)) < 0.5).astype(float)
    obs = Observations.from_array(X)
    model = fit_parameters(LatentGraph.build(obs.names, 0, []), obs)
    assert model.scores(obs).perp_ll == pytest.approx(2.0, abs=1e-3)
    assert model.scores(obs).pred_perp_ll == pytest.approx(math.sqrt(2), abs=1e-3)


def test_missing_values_are_not_counted():
    rng = np.random.default_rng(0)
    X = (rng.random((400, 4)) < 0.5).astype(float)
    obs = Observations.from_array(X)
    model = fit_parameters(LatentGraph.build(obs.names, 0, []), obs)
    X[:, 0] = np.nan
    found = model.scores(Observations(X, obs.columns))
    assert found.perp_ll == pytest.approx(2.0, abs=0.01)
    with pytest.raises(InferenceError, match="only missing values"):
        model.scores(Observations(np.full((3, 4), np.nan), obs.columns))


def test_weights_count_as_repeated_rows(ring):
    model, test = ring
    some = test.take(np.arange(40))
    counts = np.random.default_rng(0).integers(1, 4, 40)
    one = model.scores(some.with_weights(counts.astype(float)))
    two = model.scores(some.take(np.repeat(np.arange(40), counts)))
    assert one.perp_ll == pytest.approx(two.perp_ll)
    assert one.perp_bic == pytest.approx(two.perp_bic)


def test_any_likelihood_can_be_scored():
    obs = Observations.from_array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
    found = score(
        lambda rows: -np.log(2) * (~np.isnan(rows.dense())).sum(axis=1),
        obs, df=0, train_bic=0.0, method="exact",
    )  # fmt: skip
    assert found.perp_ll == pytest.approx(2.0)
    assert found.perp_bic == pytest.approx(2.0)
    assert found.pred_perp_ll == pytest.approx(2 ** (1 / 3))
    assert perplexity(-1e9, 1) < math.inf
