"""Read a file into a data frame: delimited text, Parquet or Excel, detected by its first bytes."""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import itertools
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
from numpy.typing import NDArray

from loopylatent.compute.limits import LIMITS, check_shape
from loopylatent.errors import DataError, LimitError, Remedy, quoted
from loopylatent.tables.excel import read_workbook
from loopylatent.tables.files import (
    GZIP_DAMAGED,
    MAX_BYTES,
    SMALL,
    File,
    Part,
    Source,
    is_parquet,
    named,
    opened,
    read_by,
)
from loopylatent.tables.kinds import (
    EXACT,
    NA_WORDS,
    WAYS,
    Cells,
    Way,
    are_too_long,
    cast_numbers,
    whole_if_exact,
)
from loopylatent.tables.parquet import read_parquet

MAX_CELLS = LIMITS.cells
"""Largest accepted number of cells (rows times columns)."""
DELIMITERS = (",", ";", "\t", "|")
HEAD_BYTES = 1 << 20
SNIFFED_ROWS = 50
CHUNK_BYTES = 1 << 22
LONGEST_LINE = 1 << 26
"""Bytes; a longer line is not accepted."""
FLAGS = {**dict.fromkeys(("True", "TRUE", "true"), True),
         **dict.fromkeys(("False", "FALSE", "false"), False)}  # fmt: skip
"""Texts that are booleans if a column contains no others."""

NO_TABLE = "this is not a table; use CSV, TSV, Parquet or Excel (.xlsx)."
OPEN_QUOTE = "a quotation mark is opened and never closed; close it."
NO_ROWS = "there is a header but no rows below it; at least 3 rows are needed."
_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_END = "\x00end"
"""Marks an extra last row, which the parser does not see if a quotation mark is left open."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LONE_RETURN = re.compile(rb"(?<!\r)\r++(?!\n|\Z)")
_DECLARED = re.compile(rb'"?sep=(?=[\t -~])([^\w"])"?(?=[\r\n])', re.IGNORECASE)
_JSON = re.compile(r'\s*+(\[\s*+)?\{\s*+["}]')
_MARKUP = re.compile(r"\s*+<(!doctype|html|head|body|table|\?xml|!--)", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_kept = threading.local()
"""The compressed file that this thread has open as ``stream``, and its ``key``."""
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_frame(
    source: Source,
    *,
    name: str | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
    max_bytes: int = MAX_BYTES,
    max_cells: int = MAX_CELLS,
) -> pd.DataFrame:
    """Read a table as a data frame, without assigning column types.

    Parameters
    ----------
    source : path, bytes or open file
        Delimited text (UTF-8, UTF-16, else Windows-1252; also gzipped), Parquet, or an Excel
        workbook (.xlsx). The first row contains the column names; a line like ``sep=;`` may
        precede it. Lines end with a line feed, or all of them with a carriage return.
    name : str, optional
        Name of the source in messages, if it is not a path.
    delimiter : str, optional
        Of delimited text; default: detected among comma, semicolon, tab and bar. In a file with
        semicolons 1,5 is a number, and if a column has such numbers, 1.500 is 1500 in the
        others; in a file with commas "1,500" is a number.
    sheet : str or int, optional
        Sheet of a workbook, by name or by position from 0; default: the first that is neither
        hidden nor empty.
    max_bytes : int
        Raise if the table is larger.
    max_cells : int
        Raise if the table has more cells (rows times columns).

    Returns
    -------
    DataFrame

    Raises
    ------
    DataError
        If the file is not a readable table; the message says where the problem is.

    Examples
    --------
    >>> read_frame(b"a;b;c\\n1,5;x;\\n2,5;y;7\\n")
         a  b    c
    0  1.5  x  NaN
    1  2.5  y  7.0
    """
    file = opened(source, name, max_bytes)
    if not file.content.strip():
        raise file.error("the file is empty; save the table again.")
    if is_parquet(file.content):
        frame = read_parquet(file, max_bytes)
    elif file.content.startswith(b"PK\x03\x04"):
        frame = read_workbook(file, sheet, max_bytes)
    elif file.content.startswith(b"\xd0\xcf\x11\xe0"):
        raise file.error(
            "this is an old or password-protected workbook; save it as .xlsx or CSV, without a "
            "password."
        )
    else:
        frame = read_text(file, delimiter, max_cells)
    if frame.empty:
        raise file.error(NO_ROWS)
    check_shape(*frame.shape, replace(LIMITS, cells=max_cells))
    return frame


# File structure --------------------------------------------------------------------------------


def _from_windows(error: UnicodeError) -> tuple[str, int]:
    """Decode one byte that is not UTF-8 as Windows-1252, which contains most of Latin-1."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte = error.object[error.start : error.start + 1]
    with contextlib.suppress(UnicodeDecodeError):
        return byte.decode("cp1252"), error.start + 1
    return byte.decode("latin-1"), error.start + 1


