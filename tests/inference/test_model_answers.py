"""What a fitted model answers: extreme rows, nodes that tell nothing, and itself from a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import loopylatent as ll
from loopylatent.inference.evidence import rows_like
from loopylatent.inference.model import SavedModel


def fitted(kind: str, n: int = 400) -> tuple[ll.Model, ll.Observations]:
    model = ll.synthetic.latent_cycle(8, 2, kind=kind, seed=0)
    obs = model.sample(n, seed=1)
    return ll.fit_parameters(model.graph, obs), obs


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_degrees_of_freedom_are_nodes_and_edges(kind):
    model, _ = fitted(kind)
    assert model.df == model.graph.n_nodes + model.graph.n_edges


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_extreme_rows_are_those_of_the_posterior(kind):
    model, obs = fitted(kind)
    hidden = model.graph.n_observed + 2
    level = model.hidden_posteriors(obs)[:, 2]
    level = level if level.ndim == 1 else level.max(axis=1)
    found = model.extreme_rows(obs, hidden, most=7)
    assert level[found.most[0]] == level.max()
    assert level[found.least[0]] == level.min()
    assert level[found.most].min() >= np.sort(level)[-7]
    assert level[found.least].max() <= np.sort(level)[6]


def test_posteriors_do_not_depend_on_the_other_rows():
    model, obs = fitted("ising", 60)
    whole = model.hidden_posteriors(obs)
    for rows in (slice(0, 5), slice(17, 31)):
        frame = obs.to_frame().iloc[rows].reset_index(drop=True)
        part = ll.Observations.from_frame(frame, kinds=dict.fromkeys(frame.columns, "binary"))
        assert np.allclose(model.hidden_posteriors(part), whole[rows])


def test_extreme_rows_of_a_node_with_three_states_are_by_its_likeliest_state():
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, 300)
    columns = [np.where(rng.random(300) < 0.7, hidden, rng.integers(0, 3, 300)) for _ in range(4)]
    frame = pd.DataFrame(np.array(list("xyz"))[np.column_stack(columns)], columns=list("abcd"))
    obs = ll.Observations.from_frame(frame)
    star = ll.LatentGraph.build(list("abcd"), 1, [(k, 4) for k in range(4)], [0.6] * 4)
    model = ll.fit_parameters(star, obs)
    surest = model.hidden_posteriors(obs)[:, 0].max(axis=1)
    found = model.extreme_rows(obs, 4, most=3)
    assert surest[found.most].tolist() == pytest.approx(np.sort(surest)[::-1][:3].tolist())
    assert surest[found.least].tolist() == pytest.approx(np.sort(surest)[:3].tolist())


def test_two_strong_edges_make_a_hidden_node_informative():
    """The weakest of its three edges does not count."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=400)
    loads = np.array([0.8, 0.8, 0.05])
    X = hidden[:, None] * loads + rng.normal(size=(400, 3)) * np.sqrt(1 - loads**2)
    star = ll.LatentGraph.build(list("abc"), 1, [(0, 3), (1, 3), (2, 3)], -np.log(loads))
    model = ll.fit_parameters(star, ll.Observations.from_array(X, list("abc")))
    assert model.uninformative == ()


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_saved_parameters_give_the_model_again(kind):
    model, obs = fitted(kind)
    again = SavedModel.of(model).on(obs)
    assert again.digest == model.digest
    assert again.train_bic == model.train_bic
    np.testing.assert_array_equal(again.log_likelihood(obs), model.log_likelihood(obs))
    np.testing.assert_array_equal(again.hidden_posteriors(obs), model.hidden_posteriors(obs))


def test_saved_parameters_that_are_not_positive_definite_are_rejected():
    model, obs = fitted("gaussian")
    saved = SavedModel.of(model)
    changed = saved.values.copy()
    changed[model.graph.n_observed] *= -1.0  # a precision
    with pytest.raises(ll.InferenceError, match="not positive definite"):
        replace(saved, values=changed).on(obs)
    with pytest.raises(ll.InferenceError, match="do not belong to this graph"):
        replace(saved, values=saved.values[:-1]).on(obs)


def test_more_rows_are_read_by_name_and_in_their_order():
    known = ll.Observations.from_array([[0, 1, 1], [1, 1, 0], [0, 0, 0]], list("abc"))
    more = pd.DataFrame({"c": [1, 0], "z": [7, 8], "a": [0, 0], "b": [1, 0]}, index=[5, 3])
    found = rows_like(more, known)
    assert found.names == ("a", "b", "c")
    assert found.dense().tolist() == [[0, 1, 1], [0, 0, 0]]
    with pytest.raises(ll.DataError, match="Missing columns: 'c'"):
        rows_like(more.drop(columns="c"), known)


def test_the_column_that_is_constant_in_the_rows_that_count_is_named():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[5:, 1] = 2.0
    weights = np.ones(50)
    weights[:5] = 0.0
    obs = ll.Observations.from_array(X, list("abc")).with_weights(weights)
    path = ll.LatentGraph.build(list("abc"), 0, [(0, 1), (1, 2)])
    with pytest.raises(ll.InferenceError, match="'b' is constant"):
        ll.fit_parameters(path, obs)
