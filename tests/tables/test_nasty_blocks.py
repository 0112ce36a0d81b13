"""Hostile files in blocks: read like the whole table, or rejected in one line."""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.nasty import NASTY, csv_of, numbers
from hypothesis import given, settings, strategies as st

import loopylatent as ll
from loopylatent.errors import DataError
from loopylatent.tables.blocks.columns import MOST_TEXTS
from loopylatent.tables.kinds import Column
from loopylatent.tables.read import read_frame


@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("digits", [18, 20, 22])
def test_more_identifiers_than_can_be_counted_are_rejected_as_in_memory(tmp_path, digits, gap):
    n = MOST_TEXTS + 1000
    names = [str(10 ** (digits - 1) + k) for k in range(n)]
    frame = numbers(n, 3).assign(id=["", *names[1:]] if gap else names)
    path = tmp_path / "ids.csv"
    path.write_bytes(csv_of(frame))
    with pytest.raises(DataError, match=rf"'id' has {n - gap} distinct"):
        ll.read_table(path)
    with pytest.raises(DataError, match="'id' has more than 5,000 distinct texts"):
        ll.scan_table(path, block_rows=1000)
    sized = ll.scan_table(path, block_rows=1000, kinds={"id": "continuous"}, on_degenerate="drop")
    assert sized.n_rows == n


@pytest.mark.parametrize("gap", [False, True])
def test_identifiers_that_are_alike_only_across_blocks_are_text(tmp_path, gap):
    names = [str(10**17 + k // 100) for k in range(300)]
    path = tmp_path / "ids.csv"
    path.write_bytes(csv_of(numbers(300, 3).assign(id=["", *names[1:]] if gap else names)))
    assert ll.scan_table(path, block_rows=100).columns[-1] == ll.read_table(path).columns[-1]
    assert ll.read_table(path).columns[-1].kind == "categorical"


def test_long_numbers_that_differ_are_numbers_in_blocks_as_in_memory(tmp_path):
    drawn = np.random.default_rng(0).integers(10**17, 10**18, 6000)
    path = tmp_path / "long.csv"
    path.write_bytes(csv_of(numbers(6000, 3).assign(x=drawn)))
    whole, table = ll.read_table(path), ll.scan_table(path, block_rows=1000)
    assert table.columns[-1] == whole.columns[-1] == Column("x", "continuous")
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values, whole.values)


def test_long_whole_numbers_of_parquet_are_rejected_in_blocks(tmp_path):
    path = tmp_path / "ids.parquet"
    numbers().assign(id=[10**17 + k % 3 for k in range(60)]).to_parquet(path)
    with pytest.raises(DataError, match="whole numbers too long to be distinct"):
        ll.scan_table(path)


SAME_IN_BLOCKS = (
    *("old mac.csv", "old mac cells.csv", "half old mac.csv"),
    *("declared.csv", "declared in quotes.csv", "declared oddly.csv", "two marks.csv"),
    *("two returns.csv", "many returns.csv", "trailing.csv", "years.csv", "wave lengths.csv"),
    *("minus.csv", "arabic.csv", "title.csv", "comments.csv", "web page.xlsx", "lines of json.csv"),
    *("no names.csv", "no names of items.csv", "database.csv", "old days.csv", "months.csv"),
)
OTHER_WORDS = {
    "lone return.csv": "contains a lone carriage return",
    "lone return and quotes.csv": "contains a lone carriage return",
    "archive.xlsx": "workbooks and archives cannot",
    "really parquet.csv.gz": "a packed Parquet file",
    "declared and ragged.csv": "data row 61 has 8 fields",
}
"""Errors for text in blocks that differ from those in memory."""


@pytest.mark.parametrize("name", [*SAME_IN_BLOCKS, *OTHER_WORDS])
def test_nasty_text_is_read_in_blocks_as_in_memory_or_rejected(tmp_path, name):
    file = next(one for one in NASTY if one.name == name.removesuffix(".gz"))
    path = tmp_path / name
    path.write_bytes(gzip.compress(file.content()) if name.endswith(".gz") else file.content())
    if name in OTHER_WORDS or file.message:
        with pytest.raises(DataError, match=re.escape(OTHER_WORDS.get(name, file.message))):
            list(ll.scan_table(path, block_rows=20).blocks())
        return
    whole, table = ll.read_table(path), ll.scan_table(path, block_rows=20)
    assert table.columns == whole.columns
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values, whole.values, equal_nan=True)


CELLS = (
    "x",
    "y, z",
    'q "r" s',
    "two\nlines",
    '5" pipe',
    "",
    "NA",
    " lead",
    "é",
    "1,5",
    "TRUE",
    "7",
)


@given(
    rows=st.lists(st.tuples(*[st.sampled_from(CELLS)] * 3), min_size=3, max_size=30),
    sep=st.sampled_from(",;\t|"),
    end=st.sampled_from(["\n", "\r\n"]),
    quoting=st.sampled_from([0, 1]),
    block_rows=st.integers(1, 9),
)
@settings(max_examples=40)
def test_any_text_is_read_in_blocks_as_in_memory(rows, sep, end, quoting, block_rows):
    frame = pd.DataFrame(rows, columns=list("abc")).assign(n=range(len(rows)))
    text = frame.to_csv(index=False, sep=sep, lineterminator=end, quoting=quoting)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_bytes(text.encode())
        read = read_frame(path, delimiter=sep)
        assert [str(x).strip() for x in read["n"]] == [str(k) for k in range(len(rows))]
        options = {"delimiter": sep, "on_degenerate": "drop"}
        try:
            whole = ll.read_table(path, **options)
        except DataError as error:
            with pytest.raises(DataError, match=f"^{re.escape(str(error))}$"):
                ll.scan_table(path, block_rows=block_rows, **options)
            return
        table = ll.scan_table(path, block_rows=block_rows, **options)
        values = np.concatenate([block.values for block in table.blocks()])
    assert table.columns == whole.columns
    assert np.array_equal(values, whole.values, equal_nan=True)


def test_an_address_or_a_pipe_is_no_file_for_blocks(tmp_path):
    with pytest.raises(DataError, match="is a web address"):
        ll.scan_table("https://example.org/table.csv")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(DataError, match="is a pipe or a device"):
        ll.scan_table(tmp_path / "pipe")
