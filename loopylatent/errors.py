"""Errors that say what is wrong, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


class LoopyLatentError(ValueError):
    """Anything that the user can put right; the message is one line for a person."""


class DataError(LoopyLatentError):
    """The table cannot be read or used as it is."""


class DistanceError(LoopyLatentError):
    """Distances cannot be computed, or the given ones are not distances."""


class ThresholdError(LoopyLatentError):
    """A threshold or another setting lies outside its limits."""


class InferenceError(LoopyLatentError):
    """Parameters cannot be fitted, or a likelihood cannot be computed."""


class LimitError(LoopyLatentError):
    """The table or the work is larger than this machine, or this session, takes."""


LONGEST_NAME = 60


def quoted(name: str) -> str:
    """Show a name, which may hold anything, in quotes, on one line and not too long.

    Examples
    --------
    >>> print(quoted("two\\nlines"))
    'two\\nlines'
    >>> len(quoted("x" * 1000))
    62
    """
    text = str(name)
    return repr(text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the names that come closest.

    Examples
    --------
    >>> print(did_you_mean("aeg", ["age", "sex"]))
    did you mean 'age'?
    >>> print(did_you_mean("height", ["age", "sex"]))
    known are 'age', 'sex'.
    """
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"did you mean {' or '.join(quoted(other) for other in close)}?"
    return f"known are {listed(known)}."


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return quoted names with commas, the first few of them where there are many.

    Examples
    --------
    >>> print(listed(["a", "b", "c"], most=2))
    'a', 'b' and 1 more
    """
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
