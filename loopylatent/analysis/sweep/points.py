"""Graphs at many thresholds; equal initial graphs are learned once (section 6.1 sweeps r)."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from loopylatent.compute.cache import ResultCache
from loopylatent.compute.values import Check, FloatArray, Progress, frozen_array
from loopylatent.compute.workers import OnThreads, Runner
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import EdgeDensity, default_thresholds, edge_density
from loopylatent.learning.learner import learn
from loopylatent.settings import READS, LearnSettings, Thresholds

MOST_RADII = 60
"""Default number of radii in a sweep: about as many as a plot can show."""


@dataclass(frozen=True, eq=False, repr=False)
class SweepPoint:
    """A setting and its learned graph."""

    settings: LearnSettings
    """Settings of the learner."""
    graph: LatentGraph
    """The learned graph."""
    n_initial_edges: int
    """Edges of the initial graph."""
    n_visits: int
    """Neighbourhoods that were grouped."""
    n_stuck: int
    """Visits that ended with no pair left to join; a larger Lambda leaves fewer."""
    n_capped: int
    """Visits to neighbourhoods so large that only the nearest outsiders were tested."""

    def __repr__(self) -> str:
        return f"SweepPoint({self.graph}, {self.thresholds.in_short})"

    @property
    def thresholds(self) -> Thresholds:
        return self.settings.thresholds

    @property
    def n_edges(self) -> int:
        return self.graph.n_edges

    @property
    def n_hidden(self) -> int:
        return self.graph.n_hidden

    @property
    def n_cycles(self) -> int:
        return self.graph.n_cycles

    @property
    def n_components(self) -> int:
        return self.graph.n_components

    @property
    def girth(self) -> float:
        return self.graph.girth


def radii(curve: EdgeDensity, most: int = MOST_RADII) -> FloatArray:
    """Return at most ``most`` radii, ascending: breakpoints from r_min to r_max, and r_max."""
    # thinned evenly on a scale that is half changes, half r: busy ranges get a finer grid, and
    # quiet ones are not left out
    if most < 2:
        raise ThresholdError(f"most = {most} is too few radii for a sweep; use at least 2.")
    D = curve.D
    inside = curve.r[(curve.r >= D.r_min) & (curve.r <= D.r_max)]
    if len(inside) == 0 or inside[0] > D.r_min:
        inside = np.concatenate([[D.r_min], inside])
    room = most - (inside[-1] < D.r_max)
    if len(inside) > room:
        scale = _scale(curve, inside)
        inside = inside[
            np.unique(np.searchsorted(scale, np.linspace(scale[0], scale[-1], int(room))))
        ]
    return frozen_array(np.unique(np.concatenate([inside, [D.r_max]])), np.float64)


def _scale(curve: EdgeDensity, r: FloatArray) -> FloatArray:
    """(radii,) from 0 to 1: the mean of the relative number of changes and the relative r."""
    bounds = np.sort(curve.intervals[:, 2:].ravel())
    changes = np.searchsorted(bounds, r, "right").astype(np.float64)
    parts = [(scale - scale[0]) / (scale[-1] - scale[0]) for scale in (changes, r)]
    position: FloatArray = (parts[0] + parts[1]) / 2
    return position


def holds_all(curve: EdgeDensity, chosen: FloatArray) -> bool:
    """Whether the radii include every breakpoint from r_min to r_max."""
    inside = curve.r[(curve.r >= curve.D.r_min) & (curve.r <= curve.D.r_max)]
    return bool(np.isin(inside, chosen).all())


def halving_order(n: int) -> tuple[int, ...]:
    """Return 0..n-1 by bisection (ends, middle, quarters, ...), so that the first few cover all."""
    order = [0, n - 1]
    spans = [(0, n - 1)]
    while spans:
        low, high = spans.pop(0)
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            spans += [(low, middle), (middle, high)]
    return tuple(dict.fromkeys(k for k in order if 0 <= k < n))


def along_r(settings: LearnSettings, values: Sequence[float] | FloatArray) -> list[LearnSettings]:
    """Return the settings with each of the radii."""
    fixed = settings.thresholds
    return [
        replace(settings, thresholds=Thresholds(float(r), fixed.Lambda, fixed.tau)) for r in values
    ]


def over_grid(
    settings: LearnSettings,
    Lambdas: Sequence[float] | FloatArray,
    taus: Sequence[float] | FloatArray,
) -> list[LearnSettings]:
    """Return the settings with each pair of Lambda and tau, at the same radius."""
    r = settings.thresholds.r
    return [
        replace(settings, thresholds=Thresholds(r, float(margin), float(tau)))
        for margin in Lambdas
        for tau in taus
    ]


MARGIN_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LENGTH_STEPS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def grid(D: DistanceMatrix) -> tuple[FloatArray, FloatArray]:
    """Return multiples of the default Lambda (0.02 if that is 0) and of the default tau."""
    default = default_thresholds(D)
    margins = (default.Lambda or 0.02) * np.array(MARGIN_STEPS)
    return (
        frozen_array(np.unique(np.minimum(margins, 0.99)), np.float64),
        frozen_array(np.unique(default.tau * np.array(LENGTH_STEPS)), np.float64),
    )


@dataclass(frozen=True, slots=True)
class PointKey:
    """Cache key of a point."""

    distances: str
    settings: LearnSettings


def iter_points(
    D: DistanceMatrix,
    settings: Sequence[LearnSettings],
    *,
    curve: EdgeDensity | None = None,
    known: ResultCache | None = None,
    progress: Progress | None = None,
    threads: int | None = None,
    run: Runner | None = None,
) -> Iterator[SweepPoint]:
    """Yield a point for each setting as soon as it is learned; cached in ``known``."""
    # one thread by default: learning holds the GIL most of the time
    where = run or OnThreads(threads)
    where = OnThreads(1) if where == OnThreads() else where
    curve = edge_density(D) if curve is None else curve
    known = ResultCache() if known is None else known
    starts: dict[Hashable, LatentGraph] = {}
    pending: dict[Hashable, list[LearnSettings]] = {}
    for one in dict.fromkeys(settings):
        point = known.get(PointKey(D.digest, one))
        if point is not None:
            yield point
            continue
        start = curve.graph_at(one.thresholds.r)
        key = ("learned", D.digest, start.digest, _without_r(one))
        point = known.get(key)
        if point is not None:
            yield _kept(known, D, replace(point, settings=one))
            continue
        starts.setdefault(key, start)
        pending.setdefault(key, []).append(one)
    keys = list(pending)
    tasks = [(pending[key][0], starts[key]) for key in keys]
    for k, point in where(_learned, D, tasks, progress):
        known.put(keys[k], point)
        for one in pending[keys[k]]:
            yield _kept(known, D, replace(point, settings=one))


def _without_r(settings: LearnSettings) -> LearnSettings:
    """Set r, and thresholds that the method ignores, to 0: equal settings give equal graphs."""
    own, read = settings.thresholds, READS[settings.method]
    Lambda, tau = (getattr(own, name) if name in read else 0.0 for name in ("Lambda", "tau"))
    return replace(settings, thresholds=Thresholds(0.0, Lambda, tau))


def _kept(known: ResultCache, D: DistanceMatrix, point: SweepPoint) -> SweepPoint:
    known.put(PointKey(D.digest, point.settings), point)
    return point


def _learned(
    D: DistanceMatrix, task: tuple[LearnSettings, LatentGraph], check: Check
) -> SweepPoint:
    settings, start = task
    found = learn(D, settings, start=start, trace=False, progress=check)
    sizes = (start.n_edges, found.n_visits, found.n_stuck, found.n_capped)
    return SweepPoint(settings, found.graph, *sizes)
