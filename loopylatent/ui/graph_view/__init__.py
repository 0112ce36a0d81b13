"""The graph on a page: vis-network in a Streamlit component that persists while its data change.

The vis-network script is sent once per tab by a separate component with constant data; the graph
component waits for it. ``graph_view.js`` is the part in the browser.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, get_args

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from loopylatent.figures.network import (
    THEMES,
    ThemeName,
    legend,
    network,
    network_data,
    network_options,
    vis_bundle,
)
from loopylatent.graph import LatentGraph


@dataclass(frozen=True, slots=True)
class Picture:
    """The input of the component, as JSON values."""

    nodes: list[dict[str, Any]]
    edges: list[dict[str, Any]]
    looks: dict[str, Any]
    description: str
    shade: dict[str, Any] | None = None
    """A shaded area: its nodes, and the lines that connect them."""


def picture(
    graph: LatentGraph,
    positions: NDArray[np.floating],
    *,
    hidden_names: Mapping[int, str] | None = None,
    only: Collection[int] | None = None,
    captions: Mapping[int, str] | None = None,
    **looks: Any,
) -> Picture:
    """Return the picture of a graph, or of some of its nodes, for both themes.

    ``looks`` are groups, group_names and signs, as in `loopylatent.figures.network`.
    """
    more: dict[str, Any] = {"hidden_names": hidden_names, "only": only, "captions": captions}
    data = network_data(network(graph, positions, **looks, **more))
    by_theme = {
        theme: {
            "options": network_options(graph, groups=looks.get("groups"), theme=theme),
            "background": THEMES[theme].background,
            "legend": [asdict(item) for item in legend(graph, **looks, theme=theme)],
        }
        for theme in get_args(ThemeName)
    }
    description = (
        f"Graph of {graph.n_observed} observed and {graph.n_hidden} hidden nodes with "
        f"{graph.n_edges} edges. Arrow keys move between nodes, Page Down and Page Up go through "
        "all nodes, Enter opens a node, Escape deselects it, plus and minus zoom, 0 shows "
        "everything. The tab Tables below has the graph as text."
    )
    return Picture(data["nodes"], data["edges"], by_theme, description)


def graph_view(
    shown: Picture,
    *,
    key: str,
    subject: str,
    on_click: Callable[[int | None], None],
    on_open: Callable[[int], None] | None = None,
    height: int = 640,
    selected: int | None = None,
    n_centred: int = 0,
    file_name: str = "graph",
    arrow_keys: bool = True,
    margin: int = 10,
    uncut: bool = False,
    has_script: bool = False,
) -> None:
    """Draw a picture; a click calls ``on_click`` with the node, or None next to all nodes.

    Before that, a click or Enter on a node calls ``on_open``; arrow keys do not. ``subject``
    identifies the contents: when it changes, the view is reset to the whole graph; otherwise zoom
    and position are kept. When ``n_centred`` changes, the selected node is centred. ``arrow_keys``
    enables moving between nodes with arrow keys. ``margin`` is the distance in pixels between the
    graph and its frame. With ``uncut`` the view is also reset where another graph would be cut off,
    unless the user has zoomed or moved it. ``has_script`` says that the page has already called
    `send_script` or drawn another graph.
    """
    data = {
        **{part.name: getattr(shown, part.name) for part in fields(shown)},
        "height": height,
        "selected": selected,
        "subject": subject,
        "centre": None
        if selected is None or not n_centred
        else {"node": selected, "request": n_centred},
        "file_name": file_name,
        "arrow_keys": arrow_keys,
        "margin": margin,
        "uncut": uncut,
    }
    text = json.dumps(data, allow_nan=False, sort_keys=True)
    data["revision"] = hashlib.sha256(text.encode()).hexdigest()[:12]

    def clicked() -> None:
        reply = st.session_state[key].clicked
        if reply is not None:
            if on_open is not None and reply["opens"] and reply["node"] is not None:
                on_open(reply["node"])
            on_click(reply["node"])

    if not has_script:
        send_script()
    _component()(key=key, data=data, on_clicked_change=clicked)


def send_script() -> None:
    """Send vis-network to the browser, once per page, before the first graph."""
    _loader()(key="vis-network")


@cache
def _loader() -> Any:
    script = vis_bundle() + "\nexport default function () {}\n"
    return st.components.v2.component("loopylatent_vis", js=script)


@cache
def _component() -> Any:
    folder = files("loopylatent.ui.graph_view")
    return st.components.v2.component(
        "loopylatent_graph",
        html='<div class="root"></div>\n',
        css=(folder / "graph_view.css").read_text(encoding="utf-8"),
        js=(folder / "graph_view.js").read_text(encoding="utf-8"),
    )
