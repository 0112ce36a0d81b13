"""Trials: sums of products, the compiled optimiser, and starts carried over."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

import loopylatent as ll
from loopylatent.compute._kernels import climb as kernels
from loopylatent.compute._kernels.products import multiply_backward, multiply_forward
from loopylatent.inference.optimise import maximise
from loopylatent.inference.problems import Fitted, family_of
from loopylatent.inference.trials import Effort, cannot_reach, climb
from loopylatent.settings import FitSettings
from loopylatent.tables.observations import Observations

# two rings that share the edge of the hidden nodes 8 and 9
EDGES = [(0, 8), (1, 8), (8, 9), (2, 9), (3, 9), (0, 4), (4, 5), (5, 2), (1, 6), (6, 7), (7, 3)]


def family(n_states: int, missing: float = 0.0):
    rng = np.random.default_rng(n_states)
    hidden = rng.integers(0, n_states, (400, 2))
    codes = np.where(rng.random((400, 8)) < 0.6, hidden[:, [0, 0, 1, 1, 0, 1, 0, 1]], -1)
    codes = np.where(codes < 0, rng.integers(0, n_states, (400, 8)), codes)
    values = np.array(list("abc"), dtype=object)[codes]
    values[rng.random(values.shape) < missing] = None
    obs = Observations.from_array(values)
    return family_of(obs, obs.names, FitSettings())


def graph(extra=()):
    return ll.LatentGraph.build([f"x{j + 1}" for j in range(8)], 2, [*EDGES, *extra])


def dense_graph():
    """All columns joined: tables of more than 32 entries."""
    pairs = [(u, v) for v in range(8) for u in range(v)]
    return ll.LatentGraph.build([f"x{j + 1}" for j in range(8)], 0, pairs)


CASES = [(2, 0.0), (2, 0.1), (3, 0.0), (3, 0.1)]


@pytest.mark.parametrize(("n_states", "missing"), CASES)
@pytest.mark.parametrize("make", [graph, dense_graph])
@pytest.mark.parametrize("scale", [1.0, 12.0])
def test_sums_of_products_equal_sums_of_logarithms(n_states, missing, make, scale):
    """With the larger scale messages are divided by their largest entries."""
    problem = family(n_states, missing).problem(make())
    tables = scale * np.random.default_rng(1).normal(size=problem.layout.n_cells)
    rows, whole, clamped, *_ = problem.likelihood
    expected = [problem._sums.evaluate(tables), problem._partition.evaluate(tables)]
    for sums, wanted, known in zip((rows, whole), expected, (clamped, 0 * clamped), strict=True):
        cells, adjoint = np.empty((2, sums.cell[-1]))
        entries, by_entries = np.empty((2, sums.first_entry[-1]))
        tops = np.empty(len(sums.scheme))
        found = multiply_forward(sums, tables, cells, entries, tops)
        assert found + known @ tables == pytest.approx(wanted.value, rel=1e-12)
        multiply_backward(sums, len(tables), cells, entries, tops, adjoint, by_entries)
        by_cells = adjoint[: len(tables)] + known
        np.testing.assert_allclose(by_cells, wanted.by_cells, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("n_states", "missing"), CASES)
def test_the_compiled_optimiser_ends_where_the_other_does(n_states, missing):
    chosen = family(n_states, missing)
    problem = chosen.problem(graph())
    start = chosen.start(problem)
    limits = Effort(2000).limits(problem)._replace(tolerance=1e-7, settled=0.0)
    point, history, slope = kernels.climb(problem.likelihood, start, limits)
    expected = maximise(problem.evaluate, start, max_steps=2000, tolerance=1e-7)
    assert history[-1] == pytest.approx(expected.value, abs=1e-7)
    assert (np.diff(history) > 0).all()
    there = problem.evaluate(point)
    assert there.value == pytest.approx(history[-1], abs=1e-10)
    assert np.abs(there.gradient).max() == pytest.approx(slope, abs=1e-9)


def test_more_steps_are_never_worse():
    chosen = family(2)
    problem = chosen.problem(graph())
    start = chosen.start(problem)
    values = [climb(problem, start, Effort(steps)).value for steps in range(12)]
    assert values[0] == pytest.approx(problem.evaluate(start).value, abs=1e-12)
    assert all(after > before for before, after in pairwise(values))


def test_a_trial_is_given_up_if_it_cannot_reach_the_target():
    chosen = family(2)
    problem = chosen.problem(graph())
    start = chosen.start(problem)
    best = climb(problem, start, Effort(1000)).value
    given_up = climb(problem, start, Effort(1000, target=best + 1.0))
    six_steps = climb(problem, start, Effort(5))
    assert given_up.value < best - 1e-6
    assert given_up.value >= six_steps.value
    assert climb(problem, start, Effort(1000, target=best - 1e-3)).value >= best - 1e-3


def test_a_fit_is_given_up_where_four_more_rises_do_not_reach_the_target():
    values = [-100.0, -10.0, 1.0, 2.0, 4.0, 5.0, 6.0]  # 16 in the last five steps
    assert not cannot_reach(values, Effort(9, target=6.0 + 4 * 16))
    assert cannot_reach(values, Effort(9, target=6.0 + 4 * 16 + 0.01))
    assert not cannot_reach(values[:5], Effort(9, target=1000.0))
    assert not cannot_reach(values, Effort(9, target=1000.0, window=7))


def test_a_trial_can_be_stopped():
    chosen = family(2)
    problem = chosen.problem(graph())
    start = chosen.start(problem)
    found = climb(problem, start, Effort(1000, stop=np.ones(1, np.bool_)))
    np.testing.assert_array_equal(found.point, start)


def test_products_out_of_range_fall_back_to_logarithms():
    chosen = family(2)
    problem = chosen.problem(graph())
    start = chosen.start(problem) + 800.0
    assert np.isfinite(problem.evaluate(start).value)
    found = climb(problem, start, Effort(3))
    assert found.value > problem.evaluate(start).value


@pytest.mark.parametrize(("n_states", "missing"), CASES)
def test_the_same_graph_keeps_its_parameters(n_states, missing):
    chosen = family(n_states, missing)
    problem = chosen.problem(graph())
    fitted = climb(problem, chosen.start(problem), Effort(30))
    kept = chosen.continued(fitted, chosen.problem(graph()), np.arange(10))
    np.testing.assert_array_equal(kept, fitted.point)


@pytest.mark.parametrize("n_states", [2, 3])
def test_a_changed_graph_starts_close_to_the_fitted_one(n_states):
    """Without hidden node 8, whose columns are joined instead; 9 becomes node 8."""
    chosen = family(n_states)
    problem = chosen.problem(graph())
    fitted = climb(problem, chosen.start(problem), Effort(100))
    edges = [(0, 1), (0, 8), (2, 8), (3, 8), *EDGES[5:]]
    changed = chosen.problem(ll.LatentGraph.build(problem.graph.names, 1, edges))
    start = chosen.continued(fitted, changed, np.array([*range(8), 9]))
    carried, fresh = changed.evaluate(start).value, changed.evaluate(chosen.start(changed)).value
    assert carried > fresh
    assert climb(changed, start, Effort(30)).value > carried


def test_nodes_in_another_order_keep_their_tables():
    """The hidden nodes change places: an edge between them is turned around."""
    chosen = family(3)
    problem = chosen.problem(graph())
    fitted = climb(problem, chosen.start(problem), Effort(30))
    turned = [(a, {8: 9, 9: 8}.get(b, b)) if a < 8 else (8, 9) for a, b in EDGES]
    other = chosen.problem(ll.LatentGraph.build(problem.graph.names, 2, turned))
    point = chosen.continued(fitted, other, np.array([*range(8), 9, 8]))
    assert other.evaluate(point).value == pytest.approx(fitted.value, abs=1e-12)


def test_trials_in_threads_give_the_same():
    chosen = family(2)
    first = chosen.problem(graph())
    fitted = climb(first, chosen.start(first), Effort(50))
    extra = [(0, 9), (1, 9), (2, 8), (3, 8), (0, 1), (2, 3), (4, 9), (5, 8)]

    def trial(edge) -> Fitted:
        problem = chosen.problem(graph([edge]))
        return climb(problem, chosen.continued(fitted, problem, np.arange(10)), Effort(25))

    expected = [trial(edge) for edge in extra]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(trial, extra))
    for one, other in zip(found, expected, strict=True):
        assert one.value == other.value
        np.testing.assert_array_equal(one.point, other.point)
