"""What every page begins with: its frame, the sidebar, and the graph of the present choice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import streamlit as st

from loopylatent.errors import LoopyLatentError
from loopylatent.figures.network import ThemeName
from loopylatent.initial_graph import EdgeDensity
from loopylatent.learn import LearnResult
from loopylatent.ui import link
from loopylatent.ui.controls import (
    choose_data,
    choose_method,
    choose_thresholds,
    step_through_history,
)
from loopylatent.ui.stages import Source, curve_of, learned, source_of
from loopylatent.ui.state import Session, session

STYLE = """
<style>
.stMainBlockContainer { padding: 1.4rem 1.6rem 2rem; max-width: none; }
.stMainBlockContainer > .stVerticalBlock { gap: 0.6rem; }
.stSidebar [data-testid="stSidebarHeader"] { height: 2.2rem; margin: 0; padding: 0.4rem 1rem 0; }
.stSidebar [data-testid="stSidebarUserContent"] { padding: 0 0 1rem; }
.stSidebar .stButton button { padding-left: 0.3rem; padding-right: 0.3rem; }
.stSidebar .stButtonGroup button { padding-left: 0.5rem; padding-right: 0.5rem; }
.stSidebar .stVerticalBlock { gap: 0.6rem; }
.st-key-node_panel { height: clamp(360px, calc(100vh - 225px), 680px) !important; }
.st-key-view button { padding: 0.25rem 0.6rem; }
@media (max-width: 1200px) {
  .st-key-node_panel { height: auto !important; }
  .st-key-stage_row .stHorizontalBlock { flex-wrap: wrap; }
  .st-key-stage_row .stColumn { min-width: 100%; }
  .stSidebar { min-width: 250px !important; width: 250px !important; }
}
.loopylatent-marks { position: relative; height: 22px; margin: -14px 8px 0; font-size: 11px; }
.loopylatent-marks:has(.row1) { height: 34px; }
.loopylatent-marks:has(.row2) { height: 46px; }
.loopylatent-marks span { position: absolute; transform: translateX(-50%); padding-top: 6px;
  white-space: nowrap; cursor: help; opacity: 0.85; }
.loopylatent-marks span::before { content: ""; position: absolute; left: 50%; top: 0; height: 6px;
  border-left: 2px solid currentColor; }
.loopylatent-marks span.row1 { padding-top: 18px; }
.loopylatent-marks span.row1::before { height: 18px; }
.loopylatent-marks span.row2 { padding-top: 30px; }
.loopylatent-marks span.row2::before { height: 30px; }
.loopylatent-marks span:first-child { transform: translateX(-25%); }
.loopylatent-marks span:first-child::before { left: 25%; }
.loopylatent-marks span:last-child { transform: translateX(-75%); }
.loopylatent-marks span:last-child::before { left: 75%; }
</style>
"""


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """The present choice and everything that follows from it."""

    session: Session
    source: Source
    curve: EdgeDensity
    result: LearnResult


def setup(title: str) -> Session:
    """Frame a page; the first line of each of them."""
    st.set_page_config(
        page_title=f"{title} · loopylatent",
        page_icon="◆",
        layout="wide",
        initial_sidebar_state="expanded",
    )
    st.html(STYLE)
    return session()


def theme() -> ThemeName:
    """Return whether the browser shows the light or the dark theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


def choose(s: Session) -> Present:
    """Draw the sidebar and return what the choice gives; a refusal ends the page in one line."""
    with st.sidebar:
        choose_data(s)
        with refusals(s):
            source = source_of(s.memo, s.uploads, s.recipe)
            curve = curve_of(s.memo, source.distances)
            choose_thresholds(s, source.distances, curve)
            choose_method(s, source.distances)
        step_through_history(s)
    with refusals(s):
        result = learned(s.memo, source.distances, s.recipe)
    st.query_params.from_dict(link.params_of(s.recipe))
    return Present(s, source, curve, result)


@contextmanager
def refusals(s: Session) -> Iterator[None]:
    """Say in one line what is wrong and how to go on, and end the page there."""
    try:
        yield
    except LoopyLatentError as error:
        with st.sidebar:
            step_through_history(s)
        st.error(f"{error} Undo takes the last step back.", icon=":material/error:")
        st.stop()
