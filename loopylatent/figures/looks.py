"""The colours, symbols and strokes of every picture, in a light and a dark theme.

Observed nodes are dots and hidden nodes are diamonds; a strong edge (short distance) is wide
and dark. Colours begin with those of Okabe and Ito; colour-blind readers can tell them apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from loopylatent.compute.checks import check_choice

ThemeName = Literal["light", "dark"]
Shape = Literal["dot", "diamond", "line", "dashes"]

NEGATIVE = "#D55E00"
EDGE = "edge: the wider, the stronger"
"""What a legend says of a plain edge."""
DASHES = (7, 5)
FAINTEST = 0.7
"""Opacity of the weakest edge: with less it would be too faint on white."""
BORDER = 1.5
FACE = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme that carry a meaning."""

    background: str
    text: str
    muted: str
    observed: str
    hidden: str
    plain: str
    """A node without a group, in a picture coloured by groups."""
    edge: str
    emphasis: str
    """The edges and the border of what the pointer is on."""
    groups: tuple[str, ...]
    rim: float
    """Brightness of a symbol's border beside its fill: bright fills need one on white."""


THEMES: Mapping[ThemeName, Theme] = {
    "light": Theme(
        background="#FFFFFF",
        text="#1B2430",
        muted="#7A5200",
        observed="#0072B2",
        hidden="#E69F00",
        plain="#C3CAD3",
        edge="#5B6776",
        emphasis="#111820",
        groups=("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#882255"),
        rim=0.7,
    ),
    "dark": Theme(
        background="#10151C",
        text="#E8ECF1",
        muted="#F2C76B",
        observed="#56B4E9",
        hidden="#E69F00",
        plain="#6B7785",
        edge="#A7B3C2",
        emphasis="#FFFFFF",
        groups=("#0B9AE4", "#E69F00", "#008055", "#C174A4", "#9FD9F9", "#D55E00", "#FFF457"),
        rim=1.0,
    ),
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """How a node is drawn."""

    shape: Literal["dot", "diamond"]
    fill: str
    border: str


@dataclass(frozen=True, slots=True)
class Stroke:
    """How an edge is drawn, as far as its length says it."""

    width: float
    opacity: float


@dataclass(frozen=True, slots=True)
class LegendItem:
    """One line of a legend: a symbol and what it means."""

    shape: Shape
    fill: str
    border: str
    text: str


def colours_of(name: ThemeName) -> Theme:
    """Return the colours of a theme, or one line about a name that is none."""
    check_choice("theme", name, get_args(ThemeName))
    return THEMES[name]


def colour_number(group: int) -> int:
    """Number of a group's look: there are fourteen, and then they repeat."""
    return group % 14


def symbol(is_hidden: bool, group: int | None, grouped: bool, colours: Theme) -> Symbol:
    """Shape and colours of a node, in a picture that is coloured by groups or is not.

    Groups have seven full colours, then the same seven as rings.
    """
    shape: Literal["dot", "diamond"] = "diamond" if is_hidden else "dot"
    if grouped and group is not None:
        ring, number = divmod(colour_number(group), 7)
        colour = colours.groups[number]
        return Symbol(shape, colours.background if ring else colour, _rim(colour, colours))
    fill = colours.plain if grouped else colours.hidden if is_hidden else colours.observed
    return Symbol(shape, fill, _rim(fill, colours))


def stroke(length: float, n_nodes: int) -> Stroke:
    """Width and opacity of an edge: the stronger, the wider and the darker."""
    strength = math.exp(-length)
    enlarged = max(1.0, n_nodes / 400) ** 0.5  # a large graph is seen from farther away
    return Stroke(
        round((0.75 + 6.2 * strength) * enlarged, 2),
        round(FAINTEST + (0.95 - FAINTEST) * min(1.0, 1.6 * strength), 2),
    )


def _rim(colour: str, colours: Theme) -> str:
    return "#" + "".join(f"{round(part * colours.rim):02X}" for part in _parts(colour))


def _parts(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def mixed(one: str, other: str, share: float) -> str:
    """A share of one colour and the rest of another."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02X}" for a, b in pairs)


def see_through(colour: str, opacity: float) -> str:
    """A colour that covers only in part what lies below it."""
    return f"rgba({','.join(map(str, _parts(colour)))},{opacity:g})"


def vis_edge(colour: str, **more: Any) -> dict[str, Any]:
    """The colour of an edge of a picture that stays when it is pointed at."""
    return {"color": colour, "highlight": colour, "hover": colour} | more


def vis_node(fill: str, border: str, pointed_at: str) -> dict[str, Any]:
    """The colours of a node of a picture; its border changes when it is pointed at."""
    touched = {"background": fill, "border": pointed_at}
    return {"background": fill, "border": border, "highlight": touched, "hover": touched}
