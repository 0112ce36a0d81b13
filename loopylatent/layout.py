"""Where each node is drawn: stress majorisation, then labels pushed apart (not in the paper).

Positions are in pixels. They depend on the graph alone, and where earlier positions are given
they stay close to those, so that a picture does not jump when a threshold moves.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import KDTree

from loopylatent._kernels.layout import majorise, principal_axes
from loopylatent.errors import DataError
from loopylatent.graph import FloatArray, IntArray, LatentGraph
from loopylatent.layout_packing import STRETCH, assembled

FONT_SIZE = 13
NODE_SIZE = 7
"""Half the height of a node's symbol."""
CHARACTER_WIDTH = 7.0
LONGEST_LABEL = 24
"""Characters after which a label is cut; the tooltip has the whole name."""

_LINE_HEIGHT = 14.0
_GAP = np.array([6.0, 6.0])  # kept free between two label boxes
_MOST_ROUNDS = 250  # of stress majorisation
_ANCHOR = 0.1  # how strongly a node that was there holds on to its place
_STILL = 0.003  # of an edge: a move that no longer counts


@lru_cache(maxsize=2**14)
def shown_label(name: str, longest: int = LONGEST_LABEL) -> str:
    r"""Return a name as one line that fits under a node.

    Examples
    --------
    >>> shown_label("two\n lines")
    'two lines'
    >>> shown_label("a name that goes on and on and on")
    'a name that goes on and…'
    """
    line = shown_line(name)
    if len(line) <= longest:
        return line
    return line[: longest - 1].rstrip() + "…"


def shown_line(name: str) -> str:
    r"""Return a name on one line, with what turns a line around shown as U+FFFD.

    Examples
    --------
    >>> shown_line("two\n lines")
    'two lines'
    """
    return " ".join("".join(map(_visible, name)).split()) or "(no name)"


def _visible(character: str) -> str:
    """Show what would be invisible or would turn the rest of the line around."""
    kind = unicodedata.category(character)
    if character.isspace():
        return " "
    if kind in ("Cc", "Cs") or unicodedata.bidirectional(character) in _TURNS:
        return "\ufffd"
    return character


_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def label_sizes(labels: Sequence[str]) -> FloatArray:
    """Return the (nodes, 2) width and height that each label takes, about.

    Examples
    --------
    >>> label_sizes(["god", "h1"]).tolist()
    [[21.0, 14.0], [14.0, 14.0]]
    """
    widths = [CHARACTER_WIDTH * sum(map(_cells, shown_label(label))) for label in labels]
    return np.column_stack([widths, np.full(len(widths), _LINE_HEIGHT)])


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def positions(
    graph: LatentGraph,
    *,
    start: NDArray[np.floating] | None = None,
    labels: Sequence[str] | None = None,
    seed: int = 0,
) -> FloatArray:
    """Place the nodes so that distance on the page follows distance on the graph.

    Parameters
    ----------
    graph : LatentGraph
    start : (nodes, 2) array, optional
        Positions to stay close to, such as those before a threshold moved. Rows of NaN are
        nodes that were not there; they begin beside their neighbours.
    labels : sequence of str, optional
        What will be written under the nodes; the graph's own labels by default.
    seed : int
        Breaks ties between nodes that the graph cannot tell apart, such as leaves of a star.

    Returns
    -------
    (nodes, 2) float64 array
        Pixels, x to the right and y down, about a thousand across for a hundred nodes.

    Examples
    --------
    >>> path = LatentGraph.build(["a", "b", "c"], 0, [(0, 1), (1, 2)])
    >>> place = positions(path)
    >>> place.shape
    (3, 2)
    >>> bool(np.allclose(place, positions(path, start=place), atol=1.0))
    True
    """
    before = _checked_start(start, graph.n_nodes)
    texts = graph.labels if labels is None else tuple(labels)
    if len(texts) != graph.n_nodes:
        raise DataError(
            f"{len(texts)} labels for {graph.n_nodes} nodes; give one for each, or none."
        )
    if not texts:
        return np.zeros((0, 2))
    boxes = _node_boxes(texts)
    rng = np.random.default_rng(seed)
    place = np.zeros((graph.n_nodes, 2))
    members = _members_of_components(graph)
    for nodes in members:
        if len(nodes) > 1:
            place[nodes] = _component(graph, nodes, before[nodes], boxes, rng)
    return assembled(place, boxes, members, before)


