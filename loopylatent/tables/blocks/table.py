"""Tables larger than memory: read in blocks, typed like a table in memory (section 2.1).

`scan_table` goes through the files once to learn what their columns are. The rows themselves are
read again, block by block, by whoever needs sums over them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from loopylatent.compute.arrays import FloatArray
from loopylatent.compute.limits import LIMITS
from loopylatent.errors import DataError, listed, quoted
from loopylatent.tables.blocks.columns import CodedColumn, form_of, numbers_of, texts_of
from loopylatent.tables.blocks.portions import ColumnTotals, blocks, portions
from loopylatent.tables.headers import check_header, check_names
from loopylatent.tables.kinds import Column, Kind
from loopylatent.tables.numbers import Cells
from loopylatent.tables.observations import Dropped, checked_weights, signless
from loopylatent.tables.parquet import (
    HEAD_BYTES,
    ParquetPart,
    ParquetStream,
    is_parquet,
    read_footer,
)
from loopylatent.tables.text import TextPart, TextStream, read_header

Part = ParquetPart | TextPart
T = TypeVar("T")
MOST_PORTIONS = 8
"""That are read in one go, even where a row group holds more."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Some consecutive rows as numbers."""

    values: FloatArray
    """(n, p) codes or numbers, NaN where a value is missing."""
    weights: FloatArray | None


@dataclass(frozen=True, eq=False)
class BlockTable:
    """A table in files, known by its columns; the rows are read in blocks.

    Made by `scan_table`. Takes the place of `Observations` in `information_distances`.

    Parameters
    ----------
    parts : tuple of ParquetPart or TextPart
        The files, in the order of their rows.
    coded : tuple of CodedColumn
        The columns that are variables, with what turns their cells into numbers.
    weight_column : str or None
    total_weight : float
        The number of rows or, with weights, their sum.
    rows_a_block : int
    dropped : tuple of Dropped
        What was left out of the table, and why.
    """

    parts: tuple[Part, ...] = field(repr=False)
    coded: tuple[CodedColumn, ...] = field(repr=False)
    weight_column: str | None
    total_weight: float
    rows_a_block: int
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

    @cached_property
    def n_rows(self) -> int:
        return sum(part.n_rows for part in self.parts)

    @property
    def n_columns(self) -> int:
        return len(self.coded)

    @property
    def n_samples(self) -> int:
        """The number of rows or, with weights, their sum."""
        return round(self.total_weight)

    @property
    def n_missing(self) -> int:
        """How many values are missing in the whole table."""
        return sum(one.n_missing for one in self.coded)

    @property
    def has_missing(self) -> bool:
        return self.n_missing > 0

    @property
    def totals(self) -> ColumnTotals:
        """Number and sum of the values of every column."""
        numbers = [one.numbers for one in self.coded]
        return ColumnTotals(
            np.array([one.count for one in numbers], dtype=np.float64),
            np.array([one.total for one in numbers]),
            np.array([one.whole for one in numbers]),
        )

    @cached_property
    def digest(self) -> str:
        """A fingerprint of the columns, of sums over their values, and of the blocks."""
        shape = (self.n_rows, self.rows_a_block, self.total_weight, self.columns)
        hasher = hashlib.sha256(repr(shape).encode())
        hasher.update(self.totals.count.tobytes())
        hasher.update(self.totals.total.tobytes())
        return hasher.hexdigest()[:16]

    @property
    def portions(self) -> list[range]:
        """The rows of each portion: what is summed on its own."""
        return portions(self.n_rows, self.rows_a_block)

    def blocks(self, rows: range | None = None) -> Iterator[Block]:
        """Yield the rows, or a stretch of whole portions, block by block."""
        wanted = range(self.n_rows) if rows is None else rows
        names = [*self.names, *([self.weight_column] if self.weight_column else [])]
        position = wanted.start
        for frame in frames(self.parts, wanted, self.rows_a_block, names):
            values = np.empty((len(frame), self.n_columns))
            for j, one in enumerate(self.coded):
                values[:, j] = one.encode(frame[one.column.name])
            yield Block(signless(values), block_weights(frame, self.weight_column, position))
            position += len(frame)

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in Counter(self.kinds).items())
        missing = f"; {self.n_missing} value{'s' * (self.n_missing > 1)} missing"
        return (
            f"BlockTable({self.n_rows} rows in blocks of {self.rows_a_block}, "
            f"{self.n_columns} columns: {kinds}{missing if self.has_missing else ''})"
        )


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
        raise DataError("the weights are not numbers; give a number of at least 0.")
    return checked_weights(found, len(frame), first_row)


