"""State and background jobs of the page Tune, and its panel of suggestions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from loopylatent.analysis.stability.loop_test import LoopTest, loop_test
from loopylatent.analysis.sweep.barcode import Bar, barcode
from loopylatent.analysis.sweep.points import (
    PointKey,
    SweepPoint,
    along_r,
    grid,
    holds_all,
    iter_points,
    over_grid,
    radii,
)
from loopylatent.analysis.sweep.scores import (
    TEST_SHARE,
    Failed,
    PointScores,
    Scored,
    ScoreKey,
    Split,
    iter_scores,
    refined_scores,
)
from loopylatent.analysis.sweep.suggest import (
    Suggestion,
    best_held_out,
    beyond_noise,
    choose,
    refined_suggestion,
)
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import Estimate, estimate, rerun
from loopylatent.compute.values import Progress
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.exporting.project.file import Recipe
from loopylatent.learning.initial_graph import EdgeDensity, default_thresholds
from loopylatent.settings import Goal, LearnSettings
from loopylatent.tables.observations import Observations
from loopylatent.ui.page import Present
from loopylatent.ui.shell.background import Job, Key
from loopylatent.ui.shell.results import (
    AlongKey,
    Attempt,
    CellsKey,
    LoopsKey,
    TableKey,
    digest_or_none,
)
from loopylatent.ui.shell.session import REFINE, Session, session
from loopylatent.ui.shell.widgets import remembered, text_of, texts, time_needed

KEY = "loopylatent tune"
GRAPHS, SCORES = "sweep", "sweep scores"
CELLS, CELL_SCORES = "grid", "grid scores"
LOOPS, REFINED = "loops", "refined scores"
JOBS = {
    GRAPHS: "Learning along r",
    SCORES: "Fitting along r",
    CELLS: "Learning the grid",
    CELL_SCORES: "Fitting the grid",
    LOOPS: "Simulating tables from a tree",
    REFINED: "Refining",
}


GOAL: Goal = "structure"
"""What the refined suggestion is refined for."""
AUTOMATIC_SECONDS = 120.0
"""Learning estimated to take longer starts only on request."""


@dataclass(slots=True)
class Tuning:
    """What one session stores for this page."""

    known: ResultCache = field(default_factory=ResultCache)
    message: str | None = None
    """What the last click did."""
    message_recipe: Recipe | None = None
    n_clicks: int = 0
    n_cancelled: int = 0

    def set_message(self, s: Session, text: str) -> None:
        """Store what a click did; it is shown until the settings change."""
        self.message, self.message_recipe = text, s.recipe
        self.n_clicks += 1

    def message_for(self, s: Session) -> str | None:
        return self.message if s.recipe is self.message_recipe else None


def tuning() -> Tuning:
    """Return the state of this browser tab."""
    return remembered(KEY, lambda: Tuning(session().swept))


@dataclass(frozen=True, slots=True)
class RefinedScoreKey(Key):
    """The scores of the refined graph of a setting."""

    table: Key
    settings: LearnSettings


class Work(NamedTuple):
    """Graphs still to be learned, and the estimated time."""

    n: int
    estimate: Estimate


@dataclass(frozen=True, eq=False)
class Plan:
    """The settings of the page: over r, and over Λ × τ at the current r."""

    D: DistanceMatrix
    curve: EdgeDensity
    obs: Observations | None
    current: LearnSettings
    along: tuple[LearnSettings, ...]
    is_complete: bool
    """Whether the initial graph is constant between neighbouring radii of ``along``."""
    Lambdas: tuple[float, ...]
    taus: tuple[float, ...]
    cells: tuple[LearnSettings, ...]

    @property
    def split_key(self) -> Key:
        return TableKey(self.D.digest, digest_or_none(self.obs))

    def key_of(self, kind: str) -> Key:
        """The key of the results of a job."""
        digest = self.D.digest
        if kind == LOOPS:
            return LoopsKey(digest, self.current.thresholds.r)
        is_along = kind in (GRAPHS, SCORES, REFINED)
        return AlongKey.of(digest, self.current) if is_along else CellsKey(digest, self.cells)

    def settings_of(self, kind: str) -> tuple[LearnSettings, ...]:
        return self.along if kind in (GRAPHS, SCORES) else self.cells


def plan_of(s: Session, now: Present, curve: EdgeDensity) -> Plan:
    """Return the settings to learn, including the current ones."""
    D, current = now.source.distances, s.recipe.settings
    along = s.memo.get("tune radii", D.digest, lambda: radii(curve))
    margins, lengths = grid(D)
    Lambdas = np.unique([*margins, current.thresholds.Lambda])
    taus = np.unique([*lengths, current.thresholds.tau])
    return Plan(
        D, curve, now.source.observations, current, tuple(along_r(current, along)),
        holds_all(curve, along), tuple(Lambdas.tolist()), tuple(taus.tolist()),
        tuple(over_grid(current, Lambdas, taus)),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Results:
    """The results so far for some settings."""

    points: tuple[SweepPoint, ...]
    scores: tuple[Scored, ...]
    n_settings: int

    @property
    def has_all_scores(self) -> bool:
        return len(self.scores) == self.n_settings


def results_of(t: Tuning, plan: Plan, settings: tuple[LearnSettings, ...]) -> Results:
    """Return the known results of the settings, in their order."""
    points = [t.known.get(PointKey(plan.D.digest, one)) for one in settings]
    split: str | None = t.known.get(plan.split_key)
    scores = [] if split is None else [t.known.get(ScoreKey(split, one)) for one in settings]
    return Results(
        tuple(one for one in points if one is not None),
        tuple(one for one in scores if one is not None),
        len(settings),
    )


# Jobs --------------------------------------------------------------------------------------


def running(s: Session) -> dict[str, Job]:
    """The running jobs of this page."""
    return {kind: job for kind in JOBS if (job := s.jobs.running(kind))}


def start(s: Session, t: Tuning, plan: Plan, kind: str, work: Callable[[Progress], Any]) -> None:
    """Start a job, or resume it after a cancellation."""
    s.jobs.get(kind, Attempt(plan.key_of(kind), t.n_cancelled), work)


def has_key(job: Job | None, key: Key) -> bool:
    """Whether a job, running or finished, has this key."""
    return job is not None and isinstance(job.key, Attempt) and job.key.of == key


def cancel(s: Session, t: Tuning) -> None:
    """Stop all jobs of this page; finished results stay."""
    for job in running(s).values():
        job.cancelled.set()
    t.n_cancelled += 1


def cancel_outdated(s: Session, plan: Plan) -> None:
    """Stop jobs of settings that are no longer shown."""
    for kind, job in running(s).items():
        if not has_key(job, plan.key_of(kind)):
            job.cancelled.set()


def learning_work(t: Tuning, plan: Plan, kind: str) -> Work:
    """Count the graphs still to be learned, and estimate the time."""
    found = results_of(t, plan, plan.settings_of(kind))
    n = found.n_settings - len(found.points)
    return Work(n, estimate("learn", 0, plan.D.n_columns) * n)


def learn_points(s: Session, t: Tuning, plan: Plan, kind: str, *, on_request: bool = False) -> None:
    """Learn all settings; unless on request, only if quick and not cancelled before."""
    settings, work_left = plan.settings_of(kind), learning_work(t, plan, kind)
    begun = has_key(s.jobs.current(kind), plan.key_of(kind))
    if work_left.n == 0 or (
        not on_request and (begun or work_left.estimate.seconds > AUTOMATIC_SECONDS)
    ):
        return
    if on_request:
        t.n_cancelled += 1  # a key unlike that of the cancelled job

    def work(report: Progress) -> None:
        points = list(
            iter_points(plan.D, settings, curve=plan.curve, known=t.known, progress=report)
        )
        if kind == GRAPHS:
            t.known.put(plan.key_of(GRAPHS), barcode(points, plan.D.r_max))

    start(s, t, plan, kind, work)


def bars_of(t: Tuning, plan: Plan) -> tuple[Bar, ...]:
    """Return the barcode, of the graphs learned so far."""
    bars: tuple[Bar, ...] | None = t.known.get(plan.key_of(GRAPHS))
    return barcode(results_of(t, plan, plan.along).points, plan.D.r_max) if bars is None else bars


def score_points(s: Session, t: Tuning, plan: Plan, kind: str) -> None:
    """Fit and score all settings, reusing known scores."""
    obs, last, settings = plan.obs, s.split, plan.settings_of(kind)
    if obs is None:
        return

    def work(report: Progress) -> None:
        report(0, len(settings))
        split = _split(last, plan, obs)
        t.known.put(plan.split_key, split.digest)
        for _ in iter_scores(split, settings, known=t.known, progress=report):
            pass

    start(s, t, plan, kind, work)


def _split(last: ResultCache, plan: Plan, obs: Observations) -> Split:
    """Return the training and held-out rows; only the last split is stored."""
    split: Split | None = last.get(plan.split_key)
    if split is None:
        split = Split.of(obs, plan.D)
        last.put(plan.split_key, split)
    return split


def refine_point(s: Session, t: Tuning, plan: Plan, settings: LearnSettings) -> None:
    """Refine the graph of a setting on the training rows, and score it on the held-out rows."""
    obs, last = plan.obs, s.split
    if obs is None:
        return
    t.n_cancelled += 1  # a key unlike that of a cancelled job

    def work(report: Progress) -> None:
        found = refined_scores(_split(last, plan, obs), settings, GOAL, progress=report)
        t.known.put(RefinedScoreKey(plan.split_key, settings), found)

    start(s, t, plan, REFINED, work)


def start_loop_test(s: Session, t: Tuning, plan: Plan) -> None:
    """Test the loops at the current radius."""

    def work(report: Progress) -> None:
        found = loop_test(plan.D, plan.current.thresholds.r, progress=report)
        t.known.put(plan.key_of(LOOPS), found)

    start(s, t, plan, LOOPS, work)


words = texts("tune")
MIN_SCORES = 5
"""Fewer scores give no suggestions yet."""


def show_panel(s: Session, t: Tuning, plan: Plan) -> None:
    """Suggestions, the noise floor, the loop test."""
    _suggestions(s, t, plan)
    noise = beyond_noise(plan.D, plan.current.thresholds.r)
    if noise:
        st.warning(noise, icon=":material/blur_on:")
    _loops(s, t, plan)


def _suggestions(s: Session, t: Tuning, plan: Plan) -> None:
    found = results_of(t, plan, plan.along)
    busy = SCORES in running(s)
    if plan.obs is None:
        st.button("Suggest thresholds", disabled=True, width="stretch", key="tune_suggest")
        st.caption(words.no_rows)
    elif not found.has_all_scores:
        n = len(plan.along) - len(found.scores)
        work = rerun(plan.obs.n_rows, plan.obs.n_columns, n, fit=True)
        needed = time_needed(work, n, "radii")
        st.button(
            "Resume suggestions" if found.scores and not busy else "Suggest thresholds",
            type="primary",
            on_click=score_points,
            args=(s, t, plan, SCORES),
            disabled=busy or not needed.is_allowed,
            width="stretch",
            key="tune_suggest",
        )
        about = words.suggest.format(n=len(plan.along), share=1 - TEST_SHARE)
        st.caption(f"{about} {needed.words}")
    _failures(s, plan, found)
    if len(found.scores) < min(MIN_SCORES, found.n_settings):
        return
    so_far = "" if found.has_all_scores else f" so far ({len(found.scores)} of {found.n_settings})"
    st.markdown(f"**Suggestions**{so_far}")
    for one in choose(plan.D, found.points, found.scores):
        _card(s, t, plan, one)
    best = best_held_out(found.scores) if found.has_all_scores else None
    if best is not None:
        _refined(s, t, plan, best)


def _card(s: Session, t: Tuning, plan: Plan, one: Suggestion) -> None:
    suggested = one.thresholds

    def apply() -> None:
        s.change(r=suggested.r, Lambda=suggested.Lambda, tau=suggested.tau)
        undo = "Undo in the sidebar reverts this."
        t.set_message(s, f"Now at “{one.title}”: r = {suggested.r:.4g}. {undo}")

    is_current = suggested == plan.current.thresholds
    with st.container(border=True, key=f"tune_card_{one.name}"):
        left, right = st.columns([2, 1], vertical_alignment="center")
        left.markdown(f"**{one.title}**  \nr = {suggested.r:.3g}")
        right.button(
            "Current" if is_current else "Apply",
            on_click=apply,
            disabled=is_current,
            key=f"tune_apply_{one.name}",
            width="stretch",
            help=f"r = {suggested.r:.5g}, Λ = {suggested.Lambda:.4g}, τ = {suggested.tau:.4g}",
        )
        warning = " Beyond the noise floor." if one.warning else ""
        st.caption(f"{one.reason} *{one.cost}.*{warning}")


def _refined(s: Session, t: Tuning, plan: Plan, best: PointScores) -> None:
    """Offer to refine the best graph on held-out rows, or show its scores after refinement."""
    scored: Scored | None = t.known.get(RefinedScoreKey(plan.split_key, best.settings))
    if isinstance(scored, PointScores):
        _refined_card(s, refined_suggestion(plan.D, best, scored))
        return
    with st.container(border=True, key="tune_card_refined"):
        left, right = st.columns([2, 1], vertical_alignment="center")
        left.markdown(f"**Refined by likelihood**  \nr = {best.settings.thresholds.r:.3g}")
        obs = plan.obs
        assert obs is not None
        work = estimate("refine", obs.n_rows, obs.n_columns)
        needed = time_needed(work, 1, "refinement")
        busy = REFINED in running(s)
        right.button(
            "Refine",
            on_click=refine_point,
            args=(s, t, plan, best.settings),
            disabled=busy or scored is not None or not needed.is_allowed,
            key="tune_refine",
            width="stretch",
        )
        job = s.jobs.current(REFINED)
        failed = job is not None and has_key(job, plan.key_of(REFINED)) and job.failure
        if isinstance(scored, Failed) or failed:
            st.caption(text_of(scored.reason if isinstance(scored, Failed) else failed))
        else:
            st.caption(f"{words.refine} {needed.words}")


def _refined_card(s: Session, one: Suggestion) -> None:
    """The scores of the refined graph, and a button that opens it on Explore."""
    suggested = one.thresholds
    with st.container(border=True, key="tune_card_refined"):
        left, right = st.columns([2, 1], vertical_alignment="center")
        left.markdown(f"**{one.title}**  \nr = {suggested.r:.3g}")
        pressed = right.button(
            "Open", key="tune_open_refined", width="stretch", help=words.open_refined
        )
        warning = " Beyond the noise floor." if one.warning else ""
        st.caption(f"{one.reason} *{one.cost}.*{warning} {words.refined}")
    if pressed:
        s.change(r=suggested.r, Lambda=suggested.Lambda, tau=suggested.tau)
        s.view[REFINE] = GOAL
        st.switch_page("app.py")


def _failures(s: Session, plan: Plan, found: Results) -> None:
    job = s.jobs.current(SCORES)
    if job is not None and has_key(job, plan.key_of(SCORES)) and job.error not in (None, "stopped"):
        st.error(text_of(job.error))
    failed = [one for one in found.scores if isinstance(one, Failed)]
    if failed:
        n, of = len(failed), found.n_settings
        st.caption(f"{n} of {of} settings could not be scored: {text_of(failed[0].reason)}")


def _loops(s: Session, t: Tuning, plan: Plan) -> None:
    st.markdown("**Loop test**")
    test: LoopTest | None = t.known.get(plan.key_of(LOOPS))
    if plan.D.n_samples is None:
        st.caption("The number of rows is unknown, so the loops cannot be tested.")
        return
    if test is None:
        work = estimate("loops", plan.D.n_samples, plan.D.n_columns)
        needed = time_needed(work, 1, "test")
        st.caption(f"{words.loops} {needed.words}")
        st.button(
            f"Test loops at r = {plan.current.thresholds.r:.3g}",
            on_click=start_loop_test,
            args=(s, t, plan),
            disabled=LOOPS in running(s) or not needed.is_allowed,
            width="stretch",
            key="tune_loops",
        )
        return
    st.markdown(loops_sentence(test))
    default, current = default_thresholds(plan.D), plan.current.thresholds
    notes = []
    if (default.Lambda, default.tau) != (current.Lambda, current.tau):
        notes.append(words.defaults)
    if plan.obs is not None and "binary" in plan.obs.kinds:
        notes.append(words.sparse)
    if notes:
        st.caption(" ".join(notes))


def loops_sentence(test: LoopTest) -> str:
    """Describe the result of the loop test.

    Examples
    --------
    >>> print(loops_sentence(LoopTest(11, 0.0, 0.025, 39, 0)))
    **11 loops**; a tree with noise gives 0.0 on average (39 simulated tables, p = 0.025). \
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
        f"**{loops}**; a tree with noise gives {test.mean_by_noise:.1f} on average "
        f"({test.n_simulations} simulated tables{failed}, p = {test.p_value:.3g}). {verdict}"
    )
