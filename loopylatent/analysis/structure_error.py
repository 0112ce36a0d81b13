"""Structure error of two graphs: the paper's edit distance (section 5.1).

It is the number of differing entries of the adjacency matrices. Columns are matched by name, hidden
nodes so that the number is smallest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any, Literal

import numpy as np
from scipy.optimize import linear_sum_assignment, quadratic_assignment
from scipy.sparse import block_diag, csr_array

from loopylatent.analysis.matching import column_order
from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.graph import LatentGraph

ENUMERATED_HIDDEN = 7
"""Up to this many hidden nodes every matching is tried (7! = 5040)."""
EQUALITY_TRIES = 500
"""Limit of colour refinements in the test for equality."""
RANDOM_STARTS = 8
"""Random starts of the search, if the first two starts do not reach the lower bound."""


@dataclass(frozen=True, slots=True)
class StructureError:
    """The smallest number of differing adjacency entries, or (inclusive) bounds on it."""

    lower: int
    upper: int
    is_exact: bool
    matching: tuple[int, ...] = field(default=(), repr=False, compare=False)
    """For each hidden node its match in the second graph, from 0; added nodes come last."""

    @property
    def value(self) -> int:
        """The exact value, or else the upper bound."""
        return self.upper


def structure_error(learned: LatentGraph, truth: LatentGraph) -> StructureError:
    """Count the adjacency entries in which two graphs differ, two for every edge.

    Isolated hidden nodes are added to the graph that has fewer, and hidden nodes are matched to
    minimise the count. The result is exact for equal graphs, for at most seven hidden nodes, and
    whenever the bounds are equal.

    Parameters
    ----------
    learned, truth : LatentGraph
        Graphs on the same column names, in any order.

    Returns
    -------
    StructureError

    Raises
    ------
    DataError
        If the two graphs have different columns.

    Examples
    --------
    >>> star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    >>> chain = LatentGraph.build("cba", 0, [(0, 1), (1, 2)])
    >>> structure_error(star, star)
    StructureError(lower=0, upper=0, is_exact=True)
    >>> structure_error(star, chain).value
    10
    """
    problem = _Problem.of(learned, truth)
    if problem.n_hidden <= ENUMERATED_HIDDEN:
        best = _best_of_all(problem)
        return _result(problem, problem.error(best), best, learned.n_hidden)
    start, lower = _cheapest_assignment(problem)
    if lower == 0:
        equal = _equality(problem)
        if isinstance(equal, np.ndarray):
            return _result(problem, 0, equal, learned.n_hidden)
        if equal is False:
            lower = 4  # equal parity of the edge counts excludes 2
    return _result(problem, lower, _best_found(problem, start, lower), learned.n_hidden)


def _result(problem: _Problem, lower: int, matching: IntArray, n_hidden: int) -> StructureError:
    upper = problem.error(matching)
    found = tuple(matching[:n_hidden].tolist())
    return StructureError(lower, upper, is_exact=lower == upper, matching=found)


@dataclass(frozen=True, slots=True, eq=False)
class _Problem:
    """Two graphs padded to the same number of hidden nodes, as blocks of adjacency matrices."""

    fixed: int
    """Differing entries between columns, whatever the matching."""
    columns: tuple[FloatArray, FloatArray]
    """(hidden, columns) adjacency of the two graphs, 0 or 1."""
    hidden: tuple[FloatArray, FloatArray]
    """(hidden, hidden) adjacency of the two graphs, 0 or 1."""

    @classmethod
    def of(cls, left: LatentGraph, right: LatentGraph) -> _Problem:
        order = column_order(left, right)
        p, size = left.n_observed, max(left.n_hidden, right.n_hidden)
        first, second = _adjacency(left, p + size), _adjacency(right, p + size)
        nodes = np.concatenate([order, np.arange(p, p + size)])
        second = second[nodes][:, nodes]
        return cls(
            int(abs(first[:p, :p] - second[:p, :p]).sum()),
            (first[p:, :p].toarray(), second[p:, :p].toarray()),
            (first[p:, p:].toarray(), second[p:, p:].toarray()),
        )

    @property
    def n_hidden(self) -> int:
        return len(self.columns[0])

    @property
    def column_costs(self) -> FloatArray:
        """(hidden, hidden) entries in which the adjacent columns of two hidden nodes differ."""
        left, right = self.columns
        sums = left.sum(axis=1)[:, None] + right.sum(axis=1)
        costs: FloatArray = 2 * sums - 4 * left @ right.T
        return costs

    def error(self, matching: IntArray) -> int:
        """Count the differing entries if hidden node i is matched to ``matching[i]``."""
        left, right = self.hidden
        to_columns = 2 * (self.columns[0] != self.columns[1][matching]).sum()
        return self.fixed + int(to_columns + (left != right[np.ix_(matching, matching)]).sum())


def _adjacency(graph: LatentGraph, n_nodes: int) -> csr_array[np.float64, tuple[int, int]]:
    """Return the 0-1 adjacency matrix, with isolated hidden nodes up to ``n_nodes``."""
    u, v = graph.edges.T
    at = (np.concatenate([u, v]), np.concatenate([v, u]))
    return csr_array((np.ones(2 * graph.n_edges), at), shape=(n_nodes, n_nodes))


def _best_of_all(problem: _Problem) -> IntArray:
    size = problem.n_hidden
    matchings = np.array(list(permutations(range(size))), dtype=np.int64)
    to_columns = problem.column_costs[np.arange(size), matchings].sum(axis=1)
    left, right = problem.hidden
    matched = right[matchings[:, :, None], matchings[:, None, :]]
    best: IntArray = matchings[int((to_columns + (left != matched).sum(axis=(1, 2))).argmin())]
    return best


def _cheapest_assignment(problem: _Problem) -> tuple[IntArray, int]:
    """Return the matching of smallest node-wise cost, and its lower bound."""
    left, right = problem.hidden
    degrees = np.abs(left.sum(axis=1)[:, None] - right.sum(axis=1))
    costs = problem.column_costs + degrees
    rows, matching = linear_sum_assignment(costs)
    bound = problem.fixed + int(costs[rows, matching].sum())
    return matching.astype(np.int64), bound + (problem.error(matching) - bound) % 4


def _equality(problem: _Problem) -> IntArray | Literal[False] | None:
    """Return a matching that makes the graphs equal; False if none exists, None if undecided."""
    # colour refinement, starting from adjacent columns; ambiguous colours are resolved by pairing
    # one node of the left graph with each candidate of the right graph in turn
    size = problem.n_hidden
    adjacency = csr_array(block_diag(problem.hidden).astype(np.uint64))
    columns = np.packbits(np.concatenate(problem.columns).astype(bool), axis=1)
    untried = [np.unique(columns, axis=0, return_inverse=True)[1].ravel()]
    for _ in range(EQUALITY_TRIES):
        if not untried:
            return False
        left, right = np.split(_refined(untried.pop(), adjacency), 2)
        counts = np.bincount(left, minlength=2 * size)
        if (counts != np.bincount(right, minlength=2 * size)).any():
            continue
        if counts.max() > 1:
            untried.extend(_paired(left, right, counts))
            continue
        matching = np.empty(size, dtype=np.int64)
        matching[np.argsort(left)] = np.argsort(right)
        if problem.error(matching) == 0:
            return matching
    return None


def _refined(colours: IntArray, adjacency: csr_array[np.uint64, tuple[int, int]]) -> IntArray:
    """Refine colours by those of the neighbours until they are stable."""
    # hashed with random numbers: a collision costs time but cannot give a wrong answer
    rng = np.random.default_rng(0)
    own, around = rng.integers(2**63, size=(2, len(colours) + 1), dtype=np.uint64)
    while True:
        finer = np.unique(own[colours] + adjacency @ around[colours], return_inverse=True)[1]
        if finer.max() <= colours.max():
            return finer
        colours = finer


def _paired(left: IntArray, right: IntArray, counts: IntArray) -> Iterator[IntArray]:
    """Pair one left node of the smallest ambiguous colour with each right node in turn."""
    colour = int(np.argmin(np.where(counts > 1, counts, len(left) + 1)))
    node = int(np.argmax(left == colour))
    new = 1 + max(int(left.max()), int(right.max()))
    for other in np.flatnonzero(right == colour)[::-1]:
        colours = np.concatenate([left, right])
        colours[[node, len(left) + other]] = new
        yield colours


def _best_found(problem: _Problem, start: IntArray, lower: int) -> IntArray:
    """Improve good matchings by swaps; return the best, and stop at error ``lower``."""
    best, least = start, problem.error(start)
    for matching in _good_matchings(problem, start):
        improved = _improved(problem, matching)
        if problem.error(improved) < least:
            best, least = improved, problem.error(improved)
        if least == lower:
            break
    return best


def _good_matchings(problem: _Problem, start: IntArray) -> Iterator[IntArray]:
    """Yield ``start``, then solutions of the relaxed problem from several starting points."""
    yield start
    used = (problem.columns[0] + problem.columns[1]).any(axis=0)
    left, right = (
        np.block([[np.zeros((used.sum(), used.sum())), near[:, used].T], [near[:, used], inner]])
        for near, inner in zip(problem.columns, problem.hidden, strict=True)
    )
    known = np.repeat(np.arange(used.sum())[:, None], 2, axis=1)
    options: Any = {"maximize": True, "partial_match": known, "rng": np.random.default_rng(0)}
    for point in ("barycenter", *("randomized",) * RANDOM_STARTS):
        result = quadratic_assignment(left, right, options=options | {"P0": point})
        yield (result.col_ind[len(known) :] - len(known)).astype(np.int64)


def _improved(problem: _Problem, matching: IntArray) -> IntArray:
    """Make the best swap of two partners until no swap improves."""
    left, right = problem.hidden
    costs = problem.column_costs
    matching = matching.copy()
    while True:
        matched = right[np.ix_(matching, matching)]
        gains = 4 * _exchange(left @ matched) + 8 * left * matched - _exchange(costs[:, matching])
        u, v = np.unravel_index(int(gains.argmax()), gains.shape)
        if gains[u, v] <= 0:
            return matching
        matching[[u, v]] = matching[[v, u]]


def _exchange(scores: FloatArray) -> FloatArray:
    """(u, v) change of the trace when rows u and v are swapped."""
    kept = np.diag(scores)
    return scores + scores.T - kept[:, None] - kept
