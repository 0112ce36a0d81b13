"""What can be made of a new table: a role and a kind for every column, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd

from loopylatent.data import Kind
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.kinds import type_column

Role = Literal["learn", "label", "leave out", "weights"]
MOST_VALUES = 4


@dataclass(frozen=True, slots=True)
class Proposal:
    """What one column is taken for."""

    name: str
    role: Role
    kind: Kind | None
    note: str


def understand(frame: pd.DataFrame) -> tuple[Proposal, ...]:
    """Propose a role for every column; a column that cannot be learned becomes a label."""
    return tuple(_proposal(str(name), frame.iloc[:, j]) for j, name in enumerate(frame.columns))


def _proposal(name: str, series: pd.Series[Any]) -> Proposal:
    try:
        typed = type_column(name, series)
    except LoopyLatentError as error:
        return Proposal(name, "label", None, str(error))
    if series.nunique(dropna=True) < 2:
        return Proposal(name, "leave out", typed.column.kind, "holds one value or none")
    if typed.column.kind == "continuous" and _counts_rows(series):
        return Proposal(name, "label", typed.column.kind, "numbers the rows")
    missing = int(series.isna().sum())
    values = ", ".join(typed.column.states[:MOST_VALUES])
    more = ", …" if len(typed.column.states) > MOST_VALUES else ""
    parts = [values + more] if values else []
    if missing:
        parts.append(f"{missing:,} missing")
    return Proposal(name, "learn", typed.column.kind, "; ".join(parts))


def _counts_rows(series: pd.Series[Any]) -> bool:
    """Whether a column runs 0, 1, 2, ... or 1, 2, 3, ..."""
    numbers = pd.to_numeric(series, errors="coerce")
    return bool(numbers.notna().all() and (numbers.diff().iloc[1:] == 1).all())


@dataclass(frozen=True, slots=True)
class Reading:
    """The choices made about the columns, as ``Observations.from_frame`` takes them."""

    drop: tuple[str, ...]
    labels: tuple[str, ...]
    kinds: tuple[tuple[str, Kind], ...]
    weights: str | None


def reading_of(
    proposals: Sequence[Proposal], roles: Sequence[Role], kinds: Sequence[Kind | None]
) -> Reading:
    """Turn an edited list of columns into a reading."""
    rows = list(zip(proposals, roles, kinds, strict=True))
    weights = [p.name for p, role, _ in rows if role == "weights"]
    if len(weights) > 1:
        raise DataError("two columns are marked as weights; one can say how often a row counts.")
    return Reading(
        tuple(p.name for p, role, _ in rows if role == "leave out"),
        tuple(p.name for p, role, _ in rows if role == "label"),
        tuple(
            (p.name, kind)
            for p, role, kind in rows
            if role == "learn" and kind is not None and kind != p.kind
        ),
        weights[0] if weights else None,
    )
