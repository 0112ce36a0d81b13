"""Quartets on the page: those of a neighbourhood, and any four columns under the lens."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

import numpy as np
import pandas as pd
import streamlit as st

from loopylatent.figures.labels import shown_label
from loopylatent.lesson.frames import Frame
from loopylatent.lesson.lesson import Lesson
from loopylatent.lesson.visits import PAIRINGS, Inspection, Visit, inspect
from loopylatent.ui.lesson.walk import Walk
from loopylatent.ui.shell.session import bound

MOST_ROWS = 3000
ALL, DECLARED, NULL = "all", "declared", "⊥"


def quartets(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """Every quartet of the neighbourhood with its three products and the verdict."""
    del w
    visit = Visit.of(lesson.material, frame.place)
    table = visit.quartets
    if table is None:
        size = len(visit.members)
        st.caption(f"A has {size} nodes and {math.comb(size, 4):,} quartets, too many to list.")
        return
    if table.n_quartets == 0:
        st.caption("A has three nodes, and so no quartet: nothing speaks against any pair.")
        return
    which, about = st.columns([1, 3], vertical_alignment="center")
    wanted = which.segmented_control(
        "Show", [ALL, DECLARED, NULL], default=ALL, key="lesson_filter",
        label_visibility="collapsed",
    )  # fmt: skip
    about.caption(
        "Products of strengths for the three pairings of four nodes a, b, c, d. The lead is the "
        "largest, lowered by Λ, less its best rival, raised by Λ: above 0 it is declared."
    )
    names = np.array([shown_label(lesson.cast.labels[node]) for node in visit.members])
    four = names[table.nodes]
    rows = pd.DataFrame(
        {
            "a": four[:, 0],
            "b": four[:, 1],
            "c": four[:, 2],
            "d": four[:, 3],
            "ab|cd": table.products[:, 0],
            "ac|bd": table.products[:, 1],
            "ad|bc": table.products[:, 2],
            "lead": table.lead,
            "verdict": [
                _written(row, verdict) for row, verdict in zip(four, table.verdicts, strict=True)
            ],
        }
    )
    if wanted in (DECLARED, NULL):
        rows = rows[(table.verdicts > 0) == (wanted == DECLARED)]
    number = st.column_config.NumberColumn(format="%.4f")
    st.dataframe(
        rows.head(MOST_ROWS),
        hide_index=True,
        width="stretch",
        height=min(38 + 35 * max(len(rows), 1), 340),
        column_config=dict.fromkeys(("ab|cd", "ac|bd", "ad|bc", "lead"), number),
    )
    if len(rows) > MOST_ROWS:
        st.caption(f"The first {MOST_ROWS:,} of {len(rows):,}.")


def _written(four: np.ndarray, verdict: int) -> str:
    """Write a verdict with the names of the nodes."""
    if verdict == 0:
        return NULL
    a, b, c, d = (str(four[k]) for k in PAIRINGS[verdict - 1])
    return f"{a} {b} | {c} {d}"


def inspector(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """Any four columns: sums, products, the verdict, and the Λ at which it changes."""
    del frame
    m = lesson.material
    chosen = _choose_four(w, lesson)
    if len(set(chosen)) < 4:
        st.caption("Choose four different columns.")
        return
    at = np.array([m.D.names.index(name) for name in chosen])
    seen = inspect(m.D.values[at[:, None], at], m.thresholds.Lambda)
    st.dataframe(
        _pairing_table(chosen, seen),
        hide_index=True,
        width="stretch",
        column_config={
            name: st.column_config.NumberColumn(format="%.5g")
            for name in ("sum of distances", "product", "lowered by Λ", "raised by Λ")
        },
    )
    st.html(f'<p class="lesson-formula">{_conclusion(chosen, seen)}</p>')


def _choose_four(w: Walk, lesson: Lesson) -> tuple[str, ...]:
    names = lesson.material.D.names
    chosen = w.four if len(w.four) == 4 and set(w.four) <= set(names) else _first_four(w, lesson)

    def report(which: int) -> Callable[[str], None]:
        def changed(name: str) -> None:
            w.four = (*chosen[:which], name, *chosen[which + 1 :])

        return changed

    for which, column in enumerate(st.columns(4)):
        column.selectbox(
            "abcd"[which],
            names,
            format_func=shown_label,
            **bound(f"lesson_four_{which}", chosen[which], report(which)),
        )
    return chosen


def _first_four(w: Walk, lesson: Lesson) -> tuple[str, ...]:
    """Four columns to begin with: of the neighbourhood that is visited, else the first ones."""
    m = lesson.material
    names = m.D.names
    some = [int(node) for node in range(len(names))]
    if w.place.visit:
        members = Visit.of(m, w.place).members
        some = [node for node in members if not m.cast.is_hidden(node)] + some
    return tuple(names[node] for node in list(dict.fromkeys(some))[:4])


def _pairing_table(chosen: tuple[str, ...], seen: Inspection) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "pairing": [_written(np.array(chosen), k + 1) for k in range(3)],
            "sum of distances": [pairing.total for pairing in seen.pairings],
            "product": [pairing.product for pairing in seen.pairings],
            "lowered by Λ": [pairing.lowered for pairing in seen.pairings],
            "raised by Λ": [pairing.raised for pairing in seen.pairings],
            "": [
                "declared" if pairing.name == seen.verdict
                else "largest product" if pairing.name == seen.winner else ""
                for pairing in seen.pairings
            ],
        }
    )  # fmt: skip


def _conclusion(chosen: tuple[str, ...], seen: Inspection) -> str:
    number = {pairing.name: k + 1 for k, pairing in enumerate(seen.pairings)}
    shown = tuple(shown_label(name) for name in chosen)
    winner = escape(_written(np.array(shown), number[seen.winner]))
    if seen.turning_point == 0:
        return (
            f"At Λ = {seen.Lambda:.4g} the verdict is <b>⊥</b>, and at every other Λ too: no "
            "pairing is ahead of both others."
        )
    if seen.verdict == "⊥":
        return (
            f"At Λ = {seen.Lambda:.4g} the verdict is <b>⊥</b>; below Λ = "
            f"<b>{seen.turning_point:.4g}</b> it would be {winner}."
        )
    return (
        f"At Λ = {seen.Lambda:.4g} <b>{winner}</b> is declared; from Λ = "
        f"<b>{seen.turning_point:.4g}</b> on the verdict is ⊥."
    )
