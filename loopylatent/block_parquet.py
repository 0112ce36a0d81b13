"""Parquet read in blocks: one row group after the other, a few rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
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

    def open_at(self, row: int, columns: Sequence[str], texts: Collection[str]) -> ParquetStream:
        """Return the rows from ``row`` on; what is text is known from the file."""
        del texts
        return ParquetStream(self, row, columns)

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
        self._batches = _batches(part, row, list(columns))
        self._ready: list[Any] = []

    def take(self, n_rows: int) -> pd.DataFrame:
        """Return the next rows, fewer only at the end of the file."""
        wanted = n_rows - sum(batch.num_rows for batch in self._ready)
        while wanted > 0:
            batch = next(self._batches, None)
            if batch is None:
                break
            self._ready.append(batch)
            wanted -= batch.num_rows
        table = pa.Table.from_batches(self._ready)
        self._ready = table.slice(n_rows).to_batches() if wanted < 0 else []
        frame: pd.DataFrame = table.slice(0, n_rows).to_pandas(date_as_object=False)
        return frame.reset_index(drop=True)


def _batches(part: ParquetPart, row: int, columns: list[str]) -> Iterator[Any]:
    """Yield record batches that begin with ``row``."""
    starts = np.array(part.row_starts)
    group = int(np.searchsorted(starts, row, "right")) - 1
    skipped = row - int(starts[group])
    with _opened(part) as parquet:
        found = parquet.iter_batches(
            BATCH_ROWS,
            row_groups=list(range(group, len(starts))),
            columns=columns,
            use_threads=False,
        )
        while True:
            batch = _next(part, found)
            if batch is None:
                return
            if skipped < batch.num_rows:
                yield batch.slice(skipped)
            skipped = max(0, skipped - batch.num_rows)


def _next(part: ParquetPart, batches: Iterator[Any]) -> Any:
    try:
        return next(batches, None)
    except (OSError, pa.ArrowException):
        raise part.error("the Parquet file is damaged; write it again.") from None


def _opened(part: ParquetPart) -> Any:
    try:
        return pq.ParquetFile(part.path, pre_buffer=False, buffer_size=BUFFER_BYTES)
    except FileNotFoundError:
        raise part.error("the file is gone, or not every worker sees it at this path.") from None
    except (OSError, pa.ArrowException):
        raise part.error("the Parquet file is damaged; write it again.") from None
