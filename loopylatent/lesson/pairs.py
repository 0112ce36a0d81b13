"""The distance of two columns, from their rows to the number (section 3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from loopylatent.data import Observations
from loopylatent.distances import DistanceMatrix
from loopylatent.graph import LatentGraph

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MOST_STATES = 12
"""Columns with at most so many values are shown as a table of counts."""
MOST_POINTS = 1500
MOST_ORDERED = 300
"""Columns up to which the rows of the matrix are ordered as well as can be."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number on the way to the distance."""

    name: str
    value: float
    meaning: str

    @property
    def shown(self) -> str:
        """The number with four digits that mean something, so that they stand below each other.

        Examples
        --------
        >>> Quantity("rows", 5000.0, "").shown, Quantity("spread", 0.5, "").shown
        ('5,000', '0.5000')
        """
        if abs(self.value) >= 1000 or (self.value >= 1 and self.value.is_integer()):
            return f"{self.value:,.0f}"
        return f"{self.value:#.4g}"


@dataclass(frozen=True, slots=True, eq=False)
class CountTable:
    """How often each two values occur together."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    counts: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Points:
    """Some of the rows, as points."""

    x: FloatArray
    y: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PairView:
    """Two columns, and how their distance comes about."""

    names: tuple[str, str]
    distance: float
    strength: float
    metric: str
    table: CountTable | None
    points: Points | None
    quantities: tuple[Quantity, ...]


def pair_view(D: DistanceMatrix, obs: Observations | None, i: int, j: int) -> PairView:
    """Look at two columns by their numbers in the distance matrix."""
    distance = float(D.values[i, j])
    names = (D.names[i], D.names[j])
    strength = math.exp(-distance)
    if obs is None or D.metric == "given":
        return PairView(names, distance, strength, D.metric, None, None, ())
    rows = _Rows.of(obs, names, as_ranks=D.metric == "rank")
    table = rows.table()
    if D.metric.startswith("determinant") and table is not None:
        quantities = _determinants(table.counts, normalised=D.metric == "determinant")
    elif D.metric in ("correlation", "rank"):
        quantities = _moments(rows)
    else:
        meaning = "the largest correlation that weighting the values of each column can give"
        quantities = (Quantity("canonical correlation", strength, meaning),)
    points = None if table is not None else rows.points()
    return PairView(names, distance, strength, D.metric, table, points, quantities)


def closest_pair(D: DistanceMatrix) -> tuple[int, int]:
    """Return the two columns at the smallest distance.

    Examples
    --------
    >>> closest_pair(DistanceMatrix.from_array([[0, 1, 3], [1, 0, 0.5], [3, 0.5, 0]]))
    (1, 2)
    """
    masked = D.values + np.diag(np.full(D.n_columns, np.inf))
    i, j = divmod(int(masked.argmin()), D.n_columns)
    return min(i, j), max(i, j)


def heatmap_order(graph: LatentGraph) -> tuple[int, ...]:
    """Order the columns so that those near each other in the graph stand together.

    Examples
    --------
    >>> path = LatentGraph.build("abc", 0, [(0, 2), (1, 2)])
    >>> sorted(heatmap_order(path)), heatmap_order(path)[1]
    ([0, 1, 2], 2)
    """
    p = graph.n_observed
    lengths = graph.path_lengths(range(p))[:, :p]
    reach = lengths[np.isfinite(lengths)].max()
    lengths = np.where(np.isfinite(lengths), lengths, 2 * reach + 1)
    condensed = squareform((lengths + lengths.T) / 2, checks=False)
    tree = linkage(condensed, "average")
    if p <= MOST_ORDERED:
        tree = optimal_leaf_ordering(tree, condensed)
    return tuple(int(column) for column in leaves_list(tree))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """The rows in which both columns are present."""

    x: FloatArray
    y: FloatArray
    weights: FloatArray
    states: tuple[tuple[str, ...], tuple[str, ...]]

    @classmethod
    def of(cls, obs: Observations, names: tuple[str, str], *, as_ranks: bool) -> _Rows:
        at = [obs.names.index(name) for name in names]
        values = obs.dense()[:, at]
        states = (obs.columns[at[0]].states, obs.columns[at[1]].states)
        present = np.isfinite(values)
        weights = np.ones(len(values)) if obs.weights is None else np.asarray(obs.weights)
        if as_ranks:  # within a column, over all rows that have it
            for k in range(2):
                here = present[:, k]
                values[here, k] = _ranks(values[here, k], weights[here])
        both = present.all(axis=1)
        return cls(values[both, 0], values[both, 1], weights[both], states)

    def table(self) -> CountTable | None:
        """Counts of every two values, where there are few of them."""
        if any(len(states) > MOST_STATES for states in self.states):
            return None
        x, x_names = _levels(self.x, self.states[0])
        y, y_names = _levels(self.y, self.states[1])
        if max(len(x_names), len(y_names)) > MOST_STATES:
            return None
        counts = np.zeros((len(x_names), len(y_names)))
        np.add.at(counts, (x, y), self.weights)
        return CountTable(x_names, y_names, counts)

    def points(self) -> Points:
        """At most ``MOST_POINTS`` rows, evenly taken."""
        step = max(1, -(-len(self.x) // MOST_POINTS))
        return Points(self.x[::step], self.y[::step])


def _levels(values: FloatArray, states: tuple[str, ...]) -> tuple[IntArray, tuple[str, ...]]:
    """Number the values: by the states of the column, else by size."""
    if states:
        return values.astype(np.int64), states
    found, codes = np.unique(values, return_inverse=True)
    return codes.astype(np.int64), tuple(f"{value:g}" for value in found)


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Middle ranks: how much lies below a value, and half of what equals it."""
    _, level = np.unique(values, return_inverse=True)
    mass = np.bincount(level, weights)
    middle: FloatArray = (np.cumsum(mass) - mass / 2)[level]
    return middle


