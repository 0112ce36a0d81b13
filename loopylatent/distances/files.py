"""Distances in files: as arrays (.npz) with their precision, or as a table."""

from __future__ import annotations

import io
import os
import zipfile
import zlib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from loopylatent.compute.values import frozen_array
from loopylatent.distances.matrix import METRICS, DistanceMatrix, check_n_samples
from loopylatent.errors import DistanceError, LimitError, LoopyLatentError, quoted
from loopylatent.tables.files import File, Source, name_from_csv
from loopylatent.tables.kinds import NA_WORDS
from loopylatent.tables.read import MAX_CELLS, read_frame

_KEYS = ("values", "names", "metric", "is_additive", "n_samples", "noise_floor", "signs",
         "pair_counts")  # fmt: skip
_UNREADABLE = (
    EOFError, KeyError, NotImplementedError, OSError, RuntimeError, TypeError, ValueError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def to_npz(D: DistanceMatrix) -> bytes:
    """Return the content of a .npz file, which numpy can read."""
    target = io.BytesIO()
    known: dict[str, Any] = {key: getattr(D, key) for key in _KEYS}
    arrays: dict[str, Any] = {key: np.array(one) for key, one in known.items() if one is not None}
    np.savez(target, **arrays)
    return target.getvalue()


def read_npz(path: str | os.PathLike[str]) -> DistanceMatrix:
    """Read a file written by `to_npz` and check the distances."""
    shown = os.fspath(path)
    try:
        if not Path(path).is_file():
            raise DistanceError(f"There is no file {quoted(shown)}. Check the path.")
        with zipfile.ZipFile(path) as archive:
            known = [m for m in archive.infolist() if m.filename.removesuffix(".npy") in _KEYS]
        unpacked = sum(member.file_size for member in known)
        File(Path(path).name, b"").check_growth(Path(path).stat().st_size, unpacked)
        with np.load(path, allow_pickle=False) as content:
            found = {key: content[key] for key in _KEYS if key in content}
        names = tuple(str(name) for name in found["names"])
        metric = str(found["metric"])
        n_samples = int(found["n_samples"]) if "n_samples" in found else None
        floor = float(found["noise_floor"]) if "noise_floor" in found else None
        values = np.array(found["values"], dtype=np.float64)
        is_additive = bool(found["is_additive"])
        signs = frozen_array(found["signs"], np.int8) if "signs" in found else None
        counts = frozen_array(found["pair_counts"], np.float64) if "pair_counts" in found else None
    except PermissionError as error:
        raise DistanceError(f"Cannot open {quoted(shown)}: {error.strerror}.") from None
    except LoopyLatentError:
        raise
    except MemoryError:
        raise LimitError(f"{quoted(shown)}: out of memory.") from None
    except _UNREADABLE:
        raise _no_distances(shown) from None
    checked = DistanceMatrix.from_array(values, names, n_samples)
    shapes = {array.shape for array in (signs, counts) if array is not None}
    if shapes - {values.shape} or metric not in (*METRICS, "given"):
        raise _no_distances(shown)
    return DistanceMatrix(
        checked.values, names, n_samples, floor, metric, is_additive, signs, counts
    )


def _no_distances(path: str) -> DistanceError:
    return DistanceError(f"{quoted(path)} does not contain distances. Write it again.")


def check_first_column(frame: pd.DataFrame) -> None:
    """Raise if the first column does not contain the names, in the order of the header."""
    corner, *names = map(str, frame.columns)
    if corner.strip("0.") == "" and "0" in corner:  # the distance of the first column to itself
        raise DistanceError("The first row contains distances, not column names. Add a header row.")
    for name, cell in zip(names, frame.iloc[:, 0], strict=True):
        if not _is_name(cell, name):
            raise DistanceError(
                f"{len(names) + 1} columns and {len(names)} rows are not a square matrix, and the "
                f"first column has {quoted(str(cell))} instead of the name {quoted(name)}."
            )


def _is_name(cell: Any, name: str) -> bool:
    """Whether a cell is the name, which may have been read as a number, boolean or missing."""
    if isinstance(cell, str):
        return cell.strip() == name
    if pd.isna(cell):
        return name in NA_WORDS
    if isinstance(cell, bool | np.bool_):
        return str(cell).lower() == name.lower()
    with suppress(ValueError):
        return float(cell) == float(name.replace(",", ""))
    return False


def read_distances(
    source: Source,
    n_samples: int | None = None,
    *,
    name: str | None = None,
    max_cells: int = MAX_CELLS,
) -> DistanceMatrix:
    """Read a square matrix of distances whose header names the columns.

    Parameters
    ----------
    source : path, bytes or open file
        Any format of `read_frame`, with or without a first column of names, or the path of a .npz
        file written by ``loopylatent distances``.
    n_samples : int, optional
        Rows behind the distances.
    name : str, optional
        Name of the source in messages.
    max_cells : int
        Raise if the table has more cells (rows times columns).

    Returns
    -------
    DistanceMatrix

    Examples
    --------
    >>> read_distances(b"column,a,b,c\\na,0,1,3\\nb,1,0,2\\nc,3,2,0\\n").names
    ('a', 'b', 'c')
    """
    if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith(".npz"):
        check_n_samples(n_samples)
        known = read_npz(source)
        return known if n_samples is None else replace(known, n_samples=n_samples)
    frame = read_frame(source, name=name, max_cells=max_cells)
    if len(frame.columns) == len(frame) + 1:
        check_first_column(frame)
        frame = frame.iloc[:, 1:]
    names = [name_from_csv(str(column)) for column in frame.columns]
    return DistanceMatrix.from_array(frame.to_numpy(), names, n_samples)
