"""The graph while it is learned: contraction takes the edges that a plain search takes."""

from __future__ import annotations

import numpy as np
from helpers.reference import DenseNodeDistances
from hypothesis import given, settings, strategies as st

from loopylatent.graph import LatentGraph
from loopylatent.learning.sparse_learner import SparseWorkspace
from loopylatent.learning.trace import Contraction


def random_workspace(seed, n_observed, n_hidden, n_edges):
    """A graph with many edges of equal length; parallel ones arise when it is contracted."""
    rng = np.random.default_rng(seed)
    names = tuple(f"c{k}" for k in range(n_observed))
    space = SparseWorkspace(
        LatentGraph.build(names, 0, [], np.empty(0)),
        DenseNodeDistances(np.zeros((n_observed, n_observed))),
    )
    n = n_observed + n_hidden
    space.neighbours.update({node: {} for node in range(n_observed, n)})
    space._distances.make_room(n)
    for _ in range(n_edges):
        u, v = rng.choice(n, 2, replace=False).tolist()
        if v not in space.neighbours[u]:
            space._set(u, v, float(rng.integers(1, 6)) / 10)
    return space


def contract_plainly(space, limit):
    """Look through all edges again for every contraction."""
    contracted = []
    while short := [
        (length, u, v)
        for u, ends in space.neighbours.items()
        for v, length in ends.items()
        if u < v and length < limit and space.is_hidden(v)
    ]:
        length, stays, goes = min(short)
        space._set(stays, goes, None)
        space._move_edges(goes, stays)
        contracted.append(Contraction(goes, stays, length))
    return tuple(contracted)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_observed=st.integers(3, 12),
    n_hidden=st.integers(1, 25),
    n_edges=st.integers(1, 90),
    limit=st.sampled_from([0.05, 0.25, 0.4, 0.9]),
)
@settings(max_examples=150, deadline=None)
def test_contractions_are_those_of_a_plain_search(seed, n_observed, n_hidden, n_edges, limit):
    plain = random_workspace(seed, n_observed, n_hidden, n_edges)
    quick = plain.copy()
    assert quick.contract_short_edges(limit) == contract_plainly(plain, limit)
    assert quick.neighbours == plain.neighbours
    assert [list(ends) for ends in quick.neighbours.values()] == [
        list(ends) for ends in plain.neighbours.values()
    ]
    assert quick.take_changes() == plain.take_changes()


def test_each_edge_is_looked_at_a_few_times(monkeypatch):
    """A long chain of hidden nodes: a search for every contraction would look at all of it."""
    n = 400
    space = random_workspace(0, 3, n, 0)
    for node in range(3, n + 2):
        space._set(node, node + 1, 0.1)
    looked, plain = [], SparseWorkspace.is_hidden
    monkeypatch.setattr(SparseWorkspace, "is_hidden", lambda *a: (looked.append(1), plain(*a))[1])
    assert len(space.contract_short_edges(0.2)) == n - 1
    assert len(looked) < 5 * n
