"""Gaussian models on a graph, whose edges are the nonzero entries of the precision matrix.

Fitted on standardised columns; the parameters are half log precisions, partial correlations and, if
values are missing, means. Hidden nodes have precision 1 during the fit and variance 1 afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.errors import InferenceError, quoted
from loopylatent.graph import LatentGraph
from loopylatent.inference.evidence import pick
from loopylatent.inference.optimise import STRONGEST, Anchors, Value, representatives
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations

LOG_2PI = float(np.log(2 * np.pi))
SMALLEST_PIVOT = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """Sums over each group of rows with the same missing columns."""

    weights: FloatArray
    means: FloatArray
    """(groups, columns) NaN where missing."""
    scatter: FloatArray
    """(columns, columns) summed over the groups."""
    order: IntArray
    """(groups, columns) present columns, then missing ones."""
    n_present: IntArray
    own: FloatArray
    """The scatter of each group, concatenated; omitted if zero."""
    starts: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Completed:
    """Sums over rows with missing values replaced by their conditional expectations."""

    weight: float
    n_values: float
    n_missing: float
    first: FloatArray
    """(columns,) of the deviations from the mean."""
    second: FloatArray
    """(columns, columns) of their products, plus the conditional covariance of missing values."""
    log_det: float
    """Log-determinants of the precisions of the present columns, relative to that of all."""


@dataclass(frozen=True, eq=False)
class GaussianRows:
    """Standardised rows, grouped by pattern of missing values."""

    scores: FloatArray = field(repr=False)
    weights: FloatArray = field(repr=False)

    @cached_property
    def total_weight(self) -> float:
        return float(self.weights.sum())

    @cached_property
    def has_missing(self) -> bool:
        return bool(np.isnan(self.scores).any())

    @cached_property
    def row_groups(self) -> tuple[IntArray, ...]:
        """The rows of each pattern of missing values."""
        present = ~np.isnan(self.scores)
        if not self.has_missing:
            return (np.arange(len(self.scores)),)
        _, of_row = np.unique(present, axis=0, return_inverse=True)
        order = np.argsort(of_row, kind="stable")
        return tuple(np.split(order, np.cumsum(np.bincount(of_row))[:-1]))

    @cached_property
    def _sums(self) -> _Sums:
        n_columns = self.scores.shape[1]
        totals: list[float] = []
        own: list[FloatArray] = []
        means = np.full((len(self.row_groups), n_columns), np.nan)
        scatter = np.zeros((n_columns, n_columns))
        for rows in self.row_groups:
            columns = np.flatnonzero(~np.isnan(self.scores[rows[0]]))
            weights = self.weights[rows]
            total = float(weights.sum())
            if total == 0 or len(columns) == 0:
                continue
            values = self.scores[np.ix_(rows, columns)]
            mean = weights @ values / total
            centred = values - mean
            spread = (centred * weights[:, None]).T @ centred / total
            means[len(totals), columns] = mean
            scatter[np.ix_(columns, columns)] += total * spread
            totals.append(total)
            own.append(spread.ravel() if spread.any() else np.zeros(0))
        means = means[: len(totals)]
        lacking = np.isnan(means)
        order, n_present = np.argsort(lacking, axis=1, kind="stable"), (~lacking).sum(axis=1)
        own_scatter, starts = np.concatenate([np.zeros(0), *own]), np.cumsum([0, *map(len, own)])
        return _Sums(np.array(totals), means, scatter, order, n_present, own_scatter, starts)

    def completed(self, precision: FloatArray, mean: FloatArray) -> Completed | None:
        """Sum the rows under a model of the columns; None if it is numerically singular."""
        sums = self._sums
        off, second = np.nan_to_num(sums.means - mean), sums.scatter.copy()
        log_det = _kernels.columns.fill_gaps(
            precision, off, second, sums.order, sums.n_present, sums.weights, sums.own, sums.starts,
            SMALLEST_PIVOT,
        )  # fmt: skip
        if np.isnan(log_det):
            return None
        second += (off * sums.weights[:, None]).T @ off
        n_values = float(sums.weights @ sums.n_present)
        weight = float(sums.weights.sum())
        n_missing = weight * len(precision) - n_values
        return Completed(weight, n_values, n_missing, sums.weights @ off, second, log_det)

    @cached_property
    def correlations(self) -> FloatArray:
        """(columns, columns) Pearson, on the rows in which both columns are present."""
        present = (~np.isnan(self.scores)).astype(np.float64)
        filled = np.nan_to_num(self.scores)
        weighted = present * self.weights[:, None]
        count = np.maximum(weighted.T @ present, 1e-300)
        first = (filled * self.weights[:, None]).T @ present / count
        square = (filled**2 * self.weights[:, None]).T @ present / count
        product = (filled * self.weights[:, None]).T @ filled / count
        spread = np.sqrt(np.maximum(square - first**2, 1e-300))
        found: FloatArray = (product - first * first.T) / (spread * spread.T)
        return np.clip(found, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Scale:
    """Means and standard deviations of the columns that a model was fitted on."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def of(cls, obs: Observations) -> Scale:
        values = obs.dense()
        weights = np.ones(len(values)) if obs.weights is None else obs.weights
        present = ~np.isnan(values) * weights[:, None]
        count = present.sum(axis=0)
        mean = np.nansum(values * weights[:, None], axis=0) / count
        square = np.nansum((values - mean) ** 2 * weights[:, None], axis=0) / count
        if not (square > 0).all():
            name = obs.names[int((square > 0).argmin())]
            raise InferenceError(f"Column {quoted(name)} is constant; drop it from the graph.")
        return cls(frozen_array(mean, np.float64), frozen_array(np.sqrt(square), np.float64))

    def rows(self, obs: Observations) -> GaussianRows:
        weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
        return GaussianRows((obs.dense() - self.mean) / self.deviation, weights)


