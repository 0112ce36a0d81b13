"""The initial graph against r: edges, cycles and components, exact at every drawn point.

The initial graph against r as a small picture inside a page, exact at every drawn point.

Colours are classes that the page paints, so that it can be light, dark or printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from loopylatent.compute.arrays import FloatArray, IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.figures.looks import FACE, Theme, ThemeName, colours_of
from loopylatent.learning.initial_graph import EdgeDensity

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_POINTS = 300
"""Breakpoints that are drawn at most: one for every few columns of pixels on a screen. The browser
makes an element of each, whenever r moves."""
LOWEST = 200
"""Pixels; a lower figure has no room for its lines."""

_LEFT, _RIGHT, _BOTTOM, _LEGEND = 46, 26, 50, 30  # margins in pixels
_NARROW = 400 - _LEFT - _RIGHT  # width of the lines at which labels must stay apart
_LETTER = 6.4  # pixels of a letter in a label
_LABEL_ROW = 16
_FONT = 12


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """The counts that hold from each radius on; arrays of one length."""

    r: FloatArray
    edges: IntArray
    cycles: IntArray
    components: IntArray


@dataclass(frozen=True, slots=True)
class Mark:
    """A radius with a name, shown as a vertical line with a label beside its upper end."""

    r: float
    text: str
    row: int
    """Counted from the lines up, from 1."""
    to_the_right: bool


def density_figure(
    curve: EdgeDensity,
    *,
    r: float,
    D: DistanceMatrix | None = None,
    theme: ThemeName = "light",
    height: int = 300,
) -> Figure:
    """Draw the numbers of edges, cycles and components of the initial graph against r.

    Every point that can be pointed at is a breakpoint with its exact numbers, in the trace
    ``breakpoints``, whose ``customdata`` begins with the radius. Where there are more than 300,
    those stay that hold the most and the fewest of their surroundings.
    """
    # plotly takes long to import: only where it is needed
    import plotly.graph_objects as go

    colours = colours_of(theme)
    if not 0 <= r < np.inf:
        raise ThresholdError(f"r = {r} is no radius; give a finite number of at least 0.")
    if height < LOWEST:
        raise ThresholdError(f"height = {height} is too low; give at least {LOWEST} pixels.")
    known = curve.D if D is None else D
    low, high = shown_range(curve, known, r)
    marks = marks_between(known, low, high)
    top = _LEGEND + _LABEL_ROW * max(mark.row for mark in marks)
    lines = _lines(drawn_steps(curve, r), curve, r, (low, high), colours)
    plot_height = height - top - _BOTTOM
    shapes = _beyond_noise(known, low, high, colours)
    shapes += [_mark_line(mark, plot_height, colours) for mark in marks]
    shapes.append(_current_line(r, colours))
    texts = [_mark_text(mark, colours) for mark in marks]
    texts += [_current_text(r, colours), _legend_text(lines, top)]
    # all at once: plotly checks everything again whenever a part is added
    layout = _layout(colours, (low, high), height, top)
    layout |= {"uirevision": known.digest, "shapes": shapes, "annotations": texts}
    return go.Figure(data=lines, layout=layout)


# What is drawn -----------------------------------------------------------------------------


def shown_range(curve: EdgeDensity, D: DistanceMatrix, r: float) -> tuple[float, float]:
    """Return the first and the last radius that are shown."""
    first, last = float(curve.r[0]), max(D.r_max, float(curve.r[-1]))
    beside = 0.04 * (last - first or last or 1.0)
    return min(r, max(0.0, first - beside)), max(r, last) + beside


def _kept(curve: EdgeDensity, r: float) -> IntArray:
    """Which breakpoints are drawn: all, or of each slot the first, the last and the extremes."""
    n = len(curve.r)
    if n <= MOST_POINTS:
        return np.arange(n)
    kept = np.zeros(0, dtype=np.int64)
    current = max(0, int(np.searchsorted(curve.r, r, "right")) - 1)
    for n_slots in (200, 100, 49):  # six of each slot at most
        slot = np.linspace(curve.r[0], curve.r[-1], n_slots + 1)[1:-1]
        found = [current]
        for part in np.split(np.arange(n), np.searchsorted(curve.r, slot)):
            if len(part):
                found += [part[0], part[-1]]
                for counts in (curve.n_edges[part], curve.n_cycles[part]):
                    found += [part[counts.argmin()], part[counts.argmax()]]
        kept = np.unique(found)
        if len(kept) <= MOST_POINTS:
            break
    return kept


def drawn_steps(curve: EdgeDensity, r: float) -> Steps:
    """Return the counts at the breakpoints that are drawn, that of ``r`` among them."""
    kept = _kept(curve, r)
    return Steps(curve.r[kept], curve.n_edges[kept], curve.n_cycles[kept], curve.n_components[kept])


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
    """Give each label a row such that, on a narrow screen, it meets no line and no label.

    Labels lie to the left of their lines; one that reaches beyond a line to its left is set
    above the end of that line. One that would leave the figure is set to the right, on top.
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


