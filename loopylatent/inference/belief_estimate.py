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
    (rows, came_to_rest), (halves, others) = (
        _row_sums(found, propagation, table, half_of(progress, k))
        for k, table in enumerate((chosen, with_half_hidden(chosen, seed)))
    )
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    present = chosen.n_columns - np.isnan(chosen.dense()).sum(axis=1)
    n_values = float(weights @ present)
    return BeliefEstimate(
        perplexity(float(weights @ (rows - whole.value)), n_values),
        perplexity(float(weights @ (rows - halves)), n_values),
        float(np.mean([whole.converged, *came_to_rest, *others])),
    )


def _row_sums(
    model: DiscreteModel, propagation: Propagation, obs: Observations, progress: Progress | None
) -> tuple[FloatArray, list[bool]]:
    """The Bethe estimate of what each row sums to; which runs, one a different row, converged."""
    rows = PropagatedRows(propagation, model.rows(obs))
    runs = []
    for k, run in enumerate(rows.runs(model.cells)):
        if progress is not None and k % EVERY == 0:
            progress(k, len(rows.states))
        runs.append((run.value, run.converged))
    values = np.array([value for value, _ in runs])
    return rows.of_rows(values), [converged for _, converged in runs]
