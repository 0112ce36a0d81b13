"""LDA as a distribution over binary rows: by quadrature, by simulation, by its equations."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import digamma, gammaincinv
from scipy.stats import beta, gamma

from loopylatent.analysis.evaluation.lda import (
    LdaModel,
    _most_likely_dirichlet,
    fit_lda,
    topic_shares,
)
from loopylatent.errors import DataError, ThresholdError
from loopylatent.inference.scores import bic, perplexity, with_half_hidden
from loopylatent.tables.observations import Observations

TWO = LdaModel(
    ("a", "b", "c"),
    np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]]),
    np.array([0.4, 0.9]),
    shape=1.6,
    rate=0.8,
)
LENGTHS = gammaincinv(TWO.shape, (np.arange(400) + 0.5) / 400) / TWO.rate


def table(rows: list[tuple[float, ...]]) -> Observations:
    """Binary rows; two rows with both values keep every column usable."""
    values = np.array([*rows, (0, 0, 0), (1, 1, 1)], dtype=float)
    kinds = dict.fromkeys("abc", "binary")
    return Observations.from_array(values, list("abc"), kinds=kinds).take(range(len(rows)))


def probability(row: tuple[float, ...]) -> float:
    """P(row) by quadrature over the share of the first topic, and over quantiles of length."""

    def given(share: float) -> float:
        means = LENGTHS[:, None] * (share * TWO.topics[0] + (1 - share) * TWO.topics[1])
        chance = -np.expm1(-means)
        parts = [
            1.0 if np.isnan(x) else chance[:, k] if x == 1 else 1 - chance[:, k]
            for k, x in enumerate(row)
        ]
        return float(np.prod(np.broadcast_arrays(*parts, np.ones(len(LENGTHS))), axis=0).mean())

    def whole(u: float) -> float:
        return given(float(beta.ppf(u, *TWO.alpha)))

    return float(quad(whole, 0, 1, epsabs=1e-6, limit=200)[0])


ALL_ROWS = list(product((0.0, 1.0), repeat=3))
WITH_GAPS = [(1.0, np.nan, 0.0), (np.nan, np.nan, 1.0), (0.0, 1.0, np.nan)]


def test_the_estimate_agrees_with_quadrature_within_its_width():
    rows = [*ALL_ROWS, *WITH_GAPS]
    found = TWO.log_likelihood(table(rows), n_draws=20_000)
    exact = np.log([probability(row) for row in rows])
    off = np.abs(found.values - exact)
    assert (off < 4 * np.sqrt(found.variances) + 2e-3).all()
    assert (np.sqrt(found.variances) < 0.02).all()


def test_it_is_a_distribution():
    found = TWO.log_likelihood(table(ALL_ROWS), n_draws=20_000)
    assert np.exp(found.values).sum() == pytest.approx(1.0, abs=0.01)


def test_few_draws_give_an_unbiased_probability_and_an_honest_width():
    row = (1.0, 1.0, 0.0)
    estimates = [TWO.log_likelihood(table([row]), n_draws=64, seed=seed) for seed in range(500)]
    chances = np.exp([one.values[0] for one in estimates])
    error = chances.std(ddof=1) / math.sqrt(len(chances))
    assert abs(chances.mean() - probability(row)) < 4 * error
    reported = np.mean([one.variances[0] for one in estimates])
    assert reported == pytest.approx((chances / chances.mean()).var(), rel=0.3)


def test_a_row_with_nothing_known_is_certain():
    rows = table([(1.0, 0.0, 1.0)]).with_values(np.full((1, 3), np.nan))
    assert TWO.log_likelihood(rows, n_draws=500).values[0] == pytest.approx(0.0, abs=0.05)


def drawn(n: int, seed: int = 0) -> Observations:
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(TWO.alpha, n)
    length = rng.gamma(TWO.shape, 1 / TWO.rate, n)
    chance = -np.expm1(-length[:, None] * (theta @ TWO.topics))
    return table([tuple(row) for row in (rng.random((n, 3)) < chance).astype(float)])


def test_scores_are_the_papers_equations():
    rows = drawn(200)
    found = TWO.scores(rows, n_draws=100, seed=3)
    whole = TWO.log_likelihood(rows, n_draws=100, seed=3).values.sum()
    kept = TWO.log_likelihood(with_half_hidden(rows, 3), n_draws=100, seed=3).values.sum()
    assert found.df == 5
    assert found.perp_ll == pytest.approx(perplexity(whole, 600))
    assert found.perp_bic == pytest.approx(perplexity(bic(whole, 5, 200), 600))
    assert found.pred_perp_ll == pytest.approx(perplexity(whole - kept, 600))
    assert found.pred_perp_bic == pytest.approx(perplexity(bic(whole - kept, 5, 200), 600))
    assert 0 < found.perp_error < 0.03
    assert found.perp_bias > 0


def test_more_draws_narrow_the_estimate():
    rows = drawn(100)
    few, many = (TWO.scores(rows, n_draws=n) for n in (40, 640))
    assert many.perp_error < few.perp_error / 2
    assert abs(many.perp_ll - few.perp_ll) < 5 * few.perp_error + 2 * few.perp_bias


@pytest.fixture(scope="module")
def two_themes() -> Observations:
    """Rows about one of two themes of four words each; lengths vary."""
    rng = np.random.default_rng(5)
    theme = rng.random(1500) < 0.5
    length = rng.gamma(2.0, 1.0, 1500)
    rate = np.where(theme[:, None], [0.5] * 4 + [0.02] * 4, [0.02] * 4 + [0.5] * 4)
    values = (rng.random((1500, 8)) < -np.expm1(-length[:, None] * rate)).astype(float)
    return Observations.from_array(values, [f"w{k}" for k in range(8)])


def test_two_themes_are_recovered(two_themes):
    model = fit_lda(two_themes, 2)
    found = {frozenset(words) for words in model.top_words(4)}
    assert found == {frozenset(range(4)), frozenset(range(4, 8))}
    np.testing.assert_allclose(model.topics.sum(axis=1), 1)


def test_lengths_vary_as_in_the_rows(two_themes):
    model = fit_lda(two_themes, 2)
    rng = np.random.default_rng(0)
    theta = rng.dirichlet(model.alpha, 40_000)
    length = rng.gamma(model.shape, 1 / model.rate, 40_000)
    chance = -np.expm1(-length[:, None] * (theta @ model.topics))
    words = (rng.random(chance.shape) < chance).sum(axis=1)
    counts = two_themes.dense().sum(axis=1)
    assert words.mean() == pytest.approx(counts.mean(), rel=0.03)
    assert words.var() == pytest.approx(counts.var(), rel=0.06)


def test_lda_beats_independent_words_where_there_are_themes(two_themes):
    train, test = two_themes.take(range(1000)), two_themes.take(range(1000, 1500))
    found = fit_lda(train, 2).scores(test)
    share = train.dense().mean(axis=0)
    values = test.dense()
    alone = (values * np.log(share) + (1 - values) * np.log(1 - share)).sum()
    assert found.perp_ll < perplexity(alone, values.size) - 10 * found.perp_error


def test_the_dirichlet_parameters_solve_their_equation():
    truth = np.array([0.3, 1.2, 4.0])
    target = digamma(truth) - digamma(truth.sum())
    np.testing.assert_allclose(_most_likely_dirichlet(target, np.ones(3)), truth, rtol=1e-6)


def test_the_variational_posterior_does_not_move_at_its_fixed_point():
    words = np.array([[1.0, 0, 1], [1, 1, 0], [0, 0, 0]])
    found = topic_shares(words, TWO.topics, TWO.alpha, rounds=2000)
    share = np.exp(digamma(found) - digamma(found.sum(axis=1, keepdims=True)))
    again = TWO.alpha + share * ((words / (share @ TWO.topics)) @ TWO.topics.T)
    np.testing.assert_allclose(again, found, atol=1e-3)
    np.testing.assert_allclose(found.sum(axis=1), TWO.alpha.sum() + words.sum(axis=1))


def test_the_gamma_density_is_scipys():
    from loopylatent.analysis.evaluation.lda import _log_gamma

    x = np.array([0.1, 1.0, 7.0])
    np.testing.assert_allclose(_log_gamma(x, 1.6, 0.8), gamma.logpdf(x, 1.6, scale=1 / 0.8))


def test_tables_unsuitable_for_lda_are_rejected(two_themes):
    missing = two_themes.dense().copy()
    missing[0, 0] = np.nan
    with pytest.raises(DataError, match="missing"):
        fit_lda(two_themes.with_values(missing), 2)
    with pytest.raises(DataError, match="weights"):
        fit_lda(two_themes.with_weights(np.ones(1500)), 2)
    numbers = Observations.from_array(np.random.default_rng(0).normal(size=(9, 3)))
    with pytest.raises(DataError, match="score without LDA"):
        fit_lda(numbers, 2)
    with pytest.raises(ThresholdError, match="at least 2"):
        fit_lda(two_themes, 1)


def test_the_estimate_can_be_stopped_and_tells_how_far_it_is(two_themes):
    reported = []
    model = fit_lda(two_themes.take(range(300)), 2)
    model.scores(two_themes.take(range(50)), n_draws=20, progress=lambda *at: reported.append(at))
    done = [done for done, _ in reported]
    assert done[-1] > 0
    assert all(0 <= one <= total for one, total in reported)

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.scores(two_themes, progress=stop)
