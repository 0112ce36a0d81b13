"""Random distance matrices for property tests, with and without ties and infinities."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from loopylatent.distances.matrix import DistanceMatrix


@st.composite
def distance_matrices(draw, min_columns=3, max_columns=14, ties=True, infinities=True):
    seed = draw(st.integers(0, 2**32 - 1))
    p = draw(st.integers(min_columns, max_columns))
    rng = np.random.default_rng(seed)
    noise = np.cumsum(rng.normal(size=(draw(st.integers(5, 200)), p)), axis=1)
    rho = np.corrcoef(noise[:, rng.permutation(p)].T)
    values = 0.001 + np.maximum(-np.log(np.abs(rho) + 1e-9), 0.0)  # no ties by clipping
    if ties and draw(st.booleans()):
        values = np.maximum(np.round(values * 4) / 4, 0.25)
    if infinities and draw(st.booleans()):
        values[rng.random((p, p)) < 0.3] = np.inf
    values = np.maximum(values, values.T)
    np.fill_diagonal(values, 0.0)
    if not np.isfinite(values[~np.eye(p, dtype=bool)]).any():
        values[0, 1] = values[1, 0] = 1.0
    return DistanceMatrix.from_array(values, n_samples=100)
