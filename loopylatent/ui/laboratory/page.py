"""The parts of the Laboratory page."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import asdict, replace
from typing import Any, Literal

import streamlit as st

from loopylatent.exporting.project.recipe import Recipe, digest_of
from loopylatent.figures.alt_text import described
from loopylatent.figures.recovery import (
    experiment_figure,
    mark_mistakes,
    mistake_legend,
    place_both,
    recovery_figure,
)
from loopylatent.synthetic.experiment import Outcome, Unscored, experiment_table
from loopylatent.synthetic.laboratory import Comparison, FailedTrial, Recovery, Tried, summary
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.ui.graph_view import Picture, bring_script, graph_view, picture
from loopylatent.ui.laboratory import words
from loopylatent.ui.laboratory.controls import choose_learning, choose_model
from loopylatent.ui.page import show_pages, theme
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.laboratory import (
    CURVE_N,
    CURVE_R,
    EXPERIMENTS,
    FAMILIES,
    LEARN,
    PAPERS,
    TITLES,
    Lab,
    begin_curve,
    begin_experiment,
    curve_key,
    curve_patience,
    experiment_patience,
    lab,
    learn_key,
    learned_back,
    learning_patience,
    model_of,
    radii_of,
    recovery_of,
    refusal_of,
    running,
    stop,
)
from loopylatent.ui.shell.messages import Patience, progress_line, said
from loopylatent.ui.shell.session import Session, bound

HEIGHT = 500
EVERY = 0.6
"""Seconds between two looks at what has arrived."""
MOST_ROWS_TO_TAKE = 200_000
GRAPHS, OVER_N, OVER_R, PAPER = (
    "Truth and learned", "Against rows", "Against r", "The paper's experiment",
)  # fmt: skip
STYLE = """
<style>
.st-key-lab_numbers [data-testid="stMetric"] { padding: 0; }
.st-key-lab_numbers [data-testid="stMetricValue"] { font-size: 1.35rem; line-height: 1.3; }
.st-key-lab_numbers [data-testid="stMetricLabel"] p { font-size: 0.8rem; }
.st-key-lab_graphs .stHorizontalBlock { gap: 0.6rem; }
.st-key-lab_numbers { margin-bottom: -1.2rem; }
.st-key-lab_graphs [data-testid="stMarkdown"] p { margin-bottom: 0; }
.st-key-lab_start [data-testid="stCaptionContainer"] { padding-bottom: 0.6rem; }
</style>
"""


def choose() -> Lab:
    """Draw the sidebar and return what was chosen."""
    st.html(STYLE)
    here = lab()
    with st.sidebar:
        show_pages()
        choose_model(here)
        choose_learning(here)
    return here


def show(s: Session, here: Lab) -> None:
    """The model, and in tabs what was learned back, curves, and the paper's experiment."""
    refusal = refusal_of(s, here.specification)
    if refusal is not None:
        st.error(said(refusal), icon=":material/error:")
        return
    model = model_of(s, here.specification)
    learned_back(s, here, model)
    left, right = st.columns([3.4, 1], vertical_alignment="center")
    left.markdown(words.headline(model, FAMILIES[here.specification.family]))
    with right:
        _take_away(s, here)
    contents: dict[str, Callable[[], None]] = {
        GRAPHS: lambda: _graphs(s, here, model),
        OVER_N: lambda: _over_n(s, here, model),
        OVER_R: lambda: _over_r(s, here, model),
        PAPER: lambda: _paper(s, here),
    }
    tabs = st.tabs(list(contents), key="lab_tab", on_change="rerun")
    for tab, draw in zip(tabs, contents.values(), strict=True):
        if tab.open:
            with tab:
                draw()


# Work under way ----------------------------------------------------------------------------


@st.fragment(run_every=EVERY)
def _wait(here: Lab, kind: str, job: Job) -> None:
    if job.finished.is_set():
        st.rerun()
    left, right = st.columns([6, 1], vertical_alignment="center")
    share = min(1.0, job.done / job.total) if job.total else 0.0
    left.progress(share, progress_line(TITLES[kind], job, job.began))
    right.button("Cancel", on_click=stop, args=(here, job), key=f"cancel {kind}", width="stretch")


def _following(s: Session, here: Lab, kind: str, draw: Callable[[], None]) -> None:
    """Draw something that grows while a job runs, with its progress and a way to stop it."""
    job = running(s, kind)

    @st.fragment(run_every=EVERY if job is not None else None)
    def stage() -> None:
        if running(s, kind) is not job:
            st.rerun()
        if job is not None:
            left, right = st.columns([6, 1], vertical_alignment="center")
            share = min(1.0, job.done / job.total) if job.total else 0.0
            left.progress(share, progress_line(TITLES[kind], job, job.began))
            right.button(
                "Cancel", on_click=stop, args=(here, job), key=f"cancel {kind}", width="stretch"
            )
        draw()

    stage()
    last = s.jobs.current(kind)
    if last is not None and last.finished.is_set() and last.error not in (None, "stopped"):
        st.error(said(last.error))


