"""The search by likelihood."""

from __future__ import annotations

import numpy as np
import pytest

import loopylatent as ll
from loopylatent.errors import InferenceError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.refinement import refine
from loopylatent.synthetic.families import latent_cycle, latent_tree


@pytest.fixture(scope="module")
def truth():
    """Four hidden nodes on a ring, two columns on each."""
    return latent_cycle(girth=4, leaves=2, seed=1, lengths=(0.2, 0.35))


@pytest.fixture(scope="module")
def rows(truth):
    return truth.sample(4000, seed=2)


@pytest.fixture(scope="module")
def tree(rows):
    return ll.initial_graph(ll.information_distances(rows), r=9.0)


@pytest.fixture(scope="module")
def rounds():
    """The graphs handed out by the search behind ``found``."""
    return []


@pytest.fixture(scope="module")
def found(tree, rows, rounds):
    return refine(tree, rows, on_round=rounds.append)


def test_a_ring_is_recovered_exactly_from_the_spanning_tree_of_a_large_sample(truth, tree, found):
    assert tree.n_hidden == 0
    assert tree.n_cycles == 0
    assert ll.structure_error(found.graph, truth.graph).upper == 0


def test_the_score_never_falls_and_rises_by_the_gains_of_the_moves_taken(found):
    assert (np.diff(found.score_history) > 0).all()
    gains = [move.gain for move in found.moves if move.taken]
    assert len(gains) == len(found.steps) - 1
    assert found.score_history[-1] - found.score_history[0] == pytest.approx(sum(gains))


def test_the_score_is_the_likelihood_less_the_price(found):
    model, graph = found.model, found.graph
    price = found.price.parameter * (graph.n_nodes + graph.n_edges)
    price += found.price.cycle * graph.n_cycles
    assert model.train_log_likelihood - price == pytest.approx(found.score_history[-1], abs=0.5)


def test_each_move_is_named_and_the_steps_end_with_the_graph(found):
    assert found.steps[0].words == ""
    assert all(step.words for step in found.steps[1:])
    assert found.steps[-1].graph == found.graph
    assert {move.words for move in found.moves if move.taken} == {s.words for s in found.steps[1:]}
    assert len(found.steps[-1].hidden_ids) == found.graph.n_hidden


def test_a_second_refinement_changes_nothing(found, rows):
    again = refine(found.graph, rows)
    assert len(again.steps) == 1
    assert again.graph.edges.tolist() == found.graph.edges.tolist()


def test_threads_change_nothing():
    rows = latent_tree(2, 1, 3, seed=4).sample(300, seed=5)
    start = ll.initial_graph(ll.information_distances(rows), r=9.0)
    one, three = refine(start, rows, threads=1), refine(start, rows, threads=3)
    assert one.graph == three.graph
    assert one.moves == three.moves
    assert one.score_history == three.score_history
    assert (one.model.edge_strengths == three.model.edge_strengths).all()


def test_progress_is_told_and_can_stop_the_search(tree, rows):
    told = []

    def stop(done: int, total: int) -> None:
        told.append((done, total))
        if done >= 10:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        refine(tree, rows, progress=stop)
    assert all(done <= total for done, total in told)


def test_the_best_graph_so_far_is_handed_out_after_each_round(found, rounds):
    assert [step.score for step in rounds] == sorted(step.score for step in rounds)
    assert rounds[-1].graph == found.graph


def test_a_gaussian_tree_is_recovered():
    truth = latent_tree(2, 0, 3, seed=3, kind="gaussian", lengths=(0.3, 0.5))
    rows = truth.sample(3000, seed=4)
    start = ll.initial_graph(ll.information_distances(rows), r=9.0)
    assert ll.structure_error(refine(start, rows).graph, truth.graph).upper == 0


def test_graphs_with_too_many_cycles_are_rejected():
    rows = latent_tree(5, 0, 4, seed=3).sample(200, seed=4)
    pairs = [(u, v) for u in range(20) for v in range(u + 1, 20)]
    with pytest.raises(InferenceError, match="fewer cycles"):
        refine(LatentGraph.build(rows.names, 0, pairs), rows)


def test_an_unknown_goal_is_rejected(tree, rows):
    with pytest.raises(ThresholdError, match="structure, prediction"):
        refine(tree, rows, "beauty")
