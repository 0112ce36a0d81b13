"""Unusual, damaged and malicious files: each gives a table or a one-line error.

They are generated here, so that the repository contains no binary files.
"""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import openpyxl
import openpyxl.chart
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Nasty:
    """A file, and the expected outcome of reading and learning from it."""

    name: str
    content: Callable[[], bytes]
    message: str = ""
    """Part of the error message; empty if a graph is learned."""

    def __str__(self) -> str:
        return self.name


# Ordinary tables ---------------------------------------------------------------------------


def numbers(n: int = 60, p: int = 6, seed: int = 0) -> pd.DataFrame:
    """Return a table in which all columns depend on one hidden variable."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, 1)) + rng.normal(size=(n, p))
    return pd.DataFrame(values.round(4), columns=[f"x{k}" for k in range(p)])


def csv_of(frame: pd.DataFrame, sep: str = ",") -> bytes:
    return frame.to_csv(index=False, sep=sep).encode()


def parquet_of(table: pa.Table | pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    arrow = pa.Table.from_pandas(table) if isinstance(table, pd.DataFrame) else table
    pq.write_table(arrow, buffer)
    return buffer.getvalue()


def valid() -> bytes:
    return csv_of(numbers())


def with_column(values: object, name: str = "odd", frame: pd.DataFrame | None = None) -> bytes:
    table = numbers() if frame is None else frame
    return csv_of(table.assign(**{name: values}))


def amounts(form: Callable[[float], str]) -> list[str]:
    rng = np.random.default_rng(1)
    return [form(float(x)) for x in np.exp(rng.normal(7, 1.2, 60))]


def continental(x: float) -> str:
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


# Text --------------------------------------------------------------------------------------


def ragged() -> bytes:
    return valid() + b"1,2,3,4,5,6,7,8\n"


def short_rows() -> bytes:
    return valid() + b"1,2\n3\n"


def mixed_encodings() -> bytes:
    words = ["Köln", "Málaga", "Łódź"]
    rows = ["ort,a,b,c"]
    frame = numbers()
    rows += [f"{words[k % 2]},{','.join(map(str, frame.iloc[k, :3]))}" for k in range(60)]
    lines = [row.encode("utf-8" if k % 3 else "latin-1") for k, row in enumerate(rows)]
    return b"\n".join(lines)


def wide(n_columns: int = 10_000) -> bytes:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, n_columns)).round(3)
    return csv_of(pd.DataFrame(values, columns=[f"c{k}" for k in range(n_columns)]))


def row_names(n_columns: int = 30_000) -> bytes:
    """A table as R writes it: no name above the row names, and long lines."""
    rng = np.random.default_rng(0)
    header = ",".join(f"gene_{k:016d}" for k in range(n_columns))
    rows = [f"s{k}," + ",".join(rng.random(n_columns).astype(str)) for k in range(3)]
    return "\n".join([header, *rows]).encode()


def identifiers(digits: int, different: int, gap: bool = False) -> list[str]:
    """Integers that differ only in their last digits; one may be missing."""
    found = [str(10 ** (digits - 1) + k % different) for k in range(60)]
    return ["", *found[1:]] if gap else found


def continental_table() -> bytes:
    """Decimal commas, and a column with points as thousands separators."""
    frame = numbers().map(lambda x: f"{x:.4f}".replace(".", ","))
    grouped = amounts(lambda x: f"{x:,.0f}".replace(",", "."))
    return csv_of(frame.assign(pay=grouped), ";")


def cells(form: str) -> list[str]:
    """Too many different values for a categorical column, in this format."""
    return [form.format(k=k, day=1 + k % 28) for k in range(60)]


def arabic(x: float) -> str:
    digits = str.maketrans("0123456789.", "٠١٢٣٤٥٦٧٨٩٫")
    return f"{x:.2f}".translate(digits)


def returns_in_cells() -> bytes:
    """As written by spreadsheets on old Macs: lines end with CR, cells contain LF."""
    texts = [("one\nline", "two")[k % 2] for k in range(60)]
    table = numbers().assign(odd=texts).to_csv(index=False, quoting=1, lineterminator="\r")
    return table.encode()


def zipped(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


ODD_NAMES = (
    *("🦊", "שלום مرحبا", "\u202eabc", "two\nlines", "'\"`", "<img src=x onerror=alert(1)>"),
    *("=cmd()|' /C calc'!A0", "+1", "@x", "a,b;c"),
)


def odd_names() -> pd.DataFrame:
    return numbers(p=len(ODD_NAMES)).set_axis(list(ODD_NAMES), axis="columns")


def odd_names_in_a_book() -> bytes:
    """The names as text cells; otherwise those with = would become formulas."""
    book = openpyxl.load_workbook(io.BytesIO(book_of(odd_names())))
    for cell in book.active[1]:
        cell.data_type = "s"
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def names_of(*names: str) -> bytes:
    """A Parquet file, which can hold any of these names."""
    return parquet_of(numbers(p=max(4, len(names))).set_axis(
        [*names, *"abcd"][: max(4, len(names))], axis="columns"
    ))  # fmt: skip


# Decompression bombs ------------------------------------------------------------------------


def bomb(n_bytes: int = 2 * 2**30) -> bytes:
    """Two gigabytes of zeros in one gzip stream; after a full flush each chunk packs the same."""
    packer = zlib.compressobj(1, wbits=31)
    zeros = bytes(1 << 22)
    first, *more = (packer.compress(zeros) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(3))
    assert more[0] == more[1]
    return first + more[0] * (n_bytes // len(zeros) - 1) + packer.flush()


def streamed_bomb(n_bytes: int = 2 * 2**30) -> bytes:
    """The same as one stream at the highest compression."""
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1 << 22)
    parts = [packer.compress(zeros) for _ in range(n_bytes // len(zeros))]
    return b"".join([*parts, packer.flush()])


def slow_bomb() -> bytes:
    """A table that continues with zeros."""
    packer = zlib.compressobj(9, wbits=31)
    start = packer.compress(b"a,b,c\n" + b"1,2,3\n2,3,1\n" * 1000)
    rows = b"0,0,0\n" * 700_000
    return b"".join([start, *(packer.compress(rows) for _ in range(40)), packer.flush()])


BLANKS = 64 * 2**20


def workbook_bomb(declared: int = BLANKS) -> bytes:
    """A workbook whose only sheet is blank; its declared size may be false."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts_of(book_of(numbers())).items():
            is_sheet = name.startswith("xl/worksheets")
            archive.writestr(name, b" " * BLANKS if is_sheet else content)
    return buffer.getvalue().replace(BLANKS.to_bytes(4, "little"), declared.to_bytes(4, "little"))


