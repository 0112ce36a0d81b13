"""Lessons for tests, and the graph of a step computed from the trace alone."""

from __future__ import annotations

from functools import cache
from typing import get_args

import numpy as np
from hypothesis import strategies as st

import loopylatent as ll
from helpers.strategies import distance_matrices
from loopylatent import lesson as lessons
from loopylatent.compute._kernels.graphs import spanning_tree
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.learning.learner import learn
from loopylatent.learning.trace import CleanUpStep, replay
from loopylatent.lesson.lesson import Lesson
from loopylatent.lesson.material import Place
from loopylatent.settings import LearnSettings, Method, Thresholds

BEFORE = ("look", "quartets", "round", "join", "rest", "contract")
"""Phases of a visit before the graph changes."""


def lesson_on(
    D: DistanceMatrix,
    r: float,
    Lambda: float = 0.0,
    tau: float = 0.1,
    method: Method = "quartet",
    **more,
) -> Lesson:
    result = learn(D, LearnSettings(Thresholds(max(r, D.smallest), Lambda, tau), method))
    return lessons.build(result, D, **more)


@cache
def ring() -> Lesson:
    """The lesson on the small ring with a known graph."""
    sample = ll.load_sample("latent_cycle")
    D = ll.information_distances(sample.observations)
    result = ll.learn(D, r=1.5, tau=0.1)
    return lessons.build(result, D, sample.observations, sample.truth)


@cache
def stuck_lesson() -> Lesson:
    """Few rows and no margin: stuck visits and temporary hidden nodes."""
    rng = np.random.default_rng(3)
    obs = ll.Observations.from_array(rng.normal(size=(60, 12)) + rng.normal(size=(60, 1)))
    D = ll.information_distances(obs)
    return lesson_on(D, D.r_max, 0.0, 0.05, obs=obs)


@cache
def surrogate_lesson() -> Lesson:
    """Relaxed grouping on loops: many rounds, hidden nodes represented by surrogates."""
    obs = ll.load_sample("bfi25").observations
    D = ll.information_distances(obs)
    return lesson_on(D, 2.0, method="relaxed", obs=obs)


@cache
def joined_lesson() -> Lesson:
    """Neighbor joining on the same columns."""
    m = surrogate_lesson().material
    return lesson_on(m.D, 2.0, method="nj", obs=m.obs)


REAL = (ring, stuck_lesson, surrogate_lesson, joined_lesson)


@st.composite
def small_lessons(draw, methods: tuple[Method, ...] = get_args(Method)):
    D = draw(distance_matrices())
    finite = D.values[np.isfinite(D.values) & (D.values > 0)]
    r = float(np.quantile(finite, draw(st.floats(0.1, 1.0))))
    margin, tau = draw(st.sampled_from([0.0, 0.02, 0.1])), draw(st.floats(0.0, 0.5))
    return lesson_on(D, r, margin, tau, draw(st.sampled_from(methods)))


def graph_of_the_trace(lesson: Lesson, place: Place) -> dict[tuple[int, int], float]:
    """The graph at a step, from `replay` and the kernels alone, in node numbers of the lesson."""
    m = lesson.material
    if place.phase in ("data", "truth", "pair", "matrix"):
        return {}
    if place.phase in ("ball", "tree"):
        done = range(place.node + (place.phase == "tree"))
        edges = {}
        for ball in (np.flatnonzero(m.D.values[v] <= m.thresholds.r) for v in done):
            parent = spanning_tree(m.D.values, ball)
            for u, v in zip(ball[parent >= 0], ball[parent[parent >= 0]], strict=True):
                edges[min(u, v), max(u, v)] = float(m.D.values[u, v])
        return edges
    steps = m.trace[: place.step + (place.phase not in BEFORE)]
    graph = replay(steps)
    p = graph.n_observed
    last = steps[-1]
    if isinstance(last, CleanUpStep):
        hidden = list(last.hidden_ids)
    else:
        ends: set[tuple[int, int]] = set(map(tuple, m.trace[0].graph.edges.tolist()))
        for step in steps[1:]:
            ends -= {(e.u, e.v) for e in step.removed}
            ends |= {(e.u, e.v) for e in step.added}
        hidden = sorted({node for edge in ends for node in edge if node >= p})
    number = [*range(p), *(m.cast.number[node] for node in hidden)]
    keys = [tuple(sorted((number[u], number[v]))) for u, v in graph.edges.tolist()]
    return dict(zip(keys, graph.lengths.tolist(), strict=True))
