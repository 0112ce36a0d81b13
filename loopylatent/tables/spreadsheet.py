"""Names and tables as CSV cells that a spreadsheet takes as text."""

from __future__ import annotations

import re

import pandas as pd

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_text(text: str) -> str:
    """Replace what XML 1.0 cannot hold, so that it is seen and the file stays readable."""
    return _NOT_XML.sub("\ufffd", text)


_STARTS = tuple("=+-@＝＋－＠'")
_BREAKS = re.compile("([;\t\r\n])")
_OBEYED = re.compile("[\x7f-\x9f]")
"""Control characters that XML allows and that a terminal obeys, where CSV is often looked at."""


def name_to_csv(name: str) -> str:
    """Put a quote before what a spreadsheet would run, and before a quote, to tell them apart.

    Where the separator of lists is a semicolon, a spreadsheet that opens the file also breaks a
    name at semicolons, tabs and ends of lines; so what follows these is treated alike. Control
    characters other than these are written as U+FFFD.
    """
    text = _OBEYED.sub("\ufffd", xml_text(name))
    first, *others = _BREAKS.split(text)
    begins = first.lstrip().startswith(_STARTS) or text.lstrip(" ").startswith(("\t", "\r", "\n"))
    quoted = [f"'{part}" if part.lstrip().startswith(_STARTS) else part for part in others]
    return "".join([f"'{first}" if begins else first, *quoted])


def table_to_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV in which neither a name nor a text is a formula."""
    safe = frame.rename(columns=name_to_csv)
    for name in safe.columns[[not pd.api.types.is_numeric_dtype(one) for one in safe.dtypes]]:
        cells = [name_to_csv(cell) if isinstance(cell, str) else cell for cell in safe[name]]
        safe[name] = pd.Series(cells, safe.index, dtype=object)
    return safe.to_csv(index=False)


def name_from_csv(cell: str) -> str:
    """Return the name that an exported CSV cell stands for."""
    first, *others = _BREAKS.split(cell)
    parts = [part[_is_quoted(part) :] for part in others]
    return "".join([first.removeprefix("'"), *parts])


def _is_quoted(part: str) -> bool:
    return part.startswith("'") and part[1:].lstrip().startswith(_STARTS)
