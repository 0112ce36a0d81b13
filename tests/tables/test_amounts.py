"""Money, shares and grouped digits: read where a column agrees, else one line."""

from __future__ import annotations

import hypothesis
import numpy as np
import pandas as pd
import pytest
from hypothesis import strategies as st

from loopylatent.errors import DataError
from loopylatent.tables.kinds import are_money, marked_numbers, type_column
from loopylatent.tables.read import read_frame

VALUES = st.lists(
    st.integers(-(10**9), 10**9).map(lambda cents: cents / 100), min_size=2, max_size=20
)


def continental(x: float) -> str:
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    "form",
    [
        continental,
        lambda x: f"{x:.2f}%",
        lambda x: f"{x:.2f} %".replace(".", ","),
        lambda x: f"{x:,.2f}".replace(",", "'"),
        lambda x: f"{x:,.2f}".replace(",", "\u202f").replace(".", ","),
        lambda x: f"({-x:,.2f})" if x < 0 else f"{x:,.2f}",
        lambda x: f"{x:,.2f}".replace("-", "\u2212"),
    ],
)
@hypothesis.given(values=VALUES)
def test_numbers_come_back_from_every_way_to_write_them(form, values):
    np.testing.assert_allclose(marked_numbers([form(x) for x in values]), values, rtol=1e-15)


@pytest.mark.parametrize("text", ["$1,200", "-£5.20", "€1.234,50", "9 €", "EUR 7", "($12.00)"])
def test_money_is_told_from_other_texts(text):
    assert are_money([text, text])
    assert not are_money([text, "yes"])
    assert not are_money([text, f"{text}-{text}"])


def test_what_is_unclear_is_said():
    assert "may be 1234 or 1.234" in marked_numbers(["1,234", "12"])


@pytest.mark.parametrize(
    "texts",
    [
        ["yes", "no"], ["1,2,3"], ["12-13"], ["#5"], ["5 kg"], ["1.2.2020"], ["(5"], ["--5"],
        ["$5$"], ["٣٫٥"], [""], ["1e5x"], ["5 %%"], ["1" + " " * 5000 + "x"], ["12.34.5"],
    ],
)  # fmt: skip
def test_other_texts_are_no_amounts(texts):
    assert marked_numbers(texts) is None


@hypothesis.given(st.lists(st.text(max_size=30), min_size=1, max_size=5))
def test_any_texts_are_amounts_or_not(texts):
    found = marked_numbers(texts)
    assert found is None or isinstance(found, str) or np.isfinite(found).all()


def test_a_column_of_shares_is_continuous():
    shares = type_column("share", pd.Series(["5%", "12.5%", "50%", None] * 5))
    assert shares.column.kind == "continuous"
    assert shares.numbers[:3].tolist() == [5.0, 12.5, 50.0]


def test_labels_that_look_like_decimals_stay_labels():
    assert type_column("chosen", pd.Series(["1,2", "3,4", "1,4"] * 5)).column.kind == "categorical"


def test_many_decimals_with_a_comma_are_numbers():
    texts = [f"{k},{k % 10}5" for k in range(60)]
    assert type_column("x", pd.Series(texts)).column.kind == "continuous"


def test_money_is_rejected_unless_it_names_categories():
    with pytest.raises(DataError, match="Column 'pay' contains amounts of money such as '\\$10'"):
        type_column("pay", pd.Series(["$10", "€11"] * 5))
    assert type_column("pay", pd.Series(["$10", "€11"] * 5), "categorical").column.kind


def test_quoted_thousands_between_commas_are_numbers():
    frame = read_frame(b'a,b\n"1,234",x\n"12,345,678",y\n900,"1,2"\n')
    assert frame["a"].tolist() == [1234, 12345678, 900]
    assert frame["b"].tolist() == ["x", "y", "1,2"]
