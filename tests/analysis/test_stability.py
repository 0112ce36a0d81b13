"""Support of edges, hidden nodes and cycles: definitions, true graphs, seeds, threads, failures."""

from __future__ import annotations

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from helpers.graphs import hidden_skeleton, shuffled
from helpers.plain_support import plain_found_again
from hypothesis import given, strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

import loopylatent as ll
from loopylatent.analysis.stability import resampling, runs
from loopylatent.analysis.stability.resampling import (
    Resamples,
    Resampling,
    block_bootstrapped_rows,
    bootstrapped_rows,
    default_block,
    subsampled_rows,
)
from loopylatent.analysis.stability.runs import (
    KINDS,
    Stability,
    edge_kind,
    iter_stability,
    scale,
    scale_frame,
    support_csv,
    support_frame,
)
from loopylatent.analysis.stability.support import Reference, Tally, edges_found, found_again
from loopylatent.cli.main import main
from loopylatent.compute._kernels import draws
from loopylatent.compute._kernels.support import best_assignment
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds, loop_radius
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.synthetic.families import latent_cycle
from loopylatent.tables.observations import Observations


def stability(table, settings=None, *, result=None, progress=None, **how):
    return runs.stability(table, settings, Resampling(**how), result=result, progress=progress)


def consensus_graph(graphs, share):
    return Tally.of(graphs).graph(share)


def ring_rows(seed: int = 0, n: int = 500, girth: int = 8) -> Observations:
    return latent_cycle(girth=girth, leaves=2, seed=seed).sample(n, seed=seed)


def loop_settings(obs: Observations) -> LearnSettings:
    D = information_distances(obs)
    default = default_thresholds(D)
    return LearnSettings(Thresholds(loop_radius(D), default.Lambda, default.tau))


@cache
def ring_support(n_threads: int | None = None) -> Stability:
    obs = ring_rows()
    return stability(obs, loop_settings(obs), n_resamples=8, seed=3, n_threads=n_threads)


def numbers(found: Stability) -> list[list[float]]:
    parts = (found.edges, found.hidden, found.cycles, found.initial_edges)
    return [*(part.tolist() for part in parts), [found.instability]]


# What counts as found again ----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_every_part_of_a_graph_is_found_in_itself_under_another_numbering(seed):
    skeleton = nx.disjoint_union(nx.cycle_graph(7), nx.path_graph(3))
    graph = hidden_skeleton(skeleton, dict.fromkeys(skeleton, 3))
    found = found_again(Reference.of(graph), shuffled(graph, seed))
    assert found.edges.all()
    assert found.hidden.all()
    assert found.cycles.tolist() == [True]
    assert found.agreement == 1.0


def test_a_removed_hidden_node_takes_its_edges_along():
    whole = hidden_skeleton(nx.path_graph(4), {0: 3, 1: 2, 2: 2, 3: 3})
    p, gone = whole.n_observed, whole.n_nodes - 1
    orphans = [n for n in whole.neighbours(gone) if n < p]
    kept = [(u, v) for u, v in whole.edges.tolist() if gone not in (u, v)]
    without = LatentGraph.build(
        whole.names, whole.n_hidden - 1, kept + list(combinations(orphans, 2))
    )
    found = found_again(Reference.of(whole), without)
    assert found.hidden[:2].all()
    assert not found.hidden[-1]
    for edge, back in zip(whole.edges.tolist(), found.edges.tolist(), strict=True):
        assert not (gone in edge and min(edge) < p and back)


def test_an_inner_edge_is_known_by_its_split_and_not_by_its_ends():
    lengths = [1.0] * 8 + [1.0]
    edges = [(0, 8), (1, 8), (2, 8), (3, 8), (4, 9), (5, 9), (6, 9), (7, 9), (8, 9)]
    graph = LatentGraph.build("abcdefgh", 2, edges, lengths)
    moved = [(0, 8), (1, 8), (2, 8), (3, 9), *edges[4:]]
    other = LatentGraph.build("abcdefgh", 2, moved, lengths)
    inner = graph.edges.tolist().index([8, 9])
    assert found_again(Reference.of(graph), graph).edges[inner]
    assert not found_again(Reference.of(graph), other).edges[inner]


