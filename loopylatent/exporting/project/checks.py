"""Checks of what recipes and project files hold, which may come from anybody.

Each refuses in one line: what is too large, no JSON, or not what it must be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from loopylatent.errors import DataError, quoted
from loopylatent.tables.kinds import KINDS

Plain = str | int | float | bool | None
Preference = Plain | tuple[Plain, ...]

LONGEST_FILE_NAME = 255
LARGEST_WHOLE = 2**63 - 1
LARGEST_JSON_WHOLE = 2**53
MAX_VALUES = 8_000_000
"""Numbers, texts and lists in one file of JSON."""
MAX_PREFERENCES = 200
MAX_LISTED = 100
"""Values of a preference that is a list."""
MAX_TEXT = 10_000
"""Characters of a title, and of a preference or its name."""


# A recipe ----------------------------------------------------------------------------------


def require(what: str, value: Any, fits: bool, must: str) -> None:
    """Refuse a value, which may be anything, shown on one line and not too long."""
    if fits:
        return
    if isinstance(value, str):
        shown = quoted(value)
    elif isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        shown = "a huge number"
    else:
        is_short = value is None or isinstance(value, bool | int | float)
        shown = repr(value) if is_short else f"a {type(value).__name__}"
    raise DataError(f"{what} is {shown}; it must {must}.")


def some_text(what: str, value: Any) -> str:
    """Return text that is not blank and that a file can hold."""
    require(what, value, isinstance(value, str) and bool(value.strip()), "be some text")
    check_encodable(what, value)
    return str(value)


def check_encodable(what: str, text: str) -> None:
    """Refuse text that no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{what} {quoted(text)} holds half a character; correct it.") from None


def column_names(what: str, values: Any) -> tuple[str, ...]:
    """Return names of columns, each once and in order."""
    require(what, values, isinstance(values, list | tuple), "be a list of column names")
    return tuple(sorted({some_text(f"a name in {what}", value) for value in values}))


def column_kinds(values: Any) -> tuple[tuple[str, Any], ...]:
    """Return columns with the kinds that they are given, in order."""
    pairs: Iterable[Any] = values.items() if isinstance(values, Mapping) else values
    if not isinstance(values, list | tuple | Mapping) or not all(
        isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs
    ):
        require("kinds", values, False, "give columns their kinds")
    found: dict[str, str] = {}
    for column, kind in pairs:
        name = some_text("a name in kinds", column)
        choice(f"the kind of column {quoted(name)}", kind, KINDS)
        if found.setdefault(name, kind) != kind:
            raise DataError(f"column {quoted(name)} is given two kinds; give it one.")
    return tuple(sorted(found.items()))


def choice(what: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse what is none of the allowed words."""
    fits = isinstance(value, str) and value in allowed
    require(what, value, fits, f"be one of {', '.join(allowed)}")


def finite_number(what: str, value: Any) -> float:
    """Return a number that is not too large."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    require(what, value, is_number and abs(value) <= LARGEST_WHOLE, "be a finite number")
    return float(value) + 0.0  # one way to write zero


def check_whole(what: str, value: Any, least: int) -> None:
    """Refuse what is no whole number from ``least`` on."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    fits = is_whole and least <= value <= LARGEST_WHOLE
    require(what, value, fits, f"be a whole number from {least} on")


# A project ---------------------------------------------------------------------------------


def check_size(what: str, size: int, most: int) -> None:
    """Refuse what is too large."""
    if size > most:
        raise DataError(
            f"the {what} takes {size / 2**20:,.0f} MB; at most {most / 2**20:,.0f} are allowed."
        )


def check_json(what: str, content: bytes, most: int) -> None:
    """Refuse what is too large, or so full of values that reading it would fill the memory."""
    check_size(what, len(content), most)
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise DataError(f"the {what} holds more values than a project can have")


def in_short(error: Exception) -> str:
    """Return what msgspec says, which may repeat anything, on one line and not too long."""
    return repr(str(error)[:200])[1:-1]


def check_text(what: str, text: Any) -> None:
    """Refuse what is no text, or one too long, or one that no file can hold."""
    if not isinstance(text, str) or len(text) > MAX_TEXT:
        raise DataError(f"the {what} must be text of at most {MAX_TEXT} characters.")
    check_encodable(f"the {what}", text)


def checked_view(view: Any) -> Mapping[str, Preference]:
    """Return preferences in the order of their names, after checking each."""
    if not isinstance(view, Mapping) or len(view) > MAX_PREFERENCES:
        raise DataError(f"the view must be at most {MAX_PREFERENCES} named preferences.")
    for name, value in view.items():
        check_text("name of a preference", name)
        if isinstance(value, tuple) and len(value) > MAX_LISTED:
            raise DataError(f"the preference {quoted(name)} lists more than {MAX_LISTED} values.")
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                check_text(f"preference {quoted(name)}", one)
            elif one is not None and not isinstance(one, bool) and not _is_number(one):
                raise DataError(
                    f"the preference {quoted(name)} must be text, a finite number, true, false "
                    "or none."
                )
    return MappingProxyType({name: view[name] for name in sorted(view)})


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) <= LARGEST_JSON_WHOLE


def checked_groups(groups: Any) -> Mapping[str, str]:
    """Return the group of each column, after checking that all names are text."""
    if not isinstance(groups, Mapping):
        raise DataError("the groups must be columns, each with the name of its group.")
    for text in (*groups, *groups.values()):
        check_text("name of a column or group", text)
    return MappingProxyType(dict(groups))
