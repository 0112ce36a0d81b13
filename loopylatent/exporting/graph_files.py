"""A learned graph as a file: GraphML, GEXF, node-link JSON, CSV, stand-alone HTML.

Every file says which version, settings and data it came from, and is the same, byte for byte,
whenever the same graph is exported. Names are data: they cannot break a file, run in a browser
or run in a spreadsheet.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from loopylatent.compute.files import check_place, write_atomically
from loopylatent.errors import DataError
from loopylatent.exporting.base import NO_EXTRAS, Extras, Provenance, Setting, edge_signs
from loopylatent.exporting.formats import to_edge_csv, to_gexf, to_graphml, to_json, to_node_csv
from loopylatent.exporting.page import to_html
from loopylatent.graph import LatentGraph
from loopylatent.tables.spreadsheet import name_from_csv, name_to_csv, table_to_csv

__all__ = [
    "NO_EXTRAS",
    "WRITERS",
    "Extras",
    "Provenance",
    "Setting",
    "check_place",
    "edge_signs",
    "export",
    "format_of",
    "name_from_csv",
    "name_to_csv",
    "render",
    "table_to_csv",
    "to_edge_csv",
    "to_gexf",
    "to_graphml",
    "to_html",
    "to_json",
    "to_node_csv",
    "write_atomically",
]

WRITERS: Mapping[str, Callable[[LatentGraph, Provenance, Extras], str]] = {
    "graphml": to_graphml,
    "gexf": to_gexf,
    "json": to_json,
    "csv": to_edge_csv,
    "nodes.csv": to_node_csv,
    "html": to_html,
}
"""Formats by the ending of a file name."""


def export(
    graph: LatentGraph,
    path: str | os.PathLike[str],
    *,
    provenance: Provenance,
    format: str | None = None,  # noqa: A002
    extras: Extras = NO_EXTRAS,
) -> Path:
    """Write a graph to a file, whole or not at all.

    Parameters
    ----------
    graph : LatentGraph
    path : path
        Its ending says the format: .graphml, .gexf, .json, .csv (edges), .nodes.csv, .html.
    provenance : Provenance
    format : str, optional
        One of these endings without the dot, where the path has another one.
    extras : Extras
        Positions, groups, signs and names of hidden nodes, to be written too.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import networkx as nx
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = export(pair, Path(folder) / "pair.graphml", provenance=origin)
    ...     nx.read_graphml(file, node_type=int).edges[0, 1]["distance"]
    0.5
    """
    target = Path(path)
    content = render(format_of(target, format), graph, provenance, extras)
    return write_atomically(target, content)


def render(
    format: str,  # noqa: A002
    graph: LatentGraph,
    provenance: Provenance,
    extras: Extras = NO_EXTRAS,
) -> bytes:
    """Return the content of a file in one of the formats of `WRITERS`."""
    write = WRITERS[format]
    text = write(graph, provenance, extras)
    if write in (to_edge_csv, to_node_csv) and not text.isascii():
        text = "\ufeff" + text  # without this mark a spreadsheet garbles letters beyond ASCII
    return text.encode("utf-8")


def format_of(path: Path, name: str | None) -> str:
    """Return the format that a file is to have, by its name or as it is said."""
    if name is not None:
        if name.lower().lstrip(".") in WRITERS:
            return name.lower().lstrip(".")
        raise DataError(f"format {name!r} is unknown; choose one of {', '.join(WRITERS)}.")
    for known in sorted(WRITERS, key=len, reverse=True):
        if path.name.lower().endswith("." + known):
            return known
    endings = ", ".join("." + known for known in WRITERS)
    raise DataError(f"{path.name!r} does not say its format; end the name in one of {endings}.")
