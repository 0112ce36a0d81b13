"""What the plotly figures share: frame, axes, marks at radii, legends on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.looks import FACE, Theme, see_through

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Part = dict[str, Any]
"""A part of a figure as plotly takes it: plain, for plotly checks every part that is added."""
FONT = 12
CLEAR = "rgba(0,0,0,0)"
LEFT = 52
OPAQUE: Part = {"marker": {"opacity": 1}}


def framed(
    colours: Theme, height: int, left: int = LEFT, right: int = 16, top: int = 48, bottom: int = 46
) -> Part:
    """The layout that all figures share."""
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


def with_legend(colours: Theme, height: int, left: int, **more: Any) -> Part:
    """The same with plotly's own legend, in one line above the figure."""
    place = {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "bgcolor": CLEAR}
    shown = {"showlegend": True, "legend": place, "hovermode": "closest"}
    return framed(colours, height, left, top=34) | shown | more


def quiet(colours: Theme) -> Part:
    """The font of numbers on axes."""
    return {"color": colours.edge, "size": FONT - 1}


def faint(colours: Theme) -> str:
    """The colour of grid lines."""
    return see_through(colours.edge, 0.18)


def title(text: str, standoff: int) -> Part:
    """The title of an axis."""
    return {"title": {"text": text, "standoff": standoff, "font": {"size": FONT}}}


def value_axis(colours: Theme, text: str = "") -> Part:
    """An axis of numbers that cannot be moved."""
    looks = {"tickfont": quiet(colours), "gridcolor": faint(colours)}
    return looks | {"zeroline": False, "fixedrange": True} | (title(text, 10) if text else {})


def named_axis(colours: Theme, texts: Sequence[str], limits: Sequence[float]) -> Part:
    """An axis with a name at each whole number."""
    ticks = {"tickvals": list(range(len(texts))), "ticktext": texts, "tickfont": quiet(colours)}
    return ticks | {"range": limits, "showgrid": False, "zeroline": False, "fixedrange": True}


def radius_axis(colours: Theme, low: float, high: float, n_ticks: int = 9, apart: int = 12) -> Part:
    """The axis of r."""
    line = {"showline": True, "linecolor": colours.edge, "showgrid": False, "zeroline": False}
    ticks = {"ticks": "outside", "ticklen": 4, "tickcolor": colours.edge, "nticks": n_ticks}
    return (
        title("radius r", apart)
        | line
        | ticks
        | {"tickfont": quiet(colours)}
        | ({"range": [low, high]})
    )


def scatter(name: str | None, x: Any, y: Any, mode: str = "lines", **more: Any) -> Part:
    """A line or points."""
    return {"type": "scatter", "name": name, "mode": mode, "x": x, "y": y} | more


def targets(name: str, x: Any, y: Any, rows: Any, hover: str, **marker: Any) -> Part:
    """Points that are not seen but can be pointed at and clicked."""
    unseen = {"marker": {"opacity": 0}}
    return scatter(
        name, x, y, "markers", customdata=rows, selected=unseen, unselected=unseen,
        marker={"opacity": 0, "size": 9} | marker, hovertemplate=f"{hover}<extra></extra>",
    )  # fmt: skip


def note(text: str, x: float, y: float, **more: Any) -> Part:
    """A text at a place; y is a share of the height."""
    return {"text": text, "x": x, "y": y, "yref": "paper", "showarrow": False} | more


def keys(paints: Mapping[str, str], y: float, xshift: int, more: Sequence[str] = ()) -> Part:
    """A legend in one line of text, which unlike plotly's own does not break on a narrow screen."""
    drawn = [f'<span style="color:{paint}"><b>━━</b></span> {n}' for n, paint in paints.items()]
    return note("\u2003".join([*drawn, *more]), 0, y, xref="paper", xanchor="left", xshift=xshift)


def upright(r: float, end: float, **line: Any) -> Part:
    """A line at a radius."""
    ends = {"x0": r, "x1": r, "y0": 0, "y1": end}
    return ends | {"type": "line", "yref": "paper", "line": line, "layer": "below"}


def here(r: float, colours: Theme) -> tuple[Part, Part]:
    """A line at the present radius, and on the axis a plate with the number."""
    looks = {"bgcolor": colours.emphasis, "borderpad": 3, "yanchor": "top", "yshift": -3}
    font = {"color": colours.background, "size": FONT}
    line = upright(r, 1, color=colours.emphasis, width=1.5)
    return line, note(f"<b>{r:.3g}</b>", r, 0, font=font, **looks)


def beyond_noise(D: DistanceMatrix, low: float, high: float, colours: Theme) -> list[Part]:
    """A shade over the radii beyond the noise floor, where there are some."""
    if D.noise_floor is None or D.noise_floor >= high:
        return []
    shade = {"type": "rect", "x0": max(low, D.noise_floor), "x1": high, "fillcolor": colours.text}
    whole_height = {"y0": 0, "y1": 1, "xref": "x", "yref": "y domain"}
    return [shade | whole_height | {"opacity": 0.06, "line": {"width": 0}, "layer": "below"}]


def draw_radii(figure: Figure, D: DistanceMatrix, r: float, colours: Theme) -> None:
    """Name r_min, r_max and the noise floor above the figure, and mark the present radius."""
    low, high = figure.layout.xaxis.range
    marks = [(D.r_min, "r min", "left"), (D.r_max, "r max", "right")]
    if D.noise_floor is not None and low < D.noise_floor < high:
        marks.append((D.noise_floor, "beyond noise →", "left"))
    for value, text, anchor in marks:
        figure.add_shape(upright(value, 1, color=colours.edge, width=1, dash="dot"))
        place = {"yanchor": "bottom", "xanchor": anchor}
        figure.add_annotation(note(text, value, 1, font=quiet(colours), **place))
    line, plate = here(r, colours)
    figure.add_shape(line)
    figure.add_annotation(plate)


def shown_radii(D: DistanceMatrix, r: float) -> tuple[float, float]:
    """The first and the last radius that a sweep shows."""
    room = 0.03 * max(D.r_max - D.r_min, 1e-9)
    return min(r, D.r_min) - room, max(r, D.r_max) + room


def draw_mark(figure: Figure, x: float, colours: Theme) -> None:
    """A line where the page stands now."""
    figure.add_vline(x=x, line={"color": colours.text, "width": 1.2, "dash": "dash"}, opacity=0.6)
