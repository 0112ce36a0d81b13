"""Probabilities on a graph: the fit of the present graph, begun in the background."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from loopylatent.compute.arrays import Progress
from loopylatent.compute.limits import estimate
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.keys import FitKey
from loopylatent.ui.shell.messages import Patience, patience_for
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.stages import Source

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
    job = s.jobs.current("fit")
    if job is None or source.observations is None or not job.finished.is_set() or job.error:
        return None
    found: Fitted = job.result
    return found if job.key == FitKey.of(source.observations, graph) else None


def fit_patience(obs: Observations) -> Patience:
    """Say how long a fit takes, or why that is too long."""
    return patience_for(estimate("fit", obs.n_rows, obs.n_columns), 1, "fit")


def begin_fit(s: Session, obs: Observations, graph: LatentGraph) -> None:
    """Start the fit of a graph, unless it is the current one."""

    def work(report: Progress) -> Fitted:
        model = fit_parameters(graph, obs, progress=report)
        return Fitted(model, model.hidden_posteriors(obs))

    s.jobs.get("fit", FitKey.of(obs, graph), work)


@st.fragment(run_every=0.5)
def wait_for_fit(job: Job) -> None:
    """Draw how far a fit is, with a way to stop it."""
    if job.finished.is_set():
        st.rerun()
    left, right = st.columns([5, 1], vertical_alignment="center")
    left.progress(
        min(1.0, job.done / job.total) if job.total else 0.0,
        f"Step {job.done:,} of at most {job.total:,}; it ends earlier when nothing improves",
    )
    right.button("Cancel", on_click=job.cancelled.set)
