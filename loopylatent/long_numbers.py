"""Whole numbers that are too long for a float: different ones would become one."""

from __future__ import annotations

import re
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
    found = {text.lstrip("+0") for text in texts if _WHOLE.fullmatch(text)}
    floats = {text: float(text) for text in found}
    finite = [number for number in floats.values() if EXACT < abs(number) < np.inf]
    return len(set(finite)) < len(finite)


def holds_too_long(series: pd.Series[Any]) -> bool:
    """The same for a column of integers."""
    if series.dtype.kind not in "iu" or not len(series):
        return False
    x = series.to_numpy(np.float64, na_value=np.nan)
    if not (np.abs(x) > EXACT).any():
        return False
    return bool(series.nunique() > pd.Series(x).nunique())
