"""A learned graph as a pyvis network: shapes and colours that say what a node is.

Observed nodes are dots and hidden nodes are diamonds; a strong edge (short distance) is wide
and dark. Colours begin with those of Okabe and Ito; colour-blind readers can tell them apart. Nodes
name a vis *group* and carry no colour of their own, so that the light and the dark picture
differ in ``options`` alone.
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

from loopylatent.errors import DataError, ThresholdError
from loopylatent.graph import LatentGraph
from loopylatent.label_sides import labels_above
from loopylatent.layout import FONT_SIZE, NODE_SIZE, shown_label

if TYPE_CHECKING:
    from pyvis.network import Network

ThemeName = Literal["light", "dark"]
Groups = Mapping[int, int] | Sequence[int] | NDArray[np.integer]
Shape = Literal["dot", "diamond", "line", "dashes"]

NEGATIVE = "#D55E00"
EDGE = "edge: the wider, the stronger"
"""What a legend says of a plain edge."""
DASHES = (7, 5)
LABEL_OUTLINE = 3
LABEL_BELOW = -3
"""Pixels by which vis-network moves a label from where it would write it, under the node."""
LABEL_ABOVE = LABEL_BELOW - 2 * NODE_SIZE - FONT_SIZE - 7
FAINTEST = 0.7
"""Opacity of the weakest edge: with less it would be too faint on white."""
BORDER = 1.5
FACE = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Arial, sans-serif"
_MOST_NEIGHBOURS = 12  # listed in a tooltip
_LONGEST_TITLE = 120


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
    """Draw a graph with pyvis, at given positions, without physics.

    Parameters
    ----------
    graph : LatentGraph
    positions : (nodes, 2) array
        Pixels, as `loopylatent.layout.positions` gives them; rounded to whole ones.
    groups : mapping or sequence of int, optional
        Group number of each node, or of the observed nodes only; -1 is no group. Groups take
        the place of the two colours for observed and hidden; shapes stay.
    group_names : sequence of str, optional
        The name of group 0, 1, ...
    signs : (edges,) sequence of int, optional
        Sign of the correlation along each edge of ``graph.edges``; 0 where it is not known.
        Negative edges are dashed and of another colour.
    hidden_names : mapping from node to str, optional
        Names that someone gave to hidden nodes.
    theme : {"light", "dark"}
    only : collection of int, optional
        The nodes to draw, with the edges between them; all by default.
    captions : mapping from node to str, optional
        What is written at some nodes in the place of their names.

    Returns
    -------
    pyvis.network.Network
        With plain Python values only; see `network_data`.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    >>> net = network(star, np.zeros((4, 2)), hidden_names={3: "mood"})
    >>> [(node["label"], node["shape"]) for node in net.nodes][2:]
    [('c', 'dot'), ('mood', 'diamond')]
    >>> net.edges[0]["id"], round(net.edges[0]["width"], 2)
    ('0-3', 3.03)
    """
    # pyvis imports IPython, which takes half a second: only where it is needed
    from pyvis.network import Network

    labels = node_labels(graph, hidden_names)
    group_of = groups_by_node(graph, groups)
    place = checked_positions(graph, positions)
    net = Network(directed=True, cdn_resources="in_line", height="100%", width="100%")
    net.options = _options(graph, group_of if groups is not None else None, theme)
    names = names_of_groups(group_of, group_names)
    wanted = range(graph.n_nodes) if only is None else sorted(only)
    written = [(captions or {}).get(node, label) for node, label in enumerate(labels)]
    above = _labels_above(graph, place, written, wanted)
    for node, title in node_titles(graph, labels, group_of, names, wanted).items():
        x, y = place[node]
        is_hidden = node >= graph.n_observed
        net.add_node(
            node,
            label=shown_label(written[node]),
            title=title,
            shape="diamond" if is_hidden else "dot",
            group=_look(is_hidden, group_of.get(node), groups is not None),
            x=x,
            y=y,
            font={"vadjust": LABEL_ABOVE if node in above else LABEL_BELOW},
        )
    for edge in _edges(graph, labels, checked_signs(graph, signs), frozenset(wanted)):
        net.add_edge(edge.pop("from"), edge.pop("to"), **edge)
    return net


def _labels_above(
    graph: LatentGraph, place: list[list[int]], labels: Sequence[str], wanted: Sequence[int]
) -> frozenset[int]:
    """The nodes of a picture whose labels stand above them."""
    number = {node: k for k, node in enumerate(wanted)}
    pairs = ((number.get(u, -1), number.get(v, -1)) for u, v in graph.edges.tolist())
    edges = np.array([pair for pair in pairs if min(pair) >= 0], dtype=np.int64).reshape(-1, 2)
    names = [labels[node] for node in wanted]
    above = labels_above([place[node] for node in wanted], edges, names)
    return frozenset(node for node, is_above in zip(wanted, above, strict=True) if is_above)


def network_data(net: Network) -> dict[str, Any]:
    """Return nodes, edges and options as plain JSON values, ready for a browser.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)])
    >>> data = network_data(network(pair, np.zeros((2, 2))))
    >>> sorted(data), len(data["nodes"]), data["options"]["physics"]
    (['edges', 'nodes', 'options'], 2, {'enabled': False})
    """
    data = {"nodes": net.nodes, "edges": net.edges, "options": net.options}
    plain: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return plain


def network_options(
    graph: LatentGraph, *, groups: Groups | None = None, theme: ThemeName = "light"
) -> dict[str, Any]:
    """Return the part of `network` that differs between the light and the dark picture."""
    return _options(graph, None if groups is None else groups_by_node(graph, groups), theme)


@cache
def vis_bundle() -> str:
    """Return the vis-network script that lies inside the pyvis package.

    Examples
    --------
    >>> "vis-network" in vis_bundle()[:100]
    True
    """
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
    """Say what the shapes and colours of `network` mean, for the same arguments.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    >>> [item.text for item in legend(star)]
    ['observed', 'hidden', 'edge: the wider, the stronger']
    """
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


def node_labels(
    graph: LatentGraph, hidden_names: Mapping[int, str] | None = None
) -> tuple[str, ...]:
    """Names of all nodes, with those that someone gave to hidden ones.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    >>> node_labels(star, {3: "mood"})
    ('a', 'b', 'c', 'mood')
    """
    labels = list(graph.labels)
    for node, name in (hidden_names or {}).items():
        if node not in graph.hidden_nodes:
            raise DataError(
                f"node {node} is not a hidden node of this graph; hidden ones are "
                f"{graph.n_observed} to {graph.n_nodes - 1}."
            )
        labels[node] = str(name)
    return tuple(labels)


def groups_by_node(graph: LatentGraph, groups: Groups | None) -> dict[int, int]:
    """Group of each node that has one, whichever way it was given.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    >>> groups_by_node(star, [0, 0, 1])
    {0: 0, 1: 0, 2: 1}
    """
    if groups is None:
        return {}
    if not isinstance(groups, Mapping):
        if len(groups) not in (graph.n_observed, graph.n_nodes):
            raise DataError(
                f"{len(groups)} groups for {graph.n_observed} observed and {graph.n_hidden} "
                f"hidden nodes; give one for each observed node or one for each node."
            )
        groups = dict(enumerate(groups))
    outside = [node for node in groups if not 0 <= node < graph.n_nodes]
    if outside:
        raise DataError(f"node {outside[0]} has a group but does not exist; leave it out.")
    return {int(node): int(group) for node, group in sorted(groups.items()) if group >= 0}


def names_of_groups(group_of: Mapping[int, int], names: Sequence[str] | None) -> dict[int, str]:
    """Name of each group that occurs: the given one, or its number counted from 1.

    Examples
    --------
    >>> names_of_groups({0: 0, 1: 2}, None)
    {0: 'group 1', 2: 'group 3'}
    """
    numbers = sorted(set(group_of.values()))
    if names is None:
        return {group: f"group {group + 1}" for group in numbers}
    if numbers and numbers[-1] >= len(names):
        raise DataError(
            f"group {numbers[-1]} has no name; {len(names)} names are given, for groups from 0."
        )
    return {group: str(names[group]) for group in numbers}


# Checks ------------------------------------------------------------------------------------


def colours_of(name: ThemeName) -> Theme:
    """Return the colours of a theme, or one line about a name that is none."""
    if name not in THEMES:
        known = ", ".join(get_args(ThemeName))
        raise ThresholdError(f"theme = {name!r} is unknown; choose one of {known}.")
    return THEMES[name]


def checked_positions(graph: LatentGraph, positions: NDArray[np.floating]) -> list[list[int]]:
    """Whole pixels for every node, after checking that there are some for every node."""
    place = np.asarray(positions, dtype=np.float64)
    if place.shape != (graph.n_nodes, 2):
        raise DataError(
            f"positions have shape {place.shape}; this graph needs ({graph.n_nodes}, 2)."
        )
    if not np.isfinite(place).all():
        raise DataError("positions hold NaN or infinite numbers; use layout.positions(graph).")
    whole: list[list[int]] = np.rint(place).astype(np.int64).tolist()
    return whole


def checked_signs(
    graph: LatentGraph, signs: Sequence[int] | NDArray[np.integer] | None
) -> NDArray[np.int64]:
    """-1, 0 or 1 for every edge; 0 where the sign is not known."""
    if signs is None:
        return np.zeros(graph.n_edges, dtype=np.int64)
    if len(signs) != graph.n_edges:
        raise DataError(f"{len(signs)} signs for {graph.n_edges} edges; give one for each edge.")
    return np.sign(np.asarray(signs, dtype=np.int64))


# Looks -------------------------------------------------------------------------------------


def _look(is_hidden: bool, group: int | None, grouped: bool) -> str:
    """Name of the vis group that says how the node is drawn."""
    kind = "hidden" if is_hidden else "observed"
    if not grouped:
        return kind
    return f"{kind}-plain" if group is None else f"{kind}-{_colour_number(group)}"


def _colour_number(group: int) -> int:
    return group % 14


def symbol(is_hidden: bool, group: int | None, grouped: bool, colours: Theme) -> Symbol:
    """Shape and colours of a node, in a picture that is coloured by groups or is not.

    Groups have seven full colours, then the same seven as rings.
    """
    shape: Literal["dot", "diamond"] = "diamond" if is_hidden else "dot"
    if grouped and group is not None:
        ring, number = divmod(_colour_number(group), 7)
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
    parts = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(part * colours.rim):02X}" for part in parts)


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
        numbers += sorted({_colour_number(group) for group in group_of.values()})
    looks = {}
    for number in numbers:
        for kind, font in fonts.items():
            is_hidden = kind == "hidden"
            drawn = symbol(is_hidden, number, group_of is not None, colours)
            name = _look(is_hidden, number, group_of is not None)
            looks[name] = font | _vis_colour(drawn.fill, drawn.border, colours)
    return looks


def _vis_colour(fill: str, border: str, colours: Theme) -> dict[str, Any]:
    pointed_at = {"background": fill, "border": colours.emphasis}
    return {
        "color": {
            "background": fill,
            "border": border,
            "highlight": pointed_at,
            "hover": pointed_at,
        }
    }


# Nodes and edges ---------------------------------------------------------------------------


def node_titles(
    graph: LatentGraph,
    labels: Sequence[str],
    group_of: Mapping[int, int],
    names: Mapping[int, str],
    wanted: Iterable[int] | None = None,
) -> dict[int, str]:
    """Plain text: vis-network 9 shows a string title as text, never as HTML."""
    beside: list[list[tuple[float, int]]] = [[] for _ in labels]
    for (u, v), length in zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True):
        beside[u].append((length, v))
        beside[v].append((length, u))
    titles = {}
    for node in range(len(labels)) if wanted is None else wanted:
        near = beside[node]
        kind = "observed" if node < graph.n_observed else "hidden"
        about = [kind, f"{len(near)} neighbour{'' if len(near) == 1 else 's'}"]
        if node in group_of:
            about.append(shown_label(names[group_of[node]]))
        lines = [_line(labels[node]), " · ".join(about)]
        lines += [f"{d:.2f}  {_line(labels[k])}" for d, k in sorted(near)[:_MOST_NEIGHBOURS]]
        if len(near) > _MOST_NEIGHBOURS:
            lines.append(f"and {len(near) - _MOST_NEIGHBOURS} more")
        titles[node] = "\n".join(lines)
    return titles


def _line(name: str) -> str:
    return shown_label(name, longest=_LONGEST_TITLE)


def _edges(
    graph: LatentGraph, labels: Sequence[str], signs: NDArray[np.int64], wanted: frozenset[int]
) -> list[dict[str, Any]]:
    edges = []
    rows = zip(graph.edges.tolist(), graph.lengths.tolist(), signs.tolist(), strict=True)
    for (u, v), length, sign in rows:
        if u not in wanted or v not in wanted:
            continue
        drawn = stroke(length, len(wanted))
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
            edge["color"] = {"color": NEGATIVE, "highlight": NEGATIVE, "hover": NEGATIVE}
            edge["title"] += "\nnegative correlation"
        edges.append(edge)
    return edges
