"""The barcode of r as a plotly figure: a bar for the life of each cycle and each hidden node."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from loopylatent.analysis.sweep.barcode import Bar
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.labels import shown_label
from loopylatent.figures.looks import ThemeName, colours_of
from loopylatent.figures.sweep import (
    draw_current,
    framed,
    mark_radii,
    quiet,
    radius_axis,
    structure_colours,
)

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

MOST_OF_EACH = 12
"""Bars of each kind that are drawn: the longest."""
LONGEST = 30
TITLES = {"cycle": "cycles", "hidden": "hidden"}


def longest(bars: Sequence[Bar], kind: str, most: int = MOST_OF_EACH) -> list[Bar]:
    """Return the longest bars of a kind, longest first; those without length are left out."""
    return [bar for bar in bars if bar.kind == kind and bar.length > 0][:most]


def barcode_figure(
    bars: Sequence[Bar],
    *,
    r: float,
    D: DistanceMatrix,
    theme: ThemeName = "light",
    height: int = 460,
) -> Figure:
    """Draw the longest lives of cycles and of hidden nodes, with the columns they are known by.

    What is alive at ``r`` has its full colour. The first value of the customdata of a bar is the
    radius in the middle of its life.
    """
    import plotly.graph_objects as go

    colours = colours_of(theme)
    paints = structure_colours(colours)
    room = 0.03 * max(D.r_max - D.r_min, 1e-9)
    figure = go.Figure(layout=framed(colours, height))
    ticks: list[str] = []
    for kind, title in TITLES.items():
        chosen = longest(bars, kind)
        alive = [bar.start <= r < bar.end or r >= bar.end >= D.r_max for bar in chosen]
        solid = {"marker": {"opacity": 1.0}}
        figure.add_trace(
            {
                "type": "bar",
                "name": title,
                "orientation": "h",
                "base": [bar.start for bar in chosen],
                "x": [bar.length for bar in chosen],
                "y": [len(ticks) + k for k in range(len(chosen))],
                "customdata": [(bar.middle, bar.start, bar.end, _names(bar, 90)) for bar in chosen],
                "marker": {
                    "color": paints[title],
                    "opacity": [1.0 if here else 0.4 for here in alive],
                    "line": {"width": 0},
                },
                "selected": solid,
                "unselected": solid,
                "hovertemplate": (
                    "%{customdata[3]}<br>from r = %{customdata[1]:.3f} to "
                    "%{customdata[2]:.3f}<extra></extra>"
                ),
            }
        )
        ticks += [_names(bar, LONGEST) for bar in chosen]
    figure.update_layout(
        bargap=0.3,
        barmode="overlay",
        margin={"l": 190, "t": 42},
        xaxis=radius_axis(colours) | {"range": [min(r, D.r_min) - room, max(r, D.r_max) + room]},
        yaxis={
            "tickvals": list(range(len(ticks))),
            "ticktext": ticks,
            "tickfont": quiet(colours),
            "range": [len(ticks) - 0.4, -0.6],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        hovermode="closest",
        uirevision=D.digest,
    )
    mark_radii(figure, D)
    draw_current(figure, r, colours)
    _legend(figure, paints)
    return figure


def _names(bar: Bar, longest_text: int) -> str:
    """The columns of a bar on one line; names are data and are escaped."""
    return escape(
        shown_label(", ".join(shown_label(name, 14) for name in bar.columns), longest_text)
    )


def _legend(figure: Figure, paints: dict[str, str]) -> None:
    words = {"cycles": "a cycle, by its columns", "hidden": "a hidden node, by the nearest columns"}
    keys = [f'<span style="color:{paints[k]}"><b>━━</b></span> {text}' for k, text in words.items()]
    figure.add_annotation(
        text="\u2003".join(keys), x=0, xref="paper", xanchor="left", xshift=-180, y=1,
        yref="paper", yanchor="bottom", yshift=18, showarrow=False,
    )  # fmt: skip
