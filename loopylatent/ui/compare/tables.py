"""What the page Compare lays side by side: pins with their graphs, tables, scores on request."""

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
    said,
    start_button,
    table,
    texts,
    time_needed,
    wait_for,
)

PRESENT = "the present setting"


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """One setting to be compared, its data and its graph."""

    name: str
    recipe: Recipe
    source: Source
    result: LearnResult
    waiting: Job | None = None
    """The BIC that is still at work; the graph is the plain one until it is done."""

    @property
    def graph(self) -> LatentGraph:
        return self.result.graph


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """All settings that can be compared, and those that cannot, each with the reason."""

    sides: tuple[Side, ...]
    refused: tuple[tuple[str, str], ...]

    @property
    def by_name(self) -> dict[str, Side]:
        return {side.name: side for side in self.sides}


def sides_of(s: Session, now: Present) -> Sides:
    """Return every pin with its graph, and what is shown now where it is not pinned."""
    pins = list(s.pins)
    if all(pin.recipe != s.recipe for pin in pins):
        taken = PRESENT in {pin.name for pin in pins}
        pins.append(Pin(f"{PRESENT} (now)" if taken else PRESENT, s.recipe))
    found, refused = [], []
    for pin in pins:
        try:
            found.append(_side(s, now, pin))
        except LoopyLatentError as error:
            refused.append((pin.name, str(error)))
    return Sides(tuple(found), tuple(refused))


def _side(s: Session, now: Present, pin: Pin) -> Side:
    """A pin with its graph; that which the BIC pays for comes from a job of its own."""
    if pin.recipe == s.recipe:
        return Side(pin.name, pin.recipe, now.source, now.result)
    source, settings = source_of(s.memo, s.uploads, pin.recipe), pin.recipe.settings
    D, obs = source.distances, source.observations
    plain = Side(pin.name, pin.recipe, source, learned(s.memo, D, pin.recipe))
    if pin.recipe.regularize == "none" or obs is None:
        return plain
    key = LearnedKey(D.digest, settings)
    known: LearnResult | None = s.memo.known("bic", key)
    if known is not None:
        return replace(plain, result=known)
    check_bic(obs)
    start = start_of(s.memo, D, pin.recipe.r)

    def work(report: Progress) -> LearnResult:
        return learn_regularized(D, obs, settings, progress=report, start=start)

    job = s.jobs.get(f"bic {key}", key, work)
    if not job.finished.is_set():
        return replace(plain, waiting=job)
    if job.error is not None:
        return plain
    s.memo.keep("bic", key, job.result)
    s.jobs.drop(f"bic {key}")  # kept once; jobs have no bound
    return replace(plain, result=job.result)


def overlay_of(s: Session, left: Side, right: Side) -> Overlay:
    """Lay two graphs on top of each other, once."""
    graphs = (left.graph, right.graph)
    return s.memo.get(
        "overlay", TwoGraphsKey(left.graph.digest, right.graph.digest), lambda: overlay(graphs)
    )


def pin_two(s: Session, now: Present) -> None:
    """Pin a tree and a graph with loops of the present data."""
    D = now.source.distances
    r = loop_radius(D)
    if r >= D.r_max:  # the distances are too alike for that radius to differ
        r = preset_radii(D, r, now.curve).get("Dense", r)
    add_pin(s, replace(s.recipe, r=D.r_max, regularize="none"), "tree")
    add_pin(s, replace(s.recipe, r=r, regularize="none"), "with loops")


KIND = "compare"
QUICK = 30
"""Hidden nodes up to which the structure error is computed at once."""
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
    """Return the structure error where it is known or quick to know."""
    key = _error_key(left, right)
    known: StructureError | None = s.memo.known("structure error", key)
    if known is None and max(left.n_hidden, right.n_hidden) <= QUICK:
        try:
            return s.memo.get("structure error", key, lambda: structure_error(left, right))
        except LoopyLatentError:  # other columns
            return None
    return known


def error_words(error: StructureError) -> str:
    """Say the value, or between which it lies."""
    return str(error.value) if error.is_exact else f"{error.lower} to {error.upper}"


def show_numbers(s: Session, sides: Sequence[Side]) -> None:
    """One row for each setting: counts at once, scores where they were asked for."""
    frame = numbers([side.graph for side in sides], [side.name for side in sides])
    scores = [s.memo.known("scores", _score_key(side)) for side in sides]
    rows = [_score_row(one) for one in scores]
    if any(rows):
        frame = pd.concat([frame, pd.DataFrame(rows)], axis=1)
    table(frame, placeholder="", column_config=COLUMNS)
    for side, one in zip(sides, scores, strict=True):
        if isinstance(one, str):
            st.caption(f"{escaped(side.name)} cannot be scored: {said(one)}")
    _scores_job(s, sides, complete=all(one is not None for one in scores))
    _errors(s, sides)


def _score_row(scores: ComparedScores | str | None) -> dict[str, float | int | str]:
    """Scores under the words of the table; nothing where there are none."""
    if not isinstance(scores, ComparedScores):
        return {}
    return {
        "log-likelihood a row": scores.log_likelihood,
        "BIC a row": scores.bic,
        "held out, a row": scores.held_out,
        "parameters": scores.df,
        "likelihood": "exact" if scores.is_exact else "loopy belief propagation",
    }


