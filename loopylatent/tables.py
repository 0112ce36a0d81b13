"""Read a file into a data frame: delimited text, Parquet or Excel, within limits.

What a file is, is told by its first bytes and not by its name. Columns keep their own names:
a repeated or empty one is refused, never renamed.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import os
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pandas as pd
import pyarrow.parquet as pq

from loopylatent.errors import DataError, quoted

Source = str | os.PathLike[str] | bytes | IO[Any]
"""A path, the bytes of a file, or an open file."""

MAX_BYTES = 512 * 2**20
"""The largest table that is read, counted after decompression."""
DELIMITERS = (",", ";", "\t", "|")
NA_WORDS = frozenset(
    (
        *("", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "."),
    )
)
"""Texts that stand for a missing value: those of pandas, and the ? and . of older archives."""

SNIFFED_CHARACTERS = 1_000_000
SNIFFED_ROWS = 50

_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+", re.ASCII)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


@dataclass(frozen=True, slots=True)
class _File:
    """The content of a file and, for messages, its name."""

    name: str
    content: bytes

    def error(self, problem: str) -> DataError:
        return DataError(f"{quoted(self.name)}: {problem}")


def read_frame(
    source: Source,
    *,
    name: str | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
    max_bytes: int = MAX_BYTES,
) -> pd.DataFrame:
    """Read a table as it stands, without deciding what its columns mean.

    Parameters
    ----------
    source : path, bytes or open file
        Delimited text (UTF-8, UTF-16 with its mark, else Latin-1; also gzipped), Parquet, or an
        Excel workbook (.xlsx). The first row holds the names of the columns.
    name : str, optional
        What to call the source in messages, when it is not a path.
    delimiter : str, optional
        Of delimited text; found among comma, semicolon, tab and bar when not given. In files
        with semicolons, 1,5 is a number.
    sheet : str or int, optional
        Of a workbook, by name or by position from 0; the first when not given.
    max_bytes : int
        Larger tables are refused.

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
    file = _unzipped(_opened(source, name, max_bytes), max_bytes)
    if not file.content.strip():
        raise file.error("the file is empty; save the table again.")
    if file.content.startswith(b"PAR1"):
        frame = _read_parquet(file, max_bytes)
    elif file.content.startswith(b"PK\x03\x04"):
        frame = _read_excel(file, sheet, max_bytes)
    elif file.content.startswith(b"\xd0\xcf\x11\xe0"):
        raise file.error("an old or password-protected workbook; save it as plain .xlsx or CSV.")
    else:
        frame = _read_text(file, delimiter)
    if frame.empty:
        raise file.error("there is a header but no rows under it; at least 3 rows are needed.")
    return frame


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that are empty or used twice."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"column {position} of {len(names)} has no name; give it one, "
                "or remove it if it only numbers the rows."
            )
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise DataError(f"{count} columns are called {quoted(name)}; give each its own name.")


def _opened(source: Source, name: str | None, max_bytes: int) -> _File:
    if isinstance(source, bytes):
        file = _File(name or "table", source)
    elif isinstance(source, (str, os.PathLike)):
        file = _read_path(source, name, max_bytes)
    else:
        content = source.read(max_bytes + 1)
        raw = content.encode() if isinstance(content, str) else content
        file = _File(name or str(getattr(source, "name", "table")), raw)
    _check_size(file, len(file.content), max_bytes)
    return file


def _read_path(source: str | os.PathLike[str], name: str | None, max_bytes: int) -> _File:
    shown = quoted(str(source))
    if isinstance(source, str) and _URL.match(source):
        raise DataError(f"{shown} is a web address; download the file and give its path.")
    path = Path(source)
    try:
        if path.is_file():
            with path.open("rb") as stream:
                return _File(name or path.name, stream.read(max_bytes + 1))
        is_folder = path.is_dir()
    except OSError as error:
        raise DataError(f"{shown} cannot be opened: {error.strerror}; check the path.") from None
    if is_folder:
        raise DataError(f"{shown} is a folder; give the path of one file.")
    raise DataError(f"there is no file {shown}; check the path.")


