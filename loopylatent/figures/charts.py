"""Plotly figures: common layout, alternative texts, the density curve, bars of a column."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.figures.network import FACE, THEMES, Theme, ThemeName, colours_of, with_opacity
from loopylatent.learning.initial_graph import EdgeDensity
from loopylatent.tables.observations import Observations

if TYPE_CHECKING:
    from plotly.graph_objects import Figure as Figure

Part = dict[str, Any]
"""A part of a figure as a dictionary; plotly's own objects validate every change, which is slow."""
FONT = 12
CLEAR = "rgba(0,0,0,0)"
LEFT = 52
OPAQUE: Part = {"marker": {"opacity": 1}}


def figure_of(data: Sequence[Part], layout: Part) -> Figure:
    """Build a figure from all parts at once: plotly validates everything at every addition."""
    import plotly.graph_objects as go  # slow to import, so only when needed

    return go.Figure(data, layout)


def framed(
    colours: Theme, height: int, left: int = LEFT, right: int = 16, top: int = 48, bottom: int = 46
) -> Part:
    """Return the layout that all figures share."""
    font = {"family": FACE, "size": FONT, "color": colours.text}
    ground = {"bgcolor": colours.background, "bordercolor": colours.edge}
    return {
        "height": height,
        "margin": {"l": left, "r": right, "t": top, "b": bottom},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "font": font,
        "showlegend": False,
        "hoverlabel": ground | {"font": font, "align": "left"},
        "clickmode": "event+select",
        "dragmode": "zoom",
    }


def bare(theme: ThemeName, height: int, top: int) -> Part:
    """Return the layout of small figures without a frame."""
    font = {"color": colours_of(theme).text, "size": FONT - 1}
    ground = {"paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "font": font}
    return {"height": height, "margin": {"l": 0, "r": 0, "t": top, "b": 0}} | ground


def with_legend(colours: Theme, height: int, left: int, **more: Any) -> Part:
    """Return the common layout with plotly's legend in one line above the figure."""
    place = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "bgcolor": CLEAR}
    shown = {"showlegend": True, "legend": place, "hovermode": "closest"}
    return framed(colours, height, left, top=34) | shown | more


def tick_font(colours: Theme) -> Part:
    """Return the font of numbers on axes."""
    return {"color": colours.edge, "size": FONT - 1}


def grid_colour(colours: Theme) -> str:
    """Return the colour of grid lines."""
    return with_opacity(colours.edge, 0.18)


def title(text: str, standoff: int) -> Part:
    """Return the title of an axis."""
    return {"title": {"text": text, "standoff": standoff, "font": {"size": FONT}}}


def value_axis(colours: Theme, text: str = "") -> Part:
    """Return an axis of numbers with a fixed range."""
    looks = {"tickfont": tick_font(colours), "gridcolor": grid_colour(colours)}
    return looks | {"zeroline": False, "fixedrange": True} | (title(text, 10) if text else {})


def named_axis(colours: Theme, texts: Sequence[str], limits: Sequence[float]) -> Part:
    """Return an axis with a name at each integer."""
    ticks = {"tickvals": list(range(len(texts))), "ticktext": texts, "tickfont": tick_font(colours)}
    return ticks | {"range": limits, "showgrid": False, "zeroline": False, "fixedrange": True}


def radius_axis(colours: Theme, low: float, high: float, n_ticks: int = 9, apart: int = 12) -> Part:
    """Return the axis of r."""
    line = {"showline": True, "linecolor": colours.edge, "showgrid": False, "zeroline": False}
    ticks = {"ticks": "outside", "ticklen": 4, "tickcolor": colours.edge, "nticks": n_ticks}
    limits = {"tickfont": tick_font(colours), "range": [low, high]}
    return title("radius r", apart) | line | ticks | limits


def scatter(name: str | None, x: Any, y: Any, mode: str = "lines", **more: Any) -> Part:
    """Return a line or points."""
    return {"type": "scatter", "name": name, "mode": mode, "x": x, "y": y} | more


def targets(name: str, x: Any, y: Any, rows: Any, hover: str, **marker: Any) -> Part:
    """Return invisible points that have tooltips and can be clicked."""
    unseen = {"marker": {"opacity": 0}}
    return scatter(
        name, x, y, "markers", customdata=rows, selected=unseen, unselected=unseen,
        marker={"opacity": 0, "size": 9} | marker, hovertemplate=f"{hover}<extra></extra>",
    )  # fmt: skip


