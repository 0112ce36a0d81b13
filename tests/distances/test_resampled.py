"""Distances of resamples equal those of the weighted table."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import sparse

from loopylatent.distances import resampled
from loopylatent.distances.matrix import information_distances
from loopylatent.distances.resampled import BATCH, weighted_distances
from loopylatent.errors import DistanceError, LoopyLatentError
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import load_sample

EXACT = ["newsgroups100_roweislike", "bfi25", "ability16", "mammals47_dna"]


def free(*_: int) -> None:
    """Nobody stops the work."""


def drawn(obs: Observations, count: int = BATCH, seed: int = 0) -> list[np.ndarray]:
    share = np.full(obs.n_rows, 1 / obs.n_rows)
    rngs = (np.random.default_rng([seed, k]) for k in range(count))
    return [rng.multinomial(obs.n_rows, share).astype(float) for rng in rngs]


def expected(obs, metric, weights):
    """Values or the error of each resample, by the weighted table."""
    found = []
    for own in weights:
        try:
            found.append(information_distances(obs.with_weights(own), metric))
        except DistanceError as error:
            found.append(str(error))
    return found


def assert_equal(found, known):
    for one, other in zip(found, known, strict=True):
        if isinstance(other, str):
            assert str(one) == other
            continue
        assert not isinstance(one, LoopyLatentError)
        assert one.values.tobytes() == other.values.tobytes()
        assert (one.names, one.n_samples) == (other.names, other.n_samples)
        assert (one.metric, one.is_additive) == (other.metric, other.is_additive)
        assert not one.values.flags.writeable


def binary(seed: int, n: int, p: int, share: float) -> np.ndarray:
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    return (rng.normal(size=(n, p)) + common < np.quantile(rng.normal(size=99), share)).astype(
        float
    )


@pytest.mark.parametrize("name", EXACT)
def test_tables_of_whole_numbers_give_the_same_bits(name):
    obs = load_sample(name).observations
    weights = drawn(obs, 3)
    assert_equal(weighted_distances(obs, "auto")(weights, free), expected(obs, "auto", weights))


@pytest.mark.parametrize("name", ["irish_wind12", "holzinger24"])
def test_other_numbers_differ_in_the_last_digits_alone(name):
    obs = load_sample(name).observations
    weights = drawn(obs, 3)
    found = weighted_distances(obs, "auto")(weights, free)
    for one, other in zip(found, expected(obs, "auto", weights), strict=True):
        assert one.values == pytest.approx(other.values, rel=1e-11, abs=1e-12)


@given(
    st.integers(0, 2**31), st.integers(3, 60), st.integers(3, 9), st.floats(0.02, 0.3),
    st.integers(1, BATCH), st.booleans(),
)  # fmt: skip
def test_rare_ones_give_the_same_bits_and_errors(seed, n, p, share, count, is_sparse):
    values = binary(seed, n, p, share)
    values[0], values[1] = 1.0, 0.0
    obs = Observations.from_array(sparse.csr_array(values) if is_sparse else values)
    weights = drawn(obs, count, seed % 1000)
    assert_equal(weighted_distances(obs, "auto")(weights, free), expected(obs, "auto", weights))


def test_rare_ones_are_counted_and_frequent_ones_multiplied():
    rare, frequent = (Observations.from_array(binary(1, 400, 70, q)) for q in (0.05, 0.6))
    kinds = [type(weighted_distances(one, "auto")) for one in (rare, frequent)]
    assert kinds == [resampled._BinaryRows, resampled._Factors]
    for obs in (rare, frequent):
        weights = drawn(obs)
        assert_equal(weighted_distances(obs, "auto")(weights, free), expected(obs, "auto", weights))


@pytest.mark.parametrize("p", [5, 70])
@pytest.mark.parametrize("own", [None, 3.0, 0.5])
def test_weights_of_the_table_and_fractions_are_covered(p, own):
    obs = Observations.from_array(binary(2, 200, p, 0.5) + binary(3, 200, p, 0.5))
    table = obs if own is None else obs.with_weights(np.full(200, own))
    weights = [one * (own or 1.0) for one in drawn(obs, 2)]
    assert_equal(weighted_distances(table, "auto")(weights, free), expected(table, "auto", weights))


@pytest.mark.parametrize("metric", ["rank", "canonical", "determinant", "determinant-printed"])
def test_every_metric_gives_the_same_bits(metric):
    rng = np.random.default_rng(0)
    values = (rng.normal(size=(150, 6)) + rng.normal(size=(150, 1)) > 0).astype(float)
    obs = Observations.from_array(values)
    weights = drawn(obs, 2)
    assert_equal(weighted_distances(obs, metric)(weights, free), expected(obs, metric, weights))


def test_missing_values_of_wide_and_narrow_tables_give_the_same_bits():
    for p in (6, 70):
        values = binary(4, 300, p, 0.5) + binary(5, 300, p, 0.5)
        values[np.random.default_rng(0).random(values.shape) < 0.1] = np.nan
        obs = Observations.from_array(values)
        weights = drawn(obs, 2)
        assert_equal(weighted_distances(obs, "auto")(weights, free), expected(obs, "auto", weights))


def test_the_place_in_a_batch_and_a_pickle_change_nothing():
    obs = Observations.from_array(binary(6, 300, 12, 0.1))
    weights = drawn(obs)
    work = weighted_distances(obs, "auto")
    alone = [pickle.loads(pickle.dumps(work))([own], free)[0] for own in weights]
    assert_equal(work(weights[::-1], free)[::-1], alone)


def test_eight_threads_get_the_same_distances():
    obs = Observations.from_array(binary(6, 300, 12, 0.1))
    weights, work = drawn(obs), weighted_distances(obs, "auto")
    known = work(weights, free)
    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(lambda _: work(weights, free), range(40)):
            assert_equal(found, known)


@pytest.mark.parametrize("table", ["rare", "dense", "ranks"])
def test_the_work_can_be_stopped(table):
    class Enough(Exception):
        pass

    def stop(*_: int) -> None:
        raise Enough

    obs = Observations.from_array(binary(6, 100, 5, 0.1 if table == "rare" else 0.6))
    with pytest.raises(Enough):
        weighted_distances(obs, "rank" if table == "ranks" else "auto")(drawn(obs, 2), stop)
