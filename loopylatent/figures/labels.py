"""Names as labels: cut, cleaned and measured."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from loopylatent.compute.values import FloatArray

FONT_SIZE = 13

CHARACTER_WIDTH = 7.0
LONGEST_LABEL = 24
"""Characters after which a label is cut; the tooltip has the whole name."""

_LINE_HEIGHT = 14.0


@lru_cache(maxsize=2**14)
def shown_label(name: str, longest: int = LONGEST_LABEL) -> str:
    """Return a name as one line that fits under a node."""
    line = shown_line(name)
    if len(line) <= longest:
        return line
    return line[: longest - 1].rstrip() + "…"


def shown_line(name: str) -> str:
    """Return a name on one line, with what turns a line around shown as U+FFFD."""
    return " ".join("".join(map(_visible, name)).split()) or "(no name)"


def _visible(character: str) -> str:
    """Show what would be invisible or would turn the rest of the line around."""
    kind = unicodedata.category(character)
    if character.isspace():
        return " "
    if kind in ("Cc", "Cs") or unicodedata.bidirectional(character) in _TURNS:
        return "\ufffd"
    return character


_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})


def label_sizes(labels: Sequence[str]) -> FloatArray:
    """Return the (nodes, 2) width and height that each label takes, about."""
    widths = [CHARACTER_WIDTH * sum(map(_cells, shown_label(label))) for label in labels]
    return np.column_stack([widths, np.full(len(widths), _LINE_HEIGHT)])


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
