"""Plotly figures of the chapter on distances: the matrix, and two columns as points."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.labels import shown_label
from loopylatent.figures.looks import THEMES, ThemeName
from loopylatent.lesson.distances_chapter import Points

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
    colours, shades = THEMES[theme], SHADES[theme]
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
            xgap=1 if len(order) <= 40 else 0,
            ygap=1 if len(order) <= 40 else 0,
        )
    )
    ticks = {
        "tickvals": places if len(order) <= MOST_TICKS else [],
        "ticktext": names,
        "showgrid": False,
        "zeroline": False,
        "fixedrange": True,
    }
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 0, "t": 6, "b": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": colours.text, "size": 11},
        xaxis=ticks | {"tickangle": -90, "constrain": "domain"},
        yaxis=ticks | {"autorange": "reversed", "scaleanchor": "x", "constrain": "domain"},
    )
    return figure


def points_figure(
    points: Points, names: tuple[str, str], theme: ThemeName = "light", height: int = 300
) -> Any:
    """Draw two columns of numbers against each other."""
    import plotly.graph_objects as go

    colours = THEMES[theme]
    figure = go.Figure(
        go.Scattergl(
            x=points.x,
            y=points.y,
            mode="markers",
            marker={"size": 4, "color": colours.observed, "opacity": 0.45},
            hovertemplate="%{x:.4g}, %{y:.4g}<extra></extra>",
        )
    )
    x, y = (escape(shown_label(name, 30)) for name in names)
    axis = {"zeroline": False, "fixedrange": True, "gridcolor": "rgba(128,128,128,0.2)"}
    figure.update_layout(
        height=height,
        margin={"l": 0, "r": 0, "t": 6, "b": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"color": colours.text, "size": 11},
        xaxis=axis | {"title": x},
        yaxis=axis | {"title": y},
    )
    return figure
