"""Reading files into data frames: what is accepted, and what each error says."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from helpers.platforms import only_linux
from hypothesis import given, settings, strategies as st

from loopylatent.errors import DataError, LimitError, did_you_mean, listed, quoted
from loopylatent.tables.observations import Observations
from loopylatent.tables.read import read_frame

PLAIN = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, np.nan, 1.5], "c": ["x", "y", "x"]})


def csv_of(frame: pd.DataFrame, sep: str = ",") -> bytes:
    return frame.to_csv(index=False, sep=sep).encode()


def error_text(source: object, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_frame(source, **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 300
    return message


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_each_usual_delimiter_is_found(sep: str) -> None:
    pd.testing.assert_frame_equal(read_frame(csv_of(PLAIN, sep)), PLAIN)


@pytest.mark.parametrize("given", ["tab", "\\t", "\t"])
def test_tab_may_be_spelled_out(given: str) -> None:
    pd.testing.assert_frame_equal(read_frame(csv_of(PLAIN, "\t"), delimiter=given), PLAIN)


def test_spaces_separate_when_asked_to() -> None:
    assert read_frame(b"a b c\n1 2 3\n", delimiter=" ").to_numpy().tolist() == [[1, 2, 3]]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (("1.234", "950", "12.500"), [1234, 950, 12500]),
        (("1.234", "", "-12.500"), [1234, np.nan, -12500]),
        (("1.234.567", "950", "12.500"), ["1.234.567", "950", "12.500"]),
        (("0.234", "950", "12.500"), [0.234, 950, 12.5]),
        (("1.23", "950", "12.500"), [1.23, 950, 12.5]),
        (("1.234,5", "950", "12.500,25"), [1234.5, 950, 12500.25]),
    ],
)
def test_points_group_thousands_where_another_column_has_decimal_commas(
    written: tuple[str, ...], read: list[object]
) -> None:
    rows = "\n".join(f"{x};{y}" for x, y in zip(("1,5", "2,5", "3"), written, strict=True))
    frame = read_frame(f"x;y\n{rows}\n".encode())
    assert frame["x"].tolist() == [1.5, 2.5, 3.0]
    pd.testing.assert_series_equal(
        frame["y"], pd.Series(read), check_dtype=False, check_names=False
    )


def test_points_are_decimal_where_no_column_has_decimal_commas() -> None:
    assert read_frame(b"x;y\n1;1.234\n2;950\n")["y"].tolist() == [1.234, 950]


@pytest.mark.parametrize("gap", ["", "0.5", "7"])
def test_long_identifiers_stay_different(gap: str) -> None:
    frame = read_frame(f"x,y\n100000000000000001,1\n{gap},2\n100000000000000002,3\n".encode())
    assert frame["x"].dropna().map(str).nunique() == 2 + bool(gap)


def test_a_first_column_called_as_parquet_files_begin_is_read_as_text() -> None:
    assert list(read_frame(b"PAR1,b,PAR1x\n1,2,3\n4,5,PAR1").columns) == ["PAR1", "b", "PAR1x"]


def test_delimiters_inside_quotation_marks_do_not_count() -> None:
    frame = read_frame(b'a;"b, c";d\n1;"x, y, z";3\n2;"u, v, w";4\n')
    assert list(frame.columns) == ["a", "b, c", "d"]
    assert frame.iloc[0, 1] == "x, y, z"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_each_encoding_is_read(encoding: str) -> None:
    frame = read_frame("größe,ort,c\n1,Köln,2\n".encode(encoding))
    assert list(frame.columns) == ["größe", "ort", "c"]
    assert frame.iloc[0, 1] == "Köln"


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_each_line_ending_is_read(ending: str) -> None:
    assert read_frame(ending.join(["a,b,c", "1,2,3", "4,5,6"]).encode()).shape == (2, 3)


def test_blank_lines_and_spaces_around_fields_are_ignored() -> None:
    frame = read_frame(b'\n  \n a, "b c" ,d\n1, "x, y", 3\n\n')
    assert list(frame.columns) == ["a", "b c", "d"]
    assert frame.iloc[0].tolist() == [1, "x, y", 3]


def test_decimal_commas_are_numbers_between_semicolons() -> None:
    frame = read_frame(b"a;b;c;self\n1,5;x;1,5e3;1,0\n-,5;1,5;2;2,5\n;y;;3\n")
    assert frame["a"].tolist()[:2] == [1.5, -0.5]
    assert frame["b"].tolist() == ["x", "1,5", "y"]
    assert frame["c"].tolist()[:2] == [1500.0, 2.0]
    assert frame["self"].tolist() == [1.0, 2.5, 3.0]


def test_digits_of_other_scripts_are_numbers_between_semicolons() -> None:
    assert read_frame("a;b\n９;1,5\n９;2,5\n".encode())["a"].tolist() == [9, 9]


@pytest.mark.parametrize("word", ["", "NA", "n/a", "NaN", "NULL", "?", ".", "#N/A"])
def test_words_for_missing_values_are_missing(word: str) -> None:
    assert read_frame(f"a,b,c\n1,2,3\n4,{word},6\n".encode())["b"].isna().tolist() == [False, True]


def test_short_rows_end_in_missing_values() -> None:
    assert read_frame(b"a,b,c\n1,2\n1,2,3\n")["c"].isna().tolist() == [True, False]


def test_bytes_paths_open_files_and_gzip_give_the_same_frame(tmp_path: Path) -> None:
    raw = csv_of(PLAIN)
    path = tmp_path / "table.csv"
    path.write_bytes(raw)
    packed = tmp_path / "table.csv.gz"
    packed.write_bytes(gzip.compress(raw, mtime=0))
    with path.open("rb") as binary, path.open(encoding="utf-8") as text:
        sources = [raw, path, str(path), packed, io.BytesIO(raw), binary, text]
        for source in sources:
            pd.testing.assert_frame_equal(read_frame(source), PLAIN)  # type: ignore[arg-type]


def test_parquet_is_read_without_its_index(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    PLAIN.set_index(pd.Index([7, 8, 9])).to_parquet(path)
    pd.testing.assert_frame_equal(read_frame(path), PLAIN)


def excel_of(sheets: dict[str, pd.DataFrame], **options: object) -> bytes:
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as writer:
        for name, frame in sheets.items():
            frame.to_excel(writer, sheet_name=name, index=False, **options)  # type: ignore[arg-type]
    return buffer.getvalue()


def test_excel_sheets_are_read_by_name_and_by_position() -> None:
    book = excel_of({"one": PLAIN, "two": PLAIN.iloc[::-1].reset_index(drop=True)})
    pd.testing.assert_frame_equal(read_frame(book), PLAIN, check_dtype=False)
    for sheet in ("two", 1):
        assert read_frame(book, sheet=sheet)["a"].tolist() == [3, 2, 1]


def test_excel_header_may_stand_below_empty_rows() -> None:
    book = excel_of({"one": PLAIN}, startrow=2)
    pd.testing.assert_frame_equal(read_frame(book), PLAIN, check_dtype=False)


def test_an_unknown_sheet_is_rejected_with_the_known_ones() -> None:
    assert "'one'" in error_text(excel_of({"one": PLAIN}), sheet="two")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "is empty"),
        (b" \n\n", "is empty"),
        (b"a,b,c\n", "header but no rows"),
        (b"a,b,c\n1,2,3,4\n1,2,3\n", "line 2 has 4 fields but the header has 3"),
        (b"a,b,c\n1,2,3\n1,2\n1,2,3,4\n", "line 4 has 4 fields but the header has 3"),
        (b"a\n1\n2\n", "only one column"),
        (b"a b c\n1 2 3\n", "delimiter=' '"),
        (b'a,b,c\n1,"x,3\n4,5,6\n', "quotation mark"),
        (b'a,b,c\n1,"' + b"x" * 200_000 + b",3\n", "quotation mark"),
        (b"a,b,a\n1,2,3\n", "2 columns are called 'a'"),
        (b",a,b\n1,2,3\n", "Column 1 of 3 has no name"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff", "not a table"),
        (b"\x00\x01\x02,\x00,\x00\n", "not a table"),
        (b"\xff\xfea", "not a table"),
        (b"PAR1\x15\x04 and then nothing", "Parquet file is damaged"),
        (b"PK\x03\x04 and then nothing", "workbook is damaged"),
        (b"\x1f\x8b and then nothing", "gzip file is damaged"),
        (gzip.compress(b"a,b,c\n1,2,3\n" * 100, mtime=0)[:-20], "gzip file is damaged"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xlsx"),
    ],
)
def test_an_unusable_file_is_rejected_with_the_reason(content: bytes, expected: str) -> None:
    assert expected in error_text(content)


def test_a_wrong_delimiter_is_rejected_with_the_right_one() -> None:
    assert "try delimiter=';'" in error_text(b"a;b;c\n1;2;3\n", delimiter=",")
    assert "must be one ASCII character" in error_text(b"a;b;c\n1;2;3\n", delimiter="::")


def test_a_late_wide_row_is_named_by_its_line() -> None:
    rows = [b"a,b,c"] + [b"1,2,3"] * 400_000 + [b"1,2,3,4", b""]
    assert "line 400002 has 4 fields" in error_text(b"\n".join(rows))


def test_a_trailing_delimiter_makes_no_column() -> None:
    assert list(read_frame(b"a,b,c,\n1,2,3,\n4,5,6,\n").columns) == ["a", "b", "c"]


def test_a_zip_archive_that_is_not_a_workbook_is_rejected() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("table.csv", "a,b,c\n1,2,3\n")
    assert "unpack it" in error_text(buffer.getvalue())


def test_paths_without_a_file_are_rejected(tmp_path: Path) -> None:
    assert "no file" in error_text(tmp_path / "missing.csv")
    assert "is a folder" in error_text(tmp_path)
    assert "Cannot open" in error_text("x" * 5000)


@pytest.mark.parametrize(
    "url", ["http://host/t.csv", "https://host/t.csv", "s3://b/t", "file:///t"]
)
def test_web_addresses_are_rejected(url: str) -> None:
    assert "web address" in error_text(url)


def test_tables_beyond_the_limit_are_rejected_also_when_packed() -> None:
    large = b"a,b,c\n" + b"1,2,3\n" * 10_000
    parquet = io.BytesIO()
    pd.DataFrame(np.zeros((10_000, 3)), columns=list("abc")).to_parquet(parquet)
    for content in (large, gzip.compress(large, mtime=0), io.BytesIO(large), parquet.getvalue()):
        assert "larger than" in error_text(content, max_bytes=20_000)
    assert "larger than" in error_text(excel_of({"one": PLAIN}), max_bytes=1000)


def test_tables_of_more_cells_than_asked_for_are_rejected() -> None:
    book, rows = excel_of({"one": PLAIN}), csv_of(PLAIN)
    for content in (rows, book):
        assert read_frame(content, max_cells=9).shape == (3, 3)
        with pytest.raises(LimitError, match="at most 2 rows"):
            read_frame(content, max_cells=8)


def test_lines_within_quotation_marks_count_as_one_row() -> None:
    content = b'a,b,c\n1,2,"' + b"\n" * 100 + b'x"\n3,4,y\n'
    assert read_frame(content, max_cells=6).shape == (2, 3)


def test_a_short_row_may_be_empty_but_for_its_first_cell() -> None:
    content = ",".join(f"c{k}" for k in range(300)).encode() + b"\n" + b"1\n" * 300
    assert read_frame(content).shape == (300, 300)


def test_rows_of_a_sheet_may_end_early_and_its_last_rows_be_blank() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [None, 3.0], "c": [None, None]})
    read = read_frame(excel_of({"one": frame.reindex(range(5))}))
    assert read.isna().to_numpy().tolist() == [[False, True, True], [False, False, True]]


def said_with_little_memory(content: bytes, folder: Path, megabytes: int) -> str:
    path = folder / "table"
    path.write_bytes(content)
    script = Path(__file__).parents[1] / "helpers" / "table_memory_run.py"
    command = [sys.executable, str(script), str(path), str(megabytes)]
    paths = os.pathsep.join([str(script.parents[2]), str(script.parents[1])])
    counted = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "PYTHONPATH": paths}
    return subprocess.run(command, capture_output=True, text=True, env=counted, check=False).stdout


@only_linux
def test_too_little_memory_is_not_taken_for_a_quotation_mark(tmp_path: Path) -> None:
    content = b"a,b,c,d\n" + b"1,2,3,4\n" * 2_000_000
    assert "out of memory" in said_with_little_memory(content, tmp_path, 100)


@only_linux
def test_a_plain_table_takes_little_more_memory_than_pandas_needs(tmp_path: Path) -> None:
    content = b"a,b,c,d\n" + b"1,2,3,4\n" * 2_500_000
    assert said_with_little_memory(content, tmp_path, 320) == "(2500000, 4)\n"


def test_many_short_members_of_a_gzip_file_are_one_table() -> None:
    content = gzip.compress(b"", mtime=0) * 3000 + gzip.compress(csv_of(PLAIN), mtime=0)
    pd.testing.assert_frame_equal(read_frame(content), PLAIN)


@only_linux
def test_values_of_fixed_width_count_in_every_cell_before_they_are_read(tmp_path: Path) -> None:
    width, buffer = 500_000, io.BytesIO()
    rows = pa.table({name: pa.array([bytes(width)] * 20, pa.binary(width)) for name in "ab"})
    with pq.ParquetWriter(buffer, rows.schema, compression="gzip") as writer:
        for _ in range(30):
            writer.write_table(rows)
    assert len(buffer.getvalue()) < 100_000
    assert "larger than 512 MB" in said_with_little_memory(buffer.getvalue(), tmp_path, 200)


def test_the_name_of_the_source_is_in_the_message() -> None:
    assert error_text(b"", name="answers.csv").startswith("'answers.csv':")


def assert_frame_or_one_line(content: bytes) -> None:
    try:
        frame = read_frame(content)
    except DataError:
        error_text(content)
    else:
        assert len(frame) > 0


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_give_a_frame_or_one_line(content: bytes) -> None:
    assert_frame_or_one_line(content)


@settings(max_examples=100)
@given(st.text(alphabet='ab1,;\t|"\n .-', max_size=60))
def test_arbitrary_text_gives_a_frame_or_one_line(text: str) -> None:
    assert_frame_or_one_line(text.encode())


@given(st.text(max_size=300))
def test_a_quoted_name_is_one_short_line(name: str) -> None:
    shown = quoted(name)
    assert shown.isprintable()
    assert len(quoted("x" + name)) <= 2 + 60 * len("\\U0010ffff")


def test_long_lists_and_near_names_are_shown_briefly() -> None:
    names = [f"item{k}" for k in range(100)]
    assert listed(names) == "'item0', 'item1', 'item2', 'item3', 'item4' and 95 more"
    assert did_you_mean("itm7", names).startswith("did you mean 'item7'")


@pytest.mark.parametrize("mark", [";", ",", "\t", ":"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_first_line_may_name_the_separator(mark: str, end: str) -> None:
    text = f"sep={mark}\n{PLAIN.to_csv(index=False, sep=mark)}".replace("\n", end)
    pd.testing.assert_frame_equal(read_frame(text.encode()), PLAIN)
    pd.testing.assert_frame_equal(read_frame(text.encode("utf-16")), PLAIN)


def test_the_separator_that_is_asked_for_goes_before_the_one_that_is_named() -> None:
    text = b"sep=,\n" + csv_of(PLAIN, ";")
    pd.testing.assert_frame_equal(read_frame(text, delimiter=";"), PLAIN)


def test_a_column_may_be_called_like_a_line_that_names_the_separator() -> None:
    assert list(read_frame(b"sep=a,b\n1,2\n3,4\n").columns) == ["sep=a", "b"]


def test_carriage_returns_end_all_lines_or_none() -> None:
    old = PLAIN.assign(c=["x\ny", "z", "x\ny"]).to_csv(index=False, quoting=1, lineterminator="\r")
    assert read_frame(old.encode())["c"].tolist() == ["x\ny", "z", "x\ny"]
    inside = PLAIN.assign(c=["x\ry", "z", "x"]).to_csv(index=False, quoting=1)
    assert read_frame(inside.encode())["c"].tolist() == ["x\ry", "z", "x"]
    assert "line 3 contains a lone" in error_text(b"a,b\n1,2\n3\r,4\n5,6\n")


def test_a_delimiter_beyond_ascii_is_rejected() -> None:
    assert "must be one ASCII character; try ','" in error_text(csv_of(PLAIN), delimiter="é")


def test_a_pipe_is_no_file_and_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a pipe or a device" in error_text(pipe)


def test_half_a_character_is_no_name() -> None:
    names = pd.Index(["\ud800", "b", "c"], dtype=object)
    with pytest.raises(DataError, match="column 1 of 3 is not valid Unicode"):
        Observations.from_frame(PLAIN.set_axis(names, axis="columns"))
