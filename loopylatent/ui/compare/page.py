"""The parts of the page Compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.matching import follow_names
from loopylatent.analysis.overlay import BOTH, LEFT, RIGHT, Difference, Overlay
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.project.file import LONGEST_PIN_NAME, MOST_PINS
from loopylatent.figures.layout import filling, positions
from loopylatent.figures.overlays import compared_looks, mark_edges, mark_nodes
from loopylatent.ui.compare import tables as tables
from loopylatent.ui.compare.state import Side, Sides, overlay_of, pin_two, sides_of
from loopylatent.ui.graph_view import Picture, bring_script, graph_view, picture
from loopylatent.ui.page import Present
from loopylatent.ui.shell.background import Job
from loopylatent.ui.shell.keys import DataKey
from loopylatent.ui.shell.messages import plain, progress_line, said
from loopylatent.ui.shell.pins import add_pin, remove_pin, rename_pin
from loopylatent.ui.shell.session import Session, bound

SETTINGS = ("r", "Lambda", "tau", "method", "order", "seed", "regularize")
BESIDE, TOGETHER = "Side by side", "One picture"
HEIGHT = 500
ASPECT = {BESIDE: 0.95, TOGETHER: 1.9}
EMPTY = (
    "Nothing is pinned yet. A **pin** keeps data and settings under a name; this page lays two of "
    "them side by side on one layout and says what both have, and what only one of them has. "
    "**Pin** stands in the sidebar of every page."
)
SHARED = (
    "Columns are the same where their names are. Hidden nodes are the same where the strengths of "
    "their ties to all columns are alike (cosine of at least 0.95). An edge is in both where both "
    "of its ends are."
)


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two settings to be compared, and how."""

    sides: Sides
    left: Side
    right: Side
    view: str


def say_notices(s: Session) -> None:
    """What has to be said once."""
    if s.notice is not None:
        st.info(said(s.notice), icon=":material/info:")
        s.notice = None


def choose_pair(s: Session, now: Present) -> Pair | None:
    """Draw the choice of two settings; with fewer than two, offer some."""
    if not s.pins:
        _offer_two(s, now)
        return None
    sides = sides_of(s, now)
    for name, reason in sides.refused:
        st.warning(f"{plain(name)}: {said(reason)}")
    names = list(sides.by_name)
    if len(names) < 2:
        st.info("One pin is there, and it is what is shown now. Move a threshold, or pin a tree:")
        _offer_two(s, now, about=False)
        return None
    columns = st.columns([2.6, 2.6, 1.2, 3], vertical_alignment="bottom")
    with columns[0]:
        left = _choose(s, "Left", "compare_left", names, names[0])
    others = [name for name in names if name != left]
    with columns[1]:
        right = _choose(s, "Right", "compare_right", others, others[0])
    columns[2].button("Swap", on_click=_swap, args=(s, left, right), width="stretch")
    with columns[3]:
        view = _choose_view(s)
    return Pair(sides, sides.by_name[left], sides.by_name[right], view)


def _offer_two(s: Session, now: Present, *, about: bool = True) -> None:
    box = st.container(border=about)
    if about:
        box.markdown(f"#### Compare two graphs\n{EMPTY}")
    with box.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Compare the tree with the loops",
            type="primary",
            on_click=pin_two,
            args=(s, now),
            help="Pins two settings of the present data: r max, which gives a tree, and the r at "
            "which true loops show first.",
            key="pin_two",
        )
        if about:
            st.button("Pin only what is shown now", on_click=add_pin, args=(s, s.recipe))


def _choose(s: Session, label: str, key: str, names: list[str], usual: str) -> str:
    def report(name: str) -> None:
        s.view[key] = name

    here = s.view.get(key)
    chosen: str = st.selectbox(label, names, **bound(key, here if here in names else usual, report))
    return chosen


def _swap(s: Session, left: str, right: str) -> None:
    s.view["compare_left"], s.view["compare_right"] = right, left


