"""What kind of variable a column is, and its values as numbers.

Two different values make a binary column; text with more of them a categorical one; few whole
numbers close together an ordinal one; all other numbers a continuous one. Whole numbers that are
too long to be told apart as numbers count as text.
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
"""Texts that stand for a missing value: those of pandas, and the ? and . of older archives."""

Way = Literal["plain", "decimal", "thousands", "grouped"]
"""How numbers are written: 1234.5; 1.234,5; 1,234.5; or 1.234 for a whole number."""
WAYS: dict[str, tuple[Way, ...]] = {
    ";": ("plain", "decimal", "grouped"),
    ",": ("plain", "thousands"),
}
"""What a column may hold, by the separator of its file; elsewhere only plain numbers."""
_MARKS: dict[Way, tuple[str, str, str]] = {
    "decimal": (r"[+-]?((\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?|\d+)", ".", ","),
    "thousands": (r"[+-]?(\d{1,3}(,\d{3})+|\d*)(\.\d*)?([eE][+-]?\d+)?", ",", "."),
    "grouped": (r"[+-]?([1-9]\d{0,2}(\.\d{3})+|\d+)", ".", ","),
}
"""The form of the texts, what stands between thousands, and the decimal mark."""


def cast_numbers(column: Any) -> FloatArray | None:
    """(n,) an Arrow column of plain numbers as such, NaN where one is missing; else None."""
    for trim in (lambda texts: texts, pc.utf8_trim_whitespace):
        with suppress(pa.ArrowInvalid):
            x: FloatArray = pc.cast(trim(column), pa.float64()).to_numpy(zero_copy_only=False)
            return None if int(np.isnan(x).sum()) > column.null_count else x
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A column of texts: the different ones, and which of them each row has."""

    codes: NDArray[np.intp]
    """(n,) -1 where the value is missing."""
    texts: Sequence[str]

    @classmethod
    def of(cls, column: Any) -> Cells:
        """Take an Arrow column of texts apart; words for missing values are missing."""
        found = column.combine_chunks().dictionary_encode()
        texts: list[str] = pc.utf8_trim_whitespace(found.dictionary).to_pylist()
        codes = pc.fill_null(found.indices, -1).to_numpy(zero_copy_only=False).astype(np.intp)
        if not NA_WORDS.isdisjoint(texts):
            codes = np.where(
                np.array([*(text in NA_WORDS for text in texts), True])[codes], -1, codes
            )
        return cls(codes, texts)

    def rows(self, values: NDArray[Any] | Sequence[float]) -> FloatArray:
        """(n,) what the rows are, given what the texts are."""
        found: FloatArray = np.append(values, np.nan)[self.codes]
        return found

    def numbers(self, way: Way = "plain") -> FloatArray | None:
        """(n,) the rows as numbers; None where one is none."""
        known = read_numbers([text for text in self.texts if text not in NA_WORDS], way)
        if known is None:
            return None
        values = np.full(len(self.texts), np.nan)
        values[[text not in NA_WORDS for text in self.texts]] = known
        return self.rows(values)


def read_numbers(texts: Sequence[str], way: Way = "plain") -> FloatArray | None:
    """Return texts as numbers that are written so; None where one is none."""
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
    """Return the texts as numbers, in the digits of any script; NaN where they are none."""
    joined = "".join(texts)
    if "_" not in joined and joined.isascii():
        with suppress(ValueError):
            return np.array(list(map(float, texts)), dtype=np.float64)
    return np.array([_number(text) for text in texts], dtype=np.float64)


# Marks for people ----------------------------------------------------------------------------

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
"""Characters of a number with marks."""


def are_money(texts: Sequence[str]) -> bool:
    """Whether all texts are amounts with a currency: $5, €1.234,50 or 12 CHF."""
    return bool(texts) and all(len(one) <= LONGEST and _MONEY.fullmatch(one) for one in texts)


