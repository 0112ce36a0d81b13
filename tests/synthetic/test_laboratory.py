"""Recovery of synthetic models: comparisons with brute force, curves, the paper's experiment."""

from __future__ import annotations

from itertools import permutations

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import shuffled
from hypothesis import given, strategies as st

from loopylatent.distances.matrix import information_distances
from loopylatent.errors import InferenceError, LoopyLatentError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.learning.initial_graph import default_thresholds, loop_radius
from loopylatent.synthetic.experiment import (
    TREE,
    TRUTH,
    Experiment,
    Scored,
    experiment_table,
    iter_experiment,
)
from loopylatent.synthetic.families import cage, from_skeleton, latent_cycle, latent_tree
from loopylatent.synthetic.laboratory import (
    FALSE,
    FOUND,
    MISSED,
    FailedTrial,
    Specification,
    Trial,
    TrialPoint,
    against_n,
    against_r,
    compare,
    distances_of,
    iter_trials,
    learn_back,
    summary,
    thresholds_of,
)


@st.composite
def random_graphs(draw, p: int = 5):
    """Two small graphs on the same columns with up to three hidden nodes each."""
    found = []
    for _ in range(2):
        n_hidden = draw(st.integers(0, 3))
        nodes = p + n_hidden
        pairs = [(u, v) for v in range(nodes) for u in range(v)]
        edges = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=12))
        found.append(LatentGraph.build([f"x{k}" for k in range(p)], n_hidden, edges))
    return found


def edges_of(graph: LatentGraph, number: dict[int, int]) -> set[frozenset[int]]:
    return {frozenset(number[end] for end in edge) for edge in graph.edges.tolist()}


def most_shared(truth: LatentGraph, learned: LatentGraph) -> int:
    """Edges in common under the best of all matchings of the hidden nodes."""
    p, size = truth.n_observed, max(truth.n_hidden, learned.n_hidden)
    identity = {k: k for k in range(p + size)}
    right = edges_of(truth, identity)
    return max(
        len(edges_of(learned, identity | {p + k: p + order[k] for k in range(size)}) & right)
        for order in permutations(range(size))
    )


@given(random_graphs())
def test_counts_are_those_of_the_best_matching(graphs):
    truth, learned = graphs
    found = compare(truth, learned)
    assert found.n_found == most_shared(truth, learned)
    assert found.n_found + found.n_missed == truth.n_edges
    assert found.n_found + found.n_false == learned.n_edges
    assert found.error.value == 2 * (found.n_missed + found.n_false)


@given(random_graphs())
def test_both_graphs_are_parts_of_the_union(graphs):
    truth, learned = graphs
    found = compare(truth, learned)
    for which, graph, wrong in (("truth", truth, MISSED), ("learned", learned, FALSE)):
        part = found.part(which)
        status = found.status_of(which)
        assert part.n_edges == graph.n_edges == len(status)
        assert set(status.tolist()) <= {FOUND, wrong}
        bare = nx.Graph(part.edges.tolist()), nx.Graph(graph.edges.tolist())
        assert nx.faster_could_be_isomorphic(*bare)
        union = {tuple(edge): s for edge, s in zip(found.both.edges.tolist(), found.status.tolist(),
                                                   strict=True)}  # fmt: skip
        assert [union[tuple(edge)] for edge in part.edges.tolist()] == status.tolist()
    np.testing.assert_allclose(np.sort(found.part("learned").lengths), np.sort(learned.lengths))


def test_a_renumbered_true_graph_is_recovered():
    truth = latent_cycle(9, 2, seed=1).graph
    found = compare(truth, shuffled(truth, seed=3))
    assert found.is_right
    assert (found.precision, found.recall) == (1, 1)
    assert found.n_hidden_found == truth.n_hidden
    assert found.both == truth


def test_a_hidden_node_counts_as_recovered_only_with_all_its_neighbours():
    truth = LatentGraph.build("abcdef", 2, [(0, 6), (1, 6), (2, 6), (3, 7), (4, 7), (5, 7), (6, 7)])
    learned = LatentGraph.build("abcdef", 1, [(0, 6), (1, 6), (2, 6), (3, 6), (3, 4), (4, 5)])
    found = compare(truth, learned)
    assert (found.n_found, found.n_missed, found.n_false) == (3, 4, 3)
    assert found.n_hidden_found == 0
    assert found.precision == pytest.approx(3 / 6)
    assert found.recall == pytest.approx(3 / 7)


