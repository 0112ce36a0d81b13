"""Read delimited text into a data frame: how it is encoded and separated is found out.

A file whose lines come from several programs may mix encodings: what is not UTF-8 is read as
Windows-1252, byte by byte.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from loopylatent.errors import DataError, LimitError, quoted
from loopylatent.files import SMALL, File
from loopylatent.headers import NA_WORDS, named
from loopylatent.limits import LIMITS, check_shape

DELIMITERS = (",", ";", "\t", "|")
SNIFFED_CHARACTERS = 1_000_000
SNIFFED_ROWS = 50
LEAST_ZEROS = 0.3
"""Share of zero bytes at even or at odd places from which text without a mark is UTF-16."""

_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?|[+-]?\d+", re.ASCII)
_GROUPED = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d*)?", re.ASCII)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_CONTROL_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")


def read_text(file: File, delimiter: str | None, max_cells: int) -> pd.DataFrame:
    """Read a whole file of delimited text; see `read_frame` of ``tables``."""
    text = _decoded(file)
    separator = find_separator(file, text, delimiter)
    names = [name.strip() for name in next(records(text, separator)).fields]
    if len(names) > LIMITS.columns:
        raise file.error(f"{len(names):,} columns are too many; keep at most {LIMITS.columns:,}.")
    # pandas would cut a first row that is too wide without a word
    _check_widths(file, _head(text), separator, len(names))
    _check_cells(file, text, separator, len(names), max_cells)
    content = io.BytesIO(text.encode())
    del text  # as large as the file, and not needed any more
    try:
        frame = pd.read_csv(
            content,
            sep=separator,
            index_col=False,
            skipinitialspace=True,
            keep_default_na=False,
            na_values=sorted(NA_WORDS),
            low_memory=False,
        )
    except (pd.errors.ParserError, MemoryError) as error:
        if isinstance(error, MemoryError) or "out of memory" in str(error):
            raise LimitError(
                f"{quoted(file.name)}: there is too little memory to read it; "
                "keep fewer rows or columns, or take a larger machine."
            ) from None
        _check_widths(file, _decoded(file), separator, len(names))
        raise file.error("a quotation mark is opened and never closed; close it.") from None
    if frame.shape[1] != len(names):
        raise file.error("the header cannot be read; check its quotation marks.")
    return named(with_commas(frame, separator), names)


def _check_cells(file: File, text: str, separator: str, n_columns: int, max_cells: int) -> None:
    """Refuse too many cells; short rows, which are filled up to the header, count as whole ones."""
    n_rows = max(text.count("\n"), text.count("\r"))
    if n_rows * n_columns <= min(max_cells, max(SMALL, len(text))):
        return
    with contextlib.suppress(csv.Error):  # the number of lines is then near enough
        n_rows = sum(1 for _ in records(text, separator)) - 1
    check_shape(n_rows, n_columns, replace(LIMITS, cells=max_cells))
    if n_rows * n_columns > max(SMALL, len(text)):  # a cell of a whole row takes a character
        raise file.error(
            f"the header has {n_columns:,} names and most of the {n_rows:,} rows are far shorter; "
            "leave out the names without values."
        )


def _decoded(file: File) -> str:
    text = decode(file.content)
    if text is None:
        raise file.error("this is not a table; give CSV, TSV, Parquet or Excel (.xlsx).")
    at = text.find("\x00")
    if at >= 0:
        line = text.count("\n", 0, at) + 1
        raise file.error(f"line {line} holds a zero byte, so this is no plain text; remove it.")
    return text


def decode(content: bytes) -> str | None:
    """Return the text of a file, or None where it is none."""
    wide = wide_encoding(content)
    if wide is not None:
        with contextlib.suppress(UnicodeDecodeError):
            text = content.decode(wide)
            return None if _CONTROL_TEXT.search(text) else text
        return None
    with contextlib.suppress(UnicodeDecodeError):
        return content.decode("utf-8-sig")
    return None if _CONTROL.search(content) else content.decode("utf-8-sig", WINDOWS)


def wide_encoding(content: bytes) -> str | None:
    """Return which UTF-16 a file is in, by its mark or by where its zero bytes stand."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    head = np.frombuffer(content[: SNIFFED_CHARACTERS & ~1], dtype=np.uint8)
    head = head[: len(head) & ~1]
    if not len(head):
        return None
    first, second = (float((head[k::2] == 0).mean()) for k in (0, 1))
    if max(first, second) < LEAST_ZEROS or min(first, second) > LEAST_ZEROS / 10:
        return None
    return "utf-16-be" if first > second else "utf-16-le"


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


@dataclass(frozen=True, slots=True)
class _Record:
    line: int
    fields: list[str]


def records(text: str, delimiter: str) -> Iterator[_Record]:
    """Yield the records that are not blank, each with the line on which it ends."""
    lines = (line.group() for line in _LINE.finditer(text))  # without a copy of the whole text
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
    for fields in reader:
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield _Record(reader.line_num, fields)


def _head(text: str) -> str:
    """Return whole lines from the beginning, enough to see how the file is made."""
    if len(text) <= SNIFFED_CHARACTERS:
        return text
    return text[:SNIFFED_CHARACTERS].rpartition("\n")[0] or text


def find_separator(file: File, text: str, delimiter: str | None) -> str:
    """Return the delimiter that is wanted, or that explains the first rows best."""
    head = _head(text)
    found = max(DELIMITERS, key=lambda candidate: _fit(head, candidate))
    wanted = found if delimiter is None else _SPELLED_OUT.get(delimiter, delimiter)
    if len(wanted) != 1 or wanted in '"\r\n':
        raise DataError(f"delimiter = {delimiter!r} is not one character; try {found!r}.")
    if _fit(head, wanted).width > 1:
        return wanted
    if len(head.partition("\n")[0]) > csv.field_size_limit():
        raise file.error(
            f"its first line holds a field of more than {csv.field_size_limit():,} characters; "
            "put the short names of the columns there."
        )
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
        first = itertools.islice(records(head, delimiter), SNIFFED_ROWS)
        widths.extend(len(record.fields) for record in first)
    if not widths or widths[0] < 2:
        return _Fit(0.0, 0)
    return _Fit(widths.count(widths[0]) / len(widths), widths[0])


def _check_widths(file: File, text: str, delimiter: str, width: int) -> None:
    try:
        wide = next(row for row in records(text, delimiter) if len(row.fields) > width)
    except StopIteration:
        return
    except csv.Error:
        raise file.error("a quotation mark is opened and never closed; close it.") from None
    raise file.error(
        f"line {wide.line} has {len(wide.fields)} fields but the header has {width}; "
        "correct that line, or put quotation marks around its text."
    )


def with_commas(frame: pd.DataFrame, separator: str) -> pd.DataFrame:
    """Turn text columns into numbers in which each value is a number with a comma.

    Between semicolons the comma is a decimal one, between commas it groups thousands.
    """
    if separator not in ",;":
        return frame
    form, instead = (_DECIMAL_COMMA, ".") if separator == ";" else (_GROUPED, "")
    converted = frame.copy(deep=False)
    for name, column in frame.items():
        if not pd.api.types.is_string_dtype(column):
            continue
        texts = column.dropna().unique()
        if len(texts) and all(form.fullmatch(str(text).strip()) for text in texts):
            converted[name] = _numbers(column.str.strip().str.replace(",", instead))
    return converted


def _numbers(texts: pd.Series) -> pd.Series:
    try:
        return pd.to_numeric(texts)
    except ValueError:  # more digits than Python takes for a whole number
        return texts.astype(float)
