"""Bit for bit comparison of the compiled learner with the plain one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from itertools import product

import numpy as np

from helpers.reference import learn_plainly
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.graph import LatentGraph
from loopylatent.learning.initial_graph import initial_graph
from loopylatent.learning.learner import learn
from loopylatent.learning.trace import VisitStep
from loopylatent.settings import LearnSettings, Thresholds

METHODS = ("quartet", "relaxed", "nj")
ORDERS = ("degree", "index", "random")


def as_bits(value: object) -> object:
    """Everything in a step, with numbers as they are in memory."""
    if isinstance(value, LatentGraph):
        return (value.names, value.n_hidden, value.edges.tobytes(), value.lengths.tobytes())
    if is_dataclass(value):
        named = [(one.name, as_bits(getattr(value, one.name))) for one in fields(value)]
        return (type(value).__name__, named)
    if isinstance(value, np.ndarray):
        return (value.shape, str(value.dtype), value.flags.writeable, value.tobytes())
    if isinstance(value, tuple):
        return tuple(as_bits(one) for one in value)
    assert value is None or type(value) in (int, float, bool), type(value)
    return (type(value).__name__, value.hex() if isinstance(value, float) else value)


def assert_equal_to_reference(D: DistanceMatrix, settings: LearnSettings) -> None:
    """Compare graph, counts and every field of every step, with and without a record."""
    initial = initial_graph(D, settings.thresholds.r)
    plain = learn_plainly(D, settings, initial)
    visits = [step for step in plain.trace if isinstance(step, VisitStep)]
    counts = (len(visits), sum(s.stuck for s in visits), sum(s.capped for s in visits))
    recorded = learn(D, settings, start=initial)
    for found in (recorded, learn(D, settings, start=initial, trace=False)):
        assert as_bits(found.graph) == as_bits(plain.graph)
        assert (found.n_visits, found.n_stuck, found.n_capped) == counts
    assert found.trace is None
    assert len(recorded.trace) == len(plain.trace)
    for step, expected in zip(recorded.trace, plain.trace, strict=True):
        assert as_bits(step) == as_bits(expected)


def random_distances(seed: int, p: int, kind: str) -> DistanceMatrix:
    """Distances of one of several kinds: noise, ties, infinities, a tree, a ring, equal columns."""
    rng = np.random.default_rng(seed)
    if kind == "tree":
        values = _path_lengths(
            p, [(k, int(rng.integers(max(0, k - 3), k))) for k in range(1, p)], rng
        )
    elif kind == "ring":
        values = _path_lengths(p, [(k, (k + 1) % p) for k in range(p)], rng)
        values *= np.exp(0.05 * rng.normal(size=(p, p)))
    else:
        rows = rng.normal(size=(40, p)) + rng.normal(size=(40, 3)) @ rng.normal(size=(3, p))
        values = -np.log(np.abs(np.corrcoef(rows.T)))
    if kind == "ties":
        values = np.ceil(values * 2) / 2
    if kind == "infinities":
        values[rng.random((p, p)) < 0.35] = np.inf
    if kind == "zeros":
        values[rng.random((p, p)) < 0.1] = 0.0
    values = np.maximum(np.triu(values, 1), 0.0)
    return DistanceMatrix.from_array(values + values.T, n_samples=int(rng.integers(20, 3000)))


def _path_lengths(p: int, edges: list[tuple[int, int]], rng: np.random.Generator) -> np.ndarray:
    d = np.full((p, p), np.inf)
    np.fill_diagonal(d, 0.0)
    for u, v in edges:
        d[u, v] = d[v, u] = rng.uniform(0.05, 0.8)
    for k in range(p):
        d = np.minimum(d, d[:, k : k + 1] + d[k])
    return d


KINDS = ("noise", "ties", "infinities", "zeros", "tree", "ring")


def settings_for(D: DistanceMatrix, seed: int) -> Iterator[LearnSettings]:
    """Every method and order, with other thresholds and caps each time."""
    rng = np.random.default_rng(seed)
    for method, order in product(METHODS, ORDERS):
        r = float(rng.choice([D.r_max, rng.uniform(D.r_min, D.r_max), D.r_min]))
        Lambda, tau = float(rng.choice([0, 0.01, 0.1])), float(rng.choice([0, 0.1, 0.3]))
        cap = int(rng.choice([2, 3, 5, 150]))
        yield LearnSettings(Thresholds(r, Lambda, tau), method, order, int(rng.integers(99)), cap)
