"""A learned graph as a file: GraphML, GEXF, node-link JSON, CSV, stand-alone HTML.

Every file says which version, settings and data it came from, and is the same, byte for byte,
whenever the same graph is exported. Names are data: they cannot break a file, run in a browser
or run in a spreadsheet.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import networkx as nx
import numpy as np
from jinja2 import Environment, Template
from numpy.typing import NDArray

from loopylatent._version import __version__
from loopylatent.errors import DataError
from loopylatent.figures.network import (
    THEMES,
    Groups,
    LegendItem,
    ThemeName,
    groups_by_node,
    legend,
    names_of_groups,
    network,
    network_data,
    node_labels,
    vis_bundle,
)
from loopylatent.graph import LatentGraph
from loopylatent.layout import positions as place_nodes

Setting = str | float | int


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a graph came from; goes into every exported file.

    Parameters
    ----------
    settings : mapping from str to str, float or int
        What the graph was learned with, such as r, Lambda and tau.
    data_digest : str
        Fingerprint of the data.
    graph_digest : str
        Fingerprint of the graph, ``graph.digest``.
    version : str
        Of loopylatent.
    created : str, optional
        A date or time. None by default, so that the same graph gives the same file.

    Examples
    --------
    >>> star = LatentGraph.build(["a", "b", "c"], 1, [(0, 3), (1, 3), (2, 3)])
    >>> Provenance.of(star, settings={"r": 5.0, "Lambda": 0.0}, data_digest="1f3a").summary
    'Lambda=0.0; r=5.0'
    """

    settings: Mapping[str, Setting]
    data_digest: str
    graph_digest: str
    version: str = __version__
    created: str | None = None

    def __post_init__(self) -> None:
        plain = {str(key): _plain_setting(key, self.settings[key]) for key in sorted(self.settings)}
        object.__setattr__(self, "settings", MappingProxyType(plain))

    @classmethod
    def of(
        cls,
        graph: LatentGraph,
        *,
        settings: Mapping[str, Setting],
        data_digest: str,
        created: str | None = None,
    ) -> Provenance:
        """Fill in this version and the graph's digest."""
        return cls(settings, data_digest, graph.digest, created=created)

    @property
    def summary(self) -> str:
        """The settings on one line."""
        return "; ".join(f"{key}={value}" for key, value in self.settings.items())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, the settings as a dict of their own."""
        known = {
            "generator": "loopylatent",
            "version": self.version,
            "data_digest": self.data_digest,
            "graph_digest": self.graph_digest,
            "settings": dict(self.settings),
        }
        return known if self.created is None else known | {"created": self.created}


def _plain_setting(key: str, value: Any) -> Setting:
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, float) and not math.isfinite(plain):
        raise DataError(f"setting {key} = {plain} is not finite; a file cannot hold it.")
    if not isinstance(plain, str | float | int):
        raise DataError(f"setting {key} is a {type(value).__name__}; give text or a number.")
    return plain


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """What may be known of a graph beside its edges; see `loopylatent.figures.network`."""

    positions: NDArray[np.floating] | None = None
    groups: Groups | None = None
    group_names: Sequence[str] | None = None
    signs: Sequence[int] | NDArray[np.integer] | None = None
    hidden_names: Mapping[int, str] = field(default_factory=dict)


NO_EXTRAS = Extras()


# Files -------------------------------------------------------------------------------------


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
    >>> pair = LatentGraph.build(["a", "b"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = export(pair, Path(folder) / "pair.graphml", provenance=origin)
    ...     nx.read_graphml(file, node_type=int).edges[0, 1]["distance"]
    0.5
    """
    target = Path(path)
    write = WRITERS[_format_of(target, format)]
    text = write(graph, provenance, extras)
    if write in (to_edge_csv, to_node_csv) and not text.isascii():
        text = "\ufeff" + text  # without this mark a spreadsheet garbles letters beyond ASCII
    return write_atomically(target, text.encode("utf-8"))


def _format_of(path: Path, name: str | None) -> str:
    if name is not None:
        if name.lower().lstrip(".") in WRITERS:
            return name.lower().lstrip(".")
        raise DataError(f"format {name!r} is unknown; choose one of {', '.join(WRITERS)}.")
    for known in sorted(WRITERS, key=len, reverse=True):
        if path.name.lower().endswith("." + known):
            return known
    endings = ", ".join("." + known for known in WRITERS)
    raise DataError(f"{path.name!r} does not say its format; end the name in one of {endings}.")


