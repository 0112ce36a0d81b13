"""Input of the steps of a lesson: trace, balls and local MSTs, visits, quartets.

Trees and verdicts are computed by the learner's own kernels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from loopylatent.analysis.structure_error import StructureError, structure_error
from loopylatent.compute._kernels.graphs import spanning_tree
from loopylatent.compute._kernels.grouping import MARGIN, declares, list_quartets
from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.distances.matrix import DistanceMatrix
from loopylatent.figures.layout import shown_label
from loopylatent.learning.grouping import VERDICTS, Criterion, Verdict, criterion, finite_parts
from loopylatent.learning.learner import LearnResult
from loopylatent.learning.refinement import Refinement
from loopylatent.learning.trace import CleanUpStep, Family, Round, Step, VisitStep
from loopylatent.lesson import cast as casts
from loopylatent.lesson.cast import Caption, Cast, EdgeKey, Name, Replays
from loopylatent.settings import Thresholds
from loopylatent.tables.observations import Observations

LONGEST_NAME = 40
MAX_NAMED_BALLS = 6


@dataclass(frozen=True, eq=False)
class Material:
    """A learned result with its trace, its data and, if known, the true graph."""

    result: LearnResult
    D: DistanceMatrix
    obs: Observations | None
    cast: Cast
    refinement: Refinement | None = None
    """Of the learned graph; None until it is computed."""

    @property
    def thresholds(self) -> Thresholds:
        return self.result.settings.thresholds

    @cached_property
    def trace(self) -> Sequence[Step]:
        return casts.checked_trace(self.result)

    @cached_property
    def replays(self) -> Replays:
        return Replays(self.trace, self.cast)

    @cached_property
    def balls(self) -> Balls:
        return Balls(self.D, self.thresholds.r)

    @cached_property
    def initial(self) -> dict[EdgeKey, float]:
        """Edges of the initial graph."""
        return self.replays.after(0)

    @cached_property
    def learned(self) -> dict[EdgeKey, float]:
        """Edges of the learned graph."""
        return self.replays.after(len(self.trace) - 1)

    @cached_property
    def structure_error(self) -> StructureError | None:
        if self.cast.truth is None:
            return None
        return structure_error(self.result.graph, self.cast.truth)

    @cached_property
    def refined_error(self) -> StructureError | None:
        """The structure error of the refined graph."""
        if self.cast.truth is None or self.refinement is None:
            return None
        return structure_error(self.refinement.graph, self.cast.truth)

    def refined(self, step: int) -> dict[EdgeKey, float]:
        """Return the edges after some moves of the refinement."""
        assert self.refinement is not None
        found, number = self.refinement.steps[step], self.cast.refined_number
        node = [number[one] for one in (*self.columns, *found.hidden_ids)]
        pairs = ((node[u], node[v]) for u, v in found.graph.edges.tolist())
        keys = ((min(pair), max(pair)) for pair in pairs)
        return dict(zip(keys, found.graph.lengths.tolist(), strict=True))

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(self.cast.n_observed))

    def visit(self, step: int) -> VisitStep:
        found = self.trace[step]
        assert isinstance(found, VisitStep)
        return found

    def name(self, node: int) -> Name:
        """Return the name of a node, shortened for a sentence."""
        return Name(shown_label(self.cast.labels[node], LONGEST_NAME))

    @cached_property
    def ball_notes(self) -> dict[EdgeKey, str]:
        """For each edge of the initial graph, the balls whose local MST contains it."""
        notes = {}
        for edge in self.initial:
            balls = self.balls.owners(edge)
            named = ", ".join(self.name(v).text for v in balls[:MAX_NAMED_BALLS])
            n_more = len(balls) - MAX_NAMED_BALLS
            more = f" and {n_more} more" if n_more > 0 else ""
            word = "local MST" if len(balls) == 1 else f"{len(balls)} local MSTs"
            notes[edge] = f"in the {word} of {named}{more}"
        return notes

    def names(self, nodes: tuple[int, ...] | list[int]) -> tuple[Name, ...]:
        return tuple(self.name(node) for node in nodes)

    def shown(self, edges: dict[EdgeKey, float]) -> tuple[int, ...]:
        """Return all columns and the hidden nodes that have an edge."""
        hidden = {node for edge in edges for node in edge if self.cast.is_hidden(node)}
        return (*self.columns, *sorted(hidden))


class Balls:
    """The balls of all columns at one radius."""

    def __init__(self, D: DistanceMatrix, r: float) -> None:
        self.D = D
        self.r = r
        self._trees: dict[bytes, tuple[EdgeKey, ...]] = {}

    def members(self, v: int) -> IntArray:
        """Return the columns of the ball of ``v``, ascending."""
        return np.flatnonzero(self.D.values[v] <= self.r)

    def tree(self, v: int) -> tuple[EdgeKey, ...]:
        """Return the edges of the local MST of ``v``, sorted; equal balls share one tree."""
        ball = self.members(v)
        key = ball.tobytes()
        if key not in self._trees:
            parent = spanning_tree(self.D.values, ball)
            child = np.flatnonzero(parent >= 0)
            ends = np.sort(np.column_stack([ball[child], ball[parent[child]]]), axis=1)
            self._trees[key] = tuple(sorted((u, w) for u, w in ends.tolist()))
        return self._trees[key]

    @cached_property
    def _owners(self) -> dict[EdgeKey, tuple[int, ...]]:
        found: dict[EdgeKey, list[int]] = {}
        for v in range(self.D.n_columns):
            for edge in self.tree(v):
                found.setdefault(edge, []).append(v)
        return {edge: tuple(balls) for edge, balls in sorted(found.items())}

    def owners(self, edge: EdgeKey) -> tuple[int, ...]:
        """Return the columns whose local MST contains an edge, ascending."""
        return self._owners.get(edge, ())

    def union(self, upto: int) -> dict[EdgeKey, float]:
        """Return the edges of the local MSTs of columns 0 to ``upto``, with their lengths."""
        return {
            edge: float(self.D.values[edge])
            for edge, balls in self._owners.items()
            if balls[0] <= upto
        }

    def adds(self, v: int) -> tuple[EdgeKey, ...]:
        """Return the edges of the local MST of ``v`` that no earlier one contains."""
        return tuple(edge for edge in self.tree(v) if self._owners[edge][0] == v)


Detail = Literal["coarse", "fine"]
Phase = Literal[
    "data", "truth", "pair", "matrix", "ball", "tree", "union", "order", "look", "quartets",
    "round", "join", "rest", "contract", "replace", "cleanup", "gained", "compared", "refine",
    "pairs", "move", "moves", "refined", "judged",
]  # fmt: skip
_PHASES: tuple[Phase, ...] = get_args(Phase)
CHAPTERS: Mapping[int, str] = {
    1: "Data", 2: "Distance", 3: "Initial graph", 4: "Grouping", 5: "Result",
    6: "Refinement by likelihood",
}  # fmt: skip
_FIRST: tuple[Phase, ...] = ("data", "pair", "ball", "order", "gained", "refine")
"""The first phase of each chapter."""
MOST_MOVES = 8
"""Most steps on the moves of a refinement; the last one shows all that are left."""
_ONLY_FINE = frozenset({"ball", "look", "quartets", "round", "join", "rest", "contract"})


@dataclass(frozen=True, slots=True)
class Place:
    """One step of a lesson."""

    phase: Phase
    node: int | None = None
    """The visited column, or the one whose ball is shown."""
    visit: int = 0
    """Counted from 1 over all visits; 0 outside them."""
    part: int = 0
    """Number of the round, join or contraction in the visit, or of the move; counted from 1."""
    step: int = -1
    """Index in the trace; -1 before the initial graph is complete."""

    @property
    def chapter(self) -> int:
        at = _PHASES.index(self.phase)
        return sum(_PHASES.index(first) <= at for first in _FIRST)

    @property
    def is_coarse(self) -> bool:
        """Whether the step is part of the coarse lesson."""
        return self.phase not in _ONLY_FINE

    @property
    def anchor(self) -> str:
        """Name of the step in links."""
        if self.visit:
            part = f"-{self.part}" if self.part else ""
            return f"visit-{self.visit}-{self.phase}{part}"
        number = self.part if self.node is None else self.node + 1
        return f"{self.phase}-{number}" if number else self.phase


def places_of(
    result: LearnResult, has_truth: bool, refinement: Refinement | None = None
) -> tuple[Place, ...]:
    """List every step, in full detail."""
    trace = casts.checked_trace(result)
    truth, compared = [Place("truth")], [Place("compared", step=len(trace) - 1)]
    found = [Place("data"), *truth[:has_truth], Place("pair"), Place("matrix")]
    for v in range(result.graph.n_observed):
        found += [Place("ball", v), Place("tree", v)]
    found += [Place("union", step=0), Place("order", step=0)]
    visit = 0
    for at, step in enumerate(trace):
        if isinstance(step, VisitStep):
            visit += 1
            found += _of_visit(step, visit, at, result.settings.method == "quartet")
        elif isinstance(step, CleanUpStep):
            found.append(Place("cleanup", step=at))
    found += [Place("gained", step=len(trace) - 1), *compared[:has_truth]]
    return (*found, *_of_refinement(refinement, len(trace) - 1, has_truth))


def _of_refinement(found: Refinement | None, at: int, has_truth: bool) -> list[Place]:
    """List the steps of the last chapter; a single one until it is computed."""
    first = Place("refine", step=at)
    if found is None:
        return [first]
    n_moves = len(found.steps) - 1
    shown = n_moves if n_moves <= MOST_MOVES else MOST_MOVES - 1
    moves = [Place("move", part=part, step=at) for part in range(1, shown + 1)]
    rest = [Place("moves", part=shown + 1, step=at)][: n_moves > shown]
    judged = [Place("judged", step=at)][:has_truth]
    return [first, Place("pairs", step=at), *moves, *rest, Place("refined", step=at), *judged]


def _of_visit(step: VisitStep, visit: int, at: int, by_quartets: bool) -> list[Place]:
    def place(phase: Phase, part: int = 0) -> Place:
        return Place(phase, step.node, visit, part, at)

    found = [place("look")]
    if by_quartets and len(step.neighbourhood) >= 4:
        found.append(place("quartets"))
    rounds = 0
    for part, join in enumerate(step.joins, start=1):
        if isinstance(join, Family) and join.round > rounds:
            rounds = join.round
            found.append(place("round", rounds))
        found.append(place("join", part))
    found.append(place("rest"))
    found += [place("contract", part) for part in range(1, len(step.contractions) + 1)]
    found.append(place("replace"))
    return found


def nearest(places: tuple[Place, ...], target: Place) -> int:
    """Return the most similar step: by chapter, ball or visit, column, phase, part."""

    def dissimilarity(k: int) -> tuple[float, ...]:
        place = places[k]
        return (
            abs(place.chapter - target.chapter),
            bool(place.visit) != bool(target.visit),
            place.node != target.node,
            abs(place.visit - target.visit),
            abs(_PHASES.index(place.phase) - _PHASES.index(target.phase)),
            abs(place.part - target.part),
            k,
        )

    return min(range(len(places)), key=dissimilarity)


Mark = Literal[
    "kept", "tree", "added", "wrong", "removed", "sketch", "sketch-new", "sketch-gone", "truth",
    "pair",
]  # fmt: skip
"""Role of an edge in a step.