# Truth and learned -------------------------------------------------------------------------


def _graphs(s: Session, here: Lab, model: SyntheticModel) -> None:
    patience = learning_patience(here, model)
    if not patience.is_enough:
        st.error(patience.words, icon=":material/error:")
        return
    job = s.jobs.current(LEARN)
    if learn_key(here) in here.stopped or job is None or job.error == "stopped":
        st.caption("Stopped; nothing was learned with this choice.")
        st.button("Learn it after all", on_click=_go_on, args=(here,), key="lab_go_on")
        return
    if not job.finished.is_set():
        st.caption(patience.words)
        _wait(here, LEARN, job)
        return
    if job.error is not None:
        st.error(said(job.error), icon=":material/error:")
        return
    found: Recovery = job.result
    _numbers(found.comparison, model)
    _pictures(s, found.comparison)
    st.caption(f"{words.learned_from(found)} {words.COMPARED}")


def _go_on(here: Lab) -> None:
    here.stopped.discard(learn_key(here))


def _numbers(found: Comparison, model: SyntheticModel) -> None:
    error = found.error
    exact = f"{error.value}" if error.is_exact else f"{error.lower} to {error.upper}"
    girth = model.graph.n_cycles
    shown = {
        "Structure error": (exact, "0 is a perfect recovery; every wrong edge counts two."),
        "Precision": (f"{found.precision:.0%}", "Share of the learned edges that are true."),
        "Recall": (f"{found.recall:.0%}", "Share of the true edges that were learned."),
        "Hidden nodes": (
            f"{found.learned.n_hidden} of {found.truth.n_hidden}",
            "Learned and true hidden nodes.",
        ),
        "Right in full": (
            f"{found.n_hidden_found} of {found.truth.n_hidden}",
            "Hidden nodes with exactly the neighbours of the true node they are matched to.",
        ),
        "Cycles": (f"{found.learned.n_cycles} of {girth}", "Learned and true cycles."),
    }
    with st.container(key="lab_numbers"):
        columns = st.columns(len(shown))
    for column, (label, (value, about)) in zip(columns, shown.items(), strict=True):
        column.metric(label, value, help=about)


def _pictures(s: Session, found: Comparison) -> None:
    key = (found.truth.digest, found.both.digest)
    place = s.memo.get("lab positions", key, lambda: place_both(found))
    bring_script()
    with st.container(key="lab_graphs"):
        left, right = st.columns(2)
    sides: dict[Literal["truth", "learned"], Any] = {"truth": left, "learned": right}
    titles = {"truth": "The truth", "learned": "Learned"}
    for which, column in sides.items():
        with column:
            st.markdown(f"**{titles[which]}**")
            graph_view(
                side(found, which, place),
                key=f"lab_{which}",
                subject=f"{which} {found.truth.digest}",
                on_click=_nothing,
                height=HEIGHT,
                file_name=f"laboratory-{which}",
                has_script=True,
            )


def _nothing(_: int | None) -> None:
    """A click selects nothing here."""


def side(found: Comparison, which: Literal["truth", "learned"], place: Any) -> Picture:
    """Draw one of the two graphs on the common layout, its mistakes coloured."""
    graph = found.part(which)
    shown = picture(graph, place)
    item = asdict(mistake_legend(which))
    lone = {h for h in graph.hidden_nodes if graph.degrees[h] == 0}
    looks = {name: look | {"legend": [*look["legend"], item]} for name, look in shown.looks.items()}
    return replace(
        shown,
        nodes=[node for node in shown.nodes if node["id"] not in lone],
        edges=mark_mistakes(shown.edges, found.status_of(which)),
        looks=looks,
    )


# Curves ------------------------------------------------------------------------------------


def _repeats(here: Lab, key: str) -> None:
    def report(number: int) -> None:
        here.n_repeats = int(number)

    st.number_input(
        "Repeats",
        min_value=1,
        max_value=50,
        step=1,
        width=130,
        help="Each repeat draws rows of its own.",
        **bound(key, here.n_repeats, report),
    )


def _over_n(s: Session, here: Lab, model: SyntheticModel) -> None:
    st.caption(words.AGAINST_N)
    key = curve_key(here, "n")
    patience = curve_patience(here, "n", model)
    _start_row(s, here, key, CURVE_N, patience, lambda: begin_curve(s, here, "n", model))

    def draw() -> None:
        points = list(here.points.get(key, []))
        if points:
            mark = None if here.learning.n is None else float(here.learning.n)
            _curve(points, "n", mark)

    _following(s, here, CURVE_N, draw)


