"""Parametric bootstrap test for loops (not in the paper).

Sampling error alone can close loops. The number of loops is therefore compared with that of tables
of the same size, simulated from the tree learned at r_max.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import networkx as nx
import numpy as np

from loopylatent.compute.values import FloatArray, Progress, check_many, frozen_array
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.strengths import SMALLEST_STRENGTH
from loopylatent.errors import DataError, LoopyLatentError, Remedy
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import default_thresholds, loop_radius
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds

REAL = 0.05
"""Loops are called real up to this p-value."""
FEWEST_TO_DECIDE = round(1 / REAL) - 1
"""With fewer simulated tables no p-value can be as small as REAL."""
_RIDGE = 1e-9  # equal columns (distance 0) make the correlation matrix singular


@dataclass(frozen=True, slots=True)
class LoopTest:
    """The number of loops, compared with tables simulated from a tree."""

    n_loops: int
    """Independent cycles of the learned graph."""
    mean_by_noise: float
    """Mean over the simulated tables; NaN if all failed."""
    p_value: float
    """(1 + simulated tables with at least as many loops) / (1 + simulated tables)."""
    n_simulations: int
    n_failed: int
    """Simulated tables without a learned graph; they count as having as many loops."""

    @property
    def is_real(self) -> bool:
        return self.p_value <= REAL

    @property
    def n_as_many(self) -> int:
        """Simulated tables with at least as many loops."""
        return round(self.p_value * (self.n_simulations + 1)) - 1


@dataclass(frozen=True, slots=True)
class Opening:
    """The radius at which to open a data set, and why."""

    r: float
    test: LoopTest | None
    reason: str
    """One sentence, shown to the user."""


def loop_test(
    D: DistanceMatrix,
    r: float,
    *,
    n_simulations: int = 39,
    seed: int = 0,
    progress: Progress | None = None,
) -> LoopTest:
    """Test whether sampling error on a tree would give as many loops as there are at ``r``.

    Simulated tables are Gaussian, with correlation e^-(path length) and the median number of rows
    of a pair. Rare binary columns are noisier: do not trust the test on sparse binary data.
    """
    check_many("n_simulations", n_simulations, 1, ", such as 39")
    n_rows = _rows(D)
    settings = LearnSettings(default_thresholds(D), seed=seed)

    def still_at(done: int) -> Progress | None:
        """A callback for the learner, so that a long visit can be cancelled."""
        return None if progress is None else lambda *_: progress(done, n_simulations)

    begin = still_at(0)
    found = _loops(D, r, begin)
    tree = _forest(learn(D, settings, trace=False, progress=begin).graph)
    root = _root(tree)
    rng = np.random.default_rng(seed)
    counts: list[int] = []
    for done in range(n_simulations):
        simulated = replace(
            D, values=_simulated_distances(root, n_rows, rng), signs=None, pair_counts=None
        )
        try:
            counts.append(_loops(simulated, r, still_at(done)) if r >= simulated.smallest else 0)
        except LoopyLatentError:
            continue
    if progress is not None:
        progress(n_simulations, n_simulations)
    n_failed = n_simulations - len(counts)
    as_many = sum(count >= found for count in counts) + n_failed
    mean = float(np.mean(counts)) if counts else float("nan")
    return LoopTest(found, mean, (1 + as_many) / (1 + n_simulations), n_simulations, n_failed)


def opening_radius(
    D: DistanceMatrix, *, n_simulations: int = 39, seed: int = 0, progress: Progress | None = None
) -> Opening:
    """Return the radius of first loops if the test calls them real, else r_max (a tree)."""
    check_many("n_simulations", n_simulations, FEWEST_TO_DECIDE, ", such as 39")
    r, tree = loop_radius(D), f"Opened as a tree (r = {D.r_max:.3g})"
    if r >= D.r_max:
        reason = "the distances are too similar for loops at a smaller r."
        return Opening(D.r_max, None, f"{tree}: {reason}")
    if D.n_samples is None:
        reason = "the number of rows is unknown, so loops cannot be tested."
        return Opening(D.r_max, None, f"{tree}: {reason}")
    test = loop_test(D, r, n_simulations=n_simulations, seed=seed, progress=progress)
    if test.n_loops == 0:
        return Opening(D.r_max, test, f"{tree}: at r = {r:.3g} there are no loops.")
    if test.is_real:
        return Opening(r, test, f"Opened with loops (r = {r:.3g}): {_comparison(test)}.")
    reason = f"at r = {r:.3g} {_comparison(test)}, so sampling error can explain them."
    return Opening(D.r_max, test, f"{tree}: {reason}")


def _comparison(test: LoopTest) -> str:
    found = "there is 1 loop" if test.n_loops == 1 else f"there are {test.n_loops} loops"
    alike = f"{test.n_as_many or 'none'} of {test.n_simulations} tables simulated from a tree"
    verb = "has" if test.n_as_many == 1 else "have"
    return f"{found}, and {alike} {verb} as many (p = {test.p_value:.3g})"


def _rows(D: DistanceMatrix) -> int:
    """The number of rows, or its median over the pairs where values are missing."""
    if D.n_samples is None:
        raise DataError("The loop test needs the number of rows; ", Remedy("n_samples"), ".")
    return D.n_samples if D.pair_counts is None else int(np.median(D.pair_counts))


def _loops(D: DistanceMatrix, r: float, progress: Progress | None) -> int:
    """The number of independent cycles of the graph learned at ``r``."""
    default = default_thresholds(D)
    settings = LearnSettings(Thresholds(r, default.Lambda, default.tau))
    return learn(D, settings, trace=False, progress=progress).graph.n_cycles


def _forest(graph: LatentGraph) -> LatentGraph:
    """The minimum spanning forest: infinite distances can close loops even at r_max."""
    if graph.n_cycles == 0:
        return graph
    edges = nx.minimum_spanning_edges(graph.to_networkx(), weight="distance", data=True)
    kept = [(u, v, data["distance"]) for u, v, data in edges]
    ends, lengths = [(u, v) for u, v, _ in kept], [length for *_, length in kept]
    return LatentGraph.build(graph.names, graph.n_hidden, ends, lengths)


def _root(tree: LatentGraph) -> FloatArray:
    """(p, p) Cholesky factor of the correlations e^-(path length) of the columns."""
    p = tree.n_observed
    correlations = np.exp(-tree.path_lengths(range(p))[:, :p]) + _RIDGE * np.eye(p)
    return np.linalg.cholesky(correlations).astype(np.float64)


def _simulated_distances(root: FloatArray, n_rows: int, rng: np.random.Generator) -> FloatArray:
    """Distances between the columns of a Gaussian table of ``n_rows`` rows."""
    # drawing the scatter matrix (Wishart, Bartlett decomposition) is faster than drawing rows
    p, freedom = len(root), n_rows - 1
    if freedom >= p:
        standard = np.tril(rng.normal(size=(p, p)), -1)
        standard[np.diag_indices(p)] = np.sqrt(rng.chisquare(freedom - np.arange(p)))
    else:
        standard = rng.normal(size=(p, max(freedom, 2)))
    rows = root @ standard
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    strengths = np.clip(np.abs(rows @ rows.T), SMALLEST_STRENGTH, 1.0)
    values = -np.log((strengths + strengths.T) / 2)
    np.fill_diagonal(values, 0.0)
    return frozen_array(values, np.float64)
