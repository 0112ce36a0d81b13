"""Support as a table, and what it meant on graphs whose truth is known.

The scale was measured by ``python -m benchmarks.stability``, which writes support_scale.json and
the tables of docs/guide/stability.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

import pandas as pd

from loopylatent.analysis.stability.runs import Stability
from loopylatent.graph import LatentGraph
from loopylatent.tables.spreadsheet import name_to_csv

Kind = Literal["columns", "column-hidden", "inner", "hidden", "cycle"]
"""What can have support: three kinds of edge, hidden nodes, cycles."""

KINDS: Mapping[Kind, str] = {
    "columns": "edge between two columns",
    "column-hidden": "edge between a column and a hidden node",
    "inner": "edge between two hidden nodes",
    "hidden": "hidden node",
    "cycle": "cycle",
}
LOCAL = "edge of the local trees"
_MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True)
class Step:
    """Parts whose support lay between two numbers, and how many of them were true."""

    low: float
    high: float
    n_parts: int
    n_true: int

    @property
    def share(self) -> float | None:
        """Share that was true; None where there were no such parts."""
        return self.n_true / self.n_parts if self.n_parts else None


def edge_kind(graph: LatentGraph, u: int, v: int) -> Kind:
    """Say which kind of edge joins two nodes."""
    n_hidden = (u >= graph.n_observed) + (v >= graph.n_observed)
    kinds: tuple[Kind, ...] = ("columns", "column-hidden", "inner")
    return kinds[n_hidden]


@cache
def scale() -> Mapping[Kind, tuple[Step, ...]]:
    """Return, for each kind of part, what share was true at which support."""
    text = (files("loopylatent.analysis.stability") / "support_scale.json").read_text(
        encoding="utf-8"
    )
    read = json.loads(text)
    return {kind: tuple(Step(*step) for step in read[kind]) for kind in KINDS}


def scale_frame() -> pd.DataFrame:
    """Return the scale as a table of percentages: a column for each range of support."""
    ranges = [f"{step.low:g} to {step.high:g}" for step in scale()["hidden"]]
    rows = [
        [KINDS[kind], *(None if one.share is None else 100 * one.share for one in steps)]
        for kind, steps in scale().items()
    ]
    return pd.DataFrame(rows, columns=["of those with support", *ranges])


def support_frame(found: Stability, labels: Sequence[str] | None = None) -> pd.DataFrame:
    """Return a row for every part of the graph: what it is, its ends or columns, its support."""
    graph, start = found.graph, found.initial_graph
    names = graph.labels if labels is None else tuple(labels)
    rows: list[tuple[str, str, str, float]] = [
        (KINDS["hidden"], names[node], _listed(names, graph.neighbours(node)), support)
        for node, support in zip(graph.hidden_nodes, found.hidden.tolist(), strict=True)
    ]
    rows += [
        (KINDS["cycle"], _listed(names, cycle), "", support)
        for cycle, support in zip(graph.cycles, found.cycles.tolist(), strict=True)
    ]
    rows += [
        (KINDS[edge_kind(graph, u, v)], names[u], names[v], support)
        for (u, v), support in zip(graph.edges.tolist(), found.edges.tolist(), strict=True)
    ]
    rows += [
        (LOCAL, names[u], names[v], support)
        for (u, v), support in zip(start.edges.tolist(), found.initial_edges.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["part", "one end", "other end", "support"])


def support_json(found: Stability) -> str:
    """Return everything about the support as JSON: the whole, each part, the failed runs."""
    graph, start = found.graph, found.initial_graph
    labels = graph.labels

    def edges(of: LatentGraph, support: Sequence[float]) -> list[dict[str, object]]:
        return [
            {"ends": [labels[u], labels[v]], "support": share}
            for (u, v), share in zip(of.edges.tolist(), support, strict=True)
        ]

    whole = {
        "scheme": found.scheme,
        "runs": {"asked": found.n_asked, "used": found.n_used, "failed": found.n_failed},
        "reasons": found.reasons,
        "instability": found.instability,
        "edges": edges(graph, found.edges.tolist()),
        "hidden_nodes": [
            {
                "node": labels[node],
                "next_to": [labels[near] for near in graph.neighbours(node)],
                "support": share,
            }
            for node, share in zip(graph.hidden_nodes, found.hidden.tolist(), strict=True)
        ],
        "cycles": [
            {"nodes": [labels[node] for node in cycle], "support": share}
            for cycle, share in zip(graph.cycles, found.cycles.tolist(), strict=True)
        ],
        "local_trees": edges(start, found.initial_edges.tolist()),
    }
    return json.dumps(whole, indent=1, allow_nan=False) + "\n"


def support_csv(found: Stability) -> str:
    """Return `support_frame` as CSV that a spreadsheet cannot take for formulas."""
    frame = support_frame(found)
    for column in ("one end", "other end"):
        frame[column] = [name_to_csv(text) for text in frame[column]]
    return frame.to_csv(index=False)


def _listed(names: Sequence[str], nodes: Sequence[int]) -> str:
    shown = ", ".join(names[node] for node in nodes[:_MOST_COLUMNS])
    more = len(nodes) - _MOST_COLUMNS
    return f"{shown} and {more} more" if more > 0 else shown
