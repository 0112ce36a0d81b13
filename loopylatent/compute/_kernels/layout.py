"""Places of nodes: coordinates from a Gram matrix, and stress majorisation (not in the paper)."""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray


# BLAS would start threads for these sums, which wait for each other on a busy machine
@kernel
def principal_axes(products: FloatArray, start: FloatArray, rounds: int) -> FloatArray:
    """(n, 2) coordinates along the two main axes of a Gram matrix, by subspace iteration."""
    place = start.copy()
    size = len(place)
    first, second = 1.0, 1.0
    for _ in range(rounds):
        image = np.zeros((size, 2))
        for i in range(size):
            for j in range(size):
                image[i, 0] += products[i, j] * place[j, 0]
                image[i, 1] += products[i, j] * place[j, 1]
        first = np.sqrt((image[:, 0] ** 2).sum()) + 1e-300
        along = (image[:, 0] * image[:, 1]).sum() / first**2
        image[:, 1] -= along * image[:, 0]
        second = np.sqrt((image[:, 1] ** 2).sum()) + 1e-300
        place[:, 0] = image[:, 0] / first
        place[:, 1] = image[:, 1] / second
    place[:, 0] *= np.sqrt(first)  # the growth of a unit axis is its eigenvalue
    place[:, 1] *= np.sqrt(second)
    return place


@kernel
def majorise(
    targets: FloatArray, start: FloatArray, anchors: FloatArray, rounds: int, still: float
) -> FloatArray:
    """Lower sum (|x_i - x_j| - t_ij)^2 / t_ij^2 node by node, until no node moves by ``still``.

    An anchor holds a node to its start, as strongly as that share of all other nodes together.
    """
    place = start.copy()
    weights = 1 / (targets * targets)
    size = len(place)
    for _ in range(rounds):
        farthest = 0.0
        for i in range(size):
            x, y, total = 0.0, 0.0, 0.0
            for j in range(size):
                if i == j:
                    continue
                dx = place[i, 0] - place[j, 0]
                dy = place[i, 1] - place[j, 1]
                weight = weights[i, j]
                pull = targets[i, j] / max(np.sqrt(dx * dx + dy * dy), 1e-9)
                x += weight * (place[j, 0] + pull * dx)
                y += weight * (place[j, 1] + pull * dy)
                total += weight
            x += anchors[i] * total * start[i, 0]
            y += anchors[i] * total * start[i, 1]
            total += anchors[i] * total
            farthest = max(farthest, abs(x / total - place[i, 0]), abs(y / total - place[i, 1]))
            place[i, 0] = x / total
            place[i, 1] = y / total
        if farthest < still:
            break
    return place
