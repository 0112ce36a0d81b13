"""The conditions of the paper's theorems (section 5), and the tree-likeness of distances.

Distances are the normalised ones. Three lines of the paper are corrected: the bound on r after (B3)
reads r < (g/4) d_min, the exponent under uniform sampling is 2 instead of 4, and zeta is C alpha^l
with an adjustable C. Asymptotic conditions (o(1), omega(1), Omega) have a value but no verdict.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np

from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.graph import LatentGraph
from loopylatent.settings import Thresholds
from loopylatent.synthetic.discrete import DiscreteLaw
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.theory.ensemble import Ensemble

Verdict = Literal["holds", "fails", "not decided"]


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of the paper, its value, and whether it holds."""

    name: str
    value: float
    verdict: Verdict
    sentence: str


def depth(graph: LatentGraph) -> float:
    """Return how many edges hidden nodes are from the columns that reveal them.

    A hidden node is revealed by four columns if it is an inner node of their tree: two in two
    different branches and two in a third. Its depth is the largest number of edges to such four
    columns, minimised over all choices. The depth of the graph is the largest over its hidden
    nodes: 1 without hidden nodes, infinite if a hidden node has no such four columns.

    Examples
    --------
    >>> from loopylatent.synthetic import latent_cycle
    >>> depth(latent_cycle(girth=10, leaves=2).graph)
    2
    """
    return max((_depth_of(graph, node) for node in graph.hidden_nodes), default=1)


def _depth_of(graph: LatentGraph, node: int) -> float:
    """Minimise over the branch that contains two of the four columns."""
    branches = _branches(graph, node)
    nearest = [steps[0] if steps else math.inf for steps in branches]
    found: float = math.inf
    for k, steps in enumerate(branches):
        others = sorted(nearest[:k] + nearest[k + 1 :])
        if len(steps) > 1 and len(others) > 1:
            found = min(found, max(steps[1], others[1]))
    return found


def _branches(graph: LatentGraph, node: int) -> list[list[int]]:
    """Numbers of edges to the columns, ascending, for each branch."""
    neighbours = graph.neighbours(node)
    branch = {node: -1} | {other: k for k, other in enumerate(neighbours)}
    found: list[list[int]] = [[] for _ in neighbours]
    queue = deque((other, 1) for other in neighbours)
    while queue:
        here, steps = queue.popleft()
        if here < graph.n_observed:
            found[branch[here]].append(steps)
        for other in graph.neighbours(here):
            if other not in branch:
                branch[other] = branch[here]
                queue.append((other, steps + 1))
    return found


def ensemble_of(model: SyntheticModel, decay_constant: float = 1.0) -> Ensemble:
    """Return the ensemble of a model with known graph and potentials.

    Examples
    --------
    >>> from loopylatent.synthetic import latent_cycle
    >>> e = ensemble_of(latent_cycle(girth=10, potentials=(0.05, 0.2)))
    >>> e.girth, e.depth, e.degree_max, e.theta_max <= 0.2
    (10.0, 2, 4, True)
    """
    graph = model.graph
    theta = np.abs(model.potentials)
    hidden = graph.degrees[graph.n_observed :]
    fewest = int(hidden.min() if hidden.size else graph.degrees.min())
    return Ensemble(
        float(theta.min()), float(theta.max()), fewest, int(graph.degrees.max()), graph.girth,
        depth(graph), graph.n_observed, graph.n_nodes, _largest_field(model), decay_constant,
    )  # fmt: skip


def _largest_field(model: SyntheticModel) -> float:
    """The largest atanh of a mean after replacing all potentials by their absolute values."""
    if model.law is None:
        return 0.0
    layout, cells = model.discrete.layout, model.discrete.cells
    fields = np.abs(cells[1 : 2 * model.graph.n_nodes : 2])
    attractive = DiscreteLaw.ising(layout.graph, np.abs(model.potentials), fields)
    on = attractive.marginals[1 : 2 * model.graph.n_nodes : 2]
    return float(np.arctanh(np.clip(2 * on - 1, -1 + 1e-12, 1 - 1e-12)).max())


