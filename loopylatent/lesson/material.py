"""What every step of a lesson is made from: the trace, balls and local trees, visits, quartets.

Trees and verdicts come from the kernels with which the learner builds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
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
from loopylatent.learning.trace import CleanUpStep, Family, Round, Step, VisitStep
from loopylatent.lesson import cast as casts
from loopylatent.lesson.cast import Caption, Cast, EdgeKey, Name, Replays
from loopylatent.settings import Thresholds
from loopylatent.tables.observations import Observations

LONGEST_NAME = 40
MOST_BALLS = 6
"""Balls that an edge names."""


@dataclass(frozen=True, eq=False)
class Material:
    """A learned result with its trace, the data behind it and, where known, the truth."""

    result: LearnResult
    D: DistanceMatrix
    obs: Observations | None
    cast: Cast

    @property
    def thresholds(self) -> Thresholds:
        return self.result.settings.thresholds

    @cached_property
    def trace(self) -> tuple[Step, ...]:
        return casts.checked_trace(self.result)

    @cached_property
    def replays(self) -> Replays:
        return Replays(self.trace, self.cast)

    @cached_property
    def balls(self) -> Balls:
        return Balls(self.D, self.thresholds.r)

    @cached_property
    def initial(self) -> dict[EdgeKey, float]:
        """The edges of the initial graph."""
        return self.replays.after(0)

    @cached_property
    def learned(self) -> dict[EdgeKey, float]:
        """The edges of the finished graph."""
        return self.replays.after(len(self.trace) - 1)

    @cached_property
    def structure_error(self) -> StructureError | None:
        if self.cast.truth is None:
            return None
        return structure_error(self.result.graph, self.cast.truth)

    @property
    def columns(self) -> tuple[int, ...]:
        return tuple(range(self.cast.n_observed))

    def visit(self, step: int) -> VisitStep:
        found = self.trace[step]
        assert isinstance(found, VisitStep)
        return found

    def name(self, node: int) -> Name:
        """Return the name of a node of the lesson, short enough for a sentence."""
        return Name(shown_label(self.cast.labels[node], LONGEST_NAME))

    @cached_property
    def ball_notes(self) -> dict[EdgeKey, str]:
        """What is said of each edge of the initial graph: which balls put it there."""
        notes = {}
        for edge in self.initial:
            balls = self.balls.owners(edge)
            named = ", ".join(self.name(v).text for v in balls[:MOST_BALLS])
            more = f" and {len(balls) - MOST_BALLS} more" if len(balls) > MOST_BALLS else ""
            word = "tree" if len(balls) == 1 else f"{len(balls)} trees"
            notes[edge] = f"in the {word} of {named}{more}"
        return notes

    def names(self, nodes: tuple[int, ...] | list[int]) -> tuple[Name, ...]:
        return tuple(self.name(node) for node in nodes)

    def shown(self, edges: dict[EdgeKey, float]) -> tuple[int, ...]:
        """Return all columns, and the hidden nodes that have an edge."""
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
        """Return the edges of the local tree of ``v``, sorted; equal balls have one tree."""
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
        """Return the columns in whose local trees an edge is, ascending; none if it is in none."""
        return self._owners.get(edge, ())

    def union(self, upto: int) -> dict[EdgeKey, float]:
        """Return the edges of the local trees of the columns 0 to ``upto`` with their lengths."""
        return {
            edge: float(self.D.values[edge])
            for edge, balls in self._owners.items()
            if balls[0] <= upto
        }

    def adds(self, v: int) -> tuple[EdgeKey, ...]:
        """Return the edges that no local tree before that of ``v`` had."""
        return tuple(edge for edge in self.tree(v) if self._owners[edge][0] == v)


Detail = Literal["coarse", "fine"]
Phase = Literal[
    "data", "truth", "pair", "matrix", "ball", "tree", "union", "order", "look", "quartets",
    "round", "join", "rest", "contract", "replace", "cleanup", "gained", "compared",
]  # fmt: skip
_PHASES: tuple[Phase, ...] = get_args(Phase)
CHAPTERS: Mapping[int, str] = {
    1: "Data", 2: "Distance", 3: "Balls and local trees", 4: "Grouping", 5: "Result",
}  # fmt: skip
_FIRST: tuple[Phase, ...] = ("data", "pair", "ball", "order", "gained")
"""The phases with which the chapters begin."""
_ONLY_FINE = frozenset({"ball", "look", "quartets", "round", "join", "rest", "contract"})


@dataclass(frozen=True, slots=True)
class Place:
    """One step of a lesson."""

    phase: Phase
    node: int | None = None
    """The column whose ball it is, or that is visited."""
    visit: int = 0
    """Counted from 1 over all visits; 0 outside them."""
    part: int = 0
    """Which round, join or contraction of the visit, counted from 1."""
    step: int = -1
    """The step of the trace that this is part of; -1 before the initial graph is complete."""

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
        """A short name for links."""
        if self.visit:
            part = f"-{self.part}" if self.part else ""
            return f"visit-{self.visit}-{self.phase}{part}"
        return self.phase if self.node is None else f"{self.phase}-{self.node + 1}"


def places_of(result: LearnResult, has_truth: bool) -> tuple[Place, ...]:
    """List every step, at full detail."""
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
    return (*found, Place("gained", step=len(trace) - 1), *compared[:has_truth])


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


def nearest(places: tuple[Place, ...], wanted: Place) -> int:
    """Return the counterpart of a step: by chapter, ball or visit, column, phase, part."""

    def unlikeness(k: int) -> tuple[float, ...]:
        place = places[k]
        return (
            abs(place.chapter - wanted.chapter),
            bool(place.visit) != bool(wanted.visit),
            place.node != wanted.node,
            abs(place.visit - wanted.visit),
            abs(_PHASES.index(place.phase) - _PHASES.index(wanted.phase)),
            abs(place.part - wanted.part),
            k,
        )

    return min(range(len(places)), key=unlikeness)


Mark = Literal[
    "kept", "tree", "added", "wrong", "removed", "sketch", "sketch-new", "sketch-gone", "truth"
]
"""What an edge is at a step.

