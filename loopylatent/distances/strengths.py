"""Strength s = e^-d of every pair of columns, from sums over blocks of rows (section 3.1)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import erfc

from loopylatent.compute.limits import block_rows, blocks, one_thread, portions
from loopylatent.compute.values import FloatArray
from loopylatent.errors import DistanceError, quoted
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations, shift_of

SumKind = Literal["complete", "joint", "features"]
"""Products of complete columns, counts of pairs of states, products of features with missing."""


def column_shift(values: FloatArray) -> FloatArray:
    """Return the approximate column means of a table in memory, as `BlockTable.shift`."""
    size, p = block_rows(values.shape[1]), values.shape[1]
    count, total, whole = np.zeros(p), np.zeros(p), np.ones(p, dtype=bool)
    for rows in portions(len(values), size):
        part = np.zeros(p)
        for block in blocks(rows, size):
            x, missing = values[block], np.isnan(values[block])
            if missing.any():
                x = np.where(missing, 0.0, x)
                count -= missing.sum(axis=0)
            count += len(x)
            part += x.sum(axis=0)
            whole &= (x == np.rint(x)).all(axis=0)
        total += part
    return shift_of(count, total, whole)


@dataclass(frozen=True, slots=True, eq=False)
class SumPlan:
    """What is summed."""

    kind: SumKind
    shift: FloatArray = field(repr=False)
    """(p,) subtracted from the numbers."""
    sizes: tuple[int, ...] = field(repr=False)
    """Features of each column: its number of states if they are counted, else 1."""
    discrete: NDArray[np.bool_] = field(repr=False)
    """(p,) whether the features of a column are indicators of its states."""

    @property
    def n_columns(self) -> int:
        return len(self.sizes)

    @property
    def owner(self) -> NDArray[np.intp]:
        """(q,) the column of each feature."""
        return np.repeat(np.arange(self.n_columns), self.sizes)

    @property
    def shapes(self) -> dict[str, tuple[int, int]]:
        p, q = self.n_columns, sum(self.sizes)
        shapes: dict[SumKind, dict[str, tuple[int, int]]] = {
            "complete": {"count": (1, 1), "first": (p, 1), "product": (p, p)},
            "joint": {"product": (q, q)},
            "features": {"count": (p, p), "first": (q, p), "square": (q, p), "product": (q, q)},
        }
        return shapes[self.kind]

    @property
    def cells(self) -> int:
        return sum(rows * columns for rows, columns in self.shapes.values())

    def zeros(self) -> Sums:
        return Sums({name: np.zeros(shape) for name, shape in self.shapes.items()})

    def add(self, sums: Sums, x: FloatArray, weights: FloatArray | None) -> None:
        """Add a block of rows, in slices whose features are no larger than a block."""
        step = block_rows(sum(self.sizes))
        for start in range(0, len(x), step):
            rows = slice(start, start + step)
            w = None if weights is None else weights[rows]
            _ADD[self.kind](self, sums.arrays, x[rows], w)


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums over rows, by name."""

    arrays: dict[str, FloatArray]

    def merge(self, other: Sums) -> None:
        for name, array in self.arrays.items():
            array += other.arrays[name]


def weight_of(obs: Observations) -> float:
    """Return the number of rows or the sum of their weights, added in the order of the blocks."""
    if obs.weights is None:
        return float(obs.n_rows)
    size, found = block_rows(obs.n_columns), 0.0
    for rows in portions(obs.n_rows, size):  # sum() rounds otherwise since Python 3.12
        found += reduce(add, [float(obs.weights[block].sum()) for block in blocks(rows, size)])
    return found


def sum_table(plan: SumPlan, values: FloatArray, weights: FloatArray | None) -> Sums:
    """Sum over the rows of a table in memory."""
    size, found = block_rows(values.shape[1]), plan.zeros()
    with one_thread():
        for rows in portions(len(values), size):
            part = plan.zeros()
            for block in blocks(rows, size):
                plan.add(part, values[block], None if weights is None else weights[block])
            found.merge(part)
    return found


Arrays = dict[str, FloatArray]


def _add_complete(plan: SumPlan, sums: Arrays, x: FloatArray, w: FloatArray | None) -> None:
    x = x - plan.shift
    wx = x if w is None else x * w[:, None]
    sums["product"] += wx.T @ x
    sums["first"] += wx.sum(axis=0)[:, None]
    sums["count"] += float(len(x) if w is None else w.sum())


def _add_joint(plan: SumPlan, sums: Arrays, x: FloatArray, w: FloatArray | None) -> None:
    z = _indicators(plan, x)
    sums["product"] += (z if w is None else z * w[:, None]).T @ z


