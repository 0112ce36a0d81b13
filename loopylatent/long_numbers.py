"""Digits as they are written: in other scripts, or so many that a float cannot tell them apart."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

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
