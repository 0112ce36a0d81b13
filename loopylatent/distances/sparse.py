"""Distances between many sparse columns, of which only the short ones are kept (section 3.1)."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, Progress, frozen_array
from loopylatent.compute.workers import OnThreads, in_order
from loopylatent.distances.matrix import (
    AnyDistances,
    DistanceMatrix,
    Metric,
    distinct_columns,
    to_distances,
)
from loopylatent.distances.strengths import (
    SMALLEST_COUNT,
    check_spread,
    correlation_noise_floor,
    spread_of,
)
from loopylatent.errors import DataError, DistanceError, quoted
from loopylatent.tables.observations import Observations, OnDegenerate

COLUMNS_AT_A_TIME = 256
MOST_PAIRS = 100_000_000
"""Largest number of near pairs: 2.4 GB of lists."""


@dataclass(frozen=True, eq=False)
class SparseColumns:
    """A sparse table by rows and by columns, with the sums needed for correlations."""

    rows: Any = field(repr=False)
    columns: Any = field(repr=False)
    weights: FloatArray = field(repr=False)
    total: float
    first: FloatArray = field(repr=False)
    spread: FloatArray = field(repr=False)
    """Total times the sum of squares, minus the square of the sum; 0 if only a rounding error."""

    @classmethod
    def of(cls, obs: Observations) -> SparseColumns:
        rows = sparse.csr_array(obs.values, dtype=np.float64)
        rows.sum_duplicates()
        columns = sparse.csc_array(rows)
        columns.sort_indices()
        row_weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
        weights = frozen_array(row_weights, np.float64)  # read-only, so kernels compile once
        total = float(weights.sum())
        first = np.asarray(rows.T @ weights, dtype=np.float64)
        weighted = sparse.csr_array(
            rows.multiply(weights[:, None])
        )  # before squaring, as elsewhere
        square = np.asarray(weighted.multiply(rows).T @ np.ones(obs.n_rows), dtype=np.float64)
        spread = spread_of(total * square, first)
        check_spread(obs, spread, total * square)
        return cls(_wide(rows), _wide(columns), weights, total, first, spread)

    @property
    def n_columns(self) -> int:
        return len(self.first)

    def near(self, columns: IntArray, cutoff: float) -> tuple[IntArray, IntArray, FloatArray]:
        """Return i, j and distance of the pairs i < j within ``cutoff``, with i in ``columns``."""
        rows, by_column = self.rows, self.columns
        left, right, products = _kernels.columns.near_products(
            rows.indptr, rows.indices, rows.data,
            by_column.indptr, by_column.indices, by_column.data,
            self.weights, self.first, self.spread, self.total, math.exp(-cutoff),
            self._by_reach, columns,
        )  # fmt: skip
        lengths = to_distances(self._strengths(left, right, products))
        near = lengths <= cutoff
        return left[near], right[near], lengths[near]

    def distances(self, left: IntArray, right: IntArray) -> FloatArray:
        by_column = self.columns
        earlier, later = np.minimum(left, right), np.maximum(left, right)
        products = _kernels.columns.products_of_pairs(
            by_column.indptr, by_column.indices, by_column.data, self.weights, earlier, later
        )
        return to_distances(self._strengths(left, right, products))

    def _strengths(self, left: IntArray, right: IntArray, products: FloatArray) -> FloatArray:
        """|Correlation| of pairs from the sums of their products, as for dense tables."""
        covariance = self.total * products - self.first[left] * self.first[right]
        if self.total < SMALLEST_COUNT:
            return np.zeros(len(products))
        scale = np.sqrt(self.spread[left] * self.spread[right])
        with np.errstate(divide="ignore", invalid="ignore"):
            rho = np.where(scale > 0, covariance / scale, 0.0)
        strengths: FloatArray = np.abs(np.clip(rho, -1.0, 1.0))
        return strengths

    @cached_property
    def _by_reach(self) -> IntArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            reach = np.where(self.spread > 0, self.first**2 / self.spread, 0.0)
        return np.argsort(-reach, kind="stable")


@dataclass(frozen=True, eq=False)
class SparseDistances(AnyDistances):
    """Near neighbours of every column, and the columns, to compute other distances on demand.

    Parameters
    ----------
    names : tuple of str
    n_samples : int
    cutoff : float
        Pairs at most this far apart are in the lists.
    start, other, length : arrays
        The neighbours of column i are ``other[start[i]:start[i + 1]]``, ascending.
    columns : SparseColumns
    metric : str
    is_additive : bool
        Always true: correlations multiply along the paths of a tree.
    """

    names: tuple[str, ...] = field(repr=False)
    n_samples: int
    cutoff: float
    start: IntArray = field(repr=False)
    other: NDArray[np.int32] = field(repr=False)
    length: FloatArray = field(repr=False)
    columns: SparseColumns = field(repr=False)
    metric: Metric = "correlation"
    is_additive: bool = True

    @property
    def n_pairs(self) -> int:
        """The number of near pairs."""
        return len(self.other) // 2

    @property
    def noise_floor(self) -> float:
        """A larger distance cannot be distinguished from independence."""
        return correlation_noise_floor(self.n_samples)

    @cached_property
    def n_alone(self) -> int:
        """The number of columns without a neighbour within the cut-off."""
        return int((np.diff(self.start) == 0).sum())

    @cached_property
    def smallest(self) -> float:
        """The smallest distance between two columns."""
        return float(self.length.min())

    @property
    def r_max(self) -> float:
        """The largest usable radius: the cut-off."""
        return self.cutoff

    @cached_property
    def nearest(self) -> FloatArray:
        """The smallest distance of each column that has a neighbour."""
        begin = self.start[:-1][np.diff(self.start) > 0]
        return frozen_array(np.minimum.reduceat(self.length, begin), np.float64)

    @property
    def r_min(self) -> float:
        """Below this radius some column with a neighbour within the cut-off has none."""
        return float(self.nearest.max())

    @cached_property
    def spanning_lengths(self) -> FloatArray:
        """Edge lengths of the minimum spanning forest within the cut-off, ascending."""
        u, v = _kernels.graphs.forest_from_lists(self.start, self.other, self.length).T
        return np.sort(self.listed(u, v))

    @cached_property
    def digest(self) -> str:
        """A hash of the distances and of the other inputs of the learner."""
        what = (self.names, self.n_samples, self.metric, self.cutoff)
        hasher = hashlib.sha256(repr(what).encode())
        rows = self.columns.rows  # far pairs are computed from them
        lists = (self.start, self.other, self.length)
        for part in (*lists, rows.data, rows.indices, rows.indptr, self.columns.weights):
            hasher.update(part.tobytes())
        return hasher.hexdigest()[:16]

    def pairs(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return the distances of pairs; those beyond the cut-off are computed from the rows."""
        found = self.listed(left, right)
        far = np.isnan(found)
        found[far] = self.columns.distances(left[far], right[far])
        return found

    def listed(self, left: IntArray, right: IntArray) -> FloatArray:
        """Return the distances of pairs; NaN beyond the cut-off."""
        lists = (self.start, self.other, self.length)
        ends = map(np.ascontiguousarray, (left, right))  # one kind for the compiler
        return _kernels.columns.listed_lengths(*lists, *ends)


