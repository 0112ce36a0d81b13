"""Beside the plots of the Tune page: suggestions, what to beware of, whether loops are real."""

from __future__ import annotations

import streamlit as st

from loopylatent.analysis.stability.loop_test import LoopTest
from loopylatent.analysis.sweep.scores import TEST_SHARE, Failed
from loopylatent.analysis.sweep.suggest import Suggestion, beyond_noise, choose
from loopylatent.compute.limits import estimate, rerun
from loopylatent.learning.thresholds import default_thresholds
from loopylatent.ui.shell.messages import said, time_needed
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import texts
from loopylatent.ui.tune.state import (
    LOOPS,
    SCORES,
    Found,
    Plan,
    Tuning,
    begin_loop_test,
    found_of,
    is_of,
    loops_found,
    running,
    score_points,
)

words = texts("tune")
FEWEST = 5
"""Scores from which on there is a best one so far."""


def show_panel(s: Session, t: Tuning, plan: Plan) -> None:
    """Suggestions, the noise floor, the loop test."""
    _suggestions(s, t, plan)
    noise = beyond_noise(plan.D, plan.here.thresholds.r)
    if noise:
        st.warning(noise, icon=":material/blur_on:")
    _loops(s, t, plan)


def _suggestions(s: Session, t: Tuning, plan: Plan) -> None:
    found = found_of(t, plan, plan.along)
    busy = SCORES in running(s)
    if plan.obs is None:
        st.button("Suggest thresholds", disabled=True, width="stretch", key="tune_suggest")
        st.caption(words.no_rows)
    elif not found.has_all_scores:
        n = len(plan.along) - len(found.scores)
        work = rerun(plan.obs.n_rows, plan.obs.n_columns, n, fit=True)
        needed = time_needed(work, n, "radii")
        st.button(
            "Go on with the suggestions" if found.scores and not busy else "Suggest thresholds",
            type="primary",
            on_click=score_points,
            args=(s, t, plan, SCORES, plan.along),
            disabled=busy or not needed.is_allowed,
            width="stretch",
            key="tune_suggest",
        )
        about = words.suggest.format(n=len(plan.along), share=1 - TEST_SHARE)
        st.caption(f"{about} {needed.words}")
    _failures(s, plan, found)
    if len(found.scores) < min(FEWEST, found.n_wanted):
        return
    so_far = "" if found.has_all_scores else f" so far ({len(found.scores)} of {found.n_wanted})"
    st.markdown(f"**Suggestions**{so_far}")
    for one in choose(plan.D, found.points, found.scores):
        _card(s, t, plan, one)


def _card(s: Session, t: Tuning, plan: Plan, one: Suggestion) -> None:
    there = one.thresholds

    def apply() -> None:
        s.change(r=there.r, Lambda=there.Lambda, tau=there.tau)
        t.say(s, f"Now at “{one.title}”: r = {there.r:.4g}. Undo in the sidebar goes back.")

    is_here = there == plan.here.thresholds
    with st.container(border=True, key=f"tune_card_{one.name}"):
        left, right = st.columns([2, 1], vertical_alignment="center")
        left.markdown(f"**{one.title}**  \nr = {there.r:.3g}")
        right.button(
            "Here" if is_here else "Apply",
            on_click=apply,
            disabled=is_here,
            key=f"tune_apply_{one.name}",
            width="stretch",
            help=f"r = {there.r:.5g}, Λ = {there.Lambda:.4g}, τ = {there.tau:.4g}",
        )
        beware = " Beyond the noise floor." if one.warning else ""
        st.caption(f"{one.reason} *{one.cost}.*{beware}")


def _failures(s: Session, plan: Plan, found: Found) -> None:
    job = s.jobs.current(SCORES)
    if job is not None and is_of(job, plan.along_key) and job.error not in (None, "stopped"):
        st.error(said(job.error))
    failed = [one for one in found.scores if isinstance(one, Failed)]
    if failed:
        n, of = len(failed), found.n_wanted
        st.caption(f"{n} of {of} settings could not be scored: {said(failed[0].reason)}")


def _loops(s: Session, t: Tuning, plan: Plan) -> None:
    st.markdown("**Are the loops real?**")
    test = loops_found(t, plan)
    if plan.D.n_samples is None:
        st.caption("How many rows there are is unknown, so loops cannot be tested.")
        return
    if test is None:
        work = estimate("loops", plan.D.n_samples, plan.D.n_columns)
        needed = time_needed(work, 1, "test")
        st.caption(f"{words.loops} {needed.words}")
        st.button(
            f"Test the loops at r = {plan.here.thresholds.r:.3g}",
            on_click=begin_loop_test,
            args=(s, t, plan),
            disabled=LOOPS in running(s) or not needed.is_allowed,
            width="stretch",
            key="tune_loops",
        )
        return
    st.markdown(loops_sentence(test))
    default, here = default_thresholds(plan.D), plan.here.thresholds
    notes = []
    if (default.Lambda, default.tau) != (here.Lambda, here.tau):
        notes.append(words.defaults)
    if plan.obs is not None and "binary" in plan.obs.kinds:
        notes.append(words.sparse)
    if notes:
        st.caption(" ".join(notes))


def loops_sentence(test: LoopTest) -> str:
    """Say what the loop test found.

    Examples
    --------
    >>> print(loops_sentence(LoopTest(11, 0.0, 0.025, 39, 0)))
    **11 loops**; noise on a tree would make 0.0 on average (39 simulated tables, p = 0.025). \
A tree does not explain them.
    >>> print(loops_sentence(LoopTest(0, 1.5, 1.0, 39, 0)))
    **No loops** at this r, so there is nothing to test.
    """
    if test.n_loops == 0:
        return "**No loops** at this r, so there is nothing to test."
    loops = "1 loop" if test.n_loops == 1 else f"{test.n_loops} loops"
    verdict = "A tree does not explain them." if test.is_real else "Noise can explain them."
    failed = f", {test.n_failed} of them failed" if test.n_failed else ""
    return (
        f"**{loops}**; noise on a tree would make {test.mean_by_noise:.1f} on average "
        f"({test.n_simulations} simulated tables{failed}, p = {test.p_value:.3g}). {verdict}"
    )
