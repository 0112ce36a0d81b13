"""How far distances are from those of a tree, quartet by quartet (the four-point condition).

Of four columns take the three sums d(i,j) + d(k,l). On a tree the two larger sums are equal, and
what they exceed the third by is twice the length of the inner path. Half of the difference of the
two larger ones is the distortion: 0 on trees, about the error of a distance on noisy ones. Cycles
bend distances of far columns, so it is looked at in neighbourhoods.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np

from loopylatent.compute.arrays import FloatArray, IntArray, frozen_array
from loopylatent.distances.matrix import DistanceMatrix

MOST_QUARTETS = 5_000
"""Of one neighbourhood; more are sampled evenly."""


@dataclass(frozen=True, slots=True, eq=False)
class Distortion:
    """How tree-like the balls of the columns are, for those with at least four columns.

    ``median`` and ``largest`` are distortions of the quartets in a ball; ``inner``, the median
    length of the inner path that they show, is what to hold them against.
    """

    columns: IntArray = field(repr=False)
    sizes: IntArray = field(repr=False)
    median: FloatArray = field(repr=False)
    largest: FloatArray = field(repr=False)
    inner: FloatArray = field(repr=False)
    n_quartets: int

    @property
    def typical(self) -> float:
        """The median over the neighbourhoods; NaN where there is none of four columns."""
        return float(np.median(self.median)) if len(self.median) else float("nan")

    @property
    def typical_inner(self) -> float:
        return float(np.median(self.inner)) if len(self.inner) else float("nan")


@dataclass(frozen=True, slots=True, eq=False)
class QuartetSums:
    """What quartets show: how far they are from a tree, and how long their inner path is."""

    distortion: FloatArray
    inner: FloatArray


def quartet_sums(distances: FloatArray, quartets: IntArray) -> QuartetSums:
    """Return distortion and inner length of (k, 4) quartets."""
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
    return QuartetSums(distortion, inner)


def distortion(D: DistanceMatrix, r: float, *, seed: int = 0) -> Distortion:
    """Return how far the balls of radius r are from trees.

    Quartets with an infinite distance are left out.
    """
    rng = np.random.default_rng(seed)
    rows: list[tuple[int, int, float, float, float]] = []
    total = 0
    for column in range(D.n_columns):
        ball = np.flatnonzero(D.values[column] <= r)
        if len(ball) < 4:
            continue
        sums = quartet_sums(D.values, ball[_quartets(len(ball), rng)])
        seen = np.isfinite(sums.distortion)
        if not seen.any():
            continue
        bent = sums.distortion[seen]
        path = float(np.median(sums.inner[seen]))
        rows.append((column, len(ball), float(np.median(bent)), float(bent.max()), path))
        total += int(seen.sum())
    table = np.array(rows, dtype=np.float64).reshape(-1, 5).T
    columns, sizes = (frozen_array(row, np.int64) for row in table[:2])
    median, largest, inner = (frozen_array(row, np.float64) for row in table[2:])
    return Distortion(columns, sizes, median, largest, inner, total)


def _quartets(size: int, rng: np.random.Generator) -> IntArray:
    """(k, 4) all quartets of some columns, or an even sample of them."""
    if comb(size, 4) <= MOST_QUARTETS:
        return np.array(list(combinations(range(size), 4)), dtype=np.int64)
    found = np.zeros((0, 4), np.int64)
    while len(found) < MOST_QUARTETS:
        drawn = np.sort(rng.integers(size, size=(MOST_QUARTETS, 4)), axis=1)
        found = np.concatenate([found, drawn[(np.diff(drawn, axis=1) > 0).all(axis=1)]])
    return found[:MOST_QUARTETS]
