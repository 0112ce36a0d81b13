"""The table of scores: which models, on which rows; rows arrive while one watches."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, get_args

import pandas as pd
import streamlit as st

from loopylatent.analysis.evaluation.coherence import coherence, pairs_in_rows
from loopylatent.analysis.evaluation.contest import (
    LDA_TOPICS,
    Entry,
    Evaluation,
    Kind,
    NotEvaluated,
    best_of,
)
from loopylatent.analysis.sweep.scores import Split
from loopylatent.compute.limits import rerun
from loopylatent.errors import LoopyLatentError
from loopylatent.learning.thresholds import loop_radius
from loopylatent.settings import Method
from loopylatent.tables.observations import Observations
from loopylatent.tables.spreadsheet import table_to_csv
from loopylatent.ui.evaluate import words
from loopylatent.ui.evaluate.state import (
    JOB,
    Choice,
    Scoreboard,
    begin_scores,
    entries_of,
    read_radii,
    running_job,
    split_of,
)
from loopylatent.ui.page import Present, file_stem
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.messages import patience_for, plain, progress_line, said
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.words import METHODS

AT_RANDOM = "at random"
MOST_VALUES = 12
"""A label column with more different values is not offered for the split."""
SCORES = {
    "perp_ll": "Perp-LL",
    "perp_bic": "Perp-BIC",
    "pred_perp_ll": "Pred-Perp-LL",
    "pred_perp_bic": "Pred-Perp-BIC",
}

BEST = "background-color: rgba(0, 158, 115, 0.24)"


def show_scores(s: Session, now: Present, board: Scoreboard) -> None:
    """The choice on top, under it progress and the table."""
    obs = now.source.observations
    if obs is None:
        st.info(words.NO_ROWS, icon=":material/info:")
        return
    chosen = obs.select(list(now.result.graph.names))
    choice = _choose(s, now, board, chosen)
    if choice is None:
        return
    busy = running_job(s) is not None

    @st.fragment(run_every=0.8 if busy else None)
    def table() -> None:
        job = running_job(s)
        if (job is not None) != busy:
            st.rerun()
        if job is not None:
            _progress(job)
        _table(s, board, chosen, choice)

    table()


def _remember(s: Session, name: str) -> Any:
    def report(value: Any) -> None:
        s.view[name] = value

    return report


def _choose(s: Session, now: Present, board: Scoreboard, obs: Observations) -> Choice | None:
    with st.container(key="score_choice"):
        rows, models, more = st.columns([1, 1.25, 1.25], gap="medium")
    with rows:
        choice = _choose_rows(s, obs)
    with models:
        choice = replace(choice, kinds=_choose_kinds(s), n_topics=_choose_lda(s, obs))
    with more:
        try:
            choice = replace(choice, radii=_choose_radii(s, now), methods=_choose_methods(s))
        except LoopyLatentError as error:
            st.error(said(error))
            return None
        if not all(kind in ("ordinal", "continuous") for kind in obs.kinds):
            choice = replace(choice, belief=_choose_belief(s))
    board.choice = choice
    n = len(choice.contestants(s.recipe))
    patience = patience_for(rerun(obs.n_rows, obs.n_columns, n, fit=True), n, "models")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            f"Score {n} model{'s' * (n != 1)}",
            type="primary",
            on_click=begin_scores,
            args=(s, board, obs, choice),
            disabled=n == 0 or not patience.is_enough,
            key="score_begin",
        )
        st.caption(patience.words, width="content")
        st.caption("What it all means:", width="content")
        with st.popover("The scores"):
            st.markdown(words.SCORES)
        if choice.n_topics:
            with st.popover("LDA"):
                st.markdown(words.LDA)
    return choice


def _choose_rows(s: Session, obs: Observations) -> Choice:
    columns = [
        str(name)
        for name in obs.labels.columns
        if 2 <= obs.labels[name].nunique(dropna=True) <= MOST_VALUES
    ]
    default = next((name for name in columns if "split" in name.casefold()), AT_RANDOM)
    here = s.view.get("score split", default)
    column = st.selectbox(
        "Rows kept apart",
        [AT_RANDOM, *columns],
        format_func=lambda name: name if name == AT_RANDOM else f"by the column {name}",
        **bound(
            "score_split", here if here in (AT_RANDOM, *columns) else default,
            _remember(s, "score split"),
        ),
    )  # fmt: skip
    left, right = st.columns([1.5, 1])
    seed = right.number_input(
        "Seed",
        min_value=0,
        max_value=10**9,
        step=1,
        help="Of the rows kept apart, and of the half of each that is foretold.",
        **bound("score_seed", s.view.get("score seed", 0), _remember(s, "score seed")),
    )
    if column != AT_RANDOM:
        values = sorted(obs.labels[column].dropna().astype(str).unique())
        kept = s.view.get("score test", "test")
        test = left.selectbox(
            "Keep apart",
            values,
            **bound(
                "score_test", kept if kept in values else values[-1], _remember(s, "score test")
            ),
        )
        return Choice(column=column, test=str(test), seed=int(seed))
    share = left.slider(
        "Share of the rows",
        10,
        70,
        format="%d%%",
        **bound("score_share", s.view.get("score share", 30), _remember(s, "score share")),
    )
    return Choice(share=share / 100, seed=int(seed))


def _choose_kinds(s: Session) -> tuple[Kind, ...]:
    default = list(Choice().kinds)
    found = st.pills(
        "Models",
        list(words.KINDS),
        format_func=lambda kind: words.KINDS[kind],
        selection_mode="multi",
        help=words.ABOUT_KINDS,
        wrap=True,
        **bound("score_kinds", s.view.get("score kinds", default), _remember(s, "score kinds")),
    )
    return tuple(kind for kind in words.KINDS if kind in found)  # type: ignore[misc]


def _choose_lda(s: Session, obs: Observations) -> tuple[int, ...]:
    possible = (
        all(kind == "binary" for kind in obs.kinds) and not obs.has_missing and obs.weights is None
    )
    if not possible:
        st.caption("LDA is for columns of yes and no without gaps; it is left out here.")
        return ()
    found = st.pills(
        "LDA, topics",
        LDA_TOPICS,
        selection_mode="multi",
        help=words.LDA,
        **bound("score_lda", s.view.get("score lda", [10]), _remember(s, "score lda")),
    )
    return tuple(sorted(found))


def suggested_radii(now: Present, r: float) -> str:
    """Return the largest radius, the present one, and the one from which on loops appear."""
    D = now.source.distances
    wanted = {D.r_max, loop_radius(D), r}
    shown = sorted({round(float(value), 2) for value in wanted if value >= D.smallest})
    return ", ".join(f"{value:g}" for value in reversed(shown))


def _choose_radii(s: Session, now: Present) -> tuple[float, ...]:
    D = now.source.distances
    mark = f"score radii {D.digest}"
    text = st.text_input(
        "Radii r of the graphs",
        help="Numbers with commas between. Λ, τ and the order of visits are those of the sidebar; "
        f"r max of all rows is {D.r_max:.2f}: from there on the graph is a tree.",
        **bound(
            "score_radii",
            s.view.get(mark, suggested_radii(now, s.recipe.r)),
            _remember(s, mark),
        ),
    )
    return read_radii(str(text))


def _choose_methods(s: Session) -> tuple[Method, ...]:
    options = get_args(Method)
    found = st.multiselect(
        "Grouping",
        options,
        format_func=lambda method: METHODS[method],
        **bound(
            "score_methods",
            s.view.get("score methods", [s.recipe.method]),
            _remember(s, "score methods"),
        ),
    )
    return tuple(method for method in options if method in found)


def _choose_belief(s: Session) -> bool:
    return st.toggle(
        "Also the paper's own estimate",
        help=words.BELIEF,
        **bound("score_belief", s.view.get("score belief", False), _remember(s, "score belief")),
    )


def _progress(job: Job) -> None:
    left, right = st.columns([7, 1], vertical_alignment="center")
    share = min(1.0, job.done / job.total) if job.total else 0.0
    left.progress(share, progress_line("Models", job, job.began))
    right.button("Cancel", on_click=job.cancelled.set, key="score_cancel", width="stretch")


def _table(s: Session, board: Scoreboard, obs: Observations, choice: Choice) -> None:
    job = s.jobs.current(JOB)
    if job is not None and job.finished.is_set() and job.error not in (None, "stopped"):
        st.error(said(job.error))
    key = choice.split_key(obs, s.recipe.metric)
    entries = entries_of(board, key, choice.contestants(s.recipe), choice.belief)
    for one in entries:
        if isinstance(one, NotEvaluated):
            st.caption(f"Not scored: {plain(one.contestant.kind)}, {said(one.reason)}")
    rows = [one for one in entries if isinstance(one, Evaluation)]
    if not rows:
        if running_job(s) is None:
            st.caption("No scores yet for this choice.")
        return
    with st.spinner("Splitting the rows as they were …"):
        split = split_of(s.split, obs, s.recipe, choice)
    frame = scores_frame(rows, _coherences(s, split, rows, key))
    st.markdown(best_line(frame))
    st.caption(
        f"Learned from {split.train.n_rows:,} rows, scored on {split.test.n_rows:,}. "
        "Shaded: the best of a column. Click a head to sort."
    )
    st.dataframe(
        _shaded(frame),
        hide_index=True,
        width="stretch",
        height=37 + 35 * len(frame),
        placeholder="",
        column_config=_columns(frame),
    )
    st.download_button(
        "The scores (CSV)",
        data=table_to_csv(frame),
        file_name=f"{file_stem(s)}-scores.csv",
        mime="text/csv",
        on_click="ignore",
        key="file_scores",
    )


def best_line(frame: pd.DataFrame) -> str:
    """Say which models are best, and by which of the scores.

    Examples
    --------
    >>> rows = {"model": ["latent tree", "tree"], "r": [7.18, None], "best": ["Perp-LL", ""]}
    >>> best_line(pd.DataFrame(rows))
    'Lowest, and so best: **latent tree** at r = 7.18 (Perp-LL).'
    """
    told = []
    for row in frame[frame["best"] != ""].to_dict("records"):
        at = "" if pd.isna(row["r"]) else f" at r = {row['r']:.2f}"
        by = "by all four scores" if row["best"] == ", ".join(SCORES.values()) else row["best"]
        told.append(f"**{plain(row['model'])}**{at} ({by})")
    return f"Lowest, and so best: {'; '.join(told)}."


def _shaded(frame: pd.DataFrame) -> Any:
    """The table with the best of each score shaded, in the place of a column that names them."""
    best = frame["best"].str.split(", ")

    def shades(column: pd.Series[Any]) -> list[str]:
        return [BEST if column.name in names else "" for names in best]

    return frame.drop(columns="best").style.apply(shades)


def _coherences(
    s: Session, split: Split, rows: Sequence[Evaluation], key: Hashable
) -> list[float] | None:
    """The mean PMI of each model's topics in the rows kept apart, for words."""
    if any(kind != "binary" for kind in split.test.kinds):
        return None
    pairs = s.memo.get("held pairs", key, lambda: pairs_in_rows(split.test))
    return [coherence(one.top_columns, pairs).mean if one.top_columns else math.nan for one in rows]


