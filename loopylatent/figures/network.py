"""A learned graph as a pyvis network with a legend.

Nodes have a vis *group* and no colours of their own, so themes differ only in ``options``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from loopylatent.analysis.matching import sorted_edges
from loopylatent.compute.values import FloatArray, IntArray, check_choice
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import DataError, Remedy
from loopylatent.figures.layout import FONT_SIZE, NODE_SIZE, labels_above, shown_label
from loopylatent.graph import (
    Groups,
    LatentGraph,
    checked_signs,
    groups_by_node,
    names_of_groups,
    node_labels,
)

if TYPE_CHECKING:
    from pyvis.network import Network

ThemeName = Literal["light", "dark"]
Shape = Literal["dot", "diamond", "line", "dashes"]

NEGATIVE = "#D55E00"
EDGE = "edge: wider is stronger"
"""Legend text of an ordinary edge."""
DASHES = (7, 5)
FAINTEST = 0.7
"""Opacity of the weakest edge; less would be too faint on white."""
BORDER = 1.5
FACE = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one theme."""

    background: str
    text: str
    muted: str
    observed: str
    hidden: str
    ungrouped: str
    """A node without a group, in a picture coloured by groups."""
    edge: str
    emphasis: str
    """Edges and borders under the pointer."""
    groups: tuple[str, ...]
    rim: float
    """Brightness of a border relative to its fill; bright fills need a darker one on white."""


THEMES: Mapping[ThemeName, Theme] = {
    "light": Theme(
        background="#FFFFFF",
        text="#1B2430",
        muted="#7A5200",
        observed="#0072B2",
        hidden="#E69F00",
        ungrouped="#C3CAD3",
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
        ungrouped="#6B7785",
        edge="#A7B3C2",
        emphasis="#FFFFFF",
        groups=("#0B9AE4", "#E69F00", "#008055", "#C174A4", "#9FD9F9", "#D55E00", "#FFF457"),
        rim=1.0,
    ),
}


@dataclass(frozen=True, slots=True)
class Symbol:
    """The look of a node."""

    shape: Literal["dot", "diamond"]
    fill: str
    border: str


@dataclass(frozen=True, slots=True)
class Stroke:
    """The look of an edge that depends on its length."""

    width: float
    opacity: float


@dataclass(frozen=True, slots=True)
class LegendItem:
    """One entry of a legend: a symbol and its meaning."""

    shape: Shape
    fill: str
    border: str
    text: str


def colours_of(name: ThemeName) -> Theme:
    """Return the colours of a theme; raise if the name is unknown."""
    check_choice("theme", name, get_args(ThemeName))
    return THEMES[name]


def colour_number(group: int) -> int:
    """Return the look of a group; there are fourteen, then they repeat."""
    return group % 14


def symbol(is_hidden: bool, group: int | None, grouped: bool, colours: Theme) -> Symbol:
    """Return the symbol of a node; groups have seven fills, then the same seven as rings."""
    shape: Literal["dot", "diamond"] = "diamond" if is_hidden else "dot"
    if grouped and group is not None:
        ring, number = divmod(colour_number(group), 7)
        colour = colours.groups[number]
        return Symbol(shape, colours.background if ring else colour, _rim(colour, colours))
    fill = colours.ungrouped if grouped else colours.hidden if is_hidden else colours.observed
    return Symbol(shape, fill, _rim(fill, colours))


def stroke(length: float, n_nodes: int) -> Stroke:
    """Return width and opacity of an edge; stronger edges are wider and darker."""
    strength = math.exp(-length)
    enlarged = max(1.0, n_nodes / 400) ** 0.5  # a large graph is drawn at a smaller scale
    return Stroke(
        round((0.75 + 6.2 * strength) * enlarged, 2),
        round(FAINTEST + (0.95 - FAINTEST) * min(1.0, 1.6 * strength), 2),
    )


def _rim(colour: str, colours: Theme) -> str:
    return "#" + "".join(f"{round(part * colours.rim):02X}" for part in _parts(colour))


