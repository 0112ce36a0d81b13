"""The score of a refinement over its moves, as a low strip."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from loopylatent.figures.charts import OPAQUE, figure_of, framed, scatter, targets
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
    colours = colours_of(theme)
    rise = [score - found.score_history[0] for score in found.score_history]
    moves, top = list(range(len(rise))), max(rise[-1], 1e-9)
    words = ["the learned graph", *(shown_label(step.words, LONGEST) for step in found.steps[1:])]
    rows = [[k, escape(text)] for k, text in enumerate(words)]
    line = {"color": colours.edge, "width": 2}
    area = {"fill": "tozeroy", "fillcolor": with_opacity(colours.edge, 0.16)}
    point = {"color": colours.emphasis, "size": 10}
    drawn = {"marker": point, "selected": OPAQUE, "unselected": OPAQUE, "hoverinfo": "skip"}
    hover = "move %{customdata[0]}: %{customdata[1]}<br>score %{y:+.1f}"
    axis = {"visible": False, "fixedrange": True}
    layout = framed(colours, HEIGHT, EDGE, EDGE, 6, 6) | {
        "xaxis": axis | {"range": [0, max(len(moves) - 1, 1)]},
        "yaxis": axis | {"range": [0, top]},
        "hovermode": "closest",
        "dragmode": False,
    }
    parts = [
        scatter("score", moves, rise, line=line, hoverinfo="skip", **area),
        scatter("shown", [at], [rise[at]], "markers", cliponaxis=False, **drawn),
        targets("moves", moves, rise, rows, hover, size=16),
    ]
    return figure_of(parts, layout)
