"""Sums over the rows of a table that is read in blocks: on threads, on a cluster, resumed."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from loopylatent.compute.files import Checkpoint, Saved
from loopylatent.compute.limits import free_bytes
from loopylatent.compute.values import Check, FloatArray, IntArray, Progress
from loopylatent.compute.workers import Engine, in_order, one_thread, runner
from loopylatent.distances.strengths import SumPlan, Sums
from loopylatent.errors import DataError
from loopylatent.settings import __version__
from loopylatent.tables.blocks.columns import block_rows
from loopylatent.tables.blocks.table import (
    MOST_PORTIONS,
    Block,
    BlockTable,
    in_portions,
    stamps,
    stretches,
)
from loopylatent.tables.observations import Observations

_SUM, _ROWS, _WEIGHTS = "sum ", "rows", "weights"
_CELL = 8
_COPIES = 8
"""Of a block at once: as it is read, as numbers, centred, weighted, squared."""


@dataclass(frozen=True, slots=True, eq=False)
class BlockSums:
    """Sums over all rows, and some of the rows themselves."""

    sums: Sums
    rows: Observations


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What is summed, and which rows are wanted themselves."""

    table: BlockTable
    plan: SumPlan
    wanted: IntArray = field(repr=False)
    """Ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The sums of one portion, and the wanted rows of it."""

    sums: Sums
    rows: FloatArray
    weights: FloatArray


def sum_blocks(
    table: BlockTable,
    plan: SumPlan,
    wanted: IntArray,
    *,
    progress: Progress | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> BlockSums:
    """Sum over the rows of a table, and pick out the wanted ones.

    Portions are summed in any order and anywhere; their sums are added in the order of the rows,
    so that nothing depends on who did the work. ``checkpoint`` names a file that holds the sums so
    far: where it exists the work goes on from there. In the end it holds all of them; whoever has
    made use of them removes it.
    """
    job = _Job(table, plan, wanted)
    file = None if checkpoint is None else Checkpoint(checkpoint, _key(job))
    saved = None if file is None else file.load()
    total = _Total(job, saved)
    chosen = stretches(table.parts, table.portions, _portions_together(plan))
    left = [[k for k in one if k >= total.done] for one in chosen]
    pieces = [one for one in left if one]
    n_portions = len(table.portions)

    def report(*_: int) -> None:
        if progress is not None:
            progress(total.done, n_portions)

    with runner(engine, scheduler) as run, one_thread():
        try:
            for parts in in_order(run(_sum_stretch, job, pieces, report, _held(job))):
                while parts:  # none is kept while the next one comes
                    total.add(parts.pop(0))
                if file is not None:
                    file.save_now_and_then(total.done, total.arrays)
        except BaseException:
            if file is not None and total.done and total.is_whole:
                file.save(total.done, total.arrays())
            raise
    if file is not None and pieces:
        with contextlib.suppress(DataError):  # a full disk does not cost sums that are complete
            file.save(total.done, total.arrays())
    return total.finished()


def _portions_together(plan: SumPlan) -> int:
    """Portions summed in one go: their sums take no more than a block, or are one."""
    return max(1, min(MOST_PORTIONS, block_rows(plan.cells)))


def _held(job: _Job) -> int:
    """Pieces that may be under way or wait at once; the sums of all portions would not fit."""
    table, plan = job.table, job.plan
    block = table.rows_a_block * max(table.n_columns, sum(plan.sizes))
    product = max(rows * columns for rows, columns in plan.shapes.values())
    piece = _portions_together(plan) * plan.cells + product + _COPIES * block
    return max(1, (free_bytes() // _CELL - plan.cells) // piece)


def _key(job: _Job) -> str:
    """What the sums depend on."""
    table, plan = job.table, job.plan
    wanted = [len(job.wanted), int(job.wanted.sum())]
    files, shift = stamps(table.parts), plan.shift.tobytes().hex()
    return json.dumps([__version__, files, table.digest, plan.kind, plan.sizes, shift, wanted])


def _sum_stretch(job: _Job, numbers: list[int], check: Check) -> list[_Part]:
    """Sum over some consecutive portions."""
    table = job.table
    chosen = [table.portions[k] for k in numbers]
    stream = table.blocks(range(chosen[0].start, chosen[-1].stop))
    return [
        _sum_portion(job, rows.start, own, check)
        for rows, own in in_portions(stream, chosen, table.rows_a_block)
    ]


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


class _Total:
    """The sums of the portions so far, in the order of the rows."""

    def __init__(self, job: _Job, saved: Saved | None) -> None:
        self._job = job
        self.done = 0
        self.is_whole = True
        """Not while a portion is added: what an interrupt tears is not saved."""
        self._sums: Sums | None = None
        self._rows: list[FloatArray] = [np.empty((0, job.table.n_columns))]
        self._weights: list[FloatArray] = [np.empty(0)]
        if saved is not None:
            self.done = saved.done
            self._rows, self._weights = [saved.arrays[_ROWS]], [saved.arrays[_WEIGHTS]]
            named = {name: saved.arrays[_SUM + name] for name in job.plan.zeros().arrays}
            self._sums = Sums(named)

    def add(self, part: _Part) -> None:
        self.is_whole = False
        if self._sums is None:
            self._sums = self._job.plan.zeros()
        self._sums.merge(part.sums)
        self._rows.append(part.rows)
        self._weights.append(part.weights)
        self.done += 1
        self.is_whole = True

    def arrays(self) -> dict[str, FloatArray]:
        """Return everything by name, to be written to a file."""
        sums = self._job.plan.zeros() if self._sums is None else self._sums
        named = {_SUM + name: array for name, array in sums.arrays.items()}
        rows, weights = np.concatenate(self._rows), np.concatenate(self._weights)
        return {**named, _ROWS: rows, _WEIGHTS: weights}

    def finished(self) -> BlockSums:
        table, found = self._job.table, self.arrays()
        weights = None if table.weight_column is None else found[_WEIGHTS]
        rows = Observations(found[_ROWS], table.columns, weights=weights)
        return BlockSums(self._sums or self._job.plan.zeros(), rows)
