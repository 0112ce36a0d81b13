"""The table to learn from: typed columns, missing values, weights (section 2.1)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from loopylatent.compute.values import FloatArray, Shown, frozen_array, wrong_type
from loopylatent.errors import DataError, Remedy, did_you_mean, listed, quoted
from loopylatent.tables.files import MAX_BYTES, Source, check_names
from loopylatent.tables.kinds import Column, Kind, states_to_values, type_column, type_sparse_column
from loopylatent.tables.read import MAX_CELLS, read_frame

OnDegenerate = Literal["error", "drop"]
FEWEST_COLUMNS = 3
FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class Dropped:
    """A column that was dropped, and why."""

    name: str
    reason: str


@dataclass(frozen=True, eq=False)
class Observations(Shown):
    """A table of n rows and p typed columns; the arrays are read-only.

    Parameters
    ----------
    values : (n, p) float64 array, or scipy.sparse.csr_array
        Codes from 0 for binary and categorical columns, numbers otherwise, NaN if missing. A
        sparse matrix has neither categorical columns nor missing values.
    columns : tuple of Column
    labels : DataFrame
        Columns that describe the rows but are not variables; n rows.
    weights : (n,) float64 array or None
        A row of weight 3 counts as three rows.
    dropped : tuple of Dropped
        Columns that were dropped, and why.

    Examples
    --------
    >>> table = pd.DataFrame({"id": [7, 8, 9, 10], "vote": ["y", "n", None, "y"],
    ...                       "mood": [1, 2, 5, 3], "height": [1.7, 1.65, 1.81, 1.77]})
    >>> obs = Observations.from_frame(table, labels=["id"])
    >>> obs
    Observations(4 rows, 3 columns: 1 binary, 1 ordinal, 1 continuous; 1 value missing)
    >>> obs.columns[0]
    Column(name='vote', kind='binary', states=('n', 'y'))
    >>> obs.to_frame()["vote"].tolist()
    ['y', 'n', nan, 'y']
    """

    values: Any = field(repr=False)
    columns: tuple[Column, ...]
    labels: pd.DataFrame = field(default_factory=pd.DataFrame)
    weights: FloatArray | None = None
    dropped: tuple[Dropped, ...] = ()

    def __post_init__(self) -> None:
        values = frozen_values(self.values)
        n_rows = values.shape[0]
        if values.shape[1] != len(self.columns):
            raise DataError(f"There are {values.shape[1]} columns but {len(self.columns)} names.")
        labels = self.labels if self.labels.shape[1] else pd.DataFrame(index=range(n_rows))
        if len(labels) != n_rows:
            raise DataError(f"There are {n_rows} rows of values but {len(labels)} of labels.")
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "columns", tuple(self.columns))
        object.__setattr__(self, "labels", labels.reset_index(drop=True))
        object.__setattr__(self, "weights", checked_weights(self.weights, n_rows))
        object.__setattr__(self, "dropped", tuple(self.dropped))

    @classmethod
    def from_frame(
        cls,
        df: pd.DataFrame,
        *,
        kinds: Mapping[str, Kind] | None = None,
        drop: Sequence[str] = (),
        labels: Sequence[str] = (),
        weights: str | ArrayLike | None = None,
        on_degenerate: OnDegenerate = "error",
    ) -> Observations:
        """Check a data frame and determine the type of every column.

        Parameters
        ----------
        df : DataFrame
        kinds : mapping, optional
            Column name to "binary", "categorical", "ordinal" or "continuous"; overrides the
            detected types.
        drop : sequence of str
            Columns to drop.
        labels : sequence of str
            Columns to keep as labels of the rows; they are not variables.
        weights : str or array, optional
            How often each row counts: a column name, or numbers.
        on_degenerate : {"error", "drop"}
            What to do with constant and empty columns, which have no distance to others.

        Examples
        --------
        >>> table = pd.DataFrame({"a": [0, 1, 1], "b": [1, 0, 1], "c": [2, 9, 4], "n": [5, 2, 1]})
        >>> Observations.from_frame(table, weights="n").n_samples
        8
        """
        if not isinstance(df, pd.DataFrame):
            raise DataError(
                f"A {type(df).__name__} is not a DataFrame; use ",
                Remedy("call", "from_array"),
                " for arrays.",
            )
        names = text_names(df.columns)
        frame = df.set_axis(names, axis="columns").reset_index(drop=True)
        roles = find_roles(names, drop, labels, weights, kinds)
        row_weights = checked_weights(
            frame[weights] if isinstance(weights, str) else weights, len(frame)
        )
        check_rows(len(frame), row_weights)
        wanted = by_text(kinds)
        typed = [type_column(name, frame[name], wanted.get(name)) for name in roles.used]
        values = np.empty((len(frame), len(typed)))
        for j, one in enumerate(typed):
            values[:, j] = one.numbers
        columns = tuple(one.column for one in typed)
        obs = cls(
            locked(signless(values)), columns, frame[roles.labels], row_weights, roles.dropped
        )
        return obs.usable(on_degenerate)

    @classmethod
    def from_array(
        cls,
        X: Any,
        names: Sequence[str] | None = None,
        *,
        kinds: Mapping[str, Kind] | None = None,
        drop: Sequence[str] = (),
        labels: Sequence[str] = (),
        weights: str | ArrayLike | None = None,
        on_degenerate: OnDegenerate = "error",
    ) -> Observations:
        """Check a matrix, dense or sparse; a sparse one stays sparse.

        Parameters
        ----------
        X : (n, p) array or scipy sparse matrix
        names : sequence of str, optional
            Default: x1, x2, ...
        kinds, drop, labels, weights, on_degenerate
            As for `from_frame`.

        Examples
        --------
        >>> Observations.from_array([[0, 1, 2.5], [1, 0, 0.5], [0, 0, 1.5]]).names
        ('x1', 'x2', 'x3')
        """
        if isinstance(X, str | bytes) or hasattr(X, "__fspath__"):
            read = Remedy("call", "read_table(path)")
            raise DataError(f"A {type(X).__name__} is not a table; use ", read, ".")
        matrix: Any = X if sparse.issparse(X) else _as_array(X)
        if matrix.ndim != 2:
            raise DataError(f"The array has {matrix.ndim} dimensions; it must have 2.")
        n_columns = matrix.shape[1]
        names = [f"x{k + 1}" for k in range(n_columns)] if names is None else names
        if len(names) != n_columns:
            raise DataError(f"There are {len(names)} names for {n_columns} columns.")
        if not sparse.issparse(X):
            frame = pd.DataFrame(matrix, columns=list(names)).infer_objects()
            return cls.from_frame(
                frame, kinds=kinds, drop=drop, labels=labels, weights=weights,
                on_degenerate=on_degenerate,
            )  # fmt: skip
        names = text_names(names)
        roles = find_roles(names, drop, labels, weights, kinds)
        obs = _from_sparse(matrix, names, roles, weights, by_text(kinds))
        return obs.usable(on_degenerate)

    @property
    def n_rows(self) -> int:
        return int(self.values.shape[0])

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    @property
    def n_samples(self) -> int:
        """The number of rows or, with weights, their sum."""
        return self.n_rows if self.weights is None else round(float(self.weights.sum()))

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(column.kind for column in self.columns)

    @property
    def is_sparse(self) -> bool:
        return bool(sparse.issparse(self.values))

    @cached_property
    def n_missing(self) -> int:
        """The number of missing values in the table."""
        return 0 if self.is_sparse else int(np.isnan(self.values).sum())

    @property
    def has_missing(self) -> bool:
        return self.n_missing > 0

    @cached_property
    def digest(self) -> str:
        """A hash of values, columns and weights, without labels."""
        hasher = hashlib.sha256(repr((self.values.shape, self.columns)).encode())
        matrix = self.values
        parts = [matrix.data, matrix.indices, matrix.indptr] if self.is_sparse else [matrix]
        for part in parts if self.weights is None else [*parts, self.weights]:
            hasher.update(f"{part.dtype} {part.shape}".encode())
            hasher.update(part.tobytes())
        return hasher.hexdigest()[:16]

    def dense(self) -> FloatArray:
        """Return the values as a dense array."""
        array: FloatArray = self.values.toarray() if self.is_sparse else self.values
        return array

    def take(self, rows: ArrayLike) -> Observations:
        """Return the rows at these positions (repeats allowed), or selected by a mask."""
        chosen = np.asarray(rows)
        if chosen.dtype == bool and chosen.shape == (self.n_rows,):
            chosen = np.flatnonzero(chosen)
        if chosen.size == 0:
            chosen = chosen.astype(np.intp)
        if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
            raise DataError("rows must be a list of positions, or a mask of all rows.")
        if chosen.size and (chosen.min() < 0 or chosen.max() >= self.n_rows):
            raise DataError(f"A row position is outside 0 to {self.n_rows - 1}.")
        weights = None if self.weights is None else self.weights[chosen]
        labels = self.labels.iloc[chosen]
        return replace(self, values=locked(self.values[chosen]), labels=labels, weights=weights)

    def select(self, names: Sequence[str]) -> Observations:
        """Return the columns with these names, in this order."""
        positions = [self._position(name) for name in names]
        columns = tuple(self.columns[j] for j in positions)
        return replace(self, values=locked(self.values[:, positions]), columns=columns)

    def with_weights(self, weights: ArrayLike | None) -> Observations:
        """Return the table with other weights, or without."""
        return replace(self, weights=checked_weights(weights, self.n_rows))

    def with_values(self, values: Any) -> Observations:
        """Return a table with the same columns and other values in the same coding."""
        return replace(self, values=values)

    def missing_share(self, name: str) -> float:
        """Return the share of rows in which a column is missing."""
        j = self._position(name)
        if self.is_sparse or self.n_rows == 0:
            return 0.0
        return float(np.isnan(self.values[:, j]).mean())

    def usable(self, on_degenerate: OnDegenerate = "error") -> Observations:
        """Drop columns that do not vary, or raise; raise if too few columns are left."""
        faults = self._faults()
        kept = kept_columns(self.names, faults, on_degenerate)
        return replace(self.select(kept), dropped=(*self.dropped, *faults)) if faults else self

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with the original values instead of codes."""
        if self.is_sparse:
            ones = [float(c.states[1]) if len(c.states) == 2 else 1.0 for c in self.columns]
            scaled = sparse.csr_array(self.values @ sparse.diags_array(ones))
            accessor: Any = pd.DataFrame.sparse
            return cast("pd.DataFrame", accessor.from_spmatrix(scaled, columns=list(self.names)))
        series = [
            states_to_values(column, self.values[:, j]) if column.states else self.values[:, j]
            for j, column in enumerate(self.columns)
        ]
        frame = pd.DataFrame(dict(enumerate(series)), index=range(self.n_rows))
        return frame.set_axis(list(self.names), axis="columns")

    def _faults(self) -> list[Dropped]:
        if self.n_columns == 0:
            return []
        values = self.values if self.weights is None else self.values[self.weights > 0]
        if self.is_sparse:
            low, high = values.min(axis=0).toarray().ravel(), values.max(axis=0).toarray().ravel()
        else:
            low, high = np.fmin.reduce(values, axis=0), np.fmax.reduce(values, axis=0)
        return find_faults(self.names, low, high)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {name: j for j, name in enumerate(self.names)}

    def _position(self, name: str) -> int:
        if name not in self._positions:
            raise DataError(f"There is no column {quoted(name)}; {did_you_mean(name, self.names)}")
        return self._positions[name]

    def __repr__(self) -> str:
        columns = describe_columns(self.kinds, self.n_missing)
        return f"Observations({self.n_rows} rows, {columns}{'; sparse' * self.is_sparse})"


