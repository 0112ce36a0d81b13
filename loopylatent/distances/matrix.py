"""Information distances between the columns of a table: -log of strengths (section 3.1)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.compute.limits import check_memory
from loopylatent.compute.values import (
    FloatArray,
    IntArray,
    Progress,
    Shown,
    check_seed,
    frozen_array,
    wrong_type,
)
from loopylatent.compute.workers import Engine
from loopylatent.distances.blocks import sum_blocks
from loopylatent.distances.strengths import (
    SMALLEST_STRENGTH,
    Measure,
    Strengths,
    correlation_noise_floor,
    null_rows,
    permutation_noise_floor,
    plan_sums,
    strengths_from,
    table_strengths,
    weight_of,
)
from loopylatent.errors import DistanceError, Remedy, quoted
from loopylatent.tables.blocks.table import BlockTable
from loopylatent.tables.files import FilePath
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import FEWEST_COLUMNS, Observations, OnDegenerate

Metric = Literal[
    "auto", "correlation", "rank", "determinant", "determinant-printed", "canonical", "given"
]

METRICS: tuple[Metric, ...] = tuple(metric for metric in get_args(Metric) if metric != "given")
EQUAL_COLUMNS = 1e-12
"""Distances below this are rounding errors: the columns determine each other."""


class AnyDistances:
    """The input of the learner: a `DistanceMatrix` or `SparseDistances`."""

    names: tuple[str, ...]

    @property
    def n_columns(self) -> int:
        return len(self.names)


def check_is_distances(D: object) -> None:
    """Raise if the argument is neither a `DistanceMatrix` nor `SparseDistances`."""
    if not isinstance(D, AnyDistances):
        table = "read_table(path)" if isinstance(D, str | Path) else "table"
        use = f"information_distances({table})"
        raise DistanceError(*wrong_type("a DistanceMatrix", D, use))


@dataclass(frozen=True, eq=False, repr=False)
class DistanceMatrix(AnyDistances, Shown):
    """Distances between the observed columns, and their precision.

    Parameters
    ----------
    values : (p, p) float64 array
        Symmetric, zero diagonal, infinite if two columns look independent.
    names : tuple of str
    n_samples : int or None
        Rows behind the distances; None if unknown.
    noise_floor : float or None
        A larger distance cannot be distinguished from independence.
    metric : str
    is_additive : bool
        Whether the metric is additive along the paths of a tree (canonical correlations of
        columns with more than two states are not).
    signs : (p, p) int8 array or None
        Signs of the correlations, if the metric has signs.
    pair_counts : (p, p) float64 array or None
        Rows in which both columns are present; None if no values are missing.

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]], names=["a", "b", "c"])
    >>> D.r_min, D.r_max
    (2.5, 3.0)
    >>> D
    DistanceMatrix(3 columns, number of rows unknown, metric given)
    """

    values: FloatArray
    names: tuple[str, ...]
    n_samples: int | None
    noise_floor: float | None
    metric: Metric
    is_additive: bool = True
    signs: NDArray[np.int8] | None = None
    pair_counts: FloatArray | None = None

    @classmethod
    def from_array(
        cls, values: Any, names: Sequence[str] | None = None, n_samples: int | None = None
    ) -> DistanceMatrix:
        """Check a matrix of distances and wrap it."""
        if isinstance(values, pd.DataFrame):
            names = [str(name) for name in values.columns] if names is None else names
            values = values.to_numpy()
        try:
            array = np.array(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise DistanceError("The distance matrix has an entry that is not a number.") from None
        if array.ndim != 2 or array.shape[0] != array.shape[1]:
            raise DistanceError(
                f"A distance matrix must be square; this one has shape {array.shape}. ",
                Remedy("not_distances"),
            )
        chosen = (f"x{k + 1}" for k in range(len(array))) if names is None else names
        labels = tuple(str(name) for name in chosen)
        check_distance_values(array, labels)
        check_n_samples(n_samples)
        array = (array + array.T) / 2
        floor = None if n_samples is None else correlation_noise_floor(n_samples)
        return cls(frozen_array(array, np.float64), labels, n_samples, floor, "given")

    @cached_property
    def r_max(self) -> float:
        """The largest finite distance; from here on the initial graph is a tree."""
        return float(self.values[np.isfinite(self.values)].max())

    @cached_property
    def r_min(self) -> float:
        """Below this radius some column has no neighbour."""
        nearest = (self.values + np.diag(np.full(self.n_columns, np.inf))).min(axis=0)
        return float(nearest[np.isfinite(nearest)].max())

    @cached_property
    def smallest(self) -> float:
        """The smallest distance between two columns."""
        # without its first entry, the matrix has the diagonal at the end of every p + 1 entries
        entries = self.values.reshape(-1)[1:].reshape(-1, self.n_columns + 1)
        return float(entries[:, :-1].min())

    @cached_property
    def digest(self) -> str:
        """A hash of the distances and of the other inputs of the learner."""
        hasher = hashlib.sha256(repr((self.names, self.n_samples, self.metric)).encode())
        hasher.update(self.values.tobytes())
        return hasher.hexdigest()[:16]

    def to_frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.values, index=list(self.names), columns=list(self.names))

    def __repr__(self) -> str:
        rows = "number of rows unknown" if self.n_samples is None else f"{self.n_samples} rows"
        floor = "" if self.noise_floor is None else f", noise floor {self.noise_floor:.3g}"
        return f"DistanceMatrix({self.n_columns} columns, {rows}, metric {self.metric}{floor})"


def information_distances(
    table: Any,
    metric: Metric = "auto",
    *,
    on_degenerate: OnDegenerate = "error",
    seed: int = 0,
    progress: Progress | None = None,
    checkpoint: FilePath | None = None,
    engine: Engine = "threads",
    scheduler: str | None = None,
) -> DistanceMatrix:
    """Estimate the information distance between every two columns.

    Parameters
    ----------
    table : Observations, DataFrame, array (dense or sparse) or BlockTable
    metric : str
        ``auto`` chooses by column type; ``correlation`` and ``rank`` are for numbers;
        ``determinant`` is for columns with the same states (``determinant-printed`` is the form
        printed in the paper, without denominator, and not additive); ``canonical`` is for any
        columns.
    on_degenerate : {"error", "drop"}
        What to do with constant columns and columns at distance 0 from an earlier one.
    seed : int
        For the permutations behind the noise floor of ``determinant`` and ``canonical``.
    progress : callable, optional
        Called with the number of portions of a `BlockTable` done and in total; may raise to stop.
    checkpoint : path, optional
        A file for intermediate results of a `BlockTable`. If it exists, the computation resumes
        from it. It is removed when the distances are complete, but not on an error.
    engine : {"threads", "dask"}
        Where the blocks of a `BlockTable` are summed: on the threads of this machine, or on a
        Dask cluster. The result is the same.
    scheduler : str, optional
        The address of the Dask scheduler; default: processes are started on this machine.

    Returns
    -------
    DistanceMatrix

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(1000, 1))
    >>> D = information_distances(x + rng.normal(size=(1000, 3)))
    >>> D.metric, D.n_samples
    ('correlation', 1000)
    >>> bool(abs(D.values[0, 1] - np.log(2)) < 0.1)   # the true correlation is 1/2
    True
    """
    check_seed(seed)
    if isinstance(table, BlockTable):
        found = _from_blocks(
            table, metric, seed, progress=progress, checkpoint=checkpoint,
            engine=engine, scheduler=scheduler,
        )  # fmt: skip
    elif checkpoint is not None or engine != "threads" or scheduler is not None:
        raise DistanceError(
            "checkpoint, engine and scheduler need a table that is read in blocks; use ",
            Remedy("call", "scan_table(path)"),
            ".",
        )
    else:
        found = _from_rows(_observations(table, on_degenerate), metric, seed)
    equal = np.triu(to_distances(found.strengths.values) == 0.0, 1)
    later, first = np.nonzero(equal.T)
    kept = distinct_columns(found.names, first, later, on_degenerate)
    D = _distance_matrix(found if len(kept) == len(found.names) else found.select(kept), seed)
    if checkpoint is not None:
        Path(checkpoint).unlink(missing_ok=True)
    return D


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """Strengths, and some or all of the rows behind them."""

    metric: Measure
    strengths: Strengths
    names: tuple[str, ...]
    n_samples: int
    weight: float
    rows: Observations

    def select(self, kept: list[int]) -> _Found:
        names = tuple(self.names[k] for k in kept)
        strengths, rows = self.strengths.select(kept), self.rows.select(names)
        return replace(self, strengths=strengths, names=names, rows=rows)


def _from_rows(obs: Observations, metric: Metric, seed: int) -> _Found:
    chosen = choose_metric(obs.columns, metric)
    check_memory(obs.n_columns, width=_width(chosen, obs.columns))
    wanted = null_rows(obs.n_rows, obs.n_columns, seed)
    rows = obs if wanted is None or not _permutes(chosen) else obs.take(wanted)
    strengths = table_strengths(obs, chosen)
    return _Found(chosen, strengths, obs.names, obs.n_samples, weight_of(obs), rows)


def _from_blocks(table: BlockTable, metric: Metric, seed: int, **how: Any) -> _Found:
    chosen = choose_metric(table.columns, metric)
    check_memory(table.n_columns, width=_width(chosen, table.columns))
    if chosen == "rank":
        raise DistanceError(
            Remedy("metric", "rank"),
            " needs all rows in memory, but this table is read in blocks; ",
            Remedy("metric_for_blocks"),
            ".",
        )
    plan = plan_sums(chosen, table.columns, table.shift, table.has_missing)
    wanted = null_rows(table.n_rows, table.n_columns, seed)
    wanted = np.arange(table.n_rows) if wanted is None else wanted
    found = sum_blocks(table, plan, wanted if _permutes(chosen) else wanted[:0], **how)
    strengths = strengths_from(chosen, plan, found.sums, table.has_missing)
    known = (table.names, table.n_samples, table.total_weight)
    return _Found(chosen, strengths, *known, found.rows)


def _width(metric: Measure, columns: Sequence[Column]) -> float:
    """Side of the largest matrices relative to that of the distances."""
    if not _permutes(metric):
        return 1.0
    states = max((len(column.states) for column in columns if _is_counted(column)), default=1)
    return states if metric == "canonical" else max(1.0, 0.65 * states)  # counts need fewer of them


def _is_counted(column: Column) -> bool:
    return column.kind in ("binary", "categorical")


def _permutes(metric: Measure) -> bool:
    """Whether the noise floor comes from permuted rows."""
    return metric not in ("correlation", "rank")


def _observations(table: Any, on_degenerate: OnDegenerate) -> Observations:
    if isinstance(table, Observations):
        return table
    if isinstance(table, pd.DataFrame):
        return Observations.from_frame(table, on_degenerate=on_degenerate)
    return Observations.from_array(table, on_degenerate=on_degenerate)


def choose_metric(columns: Sequence[Column], metric: Metric) -> Measure:
    """Return the metric that ``auto`` picks; raise an error if one does not fit the columns."""
    if metric not in METRICS or metric == "given":
        raise DistanceError(f"Unknown metric = {metric!r}. Choose one of {', '.join(METRICS)}.")
    categorical = [column for column in columns if column.kind == "categorical"]
    alphabets = {column.states for column in columns}
    one_alphabet = len(alphabets) == 1 and all(map(_is_counted, columns))
    if metric == "auto":
        if not categorical:
            return "correlation"
        return "determinant" if one_alphabet else "canonical"
    if metric in ("correlation", "rank") and categorical:
        raise DistanceError(
            Remedy("metric", metric),
            f" needs numbers, but column {quoted(categorical[0].name)} is categorical with "
            f"{len(categorical[0].states)} states; ",
            Remedy("metric_for_states"),
            ".",
        )
    if metric.startswith("determinant") and not one_alphabet:
        raise DistanceError(
            Remedy("metric", metric),
            " needs binary or categorical columns that all have the same states. ",
            Remedy("metric_for_all"),
            ".",
        )
    return metric


def _distance_matrix(found: _Found, seed: int) -> DistanceMatrix:
    strengths, metric, columns = found.strengths, found.metric, found.rows.columns
    values = to_distances(strengths.values)
    np.fill_diagonal(values, 0.0)
    check_dependent(values[~np.eye(len(values), dtype=bool)])
    counts = strengths.counts
    if _permutes(metric):
        floor = permutation_noise_floor(found.rows, metric, found.weight, seed)
    else:
        n_typical = float(found.n_samples if counts is None else np.median(counts))
        floor = correlation_noise_floor(max(n_typical, 3.0))
    signs = None if strengths.signs is None else frozen_array(strengths.signs, np.int8)
    kept = None if counts is None else frozen_array(counts, np.float64)
    known = (found.names, found.n_samples, floor, metric, is_additive(metric, columns), signs, kept)
    return DistanceMatrix(frozen_array(values, np.float64), *known)


def check_dependent(values: FloatArray) -> None:
    """Raise an error if no distance between two columns is finite."""
    if not np.isfinite(values).any():
        raise DistanceError(
            "All columns look independent, so there is no graph to learn. Check that each row of "
            "the table is one observation."
        )


def is_additive(metric: Measure, columns: Sequence[Column]) -> bool:
    """Return whether the metric is additive along the paths of a tree."""
    if metric == "canonical":
        return not any(len(c.states) > 2 for c in columns if c.kind == "categorical")
    return metric in ("correlation", "determinant")


def to_distances(strength: FloatArray) -> FloatArray:
    """Return -log of strengths; infinite or 0 if a strength is 0 or 1 up to rounding."""
    values = np.full_like(strength, np.inf)
    seen = strength >= SMALLEST_STRENGTH
    values[seen] = -np.log(strength[seen])
    values[values < EQUAL_COLUMNS] = 0.0
    return values


LARGEST_DISTANCE = 1e60
"""Sums and squares of such distances do not overflow."""
SYMMETRY_TOLERANCE = 1e-8


def check_n_samples(n_samples: int | None) -> None:
    """Raise if the number of rows is below 3."""
    if n_samples is not None and n_samples < 3:
        raise DistanceError(Remedy("few_rows", n_samples))


def distinct_columns(
    names: Sequence[str], first: IntArray, later: IntArray, on_degenerate: OnDegenerate
) -> list[int]:
    """Return the columns without those at distance 0 from an earlier one."""
    if len(later) and on_degenerate == "error":
        raise DistanceError(
            f"Columns {quoted(names[first[0]])} and {quoted(names[later[0]])} determine each other "
            "(distance 0). Drop one of them",
            Remedy("drop_degenerate"),
            ".",
        )
    kept: list[int] = np.setdiff1d(np.arange(len(names)), later).tolist()
    if len(kept) < FEWEST_COLUMNS:
        many = f"Only {len(kept)} columns differ from each other"
        shown = many if len(kept) > 1 else "All columns determine each other (distance 0)"
        raise DistanceError(f"{shown}; at least {FEWEST_COLUMNS} different ones are needed.")
    return kept


def check_distance_values(array: FloatArray, names: tuple[str, ...]) -> None:
    """Raise if a square matrix does not contain valid distances between these columns."""
    if len(names) != len(array):
        raise DistanceError(f"There are {len(array)} rows but {len(names)} names.")
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DistanceError(f"The name {quoted(twice)} occurs twice. Names must be unique.")
    if len(array) < 3:
        raise DistanceError(f"There are {len(array)} columns; at least 3 are needed.")

    def check_none(wrong: NDArray[np.bool_], text: str) -> None:
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise DistanceError(
                text.format(quoted(names[i]), quoted(names[j]), array[i, j], array[j, i])
            )

    pair = "The distance between {0} and {1} is "
    check_none(np.isnan(array), pair + "missing; use infinity for independent columns.")
    check_none(array < 0, pair + "{2:g}; distances must be at least 0.")
    remedy = "Divide all distances by a round number, or use infinity."
    too_far = np.isfinite(array) & (array > LARGEST_DISTANCE)
    check_none(too_far, pair + f"{{2:g}}; the limit is {LARGEST_DISTANCE:g}. {remedy}")
    remedy = "it must be 0. If these are similarities, use -log of them."
    check_none(np.diag(np.diag(array) != 0), "The distance of {0} to itself is {2:g}; " + remedy)
    with np.errstate(invalid="ignore"):
        gap = np.where(array == array.T, 0.0, np.abs(array - array.T))
    uneven = gap > SYMMETRY_TOLERANCE * np.maximum(1.0, array)
    check_none(uneven, "The matrix is not symmetric: {0} to {1} is {2:g}, {1} to {0} is {3:g}.")
    if not np.isfinite(array[~np.eye(len(array), dtype=bool)]).any():
        raise DistanceError("All distances are infinite, so there is no graph to learn.")