def marked_numbers(texts: Sequence[str]) -> FloatArray | str | None:
    """Read percentages and numbers with marks; None where they are none, or what is in doubt."""
    if any(len(text) > LONGEST for text in texts):
        return None
    plain = [_BRACKETS.sub(r"-\1", text.strip().translate(_SPACES)) for text in texts]
    if all(text.endswith("%") for text in plain):
        plain = [text[:-1].rstrip() for text in plain]
    if not plain or not all(map(_MARKED.fullmatch, plain)):
        return None
    ways = ((",", "."), (".", ","), ("'", "."), (" ", "."), (" ", ","))
    is_plain = not any(set(text) & set(", '") for text in plain)  # then a point is a decimal one
    tried = ways[:1] if is_plain else ways
    form = r"[+-]?(\d{{1,3}}(\{0}\d{{3}})+|\d*)(\{1}\d+)?"
    read = (_unmarked(plain, form.format(*marks), *marks) for marks in tried)
    found = [x for x in read if x is not None]
    for other in found[1:]:
        if (found[0] != other).any():
            k = int((found[0] != other).argmax())
            return (
                f"{quoted(texts[k])} may be {found[0][k]:.15g} or {other[k]:.15g}; "
                "write it without a mark for thousands."
            )
    return found[0] if found else None


# Too long for a float ------------------------------------------------------------------------

EXACT = 2.0**53
"""Up to here every whole number is a float of its own."""
_WHOLE = re.compile(r"[+-]?\d{16,}")


def are_too_long(texts: Iterable[str]) -> bool:
    """Whether different whole numbers, written out, come to the same float: as identifiers do."""
    found = {text.lstrip("+0") for text in texts if _WHOLE.fullmatch(text)}
    finite = [x for x in map(float, found) if EXACT < abs(x) < np.inf]
    return len(set(finite)) < len(finite)


def holds_too_long(series: pd.Series[Any]) -> bool:
    """The same for a column of integers."""
    if series.dtype.kind not in "iu" or not len(series):
        return False
    x = series.to_numpy(np.float64, na_value=np.nan)
    return bool((np.abs(x) > EXACT).any() and series.nunique() > pd.Series(x).nunique())


Kind = Literal["binary", "categorical", "ordinal", "continuous"]
KINDS: tuple[Kind, ...] = get_args(Kind)


MOST_STATES = 50
"""Text with more different values than this is an identifier or free text."""
LONGEST_STATE = 1 << 17
"""Characters of a value that is a state."""
MOST_ORDINAL_LEVELS = 10
WIDEST_ORDINAL_RANGE = 10
LARGEST_NUMBER = 1e60
"""Products of four such numbers, summed over all rows, are still numbers."""
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
"""Dates beside which other texts may stand."""


@dataclass(frozen=True, slots=True)
class Column:
    """A variable: its name, its kind and, where values are codes, what the codes stand for."""

    name: str
    kind: Kind
    states: tuple[str, ...] = ()
    """The original values as text, in the order of the codes 0, 1, ...; empty for numbers."""


