"""The kind of a column of a long table, and how its cells become numbers.

Kinds come from `type_column`, as for a table in memory: it is given the different values of a
column instead of all its rows. So it decides alike, whatever the number of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    comma_numbers,
    factorized,
)
from loopylatent.errors import DataError, quoted
from loopylatent.headers import NA_WORDS
from loopylatent.kinds import Column, Kind, Seen, check_range, text_numbers, type_column
from loopylatent.long_numbers import are_too_long

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
    separator : str
        Of the file, where the cells are numbers with commas; else empty.
    """

    column: Column
    form: Form
    values: Mapping[Any, float] | None = field(repr=False)
    numbers: Numbers = field(repr=False)
    n_missing: int
    separator: str = ""

    def encode(self, series: pd.Series[Any]) -> FloatArray:
        """Return a block of cells as numbers, NaN where a value is missing."""
        if self.form != "numbers":
            if series.isna().all():
                return np.full(len(series), np.nan)
            found = factorized(series)
            read = self._numbers_of if self.values is None else self._look_up
            return found.values(read(found.texts))
        x = series.to_numpy(np.float64, na_value=np.nan)
        if self.values is None:
            return x
        codes, distinct = pd.factorize(x)
        return Factorized(codes, []).values(self._look_up((distinct + 0.0).tolist()))

    def _numbers_of(self, texts: list[str]) -> FloatArray:
        if not self.separator:
            return text_numbers(texts)
        found = comma_numbers(texts, self.separator)
        if found is None:
            strange = (text for text in texts if comma_numbers([text], self.separator) is None)
            raise self._strange(next(strange))
        return found

    def _look_up(self, keys: list[Any]) -> FloatArray:
        known = self.values or {}
        strange = [key for key in keys if key not in known and key not in NA_WORDS]
        if strange:
            raise self._strange(str(strange[0]))
        return np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)

    def _strange(self, text: str) -> DataError:
        return DataError(
            f"column {quoted(self.column.name)} has the value {quoted(text)}, which "
            "was not there when the table was scanned; scan it again."
        )


def decide(name: str, scan: ColumnScan, wanted: Kind | None) -> CodedColumn:
    """Give a column its kind, by the rules for tables in memory."""
    form: Form = next(iter(scan.forms), "numbers")
    is_text = form != "numbers"
    by_comma = scan.commas if form == "texts" and scan.numbers.count < scan.n_present else None
    found = scan.numbers if by_comma is None else by_comma
    keys = list(scan.levels.tallies)
    has_size = wanted in ("ordinal", "continuous")
    are_names = is_text and not has_size and (scan.too_long or are_too_long(keys))
    only_numbers = found.count == scan.n_present and not are_names
    first = [scan.levels.tallies[key].first for key in keys]
    seen = Seen(scan.n_rows, np.array([*first, 0], dtype=np.int64))
    _check_values(name, scan, found if only_numbers else None)
    if are_names and scan.levels.is_full:
        raise _too_many(name)
    many = scan.levels.is_full and only_numbers
    read = None if by_comma is None else comma_numbers(keys, scan.separator)
    shown = _representatives(scan, keys, is_text) if read is None else _numbers(read)
    typed = type_column(name, MANY_NUMBERS if many else shown, wanted, seen)
    n_missing = scan.n_rows - scan.n_present
    if is_text and scan.levels.is_full and not only_numbers:
        raise _too_many(name)
    values = typed.numbers[: len(keys)]
    if by_comma is not None and not typed.column.states:
        return CodedColumn(typed.column, form, None, by_comma, n_missing, scan.separator)
    if many or not (is_text or (typed.column.states and (values != keys).any())):
        return CodedColumn(typed.column, form, None, scan.numbers, n_missing)
    numbers = _coded(values, list(scan.levels.tallies.values()))
    table = dict(zip(keys, values.tolist(), strict=True))
    return CodedColumn(typed.column, form, table, numbers, n_missing)


def _too_many(name: str) -> DataError:
    return DataError(
        f"column {quoted(name)} has more than {MOST_TEXTS:,} different texts; a table that "
        "is read in blocks needs plain numbers there: drop it, or rewrite it."
    )


def _check_values(name: str, scan: ColumnScan, numbers: Numbers | None) -> None:
    """Refuse dates, and numbers that cannot be used where the cells are ``numbers`` alone."""
    if "dates" in scan.forms:
        type_column(name, pd.Series(pd.to_datetime(["2000-01-01"])))
    if numbers is not None and numbers.infinite is not None:
        seen = Seen(scan.n_rows, np.array([numbers.infinite]))
        type_column(name, pd.Series([np.inf]), "continuous", seen)
    if numbers is not None and numbers.low <= numbers.high:
        check_range(name, np.array([numbers.low, numbers.high]))


def _numbers(values: Iterable[float]) -> pd.Series[Any]:
    """Numbers, and a missing one."""
    return pd.Series([*values, np.nan], dtype=np.float64)


def _representatives(scan: ColumnScan, keys: list[Any], is_text: bool) -> pd.Series[Any]:
    """The different values of a column, and a missing one."""
    if not is_text:
        return _numbers(keys)
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