def test_columns_in_another_order_are_matched_by_name():
    star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)], [1.0, 2.0, 3.0])
    other = LatentGraph.build("cab", 1, [(0, 3), (1, 3), (2, 3)], [3.5, 1.5, 2.5])
    found = compare(star, other)
    assert found.is_right
    assert found.part("learned").lengths.tolist() == [1.5, 2.5, 3.5]


@pytest.mark.parametrize("seed", range(3))
def test_trees_and_rings_are_recovered_from_exact_distances(seed):
    tree = learn_back(latent_tree(5, 2, seed=seed), r="tree")
    assert tree.comparison.is_right
    assert (tree.source, tree.drawn) == ("exact", None)
    ring = latent_cycle(14, 2, lengths=(0.3, 0.35), seed=seed)
    assert learn_back(ring, r=3.1 * 0.35).comparison.is_right


def test_rows_are_those_of_the_model_and_the_seed():
    model = latent_cycle(8, 2, seed=1)
    found = learn_back(model, 500, seed=4)
    assert found.source == "rows"
    assert found.drawn is not None
    assert found.distances.digest == information_distances(model.sample(500, seed=4)).digest
    assert found.thresholds.r == loop_radius(found.distances)
    assert found.thresholds.Lambda == default_thresholds(found.distances).Lambda


def test_path_lengths_are_used_if_exact_distances_are_infeasible():
    model = from_skeleton(cage("tutte 12"), 1, lengths=(0.9, 1.0))
    measured = distances_of(model, None)
    assert measured.source == "paths"
    assert measured.distances.digest == model.distances().digest


def test_custom_thresholds_replace_the_rule():
    D = latent_cycle(8, 2).exact_distances()
    found = thresholds_of(D, 1.5, 0.1, 0.3)
    assert (found.r, found.Lambda, found.tau) == (1.5, 0.1, 0.3)
    assert thresholds_of(D) == default_thresholds(D)
    with pytest.raises(ThresholdError, match="is not a rule"):
        thresholds_of(D, "auto")  # type: ignore[arg-type]


def test_more_rows_recover_more_of_the_graph():
    model = latent_cycle(10, 2, seed=1)
    runs = iter_trials(model, against_n([100, 5000], 4), threads=2)
    table = summary([point for points in runs for point in points], "n")
    assert table["n"].tolist() == [100, 5000]
    assert table["recall mean"][1] > table["recall mean"][0] + 0.2
    assert table["is_right mean"][1] >= 0.75
    assert (table["recall min"] <= table["recall mean"]).all()
    assert (table["recall mean"] <= table["recall max"]).all()


def test_the_number_of_threads_has_no_effect():
    model = latent_cycle(6, 2, seed=1)
    trials = against_r([0.8, 1.2, 2.0], 400, 3)
    runs = [sorted(map(repr, iter_trials(model, trials, seed=5, threads=k))) for k in (1, 3)]
    assert runs[0] == runs[1]


def test_the_points_of_a_curve_are_those_of_learning_back():
    model = latent_cycle(7, 2, seed=2)
    (points,) = iter_trials(model, [Trial(300, 2, (1.0, "tree"))], seed=10)
    for wanted, point in zip((1.0, "tree"), points, strict=True):
        assert isinstance(point, TrialPoint)
        one = learn_back(model, 300, r=wanted, seed=12).comparison
        assert (point.precision, point.recall) == (one.precision, one.recall)
        assert (point.structure_error, point.is_right) == (one.error.value, one.is_right)


def test_a_radius_without_a_graph_is_counted_and_not_fatal():
    model = latent_cycle(6, 2, seed=1)
    ((bad, good),) = iter_trials(model, [Trial(None, 0, (1e-6, 2.0))])
    assert isinstance(bad, FailedTrial)
    assert "\n" not in bad.reason
    assert isinstance(good, TrialPoint)
    assert summary([bad, good], "r")["r"].tolist() == [2.0]


def test_a_curve_stops_if_progress_raises():
    class Enough(Exception):
        pass

    def progress(done: int, total: int) -> None:
        assert total == 40
        if done >= 2:
            raise Enough

    seen = []

    def run() -> None:
        trials = against_n([200] * 8)
        seen.extend(iter_trials(latent_cycle(6, 2), trials, progress=progress, threads=1))

    with pytest.raises(Enough):
        run()
    assert 2 <= len(seen) < 40


# The paper's experiment --------------------------------------------------------------------

