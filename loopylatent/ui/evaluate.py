"""The parts of the Evaluate page."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from loopylatent.matching import follow_names
from loopylatent.ui.evaluate_meet import show_meeting
from loopylatent.ui.evaluate_scores import show_scores
from loopylatent.ui.evaluate_state import scoreboard
from loopylatent.ui.evaluate_topics import found_topics, show_topics
from loopylatent.ui.explore import say_notices, summary_line
from loopylatent.ui.page import Present
from loopylatent.ui.plain import plain
from loopylatent.ui.state import Session

__all__ = ["headline", "say_notices", "show"]

TOPICS, MEETING, SCORES = "Topics", "Where they meet", "Scores"


def headline(now: Present) -> None:
    """The data, and the counts of the present graph."""
    st.markdown(
        f"**{plain(now.source.title)}** &nbsp; {summary_line(now.result)}",
        help=plain(now.source.about),
    )


def show(s: Session, now: Present) -> None:
    """Topics, what joins them, and how well models foretell."""
    graph, board = now.result.graph, scoreboard()
    given = follow_names(s.now.names, graph).by_node
    labels = tuple(given.get(node, label) for node, label in enumerate(graph.labels))
    found = found_topics(s, now, labels)
    contents: dict[str, Callable[[], None]] = {
        TOPICS: lambda: show_topics(s, now, found, board),
        MEETING: lambda: show_meeting(s, now, found),
        SCORES: lambda: show_scores(s, now, board),
    }
    tabs = st.tabs(list(contents), key="evaluate_tab", on_change="rerun")
    for tab, draw in zip(tabs, contents.values(), strict=True):
        if tab.open:
            with tab:
                draw()
