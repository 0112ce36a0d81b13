"""The tables of a report, row by row, as text; the page escapes it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from loopylatent.analysis.nodes import nearest_columns
from loopylatent.analysis.stability.runs import Stability
from loopylatent.analysis.stability.table import KINDS, edge_kind, scale
from loopylatent.exporting.base import edge_signs
from loopylatent.exporting.report.findings import Findings, HeldOut, Skipped
from loopylatent.figures.inputs import node_labels
from loopylatent.inference.model import Model
from loopylatent.tables.spreadsheet import xml_text

MOST_NEAR = 10
SURE = 0.7
"""From this support on a part counts as found again."""


@dataclass(frozen=True, slots=True)
class Topic:
    """A hidden node and what is near it."""

    name: str
    near: tuple[tuple[str, str], ...]
    """Columns and the strengths of the paths to them, the nearest first."""
    n_neighbours: int
    support: float | None


@dataclass(frozen=True, slots=True)
class ColumnRow:
    """A column of the table."""

    name: str
    kind: str
    missing: str
    nearest: str
    distance: str


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An edge of the graph."""

    ends: tuple[str, str]
    distance: str
    strength: str
    sign: str
    fitted: str
    support: float | None


@dataclass(frozen=True, slots=True)
class CycleRow:
    """A cycle, its nodes in their order."""

    nodes: tuple[str, ...]
    support: float | None


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of columns."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScaleRow:
    """Shares of parts that were true, at one range of support."""

    support: str
    shares: tuple[str, ...]


def signed(value: float, digits: int) -> str:
    """Return a number with a minus that is as wide as a plus."""
    return f"{value:,.{digits}f}".replace("-", "−")


def column_rows(findings: Findings) -> list[ColumnRow]:
    """Return a row for each column: its kind, what is missing, and the nearest other column."""
    D, obs = findings.distances, findings.observations
    rows = []
    for node, name in enumerate(D.names):
        near = nearest_columns(D, node, 1)
        rows.append(
            ColumnRow(
                xml_text(name),
                "" if obs is None else obs.kinds[node],
                "" if obs is None else f"{obs.missing_share(name):.1%}",
                xml_text(D.names[near[0].node]) if near else "",
                f"{near[0].distance:.3f}" if near else "",
            )
        )
    return rows


def labels_of(findings: Findings, names: Mapping[int, str]) -> tuple[str, ...]:
    """Return what each node is called, hidden ones by the names that were given."""
    return tuple(map(xml_text, node_labels(findings.graph, names)))


def topics(findings: Findings, labels: tuple[str, ...]) -> list[Topic]:
    """Return each hidden node with the columns that are nearest to it along the graph."""
    graph, found = findings.graph, findings.stability
    support = found.hidden.tolist() if isinstance(found, Stability) else [None] * graph.n_hidden
    return [
        Topic(
            labels[node],
            tuple(
                (labels[near.node], f"{near.strength:.2f}")
                for near in nearest_columns(graph, node, MOST_NEAR)
            ),
            int(graph.degrees[node]),
            share,
        )
        for node, share in zip(graph.hidden_nodes, support, strict=True)
    ]


def edge_rows(findings: Findings, labels: tuple[str, ...]) -> list[EdgeRow]:
    """Return a row for each edge, the strongest first."""
    graph, found, model = findings.graph, findings.stability, findings.model
    support = found.edges.tolist() if isinstance(found, Stability) else [None] * graph.n_edges
    fitted = model.edge_strengths.tolist() if isinstance(model, Model) else None
    signs = edge_signs(graph, findings.distances)
    rows = [
        EdgeRow(
            (labels[u], labels[v]),
            f"{length:.3f}",
            f"{math.exp(-length):.3f}",
            "" if signs is None or not signs[k] else ("+" if signs[k] > 0 else "−"),
            "" if fitted is None else signed(fitted[k], 3),
            support[k],
        )
        for k, ((u, v), length) in enumerate(
            zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True)
        )
    ]
    return [rows[k] for k in sorted(range(len(rows)), key=lambda k: (graph.lengths[k], k))]


def cycle_rows(findings: Findings, labels: tuple[str, ...]) -> list[CycleRow]:
    """Return the cycles of a minimum cycle basis, the best supported first."""
    graph, found = findings.graph, findings.stability
    cycles = graph.cycles
    support = found.cycles.tolist() if isinstance(found, Stability) else [None] * len(cycles)
    rows = [
        CycleRow(tuple(labels[node] for node in cycle), share)
        for cycle, share in zip(cycles, support, strict=True)
    ]
    return sorted(rows, key=lambda row: (-(row.support or 0.0), len(row.nodes)))


def group_name(group: int) -> str:
    """Return what a group is called that was found."""
    return f"group {group + 1}"


def group_rows(findings: Findings, labels: tuple[str, ...]) -> list[GroupRow]:
    """Return the groups of columns, the largest first."""
    members: dict[int, list[str]] = {}
    for node, group in enumerate(findings.groups.labels.tolist()):
        members.setdefault(group, []).append(labels[node])
    return [GroupRow(group_name(group), tuple(members[group])) for group in sorted(members)]


def held_out_rows(held: HeldOut) -> list[tuple[str, str, str]]:
    """Return (measure, of the graph, of independent columns) on the rows kept apart."""
    pairs = (held.scores, held.independent)

    def row(name: str, values: Iterable[float]) -> tuple[str, str, str]:
        ours, none = (signed(value, 4) for value in values)
        return name, ours, none

    return [
        row("Log-likelihood of a row (higher is better)",
            (one.log_likelihood / one.n_samples for one in pairs)),
        row("Perplexity (lower is better)", (one.perp_ll for one in pairs)),
        row("Perplexity with the cost of parameters", (one.perp_bic for one in pairs)),
        row("Perplexity of half of each row, given the other half",
            (one.pred_perp_ll for one in pairs)),
    ]  # fmt: skip


def scale_rows() -> list[ScaleRow]:
    """Return what share of the parts was true at which support, where truth was known."""
    steps = scale()
    return [
        ScaleRow(
            f"{step.low:.0%} to {step.high:.0%}",
            tuple(
                "–" if (share := steps[kind][k].share) is None else f"{share:.0%}" for kind in KINDS
            ),
        )
        for k, step in enumerate(steps["hidden"])
    ]


def support_by_kind(findings: Findings) -> list[tuple[str, int, int]]:
    """Return (kind of part, how many there are, how many of them came back)."""
    found = findings.stability
    if isinstance(found, Skipped):
        return []
    graph = found.graph
    parts: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for (u, v), share in zip(graph.edges.tolist(), found.edges.tolist(), strict=True):
        parts[edge_kind(graph, u, v)].append(share)
    parts["hidden"], parts["cycle"] = found.hidden.tolist(), found.cycles.tolist()
    return [
        (KINDS[kind], len(parts[kind]), sum(share >= SURE for share in parts[kind]))
        for kind in KINDS
    ]
