"""Column types of a table read in blocks, and the conversion of its cells to numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from loopylatent.compute.values import FloatArray
from loopylatent.errors import DataError, quoted
from loopylatent.tables.kinds import (
    EXACT,
    MOST_STATES,
    NA_WORDS,
    WAYS,
    Cells,
    Column,
    Kind,
    Seen,
    Way,
    are_too_long,
    cast_numbers,
    check_range,
    holds_too_long,
    level_text,
    read_numbers,
    type_column,
)
from loopylatent.tables.read import FLAGS

Form = Literal["numbers", "texts", "dates", "ordered"]
"""Content of the cells of a block."""
Rows = NDArray[np.bool_] | None
"""The rows of a block with positive weight; None for all."""

MOST_NUMBERS = MOST_STATES + 1
"""Distinct numbers that are counted; a column with more is not coded by states."""
MOST_TEXTS = 5_000
"""Distinct texts that are counted: more than the states of a column, for formatted numbers."""
PROBED_ROWS = 1_000
MANY_NUMBERS = pd.Series(np.arange(MOST_NUMBERS) + 0.5)
"""Placeholder for a column with too many distinct numbers to list."""


@dataclass(slots=True, eq=False)
class Levels:
    """The distinct values of a column, up to a limit."""

    most: int
    tallies: dict[Any, list[int]] = field(default_factory=dict)
    """For each value its count, its count in rows of positive weight, and its first row."""
    is_full: bool = False
    """Whether there were more values than the limit."""

    def add(self, found: Iterable[tuple[Any, list[int]]]) -> None:
        """Add the counts of later rows."""
        for value, tally in found:
            known = self.tallies.get(value)
            if known is not None:
                known[:2] = known[0] + tally[0], known[1] + tally[1]
            elif len(self.tallies) < self.most:
                self.tallies[value] = tally
            else:
                self.is_full = True

    def count(
        self, values: Sequence[Any], codes: NDArray[np.intp], counted: Rows, first_row: int
    ) -> None:
        """Add a block of rows, given the code of each in ``values`` (-1: missing)."""
        size = len(values) + 1
        self.is_full |= len(values) > self.most
        rows = np.bincount(codes + 1, minlength=size)[1:]
        weighed = rows if counted is None else np.bincount(codes[counted] + 1, minlength=size)[1:]
        first = np.zeros(size, dtype=np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # the last assignment is the first row
        tallies = np.column_stack([rows, weighed, first_row + first[:-1]])[: self.most]
        kept = np.flatnonzero(tallies[:, 0]).tolist()  # words for missing values have no rows
        self.add(zip([values[k] for k in kept], tallies[kept].tolist(), strict=True))

    def merge(self, other: Levels) -> None:
        self.most = max(self.most, other.most)
        self.is_full |= other.is_full
        self.add(other.tallies.items())


@dataclass(slots=True, eq=False)
class Numbers:
    """Count, sum and range of the numbers of a column."""

    count: int = 0
    total: float = 0.0
    whole: bool = True
    low: float = np.inf
    """Over the rows of positive weight, as is ``high``."""
    high: float = -np.inf
    infinite: int | None = None
    """The first row with an infinite number."""

    def add(self, x: FloatArray, counted: Rows, first_row: int) -> None:
        present, infinite = ~np.isnan(x), np.isinf(x)
        used = x[present if counted is None else present & counted]
        block = Numbers(
            int(present.sum()),
            # sequential, as a sum over the rows of a matrix is
            float(np.cumsum(np.where(present, x, 0.0))[-1]) if len(x) else 0.0,
            bool(((x == np.rint(x)) | ~present).all()),
            float(used.min(initial=np.inf)),
            float(used.max(initial=-np.inf)),
            first_row + int(infinite.argmax()) if infinite.any() else None,
        )
        self.merge(block)

    def merge(self, other: Numbers) -> None:
        self.count += other.count
        self.total += other.total
        self.whole &= other.whole
        self.low, self.high = min(self.low, other.low), max(self.high, other.high)
        if self.infinite is None:
            self.infinite = other.infinite


@dataclass(slots=True, eq=False)
class ColumnScan:
    """Summary of a column over the rows read so far."""

    separator: str = ""
    """Of the file, if it is text; it determines the meaning of a comma inside a cell."""
    n_rows: int = 0
    n_present: int = 0
    forms: set[Form] = field(default_factory=set)
    numbers: dict[Way, Numbers | None] = field(default_factory=dict)
    """By notation; None if some cell is not such a number."""
    levels: Levels = field(default_factory=lambda: Levels(MOST_NUMBERS))
    """The distinct numbers, or the distinct texts."""
    order: list[str] = field(default_factory=list)
    """All values of an ordered category, in order."""
    too_long: bool = False
    """Whether different whole numbers in a block become the same float."""

    def add(self, column: Any, counted: Rows, first_row: int) -> None:
        """Add a block of rows of an Arrow column."""
        self.n_rows += len(column)
        form = form_of(column)
        x = numbers_of(column) if form == "numbers" else None
        if column.null_count == len(column) or (x is not None and np.isnan(x).all()):
            return
        self.forms.add(form)
        if x is not None:
            if holds_too_long(column.to_pandas()):  # text, as for a table in memory
                self.forms.add("texts")
            self._add_numbers(x, counted, first_row)
        elif form != "dates":
            if form == "ordered":
                for chunk in column.chunks:
                    categories = map(level_text, chunk.dictionary.to_pylist())
                    self.order = list(dict.fromkeys([*self.order, *categories]))
            self.levels.most = MOST_TEXTS
            self._add_texts(texts_of(column), counted, first_row)

    def _add_numbers(self, x: FloatArray, counted: Rows, first_row: int) -> None:
        known = self.numbers.setdefault("plain", Numbers())
        if known is not None:
            known.add(x, counted, first_row)
        self.n_present += int((~np.isnan(x)).sum())
        self.levels.is_full |= len(pd.unique(x[:PROBED_ROWS])) > MOST_NUMBERS + 1
        if not self.levels.is_full:
            codes, values = pd.factorize(x)
            self.levels.count((values + 0.0).tolist(), codes, counted, first_row)

    def _add_texts(self, column: Any, counted: Rows, first_row: int) -> None:
        x, probed = cast_numbers(column), column.slice(0, 2 * MOST_TEXTS)
        if x is not None and not self.levels.is_full and len(pc.unique(probed)) > MOST_TEXTS + 1:
            self.levels.is_full = True
        is_long = x is not None and bool((np.abs(x) > EXACT).any())
        if x is not None and self.levels.is_full and self.separator != ";" and not is_long:
            cells = Cells(np.where(np.isnan(x), -1, 0), [])
        else:
            cells = Cells.of(column)
            x = cells.numbers() if x is None else x
        self.n_present += int((cells.codes >= 0).sum())
        self.too_long |= is_long and are_too_long(cells.texts)
        if not self.levels.is_full:
            self.levels.count(cells.texts, cells.codes, counted, first_row)
        for way in WAYS.get(self.separator, ("plain",)):
            known = self.numbers.setdefault(way, Numbers())
            is_plain = way == "plain" or (way == "thousands" and x is not None)
            found = x if is_plain or known is None else cells.numbers(way)
            if known is None or found is None:
                self.numbers[way] = None
            else:
                known.add(found, counted, first_row)

    def merge(self, other: ColumnScan) -> None:
        self.n_rows += other.n_rows
        self.n_present += other.n_present
        self.forms |= other.forms
        self.levels.merge(other.levels)
        self.order = list(dict.fromkeys([*self.order, *other.order]))
        self.too_long |= other.too_long
        for way, theirs in other.numbers.items():
            ours = self.numbers.setdefault(way, Numbers())
            if ours is None or theirs is None:
                self.numbers[way] = None
            else:
                ours.merge(theirs)

    def is_written(self, way: Way) -> bool:
        """Whether all cells are texts with numbers in this notation, and not in plain notation."""
        is_plain = self.numbers.get("plain") is not None and way != "grouped"
        return self.forms == {"texts"} and not is_plain and self.numbers.get(way) is not None

    def way(self, has_commas: bool) -> Way | None:
        """Return the notation of its numbers, or None if they are not numbers.

        If another column has decimal commas, points group thousands: 1.234 is 1234.
        """
        plain = self.numbers.get("plain")
        if has_commas and plain and not plain.whole and self.is_written("grouped"):
            return "grouped"
        return next((way for way, known in self.numbers.items() if known is not None), None)


def form_of(column: Any) -> Form:
    """Return the form of an Arrow column."""
    types, kind = pa.types, column.type
    if types.is_integer(kind) or types.is_floating(kind):
        return "numbers"
    if types.is_temporal(kind):
        return "dates"
    return "ordered" if types.is_dictionary(kind) and kind.ordered else "texts"


def numbers_of(column: Any) -> FloatArray:
    """(n,) an Arrow column of numbers, NaN if missing."""
    found: FloatArray = pc.cast(column, pa.float64(), safe=False).to_numpy()
    return found


def texts_of(column: Any) -> Any:
    """Return an Arrow column as texts."""
    if pa.types.is_string(column.type):
        return column
    codes, values = pd.factorize(column.to_pandas().astype(object))
    texts = pa.array([*map(level_text, values), None], pa.string())
    return pa.chunked_array([texts.take(pa.array(codes % len(texts)))])


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of a table read in blocks: its type, and the coding of its cells."""

    column: Column
    form: Form
    way: Way | None
    """Notation of the numbers, if the cells are texts."""
    values: Mapping[Any, float] | None = field(repr=False)
    """The code of each value; None if the cells are not coded."""
    numbers: Numbers = field(repr=False)
    """Summary of the coded values."""
    n_missing: int

    def encode(self, column: Any) -> FloatArray:
        """Return a block of an Arrow column as numbers, NaN if missing."""
        if self.form == "numbers":
            x = numbers_of(column)
            if self.values is None:
                return x
            codes, distinct = pd.factorize(x)
            return Cells(codes, []).rows(self._look_up((distinct + 0.0).tolist()))
        texts = texts_of(column)
        read = cast_numbers(texts) if self.values is None and self.way == "plain" else None
        if read is not None:
            return read
        cells = Cells.of(texts)
        if self.values is not None or self.way is None:
            return cells.rows(self._look_up(cells.texts))
        read = cells.numbers(self.way)
        if read is None:
            known = (text for text in cells.texts if text not in NA_WORDS)
            raise self._unknown_value(next(t for t in known if read_numbers([t], self.way) is None))
        return read

    def _look_up(self, keys: Sequence[Any]) -> FloatArray:
        known = self.values or {}
        for key in keys:
            if key not in known and key not in NA_WORDS:
                raise self._unknown_value(str(key))
        return np.array([known.get(key, np.nan) for key in keys], dtype=np.float64)

    def _unknown_value(self, text: str) -> DataError:
        return DataError(
            f"Column {quoted(self.column.name)} has the value {quoted(text)}, which was not there "
            "when the table was scanned. Scan it again."
        )


