"""Errors that say what is wrong, where, and what to do; front ends have own words for remedies."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

IN_PYTHON: Mapping[str, str] = {
    "setting": "{0} = {1}",
    "role": "{0}",
    "call": "{0}",
    "drop_degenerate": ", or use on_degenerate='drop'",
    "no_limit": "use None",
    "few_rows": "n_samples = {0} is too few; give at least 3, or None.",
    "no_inner_node": "n_hidden + n_observed_inner = 0",
    "signs": "random_signs",
    "potentials": "theta_min = {0}, theta_max = {1}:",
    "smallest_distance": " (see D.r_min)",
    "radius_of_a_tree": "D.r_max",
    "radius_from": "r_min = {0}",
    "margin": "lies outside [0, 1); try 0.5 / sqrt(n)",
    "not_distances": "For a table of observations use information_distances.",
    "saved_distances": "of a file of distances, use read_distances",
    "bic": "regularize='bic'",
    "rows_for_bic": "give them: learn(D, obs=obs, regularize='bic')",
    "n_samples": "give n_samples to DistanceMatrix.from_array",
    "or_rows": ", or pass the observations",
    "rows_or_scheme": "pass the observations, or use 'noise' or 'orders'",
    "scheduler": "a scheduler is for engine='dask'",
    "dask": "engine='dask'",
    "metric": "metric '{0}'",
    "metric_for_blocks": "use 'correlation' or 'canonical', or read it whole with read_table",
    "metric_for_states": "use 'canonical' or 'determinant'",
    "metric_for_all": "Use 'canonical'",
    "cutoff": "sparse_distances(table, cutoff={0})",
    "one_sort": "choose columns of one sort with select(), or read two-valued columns as numbers: "
    "kinds={{'name': 'ordinal'}}",
    "larger_radius": "use inference='lbp', or a larger r",
    "command_line": ", or use the command line",
    "delimiter": "; in Python a file with another mark is read with, for example, delimiter=' '",
    "max_bytes": ", or in Python raise max_bytes",
    "ising": "; choose 'ising'",
}
"""What each kind of remedy is called in Python; the values stand in the place of the numbers."""


@dataclass(frozen=True, slots=True, init=False)
class Remedy:
    """A part of a message that every front end has its own words for."""

    kind: str
    values: tuple[str, ...]

    def __init__(self, kind: str, *values: object) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", tuple(map(str, values)))

    def worded(self, words: Mapping[str, str]) -> str:
        """Say it in the words for its kind and first value, for its kind, or in Python's."""
        template = IN_PYTHON[self.kind]
        for key in (self.kind, " ".join((self.kind, *self.values[:1]))):
            template = words.get(key, template)
        return template.format(*self.values)


class Message(str):
    """What an error says in Python, with the parts of which another front end makes its own."""

    __slots__ = ("parts",)
    parts: tuple[str | Remedy, ...]

    def __new__(cls, *parts: str | Remedy) -> Message:
        """Join the parts."""
        made = super().__new__(cls, worded(parts, {}))
        made.parts = parts
        return made


def worded(parts: Sequence[str | Remedy], words: Mapping[str, str]) -> str:
    """Join the parts of a message, with remedies in the given words, else in those of Python."""
    return "".join(
        one.worded(words) if isinstance(one, Remedy) else in_words(one, words) for one in parts
    )


def in_words(said: object, words: Mapping[str, str]) -> str:
    """Return an error, or the text of one, in the words of a front end."""
    text = str(said) if isinstance(said, Exception) else said
    return worded(text.parts, words) if isinstance(text, Message) else str(text)


class LoopyLatentError(ValueError):
    """Anything that the user can put right; the message is one line for a person."""

    def __init__(self, *parts: str | Remedy) -> None:
        super().__init__(*parts)

    def __str__(self) -> Message:
        return Message(*self.args)


class DataError(LoopyLatentError):
    """The table cannot be read or used as it is."""


class DistanceError(LoopyLatentError):
    """Distances cannot be computed, or the given ones are not distances."""


class ThresholdError(LoopyLatentError):
    """A threshold or another setting lies outside its limits."""


class InferenceError(LoopyLatentError):
    """Parameters cannot be fitted, or a likelihood cannot be computed."""


class LimitError(LoopyLatentError):
    """The table or the work is larger than this machine, or this session, takes."""


LONGEST_NAME = 60


def quoted(name: str) -> str:
    """Show a name, which may hold anything, in quotes, on one line and not too long."""
    text = str(name)
    return repr(text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the names that come closest."""
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"did you mean {' or '.join(quoted(other) for other in close)}?"
    return f"known are {listed(known)}."


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return quoted names with commas, the first few of them where there are many."""
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
