"""Probabilities on the graph: fit them, say how sure the numbers are, show what they tell."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.graph import LatentGraph
from loopylatent.inference.model import Model
from loopylatent.learning.learner import LearnResult
from loopylatent.tables.files import free_name, name_to_csv
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.results import Source
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import (
    Fitted,
    begin_fit,
    escaped,
    fit_job,
    fit_time,
    fitted_of,
    said,
    save_button,
    start_button,
    table,
    wait_for_fit,
    words,
)

MOST_ROWS = 5


def as_fitted(model: Model) -> LatentGraph:
    """Return the graph with the lengths that the fitted correlations give."""
    strengths = np.clip(np.abs(model.edge_strengths), 1e-6, 1.0)
    graph = model.graph
    return LatentGraph.build(graph.names, graph.n_hidden, graph.edges, -np.log(strengths))


def show_fit(s: Session, source: Source, result: LearnResult, labels: tuple[str, ...]) -> None:
    """Draw the Fit button, its progress, and what came of it."""
    obs, graph = source.observations, result.graph
    if obs is None:
        st.caption("Distances alone do not say how rows look; open the table to fit probabilities.")
        return
    st.caption(words.about_fit)
    job = fit_job(s, source, graph)
    if job is not None and job.is_running:
        wait_for_fit(job)
        return
    if job is not None and job.failure:
        st.error(said(job.failure))
    fitted = fitted_of(s, source, graph)
    if fitted is None:
        with st.container(horizontal=True, vertical_alignment="center"):
            work = (begin_fit, s, obs, graph)
            start_button("Fit probabilities", fit_time(obs), *work, type="primary")
        return
    _numbers(fitted.model)
    _edges(fitted.model, labels)
    make = partial(table_with_hidden, fitted, obs, labels)
    title = "The table with hidden columns (CSV)"
    save_button(title, make, "with-hidden.csv", "file_hidden")


def _numbers(model: Model) -> None:
    how = "exact" if model.is_exact else "approximate, by loopy belief propagation"
    per_row = model.train_log_likelihood / model.n_samples
    state = "converged" if model.converged else "not converged; more steps may raise it"
    st.markdown(
        f"**{per_row:.4f}** log-likelihood a row ({how}) · **{model.train_bic:,.0f}** BIC · "
        f"**{model.df}** parameters · {len(model.history) - 1} steps, {state}"
    )
    if model.note:
        st.caption(escaped(model.note))
    if model.is_exact and model.kind != "gaussian":
        error = model.lbp_error()
        st.caption(
            f"Treewidth {model.treewidth}. Loopy belief propagation would be off by "
            f"{abs(error.error):.4f} in the log-likelihood of a row."
        )


def _edges(model: Model, labels: tuple[str, ...]) -> None:
    if model.uninformative:
        idle = ", ".join(escaped(labels[node]) for node in model.uninformative)
        st.caption(f"These hidden nodes tie nothing together under the fit: {idle}.")
    frame = pd.DataFrame(
        {
            "one end": [labels[u] for u, _ in model.graph.edges.tolist()],
            "other end": [labels[v] for _, v in model.graph.edges.tolist()],
            "learned strength": np.exp(-model.graph.lengths),
            "fitted correlation": model.edge_strengths,
        }
    )
    number = st.column_config.NumberColumn(format="%.3f")
    columns = dict.fromkeys(("learned strength", "fitted correlation"), number)
    table(frame, height=260, column_config=columns)


def table_with_hidden(fitted: Fitted, obs: Observations, labels: tuple[str, ...]) -> str:
    """Return the table as CSV, with a column for every hidden node."""
    frame = obs.to_frame()
    for node in fitted.model.graph.hidden_nodes:
        frame[free_name(f"hidden {labels[node]}", frame.columns)] = fitted.level(node)
    texts = frame.select_dtypes(["object", "string", "category"]).columns
    frame[texts] = (
        frame[texts]
        .astype(object)
        .map(lambda value: name_to_csv(value) if isinstance(value, str) else value)
    )
    return frame.rename(columns=name_to_csv).to_csv(index=False)


def describe_hidden(
    s: Session, source: Source, graph: LatentGraph, node: int, labels: tuple[str, ...]
) -> None:
    """In the node panel: how the rows express a hidden node, once there is a fit."""
    fitted = fitted_of(s, source, graph)
    obs = source.observations
    if fitted is None or obs is None:
        st.caption("Fit probabilities (below) to see which rows express it.")
        return
    level = fitted.level(node)
    if fitted.model.kind == "gaussian":
        st.caption("How strongly rows express it, in standard deviations")
    else:
        st.caption(f"On in {float(np.mean(level > 0.5)):.0%} of the rows")
    moves = _moves_with(fitted.model, node, labels)
    number = st.column_config.NumberColumn(format="%.2f")
    table(moves, 180, column_config={"correlation": number})
    extremes = fitted.model.extreme_rows(obs, node, MOST_ROWS)
    for title, rows in (("Rows that express it most", extremes.most), ("least", extremes.least)):
        st.caption(title)
        st.dataframe(_rows(obs, rows, level), width="stretch", height=37 + 35 * len(rows))


def _moves_with(model: Model, node: int, labels: tuple[str, ...]) -> pd.DataFrame:
    touching = (model.graph.edges == node).any(axis=1)
    ends = model.graph.edges[touching]
    other = [int(v if u == node else u) for u, v in ends.tolist()]
    frame = pd.DataFrame(
        {"moves with": [labels[k] for k in other], "correlation": model.edge_strengths[touching]}
    )
    return frame.sort_values("correlation", key=abs, ascending=False)


def _rows(obs: Observations, rows: NDArray[np.int64], level: NDArray[np.float64]) -> pd.DataFrame:
    """Some rows of the table, with what they are called and how strongly they express a node."""
    chosen = obs.take(rows)
    frame = pd.concat([chosen.labels, chosen.to_frame()], axis=1)
    frame.insert(0, free_name("level", frame.columns), level[rows])
    frame.index = pd.Index([int(row) + 1 for row in rows], name="row")
    return frame
