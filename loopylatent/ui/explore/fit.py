"""The tab Model fit: fit parameters to the graph and show the results."""

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
    save_button,
    start_button,
    table,
    text_of,
    wait_for_fit,
    words,
)

MOST_ROWS = 5


def as_fitted(model: Model) -> LatentGraph:
    """Return the graph with lengths from the fitted correlations."""
    strengths = np.clip(np.abs(model.edge_strengths), 1e-6, 1.0)
    graph = model.graph
    return LatentGraph.build(graph.names, graph.n_hidden, graph.edges, -np.log(strengths))


def show_fit(s: Session, source: Source, result: LearnResult, labels: tuple[str, ...]) -> None:
    """Draw the button, the progress and the results of the fit."""
    obs, graph = source.observations, result.graph
    if obs is None:
        st.caption("Fitting a model needs rows. Open the table instead of its distances.")
        return
    st.caption(words.about_fit)
    job = fit_job(s, source, graph)
    if job is not None and job.is_running:
        wait_for_fit(job)
        return
    if job is not None and job.failure:
        st.error(text_of(job.failure))
    fitted = fitted_of(s, source, graph)
    if fitted is None:
        with st.container(horizontal=True, vertical_alignment="center"):
            work = (begin_fit, s, obs, graph)
            start_button("Fit model", fit_time(obs), *work, type="primary")
        return
    _numbers(fitted.model)
    _edges(fitted.model, labels)
    make = partial(table_with_hidden, fitted, obs, labels)
    title = "Save table with hidden columns (CSV)"
    save_button(title, make, "with-hidden.csv", "file_hidden")


def _numbers(model: Model) -> None:
    how = "exact" if model.is_exact else "approximate, by loopy belief propagation"
    per_row = model.train_log_likelihood / model.n_samples
    state = "converged" if model.converged else "not converged; more steps may increase it"
    st.markdown(
        f"**{per_row:.4f}** log-likelihood per row ({how}) · **{model.train_bic:,.0f}** BIC · "
        f"**{model.df}** parameters · {len(model.history) - 1} steps, {state}"
    )
    if model.note:
        st.caption(escaped(model.note))
    if model.is_exact and model.kind != "gaussian":
        error = model.lbp_error()
        st.caption(
            f"Treewidth {model.treewidth}. Error of loopy belief propagation: "
            f"{abs(error.error):.4f} in the log-likelihood per row."
        )


def _edges(model: Model, labels: tuple[str, ...]) -> None:
    if model.uninformative:
        idle = ", ".join(escaped(labels[node]) for node in model.uninformative)
        st.caption(f"Hidden nodes without effect in this fit: {idle}.")
    frame = pd.DataFrame(
        {
            "from": [labels[u] for u, _ in model.graph.edges.tolist()],
            "to": [labels[v] for _, v in model.graph.edges.tolist()],
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
    """Draw which rows express a hidden node (in the panel of the selected node)."""
    fitted = fitted_of(s, source, graph)
    obs = source.observations
    if fitted is None or obs is None:
        st.caption("Fit a model (tab Model fit) to see which rows express this node.")
        return
    level = fitted.level(node)
    if fitted.model.kind == "gaussian":
        st.caption("Fitted correlations; levels of the rows are in standard deviations")
    else:
        st.caption(f"Fitted correlations; on in {float(np.mean(level > 0.5)):.0%} of the rows")
    correlations = _correlations(fitted.model, node, labels)
    number = st.column_config.NumberColumn(format="%.2f")
    table(correlations, 180, column_config={"correlation": number})
    extremes = fitted.model.extreme_rows(obs, node, MOST_ROWS)
    for title, rows in (("Highest rows", extremes.most), ("Lowest rows", extremes.least)):
        st.caption(title)
        st.dataframe(_rows(obs, rows, level), width="stretch", height=37 + 35 * len(rows))


def _correlations(model: Model, node: int, labels: tuple[str, ...]) -> pd.DataFrame:
    touching = (model.graph.edges == node).any(axis=1)
    ends = model.graph.edges[touching]
    other = [int(v if u == node else u) for u, v in ends.tolist()]
    frame = pd.DataFrame(
        {"neighbour": [labels[k] for k in other], "correlation": model.edge_strengths[touching]}
    )
    return frame.sort_values("correlation", key=abs, ascending=False)


def _rows(obs: Observations, rows: NDArray[np.int64], level: NDArray[np.float64]) -> pd.DataFrame:
    """Return rows of the table with their labels and the level of a hidden node."""
    chosen = obs.take(rows)
    frame = pd.concat([chosen.labels, chosen.to_frame()], axis=1)
    frame.insert(0, free_name("level", frame.columns), level[rows])
    frame.index = pd.Index([int(row) + 1 for row in rows], name="row")
    return frame
