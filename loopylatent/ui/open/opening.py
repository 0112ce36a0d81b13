"""A large table is shown at once; the curve over all r and the test of loops come after."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from loopylatent.analysis.stability.loop_test import Opening, opening_radius
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.exporting.project.recipe import Recipe
from loopylatent.figures.simplify import SIMPLE_FROM, WHOLE_UP_TO
from loopylatent.learning.thresholds import default_thresholds
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.keys import DataKey
from loopylatent.ui.shell.messages import said
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.stages import begin_curve, curve_job
from loopylatent.ui.shell.widgets import wait_for

EVERY = 1.0
"""Seconds between two looks at how far the work is."""
TEST = "opening"
"""The kind of job that tests the loops of a table that was just opened."""
LATER = (
    "Opened as a tree. Whether a smaller r shows loops that are real is tested once the local "
    "trees have been followed over all r."
)
TESTING = "Opened as a tree. Are loops at a smaller r real? Simulated table {done} of {total}"
UNTESTED = (
    "Opened as a tree (r = {r:.3g}). With {p:,} columns the loops are not tested of themselves; "
    "the page Tune has a button for it."
)
STOPPED = "The test of loops was stopped; the page Tune can run it again."


def open_quickly(s: Session, D: DistanceMatrix, recipe: Recipe) -> None:
    """Open a large table as a tree; whether its loops are real is asked afterwards."""
    default = default_thresholds(D)
    opened = replace(recipe, r=default.r, Lambda=default.Lambda, tau=default.tau)
    s.open(opened)
    if D.n_columns > WHOLE_UP_TO:
        s.notice = UNTESTED.format(r=opened.r, p=D.n_columns)
    else:
        s.notice, s.untested = None, opened


def opens_quickly(D: DistanceMatrix) -> bool:
    """Whether a table is too large to wait for the test of its loops."""
    return D.n_columns > SIMPLE_FROM


# The test of loops -------------------------------------------------------------------------


def follow_test(s: Session, D: DistanceMatrix) -> None:
    """Test the loops of a new table once its curve is there, and open it as the test says."""
    job = s.jobs.current(TEST)
    if s.untested is None or DataKey.of(s.untested) != DataKey.of(s.recipe):
        if job is not None:
            job.cancelled.set()
        return
    curve = curve_job(s.jobs, D)
    if curve is not None and curve.is_running:
        st.caption(LATER)
        return
    if job is None or job.key != D.digest:  # a stopped one is not begun again
        job = s.jobs.get(TEST, D.digest, lambda report: opening_radius(D, progress=report))
    if job.is_running:
        _wait(job, TESTING, "cancel_opening")
    else:
        _take(s, job)
        st.rerun()


def _take(s: Session, job: Job) -> None:
    """Go where the test says, unless the user has gone somewhere else meanwhile."""
    opened, s.untested = s.untested, None
    s.jobs.drop(TEST)
    if job.error is not None:
        s.notice = STOPPED if job.error == "stopped" else job.error
        return
    found: Opening = job.result
    s.notice = found.reason
    if opened is None or found.r == opened.r:
        return
    if s.recipe == opened:
        s.change(r=found.r)
        s.notice += " Undo goes back to the tree."
    else:
        s.notice += f" Set r to {found.r:.3g} to see them."


# The curve ---------------------------------------------------------------------------------


def follow_curve(s: Session, D: DistanceMatrix) -> None:
    """Say how far the curve is, with a way to stop it and to begin again."""
    job = curve_job(s.jobs, D)
    if job is not None and job.is_running:
        _wait(job, "All radii: ball {done:,} of {total:,}", "cancel_curve")
        return
    if job is not None and job.error not in (None, "stopped"):
        st.caption(said(job.error))
    st.button(
        "Follow the local trees over all r",
        on_click=begin_curve,
        args=(s.jobs, s.memo, D),
        key="follow_curve",
        help="Gives the curve of edges against r, and quick moves of r. It takes a while with "
        "many columns; the page can be used meanwhile.",
        width="stretch",
    )


def say_curve_is_missing(s: Session, D: DistanceMatrix) -> None:
    """Say where the curve comes from that is not there yet."""
    job = curve_job(s.jobs, D)
    runs = job is not None and job.is_running
    st.info(
        "The local trees are being followed over all r; this appears when that is done."
        if runs
        else "This needs the local trees over all r: the button in the sidebar follows them.",
        icon=":material/hourglass_top:" if runs else ":material/info:",
    )


def _wait(job: Job, line: str, key: str) -> None:
    def said_now() -> str:
        return line.format(done=job.done, total=job.total)

    wait_for(job, said_now, key=key, label="Stop", every=EVERY, widths=(3, 1))
