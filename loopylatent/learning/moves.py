"""Small changes of a graph for the search by likelihood: each takes a graph and returns another.

After each change hidden nodes of degree 0 and 1 are removed and those of degree 2 are bridged.
Hidden nodes keep their ids from one graph to the next, so that a move can be tried again later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np

from loopylatent.compute.values import FloatArray
from loopylatent.graph import LatentGraph

Edge = tuple[int, int]
Kind = Literal[
    "add", "drop", "slide", "swap", "graft", "contract", "pair", "split", "star", "triangle"
]
SHORTEST, LONGEST = 0.02, 4.0
NEW_EDGE = 2.5
"""The length of an added edge: almost independent ends."""
TO_COLUMN, TO_HIDDEN = 0.3, 0.15
"""The length of the edge from a new hidden node to the node that it was split from."""
STAR_EDGE = 0.2
LEAST_REST = 0.1
"""Left of an edge that a new hidden node shortens, at least."""
ADD_STEPS = 3
"""Pairs up to this many edges apart can be joined in any case."""
ENUMERATED_DEGREE = 9
"""All ways to split the neighbours of a node are ranked up to this degree."""
LARGEST_DEGREE = 40
SPLITS_PER_NODE = 4


def edge_of(u: int, v: int) -> Edge:
    """Return the two ends, smaller first."""
    return (u, v) if u < v else (v, u)


@dataclass(frozen=True, eq=False)
class SearchGraph:
    """A graph whose hidden nodes keep their ids; all of them have at least three neighbours."""

    n_observed: int
    lengths: dict[Edge, float]
    """Never changed after the graph was made."""
    next_id: int
    """Of the next new hidden node; larger than all ids given out before."""

    @classmethod
    def of(cls, graph: LatentGraph) -> SearchGraph:
        """Return a graph without hidden nodes of degree 2 and less."""
        pairs = zip(graph.edges.tolist(), graph.lengths.tolist(), strict=True)
        draft = _Draft(cls(graph.n_observed, {}, graph.n_nodes))
        for (u, v), length in pairs:
            draft.link(u, v, length)
        return draft.tidied()

    @cached_property
    def neighbours(self) -> dict[int, tuple[int, ...]]:
        """Of every node, ascending."""
        found: dict[int, list[int]] = {v: [] for v in range(self.n_observed)}
        for u, v in self.lengths:
            found.setdefault(u, []).append(v)
            found.setdefault(v, []).append(u)
        return {v: tuple(sorted(found[v])) for v in sorted(found)}

    @cached_property
    def edges(self) -> frozenset[Edge]:
        return frozenset(self.lengths)

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The id of each node of ``graph``: columns first, then hidden nodes, ascending."""
        return tuple(self.neighbours)

    @property
    def n_hidden(self) -> int:
        return len(self.ids) - self.n_observed

    def is_hidden(self, node: int) -> bool:
        return node >= self.n_observed

    def has(self, u: int, v: int) -> bool:
        return edge_of(u, v) in self.lengths

    def length(self, u: int, v: int) -> float:
        return self.lengths[edge_of(u, v)]

    def graph(self, names: Sequence[str]) -> LatentGraph:
        """Return the graph with its hidden nodes numbered without gaps."""
        place = {v: k for k, v in enumerate(self.ids)}
        edges = [(place[u], place[v]) for u, v in self.lengths]
        return LatentGraph.build(names, self.n_hidden, edges, list(self.lengths.values()))

    def with_lengths(self, lengths: dict[Edge, float]) -> SearchGraph:
        return replace(self, lengths=lengths)

    def near(self, node: int, most: int) -> dict[int, int]:
        """Return the nodes at most so many edges away, with that number."""
        steps = {node: 0}
        queue = deque([node])
        while queue:
            here = queue.popleft()
            if steps[here] == most:
                continue
            for other in self.neighbours[here]:
                if other not in steps:
                    steps[other] = steps[here] + 1
                    queue.append(other)
        return steps


