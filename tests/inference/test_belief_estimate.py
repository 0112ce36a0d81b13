"""The paper's own estimate: a ratio at the likeliest hidden state."""

from __future__ import annotations

import numpy as np
import pytest

from loopylatent.errors import InferenceError
from loopylatent.graph import LatentGraph
from loopylatent.inference.belief_estimate import belief_estimate
from loopylatent.inference.belief_propagation import Propagation
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.scores import perplexity, with_half_hidden
from loopylatent.tables.observations import Observations

RING = LatentGraph.build(
    list("abcdef"),
    3,
    [(0, 6), (1, 6), (2, 7), (3, 7), (4, 8), (5, 8), (6, 7), (7, 8), (6, 8)],
    [0.5, 0.6, 0.5, 0.7, 0.4, 0.6, 0.5, 0.6, 0.4],
)


def rows(n: int, seed: int = 0) -> Observations:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 1)) + 0.8 * rng.normal(size=(n, 3))
    values = hidden[:, [0, 0, 1, 1, 2, 2]] + rng.normal(size=(n, 6))
    return Observations.from_array((values > 0.4).astype(int), list("abcdef"))


@pytest.fixture(scope="module")
def model():
    return fit_parameters(RING, rows(1500))


def factorised(layout, beliefs: np.ndarray, states: np.ndarray, open_nodes: set[int]) -> float:
    """log of the product of beliefs: nodes, and edges over their two nodes, of the open part."""
    value = sum(np.log(layout.node_table(beliefs, v)[states[v]]) for v in open_nodes)
    for edge, (u, v) in enumerate(layout.graph.edges.tolist()):
        if u in open_nodes and v in open_nodes:
            pair = layout.edge_table(beliefs, edge)[states[u], states[v]]
            one = layout.node_table(beliefs, u)[states[u]]
            other = layout.node_table(beliefs, v)[states[v]]
            value += np.log(pair / (one * other))
    return float(value)


def ratio_at_likeliest_state(model, row: np.ndarray) -> float:
    """The footnote of the paper, literally: log P(x, h) - log P(h | x) by beliefs."""
    found = model.distribution
    propagation = Propagation(found.layout, found.method.elimination)
    n = model.graph.n_nodes
    known = np.full(n, -1, np.int16)
    known[: len(row)] = np.where(np.isnan(row), -1, row)
    given = propagation.row(found.cells, known)
    states = known.copy()
    open_nodes = {int(v) for v in np.flatnonzero(known < 0)}
    for v in open_nodes:
        states[v] = int(np.argmax(found.layout.node_table(given.by_cells, v)))
    whole = propagation.evaluate(found.cells)
    joint = factorised(found.layout, whole.by_cells, states, set(range(n)))
    return joint - factorised(found.layout, given.by_cells, states, open_nodes)


def test_it_is_the_ratio_of_the_papers_footnote(model):
    test = rows(60, seed=4)
    half = with_half_hidden(test, 2)
    whole = np.array([ratio_at_likeliest_state(model, row) for row in test.dense()])
    kept = np.array([ratio_at_likeliest_state(model, row) for row in half.dense()])
    found = belief_estimate(model, test, seed=2)
    assert found.converged == 1.0
    assert found.perp_ll == pytest.approx(perplexity(whole.sum(), 360), abs=1e-6)
    assert found.pred_perp_ll == pytest.approx(perplexity((whole - kept).sum(), 360), abs=1e-6)


def test_on_a_cycle_it_differs_from_the_exact_value(model):
    test = rows(60, seed=4)
    assert abs(belief_estimate(model, test).perp_ll - model.scores(test).perp_ll) > 1e-4


def test_progress_goes_up_and_can_stop_it(model):
    reported = []
    belief_estimate(
        model, rows(60, seed=4), progress=lambda done, total: reported.append(done / total)
    )
    assert reported == sorted(reported)
    assert 0 <= reported[0] < 0.5 <= reported[-1] <= 1

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        belief_estimate(model, rows(60), progress=stop)


def test_a_gaussian_model_needs_none():
    values = np.random.default_rng(0).normal(size=(100, 6))
    kinds = dict.fromkeys("abcdef", "continuous")
    gaussian = fit_parameters(RING, Observations.from_array(values, list("abcdef"), kinds=kinds))
    with pytest.raises(InferenceError, match="likelihood is exact"):
        belief_estimate(gaussian, rows(10))
