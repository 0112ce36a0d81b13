"""Parquet files, read whole or in blocks of rows."""

from __future__ import annotations

import bisect
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from loopylatent.errors import DataError, quoted
from loopylatent.tables.files import File, Part, check_names, read_by, stream

BATCH_ROWS = 1 << 14
BUFFER_BYTES = 1 << 20
_INDEX = "__index_level_"
_kept = threading.local()
"""``stream``: the file that this thread has not read to its end, if any."""
_DAMAGED = "the Parquet file is damaged; write it again."


def _check_flat(error: Callable[[str], DataError], schema: Any) -> None:
    """Raise if a column contains lists, structs or maps."""
    for one in schema:
        if pa.types.is_nested(one.type):
            is_struct, is_map = pa.types.is_struct(one.type), pa.types.is_map(one.type)
            kind = "structure" if is_struct else "map" if is_map else "list"
            raise error(
                f"column {quoted(one.name)} contains a {kind} in each cell; split it into columns, "
                "or drop it."
            )


def _check_texts(error: Callable[[str], DataError], table: Any) -> None:
    """Raise if a text column is not valid UTF-8."""
    for one in table.schema:
        if one.type in (pa.string(), pa.large_string()):
            try:
                table[one.name].validate(full=True)
            except pa.ArrowInvalid:
                raise error(
                    f"column {quoted(one.name)} contains text that is not UTF-8; write it as UTF-8 "
                    "or as bytes, or drop it."
                ) from None


# A whole file --------------------------------------------------------------------------------


def read_parquet(file: File, max_bytes: int) -> pd.DataFrame:
    """Read all columns of a file."""
    try:
        frame = _read(file, max_bytes)
    except (DataError, MemoryError):
        raise
    except Exception:  # the reader may raise anything on a damaged file
        raise file.error(_DAMAGED) from None
    return frame.reset_index(drop=True)


def _read(file: File, max_bytes: int) -> pd.DataFrame:
    parquet = pq.ParquetFile(stream(file))
    schema, metadata = parquet.schema_arrow, parquet.metadata
    check_names([name for name in schema.names if not name.startswith(_INDEX)])
    _check_flat(file.error, schema)
    groups = (metadata.row_group(k) for k in range(metadata.num_row_groups))
    unpacked = sum(group.total_byte_size for group in groups)
    cells = metadata.num_rows * sum(_cell_bytes(one.type) for one in schema)
    file.check_size(max(unpacked, cells), max_bytes)
    kinds = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    texts = [one.name for one in schema if one.type in kinds]
    table = pq.ParquetFile(stream(file), read_dictionary=texts).read()
    file.check_size(table.nbytes + sum(_text_bytes(table[name]) for name in texts), max_bytes)
    for k, name in enumerate(table.column_names):
        if name in texts and pa.types.is_dictionary(table.schema.field(k).type):
            spelled_out = table[name].cast(schema.field(name).type)
            table = table.set_column(k, schema.field(name), spelled_out)
    _check_texts(file.error, table)
    frame: pd.DataFrame = table.to_pandas(date_as_object=False)
    return frame


def _cell_bytes(kind: Any) -> int:
    """Bytes per cell; a value of fixed width may be stored once in the file."""
    return max(8, int(kind.byte_width)) if pa.types.is_fixed_size_binary(kind) else 8


def _text_bytes(column: Any) -> int:
    """Bytes of a text column without dictionary encoding."""
    total = 0
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            lengths = pc.binary_length(chunk.dictionary)
            total += pc.sum(pc.cast(lengths.take(chunk.indices), pa.int64())).as_py() or 0
    return total


# Rows in blocks ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ParquetPart(Part):
    """A Parquet file and its row groups."""

    groups: tuple[int, ...] = field(repr=False)
    """Rows of each row group."""
    separator = ""

    @property
    def n_rows(self) -> int:
        return sum(self.groups)

    @property
    def row_starts(self) -> tuple[int, ...]:
        """The first row of each row group, from which reading is cheapest."""
        return tuple(accumulate(self.groups, initial=0))[:-1]

    def group_start(self, row: int) -> int:
        starts = self.row_starts
        return starts[bisect.bisect_right(starts, row) - 1]

    def open_at(self, row: int, columns: Sequence[str]) -> ParquetStream:
        stream: ParquetStream | None = getattr(_kept, "stream", None)
        _kept.stream = None
        if stream is None or not stream.reaches(self, row, columns):
            stream = ParquetStream(self, row, columns)
        stream.skip_to(row)
        return stream

    def changed(self) -> DataError:
        return self.error("the file has changed since it was scanned; scan it again.")


def read_footer(path: Path) -> ParquetPart:
    """Read column names and row groups of a Parquet file."""
    part = ParquetPart(str(path), (), ())
    with _opened(part) as parquet:
        schema, metadata = parquet.schema_arrow, parquet.metadata
        _check_flat(part.error, schema)
        names = tuple(str(name) for name in schema.empty_table().to_pandas().columns)
        groups = (metadata.row_group(k).num_rows for k in range(metadata.num_row_groups))
        return ParquetPart(str(path), names, tuple(groups))


class ParquetStream:
    """Reads the rows of a file in sequence, starting at a given one."""

    def __init__(self, part: ParquetPart, row: int, columns: Sequence[str]) -> None:
        self._part = part
        self._columns = list(columns)
        self._stamp = _stamp(part)
        self._row = part.group_start(row)
        self._batches = _batches(part, self._row, self._columns)
        self._ready: list[Any] = []

    def reaches(self, part: ParquetPart, row: int, columns: Sequence[str]) -> bool:
        """Return whether it reaches a row sooner than a newly opened stream."""
        is_same = (part, list(columns)) == (self._part, self._columns)
        return is_same and part.group_start(row) <= self._row <= row and _stamp(part) == self._stamp

    def skip_to(self, row: int) -> None:
        while self._row < row:
            batch = self._ready.pop(0) if self._ready else self._next_batch()
            left = batch.slice(min(row - self._row, batch.num_rows))
            self._row += batch.num_rows - left.num_rows
            if left.num_rows:
                self._ready.insert(0, left)

    def take(self, n_rows: int) -> Any:
        while sum(batch.num_rows for batch in self._ready) < n_rows:
            self._ready.append(self._next_batch())
        table = pa.Table.from_batches(self._ready)
        self._ready = table.slice(n_rows).to_batches()
        self._row += n_rows
        if self._row < self._part.n_rows:
            _kept.stream = self
        taken = table.slice(0, n_rows).select(self._columns)
        _check_texts(self._part.error, taken)
        return taken

    def _next_batch(self) -> Any:
        batch = next(self._batches, None)
        if batch is None:
            raise self._part.changed()
        return batch


def _stamp(part: ParquetPart) -> tuple[int, int] | None:
    """Size and modification time of a file, to detect changes."""
    try:
        found = Path(part.path).stat()
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns


def _batches(part: ParquetPart, row: int, columns: list[str]) -> Iterator[Any]:
    """Yield record batches, starting at the first row of a group."""
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
    return read_by(part.path, lambda: next(batches, None), _DAMAGED)


def _opened(part: ParquetPart) -> Any:
    def read() -> Any:
        return pq.ParquetFile(part.path, pre_buffer=False, buffer_size=BUFFER_BYTES)

    return read_by(part.path, read, _DAMAGED)
