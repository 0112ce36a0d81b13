"""Text from data, made safe for Markdown."""

from __future__ import annotations

import string


def plain(text: str) -> str:
    """Return Markdown that shows ``text`` as it is, on one line.

    Examples
    --------
    >>> print(plain("a*b <i>"))
    a\\*b \\<i\\>
    """
    escaped = "".join(f"\\{c}" if c in string.punctuation else c for c in text)
    return " ".join(escaped.split()) or "(no name)"
