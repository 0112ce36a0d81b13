"""A report as one self-contained HTML page: its sentences, facts, tables and figures.

``report.html`` is the template, which escapes all texts, with ``report.css``, ``report.js`` and the
drawing script of all exported pages.
"""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from loopylatent.analysis.matching import nearest_columns
from loopylatent.analysis.stability.runs import KINDS, Stability, edge_kind, scale
from loopylatent.compute.files import write_atomically
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.errors import LoopyLatentError
from loopylatent.exporting.graph_files import (
    NO_EXTRAS,
    SYMBOLS,
    Extras,
    count,
    drawing_of,
    legend_pairs,
    provenance,
    rendered,
    summary_of,
    to_command,
    to_python,
)
from loopylatent.exporting.project.file import SETTINGS, Recipe
from loopylatent.exporting.report.findings import Findings, HeldOut, Skipped, sentence
from loopylatent.figures.charts import LINES, counts_at, curve_svg, shown_range
from loopylatent.figures.layout import positions
from loopylatent.figures.network import edge_signs, stretched
from loopylatent.figures.svg import to_svg
from loopylatent.graph import node_labels
from loopylatent.inference.model import Model
from loopylatent.learning.initial_graph import default_thresholds
from loopylatent.tables.files import xml_text
from loopylatent.tables.observations import Observations