@dataclass(frozen=True, slots=True)
class TypedColumn:
    """A column and its values: codes or numbers, NaN where a value is missing."""

    column: Column
    numbers: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Where given values come from, when they stand for the rows of a longer column."""

    n_rows: int
    """Rows of the whole column."""
    rows: NDArray[np.int64]
    """The row, counted from 0, in which each of the given values was seen first."""


@dataclass(frozen=True, slots=True, eq=False)
class _Levels(Cells):
    """The different values of a column as text, and where they come from."""

    seen: Seen
    is_ordered: bool = False

    def row_of(self, text: str) -> int:
        """Return the first data row, counted from 1, that holds ``text``."""
        return int(self.seen.rows[(self.codes == self.texts.index(text)).argmax()]) + 1


def type_column(
    name: str, series: pd.Series[Any], wanted: Kind | None = None, seen: Seen | None = None
) -> TypedColumn:
    """Find the kind of a column, which may be ``seen`` in part, or give it the wanted one."""
    dtype = series.dtype
    seen = seen or Seen(len(series), np.arange(len(series)))
    if wanted is not None and wanted not in KINDS:
        known = ", ".join(KINDS)
        raise DataError(f"kind {wanted!r} of column {quoted(name)} is unknown; use one of {known}.")
    has_size = wanted in ("ordinal", "continuous")
    holds_numbers = pd.api.types.is_numeric_dtype(dtype) and dtype.kind not in "bc"
    if holds_numbers and (has_size or not holds_too_long(series)):
        return _type_numbers(name, series.to_numpy(np.float64, na_value=np.nan), wanted, seen)
    is_category = isinstance(dtype, pd.CategoricalDtype)
    try:
        levels = _levels(series, seen)
        "".join(levels.texts).encode()
    except (ArithmeticError, ValueError):  # broken or half characters, endless digits
        raise DataError(
            f"column {quoted(name)} holds a value that cannot be written as text; "
            "correct it, or drop the column."
        ) from None
    if wanted in (None, "ordinal", "continuous"):
        if dtype.kind in "mM" or _hold_dates(levels.texts):
            raise DataError(
                f"column {quoted(name)} holds dates or times; drop it or give it as a label."
            )
        numbers = text_numbers(levels.texts)
        if np.isnan(numbers).any() and not is_category:
            numbers = _amounts(name, levels, wanted)
        is_text = (is_category or are_too_long(levels.texts)) and not has_size
        if not np.isnan(numbers).any() and not is_text:
            return _type_numbers(name, levels.rows(numbers), wanted, seen)
    return _type_levels(name, levels, wanted)


def _hold_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates, or enough of them that the others stand for missing ones."""
    if len(texts) > MOST_STATES:  # then the others make it no category
        return all(map(_DATE.fullmatch, texts))
    count = sum(_DATE.fullmatch(text) is not None for text in texts)
    return count > 0 and (count == len(texts) or count >= max(LEAST_DATES, 0.8 * len(texts)))


def type_sparse_column(
    name: str, entries: FloatArray, has_zero: bool, wanted: Kind | None = None
) -> Column:
    """Find the kind of a sparse column from its nonzero entries; binary is 0 and one positive."""
    distinct = np.unique(np.append(entries, 0.0) if has_zero else entries)
    check_range(name, distinct)
    can_be_binary = len(distinct) < 2 or (len(distinct) == 2 and distinct[0] == 0)
    kind = wanted or _number_kind(distinct)
    if wanted == "categorical" or (wanted == "binary" and not can_be_binary):
        raise DataError(
            f"column {quoted(name)} of a sparse matrix cannot be {wanted}; "
            "make the matrix dense, or keep 0 and one positive number."
        )
    if kind == "binary" and not can_be_binary:
        kind = "continuous"
    return Column(name, kind, tuple(map(_number_text, distinct)) if kind == "binary" else ())


def whole_if_exact(x: FloatArray) -> NDArray[Any]:
    """Return numbers as integers where all of them are whole and none is too long."""
    is_whole = (x == np.rint(x)).all() and (np.abs(x) < EXACT).all()
    return x.astype(np.int64) if is_whole else x


def states_to_values(column: Column, codes: FloatArray) -> pd.Series[Any]:
    """Turn codes back into the original values: numbers, booleans or text."""
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
            f"column {quoted(name)} is infinite in data row {row}; "
            "leave that cell empty or remove the row."
        )
    check_range(name, numbers)
    distinct = pd.unique(numbers[:_PROBED_ROWS])  # most continuous columns show at once
    if len(distinct) <= MOST_ORDINAL_LEVELS + 1:
        distinct = pd.unique(numbers)
    kind = wanted or _number_kind(distinct[~np.isnan(distinct)])
    if kind in ("ordinal", "continuous"):
        return TypedColumn(Column(name, kind), numbers)
    codes, distinct = pd.factorize(numbers, sort=True)
    return _type_levels(name, _Levels(codes, [*map(_number_text, distinct)], seen), kind)


def check_range(name: str, numbers: FloatArray) -> None:
    """Refuse numbers whose squares cannot be told from infinity or from zero."""
    if not len(numbers):
        return
    low, high = float(np.fmin.reduce(numbers)), float(np.fmax.reduce(numbers))
    if max(-low, high) > LARGEST_NUMBER:
        raise DataError(
            f"column {quoted(name)} holds {max(low, high, key=abs):g}, beyond "
            f"{LARGEST_NUMBER:g}; divide the column by a round number."
        )
    if low < high and high / 2 - low / 2 < SMALLEST_SPREAD:
        raise DataError(
            f"the values of column {quoted(name)} differ by less than {SMALLEST_SPREAD:g}; "
            "multiply the column by a round number."
        )


