"""The exact curve with progress: the same result, reports, and a way to cancel."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.strategies import distance_matrices
from hypothesis import given

from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.learning.initial_graph import (
    curve_with_progress,
    edge_density,
)


class Enough(Exception):
    """Raised by the progress of a test, to cancel."""


def walk(p: int, seed: int = 0) -> DistanceMatrix:
    """Distances between many columns that follow each other."""
    rows = np.cumsum(np.random.default_rng(seed).normal(size=(60, p)), axis=1)
    values = np.maximum(-np.log(np.abs(np.corrcoef(rows.T)) + 1e-9), 0.0)
    np.fill_diagonal(values, 0.0)
    return DistanceMatrix.from_array(np.maximum(values, values.T), n_samples=60)


@given(distance_matrices())
def test_the_curve_with_progress_is_the_exact_curve(D):
    reported: list[tuple[int, int]] = []
    curve = curve_with_progress(D, lambda done, total: reported.append((done, total)))
    assert np.array_equal(curve.intervals, edge_density(D).intervals)
    assert reported[-1] == (D.n_columns, D.n_columns)


def test_many_columns_on_several_threads():
    D = walk(230)
    reported: list[int] = []
    curve = curve_with_progress(D, lambda done, _: reported.append(done))
    assert np.array_equal(curve.intervals, edge_density(D).intervals)
    assert reported[0] == 0
    assert reported[-1] == 230
    assert len(set(reported)) > 2, "there are reports on the way"


def test_the_curve_can_be_stopped():
    def stop(done: int, _: int) -> None:
        if done:
            raise Enough

    with pytest.raises(Enough):
        curve_with_progress(walk(230), stop)
