"""What the package refuses, in the words of a page: the buttons and fields that put it right.

Text from data, made safe for Markdown.

How long work will take, said beside the button that begins it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic

from loopylatent.compute.limits import APP, Estimate, check_time, duration
from loopylatent.errors import LimitError, in_words
from loopylatent.figures.labels import shown_line
from loopylatent.ui.shell.background import Job

ON_PAGES: Mapping[str, str] = {
    "setting Lambda": "Λ = {1}",
    "setting tau": "τ = {1}",
    "drop_degenerate": ", or tick the box that leaves such columns out (button Columns)",
    "few_rows": "{0} rows behind the distances are too few; give at least 3, or 0 if that is "
    "unknown.",
    "no_inner_node": "Hidden and Inner are both 0",
    "potentials": "θ min = {0}, θ max = {1}:",
    "smallest_distance": "",
    "radius_of_a_tree": "r max",
    "radius_from": "r min = {0}",
    "margin": "is not from 0 to below 1; try 0.5 / √n, where n is the number of rows",
    "not_distances": "If it is a table of observations, choose A table above.",
    "n_samples": "open the file again and say how many rows are behind the distances",
    "or_rows": ", or open the table itself",
    "metric": "the distance '{0}'",
    "metric_for_states": "the one by the kinds of the columns takes them",
    "metric_for_all": "The canonical correlation takes them",
    "one_sort": "press Columns and leave out those of other sorts, or make columns with two values "
    "ordinal there",
    "larger_radius": "use a larger r",
    "delimiter": "",
    "max_bytes": "",
    "ising": "",
}
"""Remedies that are called otherwise on pages than in Python: the buttons and fields for them."""


def said(error: object) -> str:
    """Return the Markdown in which a page shows a refusal, or the notice that holds one.

    Examples
    --------
    >>> print(said(ValueError("the name 'a*b' is given twice")))
    the name \\'a\\*b\\' is given twice
    """
    return escaped(in_words(error, ON_PAGES))


JOINER = "\u2060"
"""Has no width and no meaning; text that holds it is found by no pattern."""
_FOUND_AFTER_ESCAPES = re.compile(
    r"""
    (?<=:)(?=//|streamlit:)             # addresses; the mark of Streamlit
    | (?<=www)(?=\.)
    | (?<=[\w+.-])(?=@)                 # of e-mail
    | (?<=\s[<~>-])(?=[=>-]>?(?:\s|$))    # arrows, dashes, signs of order
    | (?<=^[<~>-])(?=[=>-]>?(?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def escaped(text: str) -> str:
    """Return Markdown that shows ``text`` as it is, on one line, and makes no link of it.

    Addresses, and signs such as an arrow of two characters, are looked for after escapes were
    resolved: an invisible joiner keeps them from being found. What would turn the rest of the line
    around is shown as U+FFFD.

    Examples
    --------
    >>> print(escaped("a*b <i>"))
    a\\*b \\<i\\>
    >>> escaped("www.a.b") == f"www{JOINER}\\\\.a\\\\.b"
    True
    """
    line = _FOUND_AFTER_ESCAPES.sub(JOINER, shown_line(text))
    return "".join(f"\\{c}" if c in string.punctuation else c for c in line)


@dataclass(frozen=True, slots=True)
class TimeNeeded:
    """Whether work may begin, and what is to be said of its time."""

    is_allowed: bool
    words: str
    """Markdown."""


def time_needed(work: Estimate, times: int, what: str) -> TimeNeeded:
    """Say how long ``times`` of ``what`` take, or why that is too long and what would fit.

    Examples
    --------
    >>> time_needed(Estimate(40.0), 25, "runs").words
    'Takes about 40\xa0s.'
    >>> time_needed(Estimate(7200.0), 100, "runs").is_allowed
    False
    """
    try:
        check_time(work, times, what, APP)
    except LimitError as error:
        return TimeNeeded(False, said(error))
    return TimeNeeded(True, f"Takes {_unbroken(work.words)}.")


def _unbroken(words: str) -> str:
    """Keep a number and its unit on one line."""
    head, _, unit = words.rpartition(" ")
    return f"{head}\u00a0{unit}" if head[-1:].isdigit() else words


def progress_line(title: str, job: Job, began: float) -> str:
    """Say how far a job is: done, left, and how long that will take at the pace so far."""
    if job.total == 0:
        return f"{title} …"
    line = f"{title}: {job.done} of {job.total} done, {job.total - job.done} left"
    if 1 < job.done < job.total:  # the first one may have had to be compiled
        line += f", about {duration((monotonic() - began) / job.done * (job.total - job.done))}"
    return line
