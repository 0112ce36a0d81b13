"""The distance of two columns, from their rows to the number (section 3.1); and all distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from loopylatent.compute.values import FloatArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.layout import shown_label
from loopylatent.figures.network import THEMES, ThemeName
from loopylatent.graph import LatentGraph
from loopylatent.tables.observations import Observations

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
class PairView:
    """Two columns, and how their distance comes about."""

    names: tuple[str, str]
    distance: float
    table: pd.DataFrame | None = None
    """How often each two values occur together, where there are few of them."""
    points: FloatArray | None = None
    """(rows, 2) some of the rows, where there is no table."""
    quantities: tuple[Quantity, ...] = ()

    @property
    def strength(self) -> float:
        return math.exp(-self.distance)


def pair_view(D: DistanceMatrix, obs: Observations | None, i: int, j: int) -> PairView:
    """Look at two columns by their numbers in the distance matrix."""
    names, distance = (D.names[i], D.names[j]), float(D.values[i, j])
    if obs is None or D.metric == "given":
        return PairView(names, distance)
    at = [obs.names.index(name) for name in names]
    values = obs.dense()[:, at]
    present = np.isfinite(values)
    both = present.all(axis=1)
    weights = np.ones(len(values)) if obs.weights is None else np.asarray(obs.weights)
    table = _table(values[both], weights[both], [obs.columns[k].states for k in at])
    if D.metric == "rank":  # within a column, over all rows that have it
        for k, here in enumerate(present.T):
            values[here, k] = _ranks(values[here, k], weights[here])
    numbers = values[both]
    if D.metric.startswith("determinant") and table is not None:
        quantities = _determinants(table.to_numpy(), normalised=D.metric == "determinant")
    elif D.metric in ("correlation", "rank"):
        quantities = _moments(numbers, weights[both])
    else:
        meaning = "the largest correlation that weighting the values of each column can give"
        quantities = (Quantity("canonical correlation", math.exp(-distance), meaning),)
    step = max(1, -(-len(numbers) // MOST_POINTS))
    return PairView(names, distance, table, numbers[::step] if table is None else None, quantities)


def closest_pair(D: DistanceMatrix) -> tuple[int, int]:
    """Return the two columns at the smallest distance."""
    masked = D.values + np.diag(np.full(D.n_columns, np.inf))
    i, j = divmod(int(masked.argmin()), D.n_columns)
    return min(i, j), max(i, j)


def heatmap_order(graph: LatentGraph) -> tuple[int, ...]:
    """Order the columns so that those near each other in the graph stand together."""
    p = graph.n_observed
    lengths = graph.path_lengths(range(p))[:, :p]
    reach = lengths[np.isfinite(lengths)].max()
    lengths = np.where(np.isfinite(lengths), lengths, 2 * reach + 1)
    condensed = squareform((lengths + lengths.T) / 2, checks=False)
    tree = linkage(condensed, "average")
    if p <= MOST_ORDERED:
        tree = optimal_leaf_ordering(tree, condensed)
    return tuple(int(column) for column in leaves_list(tree))


def _table(
    values: FloatArray, weights: FloatArray, states: list[tuple[str, ...]]
) -> pd.DataFrame | None:
    """Count every two values: by the states of a column, else by size."""
    codes, levels = [], []
    for column, named in zip(values.T, states, strict=True):
        found, code = np.unique(column, return_inverse=True)
        codes.append(column.astype(np.int64) if named else code)
        levels.append(named or tuple(f"{value:g}" for value in found))
    if max(map(len, levels)) > MOST_STATES:
        return None
    counts = np.zeros((len(levels[0]), len(levels[1])))
    np.add.at(counts, tuple(codes), weights)
    return pd.DataFrame(counts, index=levels[0], columns=levels[1])


def _ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Middle ranks: how much lies below a value, and half of what equals it."""
    _, level = np.unique(values, return_inverse=True)
    mass = np.bincount(level, weights)
    middle: FloatArray = (np.cumsum(mass) - mass / 2)[level]
    return middle


