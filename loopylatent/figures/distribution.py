"""The values of one column, as bars."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from loopylatent.figures.charts import CLEAR
from loopylatent.figures.network import THEMES, ThemeName
from loopylatent.tables.observations import Observations

MOST_BARS = 20


@dataclass(frozen=True, slots=True)
class Bars:
    """How often each value, or each range of values, occurs."""

    labels: tuple[str, ...]
    shares: tuple[float, ...]


def value_counts(obs: Observations, name: str) -> Bars:
    """Count the values of a column; numbers are put into about twenty ranges."""
    at = obs.names.index(name)
    column = obs.columns[at]
    values = obs.dense()[:, at]
    present = np.isfinite(values)
    weights = None if obs.weights is None else obs.weights[present]
    values = values[present]
    levels, codes = np.unique(values, return_inverse=True)
    if column.states or len(levels) <= MOST_BARS:
        counts = np.bincount(codes, weights=weights)
        labels = [column.states[int(x)] if column.states else f"{x:g}" for x in levels]
    else:
        counts, bounds = np.histogram(values, bins=MOST_BARS, weights=weights)
        labels = [f"{a:.3g} to {b:.3g}" for a, b in pairwise(bounds)]
    shares = counts / max(float(counts.sum()), 1e-300)
    return Bars(tuple(labels), tuple(shares.tolist()))


def distribution_figure(bars: Bars, theme: ThemeName = "light") -> Any:
    """Draw the bars, small, for a side panel; values are data and are escaped."""
    import plotly.graph_objects as go

    colours = THEMES[theme]
    figure = go.Figure(
        go.Bar(
            x=list(range(len(bars.labels))),
            y=list(bars.shares),
            customdata=[escape(label) for label in bars.labels],
            hovertemplate="%{customdata}: %{y:.1%}<extra></extra>",
            marker_color=colours.observed,
        )
    )
    few = len(bars.labels) <= 8
    figure.update_layout(
        height=130,
        margin={"l": 0, "r": 0, "t": 4, "b": 0},
        bargap=0.15,
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        font={"color": colours.text, "size": 11},
        xaxis={
            "tickvals": list(range(len(bars.labels))) if few else [],
            "ticktext": [escape(label[:12]) for label in bars.labels] if few else [],
            "fixedrange": True,
        },
        yaxis={"visible": False, "fixedrange": True},
    )
    return figure
