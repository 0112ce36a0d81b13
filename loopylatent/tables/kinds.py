"""Column types, and values as numbers.

A column with two distinct values is binary; text with more is categorical; a few whole numbers in
a narrow range are ordinal; other numbers are continuous. Whole numbers too long to be distinct as
floats are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from loopylatent.compute.values import FloatArray
from loopylatent.errors import DataError, quoted

NA_WORDS = frozenset(
    (
        *("", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "."),
    )
)
"""Texts for missing values: those of pandas, and the ? and . of older archives."""

Way = Literal["plain", "decimal", "thousands", "grouped"]
"""Notation of numbers: 1234.5; 1.234,5; 1,234.5; or 1.234 for a whole number."""
WAYS: dict[str, tuple[Way, ...]] = {
    ";": ("plain", "decimal", "grouped"),
    ",": ("plain", "thousands"),
}
"""Accepted notations by the separator of the file; default: plain only."""
_MARKS: dict[Way, tuple[str, str, str]] = {
    "decimal": (r"[+-]?((\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?|\d+)", ".", ","),
    "thousands": (r"[+-]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?([eE][+-]?\d+)?", ",", "."),
    "grouped": (r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)", ".", ","),
}
"""Pattern of the texts, thousands separator and decimal mark."""


def cast_numbers(column: Any) -> FloatArray | None:
    """(n,) an Arrow column of texts as numbers, NaN if missing; None if one is not a number."""
    for trim in (lambda texts: texts, pc.utf8_trim_whitespace):
        with suppress(pa.ArrowInvalid):
            x: FloatArray = pc.cast(trim(column), pa.float64()).to_numpy(zero_copy_only=False)
            return None if int(np.isnan(x).sum()) > column.null_count else x
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A column of texts: the distinct ones, and the code of each row."""

    codes: NDArray[np.intp]
    """(n,) -1 if missing."""
    texts: Sequence[str]

    @classmethod
    def of(cls, column: Any) -> Cells:
        """Encode an Arrow column of texts; words for missing values are missing."""
        found = column.combine_chunks().dictionary_encode()
        texts: list[str] = pc.utf8_trim_whitespace(found.dictionary).to_pylist()
        codes = pc.fill_null(found.indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
        if not NA_WORDS.isdisjoint(texts):
            codes = np.where(
                np.array([*(text in NA_WORDS for text in texts), True])[codes], -1, codes
            )
        return cls(codes, texts)

    def rows(self, values: NDArray[Any] | Sequence[float]) -> FloatArray:
        """(n,) the value of each row, given the value of each text."""
        found: FloatArray = np.append(values, np.nan)[self.codes]
        return found

    def numbers(self, way: Way = "plain") -> FloatArray | None:
        """(n,) the rows as numbers; None if one is not a number."""
        known = read_numbers([text for text in self.texts if text not in NA_WORDS], way)
        if known is None:
            return None
        values = np.full(len(self.texts), np.nan)
        values[[text not in NA_WORDS for text in self.texts]] = known
        return self.rows(values)


def read_numbers(texts: Sequence[str], way: Way = "plain") -> FloatArray | None:
    """Return the texts as numbers in a notation; None if one is not such a number."""
    if way != "plain":
        return _unmarked(texts, *_MARKS[way])
    if texts and np.isnan(_number(texts[0])):
        return None
    numbers = text_numbers(texts)
    return None if np.isnan(numbers).any() else numbers


def _unmarked(texts: Sequence[str], form: str, group: str, decimal: str) -> FloatArray | None:
    if not all(re.fullmatch(form, text, re.ASCII) for text in texts):
        return None
    return read_numbers([text.replace(group, "").replace(decimal, ".") for text in texts])


_SIGNS = str.maketrans({"\u2212": "-", "\uff0d": "-", "\uff0b": "+", "\uff0e": ".", "\u066b": "."})


def _number(text: str) -> float:
    try:
        return np.nan if "_" in text else float(text.translate(_SIGNS))
    except ValueError:
        return np.nan


def text_numbers(texts: Sequence[str]) -> FloatArray:
    """Return the texts as numbers, in the digits of any script; NaN if not a number."""
    joined = "".join(texts)
    if "_" not in joined and joined.isascii():
        with suppress(ValueError):
            return np.array(list(map(float, texts)), dtype=np.float64)
    return np.array([_number(text) for text in texts], dtype=np.float64)


# Amounts and percentages -----------------------------------------------------------------------

_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'", "\u2212": "-"})
_BRACKETS = re.compile(r"\((.*)\)")
_MARKED = re.compile(r"[+-]?[.,]?\d[\d.,' ]*", re.ASCII)
_UNIT = (
    r"(?:[$\u00a3\u00a5\u20a0-\u20cf]|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN"
    r"|NOK|NZD|PLN|SEK|USD|ZAR)"
)
_AMOUNT, _SIGN = r"[.,]?\d[\d.,'\u2019 \u00a0\u202f]*", r"[(+\-\u2212\s]*"
_MONEY = re.compile(rf"{_SIGN}{_UNIT}{_SIGN}{_AMOUNT}\)?|{_SIGN}{_AMOUNT}\s*{_UNIT}\)?")
LONGEST = 60
"""Characters in a formatted number."""


def are_money(texts: Sequence[str]) -> bool:
    """Whether all texts are amounts with a currency: $5, €1.234,50 or 12 CHF."""
    return bool(texts) and all(len(one) <= LONGEST and _MONEY.fullmatch(one) for one in texts)


def marked_numbers(texts: Sequence[str]) -> FloatArray | str | None:
    """Read percentages and formatted numbers; None if they are not, a message if ambiguous."""
    if any(len(text) > LONGEST for text in texts):
        return None
    cleaned = [_BRACKETS.sub(r"-\1", text.strip().translate(_SPACES)) for text in texts]
    if all(text.endswith("%") for text in cleaned):
        cleaned = [text[:-1].rstrip() for text in cleaned]
    if not cleaned or not all(map(_MARKED.fullmatch, cleaned)):
        return None
    ways = ((",", "."), (".", ","), ("'", "."), (" ", "."), (" ", ","))
    is_ungrouped = not any(set(text) & set(", '") for text in cleaned)  # a point is decimal
    tried = ways[:1] if is_ungrouped else ways
    form = r"[+-]?(\d{{1,3}}(\{0}\d{{3}})+|\d*)(\{1}\d+)?"
    read = (_unmarked(cleaned, form.format(*marks), *marks) for marks in tried)
    found = [x for x in read if x is not None]
    for other in found[1:]:
        if (found[0] != other).any():
            k = int((found[0] != other).argmax())
            return (
                f"{quoted(texts[k])} may be {found[0][k]:.15g} or {other[k]:.15g}; "
                "write it without a thousands separator."
            )
    return found[0] if found else None


# Long identifiers ------------------------------------------------------------------------------

EXACT = 2.0**53
"""Up to here all whole numbers are distinct as floats."""
_WHOLE = re.compile(r"[+-]?\d{16,}")


def are_too_long(texts: Iterable[str]) -> bool:
    """Whether different whole numbers become the same float, as long identifiers do."""
    found = {text.lstrip("+0") for text in texts if _WHOLE.fullmatch(text)}
    finite = [x for x in map(float, found) if EXACT < abs(x) < np.inf]
    return len(set(finite)) < len(finite)


def holds_too_long(series: pd.Series[Any]) -> bool:
    """`are_too_long` for a column of integers."""
    if series.dtype.kind not in "iu" or not len(series):
        return False
    x = series.to_numpy(np.float64, na_value=np.nan)
    return bool((np.abs(x) > EXACT).any() and series.nunique() > pd.Series(x).nunique())


Kind = Literal["binary", "categorical", "ordinal", "continuous"]
KINDS: tuple[Kind, ...] = get_args(Kind)


MOST_STATES = 50
"""Text with more distinct values than this is an identifier or free text."""
LONGEST_STATE = 1 << 17
"""Characters in the name of a state."""
MOST_ORDINAL_LEVELS = 10
WIDEST_ORDINAL_RANGE = 10
LARGEST_NUMBER = 1e60
"""Sums of products of four such numbers do not overflow."""
SMALLEST_SPREAD = 1e-60
_PROBED_ROWS = 1000
_YEAR, _PART = r"(1[5-9]|20)\d\d", r"(0?[1-9]|[12]\d|3[01])"
_MONTH = r"(Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*\.?"
_DATE = re.compile(  # a year and a month alone may be a code unless the year is a likely one
    rf"({_YEAR}[-/.]{_PART}|\d{{4}}[-/.]{_PART}[-/.]{_PART}|{_PART}[-/.]{_PART}[-/.]\d\d(\d\d)?"
    rf"|{_PART}[- ]{_MONTH},?[- ]\d\d(\d\d)?|{_MONTH}[- ]{_PART},?[- ]\d\d(\d\d)?)([T ]\d.*)?"
    r"|\d{1,2}:\d\d(:\d\d(\.\d+)?)?",
    re.ASCII,
)
LEAST_DATES = 10
"""A column with this many dates may contain other texts (at most 20 %)."""


@dataclass(frozen=True, slots=True)
class Column:
    """A variable: its name, its type and, if it is coded, its states."""

    name: str
    kind: Kind
    states: tuple[str, ...] = ()
    """The original values as text, in the order of the codes 0, 1, ...; empty if not coded."""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column and its values: codes or numbers, NaN if missing."""

    column: Column
    numbers: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """The origin of values that represent the rows of a longer column."""

    n_rows: int
    """Rows of the whole column."""
    rows: NDArray[np.int64]
    """The first row, counted from 0, of each value."""


@dataclass(frozen=True, slots=True, eq=False)
class _Levels(Cells):
    """The distinct values of a column as text, and their origin."""

    seen: Seen
    is_ordered: bool = False

    def row_of(self, text: str) -> int:
        """Return the first data row, counted from 1, with this text."""
        return int(self.seen.rows[(self.codes == self.texts.index(text)).argmax()]) + 1


def type_column(
    name: str, series: pd.Series[Any], wanted: Kind | None = None, seen: Seen | None = None
) -> TypedColumn:
    """Return the column with its detected type, or with the wanted one."""
    dtype = series.dtype
    seen = seen or Seen(len(series), np.arange(len(series)))
    if wanted is not None and wanted not in KINDS:
        known = ", ".join(KINDS)
        raise DataError(f"Unknown kind {wanted!r} of column {quoted(name)}. Use one of {known}.")
    has_size = wanted in ("ordinal", "continuous")
    holds_numbers = pd.api.types.is_numeric_dtype(dtype) and dtype.kind not in "bc"
    if holds_numbers and (has_size or not holds_too_long(series)):
        return _type_numbers(name, series.to_numpy(np.float64, na_value=np.nan), wanted, seen)
    is_category = isinstance(dtype, pd.CategoricalDtype)
    try:
        levels = _levels(series, seen)
        "".join(levels.texts).encode()
    except (ArithmeticError, ValueError):  # invalid Unicode, too many digits
        raise DataError(
            f"Column {quoted(name)} contains a value that cannot be written as text. Correct it, "
            "or drop the column."
        ) from None
    if wanted in (None, "ordinal", "continuous"):
        if dtype.kind in "mM" or _hold_dates(levels.texts):
            raise DataError(
                f"Column {quoted(name)} contains dates or times. Drop it, or use it as a label."
            )
        numbers = text_numbers(levels.texts)
        if np.isnan(numbers).any() and not is_category:
            numbers = _amounts(name, levels, wanted)
        is_text = (is_category or are_too_long(levels.texts)) and not has_size
        if not np.isnan(numbers).any() and not is_text:
            return _type_numbers(name, levels.rows(numbers), wanted, seen)
    return _type_levels(name, levels, wanted)


def _hold_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates, or so many that the others are likely missing values."""
    if len(texts) > MOST_STATES:  # too many states for a category
        return all(map(_DATE.fullmatch, texts))
    count = sum(_DATE.fullmatch(text) is not None for text in texts)
    return count > 0 and (count == len(texts) or count >= max(LEAST_DATES, 0.8 * len(texts)))


def type_sparse_column(
    name: str, entries: FloatArray, has_zero: bool, wanted: Kind | None = None
) -> Column:
    """Return a sparse column with its type; binary means 0 and one positive number."""
    distinct = np.unique(np.append(entries, 0.0) if has_zero else entries)
    check_range(name, distinct)
    can_be_binary = len(distinct) < 2 or (len(distinct) == 2 and distinct[0] == 0)
    kind = wanted or _number_kind(distinct)
    if wanted == "categorical" or (wanted == "binary" and not can_be_binary):
        raise DataError(
            f"Column {quoted(name)} of a sparse matrix cannot be {wanted}. Make the matrix dense, "
            "or use only 0 and one positive number."
        )
    if kind == "binary" and not can_be_binary:
        kind = "continuous"
    return Column(name, kind, tuple(map(_number_text, distinct)) if kind == "binary" else ())


def whole_if_exact(x: FloatArray) -> NDArray[Any]:
    """Return numbers as integers if all are whole and exact as floats."""
    is_whole = (x == np.rint(x)).all() and (np.abs(x) < EXACT).all()
    return x.astype(np.int64) if is_whole else x


def states_to_values(column: Column, codes: FloatArray) -> pd.Series[Any]:
    """Convert codes back to the original values: numbers, booleans or text."""
    missing = np.isnan(codes)
    numbers = text_numbers(column.states)
    if column.states == ("False", "True"):
        levels: NDArray[Any] = np.array([False, True])
    elif np.isnan(numbers).any() or are_too_long(column.states):
        levels = np.array(column.states, dtype=object)
    else:
        levels = whole_if_exact(numbers)
    series = pd.Series(levels[np.where(missing, 0, codes).astype(np.intp)])
    return series.mask(missing) if missing.any() else series


def _type_numbers(name: str, numbers: FloatArray, wanted: Kind | None, seen: Seen) -> TypedColumn:
    infinite = np.isinf(numbers)
    if infinite.any():
        row = int(seen.rows[infinite.argmax()]) + 1
        raise DataError(
            f"Column {quoted(name)} is infinite in data row {row}. Clear that cell, or remove the "
            "row."
        )
    check_range(name, numbers)
    distinct = pd.unique(numbers[:_PROBED_ROWS])  # enough for most continuous columns
    if len(distinct) <= MOST_ORDINAL_LEVELS + 1:
        distinct = pd.unique(numbers)
    kind = wanted or _number_kind(distinct[~np.isnan(distinct)])
    if kind in ("ordinal", "continuous"):
        return TypedColumn(Column(name, kind), numbers)
    codes, distinct = pd.factorize(numbers, sort=True)
    return _type_levels(name, _Levels(codes, [*map(_number_text, distinct)], seen), kind)


def check_range(name: str, numbers: FloatArray) -> None:
    """Raise if the squares of the numbers would overflow or underflow."""
    if not len(numbers):
        return
    low, high = float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))
    if max(-low, high) > LARGEST_NUMBER:
        raise DataError(
            f"Column {quoted(name)} contains {max(low, high, key=abs):g}; the limit is "
            f"{LARGEST_NUMBER:g}. Divide the column by a round number."
        )
    if low < high and high / 2 - low / 2 < SMALLEST_SPREAD:
        raise DataError(
            f"The values of column {quoted(name)} differ by less than {SMALLEST_SPREAD:g}. "
            "Multiply the column by a round number."
        )


