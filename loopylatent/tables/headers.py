"""Names of columns."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Collection, Sequence

import pandas as pd

from loopylatent.compute.limits import LIMITS
from loopylatent.errors import DataError, quoted

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that are empty, used twice or half a character."""
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
        try:
            name.encode()
        except UnicodeEncodeError:
            raise DataError(
                f"the name of column {position} of {len(names)} holds half a character; "
                "give it another."
            ) from None
    name, count = Counter(names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise DataError(f"{count} columns are called {quoted(name)}; give each its own name.")


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name that is not taken: the given one, after as many underscores as that needs."""
    while name in taken:
        name = "_" + name
    return name


def check_header(names: Sequence[str]) -> None:
    """Refuse a first row of numbers that cannot be names: a value stands there twice, or at random.

    Years, numbers of items and wave lengths do name columns; each is there once, and those with
    a sign or with decimals go up or go down.
    """
    given = [name for name in names if name]
    if len(given) < 2 or not all(map(_NUMBER.fullmatch, given)):
        return
    values = [float(name) for name in given]
    steps = {before < after for before, after in itertools.pairwise(values)}
    are_plain = all(name.isdigit() for name in given)
    if len(set(values)) == len(values) and (are_plain or len(steps) == 1):
        return
    raise DataError(
        f"the first row holds numbers ({quoted(given[0])[1:-1]}, {quoted(given[1])[1:-1]}, ...) "
        "and no names of columns; put a row with the names above it."
    )


def named(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Give the columns their names; one with neither a name nor a value is left out."""
    check_header(names)
    kept = [k for k, name in enumerate(names) if name or frame.iloc[:, k].notna().any()]
    check_names([names[k] for k in kept])
    used = frame if len(kept) == len(names) else frame.iloc[:, kept]
    return used.set_axis([names[k] for k in kept], axis="columns")
