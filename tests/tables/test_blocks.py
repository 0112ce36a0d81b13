"""Tables that are read in blocks: the same columns and the same distances as in memory."""

from __future__ import annotations

import gzip
import math
import re
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.nasty import NASTY, identifiers, with_column
from hypothesis import given, settings, strategies as st

import loopylatent as ll
from loopylatent.cli.main import main
from loopylatent.compute import limits
from loopylatent.distances import blocks as block_sums, strengths
from loopylatent.distances.strengths import plan_sums
from loopylatent.errors import DataError, DistanceError, LoopyLatentError, ThresholdError
from loopylatent.tables import parquet as block_parquet, read as block_text
from loopylatent.tables.blocks import table as block_scan

NAMES = list("abcdef")


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of some hundred rows, so that small tables have several portions."""
    monkeypatch.setattr("loopylatent.compute.limits.BLOCK_CELLS", 600)
    monkeypatch.setattr("loopylatent.distances.strengths.NULL_PAIRS", 150)


def real_table(rng, n, p=6):
    hidden = np.cumsum(rng.normal(size=(n, p)), axis=1)
    return pd.DataFrame(hidden + 50, columns=NAMES[:p])


def tables(rng, n):
    """A table of each sort, with gaps in every second one."""
    real = real_table(rng, n)
    binary = (real > 50).astype(int)
    letters = pd.DataFrame(np.array(list("xyz"))[np.digitize(real, [49, 51])], columns=NAMES)
    mixed = pd.concat([real[["a", "b"]], letters[["c", "d"]], binary[["e"]]], axis=1)
    mixed["f"] = real["f"] > 50
    ratings = np.clip(np.rint(real - 48), 1, 5).astype(int)
    gaps = rng.random(real.shape) < 0.1
    return {
        "real": real,
        "real with gaps": real.mask(gaps),
        "binary": binary,
        "binary with gaps": binary.mask(gaps),
        "letters": letters,
        "letters with gaps": letters.mask(gaps),
        "mixed": mixed,
        "ratings with gaps": ratings.mask(gaps),
    }


SORTS = list(tables(np.random.default_rng(0), 30))


def write(frame, folder, form):
    """Write a table in one of the forms that can be read in blocks."""
    folder = Path(folder)
    if form == "csv":
        frame.to_csv(folder / "t.csv", index=False)
        return folder / "t.csv"
    if form == "gzip":
        with gzip.open(folder / "t.csv.gz", "wt") as stream:
            frame.to_csv(stream, index=False)
        return folder / "t.csv.gz"
    if form == "parquet":
        frame.to_parquet(folder / "t.parquet", row_group_size=171)
        return folder / "t.parquet"
    parts = folder / "parts"
    parts.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[rows].to_parquet(parts / f"part-{k}.parquet", row_group_size=5000)
    (parts / "_SUCCESS").touch()
    return parts


def assert_same(found, expected):
    assert found.names == expected.names
    assert found.values.tobytes() == expected.values.tobytes()
    assert found.noise_floor == expected.noise_floor
    assert (found.n_samples, found.metric) == (expected.n_samples, expected.metric)
    assert found.is_additive == expected.is_additive
    for ours, theirs in ((found.signs, expected.signs), (found.pair_counts, expected.pair_counts)):
        assert (ours is None) == (theirs is None)
        assert ours is None or np.array_equal(ours, theirs)


@pytest.mark.parametrize("form", ["csv", "gzip", "parquet", "parts"])
@pytest.mark.parametrize("sort", SORTS)
def test_blocks_give_the_columns_and_distances_of_the_whole_table(rng, tmp_path, form, sort):
    path = write(tables(rng, 1500)[sort], tmp_path, form)
    table = ll.scan_table(path)
    whole = ll.read_table(path) if path.is_file() else ll.Observations.from_frame(
        pd.read_parquet(path)
    )  # fmt: skip
    assert len(table.portions) > 1
    assert (table.columns, table.n_rows) == (whole.columns, whole.n_rows)
    assert (table.n_missing, table.n_samples) == (whole.n_missing, whole.n_samples)
    assert_same(ll.information_distances(table), ll.information_distances(whole))
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values, whole.values, equal_nan=True)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(20, 400),
    block_rows=st.integers(1, 90),
    sort=st.sampled_from(SORTS),
    form=st.sampled_from(["csv", "gzip", "parquet", "parts"]),
)
@settings(max_examples=15)
def test_any_block_gives_the_distances_of_whole_numbers_exactly(seed, n, block_rows, sort, form):
    frame = tables(np.random.default_rng(seed), n)[sort]
    with tempfile.TemporaryDirectory() as folder:
        path = write(frame, folder, form)
        try:
            whole = ll.Observations.from_frame(frame)
            expected = ll.information_distances(whole)
        except LoopyLatentError as error:
            with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                ll.information_distances(ll.scan_table(path, block_rows=block_rows))
            return
        found = ll.information_distances(ll.scan_table(path, block_rows=block_rows))
    if "real" in sort or sort == "mixed":
        assert np.allclose(found.values, expected.values, rtol=1e-9, atol=1e-10)
    else:
        assert_same(found, expected)


@pytest.mark.parametrize("weights", ["whole", "parts"])
@pytest.mark.parametrize("sort", ["real with gaps", "letters", "mixed"])
def test_weights_count_rows_as_in_memory(rng, tmp_path, weights, sort):
    frame = tables(rng, 2000)[sort]
    drawn = rng.integers(0, 4, size=2000)
    frame["w"] = drawn if weights == "whole" else drawn * 0.37
    path = write(frame, tmp_path, "parquet")
    table = ll.scan_table(path, weights="w")
    whole = ll.read_table(path, weights="w")
    assert_same(ll.information_distances(table), ll.information_distances(whole))


def test_correlations_agree_with_pandas(rng, tmp_path):
    frame = tables(rng, 2000)["real with gaps"]
    D = ll.information_distances(ll.scan_table(write(frame, tmp_path, "csv"), block_rows=77))
    assert np.allclose(np.exp(-D.values), frame.corr().abs(), rtol=1e-10)


@pytest.mark.parametrize("threads", [1, 5])
def test_distances_do_not_depend_on_the_number_of_threads(rng, tmp_path, monkeypatch, threads):
    path = write(tables(rng, 3000)["real with gaps"], tmp_path, "gzip")
    expected = ll.information_distances(ll.scan_table(path))
    monkeypatch.setattr("loopylatent.compute.workers.os.cpu_count", lambda: threads)
    assert_same(ll.information_distances(ll.scan_table(path)), expected)


@pytest.mark.parametrize(("memory", "most"), [(1, 4), (1 << 40, 5 * 2 * 4)])
def test_sums_wait_for_a_slow_portion_only_as_far_as_memory_reaches(
    rng, tmp_path, monkeypatch, memory, most
):
    path = write(tables(rng, 3600)["real with gaps"], tmp_path, "parquet")
    table = ll.scan_table(path, block_rows=10)
    expected = ll.information_distances(table)
    monkeypatch.setattr("loopylatent.compute.workers.os.cpu_count", lambda: 5)
    monkeypatch.setattr(block_sums, "free_bytes", lambda: memory)
    begun, held, added = [], [], []
    portion, add = block_sums._sum_portion, block_sums.BlockSums.merge

    def slow_at_first(*given):
        begun.append(given[1])
        held.append(len(begun) - len(added))
        time.sleep(0.3 * (given[1] == 0))
        return portion(*given)

    monkeypatch.setattr(block_sums, "_sum_portion", slow_at_first)
    monkeypatch.setattr(block_sums.BlockSums, "merge", lambda *a: (add(*a), added.append(1)))
    assert_same(ll.information_distances(table), expected)
    assert len(added) == len(table.portions) > most
    assert max(held) <= most


@pytest.mark.parametrize("metric", ["correlation", "canonical", "determinant"])
def test_the_metric_can_be_chosen(rng, tmp_path, metric):
    path = write(tables(rng, 1000)["binary"], tmp_path, "parquet")
    found = ll.information_distances(ll.scan_table(path), metric)
    assert_same(found, ll.information_distances(ll.read_table(path), metric))


def test_ranks_need_the_whole_table(rng, tmp_path):
    table = ll.scan_table(write(real_table(rng, 100), tmp_path, "csv"))
    with pytest.raises(DistanceError, match=r"'rank' needs all rows in memory.*read_table"):
        ll.information_distances(table, "rank")


def test_repeated_and_constant_columns_are_named_and_can_be_dropped(rng, tmp_path):
    frame = real_table(rng, 500)
    frame["copy"], frame["same"] = frame["b"] * 2, 7
    path = write(frame, tmp_path, "parquet")
    with pytest.raises(DataError, match="'same' is constant"):
        ll.scan_table(path)
    table = ll.scan_table(path, on_degenerate="drop")
    assert [dropped.name for dropped in table.dropped] == ["same"]
    with pytest.raises(DistanceError, match="'b' and 'copy'"):
        ll.information_distances(table)
    found = ll.information_distances(table, on_degenerate="drop")
    whole = ll.read_table(path, on_degenerate="drop")
    assert found.names == tuple(NAMES)
    expected = ll.information_distances(whole, on_degenerate="drop")
    assert np.allclose(found.values, expected.values, rtol=1e-10, atol=1e-12)


def test_the_noise_floor_of_some_rows_is_that_of_all(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("loopylatent.distances.strengths.FEWEST_NULL_ROWS", 500)
    monkeypatch.setattr("loopylatent.distances.strengths.NULL_PAIRS", 1500)
    frame = pd.DataFrame({name: np.array(list("xyz"))[rng.integers(0, 3, 3000)] for name in NAMES})
    for metric in ("determinant", "canonical"):
        some = ll.information_distances(frame, metric).noise_floor
        with monkeypatch.context() as patch:
            patch.setattr(limits, "BLOCK_CELLS", 1 << 22)
            every = ll.information_distances(frame, metric).noise_floor
        assert some == pytest.approx(every, abs=0.1)
        assert some != every
        path = write(frame, tmp_path, "csv")
        assert ll.information_distances(ll.scan_table(path), metric).noise_floor == some


# What text can be like ----------------------------------------------------------------------


def rows_of_text(extra="", n=400):
    rng = np.random.default_rng(1)
    lines = [f"{a:.3f},{b},{c}" for a, b, c in zip(
        rng.normal(size=n), rng.integers(0, 2, n), np.array(list("xyz"))[rng.integers(0, 3, n)],
        strict=True)]  # fmt: skip
    return "a,b,c\n" + "\n".join(lines) + "\n" + extra


def decimal_commas(*extra, different=40, n=300):
    """Text in which numbers are written like 0,125."""
    drawn = np.random.default_rng(2).integers(0, different, size=(n, 3)) / 8
    lines = [";".join(map(str, row)).replace(".", ",") for row in drawn.tolist()]
    return "\n".join(["a;b;c", *lines, *extra, ""]).encode()


def thousands(*extra, first=(), n=300):
    """Text in which numbers are written like 1,234."""
    drawn = np.random.default_rng(3).integers(900, 1100, size=(n, 3))
    lines = [",".join(f'"{x:,}"' for x in row) for row in drawn]
    return "\n".join(["a,b,c", *first, *lines, *extra, ""]).encode()


ODD_TEXTS = {
    "blank lines": rows_of_text().replace("\n", "\n\n", 40).encode(),
    "blanks": rows_of_text("  \n \n").encode(),
    "windows lines": rows_of_text().replace("\n", "\r\n").encode(),
    "no end": rows_of_text().rstrip("\n").encode(),
    "mark": b"\xef\xbb\xbf" + rows_of_text().encode(),
    "latin": rows_of_text().replace(",x\n", ",Größe\n").encode("latin-1"),
    "quotes": rows_of_text().replace(",x\n", ',"x, or\ny"\n').encode(),
    "inches": rows_of_text().replace(",x\n", ',5" pipe\n').encode(),
    "semicolons": rows_of_text().replace(",", ";").encode(),
    "short rows": rows_of_text("0.5\n0.25,1\n").encode(),
    "words for nothing": rows_of_text("NA,?,n/a\n" * 30).encode(),
    "flags": rows_of_text().replace(",1,", ",TRUE,").replace(",0,", ",FALSE,").encode(),
    "late text": rows_of_text("0.5,maybe,x\n" * 9).encode(),
    "late flags": rows_of_text("0.5,True,x\n" * 9).encode(),
    "late numbers": rows_of_text("0.5,1,07\n" * 9).encode(),
    "nameless": rows_of_text().replace("\n", ",\n").encode(),
    "zeros": rows_of_text("-0.0,0,x\n" * 9).encode(),
    "decimal commas": decimal_commas(),
    "decimal commas and whole numbers": decimal_commas(*["1;2;NA"] * 40, *["1,5;2;3,25"] * 40),
    "decimal commas and points": decimal_commas(*["1.5;2;3"] * 40, different=5),
    "decimal commas and words": decimal_commas(*["1,5;2;none"] * 9, different=5),
    "decimal commas and an odd gap": decimal_commas(*["1,5;NA ;3"] * 9, different=5),
    "two decimal commas": decimal_commas(different=2),
    "thousands": thousands(),
    "thousands and fewer": thousands(*['12,7,"3,456.5"'] * 40, first=["1,2,3"] * 40),
    "thousands and powers": thousands(*['1e3,7,"3,456"'] * 9),
    "long blanks": rows_of_text(" " * 30 + "\n0.5,1,x\n\t\n \t \n").encode(),
    "blanks and quotes": rows_of_text('0.5,1,"x"\n' + " " * 30 + "\n\t\n").encode(),
    "blanks and tabs": rows_of_text(" " * 30 + "\n\t\t\n\t\n").replace(",", "\t").encode(),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("oddity", ODD_TEXTS)
def test_odd_text_is_read_as_when_it_is_read_whole(tmp_path, oddity, packed, monkeypatch):
    monkeypatch.setattr("loopylatent.tables.read.CHUNK_BYTES", 700)
    path = tmp_path / "t.csv"
    path.write_bytes(gzip.compress(ODD_TEXTS[oddity]) if packed else ODD_TEXTS[oddity])
    whole = ll.read_table(path)
    table = ll.scan_table(path, block_rows=33)
    assert (table.columns, table.n_missing) == (whole.columns, whole.n_missing)
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values, whole.values, equal_nan=True)


BAD_TEXTS = {
    "wide": rows_of_text("1,0,x,9\n").encode(),
    "wide first": b"a,b,c\n1,2,3,4\n" + rows_of_text().partition("\n")[2].encode(),
    "open quote": rows_of_text('1,0,"x\n').encode() * 1,
    "empty": b"",
    "no rows": b"a,b,c\n",
    "one column": b"a\n1\n2\n",
    "two names": b"a,a,b\n1,2,3\n1,2,4\n2,2,5\n",
    "few rows": b"a,b,c\n1,2,3\n2,3,5\n",
    "identifiers": ("a,b,c\n" + "".join(f"{k % 2},{k % 3},id{k}\n" for k in range(300))).encode(),
    "stray": ("a,b,c\n" + "".join(f"{k % 2},{k % 3},{k}\n" for k in range(300)) + "1,1,oops\n")
    .encode(),
    "dates": ("a,b,c\n" + "".join(f"{k % 2},{k % 3},2020-01-0{1 + k % 9}\n" for k in range(99)))
    .encode(),
    "infinite": rows_of_text("inf,0,x\n").encode(),
    "huge": rows_of_text("1e300,0,x\n").encode(),
    "damaged": gzip.compress(rows_of_text().encode())[:-900],
}  # fmt: skip
SAME_WORDS = ("empty", "no rows", "one column", "two names", "few rows", "identifiers", "stray",
              "dates", "infinite", "huge", "damaged")  # fmt: skip


@pytest.mark.parametrize("fault", BAD_TEXTS)
def test_what_cannot_be_used_is_rejected_in_one_line(tmp_path, fault):
    path = tmp_path / "t.csv"
    path.write_bytes(BAD_TEXTS[fault])
    with pytest.raises(LoopyLatentError) as expected:
        ll.read_table(path)
    with pytest.raises(LoopyLatentError) as found:
        list(ll.scan_table(path, block_rows=50).blocks())
    assert "\n" not in str(found.value)
    if fault in SAME_WORDS:
        assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("most", [60, 5000])
def test_many_numbers_with_commas_give_the_distances_of_the_whole_table(
    rng, tmp_path, monkeypatch, most
):
    monkeypatch.setattr("loopylatent.tables.blocks.columns.MOST_TEXTS", most)
    path = tmp_path / "t.csv"
    real_table(rng, 1000).to_csv(path, index=False, sep=";", decimal=",")
    table = ll.scan_table(path, checkpoint=tmp_path / "scan.npz")
    whole = ll.read_table(path)
    assert table.columns == whole.columns
    assert_same(ll.information_distances(table), ll.information_distances(whole))
    again = ll.scan_table(path, checkpoint=tmp_path / "scan.npz")
    assert (again.columns, again.digest) == (table.columns, table.digest)
    text = path.read_text()
    path.write_text(text.replace(",", "x", 1))
    with pytest.raises(DataError, match=r"'a' has the value '\d+x\d+'.*Scan it again"):
        list(table.blocks())


def test_points_beside_decimal_commas_group_thousands_in_blocks_as_in_memory(tmp_path):
    rows = "".join(f"{k},5;{1 + k % 7}.{k % 10}00;{k % 3}\n" for k in range(60))
    path = tmp_path / "mixed.csv"
    path.write_text("x;y;z\n" + rows)
    whole, table = ll.read_table(path), ll.scan_table(path, block_rows=13)
    assert (table.columns, whole.values[1, 1]) == (whole.columns, 2100.0)
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values, whole.values)


@pytest.mark.parametrize("mark", ["", '"'])
def test_an_endless_cell_is_called_one_in_blocks_as_in_memory(tmp_path, mark):
    rows = f"1,2,{mark}{'x' * 140_000}{mark}\n" + "1,2,3\n" * 50
    (tmp_path / "long.csv").write_text("a,b,c\n" + rows)
    for read in (ll.scan_table, ll.read_table):
        with pytest.raises(ll.DataError, match="'c' has a value of more than 131,072 characters"):
            read(tmp_path / "long.csv")


def test_numbers_with_commas_need_one_separator(tmp_path):
    (tmp_path / "1.csv").write_bytes(decimal_commas())
    (tmp_path / "2.csv").write_bytes(thousands())
    with pytest.raises(DataError, match=r"'a' contains numbers with commas.*the same separator"):
        ll.scan_table(tmp_path)


def test_a_row_that_is_too_wide_is_found_in_its_block(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(rows_of_text("1,0,x,9\n"))
    with pytest.raises(DataError, match="data row 401 has 4 fields but the header has 3"):
        ll.scan_table(path, block_rows=60)


def test_other_things_than_tables_are_rejected(tmp_path, rng):
    frame = real_table(rng, 50)
    other = tmp_path / "other.csv"
    frame.rename(columns={"a": "z"}).to_csv(other, index=False)
    path = write(frame, tmp_path, "csv")
    (tmp_path / "wide.csv").write_bytes(path.read_text().encode("utf-16"))
    frame.to_excel(tmp_path / "book.xlsx", index=False)
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1" + bytes(100))
    (tmp_path / "nothing").mkdir()
    for source, words in {
        "nowhere.csv": "no file",
        "nothing": "contains no files",
        "wide.csv": "UTF-16",
        "book.xlsx": "workbooks and archives cannot",
        "broken.parquet": "damaged",
    }.items():
        with pytest.raises(DataError, match=words):
            ll.scan_table(tmp_path / source)
    with pytest.raises(DataError, match=r"different columns.*'a', 'z'"):
        ll.scan_table([path, other])
    with pytest.raises(DataError, match="No files"):
        ll.scan_table([])
    with pytest.raises(ThresholdError, match="block_rows"):
        ll.scan_table(path, block_rows=0)
    with pytest.raises(DataError, match="there is no column"):
        ll.scan_table(path, drop=["q"])
    with pytest.raises(DistanceError, match="scan_table"):
        ll.information_distances(frame, checkpoint=tmp_path / "c.npz")


def test_parts_that_disagree_on_a_column_are_rejected(rng, tmp_path):
    frame = real_table(rng, 50)
    frame.to_parquet(tmp_path / "0.parquet")
    frame.astype({"b": str}).to_parquet(tmp_path / "1.parquet")
    with pytest.raises(DataError, match="'b' contains numbers in one file"):
        ll.scan_table(tmp_path)


def test_parts_may_hold_the_same_texts_in_different_ways(rng, tmp_path):
    frame = real_table(rng, 50).assign(g=np.array(["u", "v", "w"])[rng.integers(0, 3, 50)])
    frame.to_parquet(tmp_path / "0.parquet")
    frame.astype({"g": "category"}).to_parquet(tmp_path / "1.parquet")
    frame.assign(g=frame["g"].str.encode("ascii")).to_parquet(tmp_path / "2.parquet")
    table = ll.scan_table(tmp_path, block_rows=40)
    assert table.columns[-1].states == ("u", "v", "w")
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values[:50], values[50:100])
    assert np.array_equal(values[:50], values[100:])


def test_categories_of_parquet_keep_their_order(rng, tmp_path):
    frame = real_table(rng, 600)
    levels = pd.cut(frame["a"], 4, labels=["low", "fair", "good", "high"])
    frame["rating"] = levels
    frame["colour"] = pd.Categorical(np.array(["red", "blue", "green"])[rng.integers(0, 3, 600)])
    path = tmp_path / "t.parquet"
    frame.to_parquet(path, row_group_size=100)
    whole = ll.Observations.from_frame(pd.read_parquet(path))
    table = ll.scan_table(path, block_rows=70)
    assert table.columns == whole.columns
    values = np.concatenate([block.values for block in table.blocks()])
    assert np.array_equal(values, whole.values, equal_nan=True)


def test_more_texts_than_can_be_counted_are_numbers_or_rejected(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("loopylatent.tables.blocks.columns.MOST_TEXTS", 60)
    frame = real_table(rng, 500)
    frame["n"] = [f"{x:.6f}" for x in rng.normal(size=500)]
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    table = ll.scan_table(path, block_rows=50)
    assert table.columns == ll.Observations.from_frame(frame).columns
    frame["n"] = [f"{x:.2f}%" for x in 10 + rng.random(500) * 1000]
    frame.to_parquet(path)
    with pytest.raises(DataError, match="more than 60 distinct texts"):
        ll.scan_table(path, block_rows=50)


def test_a_file_that_changes_between_scan_and_sums_is_noticed(rng, tmp_path):
    frame = tables(rng, 400)["letters"]
    path = write(frame, tmp_path, "csv")
    table = ll.scan_table(path, block_rows=50)
    frame.replace("x", "u").to_csv(path, index=False)
    with pytest.raises(DataError, match=r"has the value 'u'.*Scan it again"):
        ll.information_distances(table)
    frame.head(300).to_csv(path, index=False)
    with pytest.raises(DataError, match="changed since it was scanned"):
        ll.information_distances(table)


def test_numbers_for_names_of_parquet_are_names(rng, tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame(real_table(rng, 100).to_numpy()).to_parquet(path)
    found = ll.information_distances(ll.scan_table(path, block_rows=30))
    assert found.names == tuple("012345")
    assert np.allclose(found.values, ll.information_distances(ll.read_table(path)).values)


@pytest.mark.parametrize("change", ["fewer rows", "other groups", "other columns"])
def test_parquet_that_changes_between_scan_and_sums_is_noticed(rng, tmp_path, change):
    frame = real_table(rng, 400)
    path = write(frame, tmp_path, "parquet")
    table = ll.scan_table(path, block_rows=20)
    other = {"fewer rows": frame.head(200), "other columns": frame.drop(columns="b")}
    other.get(change, frame).to_parquet(path, row_group_size=100 if "groups" in change else 171)
    with pytest.raises(DataError, match=r"'t\.parquet': the file has changed.*scan it again"):
        ll.information_distances(table)


LATER_HEADERS = {
    "a,b,c,c": r"'2\.csv': 2 columns are called 'c'",
    "a,b,c,,": r"'2\.csv' has 2 unnamed columns, '1\.csv' has 1",
    "a,b,c": r"'2\.csv' has 0 unnamed columns, '1\.csv' has 1",
}


@pytest.mark.parametrize("header", LATER_HEADERS)
def test_a_later_file_with_another_header_is_rejected_by_name(tmp_path, header):
    first = ",a,b,c" if ",," in header or header == "a,b,c" else "a,b,c"
    for name, head in (("1.csv", first), ("2.csv", header)):
        row = ",".join("1" if one else "" for one in head.split(","))
        (tmp_path / name).write_text(f"{head}\n{row}\n{row}\n{row}\n")
    with pytest.raises(DataError, match=LATER_HEADERS[header]):
        ll.scan_table(tmp_path)


def test_an_empty_column_without_a_name_may_stand_anywhere(tmp_path):
    rows = [(1, 2, 3), (2, 3, 1), (3, 1, 2)]
    (tmp_path / "1.csv").write_text(",a,b,c\n" + "".join(f",{a},{b},{c}\n" for a, b, c in rows))
    (tmp_path / "2.csv").write_text("a,b,,c\n" + "".join(f"{a},{b},,{c}\n" for a, b, c in rows))
    table = ll.scan_table(tmp_path)
    assert (table.names, table.n_rows) == (("a", "b", "c"), 6)
    (tmp_path / "2.csv").write_text("a,b,,c\n1,2,9,3\n")
    with pytest.raises(DataError, match="has no name"):
        ll.scan_table(tmp_path)


def test_a_packed_file_that_was_replaced_is_opened_anew(tmp_path):
    first, second = (rows_of_text(n=n).encode() for n in (400, 300))
    path, other = tmp_path / "t.csv.gz", tmp_path / "other"
    path.write_bytes(gzip.compress(first))
    header = block_text.read_header(path, None)
    assert block_text.read_bytes(header, 0, 50) == first[:50]
    other.write_bytes(gzip.compress(second.swapcase()))
    other.replace(path)
    assert block_text.read_bytes(header, 50, 90) == second.swapcase()[50:90]
    path.unlink()
    with pytest.raises(DataError, match="the file was removed"):
        block_text.read_bytes(header, 90, 99)


def test_a_packed_file_that_ends_too_soon_is_damaged_also_with_quotation_marks(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("loopylatent.tables.read.HEAD_BYTES", 200)
    monkeypatch.setattr("loopylatent.tables.read.CHUNK_BYTES", 700)
    path = tmp_path / "t.csv.gz"
    text = rows_of_text(n=30_000).replace(",x\n", ',"x"\n')
    path.write_bytes(gzip.compress(text.encode())[:-900])
    with pytest.raises(DataError, match=r"^'t\.csv\.gz': the gzip file is damaged; compress"):
        ll.scan_table(path)


@pytest.mark.parametrize("mark", ["", '0.5,1,"x"\n'])
def test_a_carriage_return_inside_a_line_is_rejected(tmp_path, mark):
    path = tmp_path / "t.csv"
    path.write_bytes(rows_of_text(mark + "0.5,1,x\ry\n0.5,1,x\n").encode())
    with pytest.raises(DataError, match=r"'t\.csv': .* contains a lone carriage return"):
        ll.scan_table(path)


def test_memory_that_runs_out_is_not_a_damaged_file(rng, tmp_path, monkeypatch, capsys):
    path = write(real_table(rng, 50), tmp_path, "parquet")

    def out_of_memory(*_, **__):
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    with monkeypatch.context() as patch:
        patch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: map(out_of_memory, [1]))
        with pytest.raises(MemoryError):
            ll.scan_table(path)
    monkeypatch.setattr(pq, "ParquetFile", out_of_memory)
    for read in (ll.scan_table, ll.read_table):
        with pytest.raises(MemoryError):
            read(path)
    assert main(["learn", str(path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("loopylatent: Out of memory")


def test_a_full_disk_does_not_cost_a_scan(rng, tmp_path, monkeypatch):
    path = write(real_table(rng, 500), tmp_path, "csv")
    expected = ll.scan_table(path)

    def full(*_):
        raise DataError("checkpoint cannot be written: no space left")

    monkeypatch.setattr("loopylatent.compute.cache.Checkpoint.save", full)
    assert ll.scan_table(path, checkpoint=tmp_path / "c.npz").digest == expected.digest


@pytest.mark.parametrize("form", ["csv", "gzip"])
def test_rows_are_found_once_for_a_checkpoint(rng, tmp_path, monkeypatch, form):
    path, file = write(tables(rng, 3000)["mixed"], tmp_path, form), tmp_path / "c.npz"
    expected = ll.scan_table(path)
    with pytest.raises(StopHere):
        ll.scan_table(path, checkpoint=file, progress=stop_at_portions(expected))
    monkeypatch.setattr(block_scan, "find_rows", lambda *_: pytest.fail("looked through again"))
    found = ll.scan_table(path, checkpoint=file)
    assert (found.columns, found.digest) == (expected.columns, expected.digest)
    assert_same(ll.information_distances(found), ll.information_distances(expected))


def stop_at_portions(table):
    """Stop as soon as all rows are found, before the first portion is done."""

    def progress(_done, total):
        if total == len(table.portions):
            raise StopHere

    return progress


# Progress, stopping, going on ----------------------------------------------------------------


class StopHere(Exception):
    """What a user raises to stop."""


def stop_after(portions):
    def progress(done, total):
        if done >= portions:
            raise StopHere(f"{done} of {total}")

    return progress


def test_progress_counts_portions_and_can_stop(rng, tmp_path):
    path = write(real_table(rng, 6000), tmp_path, "csv")
    seen = []
    table = ll.scan_table(path, progress=lambda *now: seen.append(now))
    n = len(table.portions)
    assert n > 3
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == ((0, n), (n, n))
    seen.clear()
    ll.information_distances(table, progress=lambda *now: seen.append(now))
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == ((0, n), (n, n))
    with pytest.raises(StopHere):
        ll.scan_table(path, progress=stop_after(1))


@pytest.mark.parametrize("form", ["csv", "gzip"])
def test_finding_rows_can_be_watched_and_stopped(tmp_path, monkeypatch, form):
    monkeypatch.setattr("loopylatent.tables.read.CHUNK_BYTES", 7_000)
    noise = np.random.default_rng(0).normal(size=(20_000, 2))  # Python unpacks 128 kB at a time
    frame = pd.DataFrame(noise, columns=["a", "b"])
    frame["c"] = ["1", "2"] * 9_990 + ["x"] * 20
    path = write(frame, tmp_path, form)
    seen, size = [], path.stat().st_size
    ll.scan_table(path, block_rows=500, progress=lambda *now: seen.append(now))
    finding = [now for now in seen if now[1] == size]
    assert finding == sorted(finding) == seen[: len(finding)]
    assert len({done for done, _ in finding}) > 1
    with pytest.raises(StopHere):
        ll.scan_table(path, block_rows=500, progress=stop_after(finding[0][0]))


def test_a_large_row_group_is_read_in_parts_but_once_by_each_thread(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("loopylatent.compute.workers.os.cpu_count", lambda: 2)
    monkeypatch.setattr("loopylatent.tables.parquet.BATCH_ROWS", 50)
    frame = real_table(rng, 2000)
    path = tmp_path / "t.parquet"
    frame.to_parquet(path)
    table = ll.scan_table(path, block_rows=10)
    held, read = [], []
    stretch, batch = block_sums._sum_stretch, block_parquet._next
    monkeypatch.setattr(
        block_sums, "_sum_stretch", lambda *a: (held.append(len(a[1])), stretch(*a))[1]
    )
    monkeypatch.setattr(block_parquet, "_next", lambda *a: (read.append(1), batch(*a))[1])
    found = ll.information_distances(table)
    assert sorted(held) == [1, 8, 8, 8]
    assert len(read) <= 2 * (2000 / 50 + 1)
    assert np.allclose(found.values, ll.information_distances(frame).values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sort", ["real with gaps", "letters", "mixed"])
def test_a_run_that_was_stopped_goes_on_where_it_was(rng, tmp_path, monkeypatch, sort):
    table = ll.scan_table(write(tables(rng, 5000)[sort], tmp_path, "csv"))
    expected = ll.information_distances(table)
    file = tmp_path / "so far.npz"
    with pytest.raises(StopHere):
        ll.information_distances(table, checkpoint=file, progress=stop_after(3))
    assert file.exists()
    summed = []
    original = block_sums._sum_portion
    monkeypatch.setattr(
        block_sums, "_sum_portion", lambda *a: (summed.append(a[1]), original(*a))[1]
    )
    seen = []
    found = ll.information_distances(
        table, checkpoint=file, progress=lambda done, _: seen.append(done)
    )
    assert_same(found, expected)
    assert seen[0] >= 3
    assert len(summed) == len(table.portions) - seen[0]
    assert not file.exists()


@pytest.mark.parametrize("sort", ["real with gaps", "mixed"])
def test_a_scan_that_was_stopped_goes_on_where_it_was(rng, tmp_path, monkeypatch, sort):
    frame = tables(rng, 5000)[sort]
    frame["w"] = rng.random(5000)
    path, file = write(frame, tmp_path, "csv"), tmp_path / "so far.npz"
    expected = ll.scan_table(path, weights="w")
    with pytest.raises(StopHere):
        ll.scan_table(path, weights="w", checkpoint=file, progress=stop_after(3))
    scanned = []
    original = block_scan._scan_portion
    monkeypatch.setattr(
        block_scan, "_scan_portion", lambda *a: (scanned.append(a[1]), original(*a))[1]
    )
    seen = []
    found = ll.scan_table(
        path, weights="w", checkpoint=file, progress=lambda done, _: seen.append(done)
    )
    assert (found.columns, found.digest) == (expected.columns, expected.digest)
    assert found.n_missing == expected.n_missing
    assert seen[0] >= 3
    assert len(scanned) == seen[-1] - seen[0]
    scanned.clear()
    again = ll.scan_table(path, weights="w", checkpoint=file)
    assert not scanned
    assert_same(ll.information_distances(again), ll.information_distances(expected))
    frame.iloc[:, ::-1].to_csv(path, index=False)
    with pytest.raises(DataError, match="other data or settings"):
        ll.scan_table(path, weights="w", checkpoint=file)


def test_the_file_is_written_while_the_work_goes_on(rng, tmp_path, monkeypatch):
    monkeypatch.setattr("loopylatent.compute.cache.SECONDS", 0.0)
    table = ll.scan_table(write(real_table(rng, 6000), tmp_path, "csv"))
    file = tmp_path / "so far.npz"
    there = set()
    ll.information_distances(
        table, checkpoint=file, progress=lambda done, _: there.add((done, file.exists()))
    )
    assert (0, False) in there
    assert any(is_there for _, is_there in there)
    assert list(tmp_path.glob("*.npz")) == []


def test_a_checkpoint_of_something_else_is_rejected(rng, tmp_path):
    frame = real_table(rng, 6000)
    table = ll.scan_table(write(frame, tmp_path, "csv"))
    file = tmp_path / "c.npz"
    with pytest.raises(StopHere):
        ll.information_distances(table, checkpoint=file, progress=stop_after(2))
    (tmp_path / "next").mkdir()
    frame.iloc[17, 3] += 1
    other = ll.scan_table(write(frame, tmp_path / "next", "csv"))
    for wrong, metric in ((other, "auto"), (table, "canonical")):
        with pytest.raises(DataError, match="other data or settings") as caught:
            ll.information_distances(wrong, metric, checkpoint=file)
        assert "\n" not in str(caught.value)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(DataError, match="not a checkpoint, or is damaged"):
        ll.information_distances(table, checkpoint=file)
    with pytest.raises(DataError, match="does not exist"):
        ll.information_distances(table, checkpoint=tmp_path / "no" / "c.npz")


def interrupt_in_merge(monkeypatch, owner, at, after):
    """Let Ctrl-C arrive in the ``at``-th merge, when a part of the sums is already added."""
    original, calls = owner.merge, []

    def merge(self, other):
        calls.append(1)
        if len(calls) == at:
            after(self, other)
            raise KeyboardInterrupt
        original(self, other)

    monkeypatch.setattr(owner, "merge", merge)


def test_sums_that_were_torn_by_an_interrupt_are_not_saved(rng, tmp_path, monkeypatch):
    table = ll.scan_table(write(tables(rng, 3000)["real with gaps"], tmp_path, "csv"))
    expected = ll.information_distances(table)
    file = tmp_path / "c.npz"
    for seconds in (60.0, 0.0):
        with monkeypatch.context() as patch:
            patch.setattr("loopylatent.compute.cache.SECONDS", seconds)
            interrupt_in_merge(patch, strengths.Sums, 3, lambda ours, theirs: np.add(
                ours.arrays["count"], theirs.arrays["count"], out=ours.arrays["count"]
            ))  # fmt: skip
            with pytest.raises(KeyboardInterrupt):
                ll.information_distances(table, checkpoint=file)
        assert file.exists() == (seconds == 0.0)
        assert_same(ll.information_distances(table, checkpoint=file), expected)


def test_a_scan_that_was_torn_by_an_interrupt_is_not_saved(rng, tmp_path, monkeypatch):
    path, file = write(tables(rng, 3000)["mixed"], tmp_path, "csv"), tmp_path / "c.npz"
    expected = ll.scan_table(path)

    def half(ours, theirs):
        ours.columns["a"].merge(theirs.columns["a"])

    with monkeypatch.context() as patch:
        interrupt_in_merge(patch, block_scan._Found, 3, half)
        with pytest.raises(KeyboardInterrupt):
            ll.scan_table(path, checkpoint=file)
    found = ll.scan_table(path, checkpoint=file)
    assert (found.digest, found.n_missing) == (expected.digest, expected.n_missing)


def test_a_checkpoint_of_the_same_rows_in_another_order_is_rejected(rng, tmp_path):
    frame = real_table(rng, 3000).round().astype(int)
    file = tmp_path / "c.npz"
    first = ll.scan_table(write(frame, tmp_path, "csv"))
    with pytest.raises(StopHere):
        ll.information_distances(first, checkpoint=file, progress=stop_after(1))
    again = ll.scan_table(write(frame.sort_values("a"), tmp_path, "csv"))
    assert again.digest == first.digest
    with pytest.raises(DataError, match="other data or settings"):
        ll.information_distances(again, checkpoint=file)
    (tmp_path / "t.csv").unlink()
    with pytest.raises(DataError, match=r"'t\.csv': the file was removed"):
        ll.information_distances(again, checkpoint=file)


def test_sums_are_kept_until_the_distances_are_there(rng, tmp_path, monkeypatch):
    frame = real_table(rng, 3000)
    frame["copy"] = frame["b"] * 2
    table = ll.scan_table(write(frame, tmp_path, "csv"))
    expected, file = ll.information_distances(table, on_degenerate="drop"), tmp_path / "c.npz"
    with pytest.raises(DistanceError, match="on_degenerate='drop'"):
        ll.information_distances(table, checkpoint=file)
    with monkeypatch.context() as patch:
        patch.setattr(block_sums, "_sum_stretch", lambda *_: pytest.fail("read again"))
        found = ll.information_distances(table, on_degenerate="drop", checkpoint=file)
    assert_same(found, expected)
    assert not file.exists()


def test_a_checkpoint_that_would_run_code_is_rejected(rng, tmp_path):
    table = ll.scan_table(write(real_table(rng, 500), tmp_path, "csv"))
    file = tmp_path / "c.npz"
    np.savez(file, key=np.array([object()], dtype=object), done=np.array(1))
    with pytest.raises(DataError, match="not a checkpoint"):
        ll.information_distances(table, checkpoint=file)


def test_sums_of_parts_merge_to_the_sums_of_all(rng):
    obs = ll.Observations.from_frame(real_table(rng, 500))
    x = obs.dense()
    plan = plan_sums("correlation", obs.columns, strengths.column_shift(x), has_missing=False)
    found = strengths.sum_table(plan, x, None)
    centred = x - plan.shift
    assert np.allclose(found.arrays["product"], centred.T @ centred)
    assert found.arrays["count"].item() == 500
    assert math.isclose(strengths.column_shift(x)[0], x[:, 0].mean())


# The command line ----------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csv", "parts"])
def test_the_command_line_reads_blocks(rng, tmp_path, capsys, form):
    frame = real_table(rng, 2000)
    frame["id"] = [f"row {k}" for k in range(2000)]
    path, whole = write(frame, tmp_path, form), tmp_path / "whole.csv"
    frame.to_csv(whole, index=False)
    written = [tmp_path / name for name in ("one.csv", "two.csv", "three.npz")]
    blocks = ["--drop", "id", "--blocks", "--block-rows", "100"]
    assert main(["distances", str(whole), "--drop", "id", "-o", str(written[0])]) == 0
    assert main(["distances", str(path), *blocks, "-o", str(written[1])]) == 0
    checkpoint = ["--checkpoint", str(tmp_path / "c.npz")]
    assert main(["distances", str(path), *blocks, *checkpoint, "-o", str(written[2])]) == 0
    assert "blocks of 100" in capsys.readouterr().err
    assert not list(tmp_path.glob("c.npz*"))
    one, two = (pd.read_csv(one, index_col=0) for one in written[:2])
    pd.testing.assert_frame_equal(one, two, rtol=1e-10)
    assert_same(
        ll.read_distances(written[2]),
        ll.information_distances(ll.scan_table(path, drop=["id"], block_rows=100)),
    )
    graphs = [tmp_path / name for name in ("a.csv", "b.csv")]
    assert main(["learn", str(path), *blocks, "-o", str(graphs[0])]) == 0
    assert main(["learn", str(written[2]), "--from-distances", "-o", str(graphs[1])]) == 0
    assert graphs[0].read_text() == graphs[1].read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["distances", "nowhere", "--blocks"], "no file"),
        (["distances", "t.csv", "--block-rows", "9"], "needs --blocks"),
        (["learn", "t.csv", "--checkpoint", "c.npz"], "needs --blocks"),
        (["learn", "t.csv", "--engine", "dask"], "needs --blocks"),
        (["learn", "sample:bfi25", "--blocks"], "Omit"),
        (["learn", "t.csv", "--blocks", "--regularize", "bic"], "Omit"),
        (["distances", "t.csv", "--blocks", "--metric", "rank"], "read in blocks"),
        (["distances", "t.csv", "--blocks", "--scheduler", "tcp://127.0.0.1:1"], "Add it"),
        (["learn", "t.npz", "--from-distances"], "does not contain distances"),
    ],
)
def test_the_command_line_says_what_is_wrong(
    rng, tmp_path, monkeypatch, capsys, arguments, message
):
    write(real_table(rng, 50), tmp_path, "csv")
    (tmp_path / "t.npz").write_bytes(b"nothing")
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    shown = capsys.readouterr().err.strip().splitlines()
    assert message in shown[-1]


@pytest.mark.parametrize("file", [one for one in NASTY if one.name in (
    "called PAR1.csv", "broken text.parquet", "account numbers.csv", "tracking numbers.csv",
    "row names.csv")], ids=str)  # fmt: skip
def test_a_nasty_file_is_read_in_blocks_or_rejected_in_one_line(file, tmp_path):
    path = tmp_path / file.name
    path.write_bytes(file.content())
    if not file.message:
        kinds = ll.read_table(path).kinds
        assert tuple(column.kind for column in ll.scan_table(path).columns) == tuple(kinds)
        return
    with pytest.raises(DataError, match="1 has 30001" if "row" in file.name else file.message):
        ll.scan_table(path)


def test_long_identifiers_are_text_in_blocks_as_in_memory(tmp_path):
    path = tmp_path / "accounts.csv"
    path.write_bytes(with_column(identifiers(18, 3)))
    assert ll.scan_table(path).columns[-1] == ll.read_table(path).columns[-1]