def _type_levels(name: str, levels: _Levels, wanted: Kind | None) -> TypedColumn:
    kind = wanted or ("ordinal" if levels.is_ordered else "categorical")
    if wanted is None and len(levels.texts) <= 2:
        kind = "binary"
    if max(map(len, levels.texts), default=0) > LONGEST_STATE:
        raise DataError(
            f"column {quoted(name)} has a value of more than {LONGEST_STATE:,} characters; "
            "shorten it, or close its quotation mark if one is open."
        )
    if kind == "categorical":
        _check_states(name, levels, limit_by_rows=wanted is None)
    elif kind == "binary" and len(levels.texts) > 2:
        raise DataError(
            f"column {quoted(name)} has {len(levels.texts)} different values and cannot be "
            "binary; make it categorical or ordinal."
        )
    elif wanted in ("ordinal", "continuous") and not (
        set(levels.texts) <= {"False", "True"} or (levels.is_ordered and wanted == "ordinal")
    ):
        stray = next(text for text in levels.texts if np.isnan(text_numbers((text,))[0]))
        raise DataError(
            f"column {quoted(name)} cannot be {wanted}: {quoted(stray)} in data row "
            f"{levels.row_of(stray)} is not a number; use categorical, or correct it."
        )
    states = () if kind == "continuous" else tuple(levels.texts)
    return TypedColumn(Column(name, kind, states), levels.rows(range(len(levels.texts))))


def _amounts(name: str, levels: _Levels, wanted: Kind | None) -> FloatArray:
    """Read marked numbers where a column cannot be one of labels such as 1,2; else NaN."""
    if are_money(levels.texts):
        raise DataError(
            f"column {quoted(name)} holds amounts of money such as {quoted(levels.texts[0])}; "
            "write plain numbers without the currency, or drop the column."
        )
    found = marked_numbers(levels.texts)
    is_share = all(text.endswith("%") for text in levels.texts)
    is_number = wanted is not None or is_share or _has_many_states(levels, limit_by_rows=True)
    if found is None or not is_number:
        return np.array([np.nan])
    if isinstance(found, str):
        raise DataError(f"column {quoted(name)} is unclear: {found}")
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
            f"column {quoted(name)} holds numbers but also {quoted(stray)} in data row "
            f"{levels.row_of(stray)}; correct or empty that cell, or drop the column."
        )
    raise DataError(
        f"column {quoted(name)} has {count} different values in {n_rows} rows, too many for "
        f"categories (at most {MOST_STATES}, and half the rows); drop it or give it as a label."
    )


def _number_kind(distinct: FloatArray) -> Kind:
    if len(distinct) <= 2:
        return "binary"
    is_whole = (distinct == np.rint(distinct)).all()
    is_narrow = distinct.max() <= distinct.min() + WIDEST_ORDINAL_RANGE
    few = len(distinct) <= MOST_ORDINAL_LEVELS
    return "ordinal" if few and is_whole and is_narrow else "continuous"


def _levels(series: pd.Series[Any], seen: Seen) -> _Levels:
    """Texts in the order of their category, as numbers where all are, else alphabetical."""
    is_ordered = isinstance(series.dtype, pd.CategoricalDtype) and bool(series.cat.ordered)
    codes: NDArray[Any]
    if is_ordered:
        used = series.cat.remove_unused_categories().cat
        codes, raw = used.codes.to_numpy(), used.categories
    else:
        is_category = isinstance(series.dtype, pd.CategoricalDtype)
        plain = series.astype(object) if is_category else series
        try:
            codes, raw = pd.factorize(plain)
        except (TypeError, NotImplementedError):  # lists and the like in cells
            codes, raw = pd.factorize(plain.map(str, na_action="ignore"))
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
    """Return a value as the text that names its state."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").strip()
    is_number = isinstance(value, (float, np.floating))
    return _number_text(float(value)) if is_number else str(value).strip()


def _number_text(value: float) -> str:
    number = float(value)
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
