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
    Found,
    Plan,
    Tuning,
    bars_of,
    cancel,
    drop_old,
    found_of,
    learn_points,
    learning_work,
    plan_of,
    running,
    score_points,
    show_panel,
    tuning,
)

__all__ = ["headline", "say_notices", "show"]

words = texts("tune")
HEIGHT = 580
EVERY, SELDOM = 0.6, 2.5
"""Seconds between two looks at how far the work is, and between two pictures of scores."""
TAB = "tune_tab"
ALONG, OVER, BARS, TABLE = "Along r", "Λ × τ", "Barcode of r", "Table"
SYMBOLS = {"Lambda": "Λ", "tau": "τ"}


def headline(s: Session, now: Present) -> None:
    """The data, and the counts of the present graph."""
    style("tune")
    st.markdown(
        f"**{escaped(now.source.title)}** &nbsp; {summary_line(now.result)}",
        help=escaped(now.source.about),
    )
    if s.recipe.regularize != "none":
        st.caption(words.plain)


def show(s: Session, now: Present) -> None:
    """The plots and, beside them, suggestions; while something runs they follow by themselves."""
    if now.curve is None:
        say_curve_is_missing(s, now.source.distances)
        return
    t, plan = tuning(), plan_of(s, now, now.curve)
    drop_old(s, plan)
    learn_points(s, t, plan, GRAPHS)
    if st.session_state.get(TAB) == OVER:
        learn_points(s, t, plan, CELLS)
    recipe, busy = s.recipe, set(running(s))
    news = t.heard(s)
    if news is not None:
        with st.container(key="tune_said"):
            st.success(news, icon=":material/arrow_forward:")
    # Only what runs by itself or by a click asks for a new page: a page that is thrown away before
    # the browser has drawn it would leave the sliders at their ends.
    is_drawn = False

    @st.fragment(run_every=EVERY if busy else None)
    def progress() -> None:
        if is_drawn and set(running(s)) != busy:
            st.rerun()
        _show_progress(s, t, busy)

    # a picture that is drawn again forgets where the mouse is
    pace = EVERY if busy & {GRAPHS, CELLS} else SELDOM

    @st.fragment(run_every=pace if busy else None)
    def stage() -> None:
        if is_drawn and (s.recipe is not recipe or set(running(s)) != busy):
            st.rerun()
        with st.container(key="stage_row"):
            left, right = st.columns([2.7, 1], gap="medium")
        with left:
            draws = {ALONG: _along, OVER: _over, BARS: _bars, TABLE: _table}
            tabs({name: partial(draw, s, t, plan) for name, draw in draws.items()}, key=TAB)
        with right, st.container(key="tune_panel"):
            show_panel(s, t, plan)
        if is_drawn and set(running(s)) != busy:  # the grid that was turned to is being learned
            st.rerun()

    progress()
    stage()
    is_drawn = True


def _show_progress(s: Session, t: Tuning, busy: set[str]) -> None:
    """A bar for everything that the page waits for; it is there until the page is drawn again."""
    jobs = {kind: job for kind in JOBS if kind in busy and (job := s.jobs.current(kind))}
    if not jobs:
        return
    left, right = st.columns([7, 1], vertical_alignment="center")
    for kind, job in jobs.items():
        left.progress(share_done(job), progress_line(JOBS[kind], job))
    right.button("Cancel", on_click=cancel, args=(s, t), key="tune_cancel", width="stretch")


def _chart(figure: Any, t: Tuning, name: str, clicked: Callable[[dict[str, Any]], None]) -> None:
    """Draw a figure of which a point can be clicked; after a click it is a new one, unselected."""
    key = f"tune_{name}_{t.n_clicks}"

    def report() -> None:
        chosen = st.session_state[key].selection.points
        if chosen:
            clicked(chosen[0])

    more = {"theme": None, "on_select": report, "selection_mode": "points"}
    chart(figure, words.figures[name], key, **more)


def _along(s: Session, t: Tuning, plan: Plan) -> None:
    found = found_of(t, plan, plan.along)
    st.caption(words.along if plan.is_complete else words.some.format(n=len(plan.along)))

    def clicked(place: dict[str, Any]) -> None:
        here = min(found.points, key=lambda point: abs(point.thresholds.r - float(place["x"])))
        s.change(r=here.thresholds.r)
        t.say(s, gone_to(here, f"r = {here.thresholds.r:.4g}"))

    figure = sweep_figure(
        found.points, found.scores, r=plan.here.thresholds.r, D=plan.D, theme=theme(),
        height=HEIGHT, stepwise=plan.is_complete,
    )  # fmt: skip
    _chart(figure, t, "along", clicked)
    _go_on(s, t, plan, GRAPHS)


