"""Very many columns: lists of near neighbours hold what the full matrix holds."""

from __future__ import annotations

import importlib
import math
import time

import networkx as nx
import numpy as np
import pytest
from helpers.word_tables import both, tables
from hypothesis import example, given, settings, strategies as st
from scipy import sparse

import loopylatent as ll
from loopylatent.distances.sparse import SparseDistances, sparse_distances
from loopylatent.errors import DataError, DistanceError, ThresholdError
from loopylatent.learning.initial_graph import default_thresholds, initial_graph, loop_radius


def as_matrix(D: SparseDistances):
    matrix = np.full((D.n_columns, D.n_columns), np.nan)
    for column in range(D.n_columns):
        mine = slice(D.start[column], D.start[column + 1])
        matrix[column, D.other[mine]] = D.length[mine]
    return matrix


@given(obs=tables(), share=st.floats(0.05, 1.0))
@settings(max_examples=60, deadline=None)
def test_lists_hold_exactly_the_short_distances_of_the_full_matrix(obs, share):
    try:
        D, lists = both(obs, share)
    except DistanceError:
        return
    assert lists.names == D.names
    short = (D.values <= lists.cutoff) & ~np.eye(D.n_columns, dtype=bool)
    assert np.array_equal(as_matrix(lists), np.where(short, D.values, np.nan), equal_nan=True)
    left, right = (index.ravel() for index in np.indices(D.values.shape))
    assert np.array_equal(lists.columns.distances(left, right)[left != right],
                          D.values.ravel()[left != right])  # fmt: skip


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(60, 300), most=st.sampled_from([1, 7]))
@example(seed=0, n=80, most=1)
@settings(max_examples=40, deadline=None)
def test_fractional_weights_give_the_bits_of_the_full_matrix(seed, n, most):
    """Two columns are constant in the rows that count: they are far from each other."""
    rng = np.random.default_rng(seed)
    x = (rng.random((n, 8)) < 0.4) * rng.integers(1, most + 1, (n, 8)).astype(float)
    x[:, 4:6] = 1.0
    x[0, 4:6] = 0.0
    weights = rng.random(n)
    weights[0] = 0.0
    obs = ll.Observations.from_array(sparse.csr_array(x)).with_weights(weights)
    D, lists = ll.information_distances(obs), sparse_distances(obs, cutoff=9.0)
    assert np.isinf(D.values[4, 5])
    assert np.isnan(as_matrix(lists)[4:6]).all()
    left, right = np.triu_indices(8, 1)
    for one, other in ((left, right), (right, left)):
        assert np.array_equal(lists.columns.distances(one, other), D.values[one, other])


@pytest.mark.parametrize("threads", [1, 5])
def test_near_pairs_and_their_graph_do_not_depend_on_blocks_or_threads(monkeypatch, threads):
    rng = np.random.default_rng(1)
    topics = rng.random((300, 10)) < 0.2
    x = (rng.random((300, 60)) < 0.05 + 0.4 * np.repeat(topics, 6, axis=1)).astype(float)
    obs = ll.Observations.from_array(sparse.csr_array(x)).with_weights(rng.random(300))
    expected = sparse_distances(obs, cutoff=3.0)
    graph = ll.learn(expected, 2.5).graph
    module = importlib.import_module("loopylatent.distances.sparse")
    monkeypatch.setattr(module, "COLUMNS_AT_A_TIME", 7)
    balls = importlib.import_module("loopylatent.learning.initial_graph")
    monkeypatch.setattr(balls, "PARALLEL_FROM", 2)
    monkeypatch.setattr("os.cpu_count", lambda: threads)
    found = sparse_distances(obs, cutoff=3.0)
    assert found.digest == expected.digest
    assert initial_graph(found, 2.5) == initial_graph(expected, 2.5)
    assert ll.learn(found, 2.5).graph == graph


