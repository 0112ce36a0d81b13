"""Opening a file: a preview first; the session changes only when the file is used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from loopylatent.analysis.stability.loop_test import Opening, opening_radius
from loopylatent.compute.limits import (
    APP,
    Estimate,
    Stage,
    check_memory,
    check_shape,
    check_time,
    estimate,
)
from loopylatent.distances.matrix import DistanceMatrix, check_n_samples
from loopylatent.errors import DataError, LoopyLatentError
from loopylatent.exporting.project.file import Project, Recipe, digest_of, open_project
from loopylatent.figures.simplify import SIMPLE_FROM, WHOLE_UP_TO
from loopylatent.learning.initial_graph import check_radius, default_thresholds
from loopylatent.tables.kinds import Kind, type_column
from loopylatent.tables.observations import Observations
from loopylatent.ui.open.project import checked, take, uploads_with
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.results import (
    Source,
    begin_curve,
    curve_job,
    frame_of,
    source_of,
    table_of,
)
from loopylatent.ui.shell.session import NOTHING, Session
from loopylatent.ui.shell.widgets import escaped, table, text_of, texts, wait_for

EVERY = 1.0
"""Seconds between two updates of a progress bar."""
words = texts("open")


def open_at(s: Session, D: DistanceMatrix, recipe: Recipe, opening: Opening | None) -> None:
    """Open a table at the radius that the loop test chose; without one, as a tree to be tested."""
    default = default_thresholds(D)
    r = default.r if opening is None else opening.r
    opened = replace(recipe, r=r, Lambda=default.Lambda, tau=default.tau)
    s.notice = None
    s.open(opened)
    off = s.notice  # refinement was switched off, or nothing
    reason = None
    if opening is not None:
        reason = opening.reason
    elif D.n_columns > WHOLE_UP_TO:
        reason = words.untested.format(r=r, p=D.n_columns)
    else:
        s.untested = opened
    s.notice = " ".join(one for one in (reason, off) if one) or None


# The curve ---------------------------------------------------------------------------------


def follow_curve(s: Session, D: DistanceMatrix) -> None:
    """Show the progress of the density curve with a button to stop it, or the button to start."""
    job = curve_job(s.jobs, D)
    if job is not None and job.is_running:
        wait_to_stop(job, "Initial graphs: ball {done:,} of {total:,}", "cancel_curve")
        return
    if job is not None and job.error not in (None, "stopped"):
        st.caption(text_of(job.error))
    st.button(
        "Compute initial graphs over all r",
        on_click=begin_curve,
        args=(s.jobs, s.memo, D),
        key="follow_curve",
        help="Gives the density curve and makes changes of r fast. Runs in the background.",
        width="stretch",
    )


def say_curve_is_missing(s: Session, D: DistanceMatrix) -> None:
    """Say how to get the density curve."""
    job = curve_job(s.jobs, D)
    runs = job is not None and job.is_running
    icon = ":material/hourglass_top:" if runs else ":material/info:"
    st.info(words.follows if runs else words.not_followed, icon=icon)


def wait_to_stop(job: Job, line: str, key: str) -> None:
    """Draw a progress bar and a button that stops the job."""
    more: dict[str, Any] = {"label": "Stop", "every": EVERY, "columns": (3, 1)}
    wait_for(job, lambda: line.format(done=job.done, total=job.total), key, **more)


PREVIEW_ROWS = 4
QUICK = 1.0
"""Seconds that a preview may spend on distances."""
TABLE, DISTANCES, PROJECT = "Table", "Distances", "Project"
TYPES = {
    TABLE: ["csv", "tsv", "txt", "gz", "parquet", "xlsx"],
    DISTANCES: ["csv", "tsv", "txt", "gz", "parquet", "xlsx"],
    PROJECT: ["loopylatent"],
}


@st.dialog("Open file", width="large")
def open_file(s: Session) -> None:
    """Choose a file, check how it was read, and use it."""
    kind = st.segmented_control(
        "File contents", list(words.about), default=TABLE, required=True, key="open_kind"
    )
    st.caption(f"{words.about[kind]} Nothing leaves this computer.")
    file = st.file_uploader(
        "File", type=TYPES[kind], label_visibility="collapsed", key=f"open_{kind}"
    )
    if file is None:
        return
    with _errors_shown(st.container()):
        content = file.getvalue()
        if kind != PROJECT:
            _offer_linked(s, content)
        if kind == TABLE:
            _open_table(s, file.name, content)
        elif kind == DISTANCES:
            _open_distances(s, file.name, content)
        else:
            _open_project(s, content)


@st.dialog("Columns", width="large")
def open_columns(s: Session) -> None:
    """Show the columns of the current data, and let their use and type be corrected."""
    with _errors_shown(st.container()):
        source = source_of(s.memo, s.uploads, s.recipe)
        if s.recipe.source_kind == "table" and s.recipe.data_digest is not None:
            _open_table(s, s.recipe.source, s.uploads[s.recipe.data_digest])
            return
        st.caption("Columns of bundled tables cannot be changed. Open your own file to choose.")
        table(_column_table(source))


def _offer_linked(s: Session, content: bytes) -> None:
    """Offer the settings of the link if this is the file that it belongs to."""
    recipe, digest = s.recipe, digest_of(content)
    if recipe.data_digest != digest or digest in s.uploads:
        return
    st.info(
        f"The link was made with this file (r = {recipe.r:.3g}, Λ = {recipe.Lambda:.3g}, "
        f"τ = {recipe.tau:.3g}).",
        icon=":material/link:",
    )
    if st.button("Use settings of the link", type="primary"):
        if recipe.source_kind == "table":
            check_shape(*frame_of(s.memo, content, recipe.source).shape, APP)
        opened = source_of(s.memo, {digest: content}, recipe)
        _checked_work(0, opened.distances.n_columns)
        check_radius(opened.distances, recipe.r)
        s.keep_upload(digest, content)
        st.rerun()


@contextmanager
def _errors_shown(place: DeltaGenerator) -> Iterator[None]:
    """Show an error in one line, above the fields that may have to be corrected."""
    try:
        yield
    except LoopyLatentError as error:
        place.error(text_of(error), icon=":material/error:")


def _open_table(s: Session, name: str, content: bytes) -> None:
    digest = digest_of(content)
    frame = frame_of(s.memo, content, name)
    check_shape(*frame.shape, APP)
    proposals = s.memo.get("proposals", digest, lambda: propose_columns(frame))
    counts, use = st.columns([3, 1], vertical_alignment="center")
    first = _shown(frame.head(PREVIEW_ROWS))
    st.dataframe(first, width="stretch", height=min(178, 38 + 35 * len(first)))
    reading = _edited_columns(proposals, digest)
    text = "Drop columns that are constant or repeat another column"
    drop_degenerate = st.checkbox(text, value=True, key=f"degenerate_{digest}")
    named = replace(reading, source=name, source_kind="table", data_digest=digest)
    recipe = replace(named, drop_degenerate=drop_degenerate)
    obs = table_of(s.memo, content, recipe)
    for dropped in obs.dropped:
        if dropped.reason not in ("left out on request", "label", "weights"):
            st.caption(escaped(f"{dropped.name!r} is dropped: {dropped.reason}."))
    kept = _kept_columns(s, recipe, content, obs)
    for repeated in [column for column in obs.names if column not in set(kept)]:
        st.caption(escaped(f"{repeated!r} is dropped: it repeats another column."))
    counts.markdown(
        f"**{len(frame):,} rows, {len(frame.columns)} columns**, of which "
        f"**{len(kept)}** enter the graph. First rows:"
    )
    with use:
        _use_button(s, recipe, content, "Use table", obs.n_rows, obs.n_columns)


def _shown(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert columns of mixed type to text; their numbers may be too long for the table widget."""
    shown = frame.set_axis(range(1, len(frame) + 1))
    for name in frame.columns[[pd.api.types.is_object_dtype(dtype) for dtype in frame.dtypes]]:
        shown[name] = frame[name].map(str, na_action="ignore")
    return shown


