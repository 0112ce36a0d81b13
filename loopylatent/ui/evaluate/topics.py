"""Hidden nodes as topics: cards, coherence, and details of one topic."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.analysis.evaluation.coherence import (
    Coherence,
    WordPairs,
    coherence,
    newspaper_pairs,
    pairs_in_rows,
    pairs_in_table,
)
from loopylatent.analysis.evaluation.topics import (
    SharedColumn,
    Topic,
    TopicWord,
    shared_columns,
    topics,
)
from loopylatent.errors import LoopyLatentError
from loopylatent.figures.layout import shown_line
from loopylatent.figures.network import THEMES
from loopylatent.graph import LatentGraph
from loopylatent.tables.files import free_name
from loopylatent.tables.observations import Observations
from loopylatent.ui.evaluate.scores import Choice, Scoreboard, split_of
from loopylatent.ui.page import Present, name_field
from loopylatent.ui.shell.background import Key
from loopylatent.ui.shell.results import frame_of
from loopylatent.ui.shell.session import Session, bound
from loopylatent.ui.shell.widgets import (
    HEAD,
    ROW,
    Fitted,
    begin_fit,
    escaped,
    fit_job,
    fit_time,
    fitted_of,
    start_button,
    style,
    table,
    text_of,
    texts,
    viewed,
    wait_for_fit,
    words as shared,
)

words = texts("evaluate")
TRAINING, HELD_OUT = "training rows", "held-out rows"
NEWSPAPER, UPLOADED = "the New York Times", "uploaded texts"
STRENGTH, COHERENCE, NUMBER = "strongest first", "most coherent first", "by number"
MOST_ROWS = 6
HEIGHT = 640
"""Of the cards and the panel, unless the style sheet sets another."""
FEWEST_SHARED = 10
"""Words in common with the newspaper table from which on it is offered."""


@dataclass(frozen=True, eq=False)
class GraphTopics:
    """The topics of the current graph, and its fit if there is one."""

    graph: LatentGraph
    labels: tuple[str, ...]
    topics: tuple[Topic, ...]
    shared: tuple[SharedColumn, ...]
    fitted: Fitted | None


@dataclass(frozen=True, slots=True)
class TopicsKey(Key):
    """The topics of a graph, with correlations if a model is fitted."""

    graph: str
    model: str | None


@dataclass(frozen=True, slots=True)
class WordPairsKey(Key):
    """Co-occurrence of words in some rows."""

    data: str
    title: str


def topics_of(s: Session, now: Present, labels: tuple[str, ...]) -> GraphTopics:
    """Return the topics, with correlations if the graph is fitted."""
    graph = now.result.graph
    fitted = fitted_of(s, now.source, graph)
    model = None if fitted is None else fitted.model
    key = TopicsKey(graph.digest, None if model is None else model.digest)
    found = s.memo.get("topics", key, lambda: topics(graph, model))
    shared = s.memo.get("shared columns", key, lambda: shared_columns(graph, found))
    return GraphTopics(graph, labels, found, shared, fitted)


def show_topics(s: Session, now: Present, found: GraphTopics, board: Scoreboard) -> None:
    """Draw the cards and the details of one topic."""
    if not found.topics:
        st.info(
            "There are no hidden nodes at these thresholds, so there are no topics. Try a smaller "
            "τ or Λ.",
            icon=":material/info:",
        )
        return
    pairs, obs = None, now.source.observations
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        _offer_fit(s, now, found)
        if obs is not None and all(kind == "binary" for kind in obs.kinds):
            pairs = _choose_corpus(s, now, board, obs)
        order = _choose_order(s, has_coherence=pairs is not None)
        st.markdown(_legend(found), width="stretch")
    _wait_for_fit(s, now, found)
    measured = None
    if pairs is not None:
        measured = coherence([topic.columns for topic in found.topics], pairs)
        line = coherence_line(measured, len(pairs.covered), len(pairs.names))
        st.markdown(line, help=words.pmi)
    shown = ordered(found, measured, order)
    with st.container(key="stage_row"):
        left, right = st.columns([2.7, 1], gap="small")
    with left, st.container(key="topic_cards", height=HEIGHT, border=False):
        _cards(s, found, measured, shown)
    with right, st.container(key="topic_panel", height=HEIGHT):
        _one_topic(s, now, found, measured, shown)


def _legend(found: GraphTopics) -> str:
    parts = [words.about_topics, words.before_fit if found.fitted is None else words.after_fit]
    if any(one.n_cycles for one in found.shared):
        parts.append(words.dotted)
    return f":small[{' '.join(parts)}]"


def _choose_corpus(
    s: Session, now: Present, board: Scoreboard, obs: Observations
) -> WordPairs | None:
    names = now.result.graph.names
    paper = s.memo.get("newspaper", "", newspaper_pairs)
    known = {name.casefold() for name in paper.covered}
    options = [TRAINING, HELD_OUT, UPLOADED]
    if sum(name.casefold() in known for name in names) >= FEWEST_SHARED:
        options.insert(2, NEWSPAPER)
    choice = st.selectbox(
        "Coherence in",
        options,
        format_func=lambda option: f"coherence in {option}",
        label_visibility="collapsed",
        width=260,
        **viewed(s, "corpus", NEWSPAPER if NEWSPAPER in options else HELD_OUT, options),
    )
    try:
        return _pairs(s, now, board, obs, choice)
    except LoopyLatentError as error:
        st.error(text_of(error))
        return None


def _pairs(
    s: Session, now: Present, board: Scoreboard, obs: Observations, choice: str
) -> WordPairs | None:
    names = now.result.graph.names
    if choice == NEWSPAPER:
        return newspaper_pairs().among(names)
    if choice == UPLOADED:
        return _uploaded(s, names)
    rows, title = obs, f"the {obs.n_rows:,} rows used for learning"
    if choice == HELD_OUT:
        rows = split_of(s.split, obs, s.recipe, board.choice or Choice()).test
        title = f"the {rows.n_rows:,} rows held out for the scores"
    found: WordPairs = s.memo.get(
        "word pairs", WordPairsKey(rows.digest, title), lambda: pairs_in_rows(rows, title)
    )
    return found.among(names)


def _uploaded(s: Session, names: tuple[str, ...]) -> WordPairs | None:
    with st.popover("Upload texts"):
        st.caption(
            "One row per text and one column per word (above 0: it occurs), or a square table of "
            "PMI with the words as row and column names."
        )
        file = st.file_uploader("Word table", type=["csv", "tsv", "xlsx"], key="uploaded_words")
    if file is not None:
        frame = frame_of(s.memo, file.getvalue(), file.name)
        s.view["uploaded words"] = pairs_in_table(frame, file.name, names)
    uploaded: WordPairs | None = s.view.get("uploaded words")
    return None if uploaded is None else uploaded.among(names)


def _choose_order(s: Session, *, has_coherence: bool) -> str:
    options = [STRENGTH, *([COHERENCE] if has_coherence else []), NUMBER]
    tied = viewed(s, "topic_order", STRENGTH, options, "topic order")
    return str(
        st.selectbox("Order of the cards", options, label_visibility="collapsed", width=180, **tied)
    )


def _offer_fit(s: Session, now: Present, found: GraphTopics) -> None:
    obs, job = now.source.observations, fit_job(s, now.source, found.graph)
    if found.fitted is not None or obs is None or (job and not job.finished.is_set()):
        return
    more = {"type": "primary", "help": shared.about_fit, "key": "evaluate_fit"}
    start_button("Fit model", fit_time(obs), begin_fit, s, obs, found.graph, **more)


def _wait_for_fit(s: Session, now: Present, found: GraphTopics) -> None:
    job = fit_job(s, now.source, found.graph)
    if job is None or found.fitted is not None:
        return
    if not job.finished.is_set():
        wait_for_fit(job)
    elif job.error is not None and job.error != "stopped":
        st.error(text_of(job.error))


def ordered(found: GraphTopics, measured: Coherence | None, order: str) -> list[Topic]:
    """Return the topics in the order of the cards."""

    def strength(topic: Topic) -> float:
        return -float(np.mean([abs(word.strength) for word in topic.words] or [0.0]))

    if order == NUMBER:
        return list(found.topics)
    if order == COHERENCE and measured is not None:
        value = {topic.node: _pmi(found, measured, topic.node) for topic in found.topics}
        return sorted(found.topics, key=lambda one: (math.isnan(value[one.node]), -value[one.node]))
    return sorted(found.topics, key=lambda topic: (strength(topic), topic.node))


def _cards(s: Session, found: GraphTopics, measured: Coherence | None, shown: list[Topic]) -> None:
    cards = []
    for topic in shown:
        pmi = _pmi(found, measured, topic.node)
        note = "" if math.isnan(pmi) else f"PMI {pmi:.2f}"
        chosen = topic.node == _chosen(s, shown)
        cards.append(Card(topic, found.labels[topic.node], note, chosen))
    loops = [one.column for one in found.shared if one.n_cycles]
    style("evaluate")
    st.html(cards_html(cards, found.graph.names, loops))


def _pmi(found: GraphTopics, measured: Coherence | None, node: int) -> float:
    """Return the coherence of a topic; NaN if it is not measured or covered."""
    return math.nan if measured is None else measured.by_topic[node - found.graph.n_observed]


def _chosen(s: Session, shown: list[Topic]) -> int:
    """Return the selected hidden node, else that of the first card."""
    nodes = [topic.node for topic in shown]
    return s.selected if s.selected in nodes else nodes[0]


def _one_topic(
    s: Session, now: Present, found: GraphTopics, measured: Coherence | None, shown: list[Topic]
) -> None:
    nodes = [topic.node for topic in found.topics]
    node = st.selectbox(
        "Topic",
        nodes,
        format_func=lambda node: found.labels[node],
        **bound("topic", _chosen(s, shown), s.select),
    )
    topic = found.topics[nodes.index(node)]
    name_field(s, now.result, node, found.labels[node])
    pmi = _pmi(found, measured, node)
    if measured is not None and not math.isnan(pmi):
        st.caption(f"PMI {pmi:.2f} in {escaped(measured.corpus)}")
    strength = "strength" if found.fitted is None else "correlation"
    frame = pd.DataFrame(
        {
            "column": [found.graph.names[word.column] for word in topic.words],
            strength: [word.strength for word in topic.words],
            "distance": [word.distance for word in topic.words],
        }
    )
    number = st.column_config.NumberColumn(format="%.2f", width="small")
    table(frame, HEAD + 10 * ROW, column_config=dict.fromkeys((strength, "distance"), number))
    obs, fitted = now.source.observations, found.fitted
    if fitted is None or obs is None:
        return
    level = fitted.level(node)
    most = "Rows that express it most, in standard deviations:"
    if fitted.model.kind != "gaussian":
        most = f"On in {float(np.mean(level > 0.5)):.0%} of the rows. Rows that express it most:"
    st.caption(most)
    order = fitted.model.extreme_rows(obs, node, MOST_ROWS).most
    rows = expressive_rows(obs, topic, order, level)
    st.dataframe(rows, width="stretch", height=HEAD + ROW * len(order))


def expressive_rows(
    obs: Observations, topic: Topic, rows: np.ndarray, level: np.ndarray
) -> pd.DataFrame:
    """Return the rows with their labels, their level, and their values in the topic's columns."""
    chosen = obs.take(rows)
    labels = chosen.labels.reset_index(drop=True)
    names = [obs.names[column] for column in topic.columns]
    level_name = free_name("level", (*labels.columns, *names))
    if all(kind == "binary" for kind in obs.kinds):
        values = chosen.dense()
        present = [
            ", ".join(obs.names[k] for k in topic.columns if values[row, k] == 1) or "none of them"
            for row in range(len(rows))
        ]
        shown = pd.DataFrame({level_name: level[rows], free_name("has", labels.columns): present})
    else:
        shown = chosen.to_frame()[names]
        shown.insert(0, level_name, level[rows])
    shown = pd.concat([labels, shown], axis=1)
    shown.index = pd.Index([int(row) + 1 for row in rows], name="row")
    return shown


