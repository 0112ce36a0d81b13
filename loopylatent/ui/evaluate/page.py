"""The parts of the Evaluate page; here the tab on overlaps of topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from loopylatent.analysis.evaluation.topics import SharedColumn, cycle_groups, joined_groups
from loopylatent.errors import LoopyLatentError
from loopylatent.ui.evaluate.scores import scoreboard, show_scores
from loopylatent.ui.evaluate.topics import GraphTopics, show_topics, topics_of
from loopylatent.ui.page import Present, read_groups, say_notices, summary_line
from loopylatent.ui.shell.results import frame_of
from loopylatent.ui.shell.session import GROUPS, Session
from loopylatent.ui.shell.widgets import escaped, table, tabs, text_of, texts

__all__ = ["headline", "say_notices", "show"]

words = texts("evaluate")
TOPICS, OVERLAPS, SCORES = "Topics", "Overlaps", "Scores"


def headline(now: Present) -> None:
    """The data, and the counts of the current graph."""
    st.markdown(
        f"**{escaped(now.source.title)}** &nbsp; {summary_line(now.result)}",
        help=escaped(now.source.about),
    )


def show(s: Session, now: Present) -> None:
    """Topics, their overlaps, and the scores of models."""
    graph, board = now.result.graph, scoreboard()
    names = s.names_on(graph).by_node
    labels = tuple(names.get(node, label) for node, label in enumerate(graph.labels))
    found = topics_of(s, now, labels)
    contents: dict[str, Callable[[], None]] = {
        TOPICS: lambda: show_topics(s, now, found, board),
        OVERLAPS: lambda: show_overlaps(s, now, found),
        SCORES: lambda: show_scores(s, now, board),
    }
    tabs(contents, key="evaluate_tab")


HEIGHT = 470
MOST_PAIRS = 8
MOST_NEAR = 2


def show_overlaps(s: Session, now: Present, found: GraphTopics) -> None:
    """Draw columns in several topics, and cycles with their groups."""
    with st.container(key="overlaps_row"):
        left, right = st.columns([1, 1.15], gap="medium")
    with left:
        st.markdown("**Columns in several topics**")
        on_cycles = [one for one in found.shared if one.n_cycles]
        st.caption(words.shared if on_cycles or not found.shared else words.not_on_cycles)
        _shared(found, on_cycles or list(found.shared))
    with right:
        st.markdown("**Cycles and the groups they connect**")
        _cycles(s, now, found)


def _shared(found: GraphTopics, shared: list[SharedColumn]) -> None:
    if not shared:
        st.caption("No column is in several topics.")
        return
    frame = pd.DataFrame(
        {
            "column": [found.graph.names[one.column] for one in shared],
            "on cycles": [one.n_cycles for one in shared],
            "in topics": [len(one.topics) for one in shared],
            "between": [
                "; ".join(_node_text(found, node, one.column) for node in one.between)
                for one in shared
            ],
        }
    )
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns = {
        "on cycles": number(width=80, help=words.on_cycles),
        "in topics": number(width=80, help=words.in_topics),
        "between": text(help=words.between),
    }
    table(frame, HEIGHT, column_config=columns)


def _node_text(found: GraphTopics, node: int, column: int) -> str:
    """Return the name of a node, for a hidden one with its nearest other columns."""
    if node < found.graph.n_observed:
        return found.labels[node]
    topic = found.topics[node - found.graph.n_observed]
    near = [found.graph.names[k] for k in topic.columns if k != column]
    return f"{found.labels[node]} ({', '.join(near[:MOST_NEAR])})"


def _groups(s: Session, now: Present) -> Mapping[str, str]:
    """Return the uploaded groups of the columns, else the known ones."""
    uploaded: dict[str, str] = s.view.get(GROUPS, {})
    own = {name: group for name, group in uploaded.items() if name in now.result.graph.names}
    return own or dict(now.source.groups or {})


def _cycles(s: Session, now: Present, found: GraphTopics) -> None:
    graph = found.graph
    groups = _groups(s, now)
    if not groups:
        _upload_groups(s, now)
    if graph.n_cycles == 0:
        st.caption("The graph has no cycles. Try a smaller r.")
        return
    st.caption(words.cycles)
    cycles = cycle_groups(graph, groups)
    pairs = joined_groups(cycles)[:MOST_PAIRS]
    if pairs:
        text = "; ".join(f"{escaped(a)} – {escaped(b)} ({count})" for (a, b), count in pairs)
        st.markdown(f"Connected groups (number of cycles): {text}.")
    frame = pd.DataFrame(
        {
            "groups": [groups_text(one.groups) for one in cycles],
            "edges": [len(one.cycle) for one in cycles],
            "cycle": [" – ".join(found.labels[node] for node in one.cycle) for one in cycles],
            "adjacent columns": [", ".join(graph.names[k] for k in one.adjacent) for one in cycles],
        }
    )
    if not groups:
        frame = frame.drop(columns="groups")
    table(frame, HEIGHT)


def groups_text(groups: Sequence[tuple[str, int]]) -> str:
    """Return groups with their counts on one line."""
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in groups)


def _upload_groups(s: Session, now: Present) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(words.no_groups)
        with st.popover("Upload groups"):
            file = st.file_uploader(
                "Table with two columns: column name, group",
                type=["csv", "tsv", "xlsx"],
                key="evaluate_groups",
            )
    if file is None:
        return
    try:
        s.view[GROUPS] = read_groups(frame_of(s.memo, file.getvalue(), file.name), now.result.graph)
    except LoopyLatentError as error:
        st.error(text_of(error))
        return
    st.rerun()