@dataclass(frozen=True, eq=False)
class GaussianProblem:
    """The mean log-likelihood of a row as a function of the parameters."""

    graph: LatentGraph
    rows: GaussianRows = field(repr=False)

    @property
    def total_weight(self) -> float:
        return self.rows.total_weight

    @property
    def df(self) -> int:
        """Nodes and edges, as in the paper; means, the same for every graph, are not counted."""
        return self.graph.n_nodes + self.graph.n_edges

    def precision(self, point: FloatArray) -> FloatArray:
        """(nodes, nodes) the precision matrix of a point, which may be indefinite."""
        p, (u, v) = self.graph.n_observed, self.graph.edges.T
        root = np.ones(self.graph.n_nodes)
        root[:p] = np.exp(np.clip(point[:p], -20.0, 20.0))
        matrix = np.diag(root**2)
        partial = point[p : p + len(u)]
        matrix[u, v] = matrix[v, u] = -partial * root[u] * root[v]
        return matrix

    def mean(self, point: FloatArray) -> FloatArray:
        p = self.graph.n_observed
        return point[p + self.graph.n_edges :] if self.rows.has_missing else np.zeros(p)

    def point(self, precision: FloatArray, mean: FloatArray) -> FloatArray:
        """Return the parameters of a model, with hidden nodes rescaled to precision 1."""
        p, (u, v) = self.graph.n_observed, self.graph.edges.T
        root = np.sqrt(np.diag(precision))
        parts = [np.log(root[:p]), -precision[u, v] / (root[u] * root[v])]
        return np.concatenate([*parts, mean] if self.rows.has_missing else parts)

    def evaluate(self, point: FloatArray) -> Value:
        precision = self.precision(point)
        inverted = inverse_of(precision)
        if inverted is None:
            return self._outside(precision)
        covariance, p = inverted.matrix, self.graph.n_observed
        alone = inverse_of(covariance[:p, :p])
        found = None if alone is None else self.rows.completed(alone.matrix, self.mean(point))
        if alone is None or found is None:
            return self._outside(precision)
        away = float((alone.matrix * found.second).sum()) - found.n_missing
        log_det = found.weight * alone.log_det + found.log_det
        value = -0.5 * (found.n_values * LOG_2PI - log_det + away)
        change = alone.matrix @ found.second @ alone.matrix - found.weight * alone.matrix
        by_covariance, by_mean = 0.5 * change, alone.matrix @ found.first
        total = self.rows.total_weight
        by_precision = -covariance[:, :p] @ (by_covariance / total) @ covariance[:p]
        return Value(value / total, self._gradient(precision, by_precision, by_mean / total))

    def _gradient(
        self, precision: FloatArray, by_precision: FloatArray, by_mean: FloatArray
    ) -> FloatArray:
        p, (u, v) = self.graph.n_observed, self.graph.edges.T
        root = np.sqrt(np.diag(precision))
        by_root = 2 * (by_precision * precision).sum(axis=1)[:p]
        by_edge = -2 * by_precision[u, v] * root[u] * root[v]
        parts = [by_root, by_edge]
        return np.concatenate([*parts, by_mean] if self.rows.has_missing else parts)

    def _outside(self, precision: FloatArray) -> Value:
        """Return a value worse than that of any start, with a gradient towards definiteness."""
        eigenvalues, vectors = np.linalg.eigh(precision)
        short = np.minimum(eigenvalues, 0.0)
        by_precision = (vectors * (short < 0)) @ vectors.T
        slope = self._gradient(precision, by_precision, np.zeros(self.graph.n_observed))
        # 5 per column below independent columns, which every start exceeds
        worst = -(0.5 * LOG_2PI + 0.5 + 5.0) * self.graph.n_observed
        return Value(worst + float(short.sum()), slope)


