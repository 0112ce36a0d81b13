"""Which columns are variables, and whether names, rows and weights can be used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from loopylatent.errors import DataError, did_you_mean, listed, quoted
from loopylatent.graph import frozen_array
from loopylatent.kinds import Kind
from loopylatent.tables import check_names

FloatArray = NDArray[np.float64]
OnDegenerate = Literal["error", "drop"]
FEWEST_COLUMNS = 3
FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class Dropped:
    """A column that was left out, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns are variables, which are labels, and what is left out."""

    used: list[str]
    labels: list[str]
    dropped: tuple[Dropped, ...]


def find_roles(
    names: Sequence[str],
    drop: Sequence[str],
    labels: Sequence[str],
    weights: Any,
    kinds: Mapping[str, Kind] | None,
) -> Roles:
    """Give every column its role; a name that is no column is an error."""
    by_role = {
        "drop": _name_list(drop),
        "labels": _name_list(labels),
        "weights": [weights] if isinstance(weights, str) else [],
        "kinds": list(by_text(kinds)),
    }
    for role, given in by_role.items():
        for name in given:
            if name not in names:
                raise DataError(
                    f"{role} names {quoted(name)}, which is no column; {did_you_mean(name, names)}"
                )
    reasons = {
        **dict.fromkeys(by_role["drop"], "left out on request"),
        **dict.fromkeys(by_role["labels"], "label"),
        **dict.fromkeys(by_role["weights"], "weights"),
    }
    return Roles(
        [name for name in names if name not in reasons],
        list(dict.fromkeys(by_role["labels"])),
        tuple(Dropped(name, reasons[name]) for name in names if name in reasons),
    )


def kept_columns(
    names: Sequence[str], faults: Sequence[Dropped], on_degenerate: OnDegenerate
) -> list[str]:
    """Return the columns without faults; refuse faults, or a table with too few columns."""
    if on_degenerate not in ("error", "drop"):
        raise DataError(f"on_degenerate = {on_degenerate!r} is unknown; use 'error' or 'drop'.")
    if faults and on_degenerate == "error":
        shown = ", ".join(f"{quoted(fault.name)} ({fault.reason})" for fault in faults[:5])
        more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
        raise DataError(
            f"no distance is defined for {shown}{more}; "
            "remove what is named, or use on_degenerate='drop'."
        )
    left_out = {fault.name for fault in faults}
    kept = [name for name in names if name not in left_out]
    if len(kept) < FEWEST_COLUMNS:
        found = f": {listed(kept)}" if kept else ""
        raise DataError(
            f"usable columns found: {len(kept)}, needed: at least {FEWEST_COLUMNS}{found}; "
            "add columns, or leave out fewer."
        )
    return kept


def check_rows(n_rows: int, weights: FloatArray | None) -> None:
    """Refuse a table with too few rows."""
    if n_rows < FEWEST_ROWS:
        found = "1 row is" if n_rows == 1 else f"{n_rows} rows are"
        raise DataError(f"{found} too few; at least {FEWEST_ROWS} are needed.")
    if weights is not None and weights.sum() < FEWEST_ROWS:
        raise DataError(
            f"the weights add up to {weights.sum():g} rows; at least {FEWEST_ROWS} are needed."
        )


def checked_weights(weights: Any, n_rows: int, first_row: int = 0) -> FloatArray | None:
    """Return the weights as a read-only (n,) array; refuse what cannot be a weight.

    ``first_row`` is for messages: where in the table these rows begin.
    """
    if weights is None:
        return None
    try:
        if np.asarray(weights).dtype.kind in "mMc":  # dates would count as numbers
            raise TypeError
        array: FloatArray = frozen_array(weights, np.float64)
    except (TypeError, ValueError):
        raise DataError("the weights are not numbers; give a number of at least 0.") from None
    if array.shape != (n_rows,):
        raise DataError(f"{array.size} weights for {n_rows} rows; give one for each row.")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise DataError(
            f"the weight of data row {first_row + at + 1} is {array[at]:g}; "
            "give a finite number of at least 0."
        )
    return array


def text_names(names: Iterable[Any]) -> list[str]:
    """Return the names as text, whatever a data frame has for names."""
    texts = ["" if name is None or name is pd.NA or name != name else str(name) for name in names]
    check_names(texts)
    return texts


def _name_list(names: Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names or ()]


def by_text(kinds: Mapping[str, Kind] | None) -> dict[str, Kind]:
    """Return the wanted kinds with text for names."""
    if kinds is not None and not isinstance(kinds, Mapping):
        raise DataError("kinds say a kind for each name; give a dict such as {'age': 'ordinal'}.")
    return {str(name): kind for name, kind in (kinds or {}).items()}


def frozen_values(values: Any) -> Any:
    """Return the values as a read-only float64 array, or as a read-only csr_array."""
    is_sparse: bool = sparse.issparse(values)
    if not is_sparse:
        array = np.asarray(values)
        is_ready = array.dtype == np.float64 and array.flags.c_contiguous
        return array if is_ready and not array.flags.writeable else frozen_array(array, np.float64)
    matrix = summed(values)
    matrix.eliminate_zeros()
    for part in (matrix.data, matrix.indices, matrix.indptr):
        part.setflags(write=False)
    return matrix


def summed(matrix: Any) -> Any:
    """Return a new csr_array of doubles; entries of one cell are added, flags stay 0 or 1.

    Examples
    --------
    >>> twice = sparse.coo_array((np.full(2, 200, np.uint8), ([0, 0], [0, 0])))
    >>> summed(twice).toarray(), summed(twice > 0).toarray()
    (array([[400.]]), array([[1.]]))
    """
    if matrix.dtype.kind == "b":
        matrix = sparse.csr_array(matrix, copy=True)
        matrix.sum_duplicates()
    rows: Any = sparse.csr_array(matrix.astype(np.float64))  # narrow whole numbers would overflow
    rows.sum_duplicates()
    return rows


def locked(values: Any) -> Any:
    """Make a fresh array read-only, so that it need not be copied once more."""
    if isinstance(values, np.ndarray):
        values.setflags(write=False)
    return values


def signless(values: FloatArray) -> FloatArray:
    """Write every zero and every NaN in one way, so that equal tables have equal digests."""
    values += 0.0
    values[np.isnan(values)] = np.nan
    return values
