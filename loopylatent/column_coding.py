"""The kind of a column of a long table, and how its cells become numbers.

Kinds come from `type_column`, as for a table in memory: it is given the different values of a
column instead of all its rows. So it decides alike, whatever the number of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.column_scan import (
    MOST_NUMBERS,
    MOST_TEXTS,
    ColumnScan,
    Factorized,
    Form,
    Numbers,
    Tally,
    factorized,
)
from loopylatent.errors import DataError, quoted
from loopylatent.headers import NA_WORDS
from loopylatent.kinds import Column, Kind, Seen, check_range, text_numbers, type_column

FloatArray = NDArray[np.float64]
MANY_NUMBERS = pd.Series(np.arange(MOST_NUMBERS) + 0.5)
"""What stands for numbers that are too many to list."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of a long table: its kind, and how its cells become numbers.

    Parameters
    ----------
    column : Column
    form : {"numbers", "flags", "texts", "ordered"}
        What the cells hold.
    values : mapping or None
        What each value of a cell stands for; None where a cell is the number itself.
    numbers : Numbers
        Of the column once its cells are numbers.
    n_missing : int
    """

    column: Column
    form: Form
    values: Mapping[Any, float] | None = field(repr=False)
    numbers: Numbers = field(repr=False)
    n_missing: int

    def encode(self, series: pd.Series[Any]) -> FloatArray:
        """Return a block of cells as numbers, NaN where a value is missing."""
        if self.form != "numbers":
            if series.isna().all():
                return np.full(len(series), np.nan)
            found = factorized(series)
            known = text_numbers(found.texts) if self.values is None else self._look_up(found.texts)
            return found.values(known)
        x = series.to_numpy(np.float64, na_value=np.nan)
        if self.values is None:
            return x
        codes, distinct = pd.factorize(x)
        return Factorized(codes, []).values(self._look_up((distinct + 0.0).tolist()))

    def _look_up(self, keys: list[Any]) -> FloatArray:
        known = self.values or {}
        strange = [key for key in keys if key not in known and key not in NA_WORDS]
        if strange:
            raise DataError(
                f"column {quoted(self.column.name)} has the value {quoted(str(strange[0]))}, which "
                "was not there when the table was scanned; scan it again."
            )
        return np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)


def decide(name: str, scan: ColumnScan, wanted: Kind | None) -> CodedColumn:
    """Give a column its kind, by the rules for tables in memory."""
    form: Form = next(iter(scan.forms), "numbers")
    is_text = form != "numbers"
    only_numbers = scan.numbers.count == scan.n_present
    keys = list(scan.levels.tallies)
    first = [scan.levels.tallies[key].first for key in keys]
    seen = Seen(scan.n_rows, np.array([*first, 0], dtype=np.int64))
    _check_values(name, scan, only_numbers)
    many = scan.levels.is_full and only_numbers
    given = MANY_NUMBERS if many else _representatives(scan, keys, is_text)
    typed = type_column(name, given, wanted, seen)
    n_missing = scan.n_rows - scan.n_present
    if is_text and scan.levels.is_full and not only_numbers:
        raise DataError(
            f"column {quoted(name)} has more than {MOST_TEXTS:,} different texts; a table that "
            "is read in blocks needs plain numbers there: drop it, or rewrite it."
        )
    values = typed.numbers[: len(keys)]
    if many or not (is_text or (typed.column.states and (values != keys).any())):
        return CodedColumn(typed.column, form, None, scan.numbers, n_missing)
    numbers = _coded(values, list(scan.levels.tallies.values()))
    table = dict(zip(keys, values.tolist(), strict=True))
    return CodedColumn(typed.column, form, table, numbers, n_missing)


def _check_values(name: str, scan: ColumnScan, only_numbers: bool) -> None:
    if "dates" in scan.forms:
        type_column(name, pd.Series(pd.to_datetime(["2000-01-01"])))
    if only_numbers and scan.numbers.infinite is not None:
        seen = Seen(scan.n_rows, np.array([scan.numbers.infinite]))
        type_column(name, pd.Series([np.inf]), "continuous", seen)
    if only_numbers and scan.numbers.low <= scan.numbers.high:
        check_range(name, np.array([scan.numbers.low, scan.numbers.high]))


def _representatives(scan: ColumnScan, keys: list[Any], is_text: bool) -> pd.Series[Any]:
    """The different values of a column, and a missing one."""
    if not is_text:
        return pd.Series([*keys, np.nan], dtype=np.float64)
    if scan.order:
        return pd.Series(pd.Categorical([*keys, None], categories=scan.order, ordered=True))
    return pd.Series([*keys, None], dtype=object)


def _coded(values: FloatArray, tallies: list[Tally]) -> Numbers:
    """Sum and range of a column whose different values are known."""
    counted = [value for value, tally in zip(values, tallies, strict=True) if tally.counted]
    return Numbers(
        sum(tally.rows for tally in tallies),
        float(sum(value * tally.rows for value, tally in zip(values, tallies, strict=True))),
        bool((values == np.rint(values)).all()),
        min(counted, default=np.inf),
        max(counted, default=-np.inf),
    )
