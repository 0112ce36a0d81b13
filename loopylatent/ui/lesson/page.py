"""The parts of the Step by step page."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.compute.limits import estimate
from loopylatent.compute.values import FloatArray
from loopylatent.figures.layout import shown_label
from loopylatent.graph import LatentGraph
from loopylatent.learning.grouping import VERDICTS
from loopylatent.learning.trace import Family, Join
from loopylatent.lesson.cast import Caption, caption_html, code_html, pseudocode
from loopylatent.lesson.chapters import (
    PairView,
    closest_pair,
    heatmap_order,
    matrix_figure,
    pair_view,
    points_figure,
)
from loopylatent.lesson.lesson import Lesson, build, draw
from loopylatent.lesson.material import CHAPTERS, PAIRINGS, Frame, Inspection, Phase, Visit, inspect
from loopylatent.lesson.presets import PRESETS, synthetic_data
from loopylatent.lesson.refinement_chapter import LAST_CHAPTER, best_pairs, move_words
from loopylatent.settings import Goal, LearnSettings
from loopylatent.tables.observations import Observations
from loopylatent.ui.graph_view import Picture, graph_view
from loopylatent.ui.lesson.controls import (
    KEYS,
    SPEEDS,
    Walk,
    arrow_keys,
    chapters,
    headline,
    link_of,
    preset_of,
    read_link,
    transport,
    walk,
)
from loopylatent.ui.page import Present, file_stem, say_notices, theme
from loopylatent.ui.shell.background import Job, Key
from loopylatent.ui.shell.refining import KIND, refined_key, refinement_of, refining, search_of
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.widgets import (
    chart,
    escaped,
    start_button,
    table,
    text_of,
    texts,
    time_needed,
    wait_for,
)

words = texts("lesson")
_View = Callable[[Walk, Lesson, Frame], None]
QUARTETS, INSPECTOR = "Quartets", "Quartet inspector"
MOST_ROWS = 3000
ALL, DECLARED, NULL = "all", "declared", "⊥"
ROWS_SHOWN = 8
TABLE_HEIGHT = 300


# Below the picture -------------------------------------------------------------------------


def show_details(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """Tables with the numbers of this step."""
    views = _views(lesson, frame)
    if not views:
        return
    here = w.view if w.view in views else next(iter(views))
    if len(views) == 1:
        st.markdown(f"**{here}**")
    else:
        tied = bound("lesson_view", here, lambda view: setattr(w, "view", view or here))
        label = "Numbers of this step"
        st.segmented_control(label, list(views), label_visibility="collapsed", **tied)
    views[here](w, lesson, frame)


def _views(lesson: Lesson, frame: Frame) -> Mapping[str, _View]:
    """The tables of a step; quartets only for quartet grouping."""
    views = _VIEWS[frame.place.chapter]
    if frame.place.chapter == LAST_CHAPTER:
        return {} if lesson.material.refinement is None else views
    if frame.place.visit == 0 and frame.place.chapter == 4:
        views = {"Visits": _visits, INSPECTOR: inspector}
    method = lesson.material.result.settings.method
    if method == "quartet":
        return views
    own: dict[str, _View] = {"Spreads": _spreads} if method == "relaxed" else {"Q": _criterion}
    kept: dict[str, _View] = {}
    for name, view in views.items():
        kept |= own if name == QUARTETS else {name: view} if name != INSPECTOR else {}
    return kept


def _data(_: Walk, lesson: Lesson, __: Frame) -> None:
    obs = lesson.material.obs
    if obs is None:
        st.caption("The input is distances; there are no rows.")
        return
    rows = obs.take(range(min(ROWS_SHOWN, obs.n_rows))).to_frame()
    table(rows, height=38 + 35 * len(rows))
    if obs.n_rows > ROWS_SHOWN:
        st.caption(f"The first {ROWS_SHOWN} of {obs.n_rows:,} rows.")


def _ball(_: Walk, lesson: Lesson, frame: Frame) -> None:
    """The columns of the ball, and the edges of its MST with the balls that contain them."""
    m, v = lesson.material, frame.place.node
    if v is None:
        table(_edge_table(lesson, list(m.initial)), height=TABLE_HEIGHT)
        return
    left, right = st.columns(2)
    ball = sorted(m.balls.members(v).tolist(), key=lambda u: m.D.values[v, u])
    names, lengths = [m.D.names[u] for u in ball], [float(m.D.values[v, u]) for u in ball]
    tree, new = m.balls.tree(v), set(m.balls.adds(v))
    with left:
        table(pd.DataFrame({"in the ball": names, "distance": lengths}), height=TABLE_HEIGHT)
    with right:
        edges = _edge_table(lesson, list(tree)).assign(new=[edge in new for edge in tree])
        table(edges, height=TABLE_HEIGHT)


def _edge_table(lesson: Lesson, edges: list[tuple[int, int]]) -> pd.DataFrame:
    m = lesson.material
    owners = [m.balls.owners(edge) for edge in edges]
    return pd.DataFrame(
        {
            "edge": [f"{m.D.names[u]} – {m.D.names[v]}" for u, v in edges],
            "distance": [float(m.D.values[edge]) for edge in edges],
            "local MSTs": [len(balls) for balls in owners],
            "in the local MSTs of": [
                ", ".join(m.D.names[v] for v in balls[:20]) + (" …" if len(balls) > 20 else "")
                for balls in owners
            ],
        }
    )


def _visits(_: Walk, lesson: Lesson, __: Frame) -> None:
    m = lesson.material
    looks = [place for place in lesson.places if place.phase == "look"]
    steps = [m.visit(place.step) for place in looks]
    frame = pd.DataFrame(
        {
            "visit": [place.visit for place in looks],
            "at": [m.cast.labels[place.node or 0] for place in looks],
            "nodes in A": [len(step.neighbourhood) for step in steps],
            "joins": [len(step.joins) for step in steps],
            "contractions": [len(step.contractions) for step in steps],
            "edges removed": [len(step.removed) for step in steps],
            "edges added": [len(step.added) for step in steps],
            "stuck": [step.stuck for step in steps],
        }
    )
    table(frame, height=TABLE_HEIGHT)


def _neighbourhood(_: Walk, lesson: Lesson, frame: Frame) -> None:
    """The distances inside A used by this visit."""
    visit = Visit.of(lesson.material, frame.place)
    names = [lesson.cast.labels[node] for node in visit.members]
    _square(visit.step.distances, names)
    st.caption(words.surrogates if visit.step.surrogates else words.own_distances)


def _spreads(_: Walk, lesson: Lesson, frame: Frame) -> None:
    visit = Visit.of(lesson.material, frame.place)
    found = visit.round_at(frame.place)
    if found is None:
        st.caption("Two nodes are connected directly; there are no spreads.")
        return
    family = {node: k for k, nodes in enumerate(found.families, start=1) for node in nodes}
    names = [lesson.cast.labels[lesson.cast.number[node]] for node in found.active]
    rows = pd.MultiIndex.from_arrays(
        [[f"family {family[node]}" for node in found.active], names], names=["", " "]
    )
    _square(found.spreads, names, rows)
    st.caption(words.spreads)


def _criterion(_: Walk, lesson: Lesson, frame: Frame) -> None:
    """Q of every pair that can be joined at this step."""
    visit = Visit.of(lesson.material, frame.place)
    found = visit.criterion_at(frame.place)
    names = [lesson.cast.labels[lesson.cast.number[node]] for node in found.nodes]
    _square(found.q, names)
    st.caption(words.q.format(n=len(names)))


def _square(values: FloatArray, names: list[str], rows: pd.MultiIndex | None = None) -> None:
    shown = pd.DataFrame(values, index=names if rows is None else rows, columns=names)
    height = min(38 + 35 * len(names), TABLE_HEIGHT)
    st.dataframe(shown.map(_rounded), width="content", height=height)


def _rounded(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if math.isfinite(value) else "∞"


def _local_tree(_: Walk, lesson: Lesson, frame: Frame) -> None:
    """Joins and contractions of the visit, with their lengths."""
    visit = Visit.of(lesson.material, frame.place)
    label = {node: lesson.cast.labels[at] for node, at in lesson.cast.number.items()}
    joins = pd.DataFrame([_join_row(join, label) for join in visit.step.joins])
    merged = pd.DataFrame(
        [(label[c.removed], label[c.survivor], c.length) for c in visit.step.contractions],
        columns=["contracted", "into", "length"],
    )
    left, right = st.columns([2, 1])
    with left:
        table(joins)
    with right:
        table(merged)


def _join_row(join: Join | Family, label: Mapping[int, str]) -> dict[str, object]:
    """One row of the table of joins or families."""
    children = ", ".join(label[child] for child in join.children)
    if isinstance(join, Family):
        return {
            "round": join.round,
            "family": children,
            "parent": label[join.parent],
            "new": join.is_new,
            "edge lengths": ", ".join(f"{length:.3f}" for length in join.lengths),
            "best candidate": label[join.candidate],
            "misfit": join.misfit,
            "limit": join.limit,
        }
    row: dict[str, object] = {
        "joined": children,
        "under": label[join.hidden],
        "distance": join.left_length + join.right_length,
        "first to hidden node": join.left_length,
        "second to hidden node": join.right_length,
    }
    if join.q is not None:
        return row | {"Q": join.q}
    return row | {"supported by a quartet": join.supported}


def _gains(_: Walk, lesson: Lesson, frame: Frame) -> None:
    status = _COMPARED if frame.place.phase == "compared" else _CHANGED
    label = lesson.cast.labels
    edges = pd.DataFrame(
        [(label[e.u], label[e.v], e.length, status[e.mark]) for e in frame.edges],
        columns=["node", "other node", "length", "status"],
    )
    table(edges, height=TABLE_HEIGHT)


def _moves(_: Walk, lesson: Lesson, frame: Frame) -> None:
    """The moves taken up to this step."""
    m = lesson.material
    assert m.refinement is not None
    scores = m.refinement.score_history
    last = frame.place.part if frame.place.phase == "move" else len(scores) - 1
    taken = [] if frame.place.phase in ("refine", "pairs") else range(1, last + 1)
    if not taken:
        n_moves, n_tried = len(scores) - 1, len(m.refinement.moves)
        st.caption(words.moves_to_come.format(taken=n_moves, tried=n_tried))
        return
    rows = pd.DataFrame(
        [(k, move_words(m, k), scores[k] - scores[k - 1], scores[k]) for k in taken],
        columns=["", "move", "gain", "score"],
    )
    number = st.column_config.NumberColumn(format="%.1f")
    columns = {"": st.column_config.NumberColumn(width=40), "gain": number, "score": number}
    table(rows, TABLE_HEIGHT, column_config=columns)


def _estimated_gains(_: Walk, lesson: Lesson, __: Frame) -> None:
    """The pairs that the learned graph explains worst."""
    pairs = best_pairs(lesson.material)
    rows = pd.DataFrame(
        {"pair": [pair.words for pair in pairs], "estimated gain": [pair.gain for pair in pairs]}
    )
    number = st.column_config.NumberColumn(format="%.1f")
    table(rows, TABLE_HEIGHT, column_config={"estimated gain": number})
    st.caption(words.estimated_gains)


def quartets(_: Walk, lesson: Lesson, frame: Frame) -> None:
    """Every quartet of the neighbourhood with its three products and the verdict."""
    visit = Visit.of(lesson.material, frame.place)
    found = visit.quartets
    if found is None:
        size = len(visit.members)
        st.caption(f"A has {size} nodes and {math.comb(size, 4):,} quartets, too many to list.")
        return
    if found.n_quartets == 0:
        st.caption("A has three nodes and no quartet, so no pair is separated.")
        return
    which, about = st.columns([1, 3], vertical_alignment="center")
    shown = which.segmented_control(
        "Show", [ALL, DECLARED, NULL], default=ALL, key="lesson_filter",
        label_visibility="collapsed",
    )  # fmt: skip
    about.caption(words.products)
    names = np.array([shown_label(lesson.cast.labels[node]) for node in visit.members])
    four = names[found.nodes]
    rows = pd.DataFrame(four, columns=list("abcd"))
    rows[list(VERDICTS[1:])] = found.products
    rows["lead"] = found.lead
    verdicts = zip(four, found.verdicts, strict=True)
    rows["verdict"] = [_written(row, verdict) for row, verdict in verdicts]
    if shown in (DECLARED, NULL):
        rows = rows[(found.verdicts > 0) == (shown == DECLARED)]
    number = st.column_config.NumberColumn(format="%.4f")
    table(
        rows.head(MOST_ROWS),
        height=min(38 + 35 * max(len(rows), 1), 340),
        column_config=dict.fromkeys((*VERDICTS[1:], "lead"), number),
    )
    if len(rows) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} of {len(rows):,}.")


def _written(four: np.ndarray, verdict: int) -> str:
    if verdict == 0:
        return NULL
    a, b, c, d = (str(four[k]) for k in PAIRINGS[verdict - 1])
    return f"{a} {b} | {c} {d}"


def inspector(w: Walk, lesson: Lesson, _: Frame) -> None:
    """The quartet test of any four columns, and the Λ at which its verdict changes."""
    m = lesson.material
    chosen = _choose_four(w, lesson)
    if len(set(chosen)) < 4:
        st.caption("Choose four different columns.")
        return
    at = np.array([m.D.names.index(name) for name in chosen])
    seen = inspect(m.D.values[at[:, None], at], m.thresholds.Lambda)
    rows = _pairing_table(chosen, seen)
    number = st.column_config.NumberColumn(format="%.5g")
    table(rows, column_config=dict.fromkeys(rows.select_dtypes("number").columns, number))
    st.html(f'<p class="lesson-formula">{_conclusion(chosen, seen)}</p>')


def _choose_four(w: Walk, lesson: Lesson) -> tuple[str, ...]:
    names = lesson.material.D.names
    chosen = w.four if len(w.four) == 4 and set(w.four) <= set(names) else _first_four(w, lesson)

    def report(which: int, name: str) -> None:
        w.four = (*chosen[:which], name, *chosen[which + 1 :])

    for which, column in enumerate(st.columns(4)):
        tied = bound(f"lesson_four_{which}", chosen[which], partial(report, which))
        column.selectbox("abcd"[which], names, format_func=shown_label, **tied)
    return chosen


def _first_four(w: Walk, lesson: Lesson) -> tuple[str, ...]:
    """Initial choice of four columns: from the visited neighbourhood, else the first ones."""
    m = lesson.material
    names = m.D.names
    some = list(range(len(names)))
    if w.place.visit:
        members = Visit.of(m, w.place).members
        some = [node for node in members if not m.cast.is_hidden(node)] + some
    return tuple(names[node] for node in list(dict.fromkeys(some))[:4])


def _pairing_table(chosen: tuple[str, ...], seen: Inspection) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pairing": [_written(np.array(chosen), k + 1) for k in range(3)],
            "sum of distances": [pairing.total for pairing in seen.pairings],
            "product": [pairing.product for pairing in seen.pairings],
            "lowered by Λ": [pairing.lowered for pairing in seen.pairings],
            "raised by Λ": [pairing.raised for pairing in seen.pairings],
            "": [
                "declared" if pairing.name == seen.verdict
                else "largest product" if pairing.name == seen.winner else ""
                for pairing in seen.pairings
            ],
        }
    )  # fmt: skip


def _conclusion(chosen: tuple[str, ...], seen: Inspection) -> str:
    number = {pairing.name: k + 1 for k, pairing in enumerate(seen.pairings)}
    shown = tuple(shown_label(name) for name in chosen)
    winner = escape(_written(np.array(shown), number[seen.winner]))
    if seen.turning_point == 0:
        return (
            f"At Λ = {seen.Lambda:.4g} and every other Λ the verdict is <b>⊥</b>: no pairing has a "
            "larger product than both others."
        )
    if seen.verdict == "⊥":
        return (
            f"At Λ = {seen.Lambda:.4g} the verdict is <b>⊥</b>; below Λ = "
            f"<b>{seen.turning_point:.4g}</b> it is {winner}."
        )
    return (
        f"At Λ = {seen.Lambda:.4g} <b>{winner}</b> is declared; from Λ = "
        f"<b>{seen.turning_point:.4g}</b> on, the verdict is ⊥."
    )


_CHANGED = {"added": "added", "removed": "removed", "kept": "kept"}
_COMPARED = {"wrong": "false", "removed": "missed", "kept": "recovered"}
_VIEWS: Mapping[int, Mapping[str, _View]] = {
    1: {"Table": _data},
    2: {INSPECTOR: inspector},
    3: {"Ball and MST": _ball, INSPECTOR: inspector},
    4: {
        "Distances in A": _neighbourhood,
        QUARTETS: quartets,
        "Local tree": _local_tree,
        "Visits": _visits,
        INSPECTOR: inspector,
    },
    5: {"Edges": _gains, "Visits": _visits, INSPECTOR: inspector},
    LAST_CHAPTER: {"Moves": _moves, "Estimated gains": _estimated_gains},
}


# The chapter on distances ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairKey(Key):
    """One distance, computed from the rows."""

    distances: str
    i: int
    j: int


def show_distance(s: Session, w: Walk, lesson: Lesson, frame: Frame, height: int) -> None:
    """One distance, computed from the rows; or the distance matrix."""
    m = lesson.material
    if frame.place.phase == "matrix":
        order = s.memo.get("heatmap", m.result.graph.digest, lambda: heatmap_order(m.result.graph))
        figure = matrix_figure(m.D, order, theme(), height)
        chart(figure, "Distance matrix of all columns", "lesson_matrix")
        return
    i, j = _choose_pair(w, lesson)
    view = s.memo.get("pair", PairKey(m.D.digest, i, j), lambda: pair_view(m.D, m.obs, i, j))
    _show_pair(view, height)


def _choose_pair(w: Walk, lesson: Lesson) -> tuple[int, int]:
    names = lesson.material.D.names
    i, j = closest_pair(lesson.material.D)
    chosen = w.pair if w.pair is not None else (names[i], names[j])

    def report(which: int, name: str) -> None:
        other = chosen[1 - which]
        if name != other:
            w.pair = (name, other) if which == 0 else (other, name)

    for which, column in enumerate(st.columns(2)):
        label = ("First column", "Second column")[which]
        tied = bound(f"lesson_pair_{which}", chosen[which], partial(report, which))
        column.selectbox(label, names, format_func=shown_label, **tied)
    return names.index(chosen[0]), names.index(chosen[1])


def _show_pair(view: PairView, height: int) -> None:
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        if view.table is not None:
            st.caption(
                f"Rows with each value of {escaped(view.names[0])} (down) and "
                f"{escaped(view.names[1])} (across)"
            )
            st.dataframe(view.table.map(lambda count: f"{count:,.0f}"), width="stretch")
        elif view.points is not None:
            figure = points_figure(view.points, view.names, theme(), height - 190)
            chart(figure, "Scatter plot of two columns", "lesson_points")
        else:
            st.caption("The distances are precomputed; there are no rows.")
    with right:
        rows = "".join(
            f"<tr><td>{quantity.name}<small>{quantity.meaning}</small></td>"
            f"<td>{quantity.shown}</td></tr>"
            for quantity in view.quantities
        )
        st.html(f'<table class="lesson-numbers">{rows}</table>')
    if math.isinf(view.distance):
        st.html('<p class="lesson-formula">d = −log 0 = ∞: the two columns appear independent.</p>')
        return
    st.html(
        f'<p class="lesson-formula">strength = {view.strength:.4f}, so '
        f"d = −log {view.strength:.4f} = <b>{view.distance:.4f}</b></p>"
    )


__all__ = ["begin", "headline", "lesson_of", "link_of", "say_notices", "show"]

INVISIBLE = "<style>.st-key-lesson_picture { max-height: 0; overflow: hidden; }</style>"
HEIGHT = 490
PROJECTOR_HEIGHT = 600
SHADED = 26
"""Pixels around the graph, for the shaded area."""
PROJECTOR_SCALE = 1.6


def begin(s: Session) -> Walk:
    """Read the link; open the first lesson if nothing has been chosen yet."""
    w = walk()
    if not w.link_read:
        w.link_read = True
        read_link(s, w)
    css = "".join(
        Path(__file__).with_name(name).read_text(encoding="utf-8")
        for name in ("style.css", "projector.css")[: 1 + w.projector]
    )
    st.html(f"<style>{css}</style>")
    return w


@dataclass(frozen=True, slots=True)
class LessonKey(Key):
    """A lesson on a graph, with its labels and positions."""

    distances: str
    graph: str
    settings: LearnSettings
    n_visits: int
    names: tuple[tuple[int, str], ...]
    places: bytes
    is_refined: bool


GOAL: Goal = "structure"
"""What the last chapter refines for: the lesson is about the graph."""


def lesson_of(s: Session, w: Walk, now: Present) -> Lesson:
    """Return the lesson on the current graph, at the corresponding step."""
    graph = now.result.graph
    names = s.names_on(graph).by_node
    labels = tuple(names.get(node, label) for node, label in enumerate(graph.labels))
    places = s.place(graph, labels)
    preset = preset_of(s)
    truth = now.source.truth
    if truth is None and preset is not None and PRESETS[preset].sample is None:
        truth = synthetic_data(preset).truth
    D, obs = now.source.distances, now.source.observations
    named = tuple(sorted(names.items()))
    settings, n_visits = now.result.settings, now.result.n_visits
    found = refinement_of(s, now.source, graph, GOAL)
    shown = (named, places.tobytes(), found is not None)
    key = LessonKey(D.digest, graph.digest, settings, n_visits, *shown)
    more: dict[str, Any] = {"places": places, "hidden_names": names, "refinement": found}
    make = partial(build, now.result, D, obs, truth, **more)
    lesson = s.memo.get("lesson", key, make)
    w.enter(lesson, key, s.why)
    s.why = ()
    return lesson


def show(s: Session, w: Walk, lesson: Lesson) -> None:
    """Picture, caption and pseudocode of the step. During playback it reruns periodically."""
    every = SPEEDS[w.speed] if w.playing else None

    @st.fragment(run_every=every)
    def stage() -> None:
        w.press(lesson, arrow_keys(key=KEYS))
        w.tick(lesson)
        if (SPEEDS[w.speed] if w.playing else None) != every:
            st.rerun()
        chapters(w, lesson)
        _show_step(s, w, lesson)

    stage()


def _show_step(s: Session, w: Walk, lesson: Lesson) -> None:
    hides = w.hides(lesson)
    frame = lesson.frame(w.index, w.detail)
    if frame.place.phase == "pair" and w.pair is not None:
        names = lesson.material.D.names
        frame = lesson.pair(names.index(w.pair[0]), names.index(w.pair[1]))
    shown = lesson.frame(w.index - 1, w.detail) if hides else frame
    left, right = st.columns([1.7, 1] if not w.projector else [1.45, 1], gap="medium")
    with left:
        _picture(s, w, lesson, shown)
        transport(s, w, lesson)
    with right:
        _caption_or_question(w, lesson, frame)
        if frame.place.chapter == LAST_CHAPTER and lesson.material.refinement is None:
            _offer_refinement(s, lesson)
        code = lesson.code_at(frame.place)
        st.html(f'<div class="lesson-code">{code_html(frame.line, code)}</div>')
        meaning = pseudocode(code)[frame.line - 1].meaning
        st.html(f'<p class="lesson-meaning">{meaning}</p>')
    if not w.projector:
        show_details(w, lesson, shown)


def _offer_refinement(s: Session, lesson: Lesson) -> None:
    """A button that computes the last chapter, its progress, or why that failed."""
    obs, graph = lesson.material.obs, lesson.material.result.graph
    if obs is None:
        return
    job = s.jobs.of(KIND, refined_key(obs, graph, GOAL))
    if job is not None and job.found is not None:
        st.rerun()  # into the lesson with this chapter
    if job is not None and job.is_running and not job.cancelled.is_set():
        wait_for(job, partial(_progress, s, job), "lesson_cancel", columns=None)
        return
    if job is not None and job.failure is not None:
        st.error(text_of(job.failure))
        return
    needed = time_needed(estimate("refine", obs.n_rows, obs.n_columns), 1, "refinement")
    with st.container(horizontal=True, vertical_alignment="center"):
        start_button(
            "Refine this graph", needed, _begin_refinement, s, obs, graph,
            type="primary", key="lesson_refine",
        )  # fmt: skip


def _begin_refinement(s: Session, obs: Observations, graph: LatentGraph) -> None:
    refining(s, obs, graph, GOAL)


def _progress(s: Session, job: Job) -> str:
    """Say what the search has found so far."""
    search = search_of(s, job)
    if search.best is None and job.total <= 1:
        return "Fitting the learned graph …"
    line = f"Round {search.round}: {job.done} of {job.total} moves tried"
    if search.best is None:
        return line
    score = f"{search.best.score:,.1f}".replace("-", "−")
    return f"{line}; score {score}"


def _picture(s: Session, w: Walk, lesson: Lesson, frame: Frame) -> None:
    """The graph; in chapter 2 it is hidden and replaced by numbers."""
    chapter = frame.place.chapter
    height = PROJECTOR_HEIGHT if w.projector else HEIGHT
    st.html(INVISIBLE if chapter == 2 else "<style></style>")
    with st.container(key="lesson_picture"):
        drawing = draw(lesson, frame, PROJECTOR_SCALE if w.projector else 1.0)
        graph_view(
            Picture(
                drawing.nodes, drawing.edges, drawing.looks, drawing.description, drawing.shade
            ),
            key="lesson_graph",
            subject=f"{lesson.material.D.digest} {w.projector}",
            on_click=lambda node: _clicked(w, lesson, node),
            height=height,
            file_name=f"{file_stem(s)}-{frame.place.anchor}",
            arrow_keys=False,
            margin=SHADED,
        )
    if chapter == 2:
        with st.container(key="lesson_numbers", height=height, border=True):
            show_distance(s, w, lesson, frame, height - 36)


def _clicked(w: Walk, lesson: Lesson, node: int | None) -> None:
    """Go to the ball or visit of a clicked column."""
    if node is None or lesson.cast.is_hidden(node):
        return
    phases: dict[int, Phase] = {3: "ball", 4: "look"}
    phase = phases.get(w.place.chapter)
    found = None if phase is None else lesson.first(phase, node)
    if found is not None:
        w.go(lesson, found)


def _caption_or_question(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """The caption, or the question to the class."""
    if not w.hides(lesson):
        _caption(w, frame.caption, _score(w, lesson) if w.revealed else "")
        return
    guesses = lesson.guesses(w.index)
    _caption(w, guesses.question)

    here = w.guess if w.guess in guesses.options else None
    tied = bound("lesson_guess", here, partial(setattr, w, "guess"))
    more: dict[str, Any] = {"label_visibility": "collapsed", "wrap": True}
    st.pills("Your guess", guesses.options, format_func=escaped, **more, **tied)
    st.button("Reveal", type="primary", on_click=w.reveal, args=(lesson,), key="lesson_reveal")


def _score(w: Walk, lesson: Lesson) -> str:
    if w.guess is None:
        return ""
    word = "Right." if w.guess == lesson.guesses(w.index).answer else "Wrong."
    return f"{word} {w.right} of {w.asked} guesses right. "


def _caption(w: Walk, caption: Caption, note: str = "") -> None:
    chapter = w.place.chapter
    over = f'<p class="chapter">{chapter} · {CHAPTERS[chapter]}</p>' if w.projector else ""
    note_html = f"<b>{note}</b>" if note else ""
    st.html(
        f'<div class="lesson-caption" role="status">{over}{note_html}{caption_html(caption)}</div>'
    )
