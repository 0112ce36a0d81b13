"""Strength s = e^-d of every two columns, from sums over rows (section 3.1).

Each function makes one pass over the rows in blocks; a block costs one or a few matrix products.
Sums of whole numbers are exact, so equal counts give equal strengths, bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from loopylatent.data import Observations

FloatArray = NDArray[np.float64]
BLOCK_CELLS = 1 << 22
"""Cells of one block of rows (32 MB of doubles)."""
SMALLEST_COUNT = 3
"""A pair with fewer common rows than this says nothing; it counts as independent."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Strength of every pair, with its sign and the rows behind it where those are known."""

    values: FloatArray
    """(p, p) in [0, 1]."""
    signs: NDArray[np.int8] | None = None
    counts: FloatArray | None = None
    """(p, p) rows in which both columns are present; None where nothing is missing."""


def correlation_strengths(obs: Observations) -> Strengths:
    """Return |Pearson correlation| on the rows in which both columns are present."""
    if obs.is_sparse:
        return _pearson(_sparse_sums(obs.values, obs.weights), None)
    return _pearson_dense(obs, obs.values)


def rank_strengths(obs: Observations) -> Strengths:
    """Return |Spearman correlation|: the same on the ranks within each column."""
    values = obs.dense()
    ranks = np.column_stack([_ranks(column, obs.weights) for column in values.T])
    return _pearson_dense(obs, ranks)


