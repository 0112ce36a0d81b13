"""How sure? The learner is run again on resampled data; what comes back has support."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.matching import match_hidden
from loopylatent.analysis.stability.resampling import NEEDS_ROWS, SCHEMES, Resampling, Scheme
from loopylatent.analysis.stability.runs import (
    KINDS,
    LOCAL,
    Stability,
    iter_stability,
    scale_frame,
    support_csv,
    support_frame,
)
from loopylatent.compute.limits import Estimate, rerun
from loopylatent.compute.values import Progress
from loopylatent.graph import LatentGraph
from loopylatent.learning.learner import LearnResult
from loopylatent.ui.graph_view import graph_view, picture
from loopylatent.ui.shell.background import Cancelled
from loopylatent.ui.shell.results import Source, SupportKey
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import (
    RUNS,
    progress_line,
    said,
    save_button,
    share_column,
    table,
    texts,
    time_needed,
    viewed,
    wait_for,
)

KIND = "support"
SUPPORT = "Support"
"""The view of the graph that shows it."""
SEED = 0
N_RUNS = 50
words = texts("explore")
PARTS: dict[str, tuple[str, ...]] = {
    "edges": tuple(KINDS[kind] for kind in ("columns", "column-hidden", "inner")),
    "hidden nodes": (KINDS["hidden"],),
    "cycles": (KINDS["cycle"],),
    "edges of the local trees": (LOCAL,),
}


def support_of(s: Session, source: Source, graph: LatentGraph) -> Stability | None:
    """Return the support of this very graph, by the way of drawing that is chosen, if known."""
    found: Stability | None = s.memo.known(KIND, _key(s, source, graph))
    return found


def show_stability(
    s: Session,
    source: Source,
    result: LearnResult,
    labels: tuple[str, ...],
    positions: NDArray[np.float64] | None,
) -> None:
    """Draw the choices, the button, the progress, and what came of it.

    The consensus is drawn at the places of the graph, where all of them are known.
    """
    st.markdown(words.stability)
    job = s.jobs.of(KIND, _key(s, source, result.graph))
    running = job is not None and job.is_running
    found = support_of(s, source, result.graph)
    _choose(s, source, result, found, disabled=running)
    if s.recipe.regularize != "none":
        st.caption("The runs are learned without the BIC, which would take too long each time.")
    if job is not None and job.is_running:
        wait_for(
            job,
            lambda: progress_line("Learning again", job),
            key="cancel_support",
            help="Stops here and keeps the runs that are done.",
        )
        return
    if job is not None and job.failure:
        st.error(said(job.failure))
    if found is not None:
        _whole(found)
        _tables(found, labels)
        if positions is not None:
            _consensus(s, found, source, labels, positions)


def choose_least(s: Session) -> float:
    """Draw the slider below whose value nothing is shown."""
    least: float = st.slider(
        "show support ≥",
        0.0,
        1.0,
        step=0.05,
        width=190,
        help="Edges and hidden nodes that came back in a smaller share of the runs are not drawn.",
        **viewed(s, "least_support", 0.0, limits=(0.0, 1.0)),
    )
    return least


def _choose(
    s: Session, source: Source, result: LearnResult, found: Stability | None, *, disabled: bool
) -> None:
    possible = _possible(source)
    time = time_needed(work_of(source, _runs(s)), _runs(s), "runs")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "In every run",
            possible,
            format_func=words.schemes.get,
            width=330,
            disabled=disabled,
            **viewed(s, "sure_scheme", possible[0], possible),
        )
        tied = viewed(s, "sure_runs", N_RUNS)
        st.selectbox("Runs", RUNS, width=110, disabled=disabled, **tied)
        if found is None or found.n_done < found.n_asked:
            st.button(
                "How sure?" if found is None else "Run all of them",
                type="primary",
                disabled=disabled or not time.is_allowed,
                on_click=_begin,
                args=(s, source, result),
                key="sure",
            )
            with st.container(key="sure_time", width="content"):
                st.caption(time.words, width="content")
    if possible == ("orders",):
        st.caption(words.no_rows)


def work_of(source: Source, n_runs: int) -> Estimate:
    """Say what the runs take; weights make no rows, and distances alone have none to read."""
    n_rows = 0 if source.observations is None else source.observations.n_rows
    return rerun(n_rows, source.distances.n_columns, n_runs)


def _possible(source: Source) -> tuple[Scheme, ...]:
    if source.observations is not None:
        return tuple(scheme for scheme in SCHEMES if scheme != "noise")
    known = source.distances.n_samples is not None
    without = tuple(scheme for scheme in SCHEMES if scheme not in NEEDS_ROWS)
    return without if known else ("orders",)


def _scheme(s: Session, source: Source) -> Scheme:
    wanted, possible = s.view.get("sure_scheme"), _possible(source)
    return wanted if wanted in possible else possible[0]


def _runs(s: Session) -> int:
    return int(s.view.get("sure_runs", N_RUNS))


def _key(s: Session, source: Source, graph: LatentGraph) -> SupportKey:
    digests = (source.rows_digest, source.distances.digest, graph.digest)
    return SupportKey(*digests, s.recipe.settings, _scheme(s, source), _runs(s))


def _begin(s: Session, source: Source, result: LearnResult) -> None:
    key, memo, metric = _key(s, source, result.graph), s.memo, s.recipe.metric
    obs, D = source.observations, source.distances
    table = D if obs is None else obs.select(list(D.names))

    def work(report: Progress) -> Stability:
        latest: Stability | None = None
        how = Resampling(metric, key.scheme, key.n_runs, SEED)
        steps = iter_stability(table, key.settings, how, result=result, progress=report)
        with closing(steps):
            try:
                for latest in steps:  # noqa: B007
                    pass
            except Cancelled:
                if latest is None:
                    raise
        assert latest is not None, "the iterator yields or raises"
        memo.keep(KIND, key, latest)
        return latest

    s.jobs.again(KIND, key, work)
    s.view["view"] = SUPPORT


def _whole(found: Stability) -> None:
    back = 1 - found.instability
    runs = f"{found.n_used} runs"
    if found.n_done < found.n_asked:
        runs += f" (stopped; {found.n_asked} were asked for)"
    st.markdown(
        f"**{runs}** · **{found.instability:.2f}** instability: a run agrees with this graph on "
        f"{back:.0%} of the edges, on average · shown on the graph above, under **{SUPPORT}**",
        help=words.instability,
    )
    for reason, count in list(found.reasons.items())[:3]:
        st.caption(f"{count} more could not be learned and do not count: {said(reason)}")


def _tables(found: Stability, labels: tuple[str, ...]) -> None:
    with st.container(key="support_row"):
        left, right = st.columns([1.15, 1], gap="medium")
    frame = support_frame(found, labels).sort_values("support", ascending=False, kind="stable")
    with left:
        chosen = st.pills(
            "Parts", list(PARTS), default="edges", key="sure_parts", label_visibility="collapsed"
        )
        shown = frame[frame["part"].isin(PARTS[chosen])] if chosen else frame
        table(shown, height=320, column_config={"support": share_column()})
        make = partial(support_csv, found)
        save_button("Support as CSV", make, "support.csv", "file_support")
    with right:
        st.caption(words.scale)
        scale: pd.DataFrame = scale_frame()
        shares = scale.columns[1:]
        scale[shares] = scale[shares].map(lambda x: "" if pd.isna(x) else f"{x:.0f}\u00a0%")
        st.table(scale, hide_index=True)  # not a grid: its words are long and have to wrap


def _consensus(
    s: Session,
    found: Stability,
    source: Source,
    labels: tuple[str, ...],
    positions: NDArray[np.float64],
) -> None:
    if not st.toggle("Draw what most runs agree on (consensus graph)", key="sure_consensus"):
        return
    share = st.slider(
        "in at least this share of the runs",
        0.3,
        0.95,
        **viewed(s, "sure_share", 0.5, limits=(0.3, 0.95)),
        step=0.05,
        width=300,
    )
    graph = found.consensus(share)
    st.caption(
        f"{graph.n_edges} edges and {graph.n_hidden} hidden nodes, at the places of the graph "
        "above. It comes from the runs alone, and can hold what the graph above lacks."
    )
    place, names = placed_like(graph, found.graph, positions, labels)
    graph_view(
        picture(graph, place, hidden_names=names),
        key="consensus",
        subject=source.distances.digest,
        on_click=lambda _: None,
        height=480,
        file_name="consensus",
        has_script=True,
    )


def placed_like(
    graph: LatentGraph, shown: LatentGraph, positions: NDArray[np.float64], labels: tuple[str, ...]
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Where the nodes of a graph stand beside those of another, and how its hidden ones are called.

    Columns and hidden nodes that both have stand where they stood; the others in the middle of
    their neighbours, with names of their own.
    """
    p = graph.n_observed
    place = np.full((graph.n_nodes, 2), np.nan)
    place[:p] = positions[:p]
    names: dict[int, str] = {}
    for pair in match_hidden(graph, shown, threshold=0.8).pairs:
        place[pair.left] = positions[pair.right]
        names[pair.left] = labels[pair.right]
    free = (f"c{k}" for k in range(1, graph.n_nodes + 1) if f"c{k}" not in labels)
    waiting = [node for node in graph.hidden_nodes if node not in names]
    for node in waiting:
        near = place[list(graph.neighbours(node))]
        known = near[np.isfinite(near).all(axis=1)]
        place[node] = known.mean(axis=0) if len(known) else place[:p].mean(axis=0)
        names[node] = next(free)
    return place, names