The graph at the step is made of the edges marked kept, tree, added and wrong (which the truth does
not have). ``removed`` are edges that this step took away, drawn once more; ``sketch`` is a local
tree that is not part of the graph yet, and ``truth`` what the learner never sees.
"""
IN_GRAPH: frozenset[Mark] = frozenset({"kept", "tree", "added", "wrong"})


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge as it is drawn at a step."""

    u: int
    v: int
    length: float
    mark: Mark
    note: str = ""
    """What is said of it beside its length."""


@dataclass(frozen=True, slots=True)
class Shade:
    """Nodes on a common ground, and the lines along which it runs."""

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
    """The nodes that are there, ascending."""
    edges: tuple[DrawnEdge, ...]
    focus: frozenset[int] = frozenset()
    """The nodes that matter; the others step back. Empty: all of them."""
    centre: int | None = None
    """The column whose ball or neighbourhood it is."""
    sketched: frozenset[int] = frozenset()
    """Hidden nodes that are not part of the graph yet, or no more."""
    shade: Shade | None = None
    legend: Mapping[Mark, str] = field(default_factory=dict)
    """What the edges that are marked are called."""
    overview: Caption | None = None
    """What the coarse lesson says in the place of the caption."""

    @property
    def graph_edges(self) -> dict[EdgeKey, float]:
        """The edges of the graph at this step, with their lengths."""
        return {(e.u, e.v): e.length for e in self.edges if e.mark in IN_GRAPH}


def drawn(
    edges: Mapping[EdgeKey, float],
    mark: Mark = "kept",
    marks: Mapping[EdgeKey, Mark] = MappingProxyType({}),
    notes: Mapping[EdgeKey, str] = MappingProxyType({}),
) -> tuple[DrawnEdge, ...]:
    """Mark edges, all of them alike but those that ``marks`` names."""
    return tuple(
        DrawnEdge(*edge, length, marks.get(edge, mark), notes.get(edge, ""))
        for edge, length in edges.items()
    )


def all_marked(edges: Iterable[EdgeKey], mark: Mark) -> dict[EdgeKey, Mark]:
    """Give every edge the same mark."""
    return dict.fromkeys(edges, mark)


def ends_of(edges: Iterable[EdgeKey]) -> set[int]:
    """Return the nodes at which edges end."""
    return {node for edge in edges for node in edge}


