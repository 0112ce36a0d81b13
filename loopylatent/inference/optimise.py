"""Starting values of a fit, and maximisation by L-BFGS with a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize

from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.graph import LatentGraph
from loopylatent.inference.evidence import Rows
from loopylatent.inference.parameters import Layout, contrasts_of

LEAST_RATIO = 0.05
"""Smallest ratio of a starting joint probability to that under independence."""
STRONGEST = 0.97
PSEUDO_COUNT = 0.5


def representatives(graph: LatentGraph, hidden: Sequence[int] | IntArray | None = None) -> IntArray:
    """(nodes,) the column nearest to each node along the graph; a column represents itself.

    Given some hidden nodes, the others get column 0.
    """
    p = graph.n_observed
    chosen = np.asarray(graph.hidden_nodes if hidden is None else hidden, np.int64)
    found = np.zeros(graph.n_nodes, np.int64)
    found[:p] = np.arange(p)
    if len(chosen):
        found[chosen] = graph.path_lengths(chosen.tolist())[:, :p].argmin(axis=1)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Anchors:
    """The column that represents each node, and the sign of their correlation."""

    column: IntArray
    sign: FloatArray

    @classmethod
    def of(cls, graph: LatentGraph) -> Anchors:
        """Let every node correlate positively with its nearest column."""
        return cls(representatives(graph), np.ones(graph.n_nodes))


@dataclass(frozen=True, eq=False)
class DiscreteStart:
    """Starting probabilities and tables of the nodes and edges of one layout."""

    layout: Layout
    rows: Rows = field(repr=False)
    anchors: Anchors

    @classmethod
    def of(cls, layout: Layout, rows: Rows) -> DiscreteStart:
        return cls(layout, rows, Anchors.of(layout.graph))

    @cached_property
    def shares(self) -> tuple[FloatArray, ...]:
        return tuple(self.share(v) for v in range(self.layout.graph.n_nodes))

    def share(self, v: int) -> FloatArray:
        """(K,) the starting probabilities of a node."""
        n_states, rep = self.layout.n_states, int(self.anchors.column[v])
        share = self._column_shares(rep)
        if n_states[v] == n_states[rep]:
            return share
        up = (contrasts_of(share) @ self._direction(v)) > 0
        second = float(np.clip(share[up].sum(), 0.2, 0.8))
        return np.array([1 - second, second])

    def cells(self) -> FloatArray:
        """(cells,) starting log-potentials of all nodes and edges."""
        layout = self.layout
        cells = np.zeros(layout.n_cells)
        for v, share in enumerate(self.shares):
            layout.node_table(cells, v)[:] = np.log(share)
        for edge in range(layout.graph.n_edges):
            layout.edge_table(cells, edge)[:] = self.edge_table(edge, self.shares)
        return cells

    def edge_table(self, edge: int, shares: tuple[FloatArray, ...]) -> FloatArray:
        """(K, L) starting log P(s, t) / P(s) P(t) of an edge."""
        graph = self.layout.graph
        u, v = graph.edges[edge].tolist()
        matrix = self._alignment(u, v)
        if v < graph.n_observed:
            return log_ratio(shares[u], shares[v], matrix)
        target = float(np.exp(-graph.lengths[edge]))
        if min(matrix.shape) > 1:  # a determinant metric is a product over the contrasts
            target **= 1.0 / min(matrix.shape)
        strength = float(np.linalg.norm(matrix, 2))
        scale = min(target, STRONGEST) / max(strength, 1e-6)
        return log_ratio(shares[u], shares[v], scale * matrix)

    def _column_shares(self, j: int) -> FloatArray:
        counts = self.rows.counts((j,), (int(self.layout.n_states[j]),)) + PSEUDO_COUNT
        shares: FloatArray = counts / counts.sum()
        return shares

    def _alignment(self, u: int, v: int) -> FloatArray:
        """(K-1, L-1) the correlations of the contrasts of two nodes, by their representatives."""
        a, b = self.anchors.column[[u, v]].tolist()
        matrix = np.eye(int(self.layout.n_states[a]) - 1) if a == b else self._moments(a, b)
        if self.layout.n_states[u] != self.layout.n_states[a]:
            matrix = self._direction(u)[None] @ matrix
        if self.layout.n_states[v] != self.layout.n_states[b]:
            matrix = matrix @ self._direction(v)[:, None]
        return matrix * float(self.anchors.sign[u] * self.anchors.sign[v])

    def _moments(self, a: int, b: int) -> FloatArray:
        """(K-1, L-1) correlations of the contrasts of two columns, in the rows with both."""
        shape = (int(self.layout.n_states[a]), int(self.layout.n_states[b]))
        first, second = self._column_shares(a), self._column_shares(b)
        counts = self.rows.counts((a, b), shape) + PSEUDO_COUNT * np.outer(first, second)
        joint = counts / counts.sum()
        joint -= np.outer(joint.sum(axis=1), joint.sum(axis=0))
        moments: FloatArray = contrasts_of(first).T @ joint @ contrasts_of(second)
        return moments

    def _direction(self, h: int) -> FloatArray:
        """(K-1,) the contrast of its representative that a binary hidden node follows."""
        graph, rep = self.layout.graph, int(self.anchors.column[h])
        lengths = graph.path_lengths([h])[0, : graph.n_observed]
        others = [int(j) for j in np.argsort(lengths, kind="stable") if j != rep][:3]
        moments = np.hstack([self._moments(rep, j) for j in others])
        left = np.linalg.svd(moments)[0][:, 0]
        return left if left[np.abs(left).argmax()] > 0 else -left


def log_ratio(first: FloatArray, second: FloatArray, matrix: FloatArray) -> FloatArray:
    """(K, L) log P(s, t) / P(s) P(t) from correlations of contrasts, shrunk to be feasible."""
    excess = contrasts_of(first) @ matrix @ contrasts_of(second).T
    lowest = float(excess.min())
    if lowest < LEAST_RATIO - 1:
        excess = excess * ((1 - LEAST_RATIO) / -lowest)
    table: FloatArray = np.log1p(excess)
    return table


StepProgress = Callable[[int, float], None]
"""Called after each step with its number and the current value; may raise to stop."""
MEMORY = 20
NO_GAIN = 1e-15
"""Smaller relative improvements are rounding errors."""
SETTLED_STEPS = 20


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A value and its gradient."""

    value: float
    gradient: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Maximum:
    """The end of a maximisation, with its history."""

    point: FloatArray = field(repr=False)
    history: FloatArray = field(repr=False)
    """The value at the start and after each accepted step; nondecreasing."""
    largest_slope: float
    """The largest absolute entry of the gradient at the end."""
    converged: bool

    @property
    def value(self) -> float:
        return float(self.history[-1])


