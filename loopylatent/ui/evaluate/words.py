"""What the Evaluate page says, and how it looks."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from loopylatent.analysis.evaluation.coherence import Coherence
from loopylatent.analysis.evaluation.topics import Topic, TopicWord
from loopylatent.figures.labels import shown_line
from loopylatent.figures.looks import THEMES
from loopylatent.ui.shell.messages import plain

ABOUT_TOPICS = "A card is a hidden node with its ten nearest columns along the graph."
BEFORE_FIT = "Larger: nearer to it."
AFTER_FIT = "Larger: more strongly correlated with it, as fitted; − runs against it."
DOTTED = "Dotted: in several topics, and on a cycle."
PMI = (
    "**Coherence** asks whether the words of a topic occur together in some body of text: the mean "
    "over its pairs of words of PMI = log P(both) / (P(one)·P(other)). 0 is chance, 1 means 2.7 "
    "times as often together as by chance. The rows learned from flatter every topic; rows kept "
    "apart less so; other texts say whether a topic means something beyond this table."
)
SHARED = (
    "Columns on a cycle that are among the ten nearest of several hidden nodes: here topics meet, "
    "and that makes the loops."
)
NOT_ON_CYCLES = "No column of several topics lies on a cycle; these are near several hidden nodes."
CYCLES = (
    "Each row is one of the shortest cycles that make up all others. Beside a hidden node stand "
    "the columns next to it."
)
NO_GROUPS = (
    "The columns have no known groups. Bring a table with the name of each column and its group "
    "(sector, scale, family) to see which groups the cycles join."
)
SCORES = (
    "Every model learns from one part of the rows and foretells the other. **Perp-LL** is how many "
    "values, on average, a model would have to guess among: 1 is certainty, 2 a coin toss (for "
    "numbers it is an inverse density of standard scores). **Pred-Perp-LL** is the same for half "
    "of the columns of each row, given the other half. **BIC** variants add a price for "
    "parameters (df). Lower is better."
)
LDA = (
    "**LDA** is latent Dirichlet allocation by scikit-learn. It becomes a distribution over rows "
    "of yes and no as follows: a row has topic shares and a length; each word is written a Poisson "
    "number of times, and only whether it occurs is seen; lengths follow a Gamma distribution with "
    "the mean and variance of the training rows. Its likelihood has no closed form and is "
    "estimated by drawing; ± is the standard error of that."
)
BELIEF = (
    "Adds the estimate that the paper reports, by loopy belief propagation. It is exact on trees; "
    "with cycles it can be too good or too bad. Slower."
)
NO_ROWS = "Distances alone do not say how rows look; open the table to score models."
KINDS = {
    "independent": "independent",
    "tree": "tree",
    "local trees": "local trees",
    "latent": "latent graphs",
    "regularised": "latent graphs by BIC",
}
ABOUT_KINDS = (
    "**Independent**: the columns know nothing of each other. **Tree**: the shortest tree, without "
    "hidden nodes (Chow–Liu, by correlation). **Local trees**: the union of the shortest trees of "
    "all balls, without hidden nodes, at each r. **Latent graphs**: what the method learns at each "
    "r. **By BIC**: hidden nodes only where they pay for their parameters; seconds to minutes each."
)
AGAINST = ("#A84A00", "#F28C4A")
"""Of columns that run against a topic, in the light and in the dark theme."""
STYLE = """
<style>
.topic-cards { display: grid; gap: 10px; padding: 2px;
  grid-template-columns: repeat(auto-fill, minmax(212px, 1fr)); }
.topic-card { border: 1px solid rgba(128, 128, 128, 0.3); border-radius: 10px;
  padding: 9px 12px 11px; min-width: 0; }
.topic-card.chosen { border-color: var(--topic-hidden); box-shadow: 0 0 0 1px var(--topic-hidden); }
.topic-card header { display: flex; align-items: baseline; gap: 7px; margin-bottom: 5px;
  font-size: 0.8rem; }
.topic-card header b { font-size: 0.92rem; overflow-wrap: anywhere; }
.topic-card header i { width: 9px; height: 9px; flex: none; transform: rotate(45deg);
  background: var(--topic-hidden); align-self: center; }
.topic-card header span { margin-left: auto; opacity: 0.72; white-space: nowrap;
  font-variant-numeric: tabular-nums; }
.topic-card p { margin: 0; line-height: 1.28; display: flex; flex-wrap: wrap;
  align-items: baseline; gap: 1px 9px; }
.topic-card p span { max-width: 100%; overflow-wrap: anywhere; color: var(--topic-observed);
  font-weight: 600; }
.topic-card p span.against { color: var(--topic-against); }
.topic-card p span.both { text-decoration: underline dotted; text-underline-offset: 3px; }
:is(.st-key-topic_cards, .st-key-topic_panel,
  [data-testid="stLayoutWrapper"]:has(> :is(.st-key-topic_cards, .st-key-topic_panel))) {
  height: clamp(380px, calc(100vh - 270px), 900px) !important; flex-basis: auto !important; }