def _kept_columns(s: Session, recipe: Recipe, content: bytes, obs: Observations) -> tuple[str, ...]:
    """Return the columns that get distances if these are quickly computed, otherwise all."""
    work = estimate("distances", obs.n_rows, obs.n_columns)
    if not recipe.drop_degenerate or work.seconds > QUICK:
        return obs.names
    try:
        return source_of(s.memo, {str(recipe.data_digest): content}, recipe).distances.names
    except LoopyLatentError:  # shown when the table is used
        return obs.names


def _edited_columns(proposals: tuple[Proposal, ...], digest: str) -> Recipe:
    st.write("**Use and type of each column** (correct what is wrong):")
    frame = pd.DataFrame(proposals).set_axis(["column", "use", "type", "values"], axis=1)
    edited = st.data_editor(
        frame,
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * len(frame), 300),
        disabled=["column", "values"],
        column_config={
            "use": st.column_config.SelectboxColumn(options=list(get_args(Role)), required=True),
            "type": st.column_config.SelectboxColumn(
                options=list(get_args(Kind)),
                help="  \n".join(f"{kind}: {text}" for kind, text in words.kinds.items()),
            ),
        },
        key=f"columns_{digest}",
    )
    kinds = [kind if isinstance(kind, str) and kind else None for kind in edited["type"]]
    return reading_of(proposals, list(edited["use"]), kinds)  # type: ignore[arg-type]