@dataclass(frozen=True, slots=True, eq=False)
class Inverse:
    """The inverse of a positive definite matrix and the log-determinant of the inverse."""

    matrix: FloatArray
    log_det: float


def inverse_of(matrix: FloatArray) -> Inverse | None:
    """Invert a symmetric matrix; None if it is not numerically positive definite."""
    factor, failed = dpotrf(matrix, lower=True)
    if failed or factor.diagonal().min() < SMALLEST_PIVOT:
        return None
    inverse, _ = dpotri(factor, lower=True)
    full = inverse + inverse.T  # the upper triangle is 0 after dpotrf and dpotri
    full.flat[:: len(full) + 1] *= 0.5
    return Inverse(full, -2 * float(np.log(factor.diagonal()).sum()))


def start_correlations(graph: LatentGraph, rows: GaussianRows, anchors: Anchors) -> FloatArray:
    """(edges,) starting correlations: the sample's for two columns, else e^-length, signed."""
    found = np.empty(graph.n_edges)
    for edge, (u, v) in enumerate(graph.edges.tolist()):
        between = rows.correlations[anchors.column[u], anchors.column[v]]
        between *= anchors.sign[u] * anchors.sign[v]
        strength = np.exp(-graph.lengths[edge]) if v >= graph.n_observed else abs(between)
        found[edge] = np.copysign(min(strength, STRONGEST), between)
    return found


def assembled(graph: LatentGraph, own: FloatArray, edges: EdgeParts) -> FloatArray:
    """(nodes, nodes) the precision matrix of a tree; with cycles, edges shrink until definite."""
    u, v = graph.edges.T
    for shrink in 0.9 ** np.arange(60):
        matrix = np.diag(own)
        np.add.at(matrix, (u, u), shrink**2 * edges.first)
        np.add.at(matrix, (v, v), shrink**2 * edges.second)
        matrix[u, v] = matrix[v, u] = shrink * edges.between
        if (np.diag(matrix) > 0).all() and np.linalg.eigvalsh(matrix)[0] > 1e-3:
            return matrix
    return np.diag(np.maximum(own, 1e-3))


