"""Truth beside learned, recovery curves, and the paper's experiment as figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.compute.values import FloatArray
from loopylatent.figures import charts
from loopylatent.figures.charts import Part
from loopylatent.figures.layout import positions
from loopylatent.figures.network import (
    LegendItem,
    ThemeName,
    colours_of,
    filling,
    mixed,
    see_through,
    vis_edge,
)
from loopylatent.synthetic.laboratory import FALSE, MISSED, Comparison

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FALSE_EDGE, MISSED_EDGE = "#1683D8", "#D55E00"
"""Colours of edges that are only learned, and of those that are only true."""
SHADES: Mapping[ThemeName, tuple[str, str]] = {
    "light": ("#A9D6EE", "#00395C"),
    "dark": ("#2B6C99", "#D6EEFB"),
}
"""From the fewest to the most rows."""
SPARE = 22.0
"""Pixels by which a node that is placed between others is moved aside."""
CURVES = {"recall": "recall", "precision": "precision", "is_right": "exactly right"}


def place_both(found: Comparison, aspect: float = 1.0) -> FloatArray:
    """Place the nodes of both graphs: the true ones as in a picture of the truth alone.

    Learned hidden nodes that match no true one stand in the middle of their neighbours.
    """
    n_true, both = found.truth.n_nodes, found.both
    place = np.full((both.n_nodes, 2), np.nan)
    place[:n_true] = filling(positions(found.truth), aspect)
    waiting = list(range(n_true, both.n_nodes))
    while waiting:
        around = {h: [v for v in both.neighbours(h) if v not in waiting] for h in waiting}
        ready = [h for h in waiting if around[h]] or waiting
        for h in ready:
            middle = place[around[h]].mean(axis=0) if around[h] else place[:n_true].mean(axis=0)
            turn = 2.4 * (h - n_true)  # beside each other where they have the same neighbours
            place[h] = middle + SPARE * np.array([np.cos(turn), np.sin(turn)])
        waiting = [h for h in waiting if h not in ready]
    return place


def mark_mistakes(edges: list[dict[str, Any]], status: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Colour false edges, and colour and dash missed ones."""
    looks: dict[int, dict[str, Any]] = {
        FALSE: {"color": vis_edge(FALSE_EDGE, opacity=1.0), "dashes": False},
        MISSED: {"color": vis_edge(MISSED_EDGE, opacity=1.0), "dashes": [6, 5]},
    }
    return [
        edge | looks.get(int(state), {}) | ({"width": max(edge.get("width", 2.0), 2.0)})
        for edge, state in zip(edges, status, strict=True)
    ]


def mistake_legend(which: Literal["truth", "learned"]) -> LegendItem:
    """Say what the colour of one of the two pictures means."""
    if which == "truth":
        return LegendItem("dashes", MISSED_EDGE, MISSED_EDGE, "missed")
    return LegendItem("line", FALSE_EDGE, FALSE_EDGE, "false")


def recovery_figure(
    table: pd.DataFrame,
    by: Literal["n", "r"],
    *,
    mark: float | None = None,
    theme: ThemeName = "light",
    height: int = 430,
) -> Figure:
    """Draw recall, precision and the share of exact recoveries over rows or over r.

    ``table`` is as `laboratory.summary` gives it; the band goes from the worst to the best repeat.
    ``mark`` is where the page stands now.
    """
    import plotly.graph_objects as go

    colours = colours_of(theme)
    paints = dict(zip(CURVES, (colours.observed, colours.hidden, colours.groups[2]), strict=True))
    x = table[by].tolist()
    drawn = []
    for name in ("recall", "precision"):
        low, high = table[f"{name} min"].tolist(), table[f"{name} max"].tolist()
        fill = {"fill": "toself", "fillcolor": see_through(paints[name], 0.14)}
        unseen: Part = {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        band = charts.scatter(None, [*x, *x[::-1]], [*high, *low[::-1]], **fill, **unseen)
        drawn.append(band)
    for name, label in CURVES.items():
        dash = "dot" if name == "is_right" else "solid"
        looks = {"line": {"color": paints[name], "width": 2.2, "dash": dash}, "marker": {"size": 6}}
        y = table[f"{name} mean"].tolist()
        drawn.append(
            charts.scatter(label, x, y, "lines+markers", **looks, hovertemplate="%{y:.0%}")
        )
    logs = {"type": "log", "dtick": 1, "exponentformat": "none", "separatethousands": True}
    across = charts.value_axis(colours, "rows (n)" if by == "n" else "radius r")
    layout = charts.with_legend(colours, height, 60, hovermode="x unified") | {
        "xaxis": across | (logs if by == "n" else {}),
        "yaxis": charts.value_axis(colours, "share")
        | {"range": [-0.03, 1.05], "tickformat": ".0%"},
    }
    figure = go.Figure(drawn, layout)
    if mark is not None:
        charts.draw_mark(figure, mark, colours)
    return figure


def experiment_figure(
    table: pd.DataFrame, *, theme: ThemeName = "light", height: int = 430
) -> Figure:
    """Draw the normalised BIC over r, a line for each number of rows."""
    import plotly.graph_objects as go

    colours = colours_of(theme)
    sizes = sorted(set(table["n"].tolist()))
    hover = (
        "%{x}: <b>%{y:.5f}</b><br>hidden %{customdata[0]:.1f}, edges "
        "%{customdata[1]:.1f}, cycles %{customdata[2]:.1f}"
    )
    drawn = []
    for shade, n in zip(shades(len(sizes), theme), sizes, strict=True):
        rows = table[table["n"] == n]
        x, counts = [_place(where) for where in rows["where"]], rows[["hidden", "edges", "cycles"]]
        looks = {"line": {"color": shade, "width": 2.2}, "marker": {"size": 6}}
        more = {"customdata": counts.to_numpy().tolist(), "hovertemplate": hover}
        y = rows["bic"].tolist()
        drawn.append(charts.scatter(f"{n:,} rows", x, y, "lines+markers", **looks, **more))
    order = list(dict.fromkeys(_place(where) for where in table.sort_values("n")["where"]))
    layout = charts.with_legend(colours, height, 66) | {
        "xaxis": charts.value_axis(colours, "radius r, then the tree, then the true graph")
        | {"type": "category", "categoryorder": "array", "categoryarray": order},
        "yaxis": charts.value_axis(colours, "normalised BIC (higher is better)"),
    }
    return go.Figure(drawn, layout)


def _place(where: float | str) -> str:
    if isinstance(where, str):
        return {"r_max": "tree (r max)"}.get(where, where)
    return f"r = {where:g}"


def shades(number: int, theme: ThemeName) -> list[str]:
    """Colours from a faint to a strong one."""
    steps = np.linspace(0, 1, number) if number > 1 else np.ones(1)
    return [mixed(SHADES[theme][1], SHADES[theme][0], step) for step in steps.tolist()]
