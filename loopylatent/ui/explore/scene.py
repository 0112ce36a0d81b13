"""The graph on Explore: views, colours, and the panel of the selected node."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.matching import (
    Near,
    columns_near_hidden,
    cycles_through,
    nearest_columns,
    neighbours_of,
    origin_of,
)
from loopylatent.analysis.stability.groups import Groups, communities, groups
from loopylatent.analysis.stability.runs import Stability
from loopylatent.errors import LoopyLatentError
from loopylatent.figures.charts import distribution_figure, value_counts
from loopylatent.figures.layout import FONT_SIZE, NODE_SIZE, shown_label
from loopylatent.figures.network import EDGE, LegendItem, ThemeName, edge_signs
from loopylatent.figures.overlays import (
    ADDED,
    REMOVED,
    between,
    changed_looks,
    difference,
    explain_evidence,
    mark_changed_edges,
    mark_changed_hidden,
    mark_cycles,
    shade_edges,
    shade_nodes,
    shaded_looks,
)
from loopylatent.figures.simplify import SimplifiedGraph
from loopylatent.graph import LatentGraph
from loopylatent.inference.model import Model
from loopylatent.learning.learner import LearnResult
from loopylatent.ui.explore.fit import as_fitted, describe_hidden
from loopylatent.ui.explore.refine import Shown, describe_evidence
from loopylatent.ui.explore.stability import SUPPORT
from loopylatent.ui.graph_view import Picture, picture
from loopylatent.ui.page import name_field, read_groups
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.results import Source, frame_of
from loopylatent.ui.shell.session import GROUPS, Session, bound
from loopylatent.ui.shell.widgets import (
    chart,
    escaped,
    select_by_row,
    share_column,
    table,
    text_of,
    viewed,
)

LEARNED, INITIAL, CHANGES, REFINED = "Learned graph", "Initial graph", "Changes", "Refined graph"
STAYED = "unchanged; wider is stronger"
LARGEST_LABEL = 16
"""Label size in a simplified graph, in pixels of the layout."""
THINNER = 0.55
"""Edge width in a simplified graph, relative to other graphs."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything that a picture of the graph depends on."""

    source: Source
    result: LearnResult
    positions: NDArray[np.float64]
    colouring: Colouring
    names: Mapping[int, str]
    cycles: bool = False
    """Highlight edges on cycles."""
    around: tuple[int, ...] | None = None
    """The nodes to show; None for all."""
    model: Model | None = None
    """The fit of this graph; edges then show its strengths and signs."""
    support: Stability | None = None
    least: float = 0.0
    """Parts with less support are not drawn in the view Support."""
    part: SimplifiedGraph | None = None
    """The part of a large graph that is drawn; only its nodes have positions."""
    captions: Mapping[int, str] = field(default_factory=dict)
    """Labels of nodes with folded columns."""
    refined: Shown | None = None
    """The refinement whose step is shown; None for a learned graph."""

    @property
    def whole_positions(self) -> NDArray[np.float64] | None:
        """Positions of all nodes; None if only a part of the graph is drawn."""
        return self.positions if self.part is None else None


def draw(view: str, scene: Scene) -> Picture:
    """Return the picture of a view; all views share one layout."""
    initial, learned = scene.result.initial_graph, scene.result.graph
    if view == INITIAL:
        shown = _picture(scene, initial, {}, marked=scene.cycles)
        shown = _with_cycles(shown, initial) if scene.cycles else shown
    elif view == CHANGES and scene.refined is not None:
        shown = _refined_changes(scene, scene.refined)
    elif view == CHANGES:
        both = difference(initial, learned)
        shown = _picture(scene, both.graph, scene.names, signs=False)
        shown = replace(shown, edges=mark_changed_edges(shown.edges, both.status))
        added = LegendItem("line", ADDED, ADDED, "added by grouping")
        removed = LegendItem("dashes", REMOVED, REMOVED, "removed by grouping")
        shown = _with_legend(shown, added, removed, edge_text=STAYED)
    elif view == SUPPORT and scene.support is not None:
        shown = _supported(scene, scene.support)
    else:
        marked = scene.cycles or scene.model is not None
        shown = _picture(scene, learned, scene.names, marked=marked, model=scene.model)
        shown = _with_cycles(shown, learned) if scene.cycles else shown
        shown = _with_evidence(shown, scene.refined)
    if scene.part is not None:
        shown = _folded(_only(shown, scene.part.nodes), scene.part)
    if scene.around is not None:
        shown = _only(shown, scene.around)
    return shown if scene.refined is None else _with_ids(shown, drawn_ids(view, scene))