WINDOWS = "loopylatent-windows"
codecs.register_error(WINDOWS, _from_windows)


def utf8(content: bytes) -> bytes | None:
    """Return the content as UTF-8 without byte order mark, or None if it is not text."""
    if content.startswith(_WIDE_MARKS):
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode("utf-16").encode()
            return None if _CONTROL.search(text) else text
        return None
    found = _reencoded(content)
    if found is not content and _CONTROL.search(content):
        return None
    return found[_marks(found) :]


def _reencoded(content: bytes) -> bytes:
    with contextlib.suppress(UnicodeDecodeError):
        if not content.isascii():
            content.decode()
        return content
    return content.decode("utf-8", WINDOWS).encode()


def _marks(content: bytes) -> int:
    """Length of the byte order marks at the beginning."""
    start = 0
    while content.startswith(codecs.BOM_UTF8, start):
        start += len(codecs.BOM_UTF8)
    return start


@dataclass(frozen=True, slots=True, eq=False)
class TextPart(Part):
    """The structure of a file of delimited text and, once scanned, the offsets of its rows."""

    separator: str
    is_packed: bool
    start: int
    """Uncompressed bytes before the first row."""
    n_rows: int = 0
    step: int = 1
    """Rows between two known offsets."""
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    """(k + 1,) offsets of the rows 0, step, 2 step, ... in the uncompressed bytes, and the end."""

    row_starts = ()
    """As in `ParquetPart`; text has no row groups."""

    def open_at(self, row: int, columns: Sequence[str]) -> TextStream:
        return TextStream(self, row, columns)


def column_keys(names: Sequence[str]) -> list[str]:
    """Return a key for each column: its name, or its position among the unnamed ones."""
    nameless = itertools.count()
    return [name or f"\x00{next(nameless)}" for name in names]


def find_header(file: File, delimiter: str | None, is_packed: bool = False) -> TextPart:
    """Detect the delimiter and the column names of a file from its beginning."""
    start = _marks(file.content)
    declared = _DECLARED.match(file.content, start)
    start = declared.end() if declared else start
    head = file.content[start : start + HEAD_BYTES]
    lines = head if len(head) < HEAD_BYTES else head.rpartition(b"\n")[0] or head
    requested = delimiter or (declared and declared[1].decode())
    separator = find_separator(file, lines.decode("utf-8", WINDOWS), requested)
    for found in _records(file.content, separator, start):
        text = found.group().decode("utf-8", WINDOWS)
        fields = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
        if "".join(fields).strip() or len(fields) > 1:
            names = tuple(name.strip() for name in fields)
            return TextPart(file.name, names, separator, is_packed, found.end())
    raise file.error(OPEN_QUOTE if b'"' in head else NO_ROWS)


