"""Estimated gains of all edges that a fitted model does not have, in one matrix (score tests).

At zero coupling the slope of the mean log-likelihood by the coupling of two nodes is the difference
of their moments: under the posteriors of the rows, minus under the model. The slope squared, over
twice its variance, estimates how much the log-likelihood rises when the edge is added.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.compute.workers import OnThreads, in_order
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.gaussian import GaussianProblem
from loopylatent.inference.problems import Fitted

A = TypeVar("A")
T = TypeVar("T")
CLAMP = 60.0
"""Added to the log-potential of a state, it makes the others impossible."""
STEP = 1e-3
"""Of the central differences that give posterior covariances."""
LEAST_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """For each pair of nodes of a fitted model what a further edge would be worth."""

    gains: FloatArray = field(repr=False)
    """(nodes, nodes) estimated rise of the log-likelihood; 0 on the diagonal, about 0 on edges."""
    attraction: FloatArray = field(repr=False)
    """(nodes, nodes) the root of twice the gain; negative where the rows are less dependent."""
    parameters: FloatArray = field(repr=False)
    """(nodes, nodes) the number of parameters of a further edge."""
    variances: FloatArray = field(repr=False)
    """(nodes,) of the posterior means over the rows; with several contrasts their mean."""

    @classmethod
    def of(cls, fitted: Fitted, threads: int | None = None) -> ScoreMatrix:
        """Compute the matrix at a maximum of the likelihood."""
        if isinstance(fitted.problem, DiscreteProblem):
            moments = _discrete_moments(fitted.problem, fitted.point, threads)
            free = fitted.problem.layout.n_states - 1
        else:
            assert isinstance(fitted.problem, GaussianProblem)
            return _gaussian_matrix(fitted.problem, fitted.point)
        return _matrix(moments, free, fitted.problem.total_weight)


@dataclass(frozen=True, slots=True, eq=False)
class _Moments:
    """Moments of all contrasts of all nodes, of which node v has K - 1."""

    residual: FloatArray
    """(contrasts, contrasts) means of products: posteriors of the rows minus model."""
    model: FloatArray
    """(contrasts, contrasts) covariances under the model."""
    spread: FloatArray
    """(contrasts, contrasts) covariances of the posterior means over the rows."""


def _matrix(moments: _Moments, free: IntArray, n: float) -> ScoreMatrix:
    """Reduce the moments of contrasts to one number for each pair of nodes."""
    first = np.cumsum(free) - free
    m = len(free)
    roots = np.zeros(moments.residual.shape)  # inverse square roots of the spreads, by node
    for v in range(m):
        own = slice(first[v], first[v] + free[v])
        values, vectors = np.linalg.eigh(moments.spread[own, own])
        roots[own, own] = (vectors / np.sqrt(np.maximum(values, LEAST_VARIANCE))) @ vectors.T
    whitened = roots @ moments.residual @ roots
    agreement = np.add.reduceat(
        np.add.reduceat(whitened * (roots @ moments.model @ roots), first, axis=0), first, axis=1
    )
    squares = np.add.reduceat(np.add.reduceat(whitened**2, first, axis=0), first, axis=1)
    variances = np.add.reduceat(np.diag(moments.spread), first) / free
    parameters = np.outer(free, free).astype(np.float64)
    return _signed(0.5 * n * squares, agreement, parameters, variances)


def _signed(
    gains: FloatArray, agreement: FloatArray, parameters: FloatArray, variances: FloatArray
) -> ScoreMatrix:
    gains = (gains + gains.T) / 2
    np.fill_diagonal(gains, 0.0)
    sign = np.where(agreement + agreement.T < 0, -1.0, 1.0)
    return ScoreMatrix(gains, np.sqrt(2 * gains) * sign, parameters, variances)


def edge_losses(fitted: Fitted, matrix: ScoreMatrix) -> FloatArray:
    """(edges,) estimated fall of the log-likelihood when an edge is removed, from its coupling."""
    problem, point = fitted.problem, fitted.point
    u, v = problem.graph.edges.T
    if isinstance(problem, DiscreteProblem):
        free = problem.layout.n_states - 1
        sizes = free[u] * free[v]
        squares = np.append(point[int(free.sum()) :] ** 2, 0.0)
        coupling: FloatArray = np.add.reduceat(squares, np.cumsum(sizes) - sizes)
    else:
        assert isinstance(problem, GaussianProblem)
        coupling = problem.precision(point)[u, v] ** 2
    spread = matrix.variances[u] * matrix.variances[v]
    losses: FloatArray = 0.5 * problem.total_weight * coupling * spread
    return losses


def _gaussian_matrix(problem: GaussianProblem, point: FloatArray) -> ScoreMatrix:
    """Closed form: the residual of a pair, over the variance of the product of its ends."""
    precision, p, n = problem.precision(point), problem.graph.n_observed, problem.total_weight
    model = np.linalg.inv(precision)
    alone = np.linalg.inv(model[:p, :p])
    found = problem.rows.completed(alone, problem.mean(point))
    assert found is not None  # the model was fitted
    rows = found.second / n
    inner = np.linalg.inv(precision[p:, p:])
    onto = np.vstack([np.eye(p), -inner @ precision[p:, :p]])
    known = onto @ rows @ onto.T
    posterior = known.copy()
    posterior[p:, p:] += inner
    own = np.diag(known)
    residual = posterior - model
    gains = n * residual**2 / (2 * (np.outer(own, own) + known**2))
    return _signed(gains, residual * model, np.ones(gains.shape), own)


def _discrete_moments(problem: DiscreteProblem, point: FloatArray, threads: int | None) -> _Moments:
    layout, contrasts = problem.layout, problem.basis.contrasts
    free = layout.n_states - 1
    first, total = np.cumsum(free) - free, int(free.sum())
    fields = _node_basis(problem)
    base = problem.marginals(point)[: int(layout.n_states.sum())]
    mean = fields.T @ base

    def clamped(node_and_state: tuple[int, int]) -> FloatArray:
        node, state = node_and_state
        moved = point.copy()
        own = slice(first[node], first[node] + free[node])
        moved[own] += CLAMP * contrasts[node][state] / len(contrasts[node])
        given: FloatArray = fields.T @ problem.marginals(moved)[: len(base)]
        given *= base[layout.node_cell[node] + state]
        return given

    def moved_field(k: int) -> FloatArray:
        ends = []
        for step in (STEP, -STEP):
            moved = point.copy()
            moved[k] += step
            ends.append(problem.evaluate(moved).gradient[:total])
        slope: FloatArray = (ends[0] - ends[1]) / (2 * STEP)
        return slope

    states = [(v, s) for v in range(len(free)) for s in range(int(free[v]))]
    joint = _on_threads(clamped, states, threads)
    model = np.zeros((total, total))
    for v in range(len(free)):
        # means given each state but the last; those given the last follow from the whole
        given = np.array(joint[first[v] : first[v] + free[v]])
        last = mean - given.sum(axis=0)
        own = slice(first[v], first[v] + free[v])
        model[own] = contrasts[v].T @ np.vstack([given, last[None]])
    model = (model + model.T) / 2 - np.outer(mean, mean)
    posterior = _posterior_means(problem, point, fields)
    weights = problem.rows.weights
    n = problem.total_weight
    centre = weights @ posterior / n
    spread = (posterior * weights[:, None]).T @ posterior / n - np.outer(centre, centre)
    residual = spread + np.outer(centre, centre) - np.outer(mean, mean) - model
    unknown = np.flatnonzero(np.repeat(_sometimes_unknown(problem), free))
    # the slope of a slope: the mean posterior covariance minus that of the model
    slopes = _on_threads(moved_field, unknown.tolist(), threads)
    for k, slope in zip(unknown.tolist(), slopes, strict=True):
        residual[k, unknown] += slope[unknown] + model[k, unknown]
    return _Moments((residual + residual.T) / 2, model, spread)


def _node_basis(problem: DiscreteProblem) -> FloatArray:
    """(cells of nodes, contrasts) the contrasts of all nodes."""
    n_cells = int(problem.layout.n_states.sum())
    total = n_cells - len(problem.layout.n_states)
    dense: FloatArray = problem.basis.matrix[:n_cells, :total].toarray()
    return dense


def _sometimes_unknown(problem: DiscreteProblem) -> list[bool]:
    hidden = [True] * problem.graph.n_hidden
    return [*problem.rows.ever_missing.tolist(), *hidden]


def _posterior_means(problem: DiscreteProblem, point: FloatArray, fields: FloatArray) -> FloatArray:
    """(rows, contrasts) the expected contrasts of each node given each row."""
    sums = problem.method.rows(problem.rows)
    nodes = np.arange(problem.graph.n_nodes)
    tables = sums.posteriors(problem.basis.cells(point), nodes)
    means: FloatArray = np.hstack(tables) @ fields
    return means


def _on_threads(work: Callable[[A], T], tasks: Sequence[A], threads: int | None) -> list[T]:
    runs = OnThreads(threads)(lambda _, task, __: work(task), None, tasks)
    return list(in_order(runs))
