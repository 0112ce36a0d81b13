"""The trace of the learner: steps from which the graph can be rebuilt.

Hidden nodes have *working* numbers, from p on, which are never reused; the last step maps them to
those of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from loopylatent.compute.values import FloatArray
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two working nodes, with its length."""

    u: int
    v: int
    length: float

    def renamed(self, ids: Sequence[int]) -> Edge:
        """Replace positions by working numbers."""
        return Edge(ids[self.u], ids[self.v], self.length)


@dataclass(frozen=True, slots=True)
class Join:
    """Two active nodes joined under a new hidden node."""

    left: int
    right: int
    hidden: int
    left_length: float
    right_length: float
    supported: bool
    """Whether a declared quartet supports the pair (otherwise none separates it)."""
    q: float | None = None
    """In neighbor joining, the smallest Q criterion."""

    @property
    def parent(self) -> int:
        return self.hidden

    @property
    def children(self) -> tuple[int, ...]:
        return (self.left, self.right)

    @property
    def lengths(self) -> tuple[float, ...]:
        return (self.left_length, self.right_length)

    @property
    def is_new(self) -> bool:
        return True

    def renamed(self, ids: Sequence[int]) -> Join:
        left, right, hidden = ids[self.left], ids[self.right], ids[self.hidden]
        return replace(self, left=left, right=right, hidden=hidden)


@dataclass(frozen=True, slots=True)
class Family:
    """Nodes under one parent in relaxed grouping: one of them, or a new hidden node."""

    parent: int
    children: tuple[int, ...]
    lengths: tuple[float, ...]
    """From each child to the parent."""
    is_new: bool
    """Whether the parent is a new hidden node."""
    candidate: int
    """The member with the smallest misfit as parent of the others."""
    misfit: float
    """Its misfit, summed over the others."""
    limit: float
    """With a misfit below this, the candidate is the parent."""
    round: int
    """Of the visit, from 1."""

    def renamed(self, ids: Sequence[int]) -> Family:
        return replace(
            self,
            parent=ids[self.parent],
            children=tuple(ids[child] for child in self.children),
            candidate=ids[self.candidate],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One round of relaxed grouping: active nodes, their spreads, the families."""

    active: tuple[int, ...]
    spreads: FloatArray
    """(a, a) the range of d_ik - d_jk over the witnesses k of each pair."""
    families: tuple[tuple[int, ...], ...]
    silhouette: float | None
    """The best mean silhouette of any split; None with three active nodes or fewer."""
    least: float
    """The silhouette must exceed this; otherwise all nodes are one family."""

    def renamed(self, ids: Sequence[int]) -> Round:
        return replace(
            self,
            active=tuple(ids[node] for node in self.active),
            families=tuple(tuple(ids[node] for node in family) for family in self.families),
        )


@dataclass(frozen=True, slots=True)
class Contraction:
    """An edge shorter than tau was contracted into ``survivor``."""

    removed: int
    survivor: int
    length: float

    def renamed(self, ids: Sequence[int]) -> Contraction:
        return Contraction(ids[self.removed], ids[self.survivor], self.length)


@dataclass(frozen=True, slots=True)
class InitialStep:
    """The initial graph: the union of the local minimum spanning trees."""

    graph: LatentGraph


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VisitStep:
    """One visit: the neighbourhood of ``node`` was replaced by a local latent tree."""

    node: int
    neighbourhood: tuple[int, ...]
    hidden: tuple[bool, ...]
    """Which nodes of the neighbourhood are hidden."""
    distances: FloatArray
    """(k, k) the distances that were used for the neighbourhood."""
    joins: tuple[Join | Family, ...]
    contractions: tuple[Contraction, ...]
    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]
    stuck: bool
    """No pair was left to join; the active nodes were connected by their minimum spanning tree."""
    capped: bool
    """The neighbourhood was so large that only the nearest outsiders were tested."""
    rest: tuple[Edge, ...] = ()
    """Edges between the nodes that were not joined, before contraction."""
    rounds: tuple[Round, ...] = ()
    """The rounds of relaxed grouping."""
    surrogates: tuple[int, ...] = ()
    """In relaxed grouping, the surrogate of each node; ``distances`` are between surrogates."""
    gaps: tuple[float, ...] = ()
    """The distance of each node from its surrogate, subtracted from its edges."""

    def __repr__(self) -> str:
        return (
            f"VisitStep(node={self.node}, {len(self.neighbourhood)} in the neighbourhood, "
            f"{len(self.joins)} joins, {len(self.contractions)} contractions)"
        )

    @property
    def changes_graph(self) -> bool:
        return {(e.u, e.v) for e in self.removed} != {(e.u, e.v) for e in self.added}


@dataclass(frozen=True, slots=True, repr=False)
class CleanUpStep:
    """Hidden nodes of degree below 3 were removed or bridged; the others were renumbered."""

    removed_nodes: tuple[int, ...]
    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]
    hidden_ids: tuple[int, ...]
    """The working number of each hidden node of the finished graph."""
    contractions: tuple[Contraction, ...] = ()

    def __repr__(self) -> str:
        removed, left = len(self.removed_nodes), len(self.hidden_ids)
        return f"CleanUpStep({removed} hidden nodes removed, {left} left)"


Step = InitialStep | VisitStep | CleanUpStep


def replay(steps: Iterable[Step]) -> LatentGraph:
    """Rebuild the graph from the steps alone.

    Parameters
    ----------
    steps : iterable of Step
        From `iter_steps`, or the trace of a result.

    Returns
    -------
    LatentGraph

    Examples
    --------
    >>> edges = (Edge(0, 3, 1.0), Edge(1, 3, 1.0), Edge(2, 3, 1.0))
    >>> path = LatentGraph.build("abc", 0, [(0, 1), (1, 2)], [2.0, 2.0])
    >>> star = CleanUpStep((), (Edge(0, 1, 2.0), Edge(1, 2, 2.0)), edges, hidden_ids=(3,))
    >>> replay([InitialStep(path), star])
    LatentGraph(3 observed, 1 hidden, 3 edges, 0 cycles)
    """
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
        raise DataError("A trace must start with the initial graph.")
    if hidden_ids is None:  # incomplete trace: number the hidden nodes so far
        hidden_ids = tuple(sorted({n for pair in edges for n in pair if n >= len(names)}))
    return renumbered(names, hidden_ids, edges)


def renumbered(
    names: tuple[str, ...], hidden_ids: tuple[int, ...], edges: dict[tuple[int, int], float]
) -> LatentGraph:
    """Build a graph from working numbers; hidden nodes become p, p + 1, ..."""
    p = len(names)
    number = {node: node for node in range(p)}
    number.update({node: p + k for k, node in enumerate(hidden_ids)})
    pairs = [(number[u], number[v]) for u, v in edges]
    return LatentGraph.build(names, len(hidden_ids), pairs, list(edges.values()))
