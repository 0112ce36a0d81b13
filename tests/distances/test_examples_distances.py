"""Small examples of inner functions, with what they give."""

from __future__ import annotations

from loopylatent.distances.strengths import correlation_noise_floor


def test_example_of_correlation_noise_floor():
    assert round(correlation_noise_floor(8121), 2) == 3.81
