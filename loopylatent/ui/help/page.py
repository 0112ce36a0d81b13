"""The page Help; its text is help.md."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

from loopylatent.analysis.overlay import LEFT, RIGHT
from loopylatent.figures.network import NEGATIVE, LegendItem, ThemeName, colours_of
from loopylatent.figures.overlays import ADDED, COLOURS, REMOVED
from loopylatent.figures.recovery import FALSE_EDGE, MISSED_EDGE
from loopylatent.lesson.cast import GLOSSARY
from loopylatent.ui.page import show_pages, theme
from loopylatent.ui.shell.widgets import style, texts, words

TEXT = Path(__file__).with_name("help.md")
MORE_WORDS: Mapping[str, str] = texts("help").more_words
"""Terms of the other pages, in addition to those of the lesson."""
_HEADING = re.compile(r"^# (.+) \{(\w+)\}$", flags=re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the page."""

    title: str
    anchor: str
    text: str


def sections() -> tuple[Section, ...]:
    """Read the sections of the page."""
    split = _HEADING.split(TEXT.read_text(encoding="utf-8"))[1:]
    parts = zip(split[::3], split[1::3], split[2::3], strict=True)
    return tuple(Section(title, anchor, text.strip()) for title, anchor, text in parts)


def contents() -> None:
    """Links to the other pages and to the sections of this one."""
    style("help")
    with st.sidebar:
        show_pages()
        st.markdown("\n".join(f"- [{part.title}](#{part.anchor})" for part in sections()))


def show() -> None:
    """Draw all sections."""
    with st.container(key="help_text"):
        for part in sections():
            st.header(part.title, anchor=part.anchor)
            st.markdown(part.text)
            if part.anchor == "thresholds":
                st.markdown(
                    "\n".join(
                        f"- {text}" for text in (words.radius, words.margin, words.min_length)
                    )
                )
            elif part.anchor == "signs":
                st.html(signs_html(theme()))
            elif part.anchor == "pages":
                show_pages("next_pages")
            elif part.anchor == "glossary":
                st.html(glossary_html())


def glossary() -> dict[str, str]:
    """All terms in alphabetical order."""
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
    """Symbols of the graph with their colours and meanings."""
    c = colours_of(name)
    left, right, group = COLOURS[LEFT], COLOURS[RIGHT], c.groups[3]
    known = "Laboratory, Step by step"
    return (
        LegendItem("dot", c.observed, c.observed, "column of the table (observed)"),
        LegendItem("diamond", c.hidden, c.hidden, "hidden variable"),
        LegendItem("line", c.edge, c.edge, "edge; wider means stronger"),
        LegendItem("dashes", NEGATIVE, NEGATIVE, "edge with a negative correlation"),
        LegendItem("dot", group, group, "nodes coloured by group"),
        LegendItem("line", ADDED, ADDED, "highlighted cycles: an edge on a cycle"),
        LegendItem("line", ADDED, ADDED, "Changes: an edge added by grouping"),
        LegendItem("dashes", REMOVED, REMOVED, "Changes: an edge removed by grouping"),
        LegendItem("dashes", c.edge, c.edge, "Support: below one half"),
        LegendItem("dashes", left, left, "Compare: only in the left graph"),
        LegendItem("line", right, right, "Compare: only in the right graph"),
        LegendItem("dashes", MISSED_EDGE, MISSED_EDGE, f"{known}: a missed true edge"),
        LegendItem("line", FALSE_EDGE, FALSE_EDGE, f"{known}: a false edge"),
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
