"""A report as one HTML page with everything inside, for the screen, for paper and for later.

``report.html`` is the template, ``report.css`` and ``report.js`` are what it holds beside the
script that draws the graph of every exported page.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from loopylatent.analysis.matching import nearest_columns
from loopylatent.analysis.stability.runs import KINDS, Stability, edge_kind, scale
from loopylatent.compute.files import write_atomically
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.graph_files import (
    NO_EXTRAS,
    SYMBOLS,
    Extras,
    Provenance,
    drawing_of,
    legend_pairs,
    rendered,
    summary_of,
)
from loopylatent.exporting.project.file import to_command, to_python
from loopylatent.exporting.report import content
from loopylatent.exporting.report.content import SURE, signed
from loopylatent.exporting.report.findings import Findings, HeldOut, Skipped, sentence
from loopylatent.figures.charts import LINES, counts_at, curve_svg, shown_range
from loopylatent.figures.layout import positions
from loopylatent.figures.network import edge_signs, filling
from loopylatent.figures.svg import to_svg
from loopylatent.graph import node_labels
from loopylatent.inference.model import Model
from loopylatent.tables.files import xml_text

ASPECT = 1.55
"""Width to height of the graph, on the screen and on paper."""
MOST_NEAR = 10


def to_report(
    findings: Findings,
    extras: Extras = NO_EXTRAS,
    *,
    title: str = "",
    created: str | None = None,
) -> str:
    """Return a page that says what was found, how sure it is, and how to get it again.

    Everything is inside. A content security policy forbids any request and any script but those
    that belong here; names are data and cannot run. The same findings give the same page.

    Parameters
    ----------
    findings : Findings
    extras : Extras
        Positions, groups with their names, and names of hidden nodes. Nodes are coloured by the
        groups that were found where no others are given.
    title : str
        The name of the table where it is empty.
    created : str, optional
        A date, to be printed.

    Examples
    --------
    >>> import loopylatent as ll
    >>> recipe = ll.Recipe(
    ...     source="sample:latent_cycle", source_kind="sample", r=4, Lambda=0, tau=0.1
    ... )
    >>> D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    >>> page = to_report(ll.examine(recipe, D, ll.learn(D, 4, 0, 0.1), n_resamples=2))
    >>> "http-equiv" in page, page.count("<h2")
    (True, 10)
    """
    extras = _complete(findings, extras)
    labels = tuple(map(xml_text, node_labels(findings.graph, extras.hidden_names)))
    return rendered(
        "exporting/report/report",
        ["exporting/report/report.js", "exporting/page.js"],
        title or findings.recipe.source.removeprefix("sample:"),
        _provenance(findings, created),
        created=created,
        findings=findings,
        content=content,
        **_figures(findings, extras),
        **_texts(findings, labels),
    )


def write_report(
    findings: Findings,
    path: str | os.PathLike[str],
    extras: Extras = NO_EXTRAS,
    *,
    title: str = "",
    created: str | None = None,
) -> Path:
    """Write the page of `to_report` to a file, whole or not at all.

    Parameters
    ----------
    findings, extras, title, created
        As in `to_report`.
    path : path

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import loopylatent as ll
    >>> recipe = ll.Recipe(
    ...     source="sample:latent_cycle", source_kind="sample", r=4, Lambda=0, tau=0.1
    ... )
    >>> D = ll.information_distances(ll.load_sample("latent_cycle").observations)
    >>> findings = ll.examine(recipe, D, ll.learn(D, 4, 0, 0.1), n_resamples=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(findings, Path(folder) / "report.html").name
    'report.html'
    """
    page = to_report(findings, extras, title=title, created=created)
    return write_atomically(path, page.encode())


def _complete(findings: Findings, extras: Extras) -> Extras:
    """Fill in what is not given: positions, signs, the groups that were found."""
    graph = findings.graph
    place = extras.positions
    if place is None:
        labels = node_labels(graph, extras.hidden_names)
        place = filling(positions(graph, labels=labels), ASPECT)
    groups, names = extras.groups, extras.group_names
    if groups is None and findings.groups.n_groups > 1:
        groups = findings.groups.labels
        names = tuple(map(_group_name, range(findings.groups.n_groups)))
    signs = edge_signs(graph, findings.distances) if extras.signs is None else extras.signs
    return replace(extras, positions=place, groups=groups, group_names=names, signs=signs)


def _group_name(group: int) -> str:
    return f"group {group + 1}"


def _provenance(findings: Findings, created: str | None) -> Provenance:
    names = ("r", "Lambda", "tau", "method", "order", "seed", "regularize")
    settings = {name: getattr(findings.recipe, name) for name in names}
    return Provenance.of(
        findings.graph,
        settings=settings | {"metric": findings.distances.metric},
        data_digest=findings.result.data_digest,
        created=created,
    )


def _figures(findings: Findings, extras: Extras) -> dict[str, Any]:
    graph, r, floor = findings.graph, findings.recipe.r, findings.distances.noise_floor
    assert extras.positions is not None
    drawing = drawing_of(graph, extras)
    for look in drawing["options"].values():  # the wheel is the page's until a click: report.js
        look["interaction"] = look.get("interaction", {}) | {"zoomView": False}
    _, last = shown_range(findings.curve, findings.distances, r)
    return {
        "summary": summary_of(graph),
        "drawing": drawing,
        "legend": legend_pairs(graph, extras),
        "symbols": SYMBOLS,
        "still": to_svg(graph, extras.positions, **extras.looks, hidden_names=extras.hidden_names),
        "curve": curve_svg(findings.curve, r),
        "curve_counts": list(zip(LINES, counts_at(findings.curve, r), strict=True)),
        "noise_shown": floor is not None and floor < last,
    }


def _texts(findings: Findings, labels: tuple[str, ...]) -> dict[str, Any]:
    graph, recipe, most = findings.graph, findings.recipe, findings.max_hidden
    model, held, found = findings.model, findings.held_out, findings.stability
    command: str | Skipped
    try:
        command = to_command(recipe, max_hidden=most)
    except LoopyLatentError as error:
        command = Skipped(sentence(str(error)))
    return {
        "columns": _column_rows(findings),
        "topics": _topics(findings, labels),
        "groups": _group_rows(findings, labels),
        "cycles": _cycle_rows(findings, labels),
        "edges": _edge_rows(findings, labels),
        "script": to_python(recipe, max_hidden=most),
        "command": command,
        "known": labels[graph.n_observed :] != graph.labels[graph.n_observed :],
        "scores": content.score_facts(model) if isinstance(model, Model) else None,
        "held": held if isinstance(held, HeldOut) else None,
        "support": found if isinstance(found, Stability) else None,
        "support_rows": _support_rows(found) if isinstance(found, Stability) else [],
        "scale": scale(),
        "kinds": KINDS,
    }


# Rows --------------------------------------------------------------------------------------


def _column_rows(findings: Findings) -> list[dict[str, str]]:
    D, obs = findings.distances, findings.observations
    rows = []
    for node, name in enumerate(D.names):
        near = nearest_columns(D, node, 1)
        row = {
            "name": xml_text(name),
            "kind": "" if obs is None else obs.kinds[node],
            "missing": "" if obs is None else f"{obs.missing_share(name):.1%}",
            "nearest": xml_text(D.names[near[0].node]) if near else "",
            "distance": f"{near[0].distance:.3f}" if near else "",
        }
        rows.append(row)
    return rows


def _topics(findings: Findings, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    """Each hidden node with the columns that are nearest to it along the graph."""
    graph, found = findings.graph, findings.stability
    support = found.hidden.tolist() if isinstance(found, Stability) else [None] * graph.n_hidden
    rows = []
    for node, share in zip(graph.hidden_nodes, support, strict=True):
        closest = nearest_columns(graph, node, MOST_NEAR)
        near = [(labels[one.node], f"{one.strength:.2f}") for one in closest]
        row = {"name": labels[node], "near": near, "n_neighbours": int(graph.degrees[node])}
        rows.append(row | {"support": share})
    return rows


def _edge_rows(findings: Findings, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    graph, found, model = findings.graph, findings.stability, findings.model
    support = found.edges.tolist() if isinstance(found, Stability) else [None] * graph.n_edges
    fitted = model.edge_strengths.tolist() if isinstance(model, Model) else None
    signs = edge_signs(graph, findings.distances)
    rows = []
    for k in sorted(range(graph.n_edges), key=lambda k: (graph.lengths[k], k)):
        (u, v), length = graph.edges[k], float(graph.lengths[k])
        row = {
            "ends": (labels[u], labels[v]),
            "distance": f"{length:.3f}",
            "strength": f"{math.exp(-length):.3f}",
            "sign": "" if signs is None or not signs[k] else ("+" if signs[k] > 0 else "−"),
            "fitted": "" if fitted is None else signed(fitted[k], 3),
            "support": support[k],
        }
        rows.append(row)
    return rows


def _cycle_rows(findings: Findings, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    cycles, found = findings.graph.cycles, findings.stability
    support = found.cycles.tolist() if isinstance(found, Stability) else [None] * len(cycles)
    rows = [
        {"nodes": [labels[node] for node in cycle], "support": share}
        for cycle, share in zip(cycles, support, strict=True)
    ]
    return sorted(rows, key=lambda row: (-(row["support"] or 0.0), len(row["nodes"])))


def _group_rows(findings: Findings, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    members: dict[int, list[str]] = {}
    for node, group in enumerate(findings.groups.labels.tolist()):
        members.setdefault(group, []).append(labels[node])
    return [{"name": _group_name(one), "columns": members[one]} for one in sorted(members)]


def _support_rows(found: Stability) -> list[tuple[str, int, int]]:
    """Kinds of parts, how many there are, and how many of them came back."""
    graph = found.graph
    parts: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for (u, v), share in zip(graph.edges.tolist(), found.edges.tolist(), strict=True):
        parts[edge_kind(graph, u, v)].append(share)
    parts["hidden"], parts["cycle"] = found.hidden.tolist(), found.cycles.tolist()
    return [
        (KINDS[kind], len(parts[kind]), sum(share >= SURE for share in parts[kind]))
        for kind in KINDS
    ]