def filling(place: FloatArray, aspect: float, most: float = 1.5) -> FloatArray:
    """Stretch a layout in one direction, at most ``most`` times, towards an aspect ratio.

    Examples
    --------
    >>> filling(np.array([[0.0, 0.0], [300.0, 100.0]]), aspect=2.0).round(3).tolist()
    [[0.0, 0.0], [300.0, 150.0]]
    """
    width, height = np.ptp(place, axis=0) + 1e-9
    wider = aspect * height / width
    stretched: FloatArray = place * (np.clip(wider, 1, most), np.clip(1 / wider, 1, most))
    return stretched


def _checked_start(start: NDArray[np.floating] | None, n_nodes: int) -> FloatArray:
    if start is None:
        return np.full((n_nodes, 2), np.nan)
    before = np.array(start, dtype=np.float64)
    if before.shape != (n_nodes, 2):
        raise DataError(
            f"start has shape {before.shape}, but the graph has {n_nodes} nodes; "
            f"give ({n_nodes}, 2), with NaN rows for new nodes."
        )
    before[~np.isfinite(before).all(axis=1)] = np.nan
    return before


def _node_boxes(labels: Sequence[str]) -> FloatArray:
    """(nodes, 2) room for the symbol with its label below."""
    sizes = label_sizes(labels)
    sizes[:, 0] = np.maximum(sizes[:, 0], 2 * NODE_SIZE)
    sizes[:, 1] += 2 * NODE_SIZE
    return sizes


def _members_of_components(graph: LatentGraph) -> list[IntArray]:
    """Nodes of each component, the largest component first, then by first node."""
    component = graph.component_of
    members = [np.flatnonzero(component == k) for k in range(graph.n_components)]
    return sorted(members, key=lambda nodes: (-len(nodes), int(nodes[0])))


# One component -----------------------------------------------------------------------------


