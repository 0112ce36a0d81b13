"""Checks of the entries of a recipe, which may come from anybody: each refuses in one line.

Whether what a project file holds is JSON of a moderate size, and each value what it must be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from loopylatent.errors import DataError, listed, quoted
from loopylatent.tables.kinds import KINDS

LONGEST_FILE_NAME = 255
LARGEST_WHOLE = 2**63 - 1
_DIGEST = re.compile("[0-9a-f]{16}")


def some_text(what: str, value: Any) -> str:
    """Return text that is not blank and that a file can hold."""
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{what} is {_shown(value)}; it must be some text.")
    check_encodable(what, value)
    return value


def check_encodable(what: str, text: str) -> None:
    """Refuse text that no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{what} {quoted(text)} holds half a character; correct it.") from None


def column_names(what: str, values: Any) -> tuple[str, ...]:
    """Return names of columns, each once and in order."""
    if not isinstance(values, (list, tuple)):
        raise DataError(f"{what} is {_shown(values)}; it must be a list of column names.")
    return tuple(sorted({some_text(f"a name in {what}", value) for value in values}))


def column_kinds(values: Any) -> tuple[tuple[str, Any], ...]:
    """Return columns with the kinds that they are given, in order."""
    pairs: Iterable[Any] = values.items() if isinstance(values, Mapping) else values
    if not isinstance(values, (list, tuple, Mapping)) or not all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs
    ):
        raise DataError(f"kinds is {_shown(values)}; it must give columns their kinds.")
    found: dict[str, str] = {}
    for column, kind in pairs:
        name = some_text("a name in kinds", column)
        chosen = choice(f"the kind of column {quoted(name)}", kind, KINDS)
        if found.setdefault(name, chosen) != chosen:
            raise DataError(f"column {quoted(name)} is given two kinds; give it one.")
    return tuple(sorted(found.items()))


def choice(what: str, value: Any, allowed: Sequence[str]) -> str:
    """Return one of the allowed words."""
    if not isinstance(value, str) or value not in allowed:
        raise DataError(f"{what} is {_shown(value)}; it must be one of {', '.join(allowed)}.")
    return value


def yes_or_no(what: str, value: Any) -> bool:
    """Return a truth value."""
    if not isinstance(value, bool):
        raise DataError(f"{what} is {_shown(value)}; it must be true or false.")
    return value


def finite_number(what: str, value: Any) -> float:
    """Return a number that is not too large."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or abs(value) > LARGEST_WHOLE:
        raise DataError(f"{what} is {_shown(value)}; it must be a finite number.")
    return float(value) + 0.0  # one way to write zero


def whole_number(what: str, value: Any, least: int) -> int:
    """Return a whole number from ``least`` on."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not least <= value <= LARGEST_WHOLE:
        raise DataError(f"{what} is {_shown(value)}; it must be a whole number from {least} on.")
    return int(value)


def file_digest(value: Any) -> str:
    """Return a fingerprint as `digest_of` makes them."""
    if not isinstance(value, str) or not _DIGEST.fullmatch(value):
        raise DataError(f"data_digest is {_shown(value)}; it must be 16 hexadecimal digits.")
    return value


def _shown(value: Any) -> str:
    """Show a value, which may be anything, on one line and not too long."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        return "a huge number"
    is_short = value is None or isinstance(value, (bool, int, float))
    return repr(value) if is_short else f"a {type(value).__name__}"


def is_file_name(name: str) -> bool:
    """Whether a file can be called so, without its folder."""
    too_long = len(name) > LONGEST_FILE_NAME
    return not (too_long or name in (".", "..") or "/" in name or "\0" in name)


Plain = str | int | float | bool | None
Preference = Plain | tuple[Plain, ...]

MAX_VALUES = 8_000_000
"""Numbers, texts and lists in one file of JSON."""
MAX_PREFERENCES = 200
MAX_LISTED = 100
"""Values of a preference that is a list."""
MAX_TEXT = 10_000
"""Characters of a title, and of a preference or its name."""
LARGEST_JSON_WHOLE = 2**53


def read_json(what: str, content: bytes, most: int) -> Any:
    """Read JSON that repeats no key and holds finite numbers only."""
    check_json(what, content, most)
    try:
        return json.loads(
            content.decode(), object_pairs_hook=_without_repeats, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise DataError(f"its {what} is no valid JSON; save it again") from None


def check_json(what: str, content: bytes, most: int) -> None:
    """Refuse what is too large, or so full of values that reading it would fill the memory."""
    check_size(what, len(content), most)
    if sum(content.count(mark) for mark in (b",", b"[", b"{")) > MAX_VALUES:
        raise DataError(f"the {what} holds more values than a project can have")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key is given twice")
    return values


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def check_entries(what: str, values: Any, wanted: Mapping[str, type | tuple[type, ...]]) -> None:
    """Refuse entries that are unknown, missing or of the wrong type."""
    if not isinstance(values, dict):
        raise DataError(f"{what} is not a set of named values")
    unknown = [name for name in values if name not in wanted]
    if unknown:
        raise DataError(f"{what} has the unknown entry {listed(unknown, 3)}")
    missing = [name for name in wanted if name not in values]
    if missing:
        raise DataError(f"{what} lacks the entry {listed(missing, 3)}")
    for name, kinds in wanted.items():
        if not isinstance(values[name], kinds) or isinstance(values[name], bool):
            raise DataError(f"the entry {name!r} of {what} has the wrong type")


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
        for one in value if isinstance(value, tuple) else (value,):
            _check_preference(name, one)
        if isinstance(value, tuple) and len(value) > MAX_LISTED:
            raise DataError(f"the preference {quoted(name)} lists more than {MAX_LISTED} values.")
    return MappingProxyType({name: view[name] for name in sorted(view)})


def _check_preference(name: str, value: Any) -> None:
    if isinstance(value, str):
        check_text(f"preference {quoted(name)}", value)
    elif not (value is None or isinstance(value, bool) or is_number(value)):
        raise DataError(
            f"the preference {quoted(name)} must be text, a finite number, true, false or none."
        )


def checked_groups(groups: Any) -> Mapping[str, str]:
    """Return the group of each column, after checking that all names are text."""
    if not isinstance(groups, Mapping):
        raise DataError("the groups must be columns, each with the name of its group.")
    for text in (*groups, *groups.values()):
        check_text("name of a column or group", text)
    return MappingProxyType(dict(groups))


def is_number(value: Any) -> bool:
    """Whether this is a finite number of a moderate size, and no truth value."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST_JSON_WHOLE


def check_size(what: str, size: int, most: int) -> None:
    """Refuse what is too large."""
    if size > most:
        raise DataError(
            f"the {what} takes {size / 2**20:,.0f} MB; at most {most / 2**20:,.0f} are allowed."
        )
