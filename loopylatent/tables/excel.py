"""Read a sheet of an Excel workbook into a data frame, within limits."""

from __future__ import annotations

import itertools
import zipfile
from typing import Any

import pandas as pd
from openpyxl import load_workbook
from openpyxl.utils import get_column_letter

from loopylatent.errors import DataError, quoted
from loopylatent.tables.files import File, named, stream
from loopylatent.tables.kinds import NA_WORDS

MOST_ROWS = 1 << 20
"""Rows in a sheet; the limit of Excel."""
MOST_CELLS = 10_000_000
"""Cells in a sheet, with short rows filled up; a cell takes ten times the memory of one in CSV."""
PROBED_ROWS = 1_000

Row = tuple[Any, ...]


def read_workbook(file: File, sheet: str | int | None, max_bytes: int) -> pd.DataFrame:
    """Read a sheet, by default the first that is neither hidden nor empty; errors are missing."""
    try:
        with zipfile.ZipFile(stream(file)) as archive:
            members = archive.infolist()
        file.check_members(members, max_bytes)
        names = {member.filename for member in members}
        if {"mimetype", "content.xml"} <= names:
            raise file.error("this is an OpenDocument file; save it as .xlsx or CSV.")
        if "xl/workbook.xml" not in names:
            raise file.error("this is a zip archive; unpack it and open the table in it.")
        frame = _read(file, sheet)
    except DataError:
        raise
    except Exception:  # the reader may raise anything on a damaged file
        raise file.error("the workbook is damaged; save it again as .xlsx.") from None
    return frame


def _read(file: File, sheet: str | int | None) -> pd.DataFrame:
    book = load_workbook(stream(file), read_only=True, data_only=True)
    sheets = {one.title: one for one in book.worksheets}
    visible = [name for name, one in sheets.items() if one.sheet_state == "visible"]
    names = list(sheets)
    if isinstance(sheet, int) and 0 <= sheet < len(names):
        visible = [names[sheet]]
    elif isinstance(sheet, str) and sheet in names:
        visible = [sheet]
    elif sheet is not None:
        known = ", ".join(quoted(name) for name in names[:10])
        raise file.error(f"there is no sheet {sheet!r}; the sheets are {known}.")
    for name in visible:
        rows = _rows(file, sheets[name])
        if rows:
            return _frame(file, name, rows)
    raise file.error("all sheets are empty; save the table again.")


def _rows(file: File, sheet: Any) -> list[Row]:
    """The rows of a sheet without the empty ones above and below the table."""
    rows: list[Row] = []
    n_cells = n_filled = width = 0
    sheet.reset_dimensions()  # the dimensions in the file may be wrong
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        row = tuple(_value(cell) for cell in cells)
        row = row[: next((k for k in range(len(row), 0, -1) if row[k - 1] is not None), 0)]
        width = width or len(row)
        if row or rows:
            rows.append(row)
        n_filled = len(rows) if row else n_filled
        n_cells += len(cells)
        if number > MOST_ROWS or max(n_cells, n_filled * width) > MOST_CELLS:
            raise file.error(
                f"the sheet has more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells; remove "
                "cells far from the table, or save it as CSV."
            )
        if len(row) > width:
            raise file.error(
                f"cell {get_column_letter(len(row))}{number} is to the right of the header; name "
                "its column, clear the cell, or remove the rows above the header."
            )
    return rows[:n_filled]


def _value(cell: Any) -> Any:
    value = cell.value
    if value is None or cell.data_type == "e":
        return None
    if isinstance(value, str):
        return None if value.strip() in NA_WORDS else value
    return value


def _frame(file: File, sheet: str, rows: list[Row]) -> pd.DataFrame:
    names = ["" if name is None else str(name).strip() for name in rows[0]]
    width = len(names)
    columns = list(itertools.zip_longest(*rows[1:])) or [()] * width
    columns += [(None,) * (len(rows) - 1)] * (width - len(columns))
    series = {k: pd.Series(list(column), dtype=object) for k, column in enumerate(columns)}
    frame = pd.DataFrame(series).infer_objects()
    _check_formulas(file, sheet, frame, names, n_rows=len(rows))
    return named(frame, names)


def _check_formulas(
    file: File, sheet: str, frame: pd.DataFrame, names: list[str], n_rows: int
) -> None:
    """Raise if a column is empty because its formulas were never calculated."""
    empty = {k for k, name in enumerate(names) if name and not frame.iloc[:, k].notna().any()}
    if not empty or n_rows < 2:
        return
    book = load_workbook(stream(file), read_only=True)
    book[sheet].reset_dimensions()
    for row in itertools.islice(book[sheet].iter_rows(), PROBED_ROWS):
        for k in empty:
            if k < len(row) and row[k].data_type == "f":
                raise file.error(
                    f"column {quoted(names[k])} contains formulas without values; open the file "
                    "in a spreadsheet program and save it, so that they are calculated."
                )
