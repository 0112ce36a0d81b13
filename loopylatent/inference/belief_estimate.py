"""The paper's own estimate of a likelihood, beside the exact one (section 6.1, its footnote).

It writes P(x) = P(x, h) / P(h | x) with beliefs. Where these came to rest the ratio is, at *every*
h, the Bethe sum of the row divided by that of everything: that is computed. It is exact on trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from loopylatent.compute.values import FloatArray, Progress
from loopylatent.errors import InferenceError
from loopylatent.inference.belief_propagation import PropagatedRows, Propagation
from loopylatent.inference.discrete import DiscreteModel
from loopylatent.inference.model import Model
from loopylatent.inference.scores import half_of, perplexity, with_half_hidden
from loopylatent.tables.observations import Observations

EVERY = 64


@dataclass(frozen=True, slots=True)
class BeliefEstimate:
    """The paper's estimate of two of its scores, which need not belong to any distribution."""

    perp_ll: float
    pred_perp_ll: float
    converged: float
    """Share of the runs, one for each different row and each different half, that came to rest."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    values: FloatArray
    n_converged: int
    n_runs: int


def belief_estimate(
    model: Model, obs: Observations, seed: int = 0, progress: Progress | None = None
) -> BeliefEstimate:
    """Estimate the perplexities of a discrete model as the paper does."""
    found = model.distribution
    if not isinstance(found, DiscreteModel):
        raise InferenceError("a Gaussian model needs no estimate; its likelihood is always exact.")
    chosen = obs.select(list(model.graph.names))
    propagation = Propagation(found.layout, found.method.elimination)
    whole = propagation.evaluate(found.cells)
    rows = _row_sums(found, propagation, chosen, half_of(progress, 0))
    halves = _row_sums(found, propagation, with_half_hidden(chosen, seed), half_of(progress, 1))
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
    rows = PropagatedRows(propagation, model.rows(obs))
    values, n_converged, n_runs = [], 0, len(rows.states)
    for k, run in enumerate(rows.runs(model.cells)):
        if progress is not None and k % EVERY == 0:
            progress(k, n_runs)
        values.append(run.value)
        n_converged += run.converged
    return _Sums(rows.of_rows(np.array(values)), n_converged, n_runs)