def determinant_strengths(obs: Observations, *, normalised: bool) -> Strengths:
    """Return |det P_ij| / sqrt(det P_i det P_j), or the bare |det P_ij| of the printed formula."""
    n_states = len(obs.columns[0].states)
    p = obs.n_columns
    tables = _joint_tables(obs, [n_states] * p).reshape(p, n_states, p, n_states)
    tables = tables.transpose(0, 2, 1, 3)
    counts = tables.sum(axis=(2, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = tables / counts[..., None, None]
        strength = np.abs(np.linalg.det(joint))
        if normalised:
            rows, columns = joint.sum(axis=3), joint.sum(axis=2)
            strength = strength / np.sqrt(rows.prod(axis=2) * columns.prod(axis=2))
    return Strengths(_trusted(strength, counts), None, counts if obs.has_missing else None)


def canonical_strengths(obs: Observations) -> Strengths:
    """Return the largest canonical correlation, whatever the kinds of the two columns.

    A discrete column enters as its indicators divided by the root of their shares, a numeric one
    as its standard score. The strength is then the largest singular value of the block of cross
    moments, which is |correlation| for numeric and binary columns.
    """
    sizes = [len(c.states) if c.kind in ("binary", "categorical") else 1 for c in obs.columns]
    blocks, counts = _whitened_blocks(obs, sizes)
    strength = np.linalg.svd(blocks, compute_uv=False)[..., 0].astype(np.float64)
    return Strengths(_trusted(strength, counts), None, counts if obs.has_missing else None)


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the rows in which both columns of a pair are present, each (p, p) or a scalar."""

    count: FloatArray
    first: FloatArray
    """Sum of column i (row index) over the rows that i shares with j (column index)."""
    square: FloatArray
    product: FloatArray


def _pearson(sums: _Sums, counts: FloatArray | None) -> Strengths:
    n = sums.count
    spread = n * sums.square - sums.first**2
    covariance = n * sums.product - sums.first * sums.first.T
    scale = np.sqrt(np.maximum(spread, 0) * np.maximum(spread, 0).T)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(scale > 0, covariance / scale, 0.0)
    rho = np.clip((rho + rho.T) / 2, -1.0, 1.0)
    return Strengths(_trusted(np.abs(rho), n), np.sign(rho).astype(np.int8), counts)


def _pearson_dense(obs: Observations, values: FloatArray) -> Strengths:
    shift = _shift(values)
    with _controller().limit(limits=1, user_api="blas"):
        if obs.has_missing:
            sums = _sums_with_missing(values, obs.weights, shift)
            return _pearson(sums, sums.count)
        return _pearson(_complete_sums(values, obs.weights, shift), None)


@cache
def _controller() -> ThreadpoolController:
    """Matrix products run on one thread: several get into each other's way on busy cores."""
    return ThreadpoolController()


def _complete_sums(values: FloatArray, weights: FloatArray | None, shift: FloatArray) -> _Sums:
    p = values.shape[1]
    product, first = np.zeros((p, p)), np.zeros((p, 1))
    for x, w in _row_blocks(values, weights):
        x = x - shift
        wx = x if w is None else x * w[:, None]
        product += wx.T @ x
        first += wx.sum(axis=0)[:, None]
    total = float(len(values) if weights is None else weights.sum())
    ones = np.ones((p, p))
    return _Sums(total * ones, first * ones, np.diag(product)[:, None] * ones, product)


def _sums_with_missing(values: FloatArray, weights: FloatArray | None, shift: FloatArray) -> _Sums:
    p = values.shape[1]
    count, first, square, product = (np.zeros((p, p)) for _ in range(4))
    for x, w in _row_blocks(values, weights):
        present = np.isfinite(x)
        x = np.where(present, x - shift, 0.0)
        wx = x if w is None else x * w[:, None]
        mask = present.astype(np.float64)
        count += (mask if w is None else mask * w[:, None]).T @ mask
        first += wx.T @ mask
        square += (wx * x).T @ mask
        product += wx.T @ x
    return _Sums(count, first, square, product)


def _shift(values: FloatArray) -> FloatArray:
    """Means, rounded where a column holds whole numbers so that its sums stay exact."""
    with np.errstate(invalid="ignore"):
        whole = ((values == np.rint(values)) | np.isnan(values)).all(axis=0)
    mean: FloatArray = np.nanmean(values, axis=0)
    mean[whole] = np.rint(mean[whole])
    return mean


def _sparse_sums(values: Any, weights: FloatArray | None) -> _Sums:
    n_rows, p = values.shape
    weighted = values if weights is None else values.multiply(weights[:, None]).tocsr()
    total = float(n_rows if weights is None else weights.sum())
    product = (weighted.T @ values).toarray().astype(np.float64)
    first = np.asarray(weighted.sum(axis=0), dtype=np.float64).reshape(p, 1)
    ones = np.ones((p, p))
    return _Sums(total * ones, first * ones, np.diag(product)[:, None] * ones, product)


def _row_blocks(
    values: FloatArray, weights: FloatArray | None
) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    step = max(1, BLOCK_CELLS // max(1, values.shape[1]))
    for start in range(0, len(values), step):
        rows = slice(start, start + step)
        yield values[rows], None if weights is None else weights[rows]


def _joint_tables(obs: Observations, sizes: list[int]) -> FloatArray:
    """Counts of every two states of every two columns, (sum of sizes, sum of sizes)."""
    total = np.zeros((sum(sizes), sum(sizes)))
    for x, w in _row_blocks(obs.dense(), obs.weights):
        z = _indicators(x, sizes)
        total += (z if w is None else z * w[:, None]).T @ z
    return total


def _indicators(x: FloatArray, sizes: list[int]) -> FloatArray:
    """Return one 0/1 column for each state of each column; a missing value is 0 in all."""
    states = np.concatenate([np.arange(size) for size in sizes])
    hits: FloatArray = (x[:, np.repeat(np.arange(len(sizes)), sizes)] == states).astype(np.float64)
    return hits


def _whitened_blocks(obs: Observations, sizes: list[int]) -> tuple[FloatArray, FloatArray]:
    """(p, p, k, k) cross moments of whitened features, padded with zeros, and the pair counts."""
    p, owner = obs.n_columns, np.repeat(np.arange(obs.n_columns), sizes)
    discrete = np.array([c.kind in ("binary", "categorical") for c in obs.columns])
    q = len(owner)
    values = obs.dense()
    shift = np.where(discrete, 0.0, _shift(values))
    count, first, square = np.zeros((p, p)), np.zeros((q, p)), np.zeros((q, p))
    product = np.zeros((q, q))
    for x, w in _row_blocks(values, obs.weights):
        mask = np.isfinite(x).astype(np.float64)
        numbers = np.where(mask > 0, x - shift, 0.0)[:, owner]
        f = np.where(discrete[owner], _indicators(x, sizes), numbers)
        wf = f if w is None else f * w[:, None]
        count += (mask if w is None else mask * w[:, None]).T @ mask
        first += wf.T @ mask
        square += (wf * f).T @ mask
        product += wf.T @ f
    with np.errstate(divide="ignore", invalid="ignore"):
        n = count[owner][:, owner]
        mean = first[:, owner] / n  # of feature a over the rows it shares with b's column
        variance = square[:, owner] / n - np.where(discrete[owner][:, None], 0.0, mean**2)
        cross = (product / n - mean * mean.T) / np.sqrt(variance * variance.T)
    return _padded_blocks(np.nan_to_num(cross, posinf=0.0, neginf=0.0), sizes), count


def _padded_blocks(matrix: FloatArray, sizes: list[int]) -> FloatArray:
    """Cut a (q, q) matrix into its (p, p) blocks, each padded to the largest size."""
    p, k = len(sizes), max(sizes)
    within = np.concatenate([np.arange(size) for size in sizes])
    slot = np.repeat(np.arange(p), sizes) * k + within
    padded = np.zeros((p * k, p * k))
    padded[np.ix_(slot, slot)] = matrix
    return padded.reshape(p, k, p, k).transpose(0, 2, 1, 3)


def _ranks(column: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Average ranks (times two, so that they are whole without weights); missing stays missing."""
    present = np.isfinite(column)
    _, level = np.unique(column[present], return_inverse=True)
    mass = np.bincount(level, None if weights is None else weights[present]).astype(np.float64)
    ranks = np.full(len(column), np.nan)
    ranks[present] = (2 * np.cumsum(mass) - mass)[level]
    return ranks


def _trusted(strength: FloatArray, counts: FloatArray) -> FloatArray:
    """Strengths in [0, 1], symmetric, 0 where too few rows speak."""
    usable = np.isfinite(strength) & (counts >= SMALLEST_COUNT)
    clean = np.where(usable, np.clip(np.nan_to_num(strength), 0.0, 1.0), 0.0)
    symmetric: FloatArray = (clean + clean.T) / 2
    return symmetric
