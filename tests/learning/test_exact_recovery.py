"""From exact distances the learner must give back the exact graph."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.graphs import cubic_graph

from loopylatent import synthetic
from loopylatent.analysis.structure_error import structure_error
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds


def learned_graph(model, r, tau):
    settings = LearnSettings(Thresholds(r, 0.0, tau))
    return learn(model.distances(), settings, trace=False).graph


def assert_recovered(model, r, tau):
    graph = learned_graph(model, r, tau)
    error = structure_error(graph, model.graph)
    assert error.is_exact
    assert error.value == 0
    assert np.allclose(np.sort(graph.lengths), np.sort(model.graph.lengths))


@pytest.mark.parametrize("seed", range(200))
def test_random_latent_trees_with_observed_inner_nodes(seed):
    rng = np.random.default_rng(seed)
    n_inner = int(rng.integers(2, 13))
    n_hidden = int(rng.integers(1, n_inner))
    model = synthetic.latent_tree(n_hidden, n_inner - n_hidden, seed=seed)
    assert_recovered(model, r=1.01 * model.distances().r_max, tau=0.05)


@pytest.mark.parametrize("leaves", [2, 3])
@pytest.mark.parametrize("girth", [8, 9, 10, 12, 15, 20, 30, 40, 70, 100])
def test_latent_cycles(girth, leaves):
    model = synthetic.latent_cycle(girth, leaves, lengths=(0.2, 0.4), seed=girth)
    assert_recovered(model, r=3.1 * model.graph.lengths.max(), tau=0.05)


@pytest.mark.parametrize("leaves", [1, 2])
@pytest.mark.parametrize("girth", [5, 6, 7, 8, 9, 10, 12])
def test_cubic_graphs_of_large_girth_with_every_node_hidden(girth, leaves):
    skeleton = cubic_graph(girth)
    model = synthetic.from_skeleton(skeleton, leaves, lengths=(0.3, 0.36), seed=girth)
    assert_recovered(model, r=3.1 * model.graph.lengths.max(), tau=0.05)


def test_the_tutte_12_cage_with_two_leaves_a_node_has_126_hidden_nodes_and_441_edges():
    model = synthetic.from_skeleton(cubic_graph(12), 2, lengths=(0.3, 0.36), seed=0)
    graph = learned_graph(model, 3.1 * model.graph.lengths.max(), 0.05)
    assert (graph.n_hidden, graph.n_edges, graph.girth) == (126, 441, 12)


def test_a_radius_beyond_the_cycle_gives_a_tree_and_so_an_error():
    model = synthetic.latent_cycle(10, 2, seed=0)
    graph = learned_graph(model, model.distances().r_max, 0.05)
    assert graph.n_cycles == 0
    assert structure_error(graph, model.graph).lower > 0


def test_many_samples_of_an_ising_cycle_give_back_its_structure():
    model = synthetic.latent_cycle(10, 2, lengths=(0.2, 0.3), seed=1)
    exact = model.ising_distances()
    r = 3.1 * model.graph.lengths.max()
    settings = LearnSettings(Thresholds(r, 0.002, 0.1))
    assert structure_error(learn(exact, settings).graph, model.graph).value <= 8


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_two_thousand_more_latent_trees_are_recovered(block):
    for seed in range(1000 + 200 * block, 1200 + 200 * block):
        test_random_latent_trees_with_observed_inner_nodes(seed)


@pytest.mark.long
@pytest.mark.parametrize("leaves", [2, 3])
def test_latent_cycles_of_many_lengths_are_recovered(leaves):
    for girth in range(8, 101):
        for seed in range(3):
            model = synthetic.latent_cycle(girth, leaves, lengths=(0.2, 0.4), seed=seed)
            r = 3.1 * float(np.max(model.graph.lengths))
            assert_recovered(model, r=r, tau=0.05)
