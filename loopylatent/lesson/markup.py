"""Captions and pseudocode as HTML. Names are escaped: they are shown, never read as markup."""

from __future__ import annotations

from html import escape

from loopylatent.lesson.pseudocode import pseudocode
from loopylatent.lesson.words import Caption, Name, Number, Part, Term
from loopylatent.settings import Method


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