# Cards -------------------------------------------------------------------------------------

NEGATIVE_WORD = ("#A84A00", "#F28C4A")
"""Of negatively correlated columns, in the light and in the dark theme."""
LARGEST, SMALLEST = 1.5, 0.74
"""Font sizes in rem, for the strongest word of a card and for strength 0."""
LONGEST = 40
"""Characters of a column name on a card; the tooltip has all of them."""


@dataclass(frozen=True, slots=True)
class Card:
    """The contents of one card."""

    topic: Topic
    label: str
    note: str
    is_chosen: bool


def cards_html(cards: Sequence[Card], names: Sequence[str], shared: Sequence[int]) -> str:
    """Return the HTML of all cards; CSS selects the colours of the theme, names are escaped."""
    light, dark = THEMES["light"], THEMES["dark"]
    style = (
        f"--topic-hidden: light-dark({light.hidden}, {dark.hidden}); "
        f"--topic-observed: light-dark({light.observed}, {dark.observed}); "
        f"--topic-negative: light-dark({NEGATIVE_WORD[0]}, {NEGATIVE_WORD[1]})"
    )
    marked = set(shared)
    found = "".join(_card(card, names, marked) for card in cards)
    return f'<div class="topic-cards" style="{style}">{found}</div>'


def _card(card: Card, names: Sequence[str], shared: set[int]) -> str:
    largest = max((abs(word.strength) for word in card.topic.words), default=1.0)
    text = "".join(_word(word, names[word.column], shared, largest) for word in card.topic.words)
    chosen = " chosen" if card.is_chosen else ""
    note = f"<span>{html.escape(card.note)}</span>" if card.note else ""
    return (
        f'<article class="topic-card{chosen}" data-node="{card.topic.node}"><header><i></i>'
        f"<b>{html.escape(shortened(card.label))}</b>{note}</header><p>{text}</p></article>"
    )


