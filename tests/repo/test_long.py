"""What is checked more widely than a change should wait for: make test-long."""

from __future__ import annotations

import hypothesis
import numpy as np
import pytest
import test_exact_recovery
import test_grouping
import test_initial_graph
import test_learn

from loopylatent import synthetic

pytestmark = pytest.mark.long


@pytest.mark.parametrize("block", range(10))
def test_two_thousand_more_latent_trees_come_back(block):
    for seed in range(1000 + 200 * block, 1200 + 200 * block):
        test_exact_recovery.test_random_latent_trees_with_observed_inner_nodes(seed)


@pytest.mark.parametrize("leaves", [2, 3])
def test_latent_cycles_of_many_lengths_come_back(leaves):
    for girth in range(8, 101):
        for seed in range(3):
            model = synthetic.latent_cycle(girth, leaves, lengths=(0.2, 0.4), seed=seed)
            r = 3.1 * float(np.max(model.graph.lengths))
            test_exact_recovery.assert_recovered(model, r=r, tau=0.05)


@pytest.mark.parametrize(
    "prop",
    [
        test_grouping.test_the_kernel_joins_what_the_plain_version_joins,
        test_initial_graph.test_the_curve_gives_at_every_radius_the_graph_built_there,
        test_initial_graph.test_the_union_equals_kruskal_on_every_ball,
        test_learn.test_relabelling_the_columns_relabels_the_graph,
        test_learn.test_replaying_the_trace_gives_the_result,
        test_learn.test_the_result_is_a_proper_latent_graph,
    ],
    ids=lambda prop: prop.__name__,
)
def test_properties_hold_on_two_thousand_random_matrices(prop):
    hypothesis.settings(max_examples=2000)(prop)()
