"""Read delimited text into a data frame: how it is encoded and separated is found out.

A file whose lines come from several programs may mix encodings: what is not UTF-8 is read as
Windows-1252, byte by byte. Lines end with a line feed, or all of them with a carriage return.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import itertools
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO

import numpy as np
import pandas as pd

from loopylatent.compute.limits import LIMITS, check_shape
from loopylatent.errors import DataError, LimitError, Remedy, quoted
from loopylatent.tables.files import SMALL, File
from loopylatent.tables.headers import NA_WORDS, named
from loopylatent.tables.numbers import EXACT, are_too_long

DELIMITERS = (",", ";", "\t", "|")
SNIFFED_CHARACTERS = 1_000_000
SNIFFED_ROWS = 50
LEAST_ZEROS = 0.3
"""Share of zero bytes at even or at odd places from which text without a mark is UTF-16."""

NO_TABLE = "this is not a table; give CSV, TSV, Parquet or Excel (.xlsx)."
_SPELLED_OUT = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "space": " "}
_DECIMAL_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?|[+-]?\d+", re.ASCII)
_GROUPED = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d*)?", re.ASCII)
_GROUPED_BY_POINTS = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)", re.ASCII)
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_LINE_AND_ENDS = re.compile(r"[^\r\n]*+(?:\r++\n?|\n)|[^\r\n]++")
_LONE_RETURN = re.compile(r"(?<!\r)\r++(?!\n|\Z)")
_DECLARED = re.compile(r'"?sep=(?=[\t -~])([^\w"])"?(?=[\r\n])', re.IGNORECASE)
_JSON = re.compile(r'\s*+(\[\s*+)?\{\s*+["}]')
_MARKUP = re.compile(r"\s*+<(!doctype|html|head|body|table|\?xml|!--)", re.IGNORECASE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_CONTROL_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")


def read_text(file: File, delimiter: str | None, max_cells: int) -> pd.DataFrame:
    """Read a whole file of delimited text; see `read_frame` of ``tables``."""
    text, declared = split_declaration(_decoded(file))
    separator = find_separator(file, text, delimiter or declared)
    _check_returns(file, text, separator)
    first = _first_records(file, text, separator)
    names = [name.strip() for name in first[0].fields]
    if len(names) > LIMITS.columns:
        raise file.error(f"{len(names):,} columns are too many; keep at most {LIMITS.columns:,}.")
    # pandas would cut a first row that is too wide without a word, however far down it ends
    _check_widths(file, first, len(names))
    _check_widths(file, records(_head(text), separator), len(names))
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
        text, _ = split_declaration(_decoded(file))
        _check_widths(file, records(text, separator), len(names))
        raise file.error(OPEN_QUOTE) from None
    if frame.shape[1] != len(names):
        raise file.error("the header cannot be read; check its quotation marks.")
    return named(_second_look(with_commas(frame, separator), frame, content, separator), names)


def _first_records(file: File, text: str, separator: str) -> list[_Record]:
    """Return the header and the first row, be they as long as they like."""
    try:
        return list(itertools.islice(records(text, separator), 2))
    except csv.Error as error:
        raise file.error(broken(error)) from None


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
    at = -1 if text is None else text.find("\x00")
    line = 0 if text is None else text.count("\n", 0, max(at, 0)) + 1
    if text is None or (at >= 0 and line == 1):
        raise file.error(NO_TABLE)
    if at >= 0:
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
        return content.decode().lstrip("\ufeff")
    return None if _CONTROL.search(content) else content.decode("utf-8", WINDOWS).lstrip("\ufeff")


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
    while True:
        start = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise csv.Error(str(error), start) from None
        if len(fields) > 1 or (fields and fields[0].strip()):
            yield _Record(reader.line_num, fields)


def split_declaration(text: str) -> tuple[str, str | None]:
    """Return the text after a first line that names the separator, and the separator it names.

    Spreadsheet programs write such a line. Its end stays, so that lines count as they did.

    Examples
    --------
    >>> split_declaration("sep=;\\na;b\\n"), split_declaration("a;b\\n")
    (('\\na;b\\n', ';'), ('a;b\\n', None))
    """
    found = _DECLARED.match(text)
    return (text, None) if found is None else (text[found.end() :], found[1])


def lone_return(where: str = "a line") -> str:
    """Say that a carriage return stands where no line ends."""
    return (
        f"a carriage return stands alone inside {where}; write all ends of lines alike, "
        "and put quotation marks around text that holds one."
    )


def _check_returns(file: File, text: str, separator: str) -> None:
    """Refuse a carriage return inside a line, unless all lines end with one and nothing else."""
    found = _LONE_RETURN.search(text) if "\n" in text else None
    if found is None:
        return
    at = found.start() if '"' not in text else _unquoted_return(text, separator)
    if at is not None:
        raise file.error(lone_return(f"line {text.count(chr(10), 0, at) + 1}"))


def _unquoted_return(text: str, separator: str) -> int | None:
    """Where the first record ends with a carriage return alone; None if none or all of them do."""
    ends: list[re.Match[str]] = []

    def lines() -> Iterator[str]:
        for line in _LINE_AND_ENDS.finditer(text):
            ends[:] = [line]
            yield line.group()

    first, has_others = None, False
    with contextlib.suppress(csv.Error):  # what is broken is told by whoever reads it
        for _ in csv.reader(lines(), delimiter=separator, skipinitialspace=True):
            end = ends[0]
            if end.group().endswith("\n"):
                has_others = True
            elif first is None and end.end() < len(text):
                first = end.end()
    return first if has_others else None


def _head(text: str) -> str:
    """Return whole lines from the beginning, enough to see how the file is made."""
    if len(text) <= SNIFFED_CHARACTERS:
        return text
    return text[:SNIFFED_CHARACTERS].rpartition("\n")[0] or text


def find_separator(file: File, text: str, delimiter: str | None) -> str:
    """Return the delimiter that is wanted, or that explains the first rows best."""
    _check_is_table(file, text)
    head = _head(text)
    found = max(DELIMITERS, key=lambda candidate: _fit(head, candidate))
    wanted = found if delimiter is None else _SPELLED_OUT.get(delimiter, delimiter)
    if len(wanted) != 1 or wanted in '"\r\n' or not wanted.isascii():
        raise DataError(f"delimiter = {delimiter!r} is not one ASCII character; try {found!r}.")
    if _fit(head, wanted).width > 1:
        return wanted
    if len(head.partition("\n")[0]) > csv.field_size_limit():
        raise file.error(
            f"its first line holds a field of more than {csv.field_size_limit():,} characters; "
            "put the short names of the columns there."
        )
    below = _width_below(head, delimiter and wanted)
    if below > 1:
        raise file.error(
            f"the first line is one field and the lines below it have {below}; "
            "remove what stands above the names of the columns."
        )
    one = f"only one column was found with delimiter {wanted!r}; "
    if _fit(head, found).width > 1:
        raise file.error(one, "try ", Remedy("call", f"delimiter={found!r}"), ".")
    raise file.error(one, "put commas between the columns", Remedy("delimiter"), ".")


def _check_is_table(file: File, text: str) -> None:
    """Refuse what is text but another format; some of it would pass for a table."""
    for form, found in (("JSON", _JSON.match(text)), ("a web page or XML", _MARKUP.match(text))):
        if found is not None:
            raise file.error(
                f"this is {form} and not a table; open it in a program that reads it and "
                "save it as CSV."
            )


def _width_below(head: str, delimiter: str | None) -> int:
    """Return how many fields most of the lines below the first one have; 0 if they differ."""
    for candidate in DELIMITERS if delimiter is None else (delimiter,):
        widths = _widths(head, candidate)[1:]
        width = max(widths, key=widths.count, default=0)
        if width > 1 and widths.count(width) > len(widths) / 2:
            return width
    return 0


@dataclass(frozen=True, slots=True, order=True)
class _Fit:
    """How well a delimiter explains the first rows: the better one is the greater."""

    share: float
    """Of the rows that are as wide as the header."""
    width: int


def _widths(head: str, delimiter: str) -> list[int]:
    widths: list[int] = []
    with contextlib.suppress(csv.Error):  # what came before a broken record still tells
        first = itertools.islice(records(head, delimiter), SNIFFED_ROWS)
        widths.extend(len(record.fields) for record in first)
    return widths


def _fit(head: str, delimiter: str) -> _Fit:
    widths = _widths(head, delimiter)
    if not widths or widths[0] < 2:
        return _Fit(0.0, 0)
    return _Fit(widths.count(widths[0]) / len(widths), widths[0])


OPEN_QUOTE = "a quotation mark is opened and never closed; close it."


def broken(error: csv.Error, where: str = "") -> str:
    """Say why a record cannot be read; `records` told on which line it begins."""
    if "field limit" not in str(error.args[0]):
        return OPEN_QUOTE
    place = where or f"on line {error.args[1]}"
    return (
        f"a cell {place} has more than {csv.field_size_limit():,} characters; "
        "shorten it, or close its quotation mark if one is open."
    )


def _check_widths(file: File, rows: Iterable[_Record], width: int) -> None:
    try:
        wide = next(row for row in rows if len(row.fields) > width)
    except StopIteration:
        return
    except csv.Error as error:
        raise file.error(broken(error)) from None
    raise file.error(
        f"line {wide.line} has {len(wide.fields)} fields but the header has {width}; "
        "correct that line, or put quotation marks around its text."
    )


def with_commas(frame: pd.DataFrame, separator: str) -> pd.DataFrame:
    """Turn text columns into numbers in which each value is a number with a comma.

    Between semicolons the comma is a decimal one, between commas it groups thousands.
    Points before a decimal comma group thousands.
    """
    if separator not in ",;":
        return frame
    is_decimal = separator == ";"
    form = _DECIMAL_COMMA if is_decimal else _GROUPED
    converted = frame.copy(deep=False)
    for name, column in frame.items():
        if not pd.api.types.is_string_dtype(column):
            continue
        texts = column.dropna().unique()
        if len(texts) and all(form.fullmatch(str(text).strip()) for text in texts):
            plain = column.str.strip()
            if is_decimal:
                plain = plain.str.replace(".", "", regex=False)
            converted[name] = _numbers(plain.str.replace(",", "." if is_decimal else ""))
    return converted


def _second_look(
    read: pd.DataFrame, raw: pd.DataFrame, content: IO[bytes], separator: str
) -> pd.DataFrame:
    """Look again at numbers as they were written, where reading them at once may have lost it.

    Where another column has decimal commas, points group thousands: 1.234 is not 1.2. And whole
    numbers that are too long to be told apart as numbers stay text, as identifiers are.
    """
    floats = [name for name, dtype in raw.dtypes.items() if dtype == np.float64]
    long = [name for name in floats if _may_be_long(raw[name])]
    grouped = []
    if separator == ";" and _has_decimal_commas(read, raw):
        grouped = [name for name in floats if name not in long and _may_be_grouped(raw[name])]
    if not long and not grouped:
        return read
    found = read.copy(deep=False)
    for name, texts in _as_written(content, separator, raw, [*long, *grouped]).items():
        different = texts.dropna().unique()
        if name in long:
            found[name] = texts if are_too_long(different) else raw[name]
        elif all(map(_GROUPED_BY_POINTS.fullmatch, different)):
            found[name] = _numbers(texts.str.replace(".", "", regex=False))
    return found


def _as_written(
    content: IO[bytes], separator: str, raw: pd.DataFrame, names: Sequence[Hashable]
) -> dict[Hashable, pd.Series[str]]:
    """Read some columns once more, as text."""
    wanted = set(names)
    chosen = [(k, name) for k, name in enumerate(raw.columns) if name in wanted]
    content.seek(0)
    texts = pd.read_csv(
        content,
        sep=separator,
        index_col=False,
        skipinitialspace=True,
        usecols=[k for k, _ in chosen],
        dtype=str,
        keep_default_na=False,
        na_values=sorted(NA_WORDS),
    )
    return {name: texts.iloc[:, at].str.strip() for at, (_, name) in enumerate(chosen)}


def _has_decimal_commas(read: pd.DataFrame, raw: pd.DataFrame) -> bool:
    changed = [name for name in raw.columns if read[name].dtype != raw[name].dtype]
    return any(raw[name].str.contains(",", regex=False).any() for name in changed)


def _may_be_long(numbers: pd.Series[float]) -> bool:
    x = numbers.to_numpy()
    return bool(np.fmax.reduce(x, initial=0.0) > EXACT or np.fmin.reduce(x, initial=0.0) < -EXACT)


def _may_be_grouped(numbers: pd.Series[float]) -> bool:
    """Whether some of the numbers have decimals, and none has more than three."""
    x = numbers.dropna().to_numpy()
    with np.errstate(over="ignore", invalid="ignore"):
        return bool((x != np.rint(x)).any() and np.allclose(x * 1000, np.rint(x * 1000), atol=1e-6))


def _numbers(texts: pd.Series) -> pd.Series:
    try:
        return pd.to_numeric(texts)
    except ValueError:  # more digits than Python takes for a whole number
        return texts.astype(float)
