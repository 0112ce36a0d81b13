from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest
from helpers.strategies import distance_matrices
from hypothesis import given

from loopylatent.distances.matrix import DistanceMatrix, information_distances
from loopylatent.errors import ThresholdError
from loopylatent.learning.initial_graph import default_thresholds, loop_radius
from loopylatent.learning.learner import learn
from loopylatent.settings import LearnSettings, Thresholds
from loopylatent.tables.samples import load_sample, sample_names


@given(distance_matrices(infinities=False))
def test_the_default_rule_is_the_stated_one(D):
    tree = nx.minimum_spanning_tree(nx.from_numpy_array(D.values))
    lengths = [length for _, _, length in tree.edges(data="weight")]
    found = default_thresholds(D)
    assert found.r == D.r_max
    assert found.Lambda == 0.5 / math.sqrt(D.n_samples)
    assert found.tau == pytest.approx(0.2 * np.median(lengths))
    assert loop_radius(D) == pytest.approx(np.clip(1.5 * max(lengths), D.r_min, D.r_max))


def test_without_a_number_of_rows_Lambda_is_zero():
    D = DistanceMatrix.from_array([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    assert default_thresholds(D).Lambda == 0


@pytest.mark.parametrize("name", sample_names())
def test_on_every_sample_the_default_graph_is_connected_latent_and_sparse(name):
    D = information_distances(load_sample(name).observations)
    graph = learn(D, LearnSettings(default_thresholds(D))).graph
    assert graph.n_components == 1
    assert graph.n_hidden >= 1
    assert graph.n_edges <= 2 * graph.n_observed


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 0, 0), "r = -1 is negative"),
        ((math.nan, 0, 0), "not finite"),
        ((math.inf, 0, 0), "D.r_max for a tree"),
        ((1, 1, 0), r"outside \[0, 1\)"),
        ((1, -0.1, 0), r"outside \[0, 1\)"),
        ((1, 0, -0.1), "tau = -0.1 is negative"),
        (("far", 0, 0), "'far' is not a number"),
    ],
)
def test_thresholds_outside_their_limits_are_rejected_in_one_line(values, message):
    with pytest.raises(ThresholdError, match=message) as caught:
        Thresholds(*values)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "Unknown method = 'magic'"),
        ({"order": "best"}, "Choose one of degree, index, random"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": 1.5}, "seed = 1.5"),
        ({"max_outsiders": 1}, "at least 2"),
    ],
)
def test_unknown_settings_are_rejected(options, message):
    with pytest.raises(ThresholdError, match=message):
        LearnSettings(Thresholds(1, 0, 0), **options)
