"""Small examples of inner functions, with what they give."""

from __future__ import annotations

import math

import numpy as np

import loopylatent as ll
from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_estimate import belief_estimate
from loopylatent.inference.circuit import eliminate
from loopylatent.inference.discrete import layout_of, pair_strength
from loopylatent.inference.evidence import encode, rows_like
from loopylatent.inference.gaussian import inverse_of
from loopylatent.inference.optimise import Value, log_ratio, maximise, representatives
from loopylatent.inference.parameters import Basis, Layout, contrasts_of
from loopylatent.inference.scores import bic, perplexity, with_half_hidden
from loopylatent.tables.kinds import Column
from loopylatent.tables.observations import Observations


def test_example_of_belief_estimate():
    truth = ll.synthetic.latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=1)
    model = ll.fit_parameters(truth.graph, truth.sample(500))
    test = truth.sample(100, seed=5)
    assert abs(belief_estimate(model, test).perp_ll - model.scores(test).perp_ll) < 1e-9


def test_example_of_eliminate():
    ring = LatentGraph.build(list("abcde"), 0, [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)])
    found = eliminate(ring)
    assert (found.treewidth, found.log2_largest, found.fits()) == (2, 3.0, True)


def test_example_of_layout_of():
    star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    columns = [Column(name, "categorical", ("x", "y", "z")) for name in "abc"]
    assert layout_of(star, columns).n_states.tolist() == [3, 3, 3, 3]


def test_example_of_pair_strength():
    assert round(pair_strength(np.array([[0.4, 0.1], [0.1, 0.4]])), 6) == 0.6


def test_example_of_encode():
    table = Observations.from_array([[0, 1, 1], [1, 1, 0], [0, 0, 0]])
    assert encode(table, table.columns).states.tolist() == [[0, 1, 1], [1, 1, 0], [0, 0, 0]]


def test_example_of_rows_like():
    known = Observations.from_array([[0, 1, 1], [1, 1, 0], [0, 0, 0]])
    assert rows_like([[1, 1, 1]], known).n_rows == 1


def test_example_of_inverse_of():
    found = inverse_of(np.diag([2.0, 4.0]))
    assert (np.diag(found.matrix).round(6).tolist(), round(found.log_det, 4)) == (
        [0.5, 0.25],
        -2.0794,
    )
    assert inverse_of(np.array([[1.0, 2.0], [2.0, 1.0]])) is None


def test_example_of_climb():
    def hill(x):
        return Value(-float(((x - 3) ** 2).sum()), -2 * (x - 3))

    found = maximise(hill, np.zeros(2), max_steps=50, tolerance=1e-6)
    assert (found.point.round(6).tolist(), found.converged) == ([3.0, 3.0], True)


def test_example_of_layout():
    pair = LatentGraph.build(["a", "b"], 0, [(0, 1)])
    layout = Layout(pair, np.array([2, 3]))
    assert (layout.n_cells, layout.n_parameters) == (11, 5)


def test_example_of_basis():
    pair = LatentGraph.build(["a", "b"], 0, [(0, 1)])
    cells = Basis(Layout(pair, np.array([2, 2]))).cells(np.array([0.5, 1.0, 2.0]))
    assert cells.round(6).tolist() == [-0.5, 0.5, -1.0, 1.0, 2.0, -2.0, -2.0, 2.0]


def test_example_of_contrasts_of():
    assert contrasts_of(np.array([0.5, 0.5])).round(6).ravel().tolist() == [-1.0, 1.0]


def test_example_of_perplexity():
    assert round(perplexity(-100 * math.log(2), 100), 6) == 2.0


def test_example_of_bic():
    assert round(bic(-50.0, df=2, n_samples=100), 4) == -54.6052


def test_example_of_with_half_hidden():
    table = Observations.from_array([[0, 1, 1, 0], [1, 0, 1, 1], [0, 1, 0, 1]])
    assert np.isnan(with_half_hidden(table).values).sum(axis=1).tolist() == [2, 2, 2]


def test_example_of_representatives():
    star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)], [2.0, 1.0, 3.0])
    assert representatives(star).tolist() == [0, 1, 2, 1]


def test_example_of_log_ratio():
    half = np.array([0.5, 0.5])
    assert np.exp(log_ratio(half, half, np.array([[0.6]]))).round(3).tolist() == [
        [1.6, 0.4],
        [0.4, 1.6],
    ]
