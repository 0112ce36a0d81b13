"""Overlays on a picture of a graph: comparison, changes by grouping, cycles, support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from loopylatent.analysis.overlay import LEFT, NEITHER, RIGHT, Difference, Overlay
from loopylatent.analysis.stability.runs import Stability
from loopylatent.figures.network import THEMES, LegendItem, Theme, mixed, vis_edge, vis_node
from loopylatent.graph import LatentGraph
from loopylatent.learning.part_evidence import Evidence

COLOURS = {LEFT: "#D55E00", RIGHT: "#009E73"}
"""Colours of parts that only the left or only the right graph has."""
WORDS = {LEFT: "only left", RIGHT: "only right"}
Rows = list[dict[str, Any]]


def mark_edges(edges: Rows, overlay: Overlay, difference: Difference) -> Rows:
    """Colour the edges that only one graph has; those of the left graph are dashed."""
    status = {
        f"{u}-{v}": int(state)
        for (u, v), state in zip(overlay.graph.edges.tolist(), difference.edges, strict=True)
    }
    return [_marked(edge, status[edge["id"]]) for edge in edges if status[edge["id"]] != NEITHER]


def _marked(edge: dict[str, Any], state: int) -> dict[str, Any]:
    if state not in COLOURS:
        return edge | {"dashes": False, "title": f"{edge['title']}\nin both"}
    return edge | {
        "color": vis_edge(COLOURS[state]),
        "width": max(edge["width"], 2.0),
        "dashes": [7, 5] if state == LEFT else False,
        "title": f"{edge['title']}\n{WORDS[state]}",
    }


def mark_nodes(nodes: Rows, overlay: Overlay, difference: Difference) -> Rows:
    """Colour the hidden nodes that only one graph has; drop those of neither."""
    p = overlay.graph.n_observed
    marked = []
    for node in nodes:
        state = 0 if node["id"] < p else int(difference.hidden[node["id"] - p])
        if state == NEITHER:
            continue
        look = {"group": f"only {state}", "title": f"{node['title']}\n{WORDS.get(state)}"}
        marked.append(node | look if state in COLOURS else node)
    return marked


def compared_looks(looks: Mapping[Any, Any], shown: tuple[int, ...]) -> dict[str, Any]:
    """Add the colours of a comparison to a picture's looks and legend."""
    return {theme: _compared(THEMES[theme], look, shown) for theme, look in looks.items()}


def _compared(colours: Theme, look: Mapping[str, Any], shown: tuple[int, ...]) -> dict[str, Any]:
    edge, groups = colours.edge, _groups_of_one(colours, look)
    kept = [item for item in look["legend"] if item["shape"] in ("dot", "diamond")]
    extra = [LegendItem("line", edge, edge, "in both")]
    for state in shown:
        shape: Any = "dashes" if state == LEFT else "line"
        extra.append(LegendItem(shape, COLOURS[state], COLOURS[state], WORDS[state]))
    return _with(look, groups, [*kept, *map(asdict, extra)])


def _groups_of_one(colours: Theme, look: Mapping[str, Any]) -> dict[str, Any]:
    """Return the groups of a look with those of hidden nodes that only one graph has."""
    groups = dict(look["options"]["groups"])
    for state, colour in COLOURS.items():
        paint = vis_node(colour, colour, colours.emphasis)
        groups[f"only {state}"] = groups["hidden"] | {"color": paint}
    return groups


def _with(look: Mapping[str, Any], groups: dict[str, Any], legend: Rows) -> dict[str, Any]:
    return dict(look) | {"options": look["options"] | {"groups": groups}, "legend": legend}


REMOVED, ADDED = COLOURS.values()


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """The union of two graphs with the status of each edge."""

    graph: LatentGraph
    """All edges of either graph, on the nodes of the learned graph."""
    status: NDArray[np.int64]
    """(edges,) -1 removed, 0 kept, 1 added."""


def difference(initial: LatentGraph, learned: LatentGraph) -> Changes:
    """Return the union of two graphs on the same columns."""
    start, end = _lengths(initial), _lengths(learned)
    edges = start | end
    both = LatentGraph.build(learned.names, learned.n_hidden, edges, edges.values())
    status = [(edge in end) - (edge in start) for edge in map(tuple, both.edges.tolist())]
    return Changes(both, np.array(status, dtype=np.int64))


def _lengths(graph: LatentGraph) -> dict[tuple[int, int], float]:
    pairs = [(u, v) for u, v in graph.edges.tolist()]
    return dict(zip(pairs, graph.lengths.tolist(), strict=True))


def mark_changed_edges(edges: Rows, status: NDArray[np.int64]) -> Rows:
    """Colour removed and added edges; removed ones are dashed."""
    looks: dict[int, dict[str, Any]] = {
        -1: {"color": vis_edge(REMOVED), "dashes": [6, 5]},
        0: {"dashes": False},
        1: {"color": vis_edge(ADDED), "dashes": False},
    }
    return [edge | looks[int(state)] for edge, state in zip(edges, status, strict=True)]


