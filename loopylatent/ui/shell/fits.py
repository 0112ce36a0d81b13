"""Probabilities on a graph: the fit of the present graph, begun in the background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopylatent.compute.arrays import Progress
from loopylatent.compute.limits import estimate
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.keys import FitKey
from loopylatent.ui.shell.messages import TimeNeeded, time_needed
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.stages import Source
from loopylatent.ui.shell.widgets import wait_for

ABOUT_FIT = (
    "Fitting gives every edge a strength and a sign, and says for every row which hidden variables "
    "are on. The likelihood is computed exactly wherever that is possible, and says so."
)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model with what each row says of each hidden node."""

    model: Model
    posteriors: NDArray[np.float64]

    def level(self, node: int) -> NDArray[np.float64]:
        """(rows,) how strongly each row expresses a hidden node."""
        one = self.posteriors[:, node - self.model.graph.n_observed]
        level: NDArray[np.float64] = one if one.ndim == 1 else one.max(axis=1)
        return level


def fitted_of(s: Session, source: Source, graph: LatentGraph) -> Fitted | None:
    """Return the fit of this very graph on these data, if there is one."""
    obs = source.observations
    job = None if obs is None else s.jobs.of("fit", FitKey.of(obs, graph))
    found: Fitted | None = None if job is None else job.found
    return found


def fit_time(obs: Observations) -> TimeNeeded:
    """Say how long a fit takes, or why that is too long."""
    return time_needed(estimate("fit", obs.n_rows, obs.n_columns), 1, "fit")


def begin_fit(s: Session, obs: Observations, graph: LatentGraph) -> None:
    """Start the fit of a graph, unless it is the current one."""

    def work(report: Progress) -> Fitted:
        model = fit_parameters(graph, obs, progress=report)
        return Fitted(model, model.hidden_posteriors(obs))

    s.jobs.get("fit", FitKey.of(obs, graph), work)


def wait_for_fit(job: Job) -> None:
    """Draw how far a fit is, with a way to stop it."""

    def line() -> str:
        return f"Step {job.done:,} of at most {job.total:,}; it ends earlier when nothing improves"

    wait_for(job, line, key="cancel_fit", widths=(5, 1))
