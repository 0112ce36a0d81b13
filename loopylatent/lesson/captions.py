"""What a lesson says: sentences whose names and numbers stay apart from their words.

A caption is made of parts, so that a page can set names and numbers off, explain a term where the
pointer rests on it, and never read a column's name as markup. What does not depend on the data,
the glossary and the pseudocode (Algorithms 1 to 3), lies in ``words.toml``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from string import Formatter
from typing import Any

from loopylatent.settings import Method

WORDS = tomllib.loads((files("loopylatent.lesson") / "words.toml").read_text(encoding="utf-8"))
GLOSSARY: Mapping[str, str] = WORDS["glossary"]
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
        for k, piece in enumerate(_TERM.split(words)):
            shown, _, key = piece.partition("|")
            if piece:
                parts.append(Term(shown, key or shown) if k % 2 else Text(piece))
        if field is not None:
            parts += _shown(values[field], spec or "")
    return Caption(tuple(parts))


def _shown(value: Any, spec: str) -> Sequence[Part]:
    if isinstance(value, Name):
        return [value]
    if isinstance(value, Caption):
        return value.parts
    if isinstance(value, str):
        return [Text(value)]
    if isinstance(value, Sequence):
        return _listed(value)
    return [Number(format(value, spec or ("," if isinstance(value, int) else "g")), float(value))]


def _listed(names: Sequence[Name]) -> list[Part]:
    """Write "a, b and c", or the first few and how many more there are."""
    shown = names if len(names) <= MOST_NAMES else names[: MOST_NAMES - 1]
    more = len(names) - len(shown)
    parts: list[Part] = []
    for name in shown:
        parts += [Text(", "), name] if parts else [name]
    if more:
        return [*parts, Text(" and "), Number(str(more), more), Text(" more")]
    if len(shown) > 1:
        parts[-2] = Text(" and ")
    return parts


def joined(captions: Sequence[Caption]) -> Caption:
    """Write captions one after the other, with commas between."""
    parts = [part for caption in captions for part in (Text(", "), *caption.parts)]
    return Caption(tuple(parts[1:]))


def counted(number: int, thing: str, things: str | None = None) -> Caption:
    """Write a number with its noun: 1 edge, 2 edges.

    Examples
    --------
    >>> str(counted(1, "edge")), str(counted(1200, "edge"))
    ('1 edge', '1,200 edges')
    """
    return say("{n} " + (thing if number == 1 else things or f"{thing}s"), n=number)


def caption_html(caption: Caption) -> str:
    """Set names and numbers off, and let terms carry their meaning."""
    return "".join(_part_html(part) for part in caption.parts)


def _part_html(part: Part) -> str:
    text = escape(part.text)
    if isinstance(part, (Name, Number)):
        return f'<b class="{type(part).__name__.lower()}">{text}</b>'
    if isinstance(part, Term):
        meaning = escape(GLOSSARY[part.key])
        return f'<span class="term" tabindex="0" data-meaning="{meaning}">{text}</span>'
    return text


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line of the algorithm: how far it is indented, what it says, what it means."""

    indent: int
    text: str
    meaning: str


def pseudocode(method: Method) -> tuple[CodeLine, ...]:
    """Return the fifteen lines of a method; they differ in how a neighbourhood is grouped."""
    lines = WORDS["pseudocode"]["quartet"] | WORDS["pseudocode"][method]
    return tuple(CodeLine(*line) for line in lines.values())


def code_html(line: int, method: Method = "quartet") -> str:
    """Write the pseudocode with one line marked, counted from 1."""
    rows = ""
    for number, code in enumerate(pseudocode(method), start=1):
        here, current = (" here", ' aria-current="step"') if number == line else ("", "")
        rows += (
            f'<li class="indent{code.indent}{here}" title="{escape(code.meaning)}"{current}>'
            f"{escape(code.text)}</li>"
        )
    return f'<ol class="code">{rows}</ol>'
