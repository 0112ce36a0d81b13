"""The parts of the Evaluate page; here the tab on columns and cycles where topics meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
import streamlit as st

from loopylatent.analysis.evaluation.topics import SharedColumn, cycle_groups, joined_groups
from loopylatent.errors import LoopyLatentError
from loopylatent.ui.evaluate.scores import scoreboard, show_scores
from loopylatent.ui.evaluate.topics import Found, found_topics, show_topics
from loopylatent.ui.page import Present, read_groups, say_notices, summary_line
from loopylatent.ui.shell.results import frame_of
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import escaped, said, table, tabs, texts

__all__ = ["headline", "say_notices", "show"]

words = texts("evaluate")
TOPICS, MEETING, SCORES = "Topics", "Where they meet", "Scores"


def headline(now: Present) -> None:
    """The data, and the counts of the present graph."""
    st.markdown(
        f"**{escaped(now.source.title)}** &nbsp; {summary_line(now.result)}",
        help=escaped(now.source.about),
    )


def show(s: Session, now: Present) -> None:
    """Topics, what joins them, and how well models foretell."""
    graph, board = now.result.graph, scoreboard()
    given = s.names_on(graph).by_node
    labels = tuple(given.get(node, label) for node, label in enumerate(graph.labels))
    found = found_topics(s, now, labels)
    contents: dict[str, Callable[[], None]] = {
        TOPICS: lambda: show_topics(s, now, found, board),
        MEETING: lambda: show_meeting(s, now, found),
        SCORES: lambda: show_scores(s, now, board),
    }
    tabs(contents, key="evaluate_tab")


HEIGHT = 470
MOST_PAIRS = 8
MOST_NEAR = 2


def show_meeting(s: Session, now: Present, found: Found) -> None:
    """Columns of several topics on the left, cycles with their groups on the right."""
    with st.container(key="meeting_row"):
        left, right = st.columns([1, 1.15], gap="medium")
    with left:
        st.markdown("**Columns of several topics**")
        on_cycles = [one for one in found.shared if one.n_cycles]
        st.caption(words.shared if on_cycles or not found.shared else words.not_on_cycles)
        _shared(found, on_cycles or list(found.shared))
    with right:
        st.markdown("**Cycles and the groups they join**")
        _cycles(s, now, found)


def _shared(found: Found, shared: list[SharedColumn]) -> None:
    if not shared:
        st.caption("No column is near several hidden nodes.")
        return
    frame = pd.DataFrame(
        {
            "column": [found.graph.names[one.column] for one in shared],
            "on cycles": [one.n_cycles for one in shared],
            "in topics": [len(one.topics) for one in shared],
            "lies between": [
                "; ".join(_told(found, node, one.column) for node in one.between) for one in shared
            ],
        }
    )
    number, text = st.column_config.NumberColumn, st.column_config.TextColumn
    columns = {
        "on cycles": number(width=80, help=words.on_cycles),
        "in topics": number(width=80, help=words.in_topics),
        "lies between": text(help=words.lies_between),
    }
    table(frame, HEIGHT, column_config=columns)


def _told(found: Found, node: int, but: int) -> str:
    """A node by its name; a hidden one with its nearest columns."""
    if node < found.graph.n_observed:
        return found.labels[node]
    topic = found.topics[node - found.graph.n_observed]
    near = [found.graph.names[column] for column in topic.columns if column != but]
    return f"{found.labels[node]} ({', '.join(near[:MOST_NEAR])})"


def _groups(s: Session, now: Present) -> Mapping[str, str]:
    """The known groups of the columns, or those that the user brought."""
    brought: dict[str, str] = s.view.get("brought", {})
    own = {name: group for name, group in brought.items() if name in now.result.graph.names}
    return own or dict(now.source.groups or {})


def _cycles(s: Session, now: Present, found: Found) -> None:
    graph = found.graph
    groups = _groups(s, now)
    if not groups:
        _bring(s, now)
    if graph.n_cycles == 0:
        st.caption("The graph is a tree: it has no cycle. A smaller r leaves some.")
        return
    st.caption(words.cycles)
    cycles = cycle_groups(graph, groups)
    pairs = joined_groups(cycles)[:MOST_PAIRS]
    if pairs:
        told = "; ".join(f"{escaped(a)} – {escaped(b)} ({count})" for (a, b), count in pairs)
        st.markdown(f"Groups that meet, with on how many cycles: {told}.")
    frame = pd.DataFrame(
        {
            "groups": [group_words(one.groups) for one in cycles],
            "edges": [len(one.cycle) for one in cycles],
            "cycle": [" – ".join(found.labels[node] for node in one.cycle) for one in cycles],
            "beside it": [", ".join(graph.names[k] for k in one.beside) for one in cycles],
        }
    )
    if not groups:
        frame = frame.drop(columns="groups")
    table(frame, HEIGHT)


def group_words(groups: Sequence[tuple[str, int]]) -> str:
    """Return groups with their counts in one line."""
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in groups)


def _bring(s: Session, now: Present) -> None:
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(words.no_groups)
        with st.popover("Bring groups"):
            file = st.file_uploader(
                "A table with two columns: the column's name and its group",
                type=["csv", "tsv", "xlsx"],
                key="evaluate_groups",
            )
    if file is None:
        return
    try:
        s.view["brought"] = read_groups(
            frame_of(s.memo, file.getvalue(), file.name), now.result.graph
        )
    except LoopyLatentError as error:
        st.error(said(error))
        return
    st.rerun()