The graph of the step consists of the edges marked kept, tree, added and wrong (not in the true
graph). ``removed`` edges were removed by this step; ``sketch`` is a local tree that is not yet part
of the graph; ``truth`` is the true graph; ``pair`` marks two nodes without an edge.
"""
IN_GRAPH: frozenset[Mark] = frozenset({"kept", "tree", "added", "wrong"})


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge as drawn in a step."""

    u: int
    v: int
    length: float
    mark: Mark
    note: str = ""


@dataclass(frozen=True, slots=True)
class Shade:
    """A shaded area: nodes and the lines along which it is drawn."""

    nodes: tuple[int, ...]
    lines: tuple[EdgeKey, ...]


@dataclass(frozen=True, eq=False)
class Frame:
    """One step."""

    place: Place
    caption: Caption
    line: int
    """The line of the pseudocode, counted from 1."""
    nodes: tuple[int, ...]
    """Ascending."""
    edges: tuple[DrawnEdge, ...]
    focus: frozenset[int] = frozenset()
    """Highlighted nodes; the other nodes are faded. Empty: all nodes are highlighted."""
    centre: int | None = None
    """The column whose ball or neighbourhood is shown."""
    sketched: frozenset[int] = frozenset()
    """Hidden nodes that are not yet, or no longer, part of the graph."""
    shade: Shade | None = None
    legend: Mapping[Mark, str] = field(default_factory=dict)
    overview: Caption | None = None
    """Caption in the coarse lesson, if different."""

    @property
    def graph_edges(self) -> dict[EdgeKey, float]:
        """Edges of the graph at this step, with their lengths."""
        return {(e.u, e.v): e.length for e in self.edges if e.mark in IN_GRAPH}


