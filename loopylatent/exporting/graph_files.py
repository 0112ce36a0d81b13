"""A learned graph as a file: GraphML, GEXF, JSON, CSV, HTML, and a script that reproduces it.

Every file states its provenance, and the same graph gives the same bytes. Names are escaped, so
they cannot break a file or run in a browser, a spreadsheet, a script or a shell.
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
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import Any
from xml.sax.saxutils import escape

import networkx as nx
import numpy as np
from jinja2 import DictLoader, Environment, Template
from numpy.typing import NDArray

from loopylatent.compute.files import __version__, write_atomically
from loopylatent.errors import DataError, quoted
from loopylatent.exporting.project.file import READING, SAMPLE, SETTINGS, Recipe
from loopylatent.figures.layout import positions as place_nodes
from loopylatent.figures.network import (
    THEMES,
    LegendItem,
    legend,
    network,
    network_data,
    vis_bundle,
)
from loopylatent.graph import (
    Groups,
    LatentGraph,
    checked_signs,
    groups_by_node,
    names_of_groups,
    node_labels,
)
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.part_evidence import Evidence
from loopylatent.learning.refinement import RefinedResult
from loopylatent.settings import Goal
from loopylatent.tables.files import name_to_csv, xml_text

Setting = str | float | int


@dataclass(frozen=True, slots=True)
class Provenance:
    """The provenance of a graph, part of every exported file."""

    settings: Mapping[str, Setting]
    data_digest: str
    graph_digest: str
    version: str = __version__
    created: str | None = None
    """A date or time. By default None, so that files are reproducible."""

    def __post_init__(self) -> None:
        checked = {str(key): _checked(key, self.settings[key]) for key in sorted(self.settings)}
        object.__setattr__(self, "settings", MappingProxyType(checked))

    @property
    def summary(self) -> str:
        """The settings on one line."""
        return "; ".join(f"{key}={value}" for key, value in self.settings.items())

    def as_dict(self) -> dict[str, Any]:
        """Return built-in values, with the settings as a nested dict."""
        known = {
            "generator": "loopylatent",
            "version": self.version,
            "data_digest": self.data_digest,
            "graph_digest": self.graph_digest,
            "settings": dict(self.settings),
        }
        return known if self.created is None else known | {"created": self.created}


def provenance(result: LearnResult) -> Provenance:
    """Return the provenance of a learned graph."""
    used = result.settings
    named = {"metric": result.metric, "method": used.method, "order": used.order}
    settings = {**named, **asdict(used.thresholds), "seed": used.seed}
    if isinstance(result, RefinedResult) and result.refinement is not None:
        settings["refine"] = result.refinement.goal
        if result.graph != result.refinement.graph:
            settings["moves"] = [one.graph for one in result.refinement.steps].index(result.graph)
    return Provenance(settings, result.data_digest, result.graph.digest)


def _checked(key: str, value: Any) -> Setting:
    scalar = value.item() if isinstance(value, np.generic) else value
    if isinstance(scalar, float) and not math.isfinite(scalar):
        raise DataError(f"Setting {key} = {scalar} is not finite. Give a finite number.")
    if not isinstance(scalar, str | float | int):
        raise DataError(f"Setting {key} is a {type(value).__name__}. Give text or a number.")
    return scalar


@dataclass(frozen=True, slots=True, eq=False)
class Extras:
    """Optional attributes of a graph; see `loopylatent.figures.network`."""

    positions: NDArray[np.floating] | None = None
    groups: Groups | None = None
    group_names: Sequence[str] | None = None
    signs: Sequence[int] | NDArray[np.integer] | None = None
    hidden_names: Mapping[int, str] = field(default_factory=dict)
    evidence: Sequence[Evidence] | None = None
    """Of a refined graph, for edges and hidden nodes, in nats."""

    @property
    def looks(self) -> dict[str, Any]:
        """Keyword arguments of the drawing functions."""
        return {"groups": self.groups, "group_names": self.group_names, "signs": self.signs}


NO_EXTRAS = Extras()


def attributed(graph: LatentGraph, extras: Extras, clean: Callable[[str], str]) -> nx.Graph[int]:
    """Return a networkx graph with all attributes."""
    content = graph.to_networkx()
    for node, label in enumerate(node_labels(graph, extras.hidden_names)):
        content.nodes[node]["label"] = clean(label)
    group_of = groups_by_node(graph, extras.groups)
    names = names_of_groups(group_of, extras.group_names)
    for node, group in group_of.items():
        content.nodes[node].update(group=group, group_name=clean(names[group]))
    if extras.positions is not None:
        place, shape = np.asarray(extras.positions, dtype=np.float64), (graph.n_nodes, 2)
        if place.shape != shape or not np.isfinite(place).all():
            raise DataError(f"Positions must be {shape} finite numbers; they have {place.shape}.")
        for node, (x, y) in enumerate(place.tolist()):
            content.nodes[node].update(x=x, y=y)
    for _, _, values in content.edges(data=True):
        values["weight"] = math.exp(-values["distance"])
    if extras.signs is not None:
        signs = checked_signs(graph, extras.signs).tolist()
        for (u, v), sign in zip(graph.edges.tolist(), signs, strict=True):
            content.edges[u, v]["sign"] = sign
    for one in extras.evidence or ():
        if one.part != "cycle" and math.isfinite(one.nats):
            first, last = one.nodes[0], one.nodes[-1]
            values = content.edges[first, last] if one.part == "edge" else content.nodes[first]
            values["evidence"] = one.nats
    return content


def has_attribute(content: nx.Graph[int], name: str) -> bool:
    """Whether any node has the attribute."""
    return any(name in values for _, values in content.nodes(data=True))


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
    """Return one self-contained page that shows the graph offline."""
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
    """Return a self-contained page; a content security policy blocks all other requests."""
    texts = (vis_bundle(), *("\n" + _text(one) for one in scripts))  # exactly as between tags
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
    """Text of a file with line feeds only, as the browser hashes it."""
    return (files("loopylatent") / name).read_text(encoding="utf-8")


def drawing_of(graph: LatentGraph, extras: Extras) -> dict[str, Any]:
    """Return the data of page.js: nodes, edges, and options per theme."""
    labels = node_labels(graph, extras.hidden_names)
    place = extras.positions if extras.positions is not None else place_nodes(graph, labels=labels)

    looks = {**extras.looks, "hidden_names": extras.hidden_names}
    light, dark = (network_data(network(graph, place, **looks, theme=one)) for one in THEMES)
    return light | {"options": {"light": light["options"], "dark": dark["options"]}}


def legend_pairs(graph: LatentGraph, extras: Extras) -> list[dict[str, LegendItem]]:
    """Return the legend in light and dark colours."""
    light, dark = (legend(graph, **extras.looks, theme=one) for one in THEMES)
    return [{"light": a, "dark": b} for a, b in zip(light, dark, strict=True)]


def summary_of(graph: LatentGraph) -> str:
    """Return the counts of a graph in one line."""
    nodes = f"{graph.n_observed} observed, {graph.n_hidden} hidden"
    edges = f"{count(graph.n_edges, 'edge')}, {count(graph.n_cycles, 'cycle')}"
    several = graph.n_components > 1
    components = f", {count(graph.n_components, 'connected component')}" if several else ""
    return f"{nodes}, {edges}{components}"


def count(number: int, thing: str) -> str:
    """Return a number with its noun."""
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


# Graph formats -----------------------------------------------------------------------------


def to_graphml(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return GraphML; the provenance is in attributes of the graph, ``settings`` as JSON."""
    content = attributed(graph, extras, xml_text)
    origin = provenance.as_dict() | {"settings": json.dumps(dict(provenance.settings))}
    content.graph.update({key: xml_text(value) for key, value in origin.items()})
    return _serialised(nx.write_graphml_xml, content)


