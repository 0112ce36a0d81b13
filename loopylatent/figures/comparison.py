"""Two graphs in common numbering as pictures: what both have is plain, the rest is coloured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from loopylatent.compare import LEFT, NEITHER, RIGHT, Difference, Overlay
from loopylatent.figures.looks import THEMES, LegendItem, ThemeName

COLOURS = {LEFT: "#D55E00", RIGHT: "#009E73"}
"""Of what only the left graph has, and only the right one."""
WORDS = {LEFT: "only left", RIGHT: "only right"}
Rows = list[dict[str, Any]]


def mark_edges(edges: Rows, overlay: Overlay, difference: Difference) -> Rows:
    """Colour the edges that only one graph has; in one picture those of the left are dashed."""
    status = {
        f"{u}-{v}": int(state)
        for (u, v), state in zip(overlay.graph.edges.tolist(), difference.edges, strict=True)
    }
    return [_marked(edge, status[edge["id"]]) for edge in edges if status[edge["id"]] != NEITHER]


def _marked(edge: dict[str, Any], state: int) -> dict[str, Any]:
    if state not in COLOURS:
        return edge | {"dashes": False, "title": f"{edge['title']}\nin both"}
    colour = COLOURS[state]
    look = {"color": colour, "highlight": colour, "hover": colour}
    return edge | {
        "color": look,
        "width": max(edge["width"], 2.0),
        "dashes": [7, 5] if state == LEFT else False,
        "title": f"{edge['title']}\n{WORDS[state]}",
    }


def mark_nodes(nodes: Rows, overlay: Overlay, difference: Difference) -> Rows:
    """Colour the hidden nodes that only one graph has, and leave out those of neither."""
    p = overlay.graph.n_observed
    marked = []
    for node in nodes:
        state = 0 if node["id"] < p else int(difference.hidden[node["id"] - p])
        if state == NEITHER:
            continue
        if state in COLOURS:
            node = node | {
                "group": f"only {state}",
                "title": f"{node['title']}\n{WORDS[state]}",
            }
        marked.append(node)
    return marked


def compared_looks(looks: Mapping[str, Any], shown: tuple[int, ...]) -> dict[str, Any]:
    """Add the colours of what only one graph has to a picture's looks and legend."""
    return {theme: _compared(theme, look, shown) for theme, look in looks.items()}


def _compared(theme: Any, look: Mapping[str, Any], shown: tuple[int, ...]) -> dict[str, Any]:
    name: ThemeName = theme
    edge, emphasis = THEMES[name].edge, THEMES[name].emphasis
    groups = dict(look["options"]["groups"])
    for state, colour in COLOURS.items():
        pointed_at = {"background": colour, "border": emphasis}
        groups[f"only {state}"] = groups["hidden"] | {
            "color": {
                "background": colour,
                "border": colour,
                "highlight": pointed_at,
                "hover": pointed_at,
            }
        }
    kept = [item for item in look["legend"] if item["shape"] in ("dot", "diamond")]
    extra = [LegendItem("line", edge, edge, "in both")]
    for state in shown:
        shape: Any = "dashes" if state == LEFT else "line"
        extra.append(LegendItem(shape, COLOURS[state], COLOURS[state], WORDS[state]))
    return dict(look) | {
        "options": look["options"] | {"groups": groups},
        "legend": [*kept, *(asdict(item) for item in extra)],
    }
