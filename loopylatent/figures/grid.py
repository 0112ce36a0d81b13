"""A sweep over Lambda and tau as a plotly figure: one measure, a cell for each pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loopylatent.figures.looks import Theme, ThemeName, colours_of
from loopylatent.figures.sweep import FONT, framed, quiet
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.sweep_points import SweepPoint
from loopylatent.sweep_scores import Failed, Scored

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

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
    """Draw one measure over all pairs of a margin and a shortest edge.

    Parameters
    ----------
    points, scores
        Those that are there so far, in any order.
    measure : str
        One of ``MEASURES``.
    Lambdas, taus : sequences of float
        Ascending; the columns and the rows of the grid.
    current : Thresholds
        The cell of the present setting is framed.
    theme : {"light", "dark"}
    height : int

    Returns
    -------
    plotly.graph_objects.Figure
        A cell is clicked through the trace ``settings``: x is the place of Lambda, y that of tau.
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
