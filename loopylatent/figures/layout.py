"""Positions of nodes and labels: stress majorisation, components side by side.

Not in the paper. Positions are in pixels. They depend only on the graph and, if given, on earlier
positions, so that the picture does not jump when a threshold changes.
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

from loopylatent.compute.values import BoolArray, FloatArray, IntArray
from loopylatent.errors import DataError
from loopylatent.figures.stress import majorise, principal_axes
from loopylatent.graph import LatentGraph

FONT_SIZE = 13
CHARACTER_WIDTH = 7.0
_LINE_HEIGHT = 14.0
LONGEST_LABEL = 24
"""Characters after which a label is cut; the tooltip has the whole name."""


@lru_cache(maxsize=2**14)
def shown_label(name: str, longest: int = LONGEST_LABEL) -> str:
    """Return a name as one line that fits under a node."""
    line = shown_line(name)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


def shown_line(name: str) -> str:
    """Return a name on one line; control characters and direction marks become U+FFFD."""
    return " ".join("".join(map(_visible, name)).split()) or "(no name)"


def _visible(character: str) -> str:
    """Replace characters that are invisible or change the direction of the text."""
    kind = unicodedata.category(character)
    if character.isspace():
        return " "
    if kind in ("Cc", "Cs") or unicodedata.bidirectional(character) in _TURNS:
        return "\ufffd"
    return character


_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def label_sizes(labels: Sequence[str]) -> FloatArray:
    """Return the approximate width and height of each label, (nodes, 2)."""
    widths = [CHARACTER_WIDTH * sum(map(_cells, shown_label(label))) for label in labels]
    return np.column_stack([widths, np.full(len(widths), _LINE_HEIGHT)])


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


NODE_SIZE = 7
"""Half the height of a node's symbol."""

_GAP = np.array([6.0, 6.0])  # between two label boxes
_MOST_ROUNDS = 250  # of stress majorisation
_ANCHOR = 0.1  # weight of the previous position of a node
_STILL = 0.003  # convergence: largest move relative to an edge


def positions(
    graph: LatentGraph,
    *,
    start: NDArray[np.floating] | None = None,
    labels: Sequence[str] | None = None,
    seed: int = 0,
) -> FloatArray:
    """Place the nodes, in pixels, so that distances on the page follow distances on the graph.

    ``start`` are positions to stay close to, with rows of NaN for new nodes. ``labels`` are drawn
    below the nodes. ``seed`` breaks ties, for example between the leaves of a star.
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
    component = graph.component_of
    members = [np.flatnonzero(component == k) for k in range(graph.n_components)]
    members.sort(key=lambda nodes: (-len(nodes), int(nodes[0])))
    for nodes in members:
        if len(nodes) > 1:
            place[nodes] = _component(graph, nodes, before[nodes], boxes, rng)
    return assembled(place, boxes, members, before)


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
    """Return the size of each symbol with its label, (nodes, 2)."""
    sizes = label_sizes(labels)
    sizes[:, 0] = np.maximum(sizes[:, 0], 2 * NODE_SIZE)
    sizes[:, 1] += 2 * NODE_SIZE
    return sizes


# One component -----------------------------------------------------------------------------


def _component(
    graph: LatentGraph,
    nodes: IntArray,
    before: FloatArray,
    boxes: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Place the nodes of one connected component relative to each other."""
    targets = _target_distances(graph, nodes)
    pixels = STRETCH * _pixels_per_step(targets, boxes, len(nodes))
    is_new = np.isnan(before[:, 0])
    if is_new.all():
        start = _classical_scaling(targets, rng)
        place = _turned_to_landscape(_stress(targets, start, ~is_new))
    else:
        start = _near_neighbours(before / pixels, targets, rng)
        place = _turned_towards(_stress(targets, start, ~is_new), start, ~is_new)
    return _pushed_apart(place * pixels, boxes[nodes] + _GAP)


