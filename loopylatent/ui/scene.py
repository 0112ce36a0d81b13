"""Which picture is shown: the learned graph, the local trees, or what changed between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from loopylatent.figures.difference import GONE, NEW, difference, mark_cycles, mark_edges
from loopylatent.figures.network import LegendItem
from loopylatent.figures.support import mark_edges as shade_edges
from loopylatent.figures.support import mark_nodes as shade_nodes
from loopylatent.figures.support import shaded_looks
from loopylatent.graph import LatentGraph
from loopylatent.inference import Model
from loopylatent.learn import LearnResult
from loopylatent.stability import Stability
from loopylatent.ui.colours import Colouring
from loopylatent.ui.fit import as_fitted
from loopylatent.ui.graph_view import Picture, picture
from loopylatent.ui.stages import Source, edge_signs
from loopylatent.ui.sure import SUPPORT

LEARNED, LOCAL, CHANGED = "Learned graph", "Local trees", "What changed"


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """What goes into a picture."""

    source: Source
    result: LearnResult
    positions: NDArray[np.float64]
    colouring: Colouring
    names: Mapping[int, str]
    cycles: bool = False
    """Whether the edges on cycles stand out."""
    around: tuple[int, ...] | None = None
    """The nodes to show, where not all are wanted."""
    model: Model | None = None
    """The fit of this graph, whose strengths and signs the edges then show."""
    support: Stability | None = None
    """The support of this graph, where it is known."""
    least: float = 0.0
    """What has less support is not drawn, in the view of support."""


def draw(view: str, scene: Scene) -> Picture:
    """Return the picture of one of the three views, all on one layout."""
    initial, learned = scene.result.initial_graph, scene.result.graph
    if view == LOCAL:
        shown = _picture(scene, initial, {})
        shown = _with_cycles(shown, initial) if scene.cycles else shown
    elif view == CHANGED:
        both = difference(initial, learned)
        shown = _picture(scene, both.graph, scene.names, signs=False)
        shown = replace(shown, edges=mark_edges(shown.edges, both.status))
        shown = _with_legend(
            shown,
            LegendItem("line", NEW, NEW, "put in by grouping"),
            LegendItem("dashes", GONE, GONE, "taken away by grouping"),
        )
    elif view == SUPPORT and scene.support is not None:
        shown = _supported(scene, scene.support)
    else:
        shown = _learned(scene)
        shown = _with_cycles(shown, learned) if scene.cycles else shown
    return shown if scene.around is None else _only(shown, scene.around)


def _learned(scene: Scene) -> Picture:
    if scene.model is None:
        return _picture(scene, scene.result.graph, scene.names)
    return picture(
        as_fitted(scene.model),
        scene.positions,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=np.sign(scene.model.edge_strengths).astype(np.int64),
        hidden_names=scene.names,
    )


def _supported(scene: Scene, found: Stability) -> Picture:
    """The learned graph, dark and solid where it came back; signs would be dashes too."""
    shown = _picture(scene, found.graph, scene.names, signs=False)
    nodes = shade_nodes(shown.nodes, found, scene.least)
    there = {node["id"] for node in nodes}
    edges = shade_edges(shown.edges, found, scene.least)
    return replace(
        shown,
        nodes=nodes,
        edges=[edge for edge in edges if {edge["from"], edge["to"]} <= there],
        looks=shaded_looks(shown.looks),
    )


def _picture(
    scene: Scene, graph: LatentGraph, names: Mapping[int, str], *, signs: bool = True
) -> Picture:
    return picture(
        graph,
        scene.positions[: graph.n_nodes],
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(graph, scene.source.distances) if signs else None,
        hidden_names=names,
    )


def _with_cycles(shown: Picture, graph: LatentGraph) -> Picture:
    shown = replace(shown, edges=mark_cycles(shown.edges, graph))
    return _with_legend(shown, LegendItem("line", NEW, NEW, "on a cycle"))


def _with_legend(shown: Picture, *items: LegendItem) -> Picture:
    extra = [
        {"shape": item.shape, "fill": item.fill, "border": item.border, "text": item.text}
        for item in items
    ]
    looks = {
        theme: look | {"legend": [*look["legend"], *extra]} for theme, look in shown.looks.items()
    }
    return replace(shown, looks=looks)


def _only(shown: Picture, around: tuple[int, ...]) -> Picture:
    wanted = set(around)
    return replace(
        shown,
        nodes=[node for node in shown.nodes if node["id"] in wanted],
        edges=[edge for edge in shown.edges if {edge["from"], edge["to"]} <= wanted],
    )
