"""The search by likelihood."""

from __future__ import annotations

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("goal", ["structure", "prediction"])
def test_a_search_that_is_ended_keeps_the_best_graph_so_far(tree, rows, goal):
    seen = []
    ended = refine(tree, rows, goal, on_round=lambda step: seen.append(step) or len(seen) == 2)
    assert not ended.is_complete
    assert len(seen) == 2
    assert ended.graph.edges.tolist() == seen[-1].graph.edges.tolist()
    assert ended.score_history[-1] > ended.score_history[0]


def test_the_score_is_the_likelihood_less_the_price(found):
    model, graph = found.model, found.graph
    price = found.price.parameter * (graph.n_nodes + graph.n_edges)
    price += found.price.cycle * graph.n_cycles
    assert model.train_log_likelihood - price == pytest.approx(found.score_history[-1], abs=0.5)
    assert found.steps[-1].log_likelihood - price == pytest.approx(found.score_history[-1])


def test_each_move_is_named_and_the_steps_end_with_the_graph(found):
    assert found.steps[0].words == ""
    assert all(step.words for step in found.steps[1:])
    assert found.steps[-1].graph == found.graph
    assert {move.words for move in found.moves if move.taken} == {s.words for s in found.steps[1:]}
    assert len(found.steps[-1].hidden_ids) == found.graph.n_hidden
    assert [step.change is None for step in found.steps] == [not step.words for step in found.steps]


def test_the_score_matrix_of_the_start_is_kept(tree, found):
    gains = found.misfit.gains
    assert gains.shape == (tree.n_nodes, tree.n_nodes)
    assert gains[tuple(tree.edges.T)].max() < 0.01 < 10 < gains.max()


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


def test_learn_refines_the_best_of_six_starts(tmp_path):
    truth = latent_cycle(4, 2, seed=2)
    rows = truth.sample(2000, seed=3)
    D = ll.information_distances(rows)
    result = ll.learn(D, obs=rows, refine="structure")
    assert isinstance(result, ll.RefinedResult)
    assert result.learned_graph.n_cycles == 0
    assert ll.structure_error(result.graph, truth.graph).upper == 0
    assert result.refinement.steps[-1].graph == result.graph
    assert result.settings.method in ("quartet", "relaxed", "nj")
    file = pd.read_csv(ll.export(result, tmp_path / "graph.csv"))
    nats = [one.nats for one in result.evidence if one.part == "edge"]
    assert file["evidence"].tolist() == pytest.approx(nats)
    assert "refine=structure" in file["settings"][0]
    nodes = pd.read_csv(ll.export(result, tmp_path / "graph.nodes.csv"))
    assert (nodes["evidence"].notna() == nodes["hidden"]).all()
    again = ll.LocalCLGrouping(refine="structure").fit(rows)
    assert again.graph_ == result.graph
    assert again.model_.graph == result.model.graph


def test_two_moves_are_taken_where_only_both_together_gain():
    truth = latent_cycle(4, 2, seed=8)
    rows = truth.sample(2000, seed=9)
    start = ll.learn(ll.information_distances(rows)).graph
    found = refine(start, rows, evidence=False)
    assert ll.structure_error(found.graph, truth.graph).upper == 0
    assert any(", then " in step.words for step in found.steps)
    assert (np.diff(found.score_history) > 0).all()


def test_refinement_starts_from_the_method_and_radius_given():
    rows = latent_tree(2, 1, 3, seed=4).sample(300, seed=5)
    D = ll.information_distances(rows)
    plain = ll.learn(D, r=D.r_max, method="nj")
    result = ll.learn(D, r=D.r_max, method="nj", obs=rows, refine="prediction")
    assert result.settings == plain.settings
    assert result.evidence is None
    assert result.learned_graph.edges.tolist() == plain.graph.edges.tolist()


def test_refinement_without_rows_or_with_sparse_distances_is_rejected(rows):
    D = ll.information_distances(rows)
    with pytest.raises(ll.DataError, match="needs the rows"):
        ll.learn(D, refine="structure")
    with pytest.raises(ll.ThresholdError, match="refine"):
        ll.learn(D, obs=rows, refine="beauty")


def test_every_edge_hidden_node_and_cycle_has_evidence(found):
    parts = {(one.part, one.nodes): one for one in found.evidence}
    edges = [tuple(edge) for edge in found.graph.edges.tolist()]
    assert [nodes for part, nodes in parts if part == "edge"] == edges
    assert [nodes[0] for part, nodes in parts if part == "hidden"] == [*found.graph.hidden_nodes]
    assert [nodes for part, nodes in parts if part == "cycle"] == [*found.graph.cycles]
    assert all(one.nats > -found.price.parameter / 5 for one in found.evidence)
    assert all(one.supported == (one.nats > found.price.parameter) for one in found.evidence)
    assert all(one.without for one in found.evidence)


def test_the_evidence_of_an_edge_is_at_most_the_loss_without_it(found, rows):
    edge = next(one for one in found.evidence if one.part == "edge")
    keep = [tuple(e) != edge.nodes for e in found.graph.edges.tolist()]
    without = LatentGraph.build(
        found.graph.names, found.graph.n_hidden, found.graph.edges[keep], found.graph.lengths[keep]
    )
    model = ll.fit_parameters(without, rows)
    price = found.price.parameter * model.df + found.price.cycle * without.n_cycles
    loss = found.score_history[-1] - (model.train_log_likelihood - price)
    assert edge.nats < loss + 1.0


def test_batches_predict_better_than_the_start(rows, tree):
    found = refine(tree, rows, "prediction")
    assert (np.diff(found.score_history) > 0).all()
    assert found.price.cycle == 0
    assert found.model.train_bic > ll.fit_parameters(tree, rows).train_bic + 100


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_missing_values_do_not_hide_the_structure(kind):
    truth = latent_tree(2, 0, 3, seed=3, lengths=(0.2, 0.4), kind=kind)
    whole = truth.sample(2000, seed=4)
    values = whole.dense().copy()
    values[np.random.default_rng(1).random(values.shape) < 0.1] = np.nan
    rows = whole.with_values(values)
    start = ll.initial_graph(ll.information_distances(rows), r=9.0)
    found = refine(start, rows)
    assert ll.structure_error(found.graph, truth.graph).upper == 0
    assert (np.diff(found.score_history) > 0).all()


def test_columns_of_three_states_are_refined():
    truth = latent_tree(2, 0, 3, seed=3, lengths=(0.3, 0.4), kind="symmetric", n_states=3)
    rows = truth.sample(3000, seed=4)
    start = ll.initial_graph(ll.information_distances(rows), r=9.0)
    assert ll.structure_error(refine(start, rows).graph, truth.graph).upper == 0


def test_a_weight_counts_as_so_many_equal_rows():
    rows = latent_tree(2, 0, 3, seed=3).sample(300, seed=4)
    weights = np.random.default_rng(0).integers(1, 4, 300)
    weighted = rows.with_weights(weights)
    repeated = rows.take(np.repeat(np.arange(300), weights))
    start = ll.initial_graph(ll.information_distances(rows), r=9.0)
    one, other = refine(start, weighted), refine(start, repeated)
    assert one.graph.edges.tolist() == other.graph.edges.tolist()
    assert one.score_history == pytest.approx(other.score_history, abs=0.1)
