"""The table of scores: choice of models and held-out rows, results as they arrive."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import pandas as pd
import streamlit as st

from loopylatent.analysis.evaluation.coherence import coherence, pairs_in_rows
from loopylatent.analysis.evaluation.contest import (
    LDA_TOPICS,
    REFINED,
    Contestant,
    Entry,
    Evaluation,
    Kind,
    NotEvaluated,
    best_of,
    contestants,
    iter_evaluations,
    split_by_column,
    split_by_share,
)
from loopylatent.analysis.sweep.scores import TEST_SHARE, Split
from loopylatent.compute.cache import ResultCache
from loopylatent.compute.limits import estimate, rerun
from loopylatent.compute.values import Progress
from loopylatent.errors import LoopyLatentError, ThresholdError
from loopylatent.exporting.project.file import Recipe
from loopylatent.learning.initial_graph import loop_radius
from loopylatent.settings import Method, Thresholds
from loopylatent.tables.files import table_to_csv
from loopylatent.tables.observations import Observations
from loopylatent.ui.page import Present, file_stem
from loopylatent.ui.shell.background import Key
from loopylatent.ui.shell.results import EvaluationKey, SplitKey
from loopylatent.ui.shell.session import Session, session
from loopylatent.ui.shell.widgets import (
    HEAD,
    ROW,
    escaped,
    job_bar,
    progress_line,
    remembered,
    save_button,
    start_button,
    table,
    text_of,
    texts,
    time_needed,
    viewed,
    words as shared,
)

KEY = "loopylatent evaluate"
JOB = "evaluate"
MOST_RADII = 20


@dataclass(frozen=True, slots=True)
class Choice:
    """Models to score, and the held-out rows."""

    column: str | None = None
    """The label column that splits the rows; None for a random split."""
    test: str = "test"
    share: float = TEST_SHARE
    seed: int = 0
    radii: tuple[float, ...] = ()
    methods: tuple[Method, ...] = ("quartet",)
    kinds: tuple[Kind, ...] = ("independent", "tree", "local trees", "latent")
    n_topics: tuple[int, ...] = ()
    belief: bool = False

    def contestants(self, recipe: Recipe) -> tuple[Contestant, ...]:
        """Return the models of the table, with the current Λ, τ and visiting order."""
        here = recipe.settings
        settings = [
            replace(here, thresholds=replace(here.thresholds, r=r), method=method)
            for method in self.methods
            for r in self.radii
        ]
        return contestants(settings, kinds=self.kinds, n_topics=self.n_topics)

    def split_key(self, obs: Observations, metric: str) -> SplitKey:
        """Return the key of the split."""
        how = (self.seed, self.column, self.test, self.share)
        return SplitKey.of(obs.digest, metric, *how)


@dataclass(slots=True)
class Scoreboard:
    """The scores of one session."""

    known: ResultCache = field(default_factory=ResultCache)
    choice: Choice | None = None


def scoreboard() -> Scoreboard:
    """Return the scores of this browser tab."""
    return remembered(KEY, lambda: Scoreboard(session().scored))


def entries_of(
    board: Scoreboard, split: SplitKey, chosen: Sequence[Contestant], belief: bool
) -> list[Entry]:
    """Return the known scores, in the order of the models."""
    found = [board.known.get(EvaluationKey.of(split, one, belief)) for one in chosen]
    return [one for one in found if one is not None]


@dataclass(frozen=True, slots=True)
class ScoringKey(Key):
    """A job that scores several models."""

    split: SplitKey
    contestants: tuple[Contestant, ...]
    belief: bool


def begin_scores(s: Session, board: Scoreboard, obs: Observations, choice: Choice) -> None:
    """Start scoring the models without known scores."""
    recipe, last = s.recipe, s.split
    key = choice.split_key(obs, recipe.metric)
    chosen = choice.contestants(recipe)
    missing = [
        one for one in chosen if board.known.get(EvaluationKey.of(key, one, choice.belief)) is None
    ]

    def work(report: Progress) -> int:
        report(0, len(missing))
        split = split_of(last, obs, recipe, choice)
        found = iter_evaluations(split, missing, belief=choice.belief, progress=report)
        for place, entry in found:
            board.known.put(EvaluationKey.of(key, missing[place], choice.belief), entry)
        return len(missing)

    s.jobs.again(JOB, ScoringKey(key, chosen, choice.belief), work)


def split_of(last: ResultCache, obs: Observations, recipe: Recipe, choice: Choice) -> Split:
    """Return the chosen split of the rows; only the last one is stored."""
    key = choice.split_key(obs, recipe.metric)
    found: Split | None = last.get(key)
    if found is None:
        metric, seed = recipe.metric, choice.seed
        if choice.column is None:
            found = split_by_share(obs, metric, choice.share, seed)
        else:
            found = split_by_column(obs, choice.column, choice.test, metric, seed)
        last.put(key, found)
    return found


def read_radii(text: str) -> tuple[float, ...]:
    """Parse radii separated by commas, semicolons or spaces."""
    found = []
    for part in text.replace(",", " ").replace(";", " ").split():
        try:
            number = float(part)
        except ValueError:
            raise ThresholdError(
                f"{part!r} is not a radius. Enter numbers separated by commas, such as 9, 7, 5."
            ) from None
        found.append(Thresholds(number, 0.0, 0.0).r)
    if not found:
        raise ThresholdError("Enter at least one radius r, such as 9, 7, 5.")
    if len(found) > MOST_RADII:
        raise ThresholdError(f"{len(found)} radii are too many. Enter at most {MOST_RADII}.")
    return tuple(dict.fromkeys(found))


AT_RANDOM = "at random"
MOST_VALUES = 12
"""A label column with more distinct values is not offered for the split."""
words = texts("evaluate")
SCORES = {
    "perp_ll": "Perp-LL",
    "perp_bic": "Perp-BIC",
    "pred_perp_ll": "Pred-Perp-LL",
    "pred_perp_bic": "Pred-Perp-BIC",
}

BEST = "background-color: rgba(0, 158, 115, 0.24)"


def show_scores(s: Session, now: Present, board: Scoreboard) -> None:
    """Draw the choice, the progress and the table."""
    obs = now.source.observations
    if obs is None:
        st.info(words.no_rows, icon=":material/info:")
        return
    chosen = obs.select(list(now.result.graph.names))
    choice = _choose(s, now, board, chosen)
    if choice is None:
        return
    busy = s.jobs.running(JOB) is not None

    @st.fragment(run_every=0.8 if busy else None)
    def following() -> None:
        job = s.jobs.running(JOB)
        if (job is not None) != busy:
            st.rerun()
        if job is not None:
            line = progress_line("Models", job)
            job_bar(job, line, "score_cancel", columns=(7, 1), width="stretch")
        _table(s, board, chosen, choice)

    following()


def _stored(s: Session, name: str, default: Any, options: Collection[Any] | None = None) -> Any:
    """Bind the widget of a choice to its stored value."""
    return viewed(s, f"score_{name}", default, options, f"score {name}")


def _choose(s: Session, now: Present, board: Scoreboard, obs: Observations) -> Choice | None:
    with st.container(key="score_choice"):
        rows, models, more = st.columns([1, 1.25, 1.25], gap="medium")
    with rows:
        choice = _choose_rows(s, obs)
    with models:
        default = list(Choice().kinds)
        kinds = st.pills(
            "Models",
            list(words.kinds),
            format_func=words.kinds.get,
            selection_mode="multi",
            help=words.about_kinds,
            wrap=True,
            **_stored(s, "kinds", default),
        )
        chosen = tuple(kind for kind in words.kinds if kind in kinds)
        choice = replace(choice, kinds=chosen, n_topics=_choose_lda(s, obs))
    with more:
        try:
            choice = replace(choice, radii=_choose_radii(s, now), methods=_choose_methods(s))
        except LoopyLatentError as error:
            st.error(text_of(error))
            return None
        if not all(kind in ("ordinal", "continuous") for kind in obs.kinds):
            tied = _stored(s, "belief", False)
            belief = st.toggle("Add the paper's estimate", help=words.belief, **tied)
            choice = replace(choice, belief=belief)
    board.choice = choice
    chosen = choice.contestants(s.recipe)
    n, n_refined = len(chosen), sum(one.kind in REFINED for one in chosen)
    work = rerun(obs.n_rows, obs.n_columns, n, fit=True)
    work += estimate("refine", obs.n_rows, obs.n_columns) * n_refined
    needed = time_needed(work, n, "models")
    with st.container(horizontal=True, vertical_alignment="center"):
        start_button(
            f"Score {n} model{'s' * (n != 1)}", needed, begin_scores, s, board, obs, choice,
            type="primary", disabled=n == 0, key="score_begin",
        )  # fmt: skip
        st.caption("Definitions:", width="content")
        with st.popover("Scores"):
            st.markdown(words.scores)
        if choice.n_topics:
            with st.popover("LDA"):
                st.markdown(words.lda)
    return choice


def _choose_rows(s: Session, obs: Observations) -> Choice:
    columns = [
        str(name)
        for name in obs.labels.columns
        if 2 <= obs.labels[name].nunique(dropna=True) <= MOST_VALUES
    ]
    default = next((name for name in columns if "split" in name.casefold()), AT_RANDOM)
    options = [AT_RANDOM, *columns]
    column = st.selectbox(
        "Held-out rows",
        options,
        format_func=lambda name: name if name == AT_RANDOM else f"by column {name}",
        **_stored(s, "split", default, options),
    )
    left, right = st.columns([1.5, 1])
    about = "For the held-out rows, and the predicted half of each."
    limits: dict[str, Any] = {"min_value": 0, "max_value": 10**9, "step": 1, "help": about}
    seed = right.number_input("Seed", **limits, **_stored(s, "seed", 0))
    if column != AT_RANDOM:
        values = sorted(obs.labels[column].dropna().astype(str).unique())
        default = "test" if "test" in values else values[-1]
        test = left.selectbox("Held-out value", values, **_stored(s, "test", default, values))
        return Choice(column=column, test=str(test), seed=int(seed))
    tied = _stored(s, "share", 30)
    share = left.slider("Held-out share", 10, 70, format="%d%%", **tied)
    return Choice(share=share / 100, seed=int(seed))


def _choose_lda(s: Session, obs: Observations) -> tuple[int, ...]:
    binary = all(kind == "binary" for kind in obs.kinds)
    if not binary or obs.has_missing or obs.weights is not None:
        st.caption("LDA needs binary columns without missing values; it is left out here.")
        return ()
    more = {"selection_mode": "multi", "help": words.lda, **_stored(s, "lda", [10])}
    return tuple(sorted(st.pills("LDA topics", LDA_TOPICS, **more)))


def _choose_radii(s: Session, now: Present) -> tuple[float, ...]:
    D = now.source.distances
    radii = {D.r_max, loop_radius(D), s.recipe.r}
    shown = sorted({round(float(value), 2) for value in radii if value >= D.smallest})
    default = ", ".join(f"{value:g}" for value in reversed(shown))
    text = st.text_input(
        "Radii r",
        help="Separated by commas. Λ, τ and the visiting order are those of the sidebar. From "
        f"r max on ({D.r_max:.2f} for all rows) the graph is a tree.",
        **viewed(s, "score_radii", default, name=f"score radii {D.digest}"),
    )
    return read_radii(str(text))


def _choose_methods(s: Session) -> tuple[Method, ...]:
    options = get_args(Method)
    tied = _stored(s, "methods", [s.recipe.method])
    found = st.multiselect("Grouping", options, format_func=shared.methods.get, **tied)
    return tuple(method for method in options if method in found)


def _table(s: Session, board: Scoreboard, obs: Observations, choice: Choice) -> None:
    job = s.jobs.current(JOB)
    if job is not None and job.finished.is_set() and job.error not in (None, "stopped"):
        st.error(text_of(job.error))
    key = choice.split_key(obs, s.recipe.metric)
    entries = entries_of(board, key, choice.contestants(s.recipe), choice.belief)
    for one in entries:
        if isinstance(one, NotEvaluated):
            kind = words.kinds.get(one.contestant.kind, "LDA")
            st.caption(f"Not scored: {kind}. {text_of(one.reason)}")
    rows = [one for one in entries if isinstance(one, Evaluation)]
    if not rows:
        if s.jobs.running(JOB) is None:
            st.caption("No scores yet for this choice.")
        return
    with st.spinner("Splitting the rows …"):
        split = split_of(s.split, obs, s.recipe, choice)
    frame = scores_frame(rows, _coherences(s, split, rows, key))
    st.markdown(best_line(frame))
    st.caption(
        f"Learned from {split.train.n_rows:,} rows, scored on {split.test.n_rows:,}. "
        "Shaded: best in its column. Click a header to sort."
    )
    if any(one.contestant.kind in REFINED for one in rows):
        st.caption(words.refined)
    height = HEAD + ROW * len(frame)
    table(_shaded(frame), height=height, placeholder="", column_config=_columns(frame))
    file = f"{file_stem(s)}-scores.csv"
    save_button("Save scores (CSV)", table_to_csv(frame), file, "file_scores")


def best_line(frame: pd.DataFrame) -> str:
    """Say which models are best, and in which scores.

    Examples
    --------
    >>> rows = {"model": ["latent tree", "tree"], "r": [7.18, None], "best": ["Perp-LL", ""]}
    >>> best_line(pd.DataFrame(rows))
    'Best (lowest): **latent tree** at r = 7.18 (Perp-LL).'
    """
    parts = []
    for row in frame[frame["best"] != ""].to_dict("records"):
        at = "" if pd.isna(row["r"]) else f" at r = {row['r']:.2f}"
        by = "all four scores" if row["best"] == ", ".join(SCORES.values()) else row["best"]
        parts.append(f"**{escaped(row['model'])}**{at} ({by})")
    return f"Best (lowest): {'; '.join(parts)}."


def _shaded(frame: pd.DataFrame) -> Any:
    """Return the table with the best of each score shaded, without the column ``best``."""
    best = frame["best"].str.split(", ")

    def shades(column: pd.Series[Any]) -> list[str]:
        return [BEST if column.name in names else "" for names in best]

    return frame.drop(columns="best").style.apply(shades)


def _coherences(
    s: Session, split: Split, rows: Sequence[Evaluation], key: SplitKey
) -> list[float] | None:
    """Return the mean PMI of each model's topics in the held-out rows, for binary columns."""
    if any(kind != "binary" for kind in split.test.kinds):
        return None
    pairs = s.memo.get("held-out pairs", key, lambda: pairs_in_rows(split.test))
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
    place = list(frame.columns).index("±")
    if any(one.belief is not None for one in rows):
        for at, name in enumerate(("perp_ll", "pred_perp_ll"), start=place):
            values = [one.belief and getattr(one.belief, name) for one in rows]
            frame.insert(at, f"paper's {SCORES[name]}", values)
    if pmi is not None:
        frame.insert(list(frame.columns).index("likelihood"), "PMI", list(pmi))
    if not frame["±"].notna().any():
        frame = frame.drop(columns="±")
    return frame.sort_values("Perp-LL", kind="stable").reset_index(drop=True)


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    formats = dict.fromkeys([*SCORES.values(), "paper's Perp-LL", "paper's Pred-Perp-LL"], "%.4f")
    formats |= {"±": "%.5f", "r": "%.2f", "PMI": "%.3f", "seconds": "%.1f"}
    found: dict[str, Any] = {"model": st.column_config.TextColumn(width=225, pinned=True)}
    for name in map(str, frame.columns.drop("model")):
        text = words.column_help.get(name)
        if name in formats:
            width = 75 if name == "±" else None
            number = st.column_config.NumberColumn(format=formats[name], help=text, width=width)
            found[name] = number
        elif text:
            found[name] = st.column_config.Column(help=text)
    return found
