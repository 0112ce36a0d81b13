from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import weakref

import networkx as nx
import numpy as np
import pytest
from helpers.strategies import distance_matrices
from hypothesis import given, settings, strategies as st
from scipy.sparse import csgraph

from loopylatent.compute._kernels.graphs import spanning_lengths, spanning_tree
from loopylatent.compute._kernels.initial import local_trees_by_bits, rank_pairs
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.learning.initial_graph import edge_density, initial_graph, ranked_pairs


def union_by_networkx(D: DistanceMatrix, r: float) -> set[tuple[int, int]]:
    """The same graph by Kruskal on each ball, with ties broken by (distance, smaller, larger)."""
    found = set()
    for v in range(D.n_columns):
        ball = nx.Graph()
        ball.add_node(v)
        members = np.flatnonzero(D.values[v] <= r)
        for i, a in enumerate(members):
            for b in members[i + 1 :]:
                if np.isfinite(D.values[a, b]):
                    ball.add_edge(int(a), int(b), order=(float(D.values[a, b]), int(a), int(b)))
        ranks = {
            edge: k for k, edge in enumerate(sorted(nx.get_edge_attributes(ball, "order").values()))
        }
        for _, _, data in ball.edges(data=True):
            data["weight"] = ranks[data["order"]]
        found |= {tuple(sorted(edge)) for edge in nx.minimum_spanning_tree(ball).edges}
    return found


def radii(D: DistanceMatrix) -> list[float]:
    finite = np.unique(D.values[np.isfinite(D.values) & (D.values > 0)])
    between = (finite[1:] + finite[:-1]) / 2
    return [*finite.tolist(), *between.tolist(), float(finite.max()) * 1.1]


@given(distance_matrices(max_columns=9), st.integers(0, 10_000))
def test_the_union_equals_kruskal_on_every_ball(D, pick):
    options = radii(D)
    r = options[pick % len(options)]
    graph = initial_graph(D, r)
    assert {tuple(edge) for edge in graph.edges.tolist()} == union_by_networkx(D, r)


def trees_by_scipy(values: np.ndarray, r: float) -> list[list[int]]:
    """The same by scipy, whose weights are ranks from 1, as 0 means no edge there."""
    u, v = np.nonzero(np.triu(np.isfinite(values), 1))
    order = np.lexsort((v, u, values[u, v]))
    ranks = np.zeros(values.shape)
    ranks[u[order], v[order]] = np.arange(1, len(order) + 1)
    found = set()
    for row in values:
        ball = np.flatnonzero(row <= r)
        tree = csgraph.minimum_spanning_tree(ranks[np.ix_(ball, ball)]).tocoo()
        found |= set(zip(ball[tree.row].tolist(), ball[tree.col].tolist(), strict=True))
    return [list(edge) for edge in sorted(found)]


@given(
    st.sampled_from([1, 2, 3, 64, 65, 100, 129]),
    st.sampled_from([1, 4, 30, 10**6]),
    st.sampled_from([0.0, 0.3, 0.9]),
    st.floats(0, 1.1),
    st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=40)
def test_trees_of_all_balls_at_once_equal_one_tree_per_ball(p, n_values, independent, share, seed):
    rng = np.random.default_rng(seed)
    values = np.triu(1.0 + rng.integers(0, n_values, (p, p)), 1)
    values[np.triu(rng.random((p, p)) < independent, 1)] = np.inf
    values += values.T
    r = share * (n_values + 1)
    edges, lengths = local_trees_by_bits(values, rank_pairs(values, np.inf), r)
    assert edges.tolist() == trees_by_scipy(values, r)
    assert np.array_equal(lengths, values[edges[:, 0], edges[:, 1]])
    only_needed, _ = local_trees_by_bits(values, rank_pairs(values, r), r)
    assert np.array_equal(only_needed, edges)


@given(distance_matrices(), st.floats(0, 20))
def test_pairs_are_ranked_by_distance_smaller_and_larger_column(D, up_to):
    expected = sorted(
        (float(D.values[u, v]), u, v)
        for u in range(D.n_columns)
        for v in range(u + 1, D.n_columns)
        if np.isfinite(D.values[u, v]) and D.values[u, v] <= up_to
    )
    assert rank_pairs(D.values, up_to).tolist() == [[u, v] for _, u, v in expected]


