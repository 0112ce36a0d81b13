"""Widgets that pages share: preferences, progress with a way to stop it, files to save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.session import Session, bound


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
                     disabled=stopping)  # fmt: skip

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
    return min(37 + 35 * n_rows, most)


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
