"""Rows of a discrete table: states, missing values, weights, and groups of equal rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.compute import _kernels
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, StateArray, frozen_array
from loopylatent.errors import DataError, InferenceError, listed, quoted
from loopylatent.tables.kinds import Column, type_column
from loopylatent.tables.observations import Observations, check_observations


@dataclass(frozen=True, eq=False)
class Patterns:
    """The different rows within some columns."""

    states: StateArray
    """(patterns, columns)"""
    weights: FloatArray
    """(patterns,) total weight of the rows of each pattern."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a discrete table."""

    states: StateArray = field(repr=False)
    """(rows, columns) -1 where a value is missing."""
    weights: FloatArray = field(repr=False)
    _patterns: dict[tuple[int, ...], Patterns] = field(default_factory=dict, repr=False)
    _counts: dict[tuple[int, ...], FloatArray] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, states: NDArray[np.int64] | StateArray, weights: FloatArray | None = None) -> Rows:
        array = frozen_array(states, np.int16)
        ones = np.ones(len(array)) if weights is None else weights
        return cls(array, frozen_array(ones, np.float64))

    @property
    def n_rows(self) -> int:
        return len(self.states)

    @cached_property
    def total_weight(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def ever_missing(self) -> BoolArray:
        return frozen_array((self.states < 0).any(axis=0), np.bool_)

    def patterns(self, columns: tuple[int, ...]) -> Patterns:
        """Return the different rows within ``columns``; cached."""
        if columns not in self._patterns:
            group, first = self._grouped(columns)
            weights = np.bincount(group, weights=self.weights, minlength=len(first))
            chosen = self.states[first][:, list(columns)]
            self._patterns[columns] = Patterns(chosen, weights.astype(np.float64))
        return self._patterns[columns]

    def pattern_of_rows(self, columns: tuple[int, ...]) -> IntArray:
        """(rows,) the position of each row among ``patterns(columns)``."""
        return self._grouped(columns)[0]

    def _grouped(self, columns: tuple[int, ...]) -> tuple[IntArray, IntArray]:
        return _kernels.pairwise.group_rows(self.states, np.array(columns, np.int64))

    def counts(self, columns: tuple[int, ...], n_states: tuple[int, ...]) -> FloatArray:
        """The weight of every combination of states of some columns, over complete rows; cached."""
        if columns not in self._counts:
            found = self.patterns(columns)
            present = (found.states >= 0).all(axis=1)
            counts = np.zeros(n_states)
            np.add.at(counts, tuple(found.states[present].T), found.weights[present])
            self._counts[columns] = frozen_array(counts, np.float64)
        return self._counts[columns]


def encode(obs: Observations, columns: Sequence[Column]) -> Rows:
    """Return the rows coded by the states of ``columns``, matched by label."""
    chosen = pick(obs, [column.name for column in columns])
    values = chosen.dense()
    states = np.full(values.shape, -1, np.int16)
    for j, (column, own) in enumerate(zip(columns, chosen.columns, strict=True)):
        known = ~np.isnan(values[:, j])
        codes = values[known, j].astype(np.int64)
        states[known, j] = _state_map(column, own)[codes]
    return Rows.of(states, obs.weights)


def rows_like(table: Any, known: Observations) -> Observations:
    """Read rows with the column types of a known table; columns may be constant."""
    if isinstance(table, Observations):
        return table
    frame = _frame(table, known)
    columns: list[Column] = []
    values = np.empty((len(frame), known.n_columns))
    for j, column in enumerate(known.columns):
        typed = type_column(column.name, frame[column.name], column.kind)
        values[:, j] = typed.numbers
        columns.append(typed.column)
    return Observations(values, tuple(columns))


def _frame(table: Any, known: Observations) -> pd.DataFrame:
    if isinstance(table, pd.DataFrame):
        named = table.set_axis([str(name) for name in table.columns], axis="columns")
        lacking = [name for name in known.names if name not in named.columns]
        if lacking:
            raise DataError(f"Missing columns: {listed(lacking)}; add them.")
        return named.reset_index(drop=True)
    matrix = np.asarray(table.toarray() if hasattr(table, "toarray") else table)
    if matrix.ndim != 2 or matrix.shape[1] != known.n_columns:
        raise DataError(f"Rows of {known.n_columns} columns are needed, not shape {matrix.shape}.")
    return pd.DataFrame(matrix, columns=list(known.names)).infer_objects()


def pick(obs: Observations, names: Sequence[str]) -> Observations:
    """Return the named columns of a table; raise an error if some are missing."""
    check_observations(obs)
    if tuple(obs.names) == tuple(names):
        return obs
    lacking = [name for name in names if name not in set(obs.names)]
    if lacking:
        raise InferenceError(
            f"The table lacks columns {listed(lacking)} of the graph; use a table with all columns "
            "of the graph."
        )
    return obs.select(list(names))


def _state_map(column: Column, own: Column) -> NDArray[np.int16]:
    if column.states == own.states:
        return np.arange(len(column.states), dtype=np.int16)
    if own.kind not in ("binary", "categorical"):
        raise InferenceError(
            f"Column {quoted(own.name)} is {own.kind} here but {column.kind} in the model; "
            "read both tables with the same column types."
        )
    position = {state: k for k, state in enumerate(column.states)}
    unknown = [state for state in own.states if state not in position]
    if unknown:
        raise InferenceError(
            f"Column {quoted(own.name)} has the state {quoted(unknown[0])}, which is not in the "
            "model; fit the model on a table that has it, or set these cells to missing."
        )
    return np.array([position[state] for state in own.states], dtype=np.int16)