Distances: TypeAlias = DistanceMatrix | SparseDistances
"""The input of the learner."""


def sparse_distances(
    table: Any,
    cutoff: float | None = None,
    *,
    on_degenerate: OnDegenerate = "error",
    progress: Progress | None = None,
) -> SparseDistances:
    """Estimate the distances between many sparse columns, up to a cut-off.

    Parameters
    ----------
    table : Observations, or a sparse matrix
        Numbers, mostly 0, none missing; for example, which documents contain which words.
    cutoff : float, optional
        Pairs farther apart are not kept. Default: the noise floor, -log(2/sqrt(n)), beyond which
        distances cannot be distinguished from independence. The learner's r cannot be larger.
    on_degenerate : {"error", "drop"}
        What to do with constant columns and columns at distance 0 from an earlier one.
    progress : callable, optional
        Called with the number of columns done and in total; may raise to stop.

    Returns
    -------
    SparseDistances

    Examples
    --------
    >>> words = sparse.random_array((2000, 30), density=0.1, rng=np.random.default_rng(0))
    >>> D = sparse_distances(words > 0, cutoff=4.0)
    >>> D.n_columns, D.cutoff, bool(D.length.max() <= 4.0)
    (30, 4.0, True)
    """
    obs = _observations(table, on_degenerate)
    floor = correlation_noise_floor(obs.n_samples)
    limit = floor if cutoff is None else float(cutoff)
    if not (math.isfinite(limit) and limit > 0):
        raise DistanceError(
            f"cutoff = {limit:.4g} must be above 0 and finite; the noise floor of "
            f"{obs.n_samples} rows is {floor:.4g}."
        )
    columns = SparseColumns.of(obs)
    upper = _near_pairs(columns, limit, progress)
    equal = upper.data == 0.0
    if equal.any():
        first, later = (place[equal] for place in upper.tocoo().coords)
        kept = distinct_columns(obs.names, first, later, on_degenerate)
        obs = obs.select([obs.names[k] for k in kept])
        columns = SparseColumns.of(obs)
        upper = upper[kept][:, kept]
    if upper.nnz == 0:
        raise DistanceError(
            f"No two columns are within the cut-off {limit:.4g}. Use a larger one, or check that "
            "each row of the table is one observation."
        )
    lists = sparse.csr_array(upper + upper.T)
    lists.sort_indices()
    start, other = frozen_array(lists.indptr, np.int64), frozen_array(lists.indices, np.int32)
    length = frozen_array(lists.data, np.float64)
    return SparseDistances(obs.names, obs.n_samples, limit, start, other, length, columns)


