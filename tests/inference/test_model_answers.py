"""What a fitted model answers: degrees of freedom, extreme rows, nodes that tell nothing."""

from __future__ import annotations

import numpy as np
import pytest

import loopylatent as ll


def fitted(kind: str, n: int = 400) -> tuple[ll.Model, ll.Observations]:
    model = ll.synthetic.latent_cycle(8, 2, kind=kind, seed=0)
    obs = model.sample(n, seed=1)
    return ll.fit_parameters(model.graph, obs), obs


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_degrees_of_freedom_are_nodes_and_edges(kind):
    model, _ = fitted(kind)
    assert model.df == model.graph.n_nodes + model.graph.n_edges


@pytest.mark.parametrize("kind", ["ising", "gaussian"])
def test_extreme_rows_are_those_of_the_posterior(kind):
    model, obs = fitted(kind)
    hidden = model.graph.n_observed + 2
    level = model.hidden_posteriors(obs)[:, 2]
    level = level if level.ndim == 1 else level.max(axis=1)
    found = model.extreme_rows(obs, hidden, most=7)
    assert level[found.most[0]] == level.max()
    assert level[found.least[0]] == level.min()
    assert level[found.most].min() >= np.sort(level)[-7]
    assert level[found.least].max() <= np.sort(level)[6]


def test_posteriors_do_not_depend_on_the_other_rows():
    model, obs = fitted("ising", 60)
    whole = model.hidden_posteriors(obs)
    for rows in (slice(0, 5), slice(17, 31)):
        frame = obs.to_frame().iloc[rows].reset_index(drop=True)
        part = ll.Observations.from_frame(frame, kinds=dict.fromkeys(frame.columns, "binary"))
        assert np.allclose(model.hidden_posteriors(part), whole[rows])
