"""What the learner did, step by step: records from which the graph can be built again.

Hidden nodes carry *working* numbers, from p on, never used again; the last step says their names.
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
        """Return it with positions turned into working numbers."""
        return Edge(ids[self.u], ids[self.v], self.length)


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
    q: float | None = None
    """In neighbor joining, the criterion of the pair: the smallest of all."""

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
    """Nodes that relaxed grouping put under one parent: one of them, or a new hidden node."""

    parent: int
    children: tuple[int, ...]
    lengths: tuple[float, ...]
    """From each child to the parent."""
    is_new: bool
    """Whether the parent is a hidden node that was not there before."""
    candidate: int
    """The member that comes nearest to being the parent of the others."""
    misfit: float
    """By how much it misses, summed over the others."""
    limit: float
    """Below this it is their parent."""
    round: int
    """Of the visit, counted from 1."""

    def renamed(self, ids: Sequence[int]) -> Family:
        return replace(
            self,
            parent=ids[self.parent],
            children=tuple(ids[child] for child in self.children),
            candidate=ids[self.candidate],
        )


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """One round of relaxed grouping: the nodes that were left, their spreads, the families."""

    active: tuple[int, ...]
    spreads: FloatArray
    """(a, a) how far each pair is from differing by a constant."""
    families: tuple[tuple[int, ...], ...]
    silhouette: float | None
    """The best mean silhouette of any split; None where three nodes or fewer were left."""
    least: float
    """What it had to exceed; otherwise all are one family."""

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
    """The union of the local spanning trees: where the learner starts."""

    graph: LatentGraph


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class VisitStep:
    """One visit: the neighbourhood of ``node`` was replaced by a local latent tree."""

    node: int
    neighbourhood: tuple[int, ...]
    hidden: tuple[bool, ...]
    """Which nodes of the neighbourhood are hidden."""
    distances: FloatArray
    """(k, k) the distances between the nodes of the neighbourhood that were used."""
    joins: tuple[Join | Family, ...]
    contractions: tuple[Contraction, ...]
    removed: tuple[Edge, ...]
    added: tuple[Edge, ...]
    stuck: bool
    """No pair could be joined any more; what was left was connected by its spanning tree."""
    capped: bool
    """The neighbourhood was so large that only the nearest outsiders were asked."""
    rest: tuple[Edge, ...] = ()
    """What connected the nodes that no join had taken, before anything was contracted."""
    rounds: tuple[Round, ...] = ()
    """In relaxed grouping, what led to the families."""
    surrogates: tuple[int, ...] = ()
    """In relaxed grouping, the column that stood for each node; ``distances`` are theirs."""
    gaps: tuple[float, ...] = ()
    """How far each node is from that column; its edges lost as much."""

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
    """Hidden nodes of degree below 3 were removed or bridged; the others got their numbers."""

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
    """Return the graph again, built from nothing but the steps.

    Parameters
    ----------
    steps : iterable of Step
        Of `iter_steps`, or the trace of a result.

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