@dataclass(frozen=True, slots=True, eq=False)
class Visit:
    """A visit in the numbers of the lesson."""

    m: Material
    step: VisitStep
    at: int
    number: int

    @classmethod
    def of(cls, m: Material, place: Place) -> Visit:
        return cls(m, m.visit(place.step), place.step, place.visit)

    @property
    def members(self) -> tuple[int, ...]:
        """The neighbourhood A, in the order in which its distances stand."""
        return tuple(self.m.cast.number[node] for node in self.step.neighbourhood)

    @property
    def node(self) -> int:
        return self.step.node

    # The local tree while it is built: joins, the rest, contractions

    def after_joins(self, count: int) -> dict[EdgeKey, float]:
        """Return the edges that the first ``count`` joins have made."""
        return {
            self.m.cast.key(child, join.parent): length
            for join in self.step.joins[:count]
            for child, length in zip(join.children, join.lengths, strict=True)
        }

    @property
    def complete(self) -> dict[EdgeKey, float]:
        """All joins, and the edges that connect what was left."""
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
        """A lies around the visited node."""
        others = (other for other in self.members if other != self.node)
        return Shade(self.members, tuple((min(self.node, v), max(self.node, v)) for v in others))

    @property
    def before(self) -> dict[EdgeKey, float]:
        return self.m.replays.after(self.at - 1)

    @property
    def quartets(self) -> QuartetTable | None:
        """The quartets of A; None where there are too many to list."""
        return quartet_table(self.step.distances, self.m.thresholds.Lambda)

    def leaves_under(self, node: int, joins: int) -> frozenset[int]:
        """Return the positions in A of the leaves under a working node after some joins."""
        under = {member: {k} for k, member in enumerate(self.step.neighbourhood)}
        for join in self.step.joins[:joins]:
            family = {*join.children} if join.is_new else {*join.children, join.parent}
            under[join.parent] = set().union(*(under[member] for member in family))
        return frozenset(under[node])

    def votes(self, part: int) -> Votes | None:
        """Count the quartets that spoke on a join; None where they are not listed."""
        table = self.quartets
        if table is None:
            return None
        children = self.step.joins[part - 1].children
        return votes_on(table, *(self.leaves_under(child, part - 1) for child in children))

    def active(self, joins: int) -> tuple[int, ...]:
        """Return the working nodes that can still be joined after some joins."""
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
        """How many joins are over when a step of the visit is shown."""
        joins = self.step.joins
        if place.phase in ("look", "quartets"):
            return 0
        if place.phase == "round":
            return sum(isinstance(join, Family) and join.round < place.part for join in joins)
        return place.part - 1 if place.phase == "join" else len(joins)

    def round_at(self, place: Place) -> Round | None:
        """Return the round of relaxed grouping that a step belongs to; after them, the last."""
        if not self.step.rounds:
            return None
        join = self.step.joins[min(self.joins_before(place), len(self.step.joins) - 1)]
        assert isinstance(join, Family)
        return self.step.rounds[join.round - 1]

    def criterion_at(self, place: Place) -> Criterion:
        """Return what neighbor joining compares at a step, in working numbers."""
        (part,) = finite_parts(self.step.distances)
        joins = self.step.joins
        found = criterion(part.distances, min(self.joins_before(place), len(joins) - 1))
        ids = (*self.step.neighbourhood, *(join.parent for join in joins))
        return replace(found, nodes=tuple(ids[node] for node in found.nodes))


MOST_NODES = 40
"""Nodes of a neighbourhood whose quartets are listed; 40 have 91,390."""
PAIRINGS: tuple[tuple[int, int, int, int], ...] = ((0, 1, 2, 3), (0, 2, 1, 3), (0, 3, 1, 2))
"""Positions of ab|cd, ac|bd and ad|bc among four nodes."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """One of the three ways to pair four nodes."""

    name: Verdict
    total: float
    """d + d' of its two pairs: the smallest belongs together."""
    product: float
    """s * s', that is e to the minus total."""
    lowered: float
    """(s - Lambda)(s' - Lambda), each at least 0: what it brings as a candidate."""
    raised: float
    """(s + Lambda)(s' + Lambda): what a rival has to beat."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What the test says of four nodes."""

    pairings: tuple[Pairing, ...]
    """ab|cd, ac|bd and ad|bc."""
    Lambda: float
    verdict: Verdict
    winner: Verdict
    """The pairing with the largest product."""
    turning_point: float
    """Below this Lambda the winner is declared, from it on the verdict is ⊥; 0: never declared."""


def inspect(distances: FloatArray, Lambda: float) -> Inspection:
    """Look at the quartet of four nodes from their (4, 4) distances."""
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
    """Return the Lambda from which a pairing is declared no more; 0 if it never is.

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
    """(q,) the largest product, lowered by the margin, less its best rival, raised by it."""
    verdicts: IntArray
    """(q,) 0 for ⊥, else 1, 2 or 3 for the pairing."""

    @property
    def n_quartets(self) -> int:
        return len(self.nodes)

    @property
    def n_declared(self) -> int:
        return int((self.verdicts > 0).sum())


def quartet_table(distances: FloatArray, Lambda: float) -> QuartetTable | None:
    """List the quartets of a neighbourhood; None where it has more than ``MOST_NODES`` nodes."""
    if len(distances) > MOST_NODES:
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
class Votes:
    """Declared quartets that speak for a pair, against it, and about other nodes only."""

    together: int
    apart: int


def votes_on(table: QuartetTable, left: frozenset[int], right: frozenset[int]) -> Votes:
    """Count the declared quartets with one leaf of each set and two outside both."""
    if table.n_quartets == 0:
        return Votes(0, 0)
    side = np.zeros(int(table.nodes.max()) + 1, dtype=np.int64)
    side[list(left)], side[list(right)] = 1, 2
    sides = side[table.nodes]
    asked = ((sides == 1).sum(axis=1) == 1) & ((sides == 2).sum(axis=1) == 1)
    together = apart = 0
    for k, pairing in enumerate(PAIRINGS):
        here = sides[asked & (table.verdicts == k + 1)][:, pairing]
        one_side = (here[:, 0] + here[:, 1] == 3) | (here[:, 2] + here[:, 3] == 3)
        together += int(one_side.sum())
        apart += int((~one_side).sum())
    return Votes(together, apart)
