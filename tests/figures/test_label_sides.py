"""Labels stand on the side of their node where they lie on less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

import loopylatent as ll
from loopylatent.figures.layout import MOST_NODES, NODE_SIZE, label_sizes, labels_above, positions
from loopylatent.figures.network import LABEL_ABOVE, LABEL_BELOW, network
from loopylatent.graph import LatentGraph

Box = tuple[float, float, float, float]


def box_of(place: NDArray[np.float64], label: str, above: bool) -> Box:
    width, height = label_sizes([label])[0]
    x, y = place
    top = y - NODE_SIZE - height if above else y + NODE_SIZE
    return x - width / 2, top, x + width / 2, top + height


def runs_through(box: Box, points: NDArray[np.float64]) -> bool:
    return bool(((points > box[:2]) & (points < box[2:])).all(axis=1).any())


def covered(
    place: NDArray[np.float64], edges: list[tuple[int, int]], labels: list[str], above: list[bool]
) -> float:
    """What all labels lie on, by looking at many points of every edge and at every pair."""
    boxes = [box_of(place[k], labels[k], above[k]) for k in range(len(labels))]
    shares = np.linspace(0, 1, 301)
    lines = [place[u] + shares[:, None] * (place[v] - place[u]) for u, v in edges]
    on_edges = sum(runs_through(box, line) for box in boxes for line in lines)
    symbols = [(x - NODE_SIZE, y - NODE_SIZE, x + NODE_SIZE, y + NODE_SIZE) for x, y in place]
    n = range(len(labels))
    on_symbols = sum(meet(boxes[i], symbols[j]) for i in n for j in n if i != j)
    on_labels = sum(meet(boxes[i], boxes[j]) for i in n for j in range(i))
    return on_edges + 2 * on_symbols + 3 * on_labels


def meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@st.composite
def drawings(
    draw: st.DrawFn,
) -> tuple[NDArray[np.float64], list[tuple[int, int]], list[str]]:
    size = draw(st.integers(1, 7))
    steps = st.integers(-4, 4)
    spots = draw(st.lists(st.tuples(steps, steps), min_size=size, max_size=size, unique=True))
    place = np.array(spots, dtype=np.float64) * (31.0, 23.0)
    pairs = [(u, v) for u in range(size) for v in range(u)]
    edges = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    labels = [draw(st.sampled_from(["a", "abc", "a longer name"])) for _ in range(size)]
    return place, edges, labels


@given(drawings())
def test_labels_lie_on_no_more_than_if_all_stood_below(
    drawn: tuple[NDArray[np.float64], list[tuple[int, int]], list[str]],
) -> None:
    place, edges, labels = drawn
    above = labels_above(place, np.array(edges).reshape(-1, 2), labels).tolist()
    below = [False] * len(labels)
    assert covered(place, edges, labels, above) <= covered(place, edges, labels, below)


def test_a_single_label_takes_the_free_side() -> None:
    """Straight down, straight up, level, a slope that misses the label: seen by hand."""
    for end, expected in (((0, 90), True), ((0, -90), False), ((90, 0), False), ((90, 9), False)):
        found = labels_above([[0.0, 0.0], end], np.array([[0, 1]]), ["ab", ""])
        assert found[0] == expected


def test_fewer_labels_lie_on_edges_in_a_real_graph() -> None:
    distances = ll.information_distances(ll.load_sample("bfi25").observations)
    graph = ll.learn(distances).graph
    place = positions(graph)
    above = labels_above(place, graph.edges, graph.labels)
    edges = [(int(u), int(v)) for u, v in graph.edges]
    before = covered(place, edges, list(graph.labels), [False] * graph.n_nodes)
    assert covered(place, edges, list(graph.labels), above.tolist()) < 0.7 * before


def test_the_picture_writes_them_there() -> None:
    pair = LatentGraph.build(["top", "bottom"], 0, [(0, 1)])
    net = network(pair, np.array([[0.0, 0.0], [0.0, 90.0]]))
    assert [node["font"]["vadjust"] for node in net.nodes] == [LABEL_ABOVE, LABEL_BELOW]


@pytest.mark.parametrize("size", [0, MOST_NODES + 1])
def test_nothing_and_very_much_stay_below(size: int) -> None:
    place = np.zeros((size, 2))
    assert not labels_above(place, np.zeros((0, 2), dtype=int), ["x"] * size).any()
