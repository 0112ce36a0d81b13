"""The parts of the Laboratory page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Literal

import streamlit as st

from loopylatent.exporting.project.file import Recipe, digest_of
from loopylatent.figures.recovery import (
    experiment_figure,
    mark_mistakes,
    mistake_legend,
    place_both,
    recovery_figure,
)
from loopylatent.synthetic.experiment import Outcome, experiment_table
from loopylatent.synthetic.laboratory import Comparison, FailedTrial, Recovery, Tried, summary
from loopylatent.synthetic.model import SyntheticModel
from loopylatent.ui.graph_view import Picture, graph_view, picture, send_script
from loopylatent.ui.laboratory.controls import choose_learning, choose_model
from loopylatent.ui.page import show_pages, theme
from loopylatent.ui.shell.laboratory import (
    CURVE_N,
    CURVE_R,
    EXPERIMENTS,
    FAMILIES,
    LEARN,
    PAPERS,
    TITLES,
    Lab,
    Which,
    begin_curve,
    begin_experiment,
    curve_key,
    curve_time,
    experiment_time,
    lab,
    learn_key,
    learned_back,
    learning_time,
    model_error,
    model_of,
    radii_of,
    recovery_of,
    stop,
)
from loopylatent.ui.shell.results import TwoGraphsKey
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.widgets import (
    chart,
    job_bar,
    progress_line,
    start_button,
    style,
    table,
    tabs,
    text_of,
    texts,
    wait_for,
)

HEIGHT = 500
REFRESH = 0.6
"""Seconds between two updates of running work."""
MOST_ROWS_FOR_EXPLORE = 200_000
RECOVERY, OVER_N, OVER_R = "Recovery", "Error vs rows", "Error vs r"
PAPER = "Paper's experiment"
words = texts("laboratory")


def choose() -> Lab:
    """Draw the sidebar and return the choice."""
    style("laboratory")
    here = lab()
    with st.sidebar:
        show_pages()
        choose_model(here)
        choose_learning(here)
    return here


def show(s: Session, here: Lab) -> None:
    """Draw the model, and tabs with recovery, curves, and the paper's experiment."""
    error = model_error(s, here.specification)
    if error is not None:
        st.error(text_of(error), icon=":material/error:")
        return
    model = model_of(s, here.specification)
    learned_back(s, here, model)
    left, right = st.columns([3.4, 1], vertical_alignment="center")
    left.markdown(headline(model, FAMILIES[here.specification.family]))
    with right:
        _offer_explore(s, here)
    contents: dict[str, Callable[[], None]] = {
        RECOVERY: lambda: _graphs(s, here, model),
        OVER_N: lambda: _over_n(s, here, model),
        OVER_R: lambda: _over_r(s, here, model),
        PAPER: lambda: _paper(s, here),
    }
    tabs(contents, key="lab_tab")


# Running work ------------------------------------------------------------------------------


def _with_progress(s: Session, here: Lab, kind: str, draw: Callable[[], None]) -> None:
    """Draw results as a job delivers them, with its progress and *Cancel*."""
    job = s.jobs.running(kind)

    @st.fragment(run_every=REFRESH if job is not None else None)
    def stage() -> None:
        if s.jobs.running(kind) is not job:
            st.rerun()
        if job is not None:
            cancel = partial(stop, here, job)
            line = progress_line(TITLES[kind], job)
            job_bar(job, line, f"cancel {kind}", cancel=cancel, width="stretch")
        draw()

    stage()
    last = s.jobs.current(kind)
    if last is not None and last.finished.is_set() and last.error not in (None, "stopped"):
        st.error(text_of(last.error))


# Recovery ----------------------------------------------------------------------------------


def _graphs(s: Session, here: Lab, model: SyntheticModel) -> None:
    needed = learning_time(here, model)
    if not needed.is_allowed:
        st.error(needed.words, icon=":material/error:")
        return
    job = s.jobs.current(LEARN)
    if learn_key(here) in here.stopped or job is None or job.error == "stopped":
        st.caption("Cancelled before a graph was learned.")
        resume = partial(here.stopped.discard, learn_key(here))
        st.button("Learn anyway", on_click=resume, key="lab_resume")
        return
    if not job.finished.is_set():
        st.caption(needed.words)
        cancel = partial(stop, here, job)
        line = partial(progress_line, TITLES[LEARN], job)
        more: dict[str, Any] = {"every": REFRESH, "cancel": cancel, "width": "stretch"}
        wait_for(job, line, key=f"cancel {LEARN}", **more)
        return
    if job.error is not None:
        st.error(text_of(job.error), icon=":material/error:")
        return
    found: Recovery = job.result
    _numbers(found.comparison, model)
    _pictures(s, found.comparison)
    st.caption(f"{learned_from(found)} {words.compared}")