def find_separator(file: File, head: str, delimiter: str | None) -> str:
    """Return the requested delimiter, or the one that fits the first rows best."""
    for form, other in (("JSON", _JSON.match(head)), ("a web page or XML", _MARKUP.match(head))):
        if other is not None:
            raise file.error(
                f"this is {form}, not a table; open it in a program that reads it and save it as "
                "CSV."
            )
    found = max(DELIMITERS, key=lambda candidate: _fit(head, candidate))
    wanted = found if delimiter is None else _SPELLED_OUT.get(delimiter, delimiter)
    if len(wanted) != 1 or wanted in '"\r\n' or not wanted.isascii():
        raise DataError(f"delimiter = {delimiter!r} must be one ASCII character; try {found!r}.")
    if _fit(head, wanted)[1] > 1:
        return wanted
    if len(head.partition("\n")[0]) > csv.field_size_limit():
        raise file.error(
            f"the first line has a field of more than {csv.field_size_limit():,} characters; "
            "shorten the column names."
        )
    for candidate in DELIMITERS if delimiter is None else (wanted,):
        widths = _widths(head, candidate)[1:]
        width = max(widths, key=widths.count, default=0)
        if width > 1 and widths.count(width) > len(widths) / 2:
            raise file.error(
                f"the first line has one field and the lines below it have {width}; remove the "
                "lines above the column names."
            )
    one = f"only one column was found with delimiter {wanted!r}; "
    if _fit(head, found)[1] > 1:
        raise file.error(one, "try ", Remedy("call", f"delimiter={found!r}"), ".")
    raise file.error(one, "put commas between the columns", Remedy("delimiter"), ".")


def _widths(head: str, delimiter: str) -> list[int]:
    """Numbers of fields in the first records that are not blank."""
    lines = (line.group() for line in _LINE.finditer(head))
    widths: list[int] = []
    with contextlib.suppress(csv.Error):  # records before a broken one still count
        for fields in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            if len(fields) > 1 or (fields and fields[0].strip()):
                widths.append(len(fields))
            if len(widths) == SNIFFED_ROWS:
                break
    return widths


def _fit(head: str, delimiter: str) -> tuple[float, int]:
    """The share of the first rows with as many fields as the header, and that number."""
    widths = _widths(head, delimiter)
    if not widths or widths[0] < 2:
        return 0.0, 0
    return widths.count(widths[0]) / len(widths), widths[0]


@cache
def _record(separator: str) -> re.Pattern[bytes]:
    """The pattern of a record with its line end; no match if a quotation mark is open."""
    mark = re.escape(separator).encode()
    blank = b"" if separator == " " else b" *+"
    field = rb'(?:%b"(?:[^"]++|"")*+"[^%b\r\n]*+|(?!%b")[^%b\r\n]*+)' % (blank, mark, blank, mark)
    return re.compile(rb"(?:%b%b)*+%b(?:\r\n?|\n|\Z)" % (field, mark, field))


def _records(content: bytes, separator: str, start: int = 0) -> Iterator[re.Match[bytes]]:
    """Yield all records, including blank ones, up to the first incomplete one."""
    pattern = _record(separator)
    while start < len(content) and (found := pattern.match(content, start)) is not None:
        yield found
        start = found.end()


def _blanks(separator: str) -> bytes:
    """Characters of a blank line."""
    return b" \t\r\n".replace(separator.encode(), b"")


# Rows ----------------------------------------------------------------------------------------