def test_columns_that_never_meet_can_be_near():
    """Two words in a tenth of the rows each, never together: their correlation is -0.11."""
    n = 10_000
    first, second = np.arange(n) < n // 10, np.arange(n) >= n - n // 10
    rare = np.arange(n) % 100 == 0
    table = sparse.csr_array(np.column_stack([first, second, rare, first ^ rare]).astype(float))
    lists = sparse_distances(table, cutoff=3.0)
    assert math.isclose(as_matrix(lists)[0, 1], -math.log(1 / 9))
    assert np.isnan(as_matrix(sparse_distances(table, cutoff=2.0))[0, 1])


def test_the_cutoff_is_the_noise_floor():
    obs = ll.Observations.from_array(sparse.csr_array(np.eye(3).repeat(40, axis=0)))
    lists = sparse_distances(obs)
    assert lists.cutoff == lists.noise_floor == lists.r_max == math.log(math.sqrt(120) / 2)


def test_thresholds_come_from_the_spanning_forest():
    rng = np.random.default_rng(4)
    table = sparse.csr_array((rng.random((400, 12)) < 0.3).astype(float))
    D, lists = both(ll.Observations.from_array(table), 1.0)
    edges = nx.minimum_spanning_tree(nx.from_numpy_array(D.values)).edges(data="weight")
    lengths = sorted(length for *_, length in edges)
    assert np.allclose(lists.spanning_lengths, lengths)
    assert default_thresholds(lists).tau == default_thresholds(D).tau
    assert loop_radius(lists) == pytest.approx(loop_radius(D))
    assert lists.r_min == D.r_min
    nearest = (D.values + np.diag(np.full(12, np.inf))).min(axis=0)
    assert default_thresholds(lists).r == np.quantile(nearest, 0.95)
    assert lists.smallest == D.smallest


def test_bad_input_gets_one_clear_line():
    rng = np.random.default_rng(0)
    table = sparse.csr_array((rng.random((100, 6)) < 0.3).astype(float))
    lists = sparse_distances(table, cutoff=2.0)
    with pytest.raises(ThresholdError, match=r"beyond the cut-off 2 .* cutoff=2\.5"):
        ll.learn(lists, r=2.5)
    with pytest.raises(
        DistanceError, match="must be above 0 and finite; the noise floor of 100 rows"
    ):
        sparse_distances(table, cutoff=-1)
    with pytest.raises(DistanceError, match="No two columns are within"):
        sparse_distances(table, cutoff=1e-6)
    twice = sparse.hstack([table, table[:, [2]]]).tocsr()
    with pytest.raises(DistanceError, match="'x3' and 'x7' determine each other"):
        sparse_distances(twice)
    assert sparse_distances(twice, on_degenerate="drop").names == lists.names
    with pytest.raises(DataError, match="needs all distances"):
        ll.learn(lists, obs=ll.Observations.from_array(table), regularize="bic")
    with pytest.raises(DataError, match="values are missing"):
        sparse_distances(
            ll.Observations.from_array([[0, 1, np.nan], [1, 0, 1], [0, 0, 0], [1, 1, 1]])
        )


def test_too_many_pairs_are_rejected_with_a_cutoff_that_fits(monkeypatch):
    rng = np.random.default_rng(0)
    table = sparse.csr_array((rng.random((300, 40)) < 0.3).astype(float))
    module = importlib.import_module("loopylatent.distances.sparse")
    monkeypatch.setattr(module, "MOST_PAIRS", 200)
    monkeypatch.setattr(module, "COLUMNS_AT_A_TIME", 5)
    with pytest.raises(DistanceError, match="More than 200 pairs") as caught:
        sparse_distances(table, cutoff=9.0)
    fits = float(str(caught.value).split("cutoff of about ")[1].split(",")[0])
    assert sparse_distances(table, cutoff=fits).n_pairs <= 200