def _numbers(found: Comparison, model: SyntheticModel) -> None:
    error = found.error
    exact = f"{error.value}" if error.is_exact else f"{error.lower} to {error.upper}"
    hidden = found.truth.n_hidden
    shown = {
        "Structure error": (exact, "0 is perfect recovery; every wrong edge counts two."),
        "Precision": (f"{found.precision:.0%}", "Share of the learned edges that are true."),
        "Recall": (f"{found.recall:.0%}", "Share of the true edges that were learned."),
        "Hidden nodes": (f"{found.learned.n_hidden} of {hidden}", "Learned and true hidden nodes."),
        "Fully recovered": (f"{found.n_hidden_found} of {hidden}", words.recovered),
        "Cycles": (
            f"{found.learned.n_cycles} of {model.graph.n_cycles}",
            "Learned and true cycles.",
        ),
    }
    with st.container(key="lab_numbers"):
        columns = st.columns(len(shown))
    for column, (label, (value, about)) in zip(columns, shown.items(), strict=True):
        column.metric(label, value, help=about)


def _pictures(s: Session, found: Comparison) -> None:
    key = TwoGraphsKey(found.truth.digest, found.both.digest)
    place = s.memo.get("lab positions", key, lambda: place_both(found))
    send_script()
    with st.container(key="lab_graphs"):
        left, right = st.columns(2)
    sides: dict[Literal["truth", "learned"], Any] = {"truth": left, "learned": right}
    titles = {"truth": "True graph", "learned": "Learned graph"}
    for which, column in sides.items():
        with column:
            st.markdown(f"**{titles[which]}**")
            graph_view(
                side(found, which, place),
                key=f"lab_{which}",
                subject=f"{which} {found.truth.digest}",
                on_click=lambda _: None,
                height=HEIGHT,
                file_name=f"laboratory-{which}",
                has_script=True,
            )


def side(found: Comparison, which: Literal["truth", "learned"], place: Any) -> Picture:
    """Return one of the two graphs on the common layout, with its errors coloured."""
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


def _over_n(s: Session, here: Lab, model: SyntheticModel) -> None:
    mark = None if here.learning.n is None else float(here.learning.n)
    _against(s, here, model, "n", mark, words.against_n)


def _over_r(s: Session, here: Lab, model: SyntheticModel) -> None:
    found = recovery_of(s, here)
    if found is None:
        st.caption("The radii depend on the distances, which are not computed yet.")
        return
    radii = radii_of(found)
    _against(s, here, model, "r", found.thresholds.r, words.against_r.format(k=len(radii)), radii)


def _against(
    s: Session,
    here: Lab,
    model: SyntheticModel,
    by: Which,
    mark: float | None,
    about: str,
    radii: tuple[float, ...] = (),
) -> None:
    """Draw recovery against rows or radii."""
    st.caption(about)
    key, kind = curve_key(here, by, radii), CURVE_N if by == "n" else CURVE_R
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="lab_start"):
        st.number_input(
            "Repeats",
            min_value=1,
            max_value=50,
            step=1,
            width=130,
            help="Each repeat samples new rows.",
            **bound(f"lab_repeats {kind}", here.n_repeats, partial(setattr, here, "n_repeats")),
        )
        start_button(
            "Run again" if here.points.get(key) else "Run",
            curve_time(here, by, model, len(radii)),
            begin_curve, s, here, by, model, radii,
            type="secondary" if here.points.get(key) else "primary",
            disabled=s.jobs.running(kind) is not None, key=f"run {kind}",
        )  # fmt: skip

    def draw() -> None:
        points = list(here.points.get(key, []))
        if points:
            _curve(points, by, mark)

    _with_progress(s, here, kind, draw)