@pytest.mark.parametrize(("n_moved", "found"), [(0, True), (1, True), (3, False)])
def test_a_cycle_is_known_by_nearly_all_of_its_columns(n_moved, found):
    names = [f"x{k}" for k in range(14)]
    ring = [(k, (k + 1) % 10) for k in range(10)]
    other = [k if k >= n_moved else 10 + k for k in range(10)]
    graph = LatentGraph.build(names, 0, ring)
    moved = LatentGraph.build(names, 0, [(other[u], other[v]) for u, v in ring])
    again = found_again(Reference.of(graph), moved)
    assert again.cycles.tolist() == [found]


@given(st.integers(0, 2**31), st.integers(0, 2**31))
def test_edges_between_columns_are_found_exactly_where_both_have_them(one, two):
    names = list("abcdef")
    pairs = list(combinations(range(6), 2))
    left, right = ([pairs[k] for k in range(15) if seed >> k & 1] for seed in (one, two))
    order = np.random.default_rng(one).permutation(6)
    renamed = LatentGraph.build([names[k] for k in order], 0, np.argsort(order)[
        np.array(right, dtype=np.int64).reshape(-1, 2)])  # fmt: skip
    graph = LatentGraph.build(names, 0, left)
    expected = [tuple(edge) in right for edge in graph.edges.tolist()]
    assert edges_found(graph, renamed).tolist() == expected
    found = found_again(Reference.of(graph), renamed)
    union = set(left) | set(right)
    assert found.agreement == pytest.approx(
        len(set(left) & set(right)) / len(union) if union else 1
    )


@st.composite
def graph_pairs(draw):
    """Two graphs on the same columns; hidden nodes may be isolated, lengths equal or 0."""
    p = draw(st.integers(1, 8))
    names, rng = [f"x{k}" for k in range(p)], np.random.default_rng(draw(st.integers(0, 2**31)))
    kinds = [np.ones(1), np.array([0.0, 0.5, 1.0]), rng.random(40)]
    lengths = kinds[draw(st.integers(0, 2))]

    def one():
        n = p + draw(st.integers(0, 7))
        pairs = [pair for pair in combinations(range(n), 2) if rng.random() < 2.5 / n]
        return LatentGraph.build(names, n - p, pairs, rng.choice(lengths, len(pairs)))

    return one(), shuffled(one(), draw(st.integers(0, 9)))


def assert_found_as_in_plain_python(graph, other):
    found, plain = found_again(Reference.of(graph), other), plain_found_again(graph, other)
    for part in ("edges", "hidden", "cycles"):
        assert getattr(found, part).tolist() == getattr(plain, part).tolist()
    assert found.agreement == plain.agreement


@given(graph_pairs())
def test_the_same_edges_and_cycles_are_found_again_as_by_plain_python(graphs):
    graph, other = graphs
    found, plain = found_again(Reference.of(graph), other), plain_found_again(graph, other)
    assert found.cycles.tolist() == plain.cycles.tolist()
    p = graph.n_observed
    beyond = (graph.edges[:, 1] < p) | (graph.edges[:, 0] >= p)  # ends that need no matching
    assert found.edges[beyond].tolist() == plain.edges[beyond].tolist()
    if graph.n_hidden == other.n_hidden == 1:
        assert_found_as_in_plain_python(graph, other)


@pytest.mark.parametrize("name", ["newsgroups100_roweislike", "bfi25", "holzinger24"])
def test_the_same_parts_are_found_again_in_resamples_of_a_sample(name):
    obs = ll.load_sample(name).observations
    D, draw = information_distances(obs), bootstrapped_rows(obs, "auto")
    for r in (loop_radius(D), D.r_max):
        settings = LearnSettings(Thresholds(r, 0.0, 0.1))
        graph = learn(D, settings, trace=False).graph
        for k in range(3):
            again = learn(draw(np.random.default_rng([0, k])), settings, trace=False).graph
            assert_found_as_in_plain_python(graph, again)


@given(st.integers(0, 2**31), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_assignments_are_those_of_scipy_ties_included(seed, n, m, has_ties):
    rng = np.random.default_rng(seed)
    gains = rng.integers(0, 4, (n, m)) / 4 if has_ties else rng.random((n, m))
    rows, columns = linear_sum_assignment(gains, maximize=True)
    expected = np.full(n, -1)
    expected[rows] = columns
    assert best_assignment(gains).tolist() == expected.tolist()


def test_eight_threads_find_the_same_parts():
    skeleton = nx.grid_2d_graph(4, 4)
    graph = hidden_skeleton(nx.convert_node_labels_to_integers(skeleton), 3)
    reference, other = Reference.of(graph), shuffled(graph, 1)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: found_again(reference, other), range(40)))
    known = found_again(reference, other)
    assert all((one.edges == known.edges).all() for one in found)
    assert {one.agreement for one in found} == {known.agreement}