def parts_of(book: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(book)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def with_sheet(change: Callable[[bytes], bytes], part: str = "xl/worksheets/sheet1.xml") -> bytes:
    """A workbook with the XML of one part changed."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts_of(book_of(numbers())).items():
            archive.writestr(name, change(content) if name == part else content)
    return buffer.getvalue()


def billion_laughs() -> bytes:
    entities = '<!ENTITY a0 "ha">' + "".join(
        f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 12)
    )
    return with_sheet(
        lambda xml: b"<!DOCTYPE x [" + entities.encode() + b"]>" + xml.replace(
            b"<v>", b"<v>&a11;", 1
        )
    )  # fmt: skip


def outside_entity() -> bytes:
    """A workbook that refers to a file on this machine."""
    doctype = b'<!DOCTYPE x [<!ENTITY out SYSTEM "file:///etc/passwd">]>'
    return with_sheet(lambda xml: doctype + xml.replace(b"<v>", b"<v>&out;", 1))


def far_cell() -> bytes:
    """One cell in the last possible row and column."""
    row = b'<row r="4000000000"><c r="XFD4000000000"><v>1</v></c></row></sheetData>'
    return with_sheet(lambda xml: xml.replace(b"</sheetData>", row))


def far_columns() -> bytes:
    """Many rows, each with one cell far on the right."""
    rows = b"".join(
        b'<row r="%d"><c r="XFD%d"><v>1</v></c></row>' % (k, k) for k in range(90, 20_000)
    )
    return with_sheet(lambda xml: xml.replace(b"</sheetData>", rows + b"</sheetData>"))


def stray_cell() -> bytes:
    """One cell in the last column, next to a small table."""
    cell = b'<c r="XFD2"><v>1</v></c></row><row r="3"'
    return with_sheet(lambda xml: xml.replace(b'</row><row r="3"', cell, 1))


def long_header(n_names: int, n_lines: int) -> bytes:
    """Many names, and below them many lines of one cell."""
    return ",".join(f"c{k}" for k in range(n_names)).encode() + b"\n" + b"1\n" * n_lines


def parquet_text_bomb() -> bytes:
    """Two long texts, repeated: small on disk, a gigabyte in memory."""
    long = pa.array(["x" * 2**17, "y" * 2**17])
    some = pa.table({"a": long.take(pa.array(np.arange(500) % 2)), "b": np.arange(500) % 7})
    buffer = io.BytesIO()
    with pq.ParquetWriter(buffer, some.schema) as writer:
        for _ in range(20):
            writer.write_table(some)
    return buffer.getvalue()


# Workbooks ---------------------------------------------------------------------------------


def book_of(frame: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.to_excel(buffer, index=False)
    return buffer.getvalue()


def changed_book(change: Callable[[openpyxl.Workbook], None]) -> bytes:
    book = openpyxl.load_workbook(io.BytesIO(book_of(numbers())))
    change(book)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def formulas_without_values() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        sheet = book.active
        sheet["G1"] = "sum"
        for row in range(2, sheet.max_row + 1):
            sheet[f"G{row}"] = f"=A{row}+B{row}"

    return changed_book(change)


def formulas_with_values() -> bytes:
    rng = np.random.default_rng(3)
    numbers_of_rows = iter(rng.normal(size=60).round(3).tolist())
    xml = parts_of(formulas_without_values())["xl/worksheets/sheet1.xml"].split(b"<v></v>")
    if len(xml) == 1:
        xml = parts_of(formulas_without_values())["xl/worksheets/sheet1.xml"].split(b"<v />")
    filled = xml[0] + b"".join(
        b"<v>%s</v>" % str(next(numbers_of_rows)).encode() + part for part in xml[1:]
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts_of(formulas_without_values()).items():
            archive.writestr(name, filled if name.endswith("sheet1.xml") else content)
    return buffer.getvalue()


def formula_errors() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        for cell in ("A5", "B9", "C3"):
            book.active[cell] = "#DIV/0!"
            book.active[cell].data_type = "e"

    return changed_book(change)


def merged_header() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        book.active.merge_cells("A1:C1")

    return changed_book(change)


def merged_cells() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        book.active.merge_cells("B4:C6")

    return changed_book(change)


def hidden_sheet_first() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        notes = book.create_sheet("notes", 0)
        notes["A1"] = "not for you"
        notes.sheet_state = "hidden"
        book.active = 1

    return changed_book(change)


def empty_sheet_first() -> bytes:
    return changed_book(lambda book: book.create_sheet("cover", 0) and None)


def chart_sheet_first() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        chart = openpyxl.chart.BarChart()
        chart.add_data(openpyxl.chart.Reference(book.active, min_col=1, min_row=1, max_row=9))
        book.create_chartsheet("chart", 0).add_chart(chart)

    return changed_book(change)


def all_sheets_hidden_or_empty() -> bytes:
    def change(book: openpyxl.Workbook) -> None:
        book.create_sheet("cover", 0)
        book.worksheets[1].sheet_state = "veryHidden"
        book.active = 0

    return changed_book(change)


def dates_in_a_book() -> bytes:
    frame = numbers().assign(day=pd.date_range("2020-01-01", periods=60))
    return book_of(frame)


# Parquet -----------------------------------------------------------------------------------


def arrow(**columns: pa.Array) -> bytes:
    table = pa.Table.from_pandas(numbers(), preserve_index=False)
    for name, values in columns.items():
        table = table.append_column(name, values)
    return parquet_of(table)


def many_types() -> bytes:
    rng = np.random.default_rng(0)
    flags = [bool(x) if x < 2 else None for x in rng.integers(0, 3, 60)]
    return arrow(
        flag=pa.array(flags),
        price=pa.array([decimal.Decimal(int(x)) / 100 for x in rng.integers(0, 9999, 60)]),
        group=pa.array(rng.choice(["u", "v", "w"], 60)).dictionary_encode(),
        small=pa.array(rng.integers(0, 100, 60), pa.uint8()),
        half=pa.array(rng.normal(size=60).astype(np.float16)),
        large=pa.array(rng.choice(["p", "q"], 60), pa.large_string()),
        raw=pa.array([bytes([x]) for x in rng.integers(65, 68, 60)], pa.binary()),
    )


def broken_text() -> bytes:
    """A text column whose bytes are Latin-1."""
    towns = [("Köln", "Málaga")[k % 2].encode("latin-1") for k in range(60)]
    return arrow(town=pa.array(towns, pa.binary()).view(pa.string()))


_DAYS = [dt.date(2020, 1, 1) + dt.timedelta(days=k) for k in range(60)]


NASTY: tuple[Nasty, ...] = (
    # empty, truncated, mislabelled
    Nasty("empty.csv", lambda: b"", "the file is empty"),
    Nasty("blank.csv", lambda: b" \r\n\t\n ", "the file is empty"),
    Nasty("header only.csv", lambda: b"a,b,c\n", "no rows below it"),
    Nasty("two rows.csv", lambda: b"a,b,c\n1,2,3\n3,1,2\n", "There are 2 rows"),
    Nasty("three rows.csv", lambda: b"a,b,c\n1,2,7\n3,1,2\n2,9,4\n"),
    Nasty("one column.csv", lambda: b"a\n1\n2\n3\n", "only one column"),
    Nasty("two columns.csv", lambda: b"a,b\n1,2\n2,1\n3,9\n", "At least 3"),
    Nasty("ragged.csv", ragged, "line 62 has 8 fields but the header has 6"),
    Nasty("short rows.csv", short_rows),
    Nasty("row names.csv", row_names, "line 2 has 30001 fields but the header has 30000"),
    Nasty("no end.csv", lambda: valid()[:-9]),
    Nasty("open quote.csv", lambda: valid() + b'1,2,"3,4,5,6\n', "quotation mark"),
    Nasty("long cell.csv", lambda: with_column(["x" * 140_000, *["y"] * 59]),
          "a value of more than 131,072 characters. Shorten it"),
    Nasty("long quoted cell.csv", lambda: valid() + b'1,2,"3\n' + b"1,2\n" * 40_000,
          "a quotation mark is opened and never closed"),
    Nasty("not a table.csv", lambda: bytes(range(256)) * 9, "not a table"),
    Nasty("prose.txt", lambda: b"It was a dark night.\nRain fell.\nNo table here.\n", "one column"),
    Nasty("html.csv", lambda: b"<!doctype html>\n<title>404</title>\n<p>Not found\n", "a web page"),
    Nasty("web page.xlsx", lambda: b"<html>\n<table>\n<tr>" + valid(), "a web page or XML"),
    Nasty("json.csv", lambda: b'{"a": [1, 2, 3],\n "b": [4, 5, 6]}\n', "this is JSON"),
    Nasty("lines of json.csv", lambda: b'{"a": 1, "b": 2, "c": 3}\n' * 9, "this is JSON"),
    Nasty("title.csv", lambda: b"My survey\n\n" + valid(), "remove the lines above"),
    Nasty("comments.csv", lambda: b"# made by hand\n" + valid(), "the lines below it have 6"),
    Nasty("no names.csv", lambda: valid().partition(b"\n")[2], "not column names"),
    Nasty("no names of items.csv", lambda: b"3,1,3\n1,2,2\n2,2,1\n3,3,1\n", "not column names"),
    Nasty("years.csv", lambda: b"2019,2020,2021\n1,2,7\n3,1,2\n2,9,4\n"),
    Nasty("wave lengths.csv", lambda: b"400.5,401,401.5\n1,2,7\n3,1,2\n2,9,4\n"),
    Nasty("declared.csv", lambda: b"sep=;\r\n" + csv_of(numbers(), ";")),
    Nasty("declared in quotes.csv", lambda: b'\xef\xbb\xbf"sep=,"\n' + valid()),
    Nasty("declared oddly.csv", lambda: b"sep=:\n" + csv_of(numbers(), ":")),
    Nasty("declared and ragged.csv", lambda: b"sep=,\n" + ragged(), "line 63 has 8 fields"),
    Nasty("old mac.csv", lambda: valid().replace(b"\n", b"\r")),
    Nasty("old mac cells.csv", returns_in_cells),
    Nasty("lone return.csv", lambda: valid() + b"1,2,3\r,4,5,6\n", "line 62 contains a lone"),
    Nasty("lone return and quotes.csv", lambda: valid() + b'"1",2,3\r,4,5,6\n1,2,3,4,5,6\n',
          "line 62 contains a lone"),
    Nasty("half old mac.csv", lambda: valid().replace(b"\n", b"\r", 30)),
    Nasty("two returns.csv", lambda: valid().replace(b"\n", b"\r\r\n")),
    Nasty("many returns.csv", lambda: valid().replace(b"\n", b"\r" * 100_000 + b"\n", 1)),
    Nasty("database.csv", lambda: b"SQLite format 3\x00" + bytes(range(99)), "not a table"),
    Nasty("open sheet.xlsx", lambda: zipped(mimetype=b"", content_xml=b"<x/>"), "OpenDocument"),
    Nasty("archive.xlsx", lambda: zipped(table_csv=valid()), "a zip archive"),
    Nasty("trailing.csv", lambda: valid().replace(b"\n", b",\n")),
    Nasty("really parquet.csv", lambda: parquet_of(numbers())),
    Nasty("really text.xlsx", valid),
    Nasty("called PAR1.csv", lambda: valid().replace(b"x0", b"PAR1", 1)),
    Nasty("really excel.parquet", lambda: book_of(numbers())),
    Nasty("cut.parquet", lambda: parquet_of(numbers())[:-40], "Parquet file is damaged"),
    Nasty("cut.xlsx", lambda: book_of(numbers())[:-200], "workbook is damaged"),
    Nasty("old.xlsx", lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old or password"),
    # encodings
    Nasty("mixed encodings.csv", mixed_encodings),
    Nasty("mark.csv", lambda: b"\xef\xbb\xbf" + valid()),
    Nasty("two marks.csv", lambda: b"\xef\xbb\xbf" * 2 + valid()),
    Nasty("utf16.csv", lambda: valid().decode().encode("utf-16")),
    Nasty("utf16le mark.csv", lambda: b"\xff\xfe" + valid().decode().encode("utf-16-le")),
    Nasty("utf16be mark.csv", lambda: b"\xfe\xff" + valid().decode().encode("utf-16-be")),
    Nasty("utf16le.csv", lambda: valid().decode().encode("utf-16-le"), "UTF-16 without a byte"),
    Nasty("utf16be.csv", lambda: valid().decode().encode("utf-16-be"), "UTF-16 without a byte"),
    Nasty("utf32.csv", lambda: valid().decode().encode("utf-32"), "not a table"),
    Nasty("cut utf16.csv", lambda: valid().decode().encode("utf-16")[:-1], "not a table"),
    Nasty("zero byte.csv", lambda: valid() + b"1,2,\x00,4,5,6\n", "line 62 contains a zero byte"),
    # compressed
    Nasty("bomb.csv.gz", bomb, "unpacks to more than"),
    Nasty("slow bomb.csv.gz", slow_bomb, "unpacks to more than"),
    Nasty("twice.csv.gz", lambda: gzip.compress(gzip.compress(valid())), "gzipped twice"),
    Nasty("in two parts.csv.gz", lambda: gzip.compress(valid()) + gzip.compress(b"1,2,3,4,5,6\n")),
    Nasty("padded.csv.gz", lambda: gzip.compress(valid()) + bytes(512)),
    Nasty("cut.csv.gz", lambda: gzip.compress(valid())[:-9], "gzip file is damaged"),
    Nasty("wrong.csv.gz", lambda: b"\x1f\x8b" + bytes(range(99)), "gzip file is damaged"),
    Nasty("bomb.xlsx", workbook_bomb, "unpacks to more than"),
    Nasty("lying bomb.xlsx", lambda: workbook_bomb(declared=4096), "damaged"),
    Nasty("laughs.xlsx", billion_laughs, "damaged"),
    Nasty("outside.xlsx", outside_entity, "damaged"),
    Nasty("far cell.xlsx", far_cell, "the sheet has more than"),
    Nasty("far columns.xlsx", far_columns, "is to the right of the header"),
    Nasty("stray cell.xlsx", stray_cell, "cell XFD2 is to the right of the header"),
    Nasty("far longer header.csv", lambda: long_header(20_000, 60_000), "more than the limit of"),
    Nasty("longer header.csv", lambda: long_header(7_000, 8_000), "far shorter"),
    Nasty("text bomb.parquet", parquet_text_bomb, "larger than"),
    # workbooks
    Nasty("formulas.xlsx", formulas_with_values),
    Nasty("formulas without values.xlsx", formulas_without_values, "formulas without values"),
    Nasty("formula errors.xlsx", formula_errors),
    Nasty("merged header.xlsx", merged_header, "no name"),
    Nasty("merged cells.xlsx", merged_cells),
    Nasty("hidden sheet.xlsx", hidden_sheet_first),
    Nasty("empty sheet.xlsx", empty_sheet_first),
    Nasty("chart sheet.xlsx", chart_sheet_first),
    Nasty("only hidden.xlsx", all_sheets_hidden_or_empty, "all sheets are empty"),
    Nasty("dates.xlsx", dates_in_a_book, "'day' contains dates"),
    # Parquet
    Nasty("list.parquet", lambda: arrow(tags=pa.array([[1, 2]] * 60)), "'tags' contains a list"),
    Nasty("struct.parquet", lambda: arrow(at=pa.array([{"x": 1}] * 60)), "contains a structure"),
    Nasty(
        "map.parquet",
        lambda: arrow(m=pa.array([[("k", 1)]] * 60, pa.map_(pa.string(), pa.int64()))),
        "'m' contains a map",
    ),
    Nasty("days.parquet", lambda: arrow(day=pa.array(_DAYS)), "'day' contains dates"),
    Nasty(
        "zones.parquet",
        lambda: arrow(at=pa.array(_DAYS).cast(pa.timestamp("us", tz="Europe/Madrid"))),
        "'at' contains dates",
    ),
    Nasty(
        "times.parquet",
        lambda: arrow(at=pa.array([dt.time(k % 24, k % 60) for k in range(60)])),
        "'at' contains dates",
    ),
    Nasty(
        "durations.parquet",
        lambda: arrow(took=pa.array([dt.timedelta(seconds=k) for k in range(60)])),
        "'took' contains dates",
    ),
    Nasty("types.parquet", many_types),
    Nasty("void.parquet", lambda: arrow(void=pa.array([None] * 60, pa.null())), "'void' has no va"),
    Nasty("broken text.parquet", broken_text, "'town' contains text that is not UTF-8"),
    # amounts
    Nasty("euro.csv", lambda: with_column(amounts(lambda x: "€" + continental(x))), "of money"),
    Nasty("euro after.csv", lambda: with_column(amounts(lambda x: continental(x) + " €")),
          "of money"),
    Nasty("dollar.csv", lambda: with_column(amounts(lambda x: f"${x:,.0f}")), "amounts of money"),
    Nasty("percent.csv", lambda: with_column(amounts(lambda x: f"{x / 100:.1f}%"))),
    Nasty("thousands.csv", lambda: with_column(amounts(lambda x: f"{x:,.0f}"))),
    Nasty("continental.csv", continental_table),
    Nasty("accounts.csv", lambda: with_column(amounts(lambda x: f"({x:,.2f})"))),
    Nasty(
        "unclear.tsv",
        lambda: csv_of(numbers().assign(pay=amounts(lambda x: f"{x + 1000:,.0f}")), "\t"),
        "'pay' is ambiguous",
    ),
    Nasty("unclear euro.csv", lambda: with_column(amounts(lambda x: f"€{int(x) + 1000:,}")),
          "'odd' contains amounts of money"),
    Nasty("two currencies.csv",
          lambda: with_column([f"{'$€'[k % 2]}{k + 10}" for k in range(60)]), "amounts of money"),
    Nasty("half percent.csv",
          lambda: with_column([f"{k}{'%' * (k % 2)}" for k in range(60)]), "also '1%' in data row"),
    # names
    Nasty("twice.csv", lambda: b"a,b,a\n1,2,3\n2,1,9\n3,5,4\n", "2 columns are called 'a'"),
    Nasty("no name.csv", lambda: b"a,,c\n1,2,3\n2,1,9\n3,5,4\n", "Column 2 of 3 has no name"),
    Nasty("blank names.parquet", lambda: names_of(" ", "b", "c"), "no name"),
    Nasty("markup.parquet", lambda: names_of(
        "<script>window.__hacked=1</script>", "'\"`", "two\nlines", "=cmd()|' /C calc'!A0")),
    Nasty("scripts.parquet", lambda: names_of("🦊", "שלום مرحبا", "\u202eabc", "漢字\u2028")),
    Nasty("control.parquet", lambda: names_of("nul \x00 in", "bell \x07", "esc \x1b[31m", "a\tb")),
    Nasty("odd names.csv", lambda: csv_of(odd_names())),
    Nasty("odd names.xlsx", odd_names_in_a_book),
    Nasty("long name.csv", lambda: valid().replace(b"x0", b"x" * 100_000, 1), "100,000 characters"),
    Nasty("longer name.csv", lambda: valid().replace(b"x0", b"x" * 200_000, 1), "first line"),
    # columns
    Nasty("wide.csv", wide),
    Nasty("pair.csv", lambda: with_column(numbers()["x0"] * -2.0), "determine each other"),
    Nasty("constant.csv", lambda: with_column(7), "'odd' is constant"),
    Nasty("empty column.csv", lambda: with_column(np.nan), "'odd' has no values"),
    Nasty("flags.csv", lambda: with_column(["TRUE", "false", "", "True"] * 15)),
    Nasty("days.csv", lambda: with_column([str(day) for day in _DAYS]), "'odd' contains dates"),
    Nasty("old days.csv", lambda: with_column(cells("1066-10-{day:02}")), "'odd' contains dates"),
    Nasty("old days backwards.csv", lambda: with_column(cells("{day}.10.1066")), "contains dates"),
    Nasty("months.csv", lambda: with_column(cells("{day} Jan 2020")), "'odd' contains dates"),
    Nasty("days and a word.csv",
          lambda: with_column(["unknown", *cells("2020-01-{day}")[1:]]), "'odd' contains dates"),
    Nasty("minus.csv", lambda: with_column(["\u22121", "\u22122", "3"] * 20)),
    Nasty("arabic.csv", lambda: with_column(amounts(arabic))),
    Nasty("tracking numbers.csv", lambda: with_column(identifiers(22, 60)), "too many for"),
    Nasty("order numbers.csv", lambda: with_column(identifiers(18, 60, gap=True)), "too many for"),
    Nasty("account numbers.csv", lambda: with_column(identifiers(22, 3))),
    Nasty("infinite.csv", lambda: with_column(["inf", *range(59)]), "infinite in data row 1"),
    Nasty("long number.csv", lambda: with_column(["9" * 5000, *range(59)]), "infinite in"),
    Nasty("long number;.csv", lambda: csv_of(numbers().assign(odd=["9" * 5000, *range(59)]), ";"),
          "infinite in data row 1"),
    Nasty("long grouped number.csv",
          lambda: with_column([",".join(["999"] * 2000), *range(59)]), "infinite in data row 1"),
    Nasty("huge.csv", lambda: with_column(np.linspace(-1, 1, 60) ** 3 * 1e300), "1e+300"),
    Nasty("tiny.csv", lambda: with_column(np.linspace(-1, 1, 60) ** 3 * 1e-300), "less than 1e-60"),
    Nasty("large.csv", lambda: with_column(np.linspace(-1, 1, 60) ** 3 * 1e59)),
    Nasty("small.csv", lambda: with_column(np.linspace(-1, 1, 60) ** 3 * 1e-59)),
    Nasty("offset.csv", lambda: with_column(1e15 + np.round(numbers()["x1"] * 100))),
    Nasty("free text.csv", lambda: with_column([f"answer {k}" for k in range(60)]), "too many for"),
    Nasty("stray word.csv", lambda: with_column(["oops", *range(59)]), "'oops' in data row 1"),
    Nasty("never together.csv", lambda: csv_of(pd.DataFrame({
        "a": [1, 2, 3, 4, *[None] * 8], "b": [*[None] * 4, 5, 6, 9, 8, *[None] * 4],
        "c": [*[None] * 8, 9, 1, 2, 4]})), "All columns look independent"),
    Nasty("all independent.csv", lambda: csv_of(pd.DataFrame(
        np.random.default_rng(0).integers(0, 2, (50, 5)), columns=list("abcde")))),
    Nasty("orthogonal.csv", lambda: b"a,b,c\n" + b"0,0,0\n0,1,1\n1,0,1\n1,1,0\n" * 9,
          "All columns look independent"),
)  # fmt: skip
"""Read and learned from by the package, the command line and the app."""
