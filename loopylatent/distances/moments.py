"""Sums over rows from which the strength of every pair follows, added up block by block.

The order of the additions is fixed by the number of columns alone: rows make blocks, blocks make
portions, and the sums of the portions are added in the order of the rows. So the sums of a table
in memory, of a file that is read in blocks, and of the same file on several machines are the same
numbers, bit for bit. Sums of whole numbers are exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.arrays import FloatArray
from loopylatent.compute.threads import one_thread
from loopylatent.tables.blocks.portions import ColumnTotals, block_rows, blocks, portions

SumKind = Literal["complete", "pairwise", "joint", "features"]
"""Products of complete columns, of columns with gaps, counts of states, products of features."""


def column_totals(values: FloatArray) -> ColumnTotals:
    """Return the totals of a table in memory."""
    size = block_rows(values.shape[1])
    parts = [
        reduce(_merged, [ColumnTotals.of_block(values[block]) for block in blocks(rows, size)])
        for rows in portions(len(values), size)
    ]
    return reduce(_merged, parts) if parts else ColumnTotals.of_block(values)


def _merged(first: ColumnTotals, second: ColumnTotals) -> ColumnTotals:
    first.merge(second)
    return first


@dataclass(frozen=True, slots=True, eq=False)
class SumPlan:
    """What is summed."""

    kind: SumKind
    shift: FloatArray = field(repr=False)
    """(p,) subtracted from the numbers first."""
    sizes: tuple[int, ...] = field(repr=False)
    """Features of each column: its states where they are counted, else 1."""
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
            "pairwise": dict.fromkeys(("count", "first", "square", "product"), (p, p)),
            "joint": {"product": (q, q)},
            "features": {"count": (p, p), "first": (q, p), "square": (q, p), "product": (q, q)},
        }
        return shapes[self.kind]

    @property
    def cells(self) -> int:
        """Numbers in the sums."""
        return sum(rows * columns for rows, columns in self.shapes.values())

    def zeros(self) -> Sums:
        return Sums({name: np.zeros(shape) for name, shape in self.shapes.items()})

    def add(self, sums: Sums, x: FloatArray, weights: FloatArray | None) -> None:
        """Add a block of rows, in slices that keep the features within the cells of a block."""
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
        """Add the sums of later rows."""
        for name, array in self.arrays.items():
            array += other.arrays[name]


def total_weight(n_rows: int, n_columns: int, weights: FloatArray | None) -> float:
    """Return the number of rows or the sum of their weights, added in the order of the blocks."""
    if weights is None:
        return float(n_rows)
    size, found = block_rows(n_columns), 0.0
    for rows in portions(n_rows, size):  # not by sum(), which rounds otherwise since Python 3.12
        found += reduce(add, [float(weights[block].sum()) for block in blocks(rows, size)])
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


def _add_pairwise(plan: SumPlan, sums: Arrays, x: FloatArray, w: FloatArray | None) -> None:
    present = np.isfinite(x)
    x = np.where(present, x - plan.shift, 0.0)
    _add_features(sums, present.astype(np.float64), x, w)


def _add_joint(plan: SumPlan, sums: Arrays, x: FloatArray, w: FloatArray | None) -> None:
    z = _indicators(plan, x)
    sums["product"] += (z if w is None else z * w[:, None]).T @ z


def _add_mixed(plan: SumPlan, sums: Arrays, x: FloatArray, w: FloatArray | None) -> None:
    mask = np.isfinite(x).astype(np.float64)
    owner = plan.owner
    numbers = np.where(mask > 0, x - plan.shift, 0.0)[:, owner]
    _add_features(sums, mask, np.where(plan.discrete[owner], _indicators(plan, x), numbers), w)


def _add_features(sums: Arrays, mask: FloatArray, f: FloatArray, w: FloatArray | None) -> None:
    wf = f if w is None else f * w[:, None]
    sums["count"] += (mask if w is None else mask * w[:, None]).T @ mask
    sums["first"] += wf.T @ mask
    sums["square"] += (wf * f).T @ mask
    sums["product"] += wf.T @ f


_ADD = {
    "complete": _add_complete,
    "pairwise": _add_pairwise,
    "joint": _add_joint,
    "features": _add_mixed,
}


def _indicators(plan: SumPlan, x: FloatArray) -> FloatArray:
    """Return one 0/1 column for each state of each column; a missing value is 0 in all."""
    states = np.concatenate([np.arange(size) for size in plan.sizes])
    hits: FloatArray = (x[:, plan.owner] == states).astype(np.float64)
    return hits