HIGH_SUPPORT = 0.7
THRESHOLDS: Mapping[str, tuple[str, str]] = {
    "r": (
        "Radius r",
        "The columns within distance r of a column form its ball. The initial graph is the union "
        "of the minimum spanning trees of all balls: a single tree from r max on; with a smaller r "
        "it can have loops.",
    ),
    "Lambda": (
        "Margin Λ",
        "Quartet tests decide which pairs of four nodes are close, if they win by this margin.",
    ),
    "tau": (
        "Minimum edge length τ",
        "Shorter edges at hidden nodes were contracted.",
    ),
}
NO_EFFECT = "It has no effect in this method."
OWN_TAU = "This method uses its own limit, 0.105, instead."
METHODS: Mapping[str, str] = {
    "quartet": "Nodes are joined by quartet tests.",
    "relaxed": "Nodes whose distances to all other nodes differ by a constant form families.",
    "nj": "Nodes are joined by neighbor joining.",
}
ORDERS: Mapping[str, str] = {
    "degree": "Columns with most neighbours were visited first.",
    "index": "Columns were visited in the order of the table.",
    "random": "Columns were visited in random order, given by the seed.",
}
SEED = "Seed of all random numbers; the same seed gives the same graph."
BIC = (
    "A hidden node was added only if it improved the BIC (Bayesian information criterion), which "
    "penalises parameters."
)
METRICS: Mapping[str, str] = {
    "correlation": "−log |correlation| of two columns.",
    "rank": "−log |rank correlation| of two columns.",
    "determinant": "−log of the normalised determinant of the joint table of two columns.",
    "determinant-printed": "−log of the determinant of the joint table, as printed in the paper.",
    "canonical": "−log of the largest canonical correlation of two columns.",
    "given": "Precomputed distances, not estimated from rows.",
}
DISTANCE = (
    "0 if one column determines the other, 0.7 at a correlation of 0.5, 2.3 at 0.1, infinite if "
    "two columns are independent."
)
NOISE_FLOOR = "With this many rows, longer distances cannot be distinguished from independence."
SCHEMES: Mapping[str, str] = {
    "bootstrap": "rows drawn with replacement",
    "blocks": "blocks of consecutive rows drawn with replacement",
    "subsample": "random subsets of the rows",
    "noise": "correlations perturbed by their sampling error",
    "orders": "random visiting orders on the same data",
}
ONE_GRAPH = "Communities of this graph alone, which vary between resamples."


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value with its meaning."""

    name: str
    value: str
    meaning: str = ""


def signed(value: float, digits: int) -> str:
    """Format a number with a proper minus sign."""
    return f"{value:,.{digits}f}".replace("-", "−")


def summary_sentences(findings: Findings) -> list[str]:
    """Return the main results as sentences."""
    graph = findings.graph
    several = graph.n_components > 1
    components = f", in {count(graph.n_components, 'connected component')}" if several else ""
    found = (
        f"{count(graph.n_observed, 'column')} and {count(graph.n_hidden, 'hidden node')} are "
        f"connected by {count(graph.n_edges, 'edge')}{components}; the columns form "
        f"{count(findings.groups.n_groups, 'group')}."
    )
    short, support, held = [found, loop_sentence(findings)], findings.stability, findings.held_out
    if isinstance(support, Stability):
        n_hidden, n_edges = (
            int((one >= HIGH_SUPPORT).sum()) for one in (support.hidden, support.edges)
        )
        short.append(
            f"{n_hidden} of {count(len(support.hidden), 'hidden node')} and {n_edges} of "
            f"{count(len(support.edges), 'edge')} have a support of at least {HIGH_SUPPORT:.0%} in "
            f"{support.n_used} resamples ({SCHEMES[support.scheme]})."
        )
    if isinstance(held, HeldOut):
        ours, none = (one.log_likelihood / one.n_samples for one in (held.scores, held.independent))
        better = "better" if ours > none else "worse"
        short.append(
            f"Held-out rows have a mean log-likelihood of {signed(ours, 3)} "
            f"({inference_name(held.scores.method)}), {abs(ours - none):.3f} {better} than with "
            "independent columns."
        )
    return short


def loop_sentence(findings: Findings) -> str:
    """Return the number of loops and whether noise explains them."""
    n, test = findings.graph.n_cycles, findings.loops
    if isinstance(test, Skipped):
        return f"The graph has {count(n, 'loop')}. {test.reason}" if n else test.reason
    if test.n_loops == 0:
        return f"With default Λ and τ there are no loops at r = {findings.recipe.r:.3g}."
    verdict = "The loops are more than noise." if test.is_real else "Noise can explain the loops."
    mean = "unknown" if math.isnan(test.mean_by_noise) else f"{test.mean_by_noise:.1f}"
    return (
        f"{count(test.n_loops, 'loop')}, compared with {mean} on average in tables simulated from "
        f"a tree; {test.n_as_many} of {test.n_simulations} had at least as many "
        f"(p\u00a0=\u00a0{test.p_value:.3g}). {verdict}"
    )


def inference_name(method: str) -> str:
    """Return how likelihoods were computed."""
    return "exact" if method == "exact" else "approximate, by loopy belief propagation"


def warnings(findings: Findings) -> list[str]:
    """Return warnings about the graph."""
    D, result, r = findings.distances, findings.result, findings.recipe.r
    found = []
    if D.noise_floor is not None and r > D.noise_floor:
        found.append(
            f"r = {r:.3g} is above the noise floor ({D.noise_floor:.3g}): with "
            f"{D.n_samples or 0:,} rows, longer distances cannot be distinguished from "
            "independence."
        )
    if not D.is_additive:
        found.append("The distances are not additive along paths, as the method assumes.")
    if result.n_stuck:
        found.append(
            f"In {result.n_stuck} of {result.n_visits} visits the quartet tests conflict and no "
            "pair could be joined. Try a larger Λ."
        )
    if result.n_capped:
        found.append(f"{result.n_capped} large visits used only the nearest nodes in tests.")
    return found


def data_facts(findings: Findings) -> list[Fact]:
    """Describe the data."""
    D, obs, recipe = findings.distances, findings.observations, findings.recipe
    source = recipe.sample_name if recipe.source_kind == "sample" else recipe.source
    facts = [Fact("Source", xml_text(source), "a bundled table" if source != recipe.source else "")]
    if obs is None:
        rows = "unknown" if D.n_samples is None else f"{D.n_samples:,}"
        facts += [Fact("Rows", rows, "of the precomputed distances")]
        facts += [Fact("Columns", f"{D.n_columns:,}")]
    else:
        facts += _table_facts(obs)
    floor = "unknown" if D.noise_floor is None else f"{D.noise_floor:.4g}"
    return [
        *facts,
        Fact(
            "Distance",
            "precomputed" if D.metric == "given" else D.metric,
            f"{METRICS[D.metric]} {DISTANCE}",
        ),
        Fact("r min", f"{D.r_min:.4g}", "Below this radius some column is alone in its ball."),
        Fact(
            "r max",
            f"{D.r_max:.4g}",
            "The largest finite distance; from here on the graph is a tree.",
        ),
        Fact("Noise floor", floor, NOISE_FLOOR),
    ]


def _table_facts(obs: Observations) -> list[Fact]:
    kinds = ", ".join(f"{n} {kind}" for kind, n in Counter(obs.kinds).items())
    n_values = obs.n_rows * obs.n_columns
    weighted = "" if obs.weights is None else f"; sum of weights {obs.n_samples:,}"
    share = f"{obs.n_missing / n_values:.1%} of all" if n_values else ""
    facts = [
        Fact("Rows", f"{obs.n_rows:,}{weighted}"),
        Fact("Columns", f"{obs.n_columns:,}", kinds),
        Fact("Missing values", f"{obs.n_missing:,}", share if obs.n_missing else ""),
    ]
    dropped = [f"{one.name}: {one.reason}" for one in obs.dropped]
    if dropped:
        facts.append(Fact("Dropped columns", f"{len(dropped)}", xml_text("; ".join(dropped))))
    return facts


def setting_facts(findings: Findings) -> list[Fact]:
    """Return the settings with their effects."""
    recipe = findings.recipe
    bic, no_bic = ("yes", BIC), ("no", "Hidden nodes were not penalised for their parameters.")
    facts = [
        *_threshold_facts(findings.distances, recipe),
        Fact("Grouping", recipe.method, METHODS.get(recipe.method, "")),
        Fact("Visiting order", recipe.order, ORDERS.get(recipe.order, "")),
        Fact("Seed", f"{recipe.seed}", SEED),
        Fact("BIC penalty", *(bic if recipe.regularize == "bic" else no_bic)),
    ]
    if findings.max_hidden is not None:
        facts.append(Fact("Maximum number of hidden nodes", f"{findings.max_hidden}"))
    reading = {
        "Dropped on request": ", ".join(recipe.drop),
        "Label columns": ", ".join(recipe.labels),
        "Corrected column types": ", ".join(f"{name}: {kind}" for name, kind in recipe.kinds),
        "Weights": recipe.weights,
        "Constant and repeated columns": "dropped" if recipe.drop_degenerate else "",
    }
    return facts + [Fact(name, xml_text(value)) for name, value in reading.items() if value]


def _threshold_facts(D: DistanceMatrix, recipe: Recipe) -> list[Fact]:
    default = default_thresholds(D)
    facts = []
    for field, (symbol, meaning) in THRESHOLDS.items():
        if field == "Lambda" and recipe.method in ("relaxed", "nj"):
            meaning += f" {NO_EFFECT}"
        if field == "tau" and recipe.method == "relaxed":
            meaning += f" {OWN_TAU}"
        value, rule = getattr(recipe, field), getattr(default, field)
        origin = "This is the default." if value == rule else f"The default is {rule:.4g}."
        facts.append(Fact(symbol, f"{value:.6g}", f"{meaning} {origin}"))
    return facts


def group_sentences(findings: Findings) -> list[str]:
    """Return how the groups were found and how they agree with known ones."""
    found, known = findings.groups, findings.known_groups
    n = found.n_resamples
    resampled = f"Columns that are mostly in one group over {n} resamples."
    sentences = [resampled if n else ONE_GRAPH]
    if known and len(set(known) & set(found.names)) > 1:
        value = found.agreement(known)
        sentences.append(
            f"Adjusted Rand index with the known groups: {value:.2f} (1: equal, 0: as expected by "
            "chance)."
        )
    return sentences


def score_facts(model: Model) -> list[Fact]:
    """Describe the model fitted to this graph."""
    end = "Converged." if model.converged else "Not converged; more steps can raise the likelihood."
    note = f" {sentence(model.note)}." if model.note else ""
    per_row = model.train_log_likelihood / model.n_samples
    inference = inference_name("exact" if model.is_exact else "lbp")
    return [
        Fact("Inference", inference, f"{model.kind} model, treewidth at most {model.treewidth}"),
        Fact(
            "Log-likelihood per row", signed(per_row, 4), "on the training rows; higher is better"
        ),
        Fact("BIC", signed(model.train_bic, 1), "log-likelihood minus a penalty for parameters"),
        Fact("Parameters", f"{model.df:,}", "degrees of freedom"),
        Fact("Fit", f"{len(model.history) - 1} steps", xml_text(end + note)),
    ]


_TEMPLATE_NAMES: Mapping[str, Any] = {
    one.__name__: one
    for one in (
        summary_sentences, warnings, loop_sentence, data_facts, setting_facts, group_sentences,
        inference_name, signed,
    )
} | {"SCHEMES": SCHEMES, "HIGH_SUPPORT": HIGH_SUPPORT}  # fmt: skip
"""Functions and constants that the template uses."""
ASPECT = 1.55
"""Ratio of width to height of the graph, on screen and on paper."""
N_NEAREST = 10


def to_report(
    findings: Findings,
    extras: Extras = NO_EXTRAS,
    *,
    title: str = "",
    created: str | None = None,
) -> str:
    """Return a self-contained page with the results, their stability, and how to reproduce them.

    A content security policy blocks all requests and all other scripts; names are escaped. The
    same findings give the same page.

    Parameters
    ----------
    findings : Findings
    extras : Extras
        Positions, groups with their names, and names of hidden nodes. By default, nodes are
        coloured by detected groups.
    title : str
        By default, the name of the table.
    created : str, optional
        A date to print.

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
    settings = {name: getattr(findings.recipe, name) for name in (*SETTINGS, "regularize")}
    settings["metric"] = findings.distances.metric
    return rendered(
        "exporting/report/report",
        ["exporting/report/report.js", "exporting/page.js"],
        title or findings.recipe.source.removeprefix("sample:"),
        replace(provenance(findings.result), settings=settings, created=created),
        created=created,
        findings=findings,
        **_TEMPLATE_NAMES,
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
    """Write the page of `to_report` to a file atomically.

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
    """Fill in missing positions, signs and groups."""
    graph = findings.graph
    place = extras.positions
    if place is None:
        labels = node_labels(graph, extras.hidden_names)
        place = stretched(positions(graph, labels=labels), ASPECT)
    groups, names = extras.groups, extras.group_names
    if groups is None and findings.groups.n_groups > 1:
        groups = findings.groups.labels
        names = tuple(map(_group_name, range(findings.groups.n_groups)))
    signs = edge_signs(graph, findings.distances) if extras.signs is None else extras.signs
    return replace(extras, positions=place, groups=groups, group_names=names, signs=signs)


def _group_name(group: int) -> str:
    return f"group {group + 1}"


def _figures(findings: Findings, extras: Extras) -> dict[str, Any]:
    graph, r, floor = findings.graph, findings.recipe.r, findings.distances.noise_floor
    assert extras.positions is not None
    drawing = drawing_of(graph, extras)
    for look in drawing["options"].values():  # report.js enables zooming after a click
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
        "has_names": labels[graph.n_observed :] != graph.labels[graph.n_observed :],
        "scores": score_facts(model) if isinstance(model, Model) else None,
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
    """Each hidden node with its nearest columns along the graph."""
    graph, found = findings.graph, findings.stability
    support = found.hidden.tolist() if isinstance(found, Stability) else [None] * graph.n_hidden
    rows = []
    for node, share in zip(graph.hidden_nodes, support, strict=True):
        closest = nearest_columns(graph, node, N_NEAREST)
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
    """Types of parts, their number, and how many have high support."""
    graph = found.graph
    parts: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for (u, v), share in zip(graph.edges.tolist(), found.edges.tolist(), strict=True):
        parts[edge_kind(graph, u, v)].append(share)
    parts["hidden"], parts["cycle"] = found.hidden.tolist(), found.cycles.tolist()
    n_high = {
        kind: sum(share >= HIGH_SUPPORT for share in shares) for kind, shares in parts.items()
    }
    return [(name, len(parts[kind]), n_high[kind]) for kind, name in KINDS.items()]
