"""The learner with a penalty."""

from __future__ import annotations

from types import SimpleNamespace

import networkx as nx
import numpy as np
import pytest

import loopylatent as ll
from loopylatent.learning.regularized import (
    RegularizedResult,
    _Run,
    learn_regularized,
)
from loopylatent.learning.trace import Edge, InitialStep, VisitStep, replay
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.synthetic.families import latent_tree


@pytest.fixture(scope="module")
def truth():
    """Four hidden nodes with three columns each: they improve the BIC at 3,000 rows."""
    return latent_tree(n_hidden=4, n_observed_inner=0, leaves=3, lengths=(0.3, 0.5), seed=2)


@pytest.fixture(scope="module")
def rows(truth):
    return truth.sample(3000, seed=1)


@pytest.fixture(scope="module")
def D(rows):
    return ll.information_distances(rows)


@pytest.fixture(scope="module")
def result(D, rows):
    return ll.learn(D, Lambda=0.02, obs=rows, regularize="bic")


def test_hidden_nodes_that_improve_the_bic_are_found(truth, result):
    assert isinstance(result, RegularizedResult)
    assert result.graph.n_hidden == 4
    assert ll.structure_error(result.graph, truth.graph).upper == 0


def test_the_bic_is_better_than_that_of_the_initial_graph(result, rows):
    plain = ll.fit_parameters(result.initial_graph, rows)
    assert result.model.train_bic > plain.train_bic
    gains = [one.gain for one in result.replacements if one.accepted]
    assert all(gain > 0 for gain in gains)
    assert result.model.train_bic - plain.train_bic == pytest.approx(sum(gains), abs=1.0)
    best = max(value for _, value in result.bic_by_tau)
    assert result.model.train_bic == pytest.approx(best, abs=0.5)
    assert [tau for tau, _ in result.bic_by_tau] == [0.1, 0.2, 0.4]


def test_every_replacement_shows_its_gain(result):
    taken = [one for one in result.replacements if one.accepted]
    rejected = [one for one in result.replacements if not one.accepted]
    assert len(taken) == result.n_visits
    assert len({one.node for one in taken}) == len(taken)
    assert all(one.reason == "taken" for one in taken)
    assert all(one.gain <= 0 for one in rejected)
    rounds = [one.round for one in result.replacements]
    assert rounds == sorted(rounds)


def test_the_trace_replays_to_the_graph(result):
    assert isinstance(result.trace[0], InitialStep)
    assert replay(result.trace) == result.graph
    visited = [step.node for step in result.trace if isinstance(step, VisitStep)]
    assert visited == [one.node for one in result.replacements if one.accepted]
    assert all(result.graph.degrees[h] >= 3 for h in result.graph.hidden_nodes)


def test_independent_columns_get_no_hidden_nodes():
    rng = np.random.default_rng(0)
    obs = ll.Observations.from_array((rng.random((1000, 8)) < 0.4).astype(float))
    D = ll.information_distances(obs)
    assert ll.learn(D, tau=0.1, Lambda=0.0).graph.n_hidden > 0
    assert ll.learn(D, tau=0.1, Lambda=0.0, obs=obs, regularize="bic").graph.n_hidden == 0


def test_max_hidden_is_kept(D, rows):
    found = ll.learn(D, tau=0.1, Lambda=0.02, obs=rows, regularize="bic", max_hidden=2)
    assert found.graph.n_hidden <= 2
    assert any(one.reason == "too many hidden nodes" for one in found.replacements)
    none = ll.learn(D, tau=0.1, obs=rows, regularize="bic", max_hidden=0)
    assert none.graph.n_hidden == 0
    assert none.graph.digest == none.initial_graph.digest


