"""Texts that are numbers: plain ones, and those with marks for people (1.234,5 or 45 %).

A column is read where all its texts agree on what comma and point mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from loopylatent.compute.arrays import FloatArray
from loopylatent.errors import quoted

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
    texts: list[str]

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
    """Return texts as numbers that are written so; None where one is none.

    Examples
    --------
    >>> read_numbers(["1.234,5", "2"], "decimal")
    array([1234.5,    2. ])
    >>> read_numbers(["1,5", "a"], "decimal") is None
    True
    """
    if way != "plain":
        form, group, decimal = _MARKS[way]
        if not all(re.fullmatch(form, text, re.ASCII) for text in texts):
            return None
        texts = [text.replace(group, "").replace(decimal, ".") for text in texts]
    elif texts and np.isnan(_number(texts[0])):
        return None
    numbers = text_numbers(texts)
    return None if np.isnan(numbers).any() else numbers


_SIGNS = str.maketrans({"\u2212": "-", "\uff0d": "-", "\uff0b": "+", "\uff0e": ".", "\u066b": "."})


def _number(text: str) -> float:
    try:
        return np.nan if "_" in text else float(text.translate(_SIGNS))
    except ValueError:
        return np.nan


def text_numbers(texts: Sequence[str]) -> FloatArray:
    """Return what the texts are as numbers, in the digits of any script; NaN where they are none.

    Examples
    --------
    >>> text_numbers(["\u22121.5", "\uff11\uff12\uff0e\uff15", "blue"])
    array([-1.5, 12.5,  nan])
    """
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
    """Read percentages and numbers with marks; None where they are none, or what is in doubt.

    Examples
    --------
    >>> marked_numbers(["1.234,50", "950", "-3,20"]), marked_numbers(["45 %", "7.5%"])
    (array([1234.5,  950. ,   -3.2]), array([45. ,  7.5]))
    >>> marked_numbers(["1,234", "2,500"])
    "'1,234' may be 1234 or 1.234; write it without a mark for thousands."
    >>> marked_numbers(["yes", "no"]) is None
    True
    """
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
    found = [x for group, mark in tried if (x := _unmarked(plain, group, mark)) is not None]
    for other in found[1:]:
        if (found[0] != other).any():
            k = int((found[0] != other).argmax())
            return (
                f"{quoted(texts[k])} may be {found[0][k]:.15g} or {other[k]:.15g}; "
                "write it without a mark for thousands."
            )
    return found[0] if found else None


def _unmarked(texts: Sequence[str], group: str, decimal: str) -> FloatArray | None:
    form = rf"[+-]?(\d{{1,3}}(\{group}\d{{3}})+|\d*)(\{decimal}\d+)?"
    if not all(re.fullmatch(form, text, re.ASCII) for text in texts):
        return None
    return np.array([float(text.replace(group, "").replace(decimal, ".")) for text in texts])


# Too long for a float ------------------------------------------------------------------------

EXACT = 2.0**53
"""Up to here every whole number is a float of its own."""
_WHOLE = re.compile(r"[+-]?\d{16,}")


def are_too_long(texts: Iterable[str]) -> bool:
    """Whether different whole numbers, written out, come to the same float: as identifiers do.

    Examples
    --------
    >>> are_too_long(["1000000000000000000001", "1000000000000000000002"])
    True
    >>> are_too_long(["1000000000000000000001", "2000000000000000000001", "7"])
    False
    """
    found = {text.lstrip("+0") for text in texts if _WHOLE.fullmatch(text)}
    finite = [x for x in map(float, found) if EXACT < abs(x) < np.inf]
    return len(set(finite)) < len(finite)


def holds_too_long(series: pd.Series[Any]) -> bool:
    """The same for a column of integers."""
    if series.dtype.kind not in "iu" or not len(series):
        return False
    x = series.to_numpy(np.float64, na_value=np.nan)
    return bool((np.abs(x) > EXACT).any() and series.nunique() > pd.Series(x).nunique())
