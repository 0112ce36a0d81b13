"""Learning from lists of near neighbours gives what the full matrix gives."""

from __future__ import annotations

import numpy as np
from helpers.plain_learner import DenseNodeDistances
from helpers.word_tables import balanced_tables, both, tables
from hypothesis import given, settings, strategies as st

import loopylatent as ll
from loopylatent.errors import DistanceError
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.learning.node_distances import LazyNodeDistances


@given(
    obs=tables(),
    share=st.floats(0.1, 1.0),
    below=st.floats(0.3, 1.0),
    Lambda=st.sampled_from([0.0, 0.02, 0.1]),
    tau=st.sampled_from([0.0, 0.1, 0.5]),
    method=st.sampled_from(["quartet", "relaxed", "nj"]),
    order=st.sampled_from(["degree", "random"]),
)
@settings(max_examples=150, deadline=None)
def test_the_learned_graph_is_that_of_the_full_matrix(
    obs, share, below, Lambda, tau, method, order
):
    try:
        D, lists = both(obs, share)
    except DistanceError:
        return
    r = max(below * lists.cutoff, lists.smallest)
    assert initial_graph(lists, r) == initial_graph(D, r)
    how = {"Lambda": Lambda, "tau": tau, "method": method, "order": order, "seed": 3}
    dense, listed = ll.learn(D, r, **how), ll.learn(lists, r, **how)
    assert listed.graph == dense.graph
    assert [repr(step) for step in listed.trace] == [repr(step) for step in dense.trace]


@given(obs=balanced_tables(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_hidden_nodes_lie_where_the_full_matrix_puts_them(obs, seed):
    """Some at once, with edges that come in between, some of them together with a node."""
    rng = np.random.default_rng(seed)
    try:
        D, lists = both(obs, 0.3)
    except DistanceError:
        return
    dense, lazy = DenseNodeDistances(D.values), LazyNodeDistances(lists)
    alive = list(range(D.n_columns))
    newest = D.n_columns
    for _ in range(10):
        born = list(range(newest, newest + int(rng.integers(1, 4))))
        newest += len(born)
        members = sorted(rng.choice(alive, 3, replace=False).tolist())
        paths = np.abs(rng.normal(size=(3 + len(born), 3 + len(born))))
        edges = [rng.choice([*alive, *born], 2, replace=False).tolist() for _ in range(3)]
        dense.make_room(newest)
        for (u, v), length in zip(edges, paths[0], strict=False):
            dense.note_edge(u, v, length)
            lazy.note_edge(u, v, length)
        paths = paths + paths.T
        dense.place(members, born, paths, [*alive, *born])
        lazy.place(np.array(members), np.array(born), paths[3:])
        alive += born
        if newest % 3 == 0:
            some = sorted(rng.choice(alive, 4, replace=False).tolist())
            assert np.array_equal(dense.between(some), lazy.between(some))
    assert np.array_equal(dense.between(alive), lazy.between(alive))