class _Draft:
    """A graph that is being changed."""

    def __init__(self, graph: SearchGraph) -> None:
        self._graph = graph
        self._lengths = dict(graph.lengths)
        self._next_id = graph.next_id
        self._around = {v: set(around) for v, around in graph.neighbours.items()}

    def link(self, u: int, v: int, length: float) -> None:
        """Add an edge; of parallel edges the shorter stays."""
        if u == v:
            return
        edge, kept = edge_of(u, v), min(max(length, SHORTEST), LONGEST)
        self._lengths[edge] = min(kept, self._lengths.get(edge, kept))
        self._around.setdefault(u, set()).add(v)
        self._around.setdefault(v, set()).add(u)

    def unlink(self, u: int, v: int) -> float:
        self._around[u].discard(v)
        self._around[v].discard(u)
        return self._lengths.pop(edge_of(u, v))

    def new_hidden(self) -> int:
        self._next_id += 1
        self._around[self._next_id - 1] = set()
        return self._next_id - 1

    def insert(self, node: int, taken: Sequence[int], own: float, less: float) -> None:
        """Put a new hidden node between a node and some of its neighbours."""
        lengths = [self.unlink(node, other) for other in taken]
        hidden = self.new_hidden()
        for other, length in zip(taken, lengths, strict=True):
            self.link(hidden, other, max(length - less, LEAST_REST) if less else length)
        self.link(hidden, node, own)

    def tidied(self) -> SearchGraph:
        """Remove hidden nodes of degree 0 and 1, bridge those of degree 2."""
        waiting = sorted((v for v in self._around if self._graph.is_hidden(v)), reverse=True)
        while waiting:
            node = waiting.pop()
            ends = sorted(self._around.get(node, ()))
            if node not in self._around or len(ends) > 2:
                continue
            lengths = [self.unlink(node, end) for end in ends]
            if len(ends) == 2:
                self.link(ends[0], ends[1], sum(lengths))
            del self._around[node]
            waiting += sorted((end for end in ends if self._graph.is_hidden(end)), reverse=True)
        ordered = {edge: self._lengths[edge] for edge in sorted(self._lengths)}
        return SearchGraph(self._graph.n_observed, ordered, self._next_id)


# The moves: each returns None where it does not apply ---------------------------------------


def drop(graph: SearchGraph, u: int, v: int) -> SearchGraph | None:
    """Remove an edge."""
    if not graph.has(u, v):
        return None
    draft = _Draft(graph)
    draft.unlink(u, v)
    return draft.tidied()


def add(graph: SearchGraph, u: int, v: int) -> SearchGraph | None:
    """Add an edge."""
    if u == v or graph.has(u, v):
        return None
    draft = _Draft(graph)
    draft.link(u, v, NEW_EDGE)
    return draft.tidied()


def slide(graph: SearchGraph, u: int, x: int, y: int) -> SearchGraph | None:
    """Replace the edge u - x by u - y."""
    if u == y or not graph.has(u, x) or graph.has(u, y):
        return None
    draft = _Draft(graph)
    draft.link(u, y, draft.unlink(u, x))
    return draft.tidied()


def swap(graph: SearchGraph, x: int, y: int, c: int, d: int) -> SearchGraph | None:
    """Exchange c, a neighbour of x, with d, a neighbour of y, across the edge x - y."""
    joined = graph.has(x, y) and graph.has(x, c) and graph.has(y, d)
    if not joined or c in (d, y) or d == x or graph.has(y, c) or graph.has(x, d):
        return None
    draft = _Draft(graph)
    first, second = draft.unlink(x, c), draft.unlink(y, d)
    draft.link(y, c, first)
    draft.link(x, d, second)
    return draft.tidied()


def graft(graph: SearchGraph, u: int, x: int, y: int, z: int) -> SearchGraph | None:
    """Move the end x of the edge u - x to the middle of the edge y - z."""
    if not graph.has(u, x) or not graph.has(y, z) or u in (y, z):
        return None
    draft = _Draft(graph)
    length, between = draft.unlink(u, x), draft.unlink(y, z)
    hidden = draft.new_hidden()
    for end in (y, z):
        draft.link(hidden, end, between / 2)
    draft.link(hidden, u, length)
    return draft.tidied()


def contract(graph: SearchGraph, x: int, y: int) -> SearchGraph | None:
    """Merge the hidden node y into its neighbour x."""
    if not graph.has(x, y) or not graph.is_hidden(y):
        return None
    draft = _Draft(graph)
    between = draft.unlink(x, y)
    for other in graph.neighbours[y]:
        if other != x:
            draft.link(x, other, draft.unlink(y, other) + between / 2)
    return draft.tidied()


def pair(graph: SearchGraph, v: int, x: int, y: int) -> SearchGraph | None:
    """Put a new hidden node between v and two of its neighbours."""
    return split(graph, v, x, y)


def split(graph: SearchGraph, v: int, *taken: int) -> SearchGraph | None:
    """Put a new hidden node between v and some of its neighbours."""
    if v not in graph.neighbours or not all(graph.has(v, other) for other in taken):
        return None
    draft = _Draft(graph)
    if graph.is_hidden(v):
        draft.insert(v, taken, TO_HIDDEN, 0.0)
    else:
        draft.insert(v, taken, TO_COLUMN, TO_COLUMN)
    return draft.tidied()