def _over_r(s: Session, here: Lab, model: SyntheticModel) -> None:
    found = recovery_of(s, here)
    if found is None:
        st.caption("The radii come from the learned graph, which is not there yet.")
        return
    radii = radii_of(found)
    st.caption(words.AGAINST_R.format(k=len(radii)))
    key = curve_key(here, "r", radii)
    patience = curve_patience(here, "r", model, len(radii))
    _start_row(s, here, key, CURVE_R, patience, lambda: begin_curve(s, here, "r", model, radii))

    def draw() -> None:
        points = list(here.points.get(key, []))
        if points:
            _curve(points, "r", found.thresholds.r)

    _following(s, here, CURVE_R, draw)


def _start_row(
    s: Session,
    here: Lab,
    key: Hashable,
    kind: str,
    patience: Patience,
    start: Callable[[], None],
) -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="lab_start"):
        _repeats(here, f"lab_repeats {kind}")
        st.button(
            "Run again" if here.points.get(key) else "Run",
            type="secondary" if here.points.get(key) else "primary",
            on_click=start,
            disabled=running(s, kind) is not None or not patience.is_enough,
            key=f"run {kind}",
        )
        st.caption(patience.words, width="content")


def _curve(points: list[Tried], by: Literal["n", "r"], mark: float | None) -> None:
    table = summary(points, by)
    failed = [one for one in points if isinstance(one, FailedTrial)]
    if len(table):
        figure = recovery_figure(table, by, mark=mark, theme=theme(), height=HEIGHT - 90)
        alt = described(figure, f"How well the graph is found again, against {by}")
        st.plotly_chart(figure, key=f"lab_curve_{by}", theme=None, config=QUIET, alt=alt)
        st.caption(words.CURVES)
    if failed:
        st.caption(f"{len(failed)} graphs could not be learned: {said(failed[0].reason)}")
    with st.expander("As a table"):
        st.dataframe(table, hide_index=True, width="stretch")


QUIET = {"displayModeBar": False}


def _paper(s: Session, here: Lab) -> None:
    def report(name: str) -> None:
        here.experiment = name

    st.caption(words.EXPERIMENT)
    plan = EXPERIMENTS[here.experiment]
    patience = experiment_patience(plan)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Edges",
            list(EXPERIMENTS),
            required=True,
            label_visibility="collapsed",
            **bound("lab_experiment", here.experiment, report),
        )
        st.button(
            "Run again" if here.outcomes.get(plan) else "Run the experiment",
            type="secondary" if here.outcomes.get(plan) else "primary",
            on_click=begin_experiment,
            args=(s, here),
            disabled=running(s, PAPERS) is not None or not patience.is_enough,
            key="run lab experiment",
        )
        st.caption(patience.words, width="content")

    def draw() -> None:
        outcomes = list(here.outcomes.get(plan, []))
        if outcomes:
            _experiment(outcomes)

    _following(s, here, PAPERS, draw)
    st.markdown(words.NOTES[plan])


def _experiment(outcomes: list[Outcome]) -> None:
    table = experiment_table(outcomes)
    if len(table):
        figure = experiment_figure(table, theme=theme(), height=HEIGHT - 130)
        alt = described(figure, "The scores of the experiment")
        st.plotly_chart(figure, key="lab_experiment_figure", theme=None, config=QUIET, alt=alt)
    failed = [one for one in outcomes if isinstance(one, Unscored)]
    if failed:
        st.caption(f"{len(failed)} graphs could not be scored: {said(failed[0].reason)}")


# To Explore --------------------------------------------------------------------------------


def _take_away(s: Session, here: Lab) -> None:
    found = recovery_of(s, here)
    too_many = (
        found is not None
        and found.drawn is not None
        and found.drawn.observations.n_rows > MOST_ROWS_TO_TAKE
    )
    about = "Open this made-up table, or these distances, on the Explore page."
    if too_many:
        about = f"Tables of more than {MOST_ROWS_TO_TAKE:,} rows stay here; choose fewer."
    pressed = st.button(
        "Take to Explore",
        disabled=found is None or too_many,
        help=about,
        key="lab_take",
        width="stretch",
    )
    if pressed and found is not None:
        take_to_explore(s, found, here.specification.family)
        st.switch_page("app.py")


def take_to_explore(s: Session, found: Recovery, family: str) -> None:
    """Open the rows, or the exact distances, as if they had been uploaded."""
    if found.drawn is None:
        content = found.distances.to_frame().to_csv(index_label="column").encode()
        kind: Any = "distances"
    else:
        content = found.drawn.observations.to_frame().to_csv(index=False).encode()
        kind = "table"
    digest, there = digest_of(content), found.thresholds
    s.keep_upload(digest, content)
    s.open(
        Recipe(
            source=f"made-up {family}.csv",
            source_kind=kind,
            data_digest=digest,
            r=there.r,
            Lambda=there.Lambda,
            tau=there.tau,
            method=found.result.settings.method,
        )
    )
