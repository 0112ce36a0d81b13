"""On which side of its node a label is written: below, or above where that is freer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loopylatent.layout import NODE_SIZE, label_sizes

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

MOST_NODES = 600
"""Above so many nodes labels are too small for it to matter; all stand below."""
_SWEEPS = 3
_ON_A_SYMBOL = 2.0  # what is covered, in edges
_ON_A_LABEL = 3.0
_WORTH = 0.5  # a label leaves its usual side for no less


def labels_above(
    place: NDArray[np.floating] | Sequence[Sequence[float]],
    edges: NDArray[np.integer],
    labels: Sequence[str],
) -> BoolArray:
    """Say for every node whether its label is better written above it than below.

    A label should lie on no edge, no node and no other label. One node after the other takes the
    side where its own label lies on less, until nothing changes.

    Examples
    --------
    >>> down = labels_above([[0.0, 0.0], [0.0, 90.0]], np.array([[0, 1]]), ["top", "bottom"])
    >>> down.tolist()
    [True, False]
    """
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
            above[node] = above_it + _WORTH <= below_it
        if (above == before).all():
            break
    return above


def _boxes(at: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two (nodes, 2, 2) arrays of upper left and lower right corners: below, above."""
    half = np.stack([sizes[:, 0] / 2, np.zeros(len(at))], axis=1)
    near, far = NODE_SIZE + np.zeros(len(at)), NODE_SIZE + sizes[:, 1]
    x = np.zeros(len(at))
    below = np.stack([at - half + np.stack([x, near], 1), at + half + np.stack([x, far], 1)], 1)
    above = np.stack([at - half - np.stack([x, far], 1), at + half - np.stack([x, near], 1)], 1)
    return below, above


def _meet(one: FloatArray, other: FloatArray) -> BoolArray:
    """(ones, others) whether two boxes have more than a border in common."""
    low = np.maximum(one[:, None, 0], other[None, :, 0])
    high = np.minimum(one[:, None, 1], other[None, :, 1])
    met: BoolArray = np.all(low < high, axis=2)
    return met


def _edges_over(boxes: FloatArray, ends: FloatArray) -> FloatArray:
    """How many of the (edges, 2, 2) lines run through each box."""
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
