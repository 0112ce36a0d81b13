"""What the theory asks for, as figures: rows along one number, and thresholds on their lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from loopylatent.figures.labels import shown_label
from loopylatent.figures.looks import Theme, ThemeName, colours_of
from loopylatent.figures.recovery import above, axis_of, draw_mark
from loopylatent.figures.sweep import FONT, faint, framed, quiet
from loopylatent.settings import Thresholds
from loopylatent.theory.additivity import Distortion
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
    figure = go.Figure(layout=framed(colours, height))
    lines: dict[str, tuple[Sequence[float | None], str, str]] = {
        "Theorem 2": ([one.theorem_2 for one in points], colours.observed, "solid"),
        "Theorem 1, up to a constant": ([one.theorem_1 for one in points], colours.hidden, "dash"),
        "Theorem 3: too few for anyone": (
            [one.theorem_3 for one in points],
            colours.groups[5],
            "dot",
        ),
    }
    for name, (rows, paint, dash) in lines.items():
        shown = [None if n is None or not math.isfinite(n) or n <= 0 else n for n in rows]
        if any(n is not None for n in shown):
            figure.add_trace(_line(name, points, shown, paint, dash))
    if found is not None:
        figure.add_trace(_star(mark, found, colours))
    figure.update_layout(
        margin={"t": 34, "l": 70},
        showlegend=True,
        legend=above(),
        hovermode="closest",
        xaxis=axis_of(colours, TITLES[axis])
        | ({"type": "log", "dtick": 1, "exponentformat": "none"} if axis == "p" else {}),
        yaxis=axis_of(colours, "rows (n)") | {"type": "log"} | _row_ticks(figure),
    )
    draw_mark(figure, mark, colours)
    return figure


def _row_ticks(figure: Figure) -> dict[str, Any]:
    """At most about seven powers of ten; where there are few, also 2 and 5 times each."""
    rows = [n for trace in figure.data for n in trace.y if n is not None]
    span = math.log10(max(rows) / min(rows)) if rows else 1.0
    if not rows or span > _FEW_DECADES:
        return {"exponentformat": "power", "dtick": max(1, math.ceil(span / 7))}
    powers = range(math.floor(math.log10(min(rows))), math.ceil(math.log10(max(rows))) + 1)
    ticks = [times * 10.0**power for power in powers for times in (1, 2, 5)]
    return {"tickvals": ticks, "ticktext": [f"{tick:,.7g}" for tick in ticks]}


def _line(
    name: str, points: Sequence[CurvePoint], rows: list[float | None], paint: str, dash: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines",
        "x": [one.x for one in points],
        "y": rows,
        "customdata": [one.girth for one in points],
        "line": {"color": paint, "width": 2.4, "dash": dash},
        "hovertemplate": f"{name}<br>at %{{x:.4g}}: n = %{{y:.3g}}"
        + ("<br>cycles of at least %{customdata:.0f} edges" if name == "Theorem 2" else "")
        + "<extra></extra>",
    }


def _star(x: float, n: float, colours: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "the laboratory found it",
        "mode": "markers",
        "x": [x],
        "y": [n],
        "marker": {"symbol": "star", "size": 15, "color": colours.groups[2]},
        "hovertemplate": "found with %{y:,.0f} rows<extra></extra>",
    }


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
    figure = go.Figure(layout=framed(colours, height))
    most = 1.08 * max(float(bent.inner.max()), float(bent.median.max()), 1e-9)
    figure.add_trace(
        {
            "type": "scatter",
            "name": "as far from a tree as the inner path is long",
            "mode": "lines",
            "x": [0, most],
            "y": [0, most],
            "line": {"color": colours.edge, "width": 1.4, "dash": "dash"},
            "hoverinfo": "skip",
        }
    )
    shown = [escape(shown_label(names[k])) for k in bent.columns.tolist()]
    figure.add_trace(
        {
            "type": "scatter",
            "name": "the ball of a column",
            "mode": "markers",
            "x": bent.inner.tolist(),
            "y": bent.median.tolist(),
            "customdata": list(zip(shown, bent.sizes.tolist(), strict=True)),
            "marker": {"color": colours.observed, "size": 8, "opacity": 0.75},
            "hovertemplate": (
                "%{customdata[0]}<br>%{customdata[1]} columns, distortion %{y:.3g}, inner path "
                "%{x:.3g}<extra></extra>"
            ),
        }
    )
    figure.update_layout(
        margin={"t": 34, "l": 66},
        showlegend=True,
        legend=above(),
        hovermode="closest",
        xaxis=axis_of(colours, "typical inner path of its quartets") | {"rangemode": "tozero"},
        yaxis=axis_of(colours, "typical distortion") | {"rangemode": "tozero"},
    )
    return figure


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
    figure = go.Figure(layout=framed(colours, height))
    inside = e.radius
    at = yours.r if yours.r in inside else r
    rows = {
        "r": (yours.r, None),
        "Λ": (yours.Lambda, e.margin(at)),
        "τ": (yours.tau, e.shortest_edge if e.shortest_edge > 0 else None),
    }
    for k, (name, (mine, theirs)) in enumerate(rows.items(), start=1):
        x = "x" if k == 1 else f"x{k}"
        y = "y" if k == 1 else f"y{k}"
        figure.add_trace(_dot("yours", mine, x, y, colours.observed, "circle", k == 1))
        figure.add_trace(_dot("the theory", theirs, x, y, colours.hidden, "diamond", k == 1))
        high = max([mine, theirs or 0.0] + ([inside.low] if name == "r" else [])) * 1.15 or 1.0
        if name == "r" and not inside.is_empty:
            high = max(high, min(inside.high, 3 * inside.low) * 1.05)
            end = min(inside.high, high)
            figure.add_shape(
                type="rect", xref=x, yref=y, x0=inside.low, x1=end, y0=-0.55, y1=0.55,
                fillcolor=colours.hidden, opacity=0.35, line_width=0, layer="below",
            )  # fmt: skip
        domain = [(3 - k) * 0.375, (3 - k) * 0.375 + 0.25]
        figure.update_layout(
            {
                f"xaxis{k if k > 1 else ''}": {
                    "range": [-0.03 * high, high],
                    "anchor": y,
                    "tickfont": quiet(colours),
                    "gridcolor": faint(colours),
                    "zeroline": False,
                    "fixedrange": True,
                    "nticks": 7,
                },
                f"yaxis{k if k > 1 else ''}": {
                    "domain": domain,
                    "anchor": x,
                    "range": [-1, 1],
                    "tickvals": [0],
                    "ticktext": [f"<b>{name}</b>"],
                    "showgrid": False,
                    "zeroline": True,
                    "zerolinecolor": faint(colours),
                    "fixedrange": True,
                    "tickfont": {"size": FONT + 2, "color": colours.text},
                },
            }
        )
    figure.update_layout(
        margin={"t": 26, "l": 34, "b": 22}, showlegend=True, legend=above(), hovermode="closest"
    )
    return figure


def _dot(
    name: str, value: float | None, x: str, y: str, paint: str, symbol: str, first: bool
) -> dict[str, Any]:
    known = value is not None and math.isfinite(value)
    return {
        "type": "scatter",
        "name": name,
        "mode": "markers",
        "x": [value] if known else [None],
        "y": [0],
        "xaxis": x,
        "yaxis": y,
        "showlegend": first,
        "marker": {"symbol": symbol, "size": 13, "color": paint},
        "hovertemplate": f"{name}: %{{x:.4g}}<extra></extra>",
    }
