"""Sums of products of sparse columns, pair counts, and missing values of a Gaussian."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import kernel, sized_kernel
from loopylatent.compute.values import FloatArray, IntArray

Indices = NDArray[np.int32]

SLACK = 1e-9
"""Relative; candidates are weighed again without it, by the formula of the dense path."""


@kernel
def near_products(
    row_start: IntArray, row_column: Indices, row_value: FloatArray,
    column_start: IntArray, column_row: Indices, column_value: FloatArray,
    weight: FloatArray, first: FloatArray, spread: FloatArray, total: float, weakest: float,
    by_reach: IntArray, columns: IntArray,
) -> tuple[IntArray, IntArray, FloatArray]:  # fmt: skip
    """Pairs (i, j), i among ``columns`` and j > i, with |correlation| of about ``weakest`` or more.

    Returns i, j and the sums of their products. Columns that share a row are met by walking
    through the rows. Those that share none have the correlation -reach_i reach_j, with
    reach = sum / sqrt(spread): they are met in the order ``by_reach``, largest first, until the
    product falls below ``weakest``.
    """
    p = len(first)
    limit = weakest * weakest * (1.0 - SLACK)
    product, stamp = np.zeros(p), np.full(p, -1, np.int64)
    met = np.empty(p, np.int64)
    left, right, sums = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024)
    n = 0
    for i in columns:
        n_met = 0
        for e in range(column_start[i], column_start[i + 1]):
            row = column_row[e]
            x = column_value[e] * weight[row]
            f = row_start[row + 1] - 1
            while f >= row_start[row] and row_column[f] > i:
                j = row_column[f]
                if stamp[j] != i:
                    stamp[j] = i
                    product[j] = 0.0
                    met[n_met] = j
                    n_met += 1
                product[j] += x * row_value[f]
                f -= 1
        together = n_met
        for j in by_reach:
            if first[i] ** 2 * first[j] ** 2 < limit * spread[i] * spread[j]:
                break
            if j > i and stamp[j] != i:
                product[j] = 0.0
                met[n_met] = j
                n_met += 1
        for k in range(n_met):
            j = met[k]
            sum_of_products = product[j] if k < together else 0.0
            covariance = total * sum_of_products - first[i] * first[j]
            if covariance * covariance >= limit * spread[i] * spread[j]:
                if n == len(left):
                    left, right = np.append(left, left), np.append(right, right)
                    sums = np.append(sums, sums)
                left[n], right[n], sums[n] = i, j, sum_of_products
                n += 1
    return left[:n].copy(), right[:n].copy(), sums[:n].copy()


@kernel
def products_of_pairs(
    column_start: IntArray, column_row: Indices, column_value: FloatArray, weight: FloatArray,
    left: IntArray, right: IntArray,
) -> FloatArray:  # fmt: skip
    """Sum of products of each pair of columns, by walking through both lists of rows at once."""
    sums = np.zeros(len(left))
    for k in range(len(left)):
        a, a_stop = column_start[left[k]], column_start[left[k] + 1]
        b, b_stop = column_start[right[k]], column_start[right[k] + 1]
        while a < a_stop and b < b_stop:
            if column_row[a] < column_row[b]:
                a += 1
            elif column_row[a] > column_row[b]:
                b += 1
            else:
                sums[k] += column_value[a] * weight[column_row[a]] * column_value[b]
                a += 1
                b += 1
    return sums


@kernel
def listed_lengths(
    start: IntArray, other: Indices, length: FloatArray, left: IntArray, right: IntArray
) -> FloatArray:
    """Length of each pair in lists of neighbours (``other`` ascending), NaN where it is in none."""
    found = np.full(len(left), np.nan)
    for k in range(len(left)):
        first, stop = start[left[k]], start[left[k] + 1]
        at = first + np.searchsorted(other[first:stop], right[k])
        if left[k] == right[k]:
            found[k] = 0.0
        elif at < stop and other[at] == right[k]:
            found[k] = length[at]
    return found


LANES = 8
"""Weights of a row that are added at once."""


@kernel
def count_pairs(
    row_start: IntArray, row_column: Indices, weights: Indices, counts: Indices, slot: IntArray
) -> None:
    """Add the ``weights`` (rows, LANES) of each row to the pairs of columns that it lists.

    Pair (i, j), i <= j, is row ``slot[i] + j`` of ``counts``.
    """
    for row in range(len(weights)):
        w = weights[row]
        for a in range(row_start[row], row_start[row + 1]):
            base = slot[row_column[a]]
            for b in range(a, row_start[row + 1]):
                own = counts[base + row_column[b]]
                for lane in range(LANES):
                    own[lane] += w[lane]


@kernel
def sums_of_lane(counts: Indices, lane: int, slot: IntArray, total: float) -> FloatArray:
    """Sums of products of binary columns and a column of ones, for one lane of ``count_pairs``.

    Only entries (i, j) with i <= j are filled.
    """
    p = len(slot)
    sums = np.empty((p + 1, p + 1))
    for i in range(p):
        for j in range(i, p):
            sums[i, j] = counts[slot[i] + j, lane]
        sums[i, p] = sums[i, i]
    sums[p, p] = total
    return sums


@kernel
def correlation_strengths(sums: FloatArray, rounding: float) -> FloatArray:
    """|Correlation| of all pairs i < j, row by row, from sums of products with ones as last column.

    A column whose spread is a share of its squares below ``rounding`` is constant: strength 0.
    """
    p = len(sums) - 1
    total = sums[p, p]
    spread = np.empty(p)
    for i in range(p):
        most = total * sums[i, i]
        spread[i] = most - sums[i, p] * sums[i, p]
        if not spread[i] > rounding * most:
            spread[i] = 0.0
    strength = np.zeros(p * (p - 1) // 2)
    k = 0
    for i in range(p):
        for j in range(i + 1, p):
            scale = np.sqrt(spread[i] * spread[j])
            if scale > 0.0:
                covariance = total * sums[i, j] - sums[i, p] * sums[j, p]
                strength[k] = min(abs(covariance / scale), 1.0)
            k += 1
    return strength


@kernel
def square_of(upper: FloatArray, p: int) -> FloatArray:
    """The symmetric matrix with zero diagonal of the pairs i < j, listed row by row."""
    matrix = np.zeros((p, p))
    k = 0
    for i in range(p):
        for j in range(i + 1, p):
            matrix[i, j] = matrix[j, i] = upper[k]
            k += 1
    return matrix


@sized_kernel(0)  # logarithms: the last digits would differ interpreted
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
    inner, across = np.empty((p, p)), np.empty((p, p))
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
                    across[a, b] = total
                    second[gone[a], there[b]] += weight * total
                    second[there[b], gone[a]] += weight * total
                for b in range(m):
                    for c in range(q):
                        inner[a, b] += across[a, c] * fill[b, c]
        for a in range(m):
            for b in range(m):
                second[gone[a], gone[b]] += weight * inner[a, b]
    return log_det


@sized_kernel(0)  # logarithms: the last digits would differ interpreted
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