def decide(
    name: str, scan: ColumnScan, wanted: Kind | None, has_commas: bool = False
) -> CodedColumn:
    """Determine the type of a column by the rules for tables in memory."""
    form: Form = next(iter(scan.forms), "numbers")
    keys = list(scan.levels.tallies)
    tallies = np.array(list(scan.levels.tallies.values()), dtype=np.int64).reshape(-1, 3)
    way = scan.way(has_commas) if form in ("numbers", "texts") else None
    has_size = wanted in ("ordinal", "continuous")
    are_names = form == "texts" and not has_size and (scan.too_long or are_too_long(keys))
    way = None if are_names else way
    if form == "dates":
        type_column(name, pd.Series(pd.to_datetime(["2000-01-01"])))
    numbers = None if way is None else scan.numbers[way]
    if numbers is not None and numbers.infinite is not None:
        seen = Seen(scan.n_rows, np.array([numbers.infinite]))
        type_column(name, pd.Series([np.inf]), "continuous", seen)
    if numbers is not None and numbers.low <= numbers.high:
        check_range(name, np.array([numbers.low, numbers.high]))
    is_full = scan.levels.is_full
    if are_names and is_full:
        raise _too_many(name)
    shown = MANY_NUMBERS if is_full and way else _representatives(scan, form, way, keys)
    typed = type_column(name, shown, wanted, Seen(scan.n_rows, np.append(tallies[:, 2], 0)))
    if is_full and way is None:
        raise _too_many(name)
    n_missing = scan.n_rows - scan.n_present
    values = typed.numbers[: len(keys)]
    if numbers is not None and (not typed.column.states or is_full):
        return CodedColumn(typed.column, form, way, None, numbers, n_missing)
    counted = values[tallies[:, 1] > 0]
    known = Numbers(
        int(tallies[:, 0].sum()),
        float(np.cumsum([0.0, *values * tallies[:, 0]])[-1]),
        bool((values == np.rint(values)).all()),
        min(counted, default=np.inf),
        max(counted, default=-np.inf),
    )
    table = dict(zip(keys, values.tolist(), strict=True))
    return CodedColumn(typed.column, form, way, table, known, n_missing)


def _too_many(name: str) -> DataError:
    return DataError(
        f"Column {quoted(name)} has more than {MOST_TEXTS:,} distinct texts, too many for a table "
        "read in blocks. Drop it, or convert it to numbers."
    )


def _representatives(
    scan: ColumnScan, form: Form, way: Way | None, keys: list[Any]
) -> pd.Series[Any]:
    """The distinct values of a column, and a missing one."""
    if form == "numbers":
        return pd.Series([*keys, np.nan], dtype=np.float64)
    if way is not None:
        return pd.Series(np.append(np.array(read_numbers(keys, way), dtype=np.float64), np.nan))
    if scan.order:
        return pd.Series(pd.Categorical([*keys, None], categories=scan.order, ordered=True))
    shown = [FLAGS[key] for key in keys] if FLAGS.keys() >= set(keys) else keys
    return pd.Series([*shown, None], dtype=object)
