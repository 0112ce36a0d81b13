"""The parts of the Help page: its text lies beside it, in help.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

from loopylatent.analysis.overlay import LEFT, RIGHT
from loopylatent.figures.network import NEGATIVE, LegendItem, ThemeName, colours_of
from loopylatent.figures.overlays import COLOURS, GONE, NEW
from loopylatent.figures.recovery import FALSE_EDGE, MISSED_EDGE
from loopylatent.lesson.cast import GLOSSARY
from loopylatent.ui.page import show_pages, theme
from loopylatent.ui.shell.widgets import style, texts, words

TEXT = Path(__file__).with_name("help.md")
MORE_WORDS: Mapping[str, str] = texts("help").more_words
"""Words of the other pages, beside those of the lesson."""
_HEADING = re.compile(r"^# (.+) \{(\w+)\}$", flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the page: its title, its name in a link, and its text."""

    title: str
    anchor: str
    text: str


def sections() -> tuple[Section, ...]:
    """Read the parts of the page."""
    pieces = _HEADING.split(TEXT.read_text(encoding="utf-8"))[1:]
    parts = zip(pieces[::3], pieces[1::3], pieces[2::3], strict=True)
    return tuple(Section(title, anchor, text.strip()) for title, anchor, text in parts)


def contents() -> None:
    """The other pages and, below them, the parts of this one."""
    style("help")
    with st.sidebar:
        show_pages()
        st.markdown("\n".join(f"- [{part.title}](#{part.anchor})" for part in sections()))


def show() -> None:
    """The page."""
    with st.container(key="help_text"):
        for part in sections():
            st.header(part.title, anchor=part.anchor)
            st.markdown(part.text)
            if part.anchor == "thresholds":
                st.markdown(
                    "\n".join(f"- {text}" for text in (words.radius, words.margin, words.shortest))
                )
            elif part.anchor == "signs":
                st.html(signs_html(theme()))
            elif part.anchor == "pages":
                show_pages("next_pages")
            elif part.anchor == "glossary":
                st.html(glossary_html())


def glossary() -> dict[str, str]:
    """Every word that the app explains, by the alphabet."""
    both = {**GLOSSARY, **MORE_WORDS}
    return {word: both[word] for word in sorted(both, key=str.casefold)}


def glossary_html() -> str:
    """The glossary as a list of definitions."""
    rows = (
        f"<div><dt>{escape(word)}</dt><dd>{escape(meaning)}</dd></div>"
        for word, meaning in glossary().items()
    )
    return f'<dl class="help-words">{"".join(rows)}</dl>'


def signs(name: ThemeName) -> tuple[LegendItem, ...]:
    """What is drawn, in the colours in which it is drawn, and what it means."""
    c = colours_of(name)
    left, right, group = COLOURS[LEFT], COLOURS[RIGHT], c.groups[3]
    both = "in Laboratory, Step by step"
    return (
        LegendItem("dot", c.observed, c.observed, "a column of the table (observed)"),
        LegendItem("diamond", c.hidden, c.hidden, "a hidden variable, which nobody measured"),
        LegendItem("line", c.edge, c.edge, "an edge: the wider, the stronger"),
        LegendItem("dashes", NEGATIVE, NEGATIVE, "an edge with a negative correlation"),
        LegendItem("dot", group, group, "coloured by groups: one colour, one group; shapes stay"),
        LegendItem("line", NEW, NEW, "with cycles marked: an edge on a cycle"),
        LegendItem("line", NEW, NEW, "in What changed: an edge that grouping put in"),
        LegendItem("dashes", GONE, GONE, "in What changed: an edge that grouping took away"),
        LegendItem("dashes", c.edge, c.edge, "in Support: it came back in less than half the runs"),
        LegendItem("dashes", left, left, "in Compare: only the left graph has it"),
        LegendItem("line", right, right, "in Compare: only the right graph has it"),
        LegendItem("dashes", MISSED_EDGE, MISSED_EDGE, f"{both}: a true edge not learned"),
        LegendItem("line", FALSE_EDGE, FALSE_EDGE, f"{both}: a learned edge that is false"),
    )


def signs_html(name: ThemeName) -> str:
    """The signs as a table."""
    rows = (f"<tr><td>{_sign(item)}</td><td>{escape(item.text)}</td></tr>" for item in signs(name))
    return f'<table class="help-signs">{"".join(rows)}</table>'


def _sign(item: LegendItem) -> str:
    if item.shape in ("dot", "diamond"):
        return f'<div class="{item.shape}" style="background:{item.fill}"></div>'
    line = "dashed" if item.shape == "dashes" else "solid"
    return f'<div class="line" style="border-top:3px {line} {item.border}"></div>'
