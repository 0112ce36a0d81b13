"""Building blocks of pages: texts, tabs, tables, plots, preferences, downloads, progress."""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.compute.limits import APP, Estimate, check_time, duration, estimate
from loopylatent.compute.values import Progress
from loopylatent.errors import LimitError, in_words
from loopylatent.figures.charts import alt_text
from loopylatent.figures.layout import shown_line
from loopylatent.graph import LatentGraph
from loopylatent.inference.fit import fit_parameters
from loopylatent.inference.model import Model
from loopylatent.tables.observations import Observations
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.results import FitKey, Source
from loopylatent.ui.shell.session import Session, bound

T = TypeVar("T")
UI = Path(__file__).parents[1]
ROW, HEAD = 35, 37
"""Height of a table row and of the table header, in pixels."""
PARTS: dict[str, int | None] = {
    "all nodes": None,
    "within 1 step": 1,
    "within 2 steps": 2,
    "within 3 steps": 3,
}
RUNS = (25, 50, 100, 200)
"""Numbers of resamples to choose from."""


@cache
def texts(page: str) -> SimpleNamespace:
    """Return the texts of a page, from ``words.toml`` in its folder."""
    return SimpleNamespace(**tomllib.loads((UI / page / "words.toml").read_text("utf-8")))


words = texts("shell")


def text_of(error: object) -> str:
    """Return an error, or a notice with one, as Markdown, with the remedies of the pages.

    Examples
    --------
    >>> print(text_of(ValueError("The name 'a*b' occurs twice.")))
    The name \\'a\\*b\\' occurs twice\\.
    """
    return escaped(in_words(error, words.on_pages))


JOINER = "\u2060"
"""An invisible character (word joiner) that keeps text from matching a pattern."""
_LINKED_DESPITE_ESCAPES = re.compile(
    r"""
    (?<=:)(?=//|streamlit:)             # web addresses; Streamlit's own shortcodes
    | (?<=www)(?=\.)
    | (?<=[\w+.-])(?=@)                 # e-mail addresses
    | (?<=\s[<~>-])(?=[=>-]>?(?:\s|$))    # arrows, dashes, inequality signs
    | (?<=^[<~>-])(?=[=>-]>?(?:\s|$))
    """,
    re.VERBOSE | re.IGNORECASE,
)


def escaped(text: str) -> str:
    """Return Markdown that shows ``text`` literally, on one line, without links.

    Streamlit replaces addresses, and arrows of two characters, after it has resolved escapes; an
    invisible character in them prevents that. Characters that would change the direction of the
    text are shown as U+FFFD.

    Examples
    --------
    >>> print(escaped("a*b <i>"))
    a\\*b \\<i\\>
    >>> escaped("www.a.b") == f"www{JOINER}\\\\.a\\\\.b"
    True
    """
    line = _LINKED_DESPITE_ESCAPES.sub(JOINER, shown_line(text))
    return "".join(f"\\{c}" if c in string.punctuation else c for c in line)


@dataclass(frozen=True, slots=True)
class TimeNeeded:
    """Whether work may start, and a sentence about its time."""

    is_allowed: bool
    words: str
    """Markdown."""


def time_needed(work: Estimate, times: int, what: str) -> TimeNeeded:
    """Say how long ``times`` of ``what`` take; if that is too long, what would fit.

    Examples
    --------
    >>> time_needed(Estimate(40.0), 25, "resamples").words
    'Takes about 40\xa0s.'
    >>> time_needed(Estimate(7200.0), 100, "resamples").is_allowed
    False
    """
    try:
        check_time(work, times, what, APP)
    except LimitError as error:
        return TimeNeeded(False, text_of(error))
    return TimeNeeded(True, f"Takes {_unbroken(work.words)}.")


def _unbroken(words: str) -> str:
    """Put a non-breaking space between a number and its unit."""
    head, _, unit = words.rpartition(" ")
    return f"{head}\u00a0{unit}" if head[-1:].isdigit() else words


def progress_line(title: str, job: Job) -> str:
    """Return the progress of a job with the estimated remaining time."""
    if job.total == 0:
        return f"{title} …"
    line = f"{title}: {job.done} of {job.total} done, {job.total - job.done} left"
    if 1 < job.done < job.total:  # the first one may include compilation
        line += f", about {duration((monotonic() - job.began) / job.done * (job.total - job.done))}"
    return line


def style(page: str) -> None:
    """Send the style sheet in the folder of a page."""
    st.html(UI / page / "style.css")


def remembered(key: str, make: Callable[[], T]) -> T:
    """Return the object that this browser tab keeps under a key; create it at the first call."""
    if key not in st.session_state:
        st.session_state[key] = make()
    found: T = st.session_state[key]
    return found


def viewed(
    s: Session,
    key: str,
    default: Any,
    options: Collection[Any] | None = None,
    name: str = "",
    limits: Any = None,
) -> Mapping[str, Any]:
    """Bind a widget to a preference in the session's view.

    The default is used if the widget is empty or the preference is not among the options.
    """
    here = s.view.get(name or key, default)

    def report(chosen: Any) -> None:
        s.view[name or key] = default if chosen is None else chosen

    shown = here if options is None or here in options else default
    return bound(key, shown, report, limits=limits)


