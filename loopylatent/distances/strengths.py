"""Strength s = e^-d of every two columns, from sums over rows (section 3.1).

Sums of whole numbers are exact, so equal counts give equal strengths, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from loopylatent.compute.arrays import FloatArray
from loopylatent.distances.moments import (
    Arrays,
    SumKind,
    SumPlan,
    Sums,
    column_totals,
    sum_table,
)
from loopylatent.errors import DistanceError, quoted
from loopylatent.tables.blocks.portions import ColumnTotals
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations

Measure = Literal["correlation", "rank", "determinant", "determinant-printed", "canonical"]
SMALLEST_STRENGTH = 1e-12
"""Strengths below this are rounding; they count as independence (an infinite distance)."""
SMALLEST_COUNT = 3
"""A pair with fewer common rows than this says nothing; it counts as independent."""
ROUNDING = 1e-13
"""A smaller share of the sum of squares is no spread: the column is constant in these rows."""
LEAST_SPREAD = 1e-10
"""Share of the sum of squares from which numbers that are not centred give six correct digits."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Strength of every pair, with its sign and the rows behind it where those are known."""

    values: FloatArray
    """(p, p) in [0, 1]."""
    signs: NDArray[np.int8] | None = None
    counts: FloatArray | None = None
    """(p, p) rows in which both columns are present; None where nothing is missing."""

    def select(self, kept: Sequence[int]) -> Strengths:
        pairs = np.ix_(kept, kept)
        return Strengths(
            self.values[pairs],
            None if self.signs is None else self.signs[pairs],
            None if self.counts is None else self.counts[pairs],
        )


def table_strengths(obs: Observations, measure: Measure) -> Strengths:
    """Return the strengths of a table in memory."""
    if obs.is_sparse and measure == "correlation":
        sums = _sparse_sums(obs.values, obs.weights)
        check_spread(obs, _spread(sums)[:, 0], (sums["count"] * sums["square"])[:, 0])
        return _pearson(sums, None)
    values = obs.dense()
    if measure == "rank":
        values = np.column_stack([_ranks(column, obs.weights) for column in values.T])
    plan = plan_sums(measure, obs.columns, column_totals(values), obs.has_missing)
    return strengths_from(measure, plan, sum_table(plan, values, obs.weights), obs.has_missing)


def plan_sums(
    measure: Measure, columns: Sequence[Column], totals: ColumnTotals, has_missing: bool
) -> SumPlan:
    """Plan products of numbers, of numbers and indicators of states, or counts of state pairs."""
    p = len(columns)
    if measure in ("correlation", "rank"):
        kind: SumKind = "pairwise" if has_missing else "complete"
        return SumPlan(kind, totals.shift(), (1,) * p, np.zeros(p, dtype=bool))
    counted = np.array([column.kind in ("binary", "categorical") for column in columns])
    sizes = [len(column.states) for column in columns]
    if measure == "canonical":
        shift = np.where(counted, 0.0, totals.shift())
        return SumPlan("features", shift, tuple(np.where(counted, sizes, 1).tolist()), counted)
    return SumPlan("joint", np.zeros(p), tuple(sizes), np.ones(p, dtype=bool))


def strengths_from(measure: Measure, plan: SumPlan, sums: Sums, has_missing: bool) -> Strengths:
    """Return the strengths that follow from the sums.

    ``correlation`` and ``rank`` give |Pearson correlation| on the rows in which both columns are
    present; ``determinant`` |det P_ij| / sqrt(det P_i det P_j), ``determinant-printed`` the bare
    |det P_ij| of the printed formula; ``canonical`` the largest canonical correlation.
    """
    if measure in ("correlation", "rank"):
        given = sums.arrays
        if plan.kind == "complete":
            given = {**given, "square": np.diag(given["product"])[:, None]}
        return _pearson(given, given["count"] if has_missing else None)
    if measure == "canonical":
        return _canonical(plan, sums, has_missing)
    return _determinant(plan, sums, has_missing, normalised=measure == "determinant")


def _determinant(plan: SumPlan, sums: Sums, has_missing: bool, *, normalised: bool) -> Strengths:
    p, n_states = plan.n_columns, plan.sizes[0]
    tables = sums.arrays["product"].reshape(p, n_states, p, n_states).transpose(0, 2, 1, 3)
    counts = tables.sum(axis=(2, 3))
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = tables / counts[..., None, None]
        strength = np.abs(np.linalg.det(joint))
        if normalised:
            rows, columns = joint.sum(axis=3), joint.sum(axis=2)
            strength = strength / np.sqrt(rows.prod(axis=2) * columns.prod(axis=2))
    return Strengths(_trusted(strength, counts), None, counts if has_missing else None)


