"""Sweeps: every point is what a fresh learn and a fresh fit give, and nothing is done twice."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest
from helpers.strategies import distance_matrices
from hypothesis import given, settings, strategies as st

import loopylatent as ll
from loopylatent.analysis.sweep import points as points_module, scores as scores_module
from loopylatent.analysis.sweep.points import (
    along_r,
    grid,
    halving_order,
    holds_all,
    iter_points,
    over_grid,
    radii,
)
from loopylatent.analysis.sweep.scores import Failed, PointScores, Split, iter_scores
from loopylatent.cli.main import main
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.workers import Stopped, as_they_finish
from loopylatent.errors import DataError, ThresholdError
from loopylatent.learning.initial_graph import edge_density, initial_graph
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Method, Thresholds
from loopylatent.synthetic.families import latent_cycle, latent_tree

METHODS = st.sampled_from(get_args(Method))


class Enough(Exception):
    """Raised by a progress callback to stop a sweep."""


def counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str) -> list[Any]:
    """Let every call of a function leave its arguments in a list."""
    calls: list[Any] = []
    original = getattr(module, name)

    def noted(*arguments: Any, **named: Any) -> Any:
        calls.append(arguments)
        return original(*arguments, **named)

    monkeypatch.setattr(module, name, noted)
    return calls


def some_radii(D: ll.DistanceMatrix, shares: list[float]) -> list[float]:
    return [D.smallest + share * (D.r_max - D.smallest) for share in shares]


@pytest.fixture(scope="module")
def ring() -> ll.Observations:
    return latent_cycle(girth=8, seed=1).sample(600, seed=1)


# Points ------------------------------------------------------------------------------------


@given(
    distance_matrices(max_columns=10),
    METHODS,
    st.lists(st.floats(0, 1.1), min_size=1, max_size=8),
    st.floats(0, 0.2),
    st.floats(0, 1),
    st.integers(1, 3),
)
@settings(max_examples=40)
def test_every_point_equals_a_fresh_learn_there(D, method, shares, Lambda, tau, threads):
    wanted = along_r(
        LearnSettings(Thresholds(0.0, Lambda, tau), method, seed=3), some_radii(D, shares)
    )
    found = {point.settings: point for point in iter_points(D, wanted, threads=threads)}
    assert set(found) == set(wanted)
    for one in wanted:
        fresh = learn(D, one)
        point = found[one]
        assert point.graph == fresh.graph
        assert (point.n_visits, point.n_stuck, point.n_capped) == (
            fresh.n_visits,
            fresh.n_stuck,
            fresh.n_capped,
        )
        assert point.n_initial_edges == fresh.initial_graph.n_edges
        assert point.n_cycles == point.n_edges - fresh.graph.n_nodes + point.n_components


@given(distance_matrices(max_columns=9), METHODS)
@settings(max_examples=15)
def test_a_grid_holds_what_a_fresh_learn_gives(D, method):
    margins, lengths = [0.0, 0.05], [0.0, 0.3]
    found = ll.sweep(D, D.r_max, margins, lengths, method=method)
    assert len(found.points) == 4
    for point in found.points:
        given_there = point.thresholds
        fresh = ll.learn(D, given_there.r, given_there.Lambda, given_there.tau, method=method)
        assert point.graph == fresh.graph


def test_equal_initial_graphs_are_learned_once(ring, monkeypatch):
    D = ll.information_distances(ring)
    values = np.linspace(D.r_min, D.r_max, 60)
    calls = counted(monkeypatch, points_module, "learn")
    found = ll.sweep(D, values)
    different = {initial_graph(D, r).digest for r in values}
    assert len(found.points) == 60
    assert len(calls) == len(different) < 60


def test_what_is_known_is_not_learned_again(ring, monkeypatch):
    D = ll.information_distances(ring)
    known = ResultCache()
    first = ll.sweep(D, most=10, known=known)
    calls = counted(monkeypatch, points_module, "learn")
    again = ll.sweep(D, most=10, known=known)
    assert calls == []
    assert [p.graph for p in again.points] == [p.graph for p in first.points]
    between = [(a.thresholds.r + b.thresholds.r) / 2 for a, b in pairwise(first.points)]
    more = ll.sweep(D, between, known=known)
    new = {initial_graph(D, r).digest for r in between}
    new -= {initial_graph(D, p.thresholds.r).digest for p in first.points}
    assert len(calls) == len(new)
    assert [p.graph for p in more.points] == [ll.learn(D, r).graph for r in between]


def test_a_threshold_that_the_method_does_not_read_is_not_learned_again(ring, monkeypatch):
    D = ll.information_distances(ring)
    calls = counted(monkeypatch, points_module, "learn")
    found = ll.sweep(D, D.r_max, [0.0, 0.01, 0.02], [0.1], method="nj")
    assert len(found.points) == 3
    assert len(calls) == 1


def test_a_radius_below_the_smallest_distance_is_rejected(ring):
    D = ll.information_distances(ring)
    with pytest.raises(ThresholdError, match="below the smallest distance"):
        ll.sweep(D, [D.smallest / 2, D.r_max])


@pytest.mark.parametrize("values", [[], [[1.0, 2.0]], "wide", [1.0, "x"]])
def test_values_that_are_not_numbers_are_rejected(ring, values):
    with pytest.raises(ThresholdError):
        ll.sweep(ll.information_distances(ring), values)


# Which radii -------------------------------------------------------------------------------


@given(distance_matrices(), st.integers(2, 40))
def test_radii_are_breakpoints_and_at_most_as_many_as_wanted(D, most):
    curve = edge_density(D)
    chosen = radii(curve, most)
    assert len(chosen) <= most
    assert (np.diff(chosen) > 0).all()
    assert chosen[-1] == D.r_max
    assert np.isin(chosen[:-1], [*curve.r, D.r_min]).all()
    if len(chosen) > 1:
        assert chosen[0] == D.r_min


@given(distance_matrices(max_columns=9))
@settings(max_examples=30)
def test_with_room_for_all_no_initial_graph_is_left_out(D):
    chosen = radii(edge_density(D), 10_000)
    known = {initial_graph(D, r).digest for r in chosen}
    met = {initial_graph(D, r).digest for r in np.linspace(D.r_min, D.r_max, 80)}
    assert met <= known


def test_where_there_is_no_room_the_chosen_radii_leave_no_large_gap():
    D = ll.information_distances(ll.load_sample("bfi25").observations)
    curve = edge_density(D)
    chosen = radii(curve, 40)
    assert not holds_all(curve, chosen)
    assert holds_all(curve, radii(curve, 10_000))
    assert np.diff(chosen).max() <= 2 * (D.r_max - D.r_min) / 40 + np.diff(curve.r).max()
    changes = np.sort(curve.intervals[:, 2:].ravel())
    between = np.diff(np.searchsorted(changes, chosen, "right"))
    total = np.searchsorted(changes, D.r_max, "right") - np.searchsorted(changes, D.r_min, "right")
    assert between.max() <= 2 * total / 39 + 4


def test_a_sweep_of_one_radius_is_rejected():
    D = ll.DistanceMatrix.from_array([[0, 1, 5], [1, 0, 4], [5, 4, 0]])
    with pytest.raises(ThresholdError, match="most = 1"):
        radii(edge_density(D), 1)


@given(st.integers(0, 200))
def test_halving_order_names_everything_once_and_begins_with_the_ends(n):
    order = halving_order(n)
    assert sorted(order) == list(range(n))
    if n > 1:
        assert order[:2] == (0, n - 1)
    for k in range(2, n):  # never two neighbours more than twice as far apart as need be
        seen = sorted(order[: k + 1])
        assert max(np.diff(seen)) <= 2 * math.ceil((n - 1) / max(1, k / 2))


def test_the_grid_holds_the_default_rule(ring):
    D = ll.information_distances(ring)
    default = ll.default_thresholds(D)
    margins, lengths = grid(D)
    assert default.Lambda in margins
    assert default.tau in lengths
    assert len(over_grid(LearnSettings(default), margins, lengths)) == 64


# Scores ------------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5]), st.floats(0.3, 1.0), st.booleans())
@settings(max_examples=8)
def test_scores_equal_those_of_a_fresh_learn_and_a_fresh_fit(seed, share, at, gaussian):
    truth = latent_tree(n_hidden=3, n_observed_inner=1, leaves=2, seed=seed % 7)
    obs = truth.sample(240, seed=seed)
    if gaussian:
        noise = np.random.default_rng(seed).normal(size=obs.values.shape)
        obs = ll.Observations.from_array(obs.values + noise)
    D = ll.information_distances(obs)
    r = D.r_min + at * (D.r_max - D.r_min)
    found = ll.sweep(D, [r, D.r_max], obs=obs, test_share=share, seed=seed, threads=2)
    order = np.random.default_rng(seed).permutation(obs.n_rows)
    n_test = round(share * obs.n_rows)
    train, test = obs.take(np.sort(order[n_test:])), obs.take(np.sort(order[:n_test]))
    own = ll.information_distances(train)
    default = ll.default_thresholds(D)
    for point, scored in zip(found.points, found.scores, strict=True):
        fresh = ll.learn(own, point.thresholds.r, default.Lambda, default.tau, seed=seed)
        model = ll.fit_parameters(fresh.graph, train)
        assert isinstance(scored, PointScores)
        assert scored.graph == fresh.graph
        assert scored.test == model.scores(test, seed=seed)
        assert scored.converged == model.converged
        if model.kind != "gaussian":
            assert scored.train_row == pytest.approx(np.mean(model.log_likelihood(train)))
            assert scored.test_row == pytest.approx(np.mean(model.log_likelihood(test)))


def test_equal_graphs_are_fitted_once_and_known_ones_never_again(ring, monkeypatch):
    D = ll.information_distances(ring)
    split = Split.of(ring, D)
    calls = counted(monkeypatch, scores_module, "fit_parameters")
    wanted = along_r(LearnSettings(ll.default_thresholds(D)), np.linspace(D.r_min, D.r_max, 12))
    known = ResultCache()
    first = {one.settings: one for one in iter_scores(split, wanted, known=known)}
    different = {learn(split.D, one).graph for one in wanted}
    assert set(first) == set(wanted)
    assert len(calls) == len(different) < 12
    again = {one.settings: one for one in iter_scores(split, wanted, known=known)}
    assert again == first
    assert len(calls) == len(different)


def test_scores_do_not_depend_on_the_number_of_threads(ring):
    D = ll.information_distances(ring)
    one, three = (ll.sweep(D, most=5, obs=ring, threads=threads) for threads in (1, 3))
    assert one.scores == three.scores
    assert [p.graph for p in one.points] == [p.graph for p in three.points]


def test_settings_that_cannot_be_scored_are_reported_and_the_others_scored(ring):
    D = ll.information_distances(ring)
    split = Split.of(ring, D)
    wanted = along_r(LearnSettings(ll.default_thresholds(D)), [split.D.smallest / 2, D.r_max])
    below, tree = sorted(
        iter_scores(split, wanted), key=lambda scored: scored.settings.thresholds.r
    )
    assert isinstance(below, Failed)
    assert "below the smallest distance" in below.reason
    assert isinstance(tree, PointScores)


def test_a_table_of_mixed_kinds_gives_the_reason_for_every_setting(ring):
    frame = ring.to_frame()
    rng = np.random.default_rng(0)
    frame["number"] = rng.normal(size=len(frame)) + frame.iloc[:, 0].astype(float)
    obs = ll.Observations.from_frame(frame)
    found = ll.sweep(ll.information_distances(obs), most=3, obs=obs)
    assert all(isinstance(one, Failed) and "mixed" in one.reason for one in found.scores)
    assert found.to_frame()["failure"].str.contains("mixed").all()


def test_precomputed_distances_cannot_be_scored(ring):
    values = ll.information_distances(ring).values
    D = ll.DistanceMatrix.from_array(values, ring.names, n_samples=600)
    with pytest.raises(DataError, match="precomputed"):
        ll.sweep(D, obs=ring)


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, 0.0001])
def test_a_share_that_leaves_no_rows_is_rejected(ring, share):
    with pytest.raises(ll.LoopyLatentError):
        Split.of(ring, ll.information_distances(ring), share)


# Stopping ----------------------------------------------------------------------------------


def stop_after(n: int) -> Callable[[int, int], None]:
    def report(done: int, _: int) -> None:
        if done >= n:
            raise Enough

    return report


def test_a_stopped_sweep_keeps_what_is_done_and_goes_on_from_there(ring, monkeypatch):
    D = ll.information_distances(ring)
    known = ResultCache()
    arrived: list[Any] = []
    begun: list[int] = []
    stopped = threading.Event()

    def stop(done: int, _: int) -> None:
        if done >= 3:
            stopped.set()
            raise Enough

    def learn_some(*args: Any, **named: Any) -> Any:
        begun.append(1)
        if len(begun) > 4:  # otherwise all would be learned before the sweep is stopped
            stopped.wait(10)
        return learn(*args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(points_module, "learn", learn_some)
        with pytest.raises(Enough):
            ll.sweep(D, most=12, known=known, progress=stop, on_result=arrived.append, threads=1)
    assert 3 <= len(arrived) < 12
    calls = counted(monkeypatch, points_module, "learn")
    found = ll.sweep(D, most=12, known=known)
    assert len(found.points) == 12
    starts = {initial_graph(D, p.thresholds.r).digest for p in found.points}
    known_before = {initial_graph(D, p.thresholds.r).digest for p in arrived}
    assert len(calls) == len(starts - known_before) > 0
    for point in found.points:
        assert point.graph == learn(D, point.settings).graph


def test_a_stopped_scoring_keeps_what_is_done(ring, monkeypatch):
    D = ll.information_distances(ring)
    split, known = Split.of(ring, D), ResultCache()
    wanted = along_r(LearnSettings(ll.default_thresholds(D)), radii(edge_density(D), 8))
    list(iter_points(split.D, wanted, curve=split.curve, known=known))
    arrived: list[Any] = []
    scoring = iter_scores(split, wanted, known=known, progress=stop_after(2), threads=1)
    with pytest.raises(Enough):
        arrived.extend(scoring)
    assert arrived
    fits = counted(monkeypatch, scores_module, "fit_parameters")
    found = list(iter_scores(split, wanted, known=known))
    assert {one.settings for one in found} == set(wanted)
    different = {learn(split.D, one).graph for one in wanted}
    assert len(fits) < len(different)


def test_progress_ends_with_everything_done(ring):
    seen: list[tuple[int, int]] = []
    ll.sweep(ll.information_distances(ring), most=6, progress=lambda *report: seen.append(report))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1] > 0
    assert seen == sorted(seen)


def test_stopping_reaches_the_work_that_has_begun():
    begun, ended = threading.Barrier(3), []

    def work(check: Callable[[int, int], None]) -> None:
        begun.wait(30)
        try:
            while True:
                check(0, 0)
        except Stopped:
            ended.append(True)
            raise

    def report(*_: int) -> None:
        begun.wait(30)
        raise Enough

    with pytest.raises(Enough):
        list(as_they_finish([work, work, work], report, threads=2))
    assert len(ended) == 2, "the two that had begun, not the third"


def test_an_error_in_one_task_is_raised():
    def bad(_: Any) -> None:
        raise DataError("no")

    with pytest.raises(DataError, match="no"):
        list(as_they_finish([bad, bad]))


# Tables and the command line ---------------------------------------------------------------


def test_the_table_holds_the_numbers_of_the_points(ring):
    found = ll.sweep(ll.information_distances(ring), most=5, obs=ring)
    frame = found.to_frame()
    for row, point, scored in zip(frame.itertuples(), found.points, found.scores, strict=True):
        assert isinstance(scored, PointScores)
        assert (row.r, row.edges, row.hidden) == (point.thresholds.r, point.n_edges, point.n_hidden)
        assert row.test_log_likelihood == scored.test.log_likelihood
        assert row.girth == point.girth
    read = json.loads(found.to_json())
    assert [one["cycles"] for one in read] == frame["cycles"].tolist()
    assert read[-1]["girth"] is None, "a tree has no shortest cycle"


@pytest.fixture
def answers(tmp_path, ring):
    path = tmp_path / "answers.csv"
    ring.to_frame().to_csv(path, index=False)
    return path


def test_the_command_writes_what_the_package_finds(answers, tmp_path, capsys):
    target = tmp_path / "sweep.csv"
    assert main(["sweep", str(answers), "--most", "6", "-o", str(target)]) == 0
    output = capsys.readouterr()
    assert output.out == ""
    assert "6 settings" in output.err
    D = ll.information_distances(ll.read_table(answers))
    pd.testing.assert_frame_equal(pd.read_csv(target), ll.sweep(D, most=6).to_frame())


def test_the_command_scores_and_names_the_best(answers, capsys):
    values = ["--r", "1.2", "1.6", "--Lambda", "0", "--tau", "0.1", "0.2", "--score"]
    assert main(["sweep", str(answers), *values]) == 0
    output = capsys.readouterr()
    lines = output.out.splitlines()
    assert len(lines) == 1 + 4
    assert "pred_perp_ll" in lines[0]
    assert "Tree for reference" in output.err
    assert "est BIC" in output.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--r", "0.0001"], "below the smallest distance"),
        (["--Lambda", "2"], "Lambda = 2"),
        (["-o", "sweep.txt"], "must have the extension .csv or .json"),
        (["--score", "--test-share", "2"], "--test-share 2"),
        (["--most", "1"], "most = 1"),
    ],
)
def test_invalid_options_fail_in_one_line(answers, more, message, capsys):
    assert main(["sweep", str(answers), *more]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("loopylatent: ")
    assert message in last


def test_distances_can_be_swept_but_not_scored(answers, tmp_path, capsys):
    matrix = tmp_path / "d.csv"
    assert main(["distances", str(answers), "-o", str(matrix)]) == 0
    assert main(["sweep", str(matrix), "--from-distances", "--most", "4"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1 + 4
    assert main(["sweep", str(matrix), "--from-distances", "--score"]) == 2
    assert "needs the rows" in capsys.readouterr().err
