"""Hidden nodes at a glance."""

from __future__ import annotations

import numpy as np
import pytest

from loopylatent import synthetic
from loopylatent.analysis import matching as overview
from loopylatent.analysis.matching import (
    cycles_through,
    nearest_columns,
    nearest_on_graph,
    summaries,
)


@pytest.fixture(scope="module")
def ring():
    """Hidden nodes in a ring, each with columns; edges of different lengths."""
    return synthetic.latent_cycle(8, 3, seed=2).graph


def test_the_nearest_columns_are_found_without_looking_everywhere(ring):
    for node in range(ring.n_nodes):
        near, all_near = nearest_on_graph(ring, node, 6), nearest_columns(ring, node, most=6)
        assert [one.distance for one in near] == pytest.approx([o.distance for o in all_near])
        assert len({one.node for one in near}) == 6
        lengths = ring.path_lengths([node])[0]
        assert all(one.distance == pytest.approx(lengths[one.node]) for one in near)
    assert len(nearest_on_graph(ring, 0, 99)) == ring.n_observed - 1


def test_every_hidden_node_is_described_once(ring):
    found = summaries(ring)
    assert sorted(one.node for one in found) == list(ring.hidden_nodes)
    for one in found:
        assert one.n_cycles == len(cycles_through(ring, one.node))
        neighbours = np.array(ring.neighbours(one.node))
        assert one.n_columns == (neighbours < ring.n_observed).sum()
        assert one.nearest == nearest_on_graph(ring, one.node, 5)
    sizes = [one.n_columns for one in found]
    assert sizes == sorted(sizes, reverse=True)


def test_very_many_cycles_are_not_counted(ring, monkeypatch):
    monkeypatch.setattr(overview, "MOST_CYCLES", 0)
    assert {one.n_cycles for one in summaries(ring)} == {None}
