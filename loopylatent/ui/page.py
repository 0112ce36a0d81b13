"""What every page begins with: its frame, the sidebar, and the graph of the present choice."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd
import streamlit as st

from loopylatent.analysis.matching import name_node
from loopylatent.compute.arrays import Progress
from loopylatent.errors import DataError, LimitError, LoopyLatentError
from loopylatent.figures.looks import ThemeName
from loopylatent.figures.simplify import SIMPLE_FROM
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import EdgeDensity
from loopylatent.learning.learner import LearnResult
from loopylatent.ui.open.opening import follow_curve, follow_test
from loopylatent.ui.shell import link
from loopylatent.ui.shell.background import upkeep, warm_up_once
from loopylatent.ui.shell.keys import DataKey
from loopylatent.ui.shell.messages import said
from loopylatent.ui.shell.pins import offer_pin
from loopylatent.ui.shell.session import Session, bound, session
from loopylatent.ui.shell.stages import Source, known_curve, learned, regularized_job, source_of
from loopylatent.ui.shell.widgets import wait_for
from loopylatent.ui.sidebar import (
    choose_data,
    choose_method,
    choose_thresholds,
    step_through_history,
)

PAGES = {
    "app.py": "Explore",
    "pages/1_Step_by_step.py": "Step by step",
    "pages/2_Tune.py": "Tune",
    "pages/3_Compare.py": "Compare",
    "pages/4_Evaluate.py": "Evaluate",
    "pages/5_Laboratory.py": "Laboratory",
    "pages/6_Theory.py": "Theory",
    "pages/7_Help.py": "Help",
}
SLOW_FROM = 200
"""Columns from which learning shows its progress."""


@dataclass(frozen=True, slots=True, eq=False)
class Present:
    """The present choice and everything that follows from it."""

    session: Session
    source: Source
    curve: EdgeDensity | None
    """None while the background follows it, which it does for large tables."""
    result: LearnResult


def setup(title: str) -> Session:
    """Frame a page; the first line of each of them."""
    st.set_page_config(
        page_title=f"{title} · loopylatent",
        page_icon=_icon(),
        layout="wide",
        initial_sidebar_state="expanded",
    )
    st.html(Path(__file__).with_name("style.css"))
    upkeep().set()
    return session()


@cache
def _icon() -> str:
    """The icon inside its address: as a file it is away for a moment when a page runs again."""
    picture = Path(__file__).with_name("icon.png").read_bytes()
    return "data:image/png;base64," + b64encode(picture).decode()


def theme() -> ThemeName:
    """Return whether the browser shows the light or the dark theme."""
    return "dark" if st.context.theme.type == "dark" else "light"


def choose(s: Session, linked: Mapping[str, str] | None = None) -> Present:
    """Draw the sidebar and return what the choice gives; a refusal ends the page in one line.

    ``linked`` is what a page adds to the link to itself.
    """
    source, curve = _sidebar(s)
    slow = source.distances.n_columns > SIMPLE_FROM
    with (
        refusals(s, history=False),
        st.spinner("The local trees at this r …") if slow else nullcontext(),
    ):
        result = learned(s.memo, source.distances, s.recipe, _progress(source))
    warm_up_once()
    result = _regularized(s, source, result)
    _set_link(s, linked)
    return Present(s, source, curve, result)


@contextmanager
def chosen_first(s: Session) -> Iterator[Present]:
    """Let a page draw before the sidebar where nothing has to be waited for.

    Streamlit and the browser spend longer on the sidebar than we on a graph, and what a moved
    slider is watched for is the graph. Elsewhere this is `choose`.
    """
    now = _known(s)
    if now is None:
        yield choose(s)
        return
    _set_link(s, None)
    yield now
    _sidebar(s)


def _known(s: Session) -> Present | None:
    """What the choice gives, where that is quick; None also where it is refused."""
    source: Source | None = s.memo.known("source", DataKey.of(s.recipe))
    if source is None or s.recipe.regularize != "none" or source.distances.n_columns >= SLOW_FROM:
        return None
    curve: EdgeDensity | None = s.memo.known("curve", source.distances.digest)
    if curve is None:
        return None
    with suppress(LoopyLatentError):
        return Present(s, source, curve, learned(s.memo, source.distances, s.recipe))
    return None


def _sidebar(s: Session) -> tuple[Source, EdgeDensity | None]:
    """Draw the sidebar; return the data and the curve, which its sliders need."""
    with st.sidebar:
        show_pages()
        choose_data(s)
        with refusals(s):
            with st.spinner("Distances between all columns …"):
                source = source_of(s.memo, s.uploads, s.recipe)
            with st.spinner("Following the local trees over all radii …"):
                curve = known_curve(s.jobs, s.memo, source.distances)
            choose_thresholds(s, source.distances, curve)
            if curve is None:
                follow_curve(s, source.distances)
            choose_method(s, source.distances, source.observations)
        step_through_history(s)
        offer_pin(s)
    return source, curve


def _set_link(s: Session, linked: Mapping[str, str] | None) -> None:
    params = link.params_of(s.recipe) | link.pin_params(s.pins) | dict(linked or {})
    st.query_params.from_dict(params)


def show_pages(key: str = "pages") -> None:
    """Links to the pages of the app; Streamlit's own list would call the first after its file."""
    with st.container(horizontal=True, gap="small", key=key):
        for path, label in PAGES.items():
            st.page_link(path, label=label)


