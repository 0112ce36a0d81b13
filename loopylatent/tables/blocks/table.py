"""Tables larger than memory: read in blocks, typed like a table in memory (section 2.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from loopylatent.compute.cache import Checkpoint, Saved
from loopylatent.compute.files import __version__
from loopylatent.compute.limits import LIMITS, block_rows as usual_block_rows, blocks, portions
from loopylatent.compute.values import Check, FloatArray, Progress
from loopylatent.compute.workers import Engine, in_order, runner
from loopylatent.errors import DataError, Remedy, ThresholdError, listed, quoted
from loopylatent.tables.blocks.columns import (
    CodedColumn,
    ColumnScan,
    decide,
    form_of,
    numbers_of,
    texts_of,
)
from loopylatent.tables.files import (
    FIRST_BYTES,
    FilePath,
    check_header,
    check_names,
    find_files,
    is_parquet,
    not_opened,
)
from loopylatent.tables.kinds import WAYS, Cells, Column, Kind, read_numbers
from loopylatent.tables.observations import (
    Dropped,
    OnDegenerate,
    by_text,
    check_rows,
    checked_weights,
    describe_columns,
    find_faults,
    find_roles,
    kept_columns,
    shift_of,
    signless,
)
from loopylatent.tables.parquet import ParquetPart, ParquetStream, read_footer
from loopylatent.tables.read import TextPart, TextStream, column_keys, find_rows, read_header

Part = ParquetPart | TextPart
T = TypeVar("T")
MOST_PORTIONS = 8
"""Largest number of portions read in one task."""


@dataclass(frozen=True, eq=False)
class FileRows:
    """The rows of one or more files, to be read in blocks."""

    parts: tuple[Part, ...] = field(repr=False)
    weight_column: str | None
    rows_a_block: int

    @cached_property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def portions(self) -> list[range]:
        """The rows of each portion, which is summed separately."""
        return portions(self.n_rows, self.rows_a_block)

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        return np.cumsum([0, *(part.n_rows for part in self.parts)])

    def stretches(self, most: int = MOST_PORTIONS) -> list[list[int]]:
        """Return the portions to be read by one task: at most ``most`` in one row group."""
        firsts = zip(self._first.tolist(), self.parts, strict=False)
        starts = [first + row for first, part in firsts for row in part.row_starts]
        if not starts:
            return [[k] for k in range(len(self.portions))]
        groups = np.searchsorted(starts, [rows.start for rows in self.portions], "right")
        together = [[k for k, _ in found] for _, found in groupby(enumerate(groups), itemgetter(1))]
        return [one[k : k + most] for one in together for k in range(0, len(one), most)]

    def in_portions(
        self, numbers: Sequence[int], read: Callable[[range], Iterator[T]]
    ) -> Iterator[tuple[int, Iterator[T]]]:
        """Yield the first row and the blocks of each portion of a stretch."""
        chosen = [self.portions[k] for k in numbers]
        found = read(range(chosen[0].start, chosen[-1].stop))
        for rows in chosen:
            yield rows.start, islice(found, -(-len(rows) // self.rows_a_block))

    def frames(self, columns: Sequence[str], rows: range) -> Iterator[Any]:
        """Yield blocks of rows as Arrow tables, uncoded, with the weights."""
        names = [*columns, *([self.weight_column] if self.weight_column else [])]
        stream: ParquetStream | TextStream | None = None
        for block in blocks(rows, self.rows_a_block):
            tables, position = [], block.start
            while position < block.stop:
                k = int(np.searchsorted(self._first, position, "right")) - 1
                first, end = self._first[k : k + 2].tolist()
                if stream is None or position == first:
                    stream = self.parts[k].open_at(position - first, names)
                tables.append(stream.take(min(block.stop, end) - position))
                position += tables[-1].num_rows
            yield _joined(tables)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive rows as numbers."""

    values: FloatArray
    """(n, p) codes or numbers, NaN if missing."""
    weights: FloatArray | None


