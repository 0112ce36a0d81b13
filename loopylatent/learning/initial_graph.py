"""The initial graph: the union of the local minimum spanning trees (Algorithm 3, lines 1-4)."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute import _kernels
from loopylatent.compute.values import (
    FloatArray,
    IntArray,
    Progress,
    Shown,
    frozen_array,
)
from loopylatent.compute.workers import OnThreads, in_order
from loopylatent.distances.matrix import DistanceMatrix, check_is_distances
from loopylatent.distances.sparse import Distances, SparseDistances
from loopylatent.errors import Remedy, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.settings import LearnSettings, Method, Order, Thresholds

T = TypeVar("T")
Pairs = NDArray[np.int32]

PARALLEL_FROM = 200
"""With fewer sparse columns, threads are not faster."""
BLOCK = 32
"""Balls of sparse columns per task."""
PAIRS_AT_A_TIME = 5000
"""Between two reports of the exact curve, which can be stopped there."""


def initial_graph(D: Distances, r: float) -> LatentGraph:
    """Return the union of the local minimum spanning trees, one for the ball of each column.

    Parameters
    ----------
    D : DistanceMatrix
    r : float
        Radius of the balls.

    Returns
    -------
    LatentGraph

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    >>> initial_graph(D, 3.0).edges.tolist()
    [[0, 1], [1, 2]]
    """
    check_is_distances(D)
    check_radius(D, r)
    if isinstance(D, SparseDistances):
        return _initial_graph_from_lists(D, r)
    if r >= D.values.max():  # every ball holds all columns
        edges = _kernels.graphs.spanning_edges(D.values)
        return LatentGraph.build(D.names, 0, edges, D.values[edges[:, 0], edges[:, 1]])
    edges, lengths = _kernels.initial.local_trees_by_bits(D.values, ranked_pairs(D, r), r)
    edges.setflags(write=False)
    lengths.setflags(write=False)
    return LatentGraph(D.names, 0, edges, lengths)


class _Ranked(NamedTuple):
    """The pairs of columns at distances up to a radius, in order."""

    pairs: Pairs
    up_to: float


_ranked: WeakKeyDictionary[DistanceMatrix, _Ranked] = WeakKeyDictionary()


def ranked_pairs(D: DistanceMatrix, r: float) -> Pairs:
    """Return `rank_pairs` up to r or beyond; they are kept as long as ``D``.

    Pairs beyond the first radius are not sorted until a larger one is asked for.
    """
    known = _ranked.get(D)
    if known is None or not known.up_to >= r:
        up_to = r if known is None else np.inf
        pairs = _kernels.initial.rank_pairs(D.values, up_to)
        pairs.setflags(write=False)
        known = _ranked[D] = _Ranked(pairs, up_to)
    return known.pairs


def _initial_graph_from_lists(D: SparseDistances, r: float) -> LatentGraph:
    p = D.n_columns

    def edges_of(centres: IntArray) -> IntArray:
        u, v = _kernels.graphs.trees_from_lists(D.start, D.other, D.length, r, centres).T
        return np.unique(u * p + v)

    u, v = np.divmod(np.unique(np.concatenate(list(over_centres(edges_of, p)))), p)
    return LatentGraph.build(D.names, 0, np.column_stack([u, v]), D.listed(u, v))


def check_radius(D: Distances, r: float) -> None:
    """Raise an error if r is below the smallest distance or beyond the cut-off."""
    if isinstance(D, SparseDistances) and r > D.cutoff:
        raise ThresholdError(
            f"r = {r:.4g} is beyond the cut-off {D.cutoff:.4g} of the distances; use a smaller r, "
            "or ",
            Remedy("cutoff", f"{r:.4g}"),
            ".",
        )
    if r < D.smallest:
        raise ThresholdError(
            f"r = {r:.4g} is below the smallest distance, {D.smallest:.4g}, so no column has a "
            "neighbour; use at least ",
            Remedy("radius_from", f"{D.r_min:.4g}"),
            ", where every column has one.",
        )


@dataclass(frozen=True, eq=False, repr=False)
class EdgeDensity(Shown):
    """The initial graph as a function of r, exact at every r.

    Parameters
    ----------
    D : DistanceMatrix
    intervals : (k, 4) float64 array
        Rows (u, v, start, end): edge uv is present for start <= r < end. Sorted by edge; intervals
        of one edge are disjoint and not adjacent.

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    >>> edge_density(D)
    EdgeDensity(3 columns, edges change at 2 radii)
    """

    D: DistanceMatrix
    intervals: FloatArray

    @cached_property
    def r(self) -> FloatArray:
        """The breakpoints: radii, ascending, at which the set of edges changes."""
        bounds = self.intervals[:, 2:]
        return frozen_array(np.unique(bounds[np.isfinite(bounds)]), np.float64)

    @cached_property
    def n_edges(self) -> IntArray:
        """Number of edges from each breakpoint up to the next."""
        start, end = np.sort(self.intervals[:, 2]), np.sort(self.intervals[:, 3])
        present = np.searchsorted(start, self.r, "right") - np.searchsorted(end, self.r, "right")
        return frozen_array(present, np.int64)

    @cached_property
    def n_components(self) -> IntArray:
        """Number of connected components from each breakpoint up to the next.

        Columns at distance at most r share a ball and hence a tree, and every edge connects columns
        of one ball. The components are therefore those of the pairs at distance at most r: single
        linkage, so each edge of the global minimum spanning tree merges two at its length.
        """
        joined = np.searchsorted(_kernels.graphs.spanning_lengths(self.D.values), self.r, "right")
        return frozen_array(self.D.n_columns - joined, np.int64)

    @cached_property
    def n_cycles(self) -> IntArray:
        """Number of independent cycles: edges - columns + components."""
        return frozen_array(self.n_edges - self.D.n_columns + self.n_components, np.int64)

    def __repr__(self) -> str:
        return f"EdgeDensity({self.D.n_columns} columns, edges change at {len(self.r)} radii)"

    def at(self, r: float) -> int:
        """Return the number of edges at radius ``r``."""
        k = int(np.searchsorted(self.r, r, "right")) - 1
        return int(self.n_edges[k]) if k >= 0 else 0

    def next_change(self, r: float, direction: Literal[1, -1]) -> float | None:
        """Return the nearest breakpoint above (1) or below (-1) ``r``, None beyond the last.

        Examples
        --------
        >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
        >>> curve = edge_density(D)
        >>> curve.next_change(1.0, 1), curve.next_change(2.7, -1), curve.next_change(2.5, 1)
        (2.5, 2.5, None)
        """
        if direction not in (1, -1):
            raise ThresholdError(f"direction = {direction!r} must be 1 (above) or -1 (below).")
        above = direction == 1
        k = (
            int(np.searchsorted(self.r, r, "right"))
            if above
            else int(np.searchsorted(self.r, r)) - 1
        )
        return float(self.r[k]) if 0 <= k < len(self.r) else None

    def graph_at(self, r: float) -> LatentGraph:
        """Return the initial graph at radius ``r``, the same as `initial_graph`."""
        check_radius(self.D, r)
        here = (self.intervals[:, 2] <= r) & (r < self.intervals[:, 3])
        edges = self.intervals[here, :2].astype(np.int64)
        return LatentGraph.build(self.D.names, 0, edges, self.D.values[edges[:, 0], edges[:, 1]])


def edge_density(D: DistanceMatrix) -> EdgeDensity:
    """Return the initial graph at every r, exactly.

    Parameters
    ----------
    D : DistanceMatrix

    Returns
    -------
    EdgeDensity

    Examples
    --------
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    >>> curve = edge_density(D)
    >>> curve.r.tolist(), curve.n_edges.tolist()
    ([1.0, 2.5], [1, 2])
    >>> curve.at(0.5), curve.at(1.0), curve.at(99)
    (0, 1, 2)
    >>> curve.n_components.tolist(), curve.n_cycles.tolist()
    ([2, 1], [0, 0])
    """
    check_is_distances(D)
    return curve_with_progress(D, lambda *_: None)


def over_centres(work: Callable[[IntArray], T], p: int) -> Iterator[T]:
    """Distribute the balls over threads; results are yielded in order, few are kept waiting."""
    if p < PARALLEL_FROM:
        yield work(np.arange(p))
        return
    blocks = np.array_split(np.arange(p), max(4 * (os.cpu_count() or 1), p // BLOCK))
    yield from in_order(OnThreads()(lambda _, block, __: work(block), None, blocks, ahead=p))


def curve_with_progress(D: DistanceMatrix, progress: Progress) -> EdgeDensity:
    """`edge_density`; ``progress`` is called with the share done, in columns, and may raise."""
    p, pairs = D.n_columns, ranked_pairs(D, np.inf)
    above, nearest = np.full((p, p), -1, np.int32), np.empty((p, p), np.int32)
    n_near, joined = np.zeros(p, np.int64), np.zeros((p, p), np.bool_)
    found = [np.empty((0, 4))]
    for first in range(0, len(pairs), PAIRS_AT_A_TIME):
        progress(p * first // len(pairs), p)
        some = pairs[first : first + PAIRS_AT_A_TIME]
        found.append(
            _kernels.initial.curve_by_pairs(D.values, some, above, nearest, n_near, joined)
        )
    rows = np.concatenate(found)
    order = np.argsort(rows[:, 0] * p + rows[:, 1], kind="stable")
    curve = EdgeDensity(D, frozen_array(rows[order], np.float64))
    progress(p, p)
    return curve


def default_thresholds(D: Distances) -> Thresholds:
    """Return default thresholds.

    r is r_max (a tree), Lambda 0.5 / sqrt(n), or 0 if the number of rows n is unknown, and tau 0.2
    times the median edge length of the global minimum spanning tree. Sparse distances end before
    r_max; their r is the 95 % quantile of the distances to the nearest neighbour.

    Parameters
    ----------
    D : DistanceMatrix

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 1, 5], [1, 0, 4], [5, 4, 0]], n_samples=100)
    >>> default_thresholds(D)
    Thresholds(r=5.0, Lambda=0.05, tau=0.5)
    """
    check_is_distances(D)
    Lambda = 0.0 if D.n_samples is None else 0.5 / math.sqrt(D.n_samples)
    r = float(np.quantile(D.nearest, 0.95)) if isinstance(D, SparseDistances) else D.r_max
    return Thresholds(r, Lambda, 0.2 * float(np.median(_spanning_lengths(D))))


def settings_for(
    D: Distances,
    r: float | None = None,
    Lambda: float | None = None,
    tau: float | None = None,
    *,
    method: Method = "quartet",
    order: Order = "degree",
    seed: int = 0,
) -> LearnSettings:
    """Return complete settings, with default thresholds where none are given.

    Parameters
    ----------
    D : DistanceMatrix
    r, Lambda, tau : float, optional
    method, order, seed
        As in `learn`.

    Returns
    -------
    LearnSettings

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 2, 2.2], [2, 0, 2.4], [2.2, 2.4, 0]], n_samples=100)
    >>> settings_for(D, tau=0.2).thresholds
    Thresholds(r=2.4, Lambda=0.05, tau=0.2)
    """
    default = default_thresholds(D)
    thresholds = Thresholds(
        default.r if r is None else r,
        default.Lambda if Lambda is None else Lambda,
        default.tau if tau is None else tau,
    )
    return LearnSettings(thresholds, method, order, seed)


def loop_radius(D: Distances) -> float:
    """Return the radius of first loops: at it and below, true loops appear.

    It is 1.5 times the longest edge of the global minimum spanning tree, clipped to [r_min, r_max].

    Parameters
    ----------
    D : DistanceMatrix

    Examples
    --------
    >>> import loopylatent as ll
    >>> D = ll.DistanceMatrix.from_array([[0, 1, 5], [1, 0, 2], [5, 2, 0]])
    >>> loop_radius(D)
    3.0
    """
    return float(np.clip(1.5 * _spanning_lengths(D).max(), D.r_min, D.r_max))


def _spanning_lengths(D: Distances) -> FloatArray:
    if isinstance(D, SparseDistances):
        return D.spanning_lengths
    return _kernels.graphs.spanning_lengths(D.values)
