"""Stress majorisation: places whose distances follow given target distances."""

from __future__ import annotations

import numpy as np

from loopylatent.compute.limits import one_thread
from loopylatent.compute.values import FloatArray

_AT_ONCE = 2**15
"""Pairs of nodes handled together, few enough for the processor's cache."""


def principal_axes(products: FloatArray, start: FloatArray, rounds: int) -> FloatArray:
    """Return (n, 2) coordinates along the two main axes of a Gram matrix (subspace iteration)."""
    place = start
    with one_thread():
        for _ in range(rounds):
            image = products @ place
            first = np.sqrt(image[:, 0] @ image[:, 0]) + 1e-300
            image[:, 1] -= (image[:, 0] @ image[:, 1]) / first**2 * image[:, 0]
            second = np.sqrt(image[:, 1] @ image[:, 1]) + 1e-300
            place = image / [first, second]
    # the growth of a unit axis is its eigenvalue
    return np.asarray(place * np.sqrt([first, second]))


def majorise(
    targets: FloatArray, start: FloatArray, anchors: FloatArray, rounds: int, still: float
) -> FloatArray:
    """Lower sum (|x_i - x_j| - t_ij)^2 / t_ij^2 until no node moves by ``still``.

    An anchor holds a node to its start, as strongly as that share of all other nodes together.
    Each round goes to the minimum of a quadratic function that lies above the stress and touches
    it at the present places; every second round goes twice as far, where that function is as high
    as at the present places. So the stress never rises.
    """
    weights = np.divide(1.0, targets, out=np.zeros_like(targets), where=targets > 0)
    pulls = weights.copy()  # weight times target distance
    weights *= weights
    total = weights.sum(axis=1)
    held = (anchors * total)[:, None]
    place = start.copy()
    with one_thread():
        inverse = _inverse(weights, total, held[:, 0])
        for k in range(rounds):
            moved = inverse @ (held * start + _pulled(pulls, place)) - place
            farthest = np.abs(moved).max()
            place += moved * (1 + k % 2)
            if farthest < still:
                break
    return place


def _inverse(weights: FloatArray, total: FloatArray, held: FloatArray) -> FloatArray:
    """Invert the matrix of the quadratic function; without anchors the centre is held."""
    matrix = -weights
    matrix[np.diag_indices_from(matrix)] = total + held
    if not held.any():
        matrix += total.mean() / len(total)
    return np.asarray(np.linalg.inv(matrix), np.float64)


def _pulled(pulls: FloatArray, place: FloatArray) -> FloatArray:
    """Sum over the other nodes: unit vector from them, times the pull of the pair."""
    image = np.empty_like(place)
    x, y = place.T.copy()
    step = max(1, _AT_ONCE // len(place))
    for begin in range(0, len(place), step):
        rows = slice(begin, begin + step)
        dx, dy = x[rows, None] - x, y[rows, None] - y
        apart = np.sqrt(dx * dx + dy * dy)
        pull = pulls[rows] / np.maximum(apart, 1e-9, out=apart)
        image[rows, 0] = np.einsum("ij,ij->i", pull, dx)
        image[rows, 1] = np.einsum("ij,ij->i", pull, dy)
    return image