def drawn(
    edges: Mapping[EdgeKey, float],
    mark: Mark = "kept",
    marks: Mapping[EdgeKey, Mark] = MappingProxyType({}),
    notes: Mapping[EdgeKey, str] = MappingProxyType({}),
) -> tuple[DrawnEdge, ...]:
    """Give each edge its mark from ``marks``, by default ``mark``."""
    return tuple(
        DrawnEdge(*edge, length, marks.get(edge, mark), notes.get(edge, ""))
        for edge, length in edges.items()
    )


def all_marked(edges: Iterable[EdgeKey], mark: Mark) -> dict[EdgeKey, Mark]:
    """Map every edge to the same mark."""
    return dict.fromkeys(edges, mark)


def ends_of(edges: Iterable[EdgeKey]) -> set[int]:
    """Return the end nodes of edges."""
    return {node for edge in edges for node in edge}


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A visit, in node numbers of the lesson."""

    m: Material
    step: VisitStep
    at: int
    number: int

    @classmethod
    def of(cls, m: Material, place: Place) -> Visit:
        return cls(m, m.visit(place.step), place.step, place.visit)

    @property
    def members(self) -> tuple[int, ...]:
        """The neighbourhood A, in the order of its distance matrix."""
        return tuple(self.m.cast.number[node] for node in self.step.neighbourhood)

    @property
    def node(self) -> int:
        return self.step.node

    # The local tree while it is built: joins, remaining nodes, contractions

    def after_joins(self, count: int) -> dict[EdgeKey, float]:
        """Return the edges created by the first ``count`` joins."""
        return {
            self.m.cast.key(child, join.parent): length
            for join in self.step.joins[:count]
            for child, length in zip(join.children, join.lengths, strict=True)
        }

    @property
    def complete(self) -> dict[EdgeKey, float]:
        """Edges of all joins and between the remaining nodes."""
        return self.after_joins(len(self.step.joins)) | casts.edge_lengths(
            self.step.rest, self.m.cast
        )

    def after_contractions(self, count: int) -> dict[EdgeKey, float]:
        """Return the tree after the first ``count`` contractions."""
        number, edges = self.m.cast.number, self.complete
        for gone in self.step.contractions[:count]:
            merged = {number[gone.removed]: number[gone.survivor]}
            moved = {(merged.get(u, u), merged.get(v, v)): d for (u, v), d in edges.items()}
            edges = {(min(e), max(e)): length for e, length in moved.items() if e[0] != e[1]}
        return edges

    @property
    def shade(self) -> Shade:
        """A star around the visited node."""
        others = (other for other in self.members if other != self.node)
        return Shade(self.members, tuple((min(self.node, v), max(self.node, v)) for v in others))

    @property
    def before(self) -> dict[EdgeKey, float]:
        return self.m.replays.after(self.at - 1)

    @property
    def quartets(self) -> QuartetTable | None:
        """The quartets of A; None if there are too many to list."""
        return quartet_table(self.step.distances, self.m.thresholds.Lambda)

    def leaves_under(self, node: int, joins: int) -> frozenset[int]:
        """Return the positions in A of the leaves under a working node after some joins."""
        under = {member: {k} for k, member in enumerate(self.step.neighbourhood)}
        for join in self.step.joins[:joins]:
            family = {*join.children} if join.is_new else {*join.children, join.parent}
            under[join.parent] = set().union(*(under[member] for member in family))
        return frozenset(under[node])

    def declared_quartets(self, part: int) -> QuartetCounts | None:
        """Count the declared quartets for and against a join; None if they are not listed."""
        table = self.quartets
        if table is None:
            return None
        children = self.step.joins[part - 1].children
        return count_quartets(table, *(self.leaves_under(child, part - 1) for child in children))

    def active(self, joins: int) -> tuple[int, ...]:
        """Return the active nodes after some joins, in working numbers."""
        there = list(self.step.neighbourhood)
        for join in self.step.joins[:joins]:
            there = [n for n in there if n not in (*join.children, join.parent)] + [join.parent]
        return tuple(there)

    def name(self, node: int) -> Name:
        """Return the name of a working node."""
        return self.m.name(self.m.cast.number[node])

    def names(self, nodes: Iterable[int]) -> tuple[Name, ...]:
        return tuple(self.name(node) for node in nodes)

    def joins_before(self, place: Place) -> int:
        """Return how many joins precede a step of the visit."""
        joins = self.step.joins
        if place.phase in ("look", "quartets"):
            return 0
        if place.phase == "round":
            return sum(isinstance(join, Family) and join.round < place.part for join in joins)
        return place.part - 1 if place.phase == "join" else len(joins)

    def round_at(self, place: Place) -> Round | None:
        """Return the round of relaxed grouping of a step; after the last round, that round."""
        if not self.step.rounds:
            return None
        join = self.step.joins[min(self.joins_before(place), len(self.step.joins) - 1)]
        assert isinstance(join, Family)
        return self.step.rounds[join.round - 1]

    def criterion_at(self, place: Place) -> Criterion:
        """Return the criterion of neighbor joining at a step, in working numbers."""
        (part,) = finite_parts(self.step.distances)
        joins = self.step.joins
        found = criterion(part.distances, min(self.joins_before(place), len(joins) - 1))
        ids = (*self.step.neighbourhood, *(join.parent for join in joins))
        return replace(found, nodes=tuple(ids[node] for node in found.nodes))


MAX_NODES = 40
"""Largest neighbourhood whose quartets are listed; 40 nodes have 91,390."""
PAIRINGS: tuple[tuple[int, int, int, int], ...] = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))
"""Positions of ab|cd, ac|bd and ad|bc among four nodes."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """One of the three ways to pair four nodes."""

    name: Verdict
    total: float
    """d + d' of its two pairs; the smallest is the best pairing."""
    product: float
    """s * s', that is e to the minus total."""
    lowered: float
    """(s - Lambda)(s' - Lambda), each factor at least 0: its value as a candidate."""
    raised: float
    """(s + Lambda)(s' + Lambda): its value as a rival."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The quartet test of four nodes."""

    pairings: tuple[Pairing, ...]
    """ab|cd, ac|bd and ad|bc."""
    Lambda: float
    verdict: Verdict
    winner: Verdict
    """The pairing with the largest product."""
    turning_point: float
    """The winner is declared below this Lambda, and not from it on; 0: never declared."""


