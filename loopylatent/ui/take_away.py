"""Take it away: the graph as a file or picture, a link, the same in code, a project file."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from loopylatent.api import provenance
from loopylatent.errors import LoopyLatentError
from loopylatent.export import Extras, render
from loopylatent.figures.given import node_labels
from loopylatent.figures.svg import to_svg
from loopylatent.layout import positions
from loopylatent.limits import MEGABYTE
from loopylatent.project import save_project
from loopylatent.recipe import to_command, to_python
from loopylatent.ui.plain import plain
from loopylatent.ui.refusal import said
from loopylatent.ui.saved import saving
from loopylatent.ui.scene import Scene
from loopylatent.ui.stages import edge_signs
from loopylatent.ui.state import Session

FILES = {
    "graphml": ("GraphML", "for yEd, Gephi, Cytoscape, igraph, networkx"),
    "gexf": ("GEXF", "for Gephi"),
    "json": ("JSON", "nodes and links, for programs"),
    "csv": ("CSV of edges", "for a spreadsheet"),
    "nodes.csv": ("CSV of nodes", "for a spreadsheet"),
    "html": ("Web page", "one file that plays by itself, offline"),
}
ABREAST = 4
"""Files that are offered beside each other, each with what it is for below it."""
MIMES = {
    "json": "application/json",
    "html": "text/html",
    "csv": "text/csv",
    "nodes.csv": "text/csv",
}


def offer_files(s: Session, scene: Scene) -> None:
    """Offer the graph in every format; a file is made when it is asked for."""
    extras = Extras(
        positions=scene.whole_positions,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(scene.result.graph, scene.source.distances),
        hidden_names=scene.names,
    )
    origin = provenance(scene.result)
    graph, stem = scene.result.graph, file_stem(s)
    columns = st.columns(ABREAST)
    for k, (ending, (label, purpose)) in enumerate(FILES.items()):
        make: Callable[[], bytes] = partial(render, ending, graph, origin, extras)
        with columns[k % ABREAST]:
            st.download_button(
                label,
                data=make,
                file_name=f"{stem}.{ending}",
                mime=MIMES.get(ending, "application/xml"),
                width="stretch",
                on_click="ignore",
                key=f"file_{ending}",
            )
            st.caption(purpose)
    with columns[len(FILES) % ABREAST]:
        st.download_button(
            "Picture (SVG)",
            data=partial(_svg, scene),
            file_name=f"{stem}.svg",
            mime="image/svg+xml",
            width="stretch",
            on_click="ignore",
            key="file_svg",
        )
        st.caption("sharp at any size; the PNG button is in the corner of the graph")
    with columns[(len(FILES) + 1) % ABREAST]:
        _offer_project(s, scene, stem)


def _offer_project(s: Session, scene: Scene, stem: str) -> None:
    """A project that this app can open again; what has no room in it is said beforehand."""
    most = MEGABYTE * int(st.get_option("server.maxUploadSize"))
    found = saving(s, scene.source, most)
    st.download_button(
        "Project",
        data=partial(_project, s, scene, most),
        file_name=f"{stem}.loopylatent",
        mime="application/zip",
        width="stretch",
        on_click="ignore",
        disabled=found.project is None,
        key="file_project",
    )
    st.caption("data, settings, names, pins and results; Open a file brings them back")
    if found.said is not None:
        st.caption(plain(found.said[:1].upper() + found.said[1:]))


def _project(s: Session, scene: Scene, most_bytes: int) -> bytes:
    """The file as things stand at the click, which may be more than was there when it was drawn."""
    project = saving(s, scene.source, most_bytes).project
    assert project is not None, "the button is off"
    return save_project(project)


def offer_code(s: Session) -> None:
    """Show the link, the script and the command that give this graph."""
    if s.recipe.source_kind == "sample":
        st.caption("The address of this page restores the data and all settings: copy it.")
    else:
        st.caption(
            "A link cannot carry your data: the address of this page holds the settings, which "
            "apply when the same file is opened again. The project holds both."
        )
    st.caption("The same in Python")
    st.code(to_python(s.recipe), language="python")
    st.caption("The same on the command line")
    try:
        st.code(to_command(s.recipe), language="bash", wrap_lines=True)
    except LoopyLatentError as error:
        st.caption(said(error))


def file_stem(s: Session) -> str:
    """A harmless file name that says what the graph is of."""
    source = s.recipe.source.removeprefix("sample:").rsplit(".", 1)[0]
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in source)
    return f"{kept[:40].strip('-') or 'graph'}-r{s.recipe.r:.3g}"


def _svg(scene: Scene) -> str:
    graph, place = scene.result.graph, scene.whole_positions
    return to_svg(
        graph,
        positions(graph, labels=node_labels(graph, scene.names)) if place is None else place,
        groups=scene.colouring.labels,
        group_names=scene.colouring.names,
        signs=edge_signs(scene.result.graph, scene.source.distances),
        hidden_names=scene.names,
    )