def test_it_gives_the_same_twice(D, rows, result):
    again = ll.learn(D, Lambda=0.02, obs=rows, regularize="bic")
    assert again.graph == result.graph
    assert again.model.digest == result.model.digest
    assert again.replacements == result.replacements


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_it_does_not_depend_on_the_number_of_threads(D, rows, monkeypatch, threads):
    few = {"obs": rows, "regularize": "bic", "max_hidden": 3, "Lambda": 0.02, "tau": 0.1}
    expected = ll.learn(D, **few)
    monkeypatch.setattr("loopylatent.learning.regularized.os.cpu_count", lambda: threads)
    found = ll.learn(D, **few)
    assert found.graph == expected.graph
    assert found.replacements == expected.replacements
    assert found.model.digest == expected.model.digest


def test_gaussian_columns():
    rng = np.random.default_rng(4)
    hidden = rng.normal(size=(800, 3)) @ np.array([[1, 0.7, 0], [0, 0.7, 0.6], [0, 0, 0.8]])
    X = np.repeat(hidden, 3, axis=1) + 0.7 * rng.normal(size=(800, 9))
    obs = ll.Observations.from_array(X)
    D = ll.information_distances(obs)
    found = ll.learn(D, Lambda=0.02, obs=obs, regularize="bic")
    assert found.graph.n_hidden == 3
    assert found.model.kind == "gaussian"
    assert found.model.train_bic > ll.fit_parameters(found.initial_graph, obs).train_bic


def test_categorical_columns_with_missing_values():
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 3, (2500, 2))
    codes = np.where(rng.random((2500, 6)) < 0.85, np.repeat(hidden, 3, axis=1), 9)
    codes = np.where(codes == 9, rng.integers(0, 3, (2500, 6)), codes).astype(float)
    values = np.array(["x", "y", "z"], dtype=object)[codes.astype(int)]
    values[rng.random(values.shape) < 0.03] = None
    obs = ll.Observations.from_array(values)
    D = ll.information_distances(obs)
    assert D.metric == "determinant"
    found = ll.learn(D, r=20.0, Lambda=0.01, tau=0.1, obs=obs, regularize="bic")
    assert found.graph.n_hidden == 2
    assert found.model.kind == "discrete"


def test_it_reports_and_can_be_stopped(D, rows):
    settings = LearnSettings(Thresholds(D.r_max, 0.02, 0.1))
    seen = []
    learn_regularized(D, rows, settings, progress=lambda done, known: seen.append((done, known)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert all(done <= known for done, known in seen)
    assert seen[-1][0] == seen[-1][1]

    class Enough(Exception):
        pass

    def stop(done: int, _: int) -> None:
        if done >= 2:
            raise Enough

    with pytest.raises(Enough):
        learn_regularized(D, rows, settings, progress=stop)


def test_unsuitable_input_is_rejected(D, rows, truth):
    with pytest.raises(ll.DataError, match="needs the rows"):
        ll.learn(D, regularize="bic")
    with pytest.raises(ll.ThresholdError, match="Unknown regularize = 'aic'"):
        ll.learn(D, obs=rows, regularize="aic")
    with pytest.raises(ll.ThresholdError, match="max_hidden"):
        ll.learn(D, obs=rows, regularize="bic", max_hidden=-1)
    with pytest.raises(ll.InferenceError, match="lacks"):
        ll.learn(D, obs=rows.select(list(rows.names[:5])), regularize="bic")
    with pytest.raises(ll.DataError, match="does not belong"):
        ll.learn(D, obs=rows, regularize="bic", start=truth.graph)


def test_a_replacement_touches_what_hidden_nodes_connect_to_it():
    """A chain: column 0, the hidden nodes 6, 7, 8, and then the columns 1 to 5."""
    chain = nx.path_graph([0, 6, 7, 8, 1, 2, 3, 4, 5])
    run = object.__new__(_Run)
    run._workspace = SimpleNamespace(neighbours=dict(chain.adj), is_hidden=lambda node: node > 5)
    step = SimpleNamespace(added=(Edge(0, 6, 0.1),), neighbourhood=(0, 9))  # node 9 has gone
    assert run._touched(step, [1, 2, 3, 4, 5]) == {1, 2}