def _go_on(s: Session, t: Tuning, plan: Plan, kind: str) -> None:
    """Offer to learn what takes long, or was cancelled, with the time that it takes."""
    work = learning_work(t, plan, kind)
    if work.n == 0 or kind in running(s):
        return
    needed = time_needed(work.estimate, work.n, "graphs")
    is_all = work.n == len(plan.settings_of(kind))
    with st.container(horizontal=True, vertical_alignment="center"):
        label = f"Learn {work.n} graphs" if is_all else "Learn the others too"
        learn = partial(learn_points, s, t, plan, kind, asked=True)
        start_button(label, needed, learn, key=f"tune_go_on {kind}")


def _over(s: Session, t: Tuning, plan: Plan) -> None:
    learn_points(s, t, plan, CELLS)
    found = found_of(t, plan, plan.cells)
    unread = [SYMBOLS[name] for name in SYMBOLS if name not in READS[plan.here.method]]
    if unread:
        st.caption(words.unread.format(names=" and ".join(unread)))
    measure = _choose_measure(s, t, plan, found)
    st.caption(words.grid.format(r=plan.here.thresholds.r))

    def clicked(place: dict[str, Any]) -> None:
        margin, tau = plan.Lambdas[round(place["x"])], plan.taus[round(place["y"])]
        here = Thresholds(plan.here.thresholds.r, margin, tau)
        point = next((one for one in found.points if one.thresholds == here), None)
        s.change(Lambda=margin, tau=tau)
        t.say(s, gone_to(point, f"Λ = {margin:.4g}, τ = {tau:.4g}"))

    figure = grid_figure(
        found.points, found.scores, measure, Lambdas=plan.Lambdas, taus=plan.taus,
        current=plan.here.thresholds, theme=theme(), height=HEIGHT - 40,
    )  # fmt: skip
    _chart(figure, t, "over", clicked)
    _go_on(s, t, plan, CELLS)


def _choose_measure(s: Session, t: Tuning, plan: Plan, found: Found) -> str:
    tied = viewed(s, "tune_measure", "hidden nodes", name="tune measure")
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        measure = st.selectbox(
            "Cells show", list(MEASURES), label_visibility="collapsed", width=260, **tied
        )
        if measure in SCORE_MEASURES and plan.obs is not None and not found.has_all_scores:
            n = len(plan.cells) - len(found.scores)
            work = rerun(plan.obs.n_rows, plan.obs.n_columns, n, fit=True)
            needed = time_needed(work, n, "cells")
            start_button(
                f"Fit the {len(plan.cells)} cells", needed, score_points, s, t, plan, CELL_SCORES,
                disabled=CELL_SCORES in running(s), key="tune_score_cells",
            )  # fmt: skip
    return str(measure)


def _bars(s: Session, t: Tuning, plan: Plan) -> None:
    if GRAPHS in running(s):
        st.caption("The bars come when all graphs are learned …")
        return
    bars = bars_of(t, plan)
    st.caption(words.bars)

    def clicked(place: dict[str, Any]) -> None:
        data = place["customdata"]  # a list, or a dict by position: streamlit has both
        middle = float(data[0] if isinstance(data, list) else data["0"])
        r = max(middle, plan.D.smallest)
        s.change(r=r)
        t.say(s, gone_to(None, f"r = {r:.4g}, the middle of that bar"))

    figure = barcode_figure(
        bars, r=plan.here.thresholds.r, D=plan.D, theme=theme(), height=HEIGHT + 20
    )
    _chart(figure, t, "bars", clicked)
    shown = sum(len(longest(bars, kind)) for kind in ("cycle", "hidden"))
    if len(bars) > shown:
        st.caption(f"The longest {shown} of {len(bars):,}; the others are shorter-lived.")


def _table(s: Session, t: Tuning, plan: Plan) -> None:
    found = found_of(t, plan, plan.along)
    scored = {one.settings: one for one in found.scores}
    scores = tuple(scored.get(point.settings) for point in found.points)
    frame = Sweep(found.points, scores).to_frame()
    columns = {name: st.column_config.NumberColumn(**one) for name, one in words.columns.items()}
    shown = frame.drop(columns="graph", errors="ignore")  # a fingerprint, for programs
    table(shown, height=HEIGHT, placeholder="", column_config=columns)
    save_button(
        "This table (CSV)", lambda: table_to_csv(frame), f"{file_stem(s)}-sweep.csv", "tune_csv"
    )


def gone_to(point: SweepPoint | None, what: str) -> str:
    """Say where a click has led."""
    if point is None:
        return f"Now at {what}."
    cycles = "1 cycle" if point.n_cycles == 1 else f"{point.n_cycles} cycles"
    return (
        f"Now at {what}: {point.n_edges} edges, {point.n_hidden} hidden nodes, {cycles}. "
        "Undo in the sidebar goes back."
    )
