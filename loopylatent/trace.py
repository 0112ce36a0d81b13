"""What the learner did, step by step: records from which the graph can be built again.

While the learner runs, hidden nodes carry *working* numbers, counted up from p as they are
created and never used again. The last step says which of them survive and what they are called
in the finished graph.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two working nodes, with its length."""

    u: int
    v: int
    length: float


@dataclass(frozen=True, slots=True)
class Join:
    """Two active nodes became siblings under a new hidden node."""

    left: int
    right: int
    hidden: int
    left_length: float
    right_length: float
    supported: bool
    """Whether a declared quartet speaks for the pair (else: none speaks against it)."""


@dataclass(frozen=True, slots=True)
class Contraction:
    """An edge shorter than tau was contracted into ``survivor``."""

    removed: int
    survivor: int
    length: float


@dataclass(frozen=True, slots=True)
class InitialStep:
    """The union of the local spanning trees: where the learner starts."""

    graph: LatentGraph


@dataclass(frozen=True, slots=True, eq=False)
class VisitStep:
    """One visit: the neighbourhood of ``node`` was replaced by a local latent tree."""

    node: int
    neighbourhood: tuple[int, ...]
    hidden: tuple[bool, ...]
    """Which nodes of the neighbourhood are hidden."""
    distances: FloatArray
    """(k, k) the distances between the nodes of the neighbourhood that were used."""
    joins: tuple[Join, ...]
    contractions: tuple[Contraction, ...]
    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]
    stuck: bool
    """No pair could be joined any more; what was left was connected by its spanning tree."""
    capped: bool
    """The neighbourhood was so large that only the nearest outsiders were asked."""
    rest: tuple[Edge, ...] = ()
    """What connected the nodes that no join had taken, before anything was contracted."""

    @property
    def changes_graph(self) -> bool:
        return {(e.u, e.v) for e in self.removed} != {(e.u, e.v) for e in self.added}


@dataclass(frozen=True, slots=True)
class CleanUpStep:
    """Hidden nodes of degree below 3 were removed or bridged; the others got their numbers."""

    removed_nodes: tuple[int, ...]
    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]
    hidden_ids: tuple[int, ...]
    """The working number of each hidden node of the finished graph."""


Step = InitialStep | VisitStep | CleanUpStep


def replay(steps: Iterable[Step]) -> LatentGraph:
    """Build the graph again from nothing but the steps."""
    names: tuple[str, ...] | None = None
    edges: dict[tuple[int, int], float] = {}
    hidden_ids: tuple[int, ...] | None = None
    for step in steps:
        if isinstance(step, InitialStep):
            names = step.graph.names
            pairs = step.graph.edges.tolist()
            edges = {
                (u, v): d for (u, v), d in zip(pairs, step.graph.lengths.tolist(), strict=True)
            }
            continue
        for edge in step.removed:
            del edges[edge.u, edge.v]
        for edge in step.added:
            edges[edge.u, edge.v] = edge.length
        if isinstance(step, CleanUpStep):
            hidden_ids = step.hidden_ids
    if names is None:
        raise DataError("a trace starts with the initial graph; this one does not.")
    if hidden_ids is None:  # stopped half-way: number the hidden nodes met so far
        hidden_ids = tuple(sorted({n for pair in edges for n in pair if n >= len(names)}))
    return renumbered(names, hidden_ids, edges)


def renumbered(
    names: tuple[str, ...], hidden_ids: tuple[int, ...], edges: dict[tuple[int, int], float]
) -> LatentGraph:
    """Turn working numbers into a graph whose hidden nodes are p, p + 1, ..."""
    p = len(names)
    number = {node: node for node in range(p)}
    number.update({node: p + k for k, node in enumerate(hidden_ids)})
    pairs = [(number[u], number[v]) for u, v in edges]
    return LatentGraph.build(names, len(hidden_ids), pairs, list(edges.values()))
