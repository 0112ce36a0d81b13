"""Sums of products of sparse columns: for all near pairs, and for pairs that are asked for.

A table of n rows is given by rows (``row_start``, ``row_column``, ``row_value``) and by columns
(``column_start``, ``column_row``, ``column_value``), both with ascending indices.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute._kernels.jit import kernel
from loopylatent.compute.arrays import FloatArray, IntArray

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