def _moments(numbers: FloatArray, weights: FloatArray) -> tuple[Quantity, ...]:
    """Means, spreads, covariance and correlation."""
    w = weights / weights.sum()
    mean_x, mean_y = (w @ numbers).tolist()
    dx, dy = (numbers - (mean_x, mean_y)).T
    sd_x, sd_y = math.sqrt(w @ dx**2), math.sqrt(w @ dy**2)
    covariance = float(w @ (dx * dy))
    rho = covariance / (sd_x * sd_y) if sd_x * sd_y > 0 else 0.0
    return (
        Quantity("rows", float(weights.sum()), "in which both columns are present"),
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


# Figures -----------------------------------------------------------------------------------

MOST_TICKS = 60
"""Columns up to which each row of the matrix has its name beside it."""
SHADES = {
    "light": ["#0B3C5D", "#2C7FB8", "#A6CDE3", "#F4F7FA"],
    "dark": ["#BFE3F8", "#56B4E9", "#1F5C85", "#161C25"],
}
"""From near to far."""


def matrix_figure(
    D: DistanceMatrix, order: tuple[int, ...], theme: ThemeName = "light", height: int = 520
) -> Any:
    """Draw all distances, rows and columns in the given order; the nearer, the stronger."""
    import plotly.graph_objects as go

    index = np.asarray(order)
    values = D.values[index[:, None], index].copy()
    np.fill_diagonal(values, np.nan)
    values[~np.isfinite(values)] = np.nan
    names = [escape(shown_label(D.names[column], 18)) for column in order]
    places = list(range(len(order)))
    shades = SHADES[theme]
    steps = [k / (len(shades) - 1) for k in range(len(shades))]
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=places,
            y=places,
            text=[[f"{a} – {b}" for b in names] for a in names],
            hovertemplate="%{text}<br>distance %{z:.3f}<extra></extra>",
            colorscale=[list(pair) for pair in zip(steps, shades, strict=True)],
            colorbar={"title": {"text": "d", "side": "top"}, "thickness": 10, "outlinewidth": 0},
            **dict.fromkeys(("xgap", "ygap"), int(len(order) <= 40)),
        )
    )
    ticks = {"tickvals": places if len(order) <= MOST_TICKS else [], "ticktext": names}
    ticks |= {"showgrid": False, "zeroline": False, "fixedrange": True, "constrain": "domain"}
    return figure.update_layout(
        **_layout(theme, height),
        xaxis=ticks | {"tickangle": -90},
        yaxis=ticks | {"autorange": "reversed", "scaleanchor": "x"},
    )


def points_figure(
    points: FloatArray, names: tuple[str, str], theme: ThemeName = "light", height: int = 300
) -> Any:
    """Draw two columns of numbers against each other."""
    import plotly.graph_objects as go

    figure = go.Figure(
        go.Scattergl(
            x=points[:, 0],
            y=points[:, 1],
            mode="markers",
            marker={"size": 4, "color": THEMES[theme].observed, "opacity": 0.45},
            hovertemplate="%{x:.4g}, %{y:.4g}<extra></extra>",
        )
    )
    x, y = (escape(shown_label(name, 30)) for name in names)
    axis = {"zeroline": False, "fixedrange": True, "gridcolor": "rgba(128,128,128,0.2)"}
    return figure.update_layout(
        **_layout(theme, height), xaxis=axis | {"title": x}, yaxis=axis | {"title": y}
    )


def _layout(theme: ThemeName, height: int) -> dict[str, Any]:
    bare = dict.fromkeys(("paper_bgcolor", "plot_bgcolor"), "rgba(0,0,0,0)")
    font = {"color": THEMES[theme].text, "size": 11}
    return {"height": height, "margin": {"l": 0, "r": 0, "t": 6, "b": 0}, "font": font, **bare}
