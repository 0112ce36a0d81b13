"""The score of a refinement over its moves, as a low strip."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from loopylatent.figures.charts import OPAQUE, Part, figure_of, framed, scatter, targets
from loopylatent.figures.layout import shown_label
from loopylatent.figures.network import ThemeName, colours_of, with_opacity
from loopylatent.learning.refinement import Refinement

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

HEIGHT = 64
EDGE = 9
"""Distance of the first and last move from the edges, that of the slider below the strip."""
LONGEST = 70


def score_figure(found: Refinement, at: int, theme: ThemeName = "light") -> Figure:
    """Draw the score after each move, relative to the start, with a point at the move ``at``.

    The trace ``moves`` can be clicked; its ``customdata`` starts with the number of the move.
    """
    words = ["the learned graph", *(shown_label(step.words, LONGEST) for step in found.steps[1:])]
    rows = [[k, escape(text)] for k, text in enumerate(words)]
    hover = "move %{customdata[0]}: %{customdata[1]}<br>score %{y:+.1f}"
    rise = _rise(found.score_history)
    moves = targets("moves", list(range(len(rise))), rise, rows, hover, size=16)
    return _strip(rise, at, theme, [moves])


def rounds_figure(scores: Sequence[float], theme: ThemeName = "light") -> Figure:
    """Draw the best score after each round of a running search, relative to the first."""
    rise = _rise(scores) or [0.0]
    return _strip(rise, len(rise) - 1, theme, [])


def _rise(scores: Sequence[float]) -> list[float]:
    return [score - scores[0] for score in scores]


def _strip(rise: list[float], at: int, theme: ThemeName, more: list[Part]) -> Figure:
    colours = colours_of(theme)
    line = {"color": colours.edge, "width": 2}
    area = {"fill": "tozeroy", "fillcolor": with_opacity(colours.edge, 0.16)}
    point = {"color": colours.emphasis, "size": 10}
    drawn = {"marker": point, "selected": OPAQUE, "unselected": OPAQUE, "hoverinfo": "skip"}
    axis = {"visible": False, "fixedrange": True}
    layout = framed(colours, HEIGHT, EDGE, EDGE, 6, 6) | {
        "xaxis": axis | {"range": [0, max(len(rise) - 1, 1)]},
        "yaxis": axis | {"range": [0, max(rise[-1], 1e-9)]},
        "hovermode": "closest",
        "dragmode": False,
    }
    score = scatter("score", list(range(len(rise))), rise, line=line, hoverinfo="skip", **area)
    here = scatter("shown", [at], [rise[at]], "markers", cliponaxis=False, **drawn)
    return figure_of([score, *([here] if len(rise) > 1 else []), *more], layout)
