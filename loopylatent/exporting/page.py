"""A graph as one HTML page with everything inside.

``page.html`` is the template, ``page.css`` and ``page.js`` are what it holds. ``base.html``,
``legend.html`` and ``tools.html`` are what pages share.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import DictLoader, Environment, Template

from loopylatent.exporting.base import NO_EXTRAS, Extras, Provenance, attributed, has_attribute
from loopylatent.figures.inputs import node_labels
from loopylatent.figures.layout import positions as place_nodes
from loopylatent.figures.looks import THEMES, LegendItem, ThemeName
from loopylatent.figures.network import legend, network, network_data, vis_bundle
from loopylatent.graph import LatentGraph
from loopylatent.tables.spreadsheet import xml_text

SHARED = ("base.html", "legend.html", "tools.html")
SYMBOLS: Mapping[str, str] = {
    "dot": "M2 7a5 5 0 1 0 10 0a5 5 0 1 0 -10 0Z",
    "diamond": "M7 1 13 7 7 13 1 7Z",
    "line": "M0 6.6 34 3 34 11 0 7.4Z",
    "dashes": "M0 5.5h7v3h-7z M12 5.5h7v3h-7z M24 5.5h7v3h-7z",
}


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
    """
    content = attributed(graph, extras, xml_text)
    return rendered(
        "exporting/page",
        ["exporting/page.js"],
        title,
        provenance,
        summary=summary_of(graph),
        drawing=drawing_of(graph, extras),
        legend=legend_pairs(graph, extras),
        symbols=SYMBOLS,
        graph=graph,
        content=content,
        has_groups=has_attribute(content, "group"),
        has_signs=extras.signs is not None,
        origin=_origin_lines(provenance),
    )


def rendered(
    name: str, scripts: Sequence[str], title: str, provenance: Provenance, **parts: Any
) -> str:
    """Return a page with its style and scripts inside; files are named from the package on.

    A content security policy forbids every request and every script but these.
    """
    texts = (vis_bundle(), *("\n" + _text(one) for one in scripts))  # all between the tags
    digests = (hashlib.sha256(one.encode()).digest() for one in texts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    return _template(f"{name}.html").render(
        title=xml_text(title),
        style=_text(f"{name}.css"),
        scripts=texts,
        policy=f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data:; base-uri 'none'; form-action 'none'",
        themes=THEMES,
        provenance=provenance,
        settings_json=json.dumps(dict(provenance.settings)),
        **parts,
    )


@cache
def _template(name: str) -> Template:
    shared = {one: _text(f"exporting/{one}") for one in SHARED}
    environment = Environment(
        loader=DictLoader(shared), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(_text(name))


@cache
def _text(name: str) -> str:
    """Text of a file, its lines ended by a line feed as the browser hashes it."""
    return (files("loopylatent") / name).read_text(encoding="utf-8")


def drawing_of(graph: LatentGraph, extras: Extras) -> dict[str, Any]:
    """Return what page.js draws: nodes and edges once, options for each theme."""
    labels = node_labels(graph, extras.hidden_names)
    place = extras.positions if extras.positions is not None else place_nodes(graph, labels=labels)

    def drawn(theme: ThemeName) -> dict[str, Any]:
        hidden = extras.hidden_names
        return network_data(network(graph, place, **extras.looks, hidden_names=hidden, theme=theme))

    light, dark = drawn("light"), drawn("dark")
    return light | {"options": {"light": light["options"], "dark": dark["options"]}}


def legend_pairs(graph: LatentGraph, extras: Extras) -> list[dict[str, LegendItem]]:
    """Return the entries of the legend with their light and dark colours."""
    light, dark = (legend(graph, **extras.looks, theme=one) for one in THEMES)
    return [{"light": a, "dark": b} for a, b in zip(light, dark, strict=True)]


def summary_of(graph: LatentGraph) -> str:
    """Return the counts of a graph in one line."""
    parts = [
        f"{graph.n_observed} observed",
        f"{graph.n_hidden} hidden",
        count(graph.n_edges, "edge"),
        count(graph.n_cycles, "cycle"),
    ]
    if graph.n_components > 1:
        parts.append(count(graph.n_components, "component"))
    return ", ".join(parts)


def count(number: int, thing: str) -> str:
    """Return how many things there are, in words."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def _origin_lines(provenance: Provenance) -> list[str]:
    parts = [
        f"loopylatent {provenance.version}",
        ", ".join(f"{key} = {value}" for key, value in provenance.settings.items()),
        f"data {provenance.data_digest}",
        f"graph {provenance.graph_digest}",
        provenance.created or "",
    ]
    return [xml_text(part) for part in parts if part]