def _regularized(s: Session, source: Source, meanwhile: LearnResult) -> LearnResult:
    """Return the graph that the BIC pays for; until it is there, or if it fails, the plain one."""
    try:
        job = regularized_job(s.jobs, s.memo, source, s.recipe)
    except LimitError as error:
        st.warning(f"Without the BIC: {said(error)}")
        return meanwhile
    if job is None:
        return meanwhile
    if job.is_running:

        def cancel() -> None:
            job.cancelled.set()
            s.change(regularize="none")

        def line() -> str:
            return f"Plain graph; the BIC has tried {job.done} of {job.total} replacements"

        wait_for(job, line, key="cancel_bic", every=0.7, on_cancel=cancel)
    elif job.error is not None:
        st.warning(f"Without the BIC: {said(job.error)}")
    return job.found or meanwhile


def _progress(source: Source) -> Progress | None:
    """A bar for learning that takes its time; drawing it lets a newer choice stop the old one."""
    if source.distances.n_columns < SLOW_FROM:
        return None
    bar = st.empty()

    def report(done: int, total: int) -> None:
        if done == total:
            bar.empty()
        elif done % max(1, total // 50) == 0:
            bar.progress(done / total, f"Learning: visit {done} of {total}")

    return report


@contextmanager
def refusals(s: Session, *, history: bool = True) -> Iterator[None]:
    """Say in one line what is wrong and how to go on, and end the page there.

    ``history`` is whether the way back has still to be drawn.
    """
    try:
        yield
    except LoopyLatentError as error:
        if history:
            with st.sidebar:
                step_through_history(s)
        back = " Undo takes the last step back." if s.before else ""
        st.error(said(error) + back, icon=":material/error:")
        st.stop()


def say_notices(s: Session, now: Present | None = None) -> None:
    """What has to be said once; it goes when it has been read."""
    if now is not None:
        follow_test(s, now.source.distances)
    if s.notice is not None:
        left, right = st.columns([20, 1], vertical_alignment="center")
        left.info(said(s.notice), icon=":material/info:")

        def read() -> None:
            s.notice = None

        right.button(
            ":material/close:", on_click=read, key="close_notice", help="Close", type="tertiary"
        )


# What several pages show ---------------------------------------------------------------------


def summary_line(result: LearnResult) -> str:
    """Counts of the learned graph in one line."""
    g = result.graph
    girth = "" if math.isinf(g.girth) else f" (shortest: {g.girth:.0f} edges)"
    parts = [
        f"**{g.n_observed}** observed",
        f"**{g.n_hidden}** hidden",
        f"**{g.n_edges}** edges",
        f"**{g.n_cycles}** {'cycle' if g.n_cycles == 1 else 'cycles'}{girth}",
        f"**{g.n_components}** {'piece' if g.n_components == 1 else 'pieces'}",
    ]
    if result.n_stuck:
        parts.append(f"**{result.n_stuck}** of {result.n_visits} visits stuck")
    return " · ".join(parts)


def file_stem(s: Session) -> str:
    """A harmless file name that says what the graph is of."""
    source = s.recipe.source.removeprefix("sample:").rsplit(".", 1)[0]
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in source)
    return f"{kept[:40].strip('-') or 'graph'}-r{s.recipe.r:.3g}"


def name_field(s: Session, result: LearnResult, node: int, label: str) -> None:
    """Draw the field in which a hidden node is given a name."""
    given = {named.name for named in s.now.names}
    own = label if label in given else None

    def report(text: str) -> None:
        try:
            s.name(name_node(result.graph, node, text.strip()) if text.strip() else None, own)
        except LoopyLatentError as error:
            s.notice = str(error)

    st.text_input(
        "Name it",
        placeholder="what do its neighbours share?",
        max_chars=60,
        help="The name stays with this node while thresholds move, as long as it is recognisable.",
        **bound(f"name_{node}", own or "", report),
    )


def read_groups(frame: pd.DataFrame, graph: LatentGraph) -> dict[str, str]:
    """Take a grouping of the columns from a table of two columns."""
    if len(frame.columns) != 2:
        raise DataError(f"a grouping has two columns, name and group; this has {frame.shape[1]}.")
    pairs: pd.DataFrame = frame.dropna().astype(str)
    found = dict(zip(pairs.iloc[:, 0], pairs.iloc[:, 1], strict=True))
    if not set(found) & set(graph.names):
        raise DataError("no name of the first column is a column of the table; check the spelling.")
    return found