def conditions(e: Ensemble, thresholds: Thresholds | None = None) -> tuple[Condition, ...]:
    """Return every condition with its value, verdict and meaning.

    Conditions that depend on r use the r of ``thresholds``, by default the best radius.
    """
    r = e.best_radius if thresholds is None else thresholds.r
    inside = e.radius
    interval = f"{inside.low:.3g} to {inside.high:.3g}"
    return (
        _condition("(A1), (B1) degree of hidden nodes", e.degree_min, e.degree_min >= 3,
            "Every hidden node has at least three neighbours, so it is identifiable.",
            "A hidden node has fewer than three neighbours, so it is not identifiable."),
        _condition("(A3) correlation decay, α = Δ tanh θ_max", e.alpha, e.alpha < 1,
            f"α is below 1: all potentials are below the critical {e.critical_potential:.3g}, so "
            "correlations decay with distance.",
            f"α is not below 1: the largest potential is not below the critical "
            f"{e.critical_potential:.3g}, so cycles can distort all distances."),
        Condition("(A3) α^(g/2) / θ_min^(η(η+1)+2)", e.decay, "not decided",
            "It must tend to 0 as the graph grows; if small, cycles hardly distort distances."),
        Condition("(A4) g/4 − δ η (η+1)", e.slack, "fails" if e.slack <= 0 else "not decided",
            "The cycles are too short for this depth of hidden nodes and these unequal edges."
            if e.slack <= 0 else
            "It must grow with the graph; for this graph it is positive, which is necessary."),
        _condition("(A4), (B3) radius r", r, r in inside,
            f"r is in the admissible interval, {interval}.",
            "No radius is admissible: the interval is empty."
            if inside.is_empty else
            f"r is outside the admissible interval, {interval}."),
        _condition("(B3) υ − |X|² ζ(g/2 − r/d_min − 1)", e.tolerance(r), e.tolerance(r) > 0,
            "The graph is still recovered if the errors of the distances are smaller than this.",
            "No error of the distances is tolerated; the theorem does not apply at this radius."),
        _condition("(B5) d_min/2 − |X|² ζ(g/2 − 1)", e.shortest_edge, e.shortest_edge > 0,
            "This τ separates true from spurious hidden nodes.",
            "No τ is guaranteed to separate true from spurious hidden nodes."),
    )  # fmt: skip


def _condition(name: str, value: float, holds: bool, yes: str, no: str) -> Condition:
    return Condition(name, float(value), "holds" if holds else "fails", yes if holds else no)


MAX_QUARTETS = 5_000
"""Per ball; beyond this, quartets are sampled uniformly."""


@dataclass(frozen=True, slots=True, eq=False)
class Distortion:
    """Distance of balls with at least four columns from a tree; compare with ``inner``."""

    columns: IntArray = field(repr=False)
    sizes: IntArray = field(repr=False)
    median: FloatArray = field(repr=False)
    largest: FloatArray = field(repr=False)
    inner: FloatArray = field(repr=False)
    n_quartets: int

    @property
    def typical(self) -> float:
        """The median over the balls; NaN if no ball has four columns."""
        return float(np.median(self.median)) if len(self.median) else float("nan")

    @property
    def typical_inner(self) -> float:
        return float(np.median(self.inner)) if len(self.inner) else float("nan")


def quartet_sums(distances: FloatArray, quartets: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the four-point distortion and inner path length of (k, 4) quartets."""
    i, j, k, m = np.asarray(quartets).T
    sums = np.sort(
        [
            distances[i, j] + distances[k, m],
            distances[i, k] + distances[j, m],
            distances[i, m] + distances[j, k],
        ],
        axis=0,
    )
    with np.errstate(invalid="ignore"):
        distortion = np.where(np.isfinite(sums[2]), sums[2] - sums[1], np.nan) / 2
        inner = np.where(np.isfinite(sums[1]), sums[1] - sums[0], np.nan) / 2
    return distortion, inner


def distortion(D: DistanceMatrix, r: float, *, seed: int = 0) -> Distortion:
    """Return the four-point distortion in the balls of radius r, over finite quartets."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int, float, float, float]] = []
    total = 0
    for column in range(D.n_columns):
        ball = np.flatnonzero(D.values[column] <= r)
        if len(ball) < 4:
            continue
        errors, inner_paths = quartet_sums(D.values, ball[_quartets(len(ball), rng)])
        finite = np.isfinite(errors)
        if not finite.any():
            continue
        errors = errors[finite]
        path = float(np.median(inner_paths[finite]))
        rows.append((column, len(ball), float(np.median(errors)), float(errors.max()), path))
        total += int(finite.sum())
    table = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    columns, sizes = (frozen_array(row, np.int64) for row in table[:2])
    median, largest, inner = (frozen_array(row, np.float64) for row in table[2:])
    return Distortion(columns, sizes, median, largest, inner, total)


def _quartets(size: int, rng: np.random.Generator) -> IntArray:
    """(k, 4) all quartets of ``size`` columns, or a uniform sample."""
    if comb(size, 4) <= MAX_QUARTETS:
        return np.array(list(combinations(range(size), 4)), dtype=np.int64)
    found = np.zeros((0, 4), np.int64)
    while len(found) < MAX_QUARTETS:
        drawn = np.sort(rng.integers(size, size=(MAX_QUARTETS, 4)), axis=1)
        found = np.concatenate([found, drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]])
    return found[:MAX_QUARTETS]
