"""Names of columns, and the texts that stand for a missing value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

import pandas as pd

from loopylatent.errors import DataError, quoted
from loopylatent.limits import LIMITS

NA_WORDS = frozenset(
    (
        *("", "NA", "N/A", "n/a", "na", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "None"),
        *("NaN", "nan", "-NaN", "-nan", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?", "."),
    )
)
"""Texts that stand for a missing value: those of pandas, and the ? and . of older archives."""


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that are empty or used twice."""
    for position, name in enumerate(names, start=1):
        if not name.strip():
            raise DataError(
                f"column {position} of {len(names)} has no name; give it one, "
                "or remove it if it only numbers the rows."
            )
        if len(name) > LIMITS.name_length:
            raise DataError(
                f"the name of column {position}, {quoted(name)}, has {len(name):,} characters; "
                f"give it at most {LIMITS.name_length:,}."
            )
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise DataError(f"{count} columns are called {quoted(name)}; give each its own name.")


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the given one, after as many underscores as that needs.

    Examples
    --------
    >>> free_name("level", ["age", "level"])
    '_level'
    """
    while name in taken:
        name = "_" + name
    return name


def named(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Give the columns their names; one with neither a name nor a value is left out."""
    kept = [k for k, name in enumerate(names) if name or frame.iloc[:, k].notna().any()]
    check_names([names[k] for k in kept])
    used = frame if len(kept) == len(names) else frame.iloc[:, kept]
    return used.set_axis([names[k] for k in kept], axis="columns")