# How it is drawn ---------------------------------------------------------------------------


def _lines(
    steps: Steps, curve: EdgeDensity, r: float, limits: tuple[float, float], colours: Theme
) -> list[dict[str, Any]]:
    low, high = limits
    at_r = counts_at(curve, r)
    before = (0, 0, curve.D.n_columns)
    counts = (steps.edges, steps.cycles, steps.components)
    words = ("edge", "cycle", "component")
    paints = (colours.observed, colours.groups[5], colours.groups[2])
    x = [low, *steps.r.tolist(), high]
    lines: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "name": f"{now:,} {word}{'' if now == 1 else 's'}",
            "mode": "lines",
            "x": x,
            "y": [first, *count.tolist(), int(count[-1])],
            "line": {"shape": "hv", "color": paint, "width": 2.6 if word == "edge" else 1.5},
            "hoverinfo": "skip",
        }
        for word, paint, count, now, first in zip(words, paints, counts, at_r, before, strict=True)
    ]
    lines += [_targets(steps), _dots(r, at_r, paints, colours)]
    return lines


def _targets(steps: Steps) -> dict[str, Any]:
    """Points that are not seen but can be pointed at and clicked."""
    unseen = {"marker": {"opacity": 0}}
    return {
        "type": "scatter",
        "name": "breakpoints",
        "mode": "markers",
        "x": steps.r,
        "y": steps.edges,
        "customdata": np.column_stack([steps.r, steps.edges, steps.cycles, steps.components]),
        "marker": {"opacity": 0, "size": 9},
        "selected": unseen,
        "unselected": unseen,
        "hovertemplate": (
            "<b>r = %{customdata[0]:.4f}</b><br>edges %{customdata[1]:,}<br>"
            "cycles %{customdata[2]:,}<br>components %{customdata[3]:,}<extra></extra>"
        ),
    }


def _dots(r: float, counts: Sequence[int], paints: Sequence[str], colours: Theme) -> dict[str, Any]:
    return {
        "type": "scatter",
        "name": "current r",
        "mode": "markers",
        "x": [r] * len(counts),
        "y": list(counts),
        "marker": {
            "size": 8,
            "color": list(paints),
            "line": {"color": colours.background, "width": 1.5},
        },
        "unselected": {"marker": {"opacity": 1}},
        "cliponaxis": False,
        "hoverinfo": "skip",
    }


