"""Latent Dirichlet allocation (LDA) on binary rows, the paper's comparison (section 6.1).

Scikit-learn estimates the topics phi. A row has topic shares theta (Dirichlet) and a length xi
(Gamma, matched to mean and variance of the training rows); word counts are Poisson, so

    P(w occurs | theta, xi) = 1 - exp(-xi * sum_k theta_k phi_kw).

The integral over theta and xi is estimated by importance sampling from the prior and the
variational posterior of the row. The estimate of a *probability* is unbiased; the bias of its
logarithm is about minus half its variance. Bias and standard error are reported.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import brentq
from scipy.special import digamma, gammaincinv, gammaln, logsumexp, polygamma

from loopylatent.compute.values import (
    FloatArray,
    IntArray,
    Progress,
    check_seed,
    check_whole,
    frozen_array,
)
from loopylatent.errors import DataError, quoted
from loopylatent.inference.scores import bic, half_of, perplexity, with_half_hidden
from loopylatent.tables.observations import Observations

MOST_PASSES = 20
"""Limit of scikit-learn's passes over the rows."""
MOST_ROUNDS = 30
"""Limit of scikit-learn's updates of one row in each pass."""
N_DRAWS = 256
PRIOR_SHARE = 8
"""One in this many samples comes from the prior, which bounds the weights."""
BLOCK = 2_000_000
"""Entries of the largest array of samples."""


@dataclass(frozen=True, slots=True, eq=False)
class RowEstimates:
    """Logarithms of unbiased estimates of row probabilities; equal rows share one (``same``)."""

    values: FloatArray
    variances: FloatArray
    same: IntArray

    @property
    def total_variance(self) -> float:
        """Variance of the sum of all values; equal rows share their error."""
        counts = np.bincount(self.same)
        return float(counts[self.same] @ self.variances)


@dataclass(frozen=True, slots=True)
class LdaScores:
    """The paper's four perplexities with standard error and bias; ``df`` is p * topics - 1.

    The bias of a perplexity is positive: half the variance, on the scale of perplexities.
    """

    perp_ll: float
    perp_bic: float
    pred_perp_ll: float
    pred_perp_bic: float
    perp_error: float
    pred_error: float
    perp_bias: float
    pred_bias: float
    df: int
    log_likelihood: float
    n_draws: int
    seed: int


