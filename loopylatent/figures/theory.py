"""What the theory asks for, as figures: rows along one number, and thresholds on their lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from loopylatent.figures import charts
from loopylatent.figures.charts import Part
from loopylatent.figures.labels import shown_label
from loopylatent.figures.network import ThemeName, colours_of
from loopylatent.settings import Thresholds
from loopylatent.theory.assumptions import Distortion
from loopylatent.theory.ensemble import Ensemble
from loopylatent.theory.tables import Axis, CurvePoint

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

TITLES: dict[Axis, str] = {
    "p": "p, the number of columns",
    "depth": "δ, the depth of hidden nodes",
    "eta": "η, how uneven the edges are",
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
) -> Figure:
    """Draw the rows that the theorems ask for, on a logarithmic scale.

    ``mark`` is where the model stands, ``found`` the rows with which the laboratory found it.
    """
    import plotly.graph_objects as go

    colours = colours_of(theme)
    x, girths = [one.x for one in points], [one.girth for one in points]
    lines: dict[str, tuple[Sequence[float | None], str, str]] = {
        "Theorem 2": ([one.theorem_2 for one in points], colours.observed, "solid"),
        "Theorem 1, up to a constant": ([one.theorem_1 for one in points], colours.hidden, "dash"),
        "Theorem 3: too few for anyone": (
            [one.theorem_3 for one in points],
            colours.groups[5],
            "dot",
        ),
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
        hover = "found with %{y:,.0f} rows<extra></extra>"
        star = charts.scatter("the laboratory found it", [mark], [found], "markers", marker=marker)
        drawn.append(star | {"hovertemplate": hover})
    logs = {"type": "log", "dtick": 1, "exponentformat": "none"}
    numbers = [n for trace in drawn for n in trace["y"] if n is not None]
    layout = charts.with_legend(colours, height, 70) | {
        "xaxis": charts.value_axis(colours, TITLES[axis]) | (logs if axis == "p" else {}),
        "yaxis": charts.value_axis(colours, "rows (n)") | {"type": "log"} | _row_ticks(numbers),
    }
    figure = go.Figure(drawn, layout)
    charts.draw_mark(figure, mark, colours)
    return figure


def _row_ticks(rows: Sequence[float]) -> Part:
    """At most about seven powers of ten; where there are few, also 2 and 5 times each."""
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
) -> Figure:
    """Draw, for the ball of every column, its distortion beside the inner paths that it shows.

    Below the line the ball looks like a tree; on it, as much like noise.
    """
    import plotly.graph_objects as go

    colours = colours_of(theme)
    most = 1.08 * max(float(bent.inner.max()), float(bent.median.max()), 1e-9)
    dashes = {"color": colours.edge, "width": 1.4, "dash": "dash"}
    name, ends = "as far from a tree as the inner path is long", [0, most]
    limit = charts.scatter(name, ends, ends, line=dashes, hoverinfo="skip")
    shown = [escape(shown_label(names[k])) for k in bent.columns.tolist()]
    balls = charts.scatter(
        "the ball of a column",
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
    return go.Figure([limit, balls], layout)


def threshold_figure(
    e: Ensemble,
    yours: Thresholds,
    r: float,
    *,
    theme: ThemeName = "light",
    height: int = 210,
) -> Figure:
    """Draw r, Λ and τ as you have them beside what the theory asks for, each on a line.

    The theory's margin is taken at ``r`` where your radius is not admissible.
    """
    import plotly.graph_objects as go

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
            "zerolinecolor": charts.faint(colours),
            "fixedrange": True,
            "tickfont": {"size": charts.FONT + 2, "color": colours.text},
        }
    return go.Figure(dots, layout | {"shapes": shapes})
