from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.strategies import distance_matrices
from hypothesis import assume, given, strategies as st

from loopylatent import synthetic
from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import DataError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import edge_density, initial_graph
from loopylatent.learning.learner import iter_steps, learn, visiting_order
from loopylatent.learning.trace import CleanUpStep, Edge, InitialStep, VisitStep, replay
from loopylatent.settings import LearnSettings, Thresholds


@st.composite
def settings_for(draw, D):
    finite = np.unique(D.values[np.isfinite(D.values) & (D.values > 0)])
    r = float(finite[draw(st.integers(0, len(finite) - 1))])
    Lambda = draw(st.sampled_from([0.0, 0.01, 0.1]))
    tau = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]))
    order = draw(st.sampled_from(["degree", "index", "random"]))
    return LearnSettings(Thresholds(r, Lambda, tau), order=order, seed=draw(st.integers(0, 9)))


@st.composite
def problems(draw, **kwargs):
    D = draw(distance_matrices(**kwargs))
    return D, draw(settings_for(D))


@given(problems())
def test_the_result_is_a_proper_latent_graph(problem):
    D, settings = problem
    result = learn(D, settings)
    graph, start = result.graph, result.initial_graph
    assert graph.names == D.names
    assert (graph.degrees[D.n_columns :] >= 3).all()
    assert len({tuple(edge) for edge in graph.edges.tolist()}) == graph.n_edges
    assert (graph.edges[:, 0] < graph.edges[:, 1]).all()
    assert np.isfinite(graph.lengths).all()
    # the components are those of the initial graph: none is torn, none are joined
    pairs = set(zip(start.component_of, graph.component_of[: D.n_columns], strict=True))
    assert len(pairs) == start.n_components == graph.n_components


@given(problems())
def test_replaying_the_trace_gives_the_result(problem):
    D, settings = problem
    result = learn(D, settings)
    assert replay(result.trace) == result.graph
    assert list(map(type, result.trace[:1])) == [InitialStep]
    assert isinstance(result.trace[-1], CleanUpStep)
    assert learn(D, settings, trace=False).graph == result.graph
    assert learn(D, settings, trace=False).trace is None


@given(problems())
def test_a_trace_cut_short_replays_to_the_graph_at_that_step(problem):
    D, settings = problem
    steps = list(iter_steps(D, settings))
    edges = working_edges(steps[:1])
    for k, step in enumerate(steps[1:-1], start=1):
        assert isinstance(step, VisitStep)
        for edge in step.removed:
            assert edges.pop((edge.u, edge.v)) == edge.length
        for edge in step.added:
            assert (edge.u, edge.v) not in edges
            edges[edge.u, edge.v] = edge.length
        assert replay(steps[: k + 1]).n_edges == len(edges)


@given(problems(ties=False), st.randoms(use_true_random=False))
def test_relabelling_the_columns_relabels_the_graph(problem, random):
    D, settings = problem
    if settings.order != "degree":
        settings = LearnSettings(settings.thresholds)
    order = list(range(D.n_columns))
    random.shuffle(order)
    shuffled = DistanceMatrix.from_array(
        D.values[np.ix_(order, order)], [D.names[k] for k in order], D.n_samples
    )
    before, after = learn(D, settings), learn(shuffled, settings)
    assume(not any(has_ties(step) for step in before.trace))
    assert edge_names(before.graph) == edge_names(after.graph)


def has_ties(step):
    """Whether a visit saw equal distances: those of hidden nodes, cut off at 0, may be."""
    if not isinstance(step, VisitStep):
        return False
    lengths = step.distances[np.triu_indices(len(step.distances), 1)]
    finite = lengths[np.isfinite(lengths)]
    return len(np.unique(finite)) < len(finite)


def edge_names(graph):
    return {
        (*sorted((graph.labels[u], graph.labels[v])), round(length, 9))
        for (u, v), length in zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True)
    }


@given(problems())
def test_starting_from_the_curve_changes_nothing(problem):
    D, settings = problem
    start = edge_density(D).graph_at(settings.thresholds.r)
    assert learn(D, settings, start=start).graph == learn(D, settings).graph


def noisy_cycle(n=400, girth=12):
    return information_distances(synthetic.latent_cycle(girth, 2, seed=3).sample(n, seed=5))


def fingerprint(result):
    hasher = hashlib.sha256(result.graph.digest.encode())
    for step in result.trace:
        if isinstance(step, VisitStep):
            hasher.update(step.distances.tobytes())
            hasher.update(repr((step.joins, step.contractions, step.added)).encode())
    return hasher.hexdigest()


def test_one_thread_and_eight_give_the_same_bit_for_bit():
    D = noisy_cycle()
    settings = LearnSettings(Thresholds(2.0, 0.01, 0.1))
    alone = fingerprint(learn(D, settings))
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda _: fingerprint(learn(D, settings)), range(32)))
    assert set(together) == {alone}


