"""What a lesson says: sentences whose names and numbers stay apart from their words.

A caption is made of parts, so that a page can set names and numbers off, explain a term where the
pointer rests on it, and never read a column's name as markup.

Captions and pseudocode as HTML. Names are escaped: they are shown, never read as markup.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from string import Formatter
from typing import Any

from loopylatent.lesson.pseudocode import pseudocode
from loopylatent.settings import Method

GLOSSARY: Mapping[str, str] = {
    "column": "A variable of the table: something that was observed in every row.",
    "hidden": "A variable that nobody measured. It is put in because it explains why the columns "
    "around it go together.",
    "strength": "How strongly two columns go together, from 0 (independent) to 1 (one determines "
    "the other); e to the minus distance.",
    "distance": "−log of the strength: 0 when one column determines the other, 0.7 at a "
    "correlation of 0.5, 2.3 at 0.1, infinite when they are independent. Along a path of a tree "
    "distances add up.",
    "noise floor": "A distance beyond this cannot be told from independence with this many rows.",
    "ball": "B(v): the column v and all columns at distance r or less from it.",
    "local tree": "T(v): the shortest tree that connects the columns of a ball, the minimum "
    "spanning tree.",
    "union": "The graph that has every edge of every local tree. Trees of different balls need not "
    "agree, so it can have cycles.",
    "cycle": "A way along edges that comes back to where it began. Counted are independent ones: "
    "edges − nodes + pieces.",
    "leaf": "A node with one edge only.",
    "neighbourhood": "A: the visited node and all nodes next to it in the graph as it is now, "
    "hidden ones included.",
    "quartet": "Four nodes. They can be paired in three ways, and the pairing with the largest "
    "product of strengths puts the nodes that lie close together on one side.",
    "margin": "Λ: what is taken off the winning strengths and added to the others before they are "
    "compared. A quartet must win by that much to count.",
    "⊥": "No verdict: with the margin, no pairing wins.",
    "passing": "A hidden node that a later step contracts or removes again.",
    "siblings": "Two nodes that are put under one new hidden node, because no declared quartet "
    "separates them.",
    "contract": "A hidden node nearer than τ to a neighbour cannot be told from it: the two are "
    "made one.",
    "stuck": "Every pair that is left is separated by some declared quartet. A larger Λ leaves "
    "fewer verdicts, and fewer such visits.",
    "spread": "Two siblings differ by the same amount in their distances to every other node. The "
    "spread is how far these differences lie apart: the largest less the smallest. Small spreads "
    "make a family.",
    "family": "Nodes that are put under one parent, because their spreads are small.",
    "silhouette": "How well a split fits, at most 1: for each node, how much nearer its own family "
    "is than the next one. A split counts if the mean exceeds log 2 divided by the largest spread.",
    "parent": "A member is the parent of the others if its distance to each of them is what their "
    "differences to the other nodes say. It may miss by 0.21 for each of them; otherwise a new "
    "hidden node is the parent.",
    "stand-in": "The column at whose visit a hidden node was made. Its distances are measured, so "
    "they are used in the place of the node's own; afterwards the edges lose how far the two are "
    "apart.",
    "Q": "What neighbor joining compares: (nodes left − 2) times the distance of a pair, less the "
    "sums of the distances of both to all nodes left. The smallest Q marks two nodes that share a "
    "neighbour.",
    "limit": "Relaxed grouping contracts edges below −log 0.9 = 0.105, whatever τ is.",
    "structure error": "The number of entries in which the adjacency matrices of two graphs differ "
    "(two for every edge), with the hidden nodes matched as well as can be.",
}
MOST_NAMES = 6

_TERM = re.compile(r"\[([^\]]+)\]")


@dataclass(frozen=True, slots=True)
class Text:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class Term:
    """A word that the glossary explains."""

    text: str
    key: str

    @property
    def meaning(self) -> str:
        return GLOSSARY[self.key]


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a node; data, and so never read as markup."""

    text: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number of this step, and how it is written."""

    text: str
    value: float


Part = Text | Term | Name | Number


@dataclass(frozen=True, slots=True)
class Caption:
    """A sentence or two about one step."""

    parts: tuple[Part, ...]

    def __str__(self) -> str:
        return "".join(part.text for part in self.parts)

    def __add__(self, other: Caption) -> Caption:
        return Caption((*self.parts, Text(" "), *other.parts))

    @property
    def numbers(self) -> tuple[Number, ...]:
        return tuple(part for part in self.parts if isinstance(part, Number))


def say(template: str, **values: Any) -> Caption:
    """Fill a template: terms in brackets; in braces numbers, names, lists of them, captions.

    Examples
    --------
    >>> caption = say("The [ball] of {v} holds {k} columns.", v=Name("a"), k=3)
    >>> str(caption)
    'The ball of a holds 3 columns.'
    >>> caption.numbers
    (Number(text='3', value=3.0),)
    """
    parts: list[Part] = []
    for words, field, spec, _ in Formatter().parse(template):
        parts += _with_terms(words)
        if field is not None:
            parts += _shown(values[field], spec or "")
    return Caption(tuple(parts))


def _with_terms(words: str) -> list[Part]:
    parts: list[Part] = []
    for k, piece in enumerate(_TERM.split(words)):
        if k % 2:
            shown, _, key = piece.partition("|")
            parts.append(Term(shown, key or shown))
        elif piece:
            parts.append(Text(piece))
    return parts


def _shown(value: Any, spec: str) -> list[Part]:
    if isinstance(value, Name):
        return [value]
    if isinstance(value, Caption):
        return list(value.parts)
    if isinstance(value, str):
        return [Text(value)]
    if isinstance(value, Sequence):
        return _listed(value)
    return [Number(format(value, spec or ("," if isinstance(value, int) else "g")), float(value))]


def _listed(names: Sequence[Name]) -> list[Part]:
    """Write "a, b and c", or the first few and how many more there are."""
    shown = list(names) if len(names) <= MOST_NAMES else list(names[: MOST_NAMES - 1])
    more = len(names) - len(shown)
    parts: list[Part] = []
    for k, name in enumerate(shown):
        if k:
            last = k == len(shown) - 1 and not more
            parts.append(Text(" and " if last else ", "))
        parts.append(name)
    if more:
        parts += [Text(" and "), Number(str(more), more), Text(" more")]
    return parts


def joined(captions: Sequence[Caption], between: str = ", ") -> Caption:
    """Write captions one after the other.

    Examples
    --------
    >>> str(joined([say("one"), say("two")]))
    'one, two'
    """
    parts: list[Part] = []
    for k, caption in enumerate(captions):
        parts += [*([Text(between)] if k else []), *caption.parts]
    return Caption(tuple(parts))


def is_or_are(number: int) -> Caption:
    """Write "1 is" or "2 are"."""
    return say("{n} is" if number == 1 else "{n} are", n=number)


def counted(number: int, thing: str, things: str | None = None) -> Caption:
    """Write a number with its noun: 1 edge, 2 edges.

    Examples
    --------
    >>> str(counted(1, "edge")), str(counted(1200, "edge"))
    ('1 edge', '1,200 edges')
    """
    noun = thing if number == 1 else things or f"{thing}s"
    return Caption((Number(f"{number:,}", number), Text(f" {noun}")))


def caption_html(caption: Caption) -> str:
    """Set names and numbers off, and let terms carry their meaning.

    Examples
    --------
    >>> from loopylatent.lesson.words import say
    >>> caption_html(say("{v} has {k}.", v=Name("<i>"), k=2))
    '<b class="name">&lt;i&gt;</b> has <b class="number">2</b>.'
    """
    return "".join(_part_html(part) for part in caption.parts)


def _part_html(part: Part) -> str:
    text = escape(part.text)
    if isinstance(part, Name):
        return f'<b class="name">{text}</b>'
    if isinstance(part, Number):
        return f'<b class="number">{text}</b>'
    if isinstance(part, Term):
        return (
            f'<span class="term" tabindex="0" data-meaning="{escape(part.meaning)}">{text}</span>'
        )
    return text


def code_html(line: int, method: Method = "quartet") -> str:
    """Write the pseudocode with one line marked, counted from 1."""
    rows = [
        f'<li class="indent{code.indent}{" here" if number == line else ""}" '
        f'title="{escape(code.meaning)}"{current(number == line)}>{escape(code.text)}</li>'
        for number, code in enumerate(pseudocode(method), start=1)
    ]
    return f'<ol class="code">{"".join(rows)}</ol>'


def current(is_current: bool) -> str:
    """Mark the current line for readers that do not see it."""
    return ' aria-current="step"' if is_current else ""