SMALL = Experiment(girth=5, potentials=(0.6, 1.0), rows=(200, 1500), radii=(0.1, 1.6), n_repeats=1)


@pytest.fixture(scope="module")
def outcomes():
    return list(iter_experiment(SMALL, threads=2))


def test_every_radius_the_tree_and_the_true_graph_are_scored(outcomes):
    assert {(one.n, one.wanted) for one in outcomes} == {
        (n, where) for n in SMALL.rows for where in (*SMALL.radii, TREE, TRUTH)
    }
    failed = [one for one in outcomes if isinstance(one, FailedTrial)]
    assert {one.wanted for one in failed} == {0.1}
    assert all(one.is_exact for one in outcomes if isinstance(one, Scored))


def test_the_bic_is_that_of_new_rows(outcomes):
    model = latent_cycle(5, 2, potentials=(0.6, 1.0), seed=0)
    train, test = model.sample(1500, 0), model.sample(1500, 1)
    fitted = fit_parameters(model.graph, train)
    expected = fitted.log_likelihood(test).sum() - 0.5 * fitted.df * np.log(1500)
    (truth,) = [one for one in outcomes if one.n == 1500 and one.wanted == TRUTH]
    assert truth.bic == pytest.approx(expected / (1500 * 10), abs=1e-5)


def test_the_table_has_radii_then_the_tree_then_the_true_graph(outcomes):
    table = experiment_table(outcomes)
    assert table["where"].tolist() == [1.6, TREE, TRUTH] * 2
    assert table["n"].tolist() == [200] * 3 + [1500] * 3
    bic = table.pivot_table(index="n", columns="where", values="bic")
    assert (bic.loc[1500] > bic.loc[200]).all()  # the paper: BIC improves with n
    assert (table["bic min"] <= table["bic"]).all()


# Specifications ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("specification", "expected"),
    [
        (Specification("ring", girth=6, depth=2), (24, 18, 1)),
        (Specification("tree", n_hidden=3, n_inner=0, leaves=3), (9, 3, 0)),
        (Specification("cage", cage="mcgee", leaves=1), (24, 24, 13)),
        (Specification("cage", cage="mcgee", share=0.999), (24, 0, 13)),
        (Specification("edges", edges="h a\nh b\nh c", hidden="h", leaves=1), (4, 1, 0)),
    ],
)
def test_specifications_build_their_graphs(specification, expected):
    graph = specification.build().graph
    assert (graph.n_observed, graph.n_hidden, graph.n_cycles) == expected
    assert specification.build().graph == graph


def test_a_specified_regular_graph_has_its_girth():
    graph = Specification("regular", n_nodes=30, degree=3, girth=6, leaves=1, seed=3).build().graph
    assert graph.girth >= 6
    assert (graph.degrees[graph.n_observed :] >= 3).all()
    whole = Specification("regular", n_nodes=30, degree=3, girth=3, leaves=1, seed=3).build().graph
    assert (whole.n_hidden, whole.n_observed) == (30, 30)


@pytest.mark.parametrize("kind", ["ising", "symmetric", "tables", "gaussian"])
def test_a_change_of_kind_leaves_no_setting_that_another_kind_rejects(kind):
    chosen = Specification(
        girth=4, kind=kind, n_states=3, lengths=(1, 2), potentials=(0.2, 0.5), fields=(0, 1),
        random_signs=True,
    )  # fmt: skip
    assert chosen.build().kind == kind


@pytest.mark.parametrize(
    ("specification", "message"),
    [
        (Specification("star"), "Unknown family = 'star'"),
        (Specification("ring", girth=100, depth=4), "at most 400"),
        (Specification("cage", cage="tutte 12", leaves=10), "at most 400"),
        (Specification("edges", edges="a b", hidden="c"), "'c' is not in the skeleton"),
        (Specification("edges", edges="a b"), "at least 3 are needed"),
    ],
)
def test_an_invalid_specification_is_rejected_in_one_line(specification, message):
    with pytest.raises(LoopyLatentError, match=message) as caught:
        specification.build()
    assert "\n" not in str(caught.value)


def test_digests_tell_specifications_apart():
    digests = {Specification(seed=k, girth=g).digest for k in range(5) for g in (8, 9)}
    assert len(digests) == 10
    assert Specification().digest == Specification().digest


def test_only_ising_models_have_potentials():
    with pytest.raises(InferenceError, match="use 'ising'"):
        _ = Specification(kind="gaussian").build().potentials