def parse(
    header: TextPart,
    content: bytes,
    where: Callable[[int, int], str],
    columns: Sequence[int] | None = None,
    start: int = 0,
) -> Any:
    """Return the cells after ``start``, of all or some columns, as an Arrow table of texts.

    Words for missing values become null, and so do missing fields at the end of a row. ``where``
    names a row, from its number among the lines that are not empty (from 1) and among the rows
    (from 0).
    """
    mark, width = header.separator.encode(), len(header.names)
    if is_quoted := content.find(b'"', start) >= 0:
        content, start = content[start:], 0
        if mark != b" " and b' "' in content:  # Arrow accepts no blank before a quotation mark
            early = rb'(?<![^%b\r\n]) *+("(?:[^"]++|"")*+")' % re.escape(mark)
            content = re.sub(early, rb"\1", content)
        content += b"\n" + mark.join([_END.encode()] * width)
    short: list[Any] = []
    blank: list[int] = []

    def look(row: Any) -> str:
        if not row.text.strip(_blanks(header.separator).decode()):
            blank.append(row.number)
            return "skip"
        short.append(row)
        is_much = len(short) * width > max(SMALL, len(content))
        return "error" if is_much or row.actual_columns > width else "skip"

    rows, keys = pa.py_buffer(content).slice(start), [str(k) for k in range(width)]
    chosen = keys if columns is None else [keys[k] for k in columns]
    size, table = CHUNK_BYTES, None
    while table is None:
        try:
            table = pacsv.read_csv(
                pa.BufferReader(rows),
                pacsv.ReadOptions(use_threads=False, block_size=size, column_names=keys),
                pacsv.ParseOptions(
                    delimiter=header.separator, newlines_in_values=True, invalid_row_handler=look
                ),
                pacsv.ConvertOptions(
                    column_types=dict.fromkeys(keys, pa.string()),
                    include_columns=chosen,
                    null_values=sorted(NA_WORDS),
                    strings_can_be_null=True,
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return pa.table({key: pa.array([], pa.string()) for key in chosen})
            if "straddl" not in str(error) or size > rows.size:
                break
            size = rows.size + 1  # a row is longer than a chunk
            short.clear()
            blank.clear()
    if short and (table is None or (b"\n" in content and _LONE_RETURN.search(content))):
        row = short[-1 if table is None else 0]
        place = where(row.number, row.number - 1 - sum(one < row.number for one in blank))
        if row.actual_columns > width:
            raise header.error(
                f"{place} has {row.actual_columns} fields but the header has {width}; "
                "correct that line, or quote its text."
            )
        if table is None:
            raise header.error(
                f"the header has {width:,} names but most rows are far shorter; remove the names "
                "without values."
            )
        raise header.error(
            f"{place} contains a lone carriage return; use the same line ends everywhere, and "
            "quote text that contains one."
        )
    if table is None or (is_quoted and (not table.num_rows or table[0][-1].as_py() != _END)):
        raise header.error(OPEN_QUOTE)
    table = table.slice(0, table.num_rows - is_quoted)
    if not short:
        return table
    filled = (row.text + header.separator * (width - row.actual_columns) for row in short)
    numbers = [row.number for row in short]
    more = parse(header, "\n".join(filled).encode(), where, columns)
    whole = np.arange(1, table.num_rows + len(short) + len(blank) + 1)
    order = np.argsort([*np.setdiff1d(whole, [*numbers, *blank]), *numbers])
    return pa.concat_tables([table, more]).take(order)


# A whole file --------------------------------------------------------------------------------


def read_text(file: File, delimiter: str | None, max_cells: int) -> pd.DataFrame:
    """Read a whole file of delimited text; see `read_frame`."""
    content = utf8(file.content)
    if content is None:
        raise file.error(NO_TABLE)
    if (at := content.find(b"\x00")) >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise file.error(
            "this is not a table, or UTF-16 without a byte order mark; save it as UTF-8."
            if line == 1
            else f"line {line} contains a zero byte, which text cannot have; remove it."
        )
    header = find_header(File(file.name, content), delimiter)
    width = len(header.names)
    if width > LIMITS.columns:
        raise file.error(f"{width:,} columns are too many; use at most {LIMITS.columns:,}.")
    if max(content.count(b"\n"), content.count(b"\r")) * width > max_cells:
        found = _records(content, header.separator, header.start)
        n_rows = sum(1 for one in found if one.group().strip(_blanks(header.separator)))
        check_shape(n_rows, width, replace(LIMITS, cells=max_cells))

    def line_of(number: int, _: int) -> str:
        found = _records(content, header.separator, header.start)
        written = (one.start() for one in found if one.group().strip(b"\r\n"))
        at = next(itertools.islice(written, number - 1, None))
        before = content.count(b"\n", 0, at) or content.count(b"\r", 0, at)
        return f"line {before + 1}"

    try:
        table = parse(header, content, line_of, start=header.start)
        return named(_frame(table, header.separator), list(header.names))
    except MemoryError:
        raise LimitError(
            f"{quoted(file.name)}: out of memory; use fewer rows or columns, or a larger machine."
        ) from None


def _frame(table: Any, separator: str) -> pd.DataFrame:
    """Convert every column to integers, floats, booleans or texts.

    If a column has decimal commas, points group thousands in the others: 1.234 is 1234.
    """
    found = [_typed(column, separator) for column in table.columns]
    if any(way == "decimal" for _, way in found):
        for k, (series, way) in enumerate(found):
            if way == "plain" and series.dtype == np.float64:
                x = Cells.of(table.column(k)).numbers("grouped")
                found[k] = (series if x is None else pd.Series(whole_if_exact(x))), way
    return pd.DataFrame({k: series for k, (series, _) in enumerate(found)})


def _typed(column: Any, separator: str) -> tuple[pd.Series[Any], Way | None]:
    """A converted column, and the notation of its numbers."""
    x = cast_numbers(column)
    if x is not None and not (np.abs(x) > EXACT).any():
        if not column.null_count and (x == np.rint(x)).all():
            with contextlib.suppress(pa.ArrowInvalid):
                whole = pc.cast(pc.utf8_trim_whitespace(column), pa.int64())
                return pd.Series(whole.to_numpy()), "plain"
        return pd.Series(x), "plain"
    cells = Cells.of(column)
    are_long = x is not None and are_too_long(cells.texts)
    for way in () if are_long else WAYS.get(separator, ("plain",))[:2]:
        if (x := cells.numbers(way)) is not None:
            return pd.Series(whole_if_exact(x) if way == "thousands" else x), way
    known = set(cells.texts) - NA_WORDS
    if known and FLAGS.keys() >= known:
        flags = np.array([*(FLAGS.get(text, np.nan) for text in cells.texts), np.nan], dtype=object)
        return pd.Series(flags[cells.codes]).infer_objects(), None
    texts = pa.array([*cells.texts, None], pa.string())
    return texts.take(pa.array(cells.codes % len(texts))).to_pandas(), None


# Rows in blocks ------------------------------------------------------------------------------


def read_header(path: Path, delimiter: str | None) -> TextPart:
    """Detect the structure of a file that is to be read in blocks."""
    with path.open("rb") as raw:
        is_packed = raw.read(2) == b"\x1f\x8b"
    with _opened(str(path), is_packed) as stream:
        file = File(path.name, read_by(path.name, lambda: stream.read(HEAD_BYTES), GZIP_DAMAGED))
    if not file.content.strip():
        raise file.error("the file is empty; save the table again.")
    if file.content.startswith(_WIDE_MARKS):
        raise file.error("text in UTF-16 cannot be read in blocks; save it as UTF-8.")
    if is_packed and file.content.startswith((b"PAR1", b"PK\x03\x04")):
        raise file.error("a packed Parquet file or workbook cannot be read in blocks; unpack it.")
    lines = file.content[: max(file.content.rfind(b"\n"), file.content.rfind(b"\r")) + 1]
    if utf8(lines or file.content) is None or b"\x00" in file.content.partition(b"\n")[0]:
        raise file.error(NO_TABLE)
    if not lines:
        raise file.error("there is no line end in the first megabyte; check that it is a table.")
    return replace(find_header(file, delimiter, is_packed), path=str(path))


def find_rows(header: TextPart, step: int, look: Callable[[int], None] | None = None) -> TextPart:
    """Find the offset of every ``step``-th row; ``look`` is called with the bytes read."""
    offsets: list[int] = []
    n_rows, offset, rest, chunk = 0, header.start, b"", b"-"
    with _opened(header.path, header.is_packed) as stream:
        stream.seek(offset)
        while chunk:
            chunk = read_by(header.path, lambda: stream.read(CHUNK_BYTES), GZIP_DAMAGED)
            content = rest + chunk
            if b"\x00" in chunk:
                raise header.error("it contains a zero byte, which text cannot have; remove it.")
            starts, end = _row_starts(content, header.separator, is_last=not chunk)
            kept = np.arange(n_rows, n_rows + len(starts)) % step == 0
            offsets += (offset + starts[kept]).tolist()
            n_rows, offset, rest = n_rows + len(starts), offset + end, content[end:]
            if len(rest) > LONGEST_LINE or (rest and not chunk):
                long = f"a line has more than {LONGEST_LINE:,} bytes; check that it is a table."
                raise header.error(OPEN_QUOTE if b'"' in rest else long)
            if look is not None:
                look(int(getattr(stream, "fileobj", stream).tell()))  # compressed bytes
    if n_rows < 1:
        raise header.error(NO_ROWS)
    ends = np.array([*offsets, offset], dtype=np.int64)
    return replace(header, n_rows=n_rows, step=step, offsets=ends)


def _row_starts(content: bytes, separator: str, is_last: bool) -> tuple[NDArray[np.int64], int]:
    """Offsets of the rows that are not blank, and of the end of the last complete line."""
    blanks = _blanks(separator)
    if b'"' in content or _LONE_RETURN.search(content):
        found = list(_records(content, separator))
        if found and not is_last and not found[-1].group().endswith((b"\n", b"\r")):
            found.pop()
        starts = [one.start() for one in found if one.group().strip(blanks)]
        return np.array(starts, dtype=np.int64), found[-1].end() if found else 0
    end = len(content) if is_last else content.rfind(b"\n") + 1
    characters = np.frombuffer(content, np.uint8)[:end]
    ends = np.flatnonzero(characters == ord("\n")) + 1
    lines = np.concatenate([np.zeros(int(end > 0), np.int64), ends[ends < end]])
    none = np.frombuffer(blanks, np.uint8)
    if np.isin(characters[lines], none).any():
        lines = lines[np.logical_or.reduceat(~np.isin(characters, none), lines)]
    return lines, end


class TextStream:
    """Reads the rows of a file in sequence, starting at a given one."""

    def __init__(self, part: TextPart, row: int, columns: Sequence[str]) -> None:
        self._part = part
        self._columns = list(columns)
        self._next, self._skip = divmod(row, part.step)
        self._ready = pa.table({})

    def take(self, n_rows: int) -> Any:
        """Return the next rows: at least one and at most ``n_rows``."""
        if not self._ready.num_rows:
            self._ready = self._read_step().slice(self._skip)
            self._skip = 0
        taken, self._ready = self._ready.slice(0, n_rows), self._ready.slice(n_rows)
        return taken

    def _read_step(self) -> Any:
        part, k = self._part, self._next
        first = k * part.step
        self._next += 1
        content = read_bytes(part, int(part.offsets[k]), int(part.offsets[k + 1]))
        keys = enumerate(column_keys(part.names))
        position = {key: k for k, key in reversed([*keys])}  # the first of equal names
        table = parse(
            part,
            _reencoded(content),
            lambda _, place: f"data row {first + place + 1:,}",
            [position[name] for name in self._columns],
        )
        if table.num_rows != min(part.step, part.n_rows - first):
            raise part.error("the file has changed since it was scanned; scan it again.")
        return table.rename_columns(self._columns)


def read_bytes(header: TextPart, start: int, stop: int) -> bytes:
    """Return uncompressed bytes of a file; reading on does not decompress from the beginning."""

    def read(stream: IO[bytes]) -> bytes:
        stream.seek(start)
        return stream.read(stop - start)

    if not header.is_packed:
        with _opened(header.path, is_packed=False) as stream:
            return read(stream)
    found = read_by(header.path, Path(header.path).stat, GZIP_DAMAGED)
    # a file may be replaced by another of its name
    key = (header.path, (found.st_size, found.st_mtime_ns, found.st_ino))
    if getattr(_kept, "key", None) != key or _kept.stream.tell() > start:
        _kept.stream = _opened(header.path, is_packed=True)  # closed when the thread ends
        _kept.key = key
    return read_by(header.path, lambda: read(_kept.stream), GZIP_DAMAGED)


def _opened(path: str, is_packed: bool) -> IO[bytes]:
    opener: Any = gzip.open if is_packed else open
    return read_by(path, lambda: cast("IO[bytes]", opener(path, "rb")), GZIP_DAMAGED)