@given(distance_matrices(), st.lists(st.integers(0, 10_000), min_size=2, max_size=5))
def test_the_initial_graph_does_not_depend_on_the_radii_asked_for_before(D, picks):
    options = [*radii(D), float("inf")]
    for r in (options[pick % len(options)] for pick in picks):
        edges = [tuple(edge) for edge in initial_graph(D, r).edges.tolist()]
        assert edges == sorted(union_by_networkx(D, r))


def test_the_ranked_pairs_are_kept_with_the_distances_and_not_pickled():
    D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    plain = pickle.dumps(D)
    kept = ranked_pairs(D, 2.5)
    assert kept.tolist() == [[0, 1], [1, 2]]
    assert ranked_pairs(D, 1.0) is kept
    assert ranked_pairs(D, 2.7).tolist() == [[0, 1], [1, 2], [0, 2]]
    assert pickle.dumps(D) == plain
    alive = weakref.ref(ranked_pairs(D, 3.0))
    del D, kept
    gc.collect()
    assert alive() is None


INTERPRETED = """
import numpy as np, loopylatent as ll
rows = np.cumsum(np.random.default_rng(0).normal(size=(40, 70)), axis=1)
D = ll.information_distances(rows)
print(*(ll.initial_graph(D, r).digest for r in (D.r_min, (D.r_min + D.r_max) / 2, D.r_max)))
print(ll.edge_density(D).intervals.tolist())
"""


def test_interpreted_kernels_find_the_same_without_warnings():
    compiled, interpreted = (
        subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", INTERPRETED],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for disabled in ("0", "1")
    )
    assert interpreted == compiled != ""


@given(distance_matrices())
def test_the_curve_gives_at_every_radius_the_graph_built_there(D):
    curve = edge_density(D)
    for r in radii(D):
        built = initial_graph(D, r)
        assert curve.graph_at(r) == built
        assert curve.at(r) == built.n_edges


@given(distance_matrices())
def test_the_edge_set_changes_at_every_breakpoint_and_nowhere_else(D):
    curve = edge_density(D)
    before = set()
    for r in curve.r:
        now = {tuple(edge) for edge in curve.graph_at(float(r)).edges.tolist()}
        assert now != before
        before = now
    assert (curve.n_edges == [curve.at(float(r)) for r in curve.r]).all()


@given(distance_matrices())
def test_components_and_cycles_are_those_of_the_graph_at_every_breakpoint(D):
    curve = edge_density(D)
    graphs = [curve.graph_at(float(r)) for r in curve.r]
    assert curve.n_components.tolist() == [graph.n_components for graph in graphs]
    assert curve.n_cycles.tolist() == [graph.n_cycles for graph in graphs]
    for counts in (curve.n_components, curve.n_cycles):
        assert counts.dtype == np.int64
        assert not counts.flags.writeable


@given(distance_matrices())
def test_components_only_ever_join_and_the_last_ones_are_those_of_finite_distances(D):
    components = edge_density(D).n_components
    assert components[0] < D.n_columns
    assert (np.diff(components) <= 0).all()
    finite = nx.from_numpy_array(np.isfinite(D.values))
    assert components[-1] == nx.number_connected_components(finite)


@given(distance_matrices())
def test_the_spanning_lengths_are_those_of_networkx(D):
    whole = nx.Graph()
    whole.add_nodes_from(range(D.n_columns))
    for a, b in np.argwhere(np.isfinite(np.triu(D.values, 1))).tolist():
        if a < b:
            whole.add_edge(a, b, weight=float(D.values[a, b]))
    forest = nx.minimum_spanning_edges(whole, data=True)
    expected = sorted(data["weight"] for _, _, data in forest)
    assert spanning_lengths(D.values).tolist() == expected


@given(distance_matrices(), st.floats(0, 20))
def test_the_next_change_is_the_nearest_breakpoint_on_that_side(D, r):
    curve = edge_density(D)
    for start in (r, float(curve.r[0]), float(curve.r[-1])):
        above, below = curve.r[curve.r > start], curve.r[curve.r < start]
        assert curve.next_change(start, 1) == (above.min() if len(above) else None)
        assert curve.next_change(start, -1) == (below.max() if len(below) else None)