def write_atomically(path: str | os.PathLike[str], content: bytes) -> Path:
    """Write a file under another name first, so that no reader ever sees half of it."""
    shown = repr(os.fspath(path))
    try:
        target = Path(os.path.realpath(path))
        if not target.parent.is_dir():
            raise DataError(f"folder {str(target.parent)!r} does not exist; create it first.")
        if target.is_dir():
            raise DataError(f"{shown} is a folder; give the name of a file in it.")
        _replace(target, content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{shown} cannot be written: {reason}; choose another place.") from None
    return Path(path)


def _replace(target: Path, content: bytes) -> None:
    partial = target.with_name(f".loopylatent-{secrets.token_hex(8)}.tmp")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


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
    content = _attributed(graph, extras, _xml_text)
    origin = provenance.as_dict()
    origin["settings"] = json.dumps(origin["settings"])
    content.graph.update({key: _xml_text(value) for key, value in origin.items()})
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
    content = _attributed(graph, extras, _xml_text)
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
    content = _attributed(graph, extras, str)
    content.graph.update(provenance.as_dict())
    data = nx.node_link_data(content, edges="edges")
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=1)
    # half a surrogate pair has no UTF-8, but \ud800 is good JSON
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def _attributed(graph: LatentGraph, extras: Extras, clean: Callable[[str], str]) -> nx.Graph[int]:
    """Everything that is known, as attributes of a networkx graph."""
    content = graph.to_networkx()
    for node, label in enumerate(node_labels(graph, extras.hidden_names)):
        content.nodes[node]["label"] = clean(label)
    group_of = groups_by_node(graph, extras.groups)
    names = names_of_groups(group_of, extras.group_names)
    for node, group in group_of.items():
        content.nodes[node].update(group=group, group_name=clean(names[group]))
    for node, (x, y) in enumerate(_places(graph, extras)):
        content.nodes[node].update(x=x, y=y)
    for _, _, values in content.edges(data=True):
        values["weight"] = math.exp(-values["distance"])
    if extras.signs is not None:
        for (u, v), sign in zip(graph.edges.tolist(), _signs(graph, extras.signs), strict=True):
            content.edges[u, v]["sign"] = sign
    return content


def _places(graph: LatentGraph, extras: Extras) -> list[list[float]]:
    if extras.positions is None:
        return []
    place = np.asarray(extras.positions, dtype=np.float64)
    if place.shape != (graph.n_nodes, 2) or not np.isfinite(place).all():
        raise DataError(f"positions must be ({graph.n_nodes}, 2) finite numbers; leave them out?")
    rows: list[list[float]] = place.tolist()
    return rows


def _signs(graph: LatentGraph, signs: Sequence[int] | NDArray[np.integer]) -> list[int]:
    if len(signs) != graph.n_edges:
        raise DataError(f"{len(signs)} signs for {graph.n_edges} edges; give one for each edge.")
    return [int(np.sign(sign)) for sign in signs]


def _serialised(write: Callable[..., None], content: nx.Graph[int]) -> str:
    buffer = io.BytesIO()
    write(content, buffer, encoding="utf-8")
    # a parser reads a bare carriage return as a line feed
    return buffer.getvalue().decode("utf-8").replace("\r", "&#13;")


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _xml_text(text: str) -> str:
    """Replace what XML 1.0 cannot hold, so that it is seen and the file stays readable."""
    return _NOT_XML.sub("\ufffd", text)


def _escaped(text: str) -> str:
    clean = _xml_text(text)
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
    content = _attributed(graph, extras, name_to_csv)
    columns = [name for name in ("group", "group_name", "x", "y") if _has(content, name)]
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
    content = _attributed(graph, extras, name_to_csv)
    names = nx.get_node_attributes(content, "label")
    columns = ["distance", "weight"] + (["sign"] if extras.signs is not None else [])
    rows = [
        [u, v, names[u], names[v], *(content.edges[u, v][name] for name in columns)]
        for u, v in graph.edges.tolist()
    ]
    return _csv(["source", "target", "source_name", "target_name", *columns], rows, provenance)


def _has(content: nx.Graph[int], name: str) -> bool:
    return any(name in values for _, values in content.nodes(data=True))


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
    table.writerows([*row, *map(_xml_text, origin.values())] for row in rows)
    return buffer.getvalue()


_FORMULA = tuple("=+-@\t\r\n＝＋－＠'")


def name_to_csv(name: str) -> str:
    """Put a quote before what a spreadsheet would run, and before a quote, to tell them apart."""
    text = _xml_text(name)
    return "'" + text if text.lstrip(" ").startswith(_FORMULA) else text


