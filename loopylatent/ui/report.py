"""The report: everything about the shown graph on one page, made in the background."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import date
from functools import partial
from time import monotonic
from typing import Any

import streamlit as st

from loopylatent.communities import N_RESAMPLES as N_GROUPINGS
from loopylatent.export import Extras
from loopylatent.limits import duration, examination
from loopylatent.report.findings import Findings, Known, examine, part_at
from loopylatent.report.page import to_report
from loopylatent.stability import N_RESAMPLES
from loopylatent.ui.background import Job
from loopylatent.ui.patience import Patience, patience_for
from loopylatent.ui.refusal import said
from loopylatent.ui.scene import Scene
from loopylatent.ui.stages import edge_signs
from loopylatent.ui.state import Session

KIND = "report"
ABOUT = (
    "**A report** on one page that opens anywhere and prints: data, settings, graph, hidden nodes, "
    "groups, the test of loops, scores, support, and the script that gives this graph again."
)


def offer_report(s: Session, scene: Scene, stem: str) -> None:
    """Draw the button, then the progress, then the file."""
    key = report_key(s, scene)
    patience = _patience(scene)
    found: Findings | None = s.memo.known(KIND, key)
    job = s.jobs.current(KIND)
    here = job is not None and job.key == key
    with st.container(border=True, key="report"):
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.markdown(ABOUT)
        with right:
            if found is not None:
                _offer_file(found, scene, stem)
            else:
                st.button(
                    "Make the report",
                    icon=":material/description:",
                    on_click=_begin,
                    args=(s, scene, key),
                    key="make_report",
                    disabled=not patience.is_enough
                    or (job is not None and here and not job.finished.is_set()),
                    width="stretch",
                )
                st.caption(patience.words)
    if job is not None and here:
        if not job.finished.is_set():
            _wait(job)
        elif job.error is not None and job.error != "stopped":
            st.error(said(job.error))


def _patience(scene: Scene) -> Patience:
    D = scene.source.distances
    work = examination(D.n_samples or 0, D.n_columns, N_GROUPINGS, N_RESAMPLES)
    return patience_for(work, 1, "report")


def report_key(s: Session, scene: Scene) -> Hashable:
    """What a report is of; names, places and colours can change without new computations."""
    obs, support = scene.source.observations, scene.support
    return (
        scene.source.distances.digest,
        None if obs is None else obs.digest,
        scene.result.graph.digest,
        s.recipe,
        None if support is None else (support.scheme, support.n_used),
    )


def _begin(s: Session, scene: Scene, key: Hashable) -> None:
    source, recipe, memo = scene.source, s.recipe, s.memo
    grouped = s.jobs.current("groups")
    known = Known(
        curve=memo.known("curve", source.distances.digest),
        model=scene.model,
        groups=_result(grouped, source.distances.digest),
        stability=scene.support,
    )

    def work(report: Callable[[int, int], None]) -> Findings:
        findings = examine(
            recipe,
            source.distances,
            scene.result,
            source.observations,
            known=known,
            known_groups=source.groups,
            progress=report,
        )
        memo.keep(KIND, key, findings)
        return findings

    s.jobs.again(KIND, key, work)


def _result(job: Job | None, key: Hashable) -> Any:
    """What a finished job has found for this key."""
    if job is None or job.key != key or not job.finished.is_set() or job.error is not None:
        return None
    return job.result


@st.fragment(run_every=0.5)
def _wait(job: Job) -> None:
    if job.finished.is_set():
        st.rerun()
    left, right = st.columns([6, 1], vertical_alignment="center")
    share = min(1.0, job.done / job.total) if job.total else 0.0
    left.progress(share, _progress_line(job))
    right.button("Cancel", on_click=job.cancelled.set, key="cancel_report")


def _progress_line(job: Job) -> str:
    if not job.total:
        return "Report …"
    line = f"Report: {part_at(job.done)} · {100 * job.done // job.total} % done"
    if 0 < job.done < job.total:
        left = (monotonic() - job.began) / job.done * (job.total - job.done)
        line += f", about {duration(left)} left"
    return line


def _offer_file(findings: Findings, scene: Scene, stem: str) -> None:
    extras = Extras(
        positions=scene.whole_positions,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(scene.result.graph, scene.source.distances),
        hidden_names=scene.names,
    )
    title, today = scene.source.title, date.today().isoformat()
    st.download_button(
        "Save the report",
        data=partial(to_report, findings, extras, title=title, created=today),
        file_name=f"{stem}-report.html",
        mime="text/html",
        width="stretch",
        icon=":material/download:",
        on_click="ignore",
        key="file_report",
    )
