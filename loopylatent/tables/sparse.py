"""Sparse tables in files: Matrix Market (.mtx) and scipy.sparse (.npz)."""

from __future__ import annotations

import os
import re
import struct
import warnings
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from loopylatent.compute.limits import LIMITS, check_shape
from loopylatent.errors import LimitError, LoopyLatentError, Remedy, quoted
from loopylatent.tables.files import MAX_BYTES, File, Source, opened, stream
from loopylatent.tables.kinds import Kind
from loopylatent.tables.observations import Observations, OnDegenerate, summed
from loopylatent.tables.read import utf8

READABLE = ("csr", "csc", "coo")
"""Accepted sparse formats."""

_BANNER = b"%%MatrixMarket"
_ZIP = b"PK"
_FIELDS = ("real", "integer", "pattern")
_NUMBERS = "biuf"
_UNREADABLE = (
    ArithmeticError, AttributeError, EOFError, LookupError, OSError, RuntimeError, SyntaxError,
    TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip


def read_sparse(
    path: Source,
    names: str | os.PathLike[str] | Sequence[str] | None = None,
    *,
    drop: Sequence[str] = (),
    labels: Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    weights: str | ArrayLike | None = None,
    on_degenerate: OnDegenerate = "error",
    max_bytes: int = MAX_BYTES,
) -> Observations:
    """Read a sparse table, one with many columns and mostly zeros.

    Parameters
    ----------
    path : path, bytes or open file
        A Matrix Market file of coordinates (.mtx, also gzipped), or a csr, csc or coo matrix that
        ``scipy.sparse.save_npz`` wrote (.npz). One row of the matrix is one observation.
    names : path or sequence of str, optional
        The column names, or the path of a text file with one name per line; default: x1, x2, ...
    drop, labels, kinds, weights, on_degenerate
        See `Observations.from_frame`.
    max_bytes : int
        Raise if the file is larger, after decompression.

    Returns
    -------
    Observations

    Examples
    --------
    >>> text = b"%%MatrixMarket matrix coordinate integer general\\n4 3 4\\n"
    >>> read_sparse(text + b"1 1 1\\n2 2 1\\n3 3 1\\n4 1 1\\n", ["cat", "dog", "fish"])
    Observations(4 rows, 3 columns: 3 binary; sparse)
    """
    file = opened(path, max_bytes=max_bytes)
    matrix = _matrix(file, max_bytes)
    return Observations.from_array(
        matrix, _names(names, matrix.shape[1]), drop=drop, labels=labels, kinds=kinds,
        weights=weights, on_degenerate=on_degenerate,
    )  # fmt: skip


_ADDRESS = re.compile(r"<[^<>]* at 0x[0-9a-f]+>")
"""The default repr of a Python object."""


def _matrix(file: File, max_bytes: int) -> Any:
    try:
        if file.content.startswith(_BANNER):
            matrix = _from_matrix_market(file)
        elif file.content.startswith(_ZIP):
            matrix = _from_npz(file, max_bytes)
        else:
            raise file.error(
                "this is neither a Matrix Market file nor a sparse matrix saved by scipy; use a "
                ".mtx, .mtx.gz or .npz file."
            )
    except LoopyLatentError:
        raise
    except MemoryError:
        raise LimitError(f"{quoted(file.name)}: out of memory.") from None
    except _UNREADABLE as error:
        if "does not contain a sparse" in str(error):
            raise file.error(
                "it does not contain a sparse matrix; ", Remedy("saved_distances"), "."
            ) from None
        reason = " ".join(_ADDRESS.sub("", str(error)).split())[:100]
        raise file.error(f"it cannot be read ({reason}); save the matrix again.") from None
    if matrix.dtype.kind not in _NUMBERS:
        raise file.error(f"it contains values of type {matrix.dtype}; save real numbers.")
    rows = summed(matrix)
    rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)
    return rows


def _from_matrix_market(file: File) -> Any:
    """Read coordinates; scipy's reader can crash the process on a damaged file."""
    lines = stream(file)
    fields = lines.readline().decode("ascii").lower().split()
    if fields[1:3] != ["matrix", "coordinate"]:
        raise file.error("it is a dense matrix; save a sparse matrix, or a table as CSV.")
    if len(fields) != 5 or fields[3] not in _FIELDS or fields[4] != "general":
        kind = quoted(" ".join(fields[3:]))
        raise file.error(f"it contains a matrix of type {kind}; save a general real one.")
    sizes = next((line for line in lines if line.strip() and not line.startswith(b"%")), b"")
    n_rows, n_columns, n_entries = map(int, sizes.split())
    _check_limits(n_rows, n_columns, n_entries)
    width = 2 if fields[3] == "pattern" else 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there may be no entries
        entries = np.loadtxt(lines, comments="%", ndmin=2, encoding="ascii")
    if entries.size and entries.shape[1] != width:
        raise ValueError(f"{entries.shape[1]} numbers on a line, not {width}")
    entries = entries.reshape(-1, width)
    if len(entries) != n_entries:
        raise file.error(
            f"it has {len(entries):,} entries but declares {n_entries:,}; save the matrix again."
        )
    index = entries[:, :2].astype(np.int64) - 1
    if (index != entries[:, :2] - 1).any():
        raise ValueError("the position of an entry is not a whole number")
    values = entries[:, 2] if entries.shape[1] == 3 else np.ones(n_entries, dtype=bool)
    return sparse.coo_array((values, tuple(index.T)), shape=(n_rows, n_columns))


def _from_npz(file: File, max_bytes: int) -> Any:
    with zipfile.ZipFile(stream(file)) as archive:
        file.check_members(archive.infolist(), max_bytes)
    matrix: Any = sparse.load_npz(stream(file))
    if matrix.ndim != 2 or matrix.format not in READABLE:
        raise file.error(f"it is not a matrix in one of the formats {', '.join(READABLE)}.")
    n_rows, n_columns = matrix.shape
    _check_limits(n_rows, n_columns, matrix.nnz)
    if matrix.format != "coo":  # indices beyond the shape would read outside the arrays
        matrix.check_format(full_check=True)
    return matrix


def _check_limits(n_rows: int, n_columns: int, n_entries: int) -> None:
    check_shape(0, n_columns, LIMITS)
    for number, what in ((n_rows, "rows"), (n_entries, "entries")):
        if number > LIMITS.cells:
            raise LimitError(f"{number:,} {what} are too many; use at most {LIMITS.cells:,}.")


def _names(
    names: str | os.PathLike[str] | Sequence[str] | None, n_columns: int
) -> Sequence[str] | None:
    if names is None or not isinstance(names, (str, os.PathLike)):
        return names
    file = opened(names)
    content = utf8(file.content)
    if content is None or b"\x00" in content:
        raise file.error("this is not a text file; write one name per line.")
    lines = [line.strip() for line in content.decode().rstrip("\r\n").split("\n")]
    if len(lines) != n_columns:
        raise file.error(
            f"there are {len(lines):,} names for {n_columns:,} columns; write one per column and "
            "line."
        )
    return lines
