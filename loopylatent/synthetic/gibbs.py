"""Gibbs sampling where exact rows are out of reach, and how far its rows can be trusted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from loopylatent.compute import _kernels
from loopylatent.compute.arrays import FloatArray, Progress, StateArray
from loopylatent.synthetic.discrete import DiscreteLaw, report

CHAINS = 8
BURN_IN = 500
"""Sweeps over all nodes before the first row of a chain is kept."""
THINNING = 10
"""Sweeps between two rows of a chain."""
MOST_UNIFORMS = 2**21
"""Random numbers drawn at a time."""
GOOD_R_HAT = 1.05


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Whether chains of a Gibbs sampler tell the same story, at the worst of columns and energy.

    ``r_hat`` is split R-hat: above 1.05 the rows are not to be trusted. ``autocorrelation`` is that
    of two rows that follow each other in a chain; ``burn_in`` and ``thinning`` count sweeps.
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
    """(n, nodes) rows of the first chain, then those of the second, and so on."""
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
    """Draw ``n`` rows by Gibbs sampling, from chains that begin in random states.

    Examples
    --------
    >>> from loopylatent.graph import LatentGraph
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
            _kernels.gibbs.sweep_nodes(network, law.cells, states, uniform)

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
    r_hat, first, slowness = 0.0, -1.0, 1.0
    for trace in (level, *columns):
        numbers = trace.astype(np.float64)
        rho = autocorrelations(numbers)
        r_hat = max(r_hat, split_r_hat(numbers))
        first = max(first, float(rho[1]) if each > 1 else 0.0)
        slowness = max(slowness, _slowness(rho))
    return Diagnostics(r_hat, first, level.size / slowness, n_chains, burn_in, thinning)


def _slowness(rho: FloatArray) -> float:
    """Rows that are worth one independent row: 1 + 2 times the sum of the autocorrelations.

    Pairs of neighbouring lags sum to more than 0 until only noise is left (Geyer).
    """
    pairs = rho[: len(rho) // 2 * 2].reshape(-1, 2).sum(axis=1)
    kept = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    return 2 * float(pairs[:kept].sum()) - 1


def energy(law: DiscreteLaw, states: StateArray) -> FloatArray:
    """(rows,) the sum of the log-potentials of whole rows."""
    total = np.zeros(len(states))
    for node, first in enumerate(law.layout.node_cell.tolist()):
        total += law.cells[first + states[:, node]]
    for first, (u, v) in zip(law.layout.edge_cell, law.graph.edges, strict=True):
        total += law.cells[first + states[:, u].astype(np.int64) * law.n_states + states[:, v]]
    return total


def split_r_hat(traces: FloatArray) -> float:
    """Return R-hat of (chains, rows) traces, each chain cut into halves."""
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
    """(lags,) mean autocorrelation of (chains, rows) traces at lags 0, 1, ..., by Fourier."""
    centred = traces - traces.mean(axis=1, keepdims=True)
    n = traces.shape[1]
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance: FloatArray = np.fft.irfft(spectrum, axis=1)[:, :n].mean(axis=0)
    constant = covariance[0] <= 0
    result: FloatArray = np.eye(1, n)[0] if constant else covariance / covariance[0]
    return result