# The whole ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["bootstrap", "blocks", "subsample", "orders"])
def test_kept_resamples_give_the_same_support_for_every_setting(scheme):
    obs = ring_rows()
    how = Resampling(scheme=scheme, n_resamples=11, seed=2)
    kept = Resamples.of(obs, how)
    for settings in (loop_settings(obs), None, loop_settings(obs)):
        fresh = runs.stability(obs, settings, how)
        again = runs.stability(obs, settings, how, resamples=kept)
        assert numbers(fresh) == numbers(again)
        assert fresh.consensus() == again.consensus()


def test_resamples_are_drawn_once_and_kept_within_bounds(monkeypatch):
    obs = ring_rows()
    how = Resampling(n_resamples=20)
    kept = Resamples.of(obs, how)
    for _ in range(2):
        runs.stability(obs, loop_settings(obs), how, resamples=kept)
    assert sorted(kept.kept) == [0, 8, 16]
    first = kept.distances(range(8), lambda *_: None)
    assert first is kept.distances(range(8), lambda *_: None)
    assert pickle.loads(pickle.dumps(kept)).kept == {}
    monkeypatch.setattr(resampling, "MOST_BYTES", 17 * kept.D.values.nbytes)
    bounded = Resamples.of(obs, how)
    runs.stability(obs, loop_settings(obs), how, resamples=bounded)
    assert sorted(bounded.kept) == [0]


def test_a_tally_is_counted_when_it_is_read():
    graph = hidden_skeleton(nx.path_graph(3), 3)
    tally = Tally.of([graph, shuffled(graph)])
    assert "edges" not in vars(tally)
    assert tally.counts.tolist() == [2] * graph.n_edges
    assert (tally.n_graphs, tally.n_hidden) == (2, 3)
    with pytest.raises(AttributeError):
        _ = tally.unknown


def test_support_equals_counting_by_hand():
    obs = ring_rows()
    settings = loop_settings(obs)
    found = ring_support()
    graph = learn(information_distances(obs), settings, trace=False)
    draw = bootstrapped_rows(obs, "auto")
    edges, agreement = np.zeros(graph.graph.n_edges), []
    initial = {tuple(edge): 0 for edge in graph.initial_graph.edges.tolist()}
    for k in range(8):
        again = learn(draw(np.random.default_rng([3, k])), settings, trace=False)
        one = found_again(Reference.of(graph.graph), again.graph)
        edges += one.edges
        agreement.append(one.agreement)
        for edge in map(tuple, again.initial_graph.edges.tolist()):
            initial[edge] = initial.get(edge, 0) + 1
    assert found.graph == graph.graph
    assert found.edges.tolist() == (edges / 8).tolist()
    assert found.instability == pytest.approx(1 - np.mean(agreement))
    shares = [initial[tuple(edge)] / 8 for edge in graph.initial_graph.edges.tolist()]
    assert found.initial_edges.tolist() == shares


def test_same_seed_gives_same_numbers_whatever_the_threads():
    assert numbers(ring_support(1)) == numbers(ring_support(3)) == numbers(ring_support())
    assert ring_support(1).consensus() == ring_support(3).consensus()


def test_another_seed_gives_other_numbers():
    obs = ring_rows()
    other = stability(obs, loop_settings(obs), n_resamples=8, seed=4)
    assert numbers(other) != numbers(ring_support())


def test_renamed_and_reordered_columns_keep_their_support():
    obs = ring_rows()
    settings = loop_settings(obs)
    order = np.random.default_rng(5).permutation(obs.n_columns)
    turned = stability(obs.select([obs.names[k] for k in order]), settings, n_resamples=8, seed=3)
    found = ring_support()
    assert turned.instability == pytest.approx(found.instability)
    assert sorted(turned.hidden.tolist()) == sorted(found.hidden.tolist())
    assert by_names(turned) == by_names(found)


def by_names(found: Stability) -> dict[tuple[str, str], float]:
    start = found.initial_graph
    return {
        tuple(sorted((start.names[u], start.names[v]))): support
        for (u, v), support in zip(start.edges.tolist(), found.initial_edges.tolist(), strict=True)
    }


def test_support_is_higher_for_true_parts():
    """Over seeds; the figures themselves are in docs/guide/stability.md."""
    hidden, column_edges = auc_over_seeds(range(6), n_resamples=15)
    assert hidden > 0.65
    assert column_edges > 0.65