def test_next_change_visits_every_breakpoint():
    D = DistanceMatrix.from_array([[0, 1, 3, 2], [1, 0, 2.5, 4], [3, 2.5, 0, 1.5], [2, 4, 1.5, 0]])
    curve = edge_density(D)
    r, seen = 0.0, []
    while (r := curve.next_change(r, 1)) is not None:
        seen.append(r)
    assert seen == curve.r.tolist()


@pytest.mark.parametrize("direction", [0, 2, "up"])
def test_an_invalid_direction_is_rejected(direction):
    D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    with pytest.raises(ThresholdError, match="must be 1"):
        edge_density(D).next_change(1.0, direction)


@given(distance_matrices(ties=False, infinities=False))
def test_from_r_max_on_the_graph_is_the_global_spanning_tree(D):
    graph = initial_graph(D, D.r_max)
    assert graph.n_cycles == 0
    assert graph.n_components == 1
    assert graph.lengths.sum() == pytest.approx(
        nx.minimum_spanning_tree(nx.from_numpy_array(D.values)).size(weight="weight")
    )


@given(distance_matrices())
def test_local_msts_are_forests_and_never_use_an_infinite_distance(D):
    parent = spanning_tree(D.values, np.arange(D.n_columns))
    child = np.flatnonzero(parent >= 0)
    forest = nx.Graph(list(zip(child.tolist(), parent[child].tolist(), strict=True)))
    assert len(child) == 0 or nx.is_forest(forest)
    assert np.isfinite(D.values[child, parent[child]]).all()
    finite = nx.from_numpy_array(np.isfinite(D.values))
    assert D.n_columns - len(child) == nx.number_connected_components(finite)


def test_the_curve_does_not_depend_on_how_many_pairs_are_taken_at_a_time(monkeypatch, rng):
    points = np.round(rng.normal(size=(70, 5)), 1)
    D = DistanceMatrix.from_array(np.linalg.norm(points[:, None] - points, axis=2))
    curve = edge_density(D)
    # the package has a function of the module's name, so the module is found by its full name
    module = sys.modules["loopylatent.learning.initial_graph"]
    for size in (1, 17, 10**6):
        monkeypatch.setattr(module, "PAIRS_AT_A_TIME", size)
        assert np.array_equal(edge_density(D).intervals, curve.intervals)


@pytest.mark.parametrize("p", [70, 140])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_the_curve_of_many_columns_gives_the_graph_built_there(p, digits, rng):
    points = rng.normal(size=(p, 3))
    values = np.round(0.5 + np.linalg.norm(points[:, None] - points, axis=2), digits)
    values[np.add.outer(points[:, 0], points[:, 0]) > 2.5] = np.inf
    np.fill_diagonal(values, 0.0)
    D = DistanceMatrix.from_array(values)
    curve = edge_density(D)
    some = rng.choice(curve.r, min(len(curve.r), 12), replace=False)
    for r in (*some.tolist(), D.smallest, D.r_min, D.r_max, 2 * D.r_max):
        assert curve.graph_at(r) == initial_graph(D, r)
        assert curve.graph_at(r).edges.tolist() == trees_by_scipy(D.values, r)


def test_equal_distances_give_the_tree_of_the_first_column():
    D = DistanceMatrix.from_array(1.0 - np.eye(66))
    assert edge_density(D).intervals.tolist() == [[0, v, 1, np.inf] for v in range(1, 66)]
    assert initial_graph(D, 1.0).edges.tolist() == [[0, v] for v in range(1, 66)]


def test_read_only_and_writable_distances_give_the_same():
    values = np.array([[0, 1, 3.0], [1, 0, 2.5], [3, 2.5, 0]])
    frozen = DistanceMatrix.from_array(values).values
    for r in (1.0, 2.5, 3.0):
        one, other = (local_trees_by_bits(d, rank_pairs(d, np.inf), r) for d in (values, frozen))
        assert np.array_equal(one[0], other[0])
        assert np.array_equal(one[1], other[1])


def test_a_radius_below_the_smallest_distance_is_rejected():
    D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2], [3, 2, 0]])
    with pytest.raises(ThresholdError, match="below the smallest distance, 1"):
        initial_graph(D, 0.5)
    assert edge_density(D).at(0.5) == 0