def describe_columns(kinds: Sequence[Kind], n_missing: int) -> str:
    """Return the numbers of columns of each type, and of missing values, as text."""
    counts = ", ".join(f"{count} {kind}" for kind, count in Counter(kinds).items())
    missing = f"; {n_missing} value{'s' * (n_missing > 1)} missing" if n_missing else ""
    return f"{len(kinds)} columns: {counts}{missing}"


def read_table(
    path: Source,
    *,
    drop: Sequence[str] = (),
    labels: Sequence[str] = (),
    kinds: Mapping[str, Kind] | None = None,
    weights: str | ArrayLike | None = None,
    delimiter: str | None = None,
    sheet: str | int | None = None,
    on_degenerate: OnDegenerate = "error",
    max_bytes: int = MAX_BYTES,
    max_cells: int = MAX_CELLS,
) -> Observations:
    """Read a table from a file and determine the type of every column.

    Parameters
    ----------
    path : path, bytes or open file
        See `read_frame` for the formats.
    drop, labels, kinds, weights, on_degenerate
        See `Observations.from_frame`.
    delimiter, sheet, max_bytes, max_cells
        See `read_frame`.

    Returns
    -------
    Observations

    Examples
    --------
    >>> read_table(b"a,b,c\\n0,y,1.5\\n1,n,2.5\\n1,y,NA\\n0,n,0.1\\n")
    Observations(4 rows, 3 columns: 2 binary, 1 continuous; 1 value missing)
    """
    frame = read_frame(
        path, delimiter=delimiter, sheet=sheet, max_bytes=max_bytes, max_cells=max_cells
    )
    return Observations.from_frame(
        frame, kinds=kinds, drop=drop, labels=labels, weights=weights, on_degenerate=on_degenerate
    )


