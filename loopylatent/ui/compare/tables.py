"""Tables of the page Compare: numbers, scores on request, edges and hidden nodes one by one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.analysis.overlay import BOTH, LEFT, NEITHER, RIGHT, Difference, Overlay, numbers
from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.analysis.sweep.scores import ComparedScores, compared_scores
from loopylatent.compute.limits import Estimate, comparison, estimate
from loopylatent.errors import LoopyLatentError
from loopylatent.graph import LatentGraph
from loopylatent.tables.headers import free_name
from loopylatent.ui.compare.state import Side
from loopylatent.ui.shell.background import Cancelled, Job
from loopylatent.ui.shell.keys import ComparedKey, digest_or_none
from loopylatent.ui.shell.messages import Patience, patience_for, plain, progress_line, said
from loopylatent.ui.shell.session import Session

KIND = "compare"
QUICK = 30
"""Hidden nodes up to which the structure error is computed at once."""
IN = {BOTH: "both", LEFT: "only left", RIGHT: "only right"}
ERROR = (
    "The structure error is the paper's edit distance: the entries in which the two adjacency "
    "tables differ, two for each edge, under the matching of hidden nodes for which there are "
    "fewest. Where that cannot be searched through, it lies between two bounds."
)
SCORES = (
    "Scores fit probabilities on each graph. The log-likelihood of a row and BIC are of the graph "
    "as it is shown, fitted to all rows; *held out* is the log-likelihood of rows (three in ten) "
    "that took no part in learning or fitting. Higher is better."
)
COLUMNS = {
    "shortest cycle": st.column_config.TextColumn(
        alignment="right", help="The number of edges on the shortest cycle; a tree has none."
    ),
    **{
        name: st.column_config.NumberColumn(format="%.3f", help=f"{text} Higher is better.")
        for name, text in {
            "log-likelihood a row": "Of the graph as it is shown, fitted to all rows.",
            "BIC a row": "The same, less a price for every parameter.",
            "held out, a row": "The log-likelihood of rows that took no part in learning.",
        }.items()
    },
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
    st.dataframe(frame, hide_index=True, width="stretch", placeholder="", column_config=COLUMNS)
    for side, one in zip(sides, scores, strict=True):
        if isinstance(one, str):
            st.caption(f"{plain(side.name)} cannot be scored: {said(one)}")
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
        _wait(job)
    elif not complete or _unknown_errors(s, sides):
        if job is not None and job.error not in (None, "stopped"):
            st.error(said(job.error))
        with st.container(horizontal=True, vertical_alignment="center"):
            patience = _patience(s, sides)
            st.button(
                "Score them",
                on_click=_begin,
                args=(s, tuple(sides)),
                disabled=not patience.is_enough,
                key="score_pins",
            )
            st.caption(patience.words, width="content")
        st.caption(SCORES)


def _patience(s: Session, sides: Sequence[Side]) -> Patience:
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
    return patience_for(work, max(1, len(todo)), "pins")


def _begin(s: Session, sides: tuple[Side, ...]) -> None:
    memo, pairs = s.memo, _unknown_errors(s, sides)

    def work(report: Callable[[int, int], None]) -> None:
        todo = [side for side in sides if memo.known("scores", _score_key(side)) is None]
        total = len(todo) + len(pairs)
        for done, side in enumerate(todo):
            report(done, total)
            memo.keep("scores", _score_key(side), _scored(side, _still(report, done, total)))
        for done, (one, other) in enumerate(pairs, start=len(todo)):
            report(done, total)
            error = structure_error(one, other)
            memo.keep("structure error", _error_key(one, other), error)
        report(total, total)

    key: Hashable = tuple(_score_key(side) for side in sides)
    s.jobs.again(KIND, key, work)


def _still(report: Callable[[int, int], None], done: int, total: int) -> Callable[[int, int], None]:
    """A callback for a fit, so that it can be cancelled in the middle."""
    return lambda *_: report(done, total)


def _scored(side: Side, progress: Callable[[int, int], None]) -> ComparedScores | str:
    obs = side.source.observations
    if obs is None:
        return "distances alone have no rows to explain."
    try:
        return compared_scores(
            side.graph,
            obs,
            side.source.distances,
            side.recipe.settings,
            regularize=side.recipe.regularize == "bic",
            progress=progress,
        )
    except Cancelled:
        raise
    except (ArithmeticError, MemoryError) as error:
        return f"{type(error).__name__} while fitting."


@st.fragment(run_every=0.5)
def _wait(job: Job) -> None:
    if job.finished.is_set():
        st.rerun()
    left, right = st.columns([6, 1], vertical_alignment="center")
    share = min(1.0, job.done / job.total) if job.total else 0.0
    left.progress(share, progress_line("Scoring", job, job.began))
    right.button("Cancel", on_click=job.cancelled.set, key="cancel_compare")


def _errors(s: Session, sides: Sequence[Side]) -> None:
    """The structure error of every two settings on the same columns."""
    known = [
        [known_error(s, one.graph, other.graph) for other in sides] for one in sides
    ]  # fmt: skip
    names = [side.name for side in sides]
    cells = [
        [
            "" if i == j else "?" if error is None else error_words(error)
            for j, error in enumerate(row)
        ]
        for i, row in enumerate(known)
    ]
    frame = pd.DataFrame(cells, columns=names)
    frame.insert(0, free_name("structure error between", names), names)
    st.dataframe(frame, hide_index=True, width="stretch")
    st.caption(ERROR)


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

    rows = [
        (
            labels[p + k],
            IN[int(state)],
            near(0, p + k),
            near(1, p + k),
            float(laid.cosines[k].min()) if state == BOTH else None,
        )
        for k, state in enumerate(difference.hidden)
    ]
    columns = ["hidden node", "in", "next to, left", "next to, right", "alike (cosine)"]
    return pd.DataFrame(rows, columns=columns)


def _error_key(left: LatentGraph, right: LatentGraph) -> Hashable:
    return tuple(sorted((left.digest, right.digest)))


def _score_key(side: Side) -> ComparedKey:
    data = digest_or_none(side.source.observations)
    return ComparedKey(data, side.graph.digest, side.recipe.settings)
