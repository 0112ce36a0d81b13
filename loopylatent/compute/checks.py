"""Checks of arguments, each with one line that says what is wrong and what to give."""

from __future__ import annotations

from loopylatent.errors import Remedy

Parts = tuple[str | Remedy, ...]


def not_wanted(wanted: str, found: object, give: str) -> Parts:
    """Return the message for something of another type; ``give`` is code that makes the right one.

    Examples
    --------
    >>> from loopylatent.errors import DataError
    >>> print(DataError(*not_wanted("a LatentGraph is", 3, "result.graph")))
    a LatentGraph is wanted here, not a int; give result.graph.
    """
    shown = f"{wanted} wanted here, not a {type(found).__name__}; give "
    return shown, Remedy("call", give), "."