def name_from_csv(cell: str) -> str:
    """Return the name that an exported CSV cell stands for.

    Examples
    --------
    >>> name_from_csv("'=1+1"), name_from_csv("windows")
    ('=1+1', 'windows')
    """
    return cell[1:] if cell.startswith("'") else cell


# A page ------------------------------------------------------------------------------------


def to_html(
    graph: LatentGraph,
    provenance: Provenance,
    extras: Extras = NO_EXTRAS,
    *,
    title: str = "Learned graph",
) -> str:
    """Return one page that shows the graph anywhere, also without a network.

    Everything is inside; a content security policy forbids any request and any script but the
    two that belong here.

    Examples
    --------
    >>> pair = LatentGraph.build(["a", "<img>"], 0, [(0, 1)], [0.5])
    >>> origin = Provenance.of(pair, settings={"r": 5.0}, data_digest="1f3a")
    >>> page = to_html(pair, origin)
    >>> "http-equiv" in page, "<img>" in page
    (True, False)
    """
    scripts = (vis_bundle(), _SCRIPT)
    return _page_template().render(
        title=_xml_text(title),
        summary=_summary(graph),
        scripts=scripts,
        policy=_policy(scripts),
        drawing=_drawing(graph, extras),
        themes=THEMES,
        legend=_legend_pairs(graph, extras),
        symbols=_SYMBOLS,
        tables=_tables(graph, extras),
        origin=_origin_lines(provenance),
        provenance=provenance,
        settings_json=json.dumps(dict(provenance.settings)),
    )


def _policy(scripts: Sequence[str]) -> str:
    digests = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _drawing(graph: LatentGraph, extras: Extras) -> dict[str, Any]:
    """Nodes and edges once, options for each theme."""
    labels = node_labels(graph, extras.hidden_names)
    place = extras.positions if extras.positions is not None else place_nodes(graph, labels=labels)

    def drawn(theme: ThemeName) -> dict[str, Any]:
        net = network(
            graph,
            place,
            groups=extras.groups,
            group_names=extras.group_names,
            signs=extras.signs,
            hidden_names=extras.hidden_names,
            theme=theme,
        )
        return network_data(net)

    light, dark = drawn("light"), drawn("dark")
    return light | {"options": {"light": light["options"], "dark": dark["options"]}}


def _legend_pairs(graph: LatentGraph, extras: Extras) -> list[dict[str, LegendItem]]:
    """Legend entries with their light and dark colours."""

    def items(theme: ThemeName) -> tuple[LegendItem, ...]:
        return legend(
            graph,
            groups=extras.groups,
            group_names=extras.group_names,
            signs=extras.signs,
            theme=theme,
        )

    return [{"light": a, "dark": b} for a, b in zip(items("light"), items("dark"), strict=True)]


def _summary(graph: LatentGraph) -> str:
    parts = [
        f"{graph.n_observed} observed",
        f"{graph.n_hidden} hidden",
        _count(graph.n_edges, "edge"),
        _count(graph.n_cycles, "cycle"),
    ]
    if graph.n_components > 1:
        parts.append(_count(graph.n_components, "component"))
    return ", ".join(parts)


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def _origin_lines(provenance: Provenance) -> list[str]:
    parts = [
        f"loopylatent {provenance.version}",
        ", ".join(f"{key} = {value}" for key, value in provenance.settings.items()),
        f"data {provenance.data_digest}",
        f"graph {provenance.graph_digest}",
        provenance.created or "",
    ]
    return [_xml_text(part) for part in parts if part]


def _tables(graph: LatentGraph, extras: Extras) -> dict[str, Any]:
    """Rows of the text alternative."""
    content = _attributed(graph, extras, _xml_text)
    names = nx.get_node_attributes(content, "label")
    nodes = [
        {
            "name": names[node],
            "kind": "hidden" if values["hidden"] else "observed",
            "group": values.get("group_name", ""),
            "neighbours": ", ".join(names[other] for other in graph.neighbours(node)),
        }
        for node, values in content.nodes(data=True)
    ]
    edges = [
        {
            "ends": (names[u], names[v]),
            "distance": f"{values['distance']:.3f}",
            "strength": f"{values['weight']:.3f}",
            "sign": {-1: "negative", 1: "positive"}.get(values.get("sign", 0), ""),
        }
        for u, v, values in content.edges(data=True)
    ]
    return {
        "nodes": nodes,
        "edges": edges,
        "groups": _has(content, "group"),
        "signs": extras.signs is not None,
    }


WRITERS: Mapping[str, Callable[[LatentGraph, Provenance, Extras], str]] = {
    "graphml": to_graphml,
    "gexf": to_gexf,
    "json": to_json,
    "csv": to_edge_csv,
    "nodes.csv": to_node_csv,
    "html": to_html,
}
"""Formats by the ending of a file name."""


