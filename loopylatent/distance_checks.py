"""Whether numbers are distances that a graph can be learned from; refusals in one line."""

from __future__ import annotations

import numpy as np

from loopylatent.errors import DistanceError, quoted
from loopylatent.graph import FloatArray
from loopylatent.intake import FEWEST_COLUMNS

LARGEST_DISTANCE = 1e60
"""Sums and squares of such distances are still numbers."""
SYMMETRY_TOLERANCE = 1e-8


def check_n_samples(n_samples: int | None) -> None:
    """Refuse a number of rows from which no distances come."""
    if n_samples is not None and n_samples < 3:
        raise DistanceError(f"n_samples = {n_samples} is too few; give at least 3, or None.")


def check_distinct(n_columns: int) -> None:
    """Refuse a table with too few columns that differ from each other."""
    if n_columns < FEWEST_COLUMNS:
        many = f"only {n_columns} columns differ from each other"
        shown = many if n_columns > 1 else "all columns determine each other (distance 0)"
        raise DistanceError(f"{shown}; at least {FEWEST_COLUMNS} that differ are needed.")


def check_distances(array: FloatArray, names: tuple[str, ...]) -> None:
    """Refuse a square matrix that does not hold the distances of so many names."""
    if len(names) != len(array):
        raise DistanceError(f"{len(array)} rows but {len(names)} names; give one name a row.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DistanceError(f"the name {quoted(twice)} is given twice; names must differ.")
    if len(array) < 3:
        raise DistanceError(f"{len(array)} columns are too few; at least 3 are needed.")
    if np.isnan(array).any():
        i, j = np.argwhere(np.isnan(array))[0]
        raise DistanceError(
            f"the distance of {quoted(names[i])} and {quoted(names[j])} is missing; "
            "use infinity where two columns are independent."
        )
    if (array < 0).any():
        i, j = np.argwhere(array < 0)[0]
        raise DistanceError(
            f"the distance of {quoted(names[i])} and {quoted(names[j])} is {array[i, j]:g}; "
            "distances are at least 0."
        )
    too_far = np.isfinite(array) & (array > LARGEST_DISTANCE)
    if too_far.any():
        i, j = np.argwhere(too_far)[0]
        raise DistanceError(
            f"the distance of {quoted(names[i])} and {quoted(names[j])} is {array[i, j]:g}, beyond "
            f"{LARGEST_DISTANCE:g}; divide all by a round number, or use infinity there."
        )
    if np.diag(array).any():
        i = int(np.flatnonzero(np.diag(array))[0])
        raise DistanceError(
            f"the distance of {quoted(names[i])} to itself is {array[i, i]:g}; it must be 0. "
            "Are these similarities? Use -log of them."
        )
    with np.errstate(invalid="ignore"):
        gap = np.where(array == array.T, 0.0, np.abs(array - array.T))
    if (gap > SYMMETRY_TOLERANCE * np.maximum(1.0, array)).any():
        i, j = np.argwhere(gap > SYMMETRY_TOLERANCE * np.maximum(1.0, array))[0]
        raise DistanceError(
            f"the matrix is not symmetric: {quoted(names[i])} to {quoted(names[j])} is "
            f"{array[i, j]:g}, back it is {array[j, i]:g}."
        )
    if not np.isfinite(array[~np.eye(len(array), dtype=bool)]).any():
        raise DistanceError("every distance is infinite, so there is no graph to learn.")