def _parts(colour: str) -> list[int]:
    return [int(colour[k : k + 2], 16) for k in (1, 3, 5)]


def mixed(one: str, other: str, share: float) -> str:
    """Mix two colours; ``share`` is that of the first."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02X}" for a, b in pairs)


def with_opacity(colour: str, opacity: float) -> str:
    """Return a colour with an opacity."""
    return f"rgba({','.join(map(str, _parts(colour)))},{opacity:g})"


def vis_edge(colour: str, **more: Any) -> dict[str, Any]:
    """Return the colour of an edge that does not change under the pointer."""
    return {"color": colour, "highlight": colour, "hover": colour} | more


def vis_node(fill: str, border: str, hover_border: str) -> dict[str, Any]:
    """Return the colours of a node whose border changes under the pointer."""
    hover = {"background": fill, "border": hover_border}
    return {"background": fill, "border": border, "highlight": hover, "hover": hover}


def edge_signs(graph: LatentGraph, D: DistanceMatrix) -> IntArray | None:
    """Return the signs of the correlations of edges between columns; 0 at hidden nodes."""
    if D.signs is None:
        return None
    signs = np.zeros(graph.n_edges, dtype=np.int64)
    between = (graph.edges < graph.n_observed).all(axis=1)
    u, v = graph.edges[between].T
    signs[between] = D.signs[u, v]
    return signs


def stretched(place: FloatArray, aspect: float, most: float = 1.5) -> FloatArray:
    """Stretch a layout in one direction, at most ``most`` times, towards an aspect ratio."""
    width, height = np.ptp(place, axis=0) + 1e-9
    wider = aspect * height / width
    found: FloatArray = place * (np.clip(wider, 1, most), np.clip(1 / wider, 1, most))
    return found


def checked_positions(graph: LatentGraph, positions: NDArray[np.floating]) -> list[list[int]]:
    """Return positions in whole pixels; raise if they do not fit the graph."""
    place = np.asarray(positions, dtype=np.float64)
    if place.shape != (graph.n_nodes, 2):
        raise DataError(
            f"positions have shape {place.shape}; this graph needs ({graph.n_nodes}, 2)."
        )
    if not np.isfinite(place).all():
        use = Remedy("call", "layout.positions(graph)")
        raise DataError("positions contain NaN or infinite numbers; use ", use, ".")
    whole: list[list[int]] = np.rint(place).astype(np.int64).tolist()
    return whole


LABEL_OUTLINE = 3
LABEL_BELOW = -3
"""Vertical shift of a label from its default place below the node, in pixels."""
LABEL_ABOVE = LABEL_BELOW - 2 * NODE_SIZE - FONT_SIZE - 7
_MOST_NEIGHBOURS = 12  # listed in a tooltip
_LONGEST_TITLE = 120


def network(
    graph: LatentGraph,
    positions: NDArray[np.floating],
    *,
    groups: Groups | None = None,
    group_names: Sequence[str] | None = None,
    signs: Sequence[int] | NDArray[np.integer] | None = None,
    hidden_names: Mapping[int, str] | None = None,
    theme: ThemeName = "light",
    only: Collection[int] | None = None,
    captions: Mapping[int, str] | None = None,
) -> Network:
    """Draw a graph with pyvis at fixed positions (pixels), without physics.

    ``groups`` are numbers of all nodes or of the observed ones, -1 for none. ``signs`` are those
    of the correlations along the edges, 0 if unknown. ``only`` restricts the nodes that are drawn;
    ``captions`` replaces the labels of some nodes.
    """
    # imported here because pyvis imports IPython, which takes half a second
    from pyvis.network import Network

    labels = node_labels(graph, hidden_names)
    group_of = groups_by_node(graph, groups)
    place = checked_positions(graph, positions)
    net = Network(directed=True, cdn_resources="in_line", height="100%", width="100%")
    net.options = _options(graph, group_of if groups is not None else None, theme)
    names = names_of_groups(group_of, group_names)
    nodes = range(graph.n_nodes) if only is None else sorted(only)
    texts = [(captions or {}).get(node, label) for node, label in enumerate(labels)]
    above = _labels_above(graph, place, texts, nodes)
    for node, title in node_titles(graph, labels, group_of, names, nodes).items():
        is_hidden = node >= graph.n_observed
        net.add_node(
            node, label=shown_label(texts[node]), title=title, x=place[node][0], y=place[node][1],
            shape="diamond" if is_hidden else "dot",
            group=_look(is_hidden, group_of.get(node), groups is not None),
            font={"vadjust": LABEL_ABOVE if node in above else LABEL_BELOW},
        )  # fmt: skip
    for edge in _edges(graph, labels, checked_signs(graph, signs), frozenset(nodes)):
        net.add_edge(edge.pop("from"), edge.pop("to"), **edge)
    return net


def _labels_above(
    graph: LatentGraph, place: list[list[int]], labels: Sequence[str], nodes: Sequence[int]
) -> frozenset[int]:
    number = {node: k for k, node in enumerate(nodes)}
    pairs = ((number.get(u, -1), number.get(v, -1)) for u, v in graph.edges.tolist())
    edges = np.array([pair for pair in pairs if min(pair) >= 0], dtype=np.int64).reshape(-1, 2)
    names = [labels[node] for node in nodes]
    above = labels_above([place[node] for node in nodes], edges, names)
    return frozenset(node for node, is_above in zip(nodes, above, strict=True) if is_above)


def network_data(net: Network) -> dict[str, Any]:
    """Return nodes, edges and options as JSON values."""
    data = {"nodes": net.nodes, "edges": net.edges, "options": net.options}
    return dict(json.loads(json.dumps(data, allow_nan=False)))


def network_options(
    graph: LatentGraph, *, groups: Groups | None = None, theme: ThemeName = "light"
) -> dict[str, Any]:
    """Return the part of `network` that differs between the light and the dark picture."""
    return _options(graph, None if groups is None else groups_by_node(graph, groups), theme)


@cache
def vis_bundle() -> str:
    """Return the vis-network script bundled with pyvis."""
    folder = files("pyvis") / "templates" / "lib"
    versions = sorted(entry.name for entry in folder.iterdir() if entry.name.startswith("vis-"))
    script = folder / versions[-1] / "vis-network.min.js"
    return script.read_text(encoding="utf-8").replace("\r\n", "\n")


def legend(
    graph: LatentGraph,
    *,
    groups: Groups | None = None,
    group_names: Sequence[str] | None = None,
    signs: Sequence[int] | NDArray[np.integer] | None = None,
    theme: ThemeName = "light",
) -> tuple[LegendItem, ...]:
    """Return the legend of `network` for the same arguments."""
    colours = colours_of(theme)
    group_of = groups_by_node(graph, groups)
    grouped = groups is not None
    items = [_legend_item(symbol(False, None, grouped, colours), "observed")]
    if graph.n_hidden:
        items.append(_legend_item(symbol(True, None, grouped, colours), "hidden"))
    for group, name in sorted(names_of_groups(group_of, group_names).items()):
        items.append(_legend_item(symbol(False, group, True, colours), shown_label(name)))
    items.append(LegendItem("line", colours.edge, colours.edge, EDGE))
    if (checked_signs(graph, signs) < 0).any():
        items.append(LegendItem("dashes", NEGATIVE, NEGATIVE, "negative correlation"))
    return tuple(items)


def _legend_item(drawn: Symbol, text: str) -> LegendItem:
    return LegendItem(drawn.shape, drawn.fill, drawn.border, text)


def _look(is_hidden: bool, group: int | None, grouped: bool) -> str:
    """Return the vis group of a node."""
    kind = "hidden" if is_hidden else "observed"
    if not grouped:
        return kind
    return f"{kind}-ungrouped" if group is None else f"{kind}-{colour_number(group)}"


def _options(
    graph: LatentGraph, group_of: Mapping[int, int] | None, theme: ThemeName
) -> dict[str, Any]:
    colours = colours_of(theme)
    return {
        "physics": {"enabled": False},
        "layout": {"improvedLayout": False},
        "interaction": {
            "hover": True,
            "tooltipDelay": 100,
            "keyboard": {"enabled": True, "bindToWindow": False, "autoFocus": False},
            "hideEdgesOnDrag": graph.n_edges > 2000,
        },
        "nodes": {
            "font": {
                "size": FONT_SIZE,
                "face": FACE,
                "color": colours.text,
                "strokeWidth": LABEL_OUTLINE,
                "strokeColor": colours.background,
                "multi": False,
                "vadjust": LABEL_BELOW,
            },
            "size": NODE_SIZE,
            "borderWidth": BORDER,
            "borderWidthSelected": 3,
            "scaling": {"label": {"drawThreshold": 4}},
        },
        "edges": {
            "smooth": False,
            "color": {
                "color": colours.edge,
                "highlight": colours.emphasis,
                "hover": colours.emphasis,
                "inherit": False,
            },
            "hoverWidth": 1,
            "selectionWidth": 1.5,
        },
        "groups": _vis_groups(group_of, colours),
    }


def _vis_groups(group_of: Mapping[int, int] | None, colours: Theme) -> dict[str, Any]:
    fonts: dict[str, dict[str, Any]] = {
        "observed": {},
        "hidden": {"font": {"color": colours.muted, "size": FONT_SIZE - 2}},
    }
    numbers: list[int | None] = [None]
    if group_of is not None:
        numbers += sorted({colour_number(group) for group in group_of.values()})
    looks = {}
    for number in numbers:
        for kind, font in fonts.items():
            is_hidden = kind == "hidden"
            drawn = symbol(is_hidden, number, group_of is not None, colours)
            name = _look(is_hidden, number, group_of is not None)
            paint = vis_node(drawn.fill, drawn.border, colours.emphasis)
            looks[name] = font | {"color": paint}
    return looks


# Nodes and edges ---------------------------------------------------------------------------


def node_titles(
    graph: LatentGraph,
    labels: Sequence[str],
    group_of: Mapping[int, int],
    names: Mapping[int, str],
    nodes: Iterable[int] | None = None,
) -> dict[int, str]:
    """Return tooltips; vis-network 9 shows a string as text, never as HTML."""
    by_node = sorted_edges(graph)
    titles = {}
    for node in range(len(labels)) if nodes is None else nodes:
        near = by_node[node]
        kind = "observed" if node < graph.n_observed else "hidden"
        about = [kind, f"{len(near)} neighbour{'' if len(near) == 1 else 's'}"]
        if node in group_of:
            about.append(shown_label(names[group_of[node]]))
        lines = [_line(labels[node]), " · ".join(about)]
        lines += [f"{d:.2f}  {_line(labels[k])}" for d, k in near[:_MOST_NEIGHBOURS]]
        if len(near) > _MOST_NEIGHBOURS:
            lines.append(f"and {len(near) - _MOST_NEIGHBOURS} more")
        titles[node] = "\n".join(lines)
    return titles


def _line(name: str) -> str:
    return shown_label(name, longest=_LONGEST_TITLE)


def _edges(
    graph: LatentGraph, labels: Sequence[str], signs: NDArray[np.int64], nodes: frozenset[int]
) -> list[dict[str, Any]]:
    edges = []
    rows = zip(graph.edges.tolist(), graph.lengths.tolist(), signs.tolist(), strict=True)
    for (u, v), length, sign in rows:
        if u not in nodes or v not in nodes:
            continue
        drawn = stroke(length, len(nodes))
        edge: dict[str, Any] = {
            "from": u,
            "to": v,
            "id": f"{u}-{v}",
            "arrows": "",
            "width": drawn.width,
            "color": {"opacity": drawn.opacity},
            "title": f"{_line(labels[u])} – {_line(labels[v])}\n"
            f"distance {length:.3g}, strength {math.exp(-length):.2f}",
        }
        if sign < 0:
            edge["dashes"] = list(DASHES)
            edge["color"] = vis_edge(NEGATIVE)
            edge["title"] += "\nnegative correlation"
        edges.append(edge)
    return edges
