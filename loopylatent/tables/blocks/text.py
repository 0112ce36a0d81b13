"""Delimited text read in blocks: where its rows begin is found once, then any block can be read.

Plain files are read from the middle. Gzipped ones have to be unpacked from their beginning; a
thread that goes on where it stopped does so only once.
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import re
import threading
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.errors import DataError, quoted
from loopylatent.tables.csv import (
    NO_TABLE,
    OPEN_QUOTE,
    WINDOWS,
    broken,
    decode,
    find_separator,
    lone_return,
    records,
    split_declaration,
    wide_encoding,
)
from loopylatent.tables.files import File
from loopylatent.tables.headers import NA_WORDS

HEAD_BYTES = 1 << 20
RECORDS_AT_ONCE = 10_000
PIECE_BYTES = 1 << 22
LONGEST_LINE = 1 << 26
"""Bytes; a longer line is no row of a table."""
_MARK = b"\xef\xbb\xbf"
_LONE_RETURN = re.compile(rb"(?<!\r)\r++(?!\n|\Z)")


@dataclass(frozen=True, slots=True)
class TextHeader:
    """How a file of delimited text is made.

    Parameters
    ----------
    path : str
    names : tuple of str
        Of the columns; a column without a name has an empty one.
    separator : str
    is_packed : bool
        Whether it is gzipped.
    start : int
        Unpacked bytes before the header.
    """

    path: str
    names: tuple[str, ...] = field(repr=False)
    separator: str
    is_packed: bool
    start: int

    def error(self, problem: str) -> DataError:
        """Return an error that begins with the name of the file."""
        return DataError(f"{quoted(Path(self.path).name)}: {problem}")


@dataclass(frozen=True, slots=True, eq=False)
class TextPart:
    """A file of delimited text, and where in it the rows are.

    Parameters
    ----------
    header : TextHeader
    n_rows : int
    step : int
        Rows between two known offsets.
    offsets : (k + 1,) int64 array
        Where the rows 0, step, 2 step, ... begin among the unpacked bytes, and where they end.
    """

    header: TextHeader
    n_rows: int
    step: int
    offsets: NDArray[np.int64] = field(repr=False)

    @property
    def row_starts(self) -> tuple[int, ...]:
        """Rows from which reading costs nothing extra: text can be read from anywhere."""
        return ()

    def open_at(self, row: int, columns: Sequence[str], texts: Collection[str]) -> TextStream:
        """Return the rows from ``row`` on; ``texts`` are columns to be left as they are written."""
        return TextStream(self, row, columns, texts)


def read_header(path: Path, delimiter: str | None) -> TextHeader:
    """Find out how a file is encoded and separated, and what its columns are called."""
    with path.open("rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
    with _opened(str(path), is_packed) as stream:
        file = File(path.name, _read(path.name, stream, HEAD_BYTES))
    if not file.content.strip():
        raise file.error("the file is empty; save the table again.")
    if wide_encoding(file.content) is not None:
        raise file.error("text in UTF-16 cannot be read in blocks; save it as UTF-8.")
    if is_packed and file.content.startswith((b"PAR1", b"PK\x03\x04")):
        raise file.error("a packed Parquet file or workbook cannot be read in blocks; unpack it.")
    lines = file.content[: file.content.rfind(b"\n") + 1]  # no character is cut
    if decode(lines or file.content) is None or b"\x00" in file.content.partition(b"\n")[0]:
        raise file.error(NO_TABLE)
    start = 0
    while file.content.startswith(_MARK, start):
        start += len(_MARK)
    whole = file.content[start:].decode("utf-8", WINDOWS)
    text, declared = split_declaration(whole)
    start += len(whole) - len(text)  # as many bytes: what is left out is ASCII
    if "\n" not in text:
        raise file.error(_endless(text))
    separator = find_separator(file, text, delimiter or declared)
    try:
        names = tuple(name.strip() for name in next(records(text, separator)).fields)
    except csv.Error as error:
        raise file.error(broken(error)) from None
    return TextHeader(str(path), names, separator, is_packed, start)


def _endless(text: str) -> str:
    if "\r" in text:
        return "its lines end with carriage returns; in blocks they have to end with line feeds."
    return "no line ends within its first megabyte; is this a table?"


def find_rows(header: TextHeader, step: int, look: Callable[[int], None] | None = None) -> TextPart:
    """Look through a file for the beginnings of its rows, and keep every ``step``-th of them.

    ``look`` is called with the bytes of the file that have been read; it may raise to stop.
    """
    offsets: list[int] = []
    n_rows = -1  # the header is none
    with _opened(header.path, header.is_packed) as stream:
        for found in _record_starts(header, stream):
            kept = np.arange(n_rows, n_rows + len(found))
            offsets += found[(kept >= 0) & (kept % step == 0)].tolist()
            n_rows += len(found)
            if look is not None:
                look(_bytes_read(stream))
        end = stream.tell()
    if n_rows < 1:
        raise header.error("there is a header but no rows under it; at least 3 rows are needed.")
    return TextPart(header, n_rows, step, np.array([*offsets, end], dtype=np.int64))


def _record_starts(header: TextHeader, stream: IO[bytes]) -> Iterator[NDArray[np.int64]]:
    """Yield where the records begin that are not blank, the header first, many at a time."""
    offset = header.start
    stream.seek(offset)
    rest = b""
    while True:
        piece = _read(header.path, stream, PIECE_BYTES)
        content = rest + piece
        cut = content.rfind(b"\n") + 1 if piece else len(content)
        if b'"' in content[:cut]:
            yield from _quoted_starts(header, stream, offset)
            return
        if b"\x00" in content:
            raise header.error("it holds a zero byte, so this is no plain text; remove it.")
        if _LONE_RETURN.search(content[:cut]):
            raise header.error(lone_return())
        if cut:
            yield offset + _line_starts(content[:cut], header.separator)
        offset, rest = offset + cut, content[cut:]
        if len(rest) > LONGEST_LINE:
            raise header.error(f"a line is longer than {LONGEST_LINE:,} bytes; is this a table?")
        if not piece:
            return


def _line_starts(content: bytes, separator: str) -> NDArray[np.int64]:
    """Where the lines of text without quotation marks begin that are not blank."""
    characters = np.frombuffer(content, dtype=np.uint8)
    ends = np.flatnonzero(characters == ord("\n"))
    if not content.endswith(b"\n"):
        ends = np.append(ends, len(content))
    starts = np.concatenate([[0], ends[:-1] + 1]).astype(np.int64)
    blanks = np.frombuffer(_blanks(separator), dtype=np.uint8)
    if not np.isin(characters[starts], blanks).any():
        return starts
    written = np.logical_or.reduceat(~np.isin(characters, blanks), starts)
    return starts[written]


def _blanks(separator: str) -> bytes:
    """Of what a line is made that is no row."""
    return b" \t\r\n".replace(separator.encode(), b"")


def _quoted_starts(
    header: TextHeader, stream: IO[bytes], offset: int
) -> Iterator[NDArray[np.int64]]:
    """The same where lines may end inside quotation marks: record by record."""
    stream.seek(offset)
    position, is_blank, blanks = offset, True, _blanks(header.separator)

    def lines() -> Iterator[str]:
        nonlocal position, is_blank
        while line := _unpacked(header.path, lambda: stream.readline(LONGEST_LINE)):
            position += len(line)
            is_blank &= not line.strip(blanks)
            yield line.decode("latin-1")

    reader = csv.reader(lines(), delimiter=header.separator, skipinitialspace=True)
    starts, start = [], offset
    try:
        for _ in reader:
            if not is_blank:
                starts.append(start)
            start, is_blank = position, True
            if len(starts) >= RECORDS_AT_ONCE:
                yield np.array(starts, dtype=np.int64)
                starts = []
    except csv.Error as error:
        if "new-line" in str(error):
            raise header.error(lone_return()) from None
        raise header.error(broken(error, "in one of its rows")) from None
    if starts:
        yield np.array(starts, dtype=np.int64)


class TextStream:
    """The rows of a file from a given one on, taken bit by bit."""

    def __init__(
        self, part: TextPart, row: int, columns: Sequence[str], texts: Collection[str]
    ) -> None:
        self._part = part
        self._columns = list(columns)
        self._texts = frozenset(texts)
        self._next = row // part.step
        self._ready = pd.DataFrame()
        self._skip = row % part.step

    def take(self, n_rows: int) -> pd.DataFrame:
        """Return the next rows: at least one, and as many of those wanted as lie together."""
        if len(self._ready) == 0:
            self._ready = self._read_step().iloc[self._skip :]
            self._skip = 0
        taken, self._ready = self._ready.iloc[:n_rows], self._ready.iloc[n_rows:]
        return taken.reset_index(drop=True)

    def _read_step(self) -> pd.DataFrame:
        part, k = self._part, self._next
        self._next += 1
        content = read_bytes(part.header, int(part.offsets[k]), int(part.offsets[k + 1]))
        try:
            frame = _parsed(part, k * part.step, content, self._columns, self._texts)
        except csv.Error as error:
            rows = f"in one of {part.step:,} rows from row {k * part.step + 1:,} on"
            raise part.header.error(broken(error, rows)) from None
        if len(frame) != min(part.step, part.n_rows - k * part.step):
            raise part.header.error(
                "its rows have changed since it was looked through; scan it again."
            )
        return frame


def _parsed(
    part: TextPart, first_row: int, content: bytes, columns: list[str], texts: frozenset[str]
) -> pd.DataFrame:
    header, text = part.header, content.decode("utf-8", WINDOWS)
    keys = column_keys(header.names)
    first = next(records(text, header.separator), None)
    if first is not None and len(first.fields) > len(keys):
        raise _too_wide(header, first_row, len(first.fields))
    try:  # all columns: with some left out, rows that are too wide would pass
        return pd.read_csv(
            io.StringIO(text),
            sep=header.separator,
            header=None,
            names=keys,
            dtype={name: str for name in columns if name in texts},
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=sorted(NA_WORDS),
            low_memory=False,
        )[columns]
    except pd.errors.ParserError:
        pass
    rows = enumerate(records(text, header.separator), start=first_row)
    for row, record in rows:
        if len(record.fields) > len(keys):
            raise _too_wide(header, row, len(record.fields))
    raise header.error(OPEN_QUOTE)


def _too_wide(header: TextHeader, row: int, width: int) -> DataError:
    return header.error(
        f"data row {row + 1:,} has {width} fields but the header has {len(header.names)}; "
        "correct that line, or put quotation marks around its text."
    )


def column_keys(names: Sequence[str]) -> list[str]:
    """Return a key for each column: its name, or its place among those that have none."""
    nameless = itertools.count()
    return [name or f"\x00{next(nameless)}" for name in names]


class _Kept(threading.local):
    """The packed file that this thread has open, and how far it has been unpacked."""

    key: tuple[str, tuple[int, int, int]] | None = None
    stream: Any = None


_kept = _Kept()


def read_bytes(header: TextHeader, start: int, stop: int) -> bytes:
    """Return unpacked bytes of a file; going on in a packed file unpacks only what is new."""
    if not header.is_packed:
        with _opened(header.path, is_packed=False) as stream:
            stream.seek(start)
            return stream.read(stop - start)
    key = (header.path, _stamp(header.path))  # a file may be replaced by another of its name
    if _kept.key != key or _kept.stream.tell() > start:
        _kept.stream = _opened(header.path, is_packed=True)  # closed when the thread ends
        _kept.key = key
    return _unpacked(header.path, lambda: _read_at(_kept.stream, start, stop))


def _read_at(stream: IO[bytes], start: int, stop: int) -> bytes:
    stream.seek(start)
    return stream.read(stop - start)


def _stamp(path: str) -> tuple[int, int, int]:
    """Size, time and place on the disk: what tells that a file is the same as before."""
    try:
        found = Path(path).stat()
    except FileNotFoundError:
        raise _gone(path) from None
    return found.st_size, found.st_mtime_ns, found.st_ino


def _bytes_read(stream: IO[bytes]) -> int:
    """How far a file has been read, counted in the bytes that are on the disk."""
    return int(getattr(stream, "fileobj", stream).tell())  # a gzip file has another inside


def _opened(path: str, is_packed: bool) -> IO[bytes]:
    try:
        return cast("IO[bytes]", gzip.open(path)) if is_packed else Path(path).open("rb")
    except FileNotFoundError:
        raise _gone(path) from None


def _gone(path: str) -> DataError:
    shown = quoted(Path(path).name)
    return DataError(f"{shown}: the file is gone, or not every worker sees it at this path.")


def _read(name: str, stream: IO[bytes], size: int) -> bytes:
    return _unpacked(name, lambda: stream.read(size))


def _unpacked(name: str, read: Callable[[], bytes]) -> bytes:
    try:
        return read()
    except (OSError, EOFError, zlib.error):
        shown = quoted(Path(name).name)
        raise DataError(f"{shown}: the gzip file is damaged; compress the table again.") from None
