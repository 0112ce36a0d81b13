"""The paper's own estimate of a likelihood (section 6.1, its footnote).

It is P(x) = P(x, h) / P(h | x) with beliefs in place of probabilities. At convergence the ratio is
the same for *every* h: the Bethe estimate of the row's sum divided by that of Z, which is what is
computed. It is exact on trees.
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
    """The paper's estimate of two of its scores; it need not be that of a distribution."""

    perp_ll: float
    pred_perp_ll: float
    converged: float
    """Share of the runs, one for each different row or half row, that converged."""


def belief_estimate(
    model: Model, obs: Observations, seed: int = 0, progress: Progress | None = None
) -> BeliefEstimate:
    """Estimate the perplexities of a discrete model as the paper does."""
    found = model.distribution
    if not isinstance(found, DiscreteModel):
        raise InferenceError("A Gaussian model needs no estimate; its likelihood is exact.")
    chosen = obs.select(list(model.graph.names))
    propagation = Propagation(found.layout, found.method.elimination)
    whole = propagation.evaluate(found.cells)
    (rows, whole_converged), (halves, half_converged) = (
        _row_sums(found, propagation, table, half_of(progress, k))
        for k, table in enumerate((chosen, with_half_hidden(chosen, seed)))
    )
    weights = np.ones(obs.n_rows) if obs.weights is None else obs.weights
    present = chosen.n_columns - np.isnan(chosen.dense()).sum(axis=1)
    n_values = float(weights @ present)
    return BeliefEstimate(
        perplexity(float(weights @ (rows - whole.value)), n_values),
        perplexity(float(weights @ (rows - halves)), n_values),
        float(np.mean([whole.converged, *whole_converged, *half_converged])),
    )


def _row_sums(
    model: DiscreteModel, propagation: Propagation, obs: Observations, progress: Progress | None
) -> tuple[FloatArray, list[bool]]:
    """The Bethe estimate of each row's sum; whether each run (one per different row) converged."""
    rows = PropagatedRows(propagation, model.rows(obs))
    runs = []
    for k, run in enumerate(rows.runs(model.cells)):
        if progress is not None and k % EVERY == 0:
            progress(k, len(rows.states))
        runs.append((run.value, run.converged))
    values = np.array([value for value, _ in runs])
    return rows.of_rows(values), [converged for _, converged in runs]
