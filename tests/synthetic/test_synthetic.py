"""Synthetic models: their graphs, exact distances against enumeration, and their samples."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import cubic_graph, hidden_skeleton
from hypothesis import given, settings, strategies as st

from loopylatent.analysis.structure_error import structure_error
from loopylatent.distances.matrix import information_distances
from loopylatent.errors import DataError, InferenceError, LoopyLatentError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.synthetic.closed_forms import Parts, sample_spins
from loopylatent.synthetic.families import from_skeleton, latent_cycle, latent_tree
from loopylatent.synthetic.model import SyntheticModel


def state_probabilities(model: SyntheticModel) -> tuple[np.ndarray, np.ndarray]:
    """Every state of a small model, and its probability by the definition of the Ising model."""
    states = np.array(list(product([-1, 1], repeat=model.graph.n_nodes)))
    theta = np.arctanh(model.edge_correlations)
    u, v = model.graph.edges.T
    weights = np.exp((theta * states[:, u] * states[:, v]).sum(axis=1))
    return states, weights / weights.sum()


def small_models() -> list[SyntheticModel]:
    tailed_ring = nx.cycle_graph(4)
    tailed_ring.add_edges_from([(0, 4), (4, 5), (4, 6), (2, 7)])
    apart = nx.disjoint_union(nx.cycle_graph(3), nx.star_graph(3))
    return [
        latent_cycle(3, 1, seed=1),
        latent_cycle(4, 2, random_signs=True, seed=2),
        latent_cycle(5, 1, lengths=(0.01, 2.0), random_signs=True, seed=3),
        latent_cycle(6, 1, potentials=(0.05, 0.2), seed=4),
        latent_tree(3, 1, random_signs=True, seed=5),
        from_skeleton(tailed_ring, 0, hidden=[0, 4], random_signs=True, seed=6),
        from_skeleton(apart, 0, hidden=[], random_signs=True, seed=7),
    ]


@pytest.mark.parametrize("model", small_models(), ids=repr)
def test_correlations_are_those_of_the_enumerated_model(model: SyntheticModel) -> None:
    assert model.graph.n_nodes <= 12
    states, probabilities = state_probabilities(model)
    columns = states[:, : model.graph.n_observed]
    expected = (columns * probabilities[:, None]).T @ columns
    np.testing.assert_allclose(model.correlations(), expected, atol=1e-12)
    with np.errstate(divide="ignore"):
        distances = -np.log(np.abs(expected))
    reachable = np.isfinite(model.distances().values)
    assert (np.isfinite(model.ising_distances().values) == reachable).all()
    np.testing.assert_allclose(
        model.ising_distances().values[reachable], distances[reachable], atol=1e-9
    )


@pytest.mark.parametrize("model", small_models(), ids=repr)
def test_sampled_states_have_the_enumerated_probabilities(model: SyntheticModel) -> None:
    n = 100_000
    states, probabilities = state_probabilities(model)
    spins = sample_spins(
        Parts.of(model.graph, model.edge_correlations), n, np.random.default_rng(11)
    )
    assert set(np.unique(spins)) == {-1, 1}
    powers = 2 ** np.arange(model.graph.n_nodes)[::-1]
    counts = np.bincount((spins.T > 0) @ powers, minlength=len(states))
    expected = n * probabilities
    common = expected > 5  # rarer states would spoil the chi-square
    chi_square = ((counts - expected)[common] ** 2 / expected[common]).sum()
    assert abs(chi_square - common.sum()) < 5 * np.sqrt(2 * common.sum())
    assert abs(counts[~common].sum() - expected[~common].sum()) < 5 * np.sqrt(n)


@pytest.mark.parametrize(
    "model",
    [
        latent_cycle(10, 2, seed=1),
        latent_cycle(7, 3, potentials=(0.5, 1.0), random_signs=True, seed=2),
        latent_tree(8, 3, random_signs=True, seed=3),
    ],
    ids=repr,
)
def test_rows_have_the_exact_correlations_within_sampling_error(model: SyntheticModel) -> None:
    n = 20_000
    obs = model.sample(n, seed=5)
    D = information_distances(obs)
    assert D.names == model.graph.names
    assert D.n_samples == n
    exact = np.abs(model.correlations())
    error = np.abs(np.exp(-D.values) - exact)
    assert error.max() < 5 / np.sqrt(n)
    significant = exact > 5 / np.sqrt(n)
    assert D.signs is not None
    assert (D.signs[significant] == np.sign(model.correlations())[significant]).all()


def test_rows_are_binary_columns_with_the_names_of_the_graph() -> None:
    obs = latent_cycle(4, 1).sample(50, seed=1)
    assert obs.values.shape == (50, 4)
    assert [(column.name, column.kind) for column in obs.columns] == [
        (f"x{k}", "binary") for k in (1, 2, 3, 4)
    ]


def test_rows_are_the_same_for_the_same_seed_only() -> None:
    model = latent_cycle(6, 2, seed=1)
    first = information_distances(model.sample(500, seed=3))
    assert first.digest == information_distances(model.sample(500, seed=3)).digest
    assert first.digest != information_distances(model.sample(500, seed=4)).digest


def test_both_arcs_of_a_ring_shorten_its_distances() -> None:
    model = latent_cycle(8, 2, seed=1)
    paths, exact = model.distances().values, model.ising_distances().values
    siblings = model.graph.path_lengths()[:16, :16]
    assert (exact <= paths + 1e-12).all()
    assert exact[0, 1] == pytest.approx(siblings[0, 1])  # on one node of the ring: no arc between
    assert exact[0, 8] < paths[0, 8] - 0.1


@pytest.mark.parametrize("leaves", [1, 2, 3])
def test_a_latent_cycle_is_a_ring_with_leaves(leaves: int) -> None:
    graph = latent_cycle(9, leaves, seed=2).graph
    assert (graph.n_observed, graph.n_hidden, graph.girth) == (9 * leaves, 9, 9)
    assert structure_error(graph, hidden_skeleton(nx.cycle_graph(9), leaves)).value == 0


@settings(max_examples=80, deadline=None, derandomize=True)
@given(st.integers(0, 8), st.integers(0, 4), st.integers(0, 2), st.integers(0, 10**6))
def test_latent_trees_have_inner_nodes_of_sufficient_degree(
    n_hidden: int, n_observed_inner: int, leaves: int, seed: int
) -> None:
    if n_hidden + n_observed_inner == 0:
        return
    graph = latent_tree(n_hidden, n_observed_inner, leaves, seed=seed).graph
    assert graph.n_hidden == n_hidden
    assert (graph.n_components, graph.n_cycles) == (1, 0)
    assert all(graph.degrees[node] >= 3 for node in graph.hidden_nodes)
    columns = graph.degrees[: graph.n_observed]
    assert (columns[:n_observed_inner] >= 2).all()
    assert (columns[n_observed_inner:] == 1).all()
    for node in graph.hidden_nodes:
        near = [n for n in graph.neighbours(node) if n < graph.n_observed]
        assert sum(columns[n] == 1 for n in near) >= leaves


@pytest.mark.parametrize("seed", range(5))
def test_distances_of_a_tree_satisfy_the_four_point_condition(seed: int) -> None:
    model = latent_tree(4, 2, seed=seed, random_signs=True)
    D = model.distances().values
    np.testing.assert_allclose(model.ising_distances().values, D, atol=1e-12)
    for i, j, k, m in combinations(range(len(D)), 4):
        sums = sorted([D[i, j] + D[k, m], D[i, k] + D[j, m], D[i, m] + D[j, k]])
        assert sums[1] == pytest.approx(sums[2])


def test_all_nodes_of_a_skeleton_are_hidden_unless_some_are_named() -> None:
    model = from_skeleton(cubic_graph(12), leaves=2)
    assert (model.graph.n_hidden, model.graph.n_edges, model.graph.girth) == (126, 441, 12)
    some = from_skeleton(nx.star_graph(["m", "a", "b", "c"]), leaves=1, hidden=["m"]).graph
    assert (some.names, some.n_hidden) == (("x1", "x2", "x3", "x4"), 1)
    assert some.neighbours(4) == (0, 1, 2, 3)


def test_parameters_lie_in_their_ranges() -> None:
    graph = latent_cycle(20, 2, lengths=(0.5, 0.6)).graph
    assert ((graph.lengths >= 0.5) & (graph.lengths <= 0.6)).all()
    model = latent_cycle(20, 2, potentials=(0.05, 0.2), random_signs=True)
    theta = np.arctanh(model.edge_correlations)
    assert ((np.abs(theta) > 0.05 - 1e-12) & (np.abs(theta) < 0.2 + 1e-12)).all()
    assert {-1, 1} == set(model.signs.tolist())
    assert (latent_cycle(5).signs == 1).all()


@pytest.mark.parametrize("make", [latent_cycle, latent_tree, lambda **k: skeleton_model(**k)])
def test_the_seed_decides_the_model(make) -> None:
    first, again, other = (make(random_signs=True, seed=seed) for seed in (3, 3, 4))
    assert first.graph == again.graph
    assert (first.signs == again.signs).all()
    assert first.graph != other.graph


def skeleton_model(**options) -> SyntheticModel:
    return from_skeleton(nx.petersen_graph(), **options)


def test_the_order_of_a_skeletons_edges_has_no_effect() -> None:
    edges = list(nx.petersen_graph().edges)
    backwards = nx.Graph()
    backwards.add_nodes_from(range(10))
    backwards.add_edges_from(edges[::-1])
    assert skeleton_model(seed=5).graph == from_skeleton(backwards, seed=5).graph


def test_the_closed_form_rejects_several_cycles() -> None:
    model = from_skeleton(nx.petersen_graph())
    with pytest.raises(InferenceError, match="The graph has 6 cycles") as caught:
        Parts.of(model.graph, model.edge_correlations)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: latent_cycle(girth=2), ThresholdError, "girth = 2 is too small; use at least 3"),
        (lambda: latent_cycle(leaves=0), ThresholdError, "leaves = 0 is too small"),
        (lambda: latent_cycle(girth=4.5), ThresholdError, "girth = 4.5 is not a whole number"),
        (lambda: latent_cycle(lengths=(0.4, 0.2)), ThresholdError, r"lengths = \(0.4, 0.2\)"),
        (lambda: latent_cycle(lengths=(0, 1)), ThresholdError, "above 0"),
        (lambda: latent_cycle(lengths=(1, np.inf)), ThresholdError, "above 0"),
        (lambda: latent_cycle(lengths=(np.nan, 1)), ThresholdError, "above 0"),
        (lambda: latent_cycle(lengths=0.3), ThresholdError, "lengths = 0.3 is not a range"),
        (lambda: latent_cycle(lengths="ab"), ThresholdError, "'ab' is not a range"),
        (lambda: latent_cycle(potentials=(1, 30)), ThresholdError, "at most 10"),
        (lambda: latent_cycle(seed=-1), ThresholdError, "seed = -1"),
        (lambda: latent_cycle(seed=None), ThresholdError, "seed = None is not a whole number"),
        (lambda: latent_tree(0, 0), ThresholdError, "needs an inner node"),
        (lambda: latent_tree(-1, 2), ThresholdError, "n_hidden = -1"),
        (lambda: latent_cycle().sample(0), ThresholdError, "n = 0 is too small"),
        (lambda: from_skeleton(nx.Graph()), DataError, "no nodes"),
        (lambda: from_skeleton(nx.DiGraph([(0, 1)])), DataError, "directed"),
        (lambda: from_skeleton(nx.MultiGraph([(0, 1)])), DataError, "parallel"),
        (lambda: from_skeleton(nx.Graph([("a", "a")])), DataError, "'a' .* edge to itself"),
        (lambda: from_skeleton(nx.path_graph(3), 3, hidden=[7]), DataError, "'7' is not in the"),
        (lambda: from_skeleton(nx.path_graph(3), 1), DataError, "'0' has 1 neighbours and 1 leav"),
    ],
)
def test_invalid_parameters_are_rejected_in_one_line(make, kind, message) -> None:
    with pytest.raises(kind, match=message) as caught:
        make()
    assert isinstance(caught.value, LoopyLatentError)
    assert "\n" not in str(caught.value)


def test_observed_nodes_of_a_skeleton_may_have_any_degree() -> None:
    graph = from_skeleton(nx.path_graph(4), leaves=0, hidden=[]).graph
    assert graph == LatentGraph.build(graph.names, 0, [(0, 1), (1, 2), (2, 3)], graph.lengths)