def _word(word: TopicWord, name: str, shared: set[int], largest: float) -> str:
    share = math.sqrt(abs(word.strength) / largest) if largest > 0 else 0.0
    size = SMALLEST + (LARGEST - SMALLEST) * share**2
    kinds = ["negative"] * (word.strength < 0) + ["shared"] * (word.column in shared)
    sign = "−" if word.strength < 0 else ""
    tip = html.escape(f"{name}: {word.strength:.2f}", quote=True)
    return (
        f'<span class="{" ".join(kinds)}" style="font-size:{size:.2f}rem" title="{tip}">'
        f"{sign}{html.escape(shortened(name))}</span>"
    )


def shortened(name: str) -> str:
    """Return a name shortened to fit on a card."""
    line = shown_line(name)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def coherence_line(found: Coherence, covered: int, n_columns: int) -> str:
    """Say the mean PMI, and how many pairs the corpus covers."""
    corpus = escaped(found.corpus)
    if math.isnan(found.mean):
        return f"No pair of these words occurs in {corpus}."
    if found.n_covered == found.n_pairs:
        return f"Mean PMI **{found.mean:.3f}** in {corpus}, over all {found.n_pairs:,} pairs."
    return (
        f"Mean PMI **{found.mean:.3f}** in {corpus}, over the {found.n_covered:,} of "
        f"{found.n_pairs:,} pairs that it covers ({covered} of {n_columns} columns); "
        f"**{found.with_zeros:.3f}** if the other pairs count as 0."
    )
