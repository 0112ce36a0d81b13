"""How far chance moves the present graph: the same settings with ten seeds."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from loopylatent.distances import DistanceMatrix
from loopylatent.limits import estimate
from loopylatent.seeds import SeedEffect, over_seeds
from loopylatent.settings import LearnSettings
from loopylatent.ui.background import Job
from loopylatent.ui.patience import patience_for
from loopylatent.ui.refusal import said
from loopylatent.ui.state import Session

KIND = "seeds"
N_SEEDS = 10


def show_chance(s: Session, D: DistanceMatrix) -> None:
    """Offer to learn with other seeds, and say how far the graphs agree."""
    settings = replace(s.recipe.settings, seed=0)
    job = s.jobs.current(KIND)
    if job is None or job.key != (D.digest, settings) or job.error == "stopped":
        work = estimate("learn", 0, D.n_columns) * N_SEEDS
        patience = patience_for(work, 1, "graph")
        st.button(
            "How far does the seed move it?",
            key="chance",
            width="stretch",
            help=f"Learns with {N_SEEDS} seeds, in the background, and compares the graphs.",
            on_click=_begin,
            args=(s, D, settings),
            disabled=not patience.is_enough,
        )
        st.caption(patience.words)
    elif not job.finished.is_set():
        _wait(job)
    elif job.error is not None:
        st.caption(said(job.error))
    else:
        st.caption(sentence(job.result))


def sentence(effect: SeedEffect) -> str:
    """Say what the seeds did, in plain words.

    Examples
    --------
    >>> from loopylatent.graph import LatentGraph
    >>> star = LatentGraph.build("abc", 1, [(0, 3), (1, 3), (2, 3)])
    >>> sentence(SeedEffect((0, 1), (star, star), 1.0))
    '2 seeds give one and the same graph: here chance plays no part.'
    """
    if effect.n_different == 1:
        return f"{len(effect.seeds)} seeds give one and the same graph: here chance plays no part."
    return f"{effect}. What other seeds do not find again is not to be read as a finding."


def _begin(s: Session, D: DistanceMatrix, settings: LearnSettings) -> None:
    s.jobs.get(
        KIND,
        (D.digest, settings),
        lambda report: over_seeds(D, settings, N_SEEDS, progress=report),
    )


@st.fragment(run_every=0.5)
def _wait(job: Job) -> None:
    """How far it is, with a way to stop it."""
    if job.finished.is_set():
        st.rerun()
    share = min(1.0, job.done / job.total) if job.total else 0.0
    st.progress(share, f"{job.done} of {N_SEEDS} seeds")
    st.button("Cancel", key="chance_cancel", on_click=job.cancelled.set)