@pytest.mark.long
def test_support_is_higher_for_true_parts_over_many_seeds():
    hidden, column_edges = auc_over_seeds(range(30), n_resamples=50)
    assert hidden > 0.75
    assert column_edges > 0.75


def auc_over_seeds(seeds, n_resamples):
    """AUC of hidden nodes and of edges at hidden nodes, pooled over sampled latent cycles."""
    support, true = [[], []], [[], []]
    for seed in seeds:
        model = latent_cycle(girth=10, leaves=2, seed=seed)
        obs = model.sample(500, seed=seed)
        found = stability(obs, loop_settings(obs), n_resamples=n_resamples, seed=seed)
        again = found_again(Reference.of(found.graph), model.graph)
        at_hidden = found.graph.edges[:, 1] >= found.graph.n_observed
        support[0] += found.hidden.tolist()
        true[0] += again.hidden.tolist()
        support[1] += found.edges[at_hidden].tolist()
        true[1] += again.edges[at_hidden].tolist()
    return [roc_auc_score(t, s) for t, s in zip(true, support, strict=True)]


# Schemes -----------------------------------------------------------------------------------


def test_random_orders_do_not_change_the_initial_graph():
    obs = ring_rows(n=200)
    found = stability(obs, loop_settings(obs), scheme="orders", n_resamples=6)
    assert (found.initial_edges == 1).all()
    assert found.edges.min() < 1


def test_exact_distances_without_noise_give_full_support():
    model = latent_cycle(girth=10, leaves=2, seed=2)
    exact = model.distances()
    D = DistanceMatrix.from_array(exact.values, exact.names, n_samples=10**14)
    r = 3.1 * float(model.graph.lengths.max())
    found = stability(D, LearnSettings(Thresholds(r, 1e-4, 0.05)), n_resamples=3)
    assert found.scheme == "noise"
    assert found.instability == 0
    assert found.edges.min() == found.hidden.min() == found.cycles.min() == 1
    assert found.consensus(1.0).n_edges == found.graph.n_edges


def test_blocks_keep_neighbouring_rows_together():
    obs = Observations.from_array(np.random.default_rng(0).normal(size=(60, 3)))
    drawn = weights_of(block_bootstrapped_rows(obs, "auto", 12))
    assert drawn.sum() == 60
    assert np.count_nonzero(np.diff(np.append(drawn, drawn[0]))) <= 2 * 5  # five runs have ten ends


def test_a_subsample_takes_no_row_twice_and_counts_weights_as_rows():
    rng = np.random.default_rng(0)
    obs = Observations.from_array(rng.normal(size=(50, 3)))
    drawn = weights_of(subsampled_rows(obs, "auto", 0.4))
    assert drawn.sum() == 20
    assert set(drawn) == {0.0, 1.0}
    heavy = obs.with_weights(np.full(50, 3.0))
    drawn = weights_of(subsampled_rows(heavy, "auto", 0.4))
    assert drawn.sum() == 60
    assert drawn.max() <= 3
    odd = obs.with_weights(np.full(50, 0.5))
    drawn = weights_of(subsampled_rows(odd, "auto", 0.4))
    assert sorted(drawn) == [0.0] * 30 + [0.5] * 20


def weights_of(resampler):
    (drawn,) = resampler.draw([np.random.default_rng(1)])
    return drawn


def assert_drawn_as_by_numpy(n, seed, count):
    share = np.full(n, 1 / n)
    rngs, others = ([np.random.default_rng([seed, k]) for k in range(count)] for _ in range(2))
    drawn = resampling.EqualRows.of(n)(rngs)
    for times, rng, other in zip(drawn, rngs, others, strict=True):
        assert times.tolist() == other.multinomial(n, share / share.sum()).tolist()
        assert rng.bit_generator.state == other.bit_generator.state


@given(st.integers(1, 400), st.integers(0, 2**31), st.integers(1, 8))
def test_times_drawn_are_those_of_numpy_and_so_is_the_next_random_number(n, seed, count):
    assert_drawn_as_by_numpy(n, seed, count)


