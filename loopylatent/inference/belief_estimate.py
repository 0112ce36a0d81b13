"""The paper's own estimate of a likelihood, beside the exact one (section 6.1, its footnote).

It writes P(x) = P(x, h) / P(h | x) at the likeliest hidden state h and takes both from loopy belief
propagation: on the whole graph, and on the graph with the row put in. Where belief propagation has
come to rest, both are a product of beliefs, and the hidden state drops out: at *every* h the
ratio is the Bethe sum of the row divided by the Bethe sum of everything. So that is what is
computed. On trees it is exact; on graphs with cycles it can lie on either side of the truth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.compute.arrays import FloatArray, Progress
from loopylatent.errors import InferenceError
from loopylatent.inference.belief_propagation import Propagation
from loopylatent.inference.discrete import DiscreteModel
from loopylatent.inference.model import Model
from loopylatent.inference.scores import perplexity, with_half_hidden
from loopylatent.tables.observations import Observations

EVERY = 64


@dataclass(frozen=True, slots=True)
class BeliefEstimate:
    """The paper's estimate of two of its scores, which need not belong to any distribution.

    Parameters
    ----------
    perp_ll, pred_perp_ll : float
    converged : float
        Share of the runs, one for each different row and each different half, that came to rest.
    """

    perp_ll: float
    pred_perp_ll: float
    converged: float


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    values: FloatArray
    n_converged: int
    n_runs: int


def belief_estimate(
    model: Model, obs: Observations, seed: int = 0, progress: Progress | None = None
) -> BeliefEstimate:
    """Estimate the perplexities of a discrete model as the paper does.

    Examples
    --------
    On a tree nothing is lost.

    >>> from loopylatent.inference import fit_parameters
    >>> from loopylatent.synthetic import latent_tree
    >>> truth = latent_tree(n_hidden=2, n_observed_inner=0, leaves=3, seed=1)
    >>> model = fit_parameters(truth.graph, truth.sample(500))
    >>> test = truth.sample(100, seed=5)
    >>> abs(belief_estimate(model, test).perp_ll - model.scores(test).perp_ll) < 1e-9
    True
    """
    found = model.distribution
    if not isinstance(found, DiscreteModel):
        raise InferenceError("a Gaussian model needs no estimate; its likelihood is always exact.")
    chosen = obs.select(list(model.graph.names))
    propagation = Propagation(found.layout, found.method.elimination)
    whole = propagation.evaluate(found.cells)
    rows = _row_sums(found, propagation, chosen, _part(progress, 0))
    halves = _row_sums(found, propagation, with_half_hidden(chosen, seed), _part(progress, 1))
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    present = chosen.n_columns - np.isnan(chosen.dense()).sum(axis=1)
    n_values = float(weights @ present)
    runs = 1 + rows.n_runs + halves.n_runs
    return BeliefEstimate(
        perplexity(float(weights @ (rows.values - whole.value)), n_values),
        perplexity(float(weights @ (rows.values - halves.values)), n_values),
        (int(whole.converged) + rows.n_converged + halves.n_converged) / runs,
    )


def _row_sums(
    model: DiscreteModel, propagation: Propagation, obs: Observations, progress: Progress | None
) -> _Sums:
    """The Bethe estimate of what each row sums to, each different row once."""
    rows = model.rows(obs)
    columns = tuple(range(rows.states.shape[1]))
    known = rows.patterns(columns).states
    states = np.full((len(known), model.layout.graph.n_nodes), -1, np.int16)
    states[:, : known.shape[1]] = known
    values, n_converged = np.empty(len(states)), 0
    for k, one in enumerate(states):
        if progress is not None and k % EVERY == 0:
            progress(k, len(states))
        run = propagation.row(model.cells, one)
        values[k] = run.value
        n_converged += run.converged
    return _Sums(values[rows.pattern_of_rows(columns)], n_converged, len(states))


def _part(progress: Progress | None, part: int) -> Progress | None:
    """Progress of one of two parts as that of the whole."""
    if progress is None:
        return None
    return lambda done, total: progress(part * total + done, 2 * total)
