"""Support drawn on a graph: what came back often is dark and solid, the rest pale and dashed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from loopylatent.figures.looks import THEMES, LegendItem, ThemeName
from loopylatent.stability import Stability

WEAK = 0.5
"""Below this support edges are dashed."""
PALEST = 0.12
LEVELS = 5
"""Shades of hidden nodes."""
DASHES = (5, 5)
Rows = list[dict[str, Any]]


def edge_opacity(support: float) -> float:
    """How dark an edge is: never quite gone, and black only where it always came back.

    Examples
    --------
    >>> edge_opacity(0.0), edge_opacity(1.0)
    (0.12, 1.0)
    """
    return round(PALEST + (1 - PALEST) * support, 3)


def mark_edges(edges: Rows, found: Stability, least: float = 0.0) -> Rows:
    """Shade and dash the edges of a picture by their support; leave out those below ``least``.

    ``edges`` are those of the picture of ``found.graph``, in its order.
    """
    marked = []
    for edge, support in zip(edges, found.edges.tolist(), strict=True):
        if support >= least:
            look = {
                "color": {"opacity": edge_opacity(support)},
                "dashes": _dashes(edge["width"]) if support < WEAK else False,
                "title": f"{edge['title']}\n{_words(support, found.n_used)}",
            }
            marked.append(edge | look)
    return marked


def _dashes(width: float) -> list[float]:
    """As long as ever, and longer on wide edges, where they would run together."""
    return [
        round(max(least, times * width), 1) for least, times in zip(DASHES, (2, 1.6), strict=True)
    ]


def mark_nodes(nodes: Rows, found: Stability, least: float = 0.0) -> Rows:
    """Shade the hidden nodes of a picture by their support; leave out those below ``least``."""
    p = found.graph.n_observed
    marked = []
    for node in nodes:
        if node["id"] < p:
            marked.append(node)
            continue
        support = float(found.hidden[node["id"] - p])
        if support >= least:
            look = {
                "group": f"{node['group']} {level(support)}",
                "title": f"{node['title']}\n{_words(support, found.n_used)}",
            }
            marked.append(node | look)
    return marked


def level(support: float) -> int:
    """Return the shade of a hidden node, 0 for the palest.

    Examples
    --------
    >>> [level(support) for support in (0.0, 0.5, 1.0)]
    [0, 2, 4]
    """
    return min(LEVELS - 1, int(support * LEVELS))


def shaded_looks(looks: Mapping[str, Any]) -> dict[str, Any]:
    """Add the shades of hidden nodes, and what shades and dashes mean, to a picture's looks."""
    return {theme: _shaded(theme, look) for theme, look in looks.items()}


def _shaded(theme: Any, look: Mapping[str, Any]) -> dict[str, Any]:
    name: ThemeName = theme
    ground, edge = THEMES[name].background, THEMES[name].edge
    groups = dict(look["options"]["groups"])
    for group, drawn in list(groups.items()):
        if group.startswith("hidden"):
            for shade in range(LEVELS):
                groups[f"{group} {shade}"] = _faded(drawn, ground, (shade + 0.5) / LEVELS)
    extra = [
        LegendItem("line", edge, edge, "comes back in most runs"),
        LegendItem("dashes", edge, edge, "in less than half of them; the paler, the fewer"),
    ]
    kept = [item for item in look["legend"] if item["shape"] != "line"]
    return dict(look) | {
        "options": look["options"] | {"groups": groups},
        "legend": [*kept, *(asdict(item) for item in extra)],
    }


def _faded(drawn: Mapping[str, Any], ground: str, share: float) -> dict[str, Any]:
    colour = drawn["color"]
    keep = PALEST + (1 - PALEST) * share
    fill, rim = (_mixed(colour[name], ground, keep) for name in ("background", "border"))
    pointed_at = colour["highlight"] | {"background": fill}
    faded = {"background": fill, "border": rim, "highlight": pointed_at, "hover": pointed_at}
    return dict(drawn) | {"color": faded}


def _mixed(colour: str, ground: str, share: float) -> str:
    """A colour with some of the ground in it."""
    one, other = (
        np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)]) for text in (colour, ground)
    )
    mixed = np.rint(share * one + (1 - share) * other).astype(int).tolist()
    return "#" + "".join(f"{part:02X}" for part in mixed)


def _words(support: float, n_used: int) -> str:
    return f"support {support:.2f}: came back in {round(support * n_used)} of {n_used} runs"
