"""Loops against what noise on a tree would give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from loopylatent.analysis.stability import loop_test as loops
from loopylatent.analysis.stability.loop_test import LoopTest, loop_test, opening_radius
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, LoopyLatentError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import loop_radius
from loopylatent.synthetic.families import latent_cycle, latent_tree
from loopylatent.tables.samples import load_sample


def sampled_ring(seed: int, n: int = 2000) -> DistanceMatrix:
    return information_distances(latent_cycle(girth=10, leaves=2, seed=seed).sample(n, seed=seed))


def sampled_tree(seed: int, n: int = 2000) -> DistanceMatrix:
    model = latent_tree(n_hidden=8, n_observed_inner=2, leaves=2, seed=seed)
    return information_distances(model.sample(n, seed=seed))


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_the_loop_of_a_sampled_ring_is_real(seed):
    D = sampled_ring(seed)
    test = loop_test(D, loop_radius(D))
    assert test.n_loops >= 1
    assert test.p_value <= 0.05
    assert test.is_real
    assert opening_radius(D).r == loop_radius(D)


@pytest.mark.parametrize(
    ("n", "seed"), [(2000, 0), (2000, 1), (150, 0), (150, 1), (150, 4), (300, 0)]
)
def test_loops_of_a_sampled_tree_are_explained_by_noise(n, seed):
    D = sampled_tree(seed, n)
    test = loop_test(D, loop_radius(D))
    assert test.p_value > 0.05
    assert test.n_loops > 0 or n == 2000  # few rows close loops that are not there
    opening = opening_radius(D)
    assert opening.r == D.r_max
    assert opening.reason.startswith("Opened as a tree")


def test_at_r_max_there_are_no_loops_and_none_in_simulations():
    D = sampled_tree(0)
    test = loop_test(D, 10 * D.r_max, n_simulations=5)
    assert test == LoopTest(n_loops=0, mean_by_noise=0.0, p_value=1.0, n_simulations=5, n_failed=0)


def test_the_loops_of_the_personality_items_are_real():
    D = information_distances(load_sample("bfi25").observations)
    test = loop_test(D, loop_radius(D))
    assert test.n_loops == 9
    assert test.mean_by_noise < 0.1
    assert test.p_value == 0.025
    opening = opening_radius(D)
    assert opening.r == loop_radius(D)
    assert opening.test == test
    assert opening.reason == (
        "Opened with loops (r = 2.34): there are 9 loops, and none of 39 tables simulated from "
        "a tree have as many (p = 0.025)."
    )


def test_the_same_seed_gives_the_same_and_another_one_other_tables():
    D = sampled_tree(3, n=300)
    r = loop_radius(D)
    assert loop_test(D, r, seed=1) == loop_test(D, r, seed=1)
    means = {loop_test(D, r, seed=seed).mean_by_noise for seed in range(4)}
    assert len(means) > 1


def test_p_counts_the_tables_with_at_least_as_many_loops(monkeypatch):
    counts = iter([2, 0, 1, 2, 3, 0])
    monkeypatch.setattr(loops, "_loops", lambda *_, **__: next(counts))
    test = loop_test(sampled_tree(0), 1.5, n_simulations=5)
    assert (test.n_loops, test.mean_by_noise, test.n_as_many) == (2, 1.2, 2)
    assert test.p_value == pytest.approx(3 / 6)


def test_tables_that_cannot_be_learned_are_counted_and_never_speak_for_loops(monkeypatch):
    calls = iter([4, *[None] * 3])

    def failing(*_, **__):
        if (count := next(calls)) is None:
            raise LoopyLatentError("no graph")
        return count

    monkeypatch.setattr(loops, "_loops", failing)
    test = loop_test(sampled_tree(0), 1.5, n_simulations=3)
    assert (test.n_failed, test.p_value, test.is_real) == (3, 1.0, False)
    assert math.isnan(test.mean_by_noise)


def test_a_table_whose_distances_are_all_beyond_r_has_no_loops():
    near = 0.4
    values = np.full((6, 6), 3.0)
    values[0, 1] = values[1, 0] = near
    np.fill_diagonal(values, 0.0)
    D = DistanceMatrix.from_array(values, n_samples=50)
    test = loop_test(D, near)
    assert (test.n_loops, test.mean_by_noise, test.n_failed) == (0, 0.0, 0)


@pytest.mark.parametrize(("p", "n_rows"), [(6, 40), (30, 12)])
def test_simulated_correlations_have_the_mean_and_spread_of_drawn_tables(p, n_rows):
    names = [f"x{k}" for k in range(p)]
    path = LatentGraph.build(names, 0, [(k, k + 1) for k in range(p - 1)], np.full(p - 1, 0.6))
    root = loops._root(path)
    rng = np.random.default_rng(0)
    rows = 400

    def strengths(values: np.ndarray) -> np.ndarray:
        return np.exp(-values)[[0, 0], [1, 3]]

    simulated = [strengths(loops._simulated_distances(root, n_rows, rng)) for _ in range(rows)]
    drawn = [
        np.abs(np.corrcoef(root @ rng.normal(size=(p, n_rows))))[[0, 0], [1, 3]]
        for _ in range(rows)
    ]
    assert np.mean(simulated, axis=0) == pytest.approx(np.mean(drawn, axis=0), abs=0.04)
    assert np.std(simulated, axis=0) == pytest.approx(np.std(drawn, axis=0), rel=0.15)


def test_simulated_correlations_are_those_of_the_tree_with_many_rows():
    tree = latent_tree(seed=1).graph
    p = tree.n_observed
    values = loops._simulated_distances(loops._root(tree), 10**8, np.random.default_rng(0))
    assert np.exp(-values) == pytest.approx(np.exp(-tree.path_lengths(range(p))[:, :p]), abs=1e-3)


def test_equal_columns_and_a_loop_at_r_max_do_no_harm():
    square = np.full((4, 4), np.inf)  # around the square 1, across it no distance at all
    for k in range(4):
        square[k, (k + 1) % 4] = square[(k + 1) % 4, k] = 1.0
    np.fill_diagonal(square, 0.0)
    test = loop_test(DistanceMatrix.from_array(square, n_samples=500), 1.0, n_simulations=19)
    assert test.n_loops == 1
    equal = DistanceMatrix.from_array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], n_samples=100)
    assert loop_test(equal, 1.0, n_simulations=3).n_failed == 0


def test_missing_values_leave_fewer_rows():
    D = sampled_tree(0, n=300)
    thin = replace(D, pair_counts=np.full(D.values.shape, 30.0))
    r = loop_radius(D)
    assert loop_test(thin, r).mean_by_noise > loop_test(D, r).mean_by_noise


def test_progress_runs_to_the_end_and_can_stop_the_test():
    D = sampled_tree(0, n=300)
    seen: list[tuple[int, int]] = []
    loop_test(D, loop_radius(D), n_simulations=4, progress=lambda *step: seen.append(step))
    assert seen == sorted(seen)
    assert {done for done, _ in seen} == {0, 1, 2, 3, 4}
    assert {total for _, total in seen} == {4}

    def stop(done: int, _total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop_test(D, loop_radius(D), n_simulations=4, progress=stop)


def test_without_a_number_of_rows_a_table_opens_without_a_test():
    D = DistanceMatrix.from_array(sampled_tree(0).values)
    with pytest.raises(DataError, match="needs the number of rows") as caught:
        loop_test(D, loop_radius(D))
    assert "\n" not in str(caught.value)
    opening = opening_radius(D)
    assert (opening.r, opening.test) == (D.r_max, None)
    assert "unknown" in opening.reason


def test_similar_distances_open_as_a_tree_without_a_test():
    D = information_distances(load_sample("ability16").observations)
    opening = opening_radius(D)
    assert (opening.r, opening.test) == (D.r_max, None)
    assert "too similar" in opening.reason


@pytest.mark.parametrize(
    ("count", "as_many", "sentence"),
    [
        (1, 5, "there is 1 loop, and 5 of 39 tables simulated from a tree have as many"),
        (3, 1, "there are 3 loops, and 1 of 39 tables simulated from a tree has as many"),
    ],
)
def test_reasons_read_as_sentences(count, as_many, sentence):
    test = LoopTest(count, 0.5, (1 + as_many) / 40, 39, 0)
    assert loops._comparison(test).startswith(sentence)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda D: loop_test(D, 1.5, n_simulations=0), "n_simulations = 0 is too small"),
        (lambda D: opening_radius(D, n_simulations=18), "use at least 19"),
        (lambda D: loop_test(D, 1.5, seed=-1), "seed = -1"),
        (lambda D: loop_test(D, -1), "r = -1 is negative"),
        (lambda D: loop_test(D, 1e-6), "below the smallest distance"),
    ],
)
def test_wrong_arguments_are_rejected_in_one_line(call, message):
    with pytest.raises(ThresholdError, match=message) as caught:
        call(sampled_tree(0, n=200))
    assert "\n" not in str(caught.value)
