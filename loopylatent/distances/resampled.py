"""Distances of resamples: one table with other weights of its rows, several at once.

Everything that does not depend on the weights is computed once. Sums of whole numbers are exact, so
distances of such tables equal those of `information_distances` bit for bit; those of other numbers
may differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from loopylatent.compute import _kernels
from loopylatent.compute.limits import BLOCK_CELLS, block_rows, one_thread
from loopylatent.compute.values import Check, FloatArray, IntArray
from loopylatent.distances.matrix import (
    DistanceMatrix,
    Metric,
    check_dependent,
    choose_metric,
    distinct_columns,
    information_distances,
    is_additive,
    to_distances,
)
from loopylatent.distances.strengths import (
    ROUNDING,
    SMALLEST_COUNT,
    Measure,
    SumPlan,
    Sums,
    column_shift,
    correlation_noise_floor,
    plan_sums,
    strengths_from,
    sum_factors,
)
from loopylatent.errors import LoopyLatentError
from loopylatent.tables.observations import Observations

BATCH = 8
"""Resamples whose distances are computed at once, whatever the number of threads."""
MOST_PAIRS = 4_000_000
"""Pairs of binary columns that are counted at once (128 MB for a batch)."""

WIDE = 64
"""Columns from which it pays to leave out rows that were not drawn."""
MOST_ONES = 0.2
"""Share of ones up to which counting pairs is faster than a matrix product."""

Outcome = DistanceMatrix | LoopyLatentError
"""The distances of a resample, or why it has none."""
Weights = FloatArray | NDArray[np.int32]
"""Of the rows in a resample; times that they were drawn are whole."""
Weighted = Callable[[Sequence[Weights], Check], list[Outcome]]
"""Takes the weights of some resamples, at most BATCH."""


def weighted_distances(obs: Observations, metric: Metric) -> Weighted:
    """Return what computes the distances of a table with other weights; can be pickled."""
    chosen = choose_metric(obs.columns, metric)
    pairs = obs.n_columns * (obs.n_columns + 1) // 2
    if chosen == "correlation" and pairs <= MOST_PAIRS and _is_binary(obs):
        return _BinaryRows.of(obs)
    if obs.n_rows * _n_features(obs) <= BLOCK_CELLS and not obs.is_sparse and chosen != "rank":
        return _Factors.of(obs, chosen)
    return partial(_one_by_one, obs, metric)


def _is_binary(obs: Observations) -> bool:
    """Whether all values are 0 or 1, mostly 0, and weights can be counted in 32 bits."""
    values = obs.values.data if obs.is_sparse else obs.values
    own = np.ones(1) if obs.weights is None else obs.weights
    is_counted = (own == np.rint(own)).all() and obs.n_samples < 2**31
    is_one = values == 1
    is_rare = np.count_nonzero(is_one) <= MOST_ONES * obs.n_rows * obs.n_columns
    return bool(is_counted and is_rare and np.array_equal(values, is_one))


def _n_features(obs: Observations) -> int:
    return sum(max(1, len(column.states)) for column in obs.columns)


def _one_by_one(
    obs: Observations, metric: Metric, weights: Sequence[Weights], check: Check
) -> list[Outcome]:
    def one(own: FloatArray) -> DistanceMatrix:
        check(0, 1)
        return information_distances(obs.with_weights(own), metric)

    return [_outcome(partial(one, own)) for own in map(_numbers, weights)]


def _numbers(weights: Weights) -> FloatArray:
    return np.ascontiguousarray(weights, np.float64)


def _outcome(work: Callable[[], DistanceMatrix]) -> Outcome:
    try:
        return work()
    except LoopyLatentError as error:
        return error


@dataclass(frozen=True, slots=True, eq=False)
class _Columns:
    """What the distances of all resamples have in common."""

    names: tuple[str, ...]
    metric: Measure
    is_additive: bool

    @classmethod
    def of(cls, obs: Observations, metric: Measure) -> _Columns:
        return cls(obs.names, metric, is_additive(metric, obs.columns))

    def distances(self, strength: FloatArray, total: float) -> DistanceMatrix:
        """Return the distances from the strengths of all pairs i < j, row by row."""
        p, values = len(self.names), to_distances(strength)
        if (values == 0.0).any():
            first, later = (ends[values == 0.0] for ends in np.triu_indices(p, 1))
            order = np.lexsort((first, later))
            distinct_columns(self.names, first[order], later[order], "error")
        check_dependent(values)
        matrix = _kernels.columns.square_of(values, p)
        matrix.setflags(write=False)
        floor = correlation_noise_floor(max(total, 3.0)) if self.metric == "correlation" else None
        return DistanceMatrix(
            matrix, self.names, round(total), floor, self.metric, self.is_additive
        )


def _correlations(sums: FloatArray) -> FloatArray:
    """(pairs,) strengths of complete columns, from their products with a column of ones."""
    strength = _kernels.columns.correlation_strengths(sums, ROUNDING)
    return strength if sums[-1, -1] >= SMALLEST_COUNT else np.zeros_like(strength)


@dataclass(frozen=True, slots=True, eq=False)
class _BinaryRows:
    """A complete table of zeros and ones, as the columns that are 1 in each row."""

    columns: _Columns
    start: IntArray
    column: NDArray[np.int32]

    @classmethod
    def of(cls, obs: Observations) -> _BinaryRows:
        if obs.is_sparse:
            ones = sparse.csr_array(obs.values != 0)
            ones.sort_indices()
            start, column = ones.indptr.astype(np.int64), ones.indices
        else:
            row, column = np.divmod(np.flatnonzero(obs.values != 0), obs.n_columns)
            start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=obs.n_rows))])
        return cls(_Columns.of(obs, "correlation"), start, column.astype(np.int32))

    def __call__(self, weights: Sequence[Weights], check: Check) -> list[Outcome]:
        counts, slot = self._counts(weights, check)

        def one(lane: int, total: float) -> DistanceMatrix:
            sums = _kernels.columns.sums_of_lane(counts, lane, slot, total)
            return self.columns.distances(_correlations(sums), total)

        totals = [float(own.sum()) for own in weights]
        return [_outcome(partial(one, lane, total)) for lane, total in enumerate(totals)]

    def _counts(
        self, weights: Sequence[Weights], check: Check
    ) -> tuple[NDArray[np.int32], IntArray]:
        """Weighted rows in which both columns of a pair are 1, and where each column's begin."""
        p, n = len(self.columns.names), len(self.start) - 1
        slot = p * np.arange(p) - np.arange(p) * (np.arange(p) + 1) // 2
        counts = np.zeros((p * (p + 1) // 2, BATCH), np.int32)
        lanes = np.zeros((n, BATCH), np.int32)
        lanes[:, : len(weights)] = np.transpose(weights)
        step = block_rows(p)
        for first in range(0, n, step):
            check(0, 1)
            start = self.start[first : first + step + 1]
            part = lanes[first : first + step]
            _kernels.columns.count_pairs(start, self.column, part, counts, slot)
        return counts, slot


@dataclass(frozen=True, slots=True, eq=False)
class _Factors:
    """What the sums of a dense table multiply, row by row."""

    columns: _Columns
    plan: SumPlan
    has_missing: bool
    factors: dict[str, tuple[FloatArray, FloatArray]]
    """For each sum two arrays, (features, rows)."""
    is_whole: bool
    """Whether all numbers are whole, so that sums are exact."""

    @classmethod
    def of(cls, obs: Observations, measure: Measure) -> _Factors:
        values = obs.dense()
        plan = plan_sums(measure, obs.columns, column_shift(values), obs.has_missing)
        factors = sum_factors(plan, values)
        whole = all((a == np.rint(a)).all() for pair in factors.values() for a in pair)
        return cls(_Columns.of(obs, measure), plan, obs.has_missing, factors, whole)

    def __call__(self, weights: Sequence[Weights], check: Check) -> list[Outcome]:
        def one(own: FloatArray) -> DistanceMatrix:
            check(0, 1)
            return self.columns.distances(self._strengths(own), float(own.sum()))

        with one_thread():
            return [_outcome(partial(one, own)) for own in map(_numbers, weights)]

    def _strengths(self, weights: FloatArray) -> FloatArray:
        sums = {name: self._sum(*pair, weights) for name, pair in self.factors.items()}
        if self.plan.kind == "complete":
            return _correlations(sums["product"])
        found = strengths_from(self.columns.metric, self.plan, Sums(sums), self.has_missing)
        return found.values[np.triu_indices(self.plan.n_columns, 1)]

    def _sum(self, left: FloatArray, right: FloatArray, weights: FloatArray) -> FloatArray:
        rows = np.flatnonzero(weights)
        times = weights[rows]
        is_counted = bool((times == np.rint(times)).all())
        if left is not right or len(left) < WIDE or (self.is_whole and not is_counted):
            return (left * weights) @ right.T
        # an array times itself takes half the time, as fewer rows do
        if self.is_whole:
            taken = left.take(np.repeat(rows, times.astype(np.int64)), axis=1)
        else:
            taken = left.take(rows, axis=1) * np.sqrt(times)
        return taken @ taken.T
