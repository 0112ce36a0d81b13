"""The parts of the Tune page."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from loopylatent.analysis.sweep.points import SweepPoint
from loopylatent.analysis.sweep.table import Sweep
from loopylatent.compute.limits import rerun
from loopylatent.figures.sweep import (
    MEASURES,
    SCORE_MEASURES,
    barcode_figure,
    grid_figure,
    longest,
    sweep_figure,
)
from loopylatent.settings import READS, Thresholds
from loopylatent.tables.files import table_to_csv
from loopylatent.ui.open.dialog import say_curve_is_missing
from loopylatent.ui.page import Present, file_stem, say_notices, summary_line, theme
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import (
    chart,
    escaped,
    progress_line,
    save_button,
    share_done,
    start_button,
    style,
    table,
    tabs,
    texts,
    time_needed,
    viewed,
)
from loopylatent.ui.tune.state import (
    CELL_SCORES,
    CELLS,
    GRAPHS,
    JOBS,
    REFINED,
    Plan,
    Results,
    Tuning,
    bars_of,
    cancel,
    cancel_outdated,
    learn_points,
    learning_work,
    plan_of,
    results_of,
    running,
    score_points,
    show_panel,
    tuning,
)

__all__ = ["headline", "say_notices", "show"]

words = texts("tune")
HEIGHT = 560
REFRESH, SLOW_REFRESH = 0.6, 2.5
"""Seconds between updates: of progress and graphs, and of scores."""
TAB = "tune_tab"
SWEEP, GRID, BARCODE, TABLE = "Sweep over r", "Λ × τ grid", "Barcode", "Table"
SYMBOLS = {"Lambda": "Λ", "tau": "τ"}


def headline(s: Session, now: Present) -> None:
    """The data, and the counts of the current graph."""
    style("tune")
    st.markdown(
        f"**{escaped(now.source.title)}** &nbsp; {summary_line(now.result)}",
        help=escaped(now.source.about),
    )
    if s.recipe.regularize != "none":
        st.caption(words.unpenalised)


def show(s: Session, now: Present) -> None:
    """The plots and the suggestions; both update while something runs."""
    if now.curve is None:
        say_curve_is_missing(s, now.source.distances)
        return
    t, plan = tuning(), plan_of(s, now, now.curve)
    cancel_outdated(s, plan)
    learn_points(s, t, plan, GRAPHS)
    if st.session_state.get(TAB) == GRID:
        learn_points(s, t, plan, CELLS)
    recipe, busy = s.recipe, set(running(s))
    message = t.message_for(s)
    if message is not None:
        with st.container(key="tune_message"):
            st.success(message, icon=":material/arrow_forward:")
    # Rerun only from the timer or a click: a rerun before the browser has drawn the page would
    # leave the sliders at their ends.
    is_drawn = False

    @st.fragment(run_every=REFRESH if busy else None)
    def progress() -> None:
        if is_drawn and set(running(s)) != busy:
            st.rerun()
        _show_progress(s, t, busy)

    # a redrawn plot loses the hover
    interval = REFRESH if busy & {GRAPHS, CELLS} else SLOW_REFRESH

    @st.fragment(run_every=interval if busy else None)
    def stage() -> None:
        if is_drawn and (s.recipe is not recipe or set(running(s)) != busy):
            st.rerun()
        with st.container(key="stage_row"):
            left, right = st.columns([2.7, 1], gap="medium")
        with left:
            draws = {SWEEP: _sweep, GRID: _grid, BARCODE: _barcode, TABLE: _table}
            tabs({name: partial(draw, s, t, plan) for name, draw in draws.items()}, key=TAB)
        with right, st.container(key="tune_panel"):
            show_panel(s, t, plan)
        if is_drawn and set(running(s)) != busy:  # opening the grid tab started a job
            st.rerun()

    progress()
    stage()
    is_drawn = True


def _show_progress(s: Session, t: Tuning, busy: set[str]) -> None:
    """A progress bar for each job of the page; it stays until the page is redrawn."""
    jobs = {kind: job for kind in JOBS if kind in busy and (job := s.jobs.current(kind))}
    if not jobs:
        return
    left, right = st.columns([7, 1], vertical_alignment="center")
    for kind, job in jobs.items():
        left.progress(share_done(job), _line(kind, job))
    right.button("Cancel", on_click=cancel, args=(s, t), key="tune_cancel", width="stretch")


def _line(kind: str, job: Job) -> str:
    """Return the progress of a job; how many moves a refinement will try is not known."""
    if kind != REFINED:
        return progress_line(JOBS[kind], job)
    return f"{JOBS[kind]}: {job.done:,} moves tried, {job.total - job.done:,} left in this round"


def _chart(figure: Any, t: Tuning, name: str, clicked: Callable[[dict[str, Any]], None]) -> None:
    """Draw a figure with clickable points; a new key after each click clears the selection."""
    key = f"tune_{name}_{t.n_clicks}"

    def report() -> None:
        chosen = st.session_state[key].selection.points
        if chosen:
            clicked(chosen[0])

    more = {"theme": None, "on_select": report, "selection_mode": "points"}
    chart(figure, words.figures[name], key, **more)


def _sweep(s: Session, t: Tuning, plan: Plan) -> None:
    found = results_of(t, plan, plan.along)
    st.caption(words.along if plan.is_complete else words.some.format(n=len(plan.along)))

    def clicked(place: dict[str, Any]) -> None:
        x = float(place["x"])
        point = min(found.points, key=lambda point: abs(point.thresholds.r - x))
        s.change(r=point.thresholds.r)
        t.set_message(s, new_settings(point, f"r = {point.thresholds.r:.4g}"))

    figure = sweep_figure(
        found.points, found.scores, r=plan.current.thresholds.r, D=plan.D, theme=theme(),
        height=HEIGHT, stepwise=plan.is_complete,
    )  # fmt: skip
    _chart(figure, t, "along", clicked)
    _offer_learning(s, t, plan, GRAPHS)


def _offer_learning(s: Session, t: Tuning, plan: Plan, kind: str) -> None:
    """Offer to learn graphs that take long or were cancelled."""
    work = learning_work(t, plan, kind)
    if work.n == 0 or kind in running(s):
        return
    needed = time_needed(work.estimate, work.n, "graphs")
    is_all = work.n == len(plan.settings_of(kind))
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Learn {work.n} graphs" if is_all else "Learn the rest"
        learn = partial(learn_points, s, t, plan, kind, on_request=True)
        start_button(label, needed, learn, key=f"tune_learn {kind}")


def _grid(s: Session, t: Tuning, plan: Plan) -> None:
    learn_points(s, t, plan, CELLS)
    found = results_of(t, plan, plan.cells)
    unread = [SYMBOLS[name] for name in SYMBOLS if name not in READS[plan.current.method]]
    if unread:
        st.caption(words.unread.format(names=" and ".join(unread)))
    measure = _choose_measure(s, t, plan, found)
    st.caption(words.grid.format(r=plan.current.thresholds.r))

    def clicked(place: dict[str, Any]) -> None:
        margin, tau = plan.Lambdas[round(place["x"])], plan.taus[round(place["y"])]
        chosen = Thresholds(plan.current.thresholds.r, margin, tau)
        point = next((one for one in found.points if one.thresholds == chosen), None)
        s.change(Lambda=margin, tau=tau)
        t.set_message(s, new_settings(point, f"Λ = {margin:.4g}, τ = {tau:.4g}"))

    figure = grid_figure(
        found.points, found.scores, measure, Lambdas=plan.Lambdas, taus=plan.taus,
        current=plan.current.thresholds, theme=theme(), height=HEIGHT - 40,
    )  # fmt: skip
    _chart(figure, t, "over", clicked)
    _offer_learning(s, t, plan, CELLS)


def _choose_measure(s: Session, t: Tuning, plan: Plan, found: Results) -> str:
    bound = viewed(s, "tune_measure", "hidden nodes", name="tune measure")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        measure = st.selectbox(
            "Cells show", list(MEASURES), label_visibility="collapsed", width=260, **bound
        )
        if measure in SCORE_MEASURES and plan.obs is not None and not found.has_all_scores:
            n = len(plan.cells) - len(found.scores)
            work = rerun(plan.obs.n_rows, plan.obs.n_columns, n, fit=True)
            needed = time_needed(work, n, "models")
            start_button(
                f"Fit {n} models", needed, score_points, s, t, plan, CELL_SCORES,
                disabled=CELL_SCORES in running(s), key="tune_score_cells",
            )  # fmt: skip
    return str(measure)


def _barcode(s: Session, t: Tuning, plan: Plan) -> None:
    if GRAPHS in running(s):
        st.caption("The barcode appears when all graphs are learned …")
        return
    bars = bars_of(t, plan)
    st.caption(words.bars)

    def clicked(place: dict[str, Any]) -> None:
        data = place["customdata"]  # streamlit sends a list, or a dict by position
        middle = float(data[0] if isinstance(data, list) else data["0"])
        r = max(middle, plan.D.smallest)
        s.change(r=r)
        t.set_message(s, new_settings(None, f"r = {r:.4g}, the middle of the bar"))

    figure = barcode_figure(
        bars, r=plan.current.thresholds.r, D=plan.D, theme=theme(), height=HEIGHT + 20
    )
    _chart(figure, t, "bars", clicked)
    shown = sum(len(longest(bars, kind)) for kind in ("cycle", "hidden"))
    if len(bars) > shown:
        st.caption(f"The longest {shown} of {len(bars):,} bars.")


def _table(s: Session, t: Tuning, plan: Plan) -> None:
    found = results_of(t, plan, plan.along)
    scored = {one.settings: one for one in found.scores}
    scores = tuple(scored.get(point.settings) for point in found.points)
    frame = Sweep(found.points, scores).to_frame()
    columns = {name: st.column_config.NumberColumn(**one) for name, one in words.columns.items()}
    shown = frame.drop(columns="graph", errors="ignore")  # a fingerprint, for programs
    table(shown, height=HEIGHT, placeholder="", column_config=columns)
    save_button(
        "Save table (CSV)", lambda: table_to_csv(frame), f"{file_stem(s)}-sweep.csv", "tune_csv"
    )


def new_settings(point: SweepPoint | None, what: str) -> str:
    """Say what a click changed."""
    if point is None:
        return f"Now at {what}."
    cycles = "1 cycle" if point.n_cycles == 1 else f"{point.n_cycles} cycles"
    return (
        f"Now at {what}: {point.n_edges} edges, {point.n_hidden} hidden nodes, {cycles}. "
        "Undo in the sidebar reverts this."
    )
