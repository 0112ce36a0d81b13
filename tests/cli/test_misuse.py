"""Wrong arguments raise an error of one line that says what to pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import loopylatent as ll


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        rng.normal(size=(200, 1)) + rng.normal(size=(200, 5)), columns=list("abcde")
    )


@pytest.mark.parametrize("call", [ll.learn, ll.sweep, ll.edge_density, ll.default_thresholds])
def test_a_table_in_the_place_of_distances_is_rejected_with_the_remedy(call, frame):
    for table in (frame, frame.to_numpy(), ll.Observations.from_frame(frame)):
        with pytest.raises(ll.DistanceError, match=r"use information_distances\(table\)"):
            call(table)
    with pytest.raises(ll.DistanceError, match=r"information_distances\(read_table\(path\)\)"):
        call("answers.csv")


def test_the_remedy_for_a_frame_in_the_place_of_observations_works(frame):
    result = ll.learn(ll.information_distances(frame))
    model = ll.fit_parameters(result.graph, ll.Observations.from_frame(frame))
    for call in (
        lambda rows: ll.fit_parameters(result.graph, rows),
        lambda rows: ll.groups(rows, n_resamples=2),
        lambda rows: ll.learn(ll.information_distances(frame), obs=rows, regularize="bic"),
        model.scores,
        model.hidden_posteriors,
        model.log_likelihood,
    ):
        with pytest.raises(ll.DataError, match=r"use Observations\.from_frame\(table\)"):
            call(frame)
        assert call(ll.Observations.from_frame(frame)) is not None


def test_rows_of_other_columns_are_rejected_by_their_names(frame):
    result = ll.learn(ll.information_distances(frame))
    model = ll.fit_parameters(result.graph, ll.Observations.from_frame(frame))
    others = ll.Observations.from_frame(frame.rename(columns={"e": "z"}))
    for call in (model.scores, model.hidden_posteriors, model.log_likelihood):
        with pytest.raises(ll.LoopyLatentError, match="lacks columns 'e'"):
            call(others)


def test_a_result_and_its_graph_are_told_apart(frame):
    result = ll.learn(ll.information_distances(frame))
    obs = ll.Observations.from_frame(frame)
    with pytest.raises(ll.DataError, match=r"not a LearnResult; use result\.graph"):
        ll.fit_parameters(result, obs)
    with pytest.raises(ll.DataError, match=r"not a LatentGraph; use learn\(D\)"):
        ll.export(result.graph, "graph.html")


def test_a_limit_without_effect_is_rejected(frame):
    with pytest.raises(ll.ThresholdError, match="regularize='bic'"):
        ll.learn(ll.information_distances(frame), max_hidden=3)


@pytest.mark.parametrize("seed", [1.5, -1, "first", True])
def test_an_invalid_seed_is_rejected_before_any_work(frame, seed):
    obs = ll.Observations.from_frame(frame)
    graph = ll.learn(ll.information_distances(obs)).graph
    model = ll.fit_parameters(graph, obs)
    words = ll.Observations.from_frame((frame > 0).astype(int))
    for call in (
        lambda: model.scores(obs, seed=seed),
        lambda: ll.communities(graph, seed=seed),
        lambda: ll.groups(obs, n_resamples=2, seed=seed),
        lambda: ll.information_distances(obs, seed=seed),
        lambda: ll.stability(obs, n_resamples=2, seed=seed),
        lambda: ll.fit_lda(words, 2, seed=seed),
    ):
        with pytest.raises(ll.ThresholdError, match=r"^seed = .* is not a whole number of at "):
            call()


def test_a_whole_number_of_numpy_is_a_seed(frame):
    obs = ll.Observations.from_frame(frame)
    model = ll.fit_parameters(ll.learn(ll.information_distances(obs)).graph, obs)
    assert model.scores(obs, seed=np.int64(3)).perp_ll == model.scores(obs, seed=3).perp_ll
