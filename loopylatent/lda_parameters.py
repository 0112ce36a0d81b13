"""What LDA estimates beside its topics: the shares of a row, their prior, the length of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaincinv, polygamma

from loopylatent.graph import FloatArray

ALPHA_ROUNDS = 15
SMALLEST = 1e-300
SHAPES = (0.2, 200.0)
"""Limits of the shape of the length: from very uneven to all alike."""
N_QUANTILES = 2000
STREAM = 2027


def topic_shares(
    words: FloatArray, topics: FloatArray, alpha: FloatArray, rounds: int = 50
) -> FloatArray:
    """(rows, topics) the variational posterior of each row, as parameters of a Dirichlet.

    Examples
    --------
    >>> topics = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    >>> topic_shares(np.array([[1.0, 0.0, 0.0]]), topics, np.array([0.1, 0.1])).round(3).tolist()
    [[1.1, 0.1]]
    """
    gamma = np.full((len(words), len(topics)), 1.0) + alpha
    for _ in range(rounds):
        share = np.exp(digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True)))
        expected = np.maximum(share @ topics, SMALLEST)
        fresh = alpha + share * ((words / expected) @ topics.T)
        change = float(np.abs(fresh - gamma).mean())
        gamma = fresh
        if change < 1e-4:
            break
    return gamma


def dirichlet_of(words: FloatArray, topics: FloatArray, alpha: FloatArray) -> FloatArray:
    """(topics,) the Dirichlet parameters that suit the rows best, by variational EM.

    Given the posteriors of the rows, the parameters follow by Newton's method (Minka, 2000).
    """
    for _ in range(ALPHA_ROUNDS):
        gamma = topic_shares(words, topics, alpha)
        target = (digamma(gamma) - digamma(gamma.sum(axis=1, keepdims=True))).mean(axis=0)
        fresh = _most_likely_dirichlet(target, alpha)
        settled = np.abs(np.log(fresh / alpha)).max() < 1e-2
        alpha = fresh
        if settled:
            break
    return alpha


def _most_likely_dirichlet(target: FloatArray, alpha: FloatArray) -> FloatArray:
    """Solve digamma(alpha_k) - digamma(sum alpha) = target_k."""
    for _ in range(200):
        gradient = digamma(alpha.sum()) - digamma(alpha) + target
        curve = -polygamma(1, alpha)
        common = polygamma(1, alpha.sum())
        shift = (gradient / curve).sum() / (1.0 / common + (1.0 / curve).sum())
        step = (gradient - shift) / curve
        fresh: FloatArray = alpha - step
        while (fresh <= 0).any():
            step /= 2
            fresh = alpha - step
        if np.abs(step / alpha).max() < 1e-8:
            return fresh
        alpha = fresh
    return alpha


@dataclass(frozen=True, slots=True)
class Length:
    """The Gamma distribution of the length of a row."""

    shape: float
    rate: float


def length_of(counts: FloatArray, topics: FloatArray, alpha: FloatArray) -> Length:
    """Choose the length such that rows have as many words as ``counts``, and vary as much."""
    rates = np.random.default_rng(STREAM).dirichlet(alpha, N_QUANTILES) @ topics
    quantiles = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES

    def chances(length: Length) -> FloatArray:
        """(draws, p) the probability of each word, over all lengths and topic shares."""
        lengths = gammaincinv(length.shape, quantiles) / length.rate
        found: FloatArray = -np.expm1(-lengths[:, None] * rates)
        return found

    def with_right_mean(shape: float) -> Length:
        def off(log_rate: float) -> float:
            expected = chances(Length(shape, math.exp(log_rate))).sum(axis=1)
            return float(expected.mean() - counts.mean())

        middle = math.log(shape / counts.mean())
        return Length(shape, math.exp(brentq(off, middle - 12, middle + 2, xtol=1e-6)))

    def too_wide(log_shape: float) -> float:
        found = chances(with_right_mean(math.exp(log_shape)))
        within = float((found * (1 - found)).sum(axis=1).mean())
        return float(found.sum(axis=1).var()) + within - float(counts.var())

    low, high = (math.log(shape) for shape in SHAPES)
    if too_wide(high) >= 0:
        return with_right_mean(SHAPES[1])
    if too_wide(low) <= 0:
        return with_right_mean(SHAPES[0])
    return with_right_mean(math.exp(brentq(too_wide, low, high, xtol=1e-3)))
