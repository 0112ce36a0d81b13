"""Checks of the entries of a recipe, which may come from anybody: each refuses in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from loopylatent.errors import DataError, quoted
from loopylatent.kinds import KINDS

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