def tabs(contents: Mapping[str, Callable[[], None]], key: str) -> None:
    """Draw tabs; only the contents of the open one are computed."""
    found = st.tabs(list(contents), key=key, on_change="rerun")
    for tab, draw in zip(found, contents.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def table(frame: Any, most: int | None = None, **more: Any) -> None:
    """Draw a table in full width, as high as its rows, up to ``most`` pixels."""
    if most is not None:
        more["height"] = min(HEAD + ROW * len(frame), most)
    st.dataframe(frame, hide_index=True, width="stretch", **more)


def share_column(**more: Any) -> Any:
    """Describe a column of shares, each drawn as a bar."""
    return st.column_config.ProgressColumn(
        format="%.2f", min_value=0, max_value=1, width="small", **more
    )


def chart(figure: Any, about: str, key: str, **more: Any) -> None:
    """Draw a plot with a text alternative."""
    config = {"displayModeBar": False}
    st.plotly_chart(figure, key=key, config=config, alt=alt_text(figure, about), **more)


def start_button(
    label: str, needed: TimeNeeded, action: Callable[..., None], *args: Any, **more: Any
) -> None:
    """Draw a button that starts work, with its time; disabled if that is too long."""
    blocked = more.pop("disabled", False) or not needed.is_allowed
    st.button(label, on_click=action, args=args, disabled=blocked, **more)
    st.caption(needed.words, width="content")


def share_done(job: Job) -> float:
    """Return the finished share of a job."""
    return min(1.0, job.done / job.total) if job.total else 0.0


def job_bar(
    job: Job,
    line: str,
    key: str,
    *,
    label: str = "Cancel",
    cancel: Callable[[], None] | None = None,
    columns: Sequence[float] | None = (6, 1),
    **more: Any,
) -> None:
    """Draw the progress of a job and a button that stops it."""
    left: Any = st
    right: Any = st
    if columns is not None:
        left, right = st.columns(columns, vertical_alignment="center")
    left.progress(share_done(job), line)
    stop, stopping = cancel or job.cancelled.set, job.cancelled.is_set()
    right.button(label, on_click=stop, key=key, disabled=stopping, **more)


def wait_for(job: Job, line: Callable[[], str], key: str, every: float = 0.5, **more: Any) -> None:
    """Draw the progress bar of a job; rerun the page when the job is done."""
    is_drawn = False

    @st.fragment(run_every=every)
    def progress() -> None:
        if is_drawn and job.finished.is_set():
            st.rerun()
        job_bar(job, line(), key, **more)

    progress()
    is_drawn = True


def save_button(
    label: str, data: Any, file_name: str, key: str, mime: str = "text/csv", **more: Any
) -> None:
    """Draw a download button; if ``data`` is a function, it is called at the click."""
    st.download_button(
        label, data=data, file_name=file_name, mime=mime, on_click="ignore", key=key, **more
    )


def select_by_row(
    s: Session, frame: pd.DataFrame, nodes: Sequence[int], key: str, most: int, **more: Any
) -> None:
    """Draw a table with one row per node; a click on a row selects the node."""

    def chosen() -> None:
        picked = st.session_state[key].selection.rows
        if picked:
            s.select(nodes[int(picked[0])], centre=True)

    height = min(HEAD + ROW * max(len(frame), 1), most)
    table(frame, height=height, on_select=chosen, selection_mode="single-row", key=key, **more)


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A fitted model with the posteriors of the hidden nodes in each row."""

    model: Model
    posteriors: NDArray[np.float64]

    def level(self, node: int) -> NDArray[np.float64]:
        """Return the level of a hidden node in each row, shape (rows,)."""
        one = self.posteriors[:, node - self.model.graph.n_observed]
        level: NDArray[np.float64] = one if one.ndim == 1 else one.max(axis=1)
        return level


def fit_job(s: Session, source: Source, graph: LatentGraph) -> Job | None:
    """Return the job that fits this graph to these data, running or finished."""
    obs = source.observations
    return None if obs is None else s.jobs.of("fit", FitKey(obs.digest, graph.digest))


def fitted_of(s: Session, source: Source, graph: LatentGraph) -> Fitted | None:
    """Return the fit of this graph to these data, if there is one."""
    job = fit_job(s, source, graph)
    found: Fitted | None = None if job is None else job.found
    return found


def fit_time(obs: Observations) -> TimeNeeded:
    """Estimate the time of a fit."""
    return time_needed(estimate("fit", obs.n_rows, obs.n_columns), 1, "fit")


def begin_fit(s: Session, obs: Observations, graph: LatentGraph) -> None:
    """Start the fit of a graph unless it is the current job."""

    def work(report: Progress) -> Fitted:
        model = fit_parameters(graph, obs, progress=report)
        return Fitted(model, model.hidden_posteriors(obs))

    s.jobs.get("fit", FitKey(obs.digest, graph.digest), work)


def wait_for_fit(job: Job) -> None:
    """Draw the progress of a fit and a button that stops it."""

    def line() -> str:
        return f"Step {job.done:,} of at most {job.total:,}; stops at convergence"

    wait_for(job, line, key="cancel_fit", columns=(5, 1))
