"""Exact log-likelihoods, marginals and posteriors of pairwise models (section 6.1).

log P(row) is the log of the sum over the row's hidden and missing values, minus log Z.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from loopylatent.compute import _kernels
from loopylatent.compute.tape import Sums
from loopylatent.compute.values import BoolArray, FloatArray, IntArray, StateArray
from loopylatent.inference.circuit import (
    Circuit,
    Elimination,
    circuits,
    eliminate,
    products_of,
)
from loopylatent.inference.evidence import Patterns, Rows
from loopylatent.inference.parameters import Layout


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The log of a sum and its derivatives with respect to the log-potentials."""

    value: float
    by_cells: FloatArray


class ExactPartition:
    """log Z of the models on a layout, and their marginals."""

    def __init__(self, layout: Layout, elimination: Elimination) -> None:
        self._layout, self.elimination = layout, elimination

    @cached_property
    def _circuit(self) -> Circuit:
        empty = np.full((1, self._layout.graph.n_nodes), -1, np.int16)
        return Circuit.of(self._layout, self.elimination, empty)

    @cached_property
    def _weights(self) -> FloatArray:
        return self._circuit.root_weights(np.ones(1))

    @property
    def sums(self) -> Sums:
        """What the compiled optimiser reads."""
        unknown = np.full((self._layout.graph.n_nodes, 1), -1, np.int16)
        return products_of(self._layout, self.elimination, unknown, np.ones(1))

    def evaluate(self, tables: FloatArray) -> Sum:
        """Return log Z; its derivatives are the marginals of all nodes and edges."""
        cells = self._circuit.forward(tables)
        marginals = self._circuit.backward(cells, self._weights)[: self._layout.n_cells]
        return Sum(float(self._circuit.row_sums(cells)[0]), marginals)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A connected set of nodes unknown in some row, and the patterns of adjacent columns."""

    nodes: IntArray
    columns: tuple[int, ...]
    patterns: Patterns
    first: int
    """Where its patterns begin among those of all parts."""


@dataclass(frozen=True, eq=False)
class ExactRows:
    """Sums of all rows over hidden and missing values, by patterns within separate parts."""

    layout: Layout
    rows: Rows = field(repr=False)
    elimination: Elimination = field(repr=False)

    @classmethod
    def of(cls, layout: Layout, rows: Rows, whole: Elimination | None = None) -> ExactRows:
        """Choose an order for the unknown nodes, no worse than that of the ``whole`` graph."""
        given = _always_known(rows, layout)
        found = eliminate(layout.graph, layout.n_states, given=given)
        if whole is not None and found.log2_largest > whole.log2_largest:
            found = whole
        return cls(layout, rows, found)

    @property
    def sums(self) -> Sums:
        """What the compiled optimiser reads."""
        states, weights = np.ascontiguousarray(self._all_states.T), self.rows.weights
        return products_of(self.layout, self.elimination, states, weights)

    def evaluate(self, tables: FloatArray) -> Sum:
        """Return the weighted sum over all rows and its derivatives."""
        cells = self._circuit.forward(tables)
        found = self._circuit.backward(cells, self._root_weights)[: self.layout.n_cells]
        total = self.clamped_counts @ tables
        total += self._weights @ self._circuit.row_sums(cells)
        return Sum(float(total), found + self.clamped_counts)

    def row_values(self, tables: FloatArray) -> FloatArray:
        """(rows,) the log of each row's sum."""
        layout = self.layout
        parts = circuits(layout, self.elimination, self._states)
        by_pattern = np.concatenate([one.row_sums(one.forward(tables)) for one in parts])
        places = (layout.node_cell, layout.graph.edges, layout.edge_cell, layout.n_states)
        values = _kernels.pairwise.sum_clamped(self._all_states, tables, *places)
        for part in self._parts:
            values += by_pattern[part.first + self.rows.pattern_of_rows(part.columns)]
        return values

    def posteriors(self, tables: FloatArray, nodes: IntArray) -> list[FloatArray]:
        """For each node (rows, K): the probabilities of its states given each row."""
        by_pattern = self._pattern_posteriors(tables)
        part_of = {int(v): part for part in self._parts for v in part.nodes}
        found = []
        for v in nodes.tolist():
            if v in part_of:
                found.append(by_pattern[v][self.rows.pattern_of_rows(part_of[v].columns)])
            else:
                found.append(np.eye(int(self.layout.n_states[v]))[self._all_states[:, v]])
        return found

    def _pattern_posteriors(self, tables: FloatArray) -> dict[int, FloatArray]:
        """For each unknown node (patterns of its part, K) the probabilities of its states."""
        n_states, states = self.layout.n_states, self._states
        found = {
            int(v): np.zeros((len(part.patterns.weights), int(n_states[v])))
            for part in self._parts for v in part.nodes
        }  # fmt: skip
        start_of = {int(v): part.first for part in self._parts for v in part.nodes}
        begin = 0
        for circuit in circuits(self.layout, self.elimination, states, share=False):
            cells = circuit.forward(tables)
            adjoint = circuit.backward(cells, circuit.root_weights(np.ones(circuit.n_rows)))
            for node, row, cell in circuit.locals():
                first = begin + row - start_of[node]
                found[node][first] = adjoint[cell[:, None] + np.arange(n_states[node])]
            begin += circuit.n_rows
        for v, table in found.items():  # clamped in some rows
            part_states = states[start_of[v] : start_of[v] + len(table), v]
            known = np.flatnonzero(part_states >= 0)
            table[known, part_states[known]] = 1.0
        return found

    @cached_property
    def _all_states(self) -> StateArray:
        """(rows, nodes) states of the columns; unknown for the hidden nodes."""
        states = np.full((self.rows.n_rows, self.layout.graph.n_nodes), -1, np.int16)
        states[:, : self.rows.states.shape[1]] = self.rows.states
        return states

    @cached_property
    def _parts(self) -> tuple[_Part, ...]:
        parts: list[_Part] = []
        first = 0
        for nodes, columns in _unknown_parts(self.layout, _always_known(self.rows, self.layout)):
            patterns = self.rows.patterns(columns)
            parts.append(_Part(nodes, columns, patterns, first))
            first += len(patterns.weights)
        return tuple(parts)

    @cached_property
    def _states(self) -> StateArray:
        """(patterns of all parts, nodes); nodes outside a part are treated as known."""
        total = sum(len(part.patterns.weights) for part in self._parts)
        states = np.zeros((total, self.layout.graph.n_nodes), np.int16)
        for part in self._parts:
            here = slice(part.first, part.first + len(part.patterns.weights))
            states[here, part.nodes] = -1
            states[here, list(part.columns)] = part.patterns.states
        return states

    @cached_property
    def _weights(self) -> FloatArray:
        return np.concatenate([np.zeros(0), *(part.patterns.weights for part in self._parts)])

    @cached_property
    def _circuit(self) -> Circuit:
        return Circuit.of(self.layout, self.elimination, self._states)

    @cached_property
    def _root_weights(self) -> FloatArray:
        return self._circuit.root_weights(self._weights)

    @cached_property
    def clamped_counts(self) -> FloatArray:
        """(cells,) the weight of the rows in which each cell is known."""
        graph, sizes = self.layout.graph, self.layout.n_states.tolist()
        p = graph.n_observed
        nodes = [self.rows.counts((v,), (sizes[v],)) for v in range(p)]
        edges = [
            self.rows.counts((u, v), (sizes[u], sizes[v])).ravel()
            if v < p else np.zeros(sizes[u] * sizes[v])
            for u, v in graph.edges.tolist()
        ]  # fmt: skip
        return np.concatenate([*nodes, np.zeros(sum(sizes[p:])), *edges])


def _always_known(rows: Rows, layout: Layout) -> BoolArray:
    """(nodes,) which nodes are known in every row."""
    given = np.zeros(layout.graph.n_nodes, np.bool_)
    given[: len(rows.ever_missing)] = ~rows.ever_missing
    return given


def _unknown_parts(layout: Layout, given: BoolArray) -> Iterator[tuple[IntArray, tuple[int, ...]]]:
    """Yield the connected components of the unknown nodes, with their own and adjacent columns."""
    graph = layout.graph
    u, v = graph.edges.T
    inside = ~given[u] & ~given[v]
    shape = (graph.n_nodes, graph.n_nodes)
    joined = coo_array((np.ones(int(inside.sum())), (u[inside], v[inside])), shape=shape)
    _, label = connected_components(joined, directed=False)
    unknown = np.flatnonzero(~given)
    for part in dict.fromkeys(label[unknown].tolist()):
        nodes = unknown[label[unknown] == part]
        around = {int(w) for node in nodes for w in graph.neighbours(int(node))}
        columns = sorted(w for w in around | set(nodes.tolist()) if w < graph.n_observed)
        yield nodes, tuple(columns)