def maximise(
    objective: Callable[[FloatArray], Value],
    start: FloatArray,
    *,
    max_steps: int,
    tolerance: float,
    settled: float = 0.0,
    progress: StepProgress | None = None,
    give_up: Callable[[list[float]], bool] | None = None,
) -> Maximum:
    """Maximise ``objective``; ``give_up`` is called with the history after each step.

    Converged if no entry of the gradient exceeds ``tolerance`` or 20 steps gain less than
    ``settled``.
    """
    history: list[float] = []
    best = start

    def negated(x: FloatArray) -> tuple[float, FloatArray]:
        found = objective(x)
        if not history:
            history.append(found.value)
        return -found.value, -found.gradient

    def after_step(intermediate_result: Any) -> None:
        nonlocal best
        value = -float(intermediate_result.fun)
        if value < history[-1]:  # possible only if the gradient is not exact
            raise StopIteration
        history.append(value)
        best = np.array(intermediate_result.x)
        if progress is not None:
            progress(len(history) - 1, history[-1])
        if has_settled() or (give_up is not None and give_up(history)):
            raise StopIteration

    def has_settled() -> bool:
        enough = len(history) > SETTLED_STEPS
        return enough and history[-1] - history[-1 - SETTLED_STEPS] < settled

    if len(start) == 0 or max_steps == 0:
        found = objective(start)
        slope = float(np.abs(found.gradient).max(initial=0.0))
        return Maximum(start, np.array([found.value]), slope, slope <= tolerance)
    limits = {"maxiter": max_steps, "maxfun": 20 * max_steps, "maxcor": MEMORY}
    options: Any = {**limits, "gtol": tolerance, "ftol": NO_GAIN}
    minimize(negated, start, jac=True, method="L-BFGS-B", callback=after_step, options=options)
    slope = float(np.abs(objective(best).gradient).max())
    arrays = frozen_array(best, np.float64), frozen_array(history, np.float64)
    return Maximum(*arrays, slope, slope <= tolerance or has_settled())