def _from_sparse(
    matrix: Any,
    names: list[str],
    roles: Roles,
    weights: str | ArrayLike | None,
    wanted: Mapping[str, Kind],
) -> Observations:
    by_column = sparse.csc_array(summed(matrix), dtype=np.float64)
    by_column.eliminate_zeros()
    n_rows = by_column.shape[0]
    position = {name: j for j, name in enumerate(names)}

    def whole(name: str) -> FloatArray:
        return by_column[:, [position[name]]].toarray().ravel()

    row_weights = checked_weights(whole(weights) if isinstance(weights, str) else weights, n_rows)
    check_rows(n_rows, row_weights)
    used = by_column[:, [position[name] for name in roles.used]]
    columns = []
    for j, name in enumerate(roles.used):
        entries = used.data[used.indptr[j] : used.indptr[j + 1]]
        if not np.isfinite(entries).all():
            raise DataError(
                f"Column {quoted(name)} of the sparse matrix contains NaN or infinity. Correct "
                "it, or use a dense array, in which NaN is a missing value."
            )
        column = type_sparse_column(name, entries, len(entries) < n_rows, wanted.get(name))
        if column.kind == "binary":
            entries[:] = 1.0
        columns.append(column)
    labels = pd.DataFrame({name: whole(name) for name in roles.labels})
    return Observations(used.tocsr(), tuple(columns), labels, row_weights, roles.dropped)


