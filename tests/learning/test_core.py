"""The compiled learner gives what plain Python gives, bit for bit, on any number of threads."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from helpers.equality import (
    KINDS,
    METHODS,
    ORDERS,
    as_bits,
    assert_equal_to_reference,
    random_distances,
    settings_for,
)

from loopylatent.compute._kernels.grouping import pairwise_sum
from loopylatent.distances.matrix import information_distances
from loopylatent.learning.initial_graph import default_thresholds, initial_graph, loop_radius
from loopylatent.learning.learner import FEW_COLUMNS, iter_steps, learn, visiting_order
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.samples import load_sample, sample_names


@pytest.mark.parametrize("kind", KINDS)
def test_many_settings_give_the_graph_and_every_step_of_the_reference(kind):
    for seed in range(3):
        D = random_distances(seed, 6 + 4 * seed, kind)
        for settings in settings_for(D, seed):
            assert_equal_to_reference(D, settings)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_thousands_of_settings_give_the_graph_and_every_step_of_the_reference(kind):
    for seed in range(3, 40):
        D = random_distances(seed, 4 + seed, kind)
        for settings in settings_for(D, seed):
            assert_equal_to_reference(D, settings)


@pytest.mark.long
@pytest.mark.parametrize("name", sample_names())
def test_every_sample_gives_the_graph_and_every_step_of_the_reference(name):
    D = information_distances(load_sample(name).observations)
    first = default_thresholds(D)
    for r in {D.r_max, loop_radius(D), first.r, (D.r_min + D.r_max) / 2}:
        for method in METHODS:
            for order in ORDERS:
                thresholds = Thresholds(r, first.Lambda, first.tau)
                assert_equal_to_reference(D, LearnSettings(thresholds, method, order))


@pytest.mark.parametrize("p", [60, 200])
def test_a_graph_that_outgrows_its_first_room_is_that_of_the_reference(p):
    D = random_distances(7, p, "tree")
    for method in METHODS:
        settings = LearnSettings(Thresholds(D.r_max, 0.0, 0.0), method)
        assert_equal_to_reference(D, settings)


def test_eight_threads_at_once_learn_what_one_learns():
    D = random_distances(1, 30, "noise")
    jobs = [
        LearnSettings(Thresholds(r, 0.01, 0.1), method, order, seed)
        for r in (D.r_max, (D.r_min + D.r_max) / 2)
        for method in METHODS
        for order in ORDERS
        for seed in range(3)
    ]
    alone = [learn(D, settings).graph.digest for settings in jobs]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda settings: learn(D, settings).graph.digest, jobs))
    assert together == alone


def test_the_trace_is_a_sequence_of_steps():
    D = random_distances(2, 14, "noise")
    settings = LearnSettings(Thresholds(D.r_max, 0.01, 0.1), "relaxed")
    trace = learn(D, settings).trace
    steps = list(trace)
    assert len(trace) == len(steps) > 3
    assert trace[1] is steps[1]
    assert trace[-1] is steps[-1]
    assert trace[1:-1] == tuple(steps[1:-1])
    assert trace.index(steps[2]) == 2
    with pytest.raises(IndexError):
        trace[len(trace)]
    bits = [as_bits(step) for step in steps]
    assert [as_bits(step) for step in pickle.loads(pickle.dumps(trace))] == bits
    assert [as_bits(step) for step in iter_steps(D, settings)] == bits


@pytest.mark.parametrize("p", [120, FEW_COLUMNS + 20])
def test_progress_does_not_change_what_is_learned(p):
    D = random_distances(3, p, "noise")
    for method in METHODS:
        settings = LearnSettings(Thresholds(D.r_max, 0.01, 0.1), method)
        seen = []
        watched = learn(D, settings, progress=lambda done, _, seen=seen: seen.append(done))
        assert watched.graph == learn(D, settings).graph
        assert seen == sorted(seen)
        assert len(seen) == 2 if p <= FEW_COLUMNS else len(seen) > 2


@pytest.mark.parametrize("n", [1, 7, 8, 9, 127, 128, 129, 136, 300, 1025])
def test_the_fixed_order_of_additions_gives_the_sum_of_numpy(n):
    values = np.random.default_rng(n).normal(size=n + 2)
    assert pairwise_sum(values, 1, n) == values[1 : n + 1].sum()


def test_the_order_of_visits_is_by_degree_then_by_the_sum_of_lengths_then_by_number():
    D = random_distances(4, 40, "ties")
    initial = initial_graph(D, D.r_max)
    settings = LearnSettings(Thresholds(D.r_max, 0, 0.1))
    sums = initial.adjacency.sum(axis=1)
    by_degree = sorted(range(40), key=lambda node: (-initial.degrees[node], sums[node], node))
    inner = [node for node in by_degree if initial.degrees[node] > 1]
    assert visiting_order(initial, settings) == tuple(inner)
    assert visiting_order(initial, replace(settings, order="index")) == tuple(sorted(inner))