def _beyond_noise(
    D: DistanceMatrix, low: float, high: float, colours: Theme
) -> list[dict[str, Any]]:
    """A shade over the radii beyond the noise floor, where there are some."""
    if D.noise_floor is None or D.noise_floor >= high:
        return []
    shade = {"type": "rect", "x0": max(low, D.noise_floor), "x1": high, "fillcolor": colours.text}
    whole_height = {"y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return [shade | whole_height | {"opacity": 0.06, "line": {"width": 0}, "layer": "below"}]


def _upright(r: float, end: float, line: dict[str, Any]) -> dict[str, Any]:
    ends = {"x0": r, "x1": r, "y0": 0, "y1": end}
    return ends | {"type": "line", "yref": "paper", "line": line, "layer": "below"}


def _mark_line(mark: Mark, plot_height: int, colours: Theme) -> dict[str, Any]:
    end = 1 + (_LABEL_ROW * mark.row - 4) / plot_height
    return _upright(mark.r, end, {"color": colours.edge, "width": 1, "dash": "dot"})


def _mark_text(mark: Mark, colours: Theme) -> dict[str, Any]:
    return {
        "text": mark.text,
        "x": mark.r,
        "y": 1,
        "yref": "paper",
        "xanchor": "left" if mark.to_the_right else "right",
        "yanchor": "middle",
        "xshift": 2 if mark.to_the_right else -2,
        "yshift": _LABEL_ROW * (mark.row - 1) + 6,
        "showarrow": False,
        "font": {"color": colours.edge, "size": _FONT - 1},
    }


def _current_line(r: float, colours: Theme) -> dict[str, Any]:
    return _upright(r, 1, {"color": colours.emphasis, "width": 1.5})


def _current_text(r: float, colours: Theme) -> dict[str, Any]:
    """A plate with the number, on the axis."""
    return {
        "text": f"<b>{r:.3g}</b>",
        "x": r,
        "y": 0,
        "yref": "paper",
        "yanchor": "top",
        "yshift": -3,
        "showarrow": False,
        "bgcolor": colours.emphasis,
        "borderpad": 3,
        "font": {"color": colours.background, "size": _FONT},
    }


def _legend_text(lines: Sequence[dict[str, Any]], top: int) -> dict[str, Any]:
    """One line of text, which unlike plotly's own legend does not break on a narrow screen."""
    keys = [
        f'<span style="color:{line["line"]["color"]}"><b>━━</b></span> {line["name"]}'
        for line in lines[:3]
    ]
    return {
        "text": "\u2003".join(keys),
        "x": 0,
        "xref": "paper",
        "xanchor": "left",
        "xshift": -_LEFT + 12,
        "y": 1,
        "yref": "paper",
        "yanchor": "middle",
        "yshift": top - 14,
        "showarrow": False,
    }


def _layout(colours: Theme, limits: tuple[float, float], height: int, top: int) -> dict[str, Any]:
    quiet = {"color": colours.edge, "size": _FONT - 1}
    return {
        "height": height,
        "margin": {"l": _LEFT, "r": _RIGHT, "t": top, "b": _BOTTOM},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": FACE, "size": _FONT, "color": colours.text},
        "xaxis": {
            "title": {"text": "radius r", "standoff": 14, "font": {"size": _FONT}},
            "range": list(limits),
            "tickfont": quiet,
            "nticks": 8,
            "showgrid": False,
            "zeroline": False,
            "showline": True,
            "linecolor": colours.edge,
            "ticks": "outside",
            "ticklen": 4,
            "tickcolor": colours.edge,
        },
        "yaxis": {
            "rangemode": "tozero",
            "fixedrange": True,
            "tickfont": quiet,
            "tickformat": ",d",
            "nticks": 6,
            "gridcolor": _faint(colours.edge),
            "zeroline": False,
        },
        "showlegend": False,
        "hovermode": "x",
        "hoverdistance": -1,
        "hoverlabel": {
            "bgcolor": colours.background,
            "bordercolor": colours.edge,
            "font": {"family": FACE, "size": _FONT, "color": colours.text},
            "align": "left",
        },
        "clickmode": "event+select",
        "dragmode": "zoom",
    }


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"


WIDTH, HEIGHT = 760, 250
_SVG_LEFT, _SVG_RIGHT, _SVG_BOTTOM, _TOP = 48, 20, 44, 14
_SVG_LABEL_ROW = 16
_TICKS = 6
_PLATE = 38  # width of the plate with the present radius
LINES = ("edges", "cycles", "components")
"""What is drawn, and the class that each line has."""


@dataclass(frozen=True, slots=True)
class _Plot:
    """From numbers to pixels."""

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
    """Draw the same as an ``svg`` element.

    Its parts have classes: ``edges``, ``cycles``, ``components`` for the lines, ``axis``, ``grid``,
    ``mark``, ``beyond`` and ``now``.
    """
    D = curve.D
    low, high = shown_range(curve, D, r)
    marks = marks_between(D, low, high)
    steps = drawn_steps(curve, r)
    tallest = max(1, int(steps.edges.max(initial=0)), D.n_columns)
    ticks = _nice_ticks(0, tallest, smallest=1.0)  # counts are whole numbers
    top = _TOP + _SVG_LABEL_ROW * max((mark.row for mark in marks), default=0)
    plot = _Plot(low, high, max(ticks[-1], tallest), top)
    return "\n".join(
        [
            _opening(curve, r),
            *_beyond(D, plot),
            *_axes(plot, ticks, r),
            *_marks(marks, plot),
            *_svg_lines(steps, D.n_columns, plot),
            *_now(curve, r, plot),
            "</svg>",
        ]
    )


def _opening(curve: EdgeDensity, r: float) -> str:
    edges, cycles, components = (
        f"{number:,} {word if number == 1 else word + 's'}"
        for number, word in zip(counts_at(curve, r), ("edge", "cycle", "component"), strict=True)
    )
    title = f"At r = {r:.4g} the local trees have {edges}, {cycles} and {components}"
    return (
        f'<svg class="curve" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'aria-label="{title}"><title>{title}</title>'
    )


def _beyond(D: DistanceMatrix, plot: _Plot) -> Iterator[str]:
    """Shade the radii beyond the noise floor."""
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
        text = mark.text.replace("<sub>", '<tspan class="sub" dy="3">').replace(
            "</sub>", "</tspan>"
        )
        yield f'<path class="mark" d="M{x} {HEIGHT - _SVG_BOTTOM}V{top}"/>'
        yield (
            f'<text class="axis" x="{x + shift}" y="{top + 9}" text-anchor="{side}">{text}</text>'
        )


def _svg_lines(steps: Steps, n_columns: int, plot: _Plot) -> Iterator[str]:
    counts = (steps.edges, steps.cycles, steps.components)
    for name, count, first in reversed(list(zip(LINES, counts, (0, 0, n_columns), strict=True))):
        path = [f"M{_SVG_LEFT} {plot.y(first)}"]
        path += [
            f"H{plot.x(r)}V{plot.y(number)}"
            for r, number in zip(steps.r.tolist(), count.tolist(), strict=True)
        ]
        yield f'<path class="line {name}" d="{"".join(path)}H{WIDTH - _SVG_RIGHT}"/>'


def _now(curve: EdgeDensity, r: float, plot: _Plot) -> Iterator[str]:
    """A line at the present radius, a dot on each step, and the number on the axis."""
    x, base = plot.x(r), HEIGHT - _SVG_BOTTOM
    yield f'<path class="now" d="M{x} {base}V{plot.top}"/>'
    for name, number in zip(LINES, counts_at(curve, r), strict=True):
        yield f'<circle class="dot {name}" cx="{x}" cy="{plot.y(number)}" r="4"/>'
    left = round(x - _PLATE / 2, 1)
    yield f'<rect class="plate" x="{left}" y="{base + 4}" width="{_PLATE}" height="19" rx="3"/>'
    yield f'<text class="plate" x="{x}" y="{base + 18}" text-anchor="middle">{r:.3g}</text>'


def _nice_ticks(low: float, high: float, smallest: float = 0.0) -> list[float]:
    """Round numbers from low to high, at most about six of them."""
    step = 1.0
    while (high - low) / step > _TICKS:
        step *= 10
    while (high - low) / (step / 10) <= _TICKS:
        step /= 10
    step = next(part for part in (step / 5, step / 2, step) if (high - low) / part <= _TICKS)
    step = max(step, smallest)
    first = -int(-low // step)
    return [round(k * step, 10) for k in range(first, int(high / step + 1e-9) + 1)]