def _open_distances(s: Session, name: str, content: bytes) -> None:
    tip = "Determines the default margin Λ and the noise floor."
    label = "Rows behind the distances (0 if unknown)"
    known = st.number_input(label, min_value=0, value=0, step=1, help=tip)
    n_samples = int(known) or None
    check_n_samples(n_samples)
    digest = digest_of(content)
    named = replace(NOTHING, source=name, source_kind="distances", data_digest=digest)
    recipe = replace(named, n_samples=n_samples)
    D = source_of(s.memo, {digest: content}, recipe).distances
    st.write(f"**{D.n_columns} columns**, distances from {D.smallest:.3g} to {D.r_max:.3g}.")
    _use_button(s, recipe, content, "Use distances", 0, D.n_columns)


def _open_project(s: Session, content: bytes) -> None:
    project = s.memo.get("project", digest_of(content), lambda: open_project(content))
    title, version = escaped(project.title), escaped(project.written_by)
    st.markdown(f"**{title}**, saved by loopylatent {version}.")
    st.caption(escaped(_contents(project)))
    if s.pins:
        st.caption("The pins of the project replace those of this session.")
    if st.button("Open project", type="primary"):
        opened = checked(project, _project_source(s, project))
        take(s, opened)
        if project.results is not None and opened.results is None:
            s.notice = "The saved results belong to other distances and were not loaded."
        st.rerun()


def _contents(project: Project) -> str:
    """Say what a project contains besides data and settings."""
    counts = {"name": len(project.names), "pin": len(project.pins)}
    parts = [f"{n} {what}{'s' * (n > 1)}" for what, n in counts.items() if n]
    parts += [] if project.results is None else project.results.summary
    return f"With {', '.join(parts)}." if parts else "Without names, pins or results."


def _project_source(s: Session, project: Project) -> Source:
    """Read the data of a project within the limits of the app, without changing the session."""
    recipe, uploads = project.recipe, uploads_with(s, project)
    content = uploads.get(recipe.data_digest or "")
    if recipe.source_kind == "table" and content is not None:
        obs = table_of(s.memo, content, recipe)
        _checked_work(obs.n_rows, obs.n_columns)
    source = source_of(s.memo, uploads, recipe)
    if recipe.source_kind == "distances":
        _checked_work(0, source.distances.n_columns)
    check_radius(source.distances, recipe.r)
    return source


def opening_work(n_rows: int, n_columns: int) -> Estimate:
    """Estimate the time to open a table: distances, density curve, loop test, graph."""
    stages: tuple[Stage, ...] = ("distances", "learn")
    if n_columns <= SIMPLE_FROM:  # otherwise curve and loop test follow in the background
        stages = ("distances", "curve", "loops", "learn")
    return sum((estimate(one, n_rows, n_columns) for one in stages), Estimate(0.0))


