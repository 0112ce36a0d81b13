"""Numbers that are written for people: €1.234,50, $1,234, 45 %, 1 234,5, (12.00).

A column of them is read where all its values agree on the unit and on what comma and point mean.

Digits as they are written: in other scripts, or so many that a float cannot tell them apart.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from loopylatent.compute.arrays import FloatArray
from loopylatent.errors import quoted

CODES = frozenset(
    (
        *("AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF"),
        *("INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "SEK", "USD", "ZAR"),
    )
)
ENGLISH = frozenset(("$", "£", "¥", "₹", "USD", "GBP", "AUD", "CAD", "JPY", "INR"))
"""Units with which 1,234 is always one thousand and something."""
MANY = 100
"""Different values from which a look at some of them decides whether all are tried."""
LONGEST = 60
"""Characters of an amount."""

_AMOUNT = re.compile(
    r"(?P<open>\()?(?P<sign>[+\-\u2212])?\s*(?P<before>[^\w\s(),.'+\-\u2212]|[A-Z]{3})?\s*"
    r"(?P<inner>[+\-\u2212])?(?P<number>[.,]?\d[\d.,'\u2019 \u00a0\u202f]*?)\s*"
    r"(?P<after>[^\w\s(),.'+\-\u2212]|[A-Z]{3})?(?P<close>\))?",
    re.ASCII,
)
_SPACES = str.maketrans({"\u00a0": " ", "\u202f": " ", "\u2019": "'"})


@dataclass(frozen=True, slots=True)
class Amounts:
    """Texts that are all amounts, and what they are as numbers unless that is in doubt."""

    unit: str
    """A currency, %, or nothing."""
    numbers: FloatArray
    doubt: str = ""
    """What is unclear and what to do, as the end of a message."""


@dataclass(frozen=True, slots=True)
class _Amount:
    text: str
    unit: str
    digits: str
    """The number with its marks, without a sign."""
    is_negative: bool


@dataclass(frozen=True, slots=True)
class _Way:
    """What the marks inside a number mean."""

    group: str
    decimal: str

    def value(self, digits: str) -> float | None:
        group, decimal = re.escape(self.group), re.escape(self.decimal)
        form = rf"(\d{{1,3}}({group}\d{{3}})+|\d*)({decimal}\d+)?"
        if not re.fullmatch(form, digits, re.ASCII):
            return None
        return float(digits.replace(self.group, "").replace(self.decimal, "."))


WAYS = (_Way(",", "."), _Way(".", ","), _Way("'", "."), _Way(" ", "."), _Way(" ", ","))


def read_amounts(texts: Sequence[str]) -> Amounts | None:
    """Read the different values of a column; None where they are not all amounts.

    Examples
    --------
    >>> read_amounts(["€1.234,50", "€950", "-€3,20"]).numbers.tolist()
    [1234.5, 950.0, -3.2]
    >>> read_amounts(["45 %", "7.5%"]).unit
    '%'
    >>> read_amounts(["1,234", "2,500"]).doubt
    "'1,234' may be 1234 or 1.234; write it without a mark for thousands."
    >>> read_amounts(["yes", "no"]) is None
    True
    """
    some = texts[:MANY] if len(texts) > 2 * MANY else ()
    if not texts or any(_amount(text) is None for text in some):
        return None
    amounts = [amount for text in texts if (amount := _amount(text)) is not None]
    if len(amounts) < len(texts):
        return None
    first = amounts[0]
    other = next((one for one in amounts if one.unit != first.unit), None)
    if other is not None:
        doubt = f"{quoted(first.text)} and {quoted(other.text)} have different units; use one unit."
        return Amounts(first.unit or other.unit, np.empty(0), doubt)
    return _agreed(amounts)


def is_amount(text: str) -> bool:
    """Whether one text is an amount."""
    return _amount(text) is not None


def _amount(text: str) -> _Amount | None:
    if len(text) > LONGEST:
        return None
    found = _AMOUNT.fullmatch(text.strip().translate(_SPACES))
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    before, after = found["before"] or "", found["after"] or ""
    signs = [sign for sign in (found["open"], found["sign"], found["inner"]) if sign]
    if (before and after) or len(signs) > 1 or not _is_unit(before, after):
        return None
    return _Amount(text, before or after, found["number"], bool(signs) and signs[0] != "+")


def _is_unit(before: str, after: str) -> bool:
    unit = before or after
    is_currency = unit in CODES or (len(unit) == 1 and unicodedata.category(unit) == "Sc")
    return not unit or is_currency or after == "%"


def _agreed(amounts: Sequence[_Amount]) -> Amounts | None:
    """Read all amounts in every way that fits all of them; they must come to the same."""
    unit = amounts[0].unit
    fitting: list[FloatArray] = []
    for way in WAYS:
        values = [way.value(one.digits) for one in amounts]
        if None not in values:
            sign = np.array([-1.0 if one.is_negative else 1.0 for one in amounts])
            fitting.append(sign * np.array(values, dtype=np.float64))
        if way == WAYS[0] and fitting and (unit in ENGLISH or _has_points_only(amounts, unit)):
            break
    if not fitting:
        return None
    for other in fitting[1:]:
        if not np.array_equal(fitting[0], other):
            k = int((fitting[0] != other).argmax())
            doubt = (
                f"{quoted(amounts[k].text)} may be {fitting[0][k]:.15g} or {other[k]:.15g}; "
                "write it without a mark for thousands."
            )
            return Amounts(unit, np.empty(0), doubt)
    return Amounts(unit, fitting[0])


def _has_points_only(amounts: Sequence[_Amount], unit: str) -> bool:
    """Whether the only mark is a point, without a currency: then it is a decimal point."""
    return unit in ("", "%") and not any(set(one.digits) & set(", '") for one in amounts)


EXACT = 2.0**53
"""Up to here every whole number is a float of its own."""

_WHOLE = re.compile(r"[+-]?\d{16,}", re.ASCII)


def are_too_long(texts: Iterable[str]) -> bool:
    """Whether different whole numbers, written out, come to the same float: as identifiers do.

    Examples
    --------
    >>> are_too_long(["1000000000000000000001", "1000000000000000000002"])
    True
    >>> are_too_long(["1000000000000000000001", "2000000000000000000001", "7"])
    False
    """
    plain = map(ascii_digits, texts)
    found = {text.lstrip("+0") for text in plain if _WHOLE.fullmatch(text)}
    floats = {text: float(text) for text in found}
    finite = [number for number in floats.values() if EXACT < abs(number) < np.inf]
    return len(set(finite)) < len(finite)


_MARKS = {"\u2212": "-", "\uff0d": "-", "\uff0b": "+", "\uff0e": ".", "\u066b": "."}


def ascii_digits(text: str) -> str:
    """Return a number with the digits, the sign and the decimal point that computers use.

    Examples
    --------
    >>> ascii_digits("\u22121.5"), ascii_digits("\uff11\uff12\uff0e\uff15"), ascii_digits("blue")
    ('-1.5', '12.5', 'blue')
    """
    if text.isascii():
        return text
    return "".join(_MARKS.get(one) or str(unicodedata.decimal(one, one)) for one in text)


def holds_too_long(series: pd.Series[Any]) -> bool:
    """The same for a column of integers."""
    if series.dtype.kind not in "iu" or not len(series):
        return False
    x = series.to_numpy(np.float64, na_value=np.nan)
    if not (np.abs(x) > EXACT).any():
        return False
    return bool(series.nunique() > pd.Series(x).nunique())