.st-key-topic_panel .stVerticalBlock { gap: 0.5rem; }
.st-key-score_choice .stVerticalBlock { gap: 0.5rem; }
@media (max-width: 1200px) {
  :is(.st-key-topic_panel, [data-testid="stLayoutWrapper"]:has(> .st-key-topic_panel)) {
    height: auto !important; }
}
</style>
"""
LARGEST, SMALLEST = 1.5, 0.74
"""Sizes of words, in rem, at correlation 1 and 0."""
LONGEST = 40
"""Letters of a column name on a card; the rest is in the tooltip."""


@dataclass(frozen=True, slots=True)
class Card:
    """What one card shows."""

    topic: Topic
    label: str
    note: str
    is_chosen: bool


def cards_html(cards: Sequence[Card], names: Sequence[str], shared: Sequence[int]) -> str:
    """Return all cards, which follow the theme by themselves; names are data and are escaped."""
    light, dark = THEMES["light"], THEMES["dark"]
    style = (
        f"--topic-hidden: light-dark({light.hidden}, {dark.hidden}); "
        f"--topic-observed: light-dark({light.observed}, {dark.observed}); "
        f"--topic-against: light-dark({AGAINST[0]}, {AGAINST[1]})"
    )
    marked = set(shared)
    found = "".join(_card(card, names, marked) for card in cards)
    return f'<div class="topic-cards" style="{style}">{found}</div>'


def _card(card: Card, names: Sequence[str], shared: set[int]) -> str:
    largest = max((abs(word.strength) for word in card.topic.words), default=1.0)
    words = "".join(_word(word, names[word.column], shared, largest) for word in card.topic.words)
    chosen = " chosen" if card.is_chosen else ""
    note = f"<span>{html.escape(card.note)}</span>" if card.note else ""
    return (
        f'<article class="topic-card{chosen}" data-node="{card.topic.node}"><header><i></i>'
        f"<b>{html.escape(shortened(card.label))}</b>{note}</header><p>{words}</p></article>"
    )


def _word(word: TopicWord, name: str, shared: set[int], largest: float) -> str:
    share = math.sqrt(abs(word.strength) / largest) if largest > 0 else 0.0
    size = SMALLEST + (LARGEST - SMALLEST) * share**2
    kinds = ["against"] * (word.strength < 0) + ["both"] * (word.column in shared)
    sign = "−" if word.strength < 0 else ""
    tip = html.escape(f"{name}: {word.strength:.2f}", quote=True)
    return (
        f'<span class="{" ".join(kinds)}" style="font-size:{size:.2f}rem" title="{tip}">'
        f"{sign}{html.escape(shortened(name))}</span>"
    )


def shortened(name: str) -> str:
    """Return a name that fits on a card.

    Examples
    --------
    >>> shortened("x" * 50) == "x" * 39 + "…"
    True
    """
    line = shown_line(name)
    return line if len(line) <= LONGEST else line[: LONGEST - 1] + "…"


def coherence_line(found: Coherence, covered: int, n_columns: int) -> str:
    """Say the mean PMI, and of which pairs the corpus says nothing.

    Examples
    --------
    >>> from loopylatent.coherence import Coherence
    >>> coherence_line(Coherence(0.5, 0.25, (0.5,), 90, 45, "some texts"), 7, 10)
    'Mean PMI **0.500** in some texts, over the 45 of 90 pairs that it covers (7 of 10 columns); \
**0.250** if the other pairs count as 0.'
    """
    corpus = plain(found.corpus)
    if math.isnan(found.mean):
        return f"No pair of these words occurs in {corpus}."
    if found.n_covered == found.n_pairs:
        return f"Mean PMI **{found.mean:.3f}** in {corpus}, over all {found.n_pairs:,} pairs."
    return (
        f"Mean PMI **{found.mean:.3f}** in {corpus}, over the {found.n_covered:,} of "
        f"{found.n_pairs:,} pairs that it covers ({covered} of {n_columns} columns); "
        f"**{found.with_zeros:.3f}** if the other pairs count as 0."
    )


def group_words(groups: Sequence[tuple[str, int]]) -> str:
    """Return groups with their counts in one line."""
    return ", ".join(f"{name} ({count})" if count > 1 else name for name, count in groups)


COLUMN_HELP: Mapping[str, str] = {
    "hidden": "hidden nodes of a graph, or topics of LDA",
    "df": "free parameters: nodes and edges of a graph, columns × topics − 1 of LDA",
    "Perp-LL": "exp(−log-likelihood / number of values), on the rows kept apart; lower is better",
    "Perp-BIC": "the same with a price for parameters, ½·df·log(rows)",
    "Pred-Perp-LL": "the same for half of the columns of each row, given the other half",
    "Pred-Perp-BIC": "that with the price for parameters",
    "likelihood": "exact; by belief propagation (an approximation); or estimated by sampling",
    "±": "standard error of Perp-LL from the draws alone, where it is estimated by drawing",
    "paper's Perp-LL": "the paper's own estimate, by belief propagation, of the same model",
    "paper's Pred-Perp-LL": "its estimate of the predictive score",
    "PMI": "mean PMI of the ten first words of each topic, in the rows kept apart",
    "best": "in which columns this is the lowest",
}
