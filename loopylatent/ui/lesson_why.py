"""Why? From a node of the Explore page to the step of the lesson that made it, or its edges."""

from __future__ import annotations

import streamlit as st

from loopylatent.graph import LatentGraph
from loopylatent.layout import shown_label
from loopylatent.nodes import neighbours_of
from loopylatent.ui.lesson_state import PAGE, Why, walk
from loopylatent.ui.plain import plain

MOST_EDGES = 12


def offer_why(graph: LatentGraph, node: int, labels: tuple[str, ...]) -> None:
    """Lead to the steps that made a hidden node and each edge of a node."""
    near = neighbours_of(graph, node)
    if not near:
        return
    with st.popover("Why is it here?", icon=":material/school:", width="stretch"):
        st.caption("Go to the step of the lesson that made")
        if node >= graph.n_observed and st.button("this hidden node", key="why_node"):
            _ask(node)
        for one in near[:MOST_EDGES]:
            end = plain(shown_label(labels[one.node]))
            if st.button(f"the edge to {end}", key=f"why_edge_{one.node}"):
                _ask(node, one.node)


def _ask(*nodes: int) -> None:
    walk().why = Why(nodes)
    st.switch_page(PAGE)
