"""The tabs Export and Code: a report, the graph as files, a project, a link and scripts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import partial
from time import monotonic

import streamlit as st

from loopylatent.analysis.stability.groups import N_RESAMPLES as N_GROUPINGS
from loopylatent.analysis.stability.resampling import Scheme
from loopylatent.analysis.stability.runs import N_RESAMPLES
from loopylatent.compute.limits import MEGABYTE, duration, examination
from loopylatent.compute.values import Progress
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.graph_files import Extras, provenance, render, to_command, to_python
from loopylatent.exporting.project.file import Recipe, save_project
from loopylatent.exporting.report.findings import Findings, Known, examine, part_at
from loopylatent.exporting.report.page import to_report
from loopylatent.figures.layout import positions
from loopylatent.figures.network import edge_signs
from loopylatent.figures.svg import to_svg
from loopylatent.graph import node_labels
from loopylatent.ui.explore.refine import Shown
from loopylatent.ui.explore.scene import Scene
from loopylatent.ui.open.project import saving
from loopylatent.ui.page import file_stem
from loopylatent.ui.shell.background import Job, Key
from loopylatent.ui.shell.results import digest_or_none
from loopylatent.ui.shell.session import Session
from loopylatent.ui.shell.widgets import (
    escaped,
    save_button,
    text_of,
    texts,
    time_needed,
    wait_for,
)

KIND = "report"
words = texts("explore")


@dataclass(frozen=True, slots=True)
class ReportKey(Key):
    """Identifies a report; names, positions and colours can change without a new computation."""

    distances: str
    data: str | None
    graph: str
    recipe: Recipe
    support: tuple[Scheme, int] | None
    """The scheme and the number of resamples."""


def _offer_report(s: Session, scene: Scene, stem: str) -> None:
    """Draw the button, then the progress, then the file."""
    D, obs, support = scene.source.distances, scene.source.observations, scene.support
    how = None if support is None else (support.scheme, support.n_used)
    key = ReportKey(D.digest, digest_or_none(obs), scene.result.graph.digest, s.recipe, how)
    work = examination(D.n_samples or 0, D.n_columns, N_GROUPINGS, N_RESAMPLES)
    time = time_needed(work, 1, "report")
    found: Findings | None = s.memo.known(KIND, key)
    job = s.jobs.of(KIND, key)
    with st.container(border=True, key="report"):
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.markdown(words.report)
        with right:
            if found is not None:
                title, today = scene.source.title, date.today().isoformat()
                make = partial(to_report, found, _extras(scene), title=title, created=today)
                save_button(
                    "Save report", make, f"{stem}-report.html", "file_report", "text/html",
                    width="stretch", icon=":material/download:",
                )  # fmt: skip
            else:
                st.button(
                    "Create report",
                    icon=":material/description:",
                    on_click=_begin,
                    args=(s, scene, key),
                    key="make_report",
                    disabled=not time.is_allowed or (job is not None and job.is_running),
                    width="stretch",
                )
                st.caption(time.words)
    if job is not None and job.is_running:
        wait_for(job, lambda: _progress_line(job), key="cancel_report")
    elif job is not None and job.failure:
        st.error(text_of(job.failure))


def _begin(s: Session, scene: Scene, key: ReportKey) -> None:
    source, recipe, memo = scene.source, s.recipe, s.memo
    grouped = s.jobs.of("groups", source.distances.digest)
    known = Known(
        curve=memo.known("curve", source.distances.digest),
        model=scene.model,
        groups=None if grouped is None else grouped.found,
        stability=scene.support,
    )

    def work(report: Progress) -> Findings:
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


def _progress_line(job: Job) -> str:
    if not job.total:
        return "Report …"
    line = f"Report: {part_at(job.done)} · {100 * job.done // job.total} % done"
    if 0 < job.done < job.total:
        left = (monotonic() - job.began) / job.done * (job.total - job.done)
        line += f", about {duration(left)} left"
    return line


def _extras(scene: Scene) -> Extras:
    return Extras(
        positions=scene.whole_positions,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(scene.result.graph, scene.source.distances),
        hidden_names=scene.names,
        evidence=None if scene.refined is None else scene.refined.evidence,
    )


FILES = {
    "graphml": ("GraphML", "for yEd, Gephi, Cytoscape, igraph, networkx", "application/xml"),
    "gexf": ("GEXF", "for Gephi", "application/xml"),
    "json": ("JSON", "nodes and links, for programs", "application/json"),
    "csv": ("CSV of edges", "for a spreadsheet", "text/csv"),
    "nodes.csv": ("CSV of nodes", "for a spreadsheet", "text/csv"),
    "html": ("Web page", "interactive, one file, works offline", "text/html"),
    "svg": (
        "Picture (SVG)",
        "vector graphics; for PNG use the button in the corner of the graph",
        "image/svg+xml",
    ),
}
N_COLUMNS = 4
"""Download buttons per row."""


def offer_files(s: Session, scene: Scene) -> None:
    """Offer a report, the graph in every format, and a project."""
    stem, graph, extras = file_stem(s), scene.result.graph, _extras(scene)
    files = FILES
    if scene.refined is None:
        _offer_report(s, scene, stem)
    elif scene.refined.found is None:
        st.caption(words.files_later)
        files = {}
    else:
        st.caption(words.report_of_learned)
        stem += "-refined"
    origin = provenance(scene.result)
    columns = st.columns(N_COLUMNS)
    for k, (ending, (label, purpose, mime)) in enumerate(files.items()):
        make: Callable[[], str | bytes] = partial(render, ending, graph, origin, extras)
        if ending == "svg":
            make = partial(_svg, scene)
        with columns[k % N_COLUMNS]:
            save_button(label, make, f"{stem}.{ending}", f"file_{ending}", mime, width="stretch")
            st.caption(purpose)
    most = MEGABYTE * int(st.get_option("server.maxUploadSize"))
    found = saving(s, scene.source, most)

    def project() -> bytes:
        """Return the file at the time of the click; there may be new results since drawing."""
        now = saving(s, scene.source, most).project
        assert now is not None, "the button is off"
        return save_project(now)

    with columns[len(files) % N_COLUMNS]:
        save_button(
            "Save project", project, f"{stem}.loopylatent", "file_project", "application/zip",
            width="stretch", disabled=found.project is None,
        )  # fmt: skip
        st.caption("data, settings, names, pins and results; Open file restores them")
        if found.left_out is not None:
            st.caption(escaped(found.left_out))


def offer_code(s: Session, shown: Shown) -> None:
    """Show the link, the script and the command that reproduce this graph."""
    goal = None if shown.problem is not None else shown.goal
    at = None if shown.found is None or shown.is_done else shown.at
    if s.recipe.source_kind == "sample":
        st.caption("The address of this page is a link to these data and settings.")
    else:
        st.caption(
            "The address of this page is a link to these settings, without the data. It works "
            "after the same file is opened again. A project contains both."
        )
    st.caption("Python")
    st.code(to_python(s.recipe, refine=goal, n_moves=at), language="python")
    st.caption("Command line" if at is None else words.command_takes_all)
    try:
        st.code(to_command(s.recipe, refine=goal), language="bash", wrap_lines=True)
    except LoopyLatentError as error:
        st.caption(text_of(error))


def _svg(scene: Scene) -> str:
    graph, place, extras = scene.result.graph, scene.whole_positions, _extras(scene)
    if place is None:
        place = positions(graph, labels=node_labels(graph, scene.names))
    return to_svg(graph, place, **extras.looks, hidden_names=extras.hidden_names)
