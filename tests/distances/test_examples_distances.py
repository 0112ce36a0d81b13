"""Small examples of inner functions, with what they give."""

from __future__ import annotations

import io

import numpy as np

from loopylatent.distances.files import to_npz
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.distances.strengths import correlation_noise_floor


def test_example_of_correlation_noise_floor():
    assert round(correlation_noise_floor(8121), 2) == 3.81


def test_example_of_to_npz():
    D = DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]], n_samples=50)
    known = ["is_additive", "metric", "n_samples", "names", "noise_floor", "values"]
    assert sorted(np.load(io.BytesIO(to_npz(D)))) == known
