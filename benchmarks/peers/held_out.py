"""Log-likelihood of held-out rows: our models and those of other packages, on the same halves."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from scipy.stats import multivariate_normal
from sklearn.covariance import GraphicalLassoCV
from sklearn.decomposition import FactorAnalysis
from sklearn.model_selection import cross_val_score

import loopylatent as ll
from benchmarks.peers.peers import (
    OURS,
    SKLEARN,
    Comparison,
    Found,
    Method,
    compare,
    elsewhere,
    pinned,
    published,
)
from loopylatent.analysis.evaluation.lda import fit_lda
from loopylatent.learning.refinement import RefinedStep

FloatArray = NDArray[np.float64]
SAMPLES = (
    "bfi25",
    "holzinger24",
    "irish_wind12",
    "ability16",
    "housevotes84",
    "newsgroups100_roweislike",
)
TEXTS = SAMPLES[-1]
TOPICS = 20
PENALTIES = np.geomspace(0.5, 0.001, 15).tolist()
N_STARTS = 5
OUR_LIMIT = 60
"""Seconds of processor time after which refinement stops at the end of a round."""
PRIOR = 0.5
"""Rows added to each class and to each state in it."""


@dataclass(frozen=True, slots=True, eq=False)
class Halves:
    """The complete rows of a sample: half to learn from, half to predict."""

    name: str
    train: ll.Observations
    test: ll.Observations

    @classmethod
    def of(cls, name: str) -> Halves:
        obs = ll.load_sample(name).observations
        obs = obs.take(np.flatnonzero(~np.isnan(obs.dense()).any(axis=1)))
        order = np.random.default_rng(0).permutation(obs.n_rows)
        half = obs.n_rows // 2
        return cls(name, obs.take(np.sort(order[:half])), obs.take(np.sort(order[half:])))

    @property
    def is_binary(self) -> bool:
        return set(self.train.kinds) == {"binary"}

    def standardised(self, half: ll.Observations) -> FloatArray:
        """Return rows in units of the training half."""
        values = self.train.dense()
        found: FloatArray = (half.dense() - values.mean(axis=0)) / values.std(axis=0)
        return found

    def gaussian(self, covariance: FloatArray) -> float:
        """Return the mean log-likelihood of test rows, from a covariance of standardised rows."""
        law = multivariate_normal(np.zeros(len(covariance)), covariance)
        units = np.log(self.train.dense().std(axis=0)).sum()
        return float(law.logpdf(self.standardised(self.test)).mean() - units)


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Latent classes: their shares, and the probability of state 1 of each column in each."""

    shares: FloatArray
    chances: FloatArray

    @property
    def df(self) -> int:
        return self.chances.size + len(self.shares) - 1

    def joint(self, rows: FloatArray) -> FloatArray:
        """(rows, classes) log-probability of a row and a class."""
        inside = rows @ np.log(self.chances).T + (1 - rows) @ np.log1p(-self.chances).T
        found: FloatArray = inside + np.log(self.shares)
        return found

    def log_likelihood(self, rows: FloatArray) -> FloatArray:
        found: FloatArray = logsumexp(self.joint(rows), axis=1)
        return found


def latent_classes(rows: FloatArray, n_classes: int, seed: int = 0) -> Classes:
    """Fit latent classes by EM with a weak prior; the best of several starts."""
    rng = np.random.default_rng(seed)
    starts = [rng.dirichlet(np.ones(n_classes), len(rows)) for _ in range(N_STARTS)]
    fits = [_by_em(rows, weights) for weights in starts]
    return max(fits, key=lambda fit: float(fit.log_likelihood(rows).sum()))


def _by_em(rows: FloatArray, weights: FloatArray) -> Classes:
    before = -np.inf
    while True:
        counts = weights.sum(axis=0)
        chances = (weights.T @ rows + PRIOR) / (counts[:, None] + 2 * PRIOR)
        fit = Classes((counts + PRIOR) / (counts + PRIOR).sum(), chances)
        joint = fit.joint(rows)
        likelihoods = logsumexp(joint, axis=1)
        if likelihoods.sum() < before + 1e-2:
            return fit
        before = likelihoods.sum()
        weights = np.exp(joint - likelihoods[:, None])


def chosen_classes(rows: FloatArray) -> Classes:
    """Raise the number of classes until the BIC has not risen twice in succession."""
    best, highest, failed, n_classes = latent_classes(rows, 1), -np.inf, 0, 1
    while failed < 2:
        fit = latent_classes(rows, n_classes)
        bic = float(fit.log_likelihood(rows).sum() - fit.df * np.log(len(rows)) / 2)
        failed = 0 if bic > highest else failed + 1
        if bic > highest:
            best, highest = fit, bic
        n_classes += 1
    return best


def tree_log_likelihood(
    parents: Sequence[int | None], tables: Sequence[Any], rows: FloatArray
) -> FloatArray:
    """Return the log-likelihood of binary rows under a tree of conditional probabilities.

    A table has a row for each state of the column, and a column for each state of the parent.
    """
    states = rows.astype(np.int64)
    total = np.zeros(len(rows))
    for column, (parent, table) in enumerate(zip(parents, tables, strict=True)):
        given = 0 if parent is None else states[:, parent]
        total += np.log(np.asarray(table)[states[:, column], given])
    return total


def ours(task: str, **how: Any) -> Method:
    """A graph learned in one of our ways, and its parameters."""

    def run(halves: Halves) -> Found:
        D = ll.information_distances(halves.train)
        rounds: list[ll.LatentGraph] = []
        start = time.process_time()

        def after_round(step: RefinedStep) -> None:
            rounds.append(step.graph)
            if time.process_time() - start > OUR_LIMIT:
                raise _EnoughError

        try:
            graph = ll.learn(D, obs=halves.train, trace=False, on_round=after_round, **how).graph
        except _EnoughError:
            return _fitted(rounds[-1], halves, f", stopped after {len(rounds)} rounds")
        return _fitted(graph, halves)

    return Method(task, OURS, run)


