"""Sweeps as plotly figures: structure and scores over r, a Lambda-tau grid, a barcode."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from loopylatent.analysis.sweep.barcode import Bar
from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.analysis.sweep.scores import Failed, PointScores, Scored
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures import charts
from loopylatent.figures.charts import Part
from loopylatent.figures.layout import shown_label
from loopylatent.figures.network import Theme, ThemeName, colours_of
from loopylatent.settings import LearnSettings, Thresholds

STRUCTURE = {"edges": "n_edges", "hidden": "n_hidden", "cycles": "n_cycles"}
LINES = {"held-out rows": "test_row", "BIC": "bic_row", "training rows": "train_row"}
"""Lines of scores, all per row, so that they share an axis."""
SCORE_NOTE = "log-likelihood per row, higher is better"


def structure_colours(colours: Theme) -> dict[str, str]:
    """Return the colours of edges, hidden nodes and cycles, the same in all figures."""
    return {"edges": colours.observed, "hidden": colours.hidden, "cycles": colours.groups[5]}


def score_colours(colours: Theme) -> dict[str, str]:
    """Return the colours of the scores."""
    return dict(zip(LINES, (*colours.groups[2:4], colours.edge), strict=True))


def sweep_figure(
    points: Sequence[SweepPoint],
    scores: Sequence[Scored],
    *,
    r: float,
    D: DistanceMatrix,
    theme: ThemeName = "light",
    height: int = 460,
    stepwise: bool = True,
) -> charts.Figure:
    """Draw counts of the learned graph over r, and scores below.

    ``stepwise`` draws steps: the graph does not change between two points.
    """
    colours = colours_of(theme)
    ordered = sorted(points, key=lambda point: point.thresholds.r)
    fitted = _fitted(scores)
    both = bool(fitted)
    value = charts.value_axis(colours)
    upper, lower = structure_colours(colours), score_colours(colours) if both else {}
    drawn = [_line(name, ordered, paint, D, stepwise) for name, paint in upper.items()]
    drawn += [_targets(ordered)] if ordered else []
    drawn += [_score_line(name, fitted, paint, colours) for name, paint in lower.items()]
    notes = [_headline(lower, 0.41, SCORE_NOTE, colours)] if both else []
    notes.append(_headline(upper, 1.0, "of the learned graph", colours))
    shade = charts.beyond_noise(D, *charts.shown_radii(D, r), colours)
    layout = charts.framed(colours, height) | charts.along_r(D, r, colours, shade, notes)
    layout["xaxis"] |= {"anchor": "free"}
    domain = [0.5, 1] if both else [0, 1]
    return charts.figure_of(
        drawn,
        layout
        | {
            "yaxis": value | {"rangemode": "tozero", "nticks": 6, "domain": domain},
            "yaxis2": value | {"nticks": 4, "domain": [0, 0.34], "visible": both},
            "hovermode": "x",
            "hoverdistance": -1,
        },
    )


def _fitted(scores: Sequence[Scored]) -> list[PointScores]:
    found = [one for one in scores if not isinstance(one, Failed)]
    return sorted(found, key=lambda one: one.settings.thresholds.r)


def _line(
    name: str, points: Sequence[SweepPoint], paint: str, D: DistanceMatrix, stepwise: bool
) -> Part:
    x = [point.thresholds.r for point in points]
    y = [getattr(point, STRUCTURE[name]) for point in points]
    if points:  # the graph stays the same above the last radius
        x, y = [*x, max(x[-1], D.r_max) * 1.02], [*y, y[-1]]
    shape, mode = ("hv", "lines") if stepwise else ("linear", "lines+markers")
    line = {"shape": shape, "color": paint, "width": 2.4 if name == "edges" else 1.8}
    looks = {"line": line, "marker": {"size": 4}, "unselected": charts.OPAQUE}
    return charts.scatter(name, x, y, mode, hoverinfo="skip", **looks)


def _targets(points: Sequence[SweepPoint]) -> Part:
    rows = [
        (
            *(getattr(point, name) for name in STRUCTURE.values()),
            "–" if math.isinf(point.girth) else f"{point.girth:.0f}",
            point.n_components,
            f"{point.n_stuck} of {point.n_visits}",
        )
        for point in points
    ]
    hover = (
        "<b>r = %{x:.4f}</b><br>edges %{customdata[0]}<br>hidden nodes %{customdata[1]}<br>"
        "cycles %{customdata[2]}, shortest %{customdata[3]}<br>components %{customdata[4]}<br>"
        "stuck visits %{customdata[5]}"
    )
    radii = [point.thresholds.r for point in points]
    return charts.targets("settings", radii, [row[0] for row in rows], rows, hover)


def _score_line(name: str, fitted: Sequence[PointScores], paint: str, colours: Theme) -> Part:
    y = [getattr(one, LINES[name]) for one in fitted]
    chosen = name != "training rows"
    best = len(y) - 1 - int(np.argmax(y[::-1])) if chosen and y else None  # the last of ties
    more = "<br>Pred-Perp-LL %{customdata[0]:.4f}, %{customdata[1]} parameters, %{customdata[2]}"
    return charts.scatter(
        name,
        [one.settings.thresholds.r for one in fitted],
        y,
        "lines+markers" if chosen else "lines",
        yaxis="y2",
        customdata=[(one.test.pred_perp_ll, one.test.df, one.test.method) for one in fitted],
        line={"color": paint, "width": 1.6, "dash": "solid" if chosen else "dot"},
        marker={
            "color": paint,
            "size": [12 if k == best else 5 for k in range(len(y))],
            "symbol": ["star" if k == best else "circle" for k in range(len(y))],
            "line": {"width": 1, "color": colours.background},
        },
        selected=charts.OPAQUE,
        unselected=charts.OPAQUE,
        hovertemplate=f"<b>{name}</b> %{{y:.4f}}{more if chosen else ''}<extra></extra>",
    )


def _headline(paints: Mapping[str, str], y: float, text: str, colours: Theme) -> Part:
    """Return the legend of a panel, in one line above it."""
    about = [f'<span style="opacity:0.75">({text})</span>']
    line = charts.keys(paints, y, -charts.LEFT + 10, about)
    place = {"yanchor": "bottom", "yshift": 20 if y == 1 else -8}
    return line | place | {"bgcolor": colours.background}


MEASURES: Mapping[str, str] = {
    "hidden nodes": "n_hidden",
    "edges": "n_edges",
    "cycles": "n_cycles",
    "stuck visits": "n_stuck",
    "held-out log-likelihood": "test_row",
    "BIC": "bic_row",
}
"""What the cells of the grid can show."""
SCORE_MEASURES = ("held-out log-likelihood", "BIC")
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
) -> charts.Figure:
    """Draw one of ``MEASURES`` over Lambda and tau; the trace ``settings`` takes the clicks."""
    colours = colours_of(theme)
    known = values_of(points, scores, measure)
    at = {
        (one.thresholds.Lambda, one.thresholds.tau): value
        for one, value in known.items()
        if one.thresholds.r == current.r
    }
    table = [[at.get((margin, tau), math.nan) for margin in Lambdas] for tau in taus]
    texts = [[_shown(value, measure) for value in row] for row in table]
    axes = {"x": ("margin Λ", Lambdas), "y": ("minimum edge length τ", taus)}
    layout = charts.framed(colours, height, left=62, right=10, top=12) | {"hovermode": "closest"}
    for axis, (title, values) in axes.items():
        ticks = [f"{value:.3g}" for value in values]
        named = charts.named_axis(colours, ticks, [-0.5, len(values) - 0.5])
        layout[f"{axis}axis"] = named | charts.title(title, 12) | {"automargin": True}
    bar = {"thickness": 10, "outlinewidth": 0, "tickfont": charts.tick_font(colours)}
    cells = {
        "type": "heatmap",
        "z": table,
        "text": texts,
        "texttemplate": "%{text}",
        "textfont": {"size": charts.FONT - 1},
        "colorscale": [[k / 2, shade] for k, shade in enumerate(SHADES[theme])],
        "xgap": 2,
        "ygap": 2,
        "hoverinfo": "skip",
        "colorbar": bar | {"title": {"text": measure, "side": "right"}},
    }
    places = [(i, j) for j in range(len(taus)) for i in range(len(Lambdas))]
    rows = [(Lambdas[i], taus[j], texts[j][i]) for i, j in places]
    numbers = "Λ = %{customdata[0]:.4g}, τ = %{customdata[1]:.4g}"
    hover = f"{numbers}<br>{measure} <b>%{{customdata[2]}}</b>"
    x, y = [i for i, _ in places], [j for _, j in places]
    clicked = charts.targets("settings", x, y, rows, hover, size=40, symbol="square")
    if current.Lambda in Lambdas and current.tau in taus:
        i, j = list(Lambdas).index(current.Lambda), list(taus).index(current.tau)
        line = {"color": colours.emphasis, "width": 2.5}
        corners = {"x0": i - 0.48, "x1": i + 0.48, "y0": j - 0.48, "y1": j + 0.48}
        layout["shapes"] = [{"type": "rect", "line": line} | corners]
    return charts.figure_of([cells, clicked], layout)


def values_of(
    points: Sequence[SweepPoint], scores: Sequence[Scored], measure: str
) -> dict[LearnSettings, float]:
    """Return one measure for each setting at which it is known."""
    found: Sequence[Any] = _fitted(scores) if measure in SCORE_MEASURES else points
    return {one.settings: float(getattr(one, MEASURES[measure])) for one in found}


def _shown(value: float, measure: str) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if measure in SCORE_MEASURES else f"{value:.0f}"


MOST_OF_EACH = 12
"""Number of longest bars drawn of each kind."""
LONGEST = 30
TITLES = {"cycle": "cycles", "hidden": "hidden"}


def longest(bars: Sequence[Bar], kind: str, most: int = MOST_OF_EACH) -> list[Bar]:
    """Return the longest bars of a kind, longest first, without bars of length 0."""
    return [bar for bar in bars if bar.kind == kind and bar.length > 0][:most]


def barcode_figure(
    bars: Sequence[Bar],
    *,
    r: float,
    D: DistanceMatrix,
    theme: ThemeName = "light",
    height: int = 460,
) -> charts.Figure:
    """Draw the longest bars; ``customdata`` of a bar starts with its middle."""
    colours = colours_of(theme)
    paints = structure_colours(colours)
    solid = {"marker": {"opacity": 1.0}}
    hover = "%{customdata[3]}<br>from r = %{customdata[1]:.3f} to %{customdata[2]:.3f}"
    ticks: list[str] = []
    drawn = []
    for kind, name in TITLES.items():
        chosen = longest(bars, kind)
        exists = [bar.start <= r < bar.end or r >= bar.end >= D.r_max for bar in chosen]
        marker = {"color": paints[name], "opacity": [1.0 if here else 0.4 for here in exists]}
        drawn.append(
            {
                "type": "bar",
                "name": name,
                "orientation": "h",
                "base": [bar.start for bar in chosen],
                "x": [bar.length for bar in chosen],
                "y": [len(ticks) + k for k in range(len(chosen))],
                "customdata": [(bar.middle, bar.start, bar.end, _names(bar, 90)) for bar in chosen],
                "marker": marker | {"line": {"width": 0}},
                "selected": solid,
                "unselected": solid,
                "hovertemplate": f"{hover}<extra></extra>",
            }
        )
        ticks += [_names(bar, LONGEST) for bar in chosen]
    words = {"cycles": "cycle (its columns)", "hidden": "hidden node (nearest columns)"}
    legend = charts.keys({text: paints[name] for name, text in words.items()}, 1, -180)
    layout = charts.framed(colours, height, left=190, top=42) | {
        "bargap": 0.3,
        "barmode": "overlay",
        "yaxis": charts.named_axis(colours, ticks, [len(ticks) - 0.4, -0.6]),
        "hovermode": "closest",
    }
    notes = [legend | {"yanchor": "bottom", "yshift": 18}]
    return charts.figure_of(drawn, layout | charts.along_r(D, r, colours, [], notes))


def _names(bar: Bar, longest_text: int) -> str:
    """Return the columns of a bar on one line; names are data and are escaped."""
    names = ", ".join(shown_label(name, 14) for name in bar.columns)
    return escape(shown_label(names, longest_text))