def star(graph: SearchGraph, v: int) -> SearchGraph | None:
    """Let a new hidden node take the place of a column among all its neighbours."""
    around = graph.neighbours.get(v, ())
    if graph.is_hidden(v) or len(around) < 3:
        return None
    draft = _Draft(graph)
    draft.insert(v, around, STAR_EDGE, STAR_EDGE)
    return draft.tidied()


def triangle(graph: SearchGraph, x: int, y: int, z: int) -> SearchGraph | None:
    """Replace the edges of a triangle by a new hidden node that is joined to its corners."""
    sides = ((x, y), (x, z), (y, z))
    if not all(graph.has(*side) for side in sides):
        return None
    draft = _Draft(graph)
    length = max(sum(draft.unlink(*side) for side in sides) / 6, LEAST_REST)
    hidden = draft.new_hidden()
    for corner in (x, y, z):
        draft.link(hidden, corner, length)
    return draft.tidied()


CHANGES: dict[Kind, Callable[..., SearchGraph | None]] = {
    "add": add, "drop": drop, "slide": slide, "swap": swap, "graft": graft, "contract": contract,
    "pair": pair, "split": split, "star": star, "triangle": triangle,
}  # fmt: skip
WORDS: dict[Kind, str] = {
    "add": "added the edge {} – {}",
    "drop": "removed the edge {} – {}",
    "slide": "moved {} from {} to {}",
    "swap": "exchanged {2} at {0} with {3} at {1}",
    "graft": "moved {} from {} to the edge {} – {}",
    "contract": "merged {1} into {0}",
    "pair": "put a new hidden node between {} and {}, {}",
    "star": "put a new hidden node in the place of {}",
    "triangle": "replaced the triangle {}, {}, {} by a hidden node",
}


@dataclass(frozen=True, slots=True, order=True)
class Move:
    """A change of a graph by its kind and the ids of the nodes concerned."""

    kind: Kind
    nodes: tuple[int, ...]

    def __call__(self, graph: SearchGraph) -> SearchGraph | None:
        """Return the changed graph; None where the move does not apply or changes nothing."""
        if not all(node in graph.neighbours for node in self.nodes):
            return None
        changed = CHANGES[self.kind](graph, *self.nodes)
        return None if changed is None or changed.edges == graph.edges else changed

    @property
    def created(self) -> tuple[Edge, ...]:
        """The pairs of nodes that the move brings together; empty where it only takes apart."""
        nodes = self.nodes
        if self.kind in ("add", "slide"):
            return ((nodes[0], nodes[-1]),)
        if self.kind == "swap":
            return ((nodes[1], nodes[2]), (nodes[0], nodes[3]))
        if self.kind == "graft":
            return ((nodes[0], nodes[2]), (nodes[0], nodes[3]))
        return ((nodes[1], nodes[2]),) if self.kind == "pair" else ()

    def words(self, label: Callable[[int], str]) -> str:
        """Say the move in words."""
        names = [label(node) for node in self.nodes]
        if self.kind == "split":
            return f"split {names[0]}: a new hidden node takes {', '.join(names[1:])}"
        return WORDS[self.kind].format(*names)


@dataclass(frozen=True, slots=True)
class Batch:
    """Several edges that are added or removed together."""

    kind: Literal["add", "drop"]
    edges: tuple[Edge, ...]

    def __call__(self, graph: SearchGraph) -> SearchGraph:
        """Return the changed graph; edges that the clean-up has removed before are passed over."""
        changed = graph
        for edge in self.edges:
            changed = Move(self.kind, edge)(changed) or changed
        return changed

    def words(self, label: Callable[[int], str]) -> str:
        """Say the change in words."""
        pairs = ", ".join(f"{label(u)} – {label(v)}" for u, v in self.edges)
        verb = "added" if self.kind == "add" else "removed"
        return f"{verb} the edge{'s' * (len(self.edges) > 1)} {pairs}"


@dataclass(frozen=True, slots=True)
class Detour:
    """A move that loses, and one after it that makes up for more than the loss."""

    first: Move
    second: Move

    @property
    def kind(self) -> Kind:
        return self.second.kind

    def __call__(self, graph: SearchGraph) -> SearchGraph | None:
        """Return the graph after both moves; None where one of them does not apply."""
        between = self.first(graph)
        return None if between is None else self.second(between)

    def words(self, label: Callable[[int], str]) -> str:
        """Say both moves in words."""
        return f"{self.first.words(label)}, then {self.second.words(label)}"