def _target_distances(graph: LatentGraph, nodes: IntArray) -> FloatArray:
    """Return target distances; edges at nodes with many neighbours are longer."""
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
    n_cycles = len(steps) - size + 1
    # an exponent below 1 bends a tree so that it fills the page; loops do not need that
    np.power(targets, 0.7 + 0.3 * min(1.0, 4 * n_cycles / size), out=targets)
    return targets


def _pixels_per_step(targets: FloatArray, boxes: FloatArray, size: int) -> float:
    """Return the scale at which labels fit into a disc with the mean target distance as radius."""
    label_area = 2.2 * float((boxes + _GAP).prod(axis=1).mean())
    room = size * max(label_area, 46_000 / np.sqrt(len(boxes)))
    return float(np.sqrt(room / (np.pi * np.mean(targets**2))))


def _classical_scaling(targets: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the first two principal coordinates; a little noise separates coinciding nodes."""
    squares = targets**2
    means = squares.mean(axis=0)
    centred = (means + means[:, None] - squares - squares.mean()) / 2
    place = principal_axes(centred, rng.normal(size=(len(targets), 2)), 60)
    return place + rng.normal(0, 0.01 * targets.mean(), place.shape)


def _stress(targets: FloatArray, place: FloatArray, anchored: NDArray[np.bool_]) -> FloatArray:
    rounds = int(np.clip(_MOST_ROUNDS * 400 / len(targets), 20, _MOST_ROUNDS))
    return majorise(targets, place, np.where(anchored, _ANCHOR, 0.0), rounds, _STILL)


def _turned_to_landscape(place: FloatArray) -> FloatArray:
    """Rotate the longest direction to the horizontal."""
    points = _as_complex(place - place.mean(axis=0))
    points *= np.exp(-0.5j * np.angle(np.sum(points**2)))
    return _as_places(points)


def _turned_towards(place: FloatArray, start: FloatArray, kept: NDArray[np.bool_]) -> FloatArray:
    """Shift and rotate the whole picture so that the kept nodes move least."""
    here, there = place[kept].mean(axis=0), start[kept].mean(axis=0)
    before, after = _as_complex(start[kept] - there), _as_complex(place[kept] - here)
    turn = np.exp(1j * np.angle(np.sum(before * after.conj())))
    turned: FloatArray = _as_places(_as_complex(place - here) * turn) + there
    return turned


def _as_complex(place: FloatArray) -> NDArray[np.complex128]:
    return np.asarray(place[:, 0] + 1j * place[:, 1])


def _as_places(points: NDArray[np.complex128]) -> FloatArray:
    return np.column_stack([points.real, points.imag])


def _near_neighbours(
    before: FloatArray, targets: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Place each new node near the nearest placed nodes, slightly outwards."""
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
    """Move overlapping boxes apart, as little as possible."""
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
    """Return pairs of boxes that overlap or nearly do; the few wide boxes are searched apart."""
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
    """Move every overlapping pair once, in place; return whether there was one."""
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


STRETCH = np.array([1.2, 0.85])  # screens and labels are wider than high
_COMPONENT_GAP = 40.0
_MOST_PACKED = 60  # further components are set in rows, like single nodes


def assembled(
    place: FloatArray, boxes: FloatArray, members: list[IntArray], before: FloatArray
) -> FloatArray:
    """Arrange the components: the largest packed, the others in rows below."""
    large = [nodes for nodes in members[:_MOST_PACKED] if len(nodes) > 1]
    rest = members[len(large) :]
    place = place.copy()
    bottom, width, middle = 0.0, 0.0, 0.0
    if large:
        preferred = [_preferred_shift(place[nodes], before[nodes]) for nodes in large]
        frames = [_frame(place[nodes], boxes[nodes]) for nodes in large]
        shifts = _packed(np.array(frames), np.array(preferred))
        for nodes, shift in zip(large, shifts, strict=True):
            place[nodes] += shift
        corners = _frame(place[np.concatenate(large)], boxes[np.concatenate(large)])
        bottom, width = corners[1, 1] + _COMPONENT_GAP / 2, corners[1, 0] - corners[0, 0]
        middle = corners[:, 0].mean()
    _set_in_rows(place, boxes, rest, (middle, bottom), width)
    if np.isnan(before).all():
        place -= _frame(place, boxes).mean(axis=0)
    return place


def _preferred_shift(place: FloatArray, before: FloatArray) -> FloatArray:
    """Return no shift for a component that was drawn before; centre a new one on the origin."""
    middle: FloatArray = (place.min(axis=0) + place.max(axis=0)) / 2
    return -middle if np.isnan(before).all() else np.zeros(2)


def _frame(place: FloatArray, boxes: FloatArray) -> FloatArray:
    """Return the upper left and lower right corner around nodes and labels, (2, 2)."""
    corners: FloatArray = np.stack(
        [(place - boxes / 2).min(axis=0), (place + boxes / 2).max(axis=0)]
    )
    return corners


def _packed(frames: FloatArray, preferred: FloatArray) -> FloatArray:
    """Return shifts (k, 2) that keep k frames apart, each close to its preferred shift."""
    shifts = preferred.copy()
    for k in range(1, len(frames)):
        others = frames[:k] + shifts[:k, None]
        options = _options(frames[k], preferred[k], others)
        free = _is_free(frames[k] + options[:, None], others)
        cost = np.hypot(*((options - preferred[k]) / STRETCH).T)
        shifts[k] = options[np.where(free, cost, np.inf).argmin()]
    return shifts


def _options(frame: FloatArray, preferred: FloatArray, others: FloatArray) -> FloatArray:
    """Return shifts to try: the preferred one, and flush with each side of each other frame."""
    gap = _COMPONENT_GAP
    low, high = others[:, 0], others[:, 1]
    flush = (high + gap - frame[0], low - gap - frame[1])  # right of / below, left of / above
    along = (low - frame[0], high - frame[1], (low + high) / 2 - frame.mean(axis=0))
    found = [preferred[None]]
    for side in flush:
        for line in (*along, np.broadcast_to(preferred, low.shape)):
            found.append(np.column_stack([side[:, 0], line[:, 1]]))
            found.append(np.column_stack([line[:, 0], side[:, 1]]))
    return np.concatenate(found)


def _is_free(frames: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    gap = _COMPONENT_GAP - 1e-6
    beyond = frames[:, None, 0] >= others[None, :, 1] + gap
    before = frames[:, None, 1] <= others[None, :, 0] - gap
    clear = np.any(beyond | before, axis=2)
    return np.asarray(np.all(clear, axis=1))


def _set_in_rows(
    place: FloatArray,
    boxes: FloatArray,
    members: list[IntArray],
    top: tuple[float, float],
    width: float,
) -> None:
    """Arrange small components in centred rows below ``top`` = (middle, y), in place."""
    frames = [_frame(place[nodes], boxes[nodes]) for nodes in members]
    sizes = [frame[1] - frame[0] + _COMPONENT_GAP / 2 for frame in frames]
    area = float(sum(size.prod() for size in sizes))
    widths = [float(size[0]) for size in sizes]
    middle, y = top
    for row in _rows(widths, max([width, 1.3 * float(np.sqrt(area)), *widths])):
        x = middle - sum(float(sizes[k][0]) for k in row) / 2
        for k in row:
            corner = np.array([x, y]) + _COMPONENT_GAP / 4
            place[members[k]] += corner - frames[k][0]
            x += float(sizes[k][0])
        y += max(float(sizes[k][1]) for k in row)


def _rows(widths: Sequence[float], widest: float) -> list[list[int]]:
    """Break items into rows of about equal width, none wider than ``widest``."""
    n_rows = max(1, len(_filled_rows(widths, widest)))
    even = sum(widths) / n_rows + max(widths, default=0.0) / 2
    rows = _filled_rows(widths, min(widest, even))
    return rows if len(rows) <= n_rows else _filled_rows(widths, widest)


def _filled_rows(widths: Sequence[float], widest: float) -> list[list[int]]:
    rows: list[list[int]] = []
    used = np.inf
    for k, width in enumerate(widths):
        if used + width > widest + 1e-6:
            rows.append([])
            used = 0.0
        rows[-1].append(k)
        used += width
    return rows


MOST_NODES = 600
"""With more nodes labels are too small for this to matter; all are drawn below."""
_SWEEPS = 3
_ON_A_SYMBOL = 2.0  # cost of covering a symbol, relative to an edge
_ON_A_LABEL = 3.0
_LEAST_GAIN = 0.5  # for which a label moves above its node


def labels_above(
    place: NDArray[np.floating] | Sequence[Sequence[float]],
    edges: NDArray[np.integer],
    labels: Sequence[str],
) -> BoolArray:
    """Return for every node whether its label covers less above it than below."""
    at = np.asarray(place, dtype=np.float64).reshape(-1, 2)
    above = np.zeros(len(at), dtype=np.bool_)
    if not 0 < len(at) <= MOST_NODES:
        return above
    boxes = _boxes(at, label_sizes(labels))
    ends = at[np.asarray(edges, dtype=np.int64).reshape(-1, 2)]
    symbols = np.stack([at - NODE_SIZE, at + NODE_SIZE], axis=1)
    fixed = np.array(
        [_edges_over(box, ends) + _ON_A_SYMBOL * (_meet(box, symbols).sum(1) - 1) for box in boxes]
    )
    meets = np.array([[_meet(one, other) for other in boxes] for one in boxes])
    everyone = np.arange(len(at))
    for _ in range(_SWEEPS):
        before = above.copy()
        for node in everyone:
            others = meets[:, above.astype(int), node, everyone]
            others[:, node] = False
            below_it, above_it = fixed[:, node] + _ON_A_LABEL * others.sum(axis=1)
            above[node] = above_it + _LEAST_GAIN <= below_it
        if (above == before).all():
            break
    return above


def _boxes(at: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the label boxes below and above the nodes: corners, (nodes, 2, 2) each."""
    half = np.stack([sizes[:, 0] / 2, np.zeros(len(at))], axis=1)
    near, far = NODE_SIZE + np.zeros(len(at)), NODE_SIZE + sizes[:, 1]
    x = np.zeros(len(at))
    below = np.stack([at - half + np.stack([x, near], 1), at + half + np.stack([x, far], 1)], 1)
    above = np.stack([at - half - np.stack([x, far], 1), at + half - np.stack([x, near], 1)], 1)
    return below, above


def _meet(one: FloatArray, other: FloatArray) -> BoolArray:
    """Return which pairs of boxes overlap, (ones, others)."""
    low = np.maximum(one[:, None, 0], other[None, :, 0])
    high = np.minimum(one[:, None, 1], other[None, :, 1])
    met: BoolArray = np.all(low < high, axis=2)
    return met


def _edges_over(boxes: FloatArray, ends: FloatArray) -> FloatArray:
    """Count the (edges, 2, 2) lines that cross each box."""
    start, step = ends[:, 0], ends[:, 1] - ends[:, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        into = (boxes[:, None, 0] - start) / step  # where the line passes each border
        out = (boxes[:, None, 1] - start) / step
    inside = (boxes[:, None, 0] < start) & (start < boxes[:, None, 1])
    level = np.broadcast_to(step == 0, inside.shape)
    first = np.where(level, np.where(inside, -np.inf, np.inf), np.fmin(into, out))
    last = np.where(level, np.where(inside, np.inf, -np.inf), np.fmax(into, out))
    begins = np.maximum(first.max(axis=2), 0.0)
    ends_at = np.minimum(last.min(axis=2), 1.0)
    count: FloatArray = (begins < ends_at).sum(axis=1).astype(np.float64)
    return count
