"""One visit of the trace, and what can be read off it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from loopylatent.grouping.base import finite_parts
from loopylatent.grouping.neighbor_joining import Criterion, criterion
from loopylatent.lesson.cast import EdgeKey
from loopylatent.lesson.frames import Shade
from loopylatent.lesson.material import Material
from loopylatent.lesson.places import Place
from loopylatent.lesson.quartets import QuartetTable, Votes, quartet_table, votes_on
from loopylatent.lesson.replaying import LocalTreeSketch
from loopylatent.lesson.words import Name
from loopylatent.trace import Family, Round, VisitStep


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

    @property
    def sketch(self) -> LocalTreeSketch:
        return LocalTreeSketch(self.step, self.m.cast)

    @property
    def shade(self) -> Shade:
        """A lies around the visited node."""
        star = tuple(
            (min(self.node, other), max(self.node, other))
            for other in self.members
            if other != self.node
        )
        return Shade(self.members, star)

    @property
    def before(self) -> dict[EdgeKey, float]:
        return self.m.replays.after(self.at - 1)

    @property
    def quartets(self) -> QuartetTable | None:
        """The quartets of A; None where there are too many to list."""
        return quartet_table(self.step.distances, self.m.thresholds.Lambda)

    def leaves_under(self, node: int, joins: int) -> frozenset[int]:
        """Return the positions in A of the leaves under a working node after some joins."""
        position = {member: k for k, member in enumerate(self.step.neighbourhood)}
        under = {member: {k} for member, k in position.items()}
        for join in self.step.joins[:joins]:
            family = {*join.children} if join.is_new else {*join.children, join.parent}
            under[join.parent] = set().union(*(under[member] for member in family))
        return frozenset(under[node])

    def votes(self, part: int) -> Votes | None:
        """Count the quartets that spoke on a join; None where they are not listed."""
        table = self.quartets
        if table is None:
            return None
        join = self.step.joins[part - 1]
        return votes_on(
            table,
            self.leaves_under(join.children[0], part - 1),
            self.leaves_under(join.children[1], part - 1),
        )

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
        before = self.joins_before(place)
        joins = self.step.joins
        join = joins[min(before, len(joins) - 1)]
        assert isinstance(join, Family)
        return self.step.rounds[join.round - 1]

    def criterion_at(self, place: Place) -> Criterion:
        """Return what neighbor joining compares at a step, in working numbers."""
        (part,) = finite_parts(self.step.distances)
        joins = self.step.joins
        found = criterion(part.distances, min(self.joins_before(place), len(joins) - 1))
        ids = (*self.step.neighbourhood, *(join.parent for join in joins))
        return replace(found, nodes=tuple(ids[node] for node in found.nodes))