@pytest.mark.parametrize("n", [2, 3, 10, 65, 1_000, 40_000])
def test_many_resamples_are_drawn_as_by_numpy(n):
    for seed in range(min(100, 200_000 // n)):
        assert_drawn_as_by_numpy(n, seed, 8)


def test_a_random_number_next_to_a_probability_is_left_to_numpy(monkeypatch):
    chance = resampling.EqualRows.of(50).chance
    uniform, counts = np.random.default_rng(0).random((2, 49)), np.empty((50, 2), np.int32)
    assert (draws.draw_rows(uniform, chance, counts) > 0).all()
    uniform[1, 0] = chance[0, 2] * (1 + 1e-12)
    assert draws.draw_rows(uniform, chance, counts)[1] == -1
    monkeypatch.setattr(draws, "draw_rows", lambda uniform, *_: np.full(len(uniform), -1))
    assert_drawn_as_by_numpy(50, 0, 3)


@pytest.mark.parametrize("n", [7, 8, 9, 26, 27, 28, 1000])
def test_a_block_is_the_cube_root_of_the_rows_rounded_up(n):
    length = default_block(n)
    assert (length - 1) ** 3 < n <= length**3


@pytest.mark.parametrize("scheme", ["blocks", "subsample"])
def test_every_scheme_gives_numbers_between_none_and_all(scheme):
    found = stability(ring_rows(), scheme=scheme, n_resamples=4)
    for part in (found.edges, found.hidden, found.initial_edges):
        assert ((part >= 0) & (part <= 1)).all()
    assert 0 < found.instability < 1


def test_a_tree_stays_a_tree_in_every_resample():
    found = stability(ring_rows(), n_resamples=6)
    assert found.graph.n_cycles == 0
    tally = found.tally
    assert tally.counts.sum() <= tally.n_graphs * (found.graph.n_observed + tally.n_hidden)
    assert found.initial_graph.n_edges == found.graph.n_observed - 1
    assert found.initial_edges.sum() > 0.4 * found.initial_graph.n_edges


# Errors, failures, stopping ----------------------------------------------------------------


def test_failed_resamples_are_counted_with_their_reason():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) + rng.normal(size=(40, 1))
    X[:, 4] = X[:, 3]
    X[0, 4] += 1  # without the first row these two columns are one
    obs = Observations.from_array(X, names=["a", "b", "c", "d", "twin"])
    found = stability(obs, n_resamples=30)
    draws = [
        np.random.default_rng([0, k]).multinomial(40, np.full(40, 1 / 40))[0] for k in range(30)
    ]
    assert [failure.number for failure in found.failures] == [k for k in range(30) if not draws[k]]
    assert found.n_used == 30 - found.n_failed
    assert all("'twin'" in reason for reason in found.reasons)
    assert sum(found.reasons.values()) == found.n_failed > 0


def test_if_every_resample_fails_the_error_says_why():
    D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]], n_samples=20)
    settings = LearnSettings(Thresholds(1.0, 0, 0.1))
    huge = DistanceMatrix.from_array(D.values, n_samples=10**6)
    result = learn(huge, settings, trace=False)
    tiny = LearnSettings(Thresholds(0.5, 0, 0.1))
    with pytest.raises(DataError, match=r"None of 3 resamples could be learned: r = 0\.5"):
        stability(huge, tiny, n_resamples=3, result=result)


def test_stopping_keeps_what_is_done():
    obs = ring_rows()
    steps = iter_stability(obs, how=Resampling(n_resamples=500, seed=3))
    first = [next(steps) for _ in range(4)]
    steps.close()
    assert [one.n_used for one in first] == [1, 2, 3, 4]
    whole = stability(obs, n_resamples=4, seed=3)
    assert numbers(first[-1]) == numbers(whole)
    assert first[-1].n_asked == 500


def test_progress_is_reported_and_can_stop():
    reported = []

    class Enough(Exception):
        pass

    def report(done, total):
        reported.append((done, total))
        if done == 3:
            raise Enough

    with pytest.raises(Enough):
        stability(ring_rows(), n_resamples=500, progress=report)
    assert (3, 500) in reported
    assert max(done for done, _ in reported) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_resamples": 1}, "too small"),
        ({"scheme": "dice"}, "Unknown scheme"),
        ({"scheme": "blocks", "block": 0}, "block = 0"),
        ({"scheme": "subsample", "share": 1.0}, "share = 1"),
        ({"scheme": "subsample", "share": 0.001}, "at least 3 are needed"),
    ],
)
def test_invalid_arguments_are_rejected_in_one_line(arguments, message):
    with pytest.raises(ThresholdError, match=message) as rejected:
        stability(ring_rows(), **arguments)
    assert "\n" not in str(rejected.value)


def test_distances_alone_have_no_rows_to_draw():
    D = information_distances(ring_rows())
    with pytest.raises(DataError, match="only distances are given"):
        stability(D, scheme="bootstrap")
    without = DistanceMatrix.from_array(D.values, D.names)
    with pytest.raises(DataError, match="n_samples"):
        stability(without)