def _choose_view(s: Session) -> str:
    def report(view: str | None) -> None:
        s.view["compare_view"] = view or BESIDE

    here = s.view.get("compare_view", BESIDE)
    return (
        st.segmented_control(
            "View",
            [BESIDE, TOGETHER],
            label_visibility="hidden",
            **bound("compare_view", here if here in (BESIDE, TOGETHER) else BESIDE, report),
        )
        or BESIDE
    )


def show(s: Session, pair: Pair | None) -> None:
    """Draw the two graphs, what they share, and the tables below."""
    if pair is None:
        return
    try:
        laid = overlay_of(s, pair.left, pair.right)
    except LoopyLatentError as error:
        st.error(said(error), icon=":material/error:")
        _pins(s)
        return
    difference = laid.difference(0, 1)
    names = _names(s, pair, laid)
    _summary(s, pair, difference)
    _graphs(s, pair, laid, difference, names)
    for side in (pair.left, pair.right):
        if side.waiting is not None:
            _wait_for_bic(side.name, side.waiting)
    _below(s, pair, laid, difference, names)


def _summary(s: Session, pair: Pair, difference: Difference) -> None:
    def words(which: int) -> str:
        edges, hidden = difference.count(which)
        nodes = "hidden node" if hidden == 1 else "hidden nodes"
        return f"**{edges}** {'edge' if edges == 1 else 'edges'}, **{hidden}** {nodes}"

    error = tables.known_error(s, pair.left.graph, pair.right.graph)
    said = "" if error is None else f" · structure error **{tables.error_words(error)}**"
    st.markdown(
        f"In both: {words(BOTH)} · :orange[only left]: {words(LEFT)} · "
        f":green[only right]: {words(RIGHT)}{said}",
        help=f"{SHARED} {tables.ERROR}",
    )


def _names(s: Session, pair: Pair, laid: Overlay) -> dict[int, str]:
    """Names given to hidden nodes, by the common numbering; those of the left graph come first."""
    names: dict[int, str] = {}
    for which, side in reversed(list(enumerate((pair.left, pair.right)))):
        given = follow_names(s.now.names, side.graph).by_node
        names |= {int(laid.nodes[which][node]): name for node, name in given.items()}
    return names


def _graphs(
    s: Session, pair: Pair, laid: Overlay, difference: Difference, names: Mapping[int, str]
) -> None:
    place = s.memo.get("overlay places", laid.graph.digest, lambda: positions(laid.graph))
    place = filling(place, ASPECT[pair.view])
    subject = f"{pair.left.name} {pair.right.name} {pair.view}"
    bring_script()
    if pair.view == TOGETHER:
        shown = _picture(laid, None, difference, place, names)
        _view(s, shown, "compare_both", subject, f"{pair.left.name} {pair.right.name}")
        return
    columns = st.columns(2, gap="small")
    for which, (column, side) in enumerate(zip(columns, (pair.left, pair.right), strict=True)):
        with column:
            g = side.graph
            st.markdown(
                f"**{plain(side.name)}** &nbsp; {g.n_hidden} hidden · {g.n_edges} edges · "
                f"{g.n_cycles} {'cycle' if g.n_cycles == 1 else 'cycles'}"
            )
            shown = _picture(laid, which, difference, place, names)
            _view(s, shown, f"compare_{which}", subject, side.name)


def _view(s: Session, shown: Picture, key: str, subject: str, name: str) -> None:
    def clicked(node: int | None) -> None:
        s.view["compare_selected"] = node

    there = {node["id"] for node in shown.nodes}
    selected = s.view.get("compare_selected")
    graph_view(
        shown,
        key=key,
        subject=subject,
        on_click=clicked,
        height=HEIGHT,
        selected=selected if selected in there else None,
        file_name="".join(c if c.isascii() and c.isalnum() else "-" for c in name) or "graph",
        has_script=True,
    )


