"""Parquet read in blocks: one row group after the other, a few rows at a time.

Rows in the middle of a group are reached by reading it from its beginning; a thread that goes on
where it stopped does so only once.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from loopylatent.errors import DataError, quoted

BATCH_ROWS = 1 << 14
BUFFER_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """A Parquet file, and how its rows are grouped.

    Parameters
    ----------
    path : str
    names : tuple of str
    groups : tuple of int
        Rows of each row group.
    """

    path: str
    names: tuple[str, ...] = field(repr=False)
    groups: tuple[int, ...] = field(repr=False)

    @property
    def n_rows(self) -> int:
        return sum(self.groups)

    @property
    def row_starts(self) -> tuple[int, ...]:
        """Rows from which reading costs nothing extra: the first of each row group."""
        return tuple(accumulate(self.groups, initial=0))[:-1]

    def group_start(self, row: int) -> int:
        """Return the first row of the group that a row is in."""
        starts = self.row_starts
        return starts[bisect.bisect_right(starts, row) - 1]

    def open_at(self, row: int, columns: Sequence[str], texts: Collection[str]) -> ParquetStream:
        """Return the rows from ``row`` on; what is text is known from the file."""
        del texts
        stream, _kept.stream = _kept.stream, None
        if stream is None or not stream.reaches(self, row, columns):
            stream = ParquetStream(self, row, columns)
        stream.skip_to(row)
        return stream

    def changed(self) -> DataError:
        """Return the error of a file that is not the one that was scanned."""
        return self.error("its rows have changed since it was looked through; scan it again.")

    def error(self, problem: str) -> DataError:
        """Return an error that begins with the name of the file."""
        return DataError(f"{quoted(Path(self.path).name)}: {problem}")


def read_footer(path: Path) -> ParquetPart:
    """Read what a Parquet file says of itself."""
    part = ParquetPart(str(path), (), ())
    with _opened(part) as parquet:
        schema, metadata = parquet.schema_arrow, parquet.metadata
        for column in schema:
            if pa.types.is_nested(column.type):
                raise part.error(
                    f"column {quoted(column.name)} holds several values in each cell; "
                    "make columns of its parts, or leave it out."
                )
        names = tuple(str(name) for name in schema.empty_table().to_pandas().columns)
        groups = (metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
        return ParquetPart(str(path), names, tuple(groups))


class ParquetStream:
    """The rows of a file from a given one on, taken bit by bit."""

    def __init__(self, part: ParquetPart, row: int, columns: Sequence[str]) -> None:
        self._part = part
        self._columns = list(columns)
        self._stamp = _stamp(part)
        self._row = part.group_start(row)
        self._batches = _batches(part, self._row, self._columns)
        self._ready: list[Any] = []

    def reaches(self, part: ParquetPart, row: int, columns: Sequence[str]) -> bool:
        """Return whether it comes past a row sooner than a stream that is opened for it."""
        is_same = (part, list(columns)) == (self._part, self._columns)
        return is_same and part.group_start(row) <= self._row <= row and _stamp(part) == self._stamp

    def skip_to(self, row: int) -> None:
        """Go on to a later row."""
        while self._row < row:
            batch = self._ready.pop(0) if self._ready else self._next_batch()
            left = batch.slice(min(row - self._row, batch.num_rows))
            self._row += batch.num_rows - left.num_rows
            if left.num_rows:
                self._ready.insert(0, left)

    def take(self, n_rows: int) -> pd.DataFrame:
        """Return the next rows."""
        while sum(batch.num_rows for batch in self._ready) < n_rows:
            self._ready.append(self._next_batch())
        table = pa.Table.from_batches(self._ready)
        self._ready = table.slice(n_rows).to_batches()
        taken = table.slice(0, n_rows).select(self._columns)
        self._row += n_rows
        if self._row < self._part.n_rows:
            _kept.stream = self
        frame: pd.DataFrame = taken.to_pandas(date_as_object=False)
        return frame.set_axis(self._columns, axis="columns").reset_index(drop=True)

    def _next_batch(self) -> Any:
        batch = next(self._batches, None)
        if batch is None:
            raise self._part.changed()
        return batch


class _Kept(threading.local):
    """The file that this thread has not read to its end, if there is one."""

    stream: ParquetStream | None = None


_kept = _Kept()


def _stamp(part: ParquetPart) -> tuple[int, int] | None:
    """Size and time of a file: what tells that it is the same as before."""
    try:
        found = Path(part.path).stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _batches(part: ParquetPart, row: int, columns: list[str]) -> Iterator[Any]:
    """Yield record batches from the first row of a group on."""
    group = part.row_starts.index(row)
    with _opened(part) as parquet:
        size = (parquet.metadata.num_rows, parquet.metadata.num_row_groups)
        known = set(parquet.schema_arrow.names)
        if size != (part.n_rows, len(part.groups)) or not known.issuperset(columns):
            raise part.changed()
        found = parquet.iter_batches(
            BATCH_ROWS,
            row_groups=list(range(group, len(part.groups))),
            columns=columns,
            use_threads=False,
        )
        while (batch := _next(part, found)) is not None:
            yield batch


def _next(part: ParquetPart, batches: Iterator[Any]) -> Any:
    try:
        return next(batches, None)
    except MemoryError:  # Arrow's is an ArrowException too; the file is in order
        raise
    except (OSError, pa.ArrowException):
        raise part.error("the Parquet file is damaged; write it again.") from None


def _opened(part: ParquetPart) -> Any:
    try:
        return pq.ParquetFile(part.path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    except FileNotFoundError:
        raise part.error("the file is gone, or not every worker sees it at this path.") from None
    except MemoryError:
        raise
    except (OSError, pa.ArrowException):
        raise part.error("the Parquet file is damaged; write it again.") from None
