"""Distances that are given: their names, and numbers that differ by rounding alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import loopylatent as ll


def test_a_frame_brings_its_names():
    frame = pd.DataFrame(1.0 - np.eye(3), columns=list("xyz"), index=list("xyz"))
    assert ll.DistanceMatrix.from_array(frame).names == ("x", "y", "z")
    assert ll.DistanceMatrix.from_array(frame, names=list("abc")).names == ("a", "b", "c")


def test_halves_that_differ_by_rounding_become_equal():
    values = 1.0 - np.eye(4)
    values[0, 1] += 1e-12
    D = ll.DistanceMatrix.from_array(values)
    assert np.array_equal(D.values, D.values.T)
    assert D.values[0, 1] == pytest.approx(1.0 + 5e-13, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_columns_are_too_few(n):
    with pytest.raises(ll.DistanceError, match="at least 3"):
        ll.DistanceMatrix.from_array(1.0 - np.eye(n))


def test_the_name_that_is_given_twice_is_said():
    with pytest.raises(ll.DistanceError, match="'b'"):
        ll.DistanceMatrix.from_array(1.0 - np.eye(3), names=["a", "b", "b"])


def test_the_fingerprint_of_distances_stays_what_saved_results_hold():
    D = ll.DistanceMatrix.from_array([[0, 1, 3], [1, 0, 2.5], [3, 2.5, 0]], names=list("abc"))
    assert D.digest == "f6194775ec21429a"
