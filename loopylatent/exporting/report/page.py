"""A report as one HTML page with everything inside, for the screen, for paper and for later.

``report.html`` is the template, ``report.css`` and ``report.js`` are what it holds beside the
script that draws the graph of every exported page.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Template

from loopylatent.analysis.stability.loop_test import LoopTest
from loopylatent.analysis.stability.runs import Stability
from loopylatent.analysis.stability.table import KINDS
from loopylatent.compute.files import write_atomically
from loopylatent.exporting.base import NO_EXTRAS, Extras, Provenance, edge_signs
from loopylatent.exporting.page import (
    SYMBOLS,
    drawing_of,
    graph_script,
    legend_pairs,
    page_template,
    script_policy,
    summary_of,
)
from loopylatent.exporting.report import content, findings as words, rows
from loopylatent.exporting.report.findings import Findings, HeldOut
from loopylatent.figures.curve import LINES, counts_at, curve_svg, shown_range
from loopylatent.figures.inputs import node_labels
from loopylatent.figures.layout import filling, positions
from loopylatent.figures.looks import THEMES
from loopylatent.figures.network import vis_bundle
from loopylatent.figures.svg import to_svg
from loopylatent.graph import LatentGraph
from loopylatent.inference.model import Model
from loopylatent.tables.spreadsheet import xml_text

ASPECT = 1.55
"""Width to height of the graph, on the screen and on paper."""
MOST_OPEN = 60
"""Rows up to which a table is open from the beginning."""


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
    >>> from loopylatent.distances import information_distances
    >>> from loopylatent.learn import learn
    >>> from loopylatent.recipe import Recipe
    >>> from loopylatent.report.findings import examine
    >>> from loopylatent.samples import load_sample
    >>> recipe = Recipe(source="sample:latent_cycle", source_kind="sample", r=4, Lambda=0, tau=0.1)
    >>> D = information_distances(load_sample("latent_cycle").observations)
    >>> page = to_report(examine(recipe, D, learn(D, recipe.settings), n_resamples=2))
    >>> "http-equiv" in page, page.count("<h2")
    (True, 10)
    """
    extras = _complete(findings, extras)
    labels = rows.labels_of(findings, extras.hidden_names)
    scripts = (vis_bundle(), "\n" + _beside("report.js"), graph_script())
    return _template().render(
        title=xml_text(title or findings.recipe.source.removeprefix("sample:")),
        created=created,
        style=_beside("report.css"),
        scripts=scripts,
        policy=script_policy(scripts),
        themes=THEMES,
        words=words,
        provenance=_provenance(findings, created),
        settings_json=json.dumps(dict(_provenance(findings, created).settings)),
        **_figures(findings, extras),
        **_texts(findings, labels),
        **_sureness(findings),
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
    >>> from loopylatent.distances import information_distances
    >>> from loopylatent.learn import learn
    >>> from loopylatent.recipe import Recipe
    >>> from loopylatent.report.findings import examine
    >>> from loopylatent.samples import load_sample
    >>> recipe = Recipe(source="sample:latent_cycle", source_kind="sample", r=4, Lambda=0, tau=0.1)
    >>> D = information_distances(load_sample("latent_cycle").observations)
    >>> findings = examine(recipe, D, learn(D, recipe.settings), n_resamples=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(findings, Path(folder) / "report.html").name
    'report.html'
    """
    page = to_report(findings, extras, title=title, created=created)
    return write_atomically(path, page.encode())


@cache
def _template() -> Template:
    return page_template(_beside("report.html"))


@cache
def _beside(name: str) -> str:
    return (files("loopylatent.exporting.report") / name).read_text(encoding="utf-8")


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
        names = tuple(rows.group_name(k) for k in range(findings.groups.n_groups))
    signs = edge_signs(graph, findings.distances) if extras.signs is None else extras.signs
    return replace(extras, positions=place, groups=groups, group_names=names, signs=signs)


def _provenance(findings: Findings, created: str | None) -> Provenance:
    recipe = findings.recipe
    names = ("r", "Lambda", "tau", "method", "order", "seed", "regularize")
    return Provenance.of(
        findings.graph,
        settings={name: getattr(recipe, name) for name in names}
        | {"metric": findings.distances.metric},
        data_digest=findings.result.data_digest,
        created=created,
    )


def _figures(findings: Findings, extras: Extras) -> dict[str, Any]:
    """The graph twice, to play with and to print, and the curve."""
    graph, r = findings.graph, findings.recipe.r
    assert extras.positions is not None
    still = to_svg(
        graph,
        extras.positions,
        groups=extras.groups,
        group_names=extras.group_names,
        signs=extras.signs,
        hidden_names=extras.hidden_names,
    )
    floor = findings.distances.noise_floor
    _, last = shown_range(findings.curve, findings.distances, r)
    counts = zip(LINES, counts_at(findings.curve, r), strict=True)
    return {
        "summary": summary_of(graph),
        "drawing": _scrolling(drawing_of(graph, extras)),
        "legend": legend_pairs(graph, extras),
        "symbols": SYMBOLS,
        "still": still,
        "curve": curve_svg(findings.curve, r),
        "curve_counts": list(counts),
        "noise_shown": floor is not None and floor < last,
    }


def _scrolling(drawing: dict[str, Any]) -> dict[str, Any]:
    """Leave the wheel to the page until the graph is clicked; report.js switches it."""
    options = {
        theme: look | {"interaction": look.get("interaction", {}) | {"zoomView": False}}
        for theme, look in drawing["options"].items()
    }
    return drawing | {"options": options}


def _texts(findings: Findings, labels: tuple[str, ...]) -> dict[str, Any]:
    """Sentences and rows."""
    edges, columns = rows.edge_rows(findings, labels), rows.column_rows(findings)
    return {
        "short": content.in_short(findings),
        "warnings": content.warnings(findings),
        "data": content.data_facts(findings),
        "columns": columns,
        "settings": content.setting_facts(findings),
        "topics": rows.topics(findings, labels),
        "groups": rows.group_rows(findings, labels),
        "group_sentences": content.group_sentences(findings),
        "loop_sentence": content.loop_sentence(findings),
        "loop_test": findings.loops if isinstance(findings.loops, LoopTest) else None,
        "cycles": rows.cycle_rows(findings, labels),
        "edges": edges,
        "edges_open": len(edges) <= MOST_OPEN,
        "columns_open": len(columns) <= MOST_OPEN // 2,
        "fitted": isinstance(findings.model, Model),
        "script": content.script_of(findings),
        "command": content.command_of(findings),
        "known": _is_known(findings.graph, labels),
    }


def _is_known(graph: LatentGraph, labels: tuple[str, ...]) -> bool:
    """Whether any hidden node has been given a name."""
    return labels[graph.n_observed :] != graph.labels[graph.n_observed :]


def _sureness(findings: Findings) -> dict[str, Any]:
    """Scores and support, or why they are not there."""
    model, held, found = findings.model, findings.held_out, findings.stability
    return {
        "scores": content.score_facts(model) if isinstance(model, Model) else None,
        "no_scores": None if isinstance(model, Model) else model.reason,
        "held": held if isinstance(held, HeldOut) else None,
        "held_rows": rows.held_out_rows(held) if isinstance(held, HeldOut) else [],
        "no_held": None if isinstance(held, HeldOut) else held.reason,
        "support": found if isinstance(found, Stability) else None,
        "no_support": None if isinstance(found, Stability) else found.reason,
        "support_rows": rows.support_by_kind(findings),
        "scale": rows.scale_rows(),
        "scale_kinds": list(KINDS.values()),
        "sure": rows.SURE,
    }
