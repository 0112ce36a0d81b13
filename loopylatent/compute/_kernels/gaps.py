"""Missing values of a Gaussian, put where the values beside them lead one to expect them."""

from __future__ import annotations

import numpy as np

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, IntArray


@kernel
def fill_gaps(
    precision: FloatArray, off: FloatArray, second: FloatArray, order: IntArray,
    n_present: IntArray, weights: FloatArray, scatter: FloatArray, starts: IntArray,
    smallest: float,
) -> float:  # fmt: skip
    """Complete the means ``off`` of all groups of rows, and add what that brings to ``second``.

    ``order[g]`` lists the columns that group g has and then those that it lacks. With K the
    precision and x what is there, what is missing is expected at -K_mm^-1 K_mx x and spreads by
    K_mm^-1. The scatter of group g begins at ``starts[g]``, row by row; it has none
    where the next begins at the same place.

    Returns the weighted sum of log det K_mm^-1, or NaN where a pivot is below ``smallest``.
    """
    p = len(precision)
    factor, fill = np.empty((p, p)), np.empty((p, p))
    inner, beside = np.empty((p, p)), np.empty((p, p))
    log_det = 0.0
    for g in range(len(order)):
        q = n_present[g]
        m = p - q
        if m == 0:
            continue
        there, gone, weight = order[g, :q], order[g, q:], weights[g]
        found = factorise(precision, gone, factor, smallest)
        if np.isnan(found):
            return np.nan
        log_det -= weight * found
        for a in range(m):
            for b in range(q):
                fill[a, b] = -precision[gone[a], there[b]]
            for b in range(m):
                inner[a, b] = 1.0 if a == b else 0.0
        solve(factor, m, fill, q)
        solve(factor, m, inner, m)
        for a in range(m):
            expected = 0.0
            for b in range(q):
                expected += fill[a, b] * off[g, there[b]]
            off[g, gone[a]] = expected
        if starts[g + 1] > starts[g]:
            own = scatter[starts[g] : starts[g + 1]]
            for a in range(m):
                for b in range(q):
                    total = 0.0
                    for c in range(q):
                        total += fill[a, c] * own[c * q + b]
                    beside[a, b] = total
                    second[gone[a], there[b]] += weight * total
                    second[there[b], gone[a]] += weight * total
                for b in range(m):
                    for c in range(q):
                        inner[a, b] += beside[a, c] * fill[b, c]
        for a in range(m):
            for b in range(m):
                second[gone[a], gone[b]] += weight * inner[a, b]
    return log_det


@kernel
def factorise(matrix: FloatArray, rows: IntArray, factor: FloatArray, smallest: float) -> float:
    """Cholesky of some rows and columns into ``factor``; the log-determinant, or NaN."""
    log_det = 0.0
    for a in range(len(rows)):
        for b in range(a + 1):
            rest = matrix[rows[a], rows[b]]
            for c in range(b):
                rest -= factor[a, c] * factor[b, c]
            if a == b:
                if not rest >= smallest * smallest:
                    return np.nan
                factor[a, a] = np.sqrt(rest)
                log_det += np.log(rest)
            else:
                factor[a, b] = rest / factor[b, b]
    return log_det


@kernel
def solve(factor: FloatArray, m: int, right: FloatArray, width: int) -> None:
    """Replace the first ``m`` rows of ``right`` by the solution, forwards and then backwards."""
    for b in range(width):
        for a in range(m):
            for c in range(a):
                right[a, b] -= factor[a, c] * right[c, b]
            right[a, b] /= factor[a, a]
        for a in range(m - 1, -1, -1):
            for c in range(a + 1, m):
                right[a, b] -= factor[c, a] * right[c, b]
            right[a, b] /= factor[a, a]