@dataclass(frozen=True, eq=False)
class BlockTable(FileRows):
    """A table in files whose columns are known and whose rows are read in blocks.

    Returned by `scan_table`; `information_distances` accepts it like `Observations`.

    Parameters
    ----------
    parts : tuple of ParquetPart or TextPart
        The files, in the order of their rows.
    weight_column : str or None
    rows_a_block : int
    coded : tuple of CodedColumn
        The variables, with the coding of their cells.
    total_weight : float
        The number of rows or, with weights, their sum.
    dropped : tuple of Dropped
        Columns that were dropped, and why.
    """

    coded: tuple[CodedColumn, ...] = field(repr=False)
    total_weight: float
    dropped: tuple[Dropped, ...] = ()

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return tuple(one.column for one in self.coded)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(column.kind for column in self.columns)

    @property
    def n_columns(self) -> int:
        return len(self.coded)

    @property
    def n_samples(self) -> int:
        """The number of rows or, with weights, their sum."""
        return round(self.total_weight)

    @property
    def n_missing(self) -> int:
        """The number of missing values in the table."""
        return sum(one.n_missing for one in self.coded)

    @property
    def has_missing(self) -> bool:
        return self.n_missing > 0

    @property
    def shift(self) -> FloatArray:
        """(p,) the approximate means, subtracted from the columns before they are summed."""
        count, total = self._totals
        return shift_of(count, total, np.array([one.numbers.whole for one in self.coded]))

    @property
    def _totals(self) -> FloatArray:
        """(2, p) count and sum of the values of every column."""
        return np.array([[one.numbers.count, one.numbers.total] for one in self.coded]).T

    @cached_property
    def digest(self) -> str:
        """A hash of the columns, the sums over their values, and the block size."""
        shape = (self.n_rows, self.rows_a_block, self.total_weight, self.columns)
        return hashlib.sha256(repr(shape).encode() + self._totals.tobytes()).hexdigest()[:16]

    def blocks(self, rows: range | None = None) -> Iterator[Block]:
        """Yield all rows, or a stretch of whole portions, in blocks."""
        wanted = range(self.n_rows) if rows is None else rows
        position = wanted.start
        for frame in self.frames(self.names, wanted):
            values = np.empty((len(frame), self.n_columns))
            for j, one in enumerate(self.coded):
                values[:, j] = one.encode(frame[one.column.name])
            yield Block(signless(values), block_weights(frame, self.weight_column, position))
            position += len(frame)

    def __repr__(self) -> str:
        columns = describe_columns(self.kinds, self.n_missing)
        return f"BlockTable({self.n_rows} rows in blocks of {self.rows_a_block}, {columns})"


def block_weights(frame: Any, column: str | None, first_row: int) -> FloatArray | None:
    """Return the weights of a block of an Arrow table, checked."""
    if column is None:
        return None
    form, found = form_of(frame[column]), None
    if form == "numbers":
        found = numbers_of(frame[column])
    elif form == "texts":
        found = Cells.of(texts_of(frame[column])).numbers()
    if found is None:
        raise DataError("The weights must be numbers of at least 0.")
    return checked_weights(found, len(frame), first_row)


def add_portions(
    total: Any,
    work: Callable[[Any, list[int], Check], list[Any]],
    job: Any,
    chosen: Sequence[list[int]],
    file: Checkpoint | None,
    *,
    progress: Progress | None,
    engine: Engine,
    scheduler: str | None,
    ahead: int | None = None,
) -> None:
    """Process the remaining stretches and merge them into a total, in the order of the rows.

    The checkpoint ``file`` stores the number of portions ``done`` and the ``arrays`` of the total.
    """
    tasks = [left for one in chosen if (left := [k for k in one if k >= total.done])]
    n_portions = sum(map(len, chosen))

    def report(*_: int) -> None:
        if progress is not None:
            progress(total.done, n_portions)

    is_whole = True  # False while a portion is added, so that an interrupt saves no partial sum
    try:
        with runner(engine, scheduler) as run:
            for parts in in_order(run(work, job, tasks, report, ahead or len(tasks))):
                while parts:  # frees each part before the next one is computed
                    is_whole = False
                    total.merge(parts.pop(0))
                    total.done += 1
                    is_whole = True
                if file is not None:
                    file.save_if_due(total.done, total.arrays)
    finally:
        if file is not None and tasks and total.done and is_whole:
            with suppress(DataError):  # a full disk must not lose a complete result
                file.save(total.done, total.arrays())


