"""Missing values drawn from a fitted model, so that trials run on a complete table.

Exact sums over missing values take many times longer than those over hidden nodes alone. A search
tries moves on a table that is completed anew in each round, and confirms with exact sums only those
that gain there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from loopylatent.compute.values import FloatArray, StateArray
from loopylatent.inference.discrete import DiscreteProblem
from loopylatent.inference.evidence import Rows
from loopylatent.inference.gaussian import GaussianProblem, GaussianRows
from loopylatent.inference.problems import DiscreteFamily, Family, Fitted

SWEEPS = 30
"""Gibbs sweeps over hidden and missing values before they are kept."""


def has_missing(family: Family) -> bool:
    """Whether some value of the table is missing."""
    if isinstance(family, DiscreteFamily):
        return bool(family.rows.ever_missing.any())
    return family.rows.has_missing


def completed(family: Family, fitted: Fitted, rng: np.random.Generator) -> Family:
    """Return the family on a table whose missing values are drawn from a model."""
    if isinstance(family, DiscreteFamily):
        assert isinstance(fitted.problem, DiscreteProblem)
        states = _drawn_states(fitted.problem, fitted.point, rng)
        return replace(family, rows=Rows.of(states, family.rows.weights))
    assert isinstance(fitted.problem, GaussianProblem)
    scores = _drawn_scores(fitted.problem, fitted.point, rng)
    return replace(family, rows=GaussianRows(scores, family.rows.weights))


def _drawn_states(
    problem: DiscreteProblem, point: FloatArray, rng: np.random.Generator
) -> StateArray:
    layout, graph = problem.layout, problem.graph
    cells, p = problem.basis.cells(point), graph.n_observed
    whole = problem.rows.states.copy()
    rows = np.flatnonzero((whole < 0).any(axis=1))
    unknown = np.ones((len(rows), graph.n_nodes), np.bool_)
    unknown[:, :p] = whole[rows] < 0
    states = np.zeros((len(rows), graph.n_nodes), np.int64)
    states[:, :p] = whole[rows]
    for v in range(graph.n_nodes):
        drawn = rng.integers(layout.n_states[v], size=len(rows))
        states[unknown[:, v], v] = drawn[unknown[:, v]]
    tables: list[list[tuple[int, FloatArray]]] = [[] for _ in range(graph.n_nodes)]
    for edge, (u, v) in enumerate(graph.edges.tolist()):
        table = layout.edge_table(cells, edge)
        tables[u].append((v, table.T))
        tables[v].append((u, table))
    for _ in range(SWEEPS):
        for v in np.flatnonzero(unknown.any(axis=0)).tolist():
            logs = np.tile(layout.node_table(cells, v), (len(rows), 1))
            for other, table in tables[v]:
                logs += table[states[:, other]]
            shares = np.exp(logs - logs.max(axis=1, keepdims=True)).cumsum(axis=1)
            level = rng.random(len(rows)) * shares[:, -1]
            drawn = (shares < level[:, None]).sum(axis=1)
            states[unknown[:, v], v] = drawn[unknown[:, v]]
    whole[rows] = states[:, :p].astype(np.int16)
    return whole


def _drawn_scores(
    problem: GaussianProblem, point: FloatArray, rng: np.random.Generator
) -> FloatArray:
    p = problem.graph.n_observed
    covariance = np.linalg.inv(problem.precision(point))[:p, :p]
    precision, mean = np.linalg.inv(covariance), problem.mean(point)
    scores = problem.rows.scores.copy()
    for rows in problem.rows.row_groups:
        lacking = np.isnan(scores[rows[0]])
        if not lacking.any():
            continue
        off = scores[np.ix_(rows, ~lacking)] - mean[~lacking]
        inner = precision[np.ix_(lacking, lacking)]
        expected = (
            mean[lacking] - off @ np.linalg.solve(inner, precision[np.ix_(lacking, ~lacking)]).T
        )
        noise = np.linalg.solve(
            np.linalg.cholesky(inner).T, rng.normal(size=(int(lacking.sum()), len(rows)))
        )
        scores[np.ix_(rows, lacking)] = expected + noise.T
    return scores
