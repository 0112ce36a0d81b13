"""The report: everything about the shown graph on one page, made in the background.

Take it away: the graph as a file or picture, a link, the same in code, a project file.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import date
from functools import partial
from time import monotonic
from typing import Any

import streamlit as st

from loopylatent.analysis.stability.groups import N_RESAMPLES as N_GROUPINGS
from loopylatent.analysis.stability.runs import N_RESAMPLES
from loopylatent.api import provenance
from loopylatent.compute.limits import MEGABYTE, duration, examination
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.base import Extras, edge_signs
from loopylatent.exporting.graph_files import render
from loopylatent.exporting.project.file import save_project
from loopylatent.exporting.project.recipe import to_command, to_python
from loopylatent.exporting.report.findings import Findings, Known, examine, part_at
from loopylatent.exporting.report.page import to_report
from loopylatent.figures.inputs import node_labels
from loopylatent.figures.layout import positions
from loopylatent.figures.svg import to_svg
from loopylatent.ui.explore.scene import Scene
from loopylatent.ui.open.project import saving
from loopylatent.ui.page import file_stem
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.keys import ReportKey, digest_or_none
from loopylatent.ui.shell.messages import Patience, patience_for, plain, said
from loopylatent.ui.shell.session import Session

KIND = "report"
ABOUT = (
    "**A report** on one page that opens anywhere and prints: data, settings, graph, hidden nodes, "
    "groups, the test of loops, scores, support, and the script that gives this graph again."
)


def offer_report(s: Session, scene: Scene, stem: str) -> None:
    """Draw the button, then the progress, then the file."""
    support = scene.support
    key = ReportKey(
        scene.source.distances.digest,
        digest_or_none(scene.source.observations),
        scene.result.graph.digest,
        s.recipe,
        None if support is None else (support.scheme, support.n_used),
    )
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


FILES = {
    "graphml": ("GraphML", "for yEd, Gephi, Cytoscape, igraph, networkx"),
    "gexf": ("GEXF", "for Gephi"),
    "json": ("JSON", "nodes and links, for programs"),
    "csv": ("CSV of edges", "for a spreadsheet"),
    "nodes.csv": ("CSV of nodes", "for a spreadsheet"),
    "html": ("Web page", "one file that plays by itself, offline"),
}
ABREAST = 4
"""Files that are offered beside each other, each with what it is for below it."""
MIMES = {
    "json": "application/json",
    "html": "text/html",
    "csv": "text/csv",
    "nodes.csv": "text/csv",
}


def offer_files(s: Session, scene: Scene) -> None:
    """Offer the graph in every format; a file is made when it is asked for."""
    extras = Extras(
        positions=scene.whole_positions,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(scene.result.graph, scene.source.distances),
        hidden_names=scene.names,
    )
    origin = provenance(scene.result)
    graph, stem = scene.result.graph, file_stem(s)
    columns = st.columns(ABREAST)
    for k, (ending, (label, purpose)) in enumerate(FILES.items()):
        make: Callable[[], bytes] = partial(render, ending, graph, origin, extras)
        with columns[k % ABREAST]:
            st.download_button(
                label,
                data=make,
                file_name=f"{stem}.{ending}",
                mime=MIMES.get(ending, "application/xml"),
                width="stretch",
                on_click="ignore",
                key=f"file_{ending}",
            )
            st.caption(purpose)
    with columns[len(FILES) % ABREAST]:
        st.download_button(
            "Picture (SVG)",
            data=partial(_svg, scene),
            file_name=f"{stem}.svg",
            mime="image/svg+xml",
            width="stretch",
            on_click="ignore",
            key="file_svg",
        )
        st.caption("sharp at any size; the PNG button is in the corner of the graph")
    with columns[(len(FILES) + 1) % ABREAST]:
        _offer_project(s, scene, stem)


def _offer_project(s: Session, scene: Scene, stem: str) -> None:
    """A project that this app can open again; what has no room in it is said beforehand."""
    most = MEGABYTE * int(st.get_option("server.maxUploadSize"))
    found = saving(s, scene.source, most)
    st.download_button(
        "Project",
        data=partial(_project, s, scene, most),
        file_name=f"{stem}.loopylatent",
        mime="application/zip",
        width="stretch",
        on_click="ignore",
        disabled=found.project is None,
        key="file_project",
    )
    st.caption("data, settings, names, pins and results; Open a file brings them back")
    if found.said is not None:
        st.caption(plain(found.said[:1].upper() + found.said[1:]))


def _project(s: Session, scene: Scene, most_bytes: int) -> bytes:
    """The file as things stand at the click, which may be more than was there when it was drawn."""
    project = saving(s, scene.source, most_bytes).project
    assert project is not None, "the button is off"
    return save_project(project)


def offer_code(s: Session) -> None:
    """Show the link, the script and the command that give this graph."""
    if s.recipe.source_kind == "sample":
        st.caption("The address of this page restores the data and all settings: copy it.")
    else:
        st.caption(
            "A link cannot carry your data: the address of this page holds the settings, which "
            "apply when the same file is opened again. The project holds both."
        )
    st.caption("The same in Python")
    st.code(to_python(s.recipe), language="python")
    st.caption("The same on the command line")
    try:
        st.code(to_command(s.recipe), language="bash", wrap_lines=True)
    except LoopyLatentError as error:
        st.caption(said(error))


def _svg(scene: Scene) -> str:
    graph, place = scene.result.graph, scene.whole_positions
    return to_svg(
        graph,
        positions(graph, labels=node_labels(graph, scene.names)) if place is None else place,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(scene.result.graph, scene.source.distances),
        hidden_names=scene.names,
    )
