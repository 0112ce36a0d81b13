"""Pieces of which pages are made: words, tabs, tables, plots, preferences, files, running work."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar

import pandas as pd
import streamlit as st

from loopylatent.figures.alt_text import described
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.messages import TimeNeeded, progress_line
from loopylatent.ui.shell.session import Session, bound

T = TypeVar("T")
UI = Path(__file__).parents[1]
ROW, HEAD = 35, 37
"""Pixels of a row of a table, and of its head."""


@cache
def texts(page: str) -> SimpleNamespace:
    """Return what a page says, from ``words.toml`` in its folder."""
    return SimpleNamespace(**tomllib.loads((UI / page / "words.toml").read_text("utf-8")))


def style(page: str) -> None:
    """Send the style sheet in the folder of a page."""
    st.html(UI / page / "style.css")


def remembered(key: str, make: Callable[[], T]) -> T:
    """Return what this browser tab remembers under a key."""
    if key not in st.session_state:
        st.session_state[key] = make()
    found: T = st.session_state[key]
    return found


def viewed(
    s: Session, key: str, usual: Any, options: Collection[Any] | None = None, name: str = ""
) -> Mapping[str, Any]:
    """Tie a widget to what the session remembers of its view, if that is still to be had."""
    here = s.view.get(name or key, usual)
    shown = here if options is None or here in options else usual
    return bound(key, shown, partial(s.view.__setitem__, name or key))


def tabs(contents: Mapping[str, Callable[[], None]], key: str) -> None:
    """Draw tabs, and what is in the open one."""
    found = st.tabs(list(contents), key=key, on_change="rerun")
    for tab, draw in zip(found, contents.values(), strict=True):
        if tab.open:
            with tab:
                draw()


def table(frame: Any, most: int | None = None, **more: Any) -> None:
    """Draw a table as wide as its place and as high as its rows, up to ``most`` pixels."""
    if most is not None:
        more["height"] = height_of(len(frame), most)
    st.dataframe(frame, hide_index=True, width="stretch", **more)


def chart(figure: Any, about: str, key: str, **more: Any) -> None:
    """Draw a plot, described for those who do not see it."""
    quiet = {"displayModeBar": False}
    st.plotly_chart(figure, key=key, config=quiet, alt=described(figure, about), **more)


def download_csv(label: str, data: Any, file_name: str, key: str) -> None:
    """Offer a table as a file."""
    st.download_button(
        label, data=data, file_name=file_name, mime="text/csv", on_click="ignore", key=key
    )


def start_button(
    label: str, needed: TimeNeeded, action: Callable[..., None], *args: Any, **more: Any
) -> None:
    """A button that begins work, which it does not where that takes too long; and how long."""
    blocked = more.pop("disabled", False) or not needed.is_allowed
    st.button(label, on_click=action, args=args, disabled=blocked, **more)
    st.caption(needed.words, width="content")


def is_waited_for(job: Job | None) -> bool:
    """Whether a job runs and somebody waits for it."""
    return job is not None and not job.finished.is_set() and not job.cancelled.is_set()


def share_done(job: Job) -> float:
    """Return how much of a job is done, from 0 to 1."""
    return min(1.0, job.done / job.total) if job.total else 0.0


def job_bar(
    job: Job,
    title: str,
    key: str,
    *,
    cancel: Callable[[], None] | None = None,
    columns: Sequence[float] = (6, 1),
    **more: Any,
) -> None:
    """Show how far a job is, with a way to stop it."""
    left, right = st.columns(list(columns), vertical_alignment="center")
    left.progress(share_done(job), progress_line(title, job, job.began))
    right.button("Cancel", on_click=cancel or job.cancelled.set, key=key, **more)


def in_view(
    s: Session, name: str, value: Any, *, otherwise: Any = None, limits: Any = None
) -> Mapping[str, Any]:
    """Tie a widget to what the session's view keeps under its name.

    ``value`` is shown; where the widget is left empty, ``otherwise`` is kept.
    """

    def report(chosen: Any) -> None:
        s.view[name] = otherwise if chosen is None else chosen

    return bound(name, value, report, limits=limits)


def wait_for(
    job: Job,
    line: Callable[[], str],
    *,
    key: str,
    label: str = "Cancel",
    every: float = 0.5,
    widths: tuple[int, int] | None = (6, 1),
    on_cancel: Callable[[], None] | None = None,
    tip: str | None = None,
    **more: Any,
) -> None:
    """Draw how far a job is and a button that stops it; when it is done the page runs once more."""
    is_drawn = False

    @st.fragment(run_every=every)
    def progress() -> None:
        if is_drawn and job.finished.is_set():
            st.rerun()
        left: Any = st
        right: Any = st
        if widths is not None:
            left, right = st.columns(widths, vertical_alignment="center")
        left.progress(min(1.0, job.done / job.total) if job.total else 0.0, line())
        stopping = job.cancelled.is_set()
        right.button(label, on_click=on_cancel or job.cancelled.set, key=key, help=tip,
                     disabled=stopping, **more)  # fmt: skip

    progress()
    is_drawn = True


def save_button(
    label: str, data: Callable[[], str | bytes], file_name: str, mime: str, key: str, **more: Any
) -> None:
    """Offer a file, which is made when it is asked for."""
    st.download_button(
        label,
        data=data,
        file_name=file_name,
        mime=mime,
        on_click="ignore",
        key=f"file_{key}",
        **more,
    )


def height_of(n_rows: int, most: int) -> int:
    """Pixels of a table on the page with so many rows."""
    return min(HEAD + ROW * n_rows, most)


def select_by_row(
    s: Session, frame: pd.DataFrame, nodes: Sequence[int], key: str, **more: Any
) -> None:
    """Draw a table with a row for each of the nodes; a click on a row selects its node."""

    def chosen() -> None:
        picked = st.session_state[key].selection.rows
        if picked:
            s.select(nodes[int(picked[0])], centre=True)

    st.dataframe(
        frame, hide_index=True, width="stretch", on_select=chosen, selection_mode="single-row",
        key=key, **more,
    )  # fmt: skip
