"""What the rows of a long table say about each column, gathered block by block.

The kind of a column of a long table, and how its cells become numbers.

Kinds come from `type_column`, as for a table in memory: it is given the different values of a
column instead of all its rows. So it decides alike, whatever the number of blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.compute.arrays import FloatArray
from loopylatent.errors import DataError, quoted
from loopylatent.tables.csv import with_commas
from loopylatent.tables.headers import NA_WORDS
from loopylatent.tables.kinds import (
    MOST_STATES,
    Column,
    Kind,
    Seen,
    check_range,
    holds_numbers,
    level_text,
    text_numbers,
    type_column,
)
from loopylatent.tables.numbers import EXACT, are_too_long, holds_too_long

Form = Literal["numbers", "flags", "texts", "dates", "ordered", "mixed"]
"""What the cells of a block hold; mixed ones come from two files that disagree."""

MOST_NUMBERS = MOST_STATES + 1
"""Different numbers that are counted; a column with more of them is not made of states."""
PROBED_ROWS = 1_000
MOST_TEXTS = 5_000
"""Different texts that are counted; more than states can have, enough to know amounts."""


@dataclass(slots=True, eq=False)
class Tally:
    """How often a value occurs, how often in rows that count, and where first."""

    rows: int
    counted: int
    first: int


@dataclass(slots=True, eq=False)
class Levels:
    """The different values of a column, as long as they are few."""

    most: int
    tallies: dict[Any, Tally] = field(default_factory=dict)
    is_full: bool = False
    """Whether there were more than could be kept."""

    def add(self, value: Any, tally: Tally) -> None:
        """Count a value; whoever counted it before saw it first."""
        if value in self.tallies:
            known = self.tallies[value]
            known.rows += tally.rows
            known.counted += tally.counted
        elif len(self.tallies) < self.most:
            self.tallies[value] = tally
        else:
            self.is_full = True

    def count(
        self,
        values: Sequence[Any],
        codes: NDArray[np.intp],
        counted: NDArray[np.bool_] | None,
        first_row: int,
    ) -> None:
        """Add a block of rows, given the position of each among ``values`` (-1: missing)."""
        size = len(values) + 1
        rows = np.bincount(codes + 1, minlength=size)[1:].tolist()
        weighed = rows
        if counted is not None:
            weighed = np.bincount(codes[counted] + 1, minlength=size)[1:].tolist()
        for k, value in enumerate(values):
            if rows[k]:
                is_new = value not in self.tallies and len(self.tallies) < self.most
                first = int((codes == k).argmax()) if is_new else 0
                self.add(value, Tally(rows[k], weighed[k], first_row + first))

    def merge(self, other: Levels) -> None:
        self.most = max(self.most, other.most)
        self.is_full |= other.is_full
        for value, tally in other.tallies.items():
            self.add(value, tally)


@dataclass(slots=True, eq=False)
class Numbers:
    """Number, sum and range of the numbers of a column."""

    count: int = 0
    total: float = 0.0
    whole: bool = True
    low: float = np.inf
    """Of the rows that count, as the next."""
    high: float = -np.inf
    infinite: int | None = None
    """The first row with an infinite number."""

    def add(self, x: FloatArray, counted: NDArray[np.bool_] | None, first_row: int) -> None:
        present = ~np.isnan(x)
        self.count += int(present.sum())
        self.total += _sum(np.where(present, x, 0.0))
        self.whole &= bool(((x == np.rint(x)) | ~present).all())
        speaking = x[present if counted is None else present & counted]
        if len(speaking):
            self.low = min(self.low, float(speaking.min()))
            self.high = max(self.high, float(speaking.max()))
        if self.infinite is None and np.isinf(x).any():
            self.infinite = first_row + int(np.isinf(x).argmax())

    def merge(self, other: Numbers) -> None:
        self.count += other.count
        self.total += other.total
        self.whole &= other.whole
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if self.infinite is None:
            self.infinite = other.infinite


@dataclass(slots=True, eq=False)
class ColumnScan:
    """What is known of a column after some of its rows."""

    n_rows: int = 0
    n_present: int = 0
    forms: set[Form] = field(default_factory=set)
    numbers: Numbers = field(default_factory=Numbers)
    """Of the cells that are numbers, be they written as text."""
    levels: Levels = field(default_factory=lambda: Levels(MOST_NUMBERS))
    """The different numbers, or the different texts."""
    order: list[str] = field(default_factory=list)
    """Of an ordered category: all its values in their order."""
    separator: str = ""
    """Of the file, if it is text: it says what a comma inside a cell means."""
    commas: Numbers | None = field(default_factory=Numbers)
    """The texts as numbers with commas; None where some of them are not such numbers."""
    too_long: bool = False
    """Whether different whole numbers among the texts of a block come to the same float."""

    def add(
        self, series: pd.Series[Any], counted: NDArray[np.bool_] | None, first_row: int
    ) -> None:
        """Add a block of rows; ``counted`` says which of them count, without it all do."""
        self.n_rows += len(series)
        if holds_too_long(series):  # text, as for a table in memory; it is read once more
            self.forms |= {"numbers", "texts"}
            return
        if holds_numbers(series.dtype):
            x = series.to_numpy(np.float64, na_value=np.nan)
            if self.separator and (np.abs(x) > EXACT).any():  # only the texts tell them apart
                self.forms |= {"numbers", "texts"}
                return
            self._add_numbers(x, counted, first_row)
            return
        if series.isna().all():
            return
        form = form_of(series)
        if form == "mixed":
            self.forms |= {"numbers", "texts"}
            return
        self.forms.add(form)
        if form != "dates":
            self.levels.most = MOST_TEXTS
            if form == "ordered":
                self.order = _joined(self.order, map(level_text, series.cat.categories))
            self._add_texts(factorized(series), counted, first_row)

    def _add_numbers(
        self, x: FloatArray, counted: NDArray[np.bool_] | None, first_row: int
    ) -> None:
        known = self.numbers.count
        self.numbers.add(x, counted, first_row)
        if self.numbers.count == known:
            return
        self.forms.add("numbers")
        self.n_present += self.numbers.count - known
        if not self.levels.is_full and len(pd.unique(x[:PROBED_ROWS])) > MOST_NUMBERS + 1:
            self.levels.is_full = True
        if not self.levels.is_full:
            codes, values = pd.factorize(x)
            self.levels.count((values + 0.0).tolist(), codes, counted, first_row)

    def _add_texts(
        self, found: Factorized, counted: NDArray[np.bool_] | None, first_row: int
    ) -> None:
        self.n_present += int((found.codes >= 0).sum())
        self.levels.count(found.texts, found.codes, counted, first_row)
        numbers = text_numbers(found.texts)
        self.numbers.add(found.values(numbers), counted, first_row)
        self.too_long |= bool((np.abs(numbers) > EXACT).any()) and are_too_long(found.texts)
        if self.commas is not None:
            known = comma_numbers(found.texts, self.separator)
            if known is None:
                self.commas = None
            else:
                self.commas.add(found.values(known), counted, first_row)

    def merge(self, other: ColumnScan) -> None:
        """Add what later rows say."""
        self.n_rows += other.n_rows
        self.n_present += other.n_present
        self.forms |= other.forms
        self.numbers.merge(other.numbers)
        self.levels.merge(other.levels)
        self.order = _joined(self.order, other.order)
        self.too_long |= other.too_long
        if self.commas is None or other.commas is None:
            self.commas = None
        else:
            self.commas.merge(other.commas)

    def to_plain(self) -> dict[str, Any]:
        """Return the same as lists, texts and numbers, to be written to a file."""
        plain = asdict(self)
        plain["forms"] = sorted(self.forms)
        plain["levels"]["tallies"] = [
            [value, *astuple(tally)] for value, tally in self.levels.tallies.items()
        ]
        return plain

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> ColumnScan:
        """Return what `to_plain` was asked for."""
        levels = dict(plain["levels"])
        levels["tallies"] = {value: Tally(*rest) for value, *rest in levels["tallies"]}
        return cls(
            plain["n_rows"],
            plain["n_present"],
            set(plain["forms"]),
            Numbers(**plain["numbers"]),
            Levels(**levels),
            list(plain["order"]),
            plain["separator"],
            None if plain["commas"] is None else Numbers(**plain["commas"]),
            plain["too_long"],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Factorized:
    """The different texts of a block, and which of them each row has."""

    codes: NDArray[np.intp]
    """(n,) -1 where the value is missing."""
    texts: list[str]

    def values(self, of_texts: FloatArray) -> FloatArray:
        """(n,) what the rows are, given what the texts are."""
        found: FloatArray = np.append(of_texts, np.nan)[self.codes]
        return found


def factorized(series: pd.Series[Any]) -> Factorized:
    """Return the texts of a block; words for missing values are missing."""
    plain = series.astype(object) if isinstance(series.dtype, pd.CategoricalDtype) else series
    codes, raw = pd.factorize(plain)
    try:
        texts = [level_text(value) for value in raw]
    except UnicodeDecodeError:
        raise DataError(
            f"column {quoted(str(series.name))} holds text that is not UTF-8; "
            "write it again as UTF-8, or drop the column."
        ) from None
    missing = np.array([*(text in NA_WORDS for text in texts), True])
    return Factorized(np.where(missing[codes], -1, codes), texts)


def comma_numbers(texts: Sequence[str], separator: str) -> FloatArray | None:
    """Return what texts are by the rule for commas of a file in memory; None where not all follow.

    Examples
    --------
    >>> comma_numbers(["1,5", "2"], ";"), comma_numbers(["1,500", "2.5"], ",")
    (array([1.5, 2. ]), array([1500. ,    2.5]))
    >>> comma_numbers(["1,5", "a"], ";") is None, comma_numbers(["1,5"], ",") is None
    (True, True)
    """
    if not separator:
        return None
    found = with_commas(pd.DataFrame({"texts": list(texts)}, dtype=object), separator)["texts"]
    return found.to_numpy(np.float64) if holds_numbers(found.dtype) else None


def form_of(series: pd.Series[Any]) -> Form:
    """Return what the cells of a block hold that are not numbers."""
    dtype = series.dtype
    if dtype.kind in "mM":
        return "dates"
    if isinstance(dtype, pd.CategoricalDtype):
        return "ordered" if dtype.ordered else "texts"
    found = pd.api.types.infer_dtype(series, skipna=True)
    if found == "boolean":
        return "flags"
    return "mixed" if found.startswith("mixed") else "texts"


def _joined(first: list[str], second: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*first, *second]))


def _sum(x: FloatArray) -> float:
    """Add one after the other, as a sum over the rows of a matrix does."""
    return float(np.cumsum(x)[-1]) if len(x) else 0.0


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
