"""The graph while it is learned: contraction takes the edges that a plain search takes."""

from __future__ import annotations

import numpy as np
from helpers.plain_learner import DenseNodeDistances, PlainWorkspace
from hypothesis import given, settings, strategies as st

from loopylatent.compute import _kernels
from loopylatent.graph import LatentGraph
from loopylatent.learning.trace import Contraction


def edges_of_random_graph(seed, n, n_edges):
    """Many edges of equal length; parallel ones arise when the graph is contracted."""
    rng = np.random.default_rng(seed)
    edges = {}
    for _ in range(n_edges):
        pair = tuple(sorted(rng.choice(n, 2, replace=False).tolist()))
        edges.setdefault(pair, float(rng.integers(1, 6)) / 10)
    return edges


def plain_graph(n_observed, n_hidden, edges):
    names = tuple(f"c{k}" for k in range(n_observed))
    space = PlainWorkspace(
        LatentGraph.build(names, 0, [], np.empty(0)),
        DenseNodeDistances(np.zeros((n_observed, n_observed))),
    )
    n = n_observed + n_hidden
    space.neighbours.update({node: {} for node in range(n_observed, n)})
    space._distances.make_room(n)
    for (u, v), length in edges.items():
        space._set(u, v, length)
    return space


def compiled_graph(n_observed, n_hidden, edges):
    """All nodes as columns, of which the last ones become hidden."""
    n = n_observed + n_hidden
    ends = np.array(sorted(edges), np.int64).reshape(-1, 2)
    lengths = np.array([edges[pair] for pair in sorted(edges)], float)
    state = _kernels.learner.make_state(np.zeros((n, n)), n, ends, lengths, True)
    state.graph.counts[_kernels.learner.N_OBSERVED] = n_observed
    return state


@given(
    seed=st.integers(0, 2**32 - 1),
    n_observed=st.integers(3, 12),
    n_hidden=st.integers(1, 25),
    n_edges=st.integers(1, 90),
    limit=st.sampled_from([0.05, 0.25, 0.4, 0.9]),
)
@settings(max_examples=150, deadline=None)
def test_contractions_are_those_of_a_plain_search(seed, n_observed, n_hidden, n_edges, limit):
    edges = edges_of_random_graph(seed, n_observed + n_hidden, n_edges)
    plain = plain_graph(n_observed, n_hidden, edges)
    state = compiled_graph(n_observed, n_hidden, edges)
    state, merged, lengths = _kernels.learner.contract_graph(state, limit)
    found = zip(merged.tolist(), lengths.tolist(), strict=True)
    assert tuple(
        Contraction(*ends, length) for ends, length in found
    ) == plain.contract_short_edges(limit)
    left, graph = _kernels.learner.read_graph(state.graph), plain.graph()
    assert np.array_equal(left.edges, graph.edges)
    assert np.array_equal(left.lengths, graph.lengths)