def moves_of(graph: SearchGraph) -> list[Move]:
    """Return all moves on a graph but splits, in a fixed order, each once."""
    found = [Move("drop", edge) for edge in graph.lengths]
    for edge in graph.lengths:
        found += _moves_of_edge(graph, *edge)
    for node in graph.neighbours:
        found += _moves_of_node(graph, node)
    return list(dict.fromkeys(found))


def _moves_of_edge(graph: SearchGraph, u: int, v: int) -> Iterator[Move]:
    if graph.is_hidden(v):
        yield Move("contract", (u, v))
    for x, y in ((u, v), (v, u)):
        for z in graph.neighbours[x]:
            if z != y and not graph.has(y, z):
                yield Move("slide", (y, x, z))
        yield from _grafts(graph, y, x)
    if graph.is_hidden(u) and graph.is_hidden(v):
        for c in graph.neighbours[u]:
            for d in graph.neighbours[v]:
                if c != v and d != u:
                    yield Move("swap", (u, v, c, d))


def _grafts(graph: SearchGraph, u: int, x: int) -> Iterator[Move]:
    """Yield the moves of the end x of an edge onto the edges of x and of its neighbours."""
    near = {x, *graph.neighbours[x]} - {u}
    vanishes = graph.is_hidden(x) and len(graph.neighbours[x]) <= 3
    for y in sorted(near):
        for z in graph.neighbours[y]:
            if z == u or (vanishes and x in (y, z)) or (z in near and z < y):
                continue
            yield Move("graft", (u, x, y, z))


def _moves_of_node(graph: SearchGraph, node: int) -> Iterator[Move]:
    around = graph.neighbours[node]
    hidden = graph.is_hidden(node)
    for x, y in combinations(around, 2):
        if len(around) >= (4 if hidden else 2):
            yield Move("pair", (node, x, y))
        if node < x and graph.has(x, y):
            yield Move("triangle", (node, x, y))
    if not hidden and len(around) >= 3:
        yield Move("star", (node,))
    for other, steps in sorted(graph.near(node, ADD_STEPS).items()):
        if other > node and steps >= 2:
            yield Move("add", (node, other))


def splits_of(graph: SearchGraph, attraction: FloatArray) -> list[Move]:
    """Return the best ways to split each node.

    ``attraction`` is, for the nodes in the order of ``ids``, how much more dependent two nodes are
    in the rows than in the model, in standard deviations. Neighbours that attract each other belong
    on the same side.
    """
    place = {v: k for k, v in enumerate(graph.ids)}
    found = []
    for node, around in graph.neighbours.items():
        least = 4 if graph.is_hidden(node) else 3
        if least <= len(around) <= LARGEST_DEGREE:
            here = [place[other] for other in around]
            ties = attraction[np.ix_(here, here)].copy()
            np.fill_diagonal(ties, 0.0)
            sides = _best_sides(ties, graph.is_hidden(node))
            found += [Move("split", (node, *(around[k] for k in side))) for side in sides]
    return found


def _best_sides(ties: FloatArray, two_sided: bool) -> list[tuple[int, ...]]:
    """Return the subsets with the largest ties within against across; larger than 0."""
    degree = len(ties)
    sides = _all_sides(degree, two_sided) if degree <= ENUMERATED_DEGREE else _cut_sides(ties)
    inside = np.zeros((len(sides), degree))
    for row, side in zip(inside, sides, strict=True):
        row[list(side)] = 1.0
    outside = 1.0 - inside
    within = ((inside @ ties) * inside).sum(axis=1) / 2
    across = ((inside @ ties) * outside).sum(axis=1)
    rest = ((outside @ ties) * outside).sum(axis=1) / 2 if two_sided else 0.0
    values = (within + rest - across).round(9)
    best = sorted(range(len(sides)), key=lambda k: (-values[k], sides[k]))[:SPLITS_PER_NODE]
    return [sides[k] for k in best if values[k] > 0]


def _all_sides(degree: int, two_sided: bool) -> list[tuple[int, ...]]:
    """Return all subsets of at least two; of two that split the same, one."""
    most = degree - 2 if two_sided else degree - 1
    found = [side for size in range(2, most + 1) for side in combinations(range(degree), size)]
    return [side for side in found if 0 in side] if two_sided else found


def _cut_sides(ties: FloatArray) -> list[tuple[int, ...]]:
    """Return the subsets at either end of the two leading eigenvectors."""
    degree = len(ties)
    vectors = np.linalg.eigh(ties)[1]
    found = set()
    for which in (-1, -2):
        order = np.argsort(vectors[:, which].round(9), kind="stable").tolist()
        for size in range(2, degree - 1):
            found |= {tuple(sorted(order[:size])), tuple(sorted(order[-size:]))}
    return sorted(found)
