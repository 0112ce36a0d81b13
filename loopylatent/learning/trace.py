"""The trace of the learner: steps from which the graph can be rebuilt.

Hidden nodes have *working* numbers, from p on, which are never reused; the last step maps them to
those of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, overload

from loopylatent.compute.values import FloatArray, IntArray, frozen_array
from loopylatent.errors import DataError
from loopylatent.graph import LatentGraph
from loopylatent.settings import Method


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge between two working nodes, with its length."""

    u: int
    v: int
    length: float


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


@dataclass(frozen=True, slots=True)
class Contraction:
    """An edge shorter than tau was contracted into ``survivor``."""

    removed: int
    survivor: int
    length: float


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


# The record of the compiled learner --------------------------------------------------------


class Record(Sequence[Step]):
    """The steps of the compiled learner, decoded on demand from its record."""

    def __init__(
        self,
        initial: LatentGraph | None,
        method: Method,
        p: int,
        ints: IntArray,
        floats: FloatArray,
    ) -> None:
        self._content = (initial, method, p, ints, floats)

    @cached_property
    def _steps(self) -> list[Step | tuple[int, int]]:
        """Each step, or where it starts in both arrays."""
        initial, _, _, ints, _ = self._content
        steps: list[Step | tuple[int, int]] = [] if initial is None else [InitialStep(initial)]
        start = (0, 0)
        while start[0] < len(ints):
            steps.append(start)
            n_ints, n_floats = ints[start[0] : start[0] + 2].tolist()
            start = (start[0] + n_ints, start[1] + n_floats)
        return steps

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, slice):
            return tuple(self._step(k) for k in range(len(self))[index])
        return self._step(range(len(self))[index])

    def __iter__(self) -> Iterator[Step]:
        return (self._step(k) for k in range(len(self)))

    def __repr__(self) -> str:
        return f"Record({len(self)} steps)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, self._content

    def _step(self, k: int) -> Step:
        step = self._steps[k]
        if isinstance(step, tuple):
            _, method, p, ints, floats = self._content
            reader, is_visit = _Reader(ints, floats, *step), ints[step[0] + 2] >= 0
            step = _read_visit(reader, method, p) if is_visit else _read_clean_up(reader)
            self._steps[k] = step
        return step


class _Reader:
    """A position in the two arrays of a record."""

    def __init__(self, ints: IntArray, floats: FloatArray, at_int: int, at_float: int) -> None:
        self._ints, self._floats = ints, floats
        self._at_int, self._at_float = at_int, at_float

    def ints(self, n: int) -> list[int]:
        self._at_int += n
        found: list[int] = self._ints[self._at_int - n : self._at_int].tolist()
        return found

    def pairs(self, n: int) -> list[tuple[int, int]]:
        flat = self.ints(2 * n)
        return list(zip(flat[::2], flat[1::2], strict=True))

    def floats(self, n: int) -> list[float]:
        found: list[float] = self.array(n).tolist()
        return found

    def array(self, n: int) -> FloatArray:
        self._at_float += n
        return self._floats[self._at_float - n : self._at_float]

    def edges(self, pairs: list[tuple[int, int]]) -> tuple[Edge, ...]:
        """Edges with the next lengths."""
        lengths = self.floats(len(pairs))
        return tuple(Edge(u, v, d) for (u, v), d in zip(pairs, lengths, strict=True))


def _read_visit(reader: _Reader, method: Method, p: int) -> VisitStep:
    """Decode a visit, in the order of `_record_visit` of the kernel."""
    _, _, node, m, n, n_rest, c, n_removed, n_added, n_notes, n_numbers, stuck, capped, first = (
        reader.ints(14)
    )
    members = tuple(reader.ints(m))
    ends, moves = reader.pairs(n), reader.pairs(c)
    removed, added = reader.pairs(n_removed), reader.pairs(n_added)
    notes = reader.ints(n_notes)
    by_surrogates = method == "relaxed"
    surrogates = tuple(reader.ints(m)) if by_surrogates else ()
    distances = frozen_array(reader.array(m * m).reshape(m, m), float)
    lengths = reader.floats(n)
    ids = (*members, *range(first, first + m))
    contractions = tuple(
        Contraction(ids[goes], ids[stays], at)
        for (goes, stays), at in zip(moves, reader.floats(c), strict=True)
    )
    before, after = reader.edges(removed), reader.edges(added)
    numbers = reader.array(n_numbers)
    gaps = tuple(reader.floats(m)) if by_surrogates else ()
    tree = read_tree(method, ids, ends, lengths, n_rest, notes, numbers)
    hidden = tuple(member >= p for member in members)
    return VisitStep(
        node, members, hidden, distances, tree.joins, contractions, before, after,
        bool(stuck), bool(capped), tree.rest, tree.rounds, surrogates, gaps,
    )  # fmt: skip


