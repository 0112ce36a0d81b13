"""Exact sums against the enumeration of all states."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from helpers.models import SmallModel, log_sum, small_models
from hypothesis import given, settings

from loopylatent.compute._kernels.circuit import mixed, run_backward, run_forward
from loopylatent.compute._kernels.pairwise import group_rows
from loopylatent.graph import LatentGraph
from loopylatent.inference.circuit import Circuit, circuits, eliminate
from loopylatent.inference.evidence import Rows
from loopylatent.inference.exact import ExactPartition, ExactRows
from loopylatent.inference.parameters import Basis, Layout


def parts_of(model: SmallModel) -> tuple[ExactPartition, ExactRows]:
    layout = model.layout
    partition = ExactPartition(layout, eliminate(layout.graph, layout.n_states))
    rows = Rows.of(model.states[:, : layout.graph.n_observed])
    return partition, ExactRows.of(layout, rows)


@given(small_models())
def test_log_likelihoods_equal_enumeration(model):
    partition, rows = parts_of(model)
    joint, log_weight = model.enumerate()
    log_z = np.logaddexp.reduce(log_weight)
    assert partition.evaluate(model.cells).value == pytest.approx(log_z, rel=1e-11, abs=1e-9)
    expected = log_sum(log_weight, model.fits(joint))
    found = rows.row_values(model.cells)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-9)


@given(small_models())
def test_marginals_equal_enumeration(model):
    partition, _ = parts_of(model)
    marginals = partition.evaluate(model.cells).by_cells
    joint, log_weight = model.enumerate()
    probability = np.exp(log_weight - np.logaddexp.reduce(log_weight))
    layout = model.layout
    for v in range(layout.graph.n_nodes):
        expected = np.bincount(joint[:, v], probability, int(layout.n_states[v]))
        np.testing.assert_allclose(layout.node_table(marginals, v), expected, atol=1e-10)
    for edge, (u, v) in enumerate(layout.graph.edges.tolist()):
        table = layout.edge_table(marginals, edge)
        expected = np.zeros(table.shape)
        np.add.at(expected, (joint[:, u], joint[:, v]), probability)
        np.testing.assert_allclose(table, expected, atol=1e-10)


@given(small_models())
def test_posteriors_equal_enumeration(model):
    _, rows = parts_of(model)
    joint, log_weight = model.enumerate()
    allowed = np.where(model.fits(joint), log_weight, -np.inf)
    weight = np.exp(allowed - allowed.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    nodes = np.arange(model.graph.n_nodes)
    for v, found in enumerate(rows.posteriors(model.cells, nodes)):
        for state in range(int(model.layout.n_states[v])):
            expected = weight[:, joint[:, v] == state].sum(axis=1)
            np.testing.assert_allclose(found[:, state], expected, atol=1e-10)


@settings(max_examples=25)
@given(small_models(max_nodes=8))
def test_gradient_equals_finite_differences(model):
    partition, rows = parts_of(model)
    basis = Basis(model.layout)
    point = basis.parameters(model.cells)

    def value(x):
        cells = basis.cells(x)
        return rows.evaluate(cells).value - len(model.states) * partition.evaluate(cells).value

    cells = basis.cells(point)
    whole, some = partition.evaluate(cells), rows.evaluate(cells)
    gradient = basis.gradient(some.by_cells - len(model.states) * whole.by_cells)
    for k in range(len(point)):
        step = np.zeros(len(point))
        step[k] = 1e-5
        slope = (value(point + step) - value(point - step)) / 2e-5
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-4)


@given(small_models())
def test_weighted_rows_add_up(model):
    _, plain = parts_of(model)
    weights = np.random.default_rng(0).integers(0, 4, len(model.states)).astype(float)
    rows = Rows.of(model.states[:, : model.graph.n_observed], weights)
    total = ExactRows.of(model.layout, rows).evaluate(model.cells).value
    expected = weights @ plain.row_values(model.cells)
    assert total == pytest.approx(expected, rel=1e-10, abs=1e-8)


@given(small_models())
def test_coordinates_and_tables_are_the_same_model(model):
    layout = model.layout
    basis = Basis(layout)
    partition, rows = parts_of(model)
    again = basis.cells(basis.parameters(model.cells))
    for tables in (model.cells, again):
        likelihood = rows.row_values(tables) - partition.evaluate(tables).value
        if tables is model.cells:
            expected = likelihood
    np.testing.assert_allclose(likelihood, expected, rtol=1e-9, atol=1e-8)
    assert basis.matrix.shape == (layout.n_cells, layout.n_parameters)


@given(small_models())
def test_large_tables_are_computed_like_small_ones(model):
    layout = model.layout
    order = eliminate(layout.graph, layout.n_states)
    circuit = Circuit.of(layout, order, np.full((1, layout.graph.n_nodes), -1, np.int16))
    found = []
    for large in (2, 10**9):
        cells = np.zeros(circuit.n_cells)
        cells[: layout.n_cells] = model.cells
        run_forward(circuit.network, circuit.tape, cells, large)
        adjoint = np.zeros(circuit.n_cells)
        adjoint[circuit.tape.cell[circuit.roots]] = 1.0
        run_backward(circuit.network, circuit.tape, cells, adjoint, large)
        found.append((cells, adjoint[: layout.n_cells]))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-11)


@given(small_models(max_rows=20))
def test_rows_cut_into_several_circuits_give_the_same(model):
    layout = model.layout
    order = eliminate(layout.graph, layout.n_states)
    whole = Circuit.of(layout, order, model.states)
    expected = whole.row_sums(whole.forward(model.cells))
    for share in (True, False):
        cut = list(circuits(layout, order, model.states, share, most_cells=1))
        sums = [part.row_sums(part.forward(model.cells)) for part in cut]
        np.testing.assert_allclose(np.concatenate(sums), expected, rtol=1e-11, atol=1e-10)


@given(small_models(max_rows=20))
def test_posteriors_do_not_depend_on_how_rows_are_cut(model):
    _, rows = parts_of(model)
    nodes = np.arange(model.graph.n_nodes)
    whole = rows.posteriors(model.cells, nodes)
    with pytest.MonkeyPatch.context() as patch:
        cut = partial(circuits, most_cells=1)
        patch.setattr("loopylatent.inference.exact.circuits", cut)
        for found, expected in zip(rows.posteriors(model.cells, nodes), whole, strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-10)


def ring(n: int, n_hidden: int = 0) -> LatentGraph:
    edges = [(k, (k + 1) % n) for k in range(n)]
    return LatentGraph.build([f"x{k}" for k in range(n - n_hidden)], n_hidden, edges)


def test_equal_rows_and_equal_surroundings_are_summed_once():
    star = LatentGraph.build(list("abc"), 1, [(0, 3), (1, 3), (2, 3)])
    layout = Layout(star, np.full(4, 2))
    states = np.full((1000, 4), -1, np.int16)
    states[:, :3] = np.random.default_rng(0).integers(0, 2, (1000, 3))
    circuit = Circuit.of(layout, eliminate(star, given=np.arange(4) < 3), states)
    assert circuit.n_messages == 8


def test_a_row_without_values_sums_to_log_z():
    graph = ring(6, n_hidden=2)
    layout = Layout(graph, np.full(6, 2))
    cells = np.random.default_rng(1).normal(size=layout.n_cells)
    partition = ExactPartition(layout, eliminate(graph))
    rows = ExactRows.of(layout, Rows.of(np.full((2, 4), -1)))
    np.testing.assert_allclose(rows.row_values(cells), partition.evaluate(cells).value)


def test_strong_potentials_neither_overflow_nor_vanish():
    graph = ring(8)
    layout = Layout(graph, np.full(8, 2))
    basis = Basis(layout)
    point = np.concatenate([np.full(8, 300.0), np.full(8, -500.0)])
    found = ExactPartition(layout, eliminate(graph)).evaluate(basis.cells(point))
    assert found.value == pytest.approx(8 * 500 + np.log(2))
    assert np.isfinite(found.by_cells).all()
    np.testing.assert_allclose(layout.node_table(found.by_cells, 0), [0.5, 0.5])


def test_the_small_side_of_a_node_is_not_lost():
    graph = LatentGraph.build(["a", "b", "c"], 0, [(0, 1)])
    layout = Layout(graph, np.full(3, 2))
    cells = Basis(layout).cells(np.array([0.0, 0.0, 40.0, 0.5]))
    found = ExactPartition(layout, eliminate(graph)).evaluate(cells).by_cells
    assert layout.node_table(found, 2)[0] == pytest.approx(np.exp(-80), rel=1e-9)


@pytest.mark.parametrize(
    ("graph", "treewidth", "largest"),
    [
        (LatentGraph.build(list("abcd"), 0, [(0, 1), (1, 2), (2, 3)]), 1, 4),
        (ring(9), 2, 8),
        (LatentGraph.build(list("abcde"), 0, list(combinations(range(5), 2))), 4, 32),
        (LatentGraph.build(list("abc"), 0, []), 0, 2),
    ],
)
def test_treewidth_of_known_graphs(graph, treewidth, largest):
    found = eliminate(graph)
    assert (found.treewidth, 2.0**found.log2_largest) == (treewidth, largest)
    assert found.total_size == (2.0 ** (1 + found.widths)).sum()
    assert found.fits(largest)
    assert not found.fits(largest - 1)


def test_elimination_sums_out_only_unknown_nodes():
    given = np.arange(9) < 6
    found = eliminate(ring(9, n_hidden=3), given=given)
    assert sorted(found.order.tolist()) == [6, 7, 8]


def test_rows_are_cut_where_memory_ends():
    layout = Layout(ring(5, n_hidden=1), np.full(5, 2))
    states = np.full((50, 5), -1, np.int16)
    parts = list(circuits(layout, eliminate(layout.graph), states, True, most_cells=1))
    assert sum(part.n_rows for part in parts) == 50
    assert len(parts) > 1
    (whole,) = circuits(layout, eliminate(layout.graph), states, True)
    assert whole.n_rows == 50


def test_rows_are_grouped_alike_where_nothing_is_compiled():
    states = np.random.default_rng(0).integers(-1, 3, size=(60, 3)).astype(np.int16)
    columns = np.arange(3)
    with np.errstate(over="ignore"):  # hashes wrap around, with a warning where Python does it
        plain = group_rows.py_func(states, columns)
        hashed = mixed.py_func(mixed.py_func(17, 3), np.int16(2))
    for found, expected in zip(plain, group_rows(states, columns), strict=True):
        assert found.tolist() == expected.tolist()
    assert hashed == mixed(mixed(17, 3), np.int16(2))