def _curve(points: list[Tried], by: Literal["n", "r"], mark: float | None) -> None:
    frame = summary(points, by)
    failed = [one for one in points if isinstance(one, FailedTrial)]
    if len(frame):
        figure = recovery_figure(frame, by, mark=mark, theme=theme(), height=HEIGHT - 90)
        about = f"Recovery of the true graph against {by}"
        chart(figure, about, f"lab_curve_{by}", theme=None)
        st.caption(words.curves)
    if failed:
        st.caption(f"{len(failed)} graphs could not be learned: {text_of(failed[0].reason)}")
    with st.expander("Table"):
        table(frame)


def _paper(s: Session, here: Lab) -> None:
    st.caption(words.experiment)
    plan = EXPERIMENTS[here.experiment]
    tied = bound("lab_experiment", here.experiment, partial(setattr, here, "experiment"))
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.segmented_control(
            "Edges", list(EXPERIMENTS), required=True, label_visibility="collapsed", **tied
        )
        start_button(
            "Run again" if here.outcomes.get(plan) else "Run experiment",
            experiment_time(plan),
            begin_experiment, s, here,
            type="secondary" if here.outcomes.get(plan) else "primary",
            disabled=s.jobs.running(PAPERS) is not None, key="run lab experiment",
        )  # fmt: skip

    def draw() -> None:
        outcomes = list(here.outcomes.get(plan, []))
        if outcomes:
            _experiment(outcomes)

    _with_progress(s, here, PAPERS, draw)
    st.markdown(words.notes[here.experiment])


def _experiment(outcomes: list[Outcome]) -> None:
    frame = experiment_table(outcomes)
    if len(frame):
        figure = experiment_figure(frame, theme=theme(), height=HEIGHT - 130)
        chart(figure, "Scores of the experiment", "lab_experiment_figure", theme=None)
    failed = [one for one in outcomes if isinstance(one, FailedTrial)]
    if failed:
        st.caption(f"{len(failed)} graphs could not be scored: {text_of(failed[0].reason)}")


# To Explore --------------------------------------------------------------------------------


def _offer_explore(s: Session, here: Lab) -> None:
    found = recovery_of(s, here)
    sample = None if found is None else found.drawn
    too_many = sample is not None and sample.observations.n_rows > MOST_ROWS_FOR_EXPLORE
    about = "Open this synthetic table, or these distances, on the Explore page."
    if too_many:
        about = f"Explore takes at most {MOST_ROWS_FOR_EXPLORE:,} rows from here. Choose fewer."
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
    """Open the rows, or the exact distances, like an upload."""
    if found.drawn is None:
        content = found.distances.to_frame().to_csv(index_label="column").encode()
        kind: Any = "distances"
    else:
        content = found.drawn.observations.to_frame().to_csv(index=False).encode()
        kind = "table"
    digest, there = digest_of(content), found.thresholds
    s.keep_upload(digest, content)
    recipe = Recipe(
        source=f"synthetic {family}.csv", source_kind=kind, data_digest=digest, r=there.r,
        Lambda=there.Lambda, tau=there.tau, method=found.result.settings.method,
    )  # fmt: skip
    s.open(recipe)


# Sentences ---------------------------------------------------------------------------------


def headline(model: SyntheticModel, title: str) -> str:
    """Summarise the model."""
    graph = model.graph
    girth = f" (shortest: {graph.girth:.0f} edges)" if graph.n_cycles else ""
    n = graph.n_cycles
    cycles = {0: "no cycles", 1: "**1** cycle"}.get(n, f"**{n}** cycles")
    return (
        f"**{title}** &nbsp; **{graph.n_observed}** columns · **{graph.n_hidden}** hidden · "
        f"**{graph.n_edges}** edges · {cycles}{girth}"
    )


def learned_from(found: Recovery) -> str:
    """Say what the graph was learned from, with the diagnostics of a Gibbs sampler."""
    there = found.thresholds
    settings = f"r = {there.r:.3g}, Λ = {there.Lambda:.3g}, τ = {there.tau:.3g}"
    if found.drawn is None:
        return f"Learned from {words.sources[found.source]}, at {settings}."
    rows = f"{found.drawn.observations.n_rows:,} rows"
    how = "independent samples"
    checks = found.drawn.diagnostics
    if checks is not None:
        state = "converged" if checks.is_good else "**not converged**"
        how = (
            f"by Gibbs sampling, {state}: R-hat {checks.r_hat:.3f}, effective sample size "
            f"{checks.n_effective:,.0f}"
        )
    return f"Learned from {rows} ({how}), at {settings}."
