"""A graph as text: GraphML, GEXF, node-link JSON, and CSV tables of nodes and edges."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import networkx as nx

from loopylatent.exporting.base import NO_EXTRAS, Extras, Provenance, attributed, has_attribute
from loopylatent.graph import LatentGraph
from loopylatent.tables.spreadsheet import name_to_csv, xml_text

# Graph formats -----------------------------------------------------------------------------


def to_graphml(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return GraphML; the origin is in attributes of the graph, ``settings`` as JSON.

    Characters that XML cannot hold are written as U+FFFD.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> nx.parse_graphml(to_graphml(pair, origin)).graph["settings"]
    '{"r": 5.0}'
    """
    content = attributed(graph, extras, xml_text)
    origin = provenance.as_dict()
    origin["settings"] = json.dumps(origin["settings"])
    content.graph.update({key: xml_text(value) for key, value in origin.items()})
    return _serialised(nx.write_graphml_xml, content)


def to_gexf(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return GEXF for Gephi; the origin is in ``meta``, its description is JSON.

    Characters that XML cannot hold are written as U+FFFD.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> "<creator>loopylatent" in to_gexf(pair, origin)
    True
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
    """Return node-link JSON, for ``networkx.node_link_graph(..., edges="edges")``.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> json.loads(to_json(pair, origin))["graph"]["settings"]
    {'r': 5.0}
    """
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
    clean = xml_text(text)
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        clean = clean.replace(character, entity)
    return clean


# Tables ------------------------------------------------------------------------------------


def to_node_csv(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return one row a node; the origin is in the last columns.

    Read it with ``pandas.read_csv(path, keep_default_na=False, dtype={"label": str})``. A name
    that a spreadsheet would run as a formula has a quote ``'`` in front; `name_from_csv` takes
    it away.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "=1+1"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> for line in to_node_csv(pair, origin).splitlines():
    ...     print(",".join(line.split(",")[:4]))
    "id","label","hidden","degree"
    0,"a",False,1
    1,"'=1+1",False,1
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

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> to_edge_csv(pair, origin).splitlines()[1].split(",")[:5]
    ['0', '1', '"a"', '"b"', '0.5']
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
    origin = {
        "version": provenance.version,
        "data_digest": provenance.data_digest,
        "graph_digest": provenance.graph_digest,
        "settings": provenance.summary,
    }
    if provenance.created is not None:
        origin["created"] = provenance.created
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    table.writerow([*columns, *origin])
    table.writerows([*row, *map(xml_text, origin.values())] for row in rows)
    return buffer.getvalue()
