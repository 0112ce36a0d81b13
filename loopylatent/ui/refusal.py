"""What the package refuses, in the words of a page: the buttons and fields that put it right."""

from __future__ import annotations

import re

from loopylatent.ui.plain import plain

IN_PAGE_WORDS: tuple[tuple[str, str], ...] = (
    (r"; in Python a file with another mark is read with, for example, delimiter=' '", ""),
    (r", or in Python raise max_bytes", ""),
    (r"or use on_degenerate='drop'", "or tick the box that leaves such columns out (button "
     "Columns)"),
    (r"choose columns of one sort with select\(\), or read two-valued columns as numbers: .*$",
     "press Columns and leave out those of other sorts, or make columns with two values ordinal "
     "there."),
    (r"\bmetric '([\w-]+)' (?=takes numbers|needs columns)", r"the distance '\1' "),
    (r"use 'canonical' or 'determinant'\.", "the one by the kinds of the columns takes them."),
    (r"Use 'canonical'\.", "The canonical correlation takes them."),
    (r"\bn_samples is (\S+); it must be a whole number from 3 on\.", r"\1 rows behind the "
     "distances are too few; give at least 3, or 0 if that is unknown."),
    (r"\bn_samples = (\S+) is too few; give at least 3, or None\.", r"\1 rows behind the "
     "distances are too few; give at least 3, or 0 if that is unknown."),
    (r"For a table of observations use information_distances\.", "If it is a table of "
     "observations, choose A table above."),
    (r"give n_samples to DistanceMatrix\.from_array, or pass the observations", "open the file "
     "again and say how many rows are behind the distances, or open the table itself"),
    (r"give n_samples to DistanceMatrix\.from_array", "open the file again and say how many rows "
     "are behind the distances"),
    (r" \(see D\.r_min\)", ""),
    (r"such as D\.r_max for a tree", "such as r max for a tree"),
    (r"\bUse r of at least r_min = ", "Use r of at least r min = "),
    (r"\bLambda = (\S+) lies outside \[0, 1\); try 0\.5 / sqrt\(n\)", r"Λ = \1 is not from 0 to "
     "below 1; try 0.5 / √n, where n is the number of rows"),
    (r"\btau = (?=\S+ is negative)", "τ = "),
    (r"^theta_min = (\S+), theta_max = (\S+):", r"θ min = \1, θ max = \2:"),
    (r"^n_hidden \+ n_observed_inner = 0;", "Hidden and Inner are both 0;"),
    (r" has no Ising potentials; choose 'ising'", " has no Ising potentials"),
    (r"; use inference='lbp', or a larger r", "; use a larger r"),
)  # fmt: skip
"""What the package advises in Python, and what a person can do on a page instead."""


def in_page_words(message: str) -> str:
    """Say what the package says, with buttons and fields in the place of Python.

    Examples
    --------
    >>> print(in_page_words("tau = -1 is negative; use 0 to contract nothing."))
    τ = -1 is negative; use 0 to contract nothing.
    """
    for pattern, words in IN_PAGE_WORDS:
        message = re.sub(pattern, words, message)
    return message


def said(error: object) -> str:
    """Return the Markdown in which a page shows a refusal, or the notice that holds one.

    Examples
    --------
    >>> print(said(ValueError("the name 'a*b' is given twice")))
    the name \\'a\\*b\\' is given twice
    """
    return plain(in_page_words(str(error)))
