"""Go through the files of a long table once, to learn what its columns are (section 2.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from loopylatent.compute.arrays import Check, Progress
from loopylatent.compute.checkpoint import Checkpoint, Saved
from loopylatent.compute.cluster import Engine, runner
from loopylatent.compute.threads import Runner, in_order
from loopylatent.errors import DataError, Remedy, ThresholdError, quoted
from loopylatent.settings import __version__
from loopylatent.tables.blocks.columns import ColumnScan, decide
from loopylatent.tables.blocks.portions import block_rows as usual_block_rows, portions
from loopylatent.tables.blocks.table import (
    BlockTable,
    Part,
    block_weights,
    common_names,
    disagreeing,
    frames,
    in_portions,
    read_head,
    stamps,
    stretches,
)
from loopylatent.tables.files import FilePath, find_files
from loopylatent.tables.headers import check_names
from loopylatent.tables.kinds import Kind
from loopylatent.tables.numbers import WAYS, read_numbers
from loopylatent.tables.observations import (
    Dropped,
    OnDegenerate,
    by_text,
    check_rows,
    find_roles,
    kept_columns,
)
from loopylatent.tables.text import TextPart, column_keys, find_rows

_FOUND, _ROWS, _FORMAT = "found", "rows ", 2


def scan_table(
    source: FilePath | Sequence[FilePath],
    *,
    drop: Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    weights: str | None = None,
    delimiter: str | None = None,
    block_rows: int | None = None,
    on_degenerate: OnDegenerate = "error",
    progress: Progress | None = None,
    checkpoint: FilePath | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> BlockTable:
    """Look through a table that is too long for memory and give every column a kind.

    The kinds are those that `read_table` would find. Nothing is kept of the rows; memory is that
    of a few blocks, however long the table is.

    Parameters
    ----------
    source : path or sequence of paths
        Parquet, or CSV and TSV, also gzipped: one file, several files with the same columns, or a
        folder of them, which are read in the order of their names.
    drop, kinds, on_degenerate
        See `Observations.from_frame`.
    weights : str, optional
        The column that says how often each row counts.
    delimiter : str, optional
        Of delimited text; found out when not given.
    block_rows : int, optional
        Rows of a block; when not given as many as have four million cells. Distances of whole
        numbers do not depend on it; others may move by a rounding error.
    progress : callable, optional
        Called with what is done and what there is to do: bytes while rows of text are found, then
        portions. It may raise to stop.
    checkpoint : path, optional
        A file that holds what is known so far. Where it exists the scan goes on from there. It is
        kept, so that the same call needs no second scan; remove it when you are done.
    engine, scheduler
        Where the work is done; see `information_distances`.

    Returns
    -------
    BlockTable

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "votes.csv"
    ...     _ = path.write_text("a,b,c\\n" + "y,1,0.5\\nn,2,1.5\\ny,5,2.5\\n" * 1000)
    ...     scan_table(path, block_rows=500)
    BlockTable(3000 rows in blocks of 500, 3 columns: 1 binary, 1 ordinal, 1 continuous)
    """
    if block_rows is not None and block_rows < 1:
        raise ThresholdError(
            Remedy("setting", "block_rows", block_rows), " is no number of rows; give at least 1."
        )
    if weights is not None and not isinstance(weights, str):
        raise DataError("weights of a table in blocks are a column; give its name.")
    heads = [read_head(path, delimiter) for path in find_files(source)]
    names = common_names(heads)
    roles = find_roles([name for name in names if name], drop, (), weights, kinds)
    size = block_rows or usual_block_rows(len(roles.used))
    columns = (*roles.used, *(key for key in column_keys(names) if key not in names))
    file = None
    if checkpoint is not None:
        file = Checkpoint(checkpoint, _key(heads, columns, weights, size))
    saved = None if file is None else file.load()
    job = _Job(_with_rows(heads, size, saved, progress), columns, weights, size)
    check_rows(job.n_rows, None)
    with runner(engine, scheduler) as run:
        found = _scan(run, job, progress, file, saved)
    for name, scan in found.columns.items():
        if len(scan.forms) > 1:
            raise disagreeing(name)
    keys = zip(column_keys(names), names, strict=True)
    check_names([name for key, name in keys if name or found.columns[key].n_present])
    _check_commas(job, found)
    has_commas = any(scan.is_written("decimal") for scan in found.columns.values())
    wanted = by_text(kinds)
    coded = [decide(name, found.columns[name], wanted.get(name), has_commas) for name in roles.used]
    if weights is not None:
        check_rows(job.n_rows, np.array([found.weight]))
    faults = [
        Dropped(one.column.name, "no values" if one.numbers.low > one.numbers.high else "constant")
        for one in coded
        if not one.numbers.low < one.numbers.high
    ]
    kept = set(kept_columns(roles.used, faults, on_degenerate))
    used = tuple(one for one in coded if one.column.name in kept)
    size = block_rows or usual_block_rows(len(used))
    return BlockTable(job.parts, used, weights, found.weight, size, (*roles.dropped, *faults))


def _with_rows(
    heads: Sequence[Part], step: int, saved: Saved | None, progress: Progress | None
) -> tuple[Part, ...]:
    """Find the rows of text, or take those that a checkpoint knows; progress counts bytes."""
    texts = [head.path for head in heads if isinstance(head, TextPart)]
    sizes = {path: Path(path).stat().st_size for path in texts}
    total, before = sum(sizes.values()), 0

    def look(read: int) -> None:
        if progress is not None and before + read < total:
            progress(before + read, total)

    parts: list[Part] = []
    for k, head in enumerate(heads):
        if not isinstance(head, TextPart):
            parts.append(head)
        elif saved is not None and f"{_ROWS}{k}" in saved.arrays:
            n_rows, *offsets = saved.arrays[f"{_ROWS}{k}"].tolist()
            starts = np.array(offsets, dtype=np.int64)
            parts.append(replace(head, n_rows=n_rows, step=step, offsets=starts))
        else:
            parts.append(find_rows(head, step, look))
        before += sizes.get(head.path, 0)
    return tuple(parts)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """What is scanned."""

    parts: tuple[Part, ...]
    columns: tuple[str, ...]
    weights: str | None
    size: int

    @property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def portions(self) -> list[range]:
        return portions(self.n_rows, self.size)

    @property
    def separators(self) -> set[str]:
        """Of the files; a Parquet file has an empty one."""
        return {part.separator if isinstance(part, TextPart) else "" for part in self.parts}

    @property
    def separator(self) -> str:
        """The one that says what commas in cells mean; empty where files differ."""
        return next(iter(self.separators)) if len(self.separators) == 1 else ""


@dataclass(slots=True, eq=False)
class _Found:
    """What some rows say."""

    columns: dict[str, ColumnScan] = field(default_factory=dict)
    weight: float = 0.0

    def merge(self, other: _Found) -> None:
        self.weight += other.weight
        for name, scan in other.columns.items():
            self.columns.setdefault(name, ColumnScan(scan.separator)).merge(scan)


def _scan(
    run: Runner,
    job: _Job,
    progress: Progress | None = None,
    file: Checkpoint | None = None,
    saved: Saved | None = None,
) -> _Found:
    found = _Found()
    if saved is not None:
        found = msgspec.msgpack.decode(saved.arrays[_FOUND].tobytes(), type=_Found)
    done = 0 if saved is None else saved.done
    left = [[k for k in one if k >= done] for one in stretches(job.parts, job.portions)]
    n_portions = len(job.portions)

    def report(*_: int) -> None:
        if progress is not None:
            progress(done, n_portions)

    def arrays() -> dict[str, Any]:
        texts = [(k, part) for k, part in enumerate(job.parts) if isinstance(part, TextPart)]
        rows = {f"{_ROWS}{k}": np.array([part.n_rows, *part.offsets]) for k, part in texts}
        return {_FOUND: np.frombuffer(msgspec.msgpack.encode(found), np.uint8), **rows}

    is_whole = True  # not while a portion is merged: what an interrupt tears is not saved
    try:
        pieces = [one for one in left if one]
        for results in in_order(run(_scan_stretch, job, pieces, report, len(pieces))):
            for one in results:
                is_whole = False
                found.merge(one)
                done += 1
                is_whole = True
            if file is not None:
                file.save_now_and_then(done, arrays)
    finally:
        if file is not None and is_whole:
            with suppress(DataError):  # a full disk does not cost a scan that is complete
                file.save(done, arrays())
    return found


def _key(heads: Sequence[Part], columns: tuple[str, ...], weights: str | None, size: int) -> str:
    """What a scan depends on: the files, by their sizes and times, and what is read of them."""
    separators = [head.separator if isinstance(head, TextPart) else "" for head in heads]
    files = [head.path for head in heads], stamps(heads), separators
    return json.dumps([_FORMAT, __version__, files, columns, weights, size])


def _scan_stretch(job: _Job, numbers: list[int], check: Check) -> list[_Found]:
    """Look through some consecutive portions."""
    chosen = [job.portions[k] for k in numbers]
    rows = range(chosen[0].start, chosen[-1].stop)
    names = [*job.columns, *([job.weights] if job.weights else [])]
    stream = frames(job.parts, rows, job.size, names)
    return [
        _scan_portion(job, portion.start, own, check)
        for portion, own in in_portions(stream, chosen, job.size)
    ]


def _scan_portion(job: _Job, position: int, stream: Iterator[Any], check: Check) -> _Found:
    found = _Found({name: ColumnScan(separator=job.separator) for name in job.columns})
    for frame in stream:
        check(0, 0)
        weights = block_weights(frame, job.weights, position)
        counted = None if weights is None else weights > 0
        found.weight += float(len(frame) if weights is None else weights.sum())
        for name in job.columns:
            found.columns[name].add(frame[name], counted, position)
        position += len(frame)
    return found


def _check_commas(job: _Job, found: _Found) -> None:
    """Refuse numbers with commas in files between which the comma changes its meaning."""
    ways = {way for separator in job.separators for way in WAYS.get(separator, ())[1:2]}
    for name, scan in found.columns.items() if len(job.separators) > 1 else ():
        is_marked = scan.forms == {"texts"} and scan.numbers["plain"] is None
        texts = list(scan.levels.tallies)
        if is_marked and any(read_numbers(texts, way) is not None for way in ways):
            raise DataError(
                f"column {quoted(name)} holds numbers with commas, whose meaning depends on the "
                "separator of the file; write all files with the same one."
            )
