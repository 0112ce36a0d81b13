"""Pairwise models of binary and categorical columns: likelihood and fitted model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loopylatent.compute.tape import Likelihood
from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.errors import InferenceError, Remedy
from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_propagation import Propagated, PropagatedRows, Propagation
from loopylatent.inference.circuit import LARGEST_TABLE, Elimination, eliminate
from loopylatent.inference.evidence import Rows, encode
from loopylatent.inference.exact import ExactPartition, ExactRows, Sum
from loopylatent.inference.optimise import Value
from loopylatent.inference.parameters import Basis, Layout, sparse_of
from loopylatent.settings import Inference
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations


def layout_of(graph: LatentGraph, columns: Sequence[Column]) -> Layout:
    """Return the layout of a graph; hidden nodes have the columns' states if equal, else two."""
    counts = [len(column.states) for column in columns]
    alphabets = {column.states for column in columns}
    hidden = counts[0] if len(alphabets) == 1 else 2
    return Layout(graph, frozen_array(counts + [hidden] * graph.n_hidden, np.int64))


@dataclass(frozen=True, eq=False)
class Method:
    """How the sums of one layout are computed."""

    layout: Layout
    elimination: Elimination
    """Of the whole graph."""
    is_exact: bool
    largest_table: float

    @classmethod
    def choose(
        cls, layout: Layout, requested: Inference = "auto", largest_table: float = LARGEST_TABLE
    ) -> Method:
        """Choose between exact sums and belief propagation."""
        elimination = eliminate(layout.graph, layout.n_states)
        fits = elimination.fits(largest_table)
        if requested == "exact" and not fits:
            raise InferenceError(
                f"Exact inference needs a table of 2^{elimination.log2_largest:.0f} entries "
                f"(treewidth {elimination.treewidth}), more than 2^{np.log2(largest_table):.0f}; ",
                Remedy("larger_radius"),
                " for fewer cycles.",
            )
        return cls(layout, elimination, fits and requested != "lbp", largest_table)

    def partition(self) -> ExactPartition | Propagation:
        if self.is_exact:
            return ExactPartition(self.layout, self.elimination)
        return Propagation(self.layout, self.elimination)

    def rows(self, rows: Rows) -> ExactRows | PropagatedRows:
        exact = ExactRows.of(self.layout, rows, self.elimination)
        if self.is_exact or exact.elimination.fits(self.largest_table):
            return exact
        return PropagatedRows(Propagation(self.layout, self.elimination), rows)


@dataclass(frozen=True, eq=False)
class DiscreteProblem:
    """The mean log-likelihood of a row as a function of the parameters."""

    layout: Layout
    rows: Rows = field(repr=False)
    method: Method = field(repr=False)

    @property
    def graph(self) -> LatentGraph:
        return self.layout.graph

    @property
    def total_weight(self) -> float:
        return self.rows.total_weight

    @property
    def df(self) -> int:
        return self.layout.n_parameters

    @cached_property
    def basis(self) -> Basis:
        return Basis(self.layout)

    @cached_property
    def _sums(self) -> ExactRows | PropagatedRows:
        return self.method.rows(self.rows)

    @cached_property
    def _partition(self) -> ExactPartition | Propagation:
        return self.method.partition()

    def evaluate(self, point: FloatArray) -> Value:
        """Return the mean log-likelihood of a row and its gradient."""
        tables = self.basis.cells(point)
        total = self.rows.total_weight
        rows, whole = self._sums.evaluate(tables), self._partition.evaluate(tables)
        by_cells = rows.by_cells / total - whole.by_cells
        return Value(rows.value / total - whole.value, self.basis.gradient(by_cells))

    @cached_property
    def likelihood(self) -> Likelihood | None:
        """What the compiled optimiser reads; None if the sums are not exact."""
        rows, whole = self._sums, self._partition
        if not (isinstance(rows, ExactRows) and isinstance(whole, ExactPartition)):
            return None
        return Likelihood(
            rows.sums, whole.sums, rows.clamped_counts, self.total_weight,
            sparse_of(self.basis.matrix), sparse_of(self.basis.transposed),
        )  # fmt: skip

    def marginals(self, point: FloatArray) -> FloatArray:
        """(cells,) the marginal probabilities of all nodes and edges."""
        return self._partition.evaluate(self.basis.cells(point)).by_cells