def _scores_job(s: Session, sides: Sequence[Side], *, complete: bool) -> None:
    job = s.jobs.current(KIND)
    if job is not None and not job.finished.is_set():
        line = partial(progress_line, "Scoring", job)
        wait_for(job, line, key="cancel_compare")
    elif not complete or _unknown_errors(s, sides):
        if job is not None and job.error not in (None, "stopped"):
            st.error(said(job.error))
        with st.container(horizontal=True, vertical_alignment="center"):
            start_button(
                "Score them", _time_needed(s, sides), _begin, s, tuple(sides), key="score_pins"
            )
        st.caption(words.scores)


def _time_needed(s: Session, sides: Sequence[Side]) -> TimeNeeded:
    """What the scores that are missing take, and the structure errors."""
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
    """A run that scores all sides."""

    sides: tuple[ComparedKey, ...]


def _begin(s: Session, sides: tuple[Side, ...]) -> None:
    memo, pairs = s.memo, _unknown_errors(s, sides)

    def work(report: Progress) -> None:
        todo = [side for side in sides if memo.known("scores", _score_key(side)) is None]
        total = len(todo) + len(pairs)
        for done, side in enumerate(todo):
            report(done, total)
            # a fit can be cancelled in the middle
            found = _scored(side, lambda *_, at=done: report(at, total))
            memo.keep("scores", _score_key(side), found)
        for done, (one, other) in enumerate(pairs, start=len(todo)):
            report(done, total)
            error = structure_error(one, other)
            memo.keep("structure error", _error_key(one, other), error)
        report(total, total)

    s.jobs.again(KIND, SidesKey(tuple(map(_score_key, sides))), work)


def _scored(side: Side, progress: Progress) -> ComparedScores | str:
    obs = side.source.observations
    if obs is None:
        return "distances alone have no rows to explain."
    try:
        return compared_scores(
            side.graph, obs, side.source.distances, side.recipe.settings,
            regularize=side.recipe.regularize == "bic", progress=progress,
        )  # fmt: skip
    except Cancelled:
        raise
    except (ArithmeticError, MemoryError) as error:
        return f"{type(error).__name__} while fitting."


def _errors(s: Session, sides: Sequence[Side]) -> None:
    """The structure error of every two settings on the same columns."""

    def cell(one: Side, other: Side) -> str:
        error = known_error(s, one.graph, other.graph)
        return "" if one is other else "?" if error is None else error_words(error)

    names = [side.name for side in sides]
    frame = pd.DataFrame([[cell(one, other) for other in sides] for one in sides], columns=names)
    frame.insert(0, free_name("structure error between", names), names)
    table(frame)
    st.caption(words.error)


def _unknown_errors(s: Session, sides: Sequence[Side]) -> list[tuple[LatentGraph, LatentGraph]]:
    """Pairs of graphs on the same columns whose structure error takes its time."""
    return [
        (one.graph, other.graph)
        for k, one in enumerate(sides)
        for other in sides[k + 1 :]
        if set(one.graph.names) == set(other.graph.names)
        and known_error(s, one.graph, other.graph) is None
    ]


def edge_frame(laid: Overlay, difference: Difference, labels: Sequence[str]) -> pd.DataFrame:
    """Every edge: its ends, which graphs have it, how long it is in each."""
    there = difference.edges != NEITHER
    frame = pd.DataFrame(
        {
            "one end": [labels[u] for u, _ in laid.graph.edges[there].tolist()],
            "other end": [labels[v] for _, v in laid.graph.edges[there].tolist()],
            "in": [IN[int(state)] for state in difference.edges[there]],
            "distance, left": laid.lengths[there, 0],
            "distance, right": laid.lengths[there, 1],
        }
    )
    order = np.argsort(difference.edges[there] == BOTH, kind="stable")
    return frame.iloc[order]


def hidden_frame(laid: Overlay, difference: Difference, labels: Sequence[str]) -> pd.DataFrame:
    """Every hidden node: which graphs have it, its neighbours in each, how alike it is in both."""
    p = laid.graph.n_observed
    parts = (laid.part(0), laid.part(1))

    def near(which: int, node: int) -> str:
        return ", ".join(labels[other] for other in parts[which].neighbours(node))

    rows = []
    for k, state in enumerate(difference.hidden, start=p):
        alike = float(laid.cosines[k - p].min()) if state == BOTH else None
        rows.append((labels[k], IN[int(state)], near(0, k), near(1, k), alike))
    columns = ["hidden node", "in", "next to, left", "next to, right", "alike (cosine)"]
    return pd.DataFrame(rows, columns=columns)


def _error_key(left: LatentGraph, right: LatentGraph) -> TwoGraphsKey:
    return TwoGraphsKey(*sorted((left.digest, right.digest)))


def _score_key(side: Side) -> ComparedKey:
    data = digest_or_none(side.source.observations)
    return ComparedKey(data, side.graph.digest, side.recipe.settings)
