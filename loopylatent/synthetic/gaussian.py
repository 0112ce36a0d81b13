"""Gaussian models with known edges: the precision matrix put together as on a tree.

An edge of correlation c adds c²/(1-c²) at both ends of the precision matrix and -c/(1-c²) between
them. On a tree every column then has variance 1 and correlations multiply along paths; cycles
change both, and where edges are too strong for their cycles there is no such model.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loopylatent.compute.arrays import FloatArray, frozen_array
from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph


@dataclass(frozen=True, eq=False)
class GaussianLaw:
    """A Gaussian model on a graph.

    Examples
    --------
    >>> path = LatentGraph.build(["a", "b", "c"], 0, [(0, 1), (1, 2)])
    >>> GaussianLaw.of(path, np.array([0.5, -0.5])).correlations().round(3)[0].tolist()
    [1.0, 0.5, -0.25]
    """

    graph: LatentGraph
    precision: FloatArray = field(repr=False)

    @classmethod
    def of(cls, graph: LatentGraph, correlations: FloatArray) -> GaussianLaw:
        """Return the model whose edges have these correlations on their own."""
        u, v = graph.edges.T
        matrix = np.eye(graph.n_nodes)
        odds = correlations**2 / (1 - correlations**2)
        np.add.at(matrix, (u, u), odds)
        np.add.at(matrix, (v, v), odds)
        matrix[u, v] = matrix[v, u] = -correlations / (1 - correlations**2)
        lowest = float(np.linalg.eigvalsh(matrix)[0])
        if lowest < 1e-9:
            raise InferenceError(
                "these edges are too strong for their cycles: no Gaussian model has them (the "
                f"smallest eigenvalue would be {lowest:.3g}). Give longer edges."
            )
        return cls(graph, frozen_array(matrix, np.float64))

    @cached_property
    def covariance(self) -> FloatArray:
        """(columns, columns)"""
        p = self.graph.n_observed
        return frozen_array(np.linalg.inv(self.precision)[:p, :p], np.float64)

    def correlations(self) -> FloatArray:
        """(columns, columns), exact."""
        spread = np.sqrt(np.diag(self.covariance))
        found: FloatArray = self.covariance / np.outer(spread, spread)
        return found

    def draw(self, n: int, rng: np.random.Generator) -> FloatArray:
        """(n, columns) independent rows."""
        factor = np.linalg.cholesky(self.covariance)
        rows: FloatArray = rng.standard_normal((n, len(factor))) @ factor.T
        return rows
