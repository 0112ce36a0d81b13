from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import loopylatent as ll


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    return np.repeat(rng.normal(size=(400, 2)), 3, axis=1) + 0.6 * rng.normal(size=(400, 6))


def test_fit_learns_what_learn_learns(X):
    model = ll.LocalCLGrouping(r=4.0, Lambda=0.01, tau=0.1).fit(X)
    D = ll.information_distances(X)
    assert model.graph_ == ll.learn(D, r=4.0, Lambda=0.01, tau=0.1).graph
    assert model.initial_graph_ == ll.initial_graph(D, 4.0)
    assert model.n_features_in_ == 6
    assert not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("method", ["relaxed", "nj"])
def test_other_methods_learn_what_learn_learns(X, method):
    model = ll.LocalCLGrouping(r=4.0, tau=0.1, method=method, seed=2).fit(X)
    found = ll.learn(ll.information_distances(X), r=4.0, tau=0.1, method=method, seed=2)
    assert model.graph_ == found.graph
    assert model.graph_.n_hidden > 0


def test_parameters_can_be_read_set_and_cloned(X):
    model = ll.LocalCLGrouping(r=4.0)
    assert model.get_params() == {
        "r": 4.0,
        "Lambda": None,
        "tau": None,
        "method": None,
        "order": "degree",
        "seed": 0,
        "metric": "auto",
        "refine": None,
    }
    assert clone(model.set_params(tau=0.3)).tau == 0.3
    found = {
        clone(model).set_params(**choice).fit(X).graph_.digest
        for choice in ParameterGrid({"tau": [0.0, 5.0]})
    }
    assert len(found) == 2


def test_names_of_a_frame_are_kept(X):
    model = ll.LocalCLGrouping().fit(pd.DataFrame(X, columns=list("abcdef")))
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert model.graph_.names == tuple("abcdef")


def test_bad_settings_are_rejected_when_fitting(X):
    with pytest.raises(ll.ThresholdError):
        ll.LocalCLGrouping(Lambda=2).fit(X)


def test_transform_gives_the_hidden_states(X):
    model = ll.LocalCLGrouping().fit(X)
    found = model.transform(X)
    assert found.shape == (400, model.graph_.n_hidden)
    assert model.model_ is model.model_
    expected = ll.fit_parameters(model.graph_, ll.Observations.from_array(X)).hidden_posteriors(
        ll.Observations.from_array(X)
    )
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(ll.LocalCLGrouping().fit_transform(X), found)


def test_transform_takes_single_rows_frames_and_missing_values(X):
    frame = pd.DataFrame(X > 0, columns=list("abcdef"))
    model = ll.LocalCLGrouping().fit(frame)
    whole = model.transform(frame)
    assert ((whole >= 0) & (whole <= 1)).all()
    turned = frame[frame.columns[::-1]].assign(extra="?")
    np.testing.assert_allclose(model.transform(turned.iloc[[7]]), whole[[7]])
    holes = frame.astype(object)
    holes.iloc[7, :3] = None
    assert model.transform(holes).shape == whole.shape
    with pytest.raises(ll.DataError, match="Missing columns: 'f'"):
        model.transform(frame.drop(columns="f"))
    with pytest.raises(ll.DataError, match="Rows of 6 columns"):
        model.transform(X[:, :4])


def test_sparse_rows_can_be_transformed():
    rng = np.random.default_rng(0)
    hidden = rng.random((600, 1)) < 0.4
    dense = (rng.random((600, 6)) < np.where(hidden, 0.7, 0.1)).astype(float)
    matrix = sparse.csr_array(dense)
    model = ll.LocalCLGrouping().fit(matrix)
    assert model.transform(matrix).shape == (600, model.graph_.n_hidden)


def test_transform_before_fit_is_rejected(X):
    with pytest.raises(NotFittedError):
        ll.LocalCLGrouping().transform(X)


def test_columns_of_hidden_states_have_the_names_of_the_graph(X):
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = ll.LocalCLGrouping().set_output(transform="pandas").fit(frame)
    names = list(model.graph_.labels[6:])
    assert model.get_feature_names_out().tolist() == names
    assert list(model.transform(frame).columns) == names
    steps = make_pipeline(StandardScaler(), ll.LocalCLGrouping()).fit(frame)
    assert steps.get_feature_names_out().tolist() == names
    assert steps.transform(frame).shape == (400, len(names))


def test_hidden_nodes_of_three_states_give_two_named_columns_each():
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 3, size=(800, 1))
    noise = rng.integers(0, 3, size=(800, 4))
    letters = np.array(list("xyz"))[np.where(rng.random((800, 4)) < 0.8, hidden, noise)]
    frame = pd.DataFrame(letters, columns=list("abcd"))
    model = ll.LocalCLGrouping().set_output(transform="pandas").fit(frame)
    assert model.graph_.n_hidden == 1
    assert list(model.transform(frame).columns) == ["h1_1", "h1_2"]


def test_a_second_fit_forgets_the_names_of_the_first(X):
    model = ll.LocalCLGrouping().fit(pd.DataFrame(X, columns=list("abcdef"))).fit(X)
    assert not hasattr(model, "feature_names_in_")


def test_thresholds_can_be_chosen_by_the_likelihood_of_kept_rows(X):
    search = GridSearchCV(ll.LocalCLGrouping(), {"tau": [0.0, 9.0]}, cv=2).fit(X)
    model = search.best_estimator_
    rows = ll.Observations.from_array(X)
    assert model.score(X) == pytest.approx(model.model_.log_likelihood(rows).mean())
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_no_setting_is_advised_that_the_estimator_lacks(X):
    constant = np.column_stack([X, np.ones(len(X))])
    with pytest.raises(ll.DataError, match=r"is constant\. Drop it") as caught:
        ll.LocalCLGrouping().fit(constant)
    assert "on_degenerate" not in str(caught.value)
