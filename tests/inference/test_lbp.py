"""Belief propagation against exact sums."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.models import small_models
from hypothesis import given

from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_propagation import PropagatedRows, Propagation
from loopylatent.inference.circuit import eliminate
from loopylatent.inference.evidence import Rows
from loopylatent.inference.exact import ExactPartition, ExactRows
from loopylatent.inference.parameters import Basis, Layout


def propagation(layout: Layout) -> Propagation:
    return Propagation(layout, eliminate(layout.graph, layout.n_states))


def exact(layout: Layout) -> ExactPartition:
    return ExactPartition(layout, eliminate(layout.graph, layout.n_states))


@given(small_models(trees=True))
def test_it_is_exact_on_trees(model):
    found = propagation(model.layout).evaluate(model.cells)
    truth = exact(model.layout).evaluate(model.cells)
    assert found.converged
    assert found.value == pytest.approx(truth.value, rel=1e-10, abs=1e-8)
    np.testing.assert_allclose(found.by_cells, truth.by_cells, atol=1e-7)


@given(small_models(trees=True))
def test_rows_are_exact_on_trees(model):
    rows = Rows.of(model.states[:, : model.graph.n_observed])
    found = PropagatedRows(propagation(model.layout), rows)
    truth = ExactRows.of(model.layout, rows)
    np.testing.assert_allclose(
        found.row_values(model.cells), truth.row_values(model.cells), rtol=1e-10, atol=1e-8
    )
    one, other = found.evaluate(model.cells), truth.evaluate(model.cells)
    assert one.value == pytest.approx(other.value, rel=1e-10, abs=1e-8)
    np.testing.assert_allclose(one.by_cells, other.by_cells, atol=1e-6)
    nodes = np.arange(model.graph.n_nodes)
    for belief, posterior in zip(
        found.posteriors(model.cells, nodes), truth.posteriors(model.cells, nodes), strict=True
    ):
        np.testing.assert_allclose(belief, posterior, atol=1e-7)


def loop(coupling: float) -> tuple[Layout, np.ndarray]:
    graph = LatentGraph.build(list("abcd"), 0, [(0, 1), (1, 2), (2, 3), (0, 3)])
    layout = Layout(graph, np.full(4, 2))
    return layout, Basis(layout).cells(np.concatenate([np.zeros(4), np.full(4, coupling)]))


def test_on_a_ring_the_bethe_value_misses_the_contribution_of_the_cycle():
    layout, cells = loop(1.0)
    found = propagation(layout).evaluate(cells)
    truth = exact(layout).evaluate(cells)
    # without fields Bethe gives 4 log 2 + 4 log cosh J; going round adds tanh(J)^4
    assert found.converged
    assert truth.value - found.value == pytest.approx(np.log1p(np.tanh(1.0) ** 4), abs=1e-6)


def test_the_residual_says_where_it_does_not_settle():
    graph = LatentGraph.build([f"x{k}" for k in range(8)], 0, [
        (u, v) for v in range(8) for u in range(v)
    ])  # fmt: skip
    layout = Layout(graph, np.full(8, 2))
    rng = np.random.default_rng(4)
    cells = Basis(layout).cells(rng.normal(scale=2.0, size=layout.n_parameters))
    found = propagation(layout).evaluate(cells)
    assert not found.converged
    assert found.residual > 1e-6


def test_beliefs_are_the_slope_of_the_bethe_value_where_it_settled():
    layout, cells = loop(0.4)
    run = propagation(layout)
    found = run.evaluate(cells)
    for k in range(layout.n_cells):
        step = np.zeros(layout.n_cells)
        step[k] = 1e-5
        slope = (run.evaluate(cells + step).value - run.evaluate(cells - step).value) / 2e-5
        assert found.by_cells[k] == pytest.approx(slope, abs=1e-5)


def test_the_same_model_has_the_same_value_twice():
    layout, cells = loop(2.0)
    run = propagation(layout)
    first = run.evaluate(cells)
    run.evaluate(-cells)
    assert run.evaluate(cells).value == first.value