def _checked_work(n_rows: int, n_columns: int) -> Estimate:
    """Estimate the time to open data; raise if they are too large for a session or this machine."""
    check_shape(n_rows, n_columns, APP)
    work = opening_work(n_rows, n_columns)
    check_time(work, 1, "opening", APP)
    check_memory(n_columns, "learn")
    return work


def _use_button(
    s: Session, recipe: Recipe, content: bytes, label: str, n_rows: int, n_columns: int
) -> None:
    """Draw the button that opens the data, with loops if the loop test finds them real."""
    work = _checked_work(n_rows, n_columns)
    pressed = st.button(label, type="primary", width="stretch")
    st.caption(f"Takes {work.words}.", text_alignment="center")
    if not pressed:
        return
    bar = st.progress(0.0, "Computing distances …")

    def report(done: int, total: int) -> None:
        bar.progress(done / max(total, 1), f"Loop test: simulated table {done} of {total}")

    digest = str(recipe.data_digest)
    D = source_of(s.memo, {digest: content}, recipe).distances
    opening = None if D.n_columns > SIMPLE_FROM else opening_radius(D, progress=report)
    s.keep_upload(digest, content)
    open_at(s, D, recipe, opening)
    st.rerun()


def _column_table(source: Source) -> pd.DataFrame:
    obs = source.observations
    if obs is None:
        return pd.DataFrame({"column": source.distances.names})
    missing = [f"{obs.missing_share(name):.1%}" for name in obs.names]
    return pd.DataFrame({"column": obs.names, "type": obs.kinds, "missing": missing})


Role = Literal["learn", "label", "drop", "weights"]
MOST_VALUES = 4


@dataclass(frozen=True, slots=True)
class Proposal:
    """The detected use and type of one column."""

    name: str
    role: Role
    kind: Kind | None
    note: str


def propose_columns(frame: pd.DataFrame) -> tuple[Proposal, ...]:
    """Propose a role for every column; a column without a usable type becomes a label."""
    return tuple(_proposal(str(name), frame.iloc[:, j]) for j, name in enumerate(frame.columns))


def _proposal(name: str, series: pd.Series[Any]) -> Proposal:
    try:
        typed = type_column(name, series)
    except LoopyLatentError as error:
        return Proposal(name, "label", None, str(error))
    if series.nunique(dropna=True) < 2:
        return Proposal(name, "drop", typed.column.kind, "constant or empty")
    if typed.column.kind == "continuous" and _counts_rows(series):
        return Proposal(name, "label", typed.column.kind, "row numbers")
    states, missing = typed.column.states, int(series.isna().sum())
    more = ", …" if len(states) > MOST_VALUES else ""
    parts = (", ".join(states[:MOST_VALUES]) + more, f"{missing:,} missing" if missing else "")
    return Proposal(name, "learn", typed.column.kind, "; ".join(filter(None, parts)))


def _counts_rows(series: pd.Series[Any]) -> bool:
    """Return whether the values are consecutive integers."""
    numbers = pd.to_numeric(series, errors="coerce")
    return bool(numbers.notna().all() and (numbers.diff().iloc[1:] == 1).all())


def reading_of(
    proposals: Sequence[Proposal], roles: Sequence[Role], kinds: Sequence[Kind | None]
) -> Recipe:
    """Return the recipe that reads columns with these roles and types."""

    def named(role: Role) -> tuple[str, ...]:
        return tuple(p.name for p, one in zip(proposals, roles, strict=True) if one == role)

    weights = named("weights")
    if len(weights) > 1:
        raise DataError("Two columns are marked as weights. Mark only one.")
    changed = tuple(
        (p.name, kind)
        for p, role, kind in zip(proposals, roles, kinds, strict=True)
        if role == "learn" and kind is not None and kind != p.kind
    )
    used = replace(NOTHING, drop=named("drop"), labels=named("label"))
    return replace(used, kinds=changed, weights=next(iter(weights), None))