def to_gexf(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return GEXF for Gephi; the provenance is JSON in the description in ``meta``."""
    content = attributed(graph, extras, xml_text)
    for _, values in content.nodes(data=True):
        if "x" in values:
            values["viz"] = {"position": {"x": values["x"], "y": -values["y"], "z": 0.0}}
    text = _serialised(nx.write_gexf, content)
    # networkx writes the current date here.
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
    # A lone surrogate has no UTF-8 encoding, but \ud800 is valid JSON.
    return text.encode("utf-8", "backslashreplace").decode() + "\n"


def _serialised(write: Callable[..., None], content: nx.Graph[int]) -> str:
    buffer = io.BytesIO()
    write(content, buffer, encoding="utf-8")
    # A parser turns a bare carriage return into a line feed.
    return buffer.getvalue().decode("utf-8").replace("\r", "&#13;")


def _escaped(text: str) -> str:
    return escape(xml_text(text), {'"': "&quot;"})


# Tables ------------------------------------------------------------------------------------


def to_node_csv(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return one row per node, with the provenance in the last columns.

    Read it with ``pandas.read_csv(path, keep_default_na=False, dtype={"label": str})``. A quote
    before a label that a spreadsheet would run is removed by `name_from_csv`.
    """
    content = attributed(graph, extras, name_to_csv)
    columns = [
        name
        for name in ("group", "group_name", "x", "y", "evidence")
        if has_attribute(content, name)
    ]
    rows = [
        [node, values["label"], values["hidden"], int(graph.degrees[node])]
        + [values.get(name, "") for name in columns]
        for node, values in content.nodes(data=True)
    ]
    return _csv(["id", "label", "hidden", "degree", *columns], rows, provenance)


def to_edge_csv(graph: LatentGraph, provenance: Provenance, extras: Extras = NO_EXTRAS) -> str:
    """Return one row per edge, as in `to_node_csv`; ``weight`` is e^-distance."""
    content = attributed(graph, extras, name_to_csv)
    names = nx.get_node_attributes(content, "label")
    columns = ["distance", "weight"] + (["sign"] if extras.signs is not None else [])
    columns += ["evidence"] if extras.evidence is not None else []
    rows = [
        [u, v, names[u], names[v], *(content.edges[u, v].get(name, "") for name in columns)]
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
"""Formats by file name extension."""


def export(
    graph: LatentGraph,
    path: str | os.PathLike[str],
    *,
    provenance: Provenance,
    format: str | None = None,  # noqa: A002
    extras: Extras = NO_EXTRAS,
) -> Path:
    """Write a graph to a file atomically, by default in the format of its extension."""
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
        text = "\ufeff" + text  # without a byte order mark, spreadsheets garble non-ASCII letters
    return text.encode("utf-8")


def format_of(path: Path, name: str | None) -> str:
    """Return the format by name or, if None, by the extension of the path."""
    if name is not None:
        if name.lower().lstrip(".") in WRITERS:
            return name.lower().lstrip(".")
        raise DataError(f"Unknown format {name!r}. Choose one of {', '.join(WRITERS)}.")
    for known in sorted(WRITERS, key=len, reverse=True):
        if path.name.lower().endswith("." + known):
            return known
    endings = ", ".join("." + known for known in WRITERS)
    raise DataError(f"{path.name!r} has no known extension. Use one of {endings}.")


# Reproduction ---------------------------------------------------------------------------

LONGEST_COMMAND = 100_000
"""Characters; systems reject longer command lines."""
WIDTH = 100


def to_python(
    recipe: Recipe,
    *,
    max_hidden: int | None = None,
    refine: Goal | None = None,
    n_moves: int | None = None,
) -> str:
    """Return a script that learns the same graph; it reads the data from its folder.

    With ``refine`` the graph is refined; ``n_moves`` stops it after so many moves.
    """
    named = [f"{name}={getattr(recipe, name)!r}" for name in SETTINGS]
    if recipe.regularize != "none" or refine is not None:
        named.append("obs=obs")
    if recipe.regularize != "none":
        named.append(f"regularize={recipe.regularize!r}")
        named += [] if max_hidden is None else [f"max_hidden={max_hidden}"]
    if refine is not None:
        named.append(f"refine={refine!r}")
    after = [] if n_moves is None else [f"result = result.after({n_moves})"]
    lines = [
        f'"""Reproduce a learned graph, with loopylatent {__version__}."""',
        "",
        "import loopylatent as ll",
        "",
        *_reading(recipe),
        _call("result = ll.learn", ["D", *named]),
        *after,
        "print(result.graph)",
        f"ll.export(result, {_output(recipe)!r})",
    ]
    return "\n".join(lines) + "\n"


def _reading(recipe: Recipe) -> list[str]:
    degenerate = ["on_degenerate='drop'"] if recipe.drop_degenerate else []
    read = ["obs", f"metric={recipe.metric!r}", *degenerate]
    distances = _call("D = ll.information_distances", read)
    if recipe.source_kind == "sample":
        return [f"obs = ll.load_sample({recipe.sample_name!r}).observations", distances]
    digest = recipe.data_digest
    note = [f"# SHA-256 of the file: {digest} …"] if digest else []
    if recipe.source_kind == "distances":
        rows = [] if recipe.n_samples is None else [f"n_samples={recipe.n_samples}"]
        return [*note, _call("D = ll.read_distances", [repr(recipe.source), *rows])]
    values = recipe.to_dict()
    roles = [f"{n}={values[n]!r}" for n in READING if values[n]]
    table = _call("obs = ll.read_table", [repr(recipe.source), *roles, *degenerate])
    return [*note, table, distances]


def _call(start: str, arguments: Sequence[str]) -> str:
    line = f"{start}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return line
    return f"{start}(\n" + "".join(f"    {argument},\n" for argument in arguments) + ")"


def to_command(
    recipe: Recipe,
    program: str = "python -m loopylatent",
    *,
    max_hidden: int | None = None,
    refine: Goal | None = None,
) -> str:
    """Return a POSIX shell command that learns the same graph; control characters are escaped."""
    is_file = recipe.source_kind != "sample"
    looks_special = recipe.source.startswith(("-", SAMPLE))
    texts = [  # these contain arbitrary names of files and columns
        f"./{recipe.source}" if is_file and looks_special else recipe.source,
        *(f"--drop={name}" for name in recipe.drop),
        *(f"--label={name}" for name in recipe.labels),
        *(f"--kind={name}={kind}" for name, kind in recipe.kinds),
        *([] if recipe.weights is None else [f"--weights={recipe.weights}"]),
    ]
    if not all(text.isprintable() for text in texts):
        texts = ["--escaped", *map(escaped, texts)]
    if recipe.source_kind == "distances":
        texts.append("--from-distances")
        texts += [] if recipe.n_samples is None else [f"--n-samples={recipe.n_samples}"]
    else:
        texts.append(f"--metric={recipe.metric}")
        texts += ["--drop-degenerate"] if recipe.drop_degenerate else []
    texts += [f"--{name}={getattr(recipe, name)}" for name in SETTINGS]
    if recipe.regularize != "none":
        texts.append(f"--regularize={recipe.regularize}")
        texts += [] if max_hidden is None else [f"--max-hidden={max_hidden}"]
    texts += [] if refine is None else [f"--refine={refine}"]
    line = " ".join([program, "learn", *map(shlex.quote, texts), "-o", _output(recipe)])
    if len(line) > LONGEST_COMMAND:
        raise DataError(
            f"The command has {len(line):,} characters, more than a shell accepts. Use the Python "
            "script."
        )
    return line


def _output(recipe: Recipe) -> str:
    """Return an output file name that differs from the input."""
    return "graph.graphml" if recipe.source != "graph.graphml" else "learned.graphml"


_ESCAPE = re.compile(r"\\(?:[\\ntr]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")


def escaped(text: str) -> str:
    r"""Replace backslashes and unprintable characters by backslash escapes."""
    return "".join(
        char if char.isprintable() and char != "\\" else char.encode("unicode_escape").decode()
        for char in text
    )


def unescaped(text: str) -> str:
    r"""Reverse `escaped`."""
    try:
        if "\\" in _ESCAPE.sub("", text):
            raise ValueError
        return _ESCAPE.sub(lambda match: match[0].encode().decode("unicode_escape"), text)
    except ValueError:
        fault = "contains a backslash that is not an escape. Write it twice."
        raise DataError(f"{quoted(text)} {fault}") from None