def mark_changed_hidden(nodes: Rows, n_observed: int, status: NDArray[np.int64]) -> Rows:
    """Colour removed and added hidden nodes."""
    marked = []
    for node in nodes:
        state = 0 if node["id"] < n_observed else int(status[node["id"] - n_observed])
        marked.append(node | {"group": f"only {state}"} if state in COLOURS else node)
    return marked


def changed_looks(looks: Mapping[Any, Any]) -> dict[str, Any]:
    """Add the colours of removed and added hidden nodes to a picture's looks."""
    return {
        theme: _with(look, _groups_of_one(THEMES[theme], look), look["legend"])
        for theme, look in looks.items()
    }


def between(nodes: Sequence[Sequence[int]], positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Place further nodes near the middle of their neighbours, away from all other nodes.

    ``nodes`` has the neighbours of each; those without a position do not count.
    """
    place = positions
    reach = 0.06 * float(np.ptp(positions, axis=0).max(initial=1.0))
    turns = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    around = reach * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    for near in nodes:
        known = [node for node in near if node < len(positions)]
        middle = positions[known].mean(axis=0) if known else positions.mean(axis=0)
        spots = middle + np.vstack([np.zeros((1, 2)), around, 2 * around])
        gaps = np.linalg.norm(spots[:, None] - place[None], axis=2).min(axis=1)
        free = np.flatnonzero(gaps > 0.8 * reach)
        place = np.vstack([place, spots[free[0] if len(free) else int(gaps.argmax())]])
    return place


def mark_cycles(edges: Rows, graph: LatentGraph) -> Rows:
    """Highlight edges on cycles and fade the others."""
    looks: Rows = [{"color": {"opacity": 0.25}}, {"color": vis_edge(ADDED)}]
    return [
        edge | looks[on_cycle] | ({"title": f"{edge['title']}\non a cycle"} if on_cycle else {})
        for edge, on_cycle in zip(edges, graph.on_cycle.tolist(), strict=True)
    ]


def explain_evidence(rows: Rows, evidence: Sequence[Evidence]) -> Rows:
    """Add the evidence for edges and hidden nodes to their tooltips."""
    known = {"-".join(map(str, one.nodes)): one for one in evidence if one.part != "cycle"}
    explained = []
    for row in rows:
        one = known.get(str(row["id"]))
        if one is not None:
            verdict = "supported" if one.supported else "not supported"
            row = row | {"title": f"{row['title']}\nevidence {one.nats:.1f} nats, {verdict}"}
        explained.append(row)
    return explained


WEAK = 0.5
"""Edges with less support are dashed."""
PALEST = 0.12
LEVELS = 5
"""Number of shades of hidden nodes."""
DASHES = (5, 5)


def edge_opacity(support: float) -> float:
    """Return the opacity of an edge; 1 only at full support."""
    return round(PALEST + (1 - PALEST) * support, 3)


def shade_edges(edges: Rows, found: Stability, least: float = 0.0) -> Rows:
    """Shade and dash the edges of ``found.graph`` by support; drop those below ``least``."""
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
    """Return a dash pattern, longer on wide edges so that dashes stay apart."""
    lengths = zip(DASHES, (2, 1.6), strict=True)
    return [round(max(least, times * width), 1) for least, times in lengths]


def shade_nodes(nodes: Rows, found: Stability, least: float = 0.0) -> Rows:
    """Shade hidden nodes by support; drop those below ``least``."""
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
    """Return the shade of a hidden node, 0 for the palest."""
    return min(LEVELS - 1, int(support * LEVELS))


def shaded_looks(looks: Mapping[Any, Any]) -> dict[str, Any]:
    """Add the shades of hidden nodes and their legend to a picture's looks."""
    return {theme: _shaded(THEMES[theme], look) for theme, look in looks.items()}


def _shaded(colours: Theme, look: Mapping[str, Any]) -> dict[str, Any]:
    ground, edge = colours.background, colours.edge
    groups = dict(look["options"]["groups"])
    for group, drawn in list(groups.items()):
        if group.startswith("hidden"):
            for shade in range(LEVELS):
                groups[f"{group} {shade}"] = _faded(drawn, ground, (shade + 0.5) / LEVELS)
    extra = [
        LegendItem("line", edge, edge, "support of at least 0.5; darker is more"),
        LegendItem("dashes", edge, edge, "support below 0.5"),
    ]
    kept = [item for item in look["legend"] if item["shape"] != "line"]
    return _with(look, groups, [*kept, *map(asdict, extra)])


def _faded(drawn: Mapping[str, Any], ground: str, share: float) -> dict[str, Any]:
    colour = drawn["color"]
    keep = PALEST + (1 - PALEST) * share
    fill, rim = (mixed(colour[name], ground, keep) for name in ("background", "border"))
    return dict(drawn) | {"color": vis_node(fill, rim, colour["highlight"]["border"])}


def _words(support: float, n_used: int) -> str:
    return f"support {support:.2f}: in {round(support * n_used)} of {n_used} resamples"
