"""Sums over the rows of a table read in blocks: on threads or a cluster, with checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from loopylatent.compute.cache import Checkpoint, Saved
from loopylatent.compute.files import __version__
from loopylatent.compute.limits import block_rows, free_bytes, one_thread
from loopylatent.compute.values import Check, FloatArray, IntArray
from loopylatent.distances.strengths import SumPlan, Sums
from loopylatent.tables.blocks.table import (
    MOST_PORTIONS,
    Block,
    BlockTable,
    add_portions,
    stamps,
)
from loopylatent.tables.files import FilePath
from loopylatent.tables.observations import Observations

_SUM, _ROWS, _WEIGHTS = "sum ", "rows", "weights"
_CELL = 8
_COPIES = 8
"""Copies of a block in memory at once: as read, as numbers, centred, weighted, squared."""


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What is summed, and which rows are returned as well."""

    table: BlockTable
    plan: SumPlan
    wanted: IntArray = field(repr=False)
    """Ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    sums: Sums
    rows: FloatArray
    weights: FloatArray


def sum_blocks(
    table: BlockTable, plan: SumPlan, wanted: IntArray, checkpoint: FilePath | None, **how: Any
) -> BlockSums:
    """Sum over the rows of a table, and select the wanted ones.

    Portions are summed in parallel and added in the order of the rows. ``checkpoint`` names a file
    for the sums so far; the caller removes it.
    """
    job = _Job(table, plan, wanted)
    file = None if checkpoint is None else Checkpoint(checkpoint, _key(job))
    total = BlockSums(job, None if file is None else file.load())
    chosen = table.stretches(_portions_together(plan))
    with one_thread():
        add_portions(total, _sum_stretch, job, chosen, file, ahead=_held(job), **how)
    return total


def _portions_together(plan: SumPlan) -> int:
    """Portions per task, so that their sums take no more memory than a block."""
    return max(1, min(MOST_PORTIONS, block_rows(plan.cells)))


def _held(job: _Job) -> int:
    """Tasks whose sums fit into memory at once."""
    table, plan = job.table, job.plan
    block = table.rows_a_block * max(table.n_columns, sum(plan.sizes))
    product = max(rows * columns for rows, columns in plan.shapes.values())
    task = _portions_together(plan) * plan.cells + product + _COPIES * block
    return max(1, (free_bytes() // _CELL - plan.cells) // task)


def _key(job: _Job) -> str:
    table, plan = job.table, job.plan
    wanted = [len(job.wanted), int(job.wanted.sum())]
    files, shift = stamps(table.parts), plan.shift.tobytes().hex()
    return json.dumps([__version__, files, table.digest, plan.kind, plan.sizes, shift, wanted])


def _sum_stretch(job: _Job, numbers: list[int], check: Check) -> list[_Part]:
    shared = job.table.in_portions(numbers, job.table.blocks)
    return [_sum_portion(job, position, own, check) for position, own in shared]


def _sum_portion(job: _Job, position: int, stream: Iterable[Block], check: Check) -> _Part:
    sums = job.plan.zeros()
    rows, weights = [], []
    for block in stream:
        check(0, 0)
        job.plan.add(sums, block.values, block.weights)
        end = position + len(block.values)
        first, last = np.searchsorted(job.wanted, [position, end])
        picked = job.wanted[first:last] - position
        rows.append(block.values[picked])
        weights.append(np.ones(len(picked)) if block.weights is None else block.weights[picked])
        position = end
    return _Part(sums, np.concatenate(rows), np.concatenate(weights))


class BlockSums:
    """Sums over the portions so far, and their wanted rows."""

    def __init__(self, job: _Job, saved: Saved | None) -> None:
        self._table, self.sums = job.table, job.plan.zeros()
        self._values, self._weights = [np.empty((0, job.table.n_columns))], [np.empty(0)]
        self.done = 0
        if saved is not None:
            self.sums = Sums({name: saved.arrays[_SUM + name] for name in self.sums.arrays})
            self._values, self._weights = [saved.arrays[_ROWS]], [saved.arrays[_WEIGHTS]]
            self.done = saved.done

    def merge(self, part: _Part) -> None:
        self.sums.merge(part.sums)
        self._values.append(part.rows)
        self._weights.append(part.weights)

    def arrays(self) -> dict[str, FloatArray]:
        sums = {_SUM + name: array for name, array in self.sums.arrays.items()}
        rows, weights = np.concatenate(self._values), np.concatenate(self._weights)
        return {**sums, _ROWS: rows, _WEIGHTS: weights}

    @property
    def rows(self) -> Observations:
        table, found = self._table, self.arrays()
        weights = None if table.weight_column is None else found[_WEIGHTS]
        return Observations(found[_ROWS], table.columns, weights=weights)
