"""The tab Stability: the graph is learned again on resampled data, which gives its support."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.matching import match_hidden
from loopylatent.analysis.stability.resampling import (
    NEEDS_ROWS,
    SCHEMES,
    Resamples,
    Resampling,
    Scheme,
)
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
    save_button,
    share_column,
    table,
    text_of,
    texts,
    time_needed,
    viewed,
    wait_for,
)

KIND, RESAMPLES = "support", "resamples"
SUPPORT = "Support"
"""The view of the graph that shows support."""
SEED = 0
N_RUNS = 50
BOOTSTRAPS = ("bootstrap", "blocks")
SCHEME, RUNS_KEY = "sure_scheme", "sure_runs"
"""Keys in project files."""
words = texts("explore")
PARTS: dict[str, tuple[str, ...]] = {
    "edges": tuple(KINDS[kind] for kind in ("columns", "column-hidden", "inner")),
    "hidden nodes": (KINDS["hidden"],),
    "cycles": (KINDS["cycle"],),
    "edges of the initial graph": (LOCAL,),
}


def support_of(s: Session, source: Source, graph: LatentGraph) -> Stability | None:
    """Return the support of this graph under the chosen scheme, if known."""
    found: Stability | None = s.memo.known(KIND, _key(s, source, graph))
    return found


def show_stability(
    s: Session,
    source: Source,
    result: LearnResult,
    labels: tuple[str, ...],
    positions: NDArray[np.float64] | None,
) -> None:
    """Draw the settings, the button, the progress, and the results.

    The consensus graph is drawn only if all ``positions`` are known.
    """
    st.markdown(words.stability)
    job = s.jobs.of(KIND, _key(s, source, result.graph))
    running = job is not None and job.is_running
    found = support_of(s, source, result.graph)
    _choose(s, source, result, found, disabled=running)
    if s.recipe.regularize != "none":
        st.caption("Resamples are learned without BIC penalty, which would take too long.")
    if job is not None and job.is_running:
        wait_for(
            job,
            lambda: progress_line("Resamples", job),
            key="cancel_support",
            help="Stops and keeps the finished resamples.",
        )
        return
    if job is not None and job.failure:
        st.error(text_of(job.failure))
    if found is not None:
        _summary(found)
        _tables(found, labels)
        if positions is not None:
            _consensus(s, found, source, labels, positions)


def choose_least(s: Session) -> float:
    """Draw the slider for the lowest support shown."""
    least: float = st.slider(
        "show support ≥",
        0.0,
        1.0,
        step=0.05,
        width=190,
        help="Hides edges and hidden nodes with less support.",
        **viewed(s, "least_support", 0.0, limits=(0.0, 1.0)),
    )
    return least


def _choose(
    s: Session, source: Source, result: LearnResult, found: Stability | None, *, disabled: bool
) -> None:
    possible = _possible(source)
    time = time_needed(work_of(source, _runs(s)), _runs(s), "resamples")
    name = "Bootstrap" if _scheme(s, source) in BOOTSTRAPS else "Resample"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(
            "Scheme",
            possible,
            format_func=words.schemes.get,
            width=330,
            disabled=disabled,
            **viewed(s, "support_scheme", possible[0], possible, name=SCHEME),
        )
        binding = viewed(s, "support_runs", N_RUNS, name=RUNS_KEY)
        st.selectbox("Resamples", RUNS, width=110, disabled=disabled, **binding)
        if found is None or found.n_done < found.n_asked:
            st.button(
                name if found is None else "Run all resamples",
                type="primary",
                disabled=disabled or not time.is_allowed,
                on_click=_begin,
                args=(s, source, result),
                key="resample",
            )
            with st.container(key="support_time", width="content"):
                st.caption(time.words, width="content")
    if possible == ("orders",):
        st.caption(words.no_rows)


def work_of(source: Source, n_runs: int) -> Estimate:
    """Estimate the time of the resamples; distances alone have no rows to read."""
    n_rows = 0 if source.observations is None else source.observations.n_rows
    return rerun(n_rows, source.distances.n_columns, n_runs)


def _possible(source: Source) -> tuple[Scheme, ...]:
    if source.observations is not None:
        return tuple(scheme for scheme in SCHEMES if scheme != "noise")
    known = source.distances.n_samples is not None
    without = tuple(scheme for scheme in SCHEMES if scheme not in NEEDS_ROWS)
    return without if known else ("orders",)


def _scheme(s: Session, source: Source) -> Scheme:
    scheme, possible = s.view.get(SCHEME), _possible(source)
    return scheme if scheme in possible else possible[0]


def _runs(s: Session) -> int:
    return int(s.view.get(RUNS_KEY, N_RUNS))


def _key(s: Session, source: Source, graph: LatentGraph) -> SupportKey:
    digests = (source.rows_digest, source.distances.digest, graph.digest)
    return SupportKey(*digests, s.recipe.settings, _scheme(s, source), _runs(s))


def _begin(s: Session, source: Source, result: LearnResult) -> None:
    key, memo, metric = _key(s, source, result.graph), s.memo, s.recipe.metric
    obs, D = source.observations, source.distances
    table = D if obs is None else obs.select(list(D.names))
    how = Resampling(metric, key.scheme, key.n_runs, SEED)
    same = f"{key.data} {key.distances} {metric} {key.scheme} {key.n_runs}"
    known: Resamples | None = memo.known(RESAMPLES, same)

    def work(report: Progress) -> Stability:
        latest: Stability | None = None
        resamples = Resamples.of(table, how, D) if known is None else known
        steps = iter_stability(
            table, key.settings, how, result=result, progress=report, resamples=resamples
        )
        with closing(steps):
            try:
                for latest in steps:  # noqa: B007
                    pass
            except Cancelled:
                if latest is None:
                    raise
        assert latest is not None, "the iterator yields or raises"
        memo.keep(KIND, key, latest)
        memo.keep(RESAMPLES, same, resamples)
        return latest

    s.jobs.again(KIND, key, work)
    s.view["view"] = SUPPORT


def _summary(found: Stability) -> None:
    resamples = f"{found.n_used} resamples"
    if found.n_done < found.n_asked:
        resamples += f" (stopped; {found.n_asked} requested)"
    st.markdown(
        f"**{resamples}** · **{found.instability:.2f}** instability: on average a resample agrees "
        f"with this graph on {1 - found.instability:.0%} of the edges · the view **{SUPPORT}** "
        "above shows the support of each part",
        help=words.instability,
    )
    for reason, count in list(found.reasons.items())[:3]:
        st.caption(f"{count} could not be learned and are not counted: {text_of(reason)}")


def _tables(found: Stability, labels: tuple[str, ...]) -> None:
    with st.container(key="support_row"):
        left, right = st.columns([1.15, 1], gap="medium")
    frame = support_frame(found, labels).sort_values("support", ascending=False, kind="stable")
    with left:
        chosen = st.pills(
            "Parts", list(PARTS), default="edges", key="support_parts", label_visibility="collapsed"
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
        st.table(scale, hide_index=True)  # unlike st.dataframe it wraps long texts


def _consensus(
    s: Session,
    found: Stability,
    source: Source,
    labels: tuple[str, ...],
    positions: NDArray[np.float64],
) -> None:
    if not st.toggle("Consensus graph", key="consensus_on"):
        return
    share = st.slider(
        "Minimum share of resamples",
        0.3,
        0.95,
        **viewed(s, "consensus_share", 0.5, name="sure_share", limits=(0.3, 0.95)),
        step=0.05,
        width=300,
    )
    graph = found.consensus(share)
    st.caption(
        f"{graph.n_edges} edges and {graph.n_hidden} hidden nodes, on the layout of the graph "
        "above. The consensus is built from the resamples alone and can contain parts that the "
        "graph above lacks."
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
    """Return positions and hidden names for a graph on the layout of another.

    Matched nodes keep their positions and names; other hidden nodes are placed at the mean of
    their neighbours, with new names.
    """
    p = graph.n_observed
    place = np.full((graph.n_nodes, 2), np.nan)
    place[:p] = positions[:p]
    names: dict[int, str] = {}
    for pair in match_hidden(graph, shown, threshold=0.8).pairs:
        place[pair.left] = positions[pair.right]
        names[pair.left] = labels[pair.right]
    free = (f"c{k}" for k in range(1, graph.n_nodes + 1) if f"c{k}" not in labels)
    unmatched = [node for node in graph.hidden_nodes if node not in names]
    for node in unmatched:
        near = place[list(graph.neighbours(node))]
        known = near[np.isfinite(near).all(axis=1)]
        place[node] = known.mean(axis=0) if len(known) else place[:p].mean(axis=0)
        names[node] = next(free)
    return place, names