def _picture(
    laid: Overlay,
    which: int | None,
    difference: Difference,
    place: NDArray[np.float64],
    names: Mapping[int, str],
) -> Picture:
    """One of the graphs, or both of them, in the common numbering."""
    graph = laid.graph if which is None else laid.part(which)
    shown = picture(graph, place, hidden_names=names)
    nodes = mark_nodes(shown.nodes, laid, difference)
    if which is not None:
        p = graph.n_observed
        nodes = [n for n in nodes if n["id"] < p or laid.hidden_in[n["id"] - p, which]]
    only = (LEFT, RIGHT) if which is None else ((LEFT, RIGHT)[which],)
    return replace(
        shown,
        nodes=nodes,
        edges=mark_edges(shown.edges, laid, difference),
        looks=compared_looks(shown.looks, only),
    )


@st.fragment(run_every=0.7)
def _wait_for_bic(name: str, job: Job) -> None:
    if job.finished.is_set():
        st.rerun()
    title = f"The plain graph of {plain(name)}; the BIC is at work"
    left, right = st.columns([6, 1], vertical_alignment="center")
    left.progress(min(1.0, job.done / job.total) if job.total else 0.0,
                  progress_line(title, job, job.began))  # fmt: skip
    right.button("Cancel", on_click=job.cancelled.set, key=f"cancel bic {name}")


def _below(
    s: Session,
    pair: Pair,
    laid: Overlay,
    difference: Difference,
    names: Mapping[int, str],
) -> None:
    titles = ["Numbers and scores", "Edges", "Hidden nodes", "Pins"]
    numbers, edges, hidden, pins = st.tabs(titles, key="compare_more", on_change="rerun")
    if numbers.open:
        with numbers:
            tables.show_numbers(s, pair.sides.sides)
    labels = tuple(names.get(node, label) for node, label in enumerate(laid.graph.labels))
    if edges.open:
        with edges:
            _frame(tables.edge_frame(laid, difference, labels))
    if hidden.open:
        with hidden:
            st.caption(SHARED)
            _frame(tables.hidden_frame(laid, difference, labels))
    if pins.open:
        with pins:
            _pins(s)


def _frame(frame: pd.DataFrame) -> None:
    """A table in which nothing stands where one of the two graphs has nothing."""
    number = st.column_config.NumberColumn(format="%.2f")
    st.dataframe(
        frame,
        hide_index=True,
        width="stretch",
        height=min(37 + 35 * len(frame), 360),
        placeholder="",
        column_config=dict.fromkeys(frame.select_dtypes("number").columns, number),
    )


def _pins(s: Session) -> None:
    """Every pin with its name, to be changed, gone to, or removed."""
    st.caption(
        f"Up to {MOST_PINS} pins. The address of this page carries those of bundled tables: copy "
        "it to keep or to send them. Pins of your own files last as long as this session."
    )
    for number, pin in enumerate(s.pins):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.text_input(
                "Name",
                label_visibility="collapsed",
                max_chars=LONGEST_PIN_NAME,
                width=300,
                **bound(f"pin_name_{number}", pin.name, _renamer(s, pin.name)),
            )
            st.button("Go there", on_click=_go_to, args=(s, pin.name), key=f"pin_go_{number}")
            st.button("Remove", on_click=remove_pin, args=(s, pin.name), key=f"pin_off_{number}")


def _renamer(s: Session, name: str) -> Callable[[str], None]:
    def report(text: str) -> None:
        rename_pin(s, name, text)

    return report


def _go_to(s: Session, name: str) -> None:
    """Make a pin the present choice; other data are opened, other settings are a step."""
    recipe = next(pin.recipe for pin in s.pins if pin.name == name)
    if DataKey.of(recipe) == DataKey.of(s.recipe):
        s.change(**{name: getattr(recipe, name) for name in SETTINGS})
    else:
        s.open(recipe)
