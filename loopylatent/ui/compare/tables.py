"""Pins with their graphs, and the tables and scores of the page Compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.analysis.overlay import (
    BOTH,
    LEFT,
    NEITHER,
    RIGHT,
    Difference,
    Overlay,
    numbers,
    overlay,
)
from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.analysis.sweep.scores import ComparedScores, compared_scores
from loopylatent.compute.limits import Estimate, comparison, estimate
from loopylatent.compute.values import Progress
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.project.file import Pin, Recipe
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import loop_radius
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.regularized import learn_regularized
from loopylatent.tables.files import free_name
from loopylatent.ui.page import Present, preset_radii
from loopylatent.ui.shell.background import Cancelled, Job, Key
from loopylatent.ui.shell.results import (
    ComparedKey,
    LearnedKey,
    Source,
    TwoGraphsKey,
    check_bic,
    digest_or_none,
    learned,
    source_of,
    start_of,
)
from loopylatent.ui.shell.session import Session, add_pin
from loopylatent.ui.shell.widgets import (
    TimeNeeded,
    escaped,
    progress_line,
    start_button,
    table,
    text_of,
    texts,
    time_needed,
    wait_for,
)

CURRENT = "current settings"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One setting to compare, with its data and graph."""

    name: str
    recipe: Recipe
    source: Source
    result: LearnResult
    pending: Job | None = None
    """The running BIC search; until it ends the graph is the unpenalised one."""

    @property
    def graph(self) -> LatentGraph:
        return self.result.graph


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The settings that can be compared, and those that cannot, with the reason."""

    sides: tuple[Side, ...]
    rejected: tuple[tuple[str, str], ...]

    @property
    def by_name(self) -> dict[str, Side]:
        return {side.name: side for side in self.sides}


def sides_of(s: Session, now: Present) -> Sides:
    """Return every pin with its graph, and the current settings unless they are pinned."""
    pins = list(s.pins)
    if all(pin.recipe != s.recipe for pin in pins):
        taken = CURRENT in {pin.name for pin in pins}
        pins.append(Pin(f"{CURRENT} (now)" if taken else CURRENT, s.recipe))
    found, rejected = [], []
    for pin in pins:
        try:
            found.append(_side(s, now, pin))
        except LoopyLatentError as error:
            rejected.append((pin.name, str(error)))
    return Sides(tuple(found), tuple(rejected))


def _side(s: Session, now: Present, pin: Pin) -> Side:
    """Return a pin with its graph; a graph with BIC penalty comes from a background job."""
    if pin.recipe == s.recipe:
        return Side(pin.name, pin.recipe, now.source, now.result)
    source, settings = source_of(s.memo, s.uploads, pin.recipe), pin.recipe.settings
    D, obs = source.distances, source.observations
    unpenalised = Side(pin.name, pin.recipe, source, learned(s.memo, D, pin.recipe))
    if pin.recipe.regularize == "none" or obs is None:
        return unpenalised
    key = LearnedKey(D.digest, settings)
    known: LearnResult | None = s.memo.known("bic", key)
    if known is not None:
        return replace(unpenalised, result=known)
    check_bic(obs)
    start = start_of(s.memo, D, pin.recipe.r)

    def work(report: Progress) -> LearnResult:
        return learn_regularized(D, obs, settings, progress=report, start=start)

    job = s.jobs.get(f"bic {key}", key, work)
    if not job.finished.is_set():
        return replace(unpenalised, pending=job)
    if job.error is not None:
        return unpenalised
    s.memo.keep("bic", key, job.result)
    s.jobs.drop(f"bic {key}")  # the memo is bounded, the jobs are not
    return replace(unpenalised, result=job.result)


def overlay_of(s: Session, left: Side, right: Side) -> Overlay:
    """Return the overlay of two graphs, computed once."""
    graphs = (left.graph, right.graph)
    return s.memo.get(
        "overlay", TwoGraphsKey(left.graph.digest, right.graph.digest), lambda: overlay(graphs)
    )


def pin_tree_and_loops(s: Session, now: Present) -> None:
    """Pin a tree and a graph with loops of the current data."""
    D = now.source.distances
    r = loop_radius(D)
    if r >= D.r_max:  # nearly equal distances give no loops at that radius
        r = preset_radii(D, r, now.curve).get("Dense", r)
    add_pin(s, replace(s.recipe, r=D.r_max, regularize="none"), "tree")
    add_pin(s, replace(s.recipe, r=r, regularize="none"), "with loops")


JOB = "compare"
MOST_HIDDEN = 30
"""Graphs with more hidden nodes get their structure error only on request."""
IN = {BOTH: "both", LEFT: "only left", RIGHT: "only right"}
words = texts("compare")
COLUMNS = {
    name: st.column_config.NumberColumn(format="%.3f", help=f"{text} Higher is better.")
    for name, text in words.columns.items()
} | {
    "shortest cycle": st.column_config.TextColumn(
        alignment="right", help="The number of edges on the shortest cycle; a tree has none."
    )
}


def known_error(s: Session, left: LatentGraph, right: LatentGraph) -> StructureError | None:
    """Return the structure error if it is known or quick to compute."""
    key = _error_key(left, right)
    known: StructureError | None = s.memo.known("structure error", key)
    if known is None and max(left.n_hidden, right.n_hidden) <= MOST_HIDDEN:
        try:
            return s.memo.get("structure error", key, lambda: structure_error(left, right))
        except LoopyLatentError:  # different columns
            return None
    return known


def error_text(error: StructureError) -> str:
    """Return the value, or its two bounds."""
    return str(error.value) if error.is_exact else f"{error.lower} to {error.upper}"


def show_numbers(s: Session, sides: Sequence[Side]) -> None:
    """Draw one row per setting: counts, and scores on request."""
    frame = numbers([side.graph for side in sides], [side.name for side in sides])
    scores = [s.memo.known("scores", _score_key(side)) for side in sides]
    rows = [_score_row(one) for one in scores]
    if any(rows):
        frame = pd.concat([frame, pd.DataFrame(rows)], axis=1)
    table(frame, placeholder="", column_config=COLUMNS)
    for side, one in zip(sides, scores, strict=True):
        if isinstance(one, str):
            st.caption(f"{escaped(side.name)} cannot be scored: {text_of(one)}")
    _scores_job(s, sides, complete=all(one is not None for one in scores))
    _errors(s, sides)


def _score_row(scores: ComparedScores | str | None) -> dict[str, float | int | str]:
    """Return the scores by column of the table."""
    if not isinstance(scores, ComparedScores):
        return {}
    return {
        "log-likelihood per row": scores.log_likelihood,
        "BIC per row": scores.bic,
        "held-out per row": scores.held_out,
        "parameters": scores.df,
        "likelihood": "exact" if scores.is_exact else "loopy belief propagation",
    }


def _scores_job(s: Session, sides: Sequence[Side], *, complete: bool) -> None:
    job = s.jobs.current(JOB)
    if job is not None and not job.finished.is_set():
        line = partial(progress_line, "Scoring", job)
        wait_for(job, line, key="cancel_compare")
    elif not complete or _unknown_errors(s, sides):
        if job is not None and job.error not in (None, "stopped"):
            st.error(text_of(job.error))
        with st.container(horizontal=True, vertical_alignment="center"):
            start_button(
                "Score graphs",
                _time_needed(s, sides),
                _start_scoring,
                s,
                tuple(sides),
                key="score_pins",
            )
        st.caption(words.scores)


def _time_needed(s: Session, sides: Sequence[Side]) -> TimeNeeded:
    """Estimate the time for missing scores and structure errors."""
    todo = [side for side in sides if s.memo.known("scores", _score_key(side)) is None]
    work = Estimate(0.0)
    for side in todo:
        obs = side.source.observations
        if obs is not None:
            bic = side.recipe.regularize == "bic"
            work += comparison(obs.n_rows, obs.n_columns, bic=bic)
    for one, _ in _unknown_errors(s, sides):
        work += estimate("compare", 0, one.n_nodes)
    return time_needed(work, max(1, len(todo)), "pins")


@dataclass(frozen=True, slots=True)
class SidesKey(Key):
    """A job that scores all sides."""

    sides: tuple[ComparedKey, ...]


def _start_scoring(s: Session, sides: tuple[Side, ...]) -> None:
    memo, pairs = s.memo, _unknown_errors(s, sides)

    def work(report: Progress) -> None:
        todo = [side for side in sides if memo.known("scores", _score_key(side)) is None]
        total = len(todo) + len(pairs)
        for done, side in enumerate(todo):
            report(done, total)
            # so that Cancel also stops a running fit
            found = _scored(side, lambda *_, at=done: report(at, total))
            memo.keep("scores", _score_key(side), found)
        for done, (one, other) in enumerate(pairs, start=len(todo)):
            report(done, total)
            error = structure_error(one, other)
            memo.keep("structure error", _error_key(one, other), error)
        report(total, total)

    s.jobs.again(JOB, SidesKey(tuple(map(_score_key, sides))), work)


def _scored(side: Side, progress: Progress) -> ComparedScores | str:
    obs = side.source.observations
    if obs is None:
        return "The data are distances, without rows."
    try:
        return compared_scores(
            side.graph, obs, side.source.distances, side.recipe.settings,
            regularize=side.recipe.regularize == "bic", progress=progress,
        )  # fmt: skip
    except Cancelled:
        raise
    except (ArithmeticError, MemoryError) as error:
        return f"Fitting failed with {type(error).__name__}."


def _errors(s: Session, sides: Sequence[Side]) -> None:
    """Draw the structure error of every pair of settings on the same columns."""

    def cell(one: Side, other: Side) -> str:
        error = known_error(s, one.graph, other.graph)
        return "" if one is other else "?" if error is None else error_text(error)

    names = [side.name for side in sides]
    frame = pd.DataFrame([[cell(one, other) for other in sides] for one in sides], columns=names)
    frame.insert(0, free_name("structure error", names), names)
    table(frame)
    st.caption(words.error)


def _unknown_errors(s: Session, sides: Sequence[Side]) -> list[tuple[LatentGraph, LatentGraph]]:
    """Return pairs of graphs on the same columns whose structure error is still unknown."""
    return [
        (one.graph, other.graph)
        for k, one in enumerate(sides)
        for other in sides[k + 1 :]
        if set(one.graph.names) == set(other.graph.names)
        and known_error(s, one.graph, other.graph) is None
    ]


def edge_frame(laid: Overlay, difference: Difference, labels: Sequence[str]) -> pd.DataFrame:
    """Return every edge: its ends, the graphs that have it, its length in each."""
    there = difference.edges != NEITHER
    frame = pd.DataFrame(
        {
            "node 1": [labels[u] for u, _ in laid.graph.edges[there].tolist()],
            "node 2": [labels[v] for _, v in laid.graph.edges[there].tolist()],
            "in": [IN[int(state)] for state in difference.edges[there]],
            "length, left": laid.lengths[there, 0],
            "length, right": laid.lengths[there, 1],
        }
    )
    order = np.argsort(difference.edges[there] == BOTH, kind="stable")
    return frame.iloc[order]


def hidden_frame(laid: Overlay, difference: Difference, labels: Sequence[str]) -> pd.DataFrame:
    """Return every hidden node: the graphs that have it, its neighbours, the cosine."""
    p = laid.graph.n_observed
    parts = (laid.part(0), laid.part(1))

    def neighbours(which: int, node: int) -> str:
        return ", ".join(labels[other] for other in parts[which].neighbours(node))

    rows = []
    for k, state in enumerate(difference.hidden, start=p):
        cosine = float(laid.cosines[k - p].min()) if state == BOTH else None
        rows.append((labels[k], IN[int(state)], neighbours(0, k), neighbours(1, k), cosine))
    columns = ["hidden node", "in", "neighbours, left", "neighbours, right", "cosine"]
    return pd.DataFrame(rows, columns=columns)


def _error_key(left: LatentGraph, right: LatentGraph) -> TwoGraphsKey:
    return TwoGraphsKey(*sorted((left.digest, right.digest)))


def _score_key(side: Side) -> ComparedKey:
    data = digest_or_none(side.source.observations)
    return ComparedKey(data, side.graph.digest, side.recipe.settings)
