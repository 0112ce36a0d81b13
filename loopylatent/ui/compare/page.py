"""The parts of the page Compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from loopylatent.analysis.overlay import BOTH, LEFT, RIGHT, Difference, Overlay
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.project.file import LONGEST_PIN_NAME, MOST_PINS
from loopylatent.figures.layout import positions
from loopylatent.figures.network import stretched
from loopylatent.figures.overlays import compared_looks, mark_edges, mark_nodes
from loopylatent.ui.compare import tables
from loopylatent.ui.compare.tables import Side, Sides, overlay_of, pin_tree_and_loops, sides_of
from loopylatent.ui.graph_view import Picture, graph_view, picture, send_script
from loopylatent.ui.page import Present
from loopylatent.ui.shell.results import DataKey
from loopylatent.ui.shell.session import Session, add_pin, bound, remove_pin, rename_pin
from loopylatent.ui.shell.widgets import (
    escaped,
    progress_line,
    table,
    tabs,
    text_of,
    texts,
    viewed,
    wait_for,
)

SETTINGS = ("r", "Lambda", "tau", "method", "order", "seed", "regularize")
VIEWS = SIDE_BY_SIDE, OVERLAY = "Side by side", "Overlay"
words = texts("compare")
HEIGHT = 500
ASPECT = {SIDE_BY_SIDE: 0.95, OVERLAY: 1.9}


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Two settings to compare, and the view."""

    sides: Sides
    left: Side
    right: Side
    view: str


def say_notices(s: Session) -> None:
    """Show a notice once."""
    if s.notice is not None:
        st.info(text_of(s.notice), icon=":material/info:")
        s.notice = None


def choose_pair(s: Session, now: Present) -> Pair | None:
    """Draw the choice of two settings; if there are fewer than two, offer some."""
    if not s.pins:
        _offer_two(s, now)
        return None
    sides = sides_of(s, now)
    for name, reason in sides.rejected:
        st.warning(f"{escaped(name)}: {text_of(reason)}")
    names = list(sides.by_name)
    if len(names) < 2:
        st.info("The only pin is the current setting. Change a threshold, or compare with a tree:")
        _offer_two(s, now, about=False)
        return None
    columns = st.columns([2.6, 2.6, 1.2, 3], vertical_alignment="bottom")
    left = columns[0].selectbox("Left", names, **viewed(s, "compare_left", names[0], names))
    others = [name for name in names if name != left]
    right = columns[1].selectbox("Right", others, **viewed(s, "compare_right", others[0], others))
    swapped = {"compare_left": right, "compare_right": left}
    columns[2].button("Swap", on_click=s.view.update, args=(swapped,), width="stretch")
    tied = viewed(s, "compare_view", SIDE_BY_SIDE, VIEWS)
    view = columns[3].segmented_control("View", VIEWS, label_visibility="hidden", **tied)
    return Pair(sides, sides.by_name[left], sides.by_name[right], view or SIDE_BY_SIDE)


def _offer_two(s: Session, now: Present, *, about: bool = True) -> None:
    box = st.container(border=about)
    if about:
        box.markdown(f"#### Compare two graphs\n{words.empty}")
    with box.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Compare with tree",
            type="primary",
            on_click=pin_tree_and_loops,
            args=(s, now),
            help="Pins two settings of the current data: r max, which gives a tree, and the r at "
            "which true loops first appear.",
            key="pin_tree_and_loops",
        )
        if about:
            st.button("Pin current settings", on_click=add_pin, args=(s, s.recipe))


def show(s: Session, pair: Pair | None) -> None:
    """Draw the two graphs, their differences, and the tables below."""
    if pair is None:
        return
    try:
        laid = overlay_of(s, pair.left, pair.right)
    except LoopyLatentError as error:
        st.error(text_of(error), icon=":material/error:")
        _pins(s)
        return
    difference = laid.difference(0, 1)
    names = _names(s, pair, laid)
    _summary(s, pair, difference)
    _graphs(s, pair, laid, difference, names)
    for side in (pair.left, pair.right):
        if side.pending is not None:
            title = f"{escaped(side.name)}, so far without BIC penalty"
            line = partial(progress_line, title, side.pending)
            wait_for(side.pending, line, key=f"cancel bic {side.name}", every=0.7)
    _below(s, pair, laid, difference, names)