@dataclass(frozen=True, eq=False)
class DiscreteModel:
    """A fitted pairwise model."""

    layout: Layout
    columns: tuple[Column, ...]
    cells: FloatArray = field(repr=False)
    """(cells,) the log-potentials of nodes and edges; see ``Layout``."""
    largest_table: float = LARGEST_TABLE
    """Likelihoods are exact up to this table size."""

    @cached_property
    def method(self) -> Method:
        """Likelihoods are exact if feasible, however the model was fitted."""
        return Method.choose(self.layout, "auto", self.largest_table)

    @cached_property
    def log_partition(self) -> float:
        return self._whole.value

    @cached_property
    def marginals(self) -> FloatArray:
        return frozen_array(self._whole.by_cells, np.float64)

    @cached_property
    def _whole(self) -> Sum | Propagated:
        return self.method.partition().evaluate(self.cells)

    @cached_property
    def edge_strengths(self) -> FloatArray:
        """(edges,) correlation of two binary ends, else their largest canonical correlation."""
        return frozen_array(strengths_of(self.layout, self.marginals), np.float64)

    def rows(self, obs: Observations) -> Rows:
        return encode(obs, self.columns)

    def log_likelihood(self, obs: Observations) -> FloatArray:
        """(rows,) log P(row), with missing and hidden values summed out."""
        return self.method.rows(self.rows(obs)).row_values(self.cells) - self.log_partition

    def posteriors(self, obs: Observations, nodes: IntArray) -> list[FloatArray]:
        return self.method.rows(self.rows(obs)).posteriors(self.cells, nodes)


def pair_strength(joint: FloatArray) -> float:
    """Return the correlation of a 2 x 2 table, or else the largest canonical correlation."""
    first, second = joint.sum(axis=1), joint.sum(axis=0)
    scale = np.sqrt(np.outer(first, second))
    excess = (joint - np.outer(first, second)) / np.where(scale > 0, scale, 1.0)
    if joint.shape == (2, 2):
        covariance = joint[1, 1] * joint[0, 0] - joint[0, 1] * joint[1, 0]
        spread = np.sqrt(first.prod() * second.prod())
        return float(covariance / spread) if spread > 0 else 0.0
    return float(np.linalg.norm(excess, 2))


def strengths_of(layout: Layout, marginals: FloatArray) -> FloatArray:
    """(edges,) the strength of each edge under these marginals."""
    edges = range(layout.graph.n_edges)
    return np.array([pair_strength(layout.edge_table(marginals, edge)) for edge in edges])


def oriented(layout: Layout, cells: FloatArray, strengths: FloatArray) -> FloatArray:
    """Swap the states of binary hidden nodes that correlate negatively with the nearest column."""
    graph = layout.graph
    sign = signs_towards_columns(graph, strengths)
    step = np.where((sign < 0) & (layout.n_states == 2), -1, 1).tolist()
    result = cells.copy()
    for h in graph.hidden_nodes:
        layout.node_table(result, h)[:] = layout.node_table(cells, h)[:: step[h]]
    for edge, (u, v) in enumerate(graph.edges.tolist()):
        table = layout.edge_table(cells, edge)
        layout.edge_table(result, edge)[:] = table[:: step[u], :: step[v]]
    return result


def signs_towards_columns(graph: LatentGraph, strengths: FloatArray) -> FloatArray:
    """(nodes,) the sign of the correlation along the shortest path to a column; 1 for columns."""
    nearest = np.zeros(graph.n_nodes)
    lengths = graph.path_lengths(graph.hidden_nodes)[:, : graph.n_observed]
    nearest[graph.n_observed :] = lengths.min(axis=1)
    edge_of = {tuple(edge): k for k, edge in enumerate(graph.edges.tolist())}
    sign = np.ones(graph.n_nodes)
    for h in sorted(graph.hidden_nodes, key=lambda h: (nearest[h], h)):
        steps = [
            (nearest[w] + graph.lengths[edge_of[min(h, w), max(h, w)]], w)
            for w in graph.neighbours(h)
        ]
        if steps:
            _, w = min(steps)
            strength = strengths[edge_of[min(h, w), max(h, w)]]
            sign[h] = sign[w] * (-1.0 if strength < 0 else 1.0)
    return sign