def test_work_runs_ahead_by_a_few_blocks_alone(monkeypatch):
    module = importlib.import_module("loopylatent.distances.sparse")
    monkeypatch.setattr(module, "COLUMNS_AT_A_TIME", 5)
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    table = sparse.csr_array((np.random.default_rng(0).random((50, 300)) < 0.3).astype(float))
    original, begun, at_first = module.SparseColumns.near, [], []

    def near(self, columns, cutoff):
        begun.append(1)
        return original(self, columns, cutoff)

    def progress(*_):
        time.sleep(0.0 if at_first else 0.2)  # time for the threads to run ahead
        at_first.append(len(begun))

    monkeypatch.setattr(module.SparseColumns, "near", near)
    sparse_distances(table, progress=progress, on_degenerate="drop")
    assert at_first[0] <= 1 + 2 * 2
    assert at_first[-1] == 60


def test_columns_far_from_zero_are_rejected():
    rng = np.random.default_rng(0)
    x = 1e9 + rng.normal(size=(300, 1)) + rng.normal(size=(300, 4))
    for values in (x, x - 1e9 + 3e5):  # no digit is left, or a few of them
        for distances in (sparse_distances, ll.information_distances):
            with pytest.raises(DistanceError, match=r"'x1' differ too little .* a dense array"):
                distances(sparse.csr_array(values))
    flags = (rng.random((60, 4)) < 0.5).astype(float)
    flags[:, 3] = np.arange(60) > 0
    obs = ll.Observations.from_array(sparse.csr_array(flags))
    D = ll.information_distances(obs.with_weights(flags[:, 3]))
    assert np.isinf(D.values[3, :3]).all()
    near = x - 1e9 + 1000
    found = ll.information_distances(sparse.csr_array(near)).values
    assert np.allclose(found, ll.information_distances(near).values, rtol=1e-6)


def test_the_digest_knows_the_rows_behind_far_pairs():
    rng = np.random.default_rng(0)
    x = (rng.random((500, 20)) < 0.2).astype(float)
    x[:, 1] = np.where(rng.random(500) < 0.1, 1 - x[:, 0], x[:, 0])
    other = x.copy()
    other[:, 19] = rng.permutation(x[:, 19])
    found = [sparse_distances(sparse.csr_array(one), cutoff=0.5) for one in (x, other, x)]
    assert np.array_equal(found[0].length, found[1].length)
    assert found[0].digest == found[2].digest != found[1].digest


@pytest.mark.parametrize("copies", [2, 3])
def test_too_few_columns_that_differ_are_rejected_as_in_the_full_matrix(copies):
    rng = np.random.default_rng(0)
    x = np.repeat((rng.random((200, 1)) < 0.3).astype(float), 3, axis=1)
    x[:, copies:] = x[:, copies:] + rng.random((200, 3 - copies)) > 0.8
    said = []
    for distances in (sparse_distances, ll.information_distances):
        with pytest.raises(DistanceError, match="at least 3 different ones") as caught:
            distances(sparse.csr_array(x), on_degenerate="drop")
        said.append(str(caught.value))
    assert said[0] == said[1]


def test_progress_counts_columns_and_can_stop():
    rng = np.random.default_rng(0)
    table = sparse.csr_array((rng.random((100, 1000)) < 0.1).astype(float))
    seen = []
    sparse_distances(table, on_degenerate="drop", progress=lambda *now: seen.append(now))
    assert seen[-1] == (1000, 1000)
    assert seen == sorted(seen)

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sparse_distances(table, on_degenerate="drop", progress=stop)


def test_observations_that_are_not_sparse_give_the_same_near_pairs():
    values = (np.random.default_rng(1).random((200, 8)) < 0.3).astype(float)
    full = sparse_distances(ll.Observations.from_array(values), cutoff=4.0)
    kept = sparse_distances(sparse.csr_array(values), cutoff=4.0)
    assert full.length.tolist() == kept.length.tolist()
