"""One visit of the trace, and its quartets: sums, products, the verdict and where it changes.

The verdicts are those of the learner's own kernel.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from loopylatent.compute._kernels.grouping import MARGIN, declares, list_quartets
from loopylatent.compute.values import FloatArray, IntArray
from loopylatent.learning.grouping import VERDICTS, Criterion, Verdict, criterion, finite_parts
from loopylatent.learning.trace import Family, Round, VisitStep
from loopylatent.lesson.cast import EdgeKey, Name, edge_lengths
from loopylatent.lesson.material import Material, Place, Shade


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
        return self.after_joins(len(self.step.joins)) | edge_lengths(self.step.rest, self.m.cast)

    def after_contractions(self, count: int) -> dict[EdgeKey, float]:
        """Return the tree after the first ``count`` contractions."""
        number, edges = self.m.cast.number, self.complete
        for gone in self.step.contractions[:count]:
            merged = {number[gone.removed]: number[gone.survivor]}
            moved = {
                (merged.get(u, u), merged.get(v, v)): length for (u, v), length in edges.items()
            }
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
        left, right = (
            self.leaves_under(child, part - 1) for child in self.step.joins[part - 1].children
        )
        return votes_on(table, left, right)

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

    With growing Lambda its own product falls and those of its rivals rise, so there is one such
    point for each rival: the root of (s - L)(s' - L) = (1 + 1e-9)(t + L)(t' + L).
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
    """Count the declared quartets with one node of each set and two outside both.

    ``left`` and ``right`` are positions in the neighbourhood: the leaves under the two nodes.
    """
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