def _read_clean_up(reader: _Reader) -> CleanUpStep:
    """Decode the last step, in the order of `_record_clean_up` of the kernel."""
    _, _, _, n_dropped, n_hidden, n_merged, n_removed, n_added = reader.ints(8)
    dropped, hidden = tuple(reader.ints(n_dropped)), tuple(reader.ints(n_hidden))
    merged, removed, added = (reader.pairs(n) for n in (n_merged, n_removed, n_added))
    contractions = tuple(
        Contraction(*ends, at) for ends, at in zip(merged, reader.floats(n_merged), strict=True)
    )
    before, after = reader.edges(removed), reader.edges(added)
    return CleanUpStep(dropped, before, after, hidden, contractions)


class TreeSteps(NamedTuple):
    """How a local tree was built."""

    joins: tuple[Join | Family, ...]
    rest: tuple[Edge, ...]
    rounds: tuple[Round, ...]


def read_tree(
    method: Method, ids: Sequence[int], ends: Sequence[tuple[int, int]], lengths: Sequence[float],
    n_rest: int, notes: Sequence[int], numbers: FloatArray,
) -> TreeSteps:  # fmt: skip
    """Decode a local tree of the kernel; ``ids`` are the numbers of its nodes."""
    n = len(ends) - n_rest
    edges = [Edge(ids[u], ids[v], d) for (u, v), d in zip(ends, lengths, strict=True)]
    if method == "relaxed":
        families, rounds = _read_families(ids, edges[:n], notes, numbers)
        return TreeSteps(families, tuple(edges[n:]), rounds)
    q = numbers.tolist() if method == "nj" else [None] * (n // 2)
    supported = notes if method == "quartet" else [0] * (n // 2)
    joins = tuple(
        Join(left.u, right.u, left.v, left.length, right.length, bool(backed), least)
        for left, right, backed, least in zip(edges[:n:2], edges[1:n:2], supported, q, strict=True)
    )
    return TreeSteps(joins, tuple(edges[n:]), ())


def _read_families(
    ids: Sequence[int], edges: Sequence[Edge], notes: Sequence[int], numbers: FloatArray
) -> tuple[tuple[Family, ...], tuple[Round, ...]]:
    """Decode rounds and families, in the order of `_note_round` of the kernel."""
    families, rounds = [], []
    at = edge = number = 0
    while at < len(notes):
        a, f = notes[at : at + 2]
        active = tuple(ids[k] for k in notes[at + 2 : at + 2 + a])
        at += 2 + a
        sizes, members = notes[at : at + f], [ids[k] for k in notes[at + f : at + f + a]]
        at += f + a
        silhouette, least = numbers[number : number + 2].tolist()
        spreads = frozen_array(numbers[number + 2 : number + 2 + a * a].reshape(a, a), float)
        number += 2 + a * a
        starts = accumulate(sizes, initial=0)
        named = tuple(tuple(members[i:j]) for i, j in pairwise(starts))
        rounds.append(Round(active, spreads, named, silhouette if a > 3 else None, least))
        for size in sizes:
            if size == 1:
                continue
            n, is_new, candidate = notes[at : at + 3]
            misfit, limit = numbers[number : number + 2].tolist()
            own = edges[edge : edge + n]
            children, lengths = tuple(e.u for e in own), tuple(e.length for e in own)
            about = (bool(is_new), ids[candidate], misfit, limit, len(rounds))
            families.append(Family(own[0].v, children, lengths, *about))
            at, edge, number = at + 3, edge + n, number + 2
    return tuple(families), tuple(rounds)