def _summary(s: Session, pair: Pair, difference: Difference) -> None:
    def counts(which: int) -> str:
        edges, hidden = difference.count(which)
        nodes = "hidden node" if hidden == 1 else "hidden nodes"
        return f"**{edges}** {'edge' if edges == 1 else 'edges'}, **{hidden}** {nodes}"

    error = tables.known_error(s, pair.left.graph, pair.right.graph)
    text = "" if error is None else f" · structure error **{tables.error_text(error)}**"
    st.markdown(
        f"In both: {counts(BOTH)} · :orange[only left]: {counts(LEFT)} · "
        f":green[only right]: {counts(RIGHT)}{text}",
        help=f"{words.shared} {words.error}",
    )


def _names(s: Session, pair: Pair, laid: Overlay) -> dict[int, str]:
    """Names of hidden nodes in the common numbering; the left graph takes precedence."""
    names: dict[int, str] = {}
    for which, side in reversed(list(enumerate((pair.left, pair.right)))):
        own = s.names_on(side.graph).by_node
        names |= {int(laid.nodes[which][node]): name for node, name in own.items()}
    return names


def _graphs(
    s: Session, pair: Pair, laid: Overlay, difference: Difference, names: Mapping[int, str]
) -> None:
    place = s.memo.get("overlay positions", laid.graph.digest, lambda: positions(laid.graph))
    place = stretched(place, ASPECT[pair.view])
    subject = f"{pair.left.name} {pair.right.name} {pair.view}"
    send_script()
    if pair.view == OVERLAY:
        shown = _picture(laid, None, difference, place, names)
        _view(s, shown, "compare_both", subject, f"{pair.left.name} {pair.right.name}")
        return
    columns = st.columns(2, gap="small")
    for which, (column, side) in enumerate(zip(columns, (pair.left, pair.right), strict=True)):
        with column:
            g = side.graph
            st.markdown(
                f"**{escaped(side.name)}** &nbsp; {g.n_hidden} hidden · {g.n_edges} edges · "
                f"{g.n_cycles} {'cycle' if g.n_cycles == 1 else 'cycles'}"
            )
            shown = _picture(laid, which, difference, place, names)
            _view(s, shown, f"compare_{which}", subject, side.name)


def _view(s: Session, shown: Picture, key: str, subject: str, name: str) -> None:
    nodes = {node["id"] for node in shown.nodes}
    selected = s.view.get("compare_selected")
    graph_view(
        shown,
        key=key,
        subject=subject,
        on_click=partial(s.view.__setitem__, "compare_selected"),
        height=HEIGHT,
        selected=selected if selected in nodes else None,
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
    """One of the graphs, or both, in the common numbering."""
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


def _below(
    s: Session, pair: Pair, laid: Overlay, difference: Difference, names: Mapping[int, str]
) -> None:
    labels = tuple(names.get(node, label) for node, label in enumerate(laid.graph.labels))

    def hidden() -> None:
        st.caption(words.shared)
        _frame(tables.hidden_frame(laid, difference, labels))

    contents: dict[str, Callable[[], None]] = {
        "Numbers and scores": lambda: tables.show_numbers(s, pair.sides.sides),
        "Edges": lambda: _frame(tables.edge_frame(laid, difference, labels)),
        "Hidden nodes": hidden,
        "Pins": lambda: _pins(s),
    }
    tabs(contents, key="compare_more")


def _frame(frame: pd.DataFrame) -> None:
    """Draw a table; cells without a value stay empty."""
    number = st.column_config.NumberColumn(format="%.2f")
    columns = dict.fromkeys(frame.select_dtypes("number").columns, number)
    table(frame, 360, placeholder="", column_config=columns)


def _pins(s: Session) -> None:
    """Draw every pin with its name and buttons to open and remove it."""
    st.caption(
        f"Up to {MOST_PINS} pins. The link of this page includes those of bundled tables. Pins of "
        "your own files last until the session ends; a project saves them."
    )
    for number, pin in enumerate(s.pins):
        with st.container(horizontal=True, vertical_alignment="center"):
            tied = bound(f"pin_name_{number}", pin.name, partial(rename_pin, s, pin.name))
            most: dict[str, Any] = {"label_visibility": "collapsed", "max_chars": LONGEST_PIN_NAME}
            st.text_input("Name", width=300, **most, **tied)
            st.button("Open settings", on_click=_open, args=(s, pin.name), key=f"pin_open_{number}")
            st.button("Remove", on_click=remove_pin, args=(s, pin.name), key=f"pin_remove_{number}")


def _open(s: Session, name: str) -> None:
    """Use the settings of a pin: a step that can be undone, unless its data are others."""
    recipe = next(pin.recipe for pin in s.pins if pin.name == name)
    if DataKey.of(recipe) == DataKey.of(s.recipe):
        s.change(**{name: getattr(recipe, name) for name in SETTINGS})
    else:
        s.open(recipe)
