"""A learned graph as a file: GraphML, GEXF, node-link JSON, CSV, stand-alone HTML.

Every file says which version, settings and data it came from, and is the same, byte for byte,
whenever the same graph is exported. Names are data: they cannot break a file, run in a browser
or run in a spreadsheet.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import networkx as nx

from loopylatent.compute.files import write_atomically
from loopylatent.errors import DataError
from loopylatent.exporting.base import NO_EXTRAS, Extras, Provenance, attributed, has_attribute
from loopylatent.exporting.page import to_html
from loopylatent.graph import LatentGraph
from loopylatent.tables.spreadsheet import name_to_csv, xml_text

# Graph formats -----------------------------------------------------------------------------


def to_graphml(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return GraphML; the origin is in attributes of the graph, ``settings`` as JSON.

    Characters that XML cannot hold are written as U+FFFD.
    """
    content = attributed(graph, extras, xml_text)
    origin = provenance.as_dict() | {"settings": json.dumps(dict(provenance.settings))}
    content.graph.update({key: xml_text(value) for key, value in origin.items()})
    return _serialised(nx.write_graphml_xml, content)


def to_gexf(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return GEXF for Gephi; the origin is in ``meta``, its description is JSON.

    Characters that XML cannot hold are written as U+FFFD.
    """
    content = attributed(graph, extras, xml_text)
    for _, values in content.nodes(data=True):
        if "x" in values:
            values["viz"] = {"position": {"x": values["x"], "y": -values["y"], "z": 0.0}}
    text = _serialised(nx.write_gexf, content)
    # networkx writes the day of writing here
    return re.sub("<meta.*?</meta>", lambda _: _gexf_meta(provenance), text, count=1, flags=re.S)


def _gexf_meta(provenance: Provenance) -> str:
    created = _escaped(provenance.created or "")
    date = f' lastmodifieddate="{created}"' if created else ""
    return (
        f"<meta{date}>\n    <creator>loopylatent {_escaped(provenance.version)}</creator>\n"
        f"    <description>{_escaped(json.dumps(provenance.as_dict()))}</description>\n  </meta>"
    )


def to_json(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return node-link JSON, for ``networkx.node_link_graph(..., edges="edges")``."""
    content = attributed(graph, extras, str)
    content.graph.update(provenance.as_dict())
    data = nx.node_link_data(content, edges="edges")
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
    # half a surrogate pair has no UTF-8, but \ud800 is good JSON
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def _serialised(write: Callable[..., None], content: nx.Graph[int]) -> str:
    buffer = io.BytesIO()
    write(content, buffer, encoding="utf-8")
    # a parser reads a bare carriage return as a line feed
    return buffer.getvalue().decode("utf-8").replace("\r", "&#13;")


def _escaped(text: str) -> str:
    return escape(xml_text(text), {'"': "&quot;"})


# Tables ------------------------------------------------------------------------------------


def to_node_csv(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return one row a node; the origin is in the last columns.

    Read it with ``pandas.read_csv(path, keep_default_na=False, dtype={"label": str})``. A name
    that a spreadsheet would run as a formula has a quote ``'`` in front; `name_from_csv` takes
    it away.
    """
    content = attributed(graph, extras, name_to_csv)
    columns = [name for name in ("group", "group_name", "x", "y") if has_attribute(content, name)]
    rows = [
        [node, values["label"], values["hidden"], int(graph.degrees[node])]
        + [values.get(name, "") for name in columns]
        for node, values in content.nodes(data=True)
    ]
    return _csv(["id", "label", "hidden", "degree", *columns], rows, provenance)


def to_edge_csv(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return one row an edge, with the numbers and the names of both ends.

    Names and origin are written as in `to_node_csv`; ``weight`` is the strength e^-distance.
    """
    content = attributed(graph, extras, name_to_csv)
    names = nx.get_node_attributes(content, "label")
    columns = ["distance", "weight"] + (["sign"] if extras.signs is not None else [])
    rows = [
        [u, v, names[u], names[v], *(content.edges[u, v][name] for name in columns)]
        for u, v in graph.edges.tolist()
    ]
    return _csv(["source", "target", "source_name", "target_name", *columns], rows, provenance)


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]], provenance: Provenance) -> str:
    origin = provenance.as_dict() | {"settings": provenance.summary}
    del origin["generator"]
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow([*columns, *origin])
    table.writerows([*row, *map(xml_text, origin.values())] for row in rows)
    return buffer.getvalue()


# Files -------------------------------------------------------------------------------------

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
    """Write a graph to a file, whole or not at all; the ending of its name says the format."""
    content = render(format_of(Path(path), format), graph, provenance, extras)
    return write_atomically(path, content)


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
