"""HTML views of results in a notebook: numbers and a static picture, self-contained."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable
from dataclasses import asdict
from functools import singledispatch
from typing import Any

import numpy as np

from loopylatent.analysis.stability.groups import Groups
from loopylatent.analysis.stability.runs import Stability
from loopylatent.analysis.sweep.table import Sweep
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.charts import curve_svg
from loopylatent.figures.layout import positions, shown_label
from loopylatent.figures.network import FACE, THEMES
from loopylatent.figures.svg import escaped_xml, to_svg
from loopylatent.graph import LatentGraph
from loopylatent.inference.model import Model
from loopylatent.inference.scores import Scores
from loopylatent.learning.initial_graph import EdgeDensity, loop_radius
from loopylatent.learning.learner import LearnResult
from loopylatent.tables.observations import Observations
from loopylatent.tables.samples import Sample

MAX_DRAWN = 300
"""Largest number of nodes of a graph that is drawn."""
MAX_ROWS = 12
LONGEST_NAME = 40
WIDEST = 720
N_BARS = 24
BAR = 20
HIGH = 110
_SVG = 'xmlns="http://www.w3.org/2000/svg"'
_LIGHT = THEMES["light"]
_CURVE_STYLE = f"""<style>
svg {{ background: {_LIGHT.background}; font-family: {FACE}; font-size: 12px; }}
text {{ fill: {_LIGHT.text}; }} text.plate {{ fill: {_LIGHT.background}; }}
.sub {{ font-size: 9px; }}
.line {{ fill: none; stroke-width: 2; }} .grid {{ stroke: #E3E7EC; }} .beyond {{ fill: #F3F0E8; }}
.tick, .mark {{ stroke: {_LIGHT.edge}; fill: none; }} .mark {{ stroke-dasharray: 3 3; }}
.now {{ stroke: {_LIGHT.text}; }} .plate {{ fill: {_LIGHT.text}; }}
.line.edges {{ stroke: {_LIGHT.observed}; }} .dot.edges {{ fill: {_LIGHT.observed}; }}
.line.cycles {{ stroke: {_LIGHT.hidden}; }} .dot.cycles {{ fill: {_LIGHT.hidden}; }}
.line.components {{ stroke: {_LIGHT.groups[2]}; }} .dot.components {{ fill: {_LIGHT.groups[2]}; }}
</style>"""


def html_of(result: object) -> str:
    """Return the HTML view of a result."""
    line, *parts = view(result)
    head = f"<p><b>{type(result).__name__}</b>: {html.escape(line)}</p>"
    shown = f'<div class="loopylatent">{head}{"".join(parts)}</div>'
    return shown + html_of(result.observations) if isinstance(result, Sample) else shown


@singledispatch
def view(result: Any) -> list[str]:
    """Return one line of text on a result, and the HTML below it."""
    raise NotImplementedError(type(result))


@view.register
def _(graph: LatentGraph) -> list[str]:
    return [_counts(graph), _picture(graph)]


@view.register
def _(result: LearnResult) -> list[str]:
    t, s = result.settings.thresholds, result.settings
    rows = {
        "r, Λ, τ": f"{t.r:.4g}, {t.Lambda:.4g}, {t.tau:.4g}",
        "method, order, seed": f"{s.method}, {s.order}, {s.seed}",
    }
    if result.n_stuck:
        rows["stuck visits"] = f"{result.n_stuck} of {result.n_visits}; try a larger Λ"
    return [_counts(result.graph), _table(rows.items()), _picture(result.graph)]


@view.register
def _(D: DistanceMatrix) -> list[str]:
    rows = {
        "metric": D.metric + ("" if D.is_additive else " (not additive along paths)"),
        "rows": "unknown" if D.n_samples is None else f"{D.n_samples:,}",
        "smallest, r min, r max": f"{D.smallest:.4g}, {D.r_min:.4g}, {D.r_max:.4g}",
        "noise floor": "unknown" if D.noise_floor is None else f"{D.noise_floor:.4g}",
    }
    values = D.values[np.triu_indices(D.n_columns, 1)]
    finite = values[np.isfinite(values)]
    if len(finite) < len(values):
        rows["infinite"] = f"{len(values) - len(finite):,} of {len(values):,} pairs"
    return [f"{D.n_columns:,} columns", _table(rows.items()), _histogram(finite)]


@view.register
def _(curve: EdgeDensity) -> list[str]:
    drawn = curve_svg(curve, loop_radius(curve.D)).replace("<svg ", f"<svg {_SVG} ", 1)
    drawn = drawn.replace(">", ">" + _CURVE_STYLE, 1)
    line = f"{len(curve.r):,} changes between r = {curve.D.smallest:.4g} and {curve.D.r_max:.4g}"
    return [line, _image(drawn, "edges, cycles and connected components against r")]


@view.register
def _(obs: Observations) -> list[str]:
    line = [f"{obs.n_rows:,} rows, {obs.n_columns:,} columns"]
    if obs.n_missing:
        line.append(f"{obs.n_missing:,} missing values")
    if obs.weights is not None:
        line.append("weighted rows")
    if obs.dropped:
        line.append(f"{len(obs.dropped)} columns dropped")
    rows = [(_name(one.name), one.kind) for one in obs.columns[:MAX_ROWS]]
    return ["; ".join(line), _table(rows), _more(obs.n_columns)]


@view.register
def _(sample: Sample) -> list[str]:
    return [sample.title, f"<p>{html.escape(sample.about)}</p>"]


@view.register
def _(model: Model) -> list[str]:
    rows = {
        "inference": "exact" if model.is_exact else "loopy belief propagation",
        "log-likelihood per row": f"{model.train_log_likelihood / model.n_samples:.4f}",
        "BIC (training)": f"{model.train_bic:.1f}",
        "parameters": f"{model.df:,}",
        "converged": "yes" if model.converged else "no",
    }
    if model.note:
        rows["note"] = model.note
    picture = _picture(model.graph, np.sign(model.edge_strengths).astype(int))
    return [f"{model.kind}; {_counts(model.graph)}", _table(rows.items()), picture]


@view.register
def _(found: Stability) -> list[str]:
    rows = {"instability": f"{found.instability:.2f}", "resamples": f"{found.n_used:,}"}
    if found.n_failed:
        rows["failed resamples"] = f"{found.n_failed:,}"
    for name in ("edges", "hidden", "cycles"):
        support = getattr(found, name)
        if len(support):
            kept = int((support >= 0.5).sum())
            rows[f"{name} with support ≥ 0.5"] = f"{kept} of {len(support)}"
    return [f"by {found.scheme}", _table(rows.items()), _picture(found.supported(0.5))]


@view.register
def _(found: Sweep) -> list[str]:
    frame = found.to_frame()
    shown = frame.head(MAX_ROWS).to_html(index=False, border=0, float_format="{:.4g}".format)
    return [repr(found).partition("(")[2].rstrip(")"), shown, _more(len(frame), "points")]


@view.register
def _(found: Groups) -> list[str]:
    rows = {}
    for group in range(found.n_groups):
        names = [found.names[k] for k in np.flatnonzero(found.labels == group)]
        more = f" and {len(names) - MAX_ROWS} more" if len(names) > MAX_ROWS else ""
        rows[str(group)] = ", ".join(map(_name, names[:MAX_ROWS])) + more
    line = f"{found.n_groups} groups of {len(found.names):,} columns"
    if found.n_resamples:
        line += f", over {found.n_resamples} resamples"
    return [line, _table(rows.items())]


@view.register
def _(scores: Scores) -> list[str]:
    values = asdict(scores).items()
    rows = {name: one if isinstance(one, str) else f"{one:.6g}" for name, one in values}
    return ["lower perplexities are better", _table(rows.items())]


def _picture(graph: LatentGraph, signs: Any = None) -> str:
    """A graph as an image, or a sentence if it is too large."""
    if graph.n_nodes > MAX_DRAWN:
        return (
            f"<p>{graph.n_nodes:,} nodes are too many for a small picture. "
            "<code>ll.export(result, 'graph.html')</code> writes a zoomable one.</p>"
        )
    return _image(to_svg(graph, positions(graph), signs=signs), _counts(graph))


def _counts(graph: LatentGraph) -> str:
    return (
        f"{graph.n_observed:,} observed, {graph.n_hidden:,} hidden, {graph.n_edges:,} edges, "
        f"{graph.n_cycles:,} cycles"
    )


def _table(rows: Iterable[tuple[str, str]]) -> str:
    cells = (
        f'<tr><td style="text-align:left">{html.escape(name)}</td>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{''.join(cells)}</table>"


def _more(total: int, what: str = "columns") -> str:
    return f"<p>and {total - MAX_ROWS:,} more {what}</p>" if total > MAX_ROWS else ""


def _name(name: str) -> str:
    return shown_label(name, LONGEST_NAME)


def _image(svg: str, words: str) -> str:
    packed = base64.b64encode(svg.encode()).decode("ascii")
    return (
        f'<img alt="{html.escape(words)}" style="max-width:min(100%,{WIDEST}px)" '
        f'src="data:image/svg+xml;base64,{packed}">'
    )


def _histogram(values: np.ndarray[Any, Any]) -> str:
    if not len(values):
        return ""
    counts, ends = np.histogram(values, bins=N_BARS)
    bars = "".join(
        f'<rect x="{BAR * k + 1}" y="{HIGH - height}" width="{BAR - 2}" height="{height}"/>'
        for k, height in enumerate(np.ceil(counts / counts.max() * HIGH).astype(int).tolist())
    )
    width, base = BAR * N_BARS, HIGH + 16
    low, high = (escaped_xml(f"{end:.3g}") for end in (ends[0], ends[-1]))
    drawn = (
        f'<svg {_SVG} width="{width}" height="{HIGH + 22}" font-size="12" '
        f'font-family="{escaped_xml(FACE)}"><rect width="100%" height="100%" '
        f'fill="{_LIGHT.background}"/><g fill="{_LIGHT.observed}">{bars}</g>'
        f'<g fill="{_LIGHT.text}"><text y="{base}">{low}</text>'
        f'<text x="{width // 2}" y="{base}" text-anchor="middle">distance</text>'
        f'<text x="{width}" y="{base}" text-anchor="end">{high}</text></g></svg>'
    )
    return _image(drawn, f"histogram of distances from {ends[0]:.3g} to {ends[-1]:.3g}")