def check_observations(obs: object) -> None:
    """Raise if the argument is not an `Observations`."""
    if isinstance(obs, Observations):
        return
    if isinstance(obs, pd.DataFrame):
        remedy = "Observations.from_frame(table)"
    elif isinstance(obs, str) or hasattr(obs, "__fspath__"):
        remedy = "read_table(path)"
    else:
        remedy = "Observations.from_array(rows)"
    raise DataError(*wrong_type("Observations", obs, remedy))


def _as_array(X: Any) -> NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):  # masked values are missing
        found = np.array(X, dtype=object)
        found[np.ma.getmaskarray(X)] = None
        return found
    try:
        return np.asarray(X)
    except ValueError:
        raise DataError("The rows differ in length. Use a rectangular array.") from None


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns are variables, which are labels, and which are dropped."""

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
    """Assign a role to every column; raise if a name is not a column."""
    by_role = {
        "drop": _name_list(drop),
        "labels": _name_list(labels),
        "weights": [weights] if isinstance(weights, str) else [],
        "kinds": list(by_text(kinds)),
    }
    for role, listed_names in by_role.items():
        for name in listed_names:
            if name not in names:
                raise DataError(
                    Remedy("role", role),
                    f": there is no column {quoted(name)}; {did_you_mean(name, names)}",
                )
    reasons = {
        **dict.fromkeys(by_role["drop"], "dropped on request"),
        **dict.fromkeys(by_role["labels"], "label"),
        **dict.fromkeys(by_role["weights"], "weights"),
    }
    return Roles(
        [name for name in names if name not in reasons],
        list(dict.fromkeys(by_role["labels"])),
        tuple(Dropped(name, reasons[name]) for name in names if name in reasons),
    )


def find_faults(names: Sequence[str], low: Iterable[float], high: Iterable[float]) -> list[Dropped]:
    """Return the columns that are constant or empty."""
    return [
        Dropped(name, "constant" if least == most else "no values")
        for name, least, most in zip(names, low, high, strict=True)
        if not least < most
    ]


def kept_columns(
    names: Sequence[str], faults: Sequence[Dropped], on_degenerate: OnDegenerate
) -> list[str]:
    """Return the columns without faults; raise on faults, or if too few columns are left."""
    if on_degenerate not in ("error", "drop"):
        raise DataError(f"Unknown on_degenerate = {on_degenerate!r}. Use 'error' or 'drop'.")
    if faults and on_degenerate == "error":
        raise DataError(_fault_text(faults), Remedy("drop_degenerate"), ".")
    faulty = {fault.name for fault in faults}
    kept = [name for name in names if name not in faulty]
    if len(kept) < FEWEST_COLUMNS:
        found = f" ({listed(kept)})" if kept else ""
        raise DataError(
            f"At least {FEWEST_COLUMNS} usable columns are needed; found {len(kept)}{found}. "
            "Add columns, or drop fewer."
        )
    return kept


def _fault_text(faults: Sequence[Dropped]) -> str:
    if len(faults) == 1:
        fault = "is constant" if faults[0].reason == "constant" else "has no values"
        return f"Column {quoted(faults[0].name)} {fault}. Drop it"
    shown = ", ".join(f"{quoted(fault.name)} ({fault.reason})" for fault in faults[:5])
    more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
    return f"{len(faults)} columns are constant or empty: {shown}{more}. Drop them"


def check_rows(n_rows: int, weights: FloatArray | None) -> None:
    """Raise if the table has too few rows."""
    if n_rows < FEWEST_ROWS:
        found = "is 1 row" if n_rows == 1 else f"are {n_rows} rows"
        raise DataError(f"There {found}; at least {FEWEST_ROWS} are needed.")
    if weights is not None and weights.sum() < FEWEST_ROWS:
        raise DataError(
            f"The weights sum to {weights.sum():g} rows; at least {FEWEST_ROWS} are needed."
        )


def checked_weights(weights: Any, n_rows: int, first_row: int = 0) -> FloatArray | None:
    """Return the weights as a read-only (n,) array; ``first_row`` is for messages."""
    if weights is None:
        return None
    try:
        if np.asarray(weights).dtype.kind in "mMc":  # dates would count as numbers
            raise TypeError
        array: FloatArray = frozen_array(weights, np.float64)
    except (TypeError, ValueError):
        raise DataError("The weights must be numbers of at least 0.") from None
    if array.shape != (n_rows,):
        raise DataError(f"There are {array.size} weights for {n_rows} rows.")
    wrong = ~(np.isfinite(array) & (array >= 0))
    if wrong.any():
        at = int(wrong.argmax())
        raise DataError(
            f"The weight of data row {first_row + at + 1} is {array[at]:g}; weights must be finite "
            "and at least 0."
        )
    return array


def text_names(names: Iterable[Any]) -> list[str]:
    """Return the column names of a data frame as text."""
    texts = ["" if name is None or name is pd.NA or name != name else str(name) for name in names]
    check_names(texts)
    return texts


def _name_list(names: Sequence[str] | None) -> list[str]:
    return [names] if isinstance(names, str) else [str(name) for name in names or ()]


def by_text(kinds: Mapping[str, Kind] | None) -> dict[str, Kind]:
    """Return the requested types with the names as text."""
    if kinds is not None and not isinstance(kinds, Mapping):
        raise DataError("kinds must be a dict such as {'age': 'ordinal'}.")
    return {str(name): kind for name, kind in (kinds or {}).items()}


def frozen_values(values: Any) -> Any:
    """Return the values as a read-only float64 array or csr_array."""
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
    """Return a new float64 csr_array with duplicate entries added; booleans stay 0 or 1."""
    if matrix.dtype.kind == "b":
        matrix = sparse.csr_array(matrix, copy=True)
        matrix.sum_duplicates()
    rows: Any = sparse.csr_array(matrix.astype(np.float64))  # narrow whole numbers would overflow
    rows.sum_duplicates()
    return rows


def locked(values: Any) -> Any:
    """Make a new array read-only, which saves a copy."""
    if isinstance(values, np.ndarray):
        values.setflags(write=False)
    return values


def signless(values: FloatArray) -> FloatArray:
    """Normalise the signs of zeros and NaNs, so that equal tables have equal digests."""
    values += 0.0
    values[np.isnan(values)] = np.nan
    return values


def shift_of(count: FloatArray, total: FloatArray, whole: NDArray[np.bool_]) -> FloatArray:
    """Return means, rounded for columns of whole numbers so that their sums stay exact."""
    with np.errstate(invalid="ignore"):
        mean = total / count
    return np.where(whole, np.rint(mean), mean)
