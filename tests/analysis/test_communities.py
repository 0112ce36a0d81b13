from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from benchmarks.quality.groups import SAMPLES, bounded, linked, rotated_factors
from loopylatent.analysis.stability.groups import agreed, communities, groups
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample


@pytest.fixture(scope="module")
def three_factors():
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(600, 3))
    X = np.repeat(factors, 4, axis=1) + 0.8 * rng.normal(size=(600, 12))
    return Observations.from_array(X, names=[f"{f}{k}" for f in "abc" for k in range(4)])


def truth(names):
    return {name: name[0] for name in names}


def test_groups_find_three_factors_without_knowing_their_number(three_factors):
    found = groups(three_factors, n_resamples=20)
    assert found.n_groups == 3
    assert found.agreement(truth(found.names)) == 1.0
    assert found.n_failed == 0
    assert found.together[0, 1] > 0.8 > found.together[0, 5]


def test_groups_of_distances_alone_find_them_too(three_factors):
    found = groups(information_distances(three_factors), n_resamples=20)
    assert found.agreement(truth(found.names)) == 1.0


def test_groups_follow_their_seed(three_factors):
    first, second = (groups(three_factors, n_resamples=5, seed=7) for _ in range(2))
    assert np.array_equal(first.together, second.together)
    assert not np.array_equal(first.together, groups(three_factors, n_resamples=5, seed=8).together)


def test_groups_report_progress_and_can_be_stopped(three_factors):
    seen = []
    groups(three_factors, n_resamples=3, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == ((0, 3), (3, 3))


def test_failed_resamples_are_counted_and_not_fatal():
    # with 6 rows a resample is often constant in a rare column
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    X[:, 0] = [0, 0, 0, 0, 0, 1]
    found = groups(Observations.from_array(X), n_resamples=20)
    assert 0 <= found.n_failed < 20


def test_groups_need_to_know_the_precision_of_distances():
    D = DistanceMatrix.from_array([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    with pytest.raises(DataError, match="n_samples"):
        groups(D)
    with pytest.raises(DataError, match="too small"):
        groups(D, n_resamples=1)


def test_communities_are_numbered_by_size_and_leave_hidden_nodes_out():
    edges = [(0, 5), (1, 5), (2, 5), (3, 6), (4, 6), (5, 6)]
    lengths = [0.1, 0.1, 0.1, 0.1, 0.1, 3.0]
    found = communities(LatentGraph.build(list("abcde"), 2, edges, lengths))
    assert found.as_dict() == {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1}


def test_agreement_is_the_adjusted_rand_index_over_columns_with_a_known_group(three_factors):
    D = information_distances(three_factors)
    found = communities(learn(D, LearnSettings(default_thresholds(D))).graph)
    known = {name: group for name, group in truth(found.names).items() if name != "a0"}
    labels = [found.as_dict()[name] for name in known]
    assert found.agreement(known) == adjusted_rand_score(list(known.values()), labels)
    with pytest.raises(DataError, match="Fewer than two"):
        found.agreement({"a0": "a"})


@pytest.mark.parametrize(("sample", "at_least"), [("bfi25", 0.7), ("holzinger24", 0.75)])
def test_known_groups_of_the_bundled_questionnaires_are_recovered(sample, at_least):
    data = load_sample(sample)
    assert groups(data.observations).agreement(data.groups) > at_least


@given(st.integers(0, 10_000), st.integers(3, 12))
def test_the_hierarchy_is_cut_where_modularity_is_largest(seed, n_columns):
    rng = np.random.default_rng(seed)
    partitions = rng.integers(3, size=(30, n_columns))
    partitions[:20] = partitions[0]
    together = np.mean([labels[:, None] == labels for labels in partitions], axis=0)
    weights = together**4
    np.fill_diagonal(weights, 0.0)
    graph = nx.from_numpy_array(weights)
    merges = linkage(squareform(1 - together), "average")

    def modularity(labels):
        parts = [set(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)]
        return nx.community.modularity(graph, parts)

    best = max(modularity(fcluster(merges, k, "maxclust")) for k in range(1, n_columns + 1))
    assert modularity(agreed(together)) == pytest.approx(best, abs=1e-9)


def test_columns_that_are_never_together_stay_alone():
    assert agreed(np.eye(4)).tolist() == [0, 1, 2, 3]


NUMERIC = [name for name in SAMPLES if name != "mammals47_dna"]
"""Samples with known groups on which factor analysis is possible."""


@pytest.mark.long
def test_groups_are_ahead_of_methods_that_know_their_number():
    """On average over the samples; docs/guide/groups.md has every one, and where it is behind."""
    ours, average, factors = [], [], []
    for name in NUMERIC:
        data = load_sample(name)
        obs, known = data.observations, data.groups
        n_known = len(set(known.values()))
        columns = [k for k, column in enumerate(obs.names) if column in known]
        expected = [known[obs.names[k]] for k in columns]
        linked_ = linked(bounded(information_distances(obs)), "average", n_known)
        ours.append(groups(obs).agreement(known))
        average.append(adjusted_rand_score(expected, linked_[columns]))
        factors.append(adjusted_rand_score(expected, rotated_factors(obs, n_known)[columns]))
    assert np.mean(ours) > np.mean(average)
    assert np.mean(ours) > np.mean(factors)


@pytest.mark.parametrize("threads", [1, 5])
def test_groups_do_not_depend_on_the_number_of_threads(monkeypatch, threads):
    rng = np.random.default_rng(0)
    x = np.repeat(rng.normal(size=(80, 3)), 3, axis=1) + rng.normal(size=(80, 9))
    obs = Observations.from_array(x)
    expected = groups(obs, n_resamples=6)
    monkeypatch.setattr("loopylatent.compute.workers.os.cpu_count", lambda: threads)
    found = groups(obs, n_resamples=6)
    assert found.together.tobytes() == expected.together.tobytes()
    assert np.array_equal(found.labels, expected.labels)
