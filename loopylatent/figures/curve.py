"""The initial graph against r: edges, cycles and components, exact at every drawn point.

As a plotly figure, and as a small picture inside a page, whose colours are classes that the page
paints, so that it can be light, dark or printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from loopylatent.compute.arrays import FloatArray, IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import ThresholdError
from loopylatent.figures import parts
from loopylatent.figures.looks import Theme, ThemeName, colours_of
from loopylatent.figures.parts import Part
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
    lines = _lines(curve, r, (low, high), colours)
    line, plate = parts.here(r, colours)
    dots = {"color": colours.edge, "width": 1, "dash": "dot"}
    ends = [1 + (_LABEL_ROW * mark.row - 4) / (height - top - _BOTTOM) for mark in marks]
    legend = {one["name"]: one["line"]["color"] for one in lines[:3]}
    # all at once: plotly checks everything again whenever a part is added
    layout = parts.framed(colours, height, _LEFT, _RIGHT, top, _BOTTOM) | {
        "xaxis": parts.radius_axis(colours, low, high, 8, 14),
        "yaxis": parts.value_axis(colours)
        | {"rangemode": "tozero", "tickformat": ",d", "nticks": 6},
        "hovermode": "x",
        "hoverdistance": -1,
        "uirevision": known.digest,
        "shapes": [
            *parts.beyond_noise(known, low, high, colours),
            *(parts.upright(mark.r, end, **dots) for mark, end in zip(marks, ends, strict=True)),
            line,
        ],
        "annotations": [
            *(_mark_text(mark, colours) for mark in marks),
            plate,
            parts.keys(legend, 1, -_LEFT + 12) | {"yanchor": "middle", "yshift": top - 14},
        ],
    }
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


def _lines(curve: EdgeDensity, r: float, limits: tuple[float, float], colours: Theme) -> list[Part]:
    low, high = limits
    steps, at_r = drawn_steps(curve, r), counts_at(curve, r)
    paints = (colours.observed, colours.groups[5], colours.groups[2])
    counts = (steps.edges, steps.cycles, steps.components)
    before = (0, 0, curve.D.n_columns)
    lines = [
        parts.scatter(
            counted,
            [low, *steps.r.tolist(), high],
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
    lines.append(
        parts.targets(
            "breakpoints", steps.r, steps.edges, np.column_stack([steps.r, *counts]), hover
        )
    )
    rim = {"color": colours.background, "width": 1.5}
    dots = parts.scatter(
        "current r", [r] * 3, list(at_r), "markers", cliponaxis=False, hoverinfo="skip"
    )
    marker = {"size": 8, "color": list(paints), "line": rim}
    lines.append(dots | {"marker": marker, "unselected": parts.OPAQUE})
    return lines


def _counted(counts: Sequence[int]) -> list[str]:
    """The numbers of edges, cycles and components in words."""
    words = zip(counts, ("edge", "cycle", "component"), strict=True)
    return [f"{number:,} {word}{'' if number == 1 else 's'}" for number, word in words]


def _mark_text(mark: Mark, colours: Theme) -> Part:
    anchor, shift = ("left", 2) if mark.to_the_right else ("right", -2)
    place = {"xanchor": anchor, "yanchor": "middle", "xshift": shift}
    height = _LABEL_ROW * (mark.row - 1) + 6
    return parts.note(mark.text, mark.r, 1, yshift=height, font=parts.quiet(colours), **place)


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
    edges, cycles, components = _counted(counts_at(curve, r))
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
