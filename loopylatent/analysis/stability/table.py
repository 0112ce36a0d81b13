"""Support as a table, and what it meant on graphs whose truth is known.

The scale was measured by ``python -m benchmarks.stability``, which writes support_scale.json and
the tables of docs/guide/stability.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import numpy as np
import pandas as pd

from loopylatent.analysis.stability.runs import Stability
from loopylatent.compute.arrays import FloatArray
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
    place = files("loopylatent.analysis.stability") / "support_scale.json"
    read = json.loads(place.read_text(encoding="utf-8"))
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
    hidden = graph.hidden_nodes
    parts = [(KINDS["hidden"], names[h], _listed(names, graph.neighbours(h))) for h in hidden]
    parts += [(KINDS["cycle"], _listed(names, cycle), "") for cycle in graph.cycles]
    parts += [(KINDS[edge_kind(graph, u, v)], names[u], names[v]) for u, v in graph.edges.tolist()]
    parts += [(LOCAL, names[u], names[v]) for u, v in start.edges.tolist()]
    frame = pd.DataFrame(parts, columns=["part", "one end", "other end"])
    found_in = (found.hidden, found.cycles, found.edges, found.initial_edges)
    return frame.assign(support=np.concatenate(found_in))


def support_json(found: Stability) -> str:
    """Return everything about the support as JSON: the whole, each part, the failed runs."""
    graph, start = found.graph, found.initial_graph
    labels = graph.labels

    def parts(name: str, ends: Iterable[Sequence[int]], support: FloatArray) -> list[Any]:
        rows = zip(ends, support.tolist(), strict=True)
        return [{name: [labels[end] for end in one], "support": share} for one, share in rows]

    hidden = parts("next_to", map(graph.neighbours, graph.hidden_nodes), found.hidden)
    names = labels[graph.n_observed :]
    whole = {
        "scheme": found.scheme,
        "runs": {"asked": found.n_asked, "used": found.n_used, "failed": found.n_failed},
        "reasons": found.reasons,
        "instability": found.instability,
        "edges": parts("ends", graph.edges.tolist(), found.edges),
        "hidden_nodes": [{"node": n} | one for n, one in zip(names, hidden, strict=True)],
        "cycles": parts("nodes", graph.cycles, found.cycles),
        "local_trees": parts("ends", start.edges.tolist(), found.initial_edges),
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
