"""The numbers of a step: tables below the picture, and the chapter on distances in its place."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import pandas as pd
import streamlit as st

from loopylatent.figures.alt_text import described
from loopylatent.figures.labels import shown_label
from loopylatent.learning.trace import Family, Join
from loopylatent.lesson.frames import Frame
from loopylatent.lesson.lesson import Lesson
from loopylatent.lesson.pairs import (
    PairView,
    closest_pair,
    heatmap_order,
    matrix_figure,
    pair_view,
    points_figure,
)
from loopylatent.lesson.visits import Visit
from loopylatent.ui.lesson.inspector import inspector, quartets
from loopylatent.ui.lesson.walk import Walk
from loopylatent.ui.page import theme
from loopylatent.ui.shell.messages import plain
from loopylatent.ui.shell.session import Session, bound

_View = Callable[[Walk, Lesson, Frame], None]
QUARTETS, INSPECTOR = "Quartets", "Quartet inspector"
ROWS_SHOWN = 8
TABLE_HEIGHT = 300


# Below the picture -------------------------------------------------------------------------


def show_details(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """Tables with the numbers of this step; which one is chosen."""
    views = _views(lesson, frame)
    if not views:
        return
    here = w.view if w.view in views else next(iter(views))

    def report(view: str | None) -> None:
        w.view = view or here

    if len(views) == 1:
        st.markdown(f"**{here}**")
        views[here](w, lesson, frame)
        return
    st.segmented_control(
        "Numbers of this step",
        list(views),
        label_visibility="collapsed",
        **bound("lesson_view", here, report),
    )
    views[here](w, lesson, frame)


def _views(lesson: Lesson, frame: Frame) -> Mapping[str, _View]:
    """The tables that belong to a step; quartets only where the method asks them."""
    views = _VIEWS[frame.place.chapter]
    if frame.place.visit == 0 and frame.place.chapter == 4:
        views = {"Visits": _visits, INSPECTOR: inspector}
    method = lesson.material.result.settings.method
    if method == "quartet":
        return views
    own: dict[str, _View] = {"Spreads": _spreads} if method == "relaxed" else {"Q": _criterion}
    kept: dict[str, _View] = {}
    for name, view in views.items():
        kept |= own if name == QUARTETS else {name: view} if name != INSPECTOR else {}
    return kept


def _data(w: Walk, lesson: Lesson, frame: Frame) -> None:
    del w, frame
    obs = lesson.material.obs
    if obs is None:
        st.caption("Known are distances alone, no rows.")
        return
    rows = obs.take(range(min(ROWS_SHOWN, obs.n_rows))).to_frame()
    st.dataframe(rows, hide_index=True, width="stretch", height=38 + 35 * len(rows))
    if obs.n_rows > ROWS_SHOWN:
        st.caption(f"The first {ROWS_SHOWN} of {obs.n_rows:,} rows.")


def _ball(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """The columns of the ball, and the edges of its tree with the balls that have them."""
    del w
    m, v = lesson.material, frame.place.node
    if v is None:
        _union(lesson)
        return
    left, right = st.columns(2)
    ball = sorted(m.balls.members(v).tolist(), key=lambda u: m.D.values[v, u])
    members = pd.DataFrame(
        {
            "in the ball": [m.D.names[u] for u in ball],
            "distance": [float(m.D.values[v, u]) for u in ball],
        }
    )
    left.dataframe(members, hide_index=True, width="stretch", height=TABLE_HEIGHT)
    new = set(m.balls.adds(v))
    tree = [(edge, edge in new) for edge in m.balls.tree(v)]
    right.dataframe(
        _edge_table(lesson, [edge for edge, _ in tree]).assign(new=[is_new for _, is_new in tree]),
        hide_index=True,
        width="stretch",
        height=TABLE_HEIGHT,
    )


def _union(lesson: Lesson) -> None:
    table = _edge_table(lesson, list(lesson.material.initial))
    st.dataframe(table, hide_index=True, width="stretch", height=TABLE_HEIGHT)


def _edge_table(lesson: Lesson, edges: list[tuple[int, int]]) -> pd.DataFrame:
    m = lesson.material
    owners = [m.balls.owners(edge) for edge in edges]
    return pd.DataFrame(
        {
            "edge": [f"{m.D.names[u]} – {m.D.names[v]}" for u, v in edges],
            "distance": [float(m.D.values[edge]) for edge in edges],
            "trees that have it": [len(balls) for balls in owners],
            "put there by the balls of": [
                ", ".join(m.D.names[v] for v in balls[:20]) + (" …" if len(balls) > 20 else "")
                for balls in owners
            ],
        }
    )


def _visits(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """All visits at a glance."""
    del w, frame
    m = lesson.material
    looks = [place for place in lesson.places if place.phase == "look"]
    steps = [m.visit(place.step) for place in looks]
    table = pd.DataFrame(
        {
            "visit": [place.visit for place in looks],
            "at": [m.cast.labels[place.node or 0] for place in looks],
            "nodes in A": [len(step.neighbourhood) for step in steps],
            "joins": [len(step.joins) for step in steps],
            "contractions": [len(step.contractions) for step in steps],
            "edges gone": [len(step.removed) for step in steps],
            "edges new": [len(step.added) for step in steps],
            "stuck": [step.stuck for step in steps],
        }
    )
    st.dataframe(table, hide_index=True, width="stretch", height=TABLE_HEIGHT)


def _neighbourhood(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """The distances inside A with which this visit worked."""
    del w
    visit = Visit.of(lesson.material, frame.place)
    names = [lesson.cast.labels[node] for node in visit.members]
    table = pd.DataFrame(visit.step.distances, index=names, columns=names)
    st.dataframe(
        table.map(_rounded),
        width="content",
        height=_height(len(names)),
    )
    st.caption(STAND_INS if visit.step.surrogates else OWN_DISTANCES)


STAND_INS = (
    "Distances between the nodes of A; a hidden node has those of its stand-in, the column at "
    "whose visit it was made."
)
OWN_DISTANCES = (
    "Distances between the nodes of A. Those of hidden nodes come from the lengths in the graph "
    "around them."
)


def _spreads(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """The spreads of the round, with the families."""
    del w
    visit = Visit.of(lesson.material, frame.place)
    found = visit.round_at(frame.place)
    if found is None:
        st.caption("Two nodes are connected as they are; no spread is asked.")
        return
    family = {node: k for k, nodes in enumerate(found.families, start=1) for node in nodes}
    names = [lesson.cast.labels[lesson.cast.number[node]] for node in found.active]
    rows = pd.MultiIndex.from_arrays(
        [[f"family {family[node]}" for node in found.active], names], names=["", " "]
    )
    table = pd.DataFrame(found.spreads, index=rows, columns=names).map(_rounded)
    st.dataframe(table, width="content", height=_height(len(names)))
    st.caption(
        "Spreads of this round: by how much the differences of distances to the other nodes vary. "
        "A pair farther apart than 4.61 counts as 10."
    )


def _criterion(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """Q of every pair that can be joined at this step."""
    del w
    visit = Visit.of(lesson.material, frame.place)
    found = visit.criterion_at(frame.place)
    names = [lesson.cast.labels[lesson.cast.number[node]] for node in found.nodes]
    table = pd.DataFrame(found.q, index=names, columns=names).map(_rounded)
    st.dataframe(table, width="content", height=_height(len(names)))
    st.caption(
        f"Q of the pairs among the {len(names)} nodes that are left: (nodes − 2) times the "
        "distance of a pair, less the sums of the distances of both to all. The smallest is joined."
    )


def _height(rows: int) -> int:
    return min(38 + 35 * rows, TABLE_HEIGHT)


def _rounded(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if math.isfinite(value) else "∞"


def _local_tree(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """Joins and contractions of the visit, with their lengths."""
    del w
    visit = Visit.of(lesson.material, frame.place)
    label = {node: lesson.cast.labels[at] for node, at in lesson.cast.number.items()}
    joins = pd.DataFrame([_join_row(join, label) for join in visit.step.joins])
    merged = pd.DataFrame(
        {
            "contracted": [label[c.removed] for c in visit.step.contractions],
            "into": [label[c.survivor] for c in visit.step.contractions],
            "length": [c.length for c in visit.step.contractions],
        }
    )
    left, right = st.columns([2, 1])
    left.dataframe(joins, hide_index=True, width="stretch")
    right.dataframe(merged, hide_index=True, width="stretch")


def _join_row(join: Join | Family, label: Mapping[int, str]) -> dict[str, object]:
    """A join, or the family under one parent, with its numbers."""
    children = ", ".join(label[child] for child in join.children)
    if isinstance(join, Family):
        return {
            "round": join.round,
            "family": children,
            "parent": label[join.parent],
            "new": join.is_new,
            "lengths to it": ", ".join(f"{length:.3f}" for length in join.lengths),
            "best member": label[join.candidate],
            "misses by": join.misfit,
            "may miss by": join.limit,
        }
    row: dict[str, object] = {
        "joined": children,
        "under": label[join.hidden],
        "distance": join.left_length + join.right_length,
        "first to parent": join.left_length,
        "second to parent": join.right_length,
    }
    if join.q is not None:
        return row | {"Q": join.q}
    return row | {"a quartet speaks for it": join.supported}


def _gains(w: Walk, lesson: Lesson, frame: Frame) -> None:
    """What became of the edges, as a table."""
    del w
    words = _COMPARED if frame.place.phase == "compared" else _GAINED
    label = lesson.cast.labels
    table = pd.DataFrame(
        {
            "one end": [label[edge.u] for edge in frame.edges],
            "other end": [label[edge.v] for edge in frame.edges],
            "length": [edge.length for edge in frame.edges],
            "what became of it": [words[edge.mark] for edge in frame.edges],
        }
    )
    st.dataframe(table, hide_index=True, width="stretch", height=TABLE_HEIGHT)


_GAINED = {"added": "put in", "removed": "taken away", "kept": "kept"}
_COMPARED = {"wrong": "not in the truth", "removed": "missed", "kept": "found"}
_VIEWS: Mapping[int, Mapping[str, _View]] = {
    1: {"The table": _data},
    2: {INSPECTOR: inspector},
    3: {"Ball and tree": _ball, INSPECTOR: inspector},
    4: {
        "Distances in A": _neighbourhood,
        QUARTETS: quartets,
        "Local tree": _local_tree,
        "Visits": _visits,
        INSPECTOR: inspector,
    },
    5: {"Edges": _gains, "Visits": _visits, INSPECTOR: inspector},
}


# The chapter on distances ------------------------------------------------------------------


def show_distance(s: Session, w: Walk, lesson: Lesson, frame: Frame, height: int) -> None:
    """One distance, from the rows to the number; or all of them."""
    m = lesson.material
    if frame.place.phase == "matrix":
        order = s.memo.get("heatmap", m.result.graph.digest, lambda: heatmap_order(m.result.graph))
        figure = matrix_figure(m.D, order, theme(), height)
        alt = described(figure, "The distances between all columns")
        st.plotly_chart(figure, key="lesson_matrix", config={"displayModeBar": False}, alt=alt)
        return
    i, j = _choose_pair(w, lesson)
    view = s.memo.get("pair", (m.D.digest, i, j), lambda: pair_view(m.D, m.obs, i, j))
    _show_pair(view, height)


def _choose_pair(w: Walk, lesson: Lesson) -> tuple[int, int]:
    names = lesson.material.D.names
    i, j = closest_pair(lesson.material.D)
    chosen = w.pair if w.pair is not None else (names[i], names[j])

    def report(which: int) -> Callable[[str], None]:
        def changed(name: str) -> None:
            other = chosen[1 - which]
            if name != other:
                w.pair = (name, other) if which == 0 else (other, name)

        return changed

    for which, column in enumerate(st.columns(2)):
        column.selectbox(
            ("First column", "Second column")[which],
            names,
            format_func=shown_label,
            **bound(f"lesson_pair_{which}", chosen[which], report(which)),
        )
    return names.index(chosen[0]), names.index(chosen[1])


def _show_pair(view: PairView, height: int) -> None:
    left, right = st.columns([1.2, 1], gap="medium")
    with left:
        if view.table is not None:
            st.caption(
                f"Rows with each value of {plain(view.names[0])} (down) and "
                f"{plain(view.names[1])} (across)"
            )
            st.dataframe(view.table.map(lambda count: f"{count:,.0f}"), width="stretch")
        elif view.points is not None:
            figure = points_figure(view.points, view.names, theme(), height - 190)
            alt = described(figure, "The rows as points, one column against the other")
            st.plotly_chart(figure, key="lesson_points", config={"displayModeBar": False}, alt=alt)
        else:
            st.caption("The distances were given; there are no rows behind them to look at.")
    with right:
        rows = "".join(
            f"<tr><td>{quantity.name}<small>{quantity.meaning}</small></td>"
            f"<td>{quantity.shown}</td></tr>"
            for quantity in view.quantities
        )
        st.html(f'<table class="lesson-numbers">{rows}</table>')
    if math.isinf(view.distance):
        st.html('<p class="lesson-formula">d = −log 0 = ∞: the two columns look independent.</p>')
        return
    st.html(
        f'<p class="lesson-formula">strength = {view.strength:.4f}, so '
        f"d = −log {view.strength:.4f} = <b>{view.distance:.4f}</b></p>"
    )