def _canonical(plan: SumPlan, sums: Sums, has_missing: bool) -> Strengths:
    """Return the largest canonical correlation, whatever the kinds of the two columns.

    A discrete column enters as its indicators divided by the root of their shares, a numeric one
    as its standard score. The strength is then the largest singular value of the block of cross
    moments, which is |correlation| for numeric and binary columns.
    """
    cross = _whitened(plan, sums)
    blocks = _padded_blocks(np.nan_to_num(cross, posinf=0.0, neginf=0.0), plan.sizes)
    strength = np.linalg.svd(blocks, compute_uv=False)[..., 0].astype(np.float64)
    counts = sums.arrays["count"]
    return Strengths(_trusted(strength, counts), None, counts if has_missing else None)


def _whitened(plan: SumPlan, sums: Sums) -> FloatArray:
    """(q, q) cross moments of the whitened features."""
    owner, given = plan.owner, sums.arrays
    numeric = ~plan.discrete[owner][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        n = given["count"][owner][:, owner]
        mean = given["first"][:, owner] / n  # of feature a over the rows it shares with b's column
        square = given["square"][:, owner] / n
        variance = square - np.where(numeric, mean**2, 0.0)
        variance[variance <= ROUNDING * square] = 0.0
        cross: FloatArray = given["product"] / n - mean * mean.T
        return cross / np.sqrt(variance * variance.T)


def _pearson(sums: Arrays, counts: FloatArray | None) -> Strengths:
    """Return |correlation| from sums over the rows in which both columns of a pair are present.

    ``first`` and ``square`` are of column i (row index) over the rows that i shares with j; where
    nothing is missing they are (p, 1) and ``count`` is (1, 1).
    """
    n, first, spread = sums["count"], sums["first"], _spread(sums)
    covariance = n * sums["product"] - first * first.T
    scale = np.sqrt(spread * spread.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(scale > 0, covariance / scale, 0.0)
    rho = np.clip((rho + rho.T) / 2, -1.0, 1.0)
    return Strengths(_trusted(np.abs(rho), n), np.sign(rho).astype(np.int8), counts)


def _spread(sums: Arrays) -> FloatArray:
    return spread_of(sums["count"] * sums["square"], sums["first"])


def spread_of(most: FloatArray, first: FloatArray) -> FloatArray:
    """n times the sum of squares (``most``) minus the square of the sum; 0 if rounding alone."""
    spread: FloatArray = most - first**2
    return np.where(spread > ROUNDING * most, spread, 0.0)


def check_spread(obs: Observations, spread: FloatArray, most: FloatArray) -> None:
    """Refuse sparse columns far from 0: what is left of their sums would be rounding.

    ``most`` is the number of rows times the sum of squares, which ``spread`` is a part of. A
    column that is constant in the rows that count has no spread, and that is known exactly.
    """
    close = np.flatnonzero(spread < LEAST_SPREAD * most)
    rows = sparse.csr_array(obs.values[:, close])
    if obs.weights is not None:
        rows = rows[obs.weights > 0]
    for j in close[(rows.min(axis=0) != rows.max(axis=0)).toarray().ravel()]:
        raise DistanceError(
            f"the values of the sparse column {quoted(obs.names[j])} differ too little beside "
            "their size; subtract a round number, or give a dense array."
        )


def _sparse_sums(values: Any, weights: FloatArray | None) -> Arrays:
    n_rows, p = values.shape
    weighted = values if weights is None else values.multiply(weights[:, None]).tocsr()
    total = float(n_rows if weights is None else weights.sum())
    product = (weighted.T @ values).toarray().astype(np.float64)
    product = np.triu(product) + np.triu(product, 1).T  # the earlier column carries the weights
    first = np.asarray(weighted.sum(axis=0), dtype=np.float64).reshape(p, 1)
    square, count = np.diag(product)[:, None], np.full((1, 1), total)
    return {"count": count, "first": first, "square": square, "product": product}


def _padded_blocks(matrix: FloatArray, sizes: Sequence[int]) -> FloatArray:
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
