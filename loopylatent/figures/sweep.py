"""A sweep along r as a plotly figure: structure above, scores below.

A sweep over Lambda and tau as a plotly figure: one measure, a cell for each pair.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.analysis.sweep.scores import Failed, PointScores, Scored
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.looks import FACE, Theme, ThemeName, colours_of
from loopylatent.settings import LearnSettings, Thresholds

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FONT = 12
CLEAR = "rgba(0,0,0,0)"
STRUCTURE = {"edges": "n_edges", "hidden": "n_hidden", "cycles": "n_cycles"}
LINES = {"unseen rows": "test_row", "BIC": "bic_row", "training rows": "train_row"}
"""The lines of scores: all are log-likelihoods of one row, so that they share an axis."""
SCORE_NOTE = "log-likelihood a row, higher is better"
_TOP, _BOTTOM, _LEFT, _RIGHT = 48, 46, 52, 16


def structure_colours(colours: Theme) -> dict[str, str]:
    """The colours of edges, hidden nodes and cycles, the same in all pictures."""
    return {"edges": colours.observed, "hidden": colours.hidden, "cycles": colours.groups[5]}


def score_colours(colours: Theme) -> dict[str, str]:
    """The colours of the scores."""
    return {
        "unseen rows": colours.groups[2],
        "BIC": colours.groups[3],
        "training rows": colours.edge,
    }


def sweep_figure(
    points: Sequence[SweepPoint],
    scores: Sequence[Scored],
    *,
    r: float,
    D: DistanceMatrix,
    theme: ThemeName = "light",
    height: int = 460,
    stepwise: bool = True,
) -> Figure:
    """Draw edges, hidden nodes and cycles of the learned graph along r, scores below them.

    ``stepwise`` says that nothing happens between the points. All traces have the radius as x.
    """
    # plotly takes long to import: only where it is needed
    import plotly.graph_objects as go

    colours = colours_of(theme)
    ordered = sorted(points, key=lambda point: point.thresholds.r)
    fitted = _fitted(scores)
    both = bool(fitted)
    figure = go.Figure(layout=framed(colours, height) | _panels(colours, D, r, both))
    figure.update_layout(uirevision=D.digest)
    _shade_noise(figure, D, colours)
    for name, paint in structure_colours(colours).items():
        figure.add_trace(_line(name, ordered, paint, D, stepwise))
    if ordered:
        figure.add_trace(_targets(ordered))
    if both:
        for name, paint in score_colours(colours).items():
            figure.add_trace(_score_line(name, fitted, paint, colours))
        _headline(figure, score_colours(colours), 0.41, SCORE_NOTE, colours)
    _headline(figure, structure_colours(colours), 1.0, "of the learned graph", colours)
    mark_radii(figure, D)
    draw_current(figure, r, colours)
    return figure


def _fitted(scores: Sequence[Scored]) -> list[PointScores]:
    found = [one for one in scores if not isinstance(one, Failed)]
    return sorted(found, key=lambda one: one.settings.thresholds.r)


def _line(
    name: str, points: Sequence[SweepPoint], paint: str, D: DistanceMatrix, stepwise: bool
) -> dict[str, Any]:
    x = [point.thresholds.r for point in points]
    y = [getattr(point, STRUCTURE[name]) for point in points]
    if points:  # the last graph holds on
        x, y = [*x, max(x[-1], D.r_max) * 1.02], [*y, y[-1]]
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines" if stepwise else "lines+markers",
        "x": x,
        "y": y,
        "line": {
            "shape": "hv" if stepwise else "linear",
            "color": paint,
            "width": 2.4 if name == "edges" else 1.8,
        },
        "marker": {"size": 4},
        "unselected": {"marker": {"opacity": 1}},
        "hoverinfo": "skip",
    }


def _targets(points: Sequence[SweepPoint]) -> dict[str, Any]:
    """Points that are not seen but can be pointed at and clicked."""
    unseen = {"marker": {"opacity": 0}}
    rows = [
        (
            point.n_edges,
            point.n_hidden,
            point.n_cycles,
            "–" if math.isinf(point.girth) else f"{point.girth:.0f}",
            point.n_components,
            f"{point.n_stuck} of {point.n_visits}",
        )
        for point in points
    ]
    return {
        "type": "scatter",
        "name": "settings",
        "mode": "markers",
        "x": [point.thresholds.r for point in points],
        "y": [point.n_edges for point in points],
        "customdata": rows,
        "marker": {"opacity": 0, "size": 9},
        "selected": unseen,
        "unselected": unseen,
        "hovertemplate": (
            "<b>r = %{x:.4f}</b><br>edges %{customdata[0]}<br>hidden nodes %{customdata[1]}<br>"
            "cycles %{customdata[2]}, shortest %{customdata[3]}<br>pieces %{customdata[4]}<br>"
            "stuck visits %{customdata[5]}<extra></extra>"
        ),
    }


def _score_line(
    name: str, fitted: Sequence[PointScores], paint: str, colours: Theme
) -> dict[str, Any]:
    y = [getattr(one, LINES[name]) for one in fitted]
    chosen = name != "training rows"
    best = len(y) - 1 - int(np.argmax(y[::-1])) if chosen and y else None  # of equals the last
    size = [12 if k == best else 5 for k in range(len(y))]
    shape = ["star" if k == best else "circle" for k in range(len(y))]
    rows = [(one.test.pred_perp_ll, one.test.df, one.test.method) for one in fitted]
    solid = {"marker": {"opacity": 1}}
    return {
        "type": "scatter",
        "name": name,
        "mode": "lines+markers" if chosen else "lines",
        "x": [one.settings.thresholds.r for one in fitted],
        "y": y,
        "yaxis": "y2",
        "customdata": rows,
        "line": {"color": paint, "width": 1.6, "dash": "solid" if chosen else "dot"},
        "marker": {
            "color": paint,
            "size": size,
            "symbol": shape,
            "line": {"width": 1, "color": colours.background},
        },
        "selected": solid,
        "unselected": solid,
        "hovertemplate": (
            f"<b>{name}</b> %{{y:.4f}}<br>Pred-Perp-LL %{{customdata[0]:.4f}}, "
            "%{customdata[1]} parameters, %{customdata[2]}<extra></extra>"
        )
        if chosen
        else "<b>training rows</b> %{y:.4f}<extra></extra>",
    }


def _panels(colours: Theme, D: DistanceMatrix, r: float, both: bool) -> dict[str, Any]:
    room = 0.03 * max(D.r_max - D.r_min, 1e-9)
    value = {
        "tickfont": quiet(colours),
        "gridcolor": faint(colours),
        "zeroline": False,
        "fixedrange": True,
    }
    return {
        "xaxis": radius_axis(colours)
        | {"range": [min(r, D.r_min) - room, max(r, D.r_max) + room], "anchor": "free"},
        "yaxis": value
        | {"rangemode": "tozero", "nticks": 6, "domain": [0.5, 1] if both else [0, 1]},
        "yaxis2": value | {"nticks": 4, "domain": [0, 0.34], "visible": both},
        "hovermode": "x",
        "hoverdistance": -1,
    }


# Common to all -----------------------------------------------------------------------------


def framed(colours: Theme, height: int) -> dict[str, Any]:
    """The layout that all these figures share."""
    return {
        "height": height,
        "margin": {"l": _LEFT, "r": _RIGHT, "t": _TOP, "b": _BOTTOM},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": {"family": FACE, "size": FONT, "color": colours.text},
        "showlegend": False,
        "hoverlabel": {
            "bgcolor": colours.background,
            "bordercolor": colours.edge,
            "font": {"family": FACE, "size": FONT, "color": colours.text},
            "align": "left",
        },
        "clickmode": "event+select",
        "dragmode": "zoom",
    }


def radius_axis(colours: Theme) -> dict[str, Any]:
    """The axis of r."""
    return {
        "title": {"text": "radius r", "standoff": 12, "font": {"size": FONT}},
        "tickfont": quiet(colours),
        "nticks": 9,
        "showgrid": False,
        "zeroline": False,
        "showline": True,
        "linecolor": colours.edge,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": colours.edge,
    }


def quiet(colours: Theme) -> dict[str, Any]:
    """The font of numbers on axes."""
    return {"color": colours.edge, "size": FONT - 1}


def faint(colours: Theme) -> str:
    """The colour of grid lines."""
    red, green, blue = (int(colours.edge[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


def _shade_noise(figure: Figure, D: DistanceMatrix, colours: Theme) -> None:
    low, high = figure.layout.xaxis.range
    if D.noise_floor is not None and D.noise_floor < high:
        ends = {"x0": max(low, D.noise_floor), "x1": high, "fillcolor": colours.text}
        figure.add_vrect(**ends, opacity=0.06, line_width=0, layer="below")


def mark_radii(figure: Figure, D: DistanceMatrix) -> None:
    """Name r_min, r_max and the noise floor above the figure."""
    low, high = figure.layout.xaxis.range
    marks = [(D.r_min, "r min", "left"), (D.r_max, "r max", "right")]
    if D.noise_floor is not None and low < D.noise_floor < high:
        marks.append((D.noise_floor, "beyond noise →", "left"))
    grey = figure.layout.yaxis.tickfont.color
    for value, text, anchor in marks:
        line = {"color": grey, "width": 1, "dash": "dot"}
        ends = {"x0": value, "x1": value, "y0": 0, "y1": 1, "yref": "paper"}
        figure.add_shape(type="line", **ends, line=line, layer="below")
        figure.add_annotation(
            text=text, x=value, y=1, yref="paper", yanchor="bottom", xanchor=anchor,
            showarrow=False, font={"color": grey, "size": FONT - 1},
        )  # fmt: skip


def draw_current(figure: Figure, r: float, colours: Theme) -> None:
    """A line at the present radius, and on the axis a plate with the number."""
    line = {"color": colours.emphasis, "width": 1.5}
    figure.add_shape(type="line", x0=r, x1=r, y0=0, y1=1, yref="paper", line=line, layer="below")
    figure.add_annotation(
        text=f"<b>{r:.3g}</b>", x=r, y=0, yref="paper", yanchor="top", yshift=-3,
        showarrow=False, bgcolor=colours.emphasis, borderpad=3,
        font={"color": colours.background, "size": FONT},
    )  # fmt: skip


def _headline(
    figure: Figure, paints: Mapping[str, str], y: float, note: str, colours: Theme
) -> None:
    """The legend of a panel, in one line above it."""
    keys = [f'<span style="color:{paint}"><b>━━</b></span> {n}' for n, paint in paints.items()]
    figure.add_annotation(
        text="\u2003".join([*keys, f'<span style="opacity:0.75">({note})</span>']),
        x=0, xref="paper", xanchor="left", xshift=-_LEFT + 10, y=y, yref="paper",
        yanchor="bottom", yshift=20 if y == 1 else -8, showarrow=False,
        bgcolor=colours.background,
    )  # fmt: skip


MEASURES: Mapping[str, str] = {
    "hidden nodes": "n_hidden",
    "edges": "n_edges",
    "cycles": "n_cycles",
    "stuck visits": "n_stuck",
    "log-likelihood of unseen rows": "test_row",
    "BIC": "bic_row",
}
"""What the cells of the grid can show."""
SCORE_MEASURES = ("log-likelihood of unseen rows", "BIC")
SHADES: Mapping[ThemeName, tuple[str, str, str]] = {
    "light": ("#F1F5F9", "#9CC7E2", "#0B5E94"),
    "dark": ("#18212C", "#215F8A", "#8ACBF0"),
}


def grid_figure(
    points: Sequence[SweepPoint],
    scores: Sequence[Scored],
    measure: str,
    *,
    Lambdas: Sequence[float],
    taus: Sequence[float],
    current: Thresholds,
    theme: ThemeName = "light",
    height: int = 460,
) -> Figure:
    """Draw one of ``MEASURES`` over all pairs of a margin and a shortest edge, both ascending.

    The cell of the present setting is framed. A cell is clicked through the trace ``settings``: x
    is the place of Lambda, y that of tau.
    """
    import plotly.graph_objects as go

    colours = colours_of(theme)
    known = values_of(points, scores, measure)
    at = {
        (one.thresholds.Lambda, one.thresholds.tau): value
        for one, value in known.items()
        if one.thresholds.r == current.r
    }
    table = [[at.get((margin, tau), math.nan) for margin in Lambdas] for tau in taus]
    figure = go.Figure(layout=framed(colours, height) | _cells(colours, Lambdas, taus))
    places = [(i, j) for j in range(len(taus)) for i in range(len(Lambdas))]
    figure.add_trace(_heat(table, measure, theme, colours))
    unseen = {"marker": {"opacity": 0}}
    figure.add_trace(
        {
            "type": "scatter",
            "name": "settings",
            "mode": "markers",
            "x": [i for i, _ in places],
            "y": [j for _, j in places],
            "customdata": [(Lambdas[i], taus[j], _shown(table[j][i], measure)) for i, j in places],
            "marker": {"opacity": 0, "size": 40, "symbol": "square"},
            "selected": unseen,
            "unselected": unseen,
            "hovertemplate": (
                f"Λ = %{{customdata[0]:.4g}}, τ = %{{customdata[1]:.4g}}<br>{measure} "
                "<b>%{customdata[2]}</b><extra></extra>"
            ),
        }
    )
    _frame_cell(figure, current, Lambdas, taus, colours)
    return figure


def values_of(
    points: Sequence[SweepPoint], scores: Sequence[Scored], measure: str
) -> dict[LearnSettings, float]:
    """Return one measure of each setting for which it is known."""
    name = MEASURES[measure]
    found: Sequence[Any] = points
    if measure in SCORE_MEASURES:
        found = [one for one in scores if not isinstance(one, Failed)]
    return {one.settings: float(getattr(one, name)) for one in found}


def _heat(
    table: Sequence[Sequence[float]], measure: str, theme: ThemeName, colours: Theme
) -> dict[str, Any]:
    shades = SHADES[theme]
    return {
        "type": "heatmap",
        "z": [list(row) for row in table],
        "text": [[_shown(value, measure) for value in row] for row in table],
        "texttemplate": "%{text}",
        "textfont": {"size": FONT - 1},
        "colorscale": [[k / 2, shade] for k, shade in enumerate(shades)],
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "skip",
        "colorbar": {
            "title": {"text": measure, "side": "right"},
            "thickness": 10,
            "outlinewidth": 0,
            "tickfont": quiet(colours),
        },
    }


def _shown(value: float, measure: str) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if measure in SCORE_MEASURES else f"{value:.0f}"


def _cells(colours: Theme, Lambdas: Sequence[float], taus: Sequence[float]) -> dict[str, Any]:
    def axis(title: str, values: Sequence[float]) -> dict[str, Any]:
        return {
            "title": {"text": title, "standoff": 12, "font": {"size": FONT}},
            "automargin": True,
            "tickvals": list(range(len(values))),
            "ticktext": [f"{value:.3g}" for value in values],
            "tickfont": quiet(colours),
            "range": [-0.5, len(values) - 0.5],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        }

    return {
        "xaxis": axis("Λ, the margin of a vote", Lambdas),
        "yaxis": axis("τ, the shortest edge", taus),
        "hovermode": "closest",
        "margin": {"l": 62, "r": 10, "t": 12, "b": 46},
    }


def _frame_cell(
    figure: Figure,
    current: Thresholds,
    Lambdas: Sequence[float],
    taus: Sequence[float],
    colours: Theme,
) -> None:
    if current.Lambda not in Lambdas or current.tau not in taus:
        return
    i, j = list(Lambdas).index(current.Lambda), list(taus).index(current.tau)
    line = {"color": colours.emphasis, "width": 2.5}
    corners = {"x0": i - 0.48, "x1": i + 0.48, "y0": j - 0.48, "y1": j + 0.48}
    figure.add_shape(type="rect", **corners, line=line)
