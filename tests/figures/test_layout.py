"""Positions: labels apart, components apart, steady when little changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from loopylatent.api import learn
from loopylatent.distances.matrix import information_distances
from loopylatent.errors import DataError
from loopylatent.figures.layout import LONGEST_LABEL, label_sizes, positions, shown_label
from loopylatent.figures.stress import majorise, principal_axes
from loopylatent.graph import LatentGraph
from loopylatent.tables.samples import load_sample


def label_overlap(
    place: NDArray[np.float64], labels: Sequence[str], character: float = 7, line: float = 14
) -> float:
    """Share of labels whose box overlaps another one."""
    widths = np.array([len(shown_label(label)) * character for label in labels])
    dx = np.abs(place[:, 0] - place[:, 0, None])
    dy = np.abs(place[:, 1] - place[:, 1, None])
    hit = (dx < (widths + widths[:, None]) / 2) & (dy < line)
    np.fill_diagonal(hit, False)
    return float(hit.any(axis=1).mean())


def random_graph(seed: int, n_observed: int, n_hidden: int, n_extra: int) -> LatentGraph:
    """A tree of hidden nodes with leaves, and some edges more: like a learned graph."""
    rng = np.random.default_rng(seed)
    n = n_observed + n_hidden
    edges = {
        (n_observed + int(rng.integers(max(0, k - 8), k)), n_observed + k)
        for k in range(1, n_hidden)
    }
    edges |= {(leaf, n_observed + int(rng.integers(n_hidden))) for leaf in range(n_observed)}
    while len(edges) < n - 1 + n_extra:
        u, v = sorted(rng.choice(n, 2, replace=False).tolist())
        edges.add((u, v))
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    names = ["".join(rng.choice(letters, rng.integers(3, 11))) for _ in range(n_observed)]
    ordered = sorted(edges)
    return LatentGraph.build(names, n_hidden, ordered, rng.uniform(0.2, 2.5, len(ordered)))


@pytest.fixture(scope="module")
def newsgroup_graph() -> LatentGraph:
    observations = load_sample("newsgroups100_roweislike").observations
    return learn(information_distances(observations), r=5, Lambda=0, tau=0.4).graph


@pytest.fixture
def two_rings() -> LatentGraph:
    rings = [(k, (k + 1) % 6) for k in range(6)] + [(6 + k, 6 + (k + 1) % 6) for k in range(6)]
    return LatentGraph.build([f"n{k}" for k in range(14)], 0, rings)


def frame(place: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return place.min(axis=0), place.max(axis=0)


def test_newsgroup_labels_hardly_overlap(newsgroup_graph):
    place = positions(newsgroup_graph)
    assert newsgroup_graph.n_nodes > 130
    assert label_overlap(place, newsgroup_graph.labels) <= 0.05


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_a_random_graph_hardly_overlap(seed):
    graph = random_graph(seed, 100, 45, 46)
    place = positions(graph)
    width, height = np.ptp(place, axis=0)
    assert label_overlap(place, graph.labels) <= 0.05
    assert 700 < width < 1800
    assert 400 < height < 1200
    assert width > height


def test_labels_of_a_thousand_nodes_hardly_overlap():
    graph = random_graph(0, 700, 300, 150)
    assert label_overlap(positions(graph), graph.labels) <= 0.05


def test_long_labels_get_the_room_they_need():
    graph = random_graph(1, 40, 15, 5)
    labels = [f"{label} and a long tail of words" for label in graph.labels]
    assert label_overlap(positions(graph, labels=labels), labels) <= 0.05


def test_the_same_graph_gives_the_same_positions(newsgroup_graph):
    first = positions(newsgroup_graph)
    assert np.array_equal(first, positions(newsgroup_graph))
    assert np.isfinite(first).all()


def test_neighbours_lie_closer_than_other_nodes(newsgroup_graph):
    place = positions(newsgroup_graph)
    u, v = newsgroup_graph.edges.T
    along_edges = np.hypot(*(place[u] - place[v]).T)
    between_any = np.hypot(*(place[:, None] - place).reshape(-1, 2).T)
    assert along_edges.mean() < 0.3 * between_any.mean()


def test_a_warm_start_leaves_an_unchanged_graph_where_it_is(newsgroup_graph):
    before = positions(newsgroup_graph)
    moved = np.hypot(*(positions(newsgroup_graph, start=before) - before).T)
    assert np.median(moved) < 3
    assert moved.max() < 20


def test_a_warm_start_keeps_the_picture_when_one_edge_goes(newsgroup_graph):
    graph = newsgroup_graph
    before = positions(graph)
    on_cycle = graph.cycles[-1][:2]
    kept = [not np.array_equal(np.sort(on_cycle), edge) for edge in graph.edges]
    fewer = LatentGraph.build(graph.names, graph.n_hidden, graph.edges[kept], graph.lengths[kept])
    warm = np.hypot(*(positions(fewer, start=before) - before).T)
    cold = np.hypot(*(positions(fewer) - before).T)
    assert fewer.n_edges == graph.n_edges - 1
    assert np.median(warm) < 0.5 * np.median(cold)
    assert warm.max() < 60


def test_a_warm_start_does_not_turn_or_mirror_the_picture(newsgroup_graph):
    before = positions(newsgroup_graph) @ np.array([[0.0, 1.0], [1.0, 0.0]])
    after = positions(newsgroup_graph, start=before)
    for axis in (0, 1):
        assert np.corrcoef(before[:, axis], after[:, axis])[0, 1] > 0.8


def test_new_nodes_begin_beside_their_neighbours():
    graph = random_graph(2, 30, 12, 4)
    before = positions(graph)
    before[[3, 35]] = np.nan
    after = positions(graph, start=before)
    assert np.isfinite(after).all()
    size = np.ptp(after, axis=0).max()
    for node in (3, 35):
        nearest = min(np.hypot(*(after[node] - after[k])) for k in graph.neighbours(node))
        assert nearest < 0.25 * size


def test_a_start_without_any_known_node_is_a_cold_start(two_rings):
    unknown = np.full((two_rings.n_nodes, 2), np.nan)
    assert np.array_equal(positions(two_rings, start=unknown), positions(two_rings))


def test_components_do_not_overlap(two_rings):
    place = positions(two_rings)
    (low, high), (other_low, other_high) = frame(place[:6]), frame(place[6:12])
    assert (high < other_low).any() or (other_high < low).any()
    assert (place[12:, 1] > high[1]).all()  # single nodes in a row below
    assert (place[12:, 1] > other_high[1]).all()


def test_components_that_start_on_one_place_are_moved_apart(two_rings):
    start = positions(two_rings)
    start[6:12] = start[:6]
    place = positions(two_rings, start=start)
    (low, high), (other_low, other_high) = frame(place[:6]), frame(place[6:12])
    assert (high < other_low).any() or (other_high < low).any()
    assert np.hypot(*(place[:6] - start[:6]).T).max() < 30


def test_a_new_component_finds_a_place_beside_the_old_one(two_rings):
    start = positions(two_rings)
    start[6:12] = np.nan
    place = positions(two_rings, start=start)
    (low, high), (other_low, other_high) = frame(place[:6]), frame(place[6:12])
    assert (high < other_low).any() or (other_high < low).any()


def test_many_small_components_keep_apart():
    pairs = [(2 * k, 2 * k + 1) for k in range(90)]
    graph = LatentGraph.build([f"name {k}" for k in range(200)], 0, pairs)
    place = positions(graph)
    assert label_overlap(place, graph.labels) == 0
    width, height = np.ptp(place, axis=0)
    assert 0.4 < width / height < 4


def test_leaves_of_a_star_do_not_fall_on_one_point():
    star = LatentGraph.build([f"leaf {k}" for k in range(40)], 1, [(k, 40) for k in range(40)])
    assert label_overlap(positions(star), star.labels) == 0


def test_graphs_without_edges_or_nodes_have_positions():
    assert positions(LatentGraph.build([], 0, [])).shape == (0, 2)
    assert positions(LatentGraph.build(["a"], 0, [])).tolist() == [[0, 0]]
    grid = positions(LatentGraph.build([f"n{k}" for k in range(50)], 0, []))
    assert len(np.unique(grid[:, 1])) > 3


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(0, 4), st.integers(0, 12))
def test_any_graph_has_finite_separate_positions(seed, n_observed, n_hidden, n_edges):
    rng = np.random.default_rng(seed)
    n = n_observed + n_hidden
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    chosen = rng.permutation(len(pairs))[:n_edges]
    names = [f"column {k}" for k in range(n_observed)]
    graph = LatentGraph.build(names, n_hidden, [pairs[k] for k in chosen])
    place = positions(graph)
    assert np.isfinite(place).all()
    assert label_overlap(place, graph.labels) == 0


@pytest.mark.parametrize("rounds", [1, 2])
def test_majorise_never_raises_the_stress(rounds):
    rng = np.random.default_rng(0)
    targets = np.abs(rng.normal(3, 1, (20, 20))) + 0.1
    targets = targets + targets.T
    np.fill_diagonal(targets, 0)

    def stress(place: NDArray[np.float64]) -> float:
        apart = np.hypot(*(place.T[:, :, None] - place.T[:, None]))
        u, v = np.triu_indices(20, 1)
        return float((((apart - targets)[u, v] / targets[u, v]) ** 2).sum())

    place = rng.normal(size=(20, 2))
    for _ in range(15):
        lower = majorise(targets, place, np.zeros(20), rounds, 0.0)
        assert stress(lower) <= stress(place) + 1e-12
        place = lower


def test_anchors_hold_nodes_near_their_start():
    rng = np.random.default_rng(0)
    targets = np.full((12, 12), 5.0)
    np.fill_diagonal(targets, 0)
    start = rng.normal(size=(12, 2))
    moved = [
        np.hypot(*(majorise(targets, start, np.full(12, anchor), 200, 1e-6) - start).T).mean()
        for anchor in (0.0, 0.1, 10.0)
    ]
    assert moved[0] > moved[1] > moved[2]
    assert moved[2] < 0.5


def test_principal_axes_agree_with_the_eigenvectors():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(30, 2)) * [5, 2]
    points -= points.mean(axis=0)
    found = principal_axes(points @ points.T, rng.normal(size=(30, 2)), 100)
    values, vectors = np.linalg.eigh(points @ points.T)
    for axis, k in ((0, -1), (1, -2)):
        expected = vectors[:, k] * np.sqrt(values[k])
        assert np.allclose(np.abs(found[:, axis]), np.abs(expected), atol=1e-8)


@pytest.mark.parametrize(
    ("start", "message"),
    [(np.zeros((3, 2)), r"\(3, 2\).*14 nodes"), (np.zeros(28), r"\(28,\).*\(14, 2\)")],
)
def test_a_start_of_the_wrong_shape_is_rejected(two_rings, start, message):
    with pytest.raises(DataError, match=message):
        positions(two_rings, start=start)


def test_labels_of_the_wrong_number_are_rejected(two_rings):
    with pytest.raises(DataError, match="2 labels for 14 nodes"):
        positions(two_rings, labels=["a", "b"])


def test_the_start_is_not_changed(two_rings):
    start = positions(two_rings)
    start[3] = np.nan
    copy = start.copy()
    positions(two_rings, start=start)
    assert np.array_equal(start, copy, equal_nan=True)


def test_shown_labels_are_one_short_visible_line():
    assert shown_label("a\r\n\tb") == "a b"
    assert shown_label("") == shown_label(" \n ") == "(no name)"
    assert shown_label("x\x00y\u202ez") == "x\ufffdy\ufffdz"
    assert len(shown_label("word " * 30)) <= LONGEST_LABEL


def test_wide_characters_take_two_cells():
    narrow, wide = label_sizes(["ab", "漢字"])[:, 0]
    assert wide == 2 * narrow
