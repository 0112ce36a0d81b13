"""Graphs at many thresholds, each different initial graph learned once (section 6.1 sweeps r)."""

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
"""Radii of a sweep, where nothing else is wanted: about as many as a plot can show."""


@dataclass(frozen=True, eq=False, repr=False)
class SweepPoint:
    """A setting and the graph that it gives."""

    settings: LearnSettings
    """With which the graph was learned."""
    graph: LatentGraph
    """What was learned."""
    n_initial_edges: int
    """Of the union of the local trees."""
    n_visits: int
    """Neighbourhoods that were grouped."""
    n_stuck: int
    """Visits in which no pair could be joined any more; a larger Lambda leaves fewer."""
    n_capped: int
    """Visits to neighbourhoods so large that only the nearest outsiders were asked."""

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
    """Return the radii at which to look, ascending: breakpoints from r_min to r_max, and r_max."""
    # of too many those stay that lie evenly by changes and by r, half each: busy stretches are
    # looked at closely, and quiet ones are not left out
    if most < 2:
        raise ThresholdError(f"most = {most} is too few radii for a sweep; give at least 2.")
    D = curve.D
    inside = curve.r[(curve.r >= D.r_min) & (curve.r <= D.r_max)]
    if len(inside) == 0 or inside[0] > D.r_min:
        inside = np.concatenate([[D.r_min], inside])
    room = most - (inside[-1] < D.r_max)
    if len(inside) > room:
        scale = _scale(curve, inside)  # the kept ones lie evenly on it
        inside = inside[
            np.unique(np.searchsorted(scale, np.linspace(scale[0], scale[-1], int(room))))
        ]
    return frozen_array(np.unique(np.concatenate([inside, [D.r_max]])), np.float64)


def _scale(curve: EdgeDensity, r: FloatArray) -> FloatArray:
    """(radii,) from 0 to 1: the mean of the share of changes so far and of the way so far."""
    bounds = np.sort(curve.intervals[:, 2:].ravel())
    changes = np.searchsorted(bounds, r, "right").astype(np.float64)
    parts = [(scale - scale[0]) / (scale[-1] - scale[0]) for scale in (changes, r)]
    position: FloatArray = (parts[0] + parts[1]) / 2
    return position


def holds_all(curve: EdgeDensity, chosen: FloatArray) -> bool:
    """Whether the radii hold every breakpoint from r_min to r_max: then nothing happens between."""
    inside = curve.r[(curve.r >= curve.D.r_min) & (curve.r <= curve.D.r_max)]
    return bool(np.isin(inside, chosen).all())


def halving_order(n: int) -> tuple[int, ...]:
    """Return 0..n-1 so that the first few of them already cover the whole: ends, middle, ..."""
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
    """Return the settings with each pair of margin and shortest edge, at the same radius."""
    r = settings.thresholds.r
    return [
        replace(settings, thresholds=Thresholds(r, float(margin), float(tau)))
        for margin in Lambdas
        for tau in taus
    ]


MARGIN_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
LENGTH_STEPS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)


def grid(D: DistanceMatrix) -> tuple[FloatArray, FloatArray]:
    """Return multiples of the margin (of 0.02 where that is 0) and length of the default rule."""
    default = default_thresholds(D)
    margins = (default.Lambda or 0.02) * np.array(MARGIN_STEPS)
    return (
        frozen_array(np.unique(np.minimum(margins, 0.99)), np.float64),
        frozen_array(np.unique(default.tau * np.array(LENGTH_STEPS)), np.float64),
    )


@dataclass(frozen=True, slots=True)
class PointKey:
    """Under which a point is known."""

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
    """Yield what ``learn`` gives for each of the settings, as they are done; kept in ``known``."""
    # by default on one thread: learning is mostly Python, several would wait for each other
    where = run or OnThreads(threads)
    where = OnThreads(1) if where == OnThreads() else where
    curve = edge_density(D) if curve is None else curve
    known = ResultCache() if known is None else known
    starts: dict[Hashable, LatentGraph] = {}
    waiting: dict[Hashable, list[LearnSettings]] = {}
    for one in dict.fromkeys(settings):
        point = known.get(PointKey(D.digest, one))
        if point is not None:
            yield point
            continue
        start = curve.graph_at(one.thresholds.r)
        key = ("learned", D.digest, start.digest, _beside_start(one))
        point = known.get(key)
        if point is not None:
            yield _kept(known, D, replace(point, settings=one))
            continue
        starts.setdefault(key, start)
        waiting.setdefault(key, []).append(one)
    keys = list(waiting)
    pieces = [(waiting[key][0], starts[key]) for key in keys]
    for k, point in where(_learned, D, pieces, progress):
        known.put(keys[k], point)
        for one in waiting[keys[k]]:
            yield _kept(known, D, replace(point, settings=one))


def _beside_start(settings: LearnSettings) -> LearnSettings:
    """What, beside the initial graph, decides on the result: r and what is not read set to 0."""
    given, read = settings.thresholds, READS[settings.method]
    Lambda, tau = (getattr(given, name) if name in read else 0.0 for name in ("Lambda", "tau"))
    return replace(settings, thresholds=Thresholds(0.0, Lambda, tau))


def _kept(known: ResultCache, D: DistanceMatrix, point: SweepPoint) -> SweepPoint:
    known.put(PointKey(D.digest, point.settings), point)
    return point


def _learned(
    D: DistanceMatrix, piece: tuple[LearnSettings, LatentGraph], check: Check
) -> SweepPoint:
    settings, start = piece
    found = learn(D, settings, start=start, trace=False, progress=check)
    sizes = (start.n_edges, found.n_visits, found.n_stuck, found.n_capped)
    return SweepPoint(settings, found.graph, *sizes)
