"""Loopy belief propagation, as in the paper; used where exact inference is too expensive.

It is exact on trees; with cycles its Bethe estimate of log Z can be too large or too small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, StateArray
from loopylatent.inference.circuit import Elimination
from loopylatent.inference.evidence import Rows
from loopylatent.inference.parameters import Layout

DAMPING = 0.3
TOLERANCE = 1e-7
MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True, eq=False)
class Propagated:
    """Result of belief propagation for one row, or for none (then ``value`` estimates log Z)."""

    value: float
    """The Bethe estimate of the log of the sum."""
    by_cells: FloatArray
    """Beliefs in the cells of the tables; at convergence the derivatives of ``value``."""
    residual: float
    """The largest change of a message in the last round."""
    n_rounds: int

    @property
    def converged(self) -> bool:
        return self.residual <= TOLERANCE


class Propagation:
    """Belief propagation on one layout, always from uniform messages."""

    # warm starts would be faster, but the value of a model would depend on earlier calls

    def __init__(self, layout: Layout, elimination: Elimination, damping: float = DAMPING) -> None:
        self.layout = layout
        self._damping = damping if layout.graph.n_cycles else 0.0
        self._network = layout.network(elimination.order)
        self._back = _reversed_edges(self._network.start, self._network.other)
        self._empty = np.full(layout.graph.n_nodes, -1, np.int16)

    def evaluate(self, tables: FloatArray) -> Propagated:
        """Estimate log Z and the marginals."""
        return self.row(tables, self._empty)

    def row(self, tables: FloatArray, states: StateArray) -> Propagated:
        """Estimate the sum of a row with these states (negative: unknown)."""
        n_states = self._network.n_states
        messages = np.zeros((len(self._network.other), int(n_states.max(initial=1))))
        beliefs = np.zeros(self.layout.n_cells)
        value, residual, rounds = _kernels.pairwise.propagate(
            self._network, states, tables, self._back, messages, self._damping, TOLERANCE,
            MOST_ROUNDS, 1.0, beliefs,
        )  # fmt: skip
        return Propagated(value, beliefs, residual, rounds)


@dataclass(frozen=True, eq=False)
class PropagatedRows:
    """Row sums by belief propagation, where even clamped rows are too expensive for exact sums."""

    propagation: Propagation
    rows: Rows

    def evaluate(self, tables: FloatArray) -> Propagated:
        found = list(self.runs(tables))
        weights = self.rows.patterns(self._columns).weights
        return Propagated(
            float(weights @ np.array([one.value for one in found])),
            weights @ np.array([one.by_cells for one in found]),
            max((one.residual for one in found), default=0.0),
            sum(one.n_rounds for one in found),
        )

    def row_values(self, tables: FloatArray) -> FloatArray:
        return self.of_rows(np.array([run.value for run in self.runs(tables)]))

    def runs(self, tables: FloatArray) -> Iterator[Propagated]:
        return (self.propagation.row(tables, states) for states in self.states)

    def of_rows(self, found: FloatArray) -> FloatArray:
        """Expand values of different rows to all rows."""
        return found[self.rows.pattern_of_rows(self._columns)]

    def posteriors(self, tables: FloatArray, nodes: IntArray) -> list[FloatArray]:
        layout = self.propagation.layout
        beliefs = np.array([run.by_cells for run in self.runs(tables)])
        return [self.of_rows(beliefs[:, layout.node_cells(node)]) for node in nodes.tolist()]

    @property
    def _columns(self) -> tuple[int, ...]:
        return tuple(range(self.rows.states.shape[1]))

    @cached_property
    def states(self) -> StateArray:
        """(different rows, nodes)"""
        known = self.rows.patterns(self._columns).states
        states = np.full((len(known), self.propagation.layout.graph.n_nodes), -1, np.int16)
        states[:, : known.shape[1]] = known
        return states


def _reversed_edges(start: IntArray, other: IntArray) -> IntArray:
    """For each directed edge, the index of the reversed one."""
    ends = np.repeat(np.arange(len(start) - 1), np.diff(start))
    back = np.empty(len(other), np.int64)
    back[np.lexsort((ends, other))] = np.arange(len(other))
    return back