def note(text: str, x: float, y: float, **more: Any) -> Part:
    """Return a text at a point; y is a share of the height."""
    return {"text": text, "x": x, "y": y, "yref": "paper", "showarrow": False} | more


def keys(paints: Mapping[str, str], y: float, xshift: int, more: Sequence[str] = ()) -> Part:
    """Return a legend as one line of text; plotly's own wraps on a narrow screen."""
    drawn = [f'<span style="color:{paint}"><b>━━</b></span> {n}' for n, paint in paints.items()]
    return note("\u2003".join([*drawn, *more]), 0, y, xref="paper", xanchor="left", xshift=xshift)


def upright(r: float, end: float, **line: Any) -> Part:
    """Return a vertical line at a radius."""
    ends = {"x0": r, "x1": r, "y0": 0, "y1": end}
    return ends | {"type": "line", "yref": "paper", "line": line, "layer": "below"}


def here(r: float, colours: Theme) -> tuple[Part, Part]:
    """Return a line at the current radius and a plate with the number on the axis."""
    looks = {"bgcolor": colours.emphasis, "borderpad": 3, "yanchor": "top", "yshift": -3}
    font = {"color": colours.background, "size": FONT}
    line = upright(r, 1, color=colours.emphasis, width=1.5)
    return line, note(f"<b>{r:.3g}</b>", r, 0, font=font, **looks)


