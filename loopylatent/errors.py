"""Errors that say what is wrong, where, and what to do, worded for Python, shell or page."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

IN_PYTHON: Mapping[str, str] = {
    "setting": "{0} = {1}",
    "role": "{0}",
    "call": "{0}",
    "drop_degenerate": ", or pass on_degenerate='drop'",
    "no_limit": "use None",
    "few_rows": "n_samples = {0} is too small; use at least 3, or None.",
    "no_inner_node": "n_hidden + n_observed_inner = 0",
    "signs": "random_signs",
    "potentials": "theta_min = {0}, theta_max = {1}:",
    "smallest_distance": " (see D.r_min)",
    "radius_of_a_tree": "D.r_max",
    "radius_from": "r_min = {0}",
    "margin": "is outside [0, 1); try 0.5 / sqrt(n), where n is the number of rows",
    "not_distances": "For a table of observations, use information_distances.",
    "saved_distances": "to read distances, use read_distances",
    "bic": "regularize='bic'",
    "rows_for_bic": "use learn(D, obs=obs, regularize='bic')",
    "refine": "refine",
    "rows_for_refine": "use learn(D, obs=obs, refine='structure')",
    "n_samples": "pass n_samples to DistanceMatrix.from_array",
    "or_rows": ", or pass the observations",
    "rows_or_scheme": "pass the observations, or use 'noise' or 'orders'",
    "scheduler": "scheduler needs engine='dask'",
    "dask": "engine='dask'",
    "metric": "metric '{0}'",
    "metric_for_blocks": "use 'correlation' or 'canonical', or read all rows with read_table",
    "metric_for_states": "use 'canonical' or 'determinant'",
    "metric_for_all": "Use 'canonical'",
    "cutoff": "sparse_distances(table, cutoff={0})",
    "one_sort": "choose columns of one type with select(), or read binary columns as ordinal: "
    "kinds={{'name': 'ordinal'}}",
    "larger_radius": "use inference='lbp', or a larger r",
    "command_line": ", or use the command line",
    "delimiter": ", or in Python pass another separator, such as delimiter=' '",
    "max_bytes": ", or in Python raise max_bytes",
    "ising": "; use 'ising'",
}
"""The wording of each kind of remedy in Python; {0}, {1} are replaced by its values."""


@dataclass(frozen=True, slots=True, init=False)
class Remedy:
    """A part of a message that each front end words differently."""

    kind: str
    values: tuple[str, ...]

    def __init__(self, kind: str, *values: object) -> None:
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "values", tuple(map(str, values)))

    def worded(self, words: Mapping[str, str]) -> str:
        """Return the wording for its kind and first value, for its kind, or that of Python."""
        template = IN_PYTHON[self.kind]
        for key in (self.kind, " ".join((self.kind, *self.values[:1]))):
            template = words.get(key, template)
        return template.format(*self.values)


class Message(str):
    """The text of an error as worded for Python, with its parts for other front ends."""

    __slots__ = ("parts",)
    parts: tuple[str | Remedy, ...]

    def __new__(cls, *parts: str | Remedy) -> Message:
        made = super().__new__(cls, worded(parts, {}))
        made.parts = parts
        return made


def worded(parts: Sequence[str | Remedy], words: Mapping[str, str]) -> str:
    """Join the parts of a message, with remedies in the given wording, else that of Python."""
    return "".join(
        one.worded(words) if isinstance(one, Remedy) else in_words(one, words) for one in parts
    )


def in_words(error: object, words: Mapping[str, str]) -> str:
    """Return the text of an error (or a text) in the wording of a front end."""
    text = str(error) if isinstance(error, Exception) else error
    return worded(text.parts, words) if isinstance(text, Message) else str(text)


class LoopyLatentError(ValueError):
    """A user-correctable error with a message of one line."""

    def __init__(self, *parts: str | Remedy) -> None:
        super().__init__(*parts)

    def __str__(self) -> Message:
        return Message(*self.args)


class DataError(LoopyLatentError):
    """The table cannot be read or used as it is."""


class DistanceError(LoopyLatentError):
    """Distances cannot be computed, or are invalid."""


class ThresholdError(LoopyLatentError):
    """A threshold or another setting is invalid."""


class InferenceError(LoopyLatentError):
    """Parameters cannot be fitted, or a likelihood cannot be computed."""


class LimitError(LoopyLatentError):
    """The table or the task is too large for this machine or session."""


LONGEST_NAME = 60


def quoted(name: str) -> str:
    """Return a name (arbitrary text) in quotes, escaped to one line and shortened."""
    text = str(name)
    return repr(text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the closest known names."""
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"did you mean {' or '.join(quoted(other) for other in close)}?"
    return f"known names: {listed(known)}."


def listed(names: Sequence[str], most: int = 5) -> str:
    """Return quoted names with commas, at most the first ``most``."""
    shown = ", ".join(quoted(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