def _with_evidence(shown: Picture, refined: Shown | None) -> Picture:
    evidence = () if refined is None else refined.evidence or ()
    nodes, edges = (explain_evidence(rows, evidence) for rows in (shown.nodes, shown.edges))
    return replace(shown, nodes=nodes, edges=edges)


def drawn_ids(view: str, scene: Scene) -> tuple[int, ...]:
    """Return the numbers of the nodes in the picture; those of hidden nodes stay in refinement."""
    graph, refined = scene.result.graph, scene.refined
    if refined is None:
        return tuple(range(graph.n_nodes))
    hidden = refined.change.hidden_ids if view == CHANGES else refined.ids.ids
    return (*range(graph.n_observed), *hidden)


def _with_ids(shown: Picture, ids: tuple[int, ...]) -> Picture:
    """Number the nodes of a picture so that they move to their places in the next one."""

    def renamed(edge: dict[str, Any]) -> dict[str, Any]:
        ends = ids[edge["from"]], ids[edge["to"]]
        return edge | {"from": ends[0], "to": ends[1], "id": f"{min(ends)}-{max(ends)}"}

    nodes = [node | {"id": ids[node["id"]]} for node in shown.nodes]
    return replace(shown, nodes=nodes, edges=[renamed(edge) for edge in shown.edges])


def _refined_changes(scene: Scene, refined: Shown) -> Picture:
    """Draw what the moves so far changed in the learned graph."""
    change = refined.change
    n_nodes, p = scene.result.graph.n_nodes, change.graph.n_observed
    gone = range(n_nodes, change.graph.n_nodes)
    place = between([change.graph.neighbours(node) for node in gone], scene.positions)
    names = {**refined.names_of(change.hidden_ids), **scene.names}
    shown = _picture(replace(scene, positions=place), change.graph, names, signs=False)
    shown = replace(
        shown,
        nodes=mark_changed_hidden(shown.nodes, p, change.hidden),
        edges=mark_changed_edges(shown.edges, change.edges),
        looks=changed_looks(shown.looks),
    )
    added = LegendItem("line", ADDED, ADDED, "added by refinement")
    removed = LegendItem("dashes", REMOVED, REMOVED, "removed by refinement")
    return _with_legend(shown, added, removed, edge_text=STAYED)


def _supported(scene: Scene, found: Stability) -> Picture:
    """Draw the learned graph shaded by support, without signs: they would be dashed too."""
    shown = _picture(scene, found.graph, scene.names, signs=False)
    nodes = shade_nodes(shown.nodes, found, scene.least)
    kept = {node["id"] for node in nodes}
    edges = shade_edges(shown.edges, found, scene.least)
    return replace(
        shown,
        nodes=nodes,
        edges=[edge for edge in edges if {edge["from"], edge["to"]} <= kept],
        looks=shaded_looks(shown.looks),
    )


def _picture(
    scene: Scene,
    graph: LatentGraph,
    names: Mapping[int, str],
    *,
    signs: bool = True,
    marked: bool = True,
    model: Model | None = None,
) -> Picture:
    """Draw a graph, or its fit; only the visible part unless all edges have to be marked."""
    signed = edge_signs(graph, scene.source.distances) if signs and model is None else None
    return picture(
        graph if model is None else as_fitted(model),
        scene.positions[: graph.n_nodes],
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=signed if model is None else np.sign(model.edge_strengths).astype(np.int64),
        hidden_names=names,
        only=None if marked or scene.part is None else scene.part.nodes,
        captions=scene.captions,
    )