# Consensus and tables ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_the_consensus_of_one_graph_in_many_numberings_is_that_graph(seed):
    rng = np.random.default_rng(seed)
    plain = hidden_skeleton(nx.petersen_graph(), 2)
    graph = LatentGraph.build(
        plain.names, plain.n_hidden, plain.edges, rng.uniform(0.5, 1.5, plain.n_edges)
    )
    agreed = consensus_graph((graph, *(shuffled(graph, seed) for seed in range(4))), 1.0)
    found = found_again(Reference.of(graph), agreed)
    assert agreed.n_hidden == graph.n_hidden
    assert found.agreement == 1.0


def test_the_consensus_holds_exactly_the_edges_of_enough_graphs():
    rng = np.random.default_rng(1)
    names, pairs = list("abcdef"), list(combinations(range(6), 2))
    chosen = [[pair for pair in pairs if rng.random() < 0.5] for _ in range(7)]
    graphs = tuple(LatentGraph.build(names, 0, edges) for edges in chosen)
    for share in (0.2, 0.5, 1.0):
        expected = [p for p in pairs if sum(p in edges for edges in chosen) >= share * 7]
        assert [tuple(e) for e in consensus_graph(graphs, share).edges.tolist()] == expected


def test_no_hidden_node_of_a_consensus_has_fewer_than_three_neighbours():
    consensus = ring_support().consensus(0.4)
    assert all(consensus.degrees[node] >= 3 for node in consensus.hidden_nodes)
    with pytest.raises(ThresholdError, match="share"):
        ring_support().consensus(0)


def test_the_table_has_a_row_for_every_part():
    found = ring_support()
    frame = support_frame(found)
    graph = found.graph
    n_rows = graph.n_hidden + len(graph.cycles) + graph.n_edges + found.initial_graph.n_edges
    assert len(frame) == n_rows
    counts = frame["part"].value_counts()
    inner = sum(edge_kind(graph, u, v) == "inner" for u, v in graph.edges.tolist())
    assert counts.get(KINDS["inner"], 0) == inner
    assert frame["support"].between(0, 1).all()
    named = support_frame(found, [*graph.names, *("mood",) * graph.n_hidden])
    assert "mood" in set(named["one end"])


def test_the_scale_rises_and_its_table_shows_it():
    for kind in ("hidden", "column-hidden", "inner"):
        shares = [step.share for step in scale()[kind]]
        assert shares == sorted(shares)
        assert all(step.n_true <= step.n_parts for step in scale()[kind])
    frame = scale_frame().set_index("part, by support")
    first = scale()["hidden"][0]
    assert frame.loc["hidden node", "0 to 0.1"] == 100 * first.n_true / first.n_parts
    assert len(frame) == len(KINDS)


def test_only_supported_edges_are_left():
    found = ring_support()
    left = found.supported(0.6)
    kept = {
        tuple(e) for e, s in zip(found.graph.edges.tolist(), found.edges, strict=True) if s >= 0.6
    }
    assert {tuple(edge) for edge in left.edges.tolist()} == kept
    assert left.n_nodes == found.graph.n_nodes


# The command line --------------------------------------------------------------------------


def test_the_command_writes_what_the_package_computes(tmp_path, capsys):
    found = ll.stability(ll.load_sample("latent_cycle").observations, n_resamples=3)
    command = ["stability", "sample:latent_cycle", "--resamples", "3"]
    assert main(command) == 0
    shown = capsys.readouterr()
    assert shown.out == support_csv(found)
    assert f"instability {found.instability:.3f}" in shown.err
    target, graph = tmp_path / "support.json", tmp_path / "consensus.json"
    assert main([*command, "-o", str(target), "--consensus", str(graph)]) == 0
    read = json.loads(target.read_text(encoding="utf-8"))
    assert [edge["support"] for edge in read["edges"]] == found.edges.tolist()
    assert read["runs"] == {"asked": 3, "used": 3, "failed": 0}
    assert len(json.loads(graph.read_text(encoding="utf-8"))["edges"]) == found.consensus().n_edges


def test_the_command_fails_in_one_line_with_status_2(capsys):
    assert main(["stability", "sample:bfi25", "-o", "support.xlsx"]) == 2
    assert main(["stability", "sample:bfi25", "--resamples", "1"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert sum(line.startswith("loopylatent:") for line in lines) == 2
