"""How long work will take, said beside the button that begins it."""

from __future__ import annotations

from dataclasses import dataclass

from loopylatent.errors import LimitError
from loopylatent.limits import APP, Estimate, check_time
from loopylatent.ui.refusal import said


@dataclass(frozen=True, slots=True)
class Patience:
    """Whether work may begin, and what is to be said of its time."""

    is_enough: bool
    words: str
    """Markdown."""


def patience_for(work: Estimate, times: int, what: str) -> Patience:
    """Say how long ``times`` of ``what`` take, or why that is too long and what would fit.

    Examples
    --------
    >>> patience_for(Estimate(40.0), 25, "runs").words
    'Takes about 40\xa0s.'
    >>> patience_for(Estimate(7200.0), 100, "runs").is_enough
    False
    """
    try:
        check_time(work, times, what, APP)
    except LimitError as error:
        return Patience(False, said(error))
    return Patience(True, f"Takes {_unbroken(work.words)}.")


def _unbroken(words: str) -> str:
    """Keep a number and its unit on one line."""
    head, _, unit = words.rpartition(" ")
    return f"{head}\u00a0{unit}" if head[-1:].isdigit() else words