def _moments(rows: _Rows) -> tuple[Quantity, ...]:
    """Means, spreads, covariance and correlation."""
    w = rows.weights / rows.weights.sum()
    mean_x, mean_y = float(w @ rows.x), float(w @ rows.y)
    dx, dy = rows.x - mean_x, rows.y - mean_y
    sd_x, sd_y = math.sqrt(w @ dx**2), math.sqrt(w @ dy**2)
    covariance = float(w @ (dx * dy))
    rho = covariance / (sd_x * sd_y) if sd_x * sd_y > 0 else 0.0
    return (
        Quantity("rows", float(rows.weights.sum()), "in which both columns are present"),
        Quantity("mean of the first", mean_x, ""),
        Quantity("mean of the second", mean_y, ""),
        Quantity("spread of the first", sd_x, "standard deviation"),
        Quantity("spread of the second", sd_y, "standard deviation"),
        Quantity("covariance", covariance, "mean product of the deviations from the means"),
        Quantity("correlation ρ", rho, "covariance divided by both spreads"),
    )


def _determinants(counts: FloatArray, *, normalised: bool) -> tuple[Quantity, ...]:
    """Determinants of the joint table and of the two margins."""
    joint = counts / counts.sum()
    det = float(np.linalg.det(joint))
    parts = [
        Quantity("rows", float(counts.sum()), "in which both columns are present"),
        Quantity("det P(i,j)", det, "of the table of shares"),
    ]
    if normalised:
        det_i, det_j = float(joint.sum(axis=1).prod()), float(joint.sum(axis=0).prod())
        strength = abs(det) / math.sqrt(det_i * det_j) if det_i * det_j > 0 else 0.0
        parts += [
            Quantity("det P(i)", det_i, "product of the shares of the first column"),
            Quantity("det P(j)", det_j, "product of the shares of the second column"),
            Quantity("strength", strength, "|det P(i,j)| / √(det P(i) · det P(j))"),
        ]
    return tuple(parts)
