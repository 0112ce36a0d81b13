"""Discrete pairwise models with known tables: exact joint tables of column pairs, exact rows.

Rows are sampled backwards along the elimination order; if its tables are too large, they come from
Gibbs sampling, with diagnostics.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.values import FloatArray, IntArray, Progress, StateArray, frozen_array
from loopylatent.errors import InferenceError, Remedy
from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_propagation import Propagation
from loopylatent.inference.circuit import LARGEST_TABLE, Elimination, eliminate
from loopylatent.inference.exact import ExactPartition
from loopylatent.inference.parameters import Layout

EXCLUDED = -1e5
"""The log-potential of an excluded state, of negligible probability."""
BLOCK = 2**16
"""Rows sampled at a time, to bound memory."""
MOST_WORK = 4e9
"""Cells that may be summed for the distances of all columns: about a minute."""
CHAINS = 8
BURN_IN = 500
"""Sweeps over all nodes before the first row of a chain."""
THINNING = 10
"""Sweeps between two rows of a chain."""
MOST_UNIFORMS = 2**21
"""Random numbers drawn at a time."""
GOOD_R_HAT = 1.05


@dataclass(frozen=True, eq=False)
class DiscreteLaw:
    """A pairwise model with known tables.

    Parameters
    ----------
    layout : Layout
        The graph and the number of states, the same for all nodes.
    cells : (cells,) float64 array
        The log-potentials of nodes and edges; see ``Layout``.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)])
    >>> law = DiscreteLaw.ising(pair, np.array([np.arctanh(0.5)]))
    >>> law.pair_tables()[0, :, 1].round(3).tolist()
    [[0.375, 0.125], [0.125, 0.375]]
    """

    layout: Layout
    cells: FloatArray = field(repr=False)

    @classmethod
    def ising(
        cls, graph: LatentGraph, potentials: FloatArray, fields: FloatArray | None = None
    ) -> DiscreteLaw:
        """Return the Ising model with these potentials of edges and of nodes."""
        layout = Layout(graph, frozen_array(np.full(graph.n_nodes, 2), np.int64))
        cells = np.zeros(layout.n_cells)
        if fields is not None:
            cells[: 2 * graph.n_nodes] = np.outer(fields, [-1.0, 1.0]).ravel()
        cells[2 * graph.n_nodes :] = np.outer(potentials, [1.0, -1.0, -1.0, 1.0]).ravel()
        return cls(layout, frozen_array(cells, np.float64))

    @property
    def graph(self) -> LatentGraph:
        return self.layout.graph

    @property
    def n_states(self) -> int:
        return int(self.layout.n_states[0])

    @cached_property
    def elimination(self) -> Elimination:
        return eliminate(self.graph, self.layout.n_states)

    @property
    def is_exact(self) -> bool:
        """Whether rows and distances are exact: no table of the elimination is too large."""
        return self.elimination.fits(LARGEST_TABLE)

    @cached_property
    def marginals(self) -> FloatArray:
        """(cells,) probabilities of the states of nodes and edges; approximate if not exact."""
        sums = (ExactPartition if self.is_exact else Propagation)(self.layout, self.elimination)
        return frozen_array(sums.evaluate(self.cells).by_cells, np.float64)

    @cached_property
    def couplings(self) -> FloatArray:
        """(edges,) the Ising potential of each edge, for two states."""
        tables = self.cells[2 * self.graph.n_nodes :].reshape(-1, 4)
        return frozen_array(tables @ [0.25, -0.25, -0.25, 0.25], np.float64)

    @cached_property
    def edge_distances(self) -> FloatArray:
        """(edges,) -log of the normalised determinant of the two ends: -log|correlation|."""
        size = self.n_states
        joint = self.marginals[size * self.graph.n_nodes :].reshape(-1, size, size)
        spread = joint.sum(axis=2).prod(axis=1) * joint.sum(axis=1).prod(axis=1)
        with np.errstate(divide="ignore"):
            logs = np.log(np.abs(np.linalg.det(joint)) / np.sqrt(spread))
        return frozen_array(-logs, np.float64)

    def pair_tables(self, progress: Progress | None = None) -> FloatArray:
        """(p, K, p, K) exact joint probabilities of the states of every two columns."""
        self._check_exact("Exact distances", 2 * self.graph.n_observed)
        p, size = self.graph.n_observed, self.n_states
        partition = ExactPartition(self.layout, self.elimination)
        shares = self.marginals[: p * size].reshape(p, size)
        found = np.empty((p, size, p, size))
        for column in range(p):
            report(progress, column, p)
            for state in range(size):
                fixed = self.cells.copy()
                self.layout.node_table(fixed, column)[np.arange(size) != state] = EXCLUDED
                given = partition.evaluate(fixed).by_cells[: p * size].reshape(p, size)
                found[column, state] = shares[column, state] * given
        return (found + found.transpose(2, 3, 0, 1)) / 2

    def draw(
        self, n: int, rng: np.random.Generator, progress: Progress | None = None
    ) -> StateArray:
        """(n, nodes) states of independent rows, sampled exactly."""
        self._check_exact("Exact rows")
        steps = _backward_steps(self.layout, self.cells, self.elimination.order)
        rows = np.empty((n, self.graph.n_nodes), np.int16)
        for first in range(0, n, BLOCK):
            report(progress, first, n)
            block = rows[first : first + BLOCK]
            for node, given, cumulative in steps:
                bounds = cumulative[tuple(block[:, given].T)]
                block[:, node] = (rng.random(len(block))[:, None] >= bounds).sum(axis=1)
        return rows

    def _check_exact(self, what: str, times: int = 1) -> None:
        if self.is_exact and times * self.elimination.total_size <= MOST_WORK:
            return
        raise InferenceError(
            f"{what} would need tables of 2^{self.elimination.log2_largest:.0f} entries (treewidth "
            f"{self.elimination.treewidth}); use ",
            Remedy("call", "distances(), or sample()"),
            ".",
        )


def report(progress: Progress | None, done: int, total: int) -> None:
    """Report progress; the callback may raise to stop the work."""
    if progress is not None:
        progress(done, total)


def _backward_steps(
    layout: Layout, cells: FloatArray, order: IntArray
) -> list[tuple[int, list[int], FloatArray]]:
    """Eliminate the nodes; return their conditional distributions in sampling order."""
    # the node, those it depends on, and for their states (one axis per node) the cumulative
    # probabilities of its own states but the last
    Factor = tuple[list[int], FloatArray]  # log-potentials over some nodes, ascending
    edges = layout.graph.edges.tolist()
    factors: list[Factor] = [
        ([v], layout.node_table(cells, v)) for v in range(layout.graph.n_nodes)
    ]
    factors += [(ends, layout.edge_table(cells, k)) for k, ends in enumerate(edges)]
    steps = []
    for node in order.tolist():
        used = [factor for factor in factors if node in factor[0]]
        factors = [factor for factor in factors if node not in factor[0]]
        scope = sorted({other for nodes, _ in used for other in nodes})
        table: FloatArray = np.zeros((1,) * len(scope))
        for nodes, logs in used:
            size = dict(zip(nodes, logs.shape, strict=True))
            table = table + logs.reshape([size.get(other, 1) for other in scope])
        table = np.moveaxis(table, scope.index(node), -1)
        given = [other for other in scope if other != node]
        top = table.max(axis=-1, keepdims=True)
        weights = np.exp(table - top)
        total = weights.sum(axis=-1, keepdims=True)
        steps.append((node, given, (weights / total).cumsum(axis=-1)[..., :-1]))
        if given:
            factors.append((given, (top + np.log(total))[..., 0]))
    return steps[::-1]


# Gibbs sampling ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Convergence diagnostics of a Gibbs sampler: the worst over the columns and the energy.

    ``r_hat`` is split R-hat: above 1.05 the chains have not converged. ``autocorrelation`` is that
    of consecutive rows of a chain; ``burn_in`` and ``thinning`` count sweeps.
    """

    r_hat: float
    autocorrelation: float
    n_effective: float
    n_chains: int
    burn_in: int
    thinning: int

    @property
    def is_good(self) -> bool:
        return self.r_hat <= GOOD_R_HAT