def test_a_hidden_node_that_is_contracted_hands_its_outside_edges_on():
    sample = synthetic.latent_cycle(12, 2, seed=3).sample(200, seed=0)
    steps = list(iter_steps(information_distances(sample), LearnSettings(Thresholds(1.0, 0, 0.2))))
    handed = 0
    for k, step in enumerate(steps):
        if not isinstance(step, VisitStep):
            continue
        survivor = {c.removed: c.survivor for c in step.contractions}
        present = working_edges(steps[: k + 1])
        for edge in step.removed:
            inside, outside = sorted((edge.u, edge.v), key=lambda n: n not in step.neighbourhood)
            if outside in step.neighbourhood or inside not in survivor:
                continue
            while inside in survivor:
                inside = survivor[inside]
            pair = tuple(sorted((inside, outside)))
            assert present[pair] <= edge.length
            handed += 1
    assert handed, "this example must hand an edge on"


def working_edges(steps):
    edges = {}
    for step in steps:
        if isinstance(step, InitialStep):
            pairs = map(tuple, step.graph.edges.tolist())
            edges = dict(zip(pairs, step.graph.lengths.tolist(), strict=True))
            continue
        for edge in step.removed:
            del edges[edge.u, edge.v]
        edges.update({(edge.u, edge.v): edge.length for edge in step.added})
    return edges


def test_orders_differ_on_noisy_data_and_the_random_one_follows_its_seed():
    D = noisy_cycle()
    thresholds = Thresholds(2.0, 0.01, 0.1)
    start = initial_graph(D, 2.0)
    by_degree = visiting_order(start, LearnSettings(thresholds))
    degrees = start.degrees[list(by_degree)]
    assert (np.diff(degrees) <= 0).all()
    assert degrees.min() >= 2
    by_index = visiting_order(start, LearnSettings(thresholds, order="index"))
    assert list(by_index) == sorted(by_degree)
    random = [
        visiting_order(start, LearnSettings(thresholds, order="random", seed=s)) for s in (1, 1, 2)
    ]
    assert random[0] == random[1] != random[2]
    assert sorted(random[0]) == sorted(by_degree)


def test_progress_counts_the_visits_and_can_stop_the_learner():
    D = noisy_cycle()
    settings = LearnSettings(Thresholds(2.0, 0.01, 0.1))
    seen = []
    learn(D, settings, progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1]

    class Stopped(Exception):
        pass

    def stop(done, _total):
        if done >= 3:
            raise Stopped

    with pytest.raises(Stopped):
        learn(D, settings, progress=stop)


def test_results_cannot_be_changed_by_accident():
    result = learn(noisy_cycle(), LearnSettings(Thresholds(2.0, 0.01, 0.1)))
    with pytest.raises(ValueError, match="read-only"):
        result.graph.lengths[0] = 1
    visit = next(step for step in result.trace if isinstance(step, VisitStep))
    with pytest.raises(ValueError, match="read-only"):
        visit.distances[0, 0] = 1


def test_a_radius_below_every_distance_and_a_foreign_start_are_rejected():
    D = noisy_cycle()
    with pytest.raises(ThresholdError, match="below the smallest distance"):
        learn(D, LearnSettings(Thresholds(0.0, 0, 0)))
    foreign = DistanceMatrix.from_array([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    with pytest.raises(DataError, match="does not belong"):
        learn(D, LearnSettings(Thresholds(2.0, 0, 0)), start=initial_graph(foreign, 2.0))


def test_distances_of_a_new_hidden_node_are_exact_where_the_metric_is_additive():
    """Each recorded neighbourhood of an exact tree has the distances of the true tree."""
    model = synthetic.latent_tree(9, 3, seed=11)
    D = model.distances()
    result = learn(D, LearnSettings(Thresholds(1.01 * D.r_max, 0.0, 0.05)))
    true = result.graph.path_lengths()
    final = {node: D.n_columns + k for k, node in enumerate(result.trace[-1].hidden_ids)}
    checked = 0
    for step in result.trace:
        if isinstance(step, VisitStep):
            nodes = [n for n in step.neighbourhood if n < D.n_columns or n in final]
            at = [step.neighbourhood.index(n) for n in nodes]
            ids = [final.get(n, n) for n in nodes]
            assert np.allclose(step.distances[np.ix_(at, at)], true[np.ix_(ids, ids)])
            checked += sum(n >= D.n_columns for n in nodes)
    assert checked > 3


def test_the_last_step_says_which_hidden_node_is_which():
    """The working numbers 4 and 5, named in the other order."""
    path = LatentGraph.build("abcd", 0, [(0, 1), (1, 2), (2, 3)], [1.0] * 3)
    gone = (Edge(0, 1, 1.0), Edge(1, 2, 1.0), Edge(2, 3, 1.0))
    ends = ((0, 4), (1, 4), (2, 5), (3, 5), (4, 5))
    new = tuple(Edge(u, v, 0.1 * (1 + k)) for k, (u, v) in enumerate(ends))
    for hidden_ids in ((4, 5), (5, 4)):
        graph = replay([InitialStep(path), CleanUpStep((), gone, new, hidden_ids)])
        first = hidden_ids.index(4) + 4
        assert graph.neighbours(first) == (0, 1, 9 - first)
