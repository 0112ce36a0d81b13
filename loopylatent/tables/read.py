"""Read a file into a data frame: delimited text, Parquet or Excel, within limits.

What a file is, is told by its first bytes and not by its name. Columns keep their own names:
a repeated or empty one is refused, never renamed.
"""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from loopylatent.compute.limits import LIMITS, check_shape
from loopylatent.tables.excel import read_workbook
from loopylatent.tables.files import MAX_BYTES, Source, opened
from loopylatent.tables.parquet import is_parquet, read_parquet
from loopylatent.tables.text import read_text

MAX_CELLS = LIMITS.cells
"""Rows times columns of the largest table that is read."""


def read_frame(
    source: Source,
    *,
    name: str | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
    max_bytes: int = MAX_BYTES,
    max_cells: int = MAX_CELLS,
) -> pd.DataFrame:
    """Read a table as it stands, without deciding what its columns mean.

    Parameters
    ----------
    source : path, bytes or open file
        Delimited text (UTF-8, UTF-16, else Windows-1252; also gzipped), Parquet, or an Excel
        workbook (.xlsx). The first row holds the names of the columns; above it may stand a line
        like ``sep=;``. Lines end with a line feed, or all of them with a carriage return.
    name : str, optional
        What to call the source in messages, when it is not a path.
    delimiter : str, optional
        Of delimited text; found among comma, semicolon, tab and bar when not given. Between
        semicolons 1,5 is a number, and where a column has such numbers 1.500 is 1500 in the
        others; between commas "1,500" is a number.
    sheet : str or int, optional
        Of a workbook, by name or by position from 0; the first that is not hidden and not
        empty when not given.
    max_bytes : int
        Larger tables are refused.
    max_cells : int
        Tables of more rows times columns are refused.

    Returns
    -------
    DataFrame

    Raises
    ------
    DataError
        One line that says what is wrong, where, and what to do.

    Examples
    --------
    >>> read_frame(b"a;b;c\\n1,5;x;\\n2,5;y;7\\n")
         a  b    c
    0  1.5  x  NaN
    1  2.5  y  7.0
    """
    file = opened(source, name, max_bytes)
    if not file.content.strip():
        raise file.error("the file is empty; save the table again.")
    if is_parquet(file.content):
        frame = read_parquet(file, max_bytes)
    elif file.content.startswith(b"PK\x03\x04"):
        frame = read_workbook(file, sheet, max_bytes)
    elif file.content.startswith(b"\xd0\xcf\x11\xe0"):
        raise file.error("an old or password-protected workbook; save it as plain .xlsx or CSV.")
    else:
        frame = read_text(file, delimiter, max_cells)
    if frame.empty:
        raise file.error("there is a header but no rows under it; at least 3 rows are needed.")
    check_shape(*frame.shape, replace(LIMITS, cells=max_cells))
    return frame
