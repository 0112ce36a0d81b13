"""How well a model foretells rows that it has not seen (section 6.1, the four perplexities).

Perp is exp(-score / np) for n test rows of p columns; the score is the log-likelihood, or BIC with
0.5 df log n taken off. Pred-Perp scores log P(a hidden half of each row | the rest): the likelihood
of the whole row less that of the row with the half missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from loopylatent.compute.values import FloatArray, Progress, Shown, check_seed
from loopylatent.errors import InferenceError
from loopylatent.tables.observations import Observations

Likelihood = Callable[[Observations], FloatArray]
"""From a table to the log-likelihood of each of its rows, missing values summed out."""
How = Literal["exact", "lbp"]
STREAM = 1013


@dataclass(frozen=True, slots=True, repr=False)
class Scores(Shown):
    """Scores of a model on a table.

    Parameters
    ----------
    perp_ll, perp_bic, pred_perp_ll, pred_perp_bic : float
        The four perplexities; lower is better.
    df : int
        Degrees of freedom. A node with K states has K - 1, an edge between nodes with K and L
        states (K - 1)(L - 1); in a binary model that is the number of nodes and edges, m + |E|.
        Gaussian models count nodes and edges too, as the paper does; the means, the same for
        every graph, are not counted.
    n_samples : float
        Rows of the table, or the sum of their weights.
    log_likelihood, bic : float
        Of the whole table.
    train_bic : float
        BIC on the rows that the model was fitted to.
    method : {"exact", "lbp"}
        How the likelihoods were computed.
    seed : int
        Of the choice of columns to predict.
    """

    perp_ll: float
    perp_bic: float
    pred_perp_ll: float
    pred_perp_bic: float
    df: int
    n_samples: float
    log_likelihood: float
    bic: float
    train_bic: float
    method: How
    seed: int

    def __repr__(self) -> str:
        names = ("perp_ll", "perp_bic", "pred_perp_ll", "pred_perp_bic")
        parts = ", ".join(f"{name}={getattr(self, name):.4g}" for name in names)
        return f"Scores({parts}, df={self.df}, {self.n_samples:g} rows, {self.method})"


def score(
    likelihood: Likelihood,
    obs: Observations,
    *,
    df: int,
    train_bic: float,
    method: How,
    seed: int = 0,
) -> Scores:
    """Score a likelihood on the rows of a table; np counts the values that are there."""
    check_seed(seed)
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    present = np.full(obs.n_rows, obs.n_columns)
    if obs.has_missing:
        present = obs.n_columns - np.isnan(obs.dense()).sum(axis=1)
    n, n_values = float(weights.sum()), float(weights @ present)
    if n_values == 0:
        raise InferenceError("the table to score has no values; give rows with some.")
    whole = likelihood(obs)
    kept = likelihood(with_half_hidden(obs, seed))
    total, predicted = float(weights @ whole), float(weights @ (whole - kept))
    in_all = bic(total, df, n)
    perp_ll, perp_bic = perplexity(total, n_values), perplexity(in_all, n_values)
    predictive = perplexity(predicted, n_values), perplexity(bic(predicted, df, n), n_values)
    return Scores(perp_ll, perp_bic, *predictive, df, n, total, in_all, train_bic, method, seed)


def perplexity(log_likelihood: float, n_values: float) -> float:
    """Return exp(-log-likelihood / number of values)."""
    return math.exp(min(-log_likelihood / n_values, 700.0))


def bic(log_likelihood: float, df: int, n_samples: float) -> float:
    """Return the Bayesian information criterion; higher is better."""
    return log_likelihood - 0.5 * df * math.log(n_samples)


def half_of(progress: Progress | None, part: int) -> Progress | None:
    """Progress of one of two parts as that of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(part * total + done, 2 * total)


def with_half_hidden(obs: Observations, seed: int = 0) -> Observations:
    """Return the table with half of the columns of each row, chosen at random, missing."""
    # a stream of its own: rows that were simulated with the same seed must not meet their own draws
    draws = np.random.default_rng([seed, STREAM]).random((obs.n_rows, obs.n_columns))
    hidden = draws.argsort(axis=1).argsort(axis=1) < obs.n_columns // 2
    return obs.with_values(np.where(hidden, np.nan, obs.dense()))