def _add_features(plan: SumPlan, sums: Arrays, x: FloatArray, w: FloatArray | None) -> None:
    mask, f = _masked(plan, x)
    wf = f if w is None else f * w[:, None]
    sums["count"] += (mask if w is None else mask * w[:, None]).T @ mask
    sums["first"] += wf.T @ mask
    sums["square"] += (wf * f).T @ mask
    sums["product"] += wf.T @ f


def sum_factors(plan: SumPlan, x: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return for each sum the two arrays (features, rows) that it multiplies in every row.

    Complete columns get a column of ones, so that one product has all of their sums.
    """
    if plan.kind == "complete":
        both = np.vstack([(x - plan.shift).T, np.ones(len(x))])
        return {"product": (both, both)}
    if plan.kind == "joint":
        z = np.ascontiguousarray(_indicators(plan, x).T)
        return {"product": (z, z)}
    mask, f = (np.ascontiguousarray(one.T) for one in _masked(plan, x))
    return {"count": (mask, mask), "first": (f, mask), "square": (f * f, mask), "product": (f, f)}


def _masked(plan: SumPlan, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return (n, p) 1 where a value is present, and (n, q) the features, 0 where it is not."""
    mask = np.isfinite(x).astype(np.float64)
    f = np.where(mask > 0, x - plan.shift, 0.0)
    if plan.discrete.any():
        f = np.where(plan.discrete[plan.owner], _indicators(plan, x), f[:, plan.owner])
    return mask, f


_ADD = {"complete": _add_complete, "joint": _add_joint, "features": _add_features}


def _indicators(plan: SumPlan, x: FloatArray) -> FloatArray:
    """Return one 0/1 column for each state of each column; a missing value is 0 in all."""
    states = np.concatenate([np.arange(size) for size in plan.sizes])
    hits: FloatArray = (x[:, plan.owner] == states).astype(np.float64)
    return hits


NULL_TAIL = float(erfc(math.sqrt(2.0)))
"""Share of correlations beyond 2/sqrt(n) under independence: two-sided normal tail beyond 2."""
NULL_PAIRS = 2_000
FEWEST_NULL_ROWS = 1_000


def correlation_noise_floor(n_samples: float) -> float:
    """Return -log(2/sqrt(n)): the distance at which a correlation is two standard errors."""
    return math.log(math.sqrt(n_samples) / 2)


def permutation_noise_floor(rows: Observations, metric: Measure, weight: float, seed: int) -> float:
    """Return the distance that a share NULL_TAIL of pairs of shuffled columns falls below.

    ``rows`` represent a table of total weight ``weight``. Under independence, strengths are
    proportional to 1/sqrt(n), those of determinants to its (states - 1)th power.
    """
    rng = np.random.default_rng(seed)
    upper = np.triu_indices(rows.n_columns, 1)
    draws = []
    for _ in range(math.ceil(NULL_PAIRS / len(upper[0]))):
        shuffled = rows.with_values(rng.permuted(rows.dense(), axis=0))
        draws.append(table_strengths(shuffled, metric).values[upper])
    cut = float(np.quantile(np.concatenate(draws), 1 - NULL_TAIL))
    powers = 1 if metric == "canonical" else len(rows.columns[0].states) - 1
    fewer = 0.5 * powers * math.log(weight / weight_of(rows))
    return fewer - math.log(max(cut, SMALLEST_STRENGTH))


def null_rows(n_rows: int, n_columns: int, seed: int) -> NDArray[np.int64] | None:
    """Return the rows of a long table used for permutations: one block; None for all."""
    most = max(block_rows(n_columns), FEWEST_NULL_ROWS)
    if n_rows <= most:
        return None
    return np.sort(np.random.default_rng([seed, 1]).choice(n_rows, most, replace=False))


Measure = Literal["correlation", "rank", "determinant", "determinant-printed", "canonical"]
SMALLEST_STRENGTH = 1e-12
"""Strengths below this are rounding errors and count as independence (an infinite distance)."""
SMALLEST_COUNT = 3
"""A pair with fewer common rows than this counts as independent."""
ROUNDING = 1e-13
"""A column whose variance is a smaller share of the sum of squares is constant."""
LEAST_SPREAD = 1e-10
"""Smallest share of the sum of squares at which uncentred sums give six correct digits."""


@dataclass(frozen=True, slots=True)
class Strengths:
    """Strength of every pair, with its sign and number of rows if known."""

    values: FloatArray
    """(p, p) in [0, 1]."""
    signs: NDArray[np.int8] | None = None
    counts: FloatArray | None = None
    """(p, p) rows in which both columns are present; None if no values are missing."""

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
    plan = plan_sums(measure, obs.columns, column_shift(values), obs.has_missing)
    return strengths_from(measure, plan, sum_table(plan, values, obs.weights), obs.has_missing)


def plan_sums(
    measure: Measure, columns: Sequence[Column], shift: FloatArray, has_missing: bool
) -> SumPlan:
    """Plan products of numbers, of numbers and indicators of states, or counts of state pairs."""
    p = len(columns)
    if measure in ("correlation", "rank"):
        kind: SumKind = "features" if has_missing else "complete"
        return SumPlan(kind, shift, (1,) * p, np.zeros(p, dtype=bool))
    counted = np.array([column.kind in ("binary", "categorical") for column in columns])
    sizes = [len(column.states) for column in columns]
    if measure == "canonical":
        shift = np.where(counted, 0.0, shift)
        return SumPlan("features", shift, tuple(np.where(counted, sizes, 1).tolist()), counted)
    return SumPlan("joint", np.zeros(p), tuple(sizes), np.ones(p, dtype=bool))


def strengths_from(measure: Measure, plan: SumPlan, sums: Sums, has_missing: bool) -> Strengths:
    """Compute the strengths from the sums.

    ``correlation`` and ``rank`` give |Pearson correlation| on the rows in which both columns are
    present; ``determinant`` |det P_ij| / sqrt(det P_i det P_j), ``determinant-printed`` the bare
    |det P_ij| of the printed formula; ``canonical`` the largest canonical correlation.
    """
    if measure in ("correlation", "rank"):
        arrays = sums.arrays
        if plan.kind == "complete":
            arrays = {**arrays, "square": np.diag(arrays["product"])[:, None]}
        return _pearson(arrays, arrays["count"] if has_missing else None)
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
    """Return the largest singular value of the whitened cross moments of two columns.

    It is |correlation| for numeric and binary columns.
    """
    cross = _whitened(plan, sums)
    blocks = _padded_blocks(np.nan_to_num(cross, posinf=0.0, neginf=0.0), plan.sizes)
    strength = np.linalg.svd(blocks, compute_uv=False)[..., 0].astype(np.float64)
    counts = sums.arrays["count"]
    return Strengths(_trusted(strength, counts), None, counts if has_missing else None)


def _whitened(plan: SumPlan, sums: Sums) -> FloatArray:
    """(q, q) cross moments of the whitened features."""
    owner, arrays = plan.owner, sums.arrays
    numeric = ~plan.discrete[owner][:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        n = arrays["count"][owner][:, owner]
        mean = arrays["first"][:, owner] / n  # of feature a over the rows shared with b's column
        square = arrays["square"][:, owner] / n
        variance = square - np.where(numeric, mean**2, 0.0)
        variance[variance <= ROUNDING * square] = 0.0
        cross: FloatArray = arrays["product"] / n - mean * mean.T
        return cross / np.sqrt(variance * variance.T)


def _pearson(sums: Arrays, counts: FloatArray | None) -> Strengths:
    """Return |correlation|; ``first`` and ``square`` are of column i over rows shared with j."""
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
    """n times the sum of squares (``most``) minus the squared sum; 0 if only a rounding error."""
    spread: FloatArray = most - first**2
    return np.where(spread > ROUNDING * most, spread, 0.0)


def check_spread(obs: Observations, spread: FloatArray, most: FloatArray) -> None:
    """Raise if a sparse column varies so little that its variance is a rounding error."""
    close = np.flatnonzero(spread < LEAST_SPREAD * most)
    rows = sparse.csr_array(obs.values[:, close])
    if obs.weights is not None:
        rows = rows[obs.weights > 0]
    for j in close[(rows.min(axis=0) != rows.max(axis=0)).toarray().ravel()]:
        raise DistanceError(
            f"The values of the sparse column {quoted(obs.names[j])} differ too little relative "
            "to their size. Subtract a round number, or use a dense array."
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
    """Average ranks, doubled so that they are whole without weights; NaN if missing."""
    present = np.isfinite(column)
    _, level = np.unique(column[present], return_inverse=True)
    mass = np.bincount(level, None if weights is None else weights[present]).astype(np.float64)
    ranks = np.full(len(column), np.nan)
    ranks[present] = (2 * np.cumsum(mass) - mass)[level]
    return ranks


def _trusted(strength: FloatArray, counts: FloatArray) -> FloatArray:
    """Strengths in [0, 1], symmetric, 0 for pairs with too few common rows."""
    usable = np.isfinite(strength) & (counts >= SMALLEST_COUNT)
    clean = np.where(usable, np.clip(np.nan_to_num(strength), 0.0, 1.0), 0.0)
    symmetric: FloatArray = (clean + clean.T) / 2
    return symmetric