class _EnoughError(Exception):
    """The limit of time was reached."""


def _fitted(graph: ll.LatentGraph, halves: Halves, end: str = "") -> Found:
    model = ll.fit_parameters(graph, halves.train)
    note = f"{graph.n_hidden} hidden nodes, {graph.n_edges} edges{end}"
    return Found((float(model.log_likelihood(halves.test).mean()),), note)


def _spanning_tree(halves: Halves) -> Found:
    D = ll.information_distances(halves.train)
    return _fitted(ll.initial_graph(D, D.r_max), halves)


def _covariance(halves: Halves) -> Found:
    return Found((halves.gaussian(np.corrcoef(halves.train.dense().T)),))


def _graphical_lasso(halves: Halves) -> Found:
    # the default search of penalties starts with large ones and fails on strong correlations
    lasso = GraphicalLassoCV(alphas=PENALTIES, enet_tol=1e-7)
    fit = lasso.fit(halves.standardised(halves.train))
    n_edges = int((fit.precision_ != 0).sum() - len(fit.precision_)) // 2
    return Found((halves.gaussian(fit.covariance_),), f"{n_edges} edges")


def _factor_analysis(halves: Halves) -> Found:
    train = halves.standardised(halves.train)
    numbers = range(1, train.shape[1] // 2 + 1)
    best = max(numbers, key=lambda k: float(cross_val_score(FactorAnalysis(k), train).mean()))
    covariance = FactorAnalysis(best).fit(train).get_covariance()
    return Found((halves.gaussian(covariance),), f"{best} factors")


def gglasso(program: str, choice: str) -> Method:
    """Sparse and low-rank inverse covariance, with penalties chosen in one of two ways."""

    def run(halves: Halves) -> Found:
        answer = elsewhere(program, {"rows": halves.standardised(halves.train)})
        score = halves.gaussian(np.linalg.inv(answer.found["precision"]))
        return answer.scored(score, note=f"low-rank part of rank {answer.found['rank']}")

    return Method(f"graphical lasso with latent variables, {choice}", pinned("gglasso"), run)


def _latent_classes(halves: Halves) -> Found:
    fit = chosen_classes(halves.train.dense())
    score = float(fit.log_likelihood(halves.test.dense()).mean())
    return Found((score,), f"{len(fit.shares)} classes")


def _pgmpy(halves: Halves) -> Found:
    answer = elsewhere("pgmpy", {"rows": halves.train.dense()})
    return answer.scored(
        float(tree_log_likelihood(**answer.found, rows=halves.test.dense()).mean())
    )


def _corextopic(halves: Halves) -> Found:
    table = {"rows": halves.train.dense(), "n_groups": TOPICS}
    return elsewhere("corextopic", table).scored(None, note="defines no likelihood of a row")


def _lda(halves: Halves) -> Found:
    estimates = fit_lda(halves.train, TOPICS).log_likelihood(halves.test)
    error = np.sqrt(estimates.total_variance) / halves.test.n_rows
    return Found((float(estimates.values.mean()),), f"estimate with standard error {error:.3f}")


REFINED = "refined, prediction"
OUR_METHODS = (
    ours("plain tree"),
    ours("regularised", regularize="bic"),
    ours("refined, structure", refine="structure"),
    ours(REFINED, refine="prediction"),
    Method("spanning tree, no hidden nodes", OURS, _spanning_tree),
)
CONTINUOUS = (
    Method("graphical lasso, cross-validation", SKLEARN, _graphical_lasso),
    Method("factor analysis, cross-validation", SKLEARN, _factor_analysis),
    gglasso("gglasso", "eBIC"),
    gglasso("gglasso_cv", "cross-validation"),
    Method("covariance matrix of the training half", f"numpy {np.__version__}", _covariance),
)
BINARY = (
    Method("Chow-Liu tree, BDeu", pinned("pgmpy"), _pgmpy),
    Method("latent classes, BIC", "EM in this benchmark", _latent_classes),
)
WORDS = (
    Method(f"LDA, {TOPICS} topics", f"{SKLEARN}, our integration", _lda),
    Method(f"{TOPICS} topics by total correlation", pinned("corextopic"), _corextopic),
)


def methods(halves: Halves) -> Sequence[Method]:
    """Return the methods for the columns of a table."""
    if not halves.is_binary:
        return (*OUR_METHODS, *CONTINUOUS)
    if halves.name != TEXTS:
        return (*OUR_METHODS, *BINARY)
    own = tuple(one for one in OUR_METHODS if one.task != "refined, structure")
    return (*own, *BINARY, *WORDS)


def report(names: Sequence[str] = SAMPLES) -> str:
    results = compare(((f"`{name}`", Halves.of(name)) for name in names), methods)
    found = Comparison(("log-likelihood",), (1,), 3, REFINED, results)
    text = (
        "Mean log-likelihood of a row of the test half. Complete rows, split at random (seed 0); "
        "all settings are chosen on the training half. Bold: better than our graph refined for "
        "prediction. pgmpy's probabilities have its default prior; latent classes have a prior of "
        f"{PRIOR} rows. Refinement stops with the round in which {OUR_LIMIT} s of processor time "
        "have passed; graphs refined for structure are not computed for the newsgroup sample. The "
        "eBIC of gglasso scores the sparse part alone, so it selects no latent variables."
    )
    return published("peers_held_out", "held-out rows", text, found)
