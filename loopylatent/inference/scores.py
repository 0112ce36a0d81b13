"""Predictive accuracy on held-out rows (section 6.1, the four perplexities).

Perp is exp(-score / np) for n test rows of p columns; the score is the log-likelihood, or the BIC,
which is 0.5 df log n less. Pred-Perp uses log P(one half of each row | the other half): the
log-likelihood of the whole row minus that of the row with the predicted half missing.
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
"""The log-likelihood of each row of a table, with missing values summed out."""
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
        Gaussian models count nodes and edges too, as in the paper; the means, the same for every
        graph, are not counted.
    n_samples : float
        The number of rows, or the sum of their weights.
    log_likelihood, bic : float
        Of the whole table.
    train_bic : float
        BIC on the training rows.
    method : {"exact", "lbp"}
        How likelihoods were computed.
    seed : int
        Seed of the choice of columns to predict.
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
    """Score a likelihood on the rows of a table; missing values are not counted in np."""
    check_seed(seed)
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    present = np.full(obs.n_rows, obs.n_columns)
    if obs.has_missing:
        present = obs.n_columns - np.isnan(obs.dense()).sum(axis=1)
    n, n_values = float(weights.sum()), float(weights @ present)
    if n_values == 0:
        raise InferenceError("The table to score contains only missing values.")
    whole = likelihood(obs)
    kept = likelihood(with_half_hidden(obs, seed))
    total, predicted = float(weights @ whole), float(weights @ (whole - kept))
    total_bic = bic(total, df, n)
    perp_ll, perp_bic = perplexity(total, n_values), perplexity(total_bic, n_values)
    predictive = perplexity(predicted, n_values), perplexity(bic(predicted, df, n), n_values)
    return Scores(perp_ll, perp_bic, *predictive, df, n, total, total_bic, train_bic, method, seed)


def perplexity(log_likelihood: float, n_values: float) -> float:
    """Return exp(-log-likelihood / number of values)."""
    return math.exp(min(-log_likelihood / n_values, 700.0))


def bic(log_likelihood: float, df: int, n_samples: float) -> float:
    """Return the Bayesian information criterion; higher is better."""
    return log_likelihood - 0.5 * df * math.log(n_samples)


def half_of(progress: Progress | None, part: int) -> Progress | None:
    """Convert progress of one of two parts into that of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(part * total + done, 2 * total)


def with_half_hidden(obs: Observations, seed: int = 0) -> Observations:
    """Return the table with half of the columns of each row, chosen at random, missing."""
    # a separate stream: rows may have been simulated with the same seed
    draws = np.random.default_rng([seed, STREAM]).random((obs.n_rows, obs.n_columns))
    hidden = draws.argsort(axis=1).argsort(axis=1) < obs.n_columns // 2
    return obs.with_values(np.where(hidden, np.nan, obs.dense()))