def inspect(distances: FloatArray, Lambda: float) -> Inspection:
    """Test a quartet given its (4, 4) distances."""
    d = np.asarray(distances, dtype=np.float64)
    s = np.exp(-d)
    pairings: list[Pairing] = []
    verdict: Verdict = VERDICTS[0]
    for name, at in zip(VERDICTS[1:], PAIRINGS, strict=True):
        a, b, c, e = at
        one, two = float(s[a, b]), float(s[c, e])
        lowered = max(one - Lambda, 0.0) * max(two - Lambda, 0.0)
        raised = (one + Lambda) * (two + Lambda)
        pairings.append(Pairing(name, float(d[a, b] + d[c, e]), one * two, lowered, raised))
        if verdict == VERDICTS[0] and declares(s, float(Lambda), *at):
            verdict = name
    best = max(range(3), key=lambda k: pairings[k].product)
    turn = turning_point(s, PAIRINGS[best])
    return Inspection(tuple(pairings), float(Lambda), verdict, VERDICTS[best + 1], turn)


def turning_point(s: FloatArray, pairing: tuple[int, int, int, int]) -> float:
    """Return the Lambda from which on a pairing is not declared; 0 if it never is.

    For each rival it is the root of (s - L)(s' - L) = (1 + 1e-9)(t + L)(t' + L).
    """
    a, b, c, d = pairing
    rivals = ((s[a, c], s[b, d]), (s[a, d], s[b, c]))
    roots = [_root(float(s[a, b]), float(s[c, d]), float(t), float(u)) for t, u in rivals]
    return max(0.0, min(roots))