def stretches(
    parts: Sequence[Part], chosen: Sequence[range], most: int = MOST_PORTIONS
) -> list[list[int]]:
    """Return which portions are read in one go: at most so many that begin in one row group.

    Their sums are held until all of them are there.

    Examples
    --------
    >>> from loopylatent.tables.parquet import ParquetPart
    >>> part = ParquetPart("t.parquet", ("a",), (50, 50, 150))
    >>> stretches([part], portions(250, 2))
    [[0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10, 11, 12, 13, 14], [15]]
    """
    first = np.cumsum([0, *(part.n_rows for part in parts)])
    starts = [
        int(begin) + row
        for begin, part in zip(first[:-1], parts, strict=True)
        for row in part.row_starts
    ]
    if not starts:
        return [[k] for k in range(len(chosen))]
    groups = np.searchsorted(starts, [rows.start for rows in chosen], "right")
    together = [[k for k, _ in found] for _, found in groupby(enumerate(groups), itemgetter(1))]
    return [one[k : k + most] for one in together for k in range(0, len(one), most)]


def in_portions(
    found: Iterator[T], chosen: Sequence[range], size: int
) -> Iterator[tuple[range, Iterator[T]]]:
    """Share out the blocks of consecutive portions: yield each portion with its own blocks."""
    for rows in chosen:
        yield rows, islice(found, -(-len(rows) // size))


def frames(parts: Sequence[Part], rows: range, size: int, columns: Sequence[str]) -> Iterator[Any]:
    """Yield rows as they stand in the files, in Arrow tables of ``size``."""
    first = np.cumsum([0, *(part.n_rows for part in parts)])
    stream: ParquetStream | TextStream | None = None
    for block in blocks(rows, size):
        pieces, position = [], block.start
        while position < block.stop:
            k = int(np.searchsorted(first, position, "right")) - 1
            if stream is None or position == first[k]:
                stream = parts[k].open_at(position - int(first[k]), columns)
            pieces.append(stream.take(min(block.stop, int(first[k + 1])) - position))
            position += pieces[-1].num_rows
        yield _joined(pieces)


def _joined(pieces: list[Any]) -> Any:
    """One table of the rows of several files, which may hold their texts in different ways."""
    if len(pieces) == 1:
        return pieces[0]
    with suppress(pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.concat_tables(pieces, promote_options="permissive")
    for name in pieces[0].column_names:
        if len({form_of(one[name]) for one in pieces}) > 1:
            raise disagreeing(name)
        if form_of(pieces[0][name]) == "texts":
            pieces = [
                one.set_column(one.column_names.index(name), name, texts_of(one[name]))
                for one in pieces
            ]
    return pa.concat_tables(pieces, promote_options="permissive")


def disagreeing(name: str) -> DataError:
    """Return the error of a column that cannot be read alike everywhere."""
    return DataError(
        f"column {quoted(name)} holds numbers in one file and something else in another, "
        "or numbers so long that different ones come to the same; write it as text, or drop it."
    )


# The files --------------------------------------------------------------------------------------


def read_head(path: Path, delimiter: str | None) -> Part:
    """Return what the beginning or the end of a file says of it."""
    try:
        with path.open("rb") as stream:
            head = stream.read(HEAD_BYTES)
    except OSError as error:
        shown = quoted(str(path))
        raise DataError(f"{shown} cannot be opened: {error.strerror}; check the path.") from None
    if is_parquet(head):
        return read_footer(path)
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise DataError(
            f"{quoted(path.name)}: workbooks and archives cannot be read in blocks; "
            "save the table as CSV or Parquet."
        )
    return read_header(path, delimiter)


def common_names(heads: Sequence[Part]) -> tuple[str, ...]:
    """Return the names of the columns, which all files have."""
    names = heads[0].names
    if len(names) > LIMITS.columns:
        raise DataError(f"{len(names):,} columns are too many; keep at most {LIMITS.columns:,}.")
    _check_own(heads[0])
    for head in heads[1:]:
        others, shown = head.names, quoted(Path(head.path).name)
        different = sorted((set(names) ^ set(others)) - {""})
        if different:
            raise DataError(
                f"{shown} has other columns than {quoted(Path(heads[0].path).name)}: "
                f"they differ in {listed(different)}."
            )
        try:
            _check_own(head)
        except DataError as error:
            raise DataError(f"{shown}: ", str(error)) from None
        if others.count("") != names.count(""):
            raise DataError(
                f"{shown} has {others.count('')} columns without a name, "
                f"{quoted(Path(heads[0].path).name)} has {names.count('')}; "
                "remove them, or give them names."
            )
    return names


def _check_own(head: Part) -> None:
    """Check the names of one file; in text a column without a name may be empty and then passes."""
    is_text = isinstance(head, TextPart)
    if is_text:
        check_header(head.names)
    check_names([name for name in head.names if name or not is_text])


def stamps(parts: Sequence[Part]) -> list[list[int]]:
    """Return size and time of each file: what tells that it is the same as before."""
    try:
        found = [Path(part.path).stat() for part in parts]
    except OSError as error:
        shown = quoted(Path(error.filename).name)
        raise DataError(f"{shown}: the file is gone; put it back, or scan again.") from None
    return [[one.st_size, one.st_mtime_ns] for one in found]
