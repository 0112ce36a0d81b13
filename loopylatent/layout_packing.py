"""The components of a drawn graph side by side, none on another, each near where it was."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from loopylatent.graph import FloatArray, IntArray

STRETCH = np.array([1.2, 0.85])  # screens and labels are wider than high
_COMPONENT_GAP = 40.0
_MOST_PACKED = 60  # components beyond these are set in rows, as single nodes are


def assembled(
    place: FloatArray, boxes: FloatArray, members: list[IntArray], before: FloatArray
) -> FloatArray:
    """Set the components side by side: the largest by themselves, the rest in rows below."""
    large = [nodes for nodes in members[:_MOST_PACKED] if len(nodes) > 1]
    rest = members[len(large) :]
    place = place.copy()
    bottom, width = 0.0, 0.0
    if large:
        wanted = [_wanted_shift(place[nodes], before[nodes]) for nodes in large]
        frames = [_frame(place[nodes], boxes[nodes]) for nodes in large]
        shifts = _packed(np.array(frames), np.array(wanted))
        for nodes, shift in zip(large, shifts, strict=True):
            place[nodes] += shift
        corners = _frame(place[np.concatenate(large)], boxes[np.concatenate(large)])
        bottom, width = corners[1, 1] + _COMPONENT_GAP / 2, corners[1, 0] - corners[0, 0]
        middle = corners[:, 0].mean()
    else:
        middle = 0.0
    _set_in_rows(place, boxes, rest, (middle, bottom), width)
    if np.isnan(before).all():
        everything = _frame(place, boxes)
        place -= everything.mean(axis=0)
    return place


def _wanted_shift(place: FloatArray, before: FloatArray) -> FloatArray:
    """Where the component was, or centred on the origin when it is new."""
    if np.isnan(before).all():
        shift: FloatArray = -(place.min(axis=0) + place.max(axis=0)) / 2
        return shift
    return np.zeros(2)


def _frame(place: FloatArray, boxes: FloatArray) -> FloatArray:
    """(2, 2) upper left and lower right corner around nodes and labels."""
    corners: FloatArray = np.stack(
        [(place - boxes / 2).min(axis=0), (place + boxes / 2).max(axis=0)]
    )
    return corners


def _packed(frames: FloatArray, wanted: FloatArray) -> FloatArray:
    """(k, 2) shifts that keep k frames apart, each as near to its wanted shift as can be."""
    shifts = wanted.copy()
    for k in range(1, len(frames)):
        others = frames[:k] + shifts[:k, None]
        options = _options(frames[k], wanted[k], others)
        free = _is_free(frames[k] + options[:, None], others)
        cost = np.hypot(*((options - wanted[k]) / STRETCH).T)
        shifts[k] = options[np.where(free, cost, np.inf).argmin()]
    return shifts


def _options(frame: FloatArray, wanted: FloatArray, others: FloatArray) -> FloatArray:
    """Shifts to try: the wanted one, and flush with each side of each other frame."""
    gap = _COMPONENT_GAP
    low, high = others[:, 0], others[:, 1]
    flush = (high + gap - frame[0], low - gap - frame[1])  # right of / below, left of / above
    along = (low - frame[0], high - frame[1], (low + high) / 2 - frame.mean(axis=0))
    found = [wanted[None]]
    for side in flush:
        for line in (*along, np.broadcast_to(wanted, low.shape)):
            found.append(np.column_stack([side[:, 0], line[:, 1]]))
            found.append(np.column_stack([line[:, 0], side[:, 1]]))
    return np.concatenate(found)


def _is_free(frames: FloatArray, others: FloatArray) -> NDArray[np.bool_]:
    """Which frames keep clear of all others."""
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
    """Set small components in centred rows from ``top`` = (middle, y) downwards, in place."""
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
    """Break a line of things into rows about equally wide, none wider than ``widest``."""
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