def _type_levels(name: str, levels: _Levels, wanted: Kind | None) -> TypedColumn:
    kind = wanted or ("ordinal" if levels.is_ordered else "categorical")
    if wanted is None and len(levels.texts) <= 2:
        kind = "binary"
    if max(map(len, levels.texts), default=0) > LONGEST_STATE:
        raise DataError(
            f"Column {quoted(name)} has a value of more than {LONGEST_STATE:,} characters. "
            "Shorten it, or close its quotation mark if one is open."
        )
    if kind == "categorical":
        _check_states(name, levels, limit_by_rows=wanted is None)
    elif kind == "binary" and len(levels.texts) > 2:
        raise DataError(
            f"Column {quoted(name)} has {len(levels.texts)} distinct values, so it cannot be "
            "binary. Make it categorical or ordinal."
        )
    elif wanted in ("ordinal", "continuous") and not (
        set(levels.texts) <= {"False", "True"} or (levels.is_ordered and wanted == "ordinal")
    ):
        stray = next(text for text in levels.texts if np.isnan(text_numbers((text,))[0]))
        raise DataError(
            f"Column {quoted(name)} cannot be {wanted}: {quoted(stray)} in data row "
            f"{levels.row_of(stray)} is not a number. Correct it, or make the column categorical."
        )
    states = () if kind == "continuous" else tuple(levels.texts)
    return TypedColumn(Column(name, kind, states), levels.rows(range(len(levels.texts))))


