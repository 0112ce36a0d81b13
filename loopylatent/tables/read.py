"""Read a file into a data frame: delimited text, Parquet or Excel, told by its first bytes."""

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
"""Rows times columns of the largest table that is read."""
DELIMITERS = (",", ";", "\t", "|")
HEAD_BYTES = 1 << 20
SNIFFED_ROWS = 50
PIECE_BYTES = 1 << 22
LONGEST_LINE = 1 << 26
"""Bytes; a longer line is no row of a table."""
FLAGS = {**dict.fromkeys(("True", "TRUE", "true"), True),
         **dict.fromkeys(("False", "FALSE", "false"), False)}  # fmt: skip
"""Texts that are truth values where a column holds nothing else."""

NO_TABLE = "this is not a table; give CSV, TSV, Parquet or Excel (.xlsx)."
OPEN_QUOTE = "a quotation mark is opened and never closed; close it."
NO_ROWS = "there is a header but no rows under it; at least 3 rows are needed."
_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_END = "\x00end"
"""Stands in a row that is put under the others: inside an open quotation mark it is not found."""
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LONE_RETURN = re.compile(rb"(?<!\r)\r++(?!\n|\Z)")
_DECLARED = re.compile(rb'"?sep=(?=[\t -~])([^\w"])"?(?=[\r\n])', re.IGNORECASE)
_JSON = re.compile(r'\s*+(\[\s*+)?\{\s*+["}]')
_MARKUP = re.compile(r"\s*+<(!doctype|html|head|body|table|\?xml|!--)", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_kept = threading.local()
"""The packed file that this thread has open as ``stream``, and its ``key``."""
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
    """Read a table as it stands, without deciding what its columns mean.

    Parameters
    ----------
    source : path, bytes or open file
        Delimited text (UTF-8, UTF-16, else Windows-1252; also gzipped), Parquet, or an Excel
        workbook (.xlsx). The first row holds the names of the columns; above it may stand a line
        like ``sep=;``. Lines end with a line feed, or all of them with a carriage return.
    name : str, optional
        What to call the source in messages, when it is not a path.
    delimiter : str, optional
        Of delimited text; found among comma, semicolon, tab and bar when not given. Between
        semicolons 1,5 is a number, and where a column has such numbers 1.500 is 1500 in the
        others; between commas "1,500" is a number.
    sheet : str or int, optional
        Of a workbook, by name or by position from 0; the first that is not hidden and not
        empty when not given.
    max_bytes : int
        Larger tables are refused.
    max_cells : int
        Tables of more rows times columns are refused.

    Returns
    -------
    DataFrame

    Raises
    ------
    DataError
        One line that says what is wrong, where, and what to do.

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
        raise file.error("an old or password-protected workbook; save it as plain .xlsx or CSV.")
    else:
        frame = read_text(file, delimiter, max_cells)
    if frame.empty:
        raise file.error(NO_ROWS)
    check_shape(*frame.shape, replace(LIMITS, cells=max_cells))
    return frame


# How a file is made --------------------------------------------------------------------------


def _from_windows(error: UnicodeError) -> tuple[str, int]:
    """Read one byte that is not UTF-8 as Windows-1252, which has most of Latin-1 in it."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    byte = error.object[error.start : error.start + 1]
    with contextlib.suppress(UnicodeDecodeError):
        return byte.decode("cp1252"), error.start + 1
    return byte.decode("latin-1"), error.start + 1


WINDOWS = "loopylatent-windows"
codecs.register_error(WINDOWS, _from_windows)


def utf8(content: bytes) -> bytes | None:
    """Return a text in UTF-8 without a mark, or None where it is no text."""
    if content.startswith(_WIDE_MARKS):
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode("utf-16").encode()
            return None if _CONTROL.search(text) else text
        return None
    found = _plain(content)
    if found is not content and _CONTROL.search(content):
        return None
    return found[_marks(found) :]


def _plain(content: bytes) -> bytes:
    with contextlib.suppress(UnicodeDecodeError):
        if not content.isascii():
            content.decode()
        return content
    return content.decode("utf-8", WINDOWS).encode()


def _marks(content: bytes) -> int:
    """How many bytes at the beginning are marks."""
    start = 0
    while content.startswith(codecs.BOM_UTF8, start):
        start += len(codecs.BOM_UTF8)
    return start


@dataclass(frozen=True, slots=True, eq=False)
class TextPart(Part):
    """How a file of delimited text is made and, once they are found, where its rows are."""

    separator: str
    is_packed: bool
    start: int
    """Unpacked bytes before the first row."""
    n_rows: int = 0
    step: int = 1
    """Rows between two known offsets."""
    offsets: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    """(k + 1,) where the rows 0, step, 2 step, ... begin among the unpacked bytes, and the end."""

    row_starts = ()
    """Rows from which reading costs nothing extra: text can be read from anywhere."""

    def open_at(self, row: int, columns: Sequence[str]) -> TextStream:
        return TextStream(self, row, columns)


def column_keys(names: Sequence[str]) -> list[str]:
    """Return a key for each column: its name, or its place among those that have none."""
    nameless = itertools.count()
    return [name or f"\x00{next(nameless)}" for name in names]


def find_header(file: File, delimiter: str | None, is_packed: bool = False) -> TextPart:
    """Find out how the beginning of a file is separated, and what its columns are called."""
    start = _marks(file.content)
    declared = _DECLARED.match(file.content, start)
    start = declared.end() if declared else start
    head = file.content[start : start + HEAD_BYTES]
    lines = head if len(head) < HEAD_BYTES else head.rpartition(b"\n")[0] or head
    given = delimiter or (declared and declared[1].decode())
    separator = find_separator(file, lines.decode("utf-8", WINDOWS), given)
    for found in _records(file.content, separator, start):
        text = found.group().decode("utf-8", WINDOWS)
        fields = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
        if "".join(fields).strip() or len(fields) > 1:
            names = tuple(name.strip() for name in fields)
            return TextPart(file.name, names, separator, is_packed, found.end())
    raise file.error(OPEN_QUOTE if b'"' in head else NO_ROWS)


def find_separator(file: File, head: str, delimiter: str | None) -> str:
    """Return the delimiter that is wanted, or that explains the first rows best."""
    for form, other in (("JSON", _JSON.match(head)), ("a web page or XML", _MARKUP.match(head))):
        if other is not None:
            raise file.error(
                f"this is {form} and not a table; open it in a program that reads it and "
                "save it as CSV."
            )
    found = max(DELIMITERS, key=lambda candidate: _fit(head, candidate))
    wanted = found if delimiter is None else _SPELLED_OUT.get(delimiter, delimiter)
    if len(wanted) != 1 or wanted in '"\r\n' or not wanted.isascii():
        raise DataError(f"delimiter = {delimiter!r} is not one ASCII character; try {found!r}.")
    if _fit(head, wanted)[1] > 1:
        return wanted
    if len(head.partition("\n")[0]) > csv.field_size_limit():
        raise file.error(
            f"its first line holds a field of more than {csv.field_size_limit():,} characters; "
            "put the short names of the columns there."
        )
    for candidate in DELIMITERS if delimiter is None else (wanted,):
        widths = _widths(head, candidate)[1:]
        width = max(widths, key=widths.count, default=0)
        if width > 1 and widths.count(width) > len(widths) / 2:
            raise file.error(
                f"the first line is one field and the lines below it have {width}; "
                "remove what stands above the names of the columns."
            )
    one = f"only one column was found with delimiter {wanted!r}; "
    if _fit(head, found)[1] > 1:
        raise file.error(one, "try ", Remedy("call", f"delimiter={found!r}"), ".")
    raise file.error(one, "put commas between the columns", Remedy("delimiter"), ".")


def _widths(head: str, delimiter: str) -> list[int]:
    """Fields of the first records that are not blank."""
    lines = (line.group() for line in _LINE.finditer(head))
    widths: list[int] = []
    with contextlib.suppress(csv.Error):  # what came before a broken record still tells
        for fields in csv.reader(lines, delimiter=delimiter, skipinitialspace=True):
            if len(fields) > 1 or (fields and fields[0].strip()):
                widths.append(len(fields))
            if len(widths) == SNIFFED_ROWS:
                break
    return widths


def _fit(head: str, delimiter: str) -> tuple[float, int]:
    """The share of the first rows that are as wide as the header, and its width."""
    widths = _widths(head, delimiter)
    if not widths or widths[0] < 2:
        return 0.0, 0
    return widths.count(widths[0]) / len(widths), widths[0]


@cache
def _record(separator: str) -> re.Pattern[bytes]:
    """A record with its end; none where a quotation mark is open."""
    mark = re.escape(separator).encode()
    blank = b"" if separator == " " else b" *+"
    field = rb'(?:%b"(?:[^"]++|"")*+"[^%b\r\n]*+|(?!%b")[^%b\r\n]*+)' % (blank, mark, blank, mark)
    return re.compile(rb"(?:%b%b)*+%b(?:\r\n?|\n|\Z)" % (field, mark, field))


def _records(content: bytes, separator: str, start: int = 0) -> Iterator[re.Match[bytes]]:
    """Yield all records, blank ones too, up to the first that is not complete."""
    pattern = _record(separator)
    while start < len(content) and (found := pattern.match(content, start)) is not None:
        yield found
        start = found.end()


def _blanks(separator: str) -> bytes:
    """Of what a line is made that is no row."""
    return b" \t\r\n".replace(separator.encode(), b"")


# Rows ----------------------------------------------------------------------------------------


def parse(
    header: TextPart,
    content: bytes,
    where: Callable[[int, int], str],
    columns: Sequence[int] | None = None,
    start: int = 0,
) -> Any:
    """Return the cells after ``start`` as an Arrow table of texts, or those of some columns.

    Words for missing values are missing; rows that end early are filled up. ``where`` names a row,
    given its number among the lines that are not empty (from 1) and among the rows (from 0).
    """
    mark, width = header.separator.encode(), len(header.names)
    if is_quoted := content.find(b'"', start) >= 0:
        content, start = content[start:], 0
        if mark != b" " and b' "' in content:  # Arrow wants no blank before a quotation mark
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
    size, table = PIECE_BYTES, None
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
            size = rows.size + 1  # a row is longer than a piece
            short.clear()
            blank.clear()
    if short and (table is None or (b"\n" in content and _LONE_RETURN.search(content))):
        row = short[-1 if table is None else 0]
        place = where(row.number, row.number - 1 - sum(one < row.number for one in blank))
        if row.actual_columns > width:
            raise header.error(
                f"{place} has {row.actual_columns} fields but the header has {width}; "
                "correct that line, or put quotation marks around its text."
            )
        if table is None:
            raise header.error(
                f"the header has {width:,} names and most of the rows are far shorter; "
                "leave out the names without values."
            )
        raise header.error(
            f"a carriage return stands alone inside {place}; write all ends of lines alike, "
            "and put quotation marks around text that holds one."
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
    """Read a whole file of delimited text; see `read_frame` of ``tables``."""
    content = utf8(file.content)
    if content is None:
        raise file.error(NO_TABLE)
    if (at := content.find(b"\x00")) >= 0:
        line = content.count(b"\n", 0, at) + 1
        raise file.error(
            "this is not a table, or UTF-16 without a mark; save it as UTF-8."
            if line == 1
            else f"line {line} holds a zero byte, so this is no plain text; remove it."
        )
    header = find_header(File(file.name, content), delimiter)
    width = len(header.names)
    if width > LIMITS.columns:
        raise file.error(f"{width:,} columns are too many; keep at most {LIMITS.columns:,}.")
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
            f"{quoted(file.name)}: there is too little memory to read it; "
            "keep fewer rows or columns, or take a larger machine."
        ) from None


def _frame(table: Any, separator: str) -> pd.DataFrame:
    """Give every column its type: whole numbers, numbers, truth values or texts.

    Where a column has decimal commas, points group thousands in the others: 1.234 is not 1.2.
    """
    found = [_typed(column, separator) for column in table.columns]
    if any(way == "decimal" for _, way in found):
        for k, (series, way) in enumerate(found):
            if way == "plain" and series.dtype == np.float64:
                x = Cells.of(table.column(k)).numbers("grouped")
                found[k] = (series if x is None else pd.Series(whole_if_exact(x))), way
    return pd.DataFrame({k: series for k, (series, _) in enumerate(found)})


def _typed(column: Any, separator: str) -> tuple[pd.Series[Any], Way | None]:
    """A column, and how its numbers are written."""
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
    """Find out how a file to be read in blocks is made."""
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
        raise file.error("no line ends within its first megabyte; is this a table?")
    return replace(find_header(file, delimiter, is_packed), path=str(path))


def find_rows(header: TextPart, step: int, look: Callable[[int], None] | None = None) -> TextPart:
    """Find the beginnings of rows, and keep every ``step``-th; ``look`` is told the bytes read."""
    offsets: list[int] = []
    n_rows, offset, rest, piece = 0, header.start, b"", b"-"
    with _opened(header.path, header.is_packed) as stream:
        stream.seek(offset)
        while piece:
            piece = read_by(header.path, lambda: stream.read(PIECE_BYTES), GZIP_DAMAGED)
            content = rest + piece
            if b"\x00" in piece:
                raise header.error("it holds a zero byte, so this is no plain text; remove it.")
            starts, end = _row_starts(content, header.separator, is_last=not piece)
            kept = np.arange(n_rows, n_rows + len(starts)) % step == 0
            offsets += (offset + starts[kept]).tolist()
            n_rows, offset, rest = n_rows + len(starts), offset + end, content[end:]
            if len(rest) > LONGEST_LINE or (rest and not piece):
                long = f"a line is longer than {LONGEST_LINE:,} bytes; is this a table?"
                raise header.error(OPEN_QUOTE if b'"' in rest else long)
            if look is not None:
                look(int(getattr(stream, "fileobj", stream).tell()))  # as it lies on the disk
    if n_rows < 1:
        raise header.error(NO_ROWS)
    ends = np.array([*offsets, offset], dtype=np.int64)
    return replace(header, n_rows=n_rows, step=step, offsets=ends)


def _row_starts(content: bytes, separator: str, is_last: bool) -> tuple[NDArray[np.int64], int]:
    """Where the rows begin that are not blank, and where the last complete line ends."""
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
    """The rows of a file from a given one on, taken bit by bit."""

    def __init__(self, part: TextPart, row: int, columns: Sequence[str]) -> None:
        self._part = part
        self._columns = list(columns)
        self._next, self._skip = divmod(row, part.step)
        self._ready = pa.table({})

    def take(self, n_rows: int) -> Any:
        """Return the next rows: at least one, and as many of those wanted as lie together."""
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
            _plain(content),
            lambda _, place: f"data row {first + place + 1:,}",
            [position[name] for name in self._columns],
        )
        if table.num_rows != min(part.step, part.n_rows - first):
            raise part.error("its rows have changed since it was looked through; scan it again.")
        return table.rename_columns(self._columns)


def read_bytes(header: TextPart, start: int, stop: int) -> bytes:
    """Return unpacked bytes of a file; going on in a packed file unpacks only what is new."""

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
