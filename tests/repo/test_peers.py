"""The computing parts of the comparisons with other packages; the packages are not needed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from scipy.stats import multivariate_normal
from sklearn.metrics import adjusted_rand_score

import loopylatent as ll
from benchmarks.peers import held_out, peers
from benchmarks.peers.groups import ebic_precision, exploratory_graph_groups, nearest_hidden
from benchmarks.peers.peers import OURS, Comparison, Found, Method, NoResult, Result

ALL_ROWS = np.array(list(product((0.0, 1.0), repeat=4)))


@pytest.fixture
def two_classes():
    """Rows of two classes that overlap."""
    rng = np.random.default_rng(1)
    chances = np.array([[0.8, 0.7, 0.9, 0.6], [0.2, 0.3, 0.1, 0.3]])
    labels = (rng.random(300) < 0.4).astype(int)
    return (rng.random((300, 4)) < chances[labels]).astype(float)


def test_probabilities_of_latent_classes_are_sums_over_the_classes():
    fit = held_out.Classes(np.array([0.3, 0.7]), np.array([[0.9, 0.2, 0.5, 0.4], [0.1] * 4]))
    by_hand = [
        sum(
            share * np.prod(np.where(row == 1, chances, 1 - chances))
            for share, chances in zip(fit.shares, fit.chances, strict=True)
        )
        for row in ALL_ROWS
    ]
    assert np.exp(fit.log_likelihood(ALL_ROWS)) == pytest.approx(by_hand)
    assert sum(by_hand) == pytest.approx(1)
    assert fit.df == 9


def test_em_reaches_the_maximum_found_by_gradients(two_classes):
    def objective(fit):
        prior = np.log(fit.chances) + np.log1p(-fit.chances)
        return fit.log_likelihood(two_classes).sum() + held_out.PRIOR * (
            prior.sum() + np.log(fit.shares).sum()
        )

    def from_free(free):
        return held_out.Classes(np.exp(log_softmax(free[:2])), expit(free[2:].reshape(2, 4)))

    rng = np.random.default_rng(2)
    starts = rng.normal(size=(2, 10))
    best = max(-minimize(lambda x: -objective(from_free(x)), start).fun for start in starts)
    assert objective(held_out.latent_classes(two_classes, 2)) == pytest.approx(best, abs=0.1)


def test_bic_chooses_the_true_number_of_classes(two_classes):
    assert len(held_out.chosen_classes(two_classes).shares) == 2


def test_the_likelihood_of_a_tree_is_the_product_of_its_tables():
    parents = [None, 0, 1, 0]
    tables = [
        [[0.25], [0.75]],
        [[0.9, 0.2], [0.1, 0.8]],
        [[0.5, 0.3], [0.5, 0.7]],
        [[0.6, 0.4], [0.4, 0.6]],
    ]
    found = np.exp(held_out.tree_log_likelihood(parents, tables, ALL_ROWS))
    assert found.sum() == pytest.approx(1)
    row = [1.0, 0.0, 1.0, 1.0]
    assert found[ALL_ROWS.tolist().index(row)] == pytest.approx(0.75 * 0.2 * 0.5 * 0.6)


def test_halves_share_no_row_and_gaussian_likelihoods_have_the_units_of_the_table():
    halves = held_out.Halves.of("holzinger24")
    assert halves.train.n_rows + halves.test.n_rows == 301
    train, test = halves.train.dense(), halves.test.dense()
    assert not {tuple(row) for row in train.tolist()} & {tuple(row) for row in test.tolist()}
    law = multivariate_normal(train.mean(axis=0), np.cov(train.T, bias=True))
    assert halves.gaussian(np.corrcoef(train.T)) == pytest.approx(law.logpdf(test).mean())


def test_exploratory_graph_analysis_separates_blocks_of_columns():
    rng = np.random.default_rng(3)
    causes = rng.normal(size=(500, 3))
    known = np.repeat([0, 1, 2], 4)
    rows = causes[:, known] + rng.normal(size=(500, 12))
    assert adjusted_rand_score(known, exploratory_graph_groups(rows)) == 1


def test_ebic_leaves_independent_columns_unconnected():
    rows = np.random.default_rng(4).normal(size=(400, 6))
    precision = ebic_precision(np.corrcoef(rows.T), 400)
    assert np.count_nonzero(np.triu(precision, 1)) == 0


def test_columns_are_grouped_by_their_nearest_hidden_node():
    edges, lengths = [(0, 4), (1, 4), (4, 5), (2, 5)], [1.0, 1.0, 1.0, 1.0]
    graph = ll.LatentGraph.build(["a", "b", "c", "alone"], 2, edges, lengths)
    assert nearest_hidden(graph).tolist() == [4, 4, 5, 3]
    assert nearest_hidden(ll.LatentGraph.build(["a", "b"], 0, [(0, 1)])).tolist() == [0, 1]


def test_scores_better_than_ours_are_bold_and_named():
    def result(data, task, package, *scores):
        return Result(data, task, package, scores, 1.0, 1.0, "")

    found = Comparison(
        ("error", "agreement"), (-1, 1), 2, "refined",
        (
            result("ring", "refined", OURS, 0.1, 0.8),
            result("ring", "plain", OURS, 0.0, 0.9),
            result("ring", "other", "package 1", 0.05, 0.8004),
            result("tree", "refined", OURS, 0.0, 1.0),
            result("tree", "other", "package 1", None, 0.5),
            Result("tree", "slow", "package 2", (), None, None, "not finished"),
        ),
    )  # fmt: skip
    assert found.summary().splitlines() == [
        "| error | ring | tree |",
        "| --- | ---: | ---: |",
        "| refined | 0.10 | 0.00 |",
        "| plain | 0.00 |  |",
        "| other | **0.05** |  |",
        "",
        "| agreement | ring | tree |",
        "| --- | ---: | ---: |",
        "| refined | 0.80 | 1.00 |",
        "| plain | 0.90 |  |",
        "| other | 0.80 | 0.50 |",
        "",
        "By error, other packages are better on ring (other: 0.05 against 0.10).",
        "",
        "By agreement, no other package is better.",
    ]
    assert (
        found.table().splitlines()[-1] == "| tree | package 2 | slow |  |  |  |  | not finished |"
    )


def test_runs_are_averaged_and_those_without_result_counted():
    answers = iter([Found((1.0, None)), NoResult("fails"), Found((3.0, None))])

    def run(_):
        answer = next(answers)
        if isinstance(answer, NoResult):
            raise answer
        return answer

    method = Method("task", "package", run)
    scores, seconds, cpu, note = peers.averaged([peers.measured(method, None) for _ in range(3)])
    assert scores == (2.0, None)
    assert seconds >= 0 <= cpu
    assert note == "fails; 2 of 3 runs"


def test_packages_are_named_with_their_pinned_version():
    assert peers.pinned("pgmpy").split()[0] == "pgmpy"
    with pytest.raises(ValueError, match="gm is not in"):
        peers.pinned("gm")
