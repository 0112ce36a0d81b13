"""The four-point distortion: against a loop over all quartets, and zero on trees."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.synthetic.families import latent_cycle, latent_tree
from loopylatent.theory import assumptions
from loopylatent.theory.assumptions import distortion, quartet_sums


def by_hand(D: np.ndarray, i: int, j: int, k: int, m: int) -> tuple[float, float]:
    sums = sorted([D[i, j] + D[k, m], D[i, k] + D[j, m], D[i, m] + D[j, k]])
    return (sums[2] - sums[1]) / 2, (sums[1] - sums[0]) / 2


@given(st.integers(0, 10**6), st.integers(5, 9), st.floats(0.5, 3.0))
def test_every_ball_is_that_of_a_loop_over_its_quartets(seed, p, r):
    rng = np.random.default_rng(seed)
    values = rng.uniform(0.1, 3, (p, p))
    values = np.triu(values, 1) + np.triu(values, 1).T
    if seed % 3 == 0:
        values[0, 1] = values[1, 0] = np.inf
    D = DistanceMatrix.from_array(values)
    found = distortion(D, r)
    expected = {}
    for column in range(p):
        ball = [k for k in range(p) if values[column, k] <= r]
        with np.errstate(invalid="ignore"):
            quartets = [by_hand(values, *four) for four in combinations(ball, 4)]
        seen = [pair for pair in quartets if np.isfinite(pair[0])]
        if seen:
            bent, inner = np.array(seen).T
            expected[column] = (len(ball), np.median(bent), bent.max(), np.median(inner))
    assert found.columns.tolist() == list(expected)
    rows = [found.sizes, found.median, found.largest, found.inner]
    for k, values_of in enumerate(rows):
        np.testing.assert_allclose(values_of, [row[k] for row in expected.values()])


@pytest.mark.parametrize("seed", range(4))
def test_exact_trees_have_none(seed):
    D = latent_tree(6, 2, seed=seed, kind="gaussian").exact_distances()
    found = distortion(D, D.r_max)
    assert len(found.columns) == D.n_columns
    assert found.largest.max() < 1e-9
    assert found.typical_inner > 0.05


def test_a_short_ring_bends_distances_and_small_balls_less():
    D = latent_cycle(12, 2, lengths=(0.3, 0.3)).exact_distances()
    near, far = distortion(D, 0.95), distortion(D, D.r_max)
    assert far.largest.min() > 0.05
    assert near.largest.max() < far.largest.min() / 2


def test_noise_bends_distances_less_with_more_rows():
    model = latent_tree(5, 1, seed=2)
    few, many = (
        distortion(information_distances(model.sample(n, seed=1)), 2.0).typical
        for n in (200, 20_000)
    )
    assert many < few / 3


def test_balls_of_three_columns_have_no_quartet():
    D = latent_cycle(6, 2).distances()
    found = distortion(D, 0.1)
    assert (len(found.columns), found.n_quartets) == (0, 0)
    assert np.isnan(found.typical)


def test_large_balls_are_sampled_evenly():
    rng = np.random.default_rng(0)
    values = np.abs(np.subtract.outer(*[np.sort(rng.uniform(0, 4, 30))] * 2))
    values = values + np.triu(rng.uniform(0, 0.4, (30, 30)), 1)
    values = (values + values.T) / 2
    np.fill_diagonal(values, 0.0)
    D = DistanceMatrix.from_array(values)
    whole = [by_hand(values, *four)[0] for four in combinations(range(30), 4)]
    sampled = distortion(D, 10.0)
    assert sampled.n_quartets == 30 * assumptions.MAX_QUARTETS
    np.testing.assert_allclose(sampled.median, np.median(whole), rtol=0.1)
    four = assumptions._quartets(30, rng)
    assert (np.diff(np.sort(four, axis=1), axis=1) > 0).all()
    assert np.bincount(four.ravel(), minlength=30) == pytest.approx(
        np.full(30, 4 / 30 * 5000), rel=0.2
    )


def test_quartets_at_an_infinite_distance_have_no_distortion():
    values = np.array([[0, 1, 2, np.inf], [1, 0, 2, np.inf], [2, 2, 0, 1], [np.inf, np.inf, 1, 0]])
    bent, _ = quartet_sums(values, np.array([[0, 1, 2, 3]]))
    assert np.isnan(bent).all()
