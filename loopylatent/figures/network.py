"""A learned graph as a pyvis network: nodes and edges for vis-network, and a legend of them.

Nodes name a vis *group* and carry no colour of their own, so that the light and the dark picture
differ in ``options`` alone.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.analysis.nodes import edges_beside
from loopylatent.figures.inputs import (
    Groups,
    checked_positions,
    checked_signs,
    groups_by_node,
    names_of_groups,
    node_labels,
)
from loopylatent.figures.labels import FONT_SIZE, shown_label
from loopylatent.figures.layout import NODE_SIZE, labels_above
from loopylatent.figures.looks import (
    BORDER,
    DASHES,
    EDGE,
    FACE,
    NEGATIVE,
    LegendItem,
    Symbol,
    Theme,
    ThemeName,
    colour_number,
    colours_of,
    stroke,
    symbol,
    vis_edge,
    vis_node,
)
from loopylatent.graph import LatentGraph

if TYPE_CHECKING:
    from pyvis.network import Network

LABEL_OUTLINE = 3
LABEL_BELOW = -3
"""Pixels by which vis-network moves a label from where it would write it, under the node."""
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
    """Draw a graph with pyvis, at given positions (pixels), without physics.

    ``groups`` are numbers of all nodes or of the observed ones, -1 for none; they take the place of
    the two colours for observed and hidden, shapes stay. ``signs`` are those of the correlations
    along the edges, 0 where unknown; negative edges are dashed and of another colour. ``only``
    names the nodes to draw, ``captions`` what is written at some nodes in the place of their names.
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
        is_hidden = node >= graph.n_observed
        net.add_node(
            node, label=shown_label(written[node]), title=title, x=place[node][0], y=place[node][1],
            shape="diamond" if is_hidden else "dot",
            group=_look(is_hidden, group_of.get(node), groups is not None),
            font={"vadjust": LABEL_ABOVE if node in above else LABEL_BELOW},
        )  # fmt: skip
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
    """Return nodes, edges and options as plain JSON values, ready for a browser."""
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
    """Return the vis-network script that lies inside the pyvis package."""
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
    """Say what the shapes and colours of `network` mean, for the same arguments."""
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
    """Name of the vis group that says how the node is drawn."""
    kind = "hidden" if is_hidden else "observed"
    if not grouped:
        return kind
    return f"{kind}-plain" if group is None else f"{kind}-{colour_number(group)}"


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
    wanted: Iterable[int] | None = None,
) -> dict[int, str]:
    """Plain text: vis-network 9 shows a string title as text, never as HTML."""
    beside = edges_beside(graph)
    titles = {}
    for node in range(len(labels)) if wanted is None else wanted:
        near = beside[node]
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
            edge["color"] = vis_edge(NEGATIVE)
            edge["title"] += "\nnegative correlation"
        edges.append(edge)
    return edges
