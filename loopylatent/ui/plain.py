"""Text from data, made safe for Markdown."""

from __future__ import annotations

import re
import string

from loopylatent.layout import shown_line

JOINER = "\u2060"
"""Has no width and no meaning; text that holds it is found by no pattern."""
_FOUND_AFTER_ESCAPES = re.compile(
    r"""
    (?<=:)(?=//|streamlit:)             # addresses; the mark of Streamlit
    | (?<=www)(?=\.)
    | (?<=[\w+.-])(?=@)                 # of e-mail
    | (?<=\s[<~>-])(?=[=>-]>?(?:\s|$))    # arrows, dashes, signs of order
    | (?<=^[<~>-])(?=[=>-]>?(?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def plain(text: str) -> str:
    """Return Markdown that shows ``text`` as it is, on one line, and makes no link of it.

    Addresses, and signs such as an arrow of two characters, are looked for after escapes were
    resolved: an invisible joiner keeps them from being found. What would turn the rest of the line
    around is shown as U+FFFD.

    Examples
    --------
    >>> print(plain("a*b <i>"))
    a\\*b \\<i\\>
    >>> plain("www.a.b") == f"www{JOINER}\\\\.a\\\\.b"
    True
    """
    line = _FOUND_AFTER_ESCAPES.sub(JOINER, shown_line(text))
    return "".join(f"\\{c}" if c in string.punctuation else c for c in line)