def scores_frame(rows: Sequence[Evaluation], pmi: Sequence[float] | None = None) -> pd.DataFrame:
    """Return the table of scores, lowest Perp-LL first."""
    best: dict[int, list[str]] = {}
    for name, place in best_of(rows).items():
        best.setdefault(place, []).append(SCORES[name])
    frame = pd.DataFrame(
        {
            "model": [one.title for one in rows],
            "r": [one.contestant.r for one in rows],
            "hidden": [one.n_hidden for one in rows],
            "edges": [None if one.contestant.kind == "lda" else one.n_edges for one in rows],
            "cycles": [None if one.contestant.kind == "lda" else one.n_cycles for one in rows],
            "df": [one.df for one in rows],
            **{title: [getattr(one, name) for one in rows] for name, title in SCORES.items()},
            "±": [one.perp_error or math.nan for one in rows],
            "likelihood": [one.method for one in rows],
            "best": [", ".join(best.get(k, [])) for k in range(len(rows))],
            "seconds": [one.seconds for one in rows],
        }
    )
    if any(one.belief is not None for one in rows):
        values = [(one.belief.perp_ll, one.belief.pred_perp_ll) if one.belief else (None, None)
                  for one in rows]  # fmt: skip
        place = list(frame.columns).index("±")
        frame.insert(place, "paper's Pred-Perp-LL", [pred for _, pred in values])
        frame.insert(place, "paper's Perp-LL", [perp for perp, _ in values])
    if pmi is not None:
        place = list(frame.columns).index("likelihood")
        frame.insert(place, "PMI", list(pmi))
    if not frame["±"].notna().any():
        frame = frame.drop(columns="±")
    return frame.sort_values("Perp-LL", kind="stable").reset_index(drop=True)


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    formats = dict.fromkeys([*SCORES.values(), "paper's Perp-LL", "paper's Pred-Perp-LL"], "%.4f")
    formats |= {"±": "%.5f", "r": "%.2f", "PMI": "%.3f", "seconds": "%.1f"}
    found: dict[str, Any] = {"model": st.column_config.TextColumn(width=225, pinned=True)}
    for name in frame.columns:
        text = words.COLUMN_HELP.get(str(name))
        if name in formats:
            width = 75 if name == "±" else None
            found[str(name)] = st.column_config.NumberColumn(
                format=formats[str(name)], help=text, width=width
            )
        elif name != "model" and text:
            found[str(name)] = st.column_config.Column(help=text)
    return found


__all__ = ["Entry", "scores_frame", "show_scores", "suggested_radii"]