def _component(
    graph: LatentGraph,
    nodes: IntArray,
    before: FloatArray,
    boxes: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Place one connected component; where it lies as a whole is decided later."""
    targets = _target_distances(graph, nodes)
    pixels = STRETCH * _pixels_per_step(targets, boxes, len(nodes))
    is_new = np.isnan(before[:, 0])
    if is_new.all():
        start = _classical_scaling(targets, rng)
        place = _turned_to_landscape(_stress(targets, start, ~is_new))
    else:
        start = _beside_neighbours(before / pixels, targets, rng)
        place = _turned_towards(_stress(targets, start, ~is_new), start, ~is_new)
    return _pushed_apart(place * pixels, boxes[nodes] + _GAP)


def _target_distances(graph: LatentGraph, nodes: IntArray) -> FloatArray:
    """Path lengths to aim at: an edge is longer where many others need room beside it."""
    number = np.full(graph.n_nodes, -1)
    number[nodes] = np.arange(len(nodes))
    inside = number[graph.edges[:, 0]] >= 0
    u, v = number[graph.edges[inside]].T
    degree = graph.degrees[nodes]
    steps = 0.5 + 0.15 * (degree[u] + degree[v])
    steps[np.minimum(degree[u], degree[v]) == 1] *= 0.75  # leaves stay close
    size = len(nodes)
    matrix = csr_array((steps, (u, v)), shape=(size, size))
    targets: FloatArray = dijkstra(matrix, directed=False)
    np.power(targets, _folding(len(steps) - size + 1, size), out=targets)
    return targets


def _folding(n_cycles: int, size: int) -> float:
    """Power of the distances: below 1 a tree folds up to fill the page; loops need no folding."""
    return 0.7 + 0.3 * min(1.0, 4 * n_cycles / size)


def _pixels_per_step(targets: FloatArray, boxes: FloatArray, size: int) -> float:
    """Scale at which the labels find room: a disc whose radius is the mean target distance."""
    a_label_each = 2.2 * float((boxes + _GAP).prod(axis=1).mean())
    room = size * max(a_label_each, 46_000 / np.sqrt(len(boxes)))
    return float(np.sqrt(room / (np.pi * np.mean(targets**2))))


def _classical_scaling(targets: FloatArray, rng: np.random.Generator) -> FloatArray:
    """First two principal coordinates; a trace of noise parts nodes that fall on one point."""
    squares = targets**2
    means = squares.mean(axis=0)
    centred = (means + means[:, None] - squares - squares.mean()) / 2
    place = principal_axes(centred, rng.normal(size=(len(targets), 2)), 60)
    return place + rng.normal(0, 0.01 * targets.mean(), place.shape)


def _stress(targets: FloatArray, place: FloatArray, anchored: NDArray[np.bool_]) -> FloatArray:
    rounds = int(np.clip(_MOST_ROUNDS * 600 / len(targets), 20, _MOST_ROUNDS))
    return majorise(targets, place, np.where(anchored, _ANCHOR, 0.0), rounds, _STILL)


def _turned_to_landscape(place: FloatArray) -> FloatArray:
    """Lay the longest direction along the page."""
    points = _as_complex(place - place.mean(axis=0))
    points *= np.exp(-0.5j * np.angle(np.sum(points**2)))
    return _as_places(points)


def _turned_towards(place: FloatArray, start: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Shift and turn the picture as a whole so that the kept nodes move least."""
    here, there = place[kept].mean(axis=0), start[kept].mean(axis=0)
    before, after = _as_complex(start[kept] - there), _as_complex(place[kept] - here)
    turn = np.exp(1j * np.angle(np.sum(before * after.conj())))
    turned: FloatArray = _as_places(_as_complex(place - here) * turn) + there
    return turned


def _as_complex(place: FloatArray) -> NDArray[np.complex128]:
    return np.asarray(place[:, 0] + 1j * place[:, 1])


def _as_places(points: NDArray[np.complex128]) -> FloatArray:
    return np.column_stack([points.real, points.imag])


def _beside_neighbours(
    before: FloatArray, targets: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Give each new node a first place: around the nearest placed ones, a little outwards."""
    place = before.copy()
    placed = ~np.isnan(place[:, 0])
    centre = place[placed].mean(axis=0)
    nearest_first = np.argsort(targets[:, placed].min(axis=1), kind="stable")
    for node in nearest_first:
        if placed[node]:
            continue
        known = np.flatnonzero(placed)
        closest = known[np.argsort(targets[node, known], kind="stable")[:3]]
        weights = 1 / targets[node, closest] ** 2
        middle = np.average(place[closest], axis=0, weights=weights)
        outwards = middle - centre + rng.normal(0, 0.1, 2)
        place[node] = middle + 0.5 * outwards / np.hypot(*outwards)
        placed[node] = True
    return place


# Labels ------------------------------------------------------------------------------------


def _pushed_apart(place: FloatArray, boxes: FloatArray) -> FloatArray:
    """Move overlapping boxes apart, each by as little as parts them."""
    place = place.copy()
    for _ in range(12):
        pairs = _near_pairs(place, boxes)
        pushed = 0
        while pushed < 10 and _push(place, boxes, pairs):
            pushed += 1
        if pushed == 0:
            break
    return place


def _near_pairs(place: FloatArray, boxes: FloatArray, margin: float = 30.0) -> IntArray:
    """Pairs whose boxes overlap or nearly do; wide boxes are rare, so they are sought apart."""
    reach = (boxes.mean(axis=0) + boxes.std(axis=0) * 2) + margin
    found = KDTree(place / reach).query_pairs(1.0, p=np.inf, output_type="ndarray")
    wide = np.flatnonzero((boxes + margin > reach).any(axis=1))
    across = [(w, other) for w in wide for other in _touching(place, boxes, int(w), margin)]
    pairs = np.concatenate([found, np.array(across, dtype=np.int64).reshape(-1, 2)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def _touching(place: FloatArray, boxes: FloatArray, node: int, margin: float) -> IntArray:
    room = (boxes + boxes[node]) / 2 + margin
    near = (np.abs(place - place[node]) < room).all(axis=1)
    near[node] = False
    return np.flatnonzero(near)


def _push(place: FloatArray, boxes: FloatArray, pairs: IntArray) -> bool:
    """Move every overlapping pair once, in place; say whether there was one."""
    i, j = pairs.T
    apart = place[j] - place[i]
    overlap = (boxes[i] + boxes[j]) / 2 - np.abs(apart)
    hit = (overlap > 0).all(axis=1)
    if not hit.any():
        return False
    i, j, apart, overlap = i[hit], j[hit], apart[hit], overlap[hit]
    axis = overlap.argmin(axis=1)
    rows = np.arange(len(i))
    move = np.zeros_like(apart)
    side = np.where(apart[rows, axis] < 0, -1.0, 1.0)
    move[rows, axis] = side * (0.45 * overlap[rows, axis] + 0.05)
    np.add.at(place, j, move)
    np.add.at(place, i, -move)
    return True
