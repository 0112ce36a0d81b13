"""Line plots with logarithmic axes as one SVG."""

from __future__ import annotations

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

COLOURS = ("#1b6ca8", "#c8553d", "#3a7d44", "#7b4b94", "#b8860b", "#4a4a4a")
PANEL_WIDTH, PANEL_HEIGHT = 470, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 14, 34, 92
_LEGEND_LINE = 16
_FONT = "font-family='sans-serif' font-size='12' fill='#222'"


@dataclass(frozen=True, slots=True)
class Line:
    """One curve."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class Panel:
    """Curves over one horizontal axis."""

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]


def log_plot(panels: Sequence[Panel], columns: int = 2) -> str:
    """Draw the panels row by row."""
    width = PANEL_WIDTH * min(columns, len(panels))
    height = PANEL_HEIGHT * math.ceil(len(panels) / columns)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' "
        f"width='{width}' height='{height}' role='img'>",
        f"<rect width='{width}' height='{height}' fill='white'/>",
    ]
    for number, panel in enumerate(panels):
        row, column = divmod(number, columns)
        parts.append(f"<g transform='translate({column * PANEL_WIDTH} {row * PANEL_HEIGHT})'>")
        parts.extend(_Frame.around(panel).drawn(panel))
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


@dataclass(frozen=True, slots=True)
class _Frame:
    """Maps values to pixels; limits are base-10 logarithms."""

    x_low: float
    x_high: float
    y_low: int
    y_high: int

    @classmethod
    def around(cls, panel: Panel) -> _Frame:
        x = [math.log10(value) for line in panel.lines for value in line.x]
        y = [math.log10(value) for line in panel.lines for value in line.y]
        low, high = math.floor(min(y)), math.ceil(max(y))
        return cls(min(x) - 0.05, max(x) + 0.05, low, max(high, low + 1))

    def x(self, value: float) -> float:
        inside = (math.log10(value) - self.x_low) / (self.x_high - self.x_low)
        return round(_LEFT + inside * (PANEL_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, value: float) -> float:
        inside = (math.log10(value) - self.y_low) / (self.y_high - self.y_low)
        return round(PANEL_HEIGHT - _BOTTOM - inside * (PANEL_HEIGHT - _BOTTOM - _TOP), 1)

    def drawn(self, panel: Panel) -> Iterator[str]:
        yield _text(_LEFT, _TOP - 14, panel.title, "font-weight='bold'")
        yield from self._axes(panel)
        for number, line in enumerate(panel.lines):
            colour = COLOURS[number % len(COLOURS)]
            points = [(self.x(x), self.y(y)) for x, y in zip(line.x, line.y, strict=True)]
            path = " ".join(f"{x},{y}" for x, y in points)
            yield f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>"
            yield from (f"<circle cx='{x}' cy='{y}' r='3' fill='{colour}'/>" for x, y in points)
            yield from _key(number, line.name, colour)

    def _axes(self, panel: Panel) -> Iterator[str]:
        base, right = PANEL_HEIGHT - _BOTTOM, PANEL_WIDTH - _RIGHT
        for power in range(self.y_low, self.y_high + 1):
            y = self.y(10.0**power)
            yield f"<path d='M{_LEFT} {y}H{right}' stroke='#ddd'/>"
            yield _text(_LEFT - 6, y + 4, f"{10.0**power:g}", "text-anchor='end'")
        for value in sorted({value for line in panel.lines for value in line.x}):
            x = self.x(value)
            yield f"<path d='M{x} {base}v5' stroke='#222'/>"
            yield _text(x, base + 18, _short(value), "text-anchor='middle'")
        yield f"<path d='M{_LEFT} {_TOP}V{base}H{right}' fill='none' stroke='#222'/>"
        yield _text((_LEFT + right) / 2, base + 34, panel.x_label, "text-anchor='middle'")
        middle = (_TOP + base) / 2
        turned = f"text-anchor='middle' transform='rotate(-90 16 {middle})'"
        yield _text(16, middle, panel.y_label, turned)


def _key(number: int, name: str, colour: str) -> Iterator[str]:
    x = _LEFT + (number % 2) * (PANEL_WIDTH - _LEFT) / 2
    y = PANEL_HEIGHT - _BOTTOM + 52 + (number // 2) * _LEGEND_LINE
    yield f"<path d='M{x} {y - 4}h18' stroke='{colour}' stroke-width='3'/>"
    yield _text(x + 24, y, name, "")


def _text(x: float, y: float, text: str, attributes: str) -> str:
    return f"<text x='{x}' y='{y}' {_FONT} {attributes}>{html.escape(text)}</text>"


def _short(value: float) -> str:
    """1000 as 1k, 1000000 as 1M."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"