def _observations(table: Any, on_degenerate: OnDegenerate) -> Observations:
    is_read = isinstance(table, Observations)
    obs = table if is_read else Observations.from_array(table, on_degenerate=on_degenerate)
    if obs.has_missing:
        raise DataError("Sparse distances need complete rows, but values are missing.")
    categorical = next((c.name for c in obs.columns if c.kind == "categorical"), None)
    if categorical is not None:
        raise DataError(f"Sparse distances need numbers; column {quoted(categorical)} has states.")
    return obs


def _near_pairs(columns: SparseColumns, cutoff: float, progress: Progress | None) -> Any:
    """(p, p) upper triangle of the distances within the cut-off."""
    p = columns.n_columns
    blocks = np.array_split(np.arange(p), max(1, p // COLUMNS_AT_A_TIME))
    counts = np.zeros(p + 1, np.int64)
    others, lengths = [], []
    done = kept = 0
    parts = OnThreads()(lambda _, one, __: columns.near(one, cutoff), None, blocks, ahead=p)
    for left, right, near in in_order(parts):
        order = np.lexsort((right, left))
        counts[1:] += np.bincount(left, minlength=p)
        others.append(right[order].astype(np.int32))
        lengths.append(near[order])
        kept += len(left)
        done += len(blocks[len(others) - 1])
        if kept > MOST_PAIRS:
            raise _too_many(lengths, done / p, cutoff)
        if progress is not None:
            progress(done, p)
    lists = (np.concatenate(lengths), np.concatenate(others), np.cumsum(counts))
    return sparse.csr_array(lists, shape=(p, p))


def _too_many(lengths: list[FloatArray], share: float, cutoff: float) -> DistanceError:
    """Return the error, with a feasible cut-off estimated from the columns done."""
    fits = float(np.quantile(np.concatenate(lengths), 0.9 * share))
    return DistanceError(
        f"More than {MOST_PAIRS:,} pairs of columns are within the cut-off {cutoff:.4g}. Use a "
        f"cutoff of about {fits:.3g}, or drop rare columns."
    )


def _wide(matrix: Any) -> Any:
    """Convert the indices to the types that the kernels expect."""
    matrix.indptr, matrix.indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    return matrix
