"""The initial graph against r as a small picture inside a page, exact at every drawn point.

Colours are classes that the page paints, so that it can be light, dark or printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from loopylatent.distances import DistanceMatrix
from loopylatent.figures.curve import (
    Mark,
    Steps,
    counts_at,
    drawn_steps,
    marks_between,
    shown_range,
)
from loopylatent.initial_graph import EdgeDensity

WIDTH, HEIGHT = 760, 250
_LEFT, _RIGHT, _BOTTOM, _TOP = 48, 20, 44, 14
_LABEL_ROW = 16
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
        return round(_LEFT + inside * (WIDTH - _LEFT - _RIGHT), 1)

    def y(self, number: float) -> float:
        base = HEIGHT - _BOTTOM
        return round(base - number / self.most * (base - self.top), 1)


def curve_svg(curve: EdgeDensity, r: float) -> str:
    """Draw the numbers of edges, cycles and components of the initial graph against r.

    Parameters
    ----------
    curve : EdgeDensity
    r : float
        The radius of the graph: a line and a dot on each step.

    Returns
    -------
    str
        An ``svg`` element whose parts have classes: ``edges``, ``cycles``, ``components`` for the
        lines, ``axis``, ``grid``, ``mark``, ``beyond`` and ``now``.

    Examples
    --------
    >>> from loopylatent.initial_graph import edge_density
    >>> D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]])
    >>> picture = curve_svg(edge_density(D), 2.7)
    >>> picture.count('<path class="line'), "2 edges, 0 cycles and 1 component" in picture
    (3, True)
    """
    D = curve.D
    low, high = shown_range(curve, D, r)
    marks = marks_between(D, low, high)
    steps = drawn_steps(curve, r)
    tallest = max(1, int(steps.edges.max(initial=0)), D.n_columns)
    ticks = _nice_ticks(0, tallest, smallest=1.0)  # counts are whole numbers
    top = _TOP + _LABEL_ROW * max((mark.row for mark in marks), default=0)
    plot = _Plot(low, high, max(ticks[-1], tallest), top)
    return "\n".join(
        [
            _opening(curve, r),
            *_beyond(D, plot),
            *_axes(plot, ticks, r),
            *_marks(marks, plot),
            *_lines(steps, D.n_columns, plot),
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
        height = HEIGHT - _BOTTOM - plot.top
        width = round(WIDTH - _RIGHT - left, 1)
        yield f'<rect class="beyond" x="{left}" y="{plot.top}" width="{width}" height="{height}"/>'


def _axes(plot: _Plot, ticks: Sequence[float], now: float) -> Iterator[str]:
    base, right = HEIGHT - _BOTTOM, WIDTH - _RIGHT
    for tick in ticks:
        y = plot.y(tick)
        yield f'<path class="grid" d="M{_LEFT} {y}H{right}"/>'
        yield f'<text class="axis" x="{_LEFT - 7}" y="{y + 4}" text-anchor="end">{tick:,.0f}</text>'
    for tick in _nice_ticks(plot.low, plot.high):
        x = plot.x(tick)
        yield f'<path class="tick" d="M{x} {base}v5"/>'
        if abs(x - plot.x(now)) > _PLATE:
            yield f'<text class="axis" x="{x}" y="{base + 18}" text-anchor="middle">{tick:g}</text>'
    yield f'<path class="tick" d="M{_LEFT} {base}H{right}"/>'
    middle = (_LEFT + right) // 2
    yield f'<text class="axis" x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">radius r</text>'


def _marks(marks: Sequence[Mark], plot: _Plot) -> Iterator[str]:
    for mark in marks:
        x, top = plot.x(mark.r), plot.top - _LABEL_ROW * mark.row + 4
        side, shift = ("start", 3) if mark.to_the_right else ("end", -3)
        text = mark.text.replace("<sub>", '<tspan class="sub" dy="3">').replace(
            "</sub>", "</tspan>"
        )
        yield f'<path class="mark" d="M{x} {HEIGHT - _BOTTOM}V{top}"/>'
        yield (
            f'<text class="axis" x="{x + shift}" y="{top + 9}" text-anchor="{side}">{text}</text>'
        )


def _lines(steps: Steps, n_columns: int, plot: _Plot) -> Iterator[str]:
    counts = (steps.edges, steps.cycles, steps.components)
    for name, count, first in reversed(list(zip(LINES, counts, (0, 0, n_columns), strict=True))):
        path = [f"M{_LEFT} {plot.y(first)}"]
        path += [
            f"H{plot.x(r)}V{plot.y(number)}"
            for r, number in zip(steps.r.tolist(), count.tolist(), strict=True)
        ]
        yield f'<path class="line {name}" d="{"".join(path)}H{WIDTH - _RIGHT}"/>'


def _now(curve: EdgeDensity, r: float, plot: _Plot) -> Iterator[str]:
    """A line at the present radius, a dot on each step, and the number on the axis."""
    x, base = plot.x(r), HEIGHT - _BOTTOM
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