def _with_cycles(shown: Picture, graph: LatentGraph) -> Picture:
    shown = replace(shown, edges=mark_cycles(shown.edges, graph))
    return _with_legend(shown, LegendItem("line", ADDED, ADDED, "on a cycle"))


def _with_legend(shown: Picture, *items: LegendItem, edge_text: str = EDGE) -> Picture:
    """Add items to the legend; ``edge_text`` replaces the text of ordinary edges."""
    extra, renamed = [asdict(item) for item in items], {EDGE: {"text": edge_text}}
    return _with_legends(
        shown, lambda legend: [item | renamed.get(item["text"], {}) for item in legend] + extra
    )


def _with_legends(
    shown: Picture, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> Picture:
    looks = {theme: one | {"legend": change(one["legend"])} for theme, one in shown.looks.items()}
    return replace(shown, looks=looks)


def graph_of(view: str, result: LearnResult) -> LatentGraph:
    """Return the graph that a view draws."""
    if view == INITIAL:
        return result.initial_graph
    return difference(result.initial_graph, result.graph).graph if view == CHANGES else result.graph


def _folded(shown: Picture, part: SimplifiedGraph) -> Picture:
    """Draw nodes with folded columns larger, and say how many they have."""

    def as_drawn(node: dict[str, Any]) -> dict[str, Any]:
        columns = part.counted.get(node["id"])
        if columns is None:
            return node
        size = NODE_SIZE + min(1.7 * math.sqrt(len(columns)), 9.0)
        folded = f"{len(columns)} columns folded into it; click to open"
        title = f"{node['title']}\n{folded}"
        return node | {"size": round(size, 1), "title": title}

    looks = {theme: _with_large_labels(look) for theme, look in shown.looks.items()}
    edges = [edge | {"width": round(THINNER * edge["width"], 2)} for edge in shown.edges]
    nodes = [as_drawn(node) for node in shown.nodes]
    full = replace(shown, nodes=nodes, edges=edges, looks=looks)
    return _with_legends(full, _with_counts) if part.counted else full


def _with_large_labels(look: dict[str, Any]) -> dict[str, Any]:
    """Draw all labels in one size: most nodes of a simplified graph are hidden nodes."""
    groups = {
        name: group | {"font": group["font"] | {"size": FONT_SIZE}} if "font" in group else group
        for name, group in look["options"]["groups"].items()
    }
    options = look["options"] | {"groups": groups}
    return look | {"options": options, "largest_label": LARGEST_LABEL}


def _with_counts(legend: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Explain the counts, with the symbol of the nodes that usually have them."""
    like = max(legend, key=lambda item: bool(item["text"] == "hidden"))
    return [*legend, like | {"text": "+ number: folded columns"}]


def _only(shown: Picture, around: tuple[int, ...]) -> Picture:
    kept = set(around)
    return replace(
        shown,
        nodes=[node for node in shown.nodes if node["id"] in kept],
        edges=[edge for edge in shown.edges if {edge["from"], edge["to"]} <= kept],
    )


NODE_TYPE, DETECTED = "colour: node type", "colour: detected groups"
KNOWN, UPLOADED = "colour: known groups", "colour: uploaded groups"


@dataclass(frozen=True, slots=True, eq=False)
class Colouring:
    """A group for each column; None for two colours, observed and hidden."""

    labels: NDArray[np.int64] | None = None
    names: tuple[str, ...] | None = None
    line: str | None = None
    """A sentence about the groups."""
    job: Job | None = None
    """The running job for the consensus groups."""


def choose_colours(s: Session, source: Source, graph: LatentGraph) -> Colouring:
    """Choose what node colours show."""
    options = [NODE_TYPE, DETECTED, *([KNOWN] if source.groups else []), UPLOADED]
    binding = viewed(s, "colours", NODE_TYPE, options)
    choice = st.selectbox("Colour", options, label_visibility="collapsed", width=190, **binding)
    if choice == KNOWN and source.groups:
        return _coloured(graph, source.groups)
    if choice == UPLOADED:
        return _uploaded(s, graph)
    if choice == DETECTED:
        return _detected(s, source, graph)
    return Colouring()


def _detected(s: Session, source: Source, graph: LatentGraph) -> Colouring:
    """Return the consensus groups; until they are computed, the communities of this graph."""
    D = source.distances
    table = D if source.observations is None else source.observations
    metric = s.recipe.metric
    quick = communities(graph)
    if D.n_samples is None:
        line = "Groups of this graph only: a consensus needs the number of rows."
        return _numbered(quick, line)
    job = s.jobs.get(
        "groups", D.digest, lambda report: groups(table, metric=metric, progress=report)
    )
    if job.is_running:
        return _numbered(quick, None, job)
    if job.error is not None:
        return _numbered(quick, f"Groups of this graph only: {text_of(job.error)}")
    found: Groups = job.result
    line = f"{found.n_groups} consensus groups of {found.n_resamples} resamples"
    if source.groups:
        line += f"; agreement with the known groups: {found.agreement(source.groups):.2f}"
        line += " (1: identical, 0: expected by chance)"
    return _numbered(found, line + ".")


def _numbered(found: Groups, line: str | None, job: Job | None = None) -> Colouring:
    names = tuple(f"group {k + 1}" for k in range(found.n_groups))
    return Colouring(found.labels, names, line, job)


def _coloured(graph: LatentGraph, known: Mapping[str, str]) -> Colouring:
    names = tuple(dict.fromkeys(known[name] for name in graph.names if name in known))
    number = {name: k for k, name in enumerate(names)}
    labels = np.array([number.get(known.get(name, ""), -1) for name in graph.names])
    line = None
    if len(known) > 1:
        found = communities(graph).agreement(known)
        line = (
            f"Agreement of the graph's communities with these groups: {found:.2f} (1: identical)."
        )
    return Colouring(labels.astype(np.int64), names, line)


def _uploaded(s: Session, graph: LatentGraph) -> Colouring:
    file = st.file_uploader(
        "Upload groups: a table with two columns, name and group",
        type=["csv", "tsv", "xlsx"],
        key="uploaded_groups",
    )
    if file is not None:
        try:
            s.view[GROUPS] = read_groups(frame_of(s.memo, file.getvalue(), file.name), graph)
        except LoopyLatentError as error:
            st.error(text_of(error))
    uploaded: dict[str, str] = s.view.get(GROUPS, {})
    known = {name: group for name, group in uploaded.items() if name in graph.names}
    if len(known) < 2:
        return Colouring(line="No groups yet. Upload a table with a name and a group in each row.")
    return _coloured(graph, known)


MANY = 450
"""Number of nodes from which the search field is wider."""


def find_node(s: Session, labels: tuple[str, ...]) -> None:
    """Search for a node by name; the selected node is centred."""

    def report(node: int | None) -> None:
        s.select(node, centre=node is not None)

    here = s.selected if s.selected is not None and s.selected < len(labels) else None
    st.selectbox(
        "Find a node",
        range(len(labels)),
        format_func=lambda node: labels[node],
        placeholder="search" if len(labels) <= MANY else f"search {len(labels):,} nodes",
        label_visibility="collapsed",
        width=110 if len(labels) <= MANY else 210,
        **bound("find", here, report),
        index=None,
    )


def describe_node(s: Session, shown: Shown, labels: tuple[str, ...], theme: ThemeName) -> None:
    """Describe the selected node: values, name, neighbours, evidence, cycles, origin."""
    source, result, node = shown.present.source, shown.present.result, s.selected
    graph = result.graph
    if node is None or node >= graph.n_nodes:
        _hidden_nodes(s, result, labels)
        return
    hidden = node >= graph.n_observed
    st.markdown(f"**{escaped(labels[node])}**" + (" · hidden" if hidden else " · observed"))
    if hidden:
        name_field(s, result, node, labels[node])
    elif source.observations is not None:
        _values(source, labels[node], theme)
    if shown.step is None:
        show_origin(s, graph, node, labels)
    describe_evidence(shown, node, labels)
    _near_table("Neighbours in the graph", neighbours_of(graph, node), labels)
    near = nearest_columns(graph, node) if hidden else nearest_columns(source.distances, node)
    title = "Nearest columns in the graph" if hidden else "Nearest columns by distance"
    _near_table(title, near, labels)
    cycles = cycles_through(graph, node)
    on = f"On {len(cycles)} of the {graph.n_cycles} basis cycles:"
    st.caption(on if cycles else "On no cycle.")
    for cycle in cycles[:5]:
        st.text(" – ".join(labels[member] for member in cycle))
    if hidden:
        origin = origin_of(result, node) if shown.step is None else None
        if origin is not None:
            st.caption("Created in")
            st.text(f"visit {origin.number} of {result.n_visits}, to {labels[origin.visited]}")
        describe_hidden(s, source, graph, node, labels)


def _hidden_nodes(s: Session, result: LearnResult, labels: tuple[str, ...]) -> None:
    """Draw a table of the hidden nodes, shown when nothing is selected."""
    graph = result.graph
    st.caption("Click a node for details. Keyboard: Tab to the graph, then arrow keys.")
    if not graph.n_hidden:
        st.caption("No hidden nodes at these thresholds. A smaller τ or Λ may give some.")
        return
    near = s.memo.get("hidden", graph.digest, lambda: columns_near_hidden(graph))
    rows = [", ".join(labels[column] for column in columns) for columns in near]
    frame = pd.DataFrame({"hidden": labels[graph.n_observed :], "nearest columns": rows})
    columns = {"hidden": st.column_config.TextColumn(width=50)}
    select_by_row(s, frame, graph.hidden_nodes, "hidden_nodes", 500, column_config=columns)


def _values(source: Source, name: str, theme: ThemeName) -> None:
    obs = source.observations
    if obs is None or name not in obs.names:
        return
    figure = distribution_figure(value_counts(obs, name), theme)
    chart(figure, f"Values of {shown_label(name)}", "distribution", theme=None)
    missing = obs.missing_share(name)
    kind = obs.kinds[obs.names.index(name)]
    st.caption(f"{kind}; {missing:.1%} missing" if missing else f"{kind}; no missing values")


def _near_table(title: str, near: tuple[Near, ...], labels: tuple[str, ...]) -> None:
    st.caption(title)
    rows = [(labels[one.node], one.distance, one.strength) for one in near]
    frame = pd.DataFrame(rows, columns=["name", "distance", "strength"])
    columns = {
        "distance": st.column_config.NumberColumn(format="%.2f", width="small"),
        "strength": share_column(help="e^−distance"),
    }
    table(frame, 212, column_config=columns)


MOST_EDGES = 12


def show_origin(s: Session, graph: LatentGraph, node: int, labels: tuple[str, ...]) -> None:
    """Link to the steps of the lesson that created the node and its edges."""

    def go(*nodes: int) -> None:
        s.why = nodes
        st.switch_page("pages/1_Step_by_step.py")

    near = neighbours_of(graph, node)
    if not near:
        return
    with st.popover("Origin", icon=":material/school:", width="stretch"):
        st.caption("Show the step that created")
        if node >= graph.n_observed and st.button("this hidden node", key="origin_node"):
            go(node)
        for one in near[:MOST_EDGES]:
            end = escaped(shown_label(labels[one.node]))
            if st.button(f"the edge to {end}", key=f"origin_edge_{one.node}"):
                go(node, one.node)
