"""Synthetic models of every type: comparison with enumeration, Gibbs and its diagnostics."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import CUBIC_ORDER

from loopylatent.distances.matrix import information_distances
from loopylatent.errors import DataError, InferenceError, LoopyLatentError, ThresholdError
from loopylatent.synthetic import discrete, gibbs
from loopylatent.synthetic.discrete import (
    _autocorrelation_time,
    autocorrelations,
    energy,
    split_r_hat,
)
from loopylatent.synthetic.families import (
    CAGES,
    cage,
    from_skeleton,
    hidden_by_chance,
    latent_cycle,
    latent_tree,
    read_edges,
    regular_skeleton,
)
from loopylatent.synthetic.model import SyntheticModel

PRISM = nx.circular_ladder_graph(4)
"""Eight nodes of degree 3 with five independent cycles."""


def enumerated(model: SyntheticModel) -> tuple[np.ndarray, np.ndarray]:
    """Every joint state of a small model, and its probability."""
    law = model.discrete
    states = np.array(list(product(range(law.n_states), repeat=model.graph.n_nodes)), np.int16)
    weights = np.zeros(len(states))
    for v in range(model.graph.n_nodes):
        weights += law.layout.node_table(law.cells, v)[states[:, v]]
    for k, (u, v) in enumerate(model.graph.edges.tolist()):
        weights += law.layout.edge_table(law.cells, k)[states[:, u], states[:, v]]
    probabilities = np.exp(weights - weights.max())
    return states, probabilities / probabilities.sum()


def small_models() -> dict[str, SyntheticModel]:
    tetrahedron, house = nx.complete_graph(4), nx.house_x_graph()
    return {
        "several cycles": from_skeleton(PRISM, 0, hidden=[0, 5], random_signs=True, seed=1),
        "cycles and leaves": from_skeleton(tetrahedron, 2, random_signs=True, seed=2),
        "fields on a ring": latent_cycle(4, 2, fields=(-0.6, 0.9), random_signs=True, seed=3),
        "fields on a tree": latent_tree(3, 1, fields=(0.2, 1.0), seed=4),
        "fields on cycles": from_skeleton(house, 0, hidden=[0], fields=(-1, 1), seed=5),
        "three states": from_skeleton(tetrahedron, 1, kind="symmetric", n_states=3, seed=6),
        "three states, random tables": latent_cycle(3, 1, kind="tables", n_states=3, seed=7),
        "four states, random tables": latent_tree(1, 1, kind="tables", n_states=4, seed=8),
        "two states, random tables": from_skeleton(PRISM, 0, hidden=[2], kind="tables", seed=9),
        "strong": from_skeleton(tetrahedron, 1, potentials=(0.8, 1.5), random_signs=True, seed=10),
    }


MODELS = small_models()
each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def strengths_by_enumeration(model: SyntheticModel) -> np.ndarray:
    """e^-distance of every two columns from their enumerated joint tables."""
    states, probabilities = enumerated(model)
    p, size = model.graph.n_observed, model.n_states
    found = np.eye(p)
    for i, j in combinations(range(p), 2):
        joint = np.zeros((size, size))
        np.add.at(joint, (states[:, i], states[:, j]), probabilities)
        spread = joint.sum(axis=0).prod() * joint.sum(axis=1).prod()
        found[i, j] = found[j, i] = abs(np.linalg.det(joint)) / np.sqrt(spread)
    return found


@each_model
def test_exact_distances_are_those_of_the_enumerated_model(model):
    assert model.graph.n_nodes <= 12
    expected = strengths_by_enumeration(model)
    np.testing.assert_allclose(np.exp(-model.exact_distances().values), expected, atol=1e-10)


@each_model
def test_correlations_of_two_states_are_the_enumerated_ones(model):
    if model.n_states > 2:
        with pytest.raises(InferenceError, match="have no correlation"):
            model.correlations()
        return
    states, probabilities = enumerated(model)
    columns = states[:, : model.graph.n_observed].T
    covariance = np.cov(columns, aweights=probabilities, bias=True)
    expected = covariance / np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    np.testing.assert_allclose(model.correlations(), expected, atol=1e-10)


@each_model
def test_edge_lengths_on_trees_add_up_to_the_exact_distances(model):
    if model.graph.n_cycles == 0:
        exact, paths = model.exact_distances().values, model.distances().values
        np.testing.assert_allclose(exact, paths, atol=1e-9)
    elif model.kind == "tables" or (model.law is not None and model.kind == "ising"):
        _, (u, v) = model.graph.n_observed, model.graph.edges.T
        between = (u < model.graph.n_observed) & (v < model.graph.n_observed)
        exact = strengths_by_enumeration(model)[u[between], v[between]]
        np.testing.assert_allclose(np.exp(-model.graph.lengths[between]), exact, atol=1e-9)


def chi_square_is_plausible(counts: np.ndarray, probabilities: np.ndarray) -> bool:
    n = counts.sum()
    expected = n * probabilities
    common = expected > 5  # rarer states would spoil the chi-square
    value = ((counts - expected)[common] ** 2 / expected[common]).sum()
    rare = abs(counts[~common].sum() - expected[~common].sum())
    return bool(abs(value - common.sum()) < 5 * np.sqrt(2 * common.sum()) and rare < 5 * n**0.5)


@each_model
def test_sampled_states_have_the_enumerated_probabilities(model):
    states, probabilities = enumerated(model)
    rows = model.discrete.draw(60_000, np.random.default_rng(11))
    powers = model.n_states ** np.arange(model.graph.n_nodes)[::-1]
    counts = np.bincount(rows.astype(np.int64) @ powers, minlength=len(states))
    assert chi_square_is_plausible(counts, probabilities)
    # the test can fail: the same counts do not fit a model with another seed's order of states
    assert not chi_square_is_plausible(counts, np.roll(probabilities, 1))


@pytest.mark.parametrize(
    "model",
    [
        from_skeleton(PRISM, 0, hidden=[0, 5], lengths=(0.9, 1.6), random_signs=True, seed=1),
        latent_cycle(4, 1, lengths=(0.9, 1.6), fields=(-0.6, 0.9), seed=3),
        from_skeleton(nx.complete_graph(4), 1, lengths=(2, 3), kind="tables", n_states=3, seed=6),
    ],
    ids=["cycles", "fields", "three states"],
)
def test_gibbs_rows_have_the_enumerated_probabilities(model):
    states, probabilities = enumerated(model)
    run = gibbs(model.discrete, 40_000, np.random.default_rng(12), thinning=20)
    assert run.diagnostics.is_good
    assert run.diagnostics.n_effective > 25_000
    powers = model.n_states ** np.arange(model.graph.n_nodes)[::-1]
    counts = np.bincount(run.states.astype(np.int64) @ powers, minlength=len(states))
    assert chi_square_is_plausible(counts, probabilities)
    assert not chi_square_is_plausible(counts, np.roll(probabilities, 1))


def test_exact_rows_in_several_blocks_agree_with_exact_correlations(monkeypatch):
    monkeypatch.setattr(discrete, "BLOCK", 1000)
    model = from_skeleton(cage("heawood"), 1, random_signs=True, seed=3)
    rows = model.sample(20_500, seed=4)
    found = np.corrcoef(rows.dense().T)
    assert np.abs(found - model.correlations()).max() < 5 / np.sqrt(20_500)


@pytest.mark.parametrize(
    "model",
    [
        from_skeleton(cage("mcgee"), 1, seed=1),
        from_skeleton(cage("petersen"), 2, fields=(-0.5, 0.5), seed=2),
        from_skeleton(cage("petersen"), 1, lengths=(0.8, 1.2), kind="gaussian", seed=3),
        latent_cycle(5, 2, depth=2, kind="gaussian", random_signs=True, seed=4),
        from_skeleton(cage("tutte-coxeter"), 0, hidden=[0, 3, 9], seed=5),
    ],
    ids=["mcgee", "fields", "gaussian cage", "gaussian ring", "few hidden"],
)
def test_rows_have_the_exact_correlations_within_sampling_error(model):
    n = 20_000
    drawn = model.draw(n, seed=6)
    assert drawn.is_exact
    found = np.corrcoef(drawn.observations.dense().T)
    exact = model.correlations()
    off = ~np.eye(len(exact), dtype=bool)
    # binary columns with uneven shares have a larger error than (1 - rho^2) / sqrt(n)
    assert (np.abs(found - exact)[off] * np.sqrt(n)).max() < 6
    assert np.abs((found - exact)[off] * np.sqrt(n)).mean() > 0.05  # and the rows do vary


def test_rows_of_three_states_have_the_exact_distances():
    model = from_skeleton(cage("petersen"), 1, kind="tables", n_states=3, seed=2)
    D = information_distances(model.sample(40_000, seed=1))
    assert D.metric == "determinant"
    error = np.exp(-D.values) - np.exp(-model.exact_distances().values)
    assert np.abs(error).max() < 0.04


def test_infeasible_graphs_are_sampled_by_gibbs_and_reject_exact_distances():
    model = from_skeleton(cage("tutte 12"), 1, lengths=(0.9, 1.2), seed=1)
    assert not model.is_exact
    drawn = model.draw(4000, seed=2)
    assert drawn.diagnostics is not None
    assert drawn.diagnostics.is_good
    assert drawn.diagnostics.n_effective > 1000
    with pytest.raises(InferenceError, match="treewidth") as caught:
        model.exact_distances()
    assert "\n" not in str(caught.value)
    # siblings' nearest way is far shorter than any other: path lengths are nearly exact there
    strengths = np.exp(-information_distances(drawn.observations).values)
    u, v = model.graph.edges.T
    owner = {int(a): int(b) for a, b in zip(u, v, strict=True) if a < 126}
    near = [
        (i, j)
        for i, j in combinations(range(126), 2)
        if (min(owner[i], owner[j]), max(owner[i], owner[j])) in set(zip(u, v, strict=True))
    ]
    found = np.mean([strengths[pair] for pair in near])
    hoped = np.mean([np.exp(-model.distances().values[pair]) for pair in near])
    assert found == pytest.approx(hoped, rel=0.25)


def test_chains_that_do_not_mix_are_reported():
    stuck = latent_cycle(6, 2, potentials=(3.0, 3.0))
    run = gibbs(stuck.discrete, 800, np.random.default_rng(0), burn_in=10, thinning=1)
    assert run.diagnostics.r_hat > 1.05
    assert not run.diagnostics.is_good


def test_diagnostics_of_known_traces():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(4, 4000))
    assert split_r_hat(noise) == pytest.approx(1.0, abs=0.01)
    assert split_r_hat(noise + np.arange(4)[:, None]) > 1.3
    assert split_r_hat(noise + np.linspace(0, 4, 4000)) > 1.3  # a drift inside every chain
    assert split_r_hat(np.zeros((2, 100))) == 1.0
    assert _autocorrelation_time(autocorrelations(noise)) == pytest.approx(1.0, abs=0.1)
    walk = np.zeros((6, 20_000))
    for k in range(1, walk.shape[1]):
        walk[:, k] = 0.8 * walk[:, k - 1] + rng.normal(size=6)
    np.testing.assert_allclose(autocorrelations(walk)[:4], 0.8 ** np.arange(4), atol=0.03)
    assert _autocorrelation_time(autocorrelations(walk)) == pytest.approx(1.8 / 0.2, rel=0.2)


def test_energy_is_the_sum_of_the_log_potentials():
    model = MODELS["three states, random tables"]
    states, probabilities = enumerated(model)
    level = energy(model.discrete, states)
    np.testing.assert_allclose(np.diff(level), np.diff(np.log(probabilities)), atol=1e-9)


@pytest.mark.parametrize("kind", ["ising", "symmetric", "tables", "gaussian"])
def test_the_seed_decides_model_and_rows(kind):
    def make(seed: int) -> SyntheticModel:
        return from_skeleton(PRISM, 1, lengths=(0.8, 1.0), kind=kind, seed=seed)

    assert make(3).graph == make(3).graph != make(4).graph
    assert make(3).sample(50, 1).digest == make(3).sample(50, 1).digest
    assert make(3).sample(50, 1).digest != make(3).sample(50, 2).digest


def test_gaussian_cycles_that_are_too_strong_are_rejected():
    with pytest.raises(InferenceError, match="too strong for their cycles"):
        from_skeleton(PRISM, 1, lengths=(0.1, 0.2), kind="gaussian")


@pytest.mark.parametrize(("leaves", "depth"), [(2, 2), (3, 2), (2, 3)])
def test_a_deep_ring_has_trees_below_it(leaves, depth):
    graph = latent_cycle(5, leaves, depth=depth).graph
    assert graph.n_observed == 5 * leaves**depth
    assert graph.n_hidden == 5 * sum(leaves**k for k in range(depth))
    assert (graph.n_cycles, graph.girth, graph.n_components) == (1, 5, 1)
    assert (graph.degrees[: graph.n_observed] == 1).all()
    ring = graph.cycles[0]
    steps = [len(nx.shortest_path(graph.to_networkx(), ring[0], leaf)) - 1 for leaf in range(3)]
    assert min(steps) >= depth


@pytest.mark.parametrize("name", CAGES)
def test_cages_are_regular_with_their_girth(name):
    graph = cage(name)
    degree, girth = {d for _, d in graph.degree}, nx.girth(graph)
    assert len(degree) == 1
    if degree == {3} and girth != 9:
        assert len(graph) == CUBIC_ORDER[girth]


@pytest.mark.parametrize(("n", "degree", "girth"), [(20, 3, 3), (40, 3, 8), (60, 4, 6), (30, 5, 5)])
def test_random_regular_skeletons_have_no_short_cycle(n, degree, girth):
    graph = regular_skeleton(n, degree, girth, seed=2)
    assert len(graph) == n
    assert nx.girth(graph) >= girth
    assert max(d for _, d in graph.degree) <= degree
    whole = regular_skeleton(n, degree, 3, seed=2)
    assert {d for _, d in whole.degree} == {degree}
    assert nx.number_connected_components(graph) == nx.number_connected_components(whole)
    # nothing was removed without need: each missing edge would close a short cycle
    for u, v in set(map(frozenset, whole.edges)) - set(map(frozenset, graph.edges)):
        assert nx.shortest_path_length(graph, u, v) + 1 < girth


def test_nodes_are_observed_with_the_given_probability():
    graph = cage("tutte 12")
    hidden = [len(hidden_by_chance(graph, 0.3, seed=k)) for k in range(40)]
    assert np.mean(hidden) == pytest.approx(0.7 * 126, abs=4 * np.sqrt(126 * 0.21 / 40))
    model = from_skeleton(graph, 0, hidden_by_chance(graph, 0.3, seed=1), seed=2)
    assert model.graph.n_hidden == hidden[1]
    assert (model.graph.n_nodes, model.graph.n_edges) == (126, 189)
    path = nx.path_graph(10)
    assert hidden_by_chance(path, 0.01) == []  # too few neighbours to be hidden


def test_an_edge_list_keeps_its_names():
    graph = read_edges("hub,a\nhub;b\n\n hub c # no\n".replace(" # no", "") + "# end\nhub\td")
    model = from_skeleton(graph, 1, hidden=["hub"], keep_names=True)
    assert model.graph.names == ("a", "b", "c", "d", "hub.1")
    assert model.graph.neighbours(5) == (0, 1, 2, 3, 4)


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: read_edges(""), DataError, "The edge list is empty"),
        (lambda: read_edges("a b\na b c"), DataError, "Line 2 of the edge list has 3 names"),
        (lambda: read_edges("a a"), DataError, "Line 1 connects 'a' to itself"),
        (lambda: cage("peterson"), DataError, "did you mean 'petersen'"),
        (lambda: regular_skeleton(5, 3), ThresholdError, "No graph has 5 nodes of degree 3"),
        (lambda: regular_skeleton(4, 4), ThresholdError, "the degree must be below"),
        (lambda: hidden_by_chance(PRISM, 1.5), ThresholdError, "share = 1.5"),
        (lambda: latent_cycle(depth=2, leaves=1), ThresholdError, "use at least 2 leaves"),
        (lambda: latent_cycle(kind="potts"), ThresholdError, "Unknown kind = 'potts'"),
        (lambda: latent_cycle(n_states=3), ThresholdError, "n_states = 3 needs kind"),
        (lambda: latent_cycle(kind="symmetric", n_states=27), ThresholdError, "at most 26"),
        (lambda: latent_cycle(kind="tables", random_signs=True), ThresholdError, "no sign"),
        (lambda: latent_cycle(kind="gaussian", fields=(0, 1)), ThresholdError, "fields need kind"),
        (lambda: latent_cycle(fields=(1, 0)), ThresholdError, r"fields = \(1, 0\) is not a range"),
        (lambda: latent_cycle(kind="gaussian", potentials=(1, 2)), ThresholdError, "use lengths"),
        (lambda: latent_cycle(kind="gaussian").discrete, InferenceError, "has no tables"),
        (lambda: latent_cycle(kind="tables").potentials, InferenceError, "no Ising potentials"),
        (
            lambda: from_skeleton(read_edges("a.1 a\na b\na c"), 1, ["a"], keep_names=True),
            DataError,
            "Two columns would have the same name",
        ),
    ],
)  # fmt: skip
def test_invalid_parameters_are_rejected_in_one_line(make, kind, message):
    with pytest.raises(kind, match=message) as caught:
        make()
    assert isinstance(caught.value, LoopyLatentError)
    assert "\n" not in str(caught.value)