@dataclass(frozen=True, slots=True, eq=False)
class EdgeParts:
    """The contribution of each edge to the precision matrix of a tree: at its ends and between."""

    first: FloatArray
    second: FloatArray
    between: FloatArray

    @classmethod
    def of(cls, graph: LatentGraph, variance: FloatArray, correlation: FloatArray) -> EdgeParts:
        u, v = graph.edges.T
        odds = correlation**2 / (1 - correlation**2)
        between = -correlation / (1 - correlation**2) / np.sqrt(variance[u] * variance[v])
        return cls(odds / variance[u], odds / variance[v], between)


@dataclass(frozen=True, slots=True, eq=False)
class _Solved:
    """Rows with the same missing columns: deviations from the mean, solved by the covariance."""

    rows: IntArray
    columns: IntArray
    off: FloatArray
    solved: FloatArray
    log_det: float


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """A fitted Gaussian model."""

    graph: LatentGraph
    columns: tuple[Column, ...]
    scale: Scale = field(repr=False)
    mean: FloatArray = field(repr=False)
    """(columns,) of the standardised columns."""
    precision: FloatArray = field(repr=False)
    """(nodes, nodes) of the standardised columns and hidden nodes of variance 1."""

    @cached_property
    def correlation(self) -> FloatArray:
        """(nodes, nodes) covariance of the standardised columns and hidden nodes."""
        return frozen_array(np.linalg.inv(self.precision), np.float64)

    @cached_property
    def edge_strengths(self) -> FloatArray:
        """(edges,) the correlation of the two ends of each edge."""
        u, v = self.graph.edges.T
        spread = np.sqrt(np.diag(self.correlation))
        return frozen_array(self.correlation[u, v] / (spread[u] * spread[v]), np.float64)

    def log_likelihood(self, obs: Observations, *, standard: bool = False) -> FloatArray:
        """(rows,) the log-density of each row, in the table's units or standardised."""
        obs = pick(obs, self.graph.names)
        values = np.zeros(obs.n_rows)
        for one in self._solved(obs):
            spread = (one.off * one.solved.T).sum(axis=1)
            level = len(one.columns) * LOG_2PI + one.log_det
            if not standard:
                level += 2 * np.log(self.scale.deviation[one.columns]).sum()
            values[one.rows] = -0.5 * (level + spread)
        return values

    def hidden_means(self, obs: Observations) -> FloatArray:
        """(rows, hidden) the expectation of each hidden node given each row."""
        obs = pick(obs, self.graph.names)
        found = np.zeros((obs.n_rows, self.graph.n_hidden))
        for one in self._solved(obs):
            between = self.correlation[self.graph.n_observed :, one.columns]
            found[one.rows] = (between @ one.solved).T
        return found

    def _solved(self, obs: Observations) -> Iterator[_Solved]:
        rows = self.scale.rows(obs)
        for group in rows.row_groups:
            columns = np.flatnonzero(~np.isnan(rows.scores[group[0]]))
            factor = cho_factor(self.correlation[np.ix_(columns, columns)], lower=True)
            off = rows.scores[np.ix_(group, columns)] - self.mean[columns]
            log_det = 2 * np.log(np.diag(factor[0])).sum()
            yield _Solved(group, columns, off, cho_solve(factor, off.T), float(log_det))


def normalised(graph: LatentGraph, precision: FloatArray) -> FloatArray:
    """Rescale hidden nodes to variance 1 and positive correlation with the nearest column."""
    covariance = np.linalg.inv(precision)
    scale = np.ones(graph.n_nodes)
    near = representatives(graph)
    for h in graph.hidden_nodes:
        sign = -1.0 if covariance[h, near[h]] < 0 else 1.0
        scale[h] = sign * np.sqrt(covariance[h, h])
    result: FloatArray = precision * np.outer(scale, scale)
    return result