def _amounts(name: str, levels: _Levels, wanted: Kind | None) -> FloatArray:
    """Read formatted numbers unless the texts may be labels such as 1,2; else NaN."""
    if are_money(levels.texts):
        raise DataError(
            f"Column {quoted(name)} contains amounts of money such as {quoted(levels.texts[0])}. "
            "Write them as numbers without the currency, or drop the column."
        )
    found = marked_numbers(levels.texts)
    is_share = all(text.endswith("%") for text in levels.texts)
    is_number = wanted is not None or is_share or _has_many_states(levels, limit_by_rows=True)
    if found is None or not is_number:
        return np.array([np.nan])
    if isinstance(found, str):
        raise DataError(f"Column {quoted(name)} is ambiguous: {found}")
    return found


def _has_many_states(levels: _Levels, limit_by_rows: bool) -> bool:
    count = len(levels.texts)
    return count > MOST_STATES or (limit_by_rows and count > levels.seen.n_rows / 2)


def _check_states(name: str, levels: _Levels, limit_by_rows: bool) -> None:
    count, n_rows = len(levels.texts), levels.seen.n_rows
    if not _has_many_states(levels, limit_by_rows):
        return
    numeric = ~np.isnan(text_numbers(levels.texts))
    if count / 2 <= numeric.sum() < count:
        stray = levels.texts[int((~numeric).argmax())]
        raise DataError(
            f"Column {quoted(name)} contains numbers but also {quoted(stray)} in data row "
            f"{levels.row_of(stray)}. Correct or clear that cell, or drop the column."
        )
    raise DataError(
        f"Column {quoted(name)} has {count} distinct values in {n_rows} rows, too many for a "
        f"categorical column (at most {MOST_STATES}, and half the rows). Drop it, or use it as a "
        "label."
    )


