"""Which kind a column gets, and what its values become."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from loopylatent.errors import DataError
from loopylatent.tables.kinds import Kind, states_to_values, type_column

NAN = np.nan


def kind_of(values: Any, wanted: Kind | None = None) -> str:
    return type_column("x", pd.Series(values), wanted).column.kind


def error_text(values: Any, wanted: Any = None) -> str:
    with pytest.raises(DataError) as caught:
        type_column("the\ncolumn", pd.Series(values), wanted)
    message = str(caught.value)
    assert "\n" not in message
    assert r"'the\ncolumn'" in message
    return message


@pytest.mark.parametrize(
    ("values", "kind", "states"),
    [
        ([True, False, True], "binary", ("False", "True")),
        ([True, None, False], "binary", ("False", "True")),
        ([0, 1, 1], "binary", ("0", "1")),
        ([2.5, 10.0, NAN], "binary", ("2.5", "10")),
        (["y", "n", "?"], "binary", ("n", "y")),
        (["10", "9", "10"], "binary", ("9", "10")),
        (["c", "a", "b"] * 4, "categorical", ("a", "b", "c")),
        ([1, "a", 2.0, "b"] * 4, "categorical", ("1", "2", "a", "b")),
        ([1, 2, 3], "ordinal", ()),
        (["1", "3", " 2 "], "ordinal", ()),
        ([Decimal(1), Decimal(2), Decimal(3)], "ordinal", ()),
        (list(range(10)), "ordinal", ()),
        (list(range(11)), "continuous", ()),
        ([0, 5, 10], "ordinal", ()),
        ([0, 5, 11], "continuous", ()),
        ([1.0, 2.0, 2.5], "continuous", ()),
        (["1.5", "2", "1e3"], "continuous", ()),
        (pd.array([1, 2, None, 4], dtype="Int64"), "ordinal", ()),
        (pd.array([True, None, False], dtype="boolean"), "binary", ("False", "True")),
        (pd.Categorical(["b", "a", "c"] * 3), "categorical", ("a", "b", "c")),
        (pd.Categorical([3, 1, 2] * 3), "categorical", ("1", "2", "3")),
        (pd.Categorical(["lo", "hi", "mid"], ["lo", "mid", "hi"], ordered=True), "ordinal",
         ("lo", "mid", "hi")),
        (pd.Categorical(["lo", "hi"], ["lo", "mid", "hi"], ordered=True), "binary", ("lo", "hi")),
    ],
)  # fmt: skip
def test_kind_and_states_follow_from_the_values(values: Any, kind: str, states: Any) -> None:
    typed = type_column("x", pd.Series(values))
    assert (typed.column.kind, typed.column.states) == (kind, states)


def test_codes_follow_the_sorted_states_and_missing_is_nan() -> None:
    typed = type_column("x", pd.Series(["y", None, "n", "", " y ", "NA"]))
    np.testing.assert_array_equal(typed.numbers, [1, NAN, 0, NAN, 1, NAN])


def test_ordinal_numbers_stay_as_they_are() -> None:
    np.testing.assert_array_equal(type_column("x", pd.Series([4, 6, 5])).numbers, [4, 6, 5])


def test_late_values_count_when_early_ones_look_binary() -> None:
    assert kind_of([0, 1] * 1000 + [0.5]) == "continuous"


@pytest.mark.parametrize("wanted", ["binary", "categorical", "ordinal", "continuous"])
def test_a_wanted_kind_is_used_where_it_is_possible(wanted: Kind) -> None:
    for values in ([0, 1, 1], ["0", "1", "1"], [True, False, True], pd.Categorical([0, 1, 1])):
        typed = type_column("x", pd.Series(values), wanted)
        assert typed.column.kind == wanted
        assert typed.numbers.max() == 1


def test_numbers_wanted_categorical_have_states_in_numeric_order() -> None:
    typed = type_column("x", pd.Series([10, 9.5, NAN, -1]), "categorical")
    assert typed.column.states == ("-1", "9.5", "10")
    np.testing.assert_array_equal(typed.numbers, [2, 1, NAN, 0])


def test_an_ordered_category_is_ordinal_only() -> None:
    values = pd.Categorical(["lo", "hi", "mid"], ["lo", "mid", "hi"], ordered=True)
    assert kind_of(values, "ordinal") == "ordinal"
    assert kind_of(values, "categorical") == "categorical"
    assert "is not a number" in error_text(values, "continuous")


@pytest.mark.parametrize(
    "values",
    [
        pd.to_datetime(["2020-01-01", "2020-01-02"]),
        pd.to_timedelta([1, 2], unit="D"),
        pd.period_range("2020-01", periods=3, freq="M"),
        [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        ["2020-01-01", "2021/5/6"],
        ["1990-02", "1990-03"],
        ["24.12.2020 18:00", "1/2/99"],
        ["12:30", "08:15:20"],
    ],
)
def test_dates_are_rejected_unless_wanted_as_categories(values: Any) -> None:
    assert "dates or times. Drop it, or use it as a label" in error_text(values)
    assert kind_of(values, "categorical") == "categorical"


@pytest.mark.parametrize("values", [["1234-56", "1235-57"], ["1-2", "3-4"], ["3.11.7b", "1.2.3"]])
def test_codes_that_only_resemble_dates_are_text(values: list[str]) -> None:
    assert kind_of(values) == "binary"


def test_infinity_is_rejected_with_its_row() -> None:
    for values in ([1.0, 2.0, -np.inf], ["1", "2", "inf"], [1, "2", np.inf]):
        assert "infinite in data row 3" in error_text(values)


def test_text_with_too_many_levels_is_rejected() -> None:
    assert "51 distinct values" in error_text([f"v{k}" for k in range(51)] * 4)
    assert "Drop it, or use it as a label" in error_text(["a", "b", "c", "a", "b"])
    assert kind_of([f"v{k}" for k in range(50)] * 2) == "categorical"
    assert kind_of(["a", "b", "c", "a", "b"], "categorical") == "categorical"


def test_one_wrong_cell_among_numbers_is_named() -> None:
    assert "also 'abc' in data row 3" in error_text([1.5, 2.5, "abc", 3.5, 4.5, 5.5])


def test_an_impossible_wanted_kind_is_rejected() -> None:
    assert "'b' in data row 2 is not a number" in error_text(["1", "b", "3"], "continuous")
    assert "'b' in data row 2 is not a number" in error_text(["1", "b", "3"], "ordinal")
    assert "3 distinct values, so it cannot be binary" in error_text([1, 2, 3], "binary")
    assert "cannot be binary" in error_text(["a", "b", "c"], "binary")
    assert "Use one of binary, categorical" in error_text([1, 2, 3], "nominal")


def test_cells_that_hold_lists_are_text() -> None:
    assert kind_of([[1], [2], [1], None]) == "binary"
    lists = pd.array([[1], [2], [1], None], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    assert kind_of(lists) == "binary"


@pytest.mark.parametrize(
    "values",
    [
        [Decimal("sNaN"), Decimal(1), Decimal(2)],
        [10**5000, 10**5000 + 1, 3],
        pd.Series(["half \ud800", "b", "c"], dtype=object),
        pd.array(pa.array([b"\xff", b"a"]).view(pa.string()), dtype=pd.ArrowDtype(pa.string())),
    ],
    ids=["signalling", "endless", "half", "broken"],
)
def test_what_cannot_be_written_as_text_is_rejected(values: Any) -> None:
    assert "cannot be written as text" in error_text(values)


@pytest.mark.parametrize("dtype", ["int64", "Int64", "uint64", "int64[pyarrow]", object, str])
def test_whole_numbers_too_long_for_floats_are_text_unless_wanted_as_numbers(dtype: Any) -> None:
    values = pd.Series([10**17, 10**17 + 1, 10**17 + 2] * 4, dtype=dtype)
    typed = type_column("x", values)
    assert typed.column.kind == "categorical"
    assert typed.column.states == tuple(str(10**17 + k) for k in range(3))
    back = states_to_values(typed.column, typed.numbers)
    assert back.tolist() == [str(10**17 + k % 3) for k in range(12)]
    assert kind_of(values, "categorical") == "categorical"
    assert kind_of(values, "continuous") == "continuous"
    apart = pd.Series([10**16, 10**17, 10**18], dtype=dtype)
    assert kind_of(apart) == "continuous"


@pytest.mark.parametrize(
    "values",
    [
        [0, 1, 1],
        [2.5, 10.0, 2.5],
        [1e20, 1.0, 1e20],
        [True, False, True],
        ["n", "y", "n"],
        ["a", None, "b"],
    ],
)
def test_states_come_back_as_the_original_values(values: list[Any]) -> None:
    typed = type_column("x", pd.Series(values))
    back = states_to_values(typed.column, typed.numbers)
    pd.testing.assert_series_equal(back, pd.Series(values), check_dtype=False)


def test_bytes_are_the_text_that_they_spell() -> None:
    assert type_column("raw", pd.Series([b"1", b"2", b"5"] * 9)).column.kind == "ordinal"
    typed = type_column("raw", pd.Series([b"yes", b"n\xff", b"yes"]))
    assert typed.column.states == ("n\\xff", "yes")


@pytest.mark.parametrize("minus", ["-", "\u2212", "\uff0d"])
def test_every_minus_makes_a_number_negative(minus: str) -> None:
    typed = type_column("x", pd.Series([f"{minus}1", "2", f"{minus}2.5"] * 9))
    assert (typed.column.kind, typed.numbers[:3].tolist()) == ("continuous", [-1.0, 2.0, -2.5])


def test_identifiers_in_other_digits_stay_text() -> None:
    digits = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
    texts = [str(10**20 + k % 3).translate(digits) for k in range(60)]
    assert type_column("id", pd.Series(texts)).column.kind == "categorical"


@pytest.mark.parametrize("text", ["1234-10", "1.0.2", "May 1", "12-345", "1-2"])
def test_codes_are_no_dates(text: str) -> None:
    typed = type_column("code", pd.Series([text, "x", text]))
    assert typed.column.kind == "binary"
    assert type_column("code", pd.Series([text] * 3)).column.states == (text,)
