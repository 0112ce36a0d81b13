"""Edges of the initial graph against r as an SVG: the paper's last figure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from loopylatent.learning.initial_graph import EdgeDensity

WIDTH, HEIGHT, PANEL = 760, 250, 330
LEFT, TOP, BASE = 46, 48, 205
BLUE = "#0072B2"
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
    'aria-label="Edges of the initial graph against r">'
    "<style>text{{font:12px sans-serif;fill:#5B6776}} .t{{font-weight:600;fill:#7A8694}}"
    "</style>"
)


def density_svg(curves: Mapping[str, EdgeDensity]) -> str:
    """Draw one panel per data set."""
    width = LEFT + len(curves) * (PANEL + LEFT)
    panels = [
        _panel(title, curve, LEFT + k * (PANEL + LEFT)) for k, (title, curve) in
        enumerate(curves.items())
    ]  # fmt: skip
    return HEAD.format(width=width, height=HEIGHT) + "".join(panels) + "</svg>\n"


def _panel(title: str, curve: EdgeDensity, left: float) -> str:
    low, high = curve.D.r_min, curve.D.r_max
    radii = np.linspace(low, high, 400)
    edges = np.array([curve.at(float(r)) for r in radii])
    most = float(edges.max())

    def x(r: float) -> float:
        return round(left + (r - low) / (high - low) * (PANEL - 20), 1)

    def y(count: float) -> float:
        return round(BASE - count / most * (BASE - TOP), 1)

    line = " ".join(f"{x(r)},{y(count)}" for r, count in zip(radii, edges, strict=True))
    ticks = np.arange(np.ceil(low), np.floor(high) + 1, 1 if high < 9 else 2)
    marks = "".join(
        f'<text x="{x(r)}" y="{BASE + 17}" text-anchor="middle">{r:g}</text>' for r in ticks
    )
    peak = float(radii[int(edges.argmax())])
    return (
        f'<text class="t" x="{left}" y="16">{title}</text>'
        f'<line x1="{left}" y1="{BASE}" x2="{left + PANEL - 20}" y2="{BASE}" stroke="#A7B3C2"/>'
        f'<polyline points="{line}" fill="none" stroke="{BLUE}" stroke-width="2"/>'
        f'<text x="{x(peak)}" y="{y(most) - 6}">{most:.0f} edges at r = {peak:.1f}</text>'
        f'<text x="{left - 6}" y="{y(edges[-1]) + 4}" text-anchor="end">{edges[-1]}</text>'
        f'{marks}<text x="{left + PANEL / 2}" y="{BASE + 36}" text-anchor="middle">r</text>'
    )
