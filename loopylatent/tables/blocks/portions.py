"""Which rows make a block and a portion, and the totals of columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.arrays import FloatArray

BLOCK_CELLS = 1 << 22
"""Cells of one block of rows (32 MB of doubles)."""
BLOCKS_A_PORTION = 8
"""Blocks whose sums are added up before they meet those of other blocks."""


def block_rows(n_columns: int) -> int:
    """Return the rows of a block."""
    return max(1, BLOCK_CELLS // max(1, n_columns))


def portions(n_rows: int, rows_a_block: int) -> list[range]:
    """Return the rows of each portion."""
    step = BLOCKS_A_PORTION * rows_a_block
    return [range(start, min(start + step, n_rows)) for start in range(0, n_rows, step)]


def blocks(rows: range, rows_a_block: int) -> Iterator[slice]:
    """Yield the rows of each block of a portion."""
    for start in range(rows.start, rows.stop, rows_a_block):
        yield slice(start, min(start + rows_a_block, rows.stop))


@dataclass(slots=True, eq=False)
class ColumnTotals:
    """Number and sum of the values of every column, and whether all are whole; each (p,)."""

    count: FloatArray
    total: FloatArray
    whole: NDArray[np.bool_]

    @classmethod
    def of_block(cls, x: FloatArray) -> ColumnTotals:
        present = ~np.isnan(x)
        whole = ((x == np.rint(x)) | ~present).all(axis=0)
        total = np.where(present, x, 0.0).sum(axis=0)
        return cls(present.sum(axis=0).astype(np.float64), total, whole)

    def merge(self, other: ColumnTotals) -> None:
        self.count += other.count
        self.total += other.total
        self.whole &= other.whole

    def shift(self) -> FloatArray:
        """Means, rounded where a column holds whole numbers so that its sums stay exact."""
        with np.errstate(invalid="ignore"):
            mean: FloatArray = self.total / self.count
        mean[self.whole] = np.rint(mean[self.whole])
        return mean
