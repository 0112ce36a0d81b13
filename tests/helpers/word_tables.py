"""Sparse tables, with their distances as full matrices and as lists of near pairs."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse

import loopylatent as ll
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.sparse import SparseDistances, sparse_distances
from loopylatent.errors import DataError


@st.composite
def word_tables(draw):
    """Tables with few nonzero cells; some columns are correlated."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, p = draw(st.integers(20, 150)), draw(st.integers(4, 24))
    topics = rng.random((n, max(1, p // 4))) < 0.3
    weights = rng.random((topics.shape[1], p)) < 0.4
    probability = 0.03 + 0.5 * (topics @ weights > 0) * rng.random(p)
    often = rng.integers(1, 4, (n, p)) if draw(st.booleans()) else 1
    obs = ll.Observations.from_array(
        sparse.csr_array(((rng.random((n, p)) < probability) * often).astype(float)),
        on_degenerate="drop",
    )
    drawn = {
        "none": None,
        "whole": rng.integers(0, 4, n).astype(float),
        "parts": rng.random(n),
        "few": rng.random(n)
        * (rng.random(n) < 0.2),  # columns may be constant in the weighted rows
    }
    return obs.with_weights(drawn[draw(st.sampled_from(sorted(drawn)))])


@st.composite
def balanced_tables(draw):
    """Few rows, half or a quarter of the values 1: many correlations are exactly 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ones = np.repeat([[8], [4]], 8, axis=0).repeat(2, axis=1)[: draw(st.integers(5, 16)), 0]
    columns = [rng.permutation(np.arange(16) < count) for count in ones]
    return ll.Observations.from_array(sparse.csr_array(np.array(columns).T.astype(float)))


def both(obs: ll.Observations, share: float) -> tuple[DistanceMatrix, SparseDistances]:
    """Return the full matrix, and lists up to a quantile of its distances."""
    D = ll.information_distances(obs, on_degenerate="drop")
    near = D.values[np.isfinite(D.values) & (D.values > 0)]
    cutoff = float(np.quantile(near, share))
    return D, sparse_distances(obs, cutoff, on_degenerate="drop")


@st.composite
def tables(draw):
    """Tables of either type; an unusable word table is drawn again."""
    for _ in range(5):
        try:
            return draw(st.one_of(word_tables(), balanced_tables()))
        except DataError:
            continue
    return draw(balanced_tables())
