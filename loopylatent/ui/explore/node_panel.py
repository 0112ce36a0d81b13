"""Beside the graph: what is known of the selected node, and the way to the step that made it."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from loopylatent.analysis.nodes import (
    Near,
    birth_of,
    columns_near_hidden,
    cycles_through,
    nearest_columns,
    neighbours_of,
)
from loopylatent.figures.alt_text import described
from loopylatent.figures.distribution import distribution_figure, value_counts
from loopylatent.figures.labels import shown_label
from loopylatent.figures.looks import ThemeName
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.ui.explore.fit import describe_hidden
from loopylatent.ui.page import name_field
from loopylatent.ui.shell.messages import escaped
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.stages import Source
from loopylatent.ui.shell.widgets import height_of, select_by_row

MANY = 450
"""Nodes from which the search is the way to one of them, and gets more room."""


def find_node(s: Session, labels: tuple[str, ...]) -> None:
    """Search a node by its name; the choice is brought to the middle."""

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


def describe_node(
    s: Session, source: Source, result: LearnResult, labels: tuple[str, ...], theme: ThemeName
) -> None:
    """Say what the selected node is and what is near it."""
    graph, node = result.graph, s.selected
    if node is None or node >= graph.n_nodes:
        _hidden_nodes(s, result, labels)
        return
    hidden = node >= graph.n_observed
    st.markdown(f"**{escaped(labels[node])}**" + (" · hidden" if hidden else " · observed"))
    if hidden:
        name_field(s, result, node, labels[node])
    elif source.observations is not None:
        _values(source, labels[node], theme)
    offer_why(s, graph, node, labels)
    _near_table("Neighbours in the graph", neighbours_of(graph, node), labels)
    near = nearest_columns(graph, node) if hidden else nearest_columns(source.distances, node)
    title = "Nearest columns, along the graph" if hidden else "Nearest columns, by distance"
    _near_table(title, near, labels)
    cycles = cycles_through(graph, node)
    on = f"It lies on {len(cycles)} of the {graph.n_cycles} basic cycles:"
    st.caption(on if cycles else "It lies on no cycle.")
    for cycle in cycles[:5]:
        st.text(" – ".join(labels[member] for member in cycle))
    if hidden:
        birth = birth_of(result, node)
        if birth is not None:
            st.caption("Created in")
            st.text(f"visit {birth.number} of {result.n_visits}, at {labels[birth.visited]}")
        describe_hidden(s, source, graph, node, labels)


def _hidden_nodes(s: Session, result: LearnResult, labels: tuple[str, ...]) -> None:
    """Nothing is selected: what the hidden nodes stand for, at a glance."""
    graph = result.graph
    st.caption("Click a node to see what it is; with the keyboard, Tab to the graph, then arrows.")
    if not graph.n_hidden:
        st.caption("There is no hidden node at these thresholds. A smaller τ or Λ may leave some.")
        return
    near = s.memo.get("hidden", graph.digest, lambda: columns_near_hidden(graph))
    rows = [", ".join(labels[column] for column in columns) for columns in near]
    frame = pd.DataFrame({"hidden": labels[graph.n_observed :], "nearest columns": rows})
    select_by_row(
        s,
        frame,
        list(graph.hidden_nodes),
        "hidden_nodes",
        height=height_of(len(frame), 500),
        column_config={"hidden": st.column_config.TextColumn(width=50)},
    )


def _values(source: Source, name: str, theme: ThemeName) -> None:
    obs = source.observations
    if obs is None or name not in obs.names:
        return
    figure = distribution_figure(value_counts(obs, name), theme)
    st.plotly_chart(
        figure,
        alt=described(figure, f"The values of {shown_label(name)}"),
        config={"displayModeBar": False},
        key="distribution",
        theme=None,
    )
    missing = obs.missing_share(name)
    kind = obs.kinds[obs.names.index(name)]
    st.caption(f"{kind}; {missing:.1%} missing" if missing else f"{kind}; nothing missing")


def _near_table(title: str, near: tuple[Near, ...], labels: tuple[str, ...]) -> None:
    st.caption(title)
    rows = [(labels[one.node], one.distance, one.strength) for one in near]
    frame = pd.DataFrame(rows, columns=["name", "distance", "strength"])
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        height=height_of(len(frame), 212),
        column_config={
            "distance": st.column_config.NumberColumn(format="%.2f", width="small"),
            "strength": st.column_config.ProgressColumn(
                format="%.2f", min_value=0, max_value=1, width="small", help="e to the −distance"
            ),
        },
    )


MOST_EDGES = 12


def offer_why(s: Session, graph: LatentGraph, node: int, labels: tuple[str, ...]) -> None:
    """Lead to the steps that made a hidden node and each edge of a node."""

    def ask(*nodes: int) -> None:
        s.why = nodes
        st.switch_page("pages/1_Step_by_step.py")

    near = neighbours_of(graph, node)
    if not near:
        return
    with st.popover("Why is it here?", icon=":material/school:", width="stretch"):
        st.caption("Go to the step of the lesson that made")
        if node >= graph.n_observed and st.button("this hidden node", key="why_node"):
            ask(node)
        for one in near[:MOST_EDGES]:
            end = escaped(shown_label(labels[one.node]))
            if st.button(f"the edge to {end}", key=f"why_edge_{one.node}"):
                ask(node, one.node)