def _page_template() -> Template:
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_PAGE)


_SYMBOLS: Mapping[str, str] = {
    "dot": "M2 7a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
    "diamond": "M7 1 13 7 7 13 1 7Z",
    "line": "M0 6.6 34 3 34 11 0 7.4Z",
    "dashes": "M0 5.5h7v3h-7z M12 5.5h7v3h-7z M24 5.5h7v3h-7z",
}

_SCRIPT = """
"use strict";
(() => {
  const drawing = JSON.parse(document.getElementById("drawing").textContent);
  const stage = document.getElementById("stage");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const nodes = new vis.DataSet(drawing.nodes);
  const edges = new vis.DataSet(drawing.edges);
  let network = null;

  function fit() {
    network.fit({ maxZoomLevel: 1.25, animation: false });
    network.moveTo({ scale: network.getScale() * 1.06 }); // fit leaves a tenth empty
  }

  function draw() {
    let view = null;
    if (network) {
      network.storePositions();
      view = { position: network.getViewPosition(), scale: network.getScale() };
      network.destroy();
    }
    const options = drawing.options[dark.matches ? "dark" : "light"];
    network = new vis.Network(stage, { nodes, edges }, options);
    network.redraw(); // measures the labels, which fit then counts in
    if (view) network.moveTo(view); else fit();
    network.once("afterDrawing", () => { stage.dataset.drawn = dark.matches ? "dark" : "light"; });
    network.redraw();
    window.loopylatent = { network, nodes, edges };
  }

  const zoom = (factor) => network.moveTo({
    scale: network.getScale() * factor,
    animation: { duration: 150, easingFunction: "easeOutQuad" },
  });
  document.getElementById("closer").addEventListener("click", () => zoom(1.35));
  document.getElementById("farther").addEventListener("click", () => zoom(1 / 1.35));
  document.getElementById("whole").addEventListener("click", fit);
  dark.addEventListener("change", draw);
  draw();
})();
"""

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="loopylatent {{ provenance.version }}">
<meta name="loopylatent-settings" content="{{ settings_json }}">
<meta name="loopylatent-data" content="{{ provenance.data_digest }}">
<meta name="loopylatent-graph" content="{{ provenance.graph_digest }}">
<title>{{ title }}</title>
<style>
:root {
  --paper: {{ themes.light.background }}; --ink: {{ themes.light.text }};
  --quiet: #566171; --line: #DDE2E8; --raised: #F6F8FA; --accent: #0B6396;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: {{ themes.dark.background }}; --ink: {{ themes.dark.text }};
    --quiet: #9FABB9; --line: #2A333E; --raised: #1A212A; --accent: #7CC4EE;
  }
}
* { box-sizing: border-box; }
html, body { height: 100%; margin: 0; }
body {
  display: grid; grid-template-rows: auto minmax(0, 1fr) auto; height: 100dvh;
  background: var(--paper); color: var(--ink); overflow: hidden;
  font: 14px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif;
}
header, footer {
  display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 28px; padding: 12px 20px;
}
header { border-bottom: 1px solid var(--line); }
h1 { margin: 0; font-size: 18px; font-weight: 650; letter-spacing: -0.01em; }
header p { margin: 0; color: var(--quiet); font-variant-numeric: tabular-nums; }
.legend {
  display: flex; flex-wrap: wrap; gap: 2px 18px; margin: 0 0 0 auto; padding: 0; list-style: none;
}
.legend li { display: flex; align-items: center; gap: 7px; white-space: nowrap; }
.legend svg { flex: none; overflow: visible; width: 14px; stroke-width: 1.5px; }
.legend .line, .legend .dashes { width: 34px; stroke-width: 0; }
.legend svg * { fill: var(--fill); stroke: var(--border); }
@media (prefers-color-scheme: dark) {
  .legend svg * { fill: var(--fill-dark); stroke: var(--border-dark); }
}
main { position: relative; min-height: 0; }
#stage { position: absolute; inset: 0; outline-offset: -3px; }
.vis-network { outline: none; }
#stage:focus-within { outline: 2px solid transparent; }
.vis-network:focus-visible { box-shadow: inset 0 0 0 2px var(--accent); }
div.vis-tooltip {
  position: absolute; visibility: hidden; z-index: 5; pointer-events: none; max-width: 340px;
  padding: 8px 12px; border: 1px solid var(--line); border-radius: 8px;
  background: var(--raised); color: var(--ink); box-shadow: 0 6px 20px rgb(0 0 0 / 18%);
  font-size: 13px; line-height: 1.5; white-space: pre-wrap; overflow-wrap: anywhere;
  font-variant-numeric: tabular-nums;
}
div.vis-tooltip::first-line { font-weight: 650; }
.tools { position: absolute; right: 16px; bottom: 14px; display: flex; gap: 6px; z-index: 2; }
button, summary {
  font: inherit; color: var(--ink); background: var(--raised); cursor: pointer;
  border: 1px solid var(--line); border-radius: 8px;
}
button { min-width: 34px; height: 34px; padding: 0 10px; }
button:hover, summary:hover { border-color: var(--accent); color: var(--accent); }
button:focus-visible, summary:focus-visible { outline: 2px solid var(--accent); }
footer { border-top: 1px solid var(--line); align-items: center; padding: 8px 20px; }
footer small { color: var(--quiet); font-size: 12px; overflow-wrap: anywhere; margin-left: auto; }
summary { padding: 4px 12px; width: max-content; }
.panel {
  position: fixed; inset: auto 0 0 0; height: min(58vh, 560px); overflow: auto; z-index: 4;
  display: flex; flex-wrap: wrap; align-items: flex-start; gap: 12px 40px; padding: 52px 20px 24px;
  background: var(--paper); border-top: 1px solid var(--line);
  box-shadow: 0 -10px 30px rgb(0 0 0 / 14%);
}
details[open] > summary { position: fixed; bottom: calc(min(58vh, 560px) - 42px); z-index: 5; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 650; padding-bottom: 6px; }
th, td {
  padding: 3px 18px 3px 0; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; font-weight: 400; overflow-wrap: anywhere; max-width: 46ch;
}
thead th { color: var(--quiet); }
td.number, th.number { text-align: right; }
</style>
</head>
<body>
<header>
  <h1>{{ title }}</h1>
  <p id="summary">{{ summary }}</p>
  <ul class="legend" aria-label="Legend">
  {% for item in legend %}
    <li style="--fill: {{ item.light.fill }}; --border: {{ item.light.border }};
      --fill-dark: {{ item.dark.fill }}; --border-dark: {{ item.dark.border }}">
      <svg class="{{ item.light.shape }}" height="14" aria-hidden="true">
      <path d="{{ symbols[item.light.shape] }}"/></svg>
      {{ item.light.text }}</li>
  {% endfor %}
  </ul>
