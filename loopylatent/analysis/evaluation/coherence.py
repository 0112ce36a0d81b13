"""Topic coherence: mean pointwise mutual information (PMI) of a topic's words (section 6.1).

On training rows it is optimistic, on held-out rows less so; on other texts it measures whether
topics generalise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from loopylatent.compute.values import FloatArray, frozen_array
from loopylatent.errors import DataError, did_you_mean, quoted
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_word_pmi

NEVER = 0.5
"""Count for two words that never occur together, to avoid log 0."""


@dataclass(frozen=True, eq=False)
class WordPairs:
    """The PMI of pairs of words in a corpus; NaN if unknown."""

    title: str
    names: tuple[str, ...]
    pmi: FloatArray = field(repr=False)

    @property
    def covered(self) -> tuple[str, ...]:
        """The words that have a PMI with some other word."""
        known = np.isfinite(self.pmi).any(axis=1)
        return tuple(self.names[k] for k in np.flatnonzero(known))

    def among(self, names: Sequence[str]) -> WordPairs:
        """Return the PMI of these words, in this order; NaN for unknown words."""
        place = {_folded(name): k for k, name in enumerate(self.names)}
        at = np.array([place.get(_folded(name), -1) for name in names], np.int64)
        found = np.full((len(names), len(names)), np.nan)
        known = np.flatnonzero(at >= 0)
        found[np.ix_(known, known)] = self.pmi[np.ix_(at[known], at[known])]
        np.fill_diagonal(found, np.nan)
        return WordPairs(self.title, tuple(names), frozen_array(found, np.float64))


@dataclass(frozen=True, slots=True)
class Coherence:
    """Mean PMI over the covered pairs; in ``with_zeros`` uncovered pairs are 0."""

    mean: float
    with_zeros: float
    by_topic: tuple[float, ...]
    n_pairs: int
    n_covered: int
    corpus: str


def coherence(topics: Sequence[Sequence[int]], pairs: WordPairs) -> Coherence:
    """Return the mean PMI of topics, as in the paper.

    Parameters
    ----------
    topics : sequence of sequences of int
        The columns of each topic, such as its ten nearest.
    pairs : WordPairs
        PMI of the columns of the table, in their order (``WordPairs.among``).

    Examples
    --------
    >>> pmi = np.array([[np.nan, 1.0, 3.0], [1.0, np.nan, np.nan], [3.0, np.nan, np.nan]])
    >>> pairs = WordPairs("synthetic", ("a", "b", "c"), pmi)
    >>> found = coherence([(0, 1, 2), (1, 2)], pairs)
    >>> found.mean, found.with_zeros, found.n_covered, found.n_pairs
    (2.0, 0.6666666666666666, 2, 4)
    """
    means, sums, n_pairs, n_covered = [], [], 0, 0
    for topic in topics:
        at = np.asarray(topic, dtype=np.int64)
        here = pairs.pmi[np.ix_(at, at)][np.triu_indices(len(at), 1)]
        known = here[np.isfinite(here)]
        n_pairs, n_covered = n_pairs + len(here), n_covered + len(known)
        means.append(float(known.mean()) if len(known) else float("nan"))
        if len(here):
            sums.append(float(known.sum()) / len(here))
    scored = [value for value in means if not np.isnan(value)]
    return Coherence(
        float(np.mean(scored)) if scored else float("nan"),
        float(np.mean(sums)) if sums else float("nan"),
        tuple(means),
        n_pairs,
        n_covered,
        pairs.title,
    )


def pairs_in_rows(obs: Observations, title: str = "these rows") -> WordPairs:
    """Return the PMI of binary columns, from the rows in which both have a value."""
    for column in obs.columns:
        if column.kind != "binary":
            raise DataError(
                f"Coherence needs binary columns, but {quoted(column.name)} is {column.kind}."
            )
    values = obs.dense()
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    there, known = np.nan_to_num(values), (~np.isnan(values)).astype(float)
    both = there.T @ (there * weights[:, None])
    n = known.T @ (known * weights[:, None])
    alone = there.T @ (known * weights[:, None])
    return WordPairs(title, obs.names, frozen_array(_pmi(both, alone, n), np.float64))


def _pmi(both: FloatArray, alone: FloatArray, n: FloatArray) -> FloatArray:
    """PMI from counts; ``alone[i, j]`` counts i in the rows where j is not missing."""
    possible = (alone > 0) & (alone.T > 0)
    one, other, rows = (np.where(possible, part, 1.0) for part in (alone, alone.T, n))
    found: FloatArray = np.log(np.maximum(both, NEVER) * rows / (one * other))
    found = np.where(possible, found, np.nan)
    np.fill_diagonal(found, np.nan)
    return found


def newspaper_pairs() -> WordPairs:
    """Return the bundled PMI of the New York Times; it covers 70 of the 100 newsgroup words."""
    table = load_word_pmi()
    names = tuple(str(name) for name in table.columns)
    values = table.to_numpy(np.float64)
    return WordPairs(
        "8,447 articles of the New York Times", names, frozen_array(values, np.float64)
    )


def pairs_in_table(frame: pd.DataFrame, title: str, names: Sequence[str]) -> WordPairs:
    """Read an uploaded table: a PMI matrix, or one row per text (a word occurs if above 0)."""
    head = [str(name) for name in frame.columns]
    side = [str(name) for name in frame.iloc[:, 0]] if len(head) > 1 else []
    if [_folded(name) for name in side] == [_folded(name) for name in head[1:]]:
        found = _square(frame, title, head[1:])
    else:
        found = _texts(frame, title)
    shared = {_folded(name) for name in found.covered} & {_folded(name) for name in names}
    if len(shared) < 2:
        first = names[0] if names else ""
        raise DataError(
            f"Fewer than two columns are words in {quoted(title)}; for {quoted(first)}, "
            f"{did_you_mean(first, list(found.names))}"
        )
    return found


def _square(frame: pd.DataFrame, title: str, names: Sequence[str]) -> WordPairs:
    numbers = frame.iloc[:, 1:].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)
    if not np.allclose(numbers, numbers.T, equal_nan=True, atol=1e-6):
        raise DataError(f"The PMI matrix {quoted(title)} is not symmetric.")
    numbers[np.diag_indices(len(names))] = np.nan
    return WordPairs(title, tuple(names), frozen_array(numbers, np.float64))


def _texts(frame: pd.DataFrame, title: str) -> WordPairs:
    numbers = frame.select_dtypes(["number", "bool"])
    if numbers.shape[1] < 2 or len(numbers) < 2:
        raise DataError(
            f"The table {quoted(title)} has {numbers.shape[1]} numeric columns and {len(numbers)} "
            "rows; use one row per text and one column per word, or a PMI matrix of the words."
        )
    values = numbers.to_numpy(np.float64)
    there = np.where(np.isnan(values), 0.0, values > 0)
    count = there.sum(axis=0)
    both = there.T @ there
    alone = np.repeat(count[:, None], len(count), axis=1)
    n = np.full(both.shape, float(len(there)))
    names = tuple(str(name) for name in numbers.columns)
    return WordPairs(title, names, frozen_array(_pmi(both, alone, n), np.float64))


def _folded(name: str) -> str:
    return name.strip().casefold()
