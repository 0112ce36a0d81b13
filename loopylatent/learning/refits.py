"""Refits of changed graphs from the parameters of a fitted one, and the score that they raise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.inference.discrete import DiscreteProblem, strengths_of
from loopylatent.inference.gaussian import GaussianProblem
from loopylatent.inference.problems import Family, Fitted, Problem
from loopylatent.inference.trials import WINDOW, Effort, climb
from loopylatent.learning.moves import SearchGraph, edge_of

WEAKEST, STRONGEST = 0.03, 0.98


@dataclass(frozen=True, slots=True)
class Price:
    """What the score takes off the log-likelihood."""

    parameter: float
    """For each parameter: half the logarithm of the number of rows, as in BIC."""
    cycle: float = 0.0
    """More for each independent cycle."""
    free_hidden: bool = False
    """Whether the parameters of a hidden node itself, without its edges, are not charged."""

    def of(self, problem: Problem) -> float:
        graph, df = problem.graph, problem.df
        if self.free_hidden:
            each = 1
            if isinstance(problem, DiscreteProblem):
                each = int(problem.layout.n_states[-1]) - 1
            df -= each * graph.n_hidden
        return self.parameter * df + self.cycle * graph.n_cycles


@dataclass(frozen=True, slots=True, eq=False)
class Stand:
    """A graph of the search with its fitted parameters and its score."""

    graph: SearchGraph
    fitted: Fitted
    score: float


@dataclass(frozen=True, eq=False)
class Trials:
    """Fits of the graphs of a search to the same rows."""

    family: Family = field(repr=False)
    names: tuple[str, ...]
    price: Price
    log2_table: float
    """Graphs that need larger tables for exact sums are not fitted."""

    def fit(self, graph: SearchGraph, max_steps: int) -> Stand | None:
        """Fit a graph from the starting values of its lengths; None if its tables are too large."""
        problem = self.problem(graph)
        if problem is None:
            return None
        return self._stand(graph, problem, self.family.start(problem), max_steps, -math.inf)

    def refit(
        self, old: Stand, graph: SearchGraph, max_steps: int, target: float = -math.inf,
        window: int = WINDOW,
    ) -> Stand | None:  # fmt: skip
        """Fit a changed graph from the present parameters; end early below the target score."""
        problem = self.problem(graph)
        if problem is None:
            return None
        start = _start(self.family, old, graph, problem)
        return self._stand(graph, problem, start, max_steps, target, window)

    def settled(self, stand: Stand, max_steps: int) -> Stand:
        """Fit the same graph further."""
        problem = stand.fitted.problem
        return self._stand(stand.graph, problem, stand.fitted.point, max_steps, -math.inf)

    def problem(self, graph: SearchGraph) -> Problem | None:
        problem = self.family.problem(graph.graph(self.names))
        if isinstance(problem, DiscreteProblem):
            fits = problem.method.elimination.log2_largest <= self.log2_table + 1e-9
            return problem if problem.method.is_exact and fits else None
        return problem

    def _stand(
        self, graph: SearchGraph, problem: Problem, start: FloatArray, max_steps: int,
        target: float, window: int = WINDOW,
    ) -> Stand:  # fmt: skip
        price, n = self.price.of(problem), problem.total_weight
        fitted = climb(problem, start, Effort(max_steps, (target + price) / n, window=window))
        return Stand(graph, fitted, n * fitted.value - price)


def _start(family: Family, old: Stand, graph: SearchGraph, problem: Problem) -> FloatArray:
    """Keep the parameters of what did not change; only added edges start at 0."""
    if graph.ids == old.graph.ids and graph.edges > old.graph.edges:
        return _widened(old.fitted, problem)
    place = {v: k for k, v in enumerate(old.graph.ids)}
    origin = np.array([place.get(v, -1) for v in graph.ids], np.int64)
    return family.continued(old.fitted, problem, origin)


def _widened(old: Fitted, problem: Problem) -> FloatArray:
    """Return the same model on a graph with more edges."""
    graph = problem.graph
    known = {tuple(edge): k for k, edge in enumerate(old.problem.graph.edges.tolist())}
    places = np.array([known.get(tuple(edge), -1) for edge in graph.edges.tolist()], np.int64)
    sizes, n_fields = parameters_of_edges(problem), graph.n_observed
    if isinstance(problem, DiscreteProblem):
        n_fields = int((problem.layout.n_states - 1).sum())
    kept = np.repeat(places >= 0, sizes)
    n_old = int(kept.sum())
    couplings = np.zeros(int(sizes.sum()))
    couplings[kept] = old.point[n_fields : n_fields + n_old]
    return np.concatenate([old.point[:n_fields], couplings, old.point[n_fields + n_old :]])


def parameters_of_edges(problem: Problem) -> IntArray:
    """(edges,) the number of parameters of each edge."""
    if not isinstance(problem, DiscreteProblem):
        return np.ones(problem.graph.n_edges, np.int64)
    u, v = problem.graph.edges.T
    free = problem.layout.n_states - 1
    sizes: IntArray = free[u] * free[v]
    return sizes


def with_fitted_lengths(stand: Stand) -> Stand:
    """Give each edge the length that its fitted correlation has."""
    problem, point = stand.fitted.problem, stand.fitted.point
    if isinstance(problem, DiscreteProblem):
        marginals = np.maximum(problem.marginals(point), 1e-9)
        strengths = strengths_of(problem.layout, marginals)
    else:
        assert isinstance(problem, GaussianProblem)
        covariance = np.linalg.inv(problem.precision(point))
        u, v = problem.graph.edges.T
        own = np.diag(covariance)
        strengths = covariance[u, v] / np.sqrt(own[u] * own[v])
    lengths = -np.log(np.clip(np.abs(strengths), WEAKEST, STRONGEST))
    ids, edges = stand.graph.ids, problem.graph.edges.tolist()
    found = {
        edge_of(ids[u], ids[v]): float(length)
        for (u, v), length in zip(edges, lengths.tolist(), strict=True)
    }
    return replace(stand, graph=stand.graph.with_lengths(found))
