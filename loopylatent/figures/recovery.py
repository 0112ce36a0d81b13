"""Truth beside learned, recovery curves, and the paper's experiment as figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.compute.arrays import FloatArray
from loopylatent.figures.layout import filling, positions
from loopylatent.figures.looks import LegendItem, Theme, ThemeName, colours_of
from loopylatent.figures.sweep import FONT, faint, framed, quiet
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
        FALSE: {"color": _paint(FALSE_EDGE), "dashes": False},
        MISSED: {"color": _paint(MISSED_EDGE), "dashes": [6, 5]},
    }
    return [
        edge | looks.get(int(state), {}) | ({"width": max(edge.get("width", 2.0), 2.0)})
        for edge, state in zip(edges, status, strict=True)
    ]


def _paint(colour: str) -> dict[str, Any]:
    return {"color": colour, "highlight": colour, "hover": colour, "opacity": 1.0}


def mistake_legend(which: Literal["truth", "learned"]) -> LegendItem:
    """Say what the colour of one of the two pictures means."""
    if which == "truth":
        return LegendItem("dashes", MISSED_EDGE, MISSED_EDGE, "missed")
    return LegendItem("line", FALSE_EDGE, FALSE_EDGE, "false")


def curve_colours(colours: Theme) -> dict[str, str]:
    """The colours of recall, precision and exact recovery."""
    return {
        "recall": colours.observed,
        "precision": colours.hidden,
        "is_right": colours.groups[2],
    }


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
    figure = go.Figure(layout=framed(colours, height))
    paints = curve_colours(colours)
    x = table[by].tolist()
    for name in ("recall", "precision"):
        figure.add_trace(_band(x, table, name, paints[name]))
    for name, label in CURVES.items():
        figure.add_trace(_line(x, table, name, label, paints[name]))
    figure.update_layout(
        margin={"t": 34, "l": 60},
        hovermode="x unified",
        showlegend=True,
        legend=above(),
        xaxis=axis_of(colours, "rows (n)" if by == "n" else "radius r")
        | ({"type": "log", "dtick": 1, "exponentformat": "none", "separatethousands": True}
           if by == "n" else {}),
        yaxis=axis_of(colours, "share") | {"range": [-0.03, 1.05], "tickformat": ".0%"},
    )  # fmt: skip
    if mark is not None:
        draw_mark(figure, mark, colours)
    return figure


def _band(x: list[Any], table: pd.DataFrame, name: str, paint: str) -> dict[str, Any]:
    low, high = table[f"{name} min"].tolist(), table[f"{name} max"].tolist()
    red, green, blue = (int(paint[k : k + 2], 16) for k in (1, 3, 5))
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [*x, *x[::-1]],
        "y": [*high, *low[::-1]],
        "fill": "toself",
        "fillcolor": f"rgba({red},{green},{blue},0.14)",
        "line": {"width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _line(x: list[Any], table: pd.DataFrame, name: str, label: str, paint: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": label,
        "mode": "lines+markers",
        "x": x,
        "y": table[f"{name} mean"].tolist(),
        "line": {"color": paint, "width": 2.2, "dash": "dot" if name == "is_right" else "solid"},
        "marker": {"size": 6},
        "hovertemplate": "%{y:.0%}",
    }


def experiment_figure(
    table: pd.DataFrame, *, theme: ThemeName = "light", height: int = 430
) -> Figure:
    """Draw the normalised BIC over r, a line for each number of rows."""
    import plotly.graph_objects as go

    colours = colours_of(theme)
    figure = go.Figure(layout=framed(colours, height))
    sizes = sorted(set(table["n"].tolist()))
    for shade, n in zip(shades(len(sizes), theme), sizes, strict=True):
        rows = table[table["n"] == n]
        figure.add_trace(
            {
                "type": "scatter",
                "name": f"{n:,} rows",
                "mode": "lines+markers",
                "x": [_place(where) for where in rows["where"]],
                "y": rows["bic"].tolist(),
                "customdata": rows[["hidden", "edges", "cycles"]].to_numpy().tolist(),
                "line": {"color": shade, "width": 2.2},
                "marker": {"size": 6},
                "hovertemplate": (
                    "%{x}: <b>%{y:.5f}</b><br>hidden %{customdata[0]:.1f}, edges "
                    "%{customdata[1]:.1f}, cycles %{customdata[2]:.1f}"
                ),
            }
        )
    order = list(dict.fromkeys(_place(where) for where in table.sort_values("n")["where"]))
    figure.update_layout(
        margin={"t": 34, "l": 66},
        showlegend=True,
        legend=above(),
        hovermode="closest",
        xaxis=axis_of(colours, "radius r, then the tree, then the true graph")
        | {"type": "category", "categoryorder": "array", "categoryarray": order},
        yaxis=axis_of(colours, "normalised BIC (higher is better)"),
    )
    return figure


def _place(where: float | str) -> str:
    if isinstance(where, str):
        return {"r_max": "tree (r max)"}.get(where, where)
    return f"r = {where:g}"


def shades(number: int, theme: ThemeName) -> list[str]:
    """Colours from a faint to a strong one."""
    ends = [[int(colour[k : k + 2], 16) for k in (1, 3, 5)] for colour in SHADES[theme]]
    steps = np.linspace(0, 1, number) if number > 1 else np.ones(1)
    mixed = [np.rint((1 - t) * np.array(ends[0]) + t * np.array(ends[1])) for t in steps]
    return ["#" + "".join(f"{int(part):02X}" for part in colour) for colour in mixed]


def above() -> dict[str, Any]:
    """A legend in one line above a figure."""
    return {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "bgcolor": "rgba(0,0,0,0)"}


def axis_of(colours: Theme, title: str) -> dict[str, Any]:
    """An axis with a title, as all figures of the laboratory have it."""
    return {
        "title": {"text": title, "standoff": 10, "font": {"size": FONT}},
        "tickfont": quiet(colours),
        "gridcolor": faint(colours),
        "zeroline": False,
        "fixedrange": True,
    }


def draw_mark(figure: Figure, x: float, colours: Theme) -> None:
    """A line where the page stands now."""
    figure.add_vline(x=x, line={"color": colours.text, "width": 1.2, "dash": "dash"}, opacity=0.6)