def _check_size(file: _File, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise file.error(
            f"the table is larger than {max_bytes / 2**20:g} MB; "
            "keep fewer rows or columns, or raise max_bytes."
        )


def _unzipped(file: _File, max_bytes: int) -> _File:
    if not file.content.startswith(b"\x1f\x8b"):
        return file
    try:
        with gzip.open(io.BytesIO(file.content)) as stream:
            content = stream.read(max_bytes + 1)
    except (OSError, EOFError, zlib.error):
        raise file.error("the gzip file is damaged; compress the table again.") from None
    _check_size(file, len(content), max_bytes)
    return _File(file.name, content)


def _read_parquet(file: _File, max_bytes: int) -> pd.DataFrame:
    try:
        parquet = pq.ParquetFile(io.BytesIO(file.content))
        cells = parquet.metadata.num_rows * parquet.metadata.num_columns
        _check_size(file, 8 * cells, max_bytes)
        table = parquet.read()
        check_names([name for name in table.column_names if not name.startswith("__index_level_")])
        frame: pd.DataFrame = table.to_pandas()
    except DataError:
        raise
    except Exception:  # whatever a damaged file makes the reader raise
        raise file.error("the Parquet file is damaged; write it again.") from None
    return frame.reset_index(drop=True)


def _read_excel(file: _File, sheet: str | int | None, max_bytes: int) -> pd.DataFrame:
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            members = archive.infolist()
        _check_size(file, sum(member.file_size for member in members), max_bytes)
        if "xl/workbook.xml" not in {member.filename for member in members}:
            raise file.error("a zip archive and not a table; unpack it and give the table in it.")
        book = pd.ExcelFile(io.BytesIO(file.content), engine="openpyxl")
        cells = pd.read_excel(
            book,
            sheet_name=_sheet(file, [str(name) for name in book.sheet_names], sheet),
            header=None,
            dtype=object,
            keep_default_na=False,
            na_values=sorted(NA_WORDS),
        )
    except DataError:
        raise
    except Exception:  # whatever a damaged file makes the reader raise
        raise file.error("the workbook is damaged; save it again as .xlsx.") from None
    cells = cells[cells.notna().any(axis=1).cummax()]
    if cells.empty:
        raise file.error("the sheet is empty; give another one with sheet=...")
    names = ["" if pd.isna(name) else str(name).strip() for name in cells.iloc[0]]
    return _named(cells.iloc[1:].reset_index(drop=True).infer_objects(), names)


def _sheet(file: _File, names: Sequence[str], sheet: str | int | None) -> str:
    if sheet is None:
        return names[0]
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        return names[sheet]
    if isinstance(sheet, str) and sheet in names:
        return sheet
    known = ", ".join(quoted(name) for name in names[:10])
    raise file.error(f"there is no sheet {sheet!r}; the sheets are {known}.")


def _read_text(file: _File, delimiter: str | None) -> pd.DataFrame:
    text = _decoded(file)
    separator = _separator(file, text, delimiter)
    names = [name.strip() for name in next(_records(text, separator)).fields]
    try:
        # pandas would cut a first row that is too wide without a word
        _check_widths(file, _head(text), separator, len(names))
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=sorted(NA_WORDS),
            low_memory=False,
        )
    except pd.errors.ParserError:
        _check_widths(file, text, separator, len(names))
        raise file.error("a quotation mark is opened and never closed; close it.") from None
    if frame.shape[1] != len(names):
        raise file.error("the header cannot be read; check its quotation marks.")
    return _named(_with_decimal_commas(frame) if separator == ";" else frame, names)


def _decoded(file: _File) -> str:
    content = file.content
    has_wide_mark = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    text = _decode(content, "utf-16" if has_wide_mark else "utf-8-sig")
    if text is None and not has_wide_mark and not _CONTROL.search(content):
        text = content.decode("latin-1")
    if text is None or "\x00" in text:
        raise file.error("this is not a table; give CSV, TSV, Parquet or Excel (.xlsx).")
    return text


def _decode(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    fields: list[str]


def _records(text: str, delimiter: str) -> Iterator[_Record]:
    """Yield the records that are not blank, each with the line on which it ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    for fields in reader:
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield _Record(reader.line_num, fields)


def _head(text: str) -> str:
    """Return whole lines from the beginning, enough to see how the file is made."""
    if len(text) <= SNIFFED_CHARACTERS:
        return text
    return text[:SNIFFED_CHARACTERS].rpartition("\n")[0] or text


def _separator(file: _File, text: str, delimiter: str | None) -> str:
    head = _head(text)
    found = max(DELIMITERS, key=lambda candidate: _fit(head, candidate))
    wanted = found if delimiter is None else _SPELLED_OUT.get(delimiter, delimiter)
    if len(wanted) != 1 or wanted in '"\r\n':
        raise DataError(f"delimiter = {delimiter!r} is not one character; try {found!r}.")
    if _fit(head, wanted).width > 1:
        return wanted
    if _fit(head, found).width > 1:
        remedy = f"try delimiter={found!r}"
    else:
        remedy = "if spaces or another mark separate the columns, say so, as in delimiter=' '"
    raise file.error(f"only one column was found with delimiter {wanted!r}; {remedy}.")


@dataclass(frozen=True, slots=True, order=True)
class _Fit:
    """How well a delimiter explains the first rows: the better one is the greater."""

    share: float
    """Of the rows that are as wide as the header."""
    width: int


def _fit(head: str, delimiter: str) -> _Fit:
    widths: list[int] = []
    with contextlib.suppress(csv.Error):  # what came before a broken record still tells
        first = itertools.islice(_records(head, delimiter), SNIFFED_ROWS)
        widths.extend(len(record.fields) for record in first)
    if not widths or widths[0] < 2:
        return _Fit(0.0, 0)
    return _Fit(widths.count(widths[0]) / len(widths), widths[0])


def _check_widths(file: _File, text: str, delimiter: str, width: int) -> None:
    try:
        wide = next(row for row in _records(text, delimiter) if len(row.fields) > width)
    except StopIteration:
        return
    except csv.Error:
        raise file.error("a quotation mark is opened and never closed; close it.") from None
    raise file.error(
        f"line {wide.line} has {len(wide.fields)} fields but the header has {width}; "
        "correct that line, or put quotation marks around its text."
    )


def _with_decimal_commas(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn text columns in which every value is a number with a decimal comma into numbers."""
    converted = frame.copy()
    for name, column in frame.items():
        if not pd.api.types.is_string_dtype(column):
            continue
        texts = column.dropna().unique()
        if len(texts) and all(_DECIMAL_COMMA.fullmatch(str(text).strip()) for text in texts):
            converted[name] = pd.to_numeric(column.str.strip().str.replace(",", "."))
    return converted


def _named(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Give the columns their names; one with neither a name nor a value is left out."""
    kept = [k for k, name in enumerate(names) if name or frame.iloc[:, k].notna().any()]
    check_names([names[k] for k in kept])
    return frame.iloc[:, kept].set_axis([names[k] for k in kept], axis="columns")