def _joined(tables: list[Any]) -> Any:
    """Concatenate the rows of several files, which may store texts differently."""
    if len(tables) == 1:
        return tables[0]
    with suppress(pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables(tables, promote_options="permissive")
    for name in tables[0].column_names:
        if len({form_of(one[name]) for one in tables}) > 1:
            raise disagreeing(name)
        if form_of(tables[0][name]) == "texts":
            tables = [
                one.set_column(one.column_names.index(name), name, texts_of(one[name]))
                for one in tables
            ]
    return pa.concat_tables(tables, promote_options="permissive")


def disagreeing(name: str) -> DataError:
    """Return the error for a column with different types in different files."""
    return DataError(
        f"Column {quoted(name)} contains numbers in one file and other values in another, or "
        "whole numbers too long to be distinct. Write it as text, or drop it."
    )


# The files --------------------------------------------------------------------------------------


def read_head(path: Path, delimiter: str | None) -> Part:
    """Read the structure of a file from its header or footer."""
    try:
        with path.open("rb") as stream:
            head = stream.read(FIRST_BYTES)
    except OSError as error:
        raise not_opened(path, error) from None
    if is_parquet(head):
        return read_footer(path)
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise DataError(
            f"{quoted(path.name)}: workbooks and archives cannot be read in blocks; "
            "save the table as CSV or Parquet."
        )
    return read_header(path, delimiter)


def common_names(heads: Sequence[Part]) -> tuple[str, ...]:
    """Return the column names, which must be the same in all files."""
    names = heads[0].names
    if len(names) > LIMITS.columns:
        raise DataError(f"{len(names):,} columns are too many; use at most {LIMITS.columns:,}.")
    _check_own(heads[0])
    for head in heads[1:]:
        different = sorted((set(names) ^ set(head.names)) - {""})
        if different:
            raise DataError(
                f"{head.shown} and {heads[0].shown} have different columns: {listed(different)}. "
                "All files need the same columns."
            )
        try:
            _check_own(head)
        except DataError as error:
            raise head.error(str(error)) from None
        if head.names.count("") != names.count(""):
            raise DataError(
                f"{head.shown} has {head.names.count('')} unnamed columns, {heads[0].shown} has "
                f"{names.count('')}. Remove or name them."
            )
    return names


def _check_own(head: Part) -> None:
    """Check the names of one file; unnamed columns of text files are checked later."""
    is_text = isinstance(head, TextPart)
    if is_text:
        check_header(head.names)
    check_names([name for name in head.names if name or not is_text])


def stamps(parts: Sequence[Part]) -> list[list[int]]:
    """Return size and modification time of each file, to detect changes."""
    try:
        found = [Path(part.path).stat() for part in parts]
    except OSError as error:
        shown = quoted(Path(error.filename).name)
        raise DataError(f"{shown}: the file was removed; restore it, or scan again.") from None
    return [[one.st_size, one.st_mtime_ns] for one in found]


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
    """Scan a table larger than memory and determine the type of every column.

    The types are those that `read_table` would find. No rows are kept; the memory needed is that
    of a few blocks, whatever the length of the table.

    Parameters
    ----------
    source : path or sequence of paths
        Parquet, or CSV and TSV, also gzipped: one file, several files with the same columns, or a
        folder of them, read in the order of their names.
    drop, kinds, on_degenerate
        See `Observations.from_frame`.
    weights : str, optional
        The column that says how often each row counts.
    delimiter : str, optional
        Of delimited text; default: detected.
    block_rows : int, optional
        Rows per block; default: four million cells per block. Distances of whole numbers do not
        depend on it; others may differ by rounding errors.
    progress : callable, optional
        Called with the amount done and the total: bytes while the rows of text files are located,
        then portions. It may raise to stop.
    checkpoint : path, optional
        A file with intermediate results; if it exists, the scan resumes from it. It is kept, so
        that the same call needs no second scan; remove it when you are done.
    engine, scheduler
        See `information_distances`.

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
            Remedy("setting", "block_rows", block_rows), " is too small; use at least 1."
        )
    if weights is not None and not isinstance(weights, str):
        raise DataError("weights must be the name of a column if a table is read in blocks.")
    heads = [read_head(path, delimiter) for path in find_files(source)]
    names = common_names(heads)
    roles = find_roles([name for name in names if name], drop, (), weights, kinds)
    size = block_rows or usual_block_rows(len(roles.used))
    named = set(names)
    columns = (*roles.used, *(key for key in column_keys(names) if key not in named))
    file = saved = None
    if checkpoint is not None:
        file = Checkpoint(checkpoint, _key(heads, columns, weights, size))
        saved = file.load()
    job = _Job(_with_rows(heads, size, saved, progress), weights, size, columns)
    check_rows(job.n_rows, None)
    total = _Total(job, saved)
    if file is not None and saved is None:
        with suppress(DataError):
            file.save(0, total.arrays())
    add_portions(
        total, _scan_stretch, job, job.stretches(), file,
        progress=progress, engine=engine, scheduler=scheduler,
    )  # fmt: skip
    found = total.found
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
    numbers = [one.numbers for one in coded]
    faults = find_faults(roles.used, [x.low for x in numbers], [x.high for x in numbers])
    kept = set(kept_columns(roles.used, faults, on_degenerate))
    used = tuple(one for one in coded if one.column.name in kept)
    size = block_rows or usual_block_rows(len(used))
    return BlockTable(job.parts, weights, size, used, found.weight, (*roles.dropped, *faults))


def _with_rows(
    heads: Sequence[Part], step: int, saved: Saved | None, progress: Progress | None
) -> tuple[Part, ...]:
    """Locate the rows of text files, or take them from a checkpoint; progress counts bytes."""
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


@dataclass(frozen=True, eq=False)
class _Job(FileRows):
    columns: tuple[str, ...]

    @cached_property
    def separators(self) -> set[str]:
        return {part.separator for part in self.parts}


@dataclass(slots=True, eq=False)
class _Found:
    """Summary of some rows."""

    columns: dict[str, ColumnScan] = field(default_factory=dict)
    weight: float = 0.0

    def merge(self, other: _Found) -> None:
        self.weight += other.weight
        for name, scan in other.columns.items():
            self.columns.setdefault(name, ColumnScan(scan.separator)).merge(scan)


class _Total:
    """Summary of the portions so far, and the row offsets of text files."""

    def __init__(self, job: _Job, saved: Saved | None) -> None:
        texts = [(k, part) for k, part in enumerate(job.parts) if isinstance(part, TextPart)]
        self._rows = {f"{_ROWS}{k}": np.array([part.n_rows, *part.offsets]) for k, part in texts}
        self.found, self.done = _Found(), 0
        if saved is not None:
            found = saved.arrays[_FOUND].tobytes()
            self.found, self.done = msgspec.msgpack.decode(found, type=_Found), saved.done

    def merge(self, part: _Found) -> None:
        self.found.merge(part)

    def arrays(self) -> dict[str, Any]:
        found = msgspec.msgpack.encode(self.found)
        return {_FOUND: np.frombuffer(found, np.uint8), **self._rows}


def _key(heads: Sequence[Part], columns: tuple[str, ...], weights: str | None, size: int) -> str:
    """The inputs of a scan: the files with their sizes and times, and the columns."""
    files = [head.path for head in heads], stamps(heads), [head.separator for head in heads]
    return json.dumps([_FORMAT, __version__, files, columns, weights, size])


def _scan_stretch(job: _Job, numbers: list[int], check: Check) -> list[_Found]:
    shared = job.in_portions(numbers, partial(job.frames, job.columns))
    return [_scan_portion(job, position, own, check) for position, own in shared]


def _scan_portion(job: _Job, position: int, stream: Iterator[Any], check: Check) -> _Found:
    # the separator determines the meaning of commas in cells; none if files differ
    separator = next(iter(job.separators)) if len(job.separators) == 1 else ""
    found = _Found({name: ColumnScan(separator) for name in job.columns})
    for frame in stream:
        check(0, 0)
        weights = block_weights(frame, job.weight_column, position)
        counted = None if weights is None else weights > 0
        found.weight += float(len(frame) if weights is None else weights.sum())
        for name in job.columns:
            found.columns[name].add(frame[name], counted, position)
        position += len(frame)
    return found


def _check_commas(job: _Job, found: _Found) -> None:
    """Raise on numbers with commas if the comma has different meanings in the files."""
    ways = {way for separator in job.separators for way in WAYS.get(separator, ())[1:2]}
    for name, scan in found.columns.items() if len(job.separators) > 1 else ():
        is_marked = scan.forms == {"texts"} and scan.numbers["plain"] is None
        texts = list(scan.levels.tallies)
        if is_marked and any(read_numbers(texts, way) is not None for way in ways):
            raise DataError(
                f"Column {quoted(name)} contains numbers with commas, whose meaning depends on the "
                "separator of the file. Use the same separator in all files."
            )
