"""Estimated gains of all edges that a fitted model does not have, in one matrix (score tests).

At zero coupling the slope of the mean log-likelihood by the coupling of two nodes is the difference
of their moments: under the posteriors of the rows, minus under the model. The slope squared, over
twice its variance, estimates how much the log-likelihood rises when the edge is added.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.compute.workers import OnThreads, in_order
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.gaussian import GaussianProblem
from loopylatent.inference.problems import Fitted
from loopylatent.inference.trials import gradients_at, node_marginals_at

CLAMP = 40.0
"""Added to the log-potential of a state, it makes the others impossible."""
STEP = 1e-3
"""Of the central differences that give posterior covariances."""
LEAST_VARIANCE = 1e-6
CHUNK = 8
"""Points that a thread works on at a time."""


@dataclass(frozen=True, eq=False)
class ScoreMatrix:
    """For each pair of nodes of a fitted model what a further edge would be worth."""

    gains: FloatArray = field(repr=False)
    """(nodes, nodes) estimated rise of the log-likelihood; 0 on the diagonal, about 0 on edges."""
    attraction: FloatArray = field(repr=False)
    """(nodes, nodes) the root of twice the gain; negative where the rows are less dependent."""
    parameters: FloatArray = field(repr=False)
    """(nodes, nodes) the number of parameters of a further edge."""

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
    parameters = np.outer(free, free).astype(np.float64)
    return _signed(0.5 * n * squares, agreement, parameters)


def _signed(gains: FloatArray, agreement: FloatArray, parameters: FloatArray) -> ScoreMatrix:
    gains = (gains + gains.T) / 2
    np.fill_diagonal(gains, 0.0)
    sign = np.where(agreement + agreement.T < 0, -1.0, 1.0)
    return ScoreMatrix(gains, np.sqrt(2 * gains) * sign, parameters)


def edge_losses(fitted: Fitted) -> FloatArray:
    """(edges,) estimated fall of the log-likelihood when an edge is removed, from its coupling."""
    problem, point = fitted.problem, fitted.point
    u, v = problem.graph.edges.T
    if isinstance(problem, DiscreteProblem):
        free = problem.layout.n_states - 1
        sizes, first = free[u] * free[v], np.cumsum(free) - free
        squares = np.append(point[int(free.sum()) :] ** 2, 0.0)
        coupling: FloatArray = np.add.reduceat(squares, np.cumsum(sizes) - sizes)
        means = _posterior_means(problem, point, _node_basis(problem))
        weights = problem.rows.weights / problem.total_weight
        own = np.add.reduceat(weights @ means**2 - (weights @ means) ** 2, first) / free
    else:
        assert isinstance(problem, GaussianProblem)
        coupling = problem.precision(point)[u, v] ** 2
        own = np.diag(_gaussian_rows(problem, point))
    losses: FloatArray = 0.5 * problem.total_weight * coupling * own[u] * own[v]
    return losses


def _gaussian_rows(problem: GaussianProblem, point: FloatArray) -> FloatArray:
    """(nodes, nodes) mean products of the rows, with hidden nodes at their posterior means."""
    precision, p = problem.precision(point), problem.graph.n_observed
    alone = np.linalg.inv(np.linalg.inv(precision)[:p, :p])
    found = problem.rows.completed(alone, problem.mean(point))
    assert found is not None  # the model was fitted
    onto = np.vstack([np.eye(p), -np.linalg.solve(precision[p:, p:], precision[p:, :p])])
    known: FloatArray = onto @ (found.second / problem.total_weight) @ onto.T
    return known


def _gaussian_matrix(problem: GaussianProblem, point: FloatArray) -> ScoreMatrix:
    """Closed form: the residual of a pair, over the variance of the product of its ends."""
    precision, p, n = problem.precision(point), problem.graph.n_observed, problem.total_weight
    model, known = np.linalg.inv(precision), _gaussian_rows(problem, point)
    posterior = known.copy()
    posterior[p:, p:] += np.linalg.inv(precision[p:, p:])
    own = np.diag(known)
    residual = posterior - model
    gains = n * residual**2 / (2 * (np.outer(own, own) + known**2))
    return _signed(gains, residual * model, np.ones(gains.shape))


def _discrete_moments(problem: DiscreteProblem, point: FloatArray, threads: int | None) -> _Moments:
    """Compare the moments of the model with those of the rows."""
    fields = _node_basis(problem)
    mean = fields.T @ node_marginals_at(problem, point[None])[0]
    model = _model_moments(problem, point, threads) - np.outer(mean, mean)
    posterior = _posterior_means(problem, point, fields)
    weights, n = problem.rows.weights, problem.total_weight
    centre = weights @ posterior / n
    spread = (posterior * weights[:, None]).T @ posterior / n - np.outer(centre, centre)
    residual = spread + np.outer(centre, centre) - np.outer(mean, mean) - model
    free = problem.layout.n_states - 1
    unknown = np.flatnonzero(np.repeat(_sometimes_unknown(problem), free))
    # the slope of a slope: the mean posterior covariance minus that of the model
    slopes = _slopes_of_slopes(problem, point, unknown, threads)
    residual[np.ix_(unknown, unknown)] += slopes + model[np.ix_(unknown, unknown)]
    return _Moments((residual + residual.T) / 2, model, spread)


def _model_moments(problem: DiscreteProblem, point: FloatArray, threads: int | None) -> FloatArray:
    """(contrasts, contrasts) means of products under the model, with each node clamped in turn."""
    layout, contrasts, fields = problem.layout, problem.basis.contrasts, _node_basis(problem)
    free = layout.n_states - 1
    first = np.cumsum(free) - free
    points = np.tile(point, (int(free.sum()), 1))  # clamped to each state but the last
    cells = np.empty(len(points), np.int64)
    for v, contrast in enumerate(contrasts):
        for state in range(int(free[v])):
            k = first[v] + state
            cells[k] = layout.node_cell[v] + state
            own = slice(first[v], first[v] + free[v])
            points[k, own] += CLAMP * contrast[state] / len(contrast)
    base = node_marginals_at(problem, point[None])[0]
    given = _in_chunks(lambda part: node_marginals_at(problem, part), points, threads) @ fields
    given *= base[cells][:, None]
    mean, moments = fields.T @ base, np.zeros((len(points), len(points)))
    for v, contrast in enumerate(contrasts):
        own = slice(first[v], first[v] + free[v])
        last = mean - given[own].sum(axis=0)  # what is left for the last state
        moments[own] = contrast.T @ np.vstack([given[own], last[None]])
    symmetric: FloatArray = (moments + moments.T) / 2
    return symmetric


def _slopes_of_slopes(
    problem: DiscreteProblem, point: FloatArray, which: IntArray, threads: int | None
) -> FloatArray:
    """(parameters, parameters) second derivatives by some parameters, by central differences."""
    points = np.repeat(point[None], 2 * len(which), axis=0)
    points[np.arange(len(which)), which] += STEP
    points[len(which) + np.arange(len(which)), which] -= STEP
    found = _in_chunks(lambda part: gradients_at(problem, part), points, threads)[:, which]
    slopes: FloatArray = (found[: len(which)] - found[len(which) :]) / (2 * STEP)
    return slopes


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


def _in_chunks(
    work: Callable[[FloatArray], FloatArray], points: FloatArray, threads: int | None
) -> FloatArray:
    """Apply a function of several points, some at a time, on threads."""
    chunks = [points[k : k + CHUNK] for k in range(0, len(points), CHUNK)]
    if not chunks:
        return work(points)
    runs = OnThreads(threads)(lambda _, chunk, __: work(chunk), None, chunks)
    return np.concatenate(list(in_order(runs)))
