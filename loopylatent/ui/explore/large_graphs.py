"""Graphs of many columns: what is drawn of them, what is said about it, the way to the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import pandas as pd
import streamlit as st

from loopylatent.analysis.nodes import nearest_on_graph, summaries
from loopylatent.figures.labels import LONGEST_LABEL, shown_label
from loopylatent.figures.simplify import (
    SIMPLE_FROM,
    WHOLE_UP_TO,
    SimplifiedGraph,
    fold,
    neighbourhood,
    nothing_of,
)
from loopylatent.graph import LatentGraph
from loopylatent.ui.shell.messages import escaped
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import height_of, select_by_row

NEAR_STEPS = 3
"""How far around a node a graph is drawn that is never drawn whole."""
WHOLE = "whole_graph"
"""Where the session's view keeps that everything is wanted."""
TABLE_HEIGHT = 560
LOOKED_AT = 8
"""Columns among which one is sought after which to call a node."""


def is_large(graph: LatentGraph) -> bool:
    """Whether the graph is simplified of itself."""
    return graph.n_observed > SIMPLE_FROM


def is_never_whole(graph: LatentGraph) -> bool:
    """Whether the page opens on a table, and only surroundings are drawn."""
    return graph.n_observed > WHOLE_UP_TO


def part_of(s: Session, graph: LatentGraph, steps: int | None) -> SimplifiedGraph | None:
    """Return what is drawn of a graph; None where everything is.

    ``steps`` is how far around the selected node to draw, None for no such limit.
    """
    if not is_large(graph):
        return None
    selected = s.selected if s.selected is not None and s.selected < graph.n_nodes else None
    if is_never_whole(graph):
        if selected is None:
            return nothing_of(graph)
        return neighbourhood(graph, selected, steps or NEAR_STEPS)
    if steps is not None and selected is not None:
        return neighbourhood(graph, selected, steps)
    if s.view.get(WHOLE):
        return None
    folding = s.memo.get("folding", graph.digest, lambda: fold(graph))
    if s.sought is not None and s.sought < graph.n_nodes:
        s.opened |= folding.around(s.sought)
    s.sought = None
    return folding.show(s.opened, selected)


def captions(part: SimplifiedGraph, labels: tuple[str, ...]) -> Mapping[int, str]:
    """Return what is written at nodes that stand for others: a name, and how many more.

    A hidden node without a name of its own is called by the nearest column it stands for.
    """
    written = {}
    for node, columns in part.counted.items():
        name, n_more = labels[node], len(columns)
        has_own_name = node < part.graph.n_observed or name != part.graph.labels[node]
        if not has_own_name and n_more > 1:
            near, inside = nearest_on_graph(part.graph, node, LOOKED_AT), set(columns)
            name = next((labels[one.node] for one in near if one.node in inside), name)
            n_more -= name != labels[node]
        count = f" +{n_more}"
        written[node] = shown_label(name, LONGEST_LABEL - len(count)) + count
    return written


def toggle(s: Session, part: SimplifiedGraph, node: int) -> None:
    """Open a collapsed node; close it again where it is open and selected."""
    if node in s.opened and s.selected == node:
        s.opened -= {node}
    elif node in part.counted:
        s.opened |= {node}
        s.n_centred += 1


def subject_of(digest: str, part: SimplifiedGraph | None) -> str:
    """Return what a picture is of; where it changes the whole picture is brought into view."""
    if part is None:
        return digest
    return f"{digest} simple" if part.centre is None else f"{digest} around {part.centre}"


def say_what_is_drawn(s: Session, graph: LatentGraph, part: SimplifiedGraph | None) -> None:
    """One sentence on what is shown of a large graph, and the ways to see more or less."""

    def button(label: str, key: str, action: Callable[[], None]) -> None:
        st.button(label, on_click=action, key=key, type="tertiary")

    def close_all() -> None:
        s.opened, s.selected = frozenset(), None

    def show_whole() -> None:
        s.view[WHOLE] = part is not None

    with st.container(key="shown_part"):
        left, right = st.columns([3, 1], vertical_alignment="center")
    left.caption(sentence(graph, part))
    with right, st.container(horizontal=True, horizontal_alignment="right", gap="small"):
        if is_never_whole(graph):
            if part is not None and part.nodes:
                button("Back to the table", "to_table", partial(s.select, None))
            return
        if part is not None and part.centre is not None:
            button("Back to the overview", "to_overview", partial(s.select, None))
            return
        if part is not None and s.opened:
            button("Close all", "close_all", close_all)
        button("Simplify" if part is None else "Show everything", "show_whole", show_whole)


def sentence(graph: LatentGraph, part: SimplifiedGraph | None) -> str:
    """What is drawn, in plain words."""
    p = f"{graph.n_observed:,}"
    if part is None:
        return f"Showing all {p} columns."
    if not part.nodes:
        return (
            f"{p} columns are too many for one picture. Choose a hidden node in the table, or "
            "search a column above, to draw its surroundings."
        )
    if part.centre is not None:
        name = escaped(shown_label(graph.labels[part.centre]))
        return (
            f"Showing {len(part.nodes):,} of {graph.n_nodes:,} nodes: those around **{name}**, the "
            "nearest first. Click another node to go there."
        )
    n_folded = sum(map(len, part.counted.values()))
    text = f"Showing {len(part.drawn_columns):,} of {p} columns by name"
    if n_folded:
        text += (
            f"; {n_folded:,} are folded into {len(part.counted):,} nodes with a number: a click "
            "opens or closes"
        )
    if part.not_shown:
        text += f". {len(part.not_shown):,} in weaker parts are not drawn; search finds them"
    return text + ". Zoom in for more names."


def show_hidden_table(s: Session, graph: LatentGraph, labels: tuple[str, ...]) -> None:
    """All hidden nodes as a table; a click on a row draws what is around the node."""
    found = s.memo.get("summaries", graph.digest, lambda: summaries(graph))
    frame = pd.DataFrame(
        {
            "hidden": [labels[one.node] for one in found],
            "nearest columns": [
                ", ".join(shown_label(labels[near.node]) for near in one.nearest) for one in found
            ],
            "columns next to it": [one.n_columns for one in found],
            "cycles": [one.n_cycles for one in found],
        }
    )

    select_by_row(
        s,
        frame,
        [one.node for one in found],
        "hidden_table",
        height=height_of(max(len(frame), 1), TABLE_HEIGHT),
        column_config={
            "hidden": st.column_config.TextColumn(width=120),
            "nearest columns": st.column_config.TextColumn(width="large"),
            "columns next to it": st.column_config.NumberColumn(width=130),
            "cycles": st.column_config.NumberColumn(width=80),
        },
    )