@dataclass(frozen=True, slots=True, eq=False)
class GibbsRun:
    """Rows of a Gibbs sampler."""

    states: StateArray = field(repr=False)
    """(n, nodes) rows, chain after chain."""
    diagnostics: Diagnostics


def gibbs(
    law: DiscreteLaw,
    n: int,
    rng: np.random.Generator,
    *,
    n_chains: int = CHAINS,
    burn_in: int = BURN_IN,
    thinning: int = THINNING,
    progress: Progress | None = None,
) -> GibbsRun:
    """Sample ``n`` rows by Gibbs sampling, from chains that start in random states.

    Examples
    --------
    >>> ring = LatentGraph.build(list("abcd"), 0, [(0, 1), (1, 2), (2, 3), (0, 3)])
    >>> run = gibbs(DiscreteLaw.ising(ring, np.full(4, 0.3)), 4000, np.random.default_rng(0))
    >>> run.states.shape, run.diagnostics.is_good
    ((4000, 4), True)
    """
    size = law.graph.n_nodes
    network = law.layout.network(np.arange(size))
    states = rng.integers(law.n_states, size=(n_chains, size)).astype(np.int16)
    each = -(-n // n_chains)
    kept = np.empty((n_chains, each, size), np.int16)
    most = max(1, MOST_UNIFORMS // (n_chains * size))

    def sweeps(number: int) -> None:
        for done in range(0, number, most):
            uniform = rng.random((min(number - done, most), n_chains, size))
            _kernels.pairwise.sweep_nodes(network, law.cells, states, uniform)

    sweeps(burn_in)
    for row in range(each):
        report(progress, row, each)
        sweeps(thinning)
        kept[:, row] = states
    return GibbsRun(kept.reshape(-1, size)[:n], _diagnose(law, kept, burn_in, thinning))


def _diagnose(law: DiscreteLaw, kept: StateArray, burn_in: int, thinning: int) -> Diagnostics:
    n_chains, each, size = kept.shape
    level = energy(law, kept.reshape(-1, size)).reshape(n_chains, each)
    columns = np.moveaxis(kept[:, :, : law.graph.n_observed], 2, 0)
    r_hat, first, time = 0.0, -1.0, 1.0
    for trace in (level, *columns):
        numbers = trace.astype(np.float64)
        rho = autocorrelations(numbers)
        r_hat = max(r_hat, split_r_hat(numbers))
        first = max(first, float(rho[1]) if each > 1 else 0.0)
        time = max(time, _autocorrelation_time(rho))
    return Diagnostics(r_hat, first, level.size / time, n_chains, burn_in, thinning)


def _autocorrelation_time(rho: FloatArray) -> float:
    """Rows per independent row (Geyer): pairs of lags count while their sum is positive."""
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    kept = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    return 2 * float(pairs[:kept].sum()) - 1


def energy(law: DiscreteLaw, states: StateArray) -> FloatArray:
    """(rows,) the sum of the log-potentials of each row."""
    total = np.zeros(len(states))
    for node, first in enumerate(law.layout.node_cell.tolist()):
        total += law.cells[first + states[:, node]]
    for first, (u, v) in zip(law.layout.edge_cell, law.graph.edges, strict=True):
        total += law.cells[first + states[:, u].astype(np.int64) * law.n_states + states[:, v]]
    return total


def split_r_hat(traces: FloatArray) -> float:
    """Return R-hat of (chains, rows) traces, each chain split into halves."""
    half = traces.shape[1] // 2
    if half < 2:
        return np.inf
    halves = np.concatenate([traces[:, :half], traces[:, -half:]])
    within = float(halves.var(axis=1, ddof=1).mean())
    between = float(halves.mean(axis=1).var(ddof=1))
    if within == 0:
        return 1.0 if between == 0 else np.inf
    return float(np.sqrt((half - 1) / half + between / within))


def autocorrelations(traces: FloatArray) -> FloatArray:
    """(lags,) mean autocorrelation of (chains, rows) traces at lags 0, 1, ..., by FFT."""
    centred = traces - traces.mean(axis=1, keepdims=True)
    n = traces.shape[1]
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance: FloatArray = np.fft.irfft(spectrum, axis=1)[:, :n].mean(axis=0)
    constant = covariance[0] <= 0
    result: FloatArray = np.eye(1, n)[0] if constant else covariance / covariance[0]
    return result