def _number_kind(distinct: FloatArray) -> Kind:
    if len(distinct) <= 2:
        return "binary"
    is_whole = (distinct == np.rint(distinct)).all()
    is_narrow = distinct.max() <= distinct.min() + WIDEST_ORDINAL_RANGE
    few = len(distinct) <= MOST_ORDINAL_LEVELS
    return "ordinal" if few and is_whole and is_narrow else "continuous"


def _levels(series: pd.Series[Any], seen: Seen) -> _Levels:
    """Distinct texts in the order of the categories, else numerical, else alphabetical."""
    is_ordered = isinstance(series.dtype, pd.CategoricalDtype) and bool(series.cat.ordered)
    codes: NDArray[Any]
    if is_ordered:
        used = series.cat.remove_unused_categories().cat
        codes, raw = used.codes.to_numpy(), used.categories
    else:
        is_category = isinstance(series.dtype, pd.CategoricalDtype)
        cells = series.astype(object) if is_category else series
        try:
            codes, raw = pd.factorize(cells)
        except (TypeError, NotImplementedError):  # for example lists in cells
            codes, raw = pd.factorize(cells.map(str, na_action="ignore"))
    texts = [level_text(value) for value in raw]
    kept = [text for text in dict.fromkeys(texts) if text not in NA_WORDS]
    if not is_ordered:
        kept.sort()
        numbers = text_numbers(kept)
        if not np.isnan(numbers).any():
            kept = [kept[k] for k in np.argsort(numbers, kind="stable")]
    position = {text: k for k, text in enumerate(kept)}
    table = np.array([*(position.get(text, -1) for text in texts), -1], dtype=np.intp)
    return _Levels(table[codes], kept, seen, is_ordered)


def level_text(value: Any) -> str:
    """Return the name of the state for a value."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").strip()
    is_number = isinstance(value, (float, np.floating))
    return _number_text(float(value)) if is_number else str(value).strip()


def _number_text(value: float) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