@dataclass(frozen=True, eq=False)
class LdaModel:
    """LDA with Poisson word counts of which only presence is observed."""

    names: tuple[str, ...]
    topics: FloatArray = field(repr=False)
    alpha: FloatArray = field(repr=False)
    shape: float
    rate: float

    @property
    def n_topics(self) -> int:
        return len(self.topics)

    @property
    def df(self) -> int:
        return self.topics.size - 1

    def top_words(self, most: int = 10) -> tuple[tuple[int, ...], ...]:
        """Return the most probable columns of each topic."""
        order = np.argsort(-self.topics, axis=1, kind="stable")[:, :most]
        return tuple(tuple(row) for row in order.tolist())

    def log_likelihood(
        self,
        obs: Observations,
        *,
        n_draws: int = N_DRAWS,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> RowEstimates:
        """Estimate the log-likelihood of each row; missing values are summed out."""
        values = _checked(obs).select(list(self.names)).dense()
        rows, of_row = np.unique(np.nan_to_num(values, nan=-1.0), axis=0, return_inverse=True)
        found, spread = np.empty(len(rows)), np.empty(len(rows))
        done = 0
        for chosen in self._blocks(rows, n_draws):
            rng = np.random.default_rng([seed, STREAM, len(rows), int(chosen[0])])
            weights = self._log_weights(rows[chosen], n_draws, rng)
            mean = logsumexp(weights, axis=1) - math.log(n_draws)
            relative = np.exp(weights - mean[:, None])
            found[chosen] = mean
            # stratified: only the variance within the two parts counts
            first = max(n_draws // PRIOR_SHARE, 2)
            parts = (relative[:, :first], relative[:, first:])
            spread[chosen] = sum(
                part.var(axis=1, ddof=1) * part.shape[1] / n_draws**2 for part in parts
            )
            done += len(chosen)
            if progress is not None:
                progress(done, len(rows))
        same = of_row.ravel()
        return RowEstimates(
            frozen_array(found[same], np.float64),
            frozen_array(spread[same], np.float64),
            frozen_array(same, np.int64),
        )

    def scores(
        self,
        obs: Observations,
        *,
        n_draws: int = N_DRAWS,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> LdaScores:
        """Score held-out rows; the predicted halves are those of graphs (document completion)."""
        chosen = obs.select(list(self.names))
        n, n_values = obs.n_rows, obs.n_rows * obs.n_columns - chosen.n_missing
        whole, kept = (
            self.log_likelihood(rows, n_draws=n_draws, seed=seed, progress=half_of(progress, part))
            for part, rows in enumerate((chosen, with_half_hidden(chosen, seed)))
        )
        total, predicted = float(whole.values.sum()), float((whole.values - kept.values).sum())
        variance = whole.total_variance
        off, off_kept = float(whole.variances.sum()) / 2, float(kept.variances.sum()) / 2
        perp, pred = perplexity(total, n_values), perplexity(predicted, n_values)
        return LdaScores(
            perp, perplexity(bic(total, self.df, n), n_values),
            pred, perplexity(bic(predicted, self.df, n), n_values),
            perp * math.sqrt(variance) / n_values,
            pred * math.sqrt(variance + kept.total_variance) / n_values,
            perp * off / n_values, pred * (off - off_kept) / n_values,
            self.df, total, n_draws, seed,
        )  # fmt: skip

    def _blocks(self, rows: FloatArray, n_draws: int) -> Iterator[IntArray]:
        """Yield blocks of rows with the same number of words."""
        n_words = (rows == 1).sum(axis=1)
        for count in np.unique(n_words):
            same = np.flatnonzero(n_words == count)
            width = n_draws * max(self.n_topics, int(count), 1)
            size = max(1, BLOCK // width)
            for start in range(0, len(same), size):
                yield same[start : start + size]

    def _log_weights(self, rows: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
        """(rows, draws) the logarithm of likelihood times prior over proposal."""
        m, alpha = len(rows), self.alpha
        first = max(n_draws // PRIOR_SHARE, 2)
        present, absent = rows == 1, rows == 0
        gamma = topic_shares(present.astype(float), self.topics, alpha)
        gamma = np.where(gamma - alpha > 1e-3, gamma, alpha)
        seen = 1.0 - (rows < 0) @ (self.topics.T @ (alpha / alpha.sum()))
        shape, rate = self.shape + present.sum(axis=1), self.rate + seen
        shapes = np.repeat(gamma[:, None], n_draws, axis=1)
        shapes[:, :first] = alpha
        draws = np.maximum(rng.standard_gamma(shapes), SMALLEST)
        theta = draws / draws.sum(axis=2, keepdims=True)
        length_shapes = np.repeat(shape[:, None], n_draws, axis=1)
        length_shapes[:, :first] = self.shape
        length = np.maximum(rng.standard_gamma(length_shapes), SMALLEST)
        length[:, :first] /= self.rate
        length[:, first:] /= rate[:, None]
        words = np.nonzero(present)[1].reshape(m, -1)
        # absent words: the sum of -xi theta phi; present ones: log(1 - exp(-xi theta phi))
        empty = (theta @ (absent @ self.topics.T)[:, :, None])[:, :, 0]
        result: FloatArray = -length * empty
        if words.shape[1]:
            means = length[:, :, None] * (theta @ self.topics[:, words].transpose(1, 0, 2))
            result += np.log(-np.expm1(-means)).sum(axis=2)
        log_theta = np.log(np.maximum(theta, SMALLEST))
        ratio = ((gamma - alpha)[:, None] * log_theta).sum(axis=2)
        ratio += (_log_norm(alpha[None]) - _log_norm(gamma))[:, None]
        ratio += _log_gamma(length, shape[:, None], rate[:, None])
        ratio -= _log_gamma(length, self.shape, self.rate)
        share = first / n_draws
        result -= np.logaddexp(math.log(share), math.log1p(-share) + ratio)
        return result


def fit_lda(
    obs: Observations, n_topics: int, *, seed: int = 0, progress: Progress | None = None
) -> LdaModel:
    """Fit latent Dirichlet allocation to binary rows.

    Parameters
    ----------
    obs : Observations
        Binary columns without missing values; the second state means that the word occurs.
    n_topics : int
    seed : int
    progress : callable, optional

    Returns
    -------
    LdaModel

    Examples
    --------
    >>> from loopylatent.tables.samples import load_sample
    >>> rows = load_sample("latent_cycle").observations.take(range(300))
    >>> model = fit_lda(rows, 3)
    >>> model.n_topics, model.df, model.topics.sum(axis=1).round(6).tolist()
    (3, 59, [1.0, 1.0, 1.0])
    """
    from sklearn.decomposition import LatentDirichletAllocation

    check_whole("topics", n_topics, 2)
    check_seed(seed)
    if _checked(obs).has_missing:
        raise DataError("LDA does not accept missing values; impute them, or score without LDA.")
    report = progress if progress is not None else (lambda *_: None)
    report(0, 3)
    values = obs.dense()
    learner = LatentDirichletAllocation(
        n_topics,
        max_iter=MOST_PASSES,
        max_doc_update_iter=MOST_ROUNDS,
        evaluate_every=-1,
        random_state=seed,
    )
    learner.fit(values)
    topics = learner.components_ / learner.components_.sum(axis=1, keepdims=True)
    report(1, 3)
    alpha = dirichlet_of(values, topics, np.full(n_topics, 1.0 / n_topics))
    report(2, 3)
    length = length_of(values.sum(axis=1), topics, alpha)
    report(3, 3)
    parts = (frozen_array(topics, np.float64), frozen_array(alpha, np.float64))
    return LdaModel(obs.names, *parts, length.shape, length.rate)


def _log_norm(alpha: FloatArray) -> FloatArray:
    """(rows,) the log of the multivariate beta function, the normaliser of a Dirichlet density."""
    found: FloatArray = gammaln(alpha).sum(axis=-1) - gammaln(alpha.sum(axis=-1))
    return found


def _log_gamma(x: FloatArray, shape: FloatArray | float, rate: FloatArray | float) -> FloatArray:
    found: FloatArray = (
        shape * np.log(rate) - gammaln(shape) + (np.asarray(shape) - 1) * np.log(x) - rate * x
    )
    return found


def _checked(obs: Observations) -> Observations:
    if any(kind != "binary" for kind in obs.kinds):
        name = obs.names[[kind != "binary" for kind in obs.kinds].index(True)]
        raise DataError(
            f"LDA needs binary columns, but {quoted(name)} is not binary; score without LDA."
        )
    if obs.weights is not None:
        raise DataError("LDA does not accept row weights; score without LDA.")
    return obs


ALPHA_ROUNDS = 15
SMALLEST = 1e-300
SHAPES = (0.2, 200.0)
"""Limits of the Gamma shape of the length."""
N_QUANTILES = 2000
STREAM = 2027


def topic_shares(
    words: FloatArray, topics: FloatArray, alpha: FloatArray, rounds: int = 50
) -> FloatArray:
    """(rows, topics) Dirichlet parameters of the variational posterior of each row."""
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
    """(topics,) the Dirichlet parameters estimated by variational EM (Minka, 2000)."""
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
    """Match the mean and variance of the number of words per row."""
    rates = np.random.default_rng(STREAM).dirichlet(alpha, N_QUANTILES) @ topics
    quantiles = (np.arange(N_QUANTILES) + 0.5) / N_QUANTILES

    def probabilities(length: Length) -> FloatArray:
        """(draws, p) the probability of each word, over all lengths and topic shares."""
        lengths = gammaincinv(length.shape, quantiles) / length.rate
        found: FloatArray = -np.expm1(-lengths[:, None] * rates)
        return found

    def with_right_mean(shape: float) -> Length:
        def off(log_rate: float) -> float:
            expected = probabilities(Length(shape, math.exp(log_rate))).sum(axis=1)
            return float(expected.mean() - counts.mean())

        middle = math.log(shape / counts.mean())
        return Length(shape, math.exp(brentq(off, middle - 12, middle + 2, xtol=1e-6)))

    def too_wide(log_shape: float) -> float:
        found = probabilities(with_right_mean(math.exp(log_shape)))
        within = float((found * (1 - found)).sum(axis=1).mean())
        return float(found.sum(axis=1).var()) + within - float(counts.var())

    low, high = (math.log(shape) for shape in SHAPES)
    if too_wide(high) >= 0:
        return with_right_mean(SHAPES[1])
    if too_wide(low) <= 0:
        return with_right_mean(SHAPES[0])
    return with_right_mean(math.exp(brentq(too_wide, low, high, xtol=1e-3)))
