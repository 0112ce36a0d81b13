"""Text with what is not seen written as backslash escapes, for one line of a shell."""

from __future__ import annotations

import re

from loopylatent.errors import DataError, quoted

_ESCAPE = re.compile(r"\\(?:[\\ntr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def escaped(text: str) -> str:
    r"""Write backslashes, and what is not seen, as backslash escapes.

    Examples
    --------
    >>> print(escaped("two\nlines"))
    two\nlines
    """
    return "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode()
        for char in text
    )


def unescaped(text: str) -> str:
    r"""Return the text that `escaped` has written.

    Examples
    --------
    >>> unescaped("two\\nlines")
    'two\nlines'
    """
    try:
        if "\\" in _ESCAPE.sub("", text):
            raise ValueError
        return _ESCAPE.sub(lambda match: match[0].encode().decode("unicode_escape"), text)
    except ValueError:
        raise DataError(
            f"{quoted(text)} holds a backslash that begins no escape; write it twice."
        ) from None