def beyond_noise(D: DistanceMatrix, low: float, high: float, colours: Theme) -> list[Part]:
    """Return a shade over the radii above the noise floor, if there are any."""
    if D.noise_floor is None or D.noise_floor >= high:
        return []
    shade = {"type": "rect", "x0": max(low, D.noise_floor), "x1": high, "fillcolor": colours.text}
    whole_height = {"y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return [shade | whole_height | {"opacity": 0.06, "line": {"width": 0}, "layer": "below"}]


def along_r(
    D: DistanceMatrix, r: float, colours: Theme, shapes: Sequence[Part], notes: Sequence[Part]
) -> Part:
    """Label r_min, r_max and the noise floor above a sweep, and mark the current radius."""
    low, high = shown_radii(D, r)
    marks = [(D.r_min, "r min", "left"), (D.r_max, "r max", "right")]
    if D.noise_floor is not None and low < D.noise_floor < high:
        marks.append((D.noise_floor, "noise floor →", "left"))
    dots: Part = {"color": colours.edge, "width": 1, "dash": "dot"}
    names: Part = {"font": tick_font(colours), "yanchor": "bottom"}
    line, plate = here(r, colours)
    ends = [upright(value, 1, **dots) for value, _, _ in marks]
    texts = [note(text, value, 1, xanchor=anchor, **names) for value, text, anchor in marks]
    return {
        "xaxis": radius_axis(colours, low, high),
        "shapes": [*shapes, *ends, line],
        "annotations": [*notes, *texts, plate],
        "uirevision": D.digest,
    }


def shown_radii(D: DistanceMatrix, r: float) -> tuple[float, float]:
    """Return the first and the last radius that a sweep shows."""
    room = 0.03 * max(D.r_max - D.r_min, 1e-9)
    return min(r, D.r_min) - room, max(r, D.r_max) + room


def mark_at(x: float, colours: Theme) -> Part:
    """Return a vertical line at the current setting."""
    ends = {"type": "line", "x0": x, "x1": x, "xref": "x", "y0": 0, "y1": 1, "yref": "y domain"}
    return ends | {"line": {"color": colours.text, "width": 1.2, "dash": "dash"}, "opacity": 0.6}


MOST_TRACES = 8
MOST_PAIRS = 8
LONGEST = 1500


def alt_text(figure: Figure, about: str) -> str:
    """Describe a figure in words, after ``about``: the name, range and last value of each line."""
    drawn = [trace for trace in figure.data if _is_visible(trace)]
    axes = [_title(figure.layout.xaxis, "x-axis"), _title(figure.layout.yaxis, "y-axis")]
    parts = [f"{about}.", *(axis for axis in axes if axis)]
    parts += [text for trace in drawn[:MOST_TRACES] if (text := _trace(trace))]
    if len(drawn) > MOST_TRACES:
        parts.append(f"And {len(drawn) - MOST_TRACES} more.")
    text = " ".join(parts)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _is_visible(trace: Any) -> bool:
    opacity = getattr(getattr(trace, "marker", None), "opacity", None)
    is_clear = isinstance(opacity, int | float) and opacity == 0
    return not is_clear or "lines" in (getattr(trace, "mode", None) or "")


def _title(axis: Any, name: str) -> str:
    text = _without_tags(axis.title.text)
    return f"{name}: {text}." if text else ""


def _without_tags(text: Any) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[a-zA-Z/][^>]*>", " ", str(text or ""))).strip()


def _trace(trace: Any) -> str:
    name = _without_tags(trace.name) or "values"
    if trace.type == "heatmap":
        z = np.asarray(trace.z, dtype=np.float64)
        finite = z[np.isfinite(z)]
        if not len(finite):
            return f"{name}: no values yet."
        size = f"{z.shape[0]} rows and {z.shape[1]} columns"
        return f"{name}: {size}, from {finite.min():.4g} to {finite.max():.4g}."
    x, y = ([] if one is None else list(one) for one in (trace.x, trace.y))
    n = max(len(x), len(y))
    if n == 0:
        return ""
    xs, ys = _numbers(x), _numbers(y)
    if xs is None or ys is None:
        return f"{name}: {_pairs(x, y)}."
    parts = [f"{n} point{'s' * (n != 1)}", _range(xs, "x"), _range(ys, "y")]
    if n > 1 and len(ys):
        parts.append(f"last y {ys[-1]:.4g}")
    return f"{name}: {', '.join(part for part in parts if part)}."


def _numbers(values: Sequence[Any]) -> np.ndarray[Any, Any] | None:
    try:
        found = np.array([np.nan if one is None else one for one in values], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return found[np.isfinite(found)]


def _range(values: np.ndarray[Any, Any], name: str) -> str:
    if not len(values):
        return ""
    low, high = values.min(), values.max()
    return f"{name} {low:.4g}" if low == high else f"{name} from {low:.4g} to {high:.4g}"


def _pairs(x: Sequence[Any], y: Sequence[Any]) -> str:
    shown = [f"{_text(a)} {_text(b)}" for a, b in list(zip(x, y, strict=False))[:MOST_PAIRS]]
    more = min(len(x), len(y)) - MOST_PAIRS
    return ", ".join(shown + ([f"and {more} more"] if more > 0 else []))


def _text(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, int | float | np.number) else _without_tags(value)


MOST_POINTS = 300
"""Breakpoints that are drawn: one for every few pixels. The browser creates an element for each of
them whenever r changes."""
LOWEST = 200
"""Minimum height in pixels."""

_LEFT, _RIGHT, _BOTTOM, _LEGEND = 46, 26, 50, 30  # margins in pixels
_NARROW = 400 - _LEFT - _RIGHT  # smallest plot width at which labels must not overlap
_LETTER = 6.4  # width of a letter in pixels
_LABEL_ROW = 16


@dataclass(frozen=True, slots=True)
class Mark:
    """A named radius, shown as a vertical line with a label at its upper end."""

    r: float
    text: str
    row: int
    """Counted upwards, from 1."""
    to_the_right: bool


def density_figure(
    curve: EdgeDensity,
    *,
    r: float,
    D: DistanceMatrix | None = None,
    theme: ThemeName = "light",
    height: int = 300,
) -> Figure:
    """Draw edges, cycles and components of the initial graph against r.

    The trace ``breakpoints`` has the exact numbers; its ``customdata`` starts with the radius.
    """
    colours = colours_of(theme)
    if not 0 <= r < np.inf:
        raise ThresholdError(f"r = {r} is not a radius; give a finite number of at least 0.")
    if height < LOWEST:
        raise ThresholdError(f"height = {height} is too low; give at least {LOWEST} pixels.")
    known = curve.D if D is None else D
    low, high = shown_range(curve, known, r)
    marks = marks_between(known, low, high)
    top = _LEGEND + _LABEL_ROW * max(mark.row for mark in marks)
    lines = _lines(curve, r, (low, high), colours)
    line, plate = here(r, colours)
    dots = {"color": colours.edge, "width": 1, "dash": "dot"}
    ends = [1 + (_LABEL_ROW * mark.row - 4) / (height - top - _BOTTOM) for mark in marks]
    legend = {one["name"]: one["line"]["color"] for one in lines[:3]}
    layout = framed(colours, height, _LEFT, _RIGHT, top, _BOTTOM) | {
        "xaxis": radius_axis(colours, low, high, 8, 14),
        "yaxis": value_axis(colours) | {"rangemode": "tozero", "tickformat": ",d", "nticks": 6},
        "hovermode": "x",
        "hoverdistance": -1,
        "uirevision": known.digest,
        "shapes": [
            *beyond_noise(known, low, high, colours),
            *(upright(mark.r, end, **dots) for mark, end in zip(marks, ends, strict=True)),
            line,
        ],
        "annotations": [
            *(_mark_text(mark, colours) for mark in marks),
            plate,
            keys(legend, 1, -_LEFT + 12) | {"yanchor": "middle", "yshift": top - 14},
        ],
    }
    return figure_of(lines, layout)


def shown_range(curve: EdgeDensity, D: DistanceMatrix, r: float) -> tuple[float, float]:
    """Return the first and the last radius that are shown."""
    first, last = float(curve.r[0]), max(D.r_max, float(curve.r[-1]))
    margin = 0.04 * (last - first or last or 1.0)
    return min(r, max(0.0, first - margin)), max(r, last) + margin


def _kept(curve: EdgeDensity, r: float) -> IntArray:
    """Return the breakpoints to draw: all, or the first, last and extremes of each interval."""
    n = len(curve.r)
    if n <= MOST_POINTS:
        return np.arange(n)
    kept = np.zeros(0, dtype=np.int64)
    current = max(0, int(np.searchsorted(curve.r, r, "right")) - 1)
    for n_intervals in (200, 100, 49):  # at most six points in each interval
        bounds = np.linspace(curve.r[0], curve.r[-1], n_intervals + 1)[1:-1]
        found = [current]
        for part in np.split(np.arange(n), np.searchsorted(curve.r, bounds)):
            if len(part):
                found += [part[0], part[-1]]
                for counts in (curve.n_edges[part], curve.n_cycles[part]):
                    found += [part[counts.argmin()], part[counts.argmax()]]
        kept = np.unique(found)
        if len(kept) <= MOST_POINTS:
            break
    return kept


def _drawn_steps(curve: EdgeDensity, r: float) -> tuple[FloatArray, list[IntArray]]:
    """Return the radii of the drawn breakpoints, and the counts of `LINES` from each on."""
    kept = _kept(curve, r)
    counts = (curve.n_edges, curve.n_cycles, curve.n_components)
    return curve.r[kept], [count[kept] for count in counts]


def counts_at(curve: EdgeDensity, r: float) -> tuple[int, int, int]:
    """Return edges, cycles and components at ``r``."""
    k = int(np.searchsorted(curve.r, r, "right")) - 1
    if k < 0:
        return 0, 0, curve.D.n_columns
    return int(curve.n_edges[k]), int(curve.n_cycles[k]), int(curve.n_components[k])


def marks_between(D: DistanceMatrix, low: float, high: float) -> list[Mark]:
    """Return the named radii inside the shown range, from left to right."""
    named = [(D.r_min, "r<sub>min</sub>", 4), (D.r_max, "r<sub>max</sub>", 4)]
    if D.noise_floor is not None:
        named.append((D.noise_floor, "noise floor", 11))
    return _placed([mark for mark in sorted(named) if low <= mark[0] <= high], low, high)


def _placed(named: Sequence[tuple[float, str, int]], low: float, high: float) -> list[Mark]:
    """Assign rows to labels so that they overlap no line and no label on a narrow screen.

    Labels are left of their lines. A label that crosses a line to its left is placed above the end
    of that line. One that would leave the figure is placed to the right, in the top row.
    """
    pixel = (high - low) / _NARROW
    marks: list[Mark] = []
    for r, text, n_letters in named:
        reaches = r - (_LETTER * n_letters + 8) * pixel
        below = [mark.row for mark in marks if mark.r > reaches and not mark.to_the_right]
        outside = reaches < low - _LEFT * pixel
        row = len(named) if outside else 1 + max(below, default=0)
        marks.append(Mark(r, text, row, outside))
    return marks


def _lines(curve: EdgeDensity, r: float, limits: tuple[float, float], colours: Theme) -> list[Part]:
    low, high = limits
    (radii, counts), at_r = _drawn_steps(curve, r), counts_at(curve, r)
    paints = (colours.observed, colours.groups[5], colours.groups[2])
    before = (0, 0, curve.D.n_columns)
    lines = [
        scatter(
            counted,
            [low, *radii.tolist(), high],
            [first, *count.tolist(), int(count[-1])],
            line={"shape": "hv", "color": paint, "width": 1.5 if lesser else 2.6},
            hoverinfo="skip",
        )
        for lesser, (counted, paint, count, first) in enumerate(
            zip(_counted(at_r), paints, counts, before, strict=True)
        )
    ]
    hover = (
        "<b>r = %{customdata[0]:.4f}</b><br>edges %{customdata[1]:,}<br>"
        "cycles %{customdata[2]:,}<br>components %{customdata[3]:,}"
    )
    rows = np.column_stack([radii, *counts])
    lines.append(targets("breakpoints", radii, counts[0], rows, hover))
    rim = {"color": colours.background, "width": 1.5}
    dots = scatter("current r", [r] * 3, list(at_r), "markers", cliponaxis=False, hoverinfo="skip")
    marker = {"size": 8, "color": list(paints), "line": rim}
    lines.append(dots | {"marker": marker, "unselected": OPAQUE})
    return lines


def _counted(counts: Sequence[int]) -> list[str]:
    words = zip(counts, ("edge", "cycle", "component"), strict=True)
    return [f"{number:,} {word}{'' if number == 1 else 's'}" for number, word in words]


def _mark_text(mark: Mark, colours: Theme) -> Part:
    anchor, shift = ("left", 2) if mark.to_the_right else ("right", -2)
    place = {"xanchor": anchor, "yanchor": "middle", "xshift": shift}
    height = _LABEL_ROW * (mark.row - 1) + 6
    return note(mark.text, mark.r, 1, yshift=height, font=tick_font(colours), **place)


WIDTH, HEIGHT = 760, 250
_SVG_LEFT, _SVG_RIGHT, _SVG_BOTTOM, _TOP = 48, 20, 44, 14
_SVG_LABEL_ROW = 16
_TICKS = 6
_PLATE = 38  # width of the plate with the current radius
LINES = ("edges", "cycles", "components")
"""The lines and their classes."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """Converts numbers to pixels."""

    low: float
    high: float
    most: float
    top: int

    def x(self, r: float) -> float:
        inside = (r - self.low) / (self.high - self.low)
        return round(_SVG_LEFT + inside * (WIDTH - _SVG_LEFT - _SVG_RIGHT), 1)

    def y(self, number: float) -> float:
        base = HEIGHT - _SVG_BOTTOM
        return round(base - number / self.most * (base - self.top), 1)


def curve_svg(curve: EdgeDensity, r: float) -> str:
    """Draw the density curve as an ``svg`` element whose parts have classes, such as ``edges``."""
    D = curve.D
    low, high = shown_range(curve, D, r)
    marks = marks_between(D, low, high)
    radii, counts = _drawn_steps(curve, r)
    tallest = max(1, int(counts[0].max(initial=0)), D.n_columns)
    ticks = _nice_ticks(0, tallest, smallest=1.0)  # counts are integers
    top = _TOP + _SVG_LABEL_ROW * max((mark.row for mark in marks), default=0)
    plot = _Plot(low, high, max(ticks[-1], tallest), top)
    return "\n".join(
        [
            _opening(curve, r),
            *_beyond(D, plot),
            *_axes(plot, ticks, r),
            *_marks(marks, plot),
            *_svg_lines(radii.tolist(), counts, D.n_columns, plot),
            *_now(curve, r, plot),
            "</svg>",
        ]
    )


def _opening(curve: EdgeDensity, r: float) -> str:
    edges, cycles, components = _counted(counts_at(curve, r))
    title = f"At r = {r:.4g} the initial graph has {edges}, {cycles} and {components}"
    return (
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
    )


def _beyond(D: DistanceMatrix, plot: _Plot) -> Iterator[str]:
    if D.noise_floor is not None and D.noise_floor < plot.high:
        left = plot.x(max(D.noise_floor, plot.low))
        height = HEIGHT - _SVG_BOTTOM - plot.top
        width = round(WIDTH - _SVG_RIGHT - left, 1)
        yield f'<rect class="beyond" x="{left}" y="{plot.top}" width="{width}" height="{height}"/>'


def _axes(plot: _Plot, ticks: Sequence[float], now: float) -> Iterator[str]:
    base, right = HEIGHT - _SVG_BOTTOM, WIDTH - _SVG_RIGHT
    for tick in ticks:
        y = plot.y(tick)
        yield f'<path class="grid" d="M{_SVG_LEFT} {y}H{right}"/>'
        place = f'x="{_SVG_LEFT - 7}" y="{y + 4}"'
        yield f'<text class="axis" {place} text-anchor="end">{tick:,.0f}</text>'
    for tick in _nice_ticks(plot.low, plot.high):
        x = plot.x(tick)
        yield f'<path class="tick" d="M{x} {base}v5"/>'
        if abs(x - plot.x(now)) > _PLATE:
            yield f'<text class="axis" x="{x}" y="{base + 18}" text-anchor="middle">{tick:g}</text>'
    yield f'<path class="tick" d="M{_SVG_LEFT} {base}H{right}"/>'
    middle = (_SVG_LEFT + right) // 2
    yield f'<text class="axis" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">radius r</text>'


def _marks(marks: Sequence[Mark], plot: _Plot) -> Iterator[str]:
    for mark in marks:
        x, top = plot.x(mark.r), plot.top - _SVG_LABEL_ROW * mark.row + 4
        side, shift = ("start", 3) if mark.to_the_right else ("end", -3)
        text = mark.text.replace("<sub>", '<tspan class="sub" dy="3">')
        text = text.replace("</sub>", "</tspan>")
        yield f'<path class="mark" d="M{x} {HEIGHT - _SVG_BOTTOM}V{top}"/>'
        place = f'x="{x + shift}" y="{top + 9}"'
        yield f'<text class="axis" {place} text-anchor="{side}">{text}</text>'


def _svg_lines(
    radii: Sequence[float], counts: Sequence[IntArray], n_columns: int, plot: _Plot
) -> Iterator[str]:
    for name, count, first in reversed(list(zip(LINES, counts, (0, 0, n_columns), strict=True))):
        path = [f"M{_SVG_LEFT} {plot.y(first)}"]
        steps = zip(radii, count.tolist(), strict=True)
        path += [f"H{plot.x(r)}V{plot.y(number)}" for r, number in steps]
        yield f'<path class="line {name}" d="{"".join(path)}H{WIDTH - _SVG_RIGHT}"/>'


def _now(curve: EdgeDensity, r: float, plot: _Plot) -> Iterator[str]:
    """Draw a line at the current radius, a dot on each line, and the number on the axis."""
    x, base = plot.x(r), HEIGHT - _SVG_BOTTOM
    yield f'<path class="now" d="M{x} {base}V{plot.top}"/>'
    for name, number in zip(LINES, counts_at(curve, r), strict=True):
        yield f'<circle class="dot {name}" cx="{x}" cy="{plot.y(number)}" r="4"/>'
    left = round(x - _PLATE / 2, 1)
    yield f'<rect class="plate" x="{left}" y="{base + 4}" width="{_PLATE}" height="19" rx="3"/>'
    yield f'<text class="plate" x="{x}" y="{base + 18}" text-anchor="middle">{r:.3g}</text>'


def _nice_ticks(low: float, high: float, smallest: float = 0.0) -> list[float]:
    """Return about six round numbers from low to high."""
    step = 1.0
    while (high - low) / step > _TICKS:
        step *= 10
    while (high - low) / (step / 10) <= _TICKS:
        step /= 10
    step = next(part for part in (step / 5, step / 2, step) if (high - low) / part <= _TICKS)
    step = max(step, smallest)
    first = -int(-low // step)
    return [round(k * step, 10) for k in range(first, int(high / step + 1e-9) + 1)]


MOST_BARS = 20


@dataclass(frozen=True, slots=True)
class Bars:
    """The relative frequency of each value or interval."""

    labels: tuple[str, ...]
    shares: tuple[float, ...]


def value_counts(obs: Observations, name: str) -> Bars:
    """Count the values of a column; numbers are grouped into about twenty intervals."""
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


def distribution_figure(bars: Bars, theme: ThemeName = "light") -> Figure:
    """Draw a small bar chart; values are data and are escaped."""
    colours, places = THEMES[theme], list(range(len(bars.labels)))
    few = len(places) <= 8
    drawn = {
        "type": "bar",
        "x": places,
        "y": list(bars.shares),
        "customdata": [escape(label) for label in bars.labels],
        "hovertemplate": "%{customdata}: %{y:.1%}<extra></extra>",
        "marker": {"color": colours.observed},
    }
    ticks = {
        "tickvals": places if few else [],
        "ticktext": [escape(label[:12]) for label in bars.labels] if few else [],
        "fixedrange": True,
    }
    axes = {"xaxis": ticks, "yaxis": {"visible": False, "fixedrange": True}}
    return figure_of([drawn], bare(theme, 130, 4) | axes | {"bargap": 0.15})