def _root(s: float, s2: float, t: float, t2: float) -> float:
    constant = s * s2 - MARGIN * t * t2
    slope = s + s2 + MARGIN * (t + t2)
    if constant <= 0 or slope == 0:
        return 0.0
    return 2 * constant / (slope + math.sqrt(slope**2 + 4 * (MARGIN - 1) * constant))


@dataclass(frozen=True, eq=False)
class QuartetTable:
    """All quartets of a neighbourhood, as columns of equal length."""

    nodes: IntArray
    """(q, 4) positions in the neighbourhood, ascending."""
    products: FloatArray
    """(q, 3) of ab|cd, ac|bd and ad|bc, without the margin."""
    lead: FloatArray
    """(q,) the largest product, lowered by the margin, minus its best rival, raised by it."""
    verdicts: IntArray
    """(q,) 0 for ⊥, else 1, 2 or 3 for the pairing."""

    @property
    def n_quartets(self) -> int:
        return len(self.nodes)

    @property
    def n_declared(self) -> int:
        return int((self.verdicts > 0).sum())


def quartet_table(distances: FloatArray, Lambda: float) -> QuartetTable | None:
    """List the quartets of a neighbourhood; None if it has more than ``MAX_NODES`` nodes."""
    if len(distances) > MAX_NODES:
        return None
    s = np.exp(-np.asarray(distances, dtype=np.float64))
    rows = list_quartets(s, float(Lambda))
    nodes = rows[:, :4]
    products = np.empty((len(rows), 3))
    lowered, raised = np.empty_like(products), np.empty_like(products)
    for k, (a, b, c, d) in enumerate(PAIRINGS):
        first, second = s[nodes[:, a], nodes[:, b]], s[nodes[:, c], nodes[:, d]]
        products[:, k] = first * second
        lowered[:, k] = np.maximum(first - Lambda, 0) * np.maximum(second - Lambda, 0)
        raised[:, k] = (first + Lambda) * (second + Lambda)
    every = np.arange(len(rows))
    best = products.argmax(axis=1) if len(rows) else every
    own = lowered[every, best]
    raised[every, best] = -np.inf
    rival = raised.max(axis=1) if len(rows) else own
    return QuartetTable(nodes, products, own - rival, rows[:, 4])


@dataclass(frozen=True, slots=True)
class QuartetCounts:
    """Declared quartets that support and that separate a pair."""

    together: int
    apart: int


def count_quartets(
    table: QuartetTable, left: frozenset[int], right: frozenset[int]
) -> QuartetCounts:
    """Count the declared quartets with one leaf of each set and two outside both."""
    if table.n_quartets == 0:
        return QuartetCounts(0, 0)
    side = np.zeros(int(table.nodes.max()) + 1, dtype=np.int64)
    side[list(left)], side[list(right)] = 1, 2
    sides = side[table.nodes]
    relevant = ((sides == 1).sum(axis=1) == 1) & ((sides == 2).sum(axis=1) == 1)
    together = apart = 0
    for k, pairing in enumerate(PAIRINGS):
        here = sides[relevant & (table.verdicts == k + 1)][:, pairing]
        one_side = (here[:, 0] + here[:, 1] == 3) | (here[:, 2] + here[:, 3] == 3)
        together += int(one_side.sum())
        apart += int((~one_side).sum())
    return QuartetCounts(together, apart)
