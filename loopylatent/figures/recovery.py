"""Recovery of known graphs: true and learned graph, curves, and the requirements of the theory."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from loopylatent.compute.values import FloatArray
from loopylatent.figures import charts
from loopylatent.figures.charts import Part
from loopylatent.figures.layout import positions, shown_label
from loopylatent.figures.network import (
    LegendItem,
    ThemeName,
    colours_of,
    mixed,
    stretched,
    vis_edge,
    with_opacity,
)
from loopylatent.settings import Thresholds
from loopylatent.synthetic.laboratory import FALSE, MISSED, Comparison
from loopylatent.theory.assumptions import Distortion
from loopylatent.theory.ensemble import Ensemble
from loopylatent.theory.tables import Axis, CurvePoint

FALSE_EDGE, MISSED_EDGE = "#1683D8", "#D55E00"
"""Colours of false edges (only learned) and missed edges (only true)."""
SHADES: Mapping[ThemeName, tuple[str, str]] = {
    "light": ("#A9D6EE", "#00395C"),
    "dark": ("#2B6C99", "#D6EEFB"),
}
"""From the fewest to the most rows."""
SPARE = 22.0
"""Pixels by which an unmatched node is moved off the mean of its neighbours."""
CURVES = {"recall": "recall", "precision": "precision", "is_right": "exact recovery"}


def place_both(found: Comparison, aspect: float = 1.0) -> FloatArray:
    """Lay out the true graph, and place unmatched learned nodes among their neighbours."""
    n_true, both = found.truth.n_nodes, found.both
    place = np.full((both.n_nodes, 2), np.nan)
    place[:n_true] = stretched(positions(found.truth), aspect)
    pending = list(range(n_true, both.n_nodes))
    while pending:
        around = {h: [v for v in both.neighbours(h) if v not in pending] for h in pending}
        ready = [h for h in pending if around[h]] or pending
        for h in ready:
            middle = place[around[h]].mean(axis=0) if around[h] else place[:n_true].mean(axis=0)
            turn = 2.4 * (h - n_true)  # apart even if they have the same neighbours
            place[h] = middle + SPARE * np.array([np.cos(turn), np.sin(turn)])
        pending = [h for h in pending if h not in ready]
    return place


def mark_mistakes(edges: list[dict[str, Any]], status: NDArray[np.int64]) -> list[dict[str, Any]]:
    """Colour false and missed edges; missed ones are dashed."""
    looks: dict[int, dict[str, Any]] = {
        FALSE: {"color": vis_edge(FALSE_EDGE, opacity=1.0), "dashes": False},
        MISSED: {"color": vis_edge(MISSED_EDGE, opacity=1.0), "dashes": [6, 5]},
    }
    return [
        edge | looks.get(int(state), {}) | ({"width": max(edge.get("width", 2.0), 2.0)})
        for edge, state in zip(edges, status, strict=True)
    ]


def mistake_legend(which: Literal["truth", "learned"]) -> LegendItem:
    """Return the legend of false or missed edges."""
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
) -> charts.Figure:
    """Draw recall, precision and exact recovery from `laboratory.summary`, over rows or r."""
    colours = colours_of(theme)
    paints = dict(zip(CURVES, (colours.observed, colours.hidden, colours.groups[2]), strict=True))
    x = table[by].tolist()
    drawn = []
    unseen: Part = {"line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    for name in ("recall", "precision"):
        low, high = table[f"{name} min"].tolist(), table[f"{name} max"].tolist()
        fill = {"fill": "toself", "fillcolor": with_opacity(paints[name], 0.14)}
        drawn.append(charts.scatter(None, x + x[::-1], high + low[::-1], **fill, **unseen))
    for name, label in CURVES.items():
        dash = "dot" if name == "is_right" else "solid"
        line = {"color": paints[name], "width": 2.2, "dash": dash}
        looks: Part = {"line": line, "marker": {"size": 6}, "hovertemplate": "%{y:.0%}"}
        y = table[f"{name} mean"].tolist()
        drawn.append(charts.scatter(label, x, y, "lines+markers", **looks))
    logs = {"type": "log", "dtick": 1, "exponentformat": "none", "separatethousands": True}
    across = charts.value_axis(colours, "rows (n)" if by == "n" else "radius r")
    layout = charts.with_legend(colours, height, 60, hovermode="x unified") | {
        "xaxis": across | (logs if by == "n" else {}),
        "yaxis": charts.value_axis(colours, "share")
        | {"range": [-0.03, 1.05], "tickformat": ".0%"},
    }
    marks = [] if mark is None else [charts.mark_at(mark, colours)]
    return charts.figure_of(drawn, layout | {"shapes": marks})


def experiment_figure(
    table: pd.DataFrame, *, theme: ThemeName = "light", height: int = 430
) -> charts.Figure:
    """Draw the normalised BIC over r, one line per number of rows."""
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
    return charts.figure_of(drawn, layout)


def _place(where: float | str) -> str:
    if isinstance(where, str):
        return {"r_max": "tree (r max)"}.get(where, where)
    return f"r = {where:g}"


def shades(number: int, theme: ThemeName) -> list[str]:
    """Return colours from light to dark."""
    steps = np.linspace(0, 1, number) if number > 1 else np.ones(1)
    return [mixed(SHADES[theme][1], SHADES[theme][0], step) for step in steps.tolist()]


TITLES: dict[Axis, str] = {
    "p": "number of columns p",
    "depth": "depth δ of hidden nodes",
    "eta": "ratio η of longest to shortest edge",
}
_FEW_DECADES = 2.5


def bound_figure(
    points: Sequence[CurvePoint],
    axis: Axis,
    *,
    mark: float,
    found: float | None = None,
    theme: ThemeName = "light",
    height: int = 380,
) -> charts.Figure:
    """Draw the rows that the theorems require, and those that sufficed in the simulation."""
    colours = colours_of(theme)
    x, girths = [one.x for one in points], [one.girth for one in points]
    theorem_3 = [one.theorem_3 for one in points]
    lines: dict[str, tuple[Sequence[float | None], str, str]] = {
        "Theorem 2": ([one.theorem_2 for one in points], colours.observed, "solid"),
        "Theorem 1, up to a constant": ([one.theorem_1 for one in points], colours.hidden, "dash"),
        "Theorem 3: impossible with fewer": (theorem_3, colours.groups[5], "dot"),
    }
    drawn = []
    for name, (rows, paint, dash) in lines.items():
        shown = [None if n is None or not math.isfinite(n) or n <= 0 else n for n in rows]
        cycles = "<br>cycles of at least %{customdata:.0f} edges" if name == "Theorem 2" else ""
        hover = f"{name}<br>at %{{x:.4g}}: n = %{{y:.3g}}{cycles}<extra></extra>"
        line = {"color": paint, "width": 2.4, "dash": dash}
        more: Part = {"customdata": girths, "hovertemplate": hover}
        if any(n is not None for n in shown):
            drawn.append(charts.scatter(name, x, shown, line=line, **more))
    if found is not None:
        marker = {"symbol": "star", "size": 15, "color": colours.groups[2]}
        hover = "recovered with %{y:,.0f} rows<extra></extra>"
        star = charts.scatter("recovered in simulation", [mark], [found], "markers", marker=marker)
        drawn.append(star | {"hovertemplate": hover})
    logs = {"type": "log", "dtick": 1, "exponentformat": "none"}
    numbers = [n for trace in drawn for n in trace["y"] if n is not None]
    layout = charts.with_legend(colours, height, 70) | {
        "xaxis": charts.value_axis(colours, TITLES[axis]) | (logs if axis == "p" else {}),
        "yaxis": charts.value_axis(colours, "rows (n)") | {"type": "log"} | _row_ticks(numbers),
    }
    return charts.figure_of(drawn, layout | {"shapes": [charts.mark_at(mark, colours)]})


def _row_ticks(rows: Sequence[float]) -> Part:
    """Return ticks: about seven powers of ten; if there are few, also 2 and 5 times each."""
    span = math.log10(max(rows) / min(rows)) if rows else 1.0
    if not rows or span > _FEW_DECADES:
        return {"exponentformat": "power", "dtick": max(1, math.ceil(span / 7))}
    powers = range(math.floor(math.log10(min(rows))), math.ceil(math.log10(max(rows))) + 1)
    ticks = [times * 10.0**power for power in powers for times in (1, 2, 5)]
    return {"tickvals": ticks, "ticktext": [f"{tick:,.7g}" for tick in ticks]}


def distortion_figure(
    bent: Distortion,
    names: Sequence[str],
    *,
    theme: ThemeName = "light",
    height: int = 380,
) -> charts.Figure:
    """Draw the distortion of every ball against its inner paths."""
    colours = colours_of(theme)
    most = 1.08 * max(float(bent.inner.max()), float(bent.median.max()), 1e-9)
    dashes = {"color": colours.edge, "width": 1.4, "dash": "dash"}
    name, ends = "distortion = inner path", [0, most]
    limit = charts.scatter(name, ends, ends, line=dashes, hoverinfo="skip")
    shown = [escape(shown_label(names[k])) for k in bent.columns.tolist()]
    balls = charts.scatter(
        "ball of a column",
        bent.inner.tolist(),
        bent.median.tolist(),
        "markers",
        customdata=list(zip(shown, bent.sizes.tolist(), strict=True)),
        marker={"color": colours.observed, "size": 8, "opacity": 0.75},
        hovertemplate="%{customdata[0]}<br>%{customdata[1]} columns, distortion %{y:.3g}, inner "
        "path %{x:.3g}<extra></extra>",
    )
    from_0 = {"rangemode": "tozero"}
    layout = charts.with_legend(colours, height, 66) | {
        "xaxis": charts.value_axis(colours, "typical inner path of its quartets") | from_0,
        "yaxis": charts.value_axis(colours, "typical distortion") | from_0,
    }
    return charts.figure_of([limit, balls], layout)


def threshold_figure(
    e: Ensemble,
    yours: Thresholds,
    r: float,
    *,
    theme: ThemeName = "light",
    height: int = 210,
) -> charts.Figure:
    """Draw r, Λ and τ next to the theory's, whose margin is at ``r`` if yours is too large."""
    colours = colours_of(theme)
    inside = e.radius
    at = yours.r if yours.r in inside else r
    rows = {
        "r": (yours.r, None),
        "Λ": (yours.Lambda, e.margin(at)),
        "τ": (yours.tau, e.shortest_edge if e.shortest_edge > 0 else None),
    }
    layout = charts.with_legend(colours, height, 34)
    layout["margin"] |= {"t": 26, "b": 22}
    dots, shapes = [], []
    for k, (name, (mine, theirs)) in enumerate(rows.items(), start=1):
        number = "" if k == 1 else str(k)
        axes = {"xaxis": f"x{number}", "yaxis": f"y{number}"}
        looks = (("yours", mine, colours.observed, "circle"),
                 ("the theory", theirs, colours.hidden, "diamond"))  # fmt: skip
        for whose, value, paint, symbol in looks:
            known = value is not None and math.isfinite(value)
            marker = {"symbol": symbol, "size": 13, "color": paint}
            dot = charts.scatter(whose, [value if known else None], [0], "markers", marker=marker)
            hover = f"{whose}: %{{x:.4g}}<extra></extra>"
            dots.append(dot | axes | {"showlegend": k == 1, "hovertemplate": hover})
        high = max([mine, theirs or 0.0] + ([inside.low] if name == "r" else [])) * 1.15 or 1.0
        if name == "r" and not inside.is_empty:
            high = max(high, min(inside.high, 3 * inside.low) * 1.05)
            end = min(inside.high, high)
            shape = {"type": "rect", "xref": "x", "yref": "y", "x0": inside.low, "x1": end}
            look = {"fillcolor": colours.hidden, "opacity": 0.35, "line": {"width": 0}}
            shapes.append(shape | look | {"y0": -0.55, "y1": 0.55, "layer": "below"})
        across = {"range": [-0.03 * high, high], "anchor": axes["yaxis"], "nticks": 7}
        layout[f"xaxis{number}"] = charts.value_axis(colours) | across
        layout[f"yaxis{number}"] = {
            "domain": [(3 - k) * 0.375, (3 - k) * 0.375 + 0.25],
            "anchor": axes["xaxis"],
            "range": [-1, 1],
            "tickvals": [0],
            "ticktext": [f"<b>{name}</b>"],
            "showgrid": False,
            "zeroline": True,
            "zerolinecolor": charts.grid_colour(colours),
            "fixedrange": True,
            "tickfont": {"size": charts.FONT + 2, "color": colours.text},
        }
    return charts.figure_of(dots, layout | {"shapes": shapes})
