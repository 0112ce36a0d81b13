"""Small examples of inner functions, with what they give."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy import sparse

from loopylatent.tables.blocks.table import FileRows
from loopylatent.tables.kinds import (
    Column,
    are_too_long,
    marked_numbers,
    read_numbers,
    text_numbers,
    type_column,
)
from loopylatent.tables.observations import summed
from loopylatent.tables.parquet import ParquetPart
from loopylatent.tables.samples import load_word_pmi, sample_titles


def test_example_of_numbers_in_texts():
    assert read_numbers(["1.234,5", "2"], "decimal").tolist() == [1234.5, 2.0]
    assert read_numbers(["1,5", "a"], "decimal") is None
    found = text_numbers(["\u22121.5", "\uff11\uff12\uff0e\uff15", "blue"])
    assert np.array_equal(found, [-1.5, 12.5, np.nan], equal_nan=True)


def test_example_of_marked_numbers():
    assert marked_numbers(["1.234,50", "950", "-3,20"]).tolist() == [1234.5, 950.0, -3.2]
    assert marked_numbers(["45 %", "7.5%"]).tolist() == [45.0, 7.5]
    assert marked_numbers(["1,234", "2,500"]) == (
        "'1,234' may be 1234 or 1.234; write it without a thousands separator."
    )
    assert marked_numbers(["yes", "no"]) is None


def test_example_of_numbers_that_are_too_long():
    assert are_too_long(["1000000000000000000001", "1000000000000000000002"])
    assert not are_too_long(["1000000000000000000001", "2000000000000000000001", "7"])


def test_example_of_a_typed_column():
    typed = type_column("vote", pd.Series(["y", "n", None, "y"]))
    assert typed.column == Column(name="vote", kind="binary", states=("n", "y"))
    assert np.array_equal(typed.numbers, [1.0, 0.0, np.nan, 1.0], equal_nan=True)


def test_example_of_summed():
    twice = sparse.coo_array((np.full(2, 200, np.uint8), ([0, 0], [0, 0])))
    assert summed(twice).toarray() == [[400.0]]
    assert summed(twice > 0).toarray() == [[1.0]]


def test_example_of_stretches():
    part = ParquetPart("t.parquet", ("a",), (50, 50, 150))
    assert FileRows((part,), None, 2).stretches() == [
        [0, 1, 2, 3], [4, 5, 6], [7, 8, 9, 10, 11, 12, 13, 14], [15],
    ]  # fmt: skip


def test_example_of_what_comes_with_the_package():
    assert sample_titles()["latent_cycle"] == "Synthetic ring: ten hidden nodes"
    pmi = load_word_pmi()
    assert pmi.shape == (100, 100)
    assert int(pmi.notna().any().sum()) == 70
