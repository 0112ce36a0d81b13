"""Small examples of inner functions, with what they give."""

from __future__ import annotations

import numpy as np
from helpers.local_trees import Neighbourhood, group

from loopylatent.graph import minimum_cycle_basis
from loopylatent.learning.grouping import criterion, finite_parts, quartets
from loopylatent.settings import LearnSettings, Thresholds


def test_example_of_minimum_cycle_basis():
    square_with_diagonal = np.array([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    assert minimum_cycle_basis(4, square_with_diagonal) == ((0, 1, 2), (0, 2, 3))


def test_example_of_finite_parts():
    d = np.array([[0, 1, np.inf, np.inf], [1, 0, 2, np.inf], [np.inf, 2, 0, np.inf]])
    d = np.vstack([d, [np.inf, np.inf, np.inf, 0]])
    part = finite_parts(d)[0]
    assert part.nodes == (0, 1, 2)
    assert part.distances.tolist() == [[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]


def test_example_of_group_neighbor_joining():
    d = np.array([[0, 2, 3, 3], [2, 0, 3, 3], [3, 3, 0, 2], [3, 3, 2, 0.0]])
    four = Neighbourhood(
        (0, 1, 2, 3), (False,) * 4, (0, 1, 2, 3), d, None, np.random.default_rng(0)
    )
    tree = group(four, LearnSettings(Thresholds(r=3, Lambda=0, tau=0.1), "nj"))
    assert [(edge.u, edge.v, edge.length) for edge in tree.edges] == [
        (0, 4, 1.0),
        (1, 4, 1.0),
        (2, 5, 1.0),
        (3, 5, 1.0),
        (4, 5, 1.0),
    ]


def test_example_of_criterion():
    d = np.array([[0, 2, 3, 3], [2, 0, 3, 3], [3, 3, 0, 2], [3, 3, 2, 0.0]])
    assert repr(criterion(d, joins=0).q[0].tolist()) == "[nan, -12.0, -10.0, -10.0]"


def test_example_of_quartets():
    d = np.array([[0, 2, 3, 3], [2, 0, 3, 3], [3, 3, 0, 2], [3, 3, 2, 0.0]])
    assert quartets(d, Lambda=0.0)[0].verdict == "ab|cd"


def test_example_of_group_relaxed():
    d = np.array([[0, 1, 2, 2], [1, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0.0]])
    rng = np.random.default_rng(0)
    four = Neighbourhood((0, 1, 2, 3), (False,) * 4, (0, 1, 2, 3), d, None, rng)
    tree = group(four, LearnSettings(Thresholds(r=3, Lambda=0, tau=0), "relaxed"))
    assert [(edge.u, edge.v, edge.length) for edge in tree.edges] == [
        (0, 4, 0.5),
        (1, 4, 0.5),
        (2, 5, 0.5),
        (3, 5, 0.5),
        (4, 5, 1.0),
    ]