</header>
<main>
  <div id="stage" role="group" aria-label="Drawing of the graph; a table of it follows"
    aria-describedby="summary"></div>
  <div class="tools">
    <button id="farther" type="button" aria-label="Zoom out">−</button>
    <button id="closer" type="button" aria-label="Zoom in">+</button>
    <button id="whole" type="button">Whole graph</button>
  </div>
</main>
<footer>
  <details>
    <summary>Nodes and edges as tables</summary>
    <div class="panel" tabindex="0" role="region" aria-label="Nodes and edges as tables">
      <table id="nodes">
        <caption>Nodes</caption>
        <thead><tr><th scope="col">Name</th><th scope="col">Kind</th>
        {% if tables.groups %}<th scope="col">Group</th>{% endif %}
        <th scope="col">Neighbours</th></tr></thead>
        <tbody>
        {% for node in tables.nodes %}
        <tr><th scope="row">{{ node.name }}</th><td>{{ node.kind }}</td>
        {%- if tables.groups %}<td>{{ node.group }}</td>{% endif %}
        <td>{{ node.neighbours }}</td></tr>
        {% endfor %}
        </tbody>
      </table>
      <table id="edges">
        <caption>Edges</caption>
        <thead><tr><th scope="col">From</th><th scope="col">To</th>
        <th scope="col" class="number">Distance</th><th scope="col" class="number">Strength</th>
        {%- if tables.signs %}<th scope="col">Correlation</th>{% endif %}</tr></thead>
        <tbody>
        {% for edge in tables.edges %}
        <tr><td>{{ edge.ends[0] }}</td><td>{{ edge.ends[1] }}</td>
        <td class="number">{{ edge.distance }}</td><td class="number">{{ edge.strength }}</td>
        {%- if tables.signs %}<td>{{ edge.sign }}</td>{% endif %}</tr>
        {% endfor %}
        </tbody>
      </table>
    </div>
  </details>
  <small>{{ origin|join(" · ") }}</small>
</footer>
<script type="application/json" id="drawing">{{ drawing|tojson }}</script>
{% for script in scripts %}
<script>{{ script|safe }}</script>
{% endfor %}
</body>
</html>
"""
